/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `stream` will do: options, and what they say together with the targets. */
#include <errno.h>
#include <inttypes.h>

#include "base/opt.h"
#include "base/units.h"
#include "measure/stream/stream.h"

#define TIME_DEFAULT_NS (60 * NS_PER_S) /* a choice: longer than a buffer of any drive hides */

static const char *const modes[] = { "direct", "cached", NULL }; /* enum stream_mode */
static const char *const layouts[] = { "balance", "roundrobin", NULL };

const struct opt stream_opts[] = {
	OPT_RATE(struct stream_params, rate, "rate", 'r', "RATE", "max",
	         "data that come each second: 256Mbit, 32MB, max", .min = 1, .max = 1e15,
	         .typed = offsetof(struct stream_params, rate_typed)),
	OPT_BYTES(struct stream_params, buffer_bytes, "buffer", 'b', "SIZE", "160MiB", "the ring buffer", .min = 4096,
	          .max = 1e15),
	OPT_BYTES(struct stream_params, block_bytes, "block", 0, "SIZE", "1MiB", "bytes of each request", .min = 512,
	          .max = 1073741824),
	OPT_BYTES(struct stream_params, bytes, "size", 0, "SIZE", NULL,
	          "stream this much instead of for --time (default of that: 60s)", .min = 512, .max = 9e18),
	OPT_U64(struct stream_params, depth, "depth", 0, "N", NULL,
	        "requests in flight to each target (default 16; 4 when a disk turns)", .min = 1, .max = 256),
	OPT_STR(struct stream_params, range, "range", 0, "FROM-TO", NULL, "this part of each device: 10GB-20GB, 50%-"),
	OPT_CHOICE(struct stream_params, layout, "layout", 0, layouts, "balance",
	           "the next block goes to the least busy target, or in turn"),
	OPT_FLAG(struct stream_params, write, "write", 'w', "record: destroys data on devices (see --destroy-data)"),
	OPT_FLAG(struct stream_params, read, "read", 0, "play back: the ring must not run dry"),
	OPT_BYTES(struct stream_params, file_bytes, "file-size", 0, "SIZE", "1GiB",
	          "in directories: bytes of each file", .min = 65536, .max = 9e18),
	OPT_CHOICE(struct stream_params, mode, "mode", 0, modes, "direct",
	           "past the page cache or through it; the final fsync is timed apart"),
	OPT_FLAG(struct stream_params, verify, "verify", 0,
	         "read all back and prove that nothing was lost, doubled or swapped"),
	OPT_FLAG(struct stream_params, tradeoff, "tradeoff", 0,
	         "from one run at full speed: the largest rate of every ring"),
	OPT_FLAG(struct stream_params, find_max, "find", 0, "find the highest rate that the ring sustains"),
	OPT_STRS(struct stream_params, project, "project", 0, "RESULT",
	         "from a zones result for each disk (or the word measure): when a zone is too slow", .reads = true),
	OPT_FLAG(struct stream_params, keep, "keep", 0, "leave the files where they are", .is_aside = true),
	OPT_END,
};

/* ---- plan ---- */

bool stream_has_directory(const struct session *ses)
{
	for (size_t i = 0; i < ses->ndevs; i++)
		if (ses->devs[i].kind == DEVICE_DIRECTORY)
			return true;
	return false;
}

int stream_range(const struct stream_params *p, const struct device *d, uint64_t *ret_first, uint64_t *ret_end,
                 struct err *err)
{
	uint64_t first, end, data = datafile_first_byte(d);
	int r = units_parse_range(p->range, d->size_bytes, &first, &end, err);

	if (r < 0)
		return r;
	first = first < data ? data : first;
	*ret_first = first - (first - data) % p->block_bytes;
	*ret_end = end < datafile_end_byte(d) ? end : datafile_end_byte(d);
	return 0;
}

static int check_block(const struct device *d, const struct stream_params *p, struct err *err)
{
	uint64_t first, end;
	int r = plan_block(d, p->block_bytes, p->mode == STREAM_CACHED ? 0 : d->logical_block_bytes, err);

	if (r == 0 && d->kind == DEVICE_DIRECTORY)
		return p->range ? err_set(err, -EINVAL, "--range is for devices and files; %s is a directory.", d->path)
		                : 0;
	if (r == 0)
		r = stream_range(p, d, &first, &end, err);
	if (r < 0 || first + p->block_bytes <= end)
		return r;
	return err_set(err, -EINVAL, "%s holds no block of %" PRIu64 " bytes; give a %ssmaller --block.",
	               p->range ? "--range" : d->path, p->block_bytes, p->range ? "larger one, or a " : "");
}

static int check_targets(const struct session *ses, const struct stream_params *p, struct err *err)
{
	for (size_t i = 0; i < ses->ndevs; i++) {
		const struct device *d = &ses->devs[i];
		struct consent_names names;
		int r;

		consent_names(d, &names);
		if (stream_has_directory(ses) && d->kind != DEVICE_DIRECTORY)
			return err_set(err, -EINVAL, "%s is not a directory, but another target is; run them apart.",
			               d->path);
		if (d->kind == DEVICE_DIRECTORY && p->read)
			return err_set(err, -EINVAL, "%s is a directory; to play back give the files in it.", d->path);
		if (d->kind == DEVICE_FILE && !p->read)
			return err_set(
				err, -EINVAL,
				"%s is an existing file, which is never written over; give its directory, or --read.",
				d->path);
		if (d->kind != DEVICE_DIRECTORY && !p->read && !p->write)
			return err_set(
				err, -EINVAL,
				"%s may be played back or written over; give --read, or --write --destroy-data=%s.",
				d->path, names.v[0]);
		r = check_block(d, p, err);
		if (r < 0)
			return r;
	}
	return 0;
}

uint64_t stream_time_ns(const struct session *ses, const struct stream_params *p)
{
	if (ses->common->time_ns)
		return ses->common->time_ns;
	return p->bytes ? CLOCK_NEVER : TIME_DEFAULT_NS;
}

static uint64_t times(uint64_t a, uint64_t b)
{
	return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* How many files of `each` bytes stream_open() would make in each directory. */
static uint64_t files_needed(const struct session *ses, const struct stream_params *p, uint64_t total, uint64_t each)
{
	uint64_t share = total / ses->ndevs, n = (share + 2 * p->block_bytes + each - 1) / each;

	return ses->ndevs > 1 && p->layout == LAYOUT_BALANCE ? n + share / 2 / each + 1 : n;
}

/* What the ring and the files would hold: wrong command lines are refused before anything is opened. */
static int check_room(const struct session *ses, const struct stream_params *p, uint64_t time_ns, struct err *err)
{
	uint64_t each = p->file_bytes - p->file_bytes % p->block_bytes, total = p->bytes, places;
	bool is_paced = p->rate != RATE_MAX && !p->find_max && !p->tradeoff;

	places = p->buffer_bytes / p->block_bytes;
	if (places < ses->ndevs)
		return err_set(err, -EINVAL,
		               "A ring of %" PRIu64 " blocks is too small for %zu targets; give a larger --buffer.",
		               places, ses->ndevs);
	if (!total && is_paced) {
		total = (uint64_t)((unsigned __int128)p->rate * time_ns / NS_PER_S);
		if (total < p->block_bytes)
			return err_set(err, -EINVAL,
			               "Not even one block of %" PRIu64
			               " bytes comes in that time; give more --time or a smaller --block.",
			               p->block_bytes);
	}
	if (!stream_has_directory(ses))
		return 0;
	if (each == 0)
		return err_set(err, -EINVAL,
		               "--file-size=%" PRIu64 " is smaller than a block of %" PRIu64
		               "; give more, or a smaller --block.",
		               p->file_bytes, p->block_bytes);
	total = total ? total : (uint64_t)ses->ndevs << 30;
	if (files_needed(ses, p, total, each) > STREAM_FILES_PER_LANE ||
	    files_needed(ses, p, total, each) * ses->ndevs > STREAM_FILES_MAX)
		return err_set(
			err, -EINVAL,
			"That would be too many files (at most %d, %d in a directory); give a larger --file-size.",
			STREAM_FILES_MAX, STREAM_FILES_PER_LANE);
	return 0;
}

/*
 * What the looks at full speed (reserve.c) move beside what the runs themselves move, at most. Nobody knows it when
 * the rates are still to be found; but what is written again is no more than what was written.
 */
static uint64_t reserve_bytes(const struct session *ses, const struct stream_params *p, uint64_t moved)
{
	uint64_t each, block = p->block_bytes, n = ses->ndevs;

	if (p->find_max || p->tradeoff)
		return p->read ? UINT64_MAX : moved;
	if (p->rate == RATE_MAX)
		return 0;
	each = (p->rate / n * STREAM_RESERVE_S / block + 1) * block;
	return p->read || each < moved / n ? each * n : moved;
}

static int check_options(const struct session *ses, const struct stream_params *p, struct err *err)
{
	const struct opt_pair pairs[] = { { p->read && p->write, "read", "write" },
		                          { p->read && p->verify, "read", "verify" },
		                          { p->tradeoff && p->verify, "tradeoff", "verify" },
		                          { p->find_max && p->verify, "find", "verify" },
		                          { p->find_max && p->rate != RATE_MAX, "find", "rate" },
		                          { 0 } };

	if (opt_pairs(pairs, err) < 0)
		return -EINVAL;
	if (p->project.n && p->rate == RATE_MAX)
		return err_set(err, -EINVAL, "--project shows how long the disks hold a rate; give --rate.");
	if (p->project.n && stream_has_directory(ses))
		return err_set(
			err, -EINVAL,
			"--project is for devices: where a new file will lie on its disk is not known; give the disk.");
	if (p->project.n > 1 && p->project.n != ses->ndevs)
		return err_set(err, -EINVAL,
		               "--project was given %zu times for %zu targets; give it once for each, or once for all.",
		               p->project.n, ses->ndevs);
	if (p->buffer_bytes / p->block_bytes < 2)
		return err_set(err, -EINVAL,
		               "--buffer=%" PRIu64 " holds fewer than two blocks of %" PRIu64
		               " bytes; give more, or a smaller --block.",
		               p->buffer_bytes, p->block_bytes);
	if (p->buffer_bytes / p->block_bytes > 1u << 20)
		return err_set(err, -EINVAL,
		               "--buffer=%" PRIu64 " holds more than a million blocks of %" PRIu64
		               " bytes; give a larger --block.",
		               p->buffer_bytes, p->block_bytes);
	return 0;
}

int stream_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err)
{
	const struct stream_params *p = params;
	uint64_t time_ns = stream_time_ns(ses, p), moved = UINT64_MAX, all;
	int r = check_targets(ses, p, err);

	if (r < 0)
		return r;
	r = check_options(ses, p, err) ?: check_room(ses, p, time_ns, err);
	if (r < 0)
		return r;
	if (p->bytes)
		moved = (p->bytes + p->block_bytes - 1) / p->block_bytes * p->block_bytes;
	else if (p->rate != RATE_MAX && !p->find_max && !p->tradeoff) /* these begin at full speed */
		moved = (uint64_t)((unsigned __int128)p->rate * time_ns / NS_PER_S);
	if (p->bytes && (p->find_max || p->tradeoff))
		moved = times(moved, p->find_max ? STREAM_RUNS_MAX : 2);
	plan->opens_itself = stream_has_directory(ses);
	plan->is_direct = p->mode != STREAM_CACHED;
	plan->is_latency = true;
	plan->reads_data = plan->lasts = true;
	plan->writes = p->read || plan->opens_itself ? WRITE_NONE : WRITE_DESTROY;
	all = reserve_bytes(ses, p, moved);
	all = moved > UINT64_MAX - all ? UINT64_MAX : moved + all;
	plan->read_bytes = p->read ? all : p->verify ? moved : 0;
	plan->write_bytes = p->read ? 0 : all;
	plan_phase(plan, p->find_max ? "tries" : "stream",
	           times(time_ns == CLOCK_NEVER ? TIME_DEFAULT_NS : time_ns, p->find_max   ? STREAM_RUNS_EXPECTED
	                                                                     : p->tradeoff ? 2
	                                                                                   : 1));
	if (p->verify)
		plan_phase(plan, "verify", time_ns == CLOCK_NEVER ? TIME_DEFAULT_NS : time_ns);
	return 0;
}
