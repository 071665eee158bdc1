/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A quick look at three places, the start, the middle and the end of the disk: some tracks of each, and what they have
 * in common. */
#include "measure/geometry/walk.h"

#include <math.h>

#include "base/cleanup.h"

#define PLACE_TRACKS 5     /* looked at in each place */
#define PLACE_MOST   16    /* where no two of those are equal, as each of several surfaces may have tracks of its own */
#define ALIKE        0.75  /* of each other: no surfaces of one place hold sectors in a more unlike number */
#define ALIKE_SKEW   0.005 /* of a revolution: so far skews of a kind differ as tracks hold more or less */
#define ALIKE_LEAST  2     /* of five, and that share of more with ends that are there again */
#define EDGES_MAX    64    /* of a place: five tracks with ten gaps each and some to spare, sixteen with some */
#define RATE_BYTES \
	(16ull << 20) /* its rate shows sectors per track to within the factor of four that geo_spacing takes */
#define RATE_BESIDE (64ull << 20) /* so far away: more than drives read ahead */
#define STARTS      4             /* more looks at the start, where none is borne out */
#define AGAIN_MOST  4             /* part of their tracks, at most, may have ends that are not there again */
#define SURVEYS     3             /* of a place, until all edges are there when looked at again */

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
	double v[3 * EDGES_MAX];
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
		alike += !track[i].is_doubtful && (double)track[i].per_track >= ALIKE * (double)best &&
		         (double)best >= ALIKE * (double)track[i].per_track;
	}
	return *ret_votes >= least && alike >= ALIKE_LEAST && alike * 2 > all && all * PLACE_TRACKS >= n * ALIKE_LEAST
	               ? best
	               : 0;
}

/* Where the rate of a place is taken: not in it, as the cache would answer for all of it afterwards. */
static uint64_t beside(const struct geo *g, uint64_t sector)
{
	uint64_t size = g->t.target->size_bytes, apart = size / 16 < RATE_BESIDE ? size / 16 : RATE_BESIDE;
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

static int survey_place(struct geo *g, double at, double per_track, unsigned tracks, struct geo_edge *edge,
                        size_t *ret_n, struct err *err)
{
	uint64_t from = (uint64_t)(at * (double)g->sectors), span = (uint64_t)(per_track * (tracks + 1.5));
	size_t wrong = 1, n, head;
	int r = 0;

	span = span < g->sectors ? span : g->sectors;
	from = from + span > g->sectors ? g->sectors - span : from;
	head = from == 0 && g->ses->devs[0].kind == DEVICE_DISK; /* the first sector begins a track */
	for (int k = 0; k < SURVEYS && wrong && r == 0; k++) {
		if (k)
			geo_forget(g);
		edge[0] = (struct geo_edge){ .jump = NAN, .before = NAN, .after = 1.0 / per_track };
		r = geo_survey(g, from, span, per_track, edge + head, EDGES_MAX - 1, &n, err);
		*ret_n = n + head;
		if (r == 0 && n && head)
			edge[0].after = edge[1].before;
		/* Else one more answer that is late would bear out one that was. */
		if (geo_near(g) > GEO_NOISY)
			geo_forget(g);
		if (r == 0)
			r = geo_confirm(g, edge, *ret_n, &wrong, err);
	}
	return r;
}

/* They are counted with its skew up to now. */
static void add_spare(struct geo_track *track, uint64_t sectors)
{
	track->per_track += sectors;
	track->missing += sectors;
	track->skew = geo_frac(track->skew - (double)sectors / (double)track->per_track);
}

/* What all places have in common; where it is not known, none is assumed as long as nothing speaks against that. */
static void note_spare(struct geo *g, const struct geo_spare *spare, size_t n)
{
	for (size_t i = 0; i < n; i++)
		g->spare = spare[i].is_sure ? spare[i].sectors : g->spare;
	for (size_t i = 0; i < n; i++)
		g->is_spare_unsure = g->is_spare_unsure || (spare[i].is_sure && spare[i].sectors != g->spare) ||
		                     fabs(spare[i].more - (double)g->spare) > 0.5 + 3.0 * spare[i].error;
}

/* What was found at a place. */
struct found {
	struct geo_track track[EDGES_MAX];
	size_t n, votes;
	struct interval all;
	uint64_t size; /* of most of them; 0: not known */
};

/* Some tracks, and more if no two of those are equal. */
static int find_tracks(struct geo *g, double at, double per_track, struct found *f, struct err *err)
{
	static const unsigned tracks[] = { PLACE_TRACKS, PLACE_MOST };
	struct geo_edge edge[EDGES_MAX];
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
	return doubtful * AGAIN_MOST <= f->n;
}

/* again: it was looked at before. is_last: what was found is listed, also if it is not borne out. */
static int look_at(struct geo *g, const struct place *p, bool again, bool is_last, struct geo_spare *spare,
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
		r = geo_spare(g, f.track, f.n, f.size, spare, err);
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
	double middle = stats_median(skews->v, skews->n), near = geo_near(g) + ALIKE_SKEW;
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
	struct geo_spare spare[ARRAY_LEN(places)] = { 0 };
	struct skews skews = { .n = 0 };
	int starts = !g->p->quick && geo_near(g) > GEO_NOISY ? STARTS : 0, r = 0;
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
