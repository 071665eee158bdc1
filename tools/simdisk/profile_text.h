/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles as text, inside: what profile_text.c (a disk as it should be) and profile_traits.c (a disk as it is) share.
 */
#pragma once

#include "model.h"

#define WORDS_MAX (PROFILE_SURFACES_MAX + 4)

struct parser {
	struct profile *p;
	const char *name;
	unsigned line;
	struct profile_zone zone; /* settings for the zones that follow */
	struct err *err;
	char *word[WORDS_MAX]; /* of the line: the key, then its values */
	size_t nwords;
};

/* -EINVAL with "NAME:LINE: what: 'word'". */
int parser_fail(const struct parser *ps, const char *what, const char *word);
int parser_get_double(const struct parser *ps, const char *word, double *ret); /* not negative */
int parser_get_u64(const struct parser *ps, const char *word, uint64_t max, uint64_t *ret);
int parser_get_u32(const struct parser *ps, const char *word, uint32_t *ret);

/* -EINVAL with a sentence when x is not within [min, max]. */
int profile_number(const struct profile *p, const char *what, double x, double min, double max, struct err *err);

/* ---- profile_text.c: keys with one value ---- */

enum key_type {
	KEY_TEXT,
	KEY_U32,
	KEY_U64,
	KEY_DOUBLE,
	KEY_KB /* KiB to bytes */,
	KEY_MBS /* MB/s to bytes/s */,
	KEY_BOOL
};

struct key {
	const char *name;
	enum key_type type;
	size_t offset, size;
};

extern const struct key profile_keys[]; /* ends with name NULL */

/* ---- profile_traits.c ---- */

/* Whether the line's key (word[0]) is one of its own; then *ret is what came of it. */
bool traits_parse(struct parser *ps, int *ret);
/* Names of their keys, from 0 on; NULL after the last. */
const char *traits_key(size_t i);
/* Checks and completes them: a part of profile_finish. */
int traits_finish(struct profile *p, struct err *err);
/* Once the capacity is known. */
int traits_check_trims(struct profile *p, struct err *err);
/* Those that differ from what profile_init gives. */
void traits_save(FILE *out, const struct profile *p);
