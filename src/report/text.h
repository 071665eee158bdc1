/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between text.c, verdictpage.c and screen.c, which make the page for people together, each with those before it. Not a
 * door. */
#pragma once

#include "report/printer.h"

/* ---- text.c: the parts of the page ---- */

void text_head(struct printer *p, const struct result *res);
/* "2026-11-20T12:00:00.123456Z" as "2026-11-20 12:00:00 UTC"; anything else as it is. Heap. */
char *text_started(const char *started);
/* When, for how long, with which engine and seed. */
void text_circumstances(struct printer *p, const struct result *res);
/* The sentence of how it ended, if it did not well. */
void text_status(struct printer *p, const struct result *res);
/* A command on lines of its own, which can be typed as they stand: the shell joins what ends in a backslash. */
void text_command(struct printer *p, const char *command, unsigned indent);
void text_figures(struct printer *p, const struct figure *const *v, size_t n);
void text_table_of(struct printer *p, const struct result *res, const struct table *t);
bool text_is_for_files(const struct table *t); /* nothing but details: for files and pictures */
void text_faults(struct printer *p, const struct result *res);
void text_note(struct printer *p, const char *text); /* printable text */

/* ---- verdictpage.c ---- */

/* The page of `check`. */
void text_verdict(struct printer *p, const struct result *res);
/* What any other document shows of a disk, by the same rules: nothing, or the verdict and its reasons. */
void text_verdict_of(struct printer *p, const struct result *res);
/* Of several disks: a row for each, the worst first. */
void text_verdicts(struct printer *p, const struct result *const *res, size_t n);
