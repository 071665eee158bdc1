/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock of a measurement. The real one is CLOCK_MONOTONIC (one cannot sleep on CLOCK_MONOTONIC_RAW); tests pass a
 * virtual one, which a disk model advances. Nothing else in src/ reads time, except for wall-clock stamps in documents
 * and logs (clock_wall_text).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull

#define CLOCK_NEVER UINT64_MAX /* a time that does not come */

struct clock {
	const char *name; /* goes into the document: "CLOCK_MONOTONIC", "virtual" */
	uint64_t (*now_ns)(struct clock *clk);
	/* Returns at or after until_ns, or early when a signal came. */
	void (*sleep_until_ns)(struct clock *clk, uint64_t until_ns);
	/* How long before a deadline a waiter should stop sleeping and poll now_ns instead, as clock_woke() has it; 0:
	 * virtual. */
	uint64_t spin_ns;
	/*
	 * How long the machine was suspended since it started: the clock stands still meanwhile. NULL: this clock never
	 * stands still.
	 */
	uint64_t (*suspended_ns)(struct clock *clk);
};

#define CLOCK_SPIN_MIN_NS (20 * NS_PER_US)
#define CLOCK_SPIN_MAX_NS (300 * NS_PER_US)

/* The real clock. */
struct clock *clock_monotonic(void);

/* Time of the disk model: nothing of the host is to be looked at. */
static inline bool clock_is_virtual(const struct clock *clk)
{
	return clk->spin_ns == 0;
}
/*
 * A sleep that was to end at wake_ns ended at now_ns: keeps spin_ns at what all but one in 16 are late by, within the
 * two bounds. A machine that is fast to wake polls less, a slow one is still in time, and a stall of any length counts
 * once. Of one thread only; nothing on a virtual clock.
 */
void clock_woke(struct clock *clk, uint64_t wake_ns, uint64_t now_ns);

static inline uint64_t clock_now_ns(struct clock *clk)
{
	return clk->now_ns(clk);
}

/* Sleeps that long, less when a signal comes: between two tries, not within a measurement. */
void clock_pause(uint64_t ns);
/* "2026-11-20T12:00:00.123456Z" of the wall clock, into buf (at least 28 bytes); returns buf. */
char *clock_wall_text(char *buf, size_t len);
/* Of this start of the machine, random(4): of buf; "": not known. */
#define BOOT_ID_BYTES 40
const char *clock_boot_id(char buf[BOOT_ID_BYTES]);
/* Seconds since midnight, as the wall clock shows them where we are; of a virtual clock, whose days begin at 0, since
 * its midnight. */
uint32_t clock_second_of_day(struct clock *clk);
