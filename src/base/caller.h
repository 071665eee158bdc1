/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Under sudo, files on the command line are read and written with the caller's rights: what root's folders hold stays
 * root's. Devices, journals and notes of switches are root's own. The environment can only lower the identity.
 */
#pragma once

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

/* Root for another user (SUDO_UID)? Then caller_enter() needs CAP_SETUID and CAP_SETGID. */
bool caller_is_known(void);
/* From here to caller_leave() this thread has the caller's rights to files. Without a caller: 0, nothing changes. */
int caller_enter(struct caller *was, struct err *err);
void caller_leave(struct caller *was);
