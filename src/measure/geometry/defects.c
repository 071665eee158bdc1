/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What holds no data: sectors that a track lacks, and tracks that are missing altogether. A track of a zone that is
 * sure has as many sectors as all others of its surface, so what it lacks is known even where noise hides the gap
 * itself; elsewhere a track tells by the spacing of its sectors. And of each surface how much of that it has, and how
 * fast its media pass.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/geometry/tell.h"

#define AT_ONCE      16   /* tracks whose ends are looked at together */
#define LIKE_NEAR    40   /* segments: a turn of all surfaces, and some that lack something */
#define STRAY        0.5  /* of what single differences stray by: so far do readings that agree (49 of 50 did) */
#define CLEAN_LEAST  3    /* tracks on either side of one that is missing, all as they should be */
#define DEFECTS_MOST 5000 /* rows; who wants more has a disk of which the numbers by surface say enough */

struct defect_row {
	uint64_t first_byte, missing, surface;
	const char *kind, *certainty;
};

const struct field geo_defect_fields[] = {
	FIELD_U64(struct defect_row, first_byte, UNIT_BYTES, "before byte"),
	FIELD_U64(struct defect_row, missing, UNIT_COUNT, "sectors"),
	FIELD_U64(struct defect_row, surface, UNIT_COUNT, "surface"),
	FIELD_STR(struct defect_row, kind, "what"),
	FIELD_STR(struct defect_row, certainty, "certainty"),
	FIELD_END,
};

struct surface_row {
	uint64_t surface, bytes;
	double first_bytes_per_s, last_bytes_per_s;
	uint64_t missing, tracks;
};

const struct field geo_surface_fields[] = {
	FIELD_U64(struct surface_row, surface, UNIT_COUNT, "surface"),
	FIELD_U64(struct surface_row, bytes, UNIT_BYTES, "bytes found on it"),
	FIELD_F64(struct surface_row, first_bytes_per_s, UNIT_BYTES_PER_S, "media rate at the start"),
	FIELD_F64(struct surface_row, last_bytes_per_s, UNIT_BYTES_PER_S, "at the end"),
	FIELD_U64(struct surface_row, missing, UNIT_COUNT, "missing sectors"),
	FIELD_U64(struct surface_row, tracks, UNIT_COUNT, "missing tracks"),
	FIELD_END,
};

/* What a second look says. */
enum seen { NOT_KNOWN, THERE, ELSEWHERE };

/* A track that seems to lack sectors. */
struct lack {
	size_t seg;
	uint64_t missing;
	enum seen ends;
};

struct finder {
	const struct geo_map *m;
	struct table *t;
	enum seen *jumps; /* of each of the holes */
	struct surface_row surface[GEO_HEADS];
	size_t zone, hole, gap; /* the next ones */
	size_t unsure_zone;
	uint64_t unsure; /* tracks without data that are unclear, so far in that zone */
};

static uint64_t held(const struct geo_order *o, size_t i)
{
	return o->seg[i + 1].first - o->seg[i].first;
}

/* The zone that a track is in, if that is sure; NULL: it is in none. Tracks come in order. */
static const struct geo_fit_zone *zone_of(struct finder *f, uint64_t track)
{
	const struct geo_fit *fit = f->m->are_surfaces ? f->m->layout->fit : NULL;

	while (fit && f->zone + 1 < fit->n && fit->zone[f->zone + 1].track <= track)
		f->zone++;
	return fit && fit->n && f->m->is_sure[f->zone] ? &fit->zone[f->zone] : NULL;
}

static uint32_t surface_of(struct finder *f, uint64_t track)
{
	return zone_of(f, track) ? f->m->head[track] : GEO_NOWHERE;
}

/*
 * Is there a track of that size near by that lacks nothing, and none that is as large as what this one holds? Where
 * ends of tracks are mistaken one after the other, what is told from one of them is of no track that there is, or of
 * several that were taken for one.
 */
static bool has_like(const struct geo_order *o, size_t i)
{
	bool has = false;

	for (size_t k = i > LIKE_NEAR ? i - LIKE_NEAR : 0; k + 1 < o->n && k <= i + LIKE_NEAR; k++) {
		if (o->seg[k].is_odd || o->seg[k].has_gap)
			continue;
		if (o->seg[k].size == held(o, i))
			return false;
		has = has || o->seg[k].size == o->seg[i].size;
	}
	return has;
}

/* Sectors that the single track of segment i should have; 0: not known, or there is a doubt. */
static uint64_t expected(struct finder *f, size_t i)
{
	const struct geo_seg *seg = &f->m->o->seg[i];
	const struct geo_fit_zone *z = zone_of(f, seg->track);
	uint32_t head = z ? f->m->head[seg->track] : GEO_NOWHERE;
	uint64_t counted = seg->has_gap && !seg->is_odd ? seg->size : 0;

	if (head == GEO_NOWHERE)
		return has_like(f->m->o, i) ? counted : 0;
	return counted && counted != z->size[head] ? 0 : z->size[head];
}

/*
 * Is an end of this track of so many sectors perhaps not where it was found? An end between two tracks was not seen,
 * one beside it has too much, or the two have so little that they are pieces of one.
 */
static bool is_loose(struct finder *f, size_t i, uint64_t size)
{
	const struct geo_order *o = f->m->o;
	const struct geo_fit_zone *z = zone_of(f, o->seg[i].track);

	for (size_t k = i ? i - 1 : i; k <= i + 1 && k + 1 < o->n; k++) {
		const struct geo_seg *seg = &o->seg[k];
		uint32_t head = z ? f->m->head[seg->track] : GEO_NOWHERE;
		uint64_t most = head == GEO_NOWHERE ? seg->size : z->size[head];

		if (isnan(seg->jump) ||
		    (k != i && seg->tracks == 1 && (held(o, k) > most || held(o, k) + held(o, i) <= size)))
			return true;
	}
	return false;
}

/* Else ends of tracks are where they were found. */
static bool is_noisy(const struct finder *f)
{
	return geo_near(f->m->w->g) > GEO_NOISY;
}

/*
 * Does it go on like the tracks of the surface beside it? Where a track before was counted as two, or two as one, the
 * last of a surface, or the first, is put on the next, or the one before, and seems to lack what these surfaces differ
 * by.
 */
static bool is_of_next(struct finder *f, size_t i)
{
	const struct geo_order *o = f->m->o;
	const uint32_t *head = f->m->head;

	if (!is_noisy(f) || !zone_of(f, o->seg[i].track))
		return false;
	for (size_t k = i ? i - 1 : i; k <= i + 1 && k + 1 < o->n; k++) {
		const struct geo_seg *seg = &o->seg[k];
		uint64_t beside = k < i ? seg->track + seg->tracks - 1 : seg->track;

		if (k != i && seg->tracks > 1 && seg->size == held(o, i) && head[beside] != head[o->seg[i].track])
			return true;
	}
	return false;
}

/* Have equal tracks in a row the size of the surfaces that they were put on? Where not, the count of tracks went wrong
 * before. */
static bool is_of_surface(const struct finder *f, const struct geo_fit_zone *z, const struct geo_seg *seg)
{
	uint64_t last = seg->track + seg->tracks - 1;

	if (seg->is_odd || seg->has_gap || seg->track < z->track || last >= z->track + z->tracks)
		return true;
	return seg->size == z->size[f->m->head[seg->track]] && seg->size == z->size[f->m->head[last]];
}

static bool is_like(const struct geo_order *o, double skew, double other)
{
	return isnan(skew) || isnan(other) || geo_order_same(o, skew, other);
}

/* Do neither sizes nor skews tell one surface of the zone from the next? */
static bool are_all_alike(const struct geo_order *o, const struct geo_fit_zone *z, uint32_t heads)
{
	for (uint32_t k = 1; k < heads; k++)
		if (z->size[k] != z->size[0])
			return false;
	return is_like(o, z->head_skew, z->cylinder_skew) && is_like(o, z->band_skew, z->cylinder_skew);
}

/* Then which surface a track is on rests on how many are before it: is it the same if those that are unclear are none,
 * or twice as many? */
static bool is_counted(const struct finder *f, size_t zone, uint64_t track)
{
	const struct geo_fit_zone *z = &f->m->layout->fit->zone[zone];
	uint64_t n = f->unsure_zone == zone ? f->unsure : 0, from = track > z->track + n ? track - n : z->track;

	if (!are_all_alike(f->m->o, z, f->m->layout->shape.heads))
		return true;
	for (uint64_t t = from; t <= track + n && t < z->track + z->tracks; t++)
		if (f->m->head[t] != f->m->head[track])
			return false;
	return true;
}

static void row(struct finder *f, uint64_t first, uint64_t missing, uint32_t head, const char *kind, bool is_sure)
{
	if (f->t->nrows < DEFECTS_MOST)
		result_row(f->t, &(struct defect_row){ .first_byte = first * f->m->w->g->t.block_bytes,
		                                       .missing = missing,
		                                       .surface = head == GEO_NOWHERE || f->m->layout->is_turning_hidden
		                                                          ? UINT64_MAX
		                                                          : head,
		                                       .kind = kind,
		                                       .certainty = is_sure ? "sure" : "unclear" });
}

/* Two tracks that hold no more than one does, or one that holds more: they were counted wrongly. most: sectors of a
 * track. */
static bool is_miscount(struct geo_order *o, uint64_t most, uint64_t t)
{
	return geo_order_at(o, t)->size > most ||
	       (t + 2 < o->tracks && geo_order_first(o, t + 2) - geo_order_first(o, t) <= most);
}

/*
 * Are all tracks about this one as they should be, over a turn of all surfaces to either side? Where one was counted as
 * two a track that is not there makes the count right again, and so it does where two were taken for one; and where
 * noise hides skews, sectors that a track lacks at its end turn what follows as a missing track may.
 */
static bool is_clean_about(const struct finder *f, const struct geo_hole *hole)
{
	const struct geo_fit_zone *z = &f->m->layout->fit->zone[hole->zone];
	uint64_t heads = f->m->layout->shape.heads, turn = heads > CLEAN_LEAST ? heads : CLEAN_LEAST, most = 0;
	uint64_t from = hole->track > turn ? hole->track - turn : 0, end = hole->track + turn;

	for (uint64_t k = 0; k < heads; k++)
		most = z->size[k] > most ? z->size[k] : most;
	for (uint64_t t = from > z->track ? from : z->track; t < end && t < z->track + z->tracks; t++) {
		const struct geo_seg *seg = geo_order_at(f->m->o, t);

		if (is_miscount(f->m->o, most, t))
			return false;
		if (is_noisy(f) &&
		    (seg->is_odd || seg->has_gap || isnan(seg->jump) || seg->size != z->size[f->m->head[t]]))
			return false;
	}
	return true;
}

/*
 * Is it where a zone begins, or in the last band that it has, or cylinder? A zone may begin with any surface, and end
 * with a part of a band, which looks in noise as if tracks were missing, and anywhere as if several were in one place.
 */
static bool is_of_edge(const struct finder *f, const struct geo_hole *hole)
{
	const struct geo_map *m = f->m;
	const struct geo_fit_zone *z = &m->layout->fit->zone[hole->zone];
	const struct geo_shape *shape = &m->layout->shape;
	uint64_t turn = shape->band > 1 ? shape->band : shape->heads;
	bool is_alone = (hole == m->hole || hole[-1].track != hole->track) &&
	                (hole + 1 == m->hole + m->nholes || hole[1].track != hole->track);

	return (is_noisy(f) || !is_alone) && (hole->track == z->track || hole->track + turn > z->track + z->tracks);
}

/* Is there a row for it? Of one surface each rests on a single skew, as no other surface's tracks are shifted by it,
 * and in noise a late answer makes one that looks so. */
static bool is_told(const struct finder *f, const struct geo_hole *hole)
{
	const struct geo_layout *l = f->m->layout;

	return f->m->is_sure[hole->zone] && l->fit->zone[hole->zone].size[hole->head] &&
	       (l->shape.heads > 1 || !is_noisy(f));
}

/* The others are unclear anyway, and need no second look. */
static bool may_be_sure(const struct finder *f, const struct geo_hole *hole)
{
	return !is_of_edge(f, hole) && is_clean_about(f, hole);
}

static bool is_hole_sure(const struct finder *f, size_t i)
{
	const struct geo_hole *hole = &f->m->hole[i];

	return may_be_sure(f, hole) && is_counted(f, hole->zone, hole->track) && (f->jumps[i] == THERE || !is_noisy(f));
}

/* Is a track taken to be without data, and may not be, right in front of this one or behind it? Then the two may have
 * changed places. */
static bool is_hole_beside(const struct finder *f, uint64_t track)
{
	for (size_t i = f->hole; i-- > 0 && f->m->hole[i].track == track;)
		if (!is_hole_sure(f, i))
			return true;
	for (size_t i = f->hole; i < f->m->nholes && f->m->hole[i].track <= track + 1; i++)
		if (!is_hole_sure(f, i))
			return true;
	return false;
}

/* Is a track on the surface that it was put on, as far as those beside it and before it tell? */
static bool is_surface_shown(struct finder *f, size_t i)
{
	const struct geo_order *o = f->m->o;
	const struct geo_fit_zone *z = zone_of(f, o->seg[i].track);

	return !z || (is_counted(f, f->zone, o->seg[i].track) && !is_hole_beside(f, o->seg[i].track) &&
	              (i == 0 || is_of_surface(f, z, &o->seg[i - 1])) &&
	              (i + 2 >= o->n || is_of_surface(f, z, &o->seg[i + 1])));
}

/* What the track lacks: the gaps that were seen, as far as they make no more than that; the rest is anywhere in it. */
static void tell_track(struct finder *f, const struct lack *lack)
{
	const struct geo_walk *w = f->m->w;
	size_t i = lack->seg;
	uint64_t missing = lack->missing;
	bool is_sure = lack->ends == THERE && is_surface_shown(f, i);
	const struct geo_seg *seg = &f->m->o->seg[i];
	uint64_t end = f->m->o->seg[i + 1].first, seen = 0;
	uint32_t head = surface_of(f, seg->track);
	size_t n = 0;

	while (f->gap < w->ngaps && w->gaps[f->gap].first <= seg->first)
		f->gap++;
	for (; f->gap + n < w->ngaps && w->gaps[f->gap + n].first < end; n++)
		seen += w->gaps[f->gap + n].sectors;
	for (size_t k = 0; k < n && seen <= missing; k++)
		row(f, w->gaps[f->gap + k].first, w->gaps[f->gap + k].sectors, head, "sectors", is_sure);
	if (seen != missing)
		row(f, seg->first, seen < missing ? missing - seen : missing, head, "sectors of this track", is_sure);
	if (head != GEO_NOWHERE)
		f->surface[head].missing += missing;
}

/* Tracks without data in front of this one. */
static void tell_holes(struct finder *f, uint64_t track)
{
	const struct geo_map *m = f->m;

	for (; f->hole < m->nholes && m->hole[f->hole].track <= track; f->hole++) {
		const struct geo_hole *hole = &m->hole[f->hole];
		uint64_t size = m->layout->fit->zone[hole->zone].size[hole->head];
		bool is_sure;

		if (!is_told(f, hole))
			continue;
		is_sure = is_hole_sure(f, f->hole);
		if (f->unsure_zone != hole->zone)
			f->unsure = 0;
		f->unsure_zone = hole->zone;
		f->unsure += !is_sure;
		row(f, geo_order_first(m->o, hole->track), size, hole->head, "track", is_sure);
		f->surface[hole->head].tracks += is_sure;
	}
}

static void add_bytes(struct finder *f, size_t i)
{
	const struct geo_order *o = f->m->o;
	const struct geo_seg *seg = &o->seg[i];

	for (uint64_t k = 0; k < seg->tracks; k++) {
		uint32_t head = surface_of(f, seg->track + k);
		uint64_t sectors = seg->tracks == 1 && i + 1 < o->n ? held(o, i) : seg->size;

		if (head != GEO_NOWHERE)
			f->surface[head].bytes += sectors * f->m->w->g->t.block_bytes;
	}
}

static void surface_rows(struct finder *f)
{
	const struct geo *g = f->m->w->g;
	const struct geo_fit *fit = f->m->layout->fit;
	struct table *t = result_table(g->ses->res, "surfaces", "Surfaces", geo_surface_fields);
	double bytes_per_s = (double)g->t.block_bytes * 1e9 / g->rot.period_ns; /* of a track of one sector */
	size_t last = fit->n - 1;

	for (uint32_t k = 0; k < f->m->layout->shape.heads; k++) {
		struct surface_row *s = &f->surface[k];
		uint64_t first_size = f->m->is_sure[0] ? fit->zone[0].size[k] : 0;
		uint64_t last_size = f->m->is_sure[last] && f->m->w->is_whole ? fit->zone[last].size[k] : 0;

		s->surface = k;
		s->first_bytes_per_s = first_size ? (double)(first_size + g->spare) * bytes_per_s : (double)NAN;
		s->last_bytes_per_s = last_size ? (double)(last_size + g->spare) * bytes_per_s : (double)NAN;
		result_row(t, s);
	}
}

/* All that seem to lack something, in the order of tracks. */
static size_t find_lacks(struct finder *f, struct lack *ret)
{
	const struct geo_order *o = f->m->o;
	size_t n = 0;

	for (size_t i = 0; i + 1 < o->n; i++) {
		uint64_t want = o->seg[i].tracks == 1 ? expected(f, i) : 0;

		if (want && want > held(o, i) && !is_loose(f, i, want) && !is_of_next(f, i))
			ret[n++] = (struct lack){ .seg = i, .missing = want - held(o, i) };
	}
	f->zone = 0;
	return n;
}

bool geo_jumps_as_seen(double jump, double seen, double lack, double near)
{
	return geo_frac(jump - seen + STRAY * near) <= lack + 2.0 * STRAY * near;
}

/*
 * Are both ends of this track where they were found? One that is a few sectors beside its place, by an answer that was
 * late, makes a lack of what is none: there the angle does not jump. Does it jump by something else than the walk has
 * found there, one of the two was wrong, so that this is not known.
 */
static void judge_ends(struct lack *v, const struct geo_seg *seg, const double jump[2], double near)
{
	double sector = 1.0 / (double)(seg[1].first - seg->first + v->missing), part = (double)v->missing * sector;
	double tol = fmax(near, sector / STRAY); /* spacings differ from track to track */
	bool is_quiet = near <= GEO_NOISY;       /* no answer is late there */
	bool is_first = seg->first == 0;         /* the disk's first track begins where it does */

	if (!isfinite(jump[0]) || !isfinite(jump[1])) /* the cache, or an error, answered */
		return;
	if ((!is_first && geo_apart(jump[0], 0.0) < near) || geo_apart(jump[1], 0.0) < near)
		v->ends = ELSEWHERE;
	else if (is_quiet || ((is_first || geo_jumps_as_seen(jump[0], seg[-1].jump, part, tol)) &&
	                      geo_jumps_as_seen(jump[1], seg->jump, part, tol)))
		v->ends = THERE;
}

static int look_at_ends(struct geo *g, const struct geo_order *o, struct lack *v, size_t n, struct err *err)
{
	uint64_t first[2 * AT_ONCE];
	double spacing[2 * AT_ONCE], jump[2 * AT_ONCE];
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

/* The jump that the walk has found in front of a track. */
static double jump_before(struct geo_order *o, uint64_t track)
{
	return track ? geo_order_at(o, track - 1)->jump : (double)NAN;
}

/* Is a jump the skew between two tracks of the zone, one behind the other? */
static bool is_usual(const struct geo_fit_zone *z, double jump, double near)
{
	const double skew[] = { z->head_skew, z->cylinder_skew, z->band_skew };

	for (size_t i = 0; i < ARRAY_LEN(skew); i++)
		if (isfinite(skew[i]) && geo_apart(jump, skew[i]) < near)
			return true;
	return false;
}

bool geo_passes_track(const struct geo_fit_zone *z, double jump, double seen, double behind, double near)
{
	return geo_jumps_as_seen(jump, seen, 0.0, near) && !is_usual(z, jump, near) && is_usual(z, behind, near);
}

static int look_at_holes(struct finder *f, const size_t *at, size_t n, struct err *err)
{
	const struct geo_map *m = f->m;
	struct geo *g = m->w->g;
	uint64_t first[2 * AT_ONCE];
	double spacing[2 * AT_ONCE], jump[2 * AT_ONCE];
	int r;

	for (size_t i = 0; i < n; i++) {
		first[i] = geo_order_first(m->o, m->hole[at[i]].track);
		spacing[i] = 1.0 / (double)geo_order_at(m->o, m->hole[at[i]].track)->size;
	}
	r = geo_read_jumps(g, first, spacing, n, jump, err);
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct geo_hole *hole = &m->hole[at[i]];
		bool passes =
			geo_passes_track(&m->layout->fit->zone[hole->zone], jump[i], jump_before(m->o, hole->track),
		                         jump_before(m->o, hole->track + 1), fmax(geo_near(g), spacing[i] / STRAY));

		if (isfinite(jump[i]))
			f->jumps[at[i]] = passes ? THERE : ELSEWHERE;
	}
	return r;
}

/* In noise a single late answer turns what follows as a track without data does: as many as there is time for are asked
 * once more. */
static int confirm_holes(struct finder *f, struct err *err)
{
	const struct geo_map *m = f->m;
	struct geo *g = m->w->g;
	uint64_t until_ns = geo_share_end_ns(g, GEO_DEFECTS_PART);
	size_t at[2 * AT_ONCE], n = 0;
	int r = 0;

	if (!is_noisy(f))
		return 0;
	for (size_t i = 0; i < m->nholes && r == 0 && !geo_is_share_over(g, until_ns); i++) {
		if (m->hole[i].track && is_told(f, &m->hole[i]) && may_be_sure(f, &m->hole[i]))
			at[n++] = i;
		if (n < ARRAY_LEN(at) && i + 1 < m->nholes)
			continue;
		r = look_at_holes(f, at, n, err);
		n = 0;
	}
	return r;
}

/* As many as there is time for. */
static int confirm(struct geo *g, const struct geo_order *o, struct lack *v, size_t n, struct err *err)
{
	uint64_t until_ns = geo_share_end_ns(g, GEO_DEFECTS_PART);
	int r = 0;

	geo_forget(g); /* what is remembered would only agree with itself */
	for (size_t i = 0; i < n && r == 0 && !geo_is_share_over(g, until_ns); i += AT_ONCE)
		r = look_at_ends(g, o, v + i, n - i < AT_ONCE ? n - i : AT_ONCE, err);
	return r;
}

static void tell_rows(struct finder *f, const struct lack *v, size_t n)
{
	const struct geo_order *o = f->m->o;

	for (size_t i = 0, k = 0; i < o->n; i++) {
		tell_holes(f, o->seg[i].track);
		if (f->m->are_surfaces)
			add_bytes(f, i);
		if (k == n || v[k].seg != i)
			continue;
		if (v[k].ends != ELSEWHERE)
			tell_track(f, &v[k]);
		k++;
	}
}

int geo_defect_rows(const struct geo_map *m, struct err *err)
{
	cleanup_free struct finder *f = xcalloc(1, sizeof(*f));
	cleanup_free struct lack *v = xcalloc(m->o->n + 1, sizeof(*v));
	cleanup_free enum seen *jumps = xcalloc(m->nholes + 1, sizeof(*jumps));
	size_t n;
	int r;

	f->m = m;
	f->jumps = jumps;
	f->t = result_table(m->w->g->ses->res, "defects", "Sectors and tracks without data", geo_defect_fields);
	n = find_lacks(f, v);
	r = confirm(m->w->g, m->o, v, n, err);
	if (r == 0)
		r = confirm_holes(f, err);
	if (r < 0)
		return r;
	tell_rows(f, v, n);
	if (m->are_surfaces && !m->layout->is_turning_hidden && m->layout->fit->n)
		surface_rows(f);
	return 0;
}
