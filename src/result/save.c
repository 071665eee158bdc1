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
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "result/result.h"

static int save_error(struct err *err, int code, const char *path, const char *step)
{
	if (code == -ENOSPC || code == -EDQUOT)
		return err_set(
			err, code,
			"The result cannot be saved to %s: the file system is full (%s); make room or give another path.",
			path, err_name(code));
	return err_set(err, code, "The result cannot be saved to %s: %s failed (%s); give another path.", path, step,
	               strerror(-code));
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

/* Fills the new file by write() and makes it safe. fd is closed. */
static int fill(int fd, int (*write)(FILE *f, void *arg), void *arg)
{
	mode_t mask = umask(0);
	FILE *f = fdopen(fd, "w");
	int r;

	(void)umask(mask);
	if (!f) {
		(void)close(fd); /* empty */
		return -ENOMEM;
	}
	errno = 0;
	r = write(f, arg);
	if (r == -EIO && errno) /* the stream failed on the way; the first failure says why */
		r = -errno;
	if ((fflush(f) != 0 || ferror(f)) && r >= 0)
		r = errno ? -errno : -EIO;
	result_give_to_caller(fd);
	(void)!fchmod(fd, 0666 & ~mask);                /* not worth failing for, either */
	if (r >= 0 && fsync(fd) < 0 && errno != EINVAL) /* EINVAL: a file system that knows none */
		r = -errno;
	if (fclose(f) != 0 && r >= 0)
		r = -errno;
	return r < 0 ? r : 0;
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

static int replace(int dir, const char *name, int (*write)(FILE *f, void *arg), void *arg, const char *path,
                   struct err *err)
{
	const char *step = "writing";
	char temporary[240];
	int fd = open_temporary(dir, name, temporary, sizeof(temporary)), r;

	if (fd < 0)
		return save_error(err, fd, path, "making a temporary file beside it");
	r = fill(fd, write, arg);
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

int result_save_file(const char *path, int (*write)(FILE *f, void *arg), void *arg, struct err *err)
{
	cleanup_free char *folder = result_folder_of(path);
	cleanup_close int dir = -1;
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	int r;

	if (!folder)
		return err_set(err, -ENOMEM, "There is not enough memory to save the result to %s.", path);
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return err_set(err, -EISDIR, "The result cannot be saved to '%s': that names no file.", path);
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 && errno == EACCES)
		dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC); /* one may write there, but not list it */
	if (dir < 0)
		return save_error(err, -errno, path, "opening the directory");
	r = check_place(dir, name, path, err);
	return r ? r : replace(dir, name, write, arg, path, err);
}

static int write_text(FILE *f, void *arg)
{
	return fputs(arg, f) < 0 ? -EIO : 0;
}

int result_save(const struct result *res, const char *path, struct err *err)
{
	cleanup_free char *text = result_to_json(res);

	if (!text)
		return err_set(err, -ENOMEM, "There is not enough memory to save the result to %s.", path);
	return result_save_file(path, write_text, text, err);
}

/* Without the white space between the parts: one line, as no text holds a newline that is not escaped. */
static size_t make_one_line(char *text)
{
	char *to = text;
	bool is_text = false;

	for (const char *from = text; *from; from++) {
		if (is_text && *from == '\\' && from[1])
			*to++ = *from++;
		else if (*from == '"')
			is_text = !is_text;
		if (is_text || !strchr(" \n\t", *from))
			*to++ = *from;
	}
	*to = '\0';
	return (size_t)(to - text);
}

static int append(int fd, const char *text, size_t len)
{
	struct stat st;
	char last = '\n';
	ssize_t done;

	/* Whoever else appends does so in a line before or after; a line that was cut by a full disk stays one, and ours another. */
	if (flock(fd, LOCK_EX) < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EPERM;
	if (st.st_size == 0)
		result_give_to_caller(fd);
	else if (pread(fd, &last, 1, st.st_size - 1) != 1)
		return -EIO;
	if (last != '\n' && write(fd, "\n", 1) != 1)
		return -errno;
	done = write(fd, text, len);
	if (done >= 0 && (size_t)done == len)
		return fsync(fd) < 0 && errno != EINVAL ? -errno : 0;
	(void)!ftruncate(fd, st.st_size); /* half a line is worth nothing; the lock is ours */
	return done < 0 ? -errno : -ENOSPC;
}

int result_append(const struct result *res, const char *path, struct err *err)
{
	cleanup_free char *text = result_to_json(res);
	cleanup_close int fd = -1;
	size_t len;
	int r;

	if (!text)
		return err_set(err, -ENOMEM, "There is not enough memory to save the result to %s.", path);
	len = make_one_line(text);
	text[len++] = '\n'; /* in place of the NUL, or of what was left out */
	fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0666);
	if (fd < 0)
		return save_error(err, -errno, path, "opening it");
	r = append(fd, text, len);
	return r ? save_error(err, r, path, "appending") : 0;
}
