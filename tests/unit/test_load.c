/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop in virtual time: faults, lost devices, limits, ends, what it refuses. */
#include "load_fixture.h"

/* ---- the plain case ---- */

/* As the engine takes it; at a smaller depth; of an engine that takes one at a time. */
LOAD_TEST(all_is_done_in_order_and_on_time)
{
	for (uint32_t way = 0; way < 3; way++) {
		fresh();
		fx.load.depth = way == 1 ? 2 : 0;
		script.take_most = way == 2 ? 1 : 0;
		go(LOAD_DONE);
		assert_int_equal(fx.ntaken, 64);
		assert_int_equal(fx.bytes, 64 * BLOCK);
		for (uint64_t i = 0; i < 64; i++)
			assert_int_equal(fx.tags[i], i);
		if (way < 2)
			assert_int_equal(fx.stats.last_done_ns, 1000 * NS_PER_S + 64 / (way ? 2 : 8) * SERVICE_NS);
		assert_int_equal(fx.stats.gone_target, UINT32_MAX);
	}
}

static uint64_t service_backwards(const struct io_req *req, uint64_t n)
{
	return (100 - n) * NS_PER_MS;
}

LOAD_TEST(the_sink_sees_requests_in_order_of_completion)
{
	script.service = service_backwards;
	fx.seq.end = 8 * BLOCK;
	go(LOAD_DONE);
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(fx.tags[i], 7 - i);
}

LOAD_TEST(nothing_to_do_ends_at_once)
{
	seq_feeder_init(&fx.seq, IO_READ, 0, 0, 0, BLOCK);
	go(LOAD_DONE);
	assert_int_equal(fx.ntaken, 0);
}

/* ---- faults ---- */

static uint64_t bad_position;
static int32_t bad_result;

static int32_t one_bad(const struct io_req *req, uint64_t n)
{
	return n == bad_position ? bad_result : (int32_t)req->len_bytes;
}

LOAD_TEST(a_fault_at_every_position_is_recorded_and_survived)
{
	static const int32_t results[] = { -EIO, -ENODATA, -EREMOTEIO, -EILSEQ, -ETIMEDOUT, 0, 512 };

	for (size_t r = 0; r < ARRAY_LEN(results); r++) {
		for (bad_position = 0; bad_position < 64; bad_position++) {
			fresh();
			bad_result = results[r];
			script.result = one_bad;
			go(LOAD_DONE);
			assert_int_equal(fx.ntaken, 64);
			assert_int_equal(fx.nfaulty, 1);
			assert_int_equal(fx.bytes, 63 * BLOCK + (bad_result > 0 ? (uint64_t)bad_result : 0));
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
	return -EIO;
}

LOAD_TEST(more_faults_than_allowed_end_the_run_and_as_many_do_not)
{
	script.result = all_bad;
	fx.load.max_faults = 64;
	go(LOAD_DONE);
	assert_int_equal(fx.nfaulty, 64);
	fresh();
	script.result = all_bad;
	fx.load.max_faults = 10;
	go(LOAD_FAULTS);
	/* The eleventh is too many; what was in flight then is drained. */
	assert_in_range(fx.nfaulty, 11, 11 + 7);
}

static int32_t ends_at_a_mebibyte(const struct io_req *req, uint64_t n)
{
	return req->offset_bytes + req->len_bytes > (1 << 20) ? (int32_t)((1 << 20) - req->offset_bytes)
	                                                      : (int32_t)req->len_bytes;
}

LOAD_TEST(a_short_transfer_at_the_end_of_the_device_is_no_fault)
{
	fx.targets[0].touch_end = (1 << 20) + BLOCK;
	seq_feeder_init(&fx.seq, IO_READ, 0, (1 << 20) - 2 * BLOCK + 512, (1 << 20) + 512, BLOCK);
	script.result = ends_at_a_mebibyte;
	go(LOAD_DONE);
	assert_int_equal(fx.nfaulty, 0);
	assert_int_equal(fx.bytes, 2 * BLOCK - 512);
}

/* ---- lost devices ---- */

static bool is_there(void *arg)
{
	return *(bool *)arg;
}

static bool there;
static uint64_t lost_from;

static void watch_first(void)
{
	fx.targets[0].is_there = is_there;
	fx.targets[0].is_there_arg = &there;
}

static int32_t empty_from(const struct io_req *req, uint64_t n)
{
	if (n < lost_from || req->target != 0)
		return (int32_t)req->len_bytes;
	there = false;
	return 0;
}

LOAD_TEST(reads_that_succeed_with_nothing_after_removal_end_the_run_at_once)
{
	for (lost_from = 0; lost_from < 64; lost_from++) {
		fresh();
		there = true;
		watch_first();
		script.result = empty_from;
		go(LOAD_GONE);
		assert_int_equal(fx.stats.gone_target, 0);
		assert_int_equal(fx.stats.ngone, 1);
		assert_in_range(script.nsubmitted, lost_from + 1, lost_from + 8);
	}
}

LOAD_TEST(no_such_device_is_gone_without_asking_and_an_error_of_one_that_is_there_a_fault)
{
	static const int32_t results[] = { -ENODEV, -ENXIO, -EIO };

	for (size_t i = 0; i < ARRAY_LEN(results); i++) {
		fresh();
		there = true;
		if (results[i] == -EIO)
			watch_first();
		bad_position = 20;
		bad_result = results[i];
		script.result = one_bad;
		go(results[i] == -EIO ? LOAD_DONE : LOAD_GONE);
		assert_int_equal(fx.stats.ngone, results[i] != -EIO);
	}
}

/* Round robin over the targets that have had no fault. */
struct turn_feeder {
	struct feeder f;
	uint32_t turn, left;
	bool is_lost[3];
	uint64_t given;
};

static enum feed turn_next(struct feeder *feeder, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct turn_feeder *f = (struct turn_feeder *)feeder;

	if (f->given == f->left)
		return FEED_END;
	for (uint64_t i = 0; i < fx.nfaults && i < MOST; i++)
		f->is_lost[fx.faults[i].target] = true;
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

LOAD_TEST(the_others_go_on_when_one_of_several_is_lost)
{
	struct turn_feeder f = { .f.next = turn_next, .left = 300 };

	there = true;
	lost_from = 100;
	watch_first();
	fx.load.feeder = &f.f;
	fx.load.keep_going_when_gone = true;
	fx.load.max_faults = 1; /* what was in flight to the lost one does not count */
	script.result = empty_from;
	go(LOAD_DONE);
	assert_true(f.is_lost[0]);
	assert_int_equal(fx.stats.gone_target, 0);
	assert_int_equal(fx.ntaken, 300);
	assert_in_range(fx.nfaulty, 1, 8);
}

static int32_t nobody_home(const struct io_req *req, uint64_t n)
{
	return n < 50 ? (int32_t)req->len_bytes : -ENODEV;
}

LOAD_TEST(losing_the_last_target_ends_the_run)
{
	struct turn_feeder f = { .f.next = turn_next, .left = 300 };

	fx.load.feeder = &f.f;
	fx.load.keep_going_when_gone = true;
	script.result = nobody_home;
	go(LOAD_GONE);
	assert_int_equal(fx.stats.ngone, 3);
}

/* ---- limits and ends ---- */

LOAD_TEST(a_limit_of_time_is_kept_and_what_is_in_flight_is_drained)
{
	fx.load.max_ns = 5 * SERVICE_NS / 2;
	go(LOAD_LIMIT);
	assert_int_equal(fx.ntaken, 3 * 8); /* issued at 0, 1 and 2 service times */
	assert_int_equal(fx.stats.last_done_ns, fx.stats.start_ns + 3 * SERVICE_NS);
}

static uint64_t service_50ms(const struct io_req *req, uint64_t n)
{
	return 50 * NS_PER_MS;
}

LOAD_TEST(a_cancel_is_seen_within_100_ms_and_one_before_the_start_issues_nothing)
{
	script.service = service_50ms;
	fx.cancel_at_ns = 1000 * NS_PER_S + 150 * NS_PER_MS;
	go(LOAD_CANCELLED);
	assert_in_range(fx.stats.end_ns, fx.cancel_at_ns, fx.cancel_at_ns + 150 * NS_PER_MS);
	assert_true(fx.ntaken < 64);
	fresh();
	atomic_store(&fx.cancel, 15);
	go(LOAD_CANCELLED);
	assert_int_equal(script.nsubmitted, 0);
}

static uint64_t service_third_hangs(const struct io_req *req, uint64_t n)
{
	return n == 3 ? 3600 * NS_PER_S : SERVICE_NS;
}

LOAD_TEST(a_stall_is_reported_once_and_then_the_run_goes_on)
{
	script.service = service_third_hangs;
	go(LOAD_DONE);
	assert_int_equal(fx.nstalls, 1);
	assert_int_equal(fx.stalled_offset, 3 * BLOCK);
	/* The other 63 go on for a moment, then nothing comes for 5 s. */
	assert_in_range(fx.stalled_at_ns, fx.stats.start_ns + 5 * NS_PER_S, fx.stats.start_ns + 52 * NS_PER_S / 10);
	assert_int_equal(fx.ntaken, 64);
	fresh(); /* within submit: told afterwards */
	script.service = service_third_hangs;
	script.waits_in_submit = true;
	fx.load.depth = 1;
	go(LOAD_DONE);
	assert_int_equal(fx.nstalls, 1);
	assert_int_equal(fx.stalled_offset, 3 * BLOCK);
}

static size_t late_requests(void)
{
	size_t n = 0;

	for (uint64_t i = 0; i < fx.ntaken; i++)
		n += fx.is_late[i];
	return n;
}

LOAD_TEST(what_was_under_way_when_the_program_did_not_run_is_late_and_no_stall)
{
	script.frozen_at_ns = virtual_ns + SERVICE_NS;
	script.frozen_ns = 60 * NS_PER_S;
	go(LOAD_DONE);
	assert_int_equal(fx.nstops, 1);
	assert_in_range(fx.stopped_ns, 59 * NS_PER_S, 60 * NS_PER_S);
	assert_in_range(fx.stopped_from_ns, fx.stats.start_ns, fx.stats.start_ns + NS_PER_S);
	assert_in_range(late_requests(), 1, 8); /* at most what fits in flight */
	assert_int_equal(fx.stats.late, late_requests());
	assert_int_equal(fx.nstalls, 0);
	assert_int_equal(fx.nfaulty, 0);
	assert_int_equal(fx.ntaken, 64);
}

LOAD_TEST(a_suspended_machine_is_seen_though_the_clock_stood_still)
{
	script.frozen_at_ns = virtual_ns + SERVICE_NS;
	script.suspended_ns = 3600 * NS_PER_S;
	go(LOAD_DONE);
	assert_int_equal(fx.nstops, 1);
	assert_int_equal(fx.stopped_ns, 3600 * NS_PER_S);
	assert_in_range(late_requests(), 1, 8);
}

static uint64_t service_slow(const struct io_req *req, uint64_t n)
{
	return n % 5 ? SERVICE_NS : 3 * NS_PER_S;
}

LOAD_TEST(a_slow_disk_is_no_stop_of_the_program)
{
	script.service = service_slow;
	go(LOAD_DONE);
	assert_int_equal(fx.nstops, 0);
	assert_int_equal(late_requests(), 0);
}

LOAD_TEST(ticks_come_ten_times_a_second)
{
	script.service = service_50ms;
	seq_feeder_init(&fx.seq, IO_READ, 0, 0, 200 * BLOCK, BLOCK);
	fx.load.depth = 2;
	go(LOAD_DONE); /* 100 times 50 ms */
	assert_in_range(fx.nticks, 45, 50);
}

/* ---- what the loop refuses ---- */

/* With one for its target it is done; one for another target is none. */
LOAD_TEST(a_write_without_permit_is_refused_and_nothing_is_written)
{
	for (int permits = 0; permits < 3; permits++) {
		fresh();
		fx.seq.op = IO_WRITE;
		fx.seq.target = permits == 1;
		fx.targets[0].permit = permits ? (const struct write_permit *)&some_permit : NULL;
		if (permits == 2)
			go(LOAD_DONE);
		else
			must_refuse(-EPERM, "no permit");
		assert_int_equal(script.nwrites, permits == 2 ? 64 : 0);
	}
}

LOAD_TEST(a_write_with_fua_without_permit_is_refused_even_where_the_engine_knows_it)
{
	struct engine_ops knows = *fx.eng->ops;

	knows.has_commands = true;
	fx.eng->ops = &knows;
	fx.seq.op = IO_WRITE_FUA;
	must_refuse(-EPERM, "no permit");
	assert_int_equal(script.nsubmitted, 0);
	seq_feeder_init(&fx.seq, IO_READ_FUA, 0, 0, 64 * BLOCK, BLOCK);
	go(LOAD_DONE);
	assert_int_equal(script.nsubmitted, 64);
	fx.eng->ops = &fake;
}

LOAD_TEST(commands_are_refused_where_the_engine_knows_none)
{
	static const enum io_op ops[] = { IO_VERIFY, IO_READ_FUA, IO_WRITE_FUA };

	fx.targets[0].permit = (const struct write_permit *)&some_permit;
	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		fx.seq.op = ops[i];
		must_refuse(-EOPNOTSUPP, "knows no such commands");
	}
	assert_int_equal(script.nsubmitted, 0);
}

LOAD_TEST(requests_outside_of_the_plan_are_refused)
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

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct list_item item = { .offset_bytes = cases[i].offset, .len_bytes = cases[i].len };
		struct list_feeder list;

		fresh();
		fx.targets[0].touch_first = cases[i].first;
		fx.targets[0].touch_end = cases[i].end;
		list_feeder_init(&list, &item, 1);
		fx.load.feeder = &list.f;
		must_refuse(-EINVAL, "was not issued");
		assert_int_equal(script.nsubmitted, 0);
	}
}

/* ---- requests by the handful ---- */

static uint32_t list_many(struct feeder *feeder, struct io_req *const *reqs, uint32_t n)
{
	struct list_feeder *f = (struct list_feeder *)feeder;
	uint64_t until;
	uint32_t i = 0;

	while (i < n && f->at < f->n)
		assert_int_equal(f->f.next(&f->f, 0, reqs[i++], &until), FEED_IO);
	return i;
}

LOAD_TEST(the_gate_looks_at_each_of_a_handful)
{
	static const struct list_item good = { .offset_bytes = 8192, .len_bytes = 4096 };
	static const struct {
		struct list_item item;
		int error;
	} bad[] = {
		{ { 4096, 4096, 0, IO_READ }, -EINVAL },  { { 65536, 4096, 0, IO_READ }, -EINVAL },
		{ { 65024, 4096, 0, IO_READ }, -EINVAL }, { { UINT64_MAX - 511, 4096, 0, IO_READ }, -EINVAL },
		{ { 8292, 4096, 0, IO_READ }, -EINVAL },  { { 8192, 100, 0, IO_READ }, -EINVAL },
		{ { 8192, 0, 0, IO_READ }, -EINVAL },     { { 8192, 2 * BLOCK, 0, IO_READ }, -EINVAL },
		{ { 8192, 4096, 3, IO_READ }, -EINVAL },  { { 8192, 4096, UINT32_MAX, IO_READ }, -EINVAL },
		{ { 8192, 4096, 0, IO_WRITE }, -EPERM },  { { 8192, 4096, 1, IO_WRITE }, -EPERM },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		for (size_t place = 0; place < 7; place++) {
			struct list_item items[] = { good, good, good, good, good, good, good };
			struct list_feeder list;

			items[place] = bad[i].item;
			fresh();
			fx.targets[0].touch_first = 8192;
			fx.targets[0].touch_end = 65536;
			list_feeder_init(&list, items, 7);
			list.f.many = list_many;
			fx.load.feeder = &list.f;
			must_refuse(bad[i].error, "not issued");
			assert_int_equal(script.nwrites, 0);
		}
	}
}

LOAD_TEST(a_handful_of_all_kinds_is_issued_once_each_and_in_order)
{
	struct list_item items[1000];
	struct list_feeder list;

	for (uint32_t i = 0; i < 1000; i++)
		items[i] = (struct list_item){
			.offset_bytes = 512ull * (i % 1900),
			.len_bytes = i % 3 == 0 ? 4096 : 512,
			.target = i / 7 % 3,
			.op = i % 5 == 4 ? IO_WRITE : IO_READ,
		};
	for (int i = 0; i < 3; i++)
		fx.targets[i].permit = (const struct write_permit *)&some_permit;
	list_feeder_init(&list, items, 1000);
	list.f.many = list_many;
	fx.load.feeder = &list.f;
	go(LOAD_DONE);
	assert_int_equal(fx.ntaken, 1000);
	assert_int_equal(script.nwrites, 200);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(fx.tags[i], i);
}

LOAD_TEST(what_was_issued_before_a_refusal_is_drained)
{
	static const struct list_item items[] = { { 0, 4096, 0, IO_READ },
		                                  { 4096, 4096, 0, IO_READ },
		                                  { 0, 512, 0, IO_WRITE } };
	struct list_feeder list;

	fx.load.depth = 1;
	list_feeder_init(&list, items, 3);
	fx.load.feeder = &list.f;
	must_refuse(-EPERM, "no permit");
	assert_int_equal(fx.ntaken, 2);
	assert_int_equal(script.nwrites, 0);
}

LOAD_TEST(an_engine_that_takes_nothing_is_an_error_and_not_a_hang)
{
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

LOAD_TEST(an_engine_that_gives_nothing_back_is_an_error_and_its_requests_are_leaked)
{
	script.reap_error = -EIO;
	assert_int_equal(load_run(&fx.load, fx.eng, &fx.stats, &fx.err), -EIO);
	assert_non_null(strstr(fx.err.text, "failed while waiting"));
	assert_true(fx.eng->is_leaky);
	give_back_leaked();
}

LOAD_TEST(a_drain_after_cancel_gives_up_after_10_s_and_leaks)
{
	script.service = service_third_hangs;
	fx.cancel_at_ns = 1000 * NS_PER_S + 30 * NS_PER_S;
	assert_int_equal(load_run(&fx.load, fx.eng, &fx.stats, &fx.err), 0);
	assert_int_equal(fx.stats.end, LOAD_CANCELLED);
	assert_true(fx.eng->is_leaky);
	assert_in_range(fx.stats.end_ns, fx.cancel_at_ns + 10 * NS_PER_S, fx.cancel_at_ns + 11 * NS_PER_S);
	assert_int_equal(load_run(&fx.load, fx.eng, &fx.stats, &fx.err), -EBUSY);
	give_back_leaked();
}

LOAD_TEST(a_flush_needs_no_permit_and_has_no_place)
{
	static const struct list_item items[] = { { 1 << 21, 7, 0, IO_FLUSH } };
	struct list_feeder list;

	list_feeder_init(&list, items, 1);
	fx.load.feeder = &list.f;
	go(LOAD_DONE);
	assert_int_equal(fx.ntaken, 1);
	assert_int_equal(fx.bytes, 0);
}
