/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/err.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int(err_set)(struct err *err, int code, const char *fmt, ...) /* in brackets: it may be a macro, see err.h */
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap); /* a cut sentence is still a sentence */
	va_end(ap);
	return code;
}

int err_prefix(struct err *err, const char *fmt, ...)
{
	char old[sizeof(err->text)];
	va_list ap;
	int n;

	if (!err)
		return 0;
	memcpy(old, err->text, sizeof(old));
	va_start(ap, fmt);
	n = vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(err->text))
		(void)snprintf(err->text + n, sizeof(err->text) - (size_t)n, ": %s", old);
	return err->code;
}

const char *err_name(int code)
{
	static _Thread_local char unknown[16];
	const char *name = strerrorname_np(abs(code));

	if (name)
		return name;
	(void)snprintf(unknown, sizeof(unknown), "E%d", abs(code));
	return unknown;
}

static const int refusals[] = { EINVAL, EPERM, EACCES, EROFS, EBADF, EFAULT };

bool err_is_refusal(int code)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		if (-code == refusals[i])
			return true;
	return false;
}

bool err_name_is_refusal(const char *name)
{
	for (size_t i = 0; name && i < sizeof(refusals) / sizeof(refusals[0]); i++)
		if (strcmp(name, err_name(refusals[i])) == 0)
			return true;
	return false;
}

const char *err_forbidden_for(unsigned uid, uint64_t capabilities)
{
	const uint64_t wanted = 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_SYS_ADMIN | 1ull << CAP_SYS_RAWIO;

	if (uid != 0)
		return "run platter as root";
	if ((capabilities & wanted) != wanted)
		return "root lacks capabilities here, as in a container: give it CAP_DAC_OVERRIDE, CAP_SYS_ADMIN and "
		       "CAP_SYS_RAWIO, or run platter outside";
	return "root itself is forbidden this, by the device rules of a container or by a security module: run platter outside, "
	       "or see the kernel's log (dmesg)";
}

const char *err_forbidden(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
	uint64_t all = syscall(SYS_capget, &head, data) == 0 ? data[0].effective | (uint64_t)data[1].effective << 32
	                                                     : UINT64_MAX;

	return err_forbidden_for(geteuid(), all);
}
