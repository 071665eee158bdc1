/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stretches whose rate is not that of the media of one healthy disk, and that are no sign of failure either: parts that
 * were never written or were trimmed answer without any media, as fast as the interface; a cache does; behind a volume
 * of several disks, or a second arm, the zones begin anew.
 *
 * What they are told by: the density of one disk falls from its first byte to its last, in steps of at most a tenth,
 * and surfaces differ by a sixth at most; so nothing in it gets faster by more than that from one place to the next.
 * What does not rotate has no such law: there the level of most places is the measure. And what no media take part in
 * comes at once: media that are faster than the interface come as fast, but after a seek and a turn of the disk.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"
#include "model/lossy.h"

#define BY_LENGTH_STEP 0.2 /* log; zones of one disk differ by less (a choice) */
#define BY_LENGTH_MIN  2   /* of start, middle and end: no zone ends at two of them (a choice) */
#define STEP_UP \
	0.20 /* log: more than surfaces of one disk differ by (0.17, physics of heads; published drives up to 0.15) */
#define STEP_DOWN 0.30 /* log: more than any step between two zones, at the 64 places of a curve */
#define STEP_UNEVEN                                                                                            \
	0.10 /* log; of what does not rotate: below it runs of one volume differ by chance (trial: SSDs, cloud \
	        volumes) */
#define STEP_SIGMAS 6.0 /* of a step between two places: none by chance in a thousand runs */
#define FLAT \
	0.06 /* log: change along what an interface or a cache gives; media change by more over a quarter of a disk */
#define UP_STEPS_MAX  4     /* more of them are a pattern of surfaces: volumes of so many disks are rare */
#define UNEVEN_MAX    8     /* runs; more of them are noise of the network (trial: cloud volumes) */
#define SAMPLES_MIN   2     /* one may be an accident */
#define AGAINST_PART  0.25  /* of a stretch's samples, that others between them may say the contrary (a choice) */
#define SLOW_USUAL    0.001 /* of the samples of a place that is not slow: next to none is (a choice) */
#define DEVICE_PLACES 3     /* on either side of another device's begin (a choice) */

/* How samples of a place begin, most of them. Old documents do not tell. */
enum comes { COMES_UNKNOWN, COMES_AT_ONCE, COMES_AFTER_SEEK };

struct places { /* with a level, not slow, in order */
	size_t *position;
	enum comes *comes;
	double *y, *se; /* level, and its standard error */
	size_t n;
	size_t npositions;            /* all of them */
	double noise;                 /* the usual one */
	double interface_bytes_per_s; /* NaN: not known */
};

static void places_done(struct places *s)
{
	free(s->position);
	free(s->comes);
	free(s->y);
	free(s->se);
}

struct begins { /* of a place's samples, or a stretch's places, so many */
	size_t at_once, after_seek, all;
};

static void count_begin(const struct zone_sample *z, const struct zone_layout *l, struct begins *to)
{
	to->all++;
	to->after_seek += zone_comes_late(z, l);
	to->at_once += zone_comes_at_once(z, l);
}

/* As more than half of them do. */
static enum comes how_most_come(const struct begins *b)
{
	return 2 * b->at_once > b->all ? COMES_AT_ONCE : 2 * b->after_seek > b->all ? COMES_AFTER_SEEK : COMES_UNKNOWN;
}

static void places_make(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_levels *lv,
                        const struct zone_slows *slows, struct places *s)
{
	cleanup_free double *se = xcalloc(lv->n + 1, sizeof(*se));
	cleanup_free struct begins *begins = xcalloc(lv->n + 1, sizeof(*begins));
	size_t n = 0;

	s->npositions = lv->n;
	s->interface_bytes_per_s = l->interface_bytes_per_s;
	s->position = xcalloc(lv->n + 1, sizeof(*s->position));
	s->y = xcalloc(lv->n + 1, sizeof(*s->y));
	s->se = xcalloc(lv->n + 1, sizeof(*s->se));
	s->comes = xcalloc(lv->n + 1, sizeof(*s->comes));
	for (size_t i = 0; i < samples->n; i++)
		if (zone_is_usable(&samples->v[i]) && !samples->v[i].is_outlier && samples->v[i].whole_ns > 0.0)
			count_begin(&samples->v[i], l, &begins[samples->v[i].position]);
	for (size_t p = 0; p < lv->n; p++) {
		if (!lv->v[p].n || isnan(lv->v[p].y) || zone_is_in_slow(slows, p, true))
			continue;
		s->position[s->n] = p;
		s->comes[s->n] = begins[p].all < SAMPLES_MIN ? COMES_UNKNOWN : how_most_come(&begins[p]);
		s->se[s->n] = isnan(lv->v[p].half) ? 0.0 : lv->v[p].half / 1.96;
		s->y[s->n++] = lv->v[p].y;
		if (!isnan(lv->v[p].half))
			se[n++] = lv->v[p].half / 1.96;
	}
	s->noise = n ? stats_median(se, n) : 0.0;
}

/* How much faster the place behind i is, by as many as two places on either side; the log of the rates' ratio. */
static double step_up(const struct places *s, size_t i)
{
	double near = s->y[i] - s->y[i + 1];
	double before = i ? 0.5 * (s->y[i] + s->y[i - 1]) : s->y[i];
	double behind = i + 2 < s->n ? 0.5 * (s->y[i + 1] + s->y[i + 2]) : s->y[i + 1];

	return near > 0.0 ? fmin(near, fmax(before - behind, 0.5 * near)) : near;
}

/* Is it more than surfaces, or the errors of the two levels, explain? */
static bool is_step_up(const struct places *s, size_t i, double least)
{
	return step_up(s, i) > fmax(least, STEP_SIGMAS * hypot(s->se[i], s->se[i + 1]));
}

/*
 * Does another device begin behind place i? Then all that lies there is faster, and not only than a place or two that
 * are slow: than the fastest of some places before, by the middle of as many behind.
 */
static bool begins_device(const struct places *s, size_t i, double least)
{
	double before = INFINITY, behind[DEVICE_PLACES];
	size_t n = 0;

	for (size_t k = i + 1; k-- > 0 && i - k < DEVICE_PLACES;)
		before = fmin(before, s->y[k]);
	for (size_t k = i + 1; k < s->n && n < DEVICE_PLACES; k++)
		behind[n++] = s->y[k];
	return before - stats_median(behind, n) > 0.5 * least;
}

static double mean_of(const struct places *s, size_t a, size_t b)
{
	double sum = 0.0;

	for (size_t i = a; i <= b; i++)
		sum += s->y[i];
	return sum / (double)(b - a + 1);
}

/* At one rate, as what an interface or a cache gives is? Else it falls from its first third to its last. */
static bool is_flat(const struct places *s, size_t a, size_t b)
{
	size_t third;
	double fall;

	if (b - a > 3) { /* the outermost may lie over a step */
		a++;
		b--;
	}
	third = (b - a) / 3;
	fall = mean_of(s, b - third, b) - mean_of(s, a, a + third);
	return fabs(fall) <= fmax(FLAT, STEP_SIGMAS * M_SQRT2 * s->noise / sqrt((double)third + 1.0));
}

/* A place may lie over an end of it: a sample that is nearer to what is beside is none of it. Of another device or
 * actuator rates fall to what is beside. */
static bool is_beside(const struct zone_sample *z, const struct zone_stretch *st)
{
	double y = log(z->ns_per_byte);

	return st->kind == STRETCH_UNEVEN && fabs(y - st->y) > fabs(y - st->beside_y);
}

static bool is_of_stretch(const struct zone_sample *z, const struct zone_stretch *st)
{
	return z->is_good && !z->is_burst && z->position != ZONE_NONE && z->position >= st->first &&
	       z->position <= st->last && z->kind != SAMPLE_PROBE;
}

/* Are samples between those of the stretch as what is beside it? Then what differs was of the times when it was read.
 * An outlier says so as well as others. */
static bool is_contradicted(const struct zone_samples *samples, const struct zone_stretch *st)
{
	size_t against = 0;

	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *z = &samples->v[i];

		against += is_of_stretch(z, st) && is_beside(z, st) && z->from_bytes > st->first_bytes &&
		           z->end_bytes < st->end_bytes;
	}
	return (double)against > AGAINST_PART * (double)st->samples;
}

/*
 * Is it slower for the times when it was read? Others load a shared volume for a while, and what was read then is slow
 * wherever it lies.
 */
static bool is_of_time(const struct zone_samples *samples, const struct places *s, const struct zone_stretch *st)
{
	cleanup_free struct lossy_look *look = xcalloc(samples->n + 1, sizeof(*look));
	double middle = 0.5 * (st->y + st->beside_y);
	size_t n = 0, looks;

	if (st->kind != STRETCH_UNEVEN || st->y <= st->beside_y)
		return false;
	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *z = &samples->v[i];

		if (zone_is_usable(z)) /* slow or not: of one turn, which it lost or did not */
			look[n++] =
				(struct lossy_look){ z->position, log(z->ns_per_byte) > middle, 1.0,
				                     z->from_bytes < st->end_bytes && z->end_bytes > st->first_bytes };
	}
	return lossy_place(look, n, s->npositions, SLOW_USUAL, 0.0, &looks) <= LOSSY_SURE;
}

static enum comes how_places_come(const struct places *s, size_t a, size_t b)
{
	struct begins n = { .all = b - a + 1 };

	for (size_t i = a; i <= b; i++) {
		n.at_once += s->comes[i] == COMES_AT_ONCE;
		n.after_seek += s->comes[i] == COMES_AFTER_SEEK;
	}
	return how_most_come(&n);
}

/* Places a..b (indexes of s) are a stretch: its bytes are those that its samples counted. */
static void add(struct zone_stretches *to, const struct zone_samples *samples, const struct places *s, size_t a,
                size_t b, enum zone_stretch_kind kind, double beside_y)
{
	struct zone_stretch st = { .first = s->position[a],
		                   .last = s->position[b],
		                   .first_bytes = UINT64_MAX,
		                   .kind = kind,
		                   .y = mean_of(s, a, b),
		                   .beside_y = beside_y };

	size_t left_out = 0;
	double sum = 0.0;

	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *z = &samples->v[i];

		if (!is_of_stretch(z, &st) || z->is_outlier)
			continue;
		if (is_beside(z, &st)) {
			left_out++;
			continue;
		}
		st.samples++;
		sum += log(z->ns_per_byte);
		st.first_bytes = z->from_bytes < st.first_bytes ? z->from_bytes : st.first_bytes;
		st.end_bytes = z->end_bytes > st.end_bytes ? z->end_bytes : st.end_bytes;
	}
	if (left_out && st.samples)
		st.y = sum / (double)st.samples;
	if (is_contradicted(samples, &st) || is_of_time(samples, s, &st))
		return;
	if (kind == STRETCH_FAST) {
		enum comes comes = how_places_come(s, a, b);

		st.is_at_interface =
			comes == COMES_AT_ONCE || zone_rate(st.y) >= INTERFACE_REACHED * s->interface_bytes_per_s;
		if (comes == COMES_AFTER_SEEK)
			return;
	}
	if (st.samples >= SAMPLES_MIN)
		to->v[to->n++] = st;
}

/*
 * A stretch ends with a step as well, of half of what it began with at least; another device falls slowly, zone by
 * zone. A place may lie over the step: levels count over two of them.
 */
static size_t stretch_end(const struct places *s, size_t a)
{
	size_t head = a + 2 < s->n ? a + 2 : s->n - 1, b = a;
	double least = 0.5 * (s->y[a - 1] - mean_of(s, a < head ? a + 1 : a, head));

	for (; b + 1 < s->n; b++) {
		double here = mean_of(s, b > a + 2 ? b - 2 : b > a + 1 ? b - 1 : b, b);

		if (b > a && s->y[b + 1] - here >= least)
			break;
		if (b > a && b + 2 < s->n && s->y[b + 2] - here >= least)
			return s->y[b + 1] - here < 0.5 * least ? b + 1 : b;
	}
	return b;
}

/*
 * Are places a..b the zones of another device? They are many, fall from the first to the last, and are slower than what
 * is not stored comes; so what seems to end them is one zone more, for a device goes on to the end.
 */
static bool falls_as_media(const struct places *s, size_t a, size_t b)
{
	return b - a + 1 >= ZONE_BESIDE && s->y[b] > s->y[a] && !is_flat(s, a, b) &&
	       !(zone_rate(mean_of(s, a, b)) >= INTERFACE_REACHED * s->interface_bytes_per_s);
}

/*
 * What comes at once is not stored, where it is faster than the media beside it as well. What is left of s are media,
 * whose steps say what else there is.
 */
static void find_at_once(const struct zone_samples *samples, struct places *s, double least, struct zone_stretches *ret)
{
	size_t kept = 0;

	for (size_t a = 0, b; a < s->n; a = b + 1) {
		double beside;

		for (b = a; s->comes[a] == COMES_AT_ONCE && b + 1 < s->n && s->comes[b + 1] == COMES_AT_ONCE;)
			b++;
		if (a == 0 && b + 1 == s->n)
			return;
		beside = fmin(a ? s->y[a - 1] : (double)INFINITY, b + 1 < s->n ? s->y[b + 1] : (double)INFINITY);
		if (s->comes[a] == COMES_AT_ONCE && beside - mean_of(s, a, b) >= least)
			add(ret, samples, s, a, b, STRETCH_FAST, beside);
	}
	for (size_t i = 0; i < s->n; i++) {
		if (s->comes[i] == COMES_AT_ONCE)
			continue;
		s->position[kept] = s->position[i];
		s->comes[kept] = s->comes[i];
		s->y[kept] = s->y[i];
		s->se[kept++] = s->se[i];
	}
	s->n = kept;
}

static void find_rotating(const struct zone_samples *samples, struct places *s, struct zone_stretches *ret)
{
	double up = fmax(STEP_UP, STEP_SIGMAS * M_SQRT2 * s->noise), down = fmax(STEP_DOWN, up);
	size_t steps = 0;

	find_at_once(samples, s, up, ret);
	for (size_t i = 0; i + 1 < s->n; i++)
		steps += is_step_up(s, i, up) && (!i || !is_step_up(s, i - 1, up)); /* a place may lie over the step */
	if (steps > UP_STEPS_MAX)
		return; /* surfaces of unlike densities, or no disk whose places can be told apart */
	/* The front: as fast as what comes out of the drive's buffer. A zone ends with a step down as well. */
	for (size_t i = 1; i + 1 < s->n && !is_step_up(s, i - 1, up); i++) {
		if (s->y[i + 1] - s->y[i] < down)
			continue;
		if (is_flat(s, 0, i) && zone_rate(mean_of(s, 0, i)) >= INTERFACE_REACHED * s->interface_bytes_per_s)
			add(ret, samples, s, 0, i, STRETCH_FAST, s->y[i + 1]);
		break;
	}
	for (size_t i = 0; i + 1 < s->n; i++) {
		size_t b;
		bool is_device;

		if (!is_step_up(s, i, up))
			continue;
		b = stretch_end(s, i + 1);
		if (falls_as_media(s, i + 1, b))
			b = s->n - 1;
		is_device = b + 1 == s->n && !is_flat(s, i + 1, b);
		if (is_device && !begins_device(s, i, up))
			continue;
		add(ret, samples, s, i + 1, b, is_device ? STRETCH_DEVICE : STRETCH_FAST, s->y[i]);
		if (b + 1 == s->n)
			return;
		i = b;
	}
}

/* Level of most places: of the runs between steps those that agree with each other over the most places. */
static void find_uneven(const struct zone_samples *samples, const struct places *s, struct zone_stretches *ret)
{
	double least = fmax(STEP_UNEVEN, STEP_SIGMAS * M_SQRT2 * s->noise), usual;
	cleanup_free double *sorted = xcalloc(s->n + 1, sizeof(*sorted));
	size_t most = 0, at = 0, runs = 0;

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
	for (size_t i = 0; i < s->n; i++)
		runs += fabs(s->y[i] - usual) > least && (!i || fabs(s->y[i - 1] - usual) <= least);
	if (runs > UNEVEN_MAX || 2 * most < s->n)
		return; /* no level that most places share */
	for (size_t a = 0; a < s->n; a++) {
		size_t b = a;

		if (fabs(s->y[a] - usual) <= least)
			continue;
		while (b + 1 < s->n && fabs(s->y[b + 1] - usual) > least && (s->y[b + 1] > usual) == (s->y[a] > usual))
			b++;
		add(ret, samples, s, a, b, STRETCH_UNEVEN, usual);
		a = b;
	}
}

void zone_stretches_find(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_levels *lv,
                         const struct zone_slows *slows, struct zone_stretches *ret)
{
	struct places s = { 0 };

	places_make(samples, l, lv, slows, &s);
	*ret = (struct zone_stretches){ .v = xcalloc(lv->n + 1, sizeof(*ret->v)) };
	/* Of fewer places (--zones) none lies beside another: a zone, another device and what is not stored look alike.
	 */
	if (s.n >= ZONE_BESIDE && l->rev_ns == 0.0)
		find_uneven(samples, &s, ret);
	else if (s.n >= ZONE_BESIDE)
		find_rotating(samples, &s, ret);
	places_done(&s);
}

double zone_begins_anew(const struct zone_stretches *st)
{
	for (size_t i = 0; i < st->n; i++)
		if (st->v[i].kind == STRETCH_DEVICE)
			return (double)st->v[i].first_bytes;
	return (double)INFINITY;
}

bool zone_is_in_stretch(const struct zone_stretches *st, size_t position)
{
	for (size_t i = 0; i < st->n; i++)
		if (st->v[i].kind != STRETCH_DEVICE && position >= st->v[i].first && position <= st->v[i].last)
			return true;
	return false;
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

bool zone_is_by_length(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_levels *lv)
{
	const size_t figures[] = { l->start, l->middle, l->end };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(figures) && lv->n >= ZONE_BESIDE; i++) {
		double y, beside;

		if (figures[i] == ZONE_NONE || !lv->v[figures[i]].n || lv->v[figures[i]].is_cycle)
			continue;
		y = lv->v[figures[i]].y;
		beside = beside_of(l, lv, figures[i]);
		n += beside - y > BY_LENGTH_STEP && is_fast_in_part(samples, figures[i], 0.5 * (y + beside));
	}
	return n >= BY_LENGTH_MIN && l->rev_ns != 0.0;
}
