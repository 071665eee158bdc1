/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is what a run calls a slow region one? For tests that have included cmocka.h. */
#ifndef PLATTER_TEST_SLOW_TRUTH_H
#define PLATTER_TEST_SLOW_TRUTH_H
#include <math.h>
#include <stdbool.h>

#include "model.h"
#include "simrun.h"

#define SLOW_TRUTH_PART 0.5 /* of the loss that was told, by which the disk must be slower in truth */

static inline double number(const struct table *t, size_t row, const char *key)
{
	int col = table_column(t, key);

	if (col < 0)
		fail_msg("no column %s in %s", key, t->name);
	return table_number(t, row, (size_t)col);
}

/*
 * A stretch may be slow without a single retry: where a zone ends, its last group of cylinders is cut short, and a disk that loses a revolution with each
 * change of the head in a group loses them more often there. So the disk's own exact time for these bytes decides, beside what the
 * zones at both ends of the stretch sustain, slow sectors left out.
 */
static inline bool is_slow_in_truth(const struct geometry *g, const struct table *slow_regions, size_t row)
{
	uint64_t first = (uint64_t)number(slow_regions, row, "first_byte");
	uint64_t end = (uint64_t)number(slow_regions, row, "last_byte") + 1;
	double told = 1.0 - number(slow_regions, row, "rate_to_expected_ratio");
	double usual = fmin(truth_rate_at(g, first), truth_rate_at(g, end - 1));

	return 1.0 - truth_rate(g, first, end) / usual >= SLOW_TRUTH_PART * told;
}

#endif
