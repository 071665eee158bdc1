/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DiskMark (Dujmovic): records of 64 bytes written one after the other for a given time, all read back, then read in random order for the same
 * time; the mark is the harmonic mean of the three speeds in MiB/s. The same work is done in three ways side by side:
 *
 *   stream   through a buffer of 8 KiB in the program, as the C++ streams of the seed do: a random read seeks, so it fills a new buffer
 *   syscall  one pread or pwrite for each record
 *   media    O_DIRECT, records of one sector: what the disk itself does
 *
 * Check sums over the records must agree (the seed counts the last record twice at end of file; this does not). Draws of record numbers are
 * judged by mean and coefficient of variation as in the seed, and by what a poor generator does not pass: a Kolmogorov-Smirnov test and the
 * number of distinct records. They are repeated from the seed after the clock has stopped, so that judging costs no measured time.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/mark/mark.h"
#include "measure/shared/cgroup.h"
#include "measure/shared/pagecache.h"
#include "session/session.h"

#define RECORD_BYTES 64u
#define STREAM_BYTES 8192u
#define CLOCK_EVERY  64u  /* records between looks at the clock: 22 ns against some 10 ns a record */
#define SWEEP_MORE   12   /* runs that narrow down where the cache ends */
#define SWEEP_NARROW 1.08 /* its two sides, one over the other */
#define CACHED_RATIO 0.99
#define REPEATS_MAX  100
#define MIB          1048576.0

enum way { WAY_STREAM, WAY_SYSCALL, WAY_MEDIA, WAYS };
static const char *const way_names[] = { "stream", "syscall", "media", NULL };

struct mark_params {
	uint64_t count, repeat, max_size_bytes, memory_bytes;
	const char *sweep;
	bool direct, keep;
};

static const struct opt mark_opts[] = {
	OPT_U64(struct mark_params, count, "count", 'c', "N", NULL, "write N records instead of writing for --time",
	        .min = 100, .max = 1e12),
	OPT_U64(struct mark_params, repeat, "repeat", 'r', "N", "3", "repetitions of each way", .min = 1,
	        .max = REPEATS_MAX),
	OPT_BYTES(struct mark_params, max_size_bytes, "max-size", 0, "SIZE", "2G",
	          "let the file grow to this size at most", .min = 65536, .max = 9e18),
	OPT_STR(struct mark_params, sweep, "sweep", 0, "LIST", NULL,
	        "mark against file size: seconds of writing (0.5,1,10) or sizes (64M,1G)"),
	OPT_BYTES(struct mark_params, memory_bytes, "memory", 0, "SIZE", NULL,
	          "run within a memory cgroup of this size", .min = 16777216, .max = 9e18),
	OPT_FLAG(struct mark_params, direct, "direct", 0, "only the media way: the disk's own figures"),
	OPT_FLAG(struct mark_params, keep, "keep", 0, "leave the file where it is"),
	OPT_END,
};

/* One repetition. */
struct run_row {
	const char *way;
	uint64_t repetition, records, file_bytes;
	double write_mib_per_s, write_synced_mib_per_s, read_mib_per_s, random_mib_per_s, diskmark_mib_per_s,
		random_per_s;
	double cached_ratio, from_device_ratio, from_disk_ratio, read_from_device_ratio;
	uint64_t sync_ns, checksum_written, checksum_read;
};

static const struct field run_fields[] = {
	FIELD_STR(struct run_row, way, "way"),
	FIELD_U64(struct run_row, repetition, UNIT_COUNT, "run"),
	FIELD_U64(struct run_row, file_bytes, UNIT_BYTES, "file"),
	FIELD_F64(struct run_row, write_mib_per_s, UNIT_MIB_PER_S, "write"),
	FIELD_F64(struct run_row, write_synced_mib_per_s, UNIT_MIB_PER_S, "and fsync"),
	FIELD_F64(struct run_row, read_mib_per_s, UNIT_MIB_PER_S, "read"),
	FIELD_F64(struct run_row, random_mib_per_s, UNIT_MIB_PER_S, "random"),
	FIELD_F64(struct run_row, diskmark_mib_per_s, UNIT_MIB_PER_S, "DiskMark"),
	FIELD_U64(struct run_row, checksum_read, UNIT_COUNT, "check sum"),
	FIELD_U64(struct run_row, checksum_written, UNIT_COUNT, "check sum written", .detail = true),
	FIELD_F64(struct run_row, random_per_s, UNIT_PER_S, "random reads", .detail = true),
	FIELD_F64(struct run_row, cached_ratio, UNIT_RATIO, "in memory", .detail = true),
	FIELD_F64(struct run_row, from_device_ratio, UNIT_RATIO, "from device", .detail = true),
	FIELD_F64(struct run_row, from_disk_ratio, UNIT_RATIO, "disk moved", .detail = true),
	FIELD_F64(struct run_row, read_from_device_ratio, UNIT_RATIO, "reading: from device", .detail = true),
	FIELD_U64(struct run_row, sync_ns, UNIT_NS, "fsync", .detail = true),
	FIELD_U64(struct run_row, records, UNIT_COUNT, "records", .detail = true),
	FIELD_END,
};

/* The mean of a way's repetitions; the mark is the mean of theirs. */
struct way_row {
	const char *way;
	uint64_t repetitions;
	double write_mib_per_s, write_synced_mib_per_s, read_mib_per_s, random_mib_per_s, diskmark_mib_per_s,
		random_per_s, cached_ratio, from_device_ratio, from_disk_ratio;
};

static const struct field way_fields[] = {
	FIELD_STR(struct way_row, way, "way"),
	FIELD_F64(struct way_row, write_mib_per_s, UNIT_MIB_PER_S, "write"),
	FIELD_F64(struct way_row, write_synced_mib_per_s, UNIT_MIB_PER_S, "and fsync"),
	FIELD_F64(struct way_row, read_mib_per_s, UNIT_MIB_PER_S, "read"),
	FIELD_F64(struct way_row, random_mib_per_s, UNIT_MIB_PER_S, "random"),
	FIELD_F64(struct way_row, diskmark_mib_per_s, UNIT_MIB_PER_S, "DiskMark"),
	FIELD_F64(struct way_row, cached_ratio, UNIT_RATIO, "in memory"),
	FIELD_F64(struct way_row, from_device_ratio, UNIT_RATIO, "from device"),
	FIELD_F64(struct way_row, from_disk_ratio, UNIT_RATIO, "disk moved"),
	FIELD_F64(struct way_row, random_per_s, UNIT_PER_S, "random reads", .detail = true),
	FIELD_U64(struct way_row, repetitions, UNIT_COUNT, "runs", .detail = true),
	FIELD_END,
};

struct sweep_row {
	uint64_t file_bytes;
	double write, read, random, diskmark, cached_ratio, from_device_ratio;
};

static const struct field sweep_fields[] = {
	FIELD_U64(struct sweep_row, file_bytes, UNIT_BYTES, "file"),
	FIELD_F64(struct sweep_row, write, UNIT_MIB_PER_S, "write"),
	FIELD_F64(struct sweep_row, read, UNIT_MIB_PER_S, "read"),
	FIELD_F64(struct sweep_row, random, UNIT_MIB_PER_S, "random"),
	FIELD_F64(struct sweep_row, diskmark, UNIT_MIB_PER_S, "DiskMark"),
	FIELD_F64(struct sweep_row, cached_ratio, UNIT_RATIO, "in memory"),
	FIELD_F64(struct sweep_row, from_device_ratio, UNIT_RATIO, "from device"),
	FIELD_END,
};

static const struct measure_table mark_tables[] = {
	{ "ways", "Three ways", way_fields },
	{ "runs", "Each repetition", run_fields },
	{ "sweep", "Mark against file size", sweep_fields },
	{ NULL, NULL, NULL },
};

struct record { /* as in the seed: a client with a balance */
	uint64_t number;
	uint64_t balance; /* 0 .. 9 */
	uint8_t filling[RECORD_BYTES - 16];
};

/* One run: write, read, random. */
struct bench {
	struct session *ses;
	enum way way;
	const char *path;
	uint64_t time_ns, count, max_bytes; /* when to stop writing: time or count, and never beyond max */
	uint32_t record_bytes;              /* 64, or a sector for the media way */
	uint64_t first;                     /* byte where the data begin: behind the header */
	int fd;
	uint8_t *buf;
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
	struct record r = { .number = b->records };
	struct rng state = *rng;
	uint64_t sum = 0;

	for (uint64_t end = b->records + n; r.number < end; r.number++, at += b->record_bytes) {
		r.balance = rng_below(&state, 10);
		sum += r.balance;
		memcpy(at, &r, sizeof(r));
	}
	b->records += n;
	b->sum_written += sum;
	*rng = state;
}

static uint64_t balance_at(const uint8_t *at)
{
	uint64_t balance;

	memcpy(&balance, at + offsetof(struct record, balance), sizeof(balance));
	return balance;
}

static int failed(struct bench *b, const char *op, uint64_t offset, uint64_t length, ssize_t n)
{
	int64_t res = n < 0 ? -errno : n;

	result_fault(b->ses->res, b->path, op, offset, length, res, (double)(now_ns(b) - b->ses->start_ns) * 1e-9);
	return res < 0 ? (int)res : -EIO;
}

/* How many records are to be made now, most at most; 0: writing is over. Looks at the clock once in CLOCK_EVERY records. */
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
	ssize_t n = pwrite(b->fd, b->buf, len, (off_t)at);

	if (n >= 0 && n < (ssize_t)len)
		n = pagecache_write_rest(b->fd, b->buf, (size_t)n, len, at);
	return n == (ssize_t)len ? 0 : failed(b, "write", at, len, n);
}

/* What close() waits for, which over a network is the server: file systems do it whenever any descriptor of the file is closed. */
static int close_like(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? copy : close(copy);
}

/* Writes the file from its start. Time includes what a program would wait for: the last buffer and close(), not fsync. */
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

/* Sums the balances of the records in a buffer and counts those that are not in their place. Sums in registers: this is part of the speed. */
static void check_records(struct bench *b, const uint8_t *buf, size_t len, uint64_t number)
{
	const size_t step = b->record_bytes;
	uint64_t sum = 0, bad = 0, found;

	for (const uint8_t *at = buf; at < buf + len; at += step) {
		memcpy(&found, at, sizeof(found));
		bad += found != number++;
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

/* What a random read needs of the disk, in the mean: through the page cache whole pages, beginning at any of a page's records. */
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
static int bench_run(struct bench *b, struct run_row *ret)
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
	*ret = (struct run_row){
		.way = way_names[b->way],
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
		              "%s: the check sum was %" PRIu64 " when written and is %" PRIu64 " when read; %" PRIu64
		              " records differ.",
		              b->path, b->sum_written, b->sum_read, b->sum_bad);
		b->ses->res->verdict_is_no = true;
	}
	return 0;
}

/* ---- are the random records random? ---- */

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

/* ---- set-up ---- */

static int mark_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err)
{
	const struct mark_params *p = params;
	const struct device *d = &ses->devs[0];
	uint64_t t = ses->common->time_ns ? ses->common->time_ns : NS_PER_S;

	if (d->kind == DEVICE_DISK || d->kind == DEVICE_PARTITION)
		return err_set(err, -EINVAL,
		               "%s is a block device; mark works in a file: give a file or directory on it.", d->path);
	plan->opens_itself = true;
	plan->is_direct = p->direct;
	plan->read_bytes = plan->write_bytes = UINT64_MAX;
	plan_phase(plan, p->direct ? "media" : "three ways", (p->direct ? 1 : 3) * p->repeat * 3 * t);
	return 0;
}

/* The largest size up to `want` for which there is room; 0: none. */
static uint64_t room_for(const char *path, uint64_t want)
{
	while (want >= (1u << 20) && datafile_check_space(path, want, NULL) < 0)
		want /= 2;
	return want >= (1u << 20) ? want : 0;
}

struct mark_run {
	struct session *ses;
	const struct mark_params *p;
	char path[512];
	uint64_t max_bytes, time_ns;
	struct datafile *df;
	uint8_t *buf;
	bool has_witness;        /* noted in the head */
	struct mark_draws draws; /* of the last repetition of the way that gives the mark */
};

/* One repetition of one way. stop: seconds or bytes of the sweep, 0: as the options say. -EOPNOTSUPP: no direct I/O here. */
static int run_way(struct mark_run *m, enum way way, uint64_t repetition, uint64_t time_ns, uint64_t bytes,
                   struct run_row *ret)
{
	const struct device *d = &m->ses->devs[0];
	uint32_t sector = d->dio_offset_align_bytes > RECORD_BYTES ? d->dio_offset_align_bytes : 512;
	struct err err = { 0 };
	struct bench b = {
		.ses = m->ses,
		.way = way,
		.path = m->path,
		.time_ns = time_ns,
		.record_bytes = way == WAY_MEDIA ? sector : RECORD_BYTES,
		.first = DATAFILE_DATA_OFFSET,
		.max_bytes = bytes ? bytes : m->max_bytes,
		.buf = m->buf,
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
		                                                  : "--max-size lets it grow");
	ret->repetition = repetition + 1;
	if (r == 0 && (way == WAY_STREAM || m->p->direct))
		judge_draws(&b, &m->draws);
	return r;
}

static struct interval scaled_ci(const struct summary *s)
{
	return s->n > 1 ? s->mean_ci : (struct interval){ NAN, NAN };
}

static const struct speed {
	const char *name, *label;
	size_t of_run, of_way;
} speeds[] = {
#define SPEED(m, l)                                                             \
	{                                                                       \
#m, l, offsetof(struct run_row, m), offsetof(struct way_row, m) \
	}
	SPEED(write_mib_per_s, "writing, with close"),
	SPEED(write_synced_mib_per_s, "writing, with fsync"),
	SPEED(read_mib_per_s, "reading"),
	SPEED(random_mib_per_s, "random reading"),
	SPEED(diskmark_mib_per_s, "DiskMark, mean of the runs' marks"),
	SPEED(random_per_s, NULL),
	SPEED(cached_ratio, NULL),
	SPEED(from_device_ratio, NULL),
	SPEED(from_disk_ratio, NULL),
#undef SPEED
};

/*
 * The repetitions of a way as a row; and as figures those of the way that gives the mark (stream as in the seed, media with --direct), and the
 * marks of the others.
 */
static void summarise(struct result *res, const struct run_row *rows, size_t n, bool is_the_mark)
{
	struct way_row way = { .way = rows[0].way, .repetitions = n };
	char name[64], label[64];

	for (size_t f = 0; f < ARRAY_LEN(speeds); f++) {
		double v[REPEATS_MAX];
		struct summary s;
		struct interval ci;

		for (size_t i = 0; i < n; i++)
			memcpy(&v[i], (const char *)&rows[i] + speeds[f].of_run, sizeof(double));
		if (!summary_of(v, n, &s))
			s = (struct summary){ .mean = NAN };
		memcpy((char *)&way + speeds[f].of_way, &s.mean, sizeof(double));
		ci = scaled_ci(&s);
		if (is_the_mark && speeds[f].label)
			result_figure(res, speeds[f].name, speeds[f].label, UNIT_MIB_PER_S, s.mean, &ci, n);
		else if (!is_the_mark && strcmp(speeds[f].name, "diskmark_mib_per_s") == 0) {
			(void)snprintf(name, sizeof(name), "diskmark_%s_mib_per_s", way.way);
			(void)snprintf(label, sizeof(label), "DiskMark of the way %s", way.way);
			result_figure(res, name, label, UNIT_MIB_PER_S, s.mean, &ci, n);
		}
	}
	result_row(result_table(res, "ways", "Three ways", way_fields), &way);
}

static void tell_checksum(struct result *res, const struct run_row *last)
{
	result_figure_u64(res, "checksum", "check sum, equal in write and read", UNIT_COUNT, last->checksum_read);
}

/* The repetitions of one way. *ret_n: how many were done. */
static int run_repetitions(struct mark_run *m, enum way way, enum way from, struct run_row *rows, size_t *ret_n)
{
	struct table *t = result_table(m->ses->res, "runs", "Each repetition", run_fields);
	double total = (double)(WAYS - from) * (double)m->p->repeat;
	int r = 0;

	for (uint64_t k = 0; k < m->p->repeat && r == 0; k++) {
		struct run_row *row = &rows[*ret_n];

		session_progress(m->ses, way_names[way], ((double)((way - from) * m->p->repeat + k)) / total, NULL);
		r = run_way(m, way, k, m->time_ns, 0, row);
		if (r < 0)
			break;
		session_log(m->ses, "%s: write %.2f, read %.2f, random %.2f, DiskMark %.2f MiB/s", way_names[way],
		            row->write_mib_per_s, row->read_mib_per_s, row->random_mib_per_s, row->diskmark_mib_per_s);
		result_row(t, row);
		++*ret_n;
		session_checkpoint(m->ses);
	}
	return r;
}

static int run_ways(struct mark_run *m)
{
	enum way from = m->p->direct ? WAY_MEDIA : WAY_STREAM;
	int r = 0;

	(void)result_table(m->ses->res, "ways", "Three ways", way_fields); /* the first to be shown */
	for (enum way way = from; way < WAYS && r == 0 && !session_is_over(m->ses); way++) {
		struct run_row rows[REPEATS_MAX];
		size_t n = 0;

		r = run_repetitions(m, way, from, rows, &n);
		if (n)
			summarise(m->ses->res, rows, n, way == from);
		if (n && way == from) {
			mark_tell_draws(m->ses->res, &m->draws);
			tell_checksum(m->ses->res, &rows[n - 1]);
			mark_tell_what(m->ses->res, rows[n - 1].file_bytes, rows[n - 1].cached_ratio, way == WAY_MEDIA);
		}
		if (r == -EOPNOTSUPP && !m->p->direct) {
			result_notice(m->ses->res, "no-direct",
			              "The file system of %s takes no direct I/O, so the media way is missing.",
			              m->path);
			r = 0;
			break;
		}
	}
	return r;
}

/* An element of --sweep: bare numbers are seconds, with a suffix it is a size. */
static int sweep_item(const char *text, size_t len, uint64_t *ret_ns, uint64_t *ret_bytes, struct err *err)
{
	char word[64];
	double seconds;

	if (len == 0 || len >= sizeof(word))
		return err_set(err, -EINVAL, "--sweep takes a list like 0.5,1,2.5 or 64M,256M,1G.");
	memcpy(word, text, len);
	word[len] = '\0';
	*ret_ns = *ret_bytes = 0;
	if (units_parse_f64(word, &seconds, NULL) == 0 && seconds > 0.0 && seconds < 1e6) {
		*ret_ns = (uint64_t)(seconds * 1e9);
		return 0;
	}
	return units_parse_bytes(word, ret_bytes, err);
}

/* Where the cache ends, as far as it is known. */
struct sweep {
	uint64_t largest_cached, smallest_not; /* 0 and UINT64_MAX: none yet */
};

static void sweep_add(struct sweep *s, const struct sweep_row *row)
{
	if (row->cached_ratio >= CACHED_RATIO && row->file_bytes > s->largest_cached)
		s->largest_cached = row->file_bytes;
	if (row->cached_ratio < CACHED_RATIO && row->file_bytes < s->smallest_not)
		s->smallest_not = row->file_bytes;
}

static void tell_sweep(struct result *res, const struct sweep *s, bool is_direct)
{
	if (s->largest_cached)
		result_figure_u64(res, "largest_cached_bytes", "largest file that was wholly in memory", UNIT_BYTES,
		                  s->largest_cached);
	if (s->smallest_not != UINT64_MAX && !is_direct)
		result_figure_u64(res, "cache_ends_bytes", "smallest file that was not", UNIT_BYTES, s->smallest_not);
}

/* One point of the sweep: for so many seconds of writing, or of that size. */
static int sweep_point(struct mark_run *m, struct sweep *s, uint64_t ns, uint64_t bytes)
{
	enum way way = m->p->direct ? WAY_MEDIA : WAY_STREAM;
	struct run_row row;
	struct sweep_row out;
	int r = run_way(m, way, 0, ns ? ns : m->time_ns, bytes, &row);

	if (r < 0)
		return r;
	out = (struct sweep_row){ row.file_bytes,       row.write_mib_per_s,    row.read_mib_per_s,
		                  row.random_mib_per_s, row.diskmark_mib_per_s, row.cached_ratio,
		                  row.from_device_ratio };
	result_row(result_table(m->ses->res, "sweep", "Mark against file size", sweep_fields), &out);
	session_checkpoint(m->ses);
	sweep_add(s, &out);
	return 0;
}

/* The sizes of the list; then between the largest that was in memory and the smallest that was not, until they are near each other. */
static int run_sweep(struct mark_run *m, struct err *err)
{
	struct sweep s = { 0, UINT64_MAX };
	int r = 0;

	for (const char *at = m->p->sweep; r == 0 && *at && !session_is_over(m->ses);) {
		size_t len = strcspn(at, ",");
		uint64_t ns, bytes;

		r = sweep_item(at, len, &ns, &bytes, err);
		session_progress(m->ses, "sweep", (double)(at - m->p->sweep) / (double)strlen(m->p->sweep), NULL);
		if (r == 0)
			r = sweep_point(m, &s, ns, bytes);
		at += len + (at[len] == ',');
	}
	for (unsigned k = 0; r == 0 && k < SWEEP_MORE && !m->p->direct && !session_is_over(m->ses); k++) {
		double low = (double)s.largest_cached, high = (double)s.smallest_not;

		if (!s.largest_cached || s.smallest_not == UINT64_MAX || high / low <= SWEEP_NARROW)
			break;
		session_progress(m->ses, "where the cache ends", (double)k / SWEEP_MORE, NULL);
		r = sweep_point(m, &s, 0, (uint64_t)sqrt(low * high) / RECORD_BYTES * RECORD_BYTES);
	}
	tell_sweep(m->ses->res, &s, m->p->direct);
	return r;
}

/* The list is well-formed, and there is room for the largest of its sizes. */
static int check_sweep(const struct mark_run *m, struct err *err)
{
	uint64_t ns, bytes, largest = 0;
	int r = 0;

	for (const char *at = m->p->sweep; r == 0 && at && *at;) {
		size_t len = strcspn(at, ",");

		r = sweep_item(at, len, &ns, &bytes, err);
		largest = r == 0 && bytes > largest ? bytes : largest;
		at += len + (at[len] == ',');
	}
	if (r == 0 && largest)
		r = datafile_check_space(m->path, largest, err);
	return r == -ENOSPC && err ? err_prefix(err, "--sweep asks for too large a file") : r;
}

static int mark_run(struct session *ses, const void *params, struct err *err)
{
	const struct mark_params *p = params;
	struct mark_run m = { .ses = ses, .p = p, .time_ns = ses->common->time_ns ? ses->common->time_ns : NS_PER_S };
	const struct device *d = &ses->devs[0];
	struct cgroup *cg = NULL;
	void *buf = NULL;
	int r = 0;

	if (r == 0 && d->kind == DEVICE_DIRECTORY && datafile_name(m.path, sizeof(m.path), d->path, "mark", 0) < 0)
		r = err_set(err, -ENAMETOOLONG, "The name of a file in %s would be too long.", d->path);
	if (d->kind != DEVICE_DIRECTORY)
		(void)snprintf(m.path, sizeof(m.path), "%s", d->path);
	if (r == 0)
		r = check_sweep(&m, err);
	m.max_bytes = room_for(m.path, p->max_size_bytes);
	if (r == 0 && m.max_bytes == 0)
		r = datafile_check_space(m.path, p->max_size_bytes, err);
	if (r == 0 && posix_memalign(&buf, 4096, 65536) != 0)
		r = err_set(err, -ENOMEM, "Out of memory.");
	m.buf = buf;
	if (r == 0 && p->memory_bytes)
		r = cgroup_enter(&cg, ses->env->sysroot, p->memory_bytes, err);
	if (cg)
		result_option(ses->res, "memory-cgroup", cgroup_version(cg) == 1 ? "v1" : "v2");
	if (r == 0) {
		memset(buf, 0, 65536);
		r = datafile_create(&m.df, m.path, m.max_bytes, DATAFILE_REUSE | (p->keep ? DATAFILE_KEEP : 0), err);
	}
	if (r == 0) {
		r = run_ways(&m);
		if (r == 0 && p->sweep)
			r = run_sweep(&m, err);
		mark_tell_plots(ses->res, p->sweep != NULL);
		if (r == -EINTR || result_fault_count(ses->res))
			r = 0; /* interrupted, or the disk answered badly: the document says so */
		else if (r == -EOPNOTSUPP)
			r = err_set(err, r,
			            "The file system of %s takes no direct I/O; without --direct the cached ways work.",
			            m.path);
		else if (r < 0)
			r = err_set(err, r, "%s could not be measured (%s).", m.path, err_name(r));
	}
	datafile_close(m.df);
	cgroup_leave(cg);
	free(buf);
	return r;
}

/* The first way in the table gives the mark; how random the draws were does not follow from the tables. */
static int mark_again(const struct result *saved, struct result *ret, struct err *err)
{
	const struct table *runs = result_find_table(saved, "runs"), *points = result_find_table(saved, "sweep");
	struct sweep s = { 0, UINT64_MAX };
	struct run_row rows[REPEATS_MAX];
	bool is_direct = false;
	size_t n = 0;

	if (!runs || !runs->nrows)
		return err_set(err, -ENODATA, "The document has no repetitions.");
	for (size_t i = 0; i <= runs->nrows; i++) {
		struct run_row row = { 0 };

		if (i < runs->nrows)
			table_row(runs, i, run_fields, &row);
		if (n && (i == runs->nrows || n == REPEATS_MAX || !row.way || strcmp(row.way, rows[0].way) != 0)) {
			bool is_the_mark = i == n;

			is_direct = is_direct || (is_the_mark && !strcmp(rows[0].way, way_names[WAY_MEDIA]));
			summarise(ret, rows, n, is_the_mark);
			if (is_the_mark)
				tell_checksum(ret, &rows[n - 1]);
			n = 0;
		}
		if (row.way)
			rows[n++] = row;
	}
	for (size_t i = 0; points && i < points->nrows; i++) {
		struct sweep_row row;

		table_row(points, i, sweep_fields, &row);
		sweep_add(&s, &row);
	}
	tell_sweep(ret, &s, is_direct);
	return 0;
}

const struct measure measure_mark = {
	.name = "mark",
	.help = "DiskMark: small records written, read and read at random",
	.group = GROUP_PROGRAM,
	.targets = "FILE|DIRECTORY",
	.min_targets = 1,
	.max_targets = 1,
	.makes_files = true,
	.may_create = true,
	.opts = mark_opts,
	.params_size = sizeof(struct mark_params),
	.plan = mark_plan,
	.run = mark_run,
	.again = mark_again,
	.tables = mark_tables,
};
