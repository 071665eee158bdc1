/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the media would have taken for the reads of a span that the drive's cache answered. Leaving them out would bias
 * the rest in two ways.
 *
 * Those just behind the read before have passed the head while the command was on its way, and the drive reads ahead:
 * it answers them from its cache, or as soon as it looks at the command. The media would have had them a revolution
 * later, the longest wait of all. Where they lie is known: nearer than passes in the overhead of a command. They count
 * as that revolution.
 *
 * The others lie where the drive has read before. They are read again after reads elsewhere that make the cache forget
 * the span, each behind the read that it followed. So are those that followed a hit: the head was not where the hit
 * lay. Those that there is no time for count as one that was read again, chosen by chance (hot deck; the interval knows
 * of it).
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/seek/seek.h"

#define TRACK_MOST    4e6  /* bytes: no track has more (285 MB/s at 7200 rpm are 2.4) */
#define FEW_HITS      0.01 /* of the reads: left out (half a revolution each: below the precision) */
#define AGAIN_MOST    0.02 /* of the reads: a cache that has more of them even then hides the media (a choice) */
#define AGAIN_LEAST   10   /* read again at least: fewer do not show how many the cache still has (a choice) */
#define LEFT_MOST     0.1  /* of the reads: a choice; so few add 5 % of a revolution to the interval */
#define UNSTORED_MOST 0.8  /* of the reads: beyond, late ones of them outnumber the media's */
#define FUA_WRONG     0.01 /* of a revolution, standard error: of simulated drives that read ahead meanwhile */
#define LEFT_WRONG    0.25 /* of a revolution, standard error: those just passed take half of one more */

/* Those that are wanted again, and what came of it. */
struct again {
	size_t *index, nwanted;
	size_t tried, hits; /* hits: the cache had it even then */
	double *v;
	size_t *of; /* index of the read that each is of */
	size_t n;
};

/* It does not show it the media's time from the place before. */
static bool is_wanted_again(const struct seek_read *r)
{
	return !r->is_passed && (r->is_hit || r->is_behind_hit);
}

/* Just behind the read before, and the media's time is not known, or too short: the drive had read ahead. */
static bool is_quick_ahead(const struct seek_run *s, const struct seek_read *r, double most_bytes)
{
	return r->before && r->offset >= r->before && (double)(r->offset - r->before) < most_bytes &&
	       (is_wanted_again(r) || r->ns < s->known.places.period_ns / 2.0);
}

/* Rates and overhead, where some read needs them. Not where only random reads are wanted, and few. */
static int learn_media(struct seek_run *s, const struct seek_read *reads, size_t n, struct err *err)
{
	if (strs_list_have(&s->p->without, "curve") && s->p->quick)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (is_quick_ahead(s, &reads[i], TRACK_MOST))
			return seek_media(s, err);
	return 0;
}

/* Those that had passed get the time that the media would have taken. */
static void add_revolutions(const struct seek_run *s, struct seek_read *reads, size_t n)
{
	const struct seek_places *p = &s->known.places;
	double size = (double)p->size_bytes, track, passing;

	if (!s->has_overhead || !isfinite(s->known.overhead.ns))
		return;
	for (size_t i = 0; i < n; i++) {
		track = seek_track_at(p, (double)reads[i].offset / size);
		passing = track * s->known.overhead.ns / s->known.places.period_ns;
		if (!is_quick_ahead(s, &reads[i], passing))
			continue;
		reads[i].ns = s->known.places.period_ns *
		              (1.0 + (double)(reads[i].offset - reads[i].before + s->t.block_bytes) / track);
		reads[i].is_passed = true;
	}
}

/* Elsewhere until it is forgotten, where no FUA makes that needless, the place before, and the place itself. */
static int read_again(struct seek_run *s, const struct seek_read *read, uint64_t first, uint64_t end, double *ret_ns,
                      struct err *err)
{
	const uint64_t offsets[2] = { read->before - s->t.block_bytes, read->offset };
	double access[2] = { NAN, NAN };
	int r = timed_forget(&s->t, &s->rot, first, end, err);

	if (r == 0)
		r = timed_media_reads(&s->t, offsets, 2, access, NULL, err);
	*ret_ns = r == 0 && isfinite(access[0]) ? access[1] : (double)NAN;
	return r;
}

/* A time like a hit's is not a hit's by that, as the cache has forgotten the place, unless the drive read ahead from
 * the one before. */
static void take_again(const struct seek_run *s, struct again *a, const struct seek_read *read, size_t index, double ns)
{
	bool is_hit = timed_is_hit(&s->rot.hits, ns);

	a->hits += is_hit;
	if (!is_hit || !is_quick_ahead(s, read, TRACK_MOST)) {
		a->of[a->n] = index;
		a->v[a->n++] = ns;
	}
}

/* As many of them as there is time for, in random order. */
static int measure_again(struct seek_run *s, const struct seek_read *reads, const struct seek_where *where,
                         struct again *a, struct err *err)
{
	uint64_t start = clock_now_ns(s->ses->env->clk), key = rng_u64(&s->t.rng), spent = 0;
	struct stop stop;
	int r = 0;

	stop_init(&stop, session_precision(s->ses) * (double)where->nreads / (double)a->nwanted, AGAIN_LEAST);
	while (r == 0 && a->tried < a->nwanted && !seek_is_over(s) &&
	       (spent < where->budget_ns || a->n < AGAIN_LEAST) && !stop_check(&stop, a->v, a->n)) {
		size_t index = a->index[permute(a->tried++, a->nwanted, key)];
		const struct seek_read *read = &reads[index];
		double ns = NAN;

		if (read->before)
			r = read_again(s, read, where->first, where->end, &ns, err);
		if (r == 0 && isfinite(ns))
			take_again(s, a, read, index, ns);
		if (a->tried >= 2 * AGAIN_LEAST && a->n < a->tried / 2)
			break; /* no use */
		spent = clock_now_ns(s->ses->env->clk) - start;
	}
	return r;
}

/* What the choice of those that were read again adds to the error of the mean. */
static double choice_se(const struct again *a, size_t n)
{
	struct summary sum;

	if (a->n < 2 || a->n >= a->nwanted || !summary_of(a->v, a->n, &sum))
		return 0.0;
	return (double)a->nwanted / (double)n * sum.stddev * sqrt(1.0 / (double)a->n - 1.0 / (double)a->nwanted);
}

/* Of all reads: those of which nobody knows what the media would have taken. */
static double unknown_part(const struct seek_run *s, const struct again *a, size_t n)
{
	double part = n ? (double)a->nwanted / (double)n : 1.0, by_chance;

	if (!s->rot.is_rotating) /* no media that others would have to wait for */
		return part > 0.5 ? part : 0.0;
	/* Media's times are spread over a revolution, so some look like hits; and chance may double them. */
	by_chance = isfinite(s->rot.hits.ns) ? 4.0 * s->rot.hits.width_ns / s->known.places.period_ns : 0.0;
	if (a->n >= AGAIN_LEAST || (a->n && a->tried == a->nwanted))
		part *= fmax((double)a->hits / (double)a->tried - by_chance, 0.0);
	return part;
}

/* To have the drive forget what is wanted again takes longer than there is time for. */
static bool is_dear(const struct seek_run *s, const struct seek_where *where)
{
	return s->rot.forget_ns * AGAIN_LEAST >= 1.2 * (double)where->budget_ns;
}

/* Few are left out where it is dear to read them again; all that lie where nothing was ever stored. What that makes
 * wrong is in the interval. */
static void leave_out(const struct seek_run *s, struct seek_uncached *ret)
{
	if (s->known.is_patchy) {
		ret->unknown = ret->unknown <= UNSTORED_MOST ? 0.0 : ret->unknown;
	} else if (ret->unknown <= LEFT_MOST) {
		ret->extra_se = hypot(ret->extra_se, LEFT_WRONG * s->known.places.period_ns * ret->unknown);
		ret->unknown = 0.0;
	}
}

/* All times in order, with one of those read again for each that was to be; and the media's own. */
static void sum_up(struct seek_run *s, const struct seek_read *reads, size_t n, const struct again *a,
                   struct seek_uncached *ret)
{
	size_t next = a->n ? (size_t)rng_below(&s->t.rng, a->n) : 0;

	for (size_t i = 0; i < a->n; i++) {
		ret->again[i] = reads[a->of[i]];
		ret->again[i].ns = a->v[i];
	}
	for (size_t i = 0; i < n; i++) {
		if (!is_wanted_again(&reads[i])) {
			ret->of[ret->n] = &reads[i];
			ret->v[ret->n++] = reads[i].ns;
		} else if (a->n) {
			ret->of[ret->n] = &ret->again[next % a->n];
			ret->v[ret->n++] = a->v[next++ % a->n];
		}
		if (!is_wanted_again(&reads[i]) && !reads[i].is_passed)
			ret->measured[ret->nmeasured++] = &reads[i];
	}
	for (size_t i = 0; i < a->n; i++)
		ret->measured[ret->nmeasured++] = &ret->again[i];
	ret->extra_se = choice_se(a, n);
	if (s->t.fua && a->n)
		ret->extra_se =
			hypot(ret->extra_se, FUA_WRONG * s->known.places.period_ns * (double)a->nwanted / (double)n);
	ret->unknown = unknown_part(s, a, n);
}

int seek_uncached(struct seek_run *s, struct seek_read *reads, const struct seek_where *where,
                  struct seek_uncached *ret, struct err *err)
{
	size_t n = where->nreads;
	cleanup_free size_t *index = xcalloc(n + 1, sizeof(*index)), *of = xcalloc(n + 1, sizeof(*of));
	cleanup_free double *v = xcalloc(n + 1, sizeof(*v));
	struct again a = { .index = index, .v = v, .of = of };
	int r = 0;

	*ret = (struct seek_uncached){ .v = xcalloc(n + 1, sizeof(double)),
		                       .of = xcalloc(n + 1, sizeof(const struct seek_read *)),
		                       .again = xcalloc(n + 1, sizeof(struct seek_read)),
		                       .measured = xcalloc(n + 1, sizeof(const struct seek_read *)) };
	if (s->rot.is_rotating) {
		r = learn_media(s, reads, n, err);
		add_revolutions(s, reads, n);
	}
	for (size_t i = 0; i < n; i++)
		if (is_wanted_again(&reads[i]))
			index[a.nwanted++] = i;
	if (r == 0 && s->rot.is_rotating && (double)a.nwanted > FEW_HITS * (double)n && !is_dear(s, where) &&
	    !s->known.is_patchy)
		r = measure_again(s, reads, where, &a, err);
	if (r == 0)
		sum_up(s, reads, n, &a, ret);
	if (r == 0 && s->rot.is_rotating && (is_dear(s, where) || s->known.is_patchy))
		leave_out(s, ret);
	return r;
}

static size_t own(const struct seek_read **v, size_t n)
{
	size_t m = 0;

	for (size_t i = 0; i < n; i++)
		if (!v[i]->is_shared)
			v[m++] = v[i];
	return m;
}

void seek_uncached_own(struct seek_uncached *u)
{
	u->n = own(u->of, u->n);
	u->nmeasured = own(u->measured, u->nmeasured);
	for (size_t i = 0; i < u->n; i++)
		u->v[i] = u->of[i]->ns;
}

void seek_uncached_done(struct seek_uncached *u)
{
	free(u->v);
	free(u->of);
	free(u->again);
	free(u->measured);
	*u = (struct seek_uncached){ .v = NULL };
}

bool seek_is_uncached(const struct seek_uncached *u)
{
	return u->n && u->unknown <= AGAIN_MOST;
}
