/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The least time that intervals of these widths take by physics, for each place: one seek and half a revolution, which
 * the samples of the upward pass show themselves (all of a sample's time, less its bytes at its rate), and the
 * revolutions that the variance between tracks demands. Those are the ones that were counted, less what Student's t
 * wanted for the variance was not known: of a mean's width that is its square.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/zones.h"

#define NORMAL_975 1.959964 /* of the normal distribution: t where the variance is known */

static double usual_wait(const struct zone_samples *samples)
{
	cleanup_free double *wait = xcalloc(samples->n + 1, sizeof(*wait));
	size_t n = 0;

	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *s = &samples->v[i];

		if (s->kind == SAMPLE_CURVE && s->pass == 0 && s->is_good && s->whole_ns > 0.0)
			wait[n++] = zone_wait_ns(s);
	}
	return n ? stats_median(wait, n) : (double)NAN;
}

double zone_least_ns(const struct zone_target *t)
{
	const struct zone_levels *lv = &t->analysis->levels;
	double wait = usual_wait(&t->samples), sum = 0.0;

	for (size_t p = 0; p < lv->n; p++) {
		const struct zone_level *v = &lv->v[p];
		double part = v->n && v->df > 0.0 ? NORMAL_975 / stats_t_975(v->df) : 1.0;

		sum += v->n ? wait + v->elapsed_ns * part * part : 0.0;
	}
	return sum > 0.0 ? sum : (double)NAN;
}

double zone_used_ns(const struct zone_target *t)
{
	double first_s = INFINITY, last_s = 0.0;

	for (size_t i = 0; i < t->samples.n; i++) {
		const struct zone_sample *s = &t->samples.v[i];
		double half = 0.5e-9 * fmax(s->whole_ns, s->elapsed_ns);

		first_s = fmin(first_s, s->at_s - half);
		last_s = fmax(last_s, s->at_s + half);
	}
	return last_s > first_s ? 1e9 * (last_s - first_s) : (double)NAN;
}
