/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * io_uring. What makes it cheap, by measured worth: submit() only queues and one io_uring_enter(2) issues the batch and
 * waits (3x), buffers registered once (1.24x), completions run in our own system call (DEFER_TASKRUN, else
 * COOP_TASKRUN: 1.1x), registered files (1.07x). A registered ring descriptor gains nothing measurable and is left out.
 * liburing sets the rings up; they are filled and emptied here, as its helpers hide how much of a batch the kernel
 * took.
 *
 * submit_ns is read once, just before the call that issues the batch. A batch is at most BATCH_MAX, because the kernel
 * needs about 1 us for each and the last one's stamp would be early by the whole batch.
 */
#include <assert.h>
#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/xalloc.h"
#include "engine/engine.h"

#define BATCH_MAX      32u
#define FIXED_AREA_MAX (1ull << 30) /* the kernel's limit for one registered area */

struct uring_state {
	struct io_uring ring;
	uint32_t nqueued, batch_max; /* in the submission ring, not issued yet: its last */
	unsigned sq_tail;            /* ours; the kernel sees it at issue() */
	uint16_t *file_of_fd;        /* registered file of a descriptor, plus 1; 0: not registered */
	uint32_t nfds;               /* descriptors that file_of_fd knows */
	/* Of the previous request: operation, file, and the entry's opcodes, for a caller's buffer and for a registered
	 * one. */
	uint64_t last_kind, head_plain, head_fixed;
	uint32_t nfixed, slots_per_area; /* registered buffers, 0: none; 1 GiB is the most for one area */
};

enum enter_how {
	ENTER_ISSUE, /* only send what is queued */
	ENTER_LOOK,  /* and run completions that are ready */
	ENTER_WAIT,  /* and wait for one */
};

/* Best first. SUBMIT_ALL: one bad request does not hold up the others of its batch. */
static const unsigned setups[] = {
	IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
	IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL,
	0,
};

static int ring_open(struct engine *eng, struct uring_state *st)
{
	int r = -ENOSYS;

	for (size_t i = 0; i < sizeof(setups) / sizeof(setups[0]); i++) {
		struct io_uring_params p = { .flags = setups[i] };

		r = io_uring_queue_init_params(eng->cfg.depth, &st->ring, &p);
		if (r != -EINVAL)
			break;
	}
	if (r < 0)
		return r;
	if (!(st->ring.features & IORING_FEAT_EXT_ARG)) { /* Linux before 5.11: no wait with a time-out */
		io_uring_queue_exit(&st->ring);
		return -ENOSYS;
	}
	return 0;
}

/* Pins the buffers once instead of in each request. Works without, too. */
static int register_buffers(struct engine *eng, struct uring_state *st)
{
	uint32_t per_area, nareas;
	struct iovec *areas;
	int r;

	if (!eng->bufs)
		return 0;
	per_area = (uint32_t)(FIXED_AREA_MAX / eng->buf_stride_bytes);
	if (per_area == 0)
		return -EFBIG;
	st->slots_per_area = per_area;
	nareas = (eng->cfg.slots + per_area - 1) / per_area;
	areas = xcalloc(nareas, sizeof(*areas));
	for (uint32_t i = 0; i < nareas; i++) {
		uint32_t first = i * per_area;
		uint32_t n = eng->cfg.slots - first < per_area ? eng->cfg.slots - first : per_area;

		areas[i].iov_base = engine_buf(eng, first);
		areas[i].iov_len = n * eng->buf_stride_bytes;
	}
	r = io_uring_register_buffers(&st->ring, areas, nareas);
	free(areas);
	if (r == 0)
		st->nfixed = eng->cfg.slots;
	return r;
}

/* Saves a reference count in each request. Works without, too; not worth a note. */
static void register_files(struct engine *eng, struct uring_state *st)
{
	const struct engine_config *cfg = &eng->cfg;
	uint32_t n = 0;

	if (!cfg->fds || cfg->nfds == 0 || cfg->nfds >= UINT16_MAX)
		return;
	for (size_t i = 0; i < cfg->nfds; i++)
		if (cfg->fds[i] >= 0 && (uint32_t)cfg->fds[i] >= n)
			n = (uint32_t)cfg->fds[i] + 1;
	if (n > UINT16_MAX)
		return;
	st->file_of_fd = xcalloc(n + 1, sizeof(*st->file_of_fd));
	if (io_uring_register_files(&st->ring, cfg->fds, (unsigned)cfg->nfds) < 0)
		return;
	for (size_t i = 0; i < cfg->nfds; i++)
		if (cfg->fds[i] >= 0)
			st->file_of_fd[cfg->fds[i]] = (uint16_t)(i + 1);
	st->nfds = n;
}

/* Operation and file of a request as one number. */
static inline uint64_t kind_of(const struct io_req *req)
{
	uint64_t kind;

	static_assert(offsetof(struct io_req, fd) == offsetof(struct io_req, op) + 4, "read as one");
	memcpy(&kind, &req->op, sizeof(kind));
	return kind;
}

/* The first 8 bytes of an entry: opcode, flags, priority, file. */
static uint64_t entry_head(const struct uring_state *st, uint8_t opcode, int fd)
{
	struct io_uring_sqe sqe = { .opcode = opcode, .fd = fd };
	uint64_t head;

	if ((uint32_t)fd < st->nfds && st->file_of_fd[fd]) {
		sqe.fd = st->file_of_fd[fd] - 1;
		sqe.flags = IOSQE_FIXED_FILE;
	}
	memcpy(&head, &sqe, sizeof(head));
	return head;
}

static __attribute__((noinline)) void learn_kind(struct uring_state *st, const struct io_req *req)
{
	bool is_read = req->op != IO_WRITE;

	st->last_kind = kind_of(req);
	st->head_plain = entry_head(st, is_read ? IORING_OP_READ : IORING_OP_WRITE, req->fd);
	st->head_fixed = entry_head(st, is_read ? IORING_OP_READ_FIXED : IORING_OP_WRITE_FIXED, req->fd);
}

static __attribute__((noinline)) void fill_flush(const struct uring_state *st, struct io_uring_sqe *sqe,
                                                 const struct io_req *req)
{
	uint64_t head = entry_head(st, IORING_OP_FSYNC, req->fd);

	memset(sqe, 0, sizeof(*sqe));
	memcpy(sqe, &head, sizeof(head));
	sqe->fsync_flags = IORING_FSYNC_DATASYNC;
	sqe->user_data = (uintptr_t)req;
}

/* Field by field, as clearing all before costs as much again. */
static inline void fill_entry(const struct uring_state *st, struct io_uring_sqe *sqe, const struct io_req *req)
{
	uint32_t slot = req->slot;
	uint64_t head = slot < st->nfixed ? st->head_fixed : st->head_plain;

	memcpy(sqe, &head, sizeof(head));
	sqe->off = req->offset_bytes;
	sqe->addr = (uintptr_t)req->buf;
	sqe->len = req->len_bytes;
	sqe->rw_flags = 0;
	sqe->user_data = (uintptr_t)req;
	memset((char *)sqe + offsetof(struct io_uring_sqe, buf_index), 0,
	       sizeof(*sqe) - offsetof(struct io_uring_sqe, buf_index));
	if (__builtin_expect(slot >= st->slots_per_area && slot < st->nfixed, 0))
		sqe->buf_index = (uint16_t)(slot / (st->slots_per_area ? st->slots_per_area : 1));
}

/*
 * The only system call. 0 or negative errno; time-outs, signals and "busy now" give 0. With ENTER_WAIT it waits for one
 * completion or until_ns.
 */
static int enter(struct engine *eng, struct uring_state *st, enum enter_how how, uint64_t until_ns)
{
	struct __kernel_timespec ts;
	struct io_uring_getevents_arg arg = { 0 };
	unsigned flags = how == ENTER_ISSUE ? 0 : IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG;
	uint64_t now = clock_now_ns(eng->clk);
	int r;

	for (unsigned i = st->sq_tail - st->nqueued; i != st->sq_tail; i++)
		((struct io_req *)(uintptr_t)st->ring.sq.sqes[i & st->ring.sq.ring_mask].user_data)->submit_ns = now;
	if (how == ENTER_WAIT && until_ns <= now)
		how = ENTER_LOOK;
	if (how == ENTER_WAIT && until_ns != CLOCK_NEVER) {
		ts.tv_sec = (int64_t)((until_ns - now) / NS_PER_S);
		ts.tv_nsec = (long long)((until_ns - now) % NS_PER_S);
		arg.ts = (uintptr_t)&ts;
	}
	__atomic_store_n(st->ring.sq.ktail, st->sq_tail, __ATOMIC_RELEASE);
	r = io_uring_enter2((unsigned)st->ring.ring_fd, st->nqueued, how == ENTER_WAIT ? 1 : 0, flags,
	                    (sigset_t *)(void *)&arg, how == ENTER_ISSUE ? 0 : sizeof(arg));
	/* How many it took is in the ring, whatever the call returned. */
	st->nqueued = st->sq_tail - __atomic_load_n(st->ring.sq.khead, __ATOMIC_ACQUIRE);
	if (r >= 0 || r == -ETIME || r == -EINTR || r == -EAGAIN || r == -EBUSY)
		return 0;
	return r;
}

/* What the kernel has put into the completion ring so far. */
static uint32_t take_ring(struct engine *eng, struct uring_state *st, struct io_req **done, uint32_t max)
{
	unsigned head = *st->ring.cq.khead; /* ours */
	unsigned n = __atomic_load_n(st->ring.cq.ktail, __ATOMIC_ACQUIRE) - head;
	unsigned mask = st->ring.cq.ring_mask;
	uint64_t now;

	if (n > max)
		n = max;
	if (n == 0)
		return 0;
	now = clock_now_ns(eng->clk);
	for (unsigned i = 0; i < n; i++) {
		const struct io_uring_cqe *cqe = &st->ring.cq.cqes[(head + i) & mask];
		struct io_req *req = io_uring_cqe_get_data(cqe);

		req->res = cqe->res;
		req->done_ns = now;
		done[i] = req;
	}
	__atomic_store_n(st->ring.cq.khead, head + n, __ATOMIC_RELEASE);
	return n;
}

static int uring_submit(struct engine *eng, struct io_req *const *reqs, uint32_t nreqs)
{
	struct uring_state *st = eng->priv;
	struct io_uring_sqe *sqes = st->ring.sq.sqes;
	const unsigned mask = st->ring.sq.ring_mask;
	unsigned tail = st->sq_tail;
	uint32_t n = st->nqueued, i;

	for (i = 0; i < nreqs; i++) {
		struct io_req *req = reqs[i];

		if (__builtin_expect(n == st->batch_max, 0)) {
			int r;

			st->sq_tail = tail;
			st->nqueued = n;
			r = enter(eng, st, ENTER_ISSUE, 0);
			if (r < 0)
				return i ? (int)i : r;
			n = st->nqueued;
			if (n == st->batch_max)
				break; /* it takes none now */
		}
		if (__builtin_expect(kind_of(req) != st->last_kind, 0)) {
			if (req->op == IO_FLUSH) {
				fill_flush(st, &sqes[tail++ & mask], req);
				n++;
				continue;
			}
			learn_kind(st, req);
		}
		fill_entry(st, &sqes[tail++ & mask], req);
		n++;
	}
	st->sq_tail = tail;
	st->nqueued = n;
	return (int)i;
}

static int uring_reap(struct engine *eng, struct io_req **done, uint32_t max, uint64_t until_ns)
{
	struct uring_state *st = eng->priv;
	unsigned ready = __atomic_load_n(st->ring.cq.ktail, __ATOMIC_ACQUIRE) - *st->ring.cq.khead;
	bool is_waiting = ready == 0 && until_ns != 0;
	/* With nothing to send, a system call is needed only when there is work to run for completions. */
	bool has_work =
		__atomic_load_n(st->ring.sq.kflags, __ATOMIC_RELAXED) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW);

	if (st->nqueued || is_waiting || (has_work && ready < max)) {
		int r = enter(eng, st, is_waiting ? ENTER_WAIT : ENTER_LOOK, until_ns);

		if (r < 0)
			return r;
	}
	return (int)take_ring(eng, st, done, max);
}

static void uring_done(struct engine *eng, struct uring_state *st)
{
	/* The kernel takes a ring apart when it finds the time; a removed file that it still holds keeps its room on
	 * the disk until then. */
	if (st->file_of_fd)
		(void)io_uring_unregister_files(&st->ring);
	io_uring_queue_exit(&st->ring);
	free(st->file_of_fd);
	free(st);
	eng->priv = NULL;
}

/* Why not, where it is known. By the time an engine is opened, a run of root's has given up CAP_SYS_ADMIN. */
static const char *why_refused(int r)
{
	FILE *f = r == -EPERM ? fopen("/proc/sys/kernel/io_uring_disabled", "re") : NULL;
	int how = f ? fgetc(f) : EOF;

	if (f)
		(void)fclose(f); /* was only read */
	return how == '1'
	               ? ", kernel.io_uring_disabled is 1: for privileged programs only, and privileges are given up before the run"
	       : how == '2'  ? ", kernel.io_uring_disabled is 2: switched off for everybody"
	       : r == -EPERM ? ", perhaps by a container's filter of system calls"
	                     : "";
}

static int uring_open(struct engine *eng, struct err *err)
{
	struct uring_state *st = xcalloc(1, sizeof(*st));
	int r;

	r = ring_open(eng, st);
	if (r < 0) {
		free(st);
		return err_set(err, r, "io_uring refused (%s%s)", err_name(r), why_refused(r));
	}
	for (unsigned i = 0; i < st->ring.sq.ring_entries; i++)
		st->ring.sq.array[i] = i; /* entries are used in ring order only */
	eng->priv = st;
	st->last_kind = UINT64_MAX; /* none */
	st->batch_max = st->ring.sq.ring_entries < BATCH_MAX ? st->ring.sq.ring_entries : BATCH_MAX;
	if (eng->cfg.one_by_one)
		st->batch_max = 1;
	st->sq_tail = *st->ring.sq.ktail;
	r = register_buffers(eng, st);
	if (r < 0)
		str_list(eng->note, sizeof(eng->note), "; ", "buffers not registered (%s%s)", err_name(r),
		         r == -ENOMEM ? ", see ulimit -l" : "");
	register_files(eng, st);
	return 0;
}

static void uring_close(struct engine *eng)
{
	struct uring_state *st = eng->priv;

	if (eng->is_leaky) {
		/* Does not wait; the rings stay mapped, as the kernel may still write there. */
		(void)close(st->ring.ring_fd);
		return;
	}
	uring_done(eng, st);
}

const struct engine_ops engine_uring = {
	.name = "uring",
	.help = "many requests at once with io_uring",
	.max_depth = 4096,
	.open = uring_open,
	.submit = uring_submit,
	.reap = uring_reap,
	.close = uring_close,
};
