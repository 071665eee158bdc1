/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which disks of a fleet go bad: on documents whose truth is known by construction, so that many fleets can be judged.
 * Real runs of simulated disks are in cli/fleet.sh. PLATTER_LONG=1: more fleets.
 */
#include "test.h"

#include <ctype.h>

#include "device/columns.h"
#include "device/device.h"
#include "report/disks.h"

#include "fleetfigures.h"
#include "rows.h"

#define DISKS  24
#define MONTHS 8

#define FIGURES (ARRAY_LEN(figures))

struct fleet_run {
	struct result *v[DISKS * MONTHS];
	size_t n, months;
	double bad_by_month,
		odd_by; /* disk 3's rates fall by this part a month; disk 5 is off by this part from the start */
	bool is_step;   /* disk 3's fall comes in mid-term, at once */
};

static struct result *document(const char *serial, const char *path, size_t month)
{
	struct result *res = result_new("zones");
	struct target t = { path, "disk", NULL, "MODEL", serial, NULL, 4000000000000, 4000000000000 };
	const char *started = textf("%zu-%02zu-01T00:00:00.000000Z", 2024 + month / 12, month % 12 + 1);

	result_set(&res->head.started, started);
	result_set(&res->head.host.kernel, "6.1");
	result_set(&res->head.engine, "uring");
	result_target(res, &t, target_fields);
	res->status = STATUS_COMPLETE;
	return res;
}

/* Disks differ by a hundredth, runs of one disk by a five-hundredth. */
static void make_fleet(struct fleet_run *run, uint64_t seed)
{
	struct rng rng;

	rng_init(&rng, seed, 1);
	for (size_t d = 0; d < DISKS; d++) {
		double made[FIGURES];

		for (size_t f = 0; f < FIGURES; f++)
			made[f] =
				figures[f].value * (1.0 + 0.01 * rng_normal(&rng)) * (d == 5 ? 1.0 + run->odd_by : 1.0);
		for (size_t month = 0; month < run->months; month++) {
			struct result *res;

			res = document(textf("S%02zu", d), textf("/dev/sd%c", (char)('a' + (d + 7 * month) % DISKS)),
			               month);
			for (size_t f = 0; f < FIGURES; f++) {
				double fall = d == 3 && figures[f].unit == UNIT_BYTES_PER_S ? run->bad_by_month : 0.0;
				double value =
					made[f] * (1.0 + 0.002 * rng_normal(&rng)) *
					(1.0 - fall * (double)(run->is_step ? month / (MONTHS / 2) * MONTHS : month));
				struct interval ci = { value * 0.996, value * 1.004 };

				result_figure(res, figures[f].name, NULL, figures[f].unit, value, &ci, 30);
			}
			result_figure_u64(res, "slow_regions", "slow regions", UNIT_COUNT, 0);
			run->v[run->n++] = res;
		}
	}
}

static void free_fleet(struct fleet_run *run)
{
	for (size_t i = 0; i < run->n; i++)
		result_free(run->v[i]);
	run->n = 0;
}

static struct fleet *judged(const struct fleet_run *run, double threshold)
{
	return fleet_of((const struct result *const *)run->v, run->n, threshold);
}

static enum fleet_state state_of(const struct fleet *f, const char *serial)
{
	for (size_t d = 0; d < f->ndisks; d++)
		if (strcmp(alike_disk(f->disks[d].v[0]), serial) == 0)
			return f->disks[d].state;
	fail_msg("no disk %s", serial);
	return FLEET_FEW;
}

static size_t fleets_of(size_t brief)
{
	return getenv("PLATTER_LONG") ? 100 * brief : brief;
}

TEST(a_disk_that_falls_and_a_disk_that_is_unlike_are_named_and_nothing_else)
{
	size_t n = fleets_of(10), exact = 0;

	for (size_t seed = 1; seed <= n; seed++) {
		struct fleet_run run = { .months = MONTHS, .bad_by_month = 0.01, .odd_by = -0.12, .is_step = seed % 2 };
		struct fleet *f;

		make_fleet(&run, 1000 + seed);
		f = judged(&run, 0.02);
		exact += state_of(f, "S03") == FLEET_WORSE && state_of(f, "S05") == FLEET_ODD &&
		         f->disks[2].state == FLEET_GOOD;
		fleet_free(f);
		free_fleet(&run);
	}
	print_message("%zu of %zu fleets are reported exactly\n", exact, n);
	assert_true((double)exact >= 0.97 * (double)n - 1.0);
}

/* Half of the disks of another kind: nobody can say who of them is the odd one. */
TEST(two_kinds_of_disks_are_no_outliers)
{
	struct fleet_run run = { .months = 1 };
	struct fleet *f;

	make_fleet(&run, 7);
	for (size_t i = 0; i < run.n; i += 3)
		run.v[i]->figures[0].value.f64 *= 1.3;
	f = judged(&run, 0.02);
	for (size_t d = 0; d < f->ndisks; d++)
		assert_int_equal(f->disks[d].state, FLEET_FEW);
	fleet_free(f);
	free_fleet(&run);
}

static void set_count(struct result *res, const char *figure, uint64_t n)
{
	result_figure_u64(res, figure, NULL, UNIT_COUNT, n);
}

TEST(what_was_seen_is_shown_by_how_often)
{
	static const struct {
		uint64_t slow[3], unreadable[3];
		enum fleet_state state;
	} cases[] = {
		{ { 0, 0, 0 }, { 0, 0, 0 }, FLEET_GOOD },    { { 0, 0, 1 }, { 0, 0, 0 }, FLEET_WATCH },
		{ { 0, 1, 1 }, { 0, 0, 0 }, FLEET_WORSE },   { { 2, 2, 2 }, { 0, 0, 0 }, FLEET_WATCH },
		{ { 2, 3, 4 }, { 0, 0, 0 }, FLEET_WORSE },   { { 0, 1, 0 }, { 0, 0, 0 }, FLEET_GOOD },
		{ { 0, 0, 0 }, { 0, 0, 1 }, FLEET_FAILING }, { { 0, 0, 0 }, { 1, 1, 0 }, FLEET_GOOD },
	};

	for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
		struct fleet_run run = { 0 };
		struct fleet *f;

		for (size_t i = 0; i < 3; i++) {
			run.v[i] = document("S1", "/dev/sda", i);
			set_count(run.v[i], "slow_regions", cases[c].slow[i]);
			set_count(run.v[i], "unreadable_regions", cases[c].unreadable[i]);
		}
		run.n = 3;
		f = judged(&run, 0.02);
		if (f->disks[0].state != cases[c].state)
			fail_msg("case %zu is %s, not %s", c, fleet_state_name(f->disks[0].state),
			         fleet_state_name(cases[c].state));
		fleet_free(f);
		free_fleet(&run);
	}
}

/* w: whole, c: cut short; upper case: with an error. The same question by two doors: which runs does the state rest on?
 */
TEST(a_run_counts_until_a_whole_one_follows_and_cut_short_by_the_harm_it_saw_alone)
{
	static const struct {
		const char *runs, *last;
		enum fleet_state state;
	} cases[] = {
		{ "Www", "001", FLEET_WATCH }, { "wWw", "001", FLEET_WATCH }, { "wwW", "001", FLEET_WATCH },
		{ "wwc", "010", FLEET_FEW },   { "wwC", "011", FLEET_WATCH }, { "wCw", "001", FLEET_WATCH },
		{ "Cww", "001", FLEET_WATCH }, { "ccc", "111", FLEET_FEW },   { "ccC", "111", FLEET_WATCH },
		{ "wcc", "100", FLEET_FEW },   { "wCC", "111", FLEET_WATCH }, { "www", "001", FLEET_GOOD },
	};

	for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
		struct fleet_run run = { .n = 3 };
		struct fleet *f;

		for (size_t i = 0; i < 3; i++) {
			char is = cases[c].runs[i];

			run.v[i] = document("S1", "/dev/sda", i);
			if (isupper(is))
				result_fault(run.v[i], "sda", "read", 0, 512, -5, 1.0);
			run.v[i]->status = tolower(is) == 'c' ? STATUS_CANCELLED
			                   : isupper(is)      ? STATUS_WITH_ERRORS
			                                      : STATUS_COMPLETE;
		}
		for (size_t i = 0; i < 3; i++)
			if (report_is_last((const struct result *const *)run.v, 3, i) != (cases[c].last[i] == '1'))
				fail_msg("%s: run %zu is %s of the last", cases[c].runs, i,
				         cases[c].last[i] == '1' ? "not one" : "one");
		f = judged(&run, 0.02);
		if (f->disks[0].state != cases[c].state)
			fail_msg("%s is %s", cases[c].runs, fleet_state_name(f->disks[0].state));
		fleet_free(f);
		free_fleet(&run);
	}
}

TEST(what_changed_between_runs_is_reported_once_for_many_disks)
{
	static const struct field with_heat[] = { FIELD_STR(struct device_row, path, "path"),
		                                  FIELD_STR(struct device_row, serial, "serial"),
		                                  FIELD_STR(struct device_row, firmware, "firmware"),
		                                  FIELD_F64(struct device_row, temperature_celsius, UNIT_NONE, "t"),
		                                  FIELD_END };
	struct result *v[6], *out = result_new("changes");
	const struct table *t;

	for (size_t i = 0; i < 6;
	     i++) { /* two disks, three runs each: a new kernel before the last, and one new firmware, and warmer */
		struct device_row row = { .path = "x",
			                  .serial = i % 2 ? "S1" : "S2",
			                  .firmware = i >= 3 && i % 2 ? "2.0" : "1.0",
			                  .temperature_celsius = i < 4    ? 30.0
			                                         : i == 4 ? 41.0
			                                                  : 39.0 };

		v[i] = result_new("zones");
		result_set(&v[i]->head.started, i < 2   ? "2025-01-01T00:00:00"
		                                : i < 4 ? "2025-02-01T00:00:00"
		                                        : "2025-03-01T00:00:00");
		result_set(&v[i]->head.host.kernel, i < 4 ? "6.1" : "6.6");
		result_target(v[i], &row, with_heat);
	}
	alike_changes(out, (const struct result *const *)v, 6, false);
	t = result_find_table(out, "changes");
	assert_non_null(t);
	assert_int_equal(t->nrows, 3);
	for (size_t r = 0; r < t->nrows; r++) {
		const char *what = string_of(t, r, "what");
		bool is_kernel = strcmp(what, "kernel") == 0, is_firmware = strcmp(what, "firmware") == 0;

		assert_true(is_kernel || is_firmware || strcmp(what, "temperature_celsius") == 0);
		assert_int_equal(number(t, r, "disks"), is_kernel ? 2 : 1);
		assert_string_equal(string_of(t, r, "after"), is_kernel ? "6.6" : is_firmware ? "2.0" : "41");
		assert_string_equal(string_of(t, r, "from"), is_firmware ? "2025-01-01" : "2025-02-01");
	}
	result_free(out);
	for (size_t i = 0; i < 6; i++)
		result_free(v[i]);
}

TEST(a_hostile_folder_is_borne)
{
	struct result *res[] = { result_new("zones"), document("S1", "x", 0), document("S1", "x", 0),
		                 document("S2", "<b>", 1) };
	struct compare_options opt = { 0.02 };
	struct result *out;
	struct err err = { 0 };
	FILE *f = fopen("/dev/null", "w");

	assert_non_null(f);
	result_set(&res[2]->head.started, "yesterday");
	result_figure(res[3], "mean_bytes_per_s", NULL, UNIT_BYTES_PER_S, NAN, NULL, 0);
	for (size_t n = 1; n <= 4; n++) {
		out = report_fleet((const struct result *const *)res, n, &opt);
		assert_int_equal(report_text(f, out, &(struct text_style){ 0 }), 0);
		result_free(out);
		assert_int_equal(report_page(f, (const struct result *const *)res, n, &opt, &err), 0);
	}
	for (size_t i = 0; i < 4; i++)
		result_free(res[i]);
	(void)fclose(f);
}
