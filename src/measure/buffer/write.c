/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The write cache, with consent: small writes at random places, which its media take slowly, fill it at the interface's
 * speed until it is full; and flushes with data in it, which take as long as the media need, or are not true.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/buffer/buffer.h"

#define FILL_MOST    4096 /* writes of one size: in larger blocks that is 256 MiB */
#define BATCH        64
#define BEHIND       48 /* writes behind the knee: of them the rate of emptying */
#define FLUSHES      8
#define FLUSH_WRITES 8
#define READS        24
#define LEAST_TURN   0.25 /* of a revolution, that a write in one of thousands of places takes (a choice) */

static uint64_t next_place(struct buffer_io *io, uint64_t block)
{
	uint64_t places = io->write_bytes / (2 * block);

	return io->write_first + 2 * permute(io->filled++ % places, places, io->ses->seed) * block;
}

static void fill_buffers(const struct buffer_io *io, struct engine *eng, uint32_t bytes)
{
	for (uint32_t slot = 0; slot < eng->cfg.slots; slot++)
		payload_fill(engine_buf(eng, slot),
		             &(struct payload_id){ .seed = io->ses->seed, .sequence = slot, .len_bytes = bytes });
}

/*
 * n writes of blocks at places that were not written before in this fill, or reads of places between those; then, or
 * instead, a flush. ret_ns: of each.
 */
static int send(struct buffer_io *io, enum io_op op, uint64_t block, size_t n, bool flushes, double *ret_ns,
                struct err *err)
{
	cleanup_free struct list_item *v = xcalloc(n + 1, sizeof(*v));
	uint64_t places = io->write_bytes / (2 * block);

	for (size_t i = 0; i < n; i++) {
		bool is_read = op == IO_READ;
		uint64_t at = is_read ? io->write_first + (2 * rng_below(&io->t.rng, places) + 1) * block
		                      : next_place(io, block);

		v[i] = (struct list_item){ .offset_bytes = at, .len_bytes = (uint32_t)block, .op = op };
		io->written_bytes += is_read ? 0 : block;
	}
	v[n].op = IO_FLUSH;
	return timed_list(&io->t, v, n + flushes, ret_ns, NULL, err);
}

static bool has_room(const struct buffer_io *io, uint64_t block, size_t n)
{
	return (io->filled + n) * 2 * block <= io->write_bytes &&
	       io->written_bytes + n * block <= buffer_most_written(io->write_bytes) && !buffer_is_over(io);
}

static int read_some(struct buffer_io *io, enum buffer_test test, uint64_t block, struct err *err)
{
	double ns[READS + 1];
	int r = send(io, IO_READ, block, READS, false, ns, err);

	for (size_t i = 0; r == 0 && i < READS; i++)
		buffer_keep(io, test, i + 1, ns[i], block);
	return r;
}

/* From empty until it is full, or there is no room any more. */
static int fill(struct buffer_io *io, uint64_t block, struct err *err)
{
	struct buffer_knee knee = { .behind = 0 };
	double ns[BATCH];
	uint64_t at = 0;
	bool is_full;
	int r = send(io, IO_WRITE, block, 0, true, ns, err);

	io->filled = 0;
	while (r == 0 && has_room(io, block, BATCH) && io->filled < FILL_MOST && knee.behind < BEHIND) {
		r = send(io, IO_WRITE, block, BATCH, false, ns, err);
		for (size_t i = 0; r == 0 && i < BATCH; i++)
			buffer_keep(io, BUFFER_WRITE, at += block, ns[i], block);
		buffer_knee_of(&io->samples, &io->cond, block, &knee);
		session_progress(io->ses, "filling the write cache", 0.9, NULL);
		if (!knee.is_cached)
			break;
	}
	is_full = knee.behind >= BEHIND;
	if (r == 0 && is_full)
		r = read_some(io, BUFFER_READ_BUSY, block, err);
	if (r == 0)
		r = send(io, IO_WRITE, block, 0, true, ns, err);
	/* A flush that may be a lie leaves them there: then the media get the time that they may need at most. */
	if (r == 0 && knee.is_cached && !is_full && ns[0] < LEAST_TURN * (double)io->filled * io->cond.period_ns)
		r = buffer_rest(io, (uint64_t)((double)io->filled * io->cond.period_ns), io->write_first + block, err);
	return r == 0 && is_full ? read_some(io, BUFFER_READ_IDLE, block, err) : r;
}

static int flush(struct buffer_io *io, uint64_t block, struct err *err)
{
	double ns[FLUSH_WRITES + 1];
	int r = 0;

	io->filled = 0;
	for (int k = 0; r == 0 && k < FLUSHES && has_room(io, block, FLUSH_WRITES); k++) {
		r = send(io, IO_WRITE, block, FLUSH_WRITES, true, ns, err);
		if (r == 0)
			buffer_keep(io, BUFFER_FLUSH, FLUSH_WRITES, ns[FLUSH_WRITES], block);
	}
	return r;
}

int buffer_write(struct buffer_io *io, uint64_t first, uint64_t bytes, struct err *err)
{
	struct target *target = &io->ses->targets[0];
	uint64_t block = io->cond.block_bytes;
	struct buffer_knee knee;
	int r;

	io->write_first = (first + BUFFER_LARGE_BLOCK - 1) / BUFFER_LARGE_BLOCK * BUFFER_LARGE_BLOCK;
	io->write_bytes = bytes;
	target->touch_first = io->write_first; /* reads looked elsewhere, too; from here on, nothing is touched there */
	target->touch_end = io->write_first + bytes;
	fill_buffers(io, io->t.eng, BUFFER_LARGE_BLOCK);
	r = fill(io, block, err);
	buffer_knee_of(&io->samples, &io->cond, block, &knee);
	if (r == 0 && knee.is_cached && knee.behind < BEHIND && block < BUFFER_LARGE_BLOCK) {
		block = BUFFER_LARGE_BLOCK;
		r = fill(io, block, err);
		buffer_knee_of(&io->samples, &io->cond, block, &knee);
	}
	return r == 0 && knee.behind >= BEHIND ? flush(io, block, err) : r;
}

/*
 * ---- FUA: one block again and again. What goes to its medium each time takes whole revolutions from one completion to
 * the next; what does not, none. ----
 */

#define PLACES       6
#define TIMES        5   /* at each; all but the first count */
#define TRIED        4   /* that many places for each that is looked for, as some hold no data */
#define REST         1.5 /* of the time that the write cache takes to be emptied by what was measured */
#define REST_MOST_NS (60 * NS_PER_S)

static int again(struct buffer_io *io, struct timed *fua, enum buffer_test test, uint64_t at, struct err *err)
{
	uint64_t offsets[TIMES], done[TIMES] = { 0 };
	double ns[TIMES];
	int r;

	for (size_t i = 0; i < TIMES; i++)
		offsets[i] = at;
	r = timed_reads(fua, offsets, TIMES, ns, done, err);
	for (size_t i = 1; r == 0 && i < TIMES; i++)
		if (isfinite(ns[i - 1]) && isfinite(ns[i]))
			buffer_keep(io, test, i, (double)(done[i] - done[i - 1]), fua->block_bytes);
	return r;
}

/* By an engine of its own: those of great depth know no commands. */
static int open_fua(struct buffer_io *io, enum io_op op, struct timed *ret, struct err *err)
{
	const struct engine_config cfg = { .depth = 1, .buf_bytes = io->t.block_bytes };

	*ret = io->t;
	ret->op = op;
	return session_commands(io->ses, &cfg, &ret->eng, err);
}

/* Of blocks that the buffer is seen to hold. */
int buffer_fua_reads(struct buffer_io *io, struct err *err)
{
	struct timed fua;
	size_t n = 0;
	int r = open_fua(io, IO_READ_FUA, &fua, err);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < TRIED * PLACES && n < PLACES && !buffer_is_over(io); i++) {
		uint64_t at = buffer_fresh(io, 0);
		const uint64_t twice[] = { at, at };
		double ns[2];

		r = timed_reads(&io->t, twice, 2, ns, NULL, err);
		if (r == 0 && buffer_is_media(&io->cond, ns[0]) && buffer_is_hit(&io->cond, ns[1])) {
			size_t before = io->samples.n;

			r = again(io, &fua, BUFFER_FUA_READ, at, err);
			if (io->samples.n == before)
				break; /* they are not known here */
			n++;
		}
	}
	engine_close(fua.eng);
	return r;
}

int buffer_fua_writes(struct buffer_io *io, struct err *err)
{
	uint64_t block = io->t.block_bytes;
	struct buffer_knee small, large;
	double rest_ns;
	struct timed fua;
	int r;

	buffer_knee_of(&io->samples, &io->cond, block, &small);
	buffer_knee_of(&io->samples, &io->cond, BUFFER_LARGE_BLOCK, &large);
	rest_ns = fmin(REST * fmax(small.empties_ns, large.empties_ns), (double)REST_MOST_NS);
	if (!small.is_cached || !has_room(io, block, PLACES * TIMES))
		return 0;
	r = open_fua(io, IO_WRITE_FUA, &fua, err);
	if (r < 0)
		return r;
	fill_buffers(io, fua.eng, (uint32_t)block);
	r = buffer_rest(io, (uint64_t)rest_ns, io->write_first + block, err);
	for (size_t i = 0; r == 0 && i < PLACES && !buffer_is_over(io); i++) {
		r = again(io, &fua, BUFFER_FUA_WRITE, next_place(io, block), err);
		io->written_bytes += TIMES * block;
	}
	engine_close(fua.eng);
	return r;
}
