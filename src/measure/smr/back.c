/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --rewrite: each block is written with the bytes that it holds. Before the first write all of them are read and noted
 * in the journal, in the order of the writes, so its file gives them back in sequence. At the end they are read again
 * and compared.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "measure/smr/smr.h"

#define SIGNALLED_NS (5 * NS_PER_S) /* whoever sent a signal does not want to wait for long */

struct watched {
	struct smr_io *io;
	const char *phase;
	bool is_verifying, was_over;
	uint64_t until_ns; /* of verifying */
};

static bool go_on(void *arg, double done)
{
	struct watched *w = arg;
	uint64_t now_ns = clock_now_ns(w->io->ses->env->clk);
	bool is_over = session_is_over(w->io->ses);

	session_progress(w->io->ses, w->phase, done, NULL);
	if (is_over && !w->was_over && now_ns + SIGNALLED_NS < w->until_ns)
		w->until_ns = now_ns + SIGNALLED_NS;
	w->was_over = is_over;
	return w->is_verifying ? now_ns < w->until_ns : !is_over;
}

int smr_back_begin(struct smr_io *io, const char *dir, struct err *err)
{
	struct watched w = { .io = io, .phase = "reading what will be written" };
	cleanup_free struct rewrite_place *v = NULL;
	size_t n;
	int r = rewrite_start(&io->journal, io->ses, 0, io->eng, dir, false, err);

	if (r < 0)
		return r;
	n = smr_places(io->layout, io->ses->seed, &v);
	return rewrite_save(io->journal, v, n, &(struct rewrite_watch){ go_on, &w }, &io->is_noted, err);
}

static int verify(struct smr_io *io, struct err *err)
{
	struct watched w = { io, "comparing what was written", true, false,
		             clock_now_ns(io->ses->env->clk) + io->time_ns };
	struct rewrite_recovery found;
	int r;

	r = rewrite_verify(io->journal, &(struct rewrite_watch){ go_on, &w }, &found, err);
	if (r == 0)
		result_figure_u64(io->ses->res, "compared_bytes", "written, read back and the same", UNIT_BYTES,
		                  found.same * io->ses->devs[0].logical_block_bytes);
	if (r == 0 && !found.is_all)
		result_notice(io->ses->res, "not-all-compared",
		              "What was written to %s was what it held before, and flushed; only %" PRIu64
		              " bytes of it were read again in the time that there was, all as they were.",
		              io->ses->devs[0].path, found.same * io->ses->devs[0].logical_block_bytes);
	return r;
}

int smr_back_end(struct smr_io *io, int r, struct err *err)
{
	struct err why = { 0 };

	if (io->is_noted && verify(io, &why) < 0)
		r = err_set(err, why.code, "%s", why.text);
	rewrite_close(io->journal);
	return r;
}
