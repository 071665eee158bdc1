/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who uses a device: mounts, swap, open descriptors, what the kernel says to O_EXCL; and what is on it. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "device/finding.h"
#include "device/survey.h"
#include "device/users.h"

#define SIGNATURES_NS \
	2000000000ull /* of a disk whose reads take seconds and fail not all is asked: info answers in 5 s */

struct look {
	const char *root;
	const struct device *dev;
	struct stack stack;
	struct survey *out;
};

static const char *self_name(const struct look *l)
{
	return l->dev->name;
}

/* A device that shares bytes with the target, in use by a mount. */
struct mounted {
	struct look *l;
	const char *type, *where;
};

static int take_mounted(void *arg, dev_t rdev)
{
	const struct mounted *m = arg;
	const struct stack_node *who = stack_find(&m->l->stack, rdev);

	return who ? survey_add(m->l->out, FINDING_MOUNT, who->b.name, m->type, m->where) : 0;
}

/* ---- mounts ---- */

static int find_mounts(struct look *l)
{
	int r = 0;

	for (size_t i = 0; i < l->stack.mounts.n && r == 0; i++) {
		const struct mount *m = &l->stack.mounts.v[i];
		struct mounted in = { l, m->fs_type, m->where };

		r = mount_devices(l->root, m, take_mounted, &in);
	}
	return r;
}

/* Those that are mounted nowhere that we see: /sys/fs/btrfs/UUID/devices has them all the same. */
static int find_btrfs(struct look *l)
{
	struct sys_list systems, names;
	int r = 0;

	sys_list(l->root, &systems, "/sys/fs/btrfs");
	for (size_t i = 0; i < systems.n && r == 0; i++) {
		sys_list(l->root, &names, "/sys/fs/btrfs/%s/devices", systems.v[i]);
		for (size_t k = 0; k < names.n && r == 0; k++) {
			const struct stack_node *who;
			struct sys_block b;

			if (sys_block_by_name(l->root, names.v[k], &b) < 0)
				continue;
			who = stack_find(&l->stack, b.rdev);
			/* The mount itself was found when mountinfo has it; then one sentence is enough. */
			for (size_t f = 0; who && f < l->out->n; f++)
				if (l->out->v[f].kind == FINDING_MOUNT && strcmp(l->out->v[f].on, who->b.name) == 0)
					who = NULL;
			if (who)
				r = survey_add(l->out, FINDING_MOUNT, who->b.name, "btrfs of several devices",
				               systems.v[i]);
		}
		sys_list_done(&names);
	}
	sys_list_done(&systems);
	return r;
}

/* ---- swap ---- */

static int check_swap(struct look *l, char *path)
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
		return survey_add(l->out, FINDING_SWAP, who->b.name, "swap partition", path);
	if (rdev != 0)
		return 0;
	if (sysroot_is_real(l->root) && stat(path, &st) == 0) {
		file = file_id_of(l->root, &l->stack.mounts, path, st.st_dev, (uint64_t)st.st_ino);
		who = stack_find_file(&l->stack, &file);
		if (!who)
			who = stack_find(&l->stack, st.st_dev);
	}
	m = who ? NULL : mounts_of_path(l->root, &l->stack.mounts, path);
	if (m)
		who = stack_find(&l->stack, mount_rdev(l->root, m));
	if (!who)
		return 0;
	return survey_add(l->out, FINDING_SWAP, node_is_file(who) ? self_name(l) : who->b.name, "swap file", path);
}

static int find_swaps(struct look *l)
{
	cleanup_fclose FILE *f = sys_open(l->root, "/proc/swaps"); /* none: a kernel without swap */
	cleanup_free char *line = NULL;
	size_t len = 0;
	int r = 0;

	while (f && r == 0 && getline(&line, &len, f) > 0) {
		line[strcspn(line, " \t\n")] = '\0';
		if (line[0] == '/')
			r = check_swap(l, line);
	}
	return r;
}

static int find_writers(struct look *l)
{
	return find_processes(&l->stack, self_name(l), l->out);
}

/* ---- other hosts ---- */

static int find_lent(struct look *l)
{
	return find_exports(&l->stack, self_name(l), l->out);
}

static int find_hosts(struct look *l)
{
	const struct device *dev = l->dev;
	struct sys_block self;
	char how[128];
	int r = 0;

	if (dev->reach == REACH_SHARED) {
		(void)snprintf(how, sizeof(how), "it is connected by %s", dev->shared_by);
		r = survey_add(l->out, FINDING_SHARED, dev->name, dev->shared_by, how);
	}
	if (r < 0 || !sysroot_is_real(l->root) || sys_block_by_rdev(l->root, dev->rdev, &self) < 0)
		return r;
	return find_reservations(l->root, &self, dev->name, l->out);
}

/* ---- the device itself ---- */

static int find_own(struct look *l)
{
	const struct device *dev = l->dev;
	int r = 0;

	if (dev->is_read_only)
		r = survey_add(l->out, FINDING_READ_ONLY, dev->name, "", "");
	if (r == 0 && strcmp(dev->zoned, "host-managed") == 0)
		r = survey_add(l->out, FINDING_ZONED, dev->name, dev->zoned, "");
	return r;
}

static int find_signatures(struct look *l)
{
	uint64_t until = clock_now_ns(clock_monotonic()) + SIGNATURES_NS;
	char node[128];
	int r = 0;

	if (!sysroot_is_real(l->root) || l->dev->size_bytes == 0)
		return 0;
	for (size_t i = 0; i < l->stack.n && r == 0; i++) {
		const struct stack_node *m = &l->stack.v[i];

		if (m->rel > REL_OVERLAP)
			continue;
		if (clock_now_ns(clock_monotonic()) >= until) {
			r = signature_unread(m->b.name, "the disk takes seconds for a read", l->out);
			continue;
		}
		sys_node(m->b.name, node, sizeof(node));
		r = signature_scan(m->rel == REL_SELF ? l->dev->node : node, m->b.rdev, m->b.name, l->out);
	}
	return r == 0 && clock_now_ns(clock_monotonic()) < until ? sample_blocks(l->dev, l->out) : r;
}

/* Read-only and for a moment: the kernel knows users that nothing else shows. Not when there is one already. */
static int find_exclusive(struct look *l)
{
	cleanup_close int fd = -1;
	struct claims claims = { 0 };
	int r;

	if (!sysroot_is_real(l->root) || survey_is_in_use(l->out))
		return 0;
	fd = open(l->dev->node, O_RDONLY | O_EXCL | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == EBUSY ? survey_add(l->out, FINDING_EXCLUSIVE, l->dev->name, "", "") : 0;
	r = claims_take(&l->stack, &claims, l->out);
	claims_done(&claims);
	return r;
}

/* ---- files ---- */

static int look_at_file(struct look *l)
{
	const struct device *dev = l->dev;
	int r = 0;

	if (dev->kind != DEVICE_FILE || dev->inode == 0)
		return 0;
	/* To tell early; the claim looks at the descriptor that it holds. */
	if (!datafile_is_ours(dev->node))
		r = survey_add(l->out, FINDING_ALIEN, dev->name, "", dev->node);
	if (r == 0 && dev->is_read_only)
		r = survey_add(l->out, FINDING_READ_ONLY, dev->name, "", "");
	if (r == 0)
		r = find_swaps(l);
	if (r == 0)
		r = find_lent(l);
	return r == 0 ? find_writers(l) : r;
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

int survey_device(const char *root, const struct device *dev, struct survey *ret, struct err *err)
{
	struct survey found = { 0 };
	struct look l = { .root = root, .dev = dev, .out = &found };
	int r = stack_build(root, dev, &l.stack, &found, err);

	if (r < 0) {
		survey_done(&found);
		return r;
	}
	if (dev->kind == DEVICE_FILE || dev->kind == DEVICE_DIRECTORY) {
		r = look_at_file(&l);
	} else {
		static int (*const steps[])(struct look *) = { find_mounts,    find_btrfs,   find_swaps,
			                                       find_exclusive, find_writers, find_lent,
			                                       find_hosts,     find_own,     find_signatures };

		for (size_t i = 0; i < ARRAY_LEN(steps) && r == 0; i++)
			r = steps[i](&l);
	}
	stack_done(&l.stack);
	if (r < 0) {
		survey_done(&found);
		return err_set(err, r, "Cannot find out who uses %s: %s.", dev->path, strerror(-r));
	}
	sort(&found);
	*ret = found;
	return 0;
}

/* ---- outputs ---- */

/* What the path is, or the folder that it would be made in; absolute in ret_real. */
static bool resolve_output(const char *path, struct stat *ret_st, char *ret_real)
{
	char folder[PATH_MAX], *slash;

	if (stat(path, ret_st) == 0)
		return realpath(path, ret_real) != NULL;
	if (strlen(path) >= sizeof(folder))
		return false;
	text_copy(folder, sizeof(folder), path);
	slash = strrchr(folder, '/');
	if (!slash)
		text_copy(folder, sizeof(folder), ".");
	else
		slash[slash == folder] = '\0';
	return stat(folder, ret_st) == 0 && realpath(folder, ret_real) != NULL;
}

static int seek_shared(void *arg, dev_t rdev)
{
	const struct stack *s = arg;

	return stack_find(s, rdev) ? 1 : 0;
}

bool survey_holds(const char *root, const struct device *dev, const char *path)
{
	const struct mount *m;
	char real[PATH_MAX];
	struct file_id file;
	struct stack s;
	struct stat st;
	bool is_held;

	if (!resolve_output(path, &st, real))
		return false; /* it cannot be written either, and that will be said in its place */
	if (stack_build(root, dev, &s, NULL, NULL) < 0)
		return true; /* what cannot be told is taken for the worst */
	file = file_id_of(root, &s.mounts, real, st.st_dev, (uint64_t)st.st_ino);
	is_held = S_ISBLK(st.st_mode)
	                  ? stack_find(&s, st.st_rdev) != NULL
	                  : stack_find(&s, st.st_dev) || (S_ISREG(st.st_mode) && stack_find_file(&s, &file));
	if (!is_held && !S_ISBLK(st.st_mode) && (m = mounts_of_path(root, &s.mounts, real)) != NULL)
		is_held = mount_devices(root, m, seek_shared, &s) != 0;
	stack_done(&s);
	return is_held;
}

bool survey_is_stacked(const char *root, const struct device *dev, const char *path)
{
	char real[PATH_MAX];
	struct file_id file;
	bool is_one = false;
	struct stack s;
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || !realpath(path, real))
		return false; /* a new file is nothing that anything stands on */
	if (stack_build(root, dev, &s, NULL, NULL) < 0)
		return true; /* what cannot be told is taken for the worst */
	file = file_id_of(root, &s.mounts, real, st.st_dev, (uint64_t)st.st_ino);
	for (size_t i = 0; i < s.n; i++)
		is_one = is_one || (node_is_file(&s.v[i]) && file_id_is_same(&s.v[i].file, &file));
	stack_done(&s);
	return is_one;
}
