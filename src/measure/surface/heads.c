/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --geometry: by head. A request counts for a surface when it lies on it altogether, and the byte before it as well:
 * the arm's way from one surface to the next is in none of them. A head that goes bad loses revolutions all over its
 * surface, so the disk is cut into stretches, and in each it is asked under which head most were lost. Where all heads
 * are alike, each is that one as often as the others, whatever else disturbs the disk, in bursts or not: losses of one
 * moment or place are one stretch's, and one vote. That is tested by the binomial law, for as many heads as there are.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/shared/heads.h"
#include "measure/surface/surface.h"

#define STRETCHES 64
#define LEAST_PART \
	0.5 /* of the mean of all surfaces: of less was too little read in a stretch to be held against the others */
#define UNLIKE       1.5  /* times the even chance of being the worst: where less was read losses scatter more */
#define CHANCE       1e-4 /* that one of the heads of a sound disk is called bad */
#define WORSE        3.0  /* times the median of the others: sound heads differ, too */
#define LEAST_PER_GB 0.1  /* lost revolutions: fewer do no harm yet */

struct tally { /* of a stretch and head: a row of "by_head_place" */
	uint64_t first_byte, last_byte, surface;
	uint64_t scanned_bytes, requests, busy_ns, slow_requests, excess_ns, worst_ns, errors;
	double revolutions_lost;
};

struct head_row {
	uint64_t surface, scanned_bytes, requests, slow_requests;
	double rate_bytes_per_s, revolutions_lost, low, high, excess_ns;
	uint64_t worst_ns, errors, always_places, unreadable_places, worst_in, stretches;
};

struct surface_heads {
	struct heads map;
	struct tally v[STRETCHES][HEADS_MOST];
	int bad; /* -1: none */
	struct head_row row[HEADS_MOST];
	double times;
};

const struct field surface_head_place_fields[] = {
	FIELD_U64(struct tally, first_byte, UNIT_BYTES, "first byte", .detail = true),
	FIELD_U64(struct tally, last_byte, UNIT_BYTES, "last byte", .detail = true),
	FIELD_U64(struct tally, surface, UNIT_COUNT, "surface", .detail = true),
	FIELD_U64(struct tally, scanned_bytes, UNIT_BYTES, "scanned", .detail = true),
	FIELD_U64(struct tally, requests, UNIT_COUNT, "requests", .detail = true),
	FIELD_U64(struct tally, busy_ns, UNIT_NS, "busy", .detail = true),
	FIELD_U64(struct tally, slow_requests, UNIT_COUNT, "slow requests", .detail = true),
	FIELD_U64(struct tally, excess_ns, UNIT_NS, "longer than expected", .detail = true),
	FIELD_U64(struct tally, worst_ns, UNIT_NS, "worst", .detail = true),
	FIELD_U64(struct tally, errors, UNIT_COUNT, "errors", .detail = true),
	FIELD_F64(struct tally, revolutions_lost, UNIT_NONE, "revolutions lost per GB", .detail = true),
	FIELD_END,
};

const struct field surface_head_fields[] = {
	FIELD_U64(struct head_row, surface, UNIT_COUNT, "surface"),
	FIELD_U64(struct head_row, scanned_bytes, UNIT_BYTES, "scanned"),
	FIELD_F64(struct head_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_U64(struct head_row, requests, UNIT_COUNT, "requests", .detail = true),
	FIELD_U64(struct head_row, slow_requests, UNIT_COUNT, "slow ones"),
	FIELD_F64(struct head_row, revolutions_lost, UNIT_NONE, "revolutions lost per GB"),
	FIELD_F64(struct head_row, low, UNIT_NONE, "low"),
	FIELD_F64(struct head_row, high, UNIT_NONE, "high"),
	FIELD_F64(struct head_row, excess_ns, UNIT_NS, "longer than expected, mean", .detail = true),
	FIELD_U64(struct head_row, worst_ns, UNIT_NS, "worst", .detail = true),
	FIELD_U64(struct head_row, errors, UNIT_COUNT, "errors", .detail = true),
	FIELD_U64(struct head_row, always_places, UNIT_COUNT, "always slow", .detail = true),
	FIELD_U64(struct head_row, unreadable_places, UNIT_COUNT, "unreadable", .detail = true),
	FIELD_U64(struct head_row, worst_in, UNIT_COUNT, "worst of all in", .detail = true),
	FIELD_U64(struct head_row, stretches, UNIT_COUNT, "of stretches", .detail = true),
	FIELD_END,
};

int surface_heads_open(struct surface_run *run, struct err *err)
{
	int r;

	if (!run->p->geometry)
		return 0;
	run->heads = xcalloc(1, sizeof(*run->heads));
	run->heads->bad = -1;
	r = heads_load(&run->heads->map, run->p->geometry, &run->ses->devs[0], err);
	if (r < 0) {
		free(run->heads);
		run->heads = NULL;
	}
	return r;
}

void surface_heads_close(struct surface_run *run)
{
	if (run->heads)
		heads_done(&run->heads->map);
	free(run->heads);
}

double surface_heads_block(const struct surface_run *run)
{
	double sum = 0.0, squares = 0.0;

	for (size_t i = 0; run->heads && i < run->heads->map.nrows; i++) {
		const struct heads_row *r = &run->heads->map.row[i];
		double bytes = (double)r->length_bytes * (double)r->times;

		sum += bytes;
		squares += bytes * (double)r->length_bytes;
	}
	return sum > 0.0 ? squares / sum / 2.0 : (double)INFINITY;
}

void surface_heads_count(struct surface_run *run, uint64_t offset, uint64_t len, uint64_t time_ns, double expected_ns,
                         bool is_error)
{
	const struct surface_range *g = &run->range;
	int head = run->heads && offset > 0 ? heads_at(&run->heads->map, offset - 1, offset + len) : -1;
	size_t i = (size_t)((double)(offset - g->first_bytes) / (double)(g->end_bytes - g->first_bytes) * STRETCHES);
	double over_ns = (double)time_ns - expected_ns;
	struct tally *t;

	if (head < 0)
		return;
	t = &run->heads->v[i < STRETCHES ? i : STRETCHES - 1][head];
	t->scanned_bytes += len;
	t->requests++;
	t->errors += is_error;
	if (is_error || isnan(expected_ns))
		return;
	t->busy_ns += time_ns;
	t->worst_ns = time_ns > t->worst_ns ? time_ns : t->worst_ns;
	if (over_ns > run->rot.period_ns / 2) { /* whatever else sticks out: that is the same under all heads */
		t->slow_requests++;
		t->excess_ns += (uint64_t)over_ns;
	}
}

/* ---- analysis ---- */

static void add(struct tally *to, const struct tally *t)
{
	to->scanned_bytes += t->scanned_bytes;
	to->requests += t->requests;
	to->busy_ns += t->busy_ns;
	to->slow_requests += t->slow_requests;
	to->excess_ns += t->excess_ns;
	to->errors += t->errors;
	to->worst_ns = t->worst_ns > to->worst_ns ? t->worst_ns : to->worst_ns;
}

static struct tally sum_of(const struct tally v[STRETCHES][HEADS_MOST], size_t head)
{
	struct tally sum = { 0 };

	for (size_t i = 0; i < STRETCHES; i++)
		add(&sum, &v[i][head]);
	return sum;
}

static double per_gb(const struct tally *t, double turn_ns)
{
	return surface_lost_per_gb(t->excess_ns, t->scanned_bytes, turn_ns);
}

/* Was about as much read under each head? */
static bool is_even(const struct tally *v, size_t n)
{
	double mean = 0.0;
	bool is_enough = true;

	for (size_t h = 0; h < n; h++)
		mean += (double)v[h].scanned_bytes / (double)n;
	for (size_t h = 0; h < n; h++)
		is_enough = is_enough && (double)v[h].scanned_bytes > LEAST_PART * mean;
	return is_enough;
}

/* The head under which more was lost than under any other; -1: none. */
static int worst_of(const struct tally *v, size_t n, double turn_ns)
{
	double most = 0.0;
	int worst = -1;

	for (size_t h = 0; h < n; h++) {
		double lost = per_gb(&v[h], turn_ns);

		worst = lost > most ? (int)h : lost == most ? -1 : worst;
		most = fmax(most, lost);
	}
	return worst;
}

/* A stretch, or as many in a row as it takes until all heads have come by, has one vote. */
static void vote(const struct tally v[STRETCHES][HEADS_MOST], struct head_row *row, size_t n, double turn_ns)
{
	struct tally sum[HEADS_MOST] = { 0 };

	for (size_t i = 0; i < STRETCHES; i++) {
		int worst;

		for (size_t h = 0; h < n; h++)
			add(&sum[h], &v[i][h]);
		if (!is_even(sum, n))
			continue;
		worst = worst_of(sum, n, turn_ns);
		for (size_t h = 0; h < n; h++) {
			row[h].worst_in += worst == (int)h;
			row[h].stretches += worst >= 0;
		}
		memset(sum, 0, sizeof(sum));
	}
}

/*
 * 95 % interval of what is lost per GB: as far as the stretches differ (of a ratio of sums), and not narrower than that
 * of the events, were each by itself (of Poisson's law, by Byar).
 */
static struct interval interval_of(const struct tally v[STRETCHES][HEADS_MOST], size_t head, const struct tally *sum,
                                   double turn_ns)
{
	double rate = per_gb(sum, turn_ns), squares = 0.0, k = 0.0, half = 0.0, n = (double)sum->slow_requests;
	double each = sum->slow_requests ? rate / n : 1e9 / (double)sum->scanned_bytes;
	double low = n > 0.0 ? n * pow(fmax(0.0, 1.0 - 1.0 / (9.0 * n) - 1.96 / (3.0 * sqrt(n))), 3.0) : 0.0;
	double high = (n + 1.0) * pow(1.0 - 1.0 / (9.0 * (n + 1.0)) + 1.96 / (3.0 * sqrt(n + 1.0)), 3.0);

	for (size_t i = 0; i < STRETCHES; i++) {
		double off = (double)v[i][head].excess_ns / turn_ns - rate * (double)v[i][head].scanned_bytes * 1e-9;

		squares += off * off;
		k += v[i][head].scanned_bytes > 0;
	}
	if (k > 1.0)
		half = stats_t_975(k - 1.0) * sqrt(k / (k - 1.0) * squares) / ((double)sum->scanned_bytes * 1e-9);
	return (struct interval){ fmax(0.0, fmin(low * each, rate - half)), fmax(high * each, rate + half) };
}

/* Which head is bad beyond doubt, and how many times as much is lost under it as under the others (their median). -1:
 * none is. */
static int bad_head(const struct head_row *row, size_t n, double *ret_times)
{
	for (size_t h = 0; h < n; h++) {
		double others[HEADS_MOST], lost = row[h].revolutions_lost, usual;
		size_t m = 0;

		for (size_t k = 0; k < n; k++)
			if (k != h)
				others[m++] = row[k].revolutions_lost;
		usual = stats_median(others, stats_keep_finite(others, m));
		if (!(lost > WORSE * usual) || !(row[h].low > LEAST_PER_GB) || row[h].worst_in == 0)
			continue;
		if ((1.0 - stats_binomial_cdf(row[h].worst_in - 1, row[h].stretches, fmin(1.0, UNLIKE / (double)n))) *
		            (double)n >
		    CHANCE)
			continue;
		*ret_times = usual > 0.0 ? lost / usual : (double)NAN;
		return (int)h;
	}
	return -1;
}

/* ---- the document ---- */

void surface_heads_say(const struct surface_run *run)
{
	const struct surface_heads *h = run->heads;
	const struct head_row *row = h && h->bad >= 0 ? &h->row[h->bad] : NULL;
	char than[48] = "none under most of the others";

	if (!row)
		return;
	if (isfinite(h->times))
		(void)snprintf(than, sizeof(than), "%.3g times as many as under the others", h->times);
	result_notice(
		run->ses->res, "one-head",
		"Under head %d %.3g revolutions are lost per GB, %s, and most of all heads in %d of %d stretches of what was "
		"scanned: the head or its whole surface is weak. Keep a copy of what is on this disk, and "
		"scan it again soon.",
		(int)row->surface, row->revolutions_lost, than, (int)row->worst_in, (int)row->stretches);
}

static void report_heads(struct result *res, struct surface_heads *heads, double turn_ns)
{
	const struct tally(*v)[HEADS_MOST] = (const struct tally(*)[HEADS_MOST])heads->v;
	struct head_row *row = heads->row;
	struct table *t = result_table_anew(res, "by_head", "By head", surface_head_fields);
	double bytes = 0.0, scanned = figure_number(result_find_figure(res, "scanned_bytes"));
	size_t n = heads->map.n;

	vote(v, row, n, turn_ns);
	for (size_t h = 0; h < n; h++) {
		struct tally sum = sum_of(v, h);
		struct interval ci = interval_of(v, h, &sum, turn_ns);

		row[h].surface = h;
		row[h].scanned_bytes = sum.scanned_bytes;
		row[h].requests = sum.requests;
		row[h].slow_requests = sum.slow_requests;
		row[h].rate_bytes_per_s =
			sum.busy_ns ? (double)sum.scanned_bytes * 1e9 / (double)sum.busy_ns : (double)NAN;
		row[h].revolutions_lost = per_gb(&sum, turn_ns);
		row[h].low = sum.scanned_bytes ? ci.low : (double)NAN;
		row[h].high = sum.scanned_bytes ? ci.high : (double)NAN;
		row[h].excess_ns = sum.requests ? (double)sum.excess_ns / (double)sum.requests : (double)NAN;
		row[h].worst_ns = sum.worst_ns;
		row[h].errors = sum.errors;
		result_row(t, &row[h]);
		bytes += (double)sum.scanned_bytes;
	}
	heads->times = NAN;
	heads->bad = bad_head(row, n, &heads->times);
	result_figure(res, "heads", "heads", UNIT_COUNT, (double)n, NULL, 0);
	result_figure(res, "by_head_ratio", "share of the scan, by head", UNIT_RATIO,
	              scanned > 0.0 ? bytes / scanned : (double)NAN, NULL, 0);
	result_figure(res, "bad_head", "head that loses revolutions", UNIT_COUNT,
	              heads->bad < 0 ? (double)NAN : heads->bad, NULL, 0);
	result_figure(res, "bad_head_times", "its lost revolutions, times those of the others", UNIT_NONE, heads->times,
	              NULL, 0);
}

static void count_places(const struct surface_run *run)
{
	struct head_row *row = run->heads->row;

	for (size_t i = 0; i < run->lists.nplaces; i++) {
		const struct surface_suspect *s = &run->lists.places[i];
		int head = heads_at(&run->heads->map, s->first_bytes, s->end_bytes);

		if (head < 0)
			continue;
		row[head].always_places += s->kind == SURFACE_ALWAYS;
	}
	for (size_t i = 0; i < run->failures.n; i++) {
		const struct surface_failed *f = &run->failures.v[i];
		int head = heads_at(&run->heads->map, f->first_bytes, f->end_bytes);

		if (head >= 0 && f->is_sector)
			row[head].unreadable_places++;
	}
}

void surface_heads_report(struct surface_run *run)
{
	struct result *res = run->ses->res;
	const struct surface_range *g = &run->range;
	double span = (double)(g->end_bytes - g->first_bytes) / STRETCHES;
	struct table *t;

	if (!run->heads || !run->rot.is_rotating)
		return;
	memset(run->heads->row, 0, sizeof(run->heads->row));
	t = result_table_anew(res, "by_head_place", "By head and place", surface_head_place_fields);
	for (size_t h = 0; h < run->heads->map.n; h++)
		for (size_t i = 0; i < STRETCHES; i++) {
			struct tally *v = &run->heads->v[i][h];

			v->first_byte = g->first_bytes + (uint64_t)(span * (double)i);
			v->last_byte = g->first_bytes + (uint64_t)(span * (double)(i + 1)) - 1;
			v->surface = h;
			v->revolutions_lost = per_gb(v, run->rot.period_ns);
			result_row(t, v);
		}
	count_places(run);
	report_heads(res, run->heads, run->rot.period_ns);
}

/* ---- and back ---- */

void surface_heads_take(struct surface_run *run, const struct result *state)
{
	const struct table *t = result_find_table(state, "by_head_place");
	size_t n = run->heads && t ? t->nrows : 0;

	for (size_t i = 0; n <= STRETCHES * HEADS_MOST && i < n - n % STRETCHES; i++)
		table_row(t, i, surface_head_place_fields, &run->heads->v[i % STRETCHES][i / STRETCHES]);
}
