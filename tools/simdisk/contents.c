/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is on the disk. A sector holds a pattern until it is written; what is written is kept XORed with the pattern, so
 * that only what differs takes memory: a rewrite with the same bytes takes none.
 */
#include "contents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_SECTORS 64 /* bits of one word */

struct chunk {
	struct chunk *next;
	uint64_t number;  /* lba / CHUNK_SECTORS */
	uint64_t present; /* bit per sector */
	uint8_t data[];
};

struct sectors {
	uint32_t sector_bytes;
	struct chunk **table;
	size_t size; /* of the table, a power of two */
	size_t nchunks;
	uint64_t count;
};

struct sectors *sectors_new(uint32_t sector_bytes)
{
	struct sectors *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->sector_bytes = sector_bytes;
	s->size = 64;
	s->table = calloc(s->size, sizeof(struct chunk *));
	if (!s->table) {
		free(s);
		return NULL;
	}
	return s;
}

void sectors_clear(struct sectors *s)
{
	size_t i;

	for (i = 0; i < s->size; i++) {
		while (s->table[i]) {
			struct chunk *c = s->table[i];

			s->table[i] = c->next;
			free(c);
		}
	}
	s->nchunks = 0;
	s->count = 0;
}

void sectors_free(struct sectors *s)
{
	if (!s)
		return;
	sectors_clear(s);
	free(s->table);
	free(s);
}

static struct chunk *chunk_find(const struct sectors *s, uint64_t lba)
{
	uint64_t number = lba / CHUNK_SECTORS;
	struct chunk *c = s->table[rng_mix(number) & (s->size - 1)];

	while (c && c->number != number)
		c = c->next;
	return c;
}

const void *sectors_get(const struct sectors *s, uint64_t lba)
{
	const struct chunk *c = chunk_find(s, lba);
	uint32_t i = lba % CHUNK_SECTORS;

	return c && (c->present >> i & 1) ? c->data + (size_t)i * s->sector_bytes : NULL;
}

bool sectors_has(const struct sectors *s, uint64_t lba)
{
	return sectors_get(s, lba) != NULL;
}

static void table_grow(struct sectors *s)
{
	size_t i, size = s->size * 2;
	struct chunk **table = calloc(size, sizeof(struct chunk *));

	if (!table)
		return; /* longer chains do no harm */
	for (i = 0; i < s->size; i++) {
		while (s->table[i]) {
			struct chunk *c = s->table[i], **at = &table[rng_mix(c->number) & (size - 1)];

			s->table[i] = c->next;
			c->next = *at;
			*at = c;
		}
	}
	free(s->table);
	s->table = table;
	s->size = size;
}

void *sectors_put(struct sectors *s, uint64_t lba)
{
	struct chunk *c = chunk_find(s, lba), **at;
	uint32_t i = lba % CHUNK_SECTORS;

	if (!c) {
		c = calloc(1, sizeof(*c) + (size_t)CHUNK_SECTORS * s->sector_bytes);
		if (!c)
			return NULL;
		if (s->nchunks >= s->size)
			table_grow(s);
		c->number = lba / CHUNK_SECTORS;
		at = &s->table[rng_mix(c->number) & (s->size - 1)];
		c->next = *at;
		*at = c;
		s->nchunks++;
	}
	if (!(c->present >> i & 1)) {
		c->present |= 1ull << i;
		memset(c->data + (size_t)i * s->sector_bytes, 0, s->sector_bytes);
		s->count++;
	}
	return c->data + (size_t)i * s->sector_bytes;
}

void sectors_drop(struct sectors *s, uint64_t lba)
{
	struct chunk *c = chunk_find(s, lba), **at;

	if (!c || !(c->present >> (lba % CHUNK_SECTORS) & 1))
		return;
	c->present &= ~(1ull << (lba % CHUNK_SECTORS));
	s->count--;
	if (c->present)
		return;
	for (at = &s->table[rng_mix(c->number) & (s->size - 1)]; *at != c; at = &(*at)->next)
		;
	*at = c->next;
	free(c);
	s->nchunks--;
}

uint64_t sectors_count(const struct sectors *s)
{
	return s->count;
}

void sectors_each(const struct sectors *s, void (*fn)(void *arg, uint64_t lba, const void *data), void *arg)
{
	size_t i;
	uint32_t k;

	for (i = 0; i < s->size; i++) {
		const struct chunk *c;

		for (c = s->table[i]; c; c = c->next)
			for (k = 0; k < CHUNK_SECTORS; k++)
				if (c->present >> k & 1)
					fn(arg, c->number * CHUNK_SECTORS + k, c->data + (size_t)k * s->sector_bytes);
	}
}

/* ---- pattern ---- */

/* Most of what a simulated disk takes of the processor, so by registers of any width: sectors are of whole ones. */
typedef uint64_t words __attribute__((vector_size(64), aligned(1), may_alias));

void disk_pattern(uint64_t lba, uint32_t sector_bytes, void *buf)
{
	const words each = { 1, 2, 3, 4, 5, 6, 7, 8 };
	words *at = buf, w = rng_mix(lba) + each * 0x9e3779b97f4a7c15ull;

	for (uint32_t i = 0; i < sector_bytes / sizeof(words); i++) {
		at[i] = w;
		w += 8 * 0x9e3779b97f4a7c15ull;
	}
	memcpy(buf, &lba, sizeof(lba));
}

static void xor_into(void *to, const void *from, size_t len)
{
	const words *b = from;
	words *a = to;

	for (size_t i = 0; i < len / sizeof(words); i++)
		a[i] ^= b[i];
}

static bool is_zero(const void *buf, size_t len)
{
	const unsigned char *b = buf;

	return b[0] == 0 && memcmp(b, b + 1, len - 1) == 0;
}

/* ---- memory store: arg is the contents ---- */

static int memory_read(void *arg, uint64_t offset_bytes, uint32_t len_bytes, void *buf)
{
	const struct contents *c = arg;
	uint64_t lba = offset_bytes / c->sector_bytes, i;

	for (i = 0; i < len_bytes / c->sector_bytes; i++) {
		const void *data = sectors_get(c->media, lba + i);
		void *to = (char *)buf + i * c->sector_bytes;

		if (data)
			memcpy(to, data, c->sector_bytes);
		else
			memset(to, 0, c->sector_bytes);
	}
	return 0;
}

static int memory_write(void *arg, uint64_t offset_bytes, uint32_t len_bytes, const void *buf)
{
	const struct contents *c = arg;
	uint64_t lba = offset_bytes / c->sector_bytes, i;

	for (i = 0; i < len_bytes / c->sector_bytes; i++) {
		const void *from = (const char *)buf + i * c->sector_bytes;
		void *to;

		if (is_zero(from, c->sector_bytes)) {
			sectors_drop(c->media, lba + i);
			continue;
		}
		to = sectors_put(c->media, lba + i);
		if (!to)
			return -ENOMEM;
		memcpy(to, from, c->sector_bytes);
	}
	return 0;
}

/* ---- both layers ---- */

bool contents_init(struct contents *c, uint32_t sector_bytes)
{
	*c = (struct contents){ .sector_bytes = sector_bytes };
	c->media = sectors_new(sector_bytes);
	c->volatil = sectors_new(sector_bytes);
	c->store = (struct disk_store){ memory_read, memory_write, c };
	return c->media && c->volatil;
}

void contents_done(struct contents *c)
{
	sectors_free(c->media);
	sectors_free(c->volatil);
	c->media = c->volatil = NULL;
}

static bool is_memory(const struct contents *c)
{
	return c->store.read == memory_read;
}

#define STEP 128u /* sectors at a time, as a bounce buffer on the stack */

static int media_read(const struct contents *c, uint64_t lba, uint64_t n, void *buf)
{
	uint64_t i;
	int r;

	if (is_memory(c)) {
		for (i = 0; i < n; i++) {
			void *to = (char *)buf + i * c->sector_bytes;
			const void *data = sectors_count(c->media) ? sectors_get(c->media, lba + i) : NULL;

			disk_pattern(lba + i, c->sector_bytes, to);
			if (data)
				xor_into(to, data, c->sector_bytes);
		}
		return 0;
	}
	while (n) {
		uint64_t k = n < STEP ? n : STEP;

		r = c->store.read(c->store.arg, lba * c->sector_bytes, (uint32_t)(k * c->sector_bytes), buf);
		if (r < 0)
			return r;
		for (i = 0; i < k; i++) {
			_Alignas(8) unsigned char pattern[65536];

			disk_pattern(lba + i, c->sector_bytes, pattern);
			xor_into((char *)buf + i * c->sector_bytes, pattern, c->sector_bytes);
		}
		lba += k;
		n -= k;
		buf = (char *)buf + k * c->sector_bytes;
	}
	return 0;
}

int contents_read(const struct contents *c, uint64_t lba, uint64_t n, void *buf)
{
	uint64_t i;
	int r = media_read(c, lba, n, buf);

	if (r < 0 || sectors_count(c->volatil) == 0)
		return r;
	for (i = 0; i < n; i++) {
		const void *data = sectors_get(c->volatil, lba + i);

		if (data)
			memcpy((char *)buf + i * c->sector_bytes, data, c->sector_bytes);
	}
	return 0;
}

int contents_write_media(struct contents *c, uint64_t lba, uint64_t n, const void *buf)
{
	_Alignas(8) unsigned char bounce[65536];
	const uint64_t room = sizeof(bounce) / c->sector_bytes;
	uint64_t i;

	while (n) {
		uint64_t k = n < room ? n : room;
		int r;

		for (i = 0; i < k; i++)
			disk_pattern(lba + i, c->sector_bytes, bounce + i * c->sector_bytes);
		xor_into(bounce, buf, k * c->sector_bytes);
		r = c->store.write(c->store.arg, lba * c->sector_bytes, (uint32_t)(k * c->sector_bytes), bounce);
		if (r < 0)
			return r;
		for (i = 0; i < k && sectors_count(c->volatil); i++)
			sectors_drop(c->volatil, lba + i);
		lba += k;
		n -= k;
		buf = (const char *)buf + k * c->sector_bytes;
	}
	return 0;
}

int contents_write_cache(struct contents *c, uint64_t lba, uint64_t n, const void *buf)
{
	uint64_t i;

	for (i = 0; i < n; i++) {
		void *to = sectors_put(c->volatil, lba + i);

		if (!to)
			return -ENOMEM;
		memcpy(to, (const char *)buf + i * c->sector_bytes, c->sector_bytes);
	}
	return 0;
}

int contents_destage(struct contents *c, uint64_t lba, uint64_t n)
{
	uint64_t i;

	if (sectors_count(c->volatil) == 0)
		return 0;
	for (i = 0; i < n; i++) {
		const void *data = sectors_get(c->volatil, lba + i);
		int r = data ? contents_write_media(c, lba + i, 1, data) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- hash ---- */

struct hasher {
	const struct contents *c;
	uint64_t sum;
};

/* A sum over sectors, so that their order in the table does not matter. */
static void hash_sector(struct hasher *h, uint64_t lba, const unsigned char *data)
{
	uint64_t x = rng_mix(lba), i;

	for (i = 0; i < h->c->sector_bytes / 8; i++) {
		uint64_t w;

		memcpy(&w, data + i * 8, 8);
		x = rng_mix(x ^ w);
	}
	h->sum += x;
}

static void hash_media(void *arg, uint64_t lba, const void *data)
{
	struct hasher *h = arg;

	if (!sectors_has(h->c->volatil, lba)) /* the cache hides it */
		hash_sector(h, lba, data);
}

static void hash_cache(void *arg, uint64_t lba, const void *data)
{
	struct hasher *h = arg;
	_Alignas(8) unsigned char x[65536];

	disk_pattern(lba, h->c->sector_bytes, x);
	xor_into(x, data, h->c->sector_bytes);
	if (!is_zero(x, h->c->sector_bytes))
		hash_sector(h, lba, x);
}

uint64_t contents_hash(const struct contents *c)
{
	struct hasher h = { .c = c };

	sectors_each(c->media, hash_media, &h);
	sectors_each(c->volatil, hash_cache, &h);
	return h.sum;
}
