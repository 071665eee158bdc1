/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exclusive use of all that shares bytes with a target. The kernel knows users that nothing else shows (mounts of other
 * name spaces, journals, zfs), but it knows them by the device that they use: a loop device does not claim what it is
 * over.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "device/users.h"

void claims_done(struct claims *c)
{
	for (size_t i = 0; i < c->n; i++)
		(void)close(c->fds[i]); /* for reading only */
	free(c->fds);
	*c = (struct claims){ 0 };
}

/* Read-only: a claim needs no more, and udev looks again at what was open for writing. */
static int claim_node(const struct stack_node *n)
{
	char path[128];
	struct stat st;
	int fd;

	sys_node(n->b.name, path, sizeof(path));
	fd = open(path, O_RDONLY | O_EXCL | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == n->b.rdev)
		return fd;
	(void)close(fd);
	return -ENODEV;
}

void claims_take(const struct stack *s, struct claims *ret, struct survey *out)
{
	char why[200];

	*ret = (struct claims){ .fds = xcalloc(s->n, sizeof(*ret->fds)) };
	for (size_t i = 0; i < s->n; i++) {
		const struct stack_node *n = &s->v[i];
		int fd;

		if (!stack_wants_claim(s, n))
			continue;
		fd = claim_node(n);
		if (fd >= 0) {
			ret->fds[ret->n++] = fd;
		} else if (fd == -EBUSY) {
			survey_add(out, FINDING_EXCLUSIVE, n->b.name, "", "");
		} else {
			(void)snprintf(why, sizeof(why), "%.60s, which shares bytes with it, cannot be opened (%s)",
			               n->b.name, strerror(-fd));
			survey_add(out, FINDING_STACK, s->v[0].b.name, "", why);
		}
	}
}
