/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Only root may open disks, ask for real time and look who uses a device. All this is done before the first request; a
 * run of hours needs none of it, so a fault in it shall not be able to mount, load, trace or open raw memory.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/caller.h"
#include "session/internal.h"

/*
 * What stays: results and files of the measurement go into folders of others and are theirs (CHOWN, DAC_OVERRIDE;
 * FOWNER, without which mincore() reports nothing of files of others); rings and registered buffers are locked memory
 * (IPC_LOCK). Under sudo the caller's identity is taken for each output (base/caller.h; SETUID, SETGID).
 */
#define KEPT       (1ull << CAP_CHOWN | 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_FOWNER | 1ull << CAP_IPC_LOCK)
#define FOR_CALLER (1ull << CAP_SETUID | 1ull << CAP_SETGID)

int privileges_drop(struct err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const uint64_t kept = KEPT | (caller_is_known() ? FOR_CALLER : 0);
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	memset(caps, 0, sizeof(caps));
	if (syscall(SYS_capget, &head, caps) < 0)
		return err_set(err, -errno, "Privileges could not be read (%s); the run keeps all of them.",
		               err_name(errno));
	/* What is not in the bounding set does not come back by executing. Wants CAP_SETPCAP, so it is first. */
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (!(kept >> cap & 1))
			(void)prctl(PR_CAPBSET_DROP, cap, 0, 0,
			            0); /* an ordinary user may not, and has nothing to lose */
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		caps[i].permitted &= (uint32_t)(kept >> (32 * i));
		caps[i].effective = caps[i].permitted;
		caps[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &head, caps) < 0)
		return err_set(err, -errno, "Privileges could not be given up (%s); the run keeps all of them.",
		               err_name(errno));
	return 0;
}
