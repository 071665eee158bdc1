/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What must hold for the table "distribution" of any measurement. */
#ifndef PLATTER_TESTS_BARS_CHECK_H
#define PLATTER_TESTS_BARS_CHECK_H

#include <math.h>
#include <string.h>

#include "result/result.h"

/*
 * The bars of one series (of: NULL when there is one only): one after the other without a gap, few, all `count` in
 * them, 100 % in the end, and the median where the half is reached. Returns how many bars.
 */
static inline size_t assert_bars(const struct result *res, const char *of, double count, double p50_ns)
{
	const struct table *t = result_find_table(res, "distribution");
	double sum = 0.0, share = 0.0, within = 0.0, end = NAN;
	size_t n = 0;

	assert_non_null(t);
	for (size_t row = 0; row < t->nrows; row++) {
		const char *name = table_string(t, row, (size_t)table_column(t, "of"));
		double from = table_number(t, row, (size_t)table_column(t, "from_ns")),
		       to = table_number(t, row, (size_t)table_column(t, "to_ns")), before = within;

		if (of ? !name || strcmp(name, of) != 0 : name != NULL)
			continue;
		assert_true(n++ == 0 || from == end);
		end = to;
		sum += table_number(t, row, (size_t)table_column(t, "count"));
		share += table_number(t, row, (size_t)table_column(t, "share_percent"));
		within = table_number(t, row, (size_t)table_column(t, "within_percent"));
		assert_true(fabs(share - within) < 1e-6);
		if (p50_ns > to * 1.01)
			assert_true(within < 55.0);
		if (p50_ns < from * 0.99)
			assert_true(before > 45.0);
	}
	assert_true(n >= 1 && n <= HIST_BARS_MAX);
	assert_true(sum == count);
	assert_true(within == 100.0);
	return n;
}

#endif
