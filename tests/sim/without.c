/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which parts of an analysis are left out: base/without.h, for tools/wild --without. */
#include "base/without.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PLATTER_WITHOUT
bool is_without(const char *part)
{
	const char *all = getenv("PLATTER_WITHOUT"), *at = all ? strstr(all, part) : NULL;
	size_t n = strlen(part);

	while (at && !((at == all || at[-1] == ',') && (at[n] == ',' || !at[n])))
		at = strstr(at + 1, part);
	return at;
}
#else
__attribute__((constructor)) static void refuse(void)
{
	if (!getenv("PLATTER_WITHOUT"))
		return;
	(void)fputs("wild: --without=PART needs a build with meson setup -Dwithout=true\n", stderr);
	exit(2);
}
#endif
