/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the connection is slower than the medium, the drive's buffer is full all the time, and a revolution that the
 * medium loses is made up for before anybody waits. A medium is slower towards its inner end; what is as fast two
 * sevenths of the disk further in is a connection.
 */
#include "measure/surface/surface.h"

#define PLACES     8 /* evenly over the disk */
#define APART      2 /* places: that far, no medium is as fast by zones that happen to be alike */
#define READS      16
#define READ_BYTES (256u << 10) /* overhead is little beside it, and it passes at most two tracks of old disks */
#define ALIKE      1.02         /* times the quickest */

/* The median time of reads in a row. NaN: not known. */
static int time_of_row(struct surface_run *run, uint64_t at, double *ret_ns, struct err *err)
{
	struct timed t = run->timed;
	uint64_t offsets[READS];
	double ns[READS];
	int r;

	surface_give_way(run);
	t.block_bytes = run->eng->cfg.buf_bytes < READ_BYTES ? run->eng->cfg.buf_bytes : READ_BYTES;
	for (size_t i = 0; i < READS; i++)
		offsets[i] = timed_align(&t, (double)(at + i * t.block_bytes));
	r = timed_reads(&t, offsets, READS, ns, NULL, err);
	*ret_ns = stats_median(ns, stats_keep_finite(ns, READS));
	return r;
}

int surface_find_bound(struct surface_run *run, struct err *err)
{
	uint64_t size = run->ses->devs[0].size_bytes, row = READS * READ_BYTES;
	double ns[PLACES] = { 0 }, least_ns = INFINITY;
	size_t first = PLACES, last = 0;
	int r = 0;

	run->blind.bound_bytes = 0;
	if (!run->rot.is_rotating || run->p->verify || size < 4 * PLACES * row)
		return 0;
	for (size_t i = 0; i < PLACES && r == 0 && !session_is_over(run->ses); i++) {
		r = time_of_row(run, (size - row) / (PLACES - 1) * i, &ns[i], err);
		least_ns = fmin(least_ns, ns[i]);
	}
	for (size_t i = 0; i < PLACES && r == 0 && !session_is_over(run->ses); i++)
		if (ns[i] < ALIKE * least_ns) {
			first = i < first ? i : first;
			last = i;
		}
	if (last >= first + APART)
		run->blind.bound_bytes = size / (PLACES - 1) * last;
	return r;
}
