/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One file: opened or made, written and read by a thread; what each step moved, and what of it came from the device. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "measure/passes/passes.h"

struct stopwatch {
	uint64_t start_ns;
	struct timespec cpu;
	struct pagecache_traffic traffic;
	double cached_ratio;
};

static bool is_over(const struct passes_work *w)
{
	return w->is_ended || (w->ses->cancel && *w->ses->cancel);
}

/* --time is over. Reading ends then; a file that is being written is finished, since it is to be read. */
static bool is_late(struct passes_work *w)
{
	if (session_time_left_ns(w->ses) > 0)
		return false;
	(void)pthread_mutex_lock(&w->shared->lock);
	result_notice(w->ses->res, "time", "--time ended before all passes were done.");
	session_ended_early(w->ses);
	(void)pthread_mutex_unlock(&w->shared->lock);
	return true;
}

static double cpu_seconds(const struct timespec *from)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* cannot fail for this clock */
	return (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) * 1e-9;
}

static void watch_begin(struct passes_work *w, struct stopwatch *s)
{
	s->cached_ratio = pagecache_cached_ratio(w->fd, w->first, w->size);
	pagecache_traffic(w->ses, w->index, &s->traffic);
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &s->cpu);
	s->start_ns = clock_now_ns(w->ses->env->clk);
}

/* Ends a step: a row, a log line, a checkpoint. moved: by this step; 0 for fsync, whose disk share is of the whole
 * file. */
static struct passes_row watch_finish(struct passes_work *w, const struct stopwatch *s, const char *step,
                                      uint64_t moved, bool is_write)
{
	uint64_t elapsed = clock_now_ns(w->ses->env->clk) - s->start_ns;
	double cpu = cpu_seconds(&s->cpu), seconds = (double)elapsed * 1e-9;
	struct pagecache_traffic now;
	struct pagecache_share share;
	struct passes_row row;
	char end[40];

	pagecache_traffic_since(w->ses, w->index, &s->traffic, s->cached_ratio, &now);
	share = pagecache_share(&now, moved ? moved : w->size, is_write);
	(void)memcpy(clock_wall_text(end, sizeof(end)) + 19, "Z", 2); /* whole seconds */
	row = (struct passes_row){
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
		.start_s = (double)(s->start_ns - w->ses->start_ns) * 1e-9,
		.moved_bytes = moved,
	};
	(void)pthread_mutex_lock(&w->shared->lock);
	passes_report_step(w, &row);
	(void)pthread_mutex_unlock(&w->shared->lock);
	row.step = row.end_time = NULL; /* were the caller's and ours */
	return row;
}

static void show_progress(struct passes_work *w, const char *step, uint64_t bytes)
{
	struct passes_shared *shared = w->shared;
	uint64_t done = __atomic_add_fetch(&shared->done_bytes, bytes, __ATOMIC_RELAXED);

	if (pthread_mutex_trylock(&shared->lock) != 0)
		return; /* another job shows it */
	session_progress(w->ses, step, (double)done / (double)shared->all_bytes, "%s", w->path);
	(void)pthread_mutex_unlock(&shared->lock);
}

static void note_fault(struct passes_work *w, const char *op, uint64_t offset, uint64_t length, int64_t res)
{
	(void)pthread_mutex_lock(&w->shared->lock);
	(void)session_fault(w->ses, w->path, op, offset, length, res);
	w->is_ended = session_is_over(w->ses);
	(void)pthread_mutex_unlock(&w->shared->lock);
}

/* The words of the block at a place of the data. */
static const uint8_t *words_at(const struct passes_work *w, uint64_t at)
{
	return payload_pool_at(&w->shared->pool, at / PASSES_BLOCK_BYTES);
}

/* Around the page cache they have to be aligned. */
static const uint8_t *block_to_write(struct passes_work *w, uint64_t at)
{
	return w->p->mode == PASSES_DIRECT ? memcpy(w->buf, words_at(w, at), PASSES_BLOCK_BYTES) : words_at(w, at);
}

/* Writes the file. *ret_moved: what was written. false: it cannot go on. */
static bool write_file(struct passes_work *w, uint64_t *ret_moved)
{
	for (uint64_t at = 0; at < w->size && !is_over(w); at += PASSES_BLOCK_BYTES) {
		uint64_t left = w->size - at;
		size_t want = left < PASSES_BLOCK_BYTES ? (size_t)left : PASSES_BLOCK_BYTES;
		const uint8_t *words = block_to_write(w, at);
		ssize_t n = pagecache_write(w->fd, words, want, w->first + at);

		if (n < (ssize_t)want) {
			note_fault(w, "write", w->first + at, want, n < 0 ? -errno : n);
			return false; /* a file that could not be written in full cannot be read in full */
		}
		*ret_moved += want;
		if ((at + PASSES_BLOCK_BYTES) % (64 * PASSES_BLOCK_BYTES) == 0)
			show_progress(w, "writing", 64 * PASSES_BLOCK_BYTES);
	}
	return !is_over(w);
}

/* A block is not as written: its wrong words are counted, the first is noted. A memcmp() over the block has found out;
 * this is not timed work. */
static void note_difference(struct passes_work *w, uint64_t at, size_t len)
{
	uint32_t found = 0, want = 0, f, v;
	uint64_t wrong = 0, where = 0;

	for (size_t i = 0; i < len; i += 4) {
		size_t n = len - i < 4 ? len - i : 4;

		f = v = 0;
		memcpy(&f, w->buf + i, n);
		memcpy(&v, words_at(w, at) + i, n);
		if (f == v)
			continue;
		if (wrong++ == 0) {
			where = w->first + at + i;
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

/* Are these our words? Other commands make files with other contents; and a wrong word or two must not hide a file of
 * ours. */
static bool has_words(const struct passes_work *w, size_t len)
{
	size_t same = 0;

	for (size_t i = 0; i + 4 <= len; i += 4)
		same += memcmp(w->buf + i, words_at(w, 0) + i, 4) == 0;
	return same > len / 8;
}

/* Every word of what was read, at memory speed. */
static void check_words(struct passes_work *w, uint64_t at, size_t len)
{
	if (at == 0 && !w->df && w->nreads == 0)
		w->is_ours = w->is_ours && has_words(w, len);
	w->checked_bytes += w->is_ours ? len : 0;
	if (w->is_ours && memcmp(w->buf, words_at(w, at), len) != 0)
		note_difference(w, at, len);
}

/* false: the file is shorter than it was, or the device has disappeared. */
static bool read_block(struct passes_work *w, uint64_t at, uint64_t *moved)
{
	uint64_t left = w->size - at;
	size_t len = left < PASSES_BLOCK_BYTES ? (size_t)left : PASSES_BLOCK_BYTES;
	size_t want = w->p->mode == PASSES_DIRECT ? PASSES_BLOCK_BYTES : len;
	ssize_t n = pread(w->fd, w->buf, want, (off_t)(w->first + at));
	size_t got = n <= 0 ? 0 : (size_t)n < len ? (size_t)n : len;

	if (got < len)
		note_fault(w, "read", w->first + at, want, n < 0 ? -errno : n);
	else
		check_words(w, at, len);
	w->unread_bytes += len - got;
	*moved += got;
	return n != 0;
}

/* One pass over the file. Bytes moved; *ret_is_whole: its end was reached, the rate counts. */
static uint64_t read_file(struct passes_work *w, bool *ret_is_whole)
{
	uint64_t moved = 0;

	*ret_is_whole = false;
	for (uint64_t at = 0; at < w->size && !is_over(w);) {
		if (!read_block(w, at, &moved))
			return moved;
		at += PASSES_BLOCK_BYTES;
		if (at % (64 * PASSES_BLOCK_BYTES) != 0)
			continue;
		show_progress(w, "reading", 64 * PASSES_BLOCK_BYTES);
		if (at < w->size && is_late(w)) { /* what was read till then is a rate, too, when there is no other */
			*ret_is_whole = moved && w->nreads == 0;
			return moved;
		}
	}
	*ret_is_whole = moved && !is_over(w);
	return moved;
}

/* A step that counts: it was done in full. */
static void keep(struct passes_work *w, enum passes_kind kind, const struct passes_row *row)
{
	w->steps[w->nsteps++] = (struct passes_step){ .file = w->index,
		                                      .kind = kind,
		                                      .start_s = row->start_s,
		                                      .elapsed_ns = row->elapsed_ns,
		                                      .moved_bytes = (double)row->moved_bytes,
		                                      .from_device_ratio = row->from_device_ratio };
}

static void write_step(struct passes_work *w)
{
	struct stopwatch s;
	struct passes_row row;
	uint64_t moved = 0;
	bool whole;

	watch_begin(w, &s);
	whole = write_file(w, &moved);
	row = watch_finish(w, &s, "write", moved, true);
	if (!whole)
		return;
	keep(w, STEP_WRITE, &row);
	watch_begin(w, &s);
	if (fsync(w->fd) < 0) {
		note_fault(w, "flush", 0, 0, -errno);
		return;
	}
	row = watch_finish(w, &s, "fsync", 0, true);
	keep(w, STEP_FSYNC, &row);
}

static void make_cold(struct passes_work *w)
{
	uint64_t left = 0;
	int r = pagecache_make_cold(w->fd, &left);

	if (r < 0) /* the kernel reports a lost write only once, to whoever asks first */
		note_fault(w, "flush", 0, 0, r);
	if (r == 0 && left == 0)
		return;
	(void)pthread_mutex_lock(&w->shared->lock);
	result_notice(w->ses->res, "not-cold",
	              "%s: a part stays in the page cache before each pass; the rates are partly the cache's.",
	              w->path);
	(void)pthread_mutex_unlock(&w->shared->lock);
}

void *passes_work_run(void *arg)
{
	struct passes_work *w = arg;

	if (w->p->size_bytes)
		write_step(w);
	for (uint64_t pass = 1; pass <= w->p->passes && !is_over(w); pass++) {
		struct stopwatch s;
		uint64_t moved;
		char step[32];
		bool whole;
		struct passes_row row;

		if (w->p->size_bytes && !w->nsteps)
			break; /* there is no file to read */
		if (pass > 1 && is_late(w))
			break;
		if (w->p->mode == PASSES_COLD)
			make_cold(w);
		(void)snprintf(step, sizeof(step), "read %" PRIu64, pass);
		watch_begin(w, &s);
		moved = read_file(w, &whole);
		row = watch_finish(w, &s, step, moved, false);
		if (!whole)
			continue;
		keep(w, STEP_READ, &row);
		w->nreads++;
	}
	return NULL;
}

/* ---- set-up ---- */

/* Room for this file and for those before it on the same file system, which are still to be written. */
static int check_room(const struct passes_work *w, struct err *err)
{
	const struct passes_work *first = w - w->index;
	uint64_t need = 0;
	struct stat own, st;

	if (fstat(w->fd, &own) < 0)
		return err_set(err, -errno, "Cannot look at %s: %s.", w->path, strerror(errno));
	for (const struct passes_work *k = first; k <= w; k++)
		if (fstat(k->fd, &st) == 0 && st.st_dev == own.st_dev)
			need += DATAFILE_HEADER_BYTES + k->size;
	return datafile_check_space(w->path, need, err);
}

static int open_new(struct passes_work *w, struct err *err)
{
	const struct device *d = &w->ses->devs[w->index];
	int r;

	if (d->kind == DEVICE_DIRECTORY) {
		r = datafile_name(w->path, sizeof(w->path), d->path, "passes", (unsigned)w->index);
		if (r < 0)
			return err_set(err, r, "The name of a file in %s would be too long.", d->path);
	}
	r = datafile_create(&w->df, w->path, w->p->size_bytes,
	                    w->p->keep ? DATAFILE_KEEP | DATAFILE_REUSE : DATAFILE_REUSE, err);
	if (r < 0)
		return r;
	w->first = DATAFILE_DATA_OFFSET;
	w->size = w->p->size_bytes - w->p->size_bytes % 4;
	if (w->p->mode == PASSES_DIRECT)
		w->size -= w->size % PASSES_BLOCK_BYTES;
	w->is_ours = true;
	r = datafile_reset(w->df, err); /* one of ours that was there: writing is to find it empty */
	if (r < 0)
		return r;
	w->fd = datafile_open(w->df, w->p->mode == PASSES_DIRECT, err);
	return w->fd < 0 ? w->fd : check_room(w, err);
}

static int open_existing(struct passes_work *w, struct err *err)
{
	const struct device *d = &w->ses->devs[w->index];
	const struct env *env = w->ses->env;

	w->first = datafile_first_byte(d);
	w->is_ours = w->first > 0;
	w->size = d->size_bytes > w->first ? d->size_bytes - w->first : 0;
	if (w->size == 0)
		return err_set(err, -EINVAL, "%s holds no data; give --size to write them.", d->path);
	return env->devices->open(env->devices_ctx, d, NULL, w->p->mode == PASSES_DIRECT ? DEVICE_OPEN_DIRECT : 0, err);
}

int passes_work_init(struct passes_work *w, struct err *err)
{
	(void)snprintf(w->path, sizeof(w->path), "%s", w->ses->devs[w->index].path);
	w->steps = xcalloc(w->p->passes + 2, sizeof(*w->steps));
	w->buf = xaligned(PASSES_BLOCK_BYTES);
	if (w->p->size_bytes)
		return open_new(w, err);
	w->fd = open_existing(w, err);
	return w->fd < 0 ? w->fd : 0;
}

void passes_work_done(struct passes_work *w)
{
	if (w->fd >= 0 && w->df)
		(void)close(w->fd); /* all was synced, or is thrown away */
	else if (w->fd >= 0)
		w->ses->env->devices->close(w->ses->env->devices_ctx, w->fd);
	datafile_close(w->df);
	free(w->buf);
	free(w->steps);
}
