/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One request at a time with preadv2(2), pwritev2(2), fdatasync(2). It works everywhere, costs least at depth 1, and is
 * the right choice where io_uring would use kernel threads. A signal is seen only between requests.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/scsi.h"
#include "base/xalloc.h"
#include "engine/commands.h"
#include "engine/engine.h"

struct sync_state {
	struct io_req *done; /* the request that is finished and not yet reaped */
	struct commands commands;
};

static int sync_open(struct engine *eng, struct err *err)
{
	struct sync_state *st = xcalloc(1, sizeof(*st));

	(void)err;
	st->commands = (struct commands){ .ask = scsi_real_ioctl, .is_disk = commands_is_disk };
	eng->priv = st;
	return 0;
}

static ssize_t transfer(struct sync_state *st, const struct io_req *req)
{
	const struct iovec iov = { .iov_base = req->buf, .iov_len = req->len_bytes };

	switch (req->op) {
	case IO_READ:
		return preadv2(req->fd, &iov, 1, (off_t)req->offset_bytes, 0);
	case IO_WRITE:
		return pwritev2(req->fd, &iov, 1, (off_t)req->offset_bytes, 0);
	case IO_FLUSH:
		return fdatasync(req->fd);
	case IO_VERIFY:
		return verify_medium(&st->commands, req->fd, req->offset_bytes, req->len_bytes);
	case IO_READ_FUA:
	case IO_WRITE_FUA:
		return fua_transfer(&st->commands, req->fd, req->op == IO_WRITE_FUA, req->offset_bytes, req->len_bytes,
		                    req->buf);
	}
	errno = EINVAL;
	return -1;
}

static int sync_submit(struct engine *eng, struct io_req *const *reqs, uint32_t nreqs)
{
	struct sync_state *st = eng->priv;
	struct io_req *req = reqs[0];
	ssize_t n;

	if (st->done || nreqs == 0)
		return 0;
	req->submit_ns = clock_now_ns(eng->clk);
	/* preadv2 takes offset -1 as "where the file stands": never what a request means. */
	if (req->op != IO_FLUSH && req->offset_bytes > INT64_MAX)
		n = -EINVAL;
	else {
		do {
			n = transfer(st, req);
		} while (n < 0 && req->op < IO_COMMANDS &&
		         errno == EINTR); /* nothing was moved; only network file systems do this */
		if (n < 0 && req->op < IO_COMMANDS)
			n = -errno;
	}
	req->res = (int32_t)n; /* the kernel moves less than 2 GiB at a time */
	req->done_ns = clock_now_ns(eng->clk);
	st->done = req;
	return 1;
}

static int sync_reap(struct engine *eng, struct io_req **done, uint32_t max, uint64_t until_ns)
{
	struct sync_state *st = eng->priv;

	(void)until_ns; /* what is in flight is done */
	assert(st->done);
	if (max == 0)
		return 0;
	done[0] = st->done;
	st->done = NULL;
	return 1;
}

static void sync_close(struct engine *eng)
{
	free(eng->priv);
}

const struct engine_ops engine_sync = {
	.name = "sync",
	.help = "one request at a time with preadv2 and pwritev2",
	.max_depth = 1,
	.issues_in_submit = true,
	.has_commands = true,
	.open = sync_open,
	.submit = sync_submit,
	.reap = sync_reap,
	.close = sync_close,
};
