/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A document on its way to a file. The run may be root's and the place may be anyone's, so: the new text goes to a
 * temporary file made with O_EXCL beside the old one, is forced to the disk, and takes the old one's name in one step.
 * At any moment the name is either the old document or the whole new one, also when the disk is full or the power goes.
 * What has that name already is replaced only when it is a regular file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "result/result.h"

static int save_error(struct err *err, int code, const char *path, const char *step)
{
	if (code == -ENOSPC || code == -EDQUOT)
		return err_set(err, code,
		               "The result cannot be saved to %s: the file system is full (%s); make room or name "
		               "another place with --json.",
		               path, err_name(code));
	return err_set(err, code, "The result cannot be saved to %s: %s failed (%s); name another place with --json.",
	               path, step, strerror(-code));
}

static int write_all(int fd, const char *text, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, text, n);

		if (done < 0 && errno != EINTR)
			return -errno;
		if (done > 0) {
			text += done;
			n -= (size_t)done;
		}
	}
	return 0;
}

static int save_to_stdout(const char *text, struct err *err)
{
	int r = fflush(stdout) ? -errno : write_all(STDOUT_FILENO, text, strlen(text));

	if (r)
		return err_set(err, r, "The result cannot be written to standard output (%s).", strerror(-r));
	return 0;
}

/* What has the name already must be a file that may be replaced. */
static int check_place(int dir, const char *name, const char *path, struct err *err)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : save_error(err, -errno, path, "looking at it");
	if (S_ISREG(st.st_mode))
		return 0;
	return err_set(err,
	               S_ISLNK(st.st_mode)   ? -ELOOP
	               : S_ISDIR(st.st_mode) ? -EISDIR
	                                     : -EEXIST,
	               "The result is not saved to %s, which is a %s; give the name of a plain file, or - for "
	               "standard output.",
	               path,
	               S_ISLNK(st.st_mode)   ? "symbolic link"
	               : S_ISDIR(st.st_mode) ? "directory"
	               : S_ISBLK(st.st_mode) ? "block device"
	               : S_ISCHR(st.st_mode) ? "character device"
	                                     : "pipe or socket");
}

/* Under sudo the file should belong to whom it is for. -1: leave it. */
static uid_t id_from(const char *variable)
{
	const char *text = getenv(variable);
	uint64_t id;

	if (geteuid() != 0 || !text || units_parse_u64(text, &id, NULL) || id >= UINT32_MAX)
		return (uid_t)-1;
	return (uid_t)id;
}

void result_give_to_caller(int fd)
{
	/* not worth failing for: file systems without owners are fine places, too */
	(void)!fchown(fd, id_from("SUDO_UID"), id_from("SUDO_GID"));
}

char *result_folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

bool result_is_device_folder(const char *dir)
{
	cleanup_free char *real = realpath(dir, NULL);

	return real && !strncmp(real, "/dev", 4) && (real[4] == '\0' || real[4] == '/') &&
	       strncmp(real, "/dev/shm", 8) != 0;
}

int result_new_file(const char *path)
{
	cleanup_free char *dir = result_folder_of(path);
	int fd;

	if (!dir)
		return -ENOMEM;
	if (result_is_device_folder(dir))
		return -EPERM;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	result_give_to_caller(fd);
	return fd;
}

static int fill(int fd, const char *text)
{
	int r = write_all(fd, text, strlen(text));

	if (r)
		return r;
	result_give_to_caller(fd);
	(void)!fchmod(fd, 0644);              /* not worth failing for, either */
	if (fsync(fd) < 0 && errno != EINVAL) /* EINVAL: a file system that knows none */
		return -errno;
	return 0;
}

/* A file of a new name in dir, 0600 for now. */
static int open_temporary(int dir, const char *name, char *ret_name, size_t len)
{
	for (int tries = 0; tries < 100; tries++) {
		uint64_t random = 0;
		int fd;

		if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return -EIO;
		(void)snprintf(ret_name, len, ".%.200s.%016llx", name, (unsigned long long)random);
		fd = openat(dir, ret_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd >= 0 ? fd : -errno;
	}
	return -EEXIST;
}

static int replace(int dir, const char *name, const char *text, const char *path, struct err *err)
{
	const char *step = "making a temporary file beside it";
	cleanup_close int fd = -1;
	char temporary[240];
	int r;

	fd = open_temporary(dir, name, temporary, sizeof(temporary));
	if (fd < 0)
		return save_error(err, fd, path, step);
	step = "writing";
	r = fill(fd, text);
	if (r == 0 && renameat(dir, temporary, dir, name) < 0) {
		step = "renaming the finished file";
		r = -errno;
	}
	if (r) {
		(void)unlinkat(dir, temporary, 0);
		return save_error(err, r, path, step);
	}
	(void)fsync(dir); /* the name; the text is safe already */
	return 0;
}

int result_save(const struct result *res, const char *path, struct err *err)
{
	cleanup_free char *text = result_to_json(res);
	cleanup_free char *folder = result_folder_of(path);
	cleanup_close int dir = -1;
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	int r;

	if (!text || !folder)
		return err_set(err, -ENOMEM, "There is not enough memory to save the result to %s.", path);
	if (!strcmp(path, "-"))
		return save_to_stdout(text, err);
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return err_set(err, -EISDIR, "The result cannot be saved to '%s': that names no file.", path);
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 && errno == EACCES)
		dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC); /* one may write there, but not list it */
	if (dir < 0)
		return save_error(err, -errno, path, "opening the directory");
	r = check_place(dir, name, path, err);
	return r ? r : replace(dir, name, text, path, err);
}
