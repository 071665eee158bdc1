/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For tests of the loop: virtual time, an engine whose every answer the test writes, and everything that a run needs.
 */
#ifndef UNIT_LOAD_FIXTURE_H
#define UNIT_LOAD_FIXTURE_H

#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "load/load.h"

#define SERVICE_NS (100 * NS_PER_US)
#define SPIN_UP_NS (8 * NS_PER_S)
#define BLOCK      4096u
#define MOST       256

/* ---- a clock and an engine of the test's own ---- */

static uint64_t virtual_ns;

static uint64_t virtual_now(struct clock *clk)
{
	return virtual_ns;
}

static uint64_t virtual_suspended_ns;

static uint64_t virtual_suspended(struct clock *clk)
{
	return virtual_suspended_ns;
}

static void virtual_sleep(struct clock *clk, uint64_t until_ns)
{
	if (until_ns > virtual_ns)
		virtual_ns = until_ns;
}

static struct clock virtual_clock = { .name = "virtual",
	                              .now_ns = virtual_now,
	                              .sleep_until_ns = virtual_sleep,
	                              .suspended_ns = virtual_suspended };

/* What happens to request number n (from 0, in order of submission). */
struct script {
	uint32_t take_most;                                        /* accepted per submit call; 0: all */
	int32_t (*result)(const struct io_req *req, uint64_t n);   /* NULL: all bytes */
	uint64_t (*service)(const struct io_req *req, uint64_t n); /* NULL: SERVICE_NS */
	int submit_error, reap_error;
	bool waits_in_submit;                           /* as the sync engine does */
	uint64_t frozen_at_ns, frozen_ns, suspended_ns; /* this program does not run; 0: it does */
	uint64_t nsubmitted, nreads, nwrites;
	struct io_req *busy[MOST];
	uint32_t nbusy;
};

static struct script script;

static int fake_open(struct engine *eng, struct err *err)
{
	return 0;
}

static int fake_submit(struct engine *eng, struct io_req *const *reqs, uint32_t nreqs)
{
	if (script.submit_error)
		return script.submit_error;
	if (script.take_most && nreqs > script.take_most)
		nreqs = script.take_most;
	for (uint32_t i = 0; i < nreqs; i++) {
		struct io_req *req = reqs[i];
		uint64_t n = script.nsubmitted++;

		req->submit_ns = virtual_ns;
		req->res = script.result ? script.result(req, n) : (int32_t)req->len_bytes;
		req->done_ns = virtual_ns + (script.service ? script.service(req, n) : SERVICE_NS);
		if (script.waits_in_submit)
			virtual_ns = req->done_ns;
		script.nreads += req->op == IO_READ;
		script.nwrites += req->op == IO_WRITE;
		assert_true(script.nbusy < MOST);
		script.busy[script.nbusy++] = req;
	}
	return (int)nreqs;
}

static int fake_reap(struct engine *eng, struct io_req **done, uint32_t max, uint64_t until_ns)
{
	uint32_t first = 0;

	if (script.reap_error)
		return script.reap_error;
	assert_true(script.nbusy > 0 && max > 0);
	if (script.frozen_ns && virtual_ns >= script.frozen_at_ns) { /* nobody looks, and the disk goes on */
		virtual_ns += script.frozen_ns;
		script.frozen_ns = 0;
		for (uint32_t i = 0; i < script.nbusy; i++) /* taken when it is seen */
			script.busy[i]->done_ns = virtual_ns;
	}
	if (script.suspended_ns &&
	    virtual_ns >= script.frozen_at_ns) { /* the clock stands still, the disk has lost its place */
		virtual_suspended_ns += script.suspended_ns;
		script.suspended_ns = 0;
		for (uint32_t i = 0; i < script.nbusy; i++)
			script.busy[i]->done_ns += SPIN_UP_NS;
	}
	for (uint32_t i = 1; i < script.nbusy; i++)
		if (script.busy[i]->done_ns < script.busy[first]->done_ns)
			first = i;
	if (script.busy[first]->done_ns > virtual_ns) {
		if (script.busy[first]->done_ns > until_ns) {
			virtual_sleep(NULL, until_ns);
			return 0;
		}
		virtual_ns = script.busy[first]->done_ns;
	}
	done[0] = script.busy[first];
	memmove(script.busy + first, script.busy + first + 1, (--script.nbusy - first) * sizeof(done[0]));
	return 1;
}

static void fake_close(struct engine *eng)
{
}

static const struct engine_ops fake = {
	.name = "fake",
	.help = "answers by script",
	.max_depth = MOST,
	.issues_in_submit = true,
	.open = fake_open,
	.submit = fake_submit,
	.reap = fake_reap,
	.close = fake_close,
};

/* ---- everything that a run needs ---- */

static const int some_permit = 0; /* only its being there counts */

struct fixture {
	struct target targets[3];
	struct seq_feeder seq;
	struct sink sink;
	struct load load;
	struct load_stats stats;
	struct err err;
	struct engine *eng;
	atomic_int cancel;
	uint64_t cancel_at_ns;
	/* what came */
	uint64_t ntaken, nfaulty, bytes;
	uint64_t tags[4096], due[4096], submitted[4096];
	bool is_late[4096];
	uint64_t nstops, stopped_from_ns, stopped_ns;
	struct io_fault faults[MOST];
	uint64_t nfaults, nticks, nstalls, stalled_at_ns, stalled_offset;
};

static struct fixture fx;

static void sink_take(struct sink *s, const struct io_req *req, bool is_fault)
{
	if (fx.ntaken < 4096) {
		fx.tags[fx.ntaken] = req->tag;
		fx.due[fx.ntaken] = req->due_ns;
		fx.submitted[fx.ntaken] = req->submit_ns;
		fx.is_late[fx.ntaken] = req->is_late;
	}
	fx.ntaken++;
	fx.nfaulty += is_fault;
	if (req->res > 0)
		fx.bytes += (uint64_t)req->res;
}

static void on_fault(void *arg, const struct io_fault *fault)
{
	if (fx.nfaults < MOST)
		fx.faults[fx.nfaults] = *fault;
	fx.nfaults++;
}

static void on_tick(void *arg, uint64_t now_ns)
{
	fx.nticks++;
	if (fx.cancel_at_ns && now_ns >= fx.cancel_at_ns)
		atomic_store(&fx.cancel, 2);
}

static void on_stall(void *arg, uint64_t now_ns, const struct io_req *oldest)
{
	fx.nstalls++;
	fx.stalled_at_ns = now_ns;
	fx.stalled_offset = oldest->offset_bytes;
}

static void on_stopped(void *arg, uint64_t from_ns, uint64_t to_ns, uint64_t suspended_ns)
{
	if (fx.nstops++ == 0)
		fx.stopped_from_ns = from_ns;
	fx.stopped_ns += to_ns - from_ns + suspended_ns;
}

static int setup(void **state)
{
	static const struct engine_ops *const list[] = { &fake, NULL };
	const struct engine_config cfg = { .depth = 8, .buf_bytes = BLOCK };

	memset(&fx, 0, sizeof(fx));
	memset(&script, 0, sizeof(script));
	virtual_ns = 1000 * NS_PER_S;
	virtual_suspended_ns = 5 * NS_PER_S; /* of the time before */
	for (int i = 0; i < 3; i++)
		fx.targets[i] =
			(struct target){ .name = "disk", .fd = 10 + i, .size_bytes = 1 << 20, .align_bytes = 512 };
	seq_feeder_init(&fx.seq, IO_READ, 0, 0, 64 * BLOCK, BLOCK);
	fx.sink.take = sink_take;
	fx.load = (struct load){
		.targets = fx.targets,
		.ntargets = 3,
		.feeder = &fx.seq.f,
		.sink = &fx.sink,
		.max_faults = 1000,
		.cancel = &fx.cancel,
		.on_fault = on_fault,
		.on_tick = on_tick,
		.on_stall = on_stall,
		.on_stopped = on_stopped,
	};
	return engine_open(&fx.eng, list, "auto", &cfg, &virtual_clock, NULL);
}

static int teardown(void **state)
{
	engine_close(fx.eng);
	return 0;
}

/* Once more from the beginning. */
static inline void fresh(void)
{
	(void)teardown(NULL); /* always 0 */
	assert_int_equal(setup(NULL), 0);
}

static void go(enum load_end want)
{
	assert_int_equal(load_run(&fx.load, fx.eng, &fx.stats, &fx.err), 0);
	assert_int_equal(fx.stats.end, want);
	assert_int_equal(fx.eng->in_flight, 0);
	assert_int_equal(script.nbusy, 0);
	assert_int_equal(fx.nfaulty, fx.nfaults);
}

static void must_refuse(int error, const char *why)
{
	assert_int_equal(load_run(&fx.load, fx.eng, &fx.stats, &fx.err), error);
	assert_non_null(strstr(fx.err.text, why));
	assert_int_equal(fx.eng->in_flight, 0);
}

#define LOAD_TEST(name) TEST_WITH(name, setup, teardown)

#endif
