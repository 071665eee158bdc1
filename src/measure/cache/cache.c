/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the page cache gives, as a matrix of file size and record size (iozone's automatic mode, Norcott; Doupnik 1993),
 * each cell cached and direct, cold and warm, at least three times.
 *
 * States are made and verified per file (pagecache.c): "read" and "cold_random_read" start with nothing of the file in
 * memory. "reread" and "random_read" start after one sequential pass over the whole file, so a file larger than the
 * cache finds what such a pass leaves. A repetition covers the file, or as much of it as --slice allows; warm reading
 * goes round for 5 ms at least. The hit ratio is counted, not inferred from the speed: what the kernel fetched from the
 * device for this thread. cachestat(2) is the second witness: for random reading, drawn with replacement, the mean of
 * what is in memory before and after; where the cache ends is knee.c. Of random reading the kernel knows that it is
 * random (as fio does): otherwise it reads ahead now and then, up to 128 KiB beside a record of 16, and a missed record
 * counts for eight.
 */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "measure/cache/cache.h"

static const struct measure_table cache_tables[] = {
	{ "matrix", "File size by record size", cache_cell_fields },
	{ "knee", "Where the cache ends", cache_knee_fields },
	{ NULL, NULL, NULL },
};

struct outcome {
	double rate, hit_ratio, cached_before, cached_after;
	struct pagecache_share share;
};

static int repetition(struct cache_run *c, enum operation op, uint64_t record, bool is_direct, struct outcome *ret)
{
	struct cache_loop l = { .fd = is_direct ? c->direct_fd : c->cached_fd,
		                .writes = cache_ops[op].writes,
		                .is_random = cache_ops[op].is_random,
		                .repeats = cache_ops[op].is_warm && !is_direct,
		                .syncs = c->p->sync == SYNC_EACH && cache_ops[op].writes,
		                .record = record,
		                .n = c->file_bytes / record };
	struct pagecache_traffic before, after;
	uint64_t spent;
	int r = cache_prepare(c, op, is_direct);

	if (r < 0)
		return r;
	rng_init(&l.rng, c->ses->seed, ++c->draws);
	if (cache_ops[op].is_cold || is_direct)
		l.key = rng_u64(&l.rng) | 1; /* each record once: a second visit would find it warm */
	ret->cached_before = op == OP_WRITE ? 0.0 : cache_in_memory(c);
	pagecache_traffic(c->ses, 0, &before);
	cache_advise(c, l.is_random);
	r = cache_run_loop(c, &l, c->p->cell_ns, c->p->sync == SYNC_END && l.writes, &spent);
	cache_advise(c, false); /* the next state is made by reading in order */
	if (r < 0)
		return r;
	pagecache_traffic_since(c->ses, 0, &before, ret->cached_before, &after);
	ret->rate = (double)(l.done * record) / ((double)spent * 1e-9);
	ret->share = pagecache_share(&after, l.done * record, l.writes);
	ret->hit_ratio = is_direct ? (l.writes ? (double)NAN : 0.0) : cache_hits(c, &l, &after);
	ret->cached_after = cache_in_memory(c);
	if (op == OP_WRITE && l.done < l.n) /* the rest, untimed: the next operations want the whole file */
		return cache_pass(c, c->cached_fd, true);
	return 0;
}

/* What the repetitions of a cell gave. */
struct cell_rates {
	double rate[CACHE_REPEATS_MAX];
	size_t n;
	struct outcome sum; /* but for its rate */
};

/*
 * 95 % interval of the median: order statistics as soon as they carry it, from 6 repetitions on. For fewer it is
 * Student's t of the mean, which then has the median within it whatever the values are: the two are never further apart
 * than the standard deviation.
 */
static struct interval cell_interval(double *rate, size_t n, const struct summary *s)
{
	struct interval ci;

	stats_sort(rate, n);
	ci = stats_quantile_ci_sorted(rate, n, 0.5);
	return isfinite(ci.low) && isfinite(ci.high) ? ci : s->mean_ci;
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

/*
 * Goes on beyond --repeat? Readings from memory are short, and what a cold reading set in motion in the kernel still
 * goes on beside the first ones: until the interval is within --precision, for as long as one repetition of --slice
 * might take. It is looked at when the number has doubled only: stopping where chance had the values close together
 * would make the interval too narrow.
 */
static bool wants_more(const struct cache_run *c, enum operation op, bool is_direct, uint64_t start_ns,
                       const struct cell_row *row)
{
	double half = 0.5 * (row->high_bytes_per_s - row->low_bytes_per_s);

	return cache_ops[op].is_warm && !is_direct && row->repetitions < CACHE_REPEATS_MAX &&
	       cache_now_ns(c) - start_ns < c->p->cell_ns && half > session_precision(c->ses) * row->rate_bytes_per_s;
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
		if ((c->ses->cancel && *c->ses->cancel) ||
		    cache_is_late(c)) /* perhaps its state was not made, or it was cut short */
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

/* A cell: the median of the repetitions' rates, its interval, means of the rest. */
static int cell(struct cache_run *c, enum operation op, uint64_t record, bool is_direct, struct cell_row *ret)
{
	uint64_t start_ns = cache_now_ns(c);
	struct cell_rates x = { 0 };
	size_t until = c->p->repeat;

	*ret = (struct cell_row){ .file_bytes = c->file_bytes,
		                  .record_bytes = record,
		                  .mode = cache_mode_names[is_direct ? MODE_DIRECT : MODE_CACHED],
		                  .operation = cache_ops[op].name };
	for (;; until = 2 * until < CACHE_REPEATS_MAX ? 2 * until : CACHE_REPEATS_MAX) {
		int r = repeat(c, ret, op, is_direct, &x, until) ?: judge(&x, ret);

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
	r = datafile_reset(c->df, NULL) ?: cache_pass(c, c->cached_fd, true);
	c->filled_bytes = c->file_bytes;
	/* What is in memory later came from the disk, as when all operations are measured. */
	return r < 0 ? r : cache_make_cold(c);
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
			if ((direct && cache_ops[op].has_twin) || !(c->operations & 1u << op))
				continue;
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
	c->direct_fd = c->p->mode == MODE_CACHED ? -1 : open_file(c, true, c->p->mode == MODE_DIRECT ? err : NULL);
	if (c->direct_fd < 0 && c->p->mode == MODE_DIRECT)
		return c->direct_fd;
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

static int run_matrix(struct cache_run *c, struct err *err)
{
	const struct cache_params *p = c->p;
	struct table *t = result_table(c->ses->res, "matrix", "File size by record size", cache_cell_fields);
	uint64_t smallest = c->df ? p->size.min_bytes : cache_existing_size(p, &c->ses->devs[0]),
		 largest = c->df ? cache_largest_size(p) : smallest, size_begun = smallest;
	char size_text[32];
	int r = open_files(c, err);

	assert(p->block.min_bytes > 0); /* the option allows no less than 1 */
	c->cells = cache_count_doublings(smallest, largest) *
	           cache_count_doublings(p->block.min_bytes, p->block.max_bytes) *
	           (size_t)__builtin_popcount(c->operations) * (p->mode == MODE_BOTH ? 2 : 1);
	for (uint64_t size = smallest; r == 0 && size <= largest && !cache_is_over(c); size *= 2) {
		size_begun = size;
		for (uint64_t record = p->block.min_bytes;
		     r == 0 && record <= p->block.max_bytes && record <= size && !cache_is_over(c); record *= 2) {
			c->file_bytes = size - size % record;
			r = run_record(c, t, record);
		}
	}
	if (cache_is_late(c))
		session_ended_early(c->ses);
	if (cache_is_late(c) && !c->ses->common->time_ns)
		result_notice(
			c->ses->res, "time",
			"Without --size and --time it ends after 5 minutes: files of %s and more were measured in part or not at all, and the end of the cache was not looked for; give either.",
			units_bytes(size_text, sizeof(size_text), size_begun));
	cache_report_extremes(c->ses->res, t);
	if (r == 0 && c->df && !p->without.n && p->mode != MODE_DIRECT && !cache_is_over(c))
		r = cache_find_knee(c, p->size.min_bytes < CACHE_PRIME_BYTES ? CACHE_PRIME_BYTES : p->size.min_bytes,
		                    largest);
	cache_report_findings(c->ses->res, t, c->page_bytes);
	close_files(c);
	return r;
}

static int cache_run(struct session *ses, const void *params, struct err *err)
{
	const struct cache_params *p = params;
	const struct device *d = &ses->devs[0];
	struct cache_run c = { .ses = ses,
		               .p = p,
		               .first = d->kind == DEVICE_FILE ? datafile_first_byte(d) : DATAFILE_DATA_OFFSET,
		               .end_ns = ses->common->time_ns            ? ses->start_ns + ses->common->time_ns
		                         : cache_has_default_end(ses, p) ? ses->start_ns + CACHE_DEFAULT_NS
		                                                         : 0,
		               .cached_fd = -1,
		               .direct_fd = -1,
		               .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
		               .direct_align = device_direct_align(d) };
	size_t largest = p->block.max_bytes > CACHE_PRIME_BYTES ? p->block.max_bytes : CACHE_PRIME_BYTES;
	void *buf = NULL;
	int r = cache_wanted_operations(p, d->kind == DEVICE_FILE, &c.operations, err);

	(void)snprintf(c.path, sizeof(c.path), "%s", d->path);
	if (d->kind == DEVICE_DIRECTORY && datafile_name(c.path, sizeof(c.path), d->path, "cache", 0) < 0)
		r = err_set(err, -ENAMETOOLONG, "The name of a file in %s would be too long.", d->path);
	c.buf = buf = xaligned(largest); /* there before anything is timed */
	payload_pool_init(&c.pool, ses->seed, largest);
	if (r == 0 && p->memory_bytes)
		r = cgroup_enter(&c.cg, ses->env->sysroot, p->memory_bytes, err);
	if (c.cg)
		result_option(ses->res, "memory-cgroup", cgroup_version(c.cg) == 1 ? "v1" : "v2");
	if (r == 0 && d->kind == DEVICE_DIRECTORY)
		r = datafile_create(&c.df, c.path, cache_largest_size(p), 0, err);
	if (r == 0) {
		r = run_matrix(&c, err);
		cache_report_plots(ses);
		if (r == -EINTR || (r < 0 && ses->res->nfault_totals))
			r = 0; /* interrupted, or the disk answered badly: the document says so, the matrix so far stays
			        */
		else if (r < 0 && err && !err->text[0])
			r = err_set(err, r, "%s could not be measured (%s).", c.path, err_name(r));
	}
	close_files(&c);
	datafile_close(c.df);
	cgroup_leave(c.cg);
	payload_pool_done(&c.pool);
	free(buf);
	return r;
}

static const struct screen_decl cache_screen = {
	.shows =
		"hit_bytes_per_s,miss_bytes_per_s,knee_bytes,hit_ns,miss_ns,read_ahead_gain_ratio,write_back_gain_ratio,#knee",
	.says =
		(const struct clause[]){
			{ "{hit_bytes_per_s} from memory, the best of {hit_bytes_per_s#cell}" },
			{ "{miss_bytes_per_s} with an empty cache, the best of {miss_bytes_per_s#cell}" },
			{ "files of up to {knee_bytes} are read from memory" },
			{ NULL },
		},
};

const struct measure measure_cache = {
	.name = "cache",
	.help = "file size by record size, cached against direct; where the cache ends",
	.group = GROUP_PROGRAM,
	.targets = "DIRECTORY|FILE",
	.takes = TAKES_FILES | TAKES_FOLDERS,
	.opts = cache_opts,
	.params_size = sizeof(struct cache_params),
	.precision = 0.01,
	.plan = cache_plan,
	.run = cache_run,
	.screen = &cache_screen,
	.tables = cache_tables,
};
