/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes that are answered well and do not end up where they should: miswrites.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct disk;
struct err;
struct parser;
struct profile;

enum miswrite_kind {
	MISWRITE_LOST,      /* nothing is stored */
	MISWRITE_TORN,      /* nor of a request that begins before, from here to its end */
	MISWRITE_MISPLACED, /* stored elsewhere, from arg on */
	MISWRITE_FLIPPED,   /* stored with bit arg of each sector flipped */
	MISWRITE_WRAPPED,   /* each sector from lba on is the one at its number modulo lba: read and write alike */
};

struct profile_miswrite {
	enum miswrite_kind kind;
	uint64_t lba, count, arg; /* logical sectors */
};

struct profile_miswrites {
	struct profile_miswrite *v; /* by place; they do not overlap */
	size_t n;
	uint64_t drop_from; /* writes from this request on (counted over all) are answered, not stored; 0: never */
};

int profile_add_miswrite(struct profile *p, const struct profile_miswrite *m); /* 0, -ENOMEM, -E2BIG */
int miswrites_parse(struct parser *ps);
int miswrites_check(struct profile *p, struct err *err); /* and sorts; once the capacity is known */
void miswrites_save(FILE *out, const struct profile *p);

/* What the disk stores of a request, and what it reads. 0 or negative errno. */
int miswrites_store(struct disk *d, uint64_t lba, uint64_t n, const void *buf, bool is_cached);
int miswrites_read(const struct disk *d, uint64_t lba, uint64_t n, void *buf);
