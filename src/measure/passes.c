/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program gets that writes a file and reads it several times (Longbottom, DISKMBPS 1997): blocks of 64 KiB that hold the words 1 to 16384, written
 * once, read R times, every word compared. Beside the rate of each pass stands what of it came from the device, by three witnesses: counted by the
 * kernel for the very thread (/proc/thread-self/io), by the disk for everybody (diskstats), and what was in memory before (cachestat). Writing and
 * fsync() are steps of their own.
 *
 * These loops do not go through load_run(): at memory speed a request object per 64 KiB would be part of what is measured, and cached reads
 * are answered at once. Several files run at once as threads; they share nothing but the document, under one lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/passes.h"
#include "measure/shared/pagecache.h"
#include "session/session.h"

#define BLOCK_BYTES        65536u
#define BLOCK_WORDS        (BLOCK_BYTES / 4)
#define FILES_MAX          64
#define MEMORY_BYTES_PER_S 3e9 /* a guess of reading from memory, for the time left until there is a measurement */

struct passes_params {
	uint64_t size_bytes, passes;
	const char *job;
	bool direct, cold, keep, classic;
};

static const struct opt passes_opts[] = {
	OPT_BYTES(struct passes_params, size_bytes, "size", 's', "SIZE", NULL,
	          "write a file of this size first; without it the existing file is read", .min = 65536, .max = 9e18),
	OPT_U64(struct passes_params, passes, "passes", 'p', "N", "4", "how often the file is read", .min = 1,
	        .max = 10000),
	OPT_STR(struct passes_params, job, "job", 'J', "TAG", NULL,
	        "tag the lines of this run, to tell several apart in one log"),
	OPT_FLAG(struct passes_params, direct, "direct", 0, "bypass the page cache, for contrast"),
	OPT_FLAG(struct passes_params, cold, "cold", 0, "drop the file from the page cache before each pass"),
	OPT_FLAG(struct passes_params, keep, "keep", 0, "leave the file where it is"),
	OPT_FLAG(struct passes_params, classic, "classic", 0, "print the layout of the program of 1997"),
	OPT_END,
};

struct step_row {
	const char *step, *end_time;
	uint64_t elapsed_ns;
	double rate_bytes_per_s, cpu_percent, cpu_s_per_mb, from_device_ratio, from_disk_ratio, cached_before_ratio;
	const char *file, *job;
	double start_s;
	uint64_t moved_bytes;
};

static const struct field step_fields[] = {
	FIELD_STR(struct step_row, step, "step"),
	FIELD_STR(struct step_row, end_time, "ended"),
	FIELD_U64(struct step_row, elapsed_ns, UNIT_NS, "time"),
	FIELD_F64(struct step_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_F64(struct step_row, cpu_percent, UNIT_PERCENT, "CPU"),
	FIELD_F64(struct step_row, cpu_s_per_mb, UNIT_NONE, "CPU s/MB"),
	FIELD_F64(struct step_row, from_device_ratio, UNIT_RATIO, "from device"),
	FIELD_F64(struct step_row, from_disk_ratio, UNIT_RATIO, "disk moved"),
	FIELD_F64(struct step_row, cached_before_ratio, UNIT_RATIO, "in memory"),
	FIELD_STR(struct step_row, job, "job"), /* of several; else null, and then not shown */
	FIELD_STR(struct step_row, file, "file", .detail = true),
	FIELD_F64(struct step_row, start_s, UNIT_S, "began", .detail = true),
	FIELD_U64(struct step_row, moved_bytes, UNIT_BYTES, "moved", .detail = true),
	FIELD_END,
};

static const struct measure_table passes_tables[] = {
	{ "steps", "Steps", step_fields },
	{ NULL, NULL, NULL },
};

/* One file: a thread. */
struct work {
	struct session *ses;
	const struct passes_params *p;
	size_t index; /* of the device */
	pthread_t thread;
	struct shared *shared;
	struct datafile *df; /* NULL: an existing file */
	char path[512];
	char job[48]; /* tag of its lines; "": none */
	int fd;
	bool is_ours;         /* the words are known: we wrote them, or the file begins with them */
	uint64_t first, size; /* of the data */
	uint8_t *buf;
	double write_rate, synced_rate, fsync_ns;
	double *reads;
	struct passes_span *spans; /* of the same passes */
	size_t nreads;
	uint64_t npasses; /* begun */
	uint64_t verify_errors, wrong_words;
	int r;
	struct err err;
};

struct shared {
	pthread_mutex_t lock;    /* of the document and the session */
	const uint8_t *words;    /* one block of 1 .. 16384 */
	struct passes_pace pace; /* the bytes that were done: atomic, the rest: under the lock */
	time_t started;          /* of the wall clock, for the classic log */
};

struct stopwatch {
	uint64_t start_ns;
	struct timespec cpu;
	struct pagecache_traffic traffic;
	double cached_ratio;
};

static bool is_over(const struct work *w)
{
	return w->ses->cancel && *w->ses->cancel;
}

/* --time is over. Reading ends then; a file that is being written is finished, since it is to be read. */
static bool is_late(struct work *w)
{
	if (session_time_left_ns(w->ses) > 0)
		return false;
	(void)pthread_mutex_lock(&w->shared->lock);
	result_notice(w->ses->res, "time", "--time ended before all passes were done.");
	(void)pthread_mutex_unlock(&w->shared->lock);
	return true;
}

static double cpu_seconds(const struct timespec *from)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* cannot fail for this clock */
	return (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) * 1e-9;
}

static void watch_begin(struct work *w, struct stopwatch *s)
{
	s->cached_ratio = pagecache_cached_ratio(w->fd, w->first, w->size);
	pagecache_traffic(w->ses, w->index, &s->traffic);
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &s->cpu);
	s->start_ns = clock_now_ns(w->ses->env->clk);
}

static void local_time(char *buf, size_t len)
{
	time_t now = time(NULL);
	struct tm tm;

	(void)strftime(buf, len, "%H:%M:%S", localtime_r(&now, &tm));
}

/* The line of a step in the log. */
static void log_step(struct work *w, const struct step_row *row)
{
	char number[32], rate[40] = "", device[40] = "";

	if (isfinite(row->from_device_ratio))
		(void)units_printf(device, sizeof(device), ", from the device %.1f %%", 100.0 * row->from_device_ratio);
	if (isfinite(row->rate_bytes_per_s))
		(void)snprintf(rate, sizeof(rate), ", %s", units_rate(number, sizeof(number), row->rate_bytes_per_s));
	session_log(w->ses, "%s%s%s %s: %.3f s%s, CPU %.1f %%%s", w->job, w->job[0] ? " " : "", w->path, row->step,
	            (double)row->elapsed_ns * 1e-9, rate, row->cpu_percent, device);
}

/* Ends a step: a row, a log line, a checkpoint. moved: by this step; 0 for fsync, whose disk share is of the whole file. */
static struct step_row watch_finish(struct work *w, const struct stopwatch *s, const char *step, uint64_t moved,
                                    bool is_write)
{
	uint64_t elapsed = clock_now_ns(w->ses->env->clk) - s->start_ns;
	double cpu = cpu_seconds(&s->cpu), seconds = (double)elapsed * 1e-9;
	struct pagecache_traffic now;
	struct pagecache_share share;
	struct step_row row;
	char end[16];

	pagecache_traffic_since(w->ses, w->index, &s->traffic, s->cached_ratio, &now);
	share = pagecache_share(&now, moved ? moved : w->size, is_write);
	local_time(end, sizeof(end));
	row = (struct step_row){
		.step = step,
		.end_time = end,
		.elapsed_ns = elapsed,
		.rate_bytes_per_s = elapsed && moved ? (double)moved / seconds : (double)NAN,
		.cpu_percent = elapsed ? 100.0 * cpu / seconds : (double)NAN,
		.cpu_s_per_mb = moved ? cpu / ((double)moved * 1e-6) : (double)NAN,
		.from_device_ratio = share.device_ratio,
		.from_disk_ratio = share.disk_ratio,
		.cached_before_ratio = s->cached_ratio,
		.file = w->path,
		.job = w->job[0] ? w->job : NULL,
		.start_s = (double)(s->start_ns - w->ses->start_ns) * 1e-9,
		.moved_bytes = moved,
	};
	(void)pthread_mutex_lock(&w->shared->lock);
	result_row(result_table(w->ses->res, "steps", "Steps", step_fields), &row);
	log_step(w, &row);
	session_checkpoint(w->ses);
	(void)pthread_mutex_unlock(&w->shared->lock);
	row.step = row.end_time = NULL; /* were the caller's and ours */
	return row;
}

double passes_pace_done(const struct passes_pace *p, uint64_t now_ns)
{
	uint64_t first_end_ns = p->rest_ns ? p->rest_ns : now_ns;
	double elapsed_s = (double)(now_ns - p->start_ns) * 1e-9, left_s;
	double first_rate = (double)p->first_done_bytes / ((double)(first_end_ns - p->start_ns) * 1e-9);
	double rest_rate = p->rest_guess_bytes_per_s > 0.0 ? p->rest_guess_bytes_per_s : first_rate;

	if (p->rest_ns && now_ns - p->rest_ns > NS_PER_S / 4) /* before that a stutter is all */
		rest_rate = (double)p->rest_done_bytes / ((double)(now_ns - p->rest_ns) * 1e-9);
	left_s = 0.0;
	if (p->first_done_bytes < p->first_bytes)
		left_s += (double)(p->first_bytes - p->first_done_bytes) / first_rate;
	if (p->rest_done_bytes < p->rest_bytes)
		left_s += (double)(p->rest_bytes - p->rest_done_bytes) / rest_rate;
	return elapsed_s > 0.0 && isfinite(left_s) ? elapsed_s / (elapsed_s + left_s) : 0.0;
}

static void tell_progress(struct work *w, const char *step, bool is_first, uint64_t bytes)
{
	struct passes_pace *pace = &w->shared->pace, now;
	uint64_t now_ns;

	(void)__atomic_add_fetch(is_first ? &pace->first_done_bytes : &pace->rest_done_bytes, bytes, __ATOMIC_RELAXED);
	if (pthread_mutex_trylock(&w->shared->lock) != 0)
		return; /* somebody else is telling */
	now_ns = clock_now_ns(w->ses->env->clk);
	if (!is_first && !pace->rest_ns)
		pace->rest_ns = now_ns;
	now = *pace;
	now.first_done_bytes = __atomic_load_n(&pace->first_done_bytes, __ATOMIC_RELAXED);
	now.rest_done_bytes = __atomic_load_n(&pace->rest_done_bytes, __ATOMIC_RELAXED);
	session_progress(w->ses, step, passes_pace_done(&now, now_ns), "%s", w->path);
	(void)pthread_mutex_unlock(&w->shared->lock);
}

static void note_fault(struct work *w, const char *op, uint64_t offset, uint64_t length, int64_t res)
{
	(void)pthread_mutex_lock(&w->shared->lock);
	result_fault(w->ses->res, w->path, op, offset, length, res,
	             (double)(clock_now_ns(w->ses->env->clk) - w->ses->start_ns) * 1e-9);
	(void)pthread_mutex_unlock(&w->shared->lock);
}

static bool has_too_many_faults(struct work *w)
{
	uint64_t n;

	(void)pthread_mutex_lock(&w->shared->lock);
	n = result_fault_count(w->ses->res);
	(void)pthread_mutex_unlock(&w->shared->lock);
	return n > w->ses->common->max_errors;
}

/* Writes the file. *ret_moved: what was written. false: it cannot go on. */
static bool write_file(struct work *w, uint64_t *ret_moved)
{
	for (uint64_t at = 0; at < w->size && !is_over(w); at += BLOCK_BYTES) {
		uint64_t left = w->size - at;
		size_t want = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
		ssize_t n = pwrite(w->fd, w->shared->words, want, (off_t)(w->first + at));

		if (n >= 0 && n < (ssize_t)want)
			n = pagecache_write_rest(w->fd, w->shared->words, (size_t)n, want, w->first + at);
		if (n < (ssize_t)want) {
			note_fault(w, "write", w->first + at, want, n < 0 ? -errno : n);
			return false; /* a file that could not be written in full cannot be read in full */
		}
		*ret_moved += want;
		if ((at + BLOCK_BYTES) % (64 * BLOCK_BYTES) == 0)
			tell_progress(w, "writing", true, 64 * BLOCK_BYTES);
	}
	return !is_over(w);
}

/* A block is not as written: its wrong words are counted, the first is told. A memcmp() over the block has found out; this is not timed work. */
static void note_difference(struct work *w, uint64_t at, size_t len)
{
	uint32_t found = 0, want = 0, f, v;
	uint64_t wrong = 0, where = 0;

	for (size_t i = 0; i < len; i += 4) {
		size_t n = len - i < 4 ? len - i : 4;

		f = v = 0;
		memcpy(&f, w->buf + i, n);
		memcpy(&v, w->shared->words + i, n);
		if (f == v)
			continue;
		if (wrong++ == 0) {
			where = at + i;
			found = f;
			want = v;
		}
	}
	w->verify_errors++;
	w->wrong_words += wrong;
	(void)pthread_mutex_lock(&w->shared->lock);
	if (w->verify_errors <= 20)
		result_notice(w->ses->res, "verify",
		              "%s: the word at byte %" PRIu64 " is %" PRIu32 " where %" PRIu32 " was written; %" PRIu64
		              " words of this block differ.",
		              w->path, where, found, want, wrong);
	(void)pthread_mutex_unlock(&w->shared->lock);
}

/* Are these our words? Other commands make files with other contents; and a wrong word or two must not hide a file of ours. */
static bool has_words(const struct work *w, size_t len)
{
	size_t same = 0;

	for (size_t i = 0; i + 4 <= len; i += 4)
		same += memcmp(w->buf + i, w->shared->words + i, 4) == 0;
	return same > len / 8;
}

/* Every word of what was read, at memory speed. */
static void check_words(struct work *w, uint64_t at, size_t len)
{
	if (at == 0 && !w->df && w->nreads == 0)
		w->is_ours = w->is_ours && has_words(w, len);
	if (w->is_ours && memcmp(w->buf, w->shared->words, len) != 0)
		note_difference(w, w->first + at, len);
}

/* One pass over the file. Bytes moved; *ret_is_whole: all were good, the rate counts. */
static uint64_t read_file(struct work *w, bool *ret_is_whole)
{
	uint64_t moved = 0;

	*ret_is_whole = true;
	for (uint64_t at = 0; at < w->size && !is_over(w);) {
		uint64_t left = w->size - at;
		size_t want = left < BLOCK_BYTES && !w->p->direct ? (size_t)left : BLOCK_BYTES;
		ssize_t n = pread(w->fd, w->buf, want, (off_t)(w->first + at));

		if (n <= 0 || ((uint64_t)n < left && n < (ssize_t)BLOCK_BYTES)) {
			note_fault(w, "read", w->first + at, want, n < 0 ? -errno : n);
			*ret_is_whole = false;
			if (n == 0 || has_too_many_faults(w))
				break; /* the file is shorter than it was, or the device is gone */
		} else {
			check_words(w, at, left < (uint64_t)n ? (size_t)left : (size_t)n);
		}
		if (n > 0)
			moved += left < (uint64_t)n ? left : (uint64_t)n;
		at += BLOCK_BYTES;
		if (at % (64 * BLOCK_BYTES) != 0)
			continue;
		tell_progress(w, "reading", !w->p->size_bytes && w->npasses == 1, 64 * BLOCK_BYTES);
		if (at < w->size && is_late(w)) { /* what was read till then is a rate, too, when there is no other */
			*ret_is_whole = *ret_is_whole && w->nreads == 0;
			break;
		}
	}
	*ret_is_whole = *ret_is_whole && !is_over(w);
	return moved;
}

static void write_step(struct work *w)
{
	struct stopwatch s;
	struct step_row row, sync;
	uint64_t moved = 0;
	bool whole;

	watch_begin(w, &s);
	whole = write_file(w, &moved);
	row = watch_finish(w, &s, "write", moved, true);
	if (!whole)
		return;
	w->write_rate = row.rate_bytes_per_s;
	watch_begin(w, &s);
	if (fsync(w->fd) < 0) {
		note_fault(w, "flush", 0, 0, -errno);
		return;
	}
	sync = watch_finish(w, &s, "fsync", 0, true);
	w->fsync_ns = (double)sync.elapsed_ns;
	w->synced_rate = (double)moved / ((double)(row.elapsed_ns + sync.elapsed_ns) * 1e-9);
}

static void make_cold(struct work *w)
{
	uint64_t left = 0;
	int r = pagecache_make_cold(w->fd, &left);

	if (r < 0) /* the kernel tells of a lost write once only, to whoever asks first */
		note_fault(w, "flush", 0, 0, r);
	if (r == 0 && left == 0)
		return;
	(void)pthread_mutex_lock(&w->shared->lock);
	result_notice(w->ses->res, "not-cold",
	              "%s: a part stays in the page cache before each pass; the rates are partly the cache's.",
	              w->path);
	(void)pthread_mutex_unlock(&w->shared->lock);
}

static void *work_run(void *arg)
{
	struct work *w = arg;

	if (w->p->size_bytes)
		write_step(w);
	for (uint64_t pass = 1; pass <= w->p->passes && !is_over(w) && !has_too_many_faults(w); pass++) {
		struct stopwatch s;
		uint64_t moved;
		char step[32];
		bool whole;
		struct step_row row;

		if (w->p->size_bytes && isnan(w->write_rate))
			break; /* there is no file to read */
		if (pass > 1 && is_late(w))
			break;
		if (w->p->cold)
			make_cold(w);
		(void)snprintf(step, sizeof(step), "read %" PRIu64, pass);
		w->npasses = pass;
		watch_begin(w, &s);
		moved = read_file(w, &whole);
		row = watch_finish(w, &s, step, moved, false);
		if (!whole)
			continue;
		w->spans[w->nreads] =
			(struct passes_span){ w->index, row.start_s, row.start_s + (double)row.elapsed_ns * 1e-9,
			                      (double)moved };
		w->reads[w->nreads++] = row.rate_bytes_per_s;
	}
	return NULL;
}

/* ---- set-up ---- */

static int passes_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err)
{
	const struct passes_params *p = params;
	uint64_t bytes = 0;

	for (size_t i = 0; i < ses->ndevs; i++) {
		const struct device *d = &ses->devs[i];

		if (p->size_bytes && (d->kind == DEVICE_DISK || d->kind == DEVICE_PARTITION))
			return err_set(err, -EINVAL,
			               "%s is a block device: passes writes files only; without --size it reads it.",
			               d->path);
		if (!p->size_bytes && d->kind == DEVICE_DIRECTORY)
			return err_set(
				err, -EINVAL,
				"%s is a directory; give --size to write a file there, or an existing file to read.",
				d->path);
		if (!p->size_bytes && d->size_bytes == 0)
			return err_set(err, -EINVAL, "%s is empty or not there; give --size to write it.", d->path);
		bytes += p->size_bytes ? p->size_bytes : d->size_bytes;
	}
	plan->opens_itself = true;
	plan->is_direct = p->direct;
	plan->read_bytes = bytes * p->passes;
	plan->write_bytes = p->size_bytes ? bytes : 0;
	/* At 100 MB/s, 10 ns a byte: a guess, said as such in the manual. */
	if (p->size_bytes)
		plan_phase(plan, "write", 10 * bytes);
	plan_phase(plan, "read", 10 * bytes * p->passes);
	return 0;
}

/* Room for this file and for those before it on the same file system, which are still to be written. */
static int check_room(const struct work *w, struct err *err)
{
	const struct work *first = w - w->index;
	uint64_t need = 0;
	struct stat own, st;

	if (fstat(w->fd, &own) < 0)
		return err_set(err, -errno, "Cannot look at %s: %s.", w->path, strerror(errno));
	for (const struct work *k = first; k <= w; k++)
		if (fstat(k->fd, &st) == 0 && st.st_dev == own.st_dev)
			need += DATAFILE_HEADER_BYTES + k->size;
	return datafile_check_space(w->path, need, err);
}

static int open_new(struct work *w, struct err *err)
{
	const struct device *d = &w->ses->devs[w->index];
	int r;

	if (d->kind == DEVICE_DIRECTORY) {
		r = datafile_name(w->path, sizeof(w->path), d->path, w->p->job ? w->p->job : "passes",
		                  (unsigned)w->index);
		if (r < 0)
			return err_set(err, r, "The name of a file in %s would be too long.", d->path);
	}
	r = datafile_create(&w->df, w->path, w->p->size_bytes,
	                    w->p->keep ? DATAFILE_KEEP | DATAFILE_REUSE : DATAFILE_REUSE, err);
	if (r < 0)
		return r;
	w->first = DATAFILE_DATA_OFFSET;
	w->size = w->p->size_bytes - w->p->size_bytes % 4;
	if (w->p->direct)
		w->size -= w->size % BLOCK_BYTES;
	w->is_ours = true;
	r = datafile_reset(w->df, err); /* one of ours that was there: writing is to find it empty */
	if (r < 0)
		return r;
	w->fd = datafile_open(w->df, w->p->direct, err);
	if (w->fd == -EOPNOTSUPP)
		return err_set(err, w->fd,
		               "The file system of %s takes no direct I/O; without --direct it is measured through the "
		               "page cache.",
		               w->path);
	return w->fd < 0 ? w->fd : check_room(w, err);
}

static int open_existing(struct work *w, struct err *err)
{
	const struct device *d = &w->ses->devs[w->index];
	const struct env *env = w->ses->env;

	w->first = datafile_first_byte(d);
	w->is_ours = w->first > 0;
	w->size = d->size_bytes > w->first ? d->size_bytes - w->first : 0;
	if (w->size == 0)
		return err_set(err, -EINVAL, "%s holds no data; give --size to write them.", d->path);
	return env->devices->open(env->devices_ctx, d, NULL, w->p->direct ? DEVICE_OPEN_DIRECT : 0, err);
}

/* Several files are several jobs: a letter each, as copies of the program had in 1997. */
static void name_job(struct work *w)
{
	const char *tag = w->p->job ? w->p->job : "";
	size_t i = w->index;

	if (w->ses->ndevs == 1)
		(void)snprintf(w->job, sizeof(w->job), "%.40s", tag);
	else if (i < 26)
		(void)snprintf(w->job, sizeof(w->job), "%.40s%c", tag, (char)('A' + i));
	else
		(void)snprintf(w->job, sizeof(w->job), "%.40s%c%zu", tag, (char)('A' + i % 26), i / 26);
}

static int work_init(struct work *w, struct err *err)
{
	void *buf = NULL;

	w->write_rate = w->synced_rate = w->fsync_ns = NAN;
	name_job(w);
	(void)snprintf(w->path, sizeof(w->path), "%s", w->ses->devs[w->index].path);
	w->reads = calloc(w->p->passes, sizeof(double));
	w->spans = calloc(w->p->passes, sizeof(*w->spans));
	if (!w->reads || !w->spans || posix_memalign(&buf, 4096, BLOCK_BYTES) != 0)
		return err_set(err, -ENOMEM, "Out of memory.");
	w->buf = buf;
	memset(w->buf, 0, BLOCK_BYTES);
	if (w->p->size_bytes)
		return open_new(w, err);
	w->fd = open_existing(w, err);
	return w->fd < 0 ? w->fd : 0;
}

static void work_done(struct work *w)
{
	if (w->fd >= 0 && w->df)
		(void)close(w->fd); /* all was synced, or is thrown away */
	else if (w->fd >= 0)
		w->ses->env->devices->close(w->ses->env->devices_ctx, w->fd);
	datafile_close(w->df);
	free(w->buf);
	free(w->reads);
	free(w->spans);
}

/* ---- the figures ---- */

double passes_common_rate(const struct passes_span *v, size_t n, size_t nfiles)
{
	double from = -INFINITY, to = INFINITY, bytes = 0.0;

	for (size_t file = 0; file < nfiles; file++) {
		double first = INFINITY, last = -INFINITY;

		for (size_t i = 0; i < n; i++) {
			first = v[i].file == file ? fmin(first, v[i].start_s) : first;
			last = v[i].file == file ? fmax(last, v[i].end_s) : last;
		}
		from = fmax(from, first);
		to = fmin(to, last);
	}
	if (!(to > from))
		return NAN;
	for (size_t i = 0; i < n; i++) {
		double within = fmin(v[i].end_s, to) - fmax(v[i].start_s, from);

		if (within > 0.0)
			bytes += v[i].bytes * within / (v[i].end_s - v[i].start_s);
	}
	return bytes / (to - from);
}

static void read_figure_of_several(struct session *ses, const struct work *works, size_t n)
{
	cleanup_free struct passes_span *all = NULL;
	uint64_t samples = 0;
	double rate = NAN;
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		samples += works[i].nreads;
	all = calloc(samples + 1, sizeof(*all));
	for (size_t i = 0; all && i < n; i++) {
		memcpy(all + k, works[i].spans, works[i].nreads * sizeof(*all));
		k += works[i].nreads;
	}
	if (all)
		rate = passes_common_rate(all, k, n);
	result_figure(ses->res, "read_bytes_per_s", "reading, while all files were read", UNIT_BYTES_PER_S, rate, NULL,
	              samples);
	if (isnan(rate))
		result_notice(ses->res, "not-together",
		              "There was no time at which all files were being read, so no rate of all together is "
		              "told; give more --passes, or a larger --size.");
}

/* One file: the mean of its passes. */
static void read_figure(struct session *ses, const struct work *works, size_t n)
{
	struct summary s;

	for (size_t i = 0; i < n; i++)
		if (works[i].nreads == 0)
			return;
	if (n > 1)
		read_figure_of_several(ses, works, n);
	else if (summary_of(works[0].reads, works[0].nreads, &s))
		result_figure(ses->res, "read_bytes_per_s", "reading, mean of the passes", UNIT_BYTES_PER_S, s.mean,
		              &s.mean_ci, works[0].nreads);
}

static void figures(struct session *ses, const struct passes_params *p, struct work *works, size_t n)
{
	double written = 0.0, synced = 0.0, fsync_ns = NAN;
	uint64_t wrong = 0, words = 0;
	bool is_known = false;

	for (size_t i = 0; i < n; i++) {
		written += works[i].write_rate;
		synced += works[i].synced_rate;
		fsync_ns = fmax(fsync_ns, works[i].fsync_ns);
		wrong += works[i].verify_errors;
		words += works[i].wrong_words;
		is_known |= works[i].is_ours;
	}
	if (p->size_bytes) {
		result_figure(ses->res, "write_bytes_per_s", "writing, without fsync", UNIT_BYTES_PER_S, written, NULL,
		              n);
		result_figure(ses->res, "write_synced_bytes_per_s", "writing, with fsync", UNIT_BYTES_PER_S, synced,
		              NULL, n);
		result_figure(ses->res, "fsync_ns", n > 1 ? "the longest fsync" : "fsync alone", UNIT_NS, fsync_ns,
		              NULL, n);
	}
	read_figure(ses, works, n);
	if (is_known) {
		result_figure_u64(ses->res, "verify_errors", "blocks that were not as written", UNIT_COUNT, wrong);
		result_figure_u64(ses->res, "wrong_words", "words that were not as written", UNIT_COUNT, words);
	} else {
		result_figure_text(ses->res, "verify_errors", "blocks that were not as written", NULL);
	}
	if (wrong)
		ses->res->verdict_is_no = true;
}

/*
 * The log of 1997, one for each job: J, the time of day and the suffix letter name it; MB is 2^20 there. A file that was only read has lines of
 * their own kind.
 */
static void classic(struct session *ses, const struct passes_params *p, const struct work *w)
{
	const struct table *t = result_find_table(ses->res, "steps");
	char start[64], name[16];
	double mib = (double)w->size / 1048576.0;
	struct tm tm;

	(void)localtime_r(&w->shared->started, &tm);
	(void)strftime(start, sizeof(start), "%a %b %e %H:%M:%S %Y", &tm);
	(void)strftime(name, sizeof(name), "J%H%M%S", &tm);
	result_text(ses->res, "##############################################\n\nDisk test platter %s\n",
	            PLATTER_VERSION);
	if (!p->size_bytes)
		result_text(ses->res, "Reading file %s\n", w->path);
	result_text(ses->res, "Job %s%s  %s\n\n", name, w->job[0] ? w->job : "Z", start);
	if (p->size_bytes)
		result_text(ses->res, "Data File %s %.1f Mbytes\nFiles written %" PRIu64 " bytes (data*%.4g)\n\n",
		            w->path, mib, w->size, mib);
	for (size_t i = 0; t && i < t->nrows; i++) {
		const char *step = table_string(t, i, (size_t)table_column(t, "step")),
			   *end = table_string(t, i, (size_t)table_column(t, "end_time"));
		double seconds = table_number(t, i, (size_t)table_column(t, "elapsed_ns")) * 1e-9;
		double rate = table_number(t, i, (size_t)table_column(t, "rate_bytes_per_s")) / 1048576.0;

		if (w->job[0] && strcmp(table_string(t, i, (size_t)table_column(t, "job")), w->job) != 0)
			continue;
		if (strcmp(step, "write") == 0)
			result_text(ses->res, "%8.2f seconds for writing file at %.2f MB/s %s\n", seconds, rate, end);
		else if (strncmp(step, "read ", 5) == 0 && p->size_bytes)
			result_text(ses->res, "%8.2f seconds for read pass %s at %.2f MB/s %s\n", seconds, step + 5,
			            rate, end);
		else if (strncmp(step, "read ", 5) == 0)
			result_text(ses->res, "%8.2f seconds %.1fMB pass %s at %.2f MB/s %s\n", seconds, mib, step + 5,
			            rate, end);
	}
	result_text(ses->res, "\n");
}

static void plots(struct session *ses)
{
	static char kind[] = "bars", title[] = "Rate of each step", table[] = "steps", x[] = "step",
		    y[] = "rate_bytes_per_s", series[] = "file";

	result_plot(ses->res, &(struct plot_decl){ .kind = kind,
	                                           .title = title,
	                                           .table = table,
	                                           .x = x,
	                                           .y = y,
	                                           .series = ses->ndevs > 1 ? series : NULL });
}

static int passes_run(struct session *ses, const void *params, struct err *err)
{
	const struct passes_params *p = params;
	struct shared shared = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct work works[FILES_MAX] = { 0 };
	struct sysinfo memory;
	void *words = NULL;
	size_t n = 0, started = 0;
	int r = posix_memalign(&words, 4096, BLOCK_BYTES) ? err_set(err, -ENOMEM, "Out of memory.") : 0;

	for (uint32_t i = 0; words && i < BLOCK_WORDS; i++)
		((uint32_t *)words)[i] = i + 1;
	shared.words = words;
	shared.started = time(NULL);
	while (r == 0 && n < ses->ndevs) {
		struct work *w = &works[n];

		*w = (struct work){ .ses = ses, .p = p, .index = n++, .shared = &shared, .fd = -1 };
		r = work_init(w, err);
		shared.pace.first_bytes += w->size;
		shared.pace.rest_bytes += w->size * (p->size_bytes ? p->passes : p->passes - 1);
	}
	if (!p->direct && !p->cold && sysinfo(&memory) == 0 &&
	    shared.pace.first_bytes < (uint64_t)memory.totalram * memory.mem_unit / 2)
		shared.pace.rest_guess_bytes_per_s = MEMORY_BYTES_PER_S;
	shared.pace.start_ns = clock_now_ns(ses->env->clk);
	if (r == 0)
		pagecache_note_witness(ses, works[0].fd);
	for (; r == 0 && started < n; started++)
		if (pthread_create(&works[started].thread, NULL, work_run, &works[started]) != 0)
			r = err_set(err, -EAGAIN, "No thread could be started for %s.", works[started].path);
	for (size_t i = 0; i < started; i++)
		(void)pthread_join(works[i].thread, NULL); /* of our own threads: cannot fail */
	if (r == 0) {
		figures(ses, p, works, n);
		plots(ses);
		for (size_t i = 0; p->classic && i < n; i++)
			classic(ses, p, &works[i]);
	}
	for (size_t i = 0; i < n; i++)
		work_done(&works[i]);
	free(words);
	return r;
}

const struct measure measure_passes = {
	.name = "passes",
	.help = "write a file and read it several times, as a program would",
	.group = GROUP_PROGRAM,
	.targets = "FILE|DIRECTORY|DEVICE...",
	.min_targets = 1,
	.max_targets = FILES_MAX,
	.makes_files = true,
	.may_create = true,
	.opts = passes_opts,
	.params_size = sizeof(struct passes_params),
	.plan = passes_plan,
	.run = passes_run,
	.tables = passes_tables,
};
