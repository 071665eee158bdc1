/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Seek time against distance.
 *
 * An access takes overhead, seek, a wait for the angle that is uniform over one revolution when the target sector is chosen uniformly over one, and the
 * transfer. So over many accesses of one distance the times are uniform on [overhead + seek, overhead + seek + period): the seek time is the
 * lower edge less the overhead (fit_lower_edge), and, as a check, the mean less half a revolution.
 *
 * Distances are parts of the stroke, in cylinders. Under constant linear density the place of a byte on the stroke follows from the sequential rates
 * at the start and the end: tracks become shorter inwards as the rate falls, so stroke(x) = (1 - sqrt(1 - x (1 - r^2))) / (1 - r), r the ratio of the rates.
 *
 * The overhead: after a read at P the sector a part f of a track before P comes by after (1 - f) of a revolution, if both lie on one track. As long as
 * that leaves time for the overhead the access takes just so long; else a whole revolution more. The shortest such access is the overhead.
 * Hops go backwards, where drives do not read ahead.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/seek.h"

#define SAMPLES_MAX    256
#define DISTANCES_MAX  40
#define BACKWARD_BYTES 16e6 /* closer than that the drive's read-ahead could answer forward hops */
#define RATE_BYTES     (24ull << 20)

struct curve_row {
	uint64_t distance_bytes;
	double seek_ns, access_mean_ns;
	double stroke_ratio, low, high, mean_seek_ns, fit_ns;
	uint64_t samples, hits;
};

const struct field seek_curve_fields[] = {
	FIELD_U64(struct curve_row, distance_bytes, UNIT_BYTES, "distance"),
	FIELD_F64(struct curve_row, seek_ns, UNIT_NS, "seek"),
	FIELD_F64(struct curve_row, access_mean_ns, UNIT_NS, "mean access"),
	FIELD_F64(struct curve_row, stroke_ratio, UNIT_RATIO, "of the stroke"),
	FIELD_F64(struct curve_row, low, UNIT_NS, "seek, low", .detail = true),
	FIELD_F64(struct curve_row, high, UNIT_NS, "seek, high", .detail = true),
	FIELD_F64(struct curve_row, mean_seek_ns, UNIT_NS, "from mean"),
	FIELD_F64(struct curve_row, fit_ns, UNIT_NS, "fitted"),
	FIELD_U64(struct curve_row, samples, UNIT_COUNT, "reads"),
	FIELD_U64(struct curve_row, hits, UNIT_COUNT, "cache hits", .detail = true),
	FIELD_END,
};

/* ---- the shape of the disk ---- */

int seek_rates(struct seek_run *s, struct err *err)
{
	double x[5], rate[5];
	struct density_fit fit;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(x) && !session_is_over(s->ses); i++) {
		double at = (double)i / (double)(ARRAY_LEN(x) - 1), v;

		r = timed_rate(&s->t, (uint64_t)(at * (double)s->t.target->size_bytes), RATE_BYTES, &v, err);
		if (r == 0 && isfinite(v)) {
			x[n] = at;
			rate[n++] = v;
		}
	}
	s->rate_start = s->ratio = NAN;
	if (r == 0 && n >= 3 && fit_density(x, rate, n, &fit)) {
		s->rate_start = fit.r0;
		s->ratio = fmin(fmax(fit.r, 0.1), 1.0);
	}
	return r;
}

double seek_stroke_of(const struct seek_run *s, double x)
{
	return s->ratio > 0.999 ? x : (1.0 - sqrt(1.0 - x * (1.0 - s->ratio * s->ratio))) / (1.0 - s->ratio);
}

double seek_place_of(const struct seek_run *s, double stroke)
{
	double y = 1.0 - stroke * (1.0 - s->ratio);

	return s->ratio > 0.999 ? stroke : (1.0 - y * y) / (1.0 - s->ratio * s->ratio);
}

double seek_track_bytes(const struct seek_run *s, double x)
{
	return s->rate_start * sqrt(1.0 - x * (1.0 - s->ratio * s->ratio)) * s->rot.period_ns * 1e-9;
}

double seek_time(const struct seek_run *s, double stroke)
{
	return stroke > 0.0 ? fmax(seek_fit_at(&s->fit, stroke), 0.0) : 0.0;
}

/* ---- overhead ---- */

/* One hop backwards by `back` bytes from where the head is; *at moves. */
static int hop_back(struct seek_run *s, double *at, double back, double *ret_access, double *ret_bytes, struct err *err)
{
	uint64_t from = timed_align(&s->t, *at), to = timed_align(&s->t, *at - back);
	int r = timed_reads(&s->t, &to, 1, ret_access, NULL, err);

	*ret_bytes = (double)from - (double)to;
	*at = (double)to;
	return r;
}

/* To a fresh place near the start of the disk, far enough from its start for many hops backwards. */
static int fresh_place(struct seek_run *s, double *at, struct err *err)
{
	double size = (double)s->t.target->size_bytes, access;
	uint64_t to = timed_align(&s->t, size * (0.02 + 0.02 * rng_double(&s->t.rng)));

	*at = (double)to;
	return timed_reads(&s->t, &to, 1, &access, NULL, err);
}

/* Bytes of a track without skew: hops of a third of a track end (1 - f) of a revolution later when they stay on it, as most do. */
static int find_track(struct seek_run *s, double *ret_bytes, struct err *err)
{
	double guess = seek_track_bytes(s, 0.03), at = 0.0, v[32];
	size_t n = 0;
	int r = 0;

	for (int i = 0; r == 0 && i < 32 && !session_is_over(s->ses); i++) {
		double access = NAN, bytes = 0.0, turn;

		if (i % 16 == 0)
			r = fresh_place(s, &at, err);
		if (r == 0)
			r = hop_back(s, &at, guess * 0.33, &access, &bytes, err);
		turn = 1.0 - access / s->rot.period_ns;
		if (r == 0 && isfinite(access) && turn > 0.1 && turn < 0.6)
			v[n++] = bytes / turn;
	}
	*ret_bytes = n >= 8 ? stats_median(v, n) : (double)NAN;
	return r;
}

/* The smallest access times so far, ascending. */
struct smallest {
	double v[4];
	size_t n;
};

static void smallest_add(struct smallest *s, double x)
{
	size_t i = s->n < ARRAY_LEN(s->v) ? s->n++ : s->n;

	if (i == ARRAY_LEN(s->v)) {
		if (x >= s->v[i - 1])
			return;
		i--;
	}
	for (; i > 0 && s->v[i - 1] > x; i--)
		s->v[i] = s->v[i - 1];
	s->v[i] = x;
}

/*
 * No access is shorter than the overhead, whatever track it is on, and hops that aim at ever shorter times come close to it: the aim x is drawn between
 * a third of and a little above the shortest so far, where about x in a period of the hops stay on their track and arrive just so. The second shortest is
 * taken, so that one odd time decides nothing; the gap below it is what remains unknown.
 */
int seek_overhead(struct seek_run *s, struct err *err)
{
	int tries = s->p->quick ? 150 : 500, r;
	struct smallest least = { .n = 0 };
	double track = NAN, period = s->rot.period_ns, at = 0.0;

	smallest_add(&least, period * 0.4);
	smallest_add(&least, period * 0.4);
	r = find_track(s, &track, err);
	for (int i = 0; r == 0 && i < tries && isfinite(track) && !session_is_over(s->ses); i++) {
		double x = least.v[1] * (0.33 + 0.8 * rng_double(&s->t.rng)), access = NAN, bytes;

		if (i % 64 == 0)
			r = fresh_place(s, &at, err);
		if (r == 0)
			r = hop_back(s, &at, track * (1.0 - x / period), &access, &bytes, err);
		if (isfinite(access) && !seek_is_hit(s, access))
			smallest_add(&least, access);
	}
	s->overhead_ns = least.v[1];
	s->overhead_ci =
		(struct interval){ fmax(least.v[0] - (least.v[least.n - 1] - least.v[0]), 0.0), least.v[least.n - 1] };
	if (r == 0 && least.v[1] >= period * 0.39) {
		s->overhead_ns = isfinite(s->rot.hit_ns) ? s->rot.hit_ns : 0.0;
		s->overhead_ci = (struct interval){ NAN, NAN };
		result_notice(
			s->ses->res, "overhead",
			"The command overhead could not be separated from the seek; %s is taken for it, so all seek times share its error.",
			isfinite(s->rot.hit_ns) ? "the time of a read from the drive's cache" : "nothing");
	}
	return r;
}

/* ---- the curve ---- */

struct hops {
	double v[SAMPLES_MAX];
	double bytes; /* sum of distances */
	size_t n, hits;
};

static double jitter(struct seek_run *s, double place, double stroke)
{
	double tracks = fmin(fmax(floor(stroke * 500.0), 1.0), 8.0);

	return tracks * seek_track_bytes(s, place) * rng_double(&s->t.rng);
}

static int take_hop(struct seek_run *s, double *at, double to, struct hops *h, struct err *err)
{
	uint64_t offset = timed_align(&s->t, to);
	double access;
	int r = timed_reads(&s->t, &offset, 1, &access, NULL, err);

	if (r == 0 && isfinite(access) && *at >= 0.0) {
		if (seek_is_hit(s, access)) {
			h->hits++;
		} else if (h->n < SAMPLES_MAX) {
			h->v[h->n++] = access;
			h->bytes += fabs((double)offset - *at);
		}
	}
	*at = (double)offset;
	return r;
}

/* Eight hops to and fro between two places a part `stroke` of the stroke apart; the first read only brings the head there. */
static int hops_both(struct seek_run *s, double stroke, struct hops *h, struct err *err)
{
	double size = (double)s->t.target->size_bytes, base = rng_double(&s->t.rng) * (1.0 - stroke), at = -1.0;
	double place[2] = { seek_place_of(s, base), seek_place_of(s, base + stroke) };
	int r = 0, first = (int)rng_below(&s->t.rng, 2);

	for (int i = 0; r == 0 && i < 9 && !session_is_over(s->ses); i++) {
		double x = place[(i + first) % 2], to = x * size + jitter(s, x, stroke);

		if (to + s->t.block_bytes > size) /* the far end: jitter inwards */
			to = size - s->t.block_bytes - jitter(s, x, stroke);
		r = take_hop(s, &at, to, h, err);
	}
	return r;
}

/* Eight hops backwards in a row, each of the same distance. */
static int hops_back(struct seek_run *s, double stroke, struct hops *h, struct err *err)
{
	double size = (double)s->t.target->size_bytes, at = -1.0;
	double begin = 10.0 * stroke + rng_double(&s->t.rng) * (1.0 - 10.0 * stroke);
	int r = 0;

	for (int i = 0; r == 0 && i < 9 && !session_is_over(s->ses); i++) {
		double x = seek_place_of(s, begin - (double)i * stroke), to = x * size + jitter(s, x, 0.0);

		r = take_hop(s, &at, fmin(to, size - s->t.block_bytes), h, err);
	}
	return r;
}

static int one_distance(struct seek_run *s, double stroke, struct curve_row *row, struct err *err)
{
	double size = (double)s->t.target->size_bytes;
	size_t want = s->p->quick ? 40 : 192;
	struct hops h = { .n = 0 };
	struct edge_fit fit;
	double sum = 0.0;
	int r = 0;

	for (size_t tries = 0; r == 0 && h.n < want && tries < 4 * want / 8 && !session_is_over(s->ses); tries++)
		r = stroke * size < BACKWARD_BYTES && stroke < 0.05 ? hops_back(s, stroke, &h, err)
		                                                    : hops_both(s, stroke, &h, err);
	if (r < 0 || h.n < 16 || !fit_lower_edge(h.v, h.n, s->rot.period_ns, 0.0, &fit))
		return r < 0 ? r : -EAGAIN;
	for (size_t i = 0; i < h.n; i++)
		sum += h.v[i];
	*row = (struct curve_row){
		.distance_bytes = (uint64_t)(h.bytes / (double)h.n),
		.seek_ns = fit.edge - s->overhead_ns,
		.access_mean_ns = sum / (double)h.n,
		.stroke_ratio = stroke,
		.low = fit.edge_ci.low - s->overhead_ns,
		.high = fit.edge_ci.high - s->overhead_ns,
		.mean_seek_ns = fit.mean_edge - s->overhead_ns,
		.fit_ns = NAN,
		.samples = h.n,
		.hits = h.hits,
	};
	if (!fit.agree) {
		char text[32];

		result_notice(
			s->ses->res, "estimators-disagree",
			"At a distance of %s the lower edge and the mean of the access times give different seek times; trust neither to better than their difference.",
			units_bytes_dec(text, sizeof(text), row->distance_bytes));
	}
	return 0;
}

/* Distances: from about eight tracks to the full stroke, evenly in the logarithm; a third and the whole stroke exactly. */
static size_t distances(const struct seek_run *s, double *ret)
{
	size_t n = s->p->quick ? 10 : 24, k = 0;
	double low = fmin(8.0 * seek_track_bytes(s, 0.0) / (double)s->t.target->size_bytes, 0.02);

	for (size_t i = 0; i < n; i++)
		ret[k++] = low * pow(0.97 / low, (double)i / (double)(n - 1));
	ret[k++] = 1.0 / 3.0;
	ret[k++] = 1.0;
	return k;
}

static void note_figure(struct seek_run *s, const struct curve_row *row)
{
	struct interval ci = { row->low, row->high };

	if (row->stroke_ratio == 1.0) {
		s->full_ns = row->seek_ns;
		s->full_ci = ci;
	} else if (row->stroke_ratio == 1.0 / 3.0) {
		s->third_ns = row->seek_ns;
		s->third_ci = ci;
	}
}

static int compare_row(const void *a, const void *b)
{
	const struct curve_row *p = a, *q = b;

	return (p->stroke_ratio > q->stroke_ratio) - (p->stroke_ratio < q->stroke_ratio);
}

static void fit_rows(struct seek_run *s, struct curve_row *rows, size_t n)
{
	double x[DISTANCES_MAX], y[DISTANCES_MAX], w[DISTANCES_MAX];

	for (size_t i = 0; i < n; i++) {
		double half = (rows[i].high - rows[i].low) / 2.0;

		x[i] = rows[i].stroke_ratio;
		y[i] = rows[i].seek_ns;
		w[i] = isfinite(half) && half > 0.0 ? 1.0 / (half * half + 1e8)
		                                    : 1e-10; /* 10 us: no point is better than the model */
	}
	s->has_fit = fit_seek(x, y, w, n, &s->fit);
	for (size_t i = 0; i < n && s->has_fit; i++)
		rows[i].fit_ns = seek_fit_at(&s->fit, x[i]);
}

int seek_curve(struct seek_run *s, struct err *err)
{
	struct table *t = result_table(s->ses->res, "curve", "Seek time against distance", seek_curve_fields);
	struct curve_row rows[DISTANCES_MAX];
	double stroke[DISTANCES_MAX], share;
	size_t n = distances(s, stroke), have = 0;
	int r = 0;

	share = 0.35 / (double)n;
	for (size_t i = 0; r == 0 && i < n && !session_is_over(s->ses) && session_time_left_ns(s->ses); i++) {
		size_t k = (i * 7) % n; /* near and far in turn: a drift in time does not bend the curve */
		char text[32];

		if (n % 7 == 0)
			k = i;
		r = one_distance(s, stroke[k], &rows[have], err);
		if (r == -EAGAIN) {
			r = 0;
			continue;
		}
		if (r < 0)
			break;
		note_figure(s, &rows[have]);
		s->fraction += share;
		session_progress(
			s->ses, "curve", s->fraction, "%.1f %% of the stroke: %s", 100.0 * rows[have].stroke_ratio,
			units_time(text, sizeof(text), rows[have].seek_ns > 0.0 ? (uint64_t)rows[have].seek_ns : 0));
		have++;
	}
	qsort(rows, have, sizeof(rows[0]), compare_row);
	if (have >= 4)
		fit_rows(s, rows, have);
	for (size_t i = 0; i < have; i++)
		result_row(t, &rows[i]);
	session_checkpoint(s->ses);
	return r;
}
