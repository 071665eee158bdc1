/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/groups.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/units.h"
#include "session/internal.h"

static FILE *open_of(const struct group_home *h, const char *file)
{
	char path[PATH_MAX + 64];

	(void)snprintf(path, sizeof(path), "%s/%s", h->folder, file);
	return fopen(path, "re");
}

bool groups_names(const char *path, const char *controller)
{
	cleanup_fclose FILE *f = fopen(path, "re");
	char line[512] = "";

	if (f && fgets(line, sizeof(line), f))
		line[strcspn(line, "\n")] = '\0';
	return str_is_one_of(controller, line);
}

static bool offers(const char *mount, const char *controller)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/cgroup.controllers", mount);
	return groups_names(path, controller);
}

/* Version 1 with the controller among its options, or version 2 that offers it. */
static bool find_mount(const char *root, const char *v1, const char *v2, struct group_home *ret)
{
	cleanup_fclose FILE *f = machine_open(root, "/proc/self/mounts");
	char line[4096];
	struct mntent m;

	while (f && getmntent_r(f, &m, line, sizeof(line))) {
		(void)snprintf(ret->mount, sizeof(ret->mount), "%.1000s%.1023s", strcmp(root, "/") == 0 ? "" : root,
		               m.mnt_dir);
		if (strcmp(m.mnt_type, "cgroup") == 0 && hasmntopt(&m, v1))
			ret->version = 1;
		else if (strcmp(m.mnt_type, "cgroup2") == 0 && offers(ret->mount, v2))
			ret->version = 2;
		else
			continue;
		return true;
	}
	return false;
}

/*
 * The folder, from /proc/self/cgroup: "4:memory:/a/b" or "0::/a/b". In a container the mount may begin further down
 * than the path does; then the process is at the mount's own top.
 */
int groups_home(const char *root, const char *v1, const char *v2, struct group_home *ret)
{
	cleanup_fclose FILE *f = machine_open(root, "/proc/self/cgroup");
	char line[4096];

	if (!f || !find_mount(root, v1, v2, ret))
		return -ENOENT;
	while (fgets(line, sizeof(line), f)) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (ret->version == 1 ? !hasmntopt(&(struct mntent){ .mnt_opts = names + 1 }, v1)
		                      : line[0] != '0' || names[1] != '\0')
			continue;
		(void)snprintf(ret->folder, sizeof(ret->folder), "%s%.2000s", ret->mount,
		               strcmp(path, "/") == 0 ? "" : path);
		if (access(ret->folder, F_OK) < 0)
			(void)snprintf(ret->folder, sizeof(ret->folder), "%s", ret->mount);
		return 0;
	}
	return -ENOENT;
}

bool groups_up(struct group_home *h)
{
	char *slash = strrchr(h->folder, '/');

	if (!slash || strlen(h->folder) <= strlen(h->mount))
		return false;
	*slash = '\0';
	return true;
}

/* ---- what they limit ---- */

/* As version 1 has a file for each, and version 2 a word of io.max. */
static const struct limit {
	const char *v1, *v2, *does;
	bool is_bytes, is_write;
} limits[] = {
	{ "blkio.throttle.read_bps_device", "rbps", "reads", true, false },
	{ "blkio.throttle.read_iops_device", "riops", "reads", false, false },
	{ "blkio.throttle.write_bps_device", "wbps", "writes", true, true },
	{ "blkio.throttle.write_iops_device", "wiops", "writes", false, true },
};

/* The number behind "8:0 " or behind "word=" of that line; UINT64_MAX: none. */
static uint64_t rate_of(FILE *f, dev_t rdev, const char *word)
{
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		unsigned maj, min;
		int used = 0;
		const char *at;
		uint64_t n;

		if (sscanf(line, "%u:%u %n", &maj, &min, &used) < 2 || !used || makedev(maj, min) != rdev)
			continue;
		at = word ? strstr(line + used, word) : line + used;
		if (at && word)
			at += strlen(word) + 1; /* '=' */
		if (at && sscanf(at, "%" SCNu64, &n) == 1)
			return n;
	}
	return UINT64_MAX;
}

static void report_rate(const struct session *ses, const struct device *dev, const struct limit *l, uint64_t most,
                        const char *where)
{
	char text[64];

	if (l->is_bytes)
		(void)units_rate(text, sizeof(text), (double)most);
	else
		(void)snprintf(text, sizeof(text), "%" PRIu64 " requests/s", most);
	result_notice(
		ses->res, "limited",
		"A control group limits this process: it %s at most %s of %s (%s). That is measured, not the disk; "
		"run platter outside of it.",
		l->does, text, dev->disk[0] ? dev->disk : dev->path, where);
}

/* The least of what this group and those around it allow. */
static void look_at_rate(const struct session *ses, const struct device *dev, const struct limit *l,
                         struct group_home h)
{
	const char *file = h.version == 1 ? l->v1 : "io.max", *word = h.version == 1 ? NULL : l->v2;
	uint64_t most = UINT64_MAX;
	char where[PATH_MAX + 64] = "";

	do {
		cleanup_fclose FILE *f = open_of(&h, file);
		uint64_t n = rate_of(f, dev->disk_rdev ? dev->disk_rdev : dev->rdev, word);

		if (n < most)
			(void)snprintf(where, sizeof(where), "%s/%s", h.folder, file);
		most = n < most ? n : most;
	} while (groups_up(&h));
	if (most != UINT64_MAX)
		report_rate(ses, dev, l, most, where);
}

/* While a group's target is missed, the kernel holds requests of the groups beside it back (version 2). */
static void look_at_latencies(const struct session *ses, const struct device *dev, struct group_home h)
{
	char own[sizeof(h.folder) + 16], each[sizeof(h.folder) + 16];
	glob_t found;

	for (;;) {
		(void)snprintf(own, sizeof(own), "%s/io.latency", h.folder);
		if (!groups_up(&h))
			return;
		(void)snprintf(each, sizeof(each), "%s/*/io.latency", h.folder);
		if (glob(each, GLOB_NOESCAPE, NULL, &found) != 0)
			found.gl_pathc = 0;
		for (size_t i = 0; i < found.gl_pathc; i++) {
			cleanup_fclose FILE *f = strcmp(found.gl_pathv[i], own) ? fopen(found.gl_pathv[i], "re") : NULL;
			uint64_t us = rate_of(f, dev->disk_rdev ? dev->disk_rdev : dev->rdev, "target");

			if (us != UINT64_MAX)
				result_notice(
					ses->res, "limited",
					"Another control group wants answers of %s within %" PRIu64
					" us (%s): while it waits longer, requests of this process are held back.",
					dev->disk[0] ? dev->disk : dev->path, us, found.gl_pathv[i]);
		}
		if (found.gl_pathc)
			globfree(&found);
	}
}

static void look_at_rates(const struct session *ses, const struct device *dev)
{
	struct group_home own;

	if (groups_home(ses->env->sysroot, "blkio", "io", &own) < 0)
		return;
	look_at_latencies(ses, dev, own);
	for (const struct limit *l = limits; l < limits + ARRAY_LEN(limits); l++)
		if (l->is_write ? ses->plan->write_bytes : ses->plan->read_bytes)
			look_at_rate(ses, dev, l, own);
}

/* "50000 100000" of version 2, two files of version 1; processors, infinity where there is no limit. */
static double processors_of(const struct group_home *h)
{
	cleanup_fclose FILE *f = open_of(h, h->version == 1 ? "cpu.cfs_quota_us" : "cpu.max");
	cleanup_fclose FILE *p = h->version == 1 ? open_of(h, "cpu.cfs_period_us") : NULL;
	double quota, period;

	if (!f || fscanf(f, "%lf", &quota) != 1 || quota <= 0.0 || fscanf(p ? p : f, "%lf", &period) != 1 ||
	    period <= 0.0)
		return (double)INFINITY;
	return quota / period;
}

static void look_at_processors(const struct session *ses)
{
	double least = (double)INFINITY, here = (double)sysconf(_SC_NPROCESSORS_ONLN);
	struct group_home h;

	if (groups_home(ses->env->sysroot, "cpu", "cpu", &h) < 0)
		return;
	do
		least = fmin(least, processors_of(&h));
	while (groups_up(&h));
	if (least < here)
		result_notice(ses->res, "cpu-limit",
		              "A control group gives this process %.2g of %.0f processors; while it waits for them no "
		              "request is sent or seen.",
		              least, here);
}

void groups_report_limits(const struct session *ses)
{
	for (size_t i = 0; i < ses->ndevs; i++)
		look_at_rates(ses, &ses->devs[i]);
	look_at_processors(ses);
}
