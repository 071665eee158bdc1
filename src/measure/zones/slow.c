/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slow regions: places that take longer than their neighbourhood lets expect. Most lose whole revolutions, which
 * waits.c finds; here come those that are slow by their level alone, and single samples.
 *
 * Disks get slower from the first byte to the last, in steps, never faster (constant linear density). So a place is
 * slow when places behind it are faster: the expectation is not a smooth curve, which real zones do not follow, but the
 * fastest of all places behind. It must be slower by more than surfaces of one disk differ in density, and by so much
 * that nearly every request loses a revolution: a disk with two arm assemblies runs through its zones twice, and its
 * first half is not slow. Single slow samples among good ones at their position are suspects, too, until their bytes
 * were read again.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/desc.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"

#define SLOW_SIGMAS       5.0  /* of the difference of two places; tails are heavier than the normal law's */
#define SLOW_ENOUGH       0.5  /* log; a third of the rate is gone: slow, whatever the noise */
#define SINGLE_WAITS      5    /* of a single sample: fewer are spare tracks in it (trial: wild disks) */
#define SINGLE_WAITS_LESS 2    /* if its level is slow as well: media beside what is not stored have none */
#define PASSES_PART       0.6  /* of all readings that must be slow; some lie beyond the region's end */
#define SINGLE_REVS       6.0  /* that a sample must have to be told alone: one more or less is a sixth */
#define SINGLE_MIN        0.05 /* relative; a single sample says less than all those of a place */
#define JOIN_PART         0.5  /* of a run, or of its excess, that what waits tell has to be (a choice) */
#define CHANCE_FEW        0.001 /* that few waits lie together by chance, where nothing speaks for the place (a choice) */
#define CHANCE_FEW_THERE \
	0.01 /* the same where something does (of 500 healthy disks one was told as having a slow region at 0.05) */
#define AGAIN_PART 0.5 /* of what a sample is slower, that its bytes are slower when read again: the larger half */
#define SLOW_PART  0.4 /* of a region's excess that makes a sample one of it: it may lie half inside */

#define RETRY_REVS                                                                                                     \
	0.6 /* lost per request, at least, where every request loses one and no wait stands out; half of one is what a \
	       request may take */

struct series { /* positions that have a level, in order */
	size_t *position;
	double *y, *se;
	bool *is_slow;
	size_t n;
};

static void series_done(struct series *s)
{
	free(s->position);
	free(s->y);
	free(s->se);
	free(s->is_slow);
}

static void series_make(const struct zone_levels *lv, const struct zone_stretches *st, struct series *s)
{
	s->position = xcalloc(lv->n + 1, sizeof(*s->position));
	s->y = xcalloc(lv->n + 1, sizeof(*s->y));
	s->se = xcalloc(lv->n + 1, sizeof(*s->se));
	s->is_slow = xcalloc(lv->n + 1, sizeof(*s->is_slow));
	for (size_t p = 0; p < lv->n; p++) {
		if (!lv->v[p].n || isnan(lv->v[p].y) || zone_is_at_interface(st, p))
			continue;
		s->position[s->n] = p;
		s->y[s->n] = lv->v[p].y;
		s->se[s->n] = isnan(lv->v[p].half) ? 0.0 : lv->v[p].half / 1.96;
		s->n++;
	}
}

/* The smallest of y[first..n) that is known well enough. */
static double fastest(const struct series *s, size_t first, double se_max)
{
	double best = INFINITY;

	for (size_t i = first; i < s->n; i++)
		if (s->se[i] <= se_max)
			best = fmin(best, s->y[i]);
	return best;
}

static double threshold_of(const struct series *s)
{
	cleanup_free double *se = xcalloc(s->n + 1, sizeof(*se));
	double noise;

	for (size_t i = 0; i < s->n; i++)
		se[i] = s->se[i];
	noise = stats_median(se, s->n);
	return fmax(ZONE_DENSITY_MAX, fmin(SLOW_SIGMAS * sqrt(2.0) * (isnan(noise) ? 0.0 : noise), SLOW_ENOUGH));
}

static void mark_slow(struct series *s, double *ret_threshold)
{
	double threshold = threshold_of(s);

	*ret_threshold = threshold;
	if (!isfinite(threshold) || s->n < ZONE_BESIDE)
		return;
	for (size_t i = 0; i < s->n; i++) /* -infinity: nothing behind */
		s->is_slow[i] = s->y[i] - fastest(s, i + 1, threshold / SLOW_SIGMAS) > threshold;
}

/* What healthy neighbours on both sides let expect between them. */
static double expectation(const struct series *s, size_t a, size_t b)
{
	size_t left = a, right = b;

	while (left > 0 && s->is_slow[left])
		left--;
	while (right + 1 < s->n && s->is_slow[right])
		right++;
	if (s->is_slow[left])
		return s->is_slow[right] ? (double)NAN : s->y[right];
	return s->is_slow[right] ? s->y[left] : 0.5 * (s->y[left] + s->y[right]);
}

bool zone_is_slow(const struct zone_slows *slows, const struct zone_slow *slow, const struct zone_sample *s)
{
	return s->is_good &&
	       log(s->ns_per_byte) > slow->expected_y + SLOW_PART * fmax(slow->y - slow->expected_y, slows->threshold);
}

/*
 * Is all of the sample slow? One that lies on an edge between two zones is slow in a part only, as is one that meets a
 * single stretch of spare sectors or a disturbance. One quarter may be good: retries have their distances.
 */
static bool is_slow_throughout(const struct zone_slow *slow, const struct zone_sample *s)
{
	double limit_y = slow->expected_y + SLOW_PART * (slow->y - slow->expected_y);
	size_t good = 0;

	for (size_t i = 0; i < ZONE_PARTS; i++)
		good += log(s->part_ns_per_byte[i]) <= limit_y; /* NaN is not */
	return s->is_good && log(s->ns_per_byte) > limit_y && good <= 1;
}

enum zone_recheck zone_recheck(const struct zone_samples *samples, size_t i, double y, double tolerance)
{
	enum zone_recheck said = RECHECK_NONE;
	/* A revolution that is lost again is no stall of sixty. */
	double most = fmax(tolerance, AGAIN_PART * (log(samples->v[i].ns_per_byte) - y));

	for (size_t k = 0; k < samples->n; k++) {
		const struct zone_sample *s = &samples->v[k];
		double off;

		if (s->kind != SAMPLE_CHECK || s->check_of != i || !s->is_good || s->is_disturbed)
			continue;
		off = log(s->ns_per_byte) - y;
		said = off > most ? RECHECK_OF_PLACE : off > -tolerance ? RECHECK_OF_TIME : said; /* faster: cached */
	}
	return said;
}

struct readings { /* of a run of slow positions */
	size_t slow, all, throughout, passes, again_slow, again_good;
	uint32_t last_pass;
	double ns, bytes; /* of all */
};

static bool is_at(const struct zone_sample *s, const struct zone_slow *slow)
{
	return s->is_good && !s->is_burst && s->position != ZONE_NONE && s->kind != SAMPLE_PROBE &&
	       s->position >= slow->first && s->position <= slow->last;
}

static void count_reading(const struct zone_slows *slows, const struct zone_slow *slow, const struct zone_sample *s,
                          struct readings *r)
{
	bool is_slow = zone_is_slow(slows, slow, s);

	if (is_slow && s->is_disturbed)
		return;
	r->all++;
	r->ns += s->elapsed_ns;
	r->bytes += s->moved_bytes;
	r->again_slow += s->kind == SAMPLE_AGAIN && is_slow;
	r->again_good += s->kind == SAMPLE_AGAIN && !is_slow;
	if (!is_slow)
		return;
	r->slow++;
	r->throughout += is_slow_throughout(slow, s);
	r->passes += s->pass != r->last_pass; /* samples are in order of time */
	r->last_pass = s->pass;
}

/*
 * From the samples at the positions of a run: extent, level, and what second looks said. Good samples count inside the
 * extent only: a region may begin or end within a position.
 */
static void fill_region(const struct zone_samples *samples, size_t npositions, const struct zone_slows *slows,
                        struct zone_slow *slow)
{
	struct readings r = { .last_pass = UINT32_MAX };
	bool is_again;

	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *s = &samples->v[i];

		if (!is_at(s, slow) || !zone_is_slow(slows, slow, s))
			continue;
		slow->first_bytes = s->from_bytes < slow->first_bytes ? s->from_bytes : slow->first_bytes;
		slow->end_bytes = s->end_bytes > slow->end_bytes ? s->end_bytes : slow->end_bytes;
	}
	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *s = &samples->v[i];

		if (is_at(s, slow) && s->from_bytes >= slow->first_bytes && s->end_bytes <= slow->end_bytes)
			count_reading(slows, slow, s, &r);
	}
	if (!r.slow)
		return;
	slow->readings = r.all;
	slow->again_slow = r.again_slow;
	slow->again_good = r.again_good;
	slow->y = log(r.ns / r.bytes);
	/* Read again: for that purpose, or, where time was short, in several passes that nearly all say the same. */
	is_again = (r.again_slow > 0 && r.again_slow >= r.again_good) ||
	           (r.passes > 1 && (double)r.slow >= PASSES_PART * (double)r.all);
	slow->chance = zone_chance_of_time(samples, npositions, slow);
	slow->is_confirmed = r.throughout > 0 && is_again && slow->chance < ZONE_CHANCE_MAX;
}

/*
 * Slow by its level alone, without waits that stand out: only a disk where nearly every request loses a revolution is.
 * What loses less is the media's own pace beside something faster that is none (stretches.c).
 */
static bool is_retrying(const struct zone_layout *l, const struct zone_slow *slow)
{
	return (exp(slow->y) - exp(slow->expected_y)) * l->request_bytes >= RETRY_REVS * zone_rev_ns(l);
}

/* Level of the samples at the places of a run that are not in w; infinity: there are none. */
static double rest_of(const struct zone_samples *samples, const struct zone_slow *run, const struct zone_slow *w)
{
	double ns = 0.0, bytes = 0.0;

	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *s = &samples->v[i];

		if (!is_at(s, run) || (s->from_bytes < w->end_bytes && s->end_bytes > w->first_bytes))
			continue;
		ns += s->elapsed_ns;
		bytes += s->moved_bytes;
	}
	return bytes > 0.0 ? log(ns / bytes) : (double)INFINITY;
}

/*
 * Is the run of slow places a region that its waits have told of already? Then that gets what is more, or less: beside
 * a run that is far slower what its waits told of is mostly none of it. A run that is not retrying is slow for another
 * reason where its waits are in a small part of it: a second device behind it.
 */
static bool join_waits(struct zone_slows *slows, const struct zone_samples *samples, const struct zone_layout *l,
                       const struct zone_slow *run)
{
	for (size_t i = 0; i < slows->n; i++) {
		struct zone_slow *w = &slows->v[i];
		uint64_t first = run->first_bytes > w->first_bytes ? run->first_bytes : w->first_bytes;
		uint64_t end = run->end_bytes < w->end_bytes ? run->end_bytes : w->end_bytes;
		double more = run->y - run->expected_y, by_waits = w->y - w->expected_y;
		bool is_confirmed;

		if (!w->by_waits || first >= end)
			continue;
		if (!is_retrying(l, run) &&
		    (double)(end - first) < JOIN_PART * (double)(run->end_bytes - run->first_bytes))
			return true;
		is_confirmed = w->is_confirmed || run->is_confirmed;
		if (by_waits < JOIN_PART * more) {
			*w = *run;
			w->by_waits = true;
			w->is_confirmed = is_confirmed;
			return true;
		}
		w->is_confirmed = is_confirmed;
		if (rest_of(samples, run, w) < w->expected_y + JOIN_PART * by_waits)
			return true; /* what the waits told of is what made the run slow */
		w->first_bytes = run->first_bytes < w->first_bytes ? run->first_bytes : w->first_bytes;
		w->end_bytes = run->end_bytes > w->end_bytes ? run->end_bytes : w->end_bytes;
		w->first = run->first < w->first ? run->first : w->first;
		w->last = run->last > w->last ? run->last : w->last;
		if (more > by_waits) {
			w->y = run->y;
			w->expected_y = run->expected_y;
		}
		return true;
	}
	return false;
}

static void add_runs(const struct series *s, const struct zone_samples *samples, const struct zone_layout *l,
                     struct zone_slows *ret)
{
	for (size_t a = 0; a < s->n; a++) {
		struct zone_slow *slow = &ret->v[ret->n];
		size_t b = a;
		double sum = 0.0;

		if (!s->is_slow[a])
			continue;
		while (b + 1 < s->n && s->is_slow[b + 1])
			b++;
		for (size_t i = a; i <= b; i++)
			sum += s->y[i];
		*slow = (struct zone_slow){ .first = s->position[a],
			                    .last = s->position[b],
			                    .sample = ZONE_NONE,
			                    .first_bytes = UINT64_MAX,
			                    .y = sum / (double)(b - a + 1),
			                    .expected_y = expectation(s, a, b) };
		a = b;
		if (isnan(slow->expected_y))
			continue;
		fill_region(samples, l->npositions, ret, slow);
		if (slow->first_bytes < slow->end_bytes && !join_waits(ret, samples, l, slow) && is_retrying(l, slow))
			ret->n++;
	}
}

/*
 * Of a single sample: the level of its position, or of the next one if that is slower: a zone may end between them. Or
 * of the one before it: a disk gets no faster, so where another device begins the sample is of the end of the first.
 */
static double single_expectation(const struct zone_levels *lv, size_t position)
{
	double y = lv->v[position].y;
	size_t p = position;

	while (p-- > 0)
		if (lv->v[p].n && !isnan(lv->v[p].y)) {
			y = fmax(y, lv->v[p].y);
			break;
		}
	for (p = position + 1; p < lv->n; p++)
		if (lv->v[p].n && !isnan(lv->v[p].y))
			return fmax(y, lv->v[p].y);
	return y;
}

bool zone_is_in_slow(const struct zone_slows *slows, size_t position, unsigned which)
{
	for (size_t i = 0; i < slows->n; i++) {
		const struct zone_slow *s = &slows->v[i];

		if ((!(which & ZONE_SLOW_REGION) || s->sample == ZONE_NONE) &&
		    (!(which & ZONE_SLOW_CONFIRMED) || s->is_confirmed) && position >= s->first && position <= s->last)
			return true;
	}
	return false;
}

bool zone_touches_slow(const struct zone_slows *slows, const struct zone_sample *s)
{
	for (size_t i = 0; i < slows->n; i++)
		if (slows->v[i].is_confirmed && zone_slow_has(&slows->v[i], s))
			return true;
	return false;
}

/* Does it lose revolutions again and again, or so much time that no surface of less density explains it? */
static bool is_slow_single(const struct zone_slows *slows, const struct zone_layout *l, const struct zone_slow *slow,
                           const struct zone_sample *s)
{
	if (!s->is_good || log(s->ns_per_byte) < slow->expected_y + SINGLE_MIN)
		return false;
	return is_slow_throughout(slow, s) &&
	       (s->waits >= SINGLE_WAITS || (slow->y - slow->expected_y > slows->threshold &&
	                                     (s->waits >= SINGLE_WAITS_LESS || is_retrying(l, slow))));
}

/* What reading the bytes of a slow sample again said; what came faster than any media was kept by the drive, and says
 * nothing. */
static void count_checks(const struct zone_samples *samples, const struct zone_slows *slows,
                         const struct zone_layout *l, struct zone_slow *slow)
{
	for (size_t k = 0; k < samples->n; k++) {
		const struct zone_sample *check = &samples->v[k];
		bool is_again;

		if (check->kind != SAMPLE_CHECK || check->check_of != slow->sample || !check->is_good ||
		    log(check->ns_per_byte) < slow->expected_y - ZONE_DENSITY_MAX)
			continue;
		is_again = is_slow_single(slows, l, slow, check);
		if (is_again && check->is_disturbed)
			continue;
		slow->readings++;
		slow->again_slow += is_again;
		slow->again_good += !is_again;
	}
}

/* Slow samples among good ones: their bytes are read again. */
static void add_singles(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_levels *lv,
                        struct zone_slows *ret)
{
	size_t first = ret->n;

	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *s = &samples->v[i];
		struct zone_slow *slow = &ret->v[ret->n];

		if ((s->kind != SAMPLE_CURVE && s->kind != SAMPLE_AGAIN) || !s->is_good || s->is_disturbed ||
		    isnan(lv->v[s->position].y) || s->elapsed_ns < SINGLE_REVS * zone_rev_ns(l))
			continue;
		*slow = (struct zone_slow){ .first = s->position,
			                    .last = s->position,
			                    .sample = i,
			                    .first_bytes = s->from_bytes,
			                    .end_bytes = s->end_bytes,
			                    .y = log(s->ns_per_byte),
			                    .expected_y = single_expectation(lv, s->position),
			                    .readings = 1 };
		if (!is_slow_single(ret, l, slow, s) || zone_touches_slow(ret, s))
			continue;
		count_checks(samples, ret, l, slow);
		ret->n++;
	}
	for (size_t i = first; i < ret->n; i++) {
		struct zone_slow *slow = &ret->v[i];

		slow->chance = zone_chance_of_single(samples, l->npositions, slow, ret->n - first);
		slow->is_confirmed = slow->again_slow > slow->again_good && slow->chance < ZONE_CHANCE_MAX;
	}
}

/* Waits scatter: a few lie close together somewhere. Each is held against what the others leave, and the more so where
 * other places are slow as often. */
static void leave_to_chance(const struct zone_samples *samples, const struct zone_layout *l, struct zone_slows *slows)
{
	cleanup_free double *chance = xcalloc(slows->n + 1, sizeof(*chance));

	for (size_t i = 0; i < slows->n; i++)
		chance[i] = zone_chance_of_few(samples, l, slows, &slows->v[i]);
	for (size_t i = 0; i < slows->n; i++) {
		if (chance[i] < (slows->v[i].chance < 1.0 ? CHANCE_FEW_THERE : CHANCE_FEW))
			continue;
		slows->v[i].chance = fmax(slows->v[i].chance, chance[i]);
		slows->v[i].is_confirmed = false;
	}
}

/*
 * What a region of one sample must lose of its time to be told. Its level must be above the threshold, by the noise of
 * this run; retries come in whole revolutions, and how many of them fall into a sample is uncertain by one: so much of
 * a usual sample is one. 1: none is told, for samples are too short, or of several disks.
 */
static double least_loss(const struct zone_samples *samples, const struct zone_layout *l, double threshold)
{
	cleanup_free double *revs = xcalloc(samples->n + 1, sizeof(*revs));
	size_t n = 0;
	double usual;

	for (size_t i = 0; i < samples->n; i++)
		if (samples->v[i].is_good && samples->v[i].kind != SAMPLE_PROBE)
			revs[n++] = zone_rev_ns(l) / samples->v[i].elapsed_ns;
	usual = n ? stats_median(revs, n) : (double)NAN;
	return usual > 1.0 / SINGLE_REVS || l->has_members ? 1.0 : 1.0 - exp(-threshold) * (1.0 - usual);
}

void zone_slows_find(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_levels *lv,
                     const struct zone_stretches *st, struct zone_slows *ret)
{
	struct series s = { 0 };

	series_make(lv, st, &s);
	*ret = (struct zone_slows){ .v = xcalloc(2 * samples->n + lv->n + 1, sizeof(*ret->v)),
		                    .threshold = INFINITY,
		                    .least_loss = NAN };
	if (l->rev_ns != 0.0) {
		if (s.n >= 3)
			mark_slow(&s, &ret->threshold);
		zone_waits_find(samples, l, st, ret);
		add_runs(&s, samples, l, ret);
		if (!l->has_members)
			add_singles(samples, l, lv, ret);
		leave_to_chance(samples, l, ret);
		ret->least_loss = least_loss(samples, l, ret->threshold);
	}
	series_done(&s);
}
