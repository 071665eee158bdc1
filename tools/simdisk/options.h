/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of platter-simdisk: option tables, and what they make of a profile. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/desc.h"
#include "base/err.h"
#include "keeper.h"

struct sim_faults { /* beside those of the profile */
	struct strs fail_at;
	const char *gone_at;
	uint64_t gone_at_request;
};

struct sim_serving {
	const char *comp_in, *comp_out, *comp_copy;
	uint64_t spin_ns, priority, max_life_ns, watch_pid;
};

struct sim_replay {
	int think;
	uint64_t first, last;
	const char *csv;
};

struct sim_wild {
	uint64_t seed;
	const char *class_name;
	bool is_list;
};

struct sim_options {
	const char *run_dir, *name, *log, *seed;
	struct strs partitions, ranges;
	uint64_t sector_bytes;
	int rotational;
	bool is_read_only, is_foreground, is_all, is_forced, is_json;
	struct sim_faults faults;
	struct sim_serving serving;
	struct sim_replay replay;
	struct sim_wild wild;
};

extern const struct opt options_disk[];    /* start and run: the disk and how it is served */
extern const struct opt options_start[];   /* start alone */
extern const struct opt options_run_dir[]; /* whatever needs the run folder only */
extern const struct opt options_stop[], options_json[], options_truth[], options_replay[], options_wild[];

/* One disk to be: owns what params point to. */
struct sim_disk {
	struct profile profile;
	bool has_profile;
	char name[64], profile_path[512], run_dir[512], log_path[512];
	struct blockdev_span partitions[BLOCKDEV_PARTITIONS_MAX];
	struct keeper_params params;
};

/*
 * The profile `word` (a file, or the name of one that comes with the program) under these options, as disk `index` of
 * `count`. default_name: NULL: from the profile. 0, or negative errno and a sentence.
 */
int sim_disk_init(struct sim_disk *ret, const struct sim_options *o, const char *word, size_t index, size_t count,
                  const char *default_name, struct err *err);
void sim_disk_done(struct sim_disk *disk);
/* "START,SIZE"; 0, or -EINVAL and a sentence. */
int sim_parse_span(const char *text, struct blockdev_span *ret, struct err *err);
/* Where the profile is. */
int sim_find_profile(char *buf, size_t len, const char *word, struct err *err);
