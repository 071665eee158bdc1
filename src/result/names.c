/* SPDX-License-Identifier: GPL-2.0-or-later */
/* By which names the disk of a document is recognised (samedisk.h). */
#include <string.h>

#include "base/cleanup.h"
#include "base/whole.h"
#include "result/result.h"

void result_names(const struct result *res, size_t target, struct disk_names *ret)
{
	const struct target_info *t = &res->targets[target];
	const char *serial_of = target_text(t, "serial_of"), *shared = target_text(t, "shared_names"),
		   *transport = target_text(t, "transport"), *host = target_text(t, "host");
	double size = target_number(t, "disk_size_bytes");

	*ret = (struct disk_names){ .serial = target_text(t, "serial"),
		                    .wwn = target_text(t, "wwn"),
		                    .model = target_text(t, "model"),
		                    .vendor = target_text(t, "vendor"),
		                    .kernel = target_text(t, "disk"),
		                    .host = host                        ? host
		                            : res->head.host.machine_id ? res->head.host.machine_id
		                                                        : res->head.host.name,
		                    .size_bytes = whole(size),
		                    .serial_is_bridges = serial_of && strcmp(serial_of, "bridge") == 0,
		                    .serial_is_shared = shared && strstr(shared, "serial"),
		                    .wwn_is_shared = shared && strstr(shared, "wwn") };
	if (transport && strcmp(transport, "dm") == 0)
		ret->place = target_text(t, "alias"); /* dm-3 may be another one after the next start */
	if (!ret->place)
		ret->place = target_text(t, "path");
}
