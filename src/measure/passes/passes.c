/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program gets that writes a file and reads it several times (Longbottom, DISKMBPS 1997): blocks of 64 KiB of
 * words that do not compress, written once, read R times, every word compared. Beside the rate of each pass stands what
 * of it came from the device, by three witnesses: counted by the kernel for the very thread (/proc/thread-self/io), by
 * the disk for everybody (diskstats), and what was in memory before (cachestat). Writing and fsync() are steps of their
 * own.
 *
 * These loops do not go through load_run(): at memory speed a request object per 64 KiB would be part of what is
 * measured, and cached reads are answered at once. Several files run at once as threads; they share nothing but the
 * document, under one lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "measure/passes/passes.h"

static void figures(struct session *ses, const struct passes_params *p, const struct passes_work *works, size_t n)
{
	struct passes_step *all;
	struct passes_found found;
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		k += works[i].nsteps;
	all = xcalloc(k + 1, sizeof(*all));
	k = 0;
	for (size_t i = 0; i < n; i++) {
		memcpy(all + k, works[i].steps, works[i].nsteps * sizeof(*all));
		k += works[i].nsteps;
	}
	passes_analyse(all, k, n, &found);
	free(all);
	passes_report_figures(ses->res, &found, p->size_bytes != 0);
}

static int passes_run(struct session *ses, const void *params, struct err *err)
{
	const struct passes_params *p = params;
	struct passes_shared shared = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct passes_work works[PASSES_FILES_MAX] = { 0 };
	size_t n = 0, started = 0;
	int r = 0;

	payload_pool_init(&shared.pool, PASSES_SEED, PASSES_BLOCK_BYTES);
	while (r == 0 && n < ses->ndevs) {
		struct passes_work *w = &works[n];

		*w = (struct passes_work){ .ses = ses, .p = p, .index = n++, .shared = &shared, .fd = -1 };
		r = passes_work_init(w, err);
		shared.all_bytes += w->size * ((p->size_bytes != 0) + p->passes);
	}
	if (r == 0)
		pagecache_note_witness(ses, works[0].fd);
	for (; r == 0 && started < n; started++)
		if (pthread_create(&works[started].thread, NULL, passes_work_run, &works[started]) != 0)
			r = err_set(err, -EAGAIN, "No thread could be started for %s.", works[started].path);
	for (size_t i = 0; i < started; i++)
		(void)pthread_join(works[i].thread, NULL); /* of our own threads: cannot fail */
	if (r == 0) {
		figures(ses, p, works, n);
		passes_report_words(ses->res, works, n);
		passes_report_plots(ses);
	}
	for (size_t i = 0; i < n; i++)
		passes_work_done(&works[i]);
	payload_pool_done(&shared.pool);
	return r;
}

static const struct screen_decl passes_screen = {
	.shows =
		"write_bytes_per_s,write_synced_bytes_per_s,fsync_ns,read_bytes_per_s,read_from_device_ratio,unread_bytes,verify_errors,wrong_words,#steps",
	.says =
		(const struct clause[]){
			{ "Writing {write_synced_bytes_per_s} with fsync" },
			{ "reading {read_bytes_per_s} in {read_bytes_per_s#reading}" },
			{ "{unread_bytes} could not be read", .if_any = "unread_bytes" },
			{ "{read_from_device_ratio} of it came from the device" },
			{ "{verify_errors:block} not as written", .if_any = "verify_errors" },
			{ "all {checked_bytes} that were compared are as written", .if_any = "checked_bytes",
	                  .if_none = "verify_errors" },
			{ "nothing was read back", .if_none = "checked_bytes" },
			{ NULL },
		},
};

const struct measure measure_passes = {
	.name = "passes",
	.help = "write a file and read it several times, as a program would",
	.group = GROUP_PROGRAM,
	.targets = "FILE|DIRECTORY|DEVICE...",
	.max_targets = PASSES_FILES_MAX,
	.takes = TAKES_DISKS | TAKES_FILES | TAKES_FOLDERS,
	.may_create = true,
	.opts = passes_opts,
	.params_size = sizeof(struct passes_params),
	.plan = passes_plan,
	.run = passes_run,
	.screen = &passes_screen,
	.tables = passes_tables,
};
