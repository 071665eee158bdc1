/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lists of a run: what failed, without a bound, and what is slow, up to that many of each kind; all of it by place;
 * and what is still to be done about it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "measure/surface/surface.h"
#include "measure/surface/writing.h"

#define HIT_PART                                                                                            \
	0.4 /* of the medium's time: what comes sooner, beyond the command itself, came over the link alone \
	     */
/* Beside that share: some 300 places that are slow, or damage of 100 reads of 3 s. */
#define SLOW_LEAST_NS  (150 * NS_PER_S)
#define ERROR_LEAST_NS (300 * NS_PER_S)

/* ---- lists ---- */

/* A kind is listed up to its bound, whatever there is of others: what is slow once by chance pushes nothing out. */
void surface_list_place(struct surface_run *run, const struct surface_suspect *s)
{
	/* Something else was the reason, or the drive goes elsewhere there: no bad places. */
	if (s->kind == SURFACE_ONCE || s->kind == SURFACE_PASSING || run->lists.nlisted[s->kind] == SURFACE_LISTED)
		return;
	run->lists.places = surface_insert(run->lists.places, &run->lists.nplaces, sizeof(*s), run->lists.nplaces, s);
	run->lists.nlisted[s->kind]++;
}

bool surface_is_cached(const struct surface_run *run, double took_ns, uint64_t len)
{
	const struct surface_base *b = &run->base;
	double usual_ns = b->n ? b->level[(b->at + SURFACE_BASE - 1) % SURFACE_BASE] * (double)len : 0.0;

	took_ns -= HIT_PART * usual_ns;
	if (!run->rot.is_rotating && run->ses->devs[0].rotational == 1) /* how long a hit takes was not found */
		return took_ns < SURFACE_LEAST_OVER_NS;
	return timed_may_be_hit(&run->rot.hits, took_ns);
}

void surface_answered(struct surface_run *run, const struct io_req *req, bool is_fault)
{
	uint64_t first = req->offset_bytes, end = first + req->len_bytes;
	const struct surface_failed f = { first,
		                          end,
		                          req->done_ns - req->submit_ns,
		                          1,
		                          surface_error(req, is_fault),
		                          req->len_bytes <= run->range.unit_bytes };

	if (load_is_lost(req->res))
		return;
	if (is_fault)
		surface_failures_add(&run->failures, &f,
		                     end > run->position || surface_has_failed(&run->later.skipped, first, end));
	else if (!surface_is_cached(run, (double)f.time_ns, req->len_bytes))
		surface_failures_read(&run->failures, first, end, f.is_sector);
}

static struct surface_suspect suspect_of(const struct surface_failed *f, enum surface_kind unproven)
{
	return (struct surface_suspect){ .first_bytes = f->first_bytes,
		                         .end_bytes = f->end_bytes,
		                         .time_ns = f->time_ns,
		                         .scan_bytes = f->end_bytes - f->first_bytes,
		                         .ns_per_byte = NAN,
		                         .again = f->readings - 1,
		                         .again_bad = f->readings - 1,
		                         .error = f->error,
		                         .rests = f->is_rest,
		                         .kind = f->is_sector ? SURFACE_UNREADABLE : unproven };
}

struct surface_suspect *surface_all_places(const struct surface_run *run, size_t *ret_n)
{
	size_t n = run->lists.nplaces + run->lists.nactive;
	struct surface_suspect *v = xcalloc(n + run->failures.n + run->later.skipped.n + 1, sizeof(*v));
	enum surface_kind unproven = surface_is_unfinished(run) ? SURFACE_PENDING : SURFACE_UNCHECKED;

	if (run->lists.nplaces)
		memcpy(v, run->lists.places, run->lists.nplaces * sizeof(*v));
	memcpy(v + run->lists.nplaces, run->lists.active, run->lists.nactive * sizeof(*v));
	for (size_t i = 0; i < run->failures.n && run->failures.v[i].first_bytes < run->position; i++)
		v[n++] = suspect_of(&run->failures.v[i], unproven);
	for (size_t i = 0; i < run->later.skipped.n; i++)
		v[n++] = suspect_of(&run->later.skipped.v[i], SURFACE_SKIPPED);
	qsort(v, n, sizeof(*v), order_u64);
	*ret_n = n;
	return v;
}

/* ---- what is left to be done ---- */

double surface_again_left(const struct surface_run *run, enum surface_budget of)
{
	double least_ns = (double)(of == AGAIN_OF_SLOW ? SLOW_LEAST_NS : ERROR_LEAST_NS);

	return run->p->recheck_all ? 1.0
	                           : 1.0 - (double)run->again.spent_ns[of] /
	                                             (SURFACE_AGAIN_SHARE * (double)run->done.scan_ns + least_ns);
}

bool surface_wants_errors(const struct surface_run *run)
{
	return surface_next_unproven(&run->failures, run->position) && surface_again_left(run, AGAIN_OF_ERRORS) > 0.0;
}

bool surface_wants_skipped(const struct surface_run *run)
{
	return run->later.skipped.n && surface_again_left(run, AGAIN_OF_SKIPPED) > 0.0;
}

bool surface_is_unfinished(const struct surface_run *run)
{
	return run->position < run->range.end_bytes || run->lists.nactive || surface_wants_errors(run) ||
	       surface_wants_skipped(run);
}

/* ---- what is left for later ---- */

/*
 * A drive tries for seconds before a read fails, so that a dead head would make a scan of days. What failed so far may
 * take half as long as what lies before it takes to be read; where it took longer, the scan goes on as far ahead as
 * makes up for that. What was skipped is read when all else was, from both halves of each range in turn: where a read
 * fails, half of the rest is left for the next time around.
 */
#define FAILED_SHARE 0.5              /* of the time of reading (a choice): a scan takes half as long again at most, */
#define FAILED_LEAST (300 * NS_PER_S) /* and this: damage of 100 reads of 3 s is read through */
#define UNKNOWN_NS   10.0             /* a byte, where nothing was read so far: 100 MB/s */

static uint64_t far_enough(const struct surface_run *run, uint64_t at, uint64_t failed_ns, uint64_t busy_ns,
                           uint64_t bytes)
{
	const struct surface_range *g = &run->range;
	double owed_ns = (double)failed_ns - (double)FAILED_LEAST;
	double ns_per_byte = busy_ns ? (double)busy_ns / (double)bytes : UNKNOWN_NS;
	uint64_t ahead = owed_ns > 0.0 ? (uint64_t)(owed_ns / FAILED_SHARE / ns_per_byte) : 0;

	ahead -= ahead % g->block_bytes;
	if (run->p->recheck_all || run->later.sample || ahead <= at - g->first_bytes)
		return at;
	return ahead < g->end_bytes - g->first_bytes ? g->first_bytes + ahead : g->end_bytes;
}

uint64_t surface_skip_to(const struct surface_run *run, uint64_t at, uint64_t failed_ns, bool is_write)
{
	uint64_t busy_ns = 0, bytes = 0;

	for (size_t i = 0; i < SURFACE_CELLS; i++) {
		const struct surface_cell *c = &run->cells[i];

		busy_ns += is_write ? c->write_ns : c->busy_ns;
		bytes += is_write ? c->written_bytes : c->scanned_bytes - c->failed_bytes;
	}
	return far_enough(run, at, (is_write ? 0 : run->later.failed_ns) + failed_ns, busy_ns, bytes);
}

void surface_skip(struct surface_run *run, uint64_t to)
{
	const struct surface_failed f = { .first_bytes = run->position, .end_bytes = to, .readings = 1 };

	surface_failures_add(&run->later.skipped, &f, true);
	run->position = to;
}

void surface_next_part(struct surface_run *run, uint64_t *ret_first, uint64_t *ret_end)
{
	size_t i = 0;

	*ret_first = run->position;
	*ret_end = run->range.end_bytes;
	if (run->position < run->range.end_bytes || !surface_wants_skipped(run))
		return;
	while (i < run->later.skipped.n && run->later.skipped.v[i].end_bytes <= run->later.at)
		i++;
	if (i == run->later.skipped.n) /* once more from the start */
		i = run->later.at = 0;
	*ret_first = run->later.skipped.v[i].first_bytes;
	*ret_first = *ret_first < run->later.at ? run->later.at : *ret_first;
	*ret_end = run->later.skipped.v[i].end_bytes;
}
