/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists in order of ranges that do not overlap, whatever else their elements hold. */
#include <string.h>

#include "base/xalloc.h"
#include "measure/surface/suspects.h"

static uint64_t end_of(const void *v, size_t size, size_t at)
{
	struct surface_bytes bytes;

	memcpy(&bytes, (const char *)v + at * size, sizeof(bytes));
	return bytes.end_bytes;
}

size_t surface_first_behind(const void *v, size_t n, size_t size, uint64_t at_bytes)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (end_of(v, size, middle) > at_bytes)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void *surface_insert(void *v, size_t *n, size_t size, size_t at, const void *element)
{
	char *to;

	v = xmore(v, *n, size);
	to = (char *)v + at * size;
	memmove(to + size, to, (*n - at) * size);
	memcpy(to, element, size);
	++*n;
	return v;
}

void surface_drop(void *v, size_t *n, size_t size, size_t at)
{
	char *to = (char *)v + at * size;

	--*n;
	memmove(to, to + size, (*n - at) * size);
}
