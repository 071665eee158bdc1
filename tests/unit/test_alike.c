/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which documents belong together, and what is compared of them: by documents whose truth is known by construction.
 */
#include "test.h"

#include "cases.h"
#include "cli/cli.h"
#include "golden.h"
#include "measure/measures.h"
#include "report/alike.h"
#include "report/report.h"
#include "sample.h"

/* A target as documents have it; machine is the host's. */
struct spot {
	const char *path, *kind, *disk, *serial, *wwn, *model, *firmware;
	uint64_t size_bytes, partition_offset_bytes;
	const char *machine, *serial_of, *shared_names, *fs_type, *transport, *alias;
};

/* The first is no column of a target. */
static const struct field spot_keys[] = {
	FIELD_STR(struct spot, machine, "host"),
	FIELD_STR(struct spot, path, "path"),
	FIELD_STR(struct spot, kind, "kind"),
	FIELD_STR(struct spot, disk, "disk"),
	FIELD_STR(struct spot, serial, "serial"),
	FIELD_STR(struct spot, wwn, "wwn"),
	FIELD_STR(struct spot, model, "model"),
	FIELD_STR(struct spot, firmware, "firmware"),
	FIELD_U64(struct spot, size_bytes, UNIT_BYTES, "size"),
	FIELD_U64(struct spot, partition_offset_bytes, UNIT_BYTES, "place on the disk"),
	FIELD_STR(struct spot, serial_of, "serial of"),
	FIELD_STR(struct spot, shared_names, "shared"),
	FIELD_STR(struct spot, fs_type, "file system"),
	FIELD_STR(struct spot, transport, "transport"),
	FIELD_STR(struct spot, alias, "alias"),
	FIELD_END,
};
static const struct field *const spot_fields = spot_keys + 1;

static const struct spot sda = { "/dev/sda", "disk", "sda", "S1", "0x5000", "M", "1.0", 1000000, 0 };

static struct result *zones_at(const struct spot *at, const char *started, double rate)
{
	struct result *res = result_new("zones");
	struct interval ci = { 0.99 * rate, 1.01 * rate };

	result_set(&res->head.started, started);
	result_set(&res->head.host.machine_id, at->machine);
	result_set(&res->head.host.name, at->machine);
	result_target(res, at, spot_fields);
	res->status = STATUS_COMPLETE;
	result_figure(res, "mean_bytes_per_s", "mean", UNIT_BYTES_PER_S, rate, &ci, 64);
	return res;
}

/* As in folders, where not all is of one kind: how many pairs are found; -1: they are not alike at all. *ret_no:
 * something differs. */
static int pairs_in_folders(const struct result *a, const struct result *b, bool *ret_no, const char *code)
{
	struct result *other = result_new("seek"), *res = NULL;
	const struct result *va[] = { a, other }, *vb[] = { b, other };
	struct compare_options opt = { 0 };
	struct err err = { 0 };
	int n = -1;

	other->status = STATUS_COMPLETE;
	result_target(other, &sda, spot_fields);
	if (report_compare(va, 2, vb, 2, &opt, &res, &err) == 0)
		n = (int)figure_number(result_find_figure(res, "pairs")) - 1; /* seek with itself */
	*ret_no = res && res->verdict_is_no;
	if (code)
		assert_true(res && (result_has_notice(res, code) || result_find_table(res, code)));
	result_free(res);
	result_free(other);
	return n;
}

/* The two of a case, later one another; whether they belong together. */
static bool two_of(struct cases *c, struct result *both[2])
{
	for (size_t i = 0; i < 2; i++) {
		struct spot at = { 0 };

		cases_fill(cases_field(c), spot_keys, &at);
		both[i] = zones_at(&at, i ? "2026-01-01T00:00:00.000000Z" : "2025-01-01T00:00:00.000000Z", 1e8);
	}
	return strcmp(cases_field(c), "yes") == 0;
}

/* By fleets, trends, comparisons alike: they ask alike_same_disk(), as alike() does. */
TEST(documents_belong_together_where_host_name_and_place_say_so)
{
	struct cases c = cases_open(TEST_DATA "/cases/targets");

	while (cases_next(&c)) {
		struct result *v[2];
		bool is_one = two_of(&c, v), no = false;
		const struct result *both[] = { v[0], v[1] };

		if (strstr(c.title, "folders")) {
			if (pairs_in_folders(v[0], v[1], &no, is_one ? NULL : "no-like") != is_one || no)
				fail_msg("case %zu, %s", c.n, c.title);
		} else if (alike_same_disk(v[0], v[1]) != is_one || alike_same_disk(v[1], v[0]) != is_one) {
			fail_msg("case %zu, %s", c.n, c.title);
		} else if (!is_one && strcmp(target_text(v[0]->targets, "kind"), "disk") == 0) {
			/* and each line of a fleet says whose it is */
			assert_int_equal(report_fleet_disks(both, 2), 2);
			if (!target_text(v[0]->targets, "shared_names"))
				assert_string_not_equal(alike_disk(v[0]), alike_disk(v[1]));
		}
		result_free(v[0]);
		result_free(v[1]);
	}
	assert_true(c.n > 25);
}

/* Everything but when it was, as metrics; heap. */
static char *metrics_of(const struct result *res)
{
	return WRITTEN(f, assert_int_equal(report_prometheus(f, &res, 1, NAN), 0));
}

/* Documents of one disk that differ in one option. */
static bool are_one_series(const char *measurement, const char *option, const char *was, const char *is)
{
	struct result *v[2];
	char *text[2], why[WHY_TEXT];
	bool are_alike, are_one;

	for (size_t i = 0; i < 2; i++) {
		v[i] = zones_at(&sda, "2025-01-01T00:00:00.000000Z", 1e8);
		result_set(&v[i]->head.measurement, measurement);
		result_option(v[i], option, i ? is : was);
		text[i] = metrics_of(v[i]);
	}
	are_alike = alike(v[0], v[1], why) == ALIKE;
	are_one = strcmp(text[0], text[1]) == 0;
	for (size_t i = 0; i < 2; i++) {
		result_free(v[i]);
		free(text[i]);
	}
	if (are_alike != are_one)
		fail_msg("%s --%s: comparisons and metrics disagree", measurement, option);
	return are_one;
}

/* What the table of options has, and nothing beside it, says what makes another series. */
TEST(another_option_is_another_series_unless_its_table_sets_it_aside)
{
	static const struct {
		const char *measurement, *option, *was, *is;
		bool are_one;
	} known[] = {
		{ "zones", "json", "a.json", "b.json", true },   { "zones", "precision", "1%", "2%", true },
		{ "zones", "time", "1m", "2m", true },           { "sustain", "time", "1m", "2m", false },
		{ "zones", "write", "no", "yes", false },        { "zones", "block", "", "64KiB", false },
		{ "seek", "quick", "no", "yes", false },         { "transactions", "arrivals", "5", "10", false },
		{ "zones", "health", "smartctl", "none", true }, { "zones", "option-of-tomorrow", "1", "2", false },
		{ "of-tomorrow", "zoom", "near", "far", false },
	};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (are_one_series(known[i].measurement, known[i].option, known[i].was, known[i].is) !=
		    known[i].are_one)
			fail_msg("%s --%s", known[i].measurement, known[i].option);
	for (const struct measure *const *m = measures; *m; m++) {
		const struct opt *tables[] = { (*m)->opts, common_opts };

		for (size_t k = 0; k < ARRAY_LEN(tables); k++)
			for (const struct opt *o = tables[k]; o && o->type != OPT_TYPE_END; o++, n++) {
				bool aside = o->is_aside || o->writes ||
				             (!strcmp(o->name, "time") && ((*m)->precision > 0.0 || (*m)->judges));

				if (are_one_series((*m)->name, o->name, "as it was", "as it is") != aside)
					fail_msg("%s --%s", (*m)->name, o->name);
			}
	}
	print_message("%zu options\n", n);
}

TEST(a_run_that_was_cut_short_is_no_like_and_errors_are_a_difference)
{
	static const struct {
		enum result_status a, b;
		int pairs;
		bool no;
	} cases[] = {
		{ STATUS_COMPLETE, STATUS_COMPLETE, 1, false },   { STATUS_COMPLETE, STATUS_WITH_ERRORS, 1, true },
		{ STATUS_COMPLETE, STATUS_DEVICE_GONE, 1, true }, { STATUS_WITH_ERRORS, STATUS_WITH_ERRORS, 1, false },
		{ STATUS_COMPLETE, STATUS_CANCELLED, 0, false },  { STATUS_COMPLETE, STATUS_FAILED, 0, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_result struct result *a = zones_at(&sda, "2025-01-01T00:00:00.000000Z", 1e8);
		cleanup_result struct result *b = zones_at(&sda, "2026-01-01T00:00:00.000000Z", 1e8);
		bool no;

		a->status = cases[i].a;
		b->status = cases[i].b;
		if (pairs_in_folders(a, b, &no, NULL) != cases[i].pairs || no != cases[i].no)
			fail_msg("%s and %s", status_name(cases[i].a), status_name(cases[i].b));
	}
}

TEST(what_disturbed_a_run_or_was_set_otherwise_is_reported)
{
	struct spot newer = sda;
	struct result *a = zones_at(&sda, "2025-01-01T00:00:00.000000Z", 1e8), *b;
	bool no;

	newer.firmware = "2.0";
	b = zones_at(&newer, "2026-01-01T00:00:00.000000Z", 1e8);
	result_notice(b, "other-io", "Others were there.");
	assert_int_equal(pairs_in_folders(a, b, &no, "disturbed"), 1);
	assert_int_equal(pairs_in_folders(a, b, &no, "changes"), 1);
	assert_false(no);
	result_free(a);
	result_free(b);
}

/* Counts: of what the run did never, of trouble beyond chance, with an interval by it. */
TEST(counts_are_compared_by_what_they_are)
{
	static const struct {
		const char *name;
		double a, b, half;
		bool no;
	} cases[] = {
		{ "transactions", 785, 779, NAN, false }, { "page_faults", 2, 900, NAN, false },
		{ "checksum", 1, 2, NAN, false },         { "reads", 453, 460, NAN, false },
		{ "tracks", 100000, 100400, 500, false }, { "tracks", 100000, 101000, 500, true },
		{ "surfaces", 4, 4, 0, false },           { "surfaces", 4, 6, 0, true },
		{ "slow_regions", 0, 1, NAN, true },      { "slow_regions", 7, 8, NAN, false },
		{ "slow_regions", 7, 40, NAN, true },     { "verify_errors", 0, 3, NAN, true },
		{ "sustained", 1, 0, NAN, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct result *res[2];

		bool no;

		for (int k = 0; k < 2; k++) {
			double v = k ? cases[i].b : cases[i].a;
			struct interval ci = { v - cases[i].half, v + cases[i].half };

			res[k] = zones_at(&sda, "2025-01-01T00:00:00.000000Z", 1e8);
			result_figure(res[k], cases[i].name, NULL, UNIT_COUNT, v, &ci, 0);
		}
		assert_true(pairs_in_folders(res[0], res[1], &no, NULL) >= 1);
		if (no != cases[i].no)
			fail_msg("%s %g and %g", cases[i].name, cases[i].a, cases[i].b);
		result_free(res[0]);
		result_free(res[1]);
	}
}

/* ---- trend ---- */

#define MONTHS 12

/* The later half is half as fast, or the disk has vanished at the end: because of what, and is it a trend? */
TEST(a_trend_is_of_quiet_whole_runs_of_one_test)
{
	static const struct {
		const char *option, *notice, *reported;
		enum result_status bad, last;
		bool is_step, is_degrading;
	} ways[] = {
		{ .is_degrading = true },
		/* six of each, and the second six are getting slower by themselves */
		{ .option = "depth", .is_degrading = true },
		{ .option = "write", .is_degrading = true },
		{ .option = "write", .is_step = true },
		{ .notice = "other-io", .reported = "disturbed" },
		{ .bad = STATUS_CANCELLED, .last = STATUS_CANCELLED },
		{ .last = STATUS_DEVICE_GONE, .reported = "status", .is_degrading = true },
	};
	struct compare_options opt = { 0 };
	struct rng rng;

	rng_init(&rng, 1, 1);
	for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
		struct result *doc[MONTHS], *res = NULL;

		for (int i = 0; i < MONTHS; i++) {
			bool is_bad = i >= 6, is_slower = is_bad && ways[w].last != STATUS_DEVICE_GONE;
			double slower = ways[w].is_step ? 2.0 : 1.0 + 0.1 * i;

			doc[i] = zones_at(&sda, textf("2025-%02d-01T00:00:00.000000Z", i + 1),
			                  1e8 * (1.0 + 0.001 * rng_normal(&rng)) / (is_slower ? slower : 1.0));
			if (ways[w].option)
				result_option(doc[i], ways[w].option, is_bad ? "yes" : "no");
			if (ways[w].notice && is_bad)
				result_notice(doc[i], ways[w].notice, "Others were there.");
			doc[i]->status = i == MONTHS - 1 ? ways[w].last : is_bad ? ways[w].bad : STATUS_COMPLETE;
		}
		MUST(report_trend((const struct result *const *)doc, MONTHS, &opt, &res, &err));
		if (res->verdict_is_no != ways[w].is_degrading)
			fail_msg("way %zu", w);
		assert_true(!ways[w].reported || result_has_notice(res, ways[w].reported));
		result_free(res);
		for (int i = 0; i < MONTHS; i++)
			result_free(doc[i]);
	}
}

/* ---- comparison ---- */

static bool differs(const struct result *a, const struct result *b, double threshold)
{
	struct compare_options opt = { .threshold = threshold };
	cleanup_result struct result *res = NULL;
	bool no;

	MUST(report_compare(&a, 1, &b, 1, &opt, &res, &err));
	no = res->verdict_is_no;
	return no;
}

TEST(files_have_an_answer_as_well_and_no_slope_where_runs_of_one_day_show_none)
{
	static const struct spot folder = { .machine = "m1", .path = "/data", .kind = "directory", .fs_type = "ext4" };
	struct compare_options opt = { 0 };
	struct result *v[3], *res = NULL;
	const struct table *t;

	for (size_t i = 0; i < 3; i++) {
		char started[] = "2026-01-01T00:00:00.000000Z";

		started[18] = (char)('0' + i);
		v[i] = zones_at(&folder, started, 1e8 + 1e5 * (double)(i % 2));
	}
	MUST(report_trend((const struct result *const *)v, 3, &opt, &res, &err));
	assert_string_equal(res->answer, "m1:/data does not get worse by more than measurement noise in 3 runs from "
	                                 "2026-01-01 to 2026-01-01.");
	t = result_find_table(res, "trends");
	assert_int_equal(t->nrows, 1);
	assert_true(isnan(table_number_of(t, 0, "per_year_percent")));
	result_free(res);
	for (size_t i = 0; i < 3; i++)
		result_free(v[i]);
}

TEST(the_next_command_of_a_run_is_no_difference)
{
	cleanup_result struct result *a = sample_zones("A", "1", "2026-01-01T00:00:00.000000Z", 64, 1.0);
	cleanup_result struct result *b = sample_zones("A", "1", "2026-02-01T00:00:00.000000Z", 64, 1.0);

	result_figure_text(a, "next_command", "to read each block", "platter surface sda");
	result_figure_text(b, "next_command", "to read each block", "platter surface sdb");
	assert_false(differs(a, b, 0.0));
}

TEST(a_change_beyond_the_intervals_is_found_and_one_within_is_not)
{
	static const struct {
		double scale, at_20, threshold;
		bool differs;
	} cases[] = { { 1.0, 1.0, 0.0, false },
		      { 1.004, 1.0, 0.0, false },
		      { 0.95, 1.0, 0.0, true },
		      { 0.95, 1.0, 0.06, false },
		      { 1.0, 0.9, 0.0, true } }; /* one bad place in an equal curve */
	cleanup_result struct result *a = sample_zones("A", "1", "2026-01-01T00:00:00.000000Z", 64, 1.0);

	assert_false(differs(a, a, 0.0));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_result struct result *b =
			sample_zones("A", "1", "2026-02-01T00:00:00.000000Z", 64, cases[i].scale);
		struct table *t = b->tables[0];

		for (size_t c = 1; c <= 3; c++)
			t->cells[20 * t->ncolumns + c].f64 *= cases[i].at_20;
		if (differs(a, b, cases[i].threshold) != cases[i].differs)
			fail_msg("case %zu", i);
	}
}

/* A place beside a step of the curve is on this side of it in one run and on the other in the next; a slow one has no
 * step beside it there. */
TEST(a_step_beside_the_place_is_no_difference_but_a_slow_place_is)
{
	enum { STEP = 30, SLOW = 50 };

	for (int is_slow = 0; is_slow < 2; is_slow++)
		for (int is_earlier = 0; is_earlier < 2; is_earlier++) {
			struct result *doc[2];

			for (int k = 0; k < 2; k++) {
				struct table *t;

				doc[k] = sample_zones("A", "1",
				                      k ? "2026-02-01T00:00:00.000000Z" : "2026-01-01T00:00:00.000000Z",
				                      64, 1.0);
				t = doc[k]->tables[0];
				for (size_t i = 0; i < 64; i++) {
					bool is_behind = (int)i >= STEP + (k == is_earlier),
					     is_bad = is_slow && k && i == SLOW;

					t->cells[i * t->ncolumns].u64 += k ? 1000000 : 0;
					for (size_t c = 1; c <= 3; c++)
						t->cells[i * t->ncolumns + c].f64 *=
							(is_behind ? 0.9 : 1.0) * (is_bad ? 0.9 : 1.0);
				}
			}
			assert_true(differs(doc[0], doc[1], 0.0) == is_slow);
			assert_true(differs(doc[1], doc[0], 0.0) == is_slow);
			result_free(doc[0]);
			result_free(doc[1]);
		}
}

struct span {
	uint64_t span_bytes, samples, hits;
	double mean_ns, low, high;
};

static const struct field span_fields[] = {
	FIELD_U64(struct span, span_bytes, UNIT_BYTES, "span"),
	FIELD_U64(struct span, samples, UNIT_COUNT, "reads"),
	FIELD_U64(struct span, hits, UNIT_COUNT, "hits"),
	FIELD_F64(struct span, mean_ns, UNIT_NS, "mean"),
	FIELD_F64(struct span, low, UNIT_NS, "low"),
	FIELD_F64(struct span, high, UNIT_NS, "high"),
	FIELD_END,
};

TEST(what_the_drives_cache_left_of_a_span_is_not_compared)
{
	for (uint64_t hits = 1; hits <= 100; hits *= 100) {
		struct result *doc[2];

		for (int k = 0; k < 2; k++) {
			double mean = k ? 6e6 : 5e6;

			doc[k] = result_new("seek");
			doc[k]->status = STATUS_COMPLETE;
			result_row(result_table(doc[k], "spans", "Spans", span_fields),
			           &(struct span){ 1000000, 100, k ? hits : 0, mean, 0.96 * mean, 1.04 * mean });
		}
		assert_true(differs(doc[0], doc[1], 0.0) == (hits == 1));
		assert_true(differs(doc[1], doc[0], 0.0) == (hits == 1));
		result_free(doc[0]);
		result_free(doc[1]);
	}
}
