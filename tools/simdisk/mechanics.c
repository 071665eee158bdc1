/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arm and heads as arithmetic: curves, scatter, and what is fixed in a track. */
#include "mechanics.h"

#include <math.h>

/* ---- scatter ---- */

double scatter_draw(const struct scatter *s, double nominal_ms, struct rng *rng)
{
	double x = 0;

	if (s->sd_ms > 0)
		x = fmax(-nominal_ms,
		         fmin(nominal_ms, s->sd_ms * rng_normal(rng))); /* cut at both ends: it stays symmetric */
	if (s->tail_p > 0 && rng_double(rng) < s->tail_p)
		x += rng_exp(rng, s->tail_ms);
	return x;
}

/* Normal and exponential together have the closed form of an exponentially modified Gauss distribution. */
double scatter_above(const struct scatter *s, double x_ms)
{
	double core, tail, z, k;

	if (!(s->sd_ms > 0)) {
		if (x_ms < 0)
			return 1;
		return s->tail_p > 0 && s->tail_ms > 0 ? s->tail_p * exp(-x_ms / s->tail_ms) : 0;
	}
	z = x_ms / s->sd_ms;
	core = 0.5 * erfc(z * M_SQRT1_2);
	if (!(s->tail_p > 0) || s->sd_ms > 30 * s->tail_ms)
		return core;
	k = s->sd_ms / s->tail_ms;
	tail = core + exp(k * k / 2 - x_ms / s->tail_ms) * 0.5 * erfc((k - z) * M_SQRT1_2);
	return (1 - s->tail_p) * core + s->tail_p * (isfinite(tail) ? tail : core);
}

double scatter_mean(const struct scatter *s)
{
	return s->tail_p * s->tail_ms;
}

double scatter_median(const struct scatter *s)
{
	double low = -5 * s->sd_ms, high = 5 * s->sd_ms;
	int i;

	if (!(s->tail_p > 0) || !(s->sd_ms > 0))
		return 0;
	for (i = 0; i < 40; i++) {
		double mid = (low + high) / 2;

		*(scatter_above(s, mid) > 0.5 ? &low : &high) = mid;
	}
	return (low + high) / 2;
}

struct scatter scatter_sum(const struct scatter *a, const struct scatter *b)
{
	struct scatter s = { .sd_ms = hypot(a->sd_ms, b->sd_ms),
		             .tail_p = a->tail_p + b->tail_p - a->tail_p * b->tail_p };

	if (s.tail_p > 0)
		s.tail_ms = (scatter_mean(a) + scatter_mean(b)) / s.tail_p;
	return s;
}

/* ---- seeks ---- */

/* Index of the first point at or beyond the distance; 0 < index < n for one that lies between two points. */
static size_t point_from(const struct profile *p, double cylinders)
{
	size_t low = 0, high = p->seek.npoints;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (p->seek.points[mid].cylinders < cylinders)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Share of the way from the point before to point i; 1 outside of the table, where the nearest point holds. */
static double between_points(const struct profile *p, double cylinders, size_t *i)
{
	const struct profile_seek_point *s = p->seek.points;

	*i = point_from(p, cylinders);
	if (*i == p->seek.npoints)
		(*i)--;
	if (*i == 0 || cylinders >= s[*i].cylinders)
		return 1;
	return (cylinders - s[*i - 1].cylinders) / (s[*i].cylinders - s[*i - 1].cylinders);
}

double mechanics_seek_ms(const struct profile *p, double d)
{
	const struct profile_seek_point *s = p->seek.points;
	double w;
	size_t i;

	if (d <= 0)
		return 0;
	if (p->seek.npoints == 0)
		return p->seek.settle_ms +
		       (d < p->seek.knee ? p->seek.a_ms + p->seek.b_ms * sqrt(d) : p->seek.c_ms + p->seek.e_ms * d);
	w = between_points(p, d, &i);
	return w < 1 ? (1 - w) * s[i - 1].ms + w * s[i].ms : s[i].ms;
}

struct scatter mechanics_seek_scatter(const struct profile *p, double d)
{
	struct scatter ret = { 0 };
	size_t i;

	if (d <= 0)
		return ret;
	for (i = p->seek.nscatters; i-- > 0;)
		if (p->seek.scatters[i].cylinders <= d) {
			ret = p->seek.scatters[i].scatter;
			break;
		}
	if (p->seek.npoints) {
		const struct profile_seek_point *s = p->seek.points;
		double w = between_points(p, d, &i),
		       sd = w < 1 ? (1 - w) * s[i - 1].sd_ms + w * s[i].sd_ms : s[i].sd_ms;

		if (!isnan(sd))
			ret.sd_ms = sd;
	}
	return ret;
}

double mechanics_slow_step_ms(const struct profile *p)
{
	return mechanics_seek_ms(p, 1) + 4 * mechanics_seek_scatter(p, 1).sd_ms;
}

double mechanics_missed(const struct profile *p, double cylinders)
{
	return (cylinders < p->noise.miss_cylinders ? p->noise.miss_short_p : p->noise.miss_long_p) /
	       (1 - p->noise.miss_again_p);
}

/* ---- tracks ---- */

static uint64_t track_hash(const struct profile *p, uint64_t track, uint64_t what)
{
	return rng_mix(rng_mix(p->seed * 8 + what) ^ rng_mix(track));
}

static double unit(uint64_t hash)
{
	return (double)(hash >> 11) * 0x1p-53;
}

double mechanics_track_off(const struct profile *p, uint64_t track)
{
	double x = 0;

	if (p->media.skew_sd_us > 0) {
		double u = unit(track_hash(p, track, 0)), v = unit(track_hash(p, track, 1));

		x = sqrt(-2 * log1p(-u)) * cos(2 * M_PI * v) * p->media.skew_sd_us * 1e-6 * p->spindle.rpm / 60;
	}
	if (p->media.skew_far_p > 0 && unit(track_hash(p, track, 2)) < p->media.skew_far_p)
		x += (2 * unit(track_hash(p, track, 3)) - 1) * p->media.skew_far;
	return x;
}

double mechanics_track_weak(const struct profile *p, const struct place *place)
{
	if (p->media.weak_surface && place->surface + 1 != p->media.weak_surface)
		return -1;
	return unit(track_hash(p, place->track, 4)) < p->media.weak_share ? unit(track_hash(p, place->track, 5)) : -1;
}
