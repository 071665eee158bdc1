/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who uses a device: mounts, swap, open descriptors, what the kernel says to O_EXCL; and what is on it. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "device/inside.h"

#define SIGNATURES_NS \
	2000000000ull /* of a disk whose reads take seconds and fail not all is asked: info answers in 5 s */

struct look {
	const char *root;
	const struct device *dev;
	struct stack stack;
	struct survey *out;
};

/* ---- mounts ---- */

/* A device that shares bytes with the target, in use by a mount. */
struct mounted {
	struct look *l;
	const char *type, *where;
	bool is_unseen; /* in no mountinfo that we see: said of what is not known to be mounted */
};

static bool is_reported(const struct survey *s, const char *on)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].kind == FINDING_MOUNT && strcmp(s->v[i].on, on) == 0)
			return true;
	return false;
}

static void take_mounted(void *arg, dev_t rdev)
{
	const struct mounted *m = arg;
	const struct stack_node *who = stack_find(&m->l->stack, rdev);

	if (who && !(m->is_unseen && is_reported(m->l->out, who->b.name)))
		survey_add(m->l->out, FINDING_MOUNT, who->b.name, m->type, m->where);
}

static void find_mounts(struct look *l)
{
	for (size_t i = 0; i < l->stack.mounts.n; i++) {
		const struct mount *m = &l->stack.mounts.v[i];
		struct mounted in = { l, m->fs_type, m->where, false };

		mount_devices(l->root, m, take_mounted, &in);
	}
}

static void find_btrfs(struct look *l)
{
	for (cleanup_list struct sys_list all = sys_list(l->root, "/sys/fs/btrfs"); sys_next(&all);) {
		struct mounted in = { l, "btrfs of several devices", all.name, true };

		btrfs_members(l->root, all.name, take_mounted, &in);
	}
}

/* ---- swap ---- */

static void check_swap(struct look *l, char *path)
{
	const struct stack_node *who;
	const struct mount *m;
	struct file_id file;
	struct stat st;
	dev_t rdev;

	text_unescape(path);
	rdev = node_rdev(l->root, path);
	who = stack_find(&l->stack, rdev);
	if (who)
		survey_add(l->out, FINDING_SWAP, who->b.name, "swap partition", path);
	if (rdev != 0)
		return;
	if (sysroot_is_real(l->root) && stat(path, &st) == 0) {
		file = file_id_of(l->root, &l->stack.mounts, path, st.st_dev, (uint64_t)st.st_ino);
		who = stack_find_file(&l->stack, &file);
		if (!who)
			who = stack_find(&l->stack, st.st_dev);
	}
	m = who ? NULL : mounts_of_path(l->root, &l->stack.mounts, path);
	if (m)
		who = stack_find(&l->stack, mount_rdev(l->root, m));
	if (who)
		survey_add(l->out, FINDING_SWAP, node_is_file(who) ? l->dev->name : who->b.name, "swap file", path);
}

static void find_swaps(struct look *l)
{
	cleanup_fclose FILE *f = sys_open(l->root, "/proc/swaps"); /* none: a kernel without swap */
	cleanup_free char *line = NULL;
	size_t len = 0;

	while (f && getline(&line, &len, f) > 0) {
		line[strcspn(line, " \t\n")] = '\0';
		if (line[0] == '/')
			check_swap(l, line);
	}
}

/* ---- other hosts ---- */

static void find_hosts(struct look *l)
{
	const struct device *dev = l->dev;
	char how[128];

	(void)snprintf(how, sizeof(how), "it is connected by %s", dev->way.shared_by);
	if (dev->way.reach == REACH_SHARED)
		survey_add(l->out, FINDING_SHARED, dev->name, dev->way.shared_by, how);
	if (sysroot_is_real(l->root))
		find_reservations(&l->stack, dev->name, l->out);
}

/* ---- the device itself ---- */

static void find_own(struct look *l)
{
	const struct device *dev = l->dev;

	if (dev->is_read_only)
		survey_add(l->out, FINDING_READ_ONLY, dev->name, "", "");
	if (dev->kind != DEVICE_FILE && strcmp(dev->queue.zoned, "host-managed") == 0)
		survey_add(l->out, FINDING_ZONED, dev->name, dev->queue.zoned, "");
}

static void find_signatures(struct look *l)
{
	uint64_t until = clock_now_ns(clock_monotonic()) + SIGNATURES_NS;
	char node[128];

	if (!sysroot_is_real(l->root) || l->dev->size_bytes == 0)
		return;
	for (size_t i = 0; i < l->stack.n; i++) {
		const struct stack_node *m = &l->stack.v[i];

		if (m->rel > REL_OVERLAP)
			continue;
		sys_node(m->b.name, node, sizeof(node));
		if (clock_now_ns(clock_monotonic()) >= until)
			signature_unread(m->b.name, "the disk takes seconds for a read", l->out);
		else
			signature_scan(m->rel == REL_SELF ? l->dev->node : node, m->b.rdev, m->b.name, l->out);
	}
	if (clock_now_ns(clock_monotonic()) < until)
		sample_blocks(l->dev, l->out);
}

/* Read-only and for a moment: the kernel knows users that nothing else shows. Not when there is one already. */
static void find_exclusive(struct look *l)
{
	cleanup_close int fd = -1;
	struct claims claims = { 0 };

	if (!sysroot_is_real(l->root) || survey_is_in_use(l->out))
		return;
	fd = sys_node_open(l->dev->node, l->dev->rdev, O_EXCL);
	if (fd == -EBUSY)
		survey_add(l->out, FINDING_EXCLUSIVE, l->dev->name, "", "");
	if (fd < 0)
		return;
	claims_take(&l->stack, &claims, l->out);
	claims_done(&claims);
}

/* Most serious first: mounts before loop devices. Kinds are in that order; a few elements, so insertion will do. */
static void sort(struct survey *s)
{
	for (size_t i = 1; i < s->n; i++) {
		struct finding f = s->v[i];
		size_t k = i;

		for (; k > 0 && s->v[k - 1].kind > f.kind; k--)
			s->v[k] = s->v[k - 1];
		s->v[k] = f;
	}
}

int survey_device(void *ctx, const struct device *dev, struct survey *ret, struct err *err)
{
	const char *root = sysroot_of(ctx);
	struct survey found = { 0 };
	struct look l = { .root = root, .dev = dev, .out = &found };
	bool is_block = dev->kind == DEVICE_DISK || dev->kind == DEVICE_PARTITION,
	     is_file = dev->kind == DEVICE_FILE && dev->file.inode != 0;
	int r = stack_build(root, dev, &l.stack, &found, err);

	if (r < 0) {
		survey_done(&found);
		return r;
	}
	if (is_block) {
		find_mounts(&l);
		find_btrfs(&l);
	}
	if (is_block || is_file) {
		find_swaps(&l);
		find_processes(&l.stack, dev->name, &found);
		find_exports(&l.stack, dev->name, &found);
		find_own(&l);
	}
	if (is_block) {
		find_exclusive(&l);
		find_hosts(&l);
		find_signatures(&l);
	} else if (is_file && !datafile_is_ours(dev->node)) { /* to report it early; the claim looks at what it holds */
		survey_add(&found, FINDING_ALIEN, dev->name, "", dev->node);
	}
	stack_done(&l.stack);
	sort(&found);
	*ret = found;
	return 0;
}

/* ---- outputs ---- */

/* What the path is, or the folder that it would be made in; absolute in ret_real. */
static bool resolve_output(const char *path, struct stat *ret_st, char *ret_real)
{
	char folder[PATH_MAX];

	if (stat(path, ret_st) == 0)
		return realpath(path, ret_real) != NULL;
	if (strlen(path) >= sizeof(folder))
		return false;
	text_folder(folder, sizeof(folder), path);
	return stat(folder, ret_st) == 0 && realpath(folder, ret_real) != NULL;
}

struct shared {
	const struct stack *s;
	bool is_one;
};

static void seek_shared(void *arg, dev_t rdev)
{
	struct shared *k = arg;

	k->is_one = k->is_one || stack_find(k->s, rdev);
}

bool survey_holds(void *ctx, const struct device *dev, const char *path, bool is_itself)
{
	const char *root = sysroot_of(ctx);
	const struct mount *m;
	char real[PATH_MAX];
	struct file_id file;
	struct stack s;
	struct stat st;
	struct shared k = { .s = &s };

	if (!resolve_output(path, &st, real) || (is_itself && !S_ISREG(st.st_mode)))
		return false; /* it cannot be written, which is said in its place; or nothing stands on it */
	if (stack_build(root, dev, &s, NULL, NULL) < 0)
		return true; /* what cannot be known is taken for the worst */
	file = file_id_of(root, &s.mounts, real, st.st_dev, (uint64_t)st.st_ino);
	for (size_t i = 0; i < s.n; i++)
		k.is_one = k.is_one || (S_ISREG(st.st_mode) && (is_itself || s.v[i].rel != REL_GROUND) &&
		                        node_is_file(&s.v[i]) && file_id_is_same(&s.v[i].file, &file));
	if (!is_itself)
		seek_shared(&k, S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev);
	if (!is_itself && !S_ISBLK(st.st_mode) && (m = mounts_of_path(root, &s.mounts, real)) != NULL)
		mount_devices(root, m, seek_shared, &k);
	stack_done(&s);
	return k.is_one;
}

/* ---- which targets of one run have bytes, or a disk, in common: a rate of both together would count them twice ----
 */

/* In a directory each target makes a file of its own. */
static bool has_bytes_of(const struct stack *s, const struct device *dev)
{
	struct file_id file = file_id_of(s->root, &s->mounts, dev->node, dev->file.file_dev, dev->file.inode);

	for (size_t i = 0; i < s->n; i++)
		if (dev->kind == DEVICE_DISK || dev->kind == DEVICE_PARTITION
		            ? s->v[i].b.rdev == dev->rdev
		            : dev->kind == DEVICE_FILE && dev->file.inode && node_is_file(&s->v[i]) &&
		                      file_id_is_same(&s->v[i].file, &file))
			return true;
	return false;
}

/* A disk that holds bytes of both. */
static bool has_disk_of(const struct stack *a, const struct stack *b)
{
	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < b->n; k++)
			if (a->v[i].is_bottom && b->v[k].is_bottom && a->v[i].rel != REL_ABOVE &&
			    b->v[k].rel != REL_ABOVE && a->v[i].b.disk_rdev &&
			    a->v[i].b.disk_rdev == b->v[k].b.disk_rdev)
				return true;
	return false;
}

/* Neither of which may be there yet. */
static bool is_one_name(const struct device *a, const struct device *b)
{
	return a->kind == DEVICE_FILE && b->kind == DEVICE_FILE && strcmp(a->node, b->node) == 0;
}

int shares_find(void *ctx, const struct device *devs, size_t n, struct device_share *ret, struct err *err)
{
	const char *root = sysroot_of(ctx);
	cleanup_free struct stack *s = xcalloc(n, sizeof(*s));
	size_t built = 0;
	int r = 0;

	*ret = (struct device_share){ .kind = SHARE_NOTHING };
	for (size_t i = 0; i < n && r == 0; i++) {
		r = stack_build(root, &devs[i], &s[i], NULL, err);
		built += r == 0;
	}
	for (size_t i = 0; i < n && r == 0; i++)
		for (size_t k = 0; k < i && ret->kind != SHARE_BYTES; k++) {
			bool is_dir = devs[i].kind == DEVICE_DIRECTORY || devs[k].kind == DEVICE_DIRECTORY;

			if (!is_dir && (is_one_name(&devs[i], &devs[k]) || has_bytes_of(&s[i], &devs[k]) ||
			                has_bytes_of(&s[k], &devs[i])))
				*ret = (struct device_share){ SHARE_BYTES, k, i };
			else if (ret->kind == SHARE_NOTHING && has_disk_of(&s[k], &s[i]))
				*ret = (struct device_share){ SHARE_DISK, k, i };
		}
	for (size_t i = 0; i < built; i++)
		stack_done(&s[i]);
	return r;
}
