/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Under sudo, files that a command line names are read and written with the rights of who called it: what root's
 * folders hold stays root's. Devices, journals and notes of switches are root's own. The identity can only be lowered
 * by what the environment says.
 */
#ifndef PLATTER_BASE_CALLER_H
#define PLATTER_BASE_CALLER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* What this thread was before. */
struct caller {
	uid_t uid;
	gid_t gid, *groups;
	size_t ngroups;
	bool is_in;
};

/* Root for somebody else (SUDO_UID)? Then caller_enter() wants CAP_SETUID and CAP_SETGID. */
bool caller_is_known(void);
/*
 * From here to caller_leave() this thread has the caller's rights to files. Without a caller: 0, and nothing changes.
 */
int caller_enter(struct caller *was, struct err *err);
void caller_leave(struct caller *was);

#endif
