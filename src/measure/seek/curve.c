/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Seek time against distance: which pairs of places are visited (here), how (aim.c), what that says (points.c).
 * Distances of the curve are parts of the stroke, in cylinders, evenly in the logarithm. Nearer places do not show the
 * number of cylinders between them, as that depends on the order of the tracks: those are given by tracks, from one to
 * where the curve begins.
 */
#include <math.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/seek/seek.h"

#define FIRST_SCATTER 0.010 /* of a revolution, before any distance shows (real drives: 0.003 to 0.01) */
#define FIGURE_LEAST  3     /* pairs of a distance that is a figure by itself (a choice) */
#define PAIR_TURNS    12.0  /* of a revolution, for the first pair of places: nine reads and the seeks */

/* Two places, the nearer one to the start first. */
static int one_pair(struct seek_run *s, double first, double second, struct aim_setup *setup, struct belief *belief,
                    struct aim_log *log, struct err *err)
{
	double size = (double)s->known.places.size_bytes;

	setup->first[0] = first;
	setup->first[1] = second;
	for (int i = 0; i < 2; i++) {
		setup->track[i] = seek_track_at(&s->known.places, fmin(setup->first[i] / size, 1.0));
		setup->first[i] = fmax(fmin(setup->first[i], size - setup->track[i]), 0.0);
	}
	return seek_aim(s, setup, belief, log, err);
}

/* That many are tried for those that are wanted. */
static size_t tries(const struct seek_run *s, size_t pairs)
{
	return s->known.is_patchy ? SEEK_STORED_TRIES * pairs : pairs + pairs / 2;
}

/* Two of the strata that the revolution is divided into for all pairs of a distance, in a random order. */
static void even_aims(struct seek_run *s, struct aim_setup *setup, size_t pair, size_t pairs, uint64_t key)
{
	size_t strata = 2 * pairs;

	setup->neven = 2;
	for (size_t i = 0; i < 2; i++)
		setup->even[i] = ((double)permute((2 * pair + i) % strata, strata, key) + rng_double(&s->t.rng)) /
		                 (double)strata;
}

/* The first pair of a distance may lie anywhere, the others as far as possible from each other. */
static int one_distance(struct seek_run *s, struct seek_point *p, size_t pairs, double aim_scatter, struct err *err)
{
	double size = (double)s->known.places.size_bytes, at = rng_double(&s->t.rng), stroke = p->stroke;
	struct belief belief;
	struct aim_setup setup = { .aimed = s->p->quick ? 5 : 6 };
	uint64_t key = rng_u64(&s->t.rng);
	int r = 0;

	belief_anything(&belief, CURVE_TURNS_MOST * s->known.places.period_ns, aim_scatter);
	for (size_t i = 0; r == 0 && i < tries(s, pairs) && p->log.pairs < pairs && !seek_is_over(s); i++) {
		double base = at * (1.0 - stroke), more = 0.0;

		if (stroke == 1.0) /* inwards from what the rates of the ends have read: fresh tracks */
			more = seek_rate_bytes(s) + (double)i * seek_track_at(&s->known.places, 0.0);
		even_aims(s, &setup, i, pairs, key);
		r = one_pair(s, seek_place_of(&s->known.places, base) * size + more,
		             seek_place_of(&s->known.places, base + stroke) * size - more, &setup, &belief, &p->log,
		             err);
		at += RNG_GOLDEN;
		at -= floor(at);
	}
	return r;
}

/* That many tracks apart, in the outer tenth of the disk. */
static int one_near(struct seek_run *s, struct seek_point *p, size_t pairs, struct belief *belief, struct err *err)
{
	double size = (double)s->known.places.size_bytes, at = rng_double(&s->t.rng);
	/* None evenly: the curve shows about when the head is there. */
	struct aim_setup setup = { .aimed = s->p->quick ? 7 : 8, .backward_only = p->tracks < SEEK_APART };
	int r = 0;

	for (size_t i = 0; r == 0 && i < tries(s, pairs) && p->log.pairs < pairs && !seek_is_over(s); i++) {
		double first = (0.01 + 0.1 * at) * size, track = seek_track_at(&s->known.places, first / size);

		r = one_pair(s, first, first + (double)p->tracks * track, &setup, belief, &p->log, err);
		at += RNG_GOLDEN;
		at -= floor(at);
	}
	return r;
}

/* Where the curve begins: nearer, cylinders are too few for a place to show them. */
static double curve_low(const struct seek_run *s)
{
	return fmin(fmax(32.0 * seek_track_at(&s->known.places, 0.0) / (double)s->known.places.size_bytes, 0.003),
	            0.02);
}

/* Evenly in the logarithm; a third and the whole stroke exactly. */
static size_t distances(const struct seek_run *s, struct seek_point *ret)
{
	size_t n = s->p->quick ? 7 : 24, k = 0;
	double low = curve_low(s);

	for (size_t i = 0; i < n; i++)
		ret[k++].stroke = low * pow(0.97 / low, (double)i / (double)(n - 1));
	ret[k++].stroke = 1.0 / 3.0;
	ret[k++].stroke = 1.0;
	return k;
}

/* What the last distances say of the scatter is where the next ones begin. */
static double learn_scatter(double period, double scatter, const struct seek_point *p)
{
	return p->is_known ? fmax(0.7 * scatter + 0.3 * fmin(p->fit.scatter, 0.02 * period), SEEK_SHARPEST * period)
	                   : scatter;
}

/* How many pairs of the next distance, of those that are left: fewer where each takes long. */
static size_t affordable(const struct seek_run *s, size_t wanted, size_t pairs_so_far, uint64_t start_ns, size_t left)
{
	double spent = (double)(clock_now_ns(s->ses->env->clk) - start_ns),
	       budget = (double)seek_usual_ns(s->p, SEEK_CURVE, SEEK_CURVE) * fmax(s->budget.scale, 1.0);
	double until = spent + (double)seek_left_ns(s);
	double each = pairs_so_far ? spent / (double)pairs_so_far : PAIR_TURNS * s->known.places.period_ns,
	       least = !s->p->quick         ? 6.0
	               : s->known.is_patchy ? 2.0
	                                    : 1.0;

	return (size_t)fmin(fmax((fmin(budget, until) - spent) / (double)left / each, least), (double)wanted);
}

static int near_by(struct seek_run *s, double aim_scatter, struct err *err)
{
	/* A short run has many distances, of few pairs each: which of them lie on one surface depends on how many there
	 * are, and where all may be changes of heads the arm is not seen. First up, then between, if there is time. */
	static const uint64_t few[] = { 4, 6, 12, 24, 60, 120, 8, 3 };
	const double period = s->known.places.period_ns;
	const bool quick = s->p->quick;
	struct seek_point *p = s->samples->near;
	struct belief belief; /* of all distances, as they differ by little */
	uint64_t most =
		(uint64_t)(curve_low(s) * (double)s->known.places.size_bytes / seek_track_at(&s->known.places, 0.0));
	size_t n = 0;
	int r = 0;

	(void)seek_begin(s, SEEK_NEAR);
	/* No head takes longer over few tracks than to where the curve begins, but for what that may be off. */
	belief_anything(&belief, CURVE_TURNS_MOST * period, aim_scatter);
	if (s->known.curve.is_known)
		belief_within(&belief,
		              (struct interval){ 0.0, curve_at(&s->known.curve, curve_low(s)) + SEEK_STRAY * period });
	for (uint64_t k = 2; !quick && n < CURVE_POINTS && (k <= 12 || k < most); k = k < 12 ? k + 1 : k * 3 / 2)
		p[n++].tracks = k;
	for (size_t i = 0; quick && i < ARRAY_LEN(few); i++)
		p[n++].tracks = few[i];
	for (size_t i = 0; r == 0 && i < n && !seek_is_over(s); i++) {
		r = one_near(s, &p[i], quick || p[i].tracks > 12 ? 3 : 5, &belief, err);
		seek_report_accesses(s->res, "near", &p[i]);
	}
	s->samples->nnear = n;
	return r;
}

int seek_curve_begin(struct seek_run *s, struct err *err)
{
	struct seek_point *p = s->samples->aimed;
	const uint64_t start_ns = clock_now_ns(s->ses->env->clk);
	size_t n = s->samples->naimed = distances(s, p), pairs = 0;
	double period = s->known.places.period_ns, aim_scatter = FIRST_SCATTER * period;
	int r = 0;

	(void)seek_begin(s, SEEK_CURVE);
	for (size_t i = 0; r == 0 && i < n && !seek_is_over(s); i++) {
		/* Near and far in turn: a drift in time does not bend the curve. What there may be no time for lies
		 * between others. */
		struct seek_point *q = &p[s->p->quick ? (i * 5 + 7) % n : (i * 7) % n];
		bool is_figure = q->stroke == 1.0 || q->stroke == 1.0 / 3.0;
		struct summary even;
		size_t want;
		char text[32];

		want = affordable(s, s->p->quick ? 3 : 8, pairs, start_ns, n + 2 - i);
		if (is_figure)
			want = 2 * want > FIGURE_LEAST ? 2 * want : FIGURE_LEAST;
		r = one_distance(s, q, want, aim_scatter, err);
		if (r < 0)
			break;
		pairs += q->log.pairs;
		seek_point_fit(&s->known, q, NULL, SEEK_KNOWN);
		aim_scatter = learn_scatter(period, aim_scatter, q);
		s->fraction += 0.3 / (double)n / (double)(s->narms ? s->narms : 1);
		seek_report_accesses(s->res, "curve", q);
		if (seek_even_mean(&q->log, &even))
			session_progress(s->ses, "curve", s->fraction, "%.1f %% of the stroke: %s on average",
			                 100.0 * q->stroke, units_time(text, sizeof(text), (uint64_t)even.mean));
	}
	s->known.scatter = seek_fit_aimed(&s->known, s->samples);
	seek_conclude_curve(&s->known, s->samples);
	return r == 0 && !session_is_over(s->ses) ? near_by(s, aim_scatter, err) : r;
}

void seek_conclude_near(struct seek_run *s)
{
	const struct seek_samples *m = s->samples;
	const struct seek_pairs pairs = seek_pairs_of(&s->known, m->near, m->nnear);

	s->known.overhead.ci.high = seek_bound_overhead(&s->known, m, pairs.shortest_ns);
	s->known.track = seek_next_cylinder(&s->known, &pairs);
	seek_report_near(s->res, &s->known, &pairs, m->near, m->nnear);
}

void seek_curve_end(struct seek_run *s)
{
	s->is_curve_over = true;
	seek_conclude_near(s);
	seek_report_curve(s->res, &s->known, s->samples);
	seek_report_figures(s);
	session_checkpoint(s->ses);
}

void seek_load_all(struct seek_run *s, const struct table *t)
{
	struct seek_samples *m = s->samples;

	(void)seek_load_accesses(t, SEEK_RETURNS, m->aimed);
	(void)seek_load_accesses(t, SEEK_READS_ON, m->near);
	if (m->aimed[0].log.n || m->near[0].log.n) {
		s->known.overhead = seek_overhead_of(&s->known, m->aimed, m->near);
		seek_report_overhead(s);
	}
	*m = (struct seek_samples){ .naimed = 0 };
	m->naimed = seek_load_accesses(t, "curve", m->aimed);
	m->nnear = seek_load_accesses(t, "near", m->near);
	m->nrandom = seek_load_reads(t, m->random);
	s->known.scatter = seek_fit_aimed(&s->known, m);
	seek_conclude_curve(&s->known, m);
}

/* Where random reads went from and to; and what each should take by the others, unless the many aimed accesses of a
 * full run know the curve better. */
static void take_random(struct seek_run *s, const struct seek_read *const *reads, size_t n)
{
	struct seek_known *k = &s->known;
	struct seek_samples *m = s->samples;

	m->nrandom = 0;
	for (size_t i = 0; i < n && m->nrandom < SEEK_RANDOM_MAX; i++) {
		const struct seek_read *r = reads[i];
		const double ns = r->ns - seek_transfer(k, (double)r->offset);

		if (r->before && !r->is_passed && !r->is_shared && ns <= CURVE_TURNS_MOST * k->places.period_ns)
			m->random[m->nrandom++] =
				(struct seek_random){ .stroke = seek_stroke_between(&k->places, (double)r->offset,
				                                                    (double)r->before),
				                      .ns = ns,
				                      .bytes = fabs((double)r->offset - (double)r->before) };
	}
	k->by_reads = !k->curve.is_known || k->is_quick || seek_is_contradicted(k, m) ? seek_curve_by_reads(k, m)
	                                                                              : CURVE_UNKNOWN;
}

double seek_learn_reads(struct seek_run *s, const struct seek_read *const *reads, size_t n, struct seek_read *all,
                        size_t nall)
{
	struct seek_known *k = &s->known;
	struct seek_samples *m = s->samples;
	double shared;

	if (!s->rot.is_rotating || k->is_patchy || !isfinite(k->places.ratio))
		return 0.0;
	take_random(s, reads, n);
	shared = seek_wants_curve(s) ? seek_find_shared(k, all, nall, 0, k->places.size_bytes) : 0.0;
	if (shared > 0.0)
		take_random(s, reads, n);
	if (!k->by_reads.is_known)
		m->nrandom = 0;
	if (!m->nrandom || !seek_wants_curve(s) || seek_is_blind(&k->places))
		return shared;
	for (size_t i = 0; i < m->nrandom; i++)
		seek_report_read(s->res, &m->random[i]);
	seek_conclude_curve(k, m);
	return shared;
}
