/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/transactions/cpu.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/xalloc.h"
#include "load/load.h"

#define SLICE_NS   (100 * NS_PER_US) /* between two looks whether to give up: nobody sees a delay of it */
#define PAGE_BYTES 4096              /* the smallest page there is: each is touched */
/* The loop wakes and polls this long before a deadline (base/clock.c): looking twice as rarely leaves it asleep half of
 * the time at least. */
#define LOOK_AGAIN_NS (150 * NS_PER_US)

struct worker {
	struct tx_cpu *cpu;
	pthread_t thread;
	_Atomic uint64_t expect_ns; /* end of its burst if nobody takes the processor away; CLOCK_NEVER: idle */
	_Atomic uint64_t used_ns;
};

struct tx_cpu {
	struct clock *clk;
	pthread_mutex_t lock; /* of the two queues */
	pthread_cond_t work, done;
	struct tx_burst *todo, **todo_end, *finished, **finished_end;
	_Atomic size_t nfinished;
	_Atomic bool is_over;
	unsigned nworkers;
	struct worker workers[];
};

unsigned tx_cpu_count(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		return (unsigned)CPU_COUNT(&set);
	return 1; /* more than CPU_SETSIZE processors: --processors says how many */
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* cannot fail for this clock */
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Relaxed stores: in open runs transactions may share a piece of memory, and what is in it matters to nobody. */
static void touch(const struct tx_burst *b, uint64_t at)
{
	__atomic_store_n(&b->memory[at], (uint8_t)at, __ATOMIC_RELAXED);
}

static uint64_t work_some(const struct tx_burst *b, uint64_t random)
{
	for (unsigned i = 0; i < 512; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		if (b->memory_bytes)
			touch(b, (random >> 20) % b->memory_bytes);
	}
	return random;
}

static void do_burst(struct worker *w, struct tx_burst *b)
{
	uint64_t start = thread_cpu_ns(), used = 0, reported = 0, slice_end = 0, before = atomic_load(&w->used_ns);
	volatile uint64_t random = (uintptr_t)b; /* volatile: the work may not be optimised away */

	if (b->touches_all)
		for (uint64_t at = 0; at < b->memory_bytes && !atomic_load(&w->cpu->is_over); at += PAGE_BYTES)
			touch(b, at);
	while (!atomic_load_explicit(&w->cpu->is_over, memory_order_relaxed)) {
		used = thread_cpu_ns() - start;
		if (used >= slice_end) {
			uint64_t left = b->cpu_ns > used ? b->cpu_ns - used : 0;

			atomic_store(&w->expect_ns, clock_now_ns(w->cpu->clk) + left);
			atomic_store(&w->used_ns, before + used);
			reported = used;
			slice_end = used + SLICE_NS;
		}
		if (used >= b->cpu_ns)
			break;
		random = work_some(b, random);
	}
	if (used > reported)
		atomic_store(&w->used_ns, before + used);
	b->used_ns = used;
	b->end_ns = clock_now_ns(w->cpu->clk);
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;
	struct tx_cpu *c = w->cpu;

	(void)pthread_mutex_lock(&c->lock);
	while (!atomic_load(&c->is_over)) {
		struct tx_burst *b = c->todo;

		if (!b) {
			(void)pthread_cond_wait(&c->work, &c->lock);
			continue;
		}
		c->todo = b->next;
		if (!c->todo)
			c->todo_end = &c->todo;
		atomic_store(&w->expect_ns, clock_now_ns(c->clk) + b->cpu_ns);
		(void)pthread_mutex_unlock(&c->lock);
		do_burst(w, b);
		(void)pthread_mutex_lock(&c->lock);
		atomic_store(&w->expect_ns, CLOCK_NEVER);
		b->next = NULL;
		*c->finished_end = b;
		c->finished_end = &b->next;
		atomic_fetch_add(&c->nfinished, 1);
		(void)pthread_cond_signal(&c->done);
	}
	(void)pthread_mutex_unlock(&c->lock);
	return NULL;
}

int tx_cpu_open(struct tx_cpu **ret, unsigned processors, struct clock *clk, struct err *err)
{
	struct tx_cpu *c = xcalloc(1, sizeof(*c) + processors * sizeof(c->workers[0]));
	pthread_condattr_t attr;

	c->clk = clk;
	c->todo_end = &c->todo;
	c->finished_end = &c->finished;
	(void)pthread_mutex_init(&c->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC); /* that of clock_monotonic() */
	(void)pthread_cond_init(&c->work, NULL);
	(void)pthread_cond_init(&c->done, &attr);
	(void)pthread_condattr_destroy(&attr);
	for (unsigned i = 0; i < processors; i++) {
		struct worker *w = &c->workers[i];

		w->cpu = c;
		atomic_store(&w->expect_ns, CLOCK_NEVER);
		/* Users are ordinary programs. */
		if (host_thread(&w->thread, worker_run, w) < 0) {
			tx_cpu_close(c);
			return err_set(err, -EAGAIN, "No thread could be started for processor %u of %u.", i + 1,
			               processors);
		}
		c->nworkers++;
	}
	*ret = c;
	return 0;
}

void tx_cpu_close(struct tx_cpu *c)
{
	if (!c)
		return;
	(void)pthread_mutex_lock(&c->lock);
	atomic_store(&c->is_over, true);
	(void)pthread_cond_broadcast(&c->work);
	(void)pthread_mutex_unlock(&c->lock);
	for (unsigned i = 0; i < c->nworkers; i++)
		(void)pthread_join(c->workers[i].thread, NULL); /* of our own threads: cannot fail */
	(void)pthread_cond_destroy(&c->work);
	(void)pthread_cond_destroy(&c->done);
	(void)pthread_mutex_destroy(&c->lock);
	free(c);
}

void tx_cpu_submit(struct tx_cpu *c, struct tx_burst *b)
{
	b->next = NULL;
	(void)pthread_mutex_lock(&c->lock);
	*c->todo_end = b;
	c->todo_end = &b->next;
	(void)pthread_cond_signal(&c->work);
	(void)pthread_mutex_unlock(&c->lock);
}

struct tx_burst *tx_cpu_take(struct tx_cpu *c)
{
	struct tx_burst *b;

	if (atomic_load(&c->nfinished) == 0)
		return NULL;
	(void)pthread_mutex_lock(&c->lock);
	b = c->finished;
	c->finished = b->next;
	if (!c->finished)
		c->finished_end = &c->finished;
	atomic_fetch_sub(&c->nfinished, 1);
	(void)pthread_mutex_unlock(&c->lock);
	return b;
}

void tx_cpu_wait(struct tx_cpu *c, uint64_t until_ns)
{
	const struct timespec t = { .tv_sec = (time_t)(until_ns / NS_PER_S), .tv_nsec = (long)(until_ns % NS_PER_S) };

	(void)pthread_mutex_lock(&c->lock);
	while (!c->finished && pthread_cond_timedwait(&c->done, &c->lock, &t) == 0)
		;
	(void)pthread_mutex_unlock(&c->lock);
}

uint64_t tx_cpu_expect_ns(struct tx_cpu *c, uint64_t now_ns)
{
	uint64_t earliest = CLOCK_NEVER;

	if (atomic_load(&c->nfinished))
		return now_ns;
	for (unsigned i = 0; i < c->nworkers; i++) {
		uint64_t t = atomic_load(&c->workers[i].expect_ns);

		earliest = t < earliest ? t : earliest;
	}
	/* nobody has taken the first one yet, or it takes longer than was thought: another program has the processor */
	return earliest > now_ns + LOOK_AGAIN_NS && earliest != CLOCK_NEVER ? earliest : now_ns + LOOK_AGAIN_NS;
}

uint64_t tx_cpu_used_ns(struct tx_cpu *c)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < c->nworkers; i++)
		sum += atomic_load(&c->workers[i].used_ns);
	return sum;
}
