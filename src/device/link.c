/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lies between a disk and the processor, by its place in sysfs: bridges of PCI are passed over, hosts and USB
 * devices named with their drivers. What the links on that way carry: the slowest counts. Rates are those of data,
 * after the line's code: SATA and SAS 8b/10b (SAS of 22.5 Gbit 128b/150b), PCIe 8b/10b and from 8 GT/s on 128b/130b,
 * USB 8b/10b and from 10 Gbit on 128b/132b; USB 2.0 carries 13 packets of 512 bytes in 125 us, 1.1 19 of 64 in 1 ms
 * (USB 2.0, tables 5-10 and 5-9).
 */
#include <stdlib.h>
#include <string.h>

#include "device/steps.h"

static void add(struct device *dev, const char *first, const char *second)
{
	size_t at = strlen(dev->way.chain);

	(void)snprintf(dev->way.chain + at, sizeof(dev->way.chain) - at, "%s%s%s%s", at ? ", " : "", first,
	               second[0] ? " " : "", second); /* cut is fine */
}

bool device_shares_link(const struct device *a, const struct device *b)
{
	size_t n;

	for (const char *part = a->way.chain; *part; part += n + strspn(part + n, ", ")) {
		const char *other = b->way.chain;

		n = strcspn(part, ",");
		while (*other && !(strncmp(part, other, n) == 0 && (other[n] == ',' || other[n] == '\0'))) {
			other += strcspn(other, ",");
			other += strspn(other, ", ");
		}
		if (*other)
			return true;
	}
	return false;
}

/* ---- the wire ---- */

/* "6.0 Gbps", "480", "8.0 GT/s PCIe" in thousandths, whatever the locale; 0: not said. */
static uint64_t thousandths(const char *text)
{
	unsigned whole, tenths = 0;

	if (sscanf(text, "%5u.%1u", &whole, &tenths) < 1)
		return 0;
	return whole * 1000ull + tenths * 100ull;
}

static uint64_t sas_bytes_per_s(uint64_t mbit)
{
	return mbit > 12000 ? mbit * 1000000 / 8 * 128 / 150 : mbit * 100000;
}

static uint64_t pcie_bytes_per_s(uint64_t mtransfers, uint64_t lanes)
{
	return lanes * (mtransfers < 8000 ? mtransfers * 100000 : mtransfers * 1000000 / 8 * 128 / 130);
}

static uint64_t usb_bytes_per_s(uint64_t mbit)
{
	return mbit >= 10000  ? mbit * 1000000 / 8 * 128 / 132
	       : mbit >= 5000 ? mbit * 100000
	       : mbit == 480  ? 13ull * 512 * 8000
	       : mbit == 12   ? 19ull * 64 * 1000
	                      : 0;
}

/* Keeps the slowest. max: what the port or the device could; 0: not known. */
static void keep(struct device *dev, uint64_t rate, uint64_t max, const char *kind, const char *text)
{
	bool has_wire = strcmp(dev->transport, "virtio") != 0 && strcmp(dev->transport, "xen") != 0;

	if (!has_wire || !rate || (dev->way.link_bytes_per_s && dev->way.link_bytes_per_s <= rate))
		return; /* no wire: whatever the bus says */
	dev->way.link_bytes_per_s = rate;
	dev->way.link_max_bytes_per_s = max;
	(void)snprintf(dev->way.link, sizeof(dev->way.link), "%s %s", kind, text);
}

/* The fastest that the drive knows: IDENTIFY word 76, bits 1 to 3 (ACS-4), as libata shows it. 0: not known. */
static uint64_t drive_most(const char *root, const char *dir, unsigned port)
{
	char id[2048], *at = id, *end = id;
	unsigned long word = 0;
	ssize_t n =
		sys_bytes(root, id, sizeof(id) - 1, "%s/link%u/dev%u.0/ata_device/dev%u.0/id", dir, port, port, port);

	id[n > 0 ? n : 0] = '\0';
	for (unsigned i = 0; i <= 76; i++, at = end) {
		word = strtoul(at, &end, 16);
		if (end == at)
			return 0;
	}
	return word & 8 ? 600000000 : word & 4 ? 300000000 : word & 2 ? 150000000 : 0;
}

static void look_at_sata(struct device *dev, const char *root, const char *dir, unsigned port)
{
	uint64_t drive = drive_most(root, dir, port), most;
	char now[32], max[32];

	if (sys_text(root, now, sizeof(now), "%s/link%u/ata_link/link%u/sata_spd", dir, port, port) < 0)
		return;
	if (sys_text(root, max, sizeof(max), "%s/link%u/ata_link/link%u/hw_sata_spd_limit", dir, port, port) < 0)
		max[0] = '\0';
	most = thousandths(max) * 100000;
	keep(dev, thousandths(now) * 100000, most < drive ? most : drive, "SATA", now);
}

static void look_at_usb(struct device *dev, const char *root, const char *dir)
{
	char now[16], text[32];

	if (sys_text(root, now, sizeof(now), "%s/speed", dir) < 0)
		return;
	(void)snprintf(text, sizeof(text), "%s Mbit/s", now);
	keep(dev, usb_bytes_per_s(thousandths(now) / 1000), 0, "USB", text);
}

static void look_at_pcie(struct device *dev, const char *root, const char *dir)
{
	uint64_t lanes = 0, most_lanes = 0;
	char now[32], max[32], text[48];

	if (sys_text(root, now, sizeof(now), "%s/current_link_speed", dir) < 0 ||
	    !sys_u64(root, &lanes, "%s/current_link_width", dir) || lanes > 32)
		return;
	if (sys_text(root, max, sizeof(max), "%s/max_link_speed", dir) < 0 ||
	    !sys_u64(root, &most_lanes, "%s/max_link_width", dir) || most_lanes > 32)
		max[0] = '\0';
	(void)snprintf(text, sizeof(text), "%.*sx%u", (int)strcspn(now, "P"), now, (unsigned)lanes);
	keep(dev, pcie_bytes_per_s(thousandths(now), lanes), pcie_bytes_per_s(thousandths(max), most_lanes), "PCIe",
	     text);
}

/* All phys of a port carry together. */
static void look_at_sas(struct device *dev, const char *root, const char *dir)
{
	uint64_t sum = 0, most = 0;
	char now[32], max[32], text[64] = "";
	unsigned phys = 0;

	for (cleanup_list struct sys_list l = sys_list(root, "%s", dir); sys_next(&l);) {
		const char *phy = l.name;

		if (strncmp(phy, "phy-", 4) != 0 ||
		    sys_text(root, now, sizeof(now), "%s/%s/sas_phy/%s/negotiated_linkrate", dir, phy, phy) < 0 ||
		    !thousandths(now))
			continue;
		if (sys_text(root, max, sizeof(max), "%s/%s/sas_phy/%s/maximum_linkrate", dir, phy, phy) < 0)
			max[0] = '\0';
		sum += sas_bytes_per_s(thousandths(now));
		most += sas_bytes_per_s(thousandths(max));
		(void)snprintf(text, sizeof(text), "%s x%u", now, ++phys);
	}
	keep(dev, sum, most, "SAS", text);
}

/* ---- the way ---- */

/* "ata7": the word and its number. */
static bool is_numbered(const char *part, const char *word, unsigned *ret)
{
	size_t len = strlen(word);
	char *end;

	if (strncmp(part, word, len) != 0)
		return false;
	*ret = (unsigned)strtoul(part + len, &end, 10);
	return end > part + len && !*end;
}

static bool is_pci(const char *part)
{
	unsigned u;
	int n = 0;

	return sscanf(part, "%4x:%2x:%2x.%1x%n", &u, &u, &u, &u, &n) == 4 && !part[n];
}

static void take_host(struct device *dev, const char *root, const char *dir, const char *part)
{
	char maker[64] = "";

	(void)sys_text(root, maker, sizeof(maker), "%s/scsi_host/%s/proc_name", dir, part); /* else "" */
	add(dev, part, strcmp(maker, "<NULL>") != 0 && !strstr(dev->way.chain, maker) ? maker : "");
}

static void take_part(struct device *dev, const char *root, const char *dir, const char *part)
{
	char driver[64], product[64];
	unsigned u;

	(void)sys_link(root, driver, sizeof(driver), "%s/driver", dir);
	if (is_pci(part)) {
		if (driver[0] && strcmp(driver, "pcieport") != 0)
			add(dev, driver, part);
		look_at_pcie(dev, root, dir);
	} else if (is_numbered(part, "ata", &u)) {
		add(dev, part, "");
		look_at_sata(dev, root, dir, u);
	} else if (is_numbered(part, "virtio", &u)) {
		add(dev, part, "");
	} else if (is_numbered(part, "host", &u)) {
		take_host(dev, root, dir, part);
	} else if (strncmp(part, "port-", 5) == 0) {
		look_at_sas(dev, root, dir);
	} else if (strchr(part, ':')) {
		if (strcmp(driver, "usb-storage") == 0 || strcmp(driver, "uas") == 0)
			add(dev, driver, "");
	} else if (sscanf(part, "%u-%u", &u, &u) == 2) {
		if (sys_text(root, product, sizeof(product), "%s/product", dir) == 0)
			add(dev, product, part);
		look_at_usb(dev, root, dir);
	}
}

void link_find(struct device *dev, const char *root, const struct sys_block *b)
{
	char dir[PATH_MAX], part[NAME_MAX + 1];

	for (const char *p = b->disk_dir; (p = strchr(p, '/')) != NULL;) {
		const char *end = strchrnul(++p, '/');

		(void)snprintf(dir, sizeof(dir), "%.*s", (int)(end - b->disk_dir), b->disk_dir);
		(void)snprintf(part, sizeof(part), "%.*s", (int)(end - p), p);
		take_part(dev, root, dir, part);
	}
}
