/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/caller.h"
#include "base/cleanup.h"
#include "base/xalloc.h"

#define PART_BYTES 4096 /* of a file, by which it is known again */

/* ---- whose is it ---- */

/* {"schema": "platter-result", or -progress, with any white space between; of one line, as --jsonl writes, or not. */
static bool is_document(const char *head, bool is_line)
{
	static const char *const parts[] = { "{", "\"schema\"", ":", "\"platter-" };
	bool has_newline = false;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		for (; *head && strchr(" \t\r\n", *head); head++)
			has_newline = has_newline || *head == '\n';
		if (strncmp(head, parts[i], strlen(parts[i])) != 0)
			return false;
		head += strlen(parts[i]);
	}
	return has_newline != is_line;
}

/* A line of the log: "2026-01-31T12:00:00.000000Z platter[". */
static bool is_log(const char *head)
{
	for (const char *line = head;; line++) {
		size_t len = strspn(line, "0123456789-:.TZ");

		if (len >= 20 && strncmp(line + len, " platter[", 9) == 0)
			return true;
		line = strchr(line, '\n');
		if (!line)
			return false;
	}
}

static bool is_ours(const char *head, enum outfile_kind kind)
{
	static const char *const begins[] = {
		[OUTFILE_CSV] = "# table ",
		[OUTFILE_METRICS] = "# TYPE platter_",
		[OUTFILE_REQUESTS] =
			"target,op,offset_bytes,length_bytes,result_bytes,errno,due_ns,submit_ns,done_ns\r\n",
		[OUTFILE_EACH] = "user,class,end_s,think_s,response_s,load,requests,has_fault\n",
		[OUTFILE_MAPFILE] = "# Mapfile of a scan by platter surface\n",
	};

	switch (kind) {
	case OUTFILE_DOCUMENT:
	case OUTFILE_STATE:
	case OUTFILE_LINES:
		return is_document(head, kind == OUTFILE_LINES);
	case OUTFILE_PAGE:
		return (!strncmp(head, "<!DOCTYPE html>", 15) && strstr(head, "<title>platter")) ||
		       (!strncmp(head, "<svg ", 5) && strstr(head, "<!-- platter -->"));
	case OUTFILE_LOG:
		return is_log(head);
	case OUTFILE_NONE:
		return false;
	default:
		return !strncmp(head, begins[kind], strlen(begins[kind]));
	}
}

static bool file_is_ours(int fd, enum outfile_kind kind)
{
	char part[PART_BYTES + 1];
	ssize_t n = pread(fd, part, PART_BYTES, 0);

	if (n <= 0)
		return n == 0;
	part[n] = '\0';
	if (strlen(part) != (size_t)n) /* no file of ours has a NUL */
		return false;
	return is_ours(part, kind);
}

static const char *kind_name(enum outfile_kind kind)
{
	static const char *const names[] = {
		[OUTFILE_NONE] = "file",
		[OUTFILE_DOCUMENT] = "document",
		[OUTFILE_STATE] = "state",
		[OUTFILE_LINES] = "file of documents, one a line",
		[OUTFILE_CSV] = "CSV",
		[OUTFILE_PAGE] = "page",
		[OUTFILE_METRICS] = "file of metrics",
		[OUTFILE_LOG] = "log",
		[OUTFILE_REQUESTS] = "list of requests",
		[OUTFILE_EACH] = "list of transactions",
		[OUTFILE_MAPFILE] = "mapfile",
	};

	return names[kind];
}

/* ---- folders of the kernel's ---- */

/* The type of the file system that has this number: devtmpfs shows the same magic number as any tmpfs. */
static bool is_kernel_mount(dev_t dev)
{
	static const char *const types[] = { "devtmpfs", "devpts",    "proc",       "sysfs",     "cgroup",
		                             "cgroup2",  "debugfs",   "tracefs",    "configfs",  "securityfs",
		                             "bpf",      "efivarfs",  "pstore",     "selinuxfs", "fusectl",
		                             "mqueue",   "hugetlbfs", "binfmt_misc" };
	cleanup_fclose FILE *f = fopen("/proc/self/mountinfo", "re");
	cleanup_free char *line = NULL;
	size_t room = 0;

	while (f && getline(&line, &room, f) > 0) {
		char *type = strstr(line, " - ");
		unsigned major, minor;

		if (!type || sscanf(line, "%*u %*u %u:%u", &major, &minor) != 2 || dev != makedev(major, minor))
			continue;
		type += 3;
		type[strcspn(type, " ")] = '\0';
		for (size_t i = 0; i < ARRAY_LEN(types); i++)
			if (!strcmp(type, types[i]))
				return true;
	}
	return false;
}

static bool is_kernels(int dir)
{
	char link[32], real[4096];
	struct stat st;
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	n = readlink(link, real, sizeof(real) - 1);
	real[n > 0 ? n : 0] = '\0';
	/* In a container it may be an ordinary file system. */
	if (!strncmp(real, "/dev", 4) && (real[4] == '\0' || real[4] == '/') && strncmp(real, "/dev/shm", 8) != 0)
		return true;
	return fstat(dir, &st) == 0 && is_kernel_mount(st.st_dev);
}

/* ---- what is there ---- */

static int refuse_type(const struct outfile *f, const struct stat *st, struct err *err)
{
	mode_t m = st->st_mode;

	if (S_ISDIR(m))
		return err_set(err, -EISDIR, "%s%s is a folder; give a file in it.", f->label, f->path);
	return err_set(err, S_ISLNK(m) ? -ELOOP : -EEXIST,
	               "%s%s is a %s, which is never written over; give a plain file.", f->label, f->path,
	               S_ISLNK(m)   ? "symbolic link"
	               : S_ISBLK(m) ? "block device"
	               : S_ISCHR(m) ? "character device"
	                            : "pipe or socket");
}

static bool grows_at_its_end(const struct outfile *f)
{
	return f->kind == OUTFILE_LOG || f->kind == OUTFILE_LINES;
}

/* Opens the file that exists and fills *ret; -ENOENT: it does not exist, which is fine. */
static int look(const struct outfile *f, struct stat *ret, struct err *err)
{
	int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (grows_at_its_end(f) ? O_APPEND : 0);
	struct stat st;
	int fd;

	if (fstatat(f->dir, f->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? -ENOENT
		                       : err_set(err, -errno, "%s%.200s cannot be used (%s); give another path.",
		                                 f->label, f->path, err_name(errno));
	if (!S_ISREG(st.st_mode))
		return refuse_type(f, &st, err);
	fd = openat(f->dir, f->name, flags);
	if (fd < 0 || fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode)) {
		int code = fd < 0 ? -errno : -EEXIST;

		if (fd >= 0)
			(void)close(fd); /* nothing was written */
		return err_set(err, code, "%s%s cannot be written (%s); give another path.", f->label, f->path,
		               err_name(code));
	}
	if (f->is_forced || (ret->st_nlink == 1 && file_is_ours(fd, f->kind)))
		return fd;
	if (ret->st_nlink > 1)
		(void)err_set(err, -EEXIST,
		              "%s%s has several names; give another path, or --force to write it nevertheless.",
		              f->label, f->path);
	else
		(void)err_set(err, -EEXIST, "%s%s is not a %s of platter; give another path, or --force to %s it.",
		              f->label, f->path, kind_name(f->kind), grows_at_its_end(f) ? "append to" : "replace");
	(void)close(fd); /* nothing was written */
	return -EEXIST;
}

/* ---- a file beside it ---- */

static int save_error(const struct outfile *f, int code, const char *step, struct err *err)
{
	if (code == -ENOSPC || code == -EDQUOT)
		return err_set(err, code,
		               "%s%s cannot be saved: the file system is full (%s); make room or give another path.",
		               f->label, f->path, err_name(code));
	return err_set(err, code, "%s%s cannot be saved: %s failed (%s); give another path.", f->label, f->path, step,
	               err_name(code));
}

/* A file with a new name; mode 0666 less the umask, or 0600 until it gets the mode of the old file. */
static int open_temporary(const struct outfile *f, bool is_new, char *ret_name, size_t len)
{
	for (int tries = 0; tries < 100; tries++) {
		uint64_t random = 0;
		int fd;

		if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return -EIO;
		(void)snprintf(ret_name, len, ".%.200s.%016llx", f->name, (unsigned long long)random);
		fd = openat(f->dir, ret_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		            is_new ? 0666 : 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd >= 0 ? fd : -errno;
	}
	return -EEXIST;
}

/* Attributes and lists of access, as far as they may be set; what a program may do by them is not a result's. */
static void copy_attributes(int old, int fd)
{
	char names[4096], value[4096];
	ssize_t n = flistxattr(old, names, sizeof(names));

	for (char *name = names; n > 0 && name < names + n; name += strlen(name) + 1) {
		ssize_t len = fgetxattr(old, name, value, sizeof(value));

		if (len >= 0 && strcmp(name, "security.capability") != 0)
			(void)fsetxattr(fd, name, value, (size_t)len, 0);
	}
}

/* As the old file, which may be -1: none. */
static int take_after(int fd, int old, const struct stat *st)
{
	struct stat now;

	if (old < 0)
		return 0;
	if (fstat(fd, &now) < 0 ||
	    ((now.st_uid != st->st_uid || now.st_gid != st->st_gid) && fchown(fd, st->st_uid, st->st_gid) < 0))
		return -errno;
	copy_attributes(old, fd);
	return fchmod(fd, st->st_mode & 07777) < 0 ? -errno : 0;
}

/* Can a file be made here, and be like the one that is there? */
static int try(const struct outfile *f, int old, const struct stat *st, struct err *err)
{
	char temporary[240];
	int fd = open_temporary(f, old < 0, temporary, sizeof(temporary)), r;

	if (fd < 0)
		return save_error(f, fd, "making a file in its folder", err);
	r = take_after(fd, old, st);
	(void)close(fd); /* it is empty */
	(void)unlinkat(f->dir, temporary, 0);
	if (r < 0)
		return err_set(err, r, "%s%s belongs to somebody else and cannot stay so (%s); give another path.",
		               f->label, f->path, err_name(r));
	return 0;
}

/* ---- before the run ---- */

static int open_folder(struct outfile *f, struct err *err)
{
	char *slash = strrchr(f->path, '/');
	cleanup_free char *folder =
		xmust(slash ? strndup(f->path, slash == f->path ? 1 : (size_t)(slash - f->path)) : strdup("."));
	struct stat st;

	f->name = slash ? slash + 1 : f->path;
	if (!*f->name || !strcmp(f->name, ".") || !strcmp(f->name, ".."))
		return err_set(err, -EISDIR, "%s'%s' names no file; give a file in it.", f->label, f->path);
	f->dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->dir < 0 && errno == EACCES)
		f->dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC); /* one may write there, but not list it */
	if (f->dir < 0)
		return err_set(err, -errno,
		               "%s%.300s cannot be used: its folder %.300s cannot be opened (%s); make it first.",
		               f->label, f->path, folder, err_name(errno));
	if (!is_kernels(f->dir))
		return 0;
	if (fstatat(f->dir, f->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
		return refuse_type(f, &st, err); /* which says more */
	return err_set(err, -EPERM, "%s%s would lie among device nodes or files of the kernel; give a path elsewhere.",
	               f->label, f->path);
}

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len >= n && strcmp(text + len - n, end) == 0;
}

/* `report -o *.json`: the shell puts the first of the documents there. */
static bool is_named_as_another(const struct outfile *f)
{
	return f->kind != OUTFILE_DOCUMENT && f->kind != OUTFILE_STATE && f->kind != OUTFILE_LINES &&
	       (ends_in(f->path, ".json") || ends_in(f->path, ".jsonl"));
}

static int check(struct outfile *f, struct err *err)
{
	struct stat st = { 0 };
	int r = open_folder(f, err), old;

	if (r < 0)
		return r;
	old = look(f, &st, err);
	if (old < 0 && old != -ENOENT)
		return old;
	if (old < 0 && is_named_as_another(f))
		return err_set(err, -EEXIST, "%s%s has the name of a document, and would be a %s; give another name.",
		               f->label, f->path, kind_name(f->kind));
	if (old < 0 || (!grows_at_its_end(f) && f->kind != OUTFILE_REQUESTS && f->kind != OUTFILE_EACH))
		r = try(f, old, &st, err);
	if (old >= 0)
		(void)close(old); /* nothing was written */
	return r;
}

static void outfile_free(struct outfile *f)
{
	if (f->dir >= 0)
		(void)close(f->dir); /* a folder */
	free(f->option);
	free(f->path);
	free(f);
}

static struct outfile *outfile_new(const char *option, const char *path, enum outfile_kind kind, bool is_forced)
{
	struct outfile *f = xcalloc(1, sizeof(*f));

	f->dir = -1;
	f->kind = kind;
	f->is_forced = is_forced;
	f->path = xmust(strdup(path));
	f->option = option ? xmust(strdup(option)) : NULL;
	if (option)
		(void)snprintf(f->label, sizeof(f->label), "--%s: ", option);
	return f;
}

int outfiles_add(struct outfiles *all, const char *option, const char *path, enum outfile_kind kind, bool is_forced,
                 struct err *err)
{
	struct outfile *f = outfile_new(option, path, kind, is_forced), **end = &all->first;
	struct caller was;
	int r = caller_enter(&was, err);

	if (r == 0) {
		r = check(f, err);
		for (; r == 0 && *end; end = &(*end)->next)
			if (outfile_is(*end, path))
				r = err_set(err, -EINVAL, "%sthe file %s is that of --%s as well; give each its own.",
				            f->label, path, (*end)->option ? (*end)->option : "");
		caller_leave(&was);
	}
	if (r < 0) {
		outfile_free(f);
		return r;
	}
	*end = f;
	return 0;
}

struct outfile *outfiles_find(const struct outfiles *all, const char *path)
{
	struct outfile *f = all ? all->first : NULL;

	while (f && strcmp(f->path, path) != 0)
		f = f->next;
	return f;
}

void outfiles_done(struct outfiles *all)
{
	for (struct outfile *f = all->first, *next; f; f = next) {
		next = f->next;
		outfile_free(f);
	}
	all->first = NULL;
}

static bool is_one(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool outfile_is(const struct outfile *f, const char *path)
{
	const char *slash = strrchr(path, '/');
	cleanup_free char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	struct stat mine, other;

	if (fstatat(f->dir, f->name, &mine, AT_SYMLINK_NOFOLLOW) == 0 && stat(path, &other) == 0 &&
	    is_one(&mine, &other))
		return true;
	return folder && !strcmp(slash ? slash + 1 : path, f->name) && fstat(f->dir, &mine) == 0 &&
	       stat(folder, &other) == 0 && is_one(&mine, &other);
}

bool outfile_is_in(const struct outfile *f, const char *folder)
{
	struct stat mine, other;

	return faccessat(f->dir, f->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 && fstat(f->dir, &mine) == 0 &&
	       stat(folder, &other) == 0 && is_one(&mine, &other);
}

/* ---- writing ---- */

/* Fills the new file by write() and makes it safe. fd is closed. */
static int fill(int fd, int (*write)(FILE *out, void *arg), void *arg)
{
	FILE *out = fdopen(fd, "w");
	int r;

	if (!out) {
		(void)close(fd); /* empty */
		return -ENOMEM;
	}
	errno = 0;
	r = write(out, arg);
	if (r == -EIO && errno) /* the stream failed earlier: the first failure is the cause */
		r = -errno;
	if ((fflush(out) != 0 || ferror(out)) && r >= 0)
		r = errno ? -errno : -EIO;
	if (r >= 0 && fsync(fd) < 0 && errno != EINVAL) /* EINVAL: a file system that knows none */
		r = -errno;
	if (fclose(out) != 0 && r >= 0)
		r = -errno;
	return r < 0 ? r : 0;
}

static int replace(struct outfile *f, int (*write)(FILE *out, void *arg), void *arg, struct err *err)
{
	const char *step = "making a temporary file beside it";
	cleanup_close int old = -1;
	char temporary[240];
	struct stat st = { 0 };
	int fd, r;

	old = look(f, &st, err); /* this file is there now, whatever was there when the run began */
	if (old < 0 && old != -ENOENT)
		return old;
	fd = open_temporary(f, old < 0, temporary, sizeof(temporary));
	if (fd < 0)
		return save_error(f, fd, step, err);
	step = "keeping its owner";
	r = take_after(fd, old, &st);
	if (r == 0) {
		step = "writing";
		r = fill(fd, write, arg);
	} else {
		(void)close(fd); /* empty */
	}
	if (r == 0 && renameat(f->dir, temporary, f->dir, f->name) < 0) {
		step = "renaming the finished file";
		r = -errno;
	}
	if (r) {
		(void)unlinkat(f->dir, temporary, 0);
		return save_error(f, r, step, err);
	}
	(void)fsync(f->dir); /* the name; the text is safe already */
	return 0;
}

int outfile_save(struct outfile *f, int (*write)(FILE *out, void *arg), void *arg, struct err *err)
{
	struct caller was;
	int r = caller_enter(&was, err) ?: replace(f, write, arg, err);

	caller_leave(&was);
	return f->trouble = r;
}

static int open_growing(struct outfile *f, struct err *err)
{
	struct stat st;
	int fd = look(f, &st, err);

	if (fd == -ENOENT) {
		fd = openat(f->dir, f->name,
		            O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | (grows_at_its_end(f) ? O_APPEND : 0),
		            0666);
		return fd >= 0 ? fd : save_error(f, -errno, "making it", err);
	}
	if (fd >= 0 && !grows_at_its_end(f) && ftruncate(fd, 0) < 0) {
		int code = -errno;

		(void)close(fd); /* nothing was written */
		return save_error(f, code, "emptying it", err);
	}
	return fd;
}

int outfile_grow(struct outfile *f, struct err *err)
{
	struct caller was;
	int fd = caller_enter(&was, err) ?: open_growing(f, err);

	caller_leave(&was);
	return fd;
}

static int append(int fd, const char *text, size_t len)
{
	struct stat st;
	char last = '\n';
	ssize_t done;

	/* Others append before or after our line. A line that a full disk cut stays cut; ours begins a new one. */
	if (flock(fd, LOCK_EX) < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) != 1)
		return -EIO;
	if (last != '\n' && write(fd, "\n", 1) != 1)
		return -errno;
	done = write(fd, text, len);
	if (done >= 0 && (size_t)done == len)
		return fsync(fd) < 0 && errno != EINVAL ? -errno : 0;
	(void)!ftruncate(fd, st.st_size); /* half a line is worth nothing; the lock is ours */
	return done < 0 ? -errno : -ENOSPC;
}

int outfile_append(struct outfile *f, const char *text, size_t len, struct err *err)
{
	cleanup_close int fd = outfile_grow(f, err);
	int r = fd < 0 ? fd : append(fd, text, len);

	if (fd >= 0 && r < 0)
		(void)save_error(f, r, "appending", err);
	return f->trouble = r;
}
