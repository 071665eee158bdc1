/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
