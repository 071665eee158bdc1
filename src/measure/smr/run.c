/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `smr` does to the disk. One request at a time: a queue would hide how long a single one had to wait. */
#include <inttypes.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/shared/timed.h"
#include "measure/smr/smr.h"

#define ACCESSES     32
#define AGAIN        8
#define ACCESS_LEAST 8 /* of them, that were slow enough for an arm */
#define READ_BYTES   (32ull << 20)
#define ARM_NS       1.5e6 /* nothing that turns and seeks takes less on average */
#define PATH_READS   64
#define PATH_LEAST   (PATH_READS / 2) /* of them, that were answered */
#define A_TURN       0.02             /* of one: answers are not more uncertain */
#define ROTATION_NS  (1 * NS_PER_S)
#define SIGNALLED_NS (5 * NS_PER_S) /* whoever sent a signal does not want to wait for long */

/* ---- before the writes at random ---- */

static void timed_of(const struct smr_io *io, struct timed *ret)
{
	uint32_t physical = io->l.ses->devs[0].physical_block_bytes;

	*ret = (struct timed){ .ses = io->l.ses, .eng = io->l.eng, .target = io->l.target, .until_ns = io->l.end_ns };
	ret->block_bytes = ret->step_bytes = physical > SMR_BLOCK ? physical : SMR_BLOCK;
	session_rng(io->l.ses, 1, &ret->rng);
}

int smr_turns(struct smr_io *io, uint64_t end, int *ret_turns, struct err *err)
{
	uint64_t all = io->l.target->size_bytes;
	struct rotation rot;
	struct timed t;
	int r;

	timed_of(io, &t);
	io->l.target->size_bytes = end;
	r = rotation_find(&t, ROTATION_NS, &rot, err);
	io->l.target->size_bytes = all;
	io->turn_ns = r == 0 && rot.is_rotating ? rot.period_ns : 0;
	if (r == 0)
		*ret_turns = rot.is_rotating ? 1 : rot.is_unclear || rot.is_patchy ? -1 : 0;
	return r;
}

int smr_access(struct smr_io *io, struct smr_input *in, struct err *err)
{
	double ns[ACCESSES], again[AGAIN], sum = 0.0;
	uint64_t at[ACCESSES];
	size_t n = 0;
	struct timed t;
	int r;

	timed_of(io, &t);
	for (size_t i = 0; i < ACCESSES; i++)
		at[i] = timed_random(&t, io->layout->first_bytes, io->layout->first_bytes + io->layout->size_bytes);
	r = timed_reads(&t, at, ACCESSES, ns, NULL, err);
	for (size_t i = 0; i < ACCESSES; i++)
		if (ns[i] > ARM_NS)
			ns[n++] = ns[i];
	stats_sort(ns, n);
	for (size_t i = 0; i < n * 3 / 4; i++) /* what came late is left out, with as many that did not */
		sum += ns[i];
	in->access_ns = n >= ACCESS_LEAST ? sum / (double)(n * 3 / 4) : (double)NAN;
	for (size_t i = 0; i < AGAIN; i++)
		at[i] = io->layout->part[SMR_BULK]
		                .first_bytes; /* of it nothing was written, so it is in no cache on the media */
	t.block_bytes = SMR_PIECE / 4;        /* fits into a segment of most */
	if (r == 0)
		r = timed_reads(&t, at, AGAIN, again, NULL, err);
	stats_sort(again, AGAIN); /* what failed comes last */
	in->interface_bytes_per_s = r == 0 ? t.block_bytes / again[0] * 1e9 : (double)NAN;
	if (r == 0)
		r = timed_rate(&t, io->layout->part[SMR_COMB].first_bytes, READ_BYTES, &in->stream_bytes_per_s, err);
	return r == 0 ? smr_path(io, in, err) : r;
}

/*
 * Of reads of blocks so far apart, what each takes on average beyond the turn that it takes where no buffer holds the
 * block: a drive may forget what it has handed out, or read ahead only now and then. NaN: too few were answered.
 */
static int mean_beyond_turns(struct smr_io *io, uint64_t step, double *ret_ns, struct err *err)
{
	double ns[1 + PATH_READS], sum = 0.0;
	/* Between the cushion and the singles, where no block is written: of a cache on the media, some drives
	 * read from there each time. */
	const struct smr_run_of *singles = &io->layout->part[SMR_SINGLES];
	uint64_t first = singles->first_bytes - singles->step_bytes / 8, at[1 + PATH_READS];
	size_t n = 0;
	struct timed t;
	int r;

	timed_of(io, &t);
	for (size_t i = 0; i <= PATH_READS; i++)
		at[i] = first + i * step * t.block_bytes;
	r = timed_reads(&t, at, 1 + PATH_READS, ns, NULL, err);
	for (size_t i = 1; i <= PATH_READS; i++) { /* but of the first, which may need the arm */
		if (isnan(ns[i]))
			continue;
		sum += ns[i] < (1 - A_TURN) * io->turn_ns ? ns[i] : fmax(0, ns[i] - io->turn_ns);
		n++;
	}
	*ret_ns = n >= PATH_LEAST ? sum / (double)n : (double)NAN;
	return r;
}

int smr_path(struct smr_io *io, struct smr_input *in, struct err *err)
{
	double again, ahead;
	int r = mean_beyond_turns(io, 0, &again, err) ?: mean_beyond_turns(io, 1, &ahead, err);

	if (r == 0)
		in->path_ns = fmax(in->path_ns, fmin(again, ahead)); /* NaN: the other */
	return r;
}

/* ---- the bytes that were there before ---- */

struct watched {
	struct session *ses;
	const char *phase;
	uint64_t until_ns; /* 0: until a signal */
	bool was_over;
};

static bool go_on(void *arg, double done)
{
	struct watched *w = arg;
	uint64_t now_ns = clock_now_ns(w->ses->env->clk);
	bool is_over = session_is_over(w->ses);

	session_progress(w->ses, w->phase, done, NULL);
	if (is_over && !w->was_over && now_ns + SIGNALLED_NS < w->until_ns)
		w->until_ns = now_ns + SIGNALLED_NS;
	w->was_over = is_over;
	return w->until_ns ? now_ns < w->until_ns : !is_over;
}

int smr_back_begin(struct smr_io *io, const char *dir, struct err *err)
{
	struct watched w = { .ses = io->l.ses, .phase = "reading what will be written" };
	cleanup_free struct rewrite_place *v = NULL;
	size_t n;
	int r = rewrite_start(&io->l.journal, io->l.ses, 0, io->l.eng, dir, false, err);

	if (r < 0)
		return r;
	n = smr_places(io->layout, io->l.ses->seed, &v);
	r = rewrite_save(io->l.journal, v, n, &(struct rewrite_watch){ go_on, &w }, &io->is_noted, err);
	io->l.end_ns = clock_now_ns(io->l.ses->env->clk) + io->time_ns;
	return r;
}

int smr_back_end(struct smr_io *io, int r, struct err *err)
{
	struct session *ses = io->l.ses;
	struct watched w = { .ses = ses,
		             .phase = "comparing what was written",
		             .until_ns = clock_now_ns(ses->env->clk) + io->time_ns };
	struct rewrite_recovery found;
	struct err why = { 0 };

	if (io->is_noted && rewrite_verify(io->l.journal, &(struct rewrite_watch){ go_on, &w }, &found, &why) < 0) {
		r = err_set(err, why.code, "%s", why.text);
	} else if (io->is_noted) {
		uint64_t bytes = found.same * ses->devs[0].logical_block_bytes;

		result_figure_u64(ses->res, "compared_bytes", "written, read back and the same", UNIT_BYTES, bytes);
		if (!found.is_all)
			result_notice(
				ses->res, "not-all-compared",
				"Each block of %s was written with the bytes that it held, and flushed. In the time left "
				"%" PRIu64 " bytes were read again, all unchanged.",
				ses->devs[0].path, bytes);
	}
	rewrite_close(io->l.journal);
	return r;
}

/* ---- writes ---- */

struct batch {
	const struct smr_io *io;
	uint64_t from; /* place of the first, or offset */
	uint64_t begin_ns, written_ns, flushed_ns;
	bool is_bad;
};

static uint64_t place_of(void *arg, uint64_t i)
{
	const struct batch *b = arg;

	return smr_place(b->io->layout, b->from + i, b->io->l.ses->seed);
}

static uint64_t place_behind(void *arg, uint64_t i)
{
	return ((const struct batch *)arg)->from + i * SMR_PIECE;
}

static void took(void *arg, const struct io_req *req, bool is_fault)
{
	struct batch *b = arg;

	b->is_bad |= is_fault && req->op == IO_FLUSH;
	if (!b->begin_ns)
		b->begin_ns = req->submit_ns;
	*(req->op == IO_FLUSH ? &b->flushed_ns : &b->written_ns) = req->done_ns;
}

int smr_stream(struct smr_io *io, uint64_t first, uint64_t end, struct err *err)
{
	struct batch b = { .io = io, .from = first };
	struct lasting_order o = { .op = IO_WRITE,
		                   .block_bytes = SMR_PIECE,
		                   .depth = 2,
		                   .requests = (end - first + SMR_PIECE - 1) / SMR_PIECE,
		                   .end_bytes = end,
		                   .place = place_behind,
		                   .took = took,
		                   .arg = &b };

	if (!io->l.file) { /* reads looked elsewhere, too; from here on, nothing is touched there */
		io->l.target->touch_first = io->layout->first_bytes;
		io->l.target->touch_end = io->layout->first_bytes + io->layout->size_bytes;
	}
	session_progress(io->l.ses, "writing in sequence", 0.02, NULL);
	return lasting_load(&io->l, &o, err);
}

int smr_write(struct smr_io *io, uint64_t from, uint64_t n, struct smr_samples *s, struct err *err)
{
	uint64_t all = smr_layout_writes(io->layout);
	struct batch b = { .io = io, .from = from };
	struct lasting_order o = { .op = IO_WRITE,
		                   .block_bytes = SMR_BLOCK,
		                   .depth = 1,
		                   .requests = 1,
		                   .flushes = true,
		                   .place = place_of,
		                   .took = took,
		                   .arg = &b };
	int r;

	while (o.requests < n && from + o.requests < all &&
	       smr_part_of(io->layout, from + o.requests) == smr_part_of(io->layout, from))
		o.requests++;
	r = lasting_load(&io->l, &o, err);
	if (r < 0 || b.is_bad || !b.flushed_ns || !b.written_ns)
		return r;
	s->v = xmore(s->v, s->n, sizeof(*s->v));
	s->v[s->n] =
		(struct smr_sample){ .time_s = (double)(b.flushed_ns - io->l.ses->start_ns) * 1e-9,
		                     .writes_per_s = (double)o.requests * 1e9 / (double)(b.flushed_ns - b.begin_ns + 1),
		                     .first = s->n ? s->v[s->n - 1].first + s->v[s->n - 1].writes : 0,
		                     .writes = o.requests,
		                     .flushes = 1,
		                     .write_ns = b.written_ns - b.begin_ns,
		                     .flush_ns = b.flushed_ns - b.written_ns };
	s->n++;
	return 0;
}
