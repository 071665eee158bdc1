/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who may write to a device besides this host. By the connection of the disks at the bottom: of mappings and arrays by
 * their members, of loop devices by what they are over. What the connection does not show (SAS shelves with two heads,
 * disks that a hypervisor lends) is not known; there the keys that hosts have registered show it (PERSISTENT RESERVE
 * IN, SPC-6 6.16).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/scsi.h"
#include "device/identity.h"
#include "device/steps.h"
#include "device/users.h"

#define KEYS_BYTES (8 + 8 * 512)

/* ---- the connection ---- */

/* NVMe: of the controller, or of all that a subsystem with several paths has. "" when it is not said. */
static void nvme_transport(const char *root, const struct sys_block *b, char *buf, size_t len)
{
	if (sys_text(root, buf, len, "%s/device/transport", b->disk_dir) == 0 && buf[0])
		return;
	for (cleanup_list struct sys_list l = sys_list(root, "%s/device", b->disk_dir);
	     (!buf[0] || strcmp(buf, "pcie") == 0) && sys_next(&l);)
		if (strncmp(l.name, "nvme", 4) == 0)
			(void)sys_text(root, buf, len, "%s/device/%s/transport", b->disk_dir, l.name);
}

/* File systems that other hosts share: a loop device over a file there is shared as well. */
static bool is_network(const char *fs_type)
{
	return str_is_one_of(fs_type, "nfs nfs4 cifs smb3 9p ceph fuse.ceph fuse.glusterfs afs gfs2 ocfs2 lustre gpfs "
	                              "virtiofs");
}

struct found {
	const char *root;
	enum reach reach;
	char how[32];
};

static void raise_to(struct found *f, enum reach reach, const char *how)
{
	if (reach <= f->reach)
		return;
	f->reach = reach;
	text_copy(f->how, sizeof(f->how), how);
}

static void judge(struct found *f, const struct sys_block *b)
{
	struct device dev = { 0 };
	char how[32] = "", file[256];

	identity_transport(&dev, b);
	if (strcmp(dev.transport, "nvme") == 0) {
		nvme_transport(f->root, b, how, sizeof(how));
		if (how[0] && strcmp(how, "pcie") != 0) {
			(void)snprintf(dev.transport, sizeof(dev.transport), "nvme-%.8s", how);
			raise_to(f, REACH_SHARED, dev.transport);
		} else if (!how[0] && strstr(b->disk_dir, "/virtual/")) {
			raise_to(f, REACH_UNKNOWN, "nvme");
		}
		return;
	}
	if (strcmp(dev.transport, "loop") == 0 &&
	    sys_text(f->root, file, sizeof(file), "%s/loop/backing_file", b->disk_dir) == 0) {
		struct mounts mounts;
		const struct mount *m;

		if (mounts_read(f->root, &mounts, NULL) == 0) {
			m = mounts_of_path(f->root, &mounts, file);
			if (m && is_network(m->fs_type))
				raise_to(f, REACH_SHARED, m->fs_type);
			mounts_done(&mounts);
		}
		return;
	}
	if (str_is_one_of(dev.transport, "fc iscsi nbd rbd drbd aoe"))
		raise_to(f, REACH_SHARED, dev.transport);
	else if (!str_is_one_of(dev.transport, "ata usb mmc zram ram pmem loop null"))
		raise_to(f, REACH_UNKNOWN, dev.transport);
}

void reach_find(struct device *dev, const char *root, const struct sys_block *b)
{
	struct found f = { .root = root };
	struct stack s;

	if (stack_below(root, b, &s) == 0) {
		for (size_t i = 0; i < s.n; i++)
			if (s.v[i].is_bottom)
				judge(&f, &s.v[i].b);
		stack_done(&s);
	}
	dev->way.reach = f.reach;
	if (f.reach == REACH_SHARED)
		text_copy(dev->way.shared_by, sizeof(dev->way.shared_by), f.how);
}

/* ---- reservations ---- */

int reserve_keys(const uint8_t *page, size_t len)
{
	uint32_t said;

	if (len < 8)
		return -1;
	said = (uint32_t)page[4] << 24 | (uint32_t)page[5] << 16 | (uint32_t)page[6] << 8 | page[7];
	return said % 8 != 0 || said / 8 > 65536 ? -1 : (int)(said / 8);
}

/* Keys registered; -1: not known; -2: reserved in the older way, which refuses even the question. */
static int ask_keys(int fd)
{
	static const uint8_t cdb[10] = { 0x5e, 0 /* READ KEYS */, [7] = KEYS_BYTES >> 8, KEYS_BYTES & 255 };
	uint8_t page[KEYS_BYTES];
	int moved = scsi_fetch(scsi_real_ioctl, fd, cdb, page, sizeof(page));

	return moved == -EBUSY ? -2 : moved < 0 ? -1 : reserve_keys(page, (size_t)moved);
}

static void ask_bottom(const struct sys_block *b, const char *on, struct survey *out)
{
	struct device dev = { 0 };
	char node[128], how[128];
	cleanup_close int fd = -1;
	struct stat st;
	int n;

	identity_transport(&dev, b);
	if (strncmp(b->disk, "sd", 2) != 0 || !str_is_one_of(dev.transport, "sas scsi fc iscsi virtio"))
		return; /* bridges of USB and ATA know no reservations, and some hang on what they do not know */
	sys_node(b->disk, node, sizeof(node));
	fd = open(node, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_rdev != b->disk_rdev)
		return;
	n = ask_keys(fd);
	if (n == 0 || n == -1)
		return;
	if (n > 0)
		(void)snprintf(how, sizeof(how), "%d reservation key%s registered on %s", n, n > 1 ? "s are" : " is",
		               b->disk);
	else
		(void)snprintf(how, sizeof(how), "%s is reserved by another", b->disk);
	survey_add(out, FINDING_SHARED, on, "reservation", how);
}

void find_reservations(const struct stack *stack, const char *self, struct survey *out)
{
	for (size_t i = 0; i < stack->n; i++)
		if (stack->v[i].is_bottom && stack->v[i].is_down)
			ask_bottom(&stack->v[i].b, self, out);
}
