/* SPDX-License-Identifier: GPL-2.0-or-later */
/* alike.c, compare.c, trend.c: what belongs together, and when two numbers differ. Only src/report includes this. */
#ifndef PLATTER_REPORT_ALIKE_H
#define PLATTER_REPORT_ALIKE_H

#include "result/result.h"

#define WHY_TEXT 200

enum alike { ALIKE, OTHER_MEASUREMENT, OTHER_DISK, OTHER_OPTIONS };

/* Are two documents of the same test: the same measurement, of the same place, by the same way? why (WHY_TEXT bytes) says what is not. */
enum alike alike(const struct result *a, const struct result *b, char *why);
/* How documents call the disk: serial number, else model, else path. */
const char *alike_disk(const struct result *res);
/* The first notice that says that the run was disturbed from outside: its code, NULL: none. */
const char *alike_disturbed(const struct result *res);
/* How a run ended: 0 well, 1 with errors, 2 without the disk; -1: cut short by its user or by us, which says nothing of the disk. */
int alike_outcome(const struct result *res);
/* Settings of disk and host that differ: notices. */
void alike_tell_settings(struct result *out, const struct result *a, const struct result *b);

enum figure_role {
	FIGURE_MEASURED, /* by its interval, and not at all without one */
	FIGURE_EXACT,    /* the same, or different; text is this */
	FIGURE_TROUBLE, /* a count of what should not be: none against some, and beyond that what chance cannot explain */
	FIGURE_OF_RUN, /* what was asked, or happened to this run: not compared */
};
enum figure_role figure_role(const struct figure *f);
/* Tells what it means when a figure has grown: "better", "worse", "different". */
const char *figure_judge(const struct figure *f, double change);

/* t with P(|T| > t) = p of Student's law. */
double two_sided_t(double p, double df);
/* The level of each of n looks that together err in 5 % (Sidak 1967). */
double sidak_level(size_t n);

#endif
