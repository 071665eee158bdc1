/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/shared/timed.h"
#include "base/xalloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct timed_sink {
	struct sink sink; /* first: take() gets a pointer to it */
	const struct timed_manners *manners;
	double *access_ns;
	uint64_t *done_ns;
	size_t n, at;
};

static void take(struct sink *s, const struct io_req *req, bool is_fault)
{
	struct timed_sink *sink = (struct timed_sink *)s;

	if (sink->manners)
		sink->manners->took(sink->manners->arg, req, is_fault);
	if (sink->at >= sink->n)
		return;
	sink->access_ns[sink->at] = load_took_ns(req, is_fault);
	if (sink->done_ns)
		sink->done_ns[sink->at] = req->done_ns;
	sink->at++;
}

struct timed_feeder {
	struct feeder f; /* first */
	struct list_feeder list;
	struct timed *t;
};

bool timed_has_time(const struct timed *t, uint64_t *ret_max_ns)
{
	uint64_t now = t->until_ns ? clock_now_ns(t->ses->env->clk) : 0;

	*ret_max_ns = t->until_ns ? t->until_ns - now : 0;
	return !t->until_ns || now < t->until_ns;
}

bool timed_is_over(const struct timed *t)
{
	uint64_t ignore;

	return session_is_over(t->ses) || !timed_has_time(t, &ignore) ||
	       (t->manners && t->manners->is_over(t->manners->arg));
}

#define HIT_WIDTH_NS 30e3  /* hits scatter by no less (a choice) */
#define HIT_LATE_NS  100e3 /* and come no less later (a choice) */

struct hits hits_about(double ns, double mad)
{
	const double sd = 1.4826 * mad;

	return (struct hits){ ns, fmax(3.0 * sd, HIT_WIDTH_NS), ns + fmax(fmax(6.0 * sd, 0.25 * ns), HIT_LATE_NS) };
}

static enum feed next_when_free(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct timed_feeder *p = (struct timed_feeder *)f;

	if (p->t->manners->is_over(p->t->manners->arg))
		return FEED_END;
	*ret_until_ns = p->t->manners->until_ns(p->t->manners->arg, now_ns);
	if (!*ret_until_ns)
		return p->list.f.next(&p->list.f, now_ns, req, ret_until_ns);
	p->t->waited_ns += *ret_until_ns - now_ns;
	return FEED_WAIT;
}

int timed_list(struct timed *t, const struct list_item *items, size_t n, double *ret_access_ns, uint64_t *ret_done_ns,
               struct err *err)
{
	struct timed_sink sink = { { take }, t->manners, ret_access_ns, ret_done_ns, n, 0 };
	struct load load = { .targets = t->target, .ntargets = 1, .sink = &sink.sink, .depth = 1 };
	struct timed_feeder feeder = { .f = { .next = next_when_free }, .t = t };
	struct load_stats stats;

	for (size_t i = 0; i < n; i++)
		ret_access_ns[i] = NAN;
	list_feeder_init(&feeder.list, items, n);
	load.feeder = t->manners ? &feeder.f : &feeder.list.f;
	return timed_has_time(t, &load.max_ns) ? session_load(t->ses, &load, t->eng, &stats, err) : 0;
}

int timed_reads(struct timed *t, const uint64_t *offsets, size_t n, double *ret_access_ns, uint64_t *ret_done_ns,
                struct err *err)
{
	cleanup_free struct list_item *items = xcalloc(n ? n : 1, sizeof(*items));

	for (size_t i = 0; i < n; i++)
		items[i] = (struct list_item){ .offset_bytes = t->first_bytes + offsets[i],
			                       .len_bytes = t->block_bytes,
			                       .op = t->op };
	return timed_list(t, items, n, ret_access_ns, ret_done_ns, err);
}

uint64_t timed_random(struct timed *t, uint64_t first, uint64_t end)
{
	uint64_t from = (first + t->block_bytes - 1) / t->block_bytes, to = end / t->block_bytes;

	return (to > from ? from + rng_below(&t->rng, to - from) : from) * t->block_bytes;
}

uint64_t timed_align(const struct timed *t, double offset)
{
	uint64_t size = timed_size(t), last = size > t->block_bytes ? size - t->block_bytes : 0;
	uint64_t at = offset > 0.0 ? (uint64_t)fmin(offset, (double)last) : 0;

	return at - at % t->step_bytes;
}

void timed_rest(struct session *ses, uint64_t ns)
{
	struct clock *clk = ses->env->clk;
	uint64_t left_ns = session_time_left_ns(ses), now_ns = clock_now_ns(clk);
	uint64_t end_ns = now_ns + (ns < left_ns ? ns : left_ns), next_ns;

	for (; now_ns < end_ns && !session_is_over(ses); now_ns = clock_now_ns(clk)) {
		session_progress(ses, "resting", -1.0, "%.0f s left", (double)(end_ns - now_ns) * 1e-9);
		next_ns = now_ns + NS_PER_S / 4;
		clk->sleep_until_ns(clk, next_ns < end_ns ? next_ns : end_ns);
	}
}
