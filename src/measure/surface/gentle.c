/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Room for others. With --idle there is one request at a time, and before each the disk's counters are looked at: what they have beyond our own bytes is
 * somebody's, and we wait until there was nothing of that for a while. With --rate and --share there is a pause after every few batches, so that what is
 * judged was read at the full rate of the medium.
 */
#include "measure/surface/surface.h"

#define LOOK_NS  (5 * NS_PER_MS)
#define QUIET_NS (100 * NS_PER_MS)

/* Bytes that others moved since the last look; own: bytes of ours since then. Nothing of ours may be in flight. */
static bool is_used(struct surface_run *run)
{
	const struct env *env = run->ses->env;
	struct device_io io;
	uint64_t bytes, own = run->own_bytes;
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

uint64_t surface_yield_until(struct surface_run *run, uint64_t now_ns)
{
	if (!run->p->idle)
		return 0;
	if (is_used(run)) {
		run->gentle.yields += run->gentle.quiet_ns <= now_ns;
		run->gentle.quiet_ns = now_ns + QUIET_NS;
	}
	return run->gentle.quiet_ns > now_ns ? now_ns + LOOK_NS : 0;
}

uint64_t surface_pause_ns(const struct surface_run *run, uint64_t bytes, uint64_t took_ns)
{
	double wanted_ns = 0.0;

	if (run->p->rate)
		wanted_ns = (double)bytes * 1e9 / (double)run->p->rate;
	if (run->p->share > 0.0)
		wanted_ns = fmax(wanted_ns, (double)took_ns / run->p->share);
	return wanted_ns > (double)took_ns ? (uint64_t)wanted_ns - took_ns : 0;
}
