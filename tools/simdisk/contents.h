/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sparse memory of sectors, for the model's own files. The door is model.h. */
#pragma once

#include "model.h"

/* A set of sectors with data: chunks in a hash table. */
struct sectors;

struct sectors *sectors_new(uint32_t sector_bytes); /* NULL: out of memory */
void sectors_free(struct sectors *s);
bool sectors_has(const struct sectors *s, uint64_t lba);
/* Data of a sector; NULL: not there. */
const void *sectors_get(const struct sectors *s, uint64_t lba);
/* A place for its data (now there; zero when it is new); NULL: out of memory. */
void *sectors_put(struct sectors *s, uint64_t lba);
void sectors_drop(struct sectors *s, uint64_t lba);
void sectors_clear(struct sectors *s);
uint64_t sectors_count(const struct sectors *s);
/* Calls fn for every sector that is there, in no order. */
void sectors_each(const struct sectors *s, void (*fn)(void *arg, uint64_t lba, const void *data), void *arg);

/*
 * The two layers of a disk: what is on the media (a store, XORed with the pattern) and what is only in the write cache.
 */
struct contents {
	uint32_t sector_bytes;
	struct disk_store store;
	struct sectors *media;   /* of the memory store */
	struct sectors *volatil; /* plain data */
};

bool contents_init(struct contents *c, uint32_t sector_bytes);
void contents_done(struct contents *c);
/* All: 0 or negative errno. */
int contents_read(const struct contents *c, uint64_t lba, uint64_t n, void *buf);
int contents_write_media(struct contents *c, uint64_t lba, uint64_t n, const void *buf);
int contents_write_cache(struct contents *c, uint64_t lba, uint64_t n, const void *buf);
int contents_destage(struct contents *c, uint64_t lba, uint64_t n); /* from the cache to the media, what is there */
uint64_t contents_hash(const struct contents *c);
