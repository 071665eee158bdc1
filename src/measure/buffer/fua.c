/* SPDX-License-Identifier: GPL-2.0-or-later */
/* FUA: one block again and again. What goes to its medium each time takes whole revolutions from one completion to the
 * next; what does not, none. */
#include <math.h>
#include <string.h>

#include "measure/buffer/buffer.h"

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
	if (!small.is_cached || !buffer_has_room(io, block, PLACES * TIMES))
		return 0;
	r = open_fua(io, IO_WRITE_FUA, &fua, err);
	if (r < 0)
		return r;
	buffer_payload(io, fua.eng, (uint32_t)block);
	r = buffer_rest(io, (uint64_t)rest_ns, io->write_first + block, err);
	for (size_t i = 0; r == 0 && i < PLACES && !buffer_is_over(io); i++) {
		r = again(io, &fua, BUFFER_FUA_WRITE, buffer_next_place(io, block), err);
		io->written_bytes += TIMES * block;
	}
	engine_close(fua.eng);
	return r;
}
