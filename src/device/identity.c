/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who made it, and names that stay with it: what consent is given by, and what the journal of --rewrite knows it again
 * by. Sources, best first: VPD pages that the kernel keeps in sysfs (80h serial; 89h ATA information, SAT-4 12.4.2,
 * with the whole IDENTIFY data; B1h block device characteristics, SBC-4 6.6.2), attributes of the driver, then B1h
 * asked by SG_IO. The IDENTIFY data are preferred to INQUIRY's: model names of ATA disks are 40 characters, INQUIRY
 * has 16.
 */

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/scsi.h"
#include "base/str.h"
#include "device/mounts.h"
#include "device/steps.h"

#define VPD_MAX 1024

/* ---- pages ---- */

/* ATA strings are big-endian words: the bytes of each pair are swapped (ACS-4 3.3.10). */
static void ata_string(char *dst, size_t len, const uint8_t *id, size_t first_word, size_t words)
{
	uint8_t raw[64];

	for (size_t i = 0; i < words && 2 * i + 1 < sizeof(raw); i++) {
		raw[2 * i] = id[2 * (first_word + i) + 1];
		raw[2 * i + 1] = id[2 * (first_word + i)];
	}
	text_clean(dst, len, raw, 2 * words < sizeof(raw) ? 2 * words : sizeof(raw));
}

/* 1: does not rotate; 0401h .. FFFEh: rpm; the rest is reserved (ACS-4 7.13.6.80, SBC-4 table 239). */
static void take_rate(struct device *dev, uint32_t rate)
{
	if (rate == 1)
		dev->rotational = dev->rotational < 0 ? 0 : dev->rotational;
	else if (rate >= 0x401 && rate <= 0xfffe)
		dev->id.reported_rpm = rate;
}

void identity_ata(struct device *dev, const uint8_t *id, size_t len)
{
	uint8_t sum = 0;

	if (len < 512 || (id[54] <= 0x20 && id[55] <= 0x20)) /* too short, or no model name: not IDENTIFY data */
		return;
	for (size_t i = 0; i < 512; i++)
		sum = (uint8_t)(sum + id[i]);
	if (id[510] == 0xa5 && sum != 0) /* it says that it has a checksum (ACS-4 7.13.6.97), and that is wrong */
		return;
	ata_string(dev->id.serial, sizeof(dev->id.serial), id, 10, 10);
	ata_string(dev->id.firmware, sizeof(dev->id.firmware), id, 23, 4);
	ata_string(dev->id.model, sizeof(dev->id.model), id, 27, 20);
	take_rate(dev, (uint32_t)id[434] | (uint32_t)id[435] << 8);
}

/* Length of the payload as the page says it, cut to what is there; 0 when it is another page. */
static size_t vpd_len(const uint8_t *page, size_t len, uint8_t code)
{
	size_t said;

	if (len < 4 || page[1] != code)
		return 0;
	said = (size_t)page[2] << 8 | page[3];
	return said < len - 4 ? said : len - 4;
}

void identity_vpd_serial(struct device *dev, const uint8_t *page, size_t len)
{
	size_t n = vpd_len(page, len, 0x80);

	if (n > 0)
		text_clean(dev->id.serial, sizeof(dev->id.serial), page + 4, n);
}

/* Designators of the unit itself, NAA best, then EUI-64 (SPC-6 7.7.6): as the kernel's wwid prints them. */
static void vpd_name(struct device *dev, const uint8_t *page, size_t len)
{
	static const struct {
		uint8_t type;
		const char *prefix;
	} kinds[] = { { 3, "naa." }, { 2, "eui." } };
	size_t said = vpd_len(page, len, 0x83);

	for (size_t k = 0; k < ARRAY_LEN(kinds) && !dev->id.wwn[0]; k++) {
		for (size_t at = 4; at + 4 <= 4 + said && at + 4 + page[at + 3] <= 4 + said; at += 4u + page[at + 3]) {
			size_t n = page[at + 3];
			int used;

			if ((page[at + 1] & 0x3f) != kinds[k].type || n == 0 || n > 16)
				continue; /* another type, or of the port or the device around the unit */
			used = snprintf(dev->id.wwn, sizeof(dev->id.wwn), "%s", kinds[k].prefix);
			for (size_t i = 0; i < n; i++)
				used += snprintf(dev->id.wwn + used, sizeof(dev->id.wwn) - (size_t)used, "%02x",
				                 page[at + 4 + i]);
			break;
		}
	}
}

void identity_vpd_ata(struct device *dev, const uint8_t *page, size_t len)
{
	char serial[sizeof(dev->id.serial)];

	if (vpd_len(page, len, 0x89) < 568)
		return;
	text_copy(serial, sizeof(serial), dev->id.serial);
	identity_ata(dev, page + 60, len - 60);
	if (serial[0]) /* the serial number has a page of its own, 80h, and that is asked first */
		text_copy(dev->id.serial, sizeof(dev->id.serial), serial);
}

void identity_vpd_medium(struct device *dev, const uint8_t *page, size_t len)
{
	if (vpd_len(page, len, 0xb1) >= 2)
		take_rate(dev, (uint32_t)page[4] << 8 | page[5]);
	/* ZONED: the kernel says "none" of drives that manage their zones themselves, for it need not know of them. */
	if (vpd_len(page, len, 0xb1) >= 5 && (page[8] >> 4 & 3) == 2 && !device_is_zoned(dev))
		text_copy(dev->queue.zoned, sizeof(dev->queue.zoned), "drive-managed");
}

/* ---- sysfs ---- */

void identity_transport(struct device *dev, const struct sys_block *b)
{
	/* First match wins: a virtio-scsi disk is virtio, and a USB stick usb, although both are SCSI. */
	static const struct {
		const char *part, *name;
	} places[] = {
		{ "/virtual/block/loop", "loop" },
		{ "/virtual/block/dm-", "dm" },
		{ "/virtual/block/md", "md" },
		{ "/virtual/block/zram", "zram" },
		{ "/virtual/block/ram", "ram" },
		{ "/virtual/block/nbd", "nbd" },
		{ "/virtual/block/ublk", "ublk" },
		{ "/virtual/block/drbd", "drbd" },
		{ "/virtual/block/bcache", "bcache" },
		{ "/virtual/block/etherd", "aoe" },
		{ "/virtual/block/nullb", "null" },
		{ "/devices/rbd/", "rbd" },
		{ "/ndbus", "pmem" },
		{ "/nvme", "nvme" },
		{ "/usb", "usb" },
		{ "/virtio", "virtio" },
		{ "/mmc_host/", "mmc" },
		{ "/ata", "ata" },
		{ "/end_device-", "sas" },
		{ "/session", "iscsi" },
		{ "/rport-", "fc" },
		{ "/vbd-", "xen" },
		{ "/target", "scsi" },
	};

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		if (strstr(b->disk_dir, places[i].part)) {
			text_copy(dev->transport, sizeof(dev->transport), places[i].name);
			return;
		}
	}
}

/* The first of several attribute names that says something. */
static void first_text(const char *root, const char *dir, char *dst, size_t len, const char *const *names)
{
	for (; *names && !dst[0]; names++)
		(void)sys_text(root, dst, len, "%s/%s", dir, *names); /* dst stays "" */
}

/*
 * What a bridge or a stick says of itself, in the folder above the interface that the host of its disks is on:
 * ".../2-3/2-3:1.0/host4/...".
 */
static void take_usb_serial(struct device *dev, const char *root, const char *disk_dir)
{
	const char *host = strstr(disk_dir, "/host");
	const char *interface = host ? memrchr(disk_dir, '/', (size_t)(host - disk_dir)) : NULL;

	dev->id.serial_is_bridges = interface && sys_text(root, dev->id.serial, sizeof(dev->id.serial), "%.*s/serial",
	                                                  (int)(interface - disk_dir), disk_dir) == 0;
}

void identity_sysfs(struct device *dev, const char *root, const struct sys_block *b)
{
	const char *d = b->disk_dir;
	static const struct {
		const char *page;
		void (*take)(struct device *dev, const uint8_t *page, size_t len);
	} pages[] = { { "vpd_pg83", vpd_name },
		      { "vpd_pg80", identity_vpd_serial },
		      { "vpd_pg89", identity_vpd_ata },
		      { "vpd_pgb1", identity_vpd_medium } };
	uint8_t page[VPD_MAX];

	identity_transport(dev, b);
	/* device/name is the model of an MMC card; elsewhere it is another thing or absent. */
	first_text(root, d, dev->id.model, sizeof(dev->id.model),
	           strcmp(dev->transport, "mmc") == 0 ? (const char *const[]){ "device/name", NULL }
	                                              : (const char *const[]){ "device/model", NULL });
	if (strcmp(dev->transport, "virtio") != 0 || strstr(d, "/target")) /* virtio-blk: a PCI number, no name */
		first_text(root, d, dev->id.vendor, sizeof(dev->id.vendor),
		           (const char *const[]){ "device/vendor", NULL });
	if (strcmp(dev->transport, "ata") == 0 && strcmp(dev->id.vendor, "ATA") == 0)
		dev->id.vendor[0] = '\0'; /* the translation layer's word, not the maker's */
	first_text(root, d, dev->id.firmware, sizeof(dev->id.firmware),
	           (const char *const[]){ "device/rev", "device/firmware_rev", "device/fwrev", NULL });
	first_text(root, d, dev->id.serial, sizeof(dev->id.serial),
	           (const char *const[]){ "device/serial", "serial", NULL });
	first_text(root, d, dev->id.wwn, sizeof(dev->id.wwn), (const char *const[]){ "wwid", "device/wwid", NULL });

	for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
		ssize_t n = sys_bytes(root, page, sizeof(page), "%s/device/%s", d, pages[i].page);

		if (n > 0)
			pages[i].take(dev, page, (size_t)n);
	}
	if (!dev->id.serial[0] && strcmp(dev->transport, "usb") == 0)
		take_usb_serial(dev, root, d);
}

bool identity_is_twin(const struct device *a, const struct device *b)
{
	struct disk_names x, y;
	enum disk_name by;
	enum same_disk answer;

	device_names(a, &x);
	device_names(b, &y);
	answer = same_disk(&x, &y, &by);
	/*
	 * Two bays of one bridge are not two ways to one disk. Where the world-wide name is equal, and its model's
	 * alone is not, caution says yes.
	 */
	return by == NAME_WWN ? answer != DISK_OTHER : answer == DISK_SAME && by != NAME_BRIDGE;
}

void identity_compare(const char *root, struct device *dev)
{
	bool serial = false, wwn = false, others = false;

	dev->id.serial_is_shared = dev->id.wwn_is_shared = dev->id.has_twin = false;
	for (cleanup_list struct sys_list l = sys_list(root, "/sys/class/block");
	     (dev->id.serial[0] || dev->id.wwn[0]) && sys_next(&l);) {
		struct device other = { 0 };
		struct sys_block b;
		bool is_serial, is_wwn;

		if (sys_block_by_name(root, l.name, &b) < 0 || b.is_partition || b.disk_rdev == dev->disk_rdev)
			continue;
		identity_sysfs(&other, root, &b);
		is_serial = dev->id.serial[0] && strcmp(other.id.serial, dev->id.serial) == 0;
		is_wwn = dev->id.wwn[0] && strcmp(other.id.wwn, dev->id.wwn) == 0;
		others = others || ((is_serial || is_wwn) && !identity_is_twin(dev, &other));
		serial = serial || is_serial;
		wwn = wwn || is_wwn;
	}
	dev->id.serial_is_shared = serial;
	dev->id.wwn_is_shared = wwn;
	dev->id.has_twin = (serial || wwn) && !others;
}

/* ---- asking the drive ---- */

/* INQUIRY with EVPD (SPC-6 6.7): answered from the drive's memory, wakes nobody up. Length, or 0. */
static size_t inquire(int fd, uint8_t code, uint8_t *page, size_t len)
{
	const uint8_t cdb[6] = { 0x12, 1, code, (uint8_t)(len >> 8), (uint8_t)len, 0 };
	int n = scsi_fetch(scsi_real_ioctl, fd, cdb, page, len);

	return n > 0 ? (size_t)n : 0;
}

/* SBC-4 5.15 */
void identity_capacity(struct device *dev, const uint8_t *answer, size_t len)
{
	uint32_t block =
		len >= 8 ? (uint32_t)answer[4] << 24 | (uint32_t)answer[5] << 16 | (uint32_t)answer[6] << 8 | answer[7]
			 : 0;

	if (block > 512 && block < 8192 && block % 512)
		dev->logical_block_bytes = block;
}

void identity_ask(struct device *dev, int fd)
{
	bool is_scsi_like = str_is_one_of(dev->transport, "ata sas scsi fc iscsi");
	uint8_t page[VPD_MAX];

	if (!is_scsi_like || dev->is_cdrom) /* USB bridges are not asked: some hang on pages that they do not know */
		return;
	if (dev->size_bytes == 0 && dev->kind == DEVICE_DISK) {
		static const uint8_t cdb[10] = { 0x25 };
		int n = scsi_fetch(scsi_real_ioctl, fd, cdb, page, 8);

		identity_capacity(dev, page, n > 0 ? (size_t)n : 0);
	}
	if (dev->id.reported_rpm == 0 && dev->rotational != 0) {
		size_t n = inquire(fd, 0, page, 255);
		bool has_b1 = n > 4 && memchr(page + 4, 0xb1, vpd_len(page, n, 0)) != NULL;

		if (has_b1 && (n = inquire(fd, 0xb1, page, 64)) > 0)
			identity_vpd_medium(dev, page, n);
	}
}

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
	(void)snprintf(dev->id.uuid, sizeof(dev->id.uuid), "file-%" PRIu64 "-%016" PRIx64, inode,
	               str_hash(file, strlen(file)));
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
