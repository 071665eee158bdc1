/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `sustain` does to the disk. It stops for a moment whenever what came is looked at; those moments are not time of
 * the series, and no request waits for the look.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/xalloc.h"
#include "measure/shared/ownfile.h"
#include "measure/sustain/sustain.h"

#define WARMTH_NS  NS_PER_S /* hwmon asks the drive no more often */
#define DATA_PIECE 4096     /* each differs from all others: nothing is to be stored once */

void sustain_series_init(struct sustain_series *s, bool has_waits)
{
	*s = (struct sustain_series){ .width_s = SUSTAIN_FIRST, .v = xcalloc(SUSTAIN_BINS, sizeof(*s->v)) };
	if (has_waits)
		s->waits = xcalloc(SUSTAIN_BINS, sizeof(*s->waits));
}

void sustain_series_done(struct sustain_series *s)
{
	free(s->v);
	free(s->waits);
	*s = (struct sustain_series){ 0 };
}

static void join_bins(struct sustain_series *s)
{
	size_t end = SUSTAIN_HEAD + (SUSTAIN_BINS - SUSTAIN_HEAD) / 2;

	for (size_t i = SUSTAIN_HEAD, of = i; i < end; i++, of += 2) {
		struct sustain_bin *a = &s->v[of], *b = a + 1;

		s->v[i] = (struct sustain_bin){ .bytes = a->bytes + b->bytes,
			                        .requests = a->requests + b->requests,
			                        .worst_ns = a->worst_ns > b->worst_ns ? a->worst_ns : b->worst_ns,
			                        .celsius = b->celsius };
		for (size_t k = 0; s->waits && k < SUSTAIN_WAITS; k++)
			s->waits[i][k] = s->waits[of][k] + s->waits[of + 1][k];
	}
	memset(s->v + end, 0, (SUSTAIN_BINS - end) * sizeof(*s->v));
	if (s->waits)
		memset(s->waits + end, 0, (SUSTAIN_BINS - end) * sizeof(*s->waits));
	s->width_s *= 2;
}

static size_t bin_of(const struct sustain_series *s, double at_s)
{
	double i = at_s / SUSTAIN_FIRST;

	return i < SUSTAIN_HEAD ? (size_t)i : SUSTAIN_HEAD + (size_t)((i - SUSTAIN_HEAD) * SUSTAIN_FIRST / s->width_s);
}

static void add(struct sustain_series *s, double at_s, const struct io_req *req, double celsius)
{
	struct sustain_bin *b;
	uint64_t ns = req->done_ns - req->submit_ns;
	double part = SUSTAIN_PARTS * log2(fmax((double)ns, 256) / 256);
	size_t i;

	while ((i = bin_of(s, at_s)) >= SUSTAIN_BINS)
		join_bins(s);
	b = &s->v[i];
	b->bytes += req->len_bytes;
	b->requests++;
	b->celsius = celsius;
	if (req->is_late)
		return;
	b->worst_ns = ns > b->worst_ns ? ns : b->worst_ns;
	if (s->waits)
		s->waits[i][part < SUSTAIN_WAITS ? (size_t)part : SUSTAIN_WAITS - 1]++;
}

/* ---- opening ---- */

static bool writes(const struct sustain_io *io)
{
	return io->p->write || io->file;
}

static void fill(struct sustain_io *io, uint32_t len)
{
	struct payload_pool pool;

	payload_pool_init(&pool, io->ses->seed, len);
	for (uint32_t slot = 0; slot < io->eng->cfg.slots; slot++)
		memcpy(engine_buf(io->eng, slot), payload_pool_at(&pool, slot), len);
	payload_pool_done(&pool);
}

int sustain_open(struct sustain_io *io, struct session *ses, const struct sustain_params *p, struct err *err)
{
	uint32_t block = sustain_block(p), other = sustain_other_block(p);
	const struct engine_config cfg = { .depth = (uint32_t)p->depth, .buf_bytes = block > other ? block : other };
	int r;

	*io = (struct sustain_io){ .ses = ses, .p = p, .own = { .fd = -1 }, .target = &io->own };
	r = sustain_span(&ses->devs[0], p, &io->first_bytes, &io->end_bytes, err);
	if (r == 0 && ses->plan->opens_itself)
		r = own_file_open(&io->file, &io->own, &ses->devs[0], io->end_bytes, err);
	else if (r == 0)
		io->target = &ses->targets[0];
	if (r == 0 && io->file)
		session_medium_of_writes(ses);
	if (r == 0)
		r = session_engine(ses, &cfg, &io->eng, err);
	if (r == 0 && writes(io))
		fill(io, cfg.buf_bytes);
	return r;
}

void sustain_close(struct sustain_io *io)
{
	engine_close(io->eng);
	own_file_close(io->file, &io->own);
}

bool sustain_is_over(const struct sustain_io *io)
{
	return session_is_over(io->ses) || session_time_left_ns(io->ses) == 0;
}

/* ---- a stretch of load ---- */

struct stretch {
	struct feeder f; /* first: next() gets a pointer to it */
	struct sink sink;
	struct sustain_io *io;
	struct sustain_series *s;
	const struct sustain_order *o;
	uint64_t begin_ns, sent_bytes, warmth_ns;
	double base_s, last_s, celsius, rate_bytes_per_s;
};

static enum feed stretch_next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct stretch *l = (struct stretch *)f;
	struct sustain_io *io = l->io;
	uint64_t blocks = (io->end_bytes - io->first_bytes) / l->o->block_bytes, i = io->at / l->o->block_bytes;

	(void)now_ns;
	(void)ret_until_ns;
	req->op = writes(io) ? IO_WRITE : IO_READ;
	req->len_bytes = l->o->block_bytes;
	req->offset_bytes = io->first_bytes +
	                    (io->p->random ? permute(i % blocks, blocks, io->ses->seed + i / blocks) : i % blocks) *
	                            l->o->block_bytes;
	if (l->rate_bytes_per_s > 0)
		req->due_ns = l->begin_ns + (uint64_t)((double)l->sent_bytes * 1e9 / l->rate_bytes_per_s);
	io->at += req->len_bytes;
	l->sent_bytes += req->len_bytes;
	io->written++;
	for (uint32_t k = 0; writes(io) && k < req->len_bytes; k += DATA_PIECE)
		memcpy((uint8_t *)req->buf + k, &io->written, sizeof(io->written));
	return FEED_IO;
}

static void stretch_take(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct stretch *l = (struct stretch *)((char *)sink - offsetof(struct stretch, sink));
	double at_s = l->base_s + (double)(req->done_ns - l->begin_ns) * 1e-9;

	if (is_fault)
		return;
	l->last_s = at_s;
	add(l->s, at_s, req, l->celsius);
}

static void feel(struct stretch *l, uint64_t now_ns)
{
	const struct env *env = l->io->ses->env;
	uint32_t mc = env->devices->temperature ? env->devices->temperature(env->devices_ctx, &l->io->ses->devs[0]) : 0;

	l->celsius = mc ? mc * 1e-3 : (double)NAN;
	l->warmth_ns = now_ns + WARMTH_NS;
}

static void close_bins(struct stretch *l)
{
	struct sustain_series *s = l->s;

	s->time_s = l->last_s;
	s->n = bin_of(s, s->time_s);
	for (size_t i = 0; i < s->n; i++) {
		bool is_head = i < SUSTAIN_HEAD;

		s->v[i].time_s = is_head ? (double)i * SUSTAIN_FIRST
		                         : SUSTAIN_HEAD * SUSTAIN_FIRST + (double)(i - SUSTAIN_HEAD) * s->width_s;
		s->v[i].rate_bytes_per_s = (double)s->v[i].bytes / (is_head ? SUSTAIN_FIRST : s->width_s);
		if (s->v[i].requests == 0)
			s->v[i].celsius = i ? s->v[i - 1].celsius : l->celsius;
	}
}

static void tick(void *arg, uint64_t now_ns)
{
	struct stretch *l = arg;
	double s = (double)(now_ns - l->begin_ns) * 1e-9;
	char rate[32];

	if (now_ns >= l->warmth_ns)
		feel(l, now_ns);
	if (l->io->saves && session_saves_at(l->io->ses, now_ns)) {
		close_bins(l);
		l->io->saves(l->io->arg);
	}
	(void)units_rate(rate, sizeof(rate), s > 0 ? (double)l->sent_bytes / s : 0);
	s += l->base_s;
	if (l->o->until_s > s)
		session_progress(l->io->ses, l->o->phase, l->o->done, "%s, %.0f s to go unless it changes", rate,
		                 l->o->until_s - s);
	else
		session_progress(l->io->ses, l->o->phase, l->o->done, "%s, %.0f s", rate, s);
}

int sustain_load(struct sustain_io *io, const struct sustain_order *o, struct sustain_series *s, struct err *err)
{
	uint64_t left_ns = session_time_left_ns(io->ses), now_ns = clock_now_ns(io->ses->env->clk);
	struct stretch l = { .f.next = stretch_next, .sink.take = stretch_take, .io = io, .s = s, .o = o };
	struct load load = { .targets = io->target, .ntargets = 1, .feeder = &l.f, .sink = &l.sink, .on_tick = tick };
	struct load_stats stats;
	int r;

	l.begin_ns = now_ns;
	s->depth = (double)io->p->depth;
	s->asked_bytes_per_s = (double)io->p->rate_bytes_per_s;
	l.rate_bytes_per_s = o->rate_bytes_per_s > 0 ? o->rate_bytes_per_s : s->asked_bytes_per_s;
	l.base_s = l.last_s = s->time_s;
	feel(&l, now_ns);
	load.arg = &l;
	load.depth = (uint32_t)io->p->depth;
	load.max_ns = o->ns < left_ns ? o->ns : left_ns;
	if (load.max_ns == 0)
		return 0;
	io->at -= io->at % o->block_bytes;
	if (!io->p->random) /* a look at the end of each pass */
		load.max_bytes = io->end_bytes - io->first_bytes - io->at % (io->end_bytes - io->first_bytes);
	r = session_load(io->ses, &load, io->eng, &stats, err);
	close_bins(&l);
	return r;
}
