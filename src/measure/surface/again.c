/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Second readings. Of what failed pieces are read from its end, down to its sectors. What was slow is read in a row of
 * pieces, then the piece that was slow, down to a sector, or where none stands out in halves; and that alone beside
 * another place, as often as it takes to know whether it is slower (a sequential test of Wald). A request that is slow
 * without a sector that is so by itself is passed slowly: the drive goes elsewhere there (a sector moved away, a track
 * skipped). Slow ones are asked in rounds, one reading of each in a round, and reads elsewhere between the rounds put
 * the drive's cache out of the way.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "measure/surface/surface.h"

#define RESTS_MOST     16 /* slow places of a request that are kept apart; the rest counts as not read again */
#define ROWS_MOST      6  /* 16 to the power of it sectors */
#define ROW_HITS       2
#define RESTARTS_MOST  1  /* halved anew, where the sector that was found is well */
#define HITS_MOST      12 /* answers of the drive's cache in place of the medium's, before it is given up */
#define FLUSH_TIMES    4  /* as many reads elsewhere as were learnt, at most: a late completion looks like a hit */
#define AGAIN_AFTER_NS (300 * NS_PER_S) /* later than what disturbed the scan, and seldom enough to cost no rate */
#define AGAIN_FULL     (SURFACE_ACTIVE * 3 / 4) /* room for those that are under way, and for their rests */
/* Of a revolution: what takes so much longer is looked at while there is much time, and while there is some. */
#define DOUBT_LEAST 0.6
#define DOUBT_MOST  0.8
/*
 * A place beside differs by up to a revolution either way, as the disk happens to stand: by x of one, as often as 1 -
 * |x| says, and a weak one by one more. The logarithm of the odds, summed up: so much for weak is an error in 100000,
 * for well one in 3000. No single case says more than 12 to 1, as some readings lose a revolution of their own; where a
 * track lies a quarter of a turn off its place each says 3 to 1 in 3 of 4 cases.
 */
#define ALONE_WEAK  11.5
#define ALONE_WELL  8.0
#define ALONE_EACH  2.5 /* against it; for it less, as a period that is wrong by half makes some cases look so */
#define ALONE_FOR   1.7
#define ALONE_MOST  32
#define ALONE_SIDES 3.0   /* a third of it at least from either side of the place */
#define TURN_NS     8.3e6 /* where the rotation is not known */
#define HALF_SURE   4.5   /* one error in 90 of each half; the sector is asked by itself afterwards */

/* ---- the lists ---- */

/* What cannot be read is in run->failures. */
static void put_away(struct surface_run *run, struct surface_suspect *s, enum surface_kind kind)
{
	s->kind = kind;
	if ((s->is_silent && (kind == SURFACE_ONCE || kind == SURFACE_HEALED)) || kind == SURFACE_UNREADABLE)
		return;
	run->lists.nkinds[kind]++;
	surface_list_place(run, s);
}

double surface_doubt_part(const struct surface_run *run)
{
	double left = surface_again_left(run, AGAIN_OF_SLOW);

	return left > 0.75 ? DOUBT_LEAST : left > 0.5 ? DOUBT_MOST : (double)INFINITY;
}

void surface_suspect_add(struct surface_run *run, const struct surface_suspect *how)
{
	struct surface_suspect s = *how;

	s.good_end = s.first_bytes;
	s.bad_end = s.end_bytes;
	run->done.slow += !s.is_silent;
	if (run->lists.nactive == SURFACE_ACTIVE || surface_again_left(run, AGAIN_OF_SLOW) <= 0.0)
		put_away(run, &s, SURFACE_UNCHECKED);
	else
		run->lists.active[run->lists.nactive++] = s;
}

/* Rounds for many cost little more than for one: where they take long, they are kept apart. */
bool surface_wants_again(const struct surface_run *run)
{
	uint64_t apart_ns = (uint64_t)((double)run->again.last_ns / SURFACE_AGAIN_SHARE);

	return run->lists.nactive >= AGAIN_FULL ||
	       ((run->lists.nactive || surface_wants_errors(run)) &&
	        surface_now(run) - run->again.end_ns >= (apart_ns > AGAIN_AFTER_NS ? apart_ns : AGAIN_AFTER_NS));
}

/* ---- what was slow ---- */

/* What was found takes the place of the request; what is behind it in the same request may have another one. */
static void narrow(struct surface_run *run, struct surface_suspect *s, enum surface_kind kind)
{
	struct surface_suspect rest = *s;

	rest.first_bytes = s->bad_end;
	rest.rests++;
	rest.again = rest.again_bad = rest.step = rest.restarts = rest.hits = 0;
	rest.again_ns = 0;
	rest.odds[0] = rest.odds[1] = 0.0;
	rest.is_slow = false;
	rest.rows = s->rows < ROWS_MOST ? 0 : ROWS_MOST;
	rest.is_silent = true;
	s->first_bytes = s->good_end;
	s->end_bytes = s->bad_end;
	s->is_silent = false;
	put_away(run, s, kind);
	if (rest.first_bytes < rest.end_bytes && rest.rests < RESTS_MOST)
		surface_suspect_add(run, &rest);
	else if (rest.first_bytes < rest.end_bytes)
		put_away(run, &rest, SURFACE_UNCHECKED);
}

/* For weak both sides of it must speak, so much each at least; then all of it counts. */
static double odds_for(const struct surface_suspect *s)
{
	return fmin(s->odds[0] + s->odds[1], ALONE_SIDES * fmin(s->odds[0], s->odds[1]));
}

/* What a place that takes so much longer than one beside it says: the logarithm of the odds. */
static double odds_of(const struct surface_run *run, const struct surface_suspect *s, double longer_ns)
{
	double x = longer_ns / run->rot.period_ns;

	if (!run->rot.is_rotating)
		return longer_ns > surface_limit_ns(run, s) ? 1.0 : -1.0;
	if (x < -1.1) /* nothing is so much quicker than another, unless that was disturbed, or the period is another */
		return -3 * ALONE_EACH;
	return x <= 0.0 ? -ALONE_EACH : x >= 1.0 ? ALONE_FOR : fmax(fmin(log(x / (1.0 - x)), ALONE_FOR), -ALONE_EACH);
}

/* All of it at first, then the first half of what is slow. */
static struct surface_suspect piece_of(const struct surface_run *run, const struct surface_suspect *s)
{
	uint32_t unit = run->range.unit_bytes;
	struct surface_suspect piece = *s;

	if (s->is_slow && s->bad_end - s->good_end > unit)
		piece.bad_end = s->good_end + (s->bad_end - s->good_end + unit - 1) / unit / 2 * unit;
	return piece;
}

/* Of a sector enough is known. true: it came to its end. */
static bool end_sector(struct surface_run *run, struct surface_suspect *s, bool is_weak, bool is_well)
{
	if (is_well && s->is_slow && s->rows == ROWS_MOST && s->restarts++ < RESTARTS_MOST) {
		s->good_end = s->first_bytes;
		s->bad_end = s->end_bytes;
		return false;
	}
	if (is_well && !s->is_slow)
		put_away(run, s, SURFACE_ONCE);
	else if (is_well)
		narrow(run, s, SURFACE_PASSING);
	else if (is_weak && (run->rot.is_rotating || run->ses->devs[0].rotational != 1))
		narrow(run, s, SURFACE_ALWAYS);
	else /* nor is it, where how the disk stood is not known */
		narrow(run, s, SURFACE_UNCHECKED);
	return true;
}

/* true: it came to its end. */
static bool conclude(struct surface_run *run, struct surface_suspect *s)
{
	bool is_sector = s->bad_end - s->good_end <= run->range.unit_bytes, is_end = false,
	     is_weak = odds_for(s) >= (is_sector ? ALONE_WEAK : HALF_SURE),
	     is_well = -(s->odds[0] + s->odds[1]) >= (is_sector ? ALONE_WELL : HALF_SURE);

	if (!is_weak && !is_well && s->step < ALONE_MOST)
		return false;
	if (is_sector) {
		is_end = end_sector(run, s, is_weak, is_well);
	} else if (!is_weak && !is_well) {
		narrow(run, s, SURFACE_UNCHECKED);
		is_end = true;
	} else if (s->is_slow) {
		*(is_weak ? &s->bad_end : &s->good_end) = piece_of(run, s).bad_end;
	} else if (is_well) {
		put_away(run, s, SURFACE_ONCE);
		is_end = true;
	}
	s->is_slow = true;
	s->odds[0] = s->odds[1] = 0.0;
	s->step = s->hits = 0;
	return is_end;
}

/*
 * Where a revolution is lost in passing, and lost again within that piece, there it is: no need to halve. Where a row
 * shows nothing it is halved.
 */
static int ask_row(struct surface_run *run, struct surface_suspect *s, struct err *err)
{
	struct surface_row row;
	int r = surface_read_row(run, s, &row, err);
	bool is_sector;

	run->again.has_hits |= row.is_hit;
	if (row.is_hit && s->hits++ < ROW_HITS)
		return r;
	s->hits = 0;
	is_sector = row.end_bytes - row.first_bytes <= run->range.unit_bytes;
	if (row.nslow && !(is_sector && row.is_deaf)) {
		s->good_end = row.first_bytes;
		s->bad_end = row.end_bytes;
		s->rows++;
		s->is_slow = is_sector;
	} else {
		s->good_end = s->first_bytes;
		s->bad_end = s->end_bytes;
		s->rows = ROWS_MOST;
		if (!row.nslow && !row.is_hit)
			s->odds[0] = s->odds[1] = -ALONE_EACH / 2;
	}
	return r;
}

static int ask(struct surface_run *run, struct surface_suspect *s, bool *ret_is_end, struct err *err)
{
	struct surface_suspect piece = piece_of(run, s);
	struct surface_alone alone = { .longer_ns = NAN };
	bool is_row = s->rows < ROWS_MOST && s->bad_end - s->good_end > run->range.unit_bytes;
	int r = is_row ? ask_row(run, s, err) : surface_read_alone(run, &piece, &alone, err);

	*ret_is_end = true;
	if (r < 0)
		return r;
	if (surface_has_failed(&run->failures, s->good_end, s->bad_end)) {
		put_away(run, s, SURFACE_UNREADABLE);
	} else if (!isnan(alone.longer_ns)) {
		s->odds[surface_is_turn_before(s)] += odds_of(run, s, alone.longer_ns);
		s->step++;
		s->again++;
		if (alone.longer_ns > surface_limit_ns(run, s)) {
			s->again_bad++;
			s->again_ns = alone.took_ns > s->again_ns ? alone.took_ns : s->again_ns;
		}
		*ret_is_end = conclude(run, s);
	} else if (alone.is_hit && s->hits++ == HITS_MOST) {
		narrow(run, s, SURFACE_UNCHECKED);
	} else {
		run->again.has_hits |= alone.is_hit;
		*ret_is_end = false;
	}
	return 0;
}

/* From the end of the disk to its start: what the drive reads ahead was then read already. */
static int by_place_down(const void *a, const void *b)
{
	return order_u64(b, a);
}

static int round_of_all(struct surface_run *run, struct err *err)
{
	size_t n = run->lists.nactive, kept = 0, i; /* rests that are added lie behind them */
	int r = 0;

	for (i = 0; r == 0 && i < n && !surface_is_over(run); i++) {
		struct surface_suspect s = run->lists.active[i]; /* the list may grow meanwhile */
		bool is_end = false;

		surface_give_way(run);
		r = ask(run, &s, &is_end, err);
		if (r < 0 || !is_end)
			run->lists.active[kept++] = s;
	}
	memmove(&run->lists.active[kept], &run->lists.active[i],
	        (run->lists.nactive - i) * sizeof(run->lists.active[0]));
	run->lists.nactive -= i - kept;
	return r;
}

static int ask_all(struct surface_run *run, struct err *err)
{
	int r = 0;

	while (r == 0 && run->lists.nactive && !surface_is_over(run) && surface_again_left(run, AGAIN_OF_SLOW) > 0.0) {
		uint64_t start_ns = surface_now(run);

		session_progress(run->ses, "second readings", -1.0, "%zu places", run->lists.nactive);
		qsort(run->lists.active, run->lists.nactive, sizeof(run->lists.active[0]), by_place_down);
		/* in a cache that keeps pieces, reading the others twice has pushed out as many */
		r = surface_forget(run, run->rot.flush_bytes > run->range.unit_bytes ? 0 : 2 * (run->lists.nactive - 1),
		                   err);
		run->again.has_hits = false;
		if (r == 0)
			r = round_of_all(run, err);
		if (run->again.has_hits &&
		    run->again.flush_reads < FLUSH_TIMES * (run->rot.flush_reads + SURFACE_FLUSH_LEAST))
			run->again.flush_reads *= 2;
		run->again.spent_ns[AGAIN_OF_SLOW] += surface_now(run) - start_ns;
	}
	/* The limit holds for those that are under way, too. */
	while (r == 0 && run->lists.nactive && surface_again_left(run, AGAIN_OF_SLOW) <= 0.0)
		put_away(run, &run->lists.active[--run->lists.nactive], SURFACE_UNCHECKED);
	return r;
}

/* ---- what failed ---- */

static void heal(struct surface_run *run, const struct surface_failed *f, uint64_t first_bytes, bool is_silent)
{
	struct surface_suspect s = { .first_bytes = first_bytes,
		                     .end_bytes = f->end_bytes,
		                     .time_ns = f->time_ns,
		                     .scan_bytes = f->end_bytes - f->first_bytes,
		                     .ns_per_byte = NAN,
		                     .again = 1,
		                     .error = f->error,
		                     .is_silent = is_silent };

	put_away(run, &s, SURFACE_HEALED);
}

/*
 * One of n sectors fails, which takes r times as long as a reading that does not: how many to read first. That part p
 * of all for which p = (1 - p)^r: then either answer costs as much for what it says. Of r = 1 half, of 30 a twelfth.
 */
static uint64_t first_piece(double r, uint64_t n)
{
	double low = 0.0, high = 1.0;

	for (unsigned i = 0; i < 20; i++) {
		double p = (low + high) / 2;

		*(p < pow(1.0 - p, r) ? &low : &high) = p;
	}
	return (uint64_t)fmax(1.0, low * (double)n);
}

/*
 * From the end of a range, as what the drive reads ahead was then read already: a piece of what is known to fail from
 * bad_first on, and of the rest all, but sectors before one that cannot be read one by one.
 */
static uint64_t start_of_reading(const struct surface_run *run, const struct surface_failed *f, uint64_t bad_first,
                                 double good_ns)
{
	uint64_t unit = run->range.unit_bytes, end = f->end_bytes, most = run->eng->cfg.buf_bytes / 2,
		 first = end - f->first_bytes < most ? f->first_bytes : end - most;
	bool is_before_bad = f + 1 < run->failures.v + run->failures.n && f[1].is_sector && f[1].first_bytes == end;
	uint64_t last = end - 1 - (end - 1 - run->range.first_bytes) % unit;

	if (bad_first == UINT64_MAX)
		return is_before_bad ? last : first;
	if (last <= bad_first)
		return bad_first;
	return last - unit * (first_piece((double)f->time_ns / good_ns, (end - bad_first) / unit) - 1);
}

/*
 * One after the other, each down to its sectors: one that failed by itself cannot be read. The list changes with each
 * reading (surface_answered()), but not by one that the drive's cache answered.
 */
static int narrow_errors(struct surface_run *run, struct err *err)
{
	uint64_t bad_first = 0, bad_end = 0; /* of what lies there something fails */
	double good_ns = run->rot.is_rotating ? run->rot.period_ns : TURN_NS, ngood = 1.0; /* all, and how many */
	unsigned hits = 0;
	int r = 0;

	while (r == 0 && surface_wants_errors(run) && !surface_is_over(run)) {
		uint64_t start_ns = surface_now(run), first;
		struct surface_failed *f = surface_next_unproven(&run->failures, run->position), was = *f;
		bool is_part = was.end_bytes > bad_first && was.end_bytes <= bad_end, is_known, is_bad;

		if (!is_part && !was.is_rest) {
			bad_first = start_of_reading(run, f, UINT64_MAX, NAN);
			bad_end = was.end_bytes;
			is_part = true;
		}
		first = start_of_reading(run, f, is_part ? bad_first : UINT64_MAX, good_ns / ngood);
		session_progress(run->ses, "unreadable places", -1.0, "%" PRIu64, first);
		surface_give_way(run);
		r = surface_read_once(run, first, was.end_bytes, &is_known, err);
		is_bad = is_known && surface_has_failed(&run->failures, first, was.end_bytes);
		if (r == 0 && !is_known) {
			f->is_left = ++hits > HITS_MOST;
			r = surface_forget(run, 0, err);
		} else if (is_bad) {
			bad_first = first;
			bad_end = was.end_bytes - first > run->range.unit_bytes ? was.end_bytes : 0;
		} else if (!is_part || first == bad_first) {
			heal(run, &was, first, was.is_rest && !is_part);
		}
		hits = is_known ? 0 : hits;
		good_ns += is_bad ? 0.0 : (double)(surface_now(run) - start_ns);
		ngood += is_known && !is_bad;
		run->again.spent_ns[AGAIN_OF_ERRORS] += surface_now(run) - start_ns;
	}
	return r;
}

int surface_again(struct surface_run *run, struct err *err)
{
	uint64_t start_ns = surface_now(run);
	int r = narrow_errors(run, err) ?: ask_all(run, err);

	run->again.end_ns = surface_now(run);
	run->again.last_ns = run->again.end_ns - start_ns;
	return r;
}
