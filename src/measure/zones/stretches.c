/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stretches whose rate is not that of the media of one healthy disk, and that are not a sign of failure either: parts
 * that were never written or were trimmed answer without any media; behind a volume of several disks, or a second arm,
 * the zones begin anew.
 *
 * What no media take part in comes at once: media come after a seek and a turn of the disk. And nothing in one disk
 * gets faster from one place to the next by more than surfaces differ, a sixth: where all behind a place does, to the
 * end, another device begins. What does not rotate has no such law: there the level of most places is the measure.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/without.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"
#include "model/lossy.h"

#define BY_LENGTH_MIN 2 /* of start, middle and end: no zone ends at two of them (a choice) */
#define STEP_UP \
	0.20 /* log: more than surfaces of one disk differ by (0.17, physics of heads; published drives up to 0.15) */
#define STEP_DOWN     0.30 /* log: more than any step between two zones, at the 64 places of a curve */
#define STEP_UNEVEN   0.10 /* log; of SSDs and cloud volumes, whose runs differ by less by chance (trial) */
#define SAMPLES_MIN   2    /* one may be an accident */
#define DEVICE_PLACES 3    /* on either side of another device's begin (a choice) */

struct places { /* with a level, not slow, in order */
	const struct zone_levels *lv;
	size_t *position;
	bool *is_at_once; /* do most of its samples begin at once? */
	double *y;        /* level */
	size_t n;
	double noise; /* the usual one */
};

static void places_done(struct places *s)
{
	free(s->position);
	free(s->is_at_once);
	free(s->y);
}

static bool comes_at_once(const struct zone_samples *samples, size_t position, const struct zone_layout *l)
{
	size_t n = 0, at_once = 0;

	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *z = &samples->v[i];

		if (!zone_is_usable(z) || z->is_outlier || z->position != position)
			continue;
		n++;
		at_once += zone_comes_at_once(z, l);
	}
	return n >= SAMPLES_MIN && 2 * at_once > n;
}

static void places_make(const struct zone_layout *l, const struct zone_levels *lv, const struct zone_slows *slows,
                        struct places *s)
{
	cleanup_free double *se = xcalloc(lv->n + 1, sizeof(*se));
	size_t n = 0;

	s->lv = lv;
	s->position = xcalloc(lv->n + 1, sizeof(*s->position));
	s->is_at_once = xcalloc(lv->n + 1, sizeof(*s->is_at_once));
	s->y = xcalloc(lv->n + 1, sizeof(*s->y));
	for (size_t p = 0; p < lv->n; p++) {
		if (!lv->v[p].n || isnan(lv->v[p].y) || zone_is_in_slow(slows, p, true))
			continue;
		s->position[s->n] = p;
		s->is_at_once[s->n] = comes_at_once(&lv->marked, p, l);
		s->y[s->n++] = lv->v[p].y;
		if (!isnan(lv->v[p].half))
			se[n++] = lv->v[p].half / 1.96;
	}
	s->noise = n ? stats_median(se, n) : 0.0;
}

static double mean_of(const struct places *s, size_t a, size_t b)
{
	double sum = 0.0;

	for (size_t i = a; i <= b; i++)
		sum += s->y[i];
	return sum / (double)(b - a + 1);
}

/*
 * Does it differ for the times when it was read? Others load a shared volume for a while, and what is read then is slow
 * wherever it lies; credit makes it fast for a while.
 */
static bool is_of_time(const struct zone_levels *lv, const struct zone_stretch *st)
{
	cleanup_free struct lossy_look *look = xcalloc(lv->marked.n + 1, sizeof(*look));
	cleanup_free bool *is_usual = xcalloc(lv->n + 1, sizeof(*is_usual)); /* by position: at some time */
	double middle = 0.5 * (st->y + st->beside_y);
	bool is_slower = st->y > st->beside_y;
	size_t n = 0;

	if (st->kind != STRETCH_UNEVEN || WITHOUT("of-time"))
		return false;
	for (size_t i = 0; i < lv->marked.n; i++) {
		const struct zone_sample *z = &lv->marked.v[i];

		if (zone_is_usable(z) && (log(z->ns_per_byte) > middle) != is_slower)
			is_usual[z->position] = true;
	}
	for (size_t i = 0; i < lv->marked.n; i++) {
		const struct zone_sample *z = &lv->marked.v[i];

		if (zone_is_usable(z)) /* as it or not: of one turn, which it lost or did not */
			look[n++] = (struct lossy_look){ .at = { (log(z->ns_per_byte) > middle) == is_slower, 1.0 },
				                         .is_inside = z->from_bytes < st->end_bytes &&
				                                      z->end_bytes > st->first_bytes,
				                         .is_another = !is_usual[z->position] };
	}
	return lossy_place(look, n, 0.0).evidence <= LOSSY_SURE + log((double)n); /* it may begin with any */
}

/* Places a..b (indexes of s) are a stretch: its bytes are those that its samples counted. */
static void add(struct zone_stretches *to, const struct places *s, size_t a, size_t b, enum zone_stretch_kind kind,
                double beside_y)
{
	const struct zone_samples *samples = &s->lv->marked;
	struct zone_stretch st = { .first = s->position[a],
		                   .last = s->position[b],
		                   .first_bytes = UINT64_MAX,
		                   .kind = kind,
		                   .y = mean_of(s, a, b),
		                   .beside_y = beside_y };

	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *z = &samples->v[i];

		if (!zone_is_usable(z) || z->is_outlier || z->position < st.first || z->position > st.last)
			continue;
		st.samples++;
		st.first_bytes = z->from_bytes < st.first_bytes ? z->from_bytes : st.first_bytes;
		st.end_bytes = z->end_bytes > st.end_bytes ? z->end_bytes : st.end_bytes;
	}
	if (st.samples >= SAMPLES_MIN && !is_of_time(s->lv, &st))
		to->v[to->n++] = st;
}

/* Places without a step between them, of which most come at once, are not stored, where they are faster than the media
 * beside them as well. What is left of s are media. */
static void find_at_once(struct places *s, double least, struct zone_stretches *ret)
{
	size_t kept = 0;

	for (size_t a = 0, b; a < s->n; a = b + 1) {
		size_t at_once = s->is_at_once[a];
		double beside;

		for (b = a; b + 1 < s->n && fabs(s->y[b + 1] - s->y[b]) < least; b++)
			at_once += s->is_at_once[b + 1];
		if (at_once == s->n)
			return;
		beside = fmin(a ? s->y[a - 1] : (double)INFINITY, b + 1 < s->n ? s->y[b + 1] : (double)INFINITY);
		if (2 * at_once <= b - a + 1 || !(beside - mean_of(s, a, b) >= least) || isinf(beside))
			continue;
		add(ret, s, a, b, STRETCH_FAST, beside);
		for (size_t i = a; i <= b; i++)
			s->is_at_once[i] = true;
	}
	for (size_t i = 0; i < s->n; i++)
		if (!s->is_at_once[i]) {
			s->position[kept] = s->position[i];
			s->y[kept++] = s->y[i];
		}
	s->n = kept;
}

/* Of some places from one on: a single one may lie across the begin of another device, or in a slow part. */
static double middle_from(const struct places *s, size_t from, size_t end)
{
	double y[DEVICE_PLACES];
	size_t n = end - from < DEVICE_PLACES ? end - from : DEVICE_PLACES;

	memcpy(y, s->y + from, n * sizeof(*y));
	return stats_median(y, n);
}

/*
 * Does another device begin? Then all behind a place is faster than what lies before it, and neither side has a step
 * down as large: what has two ends is a slow part, or a fast one. Before it rates fell as much, from zone to zone, and
 * behind it they fall again: a full buffer loses revolutions in one zone and in another none, to the end.
 */
static void find_device(const struct places *s, double least, struct zone_stretches *ret)
{
	double up = least, down = 0.0;
	size_t at = 0;

	for (size_t i = 1; i < s->n; i++) {
		size_t before = i < DEVICE_PLACES ? i : DEVICE_PLACES;
		double step = middle_from(s, i - before, i) - middle_from(s, i, s->n);

		down = fmax(down, -step); /* also where few places are before the slow ones, or behind */
		if (step > up && before == DEVICE_PLACES && i + DEVICE_PLACES <= s->n) {
			up = step;
			at = i;
		}
	}
	if (at && !WITHOUT("device") && down < fmax(0.5 * up, STEP_DOWN) &&
	    middle_from(s, at - DEVICE_PLACES, at) - middle_from(s, 0, at) > least &&
	    middle_from(s, s->n - DEVICE_PLACES, s->n) - middle_from(s, at, s->n) > 1.0 - ZONE_FALL_LEAST)
		add(ret, s, at, s->n - 1, STRETCH_DEVICE, s->y[at - 1]);
}

/* Level of most places: of the runs between steps those that agree with each other over the most places. */
static void find_uneven(const struct places *s, struct zone_stretches *ret)
{
	double least = fmax(STEP_UNEVEN, ZONE_SIGMAS * M_SQRT2 * s->noise), usual;
	cleanup_free double *sorted = xcalloc(s->n + 1, sizeof(*sorted));
	size_t most = 0, at = 0;

	for (size_t i = 0; i < s->n; i++)
		sorted[i] = s->y[i];
	stats_sort(sorted, s->n);
	for (size_t i = 0; i < s->n; i++) { /* the widest window of `least` */
		size_t k = i;

		while (k + 1 < s->n && sorted[k + 1] - sorted[i] <= least)
			k++;
		if (k - i + 1 > most) {
			most = k - i + 1;
			at = i;
		}
	}
	usual = sorted[at + most / 2];
	if (2 * most < s->n)
		return; /* no level that most places share */
	for (size_t a = 0; a < s->n; a++) {
		size_t b = a;

		if (fabs(s->y[a] - usual) <= least)
			continue;
		while (b + 1 < s->n && fabs(s->y[b + 1] - usual) > least && (s->y[b + 1] > usual) == (s->y[a] > usual))
			b++;
		if (b > a) /* a single place may be an accident */
			add(ret, s, a, b, STRETCH_UNEVEN, usual);
		a = b;
	}
}

void zone_stretches_find(const struct zone_layout *l, const struct zone_levels *lv, const struct zone_slows *slows,
                         struct zone_stretches *ret)
{
	struct places s = { 0 };
	double least;

	places_make(l, lv, slows, &s);
	*ret = (struct zone_stretches){ .v = xcalloc(lv->n + 1, sizeof(*ret->v)) };
	least = fmax(STEP_UP, ZONE_SIGMAS * M_SQRT2 * s.noise);
	/* Of fewer places (--zones) none lies beside another: a zone, another device and what is not stored look alike.
	 */
	if (s.n >= ZONE_BESIDE && l->rev_ns == 0.0) {
		find_uneven(&s, ret);
	} else if (s.n >= ZONE_BESIDE) {
		find_at_once(&s, least, ret);
		find_device(&s, least, ret);
	}
	places_done(&s);
}

/* Mean level of the places beside p, of samples of the other length; NaN: there are none. */
static double beside_of(const struct zone_layout *l, const struct zone_levels *lv, size_t p)
{
	double sum = 0.0, n = 0.0;

	for (size_t q = p ? p - 1 : 0; q <= p + 1 && q < lv->n; q++) {
		if (q == p || l->positions[q].class != ZONE_SHORT || !lv->v[q].n)
			continue;
		sum += lv->v[q].y;
		n++;
	}
	return sum / n;
}

/* Are most samples of a place as slow in part as what lies beside it? */
static bool is_fast_in_part(const struct zone_samples *samples, size_t p, double limit_y)
{
	double in_part = 0.0, n = 0.0;

	for (size_t i = 0; i < samples->n; i++) {
		if (samples->v[i].position != p || isnan(samples->v[i].y))
			continue;
		in_part += log(zone_slowest_part(&samples->v[i])) > limit_y;
		n++;
	}
	return n > 0.0 && in_part >= ZONE_IN_PART * n;
}

bool zone_is_by_length(const struct zone_layout *l, const struct zone_levels *lv)
{
	const size_t figures[] = { l->start, l->middle, l->end };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(figures) && lv->n >= ZONE_BESIDE; i++) {
		double y, beside;

		if (figures[i] == ZONE_NONE || !lv->v[figures[i]].n)
			continue;
		y = lv->v[figures[i]].y;
		beside = beside_of(l, lv, figures[i]);
		n += beside - y > STEP_UP && is_fast_in_part(&lv->marked, figures[i], 0.5 * (y + beside));
	}
	return n >= BY_LENGTH_MIN && l->rev_ns != 0.0;
}
