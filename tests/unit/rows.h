/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of a result: cells of its tables, figures that are texts, notices. For tests that have included cmocka.h. */
#ifndef PLATTER_TEST_ROWS_H
#define PLATTER_TEST_ROWS_H

#include "result/result.h"

static inline double number(const struct table *t, size_t row, const char *key)
{
	int col = table_column(t, key);

	if (col < 0)
		fail_msg("no column %s in %s", key, t->name);
	return table_number(t, row, (size_t)col);
}

static inline const char *string_of(const struct table *t, size_t row, const char *key)
{
	int col = table_column(t, key);

	if (col < 0)
		fail_msg("no column %s in %s", key, t->name);
	return table_string(t, row, (size_t)col);
}

/* Of a figure that is a text; "none": there is none. */
static inline const char *text_of(const struct result *res, const char *name)
{
	const struct figure *f = result_find_figure(res, name);

	return f && f->value.str ? f->value.str : "none";
}

/* How many there are of this code; text: that have it in them. */
static inline unsigned notices(const struct result *res, const char *code, const char *text)
{
	unsigned n = 0;

	for (size_t i = 0; i < res->nnotices; i++)
		n += strcmp(res->notices[i].code, code) == 0 && (!text || strstr(res->notices[i].text, text));
	return n;
}

#endif
