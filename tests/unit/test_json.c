/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test.h"

#include <locale.h>
#include <time.h>

#include "result/result.h"

struct row {
	uint64_t offset_bytes;
	int64_t shift;
	double rate_bytes_per_s, low, high;
	const char *name;
};

static const struct field row_fields[] = {
	FIELD_U64(struct row, offset_bytes, UNIT_BYTES, "Offset"),
	FIELD_I64(struct row, shift, UNIT_COUNT, "Shift", .detail = true),
	FIELD_F64(struct row, rate_bytes_per_s, UNIT_BYTES_PER_S, "Rate"),
	FIELD_F64(struct row, low, UNIT_BYTES_PER_S, "Low"),
	FIELD_F64(struct row, high, UNIT_BYTES_PER_S, "High"),
	FIELD_STR(struct row, name, "Name"),
	FIELD_END,
};

/* A document of which every part is filled. */
static struct result *full(void)
{
	struct result *res = result_new("zones");
	const char *argv[] = { "platter", "zones", "--seed=1", "/dev/sdx" };
	struct interval ci = { 182.8e6, 183.6e6 };
	struct table *t = result_table(res, "curve", "Transfer rate", row_fields);

	res->status = STATUS_WITH_ERRORS;
	result_argv(res, argv, ARRAY_LEN(argv));
	result_set(&res->head.started, "2026-11-20T12:00:00.123456Z");
	result_set(&res->head.clock, "CLOCK_MONOTONIC");
	result_set(&res->head.engine, "uring");
	result_set(&res->head.host.kernel, "6.1.0");
	res->head.host.cpus = 2;
	res->head.host.memory_bytes = 1ull << 34;
	res->head.elapsed_s = 61.25;
	res->head.seed = UINT64_MAX - 1;
	result_option(res, "block", "1MiB");
	result_option(res, "json", NULL);
	result_target(res, &(struct row){ .offset_bytes = 1, .name = "\"\\\n\t\x01\x7f/</script>" }, row_fields);
	result_row(t, &(struct row){ .offset_bytes = 0, .shift = -1, .rate_bytes_per_s = 183.2e6, .name = "a" });
	result_row(t, &(struct row){ .offset_bytes = UINT64_MAX, .rate_bytes_per_s = (double)NAN });
	result_row(t, &(struct row){ .offset_bytes = 1ull << 63, .shift = INT64_MIN, .low = 1.0 / 3, .high = 1e-300 });
	(void)result_table(res, "empty", NULL, row_fields);
	result_figure(res, "start_bytes_per_s", "Start", UNIT_BYTES_PER_S, 183.2e6, &ci, 12);
	result_figure_u64(res, "checksum", NULL, UNIT_NONE, UINT64_MAX - 7);
	result_figure_text(res, "layout", "Layout", "head-first");
	result_figure_text(res, "serial", "Serial", "18446744073709551614");
	result_figure(res, "rotation_rpm", "Rotation", UNIT_RPM, (double)NAN, NULL, 0);
	result_fault(res, "/dev/sdx", "read", 123456789, 65536, -EIO, 12.5);
	result_fault(res, "/dev/sdx", "read", 123456789, 65536, 512, 13);
	result_notice(res, "other-io", "Something else read %d MB; stop it and repeat.", 12);
	result_plot(res, &(struct plot_decl){ .kind = (char *)(uintptr_t) "line",
	                                      .table = (char *)(uintptr_t) "curve",
	                                      .x = (char *)(uintptr_t) "offset_bytes",
	                                      .y = (char *)(uintptr_t) "rate_bytes_per_s" });
	return res;
}

static void expect_same_text_after_loading(const struct result *res)
{
	cleanup_result struct result *back = NULL;
	struct err err = { 0 };
	char *first = result_to_json(res), *second;

	if (result_from_json(&back, first, strlen(first), &err))
		fail_msg("%s\n%s", err.text, first);
	second = result_to_json(back);
	assert_string_equal(first, second);
	free(first);
	free(second);
}

TEST(what_was_loaded_saves_as_the_same_bytes)
{
	cleanup_result struct result *res = full();

	expect_same_text_after_loading(res);
	result_free(res);
	res = result_new("empty");
	expect_same_text_after_loading(res);
}

/* ---- round trips ---- */

TEST(two_hundred_thousand_cells_come_back_as_the_same_bytes)
{
	cleanup_result struct result *res = result_new("large");
	struct table *tables[2] = { result_table(res, "one", "One", row_fields),
		                    result_table(res, "two", "Two", row_fields) };
	char name[24];
	struct rng rng;

	rng_init(&rng, 7, 7);
	for (int i = 0; i < 33334; i++) {
		uint64_t bits = rng_u64(&rng);
		struct row row = { .offset_bytes = rng_u64(&rng) >> (rng_u64(&rng) & 63),
			           .shift = (int64_t)rng_u64(&rng),
			           .low = (double)(rng_u64(&rng) % 1000000007) / 1000,
			           .high = ldexp((double)rng_u64(&rng), (int)(rng_u64(&rng) % 200) - 100),
			           .name = i % 3 ? name : NULL };

		memcpy(&row.rate_bytes_per_s, &bits, sizeof(bits)); /* any double there is, NaNs too */
		(void)snprintf(name, sizeof(name), "row %d \xc3\xa4\t\"", i);
		result_row(tables[i % 2], &row);
	}
	assert_int_equal(tables[0]->nrows + tables[1]->nrows, 33334); /* of 6: 200,004 */
	expect_same_text_after_loading(res);
}

/* Processor time, so that a busy machine does not matter; the least of some tries, for that clock counts what is stolen
 * from a virtual machine. */
static double cpu_s(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

TEST(ten_thousand_rows_are_saved_and_loaded_in_under_300_ms)
{
	enum { TRIES = 5 };
	cleanup_result struct result *res = result_new("large");
	struct table *t = result_table(res, "one", "One", row_fields);
	double took = INFINITY;

	for (int i = 0; i < 10000; i++)
		result_row(t, &(struct row){ .offset_bytes = (uint64_t)i << 20,
		                             .shift = i,
		                             .rate_bytes_per_s = 183.2e6 / (1 + i),
		                             .low = 1e8 / (3 + i),
		                             .high = 1e8 / (2 + i),
		                             .name = "middle" });
	for (unsigned try = 0; try < TRIES && took >= 0.3; try++) {
		double begin = cpu_s();
		cleanup_result struct result *back = NULL;
		cleanup_free char *text = result_to_json(res);

		assert_int_equal(result_from_json(&back, text, strlen(text), NULL), 0);
		took = fmin(took, cpu_s() - begin);
		print_message("10,000 rows of 6 columns: %.3f s, %zu bytes\n", took, strlen(text));
	}
#if !defined(__SANITIZE_ADDRESS__) && defined(__OPTIMIZE__)
	assert_true(took < 0.3);
#endif
}

TEST(every_part_survives_the_way_through_a_file)
{
	struct result *res = full(), *back = NULL;
	cleanup_free char *text = result_to_json(res);
	const struct table *t;
	const struct figure *f;

	assert_int_equal(result_from_json(&back, text, strlen(text), NULL), 0);
	assert_int_equal(back->status, STATUS_WITH_ERRORS);
	assert_string_equal(back->head.measurement, "zones");
	assert_int_equal(back->head.argc, 4);
	assert_string_equal(back->head.argv[3], "/dev/sdx");
	assert_true(back->head.seed == UINT64_MAX - 1);
	assert_true(back->head.elapsed_s == 61.25);
	assert_int_equal(back->head.host.cpus, 2);
	assert_null(back->head.host.cpu);
	assert_int_equal(back->head.noptions, 2);
	assert_null(back->head.options[1].text);
	assert_int_equal(back->ntargets, 1);
	assert_string_equal(back->targets[0].columns[5].key, "name");
	assert_string_equal(back->targets[0].cells[5].str, "\"\\\n\t\x01\x7f/</script>");
	assert_int_equal(back->targets[0].columns[0].unit, UNIT_BYTES);
	t = result_find_table(back, "curve");
	assert_int_equal(t->nrows, 3);
	assert_int_equal(t->columns[0].type, FIELD_TYPE_U64);
	assert_int_equal(t->columns[1].type, FIELD_TYPE_I64);
	assert_int_equal(t->columns[2].type, FIELD_TYPE_F64);
	assert_int_equal(t->columns[5].type, FIELD_TYPE_STR);
	assert_int_equal(t->columns[2].unit, UNIT_BYTES_PER_S);
	assert_string_equal(t->columns[2].label, "Rate");
	assert_true(t->columns[1].detail);
	assert_true(t->cells[2 * t->ncolumns].u64 == 1ull << 63);
	assert_true(t->cells[2 * t->ncolumns + 1].i64 == INT64_MIN);
	assert_true(t->cells[t->ncolumns].is_null);
	assert_true(table_number(t, 2, 3) == 1.0 / 3);
	assert_non_null(result_find_table(back, "empty"));
	f = result_find_figure(back, "start_bytes_per_s");
	assert_true(f->ci.low == 182.8e6 && f->ci.high == 183.6e6);
	assert_int_equal(f->samples, 12);
	assert_int_equal(f->unit, UNIT_BYTES_PER_S);
	assert_true(result_find_figure(back, "checksum")->value.u64 == UINT64_MAX - 7);
	assert_string_equal(result_find_figure(back, "serial")->value.str, "18446744073709551614");
	assert_true(result_find_figure(back, "rotation_rpm")->value.is_null);
	assert_int_equal(back->nfaults, 2);
	assert_int_equal(back->faults[0].result, -EIO);
	assert_string_equal(back->faults[0].errno_name, "EIO");
	assert_null(back->faults[1].errno_name);
	assert_int_equal(result_fault_count(back), 2);
	assert_string_equal(back->notices[0].code, "other-io");
	assert_string_equal(back->plots[0].y, "rate_bytes_per_s");
	assert_null(back->plots[0].series);
	result_free(res);
	result_free(back);
}

TEST(a_loaded_document_can_be_added_to)
{
	struct result *res = full(), *back = NULL;
	cleanup_free char *text = result_to_json(res);

	assert_int_equal(result_from_json(&back, text, strlen(text), NULL), 0);
	for (int i = 0; i < 40; i++) {
		char name[24];

		(void)snprintf(name, sizeof(name), "more_%d", i);
		result_notice(back, name, "Text.");
		result_figure_u64(back, name, NULL, UNIT_COUNT, 1);
		result_fault(back, "x", "read", 0, 0, -EIO, 0);
		result_row(result_table(back, "new", NULL, row_fields), &(struct row){ .name = name });
		result_target(back, &(struct row){ .name = name }, row_fields);
		result_plot(back, &(struct plot_decl){ .kind = name });
		result_option(back, name, name);
	}
	assert_int_equal(result_fault_count(back), 42);
	expect_same_text_after_loading(back);
	result_free(res);
	result_free(back);
}

TEST(the_decimal_comma_of_a_language_changes_nothing)
{
	static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "ru_RU.UTF-8" };
	struct result *res;
	char *plain, *here;
	const char *found = NULL;

	res = full();
	plain = result_to_json(res);
	for (size_t i = 0; i < ARRAY_LEN(names) && !found; i++)
		found = setlocale(LC_ALL, names[i]);
	here = result_to_json(res);
	if (found)
		expect_same_text_after_loading(res);
	(void)setlocale(LC_ALL, "C");
	assert_string_equal(plain, here);
	free(plain);
	free(here);
	result_free(res);
	if (!found) {
		print_message("no such language is installed\n");
		skip();
	}
}

/* ---- documents of others ---- */

#define HEAD \
	"\"schema\": \"platter-result\", \"version\": 1, \"status\": \"complete\", \"head\": {\"measurement\": \"m\"}"

static struct result *load_text(const char *text)
{
	struct result *res = NULL;
	struct err err = { 0 };

	if (result_from_json(&res, text, strlen(text), &err))
		fail_msg("%s\n%s", err.text, text);
	return res;
}

TEST(members_of_later_versions_are_passed_over)
{
	cleanup_result struct result *res = load_text(
		"{ " HEAD
		", \"moon\": [1, {\"a\": []}], \"targets\": [{\"path\": \"/dev/sda\", \"later\": {\"x\": 1}, \"list\": []}],"
		"\"tables\": {\"t\": {\"extra\": 1, \"columns\": [{\"key\": \"a_ns\", \"type\": \"ns\", \"colour\": \"red\"},"
		"{\"key\": \"b\", \"type\": \"parsec\"}, {\"key\": \"c\", \"type\": \"mood\"}], \"rows\": [[1, 2.5, \"good\"], [2, 3, null]]}},"
		"\"notices\": [{\"code\": \"c\", \"text\": \"t\", \"more\": null}], \"plots\": [{\"kind\": \"new\", \"z\": 4}] }");
	const struct table *t = result_find_table(res, "t");

	assert_int_equal(res->status, STATUS_COMPLETE);
	assert_int_equal(res->targets[0].n, 1);
	assert_true(table_number(t, 1, 0) == 2);
	assert_string_equal(t->columns[0].label, "a_ns");
	assert_true(table_number(t, 0, 1) == 2.5);
	assert_string_equal(table_string(t, 0, 2), "good");
	assert_null(table_string(t, 1, 2));
}

TEST(the_least_document_loads)
{
	cleanup_result struct result *res = load_text("{ " HEAD " }");

	assert_int_equal(res->ntables, 0);
	assert_true(isnan(res->head.elapsed_s));
	assert_null(res->head.program);
	expect_same_text_after_loading(res);
}

TEST(figures_without_a_description_get_their_unit_from_the_name)
{
	cleanup_result struct result *res = load_text(
		"{ " HEAD ", \"figures\": {\"start_bytes_per_s\": 183, \"layout\": \"x\", \"rpm\": null,"
		" \"a\": -5}, \"intervals\": {\"start_bytes_per_s\": [1, 2.5], \"a\": [null, null], \"none\": [1, 2]} }");

	assert_int_equal(result_find_figure(res, "start_bytes_per_s")->unit, UNIT_BYTES_PER_S);
	assert_true(result_find_figure(res, "start_bytes_per_s")->ci.high == 2.5);
	assert_int_equal(result_find_figure(res, "layout")->unit, UNIT_TEXT);
	assert_true(result_find_figure(res, "rpm")->value.is_null);
	assert_true(figure_number(result_find_figure(res, "a")) == -5);
	assert_true(isnan(result_find_figure(res, "a")->ci.low));
	assert_int_equal(res->nfigures, 4);
}

TEST(whole_numbers_among_reals_are_reals)
{
	cleanup_result struct result *res =
		load_text("{ " HEAD ", \"tables\": {\"t\": {\"columns\": [{\"key\": \"a\", \"type\": \"number\"}],"
	                  "\"rows\": [[1], [2.5], [\"9223372036854775808\"]]}} }");
	const struct table *t = result_find_table(res, "t");

	assert_int_equal(t->columns[0].type, FIELD_TYPE_F64);
	assert_true(table_number(t, 0, 0) == 1);
	assert_true(table_number(t, 2, 0) == 0x1p63);
}

TEST(what_is_no_result_is_refused_with_a_sentence_that_says_where)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "line 1" },
		{ "{", "line 1" },
		{ "[]", "an array" },
		{ "{}", "schema is 'none'" },
		{ "{\"schema\": 5}", "schema is 'none'" },
		{ "{\"schema\": \"other\", \"version\": 1}", "'other'" },
		{ "{\"schema\": \"\\u001b[31m\", \"version\": 1}", "'?[31m'" },
		{ "{\"schema\": \"platter-result\"}", "no version" },
		{ "{\"schema\": \"platter-result\", \"version\": \"1\"}", "no version" },
		{ "{\"schema\": \"platter-result\", \"version\": 2}", "newer platter" },
		{ "{\"schema\": \"platter-result\", \"version\": 1}", "no status" },
		{ "{\"schema\": \"platter-result\", \"version\": 1, \"status\": \"fine\"}", "'fine'" },
		{ "{\"schema\": \"platter-result\", \"version\": 1, \"status\": \"failed\"}", "no head" },
		{ "{\"schema\": \"platter-result\", \"version\": 1, \"status\": \"failed\", \"head\": {}}",
		  "head.measurement" },
		{ "{\"schema\": \"platter-result\", \"version\": 1, \"status\": \"failed\", \"head\": []}",
		  "head is an array" },
		{ "{" HEAD ", \"a\": 1, \"a\": 2}", "duplicate" },
		{ "{" HEAD ", \"a\": 1e999}", "line 1" },
		{ "{" HEAD ", \"a\": 99999999999999999999}", "line 1" },
		{ "{" HEAD ", \"a\": NaN}", "line 1" },
		{ "{" HEAD ", \"a\": \"\\u0000\"}", "line 1" },
		{ "{" HEAD ", \"a\": \"\xff\"}", "line 1" },
		{ "{" HEAD "} x", "line 1" },
		{ "{" HEAD ", \"targets\": {}}", "targets is an object where an array" },
		{ "{" HEAD ", \"targets\": [1]}", "targets is a number where an object" },
		{ "{" HEAD ", \"tables\": []}", "tables is an array where an object" },
		{ "{" HEAD ", \"tables\": {\"t\": 1}}", "tables.t is a number where an object" },
		{ "{" HEAD ", \"tables\": {\"t\": {\"columns\": 1}}}", "tables.t.columns is a number" },
		{ "{" HEAD ", \"tables\": {\"t\": {\"columns\": [1]}}}",
		  "tables.t.columns is a number where an object" },
		{ "{" HEAD ", \"tables\": {\"t\": {\"columns\": [{}]}}}", "tables.t has a column without a key" },
		{ "{" HEAD ", \"tables\": {\"t\": {\"columns\": [{\"key\": \"a\"}], \"rows\": [1]}}}",
		  "tables.t.rows[0] is not an array of 1" },
		{ "{" HEAD ", \"tables\": {\"t\": {\"columns\": [{\"key\": \"a\"}], \"rows\": [[1], [1, 2]]}}}",
		  "tables.t.rows[1] is not" },
		{ "{" HEAD ", \"tables\": {\"t\": {\"rows\": [[1]]}}}", "tables.t.rows[0] is not an array of 0" },
		{ "{" HEAD
		  ", \"tables\": {\"t\": {\"columns\": [{\"key\": \"a\", \"type\": \"ns\"}], \"rows\": [[1], [\"x\"]]}}}",
		  "tables.t.rows[1], column a, is a string where a number" },
		{ "{" HEAD
		  ", \"tables\": {\"t\": {\"columns\": [{\"key\": \"a\", \"type\": \"text\"}], \"rows\": [[\"x\"], [1]]}}}",
		  "tables.t.rows[1], column a, is a number where a string" },
		{ "{" HEAD
		  ", \"tables\": {\"t\": {\"columns\": [{\"key\": \"a\", \"type\": \"ns\"}], \"rows\": [[true]]}}}",
		  "is a truth value where a number" },
		{ "{" HEAD ", \"tables\": {\"t\": {\"columns\": [{\"key\": \"a\", \"type\": 5}], \"rows\": []}}}",
		  "tables.t.type is a number" },
		{ "{" HEAD ", \"figures\": {\"a\": []}}", "figures.a is an array" },
		{ "{" HEAD ", \"figures\": {\"a\": 1}, \"figure_info\": {\"a\": 1}}", "figure_info.a is a number" },
		{ "{" HEAD ", \"figures\": {\"a\": 1}, \"figure_info\": {\"a\": {\"samples\": -1}}}",
		  "figure_info.a.samples is negative" },
		{ "{" HEAD ", \"figures\": {\"a\": 1}, \"intervals\": {\"a\": [1]}}", "intervals.a is not a pair" },
		{ "{" HEAD ", \"figures\": {\"a\": 1}, \"intervals\": {\"a\": [1, \"x\"]}}",
		  "intervals.a is not a pair" },
		{ "{" HEAD ", \"faults\": [5]}", "faults[0] is a number" },
		{ "{" HEAD ", \"faults\": [{\"offset_bytes\": 1.5}]}",
		  "faults[0].offset_bytes is a number where a whole number" },
		{ "{" HEAD ", \"faults\": [{\"result\": \"x\"}]}", "faults[0].result is a string" },
		{ "{" HEAD ", \"fault_totals\": {\"EIO\": -3}}", "fault_totals.EIO is negative" },
		{ "{" HEAD ", \"notices\": [{\"code\": \"c\"}]}", "notices[0] has no code or no text" },
		{ "{" HEAD ", \"notices\": [{\"code\": 1}]}", "notices[0].code is a number" },
		{ "{" HEAD ", \"plots\": [{}]}", "plots[0] has no kind" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct result *res = NULL;
		struct err err = { 0 };

		if (result_from_json(&res, cases[i].text, strlen(cases[i].text), &err) != -EINVAL || res)
			fail_msg("this was taken: %s", cases[i].text);
		if (!strstr(err.text, cases[i].says))
			fail_msg("'%s' does not say '%s'", err.text, cases[i].says);
		assert_int_equal(err.text[strlen(err.text) - 1], '.');
		assert_null(strpbrk(err.text, "\n\033"));
	}
}

TEST(options_and_the_head_are_checked_too)
{
	static const char *const members[] = {
		"\"argv\": 1",
		"\"argv\": [1]",
		"\"host\": []",
		"\"host\": {\"cpus\": -1}",
		"\"host\": {\"cpu\": 1}",
		"\"options\": 1",
		"\"options\": {\"a\": 1}",
		"\"seed\": -1",
		"\"seed\": \"x\"",
		"\"seed\": 1.5",
		"\"elapsed_s\": \"x\"",
		"\"started\": 1",
		"\"engine\": {}",
		"\"clock\": true",
		"\"program\": 1",
	};

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		struct result *res = NULL;
		struct err err = { 0 };
		char text[300];

		(void)snprintf(
			text, sizeof(text),
			"{\"schema\": \"platter-result\", \"version\": 1, \"status\": \"failed\", \"head\": {\"measurement\": \"m\", %s}}",
			members[i]);
		if (result_from_json(&res, text, strlen(text), &err) != -EINVAL)
			fail_msg("this was taken: %s", members[i]);
		if (!strstr(err.text, "head."))
			fail_msg("'%s' does not say where", err.text);
	}
}

TEST(no_depth_and_no_broken_file_harms)
{
	static const char soup[] = "0123456789-.eE[]{},:\"\\ntf\xff ";
	struct result *res = full(), *back = NULL;
	cleanup_free char *text = result_to_json(res);
	size_t len = strlen(text);
	char *deep = malloc(200001);
	struct rng rng;

	assert_non_null(deep);
	memset(deep, '[', 200000);
	deep[200000] = 0;
	assert_int_equal(result_from_json(&back, deep, 200000, NULL), -EINVAL);
	free(deep);
	for (size_t n = 0; n + 2 < len; n += 3) /* cut anywhere */
		assert_int_equal(result_from_json(&back, text, n, NULL), -EINVAL);
	rng_init(&rng, 3, 3);
	for (int i = 0; i < 20000; i++) { /* a few bytes wrong: refused, or a sound document */
		char *bad = malloc(len);
		struct err err = { 0 };

		assert_non_null(bad);
		memcpy(bad, text, len);
		for (uint64_t k = 1 + rng_u64(&rng) % 3; k > 0; k--)
			bad[rng_u64(&rng) % len] = soup[rng_u64(&rng) % (sizeof(soup) - 1)];
		back = NULL;
		if (result_from_json(&back, bad, len, &err) == 0) {
			cleanup_free char *again = result_to_json(back);

			assert_non_null(again);
		} else {
			assert_int_equal(err.code, -EINVAL);
			assert_null(back);
		}
		result_free(back);
		free(bad);
	}
	result_free(res);
}
