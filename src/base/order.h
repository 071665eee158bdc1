/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For qsort(): elements that begin with the number by which they are to stand. */
#pragma once

#include <stdint.h>

static inline int order_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static inline int order_f64(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}
