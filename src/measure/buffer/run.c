/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Experiments, one request at a time: the buffer is brought into a state, and a read looks what it holds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/buffer/buffer.h"

#define CHUNK_MOST    (1u << 20)
#define ROTATION_NS   (2 * NS_PER_S)
#define RATE_BYTES    (16u << 20)
#define REREADS       21
#define SLOW_IN_A_ROW 5 /* of a sweep: then nothing further back is held */
/*
 * Slower than that, others moved the head meanwhile, or the host was late: reads in sequence further inwards, which
 * lose a revolution once; and reads about a place, which seek over a hundredth of the device.
 */
#define PACE_MOST   1.5
#define TURNS_MOST  1.4 /* of a revolution, beyond the pace, or beyond the quickest */
#define ABOUT_PART  0.01
#define ABOUT_LEAST 2e9 /* bytes: hundreds of streams have room, on small disks as well */
#define FAR_PART    0.1 /* there seeks over so much of the device take another revolution */
#define SPOILT_FEW  16  /* tries of sweeps: by fewer nobody knows whether rests help (a choice) */

const char *const buffer_test_names[BUFFER_TESTS] = {
	[BUFFER_REREAD] = "re-read",
	[BUFFER_STREAMS] = "streams",
	[BUFFER_LONGER] = "longer streams",
	[BUFFER_RUN] = "run",
	[BUFFER_AHEAD] = "ahead",
	[BUFFER_AHEAD_SECOND] = "ahead of second",
	[BUFFER_BEFORE] = "before",
	[BUFFER_LARGE] = "large",
	[BUFFER_VOLUME] = "volume",
	[BUFFER_WRITE] = "write",
	[BUFFER_FLUSH] = "flush",
	[BUFFER_READ_BUSY] = "read while emptying",
	[BUFFER_READ_IDLE] = "read at rest",
	[BUFFER_FUA_READ] = "read with FUA",
	[BUFFER_FUA_WRITE] = "write with FUA",
};

/* ---- reads with waits between them ---- */

static struct list_item read_of(uint64_t offset, uint64_t len)
{
	return (struct list_item){ .offset_bytes = offset, .len_bytes = (uint32_t)len, .op = IO_READ };
}

/* What the first and the last of them took; NaN: it failed, or was not done. */
static int go(struct buffer_io *io, const struct list_item *v, size_t n, double *ret_first_ns, double *ret_last_ns,
              struct err *err)
{
	cleanup_free double *ns = xcalloc(n, sizeof(*ns));
	int r = timed_list(&io->t, v, n, ns, NULL, err);

	for (size_t i = 1; i < n; i++)
		if (v[i].offset_bytes == v[i - 1].offset_bytes + v[i - 1].len_bytes && !v[i].wait_ns)
			io->is_disturbed |=
				ns[i] > PACE_MOST * 1e9 * (double)v[i].len_bytes / io->cond.media_bytes_per_s +
						TURNS_MOST * io->cond.period_ns;
	*ret_last_ns = ns[n - 1];
	if (ret_first_ns)
		*ret_first_ns = ns[0];
	return r;
}

static int read_one(struct buffer_io *io, uint64_t offset, uint64_t len, double *ret_ns, struct err *err)
{
	const struct list_item one = read_of(offset, len);

	return go(io, &one, 1, NULL, ret_ns, err);
}

int buffer_rest(struct buffer_io *io, uint64_t ns, uint64_t at, struct err *err)
{
	uint64_t now_ns = clock_now_ns(io->ses->env->clk), left_ns = io->end_ns > now_ns ? io->end_ns - now_ns : 0;
	struct list_item one = read_of(at, io->t.block_bytes);
	double last_ns;

	one.wait_ns = ns < left_ns ? ns : left_ns;
	return go(io, &one, 1, NULL, &last_ns, err);
}

/* What `at` is in these: how far something reached, or how many other streams lay between. */
#define IN_BYTES \
	(1u << BUFFER_RUN | 1u << BUFFER_AHEAD | 1u << BUFFER_AHEAD_SECOND | 1u << BUFFER_BEFORE | 1u << BUFFER_WRITE)
#define IN_OTHERS (1u << BUFFER_STREAMS | 1u << BUFFER_LONGER | 1u << BUFFER_LARGE | 1u << BUFFER_VOLUME)

void buffer_keep(struct buffer_io *io, enum buffer_test test, uint64_t at, double ns, uint64_t len_bytes)
{
	struct buffer_samples *s = &io->samples;

	if (!isfinite(ns))
		return;
	xappend(s->v, s->n,
	        (struct buffer_sample){ .test = buffer_test_names[test],
	                                .at = at,
	                                .access_ns = (uint64_t)ns,
	                                .len_bytes = len_bytes,
	                                .distance_bytes = (1u << test & IN_BYTES) ? (double)at : (double)NAN,
	                                .others = (1u << test & IN_OTHERS) ? (double)at : (double)NAN });
}

/* ---- places ---- */

static double about_bytes(const struct buffer_io *io)
{
	return fmax(ABOUT_PART * (double)io->t.target->size_bytes, ABOUT_LEAST);
}

/* About a place: of each experiment another, so that all its ways are short, and what takes long is not its own. */
uint64_t buffer_fresh(struct buffer_io *io, uint64_t bytes)
{
	const uint64_t block = io->cond.block_bytes, end = (uint64_t)(BUFFER_PART * (double)io->t.target->size_bytes);
	const double width = about_bytes(io);
	uint64_t from = (uint64_t)(io->about * fmax((double)end - width, 0.0)), to = from + (uint64_t)width;

	to = to < from + 2 * bytes ? from + 2 * bytes : to;
	to = to < end ? to : end;
	return timed_random(&io->t, from + block, to > from + bytes + 2 * block ? to - bytes : from + 2 * block);
}

/* The steps of reading that many bytes from there on. Returns how many. */
static size_t run_of(const struct buffer_io *io, uint64_t first, uint64_t bytes, struct list_item *ret)
{
	size_t n = 0;

	for (uint64_t at = 0; at < bytes; n++) {
		uint64_t len = bytes - at < io->chunk_bytes ? bytes - at : io->chunk_bytes;

		ret[n] = read_of(first + at, len);
		at += len;
	}
	return n;
}

static size_t steps_of(const struct buffer_io *io, uint64_t bytes)
{
	return (size_t)(bytes / io->chunk_bytes) + 2;
}

/* ---- experiments ---- */

static int probe(struct buffer_io *io, enum buffer_test test, uint64_t at, struct err *err)
{
	const struct buffer_conditions *c = &io->cond;
	uint32_t block = (uint32_t)c->block_bytes;
	size_t n = 0;
	cleanup_free struct list_item *v = xcalloc(steps_of(io, test == BUFFER_RUN ? at : 0) + 2, sizeof(*v));
	uint64_t first = buffer_fresh(io, at + 2 * block), second = test == BUFFER_AHEAD_SECOND ? block : 0;
	double first_ns, ns;
	int r;

	if (test == BUFFER_RUN)
		n = run_of(io, first, at, v);
	else
		v[n++] = read_of(first, block);
	if (second)
		v[n++] = read_of(first + second, block);
	v[n] = read_of(first, block);
	if (test == BUFFER_BEFORE) {
		v[n].offset_bytes = first - block;
	} else if (test != BUFFER_RUN) { /* until it would have come there, and some revolutions */
		v[n].offset_bytes = first + second + at;
		v[n].wait_ns = (uint64_t)(1.25e9 * (double)at / c->media_bytes_per_s + 3.0 * c->period_ns +
		                          c->period_ns * rng_double(&io->t.rng));
	}
	r = go(io, v, n + 1, &first_ns, &ns, err);
	if (!buffer_is_media(c, first_ns)) /* nothing was ever stored there */
		ns = NAN;
	if (r == 0)
		buffer_keep(io, test, at, ns, 0);
	return r;
}

/* Reads the streams; ret[i]: where each began. Those of places that nothing was stored at are left out. *ret_n: how
 * many are left. */
static int read_streams(struct buffer_io *io, size_t places, uint64_t bytes, uint64_t *ret, size_t *ret_n,
                        struct err *err)
{
	cleanup_free struct list_item *v = xcalloc(steps_of(io, bytes), sizeof(*v));
	const double far = fmin(about_bytes(io) / FAR_PART / (double)io->t.target->size_bytes, 1.0);
	int r = 0;

	*ret_n = 0;
	for (size_t i = 0; r == 0 && i < places && !session_is_over(io->ses); i++) {
		uint64_t first = buffer_fresh(io, bytes);
		double ns;

		r = read_one(io, first, io->cond.block_bytes, &ns, err);
		if (r < 0 || !buffer_is_media(&io->cond, ns))
			continue;
		if (*ret_n) { /* the first has its way from elsewhere */
			io->quickest_ns = io->quickest_ns > 0.0 ? fmin(io->quickest_ns, ns) : ns;
			io->is_disturbed |= ns > io->quickest_ns + (TURNS_MOST + far) * io->cond.period_ns;
		}
		ret[(*ret_n)++] = first;
		if (bytes > io->cond.block_bytes)
			r = go(io, v, run_of(io, first + io->cond.block_bytes, bytes - io->cond.block_bytes, v), NULL,
			       &ns, err);
	}
	return r;
}

static int sweep(struct buffer_io *io, enum buffer_test test, size_t places, uint64_t bytes, size_t most,
                 struct err *err)
{
	cleanup_free uint64_t *first = xcalloc(places, sizeof(*first));
	size_t n = 0, slow = 0;
	int r = read_streams(io, places, bytes, first, &n, err);

	for (size_t i = 1; r == 0 && i <= n && i <= most && slow < SLOW_IN_A_ROW && !session_is_over(io->ses); i++) {
		double ns;

		r = read_one(io, first[n - i], io->cond.block_bytes, &ns, err);
		slow = buffer_is_media(&io->cond, ns) ? slow + 1 : 0;
		if (r == 0)
			buffer_keep(io, test, i, ns, bytes);
	}
	return r;
}

/* Only the first of some streams. */
static int first_of(struct buffer_io *io, size_t places, uint64_t bytes, struct err *err)
{
	cleanup_free uint64_t *first = xcalloc(places, sizeof(*first));
	double ns = NAN;
	size_t n = 0;
	int r = read_streams(io, places, bytes, first, &n, err);

	if (r == 0 && n == places) /* its last block, which reading ahead does not drop */
		r = read_one(io, first[0] + bytes - io->cond.block_bytes, io->cond.block_bytes, &ns, err);
	if (r == 0)
		buffer_keep(io, BUFFER_LARGE, places, ns, bytes);
	return r;
}

#define TRIES   8                /* of one experiment: others who read all the time leave no gap (a choice) */
#define REST_NS (20 * NS_PER_MS) /* after the first; twice as long after each: together 5 s (a choice) */

static int once(struct buffer_io *io, const struct buffer_experiment *e, struct err *err)
{
	if (e->test == BUFFER_LARGE)
		return first_of(io, e->places, e->bytes, err);
	return e->places ? sweep(io, e->test, e->places, e->bytes, e->most, err) : probe(io, e->test, e->bytes, err);
}

bool buffer_is_hopeless(const struct buffer_io *io)
{
	return io->tried >= SPOILT_FEW && (double)io->spoilt > BUFFER_SPOILT_MOST * (double)io->tried;
}

int buffer_try(struct buffer_io *io, const struct buffer_experiment *e, struct err *err)
{
	const size_t had = io->samples.n;
	uint64_t foreign_bytes;
	int r = 0;

	for (unsigned i = 0; i < TRIES; i++) {
		foreign_bytes = session_foreign_bytes(io->ses, 0);
		io->samples.n = had;
		io->is_disturbed = false;
		io->about = rng_double(&io->t.rng);
		r = once(io, e, err);
		io->is_disturbed |= session_foreign_bytes(io->ses, 0) > foreign_bytes;
		io->tried += e->places > 0;
		io->spoilt += e->places > 0 && io->is_disturbed;
		if (r < 0 || !io->is_disturbed || buffer_is_over(io) || buffer_is_hopeless(io))
			break;
		timed_rest(io->ses, REST_NS << i);
	}
	if (io->is_disturbed)
		io->samples.n = had;
	io->cond.spoilt_ratio = io->tried ? (double)io->spoilt / (double)io->tried : 0.0;
	return r;
}

int buffer_reread(struct buffer_io *io, struct err *err)
{
	uint64_t limit = (uint64_t)(0.3 * io->cond.period_ns);
	int r = 0;

	for (uint32_t large = 256 << 10; r == 0 && large >= 4 * io->cond.block_bytes; large /= 4) {
		uint64_t first = buffer_fresh(io, large);
		size_t before = io->samples.n, held = 0;
		double ns;

		r = read_one(io, first, large, &ns, err);
		for (size_t i = 0; r == 0 && i < 2 * REREADS; i++) {
			const uint32_t len = i % 2 ? large : large / 4;

			r = read_one(io, first, len, &ns, err);
			held += ns < (double)limit;
			if (r == 0)
				buffer_keep(io, BUFFER_REREAD, len, ns, 0);
		}
		if (held > REREADS * 3 / 2)
			break;
		io->samples.n = before; /* so much is not held */
	}
	return r;
}

/* ---- opening ---- */

bool buffer_is_over(const struct buffer_io *io)
{
	return session_is_over(io->ses) || clock_now_ns(io->ses->env->clk) >= io->end_ns;
}

int buffer_open(struct buffer_io *io, struct session *ses, struct err *err)
{
	const struct engine_config cfg = { .depth = 2, .buf_bytes = CHUNK_MOST };
	uint32_t physical = ses->devs[0].physical_block_bytes, block = physical > 4096 ? physical : 4096;
	uint64_t left = session_time_left_ns(ses);
	struct rotation *rot = &io->rot;
	int r;

	*io = (struct buffer_io){ .ses = ses, .cond = { .block_bytes = block }, .chunk_bytes = CHUNK_MOST };
	io->end_ns = clock_now_ns(ses->env->clk) + (left == UINT64_MAX ? BUFFER_TIME_NS : left);
	r = session_engine(ses, &cfg, &io->t.eng, err);
	if (r < 0)
		return r;
	io->t = (struct timed){
		.ses = ses, .eng = io->t.eng, .target = &ses->targets[0], .block_bytes = block, .step_bytes = block
	};
	session_rng(ses, 1, &io->t.rng);
	session_progress(ses, "looking whether it turns", 0.02, NULL);
	io->t.until_ns = left == UINT64_MAX ? 0 : io->end_ns; /* two arms behind one name take minutes */
	r = rotation_find(&io->t, ROTATION_NS, rot, err);
	/* One late request, or a bad place, gives no rate; three times by chance: hardly. */
	for (int k = 0;
	     r == 0 && k < 3 && rot->is_rotating && !(io->cond.media_bytes_per_s > 0.0) && !timed_is_over(&io->t); k++)
		r = timed_rate(&io->t, buffer_fresh(io, 2 * RATE_BYTES), RATE_BYTES, &io->cond.media_bytes_per_s, err);
	io->t.until_ns = 0;
	io->cond.is_through = strcmp(ses->devs[0].queue.write_cache, "write through") == 0;
	io->cond.hit_ns = rot->hits.ns;
	io->cond.hit_limit_ns = rot->hits.most_ns;
	io->cond.period_ns = rot->period_ns;
	/* Of a place on the way some come by at once: as long as a hit may take longer than one does. And a choice for
	 * what else may be. */
	io->cond.chance_ratio = fmin(0.3, fmax(0.02, 1.5 * (rot->hits.most_ns - rot->hits.ns) / rot->period_ns));
	return r;
}

void buffer_close(struct buffer_io *io)
{
	engine_close(io->t.eng);
	free(io->samples.v);
}
