/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What only a disk at work knows (percentiles, queues, slow interfaces): many requests are put to a fresh one. */
#include <math.h>
#include <stdlib.h>

#include "wildboard.h"

#define STREAMED_FLAT  (256u << 20) /* of what does not rotate, whose requests scatter */
#define STREAMED_LEAD  (8u << 20)
#define STREAMED_DEPTH 4

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Without what ends a disk, and what fails by number: the time of the good ones is wanted. */
static struct disk *fresh_disk(const struct profile *p, uint64_t seed, bool is_limited)
{
	struct profile q;
	struct disk *d;

	if (profile_copy(&q, p) < 0)
		return NULL;
	q.faults.nfails = 0;
	q.faults.gone_at_s = (double)INFINITY;
	q.faults.gone_at_request = 0;
	if (!is_limited)
		q.path.limit_bytes_per_s = q.path.limit_ops = 0;
	q.seed = rng_mix(p->seed + seed);
	d = disk_new(&q, 0);
	profile_done(&q);
	return d;
}

static struct disk_req random_read(struct rng *r, const struct profile *p, uint64_t size, uint32_t tag, uint32_t *tags)
{
	uint32_t len = p->physical_sector_bytes > 4096 ? p->physical_sector_bytes : 4096;

	return (struct disk_req){
		.op = DISK_READ, .len_bytes = len, .offset_bytes = rng_below(r, size / len) * len, .owner = &tags[tag]
	};
}

double wild_random_s(const struct wild_case *c, uint32_t depth, size_t n, double *ret, size_t *ret_n)
{
	struct disk *d = fresh_disk(c->p, 1, true);
	uint64_t now = 1, size = geometry_bytes(c->g);
	uint32_t tags[WILD_QUEUE_MAX] = { 0 };
	struct disk_done done;
	size_t got = 0, all = 0;
	struct rng r;

	*ret_n = 0;
	if (!d)
		return (double)NAN;
	rng_init(&r, c->p->seed, 0x7272);
	for (uint32_t i = 0; i < depth; i++) {
		struct disk_req req = random_read(&r, c->p, size, i, tags);

		(void)disk_submit(d, now, &req);
	}
	while (all < n) {
		uint64_t event = disk_next_event_ns(d), next = disk_next_done_ns(d);

		if (event == DISK_NEVER && next == DISK_NEVER)
			break;
		now = event < next ? event : next;
		disk_advance(d, now);
		while (disk_pop_done(d, now, &done)) {
			struct disk_req req = random_read(&r, c->p, size, 0, tags);

			all++;
			if (done.res >= 0 && (done.how == HOW_MEDIA || c->p->kind != DISK_ROTATING) && ret)
				ret[got++] = (double)(done.done_ns - done.arrival_ns);
			(void)disk_submit(d, now, &req);
		}
	}
	disk_free(d);
	if (ret)
		qsort(ret, got, sizeof(*ret), by_size);
	*ret_n = got;
	return (double)now * 1e-9;
}

double wild_streamed(const struct wild_case *c, uint64_t first, uint64_t end, uint64_t block)
{
	struct disk *d = fresh_disk(c->p, first + 1, false);
	uint64_t now = 1, at, from_ns = 0, to_ns = 0, moved = 0, sector = c->p->physical_sector_bytes, stop;
	uint64_t most = c->p->kind == DISK_ROTATING ? WILD_STREAMED_MOST : STREAMED_FLAT;
	uint32_t tag = 0;
	struct disk_done done = { 0 };

	if (!d)
		return (double)NAN;
	end = end - first > most ? first + most : end;
	/* On behind the end, so that the last that count are not alone. */
	stop = end + STREAMED_DEPTH * block;
	stop = stop < geometry_bytes(c->g) ? stop : geometry_bytes(c->g);
	at = first = first > STREAMED_LEAD ? (first - STREAMED_LEAD) / sector * sector : 0;
	for (uint32_t in_flight = 0; !to_ns && (at < stop || in_flight);) {
		for (; in_flight < STREAMED_DEPTH && at < stop; in_flight++) {
			uint64_t len = stop - at < block ? (stop - at + sector - 1) / sector * sector : block;
			struct disk_req req = {
				.op = DISK_READ, .len_bytes = (uint32_t)len, .offset_bytes = at, .owner = &tag
			};

			(void)disk_submit(d, now, &req);
			at += len;
		}
		now = disk_next_event_ns(d) < disk_next_done_ns(d) ? disk_next_event_ns(d) : disk_next_done_ns(d);
		if (now == DISK_NEVER)
			break;
		disk_advance(d, now);
		for (; !to_ns && disk_pop_done(d, now, &done); in_flight--) {
			uint64_t done_to = done.req.offset_bytes + done.req.len_bytes;

			moved += from_ns ? done.req.len_bytes : 0;
			if (!from_ns && done_to >= first + STREAMED_LEAD)
				from_ns = done.done_ns;
			else if (done_to >= end)
				to_ns = done.done_ns;
		}
	}
	disk_free(d);
	return to_ns > from_ns ? (double)moved * 1e9 / (double)(to_ns - from_ns) : (double)NAN;
}
