/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A disk that is made of others: behind a bridge that cuts requests and lets one pass at a time, or with two arms that
 * work at once. Each part is a disk of its own, on the same time line; here requests are cut, given to them and put
 * together again.
 */
#include "front.h"

#include <errno.h>
#include <stdlib.h>

#define PARTS 2

/* A request of the host. */
struct whole {
	struct disk_done done;
	uint64_t len; /* what of it lies on the disk */
	uint64_t at;  /* bytes given out */
	uint32_t in_flight;
	int32_t err;
	uint64_t moved;
	struct whole *next, *next_at_work;
};

struct wholes {
	struct whole *head, **tail;
};

struct front {
	struct disk *part[PARTS];
	size_t nparts;
	struct wholes waiting, ready; /* ready: in order of time */
	struct whole *at_work;        /* begun and not ended */
	uint32_t active;
};

static void wholes_add(struct wholes *l, struct whole *w)
{
	w->next = NULL;
	if (!l->head)
		l->tail = &l->head;
	*l->tail = w;
	l->tail = &w->next;
}

static struct whole *wholes_take(struct wholes *l)
{
	struct whole *w = l->head;

	l->head = w->next;
	return w;
}

bool front_is_wanted(const struct profile *p)
{
	return p->arms.kind != ARMS_ONE || p->path.bridge_bytes > 0;
}

struct front *front_new(const struct disk *d)
{
	struct front *f = calloc(1, sizeof(*f));
	size_t i;

	for (i = 0; f && i < PARTS; i++) {
		struct profile p = d->g->arm[i] ? *geometry_profile(d->g->arm[i]) : d->p;

		if (i && !d->g->arm[i])
			break;
		p.path.bridge_bytes = 0;
		p.arms.kind = ARMS_ONE;
		f->part[i] = disk_new(&p, d->start_ns);
		if (!f->part[i]) {
			front_free(f);
			return NULL;
		}
		f->nparts++;
	}
	return f;
}

void front_free(struct front *f)
{
	size_t i;

	if (!f)
		return;
	while (f->waiting.head)
		free(wholes_take(&f->waiting));
	while (f->ready.head)
		free(wholes_take(&f->ready));
	while (f->at_work) {
		struct whole *w = f->at_work;

		f->at_work = w->next_at_work;
		free(w);
	}
	for (i = 0; i < PARTS; i++)
		disk_free(f->part[i]);
	free(f);
}

size_t front_parts(const struct front *f, struct disk *const **ret)
{
	*ret = f->part;
	return f->nparts;
}

static int give(struct disk *d, struct whole *w, size_t part, uint64_t offset, uint64_t len, void *buf, uint64_t now_ns)
{
	const struct disk_req q = { .op = w->done.req.op,
		                    .fua = w->done.req.fua,
		                    .is_verify = w->done.req.is_verify,
		                    .offset_bytes = offset,
		                    .len_bytes = (uint32_t)len,
		                    .buf = buf,
		                    .owner = w };
	int r = disk_submit(d->front->part[part], now_ns, &q);

	if (r == 0)
		w->in_flight++;
	return r;
}

/* A bridge: the next piece. It holds the contents itself. */
static int give_piece(struct disk *d, struct whole *w, uint64_t now_ns)
{
	const struct disk_req *q = &w->done.req;
	uint64_t n = w->len - w->at < d->p.path.bridge_bytes ? w->len - w->at : d->p.path.bridge_bytes;
	char *buf = q->buf ? (char *)q->buf + w->at : NULL;

	w->at += n;
	return give(d, w, 0, q->offset_bytes + w->at - n, n, buf, now_ns);
}

/* Two arms: to each what it has of it. */
static int give_arms(struct disk *d, struct whole *w, uint64_t now_ns)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < PARTS; i++) {
		uint64_t from, to;

		geometry_on_arm(d->g, i, w->done.req.offset_bytes, w->done.req.offset_bytes + w->len, &from, &to);
		if (to > from || (w->done.req.op == DISK_FLUSH))
			r = give(d, w, i, from, to - from, NULL, now_ns);
	}
	w->at = w->len;
	return r;
}

static int move_data(struct disk *d, struct whole *w)
{
	uint64_t lba = w->done.req.offset_bytes / d->p.logical_sector_bytes;
	uint64_t n = w->len / d->p.logical_sector_bytes;

	if (d->p.arms.kind == ARMS_ONE || !w->done.req.buf || w->done.req.op == DISK_FLUSH)
		return 0;
	return w->done.req.op == DISK_READ ? contents_read(&d->contents, lba, n, w->done.req.buf)
	                                   : contents_write_media(&d->contents, lba, n, w->done.req.buf);
}

static void end(struct disk *d, struct whole *w)
{
	struct whole **at = &d->front->at_work;

	while (*at && *at != w)
		at = &(*at)->next_at_work;
	if (*at)
		*at = w->next_at_work;
	w->done.res = w->err ? w->err : (int32_t)w->moved;
	if (!w->err) {
		int r = move_data(d, w);

		w->done.res = r < 0 ? r : w->done.res;
	}
	d->front->active--;
	wholes_add(&d->front->ready, w);
}

static void begin(struct disk *d, struct whole *w, uint64_t now_ns)
{
	int r;

	d->front->active++;
	w->next_at_work = d->front->at_work;
	d->front->at_work = w;
	r = d->p.arms.kind != ARMS_ONE ? give_arms(d, w, now_ns) : give_piece(d, w, now_ns);
	if (r == 0)
		return;
	w->err = r;
	w->at = w->len;
	w->done.done_ns = w->done.ideal_ns = now_ns;
	if (w->in_flight == 0)
		end(d, w);
}

/* A piece is back. */
static void take(struct disk *d, const struct disk_done *piece)
{
	struct whole *w = piece->req.owner, *next;

	w->in_flight--;
	if (piece->res < 0)
		w->err = piece->res;
	else
		w->moved += (uint64_t)piece->res;
	if (piece->done_ns >= w->done.done_ns) { /* the last one's parts stand for all */
		w->done.how = piece->how;
		w->done.done_ns = piece->done_ns;
		w->done.ideal_ns = piece->ideal_ns;
		w->done.seek_ns = piece->seek_ns;
		w->done.latency_ns = piece->latency_ns;
		w->done.transfer_ns = piece->transfer_ns;
	}
	if (w->err == 0 && w->at < w->len && give_piece(d, w, piece->done_ns) < 0)
		w->err = -ENOMEM;
	if (w->in_flight)
		return;
	end(d, w);
	if (d->p.arms.kind == ARMS_ONE && d->front->waiting.head) {
		next = wholes_take(&d->front->waiting);
		begin(d, next, piece->done_ns);
	}
}

static uint64_t part_next_ns(const struct disk *part)
{
	uint64_t event = disk_next_event_ns(part), done = disk_next_done_ns(part);

	return event < done ? event : done;
}

uint64_t front_next_event_ns(const struct disk *d)
{
	uint64_t next = DISK_NEVER;
	size_t i;

	for (i = 0; i < d->front->nparts; i++) {
		uint64_t t = part_next_ns(d->front->part[i]);

		next = t < next ? t : next;
	}
	return next;
}

void front_advance(struct disk *d, uint64_t now_ns)
{
	struct disk_done done;
	uint64_t t;
	size_t i;

	while ((t = front_next_event_ns(d)) <= now_ns && t != DISK_NEVER)
		for (i = 0; i < d->front->nparts; i++) {
			disk_advance(d->front->part[i], t);
			while (disk_pop_done(d->front->part[i], t, &done))
				take(d, &done);
		}
}

int front_submit(struct disk *d, uint64_t now_ns, const struct disk_req *req)
{
	uint64_t size = geometry_bytes(d->g), sector = d->p.logical_sector_bytes;
	struct whole *w = calloc(1, sizeof(*w));
	int32_t res = 0;
	bool is_on_disk = req->op == DISK_FLUSH;

	if (!w)
		return -ENOMEM;
	front_advance(d, now_ns ? now_ns - 1 : 0); /* what is due at this very time may still see this request */
	w->done = (struct disk_done){ .req = *req, .number = ++d->queue.number, .arrival_ns = now_ns };
	if (req->op != DISK_FLUSH) {
		if (req->op > DISK_FLUSH || req->offset_bytes % sector || req->len_bytes % sector)
			res = -EINVAL;
		else if (req->offset_bytes >= size)
			res = req->op == DISK_WRITE && req->len_bytes ? -ENOSPC : 0;
		else
			w->len = req->len_bytes < size - req->offset_bytes ? req->len_bytes : size - req->offset_bytes;
		is_on_disk = w->len > 0;
	}
	d->queue.in_flight++;
	if (!is_on_disk) {
		w->err = res;
		w->done.done_ns = w->done.ideal_ns = now_ns;
		w->done.how = HOW_NONE;
		d->front->active++;
		end(d, w);
		return 0;
	}
	if (d->p.arms.kind == ARMS_ONE && d->front->active) {
		wholes_add(&d->front->waiting, w);
		return 0;
	}
	begin(d, w, now_ns);
	return 0;
}

uint64_t front_next_done_ns(const struct disk *d)
{
	return d->front->ready.head ? d->front->ready.head->done.done_ns : DISK_NEVER;
}

bool front_pop_done(struct disk *d, uint64_t until_ns, struct disk_done *ret)
{
	struct whole *w = d->front->ready.head;

	if (!w || w->done.done_ns > until_ns)
		return false;
	*ret = w->done;
	free(wholes_take(&d->front->ready));
	d->queue.in_flight--;
	return true;
}
