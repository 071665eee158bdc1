/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text and CSV against golden files in tests/data/golden; PLATTER_GOLDEN_UPDATE=1 writes them anew (look at the diff). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
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
	result_figure(res, "rotation_rpm", NULL, UNIT_RPM, 5400.12, &(struct interval){ 5400.08, 5400.16 }, 64);
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
	for (uint64_t i = 0; i <= 1920; i++)
		result_row(t, &(struct time_row){ (double)i, 32e6 + (double)(i % 7) * 1e5, i % 160 * 1048576 });
	for (uint64_t i = 0; i < 12; i++)
		result_fault(res, "/dev/sdb", "write", i * 10485760, 1048576, i % 5 ? -EIO : 524288, 12.5 + (double)i);
	return res;
}

/* ---- golden files ---- */

static char *rendered(const struct result *res, const struct text_style *style)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(style ? report_text(out, res, style) : report_csv(out, res), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void expect_golden(const char *name, char *text)
{
	static char golden[1 << 20];
	char path[512];
	FILE *f;
	size_t n;

	(void)snprintf(path, sizeof(path), "%s/golden/%s", TEST_DATA, name);
	if (getenv("PLATTER_GOLDEN_UPDATE")) {
		f = fopen(path, "w");
		assert_non_null(f);
		assert_true(fputs(text, f) >= 0);
		assert_int_equal(fclose(f), 0);
	}
	f = fopen(path, "r");
	if (!f)
		fail_msg("%s is not there; PLATTER_GOLDEN_UPDATE=1 writes it", path);
	n = fread(golden, 1, sizeof(golden) - 1, f);
	golden[n] = 0;
	(void)fclose(f);
	assert_string_equal(text, golden);
	free(text);
}

static const struct text_style plain = { .width = 80 }, fine = { .width = 100, .unicode = true, .colour = true },
			       narrow = { .width = 50, .unicode = true };

static void a_zone_curve_reads_well(void **state)
{
	struct result *res = zones();

	(void)state;
	expect_golden("zones.txt", rendered(res, &plain));
	expect_golden("zones-colour.txt", rendered(res, &fine));
	expect_golden("zones.csv", rendered(res, NULL));
	result_free(res);
}

static void a_wide_table_fits_the_terminal(void **state)
{
	struct result *res = spans();

	(void)state;
	expect_golden("spans.txt", rendered(res, &plain));
	expect_golden("spans-narrow.txt", rendered(res, &narrow));
	expect_golden("spans.csv", rendered(res, NULL));
	result_free(res);
}

static void a_long_table_is_thinned_and_says_so(void **state)
{
	struct result *res = timeline();

	(void)state;
	expect_golden("timeline.txt", rendered(res, &plain));
	result_free(res);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_zone_curve_reads_well),
		cmocka_unit_test(a_wide_table_fits_the_terminal),
		cmocka_unit_test(a_long_table_is_thinned_and_says_so),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
