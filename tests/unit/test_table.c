/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text and CSV against golden files in tests/data/golden; PLATTER_GOLDEN_UPDATE=1 writes them anew (look at the diff).
 */
#include "cases.h"
#include "golden.h"
#include "sample.h"

#include "report/report.h"
#include "result/result.h"

#define C(text) ((char *)(uintptr_t)(text)) /* plots are copied: their strings may be constant */

/* ---- documents ---- */

struct target_row {
	const char *path, *kind, *model, *serial;
	uint64_t size_bytes;
};
static const struct field target_fields[] = {
	FIELD_STR(struct target_row, path, "Path"),
	FIELD_STR(struct target_row, kind, "Kind"),
	FIELD_STR(struct target_row, model, "Model"),
	FIELD_STR(struct target_row, serial, "Serial"),
	FIELD_U64(struct target_row, size_bytes, UNIT_BYTES, "Size"),
	FIELD_END,
};

struct curve_row {
	uint64_t offset_bytes;
	double rate_bytes_per_s, low, high;
	uint64_t moved_bytes, elapsed_ns;
};
static const struct field curve_fields[] = {
	FIELD_U64(struct curve_row, offset_bytes, UNIT_BYTES, "Offset"),
	FIELD_F64(struct curve_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "Rate"),
	FIELD_F64(struct curve_row, low, UNIT_BYTES_PER_S, "Low"),
	FIELD_F64(struct curve_row, high, UNIT_BYTES_PER_S, "High"),
	FIELD_U64(struct curve_row, moved_bytes, UNIT_BYTES, "Read"),
	FIELD_U64(struct curve_row, elapsed_ns, UNIT_NS, "Time", .detail = true),
	FIELD_END,
};

struct region_row {
	uint64_t first_byte, last_byte;
	double rate_bytes_per_s, expected_bytes_per_s;
};
static const struct field region_fields[] = {
	FIELD_U64(struct region_row, first_byte, UNIT_BYTES, "First byte"),
	FIELD_U64(struct region_row, last_byte, UNIT_BYTES, "Last byte"),
	FIELD_F64(struct region_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "Rate"),
	FIELD_F64(struct region_row, expected_bytes_per_s, UNIT_BYTES_PER_S, "Expected"),
	FIELD_END,
};

static struct result *start(const char *measurement)
{
	struct result *res = result_new(measurement);

	res->status = STATUS_COMPLETE;
	result_set(&res->head.started, "2026-11-20T12:00:00.123456Z");
	result_set(&res->head.engine, "uring");
	res->head.elapsed_s = 61.2;
	res->head.seed = 1234;
	return res;
}

static struct result *zones(void)
{
	struct result *res = start("zones");
	struct table *t = result_table(res, "curve", "Transfer rate by position", curve_fields);
	struct interval ci = { 182.77e6, 183.63e6 }, wide = { 90.1e6, 95.9e6 };

	result_target(res,
	              &(struct target_row){ "/dev/sda", "disk", "WDC WD40EZRZ-00GXCB0", "WD-WCC7K5XA1234",
	                                    4000787030016 },
	              target_fields);
	for (uint64_t i = 0; i < 16; i++) {
		double x = (double)i / 15, rate = 183.2e6 * sqrt(1 - 0.75 * x * x);

		result_row(t,
		           &(struct curve_row){ .offset_bytes = i == 15 ? 4000718872576 : i * 266719135334 / 512 * 512,
		                                .rate_bytes_per_s = i == 7 ? (double)NAN : rate,
		                                .low = rate * 0.998,
		                                .high = rate * 1.002,
		                                .moved_bytes = 64 << 20,
		                                .elapsed_ns = 366000000 });
	}
	t = result_table(res, "bands", "Recording zones", region_fields);
	result_row(t, &(struct region_row){ 0, 533438267391, 183.2e6, (double)NAN });
	result_row(t, &(struct region_row){ 533438267392, 4000787030015, 92.1e6, (double)NAN });
	(void)result_table(res, "slow_regions", "Slow regions", region_fields);
	result_figure(res, "start_bytes_per_s", "Start", UNIT_BYTES_PER_S, 183.2e6, &ci, 12);
	result_figure(res, "end_bytes_per_s", "End", UNIT_BYTES_PER_S, 91.6e6, &wide, 8);
	result_figure(res, "end_to_start_ratio", "End to start", UNIT_RATIO, 0.5, NULL, 0);
	result_figure(res, "full_read_s", "Time to read all of it", UNIT_S, 29012.4, NULL, 0);
	result_figure(res, "rotation_rpm", NULL, UNIT_RPM, 5400.12, &(struct interval){ 5399.72, 5400.52 }, 64);
	result_figure_u64(res, "zones", "Zones found", UNIT_COUNT, 2);
	result_figure_text(res, "layout", "Layout", "head-first, alternating from zone 3");
	result_figure(res, "missing_ns", "Not measured", UNIT_NS, (double)NAN, NULL, 0);
	result_notice(
		res, "other-io",
		"Something else read %s from /dev/sda during the run; stop it and repeat, since each byte of it slowed "
		"the measurement down.",
		"12.5 MB");
	result_plot(res, &(struct plot){ .kind = C("line"),
	                                 .title = C("Transfer rate"),
	                                 .table = C("curve"),
	                                 .x = C("offset_bytes"),
	                                 .y = C("rate_bytes_per_s") });
	return res;
}

struct span_row {
	uint64_t span_bytes;
	const char *anchor;
	uint64_t samples, mean_ns, stddev_ns, p50_ns, p95_ns, p99_ns, max_ns;
	double iops;
};
static const struct field span_fields[] = {
	FIELD_U64(struct span_row, span_bytes, UNIT_BYTES, "Span"),
	FIELD_STR(struct span_row, anchor, "Anchor"),
	FIELD_U64(struct span_row, samples, UNIT_COUNT, "Samples"),
	FIELD_U64(struct span_row, mean_ns, UNIT_NS, "Mean service time"),
	FIELD_U64(struct span_row, stddev_ns, UNIT_NS, "Standard deviation"),
	FIELD_U64(struct span_row, p50_ns, UNIT_NS, "Median"),
	FIELD_U64(struct span_row, p95_ns, UNIT_NS, "95 %"),
	FIELD_U64(struct span_row, p99_ns, UNIT_NS, "99 %"),
	FIELD_U64(struct span_row, max_ns, UNIT_NS, "Longest"),
	FIELD_F64(struct span_row, iops, UNIT_PER_S, "Requests"),
	FIELD_END,
};

static struct result *spans(void)
{
	static const uint64_t sizes[] = { 1000000, 2000000, 10000000, 200000000, 40027029504 };
	struct result *res = start("seek");
	struct table *t = result_table(res, "spans", "Service time by span", span_fields);

	res->status = STATUS_CANCELLED;
	result_target(res, &(struct target_row){ "/dev/disk/by-id/ata-IBM-DTLA", "disk", "", NULL, 40027029504 },
	              target_fields);
	for (uint64_t i = 0; i < ARRAY_LEN(sizes); i++) {
		uint64_t mean = 4300000 + i * 2100000;

		result_row(t, &(struct span_row){ sizes[i], i % 2 ? "middle" : "start", 200 + i, mean, mean / 3,
		                                  mean * 9 / 10, mean * 3 / 2, i == 4 ? UINT64_MAX : mean * 2, mean * 9,
		                                  1e9 / (double)mean });
	}
	return res;
}

struct time_row {
	double time_s, rate_bytes_per_s;
	uint64_t occupancy_bytes;
};
static const struct field time_fields[] = {
	FIELD_F64(struct time_row, time_s, UNIT_S, "Time"),
	FIELD_F64(struct time_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "Rate"),
	FIELD_U64(struct time_row, occupancy_bytes, UNIT_BYTES, "In the ring"),
	FIELD_END,
};

static struct result *timeline(void)
{
	struct result *res = start("stream");
	struct table *t = result_table(res, "timeline", "Over time", time_fields);

	res->status = STATUS_WITH_ERRORS;
	result_figure(res, "rate_bytes_per_s", "Rate held", UNIT_BYTES_PER_S, 32e6, NULL, 0);
	result_figure_u64(res, "peak_bytes", "Peak in the ring", UNIT_BYTES, 159 << 20);
	for (uint64_t i = 0; i <= 1920; i++)
		result_row(t, &(struct time_row){ (double)i, 32e6 + (double)(i % 7) * 1e5, i % 160 * 1048576 });
	for (uint64_t i = 0; i < 12; i++)
		result_fault(res, "/dev/sdb", "write", i * 10485760, 1048576, i % 5 ? -EIO : 524288, 12.5 + (double)i);
	return res;
}

/* A matrix of file by record size, two series, with a cell that was not measured; and one too wide to be a matrix for
 * people. */
struct matrix_row {
	uint64_t file_bytes, record_bytes;
	const char *mode, *operation;
	double rate_bytes_per_s;
};

static const struct field matrix_fields[] = {
	FIELD_U64(struct matrix_row, file_bytes, UNIT_BYTES, "file"),
	FIELD_U64(struct matrix_row, record_bytes, UNIT_BYTES, "record"),
	FIELD_STR(struct matrix_row, mode, "mode"),
	FIELD_STR(struct matrix_row, operation, "operation"),
	FIELD_F64(struct matrix_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_END,
};

static void matrix_cell(struct table *t, size_t file, size_t k, size_t op)
{
	result_row(t, &(struct matrix_row){ .file_bytes = 1048576ull << file,
	                                    .record_bytes = 512ull * (k + 1),
	                                    .mode = "cached",
	                                    .operation = op ? "reread" : "write",
	                                    .rate_bytes_per_s = 1e8 * (double)(1 + file + 3 * k + 20 * op) });
}

static struct result *matrix(size_t records)
{
	struct result *res = start("cache");
	struct table *t = result_table(res, "matrix", "File size by record size", matrix_fields);

	for (size_t file = 0; file < 3; file++)
		for (size_t op = 0; op < 2; op++)
			for (size_t k = 0; k < records; k++)
				if (file || k + 1 < records || !op) /* one cell is not there */
					matrix_cell(t, file, k, op);
	result_plot(res, &(struct plot){ .kind = C("heatmap"),
	                                 .title = C("Rate by file and record size"),
	                                 .table = C("matrix"),
	                                 .x = C("file_bytes"),
	                                 .y = C("record_bytes,rate_bytes_per_s"),
	                                 .series = C("operation,mode") });
	return res;
}

static char *rendered(const struct result *res, const struct text_style *style)
{
	return WRITTEN(out, assert_int_equal(style ? report_text(out, res, style) : report_csv(out, &res, 1), 0));
}

static const struct text_style plain = { .width = 80 }, fine = { .width = 100, .unicode = true, .colour = true },
			       narrow = { .width = 50, .unicode = true };

TEST(a_zone_curve_reads_well)
{
	cleanup_result struct result *res = zones();

	assert_golden("zones.txt", rendered(res, &plain));
	assert_golden("zones-colour.txt", rendered(res, &fine));
	assert_golden("zones.csv", rendered(res, NULL));
}

TEST(a_wide_table_fits_the_terminal)
{
	cleanup_result struct result *res = spans();

	assert_golden("spans.txt", rendered(res, &plain));
	assert_golden("spans-narrow.txt", rendered(res, &narrow));
	assert_golden("spans.csv", rendered(res, NULL));
}

TEST(a_long_table_is_thinned_and_says_so)
{
	cleanup_result struct result *res = timeline();

	assert_golden("timeline.txt", rendered(res, &plain));
}

TEST(cells_of_a_matrix_are_shown_as_one_and_a_wide_one_as_rows)
{
	cleanup_result struct result *res = matrix(4), *wide = matrix(33);

	assert_golden("matrix.txt", rendered(res, &plain));
	assert_golden("matrix-narrow.txt", rendered(res, &narrow));
	assert_golden("matrix.csv", rendered(res, NULL));
	assert_golden("matrix-wide.txt", rendered(wide, &plain));
}

/* ---- properties ---- */

TEST(no_line_is_wider_than_the_terminal_or_ends_in_spaces)
{
	struct result *docs[] = { zones(), spans(), timeline() };

	for (size_t i = 0; i < ARRAY_LEN(docs); i++) {
		for (unsigned width = 56; width < 200; width += 3) {
			struct text_style style = { .width = width, .unicode = width % 2 };
			cleanup_free char *text = rendered(docs[i], &style);

			(void)expect_lines_within(text, width);
		}
		for (unsigned width = 0; width < 56; width++) { /* nothing breaks below */
			struct text_style style = { .width = width };

			free(rendered(docs[i], &style));
		}
		result_free(docs[i]);
	}
}

TEST(a_narrow_terminal_loses_no_column)
{
	cleanup_result struct result *res = spans();

	for (unsigned width = 40; width < 140; width += 7) {
		struct text_style style = { .width = width };
		cleanup_free char *text = rendered(res, &style);

		/* last row: mean, median, 95 %, longest, requests per second */
		for (const char *const *v = (const char *const[]){ "12.70", "11.43", "19.05", "114.3", "78.7", NULL };
		     *v; v++)
			if (!strstr(text, *v))
				fail_msg("%s is not there with %u columns:\n%s", *v, width, text);
	}
}

struct text_row {
	const char *name;
	double value;
};
static const struct field text_fields[] = {
	FIELD_STR(struct text_row, name, "Name"),
	FIELD_F64(struct text_row, value, UNIT_NONE, "Value"),
	FIELD_END,
};

#define HOSTILE                   \
	"a\033[31mb\rc\nd\te\x7f" \
	"f\xc2\x9bg\xe2\x80\xaeh\xff"

/* The same text in every place that a document has. */
static struct result *everywhere(const char *text)
{
	struct result *res = start(text);
	struct table *t = result_table(res, text, text, text_fields);

	result_set(&res->head.engine, text);
	result_set(&res->head.started, text);
	result_target(res, &(struct target_row){ text, text, text, text, 5 }, target_fields);
	result_row(t, &(struct text_row){ text, 1 });
	free(t->columns[1].label);
	t->columns[1].label = result_strdup(text);
	result_figure_text(res, text, text, text);
	result_figure_u64(res, "other", text, UNIT_COUNT, 1);
	result_fault(res, text, text, 1, 1, -5, 1);
	result_notice(res, text, "%s", text);
	return res;
}

TEST(no_text_of_a_document_commands_the_terminal)
{
	cleanup_result struct result *res = everywhere(HOSTILE);

	for (int unicode = 0; unicode < 2; unicode++) {
		struct text_style style = { .width = 100, .unicode = unicode };
		char *text = rendered(res, &style);

		assert_non_null(strstr(text, "a?[31mb?c?d?e?f?g?h"));
		for (const char *p = text; *p; p++)
			if (((unsigned char)*p < ' ' && *p != '\n') || *p == 0x7f ||
			    (!unicode && (unsigned char)*p > 0x7f))
				fail_msg("byte %#x in: %s", (unsigned)(unsigned char)*p, text);
		assert_null(strstr(text, "\xc2\x9b"));
		assert_null(strstr(text, "\xe2\x80\xae"));
		free(text);
	}
}

TEST(very_long_texts_do_not_hurt)
{
	cleanup_free char *text = malloc(100001);
	cleanup_result struct result *res = NULL;

	assert_non_null(text);
	for (size_t i = 0; i < 100000; i += 2)
		memcpy(text + i, "\xc3\xa4", 2);
	text[100000] = 0;
	res = everywhere(text);
	for (unsigned width = 0; width < 120; width += 40)
		free(rendered(res, &(struct text_style){ .width = width, .unicode = width > 40 }));
	free(rendered(res, NULL));
}

TEST(an_empty_document_has_a_page_too)
{
	cleanup_result struct result *res = result_new(NULL);
	char *text;

	(void)result_table(res, "none", NULL, text_fields);
	text = rendered(res, &plain);
	assert_string_equal(text, "platter\n"
	                          "  Not finished: this is what was measured until the failure.\n"
	                          "\n"
	                          "none: none\n");
	free(text);
	text = rendered(res, NULL);
	assert_string_equal(text, "# table figures\nname,value,low,high,samples\n# table none\nname,value\n");
	free(text);
}

TEST(plots_are_drawn_when_asked_for)
{
	cleanup_result struct result *res = zones();
	struct text_style style = { .width = 80, .plots = true };
	char *without = rendered(res, &plain), *with = rendered(res, &style);

	assert_true(strlen(with) > strlen(without) + 300);
	(void)expect_lines_within(with, 80);
	free(without);
	free(with);
}

TEST(a_failed_write_is_an_error)
{
	cleanup_result struct result *res = zones();
	FILE *full = fopen("/dev/full", "w");

	assert_non_null(full);
	assert_int_equal(report_text(full, res, &plain), -ENOSPC);
	(void)fclose(full);
	full = fopen("/dev/full", "w");
	assert_non_null(full);
	assert_int_equal(report_csv(full, (const struct result *const *)&res, 1), -ENOSPC);
	(void)fclose(full);
}

/* ---- CSV ---- */

TEST(texts_in_csv_are_quoted_and_never_formulas)
{
	struct cases c = cases_open(TEST_DATA "/cases/csv");

	while (cases_next(&c)) {
		const char *cell = cases_plain(cases_field(&c));
		const char *expected = textf("name,value\n%s,-1.5\n", cell);
		cleanup_result struct result *res = result_new("x");
		char *text;

		result_row(result_table(res, "t", NULL, text_fields),
		           &(struct text_row){ cases_plain(cases_field(&c)), -1.5 });
		text = rendered(res, NULL);
		if (!strstr(text, expected))
			fail_msg("'%s' is not in: %s", expected, text);
		free(text);
	}
	assert_true(c.n > 14);
}

TEST(numbers_in_csv_are_exact_and_null_is_empty)
{
	cleanup_result struct result *res = result_new("x");
	struct table *t = result_table(res, "t\nu", NULL, text_fields);
	cleanup_free char *text = NULL;

	result_row(t, &(struct text_row){ NULL, 1.0 / 3 });
	result_row(t, &(struct text_row){ "x", (double)NAN });
	result_figure_u64(res, "big", NULL, UNIT_COUNT, UINT64_MAX - 1);
	text = rendered(res, NULL);
	assert_string_equal(text, "# table figures\nname,value,low,high,samples\nbig,18446744073709551614,,,\n"
	                          "# table t?u\nname,value\n,0.3333333333333333\nx,\n");
}
