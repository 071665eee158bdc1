/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scope-exit attributes. One exception to their use: memory that the kernel may still write to
 * belongs to the engine session, never to a scope (see engine.h).
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_p(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_fclose_p(FILE **p)
{
	if (*p)
		(void)fclose(*p); /* scope exit: whoever cares about write errors closes by hand */
}

static inline void cleanup_close_p(int *p)
{
	if (*p >= 0)
		(void)close(*p); /* as above */
}

#define cleanup_free   __attribute__((cleanup(cleanup_free_p)))
#define cleanup_fclose __attribute__((cleanup(cleanup_fclose_p)))
#define cleanup_close  __attribute__((cleanup(cleanup_close_p)))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
