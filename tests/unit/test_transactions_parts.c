/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two things of `transactions` that have threads: real work by the processor's clock, and a row for each of a
 * million transactions. */
#include "test.h"

#include "folder.h"
#include "load/load.h"
#include "measure/transactions/cpu.h"
#include "measure/transactions/transactions.h"

#define BURSTS  40
#define LENGTHS 4 /* 0 to 3 ms */
#define ROWS    1000000

static struct tx_cpu *cpu_new(unsigned processors)
{
	struct tx_cpu *c;

	MUST(tx_cpu_open(&c, processors, clock_monotonic(), &err));
	return c;
}

static struct tx_burst *wait_for_one(struct tx_cpu *c)
{
	struct tx_burst *b = tx_cpu_take(c);

	while (!b) {
		tx_cpu_wait(c, clock_now_ns(clock_monotonic()) + NS_PER_S);
		b = tx_cpu_take(c);
	}
	return b;
}

/*
 * The thread's own clock does not run while others have the processor; on a virtual machine whose processor is stolen,
 * and in interrupts, it does. So of the bursts that ask for the same the one that took least is held against it: what
 * overshoots by its own doing does so in all of them.
 */
TEST(a_burst_takes_the_processor_time_that_was_asked)
{
	struct tx_burst bursts[BURSTS] = { 0 };
	struct tx_cpu *c = cpu_new(2);
	uint64_t sum = 0, least[LENGTHS];

	memset(least, 0xff, sizeof(least));
	for (size_t i = 0; i < BURSTS; i++) {
		bursts[i].cpu_ns = (i % LENGTHS) * NS_PER_MS;
		tx_cpu_submit(c, &bursts[i]);
	}
	for (size_t i = 0; i < BURSTS; i++) {
		struct tx_burst *b = wait_for_one(c);
		uint64_t *l;

		assert_true(b >= bursts && b < bursts + BURSTS);
		assert_true(b->used_ns >= b->cpu_ns);
		assert_true(b->end_ns > 0);
		sum += b->used_ns;
		l = &least[b->cpu_ns / NS_PER_MS];
		*l = b->used_ns - b->cpu_ns < *l ? b->used_ns - b->cpu_ns : *l;
	}
	for (size_t i = 0; i < LENGTHS; i++)
		assert_true(least[i] < NS_PER_MS / 2);
	assert_null(tx_cpu_take(c));
	assert_true(tx_cpu_used_ns(c) == sum);
	tx_cpu_close(c);
}

TEST(memory_is_touched_without_processor_time)
{
	uint8_t *memory = calloc(16, 4096);
	struct tx_burst b = { .memory = memory, .memory_bytes = 16 * 4096, .touches_all = true };
	struct tx_cpu *c = cpu_new(1);

	assert_non_null(memory);
	memset(memory, 0xff, 16 * 4096);
	tx_cpu_submit(c, &b);
	assert_ptr_equal(wait_for_one(c), &b);
	for (size_t page = 0; page < 16; page++)
		assert_int_not_equal(memory[page * 4096], 0xff);
	tx_cpu_close(c);
	free(memory);
}

TEST(what_is_under_way_is_given_up_at_the_end)
{
	struct tx_burst bursts[8] = { 0 };
	struct tx_cpu *c = cpu_new(2);

	for (size_t i = 0; i < 8; i++) {
		bursts[i].cpu_ns = 3600 * NS_PER_S;
		tx_cpu_submit(c, &bursts[i]);
	}
	tx_cpu_close(c); /* returns */
}

TEST(every_one_of_a_million_rows_is_written)
{
	static const char *const names[] = { "light", "heavy" };
	FOLDER(dir);
	const char *path = textf("%s/each.csv", dir.path);
	char line[256];
	uint64_t waits;
	struct err err = { 0 };
	struct rowlog *e;
	FILE *f;

	assert_int_equal(tx_each_open(&e, open(path, O_WRONLY | O_CREAT, 0600), &err), 0);
	for (uint64_t i = 0; i < ROWS; i++)
		rowlog_add(e, &(struct tx_row){ .user = i % 30,
		                                .class_name = names[i % 2],
		                                .end_ns = i * 1000001,
		                                .think_ns = 5 * NS_PER_S + i,
		                                .response_ns = i,
		                                .load = 0.5,
		                                .requests = i % 7,
		                                .has_fault = i % 5 == 0 });
	assert_int_equal(rowlog_close(e, &waits), 0);
	assert_int_equal(waits, 0);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	assert_string_equal(line, "user,class,end_s,think_s,response_s,load,requests,has_fault\n");
	for (uint64_t i = 0; i < ROWS; i++) {
		uint64_t end = i * 1000001, think = 5 * NS_PER_S + i;

		assert_non_null(fgets(line, sizeof(line), f));
		if (i % 1009 != 0 && i + 1 != ROWS)
			continue;
		assert_string_equal(line, textf("%u,%s,%u.%09u,%u.%09u,0.%09u,0.500000,%u,%d\n", (unsigned)(i % 30),
		                                names[i % 2], (unsigned)(end / NS_PER_S), (unsigned)(end % NS_PER_S),
		                                (unsigned)(think / NS_PER_S), (unsigned)(think % NS_PER_S), (unsigned)i,
		                                (unsigned)(i % 7), i % 5 == 0));
	}
	assert_null(fgets(line, sizeof(line), f));
	assert_int_equal(fclose(f), 0);
}
