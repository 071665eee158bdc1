/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/caller.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/xalloc.h"

#define NAME_ROOM 16384 /* of an entry of passwd(5), with all its texts */

/* Of this thread alone: that of libc is for all of them. */
static int set_groups(const gid_t *groups, size_t n)
{
#ifdef SYS_setgroups32
	return syscall(SYS_setgroups32, n, groups) < 0 ? -errno : 0;
#else
	return syscall(SYS_setgroups, n, groups) < 0 ? -errno : 0;
#endif
}

static bool id_from(const char *variable, uint32_t *ret)
{
	const char *text = getenv(variable);
	uint64_t id;

	if (!text || units_parse_u64(text, &id, NULL) < 0 || id >= UINT32_MAX)
		return false;
	*ret = (uint32_t)id;
	return true;
}

static bool find_caller(uid_t *ret)
{
	return geteuid() == 0 && id_from("SUDO_UID", ret) && *ret != 0;
}

bool caller_is_known(void)
{
	uid_t uid;

	return find_caller(&uid);
}

/* The caller's groups; *gid is the first. From sudo, else from passwd(5), else none. */
static gid_t *groups_of(uid_t uid, gid_t *gid, size_t *ret_n)
{
	cleanup_free char *room = xcalloc(1, NAME_ROOM);
	struct passwd entry, *found = NULL;
	bool has_gid = id_from("SUDO_GID", gid);
	int n = 1, most = 64;
	gid_t *groups;

	(void)getpwuid_r(uid, &entry, room, NAME_ROOM, &found);
	if (!has_gid)
		*gid = found ? found->pw_gid : 65534;
	for (;; most = n > most ? n : 2 * most) {
		groups = xcalloc((size_t)most, sizeof(*groups));
		n = most;
		if (!found || getgrouplist(found->pw_name, *gid, groups, &n) >= 0)
			break;
		free(groups);
	}
	if (!found) {
		groups[0] = *gid;
		n = 1;
	}
	*ret_n = (size_t)n;
	return groups;
}

static bool put_on(uid_t uid, gid_t gid)
{
	(void)setfsgid(gid); /* they return no error: the second call shows whether it worked */
	(void)setfsuid(uid);
	return (uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid;
}

int caller_enter(struct caller *was, struct err *err)
{
	cleanup_free gid_t *groups = NULL;
	size_t n = 0;
	uid_t uid;
	gid_t gid;
	int r;

	*was = (struct caller){ .uid = (uid_t)setfsuid((uid_t)-1), .gid = (gid_t)setfsgid((gid_t)-1) };
	if (!find_caller(&uid))
		return 0;
	groups = groups_of(uid, &gid, &n);
	was->ngroups = (size_t)getgroups(0, NULL);
	was->groups = xcalloc(was->ngroups, sizeof(*was->groups));
	r = getgroups((int)was->ngroups, was->groups) < 0 ? -errno : set_groups(groups, n);
	if (r == 0) {
		was->is_in = true;
		r = put_on(uid, gid) ? 0 : -EPERM;
	}
	if (r == 0)
		return 0;
	if (was->is_in)
		caller_leave(was);
	free(was->groups);
	was->groups = NULL;
	return err_set(err, r, "The rights of user %u, for whom sudo runs this, cannot be taken (%s); unset SUDO_UID.",
	               (unsigned)uid, err_name(r));
}

void caller_leave(struct caller *was)
{
	if (!was->is_in)
		return;
	was->is_in = false;
	/* Who cannot get back must not go on as half of two. */
	if (!put_on(was->uid, was->gid) || set_groups(was->groups, was->ngroups) < 0)
		abort();
	free(was->groups);
	was->groups = NULL;
}
