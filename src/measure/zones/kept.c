/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the document keeps of a run: all that the analysis is made of, so that `platter report --again` can make it
 * anew, by later methods, too. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/zones.h"

struct layout_row {
	uint64_t first_byte, last_byte, cell_bytes, align_bytes, block_bytes, request_bytes, sector_bytes;
	double rev_ns, interface_bytes_per_s;
	uint64_t disk_offset_bytes, disk_bytes, queue_depth, piece_bytes, lead_in, looks;
	const char *disk, *members, *target;
};

const struct field zone_layout_fields[] = {
	FIELD_U64(struct layout_row, first_byte, UNIT_BYTES, "first byte"),
	FIELD_U64(struct layout_row, last_byte, UNIT_BYTES, "last byte"),
	FIELD_U64(struct layout_row, cell_bytes, UNIT_BYTES, "a place"),
	FIELD_U64(struct layout_row, align_bytes, UNIT_BYTES, "aligned to", .detail = true),
	FIELD_U64(struct layout_row, block_bytes, UNIT_BYTES, "block", .detail = true),
	FIELD_U64(struct layout_row, request_bytes, UNIT_BYTES, "request"),
	FIELD_U64(struct layout_row, sector_bytes, UNIT_BYTES, "sector", .detail = true),
	FIELD_F64(struct layout_row, rev_ns, UNIT_NS, "revolution"), /* 0: does not rotate */
	FIELD_F64(struct layout_row, interface_bytes_per_s, UNIT_BYTES_PER_S, "rate from the drive's buffer",
	          .detail = true),
	FIELD_U64(struct layout_row, disk_offset_bytes, UNIT_BYTES, "on the disk", .detail = true),
	FIELD_U64(struct layout_row, disk_bytes, UNIT_BYTES, "the disk", .detail = true),
	FIELD_U64(struct layout_row, queue_depth, UNIT_NONE, "its queue", .detail = true),   /* 0: not known */
	FIELD_U64(struct layout_row, piece_bytes, UNIT_BYTES, "its pieces", .detail = true), /* 0: not known */
	FIELD_U64(struct layout_row, lead_in, UNIT_COUNT, "requests of a lead-in", .detail = true),
	FIELD_U64(struct layout_row, looks, UNIT_COUNT, "looks at a suspect", .detail = true),
	FIELD_STR(struct layout_row, disk, "disk"),
	FIELD_STR(struct layout_row, members, "made of"), /* of several; else none */
	FIELD_STR(struct layout_row, target, "target"),
	FIELD_END,
};

struct cell_row {
	uint64_t first_byte;
	const char *figure;
	uint64_t extra;  /* not of the curve */
	uint64_t longer; /* its samples are those of a place of the figures */
	const char *target;
};

const struct field zone_cell_fields[] = {
	FIELD_U64(struct cell_row, first_byte, UNIT_BYTES, "first byte"),
	FIELD_STR(struct cell_row, figure, "figure"),
	FIELD_U64(struct cell_row, extra, UNIT_COUNT, "beside the curve", .detail = true),
	FIELD_U64(struct cell_row, longer, UNIT_COUNT, "longer", .detail = true),
	FIELD_STR(struct cell_row, target, "target"),
	FIELD_END,
};

struct sample_row {
	double at_s;
	uint64_t offset_bytes, counted_from_bytes, end_bytes;
	double rate_bytes_per_s;
	uint64_t moved_bytes, elapsed_ns, flush_ns, pass;
	const char *kind, *state, *target;
	uint64_t position, check_of, waits, lost_revolutions, disturbed, whole_bytes, whole_ns, request_bytes,
		first_request;
	double error_ratio, quarter_bytes_per_s[ZONE_PARTS];
};

#define FIELD_QUARTER(i, name, text)                                                                     \
	{                                                                                                \
		.type = FIELD_TYPE_F64, .key = name, .label = text, .unit = UNIT_BYTES_PER_S,            \
		.offset = DESC_OFFSET(struct sample_row, quarter_bytes_per_s[i], double), .detail = true \
	}

const struct field zone_sample_fields[] = {
	FIELD_F64(struct sample_row, at_s, UNIT_S, "at"),
	FIELD_U64(struct sample_row, offset_bytes, UNIT_BYTES, "offset"),
	FIELD_U64(struct sample_row, counted_from_bytes, UNIT_BYTES, "counted from"),
	FIELD_U64(struct sample_row, end_bytes, UNIT_BYTES, "end"),
	FIELD_F64(struct sample_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_U64(struct sample_row, moved_bytes, UNIT_BYTES, "counted"),
	FIELD_U64(struct sample_row, elapsed_ns, UNIT_NS, "time"),
	FIELD_U64(struct sample_row, flush_ns, UNIT_NS, "flush"),
	FIELD_U64(struct sample_row, pass, UNIT_COUNT, "pass"),
	FIELD_STR(struct sample_row, kind, "kind"),
	FIELD_STR(struct sample_row, state, "state"),
	FIELD_STR(struct sample_row, target, "target"),
	FIELD_U64(struct sample_row, position, UNIT_COUNT, "place", .detail = true),
	FIELD_U64(struct sample_row, check_of, UNIT_COUNT, "once more", .detail = true),
	FIELD_U64(struct sample_row, waits, UNIT_COUNT, "waits", .detail = true),
	FIELD_U64(struct sample_row, lost_revolutions, UNIT_COUNT, "revolutions lost", .detail = true),
	FIELD_U64(struct sample_row, disturbed, UNIT_COUNT, "processor taken away", .detail = true),
	FIELD_U64(struct sample_row, whole_bytes, UNIT_BYTES, "all of it", .detail = true),
	FIELD_U64(struct sample_row, whole_ns, UNIT_NS, "time of all", .detail = true),
	FIELD_U64(struct sample_row, request_bytes, UNIT_BYTES, "request", .detail = true),
	FIELD_U64(struct sample_row, first_request, UNIT_COUNT, "first of its requests", .detail = true),
	FIELD_F64(struct sample_row, error_ratio, UNIT_RATIO, "error by itself", .detail = true),
	FIELD_QUARTER(0, "quarter1_bytes_per_s", "first quarter"),
	FIELD_QUARTER(1, "quarter2_bytes_per_s", "second quarter"),
	FIELD_QUARTER(2, "quarter3_bytes_per_s", "third quarter"),
	FIELD_QUARTER(3, "quarter4_bytes_per_s", "fourth quarter"),
	FIELD_END,
};

static const char *const kind_names[] = {
	[SAMPLE_CURVE] = "curve", [SAMPLE_AGAIN] = "again", [SAMPLE_EDGE] = "edge",
	[SAMPLE_CHECK] = "check", [SAMPLE_PROBE] = "probe",
};

static const char *const figure_names[] = { "start", "middle", "end" };

const char *zone_target_name(const struct zones_run *run, const struct zone_target *t)
{
	return run->ntargets > 1 ? t->dev->path : NULL;
}

/* ---- to the document ---- */

static void keep_layout(const struct zone_target *t, const char *name, struct table *table)
{
	const struct zone_layout *l = &t->layout;
	struct layout_row row = {
		.first_byte = l->first_bytes,
		.last_byte = l->end_bytes - 1,
		.cell_bytes = l->cell_bytes,
		.align_bytes = l->align_bytes,
		.block_bytes = l->block_bytes,
		.request_bytes = l->block_bytes,
		.sector_bytes = t->dev->logical_block_bytes,
		.rev_ns = l->rev_ns,
		.interface_bytes_per_s = t->layout.interface_bytes_per_s,
		.disk_offset_bytes = t->dev->partition_offset_bytes,
		.disk_bytes = t->dev->disk_size_bytes ? t->dev->disk_size_bytes : t->dev->size_bytes,
		.queue_depth = t->dev->queue.queue_depth,
		.piece_bytes = l->piece_bytes,
		.lead_in = l->lead_in,
		.looks = l->looks,
		.disk = t->dev->disk,
		.members = device_has_members(t->dev) ? t->dev->id.below : NULL,
		.target = name,
	};

	result_row(table, &row);
}

static void keep_cells(const struct zone_layout *l, const char *name, struct table *table)
{
	for (size_t p = 0; p < l->npositions; p++) {
		const struct zone_position *pos = &l->positions[p];
		struct cell_row row = { .first_byte = pos->cell_bytes,
			                .figure = p == l->start    ? figure_names[0]
			                          : p == l->middle ? figure_names[1]
			                          : p == l->end    ? figure_names[2]
			                                           : NULL,
			                .extra = pos->is_extra,
			                .longer = pos->class == ZONE_LONG,
			                .target = name };

		result_row(table, &row);
	}
}

static void keep_sample(const struct zone_sample *s, const char *name, struct table *table)
{
	struct sample_row row = { .at_s = s->at_s,
		                  .offset_bytes = s->first_bytes,
		                  .counted_from_bytes = s->is_good ? s->from_bytes : UINT64_MAX,
		                  .end_bytes = s->end_bytes,
		                  .rate_bytes_per_s = s->is_good ? 1e9 / s->ns_per_byte : (double)NAN,
		                  .moved_bytes = s->is_good ? (uint64_t)s->moved_bytes : 0,
		                  .elapsed_ns = s->is_good ? (uint64_t)s->elapsed_ns : UINT64_MAX,
		                  .flush_ns = isnan(s->written.flush_ns) ? UINT64_MAX : (uint64_t)s->written.flush_ns,
		                  .pass = s->pass,
		                  .kind = kind_names[s->kind],
		                  .target = name,
		                  .position = s->position,
		                  .check_of = s->kind == SAMPLE_CHECK ? s->check_of : UINT64_MAX,
		                  .waits = s->lost.waits,
		                  .lost_revolutions = s->lost.revs,
		                  .disturbed = s->is_disturbed,
		                  .whole_bytes = (uint64_t)s->whole.bytes,
		                  .whole_ns = (uint64_t)s->whole.ns,
		                  .request_bytes = s->request_bytes,
		                  .first_request = s->first_request ? s->first_request - 1 : UINT64_MAX,
		                  .error_ratio = s->is_good ? s->se_ratio : (double)NAN };

	for (size_t i = 0; i < ZONE_PARTS; i++)
		row.quarter_bytes_per_s[i] = 1e9 / s->part_ns_per_byte[i];
	row.state = s->has_fault    ? "error"
	            : !s->is_good   ? s->is_disturbed ? "stopped" : "too short"
	            : s->is_burst   ? "burst"
	            : s->is_outlier ? "outlier"
	                            : NULL;
	result_row(table, &row);
}

void zone_keep(const struct zones_run *run, const struct zone_target *t, struct table *layouts, struct table *cells,
               struct table *samples)
{
	const char *name = zone_target_name(run, t);
	size_t analysed = t->analysis ? t->analysis->levels.marked.n : 0;

	keep_layout(t, name, layouts);
	keep_cells(&t->layout, name, cells);
	for (size_t i = 0; i < t->samples.n; i++)
		keep_sample(i < analysed ? &t->analysis->levels.marked.v[i] : &t->samples.v[i], name, samples);
}

/* ---- and back ---- */

static bool is_of(const char *target, const struct layout_row *layout)
{
	return !layout->target || (target && strcmp(target, layout->target) == 0);
}

static void load_cells(const struct table *cells, const struct layout_row *layout, struct zone_layout *l)
{
	*l = (struct zone_layout){ .first_bytes = layout->first_byte,
		                   .end_bytes = layout->last_byte + 1,
		                   .align_bytes = (uint32_t)layout->align_bytes,
		                   .block_bytes = (uint32_t)layout->request_bytes,
		                   .coarse_bytes = (uint32_t)layout->block_bytes,
		                   .piece_bytes = layout->piece_bytes == UINT64_MAX ? 0 : (uint32_t)layout->piece_bytes,
		                   .lead_in = (uint32_t)layout->lead_in,
		                   .looks = layout->looks == UINT64_MAX
		                                    ? 0
		                                    : (uint32_t)layout->looks, /* old: none in other requests */
		                   .cell_bytes = layout->cell_bytes,
		                   .rev_ns = layout->rev_ns,
		                   .interface_bytes_per_s = layout->interface_bytes_per_s,
		                   .positions = xcalloc(cells->nrows + 1, sizeof(*l->positions)),
		                   .start = ZONE_NONE,
		                   .middle = ZONE_NONE,
		                   .end = ZONE_NONE };
	size_t *const figures[] = { &l->start, &l->middle, &l->end };

	for (size_t i = 0; l->positions && i < cells->nrows; i++) {
		struct cell_row row;

		table_row(cells, i, zone_cell_fields, &row);
		if (!is_of(row.target, layout))
			continue;
		for (size_t k = 0; row.figure && k < ARRAY_LEN(figures); k++)
			if (strcmp(row.figure, figure_names[k]) == 0)
				*figures[k] = l->npositions;
		l->positions[l->npositions++] =
			(struct zone_position){ .cell_bytes = row.first_byte,
			                        .class = row.longer == 1 ? ZONE_LONG : ZONE_SHORT,
			                        .is_extra = row.extra == 1 };
	}
}

/* ARRAY_LEN(kind_names): one of an earlier version, which is none here. */
static size_t kind_of(const char *name)
{
	size_t k = 0;

	while (k < ARRAY_LEN(kind_names) && strcmp(name ? name : "", kind_names[k]) != 0)
		k++;
	return k;
}

/* false: no row of a sample. */
static bool load_sample(const struct sample_row *row, size_t kind, const struct zone_target *t, struct zone_sample *s)
{
	*s = (struct zone_sample){
		.position = row->position,
		.kind = (enum sample_kind)kind,
		.pass = (uint32_t)row->pass,
		.first_bytes = row->offset_bytes,
		.end_bytes = row->end_bytes,
		.moved_bytes = (double)row->moved_bytes,
		.ns_per_byte = 1e9 / row->rate_bytes_per_s,
		.se_ratio = row->error_ratio,
		.whole = { (double)row->whole_bytes, (double)row->whole_ns },
		.at_s = row->at_s,
		.written.flush_ns = row->flush_ns == UINT64_MAX ? (double)NAN : (double)row->flush_ns,
		.lost = { (uint32_t)row->waits, (uint32_t)row->lost_revolutions },
		.request_bytes = row->request_bytes == UINT64_MAX ? 0 : (uint32_t)row->request_bytes,
		.is_good = row->counted_from_bytes != UINT64_MAX,
		.has_fault = row->state && strcmp(row->state, "error") == 0,
		.is_disturbed = row->disturbed == 1,
		.check_of = row->check_of,
		.first_request = row->first_request + 1,
	};
	for (size_t i = 0; i < ZONE_PARTS; i++)
		s->part_ns_per_byte[i] = 1e9 / row->quarter_bytes_per_s[i];
	if (s->is_good) {
		s->from_bytes = row->counted_from_bytes;
		s->elapsed_ns = (double)row->elapsed_ns;
	}
	if (s->is_good &&
	    !(s->ns_per_byte > 0.0 && isfinite(s->ns_per_byte) && isfinite(s->at_s) && s->elapsed_ns > 0.0 &&
	      s->moved_bytes > 0.0 && s->se_ratio >= 0.0 && s->from_bytes < s->end_bytes))
		return false;
	return s->position < t->layout.npositions ||
	       (s->position == ZONE_NONE && (s->kind == SAMPLE_EDGE || s->kind == SAMPLE_CHECK));
}

/* What its completions say, where the document has them (`requests`; NULL: no such table): they hold its bytes. */
static void estimate_anew(const struct table *requests, const struct zone_layout *l, struct zone_sample *s)
{
	const size_t first = s->first_request - 1, bytes = s->end_bytes - s->first_bytes;
	cleanup_free struct zone_done *done = NULL;
	double moved = 0.0;
	uint64_t start_ns = 0;
	size_t n = 0;

	if (!requests || !s->first_request || s->has_fault || (!s->is_good && s->is_disturbed))
		return;
	done = xcalloc(requests->nrows + 1, sizeof(*done));
	while (done && moved < (double)bytes && first + n < requests->nrows) {
		struct kept_request row;

		table_row(requests, first + n, replay_fields, &row);
		if (row.offset_bytes < s->first_bytes || row.offset_bytes >= s->end_bytes)
			break;
		start_ns = n ? start_ns : row.submit_ns;
		moved += (double)row.result;
		done[n++] = (struct zone_done){ (double)(row.done_ns - start_ns), moved };
	}
	if (done && zone_sample_estimate(s, done, n, l, true))
		s->from_bytes = s->end_bytes - (uint64_t)s->moved_bytes;
}

static int load_samples(const struct table *samples, const struct table *requests, const struct layout_row *layout,
                        struct zone_target *t)
{
	t->samples.v = xcalloc(samples->nrows + 1, sizeof(*t->samples.v));
	for (size_t i = 0; i < samples->nrows; i++) {
		struct sample_row row;
		size_t kind;
		struct zone_sample s;

		table_row(samples, i, zone_sample_fields, &row);
		kind = kind_of(row.kind);
		if (!is_of(row.target, layout) || kind == ARRAY_LEN(kind_names))
			continue;
		if (!load_sample(&row, kind, t, &s))
			return -ENODATA;
		estimate_anew(requests, &t->layout, &s);
		t->samples.v[t->samples.n++] = s;
	}
	return 0;
}

static void load_unreadable(const struct table *unreadable, struct zone_target *t)
{
	const char *name = t->dev->path;

	for (size_t i = 0; unreadable && i < unreadable->nrows; i++) {
		int column = table_column(unreadable, "target");
		const char *target = column < 0 ? NULL : table_string(unreadable, i, (size_t)column);

		if (!target || strcmp(target, name) == 0)
			zone_fault_note(t, 0, 0, 0);
	}
}

int zone_load(const struct result *saved, size_t i, struct zone_target *t, struct device *dev)
{
	struct layout_row layout;
	int r;

	table_row(result_find_table(saved, "layouts"), i, zone_layout_fields, &layout);
	if (layout.first_byte > layout.last_byte || !layout.align_bytes || layout.last_byte == UINT64_MAX ||
	    !layout.request_bytes || !layout.sector_bytes || !layout.disk_bytes)
		return -ENODATA;
	dev->partition_offset_bytes = layout.disk_offset_bytes;
	dev->size_bytes = layout.last_byte + 1;
	dev->disk_size_bytes = layout.disk_bytes;
	dev->logical_block_bytes = (uint32_t)layout.sector_bytes;
	dev->queue.queue_depth = (uint32_t)layout.queue_depth;
	(void)snprintf(dev->path, sizeof(dev->path), "%s", layout.target ? layout.target : "");
	(void)snprintf(dev->disk, sizeof(dev->disk), "%s", layout.disk ? layout.disk : "");
	if (layout.members) { /* an array or a mapping: that is all the same here */
		(void)snprintf(dev->transport, sizeof(dev->transport), "md");
		(void)snprintf(dev->id.below, sizeof(dev->id.below), "%s", layout.members);
	}
	t->dev = dev;
	load_cells(result_find_table(saved, "cells"), &layout, &t->layout);
	t->layout.is_one_at_a_time = dev->queue.queue_depth == 1;
	r = load_samples(result_find_table(saved, "samples"), result_find_table(saved, "requests"), &layout, t);
	if (r == 0)
		load_unreadable(result_find_table(saved, "unreadable"), t);
	return r == 0 && !(t->layout.npositions && t->samples.n) ? -ENODATA : r;
}
