/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file that users work on, when platter makes it (diskrand's Write, Longbottom 1997): written from begin to end and
 * synchronised, then read in three passes of random records, one at a time, each of at least 200 reads and the asked
 * time. Also files of ours that --write goes to: both want a permit, which such a file brings along.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "measure/transactions/transactions.h"

#define PASSES        3        /* as diskrand */
#define PASS_READS    200      /* at least, as diskrand */
#define WRITE_BYTES   1048576u /* a write of the making: records together, at least one */
#define WRITE_DEPTH   4        /* sequential writes need no more */
#define STREAM_PASSES 2        /* number of the random stream; as below in run.c, no two alike */

struct tx_file_row {
	const char *step;
	uint64_t records, elapsed_ns;
	double rate_bytes_per_s;
	uint64_t service_ns;
};

const struct field tx_file_fields[] = {
	FIELD_STR(struct tx_file_row, step, "step"),
	FIELD_U64(struct tx_file_row, records, UNIT_COUNT, "records"),
	FIELD_U64(struct tx_file_row, elapsed_ns, UNIT_NS, "time"),
	FIELD_F64(struct tx_file_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_U64(struct tx_file_row, service_ns, UNIT_NS, "time of a read"),
	FIELD_END,
};

/* ---- writing ---- */

struct maker {
	struct feeder f;
	uint64_t at, end, seed;
	uint32_t record_bytes, block_bytes;
	bool is_flushed;
};

static enum feed maker_next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct maker *m = (struct maker *)f;
	uint32_t len = m->end - m->at < m->block_bytes ? (uint32_t)(m->end - m->at) : m->block_bytes;

	(void)now_ns;
	(void)ret_until_ns;
	if (!len)
		return FEED_END;
	for (uint32_t i = 0; i < len; i += m->record_bytes)
		payload_fill((uint8_t *)req->buf + i, &(struct payload_id){ .seed = m->seed,
		                                                            .sequence = (m->at + i) / m->record_bytes,
		                                                            .offset_bytes = m->at + i,
		                                                            .len_bytes = m->record_bytes });
	req->op = IO_WRITE;
	req->target = 0;
	req->offset_bytes = m->at;
	req->len_bytes = len;
	m->at += len;
	return FEED_IO;
}

static enum feed flush_next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct maker *m = (struct maker *)f;

	(void)now_ns;
	(void)ret_until_ns;
	if (m->is_flushed)
		return FEED_END;
	m->is_flushed = true;
	req->op = IO_FLUSH;
	req->target = 0;
	req->len_bytes = 0;
	return FEED_IO;
}

static void add_row(struct session *ses, const char *step, uint64_t records, uint64_t elapsed_ns, uint64_t bytes,
                    uint64_t service_ns)
{
	result_row(result_table(ses->res, "file", "Making the file", tx_file_fields),
	           &(struct tx_file_row){ step, records, elapsed_ns,
	                                  (double)bytes / fmax((double)elapsed_ns, 1.0) * 1e9, service_ns });
	session_checkpoint(ses);
}

static int write_all(struct session *ses, const struct tx_params *p, struct err *err)
{
	uint32_t record = tx_record_bytes(p), block = record > WRITE_BYTES ? record : WRITE_BYTES / record * record;
	const struct engine_config cfg = { .depth = WRITE_DEPTH, .buf_bytes = block };
	uint64_t size = p->size_bytes / record * record, start = 0, written = 0, synced = 0;
	struct maker m = { .f.next = maker_next,
		           .at = DATAFILE_DATA_OFFSET,
		           .end = DATAFILE_DATA_OFFSET + size,
		           .seed = ses->seed,
		           .record_bytes = record,
		           .block_bytes = block };
	struct load load = { .targets = &ses->targets[0], .ntargets = 1, .feeder = &m.f };
	struct load_stats stats;
	struct engine *eng;
	int r = session_engine(ses, &cfg, &eng, err);

	if (r < 0)
		return r;
	session_progress(ses, "writing the file", -1.0, NULL);
	start = clock_now_ns(ses->env->clk);
	r = session_load(ses, &load, eng, &stats, err);
	written = clock_now_ns(ses->env->clk) - start;
	if (r == 0 && !session_is_over(ses)) {
		if (stats.faults || stats.bytes != size)
			r = err_set(err, -EIO,
			            "%s could not be written in full (%" PRIu64 " of %" PRIu64
			            " bytes); see the errors of the disk.",
			            ses->devs[0].path, stats.bytes, size);
		m.f.next = flush_next;
		if (r == 0)
			r = session_load(ses, &load, eng, &stats, err);
		synced = clock_now_ns(ses->env->clk) - start;
	}
	engine_close(eng);
	if (r < 0 || session_is_over(ses))
		return r;
	add_row(ses, "write", size / record, written, size, UINT64_MAX);
	add_row(ses, "write and fsync", size / record, synced, size, UINT64_MAX);
	result_figure(ses->res, "write_bytes_per_s", "writing the file", UNIT_BYTES_PER_S,
	              (double)size / (double)written * 1e9, NULL, 1);
	result_figure(ses->res, "write_synced_bytes_per_s", "writing, with fsync", UNIT_BYTES_PER_S,
	              (double)size / (double)synced * 1e9, NULL, 1);
	return 0;
}

/* ---- reading ---- */

struct reader {
	struct feeder f;
	struct sink s;
	struct rng rng;
	uint64_t first, records, given, until_ns;
	uint32_t record_bytes;
	uint64_t done, sum_ns;
};

static enum feed reader_next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct reader *rd = (struct reader *)f;

	(void)ret_until_ns;
	if (rd->given >= PASS_READS && now_ns >= rd->until_ns)
		return FEED_END;
	rd->given++;
	req->op = IO_READ;
	req->target = 0;
	req->offset_bytes = rd->first + rng_below(&rd->rng, rd->records) * rd->record_bytes;
	req->len_bytes = rd->record_bytes;
	return FEED_IO;
}

static void reader_take(struct sink *s, const struct io_req *req, bool is_fault)
{
	struct reader *rd = (struct reader *)((char *)s - offsetof(struct reader, s));

	if (is_fault || req->is_late)
		return;
	rd->done++;
	rd->sum_ns += req->done_ns - req->submit_ns;
}

static int read_passes(struct session *ses, const struct tx_params *p, struct err *err)
{
	uint32_t record = tx_record_bytes(p);
	const struct engine_config cfg = { .depth = 1, .buf_bytes = record };
	double service[PASSES];
	struct summary sum;
	struct engine *eng;
	size_t n = 0;
	uint64_t reads = 0;
	int r = session_engine(ses, &cfg, &eng, err);

	if (r < 0)
		return r;
	for (unsigned pass = 0; pass < PASSES && r == 0 && !session_is_over(ses); pass++) {
		uint64_t start = clock_now_ns(ses->env->clk);
		struct reader rd = { .f.next = reader_next,
			             .s.take = reader_take,
			             .first = DATAFILE_DATA_OFFSET,
			             .records = p->size_bytes / record,
			             .record_bytes = record,
			             .until_ns = start + TX_PASS_NS };
		struct load load = { .targets = &ses->targets[0], .ntargets = 1, .feeder = &rd.f, .sink = &rd.s };
		struct load_stats stats;
		char step[16];

		session_rng(ses, STREAM_PASSES + pass, &rd.rng);
		/* When the transactions are still to come nobody knows here how long they take. */
		session_progress(ses, "reading the file", tx_file_is_all(ses, p) ? (double)pass / PASSES : -1.0, NULL);
		r = session_load(ses, &load, eng, &stats, err);
		if (r < 0 || session_is_over(ses) || !rd.done)
			break;
		(void)snprintf(step, sizeof(step), "read %u", pass + 1);
		service[n] = (double)rd.sum_ns / (double)rd.done;
		reads += rd.done;
		add_row(ses, step, rd.done, clock_now_ns(ses->env->clk) - start, rd.done * record,
		        (uint64_t)service[n++]);
	}
	engine_close(eng);
	result_figure_u64(ses->res, "file_reads", "random reads of the file", UNIT_COUNT, reads);
	if (n && summary_of(service, n, &sum))
		result_figure(ses->res, "read_service_ns", "a random read, mean of the passes", UNIT_NS, sum.mean,
		              &sum.mean_ci, n);
	return r;
}

/* ---- the file ---- */

int tx_file_open(struct datafile **ret, struct session *ses, const struct tx_params *p, struct err *err)
{
	struct device *d = &ses->devs[0];
	uint64_t existing = d->size_bytes > DATAFILE_DATA_OFFSET ? d->size_bytes - DATAFILE_DATA_OFFSET : 0;
	uint64_t record = tx_record_bytes(p), data = p->size_bytes ? p->size_bytes / record * record : existing;
	bool keeps = p->keep || !p->size_bytes; /* what was there stays */
	struct datafile *f;
	int r;

	r = datafile_create(&f, d->path, data, DATAFILE_REUSE | (keeps ? DATAFILE_KEEP : 0), err);
	if (r < 0)
		return r;
	if (p->size_bytes)
		r = datafile_reset(f, err);
	if (r == 0)
		r = datafile_open(f, p->mode != TX_CACHED, err);
	if (r < 0) {
		tx_file_close(f, ses);
		return r;
	}
	ses->targets[0] = (struct target){
		.name = d->path,
		.fd = r,
		.size_bytes = DATAFILE_DATA_OFFSET + data,
		.align_bytes = p->mode == TX_CACHED ? 1 : device_direct_align(d),
		.permit = datafile_permit(f),
		.touch_first = DATAFILE_DATA_OFFSET,
		.touch_end = DATAFILE_DATA_OFFSET + data,
	};
	*ret = f;
	r = p->size_bytes ? write_all(ses, p, err) : 0;
	if (r == 0 && p->size_bytes && !session_is_over(ses))
		r = read_passes(ses, p, err);
	return r;
}

void tx_file_close(struct datafile *f, struct session *ses)
{
	if (!f)
		return;
	if (ses->targets[0].fd >= 0)
		(void)close(ses->targets[0].fd); /* all was synchronised, or is thrown away */
	ses->targets[0].fd = -1;
	datafile_close(f);
}
