/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop in virtual time: when requests are issued, and what waits. */
#include "load_fixture.h"

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
	assert_int_equal(fx.ntaken, 1000);
	for (uint64_t i = 0; i < 1000; i++) {
		assert_int_equal(fx.tags[i], i);
		assert_int_equal(fx.submitted[i], f.start_ns + i * INTERVAL_NS);
	}
}

static uint64_t service_long(const struct io_req *req, uint64_t n)
{
	return 7 * INTERVAL_NS + 12345; /* eight in flight: completions fall between deadlines */
}

LOAD_TEST(paced_requests_are_issued_to_the_nanosecond)
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
	return n >= 500 && n < 508 ? NS_PER_S : SERVICE_NS;
}

LOAD_TEST(after_a_stall_due_times_stand_and_lateness_is_reported)
{
	struct pace_feeder f = { .f.next = pace_next, .start_ns = virtual_ns + NS_PER_MS, .count = 1000 };
	uint64_t back, late = 0;

	fx.load.feeder = &f.f;
	script.service = service_stall_at_500;
	go(LOAD_DONE);
	back = f.start_ns + 500 * INTERVAL_NS + NS_PER_S; /* when the first of the stalled eight comes back */
	for (uint64_t i = 0; i < 1000; i++)               /* as the load asked for, whatever the disk did */
		assert_int_equal(fx.due[i], f.start_ns + fx.tags[i] * INTERVAL_NS);
	for (uint64_t i = 0; i < 1000; i++)
		late = fx.submitted[i] - fx.due[i] > late ? fx.submitted[i] - fx.due[i] : late;
	assert_int_equal(late, back - (f.start_ns + 508 * INTERVAL_NS));
}

static enum feed wait_for_ever(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	*ret_until_ns = CLOCK_NEVER;
	return FEED_WAIT;
}

LOAD_TEST(waiting_for_nothing_is_an_error_and_not_a_hang)
{
	struct feeder f = { .next = wait_for_ever };

	fx.load.feeder = &f;
	must_refuse(-EDEADLK, "none is in flight");
}

static enum feed wait_in_the_past(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	*ret_until_ns = now_ns > 1000 * NS_PER_S + 100 ? now_ns : 0;
	return now_ns > 1000 * NS_PER_S + 200 ? FEED_END : FEED_WAIT;
}

LOAD_TEST(a_wait_that_is_over_already_still_moves_time_on)
{
	struct feeder f = { .next = wait_in_the_past };

	fx.load.feeder = &f;
	go(LOAD_DONE);
}

LOAD_TEST(a_long_wait_can_be_cancelled)
{
	struct pace_feeder f = { .f.next = pace_next, .start_ns = virtual_ns + 3600 * NS_PER_S, .count = 1 };

	fx.load.feeder = &f.f;
	fx.cancel_at_ns = virtual_ns + NS_PER_S;
	go(LOAD_CANCELLED);
	assert_in_range(fx.stats.end_ns, fx.cancel_at_ns, fx.cancel_at_ns + 200 * NS_PER_MS);
}

LOAD_TEST(a_long_wait_ends_exactly_when_time_is_up)
{
	struct pace_feeder f = { .f.next = pace_next, .start_ns = virtual_ns + 3600 * NS_PER_S, .count = 1 };

	fx.load.feeder = &f.f;
	fx.load.max_ns = 1234567891;
	go(LOAD_LIMIT);
	assert_int_equal(fx.stats.end_ns, fx.stats.start_ns + 1234567891);
	assert_int_equal(fx.ntaken, 0);
}
