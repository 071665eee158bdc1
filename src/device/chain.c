/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lies between a disk and the processor, by its place in sysfs: bridges of PCI are passed over, hosts and USB
 * devices named with their drivers. */
#include <string.h>
#include <unistd.h>

#include "device/steps.h"

/* The driver that a folder of sysfs links to; "" when none. */
static void driver_of(const char *root, const char *dir, char *buf, size_t len)
{
	char link[PATH_MAX + 16], to[PATH_MAX];
	ssize_t n = -1;

	if (snprintf(link, sizeof(link), "%s%s/driver", root, dir) < (int)sizeof(link))
		n = readlink(link, to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = '\0';
	text_copy(buf, len, n > 0 && strrchr(to, '/') ? strrchr(to, '/') + 1 : to);
}

static void add(struct device *dev, const char *first, const char *second)
{
	size_t at = strlen(dev->chain);

	(void)snprintf(dev->chain + at, sizeof(dev->chain) - at, "%s%s%s%s", at ? ", " : "", first,
	               second[0] ? " " : "", second); /* cut is fine */
}

bool device_shares_link(const struct device *a, const struct device *b)
{
	size_t n;

	for (const char *part = a->chain; *part; part += n + strspn(part + n, ", ")) {
		const char *other = b->chain;

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

void chain_find(struct device *dev, const char *root, const struct sys_block *b)
{
	char dir[PATH_MAX], part[NAME_MAX + 1], driver[64], maker[64] = "", product[64];
	const char *p = b->disk_dir;

	while ((p = strchr(p, '/')) != NULL) {
		const char *end = strchrnul(++p, '/');
		unsigned u;
		int n = 0;

		(void)snprintf(dir, sizeof(dir), "%.*s", (int)(end - b->disk_dir), b->disk_dir);
		(void)snprintf(part, sizeof(part), "%.*s", (int)(end - p), p);
		driver_of(root, dir, driver, sizeof(driver));
		if (sscanf(part, "%4x:%2x:%2x.%1x%n", &u, &u, &u, &u, &n) == 4 && !part[n]) {
			if (driver[0] && strcmp(driver, "pcieport") != 0)
				add(dev, driver, part);
		} else if ((sscanf(part, "ata%u%n", &u, &n) == 1 || sscanf(part, "virtio%u%n", &u, &n) == 1) &&
		           !part[n]) {
			add(dev, part, "");
		} else if (sscanf(part, "host%u%n", &u, &n) == 1 && !part[n]) {
			(void)sys_text(root, maker, sizeof(maker), "%s/scsi_host/%s/proc_name", dir,
			               part); /* else "" */
			add(dev, part,
			    maker[0] && strcmp(maker, "<NULL>") != 0 && !strstr(dev->chain, maker) ? maker : "");
		} else if (sscanf(part, "%u-%u", &u, &u) == 2 && !strchr(part, ':') &&
		           sys_text(root, product, sizeof(product), "%s/product", dir) == 0) {
			add(dev, product, part);
		} else if (strchr(part, ':') && (strcmp(driver, "usb-storage") == 0 || strcmp(driver, "uas") == 0)) {
			add(dev, driver, "");
		}
	}
}
