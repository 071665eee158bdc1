/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rundir.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define CLAIM_TRIES 20

bool rundir_is_name(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > RUNDIR_NAME_MAX || name[0] == '.')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
			return false;
	return true;
}

/* Whether the locked descriptor is still what the name stands for: another process may have removed it before we had
 * the lock. */
static bool is_same_file(const char *path, int fd)
{
	struct stat by_name, by_fd;

	return stat(path, &by_name) == 0 && fstat(fd, &by_fd) == 0 && by_name.st_ino == by_fd.st_ino &&
	       by_name.st_dev == by_fd.st_dev;
}

int rundir_claim(const char *dir, const char *name, struct err *err)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (int i = 0; i < CLAIM_TRIES; i++) {
		int fd;

		if (mkdir(dir, 0755) && errno != EEXIST)
			return err_set(err, -errno, "Cannot make the run folder %s: %s.", dir, strerror(errno));
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
		if (fd < 0 && errno != ENOENT) /* ENOENT: the folder went with the last disk just now */
			return err_set(err, -errno, "Cannot create %s: %s.", path, strerror(errno));
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && is_same_file(path, fd)) {
			if (ftruncate(fd, 0) == 0) /* of a dead one */
				return fd;
			(void)close(fd);
			return err_set(err, -EIO, "Cannot empty %s.", path);
		}
		if (fd >= 0)
			(void)close(fd);
		(void)usleep(2000); /* somebody who only looks holds the lock for a moment */
	}
	return err_set(
		err, -EEXIST,
		"A simulated disk named %s is running; stop it (platter-simdisk stop %s) or choose another --name.",
		name, name);
}

int rundir_publish(int fd, const struct rundir_entry *e)
{
	char text[1024];
	int n = snprintf(text, sizeof(text),
	                 "keeper %" PRId64 "\nserver %" PRId64 "\nmemfd %" PRId64 "\ndevice %s\npartitions %" PRIu64
	                 "\nsize_bytes %" PRIu64 "\nprofile %s\n",
	                 e->keeper, e->server, e->memfd, e->device, e->partitions, e->size_bytes, e->profile);

	return pwrite(fd, text, (size_t)n, 0) == n ? 0 : -EIO;
}

void rundir_release(const char *dir, const char *name, int fd)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (is_same_file(path, fd))
		(void)unlink(path);
	(void)close(fd);
	if (strcmp(dir, RUNDIR_DEFAULT) == 0)
		(void)rmdir(dir); /* the last one takes the folder along; one that the user named stays */
}

static void parse_line(char *line, struct rundir_entry *ret)
{
	struct {
		const char *key;
		int64_t *number;
		char *text;
		size_t room;
	} const keys[] = {
		{ "keeper", &ret->keeper, NULL, 0 },
		{ "server", &ret->server, NULL, 0 },
		{ "memfd", &ret->memfd, NULL, 0 },
		{ "device", NULL, ret->device, sizeof(ret->device) },
		{ "partitions", (int64_t *)&ret->partitions, NULL, 0 },
		{ "size_bytes", (int64_t *)&ret->size_bytes, NULL, 0 },
		{ "profile", NULL, ret->profile, sizeof(ret->profile) },
	};
	char *value = strchr(line, ' ');

	if (!value)
		return;
	*value++ = '\0';
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (strcmp(line, keys[i].key) != 0)
			continue;
		if (keys[i].number)
			*keys[i].number = strtoll(value, NULL, 10);
		else
			(void)snprintf(keys[i].text, keys[i].room, "%s", value);
	}
}

/* 0, -ENOENT (none, or a dead one, which is removed), or another negative errno. */
static int read_entry(const char *dir, const char *name, struct rundir_entry *ret)
{
	char path[PATH_MAX], text[1024], *rest = text, *line;
	cleanup_close int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		if (is_same_file(path, fd))
			(void)unlink(path);
		return -ENOENT;
	}
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	*ret = (struct rundir_entry){ 0 };
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	while ((line = strsep(&rest, "\n")))
		parse_line(line, ret);
	return 0;
}

int rundir_find(const char *dir, const char *name, struct rundir_entry *ret, struct err *err)
{
	int r = rundir_is_name(name) ? read_entry(dir, name, ret) : -ENOENT;

	if (r == -ENOENT)
		return err_set(err, r, "There is no simulated disk named %s; see platter-simdisk list.", name);
	return r < 0 ? err_set(err, r, "Cannot read %s/%s: %s.", dir, name, strerror(-r)) : 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct rundir_entry *)a)->name, ((const struct rundir_entry *)b)->name);
}

int rundir_list(const char *dir, struct rundir_entry **ret, size_t *ret_n, struct err *err)
{
	DIR *d = opendir(dir);
	struct rundir_entry *all = NULL;
	size_t n = 0;
	int r = 0;

	if (!d && errno != ENOENT)
		return err_set(err, -errno, "Cannot read the run folder %s: %s.", dir, strerror(errno));
	for (const struct dirent *ent; d && (ent = readdir(d));) {
		struct rundir_entry *more;

		if (!rundir_is_name(ent->d_name))
			continue;
		more = realloc(all, (n + 1) * sizeof(*all));
		if (!more) {
			r = err_set(err, -ENOMEM, "Out of memory.");
			break;
		}
		all = more;
		if (read_entry(dir, ent->d_name, &all[n]) == 0)
			n++;
	}
	if (d)
		(void)closedir(d);
	if (r < 0) {
		free(all);
		return r;
	}
	if (n)
		qsort(all, n, sizeof(*all), by_name);
	*ret = all;
	*ret_n = n;
	return 0;
}
