/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs of `surface` on simulated disks with weak sectors planted, and the places that it reports. For tests that have
 * included cmocka.h. */
#ifndef PLATTER_TEST_SURFACERUN_H
#define PLATTER_TEST_SURFACERUN_H

#include "ran.h"

extern const struct measure measure_surface;

static inline struct sim_run run_on(const struct profile *p, const char *words)
{
	return ran_on(&measure_surface, p, words);
}

static inline void plant(struct profile *p, uint64_t lba, uint64_t count, double revolutions)
{
	const struct profile_slow s = { .lba = lba, .count = count, .every = 1, .revolutions = revolutions };

	assert_int_equal(profile_add_slow(p, &s), 0);
	MUST(profile_finish(p, &err));
}

/* Places of this kind that begin there; UINT64_MAX: anywhere. */
static inline size_t count_kind(const struct result *res, const char *kind, uint64_t lba)
{
	const struct table *t = result_find_table(res, "slow");
	size_t n = 0;

	for (size_t i = 0; i < t->nrows; i++)
		n += strcmp(table_string(t, i, (size_t)table_column(t, "kind")), kind) == 0 &&
		     (lba == UINT64_MAX || (uint64_t)number(t, i, "lba") == lba);
	return n;
}

/* There is one place of this kind, which begins there. */
static inline void assert_only(const struct sim_run *run, const char *kind, uint64_t lba)
{
	if (count_kind(run->res, kind, lba) != 1 || count_kind(run->res, kind, UINT64_MAX) != 1)
		fail_msg("%s: %zu %s, %zu of them at LBA %" PRIu64, run->words, count_kind(run->res, kind, UINT64_MAX),
		         kind, count_kind(run->res, kind, lba), lba);
}

#endif
