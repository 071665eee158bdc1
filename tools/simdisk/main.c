/* SPDX-License-Identifier: GPL-2.0-or-later */
/* platter-simdisk: disks whose truth is known, as real block devices. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/opt_help.h"
#include "base/units.h"
#include "cli/cli.h"
#include "commands.h"
#include "rundir.h"
#include "shared.h"
#include "wild.h"

#define TABLES_MAX 3

struct sim_command {
	const char *name, *operands, *help;
	int (*fn)(const struct sim_options *o, char **words, size_t n, char **command);
	const struct opt *tables[TABLES_MAX];
	size_t min_words, max_words;
};

static const struct sim_command sim_commands[] = {
	{ "run",
	  "PROFILE... -- COMMAND [ARGUMENT...]",
	  "run a command on simulated disks, then remove them",
	  cmd_run,
	  { options_disk },
	  1,
	  64 },
	{ "start",
	  "PROFILE...",
	  "start simulated disks and print their devices",
	  cmd_start,
	  { options_disk, options_start },
	  1,
	  64 },
	{ "stop", "NAME... | --all", "stop simulated disks", cmd_stop, { options_run_dir, options_stop }, 0, 64 },
	{ "list", "", "list running disks", cmd_list, { options_run_dir }, 0, 0 },
	{ "status", "NAME", "how punctual a running disk is", cmd_status, { options_run_dir, options_json }, 1, 1 },
	{ "truth",
	  "PROFILE",
	  "what a measurement of the disk should find",
	  cmd_truth,
	  { options_json, options_truth },
	  1,
	  1 },
	{ "replay",
	  "PROFILE TRACE",
	  "hold the model of a drive against the drive's own trace",
	  cmd_replay,
	  { options_json, options_replay },
	  2,
	  2 },
	{ "wild", "", "print the profile of a disk drawn at random", cmd_wild, { options_wild }, 0, 0 },
};

int complain(const struct err *err)
{
	(void)fprintf(stderr, "platter-simdisk: %s\n", err->text);
	switch (err->code) {
	case -EINVAL:
		return EXIT_USAGE;
	case -EBUSY:
		return EXIT_REFUSED;
	default:
		return EXIT_FAILED;
	}
}

/* ---- stop ---- */

static int stop_one(const struct sim_options *o, const struct rundir_entry *e)
{
	struct err err = { 0 };
	int r = 0;

	if (!o->is_forced && e->device[0] && blockdev_is_claimed(e->device, (unsigned)e->partitions))
		r = err_set(&err, -EBUSY,
		            "%s (%s) is mounted or otherwise in use. Unmount it, or give --force: its users get errors "
		            "then.",
		            e->name, e->device);
	if (r == 0)
		r = keeper_stop((pid_t)e->keeper, (pid_t)e->server, &err);
	return r < 0 ? complain(&err) : EXIT_DONE;
}

int cmd_stop(const struct sim_options *o, char **words, size_t n, char **command)
{
	struct rundir_entry *all = NULL;
	struct err err = { 0 };
	int status = EXIT_DONE;
	size_t nall = 0;

	(void)command;
	if (o->is_all == (n > 0)) {
		(void)err_set(&err, -EINVAL, "Say which disks to stop: their names, or --all.");
		return complain(&err);
	}
	if (o->is_all && rundir_list(o->run_dir, &all, &nall, &err) < 0)
		return complain(&err);
	for (size_t i = 0; i < (o->is_all ? nall : n); i++) {
		struct rundir_entry one;
		int r = o->is_all ? 0 : rundir_find(o->run_dir, words[i], &one, &err);
		int s = r < 0 ? complain(&err) : stop_one(o, o->is_all ? &all[i] : &one);

		if (s != EXIT_DONE)
			status = s;
	}
	free(all);
	return status;
}

/* ---- list, status ---- */

int cmd_list(const struct sim_options *o, char **words, size_t n, char **command)
{
	struct rundir_entry *all = NULL;
	struct err err = { 0 };
	char size[32];
	size_t nall = 0;

	(void)words;
	(void)n;
	(void)command;
	if (rundir_list(o->run_dir, &all, &nall, &err) < 0)
		return complain(&err);
	for (size_t i = 0; i < nall; i++) {
		if (i == 0)
			(void)printf("%-20s %-12s %9s %8s %s\n", "NAME", "DEVICE", "SIZE", "PID", "PROFILE");
		(void)printf("%-20s %-12s %9s %8" PRId64 " %s\n", all[i].name, all[i].device,
		             units_bytes_dec(size, sizeof(size), all[i].size_bytes), all[i].keeper, all[i].profile);
	}
	free(all);
	return EXIT_DONE;
}

/* The keeper's memory, seen through its descriptor; NULL and a sentence. */
static const struct sim_shared *map_shared(const struct rundir_entry *e, struct err *err)
{
	char path[64];
	cleanup_close int fd = -1;
	void *mem = MAP_FAILED;

	(void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/fd/%" PRId64, e->keeper, e->memfd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		mem = mmap(NULL, sizeof(struct sim_shared), PROT_READ, MAP_SHARED, fd, 0);
	if (mem != MAP_FAILED)
		return mem;
	(void)err_set(err, -errno, "Cannot look into %s: %s.", e->name, strerror(errno));
	return NULL;
}

static const char *state_name(int state)
{
	static const char *const names[] = { [SIM_SETUP] = "starting",
		                             [SIM_CALIBRATING] = "starting",
		                             [SIM_RUNNING] = "running",
		                             [SIM_GONE] = "gone",
		                             [SIM_DRAINED] = "ending" };

	return state >= 0 && (size_t)state < ARRAY_LEN(names) ? names[state] : "?";
}

static json_t *status_json(const struct rundir_entry *e, const struct sim_shared *s)
{
	const struct disk_counters *c = &s->counters;
	const struct hist *h = &s->lateness;
	json_t *lateness =
		json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "answers", (json_int_t)h->count, "p50_ns",
	                  (json_int_t)hist_quantile(h, 0.5), "p99_ns", (json_int_t)hist_quantile(h, 0.99), "p999_ns",
	                  (json_int_t)hist_quantile(h, 0.999), "max_ns", (json_int_t)(h->count ? h->max : 0),
	                  "over_1ms", (json_int_t)s->late_1ms, "over_1ms_sum_ns", (json_int_t)s->late_1ms_ns);
	json_t *counters =
		json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "requests", (json_int_t)c->requests, "reads",
	                  (json_int_t)c->reads, "writes", (json_int_t)c->writes, "flushes", (json_int_t)c->flushes,
	                  "read_bytes", (json_int_t)c->read_bytes, "written_bytes", (json_int_t)c->written_bytes,
	                  "hits", (json_int_t)c->hits, "stream_hits", (json_int_t)c->stream_hits, "misses",
	                  (json_int_t)c->misses, "errors", (json_int_t)c->errors);

	json_t *path =
		json_pack("{s:I,s:I,s:f,s:f}", "in_ns", (json_int_t)s->path.in_ns, "out_ns", (json_int_t)s->path.out_ns,
	                  "in_ns_per_byte", s->path.in_ns_per_byte, "out_ns_per_byte", s->path.out_ns_per_byte);

	return json_pack("{s:s,s:s,s:s,s:s,s:b,s:I,s:I,s:I,s:I,s:o,s:o,s:o}", "name", e->name, "device", e->device,
	                 "profile", e->profile, "state", state_name(s->state), "realtime", (int)s->is_realtime,
	                 "size_bytes", (json_int_t)e->size_bytes, "keeper_pid", (json_int_t)e->keeper, "server_pid",
	                 (json_int_t)e->server, "in_flight", (json_int_t)s->in_flight, "path", path, "lateness",
	                 lateness, "counters", counters);
}

static void status_text(const struct rundir_entry *e, const struct sim_shared *s)
{
	const struct hist *h = &s->lateness;
	char a[32], b[32], c[32], d[32];

	(void)printf("%s: %s, %s, %s\n", e->name, e->device, state_name(s->state),
	             units_bytes_dec(a, sizeof(a), e->size_bytes));
	(void)printf("requests: %" PRIu64 " answered, %" PRIu64 " in flight, %" PRIu64 " failed\n", h->count,
	             (uint64_t)s->in_flight, s->counters.errors);
	(void)printf("way to the disk %s, back %s; a MiB more: writing %s, reading %s\n",
	             units_time(a, sizeof(a), s->path.in_ns), units_time(b, sizeof(b), s->path.out_ns),
	             units_time(c, sizeof(c), (uint64_t)(s->path.in_ns_per_byte * (1 << 20))),
	             units_time(d, sizeof(d), (uint64_t)(s->path.out_ns_per_byte * (1 << 20))));
	(void)printf("lateness of answers%s: median %s, 99 %% %s, 99.9 %% %s, at most %s\n",
	             s->is_realtime ? "" : " (without real-time priority)",
	             units_time(a, sizeof(a), hist_quantile(h, 0.5)), units_time(b, sizeof(b), hist_quantile(h, 0.99)),
	             units_time(c, sizeof(c), hist_quantile(h, 0.999)),
	             units_time(d, sizeof(d), h->count ? h->max : 0));
	(void)printf("later than 1 ms: %" PRIu64 ", together %s\n", s->late_1ms,
	             units_time(a, sizeof(a), s->late_1ms_ns));
}

int cmd_status(const struct sim_options *o, char **words, size_t n, char **command)
{
	const struct sim_shared *shared = NULL;
	struct rundir_entry entry;
	struct err err = { 0 };

	(void)n;
	(void)command;
	if (rundir_find(o->run_dir, words[0], &entry, &err) == 0)
		shared = map_shared(&entry, &err);
	if (!shared)
		return complain(&err);
	if (o->is_json) {
		json_t *json = status_json(&entry, shared);

		if (json)
			(void)json_dumpf(json, stdout, JSON_INDENT(2));
		(void)putchar('\n');
		json_decref(json);
	} else {
		status_text(&entry, shared);
	}
	return EXIT_DONE;
}

/* ---- truth ---- */

/* Exact for the sectors that lie there, whatever surfaces and bands they are on. */
static int print_ranges(const struct sim_options *o, const struct profile *p, struct err *err)
{
	struct geometry *g = geometry_new(p);
	json_t *all = json_array();
	int r = g && all ? 0 : err_set(err, -ENOMEM, "Out of memory.");

	for (size_t i = 0; r == 0 && i < o->ranges.n; i++) {
		struct blockdev_span span;
		uint64_t end;
		double rate;

		r = sim_parse_span(o->ranges.v[i], &span, err);
		if (r < 0)
			break;
		end = span.offset_bytes + span.len_bytes;
		if (span.len_bytes == 0 || end > geometry_bytes(g) || end < span.offset_bytes) {
			r = err_set(err, -EINVAL, "--range=%s is not within the disk's %" PRIu64 " bytes.",
			            o->ranges.v[i], geometry_bytes(g));
			break;
		}
		rate = truth_rate(g, span.offset_bytes, end);
		if (!o->is_json)
			(void)printf("%" PRIu64 " %" PRIu64 " %.0f B/s\n", span.offset_bytes, end, rate);
		(void)json_array_append_new(all, json_pack("{s:I,s:I,s:f}", "first_byte", (json_int_t)span.offset_bytes,
		                                           "end_byte", (json_int_t)end, "rate_bytes_per_s", rate));
	}
	if (r == 0 && o->is_json) {
		(void)json_dumpf(all, stdout, JSON_INDENT(2));
		(void)putchar('\n');
	}
	json_decref(all);
	geometry_free(g);
	return r;
}

int cmd_truth(const struct sim_options *o, char **words, size_t n, char **command)
{
	struct profile profile;
	struct err err = { 0 };
	char path[512];
	int r = sim_find_profile(path, sizeof(path), words[0], &err);

	(void)n;
	(void)command;
	if (r == 0)
		r = profile_load(&profile, path, &err);
	if (r < 0)
		return complain(&err);
	if (o->ranges.n) {
		r = print_ranges(o, &profile, &err);
	} else {
		r = truth_print(stdout, &profile, o->is_json);
		if (r < 0)
			(void)err_set(&err, r, "Cannot print the truth: %s.", strerror(-r));
	}
	profile_done(&profile);
	if (r < 0)
		return complain(&err);
	return EXIT_DONE;
}

/* ---- wild ---- */

int cmd_wild(const struct sim_options *o, char **words, size_t n, char **command)
{
	struct profile profile;
	struct err err = { 0 };
	int r;

	(void)words;
	(void)n;
	(void)command;
	if (o->wild.is_list) {
		for (const struct wild_class *c = wild_classes; c->name; c++)
			(void)printf("%-14s %s\n", c->name, c->what);
		return EXIT_DONE;
	}
	r = profile_wild(&profile, o->wild.seed, o->wild.class_name, &err);
	if (r < 0)
		return complain(&err);
	r = profile_save(stdout, &profile);
	if (r < 0)
		(void)err_set(&err, r, "Cannot print the profile: %s.", strerror(-r));
	profile_done(&profile);
	return r < 0 ? complain(&err) : EXIT_DONE;
}

/* ---- the command line ---- */

static void help(FILE *out)
{
	(void)fputs("Usage: platter-simdisk COMMAND [OPTION...] ...\n\n"
	            "Makes real block devices out of modelled disks whose truth is known.\n\n",
	            out);
	for (size_t i = 0; i < ARRAY_LEN(sim_commands); i++)
		(void)fprintf(out, "  %-8s %-38s %s\n", sim_commands[i].name, sim_commands[i].operands,
		              sim_commands[i].help);
	(void)fputs("\n`platter-simdisk COMMAND --help` lists a command's options; platter-simdisk(8) has the rest.\n",
	            out);
}

static void help_command(const struct sim_command *cmd)
{
	(void)printf("Usage: platter-simdisk %s [OPTION...] %s\n\n%c%s.\n\nOptions:\n", cmd->name, cmd->operands,
	             cmd->help[0] - 'a' + 'A', cmd->help + 1);
	for (size_t i = 0; i < TABLES_MAX && cmd->tables[i]; i++)
		opt_help(stdout, cmd->tables[i]);
}

/* What follows "--" is the command's own, with its options. */
static char **split_command(int *argc, char **argv)
{
	for (int i = 0; i < *argc; i++) {
		if (strcmp(argv[i], "--") != 0)
			continue;
		*argc = i;
		argv[i] = NULL;
		return argv + i + 1;
	}
	return NULL;
}

static int run_command(const struct sim_command *cmd, int argc, char **argv)
{
	struct sim_options options = { .run_dir = RUNDIR_DEFAULT };
	struct opt_set sets[TABLES_MAX];
	char **command = split_command(&argc, argv);
	struct err err = { 0 };
	int first = argc, status;
	size_t nsets = 0;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			help_command(cmd);
			return EXIT_DONE;
		}
	}
	for (; nsets < TABLES_MAX && cmd->tables[nsets]; nsets++)
		sets[nsets] = (struct opt_set){ cmd->tables[nsets], &options };
	if (opt_parse(sets, nsets, argc, argv, &first, &err) < 0)
		return complain(&err);
	if ((size_t)(argc - first) < cmd->min_words || (size_t)(argc - first) > cmd->max_words) {
		(void)err_set(&err, -EINVAL, "Usage: platter-simdisk %s [OPTION...] %s", cmd->name, cmd->operands);
		status = complain(&err);
	} else {
		status = cmd->fn(&options, argv + first, (size_t)(argc - first), command);
	}
	opt_done(sets, nsets);
	if (fflush(stdout) || ferror(stdout))
		return status ? status : EXIT_FAILED;
	return status;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	struct err err = { 0 };

	if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help")) {
		help(stdout);
		return EXIT_DONE;
	}
	if (!strcmp(word, "--version")) {
		(void)puts("platter-simdisk " PLATTER_VERSION);
		return EXIT_DONE;
	}
	for (size_t i = 0; i < ARRAY_LEN(sim_commands); i++)
		if (!strcmp(word, sim_commands[i].name))
			return run_command(&sim_commands[i], argc - 1, argv + 1);
	(void)err_set(&err, -EINVAL, "%s; platter-simdisk --help lists the commands.",
	              *word ? "There is no such command" : "Say what to do");
	return complain(&err);
}
