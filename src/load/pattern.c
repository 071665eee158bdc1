/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ready-made feeders. Random places come from a keyed permutation, so that no block is given twice before all were given,
 * without a bitmap: a Feistel network over the next power of two, walked until it falls below n (Black and Rogaway 2002, "Ciphers
 * with arbitrary finite domains": cycle walking keeps it a permutation; less than two steps on average).
 */
#include "load/load.h"

static uint64_t feistel_round(uint64_t half, uint64_t round_key)
{
	uint64_t x = (half ^ round_key) * 0xbf58476d1ce4e5b9ull;

	return (x ^ (x >> 29)) * 0x94d049bb133111ebull >> 16;
}

#define FEISTEL_ROUNDS 6

uint64_t permute(uint64_t i, uint64_t n, uint64_t key)
{
	unsigned bits, low_bits, high_bits;
	uint64_t low_mask, high_mask;

	if (n <= 1)
		return 0;
	bits = 64 - (unsigned)__builtin_clzll(n - 1);
	if (bits < 2)
		bits = 2; /* a half needs a bit */
	low_bits = bits - bits / 2;
	high_bits = bits / 2;
	low_mask = (1ull << low_bits) - 1;
	high_mask = (1ull << high_bits) - 1;
	do {
		uint64_t low = i & low_mask, high = i >> low_bits, k = key;

		for (int r = 0; r < FEISTEL_ROUNDS; r += 2) {
			high ^= feistel_round(low, k) & high_mask;
			k += 0x9e3779b97f4a7c15ull;
			low ^= feistel_round(high, k) & low_mask;
			k += 0x9e3779b97f4a7c15ull;
		}
		i = high << low_bits | low;
	} while (i >= n);
	return i;
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
	req->due_ns = 0;
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

static enum feed random_next(struct feeder *feeder, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct random_feeder *f = (struct random_feeder *)feeder;

	(void)now_ns;
	(void)ret_until_ns;
	if (f->left == 0 || f->nblocks == 0)
		return FEED_END;
	f->left--;
	req->op = f->op;
	req->target = f->target;
	req->offset_bytes = f->first + permute(f->at, f->nblocks, f->key) * f->block_bytes;
	req->len_bytes = f->block_bytes;
	req->due_ns = 0;
	req->tag = f->given++;
	if (++f->at == f->nblocks) {
		f->at = 0;
		f->key = rng_mix(f->key);
	}
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
		.nblocks = end > first && block_bytes ? (end - first) / block_bytes : 0,
		.key = rng_mix(seed),
		.left = count,
	};
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
	req->due_ns = 0;
	req->tag = f->at++;
	return FEED_IO;
}

void list_feeder_init(struct list_feeder *f, const struct list_item *items, size_t n)
{
	*f = (struct list_feeder){ .f.next = list_next, .items = items, .n = n };
}
