/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile of ours by its name. For tests that have included cmocka.h. */
#ifndef PLATTER_TEST_LOAD_H
#define PLATTER_TEST_LOAD_H

#include <stdio.h>

#include "model.h"

static inline void load(struct profile *p, const char *name)
{
	char path[512];
	struct err err = { 0 };

	(void)snprintf(path, sizeof(path), SIMDISK_PROFILES "/%s.disk", name);
	if (profile_load(p, path, &err) < 0)
		fail_msg("%s", err.text);
}

/* One that ends with its block. */
static inline struct profile profile_named(const char *name)
{
	struct profile p;

	load(&p, name);
	return p;
}
#define PROFILE(p, name) cleanup_profile struct profile p = profile_named(name)

#endif
