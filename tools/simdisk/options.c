/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "replay.h"
#include "rundir.h"

enum { ROTATIONAL_AUTO, ROTATIONAL_YES, ROTATIONAL_NO };
static const char *const think_choices[] = { [THINK_BEFORE] = "before", [THINK_AFTER] = "after", NULL };
static const char *const rotational_choices[] = { "auto", "yes", "no", NULL };

#define O           struct sim_options
#define OPT_RUN_DIR OPT_STR(O, run_dir, "run-dir", 0, "DIR", RUNDIR_DEFAULT, "folder in which running disks are known")

const struct opt options_disk[] = {
	OPT_RUN_DIR,
	OPT_STR(O, name, "name", 'n', "NAME", NULL, "name of the disk; with several profiles NAME-1, NAME-2, ..."),
	OPT_STRS(O, partitions, "partition", 'p', "START,SIZE",
	         "add a partition, or three equal ones with the word thirds; may be given again"),
	OPT_U64(O, sector_bytes, "sector-size", 'b', "BYTES", "0",
	        "logical block, 512 or 4096 bytes; 0: that of the profile"),
	OPT_CHOICE(O, rotational, "rotational", 0, rotational_choices, "auto",
	           "what the queue says of it; auto: what the profile is"),
	OPT_FLAG(O, is_read_only, "read-only", 'r', "make the device read-only"),
	OPT_STR(O, log, "log", 0, "FILE", NULL, "write a line for each request"),
	OPT_STR(O, seed, "seed", 0, "NUMBER", NULL, "seed of the disk's noise instead of the profile's"),
	OPT_STRS(O, faults.fail_at, "fail-at", 0, "[OP:]N",
	         "the Nth request (of OP: read, write, flush) fails with EIO"),
	OPT_STR(O, faults.gone_at, "gone-at", 0, "TIME", NULL, "the disk disappears so long after its start"),
	OPT_U64(O, faults.gone_at_request, "gone-at-request", 0, "N", "0", "the disk disappears at its Nth request"),
	OPT_TIME(O, serving.max_life_ns, "max-life", 0, "TIME", "2h", "the disk ends after this time; 0: no limit"),
	OPT_U64(O, serving.watch_pid, "watch", 0, "PID", "0", "the disk ends with this process"),
	OPT_STR(O, serving.comp_in, "comp-in", 0, "TIME", "auto",
	        "what a request takes to the disk; auto: measured at the start"),
	OPT_STR(O, serving.comp_out, "comp-out", 0, "TIME", "auto", "what an answer takes to its reader"),
	OPT_STR(O, serving.comp_copy, "comp-copy", 0, "TIME", "auto", "what both take more for each MiB of data"),
	OPT_TIME(O, serving.spin_ns, "spin", 0, "TIME", "200us", "poll this long before an answer instead of sleeping",
	         .min = 0, .max = 1e6),
	OPT_U64(O, serving.priority, "priority", 0, "N", "20", "real-time priority (SCHED_FIFO); 0: ordinary", .min = 0,
	        .max = 99),
	OPT_END,
};
const struct opt options_start[] = {
	OPT_FLAG(O, is_foreground, "foreground", 'f', "stay until the disks end; SIGTERM and SIGINT end them"),
	OPT_END,
};
const struct opt options_run_dir[] = { OPT_RUN_DIR, OPT_END };
const struct opt options_stop[] = {
	OPT_FLAG(O, is_all, "all", 'a', "all disks of the run folder"),
	OPT_FLAG(O, is_forced, "force", 0, "even if it is mounted or otherwise in use: its users get errors"),
	OPT_END,
};
const struct opt options_truth[] = {
	OPT_STRS(O, ranges, "range", 0, "START,SIZE",
	         "print only the rate of streaming through these bytes; may be given again"),
	OPT_END,
};
const struct opt options_replay[] = {
	OPT_CHOICE(O, replay.think, "think", 0, think_choices, "before",
	           "whether a line's pause lies before or after its request"),
	OPT_U64(O, replay.first, "first", 0, "N", "1", "compare from this request on; all are replayed"),
	OPT_U64(O, replay.last, "last", 0, "N", "0", "compare up to this request; 0: the last"),
	OPT_STR(O, replay.csv, "csv", 0, "FILE", NULL, "write a line for each request"),
	OPT_END,
};
const struct opt options_wild[] = {
	OPT_U64(O, wild.seed, "seed", 's', "NUMBER", "1", "the same number gives the same disk"),
	OPT_STR(O, wild.class_name, "class", 'c', "NAME", NULL, "a disk of this class"),
	OPT_FLAG(O, wild.is_list, "list", 'l', "list the classes"),
	OPT_END,
};
const struct opt options_json[] = { OPT_FLAG(O, is_json, "json", 'j', "print JSON"), OPT_END };

/* ---- profiles ---- */

int sim_find_profile(char *buf, size_t len, const char *word, struct err *err)
{
	const char *const dirs[] = { getenv("PLATTER_SIMDISK_PROFILES"), SIMDISK_PROFILES, PROFILES_DIR };
	char path[PATH_MAX];

	if (strchr(word, '/') || access(word, R_OK) == 0) {
		(void)snprintf(buf, len, "%s", word);
		return 0;
	}
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (!dirs[i])
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s.disk", dirs[i], word);
		if (access(path, R_OK) == 0) {
			(void)snprintf(buf, len, "%s", path);
			return 0;
		}
	}
	return err_set(err, -ENOENT,
	               "There is no profile %s: neither a file of this name nor one of the profiles in %s.", word,
	               PROFILES_DIR);
}

static int add_fail(struct profile *p, const char *text, struct err *err)
{
	static const struct {
		const char *prefix;
		enum disk_op op;
	} kinds[] = { { "read:", DISK_READ }, { "write:", DISK_WRITE }, { "flush:", DISK_FLUSH }, { "", DISK_ANY } };
	struct profile_fail fail = { .err = -EIO };
	const char *rest = text;
	int r;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t n = strlen(kinds[i].prefix);

		if (strncmp(text, kinds[i].prefix, n) != 0)
			continue;
		fail.op = kinds[i].op;
		rest = text + n;
		break;
	}
	r = units_parse_u64(rest, &fail.nth, err);
	if (r < 0 || fail.nth == 0)
		return err_set(err, -EINVAL, "--fail-at=%s is not a number from 1 on, nor read:N, write:N or flush:N.",
		               text);
	return profile_add_fail(p, &fail);
}

static int apply_to_profile(struct profile *p, const struct sim_options *o, struct err *err)
{
	uint64_t gone_ns;
	int r = o->seed ? units_parse_u64(o->seed, &p->seed, err) : 0;

	if (r == 0 && o->faults.gone_at) {
		r = units_parse_time(o->faults.gone_at, &gone_ns, err);
		if (r == 0)
			p->faults.gone_at_s = (double)gone_ns / 1e9;
	}
	if (r == 0 && o->faults.gone_at_request)
		p->faults.gone_at_request = o->faults.gone_at_request;
	for (size_t i = 0; r == 0 && i < o->faults.fail_at.n; i++)
		r = add_fail(p, o->faults.fail_at.v[i], err);
	return r == 0 ? profile_finish(p, err) : r;
}

/* ---- partitions ---- */

static int add_span(struct sim_disk *disk, uint64_t start, uint64_t size, struct err *err)
{
	if (disk->params.npartitions == BLOCKDEV_PARTITIONS_MAX)
		return err_set(err, -E2BIG, "A simulated disk has at most %d partitions.", BLOCKDEV_PARTITIONS_MAX);
	disk->partitions[disk->params.npartitions++] = (struct blockdev_span){ start, size };
	return 0;
}

int sim_parse_span(const char *text, struct blockdev_span *ret, struct err *err)
{
	struct blockdev_span span = { 0 };
	char word[128], *comma;
	int r;

	(void)snprintf(word, sizeof(word), "%s", text);
	comma = strchr(word, ',');
	if (!comma)
		return err_set(err, -EINVAL, "%s is not START,SIZE.", text);
	*comma = '\0';
	r = units_parse_bytes(word, &span.offset_bytes, err);
	if (r == 0)
		r = units_parse_bytes(comma + 1, &span.len_bytes, err);
	if (r == 0)
		*ret = span;
	return r;
}

static int parse_partition(struct sim_disk *disk, const char *text, uint64_t disk_bytes, struct err *err)
{
	const uint32_t sector = disk->params.block.sector_bytes;
	struct blockdev_span span = { 0 };

	if (sim_parse_span(text, &span, err) < 0)
		return err_prefix(err, "--partition");
	if (span.offset_bytes % sector || span.len_bytes % sector || span.len_bytes == 0 ||
	    span.offset_bytes > disk_bytes || span.len_bytes > disk_bytes - span.offset_bytes)
		return err_set(err, -EINVAL,
		               "--partition=%s does not lie within the disk's %llu bytes in whole sectors of %u bytes.",
		               text, (unsigned long long)disk_bytes, sector);
	return add_span(disk, span.offset_bytes, span.len_bytes, err);
}

static int parse_partitions(struct sim_disk *disk, const struct sim_options *o, struct err *err)
{
	uint64_t bytes = disk->profile.capacity_lba * disk->profile.logical_sector_bytes;
	uint64_t third = bytes / 3 / 4096 * 4096;
	int r = 0;

	for (size_t i = 0; r == 0 && i < o->partitions.n; i++) {
		if (strcmp(o->partitions.v[i], "thirds") != 0) {
			r = parse_partition(disk, o->partitions.v[i], bytes, err);
			continue;
		}
		for (uint64_t k = 0; r == 0 && k < 3; k++)
			r = add_span(disk, k * third, third, err);
	}
	return r;
}

/* ---- compensation ---- */

static int parse_comp(const char *option, const char *text, bool *ret_is_auto, uint64_t *ret_ns, struct err *err)
{
	*ret_is_auto = strcmp(text, "auto") == 0;
	if (*ret_is_auto)
		return 0;
	return units_parse_time(text, ret_ns, err) < 0 ? err_prefix(err, "--%s", option) : 0;
}

static int set_path(struct sim_disk *disk, const struct sim_options *o, struct err *err)
{
	struct keeper_path *path = &disk->params.path;
	uint64_t copy_ns = 0;
	int r = parse_comp("comp-in", o->serving.comp_in, &path->is_in_auto, &path->known.in_ns, err);

	if (r == 0)
		r = parse_comp("comp-out", o->serving.comp_out, &path->is_out_auto, &path->known.out_ns, err);
	if (r == 0)
		r = parse_comp("comp-copy", o->serving.comp_copy, &path->is_copy_auto, &copy_ns, err);
	path->known.in_ns_per_byte = path->known.out_ns_per_byte = (double)copy_ns / (1 << 20);
	if (r == 0 && (path->known.in_ns > NS_PER_S || path->known.out_ns > NS_PER_S || copy_ns > NS_PER_S))
		r = err_set(err, -EINVAL, "A compensation of more than a second is none.");
	return r;
}

/* ---- the whole disk ---- */

static int set_name(struct sim_disk *disk, const struct sim_options *o, size_t index, size_t count,
                    const char *default_name, struct err *err)
{
	const char *base = o->name ? o->name : default_name ? default_name : disk->profile.name;
	int n;

	if (count > 1 && (o->name || default_name))
		n = snprintf(disk->name, sizeof(disk->name), "%s-%zu", base, index + 1);
	else
		n = snprintf(disk->name, sizeof(disk->name), "%s", base);
	if (n < 0 || (size_t)n >= sizeof(disk->name) || !rundir_is_name(disk->name))
		return err_set(
			err, -EINVAL,
			"%s cannot be the name of a disk: at most %d letters, digits, '.', '_' and '-'; see --name.",
			base, RUNDIR_NAME_MAX);
	return 0;
}

/* The keeper works from "/". */
static int absolute(char *buf, size_t len, const char *path, struct err *err)
{
	char cwd[PATH_MAX] = "";
	int n;

	if (path[0] != '/' && !getcwd(cwd, sizeof(cwd)))
		return err_set(err, -errno, "Cannot tell the current folder: %s.", strerror(errno));
	n = path[0] == '/' ? snprintf(buf, len, "%s", path) : snprintf(buf, len, "%s/%s", cwd, path);
	return n > 0 && (size_t)n < len ? 0 : err_set(err, -ENAMETOOLONG, "The path %s is too long.", path);
}

static int set_paths(struct sim_disk *disk, const struct sim_options *o, size_t count, struct err *err)
{
	char log[PATH_MAX];
	int r = absolute(disk->run_dir, sizeof(disk->run_dir), o->run_dir, err);

	if (r < 0 || !o->log)
		return r;
	if (count > 1)
		(void)snprintf(log, sizeof(log), "%s.%s", o->log, disk->name);
	else
		(void)snprintf(log, sizeof(log), "%s", o->log);
	return absolute(disk->log_path, sizeof(disk->log_path), log, err);
}

static int set_block(struct sim_disk *disk, const struct sim_options *o, struct err *err)
{
	const struct profile *p = &disk->profile;
	uint64_t sector = o->sector_bytes ? o->sector_bytes : p->logical_sector_bytes;

	if (sector != 512 && sector != 1024 && sector != 2048 && sector != 4096)
		return err_set(err, -EINVAL, "A sector of %llu bytes does not work: 512 or 4096 do.",
		               (unsigned long long)sector);
	if (sector < p->logical_sector_bytes)
		return err_set(err, -EINVAL, "The profile's sectors have %u bytes: --sector-size=%llu is too small.",
		               p->logical_sector_bytes, (unsigned long long)sector);
	disk->params.block = (struct blockdev_params){
		.sector_bytes = (uint32_t)sector,
		.is_read_only = o->is_read_only,
		.is_rotational =
			o->rotational == ROTATIONAL_AUTO ? p->kind == DISK_ROTATING : o->rotational == ROTATIONAL_YES,
		.max_sectors_kb = 1024,
		.label = disk->name,
	};
	return 0;
}

int sim_disk_init(struct sim_disk *ret, const struct sim_options *o, const char *word, size_t index, size_t count,
                  const char *default_name, struct err *err)
{
	int r;

	*ret = (struct sim_disk){ 0 };
	r = sim_find_profile(ret->profile_path, sizeof(ret->profile_path), word, err);
	if (r == 0)
		r = profile_load(&ret->profile, ret->profile_path, err);
	ret->has_profile = r == 0;
	if (r == 0)
		r = apply_to_profile(&ret->profile, o, err);
	if (r == 0)
		r = set_name(ret, o, index, count, default_name, err);
	if (r == 0)
		r = set_paths(ret, o, count, err);
	if (r == 0)
		r = set_block(ret, o, err);
	if (r == 0)
		r = parse_partitions(ret, o, err);
	if (r == 0)
		r = set_path(ret, o, err);
	if (r < 0) {
		sim_disk_done(ret);
		return r;
	}
	ret->params.run_dir = ret->run_dir;
	ret->params.name = ret->name;
	ret->params.profile_path = ret->profile_path;
	ret->params.profile = &ret->profile;
	ret->params.partitions = ret->partitions;
	ret->params.log_path = o->log ? ret->log_path : NULL;
	ret->params.watch_pid = (int64_t)o->serving.watch_pid;
	ret->params.max_life_ns = o->serving.max_life_ns;
	ret->params.tuning = (struct server_tuning){
		.spin_ns = o->serving.spin_ns,
		.priority = o->serving.priority,
	};
	return 0;
}

void sim_disk_done(struct sim_disk *disk)
{
	if (disk->has_profile)
		profile_done(&disk->profile);
	disk->has_profile = false;
}
