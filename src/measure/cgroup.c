/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Page cache is charged to the group that first touches a page, so a file made inside the group lives within its limit. In version 2 a group with
 * processes may not have controllers for its children, so ours is made below the root of the hierarchy.
 */
#include "measure/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

struct cgroup {
	int version;
	char group[PATH_MAX]; /* our own folder */
	char home[PATH_MAX];  /* cgroup.procs of where the process was */
};

struct hierarchy {
	int version;
	char mount[PATH_MAX / 2];
};

static int write_text(const char *folder, const char *file, const char *text)
{
	char path[PATH_MAX + 64];
	cleanup_close int fd = -1;

	(void)snprintf(path, sizeof(path), "%s%s%s", folder, file[0] ? "/" : "", file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static bool has_word(const char *list, const char *word, const char *separators)
{
	size_t len = strlen(word);

	for (const char *p = list; (p = strstr(p, word)); p += len)
		if ((p == list || strchr(separators, p[-1])) && (p[len] == '\0' || strchr(separators, p[len])))
			return true;
	return false;
}

static bool offers_memory(const char *mount)
{
	char path[PATH_MAX], line[512] = "";
	cleanup_fclose FILE *f = NULL;

	(void)snprintf(path, sizeof(path), "%s/cgroup.controllers", mount);
	f = fopen(path, "re");
	return f && fgets(line, sizeof(line), f) && has_word(line, "memory", " \n");
}

/* Where the memory controller is mounted: version 1 with "memory" among its options, or version 2 that offers it. */
static int find_hierarchy(struct hierarchy *ret)
{
	cleanup_fclose FILE *f = fopen("/proc/self/mounts", "re");
	char line[4096];

	while (f && fgets(line, sizeof(line), f)) {
		char where[PATH_MAX / 2], type[32], options[1024];

		if (sscanf(line, "%*s %2047s %31s %1023s", where, type, options) != 3)
			continue;
		if (strcmp(type, "cgroup") == 0 && has_word(options, "memory", ","))
			ret->version = 1;
		else if (strcmp(type, "cgroup2") == 0 && offers_memory(where))
			ret->version = 2;
		else
			continue;
		(void)snprintf(ret->mount, sizeof(ret->mount), "%s", where);
		return 0;
	}
	return -ENOENT;
}

/* The path of this process inside the hierarchy, from /proc/self/cgroup: "4:memory:/a/b" or "0::/a/b". */
static int find_home(const struct hierarchy *h, char *buf, size_t len)
{
	cleanup_fclose FILE *f = fopen("/proc/self/cgroup", "re");
	char line[4096];

	while (f && fgets(line, sizeof(line), f)) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (h->version == 1 ? has_word(names + 1, "memory", ",") : line[0] == '0' && names[1] == '\0') {
			(void)snprintf(buf, len, "%s%s", h->mount, path);
			return 0;
		}
	}
	return -ENOENT;
}

static int set_limit(const struct cgroup *cg, uint64_t bytes)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64, bytes);
	if (cg->version == 1)
		return write_text(cg->group, "memory.limit_in_bytes", text);
	(void)write_text(cg->group, "memory.swap.max", "0"); /* absent without swap */
	return write_text(cg->group, "memory.max", text);
}

int cgroup_enter(struct cgroup **ret, uint64_t memory_bytes, struct err *err)
{
	cleanup_free struct cgroup *cg = calloc(1, sizeof(*cg));
	struct hierarchy h = { 0 };
	char pid[32];
	int r;

	if (!cg)
		return err_set(err, -ENOMEM, "Out of memory.");
	if (find_hierarchy(&h) < 0 || find_home(&h, cg->home, sizeof(cg->home)) < 0)
		return err_set(err, -ENOENT,
		               "No memory cgroup is mounted here, so --memory cannot limit the page cache.");
	cg->version = h.version;
	(void)snprintf(cg->group, sizeof(cg->group), "%s/platter-%d", h.mount, (int)getpid());
	if (h.version == 2)
		(void)write_text(h.mount, "cgroup.subtree_control",
		                 "+memory"); /* may be there already; the limit tells */
	if (mkdir(cg->group, 0755) < 0)
		return err_set(err, -errno, "The cgroup %s could not be made (%s); run as root.", cg->group,
		               err_name(errno));
	r = set_limit(cg, memory_bytes);
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (r == 0)
		r = write_text(cg->group, "cgroup.procs", pid);
	if (r < 0) {
		(void)rmdir(cg->group); /* nobody is in it */
		return err_set(err, r, "The cgroup %s could not be used (%s).", cg->group, err_name(r));
	}
	*ret = cg;
	cg = NULL;
	return 0;
}

void cgroup_leave(struct cgroup *cg)
{
	char pid[32];

	if (!cg)
		return;
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	(void)write_text(cg->home, "cgroup.procs", pid); /* if this fails the group stays; the next line fails too */
	for (int tries = 0; tries < 50 && rmdir(cg->group) < 0 && errno == EBUSY; tries++)
		(void)usleep(20000); /* charges of pages under write-back go away in a moment */
	free(cg);
}

int cgroup_version(const struct cgroup *cg)
{
	return cg ? cg->version : 0;
}

uint64_t cgroup_memory_limit(void)
{
	struct hierarchy h = { 0 };
	char home[PATH_MAX], path[PATH_MAX + 64], line[64];
	cleanup_fclose FILE *f = NULL;
	uint64_t limit;

	if (find_hierarchy(&h) < 0 || find_home(&h, home, sizeof(home)) < 0)
		return UINT64_MAX;
	(void)snprintf(path, sizeof(path), "%s/%s", home, h.version == 1 ? "memory.limit_in_bytes" : "memory.max");
	f = fopen(path, "re");
	if (!f || !fgets(line, sizeof(line), f) || sscanf(line, "%" SCNu64, &limit) != 1 || limit > (1ull << 60))
		return UINT64_MAX; /* "max", or version 1's way of saying so */
	return limit;
}
