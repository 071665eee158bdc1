/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DiskMark (Dujmovic): records of 64 bytes written one after the other for a given time, all read back, then read in
 * random order for the same time; the mark is the harmonic mean of the three speeds in MiB/s. The same work is done in
 * three ways side by side:
 *
 *   stream   through a buffer of 8 KiB in the program, as the C++ streams of the seed do: a random read seeks, so it
 * fills a new buffer syscall  one pread or pwrite for each record media    O_DIRECT, records of one sector: what the
 * disk itself does
 *
 * Check sums over the records must agree (the seed counts the last record twice at end of file; this does not). Draws
 * of record numbers are judged by mean and coefficient of variation as in the seed, and by what a poor generator does
 * not pass: a Kolmogorov-Smirnov test and the number of distinct records. They are repeated from the seed after the
 * clock has stopped, so that judging costs no measured time.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "measure/mark/mark.h"
#include "measure/shared/cgroup.h"

#define SWEEP_MORE \
	12 /* runs that narrow down where the cache ends: 8 halvings do it from 64K to 2G, if no run contradicts */
#define SWEEP_NARROW \
	1.08 /* its two sides, one over the other; a choice: each halving costs a run as long as the first */

/* The repetitions of one way. *ret_n: how many were done. */
static int run_repetitions(struct mark_run *m, enum mark_way way, enum mark_way from, struct mark_row *rows,
                           size_t *ret_n)
{
	struct table *t = result_table(m->ses->res, "runs", "Each repetition", mark_run_fields);
	double total = (double)(WAYS - from) * (double)m->p->repeat;
	int r = 0;

	for (uint64_t k = 0; k < m->p->repeat && r == 0; k++) {
		struct mark_row *row = &rows[*ret_n];

		session_progress(m->ses, mark_way_names[way], ((double)((way - from) * m->p->repeat + k)) / total,
		                 NULL);
		r = mark_run_way(m, way, k, m->time_ns, 0, row);
		if (r < 0)
			break;
		session_log(m->ses, "%s: write %.2f, read %.2f, random %.2f, DiskMark %.2f MiB/s", mark_way_names[way],
		            row->write_mib_per_s, row->read_mib_per_s, row->random_mib_per_s, row->diskmark_mib_per_s);
		result_row(t, row);
		++*ret_n;
		session_checkpoint(m->ses);
	}
	return r;
}

static int run_ways(struct mark_run *m)
{
	enum mark_way from = m->p->mode ? WAY_MEDIA : WAY_STREAM;
	int r = 0;

	(void)mark_way_table(m->ses->res); /* the first to be shown */
	for (enum mark_way way = from; way < WAYS && r == 0 && !session_is_over(m->ses); way++) {
		struct mark_row rows[MARK_REPEATS_MAX];
		size_t n = 0;

		r = run_repetitions(m, way, from, rows, &n);
		if (n)
			mark_report_way(m->ses->res, rows, n, way == from ? &m->draws : NULL);
		if (n && way == from)
			mark_report_what(m->ses->res, rows[n - 1].file_bytes, rows[n - 1].cached_ratio,
			                 way == WAY_MEDIA);
		if (r == -EOPNOTSUPP && !m->p->mode) {
			result_notice(m->ses->res, "no-direct",
			              "The file system of %s takes no direct I/O, so the media way is missing.",
			              m->path);
			r = 0;
			break;
		}
	}
	return r;
}

/* One point of the sweep: for that many seconds of writing, or of that size. */
static int sweep_point(struct mark_run *m, struct mark_cache_end *s, uint64_t ns, uint64_t bytes)
{
	enum mark_way way = m->p->mode ? WAY_MEDIA : WAY_STREAM;
	struct mark_row row;
	struct mark_point out;
	int r = mark_run_way(m, way, 0, ns ? ns : m->time_ns, bytes, &row);

	if (r < 0)
		return r;
	out = (struct mark_point){ row.file_bytes,       row.write_mib_per_s,    row.read_mib_per_s,
		                   row.random_mib_per_s, row.diskmark_mib_per_s, row.cached_ratio,
		                   row.from_device_ratio };
	result_row(result_table(m->ses->res, "sweep", "Mark against file size", mark_sweep_fields), &out);
	session_checkpoint(m->ses);
	mark_note_point(s, &out);
	return 0;
}

/* The sizes of the list; then between the largest that was in memory and the smallest that was not, until they are near
 * each other. */
static int run_sweep(struct mark_run *m, struct err *err)
{
	struct mark_cache_end s = { 0, UINT64_MAX };
	int r = 0;

	for (const char *at = m->p->sweep; r == 0 && *at && !session_is_over(m->ses);) {
		size_t len = strcspn(at, ",");
		uint64_t ns, bytes;

		r = mark_sweep_item(at, len, &ns, &bytes, err);
		session_progress(m->ses, "sweep", (double)(at - m->p->sweep) / (double)strlen(m->p->sweep), NULL);
		if (r == 0)
			r = sweep_point(m, &s, ns, bytes);
		at += len + (at[len] == ',');
	}
	for (unsigned k = 0; r == 0 && k < SWEEP_MORE && !m->p->mode && !session_is_over(m->ses); k++) {
		double low = (double)s.largest_cached, high = (double)s.smallest_not;

		if (!s.largest_cached || s.smallest_not == UINT64_MAX || high / low <= SWEEP_NARROW)
			break;
		session_progress(m->ses, "where the cache ends", (double)k / SWEEP_MORE, NULL);
		r = sweep_point(m, &s, 0, (uint64_t)sqrt(low * high) / MARK_RECORD_BYTES * MARK_RECORD_BYTES);
	}
	mark_report_sweep(m->ses->res, &s, m->p->mode);
	return r;
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
	m.max_bytes = mark_room_for(m.path, p->max_size_bytes);
	m.buf = buf = xaligned(65536);
	payload_pool_init(&m.pool, ses->seed, 65536);
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
		mark_report_plots(ses->res, p->sweep != NULL);
		if (r == -EINTR || ses->res->nfault_totals)
			r = 0; /* interrupted, or the disk answered badly: the document says so */
		else if (r == -EOPNOTSUPP)
			r = err_set(
				err, r,
				"The file system of %s takes no direct I/O; without --mode=direct the cached ways work.",
				m.path);
		else if (r < 0)
			r = err_set(err, r, "%s could not be measured (%s).", m.path, err_name(r));
	}
	datafile_close(m.df);
	cgroup_leave(cg);
	payload_pool_done(&m.pool);
	free(buf);
	return r;
}

static const struct screen_decl mark_screen = {
	.shows =
		"diskmark_mib_per_s,write_mib_per_s,write_synced_mib_per_s,read_mib_per_s,random_mib_per_s,diskmark_syscall_mib_per_s,diskmark_media_mib_per_s,covered_ratio,#ways",
	.says =
		(const struct clause[]){
			{ "DiskMark {diskmark_mib_per_s}: writing {write_mib_per_s}, reading {read_mib_per_s}, at random {random_mib_per_s}" },
			{ "{diskmark_media_mib_per_s} with direct requests to the medium" },
			{ NULL },
		},
};

const struct measure measure_mark = {
	.name = "mark",
	.help = "DiskMark: small records written, read and read at random",
	.group = GROUP_PROGRAM,
	.targets = "FILE|DIRECTORY",
	.takes = TAKES_FILES | TAKES_FOLDERS,
	.may_create = true,
	.opts = mark_opts,
	.params_size = sizeof(struct mark_params),
	.plan = mark_plan,
	.run = mark_run,
	.screen = &mark_screen,
	.tables = mark_tables,
};
