/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/stream/timeline.h"

void timeline_start(struct timeline *t, uint64_t start_ns)
{
	t->n = 0;
	t->now = (struct timeline_step){ 0 };
	t->start_ns = start_ns;
	t->step_ns = NS_PER_S;
	t->step_end_ns = start_ns + t->step_ns;
}

void timeline_widen(struct timeline *t, uint64_t step_ns)
{
	if (step_ns <= t->step_ns)
		return;
	t->step_ns = step_ns;
	t->step_end_ns = t->start_ns + step_ns;
}

static void merge(struct timeline *t)
{
	for (size_t i = 0; i + 1 < t->n; i += 2) {
		const struct timeline_step *a = &t->v[i], *b = &t->v[i + 1];

		t->v[i / 2] =
			(struct timeline_step){ b->end_ns, a->amount + b->amount, a->requests + b->requests,
			                        a->service_ns + b->service_ns, a->most > b->most ? a->most : b->most };
	}
	t->n /= 2;
	t->step_ns *= 2;
}

void timeline_roll(struct timeline *t, uint64_t now_ns)
{
	while (now_ns >= t->step_end_ns) {
		t->now.end_ns = t->step_end_ns - t->start_ns;
		t->v[t->n++] = t->now;
		t->now = (struct timeline_step){ 0 };
		if (t->n == TIMELINE_MAX) /* an even number; the next step is the first of the new length */
			merge(t);
		t->step_end_ns += t->step_ns;
	}
}

double timeline_step_s(const struct timeline *t)
{
	return (double)t->step_ns * 1e-9;
}
