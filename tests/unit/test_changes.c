/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `compare` says of two, and of a history: same, different or neither, by documents whose truth is known by
 * construction. Real runs of simulated disks are in test_compare.c. PLATTER_LONG=1: more fleets.
 */
#include "test.h"

#include "report/report.h"
#include "rows.h"
#include "sample.h"

struct reading { /* of one figure: a value with its 95 % interval, as parts of it */
	double value, half;
};

static struct result *document(const char *serial, const char *started, const struct reading *v, size_t n)
{
	struct sample_target target = { "/dev/sda", "MODEL", serial, 4000000000000 };
	struct result *res = result_new("zones");

	res->status = STATUS_COMPLETE;
	result_set(&res->head.started, started);
	result_target(res, &target, sample_target_fields);
	for (size_t i = 0; i < n; i++) {
		struct interval ci = { v[i].value * (1.0 - v[i].half), v[i].value * (1.0 + v[i].half) };

		result_figure(res, textf("f%zu_bytes_per_s", i), textf("rate %zu", i), UNIT_BYTES_PER_S, v[i].value,
		              &ci, 30);
	}
	return res;
}

/* Two figures. */
#define V(v, half, w, half_of_w)     \
	{                            \
		{ v, half },         \
		{                    \
			w, half_of_w \
		}                    \
	}

TEST(two_are_the_same_only_where_their_difference_is_surely_small)
{
	static const struct {
		struct reading a[2], b[2];
		double threshold, tolerance;
		const char *verdicts[2];
		bool no, open;
	} cases[] = {
		/* a percent off, known well; what cannot be known of the second figure does not decide */
		{ V(1e8, 0.003, 5e7, 0.6), V(1.005e8, 0.003, 6e7, 0.6), 0, 0, { "same", "cannot tell" }, false, false },
		/* nothing is known */
		{ V(1e8, 0.5, 5e7, 0.6), V(1.1e8, 0.5, 6e7, 0.6), 0, 0, { "cannot tell", "cannot tell" }, false, true },
		/* equal, and not known within the tolerance: also that is open */
		{ V(1e8, 0.05, 5e7, 0.05),
		  V(1e8, 0.05, 5e7, 0.05),
		  0,
		  0,
		  { "cannot tell", "cannot tell" },
		  false,
		  true },
		{ V(1e8, 0.05, 5e7, 0.05), V(1e8, 0.05, 5e7, 0.05), 0, 0.2, { "same", "same" }, false, false },
		{ V(1e8, 0.003, 5e7, 0.003),
		  V(1e8, 0.003, 5e7, 0.003),
		  0,
		  0.001,
		  { "cannot tell", "cannot tell" },
		  false,
		  true },
		/* what differs is not open, whatever else cannot be known */
		{ V(1e8, 0.003, 5e7, 0.6), V(0.874e8, 0.003, 5e7, 0.6), 0, 0, { "worse", "cannot tell" }, true, false },
		/* surely different, and not by enough to count */
		{ V(1e8, 0.001, 5e7, 0.001), V(0.98e8, 0.001, 5e7, 0.001), 0.03, 0, { "same", "same" }, false, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct result *a = document("S1", "2026-01-01T00:00:00.000000Z", cases[i].a, 2), *res = NULL;
		cleanup_result struct result *b = document("S1", "2026-02-01T00:00:00.000000Z", cases[i].b, 2);
		struct compare_options opt = { .threshold = cases[i].threshold, .tolerance = cases[i].tolerance };
		const struct table *t;

		MUST(report_compare((const struct result *const *)&a, 1, (const struct result *const *)&b, 1, &opt,
		                    &res, &err));
		t = result_find_table(res, "differences");
		for (size_t row = 0; row < 2; row++) {
			const char *verdict = string_of(t, row, "verdict");
			size_t f = (size_t)(string_of(t, row, "figure")[1] - '0');

			if (strcmp(verdict, cases[i].verdicts[f]) != 0)
				fail_msg("case %zu, figure %zu: %s", i, f, verdict);
			if (!strcmp(verdict, "same")) /* what is called so is within the tolerance */
				assert_true(table_number_of(t, row, "high_percent") <=
				            100.0 * fmax(fmax(cases[i].tolerance > 0.0 ? cases[i].tolerance
				                                                       : COMPARE_TOLERANCE,
				                              cases[i].threshold),
				                         0.0) +
				                    1e-6);
		}
		assert_int_equal(res->verdict_is_no, cases[i].no);
		assert_int_equal(res->verdict_is_open, cases[i].open);
		result_free(res);
		result_free(a);
	}
}

TEST(the_answer_names_both_and_says_by_how_much)
{
	static const struct reading was[] = { { 99.6e6, 0.003 } }, slow[] = { { 87.4e6, 0.003 } },
				    noisy[] = { { 99.6e6, 0.4 } };
	static const struct {
		const struct reading *b;
		const char *says[6];
	} cases[] = {
		{ was,
		  { "No difference between S1 (2026-01-01, a.json) and S2 (2026-02-01, b.json) larger than measurement noise",
		    "%)." } },
		{ slow,
		  { "B, S2 (2026-02-01, b.json), differs from A, S1 (2026-01-01, a.json)", "rate 0: 12.2 % slower",
		    "99.6 MB/s -> 87.4 MB/s" } },
		{ noisy, { "Cannot tell", "S1 (2026-01-01, a.json)", "5 %" } },
	};
	static const char *const files[] = { "a.json", "b.json" };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct result *a = document("S1", "2026-01-01T00:00:00.000000Z", was, 1), *res = NULL;
		cleanup_result struct result *b = document("S2", "2026-02-01T00:00:00.000000Z", cases[i].b, 1);
		struct compare_options opt = { .files = files };

		MUST(report_compare((const struct result *const *)&a, 1, (const struct result *const *)&b, 1, &opt,
		                    &res, &err));
		for (size_t k = 0; k < 6 && cases[i].says[k]; k++)
			if (!strstr(res->answer, cases[i].says[k]))
				fail_msg("'%s' is not in: %s", cases[i].says[k], res->answer);
		result_free(res);
		result_free(a);
	}
}

/* ---- a history ---- */

#define MONTHS  12
#define DISKS   40
#define FIGURES 3

struct fleet {
	struct result *v[DISKS * MONTHS];
	size_t n, disks;
};

/* rate: of a disk in a month, as a part of what it was made for. */
static void make(struct fleet *f, size_t disks, uint64_t seed, double noise, double (*rate)(size_t disk, size_t month))
{
	struct rng rng;

	rng_init(&rng, seed, 4);
	*f = (struct fleet){ .disks = disks };
	for (size_t month = 0; month < MONTHS; month++)
		for (size_t d = 0; d < disks; d++) {
			struct reading v[FIGURES];

			for (size_t i = 0; i < FIGURES; i++)
				v[i] = (struct reading){ 215e6 * rate(d, month) * (1.0 + noise * rng_normal(&rng)),
					                 0.004 };
			f->v[f->n++] =
				document(textf("SERIAL%zu", d),
			                 textf("2025-%02zu-0%zuT00:00:00.000000Z", month + 1, 1 + d % 9), v, FIGURES);
		}
}

static void drop(struct fleet *f)
{
	for (size_t i = 0; i < f->n; i++)
		result_free(f->v[i]);
}

/*
 * How many disks have a row that is worse after so many months; ret_third: whether disk 3 has one, and the date of its
 * step, if it has.
 */
static size_t worse_after(const struct fleet *f, size_t months, bool *ret_third, char *ret_since)
{
	struct compare_options opt = { 0 };
	cleanup_result struct result *res = NULL;
	const struct table *t;
	bool is_worse[DISKS] = { false };
	size_t n = 0, d;

	MUST(report_trend((const struct result *const *)f->v, months * f->disks, &opt, &res, &err));
	t = result_find_table(res, "trends");
	for (size_t row = 0; row < t->nrows; row++) {
		const char *since = string_of(t, row, "since");

		if (strcmp(string_of(t, row, "verdict"), "worse") != 0)
			continue;
		d = strtoul(strstr(string_of(t, row, "disk"), "SERIAL") + 6, NULL, 10);
		is_worse[d] = true;
		if (d == 3)
			(void)snprintf(ret_since, 11, "%s", since ? since : "");
	}
	for (d = 0; d < DISKS; d++)
		n += is_worse[d];
	*ret_third = is_worse[3];
	return n;
}

static double steady(size_t disk, size_t month)
{
	return 1.0;
}

/* Eight months at 215 MB/s, then 161. */
static double steps(size_t disk, size_t month)
{
	return disk == 3 && month >= 8 ? 161.0 / 215.0 : 1.0;
}

static double falls(size_t disk, size_t month)
{
	return disk == 3 ? 1.0 - 0.02 * (double)month : 1.0;
}

TEST(a_step_is_seen_in_the_second_run_behind_it_and_a_fall_by_its_slope)
{
	size_t years = getenv("PLATTER_LONG") ? 100 : 12, seen = 0, fallen = 0;

	for (uint64_t seed = 1; seed <= years; seed++) {
		char since[11] = "";
		struct fleet f;
		bool is_seen;

		make(&f, 5, seed, 0.01, steps);
		(void)worse_after(&f, 10, &is_seen, since);
		seen += is_seen && !strncmp(since, "2025-09", 7);
		drop(&f);
		make(&f, 5, seed, 0.01, falls);
		(void)worse_after(&f, 10, &is_seen, since);
		fallen += is_seen;
		drop(&f);
	}
	print_message(
		"of %zu years: steps of 25 %% seen in the second run %zu, falls of 2 %% a month within ten runs %zu\n",
		years, seen, fallen);
	assert_int_equal(seen, years);
	assert_int_equal(fallen, years);
}

TEST(forty_disks_raise_at_most_one_false_alarm_in_a_year)
{
	size_t years = getenv("PLATTER_LONG") ? 100 : 4, alarms = 0;

	for (uint64_t seed = 1; seed <= years; seed++) {
		char since[11];
		struct fleet f;
		bool is_third;

		make(&f, DISKS, 100 + seed, 0.01, steady);
		for (size_t months = 3; months <= MONTHS; months++)
			alarms += worse_after(&f, months, &is_third, since);
		drop(&f);
	}
	print_message("false alarms of forty disks asked each month: %zu in %zu years\n", alarms, years);
	assert_true(alarms <= years);
}

TEST(a_disturbed_run_is_left_out_and_its_reason_is_shown)
{
	struct compare_options opt = { 0 };
	cleanup_result struct result *res = NULL;
	bool is_shown = false;
	struct fleet f;

	make(&f, 1, 1, 0.001, steady);
	for (size_t i = 8; i < 12; i++) { /* half as fast while another program reads */
		result_figure(f.v[i], "f0_bytes_per_s", "rate 0", UNIT_BYTES_PER_S, 1e8, NULL, 30);
		result_notice(f.v[i], "other-io", "Others were there.");
	}
	MUST(report_trend((const struct result *const *)f.v, 12, &opt, &res, &err));
	assert_false(res->verdict_is_no);
	for (size_t i = 0; i < res->nnotices; i++)
		is_shown |= strstr(res->notices[i].text, "2025-09-01 is left out: other-io") != NULL;
	assert_true(is_shown);
	drop(&f);
}
