/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Are two the same disk? Only this file answers: for the gate (consent, other paths), a scan that goes on, journals of
 * --rewrite, notes of drive switches, trends, fleets and comparisons. Names are compared whole. A name that many kinds
 * of devices show (0123456789ABCDEF, the model's name, "None") does not count.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum same_disk { DISK_OTHER, DISK_SAME, DISK_UNKNOWN };

/* What the answer rests on. */
enum disk_name {
	NAME_NONE,
	NAME_SERIAL,
	NAME_WWN,
	NAME_UUID,
	NAME_BRIDGE, /* the serial number of the bridge or dock in front of it, which may hold another disk next time */
	NAME_PLACE,  /* host and path: where neither shows a name that stays with it */
	NAME_NAMESPACE,
	NAME_MODEL,
	NAME_SIZE,
};

/* What is known of one. NULL and "": not shown. A size of 0: not known. */
struct disk_names {
	const char *serial, *wwn, *model, *vendor;
	const char *uuid;   /* of a mapping or an array; "file-...": of a file, which is its host's */
	const char *kernel; /* kernel name of the whole disk: of nvme0n1 the namespace counts, nothing of others */
	const char *host,
		*place; /* of documents: the computer's id; path or name there. Without both: all are of this host */
	uint64_t size_bytes;                  /* of the whole device */
	bool serial_is_bridges;               /* it is not the disk's own */
	bool serial_is_shared, wwn_is_shared; /* seen at two disks at once, or at two bays of one bridge */
};

/*
 * DISK_OTHER: something that cannot change differs. DISK_SAME: both have an equal lasting name, and none differs; or
 * neither has one, and host and place are equal. Symmetric. Callers that write or put back decide themselves about
 * NAME_BRIDGE and NAME_PLACE. ret_by may be NULL.
 */
enum same_disk same_disk(const struct disk_names *a, const struct disk_names *b, enum disk_name *ret_by);

/* Has a serial number, world-wide name or other name something that one device alone has? */
bool name_identifies(const char *name, const struct disk_names *of);
/* Its most lasting name, and the kind of that; NULL: it has none. */
const char *disk_lasting_name(const struct disk_names *d, enum disk_name *ret_which);
const char *disk_name_text(enum disk_name which); /* "serial number" */
