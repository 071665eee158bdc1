/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What mark says beside its tables: how random the draws were, what the mark is a mark of, its pictures. */
#include <math.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/mark/mark.h"
#include "result/result.h"

void mark_tell_draws(struct result *res, const struct mark_draws *d)
{
	const struct {
		const char *name, *label;
		double value;
		uint64_t n;
	} list[] = {
		{ "position_mean_ratio", "mean place of the random records (uniform: 0.5)", d->mean, d->draws },
		{ "position_cv_ratio", "their coefficient of variation (uniform: 0.5774)", d->cv, d->draws },
		{ "ks_distance_ratio", "largest distance to the uniform law", d->ks_distance, d->ks_draws },
		{ "ks_p_ratio", "chance of a larger one (Kolmogorov-Smirnov)", d->ks_p, d->ks_draws },
		{ "covered_ratio", "part of all records that was read", d->covered, d->draws },
		{ "covered_expected_ratio", "the part that uniform draws would read", d->covered_expected, d->draws },
	};

	for (size_t i = 0; i < ARRAY_LEN(list); i++)
		result_figure(res, list[i].name, list[i].label, UNIT_RATIO, list[i].value, NULL, list[i].n);
}

/* One plain sentence: what was measured. */
void mark_tell_what(struct result *res, uint64_t file_bytes, double cached_ratio, bool is_media)
{
	char size[32];

	(void)units_bytes_dec(size, sizeof(size), file_bytes);
	if (is_media)
		result_notice(res, "what",
		              "Every record of the file of %s came from the disk: this is the disk's own score.", size);
	else if (!isfinite(cached_ratio))
		result_notice(
			res, "what",
			"The kernel does not tell how much of the file of %s was in memory: the score may be the disk's or the memory's.",
			size);
	else if (cached_ratio > 0.5)
		result_notice(res, "what",
		              "%.0f %% of the random reads in the file of %s came from memory: this is a memory score.",
		              100.0 * cached_ratio, size);
	else
		result_notice(
			res, "what",
			"%.0f %% of the random reads in the file of %s came from memory: the disk decides this score.",
			100.0 * cached_ratio, size);
}

void mark_tell_plots(struct result *res, bool has_sweep)
{
	static char line[] = "line", title[] = "Mark against file size", sweep[] = "sweep", x[] = "file_bytes",
		    y[] = "write,read,random,diskmark";
	static char bars[] = "bars", bars_title[] = "DiskMark by way", ways[] = "ways", way[] = "way",
		    mark[] = "diskmark_mib_per_s";

	result_plot(res, &(struct plot_decl){ .kind = bars, .title = bars_title, .table = ways, .x = way, .y = mark });
	if (has_sweep)
		result_plot(res, &(struct plot_decl){ .kind = line, .title = title, .table = sweep, .x = x, .y = y });
}
