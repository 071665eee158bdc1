/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast each surface is really read: whole tracks of it, at the start, in the middle and at the end of what is
 * known, in turn with those of the others, so that a busy host does to all what it does to one. A track is read in a
 * few pieces behind its first sector, whose end is where time is taken from; so neither the way there nor the change to
 * another track is in it. Its last sector passes when the track's angle says, or whole revolutions later: what the
 * drive needs for each piece of each track is the same for all surfaces and not counted; what is more was lost on this
 * track, by retries or because a sector lies elsewhere. The places of those are looked at again (slow.c).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "measure/geometry/tell.h"

#define SPOTS 3
#define PER_SPOT \
	40 /* tracks of each surface: the share of them that loses a revolution is known to some percent then */
#define WINDOW     40000 /* tracks about a spot: bands of all surfaces are among them */
#define ZONE_LEAST 200   /* tracks */
#define TRIES      400   /* until one of the surface is met there */
#define PIECES                                                                                                 \
	4 /* of a track at least: where a revolution was lost, and requests not much larger than programs' own \
	   */
#define EARLY                                                                                                         \
	0.03 /* of a revolution: by so much an answer may come before its time, as that of the first sector was late, \
	      */
#define LATE      0.3  /* and after it, as the answer of a piece waits for the host's next one */
#define USUAL     0.6  /* of the tracks need as many revolutions, or nothing is told */
#define FEWEST    8    /* tracks of a surface */
#define CHANCE    1e-4 /* that a surface is called slow by chance, all of them together */
#define LATE_MOST 5    /* tracks, at least, that have lost revolutions there */

const struct field geo_rate_fields[] = {
	FIELD_U64(struct geo_rate_row, surface, UNIT_COUNT, "surface"),
	FIELD_U64(struct geo_rate_row, first_byte, UNIT_BYTES, "from byte"),
	FIELD_U64(struct geo_rate_row, tracks, UNIT_COUNT, "tracks read"),
	FIELD_U64(struct geo_rate_row, late, UNIT_COUNT, "that lost revolutions"),
	FIELD_F64(struct geo_rate_row, read_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_F64(struct geo_rate_row, low_bytes_per_s, UNIT_BYTES_PER_S, "at least", .detail = true),
	FIELD_F64(struct geo_rate_row, high_bytes_per_s, UNIT_BYTES_PER_S, "at most", .detail = true),
	FIELD_END,
};

/* A track that was read. */
struct pass {
	uint64_t first, sectors;
	uint32_t head, spot;
	int64_t turns[GEO_PIECES_MOST]; /* whole revolutions up to the end of each piece, beyond what passes in them */
	size_t pieces;
};

struct part {
	uint64_t first, tracks, late;
	double bytes, turns, lost;
};

struct reader {
	const struct geo_map *m;
	struct geo *g;
	struct pass *pass;
	size_t n, room;
	size_t hits, blurred;
	uint64_t until_ns;
	bool *is_known; /* of each zone: which surface a track is on */
	struct part cell[GEO_HEADS][SPOTS];
	int64_t usual; /* revolutions that reading a track takes beyond one */
};

/*
 * Is it certain which surface a track of that zone is on? Where the edges of a zone are in doubt, too, if its sizes
 * come in an order that no other beginning, and no turn the other way, makes the same: a track of the size that its
 * surface has is where the layout says.
 */
static bool are_sizes_telling(const struct geo_fit_zone *z, uint32_t heads)
{
	for (uint32_t by = 0; by < 2 * heads; by++) { /* the second half: backwards */
		bool is_alike = by != 0;

		for (uint32_t k = 0; k < heads; k++)
			is_alike =
				is_alike &&
				z->size[k] == z->size[by < heads ? (k + by) % heads : (2 * heads - 1 - k + by) % heads];
		if (is_alike || z->size[by % heads] == 0)
			return false;
	}
	return true;
}

/* How unlike the first zone's surfaces are those of this one, were they counted from another one on, or backwards:
 * sectors, on the average. NaN: too few are known. */
static double unlike(const struct geo_fit_zone *first, const struct geo_fit_zone *z, uint32_t heads, uint32_t by)
{
	double a[GEO_HEADS], b[GEO_HEADS], sum_a = 0.0, sum_b = 0.0, off = 0.0;
	size_t n = 0;

	for (uint32_t k = 0; k < heads; k++) {
		uint64_t size = z->size[by < heads ? (k + by) % heads : (2 * heads - 1 - k + by) % heads];

		if (!size || !first->size[k])
			continue;
		sum_a += a[n] = (double)first->size[k];
		sum_b += b[n++] = (double)size;
	}
	for (size_t i = 0; i < n; i++)
		off += fabs(b[i] - a[i] * sum_b / sum_a);
	return n < 2 ? (double)NAN : off / (double)n;
}

/*
 * Is the first surface of this zone the first one of the disk? Surfaces keep their densities; where the order of tracks
 * was lost on the way, the zone behind it begins with any of them, or goes through them backwards.
 */
static bool is_numbered(const struct geo_fit_zone *first, const struct geo_fit_zone *z, uint32_t heads)
{
	double own = unlike(first, z, heads, 0);

	for (uint32_t by = 1; by < 2 * heads; by++)
		if (!(unlike(first, z, heads, by) > own))
			return false;
	return true;
}

static void find_known(struct reader *q, uint32_t heads)
{
	const struct geo_fit_zone *zone = q->m->layout->fit->zone;

	for (size_t i = 0; i < q->m->layout->fit->n; i++)
		q->is_known[i] = q->m->is_sure[i] ||
		                 (q->m->is_as_told && (heads == 1 || (are_sizes_telling(&zone[i], heads) &&
		                                                      is_numbered(&zone[0], &zone[i], heads))));
}

/* Whole and undisturbed, of that surface? */
static bool is_good(struct reader *q, const struct geo_fit_zone *z, uint64_t track, uint32_t head)
{
	struct geo_order *o = q->m->o;
	const struct geo_seg *seg = geo_order_at(o, track);
	size_t i = (size_t)(seg - o->seg);

	return q->m->head[track] == head && !seg->is_odd && !seg->has_gap && i + 1 < o->n &&
	       seg->size == z->size[head] && (seg->tracks > 1 || o->seg[i + 1].first - seg->first == seg->size);
}

/* The zone that is known and nearest to the spot; NULL: there is none. */
static const struct geo_fit_zone *zone_at(const struct reader *q, uint32_t spot)
{
	const struct geo_fit *fit = q->m->layout->fit;
	uint64_t track = q->m->o->tracks * spot / (SPOTS - 1), least = UINT64_MAX;
	const struct geo_fit_zone *best = NULL;

	for (size_t i = 0; i < fit->n; i++) {
		const struct geo_fit_zone *z = &fit->zone[i];
		uint64_t end = z->track + z->tracks, off = track < z->track ? z->track - track : 0;

		off = track > end ? track - end : off;
		if (!q->is_known[i] || z->tracks < ZONE_LEAST || off >= least)
			continue;
		least = off;
		best = z;
	}
	return best;
}

/* A track of that surface near the spot, and in one zone, at random; false: none was met. */
static bool choose(struct reader *q, uint32_t head, uint32_t spot, struct pass *ret)
{
	const struct geo_fit_zone *z = zone_at(q, spot);
	uint64_t width = z && z->tracks < WINDOW ? z->tracks : WINDOW, from;

	if (!z)
		return false;
	from = spot == 0 ? z->track : z->track + (z->tracks - width) / (spot == SPOTS - 1 ? 1 : 2);
	for (int i = 0; i < TRIES; i++) {
		uint64_t track = from + rng_below(&q->g->t.rng, width);

		if (track >= q->m->o->tracks || !is_good(q, z, track, head) || z->size[head] < 2 * PIECES)
			continue;
		*ret = (struct pass){
			.first = geo_order_first(q->m->o, track), .sectors = z->size[head], .head = head, .spot = spot
		};
		return true;
	}
	return false;
}

/* Whole revolutions up to the end of each piece; false: an answer was the cache's, or is not where the angle says. */
static bool count_turns(const struct geo *g, struct pass *p, const uint64_t *end, const uint64_t *done_ns)
{
	for (size_t i = 0; i < p->pieces; i++) {
		double passed = (double)(end[i] - p->first - 1) / (double)(p->sectors + g->spare);
		double more = geo_turns(g, done_ns[i + 1]) - geo_turns(g, done_ns[0]) - passed;

		p->turns[i] = (int64_t)floor(more + EARLY);
		if (p->turns[i] < 0 || (i + 1 == p->pieces && more - (double)p->turns[i] > LATE))
			return false;
	}
	return true;
}

static int read_track(struct reader *q, struct pass *p, struct err *err)
{
	uint64_t most = q->g->t.eng->cfg.buf_bytes / q->g->t.block_bytes, end[GEO_PIECES_MOST],
		 done[GEO_PIECES_MOST + 1] = { 0 };
	bool is_read;
	int r;

	p->pieces = p->sectors / most + 1 > PIECES ? (size_t)(p->sectors / most + 1) : PIECES;
	if (p->pieces > GEO_PIECES_MOST)
		return 0;
	for (size_t i = 0; i < p->pieces; i++)
		end[i] = p->first + 1 + (p->sectors - 1) * (i + 1) / p->pieces;
	r = geo_read_pieces(q->g, p->first, end, p->pieces, done, &is_read, err);
	if (r < 0)
		return r;
	if (!is_read)
		q->hits++;
	else if (!count_turns(q->g, p, end, done))
		q->blurred++;
	else
		q->pass[q->n++] = *p;
	return 0;
}

static bool is_over(const struct reader *q)
{
	return q->n == q->room || geo_is_share_over(q->g, q->until_ns);
}

/* Spot by spot, as the way between them is long, and the surfaces in turn; shorter rounds first, so that a spot that
 * comes last has its share. */
static int read_all(struct reader *q, uint32_t heads, struct err *err)
{
	uint64_t start = session_answered_ns(q->g->ses), share = (q->until_ns - start) / SPOTS;
	int r = 0;

	for (uint32_t spot = 0; spot < SPOTS && r == 0; spot++) {
		session_progress(q->g->ses, "rates of surfaces", geo_done(q->g, 0.97), "%zu tracks", q->n);
		for (int k = 0; k < PER_SPOT && r == 0; k++)
			for (uint32_t h = 0; h < heads && r == 0 && !is_over(q); h++) {
				struct pass p;

				if (session_answered_ns(q->g->ses) < start + (spot + 1) * share &&
				    choose(q, h, spot, &p))
					r = read_track(q, &p, err);
			}
	}
	return r;
}

static int64_t turns_of(const struct pass *p)
{
	return p->turns[p->pieces - 1];
}

/* What most of the tracks need; false: no such number. */
static bool find_usual(struct reader *q)
{
	size_t best = 0;

	for (size_t i = 0; i < q->n; i++) {
		size_t alike = 0;

		for (size_t k = 0; k < q->n; k++)
			alike += turns_of(&q->pass[k]) == turns_of(&q->pass[i]);
		if (alike > best) {
			best = alike;
			q->usual = turns_of(&q->pass[i]);
		}
	}
	return (double)best >= USUAL * (double)q->n && (double)q->n > USUAL * (double)(q->n + q->blurred);
}

static void add_up(struct reader *q)
{
	for (size_t i = 0; i < q->n; i++) {
		const struct pass *p = &q->pass[i];
		struct part *c = &q->cell[p->head][p->spot];
		int64_t lost = turns_of(p) > q->usual ? turns_of(p) - q->usual : 0;

		c->first = c->tracks && c->first < p->first ? c->first : p->first;
		c->tracks++;
		c->late += lost > 0;
		c->lost += (double)lost;
		c->bytes += (double)(p->sectors - 1) * q->g->t.block_bytes;
		c->turns += (double)(p->sectors - 1) / (double)(p->sectors + q->g->spare);
	}
}

static struct part sum_of(const struct reader *q, uint32_t head)
{
	struct part all = { .tracks = 0 };

	for (uint32_t k = 0; k < SPOTS; k++) {
		all.tracks += q->cell[head][k].tracks;
		all.late += q->cell[head][k].late;
		all.lost += q->cell[head][k].lost;
	}
	return all;
}

/* The interval is that of the share of the surface's tracks that lose revolutions, wherever they were read. */
static void tell_rates(struct reader *q, uint32_t heads)
{
	struct table *t =
		result_table(q->g->ses->res, "rates", "Rates of the surfaces as they were read", geo_rate_fields);
	double period, error;

	result_figure(q->g->ses->res, "tracks_read", "tracks read as a whole", UNIT_COUNT, (double)q->n, NULL, 0);
	result_plot(
		q->g->ses->res,
		&(struct plot_decl){
			.name = "rates",
			.see = "Each line is a surface, and falls towards the end of the disk as tracks get shorter; one that is far below the others loses revolutions, and its head may be going.",
			.kind = "line",
			.title = "Rates of the surfaces as they were read",
			.table = "rates",
			.x = "first_byte",
			.y = "read_bytes_per_s",
			.series = "surface" });
	period = geo_spindle_period(q->g, &error);
	for (uint32_t h = 0; h < heads; h++) {
		const struct part all = sum_of(q, h);
		const struct interval share = stats_share_ci(all.late, all.tracks);
		double each = all.late ? all.lost / (double)all.late : 1.0;

		for (uint32_t k = 0; k < SPOTS && all.tracks >= FEWEST; k++) {
			const struct part *c = &q->cell[h][k];
			double n = (double)c->tracks, unit = c->bytes * 1e9 / period;

			if (c->tracks)
				result_row(t, &(struct geo_rate_row){
						      .surface = h,
						      .first_byte = c->first * q->g->t.block_bytes,
						      .tracks = c->tracks,
						      .late = c->late,
						      .read_bytes_per_s = unit / (c->turns + c->lost),
						      .low_bytes_per_s = (1.0 - error) *
				                                         fmin(unit / (c->turns + share.high * n * each),
				                                              unit / (c->turns + c->lost)),
						      .high_bytes_per_s = (1.0 + error) *
				                                          fmax(unit / (c->turns + share.low * n * each),
				                                               unit / (c->turns + c->lost)) });
		}
	}
}

/* A surface of which more tracks lose revolutions than chance and the host explain, as they were read in turn with all
 * others. */
static void tell_slow_ones(struct reader *q, uint32_t heads)
{
	struct part all = { .tracks = 0 };

	for (uint32_t h = 0; h < heads; h++) {
		struct part one = sum_of(q, h);

		all.tracks += one.tracks;
		all.late += one.late;
	}
	for (uint32_t h = 0; h < heads && heads > 1; h++) {
		const struct part one = sum_of(q, h);
		const struct interval rest = stats_share_ci(all.late - one.late, all.tracks - one.tracks);

		if (one.late < LATE_MOST || !(rest.high < 1.0) || (double)one.late <= rest.high * (double)one.tracks ||
		    1.0 - stats_binomial_cdf(one.late - 1, one.tracks, rest.high) > CHANCE / heads)
			continue;
		result_notice(
			q->g->ses->res, "slow-surface",
			"Of surface %u %.0f in 100 tracks lost revolutions when they were read, of the others %.1f: its head or its side of the disk is worse than the others. Copy what is worth it, and look at it with platter surface --geometry.",
			h, 100.0 * (double)one.late / (double)one.tracks,
			100.0 * (double)(all.late - one.late) / (double)(all.tracks - one.tracks));
	}
}

/* Where each of the late tracks has lost its revolutions: its piece. */
static int look_again(struct reader *q, struct err *err)
{
	cleanup_free struct geo_late *late = calloc(q->n + 1, sizeof(*late));
	size_t n = 0;

	if (!late)
		return err_set(err, -ENOMEM, "Out of memory.");
	for (size_t i = 0; i < q->n; i++) {
		const struct pass *p = &q->pass[i];
		size_t best = 0;
		int64_t most = 0;

		if (!p->pieces || turns_of(p) <= q->usual)
			continue;
		for (size_t k = 0; k < p->pieces; k++) {
			int64_t step = p->turns[k] - (k ? p->turns[k - 1] : 0);

			best = step > most ? k : best;
			most = step > most ? step : most;
		}
		late[n++] = (struct geo_late){ .track = p->first,
			                       .sectors = p->sectors,
			                       .head = p->head,
			                       .from = p->first + 1 + (p->sectors - 1) * best / p->pieces,
			                       .end = p->first + 1 + (p->sectors - 1) * (best + 1) / p->pieces };
	}
	return geo_look_at_late(q->g, late, n, err);
}

/* Do all surfaces hold as many sectors, in the largest zone? */
static bool are_surfaces_alike(const struct geo_fit *fit, uint32_t heads)
{
	const struct geo_fit_zone *z = &fit->zone[0];

	for (size_t i = 1; i < fit->n; i++)
		if (fit->zone[i].tracks > z->tracks)
			z = &fit->zone[i];
	for (uint32_t k = 1; k < heads; k++)
		if (z->size[k] != z->size[0])
			return false;
	return true;
}

static void say_why_not(const struct reader *q, uint32_t heads)
{
	struct result *res = q->g->ses->res;

	if (!zone_at(q, 0)) {
		result_notice(
			res, "no-rates",
			"How fast each surface is was not measured, as it is not certain which of them a track is on: %s.",
			are_surfaces_alike(q->m->layout->fit, heads)
				? "all of them hold as many sectors, so that only the begin of a zone could say it, and where zones begin is unclear"
				: "where zones begin is unclear");
		return;
	}
	result_notice(
		res, "no-rates",
		"Of %zu tracks that were read as a whole too few took a whole number of revolutions, so how fast each surface is was not measured: %s.",
		q->n + q->blurred + q->hits,
		q->hits > q->n + q->blurred
			? "the drive's cache had most of them"
			: "the way to the drive is slower than its surfaces, or it does not read on by itself");
}

int geo_read_rates(const struct geo_map *m, struct err *err)
{
	uint32_t heads = m->layout->shape.heads;
	struct geo *g = m->w->g;
	struct reader q = { .m = m, .g = g, .room = (size_t)heads * SPOTS * PER_SPOT };
	int r;

	q.until_ns = geo_share_end_ns(g, GEO_RATES_PART);
	q.pass = calloc(q.room, sizeof(*q.pass));
	q.is_known = calloc(m->layout->fit->n, sizeof(*q.is_known));
	if (!q.pass || !q.is_known) {
		free(q.pass);
		free(q.is_known);
		return err_set(err, -ENOMEM, "Out of memory.");
	}
	find_known(&q, heads);
	r = read_all(&q, heads, err);
	if (r == 0 && q.n >= FEWEST && find_usual(&q)) {
		add_up(&q);
		tell_rates(&q, heads);
		tell_slow_ones(&q, heads);
		r = look_again(&q, err);
	} else if (r == 0) {
		say_why_not(&q, heads);
	}
	free(q.pass);
	free(q.is_known);
	return r;
}
