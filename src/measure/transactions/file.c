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

#include "measure/shared/lasting.h"
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

struct file_run {
	struct lasting l;
	struct rng rng;
	uint64_t first, records; /* records: of the file */
	uint32_t step_bytes;
	/* of what came back well, without the flush */
	uint64_t bytes, done, done_ns, sum_ns;
};

static uint64_t next_behind(void *arg, uint64_t i)
{
	const struct file_run *f = arg;

	return f->first + i * f->step_bytes;
}

static uint64_t next_random(void *arg, uint64_t i)
{
	struct file_run *f = arg;

	(void)i;
	return f->first + rng_below(&f->rng, f->records) * f->step_bytes;
}

static void take(void *arg, const struct io_req *req, bool is_fault)
{
	struct file_run *f = arg;

	if (is_fault || req->op == IO_FLUSH)
		return;
	f->bytes += (uint64_t)req->res;
	f->done_ns = req->done_ns;
	f->done += !req->is_late;
	f->sum_ns += req->is_late ? 0 : req->done_ns - req->submit_ns;
}

static void add_row(struct session *ses, const char *step, uint64_t records, uint64_t elapsed_ns, uint64_t bytes,
                    uint64_t service_ns)
{
	result_row(result_table(ses->res, "file", "Making the file", tx_file_fields),
	           &(struct tx_file_row){ step, records, elapsed_ns,
	                                  (double)bytes / fmax((double)elapsed_ns, 1.0) * 1e9, service_ns });
	session_checkpoint(ses);
}

static int file_run_open(struct file_run *f, struct session *ses, uint32_t depth, uint32_t bytes, struct err *err)
{
	const struct engine_config cfg = { .depth = depth, .buf_bytes = bytes };

	*f = (struct file_run){ .l = { .ses = ses, .target = &ses->targets[0], .end_ns = CLOCK_NEVER },
		                .first = DATAFILE_DATA_OFFSET,
		                .step_bytes = bytes };
	return session_engine(ses, &cfg, &f->l.eng, err);
}

/* ---- writing ---- */

static int write_all(struct session *ses, const struct tx_params *p, struct err *err)
{
	uint32_t record = tx_record_bytes(p), block = record > WRITE_BYTES ? record : WRITE_BYTES / record * record;
	uint64_t size = p->size_bytes / record * record, start, written, synced;
	struct file_run f;
	int r = file_run_open(&f, ses, WRITE_DEPTH, block, err);

	if (r < 0)
		return r;
	lasting_fill(&f.l, block);
	session_progress(ses, "writing the file", -1.0, NULL);
	start = session_now_ns(ses);
	r = lasting_load(&f.l,
	                 &(struct lasting_order){ .op = IO_WRITE,
	                                          .block_bytes = block,
	                                          .depth = WRITE_DEPTH,
	                                          .requests = (size + block - 1) / block,
	                                          .end_bytes = DATAFILE_DATA_OFFSET + size,
	                                          .flushes = true,
	                                          .place = next_behind,
	                                          .took = take,
	                                          .arg = &f },
	                 err);
	synced = session_now_ns(ses) - start;
	written = f.done_ns - start;
	engine_close(f.l.eng);
	if (r < 0 || session_is_over(ses))
		return r;
	if (f.bytes != size)
		return err_set(err, -EIO,
		               "%s could not be written in full (%" PRIu64 " of %" PRIu64
		               " bytes); see the errors of the disk.",
		               ses->devs[0].path, f.bytes, size);
	add_row(ses, "write", size / record, written, size, UINT64_MAX);
	add_row(ses, "write and fsync", size / record, synced, size, UINT64_MAX);
	result_figure(ses->res, "write_bytes_per_s", "writing the file", UNIT_BYTES_PER_S,
	              (double)size / (double)written * 1e9, NULL, 1);
	result_figure(ses->res, "write_synced_bytes_per_s", "writing, with fsync", UNIT_BYTES_PER_S,
	              (double)size / (double)synced * 1e9, NULL, 1);
	return 0;
}

/* ---- reading ---- */

/* PASS_READS of them at least, and until then. */
static int read_pass(struct file_run *f, uint64_t until_ns, struct err *err)
{
	struct lasting_order o = { .op = IO_READ,
		                   .block_bytes = f->step_bytes,
		                   .depth = 1,
		                   .requests = PASS_READS,
		                   .place = next_random,
		                   .took = take,
		                   .arg = f };
	int r = lasting_load(&f->l, &o, err);
	uint64_t now_ns = clock_now_ns(f->l.ses->env->clk);

	if (r < 0 || now_ns >= until_ns || session_is_over(f->l.ses))
		return r;
	o.requests = 0;
	o.max_ns = until_ns - now_ns;
	return lasting_load(&f->l, &o, err);
}

static int read_passes(struct session *ses, const struct tx_params *p, struct err *err)
{
	uint32_t record = tx_record_bytes(p);
	double service[PASSES];
	struct summary sum;
	struct file_run f;
	size_t n = 0;
	uint64_t reads = 0;
	int r = file_run_open(&f, ses, 1, record, err);

	if (r < 0)
		return r;
	f.records = p->size_bytes / record;
	for (unsigned pass = 0; pass < PASSES && r == 0 && !session_is_over(ses); pass++) {
		uint64_t start = clock_now_ns(ses->env->clk);
		char step[16];

		f.done = f.sum_ns = 0;
		session_rng(ses, STREAM_PASSES + pass, &f.rng);
		/* When the transactions are still to come nobody knows here how long they take. */
		session_progress(ses, "reading the file", tx_file_is_all(ses, p) ? (double)pass / PASSES : -1.0, NULL);
		r = read_pass(&f, start + TX_PASS_NS, err);
		if (r < 0 || session_is_over(ses) || !f.done)
			break;
		(void)snprintf(step, sizeof(step), "read %u", pass + 1);
		service[n] = (double)f.sum_ns / (double)f.done;
		reads += f.done;
		add_row(ses, step, f.done, clock_now_ns(ses->env->clk) - start, f.done * record,
		        (uint64_t)service[n++]);
	}
	engine_close(f.l.eng);
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
