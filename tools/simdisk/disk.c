/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The disk at work. Three kinds of events move it: a request gets a place in the queue (admit), the mechanics are free
 * for the next piece of work (decide), a piece of the write cache has reached the media (destaged). disk_advance()
 * takes them in order of time.
 */
#include "front.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- small containers ---- */

void disk_list_add(struct list *l, struct node *n)
{
	n->next = NULL;
	if (!l->head)
		l->tail = &l->head;
	*l->tail = n;
	l->tail = &n->next;
	l->n++;
}

struct node *disk_list_take(struct list *l, struct node **at)
{
	struct node *n = *at;

	*at = n->next;
	if (l->tail == &n->next)
		l->tail = at;
	l->n--;
	return n;
}

static bool is_earlier(const struct node *a, const struct node *b)
{
	return a->done.done_ns != b->done.done_ns ? a->done.done_ns < b->done.done_ns : a->done.number < b->done.number;
}

static void heap_up(struct disk *d, uint32_t i)
{
	while (i > 0 && is_earlier(d->queue.heap[i], d->queue.heap[(i - 1) / 2])) {
		struct node *n = d->queue.heap[i];

		d->queue.heap[i] = d->queue.heap[(i - 1) / 2];
		d->queue.heap[(i - 1) / 2] = n;
		i = (i - 1) / 2;
	}
}

static struct node *heap_take(struct disk *d)
{
	struct node *top = d->queue.heap[0];
	uint32_t i = 0;

	d->queue.heap[0] = d->queue.heap[--d->queue.nheap];
	for (;;) {
		uint32_t least = i, k;
		struct node *n;

		for (k = 2 * i + 1; k <= 2 * i + 2 && k < d->queue.nheap; k++)
			if (is_earlier(d->queue.heap[k], d->queue.heap[least]))
				least = k;
		if (least == i)
			return top;
		n = d->queue.heap[i];
		d->queue.heap[i] = d->queue.heap[least];
		d->queue.heap[least] = n;
		i = least;
	}
}

/* Times at which places in the queue become free, sorted, latest first: there are at most queue_depth, and new ones are
 * mostly the latest. */
static void release_add(struct disk *d, double t)
{
	uint32_t i = d->queue.nrelease++;

	for (; i > 0 && d->queue.release[i - 1] < t; i--)
		d->queue.release[i] = d->queue.release[i - 1];
	d->queue.release[i] = t;
}

/* ---- the end of a request ---- */

static uint64_t to_ns(const struct disk *d, double t)
{
	double x = ceil(t - 1e-6); /* a completion on a whole ns must not be pushed to the next by rounding */

	return d->start_ns + (x > 0 ? (uint64_t)x : 0);
}

/* What a request has for the interface. */
static uint64_t bus_bytes(const struct node *n)
{
	return n->req.is_verify ? 0 : (uint64_t)n->res;
}

static int move_data(struct disk *d, struct node *n)
{
	uint64_t lbas = (uint64_t)n->res / d->p.logical_sector_bytes;
	int r;

	if (n->req.op == DISK_READ) {
		d->count.read_bytes += bus_bytes(n); /* as the kernel counts: commands that transfer nothing are none */
		if (!n->req.buf)
			return 0;
		r = miswrites_read(d, n->lba, lbas, n->req.buf);
		if (d->media.ntrims)
			trim_zero(d, n->lba, lbas, n->req.buf);
		return r;
	}
	if (d->media.ntrims && trim_written(d, n->lba, lbas) < 0)
		return -ENOMEM;
	d->count.written_bytes += (uint64_t)n->res;
	if (!n->req.buf || (d->p.faults.miswrites.drop_from && n->done.number >= d->p.faults.miswrites.drop_from))
		return 0;
	return miswrites_store(d, n->lba, lbas, n->req.buf, n->done.how == HOW_CACHED);
}

static int32_t gone_res(const struct disk *d)
{
	return d->p.faults.gone == GONE_ZERO ? 0 : -ENODEV;
}

/* The request ends at `end` with res. */
void disk_finish(struct disk *d, struct node *n, double end, int32_t res, enum disk_how how)
{
	double noise;

	n->res = res;
	n->done.how = how;
	end += n->extra_ns;
	if (end >= d->gone) {
		end = fmax(d->gone, n->arrival);
		n->res = gone_res(d);
		n->done.how = HOW_NONE;
	} else if (res > 0 && n->req.op != DISK_FLUSH) {
		int r = move_data(d, n);

		if (r < 0)
			n->res = r;
	}
	noise = noise_done_ns(d, end);
	n->done.req = n->req;
	n->done.res = n->res;
	n->done.ideal_ns = to_ns(d, end);
	n->done.done_ns = noise > 0 ? to_ns(d, end + noise) : n->done.ideal_ns;
	d->count.errors += n->res < 0;
	d->count.hits += how == HOW_HIT || how == HOW_CACHED;
	d->count.stream_hits += how == HOW_STREAM;
	d->count.misses += how == HOW_MEDIA;
	release_add(d, end);
	d->queue.heap[d->queue.nheap] = n;
	heap_up(d, d->queue.nheap++);
}

/* Takes the interface for bytes from t on; returns when they are over. */
double disk_bus(struct disk *d, double t, uint64_t bytes)
{
	d->path.bus_free =
		path_bytes(d, fmax(d->path.bus_free, t), bytes) + (double)bytes * 1e9 / d->p.path.interface_bytes_per_s;
	return d->path.bus_free;
}

/* ---- getting a place in the queue ---- */

static void queue_media(struct disk *d, struct node *n, double t)
{
	geometry_place(d->g, n->first, &n->place);
	background_before(d, t);
	if (d->p.cache.ahead_stop == AHEAD_COMMAND && !(n->req.op == DISK_READ && stream_covers(d, t, n->first)))
		stream_pause(d, t);
	if (n->req.op == DISK_WRITE)
		n->overhead_ns = noise_write_ns(d, false);
	else if (d->p.cache.ahead_overhead == OVERHEAD_HIT && stream_covers(d, t, n->first))
		n->overhead_ns = noise_hit_ns(d);
	else
		n->overhead_ns = noise_overhead_ns(d);
	n->eligible = t + n->overhead_ns;
	if (d->queue.queued.head) /* commands are taken up one after the other, though each takes its own time */
		n->eligible = fmax(n->eligible, d->queue.last_eligible);
	d->queue.last_eligible = n->eligible;
	disk_list_add(&d->queue.queued, n);
}

static bool is_media_read(const struct disk *d, const struct node *n)
{
	return n->req.fua && d->p.cache.fua_reads != FUA_READS_BUFFER && n->req.op == DISK_READ;
}

static void admit(struct disk *d, struct node *n, double t)
{
	uint32_t segment;

	d->queue.in_queue++;
	noise_freeze(d, t);
	if (d->mcache)
		mediacache_host(d, t);
	if (t >= d->gone) {
		disk_finish(d, n, t, gone_res(d), HOW_NONE);
		return;
	}
	if (n->req.op != DISK_FLUSH && n->res <= 0) { /* beyond the end, misaligned, or made to fail */
		disk_finish(d, n, stall_skip(d, t) + noise_hit_ns(d), n->res, HOW_NONE);
		return;
	}
	if (n->req.op == DISK_FLUSH) {
		if (n->res < 0)
			disk_finish(d, n, stall_skip(d, t) + noise_hit_ns(d), n->res, HOW_NONE);
		else
			writecache_flush(d, n, t);
		return;
	}
	if (n->req.op == DISK_WRITE) {
		if (d->p.kind == DISK_SSD) {
			flat_admit(d, n, t);
			return;
		}
		if (d->p.cache.write_forgets)
			cache_forget(d, 0, UINT64_MAX);
		if ((n->req.fua && !d->p.wcache.is_fua_ignored) || n->lbas > writecache_lbas(d)) {
			queue_media(d, n, t);
			return;
		}
		n->eligible = t + noise_write_ns(d, true);
		if (d->queue.wait_room.n || !writecache_has_room(d, n)) {
			d->wcache.is_emptying = true;
			disk_list_add(&d->queue.wait_room, n);
		} else {
			writecache_write(d, n, t);
		}
		return;
	}
	if (d->media.ntrims && trim_covers(d, n->lba, n->lbas)) {
		double at = stall_skip(d, t) + noise_flat_ns(d, d->p.media.trimmed_us);

		disk_finish(d, n, disk_bus(d, at, bus_bytes(n)), n->res, HOW_HIT);
		return;
	}
	if (d->p.kind == DISK_SSD) {
		flat_admit(d, n, t);
		return;
	}
	stream_update(d, t);
	n->is_sequential = n->first == d->cache.read_end;
	d->cache.read_end = n->end;
	if (is_media_read(d, n) && !cache_is_dirty(d, n->lba, n->lbas)) {
		queue_media(d, n, t);
	} else if (cache_has(d, n->first, n->end, &segment)) {
		if (d->head.stream.is_on && d->head.stream.segment == segment)
			stream_aim(d, t, n->first, n->end, n->is_sequential);
		if (d->p.cache.drops_read)
			cache_drop(d, segment, n->end);
		disk_finish(d, n, disk_bus(d, stall_skip(d, t) + noise_hit_ns(d), bus_bytes(n)), n->res, HOW_HIT);
	} else if (d->wcache.ndirty && cache_is_dirty(d, n->lba, n->lbas)) {
		disk_finish(d, n, disk_bus(d, stall_skip(d, t) + noise_hit_ns(d), bus_bytes(n)), n->res, HOW_HIT);
	} else {
		queue_media(d, n, t);
	}
}

/* ---- work of the mechanics ---- */

static void start(struct disk *d, struct node *n, double t)
{
	struct media_op op;
	double end;

	if (n->req.op == DISK_READ) {
		if (is_media_read(d, n))
			stream_stop(d, t); /* what it has is of no use */
		(d->mcache ? mediacache_read : media_read)(d, t, &n->place, n->first, n->end, n->is_sequential, &op);
		end = fmax(op.end, disk_bus(d, op.begin + d->p.ctl.read_watermark * (op.end - op.begin), bus_bytes(n)));
	} else {
		end = disk_bus(d, fmax(t, n->eligible), (uint64_t)n->res);
		cache_remove(d, n->lba, n->lbas); /* FUA over dirty data */
		(d->mcache ? mediacache_write : media_write)(d, t, &n->place, n->first, n->end, n->is_partial, &op);
		d->count.media_written_bytes += (n->end - n->first) * d->p.physical_sector_bytes;
		end = fmax(op.end, end);
	}
	d->head.free_at = op.end;
	n->done.seek_ns = op.seek_ns;
	n->done.latency_ns = op.latency_ns;
	n->done.transfer_ns = op.end - t - op.seek_ns - op.latency_ns;
	disk_finish(d, n, op.err ? op.end : end, op.err ? op.err : n->res, op.is_stream ? HOW_STREAM : HOW_MEDIA);
}

/* An idle disk has begun with the first that came before it knew of the others. */
static bool is_committed(const struct disk *d, const struct node *head)
{
	return d->head.free_at <= head->eligible - head->overhead_ns;
}

static struct node **choose(struct disk *d, double t)
{
	struct node **best = &d->queue.queued.head, **at;
	double least = INFINITY;

	if (d->p.ctl.queue == QUEUE_FIFO || d->queue.queued.n == 1 || is_committed(d, *best) ||
	    t - (*best)->eligible > d->p.ctl.max_age_ms * 1e6)
		return best;
	stream_update(d, t);
	for (at = &d->queue.queued.head; *at && (*at)->eligible <= t; at = &(*at)->next) {
		double cost = media_cost(d, t, *at);

		if (cost < least) {
			least = cost;
			best = at;
		}
	}
	return best;
}

static void finish_all(struct disk *d, struct list *l, double t)
{
	while (l->head)
		disk_finish(d, disk_list_take(l, &l->head), t, 0,
		            HOW_NONE); /* disk_finish() knows what a lost disk answers */
}

/* What comes next, and when. */
enum work { WORK_NONE, WORK_ADMIT, WORK_REQUEST, WORK_DESTAGE, WORK_DESTAGED, WORK_CLEAN, WORK_GONE };

struct event {
	enum work work;
	double t;
	uint64_t lba, lbas; /* of WORK_DESTAGE */
	struct place place;
};

static void next_of_mechanics(const struct disk *d, struct event *e)
{
	bool is_urgent = d->queue.wait_room.head || d->queue.wait_flush.head ||
	                 (d->p.wcache.turns == TURNS_FAIR && d->wcache.is_emptying);
	double ready, t;

	if (d->wcache.is_destaging) {
		*e = (struct event){ .work = WORK_DESTAGED, .t = d->head.free_at };
		return;
	}
	*e = (struct event){ .work = WORK_NONE, .t = INFINITY };
	if (d->queue.queued.head)
		*e = (struct event){ .work = WORK_REQUEST,
			             .t = stall_skip(d, fmax(d->head.free_at, d->queue.queued.head->eligible)) };
	if (d->mcache && (t = stall_skip(d, fmax(mediacache_idle_at(d), d->now))) < e->t)
		*e = (struct event){ .work = WORK_CLEAN, .t = t };
	if (d->wcache.ndirty == 0 || d->p.kind == DISK_SSD)
		return;
	t = d->wcache.is_emptying ? d->head.free_at
	                          : fmax(d->head.free_at, d->wcache.dirty_since + d->p.wcache.delay_ms * 1e6);
	t = fmax(t, d->now);
	if (t > e->t || (t == e->t && (!is_urgent || d->wcache.last_was_destage)))
		return; /* a request comes first: no need to look for the place */
	{
		struct event w = { .work = WORK_DESTAGE };

		(void)cache_next(d, &w.lba, &w.lbas, &ready, &w.place);
		w.t = stall_skip(d, fmax(t, ready));
		if (d->mcache &&
		    !mediacache_has_room(d, w.lba / d->g->ratio, (w.lba + w.lbas + d->g->ratio - 1) / d->g->ratio))
			w.work = WORK_CLEAN;
		if (w.t < e->t || (w.t == e->t && is_urgent && !d->wcache.last_was_destage))
			*e = w;
	}
}

static void next_event(const struct disk *d, struct event *e)
{
	double t;

	next_of_mechanics(d, e);
	if (e->t >= d->gone && d->queue.queued.n + d->queue.wait_room.n + d->queue.wait_flush.n > 0)
		*e = (struct event){ .work = WORK_GONE, .t = d->gone };
	if (!d->queue.arrived.head)
		return;
	t = d->queue.arrived.head->arrival;
	if (d->queue.in_queue - d->queue.nrelease >= d->p.ctl.queue_depth)
		return; /* all places are taken by requests whose end is not known yet */
	if (d->queue.in_queue >= d->p.ctl.queue_depth)
		t = fmax(t, d->queue.release[d->queue.nrelease - 1 - (d->queue.in_queue - d->p.ctl.queue_depth)]);
	if (t <= e->t)
		*e = (struct event){ .work = WORK_ADMIT, .t = t };
}

static void take(struct disk *d, const struct event *e)
{
	double t = fmax(e->t, d->now);

	d->now = t;
	while (d->queue.nrelease && d->queue.release[d->queue.nrelease - 1] <= t) {
		d->queue.nrelease--;
		d->queue.in_queue--;
	}
	switch (e->work) {
	case WORK_ADMIT:
		admit(d, disk_list_take(&d->queue.arrived, &d->queue.arrived.head), t);
		break;
	case WORK_REQUEST:
		d->wcache.last_was_destage = false;
		start(d, disk_list_take(&d->queue.queued, choose(d, t)), t);
		break;
	case WORK_DESTAGE:
		d->wcache.last_was_destage = true;
		d->wcache.is_emptying = true;
		writecache_destage(d, t, e->lba, e->lbas, &e->place);
		break;
	case WORK_DESTAGED:
		disk_destaged(d, t);
		break;
	case WORK_CLEAN:
		d->wcache.last_was_destage = true;
		mediacache_clean(d, t);
		break;
	case WORK_GONE:
		finish_all(d, &d->queue.queued, t);
		finish_all(d, &d->queue.wait_room, t);
		finish_all(d, &d->queue.wait_flush, t);
		break;
	case WORK_NONE:
		break;
	}
}

/* ---- the door ---- */

static bool room_for_one_more(struct disk *d)
{
	if (d->queue.in_flight < d->queue.heap_room)
		return true;
	{
		uint32_t room = d->queue.heap_room ? d->queue.heap_room * 2 : 64;
		struct node **heap = realloc(d->queue.heap, room * sizeof(struct node *));
		double *release;

		if (!heap)
			return false;
		d->queue.heap = heap;
		/* Released places are counted off at the next event only: there may be as many as there are
		 * completions, popped ones included. */
		release = realloc(d->queue.release, (room + d->p.ctl.queue_depth) * sizeof(*release));
		if (!release)
			return false;
		d->queue.release = release;
		d->queue.heap_room = room;
	}
	return true;
}

/* What is known already to end after the device went ends then. */
static void go(struct disk *d, double t)
{
	uint32_t i;

	d->gone = fmin(d->gone, t);
	for (i = 0; i < d->queue.nheap; i++) {
		struct disk_done *done = &d->queue.heap[i]->done;

		if (done->done_ns > to_ns(d, t)) {
			done->done_ns = done->ideal_ns = to_ns(d, t);
			done->res = gone_res(d);
		}
	}
	for (i = 1; i < d->queue.nheap; i++)
		heap_up(d, i);
}

int disk_submit(struct disk *d, uint64_t now_ns, const struct disk_req *req)
{
	double t = now_ns > d->start_ns ? (double)(now_ns - d->start_ns) : 0;
	struct node *n = d->queue.pool;
	struct event e;

	if (d->front) {
		request_count(d, req, now_ns);
		return front_submit(d, now_ns, req);
	}
	if (!room_for_one_more(d))
		return -ENOMEM;
	if (n)
		d->queue.pool = n->next;
	else if (!(n = malloc(sizeof(*n))))
		return -ENOMEM;
	for (next_event(d, &e); e.t < t;
	     next_event(d, &e)) /* not those at this very time: there may be more requests to come */
		take(d, &e);
	if (t < d->now)
		t = d->now;
	*n = (struct node){ .req = *req, .arrival = path_request(d, t) };
	n->done.number = ++d->queue.number;
	n->done.arrival_ns = now_ns;
	request_check(d, n, req->op <= DISK_FLUSH ? ++d->queue.op_number[req->op] : 0);
	request_count(d, req, now_ns);
	if (d->p.faults.power_loss_at_request && n->done.number == d->p.faults.power_loss_at_request)
		disk_power_loss(d);
	if (d->p.faults.gone_at_request && n->done.number == d->p.faults.gone_at_request)
		go(d, t);
	d->queue.in_flight++;
	disk_list_add(&d->queue.arrived, n);
	return 0;
}

void disk_advance(struct disk *d, uint64_t now_ns)
{
	double t = now_ns > d->start_ns ? (double)(now_ns - d->start_ns) : 0;
	struct event e;

	if (d->front) {
		front_advance(d, now_ns);
		return;
	}
	for (next_event(d, &e); e.work != WORK_NONE && e.t <= t; next_event(d, &e))
		take(d, &e);
}

uint64_t disk_next_event_ns(const struct disk *d)
{
	struct event e;

	if (d->front)
		return front_next_event_ns(d);
	next_event(d, &e);
	return e.work == WORK_NONE || e.t > 1e18 ? DISK_NEVER : d->start_ns + (uint64_t)ceil(fmax(e.t, 0));
}

uint64_t disk_next_done_ns(const struct disk *d)
{
	if (d->front)
		return front_next_done_ns(d);
	return d->queue.nheap ? d->queue.heap[0]->done.done_ns : DISK_NEVER;
}

bool disk_pop_done(struct disk *d, uint64_t until_ns, struct disk_done *ret)
{
	struct node *n;

	if (d->front) {
		if (!front_pop_done(d, until_ns, ret))
			return false;
		request_count_done(d, ret);
		return true;
	}
	if (d->queue.nheap == 0 || d->queue.heap[0]->done.done_ns > until_ns)
		return false;
	n = heap_take(d);
	*ret = n->done;
	d->queue.in_flight--;
	request_count_done(d, ret);
	n->next = d->queue.pool;
	d->queue.pool = n;
	return true;
}

uint32_t disk_in_flight(const struct disk *d)
{
	return d->queue.in_flight;
}

bool disk_is_gone(const struct disk *d, uint64_t now_ns)
{
	if (d->front) {
		struct disk *const *part;

		(void)front_parts(d->front, &part);
		return disk_is_gone(part[0], now_ns);
	}
	return now_ns >= d->start_ns && (double)(now_ns - d->start_ns) >= d->gone;
}

uint64_t disk_size_bytes(const struct disk *d, uint64_t now_ns)
{
	return disk_is_gone(d, now_ns) ? 0 : d->g->lbas * d->p.logical_sector_bytes;
}
