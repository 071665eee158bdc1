/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `sustain` says. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/sustain/sustain.h"

static const struct field bin_fields[] = {
	FIELD_F64(struct sustain_bin, time_s, UNIT_S, "time"),
	FIELD_F64(struct sustain_bin, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_U64(struct sustain_bin, bytes, UNIT_BYTES, "bytes"),
	FIELD_U64(struct sustain_bin, requests, UNIT_COUNT, "requests"),
	FIELD_U64(struct sustain_bin, worst_ns, UNIT_NS, "longest wait"),
	FIELD_F64(struct sustain_bin, celsius, UNIT_NONE, "degrees Celsius"),
	FIELD_END,
};

static const struct field rest_fields[] = {
	FIELD_U64(struct sustain_rest, rest_ns, UNIT_NS, "rest"),
	FIELD_U64(struct sustain_rest, block_bytes, UNIT_BYTES, "request", .detail = true),
	FIELD_F64(struct sustain_rest, asked_bytes_per_s, UNIT_BYTES_PER_S, "asked", .detail = true),
	FIELD_F64(struct sustain_rest, fast_bytes, UNIT_BYTES, "fast again"),
	FIELD_F64(struct sustain_rest, fast_requests, UNIT_COUNT, "requests"),
	FIELD_F64(struct sustain_rest, uncertain_bytes, UNIT_BYTES, "to within", .detail = true),
	FIELD_F64(struct sustain_rest, fast_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_F64(struct sustain_rest, slow_bytes_per_s, UNIT_BYTES_PER_S, "then"),
	FIELD_F64(struct sustain_rest, begin_celsius, UNIT_NONE, "Celsius before", .detail = true),
	FIELD_F64(struct sustain_rest, celsius, UNIT_NONE, "Celsius", .detail = true),
	FIELD_END,
};

struct state_row {
	double from_s, to_s, rate_bytes_per_s, worst_second_bytes_per_s, bytes, requests, p999_ns;
};

static const struct field state_fields[] = {
	FIELD_F64(struct state_row, from_s, UNIT_S, "from"),
	FIELD_F64(struct state_row, to_s, UNIT_S, "to"),
	FIELD_F64(struct state_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_F64(struct state_row, worst_second_bytes_per_s, UNIT_BYTES_PER_S, "worst second"),
	FIELD_F64(struct state_row, bytes, UNIT_BYTES, "bytes"),
	FIELD_F64(struct state_row, requests, UNIT_COUNT, "requests"),
	FIELD_F64(struct state_row, p999_ns, UNIT_NS, "99.9 % of waits"),
	FIELD_END,
};

const struct measure_table sustain_tables[] = {
	{ "states", "States of the rate", state_fields },
	{ "rests", "What rests brought back", rest_fields },
	{ "rates", "Rate over time", bin_fields },
	{ NULL, NULL, NULL },
};

static struct table *empty_table(struct result *res, size_t i)
{
	return result_table_anew(res, sustain_tables[i].name, sustain_tables[i].title, sustain_tables[i].fields);
}

void sustain_report_rows(struct result *res, const struct sustain_series *s, const struct sustain_rests *r)
{
	struct table *t = empty_table(res, 2);

	for (size_t i = 0; i < s->n; i++)
		result_row(t, &s->v[i]);
	t = empty_table(res, 1);
	for (size_t i = 0; i < r->n; i++)
		result_row(t, &r->v[i]);
	result_figure(res, "again_bytes_per_s", "rate at the start again, without a rest", UNIT_BYTES_PER_S,
	              r->again_bytes_per_s, NULL, 0);
}

static const char *const causes[] = {
	[SUSTAIN_UNKNOWN] = NULL,        [SUSTAIN_NOTHING] = "nothing",  [SUSTAIN_BYTES] = "bytes",
	[SUSTAIN_REQUESTS] = "requests", [SUSTAIN_TIME] = "time",        [SUSTAIN_HEAT] = "temperature",
	[SUSTAIN_PLACE] = "place",       [SUSTAIN_SPACE] = "free space", [SUSTAIN_ASKED] = "--rate"
};

static void report_state(struct result *res, const char *which, const struct sustain_state *st, bool has_waits)
{
	const struct {
		const char *name, *label;
		enum unit unit;
		struct stats_estimate e;
	} v[] = { { "bytes_per_s", "rate", UNIT_BYTES_PER_S, st->rate },
		  { "worst_second_bytes_per_s",
		    "worst second",
		    UNIT_BYTES_PER_S,
		    { st->worst_bytes_per_s, { NAN, NAN } } },
		  { "p999_ns", "99.9 % of requests", UNIT_NS, { st->p999_ns, { NAN, NAN } } } };

	for (size_t i = 0; i < (has_waits ? 3 : 2); i++) { /* rows do not have waits */
		char name[64], label[64];

		(void)snprintf(name, sizeof(name), "%s_%s", which, v[i].name);
		(void)snprintf(label, sizeof(label), "%s: %s", which, v[i].label);
		result_estimate(res, name, label, v[i].unit, &v[i].e);
	}
}

static void report_states(struct result *res, const struct sustain_states *f)
{
	struct table *t = empty_table(res, 0);

	for (size_t k = 0; k < f->n; k++) {
		const struct sustain_state *st = &f->v[k];

		result_row(t, &(struct state_row){ st->from_s, st->to_s, st->rate.value, st->worst_bytes_per_s,
		                                   st->bytes, st->requests, st->p999_ns });
	}
}

/* More than the unit's own name: a credit of requests is counted in them. */
static void report_burst(struct result *res, const struct sustain_states *f, const struct sustain_state *burst)
{
	double s = burst->to_s - burst->from_s, scale = s / burst->bytes;

	result_estimate(res, "burst_bytes", "burst: size", UNIT_BYTES, &f->amount);
	result_figure(res, "burst_s", "burst: duration", UNIT_S, s,
	              &(struct interval){ f->amount.ci.low * scale, f->amount.ci.high * scale }, 0);
	result_figure(res, "burst_requests", "burst: requests", UNIT_COUNT, burst->requests, NULL, 0);
}

/* What is slower than the burst, and still faster than the last state: a second cache. */
static void report_second(struct result *res, const struct sustain_states *f)
{
	bool is_there = f->burst + 2 < f->n && f->v[f->burst + 1].rate.value > sustain_last(f)->rate.value;
	const struct sustain_state *s = &f->v[is_there ? f->burst + 1 : 0];

	result_estimate(res, "second_bytes_per_s", "second state: rate", UNIT_BYTES_PER_S,
	                is_there ? &s->rate : &STATS_UNKNOWN);
	result_figure(res, "second_bytes", "second state: size", UNIT_BYTES, is_there ? s->bytes : (double)NAN, NULL,
	              0);
}

void sustain_report_figures(struct result *res, const struct sustain_states *f, const struct sustain_found *found,
                            bool has_waits)
{
	const struct sustain_state none = { .to_s = NAN,
		                            .bytes = NAN,
		                            .requests = NAN,
		                            .rate = STATS_UNKNOWN,
		                            .worst_bytes_per_s = NAN,
		                            .p999_ns = NAN };
	const struct sustain_state *last = f->n ? sustain_last(f) : &none;
	const struct sustain_state *burst = f->burst < f->n ? &f->v[f->burst] : &none;

	if (has_waits)
		report_states(res, f);
	report_state(res, "burst", burst, has_waits);
	report_burst(res, f, burst);
	report_second(res, f);
	report_state(res, "settled", found->is_settled ? last : &none, has_waits);
	result_estimate(res, "last_bytes_per_s", "last state, not settled", UNIT_BYTES_PER_S,
	                found->is_settled ? &none.rate : &last->rate);
	result_figure(res, "last_s", "last state, not settled: duration", UNIT_S,
	              found->is_settled ? (double)NAN : last->to_s - last->from_s, NULL, 0);
	result_estimate(res, "minute_of_rest_bytes", "a minute of rest brings back", UNIT_BYTES, &found->minute_bytes);
	result_figure_text(res, "limited_by", "limited by", causes[found->cause]);
	result_figure(res, "cause_log10_ratio", "evidence for that limit (log10 odds)", UNIT_NONE,
	              found->cause_log10_ratio, NULL, 0);
	result_figure(res, "burst_log10_ratio", "evidence for a burst (log10 odds)", UNIT_NONE,
	              f->burst < f->n ? f->log10_ratio : (double)NAN, NULL, 0);
	result_figure(res, "asked_bytes_per_s", "rate asked for and kept up", UNIT_BYTES_PER_S, f->asked_bytes_per_s,
	              NULL, 0);
	result_figure(res, "pts_steady_s", "steady by the rule of SNIA's PTS", UNIT_S, f->pts_s, NULL, 0);
	result_figure(res, "measured_s", "measured without a rest", UNIT_S, f->time_s, NULL, 0);
	res->verdict_is_open = !found->is_settled || found->cause == SUSTAIN_UNKNOWN;
}

int sustain_again(const struct result *saved, struct result *ret, struct err *err)
{
	const struct table *t = result_find_table(saved, "rates"), *rests = result_find_table(saved, "rests");
	struct sustain_rests r = { .again_bytes_per_s = figure_number(result_find_figure(saved, "again_bytes_per_s")) };
	struct sustain_series s;
	struct sustain_states f;
	struct sustain_found found;
	bool is_known;

	if (!t || t->nrows < 2 || t->nrows > SUSTAIN_BINS)
		return err_set(err, -ENODATA, "The document has no rates.");
	sustain_series_init(&s, false);
	for (; s.n < t->nrows; s.n++)
		table_row(t, s.n, bin_fields, &s.v[s.n]);
	for (; rests && r.n < rests->nrows && r.n < SUSTAIN_RESTS; r.n++)
		table_row(rests, r.n, rest_fields, &r.v[r.n]);
	s.asked_bytes_per_s = fmax(0, figure_number(result_find_figure(saved, "asked_bytes_per_s")));
	s.depth = atof(result_option_text(saved, "depth") ?: "0");
	s.width_s = s.v[s.n - 1].time_s - s.v[s.n - 2].time_s;
	s.time_s = fmax(figure_number(result_find_figure(saved, "measured_s")), 0);
	is_known = sustain_states(&s, &f);
	if (is_known) {
		sustain_find_cause(&f, &r, &found);
		sustain_report_figures(ret, &f, &found, false);
	}
	sustain_series_done(&s);
	return is_known ? 0 : err_set(err, -ENODATA, "The document has too few rates.");
}
