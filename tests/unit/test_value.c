/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test.h"

#include "report/report.h"

TEST(single_values_are_shown_as_a_data_sheet_would)
{
	static const struct {
		enum unit unit;
		double value;
		const char *text;
	} cases[] = {
		{ UNIT_BYTES_PER_S, 183.2e6, "183.2 MB/s" },
		{ UNIT_BYTES_PER_S, 5.0123e9, "5012.3 MB/s" },
		{ UNIT_BYTES, 4000787030016, "4.00 TB" },
		{ UNIT_BYTES, 64 << 20, "64 MiB" },
		{ UNIT_BYTES, 512, "512 B" },
		{ UNIT_BYTES, 0, "0 B" },
		{ UNIT_NS, 8333333, "8.33 ms" },
		{ UNIT_NS, 62e9, "1 m 02 s" },
		{ UNIT_S, 61.2, "1 m 01 s" },
		{ UNIT_S, 12.34, "12.34 s" },
		{ UNIT_RATIO, 0.5, "50.00 %" },
		{ UNIT_RATIO, 0.00038, "0.038 %" },
		{ UNIT_RATIO, 6.72, "6.72 x" },
		{ UNIT_RATIO, 0.00012345, "0.012 %" },
		{ UNIT_PERCENT, 99.52, "99.52 %" },
		{ UNIT_RPM, 7200.04, "7200.0 rpm" },
		{ UNIT_PER_S, 78.74, "78.74/s" },
		{ UNIT_PER_S, 123456.7, "123457/s" },
		{ UNIT_MIB_PER_S, 3.5, "3.50 MiB/s" },
		{ UNIT_COUNT, 12, "12" },
		{ UNIT_NONE, 2.5, "2.50" },
		{ UNIT_BYTES_PER_S, (double)NAN, "-" },
	};
	char buf[64];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct cell cell = { .is_null = isnan(cases[i].value), .f64 = cases[i].value };

		assert_string_equal(report_value(buf, sizeof(buf), FIELD_TYPE_F64, cases[i].unit, &cell),
		                    cases[i].text);
	}
	assert_string_equal(report_value(buf, sizeof(buf), FIELD_TYPE_U64, UNIT_COUNT,
	                                 &(struct cell){ .u64 = UINT64_MAX - 1 }),
	                    "18446744073709551614");
	assert_string_equal(report_value(buf, sizeof(buf), FIELD_TYPE_I64, UNIT_NS, &(struct cell){ .i64 = -5 }),
	                    "-5 ns");
}

/* Whatever the value and the room, the text ends and stays inside. */
TEST(no_value_overruns_its_room)
{
	static const double values[] = { 0, 1, -1, 1e-300, 1e300, -1e300, 5e-324, 1.8e19, -0.0, 9.99e15, 999.95, 1e6 };

	for (int unit = UNIT_NONE; unit <= UNIT_PER_S; unit++) {
		for (size_t i = 0; i < ARRAY_LEN(values); i++) {
			struct value_scale scale = report_scale((enum unit)unit, &values[i], 1);

			for (size_t len = 1; len <= 32; len++) {
				char buf[40];

				memset(buf, '#', sizeof(buf));
				(void)report_value(buf, len, FIELD_TYPE_F64, (enum unit)unit,
				                   &(struct cell){ .f64 = values[i] });
				assert_true(memchr(buf, 0, len) != NULL);
				assert_int_equal(buf[len], '#');
				(void)report_number(buf, len, &scale, values[i]);
				assert_true(memchr(buf, 0, len) != NULL);
				assert_int_equal(buf[len], '#');
			}
		}
	}
}

static void expect_column(enum unit unit, const double *x, size_t n, const char *heading, const char *const *texts)
{
	struct value_scale scale = report_scale(unit, x, n);
	char buf[64];

	assert_string_equal(scale.is_mixed ? "" : scale.unit, heading);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(report_number(buf, sizeof(buf), &scale, x[i]), texts[i]);
}

#define COLUMN(unit, heading, x, texts) expect_column(unit, x, ARRAY_LEN(x), heading, texts)

TEST(a_column_has_one_unit_and_distinguishes_its_values)
{
	static const double rates[] = { 183.2e6, 92.1e6, (double)NAN, 0.5e6 };
	static const char *const rate_texts[] = { "183.20", "92.10", "-", "0.50" };
	static const double places[] = { 0, 62.5e9, 4000.7e9 };
	static const char *const place_texts[] = { "0", "62", "4001" };
	static const double near[] = { 3999.5e9, 3999.9e9, 4000.7e9 };
	static const char *const near_texts[] = { "3999.5", "3999.9", "4000.7" };
	static const double sizes[] = { 1e6, 200e6, 40e9 };
	static const char *const size_texts[] = { "1.00 MB", "200 MB", "40.0 GB" };
	static const double records[] = { 512, 4096, 65536, 16 << 20 };
	static const char *const record_texts[] = { "512 B", "4 KiB", "64 KiB", "16 MiB" };
	static const double times[] = { 4.3e6, 12.7e6 };
	static const char *const time_texts[] = { "4.30", "12.70" };
	static const double seconds[] = { 0, 1, 1920 };
	static const char *const second_texts[] = { "0", "1", "1920" };
	static const double nothing[] = { 0, (double)NAN };
	static const char *const nothing_texts[] = { "0", "-" };
	static const double wide[] = { 100, 5e9 };
	static const char *const wide_texts[] = { "100 ns", "5.00 s" };

	COLUMN(UNIT_BYTES_PER_S, "MB/s", rates, rate_texts);
	COLUMN(UNIT_BYTES, "GB", places, place_texts);
	COLUMN(UNIT_BYTES, "GB", near, near_texts);
	COLUMN(UNIT_BYTES, "", sizes, size_texts);
	COLUMN(UNIT_BYTES, "", records, record_texts);
	COLUMN(UNIT_NS, "ms", times, time_texts);
	COLUMN(UNIT_S, "s", seconds, second_texts);
	COLUMN(UNIT_BYTES, "B", nothing, nothing_texts);
	COLUMN(UNIT_NS, "", wide, wide_texts);
}

TEST(a_value_is_shown_to_the_place_where_its_interval_begins)
{
	static const struct {
		enum unit unit;
		double value, half;
		const char *text, *half_text;
	} cases[] = {
		{ UNIT_BYTES_PER_S, 183.2148e6, 0.4321e6, "183.21", "0.43" },
		{ UNIT_BYTES_PER_S, 183.2148e6, 12e6, "183", "12" },
		{ UNIT_BYTES_PER_S, 183.2148e6, 0.09999e6, "183.21", "0.10" },
		{ UNIT_RPM, 7200.0412, 0.0721, "7200.041", "0.072" },
		{ UNIT_BYTES, 40027029504, 1e9, "40.0", "1.0" },
		{ UNIT_RPM, 7200, 0, "7200.0", "0.0" },
		{ UNIT_BYTES_PER_S, -0.01e6, 2.3e6, "0.0", "2.3" },
		{ UNIT_RATIO, 0.5, 1e-12, "50.000000", "0.000000" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct value_scale scale = report_scale_of(cases[i].unit, cases[i].value, cases[i].half);
		char buf[64];

		assert_string_equal(report_number(buf, sizeof(buf), &scale, cases[i].value), cases[i].text);
		assert_string_equal(report_number(buf, sizeof(buf), &scale, cases[i].half), cases[i].half_text);
	}
}

TEST(text_is_cut_with_an_ellipsis_where_it_is_too_wide)
{
	static const struct {
		const char *in;
		unsigned width;
		bool unicode;
		const char *out;
	} cases[] = {
		{ "short", 0, true, "short" },
		{ "exactly", 7, true, "exactly" },
		{ "a little long", 8, true, "a littl\xe2\x80\xa6" },
		{ "a little long", 8, false, "a lit..." },
		{ "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 4, true, "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4" },
		{ "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 3, true, "\xc3\xa4\xc3\xa4\xe2\x80\xa6" },
		{ "\xc3\xa4", 0, false, "?" },
		{ "\x1b[0m\xff", 0, true, "?[0m?" },
		{ "", 5, true, "" },
		{ "\xe7\xa3\x81\xe7\x9b\x98\xe7\xa3\x81", 5, true,
		  "\xe7\xa3\x81\xe7\x9b\x98\xe2\x80\xa6" }, /* two columns each */
		{ "e\xcc\x81"
		  "e\xcc\x81",
		  2, true,
		  "e\xcc\x81"
		  "e\xcc\x81" }, /* marks: none */
	};
	char buf[64];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		unsigned width = report_printable(buf, sizeof(buf), cases[i].in, cases[i].width, cases[i].unicode);

		assert_string_equal(buf, cases[i].out);
		assert_true(cases[i].width == 0 || width <= cases[i].width);
	}
	for (size_t len = 1; len < 20; len++) { /* little room cuts, too */
		memset(buf, '#', sizeof(buf));
		(void)report_printable(
			buf, len, "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 0, true);
		assert_true(memchr(buf, 0, len) != NULL);
		assert_int_equal(buf[len], '#');
	}
}
