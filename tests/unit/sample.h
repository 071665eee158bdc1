/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Documents made by hand for the tests of renderers: every kind of plot, hostile text, many rows. */
#ifndef PLATTER_TESTS_SAMPLE_H
#define PLATTER_TESTS_SAMPLE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "result/result.h"

struct sample_target {
	const char *path, *model, *serial;
	uint64_t size_bytes;
};

static const struct field sample_target_fields[] = {
	FIELD_STR(struct sample_target, path, "path"),
	FIELD_STR(struct sample_target, model, "model"),
	FIELD_STR(struct sample_target, serial, "serial"),
	FIELD_U64(struct sample_target, size_bytes, UNIT_BYTES, "size"),
	FIELD_END,
};

struct sample_curve {
	uint64_t offset_bytes;
	double rate_bytes_per_s, low, high;
};

static const struct field sample_curve_fields[] = {
	FIELD_U64(struct sample_curve, offset_bytes, UNIT_BYTES, "position"),
	FIELD_F64(struct sample_curve, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_F64(struct sample_curve, low, UNIT_BYTES_PER_S, "low"),
	FIELD_F64(struct sample_curve, high, UNIT_BYTES_PER_S, "high"),
	FIELD_END,
};

struct sample_cell {
	uint64_t file_bytes, record_bytes;
	const char *operation;
	double rate_bytes_per_s;
};

static const struct field sample_cell_fields[] = {
	FIELD_U64(struct sample_cell, file_bytes, UNIT_BYTES, "file size"),
	FIELD_U64(struct sample_cell, record_bytes, UNIT_BYTES, "record"),
	FIELD_STR(struct sample_cell, operation, "operation"),
	FIELD_F64(struct sample_cell, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_END,
};

struct sample_angle {
	double angle_ratio;
	uint64_t track, samples;
};

static const struct field sample_angle_fields[] = {
	FIELD_F64(struct sample_angle, angle_ratio, UNIT_RATIO, "angle"),
	FIELD_U64(struct sample_angle, track, UNIT_COUNT, "track"),
	FIELD_U64(struct sample_angle, samples, UNIT_COUNT, "samples"),
	FIELD_END,
};

struct sample_region {
	uint64_t first_byte, last_byte;
};

static const struct field sample_region_fields[] = {
	FIELD_U64(struct sample_region, first_byte, UNIT_BYTES, "first byte"),
	FIELD_U64(struct sample_region, last_byte, UNIT_BYTES, "last byte"),
	FIELD_END,
};

/* A zone curve falling from `start` to half of it over `n` positions; scale 1 leaves it as it is. */
static inline struct result *sample_zones(const char *model, const char *serial, const char *started, size_t n,
                                          double scale)
{
	struct result *res = result_new("zones");
	struct sample_target target = { "/dev/sdx", model, serial, 4000787030016 };
	struct table *t = result_table(res, "curve", "Rate by position", sample_curve_fields);
	struct interval ci = { 199e6 * scale, 201e6 * scale };

	free(res->head.started);
	res->head.started = strdup(started);
	result_target(res, &target, sample_target_fields);
	for (size_t i = 0; i < n; i++) {
		double x = n > 1 ? (double)i / (double)(n - 1) : 0.0;
		struct sample_curve row = { (uint64_t)(x * 4e12), 200e6 * scale * sqrt(1.0 - 0.75 * x), 0, 0 };

		row.low = row.rate_bytes_per_s * 0.99;
		row.high = row.rate_bytes_per_s * 1.01;
		result_row(t, &row);
	}
	result_figure(res, "start_bytes_per_s", "start", UNIT_BYTES_PER_S, 200e6 * scale, &ci, 30);
	result_figure_u64(res, "surfaces", "surfaces", UNIT_COUNT, 4);
	result_figure_text(res, "layout", "layout", "serpentine");
	result_plot(res, &(struct plot){ .kind = "line",
	                                 .title = "Rate by position",
	                                 .table = "curve",
	                                 .x = "offset_bytes",
	                                 .y = "rate_bytes_per_s",
	                                 .low = "low",
	                                 .high = "high",
	                                 .marks = "slow:first_byte:last_byte,figures:edge_bytes" });
	return res;
}

static inline void sample_plot(struct result *res, const char *kind, const char *table, const char *x, const char *y,
                               const char *series)
{
	struct plot p = { .kind = kind, .title = kind, .table = table, .x = x, .y = y, .series = series };

	result_plot(res, &p);
}

/* One document with every kind of plot. */
static inline struct result *sample_all_plots(void)
{
	struct result *res = sample_zones("Sample 4000", "S1", "2026-01-02T03:04:05.000000Z", 64, 1.0);
	struct table *m = result_table(res, "matrix", "Cache matrix", sample_cell_fields);
	struct table *a = result_table(res, "angles", "Angles", sample_angle_fields);

	for (unsigned f = 20; f < 26; f++)
		for (unsigned r = 9; r < 17; r++) {
			struct sample_cell cell = { 1ull << f, 1ull << r, r % 2 ? "read" : "write",
				                    f < 24 ? 5e9 + r * 1e7 : 2e8 + r * 1e6 };

			result_row(m, &cell);
		}
	for (unsigned i = 0; i < 200; i++) {
		struct sample_angle row = { fmod(i * 0.2, 1.0), i, (i * 37) % 101 };

		result_row(a, &row);
	}
	{
		struct table *s = result_table(res, "slow", "Slow regions", sample_region_fields);
		struct sample_region regions[] = { { 1000000000000, 1200000000000 }, { 3000000000000, 3000000001024 } };

		for (size_t i = 0; i < 2; i++)
			result_row(s, &regions[i]);
		result_figure_u64(res, "edge_bytes", "end of something", UNIT_BYTES, 3145728);
	}
	sample_plot(res, "scatter", "angles", "track", "angle_ratio", NULL);
	sample_plot(res, "step", "curve", "offset_bytes", "rate_bytes_per_s,low", NULL);
	sample_plot(res, "bars", "matrix", "operation", "rate_bytes_per_s", NULL);
	result_plot(res, &(struct plot){ .kind = "heatmap",
	                                 .title = "heatmap",
	                                 .table = "matrix",
	                                 .x = "file_bytes",
	                                 .y = "record_bytes,rate_bytes_per_s",
	                                 .series = "operation",
	                                 .marks = "figures:edge_bytes" });
	sample_plot(res, "polar", "angles", "angle_ratio", "track", NULL);
	sample_plot(res, "histogram", "angles", "track", "samples", NULL);
	sample_plot(res, "bands", "curve", "offset_bytes", "rate_bytes_per_s", NULL);
	return res;
}

#endif
