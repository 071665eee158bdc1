/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What must be true of any document. Include cmocka.h first. */
#ifndef PLATTER_TESTS_ROUNDTRIP_H
#define PLATTER_TESTS_ROUNDTRIP_H

#include <string.h>

#include "base/cleanup.h"
#include "result/result.h"

/* It can be saved and read again, and is the same then. */
static inline void check_round_trip(const struct result *res, const char *where)
{
	cleanup_free char *text = result_to_json(res), *again = NULL;
	struct result *read = NULL;
	struct err err;

	assert_non_null(text);
	if (result_from_json(&read, text, strlen(text), &err) < 0)
		fail_msg("%s: %s", where, err.text);
	again = result_to_json(read);
	if (!again || strcmp(text, again) != 0)
		fail_msg("%s: the document changes when it is read and written", where);
	result_free(read);
}

#endif
