/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ready-made feeders. Random places come from a keyed permutation, so that no block is given twice before all were
 * given, without a bitmap. It works over the next power of two. A round multiplies by a keyed odd number, which carries
 * low bits up, then takes an exclusive or with the upper half shifted down, which carries high bits down. Both are
 * permutations, as in the finishers of hash functions; test_pattern judges how many rounds are needed. What falls
 * beyond n is permuted again until it does not (cycle walking, Black and Rogaway 2002, keeps it a permutation): less
 * than two steps on average.
 */
#include "load/load.h"

static void permutation_init(struct permutation *p, uint64_t n, uint64_t key)
{
	unsigned bits = n > 1 ? 64 - (unsigned)__builtin_clzll(n - 1) : 1;

	if (bits < 2)
		bits = 2; /* a half needs a bit */
	p->n = n;
	p->mask = bits < 64 ? (1ull << bits) - 1 : UINT64_MAX;
	p->shift = (bits + 1) / 2;
	for (unsigned r = 0; r < PERMUTATION_ROUNDS; r++) {
		p->add[r / 2] = key = rng_mix(key);
		key = rng_mix(key);
		p->mul[r] = key | 1;
	}
}

static inline uint64_t permutation_step(const struct permutation *p, uint64_t i)
{
	const unsigned shift = p->shift & 63;

#pragma GCC unroll 8
	for (unsigned r = 0; r < PERMUTATION_ROUNDS; r++) {
		if (r % 2 == 0)
			i += p->add[r / 2];
		i = i * p->mul[r] & p->mask;
		i ^= i >> shift;
	}
	return i;
}

/* Apart, so that the common case of one step keeps out of a loop. */
static __attribute__((noinline)) uint64_t permutation_walk(const struct permutation *p, uint64_t i)
{
	do {
		i = permutation_step(p, i);
	} while (i >= p->n);
	return i;
}

static inline uint64_t permutation_at(const struct permutation *p, uint64_t i)
{
	uint64_t x = permutation_step(p, i);

	return x < p->n ? x : permutation_walk(p, x);
}

uint64_t permute(uint64_t i, uint64_t n, uint64_t key)
{
	struct permutation p;

	if (n <= 1)
		return 0;
	permutation_init(&p, n, key);
	return permutation_at(&p, i);
}

static enum feed seq_next(struct feeder *feeder, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct seq_feeder *f = (struct seq_feeder *)feeder;
	uint64_t left = f->end - f->at;
	uint32_t len = left < f->block_bytes ? (uint32_t)left : f->block_bytes;

	(void)now_ns;
	(void)ret_until_ns;
	if (len == 0)
		return FEED_END;
	req->op = f->op;
	req->target = f->target;
	req->offset_bytes = f->at;
	req->len_bytes = len;
	req->tag = f->tag++;
	f->at += len;
	return FEED_IO;
}

void seq_feeder_init(struct seq_feeder *f, enum io_op op, uint32_t target, uint64_t first, uint64_t end,
                     uint32_t block_bytes)
{
	*f = (struct seq_feeder){
		.f.next = seq_next,
		.op = op,
		.target = target,
		.block_bytes = block_bytes,
		.end = end < first ? first : end,
		.at = first,
	};
}

static enum feed random_next(struct feeder *feeder, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns);

/* The rare cases are apart and last in their callers, so that the common one needs no stack. */
static __attribute__((noinline)) enum feed random_again(struct random_feeder *f, uint64_t now_ns, struct io_req *req,
                                                        uint64_t *ret_until_ns)
{
	if (f->left == 0)
		return FEED_END;
	f->at = 0;
	f->seed = rng_mix(f->seed);
	permutation_init(&f->order, f->order.n, f->seed);
	return random_next(&f->f, now_ns, req, ret_until_ns);
}

static __attribute__((noinline)) enum feed random_walk(const struct random_feeder *f, struct io_req *req, uint64_t x)
{
	req->offset_bytes = f->first + permutation_walk(&f->order, x) * f->block_bytes;
	return FEED_IO;
}

static enum feed random_next(struct feeder *feeder, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct random_feeder *f = (struct random_feeder *)feeder;
	uint64_t x;

	if (__builtin_expect(f->left == 0 || f->at == f->order.n, 0))
		return random_again(f, now_ns, req, ret_until_ns);
	f->left--;
	req->op = f->op;
	req->target = f->target;
	req->len_bytes = f->block_bytes;
	req->tag = f->given++;
	x = permutation_step(&f->order, f->at++);
	if (__builtin_expect(x >= f->order.n, 0))
		return random_walk(f, req, x);
	req->offset_bytes = f->first + x * f->block_bytes;
	return FEED_IO;
}

static uint32_t random_many(struct feeder *feeder, struct io_req *const *reqs, uint32_t n)
{
	struct random_feeder *f = (struct random_feeder *)feeder;
	uint64_t at = f->at, tag = f->given;

	if (n > f->left)
		n = (uint32_t)f->left;
	if (n > f->order.n - at)
		n = (uint32_t)(f->order.n - at); /* then a new order */
	f->at += n;
	f->left -= n;
	f->given += n;
	for (uint32_t i = 0; i < n; i++) {
		struct io_req *req = reqs[i];
		uint64_t x = permutation_at(&f->order, at++);

		req->op = f->op;
		req->target = f->target;
		req->len_bytes = f->block_bytes;
		req->tag = tag++;
		req->offset_bytes = f->first + x * f->block_bytes;
	}
	return n;
}

void random_feeder_init(struct random_feeder *f, enum io_op op, uint32_t target, uint64_t first, uint64_t end,
                        uint32_t block_bytes, uint64_t count, uint64_t seed)
{
	*f = (struct random_feeder){
		.f.next = random_next,
		.f.many = random_many,
		.op = op,
		.target = target,
		.block_bytes = block_bytes,
		.first = first,
		.seed = seed,
	};
	permutation_init(&f->order, end > first && block_bytes ? (end - first) / block_bytes : 0, seed);
	f->left = f->order.n ? count : 0; /* no block fits: nothing to give */
}

static enum feed list_next(struct feeder *feeder, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct list_feeder *f = (struct list_feeder *)feeder;
	const struct list_item *item;

	(void)ret_until_ns;
	if (f->at == f->n)
		return FEED_END;
	item = f->items + f->at;
	req->due_ns = item->wait_ns ? now_ns + item->wait_ns : 0;
	req->op = item->op;
	req->target = item->target;
	req->offset_bytes = item->offset_bytes;
	req->len_bytes = item->len_bytes;
	req->tag = f->at++;
	return FEED_IO;
}

void list_feeder_init(struct list_feeder *f, const struct list_item *items, size_t n)
{
	*f = (struct list_feeder){ .f.next = list_next, .items = items, .n = n };
}
