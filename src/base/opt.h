/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Option tables over getopt_long: opt.c parses, opt_help.c shows them to people. */
#ifndef PLATTER_BASE_OPT_H
#define PLATTER_BASE_OPT_H

#include <stdio.h>

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
void opt_done(const struct opt_set *sets, size_t nsets); /* frees arrays of OPT_TYPE_STRS */
void opt_help(FILE *out, const struct opt *opts);        /* 80 columns */
/* Words of text and a newline, from column `at` on; continuation lines start at column `indent`. */
void opt_help_text(FILE *out, const char *text, size_t at, size_t indent);
/* The value in force, as a user would type it; heap. */
char *opt_value_text(const struct opt *o, const void *params);
/* What is wrong with a table (a bug of ours): 0 or a sentence. */
int opt_lint(const struct opt *opts, struct err *err);
/* Name of the argument in help; NULL: the option takes no argument. */
const char *opt_arg_name(const struct opt *o);
/* Nearest name by edit distance, NULL: nothing near. */
const char *opt_nearest(const char *word, const char *const *names, size_t n);

#endif
