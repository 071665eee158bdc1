/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any text as a result document; what loads has to be saved and loaded again. */
#include <stdlib.h>
#include <string.h>

#include "result/result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct result *res = NULL, *again = NULL;
	struct err err;
	char *text;

	if (result_from_json(&res, (const char *)data, len, &err) < 0)
		return 0;
	text = result_to_json(res);
	if (result_from_json(&again, text, strlen(text), &err) < 0)
		abort();
	free(text);
	result_free(again);
	result_free(res);
	return 0;
}
