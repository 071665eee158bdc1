/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control groups that this process is in, of both versions, and what they limit. */
#pragma once

#include <limits.h>
#include <stdbool.h>

struct session;

/* Where a controller is mounted, and the folder of this process below it. */
struct group_home {
	int version; /* 1 or 2 */
	char mount[PATH_MAX / 2], folder[PATH_MAX];
};
/* root: "/" but in tests; name of the controller in version 1 and 2. 0 or -ENOENT. */
int groups_home(const char *root, const char *v1, const char *v2, struct group_home *ret);
/* Does a file of controllers, such as cgroup.controllers, name this one? */
bool groups_names(const char *path, const char *controller);
/* From the process's own folder to the mount itself: each binds. False: that was the last. */
bool groups_up(struct group_home *h);

/* Limits of rate, memory and processors that are in force for the targets of a run: a notice each, with its number. */
void groups_report_limits(const struct session *ses);
