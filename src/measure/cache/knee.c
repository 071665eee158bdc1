/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The knee is the largest file whose second reading comes from memory (hit ratio at least 0.98). Doubling brackets it;
 * halving in the logarithm narrows the bracket to 5 %. cachestat(2) is the second witness: another reading asks about
 * each record before it is read.
 */
#include <errno.h>
#include <math.h>
#include <unistd.h>

#include "measure/cache/cache.h"

#define KNEE_RECORD 65536u /* as a program reads; the knee is that of pages, whatever the record */

/*
 * Reads the file a third time from its start and asks about each record right before: what is in memory then had stayed
 * there, for the kernel was asked not to read ahead. Not timed: the asking would show. A reading of its own, since what
 * stays differs from one to the next when the cache is too small: so the same reading is also judged by what came from
 * the device, as the timed one is.
 */
static int counted_reading(struct cache_run *c, struct knee_row *row)
{
	struct cache_loop l = { .record = KNEE_RECORD, .done = c->file_bytes / KNEE_RECORD };
	struct pagecache_traffic before, after;
	uint64_t cached = 0;
	bool is_known = cache_advise(c, true);
	int r = 0;

	pagecache_traffic(c->ses, 0, &before);
	for (uint64_t at = 0; r == 0 && is_known && at < c->file_bytes; at += KNEE_RECORD) {
		struct pagecache_state st;
		ssize_t n;

		is_known = pagecache_look(c->cached_fd, c->first + at, KNEE_RECORD, &st) == 0;
		cached += st.cached_bytes;
		n = pread(c->cached_fd, c->buf, KNEE_RECORD, (off_t)(c->first + at));
		if (n != KNEE_RECORD)
			r = cache_failed(c, "read", c->first + at, KNEE_RECORD, n);
		else if (cache_is_over(c))
			r = -EINTR;
	}
	cache_advise(c, false);
	pagecache_traffic_since(c->ses, 0, &before, (double)cached / (double)c->file_bytes, &after);
	row->counted_hit_ratio = is_known ? cache_hits(c, &l, &after) : (double)NAN;
	row->cachestat_ratio = is_known ? (double)cached / (double)c->file_bytes : (double)NAN;
	return r;
}

static int second_reading(struct cache_run *c, uint64_t file_bytes, struct knee_row *ret)
{
	struct cache_loop l = { .fd = c->cached_fd, .record = KNEE_RECORD };
	struct pagecache_traffic before, after;
	double cached_before;
	uint64_t spent;
	int r;

	c->file_bytes = file_bytes - file_bytes % CACHE_PRIME_BYTES;
	l.n = c->file_bytes / KNEE_RECORD;
	r = datafile_reset(c->df, NULL) ?: cache_pass(c, c->cached_fd, true);
	if (r == 0 && fdatasync(c->cached_fd) < 0)
		r = cache_failed(c, "flush", 0, 0, -1);
	if (r == 0)
		r = cache_prepare(c, OP_REREAD, false); /* one reading after the write, then the one that counts */
	if (r < 0 || cache_is_over(c))
		return r < 0 ? r : -EINTR;
	cached_before = cache_in_memory(c);
	pagecache_traffic(c->ses, 0, &before);
	r = cache_run_loop(c, &l, UINT64_MAX, false, &spent);
	if (r < 0 || cache_is_over(c))
		return r < 0 ? r : -EINTR;
	pagecache_traffic_since(c->ses, 0, &before, cached_before, &after);
	*ret = (struct knee_row){
		.file_bytes = c->file_bytes,
		.rate_bytes_per_s = (double)c->file_bytes / ((double)spent * 1e-9),
		.hit_ratio = cache_hits(c, &l, &after),
		.from_disk_ratio = pagecache_share(&after, c->file_bytes, false).disk_ratio,
	};
	c->room_bytes = cgroup_room(c->cg);
	r = counted_reading(c, ret);
	if (isnan(ret->hit_ratio))
		ret->hit_ratio = ret->cachestat_ratio;
	return r;
}

/* Largest size with hits and smallest without, by doubling, then halved in the logarithm. */
int cache_find_knee(struct cache_run *c, uint64_t low, uint64_t high)
{
	struct table *t = result_table(c->ses->res, "knee", "Where the cache ends", cache_knee_fields);
	uint64_t good = 0, bad = 0;
	int r = 0;

	for (uint64_t size = low; r == 0 && size <= high && !bad && !cache_is_over(c); size *= 2) {
		struct knee_row row;

		session_progress(c->ses, "knee", 1.0, NULL);
		r = second_reading(c, size, &row);
		if (r < 0 || cache_is_over(c))
			return r;
		result_row(t, &row);
		*(row.hit_ratio >= CACHE_HIT_RATIO ? &good : &bad) = row.file_bytes;
	}
	while (r == 0 && good && bad && (double)bad / (double)good > 1.05 && bad - good > CACHE_PRIME_BYTES &&
	       !cache_is_over(c)) {
		struct knee_row row;
		uint64_t middle = (uint64_t)sqrt((double)good * (double)bad);

		r = second_reading(c, middle - middle % CACHE_PRIME_BYTES > good ? middle : good + CACHE_PRIME_BYTES,
		                   &row);
		if (r < 0 || cache_is_over(c))
			return r;
		result_row(t, &row);
		*(row.hit_ratio >= CACHE_HIT_RATIO ? &good : &bad) = row.file_bytes;
	}
	if (!cache_report_knee(c->ses->res, t))
		result_notice(
			c->ses->res, "no-knee",
			good ? "All files up to the largest size still read from memory; --size or --memory shows where the cache ends."
			     : "Not even the smallest file reads from memory.");
	if (c->room_bytes)
		result_figure_u64(c->ses->res, "room_bytes", "what the cgroup leaves to files", UNIT_BYTES,
		                  c->room_bytes);
	return r;
}
