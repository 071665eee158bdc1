/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Second readings. Suspects are read again in rounds, one reading of each in a round, and reads elsewhere between the
 * rounds put the drive's cache out of the way. A reading is of a lead-in that takes the arm there, and what is in
 * question behind it, so that the time between the two completions is the medium's. What is slow each time is halved
 * down to a sector, and that sector is read alone beside another: only what is slow then as well is weak itself; else
 * the drive goes elsewhere there (a sector moved away, a track skipped), or time misled: then what lies about it is
 * halved by such readings alone.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "measure/surface/surface.h"

#define RESTS_MOST     16 /* slow places of a request that are kept apart; the rest counts as not read again */
#define AGAIN_LEAST    2  /* good readings, and nothing more is asked */
#define AGAIN_MOST     3  /* readings in all: what a busy moment does to all three is rare */
#define RESTARTS_MOST  2  /* of a bisection that its proof denied: then it is only sometimes slow */
#define SHIFT_UNITS    37 /* no power of two, so that requests meet nowhere where they met before */
#define HITS_MOST      12 /* answers of the drive's cache in place of the medium's, before it is given up */
#define FLUSH_TIMES    4  /* as many reads elsewhere as were learnt, at most: a late completion looks like a hit */
#define AGAIN_AFTER_NS (300 * NS_PER_S) /* later than what disturbed the scan, and seldom enough to cost no rate */
#define AGAIN_FULL     (SURFACE_ACTIVE * 3 / 4) /* room for those that are under way, and for their rests */
#define DOUBT_LEAST                                                                                                   \
	0.6 /* of a revolution longer is looked at again while there is much time for that, whatever else sticks out, \
	     */
#define DOUBT_MOST 0.8 /* and while there is some */
/*
 * A sector beside differs by up to a revolution either way, as the disk happens to stand: by x of one, as often as 1 -
 * |x| says, and a weak one by one more. The logarithm of the odds, summed up (sequential test of Wald): so much for
 * weak is an error in 100000, for well one in 3000. No single case says more than 12 to 1, as some readings lose a
 * revolution of their own; where a track lies a quarter of a turn off its place each says 3 to 1 in 3 of 4 cases.
 */
#define ALONE_WEAK 11.5
#define ALONE_WELL (-8.0)
#define ALONE_EACH 2.5 /* against it; for it less, as a period that is wrong by half makes some cases look so */
#define ALONE_FOR  1.7
#define ALONE_MOST 32
#define HALF_SURE  6.0 /* one error in 400 of each half, before the sector is asked by itself */
#define HALVED_EACH                                                                                                    \
	16 /* as many halved of a kind and none of them weak: this is what the disk is like, and costs time (a choice) \
	    */
#define NEAR_UNITS  32  /* about the place that is well: pieces of requests and what is read ahead end not far off */
#define ALONE_SIDES 3.0 /* a third of it at least from either side of the place */

/* ---- the lists ---- */

/* What cannot be read is in run->failures. */
static void put_away(struct surface_run *run, struct surface_suspect *s, enum surface_kind kind)
{
	s->kind = kind;
	s->stage = STAGE_END;
	if ((s->is_silent && (kind == SURFACE_ONCE || kind == SURFACE_HEALED)) || kind == SURFACE_UNREADABLE)
		return;
	run->nkinds[kind]++;
	surface_list_place(run, s);
}

bool surface_can_doubt(const struct surface_run *run)
{
	return surface_again_left(run, AGAIN_OF_SLOW) > 0.5;
}

double surface_doubt_part(const struct surface_run *run)
{
	return surface_again_left(run, AGAIN_OF_SLOW) > 0.75 ? DOUBT_LEAST
	       : surface_can_doubt(run)                      ? DOUBT_MOST
	                                                     : (double)INFINITY;
}

void surface_suspect_add(struct surface_run *run, const struct surface_suspect *how)
{
	struct surface_suspect s = *how;

	run->slow += !s.is_silent;
	if (run->nactive == SURFACE_ACTIVE || surface_again_left(run, AGAIN_OF_SLOW) < 0.0)
		put_away(run, &s, SURFACE_UNCHECKED);
	else
		run->active[run->nactive++] = s;
}

/* Rounds for many cost little more than for one: where they take long, they are kept apart. */
bool surface_wants_again(const struct surface_run *run)
{
	uint64_t apart_ns = (uint64_t)((double)run->again_last_ns / SURFACE_AGAIN_SHARE);

	return run->nactive >= AGAIN_FULL ||
	       ((run->nactive || surface_wants_errors(run)) &&
	        surface_now(run) - run->again_end_ns >= (apart_ns > AGAIN_AFTER_NS ? apart_ns : AGAIN_AFTER_NS));
}

/* What is behind a bad place in the same request may have another one. */
static void add_rest(struct surface_run *run, const struct surface_suspect *s, uint64_t end_bytes)
{
	struct surface_suspect rest = { .first_bytes = s->bad_end,
		                        .end_bytes = end_bytes,
		                        .time_ns = s->time_ns,
		                        .scan_bytes = s->scan_bytes,
		                        .ns_per_byte = s->ns_per_byte,
		                        .rests = s->rests + 1,
		                        .is_silent = true };

	if (rest.first_bytes >= rest.end_bytes || s->error) /* of errors the rest is still in run->failures */
		return;
	if (rest.rests < RESTS_MOST)
		surface_suspect_add(run, &rest);
	else
		put_away(run, &rest, SURFACE_UNCHECKED);
}

/* ---- the stages ---- */

static void begin_bisection(struct surface_suspect *s)
{
	s->stage = STAGE_BISECT;
	s->good_end = s->first_bytes;
	s->bad_end = s->end_bytes;
	s->step = 0;
}

/* What was found takes the place of the request. */
static void narrow(struct surface_run *run, struct surface_suspect *s, enum surface_kind kind)
{
	uint64_t end_bytes = s->end_bytes;

	s->first_bytes = s->good_end;
	s->end_bytes = s->bad_end;
	s->is_silent = false;
	put_away(run, s, kind);
	add_rest(run, s, end_bytes);
}

/* By a neighbour, about which was halved as well. */
static bool is_reported(const struct surface_run *run, const struct surface_suspect *s)
{
	bool is = false;

	for (size_t i = 0; i < run->nplaces; i++)
		is |= run->places[i].kind == SURFACE_ALWAYS && run->places[i].first_bytes == s->good_end;
	return is;
}

/* For weak both sides of it must speak, so much each at least; then all of it counts. */
static double odds_for(const struct surface_suspect *s)
{
	return fmin(s->odds[0] + s->odds[1], ALONE_SIDES * fmin(s->odds[0], s->odds[1]));
}

/* What is asked alone: a place; or of what is halved all of it at first, and then its first half. */
static struct surface_suspect piece_of(const struct surface_run *run, const struct surface_suspect *s)
{
	uint32_t unit = run->range.unit_bytes;
	struct surface_suspect piece = *s;

	if (s->stage == STAGE_HALVE && s->is_halved)
		piece.bad_end = s->good_end + (s->bad_end - s->good_end + unit - 1) / unit / 2 * unit;
	return piece;
}

static void ask_anew(struct surface_suspect *s, enum surface_stage stage)
{
	s->stage = stage;
	s->odds[0] = s->odds[1] = 0.0;
	s->step = s->hits = 0;
}

/*
 * Time does not show where it is (a bridge cuts requests in pieces, the buffer reads on, late answers), or what was
 * found is well by itself: that and what lies near is asked alone, all of it, and if that is slow halves of it, down to
 * a sector.
 */
static void halve_alone(struct surface_run *run, struct surface_suspect *s, enum surface_kind kind)
{
	uint64_t near = (uint64_t)NEAR_UNITS * run->range.unit_bytes, end = run->range.end_bytes;

	if (!surface_can_doubt(run) || run->halved[kind] >= HALVED_EACH * (1 + run->halved_weak[kind])) {
		narrow(run, s, kind);
		return;
	}
	run->halved[kind]++;
	s->otherwise.first_bytes = s->good_end;
	s->otherwise.end_bytes = s->bad_end;
	s->otherwise.kind = kind;
	s->good_end = s->good_end > run->range.first_bytes + near ? s->good_end - near : run->range.first_bytes;
	s->bad_end = end - s->bad_end > near ? s->bad_end + near : end;
	ask_anew(s, STAGE_HALVE);
}

/* All of the request. */
static void halve_request(struct surface_run *run, struct surface_suspect *s)
{
	s->good_end = s->first_bytes;
	s->bad_end = s->end_bytes;
	halve_alone(run, s, SURFACE_UNCHECKED);
}

static void end_otherwise(struct surface_run *run, struct surface_suspect *s, bool is_well)
{
	enum surface_kind kind = s->otherwise.kind;

	s->good_end = s->otherwise.first_bytes;
	s->bad_end = s->otherwise.end_bytes;
	narrow(run, s, is_well && kind == SURFACE_UNCHECKED ? SURFACE_ONCE : kind);
}

static void after_again(struct surface_run *run, struct surface_suspect *s, const struct surface_outcome *o)
{
	s->again++;
	s->again_bad += o->is_bad;
	if (s->error ? o->is_bad : s->again == AGAIN_MOST && s->again_bad == s->again) {
		begin_bisection(s);
	} else if (s->again >= AGAIN_LEAST && !s->again_bad) {
		put_away(run, s, s->error ? SURFACE_HEALED : SURFACE_ONCE);
	} else if (s->again == AGAIN_MOST) {
		halve_request(run, s);
	}
}

static void after_bisection(struct surface_run *run, struct surface_suspect *s)
{
	if (s->bad_end - s->good_end > run->range.unit_bytes)
		return;

	if (s->error) { /* did it fail, or only what was read around it? */
		s->stage = STAGE_VERIFY;
		s->step = 1;
		return;
	}

	if (s->good_end == s->first_bytes && !s->rests && s->restarts++ < RESTARTS_MOST &&
	    s->first_bytes >=
	            run->range.first_bytes +
	                    (uint64_t)SHIFT_UNITS * run->range.unit_bytes) { /* some drives stumble where two requests
		                                                                meet: let them meet elsewhere */
		s->first_bytes -= SHIFT_UNITS * run->range.unit_bytes;
		begin_bisection(s);
		return;
	}
	s->stage = STAGE_VERIFY;
	s->step = s->good_end > s->first_bytes ? 0 : 1;
}

static uint64_t next_end(const struct surface_run *run, const struct surface_suspect *s)
{
	uint32_t unit = run->range.unit_bytes;

	return s->end_bytes - s->bad_end < unit ? s->end_bytes : s->bad_end + unit;
}

/* Sector by sector to the end of what cannot be read. */
static void after_extending(struct surface_run *run, struct surface_suspect *s, const struct surface_outcome *o)
{
	if (o->is_bad)
		s->bad_end = next_end(run, s);
	if (!o->is_bad || s->bad_end == s->end_bytes)
		put_away(run, s, SURFACE_UNREADABLE);
}

static void after_verifying(struct surface_run *run, struct surface_suspect *s, const struct surface_outcome *o)
{
	bool is_as_said = o->is_bad == (s->step == 1);

	if (s->error) {
		if (!o->is_bad)
			narrow(run, s, SURFACE_HEALED);
		else if (s->bad_end < s->end_bytes)
			s->stage = STAGE_EXTEND;
		else
			put_away(run, s, SURFACE_UNREADABLE);
		return;
	}

	if (!is_as_said && s->restarts++ < RESTARTS_MOST) {
		begin_bisection(s);
	} else if (!is_as_said) {
		halve_request(run, s);
	} else if (s->step++ == 1) {
		ask_anew(s, STAGE_ALONE);
	}
}

/* What a sector that takes so much longer than one beside it says: the logarithm of the odds. */
static double odds_of(const struct surface_run *run, const struct surface_suspect *s, double longer_ns)
{
	double x = longer_ns / run->rot.period_ns;

	if (!run->rot.is_rotating)
		return longer_ns > surface_limit_ns(run, s) ? 1.0 : -1.0;
	if (x < -1.1) /* nothing is so much quicker than another, unless that was disturbed, or the period is another */
		return -3 * ALONE_EACH;
	return x <= 0.0 ? -ALONE_EACH : x >= 1.0 ? ALONE_FOR : fmax(fmin(log(x / (1.0 - x)), ALONE_FOR), -ALONE_EACH);
}

static void after_halving(struct surface_run *run, struct surface_suspect *s)
{
	double against = s->odds[0] + s->odds[1];
	struct surface_suspect piece = piece_of(run, s);
	bool is_slow = odds_for(s) >= HALF_SURE;

	if (!is_slow && against > -HALF_SURE && s->step < ALONE_MOST)
		return;
	if (!is_slow && (!s->is_halved || against > -HALF_SURE)) {
		s->is_halved = true;
		end_otherwise(run, s, against <= -HALF_SURE);
		return;
	}
	s->is_halved = true;
	if (is_slow)
		s->bad_end = piece.bad_end;
	else
		s->good_end = piece.bad_end;
	ask_anew(s, s->bad_end - s->good_end > run->range.unit_bytes ? STAGE_HALVE : STAGE_ALONE);
}

static void after_alone(struct surface_run *run, struct surface_suspect *s)
{
	double odds = s->odds[0] + s->odds[1];
	bool is_weak = odds_for(s) >= ALONE_WEAK;

	if (!is_weak && odds > ALONE_WELL && s->step < ALONE_MOST)
		return;
	if (!run->rot.is_rotating && run->ses->devs[0].rotational == 1) { /* how it stood is not known */
		narrow(run, s, SURFACE_UNCHECKED);
	} else if (is_weak && !(s->is_halved && is_reported(run, s))) {
		run->halved_weak[s->otherwise.kind] += s->is_halved;
		narrow(run, s, SURFACE_ALWAYS);
	} else if (s->is_halved) {
		end_otherwise(run, s, odds <= ALONE_WELL);
	} else if (s->rests && s->good_end == s->first_bytes && odds < 0) { /* only where two requests met */
		put_away(run, s, SURFACE_ONCE);
	} else {
		halve_alone(run, s, odds > ALONE_WELL || !run->rot.is_rotating ? SURFACE_UNCHECKED : SURFACE_PASSING);
	}
}

static int step_alone(struct surface_run *run, struct surface_suspect *s, struct err *err)
{
	struct surface_suspect piece = piece_of(run, s);
	bool is_hit = false;
	double longer_ns;
	int r = surface_read_alone(run, &piece, &longer_ns, &is_hit, err);

	if (r < 0)
		return r;
	if (surface_has_failed(&run->failures, s->good_end, s->bad_end)) {
		put_away(run, s, SURFACE_UNREADABLE);
		return 0;
	}
	if (isnan(longer_ns)) {
		s->hits += is_hit;
		run->has_hits |= is_hit;
		return 0;
	}
	s->odds[surface_is_turn_before(s)] += odds_of(run, s, longer_ns);
	s->step++;
	if (s->stage == STAGE_HALVE)
		after_halving(run, s);
	else
		after_alone(run, s);
	return 0;
}

static void what_to_read(const struct surface_run *run, const struct surface_suspect *s, uint64_t *ret_first,
                         uint64_t *ret_end)
{
	uint32_t unit = run->range.unit_bytes;

	*ret_first = s->first_bytes;
	*ret_end = s->end_bytes;
	if (s->stage == STAGE_BISECT)
		*ret_end = s->good_end + ((s->bad_end - s->good_end + unit - 1) / unit + 1) / 2 * unit;

	else if (s->stage == STAGE_VERIFY && s->error)
		*ret_first = s->good_end, *ret_end = s->bad_end;
	else if (s->stage == STAGE_VERIFY)
		*ret_end = s->step == 0 ? s->good_end : s->bad_end;
	else if (s->stage == STAGE_EXTEND)
		*ret_first = s->bad_end, *ret_end = next_end(run, s);
}

static int step(struct surface_run *run, struct surface_suspect *s, struct err *err)
{
	struct surface_outcome o;
	uint64_t first, end;
	int r;

	if (s->hits > HITS_MOST) {
		if (s->stage == STAGE_HALVE || s->is_halved)
			end_otherwise(run, s, false);
		else
			put_away(run, s, SURFACE_UNCHECKED);
		return 0;
	}
	if (s->stage == STAGE_ALONE || s->stage == STAGE_HALVE)
		return step_alone(run, s, err);
	what_to_read(run, s, &first, &end);
	if (s->stage == STAGE_BISECT && end >= s->bad_end) { /* nothing to halve */
		after_bisection(run, s);
		return 0;
	}
	r = surface_read_behind(run, s, first, end, &o, err);
	if (r < 0 || session_is_over(run->ses))
		return r;
	if (!o.is_known) {
		s->hits++;
		run->has_hits = true;
		return 0;
	}
	if (o.error && !s->error) { /* it was slow, and cannot be read now */
		put_away(run, s, SURFACE_UNREADABLE);
		return 0;
	}
	s->again_ns = o.is_bad && o.time_ns > s->again_ns ? o.time_ns : s->again_ns;
	if (s->stage == STAGE_AGAIN) {
		after_again(run, s, &o);
	} else if (s->stage == STAGE_BISECT) {
		if (o.is_bad)
			s->bad_end = end;
		else
			s->good_end = end;
		after_bisection(run, s);
	} else if (s->stage == STAGE_EXTEND) {
		after_extending(run, s, &o);
	} else {
		after_verifying(run, s, &o);
	}
	return 0;
}

/* ---- rounds ---- */

/* From the end of the disk to its start: what the drive reads ahead was then read already. */
static int by_place_down(const void *a, const void *b)
{
	const struct surface_suspect *x = a, *y = b;

	return x->first_bytes > y->first_bytes ? -1 : x->first_bytes < y->first_bytes;
}

static int round_of_all(struct surface_run *run, struct err *err)
{
	size_t n = run->nactive, kept = 0; /* rests that are added lie behind them */
	int r = 0;

	for (size_t i = 0; r == 0 && i < n && !surface_is_over(run); i++) {
		struct surface_suspect s = run->active[i]; /* the list may grow meanwhile */

		surface_give_way(run);
		r = step(run, &s, err);
		run->active[i] = s;
	}
	for (size_t i = 0; i < run->nactive; i++)
		if (run->active[i].stage != STAGE_END)
			run->active[kept++] = run->active[i];
	run->nactive = kept;
	return r;
}

/* One after the other, each down to its sectors: an error is in no cache, and nothing has to be read in between. */
static int narrow_errors(struct surface_run *run, struct err *err)
{
	const struct surface_failed *f;
	int r = 0;

	while (r == 0 && surface_wants_errors(run) && !surface_is_over(run)) {
		uint64_t start_ns = surface_now(run), block = run->eng->cfg.buf_bytes / 2, len;
		struct surface_suspect s;

		f = surface_next_unproven(&run->failures, run->position);
		len = f->end_bytes - f->first_bytes;
		s = (struct surface_suspect){ .first_bytes = f->first_bytes,
			                      .end_bytes = f->first_bytes + (len < block ? len : block),
			                      .time_ns = f->time_ns,
			                      .scan_bytes = len < block ? len : block,
			                      .ns_per_byte = NAN,
			                      .error = f->error,
			                      .is_silent = f->is_rest };
		session_progress(run->ses, "unreadable places", -1.0, "%" PRIu64, s.first_bytes);
		while (r == 0 && s.stage != STAGE_END && !surface_is_over(run)) {
			surface_give_way(run);
			r = step(run, &s, err);
		}
		run->again_spent_ns[AGAIN_OF_ERRORS] += surface_now(run) - start_ns;
	}
	return r;
}

int surface_again(struct surface_run *run, struct err *err)
{
	uint64_t start_ns = surface_now(run), slow_ns;
	int r = narrow_errors(run, err);

	slow_ns = surface_now(run);
	while (r == 0 && run->nactive && !surface_is_over(run)) {
		session_progress(run->ses, "second readings", -1.0, "%zu places", run->nactive);
		qsort(run->active, run->nactive, sizeof(run->active[0]), by_place_down);
		/* in a cache that keeps pieces, reading the others twice has pushed out as many */
		r = surface_forget(run, run->rot.flush_bytes > run->range.unit_bytes ? 0 : 2 * (run->nactive - 1), err);
		run->has_hits = false;
		if (r == 0)
			r = round_of_all(run, err);
		if (run->has_hits && run->flush_reads < FLUSH_TIMES * (run->rot.flush_reads + SURFACE_FLUSH_LEAST))
			run->flush_reads *= 2;
	}
	run->again_end_ns = surface_now(run);
	run->again_last_ns = run->again_end_ns - start_ns;
	run->again_spent_ns[AGAIN_OF_SLOW] += run->again_end_ns - slow_ns;
	return r;
}
