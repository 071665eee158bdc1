/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The states that operations start from, and the timed loop. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "measure/cache/cache.h"

#define CLOCK_BYTES 65536u /* bytes between looks at the clock: 22 ns against 4 us at 16 GB/s */
#define WARM_NS                                                                                               \
	(5 * NS_PER_MS) /* a warm cell takes at least so long: more than a tick of the timer (4 ms at 250 Hz) \
	                 */

uint64_t cache_now_ns(const struct cache_run *c)
{
	return clock_now_ns(c->ses->env->clk);
}

int cache_failed(struct cache_run *c, const char *op, uint64_t offset, uint64_t length, ssize_t n)
{
	return session_fault(c->ses, c->path, op, offset, length, n < 0 ? -errno : n);
}

int cache_pass(struct cache_run *c, int fd, bool writes)
{
	for (uint64_t at = 0; at < c->file_bytes && !cache_is_over(c); at += CACHE_PRIME_BYTES) {
		size_t want = c->file_bytes - at < CACHE_PRIME_BYTES ? (size_t)(c->file_bytes - at) : CACHE_PRIME_BYTES;
		off_t place = (off_t)(c->first + at);
		const uint8_t *data = payload_pool_at(&c->pool, at / CACHE_PRIME_BYTES);
		ssize_t n = writes ? pagecache_write(fd, data, want, (uint64_t)place) : pread(fd, c->buf, want, place);

		if (n != (ssize_t)want)
			return cache_failed(c, writes ? "write" : "read", (uint64_t)place, want, n);
	}
	return 0;
}

double cache_in_memory(const struct cache_run *c)
{
	return pagecache_cached_ratio(c->cached_fd, c->first, c->file_bytes);
}

bool cache_advise(const struct cache_run *c, bool is_random)
{
	return posix_fadvise(c->cached_fd, 0, 0, is_random ? POSIX_FADV_RANDOM : POSIX_FADV_NORMAL) == 0;
}

int cache_make_cold(struct cache_run *c)
{
	uint64_t left = 0;
	int r = pagecache_make_cold(c->cached_fd, &left);

	if (r < 0) { /* the kernel reports a lost write only once, to whoever asks first */
		errno = -r;
		return cache_failed(c, "flush", 0, 0, -1);
	}
	if (left && left != UINT64_MAX)
		result_notice(c->ses->res, "not-cold",
		              "A part of the file stayed in the page cache before reading it cold.");
	return 0;
}

/*
 * The state that an operation starts from: nothing in memory, or what one sequential reading leaves behind. Of a file
 * that does not fit, earlier cells have made the front hot (the kernel keeps what was used twice), so that reading must
 * start from nothing. Before writing all is on the disk already, so that no write-back of before is in the way; and in
 * memory, or a part of a page would have to be fetched first.
 */
int cache_prepare(struct cache_run *c, enum operation op, bool is_direct)
{
	int r = 0;

	if (op == OP_WRITE)
		return datafile_reset(c->df, NULL);
	if (cache_ops[op].is_cold || is_direct)
		return cache_make_cold(c);
	if (cache_ops[op].writes && fdatasync(c->cached_fd) < 0)
		return cache_failed(c, "flush", 0, 0, -1);
	if (cache_in_memory(c) >= 1.0)
		return cache_ops[op].writes ? 0 : cache_pass(c, c->cached_fd, false);
	if (!cache_ops[op].writes)
		r = cache_make_cold(c);
	return r < 0 ? r : cache_pass(c, c->cached_fd, false);
}

static uint64_t next_place(struct cache_loop *l)
{
	if (!l->is_random)
		return l->done < l->n ? l->done : l->done % l->n;
	return l->key ? permute(l->done, l->n, l->key) : rng_below(&l->rng, l->n);
}

/* Around the page cache it has to be aligned. */
static const void *record_to_write(const struct cache_run *c, const struct cache_loop *l, uint64_t place)
{
	const uint8_t *data = payload_pool_at(&c->pool, place);

	return l->fd == c->direct_fd ? memcpy(c->buf, data, l->record) : data;
}

/* Records one after the other: the system call and the next place. -EIO or another errno when one failed; that is on
 * record then. */
static int batch(struct cache_run *c, struct cache_loop *l, uint64_t count)
{
	uint64_t record = l->record;

	for (uint64_t k = 0; k < count; k++, l->done++) {
		uint64_t place = next_place(l), at = c->first + place * record;
		const void *data = l->writes ? record_to_write(c, l, place) : NULL;
		ssize_t n =
			l->writes ? pagecache_write(l->fd, data, record, at) : pread(l->fd, c->buf, record, (off_t)at);

		if (n != (ssize_t)record)
			return cache_failed(c, l->writes ? "write" : "read", at, record, n);
		if (l->syncs && fdatasync(l->fd) < 0)
			return cache_failed(c, "flush", at, 0, -1);
	}
	return 0;
}

int cache_run_loop(struct cache_run *c, struct cache_loop *l, uint64_t limit_ns, bool syncs_at_end, uint64_t *ret_ns)
{
	uint64_t every = l->record >= CLOCK_BYTES ? 1 : CLOCK_BYTES / l->record, start = cache_now_ns(c), spent = 0;
	int r = 0;

	if (c->end_ns)
		limit_ns = start >= c->end_ns ? 0 : c->end_ns - start < limit_ns ? c->end_ns - start : limit_ns;
	while (r == 0 && (l->done < l->n || (l->repeats && spent < WARM_NS)) && spent < limit_ns &&
	       !(c->ses->cancel && *c->ses->cancel)) {
		r = batch(c, l, l->done < l->n && l->n - l->done < every ? l->n - l->done : every);
		spent = cache_now_ns(c) - start;
	}
	if (r == 0 && syncs_at_end && fdatasync(l->fd) < 0)
		r = cache_failed(c, "flush", 0, 0, -1);
	*ret_ns = cache_now_ns(c) - start;
	return r;
}

/*
 * The part of the records that came from memory. Fetching is by pages: in order each page is fetched once for all of
 * its records; at random a record smaller than a page fetches the page.
 */
double cache_hits(const struct cache_run *c, const struct cache_loop *l, const struct pagecache_traffic *t)
{
	double unit = l->is_random && l->record < c->page_bytes ? (double)c->page_bytes : (double)l->record;

	if (l->writes || !t->has_process)
		return NAN;
	return fmax(1.0 - (double)t->fetched_bytes / ((double)l->done * unit), 0.0);
}
