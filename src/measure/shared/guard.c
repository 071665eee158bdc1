/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who else writes to the device, by the kernel's counters. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "measure/shared/journal.h"

static bool count(const struct rewrite_journal *j, struct device_written *ret)
{
	const struct env *env = j->ses->env;

	return env->devices->written && env->devices->written(env->devices_ctx, &j->ses->devs[j->target], ret) == 0;
}

void guard_begin(struct rewrite_journal *j)
{
	j->own_bytes = 0;
	if (!count(j, &j->began))
		j->began.n = 0;
}

int guard_look(const struct rewrite_journal *j, struct err *err)
{
	struct device_written now;
	char text[32];

	if (!j->began.n || !count(j, &now))
		return 0;
	for (size_t i = 0; i < now.n; i++)
		for (size_t k = 0; k < j->began.n; k++) {
			uint64_t bytes = now.v[i].bytes - j->began.v[k].bytes;

			if (strcmp(now.v[i].on, j->began.v[k].on) != 0 || now.v[i].bytes < j->began.v[k].bytes ||
			    bytes <= j->own_bytes)
				continue;
			return err_set(
				err, -EBUSY,
				"%s: somebody else wrote %s to %s while --rewrite ran, which therefore stopped. What it "
				"had in work is in %s; `platter recover %s` compares it with what is there now.",
				j->ses->devs[j->target].path, units_bytes(text, sizeof(text), bytes - j->own_bytes),
				now.v[i].on, j->path, j->ses->devs[j->target].path);
		}
	return 0;
}

int guard_allow(struct rewrite_journal *j, uint64_t bytes, struct err *err)
{
	int r = guard_look(j, err);

	j->own_bytes += r == 0 ? bytes : 0;
	return r;
}

bool guard_is_untouched(const struct rewrite_journal *j)
{
	struct device_written now;

	if (!count(j, &now))
		return false;
	for (size_t i = 0; i < now.n; i++)
		if (now.v[i].bytes)
			return false;
	return true;
}
