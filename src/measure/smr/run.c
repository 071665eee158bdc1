/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `smr` does to the disk. One request at a time: a queue would hide how long a single one had to wait. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "measure/shared/ownfile.h"
#include "measure/shared/timed.h"
#include "measure/smr/smr.h"

#define STREAM_BLOCK SMR_PIECE
#define ACCESSES     32
#define AGAIN        8
#define ACCESS_LEAST 8 /* of them, that were slow enough for an arm */
#define READ_BYTES   (32ull << 20)
#define ARM_NS       1.5e6 /* nothing that turns and seeks takes less on average */
#define PATH_READS   64
#define PATH_LEAST   (PATH_READS / 2) /* of them, that were answered */
#define A_TURN       0.02             /* of one: answers are not more uncertain */
#define ROTATION_NS  (1 * NS_PER_S)

/* ---- opening ---- */

int smr_open(struct smr_io *io, struct session *ses, const struct smr_layout *layout, struct err *err)
{
	const struct engine_config cfg = { .depth = 2, .buf_bytes = STREAM_BLOCK };
	int r = 0;

	*io = (struct smr_io){ .ses = ses, .layout = layout, .own = { .fd = -1 }, .target = &io->own };
	io->time_ns = ses->common->time_ns ? ses->common->time_ns : SMR_TIME_NS;
	io->end_ns = ses->start_ns + io->time_ns;
	if (ses->plan->opens_itself)
		r = own_file_open(&io->file, &io->own, &ses->devs[0], layout->first_bytes + layout->size_bytes, err);
	else
		io->target = &ses->targets[0];
	if (r == 0)
		r = session_engine(ses, &cfg, &io->eng, err);
	for (uint32_t slot = 0; r == 0 && slot < io->eng->cfg.slots; slot++)
		payload_fill(engine_buf(io->eng, slot),
		             &(struct payload_id){ .seed = ses->seed, .sequence = slot, .len_bytes = STREAM_BLOCK });
	return r;
}

void smr_close(struct smr_io *io)
{
	engine_close(io->eng);
	own_file_close(io->file, &io->own);
}

bool smr_is_over(const struct smr_io *io)
{
	return session_is_over(io->ses) || clock_now_ns(io->ses->env->clk) + io->look_ns >= io->end_ns;
}

/* ---- before the writes at random ---- */

void smr_timed(struct smr_io *io, uint64_t stream, struct timed *ret)
{
	uint32_t physical = io->ses->devs[0].physical_block_bytes;

	*ret = (struct timed){ .ses = io->ses, .eng = io->eng, .target = io->target, .until_ns = io->end_ns };
	ret->block_bytes = ret->step_bytes = physical > SMR_BLOCK ? physical : SMR_BLOCK;
	session_rng(io->ses, stream, &ret->rng);
}

int smr_turns(struct smr_io *io, uint64_t end, int *ret_turns, struct err *err)
{
	uint64_t all = io->target->size_bytes;
	struct rotation rot;
	struct timed t;
	int r;

	smr_timed(io, 1, &t);
	io->target->size_bytes = end;
	r = rotation_find(&t, ROTATION_NS, &rot, err);
	io->target->size_bytes = all;
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

	smr_timed(io, 1, &t);
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
	t.block_bytes = STREAM_BLOCK / 4;     /* fits into a segment of most */
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
static int mean_beyond_turns(struct smr_io *io, struct timed *t, uint64_t step, double *ret_ns, struct err *err)
{
	double ns[1 + PATH_READS], sum = 0.0;
	/* Between the cushion and the singles, where no block is written: of a cache on the media, some drives
	 * read from there each time. */
	uint64_t unit = io->layout->part[SMR_SINGLES].step_bytes, at[1 + PATH_READS];
	uint64_t first = io->layout->part[SMR_SINGLES].first_bytes - unit / 8;
	size_t n = 0;
	int r;

	for (size_t i = 0; i <= PATH_READS; i++)
		at[i] = first + i * step;
	r = timed_reads(t, at, 1 + PATH_READS, ns, NULL, err);
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
	uint64_t begin_ns = clock_now_ns(io->ses->env->clk);
	double again, ahead = NAN, now;
	struct timed t;
	int r;

	smr_timed(io, 1, &t);
	r = mean_beyond_turns(io, &t, 0, &again, err);
	if (r == 0)
		r = mean_beyond_turns(io, &t, t.block_bytes, &ahead, err);
	now = fmin(again, ahead);
	in->path_ns = isnan(now) ? now : fmax(in->path_ns, now);
	io->look_ns = clock_now_ns(io->ses->env->clk) - begin_ns;
	return r;
}

/* What another one wants to be written, with the bytes that were there. */
struct same_feeder {
	struct feeder f; /* first: next() gets a pointer to it */
	struct feeder *of;
	struct smr_io *io;
	struct err why;
};

static enum feed same_next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct same_feeder *s = (struct same_feeder *)f;
	enum feed feed = s->of->next(s->of, now_ns, req, ret_until_ns);

	if (feed == FEED_IO && req->op == IO_WRITE &&
	    rewrite_fetch(s->io->journal, req->offset_bytes, req->buf, req->len_bytes, &s->why) < 0)
		return FEED_END;
	return feed;
}

static int run_load(struct smr_io *io, struct load *load, struct feeder *f, struct err *err)
{
	struct same_feeder same = { { same_next, NULL }, f, io, { 0 } };
	struct load_stats stats;
	int r;

	load->targets = io->target;
	load->ntargets = 1;
	load->feeder = io->journal ? &same.f : f;
	r = session_load(io->ses, load, io->eng, &stats, err);
	return r == 0 && same.why.code ? err_set(err, same.why.code, "%s", same.why.text) : r;
}

int smr_stream(struct smr_io *io, uint64_t first, uint64_t end, struct err *err)
{
	uint64_t now_ns = clock_now_ns(io->ses->env->clk);
	struct load load = { .depth = 2 };
	struct seq_feeder feeder;

	if (now_ns >= io->end_ns)
		return 0;
	if (!io->file) { /* reads looked elsewhere, too; from here on, nothing is touched there */
		io->target->touch_first = io->layout->first_bytes;
		io->target->touch_end = io->layout->first_bytes + io->layout->size_bytes;
	}
	seq_feeder_init(&feeder, IO_WRITE, 0, first, end, STREAM_BLOCK);
	load.max_ns = io->end_ns - now_ns;
	session_progress(io->ses, "writing in sequence", 0.02, NULL);
	return run_load(io, &load, &feeder.f, err);
}

/* ---- the writes at random ---- */

struct batch {
	struct feeder f; /* first: next() gets a pointer to it */
	struct sink sink;
	const struct smr_io *io;
	uint64_t from, writes, sent; /* places; a flush follows */
	uint64_t begin_ns, written_ns, flushed_ns;
	bool is_bad;
};

static enum feed batch_next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct batch *b = (struct batch *)f;

	(void)now_ns;
	(void)ret_until_ns;
	if (b->sent > b->writes)
		return FEED_END;
	req->op = b->sent < b->writes ? IO_WRITE : IO_FLUSH;
	if (req->op == IO_WRITE) {
		req->len_bytes = SMR_BLOCK;
		req->offset_bytes = smr_place(b->io->layout, b->from + b->sent, b->io->ses->seed);
	}
	b->sent++;
	return FEED_IO;
}

static void take_write(struct sink *s, const struct io_req *req, bool is_fault)
{
	struct batch *b = (struct batch *)((char *)s - offsetof(struct batch, sink));

	b->is_bad |= is_fault && req->op == IO_FLUSH;
	if (!b->begin_ns)
		b->begin_ns = req->submit_ns;
	if (req->op == IO_FLUSH)
		b->flushed_ns = req->done_ns;
	else
		b->written_ns = req->done_ns;
}

static void keep(struct smr_samples *s, const struct smr_sample *sample)
{
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->v = xgrow(s->v, s->room, sizeof(*s->v));
	}
	s->v[s->n++] = *sample;
}

int smr_write(struct smr_io *io, uint64_t from, uint64_t n, struct smr_samples *s, struct err *err)
{
	uint64_t all = smr_layout_writes(io->layout);
	struct batch b = { { batch_next, NULL }, { take_write }, .io = io, .from = from, .writes = 1 };
	struct load load = { .sink = &b.sink, .depth = 1 };
	int r;

	while (b.writes < n && from + b.writes < all &&
	       smr_part_of(io->layout, from + b.writes) == smr_part_of(io->layout, from))
		b.writes++;
	r = run_load(io, &load, &b.f, err);
	if (r < 0 || b.is_bad || !b.flushed_ns || !b.written_ns)
		return r;
	keep(s, &(struct smr_sample){ .time_s = (double)(b.flushed_ns - io->ses->start_ns) * 1e-9,
	                              .writes_per_s = (double)b.writes * 1e9 / (double)(b.flushed_ns - b.begin_ns + 1),
	                              .first = s->n ? s->v[s->n - 1].first + s->v[s->n - 1].writes : 0,
	                              .writes = b.writes,
	                              .block_bytes = SMR_BLOCK,
	                              .flushes = 1,
	                              .write_ns = b.written_ns - b.begin_ns,
	                              .flush_ns = b.flushed_ns - b.written_ns });
	return 0;
}
