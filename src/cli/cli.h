/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The only layer that prints, exits and handles signals. */
#ifndef PLATTER_CLI_CLI_H
#define PLATTER_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/desc.h"
#include "base/err.h"
#include "measure/measure.h"

enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_REFUSED = 3,
	EXIT_DISK_ERRORS = 4, /* done, but the disk returned errors: the figures stand */
	EXIT_VERDICT_NO = 5,  /* stream not sustained, compare found a difference */
	EXIT_SIGNAL = 128,    /* + signal number */
};

/* The whole program but the outside: returns the exit status. */
int cli_main(const struct env *env, int argc, char **argv);

/* ---- opt.c: option tables over getopt_long ---- */

struct opt_set { /* one table and the struct it fills */
	const struct opt *opts;
	void *params;
};

/*
 * Applies defaults, parses. *ret_first: index of the first operand in argv (permuted so that operands come last). 0, or -EINVAL and a sentence
 * ("did you mean"). Sets must not share names.
 */
int opt_parse(const struct opt_set *sets, size_t nsets, int argc, char **argv, int *ret_first, struct err *err);
void opt_done(const struct opt_set *sets, size_t nsets); /* frees arrays of OPT_TYPE_STRS */
void opt_help(FILE *out, const struct opt *opts);        /* 80 columns */
/* The value in force, as a user would type it; heap. */
char *opt_value_text(const struct opt *o, const void *params);
/* What is wrong with a table (a bug of ours): 0 or a sentence. */
int opt_lint(const struct opt *opts, struct err *err);
/* Nearest name by edit distance, NULL: nothing near. */
const char *opt_nearest(const char *word, const char *const *names, size_t n);

/* ---- progress.c ---- */

enum progress_mode { PROGRESS_AUTO, PROGRESS_TTY, PROGRESS_JSON, PROGRESS_NONE };
struct progress;
struct progress *progress_new(FILE *out, enum progress_mode mode);
void progress_update(struct progress *p, const char *phase, double done, const char *figure);
void progress_clear(struct progress *p); /* before anything else is printed */
void progress_free(struct progress *p);

#endif
