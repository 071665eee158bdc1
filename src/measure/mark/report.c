/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What mark says: its tables and figures, how random the draws were, what the mark is a mark of, its pictures. */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/mark/mark.h"

const struct field mark_run_fields[] = {
	FIELD_STR(struct mark_row, way, "way"),
	FIELD_U64(struct mark_row, repetition, UNIT_COUNT, "run"),
	FIELD_U64(struct mark_row, file_bytes, UNIT_BYTES, "file"),
	FIELD_F64(struct mark_row, write_mib_per_s, UNIT_MIB_PER_S, "write"),
	FIELD_F64(struct mark_row, write_synced_mib_per_s, UNIT_MIB_PER_S, "and fsync"),
	FIELD_F64(struct mark_row, read_mib_per_s, UNIT_MIB_PER_S, "read"),
	FIELD_F64(struct mark_row, random_mib_per_s, UNIT_MIB_PER_S, "random"),
	FIELD_F64(struct mark_row, diskmark_mib_per_s, UNIT_MIB_PER_S, "DiskMark"),
	FIELD_U64(struct mark_row, checksum_read, UNIT_COUNT, "checksum"),
	FIELD_U64(struct mark_row, checksum_written, UNIT_COUNT, "checksum written", .detail = true),
	FIELD_F64(struct mark_row, random_per_s, UNIT_PER_S, "random reads", .detail = true),
	FIELD_F64(struct mark_row, cached_ratio, UNIT_RATIO, "in memory", .detail = true),
	FIELD_F64(struct mark_row, from_device_ratio, UNIT_RATIO, "from device", .detail = true),
	FIELD_F64(struct mark_row, from_disk_ratio, UNIT_RATIO, "disk moved", .detail = true),
	FIELD_F64(struct mark_row, read_from_device_ratio, UNIT_RATIO, "reading: from device", .detail = true),
	FIELD_U64(struct mark_row, sync_ns, UNIT_NS, "fsync", .detail = true),
	FIELD_U64(struct mark_row, records, UNIT_COUNT, "records", .detail = true),
	FIELD_END,
};

static const struct field mark_way_fields[] = {
	FIELD_STR(struct mark_row, way, "way"),
	FIELD_F64(struct mark_row, write_mib_per_s, UNIT_MIB_PER_S, "write"),
	FIELD_F64(struct mark_row, write_synced_mib_per_s, UNIT_MIB_PER_S, "and fsync"),
	FIELD_F64(struct mark_row, read_mib_per_s, UNIT_MIB_PER_S, "read"),
	FIELD_F64(struct mark_row, random_mib_per_s, UNIT_MIB_PER_S, "random"),
	FIELD_F64(struct mark_row, diskmark_mib_per_s, UNIT_MIB_PER_S, "DiskMark"),
	FIELD_F64(struct mark_row, cached_ratio, UNIT_RATIO, "in memory"),
	FIELD_F64(struct mark_row, from_device_ratio, UNIT_RATIO, "from device"),
	FIELD_F64(struct mark_row, from_disk_ratio, UNIT_RATIO, "disk moved"),
	FIELD_F64(struct mark_row, random_per_s, UNIT_PER_S, "random reads", .detail = true),
	FIELD_U64(struct mark_row, repetitions, UNIT_COUNT, "runs", .detail = true),
	FIELD_END,
};

const struct field mark_sweep_fields[] = {
	FIELD_U64(struct mark_point, file_bytes, UNIT_BYTES, "file"),
	FIELD_F64(struct mark_point, write, UNIT_MIB_PER_S, "write"),
	FIELD_F64(struct mark_point, read, UNIT_MIB_PER_S, "read"),
	FIELD_F64(struct mark_point, random, UNIT_MIB_PER_S, "random"),
	FIELD_F64(struct mark_point, diskmark, UNIT_MIB_PER_S, "DiskMark"),
	FIELD_F64(struct mark_point, cached_ratio, UNIT_RATIO, "in memory"),
	FIELD_F64(struct mark_point, from_device_ratio, UNIT_RATIO, "from device"),
	FIELD_END,
};

const struct measure_table mark_tables[] = {
	{ "ways", "Three ways", mark_way_fields },
	{ "runs", "Each repetition", mark_run_fields },
	{ "sweep", "Mark against file size", mark_sweep_fields },
	{ NULL, NULL, NULL },
};

struct table *mark_way_table(struct result *res)
{
	return result_table(res, "ways", mark_tables[0].title, mark_way_fields);
}

static void report_draws(struct result *res, const struct mark_draws *d)
{
	const struct {
		const char *name, *label;
		double value;
		uint64_t n;
	} list[] = {
		{ "position_mean_ratio", "mean place of the random records (uniform: 50 %)", d->mean, d->draws },
		{ "position_cv_ratio", "their coefficient of variation (uniform: 57.74 %)", d->cv, d->draws },
		{ "ks_distance_ratio", "largest distance to the uniform law", d->ks_distance, d->ks_draws },
		{ "ks_p_ratio", "chance of a larger one (Kolmogorov-Smirnov)", d->ks_p, d->ks_draws },
		{ "covered_ratio", "part of all records that was read", d->covered, d->draws },
		{ "covered_expected_ratio", "the part that uniform draws would read", d->covered_expected, d->draws },
	};

	for (size_t i = 0; i < ARRAY_LEN(list); i++)
		result_figure(res, list[i].name, list[i].label, UNIT_RATIO, list[i].value, NULL, list[i].n);
}

void mark_report_way(struct result *res, const struct mark_row *rows, size_t n, const struct mark_draws *draws)
{
	struct interval ci[MARK_SPEEDS];
	struct mark_row way;
	char name[64], label[64];

	mark_means(rows, n, &way, ci);
	for (size_t f = 0; mark_speeds[f].name; f++) {
		double mean;

		memcpy(&mean, (const char *)&way + mark_speeds[f].offset, sizeof(mean));
		if (draws && mark_speeds[f].label)
			result_figure(res, mark_speeds[f].name, mark_speeds[f].label, UNIT_MIB_PER_S, mean, &ci[f], n);
	}
	if (draws) {
		report_draws(res, draws);
		result_figure_u64(res, "checksum", "checksum, equal in write and read", UNIT_COUNT,
		                  rows[n - 1].checksum_read);
	} else {
		(void)snprintf(name, sizeof(name), "diskmark_%s_mib_per_s", way.way);
		(void)snprintf(label, sizeof(label), "DiskMark of the way %s", way.way);
		result_figure(res, name, label, UNIT_MIB_PER_S, way.diskmark_mib_per_s, &ci[MARK_SPEED_MARK], n);
	}
	result_row(mark_way_table(res), &way);
}

void mark_report_sweep(struct result *res, const struct mark_cache_end *s, bool is_direct)
{
	if (s->largest_cached)
		result_figure_u64(res, "largest_cached_bytes", "largest file that was wholly in memory", UNIT_BYTES,
		                  s->largest_cached);
	if (s->smallest_not != UINT64_MAX && !is_direct)
		result_figure_u64(res, "cache_ends_bytes", "smallest file that was not wholly in memory", UNIT_BYTES,
		                  s->smallest_not);
}

/* One plain sentence: what was measured. */
void mark_report_what(struct result *res, uint64_t file_bytes, double cached_ratio, bool is_media)
{
	char size[32];

	(void)units_bytes_dec(size, sizeof(size), file_bytes);
	if (is_media)
		result_notice(res, "what",
		              "Every record of the file of %s came from the disk: this is the disk's own score.", size);
	else if (!isfinite(cached_ratio))
		result_notice(
			res, "what",
			"The kernel does not report how much of the file of %s was in memory: the score may be the disk's or the memory's.",
			size);
	else
		result_notice(res, "what", "%.0f %% of the random reads in the file of %s came from memory: %s.",
		              100.0 * cached_ratio, size,
		              cached_ratio > 0.5 ? "this is a memory score" : "the disk decides this score");
}

void mark_report_plots(struct result *res, bool has_sweep)
{
	result_plot(
		res,
		&(struct plot){
			.name = "ways",
			.see = "The same file by each way: where bars differ, it is the memory or the way, not the disk.",
			.kind = "bars",
			.title = "DiskMark by way",
			.table = "ways",
			.x = "way",
			.y = "diskmark_mib_per_s" });
	if (has_sweep)
		result_plot(
			res,
			&(struct plot){
				.name = "sweep",
				.see = "Where a line falls, the file no longer fits into memory: what is left at the right is the disk.",
				.kind = "line",
				.title = "Mark against file size",
				.table = "sweep",
				.x = "file_bytes",
				.y = "write,read,random,diskmark" });
}
