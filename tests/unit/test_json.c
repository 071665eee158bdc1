/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cases.h"
#include "golden.h"

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
	result_set(&res->head.program, "platter");
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
	result_plot(res, &(struct plot){ .kind = (char *)(uintptr_t) "line",
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

	assert_golden("full.json", result_to_json(res));
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

TEST(a_loaded_document_can_be_added_to)
{
	struct result *res = full(), *back = NULL;
	cleanup_free char *text = result_to_json(res);

	assert_int_equal(result_from_json(&back, text, strlen(text), NULL), 0);
	for (int i = 0; i < 40; i++) {
		const char *name = textf("more_%d", i);

		result_notice(back, name, "Text.");
		result_figure_u64(back, name, NULL, UNIT_COUNT, 1);
		result_fault(back, "x", "read", 0, 0, -EIO, 0);
		result_row(result_table(back, "new", NULL, row_fields), &(struct row){ .name = name });
		result_target(back, &(struct row){ .name = name }, row_fields);
		result_plot(back, &(struct plot){ .kind = name });
		result_option(back, name, name);
	}
	assert_int_equal(result_fault_count(back), 42);
	expect_same_text_after_loading(back);
	result_free(res);
	result_free(back);
}

/* ---- documents of others ---- */

#define HEAD \
	"\"schema\": \"platter-result\", \"version\": 1, \"status\": \"complete\", \"head\": {\"measurement\": \"m\"}"

#define BEFORE_HEAD     "{\"schema\": \"platter-result\", \"version\": 1, \"status\": \"failed\", "
#define IN_HEAD(member) BEFORE_HEAD "\"head\": {\"measurement\": \"m\", " member "}}"

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
	struct cases c = cases_open(TEST_DATA "/cases/documents");

	while (cases_next(&c)) {
		const char *text = cases_field(&c), *says = cases_field(&c), *at = strchr(text, '@');
		struct result *res = NULL;
		struct err err = { 0 };
		char whole[1024];

		if (*text == '%')
			(void)snprintf(whole, sizeof(whole), IN_HEAD("%.*s"), (int)strcspn(text + 1, "%"), text + 1);
		else
			(void)snprintf(whole, sizeof(whole), at ? "%.*s" HEAD "%s" : "%.*s", (int)strcspn(text, "@"),
			               text, at ? at + 1 : "");
		if (result_from_json(&res, whole, strlen(whole), &err) != -EINVAL || res)
			fail_msg("this was taken: %s", whole);
		if (!strstr(err.text, says))
			fail_msg("'%s' does not say '%s'", err.text, says);
		assert_int_equal(err.text[strlen(err.text) - 1], '.');
		assert_null(strpbrk(err.text, "\n\033"));
	}
	assert_true(c.n > 60);
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
