/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From failed requests to unreadable sectors. A failed request is read again in pieces of 64 KiB; where one fails, its
 * sectors are read from its begin upwards to the first that fails, and in the last failing piece from the end
 * downwards. Pieces between are taken as unreadable: each read of a bad sector costs a dying disk seconds, and may be
 * its last.
 */
#include <stdlib.h>

#include "base/xalloc.h"
#include "measure/zones/zones.h"

#define PIECE_BYTES   65536u           /* small beside a request, large beside a sector: 16 and 128 tries (a choice) */
#define LOCATE_MAX    64               /* failed requests that are narrowed down (a choice) */
#define LOCATE_MAX_NS (120 * NS_PER_S) /* each may take the drive seconds (a choice) */

void zone_fault_note(struct zone_target *t, uint64_t first_bytes, uint64_t len_bytes, int res)
{
	t->unreadable = xgrow(t->unreadable, t->nunreadable + 1, sizeof(*t->unreadable));
	t->unreadable[t->nunreadable++] =
		(struct zone_unreadable){ first_bytes, first_bytes + len_bytes, res < 0 ? res : 0, false };
}

/* One read at a time, stopping at the first that goes wrong (or, with is_all, trying all). */
struct prober {
	struct feeder feeder;
	struct sink sink;
	uint32_t target, step_bytes;
	uint64_t first, end, at;
	bool is_down;
	uint64_t bad_first, bad_end; /* hull of what failed; bad_first >= bad_end: nothing */
	bool is_all;
	int error;
};

static enum feed prober_next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct prober *p = (struct prober *)((char *)f - offsetof(struct prober, feeder));
	uint64_t left = p->is_down ? p->at - p->first : p->end - p->at;
	uint32_t len = left < p->step_bytes ? (uint32_t)left : p->step_bytes;

	(void)now_ns;
	(void)ret_until_ns; /* never waits */
	if (!len || (!p->is_all && p->bad_first < p->bad_end))
		return FEED_END;
	req->op = IO_READ;
	req->target = p->target;
	req->len_bytes = len;
	req->offset_bytes = p->is_down ? p->at - len : p->at;
	p->at = p->is_down ? p->at - len : p->at + len;
	return FEED_IO;
}

static void prober_take(struct sink *s, const struct io_req *req, bool is_fault)
{
	struct prober *p = (struct prober *)((char *)s - offsetof(struct prober, sink));

	if (!is_fault)
		return;
	p->error = req->res < 0 ? req->res : 0;
	if (req->offset_bytes < p->bad_first)
		p->bad_first = req->offset_bytes;
	if (req->offset_bytes + req->len_bytes > p->bad_end)
		p->bad_end = req->offset_bytes + req->len_bytes;
}

static int run_prober(struct zones_run *run, const struct zone_target *t, struct prober *p, struct err *err)
{
	struct load load = { .targets = run->ses->targets,
		             .ntargets = run->ses->ndevs,
		             .feeder = &p->feeder,
		             .sink = &p->sink,
		             .depth = 1 };
	struct load_stats stats;

	p->feeder.next = prober_next;
	p->sink.take = prober_take;
	p->target = (uint32_t)t->index;
	p->at = p->is_down ? p->end : p->first;
	p->bad_first = UINT64_MAX;
	p->bad_end = 0;
	return session_load(run->ses, &load, run->eng, &stats, err);
}

/* u: a failed request; narrowed in place. *ret_none: nothing fails any more. */
static int narrow(struct zones_run *run, const struct zone_target *t, struct zone_unreadable *u, struct err *err)
{
	uint32_t piece = PIECE_BYTES < t->layout.block_bytes ? PIECE_BYTES : t->layout.block_bytes;
	struct prober pieces = { .first = u->first_bytes, .end = u->end_bytes, .step_bytes = piece, .is_all = true };
	struct prober sectors = { .step_bytes = t->dev->logical_block_bytes };
	int r = run_prober(run, t, &pieces, err);

	if (r < 0 || session_is_over(run->ses))
		return r;
	u->is_located = true;
	if (pieces.bad_first >= pieces.bad_end) {
		u->end_bytes = u->first_bytes; /* read well this time */
		return 0;
	}
	u->first_bytes = pieces.bad_first;
	u->end_bytes = pieces.bad_end;
	u->error = pieces.error;
	sectors.first = u->first_bytes;
	sectors.end = u->first_bytes + piece < u->end_bytes ? u->first_bytes + piece : u->end_bytes;
	r = run_prober(run, t, &sectors, err);
	if (r < 0 || session_is_over(run->ses) || sectors.bad_first >= sectors.bad_end)
		return r;
	u->first_bytes = sectors.bad_first;
	sectors.first = u->end_bytes - u->first_bytes > piece ? u->end_bytes - piece : u->first_bytes;
	sectors.end = u->end_bytes;
	sectors.is_down = true;
	r = run_prober(run, t, &sectors, err);
	if (r == 0 && sectors.bad_first < sectors.bad_end)
		u->end_bytes = sectors.bad_end;
	return r;
}

static int by_first(const void *a, const void *b)
{
	const struct zone_unreadable *x = a, *y = b;

	return x->first_bytes < y->first_bytes ? -1 : x->first_bytes > y->first_bytes;
}

/* In order, without empty ones, neighbours joined. */
static void tidy(struct zone_target *t)
{
	size_t n = 0;

	qsort(t->unreadable, t->nunreadable, sizeof(*t->unreadable), by_first);
	for (size_t i = 0; i < t->nunreadable; i++) {
		const struct zone_unreadable *u = &t->unreadable[i];

		if (u->first_bytes >= u->end_bytes)
			continue;
		if (n && t->unreadable[n - 1].end_bytes >= u->first_bytes) {
			if (u->end_bytes > t->unreadable[n - 1].end_bytes)
				t->unreadable[n - 1].end_bytes = u->end_bytes;
			continue;
		}
		t->unreadable[n++] = *u;
	}
	t->nunreadable = n;
}

int zones_faults_locate(struct zones_run *run, struct zone_target *t, struct err *err)
{
	uint64_t start_ns = clock_now_ns(run->ses->env->clk);
	size_t gone = 0, before;

	if (t->nunreadable)
		tidy(t);
	before = t->nunreadable;
	for (size_t i = 0; i < t->nunreadable && i < LOCATE_MAX && !session_is_over(run->ses); i++) {
		int r;

		if (clock_now_ns(run->ses->env->clk) - start_ns > LOCATE_MAX_NS)
			break;
		session_progress(run->ses, "unreadable sectors", -1.0, NULL);
		r = t->unreadable[i].is_located ? 0 : narrow(run, t, &t->unreadable[i], err);
		if (r < 0)
			return r;
		gone += t->unreadable[i].first_bytes == t->unreadable[i].end_bytes;
	}
	if (gone)
		result_notice(
			run->res, "healed",
			"%s: %zu of %zu failed requests were read well when tried again: the disk retries at its limit there.",
			t->dev->path, gone, before);
	if (t->nunreadable)
		tidy(t);
	return 0;
}
