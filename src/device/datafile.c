/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that platter makes to measure file systems. Made with O_EXCL and O_NOFOLLOW, locked (flock) while in use, known
 * again by their header, removed when closed. The header is plain text, so that whoever finds a left-over file can read
 * what it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/units.h"
#include "base/xalloc.h"
#include "device/inside.h"

#define RESERVE_BYTES (1ull << 30)
#define RESERVE_SHARE 20 /* a twentieth: 5 % */
#define NAMED_FILES   4096

struct datafile {
	int fd;
	unsigned flags;
	char path[PATH_MAX]; /* absolute; "" when it has no name */
	dev_t dev;
	ino_t inode;
	struct write_permit *permit;
	struct doomed *doomed;
};

/* ---- what has to go when the program dies ---- */

/*
 * Slots are taken and freed by the owner field alone, so that a signal handler sees whole entries only: the rest of an
 * entry is written before owner is set, and stays until owner is cleared.
 */
struct doomed {
	_Atomic pid_t owner; /* 0: free, -1: being filled */
	dev_t dev;
	ino_t inode;
	char path[PATH_MAX];
};
static struct doomed *_Atomic doomed_table[NAMED_FILES];

static struct doomed *doom(const struct datafile *df)
{
	for (size_t i = 0; i < NAMED_FILES; i++) {
		struct doomed *d = doomed_table[i], *none = NULL;
		pid_t unused = 0;

		if (!d) {
			d = xcalloc(1, sizeof(*d));
			if (!atomic_compare_exchange_strong(&doomed_table[i], &none, d)) {
				free(d);
				d = none;
			}
		}
		if (!atomic_compare_exchange_strong(&d->owner, &unused, -1))
			continue;
		d->dev = df->dev;
		d->inode = df->inode;
		text_copy(d->path, sizeof(d->path), df->path);
		atomic_store(&d->owner, getpid());
		return d;
	}
	return NULL;
}

/* Only if the name still leads to the file that we made. Async-signal-safe. */
static void remove_if_same(const char *path, dev_t dev, ino_t inode)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_dev == dev && st.st_ino == inode)
		(void)unlink(path); /* nothing can be done about a failure here */
}

void datafile_remove_all(void)
{
	int saved = errno;
	pid_t self = getpid(); /* a forked child leaves its parent's files alone */

	for (size_t i = 0; i < NAMED_FILES; i++) {
		struct doomed *d = doomed_table[i];

		if (!d)
			break; /* the table fills from the front */
		if (d->owner == self) {
			remove_if_same(d->path, d->dev, d->inode);
			d->owner = 0;
		}
	}
	errno = saved;
}

/* ---- room ---- */

int datafile_check_space(const char *path, uint64_t bytes, struct err *err)
{
	char need[32], free_text[32];
	uint64_t total, avail, reserve;
	char folder[PATH_MAX];
	struct statvfs fs;

	text_folder(folder, sizeof(folder), path); /* a file that is still to be made */
	if (statvfs(path, &fs) < 0 && (errno != ENOENT || statvfs(folder, &fs) < 0))
		return err_set(err, -errno, "Cannot ask how much room there is at %s: %s.", path, strerror(errno));
	total = (uint64_t)fs.f_blocks * fs.f_frsize;
	avail = (uint64_t)fs.f_bavail * fs.f_frsize;
	reserve = total / RESERVE_SHARE < RESERVE_BYTES ? total / RESERVE_SHARE : RESERVE_BYTES;
	if (avail >= reserve && bytes <= avail - reserve)
		return 0;
	return err_set(err, -ENOSPC, "%s is needed at %s, and %s is free for it; make room or give a smaller size.",
	               units_bytes_dec(need, sizeof(need), bytes), path,
	               units_bytes_dec(free_text, sizeof(free_text), avail > reserve ? avail - reserve : 0));
}

static int not_ours(const char *path, struct err *err)
{
	return err_set(
		err, -EEXIST,
		"%s exists and was not made by platter, so it is not overwritten; name a file that does not exist.",
		path);
}

int datafile_check(const struct device *dev, uint64_t bytes, struct err *err)
{
	if (dev->kind == DEVICE_FILE && dev->file.inode && !datafile_is_ours(dev->path))
		return not_ours(dev->path, err);
	return datafile_check_space(dev->path, bytes, err);
}

/* ---- making ---- */

int datafile_name(char *buf, size_t len, const char *dir, const char *tag, unsigned n)
{
	int r = snprintf(buf, len, "%s/platter-%s-%d-%u.data", dir, tag, (int)getpid(), n);

	return r < 0 || (size_t)r >= len ? -ENAMETOOLONG : 0;
}

/* The folder of a path that may not exist. */
static int open_anonymous(const char *path, struct err *err)
{
	char name[PATH_MAX];
	struct stat st;
	int fd;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, -ENOTDIR, "%s is not a directory, so no file can be made in it.", path);
	fd = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd >= 0 ? fd : err_set(err, -errno, "Cannot make a file in %s: %s.", path, strerror(errno));
	/* File systems without O_TMPFILE (NFS, FAT, some FUSE): nameless a moment later. */
	if (datafile_name(name, sizeof(name), path, "unnamed", 0) < 0)
		return err_set(err, -ENAMETOOLONG, "The path %.60s... is too long.", path);
	fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, -errno, "Cannot make a file in %s: %s.", path, strerror(errno));
	if (unlink(name) < 0) {
		int code = -errno;

		(void)close(fd);
		return err_set(err, code, "Cannot remove %s: %s; delete it by hand.", name, strerror(-code));
	}
	return fd;
}

/* A new file, or with DATAFILE_REUSE one of ours; *ret_is_new says which. */
static int open_named(const char *path, unsigned flags, bool *ret_is_new, struct err *err)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	*ret_is_new = fd >= 0;
	if (fd >= 0)
		return fd;
	if (errno != EEXIST)
		return err_set(err, -errno, "Cannot make %s: %s.", path, strerror(errno));
	if ((flags & DATAFILE_REUSE) == 0)
		return err_set(err, -EEXIST,
		               "%s exists already, so it is not overwritten; name a file that does not exist.", path);
	/* O_NONBLOCK: opening a pipe must not wait for its other end */
	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_set(err, -errno, "Cannot open %s: %s.", path,
		               errno == ELOOP ? "it is a symbolic link, and those are not followed" : strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !datafile_has_header(fd)) {
		(void)close(fd);
		return not_ours(path, err);
	}
	return fd;
}

/* The lock keeps a second platter off; the header makes it ours. */
static int settle(struct datafile *df, bool is_new, const char *path, uint64_t data_bytes, struct err *err)
{
	struct stat st;
	int r;

	if (flock(df->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return err_set(err, -EBUSY, "%s is in use by another platter.", path);
	if (fstat(df->fd, &st) < 0)
		return err_set(err, -errno, "Cannot look at %s: %s.", path, strerror(errno));
	df->dev = st.st_dev;
	df->inode = st.st_ino;
	if ((df->flags & DATAFILE_ANONYMOUS) == 0) {
		if (!realpath(path, df->path))
			return err_set(err, -errno, "Cannot resolve %s: %s.", path, strerror(errno));
		df->doomed = (df->flags & DATAFILE_KEEP) == 0 ? doom(df) : NULL;
	}
	r = is_new ? datafile_write_header(df->fd, data_bytes) : 0;
	if (r < 0)
		return err_set(err, r, "Cannot write the header of %s: %s.", path, strerror(-r));
	if ((df->flags & DATAFILE_ALLOCATE) != 0) {
		r = -posix_fallocate(df->fd, DATAFILE_DATA_OFFSET, (off_t)data_bytes);
		if (r < 0)
			return err_set(err, r, "Cannot reserve room for %s: %s.", path, strerror(-r));
	}
	return permit_for_datafile(&df->permit, df->fd, path, err);
}

int datafile_create(struct datafile **ret, const char *path, uint64_t data_bytes, unsigned flags, struct err *err)
{
	bool is_anonymous = (flags & DATAFILE_ANONYMOUS) != 0, is_new = true;
	char folder[PATH_MAX];
	struct datafile *df;
	struct stat st;
	int r;

	if (strlen(path) >= sizeof(folder) || data_bytes > INT64_MAX - DATAFILE_DATA_OFFSET)
		return err_set(err, -EINVAL, "Cannot make %.200s: the name is too long or the size too large.", path);
	if (is_anonymous)
		text_copy(folder, sizeof(folder), path);
	else
		text_folder(folder, sizeof(folder), path);
	/* A file that is there already holds its blocks: they need no room again. */
	if (is_anonymous || lstat(path, &st) < 0 || (uint64_t)st.st_blocks * 512 < data_bytes) {
		r = datafile_check_space(folder, data_bytes + DATAFILE_HEADER_BYTES, err);
		if (r < 0)
			return r;
	}
	df = xcalloc(1, sizeof(*df));
	df->flags = flags;
	df->fd = is_anonymous ? open_anonymous(path, err) : open_named(path, flags, &is_new, err);
	if (df->fd < 0) {
		r = df->fd;
		free(df);
		return r;
	}
	r = settle(df, is_new, path, data_bytes, err);
	if (r < 0) {
		if (!is_new) /* what was there before us stays */
			df->flags |= DATAFILE_KEEP;
		datafile_close(df);
		return r;
	}
	*ret = df;
	return 0;
}

void datafile_close(struct datafile *df)
{
	if (!df)
		return;
	if (df->path[0] && (df->flags & DATAFILE_KEEP) == 0)
		remove_if_same(df->path, df->dev, df->inode);
	if (df->doomed)
		df->doomed->owner = 0;
	permit_release(df->permit);
	(void)close(df->fd); /* what matters was synchronised by the measurement */
	free(df);
}

int datafile_open(const struct datafile *df, bool is_direct, struct err *err)
{
	const char *name = df->path[0] ? df->path : "the file without a name";
	struct statfs fs;
	char self[64];
	int fd;

	/* Memory file systems take O_DIRECT and answer from the page cache: no. */
	if (is_direct && fstatfs(df->fd, &fs) == 0 &&
	    ((unsigned)fs.f_type == TMPFS_MAGIC || (unsigned)fs.f_type == RAMFS_MAGIC))
		return err_set(err, -EOPNOTSUPP,
		               "%s lies in memory, where nothing is direct; use a disk, or --mode=cached.", name);
	/* Through the descriptor: the very file, whatever has become of its name. */
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", df->fd);
	fd = open(self, O_RDWR | O_CLOEXEC | (is_direct ? O_DIRECT : 0));
	if (fd < 0 && errno == EINVAL && is_direct)
		return err_set(
			err, -EOPNOTSUPP,
			"The file system of %s takes no direct I/O; --mode=cached measures through the page cache.",
			name);
	if (fd < 0)
		return err_set(err, -errno, "Cannot open %s again: %s.", name, strerror(errno));
	return fd;
}

int datafile_reset(struct datafile *df, struct err *err)
{
	if (ftruncate(df->fd, DATAFILE_HEADER_BYTES) < 0)
		return err_set(err, -errno, "Cannot empty %s: %s.", df->path, strerror(errno));
	return 0;
}

int datafile_cut(struct datafile *df, uint64_t data_bytes)
{
	if (data_bytes == 0)
		df->flags &= ~(unsigned)DATAFILE_KEEP;
	return ftruncate(df->fd, (off_t)(DATAFILE_DATA_OFFSET + data_bytes)) < 0 ? -errno : 0;
}

const struct write_permit *datafile_permit(const struct datafile *df)
{
	return df->permit;
}
