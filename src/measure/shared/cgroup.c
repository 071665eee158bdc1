/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Page cache is charged to the group that first touches a page, so a file made inside the group lives within its limit.
 * In version 2 a group with processes may not have controllers for its children, so ours is made below the root of the
 * hierarchy.
 */
#include "measure/shared/cgroup.h"
#include "base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "session/groups.h"

struct cgroup {
	struct cgroup_plan plan;
	bool was_off; /* the controller was, for the groups below, before us */
};

static int write_text(const char *path, const char *text)
{
	cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static void add_step(struct cgroup_plan *plan, const char *folder, const char *file, const char *text, bool may_fail)
{
	struct cgroup_step *step = &plan->steps[plan->nsteps++];

	(void)snprintf(step->path, sizeof(step->path), "%.4000s/%s", folder, file);
	(void)snprintf(step->text, sizeof(step->text), "%s", text);
	step->may_fail = may_fail;
}

int cgroup_plan(struct cgroup_plan *ret, const char *root, uint64_t memory_bytes, struct err *err)
{
	struct group_home h;
	char limit[32], pid[32];

	memset(ret, 0, sizeof(*ret));
	if (groups_home(root, "memory", "memory", &h) < 0)
		return err_set(
			err, -ENOENT,
			"No memory cgroup is mounted here, so --memory cannot limit the page cache; leave it out, or mount one.");
	(void)snprintf(ret->home, sizeof(ret->home), "%s", h.folder);
	(void)snprintf(ret->mount, sizeof(ret->mount), "%s", h.mount);
	(void)snprintf(limit, sizeof(limit), "%" PRIu64, memory_bytes);
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	ret->version = h.version;
	(void)snprintf(ret->group, sizeof(ret->group), "%s/platter-%s", h.mount, pid);
	if (h.version == 2) /* may be there already, or be refused: the limit shows that */
		add_step(ret, h.mount, "cgroup.subtree_control", "+memory", true);
	ret->before = ret->nsteps;
	if (h.version == 2)
		add_step(ret, ret->group, "memory.swap.max", "0", true); /* absent without swap */
	add_step(ret, ret->group, h.version == 1 ? "memory.limit_in_bytes" : "memory.max", limit, false);
	add_step(ret, ret->group, "cgroup.procs", pid, false);
	return 0;
}

static int do_steps(const struct cgroup_plan *plan, unsigned from, unsigned end)
{
	int r = 0;

	for (unsigned i = from; i < end && r == 0; i++) {
		r = write_text(plan->steps[i].path, plan->steps[i].text);
		if (plan->steps[i].may_fail)
			r = 0;
	}
	return r;
}

/* Groups of runs that were killed: their process has ended, so nobody is in them. Are there others? */
static bool remove_killed(const char *mount)
{
	bool is_any = false;
	char pattern[PATH_MAX + 16];
	glob_t found;

	(void)snprintf(pattern, sizeof(pattern), "%s/platter-[0-9]*", mount);
	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		return false;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		long pid = strtol(strrchr(found.gl_pathv[i], '-') + 1, NULL, 10);
		bool is_over = pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH;

		/* refused when somebody is in it after all */
		is_any = !is_over || rmdir(found.gl_pathv[i]) < 0 || is_any;
	}
	globfree(&found);
	return is_any;
}

/* Off again as we found it, unless another run has a group there, which would lose its limit. */
static void switch_off(const struct cgroup *cg)
{
	if (cg->was_off && !remove_killed(cg->plan.mount))
		(void)write_text(cg->plan.steps[0].path, "-memory"); /* refused: somebody else uses it by now */
}

int cgroup_enter(struct cgroup **ret, const char *root, uint64_t memory_bytes, struct err *err)
{
	cleanup_free struct cgroup *cg = xcalloc(1, sizeof(*cg));
	int r;

	r = cgroup_plan(&cg->plan, root, memory_bytes, err);
	if (r < 0)
		return r;
	(void)remove_killed(cg->plan.mount);
	cg->was_off = cg->plan.before > 0 && !groups_names(cg->plan.steps[0].path, "memory");
	(void)do_steps(&cg->plan, 0, cg->plan.before);
	if (mkdir(cg->plan.group, 0755) < 0)
		return err_set(err, -errno, "The cgroup %.500s could not be made (%s); run as root.", cg->plan.group,
		               err_name(errno));
	r = do_steps(&cg->plan, cg->plan.before, cg->plan.nsteps);
	if (r < 0) {
		(void)rmdir(cg->plan.group); /* nobody is in it */
		switch_off(cg);
		return err_set(err, r, "The cgroup %.500s could not be used (%s).", cg->plan.group, err_name(r));
	}
	*ret = cg;
	cg = NULL;
	return 0;
}

void cgroup_leave(struct cgroup *cg)
{
	char path[PATH_MAX + 16], pid[32];

	if (!cg)
		return;
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", cg->plan.home);
	(void)write_text(path, pid); /* if this fails the group stays; the next line fails too */
	for (int tries = 0; tries < 50 && rmdir(cg->plan.group) < 0 && errno == EBUSY; tries++)
		clock_pause(20 * NS_PER_MS); /* charges of pages under write-back go away in a moment */
	switch_off(cg);
	free(cg);
}

int cgroup_version(const struct cgroup *cg)
{
	return cg ? cg->plan.version : 0;
}

/* The number alone on the first line of a file of the group, or behind a word at the start of a line. UINT64_MAX: there
 * is none. */
static uint64_t number_of(const char *folder, const char *file, const char *word)
{
	char path[PATH_MAX + 32], line[128];
	cleanup_fclose FILE *f = NULL;
	size_t len = strlen(word);
	uint64_t value;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, file);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, word, len) == 0 && sscanf(line + len, "%" SCNu64, &value) == 1)
			return value;
	return UINT64_MAX;
}

/* UINT64_MAX: none, "max", or version 1's way of saying so. */
static uint64_t limit_of(const char *folder, int version)
{
	uint64_t limit = number_of(folder, version == 1 ? "memory.limit_in_bytes" : "memory.max", "");

	return limit > (1ull << 60) ? UINT64_MAX : limit;
}

uint64_t cgroup_file_room(const struct cgroup_plan *plan)
{
	uint64_t limit = limit_of(plan->group, plan->version);
	uint64_t used = number_of(plan->group, plan->version == 1 ? "memory.usage_in_bytes" : "memory.current", "");
	uint64_t file = number_of(plan->group, "memory.stat", plan->version == 1 ? "cache " : "file ");
	uint64_t other;

	if (limit == UINT64_MAX || used == UINT64_MAX || file == UINT64_MAX)
		return 0;
	other = used > file ? used - file : 0; /* the two are not read at one moment */
	return limit > other ? limit - other : 0;
}

uint64_t cgroup_room(const struct cgroup *cg)
{
	return cg ? cgroup_file_room(&cg->plan) : 0;
}

uint64_t cgroup_memory_limit(const char *root)
{
	struct group_home h;
	uint64_t least = UINT64_MAX;

	if (groups_home(root, "memory", "memory", &h) < 0)
		return UINT64_MAX;
	do { /* a limit further up binds as well */
		uint64_t limit = limit_of(h.folder, h.version);

		least = limit < least ? limit : least;
	} while (groups_up(&h));
	return least;
}

uint64_t cgroup_available_memory(void)
{
	uint64_t kib = number_of("/proc", "meminfo", "MemAvailable:"), limit = cgroup_memory_limit("/");

	return kib < limit / 1024 ? kib * 1024 : limit;
}
