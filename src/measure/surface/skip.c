/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A drive tries for seconds before a read fails, so that a dead head would make a scan of days. What failed so far may
 * take half as long as what lies before it takes to be read; where it took longer, the scan goes on as far ahead as
 * makes up for that. What was skipped is read when all else was, from both halves of each range in turn: where a read
 * fails, half of the rest is left for the next time around.
 */
#include "measure/surface/writing.h"

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
