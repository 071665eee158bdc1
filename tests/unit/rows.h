/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cells of a result's tables, for tests that have included cmocka.h. */
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

#endif
