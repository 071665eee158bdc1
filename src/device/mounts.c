/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID/mountinfo (proc(5)): who is mounted where, by device numbers. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "device/mounts.h"

#define MOUNTS_MAX 100000 /* a bound on hostile input; container hosts have some thousands */

dev_t node_rdev(const char *root, const char *path)
{
	struct sys_block b;
	struct stat st;

	if (path[0] != '/')
		return 0;
	if (sysroot_is_real(root))
		return stat(path, &st) == 0 && S_ISBLK(st.st_mode) ? st.st_rdev : 0;
	/* A dump has no nodes: the name has to do. */
	return sys_block_by_name(root, strrchr(path, '/') + 1, &b) == 0 ? b.rdev : 0;
}

dev_t mount_rdev(const char *root, const struct mount *m)
{
	if (major(m->dev) != 0)
		return m->dev;
	return node_rdev(root, m->source); /* btrfs and others show a number that no device has */
}

/* The value of a mount option; "" when it is not given. */
static void option(const char *options, const char *name, char *buf, size_t len)
{
	const char *at = options;

	while ((at = at ? strstr(at, name) : NULL) != NULL && at != options && at[-1] != ',')
		at++;
	text_copy(buf, len, at ? at + strlen(name) : "");
	buf[strcspn(buf, ",\n")] = '\0';
	text_unescape(buf);
}

/* 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue */
static bool parse_mount(char *line, struct mount *ret)
{
	char *save = NULL, *word = strtok_r(line, " \n", &save), *rest[3] = { NULL, NULL, NULL };
	static const char *const beside[ARRAY_LEN(ret->beside)] = { "logdev=", "rtdev=" }; /* of XFS */
	char word_of[16];
	unsigned maj, min;
	int field = 0;

	memset(ret, 0, sizeof(*ret));
	for (; word && strcmp(word, "-") != 0; word = strtok_r(NULL, " \n", &save), field++) {
		if (field == 0)
			ret->id = atoi(word);
		else if (field == 2 && sscanf(word, "%u:%u", &maj, &min) == 2)
			ret->dev = makedev(maj, min);
		else if (field == 3)
			text_copy(ret->root, sizeof(ret->root), word);
		else if (field == 4)
			text_copy(ret->where, sizeof(ret->where), word);
	}
	for (size_t i = 0; i < ARRAY_LEN(rest); i++)
		rest[i] = strtok_r(NULL, " \n", &save);
	if (field < 5 || !rest[0] || !rest[1])
		return false;
	text_copy(ret->fs_type, sizeof(ret->fs_type), rest[0]);
	text_copy(ret->source, sizeof(ret->source), rest[1]);
	if (strcmp(rest[0], "overlay") == 0)
		option(rest[2], "upperdir=", ret->upper, sizeof(ret->upper));
	option(rest[2], "hidepid=", word_of, sizeof(word_of));
	ret->is_hiding = word_of[0] && strcmp(word_of, "0") != 0 && strcmp(word_of, "off") != 0;
	option(rest[2], "subset=", word_of, sizeof(word_of));
	ret->is_partial = strcmp(word_of, "pid") == 0;
	for (size_t i = 0; i < ARRAY_LEN(beside); i++)
		option(rest[2], beside[i], ret->beside[i], sizeof(ret->beside[i]));
	text_unescape(ret->where);
	text_unescape(ret->root);
	text_unescape(ret->source);
	return true;
}

static int read_table(const char *root, const char *path, struct mounts *ret, struct err *err)
{
	cleanup_fclose FILE *f = sys_open(root, path);
	cleanup_free char *line = NULL;
	size_t len = 0;

	if (!f)
		return err_set(err, -errno, "Cannot read %s%s, which says what is mounted: %s.", root, path,
		               strerror(errno));
	while (getline(&line, &len, f) > 0) {
		if (ret->n == MOUNTS_MAX) /* the gate relies on all of them */
			return err_set(err, -E2BIG, "%s%s lists more than %d mounts; what is mounted is not known.",
			               root, path, MOUNTS_MAX);
		ret->v = xmore(ret->v, ret->n, sizeof(*ret->v));
		if (parse_mount(line, &ret->v[ret->n]))
			ret->n++;
	}
	if (ferror(f))
		return err_set(err, -EIO, "Cannot read %s%s, which says what is mounted.", root, path);
	return 0;
}

static bool is_other_namespace(void)
{
	char ours[64], theirs[64];

	return sys_link("", ours, sizeof(ours), "/proc/self/ns/mnt") &&
	       sys_link("", theirs, sizeof(theirs), "/proc/1/ns/mnt") && strcmp(ours, theirs) != 0;
}

int mounts_read(const char *root, struct mounts *ret, struct err *err)
{
	struct mounts m = { 0 };
	int r = read_table(root, "/proc/self/mountinfo", &m, err);

	if (r == 0 && sysroot_is_real(root) && is_other_namespace())
		(void)read_table(root, "/proc/1/mountinfo", &m,
		                 NULL); /* more to name; the kernel's O_EXCL guards anyway */
	if (r < 0) {
		mounts_done(&m);
		return r;
	}
	*ret = m;
	return 0;
}

void mounts_done(struct mounts *m)
{
	free(m->v);
	*m = (struct mounts){ 0 };
}

static bool is_below(const char *path, const char *where)
{
	size_t n = strlen(where);

	if (strcmp(where, "/") == 0)
		return path[0] == '/';
	return strncmp(path, where, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

const struct mount *mounts_of_path(const char *root, const struct mounts *m, const char *path)
{
	const struct mount *best = NULL;
	struct statx sx;

	if (sysroot_is_real(root) && statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_MNT_ID, &sx) == 0 &&
	    (sx.stx_mask & STATX_MNT_ID) != 0) {
		for (size_t i = 0; i < m->n; i++)
			if ((uint64_t)m->v[i].id == sx.stx_mnt_id)
				return &m->v[i];
	}
	for (size_t i = 0; i < m->n; i++) /* of equal ones the last hides the others */
		if (is_below(path, m->v[i].where) && (!best || strlen(m->v[i].where) >= strlen(best->where)))
			best = &m->v[i];
	return best;
}
