/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows and lines of each step, the figures, the log of 1997. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "measure/passes/passes.h"

const struct field passes_fields[] = {
	FIELD_STR(struct passes_row, step, "step"),
	FIELD_STR(struct passes_row, end_time, "ended"),
	FIELD_U64(struct passes_row, elapsed_ns, UNIT_NS, "time"),
	FIELD_F64(struct passes_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_F64(struct passes_row, cpu_percent, UNIT_PERCENT, "CPU"),
	FIELD_F64(struct passes_row, cpu_s_per_mb, UNIT_NONE, "CPU s/MB"),
	FIELD_F64(struct passes_row, from_device_ratio, UNIT_RATIO, "from device"),
	FIELD_F64(struct passes_row, from_disk_ratio, UNIT_RATIO, "disk moved"),
	FIELD_F64(struct passes_row, cached_before_ratio, UNIT_RATIO, "in memory"),
	FIELD_STR(struct passes_row, file, "file", .detail = true),
	FIELD_F64(struct passes_row, start_s, UNIT_S, "began", .detail = true),
	FIELD_U64(struct passes_row, moved_bytes, UNIT_BYTES, "moved", .detail = true),
	FIELD_END,
};

const struct measure_table passes_tables[] = {
	{ "steps", "Steps", passes_fields },
	{ NULL, NULL, NULL },
};

/* The line of a step in the log. */
static void log_step(struct passes_work *w, const struct passes_row *row)
{
	char number[32], rate[40] = "", device[40] = "";

	if (isfinite(row->from_device_ratio))
		(void)units_printf(device, sizeof(device), ", from the device %.1f %%", 100.0 * row->from_device_ratio);
	if (isfinite(row->rate_bytes_per_s))
		(void)snprintf(rate, sizeof(rate), ", %s", units_rate(number, sizeof(number), row->rate_bytes_per_s));
	session_log(w->ses, "%s %s: %.3f s%s, CPU %.1f %%%s", w->path, row->step, (double)row->elapsed_ns * 1e-9, rate,
	            row->cpu_percent, device);
}

void passes_report_step(struct passes_work *w, const struct passes_row *row)
{
	result_row(result_table(w->ses->res, "steps", "Steps", passes_fields), row);
	log_step(w, row);
	session_checkpoint(w->ses);
}

void passes_report_figures(struct result *res, const struct passes_found *f, bool has_written)
{
	bool is_one = f->nfiles == 1;

	if (has_written) {
		result_figure(res, "write_bytes_per_s", "writing, without fsync", UNIT_BYTES_PER_S,
		              f->write_bytes_per_s, NULL, f->nfiles);
		result_figure(res, "write_synced_bytes_per_s", "writing, with fsync", UNIT_BYTES_PER_S,
		              f->synced_bytes_per_s, NULL, f->nfiles);
		result_figure(res, "fsync_ns", is_one ? "fsync alone" : "the longest fsync", UNIT_NS, f->fsync_ns, NULL,
		              f->nfiles);
	}
	if (f->has_reads)
		result_figure(res, "read_bytes_per_s",
		              is_one ? "reading, mean of the passes" : "reading, while all files were read",
		              UNIT_BYTES_PER_S, f->read_bytes_per_s, is_one ? &f->read_ci : NULL, f->reads);
	if (f->has_reads && isfinite(f->from_device_ratio))
		result_figure(res, "read_from_device_ratio", "share of reads from the device", UNIT_RATIO,
		              f->from_device_ratio, NULL, f->reads);
	if (f->has_reads && !is_one && isnan(f->read_bytes_per_s))
		result_notice(
			res, "not-together",
			"At no time were all files being read, so the rate of all together is not measured; give more --repeat, or a larger --size.");
}

void passes_report_words(struct result *res, const struct passes_work *works, size_t n)
{
	uint64_t checked = 0, unread = 0, wrong = 0, words = 0;
	bool is_known = false;

	for (size_t i = 0; i < n; i++) {
		checked += works[i].checked_bytes;
		unread += works[i].unread_bytes;
		wrong += works[i].verify_errors;
		words += works[i].wrong_words;
		is_known |= works[i].is_ours;
	}
	if (unread)
		result_figure_u64(res, "unread_bytes", "of what was to be read, could not be", UNIT_BYTES, unread);
	if (is_known)
		result_figure_u64(res, "checked_bytes", "bytes compared with those written", UNIT_BYTES, checked);
	if (checked) {
		result_figure_u64(res, "verify_errors", "blocks that were not as written", UNIT_COUNT, wrong);
		result_figure_u64(res, "wrong_words", "words that were not as written", UNIT_COUNT, words);
	} else {
		result_figure_text(res, "verify_errors", "blocks that were not as written", NULL);
	}
	if (wrong)
		res->verdict_is_no = true;
}

void passes_report_plots(struct session *ses)
{
	result_plot(
		ses->res,
		&(struct plot){
			.name = "steps",
			.see = "Each bar is a step; a pass that is much faster than those before it was read from memory.",
			.kind = "bars",
			.title = "Rate of each step",
			.table = "steps",
			.x = "step",
			.y = "rate_bytes_per_s",
			.series = ses->ndevs > 1 ? "file" : NULL });
}
