/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test.h"

#include <sys/wait.h>

#include "base/utf8.h"
#include "base/xalloc.h"
#include "result/result.h"

struct row {
	uint64_t offset_bytes;
	int64_t shift;
	double rate_bytes_per_s;
	const char *name;
};

static const struct field row_fields[] = {
	FIELD_U64(struct row, offset_bytes, UNIT_BYTES, "Offset"),
	FIELD_I64(struct row, shift, UNIT_COUNT, "Shift", .detail = true),
	FIELD_F64(struct row, rate_bytes_per_s, UNIT_BYTES_PER_S, "Rate"),
	FIELD_STR(struct row, name, "Name"),
	FIELD_END,
};

static int make(void **state)
{
	*state = result_new("test");
	return 0;
}

static int drop(void **state)
{
	result_free(*state);
	return 0;
}

TEST_WITH(a_new_result_has_failed_until_somebody_says_better, make, drop)
{
	const struct result *res = *state;

	assert_int_equal(res->status, STATUS_FAILED);
	assert_string_equal(res->head.measurement, "test");
	assert_string_equal(res->head.program, "platter " PLATTER_VERSION);
	result_free(NULL);
}

TEST_WITH(rows_are_copied_and_null_is_kept_apart_from_numbers, make, drop)
{
	struct result *res = *state;
	struct table *t = result_table(res, "curve", "Curve", row_fields);
	char name[] = "one";
	struct row row = { .offset_bytes = 4096, .shift = -3, .rate_bytes_per_s = 1.5, .name = name };

	result_row(t, &row);
	name[0] = 'X';
	result_row(t, &(struct row){ .offset_bytes = UINT64_MAX, .rate_bytes_per_s = (double)NAN });
	result_row(t, &(struct row){ .rate_bytes_per_s = -(double)INFINITY });
	assert_ptr_equal(result_table(res, "curve", "other", row_fields), t);
	assert_ptr_equal(result_find_table(res, "curve"), t);
	assert_null(result_find_table(res, "none"));
	assert_int_equal(t->nrows, 3);
	assert_int_equal(table_column(t, "rate_bytes_per_s"), 2);
	assert_int_equal(table_column(t, "rate"), -1);
	assert_true(table_number(t, 0, 0) == 4096);
	assert_true(table_number(t, 0, 1) == -3);
	assert_true(table_number(t, 0, 2) == 1.5);
	assert_true(isnan(table_number(t, 0, 3)));
	assert_string_equal(table_string(t, 0, 3), "one");
	assert_null(table_string(t, 0, 0));
	assert_true(isnan(table_number(t, 1, 0)));
	assert_true(isnan(table_number(t, 1, 2)));
	assert_null(table_string(t, 1, 3));
	assert_true(table_number(t, 2, 0) == 0);
	assert_true(isnan(table_number(t, 2, 2)));
	assert_true(t->columns[1].detail);
	assert_false(t->columns[0].detail);
}

TEST_WITH(a_cleared_table_takes_new_rows, make, drop)
{
	struct table *t = result_table(*state, "curve", "Curve", row_fields);

	for (int round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 100; i++)
			result_row(t, &(struct row){ .offset_bytes = i, .name = "text" });
		assert_int_equal(t->nrows, 100);
		assert_true(table_number(t, 99, 0) == 99);
		result_table_clear(t);
		assert_int_equal(t->nrows, 0);
	}
}

TEST_WITH(rows_beyond_the_limit_are_dropped_with_one_notice, make, drop)
{
	struct result *res = *state;
	struct table *t = result_table(res, "long", "Long", row_fields);

	for (uint64_t i = 0; i < RESULT_ROWS_MAX + 5; i++)
		result_row(t, &(struct row){ .offset_bytes = i });
	assert_int_equal(t->nrows, RESULT_ROWS_MAX);
	assert_int_equal(res->nnotices, 1);
	assert_true(result_has_notice(res, "rows-dropped"));
	assert_non_null(strstr(res->notices[0].text, "'long'"));
}

TEST_WITH(no_interval_is_narrower_than_the_clock, make, drop)
{
	static const struct {
		enum unit unit;
		double value, half;
		uint64_t samples;
	} table[] = {
		{ UNIT_BYTES_PER_S, 550e6, 550e6 * 15e-6, 100 },
		{ UNIT_RPM, 7200, 7200 * 15e-6, 9 },
		{ UNIT_NS, 1e6, 1e6 * 15e-6 + 1, 0 },
		{ UNIT_S, 2, 2 * 15e-6 + 1e-9, 0 },
		{ UNIT_PER_S, 100, 0.1, 1000 },
		{ UNIT_PER_S, 100, 100 * 15e-6, 0 },
		{ UNIT_COUNT, 12, 0, 0 },
	};
	struct result *res = *state;

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct interval none = { table[i].value, table[i].value },
				wide = { table[i].value / 2, table[i].value * 2 };
		const struct figure *f;

		result_figure(res, "a", NULL, table[i].unit, table[i].value, &none, table[i].samples);
		f = result_find_figure(res, "a");
		assert_true(fabs(f->ci.low - (table[i].value - table[i].half)) <= 1e-9 * table[i].value);
		assert_true(fabs(f->ci.high - (table[i].value + table[i].half)) <= 1e-9 * table[i].value);
		result_figure(res, "a", NULL, table[i].unit, table[i].value, &wide, table[i].samples);
		f = result_find_figure(res, "a");
		assert_true(f->ci.low == wide.low && f->ci.high == wide.high);
	}
}

TEST_WITH(an_interval_of_a_rate_that_reaches_to_zero_is_none_and_of_a_time_is_cut, make, drop)
{
	struct result *res = *state;
	struct interval ci = { -1.0, 4.0 };

	result_figure(res, "a_bytes_per_s", NULL, UNIT_BYTES_PER_S, 1.5, &ci, 2);
	result_figure(res, "a_gap_ns", NULL, UNIT_NS, 2.5, &ci, 2);
	assert_true(figure_number(result_find_figure(res, "a_bytes_per_s")) == 1.5);
	assert_true(isnan(result_find_figure(res, "a_bytes_per_s")->ci.low));
	assert_true(isnan(result_find_figure(res, "a_bytes_per_s")->ci.high));
	assert_true(result_find_figure(res, "a_gap_ns")->ci.low == 0.0);
	ci = (struct interval){ 0.0, 13547303862241.0 };
	result_figure(res, "b_bytes_per_s", NULL, UNIT_BYTES_PER_S, 1.5, &ci, 2);
	assert_true(isnan(result_find_figure(res, "b_bytes_per_s")->ci.high));
	ci = (struct interval){ -108e6, 527e6 };
	result_figure(res, "a_bytes", NULL, UNIT_BYTES, 210e6, &ci, 2);
	assert_true(result_find_figure(res, "a_bytes")->ci.low == 0.0);
}

/* "0 to 4775540780 MB/s": nothing is known of it. */
TEST_WITH(a_rate_that_is_not_known_to_a_power_of_ten_is_no_figure, make, drop)
{
	struct result *res = *state;

	for (double wide = 2.0; wide < 1e9; wide *= 2.0) {
		struct interval ci = { 1e9 / wide, 1e9 * wide };

		result_figure(res, "a_bytes_per_s", NULL, UNIT_BYTES_PER_S, 1e9, &ci, 3);
		assert_int_equal(isnan(figure_number(result_find_figure(res, "a_bytes_per_s"))), wide * wide > 10.0);
		assert_int_equal(isnan(result_find_figure(res, "a_bytes_per_s")->ci.low), wide * wide > 10.0);
	}
}

TEST_WITH(a_figure_that_is_set_again_is_replaced_in_its_place, make, drop)
{
	struct result *res = *state;
	struct interval ci = { 1.0, 2.0 }, bad = { (double)NAN, 2.0 };
	const struct figure *f;

	result_figure(res, "a_bytes_per_s", "A", UNIT_BYTES_PER_S, 1.5, &ci, 12);
	result_figure_text(res, "layout", NULL, "head-first");
	result_figure_u64(res, "surfaces", "Surfaces", UNIT_COUNT, 4);
	result_figure_text(res, "a_bytes_per_s", "A", "text now");
	result_figure_text(res, "layout", NULL, NULL);
	assert_int_equal(res->nfigures, 3);
	f = result_find_figure(res, "a_bytes_per_s");
	assert_ptr_equal(f, &res->figures[0]);
	assert_string_equal(f->value.str, "text now");
	assert_true(isnan(f->ci.low));
	assert_true(isnan(figure_number(f)));
	assert_true(result_find_figure(res, "layout")->value.is_null);
	assert_true(figure_number(result_find_figure(res, "surfaces")) == 4);
	assert_true(isnan(figure_number(result_find_figure(res, "none"))));
	result_figure(res, "layout", NULL, UNIT_NONE, (double)INFINITY, &bad, 1);
	f = result_find_figure(res, "layout");
	assert_true(f->value.is_null);
	assert_true(isnan(f->ci.low) && isnan(f->ci.high));
	result_figure_u64(res, "surfaces", "Surfaces", UNIT_COUNT, UINT64_MAX);
	assert_true(result_find_figure(res, "surfaces")->value.is_null);
}

TEST_WITH(many_figures_faults_and_options_find_room, make, drop)
{
	struct result *res = *state;
	char name[32];

	for (int i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof(name), "figure_%d", i);
		result_figure_u64(res, name, NULL, UNIT_COUNT, (uint64_t)i);
		result_option(res, name, "1");
		result_notice(res, name, "Notice %d.", i);
		result_plot(res, &(struct plot){ .kind = name });
		result_target(res, &(struct row){ .offset_bytes = 1, .name = name }, row_fields);
	}
	result_option(res, "figure_7", "2");
	assert_int_equal(res->nfigures, 300);
	assert_int_equal(res->head.noptions, 300);
	assert_string_equal(res->head.options[7].text, "2");
	assert_true(figure_number(result_find_figure(res, "figure_299")) == 299);
	assert_string_equal(res->plots[299].kind, "figure_299");
	assert_null(res->plots[299].series);
	assert_int_equal(res->ntargets, 300);
	assert_string_equal(res->targets[299].cells[3].str, "figure_299");
}

TEST_WITH(faults_are_listed_up_to_a_limit_and_counted_beyond_it, make, drop)
{
	struct result *res = *state;

	for (uint64_t i = 0; i < RESULT_FAULTS_MAX + 200; i++)
		result_fault(res, "/dev/sda", "read", i * 4096, 4096, i % 4 ? -EIO : 512, 0.5);
	result_fault(res, "/dev/sda", "write", 0, 4096, -ENOSPC, 1);
	assert_int_equal(res->nfaults, RESULT_FAULTS_MAX);
	assert_int_equal(result_fault_count(res), RESULT_FAULTS_MAX + 201);
	assert_int_equal(res->nfault_totals, 3);
	assert_string_equal(res->fault_totals[0].name, "short");
	assert_int_equal(res->fault_totals[0].n, 300);
	assert_string_equal(res->fault_totals[1].name, "EIO");
	assert_int_equal(res->fault_totals[1].n, 900);
	assert_string_equal(res->fault_totals[2].name, "ENOSPC");
	assert_null(res->faults[0].errno_name);
	assert_string_equal(res->faults[1].errno_name, "EIO");
	assert_string_equal(res->faults[1].op, "read");
}

/* Of a kind a hundred, of all so many that a document of others, with a code for each, does not cost the square of its
 * length; and one says that there were more. */
TEST_WITH(the_same_notice_is_kept_once_and_of_many_one_says_that_there_were_more, make, drop)
{
	static const char more[] = "There was more of this than is listed.";
	struct result *res = *state;
	char code[32];

	result_notice(res, "first", "One of another kind.");
	for (int i = 0; i < 100000; i++)
		result_notice(res, "stalled", "Nothing for %d s.", i / 2);
	result_notice(res, "last", "One of another kind.");
	assert_true(result_has_notice(res, "stalled") && !result_has_notice(res, "stall"));
	assert_int_equal(res->nnotices, RESULT_NOTICES_MAX + 3);
	assert_string_equal(res->notices[RESULT_NOTICES_MAX].text, "Nothing for 99 s.");
	assert_string_equal(res->notices[RESULT_NOTICES_MAX + 1].code, "stalled");
	assert_string_equal(res->notices[RESULT_NOTICES_MAX + 1].text, more);
	assert_string_equal(res->notices[RESULT_NOTICES_MAX + 2].code, "last");
	for (int i = 0; i < 200000; i++) {
		(void)snprintf(code, sizeof(code), "code-%d", i);
		result_notice(res, code, "Another one.");
	}
	assert_int_equal(res->nnotices, RESULT_NOTICES_ALL);
	assert_string_equal(res->notices[RESULT_NOTICES_ALL - 2].text, "Another one.");
	assert_string_equal(res->notices[RESULT_NOTICES_ALL - 1].text, more);
}

TEST_WITH(hostile_names_are_made_utf8_wherever_they_enter, make, drop)
{
	struct result *res = *state;
	const char *bad = "M\xff";
	const char *good = "M" UTF8_REPLACEMENT;
	struct table *t = result_table(res, bad, bad, row_fields);

	result_row(t, &(struct row){ .name = bad });
	result_figure_text(res, "figure", bad, bad);
	result_fault(res, bad, "read", 0, 0, -5, 0);
	result_notice(res, bad, "%s", bad);
	result_option(res, bad, bad);
	result_target(res, &(struct row){ .name = bad }, row_fields);
	result_plot(res, &(struct plot){ .title = bad ? (char *)(uintptr_t)bad : NULL });
	result_argv(res, &bad, 1);
	result_set(&res->head.engine, bad);
	assert_string_equal(t->name, good);
	assert_string_equal(t->title, good);
	assert_string_equal(table_string(t, 0, 3), good);
	assert_string_equal(res->figures[0].label, good);
	assert_string_equal(res->figures[0].value.str, good);
	assert_string_equal(res->faults[0].target, good);
	assert_string_equal(res->notices[0].text, good);
	assert_string_equal(res->head.options[0].text, good);
	assert_string_equal(res->targets[0].cells[3].str, good);
	assert_string_equal(res->plots[0].title, good);
	assert_string_equal(res->head.argv[0], good);
	assert_string_equal(res->head.engine, good);
}

TEST_WITH(a_string_can_be_set_to_itself, make, drop)
{
	struct result *res = *state;

	result_set(&res->head.engine, "uring");
	result_set(&res->head.engine, res->head.engine);
	assert_string_equal(res->head.engine, "uring");
	result_set(&res->head.engine, NULL);
	assert_null(res->head.engine);
}

TEST(unit_names_and_units_belong_together)
{
	for (int u = UNIT_NONE; u <= UNIT_PER_S; u++)
		assert_int_equal(unit_by_name(unit_name((enum unit)u)), u);
	assert_int_equal(unit_by_name("parsec"), UNIT_NONE);
	assert_int_equal(unit_by_name(NULL), UNIT_NONE);
	assert_string_equal(unit_name(UNIT_NONE), "number");
	assert_string_equal(unit_name(UNIT_BYTES_PER_S), "bytes_per_s");
	for (int s = STATUS_COMPLETE; s <= STATUS_FAILED; s++)
		assert_true(strlen(status_name((enum result_status)s)) > 3);
	assert_string_equal(status_name(STATUS_DEVICE_GONE), "device-gone");
}

TEST(memory_that_is_missing_ends_the_program_with_a_sentence)
{
	char said[200] = "";
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		(void)dup2(fds[1], STDERR_FILENO);
		(void)xmust(NULL); /* as where calloc() has none */
		_exit(0);
	}
	assert_true(pid > 0);
	(void)close(fds[1]);
	assert_true(read(fds[0], said, sizeof(said) - 1) > 0);
	(void)close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_non_null(strstr(said, "Out of memory."));
}
