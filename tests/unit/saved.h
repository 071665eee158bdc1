/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A document in a file of its own, as --json leaves it. */
#ifndef PLATTER_TEST_SAVED_H
#define PLATTER_TEST_SAVED_H

#include "base/outfile.h"
#include "result/result.h"

static inline int result_save(const struct result *res, const char *path, struct err *err)
{
	struct outfiles alone = { 0 };
	int r = outfiles_add(&alone, NULL, path, OUTFILE_DOCUMENT, false, err);

	if (r == 0)
		r = outfile_save(alone.first, result_write, (void *)(uintptr_t)res, err);
	outfiles_done(&alone);
	return r;
}

#endif
