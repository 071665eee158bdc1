/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drives the loop with nothing around it, for bench.py and for callgrind: reads files or devices, prints one line of
 * JSON. Reads only.
 *
 *   loadbench [-e ENGINE] [-d DEPTH] [-b BYTES] [-t SECONDS | -n REQUESTS] [-f MAX_FAULTS] [-s] [-r BYTES_PER_S] [-p]
 * [-R] FILE...
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "load/load.h"
#include "stats/stats.h"

#define MAX_TARGETS 256

struct bench {
	struct feeder f;
	struct sink s;
	bool is_sequential;
	uint32_t block_bytes, ntargets, turn;
	struct target targets[MAX_TARGETS];
	int fds[MAX_TARGETS];
	struct random_feeder random[MAX_TARGETS];
	uint64_t at[MAX_TARGETS];
	double interval_ns;              /* of pacing; 0: none */
	uint64_t start_ns, given, count; /* count: to be given */
	uint64_t ops, bytes, faults;
	struct hist *latency, *late;
};

static enum feed bench_next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct bench *b = (struct bench *)f;
	uint64_t due = 0;

	if (b->given == b->count)
		return FEED_END;
	if (b->interval_ns > 0) {
		if (b->start_ns == 0)
			b->start_ns = now_ns + NS_PER_MS;
		due = b->start_ns + (uint64_t)((double)b->given * b->interval_ns);
		if (due > now_ns) {
			*ret_until_ns = due;
			return FEED_WAIT;
		}
	}
	b->given++;
	if (b->is_sequential) {
		uint64_t *at = &b->at[b->turn];

		if (*at + b->block_bytes > b->targets[b->turn].size_bytes)
			*at = 0;
		req->op = IO_READ;
		req->offset_bytes = *at;
		req->len_bytes = b->block_bytes;
		*at += b->block_bytes;
	} else {
		(void)b->random[b->turn].f.next(&b->random[b->turn].f, now_ns, req, ret_until_ns); /* never ends */
	}
	req->target = b->turn;
	req->due_ns = due;
	if (++b->turn == b->ntargets)
		b->turn = 0;
	return FEED_IO;
}

static void bench_take(struct sink *s, const struct io_req *req, bool is_fault)
{
	struct bench *b = (struct bench *)((char *)s - offsetof(struct bench, s));

	b->ops++;
	b->bytes += req->res > 0 ? (uint64_t)req->res : 0;
	b->faults += is_fault;
	if (!is_fault)
		hist_add(b->latency, req->done_ns - req->submit_ns);
}

static void bench_take_paced(struct sink *s, const struct io_req *req, bool is_fault)
{
	struct bench *b = (struct bench *)((char *)s - offsetof(struct bench, s));

	bench_take(s, req, is_fault);
	if (!is_fault && req->due_ns)
		hist_add(b->late, req->submit_ns - req->due_ns);
}

/* A removed or emptied block device has another size. */
static bool is_there(void *arg)
{
	const struct target *t = arg;
	struct stat st;
	uint64_t size = t->size_bytes;

	if (fstat(t->fd, &st) == 0 && S_ISBLK(st.st_mode))
		return ioctl(t->fd, BLKGETSIZE64, &size) == 0 && size == t->size_bytes;
	return true;
}

static int open_targets(struct bench *b, char **paths, int n)
{
	for (int i = 0; i < n && i < MAX_TARGETS; i++) {
		int fd = open(paths[i], O_RDONLY | O_DIRECT | O_CLOEXEC);
		off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

		if (size < b->block_bytes) {
			fprintf(stderr, "loadbench: %s: %s\n", paths[i], fd < 0 ? strerror(errno) : "too small");
			return -1;
		}
		b->fds[i] = fd;
		b->targets[i] = (struct target){
			.name = paths[i],
			.fd = fd,
			.size_bytes = (uint64_t)size,
			.align_bytes = 512,
			.is_there = is_there,
			.is_there_arg = &b->targets[i],
		};
		random_feeder_init(&b->random[i], IO_READ, (uint32_t)i, 0, (uint64_t)size, b->block_bytes, b->count,
		                   (uint64_t)i + 1);
		b->ntargets++;
	}
	return 0;
}

static void print(const struct bench *b, const struct engine *eng, const struct load_stats *st)
{
	static const char *const ends[] = { "done", "limit", "cancelled", "faults", "gone" };
	double s = (double)(st->last_done_ns - st->start_ns) / 1e9;
	struct host_usage u;

	host_usage(&u);
	printf("{\"end\": \"%s\", \"faults\": %" PRIu64 ", ", ends[st->end], b->faults);
	printf("\"engine\": \"%s\", \"note\": \"%s\", \"ops\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"seconds\": %.6f, "
	       "\"iops\": %.1f, \"bytes_per_s\": %.0f, \"user_ns\": %" PRIu64 ", \"system_ns\": %" PRIu64
	       ", \"max_rss_bytes\": %" PRIu64 ", \"workers\": %u, \"lat_p50_ns\": %" PRIu64
	       ", \"lat_p99_ns\": %" PRIu64,
	       eng->ops->name, eng->note, b->ops, b->bytes, s, (double)b->ops / s, (double)b->bytes / s, u.user_ns,
	       u.system_ns, u.max_rss_bytes, engine_worker_threads(), hist_quantile(b->latency, 0.5),
	       hist_quantile(b->latency, 0.99));
	if (b->late)
		printf(", \"late_p50_ns\": %" PRIu64 ", \"late_p99_ns\": %" PRIu64 ", \"late_max_ns\": %" PRIu64,
		       hist_quantile(b->late, 0.5), hist_quantile(b->late, 0.99), hist_quantile(b->late, 1));
	printf("}\n");
}

static int run(struct bench *b, const char *name, const struct engine_config *cfg, struct load *load)
{
	struct err err = { 0 };
	struct engine *eng;
	struct load_stats st;

	if (engine_open(&eng, engines_all, name, cfg, clock_monotonic(), &err) < 0 ||
	    load_run(load, eng, &st, &err) < 0) {
		fprintf(stderr, "loadbench: %s\n", err.text);
		return 1;
	}
	print(b, eng, &st);
	engine_close(eng);
	if (b->faults)
		fprintf(stderr, "loadbench: %" PRIu64 " faults\n", b->faults);
	return b->faults ? 1 : 0;
}

int main(int argc, char **argv)
{
	static struct bench b = { .count = UINT64_MAX };
	struct engine_config cfg = { .depth = 128 };
	struct load load = { .max_ns = 2 * NS_PER_S };
	const char *engine = "auto";
	double rate = 0;
	int o;

	b.block_bytes = 4096;
	while ((o = getopt(argc, argv, "e:d:b:t:n:f:sr:R")) != -1) {
		switch (o) {
		case 'e':
			engine = optarg;
			break;
		case 'd':
			cfg.depth = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'b':
			b.block_bytes = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 't':
			load.max_ns = (uint64_t)(strtod(optarg, NULL) * 1e9);
			break;
		case 'n':
			b.count = strtoull(optarg, NULL, 0);
			load.max_ns = 0;
			break;
		case 'f':
			load.max_faults = strtoull(optarg, NULL, 0);
			break;
		case 's':
			b.is_sequential = true;
			break;
		case 'r':
			rate = strtod(optarg, NULL);
			break;
		case 'R':
			host_timer_slack();
			(void)mlockall(MCL_CURRENT | MCL_FUTURE); /* as far as it goes */
			(void)sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 20 });
			break;
		default:
			return 2;
		}
	}
	if (optind == argc || open_targets(&b, argv + optind, argc - optind) < 0)
		return 2;
	b.latency = hist_new();
	if (rate > 0) {
		b.interval_ns = (double)b.block_bytes * 1e9 / rate;
		b.late = hist_new();
		host_timer_slack();
	}
	if (!b.latency || (rate > 0 && !b.late))
		return 1;
	b.f.next = bench_next;
	b.s.take = rate > 0 ? bench_take_paced : bench_take;
	cfg.buf_bytes = b.block_bytes;
	cfg.fds = b.fds;
	cfg.nfds = b.ntargets;
	load.targets = b.targets;
	load.ntargets = b.ntargets;
	load.feeder =
		b.ntargets == 1 && rate == 0 && !b.is_sequential ? &b.random[0].f : &b.f; /* as a measurement does */
	load.sink = &b.s;
	return run(&b, engine, &cfg, &load);
}
