/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a drive read ahead? Its answers show it; what drives report of their look-ahead may be wrong. Two blocks in a
 * row are read at some place; then comes a rest in which it could read on, then the third block. That one comes at once
 * if it did, and else waits for its angle. The same block again shows how quick the buffer is; where that is not
 * quicker than a place anywhere, nothing can be reported.
 */
#include <math.h>

#include "base/clock.h"
#include "session/internal.h"
#include "stats/stats.h"

#define PLACES      16
#define READS       4
#define BLOCK       4096u
#define LEAST_BYTES (16u << 20)
#define REST_NS     (30 * NS_PER_MS) /* and as much again by chance: some revolutions, and each at another angle */
#define QUICK                                                                                                          \
	8.0 /* times quicker than anywhere is the buffer's answer, and by chance one in five of the media's (a choice) \
	     */
#define MOST_CHANCE 6 /* of the places, by chance; between this and the next nothing is reported (choices) */
#define LEAST_HELD  13

struct look {
	struct feeder feeder; /* first */
	struct sink sink;
	struct rng rng;
	uint64_t first, places, at;
	uint32_t block;
	size_t fed, taken;
	double ns[READS][PLACES];
};

static enum feed next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct look *l = (struct look *)f;
	size_t k = l->fed % READS;

	(void)ret_until_ns;
	if (l->fed == (size_t)READS * PLACES)
		return FEED_END;
	l->fed++;
	if (k == 0)
		l->at = l->first + rng_below(&l->rng, l->places) * l->block;
	req->op = IO_READ;
	req->target = 0;
	req->offset_bytes = l->at + (k > 2 ? 2 : k) * l->block;
	req->len_bytes = l->block;
	req->due_ns = k == 2 ? now_ns + REST_NS + rng_below(&l->rng, REST_NS) : 0;
	return FEED_IO;
}

static void take(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct look *l = (struct look *)((char *)sink - offsetof(struct look, sink));

	l->ns[l->taken % READS][l->taken / READS] = load_took_ns(req, is_fault);
	l->taken++;
}

static int judge(struct look *l)
{
	double far, again;
	size_t held = 0;

	for (size_t i = 0; i < PLACES; i++)
		if (!isfinite(l->ns[0][i]) || !isfinite(l->ns[2][i]) || !isfinite(l->ns[3][i]))
			return -1;
	far = stats_median(l->ns[0], PLACES);
	again = stats_median(l->ns[3], PLACES);
	for (size_t i = 0; i < PLACES; i++)
		held += l->ns[2][i] < far / QUICK;
	if (!(again < far / QUICK))
		return -1;
	return held >= LEAST_HELD ? 1 : held <= MOST_CHANCE ? 0 : -1;
}

int ahead_look(struct session *ses, size_t i)
{
	const struct target *t = &ses->targets[i];
	uint32_t physical = ses->devs[i].physical_block_bytes;
	uint64_t end = t->touch_end ? t->touch_end : t->size_bytes;
	struct look l = { .feeder = { .next = next }, .sink = { take }, .block = physical > BLOCK ? physical : BLOCK };
	struct load load = {
		.targets = t, .ntargets = 1, .feeder = &l.feeder, .sink = &l.sink, .depth = 1, .cancel = ses->cancel
	};
	const struct engine_config cfg = { .depth = 1, .buf_bytes = l.block };
	struct engine *eng = NULL;
	struct load_stats stats;
	int ret = -1;

	l.first = (t->touch_first + l.block - 1) / l.block * l.block;
	if (ses->plan->opens_itself || end < l.first + LEAST_BYTES)
		return -1;
	l.places = (end - l.first) / l.block - 3;
	rng_init(&l.rng, ses->seed, 0xa4ead);
	if (engine_open(&eng, ses->env->engines, "auto", &cfg, ses->env->clk, NULL) == 0 &&
	    load_run(&load, eng, &stats, NULL) == 0 && l.taken == (size_t)READS * PLACES)
		ret = judge(&l);
	engine_close(eng);
	return ret;
}
