/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Surfaces and the order in which they are used. The angles tell how tracks repeat (a cycle); which of a cycle's tracks lie over each other is told by the
 * time that the head needs from one to the other: the shortest access between two tracks. As all angles are known, an access of any length can be
 * aimed at: one that the head can make takes just that long, one that it cannot a revolution more. So the shortest is found by halving.
 * Always from the later track to the earlier, where reading ahead does not help.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure/geometry.h"

#define CYCLE_MAX 8192
#define HALVINGS  11
#define HEADS_MAX 32
#define SOME      10

const struct field geo_profile_fields[] = {
	FIELD_U64(struct geo_profile_row, distance_tracks, UNIT_COUNT, "tracks"),
	FIELD_F64(struct geo_profile_row, access_ns, UNIT_NS, "shortest access"),
	FIELD_F64(struct geo_profile_row, resolution_ns, UNIT_NS, "to within"),
	FIELD_END,
};

/* A stretch of cycles, turned so that the first track is the first of a cylinder or band. */
struct cycles {
	struct geo *g;
	uint64_t first, sectors; /* of a cycle */
	double turn;
	uint64_t times, tracks;
	uint64_t offset[CYCLE_MAX], per_track[CYCLE_MAX];
	double angle[CYCLE_MAX], jump[CYCLE_MAX];
	struct table *profile;
};

struct spot {
	uint64_t sector, per_track;
	double angle; /* of the sector's end, against the first track of cycle 0's unit */
};

/* Track i of a cycle that begins with unit u; i may be beyond the cycle's end. */
static struct spot spot_at(const struct cycles *c, uint64_t u, uint64_t i)
{
	uint64_t over = i / c->tracks, t = i % c->tracks;

	return (struct spot){ .sector = c->first + (u + over) * c->sectors + c->offset[t],
		              .per_track = c->per_track[t],
		              .angle = (double)over * c->turn + c->angle[t] };
}

/* One access from track i to track 0 that is to take y revolutions (its broken part counts); *ret_y: what was aimed at exactly. */
static int one_access(struct cycles *c, uint64_t i, uint64_t base, double y, double *ret_y, double *ret_turns,
                      struct err *err)
{
	struct geo *g = c->g;
	uint64_t span = (base + i) / c->tracks + 2;
	uint64_t u = c->times > span ? rng_below(&g->t.rng, c->times - span) : 0, x, k;
	struct spot from = spot_at(c, u, base + i), to = spot_at(c, u, base);
	uint64_t offsets[2];
	double access[2], gap;
	int r;

	k = rng_below(&g->t.rng, from.per_track);
	from.angle += (double)k / (double)from.per_track;
	gap = geo_frac(to.angle - from.angle);
	x = (uint64_t)llround(geo_frac(y - gap) * (double)to.per_track) % to.per_track;
	offsets[0] = (from.sector + k) * g->t.block_bytes;
	offsets[1] = (to.sector + x) * g->t.block_bytes;
	r = timed_reads(&g->t, offsets, 2, access, NULL, err);
	g->reads += 2;
	gap = geo_frac(gap + (double)x / (double)to.per_track - y + 0.5) - 0.5; /* off by so much */
	*ret_y = y + gap;
	*ret_turns = access[1] < g->rot.hit_ns + g->rot.hit_width_ns ? (double)NAN : access[1] / g->rot.period_ns;
	return r;
}

/* Shortest access from track base + i to track base, revolutions; NaN: no result. */
static int shortest(struct cycles *c, uint64_t base, uint64_t i, double *ret, struct err *err)
{
	double low = 0.0, high = INFINITY;
	int r = 0;

	for (int k = 0; k < 2 * HALVINGS && r == 0 && !geo_is_over(c->g); k++) {
		double y = isfinite(high) ? (low + high) / 2.0 : 0.7, aimed, turns;

		if (isfinite(high) && high - low < 1.0 / 2048.0)
			break;
		r = one_access(c, i, base, y, &aimed, &turns, err);
		if (r < 0 || !isfinite(turns))
			continue;
		if (!isfinite(high)) {
			high = turns;
			low = fmax(0.0, turns - 1.0);
		} else if (fabs(turns - aimed) < 0.25) {
			if (aimed >= high - 1e-9)
				break; /* no sector in between */
			high = aimed;
		} else {
			if (aimed <= low + 1e-9)
				break;
			low = aimed;
		}
	}
	*ret = isfinite(high) ? high : (double)NAN;
	if (r == 0 && isfinite(high)) {
		const struct geo_profile_row row = { i, high * c->g->rot.period_ns,
			                             (high - low) * c->g->rot.period_ns };

		if (!c->profile)
			c->profile = result_table(c->g->ses->res, "profile", "Shortest access to an earlier track",
			                          geo_profile_fields);
		result_row(c->profile, &row);
	}
	return r;
}

/* ---- from the walk ---- */

/* What a run's tracks advance by on the mean: its turn is known as well as its jump, but is the sum of all. */
static double even_jump(const struct geo_run *run)
{
	double n = (double)run->tracks;

	return (run->turn + round(n * run->jump - run->turn)) / n;
}

static void fill(struct cycles *c, const struct geo_item *item, uint64_t skip)
{
	uint64_t n = 0, at = 0;
	double angle = 0.0;

	for (uint32_t i = 0; i < item->nruns; i++)
		n += item->run[i].tracks;
	c->tracks = n;
	for (uint64_t t = 0; t < n; t++) {
		uint64_t k = (t + skip) % n;
		uint32_t i = 0;

		while (k >= item->run[i].tracks)
			k -= item->run[i++].tracks;
		c->offset[t] = at;
		c->angle[t] = angle;
		c->per_track[t] = item->run[i].per_track;
		c->jump[t] = item->run[i].jump;
		at += item->run[i].per_track;
		angle += even_jump(&item->run[i]);
	}
	c->sectors = at;
	c->turn = angle;
	c->first = item->first;
	for (uint64_t k = 0; k < skip; k++) {
		uint64_t t = k;
		uint32_t i = 0;

		while (t >= item->run[i].tracks)
			t -= item->run[i++].tracks;
		c->first += item->run[i].per_track;
	}
	c->times = item->times - (skip ? 1 : 0);
}

static uint64_t tracks_before(const struct geo_walk *w, const struct geo_zone *z)
{
	uint64_t n = 0;

	for (size_t i = z->first_item; i < z->best; i++)
		n += w->items[i].tracks;
	return n;
}

/* The longest stretch of cycles, from where its zone's first track says that a cycle begins. */
static bool choose(const struct geo_walk *w, const struct geo_zone *zone, size_t n, struct cycles *c)
{
	const struct geo_zone *best = NULL;
	uint64_t before, in_cycle = 0;
	const struct geo_item *item;

	for (size_t i = 0; i < n; i++)
		if (!zone[i].is_plain && w->items[zone[i].best].times >= 3 &&
		    (!best || w->items[zone[i].best].tracks > w->items[best->best].tracks))
			best = &zone[i];
	if (!best)
		return false;
	item = &w->items[best->best];
	before = tracks_before(w, best);
	for (uint32_t i = 0; i < item->nruns; i++)
		in_cycle += item->run[i].tracks;
	if (in_cycle > CYCLE_MAX)
		return false;
	fill(c, item, (in_cycle - before % in_cycle) % in_cycle);
	return true;
}

/* The plain zone with the longest run; NULL when its sizes are not alone there. */
static const struct geo_zone *plainest(const struct geo_walk *w, const struct geo_zone *zone, size_t n)
{
	const struct geo_zone *best = NULL;

	for (size_t i = 0; i < n && !w->unclear; i++)
		if (zone[i].is_plain && (!best || w->items[zone[i].best].tracks > w->items[best->best].tracks))
			best = &zone[i];
	return best;
}

/* ---- what the cycle looks like ---- */

/* Are all blocks of n tracks even in themselves, but for the last one's jump? */
static bool has_blocks(const struct cycles *c, uint64_t n)
{
	for (uint64_t t = 0; t < c->tracks; t++) {
		uint64_t block = t / n * n;

		if (c->per_track[t] != c->per_track[block])
			return false;
		if (t % n != n - 1 && geo_apart(c->jump[t], c->jump[block]) > 3.0 * c->g->tol)
			return false;
	}
	return true;
}

/*
 * Are the sizes of blocks the same backwards from block `at` on, and do they differ? From the first block on that is what heads that alternate look like;
 * from another one it says that the first block may not be where a cylinder or band begins.
 */
static bool is_mirrored_at(const struct cycles *c, uint64_t n, uint64_t at)
{
	uint64_t blocks = c->tracks / n;
	bool differ = false;

	if (blocks % 2)
		return false;
	for (uint64_t i = 0; i < blocks / 2; i++) {
		uint64_t one = c->per_track[(at + i) % blocks * n];

		if (one != c->per_track[(at + blocks - 1 - i) % blocks * n])
			return false;
		differ = differ || one != c->per_track[at * n];
	}
	return differ;
}

static bool is_mirrored(const struct cycles *c, uint64_t n)
{
	return is_mirrored_at(c, n, 0);
}

/* Mirrored elsewhere: half as many surfaces would do as well. */
static bool is_doubtful(const struct cycles *c, uint64_t n)
{
	for (uint64_t at = 1; at < c->tracks / n; at++)
		if (is_mirrored_at(c, n, at) && !is_mirrored(c, n))
			return true;
	return false;
}

static double resolution(const struct cycles *c)
{
	return 1.5 / (double)c->per_track[0] + 1.0 / 1024.0;
}

/*
 * Bands of n tracks: is the first track of the second surface over the first one of the first (forward), or is the last one (serpentine)? And the first of
 * the third surface is over it in any case.
 */
static int test_bands(struct cycles *c, uint64_t n, const char **ret, double *ret_switch, struct err *err)
{
	double across, forward, back, third = 0.0, e = resolution(c);
	int r = shortest(c, 0, n - 1, &across, err);

	*ret = NULL;
	if (r == 0)
		r = shortest(c, 0, n, &forward, err);
	if (r == 0)
		r = shortest(c, 0, 2 * n - 1, &back, err);
	if (r == 0 && c->tracks >= 3 * n)
		r = shortest(c, 0, 2 * n, &third, err);
	if (r < 0 || !isfinite(across) || !isfinite(forward) || !isfinite(back) || !(third < across - e))
		return r;
	*ret_switch = fmin(forward, back);
	if (forward < across - e && forward < back - e)
		*ret = "forward";
	else if (back < across - e && back < forward - e)
		*ret = "serpentine";
	return 0;
}

/* Cylinder of track i of a cycle of bands of n tracks. */
static uint64_t cylinder(uint64_t i, uint64_t n, bool serpentine)
{
	return serpentine && i / n % 2 ? n - 1 - i % n : i % n;
}

/* Some tracks at random: is each as far as the track of the first surface that would lie below it? */
static int test_some(struct cycles *c, uint64_t n, bool serpentine, double head_switch, bool *ret, struct err *err)
{
	double e = resolution(c), here, there;
	int r = 0;

	*ret = true;
	for (int k = 0; k < SOME && r == 0 && *ret && !geo_is_over(c->g); k++) {
		uint64_t i = n + rng_below(&c->g->t.rng, c->tracks - n), d = cylinder(i, n, serpentine);

		if (d == 0)
			continue;
		r = shortest(c, 0, i, &here, err);
		if (r == 0)
			r = shortest(c, 0, d, &there, err);
		/* A change of heads takes its time as well, and hides shorter moves. */
		*ret = fabs(here - fmax(there, head_switch)) <= 2.0 * e;
	}
	return r;
}

/* Shortest accesses from..to - 1 tracks on, from a first track of a cylinder. */
static int spread(struct cycles *c, uint64_t from, uint64_t to, double *ret_low, double *ret_high, struct err *err)
{
	int r = 0;

	*ret_low = INFINITY;
	*ret_high = -INFINITY;
	for (uint64_t i = from; i < to && r == 0 && !geo_is_over(c->g); i++) {
		double v;

		r = shortest(c, 0, i, &v, err);
		*ret_low = fmin(*ret_low, v);
		*ret_high = fmax(*ret_high, v);
	}
	return r;
}

/*
 * Head first: the tracks of a cylinder are equally near to its first one, those of the next cylinder equally far, and the difference is clear. (With one
 * surface the times grow with the root of the distance at most, which does not look so.) clear: how many times the spread the difference has to be.
 */
static int test_heads(struct cycles *c, uint64_t heads, double clear, bool *ret, struct err *err)
{
	double low, high, next_low, next_high, wide;
	int r = spread(c, 1, heads, &low, &high, err);

	*ret = false;
	if (r == 0 && high - low <= resolution(c))
		r = spread(c, heads, 2 * heads, &next_low, &next_high, err);
	else
		return r;
	wide = fmax(fmax(high - low, next_high - next_low), 1.0 / (double)c->per_track[0]);
	*ret = next_low - high > clear * wide;
	return r;
}

static void tell(struct geo *g, uint64_t surfaces, const char *layout, const char *why)
{
	result_figure(g->ses->res, "surfaces", "surfaces", UNIT_COUNT, (double)surfaces, NULL, 0);
	result_figure_text(g->ses->res, "layout", "layout", layout);
	result_figure_text(g->ses->res, "confidence", "how sure", why);
}

static int tell_bands(struct cycles *c, bool *ret_told, struct err *err)
{
	int r = 0;

	for (uint64_t n = 2; n <= c->tracks / 2 && r == 0 && !geo_is_over(c->g); n++) {
		const char *way = NULL;
		bool mirrored, fits = true;
		double head_switch = 0.0;
		uint64_t surfaces;
		char text[128];

		if (c->tracks % n || !has_blocks(c, n) || is_doubtful(c, n))
			continue;
		r = test_bands(c, n, &way, &head_switch, err);
		mirrored = is_mirrored(c, n);
		surfaces = c->tracks / n / (mirrored ? 2 : 1);
		if (r == 0 && way && surfaces <= HEADS_MAX && !mirrored)
			r = test_some(c, n, way[0] == 's', head_switch, &fits, err);
		if (r < 0 || !way || surfaces > HEADS_MAX || !fits || geo_is_over(c->g))
			continue;
		(void)snprintf(text, sizeof(text), "seek-first in bands of %" PRIu64 " tracks, %s%s", n, way,
		               mirrored ? ", heads alternate" : "");
		tell(c->g, surfaces, text, "sure: sizes and skews repeat so, and the access times agree");
		*ret_told = true;
		return 0;
	}
	return r;
}

static int tell_heads(struct cycles *c, bool *ret_told, struct err *err)
{
	bool mirrored = is_mirrored(c, 1), heads = false;
	uint64_t surfaces = c->tracks / (mirrored ? 2 : 1);
	int r = 0;

	if (surfaces >= 2 && surfaces <= HEADS_MAX && !is_doubtful(c, 1))
		r = test_heads(c, surfaces, 2.0, &heads, err);
	if (r == 0 && heads && !geo_is_over(c->g)) {
		tell(c->g, surfaces, mirrored ? "head-first, heads alternate" : "head-first",
		     "sure: sizes and skews repeat so, and the access times agree");
		*ret_told = true;
	}
	return r;
}

/* n equal tracks as a cycle of their own, beginning where the zone does. */
static void equal_cycle(struct cycles *c, const struct geo_item *item, uint64_t before, uint64_t n)
{
	uint64_t skip = (n - before % n) % n;

	c->tracks = n;
	for (uint64_t t = 0; t < n; t++) {
		c->per_track[t] = item->run[0].per_track;
		c->offset[t] = t * item->run[0].per_track;
		c->angle[t] = (double)t * item->run[0].jump;
		c->jump[t] = item->run[0].jump;
	}
	c->sectors = n * item->run[0].per_track;
	c->turn = (double)n * item->run[0].jump;
	c->first = item->first + skip * item->run[0].per_track;
	c->times = (item->tracks - skip) / n;
}

/* All tracks look alike: head-first with so many heads shows in the access times, if at all. */
static int tell_equal(struct cycles *c, const struct geo_item *item, uint64_t before, bool *ret_told, struct err *err)
{
	int r = 0;

	for (uint64_t heads = 2; heads <= 12 && item->tracks > 6 * heads && r == 0 && !*ret_told; heads++) {
		bool ok = false;

		equal_cycle(c, item, before, heads);
		r = test_heads(c, heads, 3.0, &ok, err);
		for (int k = 0; k < 2 && r == 0 && ok; k++) /* another number of heads would pass by luck only */
			r = test_heads(c, heads, 3.0, &ok, err);
		if (r < 0 || !ok || geo_is_over(c->g))
			continue;
		tell(c->g, heads, "head-first", "fairly sure: only the access times show it, all tracks look alike");
		*ret_told = true;
	}
	return r;
}

/* The share of the disk that is in zones with cycles of so many tracks. */
static double share_alike(const struct geo_walk *w, const struct geo_zone *zone, size_t n, uint64_t in_cycle)
{
	double all = 1.0, alike = 0.0;

	for (size_t i = 0; i < n; i++) {
		const struct geo_item *best = &w->items[zone[i].best];
		double tracks = 0.0;

		for (size_t k = zone[i].first_item; k < zone[i].end_item; k++)
			tracks += (double)w->items[k].tracks;
		all += tracks;
		if (best->nruns > 1 && best->tracks == in_cycle * best->times)
			alike += tracks;
	}
	return alike / all;
}

int geo_layout(const struct geo_walk *w, const struct geo_zone *zone, size_t n, struct err *err)
{
	struct cycles *c = calloc(1, sizeof(*c));
	double alike;
	bool told = false;
	int r = 0;

	if (!c)
		return err_set(err, -ENOMEM, "Out of memory.");
	c->g = w->g;
	if (choose(w, zone, n, c)) {
		alike = share_alike(w, zone, n, c->tracks);
		r = tell_bands(c, &told, err);
		if (r == 0 && !told && !w->unclear && alike > 0.8)
			r = tell_heads(c, &told, err);
	} else {
		const struct geo_zone *z = plainest(w, zone, n);

		if (z)
			r = tell_equal(c, &w->items[z->best], tracks_before(w, z), &told, err);
	}
	if (r == 0 && !told)
		result_notice(w->g->ses->res, "layout-unknown",
		              "The number of surfaces and the layout could not be told: %s.",
		              c->tracks
		                      ? "sizes and skews repeat, but the access times fit no layout that is known here"
		                      : "sizes and skews of tracks do not repeat in a way that shows them");
	free(c);
	return r;
}
