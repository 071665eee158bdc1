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

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/measure.h"
#include "measure/pagecache.h"

#define RECORD_BYTES 64u
#define STREAM_BYTES 8192u
#define CLOCK_EVERY  64u /* records between looks at the clock: 22 ns against some 10 ns a record */
#define KS_MAX       100000u
#define SWEEP_MAX    32
#define REPEATS_MAX  100
#define MIB          1048576.0

enum way { WAY_STREAM, WAY_SYSCALL, WAY_MEDIA, WAYS };
static const char *const way_names[] = { "stream", "syscall", "media", NULL };

struct mark_params {
	uint64_t count, repeat, max_size_bytes;
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
	OPT_FLAG(struct mark_params, direct, "direct", 0, "only the media way: the disk's own figures"),
	OPT_FLAG(struct mark_params, keep, "keep", 0, "leave the file where it is"),
	OPT_END,
};

struct way_row {
	const char *way;
	uint64_t repetition, records, file_bytes;
	double write_mib_per_s, write_synced_mib_per_s, read_mib_per_s, random_mib_per_s, diskmark_mib_per_s,
		random_per_s;
	double cached_ratio;
	uint64_t sync_ns, checksum;
};

static const struct field way_fields[] = {
	FIELD_STR(struct way_row, way, "way"),
	FIELD_U64(struct way_row, repetition, UNIT_COUNT, "repetition"),
	FIELD_U64(struct way_row, file_bytes, UNIT_BYTES, "file"),
	FIELD_F64(struct way_row, write_mib_per_s, UNIT_MIB_PER_S, "write"),
	FIELD_F64(struct way_row, write_synced_mib_per_s, UNIT_MIB_PER_S, "write, synced"),
	FIELD_F64(struct way_row, read_mib_per_s, UNIT_MIB_PER_S, "read"),
	FIELD_F64(struct way_row, random_mib_per_s, UNIT_MIB_PER_S, "random"),
	FIELD_F64(struct way_row, diskmark_mib_per_s, UNIT_MIB_PER_S, "DiskMark"),
	FIELD_F64(struct way_row, random_per_s, UNIT_PER_S, "random reads"),
	FIELD_F64(struct way_row, cached_ratio, UNIT_RATIO, "in memory"),
	FIELD_U64(struct way_row, sync_ns, UNIT_NS, "fsync", .detail = true),
	FIELD_U64(struct way_row, records, UNIT_COUNT, "records", .detail = true),
	FIELD_U64(struct way_row, checksum, UNIT_COUNT, "check sum", .detail = true),
	FIELD_END,
};

struct sweep_row {
	uint64_t file_bytes;
	double write, read, random, diskmark, cached_ratio;
};

static const struct field sweep_fields[] = {
	FIELD_U64(struct sweep_row, file_bytes, UNIT_BYTES, "file"),
	FIELD_F64(struct sweep_row, write, UNIT_MIB_PER_S, "write"),
	FIELD_F64(struct sweep_row, read, UNIT_MIB_PER_S, "read"),
	FIELD_F64(struct sweep_row, random, UNIT_MIB_PER_S, "random"),
	FIELD_F64(struct sweep_row, diskmark, UNIT_MIB_PER_S, "DiskMark"),
	FIELD_F64(struct sweep_row, cached_ratio, UNIT_RATIO, "in memory"),
	FIELD_END,
};

static const struct measure_table mark_tables[] = {
	{ "ways", "Three ways", way_fields },
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
	double cached_ratio;
};

static bool is_over(const struct bench *b)
{
	return b->ses->cancel && *b->ses->cancel;
}

static uint64_t now_ns(const struct bench *b)
{
	return clock_now_ns(b->ses->env->clk);
}

static void make_record(uint8_t *at, uint64_t number, struct rng *rng)
{
	struct record r = { .number = number, .balance = rng_below(rng, 10) };

	memcpy(at, &r, sizeof(r));
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

/* Is writing over after `records`? Looks at the clock once in CLOCK_EVERY records. */
static bool is_written(const struct bench *b, uint64_t records, uint64_t start_ns)
{
	if ((records + 1) * b->record_bytes > b->max_bytes)
		return true;
	if (b->count)
		return records >= b->count;
	return records % CLOCK_EVERY == 0 && (now_ns(b) - start_ns >= b->time_ns || is_over(b));
}

/* Writes the file from its start. Time includes what a program would wait for: the last buffer and close(), not fsync. */
static int write_phase(struct bench *b)
{
	size_t unit = b->way == WAY_STREAM ? STREAM_BYTES : b->record_bytes, fill = 0;
	uint64_t at = b->first, start = now_ns(b);
	struct rng rng;
	int r = 0;

	session_rng(b->ses, 0x4d41524bull, &rng);
	b->records = b->sum_written = 0;
	while (r == 0 && !is_written(b, b->records, start)) {
		make_record(b->buf + fill, b->records, &rng);
		b->sum_written += balance_at(b->buf + fill);
		b->records++;
		fill += b->record_bytes;
		if (fill < unit)
			continue;
		{
			ssize_t n = pwrite(b->fd, b->buf, unit, (off_t)at);

			if (n != (ssize_t)unit)
				r = failed(b, "write", at, unit, n);
		}
		at += unit;
		fill = 0;
	}
	if (r == 0 && fill) {
		ssize_t n = pwrite(b->fd, b->buf, fill, (off_t)at);

		if (n != (ssize_t)fill)
			r = failed(b, "write", at, fill, n);
	}
	b->write_ns = now_ns(b) - start;
	if (r == 0 && fsync(b->fd) < 0)
		r = failed(b, "flush", 0, 0, -1);
	b->sync_ns = now_ns(b) - start - b->write_ns;
	return r;
}

static int read_phase(struct bench *b)
{
	size_t unit = b->way == WAY_STREAM ? STREAM_BYTES : b->record_bytes;
	uint64_t left = b->records * b->record_bytes, at = b->first, start = now_ns(b), number = 0;

	b->sum_read = b->sum_bad = 0;
	while (left && !(number % 65536 == 0 && is_over(b))) {
		size_t want = left < unit ? (size_t)left : unit;
		ssize_t n = pread(b->fd, b->buf, want, (off_t)at);

		if (n != (ssize_t)want)
			return failed(b, "read", at, want, n);
		for (size_t i = 0; i < want; i += b->record_bytes, number++) {
			uint64_t found;

			memcpy(&found, b->buf + i, sizeof(found));
			b->sum_bad += found != number;
			b->sum_read += balance_at(b->buf + i);
		}
		at += want;
		left -= want;
	}
	b->read_ns = now_ns(b) - start;
	return 0;
}

static int random_phase(struct bench *b)
{
	size_t unit = b->way == WAY_STREAM ? STREAM_BYTES : b->record_bytes;
	uint64_t end = b->first + b->records * b->record_bytes, start, sum = 0;
	struct pagecache_state before = { 0 }, after = { 0 };
	struct rng rng;

	rng_init(&rng, b->random_seed, 1);
	(void)pagecache_look(b->fd, 0, end, &before); /* unknown shows in the method */
	b->random_records = 0;
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
	(void)pagecache_look(b->fd, 0, end, &after);
	b->cached_ratio = before.method == PAGECACHE_NONE
	                          ? (double)NAN
	                          : fmin((double)(before.cached_bytes + after.cached_bytes) / 2.0 / (double)end, 1.0);
	return 0;
}

static double mib_per_s(uint64_t bytes, uint64_t ns)
{
	return ns ? (double)bytes / MIB / ((double)ns * 1e-9) : (double)NAN;
}

static double mark_of(double w, double r, double x)
{
	const double v[] = { w, r, x };

	return stats_harmonic_mean(v, 3);
}

/* The whole of it on a fresh file. 0, or negative errno with the fault on record. */
static int bench_run(struct bench *b, struct way_row *ret)
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
	*ret = (struct way_row){
		.way = way_names[b->way],
		.records = b->records,
		.file_bytes = bytes,
		.write_mib_per_s = mib_per_s(bytes, b->write_ns),
		.write_synced_mib_per_s = mib_per_s(bytes, b->write_ns + b->sync_ns),
		.read_mib_per_s = mib_per_s(bytes, b->read_ns),
		.random_mib_per_s = mib_per_s(b->random_records * b->record_bytes, b->random_ns),
		.random_per_s = (double)b->random_records / ((double)b->random_ns * 1e-9),
		.cached_ratio = b->way == WAY_MEDIA ? 0.0 : b->cached_ratio,
		.sync_ns = b->sync_ns,
		.checksum = b->sum_read,
	};
	ret->diskmark_mib_per_s = mark_of(ret->write_mib_per_s, ret->read_mib_per_s, ret->random_mib_per_s);
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

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void judge_draws(const struct bench *b)
{
	size_t nks = b->random_records < KS_MAX ? (size_t)b->random_records : KS_MAX;
	cleanup_free double *place = calloc(nks ? nks : 1, sizeof(double));
	cleanup_free uint8_t *seen = calloc(1, (size_t)(b->records / 8 + 1));
	double mean = 0.0, m2 = 0.0, d, p = NAN, cv;
	uint64_t distinct = 0;
	struct result *res = b->ses->res;
	struct rng rng;

	if (!place || !seen || b->random_records < 2)
		return;
	rng_init(&rng, b->random_seed, 1);
	for (uint64_t i = 0; i < b->random_records; i++) { /* the same draws again */
		uint64_t k = rng_below(&rng, b->records);
		double x = ((double)k + 0.5) / (double)b->records, delta = x - mean;

		mean += delta / (double)(i + 1);
		m2 += delta * (x - mean);
		if (i < nks)
			place[i] = x;
		distinct += !(seen[k / 8] >> (k % 8) & 1);
		seen[k / 8] |= (uint8_t)(1u << (k % 8));
	}
	qsort(place, nks, sizeof(double), compare_double);
	d = stats_ks_uniform_sorted(place, nks, &p);
	cv = sqrt(m2 / (double)(b->random_records - 1)) / mean;
	result_figure(res, "position_mean_ratio", "mean place of the random records (uniform: 0.5)", UNIT_RATIO, mean,
	              NULL, b->random_records);
	result_figure(res, "position_cv_ratio", "their coefficient of variation (uniform: 0.5774)", UNIT_RATIO, cv,
	              NULL, b->random_records);
	result_figure(res, "ks_distance_ratio", "largest distance to the uniform law", UNIT_RATIO, d, NULL, nks);
	result_figure(res, "ks_p_ratio", "chance of a larger one (Kolmogorov-Smirnov)", UNIT_RATIO, p, NULL, nks);
	result_figure(res, "covered_ratio", "part of all records that was read", UNIT_RATIO,
	              (double)distinct / (double)b->records, NULL, b->random_records);
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
	plan->write_bytes = UINT64_MAX;
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
};

/* One repetition of one way. stop: seconds or bytes of the sweep, 0: as the options say. -EOPNOTSUPP: no direct I/O here. */
static int run_way(struct mark_run *m, enum way way, uint64_t repetition, uint64_t time_ns, uint64_t bytes,
                   struct way_row *ret)
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
		.first = DATAFILE_HEADER_BYTES,
		.max_bytes = bytes ? bytes : m->max_bytes,
		.buf = m->buf,
		.random_seed = rng_mix(m->ses->seed + repetition),
	};
	int r = datafile_reset(m->df, &err);

	b.count = bytes ? bytes / b.record_bytes : m->p->count;
	if (r == 0)
		r = b.fd = datafile_open(m->df, way == WAY_MEDIA, &err);
	if (r < 0)
		return r;
	r = bench_run(&b, ret);
	(void)close(b.fd); /* all was synced */
	ret->repetition = repetition + 1;
	if (r == 0 && (way == WAY_STREAM || m->p->direct)) {
		judge_draws(&b);
		result_figure_u64(m->ses->res, "checksum", "check sum, equal in write and read", UNIT_COUNT,
		                  b.sum_read);
	}
	return r;
}

static struct interval scaled_ci(const struct summary *s)
{
	return s->n > 1 ? s->mean_ci : (struct interval){ NAN, NAN };
}

/* Figures of the way that gives the mark: stream as in the seed, media with --direct. */
static void figures(struct session *ses, const struct way_row *rows, size_t n)
{
	static const struct {
		const char *name, *label;
		size_t offset;
	} list[] = {
		{ "write_mib_per_s", "writing, with close", offsetof(struct way_row, write_mib_per_s) },
		{ "write_synced_mib_per_s", "writing, with fsync", offsetof(struct way_row, write_synced_mib_per_s) },
		{ "read_mib_per_s", "reading", offsetof(struct way_row, read_mib_per_s) },
		{ "random_mib_per_s", "random reading", offsetof(struct way_row, random_mib_per_s) },
		{ "diskmark_mib_per_s", "DiskMark, harmonic mean of the three",
		  offsetof(struct way_row, diskmark_mib_per_s) },
	};

	for (size_t f = 0; f < ARRAY_LEN(list); f++) {
		double v[REPEATS_MAX];
		struct summary s;
		struct interval ci;

		for (size_t i = 0; i < n; i++)
			memcpy(&v[i], (const char *)&rows[i] + list[f].offset, sizeof(double));
		if (n == 0 || !summary_of(v, n, &s))
			continue;
		ci = scaled_ci(&s);
		result_figure(ses->res, list[f].name, list[f].label, UNIT_MIB_PER_S, s.mean, &ci, n);
	}
}

/* One plain sentence: what was measured. */
static void verdict(struct session *ses, const struct way_row *last, bool is_media)
{
	char size[32];

	(void)units_bytes_dec(size, sizeof(size), last->file_bytes);
	if (is_media)
		result_notice(ses->res, "what",
		              "Every record of the file of %s came from the disk: this is the disk's own score.", size);
	else if (!isfinite(last->cached_ratio))
		result_notice(
			ses->res, "what",
			"The kernel does not tell how much of the file of %s was in memory: the score may be the disk's or the memory's.",
			size);
	else if (last->cached_ratio > 0.5)
		result_notice(ses->res, "what",
		              "%.0f %% of the random reads in the file of %s came from memory: this is a memory score.",
		              100.0 * last->cached_ratio, size);
	else
		result_notice(
			ses->res, "what",
			"%.0f %% of the random reads in the file of %s came from memory: the disk decides this score.",
			100.0 * last->cached_ratio, size);
}

static int run_ways(struct mark_run *m)
{
	struct table *t = result_table(m->ses->res, "ways", "Three ways", way_fields);
	enum way from = m->p->direct ? WAY_MEDIA : WAY_STREAM;
	int r = 0;

	for (enum way way = from; way < WAYS && r == 0 && !session_is_over(m->ses); way++) {
		struct way_row rows[REPEATS_MAX];
		size_t n = 0;

		for (uint64_t k = 0; k < m->p->repeat && r == 0; k++) {
			session_progress(m->ses, way_names[way],
			                 ((double)(way - from) * (double)m->p->repeat + (double)k) /
			                         ((double)(WAYS - from) * (double)m->p->repeat),
			                 NULL);
			r = run_way(m, way, k, m->time_ns, 0, &rows[n]);
			if (r < 0)
				break;
			session_log(m->ses, "%s: write %.2f, read %.2f, random %.2f, DiskMark %.2f MiB/s",
			            way_names[way], rows[n].write_mib_per_s, rows[n].read_mib_per_s,
			            rows[n].random_mib_per_s, rows[n].diskmark_mib_per_s);
			result_row(t, &rows[n++]);
			session_checkpoint(m->ses);
		}
		if (way == from && n) {
			figures(m->ses, rows, n);
			verdict(m->ses, &rows[n - 1], way == WAY_MEDIA);
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

static int run_sweep(struct mark_run *m, struct err *err)
{
	struct table *t = result_table(m->ses->res, "sweep", "Mark against file size", sweep_fields);
	enum way way = m->p->direct ? WAY_MEDIA : WAY_STREAM;
	uint64_t largest_cached = 0, smallest_not = UINT64_MAX;
	int r = 0;

	for (const char *at = m->p->sweep; r == 0 && *at && !session_is_over(m->ses);) {
		size_t len = strcspn(at, ",");
		uint64_t ns, bytes;
		struct way_row row;
		struct sweep_row out;

		r = sweep_item(at, len, &ns, &bytes, err);
		if (r < 0)
			return r;
		session_progress(m->ses, "sweep", (double)(at - m->p->sweep) / (double)strlen(m->p->sweep), NULL);
		r = run_way(m, way, 0, ns ? ns : m->time_ns, bytes, &row);
		if (r < 0)
			break;
		out = (struct sweep_row){ row.file_bytes,       row.write_mib_per_s,    row.read_mib_per_s,
			                  row.random_mib_per_s, row.diskmark_mib_per_s, row.cached_ratio };
		result_row(t, &out);
		session_checkpoint(m->ses);
		if (row.cached_ratio >= 0.99 && row.file_bytes > largest_cached)
			largest_cached = row.file_bytes;
		if (row.cached_ratio < 0.99 && row.file_bytes < smallest_not)
			smallest_not = row.file_bytes;
		at += len + (at[len] == ',');
	}
	if (largest_cached)
		result_figure_u64(m->ses->res, "largest_cached_bytes", "largest file that was wholly in memory",
		                  UNIT_BYTES, largest_cached);
	if (smallest_not != UINT64_MAX && way != WAY_MEDIA)
		result_figure_u64(m->ses->res, "cache_ends_bytes", "smallest file that was not", UNIT_BYTES,
		                  smallest_not);
	return r;
}

static void plots(struct session *ses, const struct mark_params *p)
{
	static char line[] = "line", title[] = "Mark against file size", sweep[] = "sweep", x[] = "file_bytes",
		    y[] = "write,read,random,diskmark";
	static char bars[] = "bars", bars_title[] = "DiskMark by way", ways[] = "ways", way[] = "way",
		    mark[] = "diskmark_mib_per_s";

	result_plot(ses->res,
	            &(struct plot_decl){ .kind = bars, .title = bars_title, .table = ways, .x = way, .y = mark });
	if (p->sweep)
		result_plot(ses->res,
		            &(struct plot_decl){ .kind = line, .title = title, .table = sweep, .x = x, .y = y });
}

static int check_sweep(const struct mark_params *p, struct err *err)
{
	uint64_t ns, bytes;
	int r = 0;

	for (const char *at = p->sweep; r == 0 && at && *at;) {
		size_t len = strcspn(at, ",");

		r = sweep_item(at, len, &ns, &bytes, err);
		at += len + (at[len] == ',');
	}
	return r;
}

static int mark_run(struct session *ses, const void *params, struct err *err)
{
	const struct mark_params *p = params;
	struct mark_run m = { .ses = ses, .p = p, .time_ns = ses->common->time_ns ? ses->common->time_ns : NS_PER_S };
	const struct device *d = &ses->devs[0];
	void *buf = NULL;
	int r = check_sweep(p, err);

	if (r == 0 && d->kind == DEVICE_DIRECTORY && datafile_name(m.path, sizeof(m.path), d->path, "mark", 0) < 0)
		r = err_set(err, -ENAMETOOLONG, "The name of a file in %s would be too long.", d->path);
	if (d->kind != DEVICE_DIRECTORY)
		(void)snprintf(m.path, sizeof(m.path), "%s", d->path);
	m.max_bytes = room_for(m.path, p->max_size_bytes);
	if (r == 0 && m.max_bytes == 0)
		r = datafile_check_space(m.path, p->max_size_bytes, err);
	if (r == 0 && posix_memalign(&buf, 4096, 65536) != 0)
		r = err_set(err, -ENOMEM, "Out of memory.");
	m.buf = buf;
	if (r == 0) {
		memset(buf, 0, 65536);
		r = datafile_create(&m.df, m.path, m.max_bytes, DATAFILE_REUSE | (p->keep ? DATAFILE_KEEP : 0), err);
	}
	if (r == 0) {
		r = run_ways(&m);
		if (r == 0 && p->sweep)
			r = run_sweep(&m, err);
		plots(ses, p);
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
	free(buf);
	return r;
}

const struct measure measure_mark = {
	.name = "mark",
	.help = "DiskMark: small records written, read and read at random",
	.group = GROUP_PROGRAM,
	.targets = "FILE|DIRECTORY",
	.min_targets = 1,
	.max_targets = 1,
	.may_create = true,
	.opts = mark_opts,
	.params_size = sizeof(struct mark_params),
	.precision = 0.01,
	.plan = mark_plan,
	.run = mark_run,
	.tables = mark_tables,
};
