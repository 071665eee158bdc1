/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a request asks for as it comes in, and what is counted of it. */
#include <errno.h>
#include <stdlib.h>

#include "disk.h"

static void check_range(struct disk *d, struct node *n)
{
	const struct disk_req *q = &n->req;
	uint64_t size = d->g->lbas * d->p.logical_sector_bytes, end;
	uint32_t sector = d->p.logical_sector_bytes;

	if (q->op == DISK_FLUSH)
		return;
	if (q->op > DISK_FLUSH || q->offset_bytes % sector || q->len_bytes % sector || q->len_bytes > INT32_MAX) {
		n->res = -EINVAL;
		return;
	}
	if (q->offset_bytes >= size) {
		n->res = q->op == DISK_WRITE && q->len_bytes ? -ENOSPC : 0;
		return;
	}
	if (q->fua && q->op == DISK_READ && d->p.cache.fua_reads == FUA_READS_REFUSED) {
		n->res = -EOPNOTSUPP;
		return;
	}
	end = q->len_bytes < size - q->offset_bytes ? q->offset_bytes + q->len_bytes : size;
	n->res = (int32_t)(end - q->offset_bytes);
}

static void check_fails(struct disk *d, struct node *n, uint64_t op_number)
{
	size_t i;

	for (i = 0; i < d->p.faults.nfails; i++) {
		const struct profile_fail *f = &d->p.faults.fails[i];
		uint64_t number = f->op == DISK_ANY ? n->done.number : op_number;

		if (f->op != DISK_ANY && f->op != n->req.op)
			continue;
		if (number < f->nth || (number > f->nth && (f->every == 0 || (number - f->nth) % f->every)))
			continue;
		n->extra_ns += f->delay_s * 1e9;
		if (f->err)
			n->res = f->err;
		else if (n->res > 0 && f->short_bytes < (uint64_t)n->res)
			n->res = (int32_t)(f->short_bytes / d->p.logical_sector_bytes * d->p.logical_sector_bytes);
	}
}

static void place_request(struct disk *d, struct node *n)
{
	uint64_t ratio = d->g->ratio;

	if (n->req.op == DISK_FLUSH || n->res <= 0)
		return;
	n->lba = n->req.offset_bytes / d->p.logical_sector_bytes;
	n->lbas = (uint64_t)n->res / d->p.logical_sector_bytes;
	n->first = n->lba / ratio;
	n->end = (n->lba + n->lbas + ratio - 1) / ratio;
	n->is_partial = n->req.op == DISK_WRITE &&
	                (n->lba % ratio || ((n->lba + n->lbas) % ratio && n->lba + n->lbas != d->g->lbas));
}

void request_check(struct disk *d, struct node *n, uint64_t op_number)
{
	check_range(d, n);
	check_fails(d, n, op_number);
	place_request(d, n);
}

static void log_write(struct disk *d, const struct disk_req *q)
{
	if (d->log.n >= DISK_LOG_MAX)
		return;
	if (d->log.n == d->log.room) {
		size_t room = d->log.room ? d->log.room * 2 : 64;
		struct disk_write_log *bigger = realloc(d->log.v, room * sizeof(*bigger));

		if (!bigger)
			return; /* the log is short then; the counters are not */
		d->log.v = bigger;
		d->log.room = room;
	}
	d->log.v[d->log.n++] = (struct disk_write_log){ q->offset_bytes, q->len_bytes };
}

void request_count(struct disk *d, const struct disk_req *q, uint64_t now_ns)
{
	if (d->queue.in_flight == 0)
		d->busy_since_ns = now_ns;
	d->count.requests++;
	switch (q->op) {
	case DISK_READ:
		d->count.reads++;
		break;
	case DISK_WRITE:
		d->count.writes++;
		log_write(d, q);
		break;
	case DISK_FLUSH:
	case DISK_ANY:
		d->count.flushes++;
		break;
	}
}

void request_count_done(struct disk *d, const struct disk_done *done)
{
	uint64_t took = done->done_ns > done->arrival_ns ? done->done_ns - done->arrival_ns : 0;

	if (done->req.op == DISK_READ)
		d->count.read_ns += took;
	else
		d->count.write_ns += took;
	if (d->queue.in_flight == 0 && done->done_ns > d->busy_since_ns)
		d->count.busy_ns += done->done_ns - d->busy_since_ns;
}
