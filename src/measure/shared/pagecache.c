/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cachestat(2) (Linux 6.5) is exact to the page and costs microseconds where mincore(2) costs milliseconds. It counts
 * pages that are still being read as cached; mincore counts those that are up to date. After a completed read both
 * agree.
 */
#include "measure/shared/pagecache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "session/session.h"

#ifndef SYS_cachestat
#define SYS_cachestat 451 /* the same number on all architectures; Debian 12's headers are older */
#endif

#define MINCORE_STEP (1ull << 30) /* mapped at a time */

struct cachestat_range {
	uint64_t off, len;
};

struct cachestat {
	uint64_t nr_cache, nr_dirty, nr_writeback, nr_evicted, nr_recently_evicted;
};

static uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static int look_cachestat(int fd, uint64_t offset, uint64_t length, struct pagecache_state *ret)
{
	struct cachestat_range range = { offset, length };
	struct cachestat st;

	if (syscall(SYS_cachestat, fd, &range, &st, 0u) < 0)
		return -errno;
	ret->method = PAGECACHE_CACHESTAT;
	ret->cached_bytes = st.nr_cache * page_bytes();
	return 0;
}

/* Pages of one mapping that are in memory; UINT64_MAX: cannot be known. */
static uint64_t mincore_pages(int fd, uint64_t offset, uint64_t length)
{
	size_t pages = (size_t)((length + page_bytes() - 1) / page_bytes());
	cleanup_free unsigned char *in = malloc(pages ? pages : 1);
	void *map = mmap(NULL, (size_t)length, PROT_READ, MAP_SHARED, fd, (off_t)offset);
	uint64_t n = 0;

	if (map == MAP_FAILED)
		return UINT64_MAX;
	if (!in) {
		(void)munmap(map, (size_t)length); /* of our own mapping: cannot fail */
		return UINT64_MAX;
	}
	if (mincore(map, (size_t)length, in) < 0)
		n = UINT64_MAX;
	for (size_t i = 0; n != UINT64_MAX && i < pages; i++)
		n += in[i] & 1;
	(void)munmap(map, (size_t)length); /* of our own mapping: cannot fail */
	return n;
}

static int look_mincore(int fd, uint64_t offset, uint64_t length, struct pagecache_state *ret)
{
	uint64_t end, cached = 0;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	offset -= offset % page_bytes();
	end = length ? offset + length : (uint64_t)st.st_size;
	if (S_ISREG(st.st_mode) && end > (uint64_t)st.st_size)
		end = (uint64_t)st.st_size;
	for (uint64_t at = offset; at < end; at += MINCORE_STEP) {
		uint64_t pages = mincore_pages(fd, at, end - at < MINCORE_STEP ? end - at : MINCORE_STEP);

		if (pages == UINT64_MAX)
			return -EOPNOTSUPP;
		cached += pages * page_bytes();
	}
	*ret = (struct pagecache_state){ .cached_bytes = cached, .method = PAGECACHE_MINCORE };
	return 0;
}

int pagecache_look_by(enum pagecache_method method, int fd, uint64_t offset_bytes, uint64_t length_bytes,
                      struct pagecache_state *ret)
{
	*ret = (struct pagecache_state){ .method = PAGECACHE_NONE };
	if (method == PAGECACHE_CACHESTAT)
		return look_cachestat(fd, offset_bytes, length_bytes, ret);
	return method == PAGECACHE_MINCORE ? look_mincore(fd, offset_bytes, length_bytes, ret) : -EOPNOTSUPP;
}

int pagecache_look(int fd, uint64_t offset_bytes, uint64_t length_bytes, struct pagecache_state *ret)
{
	if (pagecache_look_by(PAGECACHE_CACHESTAT, fd, offset_bytes, length_bytes, ret) == 0)
		return 0;
	return pagecache_look_by(PAGECACHE_MINCORE, fd, offset_bytes, length_bytes, ret);
}

const char *pagecache_method_name(enum pagecache_method m)
{
	static const char *const names[] = {
		[PAGECACHE_CACHESTAT] = "cachestat", [PAGECACHE_MINCORE] = "mincore", [PAGECACHE_NONE] = "none"
	};

	return names[m];
}

ssize_t pagecache_write(int fd, const void *buf, size_t len, uint64_t offset_bytes)
{
	ssize_t n = pwrite(fd, buf, len, (off_t)offset_bytes);

	if (n >= 0 && n < (ssize_t)len &&
	    pwrite(fd, (const uint8_t *)buf + n, len - (size_t)n, (off_t)offset_bytes + n) < 0)
		return -1;
	return n;
}

int pagecache_make_cold(int fd, uint64_t *ret_left_bytes)
{
	struct pagecache_state st = { 0 };

	*ret_left_bytes = UINT64_MAX;
	for (int tries = 0; tries < 20; tries++) {
		if (tries)
			clock_pause(2 * NS_PER_MS); /* pages on their way to the disk, or held for a moment by others */
		if (fdatasync(fd) < 0 && errno != EINVAL && errno != EROFS) /* a CD-ROM has nothing to write back */
			return -errno;
		if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
			return 0; /* this file system cannot; left says that nothing is known */
		if (pagecache_look(fd, 0, 0, &st) < 0)
			return 0;
		*ret_left_bytes = st.cached_bytes;
		if (st.cached_bytes == 0)
			break;
	}
	return 0;
}

void pagecache_traffic(const struct session *ses, size_t index, struct pagecache_traffic *ret)
{
	struct device_io io = { 0 };

	*ret = (struct pagecache_traffic){ 0 };
	ret->has_process = host_fetched(true, &ret->fetched_bytes);
	if (ses && index < ses->ndevs && ses->env->devices->io &&
	    ses->env->devices->io(ses->env->devices_ctx, &ses->devs[index], &io) == 0) {
		ret->has_disk = true;
		ret->disk_read_bytes = io.read_bytes;
		ret->disk_written_bytes = io.written_bytes;
	}
}

void pagecache_doubt(struct pagecache_traffic *t, double cached_before)
{
	if (!t->has_disk && t->fetched_bytes == 0 && cached_before < 1.0) /* false for NaN */
		t->has_process = false;
}

void pagecache_traffic_since(const struct session *ses, size_t index, const struct pagecache_traffic *before,
                             double cached_before, struct pagecache_traffic *ret)
{
	pagecache_traffic(ses, index, ret);
	ret->fetched_bytes -= before->fetched_bytes;
	ret->disk_read_bytes -= before->disk_read_bytes;
	ret->disk_written_bytes -= before->disk_written_bytes;
	ret->has_disk = ret->has_disk && before->has_disk;
	ret->has_process = ret->has_process && before->has_process;
	pagecache_doubt(ret, cached_before);
}

struct pagecache_share pagecache_share(const struct pagecache_traffic *t, uint64_t moved_bytes, bool is_write)
{
	struct pagecache_share share = { NAN, NAN };

	if (moved_bytes && t->has_process && !is_write)
		share.device_ratio = (double)t->fetched_bytes / (double)moved_bytes;
	if (moved_bytes && t->has_disk)
		share.disk_ratio =
			(double)(is_write ? t->disk_written_bytes : t->disk_read_bytes) / (double)moved_bytes;
	return share;
}

double pagecache_cached_ratio(int fd, uint64_t offset_bytes, uint64_t length_bytes)
{
	struct pagecache_state st;

	if (length_bytes == 0 || pagecache_look(fd, offset_bytes, length_bytes, &st) < 0)
		return NAN;
	return fmin((double)st.cached_bytes / (double)length_bytes, 1.0); /* whole pages are counted */
}

void pagecache_note_witness(struct session *ses, int fd)
{
	struct pagecache_state st;

	(void)pagecache_look(fd, 0, 0, &st); /* a failure shows in the method */
	result_option(ses->res, "cache-witness", pagecache_method_name(st.method));
}
