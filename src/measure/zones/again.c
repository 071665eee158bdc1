/* SPDX-License-Identifier: GPL-2.0-or-later */
/* platter report --again: what a run reported, from the samples in its document. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "measure/zones/zones.h"
#include "session/replay.h"

int zones_again(const struct result *saved, struct result *ret, struct err *err)
{
	const struct table *layouts = result_find_table(saved, "layouts");
	const char *places = result_option_text(saved, "zones");
	struct zones_params p = { .write = replay_flag(saved, "write"),
		                  .rewrite = replay_flag(saved, "rewrite"),
		                  .places = places && *places ? "given" : NULL };
	struct zones_run run = { .res = ret, .p = &p };
	cleanup_free struct device *devs = NULL;
	int r = 0;

	if (!layouts || !layouts->nrows || !result_find_table(saved, "cells") || !result_find_table(saved, "samples"))
		return err_set(err, -ENODATA, "The document does not have its samples.");
	run.targets = xcalloc(layouts->nrows, sizeof(*run.targets));
	devs = xcalloc(layouts->nrows, sizeof(*devs));
	for (; r == 0 && run.ntargets < layouts->nrows; run.ntargets++) {
		r = zone_load(saved, run.ntargets, &run.targets[run.ntargets], &devs[run.ntargets]);
		run.targets[run.ntargets].layout.is_whole = replay_flag(saved, "full");
	}
	for (size_t i = 0; r == 0 && i < run.ntargets; i++)
		zone_analyse(&run.targets[i]);
	if (r == 0)
		zones_report(&run, false);
	zone_targets_done(&run);
	return r == 0 ? 0 : err_set(err, r, "The document's samples are not whole.");
}
