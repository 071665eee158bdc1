/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html.c: what pages are made of. Only src/report includes this. */
#pragma once

#include "report/report.h"

void html_begin(FILE *out, const char *title, const char *started);
/* One for each measurement; n up to DOCUMENTS_MAX. */
void html_sections(FILE *out, const struct result *const *res, size_t n);
/* A table, folded up. */
void html_table(FILE *out, const struct table *t);
/* What the document notes, and the errors of the disk. */
void html_notices(FILE *out, const struct result *res);
/* 0, or negative errno: whoever opened the file says what is wrong with it. */
int html_end(FILE *out);
