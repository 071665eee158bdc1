/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reqlog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reqlog {
	FILE *out;
	uint64_t dropped_told;
};

struct reqlog *reqlog_open(const char *path, struct err *err)
{
	struct reqlog *log = calloc(1, sizeof(*log));

	if (log)
		log->out = fopen(path, "we");
	if (!log || !log->out) {
		(void)err_set(err, -errno, "Cannot write the log %s: %s.", path, strerror(errno));
		free(log);
		return NULL;
	}
	(void)fprintf(log->out, "number,op,offset_bytes,len_bytes,result,how,arrival_ns,ideal_ns,received_ns,reply_ns,"
	                        "seek_ns,latency_ns,transfer_ns\n");
	(void)fflush(log->out);
	return log;
}

static void put(FILE *out, const struct sim_record *r)
{
	static const char *const ops[] = { [DISK_READ] = "read", [DISK_WRITE] = "write", [DISK_FLUSH] = "flush" };
	static const char *const hows[] = { [HOW_MEDIA] = "media",
		                            [HOW_HIT] = "hit",
		                            [HOW_STREAM] = "stream",
		                            [HOW_CACHED] = "cached",
		                            [HOW_NONE] = "none" };

	(void)fprintf(out,
	              "%" PRIu64 ",%s,%" PRIu64 ",%" PRIu32 ",%" PRId32 ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64
	              ",%" PRIu64 ",%.0f,%.0f,%.0f\n",
	              r->number, ops[r->op], r->offset_bytes, r->len_bytes, r->res, hows[r->how], r->arrival_ns,
	              r->ideal_ns, r->received_ns, r->reply_ns, r->seek_ns, r->latency_ns, r->transfer_ns);
}

void reqlog_drain(struct reqlog *log, struct sim_shared *shared)
{
	uint64_t head = atomic_load_explicit(&shared->head, memory_order_acquire);
	uint64_t tail = atomic_load_explicit(&shared->tail, memory_order_relaxed);
	uint64_t dropped = atomic_load_explicit(&shared->dropped, memory_order_relaxed);

	if (tail == head && dropped == log->dropped_told)
		return;
	for (; tail != head; tail++) {
		put(log->out, &shared->ring[tail % SIM_RING]);
		atomic_store_explicit(&shared->tail, tail + 1, memory_order_release);
	}
	if (dropped != log->dropped_told)
		(void)fprintf(log->out, "# %" PRIu64 " requests are missing here: the log was too slow\n",
		              dropped - log->dropped_told);
	log->dropped_told = dropped;
	(void)fflush(log->out);
}

int reqlog_close(struct reqlog *log)
{
	bool is_bad;

	if (!log)
		return 0;
	is_bad = ferror(log->out);
	is_bad |= fclose(log->out) != 0;
	free(log);
	return is_bad ? -EIO : 0;
}
