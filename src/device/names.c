/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that stay with a device: what consent is given by, and what the journal of --rewrite knows it again by. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "device/mounts.h"
#include "device/steps.h"

/* ---- links that udev makes ---- */

static bool leads_to(const char *root, const char *link, const struct sys_block *b)
{
	char name[64];

	if (sysroot_is_real(root))
		return node_rdev(root, link) == b->rdev;
	return sys_link(root, name, sizeof(name), "%s", link) && strcmp(name, b->name) == 0;
}

/* The names in the folder that lead to the device, blanks between them (udev leaves none in names); whole ones only. */
static void links(const char *root, const char *folder, const struct sys_block *b, char *buf, size_t len)
{
	size_t at = 0;

	buf[0] = '\0';
	for (cleanup_list struct sys_list l = sys_list(root, "%s", folder); sys_next(&l);) {
		char link[PATH_MAX];
		size_t n = strlen(l.name);

		if (at + n + 2 > len || strchr(l.name, ' ') ||
		    snprintf(link, sizeof(link), "%s/%s", folder, l.name) >= (int)sizeof(link) ||
		    !leads_to(root, link, b))
			continue;
		at += (size_t)snprintf(buf + at, len - at, "%s%s", at ? " " : "", l.name);
	}
}

/* ---- what a device is known again by ---- */

/* The file below a loop device, or a file: its place and its inode, neither of which changes by a restart. */
static void file_uuid(struct device *dev, const char *file, uint64_t inode)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (const char *p = file; *p; p++)
		h = (h ^ (uint8_t)*p) * 0x100000001b3ull;
	(void)snprintf(dev->id.uuid, sizeof(dev->id.uuid), "file-%" PRIu64 "-%016" PRIx64, inode, h);
}

void names_find(struct device *dev, const char *root, const struct sys_block *b)
{
	char uuid[sizeof(dev->id.uuid)], file[PATH_MAX];
	const char *md;
	struct stat st;

	links(root, "/dev/disk/by-id", b, dev->id.by_id, sizeof(dev->id.by_id));
	if (b->is_partition)
		links(root, "/dev/disk/by-partuuid", b, dev->id.part_uuid, sizeof(dev->id.part_uuid));
	if (sys_text(root, uuid, sizeof(uuid), "%s/dm/uuid", b->disk_dir) == 0 && uuid[0])
		text_copy(dev->id.uuid, sizeof(dev->id.uuid), uuid);
	else if (sys_text(root, uuid, sizeof(uuid), "%s/md/uuid", b->disk_dir) == 0 && uuid[0])
		text_copy(dev->id.uuid, sizeof(dev->id.uuid), uuid);
	else if ((md = strstr(dev->id.by_id, "md-uuid-")) != NULL)
		(void)snprintf(dev->id.uuid, sizeof(dev->id.uuid), "%.*s", (int)strcspn(md, " "), md);
	else if (sysroot_is_real(root) &&
	         sys_text(root, file, sizeof(file), "%s/loop/backing_file", b->disk_dir) == 0 && stat(file, &st) == 0 &&
	         S_ISREG(st.st_mode))
		file_uuid(dev, file, (uint64_t)st.st_ino);
}

void names_of_file(struct device *dev)
{
	file_uuid(dev, dev->node, dev->file.inode);
	dev->id.part_uuid[0] = dev->id.by_id[0] = '\0';
}

void device_names(const struct device *dev, struct disk_names *ret)
{
	*ret = (struct disk_names){ .serial = dev->id.serial,
		                    .wwn = dev->id.wwn,
		                    .model = dev->id.model,
		                    .vendor = dev->id.vendor,
		                    .uuid = dev->id.uuid,
		                    .kernel = dev->disk,
		                    .size_bytes = dev->disk_size_bytes,
		                    .serial_is_bridges = dev->id.serial_is_bridges,
		                    .serial_is_shared = dev->id.serial_is_shared && !dev->id.has_twin,
		                    .wwn_is_shared = dev->id.wwn_is_shared && !dev->id.has_twin };
}

/* ---- consent ---- */

static void add_name(const struct device *dev, struct consent_names *ret, const char *name)
{
	char *to = ret->v[ret->n];
	int n;

	if (ret->n == ARRAY_LEN(ret->v))
		return;
	n = dev->kind == DEVICE_PARTITION ? snprintf(to, sizeof(ret->v[0]), "%s-part%u", name, dev->id.partition)
	                                  : snprintf(to, sizeof(ret->v[0]), "%s", name);
	ret->n += n < (int)sizeof(ret->v[0]);
}

/*
 * Does a link hold a name that says nothing (of a stick: usb-DISK_0123456789ABCDEF), or a world-wide name that is not
 * its alone?
 */
static bool is_empty_link(const struct disk_names *names, const char *link)
{
	char serial[256];

	(void)snprintf(serial, sizeof(serial), "%s", names->serial);
	for (char *c = serial; *c; c++)
		if (*c == ' ')
			*c = '_';
	if (serial[0] && strstr(link, serial) && !name_identifies(names->serial, names))
		return true;
	return names->wwn_is_shared &&
	       (strncmp(link, "wwn-", 4) == 0 || strncmp(link, "nvme-eui.", 9) == 0 || strstr(link, names->wwn));
}

void consent_names(const struct device *dev, struct consent_names *ret)
{
	struct disk_names names;
	char link[sizeof(ret->v[0])];

	*ret = (struct consent_names){ 0 };
	device_names(dev, &names);
	names.wwn_is_shared = dev->id.wwn_is_shared;
	if (!dev->id.serial_is_shared && name_identifies(dev->id.serial, &names))
		add_name(dev, ret, dev->id.serial);
	if (!dev->id.wwn_is_shared && name_identifies(dev->id.wwn, &names))
		add_name(dev, ret, dev->id.wwn);
	if (strcmp(dev->transport, "dm") == 0 && dev->id.alias[0])
		add_name(dev, ret, dev->id.alias);
	for (const char *p = dev->id.by_id; *p && ret->n < ARRAY_LEN(ret->v); p += strspn(p, " ")) {
		int n = (int)strcspn(p, " ");

		if (snprintf(link, sizeof(link), "%.*s", n, p) < (int)sizeof(link) && !is_empty_link(&names, link))
			text_copy(ret->v[ret->n++], sizeof(ret->v[0]), link);
		p += n;
	}
	if (ret->n > 0)
		return;
	text_copy(ret->v[0], sizeof(ret->v[0]), dev->name);
	ret->n = 1;
	ret->is_kernel_name = true;
}
