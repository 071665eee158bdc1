/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --log: one line per step. What a full disk did not take is written with the next line, or at the end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "cli/cli.h"

struct log {
	int fd;
	char *text; /* not written yet */
	size_t len;
};

struct log *log_new(int fd)
{
	struct log *l = xcalloc(1, sizeof(*l));

	l->fd = fd;
	return l;
}

/* All of it in one write, so that several processes can share a log. */
static int flush(struct log *l)
{
	ssize_t done = l->len ? write(l->fd, l->text, l->len) : 0;

	if (done < 0)
		return -errno;
	l->len -= (size_t)done;
	memmove(l->text, l->text + done, l->len);
	return l->len ? -ENOSPC : 0;
}

int log_line(struct log *l, const char *name, const char *text)
{
	char stamp[32], raw[1000], line[1024];
	size_t len;

	if (!l)
		return 0;
	(void)snprintf(raw, sizeof(raw), "%s platter[%ld] %s: %s", clock_wall_text(stamp, sizeof(stamp)),
	               (long)getpid(), name, text);
	utf8_tame(raw, ' '); /* one line is one event, whatever a model name holds */
	(void)report_printable(line, sizeof(line) - 1, raw, 0, true); /* C1, and what turns the direction of writing */
	len = strlen(line);
	line[len++] = '\n';
	l->text = xgrow(l->text, l->len + len, 1);
	memcpy(l->text + l->len, line, len);
	l->len += len;
	return flush(l);
}

int log_close(struct log *l)
{
	int r = l ? flush(l) : 0;

	if (!l)
		return 0;
	(void)close(l->fd); /* each line was written on its own */
	free(l->text);
	free(l);
	return r;
}
