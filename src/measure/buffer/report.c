/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `buffer` says. */

#include "base/cleanup.h"
#include "measure/buffer/buffer.h"

const struct field buffer_sample_fields[] = {
	FIELD_STR(struct buffer_sample, test, "asked"),
	FIELD_U64(struct buffer_sample, at, UNIT_NONE, "distance, number or place", .detail = true),
	FIELD_F64(struct buffer_sample, distance_bytes, UNIT_BYTES, "distance"),
	FIELD_F64(struct buffer_sample, others, UNIT_COUNT, "other streams between"),
	FIELD_U64(struct buffer_sample, access_ns, UNIT_NS, "time"),
	FIELD_U64(struct buffer_sample, len_bytes, UNIT_BYTES, "read before", .detail = true),
	FIELD_END,
};

const struct field buffer_condition_fields[] = {
	FIELD_U64(struct buffer_conditions, block_bytes, UNIT_BYTES, "block"),
	FIELD_F64(struct buffer_conditions, hit_ns, UNIT_NS, "read from the buffer"),
	FIELD_F64(struct buffer_conditions, hit_limit_ns, UNIT_NS, "at most"),
	FIELD_F64(struct buffer_conditions, period_ns, UNIT_NS, "revolution"),
	FIELD_F64(struct buffer_conditions, chance_ratio, UNIT_RATIO, "of others as quick", .detail = true),
	FIELD_U64(struct buffer_conditions, is_through, UNIT_COUNT, "says: no write cache", .detail = true),
	FIELD_F64(struct buffer_conditions, media_bytes_per_s, UNIT_BYTES_PER_S, "media"),
	FIELD_F64(struct buffer_conditions, spoilt_ratio, UNIT_RATIO, "of the experiments, disturbed", .detail = true),
	FIELD_END,
};

const struct measure_table buffer_tables[] = {
	{ "conditions", "How hits and misses were distinguished", buffer_condition_fields },
	{ "probes", "What was asked of the buffer", buffer_sample_fields },
	{ NULL, NULL, NULL },
};

#define PLOT(name_, title_, x_)                                                                                        \
	{                                                                                                              \
		.name = (name_),                                                                                       \
		.see = "Low: answered by the buffer; high: read from the media. Where a series turns "                 \
		       "from low to high, the buffered data end.",                                                     \
		.kind = "scatter", .title = (title_), .table = "probes", .x = (x_), .y = "access_ns", .series = "test" \
	}
static const struct plot plots[] = {
	PLOT("probes", "Probe reads by distance", "distance_bytes"),
	PLOT("probes-by-number", "Probe reads by the streams between", "others"),
};

void buffer_report_samples(struct result *res, const struct buffer_io *io)
{
	struct table *t = result_table(res, buffer_tables[0].name, buffer_tables[0].title, buffer_condition_fields);

	result_row(t, &io->cond);
	t = result_table(res, buffer_tables[1].name, buffer_tables[1].title, buffer_sample_fields);
	for (size_t i = 0; i < io->samples.n; i++)
		result_row(t, &io->samples.v[i]);
	for (size_t i = 0; i < ARRAY_LEN(plots); i++)
		result_plot(res, &plots[i]);
}

static const char *const sizings[] = { NULL, "fixed", "by use", NULL };
static const char *const aheads[] = { NULL, "never", "always", "after reads in sequence" };
static const char *const ends[] = { NULL, "after a fixed length", "at the end of a track", "when its segment is full" };

void buffer_report_found(struct result *res, const struct buffer_found *f)
{
	if (f->sizing == SIZING_DISTURBED)
		result_notice(
			res, "shared",
			"Segments and their sizes are not reported: too many experiments were disturbed in each of several tries. Another program may use the disk, or the machine was late; repeat when both are idle.");
	result_estimate(res, "interface_bytes_per_s", "rate from its buffer", UNIT_BYTES_PER_S, &f->interface);
	result_estimate(res, "segments", "segments", UNIT_COUNT, &f->segments);
	result_estimate(res, "segment_bytes", "size of a segment", UNIT_BYTES, &f->segment);
	result_estimate(res, "buffer_bytes", "buffer size that reads see", UNIT_BYTES, &f->buffer);
	result_figure_text(res, "sizing", "size of segments", sizings[f->sizing]);
	result_figure_text(res, "reads_ahead", "reads ahead", aheads[f->ahead]);
	result_estimate(res, "read_ahead_bytes", "reads ahead up to", UNIT_BYTES, &f->ahead_bytes);
	result_figure_text(res, "read_ahead_ends", "reading ahead ends", ends[f->end]);
	result_figure_text(res, "keeps_before", "keeps data passed before a request",
	                   f->before < 0 ? NULL
	                   : f->before   ? "yes"
	                                 : "no");
	result_figure_text(res, "fua_reads", "reads with FUA",
	                   f->fua_reads < 0 ? NULL
	                   : f->fua_reads   ? "come from the media"
	                                    : "come from the buffer");
	if (!f->has_written)
		return;
	result_figure_text(res, "write_cache", "write cache",
	                   f->write_cache < 0 ? NULL
	                   : f->write_cache   ? "on"
	                                      : "off");
	result_estimate(res, "write_cache_bytes", "size of the write cache", UNIT_BYTES, &f->write_cache_bytes);
	result_estimate(res, "emptying_writes_per_s", "emptying rate of the write cache", UNIT_PER_S, &f->emptying);
	result_figure_text(res, "reads_pass_writes", "reads while the write cache empties",
	                   f->passes < 0 ? NULL
	                   : f->passes   ? "go between"
	                                 : "wait until it is empty");
	result_estimate(res, "read_while_emptying_ns", "a read while the write cache empties", UNIT_NS, &f->read_busy);
	result_estimate(res, "read_at_rest_ns", "a read at rest", UNIT_NS, &f->read_idle);
	result_figure_text(res, "flush", "a flush",
	                   f->flush < 0 ? NULL
	                   : f->flush   ? "waits for the media"
	                                : "returns at once");
	result_figure_text(res, "fua_writes", "writes with FUA",
	                   f->fua_writes < 0 ? NULL
	                   : f->fua_writes   ? "wait for the media"
	                                     : "return at once");
	if (f->fua_writes == 0)
		result_notice(
			res, "fua-ignored",
			"Writes with FUA return as quickly as others, before the media can have taken them: the drive, or a bridge before it, drops FUA, unless "
			"the cache keeps its data without power. Do not rely on it; switch the write cache off where that is not known.");
	if (f->flush == 0)
		result_notice(
			res, "flush-returns-at-once",
			"A flush returns before the media can have taken what was written: it is dropped on its way, or ignored, unless the cache "
			"keeps its data without power. Do not rely on it; switch the write cache off where that is not known.");
}
