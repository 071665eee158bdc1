/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The overhead of a command: an access without any movement, wait and transfer.
 *
 * After a read at P the sector a part f of a track before P comes by after (1 - f) of a revolution, if both lie on one
 * track. As long as that leaves time for the overhead the access takes just so long; else a revolution more. Backwards,
 * as drives read ahead. To come back to where the head is in little more than the overhead, P must lie at the end of a
 * track and its target at the begin.
 *
 * So first the tracks about a place are surveyed (tracks, below). Then their begins are narrowed down: a return by
 * half a track takes half a revolution only within one track. Then come returns aimed about the overhead, each on a
 * fresh track, as the drive's cache holds the old one.
 *
 * A drive may need time to find its place on the track again, and where tracks are unequal there are no returns. So
 * each place first gets reads a little ahead of the head (ahead.c), and in a short run these alone unless they leave it
 * open.
 */
#include <math.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/seek/seek.h"

#define PLACES           5     /* that show it: their disagreement is in the interval (a choice: 2 s of the device) */
#define SURVEY           44    /* reads, over about 16 tracks: one hop in three crosses a begin (a choice) */
#define DENSE            4     /* that many others have to agree with one (a choice) */
#define CONSISTENT       0.85  /* of the survey's pairs that a grid has to explain (5 % of real tracks are slipped) */
#define SURVEY_APART     24.0  /* tracks from what the length was from */
#define SHARP            0.004 /* of a track: its begin need not be known better (a choice) */
#define HOP              0.37  /* of a track, back: two or three reads a track, at changing angles */
#define HOP_BACK         1.7   /* and back to fresh tracks, where each second hop goes ahead */
#define AIMED            16    /* returns of one place about the overhead (a choice: half a second of the device) */
#define READS_ON         8     /* of one place (a choice: 0.2 s of the device) */
#define ON_FIRST         60e3  /* ns: the first sector comes by no sooner; what has passed may be in the cache */
#define SCALE_STEP       1.6   /* longer tracks that are tried, as the rate may be the interface's, up to */
#define SCALE_MOST       8.0
#define BUS_UNKNOWN_MOST (2.0 * SEEK_BLUR_NS) /* of a sector: what the interface takes is known to half of it */

struct walk {
	struct seek_run *s;
	double at;         /* byte that was read last */
	double track;      /* bytes */
	double begin, end; /* the track begins in (begin, end] */
	uint64_t origin_ns;
};

/* Reads at a place; its time is that of the way there. */
static int go(struct walk *w, double to, double *ret_access, uint64_t *ret_done, struct err *err)
{
	uint64_t offset = timed_align(&w->s->t, to);
	int r = timed_reads(&w->s->t, &offset, 1, ret_access, ret_done, err);

	w->at = (double)offset;
	return r;
}

/*
 * From one byte back to another, both to be on one track. *ret_turns: what the access took beyond the time at which the
 * target came by first, in revolutions: 0 or 1 on one track, something broken else; *ret_ns: the access. NaN: not
 * known.
 */
static int back(struct walk *w, double from, double to, double *ret_ns, double *ret_turns, struct err *err)
{
	double access = NAN, start;
	int r = go(w, from, &access, NULL, err);

	*ret_ns = *ret_turns = NAN;
	start = w->at;
	if (r == 0 && !seek_is_over(w->s))
		r = go(w, to, &access, NULL, err);
	if (r == 0 && isfinite(access) && !timed_is_hit(&w->s->sector_hits, access)) {
		*ret_ns = access;
		*ret_turns = access / w->s->known.places.period_ns - (1.0 - (start - w->at) / w->track);
	}
	return r;
}

static bool is_near(double turns, double n)
{
	return fabs(turns - n) < SEEK_TOLERANCE;
}

/* ---- the tracks about a place ---- */

/* The tracks about a place, from the angles of reads that go backwards by a third of a track: how long they are, by
 * those on one track, and where they begin, if equal tracks explain which of them lie on one. */
struct tracks_survey {
	double offset[SURVEY], phase[SURVEY]; /* downwards, or in pairs upwards */
	size_t n;
	bool is_break[SURVEY]; /* a track begins between this and the one before */
	bool is_known[SURVEY];
};

/* The densest of what pairs of neighbours say, as those on one track agree. */
static double densest(double *v, size_t n)
{
	size_t width = n / 3 + 1 > DENSE ? n / 3 + 1 : DENSE;
	double least = INFINITY, found = NAN;

	if (n < 8)
		return NAN;
	stats_sort(v, n);
	for (size_t i = 0; i + width < n; i++)
		if (v[i + width] - v[i] < least) {
			least = v[i + width] - v[i];
			found = v[i + width / 2];
		}
	return least < 0.05 * found ? found : (double)NAN;
}

/* From one to the next, the shorter way for what lies on one track. */
static double way(const struct tracks_survey *v, size_t i, double *ret_bytes)
{
	double bytes = v->offset[i - 1] - v->offset[i], turn = v->phase[i - 1] - v->phase[i];

	turn = bytes < 0.0 ? -turn : turn;
	*ret_bytes = fabs(bytes);
	return turn - floor(turn);
}

/* NaN: not known. guess: tracks are no longer by much. */
static double tracks_length(const struct tracks_survey *v, double guess)
{
	double one[SURVEY], bytes_sum = 0.0, turn_sum = 0.0, length;
	size_t n = 0;

	for (size_t i = 1; i < v->n; i++) {
		double bytes, turn = way(v, i, &bytes);

		if (bytes < 0.8 * guess && turn > 0.15 && turn < 0.7)
			one[n++] = bytes / turn;
	}
	length = densest(one, n);
	for (size_t i = 1; i < v->n; i++) { /* all those on one track together */
		double bytes, turn = way(v, i, &bytes);

		if (fabs(turn - bytes / length) < SEEK_TOLERANCE / 2.0) {
			bytes_sum += bytes;
			turn_sum += turn;
		}
	}
	return turn_sum > 0.0 ? bytes_sum / turn_sum : (double)NAN;
}

/* Pairs of the survey that a grid of equal tracks explains: a track begins between them, or none does. */
static size_t explained(const struct tracks_survey *v, double first, double track)
{
	size_t n = 0;

	for (size_t i = 1; i < v->n; i++) {
		double above = floor((v->offset[i - 1] - first) / track), below = floor((v->offset[i] - first) / track);

		n += v->is_known[i] && (above != below) == v->is_break[i];
	}
	return n;
}

/* The middle of the grids that explain most, and how far they reach to either side; *track becomes sharper. */
static bool tracks_grid(struct tracks_survey *v, double *track, double *ret_first, double *ret_slack)
{
	size_t most = 0, known = 0;
	double base = v->offset[v->n - 1], best_track = *track, low = NAN, high = NAN;

	for (size_t i = 1; i < v->n; i++) {
		double step = phase_distance(v->phase[i - 1] - (v->offset[i - 1] - v->offset[i]) / *track, v->phase[i]);

		v->is_known[i] = v->offset[i - 1] - v->offset[i] < 0.8 * *track;
		v->is_break[i] = fabs(step) > SEEK_TOLERANCE;
		known += v->is_known[i];
	}
	for (int k = 0; k < 9; k++) { /* the measured length first */
		double length = *track * (1.0 + 0.0004 * (k & 1 ? (k + 1) / 2 : -k / 2));

		for (int j = 0; j < 400; j++) {
			double first = base - length * (double)j / 400.0;
			size_t n = explained(v, first, length);

			if (n > most || (n == most && length == best_track && j > 0 && isfinite(high) &&
			                 low - first < 1.5 * length / 400.0)) {
				if (n > most)
					high = first;
				most = n;
				low = first;
				best_track = length;
			}
		}
	}
	if (known < SURVEY / 2 || (double)most < CONSISTENT * (double)known)
		return false;
	*track = best_track;
	*ret_first = (low + high) / 2.0;
	*ret_slack = (high - low) / 2.0 + 0.01 * best_track;
	return true;
}

/*
 * A drive that keeps what passes before a read answers many of them, which show nothing. So where the length is all
 * that is wanted, each second one goes on ahead, where nothing has passed yet.
 */
static int look(struct walk *w, struct tracks_survey *v, size_t hops, double guess, struct err *err)
{
	int r = 0;

	v->n = 0;
	for (size_t i = 0; r == 0 && v->n < hops && i < 2 * hops && !seek_is_over(w->s); i++) {
		double access = NAN, hop = hops >= SURVEY ? HOP : i & 1 ? -HOP : HOP_BACK;
		uint64_t done = 0;

		r = go(w, w->at - guess * hop * (0.9 + 0.2 * rng_double(&w->s->t.rng)), &access, &done, err);
		if (r < 0 || !isfinite(access) || timed_is_hit(&w->s->sector_hits, access))
			continue;
		if (!w->origin_ns)
			w->origin_ns = done;
		v->offset[v->n] = w->at;
		v->phase[v->n++] = phase_of((double)(done - w->origin_ns), 0.0, w->s->known.places.period_ns);
	}
	return r;
}

/* The track before. */
static void next_track(struct walk *w)
{
	w->begin -= w->track;
	w->end -= w->track;
}

/* false: tracks are not equal here. Else the walk's track is the one before the survey. */
static bool survey_tracks(struct walk *w, struct tracks_survey *v)
{
	double first, slack, track = tracks_length(v, w->track);

	w->track = isfinite(track) ? track : w->track;
	if (!tracks_grid(v, &w->track, &first, &slack))
		return false;
	while (first > v->offset[v->n - 1])
		first -= w->track;
	w->begin = first - slack;
	w->end = first + slack;
	next_track(w);
	return true;
}

static int find_begin(struct walk *w, struct err *err)
{
	int r = 0;

	for (int i = 0; r == 0 && i < 10 && w->end - w->begin > SHARP * w->track && !seek_is_over(w->s); i++) {
		double mid = (w->begin + w->end) / 2.0, access, turns;

		r = back(w, mid + w->track / 2.0, mid, &access, &turns, err);
		if (is_near(turns, 0.0) || is_near(turns, 1.0))
			w->end = w->at;
		else if (isfinite(turns))
			w->begin = w->at;
		next_track(w);
	}
	return r;
}

/* ---- returns ---- */

/*
 * To the begin of the track from where it comes by after the time aimed at: so the drive does not read on over the
 * track's end meanwhile.
 */
static int returns(struct walk *w, struct belief *b, struct aim_log *log, struct err *err)
{
	double period = w->s->known.places.period_ns, block = w->s->t.block_bytes;
	double answer = seek_answer(&w->s->known, block, w->track);
	double slack = SHARP * w->track;
	size_t there = 0;
	bool is_there;
	int r = 0;

	for (size_t i = 0; r == 0 && i < 2 * AIMED && there < AIMED && !seek_is_over(w->s); i++) {
		double to = w->end + 0.5 * block, least = (to - w->end + block) / w->track * period;
		double aim = belief_aim(b, &w->s->t.rng, i), access, turns;

		aim = fmax(aim + answer, least);
		r = back(w, to + w->track * (1.0 - aim / period), to, &access, &turns, err);
		is_there = is_near(turns, 0.0) || is_near(turns, 1.0);
		access = fmax(access - answer, 0.0);
		if (is_there)
			belief_learn(b, access, period);
		else if (isfinite(turns)) /* not on one track: it begins later */
			w->end += slack;
		if (isfinite(turns) && log->n < ARRAY_LEN(log->access))
			log->access[log->n++] = (struct aim_access){ access, 0.0, log->pairs, AIM_EDGE,
				                                     is_there ? AIM_THERE : AIM_ELSEWHERE };
		there += is_there;
		next_track(w);
	}
	log->pairs += there > 0;
	return r;
}

/* ---- ahead of the head ---- */

/* Two sectors in a row, so that the drive reads on; then one that comes by in want_ns, on the same track if none ends
 * there. */
static int read_on(struct walk *w, double from, double want_ns, struct belief *b, struct aim_log *log, struct err *err)
{
	const double period = w->s->known.places.period_ns, step = w->s->t.step_bytes,
		     transfer = step / w->track * period;
	const double bus = isfinite(w->s->known.hits.bus_ns) ? w->s->known.hits.bus_ns : transfer / 2.0;
	const double late = fmax(bus - transfer, 0.0); /* answers of a slow interface, behind the sector's end */
	double access = NAN, wait, head, passed;
	uint64_t first = 0, done = 0;
	struct aim_access one;
	int r = go(w, from, &access, &first, err);

	head = w->at + step;
	if (r == 0 && isfinite(access) && !timed_is_hit(&w->s->sector_hits, access))
		r = go(w, head, &access, &done, err);
	else
		return r;
	if (r < 0 || !isfinite(access) || seek_is_over(w->s))
		return r;
	passed = (double)(done - first) / period;
	passed -= floor(passed);
	if (passed > SEEK_OVERHEAD_MOST) /* far from the head by now, or it was before it: not on one track */
		return 0;
	r = go(w, head + (passed + (want_ns + late) / period) * w->track + step, &access, &done, err);
	if (r < 0 || !isfinite(access))
		return r;
	wait = ((w->at - head) / w->track) * period - ((double)(done - first) - access);
	wait -= floor(wait / period) * period;
	if (wait >= 0.5 * period || log->n == ARRAY_LEN(log->access))
		return 0;
	one = (struct aim_access){ .ns = access - bus,
		                   .wait_ns = wait + transfer - bus,
		                   .bytes = w->at - head,
		                   .pair = log->pairs,
		                   .how = isfinite(w->s->known.hits.bus_ns) ? AIM_EVENLY : AIM_BLURRED,
		                   .end = AIM_THERE };
	log->access[log->n++] = one;
	for (size_t i = 0; i < SEEK_CELLS; i++)
		b->log_likelihood[i] +=
			seek_ahead_log_likelihood(&one, ((double)i + 0.5) * b->step, b->scatter, period);
	return 0;
}

/* Is it known well enough what is off a time there? */
static bool is_bus_known(const struct walk *w)
{
	return isfinite(w->s->known.hits.bus_ns) ||
	       w->s->t.step_bytes / w->track * w->s->known.places.period_ns < BUS_UNKNOWN_MOST;
}

/* On tracks above the place, downwards. Every second one aims about the overhead, the others come by before it. */
static int reads_on(struct walk *w, double place, struct belief *b, struct aim_log *log, struct err *err)
{
	const size_t had = log->n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < READS_ON && !seek_is_over(w->s); i++) {
		double part = fmod(((double)log->n + 0.5) * RNG_GOLDEN, 1.0), want;

		want = i & 1 ? ON_FIRST + part * fmax(belief_draw(b, &w->s->t.rng) - ON_FIRST, ON_FIRST)
		             : belief_aim(b, &w->s->t.rng, i / 2);
		r = read_on(w, place + (SEEK_APART * (double)(READS_ON - i) + part) * w->track, fmax(want, ON_FIRST), b,
		            log, err);
	}
	log->pairs += log->n > had;
	return r;
}

/* What is found at the places. */
struct found {
	struct seek_point *returns, *on; /* on: by reads ahead of the head */
	struct belief by_returns, by_on;
	double scale;  /* a track is that many times as long as the sequential rate has it, which may be the interface's
	                */
	size_t places; /* that were visited */
	size_t unseen; /* where no track was found */
};

/* Reads ahead of the head at two places left it open: they show nothing, or take what the cache's answers do, which
 * may or may not be the overhead. A run that is given half of the usual time cannot afford to know. */
static bool is_open(const struct seek_run *s, const struct found *f)
{
	const struct seek_overhead o = seek_overhead_of(&s->known, f->returns, f->on);

	return f->places > 1 && 2.0 * s->budget.scale > 1.0 &&
	       !(interval_half(o.ci) < SEEK_KNOWN * s->known.places.period_ns);
}

/* A short run has time for one way, unless that leaves it open. A long one looks for tracks to return to, unless half
 * of the places that it wants have none. */
static bool wants_returns(const struct seek_run *s, const struct found *f)
{
	return is_open(s, f) || (!s->p->quick && (f->returns->log.pairs || 2 * f->places <= PLACES));
}

/* Anywhere; where parts answer without the media, at a place that does not. */
static int begin_at(struct walk *w, struct err *err)
{
	double access = NAN;
	int r = 0;

	for (int i = 0; r == 0 && i < (w->s->known.is_patchy ? SEEK_STORED_TRIES : 1); i++) {
		r = go(w, (double)w->s->known.places.size_bytes * (0.1 + 0.8 * rng_double(&w->s->t.rng)), &access, NULL,
		       err);
		if (r == 0 && !timed_is_hit(&w->s->sector_hits, access))
			break;
	}
	return r;
}

/* ret: the place, and what its track's length makes the rate; NaN: not known. */
static int one_place(struct seek_run *s, struct found *f, struct seek_rate *ret, struct err *err)
{
	struct walk w = { .s = s };
	struct tracks_survey v = { 0 };
	double start, guess;
	const bool was_open = s->p->quick && is_open(s, f); /* then one survey is enough, and no time is left for two */
	int r = begin_at(&w, err);

	start = w.at;
	*ret = (struct seek_rate){ start / (double)s->known.places.size_bytes, NAN };
	guess = seek_track_bytes(&s->known.places, ret->place_ratio) * f->scale;
	if (r == 0)
		r = look(&w, &v, was_open ? SURVEY : SURVEY / 2, 1.1 * guess, err);
	if (r < 0)
		return r;
	w.track = v.n > SURVEY / 4 ? tracks_length(&v, guess) : (double)NAN;
	if (!isfinite(w.track)) {
		if (f->unseen++) /* a single place may be odd */
			f->scale = f->scale < SCALE_MOST ? f->scale * SCALE_STEP : 1.0;
		return 0;
	}
	ret->rate_bytes_per_s = w.track / s->known.places.period_ns * 1e9;
	if (is_bus_known(&w) && !was_open)
		r = reads_on(&w, start, &f->by_on, &f->on->log, err);
	f->places++;
	if (r < 0 || !wants_returns(s, f))
		return r;
	w.at = start - SURVEY_APART * w.track;
	if (!was_open)
		r = look(&w, &v, SURVEY, w.track, err);
	if (r == 0 && v.n > SURVEY / 2 && survey_tracks(&w, &v)) {
		ret->rate_bytes_per_s = w.track / s->known.places.period_ns * 1e9;
		r = find_begin(&w, err);
		if (r == 0)
			r = returns(&w, &f->by_returns, &f->returns->log, err);
	}
	return r;
}

/* Are there enough places, of either kind? */
static bool is_enough(const struct seek_run *s, const struct found *f)
{
	if (s->p->quick)
		return f->places + f->returns->log.pairs >= (PLACES + 1) / 2 && !is_open(s, f);
	return f->returns->log.pairs >= PLACES || (!wants_returns(s, f) && f->on->log.pairs >= PLACES);
}

int seek_find_overhead(struct seek_run *s, struct err *err)
{
	cleanup_free struct seek_point *p = xcalloc(2, sizeof(*p));
	const double period = s->known.places.period_ns;
	struct seek_rate rate[2 * PLACES + 1];
	const uint32_t block = s->t.block_bytes;
	struct found f = { .returns = p, .on = &p[1], .scale = 1.0 };
	size_t n = 0;
	int r = 0;

	belief_anything(&f.by_returns, SEEK_OVERHEAD_MOST * period, SEEK_SCATTER * period);
	f.by_on = f.by_returns;
	/* By single sectors: a longer block may begin on the track before. */
	s->t.block_bytes = s->t.step_bytes;
	for (size_t i = 0; r == 0 && !is_enough(s, &f) && i < 2 * PLACES + 1 && !seek_is_over(s); i++) {
		r = one_place(s, &f, &rate[n], err);
		n += r == 0 && isfinite(rate[n].rate_bytes_per_s);
	}
	s->t.block_bytes = block;
	if (r < 0)
		return r;
	s->known.places = seek_places_by_tracks(&s->known.places, s->res, rate, n);
	seek_report_accesses(s->res, SEEK_RETURNS, p);
	seek_report_accesses(s->res, SEEK_READS_ON, &p[1]);
	s->known.overhead = seek_overhead_of(&s->known, p, &p[1]);
	return 0;
}
