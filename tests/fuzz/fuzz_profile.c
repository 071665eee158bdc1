/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any text as a profile of a simulated disk. */
#include "model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct profile p;
	struct err err;

	if (profile_parse(&p, "fuzz", (const char *)data, len, &err) == 0)
		profile_done(&p);
	return 0;
}
