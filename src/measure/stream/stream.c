/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Will these disks hold this rate? (Mujunen, wr.c 2001.) A clock makes data at the rate, a ring holds them until a disk has taken them; ring.c keeps the account,
 * run.c does the I/O. This file: options, plan, and what a run is made of; stream.h tells where the rest is.
 */
#include "measure/stream/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"

#define TIME_DEFAULT_NS (60 * NS_PER_S)

static const char *const layouts[] = { "balance", "roundrobin", NULL };
static const char *const producers[] = { "none", "memcpy", NULL };

static const struct opt stream_opts[] = {
	OPT_RATE(struct stream_params, rate, "rate", 'r', "RATE", "max",
	         "data that come each second: 256Mbit, 32MB, max"),
	OPT_BYTES(struct stream_params, buffer_bytes, "buffer", 'b', "SIZE", "160MiB", "the ring buffer", .min = 4096,
	          .max = 1e15),
	OPT_BYTES(struct stream_params, block_bytes, "block", 0, "SIZE", "1MiB", "bytes of each request", .min = 512,
	          .max = 1073741824),
	OPT_BYTES(struct stream_params, bytes, "bytes", 0, "SIZE", NULL,
	          "stream this much instead of for --time (default of that: 60s)", .min = 512, .max = 9e18),
	OPT_U64(struct stream_params, depth, "depth", 0, "N", NULL,
	        "requests in flight to each target (default 16; 4 when a disk turns)", .min = 1, .max = 256),
	OPT_BYTES(struct stream_params, start_bytes, "start", 0, "OFFSET", "0", "begin here on each device",
	          .max = 9e18),
	OPT_CHOICE(struct stream_params, layout, "layout", 0, layouts, "balance",
	           "the next block goes to the least busy target, or in turn"),
	OPT_FLAG(struct stream_params, write, "write", 'w', "record: destroys data on devices (see --destroy-data)"),
	OPT_FLAG(struct stream_params, read, "read", 0, "play back: the ring must not run dry"),
	OPT_BYTES(struct stream_params, file_bytes, "file-size", 0, "SIZE", "1GiB",
	          "in directories: bytes of each file", .min = 65536, .max = 9e18),
	OPT_FLAG(struct stream_params, cached, "cached", 0,
	         "through the page cache, for contrast; the final fsync is timed apart"),
	OPT_FLAG(struct stream_params, verify, "verify", 0,
	         "read all back and prove that nothing was lost, doubled or swapped"),
	OPT_CHOICE(struct stream_params, producer, "producer", 0, producers, "none", "load memory as a receiver would"),
	OPT_FLAG(struct stream_params, tradeoff, "tradeoff", 0,
	         "from one run at full speed: the largest rate of every ring"),
	OPT_FLAG(struct stream_params, find_max, "find-max", 0, "find the highest rate that the ring sustains"),
	OPT_STRS(struct stream_params, project, "project", 0, "RESULT",
	         "from a zones result for each disk (or the word measure): when a zone is too slow"),
	OPT_FLAG(struct stream_params, keep, "keep", 0, "leave the files where they are"),
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

static int check_targets(const struct session *ses, const struct stream_params *p, struct err *err)
{
	for (size_t i = 0; i < ses->ndevs; i++) {
		const struct device *d = &ses->devs[i];

		if (stream_has_directory(ses) && d->kind != DEVICE_DIRECTORY)
			return err_set(err, -EINVAL, "%s is no directory, but another target is; run them apart.",
			               d->path);
		if (d->kind == DEVICE_DIRECTORY && p->read)
			return err_set(err, -EINVAL, "%s is a directory; to play back give the files in it.", d->path);
		if (d->kind == DEVICE_FILE && !p->read)
			return err_set(
				err, -EINVAL,
				"%s is an existing file, which is never written over; give its directory, or --read.",
				d->path);
		if (d->kind != DEVICE_DIRECTORY && !p->read && !p->write)
			return err_set(err, -EINVAL,
			               "%s: say --read to play back, or --write --destroy-data=%s to record on it.",
			               d->path, d->name);
		if (!p->cached && d->logical_block_bytes && p->block_bytes % d->logical_block_bytes)
			return err_set(err, -EINVAL,
			               "--block=%" PRIu64 " is no multiple of the blocks of %s; give one of %" PRIu32
			               " bytes.",
			               p->block_bytes, d->path, d->logical_block_bytes);
		if (d->kind != DEVICE_DIRECTORY && p->start_bytes + p->block_bytes > d->size_bytes)
			return err_set(err, -EINVAL,
			               "--start=%" PRIu64 " lies beyond the %" PRIu64 " bytes of %s; give less.",
			               p->start_bytes, d->size_bytes, d->path);
	}
	return 0;
}

uint64_t stream_time_ns(const struct session *ses, const struct stream_params *p)
{
	if (ses->common->time_ns)
		return ses->common->time_ns;
	return p->bytes ? CLOCK_NEVER : TIME_DEFAULT_NS;
}

static int stream_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err)
{
	const struct stream_params *p = params;
	uint64_t time_ns = stream_time_ns(ses, p), moved = UINT64_MAX;
	int r = check_targets(ses, p, err);

	if (r < 0)
		return r;
	if (p->read && p->write)
		return err_set(err, -EINVAL, "--read and --write exclude each other; give the one that you mean.");
	if (p->verify && p->read)
		return err_set(
			err, -EINVAL,
			"--verify reads back what this run wrote, which --read does not; leave one of them out.");
	if ((p->tradeoff || p->find_max) && p->verify)
		return err_set(err, -EINVAL, "--verify does not go with --tradeoff and --find-max; run it apart.");
	if (p->project.n && p->rate == RATE_MAX)
		return err_set(err, -EINVAL, "--project tells for how long the disks will hold a rate; give --rate.");
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
	if (p->bytes)
		moved = p->bytes;
	else if (p->rate != RATE_MAX)
		moved = (uint64_t)((unsigned __int128)p->rate * time_ns / NS_PER_S);
	plan->opens_itself = stream_has_directory(ses);
	plan->is_direct = !p->cached;
	plan->is_latency = true;
	plan->writes = p->read || plan->opens_itself ? WRITE_NONE : WRITE_DESTROY;
	plan->read_bytes = p->read || p->verify ? moved : 0;
	plan->write_bytes = p->read ? 0 : moved;
	plan_phase(plan, p->find_max ? "tries" : "stream",
	           (p->find_max ? 8 : 1) * (time_ns == CLOCK_NEVER ? TIME_DEFAULT_NS : time_ns));
	if (p->verify)
		plan_phase(plan, "verify", time_ns == CLOCK_NEVER ? TIME_DEFAULT_NS : time_ns);
	return 0;
}

/* ---- what a run is made of ---- */

static int verify(struct stream_run *s, struct err *err)
{
	struct result *res = s->ses->res;
	uint64_t blocks, bad;
	int r;

	if (s->p->cached) /* what the disk has, not what memory has */
		stream_make_cold(s);
	r = stream_verify(s, &blocks, &bad, err);
	if (r < 0 || session_is_over(s->ses))
		return r;
	result_figure_u64(res, "verified_blocks", "blocks read back and checked", UNIT_COUNT, blocks);
	result_figure_u64(res, "verify_errors", "of them not as written", UNIT_COUNT, bad);
	res->verdict_is_no |= bad > 0;
	return 0;
}

static int plain(struct stream_run *s, struct err *err)
{
	uint64_t disk_read = 0, disk_written = 0;
	bool has = false;
	int r;

	if (s->p->cached) {
		stream_make_cold(s);
		has = stream_disk_bytes(s, &disk_read, &disk_written);
	}
	s->parts_left =
		s->p->verify ? 0.5 : 0.0; /* reading back is at full speed: something between nothing and as long */
	r = stream_once(s, s->p->rate, stream_time_ns(s->ses, s->p), s->p->bytes, err);
	if (r < 0)
		return r;
	stream_figures(s, s->p->rate);
	if (s->p->cached)
		stream_settle_cache(s, has, disk_read, disk_written);
	session_checkpoint(s->ses);
	return s->p->verify && !session_is_over(s->ses) ? verify(s, err) : 0;
}

static int stream_measure(struct session *ses, const void *params, struct err *err)
{
	const struct stream_params *p = params;
	cleanup_free struct stream_run *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "Out of memory.");
	s->ses = ses;
	s->p = p;
	s->seed = ses->seed;
	r = stream_open(s, err);
	if (r == 0 && p->project.n)
		r = stream_project(s, err);
	if (r == 0)
		r = p->tradeoff ? stream_tradeoff(s, err) : p->find_max ? stream_find_max(s, err) : plain(s, err);
	stream_plots(ses);
	stream_close(s);
	return r;
}

const struct measure measure_stream = {
	.name = "stream",
	.help = "do these disks sustain this rate through this ring buffer",
	.group = GROUP_DISK,
	.targets = "DEVICE|DIRECTORY|FILE...",
	.min_targets = 1,
	.max_targets = STREAM_LANES_MAX,
	.opts = stream_opts,
	.params_size = sizeof(struct stream_params),
	.plan = stream_plan,
	.run = stream_measure,
	.tables = stream_tables,
};
