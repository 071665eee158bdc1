/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sequential rate at a place, on the way to something else: its first requests do not count, as the way there is in
 * them. */
#include <math.h>

#include "measure/shared/timed.h"

struct rate_sink {
	struct sink sink; /* first */
	const struct timed_manners *manners;
	uint64_t skip, seen, bytes, first_ns, last_ns;
	bool is_late;
};

static void rate_take(struct sink *s, const struct io_req *req, bool is_fault)
{
	struct rate_sink *r = (struct rate_sink *)s;

	if (r->manners)
		r->manners->took(r->manners->arg, req, is_fault);
	r->is_late |= req->is_late;
	if (is_fault)
		return;
	if (r->seen++ < r->skip) {
		r->first_ns = req->done_ns;
		return;
	}
	r->bytes += (uint64_t)req->res;
	r->last_ns = req->done_ns;
}

int timed_rate(struct timed *t, uint64_t offset, uint64_t bytes, double *ret_bytes_per_s, struct err *err)
{
	uint64_t block = bytes / 8 < RATE_BLOCK ? bytes / 8 - bytes / 8 % 65536 : RATE_BLOCK, lead;
	struct rate_sink sink = { .sink = { rate_take }, .manners = t->manners, .skip = 3 };
	struct load load = { .targets = t->target, .ntargets = 1, .sink = &sink.sink, .depth = 2 };
	struct load_stats stats;
	struct seq_feeder feeder;
	int r;

	block = block < 65536 ? 65536 : block > t->eng->cfg.buf_bytes ? t->eng->cfg.buf_bytes : block;
	lead = 4 * block;
	if (offset + bytes + lead > timed_size(t))
		offset = timed_size(t) > bytes + lead ? timed_size(t) - bytes - lead : 0;
	offset -= offset % t->block_bytes;
	seq_feeder_init(&feeder, t->op, 0, t->first_bytes + offset,
	                t->first_bytes +
	                        (offset + bytes + lead < timed_size(t) ? offset + bytes + lead : timed_size(t)),
	                (uint32_t)block);
	load.feeder = &feeder.f;
	*ret_bytes_per_s = NAN;
	if (!timed_has_time(t, &load.max_ns))
		return 0;
	r = session_load(t->ses, &load, t->eng, &stats, err);
	*ret_bytes_per_s = sink.last_ns > sink.first_ns && sink.bytes && !sink.is_late
	                           ? (double)sink.bytes / ((double)(sink.last_ns - sink.first_ns) * 1e-9)
	                           : (double)NAN;
	return r;
}
