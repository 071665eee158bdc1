/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `sustain` does to the disk. It stops for a moment whenever what came is looked at; those moments are not time of
 * the series, and no request waits for the look.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/xalloc.h"
#include "measure/sustain/sustain.h"

#define WARMTH_NS NS_PER_S /* hwmon asks the drive no more often */

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

/* ---- a stretch of load ---- */

struct stretch {
	struct sustain_io *io;
	struct sustain_series *s;
	const struct sustain_order *o;
	uint64_t begin_ns, warmth_ns;
	double base_s, last_s, bytes, celsius;
};

static uint64_t place(void *arg, uint64_t n)
{
	struct stretch *l = arg;
	struct sustain_io *io = l->io;
	uint64_t blocks = (io->end_bytes - io->first_bytes) / l->o->block_bytes, i = io->at / l->o->block_bytes;

	(void)n;
	io->at += l->o->block_bytes;
	return io->first_bytes +
	       (io->p->random ? permute(i % blocks, blocks, io->l.ses->seed + i / blocks) : i % blocks) *
	               l->o->block_bytes;
}

static double since_begin_s(const struct stretch *l, uint64_t now_ns)
{
	return (double)(now_ns - l->begin_ns) * 1e-9;
}

static void took(void *arg, const struct io_req *req, bool is_fault)
{
	struct stretch *l = arg;

	if (is_fault)
		return;
	l->bytes += req->len_bytes;
	l->last_s = l->base_s + since_begin_s(l, req->done_ns);
	add(l->s, l->last_s, req, l->celsius);
}

static void feel(struct stretch *l, uint64_t now_ns)
{
	const struct env *env = l->io->l.ses->env;
	uint32_t mc =
		env->devices->temperature ? env->devices->temperature(env->devices_ctx, &l->io->l.ses->devs[0]) : 0;

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
	double s = since_begin_s(l, now_ns);
	char rate[32];

	if (now_ns >= l->warmth_ns)
		feel(l, now_ns);
	if (l->io->saves && session_saves_now(l->io->l.ses)) {
		close_bins(l);
		l->io->saves(l->io->arg);
	}
	(void)units_rate(rate, sizeof(rate), s > 0 ? l->bytes / s : 0);
	s += l->base_s;
	if (l->o->until_s > s)
		session_progress(l->io->l.ses, l->o->phase, l->o->done, "%s, %.0f s to go unless it changes", rate,
		                 l->o->until_s - s);
	else
		session_progress(l->io->l.ses, l->o->phase, l->o->done, "%s, %.0f s", rate, s);
}

int sustain_load(struct sustain_io *io, const struct sustain_order *o, struct sustain_series *s, struct err *err)
{
	struct session *ses = io->l.ses;
	uint64_t now_ns = session_now_ns(ses);
	uint64_t span = io->end_bytes - io->first_bytes;
	struct stretch l = { .io = io, .s = s, .o = o, .begin_ns = now_ns, .base_s = s->time_s, .last_s = s->time_s };
	struct lasting_order order = { .op = io->p->write || io->l.file ? IO_WRITE : IO_READ,
		                       .block_bytes = o->block_bytes,
		                       .depth = (uint32_t)io->p->depth,
		                       .max_ns = o->ns,
		                       .rate_bytes_per_s = o->rate_bytes_per_s,
		                       .place = place,
		                       .took = took,
		                       .tick = tick,
		                       .arg = &l };
	int r;

	s->depth = (double)io->p->depth;
	s->asked_bytes_per_s = (double)io->p->rate_bytes_per_s;
	if (!(o->rate_bytes_per_s > 0))
		order.rate_bytes_per_s = s->asked_bytes_per_s;
	if (o->ns == 0)
		return 0;
	feel(&l, now_ns);
	io->at -= io->at % o->block_bytes;
	if (!io->p->random) /* a look at the end of each pass */
		order.requests = (span - io->at % span + o->block_bytes - 1) / o->block_bytes;
	r = lasting_load(&io->l, &order, err);
	close_bins(&l);
	return r;
}
