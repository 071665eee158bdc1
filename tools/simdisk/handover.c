/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "handover.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

bool wait_readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int r;

	do
		r = poll(&p, 1, ms);
	while (r < 0 && errno == EINTR);
	return r > 0;
}

void handover_send(int sock, int file_fd, struct err *err)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov = { .iov_base = err, .iov_len = sizeof(*err) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (file_fd >= 0) {
		struct cmsghdr *c;

		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &file_fd, sizeof(int));
	}
	(void)sendmsg(sock, &msg, MSG_NOSIGNAL);
}

int handover_receive(int sock, int wait_ms, struct err *err)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct err theirs = { 0 };
	struct iovec iov = { .iov_base = &theirs, .iov_len = sizeof(theirs) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	const struct cmsghdr *c;
	int fd = -1;

	if (!wait_readable(sock, wait_ms) ||
	    recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | MSG_WAITALL) != (ssize_t)sizeof(theirs))
		return err_set(err, -EIO, "The server of the simulated disk did not start.");
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(int));
	if (fd < 0)
		return err_set(err, theirs.code < 0 ? theirs.code : -EIO, "%s", theirs.text);
	return fd;
}
