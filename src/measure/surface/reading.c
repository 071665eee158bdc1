/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One second reading: behind a lead-in that takes the arm there, or alone beside another place. And what has to be
 * learnt before: the rotation, the lead-in, what the drive's buffer takes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measure/surface/surface.h"

#define LEAD_READINGS   9
#define BUFFER_READINGS 5              /* blocks; the longest of them decides whether it was the buffer (a choice) */
#define BUFFER_MOST     0.9            /* of a revolution: a block that the medium gives again takes a whole one */
#define HIT_PART        0.4            /* of the medium's time: quicker, and the drive's cache answered */
#define HIT_LEAST       (128u << 10)   /* of less, the overhead of a command is as long as the medium's time */
#define ROTATION_NS     (4 * NS_PER_S) /* what a drive's rotation takes to be found, at most: 240 to 1000 turns */
#define FAR_BYTES       (32ull << 20)  /* the actuator moves, and what was read ahead does not reach */
#define BESIDE_BYTES    (4ull << 20)   /* another track, in the same zone */

/* For the medium: the drive's cache answered. */
static bool is_too_quick(double took_ns, double usual_ns, uint64_t len)
{
	return len >= HIT_LEAST && took_ns <= HIT_PART * usual_ns;
}

struct reader {
	struct sink sink; /* first */
	struct surface_run *run;
	const struct list_item *items;
	struct {
		uint64_t submit_ns, done_ns;
		int error; /* 0: good; 1: short */
		bool is_done, is_late;
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
	r->v[req->tag].is_late = req->is_late;
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

/* Half of what is looked for: a revolution, or where none was found what the request took too long. */
double surface_limit_ns(const struct surface_run *run, const struct surface_suspect *s)
{
	if (run->rot.is_rotating)
		return run->rot.period_ns / 2;
	return fmax(SURFACE_LEAST_OVER_NS, ((double)s->time_ns - s->ns_per_byte * (double)s->scan_bytes) / 2);
}

/* [first, end) behind a lead-in of one request, or of two. */
int surface_read_behind(struct surface_run *run, struct surface_suspect *s, uint64_t first, uint64_t end,
                        struct surface_outcome *ret, struct err *err)
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

	*ret = (struct surface_outcome){ 0 };
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
	/* They came the wrong way round, or this program did not run: no word about either. */
	if (r.v[2 - skip].done_ns <= before_ns || r.v[1 - skip].is_late || r.v[2 - skip].is_late)
		return 0;
	ret->time_ns =
		r.v[2 - skip].done_ns - (before_ns > r.v[2 - skip].submit_ns ? before_ns : r.v[2 - skip].submit_ns);
	usual = s->ns_per_byte * (double)items[2].len_bytes;
	took = (double)ret->time_ns;
	ret->is_known = r.v[1 - skip].error == 0 && !isnan(usual) && !is_too_quick(took, usual, items[2].len_bytes);
	ret->is_bad = took > usual + surface_limit_ns(run, s);
	return 0;
}

int surface_read_alone(struct surface_run *run, const struct surface_suspect *s, double *ret_ns, bool *ret_is_hit,
                       struct err *err)
{
	uint64_t size = run->ses->devs[0].size_bytes, at = s->good_end, len = s->bad_end - s->good_end,
		 unit = run->range.unit_bytes, places[4];
	/* far by chance: the disk stands otherwise each time, also where tracks follow each other regularly */
	uint64_t far = FAR_BYTES + timed_random(&run->timed, 0, 8 * (uint64_t)FAR_BYTES),
		 beside = BESIDE_BYTES + s->step * (BESIDE_BYTES / 3) +
	                  timed_random(&run->timed, 0, BESIDE_BYTES / 3); /* halves ask again from the same place */
	struct timed t = run->timed;
	double access_ns[4], quick_ns;
	uint64_t yields = run->gentle.yields;
	int r;

	if (far + beside > size / 2) {
		far = size / 8 + timed_random(&run->timed, 0, size / 8);
		beside = beside > size / 16 ? size / 64 + s->step * (size / 512) : beside;
	}
	/* Behind it and before it by turns: on one side there may be another disk of a volume, or nothing that was ever
	 * written. */
	if (surface_is_turn_before(s) ? at >= far + beside : at + far + beside + len > size) {
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
	quick_ns = fmin(access_ns[1], access_ns[3]);
	*ret_is_hit =
		timed_may_be_hit(&run->rot, quick_ns) || is_too_quick(quick_ns, s->ns_per_byte * (double)len, len);
	*ret_is_hit |= isnan(access_ns[0] + access_ns[1] + access_ns[2] + access_ns[3]); /* nor is what failed */
	if (!*ret_is_hit)
		*ret_ns = access_ns[3] - access_ns[1];
	return r;
}

/* ---- what has to be learnt ---- */

int surface_forget(struct surface_run *run, size_t others, struct err *err)
{
	struct rotation some = run->rot;

	some.flush_reads = run->flush_reads > others + SURFACE_FLUSH_LEAST ? run->flush_reads - (uint32_t)others
	                                                                   : SURFACE_FLUSH_LEAST;
	return timed_forget(&run->timed, &some, 0, 0, err);
}

/*
 * Drives that read ahead only after two requests in a row pass what is behind the first by the time that they know of
 * it, and wait for it to come around: then a lead-in of two is it.
 */
static int learn_leads(struct surface_run *run, struct err *err)
{
	double ns[2][LEAD_READINGS];
	int r = 0;

	for (size_t i = 0; r == 0 && i < 2 * LEAD_READINGS && !session_is_over(run->ses); i++) {
		struct surface_suspect s = { .first_bytes =
			                             timed_random(&run->timed, 0, run->ses->devs[0].size_bytes / 2),
			                     .again = 1 };
		struct surface_outcome o;

		surface_give_way(run);
		run->leads = 1 + i % 2;
		r = surface_read_behind(run, &s, s.first_bytes, s.first_bytes + run->range.unit_bytes, &o, err);
		ns[i % 2][i / 2] = o.is_known && !o.error ? (double)o.time_ns : (double)NAN;
	}
	run->leads = 1;
	if (r == 0 && !session_is_over(run->ses) &&
	    stats_median(ns[0], stats_keep_finite(ns[0], LEAD_READINGS)) >
	            stats_median(ns[1], stats_keep_finite(ns[1], LEAD_READINGS)) + run->rot.period_ns / 2)
		run->leads = 2;
	return r;
}

/* A block at this place that is in the drive's buffer, asked for again and again as the scan does. */
static int read_buffered(struct surface_run *run, uint64_t at, uint32_t depth, double *ret_ns, struct err *err)
{
	uint64_t last_ns = 0;
	struct list_item items[4];
	struct reader r;
	int code;

	for (size_t i = 0; i < 4; i++)
		items[i] = (struct list_item){ .offset_bytes = at, .len_bytes = run->range.block_bytes };
	code = read_list(run, items, 4, depth, &r, err);
	for (size_t i = 0; i < 4; i++) {
		if (!r.v[i].is_done || r.v[i].error)
			return code;
		last_ns = r.v[i].done_ns > last_ns ? r.v[i].done_ns : last_ns;
	}
	*ret_ns = (double)(last_ns - r.v[0].done_ns) / 3.0;
	return code;
}

int surface_learn_buffer(struct surface_run *run, uint32_t depth, struct err *err)
{
	uint64_t block = run->range.block_bytes, at = run->position - run->range.unit_bytes;
	double ns[BUFFER_READINGS], most_ns = 0.0;
	size_t n = 0;
	int r = 0;

	if (run->position <
	    run->range.first_bytes + (BUFFER_READINGS + 1) * block) /* nothing that is still to be scanned */
		return 0;
	run->blind.buffer_ns = 0.0;
	if (!run->rot.is_rotating || run->verifier)
		return 0;
	while (n < BUFFER_READINGS && r == 0 && !surface_is_over(run)) {
		surface_give_way(run);
		ns[n] = NAN;
		at -= block;
		r = read_buffered(run, at, depth, &ns[n], err);
		most_ns = fmax(most_ns, ns[n++]);
	}
	if (most_ns < BUFFER_MOST * run->rot.period_ns)
		run->blind.buffer_ns = stats_median(ns, stats_keep_finite(ns, n));
	return r;
}

int surface_learn_rotation(struct surface_run *run, struct err *err)
{
	int r = 0;

	run->rot = (struct rotation){ .period_ns = NAN, .hit_most_ns = NAN };
	run->leads = 1;
	if (run->ses->devs[0].rotational != 0)
		r = rotation_find(&run->timed, ROTATION_NS, &run->rot, err);
	if (r == 0 && run->rot.is_rotating)
		r = learn_leads(run, err);
	run->is_known = r == 0 && !surface_is_over(run);
	run->flush_reads = run->rot.flush_reads + SURFACE_FLUSH_LEAST;
	run->start_ns = run->again_end_ns = surface_now(run); /* a portion is of the scan */
	return r;
}
