/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `zones` makes of a real drive's readings (tests/data/reads-twice): a healthy one, whose hiccups are those of its
 * host. */
#include "test.h"

#include "measure/zones/zones.h"
#include "report/alike.h"
#include "report/report.h"

#define PIECES 1024
#define PLACES 64 /* of a curve, each of sixteen pieces */
#define BYTES  (4u << 20)
#define CHECKS 6
#define REV_NS (60e9 / 5400)

struct reads {
	double us[2][PIECES];
};

static void load(struct reads *ret)
{
	FILE *f = fopen(TEST_DATA "/reads-twice", "re");
	size_t n[2] = { 0 };
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		size_t run = line[0] == '1' ? 0 : 1;
		char *end, *at = line + 1;

		for (double us; line[0] != '#' && (us = strtod(at, &end), end != at); at = end) {
			assert_true(n[run] < PIECES);
			ret->us[run][n[run]++] = us;
		}
	}
	(void)fclose(f);
	assert_true(n[0] == PIECES && n[1] == PIECES);
}

/* The document of runs first to last, each a pass over so many places. slow_us: so much more in pieces 500 to 519. */
static struct result *document(const struct reads *reads, size_t first, size_t last, double slow_us, size_t places)
{
	struct device dev = { .path = "/dev/sda", .disk_size_bytes = 160041885696u, .logical_block_bytes = 512 };
	struct zone_layout l = { .end_bytes = (uint64_t)PIECES * BYTES,
		                 .align_bytes = 512,
		                 .block_bytes = BYTES / 16,
		                 .cell_bytes = (uint64_t)PIECES / places * BYTES,
		                 .slots = (uint32_t)(2 * PIECES / places),
		                 .npositions = places,
		                 .middle = places / 2,
		                 .end = places - 1,
		                 .rev_ns = REV_NS,
		                 .interface_bytes_per_s = NAN };
	struct zone_target t = { .dev = &dev, .layout = l };
	struct zones_params p = { .positions = PIECES };
	struct zones_run run = { .res = result_new("zones"), .p = &p, .targets = &t, .ntargets = 1 };
	double at_s = 0.0, usual = reads->us[0][PIECES / 2];

	dev.size_bytes = l.end_bytes;
	t.layout.positions = calloc(places, sizeof(*t.layout.positions));
	t.samples.v = calloc((size_t)2 * PIECES + 2 * CHECKS, sizeof(*t.samples.v));
	assert_true(t.layout.positions && t.samples.v);
	for (size_t i = 0; i < places; i++)
		t.layout.positions[i].cell_bytes = i * l.cell_bytes;
	for (size_t k = first * PIECES; k < (last + 1) * PIECES; k++) {
		size_t i = k % PIECES;
		double ns = 1e3 * (reads->us[k / PIECES][i] + (i >= 500 && i < 520 ? slow_us : 0.0));
		double lost = floor((ns - 1e3 * usual) / REV_NS + 0.1), part = ns / BYTES;

		at_s += ns * 1e-9;
		t.samples.v[t.samples.n++] =
			(struct zone_sample){ .position = i / (PIECES / places),
			                      .kind = SAMPLE_CURVE,
			                      .pass = (uint32_t)(k / PIECES + i % (PIECES / places)),
			                      .first_bytes = i * BYTES,
			                      .from_bytes = i * BYTES,
			                      .end_bytes = (i + 1) * BYTES,
			                      .moved_bytes = BYTES,
			                      .elapsed_ns = ns,
			                      .ns_per_byte = part,
			                      .part_ns_per_byte = { part, part, part, part },
			                      .se_ratio = 0.005,
			                      .at_s = at_s,
			                      .written.flush_ns = NAN,
			                      .lost.waits = (uint32_t)fmax(lost, 0.0), /* all that it may have been */
			                      .lost.revs = (uint32_t)fmax(lost, 0.0),
			                      .is_good = true };
	}
	/* Pieces before it and of it once more, in other requests. */
	for (size_t k = 0; k < (slow_us > 0.0 ? 2 * CHECKS : 0); k++) {
		struct zone_sample *s = &t.samples.v[t.samples.n++];

		*s = t.samples.v[k % 2 ? 500 + k : 400 + k];
		s->kind = SAMPLE_CHECK;
		s->check_of = k % 2 ? 500 + k : 400 + k;
		s->position = ZONE_NONE;
		s->at_s = at_s += s->elapsed_ns * 1e-9;
	}
	zone_analyse(&t);
	zones_report(&run, true);
	run.res->status = STATUS_COMPLETE;
	zone_layout_done(&t.layout);
	zone_analysis_free(t.analysis);
	free(t.samples.v);
	return run.res;
}

static size_t slow_regions(const struct reads *reads, size_t first, size_t last, double slow_us)
{
	cleanup_result struct result *res = document(reads, first, last, slow_us, PIECES);
	size_t n = result_find_table(res, "slow_regions")->nrows;

	return n;
}

TEST(no_slow_region_is_told_of_a_healthy_drive_by_either_run_or_both)
{
	struct reads *reads = calloc(1, sizeof(*reads));

	assert_non_null(reads);
	load(reads);
	for (size_t run = 0; run < 2; run++)
		assert_int_equal(slow_regions(reads, run, run, 0.0), 0);
	assert_int_equal(slow_regions(reads, 0, 1, 0.0), 0);
	/* Two revolutions in each of twenty pieces, in both: that would be one. */
	assert_int_equal(slow_regions(reads, 0, 1, 2.0 * REV_NS * 1e-3), 1);
	free(reads);
}

/* The second run, every piece by so much faster. */
static struct result *faster(const struct reads *reads, double by)
{
	struct reads *less = malloc(sizeof(*less));
	struct result *res;

	assert_non_null(less);
	for (size_t i = 0; i < PIECES; i++)
		less->us[0][i] = less->us[1][i] = reads->us[1][i] / by;
	res = document(less, 1, 1, 0.0, PLACES);
	free(less);
	return res;
}

/* Their means differ by 0.33 %: no run shows by itself how much they do. Two percent are a difference. */
TEST(two_runs_of_a_healthy_drive_are_no_difference)
{
	struct reads *reads = calloc(1, sizeof(*reads));
	struct compare_options opt = { 0 };
	struct result *a, *b, *said;
	double apart;

	assert_non_null(reads);
	load(reads);
	a = document(reads, 0, 0, 0.0, PLACES);
	for (int is_changed = 0; is_changed < 2; is_changed++) {
		b = faster(reads, is_changed ? 0.98 : 1.0);
		apart = figure_number(result_find_figure(b, "mean_bytes_per_s")) /
		                figure_number(result_find_figure(a, "mean_bytes_per_s")) -
		        1.0;
		MUST(report_compare((const struct result *const *)&a, 1, (const struct result *const *)&b, 1, &opt,
		                    &said, &err));
		print_message("means %+.2f %% apart: %s\n", 100.0 * apart,
		              said->verdict_is_no ? "a difference" : "no difference");
		assert_true(said->verdict_is_no == !!is_changed);
		result_free(said);
		result_free(b);
	}
	result_free(a);
	free(reads);
}

/* However well each run knows its own mean: what lies between two runs is in neither interval. */
TEST(sharp_means_as_far_apart_as_two_runs_are_no_difference)
{
	static const double means[] = { 65.0219e6, 65.2360e6, 66.0e6 };
	struct compare_options opt = { 0 };
	struct result *res[3];

	for (size_t i = 0; i < 3; i++) {
		struct interval ci = { means[i] * 0.9995, means[i] * 1.0005 };

		res[i] = result_new("zones");
		res[i]->status = STATUS_COMPLETE;
		result_figure(res[i], "mean_bytes_per_s", "mean rate", UNIT_BYTES_PER_S, means[i], &ci, 200);
	}
	/* How long it took is of the run. */
	result_figure(res[0], "used_s", "time used", UNIT_S, 50.0, NULL, 0);
	assert_int_equal(figure_role(result_find_figure(res[0], "used_s")), FIGURE_OF_RUN);
	for (size_t i = 1; i < 3; i++) {
		struct result *said;

		MUST(report_compare((const struct result *const *)&res[0], 1, (const struct result *const *)&res[i], 1,
		                    &opt, &said, &err));
		assert_true(said->verdict_is_no == (i == 2));
		result_free(said);
	}
	for (size_t i = 0; i < 3; i++)
		result_free(res[i]);
}
