/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One sample: a window is read (written, rewritten) from its first byte to its last, always `depth` requests in flight,
 * and the completions are kept for the estimate.
 *
 * Writing is timed twice in each sample: a short piece with a flush after it, then the rest with a flush. Rate =
 * (difference of the bytes) / (difference of the times): what the two have in common falls out (seek, waiting for the
 * angle, the flush's own cost), and what a write-back cache took in without writing it is in neither. A disk that
 * writes through is seen by its flush, which takes no time; there the completions are as good as those of reading, and
 * are used.
 */
#include "measure/zones/zones.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "base/units.h"
#include "base/xalloc.h"
#include "measure/shared/rewrite.h"

#define SAMPLE_TOO_LONG 20.0 /* times the expected; then what there is must do (a choice) */
#define SAMPLE_LONG_NS  3e9  /* but never before this: a drive tries for seconds */
#define PROBE_REVS \
	6.0 /* the first sample of few places: seek and settle, and some tracks for a rate to begin with (a choice) */
#define PUT_BACK_TRIES 3 /* a choice; what fails stays in the journal */

enum piece { PIECE_SHORT, PIECE_SHORT_FLUSH, PIECE_REST, PIECE_REST_FLUSH, PIECE_END };

struct pieces { /* of writing; bytes and time of the short one, and of both */
	enum piece at;
	uint64_t end, start_ns, last_done_ns;
	double ns[2], bytes[2], flush_ns;
};

/* Feeder and sink of a sample are two sides of one object. */
struct sampler {
	struct feeder feeder;
	struct sink sink;
	struct zones_run *run;
	uint32_t target, block_bytes;
	enum io_op op;
	uint64_t at, end; /* next byte to ask for */
	uint64_t first;
	uint64_t start_ns, limit_ns;           /* limit: how long this may take, where completions suffice */
	bool has_fault, is_enough, is_stopped; /* this program did not run meanwhile */
	struct pieces piece;
	uint32_t in_flight;
	/* rewriting */
	uint8_t *chunk;             /* byte `first` of the window is its first; NULL: buffers of the engine */
	bool is_filling, is_verify; /* reading: into the chunk; into the engine's buffers, to compare with the chunk */
	uint64_t mismatched;        /* sectors that read differently from what was written */
	struct rewrite_journal *journal;
	struct err why; /* somebody else writes */
	uint64_t sequence;
};

static struct sampler *of_feeder(struct feeder *f)
{
	return (struct sampler *)((char *)f - offsetof(struct sampler, feeder));
}

static struct sampler *of_sink(struct sink *s)
{
	return (struct sampler *)((char *)s - offsetof(struct sampler, sink));
}

/* ---- feeding ---- */

static enum feed feed_block(struct sampler *s, struct io_req *req)
{
	uint64_t left = s->piece.end - s->at;
	uint32_t len = s->block_bytes;

	req->op = s->op;
	req->target = s->target;
	req->offset_bytes = s->at;
	req->len_bytes = left < len ? (uint32_t)left : len;
	req->due_ns = 0;
	if (s->chunk && s->op == IO_WRITE && rewrite_allow(s->journal, req->len_bytes, &s->why) < 0)
		return FEED_END;
	if (s->chunk && (s->op == IO_WRITE || s->is_filling)) {
		req->buf = s->chunk + (s->at - s->first);
		req->slot = SLOT_NONE;
	} else if (s->op == IO_WRITE) {
		struct payload_id id = { .seed = s->run->ses->seed,
			                 .sequence = s->sequence++,
			                 .offset_bytes = s->at,
			                 .target = s->target,
			                 .len_bytes = req->len_bytes };
		payload_stamp(req->buf, &id);
	}
	s->at += req->len_bytes;
	s->in_flight++;
	return FEED_IO;
}

static enum feed next_read(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct sampler *s = of_feeder(f);

	(void)ret_until_ns; /* never waits */
	if (!s->start_ns)
		s->start_ns = now_ns;
	if (now_ns - s->start_ns > s->limit_ns && s->run->ndone + s->in_flight > s->run->p->depth + 2 * ZONE_DONE_MIN)
		s->is_enough = true;
	if (s->at >= s->end || s->is_enough)
		return FEED_END;
	return feed_block(s, req);
}

/* A short piece, flush, the rest, flush; each only when all before it is done. */
static enum feed next_write(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct sampler *s = of_feeder(f);

	if (s->has_fault || s->piece.at == PIECE_END)
		return FEED_END;
	if (s->at < s->piece.end) {
		if (!s->piece.start_ns)
			s->piece.start_ns = now_ns;
		return feed_block(s, req);
	}
	if (s->in_flight) {
		*ret_until_ns = CLOCK_NEVER;
		return FEED_WAIT;
	}
	s->piece.at++;
	req->op = IO_FLUSH;
	req->target = s->target;
	s->in_flight++;
	return FEED_IO;
}

/* ---- taking ---- */

static void keep_done(struct sampler *s, const struct io_req *req)
{
	struct zones_run *run = s->run;
	double before = run->ndone ? run->done[run->ndone - 1].bytes : 0.0;

	if (run->ndone == run->done_room) {
		run->done_room = run->done_room ? 2 * run->done_room : 256;
		run->done = xgrow(run->done, run->done_room, sizeof(*run->done));
	}
	run->done[run->ndone++] = (struct zone_done){ (double)(req->done_ns - s->start_ns), before + (double)req->res };
}

static void compare(struct sampler *s, const struct io_req *req)
{
	uint32_t sector = s->run->ses->devs[s->target].logical_block_bytes;
	const uint8_t *got = req->buf, *want = s->chunk + (req->offset_bytes - s->first);

	for (uint32_t i = 0; i < req->len_bytes; i += sector)
		s->mismatched += memcmp(got + i, want + i, sector) != 0;
}

static void take_read(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct sampler *s = of_sink(sink);

	s->in_flight--;
	s->is_stopped |= req->is_late;
	s->is_enough |= req->is_late && !s->is_verify;
	if (is_fault) {
		/* The disk's own retries have spoiled the times; the rest of the window would not be worth its wait. */
		s->has_fault = s->is_enough = true;
		zone_fault_note(&s->run->targets[s->target], req->offset_bytes, req->len_bytes, req->res);
		return;
	}
	if (s->is_verify)
		compare(s, req);
	keep_done(s, req);
}

static void take_flush(struct sampler *s, const struct io_req *req)
{
	bool is_short = s->piece.at == PIECE_SHORT_FLUSH;

	s->piece.ns[!is_short] = (double)(req->done_ns - s->piece.start_ns);
	if (is_short) {
		s->piece.at = PIECE_REST;
		s->piece.bytes[0] = (double)(s->piece.end - s->first);
		s->piece.end = s->end;
		s->piece.start_ns = 0;
	} else {
		s->piece.at = PIECE_END;
		s->piece.bytes[1] = (double)(s->end - s->first) - s->piece.bytes[0];
		s->piece.flush_ns = (double)(req->done_ns - s->piece.last_done_ns);
	}
}

static void take_write(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct sampler *s = of_sink(sink);

	s->in_flight--;
	s->is_stopped |= req->is_late;
	if (is_fault) {
		s->has_fault = true;
		s->run->failed_writes += !load_is_lost(req->res);
		return;
	}
	if (req->op == IO_FLUSH) {
		take_flush(s, req);
		return;
	}
	s->piece.last_done_ns = req->done_ns;
	if (s->piece.at == PIECE_REST) {
		if (!s->run->ndone)
			s->start_ns = s->piece.start_ns;
		keep_done(s, req);
	}
}

static int run_sampler(struct zones_run *run, struct sampler *s, struct err *err)
{
	struct load load = {
		.targets = run->ses->targets,
		.ntargets = run->ses->ndevs,
		.feeder = &s->feeder,
		.sink = &s->sink,
		.depth = run->targets[s->target].layout.depth,
	};
	struct load_stats stats;
	int r;

	run->ndone = 0;
	s->at = s->first;
	s->in_flight = 0;
	r = session_load(run->ses, &load, run->eng, &stats, err);
	return r == 0 && s->why.code ? err_set(err, s->why.code, "%s", s->why.text) : r;
}

static struct sampler make_sampler(struct zones_run *run, const struct zone_target *t, const struct zone_sample *how,
                                   enum io_op op)
{
	double expect_ns =
		t->bytes_per_s > 0.0 ? (double)(how->end_bytes - how->first_bytes) / t->bytes_per_s * 1e9 : 0.0;
	bool is_short = how->kind == SAMPLE_PROBE && run->p->places;
	struct sampler s = {
		.feeder = { op == IO_WRITE ? next_write : next_read },
		.sink = { op == IO_WRITE ? take_write : take_read },
		.run = run,
		.target = (uint32_t)t->index,
		.block_bytes = how->request_bytes ? how->request_bytes : t->layout.block_bytes,
		.op = op,
		.first = how->first_bytes,
		.end = how->end_bytes,
		.piece = { .end = how->end_bytes, .flush_ns = NAN },
		.limit_ns = (uint64_t)(is_short ? PROBE_REVS * zone_rev_ns(&t->layout)
		                                : fmax(SAMPLE_LONG_NS, SAMPLE_TOO_LONG * expect_ns)),
		.chunk = run->p->rewrite ? run->chunk : NULL,
		.journal = t->journal,
		.sequence = t->samples.n << 32,
	};

	if (op == IO_WRITE && t->is_outlasted)
		s.piece.at = PIECE_REST;
	else if (op == IO_WRITE && s.end - s.first > (uint64_t)2 * run->p->depth * s.block_bytes)
		s.piece.end = s.first + (uint64_t)run->p->depth * s.block_bytes;
	return s;
}

/* ---- estimates ---- */

/* Does what is written go through to the media? Then the flush afterwards finds nothing to do. */
static bool is_through(const struct zones_run *run, const struct sampler *s)
{
	double block_ns = s->piece.ns[1] / s->piece.bytes[1] * s->block_bytes;

	return s->piece.flush_ns < block_ns / 2 && !run->targets[s->target].lead_bytes;
}

static void estimate(struct zones_run *run, const struct sampler *s, struct zone_sample *z)
{
	z->has_fault = s->has_fault;
	z->is_disturbed |= s->is_stopped;
	/* Out of a write cache they come by the batch, and waits say nothing. */
	if (!s->has_fault && !s->is_stopped && run->ndone &&
	    zone_sample_estimate(z, run->done, run->ndone, &run->targets[s->target].layout,
	                         s->op != IO_WRITE || is_through(run, s))) {
		z->end_bytes = s->first + (uint64_t)(s->piece.bytes[0] + run->done[run->ndone - 1].bytes);
		z->from_bytes = z->end_bytes - (uint64_t)z->moved_bytes;
	}
}

/* Leaves the completions that come at the media's pace: those behind the lead, or in a probe those behind the knee. */
static void estimate_lasting(struct zones_run *run, const struct sampler *s, struct zone_sample *z)
{
	double lead = (double)run->targets[s->target].lead_bytes;
	size_t first = 0;

	if (z->kind == SAMPLE_PROBE)
		lead = z->written.cached.bytes = zone_cached_bytes(run->done, run->ndone, &z->written.cached.ns);
	while (first < run->ndone && run->done[first].bytes <= lead)
		first++;
	run->ndone -= first;
	memmove(run->done, run->done + first, run->ndone * sizeof(*run->done));
	estimate(run, s, z);
}

static void estimate_write(struct zones_run *run, const struct sampler *s, struct zone_sample *z)
{
	double db = s->piece.bytes[1] - s->piece.bytes[0], dt = s->piece.ns[1] - s->piece.ns[0];

	z->has_fault = s->has_fault;
	z->written.flush_ns = s->piece.flush_ns;
	z->is_disturbed |= s->is_stopped;
	if (s->has_fault || s->is_stopped || s->piece.at != PIECE_END)
		return;
	if (run->targets[s->target].is_outlasted) {
		estimate_lasting(run, s, z);
		return;
	}
	if (is_through(run, s)) {
		estimate(run, s, z);
		if (z->is_good)
			return;
	}
	if (!(db > 0.0) || !(dt > 0.0)) {
		/* So fast that the difference drowns: all bytes over all the time, flushes included; a lower bound. */
		db = s->piece.bytes[0] + s->piece.bytes[1];
		dt = s->piece.ns[0] + s->piece.ns[1];
	}
	if (!(db > 0.0) || !(dt > 0.0))
		return;
	z->is_good = true;
	z->ns_per_byte = zone_as_kept(dt / db);
	/* Each of the two times contains a wait for the angle, uniform over a revolution: deviation of their
	 * difference. */
	z->se_ratio = (isfinite(run->targets[s->target].layout.rev_ns) ? run->targets[s->target].layout.rev_ns : 0.0) /
	              sqrt(6.0) / dt;
	z->moved_bytes = db;
	z->elapsed_ns = dt;
	z->from_bytes = s->first;
}

/* ---- the three modes ---- */

static int take_reading(struct zones_run *run, struct zone_target *t, struct zone_sample *z, struct err *err)
{
	struct sampler s = make_sampler(run, t, z, IO_READ);
	uint64_t before = session_requests_kept(run->ses);
	int r = run_sampler(run, &s, err);
	struct zone_done whole = r == 0 && run->ndone ? run->done[run->ndone - 1] : (struct zone_done){ 0 };

	if (r == 0)
		estimate(run, &s, z);
	z->first_request = session_requests_kept(run->ses) > before ? before + 1 : 0;
	if (r == 0 && z->is_good) {
		z->whole.bytes = whole.bytes;
		z->whole.ns = whole.t_ns;
	}
	return r;
}

static int take_writing(struct zones_run *run, struct zone_target *t, struct zone_sample *z, struct err *err)
{
	struct sampler s = make_sampler(run, t, z, IO_WRITE);
	int r = run_sampler(run, &s, err);

	if (r == 0)
		estimate_write(run, &s, z);
	return r;
}

int zone_sample_read(struct zones_run *run, struct zone_target *t, uint64_t first_bytes, uint64_t end_bytes,
                     struct err *err)
{
	struct zone_sample z = { .first_bytes = first_bytes, .end_bytes = end_bytes };
	int r = take_reading(run, t, &z, err);

	t->read_bytes_per_s = r == 0 && z.is_good ? 1e9 / z.ns_per_byte : (double)NAN;
	return r;
}

/* A sample of writing that counts begins with what does not: before it, or where the target begins, at its cost behind
 * it. */
static void add_lead(const struct zone_target *t, struct zone_sample *z)
{
	uint64_t before = z->first_bytes - t->layout.first_bytes, lead = t->lead_bytes;

	if (!lead || z->kind == SAMPLE_PROBE || z->kind == SAMPLE_CHECK) /* a check has that of its sample */
		return;
	z->first_bytes -= lead < before ? lead - lead % t->layout.align_bytes : before;
	z->end_bytes += lead < before ? 0 : lead - before;
	if (z->end_bytes > t->layout.end_bytes)
		z->end_bytes = t->layout.end_bytes;
}

/* After a failed write: once more, block by block, from memory. Whatever still fails stays in the journal. */
static int put_back(struct zones_run *run, struct zone_target *t, struct zone_sample *z, bool *ret_done,
                    struct err *err)
{
	for (int try = 0; try < PUT_BACK_TRIES && !session_is_over(run->ses); try++) {
		struct sampler s = make_sampler(run, t, z, IO_WRITE);
		int r = run_sampler(run, &s, err);

		*ret_done = r == 0 && !s.has_fault && s.piece.at == PIECE_END;
		if (r < 0 || *ret_done)
			return r;
	}
	return 0;
}

/* The chunk is in memory and in the journal: writes it back. *ret_done: it is on the media. */
static int write_back(struct zones_run *run, struct zone_target *t, struct zone_sample *z, bool *ret_done,
                      struct err *err)
{
	struct sampler s = make_sampler(run, t, z, IO_WRITE);
	struct err why = { 0 };
	int r = run_sampler(run, &s, err);

	*ret_done = false;
	if (r < 0)
		return r;
	estimate_write(run, &s, z);
	if (s.has_fault)
		return put_back(run, t, z, ret_done, err);
	*ret_done = s.piece.at == PIECE_END;
	if (*ret_done)
		return 0;
	/* Stopped: what was written is what was there before; it only has to be out of the drive's cache. */
	*ret_done = rewrite_flush(t->journal, &why) == 0;
	return 0;
}

/* Reads the chunk again and compares. *ret_same: every byte is as before. */
static int verify(struct zones_run *run, struct zone_target *t, struct zone_sample *z, bool *ret_same, struct err *err)
{
	struct sampler s = make_sampler(run, t, z, IO_READ);
	int r;

	s.is_verify = true;
	s.limit_ns = UINT64_MAX;
	r = run_sampler(run, &s, err);
	if (r < 0)
		return r;
	if (s.mismatched)
		return rewrite_lost(t->journal,
		                    &(struct rewrite_recovery){
					    .sectors = (s.end - s.first) / t->dev->logical_block_bytes,
					    .same = (s.end - s.first) / t->dev->logical_block_bytes - s.mismatched,
					    .differing = s.mismatched },
		                    err);
	*ret_same = !s.has_fault;
	return 0;
}

/* Read, note in the journal, write the same bytes back, flush, read again and compare. */
static int take_rewriting(struct zones_run *run, struct zone_target *t, struct zone_sample *z, struct err *err)
{
	struct sampler s = make_sampler(run, t, z, IO_READ);
	bool is_back = false;
	char where[32];
	int r;

	s.limit_ns = UINT64_MAX;
	s.is_filling = true;
	r = run_sampler(run, &s, err);
	if (r < 0)
		return r;
	z->has_fault = s.has_fault;
	if (s.has_fault || s.at != s.end || session_is_over(run->ses))
		return 0; /* what cannot be read is not written */
	r = rewrite_begin(t->journal, z->first_bytes, run->chunk, z->end_bytes - z->first_bytes, err);
	if (r == 0)
		r = write_back(run, t, z, &is_back, err);
	if (r == 0 && is_back && !session_is_over(run->ses))
		r = verify(run, t, z, &is_back, err);
	if (r < 0)
		return r;
	if (is_back)
		return rewrite_end(t->journal, err);
	return err_set(
		err, -EIO,
		"%s: the bytes from %s on could not be written back. The original bytes are in %s: run `platter recover "
		"%s` when the disk takes writes again.",
		t->dev->path, units_bytes(where, sizeof(where), z->first_bytes), rewrite_path(t->journal),
		t->dev->path);
}

void zone_samples_add(struct zone_samples *all, const struct zone_sample *z)
{
	if (all->n == all->room) {
		all->room = all->room ? 2 * all->room : 256;
		all->v = xgrow(all->v, all->room, sizeof(*all->v));
	}
	all->v[all->n++] = *z;
}

int zone_sample_take(struct zones_run *run, struct zone_target *t, const struct zone_sample *how,
                     const struct zone_sample **ret, struct err *err)
{
	struct zone_sample z = *how;
	uint64_t before_ns = clock_now_ns(run->ses->env->clk), stolen = session_stolen_ticks(run->ses),
		 foreign = session_foreign_bytes(run->ses, t->index);
	int r;

	z.written.flush_ns = NAN;
	z.request_bytes = how->request_bytes ? how->request_bytes : t->layout.block_bytes;
	for (size_t i = 0; i < ZONE_PARTS; i++)
		z.part_ns_per_byte[i] = NAN;
	z.y = NAN;
	add_lead(t, &z);
	r = run->p->rewrite ? take_rewriting(run, t, &z, err)
	    : run->p->write ? take_writing(run, t, &z, err)
	                    : take_reading(run, t, &z, err);
	if (r < 0)
		return r;
	z.at_s = ((double)before_ns * 0.5 + (double)clock_now_ns(run->ses->env->clk) * 0.5 -
	          (double)run->ses->start_ns) *
	         1e-9;
	z.is_disturbed |=
		session_stolen_ticks(run->ses) > stolen || session_foreign_bytes(run->ses, t->index) > foreign;
	if (z.is_good)
		t->bytes_per_s = 1e9 / z.ns_per_byte;
	if (zone_is_usable(&z))
		t->layout.positions[z.position].bytes_per_s = t->bytes_per_s;
	zone_samples_add(&t->samples, &z);
	if (ret)
		*ret = &t->samples.v[t->samples.n - 1];
	return 0;
}

/* ---- --rewrite's journals, at the begin and the end of a run ---- */

static int make_chunk(struct zones_run *run, struct err *err)
{
	size_t bytes = 0;
	void *p;

	for (size_t i = 0; i < run->ntargets; i++)
		bytes = run->targets[i].layout.window_bytes > bytes ? run->targets[i].layout.window_bytes : bytes;
	bytes += ZONE_LEAD_MAX;
	bytes = (bytes + (2u << 20) - 1) & ~((size_t)(2u << 20) - 1);
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return err_set(err, -ENOMEM, "Out of memory for the %zu bytes that --rewrite holds.", bytes);
	(void)madvise(p, bytes, MADV_HUGEPAGE); /* smaller pages are only slower */
	run->chunk = p;
	run->chunk_bytes = bytes;
	return 0;
}

int zones_journal_open(struct zones_run *run, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < run->ntargets; i++)
		r = rewrite_start(&run->targets[i].journal, run->ses, run->targets[i].index, run->eng, run->p->journal,
		                  false, err);
	return r == 0 ? make_chunk(run, err) : r;
}

void zones_journal_close(struct zones_run *run)
{
	for (size_t i = 0; i < run->ntargets; i++)
		rewrite_close(run->targets[i].journal);
	if (run->chunk)
		(void)munmap(run->chunk, run->chunk_bytes);
}
