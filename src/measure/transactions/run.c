/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The users. Each is a state machine - thinking, wanting the processor, wanting a request, waiting for it - behind the
 * one loop that does all I/O (load_run), not a thread. So a thousand users cost a heap of a thousand times, and a run
 * in virtual time is exact. No scheduler stands between the intended start of a transaction and its first request.
 *
 * Processor time is served first come first served by that many processors. In real time a thread for each works until
 * its CPU clock has moved by the burst (cpu.c), and the loop takes what is done between completions; in virtual time
 * the same queue is calculated.
 *
 * Response counts from the intended start: the end of the think time, or the arrival that the Poisson process drew.
 * What the loop was late by is part of it, and is reported apart (lateness).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/transactions/jobs.h"

#define WAIT_NS (100 * NS_PER_MS) /* at most at once for a processor: a cancel wants to be seen */
#define OPEN_DRAIN_NS \
	(60 * NS_PER_S)   /* after the last arrival: what has not ended by then is reported as unfinished (a choice) */
#define STREAM_ARRIVALS 1 /* numbers of the random streams: arrivals, */
#define STREAM_USERS    1000 /* and from here on one for each user */

/* ---- the way of a transaction ---- */

static void begin(struct tx_run *r, struct tx_job *j, uint64_t intended_ns)
{
	const struct tx_class *c = &r->classes[j->class];

	j->is_thinking = false;
	j->has_fault = j->is_late = false;
	j->intended_ns = intended_ns;
	j->load = (r->p->randomise & TX_RANDOMISE_WORK) ? rng_exp(&j->rng, 1.0) : 1.0;
	j->ios = j->ios_left = (uint64_t)(j->load * (double)c->ios + 0.5);
	j->piece_ns = j->load * (double)c->cpu_ns / (double)(j->ios ? j->ios : 1);
	j->is_piece_done = false;
	j->cpu_ns = 0;
	j->is_untouched = r->work.memory[j->class] != NULL;
}

static void write_row(const struct tx_run *r, const struct tx_job *j, uint64_t end_ns)
{
	rowlog_add(r->each, &(struct tx_row){ .user = j->index,
	                                      .class_name = r->classes[j->class].name,
	                                      .end_ns = end_ns - r->start_ns,
	                                      .think_ns = j->think_ns,
	                                      .response_ns = end_ns - j->intended_ns,
	                                      .load = j->load,
	                                      .requests = j->ios,
	                                      .has_fault = j->has_fault });
}

static void add_to(struct tx_totals *t, const struct tx_job *j, uint64_t response_ns)
{
	t->any.done++;
	t->any.ios += j->ios;
	t->any.response_s += (double)response_ns * 1e-9;
	t->any.think_s += (double)j->think_ns * 1e-9;
	t->any.cpu_s += (double)j->cpu_ns * 1e-9;
	t->faults += j->has_fault;
	if (j->has_fault || j->is_late)
		return;
	t->done++;
	t->ios += j->ios;
	t->think_s += (double)j->think_ns * 1e-9;
	t->cpu_s += (double)j->cpu_ns * 1e-9;
}

/* A closed run counts a response when it ends; an open one when it began, as all that arrived in time are awaited. */
static void add_to_series(struct tx_run *r, const struct tx_job *j, uint64_t now_ns)
{
	uint64_t at_ns = (r->is_open ? j->intended_ns : now_ns) - r->start_ns, response_ns = now_ns - j->intended_ns;

	if (r->is_open && now_ns <= tx_until_ns(r))
		slots_add(&r->open.under_way, now_ns - r->start_ns, -1.0);
	if (j->has_fault || j->is_late)
		return;
	r->open.ended_in_time += now_ns <= tx_until_ns(r);
	waits_add(&r->of[j->class].waits, at_ns, response_ns);
	if (r->nclasses > 1)
		waits_add(&r->all.waits, at_ns, response_ns);
}

/*
 * N = X (R + Z) holds for a system in balance. All users begin with a thought, so that the first transactions are too
 * many thoughts and too few responses: the law is looked at from when the last user has had its first.
 */
static void add_to_law(struct tx_run *r, struct tx_job *j, uint64_t now_ns)
{
	if (now_ns > r->law.until_ns)
		return;
	r->law.sums.done++;
	r->law.sums.response_s += (double)(now_ns - j->intended_ns) * 1e-9;
	r->law.sums.think_s += (double)j->think_ns * 1e-9;
	if (j->has_had_first)
		return;
	j->has_had_first = true;
	if (++r->law.firsts < r->jobs.n)
		return;
	r->law.before = r->law.sums;
	r->law.from_ns = now_ns;
}

static void think(struct tx_run *r, struct tx_job *j, uint64_t now_ns)
{
	j->is_thinking = true;
	j->think_ns = tx_draw_think(&j->rng, r->classes[j->class].think_law, r->classes[j->class].think_ns);
	j->wake_ns = now_ns + j->think_ns;
	tx_heap_push(r, j);
}

static void finish(struct tx_run *r, struct tx_job *j, uint64_t now_ns)
{
	/* closed: what ends in the window; open: what arrived in it, however late it ends */
	if (r->is_open || now_ns <= r->stop_ns) {
		add_to_law(r, j, now_ns);
		add_to(&r->of[j->class], j, now_ns - j->intended_ns);
		add_to(&r->all, j, now_ns - j->intended_ns);
		add_to_series(r, j, now_ns);
		if (r->each)
			write_row(r, j, now_ns);
	}
	if (r->is_open) {
		r->jobs.live--;
		j->next = r->jobs.idle;
		r->jobs.idle = j;
		return;
	}
	if (j->left_count && --j->left_count == 0) {
		if (now_ns < r->law.until_ns)
			r->law.until_ns = now_ns; /* from here on there are fewer users than asked */
		r->jobs.live--;
		return;
	}
	think(r, j, now_ns);
}

/* In virtual time the first processor that is free takes the burst. */
static void burst_virtually(struct tx_run *r, struct tx_job *j, uint64_t now_ns)
{
	uint64_t *free_ns = &r->work.free_ns[0];

	for (unsigned i = 1; i < r->work.processors; i++)
		if (r->work.free_ns[i] < *free_ns)
			free_ns = &r->work.free_ns[i];
	if (*free_ns < now_ns)
		*free_ns = now_ns;
	*free_ns += (uint64_t)(j->piece_ns + 0.5);
	r->work.busy_s += j->piece_ns * 1e-9;
	j->cpu_ns += (uint64_t)(j->piece_ns + 0.5);
	j->wake_ns = *free_ns;
	tx_heap_push(r, j);
}

static void burst(struct tx_run *r, struct tx_job *j)
{
	uint64_t size = r->classes[j->class].memory_bytes;

	j->burst = (struct tx_burst){ .cpu_ns = (uint64_t)(j->piece_ns + 0.5), .touches_all = j->is_untouched };
	if (r->work.memory[j->class]) {
		j->burst.memory = r->work.memory[j->class] + (j->index % r->work.slots[j->class]) * size;
		j->burst.memory_bytes = size;
	}
	j->is_untouched = false;
	r->work.bursts++;
	tx_cpu_submit(r->work.cpu, &j->burst);
}

/* What the transaction does next: the processor, a request, or its end. */
static void go_on(struct tx_run *r, struct tx_job *j, uint64_t now_ns)
{
	if (!j->is_piece_done && (j->piece_ns >= 0.5 || (j->is_untouched && r->work.cpu))) {
		j->is_piece_done = true;
		if (r->is_virtual)
			burst_virtually(r, j, now_ns);
		else
			burst(r, j);
		return;
	}
	if (j->ios_left)
		tx_append(&r->jobs.ready_end, j);
	else
		finish(r, j, now_ns);
}

/* Whose processor time is over. */
static void take_bursts(struct tx_run *r)
{
	struct tx_burst *b;

	while (r->work.bursts && (b = tx_cpu_take(r->work.cpu))) {
		struct tx_job *j = (struct tx_job *)((char *)b - offsetof(struct tx_job, burst));

		r->work.bursts--;
		j->cpu_ns += b->used_ns;
		go_on(r, j, b->end_ns - session_stopped_ns(r->ses));
	}
}

/* ---- arrivals and users ---- */

static struct tx_job *job_new(struct tx_run *r, uint32_t class)
{
	struct tx_job *j = r->jobs.idle;

	if (j) {
		r->jobs.idle = j->next;
	} else {
		j = xcalloc(1, sizeof(*j));
		j->index = r->jobs.n;
		session_rng(r->ses, STREAM_USERS + j->index, &j->rng);
		xappend(r->jobs.v, r->jobs.n, j);
	}
	j->class = class;
	r->jobs.live++;
	return j;
}

/* While all requests are out the loop sleeps until one is back: that is the device's time, not the generator's. */
static void note_late(struct tx_run *r, uint64_t intended_ns, uint64_t now_ns)
{
	uint64_t from_ns = intended_ns > r->pace.was_full_ns ? intended_ns : r->pace.was_full_ns;

	if (r->pace.in_flight < r->eng->cfg.depth)
		hist_add(r->pace.late, now_ns > from_ns ? now_ns - from_ns : 0);
}

static uint32_t draw_class(struct tx_run *r)
{
	uint64_t draw = 0, total = 0;
	uint32_t class = 0;

	for (size_t i = 0; i < r->nclasses; i++)
		total += r->classes[i].users;
	if (r->nclasses > 1) { /* shares of the classes as their users */
		draw = rng_below(&r->open.rng, total);
		while (draw >= r->classes[class].users)
			draw -= r->classes[class ++].users;
	}
	return class;
}

static void arrive(struct tx_run *r, uint64_t now_ns)
{
	struct tx_job *j;

	if (r->jobs.live >= TX_OUTSTANDING_MAX) { /* that is an answer: more come than end */
		r->open.is_swamped = true;
		r->stop_ns = now_ns;
		return;
	}
	j = job_new(r, r->open.next_class);
	slots_add(&r->open.under_way, r->open.next_ns - r->start_ns, 1.0);
	j->think_ns = 0;
	note_late(r, r->open.next_ns, now_ns);
	begin(r, j, r->open.next_ns);
	go_on(r, j, r->is_virtual ? r->open.next_ns : now_ns);
}

/* The next one, the first too: none once the time is up. */
static void expect_arrival(struct tx_run *r)
{
	r->open.next_ns = r->start_ns +
	                  tx_next_arrival(&r->open.rng, r->p->arrivals_per_s, r->classes[0].think_law, &r->open.at_ns);
	if (r->open.next_ns > r->stop_ns || (r->p->count && r->open.n >= r->p->count)) {
		r->open.next_ns = CLOCK_NEVER;
		return;
	}
	r->open.n++;
	r->open.last_ns = r->open.next_ns;
	r->open.next_class = draw_class(r);
}

static void wake(struct tx_run *r, uint64_t now_ns)
{
	for (;;) {
		uint64_t t = r->jobs.nheap ? r->jobs.heap[0]->wake_ns : CLOCK_NEVER;
		bool is_arrival = r->is_open && r->open.next_ns <= t;
		struct tx_job *j;

		if (is_arrival)
			t = r->open.next_ns;
		if (t > now_ns || t == CLOCK_NEVER || r->open.is_swamped)
			return;
		if (is_arrival) {
			arrive(r, now_ns);
			expect_arrival(r);
			continue;
		}
		j = tx_heap_pop(r);
		if (j->is_thinking) {
			note_late(r, t, now_ns);
			begin(r, j, t);
		}
		go_on(r, j, t);
	}
}

/* ---- the two sides towards the loop ---- */

static bool is_over(const struct tx_run *r, uint64_t now_ns)
{
	if (r->open.is_swamped)
		return true;
	if (!r->is_open)
		return r->jobs.live == 0 || now_ns >= r->stop_ns;
	return (r->open.next_ns == CLOCK_NEVER && r->jobs.live == 0) ||
	       (r->stop_ns != CLOCK_NEVER && now_ns >= r->stop_ns + OPEN_DRAIN_NS);
}

/* Nothing is ready: until when. With nothing to reap this waits for the processors itself, for the loop could not be
 * woken by them. */
static uint64_t wait_until(struct tx_run *r, uint64_t now_ns)
{
	uint64_t until = r->jobs.nheap ? r->jobs.heap[0]->wake_ns : CLOCK_NEVER, spin_ns = r->ses->env->clk->spin_ns;
	uint64_t stopped_ns = session_stopped_ns(r->ses); /* processors have a clock that goes on */

	if (r->is_open && r->open.next_ns < until)
		until = r->open.next_ns;
	if (!r->is_open && r->stop_ns < until)
		until = r->stop_ns;
	if (!r->work.bursts)
		return until;
	if (r->pace.in_flight) {
		uint64_t look_ns = tx_cpu_expect_ns(r->work.cpu, now_ns + stopped_ns) - stopped_ns;

		return look_ns < until ? look_ns : until;
	}
	if (until > now_ns + spin_ns)
		tx_cpu_wait(r->work.cpu,
		            stopped_ns + (until - spin_ns < now_ns + WAIT_NS ? until - spin_ns : now_ns + WAIT_NS));
	return now_ns; /* look again */
}

static enum feed tx_next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct tx_run *r = (struct tx_run *)f;
	struct tx_job *j;

	wake(r, now_ns);
	take_bursts(r);
	if (is_over(r, now_ns))
		return FEED_END;
	if (!r->jobs.ready) {
		*ret_until_ns = wait_until(r, now_ns);
		return FEED_WAIT;
	}
	j = tx_take_first(&r->jobs.ready, &r->jobs.ready_end);
	req->target = 0;
	req->tag = j->index;
	tx_mix_draw(&r->mix, &j->rng, &r->place, req);
	r->pace.in_flight++;
	return FEED_IO;
}

static void tx_take(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct tx_run *r = (struct tx_run *)((char *)sink - offsetof(struct tx_run, sink));
	struct tx_job *j = r->jobs.v[req->tag];

	if (r->pace.in_flight-- == r->eng->cfg.depth)
		r->pace.was_full_ns = req->done_ns;
	tx_mix_take(&r->mix, req);
	j->has_fault |= is_fault;
	j->is_late |= req->is_late;
	j->ios_left--;
	j->is_piece_done = j->ios_left == 0;
	if (req->done_ns > r->end_ns)
		r->end_ns = req->done_ns;
	go_on(r, j, req->done_ns);
}

/*
 * A closed run with --count ends with its slowest user: by what a transaction has taken so far in its class, and how
 * many are left to the one that has most of them. Negative: nobody knows.
 */
static double count_done(const struct tx_run *r, double s)
{
	uint64_t most[TX_CLASSES_MAX] = { 0 }, users[TX_CLASSES_MAX] = { 0 };
	double left_s = 0.0;

	for (size_t i = 0; i < r->jobs.n; i++) {
		const struct tx_job *j = r->jobs.v[i];

		users[j->class]++;
		most[j->class] = j->left_count > most[j->class] ? j->left_count : most[j->class];
	}
	for (size_t c = 0; c < r->nclasses; c++) {
		if (!r->classes[c].count || (most[c] && !r->of[c].any.done))
			return r->classes[c].count ? 0.0 : -1.0;
		if (most[c])
			left_s = fmax(left_s, (double)most[c] * s * (double)users[c] / (double)r->of[c].any.done);
	}
	return s / (s + left_s);
}

static void tick(void *arg, uint64_t now_ns)
{
	struct tx_run *r = arg;
	double s = fmax((double)(now_ns - r->start_ns) * 1e-9, 1e-9), done = -1.0;

	if (r->report_so_far && session_saves_now(r->ses))
		r->report_so_far(r, now_ns);
	/* How many tries it takes to find the users nobody knows. */
	if (!r->p->find_users && r->stop_ns != CLOCK_NEVER && r->stop_ns > r->start_ns)
		done = s / ((double)(r->stop_ns - r->start_ns) * 1e-9);
	if (r->is_open && r->p->count)
		done = fmax(done, (double)r->all.any.done / (double)r->p->count);
	else if (!r->is_open && !r->p->find_users)
		done = fmax(done, count_done(r, s));
	session_progress(r->ses, "transactions", done < 1.0 ? done : 1.0, "%.2f/s, mean %.3f s",
	                 (double)r->all.done / s,
	                 r->all.any.done ? r->all.any.response_s / (double)r->all.any.done : 0.0);
}

/* ---- a run ---- */

/* What the kernel counts beside it. */
static void look(const struct session *ses, struct tx_stand *s)
{
	const struct env *env = ses->env;

	s->has_io = env->devices->io(env->devices_ctx, &ses->devs[0], &s->io) == 0;
	s->has_storage = !clock_is_virtual(env->clk) && host_fetched(false, &s->storage_read_bytes);
	host_usage(&s->usage);
}

static void totals_reset(struct tx_totals *t)
{
	struct hist *h = t->response ? t->response : hist_new();

	hist_clear(h);
	waits_start(&t->waits, NS_PER_MS);
	*t = (struct tx_totals){ .response = h, .waits = t->waits };
}

static void reset(struct tx_run *r)
{
	struct hist *late = r->pace.late ? r->pace.late : hist_new();

	totals_reset(&r->all);
	tx_mix_start(&r->mix, &r->mix.sizes, r->p->write_ratio);
	for (size_t i = 0; i < r->nclasses; i++)
		totals_reset(&r->of[i]);
	r->pace = (struct tx_pace){ .late = late };
	hist_clear(late);
	for (size_t i = 0; i < r->jobs.n; i++)
		free(r->jobs.v[i]);
	r->jobs.n = r->jobs.live = r->jobs.nheap = 0;
	r->jobs.ready = r->jobs.idle = NULL;
	r->jobs.ready_end = &r->jobs.ready;
	r->law = (struct tx_law){ 0 };
	r->open = (struct tx_open){ 0 };
	slots_start(&r->open.under_way, NS_PER_MS);
	r->work = (struct tx_work){ .processors = r->work.processors };
}

/* Memory and threads of the users; in virtual time neither costs time. */
static int hire(struct tx_run *r, uint64_t users, struct err *err)
{
	bool is_wanted = false;

	for (size_t i = 0; i < r->nclasses && !r->is_virtual; i++) {
		const struct tx_class *c = &r->classes[i];
		void *m;

		is_wanted = is_wanted || c->cpu_ns || c->memory_bytes;
		r->work.slots[i] = r->is_open ? TX_MEMORY_SLOTS : users ? users : c->users;
		if (!c->memory_bytes || !r->work.slots[i])
			continue;
		/* Taken up as it is touched: what does not fit shows as page faults, which is what a user asks for. */
		m = mmap(NULL, r->work.slots[i] * c->memory_bytes, PROT_READ | PROT_WRITE,
		         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (m == MAP_FAILED)
			return err_set(
				err, -ENOMEM,
				"There is no memory for %llu users with %llu bytes each; give fewer users or less --memory.",
				(unsigned long long)r->work.slots[i], (unsigned long long)c->memory_bytes);
		r->work.memory[i] = m;
	}
	return is_wanted ? tx_cpu_open(&r->work.cpu, r->work.processors, r->ses->env->clk, err) : 0;
}

static void dismiss(struct tx_run *r)
{
	if (r->work.cpu)
		r->work.busy_s = (double)tx_cpu_used_ns(r->work.cpu) * 1e-9;
	tx_cpu_close(r->work.cpu);
	r->work.cpu = NULL;
	for (size_t i = 0; i < r->nclasses; i++) {
		if (r->work.memory[i])
			(void)munmap(r->work.memory[i], r->work.slots[i] * r->classes[i].memory_bytes); /* our own */
		r->work.memory[i] = NULL;
	}
}

static void set_out(struct tx_run *r, uint64_t users)
{
	uint64_t time_ns = tx_time_ns(r->ses, r->p);

	r->start_ns = r->end_ns = session_now_ns(r->ses);
	r->stop_ns = time_ns ? r->start_ns + time_ns : CLOCK_NEVER;
	r->law.until_ns = r->stop_ns;
	r->law.from_ns = r->start_ns;
	session_rng(r->ses, STREAM_ARRIVALS, &r->open.rng);
	r->open.next_ns = CLOCK_NEVER;
	if (r->is_open) {
		expect_arrival(r);
		return;
	}
	for (uint32_t c = 0; c < r->nclasses; c++)
		for (uint64_t i = 0; i < (users ? users : r->classes[c].users); i++) {
			struct tx_job *j = job_new(r, c);

			j->left_count = r->classes[c].count;
			think(r, j, r->start_ns);
		}
}

int tx_once(struct tx_run *r, uint64_t users, struct err *err)
{
	struct load load = { .targets = &r->ses->targets[0],
		             .ntargets = 1,
		             .feeder = &r->feeder,
		             .sink = &r->sink,
		             .by_own_clock = true,
		             .on_tick = tick,
		             .arg = r };
	struct load_stats stats;
	int ret;

	reset(r);
	r->feeder.next = tx_next;
	r->sink.take = tx_take;
	ret = hire(r, users, err);
	if (ret == 0) {
		look(r->ses, &r->stand[0]);
		set_out(r, users);
		ret = session_load(r->ses, &load, r->eng, &stats, err);
		r->end_ns = session_now_ns(r->ses);
		look(r->ses, &r->stand[1]);
	}
	dismiss(r);
	/* Where no more will arrive in time, that holds of the rest of it, too. */
	if (r->end_ns < r->stop_ns && (!r->is_open || r->open.next_ns != CLOCK_NEVER || r->stop_ns == CLOCK_NEVER))
		r->stop_ns = r->end_ns;
	if (r->end_ns < r->law.until_ns)
		r->law.until_ns = r->end_ns;
	r->open.unfinished = r->is_open ? r->jobs.live : 0;
	tx_settle(r);
	return ret;
}

void tx_run_done(struct tx_run *r)
{
	for (size_t i = 0; i < r->jobs.n; i++)
		free(r->jobs.v[i]);
	free(r->jobs.v);
	free(r->jobs.heap);
	for (size_t i = 0; i < TX_CLASSES_MAX; i++) {
		free(r->of[i].response);
		waits_done(&r->of[i].waits);
	}
	free(r->all.response);
	waits_done(&r->all.waits);
	free(r->pace.late);
	tx_mix_done(&r->mix);
	engine_close(r->eng);
}
