/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/xalloc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *xmust(void *p)
{
	static const char said[] =
		"platter: Out of memory. What was saved until now stands; free memory and run it again.\n";

	if (p)
		return p;
	(void)!write(STDERR_FILENO, said, sizeof(said) - 1);
	_exit(EXIT_FAILURE);
}

void *xcalloc(size_t n, size_t size)
{
	return xmust(calloc(n ? n : 1, size));
}

void *xaligned(size_t size)
{
	void *p = NULL;

	if (posix_memalign(&p, 4096, size) != 0)
		p = NULL;
	return memset(xmust(p), 0, size);
}

void *xgrow(void *v, size_t n, size_t size)
{
	return xmust(reallocarray(v, n, size));
}

void *xmore(void *v, size_t n, size_t size)
{
	return n & (n - 1) ? v : xgrow(v, n ? n * 2 : 1, size);
}
