/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A measurement on real files in a folder of its own, as the command line would run it, by a clock of the test's: every
 * look at it is a millisecond, and the test may do something at any look. Include cmocka.h first.
 */
#ifndef PLATTER_TESTS_FILESRUN_H
#define PLATTER_TESTS_FILESRUN_H

#include <dirent.h>
#include <linux/magic.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "report/report.h"
#include "rows.h"
#include "session/session.h"

#define WORDS_MAX 64

/* cmocka's own compares floats. */
#define assert_near(a, b, most)                                               \
	do {                                                                  \
		double near_a = (a), near_b = (b);                            \
		if (!(fabs(near_a - near_b) <= (most)))                       \
			fail_msg("%s is %.9g, not %.9g", #a, near_a, near_b); \
	} while (0)

struct files_run {
	const struct measure *m;
	const char *words; /* what follows the command's name */
	void (*at_look)(struct files_run *run);
	const struct engine_ops *const *engines; /* NULL: none */
	uint64_t spin_ns;                        /* of the clock; 0: as of simulated disks */
	/* What came of it. */
	struct result *res;
	struct err err;
	int r;
	bool is_refused;
	/* inside */
	struct clock clk;
	uint64_t now_ns, looks;
	atomic_int cancel;
	bool is_done; /* for at_look: it did what it wanted to */
};

static char files_dir[64];

static inline int files_dir_in(const char *parent)
{
	(void)snprintf(files_dir, sizeof(files_dir), "%s/platter-unit.XXXXXX", parent);
	return mkdtemp(files_dir) ? 0 : -1;
}

/* In memory where there is such a place: then direct I/O costs nothing. */
static inline int files_dir_make(void **state)
{
	return access("/dev/shm", W_OK) == 0 ? files_dir_in("/dev/shm") : files_dir_in("/tmp");
}

/* For what is about the page cache: in memory nothing can be dropped from it. */
static inline int files_disk_make(void **state)
{
	return files_dir_in("/tmp");
}

/* Fails, and with it the test, when anything was left in it. */
static inline int files_dir_remove(void **state)
{
	return rmdir(files_dir);
}

static inline const char *files_path(const char *name)
{
	static char path[4][128];
	static unsigned turn;

	turn = (turn + 1) % 4;
	(void)snprintf(path[turn], sizeof(path[0]), "%s/%s", files_dir, name);
	return path[turn];
}

static inline unsigned files_left(void)
{
	DIR *dir = opendir(files_dir);
	unsigned n = 0;

	assert_non_null(dir);
	for (const struct dirent *e; (e = readdir(dir));)
		n += e->d_name[0] != '.';
	(void)closedir(dir);
	return n;
}

/* Nothing can be dropped from the page cache where it is all there is. */
static inline bool files_are_memory(void)
{
	struct statfs st;

	return statfs(files_dir, &st) == 0 && st.f_type == TMPFS_MAGIC;
}

static inline uint64_t files_now(struct clock *clk)
{
	struct files_run *run = (struct files_run *)((char *)clk - offsetof(struct files_run, clk));

	run->now_ns += NS_PER_MS;
	run->looks++;
	if (run->at_look && !run->is_done)
		run->at_look(run);
	return run->now_ns;
}

static inline void files_sleep(struct clock *clk, uint64_t until_ns)
{
	struct files_run *run = (struct files_run *)((char *)clk - offsetof(struct files_run, clk));

	if (run->now_ns < until_ns)
		run->now_ns = until_ns;
}

static inline void files_run(struct files_run *run)
{
	static const struct engine_ops *const none[] = { NULL };
	struct device_context ctx = { .sysroot = "/" };
	struct env env = { .engines = run->engines ? run->engines : none,
		           .clk = &run->clk,
		           .devices = &device_system,
		           .devices_ctx = &ctx,
		           .sysroot = "/",
		           .out = stdout,
		           .err = stderr };
	cleanup_free void *params = calloc(1, run->m->params_size + 1);
	struct common_table table;
	struct cli_params common = { 0 };
	const struct opt_set sets[] = { { run->m->opts, params }, { table.opts, &common } };
	char *argv[WORDS_MAX + 2], words[512], *save = NULL, name[] = "platter";
	struct session_config cfg = { .env = &env, .measure = run->m, .params = params, .cancel = &run->cancel };
	int argc = 0, first = 0;

	assert_non_null(params);
	run->clk = (struct clock){ "virtual", files_now, files_sleep, run->spin_ns };
	(void)snprintf(words, sizeof(words), "%s", run->words);
	argv[argc++] = name;
	for (char *word = strtok_r(words, " ", &save); word && argc < WORDS_MAX; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	common_table_init(&table, &env, run->m);
	run->r = opt_parse(sets, ARRAY_LEN(sets), argc, argv, &first, &run->err);
	if (run->r == 0)
		common_settle(&common);
	if (run->r == 0) {
		cfg.common = &common.common;
		cfg.paths = (const char *const *)(argv + first);
		cfg.npaths = (size_t)(argc - first);
		run->r = session_run(&cfg, &run->res, &run->is_refused, &run->err);
	}
	opt_done(sets, ARRAY_LEN(sets));
}

/* Runs and wants success. */
static inline void files_run_well(struct files_run *run)
{
	files_run(run);
	if (run->r != 0)
		fail_msg("%s: %s", run->m->name, run->err.text);
}

/* Such a run that is over; at_look: NULL, or as in struct files_run. */
static inline struct files_run files_ran(const struct measure *m, void (*at_look)(struct files_run *run),
                                         const char *words)
{
	struct files_run run = { .m = m, .at_look = at_look, .words = words };

	files_run_well(&run);
	return run;
}

static inline void files_done(struct files_run *run)
{
	result_free(run->res);
	run->res = NULL;
}

static inline double files_figure(const struct files_run *run, const char *name)
{
	return figure_number(result_find_figure(run->res, name));
}

static inline const struct table *files_table(const struct files_run *run, const char *name)
{
	const struct table *t = result_find_table(run->res, name);

	if (!t)
		fail_msg("there is no table %s", name);
	return t;
}

static inline bool files_has_notice(const struct files_run *run, const char *code, const char *part)
{
	return notices(run->res, code, part) > 0;
}

#endif
