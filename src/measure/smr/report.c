/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `smr` says. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "measure/smr/smr.h"

const struct field smr_sample_fields[] = {
	FIELD_F64(struct smr_sample, time_s, UNIT_S, "time"),
	FIELD_F64(struct smr_sample, writes_per_s, UNIT_PER_S, "writes"),
	FIELD_U64(struct smr_sample, first, UNIT_COUNT, "writes before"),
	FIELD_U64(struct smr_sample, writes, UNIT_COUNT, "writes in it"),
	FIELD_U64(struct smr_sample, write_ns, UNIT_NS, "took"),
	FIELD_U64(struct smr_sample, flush_ns, UNIT_NS, "flush"),
	FIELD_U64(struct smr_sample, flushes, UNIT_COUNT, "flushes", .detail = true),
	FIELD_END,
};

const struct measure_table smr_tables[] = {
	{ "writes", "Writes at random, and the flush behind them", smr_sample_fields },
	{ NULL, NULL, NULL },
};

void smr_report_samples(struct result *res, const struct smr_input *in)
{
	struct table *t = result_table(res, smr_tables[0].name, smr_tables[0].title, smr_sample_fields);

	t->rows_max = SIZE_MAX; /* figures are had again from all of them */
	for (size_t i = 0; i < in->n; i++)
		result_row(t, &in->v[i]);
	result_plot(res,
	            &(struct plot){ .name = "rate",
	                            .see = "A rate above the actuator's is a cache; where it falls, the cache is full.",
	                            .kind = "scatter",
	                            .title = "Rate over writes",
	                            .table = "writes",
	                            .x = "first",
	                            .y = "writes_per_s",
	                            .marks = "figures:cache_entries" });
	result_plot(res, &(struct plot){ .name = "waits",
	                                 .see = "With a full cache each dot is a write and its flush: as long as an "
	                                        "access, or as rewriting a band.",
	                                 .kind = "scatter",
	                                 .title = "Time of a flush over time",
	                                 .table = "writes",
	                                 .x = "time_s",
	                                 .y = "flush_ns" });
}

static const char *const verdicts[] = { [SMR_UNDECIDED] = "undecided", [SMR_NO] = "no", [SMR_YES] = "yes" };

int smr_report_verdict(struct result *res, enum smr_verdict verdict, const char *reason)
{
	result_figure_text(res, "shingled", "shingled", verdicts[verdict]);
	result_figure_text(res, "reason", "reason", reason);
	res->verdict_is_no = verdict == SMR_NO;
	res->verdict_is_open = verdict == SMR_UNDECIDED;
	return 0;
}

static const char *reason_of(const struct smr_input *in, const struct smr_found *f, char *buf, size_t len)
{
	char t[32], a[32], p[32];
	uint64_t written = in->n ? in->v[in->n - 1].first + in->v[in->n - 1].writes : 0;

	(void)units_time(t, sizeof(t), f->slow.value > 0 ? (uint64_t)(1e9 / f->slow.value) : 0);
	(void)units_time(a, sizeof(a), in->access_ns > 0 ? (uint64_t)in->access_ns : 0);
	(void)units_time(p, sizeof(p), in->path_ns > 0 ? (uint64_t)in->path_ns : 0);
	if (f->is_by_mean)
		(void)snprintf(buf, len, "with a full cache a write took %s on average instead of %s", t, a);
	else if (f->verdict == SMR_YES && isnan(f->entries.value))
		(void)snprintf(buf, len, "with a full cache each write took %s instead of %s", t, a);
	else if (f->verdict == SMR_YES)
		(void)snprintf(buf, len, "after %" PRIu64 " random writes each took %s instead of %s",
		               (uint64_t)fmax(f->entries.value, 0), t, a);
	else if (f->verdict == SMR_NO && !f->has_singles)
		(void)snprintf(
			buf, len,
			"in %" PRIu64
			" writes with a flush after each, none was faster than the actuator or waited as long as a band takes",
			written);
	else if (f->verdict == SMR_NO)
		(void)snprintf(buf, len,
		               "once its cache was full, a write took %s, as the actuator alone explains (%s each)", t,
		               a);
	else if (f->is_path_slow)
		(void)snprintf(buf, len, "a request without a seek takes %s, which hides what writes wait for", p);
	else if (isnan(in->path_ns) && f->behind > 0)
		(void)snprintf(
			buf, len,
			"reads do not show how long a request without a seek takes, which may hide what writes wait for");
	else if (f->behind == 0)
		(void)snprintf(buf, len, "its cache, if it has one, was never full in %" PRIu64 " writes", written);
	else
		(void)snprintf(buf, len, "the slow writes fit bands as well as the actuator");
	return buf;
}

void smr_report_found(struct result *res, const struct smr_input *in, const struct smr_found *f)
{
	struct stats_estimate held = stats_times(f->entries, SMR_BLOCK);
	char reason[200];

	(void)smr_report_verdict(res, f->verdict, reason_of(in, f, reason, sizeof(reason)));
	result_figure(res, "evidence_log10_ratio", "evidence from writes (log10 odds)", UNIT_NONE,
	              f->behind ? f->log10_ratio : (double)NAN, NULL, 0);
	result_estimate(res, "cache_entries", "writes that the cache held", UNIT_COUNT, &f->entries);
	result_estimate(res, "cache_bytes", "bytes of these writes", UNIT_BYTES, &held);
	result_estimate(res, "band_bytes", "size of a band", UNIT_BYTES, &f->band);
	result_estimate(res, "band_clean_ns", "time to clean a band", UNIT_NS, &f->band_ns);
	result_estimate(res, "fast_writes_per_s", "write rate, cache not full", UNIT_PER_S, &f->fast);
	result_estimate(res, "slow_writes_per_s", "write rate, cache full", UNIT_PER_S, &f->slow);
	result_figure_u64(res, "span_bytes", "span of the writes", UNIT_BYTES, in->layout->size_bytes);
	result_figure(res, "access_ns", "time of an access, from reads", UNIT_NS, in->access_ns, NULL, 0);
	result_figure(res, "path_ns", "a request without a seek, on average", UNIT_NS, in->path_ns, NULL, 0);
	result_figure(res, "interface_bytes_per_s", "rate from its buffer", UNIT_BYTES_PER_S, in->interface_bytes_per_s,
	              NULL, 0);
	result_figure(res, "stream_bytes_per_s", "sequential read rate", UNIT_BYTES_PER_S, in->stream_bytes_per_s, NULL,
	              0);
}

void smr_report_undecided(struct result *res, const char *device, bool has_written)
{
	const struct figure *f = result_find_figure(res, "reason");

	if (has_written)
		result_notice(
			res, "undecided",
			"Cannot tell whether %s is shingled: %s. Let it rest for some hours, so that it can clean its "
			"cache, and repeat with more --time or another --range.",
			device, f && f->value.str ? f->value.str : "");
	else
		result_notice(
			res, "nothing-written",
			"Cannot tell whether %s is shingled without writing. To put every byte back, add --rewrite and the name "
			"that platter info %s shows. Or give a directory on it; a file is made there and removed.",
			device, device);
}

int smr_again(const struct result *saved, struct result *ret, struct err *err)
{
	const struct table *t = result_find_table(saved, smr_tables[0].name);
	double span = figure_number(result_find_figure(saved, "span_bytes"));
	const struct target_info *target = saved->ntargets ? &saved->targets[0] : NULL;
	const char *write_cache = target_text(target, "write_cache");
	struct smr_layout layout;
	struct smr_input in = {
		.layout = &layout,
		.access_ns = figure_number(result_find_figure(saved, "access_ns")),
		.stream_bytes_per_s = figure_number(result_find_figure(saved, "stream_bytes_per_s")),
		.interface_bytes_per_s = figure_number(result_find_figure(saved, "interface_bytes_per_s")),
		.path_ns = figure_number(result_find_figure(saved, "path_ns")),
		.rpm = fmax(0, target_number(target, "reported_rpm")),
		.is_through = write_cache && strcmp(write_cache, "write through") == 0,
	};
	cleanup_free struct smr_sample *v = xcalloc(t ? t->nrows + 1 : 1, sizeof(*v));
	struct smr_found found;

	if (!t || !t->nrows || !(span > 0) || !smr_layout_init(&layout, 0, (uint64_t)span))
		return err_set(err, -ENODATA, "The document has no writes.");
	for (; in.n < t->nrows; in.n++)
		table_row(t, in.n, smr_sample_fields, &v[in.n]);
	in.v = v;
	smr_analyse(&in, &found);
	smr_report_found(ret, &in, &found);
	return 0;
}
