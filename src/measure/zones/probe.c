/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before the passes: spins up, and shows roughly how fast the disk and its interface are, by which requests and samples
 * are chosen. */
#include <math.h>

#include "base/units.h"
#include "measure/shared/link.h"
#include "measure/zones/zones.h"

#define PROBE_BLOCKS 8 /* twice the usual depth: spins up, and gives a rate to begin with */

/*
 * How fast the disk is nobody knows yet, and as many bytes as a quick one gives in some revolutions take an old one a
 * second, of the three that few places have: there requests are those of the guess, and as much is read as that time
 * gives (sample.c).
 */
static int first_sample(struct zones_run *run, struct zone_target *t, const struct zone_sample **ret, struct err *err)
{
	struct zone_sample how = { .position = t->layout.npositions / 4, .kind = SAMPLE_PROBE };
	uint32_t block = t->layout.block_bytes;
	uint64_t most = (uint64_t)PROBE_BLOCKS * block;
	uint64_t bytes = zone_sample_bytes(&t->layout, run->p, t->layout.positions[how.position].class, t->bytes_per_s);
	int r = 0;

	*ret = NULL;
	if (run->p->places && !run->p->write && !run->p->rewrite)
		zone_layout_refine(&t->layout, run->p, t->bytes_per_s);
	if (zone_take_window(&t->layout, how.position, bytes < most ? bytes : most, &t->rng, &how.first_bytes,
	                     &how.end_bytes))
		r = zone_sample_take(run, t, &how, ret, err);
	t->layout.request_bytes = t->layout.block_bytes = t->layout.coarse_bytes = block;
	return r;
}

int zone_probe(struct zones_run *run, struct zone_target *t, struct err *err)
{
	uint64_t before_ns = clock_now_ns(run->ses->env->clk), took_ns;
	const struct zone_sample *s;
	char took[32];
	int r;

	t->bytes_per_s = zone_guess_rate(t->dev);
	t->layout.interface_bytes_per_s = t->byte_ns = t->request_ns = NAN;
	r = first_sample(run, t, &s, err);
	took_ns = clock_now_ns(run->ses->env->clk) - before_ns;
	/* More than all that it read takes at its rate, which may be low. */
	if (r == 0 && s && s->is_good &&
	    (double)took_ns > fmax(s->whole_bytes, s->moved_bytes) * s->ns_per_byte + 2e9) {
		result_notice(run->res, "spin-up", "The first read of %s took %s: it was asleep. That is not counted.",
		              t->dev->path, units_time(took, sizeof(took), took_ns));
		if (!run->ses->common->time_ns)
			t->start_ns = clock_now_ns(run->ses->env->clk);
	}
	if (r < 0 || !s || !s->is_good || session_is_over(run->ses))
		return r;
	if (run->p->write || run->p->rewrite)
		return t->layout.rev_ns == 0.0 ? 0 : zone_outlast(run, t, s->first_bytes, err);
	r = zone_interface_measure(run, t, s->first_bytes, err);
	/* Where the interface is the limit each request costs its own time: there they stay large, and the media's
	 * waits are hidden anyway. */
	if (!link_is_near(t->bytes_per_s, t->layout.interface_bytes_per_s))
		zone_layout_refine(&t->layout, run->p, t->bytes_per_s);
	return r < 0 ? r : zone_fine_find(run, t, s->first_bytes, err);
}

void zone_note_link(const struct zones_run *run, double start_bytes_per_s)
{
	const struct zone_target *t = &run->targets[0];
	const struct zone_sample *s = t->samples.n ? &t->samples.v[0] : NULL;

	link_say(run->res, t->dev, t->layout.interface_bytes_per_s, start_bytes_per_s, t->layout.request_bytes);
	if (s && s->kind == SAMPLE_PROBE && s->is_good && s->request_bytes > t->layout.request_bytes)
		link_say_by_size(run->res, t->dev, 1e9 / s->ns_per_byte, start_bytes_per_s, t->layout.request_bytes);
}
