/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any text as a size, time, rate, ratio or number; what is read is printed and has to read as the same again. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = strndup((const char *)data, len), buf[64];
	uint64_t v, again;
	double d;
	struct err err;

	if (units_parse_bytes(text, &v, &err) == 0) {
		(void)units_bytes(buf, sizeof(buf), v);
		if (units_parse_bytes(buf, &again, &err) < 0 || again != v)
			abort();
	}
	if (units_parse_time(text, &v, &err) == 0) {
		(void)units_time_exact(buf, sizeof(buf), v);
		if (units_parse_time(buf, &again, &err) < 0 || again != v)
			abort();
	}
	(void)units_parse_rate(text, &v, &err);
	(void)units_parse_u64(text, &v, &err);
	if (units_parse_ratio(text, &d, &err) == 0 && d != d)
		abort();
	if (units_parse_f64(text, &d, &err) == 0 && d - d != 0.0)
		abort();
	free(text);
	return 0;
}
