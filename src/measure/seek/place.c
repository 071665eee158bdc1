/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lies where. Distances are parts of the stroke, in cylinders. Under constant linear density the place of a byte on the stroke follows from the
 * sequential rates at the start and the end: tracks become shorter inwards as the rate falls, so stroke(x) = (1 - sqrt(1 - x (1 - r^2))) / (1 - r), r the
 * ratio of the rates.
 */
#include <math.h>

#include "base/cleanup.h"
#include "measure/seek/seek.h"

#define RATE_PLACES 9

/* For about so long, or 1 MiB. */
static int rate_at(struct seek_run *s, double x, double guess, double *ret_rate, struct err *err)
{
	double bytes = isfinite(guess) ? guess * (s->p->quick ? 0.2 : 0.5) : 0.0;
	uint64_t want = bytes > 1048576.0 ? (uint64_t)bytes : 1048576u;

	want -= want % (1u << 20);
	return timed_rate(&s->t, (uint64_t)(x * (double)s->t.target->size_bytes), want, ret_rate, err);
}

int seek_rates(struct seek_run *s, struct err *err)
{
	double x[RATE_PLACES], rate[RATE_PLACES], guess = NAN;
	struct density_fit fit;
	size_t n = 0, places = s->p->quick ? 5 : RATE_PLACES;
	int r = 0;

	for (size_t i = 0; r == 0 && i < places && !session_is_over(s->ses); i++) {
		double at = (double)i / (double)(places - 1), v = NAN;

		r = rate_at(s, at, guess, &v, err);
		if (r == 0 && isfinite(v)) {
			x[n] = at;
			rate[n++] = guess = v;
		}
	}
	s->has_rates = true;
	s->rate_start = s->ratio = NAN;
	s->track_ratio = 1.0;
	if (r == 0 && n >= 3 && fit_density(x, rate, n, &fit)) {
		s->rate_start = fit.r0;
		s->ratio = fmin(fmax(fit.r, 0.1), 1.0);
		s->place_off = fit.rms_ratio / sqrt((double)n);
	}
	return r;
}

double seek_stroke_of(const struct seek_run *s, double x)
{
	return s->ratio > 0.999 ? x : (1.0 - sqrt(1.0 - x * (1.0 - s->ratio * s->ratio))) / (1.0 - s->ratio);
}

double seek_place_of(const struct seek_run *s, double stroke)
{
	double y = 1.0 - stroke * (1.0 - s->ratio);

	return s->ratio > 0.999 ? stroke : (1.0 - y * y) / (1.0 - s->ratio * s->ratio);
}

double seek_track_bytes(const struct seek_run *s, double x)
{
	return s->rate_start * sqrt(1.0 - x * (1.0 - s->ratio * s->ratio)) * s->rot.period_ns * 1e-9;
}

/* Bytes of a track without its skew. */
double seek_track_at(const struct seek_run *s, double place)
{
	return seek_track_bytes(s, place) * s->track_ratio;
}
