/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slow regions of a device that has one request at a time: is it the place that loses revolutions, or the way to the
 * host? */
#include <math.h>

#include "measure/zones/analysis.h"

#define PATH_ONCE   1.05  /* revolutions a wait: more are retries that took several (one in twenty that took two) */
#define PATH_KNOWN  20    /* waits elsewhere, that tell how long they are (a choice) */
#define PATH_PART   0.05  /* of all else, by its time, that has as many waits: beyond chance (as everywhere) */
#define PATH_FAR    10    /* part of what is measured, so far from the region as that, or so wide (a choice) */
#define PATH_FADES  0.25  /* of a wide region's waits, that what is near it has where they fade (a choice) */
#define PATH_SINGLE 0.5   /* of a single sample's waits: by how its requests lie it is slow or not ... */
#define AGAIN_LEAST 3     /* samples that were read again tell how their region does (a choice) */
#define AGAIN_PART  0.5   /* of what they lost, that must be lost again: the larger half */
#define PATH_NOW    0.005 /* ... so that this part of all else, by its time, having as many, is no chance (choices) */
#define PATH_BEFORE 5.0   /* waits that a region's rate lets expect before it: none by chance is 1 in 150 */
#define PATH_TIMES \
	5.0 /* the quiet places' waits: less may be a cluster of the way's own, which come by the zone (a choice) */
#define PATH_LOSS \
	0.2 /* that the way takes of the fastest zones, also in parts of revolutions that do not show (a choice) */
#define LOST_PART 0.5 /* of what a region loses, that its waits must hold to be what it is: the larger half */
#define ALIKE_LEAST                                                                                            \
	0.9 /* revolutions of what one is taken for, that each of alike waits takes: none as long would be one \
	       (estimate.c) ... */
#define ALIKE_MOST  1.4  /* ... and a disk that turns slower than it says has no longer ones: 7200 for 5400 ... */
#define ALIKE_SURE  0.1  /* ... where that is known so well ... */
#define ALIKE_APART 0.25 /* ... and they differ by less: half of what a mix of one and two revolutions does */
#define STEP_WAITS  7.0  /* that a region's rate lets expect in a sample that has none: by chance 1 in 1000 */
#define STEP_PART   0.5  /* of its excess, that such a one has less of: it is nearer to what lies beside it */
#define FREE_STEP                                                                                                      \
	0.30 /* log: a region that is slower by more than zones are apart (stretches.c) loses revolutions, whether all \
	        its waits show or not */
#define FREE_MOST 0.5 /* revolutions, that a wait takes at most which costs none: half of one ... */
#define FREE_APART                                                                                              \
	2.0 /* ... by samples whose waits deviate by so many: of one more or less at an end it does not tell (a \
	       choice) */

/*
 * Where what is of the same region may lie, which was not seen whole yet: some way on both sides; of a single sample up
 * to the next good ones.
 */
static void find_near(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_slows *slows,
                      const struct zone_slow *slow, double *ret_first, double *ret_end)
{
	double far = (double)(l->end_bytes - l->first_bytes) / PATH_FAR;

	*ret_first = (double)slow->first_bytes - far;
	*ret_end = (double)slow->end_bytes + far;
	for (size_t i = 0; i < samples->n && slow->sample != ZONE_NONE; i++) {
		const struct zone_sample *s = &samples->v[i];

		if (!s->is_good || zone_is_slow(slows, slow, s))
			continue;
		if (s->end_bytes <= slow->first_bytes)
			*ret_first = fmax(*ret_first, (double)s->end_bytes);
		if (s->from_bytes >= slow->end_bytes)
			*ret_end = fmin(*ret_end, (double)s->from_bytes);
	}
}

/* Do its waits hold the larger part of what it loses? What was one sample has no other reason. */
static bool is_by_its_waits(const struct zone_slow *slow, double lost_ns, double ns)
{
	return slow->sample != ZONE_NONE || lost_ns >= LOST_PART * (1.0 - exp(slow->expected_y - slow->y)) * ns;
}

/*
 * How many revolutions more than one a wait takes elsewhere, where none is slow: a disk that turns slower than it says
 * loses a little more than what it is taken for, and some of that count as two. 0 where that is not known.
 */
static double usually_more(const struct zone_samples *samples, const struct zone_slows *slows)
{
	double waits = 0.0, more = 0.0;

	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *s = &samples->v[i];
		bool is_other = s->is_good && s->kind != SAMPLE_PROBE;

		for (size_t k = 0; k < slows->n && is_other; k++)
			is_other = !zone_slow_has(&slows->v[k], s);
		waits += is_other ? s->waits : 0.0;
		more += is_other ? (double)s->wait_revs - s->waits : 0.0;
	}
	return waits >= PATH_KNOWN ? more / waits : 0.0;
}

/* By how much longer samples take where more waits are in them. */
struct length {
	double revs, se; /* of a wait */
	double apart;    /* variance of a sample about that, in revolutions */
	double differ;   /* variance of the waits of samples */
	double waits, df;
};

/* Least squares within the places of a region, time on bytes and waits; false: they tell nothing. */
static bool find_length(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_slow *slow,
                        struct length *ret)
{
	double ww = 0.0, we = 0.0, ee = 0.0;

	*ret = (struct length){ .df = -1.0 };
	for (size_t p = slow->first; p <= slow->last && p < l->npositions; p++) {
		double bb = 0.0, bw = 0.0, be = 0.0;

		for (size_t k = 0; k < 2 * samples->n; k++) {
			const struct zone_sample *s = &samples->v[k % samples->n];
			double w, e;

			if (!zone_is_usable(s) || s->position != p || !zone_slow_has(slow, s))
				continue;
			if (k < samples->n) {
				bb += s->moved_bytes * s->moved_bytes;
				bw += s->moved_bytes * s->waits;
				be += s->moved_bytes * s->elapsed_ns;
				continue;
			}
			w = s->waits - bw / bb * s->moved_bytes;
			e = (s->elapsed_ns - be / bb * s->moved_bytes) / zone_rev_ns(l);
			ww += w * w;
			we += w * e;
			ee += e * e;
			ret->waits += s->waits;
			ret->df += 1.0;
		}
		ret->df -= bb > 0.0;
	}
	if (!(ret->df > 0.0) || !(ww > 0.0))
		return false;
	ret->revs = we / ww;
	ret->apart = fmax(ee - ret->revs * we, 0.0) / ret->df;
	ret->se = sqrt(ret->apart / ww);
	ret->differ = ww / ret->df;
	return true;
}

/*
 * Are the waits of a region's samples all of one length, and not of two revolutions or more? A disk that turns slower
 * than it says has waits that count as one or as two, though each is one.
 */
static bool are_alike(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_slow *slow)
{
	struct length w;

	return find_length(samples, l, slow, &w) && w.revs > ALIKE_LEAST && w.revs < ALIKE_MOST && w.se < ALIKE_SURE &&
	       w.apart * (w.df + 1.0) < ALIKE_APART * ALIKE_APART * w.waits;
}

/*
 * Do a region's waits cost nothing? Where several arms give by turns what they read ahead one completion waits for
 * another, and the next come at once: samples with many waits take no longer than those with few.
 */
static bool is_free(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_slow *slow)
{
	struct length w;

	return slow->by_waits && slow->y - slow->expected_y < FREE_STEP && find_length(samples, l, slow, &w) &&
	       w.differ >= FREE_APART * FREE_APART && w.revs + stats_t_975(w.df) * w.se < FREE_MOST;
}

/* Was a part of what was read again kept by the drive? Beside what comes at once all else is a wait of several
 * revolutions. */
static bool is_kept(const struct zone_slow *slow, const struct zone_sample *s)
{
	for (size_t k = 0; s->kind == SAMPLE_CHECK && k < ZONE_PARTS; k++)
		if (log(s->part_ns_per_byte[k]) < slow->expected_y - ZONE_DENSITY_MAX) /* NaN is not */
			return true;
	return false;
}

/*
 * Is a sample inside a region as quick as what lies beside it, though much would be lost in it by the region's rate?
 * Requests that come one at a time fall into step with the disk, so that each loses a revolution or none does, and
 * which of both it is hangs on where a sample began; what fails does so in every sample.
 */
static bool is_by_step(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_slow *slow,
                       double revs_per_wait)
{
	double waits_per_ns = (exp(slow->y - slow->expected_y) - 1.0) / zone_rev_ns(l) / revs_per_wait;

	for (size_t i = 0; i < samples->n && slow->sample == ZONE_NONE; i++) {
		const struct zone_sample *s = &samples->v[i];

		if (zone_is_usable(s) && s->from_bytes > slow->first_bytes && s->end_bytes < slow->end_bytes &&
		    !s->waits && waits_per_ns * s->elapsed_ns >= STEP_WAITS &&
		    log(s->ns_per_byte) < slow->expected_y + STEP_PART * (slow->y - slow->expected_y))
			return true;
	}
	return false;
}

/*
 * Is most of what its samples lose not lost when their bytes are read again, in requests that begin elsewhere? Where a
 * request waits for the host at the end of a track, and so whether a revolution is lost there, may stay the same for a
 * while, if tracks and requests are about a multiple of each other.
 */
static bool is_of_requests(const struct zone_samples *samples, const struct zone_layout *l,
                           const struct zone_slow *slow)
{
	double lost = 0.0, again = 0.0;
	size_t n = 0;

	if (slow->sample != ZONE_NONE) /* its checks say so themselves */
		return false;
	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *check = &samples->v[i], *s;

		if (check->kind != SAMPLE_CHECK || check->check_of >= samples->n || !check->is_good ||
		    check->is_disturbed || is_kept(slow, check))
			continue;
		s = &samples->v[check->check_of];
		if (!s->waits || !zone_slow_has(slow, s))
			continue;
		/* What of the check's time the sample's waits would be. */
		lost += s->wait_revs * zone_rev_ns(l) / s->elapsed_ns * check->elapsed_ns;
		again += check->elapsed_ns -
		         (s->elapsed_ns - s->wait_revs * zone_rev_ns(l)) / s->moved_bytes * check->moved_bytes;
		n++;
	}
	return n >= AGAIN_LEAST && again < AGAIN_PART * lost;
}

/*
 * Is it of the first zone, which a way to the host is the first to be too slow for? Not if something lies before it
 * that loses next to nothing: a way that is too slow for a zone is so from its first byte on. waits in ns: what it has
 * itself.
 */
static bool is_of_first_zone(const struct zone_samples *samples, const struct zone_slow *slow, double waits, double ns)
{
	double before = 0.0, before_ns = 0.0;

	if (slow->first != 0 || slow->sample != ZONE_NONE)
		return false;
	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *s = &samples->v[i];

		if (!s->is_good || s->kind == SAMPLE_PROBE || s->end_bytes > slow->first_bytes)
			continue;
		before += s->waits;
		before_ns += s->elapsed_ns;
	}
	return waits * before_ns < PATH_BEFORE * ns || before * ns >= PATH_FADES * waits * before_ns;
}

/*
 * A device that has one request at a time waits for the host between them, and may lose one revolution then: how often
 * depends on how the end of a request lies to the sectors behind it, and so changes with the zones. What looks slow by
 * waits of one revolution each is no place that fails where others, which do not look slow, have as many. Nor is a wide
 * part of the disk, where quiet places have more than healthy ones and what is beside it has many: a way that loses
 * less and less from one zone to the next, or is enough from one of them on; nor what has few times as many as quiet
 * places, however narrow. A region of a disk that fails has a begin and an end. And where samples elsewhere are about
 * as slow as a single one nothing tells the disk from the way.
 */
static bool is_of_path(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_slows *slows,
                       const struct zone_slow *slow)
{
	bool is_wide = (slow->end_bytes - slow->first_bytes) * PATH_FAR >= l->end_bytes - l->first_bytes;
	bool is_first;
	double part = slow->sample == ZONE_NONE ? 1.0 : PATH_SINGLE;
	double waits = 0.0, more = 0.0, most = 0.0, ns = 0.0, all = 0.0, alike = 0.0;
	double beside = 0.0, beside_ns = 0.0, first, end;

	find_near(samples, l, slows, slow, &first, &end);
	for (size_t i = 0; i < samples->n; i++)
		if (samples->v[i].is_good && zone_slow_has(slow, &samples->v[i]) && !is_kept(slow, &samples->v[i])) {
			double longer = (double)samples->v[i].wait_revs - samples->v[i].waits;

			waits += samples->v[i].waits;
			more += longer;
			most = fmax(most, longer);
			ns += samples->v[i].elapsed_ns;
		}
	is_first = is_of_first_zone(samples, slow, waits, ns);
	/* One sample in which a wait took longer is chance. */
	if (more - most > (PATH_ONCE * (1.0 + usually_more(samples, slows)) - 1.0) * waits &&
	    !are_alike(samples, l, slow))
		return false;
	if (waits > 0.0 && is_first && 1.0 - exp(slow->expected_y - slow->y) < PATH_LOSS)
		return true;
	if (is_of_requests(samples, l, slow))
		return true;
	if (is_by_step(samples, l, slow, waits > 0.0 ? 1.0 + more / waits : 1.0))
		return true;
	if (!is_by_its_waits(slow, (waits + more) * zone_rev_ns(l), ns))
		return false;
	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *s = &samples->v[i];
		bool is_near = (double)s->from_bytes < end && (double)s->end_bytes > first;

		if (!s->is_good || s->kind == SAMPLE_PROBE)
			continue;
		if (is_near && !zone_slow_has(slow, s)) {
			beside += s->waits;
			beside_ns += s->elapsed_ns;
		}
		if (is_near || zone_touches_slow(slows, s))
			continue;
		all += s->elapsed_ns;
		alike += s->waits && s->waits * ns >= part * waits * s->elapsed_ns ? s->elapsed_ns : 0.0;
	}
	if (is_first)
		return true;
	is_wide |= waits * zone_rev_ns(l) < PATH_TIMES * slows->quiet_waits * ns;
	if (is_wide && slows->quiet_waits >= ZONE_LOSES && beside * ns >= PATH_FADES * waits * beside_ns)
		return true;
	return alike > 0.0 && alike >= (slow->sample == ZONE_NONE ? PATH_PART : PATH_NOW) * all;
}

void zone_slows_leave_to_path(const struct zone_samples *samples, const struct zone_layout *l, struct zone_slows *slows)
{
	for (size_t i = 0; l->is_one_at_a_time && i < slows->n; i++)
		slows->v[i].is_of_path = is_of_path(samples, l, slows, &slows->v[i]);
	for (size_t i = 0; i < slows->n; i++)
		slows->v[i].is_confirmed =
			slows->v[i].is_confirmed && !slows->v[i].is_of_path && !is_free(samples, l, &slows->v[i]);
}
