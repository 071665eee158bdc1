/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop in virtual time, over an engine whose every answer the test writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "load/load.h"

#define SERVICE_NS (100 * NS_PER_US)
#define BLOCK      4096u
#define MOST       256

/* ---- a clock and an engine of the test's own ---- */

static uint64_t virtual_ns;

static uint64_t virtual_now(struct clock *clk)
{
	(void)clk;
	return virtual_ns;
}

static void virtual_sleep(struct clock *clk, uint64_t until_ns)
{
	(void)clk;
	if (until_ns > virtual_ns)
		virtual_ns = until_ns;
}

static struct clock virtual_clock = { .name = "virtual", .now_ns = virtual_now, .sleep_until_ns = virtual_sleep };

/* What happens to request number n (from 0, in order of submission). */
struct script {
	uint32_t take_most;                                        /* accepted per submit call; 0: all */
	int32_t (*result)(const struct io_req *req, uint64_t n);   /* NULL: all bytes */
	uint64_t (*service)(const struct io_req *req, uint64_t n); /* NULL: SERVICE_NS */
	int submit_error, reap_error;
	uint64_t nsubmitted, nreads, nwrites;
	struct io_req *busy[MOST];
	uint32_t nbusy;
};

static struct script script;

static int fake_open(struct engine *eng, struct err *err)
{
	(void)eng;
	(void)err;
	return 0;
}

static int fake_submit(struct engine *eng, struct io_req *const *reqs, uint32_t nreqs)
{
	(void)eng;
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

	(void)eng;
	if (script.reap_error)
		return script.reap_error;
	assert_true(script.nbusy > 0 && max > 0);
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
	(void)eng;
}

static const struct engine_ops fake = {
	.name = "fake",
	.help = "answers by script",
	.max_depth = MOST,
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
	struct io_fault faults[MOST];
	uint64_t nfaults, nticks, nstalls, stalled_at_ns, stalled_offset;
};

static struct fixture fx;

static void sink_take(struct sink *s, const struct io_req *req, bool is_fault)
{
	(void)s;
	if (fx.ntaken < 4096) {
		fx.tags[fx.ntaken] = req->tag;
		fx.due[fx.ntaken] = req->due_ns;
		fx.submitted[fx.ntaken] = req->submit_ns;
	}
	fx.ntaken++;
	fx.nfaulty += is_fault;
	if (req->res > 0)
		fx.bytes += (uint64_t)req->res;
}

static void on_fault(void *arg, const struct io_fault *fault)
{
	(void)arg;
	if (fx.nfaults < MOST)
		fx.faults[fx.nfaults] = *fault;
	fx.nfaults++;
}

static void on_tick(void *arg, uint64_t now_ns)
{
	(void)arg;
	fx.nticks++;
	if (fx.cancel_at_ns && now_ns >= fx.cancel_at_ns)
		atomic_store(&fx.cancel, 2);
}

static void on_stall(void *arg, uint64_t now_ns, const struct io_req *oldest)
{
	(void)arg;
	fx.nstalls++;
	fx.stalled_at_ns = now_ns;
	fx.stalled_offset = oldest->offset_bytes;
}

static int setup(void **state)
{
	static const struct engine_ops *const list[] = { &fake, NULL };
	const struct engine_config cfg = { .depth = 8, .buf_bytes = BLOCK };

	(void)state;
	memset(&fx, 0, sizeof(fx));
	memset(&script, 0, sizeof(script));
	virtual_ns = 1000 * NS_PER_S;
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
	};
	return engine_open(&fx.eng, list, "auto", &cfg, &virtual_clock, NULL);
}

static int teardown(void **state)
{
	(void)state;
	engine_close(fx.eng);
	return 0;
}

static void go(enum load_end want)
{
	assert_int_equal(load_run(&fx.load, fx.eng, &fx.stats, &fx.err), 0);
	assert_int_equal(fx.stats.end, want);
	assert_int_equal(fx.eng->in_flight, 0);
	assert_int_equal(script.nbusy, 0);
	assert_int_equal(fx.stats.ops, fx.ntaken);
	assert_int_equal(fx.stats.faults, fx.nfaulty);
	assert_int_equal(fx.stats.faults, fx.nfaults);
	assert_int_equal(fx.stats.bytes, fx.bytes);
}

static void must_refuse(int error, const char *why)
{
	assert_int_equal(load_run(&fx.load, fx.eng, &fx.stats, &fx.err), error);
	assert_non_null(strstr(fx.err.text, why));
	assert_int_equal(fx.eng->in_flight, 0);
}

/* ---- the plain case ---- */

static void all_is_done_in_order_and_on_time(void **state)
{
	(void)state;
	go(LOAD_DONE);
	assert_int_equal(fx.stats.ops, 64);
	assert_int_equal(fx.stats.bytes, 64 * BLOCK);
	for (uint64_t i = 0; i < 64; i++)
		assert_int_equal(fx.tags[i], i);
	assert_int_equal(fx.stats.first_submit_ns, 1000 * NS_PER_S);
	assert_int_equal(fx.stats.last_done_ns, 1000 * NS_PER_S + 64 / 8 * SERVICE_NS);
	assert_int_equal(fx.stats.gone_target, UINT32_MAX);
}

static uint64_t service_backwards(const struct io_req *req, uint64_t n)
{
	(void)req;
	return (100 - n) * NS_PER_MS;
}

static void the_sink_sees_requests_in_order_of_completion(void **state)
{
	(void)state;
	script.service = service_backwards;
	fx.load.max_ops = 8;
	go(LOAD_LIMIT);
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(fx.tags[i], 7 - i);
}

static void a_smaller_depth_than_the_engines_is_kept(void **state)
{
	(void)state;
	fx.load.depth = 2;
	go(LOAD_DONE);
	assert_int_equal(fx.stats.last_done_ns, 1000 * NS_PER_S + 64 / 2 * SERVICE_NS);
}

static void an_engine_that_takes_one_at_a_time_gets_all_in_order(void **state)
{
	(void)state;
	script.take_most = 1;
	go(LOAD_DONE);
	for (uint64_t i = 0; i < 64; i++)
		assert_int_equal(fx.tags[i], i);
}

static void nothing_to_do_ends_at_once(void **state)
{
	(void)state;
	seq_feeder_init(&fx.seq, IO_READ, 0, 0, 0, BLOCK);
	go(LOAD_DONE);
	assert_int_equal(fx.stats.ops, 0);
	assert_int_equal(fx.stats.first_submit_ns, fx.stats.last_done_ns);
}

/* ---- faults ---- */

static uint64_t bad_position;
static int32_t bad_result;

static int32_t one_bad(const struct io_req *req, uint64_t n)
{
	return n == bad_position ? bad_result : (int32_t)req->len_bytes;
}

static void a_fault_at_every_position_is_recorded_and_survived(void **state)
{
	static const int32_t results[] = { -EIO, -ENODATA, -EREMOTEIO, -EILSEQ, -ETIMEDOUT, 0, 512 };

	for (size_t r = 0; r < sizeof(results) / sizeof(results[0]); r++) {
		for (bad_position = 0; bad_position < 64; bad_position++) {
			(void)teardown(state); /* always 0 */
			assert_int_equal(setup(state), 0);
			bad_result = results[r];
			script.result = one_bad;
			go(LOAD_DONE);
			assert_int_equal(fx.stats.ops, 64);
			assert_int_equal(fx.stats.faults, 1);
			assert_int_equal(fx.stats.short_ops, bad_result >= 0);
			assert_int_equal(fx.stats.bytes, 63 * BLOCK + (bad_result > 0 ? (uint64_t)bad_result : 0));
			assert_int_equal(fx.faults[0].res, bad_result);
			assert_int_equal(fx.faults[0].offset_bytes, bad_position * BLOCK);
			assert_int_equal(fx.faults[0].len_bytes, BLOCK);
			assert_int_equal(fx.faults[0].op, IO_READ);
			assert_int_equal(fx.faults[0].time_ns, 1000 * NS_PER_S + (bad_position / 8 + 1) * SERVICE_NS);
		}
	}
}

static int32_t all_bad(const struct io_req *req, uint64_t n)
{
	(void)req;
	(void)n;
	return -EIO;
}

static void more_faults_than_allowed_end_the_run(void **state)
{
	(void)state;
	script.result = all_bad;
	fx.load.max_faults = 10;
	go(LOAD_FAULTS);
	/* The eleventh is too many; what was in flight then is drained. */
	assert_in_range(fx.stats.faults, 11, 11 + 7);
}

static void as_many_faults_as_allowed_do_not(void **state)
{
	(void)state;
	script.result = all_bad;
	fx.load.max_faults = 64;
	go(LOAD_DONE);
	assert_int_equal(fx.stats.faults, 64);
}

static int32_t ends_at_a_mebibyte(const struct io_req *req, uint64_t n)
{
	(void)n;
	return req->offset_bytes + req->len_bytes > (1 << 20) ? (int32_t)((1 << 20) - req->offset_bytes)
	                                                      : (int32_t)req->len_bytes;
}

static void a_short_transfer_at_the_end_of_the_device_is_no_fault(void **state)
{
	(void)state;
	fx.targets[0].touch_end = (1 << 20) + BLOCK;
	seq_feeder_init(&fx.seq, IO_READ, 0, (1 << 20) - 2 * BLOCK + 512, (1 << 20) + 512, BLOCK);
	script.result = ends_at_a_mebibyte;
	go(LOAD_DONE);
	assert_int_equal(fx.stats.faults, 0);
	assert_int_equal(fx.stats.short_ops, 1);
	assert_int_equal(fx.stats.bytes, 2 * BLOCK - 512);
}

/* ---- lost devices ---- */

static bool is_there(void *arg)
{
	return *(bool *)arg;
}

static bool there;
static uint64_t lost_from;

static int32_t empty_from(const struct io_req *req, uint64_t n)
{
	if (n < lost_from || req->target != 0)
		return (int32_t)req->len_bytes;
	there = false;
	return 0;
}

static void reads_that_succeed_with_nothing_after_removal_end_the_run_at_once(void **state)
{
	for (lost_from = 0; lost_from < 64; lost_from++) {
		(void)teardown(state); /* always 0 */
		assert_int_equal(setup(state), 0);
		there = true;
		fx.targets[0].is_there = is_there;
		fx.targets[0].is_there_arg = &there;
		script.result = empty_from;
		go(LOAD_GONE);
		assert_int_equal(fx.stats.gone_target, 0);
		assert_int_equal(fx.stats.ngone, 1);
		assert_in_range(script.nsubmitted, lost_from + 1, lost_from + 8);
	}
}

static void no_such_device_is_gone_without_asking(void **state)
{
	static const int32_t results[] = { -ENODEV, -ENXIO };

	for (size_t i = 0; i < 2; i++) {
		(void)teardown(state); /* always 0 */
		assert_int_equal(setup(state), 0);
		bad_position = 20;
		bad_result = results[i];
		script.result = one_bad;
		go(LOAD_GONE);
	}
}

static void errors_of_a_device_that_is_there_are_only_faults(void **state)
{
	(void)state;
	there = true;
	fx.targets[0].is_there = is_there;
	fx.targets[0].is_there_arg = &there;
	bad_position = 20;
	bad_result = -EIO;
	script.result = one_bad;
	go(LOAD_DONE);
	assert_int_equal(fx.stats.ngone, 0);
}

/* Round robin over the targets that are left. */
struct turn_feeder {
	struct feeder f;
	uint32_t turn, left, nlost;
	bool is_lost[3];
	uint64_t given;
};

static enum feed turn_next(struct feeder *feeder, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct turn_feeder *f = (struct turn_feeder *)feeder;

	(void)now_ns;
	(void)ret_until_ns;
	if (f->given == f->left)
		return FEED_END;
	do {
		f->turn = (f->turn + 1) % 3;
	} while (f->is_lost[f->turn]);
	req->op = IO_READ;
	req->target = f->turn;
	req->offset_bytes = f->given % 200 * BLOCK;
	req->len_bytes = BLOCK;
	req->tag = f->given++;
	return FEED_IO;
}

static void turn_gone(struct feeder *feeder, uint32_t target)
{
	struct turn_feeder *f = (struct turn_feeder *)feeder;

	f->is_lost[target] = true;
	f->nlost++;
}

static void the_others_go_on_when_one_of_several_is_lost(void **state)
{
	struct turn_feeder f = { .f.next = turn_next, .f.gone = turn_gone, .left = 300 };

	(void)state;
	there = true;
	lost_from = 100;
	fx.targets[0].is_there = is_there;
	fx.targets[0].is_there_arg = &there;
	fx.load.feeder = &f.f;
	fx.load.keep_going_when_gone = true;
	fx.load.max_faults = 1; /* what was in flight to the lost one does not count */
	script.result = empty_from;
	go(LOAD_DONE);
	assert_int_equal(f.nlost, 1);
	assert_true(f.is_lost[0]);
	assert_int_equal(fx.stats.gone_target, 0);
	assert_int_equal(fx.stats.ops, 300);
	assert_in_range(fx.stats.faults, 1, 8);
}

static int32_t nobody_home(const struct io_req *req, uint64_t n)
{
	(void)req;
	return n < 50 ? (int32_t)req->len_bytes : -ENODEV;
}

static void losing_the_last_target_ends_the_run(void **state)
{
	struct turn_feeder f = { .f.next = turn_next, .f.gone = turn_gone, .left = 300 };

	(void)state;
	fx.load.feeder = &f.f;
	fx.load.keep_going_when_gone = true;
	script.result = nobody_home;
	go(LOAD_GONE);
	assert_int_equal(fx.stats.ngone, 3);
	assert_int_equal(f.nlost, 2); /* at the third there is nobody left to feed */
}

/* ---- limits and ends ---- */

static void no_more_requests_than_max_ops_are_issued(void **state)
{
	for (uint64_t n = 1; n <= 63; n++) {
		(void)teardown(state); /* always 0 */
		assert_int_equal(setup(state), 0);
		fx.load.max_ops = n;
		go(LOAD_LIMIT);
		assert_int_equal(fx.stats.ops, n);
	}
}

static void no_more_is_issued_once_max_bytes_are(void **state)
{
	(void)state;
	fx.load.max_bytes = 10 * BLOCK + 1;
	go(LOAD_LIMIT);
	assert_int_equal(fx.stats.bytes, 11 * BLOCK);
}

static void time_is_up_exactly_and_what_is_in_flight_is_drained(void **state)
{
	(void)state;
	fx.load.max_ns = 5 * SERVICE_NS / 2;
	go(LOAD_LIMIT);
	assert_int_equal(fx.stats.ops, 3 * 8); /* issued at 0, 1 and 2 service times */
	assert_int_equal(fx.stats.last_done_ns, fx.stats.start_ns + 3 * SERVICE_NS);
}

static uint64_t service_50ms(const struct io_req *req, uint64_t n)
{
	(void)req;
	(void)n;
	return 50 * NS_PER_MS;
}

static void a_cancel_is_seen_within_100_ms(void **state)
{
	(void)state;
	script.service = service_50ms;
	fx.cancel_at_ns = 1000 * NS_PER_S + 150 * NS_PER_MS;
	go(LOAD_CANCELLED);
	assert_in_range(fx.stats.end_ns, fx.cancel_at_ns, fx.cancel_at_ns + 150 * NS_PER_MS);
	assert_true(fx.stats.ops < 64);
}

static void a_cancel_before_the_start_issues_nothing(void **state)
{
	(void)state;
	atomic_store(&fx.cancel, 15);
	go(LOAD_CANCELLED);
	assert_int_equal(script.nsubmitted, 0);
}

static uint64_t service_third_hangs(const struct io_req *req, uint64_t n)
{
	(void)req;
	return n == 3 ? 3600 * NS_PER_S : SERVICE_NS;
}

static void a_stall_is_told_once_and_then_the_run_goes_on(void **state)
{
	(void)state;
	script.service = service_third_hangs;
	go(LOAD_DONE);
	assert_int_equal(fx.nstalls, 1);
	assert_int_equal(fx.stalled_offset, 3 * BLOCK);
	/* The other 63 go on for a moment, then nothing comes for 5 s. */
	assert_in_range(fx.stalled_at_ns, fx.stats.start_ns + 5 * NS_PER_S, fx.stats.start_ns + 52 * NS_PER_S / 10);
	assert_int_equal(fx.stats.ops, 64);
}

static void ticks_come_ten_times_a_second(void **state)
{
	(void)state;
	script.service = service_50ms;
	seq_feeder_init(&fx.seq, IO_READ, 0, 0, 200 * BLOCK, BLOCK);
	fx.load.depth = 2;
	go(LOAD_DONE); /* 100 times 50 ms */
	assert_in_range(fx.nticks, 45, 50);
}

/* ---- what the loop refuses ---- */

static void a_write_without_permit_is_refused_and_nothing_is_written(void **state)
{
	(void)state;
	fx.seq.op = IO_WRITE;
	must_refuse(-EPERM, "no permit");
	assert_int_equal(script.nwrites, 0);
}

static void a_write_with_permit_is_done(void **state)
{
	(void)state;
	fx.seq.op = IO_WRITE;
	fx.targets[0].permit = (const struct write_permit *)&some_permit;
	go(LOAD_DONE);
	assert_int_equal(script.nwrites, 64);
}

static void a_permit_for_one_target_is_none_for_the_next(void **state)
{
	(void)state;
	fx.seq.op = IO_WRITE;
	fx.seq.target = 1;
	fx.targets[0].permit = (const struct write_permit *)&some_permit;
	must_refuse(-EPERM, "no permit");
	assert_int_equal(script.nwrites, 0);
}

static void requests_outside_of_the_plan_are_refused(void **state)
{
	static const struct {
		uint64_t first, end, offset;
		uint32_t len;
	} cases[] = {
		{ 8192, 65536, 4096, 4096 },          /* before */
		{ 8192, 65536, 65536, 4096 },         /* behind */
		{ 8192, 65536, 65536 - 512, 4096 },   /* over the edge */
		{ 0, 65536, UINT64_MAX - 511, 4096 }, /* wraps round */
		{ 0, 0, (1 << 20) - 512, 4096 },      /* over the end of the device */
		{ 0, 0, 1 << 20, 512 },               /* behind it */
		{ 0, 0, 100, 512 },
		{ 0, 0, 512, 100 }, /* misaligned */
		{ 0, 0, 0, 0 },
		{ 0, 0, 0, 2 * BLOCK }, /* empty; larger than the buffer */
		{ 0, 0, 0, 1u << 31 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct list_item item = { .offset_bytes = cases[i].offset, .len_bytes = cases[i].len };
		struct list_feeder list;

		(void)teardown(state); /* always 0 */
		assert_int_equal(setup(state), 0);
		fx.targets[0].touch_first = cases[i].first;
		fx.targets[0].touch_end = cases[i].end;
		list_feeder_init(&list, &item, 1);
		fx.load.feeder = &list.f;
		must_refuse(-EINVAL, "was not issued");
		assert_int_equal(script.nsubmitted, 0);
	}
}

static void a_target_that_does_not_exist_is_refused(void **state)
{
	(void)state;
	fx.seq.target = 3;
	must_refuse(-EINVAL, "target 3 of 3");
}

static void what_was_issued_before_a_refusal_is_drained(void **state)
{
	static const struct list_item items[] = { { 0, 4096, 0, IO_READ },
		                                  { 4096, 4096, 0, IO_READ },
		                                  { 0, 512, 0, IO_WRITE } };
	struct list_feeder list;

	(void)state;
	fx.load.depth = 1;
	list_feeder_init(&list, items, 3);
	fx.load.feeder = &list.f;
	must_refuse(-EPERM, "no permit");
	assert_int_equal(fx.stats.ops, 2);
	assert_int_equal(script.nwrites, 0);
}

static void an_engine_that_takes_nothing_is_an_error_and_not_a_hang(void **state)
{
	(void)state;
	script.submit_error = -ENOMEM;
	must_refuse(-ENOMEM, "does not take requests");
	assert_int_equal(fx.ntaken, 0);
}

/* Leaked on purpose; a test has to give it back. */
static void give_back_leaked(void)
{
	struct io_req *reqs = script.busy[0] - script.busy[0]->slot;

	engine_close(fx.eng); /* leaves the engine alone, as it is leaky */
	free(reqs);
	fx.eng->is_leaky = false;
	fx.eng->in_flight = 0;
}

static void an_engine_that_gives_nothing_back_is_an_error_and_its_requests_are_leaked(void **state)
{
	(void)state;
	script.reap_error = -EIO;
	assert_int_equal(load_run(&fx.load, fx.eng, &fx.stats, &fx.err), -EIO);
	assert_non_null(strstr(fx.err.text, "failed while waiting"));
	assert_true(fx.eng->is_leaky);
	give_back_leaked();
}

static void a_drain_after_cancel_gives_up_after_10_s_and_leaks(void **state)
{
	(void)state;
	script.service = service_third_hangs;
	fx.cancel_at_ns = 1000 * NS_PER_S + 30 * NS_PER_S;
	assert_int_equal(load_run(&fx.load, fx.eng, &fx.stats, &fx.err), 0);
	assert_int_equal(fx.stats.end, LOAD_CANCELLED);
	assert_true(fx.eng->is_leaky);
	assert_in_range(fx.stats.end_ns, fx.cancel_at_ns + 10 * NS_PER_S, fx.cancel_at_ns + 11 * NS_PER_S);
	assert_int_equal(load_run(&fx.load, fx.eng, &fx.stats, &fx.err), -EBUSY);
	give_back_leaked();
}

static void a_flush_needs_no_permit_and_has_no_place(void **state)
{
	static const struct list_item items[] = { { 1 << 21, 7, 0, IO_FLUSH } };
	struct list_feeder list;

	(void)state;
	list_feeder_init(&list, items, 1);
	fx.load.feeder = &list.f;
	go(LOAD_DONE);
	assert_int_equal(fx.stats.ops, 1);
	assert_int_equal(fx.stats.bytes, 0);
}

/* ---- pacing ---- */

#define INTERVAL_NS 1280000

struct pace_feeder {
	struct feeder f;
	uint64_t start_ns, given, count;
	bool gives_ahead; /* gives requests with a due time in the future, instead of FEED_WAIT */
};

static enum feed pace_next(struct feeder *feeder, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct pace_feeder *f = (struct pace_feeder *)feeder;
	uint64_t due = f->start_ns + f->given * INTERVAL_NS;

	if (f->given == f->count)
		return FEED_END;
	if (due > now_ns && !f->gives_ahead) {
		*ret_until_ns = due;
		return FEED_WAIT;
	}
	req->op = IO_READ;
	req->target = 0;
	req->offset_bytes = f->given % 100 * BLOCK;
	req->len_bytes = BLOCK;
	req->due_ns = due;
	req->tag = f->given++;
	return FEED_IO;
}

static void pace(bool gives_ahead, uint64_t (*service)(const struct io_req *, uint64_t))
{
	struct pace_feeder f = { .f.next = pace_next, .start_ns = virtual_ns + NS_PER_MS, .count = 1000 };

	f.gives_ahead = gives_ahead;
	fx.load.feeder = &f.f;
	script.service = service;
	go(LOAD_DONE);
	assert_int_equal(fx.stats.ops, 1000);
	assert_int_equal(fx.stats.late_max_ns, 0);
	for (uint64_t i = 0; i < 1000; i++) {
		assert_int_equal(fx.tags[i], i);
		assert_int_equal(fx.submitted[i], f.start_ns + i * INTERVAL_NS);
	}
}

static uint64_t service_long(const struct io_req *req, uint64_t n)
{
	(void)req;
	(void)n;
	return 7 * INTERVAL_NS + 12345; /* eight in flight: completions fall between deadlines */
}

static void paced_requests_are_issued_to_the_nanosecond(void **state)
{
	for (int ahead = 0; ahead < 2; ahead++) {
		for (int slow = 0; slow < 2; slow++) {
			(void)teardown(state); /* always 0 */
			assert_int_equal(setup(state), 0);
			pace(ahead, slow ? service_long : NULL);
		}
	}
}

static uint64_t service_stall_at_500(const struct io_req *req, uint64_t n)
{
	(void)req;
	return n >= 500 && n < 508 ? NS_PER_S : SERVICE_NS;
}

static void after_a_stall_due_times_stand_and_lateness_is_told(void **state)
{
	struct pace_feeder f = { .f.next = pace_next, .start_ns = virtual_ns + NS_PER_MS, .count = 1000 };
	uint64_t back;

	(void)state;
	fx.load.feeder = &f.f;
	script.service = service_stall_at_500;
	go(LOAD_DONE);
	back = f.start_ns + 500 * INTERVAL_NS + NS_PER_S; /* when the first of the stalled eight comes back */
	for (uint64_t i = 0; i < 1000; i++)               /* as the load asked for, whatever the disk did */
		assert_int_equal(fx.due[i], f.start_ns + fx.tags[i] * INTERVAL_NS);
	assert_int_equal(fx.stats.late_max_ns, back - (f.start_ns + 508 * INTERVAL_NS));
}

static enum feed wait_for_ever(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	(void)f;
	(void)now_ns;
	(void)req;
	*ret_until_ns = CLOCK_NEVER;
	return FEED_WAIT;
}

static void waiting_for_nothing_is_an_error_and_not_a_hang(void **state)
{
	struct feeder f = { .next = wait_for_ever };

	(void)state;
	fx.load.feeder = &f;
	must_refuse(-EDEADLK, "none is in flight");
}

static enum feed wait_in_the_past(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	(void)f;
	(void)req;
	*ret_until_ns = now_ns > 1000 * NS_PER_S + 100 ? now_ns : 0;
	return now_ns > 1000 * NS_PER_S + 200 ? FEED_END : FEED_WAIT;
}

static void a_wait_that_is_over_already_still_moves_time_on(void **state)
{
	struct feeder f = { .next = wait_in_the_past };

	(void)state;
	fx.load.feeder = &f;
	go(LOAD_DONE);
}

static void a_long_wait_can_be_cancelled(void **state)
{
	struct pace_feeder f = { .f.next = pace_next, .start_ns = virtual_ns + 3600 * NS_PER_S, .count = 1 };

	(void)state;
	fx.load.feeder = &f.f;
	fx.cancel_at_ns = virtual_ns + NS_PER_S;
	go(LOAD_CANCELLED);
	assert_in_range(fx.stats.end_ns, fx.cancel_at_ns, fx.cancel_at_ns + 200 * NS_PER_MS);
}

static void a_long_wait_ends_exactly_when_time_is_up(void **state)
{
	struct pace_feeder f = { .f.next = pace_next, .start_ns = virtual_ns + 3600 * NS_PER_S, .count = 1 };

	(void)state;
	fx.load.feeder = &f.f;
	fx.load.max_ns = 1234567891;
	go(LOAD_LIMIT);
	assert_int_equal(fx.stats.end_ns, fx.stats.start_ns + 1234567891);
	assert_int_equal(fx.stats.ops, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_is_done_in_order_and_on_time),
		TEST(the_sink_sees_requests_in_order_of_completion),
		TEST(a_smaller_depth_than_the_engines_is_kept),
		TEST(an_engine_that_takes_one_at_a_time_gets_all_in_order),
		TEST(nothing_to_do_ends_at_once),
		TEST(a_fault_at_every_position_is_recorded_and_survived),
		TEST(more_faults_than_allowed_end_the_run),
		TEST(as_many_faults_as_allowed_do_not),
		TEST(a_short_transfer_at_the_end_of_the_device_is_no_fault),
		TEST(reads_that_succeed_with_nothing_after_removal_end_the_run_at_once),
		TEST(no_such_device_is_gone_without_asking),
		TEST(errors_of_a_device_that_is_there_are_only_faults),
		TEST(the_others_go_on_when_one_of_several_is_lost),
		TEST(losing_the_last_target_ends_the_run),
		TEST(no_more_requests_than_max_ops_are_issued),
		TEST(no_more_is_issued_once_max_bytes_are),
		TEST(time_is_up_exactly_and_what_is_in_flight_is_drained),
		TEST(a_cancel_is_seen_within_100_ms),
		TEST(a_cancel_before_the_start_issues_nothing),
		TEST(a_drain_after_cancel_gives_up_after_10_s_and_leaks),
		TEST(a_stall_is_told_once_and_then_the_run_goes_on),
		TEST(ticks_come_ten_times_a_second),
		TEST(a_write_without_permit_is_refused_and_nothing_is_written),
		TEST(a_write_with_permit_is_done),
		TEST(a_permit_for_one_target_is_none_for_the_next),
		TEST(requests_outside_of_the_plan_are_refused),
		TEST(a_target_that_does_not_exist_is_refused),
		TEST(what_was_issued_before_a_refusal_is_drained),
		TEST(an_engine_that_takes_nothing_is_an_error_and_not_a_hang),
		TEST(an_engine_that_gives_nothing_back_is_an_error_and_its_requests_are_leaked),
		TEST(a_flush_needs_no_permit_and_has_no_place),
		TEST(paced_requests_are_issued_to_the_nanosecond),
		TEST(after_a_stall_due_times_stand_and_lateness_is_told),
		TEST(waiting_for_nothing_is_an_error_and_not_a_hang),
		TEST(a_wait_that_is_over_already_still_moves_time_on),
		TEST(a_long_wait_can_be_cancelled),
		TEST(a_long_wait_ends_exactly_when_time_is_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
