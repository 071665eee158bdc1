/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A visit of a place, the order in which a pass visits them, the time for it, what comes before the first pass, and
 * behind the last: samples where the passes did not suffice, and bytes that are read again to see whether what they
 * showed is of the place. */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "measure/shared/link.h"
#include "measure/zones/zones.h"

#define FAULT_TRIES 2 /* more windows after a fault, in the same visit (a choice) */
#define OWN_TIMES                                                                                           \
	2.0 /* a place's rate: zones of one disk differ by less (the end of one is 0.4 to 0.6 of its start) \
	     */

/* Of all samples so far; infinite: there is none. */
static double slowest(const struct zone_target *t)
{
	double least = INFINITY;

	for (size_t i = 0; i < t->samples.n; i++)
		if (t->samples.v[i].is_good)
			least = fmin(least, 1e9 / t->samples.v[i].ns_per_byte);
	return least;
}

/*
 * What a place will be read at, at most: few places lie zones apart, and one of them may not be stored at all, so what
 * was read last says little of this one. Of one that is new it says no more than the slowest does. (Written, a cache
 * takes in what is short.)
 */
static double expected_rate(const struct zones_run *run, const struct zone_target *t, size_t position)
{
	double own = t->layout.positions[position].bytes_per_s;

	if (!run->p->places || (own <= 0.0 && (run->p->write || run->p->rewrite)))
		return t->bytes_per_s;
	return fmin(t->bytes_per_s, own > 0.0 ? OWN_TIMES * own : slowest(t));
}

static int sample_window(struct zones_run *run, struct zone_target *t, size_t position, enum sample_kind kind,
                         uint32_t pass, const struct zone_sample **ret, struct err *err)
{
	enum zone_class class = t->layout.positions[position].class;
	struct zone_sample how = { .position = position, .kind = kind, .pass = pass };
	uint64_t bytes = zone_sample_bytes(&t->layout, run->p, class, expected_rate(run, t, position));

	*ret = NULL;
	if (!zone_take_window(&t->layout, position, bytes, &t->rng, &how.first_bytes, &how.end_bytes))
		return 0;
	return zone_sample_take(run, t, &how, ret, err);
}

/* One sample at a position; after a fault, or when this program did not run meanwhile, beside it. */
int zone_visit(struct zones_run *run, struct zone_target *t, size_t position, enum sample_kind kind, uint32_t pass,
               struct err *err)
{
	for (int try = 0; try <= FAULT_TRIES; try++) {
		const struct zone_sample *s;
		int r = sample_window(run, t, position, kind, pass, &s, err);

		if (r < 0 || !s || !(s->has_fault || (!s->is_good && s->is_disturbed)) || session_is_over(run->ses))
			return r;
	}
	return 0;
}

/*
 * Positions in the order of a pass: upward, downward, then shuffled; of few places, which are far from each other,
 * upward and downward by turns. Those of the figures come once more at the end, the middle first: right after a sample
 * at the same place the drive would have read ahead into the next one.
 */
size_t zone_order_pass(const struct zones_run *run, struct zone_target *t, uint32_t pass, size_t *order)
{
	bool is_down = run->p->places ? pass % 2 : pass == 1;
	size_t n = 0;

	for (size_t i = 0; i < t->layout.npositions; i++)
		order[n++] = is_down ? t->layout.npositions - 1 - i : i;
	if (pass > 1 && !run->p->places)
		rng_shuffle(&t->rng, order, n);
	for (size_t i = 0; i < t->layout.npositions; i++) {
		size_t k = (t->layout.npositions / 2 + i) % t->layout.npositions;

		if (zone_visits(run->p, t->layout.positions[k].class) > 1)
			order[n++] = k;
	}
	return n;
}

#define OWN_LIMIT_NS   (110 * NS_PER_S) /* the curve takes less than two minutes of every profile (a choice) */
#define QUICK_LIMIT_NS (26 * NS_PER_S)  /* with --quick less than half a minute (a choice) */
#define PLACES_LIMIT_NS                                                                                           \
	(29 * NS_PER_S / 10) /* with --zones: three figures in three seconds, and the last sample may be a little \
	                        longer than others */

/* Time left for this target: of the budget that was given, its share; else of its own. */
bool zones_has_time(const struct zones_run *run, struct zone_target *t, bool is_extra)
{
	/* Few samples: one more has to fit in, as long as those so far were. */
	uint64_t own = run->p->places  ? PLACES_LIMIT_NS * t->samples.n / (t->samples.n + 1)
	               : run->p->quick ? QUICK_LIMIT_NS
	                               : OWN_LIMIT_NS;
	uint64_t used = clock_now_ns(run->ses->env->clk) - t->start_ns;

	if (run->ses->common->time_ns)
		own = t->limit_ns;
	else if (!is_extra)
		return true; /* the passes are always made */
	if (used < own)
		return true;
	t->is_out_of_time = true;
	return false;
}

void zones_show(struct zones_run *run, const struct zone_target *t, const char *phase, double part)
{
	char rate[32];

	session_progress(run->ses, phase, ((double)(t - run->targets) + part) / (double)run->ntargets, "%s",
	                 units_rate(rate, sizeof(rate), t->bytes_per_s));
}

void zones_renew(struct zones_run *run, struct zone_target *t)
{
	zone_analyse(t);
	zones_report(run, false);
	session_checkpoint(run->ses);
}

/*
 * How fast the disk is nobody knows yet. As many bytes as a quick one gives in some revolutions take an old one a
 * second, of the three that few places have: there requests are those of the guess, and as much is read as that time
 * gives (sample.c).
 */
static int first_sample(struct zones_run *run, struct zone_target *t, const struct zone_sample **ret, struct err *err)
{
	struct zone_sample how = { .position = t->layout.npositions / 4, .kind = SAMPLE_PROBE };
	uint32_t block = t->layout.block_bytes;
	uint64_t most = (uint64_t)ZONE_TWICE_DEPTH * block;
	uint64_t bytes = zone_sample_bytes(&t->layout, run->p, t->layout.positions[how.position].class, t->bytes_per_s);
	int r = 0;

	*ret = NULL;
	if (run->p->places && !run->p->write && !run->p->rewrite)
		zone_layout_refine(&t->layout, run->p, t->bytes_per_s);
	if (zone_take_window(&t->layout, how.position, bytes < most ? bytes : most, &t->rng, &how.first_bytes,
	                     &how.end_bytes))
		r = zone_sample_take(run, t, &how, ret, err);
	t->layout.block_bytes = t->layout.coarse_bytes = block;
	return r;
}

int zone_probe(struct zones_run *run, struct zone_target *t, struct err *err)
{
	uint64_t before_ns = clock_now_ns(run->ses->env->clk), took_ns;
	const struct zone_sample *s;
	char took[32];
	int r;

	t->bytes_per_s = zone_guess_rate(t->dev);
	t->layout.interface_bytes_per_s = t->byte_ns = t->request_ns = NAN;
	r = first_sample(run, t, &s, err);
	took_ns = clock_now_ns(run->ses->env->clk) - before_ns;
	/* More than all that it read takes at its rate, which may be low. */
	if (r == 0 && s && s->is_good &&
	    (double)took_ns > fmax(s->whole.bytes, s->moved_bytes) * s->ns_per_byte + 2e9) {
		result_notice(run->res, "spin-up", "The first read of %s took %s: it was asleep. That is not counted.",
		              t->dev->path, units_time(took, sizeof(took), took_ns));
		if (!run->ses->common->time_ns)
			t->start_ns = clock_now_ns(run->ses->env->clk);
	}
	if (r < 0 || !s || !s->is_good || session_is_over(run->ses))
		return r;
	if (run->p->write || run->p->rewrite)
		return t->layout.rev_ns == 0.0 ? 0 : zone_outlast(run, t, s->first_bytes, err);
	r = zone_interface_measure(run, t, s->first_bytes, err);
	/* Where the interface is the limit each request costs its own time: there they stay large, and the media's
	 * waits are hidden anyway. */
	if (!link_is_near(t->bytes_per_s, t->layout.interface_bytes_per_s))
		zone_layout_refine(&t->layout, run->p, t->bytes_per_s);
	return r < 0 ? r : zone_fine_find(run, t, s->first_bytes, err);
}

/* ---- second looks ---- */

#define LOOKS_MAX                                                                                                   \
	8 /* at a suspect: where a quarter of all else is slow, that many slow ones decide (lossy.h) of hundreds of \
	     places */

#define CHECK_REQUESTS (ZONE_DONE_MIN + 2) /* in what is read again: a pace and its waits show (a choice) */

static bool is_wanted(const struct zones_run *run, const struct zone_target *t, size_t position)
{
	const struct zone_level *v = &t->analysis->levels.v[position];
	/* Of few places what is lost unseen is most of the width, and reading on makes that smaller, too. */
	double half = run->p->places ? v->half : v->noise_half;

	if (t->layout.positions[position].used == t->layout.slots)
		return false;
	return !run->p->full && /* everything was read already */
	       (!v->n || v->wants_more || isnan(v->half) || half > log1p(session_precision(run->ses)));
}

/* Sample i once more, in requests of that size, from another sector on: where a stream begins may decide its losses. */
static int check_sample(struct zones_run *run, struct zone_target *t, size_t i, uint32_t bytes, struct err *err)
{
	const struct zone_sample *s = &t->samples.v[i];
	double at = (double)s->first_bytes, part = ((double)s->end_bytes - at) / ZONE_PARTS;
	double back = fmin(zone_rev_ns(&t->layout) / s->ns_per_byte, part) * fmod(M_SQRT2 * (double)t->samples.n, 1.0);
	struct zone_sample how = { .position = ZONE_NONE,
		                   .kind = SAMPLE_CHECK,
		                   .check_of = i,
		                   .end_bytes = s->end_bytes,
		                   .request_bytes = bytes };

	how.first_bytes = (uint64_t)(at - (double)t->layout.first_bytes < back ? at + back : at - back);
	how.first_bytes -= how.first_bytes % t->layout.align_bytes;
	return zone_sample_take(run, t, &how, NULL, err);
}

/* How often sample i was read again. */
static size_t count_checks(const struct zone_samples *samples, size_t i)
{
	size_t n = 0;

	for (size_t k = 0; k < samples->n; k++)
		n += samples->v[k].kind == SAMPLE_CHECK && samples->v[k].check_of == i;
	return n;
}

/* Of those inside that were read again least often the first that lost, or the first: the drive may still hold the
 * last. ret_checks: of all. */
static size_t pick_inside(const struct zone_target *t, const struct zone_slow *slow, size_t *ret_checks)
{
	const struct zone_samples *samples = &t->analysis->levels.marked;
	size_t best = ZONE_NONE, least = SIZE_MAX;

	*ret_checks = 0;
	for (size_t k = 0; k < samples->n; k++) {
		const struct zone_sample *s = &samples->v[k];
		size_t checks = count_checks(&t->samples, k);

		if (!zone_is_usable(s) || s->is_disturbed || !zone_slow_has(slow, s))
			continue;
		*ret_checks += checks;
		if (checks > least || (checks == least && (!s->lost.waits || samples->v[best].lost.waits)))
			continue;
		least = checks;
		best = k;
	}
	return best;
}

/* The nearest one that lies in no suspect and was not read again. */
static size_t pick_beside(const struct zone_target *t, size_t i)
{
	const struct zone_samples *samples = &t->analysis->levels.marked;
	size_t best = ZONE_NONE;
	double least = INFINITY;

	for (size_t k = 0; k < samples->n; k++) {
		const struct zone_sample *s = &samples->v[k];
		double far = fabs((double)s->from_bytes - (double)samples->v[i].from_bytes);

		if (!zone_is_usable(s) || far >= least || zone_touches_slow(&t->analysis->slows, s, false) ||
		    count_checks(&t->samples, k))
			continue;
		least = far;
		best = k;
	}
	return best;
}

/* A suspect, and before it what lies beside it, which shows the time: in requests of half the size, and in the largest
 * that leave enough of them, by turns. What the way to the disk loses between requests of one size is another share in
 * others, and the media lose as much. */
static int check_slow(struct zones_run *run, struct zone_target *t, size_t inside, size_t checks, struct err *err)
{
	const struct zone_sample *s = &t->samples.v[inside];
	size_t other = pick_beside(t, inside);
	uint64_t most = (s->end_bytes - s->first_bytes) / CHECK_REQUESTS;
	uint32_t piece = t->layout.piece_bytes ? t->layout.piece_bytes : s->request_bytes; /* larger ones are cut */
	uint32_t bytes = (piece < s->request_bytes ? piece : s->request_bytes) / 2;
	int r = 0;

	if (checks % 2)
		bytes = most < run->eng->cfg.buf_bytes ? (uint32_t)most : run->eng->cfg.buf_bytes;
	bytes -= bytes % t->layout.align_bytes;
	bytes = bytes ? bytes : t->layout.align_bytes;
	if (other != ZONE_NONE)
		r = check_sample(run, t, other, bytes, err);
	return r < 0 || session_is_over(run->ses) ? r : check_sample(run, t, inside, bytes, err);
}

/* Suspects: as much a part of the measurement as the passes, for else they would go unreported. Bytes that were read
 * again in this round may still be in the drive's buffer. */
static int check_suspects(struct zones_run *run, struct zone_target *t, size_t round, size_t *ret_taken,
                          struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->analysis->slows.n; i++) {
		const struct zone_slow *s = &t->analysis->slows.v[i];
		size_t checks, inside = pick_inside(t, s, &checks);

		/* Some checks of each, whatever the time. */
		if (s->is_confirmed || inside == ZONE_NONE || checks >= LOOKS_MAX ||
		    count_checks(&t->samples, inside) > round || session_is_over(run->ses) ||
		    !zones_has_time(run, t, checks >= t->layout.looks))
			continue;
		r = check_slow(run, t, inside, checks, err);
		(*ret_taken)++;
	}
	return r;
}

int zone_look_again(struct zones_run *run, struct zone_target *t, struct err *err)
{
	cleanup_free size_t *order = xcalloc(2 * t->layout.npositions + 1, sizeof(*order));
	size_t all = 0, taken = 1;
	int r = 0;

	for (uint32_t round = 0; r == 0 && taken && round < t->layout.slots + 2; round++) {
		size_t n = zone_order_pass(run, t, 2, order), checked = 1;

		taken = 0;
		while (r == 0 && checked) {
			checked = 0;
			r = check_suspects(run, t, round, &checked, err);
			taken += checked;
			if (checked)
				zone_analyse_places(t);
		}

		if (n > t->layout.npositions)
			n = t->layout.npositions;
		for (size_t i = 0; r == 0 && i < n && !session_is_over(run->ses); i++) {
			if (!is_wanted(run, t, order[i]) || !zones_has_time(run, t, true))
				continue;
			r = zone_visit(run, t, order[i], SAMPLE_AGAIN, zone_passes(run->p) + round, err);
			taken++;
			zones_show(run, t, "second looks", ZONE_PASS_PART + 0.1 * (double)i / (double)n);
		}
		if (taken)
			zone_analyse_places(t);
		all += taken;
	}
	if (all)
		zones_renew(run, t);
	return r;
}
