/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What differs from one time to the next. Each kind draws only when its key is given, so that a profile without it has
 * the same times whatever else there is. What is fixed in the disk is not here but in mechanics.c.
 */
#include "disk.h"

#define UNREST_OCTAVES 6

static double scattered_ns(struct disk *d, double nominal_ms, const struct scatter *s)
{
	return (scatter_is_on(s) ? nominal_ms + scatter_draw(s, nominal_ms, &d->noise.rng) : nominal_ms) * 1e6;
}

double noise_overhead_ns(struct disk *d)
{
	return scattered_ns(d, d->p.ctl.overhead_ms, &d->p.ctl.overhead_scatter);
}

double noise_hit_ns(struct disk *d)
{
	return scattered_ns(d, d->p.ctl.hit_overhead_ms, &d->p.ctl.hit_scatter);
}

double noise_write_ns(struct disk *d, bool is_cached)
{
	if (d->p.ctl.write_overhead_ms > 0)
		return scattered_ns(d, d->p.ctl.write_overhead_ms, &d->p.ctl.write_scatter);
	return is_cached ? noise_hit_ns(d) : noise_overhead_ns(d);
}

double noise_done_ns(struct disk *d, double end)
{
	double noise = 0;

	if (d->p.noise.jitter_us > 0)
		noise += fabs(rng_normal(&d->rng)) * d->p.noise.jitter_us * 1e3;
	if (d->p.noise.outlier_p > 0 && rng_double(&d->rng) < d->p.noise.outlier_p)
		noise += rng_exp(&d->rng, d->p.noise.outlier_ms * 1e6);
	if (d->p.path.busy_p > 0 && path_is_on(d, 0xb057, d->p.path.busy_on_s, d->p.path.busy_off_s, end) &&
	    rng_double(&d->noise.rng) < d->p.path.busy_p)
		noise += rng_exp(&d->noise.rng, d->p.path.busy_ms * 1e6);
	return noise + scattered_ns(d, d->p.ctl.done_ms, &d->p.ctl.done_scatter);
}

double noise_flat_ns(struct disk *d, double median_us)
{
	return median_us * 1e3 *
	       (d->p.ssd.latency_sigma > 0 ? exp(d->p.ssd.latency_sigma * rng_normal(&d->noise.rng)) : 1);
}

void noise_freeze(struct disk *d, double t)
{
	double from = d->p.noise.freeze_min_ms, to = d->p.noise.freeze_max_ms;

	if (d->p.noise.freeze_p > 0 && rng_double(&d->noise.rng) < d->p.noise.freeze_p)
		d->noise.frozen_until =
			fmax(d->noise.frozen_until, t + 1e6 * from * pow(to / from, rng_double(&d->noise.rng)));
}

/*
 * Lognormal of mean 1, as a sum over octaves of time of which each has a value of its own in each of its intervals:
 * however long a measurement is, there is noise as slow as that, and more of it hardly helps.
 */
double noise_unrest(struct disk *d, double t)
{
	double sigma = d->p.noise.unrest_sigma, sum = 0, interval = d->p.noise.unrest_s * 1e9;

	if (!(sigma > 0))
		return 1;
	if (t < d->noise.unrest_until)
		return d->noise.unrest;
	d->noise.unrest_until = (floor(t / interval) + 1) * interval;
	for (uint64_t k = 0; k < UNREST_OCTAVES; k++, interval *= 4) {
		struct rng r;

		rng_init(&r, rng_mix(d->p.seed ^ 0x0c7a) + k, (uint64_t)(t / interval));
		sum += rng_normal(&r);
	}
	d->noise.unrest = exp(sigma * sum / sqrt(UNREST_OCTAVES) - sigma * sigma / 2);
	return d->noise.unrest;
}

double noise_move_ns(struct disk *d, const struct place *to)
{
	const struct place from = { .cylinder = d->head.cylinder, .surface = d->head.surface };
	struct scatter s;
	double nominal = geometry_move(d->g, &from, to, &s);

	if (!scatter_is_on(&s))
		return nominal;
	if (isnan(d->noise.pending_ms))
		d->noise.pending_ms = scatter_draw(&s, nominal / 1e6, &d->noise.rng);
	return nominal + d->noise.pending_ms * 1e6;
}

double noise_missed(struct disk *d, const struct place *to)
{
	const struct profile *p = &d->p;
	uint32_t distance =
		to->cylinder > d->head.cylinder ? to->cylinder - d->head.cylinder : d->head.cylinder - to->cylinder;
	double chance = distance < p->noise.miss_cylinders ? p->noise.miss_short_p : p->noise.miss_long_p, n = 0;

	if (chance > 0 && rng_double(&d->noise.rng) < chance)
		do
			n++;
		while (p->noise.miss_again_p > 0 && rng_double(&d->noise.rng) < p->noise.miss_again_p);
	return n;
}

double noise_weak(struct disk *d, const struct place *place, uint64_t n)
{
	const struct profile *p = &d->p;
	double weak, at;

	if (!(p->media.weak_share > 0 && p->media.weak_p > 0))
		return 0;
	weak = mechanics_track_weak(p, place);
	at = weak * place->spt;
	if (weak < 0 || at < place->sector || at >= (double)(place->sector + n))
		return 0;
	return p->media.weak_p >= 1 || rng_double(&d->noise.rng) < p->media.weak_p ? 1 : 0;
}
