/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A heap of the jobs that wait for a time, queues of those that wait for their turn; and the draws of when. */
#include <stdlib.h>

#include "base/xalloc.h"
#include "measure/transactions/jobs.h"

uint64_t tx_draw_think(struct rng *rng, int law, uint64_t mean_ns)
{
	if (law == TX_THINK_FIXED || mean_ns == 0)
		return mean_ns;
	if (law == TX_THINK_UNIFORM)
		return (uint64_t)(2.0 * (double)mean_ns * rng_double(rng) + 0.5);
	return (uint64_t)(rng_exp(rng, (double)mean_ns) + 0.5);
}

uint64_t tx_next_arrival(struct rng *rng, double per_s, int law, double *at_ns)
{
	*at_ns += law == TX_THINK_FIXED ? 1e9 / per_s : rng_exp(rng, 1e9 / per_s);
	return (uint64_t)*at_ns;
}

/* ---- the heap of those who wait for a time ---- */

void tx_heap_push(struct tx_run *r, struct tx_job *j)
{
	size_t i = r->jobs.nheap;

	if (r->jobs.nheap == r->jobs.heap_room) {
		r->jobs.heap_room = r->jobs.heap_room ? 2 * r->jobs.heap_room : 1024;
		r->jobs.heap = xgrow(r->jobs.heap, r->jobs.heap_room, sizeof(*r->jobs.heap));
	}
	r->jobs.nheap++;
	for (; i && r->jobs.heap[(i - 1) / 2]->wake_ns > j->wake_ns; i = (i - 1) / 2)
		r->jobs.heap[i] = r->jobs.heap[(i - 1) / 2];
	r->jobs.heap[i] = j;
}

struct tx_job *tx_heap_pop(struct tx_run *r)
{
	struct tx_job *top = r->jobs.heap[0], *last = r->jobs.heap[--r->jobs.nheap];
	size_t i = 0, k;

	while ((k = 2 * i + 1) < r->jobs.nheap) {
		if (k + 1 < r->jobs.nheap && r->jobs.heap[k + 1]->wake_ns < r->jobs.heap[k]->wake_ns)
			k++;
		if (r->jobs.heap[k]->wake_ns >= last->wake_ns)
			break;
		r->jobs.heap[i] = r->jobs.heap[k];
		i = k;
	}
	r->jobs.heap[i] = last;
	return top;
}

void tx_append(struct tx_job ***end, struct tx_job *j)
{
	j->next = NULL;
	**end = j;
	*end = &j->next;
}

struct tx_job *tx_take_first(struct tx_job **first, struct tx_job ***end)
{
	struct tx_job *j = *first;

	*first = j->next;
	if (!*first)
		*end = first;
	return j;
}
