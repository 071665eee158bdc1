/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who may write to a device besides this host. By the connection of the disks at the bottom: of mappings and arrays by
 * their members, of loop devices by what they are over. What the connection does not show (SAS shelves with two heads,
 * disks that a hypervisor lends) is not known; there the keys that hosts have registered show it (PERSISTENT RESERVE
 * IN, SPC-6 6.16). And to whom this host lends it (LIO, nvmet), or as a USB disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/scsi.h"
#include "device/inside.h"
#include "device/steps.h"

#define KEYS_BYTES (8 + 8 * 512)
#define CONFIGFS   "/sys/kernel/config"

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
	const struct mounts *mounts;
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
		const struct mount *m = mounts_of_path(f->root, f->mounts, file);

		if (m && is_network(m->fs_type))
			raise_to(f, REACH_SHARED, m->fs_type);
		return;
	}
	if (str_is_one_of(dev.transport, "fc iscsi nbd rbd drbd aoe"))
		raise_to(f, REACH_SHARED, dev.transport);
	else if (!str_is_one_of(dev.transport, "ata usb mmc zram ram pmem loop null"))
		raise_to(f, REACH_UNKNOWN, dev.transport);
}

void reach_find(struct device *dev, const char *root, const struct sys_block *b)
{
	struct stack s;
	struct found f = { .root = root, .mounts = &s.mounts };

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
	int n;

	identity_transport(&dev, b);
	if (strncmp(b->disk, "sd", 2) != 0 || !str_is_one_of(dev.transport, "sas scsi fc iscsi virtio"))
		return; /* bridges of USB and ATA know no reservations, and some hang on what they do not know */
	sys_node(b->disk, node, sizeof(node));
	fd = sys_node_open(node, b->disk_rdev, 0);
	if (fd < 0)
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

/* ---- users that hold no descriptor and no claim: targets that lend a disk, by configfs ---- */

struct exports {
	const char *root;
	const struct stack *stack;
	const char *self; /* name of the target, for files */
	struct survey *out;
};

/* path: what a target was set to lend. */
static void check_path(const struct exports *e, const char *by, const char *folder, const char *path)
{
	dev_t rdev = node_rdev(e->root, path);
	const struct stack_node *who = stack_find(e->stack, rdev);
	struct stat st;

	if (!who && rdev == 0 && path[0] == '/' && sysroot_is_real(e->root) && stat(path, &st) == 0) {
		struct file_id file = file_id_of(e->root, &e->stack->mounts, path, st.st_dev, (uint64_t)st.st_ino);

		who = stack_find_file(e->stack, &file);
	}
	if (who)
		survey_add(e->out, FINDING_EXPORT, node_is_file(who) ? e->self : who->b.name, by, folder);
}

static void find_nvmet(const struct exports *e, const char *folder)
{
	uint64_t on = 1;
	char path[256];

	(void)sys_u64(e->root, &on, CONFIGFS "/%s/enable", folder); /* not said: taken for the worst */
	if (on != 0 && sys_text(e->root, path, sizeof(path), CONFIGFS "/%s/device_path", folder) == 0)
		check_path(e, "nvmet", folder, path);
}

/* What a back end is over: the path that was set for it, and the one that it says it has opened. */
static void find_lio(const struct exports *e, const char *folder)
{
	static const char *const words[] = { "UDEV PATH: ", "File: " };
	char info[2048], path[256];
	ssize_t n = sys_bytes(e->root, info, sizeof(info) - 1, CONFIGFS "/%s/info", folder);

	if (sys_text(e->root, path, sizeof(path), CONFIGFS "/%s/udev_path", folder) == 0)
		check_path(e, "LIO", folder, path);
	info[n > 0 ? n : 0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		const char *at = strstr(info, words[i]);

		if (!at)
			continue;
		at += strlen(words[i]);
		(void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(at, " \t\n"), at);
		check_path(e, "LIO", folder, path);
	}
}

static void find_gadget(const struct exports *e, const char *folder)
{
	char path[256];

	if (sys_text(e->root, path, sizeof(path), CONFIGFS "/%s/file", folder) == 0)
		check_path(e, "a USB gadget", folder, path);
}

struct kind {
	const char *module, *folders[5]; /* "": all that are there */
	void (*find)(const struct exports *e, const char *folder);
};

static void look_below(const struct exports *e, const struct kind *k, size_t depth, const char *folder)
{
	char below[512];

	if (depth == ARRAY_LEN(k->folders) || !k->folders[depth]) {
		k->find(e, folder);
		return;
	}
	if (k->folders[depth][0]) {
		(void)snprintf(below, sizeof(below), "%s/%s", folder, k->folders[depth]);
		look_below(e, k, depth + 1, below);
		return;
	}
	for (cleanup_list struct sys_list l = sys_list(e->root, CONFIGFS "/%s", folder); sys_next(&l);)
		if (snprintf(below, sizeof(below), "%s/%s", folder, l.name) < (int)sizeof(below))
			look_below(e, k, depth + 1, below);
}

void find_exports(const struct stack *stack, const char *self, struct survey *out)
{
	static const struct kind kinds[] = {
		{ "nvmet", { "nvmet/subsystems", "", "namespaces", "" }, find_nvmet },
		{ "target_core_mod", { "target/core", "", "" }, find_lio },
		{ "usb_f_mass_storage", { "usb_gadget", "", "functions", "", "" }, find_gadget },
	};
	const struct exports e = { stack->root, stack, self, out };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		look_below(&e, &kinds[i], 1, kinds[i].folders[0]);
		if (sys_exists(e.root, "/sys/module/%s", kinds[i].module) &&
		    !sys_exists(e.root, CONFIGFS "/%.*s", (int)strcspn(kinds[i].folders[0], "/"), kinds[i].folders[0]))
			survey_add(
				out, FINDING_UNSEEN, self, "targets",
				"targets that lend disks to other hosts are loaded, and configfs is not mounted on " CONFIGFS);
	}
}
