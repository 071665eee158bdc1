/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linux native asynchronous I/O (io_submit(2)). All requests of a submit() go out in one call. It is asynchronous with
 * O_DIRECT only; otherwise io_submit() itself waits.
 */
#include <errno.h>
#include <libaio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/xalloc.h"
#include "engine/engine.h"

struct aio_state {
	io_context_t ctx;
	struct iocb *iocbs;  /* depth of them */
	struct iocb **batch; /* as io_submit wants them; also the stack of free ones: [0, nfree) */
	uint32_t nfree;
	struct io_req **failed; /* could not be issued; handed out by the next reap */
	uint32_t nfailed;
	struct io_event *events;
};

static void aio_free(struct aio_state *st)
{
	free(st->iocbs);
	free(st->batch);
	free(st->failed);
	free(st->events);
	free(st);
}

static int aio_open(struct engine *eng, struct err *err)
{
	struct aio_state *st = xcalloc(1, sizeof(*st));
	uint32_t depth = eng->cfg.depth;
	int r;

	st->iocbs = xcalloc(depth, sizeof(*st->iocbs));
	st->batch = xcalloc(depth, sizeof(struct iocb *));
	st->failed = xcalloc(depth, sizeof(struct io_req *));
	st->events = xcalloc(depth, sizeof(*st->events));
	r = io_setup((int)depth, &st->ctx);
	if (r < 0) {
		aio_free(st);
		return err_set(err, r, "libaio refused (io_setup: %s%s)", err_name(r),
		               r == -EAGAIN ? ", see /proc/sys/fs/aio-max-nr" : "");
	}
	for (uint32_t i = 0; i < depth; i++)
		st->batch[i] = &st->iocbs[i];
	st->nfree = depth;
	eng->priv = st;
	return 0;
}

static void prepare(struct iocb *cb, struct io_req *req)
{
	memset(cb, 0, sizeof(*cb));
	cb->data = req;
	cb->aio_fildes = req->fd;
	if (req->op == IO_FLUSH) {
		cb->aio_lio_opcode = IO_CMD_FDSYNC;
		return;
	}
	cb->aio_lio_opcode = req->op == IO_WRITE ? IO_CMD_PWRITE : IO_CMD_PREAD;
	cb->u.c.buf = req->buf;
	cb->u.c.nbytes = req->len_bytes;
	cb->u.c.offset = (long long)req->offset_bytes;
}

static void fail(struct engine *eng, struct io_req *req, int error)
{
	struct aio_state *st = eng->priv;

	req->res = error;
	req->done_ns = clock_now_ns(eng->clk);
	st->failed[st->nfailed++] = req;
}

static int aio_submit(struct engine *eng, struct io_req *const *reqs, uint32_t nreqs)
{
	struct aio_state *st = eng->priv;
	uint32_t taken = 0;

	if (nreqs > st->nfree)
		nreqs = st->nfree;
	while (taken < nreqs) {
		uint32_t n = eng->cfg.one_by_one ? 1 : nreqs - taken;
		/* In order from the top of the free stack, so that what stays free stays below. */
		struct iocb **batch = st->batch + st->nfree - n;
		uint64_t now;
		int r;

		for (uint32_t i = 0; i < n; i++)
			prepare(batch[i], reqs[taken + i]);
		now = clock_now_ns(eng->clk);
		for (uint32_t i = 0; i < n; i++)
			reqs[taken + i]->submit_ns = now;
		r = io_submit(st->ctx, (long)n, batch);
		if (r == -EAGAIN || r == -EINTR || r == 0)
			break; /* full for now */
		if (r < 0) {
			/* Always about the first of the batch: it could not be issued. Its iocb stays free. */
			fail(eng, reqs[taken], r);
			taken++;
			continue;
		}
		/* The first r are the kernel's; the others move down onto the free stack. */
		memmove(batch, batch + r, (n - (uint32_t)r) * sizeof(struct iocb *));
		st->nfree -= (uint32_t)r;
		taken += (uint32_t)r;
	}
	return (int)taken;
}

static uint32_t take_events(struct engine *eng, const struct io_event *ev, struct io_req **done, uint32_t n)
{
	struct aio_state *st = eng->priv;
	uint64_t now = clock_now_ns(eng->clk);

	for (uint32_t i = 0; i < n; i++) {
		struct io_req *req = ev[i].data;

		req->res = (int32_t)(long)ev[i].res;
		req->done_ns = now;
		done[i] = req;
		st->batch[st->nfree++] = ev[i].obj;
	}
	return n;
}

static int wait_events(struct engine *eng, struct io_req **done, uint32_t max, uint64_t until_ns)
{
	struct aio_state *st = eng->priv;
	uint64_t now = until_ns && until_ns != CLOCK_NEVER ? clock_now_ns(eng->clk) : 0;
	uint64_t left = until_ns > now ? until_ns - now : 0;
	struct timespec ts = { .tv_sec = (time_t)(left / NS_PER_S), .tv_nsec = (long)(left % NS_PER_S) };
	int r;

	r = io_getevents(st->ctx, left ? 1 : 0, (long)max, st->events, until_ns == CLOCK_NEVER ? NULL : &ts);
	if (r == -EINTR)
		return 0;
	return r > 0 ? (int)take_events(eng, st->events, done, (uint32_t)r) : r;
}

static int aio_reap(struct engine *eng, struct io_req **done, uint32_t max, uint64_t until_ns)
{
	struct aio_state *st = eng->priv;
	uint32_t n = 0;

	if (max > eng->cfg.depth)
		max = eng->cfg.depth;
	if (max == 0)
		return 0;
	if (st->nfailed) {
		while (n < max && n < st->nfailed) {
			done[n] = st->failed[n];
			n++;
		}
		st->nfailed -= n;
		memmove(st->failed, st->failed + n, st->nfailed * sizeof(struct io_req *));
		return (int)n;
	}
	return wait_events(eng, done, max, until_ns);
}

static void aio_close(struct engine *eng)
{
	struct aio_state *st = eng->priv;

	if (eng->is_leaky)
		return;            /* io_destroy() would wait for what is in flight, perhaps for ever */
	(void)io_destroy(st->ctx); /* nothing is in flight: cannot fail */
	aio_free(st);
}

const struct engine_ops engine_libaio = {
	.name = "libaio",
	.help = "many requests at once with io_submit",
	.max_depth = 4096,
	.issues_in_submit = true,
	.open = aio_open,
	.submit = aio_submit,
	.reap = aio_reap,
	.close = aio_close,
};
