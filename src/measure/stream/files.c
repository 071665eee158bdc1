/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `stream` streams over: devices and existing files as the session opened them; in directories rolling files, made
 * and preallocated before the run, so that nothing but data moves during it. A directory that has too little room gets
 * what fits (a reserve stays free) and is full earlier; the others have to make up for it. And the page cache, for
 * --mode=cached.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/units.h"
#include "base/xalloc.h"
#include "measure/shared/pagecache.h"
#include "measure/stream/stream.h"

/* ---- rolling files ---- */

static int make_file(struct stream_run *s, size_t lane, uint64_t bytes, struct err *err)
{
	const struct device *d = &s->ses->devs[lane];
	struct datafile **df = &s->routes.files[s->routes.ntargets];
	struct lane *l = &s->routes.lanes[lane];
	char path[512];
	int fd, r;

	if (s->routes.ntargets == STREAM_FILES_MAX || l->ntargets == STREAM_FILES_PER_LANE)
		return err_set(
			err, -EINVAL,
			"That would be too many files (at most %d, %d in a directory); give a larger --file-size.",
			STREAM_FILES_MAX, STREAM_FILES_PER_LANE);
	r = datafile_name(path, sizeof(path), d->path, "stream",
	                  (unsigned)(lane * STREAM_FILES_PER_LANE + l->ntargets));
	if (r < 0)
		return err_set(err, r, "The name of a file in %s would be too long.", d->path);
	r = datafile_create(df, path, bytes, DATAFILE_ALLOCATE | (s->p->keep ? DATAFILE_KEEP : 0), err);
	if (r < 0)
		return r;
	fd = datafile_open(*df, s->p->mode != STREAM_CACHED, err);
	if (fd < 0) {
		datafile_close(*df);
		*df = NULL;
		return fd;
	}
	s->routes.targets[s->routes.ntargets] = (struct target){
		.name = d->path,
		.fd = fd,
		.size_bytes = DATAFILE_DATA_OFFSET + bytes,
		.align_bytes = s->p->mode == STREAM_CACHED ? 1 : device_direct_align(d),
		.permit = datafile_permit(*df),
	};
	s->routes.lane_of[s->routes.ntargets] = (uint32_t)lane;
	s->routes.rooms[s->routes.ntargets] = bytes;
	l->list[l->ntargets++] = (uint32_t)s->routes.ntargets++;
	return 0;
}

/* Files for that many bytes, in whole blocks; fewer when there is no room for them. *ret_made: bytes that there is room
 * for now. */
static int make_lane_files(struct stream_run *s, size_t lane, uint64_t bytes, uint64_t each, uint64_t *ret_made,
                           struct err *err)
{
	uint64_t block = s->p->block_bytes, next;
	int r = 0;

	*ret_made = 0;
	bytes = (bytes + block - 1) / block * block;
	while (r == 0 && *ret_made < bytes) {
		next = bytes - *ret_made < each ? bytes - *ret_made : each;
		r = make_file(s, lane, next, err);
		while (r == -ENOSPC && next > block) { /* what does fit? */
			each = next = next / 2 / block * block > block ? next / 2 / block * block : block;
			r = make_file(s, lane, next, NULL); /* what is missing to all of it is the reason */
		}
		if (r == 0)
			*ret_made += next;
	}
	return r;
}

/*
 * A fair share for each directory first. Then for those that have room: half as much again, since a fast one takes more
 * than its share in balance, and what others have no room for.
 */
static int make_files(struct stream_run *s, uint64_t total, struct err *err)
{
	uint64_t share = total / s->routes.nlanes, each = s->p->file_bytes - s->p->file_bytes % s->p->block_bytes,
		 sum = 0, made, more;
	bool is_short[STREAM_LANES_MAX] = { false };
	char text[32], need[32];
	int r;

	for (size_t i = 0; i < s->routes.nlanes; i++) {
		r = make_lane_files(s, i, share + s->p->block_bytes, each, &made, err);
		if (r < 0 && r != -ENOSPC)
			return r;
		is_short[i] = r < 0;
		sum += made;
		if (is_short[i] && s->routes.nlanes > 1)
			result_notice(s->ses->res, "room",
			              "%s has room for %s only; then it is full and the others take all.",
			              s->ses->devs[i].path, units_bytes_dec(text, sizeof(text), made));
	}
	for (size_t i = 0; i < s->routes.nlanes && s->routes.nlanes > 1; i++) {
		more = s->p->layout == LAYOUT_BALANCE ? share / 2 : 0;
		if (sum < total && total - sum > more)
			more = total - sum;
		if (is_short[i] || more == 0)
			continue;
		r = make_lane_files(s, i, more, each, &made, err);
		if (r < 0 && r != -ENOSPC)
			return r;
		sum += made;
	}
	if (sum >= total ||
	    (sum && s->p->rate == RATE_MAX && !s->p->bytes)) /* at full speed it ends when all is full */
		return 0;
	return err_set(err, -ENOSPC,
	               "There is room for %s (a reserve stays free), and %s will come; give less --time or --size.",
	               units_bytes_dec(text, sizeof(text), sum), units_bytes_dec(need, sizeof(need), total));
}

/* ---- opening and closing ---- */

static int open_directories(struct stream_run *s, struct err *err)
{
	uint64_t total = s->p->bytes, time_ns = stream_time_ns(s->ses, s->p), n = STREAM_FILES_MAX;

	s->routes.targets = xcalloc(n, sizeof(*s->routes.targets));
	s->routes.files = xcalloc(n, sizeof(struct datafile *));
	for (size_t i = 0; i < n; i++)
		s->routes.targets[i].fd = -1;
	for (size_t i = 0; i < s->routes.nlanes; i++) {
		s->routes.lanes[i].start = DATAFILE_DATA_OFFSET;
		s->routes.lanes[i].list = xcalloc(STREAM_FILES_PER_LANE, sizeof(uint32_t));
	}
	if (!total) /* at full speed nobody knows how much will come */
		total = s->p->rate == RATE_MAX ? (uint64_t)s->routes.nlanes << 30
		                               : (uint64_t)((unsigned __int128)s->p->rate * time_ns / NS_PER_S);
	return make_files(s, total, err);
}

int stream_open(struct stream_run *s, struct err *err)
{
	s->routes.nlanes = s->ses->ndevs;
	s->routes.lanes = xcalloc(s->routes.nlanes, sizeof(*s->routes.lanes));
	s->routes.lane_of = xcalloc(STREAM_FILES_MAX, sizeof(*s->routes.lane_of));
	s->routes.rooms = xcalloc(STREAM_FILES_MAX, sizeof(*s->routes.rooms));
	s->routes.ends = xcalloc(STREAM_FILES_MAX, sizeof(*s->routes.ends));
	for (size_t i = 0; i < s->routes.nlanes; i++)
		s->routes.lanes[i].name = s->ses->devs[i].path;
	if (stream_has_directory(s->ses))
		return open_directories(s, err);
	s->routes.targets = s->ses->targets;
	s->routes.ntargets = s->ses->ndevs;
	for (size_t i = 0; i < s->routes.nlanes; i++) {
		uint64_t size = s->ses->devs[i].size_bytes, end;
		struct lane *l = &s->routes.lanes[i];
		char all[32], part[32];
		int r;

		l->list = xcalloc(1, sizeof(uint32_t));
		l->list[0] = (uint32_t)i;
		l->ntargets = 1;
		r = stream_range(s->p, &s->ses->devs[i], &l->start, &end, err);
		if (r < 0)
			return r;
		s->routes.rooms[i] = end - l->start;
		end = datafile_end_byte(&s->ses->devs[i]);
		if (end < size)
			result_notice(
				s->ses->res, "interrupted",
				"The recording in %s was interrupted: %s of its %s were written, and only they are played.",
				l->name, units_bytes_dec(part, sizeof(part), end),
				units_bytes_dec(all, sizeof(all), size));
		s->routes.lane_of[i] = (uint32_t)i;
	}
	return 0;
}

void stream_close(struct stream_run *s)
{
	engine_close(s->eng);
	for (size_t i = 0; s->routes.files && i < s->routes.ntargets; i++) {
		if (s->routes.targets[i].fd >= 0)
			(void)close(s->routes.targets[i].fd); /* the file is thrown away, or was synced */
		if (s->routes.files[i] && s->p->keep &&
		    datafile_cut(s->routes.files[i], s->routes.ends[i] ? s->routes.ends[i] - DATAFILE_DATA_OFFSET : 0) <
		            0)
			result_notice(s->ses->res, "not-cut", "A file in %s could not be cut to what was recorded.",
			              s->routes.targets[i].name);
		datafile_close(s->routes.files[i]);
	}
	if (s->routes.files)
		free(s->routes.targets);
	for (size_t i = 0; s->routes.lanes && i < s->routes.nlanes; i++) {
		free(s->routes.lanes[i].list);
		free(s->routes.lanes[i].service);
		free(s->routes.lanes[i].response);
	}
	free(s->routes.files);
	free(s->routes.lanes);
	free(s->routes.lane_of);
	free(s->routes.rooms);
	free(s->routes.ends);
	free(s->free_slots);
	bucket_log_done(&s->log);
	balance_free(&s->balance);
	ring_done(&s->ring);
}

struct payload_id stream_placed_id(const struct stream_run *s, const struct lane *l, const struct io_req *req)
{
	return (struct payload_id){ s->seed, (req->offset_bytes - l->start) / s->p->block_bytes, req->offset_bytes,
		                    req->target, (uint32_t)s->p->block_bytes };
}

/* ---- the page cache ---- */

void stream_make_cold(struct stream_run *s)
{
	uint64_t left, sum = 0;

	if (clock_is_virtual(s->ses->env->clk))
		return; /* simulated disks have none */
	for (size_t i = 0; i < s->routes.ntargets; i++) {
		int r = pagecache_make_cold(s->routes.targets[i].fd, &left);

		if (r < 0) /* the kernel reports a lost write once only, to whoever asks first */
			(void)session_fault(s->ses, s->routes.targets[i].name, "flush", 0, 0, r);
		else if (left != UINT64_MAX)
			sum += left;
	}
	if (sum)
		result_notice(s->ses->res, "warm", "%" PRIu64 " bytes stayed in the page cache: others use them.", sum);
}

void stream_settle_cache(struct stream_run *s)
{
	double seconds = (double)(s->span.end_ns - s->span.start_ns) * 1e-9;
	uint64_t start, took;

	if (s->p->read || clock_is_virtual(s->ses->env->clk))
		return;
	start = clock_now_ns(s->ses->env->clk);
	for (size_t i = 0; i < s->routes.ntargets; i++)
		if (fdatasync(s->routes.targets[i].fd) < 0)
			(void)session_fault(s->ses, s->routes.targets[i].name, "flush", 0, 0, -errno);
	took = clock_now_ns(s->ses->env->clk) - start;
	result_figure_u64(s->ses->res, "fsync_ns", "final fsync", UNIT_NS, took);
	result_figure(s->ses->res, "synced_bytes_per_s", "rate with the fsync", UNIT_BYTES_PER_S,
	              (double)s->blocks.done_bytes / (seconds + (double)took * 1e-9), NULL, 0);
}
