/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the page cache gives, as a matrix of file size and record size (iozone's automatic mode, Norcott; Doupnik 1993), each cell cached and direct,
 * cold and warm, at least three times.
 *
 * States are made and verified per file (pagecache.c): "read" and "cold_random_read" start with nothing of the file in memory, "reread" and
 * "random_read" after one sequential pass over the whole file, so that a file larger than the cache finds what such a pass leaves behind. A
 * repetition covers the file, or as much of it as --cell allows; warm reading goes round for 5 ms at least. The hit ratio is counted, not inferred
 * from the speed: what the kernel fetched from the device for this thread. cachestat(2) is the second witness: for random reading, drawn with
 * replacement, the mean of what is in memory before and after; where the cache ends is knee.c.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/cache/cache.h"

#define REPEATS_MAX 50
#define CLOCK_BYTES 65536u /* bytes between looks at the clock */
#define WARM_NS     (5 * NS_PER_MS)

enum mode { MODE_BOTH, MODE_CACHED, MODE_DIRECT };
static const char *const mode_names[] = { "both", "cached", "direct", NULL };
enum sync { SYNC_NONE, SYNC_END, SYNC_EACH };
static const char *const sync_names[] = { "none", "end", "each", NULL };

struct cache_params {
	uint64_t min_size_bytes, max_size_bytes, min_record_bytes, max_record_bytes, repeat, cell_ns, memory_bytes;
	int mode, sync;
	const char *operations;
	bool classic, no_knee;
};

static const struct opt cache_opts[] = {
	OPT_BYTES(struct cache_params, min_size_bytes, "min-size", 0, "SIZE", "1M", "smallest file", .min = 65536,
	          .max = 9e18),
	OPT_BYTES(struct cache_params, max_size_bytes, "max-size", 0, "SIZE", NULL,
	          "largest file, default twice the memory; of a file that exists so much is read", .min = 65536,
	          .max = 9e18),
	OPT_BYTES(struct cache_params, min_record_bytes, "min-record", 0, "SIZE", "512", "smallest record", .min = 1,
	          .max = 16777216),
	OPT_BYTES(struct cache_params, max_record_bytes, "max-record", 0, "SIZE", "64K", "largest record", .min = 1,
	          .max = 16777216),
	OPT_U64(struct cache_params, repeat, "repeat", 0, "N", "3", "repetitions of each cell", .min = 3,
	        .max = REPEATS_MAX),
	OPT_TIME(struct cache_params, cell_ns, "cell", 0, "TIME", "200ms", "longest time of one repetition", .min = 1e6,
	         .max = 1e13),
	OPT_BYTES(struct cache_params, memory_bytes, "memory", 0, "SIZE", NULL,
	          "run within a memory cgroup of this size", .min = 16777216, .max = 9e18),
	OPT_CHOICE(struct cache_params, mode, "mode", 0, mode_names, "both", "through the page cache, direct, or both"),
	OPT_CHOICE(struct cache_params, sync, "sync", 0, sync_names, "none",
	           "fsync after writing: never, at the end, after each record"),
	OPT_STR(struct cache_params, operations, "operations", 0, "LIST", NULL,
	        "only these, with commas: write rewrite read reread random_read cold_random_read random_write"),
	OPT_FLAG(struct cache_params, no_knee, "no-knee", 0,
	         "do not look for the end of the cache between the sizes of the matrix"),
	OPT_FLAG(struct cache_params, classic, "classic", 0, "print iozone's table of 1993"),
	OPT_END,
};

struct cell_row {
	uint64_t file_bytes, record_bytes;
	const char *mode, *operation;
	double rate_bytes_per_s, hit_ratio, low_bytes_per_s, high_bytes_per_s, best_bytes_per_s;
	double from_device_ratio, from_disk_ratio, cached_before_ratio, cached_after_ratio;
	uint64_t repetitions;
};

/* Text shows the rates as a table of sizes (the heat map that is declared below); files have all. */
static const struct field cell_fields[] = {
	FIELD_U64(struct cell_row, file_bytes, UNIT_BYTES, "file"),
	FIELD_U64(struct cell_row, record_bytes, UNIT_BYTES, "record"),
	FIELD_STR(struct cell_row, mode, "mode"),
	FIELD_STR(struct cell_row, operation, "operation"),
	FIELD_F64(struct cell_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_F64(struct cell_row, hit_ratio, UNIT_RATIO, "hits"),
	FIELD_F64(struct cell_row, low_bytes_per_s, UNIT_BYTES_PER_S, "low", .detail = true),
	FIELD_F64(struct cell_row, high_bytes_per_s, UNIT_BYTES_PER_S, "high", .detail = true),
	FIELD_F64(struct cell_row, best_bytes_per_s, UNIT_BYTES_PER_S, "best", .detail = true),
	FIELD_F64(struct cell_row, from_device_ratio, UNIT_RATIO, "from device", .detail = true),
	FIELD_F64(struct cell_row, from_disk_ratio, UNIT_RATIO, "disk moved", .detail = true),
	FIELD_F64(struct cell_row, cached_before_ratio, UNIT_RATIO, "cached before", .detail = true),
	FIELD_F64(struct cell_row, cached_after_ratio, UNIT_RATIO, "cached after", .detail = true),
	FIELD_U64(struct cell_row, repetitions, UNIT_COUNT, "repetitions", .detail = true),
	FIELD_END,
};

static const struct measure_table cache_tables[] = {
	{ "matrix", "File size by record size", cell_fields },
	{ "knee", "Where the cache ends", cache_knee_fields },
	{ NULL, NULL, NULL },
};

enum operation { OP_WRITE, OP_REWRITE, OP_READ, OP_REREAD, OP_RANDOM_READ, OP_COLD_RANDOM_READ, OP_RANDOM_WRITE, OPS };
static const struct {
	const char *name;
	bool writes, is_random, is_cold, is_warm;
	bool has_twin; /* past the cache it is the same as another operation */
} ops[] = {
	[OP_WRITE] = { "write", .writes = true },
	[OP_REWRITE] = { "rewrite", .writes = true },
	[OP_READ] = { "read", .is_cold = true },
	[OP_REREAD] = { "reread", .is_warm = true, .has_twin = true },
	[OP_RANDOM_READ] = { "random_read", .is_random = true, .is_warm = true },
	[OP_COLD_RANDOM_READ] = { "cold_random_read", .is_random = true, .is_cold = true, .has_twin = true },
	[OP_RANDOM_WRITE] = { "random_write", .writes = true, .is_random = true },
};

#define ALL_OPERATIONS ((1u << OPS) - 1)

struct outcome {
	double rate, hit_ratio, cached_before, cached_after;
	struct pagecache_share share;
};

static uint64_t now_ns(const struct cache_run *c)
{
	return clock_now_ns(c->ses->env->clk);
}

int cache_failed(struct cache_run *c, const char *op, uint64_t offset, uint64_t length, ssize_t n)
{
	int64_t res = n < 0 ? -errno : n;

	result_fault(c->ses->res, c->path, op, offset, length, res, (double)(now_ns(c) - c->ses->start_ns) * 1e-9);
	return res < 0 ? (int)res : -EIO;
}

int cache_pass(struct cache_run *c, int fd, bool writes)
{
	for (uint64_t at = 0; at < c->file_bytes && !cache_is_over(c); at += CACHE_PRIME_BYTES) {
		size_t want = c->file_bytes - at < CACHE_PRIME_BYTES ? (size_t)(c->file_bytes - at) : CACHE_PRIME_BYTES;
		off_t place = (off_t)(c->first + at);
		ssize_t n = writes ? pwrite(fd, c->buf, want, place) : pread(fd, c->buf, want, place);

		if (writes && n >= 0 && n < (ssize_t)want)
			n = pagecache_write_rest(fd, c->buf, (size_t)n, want, (uint64_t)place);
		if (n != (ssize_t)want)
			return cache_failed(c, writes ? "write" : "read", (uint64_t)place, want, n);
	}
	return 0;
}

static double cached_ratio(const struct cache_run *c)
{
	return pagecache_cached_ratio(c->cached_fd, c->first, c->file_bytes);
}

static int make_cold(struct cache_run *c)
{
	uint64_t left = 0;
	int r = pagecache_make_cold(c->cached_fd, &left);

	if (r < 0) { /* the kernel tells of a lost write once only, to whoever asks first */
		errno = -r;
		return cache_failed(c, "flush", 0, 0, -1);
	}
	if (left && left != UINT64_MAX)
		result_notice(c->ses->res, "not-cold",
		              "A part of the file stayed in the page cache before reading it cold.");
	return 0;
}

/*
 * The state that an operation starts from: nothing in memory, or what one sequential reading leaves behind. Of a file that does not fit, earlier
 * cells have made the front hot (the kernel keeps what was used twice), so that reading must start from nothing. Before writing all is on the disk
 * already, so that no write-back of before is in the way; and in memory, or a part of a page would have to be fetched first.
 */
static int prepare(struct cache_run *c, enum operation op, bool is_direct)
{
	int r = 0;

	if (op == OP_WRITE)
		return datafile_reset(c->df, NULL);
	if (ops[op].is_cold || is_direct)
		return make_cold(c);
	if (ops[op].writes && fdatasync(c->cached_fd) < 0)
		return cache_failed(c, "flush", 0, 0, -1);
	if (cached_ratio(c) >= 1.0)
		return ops[op].writes ? 0 : cache_pass(c, c->cached_fd, false);
	if (!ops[op].writes)
		r = make_cold(c);
	return r < 0 ? r : cache_pass(c, c->cached_fd, false);
}

int cache_make_warm(struct cache_run *c)
{
	return prepare(c, OP_REREAD, false);
}

static uint64_t next_place(struct cache_loop *l)
{
	if (!l->is_random)
		return l->done < l->n ? l->done : l->done % l->n;
	return l->key ? permute(l->done, l->n, l->key) : rng_below(&l->rng, l->n);
}

/* Records one after the other: the system call and the next place. -EIO or another errno when one failed; that is on record then. */
static int batch(struct cache_run *c, struct cache_loop *l, uint64_t count)
{
	uint64_t record = l->record;

	for (uint64_t k = 0; k < count; k++, l->done++) {
		uint64_t at = c->first + next_place(l) * record;
		ssize_t n =
			l->writes ? pwrite(l->fd, c->buf, record, (off_t)at) : pread(l->fd, c->buf, record, (off_t)at);

		if (n != (ssize_t)record && l->writes && n >= 0)
			n = pagecache_write_rest(l->fd, c->buf, (size_t)n, record, at);
		if (n != (ssize_t)record)
			return cache_failed(c, l->writes ? "write" : "read", at, record, n);
		if (l->syncs && fdatasync(l->fd) < 0)
			return cache_failed(c, "flush", at, 0, -1);
	}
	return 0;
}

int cache_run_loop(struct cache_run *c, struct cache_loop *l, uint64_t limit_ns, bool syncs_at_end, uint64_t *ret_ns)
{
	uint64_t every = l->record >= CLOCK_BYTES ? 1 : CLOCK_BYTES / l->record, start = now_ns(c), spent = 0;
	int r = 0;

	while (r == 0 && (l->done < l->n || (l->repeats && spent < WARM_NS)) && spent < limit_ns &&
	       !(c->ses->cancel && *c->ses->cancel)) {
		r = batch(c, l, l->done < l->n && l->n - l->done < every ? l->n - l->done : every);
		spent = now_ns(c) - start;
	}
	if (r == 0 && syncs_at_end && fdatasync(l->fd) < 0)
		r = cache_failed(c, "flush", 0, 0, -1);
	*ret_ns = now_ns(c) - start;
	return r;
}

/*
 * The part of the records that came from memory. Fetching is by pages: in order each page is fetched once for all of its records; at random a
 * record smaller than a page fetches the page.
 */
double cache_hits(const struct cache_run *c, const struct cache_loop *l, const struct pagecache_traffic *t)
{
	double unit = l->is_random && l->record < c->page_bytes ? (double)c->page_bytes : (double)l->record;

	if (l->writes || !t->has_process)
		return NAN;
	return fmax(1.0 - (double)t->process.storage_read_bytes / ((double)l->done * unit), 0.0);
}

static int repetition(struct cache_run *c, enum operation op, uint64_t record, bool is_direct, struct outcome *ret)
{
	struct cache_loop l = { .fd = is_direct ? c->direct_fd : c->cached_fd,
		                .writes = ops[op].writes,
		                .is_random = ops[op].is_random,
		                .repeats = ops[op].is_warm && !is_direct,
		                .syncs = c->p->sync == SYNC_EACH && ops[op].writes,
		                .record = record,
		                .n = c->file_bytes / record };
	struct pagecache_traffic before, after;
	uint64_t spent;
	int r = prepare(c, op, is_direct);

	if (r < 0)
		return r;
	rng_init(&l.rng, c->ses->seed, ++c->draws);
	if (ops[op].is_cold || is_direct)
		l.key = rng_u64(&l.rng) | 1; /* each record once: a second visit would find it warm */
	ret->cached_before = op == OP_WRITE ? 0.0 : cached_ratio(c);
	pagecache_traffic(c->ses, 0, &before);
	r = cache_run_loop(c, &l, c->p->cell_ns, c->p->sync == SYNC_END && l.writes, &spent);
	if (r < 0)
		return r;
	pagecache_traffic_since(c->ses, 0, &before, ret->cached_before, &after);
	ret->rate = (double)(l.done * record) / ((double)spent * 1e-9);
	ret->share = pagecache_share(&after, l.done * record, l.writes);
	ret->hit_ratio = is_direct ? (l.writes ? (double)NAN : 0.0) : cache_hits(c, &l, &after);
	ret->cached_after = cached_ratio(c);
	if (op == OP_WRITE && l.done < l.n) /* the rest, untimed: the next operations want the whole file */
		return cache_pass(c, c->cached_fd, true);
	return 0;
}

/* What the repetitions of a cell gave. */
struct cell_rates {
	double rate[REPEATS_MAX];
	size_t n;
	struct outcome sum; /* but for its rate */
};

/*
 * 95 % interval of the median: order statistics as soon as they carry it, from 6 repetitions on. For fewer it is Student's t of the mean, which
 * then has the median within it whatever the values are: the two are never further apart than the standard deviation.
 */
static struct interval cell_interval(double *rate, size_t n, const struct summary *s)
{
	struct interval ci;

	stats_sort(rate, n);
	ci = stats_quantile_ci_sorted(rate, n, 0.5);
	return isfinite(ci.low) && isfinite(ci.high) ? ci : s->mean_ci;
}

/*
 * Goes on beyond --repeat? Readings from memory are short, and what a cold reading set in motion in the kernel still goes on beside the first ones:
 * until the interval is within --precision, for as long as one repetition of --cell might take. It is looked at when the number has doubled only:
 * stopping where chance had the values close together would make the interval too narrow.
 */
static bool wants_more(const struct cache_run *c, enum operation op, bool is_direct, uint64_t start_ns,
                       const struct cell_row *row)
{
	double half = 0.5 * (row->high_bytes_per_s - row->low_bytes_per_s);

	return ops[op].is_warm && !is_direct && row->repetitions < REPEATS_MAX &&
	       now_ns(c) - start_ns < c->p->cell_ns && half > session_precision(c->ses) * row->rate_bytes_per_s;
}

/* Repetitions until there are `until` of them: their rates, and the sums of the rest. */
static int repeat(struct cache_run *c, const struct cell_row *row, enum operation op, bool is_direct,
                  struct cell_rates *x, size_t until)
{
	while (x->n < until) {
		struct outcome o;
		int r = repetition(c, op, row->record_bytes, is_direct, &o);

		if (r < 0)
			return r;
		if (c->ses->cancel && *c->ses->cancel)
			return -EINTR;
		x->rate[x->n++] = o.rate;
		x->sum.hit_ratio += o.hit_ratio;
		x->sum.share.device_ratio += o.share.device_ratio;
		x->sum.share.disk_ratio += o.share.disk_ratio;
		x->sum.cached_before += o.cached_before;
		x->sum.cached_after += o.cached_after;
	}
	return 0;
}

static int judge(struct cell_rates *x, struct cell_row *ret)
{
	double n = (double)x->n;
	struct interval ci;
	struct summary s;

	if (!summary_of(x->rate, x->n, &s))
		return -ENOMEM;
	ci = cell_interval(x->rate, x->n, &s);
	ret->repetitions = x->n;
	ret->rate_bytes_per_s = s.median;
	ret->best_bytes_per_s = s.max;
	ret->low_bytes_per_s = ci.low;
	ret->high_bytes_per_s = ci.high;
	ret->hit_ratio = x->sum.hit_ratio / n;
	ret->from_device_ratio = x->sum.share.device_ratio / n;
	ret->from_disk_ratio = x->sum.share.disk_ratio / n;
	ret->cached_before_ratio = x->sum.cached_before / n;
	ret->cached_after_ratio = x->sum.cached_after / n;
	return 0;
}

/* A cell: the median of the repetitions' rates, its interval, means of the rest. */
static int cell(struct cache_run *c, enum operation op, uint64_t record, bool is_direct, struct cell_row *ret)
{
	uint64_t start_ns = now_ns(c);
	struct cell_rates x = { 0 };
	size_t until = c->p->repeat;

	*ret = (struct cell_row){ .file_bytes = c->file_bytes,
		                  .record_bytes = record,
		                  .mode = mode_names[is_direct ? MODE_DIRECT : MODE_CACHED],
		                  .operation = ops[op].name };
	for (;; until = 2 * until < REPEATS_MAX ? 2 * until : REPEATS_MAX) {
		int r = repeat(c, ret, op, is_direct, &x, until);

		if (r == 0)
			r = judge(&x, ret);
		if (r < 0 || !wants_more(c, op, is_direct, start_ns, ret))
			return r;
	}
}

static int run_cell(struct cache_run *c, struct table *t, enum operation op, uint64_t record, bool is_direct)
{
	struct cell_row row;
	char size[32], text[32], rate[32];
	int r = cell(c, op, record, is_direct, &row);

	c->cells_done++;
	if (r < 0)
		return r;
	result_row(t, &row);
	session_log(c->ses, "%s file, %s records, %s %s: %s, hits %.3f", units_bytes(size, sizeof(size), c->file_bytes),
	            units_bytes(text, sizeof(text), record), row.mode, row.operation,
	            units_rate(rate, sizeof(rate), row.rate_bytes_per_s), row.hit_ratio);
	session_progress(c->ses, size, (double)c->cells_done / (double)c->cells, "%s", rate);
	return 0;
}

/* What reading alone is to find in a file of ours: when no operation writes it, it is written here. */
static int fill(struct cache_run *c)
{
	int r;

	if (!c->df || (c->operations & 1u << OP_WRITE) || c->filled_bytes == c->file_bytes)
		return 0;
	r = datafile_reset(c->df, NULL);
	if (r == 0)
		r = cache_pass(c, c->cached_fd, true);
	c->filled_bytes = c->file_bytes;
	/* What is in memory later came from the disk, as when all operations are measured. */
	return r < 0 ? r : make_cold(c);
}

/* All cells of one file size and record size. */
static int run_record(struct cache_run *c, struct table *t, uint64_t record)
{
	int r = fill(c);

	for (int direct = 0; r == 0 && direct < 2; direct++) {
		if ((direct && c->p->mode == MODE_CACHED) || (!direct && c->p->mode == MODE_DIRECT))
			continue;
		if (direct && (c->direct_fd < 0 || record % c->direct_align))
			continue; /* the disk knows no smaller records */
		for (enum operation op = OP_WRITE; r == 0 && op < OPS && !cache_is_over(c); op++) {
			if ((direct && ops[op].has_twin) || !(c->operations & 1u << op))
				continue;
			if (session_time_left_ns(c->ses) == 0) {
				result_notice(c->ses->res, "time", "--time ended before all cells were measured.");
				return 0;
			}
			r = run_cell(c, t, op, record, direct);
		}
	}
	session_checkpoint(c->ses);
	return r;
}

static int open_file(struct cache_run *c, bool is_direct, struct err *err)
{
	const struct env *env = c->ses->env;

	return c->df ? datafile_open(c->df, is_direct, err)
	             : env->devices->open(env->devices_ctx, &c->ses->devs[0], NULL, is_direct ? DEVICE_OPEN_DIRECT : 0,
	                                  err);
}

static int open_files(struct cache_run *c, struct err *err)
{
	c->cached_fd = open_file(c, false, err);
	if (c->cached_fd < 0)
		return c->cached_fd;
	pagecache_note_witness(c->ses, c->cached_fd);
	c->direct_fd = c->p->mode == MODE_CACHED ? -1 : open_file(c, true, err);
	if (c->direct_fd < 0 && c->p->mode == MODE_DIRECT)
		return err_set(err, c->direct_fd, "%s takes no direct I/O (%s); --mode=cached works there.", c->path,
		               err_name(c->direct_fd));
	if (c->direct_fd < 0 && c->p->mode == MODE_BOTH)
		result_notice(c->ses->res, "no-direct",
		              "The file system of %s takes no direct I/O, so the direct cells are missing.", c->path);
	return 0;
}

static void close_files(struct cache_run *c)
{
	int fds[] = { c->cached_fd, c->direct_fd };

	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		if (fds[i] >= 0 && c->df)
			(void)close(fds[i]); /* the file is thrown away */
		else if (fds[i] >= 0)
			c->ses->env->devices->close(c->ses->env->devices_ctx, fds[i]);
	c->cached_fd = c->direct_fd = -1;
}

/* ---- what the cells say ---- */

static double cell_number(const struct table *t, uint64_t file, uint64_t record, const char *mode, enum operation op,
                          const char *key)
{
	for (size_t i = 0; i < t->nrows; i++)
		if (table_number(t, i, 0) == (double)file && table_number(t, i, 1) == (double)record &&
		    strcmp(table_string(t, i, 2), mode) == 0 && strcmp(table_string(t, i, 3), ops[op].name) == 0)
			return table_number(t, i, (size_t)table_column(t, key));
	return NAN;
}

static void figure_if(struct result *res, const char *name, const char *label, enum unit unit, double value)
{
	if (isfinite(value))
		result_figure(res, name, label, unit, value, NULL, 0);
}

/* The best of all cells through the cache. */
static void extremes(struct result *res, const struct table *t)
{
	double hit = NAN, miss = NAN;

	for (size_t i = 0; i < t->nrows; i++) {
		struct cell_row row;

		table_row(t, i, cell_fields, &row);
		if (strcmp(row.mode, mode_names[MODE_CACHED]) != 0)
			continue;
		if (strcmp(row.operation, ops[OP_REREAD].name) == 0 && row.hit_ratio >= CACHE_HIT_RATIO)
			hit = fmax(hit, row.rate_bytes_per_s);
		if (strcmp(row.operation, ops[OP_READ].name) == 0)
			miss = fmax(miss, row.rate_bytes_per_s);
	}
	figure_if(res, "hit_bytes_per_s", "best second reading, from memory", UNIT_BYTES_PER_S, hit);
	figure_if(res, "miss_bytes_per_s", "best first reading, nothing in memory", UNIT_BYTES_PER_S, miss);
}

/*
 * Costs and gains, at the largest file that was wholly in memory and the smallest record that is not less than a page: one number each, of
 * cells that the matrix has.
 */
static void findings(struct result *res, const struct table *t, uint64_t page_bytes)
{
	static const char key[] = "rate_bytes_per_s";
	uint64_t file = 0, record = 0;
	double hit, miss, ahead, back;

	for (size_t i = 0; i < t->nrows; i++) {
		uint64_t f = (uint64_t)table_number(t, i, 0), rec = (uint64_t)table_number(t, i, 1);

		if (strcmp(table_string(t, i, 3), ops[OP_REREAD].name) != 0 ||
		    strcmp(table_string(t, i, 2), "cached") != 0 || rec < page_bytes ||
		    !(table_number(t, i, 5) >= CACHE_HIT_RATIO))
			continue;
		if (f > file || (f == file && rec < record))
			record = rec;
		file = f > file ? f : file;
	}
	if (!file)
		return;
	hit = cell_number(t, file, record, "cached", OP_RANDOM_READ, key);
	miss = cell_number(t, file, record, "cached", OP_COLD_RANDOM_READ, key);
	ahead = cell_number(t, file, record, "cached", OP_READ, key);
	back = cell_number(t, file, record, "cached", OP_REWRITE, key);
	result_figure_u64(res, "finding_record_bytes", "record of the next lines", UNIT_BYTES, record);
	figure_if(res, "hit_ns", "random read from memory", UNIT_NS, (double)record / hit * 1e9);
	figure_if(res, "miss_ns", "random read not from memory", UNIT_NS, (double)record / miss * 1e9);
	figure_if(res, "read_ahead_gain_ratio", "first reading in order against at random", UNIT_RATIO, ahead / miss);
	figure_if(res, "write_back_gain_ratio", "rewriting through the cache against direct", UNIT_RATIO,
	          back / cell_number(t, file, record, "direct", OP_REWRITE, key));
}

static void classic_rate(char *buf, size_t len, double rate)
{
	(void)snprintf(buf, len, isfinite(rate) ? "%.0f" : "-", rate); /* -: not measured */
}

/* iozone's own table, of the modes in use: written, and read again. */
static void classic(const struct cache_run *c, const struct table *t)
{
	const char *mode = c->p->mode == MODE_DIRECT ? "direct" : "cached", *key = "rate_bytes_per_s";
	enum operation read = c->p->mode == MODE_DIRECT ? OP_READ : OP_REREAD;
	double file = 0.0, record = 0.0;

	result_text(c->ses->res, "IOZONE: auto-test mode\n\n"
	                         "        MB      reclen  bytes/sec written   bytes/sec read\n");
	for (size_t i = 0; i < t->nrows; i++) {
		char written[32], again[32];

		if (table_number(t, i, 0) == file && table_number(t, i, 1) == record)
			continue;
		file = table_number(t, i, 0);
		record = table_number(t, i, 1);
		classic_rate(written, sizeof(written),
		             cell_number(t, (uint64_t)file, (uint64_t)record, mode, OP_WRITE, key));
		classic_rate(again, sizeof(again), cell_number(t, (uint64_t)file, (uint64_t)record, mode, read, key));
		result_text(c->ses->res, "        %-8.6g%-8.0f%-20s%s\n", file / 1048576.0, record, written, again);
	}
}

/* ---- set-up ---- */

static uint64_t memory_limit(const struct cache_params *p)
{
	uint64_t limit = cgroup_memory_limit("/");
	struct sysinfo info;

	if (p->memory_bytes)
		return p->memory_bytes;
	if (sysinfo(&info) == 0 && (uint64_t)info.totalram * info.mem_unit < limit)
		limit = (uint64_t)info.totalram * info.mem_unit;
	return limit;
}

static uint64_t largest_size(const struct cache_params *p)
{
	return p->max_size_bytes ? p->max_size_bytes : 2 * memory_limit(p);
}

static size_t count_doublings(uint64_t low, uint64_t high)
{
	size_t n = 0;

	for (uint64_t v = low; v <= high; v *= 2)
		n++;
	return n;
}

/* A bit for each operation of --operations. is_read_only: those that write are not to be named. */
static int wanted_operations(const struct cache_params *p, bool is_read_only, unsigned *ret, struct err *err)
{
	unsigned all = ALL_OPERATIONS, got = 0;

	for (enum operation op = OP_WRITE; op < OPS; op++)
		all &= is_read_only && ops[op].writes ? ~(1u << op) : ALL_OPERATIONS;
	for (const char *at = p->operations; at && *at;) {
		size_t len = strcspn(at, ",");
		enum operation op = OP_WRITE;

		while (op < OPS && (strlen(ops[op].name) != len || strncmp(ops[op].name, at, len) != 0))
			op++;
		if (op == OPS)
			return err_set(
				err, -EINVAL,
				"--operations knows no \"%.*s\"; it takes a list of write, rewrite, read, reread, "
				"random_read, cold_random_read, random_write.",
				(int)(len < 40 ? len : 40), at);
		if (!(all & 1u << op))
			return err_set(
				err, -EINVAL,
				"A file that exists is only read: --operations=%s wants a directory; give its directory.",
				ops[op].name);
		got |= 1u << op;
		at += len + (at[len] == ',');
	}
	*ret = got ? got : all;
	return 0;
}

/* So much of a file that exists is read. */
static uint64_t existing_size(const struct cache_params *p, const struct device *d)
{
	uint64_t first = datafile_first_byte(d), size = d->size_bytes > first ? d->size_bytes - first : 0;

	return p->max_size_bytes && p->max_size_bytes < size ? p->max_size_bytes : size;
}

static int check_target(const struct cache_params *p, const struct device *d, struct err *err)
{
	unsigned ignored;
	int r = wanted_operations(p, d->kind == DEVICE_FILE, &ignored, err);

	if (r < 0)
		return r;
	if (d->kind == DEVICE_FILE && existing_size(p, d) < p->min_record_bytes)
		return err_set(err, -EINVAL, "%s holds less than a record; --min-record makes records smaller.",
		               d->path);
	if (d->kind != DEVICE_DIRECTORY && d->kind != DEVICE_FILE)
		return err_set(err, -EINVAL,
		               "%s is no directory: cache makes its own file; give the directory to make it in, or a "
		               "file to read.",
		               d->path);
	return 0;
}

static int cache_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err)
{
	const struct cache_params *p = params;
	bool is_existing = ses->devs[0].kind == DEVICE_FILE;
	size_t cells = (is_existing ? 1 : count_doublings(p->min_size_bytes, largest_size(p))) *
	               count_doublings(p->min_record_bytes, p->max_record_bytes) * OPS * 2;
	int r = check_target(p, &ses->devs[0], err);

	if (r < 0)
		return r;
	if (!is_existing && largest_size(p) < p->min_size_bytes)
		return err_set(err, -EINVAL,
		               "--max-size (%" PRIu64 ") is below --min-size (%" PRIu64
		               "); raise one or lower the other.",
		               largest_size(p), p->min_size_bytes);
	if (p->max_record_bytes < p->min_record_bytes)
		return err_set(err, -EINVAL,
		               "--max-record (%" PRIu64 ") is below --min-record (%" PRIu64
		               "); raise one or lower the other.",
		               p->max_record_bytes, p->min_record_bytes);
	plan->opens_itself = true;
	plan->read_bytes = UINT64_MAX;
	plan->write_bytes = is_existing ? 0 : UINT64_MAX;
	plan_phase(plan, "matrix", cells * p->repeat * p->cell_ns);
	if (!p->no_knee && !is_existing)
		plan_phase(plan, "knee", 20 * NS_PER_S);
	return 0;
}

static int run_matrix(struct cache_run *c, struct err *err)
{
	const struct cache_params *p = c->p;
	struct table *t = result_table(c->ses->res, "matrix", "File size by record size", cell_fields);
	uint64_t smallest = c->df ? p->min_size_bytes : existing_size(p, &c->ses->devs[0]),
		 largest = c->df ? largest_size(p) : smallest;
	int r = open_files(c, err);

	assert(p->min_record_bytes > 0); /* the option allows no less than 1 */
	c->cells = count_doublings(smallest, largest) * count_doublings(p->min_record_bytes, p->max_record_bytes) *
	           (size_t)__builtin_popcount(c->operations) * (p->mode == MODE_BOTH ? 2 : 1);
	for (uint64_t size = smallest; r == 0 && size <= largest && !cache_is_over(c) && session_time_left_ns(c->ses);
	     size *= 2) {
		for (uint64_t record = p->min_record_bytes;
		     r == 0 && record <= p->max_record_bytes && record <= size && !cache_is_over(c); record *= 2) {
			c->file_bytes = size - size % record;
			r = run_record(c, t, record);
		}
	}
	extremes(c->ses->res, t);
	if (r == 0 && c->df && !p->no_knee && p->mode != MODE_DIRECT && !cache_is_over(c))
		r = cache_find_knee(c, p->min_size_bytes < CACHE_PRIME_BYTES ? CACHE_PRIME_BYTES : p->min_size_bytes,
		                    largest);
	findings(c->ses->res, t, c->page_bytes);
	if (p->classic)
		classic(c, t);
	close_files(c);
	return r;
}

static void plots(struct session *ses)
{
	static char map[] = "heatmap", title[] = "Rate by file and record size", matrix[] = "matrix",
		    x[] = "file_bytes", y[] = "record_bytes,rate_bytes_per_s", series[] = "operation,mode",
		    line[] = "line", knee_title[] = "Second reading against file size", knee[] = "knee",
		    rate[] = "rate_bytes_per_s", hits_title[] = "Hit ratio of the second reading", hits[] = "hit_ratio",
		    end[] = "figures:knee_bytes";

	result_plot(
		ses->res,
		&(struct plot_decl){
			.kind = map, .title = title, .table = matrix, .x = x, .y = y, .series = series, .marks = end });
	result_plot(ses->res,
	            &(struct plot_decl){
			    .kind = line, .title = knee_title, .table = knee, .x = x, .y = rate, .marks = end });
	result_plot(ses->res,
	            &(struct plot_decl){
			    .kind = line, .title = hits_title, .table = knee, .x = x, .y = hits, .marks = end });
}

static int cache_run(struct session *ses, const void *params, struct err *err)
{
	const struct cache_params *p = params;
	const struct device *d = &ses->devs[0];
	struct cache_run c = { .ses = ses,
		               .p = p,
		               .first = d->kind == DEVICE_FILE ? datafile_first_byte(d) : DATAFILE_DATA_OFFSET,
		               .cached_fd = -1,
		               .direct_fd = -1,
		               .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
		               .direct_align = d->dio_offset_align_bytes ? d->dio_offset_align_bytes : 512 };
	void *buf = NULL;
	int r = wanted_operations(p, d->kind == DEVICE_FILE, &c.operations, err);

	(void)snprintf(c.path, sizeof(c.path), "%s", d->path);
	if (d->kind == DEVICE_DIRECTORY && datafile_name(c.path, sizeof(c.path), d->path, "cache", 0) < 0)
		r = err_set(err, -ENAMETOOLONG, "The name of a file in %s would be too long.", d->path);
	if (r == 0 && posix_memalign(&buf, 4096, 16777216) != 0)
		r = err_set(err, -ENOMEM, "Out of memory.");
	c.buf = buf;
	if (r == 0 && p->memory_bytes)
		r = cgroup_enter(&c.cg, ses->env->sysroot, p->memory_bytes, err);
	if (c.cg)
		result_option(ses->res, "memory-cgroup", cgroup_version(c.cg) == 1 ? "v1" : "v2");
	if (r == 0 && buf)
		memset(buf, 0x5a, p->max_record_bytes > CACHE_PRIME_BYTES ? p->max_record_bytes : CACHE_PRIME_BYTES);
	if (r == 0 && d->kind == DEVICE_DIRECTORY)
		r = datafile_create(&c.df, c.path, largest_size(p), 0, err);
	if (r == -ENOSPC && err)
		r = err_prefix(err, "--max-size or --memory makes the files smaller");
	if (r == 0) {
		r = run_matrix(&c, err);
		plots(ses);
		if (r == -EINTR || (r < 0 && result_fault_count(ses->res)))
			r = 0; /* interrupted, or the disk answered badly: the document says so, the matrix so far stays */
		else if (r < 0 && err && !err->text[0])
			r = err_set(err, r, "%s could not be measured (%s).", c.path, err_name(r));
	}
	close_files(&c);
	datafile_close(c.df);
	cgroup_leave(c.cg);
	free(buf);
	return r;
}

/* All figures but what the cgroup left. Pages are those of the host that asks: the document does not tell. */
static int cache_again(const struct result *saved, struct result *ret, struct err *err)
{
	const struct table *from = result_find_table(saved, "matrix"), *knee = result_find_table(saved, "knee");
	struct result *own;
	struct table *t;

	if (!from || !from->nrows)
		return err_set(err, -ENODATA, "The document has no cells.");
	own = result_new(saved->head.measurement); /* the cells in the columns of today */
	t = result_table(own, from->name, from->title, cell_fields);
	for (size_t i = 0; i < from->nrows; i++) {
		struct cell_row row;

		table_row(from, i, cell_fields, &row);
		if (row.mode && row.operation)
			result_row(t, &row);
	}
	extremes(ret, t);
	if (knee && result_find_figure(saved, "knee_bytes"))
		(void)cache_tell_knee(ret, knee);
	findings(ret, t, (uint64_t)sysconf(_SC_PAGESIZE));
	result_free(own);
	return 0;
}

const struct measure measure_cache = {
	.name = "cache",
	.help = "file size by record size, cached against direct; where the cache ends",
	.group = GROUP_PROGRAM,
	.targets = "DIRECTORY|FILE",
	.min_targets = 1,
	.max_targets = 1,
	.opts = cache_opts,
	.params_size = sizeof(struct cache_params),
	.precision = 0.01,
	.plan = cache_plan,
	.run = cache_run,
	.again = cache_again,
	.tables = cache_tables,
};
