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
#define LOCATE_MAX_NS (120 * NS_PER_S) /* each may take the drive seconds (a choice) */

void zone_fault_note(struct zone_target *t, uint64_t first_bytes, uint64_t len_bytes, int res)
{
	if (load_is_lost(res))
		return;
	t->unreadable = xgrow(t->unreadable, t->nunreadable + 1, sizeof(*t->unreadable));
	t->unreadable[t->nunreadable++] =
		(struct zone_unreadable){ first_bytes, first_bytes + len_bytes, res < 0 ? res : 0, false };
}

struct failed { /* the hull of what failed; first >= end: nothing */
	struct sink sink;
	uint64_t first, end;
	int error;
	bool is_all; /* to the end, whatever fails; else the first is enough */
};

static void note(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct failed *bad = (struct failed *)sink;

	if (!is_fault || load_is_lost(req->res))
		return;
	bad->error = req->res < 0 ? req->res : 0;
	bad->first = req->offset_bytes < bad->first ? req->offset_bytes : bad->first;
	bad->end = req->offset_bytes + req->len_bytes > bad->end ? req->offset_bytes + req->len_bytes : bad->end;
}

/* Reads [first, end) in steps, upwards or downwards, all or until one fails. */
static int read_steps(struct zones_run *run, const struct zone_target *t, uint64_t first, uint64_t end, uint32_t step,
                      bool is_down, struct failed *bad, struct err *err)
{
	int r = 0;

	*bad = (struct failed){ .sink = { note }, .first = UINT64_MAX, .is_all = bad->is_all };
	while (r == 0 && first < end && (bad->is_all || bad->first >= bad->end) && !session_is_over(run->ses)) {
		uint32_t len = end - first < step ? (uint32_t)(end - first) : step;
		struct list_item item = { .offset_bytes = is_down ? end - len : first, .len_bytes = len };
		struct list_feeder feeder;
		struct load load = { .targets = &run->ses->targets[t->index],
			             .ntargets = 1,
			             .feeder = &feeder.f,
			             .sink = &bad->sink,
			             .depth = 1 };
		struct load_stats stats;

		list_feeder_init(&feeder, &item, 1);
		first += is_down ? 0 : len;
		end -= is_down ? len : 0;
		r = session_load(run->ses, &load, run->eng, &stats, err);
	}
	return r;
}

/* u: a failed request; narrowed in place. */
static int narrow(struct zones_run *run, const struct zone_target *t, struct zone_unreadable *u, struct err *err)
{
	uint32_t piece = PIECE_BYTES < t->layout.block_bytes ? PIECE_BYTES : t->layout.block_bytes,
		 sector = t->dev->logical_block_bytes;
	uint64_t first = u->first_bytes, end = u->end_bytes;
	struct failed bad = { .is_all = true };
	int r = read_steps(run, t, first, end, piece, false, &bad, err);

	if (r < 0 || session_is_over(run->ses))
		return r;
	u->is_located = true;
	if (bad.first >= bad.end) {
		u->end_bytes = u->first_bytes; /* read well this time */
		return 0;
	}
	u->first_bytes = first = bad.first;
	u->end_bytes = end = bad.end;
	u->error = bad.error;
	bad.is_all = false;
	r = read_steps(run, t, first, first + piece < end ? first + piece : end, sector, false, &bad, err);
	if (r < 0 || session_is_over(run->ses) || bad.first >= bad.end)
		return r;
	u->first_bytes = bad.first;
	r = read_steps(run, t, end - bad.first > piece ? end - piece : bad.first, end, sector, true, &bad, err);
	if (r == 0 && bad.first < bad.end)
		u->end_bytes = bad.end;
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
	for (size_t i = 0; i < t->nunreadable && !session_is_over(run->ses); i++) {
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
