/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a profile does not ask for costs nothing: the profiles and random disks that there were before the model learned
 * the traits of wild disks give the same bytes at the same times as then. The sums below were taken from the model as
 * it was; once more when sectors that nobody wrote got other contents, all times being the same.
 */
#include "test.h"

#include "modelrun.h"

#define REQUESTS 4000

static uint64_t fnv(uint64_t sum, uint64_t x)
{
	return rng_mix(sum * 1099511628211u ^ x);
}

static uint64_t sum_done(uint64_t sum, const struct disk_done *done)
{
	sum = fnv(sum, done->number);
	sum = fnv(sum, done->done_ns);
	sum = fnv(sum, done->ideal_ns);
	sum = fnv(sum, (uint64_t)(int64_t)done->res);
	return fnv(sum, done->how);
}

/* A request of any kind: most go on where the last one ended, or near it, or anywhere. */
static void any_request(struct rng *rng, const struct run *r, uint64_t *at, unsigned char *buf, struct disk_req *ret)
{
	uint64_t size = geometry_bytes(disk_geometry(r->d)), sector = r->p.logical_sector_bytes;
	uint64_t way = rng_below(rng, 10), kind = rng_below(rng, 20);

	*ret = (struct disk_req){ .op = kind == 0 ? DISK_FLUSH : kind < 7 ? DISK_WRITE : DISK_READ };
	if (way > 7)
		*at = rng_below(rng, size / sector) * sector;
	else if (way > 5)
		*at = (*at + rng_below(rng, 20000) * sector) % size;
	ret->fua = kind == 1;
	ret->offset_bytes = *at;
	ret->len_bytes = ret->op == DISK_FLUSH ? 0 : (uint32_t)((1 + rng_below(rng, 64)) * sector);
	*at += ret->len_bytes;
	if (*at >= size)
		*at = 0;
	if (ret->op != DISK_FLUSH && rng_below(rng, 4) == 0) {
		memset(buf, (int)rng_below(rng, 256), ret->len_bytes);
		ret->buf = buf;
	}
}

/* Many requests, one at a time, then several at once; a sum over every answer and over what is on the disk at the end.
 */
static uint64_t sum_of(struct run *r, uint64_t seed)
{
	unsigned char *buf = malloc(64 * 4096);
	struct rng rng;
	uint64_t sum = 1, at = 0;
	struct disk_req q;

	rng_init(&rng, seed, 1717);
	for (uint32_t i = 0; i < REQUESTS; i++) {
		any_request(&rng, r, &at, buf, &q);
		assert_int_equal(disk_submit(r->d, r->now, &q), 0);
		sum = sum_done(sum, run_wait(r));
		if (rng_below(&rng, 10) == 0)
			r->now += rng_below(&rng, 300000000);
	}
	for (uint32_t i = 0; i < REQUESTS; i++) {
		any_request(&rng, r, &at, buf, &q);
		q.buf = q.op == DISK_READ ? NULL : q.buf;
		assert_int_equal(disk_submit(r->d, r->now, &q), 0);
		while (disk_in_flight(r->d) > 12 || (q.buf && disk_in_flight(r->d)))
			sum = sum_done(sum, run_wait(r));
		r->now += rng_below(&rng, 2000000);
	}
	while (disk_in_flight(r->d))
		sum = sum_done(sum, run_wait(r));
	free(buf);
	return fnv(sum, disk_contents_hash(r->d));
}

TEST(old_profiles_give_the_same_bytes_at_the_same_times)
{
	static const struct {
		const char *name;
		uint64_t sum;
	} old[] = {
		{ "failing", 0xb8e03a399d49b88a },
		{ "ibm-deskstar-60gxp", 0x839dd73eb85a1b5 },
		{ "maxtor-diamondmax-80", 0xc36566ac9de750b },
		{ "modern-4tb", 0x455b76d53da89c59 },
		{ "quantum-fireball-tm2110a", 0xcf64c654c6795fb6 },
		{ "samsung-hd103sj", 0x7903e5ab92444526 },
		{ "seagate-cheetah-15k7", 0xf8d182ce3b851986 },
		{ "seagate-medalist-st39140a", 0xa1b38606041f3e65 },
		{ "ssd-sata", 0xf93342f9849c4dec },
		{ "tiny", 0xdd16382358b7b8d3 },
		{ "toshiba-x300", 0x3358e4be7137f267 },
	};
	bool is_same = true;

	for (size_t i = 0; i < ARRAY_LEN(old); i++) {
		cleanup_model struct run r = { 0 };
		uint64_t sum;

		run_load(&r, old[i].name);
		sum = sum_of(&r, i);
		if (sum != old[i].sum)
			print_error("{ \"%s\", %#" PRIx64 " },\n", old[i].name, sum);
		is_same = is_same && sum == old[i].sum;
	}
	assert_true(is_same);
}

TEST(old_random_disks_give_the_same_bytes_at_the_same_times)
{
	const uint64_t want = 0xffb5892e8e0ab5fb; /* whatever the compiler */
	uint64_t sum = 1;

	for (uint64_t seed = 0; seed < 40; seed++) {
		const struct profile_limits limits = { .max_bytes = 400000000,
			                               .jitter_us = seed % 3 ? 0 : 50,
			                               .retry_per_gb = seed % 4 ? 0 : 100,
			                               .slow_regions = (uint32_t)(seed % 5),
			                               .bad_regions = (uint32_t)(seed % 2) };
		cleanup_model struct run r = { .now = seed };

		MUST(profile_random(&r.p, seed, &limits, &err));
		r.d = disk_new(&r.p, r.now);
		assert_non_null(r.d);
		sum = fnv(sum, sum_of(&r, seed));
	}
	if (sum != want)
		fail_msg("%#" PRIx64, sum);
}
