/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which experiment is next, and when enough is known: edges by doubling and halving, where a doubtful place is asked
 * again before it is built upon. */
#include <math.h>

#include "measure/buffer/buffer.h"

#define SURE         6.9 /* ln 1000 */
#define VOTES_MOST   200 /* of one edge: where even these do not agree, there is none */
#define TRACK_VOTES  24  /* before it may be ends of tracks */
#define RUN_FIRST    (64u << 10)
#define RUN_MOST     (1u << 30) /* twice as much as any drive has */
#define RUN_PARTS    256        /* so fine, of what is large */
#define STREAMS_MOST 1024
#define SWEEPS       12 /* where chance made one slow or quick, of more (a choice) */
#define HELD_VOTES   12
#define LONGER_NS    0.3e6 /* of the media: as much as drives read ahead before they leave, or more (a choice) */
#define VOLUME_PARTS 6     /* of what one stream may take */

struct range {
	uint64_t first, most;
	uint32_t parts; /* the edge is known as finely as a part of itself; 0: as a block */
};

/* Where to ask next for the edge of this test; 0: it is known, or will never be. */
static uint64_t next_of(const struct buffer_io *io, enum buffer_test test, const struct range *range)
{
	uint64_t block = io->cond.block_bytes, fine = block, at;
	struct buffer_edge e;
	double odds;
	bool is_ahead;

	buffer_edge_of(&io->samples, &io->cond, test, &e);
	if (e.votes >= VOTES_MOST || buffer_is_hopeless(io))
		return 0;
	if (!e.votes)
		return range->first;
	is_ahead = test == BUFFER_AHEAD || test == BUFFER_AHEAD_SECOND;
	odds = is_ahead ? buffer_track_odds(&io->samples, &io->cond, test) : 0.0;
	if (e.votes >= TRACK_VOTES && odds > SURE)
		return 0;
	if (!e.is_sure)
		return e.ask;
	if (e.high == UINT64_MAX)
		return e.low < range->most ? 2 * e.low : 0;
	if (range->parts && e.low / range->parts > fine)
		fine = e.low / range->parts;
	if (e.high <= block)
		return 0;
	if (e.high - e.low <= fine) /* the same everywhere, or where the track goes on? */
		return is_ahead && fabs(odds) < SURE ? e.low : 0;
	at = e.low && e.high < 3 * e.low ? e.low + (e.high - e.low) / 2
	     : e.low                     ? (uint64_t)sqrt((double)e.low * (double)e.high)
	                                 : e.high / 2;
	at -= at % block;
	return at > e.low ? at : e.low + block;
}

static int find_edge(struct buffer_io *io, enum buffer_test test, const struct range *range, struct err *err)
{
	uint64_t at;
	int r = 0;

	while (r == 0 && !buffer_is_over(io) && (at = next_of(io, test, range)) != 0)
		r = buffer_try(io, &(struct buffer_experiment){ .test = test, .bytes = at }, err);
	return r;
}

/* Sweeps of this many bytes each, more and more places, until the number that is held is known. */
static int find_count(struct buffer_io *io, enum buffer_test test, uint64_t bytes, size_t places, size_t most,
                      struct err *err)
{
	struct buffer_edge e = { .is_sure = false };
	int r = 0;

	for (int k = 0; r == 0 && k < SWEEPS && !buffer_is_over(io) && !buffer_is_hopeless(io); k++) {
		r = buffer_try(io, &(struct buffer_experiment){ test, bytes, places, places }, err);
		if (io->is_disturbed)
			continue;
		buffer_edge_of(&io->samples, &io->cond, test, &e);
		if (e.high == UINT64_MAX || e.low + 4 >= places) {
			if (places >= most)
				break;
			places = places * 4 < most ? places * 4 : most;
			k = -1;
		} else if (e.is_sure && e.high == e.low + 1 && k > 0) {
			break;
		} else {
			places = (size_t)e.low + 6;
		}
	}
	return r;
}

static int decide_before(struct buffer_io *io, struct err *err)
{
	int r = 0;

	for (int k = 0; r == 0 && k < HELD_VOTES && !buffer_is_over(io) &&
	                buffer_is_held(&io->samples, &io->cond, BUFFER_BEFORE) < 0;
	     k++)
		r = buffer_try(io, &(struct buffer_experiment){ .test = BUFFER_BEFORE, .bytes = io->cond.block_bytes },
		               err);
	return r;
}

/* The number of streams may be limited by what they hold together: with more in each it is the same, or not. */
static int find_limit(struct buffer_io *io, const struct buffer_found *f, struct err *err)
{
	const struct buffer_conditions *c = &io->cond;
	double most = f->extent_low ? (double)f->extent_low : f->ahead_bytes.value;
	uint64_t more =
		(uint64_t)fmin(LONGER_NS * 1e-9 * c->media_bytes_per_s, most / 2.0) / c->block_bytes * c->block_bytes;

	return more ? find_count(io, BUFFER_LONGER, c->block_bytes + more, f->streams + 6, f->streams + 6, err) : 0;
}

static int find_sizing(struct buffer_io *io, struct err *err)
{
	struct buffer_found f;
	uint64_t block = io->cond.block_bytes, bytes;
	int r = 0;

	buffer_analyse(&io->samples, &io->cond, &f);
	bytes = f.extent_low * 4 / 5 / block * block;
	for (int k = 0; r == 0 && k < HELD_VOTES && f.streams >= 3 && bytes && !buffer_is_over(io) &&
	                buffer_is_held(&io->samples, &io->cond, BUFFER_LARGE) < 0;
	     k++)
		r = buffer_try(io, &(struct buffer_experiment){ BUFFER_LARGE, bytes, f.streams < 4 ? f.streams : 4, 1 },
		               err);
	buffer_analyse(&io->samples, &io->cond, &f);
	if (r == 0 && f.streams && f.sizing != SIZING_FIXED)
		r = find_limit(io, &f, err);
	bytes = f.extent_low / VOLUME_PARTS / block * block;
	if (r == 0 && f.sizing == SIZING_BY_USE && bytes && f.streams > 2 * VOLUME_PARTS + 2)
		r = find_count(io, BUFFER_VOLUME, bytes, 2 * VOLUME_PARTS + 6, 4 * VOLUME_PARTS, err);
	return r;
}

/* So large that the host, asking for one after the other, keeps up with the media: else the drive reads ahead over what
 * it holds. */
static void choose_chunk(struct buffer_io *io)
{
	const struct buffer_conditions *c = &io->cond;
	struct buffer_found f;
	double spare, bytes;

	buffer_analyse(&io->samples, c, &f);
	spare = 0.8 / c->media_bytes_per_s - 1.0 / f.interface.value; /* s per byte */
	bytes = spare > 0.0 ? 1.5e-9 * c->hit_limit_ns / spare : (double)(1u << 20);
	bytes = fmin(fmax(bytes, 65536.0), (double)(1u << 20));
	if (isfinite(bytes))
		io->chunk_bytes = (uint32_t)(bytes - fmod(bytes, (double)c->block_bytes));
}

int buffer_search(struct buffer_io *io, struct err *err)
{
	/* Asked up to twice as far, within the part of the device that is read. */
	const uint64_t part = (uint64_t)(BUFFER_PART / 2.0 * (double)io->t.target->size_bytes) -
	                      4 * io->cond.block_bytes,
		       most = part < RUN_MOST ? part : RUN_MOST;
	const struct range ahead = { .first = io->cond.block_bytes, .most = most };
	const struct range run = { .first = RUN_FIRST, .most = most, .parts = RUN_PARTS };
	struct buffer_found f;
	int r = buffer_reread(io, err);

	choose_chunk(io);
	if (r == 0)
		r = decide_before(io, err);
	session_progress(io->ses, "streams that are held", 0.1, NULL);
	if (r == 0)
		r = find_count(io, BUFFER_STREAMS, io->cond.block_bytes, 10, STREAMS_MOST, err);
	session_progress(io->ses, "reading ahead", 0.3, NULL);
	if (r == 0)
		r = find_edge(io, BUFFER_AHEAD, &ahead, err);
	buffer_analyse(&io->samples, &io->cond, &f);
	if (r == 0 && f.ahead != AHEAD_ALWAYS)
		r = find_edge(io, BUFFER_AHEAD_SECOND, &ahead, err);
	session_progress(io->ses, "what a stream keeps", 0.6, NULL);
	if (r == 0 && f.is_media_slower)
		r = find_edge(io, BUFFER_RUN, &run, err);
	session_progress(io->ses, "sizes of segments", 0.8, NULL);
	return r < 0 ? r : find_sizing(io, err);
}
