/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The largest steady input that a finite ring would have borne, from the completions of one run: a token bucket read
 * backwards (Cruz 1991; Tang and Tai 1999). Between completions the ring only fills, so it is fullest just before
 * one. Let W[i] bytes be completed at t[i]. From just after completion i to just before completion j > i the ring gains
 *
 *	R (t[j] - t[i]) - (W[j-1] - W[i]) <= ring.
 *
 * So R is the least of (ring + W[j-1] - W[i]) / (t[j] - t[i]). Dinkelbach's method (1967): for the R at hand find the
 * pair that is worst, in one pass with a running maximum; its quotient is the next R; when none is worse it is the
 * least. Superlinear, a handful of passes. All in 128-bit integers: R is kept as a fraction, so nothing is rounded
 * before the end.
 */
#include "base/xalloc.h"
#include "stats/stats.h"

#include <assert.h>
#include <stdlib.h>

typedef unsigned __int128 u128;
typedef __int128 i128;

struct fraction {
	u128 bytes;
	uint64_t ns;
};

/* W[j-1] - W[i] and t[j] - t[i] of the pair with the greatest bytes * dt - ns * dW; false: no pair exists. */
static bool worst_pair(const struct bucket_point *p, size_t n, struct fraction r, uint64_t *ret_moved, uint64_t *ret_ns,
                       i128 *ret_worst)
{
	/* relative to the first point, so that products keep below 2^127 */
	i128 best_start = 0, worst = 0;
	size_t start = 0, from = 0, to = 0;

	for (size_t j = 1; j < n; j++) {
		i128 due = (i128)(r.bytes * (p[j].t_ns - p[0].t_ns));
		i128 over = due - (i128)((u128)r.ns * (p[j - 1].bytes - p[0].bytes)) + best_start, own;

		if (p[j].t_ns > p[start].t_ns && (to == 0 || over > worst)) {
			worst = over;
			from = start;
			to = j;
		}
		own = (i128)((u128)r.ns * (p[j].bytes - p[0].bytes)) - due;
		if (own >= best_start) {
			best_start = own;
			start = j;
		}
	}
	if (to == 0)
		return false;
	*ret_moved = p[to - 1].bytes - p[from].bytes;
	*ret_ns = p[to].t_ns - p[from].t_ns;
	*ret_worst = worst;
	return true;
}

static uint64_t floor_rate(struct fraction r)
{
	u128 rate = r.bytes * 1000000000u / r.ns;

	return rate < UINT64_MAX ? (uint64_t)rate : UINT64_MAX;
}

uint64_t bucket_max_rate(const struct bucket_point *p, size_t n, uint64_t ring_bytes)
{
	struct fraction r;
	uint64_t moved, ns;
	i128 over;

	if (n < 2 || p[n - 1].t_ns <= p[0].t_ns)
		return UINT64_MAX;
	r.ns = p[n - 1].t_ns - p[0].t_ns;
	r.bytes = (u128)ring_bytes + p[n - 2].bytes - p[0].bytes;
	while (worst_pair(p, n, r, &moved, &ns, &over) && over > (i128)((u128)r.ns * ring_bytes)) {
		r.bytes = (u128)ring_bytes + moved;
		r.ns = ns;
	}
	return floor_rate(r);
}

void bucket_log_start(struct bucket_log *l, size_t max)
{
	struct bucket_point *p = l->p;

	assert(max >= 2 && max % 2 == 0);
	if (!p)
		p = xmust(malloc((max + 1) * sizeof(*p))); /* untouched pages cost no memory */
	*l = (struct bucket_log){ .p = p, .max = max, .stride = 1 };
}

void bucket_log_done(struct bucket_log *l)
{
	free(l->p);
	*l = (struct bucket_log){ 0 };
}

void bucket_log_add(struct bucket_log *l, uint64_t t_ns, uint64_t bytes)
{
	uint64_t step = l->seen ? bytes - l->last_bytes : 0;

	if (step > l->step_max_bytes)
		l->step_max_bytes = step;
	l->last_bytes = bytes;
	if (l->n == l->max && l->seen % l->stride == 0) {
		for (size_t i = 0; i < l->max / 2; i++)
			l->p[i] = l->p[2 * i];
		l->n = l->max / 2;
		l->stride *= 2; /* max is even: this one is in step */
	}
	l->p[l->n] = (struct bucket_point){ t_ns, bytes };
	l->n += l->seen++ % l->stride == 0;
}

/*
 * With kept points only, a span of time may begin up to stride - 1 steps too late, which hides as many bytes of what
 * gathered; that it ends too late, or counts what was moved too low, only gathers more.
 */
uint64_t bucket_log_max_rate(const struct bucket_log *l, uint64_t ring_bytes)
{
	bool has_last = l->seen && (l->seen - 1) % l->stride != 0;
	uint64_t hidden = (l->stride - 1) * l->step_max_bytes;

	return bucket_max_rate(l->p, l->n + has_last, ring_bytes > hidden ? ring_bytes - hidden : 0);
}
