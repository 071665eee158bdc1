/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Option tables over getopt_long. */
#pragma once

#include <stddef.h>

#include "base/desc.h"
#include "base/err.h"

struct opt_set { /* one table and the struct it fills */
	const struct opt *opts;
	void *params;
};

/*
 * Applies defaults, parses. *ret_first: index of the first operand in argv (permuted so that operands come last). 0, or
 * -EINVAL and a sentence
 * ("did you mean"). Sets must not share names.
 */
int opt_parse(const struct opt_set *sets, size_t nsets, int argc, char **argv, int *ret_first, struct err *err);
/* The value of one option of a table, which has it, from what names it elsewhere. 0, or -EINVAL and a sentence. */
int opt_parse_one(const struct opt *opts, const char *name, const char *text, void *params, struct err *err);
/* Options that exclude each other, up to one without a name: -EINVAL and a sentence where both are given. */
struct opt_pair {
	bool is_given;
	const char *one, *other;
};
int opt_pairs(const struct opt_pair *v, struct err *err);
void opt_done(const struct opt_set *sets, size_t nsets); /* frees arrays of OPT_TYPE_STRS */
/* Nearest name by edit distance, NULL: nothing near. */
const char *opt_nearest(const char *word, const char *const *names, size_t n);
