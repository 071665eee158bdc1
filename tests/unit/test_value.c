/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test.h"

#include "cases.h"
#include "report/report.h"

/* What a table's title says is shown of it. */
static const char *shown(const char *title, const char *in)
{
	static char buf[64];
	double value = strtod(in, NULL);
	struct cell cell = { .is_null = isnan(value), .f64 = value };
	cleanup_free char *copy = result_strdup(in);
	unsigned width;

	if (strncmp(title, "value ", 6) == 0)
		return report_value(buf, sizeof(buf), FIELD_TYPE_F64, unit_by_name(title + 6), &cell);
	if (strcmp(title, "number of a file") == 0)
		return result_cell_text(buf, sizeof(buf), FIELD_TYPE_F64, &cell);
	if (strcmp(title, "unit of a key") == 0)
		return unit_name(unit_by_key(in));
	if (sscanf(title, "cut to %u columns", &width) == 1) {
		unsigned got = report_printable(buf, sizeof(buf), in, width, strstr(title, "Unicode") != NULL);

		assert_true(width == 0 || got <= width);
		return buf;
	}
	assert_int_equal(strncmp(title, "made UTF-8", 10), 0);
	return textf("%s", copy);
}

TEST(texts_are_shown_as_the_table_says)
{
	struct cases c = cases_open(TEST_DATA "/cases/texts");

	while (cases_next(&c)) {
		const char *want = cases_plain(cases_field(&c)), *in = cases_plain(cases_field(&c));

		if (strcmp(shown(c.title, in), want) != 0)
			fail_msg("%s: '%s' is shown as '%s', not '%s'", c.title, in, shown(c.title, in), want);
	}
	assert_true(c.n > 65);
}

TEST(whole_numbers_and_nothing_are_shown_exactly)
{
	char buf[CELL_TEXT];

	assert_string_equal(report_value(buf, sizeof(buf), FIELD_TYPE_U64, UNIT_COUNT,
	                                 &(struct cell){ .u64 = UINT64_MAX - 1 }),
	                    "18446744073709551614");
	assert_string_equal(report_value(buf, sizeof(buf), FIELD_TYPE_I64, UNIT_NS, &(struct cell){ .i64 = -5 }),
	                    "-5 ns");
	assert_string_equal(result_cell_text(buf, sizeof(buf), FIELD_TYPE_F64, &(struct cell){ .is_null = true }), "");
	assert_string_equal(result_cell_text(buf, sizeof(buf), FIELD_TYPE_I64, &(struct cell){ .i64 = INT64_MIN }),
	                    "-9223372036854775808");
	assert_string_equal(result_cell_text(buf, sizeof(buf), FIELD_TYPE_U64, &(struct cell){ .u64 = UINT64_MAX }),
	                    "18446744073709551615");
	assert_null(result_strdup(NULL));
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

TEST(text_is_cut_where_there_is_little_room)
{
	char buf[64];

	for (size_t len = 1; len < 20; len++) {
		memset(buf, '#', sizeof(buf));
		(void)report_printable(
			buf, len, "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 0, true);
		assert_true(memchr(buf, 0, len) != NULL);
		assert_int_equal(buf[len], '#');
	}
}
