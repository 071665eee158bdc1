/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names: those by which the disk of a document is recognised (samedisk.h), of a status, of what has a label. */
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

static const char *const status_names[] = {
	[STATUS_COMPLETE] = "complete",       [STATUS_WITH_ERRORS] = "with-errors", [STATUS_CANCELLED] = "cancelled",
	[STATUS_ENDED_EARLY] = "ended-early", [STATUS_DEVICE_GONE] = "device-gone", [STATUS_FAILED] = "failed",
	[STATUS_RUNNING] = "running",
};

const char *status_name(enum result_status s)
{
	return (size_t)s < ARRAY_LEN(status_names) ? status_names[s] : "failed";
}

const char *label_or_name(const char *label, const char *name)
{
	return label && label[0] ? label : name;
}
