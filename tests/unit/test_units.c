/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test.h"

#include "base/units.h"

#define GIB (1ull << 30)

typedef int parse_fn(const char *text, uint64_t *ret, struct err *err);

struct good {
	const char *text;
	uint64_t value;
};

static void expect_values(parse_fn *parse, const struct good *good, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct err err = { 0 };
		uint64_t value = 12345;

		if (parse(good[i].text, &value, &err) || value != good[i].value)
			fail_msg("'%s' gave %llu: %s", good[i].text, (unsigned long long)value, err.text);
		assert_int_equal(err.code, 0);
	}
}

/* One sentence: begins with the quoted text, ends with a full stop, holds no line break. */
static void expect_refusals(parse_fn *parse, const char *const *bad, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct err err = { 0 };
		uint64_t value = 12345;
		int r = parse(bad[i], &value, &err);

		if (r != -EINVAL)
			fail_msg("'%s' was taken as %llu", bad[i], (unsigned long long)value);
		assert_int_equal(value, 12345);
		assert_int_equal(err.code, r);
		assert_int_equal(err.text[0], '\'');
		assert_int_equal(err.text[strlen(err.text) - 1], '.');
		assert_null(strchr(err.text, '\n'));
		assert_null(strchr(err.text, '\033'));
	}
}

TEST(sizes_are_read_as_util_linux_reads_them)
{
	static const struct good good[] = {
		{ "0", 0 },
		{ "512", 512 },
		{ "512B", 512 },
		{ "4K", 4096 },
		{ "4k", 4096 },
		{ "4KiB", 4096 },
		{ "4 KiB", 4096 },
		{ " 4KiB ", 4096 },
		{ "4KB", 4000 },
		{ "4kB", 4000 },
		{ "1M", 1 << 20 },
		{ "1MB", 1000000 },
		{ "1.5GiB", GIB + GIB / 2 },
		{ "0.3GB", 300000000 },
		{ ".5K", 512 },
		{ "2.K", 2048 },
		{ "1T", GIB << 10 },
		{ "4TB", 4000000000000ull },
		{ "1P", GIB << 20 },
		{ "15EiB", 15ull << 60 },
		{ "18446744073709551615", UINT64_MAX },
		{ "00000000000000000000000000000001K", 1024 },
		{ "1.50000000000000000000000000000000K", 1536 },
		{ "0.1K", 102 }, /* 102.4 */
		{ "1.0", 1 },
	};

	expect_values(units_parse_bytes, good, ARRAY_LEN(good));
}

TEST(absurd_sizes_are_refused_with_one_sentence)
{
	static const char *const bad[] = { "",
		                           " ",
		                           "-1",
		                           "+1",
		                           "-0",
		                           "nan",
		                           "inf",
		                           "0x10",
		                           "1e3",
		                           "1.5",
		                           "1..5",
		                           "1.2.3",
		                           "K",
		                           ".",
		                           "1Kb",
		                           "1KIB",
		                           "1KiBB",
		                           "16EiB",
		                           "1,5K",
		                           "18446744073709551616",
		                           "20EB",
		                           "1 2",
		                           "4K 4",
		                           "0.0001B",
		                           "0.0001K",
		                           "max",
		                           "1K/s",
		                           "1Mbit",
		                           "1\n",
		                           "1\033[",
		                           "--",
		                           "99999999999999999999999999999999999999999999999",
		                           "0.00000000000000000000000001K" };

	expect_refusals(units_parse_bytes, bad, ARRAY_LEN(bad));
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

TEST(times_are_read_in_all_units_and_in_parts)
{
	static const struct good good[] = {
		{ "0", 0 },
		{ "0s", 0 },
		{ "30", 30000000000ull },
		{ "1ns", 1 },
		{ "1us", 1000 },
		{ "8.33ms", 8330000 },
		{ "8.33 ms", 8330000 },
		{ "5s", 5000000000ull },
		{ "32m", 1920000000000ull },
		{ "1.5h", 5400000000000ull },
		{ "1h30m", 5400000000000ull },
		{ "1 m 02 s", 62000000000ull },
		{ "1d2h3m4s5ms6us7ns", 93784005006007ull },
		{ "1m0.5s", 60500000000ull },
	};

	expect_values(units_parse_time, good, ARRAY_LEN(good));
}

TEST(absurd_times_are_refused_with_one_sentence)
{
	static const char *const bad[] = {
		"",     "-1s",   "1M",      "1S", "1h1h",  "30m1h", "1.5h30m",
		"1m30", "30 1m", "213504d", "1y", "0.1ns", "s",     "max",
	};

	expect_refusals(units_parse_time, bad, ARRAY_LEN(bad));
}

TEST(rates_are_sizes_or_bits_per_second)
{
	static const struct good good[] = {
		{ "max", RATE_MAX },
		{ "32MB", 32000000 },
		{ "32MB/s", 32000000 },
		{ "1.5GiB", GIB + GIB / 2 },
		{ "256Mbit", 32000000 },
		{ "256Mbit/s", 32000000 },
		{ "256mbit/s", 32000000 },
		{ "1Gbit", 125000000 },
		{ "8kbit", 1000 },
		{ "8bit", 1 },
		{ "12bit/s", 2 }, /* 1.5 */
		{ "2.5 Gbit/s", 312500000 },
	};

	expect_values(units_parse_rate, good, ARRAY_LEN(good));
}

TEST(absurd_rates_are_refused_with_one_sentence)
{
	static const char *const bad[] = {
		"",        "-1MB", "1MB/", "1MB/m", "MAX", "max ", "1bit", "1bits", "1Mb", "1s", "18446744073709551615",
		"1MB/s/s", "1Pbit"
	};

	expect_refusals(units_parse_rate, bad, ARRAY_LEN(bad));
}

TEST(ratios_are_percent_or_plain)
{
	struct err err;
	double value = 0;

	assert_int_equal(units_parse_ratio("1%", &value, &err), 0);
	assert_true(value == 0.01);
	assert_int_equal(units_parse_ratio("0.01", &value, &err), 0);
	assert_true(value == 0.01);
	assert_int_equal(units_parse_ratio("1e-3", &value, &err), 0);
	assert_true(value == 0.001);
	value = 7;
	for (const char *const *bad =
	             (const char *const[]){ "", "%", "-1%", "1%%", "nan", "inf", "1e999", "0x1p3", " 1", NULL };
	     *bad; bad++) {
		assert_true(units_parse_ratio(*bad, &value, &err) < 0);
		assert_non_null(strstr(err.text, "ratio"));
	}
	assert_true(value == 7);
}

TEST(plain_numbers_are_whole_or_finite)
{
	struct err err;
	uint64_t u = 7;
	double d = 7;

	assert_int_equal(units_parse_u64("18446744073709551615", &u, &err), 0);
	assert_true(u == UINT64_MAX);
	u = 7;
	for (const char *const *bad = (const char *const[]){ "", "-1", "+1", " 1", "1 ", "1.0", "1.", "1K",
	                                                     "18446744073709551616", NULL };
	     *bad; bad++)
		assert_true(units_parse_u64(*bad, &u, &err) < 0);
	assert_true(u == 7);
	assert_int_equal(units_parse_f64("-2.5e3", &d, &err), 0);
	assert_true(d == -2500);
	for (const char *const *bad =
	             (const char *const[]){ "", "nan", "inf", "-inf", "1e400", "0x10", "1 ", "e", "1e", "--1", NULL };
	     *bad; bad++)
		assert_true(units_parse_f64(*bad, &d, &err) < 0);
	assert_true(d == -2500);
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

TEST(exact_printing_takes_the_shortest_form)
{
	static const struct good good[] = {
		{ "0", 0 },
		{ "512", 512 },
		{ "1KiB", 1024 },
		{ "40KiB", 40960 },
		{ "40961", 40961 },
		{ "1MiB", 1 << 20 },
		{ "160MiB", 160 << 20 },
		{ "250MB", 250000000 },
		{ "1536KiB", 1536 << 10 },
		{ "18446744073709551615", UINT64_MAX },
	};
	char buf[32];

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_string_equal(units_bytes_exact(buf, sizeof(buf), good[i].value), good[i].text);
	assert_string_equal(units_time_exact(buf, sizeof(buf), 0), "0s");
	assert_string_equal(units_time_exact(buf, sizeof(buf), 1800000000000ull), "30m");
	assert_string_equal(units_time_exact(buf, sizeof(buf), 90000000000ull), "90s");
	assert_string_equal(units_time_exact(buf, sizeof(buf), 1500000000), "1500ms");
}

TEST(people_read_three_digits)
{
	static const struct good bytes[] = {
		{ "0 B", 0 },
		{ "999 B", 999 },
		{ "1.00 kB", 1000 },
		{ "999 kB", 999499 },
		{ "1.00 MB", 999500 },
		{ "9.99 MB", 9994999 },
		{ "10.0 MB", 9995000 },
		{ "40.0 GB", 40027029504ull },
		{ "4.00 TB", 4000787030016ull },
		{ "18.4 EB", UINT64_MAX },
	};
	static const struct good times[] = {
		{ "0 ns", 0 },
		{ "850 ns", 850 },
		{ "8.33 ms", 8333333 },
		{ "1.00 s", 999600000 },
		{ "59.9 s", 59949999999ull },
		{ "1 m 00 s", 59950000000ull },
		{ "1 m 02 s", 62400000000ull },
		{ "59 m 59 s", 3599400000000ull },
		{ "1 h 00 m", 3599500000000ull },
		{ "23 h 59 m", 86369000000000ull },
		{ "1 d 00 h", 86370000000000ull },
		{ "2 d 03 h", 183600000000000ull },
		{ "213503 d 23 h", 18446742000000000000ull },
	};
	char buf[32];

	for (size_t i = 0; i < ARRAY_LEN(bytes); i++)
		assert_string_equal(units_bytes_dec(buf, sizeof(buf), bytes[i].value), bytes[i].text);
	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		assert_string_equal(units_time(buf, sizeof(buf), times[i].value), times[i].text);
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

TEST(rates_are_printed_in_decimal_megabytes)
{
	char buf[32];

	assert_string_equal(units_rate(buf, sizeof(buf), 183.2e6), "183.2 MB/s");
	assert_string_equal(units_rate(buf, sizeof(buf), 5012.34e6), "5012.3 MB/s");
	assert_string_equal(units_rate(buf, sizeof(buf), 9.994e6), "9.99 MB/s");
	assert_string_equal(units_rate(buf, sizeof(buf), 9.996e6), "10.0 MB/s");
	assert_string_equal(units_rate(buf, sizeof(buf), 123456), "0.123 MB/s");
	assert_string_equal(units_rate(buf, sizeof(buf), 12), "12 B/s");
	assert_string_equal(units_rate(buf, sizeof(buf), 0), "0.0 MB/s");
	assert_string_equal(units_rate(buf, sizeof(buf), -183.2e6), "-183.2 MB/s");
	assert_string_equal(units_rate(buf, sizeof(buf), (double)NAN), "-");
	assert_string_equal(units_rate(buf, sizeof(buf), (double)INFINITY), "-");
	assert_string_equal(units_rate(buf, sizeof(buf), 1e300), "1e+294 MB/s");
	assert_string_equal(units_rate_bits(buf, sizeof(buf), 32e6), "256.0 Mbit/s");
	assert_true(strlen(units_rate(buf, sizeof(buf), -1.23456789e300)) < 31);
	assert_true(strlen(units_rate(buf, sizeof(buf), -1.23456789e14)) < 31);
}

TEST(what_forbids_is_named_by_who_asks)
{
	assert_non_null(strstr(err_forbidden_for(1000, 0), "as root"));
	assert_null(strstr(err_forbidden_for(0, UINT64_MAX), "as root"));
	assert_non_null(strstr(err_forbidden_for(0, UINT64_MAX), "device rules"));
	assert_non_null(strstr(err_forbidden_for(0, 1), "capabilities"));
}
