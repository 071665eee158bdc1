/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lies where, by the layout's labels of the tracks of sure zones.
 *
 * Which surface bytes are on, for whoever reads the document: neighbours of one surface
 * joined, and turns of all surfaces that are alike as one.
 *
 * What holds no data: sectors that a track lacks, and tracks that are missing altogether. In a zone that is sure, all
 * tracks of a surface have equally many sectors. So what one lacks is known even where noise hides the gap. Elsewhere
 * the spacing of its sectors shows it. Reported is what lies among tracks that are all as they should be, and in noise
 * only where a second look found both ends again.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/geometry/rows.h"

#define STRAY   0.5        /* of what single differences stray by: so far do readings that agree (49 of 50 did) */
#define NOWHERE UINT32_MAX /* no surface that is reported */

/* ---- which surface bytes are on ---- */

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
		if (l->turn[i].head != NOWHERE)
			result_row(l->t,
			           &(struct heads_row){
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

/* Do sizes or skews of the zone distinguish its surfaces? Else one track that was miscounted puts all behind it
 * elsewhere. */
static bool do_heads_differ(const struct geo_map *m, const struct geo_fit_zone *z)
{
	bool differ = geo_apart(z->head_skew, z->cylinder_skew) >= m->o->tol ||
	              geo_apart(z->band_skew, z->cylinder_skew) >= m->o->tol;

	for (uint32_t k = 1; k < m->layout->shape.heads; k++)
		differ = differ || z->size[k] != z->size[0];
	return differ;
}

/* Noise makes ends of tracks be where they are not. */
static bool is_noisy(const struct geo_map *m)
{
	return geo_near(m->w->g) > GEO_NOISY;
}

/* Where turns of heads were not seen every second band may go through them backwards. */
static void hide_turns(const struct geo_map *m, const struct geo_fit_zone *z, uint32_t *head)
{
	const struct geo_shape *shape = &m->layout->shape;

	for (uint64_t t = z->track; t < z->track + z->tracks && m->layout->is_turning_hidden && shape->band; t++)
		if ((m->cylinder[t] - z->cylinder) / shape->band % 2)
			head[t] = NOWHERE;
}

static void head_rows(const struct geo_map *m)
{
	const struct geo_shape *shape = &m->layout->shape;
	const struct geo_fit *fit = m->layout->fit;
	cleanup_free uint32_t *head = xcalloc(m->o->tracks, sizeof(*head));
	struct teller l = { .o = m->o, .head = head, .sector_bytes = m->w->g->t.block_bytes };
	size_t cycle = shape->is_alternate ? 2 * (size_t)shape->heads - 2 : shape->heads + m->layout->is_turning_hidden;

	memcpy(head, m->head, m->o->tracks * sizeof(*head));
	l.t = result_table(m->w->g->ses->res, "heads", "Which surface bytes are on", heads_fields);
	for (size_t i = 0; i < fit->n; i++) {
		if (!m->is_sure[i] || (is_noisy(m) && !do_heads_differ(m, &fit->zone[i])))
			continue;
		hide_turns(m, &fit->zone[i], head);
		report_zone(&l, &fit->zone[i], cycle, (RESULT_ROWS_MAX - l.t->nrows) / (fit->n - i));
	}
}

/* Reads the sequence once more, now for where each track lies. */
static void fill(struct geo_map *m)
{
	const struct geo_fit *reported = m->layout->fit;
	cleanup_free struct geo_fit *fit = xcalloc(1, sizeof(*fit));
	struct geo_labels labels = { .n = m->o->tracks, .most = reported->left_out };

	labels.head = m->head = xcalloc(m->o->tracks, sizeof(*m->head));
	labels.cylinder = m->cylinder = xcalloc(m->o->tracks, sizeof(*m->cylinder));
	labels.hole = m->hole = xcalloc(reported->left_out + 1, sizeof(*m->hole));
	m->is_sure = xcalloc(reported->n, sizeof(*m->is_sure));
	memset(m->head, 0xff, m->o->tracks * sizeof(*m->head));
	geo_order_fit(m->o, &m->layout->shape, UINT64_MAX, INFINITY, &labels, fit);
	m->nholes = labels.nholes;
	for (size_t i = 0; i < fit->n && fit->n == reported->n; i++)
		m->is_sure[i] =
			fit->zone[i].first == reported->zone[i].first && !geo_fit_is_unclear(m->w, m->layout, i);
}

/* ---- what holds no data ---- */

struct defect_row {
	uint64_t first_byte, missing, surface;
	const char *kind;
};

const struct field geo_defect_fields[] = {
	FIELD_U64(struct defect_row, first_byte, UNIT_BYTES, "before byte"),
	FIELD_U64(struct defect_row, missing, UNIT_COUNT, "sectors"),
	FIELD_U64(struct defect_row, surface, UNIT_COUNT, "surface"),
	FIELD_STR(struct defect_row, kind, "what"),
	FIELD_END,
};

/* A track that lacks sectors. */
struct lack {
	size_t seg;
	uint64_t missing;
	bool is_there; /* in noise a second look found both ends again */
};

struct finder {
	const struct geo_map *m;
	struct table *t;
	size_t zone, hole; /* the next ones */
};

/* Sectors with data of a track. */
static uint64_t held(struct geo_order *o, uint64_t track)
{
	return geo_order_first(o, track + 1) - geo_order_first(o, track);
}

/* The zone that a track is in, if that is sure; NULL: it is in none. Tracks come in order. */
static const struct geo_fit_zone *zone_of(struct finder *f, uint64_t track)
{
	const struct geo_fit *fit = f->m->are_surfaces ? f->m->layout->fit : NULL;

	while (fit && f->zone + 1 < fit->n && fit->zone[f->zone + 1].track <= track)
		f->zone++;
	return fit && fit->n && f->m->is_sure[f->zone] ? &fit->zone[f->zone] : NULL;
}

/* Are all tracks about this one as their zone has them, over a turn of all surfaces to either side? Where one was
 * counted as two, or two as one, what seems to be missing beside it makes the count right again. */
static bool is_clean_about(const struct finder *f, const struct geo_fit_zone *z, uint64_t track)
{
	struct geo_order *o = f->m->o;
	uint64_t heads = f->m->layout->shape.heads, turn = heads > GEO_FEW ? heads : GEO_FEW;
	uint64_t from = track > z->track + turn ? track - turn : z->track, most = 0;

	for (uint64_t k = 0; k < heads; k++)
		most = z->size[k] > most ? z->size[k] : most;
	for (uint64_t t = from; t < track + turn && t < z->track + z->tracks && t + 1 < o->tracks; t++) {
		const struct geo_seg *seg = geo_order_at(o, t);
		uint64_t size = z->size[f->m->head[t]], has = held(o, t);
		bool may_lack = seg->is_odd || seg->has_gap || (seg->tracks == 1 && !geo_has_size(z, seg->size));

		if (isnan(seg->jump) || has > size || (!may_lack && seg->size != size) ||
		    (t + 2 < o->tracks && has + held(o, t + 1) <= most)) /* pieces of one */
			return false;
	}
	return true;
}

/* In front of that track, or in it; z: its zone, if that is sure. */
static void row(struct finder *f, const struct geo_fit_zone *z, uint64_t track, uint64_t missing, uint32_t head,
                const char *kind)
{
	const struct geo_map *m = f->m;
	bool is_known = z && !m->layout->is_turning_hidden && do_heads_differ(m, z);
	const struct defect_row row = { .first_byte = geo_order_first(m->o, track) * m->w->g->t.block_bytes,
		                        .missing = missing,
		                        .surface = is_known ? head : UINT64_MAX,
		                        .kind = kind };

	result_row(f->t, &row);
}

/* ---- tracks that are missing ---- */

/* One of several in a place where a zone begins, or in its last band: it may begin with any surface, and end with a
 * part of a band. */
static bool is_at_edge(const struct geo_map *m, const struct geo_hole *hole)
{
	const struct geo_fit_zone *z = &m->layout->fit->zone[hole->zone];
	const struct geo_shape *shape = &m->layout->shape;
	bool is_alone = (hole == m->hole || hole[-1].track != hole->track) &&
	                (hole + 1 == m->hole + m->nholes || hole[1].track != hole->track);

	return !is_alone && (hole->track == z->track ||
	                     hole->track + (shape->band > 1 ? shape->band : shape->heads) > z->track + z->tracks);
}

/* Those in front of this one, where nothing else explains the skew: in noise a late answer turns what follows, too. */
static void report_holes(struct finder *f, uint64_t track)
{
	const struct geo_map *m = f->m;

	for (; f->hole < m->nholes && m->hole[f->hole].track <= track; f->hole++) {
		const struct geo_hole *hole = &m->hole[f->hole];
		const struct geo_fit_zone *z = &m->layout->fit->zone[hole->zone];
		uint64_t size = z->size[hole->head];

		if (is_noisy(f->m) || !m->is_sure[hole->zone] || !size || is_at_edge(m, hole) ||
		    !is_clean_about(f, z, hole->track))
			continue;
		row(f, z, hole->track, size, hole->head, "track");
	}
}

/* ---- sectors that a track lacks ---- */

/* Sectors that the single track of segment i should have; 0: not known, or what it holds is as much as a track of
 * another surface does, and it may be that. */
static uint64_t expected(struct finder *f, size_t i)
{
	const struct geo_seg *seg = &f->m->o->seg[i];
	const struct geo_fit_zone *z = zone_of(f, seg->track);
	uint64_t counted = seg->has_gap && !seg->is_odd ? seg->size : 0, size;

	if (!z)
		return is_noisy(f->m) ? 0 : counted;
	size = z->size[f->m->head[seg->track]];
	return (counted && counted != size) || geo_has_size(z, held(f->m->o, seg->track)) ||
	                       !is_clean_about(f, z, seg->track)
	               ? 0
	               : size;
}

/* All that lack something, in the order of tracks. */
static size_t find_lacks(struct finder *f, struct lack *ret)
{
	const struct geo_map *m = f->m;
	size_t n = 0, hole = 0;

	for (size_t i = 0; i + 1 < m->o->n; i++) {
		const struct geo_seg *seg = &m->o->seg[i];
		uint64_t want = seg->tracks == 1 ? expected(f, i) : 0, has = seg[1].first - seg->first;

		while (hole < m->nholes && m->hole[hole].track < seg->track)
			hole++;
		if (hole < m->nholes && m->hole[hole].track <= seg->track + 1) /* the two may have changed places */
			continue;
		if (want > has)
			ret[n++] = (struct lack){ .seg = i, .missing = want - has, .is_there = !is_noisy(f->m) };
	}
	f->zone = 0;
	return n;
}

bool geo_jumps_as_seen(double jump, double seen, double lack, double near)
{
	return geo_frac(jump - seen + STRAY * near) <= lack + 2.0 * STRAY * near;
}

/* Are both ends of this track where they were found? One that is a few sectors beside its place, by an answer that was
 * late, makes a lack of what is none: there the angle does not jump. Does it jump by something else than the walk has
 * found there, one of the two was wrong, so that this is not known. */
static void judge_ends(struct lack *v, const struct geo_seg *seg, const double jump[2], double near)
{
	double sector = 1.0 / (double)(seg[1].first - seg->first + v->missing), part = (double)v->missing * sector;
	double tol = fmax(near, sector / STRAY); /* spacings differ from track to track */
	bool is_first = seg->first == 0;         /* the disk's first track begins where it does */

	if (!isfinite(jump[0]) || !isfinite(jump[1])) /* the cache, or an error, answered */
		return;
	if ((!is_first && geo_apart(jump[0], 0.0) < near) || geo_apart(jump[1], 0.0) < near)
		return;
	v->is_there = ((is_first || geo_jumps_as_seen(jump[0], seg[-1].jump, part, tol)) &&
	               geo_jumps_as_seen(jump[1], seg->jump, part, tol));
}

static int look_at_ends(struct geo *g, const struct geo_order *o, struct lack *v, size_t n, struct err *err)
{
	uint64_t first[GEO_JUMPS];
	double spacing[GEO_JUMPS], jump[GEO_JUMPS];
	int r;

	for (size_t i = 0; i < n; i++) {
		const struct geo_seg *seg = &o->seg[v[i].seg];

		first[2 * i] = seg->first ? seg->first : 1;
		first[2 * i + 1] = seg[1].first;
		spacing[2 * i] = spacing[2 * i + 1] = 1.0 / (double)(seg[1].first - seg->first + v[i].missing);
	}
	r = geo_read_jumps(g, first, spacing, 2 * n, jump, err);
	for (size_t i = 0; i < n && r == 0; i++)
		judge_ends(&v[i], &o->seg[v[i].seg], &jump[2 * i], geo_near(g));
	return r;
}

/* As many as there is time for. */
static int confirm(struct geo *g, const struct geo_order *o, struct lack *v, size_t n, struct err *err)
{
	uint64_t until_ns = session_answered_ns(g->ses) + (uint64_t)(GEO_DEFECTS_PART * (double)g->budget_ns);
	int r = 0;

	geo_forget(g); /* what is remembered would only agree with itself */
	for (size_t i = 0; i < n && r == 0 && !geo_is_over(g) && session_answered_ns(g->ses) < until_ns;
	     i += GEO_JUMPS / 2)
		r = look_at_ends(g, o, v + i, n - i < GEO_JUMPS / 2 ? n - i : GEO_JUMPS / 2, err);
	return r;
}

static void report_rows(struct finder *f, const struct lack *v, size_t n)
{
	const struct geo_map *m = f->m;

	for (size_t i = 0; i < n; i++) {
		uint64_t track = m->o->seg[v[i].seg].track;
		const struct geo_fit_zone *z = zone_of(f, track);

		report_holes(f, track);
		if (v[i].is_there)
			row(f, z, track, v[i].missing, z ? m->head[track] : 0, "sectors of this track");
	}
	report_holes(f, UINT64_MAX);
}

int geo_defect_rows(const struct geo_map *m, struct err *err)
{
	cleanup_free struct finder *f = xcalloc(1, sizeof(*f));
	cleanup_free struct lack *v = xcalloc(m->o->n + 1, sizeof(*v));
	size_t n;
	int r;

	f->m = m;
	f->t = result_table(m->w->g->ses->res, "defects", "Sectors and tracks without data", geo_defect_fields);
	n = find_lacks(f, v);
	r = is_noisy(f->m) ? confirm(m->w->g, m->o, v, n, err) : 0;
	if (r < 0)
		return r;
	report_rows(f, v, n);
	return 0;
}

/* ---- both ---- */

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
	free(m.cylinder);
	free(m.hole);
	free(m.is_sure);
	return r;
}
