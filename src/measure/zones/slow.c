/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slow regions: parts of the disk where samples lose revolutions more often than elsewhere (model/lossy.h).
 *
 * A disk that fails tries again and loses whole revolutions. Mostly that shows as waits inside a sample (estimate.c);
 * in requests of a revolution and more it does not. There a sample loses what it takes longer than the fastest place
 * behind it, for no disk gets faster from its first byte to its last. A surface or a zone of less density loses none.
 *
 * A region is slower than what lies beside it, and slow whenever it is read: what others read, a busy host or a
 * recalibration slows down what is read for a while, wherever it lies. Of a volume over several disks nothing is
 * reported: one waits for the other.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"
#include "model/lossy.h"

#define WAITS_SLOW    0.03 /* more than the usual: what is looked for; 3 % of the rate */
#define REVS_PER_WAIT 3.0  /* that count, at most: retries take one or two, more are a freeze of disk or host; ... */
#define TIMES_USUAL   2.0  /* ... or as many times what a wait usually takes there */
#define FROM_BUFFER   1.2  /* times the fastest of all that was read once: that comes out of the buffer */
#define LOST_LEAST                                                                                                     \
	5.0 /* waits, or revolutions without any, at different bytes: fewer are spare tracks in it (trial: wild disks) \
	     */
#define LEAST_SHARE  0.07 /* of its time that a region loses: less is not reported (a choice) */
#define LOST_MAX     0.95 /* more cannot be: some of the time was spent on reading */
#define BORDER_REVS  80.0 /* that give the level beside a border: to 0.2 % where a track scatters by 2 % */
#define STEP_PART    0.5  /* of what it loses, that it is slower than what lies beside it: the larger half */
#define LEVEL_SIGMAS 5.0  /* of the difference of two places; tails are heavier than the normal law's */
#define LEVEL_ENOUGH 0.5  /* log; a third of the rate is gone: slow, whatever the noise */
#define RETRY_REVS                                                                                                     \
	0.6 /* lost per request, at least, where every request loses one and no wait stands out; half of one is what a \
	       request may take */
#define WAITS_PART  0.5 /* of what it takes longer, that its waits must hold: the larger half */
#define SINGLE_REVS 6.0 /* that a usual sample must have for one to be reported alone: one more or less is a sixth */
#define OTHERWISE   1.0 /* log of the odds by other requests, 3 to 1: few ways lose so at one place alone */
#define ROUNDS      2   /* of asking: what is sure says nothing of times when others are read (a choice) */

struct series {                             /* samples in order of place */
	const struct zone_samples *samples; /* in order of time */
	const struct zone_layout *l;
	const struct zone_sample **s;
	struct lossy_at *at, *each; /* of these; of all samples, no revolutions: it says nothing */
	struct lossy_part *part;
	size_t n, nparts;
	double rev_ns;
};

/* Also of bytes that were read again. */
static size_t position_of(const struct zone_samples *samples, const struct zone_sample *s)
{
	return s->kind == SAMPLE_CHECK ? samples->v[s->check_of].position : s->position;
}

/* May it be one of a region, or say that there is none? least: time per byte of the fastest that was read once. */
static bool is_of_media(const struct zone_sample *s, size_t position, const struct zone_stretches *st, double least)
{
	return s->is_good && !s->is_burst && !s->is_disturbed && s->kind != SAMPLE_PROBE &&
	       !zone_is_at_interface(st, position) && (s->kind != SAMPLE_CHECK || s->ns_per_byte * FROM_BUFFER > least);
}

static int by_place(const void *a, const void *b)
{
	const struct zone_sample *const *x = a, *const *y = b;

	return (*x)->from_bytes < (*y)->from_bytes ? -1 : (*x)->from_bytes > (*y)->from_bytes;
}

/* What is slow by its level, whatever it loses. */
static double threshold_of(const struct zone_levels *lv)
{
	cleanup_free double *se = xcalloc(lv->n + 1, sizeof(*se));
	size_t n = 0;

	for (size_t p = 0; p < lv->n; p++)
		if (lv->v[p].n && isfinite(lv->v[p].half))
			se[n++] = lv->v[p].half / 1.96;
	return fmax(ZONE_DENSITY_MAX, n ? fmin(LEVEL_SIGMAS * M_SQRT2 * stats_median(se, n), LEVEL_ENOUGH) : 0.0);
}

/* The level of the fastest place behind a byte that is known well; infinity: there is none. */
static double fastest_behind(const struct zone_layout *l, const struct zone_levels *lv, const struct zone_stretches *st,
                             uint64_t at, double threshold)
{
	double best = INFINITY;

	for (size_t p = lv->n; lv->n >= ZONE_BESIDE && p-- > 0 && l->positions[p].cell_bytes > at;)
		if (lv->v[p].n && !zone_is_at_interface(st, p) && lv->v[p].half / 1.96 <= threshold / LEVEL_SIGMAS)
			best = fmin(best, lv->v[p].y);
	return best;
}

/* What it takes longer than what lies behind, in revolutions; 0: its waits hold the larger half of it. */
static double hidden_revs(const struct zone_sample *s, double behind, double threshold, double rev_ns)
{
	double more = (s->elapsed_ns - exp(behind) * s->moved_bytes) / rev_ns;

	return log(s->ns_per_byte) - behind > threshold && s->wait_revs < WAITS_PART * more ? more : 0.0;
}

/* Lost by its waits; or by what it takes longer, where each request loses one and no wait stands out. Bytes that are
 * read again (of: that sample) lose in the same way. */
static struct lossy_at lost_in(const struct zone_sample *s, const struct zone_sample *of, double behind,
                               double threshold, const struct zone_layout *l)
{
	double rev_ns = zone_rev_ns(l), hidden = hidden_revs(s, behind, threshold, rev_ns);
	double request = of->request_bytes ? of->request_bytes : l->request_bytes; /* old documents have none */

	/* Each piece of a request that is cut on the way may lose one. */
	if (hidden > 0.0 && !zone_is_cut(l) &&
	    hidden_revs(of, behind, threshold, rev_ns) * request >= RETRY_REVS * of->moved_bytes)
		return (struct lossy_at){ hidden, s->elapsed_ns / rev_ns - hidden };
	return (struct lossy_at){ s->waits,
		                  (s->elapsed_ns - fmin(s->wait_revs * rev_ns, LOST_MAX * s->elapsed_ns)) / rev_ns };
}

struct sum {
	double ns, bytes, lost_ns;
};

/* most: revolutions of a wait that count. */
static void add(const struct series *v, size_t i, double most, struct sum *to)
{
	double lost = fmax(fmin(v->s[i]->wait_revs, most * v->s[i]->waits), v->at[i].lost);

	to->ns += (v->at[i].revs + lost) * v->rev_ns;
	to->bytes += v->s[i]->moved_bytes;
	to->lost_ns += lost * v->rev_ns;
}

/* Level of the samples of [first, end) from `from` on, upwards or downwards, that are BORDER_REVS; NaN: there are none.
 */
static double level_from(const struct series *v, size_t first, size_t end, size_t from, int way)
{
	struct sum sum = { 0 };

	for (size_t i = from; i >= first && i < end && sum.ns < BORDER_REVS * v->rev_ns; i += (size_t)way)
		add(v, i, REVS_PER_WAIT, &sum);
	return sum.bytes > 0.0 ? log(sum.ns / sum.bytes) : (double)NAN;
}

static double usual_wait(const struct series *v, size_t a, size_t b)
{
	cleanup_free double *revs = xcalloc(b - a, sizeof(*revs));
	size_t n = 0;

	for (size_t i = a; i < b; i++)
		if (v->s[i]->waits)
			revs[n++] = (double)v->s[i]->wait_revs / v->s[i]->waits;
	return n ? stats_median(revs, n) : 0.0;
}

/*
 * Level, and what it would be without what is lost. Part of that shows in no wait: a revolution counts only when nearly
 * all of it is between two requests. What lies beside shows that part, on both sides free of the slope of the disk; and
 * a place that loses revolutions, but is hardly slower than what lies beside it, is not a slow one.
 */
static bool fill_levels(const struct series *v, const struct lossy_part *part, size_t a, size_t b,
                        struct zone_slow *ret)
{
	double above = part->first ? level_from(v, 0, part->first, part->first - 1, -1) : (double)NAN;
	double below = level_from(v, part->last + 1, v->n, part->last + 1, 1);
	double beside = isnan(above) ? below : isnan(below) ? above : 0.5 * (above + below);
	double most;
	struct sum sum = { 0 };

	most = fmax(REVS_PER_WAIT, TIMES_USUAL * usual_wait(v, a, b));
	for (size_t i = a; i < b; i++)
		add(v, i, most, &sum);
	ret->y = log(sum.ns / sum.bytes);
	sum.lost_ns = fmax(sum.lost_ns, (1.0 - exp(0.5 * (above + below) - ret->y)) * sum.ns); /* NaN is left out */
	ret->expected_y = log((sum.ns - sum.lost_ns) / sum.bytes);
	return sum.lost_ns >= LEAST_SHARE * sum.ns && !(ret->y - beside < STEP_PART * (ret->y - ret->expected_y));
}

/* ---- place or time ---- */

/* Of the requests that it was read again in: 1: half of its own, 2: more (looks.c); 0: it was not. */
static unsigned size_of(const struct zone_samples *samples, const struct zone_sample *s)
{
	if (s->kind != SAMPLE_CHECK)
		return 0;
	return s->request_bytes > samples->v[s->check_of].request_bytes / 2 ? 2 : 1;
}

/* Is it the place, by all times when it was read? Fills what follows from it. */
static void ask_place(const struct series *v, const struct zone_slows *all, struct zone_slow *slow)
{
	cleanup_free struct lossy_look *look = xcalloc(v->samples->n + 1, sizeof(*look));
	double longer = 0.0, checks = 0.0;
	struct lossy_odds odds;
	size_t n = 0;

	for (size_t i = 0; i < v->samples->n; i++) {
		const struct zone_sample *s = &v->samples->v[i];

		if (!(v->each[i].revs > 0.0))
			continue;
		if (s->kind == SAMPLE_CHECK && zone_slow_has(slow, s)) {
			longer += log(s->ns_per_byte / v->samples->v[s->check_of].ns_per_byte);
			checks++;
		}
		look[n++] = (struct lossy_look){ v->each[i], zone_slow_has(slow, s),
			                         zone_touches_slow(all, s, s->kind != SAMPLE_CHECK),
			                         size_of(v->samples, s) };
	}
	odds = lossy_place(look, n, WAITS_SLOW);
	slow->is_confirmed = odds.place > LOSSY_SURE && odds.otherwise > OTHERWISE;
	/* The media lose as much in any requests; the way loses with each of them, and small ones are more. */
	slow->is_refuted = odds.evidence < 0.0 || odds.otherwise < -LOSSY_SURE ||
	                   longer > STEP_PART * (slow->y - slow->expected_y) * checks;
	slow->is_confirmed &= !slow->is_refuted;
}

/* ---- regions ---- */

/* Of samples [a, b), of the part. false: it is none. */
static bool fill_region(const struct series *v, const struct lossy_part *part, size_t a, size_t b,
                        struct zone_slow *ret)
{
	struct zone_slow slow = { .first = ZONE_NONE, .is_confirmed = ret->is_confirmed };
	double lost = 0.0;

	slow.first_bytes = v->s[a]->from_bytes;
	for (size_t i = a; i < b; i++) {
		const struct zone_sample *s = v->s[i];

		slow.end_bytes = s->end_bytes > slow.end_bytes ? s->end_bytes : slow.end_bytes;
		slow.readings++;
		lost += v->at[i].lost;
		if (s->position == ZONE_NONE || s->kind == SAMPLE_EDGE) /* an edge has that of the region it was for */
			continue;
		slow.first = slow.first == ZONE_NONE ? s->position : slow.first;
		slow.last = s->position;
	}
	if (slow.first == ZONE_NONE || lost < LOST_LEAST || !fill_levels(v, part, a, b, &slow))
		return false;
	if (v->l->npositions < ZONE_BESIDE && slow.first != slow.last) /* few say nothing of what lies between */
		return false;
	*ret = slow;
	return true;
}

/* Asks of all parts whether they are regions: in rounds, for what is one says nothing of times when others were read.
 */
static void find_regions(const struct series *v, struct zone_slows *ret)
{
	cleanup_free const struct lossy_part **of = xcalloc(v->nparts + 1, sizeof(const struct lossy_part *));
	size_t n = 0;

	for (size_t i = 0; i < v->nparts; i++) {
		of[ret->n] = &v->part[i];
		ret->v[ret->n].is_confirmed = of[ret->n]->log_odds > LOSSY_SURE;
		ret->n += fill_region(v, of[ret->n], of[ret->n]->first, of[ret->n]->last + 1, &ret->v[ret->n]);
	}
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < ret->n; i++)
			ask_place(v, ret, &ret->v[i]);
	for (size_t i = 0; i < ret->n; i++) {
		struct zone_slow *slow = &ret->v[i];

		if (slow->is_refuted)
			continue;
		if (slow->is_confirmed) /* where too little of it is sure, the likeliest */
			(void)fill_region(v, of[i], of[i]->sure_first, of[i]->sure_last + 1, slow);
		ret->v[n++] = *slow;
	}
	ret->n = n;
}

static double usual_revs(const struct series *v)
{
	cleanup_free double *revs = xcalloc(v->n + 1, sizeof(*revs));

	for (size_t i = 0; i < v->n; i++)
		revs[i] = v->at[i].revs;
	return v->n ? stats_median(revs, v->n) : 0.0;
}

/*
 * What a region of one usual sample must lose of its time to be reported: one revolution more than make it a suspect,
 * for how many fall into a sample is uncertain by one. 1: none is reported, for samples are too short, or of several
 * disks.
 */
static double least_loss(const struct series *v, double usual, double single)
{
	double lost = fmax(single, LOST_LEAST) + 1.0;

	return usual >= SINGLE_REVS && !v->l->has_members ? lost / (lost + usual) : 1.0;
}

void zone_slows_find(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_levels *lv,
                     const struct zone_stretches *st, struct zone_slows *ret)
{
	cleanup_free const struct zone_sample **s = xcalloc(samples->n + 1, sizeof(const struct zone_sample *));
	cleanup_free struct lossy_at *at = xcalloc(samples->n + 1, sizeof(*at));
	cleanup_free struct lossy_at *each = xcalloc(samples->n + 1, sizeof(*each));
	cleanup_free struct lossy_part *part = xcalloc(samples->n + 1, sizeof(*part));
	struct series v = {
		.samples = samples, .l = l, .s = s, .at = at, .each = each, .part = part, .rev_ns = zone_rev_ns(l)
	};
	double threshold, usual, single, quickest = INFINITY;

	*ret = (struct zone_slows){ .v = xcalloc(samples->n + 1, sizeof(*ret->v)), .least_loss = NAN };
	if (!(v.rev_ns > 0.0))
		return;
	threshold = threshold_of(lv);
	for (size_t i = 0; i < samples->n; i++)
		if (zone_is_usable(&samples->v[i]))
			quickest = fmin(quickest, samples->v[i].ns_per_byte);
	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *z = &samples->v[i];

		if (!is_of_media(z, position_of(samples, z), st, quickest))
			continue;
		each[i] = lost_in(z, z->kind == SAMPLE_CHECK ? &samples->v[z->check_of] : z,
		                  fastest_behind(l, lv, st, z->from_bytes, threshold), threshold, l);
		if (z->kind != SAMPLE_CHECK) /* the same bytes lose the same again: no more of them do */
			s[v.n++] = z;
	}
	qsort(s, v.n, sizeof(const struct zone_sample *), by_place);
	for (size_t i = 0; i < v.n; i++)
		at[i] = each[s[i] - samples->v];
	usual = usual_revs(&v);
	v.nparts = lossy_find(at, v.n, WAITS_SLOW, usual, part, &single);
	ret->least_loss = least_loss(&v, usual, single);
	if (l->has_members)
		return;
	find_regions(&v, ret);
}

bool zone_is_in_slow(const struct zone_slows *slows, size_t position, bool is_confirmed)
{
	for (size_t i = 0; i < slows->n; i++) {
		const struct zone_slow *s = &slows->v[i];

		if ((s->is_confirmed || !is_confirmed) && position >= s->first && position <= s->last)
			return true;
	}
	return false;
}

bool zone_touches_slow(const struct zone_slows *slows, const struct zone_sample *s, bool is_confirmed)
{
	for (size_t i = 0; i < slows->n; i++)
		if ((slows->v[i].is_confirmed || !is_confirmed) && zone_slow_has(&slows->v[i], s))
			return true;
	return false;
}
