/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Room for others. With --idle there is one request at a time, and before each the disk's counters are looked at: what
 * they have beyond our own bytes is somebody's, and we wait until there was nothing of that for a while. With --rate
 * and --share there is a pause before every few batches, so that what is judged was read at the full rate of the
 * medium. Outside of --hours, and while the disk is warmer than --max-temperature, nothing is read.
 */
#include "measure/surface/writing.h"

#define LOOK_NS        (5 * NS_PER_MS)   /* less than most requests of others take */
#define QUIET_NS       (150 * NS_PER_MS) /* of others; with more it never came on beside one who comes every 200 ms */
#define LOOK_AROUND_NS (10 * NS_PER_S)   /* a disk warms up by less than a degree meanwhile */
#define COOLER_CELSIUS 3.0               /* than the limit, before it goes on: not to and fro */
#define DAY_S          86400u
#define BURST_BATCHES  4 /* at full rate between two pauses: enough for judging, about a second for others */

/* Bytes that others moved since the last look; own: bytes of ours since then. Nothing of ours may be in flight. */
static bool is_used(struct surface_run *run)
{
	const struct env *env = run->ses->env;
	struct device_io io;
	uint64_t bytes, own = run->done.own_bytes;
	bool is_first = !run->gentle.has_base, is_foreign;

	if (!env->devices->io || env->devices->io(env->devices_ctx, &run->ses->devs[0], &io) < 0)
		return false;
	bytes = io.read_bytes + io.written_bytes;
	is_foreign = bytes - run->gentle.bytes > own - run->gentle.own || io.in_flight > 0;
	run->gentle.bytes = bytes;
	run->gentle.own = own;
	run->gentle.has_base = true;
	return !is_first && is_foreign;
}

static uint64_t yield_until(struct surface_run *run, uint64_t now_ns)
{
	if (is_used(run)) {
		run->gentle.yields += run->gentle.quiet_ns <= now_ns;
		run->gentle.quiet_ns = now_ns + QUIET_NS;
	}
	return run->gentle.quiet_ns > now_ns ? now_ns + LOOK_NS : 0;
}

/* Outside of the hours: until they begin. */
static uint64_t until_hours_ns(const struct surface_run *run, uint64_t now_ns)
{
	uint32_t from = run->range.hours_from, to = run->range.hours_to, s = clock_second_of_day(run->ses->env->clk);
	bool is_in = from == to || (from < to ? s >= from && s < to : s >= from || s < to);

	return is_in ? 0 : now_ns + (from + DAY_S - s) % DAY_S * NS_PER_S;
}

static bool is_too_warm(struct surface_run *run)
{
	const struct env *env = run->ses->env;
	double celsius = env->devices->temperature
	                         ? env->devices->temperature(env->devices_ctx, &run->ses->devs[0]) * 1e-3
	                         : 0.0;

	run->gentle.is_hot = celsius > run->p->max_celsius - (run->gentle.is_hot ? COOLER_CELSIUS : 0.0);
	return run->gentle.is_hot;
}

static uint64_t hold_until(struct surface_run *run, uint64_t now_ns)
{
	uint64_t until_ns = 0;

	if (!(run->p->max_celsius > 0.0) && !run->p->hours)
		return 0;
	if (run->gentle.looked_ns && now_ns < run->gentle.looked_ns + LOOK_AROUND_NS)
		return run->gentle.hold_ns > now_ns ? run->gentle.hold_ns : 0;
	if (run->gentle.held_since_ns)
		run->gentle.held_for_ns += now_ns - run->gentle.held_since_ns;
	run->gentle.looked_ns = now_ns;
	until_ns = until_hours_ns(run, now_ns);
	if (until_ns > now_ns + LOOK_AROUND_NS || (until_ns == 0 && run->p->max_celsius > 0.0 && is_too_warm(run)))
		until_ns = now_ns + LOOK_AROUND_NS; /* and then again: clocks are set, and disks cool down */
	run->gentle.hold_ns = until_ns;
	run->gentle.held_since_ns = until_ns ? now_ns : 0;
	return until_ns;
}

/* Of a low rate no more than it allows a second; the scan asks between batches only. */
static uint64_t burst_bytes(const struct surface_run *run)
{
	uint64_t most = (uint64_t)BURST_BATCHES * SURFACE_BATCH * run->range.block_bytes;

	return run->p->rate && run->p->rate < most ? run->p->rate : most;
}

static uint64_t pause_until(struct surface_run *run, uint64_t now_ns)
{
	uint64_t bytes = run->gentle.burst_bytes, took_ns = now_ns - run->gentle.burst_ns;
	double wanted_ns = run->p->rate ? (double)bytes * 1e9 / (double)run->p->rate : 0.0;

	if (run->p->share > 0.0)
		wanted_ns = fmax(wanted_ns, (double)took_ns / run->p->share);
	if (bytes >= burst_bytes(run)) {
		run->gentle.burst_bytes = 0;
		if (wanted_ns > (double)took_ns) {
			run->gentle.paused_ns += (uint64_t)wanted_ns - took_ns;
			run->gentle.paused_until_ns = run->gentle.burst_ns + (uint64_t)wanted_ns;
		}
	}
	return run->gentle.paused_until_ns > now_ns ? run->gentle.paused_until_ns : 0;
}

uint64_t surface_wait_until(struct surface_run *run, uint64_t now_ns, bool is_between, uint32_t in_flight)
{
	uint64_t until_ns = is_between ? pause_until(run, now_ns) : 0;

	if (until_ns == 0 && run->p->idle && in_flight == 0)
		until_ns = yield_until(run, now_ns);
	return until_ns ? until_ns : hold_until(run, now_ns);
}

void surface_moved(struct surface_run *run, const struct io_req *req)
{
	if (!run->gentle.burst_bytes) /* one that was under way when the pause began is of the next burst */
		run->gentle.burst_ns =
			req->submit_ns > run->gentle.paused_until_ns ? req->submit_ns : run->gentle.paused_until_ns;
	run->gentle.burst_bytes += req->len_bytes;
}

/* ---- single reads ---- */

static bool is_over(void *arg)
{
	return surface_is_over(arg);
}

static uint64_t until(void *arg, uint64_t now_ns)
{
	return surface_is_over(arg) ? 0 : surface_wait_until(arg, now_ns, false, 0);
}

static void took(void *arg, const struct io_req *req, bool is_fault)
{
	struct surface_run *run = arg;

	surface_answered(run, req, is_fault);
	surface_moved(run, req);
	if (!is_fault)
		surface_burn_check(run, req);
	run->done.own_bytes += req->op == IO_READ ? req->len_bytes : 0; /* as the kernel counts */
	run->gentle.has_base &= !is_fault;                              /* what the kernel counts of it is its secret */
}

struct timed_manners surface_manners(struct surface_run *run)
{
	return (struct timed_manners){ until, is_over, took, run };
}

void surface_give_way(struct surface_run *run)
{
	struct clock *clk = run->ses->env->clk;
	uint64_t until_ns = 0;

	while (!surface_is_over(run) && (until_ns = surface_wait_until(run, surface_now(run), true, 0)) > 0)
		clk->sleep_until_ns(clk, until_ns);
}
