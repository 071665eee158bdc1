/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Second readings. Suspects are read again in rounds, one reading of each in a round, and reads elsewhere between the rounds put the drive's cache out of
 * the way. A reading is of a lead-in that takes the arm there, and what is in question behind it, so that the time between the two
 * completions is the medium's. What is slow each time is halved down to a sector, and that sector is read alone beside another: only
 * what is slow then as well is weak itself; else the drive goes elsewhere there (a sector moved away, a track skipped).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measure/surface/surface.h"

#define LEAD_READINGS  9
#define RESTS_MOST     16           /* bad places of a request that are told apart */
#define AGAIN_LEAST    2            /* good readings, and nothing more is asked */
#define AGAIN_MOST     3            /* readings in all: what a busy moment does to all three is rare */
#define RESTARTS_MOST  2            /* of a bisection that its proof denied: then it is only sometimes slow */
#define SHIFT_UNITS    37           /* no power of two, so that requests meet nowhere where they met before */
#define HITS_MOST      12           /* answers of the drive's cache in place of the medium's, before it is given up */
#define HIT_PART       0.4          /* of the medium's time: quicker, and the drive's cache answered */
#define HIT_LEAST      (128u << 10) /* of less, the overhead of a command is as long as the medium's time */
#define FLUSH_LEAST    2            /* reads elsewhere */
#define FLUSH_TIMES    4 /* as many reads elsewhere as were learnt, at most: a late completion looks like a hit */
#define ROTATION_NS    (4 * NS_PER_S)   /* what a drive's rotation takes to be found, at most: 240 to 1000 turns */
#define AGAIN_AFTER_NS (300 * NS_PER_S) /* later than what disturbed the scan, and seldom enough to cost no rate */
#define AGAIN_FULL     (SURFACE_ACTIVE * 3 / 4) /* room for those that are under way, and for their rests */
#define SHARE          0.15                     /* of the time of the scan, */
#define SHARE_LEAST_NS (300 * NS_PER_S)         /* and this much, may go into second readings */
#define FAR_BYTES      (32ull << 20)            /* the arm moves, and what was read ahead does not reach */
#define BESIDE_BYTES   (4ull << 20)             /* another track, in the same zone */
/*
 * A sector beside differs by up to a revolution either way, as the disk happens to stand: by x of one, as often as 1 - |x| says, and a weak one by one more. The
 * logarithm of the odds, summed up (sequential test of Wald): so much for weak is an error in 100000, for well one in 3000. No single case says more than 12 to 1, as
 * some readings lose a revolution of their own; where a track lies a quarter of a turn off its place each says 3 to 1 in 3 of 4 cases.
 */
#define ALONE_WEAK  11.5
#define ALONE_WELL  (-8.0)
#define ALONE_EACH  2.5 /* against it; for it less, as a period that is wrong by half makes some cases look so */
#define ALONE_FOR   1.7
#define ALONE_MOST  32
#define ALONE_SIDES 3.0 /* a third of it at least from either side of the place */

/* ---- the lists ---- */

static void put_away(struct surface_run *run, struct surface_suspect *s, enum surface_kind kind)
{
	s->kind = kind;
	s->stage = STAGE_END;
	if (s->is_silent && (kind == SURFACE_ONCE || kind == SURFACE_HEALED))
		return;
	run->nkinds[kind]++;
	if (run->nplaces < SURFACE_PLACES)
		run->places[run->nplaces++] = *s;
}

/* Of what second readings may take, this part is left. */
static double again_left(const struct surface_run *run)
{
	return 1.0 - (double)run->again_spent_ns / (SHARE * (double)run->scan_ns + (double)SHARE_LEAST_NS);
}

bool surface_can_doubt(const struct surface_run *run)
{
	return again_left(run) > 0.5;
}

void surface_suspect_add(struct surface_run *run, const struct surface_suspect *how)
{
	struct surface_suspect s = *how;

	if (!s.is_silent) {
		run->failed += s.error != 0;
		run->slow += !s.error;
	}

	if (run->nactive == SURFACE_ACTIVE || again_left(run) < 0.0)
		put_away(run, &s, SURFACE_UNCHECKED);
	else
		run->active[run->nactive++] = s;
}

/* Rounds for many cost little more than for one: where they take long, they are kept apart. */
bool surface_wants_again(const struct surface_run *run)
{
	uint64_t apart_ns = (uint64_t)((double)run->again_last_ns / SHARE);

	return run->nactive >= AGAIN_FULL ||
	       (run->nactive &&
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
		                        .error = s->error,
		                        .rests = s->rests + 1,
		                        .is_silent = true };

	if (rest.first_bytes < rest.end_bytes && rest.rests < RESTS_MOST)
		surface_suspect_add(run, &rest);
}

/* ---- one reading ---- */

struct reader {
	struct sink sink; /* first */
	struct surface_run *run;
	const struct list_item *items;
	struct {
		uint64_t submit_ns, done_ns;
		int error; /* 0: good; 1: short */
		bool is_done;
	} v[4];
	size_t n;
};

static void reader_take(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct reader *r = (struct reader *)sink;

	r->run->manners.took(r->run, req, is_fault);
	r->v[req->tag].submit_ns = req->submit_ns;
	r->v[req->tag].done_ns = req->done_ns;
	r->v[req->tag].error = surface_error(req, is_fault);
	r->v[req->tag].is_done = true;
}

static int read_list(struct surface_run *run, struct list_item *items, size_t n, uint32_t depth, struct reader *r,
                     struct err *err)
{
	struct engine *eng = run->verifier ? run->verifier : run->eng;
	struct load load = { .targets = run->ses->targets, .ntargets = 1, .sink = &r->sink, .depth = depth };
	struct list_feeder feeder;
	struct load_stats stats;

	memset(r, 0, sizeof(*r));
	r->sink.take = reader_take;
	r->run = run;
	r->n = n;
	for (size_t i = 0; i < n; i++)
		items[i].op = run->verifier ? IO_VERIFY : IO_READ;
	list_feeder_init(&feeder, items, n);
	load.feeder = &feeder.f;
	return session_load(run->ses, &load, eng, &stats, err);
}

struct outcome {
	bool is_known, is_bad;
	int error;
	uint64_t time_ns;
};

/* Half of what is looked for: a revolution, or where none was found what the request took too long. */
static double limit_ns(const struct surface_run *run, const struct surface_suspect *s)
{
	if (run->rot.is_rotating)
		return run->rot.period_ns / 2;
	return fmax(SURFACE_LEAST_OVER_NS, ((double)s->time_ns - s->ns_per_byte * (double)s->scan_bytes) / 2);
}

/* [first, end) behind a lead-in of one request, or of two. */
static int read_behind(struct surface_run *run, struct surface_suspect *s, uint64_t first, uint64_t end,
                       struct outcome *ret, struct err *err)
{
	uint32_t unit = run->range.unit_bytes;
	uint64_t len = s->again % 2 ? run->range.block_bytes / 2 : run->range.block_bytes; /* cut in another way */
	uint64_t lead = first < len ? 0 : first - len;
	uint64_t from = lead == first && !s->error ? first + unit : first;
	uint64_t middle = lead + (run->leads - 1) * ((from - lead) / 2 / unit * unit);
	struct list_item items[3] = { { .offset_bytes = lead, .len_bytes = (uint32_t)(middle - lead) },
		                      { .offset_bytes = middle, .len_bytes = (uint32_t)(from - middle) },
		                      { .offset_bytes = from, .len_bytes = (uint32_t)(end - from) } };
	size_t skip = s->error ? 2 : middle == lead;
	struct reader r;
	double usual, took;
	uint64_t before_ns;
	int code;

	*ret = (struct outcome){ 0 };
	if (from >= end) { /* the very first sector: alone */
		items[1].len_bytes = items[2].len_bytes = (uint32_t)(end - first);
		items[2].offset_bytes = first;
	}
	code = read_list(run, items + skip, 3 - skip, (uint32_t)(3 - skip), &r, err);
	if (code < 0 || !r.v[2 - skip].is_done)
		return code;
	ret->error = r.v[2 - skip].error;
	if (s->error || ret->error) {
		ret->is_known = true;
		ret->is_bad = ret->error != 0;
		ret->time_ns = r.v[2 - skip].done_ns - r.v[2 - skip].submit_ns;
		return 0;
	}
	before_ns = r.v[1 - skip].done_ns;
	if (r.v[2 - skip].done_ns <= before_ns) /* they came the wrong way round: no word about either */
		return 0;
	ret->time_ns =
		r.v[2 - skip].done_ns - (before_ns > r.v[2 - skip].submit_ns ? before_ns : r.v[2 - skip].submit_ns);
	usual = s->ns_per_byte * (double)items[2].len_bytes;
	took = (double)ret->time_ns;
	ret->is_known = r.v[1 - skip].error == 0 && !isnan(usual) &&
	                (items[2].len_bytes < HIT_LEAST || took > HIT_PART * usual);
	ret->is_bad = took > usual + limit_ns(run, s);
	return 0;
}

int surface_read_alone(struct surface_run *run, const struct surface_suspect *s, double *ret_ns, bool *ret_is_hit,
                       struct err *err)
{
	uint64_t size = run->ses->devs[0].size_bytes, at = s->good_end, len = s->bad_end - s->good_end,
		 unit = run->range.unit_bytes, places[4];
	/* far by chance: the disk stands otherwise each time, also where tracks follow each other regularly */
	uint64_t far = FAR_BYTES + timed_random(&run->timed, 0, 8 * (uint64_t)FAR_BYTES),
		 beside = BESIDE_BYTES + s->step * (BESIDE_BYTES / 3);
	struct timed t = run->timed;
	double access_ns[4];
	uint64_t yields = run->gentle.yields;
	int r;

	if (far + beside > size / 2) {
		far = size / 8 + timed_random(&run->timed, 0, size / 8);
		beside = beside > size / 16 ? size / 64 + s->step * (size / 512) : beside;
	}
	/* Behind it and before it by turns: on one side there may be another disk of a volume, or nothing that was ever written. */
	if ((s->step + s->hits) % 2 ? at >= far + beside : at + far + beside + len > size) {
		far = -far;
		beside = -beside;
	}
	places[0] = at + beside + far;
	places[1] = at + beside;
	places[2] = at + far;
	places[3] = at;
	for (size_t i = 0; i < 3; i++)
		places[i] -= places[i] % unit;
	t.block_bytes = (uint32_t)len;
	if (run->verifier) {
		t.eng = run->verifier;
		t.op = IO_VERIFY;
	}
	*ret_ns = NAN;
	r = timed_reads(&t, places, 4, access_ns, NULL, err);
	if (run->gentle.yields > yields) /* the arm came from elsewhere */
		return r;
	*ret_is_hit = !(fmin(access_ns[1], access_ns[3]) > run->rot.hit_most_ns) && !isnan(run->rot.hit_most_ns);
	if (!*ret_is_hit && !isnan(access_ns[0]) && !isnan(access_ns[2]))
		*ret_ns = access_ns[3] - access_ns[1];
	return r;
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

static void after_again(struct surface_run *run, struct surface_suspect *s, const struct outcome *o)
{
	s->again++;
	s->again_bad += o->is_bad;
	if (s->error ? o->is_bad : s->again == AGAIN_MOST && s->again_bad == s->again) {
		begin_bisection(s);
	} else if (s->again >= AGAIN_LEAST && !s->again_bad) {
		put_away(run, s, s->error ? SURFACE_HEALED : SURFACE_ONCE);
	} else if (s->again == AGAIN_MOST) {
		put_away(run, s, SURFACE_SOMETIMES);
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
	    s->first_bytes >
	            SHIFT_UNITS *
	                    run->range
	                            .unit_bytes) { /* some drives stumble where two requests meet: let them meet elsewhere */
		s->first_bytes -= SHIFT_UNITS * run->range.unit_bytes;
		begin_bisection(s);
		return;
	}
	s->stage = STAGE_VERIFY;
	s->step = s->good_end > s->first_bytes ? 0 : 1;
}

/* Sector by sector to the end of what cannot be read. */
static void after_extending(struct surface_run *run, struct surface_suspect *s, const struct outcome *o)
{
	if (o->is_bad)
		s->bad_end += run->range.unit_bytes;
	if (!o->is_bad || s->bad_end + run->range.unit_bytes > s->end_bytes)
		narrow(run, s, SURFACE_UNREADABLE);
}

static void after_verifying(struct surface_run *run, struct surface_suspect *s, const struct outcome *o)
{
	bool is_as_said = o->is_bad == (s->step == 1);

	if (s->error) {
		if (o->is_bad)
			s->stage = STAGE_EXTEND;
		else
			put_away(run, s, SURFACE_HEALED);
		return;
	}

	if (!is_as_said && s->restarts++ < RESTARTS_MOST) {
		begin_bisection(s);
	} else if (!is_as_said) {
		put_away(run, s, SURFACE_SOMETIMES);
	} else if (s->step++ == 1) {
		s->stage = STAGE_ALONE;
		s->step = 0;
	}
}

/* What a sector that takes so much longer than one beside it says: the logarithm of the odds. */
static double odds_of(const struct surface_run *run, const struct surface_suspect *s, double longer_ns)
{
	double x = longer_ns / run->rot.period_ns;

	if (!run->rot.is_rotating)
		return longer_ns > limit_ns(run, s) ? 1.0 : -1.0;
	if (x < -1.1) /* nothing is so much quicker than another, unless that was disturbed, or the period is another */
		return -3 * ALONE_EACH;
	return x <= 0.0 ? -ALONE_EACH : x >= 1.0 ? ALONE_FOR : fmax(fmin(log(x / (1.0 - x)), ALONE_FOR), -ALONE_EACH);
}

static int step_alone(struct surface_run *run, struct surface_suspect *s, struct err *err)
{
	bool is_hit = false;
	double longer_ns, weak;
	int r = surface_read_alone(run, s, &longer_ns, &is_hit, err);

	if (r < 0)
		return r;
	if (isnan(longer_ns)) {
		s->hits += is_hit;
		run->has_hits |= is_hit;
		return 0;
	}
	s->odds += odds_of(run, s, longer_ns);
	s->odds_before += (s->step + s->hits) % 2 ? odds_of(run, s, longer_ns) : 0.0;
	s->step++;
	weak = fmin(s->odds, ALONE_SIDES * fmin(s->odds_before, s->odds - s->odds_before));
	if (s->odds > ALONE_WELL && weak < ALONE_WEAK && s->step < ALONE_MOST)
		return 0;
	if (!run->rot.is_rotating && run->ses->devs[0].rotational == 1) /* how it stood is not known */
		narrow(run, s, SURFACE_SOMETIMES);
	else if (s->rests && s->good_end == s->first_bytes && s->odds < 0) /* only where two requests met */
		put_away(run, s, SURFACE_ONCE);
	else
		narrow(run, s,
		       weak >= ALONE_WEAK                              ? SURFACE_ALWAYS
		       : s->odds > ALONE_WELL || !run->rot.is_rotating ? SURFACE_SOMETIMES
		                                                       : SURFACE_PASSING);
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
		*ret_end = (*ret_first = s->bad_end) + unit;
}

static int step(struct surface_run *run, struct surface_suspect *s, struct err *err)
{
	struct outcome o;
	uint64_t first, end;
	int r;

	if (s->hits > HITS_MOST) {
		put_away(run, s, SURFACE_UNCHECKED);
		return 0;
	}
	if (s->stage == STAGE_ALONE)
		return step_alone(run, s, err);
	what_to_read(run, s, &first, &end);
	if (s->stage == STAGE_BISECT && end >= s->bad_end) { /* nothing to halve */
		after_bisection(run, s);
		return 0;
	}
	r = read_behind(run, s, first, end, &o, err);
	if (r < 0 || session_is_over(run->ses))
		return r;
	if (!o.is_known) {
		s->hits++;
		run->has_hits = true;
		return 0;
	}
	if (o.error && !s->error) { /* it was slow, and cannot be read now */
		s->error = o.error;
		begin_bisection(s);
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

int surface_forget(struct surface_run *run, size_t others, struct err *err)
{
	struct rotation some = run->rot;

	some.flush_reads = run->flush_reads > others + FLUSH_LEAST ? run->flush_reads - (uint32_t)others : FLUSH_LEAST;
	return timed_forget(&run->timed, &some, 0, 0, err);
}

/*
 * Drives that read ahead only after two requests in a row pass what is behind the first by the time that they know of it, and wait for it to come around: then
 * a lead-in of two is it.
 */
static int learn_leads(struct surface_run *run, struct err *err)
{
	double ns[2][LEAD_READINGS];
	int r = 0;

	for (size_t i = 0; r == 0 && i < 2 * LEAD_READINGS && !session_is_over(run->ses); i++) {
		struct surface_suspect s = { .first_bytes =
			                             timed_random(&run->timed, 0, run->ses->devs[0].size_bytes / 2),
			                     .again = 1 };
		struct outcome o;

		surface_give_way(run);
		run->leads = 1 + i % 2;
		r = read_behind(run, &s, s.first_bytes, s.first_bytes + run->range.unit_bytes, &o, err);
		ns[i % 2][i / 2] = o.is_known && !o.error ? (double)o.time_ns : (double)NAN;
	}
	run->leads = 1;
	if (r == 0 && !session_is_over(run->ses) &&
	    stats_median(ns[0], stats_keep_finite(ns[0], LEAD_READINGS)) >
	            stats_median(ns[1], stats_keep_finite(ns[1], LEAD_READINGS)) + run->rot.period_ns / 2)
		run->leads = 2;
	return r;
}

int surface_learn_rotation(struct surface_run *run, struct err *err)
{
	int r = 0;

	if (!run->is_known) {
		run->rot = (struct rotation){ .period_ns = NAN, .hit_most_ns = NAN };
		run->leads = 1;
		if (run->ses->devs[0].rotational != 0)
			r = rotation_find(&run->timed, ROTATION_NS, &run->rot, err);
		if (r == 0 && run->rot.is_rotating)
			r = learn_leads(run, err);
		run->is_known = r == 0 && !surface_is_over(run);
	}
	run->flush_reads = run->rot.flush_reads + FLUSH_LEAST;
	run->again_end_ns = surface_now(run);
	return r;
}

static int round_of_all(struct surface_run *run, struct err *err)
{
	size_t n = run->nactive, kept = 0; /* rests that are added lie behind them */
	int r = 0;

	for (size_t i = 0; r == 0 && i < n && !surface_is_over(run); i++) {
		struct surface_suspect s = run->active[i]; /* the list may grow meanwhile */

		surface_give_way(run);
		do { /* an error is in no cache: nothing has to be read in between */
			r = step(run, &s, err);
		} while (r == 0 && s.error && s.stage != STAGE_END && !session_is_over(run->ses));
		run->active[i] = s;
	}
	for (size_t i = 0; i < run->nactive; i++)
		if (run->active[i].stage != STAGE_END)
			run->active[kept++] = run->active[i];
	run->nactive = kept;
	return r;
}

int surface_again(struct surface_run *run, struct err *err)
{
	uint64_t start_ns = surface_now(run);
	int r = 0;

	while (r == 0 && run->nactive && !surface_is_over(run)) {
		session_progress(run->ses, "second readings", -1.0, "%zu places", run->nactive);
		qsort(run->active, run->nactive, sizeof(run->active[0]), by_place_down);
		/* in a cache that keeps pieces, reading the others twice has pushed out as many */
		r = surface_forget(run, run->rot.flush_bytes > run->range.unit_bytes ? 0 : 2 * (run->nactive - 1), err);
		run->has_hits = false;
		if (r == 0)
			r = round_of_all(run, err);
		if (run->has_hits && run->flush_reads < FLUSH_TIMES * (run->rot.flush_reads + FLUSH_LEAST))
			run->flush_reads *= 2;
	}
	run->again_end_ns = surface_now(run);
	run->again_last_ns = run->again_end_ns - start_ns;
	run->again_spent_ns += run->again_last_ns;
	return r;
}
