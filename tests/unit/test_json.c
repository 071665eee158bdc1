/* SPDX-License-Identifier: GPL-2.0-or-later */
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
#include "base/rng.h"
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
	result_plot(res, &(struct plot){ .kind = (char *)(uintptr_t) "line",
	                                 .table = (char *)(uintptr_t) "curve",
	                                 .x = (char *)(uintptr_t) "offset_bytes",
	                                 .y = (char *)(uintptr_t) "rate_bytes_per_s" });
	return res;
}

static void expect_same_text_after_loading(const struct result *res)
{
	struct result *back = NULL;
	struct err err = { 0 };
	char *first = result_to_json(res), *second;

	if (result_from_json(&back, first, strlen(first), &err))
		fail_msg("%s\n%s", err.text, first);
	second = result_to_json(back);
	assert_string_equal(first, second);
	free(first);
	free(second);
	result_free(back);
}

static void what_was_loaded_saves_as_the_same_bytes(void **state)
{
	struct result *res = full();

	(void)state;
	expect_same_text_after_loading(res);
	result_free(res);
	res = result_new("empty");
	expect_same_text_after_loading(res);
	result_free(res);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_loaded_saves_as_the_same_bytes),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
