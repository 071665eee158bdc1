/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --rewrite: each block is written with the bytes that it holds. All of them are read and noted in the journal before the first write, in the order in which they
 * will be written, so that they come back from its file in sequence; at the end they are read again and compared.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "measure/smr/smr.h"

#define SIGNALLED_NS (5 * NS_PER_S) /* whoever sent a signal does not want to wait for long */

/* The journal's places: cushion and singles, the comb in large pieces without gaps, the bulk, large blocks. */
struct places {
	uint64_t before_comb, pieces, bulk, large;
};

static struct places count(const struct smr_layout *l)
{
	const struct smr_run_of *part = l->part;
	uint64_t comb = part[SMR_COMB].n * part[SMR_COMB].step_bytes;

	return (struct places){ part[SMR_CUSHION].n + part[SMR_SINGLES].n, (comb + SMR_PIECE - 1) / SMR_PIECE,
		                part[SMR_BULK].n, l->large.n };
}

static size_t make_places(const struct smr_layout *l, uint64_t seed, struct rewrite_place **ret)
{
	const struct smr_run_of *comb = &l->part[SMR_COMB];
	uint64_t end = comb->first_bytes + comb->n * comb->step_bytes, bulk = smr_layout_writes(l);
	struct places c = count(l);
	struct rewrite_place *v = calloc(c.before_comb + c.pieces + c.bulk + c.large, sizeof(*v));
	size_t n = 0;

	*ret = v;
	if (!v)
		return 0;
	for (uint64_t i = 0; i < c.before_comb; i++)
		v[n++] = (struct rewrite_place){ smr_place(l, i, seed), SMR_BLOCK };
	for (uint64_t at = comb->first_bytes; at < end; at += SMR_PIECE)
		v[n++] = (struct rewrite_place){ at, end - at < SMR_PIECE ? end - at : SMR_PIECE };
	for (uint64_t i = bulk - c.bulk; i < bulk; i++)
		v[n++] = (struct rewrite_place){ smr_place(l, i, seed), SMR_BLOCK };
	for (uint64_t i = 0; i < c.large; i++)
		v[n++] = (struct rewrite_place){ l->large.first_bytes + i * l->large.step_bytes, SMR_LARGE };
	return n;
}

int smr_back_bytes(const struct smr_layout *l, uint64_t *ret, struct err *err)
{
	cleanup_free struct rewrite_place *v = NULL;
	size_t n = make_places(l, 1, &v); /* other seeds: as many bytes */

	*ret = rewrite_file_bytes(v, n);
	return v ? 0 : err_set(err, -ENOMEM, "Out of memory.");
}

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
	uint32_t sector = io->ses->devs[0].logical_block_bytes;
	cleanup_free struct rewrite_place *v = NULL;
	struct rewrite_recovery found;
	size_t n;
	int r = rewrite_start(&io->journal, io->ses, 0, io->eng, dir, false, err);

	if (r < 0)
		return r;
	n = make_places(io->layout, io->ses->seed, &v);
	if (!v)
		return err_set(err, -ENOMEM, "Out of memory.");
	r = rewrite_save(io->journal, io->eng, io->target, v, n, sector, &(struct rewrite_watch){ go_on, &w }, &found,
	                 &io->is_noted, err);
	session_moved(io->ses, 0, found.read_bytes, 0);
	return r;
}

int smr_back_block(struct smr_io *io, uint64_t i, void *buf, struct err *err)
{
	const struct smr_layout *l = io->layout;
	struct places c = count(l);
	uint64_t at = i * SMR_BLOCK;

	if (i < c.before_comb)
		return rewrite_fetch(io->journal, i, 0, buf, SMR_BLOCK, err);
	i -= c.before_comb;
	if (i >= l->part[SMR_COMB].n)
		return rewrite_fetch(io->journal, c.before_comb + c.pieces + i - l->part[SMR_COMB].n, 0, buf, SMR_BLOCK,
		                     err);
	at = i * l->part[SMR_COMB].step_bytes;
	return rewrite_fetch(io->journal, c.before_comb + at / SMR_PIECE, at % SMR_PIECE, buf, SMR_BLOCK, err);
}

int smr_back_large(struct smr_io *io, uint64_t k, void *buf, struct err *err)
{
	struct places c = count(io->layout);

	return rewrite_fetch(io->journal, c.before_comb + c.pieces + c.bulk + k, 0, buf, SMR_LARGE, err);
}

int smr_back_piece(struct smr_io *io, uint64_t offset_bytes, size_t len, void *buf, struct err *err)
{
	uint64_t k = (offset_bytes - io->layout->part[SMR_COMB].first_bytes) / SMR_PIECE;

	return rewrite_fetch(io->journal, count(io->layout).before_comb + k, 0, buf, len, err);
}

static int verify(struct smr_io *io, struct err *err)
{
	struct watched w = { io, "comparing what was written", true, false,
		             clock_now_ns(io->ses->env->clk) + io->time_ns };
	struct rewrite_recovery found;
	int r;

	r = rewrite_verify(io->journal, io->eng, io->target, io->ses->devs[0].logical_block_bytes,
	                   &(struct rewrite_watch){ go_on, &w }, &found, err);
	session_moved(io->ses, 0, found.read_bytes, 0);
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
