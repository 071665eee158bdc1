/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A clock that stands still until somebody waits on it. Timers fire when a waiter passes their time: tests let
 * signals arrive and disks change in the middle of a run.
 */
#pragma once

#include "base/clock.h"

#define VCLOCK_TIMERS   64
#define VCLOCK_START_NS (1000 * NS_PER_S) /* not 0: a time of 0 means "never" or "now" to some */

struct vclock {
	struct clock clk; /* first: engines find the vclock by it */
	uint64_t now_ns;
	uint64_t idle_reads; /* of the clock since it last moved: a loop that waits by looking would never end */
	struct vclock_timer {
		uint64_t at_ns;
		void (*fn)(void *arg);
		void *arg;
	} timers[VCLOCK_TIMERS];
	unsigned ntimers;
};

void vclock_init(struct vclock *vc);
static inline struct vclock *vclock_of(struct clock *clk)
{
	return (struct vclock *)clk;
}
/* fn(arg) once when the clock reaches at_ns. */
void vclock_at(struct vclock *vc, uint64_t at_ns, void (*fn)(void *arg), void *arg);
/* When the next timer fires; CLOCK_NEVER. */
uint64_t vclock_next_timer_ns(const struct vclock *vc);
/* Moves to until_ns, or to the first timer before, which is fired; returns whether one was: a waiter is woken early
 * then, as by a signal. */
bool vclock_advance(struct vclock *vc, uint64_t until_ns);
