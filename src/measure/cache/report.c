/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the cells and the search say: rows, figures, pictures, iozone's table. */
#include <math.h>
#include <string.h>

#include "base/whole.h"
#include "measure/cache/cache.h"

/* Text shows the rates as a table of sizes (the heat map that is declared below); files have all. */
const struct field cache_cell_fields[] = {
	FIELD_U64(struct cell_row, file_bytes, UNIT_BYTES, "file"),
	FIELD_U64(struct cell_row, record_bytes, UNIT_BYTES, "record"),
	FIELD_STR(struct cell_row, mode, "mode"),
	FIELD_STR(struct cell_row, operation, "operation"),
	FIELD_F64(struct cell_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_F64(struct cell_row, hit_ratio, UNIT_RATIO, "hits"),
	FIELD_F64(struct cell_row, low_bytes_per_s, UNIT_BYTES_PER_S, "low", .detail = true),
	FIELD_F64(struct cell_row, high_bytes_per_s, UNIT_BYTES_PER_S, "high", .detail = true),
	FIELD_F64(struct cell_row, best_bytes_per_s, UNIT_BYTES_PER_S, "best", .detail = true),
	FIELD_F64(struct cell_row, from_device_ratio, UNIT_RATIO, "from device", .detail = true),
	FIELD_F64(struct cell_row, from_disk_ratio, UNIT_RATIO, "disk moved", .detail = true),
	FIELD_F64(struct cell_row, cached_before_ratio, UNIT_RATIO, "cached before", .detail = true),
	FIELD_F64(struct cell_row, cached_after_ratio, UNIT_RATIO, "cached after", .detail = true),
	FIELD_U64(struct cell_row, repetitions, UNIT_COUNT, "repetitions", .detail = true),
	FIELD_END,
};

const struct field cache_knee_fields[] = {
	FIELD_U64(struct knee_row, file_bytes, UNIT_BYTES, "file"),
	FIELD_F64(struct knee_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "second reading"),
	FIELD_F64(struct knee_row, hit_ratio, UNIT_RATIO, "hits"),
	FIELD_F64(struct knee_row, counted_hit_ratio, UNIT_RATIO, "third reading, hits"),
	FIELD_F64(struct knee_row, cachestat_ratio, UNIT_RATIO, "by cachestat"),
	FIELD_F64(struct knee_row, from_disk_ratio, UNIT_RATIO, "disk moved"),
	FIELD_END,
};

static double cell_number(const struct table *t, uint64_t file, uint64_t record, const char *mode, enum operation op,
                          const char *key)
{
	for (size_t i = 0; i < t->nrows; i++)
		if (table_number(t, i, 0) == (double)file && table_number(t, i, 1) == (double)record &&
		    strcmp(table_string(t, i, 2), mode) == 0 && strcmp(table_string(t, i, 3), cache_ops[op].name) == 0)
			return table_number_of(t, i, key);
	return NAN;
}

static void figure_if(struct result *res, const char *name, const char *label, enum unit unit, double value)
{
	if (isfinite(value))
		result_figure(res, name, label, unit, value, NULL, 0);
}

/* The best of all cells through the cache. */
void cache_report_extremes(struct result *res, const struct table *t)
{
	double hit = NAN, miss = NAN;
	uint64_t hits = 0, misses = 0;

	for (size_t i = 0; i < t->nrows; i++) {
		struct cell_row row;

		table_row(t, i, cache_cell_fields, &row);
		if (strcmp(row.mode, cache_mode_names[MODE_CACHED]) != 0)
			continue;
		if (strcmp(row.operation, cache_ops[OP_REREAD].name) == 0 && row.hit_ratio >= CACHE_HIT_RATIO) {
			hit = fmax(hit, row.rate_bytes_per_s);
			hits++;
		}
		if (strcmp(row.operation, cache_ops[OP_READ].name) == 0) {
			miss = fmax(miss, row.rate_bytes_per_s);
			misses++;
		}
	}
	if (hits)
		result_figure(res, "hit_bytes_per_s", "best second reading, from memory", UNIT_BYTES_PER_S, hit, NULL,
		              hits);
	if (misses)
		result_figure(res, "miss_bytes_per_s", "best first reading, nothing in memory", UNIT_BYTES_PER_S, miss,
		              NULL, misses);
}

/*
 * Costs and gains, at the largest file that was wholly in memory and the smallest record that is not less than a page:
 * one number each, of cells that the matrix has.
 */
void cache_report_findings(struct result *res, const struct table *t, uint64_t page_bytes)
{
	static const char key[] = "rate_bytes_per_s";
	uint64_t file = 0, record = 0;
	double hit, miss, ahead, back;

	for (size_t i = 0; i < t->nrows; i++) {
		uint64_t f = whole(table_number(t, i, 0)), rec = whole(table_number(t, i, 1));

		if (strcmp(table_string(t, i, 3), cache_ops[OP_REREAD].name) != 0 ||
		    strcmp(table_string(t, i, 2), "cached") != 0 || rec < page_bytes ||
		    !(table_number(t, i, 5) >= CACHE_HIT_RATIO))
			continue;
		if (f > file || (f == file && rec < record))
			record = rec;
		file = f > file ? f : file;
	}
	if (!file)
		return;
	hit = cell_number(t, file, record, "cached", OP_RANDOM_READ, key);
	miss = cell_number(t, file, record, "cached", OP_COLD_RANDOM_READ, key);
	ahead = cell_number(t, file, record, "cached", OP_READ, key);
	back = cell_number(t, file, record, "cached", OP_REWRITE, key);
	result_figure_u64(res, "finding_record_bytes", "record size of the figures below", UNIT_BYTES, record);
	figure_if(res, "hit_ns", "random read from memory", UNIT_NS, (double)record / hit * 1e9);
	figure_if(res, "miss_ns", "random read not from memory", UNIT_NS, (double)record / miss * 1e9);
	figure_if(res, "read_ahead_gain_ratio", "first reading in order against at random", UNIT_RATIO, ahead / miss);
	figure_if(res, "write_back_gain_ratio", "rewriting through the cache against direct", UNIT_RATIO,
	          back / cell_number(t, file, record, "direct", OP_REWRITE, key));
}

void cache_report_plots(struct session *ses)
{
	result_plot(
		ses->res,
		&(struct plot){
			.name = "matrix",
			.see = "A strong colour is fast; where it turns pale towards larger files, they no longer fit into memory.",
			.kind = "heatmap",
			.title = "Rate by file and record size",
			.table = "matrix",
			.x = "file_bytes",
			.y = "record_bytes,rate_bytes_per_s",
			.series = "operation,mode",
			.marks = "figures:knee_bytes" });
	result_plot(ses->res,
	            &(struct plot){
			    .name = "knee",
			    .see = "The rate falls where the file no longer fits into memory: the mark is that size.",
			    .kind = "line",
			    .title = "Second reading against file size",
			    .table = "knee",
			    .x = "file_bytes",
			    .y = "rate_bytes_per_s",
			    .marks = "figures:knee_bytes" });
	result_plot(
		ses->res,
		&(struct plot){
			.name = "hits",
			.see = "The part that came from memory: it falls from 1 towards 0 where the file no longer fits.",
			.kind = "line",
			.title = "Hit ratio of the second reading",
			.table = "knee",
			.x = "file_bytes",
			.y = "hit_ratio",
			.marks = "figures:knee_bytes" });
}

/* The last row of either kind: the search never goes back. */
bool cache_report_knee(struct result *res, const struct table *t)
{
	uint64_t good = 0, bad = 0;
	struct interval ci;

	for (size_t i = 0; i < t->nrows; i++) {
		struct knee_row row;

		table_row(t, i, cache_knee_fields, &row);
		*(row.hit_ratio >= CACHE_HIT_RATIO ? &good : &bad) = row.file_bytes;
	}
	ci = (struct interval){ (double)good, (double)bad };
	if (good && bad)
		result_figure(res, "knee_bytes", "largest file that reads from memory", UNIT_BYTES, (double)good, &ci,
		              t->nrows);
	else
		result_figure(res, "knee_bytes", "largest file that reads from memory", UNIT_BYTES, NAN, NULL, 0);
	return good && bad;
}
