/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of ours that a crashed run left behind. Its name, its lock and its header, with a checksum and the mark that
 * it was to go, prove that one may go. A living run takes the lock before it writes the header and holds it until it
 * closes the file. We look at the opened file, never at its name.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "device/permit.h"
#include "device/sysfs.h"

/* Those that <linux/magic.h> does not have. */
#define XFS_MAGIC      0x58465342u
#define ZFS_MAGIC      0x2fc12fc1u
#define BCACHEFS_MAGIC 0xca451a4eu
#define JFS_MAGIC      0x3153464au
#define NTFS3_MAGIC    0x7366746eu

/* "platter-TAG-PID-N.data" */
static bool is_our_name(const char *name)
{
	const char *dash, *end = strrchr(name, '.');
	size_t digits;

	if (strncmp(name, "platter-", 8) != 0 || !end || strcmp(end, ".data") != 0)
		return false;
	for (int i = 0; i < 2; i++) {
		for (dash = end; dash > name + 8 && dash[-1] >= '0' && dash[-1] <= '9'; dash--)
			;
		digits = (size_t)(end - dash);
		if (digits == 0 || dash <= name + 8 || dash[-1] != '-')
			return false;
		end = dash - 1;
	}
	return end > name + 8; /* a tag is left */
}

/* Does flock() there see every program that may have the file open? Of file systems that are not named here that is not
 * known. */
static bool is_local(int dir)
{
	static const unsigned local[] = {
		EXT4_SUPER_MAGIC,  XFS_MAGIC,   BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,      TMPFS_MAGIC,
		RAMFS_MAGIC,       ZFS_MAGIC,   BCACHEFS_MAGIC,    OVERLAYFS_SUPER_MAGIC, MSDOS_SUPER_MAGIC,
		EXFAT_SUPER_MAGIC, NTFS3_MAGIC, JFS_MAGIC,         NILFS_SUPER_MAGIC,     REISERFS_SUPER_MAGIC,
	};
	struct statfs fs;

	if (fstatfs(dir, &fs) < 0)
		return false;
	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
		if ((unsigned)fs.f_type == local[i])
			return true;
	return false;
}

/* The header is asked for before the lock is tried: a file that its run has just made and not locked yet has none, so
 * that run never meets our lock. */
static bool is_leftover(int dir, const char *name, int fd, bool is_lockable, struct stat *ret_st)
{
	struct stat now;

	if (fstat(fd, ret_st) < 0 || !S_ISREG(ret_st->st_mode) || ret_st->st_nlink != 1 ||
	    ret_st->st_uid != geteuid() || !datafile_is_temporary(fd))
		return false;
	/* Shared there, as NFS locks for writing only what is open for writing; a lock that is held elsewhere may be
	 * seen even so. */
	if (flock(fd, (is_lockable ? LOCK_EX : LOCK_SH) | LOCK_NB) < 0 && (is_lockable || errno == EWOULDBLOCK))
		return false;
	/* Once more under the lock: it may have been taken over and marked to be kept, or moved away. */
	return datafile_is_temporary(fd) && fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       now.st_dev == ret_st->st_dev && now.st_ino == ret_st->st_ino;
}

static void sweep_one(int dir, const char *name, bool is_known_local, bool removes, struct leftovers *ret)
{
	/* O_NONBLOCK: opening a pipe must not wait for its other end */
	cleanup_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || !is_leftover(dir, name, fd, is_known_local, &st))
		return;
	ret->bytes += (uint64_t)st.st_blocks * 512;
	if (!ret->first[0])
		text_copy(ret->first, sizeof(ret->first), name);
	if (!is_known_local) {
		ret->doubtful++;
		return;
	}
	ret->found++;
	if (removes && unlinkat(dir, name, 0) < 0)
		ret->error = errno;
	else if (removes)
		ret->removed++;
}

void datafile_sweep(const char *path, bool removes, struct leftovers *ret)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	bool is_known_local;

	*ret = (struct leftovers){ 0 };
	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return; /* whoever wants to make a file there will say what is wrong */
	}
	is_known_local = is_local(fd);
	while ((entry = readdir(dir)))
		if (is_our_name(entry->d_name))
			sweep_one(fd, entry->d_name, is_known_local, removes, ret);
	(void)closedir(dir);
}
