/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loop: feeder -> batch -> engine -> sink. It is the only submitter in the program, so pacing, limits, cancelling,
 * faults, lost devices and the check of the write permit are here and nowhere else.
 *
 * Waiting is hybrid: asleep in the engine (or the clock) until clk->spin_ns before a deadline, then polling, since a
 * sleeper wakes late by about as much (clock_woke() keeps count). A virtual clock has spin_ns 0, so nothing ever polls
 * it. No wait is longer than 100 ms, so that a cancel and the progress line need no signal to arrive at the right
 * moment. So one that ends a tick late shows that this program did not run (frozen, stopped, no CPU), and what the
 * clock leaves out that all was suspended: what was under way is marked.
 *
 * Requests live here, buffers in the engine. When a drain gives up after 10 s, both are leaked on purpose: the kernel
 * may still write.
 */
#include "load/load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define TICK_NS        (100 * NS_PER_MS)
#define STALL_NS       (5 * NS_PER_S)
#define DRAIN_LIMIT_NS (10 * NS_PER_S)
#define SUSPECT_NS     (TICK_NS / 10) /* a wait that is shorter hides no stop of a tick */
#define RETRY_NS       NS_PER_MS      /* before asking an empty engine again that took nothing */

/* What a request to a target may be, ready for one quick look; why it may not is worked out by explain(). */
struct gate {
	uint64_t first, span; /* bytes of the plan */
	uint64_t misaligned;  /* bits that have to be 0; UINT64_MAX: not a power of two, look closer */
	uint32_t most_bytes;  /* a length, at most; fits into span */
	enum io_op most;      /* IO_READ, or IO_WRITE with a permit */
	int fd;
};

struct pool { /* of requests */
	struct io_req *reqs;
	struct io_req **free, **batch, **done; /* free: a stack; batch: fed, not taken by the engine yet */
	uint32_t nfree, nbatch;
	struct io_req *held; /* fed, but due later */
};

struct run {
	const struct load *load;
	struct engine *eng;
	struct load_stats stats;
	struct err *err;
	int error; /* negative errno: we could not do our job */
	bool is_ending;
	struct sink *sink; /* the load's, or one that drops all */
	uint32_t depth;
	struct pool pool;
	size_t ntargets;
	struct gate *gates;         /* per target */
	uint64_t *gone_ns;          /* per target; 0: it is there */
	uint64_t limit_faults;      /* faults that count against max_faults */
	uint64_t wait_ns;           /* the feeder has nothing before that */
	uint64_t stop_ns;           /* max_ns as a time */
	uint64_t drain_until_ns;    /* then what is in flight is given up */
	uint64_t tick_ns, moved_ns; /* next tick; when something completed or the first was issued */
	uint64_t suspended_ns;      /* as the clock said last */
	uint64_t late_ns;           /* what was submitted before that is late: this program did not run */
	bool is_stall_reported;
};

/* ---- ending ---- */

/* After a stop by disk or user: what is not issued yet is dropped, and the drain has a limit. */
static void run_abort(struct run *run, uint64_t now_ns)
{
	run->is_ending = true;
	run->pool.nbatch = 0;
	run->pool.held = NULL;
	if (run->drain_until_ns == CLOCK_NEVER)
		run->drain_until_ns = now_ns + DRAIN_LIMIT_NS;
}

static void run_end(struct run *run, enum load_end why, uint64_t now_ns)
{
	bool is_abort = why != LOAD_DONE && why != LOAD_LIMIT;

	if (run->is_ending && !(is_abort && (run->stats.end == LOAD_DONE || run->stats.end == LOAD_LIMIT)))
		return; /* the first reason stands, but an abort during an orderly drain is news */
	run->stats.end = why;
	run->is_ending = true;
	run->pool.held = NULL;
	if (is_abort)
		run_abort(run, now_ns);
}

static int run_fail(struct run *run, int error, uint64_t now_ns)
{
	if (!run->error)
		run->error = error;
	run_abort(run, now_ns);
	return error;
}

/* ---- feeding ---- */

static int refuse(struct run *run, const struct io_req *req, const struct target *t, int error, const char *why,
                  uint64_t now_ns)
{
	(void)err_set(run->err, error, "A %s of %" PRIu32 " bytes at offset %" PRIu64 " of %s was not issued: %s.",
	              io_op_name(req->op), req->len_bytes, req->offset_bytes, t->name ? t->name : "the target", why);
	return run_fail(run, error, now_ns);
}

static bool is_misaligned(const struct io_req *req, uint32_t align)
{
	if ((align & (align - 1)) == 0)
		return align && ((req->offset_bytes | req->len_bytes) & (align - 1)) != 0;
	return req->offset_bytes % align != 0 || req->len_bytes % align != 0; /* 520-byte sectors */
}

/* Everything that the quick look found in the way, in words; or 0, when it was too quick. */
static int explain(struct run *run, const struct io_req *req, uint64_t now_ns)
{
	const struct target *t;
	const struct gate *g;

	if (req->target >= run->load->ntargets)
		return run_fail(run,
		                err_set(run->err, -EINVAL, "A request for target %" PRIu32 " of %zu was not issued.",
		                        req->target, run->load->ntargets),
		                now_ns);
	t = &run->load->targets[req->target];
	g = &run->gates[req->target];
	if (req->op == IO_FLUSH)
		return 0;
	if (io_writes(req->op) && !t->permit)
		return refuse(run, req, t, -EPERM, "there is no permit to write", now_ns);
	if (req->op >= IO_COMMANDS && !run->eng->ops->has_commands)
		return refuse(run, req, t, -EOPNOTSUPP, "the engine knows no such commands", now_ns);
	if (req->len_bytes == 0 || req->len_bytes > INT32_MAX)
		return refuse(run, req, t, -EINVAL, "the length is out of range", now_ns);
	if (req->offset_bytes < g->first || req->len_bytes > g->span ||
	    req->offset_bytes - g->first > g->span - req->len_bytes)
		return refuse(run, req, t, -EINVAL, "it lies outside of the range of the plan", now_ns);
	if (is_misaligned(req, t->align_bytes))
		return refuse(run, req, t, -EINVAL, "offset or length does not fit the block size", now_ns);
	if (!req->buf || (req->slot != SLOT_NONE && req->len_bytes > run->eng->cfg.buf_bytes))
		return refuse(run, req, t, -EINVAL, "it is larger than its buffer", now_ns);
	return 0;
}

/* The one gate that every request passes: permit, range of the plan, alignment, buffer. */
static inline bool may_pass(const struct run *run, struct io_req *req)
{
	const struct gate *g = &run->gates[req->target];
	uint64_t len = req->len_bytes, offset = req->offset_bytes;

	if (req->target >= run->ntargets || req->op > g->most || len - 1 >= g->most_bytes ||
	    offset - g->first > g->span - len || ((offset | len) & g->misaligned))
		return false;
	req->fd = g->fd;
	return true;
}

/* As above, for requests that need more than the plain case. */
static int look_closer(struct run *run, struct io_req *req, uint64_t now_ns)
{
	int r = explain(run, req, now_ns);

	if (r < 0)
		return r;
	req->fd = run->gates[req->target].fd;
	if (req->op == IO_FLUSH) {
		req->offset_bytes = 0;
		req->len_bytes = 0;
	}
	return 0;
}

static void gate_init(struct gate *g, const struct target *t, const struct engine *eng)
{
	uint64_t end = t->touch_end ? t->touch_end : t->size_bytes ? t->size_bytes : INT64_MAX;
	uint64_t most = eng->bufs ? eng->cfg.buf_bytes : 0; /* 0: look closer whether the feeder brought a buffer */

	g->fd = t->fd;
	g->first = t->touch_first;
	g->span = end > t->touch_first ? end - t->touch_first : 0;
	if (most > g->span)
		most = g->span;
	g->most_bytes = most > INT32_MAX ? INT32_MAX : (uint32_t)most;
	g->misaligned = t->align_bytes > 1 ? t->align_bytes - 1 : 0;
	if (t->align_bytes & (t->align_bytes - 1))
		g->misaligned = UINT64_MAX;
	g->most = t->permit ? IO_WRITE : IO_READ;
}

static inline void issue(struct run *run, struct io_req *req)
{
	run->pool.batch[run->pool.nbatch++] = req;
}

/* Keeps a request that was fed and is due later. Returns whether it is not due yet. */
static bool hold(struct run *run, struct io_req *req, uint64_t now_ns)
{
	run->pool.held = req->due_ns > now_ns ? req : NULL;
	if (run->pool.held) {
		run->wait_ns = req->due_ns;
		return true;
	}
	issue(run, req);
	return false;
}

/* Requests in batches, until the feeder has none left. */
static int feed_many(struct run *run, struct feeder *f, uint64_t now_ns)
{
	while (run->pool.nfree) {
		struct io_req **reqs = run->pool.free;
		uint32_t n = f->many(f, reqs, run->pool.nfree);

		if (n == 0)
			return 0;
		for (uint32_t i = 0; i < n; i++)
			if (__builtin_expect(!may_pass(run, reqs[i]), 0) && look_closer(run, reqs[i], now_ns) < 0)
				return -EINVAL;
		memcpy(run->pool.batch + run->pool.nbatch, reqs, n * sizeof(*reqs));
		memmove(reqs, reqs + n, (run->pool.nfree - n) * sizeof(*reqs));
		run->pool.nbatch += n;
		run->pool.nfree -= n;
	}
	return 0;
}

static void feed(struct run *run, uint64_t now_ns)
{
	struct feeder *f = run->load->feeder;
	uint64_t until_ns;

	run->wait_ns = CLOCK_NEVER;
	if (run->pool.held && hold(run, run->pool.held, now_ns))
		return;
	if (f->many && feed_many(run, f, now_ns) < 0)
		return;
	while (run->pool.nfree) {
		struct io_req *req = run->pool.free[run->pool.nfree - 1];
		enum feed kind;

		if (__builtin_expect(req->buf != req->owner, 0)) { /* the feeder put in its own */
			req->buf = req->owner;
			req->slot = (uint32_t)(req - run->pool.reqs);
		}
		req->due_ns = 0;
		until_ns = CLOCK_NEVER;
		kind = f->next(f, now_ns, req, &until_ns);
		if (__builtin_expect(kind != FEED_IO, 0)) {
			run->wait_ns = until_ns > now_ns ? until_ns : now_ns + 1; /* time has to move on */
			if (kind != FEED_WAIT)
				run_end(run, LOAD_DONE, now_ns);
			return;
		}
		if (__builtin_expect(!may_pass(run, req), 0) && look_closer(run, req, now_ns) < 0)
			return;
		run->pool.nfree--;
		if (__builtin_expect(req->due_ns > now_ns, 0)) {
			(void)hold(run, req, now_ns); /* it is not due */
			return;
		}
		issue(run, req);
	}
}

static void submit(struct run *run, uint64_t now_ns)
{
	if (run->eng->in_flight == 0)
		run->moved_ns = now_ns;
	while (run->pool.nbatch) {
		int n = engine_submit(run->eng, run->pool.batch, run->pool.nbatch);

		if (n < 0) {
			(void)err_set(run->err, n, "The %s engine does not take requests any more (%s).",
			              run->eng->ops->name, err_name(n));
			(void)run_fail(run, n, now_ns);
			return;
		}
		if (n == 0)
			return; /* full: after the next completion */
		run->pool.nbatch -= (uint32_t)n;
		if (run->pool.nbatch)
			memmove(run->pool.batch, run->pool.batch + n, run->pool.nbatch * sizeof(struct io_req *));
	}
}

/* ---- completions ---- */

static bool is_lost(const struct target *t, int32_t res)
{
	if (res == -ENXIO || load_is_lost(res))
		return true;
	/* Most drivers answer reads of a removed disk with success and 0 bytes: the size has to be asked. */
	return res <= 0 && t->is_there && !t->is_there(t->is_there_arg);
}

static void lose_target(struct run *run, const struct io_req *req)
{
	run->gone_ns[req->target] = req->done_ns;
	if (run->stats.ngone++ == 0) {
		run->stats.gone_target = req->target;
		run->stats.is_refused = err_is_refusal(req->res);
	}
	if (!run->load->keep_going_when_gone || run->stats.ngone == run->load->ntargets)
		run_end(run, LOAD_GONE, req->done_ns);
}

/* A request that did not move all its bytes. Returns whether that is a fault. */
static bool take_bad(struct run *run, struct io_req *req)
{
	const struct load *load = run->load;
	const struct target *t = &load->targets[req->target];
	uint64_t *gone_ns = &run->gone_ns[req->target];
	struct io_fault fault = { req->target, req->op, req->offset_bytes, req->len_bytes, 0, req->done_ns };

	if (req->res == -EOPNOTSUPP && req->op > IO_VERIFY) /* so says the way to the disk, not the disk */
		return true;
	if (req->res >= 0 && t->size_bytes && req->offset_bytes + (uint64_t)req->res >= t->size_bytes)
		return false; /* the end of the device */
	if (!*gone_ns && is_lost(t, req->res))
		lose_target(run, req);
	if (*gone_ns && req->res <= 0 && !err_is_refusal(req->res))
		req->res = -ENODEV;
	fault.res = req->res;
	if (load->on_fault)
		load->on_fault(load->arg, &fault);
	/* Requests in flight when the target was lost add nothing. */
	if (!*gone_ns || req->submit_ns > *gone_ns)
		run->limit_faults++;
	if (run->limit_faults > load->max_faults)
		run_end(run, LOAD_FAULTS, req->done_ns);
	return true;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t suspended_until(const struct run *run)
{
	struct clock *clk = run->eng->clk;

	return clk->suspended_ns ? clk->suspended_ns(clk) : 0;
}

/* A wait from before_ns that was to end at until_ns is over. */
static void look_for_stop(struct run *run, uint64_t before_ns, uint64_t until_ns, uint64_t now_ns)
{
	uint64_t from_ns = until_ns > before_ns ? until_ns : before_ns, all_ns, suspended_ns = 0;

	if (now_ns < before_ns + SUSPECT_NS)
		return; /* most of them: not worth a look */
	from_ns = earlier(from_ns, now_ns);
	all_ns = suspended_until(run);
	if (all_ns >= run->suspended_ns + TICK_NS)
		suspended_ns = all_ns - run->suspended_ns;
	run->suspended_ns = all_ns;
	if (now_ns - from_ns + suspended_ns < TICK_NS)
		return;
	run->late_ns = run->moved_ns = now_ns;
	if (run->load->on_stopped)
		run->load->on_stopped(run->load->arg, from_ns, now_ns, suspended_ns);
}

static int reap(struct run *run, uint64_t before_ns, uint64_t until_ns)
{
	struct sink *sink = run->sink;
	int n = engine_reap(run->eng, run->pool.done, run->depth, until_ns);

	if (n >= 0)
		look_for_stop(run, before_ns, until_ns, n ? run->pool.done[0]->done_ns : clock_now_ns(run->eng->clk));
	if (n <= 0)
		return n;
	/* An engine that waits within submit() (sync) gives no chance to report it earlier. */
	if (!run->is_stall_reported && run->load->on_stall && run->pool.done[0]->done_ns >= run->moved_ns + STALL_NS)
		run->load->on_stall(run->load->arg, run->pool.done[0]->done_ns, run->pool.done[0]);
	run->moved_ns = run->pool.done[n - 1]->done_ns;
	run->stats.last_done_ns = run->moved_ns;
	run->is_stall_reported = false;
	memcpy(run->pool.free + run->pool.nfree, run->pool.done, (size_t)n * sizeof(*run->pool.done));
	run->pool.nfree += (uint32_t)n;
	for (int i = 0; i < n; i++) {
		struct io_req *req = run->pool.done[i];
		bool is_fault = false;

		req->is_late = __builtin_expect(req->submit_ns < run->late_ns, 0);
		run->stats.late += req->is_late;
		if (__builtin_expect(req->res != (int32_t)req->len_bytes, 0))
			is_fault = take_bad(run, req);
		sink->take(sink, req, is_fault);
	}
	return n;
}

/* ---- time ---- */

static void look_for_stall(struct run *run, uint64_t now_ns)
{
	const struct io_req *oldest = NULL;

	if (run->eng->in_flight == 0 || run->is_stall_reported || now_ns < run->moved_ns + STALL_NS)
		return;
	run->is_stall_reported = true;
	if (!run->load->on_stall)
		return;
	for (uint32_t i = 0; i < run->depth; i++) {
		bool is_free = &run->pool.reqs[i] == run->pool.held;

		for (uint32_t k = 0; k < run->pool.nfree && !is_free; k++)
			is_free = run->pool.free[k] == &run->pool.reqs[i];
		for (uint32_t k = 0; k < run->pool.nbatch && !is_free; k++)
			is_free = run->pool.batch[k] == &run->pool.reqs[i];
		if (!is_free && (!oldest || run->pool.reqs[i].submit_ns < oldest->submit_ns))
			oldest = &run->pool.reqs[i];
	}
	if (oldest)
		run->load->on_stall(run->load->arg, now_ns, oldest);
}

static void look_around(struct run *run, uint64_t now_ns)
{
	const struct load *load = run->load;

	if (load->cancel && atomic_load_explicit(load->cancel, memory_order_relaxed) != 0)
		run_end(run, LOAD_CANCELLED, now_ns);
	if (now_ns >= run->stop_ns)
		run_end(run, LOAD_LIMIT, now_ns);
	if (now_ns < run->tick_ns)
		return;
	run->tick_ns = now_ns + TICK_NS;
	if (load->on_tick)
		load->on_tick(load->arg, now_ns);
	look_for_stall(run, now_ns);
}

/* Waits for a completion, the next deadline or the next look around. false: nothing is left to wait for. */
static bool wait(struct run *run, uint64_t now_ns)
{
	struct clock *clk = run->eng->clk;
	uint64_t until_ns = earlier(run->tick_ns, run->drain_until_ns);
	uint64_t due_ns = run->is_ending ? CLOCK_NEVER : earlier(run->wait_ns, run->stop_ns);
	int n;

	if (run->eng->in_flight == 0) {
		if (run->pool.nbatch) {
			clk->sleep_until_ns(clk, now_ns + RETRY_NS);
			return true;
		}
		if (run->is_ending)
			return false;
		if (due_ns == CLOCK_NEVER) {
			(void)run_fail(run,
			               err_set(run->err, -EDEADLK,
			                       "The measurement waits for a request, but none is in flight."),
			               now_ns);
			return false;
		}
		until_ns = earlier(until_ns, due_ns);
		clk->sleep_until_ns(clk, until_ns);
		look_for_stop(run, now_ns, until_ns, clock_now_ns(clk));
		return true;
	}
	if (due_ns != CLOCK_NEVER)
		until_ns = due_ns > now_ns + clk->spin_ns ? earlier(until_ns, due_ns - clk->spin_ns) : 0;
	if (run->eng->ops->issues_in_submit) /* where it waited for the disk, without an end */
		now_ns = clock_now_ns(clk);
	n = reap(run, now_ns, until_ns);
	if (n == 0 && until_ns + clk->spin_ns == due_ns)
		clock_woke(clk, until_ns, clock_now_ns(clk));
	if (n < 0) {
		(void)err_set(run->err, n, "The %s engine failed while waiting (%s).", run->eng->ops->name,
		              err_name(n));
		(void)run_fail(run, n, now_ns);
		run->eng->is_leaky = true;
		return false;
	}
	if (n == 0 && run->drain_until_ns != CLOCK_NEVER && clock_now_ns(clk) >= run->drain_until_ns)
		run->eng->is_leaky = true;
	return !run->eng->is_leaky;
}

/* ---- a run ---- */

static void run_open(struct run *run)
{
	uint32_t depth = run->load->depth;

	if (depth == 0 || depth > run->eng->cfg.depth)
		depth = run->eng->cfg.depth;
	run->depth = depth;
	run->pool.reqs = xcalloc(depth, sizeof(*run->pool.reqs));
	run->pool.free = xcalloc(3 * (size_t)depth, sizeof(struct io_req *));
	run->gone_ns = xcalloc(run->load->ntargets + 1, sizeof(*run->gone_ns));
	run->gates = xcalloc(run->load->ntargets + 1, sizeof(*run->gates)); /* never empty */
	run->pool.batch = run->pool.free + depth;
	run->pool.done = run->pool.batch + depth;
	for (uint32_t i = depth; i-- > 0;) {
		struct io_req *req = &run->pool.reqs[i];

		req->slot = i;
		req->owner = req->buf = run->eng->bufs ? engine_buf(run->eng, i) : NULL;
		run->pool.free[run->pool.nfree++] = req;
	}
	run->ntargets = run->load->ntargets;
	for (size_t i = 0; i < run->ntargets; i++)
		gate_init(&run->gates[i], &run->load->targets[i], run->eng);
}

static void run_close(struct run *run)
{
	if (!run->eng->is_leaky)
		free(run->pool.reqs); /* else the engine still knows them */
	free(run->pool.free);
	free(run->gates);
	free(run->gone_ns);
}

static void run_loop(struct run *run)
{
	uint64_t now_ns = clock_now_ns(run->eng->clk);

	run->stats.start_ns = now_ns;
	run->suspended_ns = suspended_until(run);
	run->tick_ns = now_ns + TICK_NS;
	run->stop_ns = run->load->max_ns ? now_ns + run->load->max_ns : CLOCK_NEVER;
	do {
		now_ns = clock_now_ns(run->eng->clk);
		look_around(run, now_ns);
		if (!run->is_ending)
			feed(run, now_ns);
		submit(run, now_ns);
	} while (wait(run, now_ns));
	run->stats.end_ns = clock_now_ns(run->eng->clk);
}

static void drop(struct sink *s, const struct io_req *req, bool is_fault)
{
	(void)s;
	(void)req;
	(void)is_fault;
}

int load_run(const struct load *load, struct engine *eng, struct load_stats *ret, struct err *err)
{
	struct sink none = { .take = drop };
	struct run run = {
		.load = load,
		.sink = load->sink ? load->sink : &none,
		.eng = eng,
		.err = err,
		.stats = { .gone_target = UINT32_MAX },
		.drain_until_ns = CLOCK_NEVER,
	};

	if (eng->in_flight || eng->is_leaky)
		return err_set(err, -EBUSY, "The %s engine is still busy with an earlier run.", eng->ops->name);
	run_open(&run);
	run_loop(&run);
	*ret = run.stats;
	run_close(&run);
	return run.error;
}
