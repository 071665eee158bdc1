/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where sectors lie on the circle. A read ends when its sector has passed the head, so its completion modulo the
 * rotation period is the sector's angle, whatever the way to it took. What the drive's cache answers says nothing: such
 * a read is known by its time, and repeated after as many reads elsewhere as it takes to have the sector out of the
 * cache (rotation_find). Reads with FUA need none of that where they are seen to come from the media.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/geometry/geometry.h"

#define DOUBT     0.15 /* of a revolution: accesses shorter than that are rare, so that a second look costs little */
#define FUA_LOOKS 20   /* so often: where nothing is stored all comes back at once */
/* Of all: a drive that keeps what comes by before the sector asked for has most of a track after one read of it. */
#define ROUNDS     16
#define TOL_LEAST  8e-6 /* of a revolution: what rounding of times and of the period does */
#define UP_APART   0.03 /* of a revolution: so long a command takes, and the next one to come */
#define LOOKS_MOST 9
#define LOOKS_FROM 0.04 /* of a revolution: so far differences may stray where another look is dear */

struct angle_row {
	uint64_t offset_bytes;
	double angle_ratio;
};

const struct field geo_angle_fields[] = {
	FIELD_U64(struct angle_row, offset_bytes, UNIT_BYTES, "offset"),
	FIELD_F64(struct angle_row, angle_ratio, UNIT_RATIO, "angle"),
	FIELD_END,
};

static void keep(struct geo *g, uint64_t sector, double angle)
{
	const struct angle_row row = { sector * g->t.block_bytes, angle };

	if (!g->angles)
		g->angles = result_table(g->ses->res, "angles", "Angles of sectors", geo_angle_fields);
	if (g->angles->nrows < GEO_KNOWN) /* more dots only make the picture black */
		result_row(g->angles, &row);
}

static size_t slot_of(uint64_t sector)
{
	return (size_t)(sector * 0x9e3779b97f4a7c15ull >> 52) % GEO_KNOWN;
}

static void learn(struct geo *g, uint64_t sector, double angle)
{
	size_t i = slot_of(sector);

	g->known[i].sector = sector;
	g->known[i].angle = angle;
}

/* NaN: not known. */
static double known(const struct geo *g, uint64_t sector)
{
	size_t i = slot_of(sector);

	return g->spindle.at_ns && g->known[i].sector == sector && g->known[i].angle > 0.0 ? g->known[i].angle
	                                                                                   : (double)NAN;
}

/* Reads with FUA came back at once again and again, or failed: is it still obeyed? */
static int look_at_fua(struct geo *g, uint64_t sector, struct err *err)
{
	if (g->fua_looks++ >= FUA_LOOKS)
		return 0;
	return timed_look_for_fua(&g->t, &g->rot, sector * g->t.block_bytes, g->is_fua_ahead, err);
}

static int media_reads(struct geo *g, const uint64_t *offsets, size_t n, double *access, uint64_t *done,
                       struct err *err)
{
	int r = timed_media_reads(&g->t, offsets, n, access, done, err);
	size_t bad = 0;

	for (size_t i = 0; i < n; i++)
		bad += isnan(access[i]);
	if (r < 0 || !g->t.fua || !n || bad < n || session_is_over(g->ses))
		return r;
	r = look_at_fua(g, offsets[0] / g->t.block_bytes, err);
	return r < 0 || g->t.fua ? r : timed_reads(&g->t, offsets, n, access, done, err);
}

/* Reads `lead` blocks elsewhere, then the sectors; how many of them were cache hits, which stay NaN. */
static int read_some(struct geo *g, uint32_t lead, const uint64_t *sectors, double *angles, bool *doubt, size_t n,
                     size_t *ret_hits, struct err *err)
{
	uint64_t offsets[GEO_BATCH], done[GEO_BATCH] = { 0 }, first = UINT64_MAX, end = 0;
	double access[GEO_BATCH], ns = 0.0;
	size_t way = geo_choose_way(g);
	int r = geo_spindle_follow(g, err);

	for (size_t i = 0; i < n; i++) {
		offsets[i] = sectors[i] * g->t.block_bytes;
		first = offsets[i] < first ? offsets[i] : first;
		end = offsets[i] > end ? offsets[i] : end;
		access[i] = NAN;
	}
	/* The next tracks that are looked at are not to be in the cache by reads elsewhere. */
	first = first > GEO_BESIDE_BYTES ? first - GEO_BESIDE_BYTES : 0;
	end = g->t.target->size_bytes - end > GEO_BESIDE_BYTES ? end + GEO_BESIDE_BYTES : g->t.target->size_bytes;
	if (r == 0 && lead)
		r = geo_read_elsewhere(g, way, lead, first, end, &ns, err);
	if (r == 0)
		r = media_reads(g, offsets, n, access, done, err);
	g->cost.reads += n;
	g->last = n ? sectors[n - 1] : g->last;
	if (r == 0 && lead && isfinite(access[0]))
		geo_judge_way(g, way, lead, ns, !timed_may_be_hit(&g->rot.hits, access[0]));
	*ret_hits = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		double a = access[i];

		angles[i] = NAN;
		doubt[i] = a < DOUBT * g->rot.period_ns && !g->t.fua;
		if (!isfinite(a))
			continue;
		geo_kept_read(&g->kept, sectors[i], timed_may_be_hit(&g->rot.hits, a));
		if (timed_may_be_hit(&g->rot.hits, a)) {
			++*ret_hits;
			continue;
		}
		if (!g->spindle.at_ns)
			g->spindle.at_ns = done[i];
		angles[i] = geo_frac(geo_turns(g, done[i]));
		keep(g, sectors[i], angles[i]);
		if (!doubt[i] && g->looks == 1)
			learn(g, sectors[i], angles[i]);
	}
	return r;
}

int geo_down(const void *a, const void *b)
{
	const uint64_t *p = a, *q = b;

	return (*p < *q) - (*p > *q);
}

bool geo_goes_up(const struct geo *g)
{
	return g->ways.up_agreed >= GEO_TWICE && !g->ways.is_up_vain && geo_kept_has_below(&g->kept);
}

static int up(const void *a, const void *b)
{
	return geo_down(b, a);
}

/* Upwards a sector near the one before has passed before it can be asked for, and so have those behind it: the drive
 * answers for each no sooner than it passes. Such are left for later. Not the first sector of a track behind the last
 * one of another: a skew comes before it. Returns how many stay. */
static size_t leave_near_ones(const struct geo *g, uint64_t *sector, size_t n)
{
	uint64_t apart = (uint64_t)(UP_APART * fmax(0.0, g->per_track));
	size_t m = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t off = m ? sector[i] - sector[m - 1] : UINT64_MAX;
		bool is_pair = off == 1 && (m < 2 || sector[m - 1] - sector[m - 2] > 1);

		if (off >= apart || is_pair)
			sector[m++] = sector[i];
	}
	return m;
}

/* Those that are still NaN once more, downwards, where one does not bring the next into the cache. 1: in vain, as not
 * even the first was read from the media. */
static int read_again(struct geo *g, uint32_t lead, const uint64_t *sectors, double *angles, bool *doubt, size_t n,
                      size_t *ret_hits, struct err *err)
{
	uint64_t again[GEO_BATCH];
	double got[GEO_BATCH] = { 0 };
	bool short_one[GEO_BATCH] = { false };
	size_t m = 0, all;
	int r;

	for (size_t i = 0; i < n; i++)
		if (isnan(angles[i]))
			again[m++] = sectors[i];
	*ret_hits = 0;
	if (m == 0)
		return 0;
	qsort(again, m, sizeof(again[0]), geo_goes_up(g) ? up : geo_down);
	all = m;
	m = geo_goes_up(g) ? leave_near_ones(g, again, m) : m;
	r = read_some(g, lead, again, got, short_one, m, ret_hits, err);
	*ret_hits += all - m;
	for (size_t i = 0; i < n && r == 0; i++) {
		for (size_t k = 0; k < m; k++) {
			if (!isnan(angles[i]) || again[k] != sectors[i])
				continue;
			angles[i] = got[k];
			doubt[i] = k > 0 && short_one[k]; /* the first came after reads elsewhere */
		}
	}
	return r < 0 ? r : isnan(got[0]);
}

struct wanted {
	uint64_t sector;
	size_t which;
};

static int wanted_up(const void *a, const void *b)
{
	const struct wanted *p = a, *q = b;

	return up(&p->sector, &q->sector);
}

/* All once, but for those that are known. */
static int read_new(struct geo *g, const uint64_t *sectors, double *angles, bool *doubt, size_t n, size_t *ret_hits,
                    struct err *err)
{
	struct wanted wanted[GEO_BATCH];
	uint64_t sector[GEO_BATCH];
	double angle[GEO_BATCH] = { 0 };
	bool short_one[GEO_BATCH] = { false };
	size_t m = 0;
	int r;

	for (size_t i = 0; i < n; i++) {
		angles[i] = known(g, sectors[i]);
		doubt[i] = false;
		if (isnan(angles[i]))
			wanted[m++] = (struct wanted){ sectors[i], i };
	}
	if (m > 2 && geo_goes_up(g))
		qsort(wanted, m, sizeof(wanted[0]), wanted_up);
	for (size_t i = 0; i < m; i++)
		sector[i] = wanted[i].sector;
	*ret_hits = 0;
	r = m ? read_some(g, 0, sector, angle, short_one, m, ret_hits, err) : 0;
	for (size_t i = 0; i < m && r == 0; i++) {
		angles[wanted[i].which] = angle[i];
		doubt[wanted[i].which] = short_one[i];
	}
	return r;
}

int geo_probe_once(struct geo *g, const uint64_t *sectors, double *ret_angles, bool *ret_doubt, size_t n, bool again,
                   struct err *err)
{
	size_t hits = 0;
	uint32_t lead = 0;
	int r = 0, tries = 0;

	for (size_t i = 0; i < n; i++) {
		if (again && !ret_doubt[i])
			continue;
		ret_angles[i] = NAN;
		hits = 1;
	}
	if (!again)
		r = read_new(g, sectors, ret_angles, ret_doubt, n, &hits, err);
	for (int k = 0; r == 0 && hits && k < ROUNDS && tries < GEO_TRIES && !geo_is_over(g); k++) {
		lead = lead ? lead : geo_first_lead(g);
		r = read_again(g, lead, sectors, ret_angles, ret_doubt, n, &hits, err);
		tries += r == 1;
		lead = r == 1 ? geo_more_lead(g, lead) : 0;
		if (r == 1)
			r = g->t.fua && tries == 2 ? look_at_fua(g, sectors[0], err) : 0;
	}
	return r;
}

/* Of angles on the circle: what has as many on either side, by what they differ from the first; those that are not
 * known are left out. */
static double middle(const double *a, size_t n)
{
	double off[LOOKS_MOST];
	size_t m = 0;

	for (size_t i = 0; i < n; i++)
		if (isfinite(a[i]))
			off[m++] = geo_frac(a[i] - a[0] + 0.5) - 0.5;
	return geo_frac(a[0] + stats_median(off, m));
}

double geo_noise_left(unsigned looks)
{
	return looks > 1 ? GEO_MEDIAN_LOSS / sqrt(looks) : 1.0;
}

unsigned geo_looks(double near, double flush)
{
	/* Where all looks but the first take very many reads elsewhere before: most skews stand out. */
	double wanted = flush > GEO_VERY_DEAR ? GEO_SKEW : GEO_SKEW / 2.0;
	unsigned looks = 1;

	/* Where looking again is cheap, that outvotes an answer that came late, and skews stand out from each other. */
	if (near <= (flush > GEO_DEAR ? LOOKS_FROM : GEO_SKEW / 3.0))
		return looks;
	while (looks < LOOKS_MOST && (near * geo_noise_left(looks) > wanted || (looks == 1 && flush <= GEO_DEAR)))
		looks += 2;
	return looks;
}

void geo_set_looks(struct geo *g, unsigned looks)
{
	g->rot.noise_ns *= geo_noise_left(looks) / geo_noise_left(g->looks);
	g->looks = looks;
	g->tol = fmax(TOL_LEAST, 5.0 * g->rot.noise_ns / g->rot.period_ns);
}

bool geo_look_more(struct geo *g)
{
	if (geo_near(g) <= GEO_SKEW / 2.0 || g->looks >= LOOKS_MOST)
		return false;
	geo_set_looks(g, g->looks + 2);
	geo_forget(g); /* of what was looked at less often */
	return true;
}

/* For a probe again: those, and not also what could not be read, which is NaN. */
static void ask_for(const bool *is_open, bool *ret_again, double *ret_angles, size_t n)
{
	memcpy(ret_again, is_open, n * sizeof(*is_open));
	for (size_t i = 0; i < n; i++)
		ret_angles[i] = 0.0;
}

/* Each sector as often as the noise wants it; one that is known has been. */
static int probe_often(struct geo *g, const uint64_t *sectors, double *angles, bool *doubt, size_t n, bool again,
                       struct err *err)
{
	double seen[GEO_BATCH][LOOKS_MOST], got[GEO_BATCH];
	bool is_open[GEO_BATCH], once_more[GEO_BATCH];
	int r = 0;

	for (size_t i = 0; i < n; i++)
		is_open[i] = again ? doubt[i] : isnan(known(g, sectors[i]));
	r = geo_probe_once(g, sectors, angles, doubt, n, again, err);
	for (size_t i = 0; i < n; i++) {
		is_open[i] = is_open[i] && isfinite(angles[i]);
		seen[i][0] = angles[i];
	}
	for (unsigned k = 1; r == 0 && k < g->looks && !geo_is_over(g); k++) {
		ask_for(is_open, once_more, got, n);
		r = geo_probe_once(g, sectors, got, once_more, n, true, err);
		for (size_t i = 0; r == 0 && i < n; i++) {
			if (!is_open[i])
				continue;
			seen[i][k] = got[i];
			angles[i] = middle(seen[i], k + 1);
			doubt[i] = false; /* it was read behind reads elsewhere, too */
			learn(g, sectors[i], angles[i]);
		}
	}
	return r;
}

int geo_probe_doubt(struct geo *g, const uint64_t *sectors, double *ret_angles, bool *ret_doubt, size_t n, bool again,
                    struct err *err)
{
	return g->looks > 1 ? probe_often(g, sectors, ret_angles, ret_doubt, n, again, err)
	                    : geo_probe_once(g, sectors, ret_angles, ret_doubt, n, again, err);
}

double geo_hit_share(const struct geo *g, bool is_up)
{
	return (g->ways.way[is_up].hits + 1.0) / (g->ways.way[is_up].pairs + 2.0); /* Laplace's rule */
}

int geo_probe_afresh(struct geo *g, const uint64_t *sectors, double *ret_angles, size_t n, struct err *err)
{
	bool doubt[GEO_BATCH];
	size_t hits;

	return read_some(g, geo_first_lead(g), sectors, ret_angles, doubt, n, &hits, err);
}

int geo_probe_new(struct geo *g, const uint64_t *sectors, double *ret_angles, bool *ret_doubt, size_t n,
                  struct err *err)
{
	size_t hits;

	if (g->looks > 1)
		return geo_probe_doubt(g, sectors, ret_angles, ret_doubt, n, false, err);
	return read_new(g, sectors, ret_angles, ret_doubt, n, &hits, err);
}

int geo_probe(struct geo *g, const uint64_t *sectors, double *ret_angles, size_t n, struct err *err)
{
	bool doubt[GEO_BATCH];
	int r = 0;

	for (size_t i = 0; i < n; i++)
		ret_angles[i] = NAN;
	for (size_t at = 0; r == 0 && at < n && !geo_is_over(g); at += GEO_BATCH)
		r = geo_probe_doubt(g, sectors + at, ret_angles + at, doubt, n - at < GEO_BATCH ? n - at : GEO_BATCH,
		                    false, err);
	return r;
}

void geo_forget(struct geo *g)
{
	memset(g->known, 0, sizeof(g->known));
}

/* The earlier of two readings that agree; NaN: none do. */
static double agreed(const struct geo *g, const double *a, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (geo_apart(a[i], a[k]) < g->tol)
				return geo_frac(a[i] - a[k]) < 0.5 ? a[k] : a[i];
	return NAN;
}

int geo_probe_sure(struct geo *g, const uint64_t *sectors, double *ret_angles, size_t n, struct err *err)
{
	double seen[GEO_BATCH][GEO_TRIES], got[GEO_BATCH];
	bool is_open[GEO_BATCH], again[GEO_BATCH];
	size_t left = 0;
	int r = geo_probe_doubt(g, sectors, got, again, n, false, err);

	for (size_t i = 0; i < n; i++) {
		seen[i][0] = got[i];
		ret_angles[i] = NAN;
		is_open[i] = isfinite(got[i]);
		left += is_open[i];
	}
	for (size_t k = 1; r == 0 && left && k < GEO_TRIES && !geo_is_over(g); k++) {
		ask_for(is_open, again, got, n);
		r = geo_probe_doubt(g, sectors, got, again, n, true, err);
		for (size_t i = 0; r == 0 && i < n; i++) {
			if (!is_open[i])
				continue;
			seen[i][k] = got[i];
			ret_angles[i] = agreed(g, seen[i], k + 1);
			if (isnan(ret_angles[i]))
				continue;
			learn(g, sectors[i], ret_angles[i]);
			is_open[i] = false;
			left--;
		}
	}
	return r;
}
