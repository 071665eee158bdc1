/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads that come from the media whatever the drive's cache holds: after reads elsewhere by which it has forgotten; or
 * with FUA, where the device takes that and was seen to obey it. A block that the cache holds, as it answers plain
 * reads of it at once, takes whole revolutions from one completion with FUA to the next. Many drives and bridges take
 * no notice of it, or know it not; those that lie behind a partition, or below anything else than a disk's own driver,
 * are not asked (engine/commands.h).
 */
#include <math.h>

#include "measure/shared/lattice.h"

#define TURN_LEAST_NS 2.7e6 /* from one completion to the next: shorter than a revolution of any drive (rotation.c) */
#define TURNS         4     /* that many times: an answer of the cache is not late by chance each time */
#define PLACES        6     /* are tried, as one may hold no data, or have left the cache (a choice) */
#define AGAINST       2     /* of them say that FUA is ignored: one answer may have been late */
#define REFUSED       2     /* of them have to say that it is refused: what fails in one place may be bad */

#define RUN_READS 16          /* by volume, behind each other: a way of the arm is little beside them (divides 32) */
#define ELSEWHERE 1000000000u /* bytes: reads elsewhere reach so far at least: a track is not met again */

uint64_t timed_elsewhere(struct timed *t, uint64_t first, uint64_t end)
{
	uint64_t size = timed_size(t), reach = size / 50 > ELSEWHERE ? size / 50 : ELSEWHERE, at = 0;
	uint64_t from = first > reach ? first - reach : 0, to = size - end > reach ? end + reach : size;

	for (int i = 0; i < 16; i++) {
		at = end ? timed_random(t, from, to) : timed_random(t, 0, size);
		if (at + t->block_bytes <= first || at >= end)
			break;
	}
	return at;
}

int timed_forget(struct timed *t, const struct rotation *rot, uint64_t first, uint64_t end, struct err *err)
{
	const uint32_t block = t->block_bytes;
	const bool is_run = is_by_volume(t, rot);
	uint64_t at = 0;
	int r = 0;

	t->block_bytes = rot->flush_bytes ? rot->flush_bytes : block;
	for (uint32_t left = rot->flush_reads, n; r == 0 && left && !timed_is_over(t); left -= n) {
		uint64_t offsets[32];
		double access[32];

		n = left < 32 ? left : 32;
		for (uint32_t i = 0; i < n; i++) {
			at += t->block_bytes;
			if (!is_run || i % RUN_READS == 0 || at + t->block_bytes > timed_size(t) ||
			    (at + t->block_bytes > first && at < end))
				at = timed_elsewhere(t, first, end);
			offsets[i] = at;
		}
		r = timed_reads(t, offsets, n, access, NULL, err);
		for (uint32_t i = 1; r == 0 && !end && t->block_bytes == block && i < n; i++)
			keep_sample(t, offsets[i - 1], offsets[i], access[i - 1], access[i]);
	}
	t->block_bytes = block;
	return r;
}

int timed_media_reads(struct timed *t, const uint64_t *offsets, size_t n, double *ret_access_ns, uint64_t *ret_done_ns,
                      struct err *err)
{
	struct engine *const eng = t->eng;
	const enum io_op op = t->op;
	int r;

	if (t->fua) {
		t->eng = t->fua;
		t->op = IO_READ_FUA;
	}
	r = timed_reads(t, offsets, n, ret_access_ns, ret_done_ns, err);
	t->eng = eng;
	t->op = op;
	return r;
}

static bool is_of_media(const struct rotation *rot, double ns)
{
	return timed_is_media(&rot->hits, ns) && ns > TURN_LEAST_NS;
}

/* Is something stored beside that, as a first read there takes as long as one of the media? An answer may be late, but
 * hardly both. */
static int is_stored_beside(struct timed *t, const struct rotation *rot, uint64_t at, bool *ret, struct err *err)
{
	const uint64_t beside = at >= ROTATION_BESIDE ? at - ROTATION_BESIDE : at + ROTATION_BESIDE;
	double ns = NAN;
	int r = beside < timed_size(t) ? timed_reads(t, &beside, 1, &ns, NULL, err) : 0;

	*ret = is_of_media(rot, ns);
	return r;
}

/* So often FUA was seen to be ignored, and refused. */
struct counts {
	unsigned against, refused;
};

/*
 * A plain read before each with FUA, so that the cache holds the block, also one that drops what it has answered; of
 * the block before it, where the cache keeps only what it has read ahead. What is answered at once by either may be
 * stored nowhere (trimmed), which says nothing. What fails with FUA alone was refused.
 */
static int look(struct timed *t, const struct rotation *rot, uint64_t at, bool is_ahead, struct counts *n,
                struct err *err)
{
	const uint64_t twice[] = { is_ahead && at ? at - t->block_bytes : at, at };
	uint64_t done[TURNS] = { 0 };
	double plain[2], ns = NAN;
	int r = timed_reads(t, twice, 2, plain, NULL, err);
	bool is_stored = is_of_media(rot, plain[0]);

	if (r < 0 || !timed_may_be_hit(&rot->hits, plain[1]))
		return r;
	for (size_t i = 0; r == 0 && i < TURNS; i++) {
		r = timed_reads(t, twice, 1, plain, NULL, err) ?: timed_media_reads(t, &at, 1, &ns, &done[i], err);
		if (r < 0 || timed_is_over(t))
			return r;
		if (timed_is_media(&rot->hits, ns) && (i == 0 || (double)(done[i] - done[i - 1]) >= TURN_LEAST_NS))
			continue;
		if (isnan(ns) && ++n->refused == REFUSED)
			t->fua_reads = TIMED_FUA_REFUSED;
		else if (is_stored && timed_may_be_hit(&rot->hits, ns))
			r = is_stored_beside(t, rot, at, &is_stored, err);
		if (timed_may_be_hit(&rot->hits, ns) && is_stored && ++n->against == AGAINST)
			t->fua_reads = TIMED_FUA_CACHE;
		return r;
	}
	t->fua_reads = TIMED_FUA_MEDIA;
	return r;
}

void timed_drop_fua(struct timed *t)
{
	engine_close(t->fua);
	t->fua = NULL;
}

int timed_look_for_fua(struct timed *t, const struct rotation *rot, uint64_t at, bool is_ahead, struct err *err)
{
	/* An engine of its own: those of great depth know no commands. */
	const struct engine_config cfg = { .depth = 1, .buf_bytes = t->block_bytes };
	const bool was = t->fua != NULL;
	struct counts n = { 0 };
	int r = 0;

	t->fua_reads = TIMED_FUA_UNSEEN;
	if (!was && session_commands(t->ses, &cfg, &t->fua, NULL) < 0)
		return 0;
	for (size_t i = 0; r == 0 && i < PLACES && t->fua_reads == TIMED_FUA_UNSEEN && !timed_is_over(t); i++) {
		r = look(t, rot, at, is_ahead, &n, err);
		at = timed_random(t, 0, timed_size(t));
	}
	if (was && t->fua_reads == TIMED_FUA_UNSEEN)
		t->fua_reads = TIMED_FUA_MEDIA; /* nothing says otherwise */
	if (r < 0 || t->fua_reads != TIMED_FUA_MEDIA)
		timed_drop_fua(t);
	return r;
}
