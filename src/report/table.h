/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table.c, pivot.c: tables of the page for people. Not a door. */
#ifndef PLATTER_REPORT_TABLE_H
#define PLATTER_REPORT_TABLE_H

#include "report/printer.h"

void text_table(struct printer *p, const struct table *t);
/* The table as the matrix that the plot makes of it; false: it is none, nothing was printed. */
bool text_matrix(struct printer *p, const struct table *t, const struct plot *plot);

#endif
