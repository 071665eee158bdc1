/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static uint64_t monotonic_now_ns(struct clock *clk)
{
	struct timespec ts;

	(void)clk;
	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* The two are not read at one moment: for who looks for a tenth of a second, that is nothing. */
static uint64_t monotonic_suspended_ns(struct clock *clk)
{
	uint64_t now = monotonic_now_ns(clk), boot;
	struct timespec ts;

	(void)clock_gettime(CLOCK_BOOTTIME, &ts); /* cannot fail for this clock */
	boot = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
	return boot > now ? boot - now : 0;
}

/* Stochastic approximation of a quantile (Robbins, Monro 1951), in steps that are parts of the margin itself: up by
 * 1/16, down by 1/16 in 15. */
void clock_woke(struct clock *clk, uint64_t wake_ns, uint64_t now_ns)
{
	if (clock_is_virtual(clk) || now_ns < wake_ns)
		return;
	if (now_ns - wake_ns > clk->spin_ns)
		clk->spin_ns += clk->spin_ns / 16;
	else
		clk->spin_ns -= clk->spin_ns / 240;
	if (clk->spin_ns < CLOCK_SPIN_MIN_NS)
		clk->spin_ns = CLOCK_SPIN_MIN_NS;
	if (clk->spin_ns > CLOCK_SPIN_MAX_NS)
		clk->spin_ns = CLOCK_SPIN_MAX_NS;
}

static void monotonic_sleep_until_ns(struct clock *clk, uint64_t until_ns)
{
	uint64_t now = monotonic_now_ns(clk);

	if (until_ns > now + clk->spin_ns) {
		uint64_t wake = until_ns - clk->spin_ns;
		struct timespec ts = { .tv_sec = (time_t)(wake / NS_PER_S), .tv_nsec = (long)(wake % NS_PER_S) };

		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) != 0)
			return; /* a signal: let the caller look at its cancel flag */
		clock_woke(clk, wake, monotonic_now_ns(clk));
	}
	while (monotonic_now_ns(clk) < until_ns)
		;
}

void clock_pause(uint64_t ns)
{
	(void)nanosleep(&(struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) },
	                NULL);
}

struct clock *clock_monotonic(void)
{
	/* To begin with: sleepers are late by 40 to 60 us, the median, without timer slack on a virtual machine. */
	static struct clock clk = {
		.name = "CLOCK_MONOTONIC",
		.now_ns = monotonic_now_ns,
		.sleep_until_ns = monotonic_sleep_until_ns,
		.spin_ns = 60 * NS_PER_US,
		.suspended_ns = monotonic_suspended_ns,
	};

	return &clk;
}

static struct timespec wall_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts); /* cannot fail for this clock */
	return ts;
}

uint32_t clock_second_of_day(struct clock *clk)
{
	struct timespec ts = wall_now();
	struct tm tm;

	if (clock_is_virtual(clk))
		return (uint32_t)(clock_now_ns(clk) / NS_PER_S % 86400);
	(void)localtime_r(&ts.tv_sec, &tm);
	return (uint32_t)(tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec);
}

char *clock_wall_text(char *buf, size_t len)
{
	struct timespec ts = wall_now();
	struct tm tm;
	size_t n;

	(void)gmtime_r(&ts.tv_sec, &tm);
	n = strftime(buf, len, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(buf + n, len - n, ".%06ldZ", ts.tv_nsec / 1000);
	return buf;
}

const char *clock_boot_id(char buf[BOOT_ID_BYTES])
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	buf[0] = '\0';
	if (f) {
		if (fscanf(f, "%39[0-9a-f-]", buf) != 1)
			buf[0] = '\0';
		(void)fclose(f); /* was only read */
	}
	return buf;
}
