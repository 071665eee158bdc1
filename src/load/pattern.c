/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ready-made feeders. Random places come from a keyed permutation, so that no block is given twice before all were given, without
 * a bitmap. Over the next power of two, x += key, then three rounds of x ^= x >> half the bits and x *= an odd number of the key's: all bijections
 * (the finaliser of MurmurHash3, Appleby 2011, on fewer bits; with two rounds test_pattern fails). What falls beyond n is permuted
 * again until it does not (cycle walking, Black and Rogaway 2002, keeps it a permutation): less than two steps on average.
 */
#include "load/load.h"

static void permutation_init(struct permutation *p, uint64_t n, uint64_t key)
{
	unsigned bits = n > 1 ? 64 - (unsigned)__builtin_clzll(n - 1) : 1;

	p->n = n;
	p->mask = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
	p->shift = (bits + 1) / 2;
	p->add = rng_mix(key);
	p->mul[0] = rng_mix(p->add) | 1;
	p->mul[1] = rng_mix(p->mul[0]) | 1;
	p->mul[2] = rng_mix(p->mul[1]) | 1;
}

static inline uint64_t permutation_at(const struct permutation *p, uint64_t i)
{
	do {
		i = (i + p->add) & p->mask;
		i ^= i >> p->shift;
		i = i * p->mul[0] & p->mask;
		i ^= i >> p->shift;
		i = i * p->mul[1] & p->mask;
		i ^= i >> p->shift;
		i = i * p->mul[2] & p->mask;
		i ^= i >> p->shift;
	} while (__builtin_expect(i >= p->n, 0));
	return i;
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
	uint64_t left = f->is_backward ? f->at - f->first : f->end - f->at;
	uint32_t len = left < f->block_bytes ? (uint32_t)left : f->block_bytes;

	(void)now_ns;
	(void)ret_until_ns;
	if (len == 0)
		return FEED_END;
	if (f->is_backward)
		f->at -= len;
	req->op = f->op;
	req->target = f->target;
	req->offset_bytes = f->at;
	req->len_bytes = len;
	req->tag = f->tag++;
	if (!f->is_backward)
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
		.first = first,
		.end = end < first ? first : end,
		.at = first,
	};
}

void seq_feeder_turn(struct seq_feeder *f)
{
	f->is_backward = true;
	f->at = f->end;
}

static void random_again(struct random_feeder *f)
{
	f->at = 0;
	f->seed = rng_mix(f->seed);
	permutation_init(&f->order, f->order.n, f->seed);
}

static enum feed random_next(struct feeder *feeder, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct random_feeder *f = (struct random_feeder *)feeder;

	(void)now_ns;
	(void)ret_until_ns;
	if (f->left == 0)
		return FEED_END;
	if (__builtin_expect(f->at == f->order.n, 0))
		random_again(f);
	f->left--;
	req->op = f->op;
	req->target = f->target;
	req->len_bytes = f->block_bytes;
	req->tag = f->given++;
	req->offset_bytes = f->first + permutation_at(&f->order, f->at++) * f->block_bytes;
	return FEED_IO;
}

void random_feeder_init(struct random_feeder *f, enum io_op op, uint32_t target, uint64_t first, uint64_t end,
                        uint32_t block_bytes, uint64_t count, uint64_t seed)
{
	*f = (struct random_feeder){
		.f.next = random_next,
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

	(void)now_ns;
	(void)ret_until_ns;
	if (f->at == f->n)
		return FEED_END;
	item = f->items + f->at;
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
