/* SPDX-License-Identifier: GPL-2.0-or-later */
/* contents_tool DEVICE FIRST,BYTES... - what lies at these places of a device, a line each: first byte, bytes, what,
 * on, file system, path, its byte. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/device.h"

int main(int argc, char **argv)
{
	struct device_range places[64];
	struct content_question q = { .places = places };
	struct contents c = { 0 };
	struct device dev;
	struct err err;

	for (int i = 2; i < argc && q.n < 64; i++)
		if (sscanf(argv[i], "%" SCNu64 ",%" SCNu64, &places[q.n].first_byte, &places[q.n].bytes) == 2)
			q.n++;
	if (argc < 3 || device_system.probe(NULL, argv[1], &dev, &err) < 0 ||
	    device_system.contents(NULL, &dev, &q, &c, &err) < 0) {
		(void)fprintf(stderr, "contents_tool: %s\n", argc < 3 ? "DEVICE FIRST,BYTES..." : err.text);
		return 1;
	}
	for (size_t i = 0; i < c.n; i++)
		(void)printf("%" PRIu64 " %" PRIu64 " %s|%s|%s|%s|%" PRId64 "\n", c.v[i].first_bytes,
		             c.v[i].end_bytes - c.v[i].first_bytes, content_kind_names[c.v[i].kind], c.v[i].on,
		             c.v[i].fs_type, c.v[i].path ? c.v[i].path : "-", (int64_t)c.v[i].file_bytes);
	content_list_done(&c);
	return 0;
}
