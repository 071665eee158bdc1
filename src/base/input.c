/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/caller.h"
#include "base/cleanup.h"
#include "base/xalloc.h"

static const char *kind_name(mode_t mode)
{
	return S_ISDIR(mode) ? "directory" : S_ISFIFO(mode) ? "pipe" : S_ISSOCK(mode) ? "socket" : "device";
}

/*
 * Without O_NONBLOCK opening a pipe waits for who writes into it, and some files of the kernel are never read to their
 * end.
 */
static int open_input(const char *path, struct err *err)
{
	struct stat st;
	int fd;

	if (!strcmp(path, "-")) {
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
		return fd >= 0 ? fd : err_set(err, -errno, "there is no standard input; give a file.");
	}
	if (stat(path, &st) < 0) /* before it is opened: some devices act on that alone */
		return err_set(err, -errno, "it cannot be opened (%s).", strerror(errno));
	fd = S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
	if (S_ISREG(st.st_mode) && (fd < 0 || fstat(fd, &st) < 0)) {
		int code = -errno;

		if (fd >= 0)
			(void)close(fd);
		return err_set(err, code, "it cannot be opened (%s).", strerror(-code));
	}
	if (S_ISREG(st.st_mode))
		return fd;
	if (fd >= 0) /* another one since */
		(void)close(fd);
	return err_set(err, -EINVAL, "this is a %s, not a file; give a file%s.", kind_name(st.st_mode),
	               S_ISFIFO(st.st_mode) ? ", or - and put into standard input what the pipe has" : "");
}

static int open_as_caller(const char *path, struct err *err)
{
	struct caller was;
	int fd = caller_enter(&was, err) ?: open_input(path, err);

	caller_leave(&was);
	return fd;
}

int input_read(char **ret_text, size_t *ret_len, const char *path, size_t most, struct err *err)
{
	cleanup_close int fd = open_as_caller(path, err);
	cleanup_free char *text = NULL;
	size_t n = 0, room = 0;

	for (ssize_t got = 1; fd >= 0 && got != 0; n += got > 0 ? (size_t)got : 0) {
		if (n + 1 >= room)
			text = xgrow(text, room = room ? room * 2 : 65536, 1);
		got = read(fd, text + n, room - n - 1);
		if (got < 0 && errno != EINTR)
			return err_set(err, -errno, "it cannot be read (%s); give a file that holds all of its text.",
			               strerror(errno));
		if (got > 0 && n + (size_t)got > most)
			return err_set(err, -EFBIG,
			               "it is larger than such a file can be (%zu MiB); give the right one.",
			               most >> 20);
	}
	if (fd < 0)
		return fd;
	text[n] = '\0';
	*ret_text = text;
	*ret_len = n;
	text = NULL;
	return 0;
}
