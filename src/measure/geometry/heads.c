/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which surface bytes are on, for whoever reads the document: the layout's labels of the tracks of sure zones,
 * neighbours of one surface joined, and turns of all surfaces that are alike as one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/geometry/rows.h"

/* Bytes on one surface; the same comes that many times over, each every_bytes further on. What is in no row is not
 * known for certain. */
struct head_row {
	uint64_t first_byte, length_bytes, surface, times, every_bytes;
};

const struct field geo_head_fields[] = {
	FIELD_U64(struct head_row, first_byte, UNIT_BYTES, "first byte", .detail = true),
	FIELD_U64(struct head_row, length_bytes, UNIT_BYTES, "length", .detail = true),
	FIELD_U64(struct head_row, surface, UNIT_COUNT, "surface", .detail = true),
	FIELD_U64(struct head_row, times, UNIT_COUNT, "times", .detail = true),
	FIELD_U64(struct head_row, every_bytes, UNIT_BYTES, "every", .detail = true),
	FIELD_END,
};

struct stretch {
	uint64_t first, end; /* sectors */
	uint32_t head;
};

struct teller {
	struct geo_order *o;
	const uint32_t *head; /* of each track */
	struct table *t;
	uint64_t sector_bytes;
	struct stretch turn[2 * GEO_HEADS]; /* that comes again and again */
	size_t n;
	uint64_t times;
};

static void flush(struct teller *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->turn[i].head != GEO_NOWHERE)
			result_row(l->t,
			           &(struct head_row){
					   .first_byte = l->turn[i].first * l->sector_bytes,
					   .length_bytes = (l->turn[i].end - l->turn[i].first) * l->sector_bytes,
					   .surface = l->turn[i].head,
					   .times = l->times,
					   .every_bytes = l->times > 1 ? (l->turn[l->n - 1].end - l->turn[0].first) *
			                                                         l->sector_bytes
			                                               : UINT64_MAX });
	l->n = l->times = 0;
}

static bool is_again(const struct teller *l, const struct stretch *turn, size_t n)
{
	uint64_t every = l->n ? l->turn[l->n - 1].end - l->turn[0].first : 0;

	for (size_t i = 0; i < n; i++)
		if (n != l->n || turn[i].head != l->turn[i].head ||
		    turn[i].first != l->turn[i].first + l->times * every ||
		    turn[i].end != l->turn[i].end + l->times * every)
			return false;
	return true;
}

/* Tracks of one surface in a row, from *track on. */
static struct stretch next_stretch(struct teller *l, uint64_t *track, uint64_t end)
{
	struct stretch s = { .first = geo_order_first(l->o, *track), .head = l->head[*track] };
	const struct geo_seg *seg;

	while (*track < end && l->head[*track] == s.head)
		++*track;
	seg = geo_order_at(l->o, *track - 1);
	s.end = *track < l->o->tracks ? geo_order_first(l->o, *track) : geo_order_first(l->o, *track - 1) + seg->size;
	return s;
}

/* A zone, or as much of it as there are rows for. */
static void report_zone(struct teller *l, const struct geo_fit_zone *z, size_t cycle, size_t rows)
{
	uint64_t at = z->track, end = z->track + z->tracks;
	size_t most = l->t->nrows + rows;

	while (at < end && l->t->nrows + cycle <= most) {
		struct stretch turn[2 * GEO_HEADS];
		size_t n = 0;

		while (n < cycle && at < end)
			turn[n++] = next_stretch(l, &at, end);
		if (!is_again(l, turn, n)) {
			flush(l);
			memcpy(l->turn, turn, n * sizeof(turn[0]));
			l->n = n;
		}
		l->times++;
	}
	flush(l);
}

static void head_rows(const struct geo_map *m)
{
	const struct geo_shape *shape = &m->layout->shape;
	const struct geo_fit *fit = m->layout->fit;
	struct teller l = { .o = m->o, .head = m->head, .sector_bytes = m->w->g->t.block_bytes };

	l.t = result_table(m->w->g->ses->res, "heads", "Which surface bytes are on", geo_head_fields);
	for (size_t i = 0; i < fit->n; i++)
		if (m->is_sure[i])
			report_zone(&l, &fit->zone[i],
			            shape->is_alternate ? 2 * (size_t)shape->heads - 2 : shape->heads,
			            (RESULT_ROWS_MAX - l.t->nrows) / (fit->n - i));
}

/* Reads the sequence once more, now for where each track lies. */
static void fill(struct geo_map *m)
{
	const struct geo_fit *reported = m->layout->fit;
	cleanup_free struct geo_fit *fit = xcalloc(1, sizeof(*fit));
	struct geo_labels labels = { .n = m->o->tracks, .most = reported->left_out };

	labels.head = m->head = xcalloc(m->o->tracks, sizeof(*m->head));
	labels.hole = m->hole = xcalloc(reported->left_out + 1, sizeof(*m->hole));
	m->is_sure = xcalloc(reported->n, sizeof(*m->is_sure));
	memset(m->head, 0xff, m->o->tracks * sizeof(*m->head));
	geo_order_fit(m->o, &m->layout->shape, UINT64_MAX, INFINITY, &labels, fit);
	m->nholes = labels.nholes;
	for (size_t i = 0; i < fit->n && fit->n == reported->n; i++)
		m->is_sure[i] =
			fit->zone[i].first == reported->zone[i].first && !geo_fit_is_unclear(m->w, m->layout, i);
}

int geo_map_rows(struct geo_walk *w, struct geo_order *o, const struct geo_layout *layout, struct err *err)
{
	struct geo_map m = { .w = w, .o = o, .layout = layout };
	int r;

	/* Of several arms the layout is the first one's only, and its surfaces are not the disk's. */
	m.are_surfaces = layout->is_reported && !layout->is_mended &&
	                 !isnan(figure_number(result_find_figure(w->g->ses->res, "surfaces")));
	if (m.are_surfaces)
		fill(&m);
	if (m.are_surfaces && layout->shape.heads > 1)
		head_rows(&m);
	r = geo_defect_rows(&m, err);
	free(m.head);
	free(m.hole);
	free(m.is_sure);
	return r;
}
