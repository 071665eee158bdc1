/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One second reading: once, or alone beside another place. And what has to be learnt before: the rotation, and what the
 * drive's buffer takes.
 */
#include <stdlib.h>
#include <string.h>

#include "measure/surface/surface.h"

#define BUFFER_READINGS 5              /* blocks */
#define BUFFER_MOST     0.9            /* of a revolution: a block that the medium gives again takes a whole one */
#define ROTATION_NS     (4 * NS_PER_S) /* what a drive's rotation takes to be found, at most: 240 to 1000 turns */
#define ROTATION_PART   3              /* of --time, for all attempts: a host that answers late takes many (a choice) */
#define FAR_BYTES       (32ull << 20)  /* the actuator moves, and what was read ahead does not reach */
#define BESIDE_BYTES    (4ull << 20)   /* another track, in the same zone */

struct reader {
	struct sink sink; /* first */
	struct surface_run *run;
	struct {
		uint64_t submit_ns, done_ns;
		bool is_read;
	} v[SURFACE_ROW + 1];
};

static void reader_take(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct reader *r = (struct reader *)sink;

	r->run->manners.took(r->run, req, is_fault);
	r->v[req->tag].submit_ns = req->submit_ns;
	r->v[req->tag].done_ns = req->done_ns;
	r->v[req->tag].is_read = !is_fault;
}

static int read_list(struct surface_run *run, struct list_item *items, size_t n, uint32_t depth, struct reader *ret,
                     struct err *err)
{
	struct engine *eng = run->verifier ? run->verifier : run->eng;
	struct load load = { .targets = run->ses->targets, .ntargets = 1, .sink = &ret->sink, .depth = depth };
	struct list_feeder feeder;
	struct load_stats stats;

	*ret = (struct reader){ .sink = { reader_take }, .run = run };
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

int surface_read_once(struct surface_run *run, uint64_t first, uint64_t end, bool *ret_is_known, struct err *err)
{
	struct list_item item = { .offset_bytes = first, .len_bytes = (uint32_t)(end - first) };
	struct reader r;
	int code = read_list(run, &item, 1, 1, &r, err);

	*ret_is_known =
		!r.v[0].is_read || !surface_is_cached(run, (double)(r.v[0].done_ns - r.v[0].submit_ns), end - first);
	return code;
}

int surface_read_alone(struct surface_run *run, const struct surface_suspect *s, struct surface_alone *ret,
                       struct err *err)
{
	uint64_t size = run->ses->devs[0].size_bytes, at = s->good_end, len = s->bad_end - s->good_end,
		 unit = run->range.unit_bytes, places[4];
	/* far by chance: the disk stands otherwise each time, also where tracks follow each other regularly */
	uint64_t far = FAR_BYTES + timed_random(&run->timed, 0, 8 * (uint64_t)FAR_BYTES),
		 beside = BESIDE_BYTES + s->step * (BESIDE_BYTES / 3) +
	                  timed_random(&run->timed, 0, BESIDE_BYTES / 3); /* halves ask again from the same place */
	struct timed t = run->timed;
	double access_ns[4];
	uint64_t yields = run->gentle.yields;
	int r;

	if (far + beside + len > size / 2) { /* so that one side has room for all of it */
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
	*ret = (struct surface_alone){ NAN, 0, false };
	r = timed_reads(&t, places, 4, access_ns, NULL, err);
	if (run->gentle.yields > yields) /* the arm came from elsewhere */
		return r;
	ret->is_hit = surface_is_cached(run, fmin(access_ns[1], access_ns[3]), len) ||
	              isnan(access_ns[0] + access_ns[1] + access_ns[2] + access_ns[3]); /* nor is what failed */
	if (!ret->is_hit) {
		ret->longer_ns = access_ns[3] - access_ns[1];
		ret->took_ns = (uint64_t)access_ns[3];
	}
	return r;
}

int surface_read_row(struct surface_run *run, const struct surface_suspect *s, struct surface_row *ret, struct err *err)
{
	uint64_t unit = run->range.unit_bytes, len = s->bad_end - s->good_end,
		 piece = ((len + unit - 1) / unit + SURFACE_ROW - 1) / SURFACE_ROW * unit;
	uint64_t before = s->good_end - run->range.first_bytes, lead = before < piece ? before : piece,
		 took_ns[SURFACE_ROW + 1], last_ns = 0;
	struct list_item items[SURFACE_ROW + 1] = { { .offset_bytes = s->good_end - lead,
		                                      .len_bytes = (uint32_t)lead } };
	struct reader r;
	size_t n = lead > 0;
	int code;

	for (uint64_t at = s->good_end; at < s->bad_end; at += piece)
		items[n++] = (struct list_item){
			.offset_bytes = at, .len_bytes = (uint32_t)(s->bad_end - at < piece ? s->bad_end - at : piece)
		};
	*ret = (struct surface_row){ .is_hit = true };
	code = read_list(run, items, n, run->p->idle || run->verifier ? 1 : run->eng->cfg.depth, &r, err);
	for (size_t i = 0; i < n; i++) {
		if (!r.v[i].is_read)
			return code;
		took_ns[i] = r.v[i].done_ns - (r.v[i].submit_ns > last_ns ? r.v[i].submit_ns : last_ns);
		took_ns[i] = r.v[i].done_ns > last_ns ? took_ns[i] : 0;
		last_ns = r.v[i].done_ns > last_ns ? r.v[i].done_ns : last_ns;
	}
	ret->is_hit = surface_is_cached(run, (double)(last_ns - r.v[0].submit_ns), lead + len);
	for (size_t i = n; i-- > 1 && !ret->is_hit;)
		if ((double)took_ns[i] - s->ns_per_byte * items[i].len_bytes > surface_limit_ns(run, s)) {
			ret->first_bytes = items[i].offset_bytes;
			ret->end_bytes = items[i].offset_bytes + items[i].len_bytes;
			ret->nslow++;
		}
	ret->is_deaf = 2 * ret->nslow > n;
	return code;
}

/* ---- what has to be learnt ---- */

int surface_forget(struct surface_run *run, size_t others, struct err *err)
{
	struct rotation some = run->rot;

	some.flush_reads = run->again.flush_reads > others + SURFACE_FLUSH_LEAST
	                           ? run->again.flush_reads - (uint32_t)others
	                           : SURFACE_FLUSH_LEAST;
	return timed_forget(&run->timed, &some, 0, 0, err);
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
		if (!r.v[i].is_read)
			return code;
		last_ns = r.v[i].done_ns > last_ns ? r.v[i].done_ns : last_ns;
	}
	*ret_ns = (double)(last_ns - r.v[0].done_ns) / 3.0;
	return code;
}

int surface_learn_buffer(struct surface_run *run, uint32_t depth, struct err *err)
{
	uint64_t block = run->range.block_bytes, at = run->position - run->range.unit_bytes;
	double ns[BUFFER_READINGS], median_ns;
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
		r = read_buffered(run, at, depth, &ns[n++], err);
	}
	median_ns = stats_median(ns, stats_keep_finite(ns, n));
	if (median_ns < BUFFER_MOST * run->rot.period_ns)
		run->blind.buffer_ns = median_ns;
	return r;
}

int surface_learn_rotation(struct surface_run *run, struct err *err)
{
	const uint64_t left_ns = session_time_left_ns(run->ses), part_ns = left_ns / ROTATION_PART;
	int r = 0;

	run->rot = (struct rotation){ .period_ns = NAN, .hits.most_ns = NAN };
	if (left_ns != UINT64_MAX)
		run->timed.until_ns = surface_now(run) + part_ns;
	if (run->ses->devs[0].rotational != 0)
		r = rotation_find(&run->timed, part_ns < ROTATION_NS ? part_ns : ROTATION_NS, &run->rot, err);
	run->timed.until_ns = 0;
	run->begun.is_known = r == 0 && !surface_is_over(run);
	run->again.flush_reads = run->rot.flush_reads + SURFACE_FLUSH_LEAST;
	run->begun.start_ns = run->again.end_ns = surface_now(run); /* a portion is of the scan */
	return r;
}
