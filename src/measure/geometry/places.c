/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A quick look at three places, the start, the middle and the end of the disk: some tracks of each, and what they have
 * in common. */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "measure/geometry/walk.h"

#define PLACE_TRACKS 5  /* looked at in each place */
#define PLACE_MOST   16 /* where no two of those are equal, as each of several surfaces may have tracks of its own */
#define RATE_BYTES \
	(16ull << 20) /* its rate shows sectors per track to within the factor of four that geo_spacing takes */

struct track_row {
	uint64_t first_byte, last_byte, sectors, sectors_per_track, missing;
	double skew_ratio;
	const char *place;
};

const struct field geo_track_fields[] = {
	FIELD_U64(struct track_row, first_byte, UNIT_BYTES, "first byte"),
	FIELD_U64(struct track_row, last_byte, UNIT_BYTES, "last byte"),
	FIELD_U64(struct track_row, sectors, UNIT_COUNT, "sectors with data"),
	FIELD_U64(struct track_row, sectors_per_track, UNIT_COUNT, "sectors per track"),
	FIELD_U64(struct track_row, missing, UNIT_COUNT, "missing", .detail = true),
	FIELD_F64(struct track_row, skew_ratio, UNIT_RATIO, "skew"),
	FIELD_STR(struct track_row, place, "place"),
	FIELD_END,
};

static void track_rows(struct geo *g, const struct geo_track *track, size_t n, const char *place)
{
	struct table *t = result_table(g->ses->res, "tracks", "Tracks that were looked at", geo_track_fields);
	uint64_t sector = g->t.block_bytes;

	for (size_t i = 0; i < n; i++) {
		struct track_row row = {
			.first_byte = track[i].first * sector,
			.last_byte = (track[i].first + track[i].sectors) * sector - 1,
			.sectors = track[i].sectors,
			.sectors_per_track = track[i].per_track,
			.missing = track[i].missing,
			.skew_ratio = track[i].skew,
			.place = place,
		};

		if (track[i].is_doubtful) { /* its ends were not there again: not reported */
			row.sectors = row.sectors_per_track = row.missing = UINT64_MAX;
			row.skew_ratio = NAN;
		}

		result_row(t, &row);
	}
	g->cost.tracks_seen += n;
}

struct place {
	const char *name, *figure, *label;
	double at;
};

static const struct place places[] = {
	{ "start", "start_sectors_per_track", "sectors per track at the start", 0.0 },
	{ "middle", "middle_sectors_per_track", "sectors per track in the middle", 0.5 },
	{ "end", "end_sectors_per_track", "sectors per track at the end", 1.0 },
};

struct skews {
	double v[3 * GEO_JUMPS];
	size_t n;
};

/* Of the tracks there the size that most of them have; how many that are, and between which sizes all of them lie. 0:
 * there is none that others bear out: one track alone may be a piece between ends that are none, and where noise hides
 * ends, so may several if no two of them are equal; and where most ends are not there again, the others are chance, or
 * of stripes in which several arms share the addresses. */
static uint64_t usual_size(const struct geo *g, const struct geo_track *track, size_t n, size_t *ret_votes,
                           struct interval *ret_all)
{
	size_t least = geo_near(g) > GEO_NOISY ? 2 : 1;
	uint64_t best = 0;
	size_t all = 0, alike = 0;

	*ret_votes = 0;
	*ret_all = (struct interval){ INFINITY, -INFINITY };
	for (size_t i = 0; i < n; i++) {
		size_t votes = 0;

		if (track[i].is_doubtful)
			continue;
		for (size_t k = 0; k < n; k++)
			votes += !track[k].is_doubtful && track[k].per_track == track[i].per_track;
		ret_all->low = fmin(ret_all->low, (double)track[i].per_track);
		ret_all->high = fmax(ret_all->high, (double)track[i].per_track);
		if (votes > *ret_votes) {
			*ret_votes = votes;
			best = track[i].per_track;
		}
	}
	for (size_t i = 0; i < n; i++) {
		all += !track[i].is_doubtful;
		alike += !track[i].is_doubtful && (double)track[i].per_track >= GEO_MOST * (double)best &&
		         (double)best >= GEO_MOST * (double)track[i].per_track;
	}
	return *ret_votes >= least && alike >= GEO_TWICE && alike * 2 > all && all * PLACE_TRACKS >= n * GEO_TWICE
	               ? best
	               : 0;
}

/* Where the rate of a place is taken: not in it, as the cache would answer for all of it afterwards. */
static uint64_t beside(const struct geo *g, uint64_t sector)
{
	uint64_t size = g->t.target->size_bytes, apart = size / 16 < GEO_BESIDE_BYTES ? size / 16 : GEO_BESIDE_BYTES;
	uint64_t place = sector * g->t.block_bytes;

	if (place < size / 4 * 3)
		place += apart;
	else
		place = place > apart + RATE_BYTES ? place - apart - RATE_BYTES : 0;
	return place - place % g->t.block_bytes;
}

int geo_place_spacing(struct geo *g, uint64_t sector, double *ret_per_track, struct err *err)
{
	double rate;
	int r = timed_rate(&g->t, beside(g, sector), RATE_BYTES, &rate, err);

	*ret_per_track = NAN;
	if (r < 0 || !isfinite(rate) || geo_is_over(g))
		return r;
	return geo_spacing(g, sector, rate * g->rot.period_ns * 1e-9 / g->t.block_bytes, ret_per_track, err);
}

static void judge(const struct geo *g, struct geo_edge *e, double jump)
{
	if (isnan(jump))
		return;
	/* First of all: what was taken for a jump once, by an answer that was late, may be as near to none as to
	 * itself. */
	if (geo_apart(jump, 0.0) < geo_near(g))
		e->is_unsure = true;
	else if (geo_apart(jump, e->jump) >= geo_near(g))
		e->jump = jump;
}

/* Looks at both sides of each edge once more; how many are not edges. Those are unsure from then on. */
static int confirm(struct geo *g, struct geo_edge *edge, size_t n, size_t *ret_wrong, struct err *err)
{
	uint64_t first[GEO_JUMPS];
	double spacing[GEO_JUMPS], jump[GEO_JUMPS];
	size_t from = n && isnan(edge[0].jump); /* the begin of the disk or of the walk is not an edge that was found */
	int r = 0;

	*ret_wrong = 0;
	for (size_t at = from; at < n && r == 0; at += GEO_JUMPS) {
		size_t m = n - at < GEO_JUMPS ? n - at : GEO_JUMPS;

		for (size_t i = 0; i < m; i++) {
			first[i] = edge[at + i].first;
			spacing[i] = edge[at + i].after;
		}
		r = geo_read_jumps(g, first, spacing, m, jump, err);
		for (size_t i = 0; i < m && r == 0; i++)
			judge(g, &edge[at + i], jump[i]);
	}
	for (size_t i = from; i < n; i++)
		*ret_wrong += edge[i].is_unsure;
	return r;
}

static int survey_place(struct geo *g, double at, double per_track, unsigned tracks, struct geo_edge *edge,
                        size_t *ret_n, struct err *err)
{
	uint64_t from = (uint64_t)(at * (double)g->sectors), span = (uint64_t)(per_track * (tracks + 1.5));
	size_t wrong = 1, n, head;
	int r = 0;

	span = span < g->sectors ? span : g->sectors;
	from = from + span > g->sectors ? g->sectors - span : from;
	head = from == 0 && g->ses->devs[0].kind == DEVICE_DISK; /* the first sector begins a track */
	for (int k = 0; k < GEO_TRIES && wrong && r == 0; k++) {
		if (k)
			geo_forget(g);
		edge[0] = (struct geo_edge){ .jump = NAN, .before = NAN, .after = 1.0 / per_track };
		r = geo_survey(g, from, span, per_track, edge + head, GEO_JUMPS - 1, &n, err);
		*ret_n = n + head;
		if (r == 0 && n && head)
			edge[0].after = edge[1].before;
		/* Else one more answer that is late would bear out one that was. */
		if (geo_near(g) > GEO_NOISY)
			geo_forget(g);
		if (r == 0)
			r = confirm(g, edge, *ret_n, &wrong, err);
	}
	return r;
}

/* ---- sectors that nobody can address ---- */

/* Sectors that a track has and nobody can address: spares at its end. Seen from the ends of tracks alone they belong
 * to the skew. But the sectors that can be read are only as wide as their track has room for: over n of them the angle
 * grows by n parts of a whole track. One pair of sectors says that as well as noise lets it; many pairs of several
 * tracks together say it to a fraction of a sector. */

#define REACH   0.25 /* of it: no pair is closer together than half of a track, where it says little */
#define FEWEST  10   /* pairs */
#define LARGEST 256  /* sectors of a track: larger ones, which later drives have, spare nothing in each */

struct spare {
	double more, error; /* sectors that nobody can address, and a standard error; infinite: not looked at, as noise
	                       does not hide them */
	uint64_t sectors, most; /* the nearest whole number; there may be that many */
	bool is_sure;
};

struct pair {
	uint64_t low, high;
};

/* Of each track in turn, from its ends inwards, and not so near to them that an angle may stray over a whole turn. */
static size_t choose(const struct geo_track *track, size_t n, uint64_t size, struct pair *ret)
{
	uint64_t first = (uint64_t)(GEO_SKEW * (double)size), room = (uint64_t)(REACH * (double)size) - first, step;
	size_t usual = 0, m = 0, each;

	for (size_t i = 0; i < n; i++) {
		if (track[i].sectors != size || track[i].per_track != size || track[i].is_doubtful)
			continue;
		if (track[i].is_sure) /* the spacing alone shows it already */
			return 0;
		usual++;
	}
	each = usual ? GEO_JUMPS / usual : 0;
	step = each && room > each ? room / each : 1;
	for (size_t i = 0; i < n; i++) {
		if (track[i].sectors != size || track[i].per_track != size || track[i].is_doubtful)
			continue;
		for (uint64_t k = 0; k < each && k * step < room; k++)
			ret[m++] = (struct pair){ track[i].first + first + k * step,
				                  track[i].first + size - 1 - first - k * step };
	}
	return m;
}

static double angle_of(const uint64_t *sector, const double *angle, size_t n, uint64_t wanted)
{
	for (size_t i = 0; i < n; i++)
		if (sector[i] == wanted)
			return angle[i];
	return NAN;
}

/* Will it show them, by the noise of the rotation, which is of what is best? Else the reads are better spent on the
 * walk, as where the cache has to forget all behind each few of them. */
static bool is_worth_it(const struct geo *g, uint64_t size, size_t pairs)
{
	return size <= LARGEST && !(geo_kept_has_below(&g->kept) && geo_flush_cost(g) > GEO_VERY_DEAR) &&
	       GEO_MEDIAN_LOSS * g->rot.noise_ns / g->rot.period_ns * (double)size / sqrt((double)pairs) * 2.0 *
	                       GEO_BEYOND <
	               1.0;
}

/* Of the tracks of that size, which show no missing sectors. */
static int find_spare(struct geo *g, const struct geo_track *track, size_t n, uint64_t size, struct spare *ret,
                      struct err *err)
{
	struct pair pair[GEO_JUMPS]; /* of one batch, as each time that a track is read again takes reads elsewhere
	                                before */
	uint64_t sector[GEO_BATCH];
	double angle[GEO_BATCH], more[GEO_JUMPS];
	size_t m = choose(track, n, size, pair), seen = 0;
	struct summary s;
	int r;

	*ret = (struct spare){ .error = INFINITY };
	if (m < FEWEST || !is_worth_it(g, size, m))
		return 0;
	for (size_t i = 0; i < m; i++) {
		sector[2 * i] = pair[i].low;
		sector[2 * i + 1] = pair[i].high;
	}
	qsort(sector, 2 * m, sizeof(sector[0]), geo_down);
	r = geo_probe(g, sector, angle, 2 * m, err);
	for (size_t i = 0; i < m && r == 0; i++) {
		double turn = geo_frac(angle_of(sector, angle, 2 * m, pair[i].high) -
		                       angle_of(sector, angle, 2 * m, pair[i].low));

		if (turn > REACH)
			more[seen++] = (double)(pair[i].high - pair[i].low) / turn - (double)size;
	}
	geo_forget(g); /* one of that many is late, now and then, and what comes next would stand on it */
	if (r < 0 || seen < FEWEST || !summary_of(more, seen, &s))
		return r;
	ret->more = s.median;
	ret->error = summary_median_error(&s);
	ret->sectors = (uint64_t)fmax(0.0, round(s.median));
	/* The whole number behind the nearest does not fit. */
	ret->is_sure = fabs(s.median - (double)ret->sectors) + GEO_BEYOND * ret->error < 1.0;
	ret->most = (uint64_t)fmax(0.0, round(s.median + GEO_BEYOND * ret->error));
	return 0;
}

/* They are counted with its skew up to now. */
static void add_spare(struct geo_track *track, uint64_t sectors)
{
	track->per_track += sectors;
	track->missing += sectors;
	track->skew = geo_frac(track->skew - (double)sectors / (double)track->per_track);
}

/* What all places have in common; where it is not known, none is assumed as long as nothing speaks against that. */
static void note_spare(struct geo *g, const struct spare *spare, size_t n)
{
	for (size_t i = 0; i < n; i++)
		g->spare = spare[i].is_sure ? spare[i].sectors : g->spare;
	for (size_t i = 0; i < n; i++)
		g->is_spare_unsure = g->is_spare_unsure || (spare[i].is_sure && spare[i].sectors != g->spare) ||
		                     fabs(spare[i].more - (double)g->spare) > 0.5 + GEO_BEYOND * spare[i].error;
}

/* What was found at a place. */
struct found {
	struct geo_track track[GEO_JUMPS];
	size_t n, votes;
	struct interval all;
	uint64_t size; /* of most of them; 0: not known */
};

/* Some tracks, and more if no two of those are equal. */
static int find_tracks(struct geo *g, double at, double per_track, struct found *f, struct err *err)
{
	static const unsigned tracks[] = { PLACE_TRACKS, PLACE_MOST };
	struct geo_edge edge[GEO_JUMPS];
	int r = 0;

	f->size = 0;
	f->votes = 0;
	for (size_t i = 0; i < ARRAY_LEN(tracks) && f->size == 0 && f->votes <= 1 && r == 0 && !geo_is_over(g); i++) {
		r = survey_place(g, at, per_track, tracks[i], edge, &f->n, err);
		f->n = geo_tracks(g, edge, f->n, f->track);
		f->size = usual_size(g, f->track, f->n, &f->votes, &f->all);
	}
	if ((double)f->size < 0.5 * per_track ||
	    (double)f->size > 2.0 * per_track) /* pieces between ends that are none */
		f->size = 0;
	return r;
}

/* The same, with more looks at each sector where ends do not stand out of the noise; a quick run leaves it at that. */
static int look_closer(struct geo *g, double at, struct found *f, struct err *err)
{
	double per_track;
	int r = geo_place_spacing(g, (uint64_t)(at * (double)g->sectors), &per_track, err);

	if (r < 0 || !isfinite(per_track))
		return r;
	r = find_tracks(g, at, per_track, f, err);
	while (r == 0 && !f->size && !g->p->quick && !geo_is_over(g) && geo_look_more(g))
		r = find_tracks(g, at, per_track, f, err);
	return r;
}

/* Were the ends of most tracks there again? Of several looks one shows some that are by chance. */
static bool are_most_borne_out(const struct found *f)
{
	size_t doubtful = 0;

	for (size_t i = 0; i < f->n; i++)
		doubtful += f->track[i].is_doubtful;
	return (double)(f->n - doubtful) >= GEO_MOST * (double)f->n;
}

/* again: it was looked at before. is_last: what was found is listed, also if it is not borne out. */
static int look_at(struct geo *g, const struct place *p, bool again, bool is_last, struct spare *spare,
                   struct skews *skews, struct err *err)
{
	struct found f = { .all = { NAN, NAN } };
	unsigned looks = g->looks;
	int r = look_closer(g, p->at, &f, err);

	if (r < 0 || geo_is_over(g)) /* ends that were not looked at again may be none */
		return r;
	if (again && !are_most_borne_out(&f))
		f.size = 0;
	if (f.size)
		r = find_spare(g, f.track, f.n, f.size, spare, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < f.n && spare->is_sure && spare->sectors; i++)
		add_spare(&f.track[i], spare->sectors);
	if (f.size && spare->is_sure)
		f.size = usual_size(g, f.track, f.n, &f.votes, &f.all);
	else
		f.all.high += (double)spare->most;
	if (f.size)
		result_figure(g->ses->res, p->figure, p->label, UNIT_COUNT, (double)f.size, &f.all, f.votes);
	for (size_t i = 0; i < f.n && (f.size || is_last); i++)
		if (isfinite(f.track[i].skew) && !f.track[i].is_doubtful)
			skews->v[skews->n++] = f.track[i].skew;
	if (f.size || is_last)
		track_rows(g, f.track, f.n, p->name);
	/* The walk, which begins at the start, needs as many as that did. */
	if (g->looks != looks && (p->at > 0.0 || !f.size)) {
		geo_set_looks(g, looks);
		geo_forget(g);
	}
	session_checkpoint(g->ses);
	return 0;
}

static bool is_known(const struct geo *g, const struct place *p)
{
	return isfinite(figure_number(result_find_figure(g->ses->res, p->figure)));
}

/* Of the skews that are about the middle one, as those to the next cylinder are among those to the next surface. */
static void report_skew(struct geo *g, struct skews *skews)
{
	double middle = stats_median(skews->v, skews->n), near = geo_near(g) + GEO_LIKE_SKEW;
	struct interval ci;
	size_t n = 0;

	for (size_t i = 0; i < skews->n; i++)
		if (geo_apart(skews->v[i], middle) < near)
			skews->v[n++] = skews->v[i];
	stats_sort(skews->v, n);
	ci = stats_quantile_ci_sorted(skews->v, n, 0.5);
	if (!isfinite(ci.low) && n) /* too few for order statistics */
		ci = (struct interval){ skews->v[0], skews->v[n - 1] };
	result_figure(g->ses->res, "skew_ratio", "usual skew from track to track", UNIT_RATIO,
	              stats_median(skews->v, n), &ci, n);
}

int geo_look_at_places(struct geo *g, struct err *err)
{
	struct spare spare[ARRAY_LEN(places)] = { 0 };
	struct skews skews = { .n = 0 };
	int starts = !g->p->quick && geo_near(g) > GEO_NOISY ? GEO_TRIES : 0, r = 0;
	size_t seen = 0;

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		spare[i].error = INFINITY;
		result_figure(g->ses->res, places[i].figure, places[i].label, UNIT_COUNT, NAN, NULL, 0);
	}
	for (; seen < ARRAY_LEN(places) && r == 0 && !geo_is_over(g); seen++) {
		/* All of a quick run, little of a whole one. */
		session_progress(g->ses, places[seen].name,
		                 g->p->quick ? 0.3 + 0.22 * (double)seen : 0.04 * (double)(seen + 1), "%.1f rpm",
		                 60e9 / g->rot.period_ns);
		r = look_at(g, &places[seen], false, seen || !starts, &spare[seen], &skews, err);
	}
	/* Without it there is no walk, and what disturbed the first look may have passed; but ends that no noise hides
	 * are none. */
	for (int k = 1; k <= starts && r == 0 && !geo_is_over(g) && !is_known(g, &places[0]); k++)
		r = look_at(g, &places[0], true, k == starts, &spare[0], &skews, err);
	for (size_t i = 0; i < seen && r == 0; i++)
		if (!is_known(g, &places[i]))
			result_notice(
				g->ses->res, "no-tracks",
				"At the %s too few ends of tracks stood out of the noise, so sectors per track are not known there.",
				places[i].name);
	note_spare(g, spare, ARRAY_LEN(spare));
	report_skew(g, &skews);
	return r;
}
