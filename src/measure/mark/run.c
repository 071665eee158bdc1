/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One repetition: a fresh file is written, read, and read at random; every record is checked. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "measure/mark/mark.h"
#include "measure/shared/pagecache.h"

#define STREAM_BYTES 8192u /* the buffer of a C++ file stream (BUFSIZ), as the seed's */
#define CLOCK_EVERY  64u   /* records between looks at the clock: 22 ns against some 10 ns a record */
#define MIB          1048576.0

/*
 * As in the seed: a client with a number, a balance from 0 to 9, and filling. Written so that no record compresses: the
 * number times an odd constant (golden ratio), the balance in the lowest bits of another multiple.
 */
#define NUMBER_KEY   0x9e3779b97f4a7c15ull
#define BALANCE_BITS 4
#define FILLING      16 /* where it begins in a record */

/* One run: write, read, random. */
struct bench {
	struct session *ses;
	enum mark_way way;
	const char *path;
	uint64_t time_ns, count, max_bytes; /* when to stop writing: time or count, and never beyond max */
	uint32_t record_bytes;              /* 64, or a sector for the media way */
	uint64_t first;                     /* byte where the data begin: behind the header */
	int fd;
	uint8_t *buf;
	const struct payload_pool *pool; /* filling of records */
	uint64_t records, random_records;
	uint64_t sum_written, sum_read, sum_bad;
	uint64_t write_ns, sync_ns, read_ns, random_ns;
	uint64_t random_seed;
	double cached_ratio, read_from_device;
	struct pagecache_share random_share;
	bool is_capped; /* the file was as large as it may be before writing was over */
};

static bool is_over(const struct bench *b)
{
	return b->ses->cancel && *b->ses->cancel;
}

static uint64_t now_ns(const struct bench *b)
{
	return clock_now_ns(b->ses->env->clk);
}

/* The next n records, which are part of the speed, as the program of 1999 had it: so in registers what can be. */
static void make_records(struct bench *b, uint8_t *at, uint64_t n, struct rng *rng)
{
	const uint8_t *filling = b->pool->bytes;
	struct rng state = *rng;
	uint64_t sum = 0, number = b->records, step = b->record_bytes - FILLING;

	for (uint64_t end = number + n; number < end; number++, at += b->record_bytes) {
		uint64_t balance = rng_below(&state, 10), key = number * NUMBER_KEY,
			 marked = (key << BALANCE_BITS) | balance;

		sum += balance;
		memcpy(at, &key, sizeof(key));
		memcpy(at + sizeof(key), &marked, sizeof(marked));
		memcpy(at + FILLING, filling + number * step % PAYLOAD_POOL_BYTES, step);
	}
	b->records += n;
	b->sum_written += sum;
	*rng = state;
}

static uint64_t balance_at(const uint8_t *at)
{
	uint64_t balance;

	memcpy(&balance, at + sizeof(uint64_t), sizeof(balance));
	return balance & ((1u << BALANCE_BITS) - 1);
}

static int failed(struct bench *b, const char *op, uint64_t offset, uint64_t length, ssize_t n)
{
	return session_fault(b->ses, b->path, op, offset, length, n < 0 ? -errno : n);
}

/* How many records are to be made now, most at most; 0: writing is over. Looks at the clock once in CLOCK_EVERY
 * records. */
static uint64_t records_wanted(struct bench *b, uint64_t room, uint64_t most, uint64_t start_ns)
{
	uint64_t n = CLOCK_EVERY - b->records % CLOCK_EVERY;

	if (b->count && b->records >= b->count)
		return 0;
	b->is_capped |= room == 0;
	if (n == CLOCK_EVERY && (is_over(b) || (!b->count && now_ns(b) - start_ns >= b->time_ns)))
		return 0;
	n = n < most ? n : most;
	n = n < room ? n : room;
	return b->count && b->count - b->records < n ? b->count - b->records : n;
}

static inline int put(struct bench *b, uint64_t at, size_t len)
{
	ssize_t n = pagecache_write(b->fd, b->buf, len, at);

	return n == (ssize_t)len ? 0 : failed(b, "write", at, len, n);
}

/* What close() waits for, which over a network is the server: file systems do it whenever any descriptor of the file is
 * closed. */
static int close_like(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? copy : close(copy);
}

/* Writes the file from its start. Time includes what programs wait for: the last buffer and close(), not fsync. */
static int write_phase(struct bench *b)
{
	size_t unit = b->way == WAY_STREAM ? STREAM_BYTES : b->record_bytes, fill = 0;
	uint64_t at = b->first, most = b->max_bytes / b->record_bytes, start = now_ns(b), n;
	struct rng rng;
	int r = 0;

	session_rng(b->ses, 0x4d41524bull, &rng);
	b->records = b->sum_written = 0;
	while (r == 0 && (n = records_wanted(b, most - b->records, (unit - fill) / b->record_bytes, start)) > 0) {
		make_records(b, b->buf + fill, n, &rng);
		fill += n * b->record_bytes;
		if (fill < unit)
			continue;
		r = put(b, at, unit);
		at += unit;
		fill = 0;
	}
	r = r == 0 && fill ? put(b, at, fill) : r;
	if (r == 0 && close_like(b->fd) < 0)
		r = failed(b, "flush", 0, 0, -1);
	b->write_ns = now_ns(b) - start;
	if (r == 0 && fsync(b->fd) < 0)
		r = failed(b, "flush", 0, 0, -1);
	b->sync_ns = now_ns(b) - start - b->write_ns;
	return r;
}

/* Sums the balances of the records in a buffer and counts those that are not in their place. Sums in registers: this is
 * part of the speed. */
static void check_records(struct bench *b, const uint8_t *buf, size_t len, uint64_t number)
{
	const size_t step = b->record_bytes;
	uint64_t sum = 0, bad = 0, found;

	for (const uint8_t *at = buf; at < buf + len; at += step) {
		memcpy(&found, at, sizeof(found));
		bad += found != number++ * NUMBER_KEY;
		sum += balance_at(at);
	}
	b->sum_read += sum;
	b->sum_bad += bad;
}

static int read_phase(struct bench *b)
{
	size_t unit = b->way == WAY_STREAM ? STREAM_BYTES : b->record_bytes;
	uint64_t left = b->records * b->record_bytes, at = b->first, start, number = 0;
	struct pagecache_traffic before, after;
	double cached;

	b->sum_read = b->sum_bad = 0;
	cached = pagecache_cached_ratio(b->fd, b->first, left);
	pagecache_traffic(b->ses, 0, &before);
	start = now_ns(b);
	while (left && !(number % 65536 == 0 && is_over(b))) {
		size_t want = left < unit ? (size_t)left : unit;
		ssize_t n = pread(b->fd, b->buf, want, (off_t)at);

		if (n != (ssize_t)want)
			return failed(b, "read", at, want, n);
		check_records(b, b->buf, want, number);
		number += want / b->record_bytes;
		at += want;
		left -= want;
	}
	b->read_ns = now_ns(b) - start;
	pagecache_traffic_since(b->ses, 0, &before, cached, &after);
	b->read_from_device = pagecache_share(&after, b->records * b->record_bytes, false).device_ratio;
	return 0;
}

/* What a random read needs of the disk, in the mean: through the page cache whole pages, beginning at any of a page's
 * records. */
static uint64_t bytes_touched(const struct bench *b, size_t unit)
{
	return b->way == WAY_MEDIA ? unit : unit + (uint64_t)sysconf(_SC_PAGESIZE) - b->record_bytes;
}

static int random_phase(struct bench *b)
{
	size_t unit = b->way == WAY_STREAM ? STREAM_BYTES : b->record_bytes;
	uint64_t end = b->first + b->records * b->record_bytes, start, sum = 0;
	double cached = pagecache_cached_ratio(b->fd, b->first, end - b->first);
	struct pagecache_traffic before, after;
	struct rng rng;

	rng_init(&rng, b->random_seed, 1);
	b->random_records = 0;
	pagecache_traffic(b->ses, 0, &before);
	start = now_ns(b);
	while (!(b->random_records % CLOCK_EVERY == 0 && (now_ns(b) - start >= b->time_ns || is_over(b)))) {
		uint64_t at = b->first + rng_below(&rng, b->records) * b->record_bytes;
		size_t want = end - at < unit ? (size_t)(end - at) : unit;
		ssize_t n = pread(b->fd, b->buf, want, (off_t)at);

		if (n != (ssize_t)want)
			return failed(b, "read", at, want, n);
		sum += balance_at(b->buf);
		b->random_records++;
	}
	b->random_ns = now_ns(b) - start;
	b->sum_bad += sum > 9 * b->random_records; /* also keeps the sum from being optimised away */
	pagecache_traffic_since(b->ses, 0, &before, cached, &after);
	b->random_share = pagecache_share(&after, b->random_records * bytes_touched(b, unit), false);
	b->cached_ratio = (cached + pagecache_cached_ratio(b->fd, b->first, end - b->first)) / 2.0;
	return 0;
}

static double mib_per_s(uint64_t bytes, uint64_t ns)
{
	return ns ? (double)bytes / MIB / ((double)ns * 1e-9) : (double)NAN;
}

/* The whole of it on a fresh file. 0, or negative errno with the fault on record. */
static int bench_run(struct bench *b, struct mark_row *ret)
{
	uint64_t bytes;
	int r = write_phase(b);

	if (r == 0 && !is_over(b))
		r = read_phase(b);
	if (r == 0 && !is_over(b) && b->records)
		r = random_phase(b);
	if (r < 0 || is_over(b) || b->records == 0)
		return r < 0 ? r : -EINTR;
	bytes = b->records * b->record_bytes;
	*ret = (struct mark_row){
		.way = mark_way_names[b->way],
		.records = b->records,
		.file_bytes = bytes,
		.write_mib_per_s = mib_per_s(bytes, b->write_ns),
		.write_synced_mib_per_s = mib_per_s(bytes, b->write_ns + b->sync_ns),
		.read_mib_per_s = mib_per_s(bytes, b->read_ns),
		.random_mib_per_s = mib_per_s(b->random_records * b->record_bytes, b->random_ns),
		.random_per_s = (double)b->random_records / ((double)b->random_ns * 1e-9),
		.cached_ratio = b->way == WAY_MEDIA ? 0.0 : b->cached_ratio,
		.from_device_ratio = b->random_share.device_ratio,
		.from_disk_ratio = b->random_share.disk_ratio,
		.read_from_device_ratio = b->read_from_device,
		.sync_ns = b->sync_ns,
		.checksum_written = b->sum_written,
		.checksum_read = b->sum_read,
	};
	ret->diskmark_mib_per_s = mark_mean(ret->write_mib_per_s, ret->read_mib_per_s, ret->random_mib_per_s);
	if (b->sum_read != b->sum_written || b->sum_bad) {
		result_notice(b->ses->res, "checksum",
		              "%s: the checksum was %" PRIu64 " when written and is %" PRIu64
		              " when read; records that differ: %" PRIu64 ".",
		              b->path, b->sum_written, b->sum_read, b->sum_bad);
		b->ses->res->verdict_is_no = true;
	}
	return 0;
}

static uint64_t next_draw(void *arg, uint64_t records)
{
	return rng_below(arg, records);
}

/* The same draws again, from their seed. */
static void judge_draws(const struct bench *b, struct mark_draws *ret)
{
	struct rng rng;

	rng_init(&rng, b->random_seed, 1);
	if (!mark_judge(next_draw, &rng, b->random_records, b->records, ret))
		return;
	if (!ret->is_random)
		result_notice(b->ses->res, "draws",
		              "The random records were not as uniform draws are (p %.2g, %.4f covered where %.4f is "
		              "expected); please report this with the seed.",
		              ret->ks_p, ret->covered, ret->covered_expected);
}

int mark_run_way(struct mark_run *m, enum mark_way way, uint64_t repetition, uint64_t time_ns, uint64_t bytes,
                 struct mark_row *ret)
{
	const struct device *d = &m->ses->devs[0];
	uint32_t sector = d->queue.dio_offset_align_bytes > MARK_RECORD_BYTES ? d->queue.dio_offset_align_bytes : 512;
	struct err err = { 0 };
	struct bench b = {
		.ses = m->ses,
		.way = way,
		.path = m->path,
		.time_ns = time_ns,
		.record_bytes = way == WAY_MEDIA ? sector : MARK_RECORD_BYTES,
		.first = DATAFILE_DATA_OFFSET,
		.max_bytes = bytes ? bytes : m->max_bytes,
		.buf = m->buf,
		.pool = &m->pool,
		.random_seed = rng_mix(m->ses->seed + repetition),
		.cached_ratio = NAN,
		.random_share = { NAN, NAN },
		.read_from_device = NAN,
	};
	int r = datafile_reset(m->df, &err);

	b.count = bytes ? bytes / b.record_bytes : m->p->count;
	if (r == 0)
		r = b.fd = datafile_open(m->df, way == WAY_MEDIA, &err);
	if (r < 0)
		return r;
	if (!m->has_witness)
		pagecache_note_witness(m->ses, b.fd);
	m->has_witness = true;
	r = bench_run(&b, ret);
	(void)close(b.fd); /* all was synced */
	if (b.is_capped && !bytes)
		result_notice(m->ses->res, "capped", "A file became as large as it may be before writing was over; %s.",
		              m->max_bytes < m->p->max_size_bytes ? "there is no room for a larger one"
		                                                  : "--size lets it grow");
	ret->repetition = repetition + 1;
	if (r == 0 && (way == WAY_STREAM || m->p->mode))
		judge_draws(&b, &m->draws);
	return r;
}
