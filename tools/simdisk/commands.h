/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands of platter-simdisk: each returns the exit status (cli/cli.h). */
#pragma once

#include "options.h"

/* words: operands; command: argv behind "--", NULL without one. */
int cmd_start(const struct sim_options *o, char **words, size_t n, char **command);
int cmd_run(const struct sim_options *o, char **words, size_t n, char **command);
int cmd_stop(const struct sim_options *o, char **words, size_t n, char **command);
int cmd_list(const struct sim_options *o, char **words, size_t n, char **command);
int cmd_status(const struct sim_options *o, char **words, size_t n, char **command);
int cmd_replay(const struct sim_options *o, char **words, size_t n, char **command);
int cmd_truth(const struct sim_options *o, char **words, size_t n, char **command);
int cmd_wild(const struct sim_options *o, char **words, size_t n, char **command);

/* Prints "platter-simdisk: SENTENCE" on stderr; returns the exit status that fits. */
int complain(const struct err *err);

/* Several disks at once. */
struct fleet {
	struct sim_disk *disks;
	struct keeper *keepers;
	size_t n, nstarted;
};
/* Starts all or none. is_background: sessions that outlive us; otherwise they are our children and end with us. */
int fleet_start(struct fleet *ret, const struct sim_options *o, char **words, size_t n, const char *default_name,
                bool is_background, struct err *err);
/* Ends all (of our children) and frees. */
void fleet_stop(struct fleet *fleet);
void fleet_free(struct fleet *fleet);
