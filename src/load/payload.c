/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data that can be checked. A block is a header of 64 bytes and filling. The header says which block it is (seed,
 * sequence, target, place, length), which key the filling was made from and its hash, and is hashed itself. A ring that
 * goes round gets new headers over old filling (payload_stamp), so the filling's key and hash stay where they are.
 *
 * Filling: eight lanes of xoroshiro128+ (Blackman and Vigna 2018), two 64-bit lanes per vector, which is memory speed
 * without any special instructions, and does not compress. Hash: eight lanes of h = rotl((h ^ word) * odd, 29). Each
 * step is a bijection in the word and in h, so that a change confined to one word is always found; other changes are
 * missed once in 2^64.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "load/load.h"

#define MAGIC  0x3172657474616c70ull /* "platter1" */
#define LANES  8
#define STRIPE (LANES * sizeof(uint64_t))
#define PRIME  0x9e3779b185ebca87ull /* odd, as hashes by multiplication need */

struct header {
	uint64_t magic, seed, sequence, offset_bytes;
	uint32_t target, len_bytes;
	uint64_t body_key, body_hash; /* of the filling; left alone by payload_stamp */
	uint64_t hash;                /* of all above */
};
_Static_assert(sizeof(struct header) == 64, "the header is 64 bytes");

/* ---- hash ---- */

static inline uint64_t rotl(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

static inline uint64_t word_at(const uint8_t *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

static inline uint64_t hash_step(uint64_t h, uint64_t w)
{
	return rotl((h ^ w) * PRIME, 29);
}

uint64_t payload_hash(const void *buf, size_t len)
{
	const uint8_t *p = buf, *end = p + len;
	uint64_t h[LANES], r = len * PRIME, last = 0;

	for (int i = 0; i < LANES; i++)
		h[i] = rng_mix((uint64_t)i);
	for (; (size_t)(end - p) >= STRIPE; p += STRIPE) {
#pragma GCC unroll 8
		for (size_t i = 0; i < LANES; i++)
			h[i] = hash_step(h[i], word_at(p + 8 * i));
	}
	for (int i = 0; i < LANES; i++)
		r = hash_step(r, h[i]);
	for (; end - p >= 8; p += 8)
		r = hash_step(r, word_at(p));
	memcpy(&last, p, (size_t)(end - p));
	return rng_mix(hash_step(r, last));
}

/* ---- filling ---- */

typedef uint64_t vec __attribute__((vector_size(16)));

#define VECS (LANES / 2)

static inline vec vec_rotl(vec x, int k)
{
	return x << k | x >> (64 - k);
}

struct stream {
	vec a[VECS], b[VECS];
};

static void stream_init(struct stream *st, uint64_t key)
{
	for (uint64_t i = 0; i < VECS; i++) {
		st->a[i] = (vec){ rng_mix(key + 4 * i), rng_mix(key + 4 * i + 1) };
		st->b[i] = (vec){ rng_mix(key + 4 * i + 2), rng_mix(key + 4 * i + 3) };
	}
}

static inline void stream_next(struct stream *st, uint8_t *out)
{
#pragma GCC unroll 4
	for (size_t i = 0; i < VECS; i++) {
		vec a = st->a[i], b = st->b[i], sum = a + b;

		memcpy(out + 16 * i, &sum, sizeof(sum));
		b ^= a;
		st->a[i] = vec_rotl(a, 24) ^ b ^ (b << 16);
		st->b[i] = vec_rotl(b, 37);
	}
}

static void fill_body(uint8_t *p, size_t len, uint64_t key)
{
	struct stream st;
	uint8_t last[STRIPE];

	stream_init(&st, key);
	for (; len >= STRIPE; p += STRIPE, len -= STRIPE)
		stream_next(&st, p);
	stream_next(&st, last);
	memcpy(p, last, len);
}

/* ---- blocks ---- */

static uint64_t header_hash(const struct header *h)
{
	return payload_hash(h, offsetof(struct header, hash));
}

static void stamp(uint8_t *buf, struct header *h, const struct payload_id *id)
{
	h->magic = MAGIC;
	h->seed = id->seed;
	h->sequence = id->sequence;
	h->offset_bytes = id->offset_bytes;
	h->target = id->target;
	h->len_bytes = id->len_bytes;
	h->hash = header_hash(h);
	memcpy(buf, h, sizeof(*h));
}

void payload_fill(void *buf, const struct payload_id *id)
{
	uint8_t *p = buf;
	struct header h = { 0 };
	size_t body = id->len_bytes - sizeof(h);

	assert(id->len_bytes >= sizeof(h));
	h.body_key = rng_mix(id->seed ^ rng_mix(id->sequence ^ rng_mix(id->offset_bytes ^ rng_mix(id->target))));
	fill_body(p + sizeof(h), body, h.body_key);
	h.body_hash = payload_hash(p + sizeof(h), body);
	stamp(p, &h, id);
}

void payload_stamp(void *buf, const struct payload_id *id)
{
	struct header h;

	memcpy(&h, buf, sizeof(h));
	stamp(buf, &h, id);
}

void payload_pool_init(struct payload_pool *p, uint64_t seed, size_t len_max)
{
	p->len_max = len_max;
	p->bytes = xmust(malloc(PAYLOAD_POOL_BYTES + len_max));
	fill_body(p->bytes, PAYLOAD_POOL_BYTES + len_max, rng_mix(seed));
}

void payload_pool_done(struct payload_pool *p)
{
	free(p->bytes);
	p->bytes = NULL;
}

#define FEW_BITS 8 /* flipped; more, and something else lies there */

struct difference {
	size_t first, nbytes;
	unsigned nbits, bit;
};

/* Of a filling from what its header says. */
static struct difference body_difference(const uint8_t *buf, const struct header *h, size_t len)
{
	struct difference d = { .first = len };
	struct stream st;

	stream_init(&st, h->body_key);
	for (size_t at = 0; at < len; at += STRIPE) {
		uint8_t want[STRIPE];

		stream_next(&st, want);
		for (size_t i = 0; i < STRIPE && at + i < len; i++) {
			unsigned differ = want[i] ^ buf[sizeof(*h) + at + i];

			if (!differ)
				continue;
			if (d.nbytes++ == 0) {
				d.first = at + i;
				d.bit = (unsigned)__builtin_ctz(differ);
			}
			d.nbits += (unsigned)__builtin_popcount(differ);
		}
	}
	d.first += sizeof(*h);
	return d;
}

/* Behind a bad header: what is there instead? */
static enum payload_fault header_fault(const uint8_t *buf, const struct header *h, const struct payload_id *expect)
{
	static const struct header zero;
	struct header want = *h;
	unsigned nbits = 0;
	bool is_meant;

	if (memcmp(h, &zero, sizeof(zero)) == 0)
		return PAYLOAD_EMPTY;
	want.magic = MAGIC;
	want.seed = expect->seed;
	want.sequence = expect->sequence;
	want.offset_bytes = expect->offset_bytes;
	want.target = expect->target;
	want.len_bytes = expect->len_bytes;
	is_meant = memcmp(&want, h, offsetof(struct header, body_key)) == 0;
	want.hash = header_hash(&want);
	for (size_t i = 0; i < sizeof(want) / 8; i++)
		nbits += (unsigned)__builtin_popcountll(word_at((const uint8_t *)&want + 8 * i) ^
		                                        word_at((const uint8_t *)h + 8 * i));
	/* A flip in the two words about the filling also changes the hash that we expect: about 32 bits more. Then the
	 * filling still is that of one of them. */
	if (nbits <= FEW_BITS ||
	    (is_meant && (payload_hash(buf + sizeof(*h), expect->len_bytes - sizeof(*h)) == h->body_hash ||
	                  body_difference(buf, h, expect->len_bytes - sizeof(*h)).nbits == 0)))
		return PAYLOAD_FLIPPED;
	return h->magic == MAGIC ? PAYLOAD_DAMAGED : PAYLOAD_FOREIGN;
}

enum payload_fault payload_look(const void *buf, const struct payload_id *expect, struct payload_id *ret_found)
{
	const uint8_t *p = buf;
	struct header h;

	assert(expect->len_bytes >= sizeof(h));
	memcpy(&h, p, sizeof(h));
	if (h.magic != MAGIC || h.hash != header_hash(&h))
		return header_fault(p, &h, expect);
	if (ret_found)
		*ret_found = (struct payload_id){
			.seed = h.seed,
			.sequence = h.sequence,
			.offset_bytes = h.offset_bytes,
			.target = h.target,
			.len_bytes = h.len_bytes,
		};
	if (h.seed != expect->seed)
		return PAYLOAD_OTHER_RUN;
	if (h.offset_bytes != expect->offset_bytes || h.target != expect->target)
		return PAYLOAD_ELSEWHERE;
	if (h.sequence != expect->sequence || h.len_bytes != expect->len_bytes)
		return PAYLOAD_OTHER;
	if (payload_hash(p + sizeof(h), h.len_bytes - sizeof(h)) == h.body_hash)
		return PAYLOAD_GOOD;
	return body_difference(p, &h, h.len_bytes - sizeof(h)).nbits <= FEW_BITS ? PAYLOAD_FLIPPED : PAYLOAD_DAMAGED;
}

int payload_check(const void *buf, const struct payload_id *expect, struct err *err)
{
	static const char *const texts[] = {
		[PAYLOAD_EMPTY] = "is empty (zeros): what was written there was lost",
		[PAYLOAD_FOREIGN] = "is not one of platter's: the write was lost, or other data lie there",
		[PAYLOAD_OTHER_RUN] = "is of another run: what was written there now was lost",
		[PAYLOAD_ELSEWHERE] = "is that of another place: blocks were swapped, or one was written twice",
		[PAYLOAD_OTHER] = "is another one: the last write was lost",
	};
	struct payload_id found = { 0 };
	enum payload_fault fault = payload_look(buf, expect, &found);
	const char *text = fault < ARRAY_LEN(texts) ? texts[fault] : NULL;
	struct difference d;
	struct header h;

	if (fault == PAYLOAD_GOOD)
		return 0;
	if (!found.len_bytes)
		return err_set(err, -EILSEQ, "The block at offset %" PRIu64 " %s.", expect->offset_bytes,
		               text ? text : "has a damaged header");
	if (text)
		return err_set(err, -EILSEQ,
		               "The block at offset %" PRIu64 " of target %" PRIu32 " %s. It says offset %" PRIu64
		               " of target %" PRIu32 ", number %" PRIu64 " for %" PRIu64 ", %" PRIu32 " bytes.",
		               expect->offset_bytes, expect->target, text, found.offset_bytes, found.target,
		               found.sequence, expect->sequence, found.len_bytes);
	memcpy(&h, buf, sizeof(h));
	d = body_difference(buf, &h, h.len_bytes - sizeof(h));
	return err_set(err, -EILSEQ,
	               "The block at offset %" PRIu64
	               " came back with %zu wrong bytes (%u bits), the first at byte %zu, bit %u.",
	               expect->offset_bytes, d.nbytes, d.nbits, d.first, d.bit);
}
