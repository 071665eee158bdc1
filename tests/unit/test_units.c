/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test.h"

#include "base/units.h"
#include "cases.h"

/* One sentence: begins with the quoted text, ends with a full stop, holds no line break. */
static void assert_refused(const struct cases *c, const char *text, int r, const struct err *err)
{
	if (r != -EINVAL)
		fail_msg("%s: '%s' was taken", c->title, text);
	assert_int_equal(err->code, r);
	assert_int_equal(err->text[0], '\'');
	assert_int_equal(err->text[strlen(err->text) - 1], '.');
	assert_null(strpbrk(err->text, "\n\033"));
}

/* As the title has it: 0, or why not. */
static int read_one(const char *what, const char *text, uint64_t *u, double *d, struct err *err)
{
	static const struct {
		const char *what;
		int (*whole)(const char *text, uint64_t *ret, struct err *err);
		int (*real)(const char *text, double *ret, struct err *err);
	} ways[] = {
		{ "read size", .whole = units_parse_bytes }, { "read time", .whole = units_parse_time },
		{ "read rate", .whole = units_parse_rate },  { "read whole number", .whole = units_parse_u64 },
		{ "read ratio", .real = units_parse_ratio }, { "read number", .real = units_parse_f64 },
	};
	size_t i = 0;

	while (strcmp(ways[i].what, what) != 0)
		assert_true(++i < ARRAY_LEN(ways));
	return ways[i].whole ? ways[i].whole(text, u, err) : ways[i].real(text, d, err);
}

static void assert_read(const struct cases *c, const char *text, const char *value)
{
	struct err err = { 0 };
	uint64_t u = 12345;
	double d = 12345;
	int r = read_one(c->title, text, &u, &d, &err);

	if (strcmp(value, "refused") == 0) {
		assert_refused(c, text, r, &err);
		assert_true(u == 12345 && d == 12345);
	} else if (r || !(u == 12345 ? d == strtod(value, NULL) : u == strtoull(value, NULL, 10))) {
		fail_msg("%s: '%s' gave %llu, %g: %s", c->title, text, (unsigned long long)u, d, err.text);
	}
}

static void assert_shown(const struct cases *c, const char *text, const char *value)
{
	uint64_t u = strtoull(value, NULL, 10);
	char buf[32], longest[32];
	const struct {
		const char *what, *text;
	} ways[] = {
		{ "print size", units_bytes_exact((char[32]){ "" }, 32, u) },
		{ "print time", units_time_exact((char[32]){ "" }, 32, u) },
		{ "show size", units_bytes_dec((char[32]){ "" }, 32, u) },
		{ "show time", units_time((char[32]){ "" }, 32, u) },
		{ "show rate", units_rate(buf, sizeof(buf), strtod(value, NULL)) },
		{ "show bits", units_rate_bits(longest, sizeof(longest), strtod(value, NULL)) },
	};
	size_t i = 0;

	while (strcmp(ways[i].what, c->title) != 0)
		assert_true(++i < ARRAY_LEN(ways));
	if (strcmp(ways[i].text, text) != 0)
		fail_msg("%s: %s is '%s', not '%s'", c->title, value, ways[i].text, text);
}

TEST(what_is_typed_is_read_and_numbers_are_shown_as_the_table_says)
{
	struct cases c = cases_open(TEST_DATA "/cases/units");

	while (cases_next(&c)) {
		char *text = cases_plain(cases_field(&c)), *value = cases_field(&c);

		(strncmp(c.title, "read", 4) == 0 ? assert_read : assert_shown)(&c, text, value);
	}
	assert_true(c.n > 160);
}

TEST(the_longest_rate_has_room)
{
	char buf[32];

	assert_true(strlen(units_rate(buf, sizeof(buf), -1.23456789e300)) < 31);
	assert_true(strlen(units_rate(buf, sizeof(buf), -1.23456789e14)) < 31);
}

TEST(a_very_long_text_is_quoted_only_in_part)
{
	char text[5000];
	struct err err;
	uint64_t value;

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	assert_int_equal(units_parse_bytes(text, &value, &err), -EINVAL);
	assert_non_null(strstr(err.text, "xxx...'"));
	assert_non_null(strstr(err.text, "write it like 4096"));
}

TEST(exact_printing_reads_back_as_the_same_number)
{
	struct rng rng;
	char buf[32];

	rng_init(&rng, 1, 1);
	for (int i = 0; i < 20000; i++) {
		uint64_t v = rng_u64(&rng) >> (rng_u64(&rng) & 63), back = ~v;

		if (i & 1) /* round ones, too */
			v = (v & 1023) << (rng_u64(&rng) % 54);
		else if (i & 2)
			v = (v % 1000) * (uint64_t)pow(10, (double)(rng_u64(&rng) % 17));
		assert_int_equal(units_parse_bytes(units_bytes_exact(buf, sizeof(buf), v), &back, NULL), 0);
		assert_true(back == v);
		back = ~v;
		assert_int_equal(units_parse_time(units_time_exact(buf, sizeof(buf), v), &back, NULL), 0);
		assert_true(back == v);
	}
}

TEST(what_is_printed_for_people_reads_back_nearly_the_same)
{
	struct rng rng;
	char buf[32];

	rng_init(&rng, 2, 1);
	for (int i = 0; i < 20000; i++) {
		uint64_t v = rng_u64(&rng) >> (1 + rng_u64(&rng) % 62), back = 0;

		assert_int_equal(units_parse_time(units_time(buf, sizeof(buf), v), &back, NULL), 0);
		assert_true(fabs((double)back - (double)v) <= 0.021 * (double)v);
		assert_int_equal(units_parse_bytes(units_bytes_dec(buf, sizeof(buf), v), &back, NULL), 0);
		assert_true(fabs((double)back - (double)v) <= 0.0051 * (double)v);
	}
}

TEST(what_forbids_is_named_by_who_asks)
{
	assert_non_null(strstr(err_forbidden_for(1000, 0), "as root"));
	assert_null(strstr(err_forbidden_for(0, UINT64_MAX), "as root"));
	assert_non_null(strstr(err_forbidden_for(0, UINT64_MAX), "device rules"));
	assert_non_null(strstr(err_forbidden_for(0, 1), "capabilities"));
}
