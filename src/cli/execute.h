/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run: all that it needs, and its end. several.c has one in a process for each target, run.c the command line. */
#pragma once

#include "cli/cli.h"

/* Of the records of a long run in the file of --jsonl. */
struct series {
	uint64_t at_ns; /* of the last record; 0: none */
	struct moved {
		uint64_t read_bytes, written_bytes, faults;
	} sum, last;
	char target[64]; /* of the last request that moved anything, and where that ended */
	uint64_t offset_bytes;
};

struct run {
	const struct env *env;
	const struct measure *m;
	const char *const *argv;
	size_t argc;
	struct common_table table;
	struct cli_params p;
	struct view_params view;
	void *own; /* the measurement's params */
	const char *const *operands;
	size_t noperands;
	struct option_value *options; /* in force, for the document */
	size_t noptions;
	struct progress *progress;
	struct log *log;
	int log_error; /* of the last line: a full disk must not end a measurement */
	struct saver *saver;
	bool is_trouble_reported; /* of the saver's */
	struct series series;
	struct requests *requests;
	struct err save_err;    /* the first file that could not be saved */
	bool is_one_of_several; /* the process that shows them all is another */
	char **each;            /* of several targets with a run each: their --json; NULL: not asked for */
};

/* Nothing was measured: a wrong command line, a refusal, or a target that cannot be had. */
int run_exit_of_error(int r, bool is_refused);
/* Of one run. ret_res: NULL, or gets its document, where there is one to be saved. */
int run_execute(struct run *run, struct result **ret_res);
/* Files first: they are what must not be lost; then the text. */
void run_save_and_show(struct run *run, const struct result *const *docs, size_t n);

/* ---- several.c: one measurement of several targets, each by a process of its own ---- */

bool several_is_asked(const struct run *run);
/* Before outputs are opened: a name for each target in place of --json. */
int several_names(struct run *run, struct err *err);
int several_execute(struct run *run, struct err *err);
