/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of a run holds in the long run. Of open arrivals first the law: where more come than end, the queue grows
 * for ever, and a mean response is one of --time. By the balance of the two over the run, with its interval by
 * batch means: a queue in balance comes back again and again, so that its growth is within chance. Then the warm-
 * up is left out (stats/waits.c), and the rest is estimated.
 */
#include <math.h>

#include "measure/transactions/transactions.h"

double tx_seconds(const struct tx_run *r)
{
	uint64_t end = r->is_open || r->end_ns < r->stop_ns ? r->end_ns : r->stop_ns;

	return fmax((double)(end - r->start_ns) * 1e-9, 1e-9);
}

/* The law wants a stretch of balance; when there was hardly any, all of the run has to do. */
static void settle_law(struct tx_run *r)
{
	if (r->law.until_ns - r->law.from_ns > (r->law.until_ns - r->start_ns) / 4) {
		r->law.sums.done -= r->law.before.done;
		r->law.sums.response_s -= r->law.before.response_s;
		r->law.sums.think_s -= r->law.before.think_s;
	} else {
		r->law.from_ns = r->start_ns;
	}
}

uint64_t tx_until_ns(const struct tx_run *r)
{
	bool has_all = r->p->count && r->open.n >= r->p->count && r->open.last_ns < r->stop_ns;

	return has_all ? r->open.last_ns : r->stop_ns;
}

/* Of open runs the time of the arrivals. */
static uint64_t window_ns(const struct tx_run *r)
{
	return r->is_open ? tx_until_ns(r) - r->start_ns : (uint64_t)(tx_seconds(r) * 1e9);
}

static struct stats_estimate per_s(struct stats_estimate per_ns)
{
	return (struct stats_estimate){ per_ns.value * 1e9, { per_ns.ci.low * 1e9, per_ns.ci.high * 1e9 } };
}

/* More come than end. */
static void ask_the_law(struct tx_run *r, struct tx_steady *s)
{
	double left = 0.0, seconds = (double)s->to_ns * 1e-9, growth;

	for (size_t i = 0; i < SLOTS_MAX; i++)
		left += r->open.under_way.sum[i];
	growth = left / (double)s->to_ns;
	s->growth_per_s = per_s((struct stats_estimate){ growth, slots_rate_ci(&r->open.under_way, s->to_ns, growth) });
	/* one more or less at either end */
	s->growth_per_s.ci.low -= 2 / seconds;
	s->growth_per_s.ci.high += 2 / seconds;
	s->is_growing = s->growth_per_s.ci.low > 0.0;
	if (!s->is_growing)
		return;
	growth = interval_half(s->growth_per_s.ci);
	s->per_s.value = (double)r->open.ended_in_time / seconds;
	s->per_s.ci = (struct interval){ fmax(s->per_s.value - growth, 0.0), s->per_s.value + growth };
}

static void sum_up(struct tx_run *r, uint64_t from_ns)
{
	for (size_t i = 0; i < r->nclasses; i++)
		waits_sum(&r->of[i].waits, from_ns, r->of[i].response);
	waits_sum(r->nclasses > 1 ? &r->all.waits : &r->of[0].waits, from_ns, r->all.response);
}

/* The first to_ns of the run. */
static void settle(struct tx_run *r, uint64_t to_ns)
{
	const struct waits *all = r->nclasses > 1 ? &r->all.waits : &r->of[0].waits;
	const struct hist *h = r->all.response;
	struct tx_steady s = TX_UNSTEADY;

	s.to_ns = to_ns;
	if (r->is_open)
		ask_the_law(r, &s);
	if (!s.is_growing)
		s.from_ns = waits_warm_up(all, s.to_ns);
	sum_up(r, s.from_ns);
	s.left_out = r->all.done - h->count;
	if (!s.is_growing) {
		s.independent = waits_independent(all, s.from_ns, s.to_ns, h);
		s.per_s = per_s(waits_rate(all, s.from_ns, s.to_ns, h));
		if (h->count == 0)
			s.per_s.ci.high = law_rule_of_three((double)(s.to_ns - s.from_ns) * 1e-9);
		s.mean = waits_mean(all, s.from_ns, s.to_ns, h);
		s.p50 = waits_quantile(all, s.from_ns, s.to_ns, h, 0.5);
		s.p95 = waits_quantile(all, s.from_ns, s.to_ns, h, 0.95);
		s.p99 = waits_quantile(all, s.from_ns, s.to_ns, h, 0.99);
	}
	r->steady = s;
}

void tx_settle(struct tx_run *r)
{
	settle_law(r);
	settle(r, window_ns(r));
}

void tx_settle_so_far(struct tx_run *r, uint64_t now_ns)
{
	uint64_t window;

	r->end_ns = now_ns;
	r->open.unfinished = r->is_open ? r->jobs.live : 0;
	window = window_ns(r);
	settle(r, now_ns - r->start_ns < window ? now_ns - r->start_ns : window);
}
