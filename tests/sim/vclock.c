/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vclock.h"

#include <stdio.h>
#include <stdlib.h>

#define IDLE_READS_MAX 50000000u

static uint64_t vclock_now_ns(struct clock *clk)
{
	struct vclock *vc = vclock_of(clk);

	if (++vc->idle_reads > IDLE_READS_MAX) {
		(void)fprintf(stderr, "virtual clock: somebody waits by looking at it; use sleep_until_ns or reap\n");
		abort();
	}
	return vc->now_ns;
}

uint64_t vclock_next_timer_ns(const struct vclock *vc)
{
	uint64_t next = CLOCK_NEVER;

	for (unsigned i = 0; i < vc->ntimers; i++)
		if (vc->timers[i].at_ns < next)
			next = vc->timers[i].at_ns;
	return next;
}

bool vclock_advance(struct vclock *vc, uint64_t until_ns)
{
	uint64_t timer = vclock_next_timer_ns(vc);

	vc->idle_reads = 0;
	if (timer > until_ns) {
		if (until_ns > vc->now_ns)
			vc->now_ns = until_ns;
		return false;
	}
	if (timer > vc->now_ns)
		vc->now_ns = timer;
	for (unsigned i = 0; i < vc->ntimers; i++) {
		struct vclock_timer t = vc->timers[i];

		if (t.at_ns > vc->now_ns)
			continue;
		vc->timers[i--] = vc->timers[--vc->ntimers];
		t.fn(t.arg);
	}
	return true;
}

static void vclock_sleep_until_ns(struct clock *clk, uint64_t until_ns)
{
	(void)vclock_advance(vclock_of(clk), until_ns);
}

void vclock_at(struct vclock *vc, uint64_t at_ns, void (*fn)(void *arg), void *arg)
{
	if (vc->ntimers == VCLOCK_TIMERS) {
		(void)fprintf(stderr, "virtual clock: more than %d timers\n", VCLOCK_TIMERS);
		abort();
	}
	vc->timers[vc->ntimers++] = (struct vclock_timer){ at_ns, fn, arg };
}

void vclock_init(struct vclock *vc)
{
	*vc = (struct vclock){
		.clk = { .name = "virtual",
		         .now_ns = vclock_now_ns,
		         .sleep_until_ns = vclock_sleep_until_ns,
		         .spin_ns = 0 },
		.now_ns = VCLOCK_START_NS,
	};
}
