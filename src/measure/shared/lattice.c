/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The period that completions of a sector's reads lie on, if any: pure. */
#include <math.h>
#include <stdlib.h>

#include "base/order.h"
#include "measure/shared/lattice.h"

#define PERIOD_HIGH_NS 18.5e6 /* 3 240 rpm: the slowest that are still in use turn with 3600 */
#define EVENTS_MIN     24     /* of fewer a lattice may fit by chance (a choice; the fit has its own test) */
#define CLOCK_MOST     7.0    /* of n R^2: chance gives sectors at random angles that once in 1100 (Rayleigh) */
#define TIMES_MOST     6      /* that many times finer is what is looked for */
#define SAME_LEAST     0.9    /* of the events, where chance has a half to two thirds; of that many at least */
#define SAME_EVENTS    30
#define NOISE_MOST     0.03 /* of a revolution: so blurred, a lattice may be that of a neighbour of the period */
#define STRAY_NOISES   8    /* off by more: of no use for the lattice */

/*
 * A sector of a rotating disk is half a revolution away in the middle. Reads that are quicker do not wait for one, and
 * the lattice is another's: the kernel's timer tick, to which an emulated or a failing device falls into step.
 */
static bool waits_for_rotation(struct events *ev, double period_ns)
{
	return stats_median(ev->access, ev->n) > 0.25 * period_ns;
}

/*
 * Sectors lie at angles of their own. If all come at one phase of the period, it is that of a clock: the kernel's timer
 * tick, at which answers of a busy host are seen, and 4 ms of it look like 15000 rpm. Each sector counts once, by the
 * direction of its events (Rayleigh's test, Mardia and Jupp 2000, 6.3).
 */
static bool is_of_a_clock(const struct events *ev, const struct period_fit *fit)
{
	double re = 0.0, im = 0.0, n = 0.0;

	for (size_t i = 0; i < ev->n; i++) {
		double own_re = 1.0, own_im = 0.0, angle,
		       length; /* of the first one, which the others are counted from */
		bool is_seen = false;

		for (size_t j = 0; j < ev->n; j++) {
			if (ev->first[j] != ev->first[i])
				continue;
			is_seen = j < i;
			if (is_seen) /* with that one */
				break;
			angle = 2.0 * M_PI * phase_of(ev->when[j], 0.0, fit->period);
			own_re += cos(angle);
			own_im += sin(angle);
		}
		length = hypot(own_re, own_im);
		if (is_seen || !(length > 0.0))
			continue;
		angle = atan2(own_im, own_re) +
		        2.0 * M_PI * phase_of((double)(int64_t)(ev->first[i] - ev->first[0]), 0.0, fit->period);
		re += cos(angle);
		im += sin(angle);
		n += 1.0;
	}
	return (re * re + im * im) / n > CLOCK_MOST;
}

/* Each sector has an angle of its own, and its first answer strayed as others do. */
static void refine(const struct events *ev, struct period_fit *fit)
{
	struct period_event all[2 * EVENTS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < ev->n; i++)
		all[n++] = (struct period_event){ .t = ev->when[i],
			                          .at = (double)(int64_t)(ev->first[i] - ev->first[0]) + ev->when[i],
			                          .group = ev->first[i] };
	qsort(all, n, sizeof(all[0]), order_u64);
	for (size_t i = 0, m = n; i < m; i++)
		if (i == 0 || all[i].group != all[i - 1].group)
			all[n++] = (struct period_event){ .at = all[i].at - all[i].t, .group = all[i].group };
	qsort(all, n, sizeof(all[0]), order_u64);
	refine_period(all, n, fit);
}

/* From the events so far; with fewer than three in five on the lattice it is doubtful. */
static bool is_on_lattice(const struct events *ev, struct period_fit *ret)
{
	struct events sorted = *ev;

	if (ev->n < EVENTS_MIN)
		return false;
	stats_sort(sorted.when, sorted.n);
	return fit_period(sorted.when, sorted.n, PERIOD_LOW_NS, PERIOD_HIGH_NS, ret) && ret->inliers * 5 >= ev->n * 3 &&
	       ret->noise <= NOISE_MOST * ret->period && waits_for_rotation(&sorted, ret->period);
}

/*
 * A sector whose first answer was late is off the lattice with all its events, always by the same: what looks like a
 * finer lattice. Without those of which most are off.
 */
static struct events without_strays(const struct events *ev, const struct period_fit *fit)
{
	struct events kept = { .n = 0 };

	for (size_t i = 0; i < ev->n; i++) {
		size_t on = 0, of = 0;

		for (size_t j = 0; j < ev->n; j++) {
			if (ev->first[j] != ev->first[i])
				continue;
			of++;
			on += fabs(remainder(ev->when[j] - fit->t0, fit->period)) <= STRAY_NOISES * fit->noise;
		}
		if (2 * on <= of)
			continue;
		kept.when[kept.n] = ev->when[i];
		kept.access[kept.n] = ev->access[i];
		kept.first[kept.n++] = ev->first[i];
	}
	return kept;
}

/* The share of events that lie, within their sector, whole revolutions of that many periods apart; NaN: too few to
 * know.
 */
static double share_apart(const struct events *ev, double period, int times)
{
	size_t same = 0, free = 0;

	for (size_t i = 0; i < ev->n; i++) {
		size_t count[TIMES_MOST] = { 0 }, n = 0, most = 0;

		for (size_t j = 0; j < ev->n; j++) {
			if (ev->first[j] != ev->first[i])
				continue;
			if (j < i) { /* with that one */
				n = 0;
				break;
			}
			n++;
			count[(size_t)rint(ev->when[j] / period) % (size_t)times]++;
		}
		for (int k = 0; k < times; k++)
			most = count[k] > most ? count[k] : most;
		if (n == 0)
			continue;
		same += most - 1;
		free += n - 1;
	}
	return free < SAME_EVENTS ? (double)NAN : (double)same / (double)free;
}

/*
 * The same where most sectors are on the finer lattice, as there are but a few: each by itself is on one that is many
 * times longer, which chance does not bring about, as waiting varies.
 */
static void lengthen(const struct events *ev, struct period_fit *fit)
{
	for (int k = TIMES_MOST; k > 1; k--) {
		struct events sorted = *ev;

		if (k * fit->period > PERIOD_HIGH_NS || !waits_for_rotation(&sorted, k * fit->period) ||
		    !(share_apart(ev, fit->period, k) > SAME_LEAST))
			continue;
		fit->period *= k;
		return;
	}
}

bool rotation_fit(const struct events *all, struct rotation *ret)
{
	struct period_fit fit, again;
	struct events kept;

	ret->events = all->n;
	if (!is_on_lattice(all, &fit))
		return false;
	kept = without_strays(all, &fit);
	if (kept.n < all->n && is_on_lattice(&kept, &again) && again.period > 1.5 * fit.period)
		fit = again;
	else
		kept = *all;
	lengthen(&kept, &fit);
	refine(&kept, &fit);
	if (is_of_a_clock(&kept, &fit))
		return false;
	ret->is_rotating = true;
	ret->is_unclear = false; /* of an earlier attempt */
	ret->period_ns = fit.period;
	ret->se_ns = fit.se;
	ret->noise_ns = fit.noise;
	return true;
}
