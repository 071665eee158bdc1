/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time. Requests are submitted to the model with the time at which they arrived, and the model says when it would be
 * done with them, on its own time line: a late answer never shifts the next one. The model is advanced to that point
 * only up to which all arrivals are known (now - comp_in). What it has decided is popped at once, so that data are
 * ready long before the answer is due; answers wait in a heap.
 *
 * Waiting is ppoll, which a new request ends, until spin_ns before the next answer, and polling from there. Never
 * longer: a real-time thread that does not sleep is throttled by the kernel for 50 ms in each second
 * (sched_rt_runtime_us).
 */
#include "server.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "fusedev.h"

#ifndef PR_SET_IO_FLUSHER
#define PR_SET_IO_FLUSHER 57
#endif

#define SLOTS        1024u /* above anything that /dev/fuse lets in flight */
#define TAKE_AT_ONCE 256u
#define LISTEN_EVERY 64u /* rounds: a disk that is never idle must hear its keeper, too */

struct slot {
	struct slot *next_free;
	struct fusedev_io io;
	uint64_t received_ns, answer_at_ns;
	struct disk_done done;
};

struct server {
	struct fusedev *dev;
	int control_fd;
	const struct profile *profile;
	const struct server_tuning *tuning;
	struct sim_shared *shared;
	struct disk *disk;
	uint64_t start_ns;
	uint64_t gone_at_ns; /* when to look whether it is gone; CLOCK_NEVER */
	struct slot *slots, *free_slots;
	struct slot *heap[SLOTS]; /* what is to be answered, the next first */
	unsigned nheap;
	bool is_over;
	int lost; /* why, negative errno */
};

static uint64_t now_ns(void)
{
	return clock_now_ns(clock_monotonic());
}

static int state_of(const struct server *s)
{
	return atomic_load_explicit(&s->shared->state, memory_order_relaxed);
}

static void set_state(struct server *s, enum sim_state state)
{
	atomic_store_explicit(&s->shared->state, state, memory_order_release);
}

static void say(const struct server *s, char word)
{
	(void)send(s->control_fd, &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* a dead keeper shows in the next poll */
}

/* ---- answers to be given ---- */

static void heap_push(struct server *s, struct slot *slot)
{
	unsigned i = s->nheap++;

	while (i > 0) {
		unsigned parent = (i - 1) / 2;

		if (s->heap[parent]->answer_at_ns <= slot->answer_at_ns)
			break;
		s->heap[i] = s->heap[parent];
		i = parent;
	}
	s->heap[i] = slot;
}

static struct slot *heap_pop(struct server *s)
{
	struct slot *top = s->heap[0], *last = s->heap[--s->nheap];
	unsigned i = 0;

	for (;;) {
		unsigned kid = 2 * i + 1;

		if (kid >= s->nheap)
			break;
		if (kid + 1 < s->nheap && s->heap[kid + 1]->answer_at_ns < s->heap[kid]->answer_at_ns)
			kid++;
		if (s->heap[kid]->answer_at_ns >= last->answer_at_ns)
			break;
		s->heap[i] = s->heap[kid];
		i = kid;
	}
	if (s->nheap)
		s->heap[i] = last;
	return top;
}

static struct slot *slot_get(struct server *s)
{
	struct slot *slot = s->free_slots;

	if (slot)
		s->free_slots = slot->next_free;
	return slot;
}

static void slot_put(struct server *s, struct slot *slot)
{
	slot->next_free = s->free_slots;
	s->free_slots = slot;
}

/* ---- the books ---- */

static void note_lateness(struct sim_shared *shared, uint64_t late_ns)
{
	hist_add(&shared->lateness, late_ns);
	if (late_ns >= NS_PER_MS) {
		shared->late_1ms++;
		shared->late_1ms_ns += late_ns;
	}
}

static void note_record(struct server *s, const struct slot *slot, uint64_t reply_ns)
{
	struct sim_shared *shared = s->shared;
	const struct disk_done *done = &slot->done;
	uint64_t head = atomic_load_explicit(&shared->head, memory_order_relaxed);

	if (head - atomic_load_explicit(&shared->tail, memory_order_acquire) >= SIM_RING) {
		atomic_fetch_add_explicit(&shared->dropped, 1, memory_order_relaxed);
		return;
	}
	shared->ring[head % SIM_RING] = (struct sim_record){
		.number = done->number,
		.offset_bytes = done->req.offset_bytes,
		.len_bytes = done->req.len_bytes,
		.res = done->res,
		.arrival_ns = done->arrival_ns - s->start_ns,
		.ideal_ns = done->done_ns - s->start_ns,
		.received_ns = slot->received_ns - s->start_ns,
		.reply_ns = reply_ns - s->start_ns,
		.seek_ns = done->seek_ns,
		.latency_ns = done->latency_ns,
		.transfer_ns = done->transfer_ns,
		.op = (uint8_t)done->req.op,
		.how = (uint8_t)done->how,
	};
	atomic_store_explicit(&shared->head, head + 1, memory_order_release);
}

/* ---- the disk ---- */

static int start_disk(struct server *s, enum sim_state state)
{
	struct disk *disk;

	s->start_ns = now_ns();
	disk = disk_new(s->profile, s->start_ns);
	if (!disk)
		return -ENOMEM;
	disk_free(s->disk);
	s->disk = disk;
	s->gone_at_ns = CLOCK_NEVER;
	if (s->profile->faults.gone_at_s < 1e9)
		s->gone_at_ns = s->start_ns + (uint64_t)(s->profile->faults.gone_at_s * 1e9);
	set_state(s, state);
	return 0;
}

/* Every request that was with the disk by then has been read from the kernel by now. */
static uint64_t arrivals_known_ns(const struct server *s, uint64_t now)
{
	return now - s->shared->path.in_ns;
}

/* When an answer must be given so that it reaches its reader at the ideal time. */
static uint64_t answer_at(const struct server *s, const struct disk_done *done)
{
	const struct sim_path *path = &s->shared->path;
	double copy_ns = done->req.op == DISK_READ && done->res > 0 ? path->out_ns_per_byte * done->res : 0;
	uint64_t early = path->out_ns + (uint64_t)copy_ns;

	return done->done_ns > early ? done->done_ns - early : 0;
}

static void collect(struct server *s)
{
	struct disk_done done;

	while (disk_pop_done(s->disk, DISK_NEVER, &done)) {
		struct slot *slot = done.req.owner;

		slot->done = done;
		slot->answer_at_ns = answer_at(s, &done);
		heap_push(s, slot);
	}
}

static void look_if_gone(struct server *s, uint64_t now)
{
	if (state_of(s) != SIM_RUNNING || !disk_is_gone(s->disk, now))
		return;
	s->gone_at_ns = CLOCK_NEVER;
	set_state(s, SIM_GONE);
	say(s, SERVER_IS_GONE);
}

static void step(struct server *s, uint64_t now)
{
	uint64_t known = arrivals_known_ns(s, now);

	if (disk_next_event_ns(s->disk) <= known)
		disk_advance(s->disk, known);
	collect(s);
	if (now >= s->gone_at_ns)
		look_if_gone(s, now);
}

static void answer(struct server *s, struct slot *slot, uint64_t now)
{
	struct sim_shared *shared = s->shared;

	fusedev_answer(s->dev, &slot->io, slot->done.res);
	if (state_of(s) == SIM_CALIBRATING) {
		atomic_store(&shared->calibration_received_ns, slot->received_ns);
		atomic_store(&shared->calibration_reply_ns, now);
		slot_put(s, slot);
		return;
	}
	note_lateness(shared, now > slot->answer_at_ns ? now - slot->answer_at_ns : 0);
	if (shared->has_log)
		note_record(s, slot, now);
	shared->real_ns = now - s->start_ns;
	shared->counters = disk_counters(s->disk);
	atomic_store_explicit(&shared->in_flight, disk_in_flight(s->disk) + s->nheap, memory_order_relaxed);
	if (slot->done.res == -ENODEV)
		look_if_gone(s, now);
	slot_put(s, slot);
}

/* Returns how many it gave. */
static unsigned answer_due(struct server *s, uint64_t now)
{
	unsigned n = 0;

	while (s->nheap && s->heap[0]->answer_at_ns <= now) {
		answer(s, heap_pop(s), now);
		now = now_ns();
		n++;
	}
	return n;
}

/* The end: everything that is under way is answered now, as the disk would have in its own time. */
static void drain(struct server *s)
{
	while (disk_in_flight(s->disk)) {
		uint64_t next = disk_next_event_ns(s->disk);

		if (next == DISK_NEVER) /* only completions are left */
			next = disk_next_done_ns(s->disk);
		if (next == DISK_NEVER)
			break;
		disk_advance(s->disk, next);
		collect(s);
	}
	while (s->nheap) {
		struct slot *slot = heap_pop(s);

		fusedev_answer(s->dev, &slot->io, slot->done.res);
		slot_put(s, slot);
	}
	set_state(s, SIM_DRAINED);
	say(s, SERVER_IS_DRAINED);
}

/* ---- requests ---- */

static int32_t answer_untimed(struct server *s, const struct fusedev_io *io)
{
	int r = 0;

	if (state_of(s) == SIM_DRAINED && disk_is_gone(s->disk, now_ns()))
		return -EIO;
	if (io->op == FUSEDEV_READ)
		r = disk_peek(s->disk, io->offset_bytes, io->len_bytes, io->data);
	else if (io->op == FUSEDEV_WRITE)
		r = disk_poke(s->disk, io->offset_bytes, io->len_bytes, io->data);
	return r < 0 ? r : (int32_t)io->len_bytes;
}

static void submit(struct server *s, const struct fusedev_io *io)
{
	static const enum disk_op ops[] = {
		[FUSEDEV_READ] = DISK_READ, [FUSEDEV_WRITE] = DISK_WRITE, [FUSEDEV_FLUSH] = DISK_FLUSH
	};
	uint64_t now = now_ns(), arrival;
	struct slot *slot = slot_get(s);
	struct disk_req req = {
		.op = ops[io->op],
		.offset_bytes = io->offset_bytes,
		.len_bytes = io->len_bytes,
		.buf = io->data,
		.owner = slot,
	};

	if (!slot) {
		fusedev_answer(s->dev, io, -EBUSY);
		return;
	}
	slot->io = *io;
	slot->received_ns = now;
	if (state_of(s) == SIM_CALIBRATING) {
		slot->done = (struct disk_done){ .res = (int32_t)io->len_bytes };
		slot->answer_at_ns = now + CALIBRATION_NS;
		heap_push(s, slot);
		return;
	}
	arrival = arrivals_known_ns(s, now);
	if (req.op == DISK_WRITE)
		arrival -= (uint64_t)(s->shared->path.in_ns_per_byte * req.len_bytes);
	if (disk_submit(s->disk, arrival, &req) < 0) {
		slot_put(s, slot);
		fusedev_answer(s->dev, io, -ENOMEM);
	}
}

static void take_requests(struct server *s)
{
	struct fusedev_io io;
	int r = 0;

	for (unsigned i = 0; i < TAKE_AT_ONCE && (r = fusedev_next(s->dev, &io)) > 0; i++) {
		int state = state_of(s);

		if (state == SIM_RUNNING || state == SIM_GONE || state == SIM_CALIBRATING)
			submit(s, &io);
		else
			fusedev_answer(s->dev, &io, answer_untimed(s, &io));
	}
	if (r < 0) {
		s->is_over = true;
		s->lost = r == -ENODEV ? 0 : r;
	}
}

static void take_words(struct server *s)
{
	char word;
	ssize_t n = recv(s->control_fd, &word, 1, MSG_DONTWAIT);

	if (n == 0)
		s->is_over = true; /* the keeper is dead */
	else if (n == 1 && word == SERVER_CALIBRATE && state_of(s) == SIM_SETUP)
		set_state(s, SIM_CALIBRATING);
	else if (n == 1 && word == SERVER_GO && state_of(s) <= SIM_CALIBRATING)
		s->lost = start_disk(s, SIM_RUNNING);
	else if (n == 1 && word == SERVER_DRAIN)
		drain(s);
	if (s->lost < 0)
		s->is_over = true;
}

/* ---- waiting ---- */

/* The next time at which there is something to do; *ret_precise: an answer, worth polling for. */
static uint64_t next_wake(const struct server *s, bool *ret_precise)
{
	uint64_t wake = s->gone_at_ns, event = disk_next_event_ns(s->disk);

	*ret_precise = false;
	if (event != DISK_NEVER && event + s->shared->path.in_ns < wake)
		wake = event + s->shared->path.in_ns;
	if (s->nheap && s->heap[0]->answer_at_ns <= wake) {
		wake = s->heap[0]->answer_at_ns;
		*ret_precise = true;
	}
	return wake;
}

static void wait_until(struct server *s, uint64_t now, uint64_t until)
{
	struct pollfd fds[2] = { { .fd = fusedev_fd(s->dev), .events = POLLIN },
		                 { .fd = s->control_fd, .events = POLLIN } };
	struct timespec timeout = {
		.tv_sec = (time_t)((until - now) / NS_PER_S),
		.tv_nsec = (long)((until - now) % NS_PER_S),
	};

	if (ppoll(fds, 2, until == CLOCK_NEVER ? NULL : &timeout, NULL) > 0 && fds[1].revents)
		take_words(s);
}

static void serve(struct server *s)
{
	unsigned round = 0;

	while (!s->is_over) {
		bool is_precise;
		uint64_t now, wake;

		if (round++ % LISTEN_EVERY == 0)
			take_words(s);
		take_requests(s);
		now = now_ns();
		step(s, now);
		if (answer_due(s, now))
			continue;
		wake = next_wake(s, &is_precise);
		if (is_precise)
			wake = wake > s->tuning->spin_ns ? wake - s->tuning->spin_ns : 0;
		if (wake > now)
			wait_until(s, now, wake);
	}
}

/* All of these are wishes: without them the disk is less punctual, and its lateness says so. */
static void become_punctual(const struct server_tuning *tuning, struct sim_shared *shared)
{
	const struct sched_param param = { .sched_priority = (int)tuning->priority };

	/* Memory that was given back would have to be faulted in again: 10 us a page on some virtual machines. */
	(void)mallopt(M_TRIM_THRESHOLD, -1);
	(void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
	(void)mallopt(M_TOP_PAD, 16 << 20);
	(void)mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
	shared->is_realtime = tuning->priority && sched_setscheduler(0, SCHED_FIFO, &param) == 0;
	(void)prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
	/* Memory that we ask for must not be found by writing to our own device. */
	(void)prctl(PR_SET_IO_FLUSHER, 1ul, 0ul, 0ul, 0ul);
}

static int server_init(struct server *s, int fuse_fd)
{
	uint32_t block = s->profile->logical_sector_bytes;
	int r;

	s->slots = calloc(SLOTS, sizeof(*s->slots));
	if (!s->slots)
		return -ENOMEM;
	for (unsigned i = 0; i < SLOTS; i++)
		slot_put(s, &s->slots[i]);
	r = start_disk(s, SIM_SETUP);
	if (r < 0)
		return r;
	s->dev = fusedev_new(fuse_fd, geometry_bytes(disk_geometry(s->disk)), block);
	return s->dev ? 0 : -ENOMEM;
}

int server_run(int fuse_fd, int control_fd, const struct profile *profile, const struct server_tuning *tuning,
               struct sim_shared *shared, struct err *err)
{
	struct server *s = calloc(1, sizeof(*s));
	int r = -ENOMEM;

	if (s) {
		s->control_fd = control_fd;
		s->profile = profile;
		s->tuning = tuning;
		s->shared = shared;
		r = server_init(s, fuse_fd);
	}
	if (r == 0) {
		become_punctual(tuning, shared);
		serve(s);
		r = s->lost;
	}
	if (s) {
		fusedev_free(s->dev); /* readers get EIO from here on */
		disk_free(s->disk);
		free(s->slots);
		free(s);
	}
	return r < 0 ? err_set(err, r, "The server of the simulated disk ended: %s.", strerror(-r)) : 0;
}
