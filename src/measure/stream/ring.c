/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/stream/ring.h"

#include <stdlib.h>

#define NS_PER_S_128 ((unsigned __int128)1000000000)

void ring_init(struct ring *r, uint64_t rate_bytes_per_s, uint64_t block_bytes, uint64_t places, uint64_t t0_ns,
               uint64_t blocks_max)
{
	*r = (struct ring){
		.rate_bytes_per_s = rate_bytes_per_s,
		.block_bytes = block_bytes,
		.places = places,
		.t0_ns = t0_ns,
		.last_ns = t0_ns,
		.blocks_max = blocks_max,
		.arrival = calloc(places, sizeof(uint64_t)),
	};
}

void ring_done(struct ring *r)
{
	if (r)
		free(r->arrival);
}

/* Absolute. */
static uint64_t block_begin_ns(const struct ring *r, uint64_t block)
{
	unsigned __int128 bytes = (unsigned __int128)block * r->block_bytes;

	return r->t0_ns + (uint64_t)((bytes * NS_PER_S_128 + r->rate_bytes_per_s - 1) / r->rate_bytes_per_s);
}

static unsigned __int128 due(const struct ring *r, uint64_t now_ns)
{
	unsigned __int128 bytes, end = (unsigned __int128)r->blocks_max * r->block_bytes;

	if (now_ns <= r->t0_ns)
		return 0;
	bytes = (unsigned __int128)r->rate_bytes_per_s * (now_ns - r->t0_ns) / NS_PER_S_128;
	return r->blocks_max != UINT64_MAX && bytes > end ? end : bytes;
}

static unsigned __int128 occupied(const struct ring *r, uint64_t now_ns)
{
	unsigned __int128 bytes = (unsigned __int128)(r->taken - r->done) * r->block_bytes;
	uint64_t last;

	if (r->taken == r->done)
		return 0;
	/* The latest taken block counts with the bytes that have come. */
	last = r->arrival[(r->taken - 1) % r->places];
	if (last + 1 == r->begun && now_ns < block_begin_ns(r, last + 1)) {
		unsigned __int128 here = due(r, now_ns) - (unsigned __int128)last * r->block_bytes;

		bytes -= r->block_bytes - (here < r->block_bytes ? here : r->block_bytes);
	}
	return bytes;
}

/* Both ledgers rise between completions, so they peak just before one (or at the end). */
static void note_peaks(struct ring *r, uint64_t now_ns)
{
	unsigned __int128 full = occupied(r, now_ns), owed = due(r, now_ns) - r->done_bytes - r->lost_bytes;

	r->peak_bytes = full > r->peak_bytes ? full : r->peak_bytes;
	r->endless_peak_bytes = owed > r->endless_peak_bytes ? owed : r->endless_peak_bytes;
}

static void drop(struct ring *r, uint64_t begin_ns)
{
	if (!r->is_dropping) {
		if (r->nevents < RING_EVENTS_MAX)
			r->events[r->nevents] = (struct ring_event){ .start_ns = begin_ns - r->t0_ns };
		r->nevents++;
		r->is_dropping = true;
	}
	if (r->nevents <= RING_EVENTS_MAX)
		r->events[r->nevents - 1].dropped_bytes += r->block_bytes;
	r->dropped_bytes += r->block_bytes;
}

static void end_drop(struct ring *r, uint64_t now_ns)
{
	if (r->is_dropping && r->nevents <= RING_EVENTS_MAX)
		r->events[r->nevents - 1].end_ns = now_ns - r->t0_ns;
	r->is_dropping = false;
}

/* Blocks that begin before end_ns, or at it when inclusive. */
static void begin_blocks(struct ring *r, uint64_t end_ns, bool inclusive)
{
	while (r->begun < r->blocks_max) {
		uint64_t begin = block_begin_ns(r, r->begun);

		if (begin > end_ns || (begin == end_ns && !inclusive))
			return;
		if (r->taken - r->done < r->places) {
			end_drop(r, begin);
			r->arrival[r->taken % r->places] = r->begun;
			r->taken++;
		} else {
			/* The ring is full from the end of the last taken block on: the peak of the finite ledger. */
			note_peaks(r, begin);
			drop(r, begin);
		}
		r->begun++;
	}
}

void ring_advance(struct ring *r, uint64_t now_ns)
{
	if (now_ns < r->last_ns)
		return; /* complete up to there already */
	begin_blocks(r, now_ns, true);
	r->last_ns = now_ns;
}

bool ring_next(struct ring *r, uint64_t now_ns, uint64_t *ret_number, uint64_t *ret_exist_ns, uint64_t *ret_when_ns)
{
	uint64_t exist;

	ring_advance(r, now_ns);
	*ret_when_ns = UINT64_MAX;
	if (r->issued == r->taken) {
		if (r->begun < r->blocks_max) /* what begins next, if there is room, exists one block later */
			*ret_when_ns = block_begin_ns(r, r->begun);
		return false;
	}
	exist = block_begin_ns(r, r->arrival[r->issued % r->places] + 1);
	if (exist > now_ns) {
		*ret_when_ns = exist;
		return false;
	}
	*ret_number = r->issued;
	*ret_exist_ns = exist;
	return true;
}

void ring_issue(struct ring *r)
{
	r->issued++;
}

void ring_complete(struct ring *r, uint64_t done_ns, bool ok)
{
	if (done_ns < r->last_ns)
		done_ns = r->last_ns;
	begin_blocks(r, done_ns, false);
	note_peaks(r, done_ns);
	r->done++;
	*(ok ? &r->done_bytes : &r->lost_bytes) += r->block_bytes;
	r->last_ns = done_ns;
}

uint64_t ring_occupied_bytes(const struct ring *r, uint64_t now_ns)
{
	return (uint64_t)occupied(r, now_ns);
}

uint64_t ring_end_ns(const struct ring *r)
{
	return r->blocks_max == UINT64_MAX ? UINT64_MAX : block_begin_ns(r, r->blocks_max);
}

bool ring_is_over(const struct ring *r)
{
	return r->begun >= r->blocks_max && r->issued == r->taken;
}

void ring_finish(struct ring *r, uint64_t now_ns)
{
	uint64_t end = ring_end_ns(r);

	ring_advance(r, now_ns);
	note_peaks(r, now_ns);
	end_drop(r, now_ns < end ? now_ns : end);
}
