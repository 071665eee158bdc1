/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tools/wild: a command of platter in virtual time over many disks as they occur, and what its figures are worth there.
 * Each disk has a process of its own, so that a run that crashes, or that never ends, is a finding and not the end.
 * Never installed.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/opt_help.h"
#include "base/units.h"
#include "cli/cli.h"
#include "sim.h"
#include "truth_print.h"
#include "wild.h"
#include "wildboard.h"

#define WORDS_MAX 64
#define STRETCHES 16

struct options {
	uint64_t disks, disk_limit_ns, time_limit_ns, plant, sample_bytes;
	const char *seeds, *class_name, *profile, *keep, *json, *judge, *row;
	int noise, writes, laws;
	bool by_class, is_list, is_quiet, is_hard;
	/* not options: */
	const char *command;
	char **more;
	size_t nmore;
	uint64_t first, last;
	size_t part; /* of a disk that is read in stretches: which, from 1; 0: all of it */
};

static const char *const noise_choices[] = { "own", "none", "mild", "real", "live", NULL };

static const char *const writes_choices[] = { "any", "shingled", "cached", "plain", NULL };

static const struct opt opts[] = {
	OPT_U64(struct options, disks, "disks", 'n', "N", "50", "how many disks: seeds 1 to N", .min = 1, .max = 1e6),
	OPT_STR(struct options, seeds, "seeds", 0, "A-B", NULL, "these seeds instead; one number is one disk"),
	OPT_STR(struct options, class_name, "class", 'c', "NAME", NULL, "disks of one class only, see --list"),
	OPT_STR(struct options, profile, "profile", 'p', "NAME", NULL,
	        "this profile (a name or a file) instead of wild disks; seeds are those of its noise"),
	OPT_CHOICE(struct options, noise, "noise", 0, noise_choices, "own",
	           "how noisy: as drawn (or as the profile says), or everywhere at this level"),
	OPT_CHOICE(
		struct options, laws, "laws", 0, wild_laws_names, "own",
		"as drawn; or what a read ahead of the head costs and the switch of heads are drawn freely; or the host's lateness is; or what else there is"),
	OPT_CHOICE(struct options, writes, "writes", 0, writes_choices, "any",
	           "of the seeds only disks that shingle, have a media cache, or neither; --disks counts these"),
	OPT_FLAG(struct options, is_hard, "hard", 0, "media caches with large bands and maps, most full at the start"),
	OPT_U64(struct options, plant, "plant", 0, "N", "0",
	        "plant N weak sectors (a revolution more) in what is read of each rotating disk", .max = 1000),
	OPT_BYTES(struct options, sample_bytes, "sample", 0, "SIZE", "0",
	          "surface: of larger disks only so much, in 16 stretches all over the disk; 0: all"),
	OPT_STR(struct options, keep, "keep", 0, "DIR", NULL,
	        "keep of each disk its profile, truth, document and verdict in this folder"),
	OPT_STR(struct options, json, "json", 'j', "FILE", NULL,
	        "save the board as JSON, - for stdout instead of text"),
	OPT_FLAG(struct options, by_class, "by-class", 0, "the table of figures for each class, too"),
	OPT_STR(struct options, row, "row", 0, "NAME", NULL,
	        "print a row of this name for the table in tests/BOARDS.md, too"),
	OPT_TIME(struct options, disk_limit_ns, "disk-limit", 0, "TIME", "2m",
	         "processor time for one disk; its run is cut off then, and that is reported"),
	OPT_TIME(struct options, time_limit_ns, "time-limit", 0, "TIME", "0s",
	         "begin no other disk after this long; 0: no limit"),
	OPT_STR(struct options, judge, "judge", 0, "FILE", NULL,
	        "run nothing: judge this document against --profile (with the seed that is in it), or the wild disk of --seeds"),
	OPT_FLAG(struct options, is_list, "list", 'l', "list the classes of wild disks"),
	OPT_FLAG(struct options, is_quiet, "quiet", 'q', "no line on stderr for each disk"),
	OPT_END,
};

static void help(void)
{
	(void)puts("Usage: wild COMMAND [OPTION...] [-- OPTION-OF-COMMAND...]\n\n"
	           "Runs a command of platter (seek, zones, geometry, surface) in virtual time over many wild\n"
	           "disks, and prints what its figures are worth there: how often each was given, how\n"
	           "often its 95 % interval held the truth (and the 95 % interval of that share), how\n"
	           "far off it was, how wide; and all that was said and is false, with the seed.\n\nOptions:");
	opt_help(stdout, opts);
	(void)puts("\nExamples:\n"
	           "  tools/wild seek --disks=100              100 disks of all kinds\n"
	           "  tools/wild zones --class=nearline --by-class\n"
	           "  tools/wild seek --seeds=17 --keep=/tmp/w one disk, and all that was said of it\n"
	           "  tools/wild seek --profile=modern-4tb --noise=real --disks=30 -- --quick\n"
	           "  platter-simdisk wild --seed=17           the disk itself, as a profile");
}

/* ---- one disk ---- */

struct stretch {
	uint64_t first, end; /* bytes */
};

/* What is to be read of a disk: all, or of each 16th of it a part. How many. */
static size_t stretches_of(const struct options *o, const struct profile *p, uint64_t seed, struct stretch *ret)
{
	uint64_t size = p->capacity_lba * p->logical_sector_bytes,
		 n = o->sample_bytes && o->sample_bytes < size ? STRETCHES : 1;
	uint64_t len = n > 1 ? o->sample_bytes / n : size;
	struct rng r;

	rng_init(&r, seed, 0x57e7c4);
	for (uint64_t i = 0; i < n; i++) {
		ret[i].first = size / n * i + (n > 1 ? rng_below(&r, size / n - len) : 0);
		ret[i].first -= ret[i].first % 4096;
		ret[i].end = n > 1 ? ret[i].first + len - len % 4096 : size;
	}
	return n;
}

/* Weak sectors at random places of what is read: one revolution more each time. Two arms know none, and dying disks
 * have their own. */
static int plant(const struct options *o, struct profile *p, uint64_t seed, struct err *err)
{
	struct stretch v[STRETCHES];
	size_t n = stretches_of(o, p, seed, v);
	uint64_t len = v[0].end - v[0].first, ratio = p->physical_sector_bytes / p->logical_sector_bytes;
	struct rng r;

	if (p->kind != DISK_ROTATING || p->arms.kind != ARMS_ONE || p->media.nslows || p->media.nbads)
		return 0;
	rng_init(&r, seed, 0x91a27);
	for (uint64_t i = 0; i < o->plant; i++) {
		double at = ((double)i + rng_double(&r)) / (double)o->plant * (double)n; /* stretches */
		const struct stretch *in = &v[(size_t)at < n ? (size_t)at : n - 1];
		uint64_t byte = in->first + (uint64_t)((at - floor(at)) * (double)len);
		struct profile_slow s = { .count = ratio, .every = 1, .revolutions = 1 };

		s.lba = byte / p->physical_sector_bytes * ratio;
		if (profile_add_slow(p, &s) < 0)
			return err_set(err, -ENOMEM, "Out of memory.");
	}
	return profile_finish(p, err);
}

static int make_profile(const struct options *o, uint64_t seed, struct profile *ret, struct err *err)
{
	char path[1024];
	int r;

	if (!o->profile) {
		r = profile_wild(ret, seed,
		                 o->class_name || strcmp(o->command, "sustain") != 0 ? o->class_name : "burst", err);
	} else {
		(void)snprintf(path, sizeof(path), strchr(o->profile, '/') ? "%s" : SIMDISK_PROFILES "/%s.disk",
		               o->profile);
		r = profile_load(ret, path, err);
		if (r == 0 && (o->seeds || !o->judge))
			ret->seed = seed;
	}
	if (r < 0)
		return r;
	if (o->is_hard)
		wild_hard_cache(ret, seed);
	if (o->laws)
		r = profile_vary(ret, (enum wild_laws)o->laws, seed, err);
	if (r == 0 && o->noise)
		r = profile_add_noise(ret, (enum wild_noise)(o->noise - 1), seed, err);
	if (r == 0 && o->plant && !o->judge)
		r = plant(o, ret, seed, err);
	if (r < 0)
		profile_done(ret);
	return r;
}

/* wild-CLASS-SEED; a profile is its own class. */
static const char *class_of(const struct options *o, const struct profile *p, char *buf, size_t len)
{
	const char *end = strrchr(p->name, '-');

	if (o->profile || strncmp(p->name, "wild-", 5) != 0 || !end)
		(void)snprintf(buf, len, "%s", p->name);
	else
		(void)snprintf(buf, len, "%.*s", (int)(end - p->name - 5), p->name + 5);
	return buf;
}

static FILE *open_kept(const struct options *o, uint64_t seed, const char *end)
{
	char path[1200], part[24] = "";

	if (o->part)
		(void)snprintf(part, sizeof(part), ".%zu", o->part);
	(void)snprintf(path, sizeof(path), "%s/%s-%" PRIu64 "%s%s", o->keep, o->command, seed, part, end);
	return fopen(path, "we");
}

static void keep_json(const struct options *o, uint64_t seed, const char *end, const json_t *json)
{
	FILE *f = open_kept(o, seed, end);

	if (!f || json_dumpf(json, f, JSON_INDENT(1)) < 0 || fclose(f) != 0)
		(void)fprintf(stderr, "wild: cannot write to %s\n", o->keep);
}

static void keep_profile(const struct options *o, uint64_t seed, const struct profile *p)
{
	FILE *f = open_kept(o, seed, ".disk");

	if (!f || profile_save(f, p) < 0 || fclose(f) != 0)
		(void)fprintf(stderr, "wild: cannot write to %s\n", o->keep);
}

/* The command's document; NULL: there is none. *ret_status: its exit status; said: what it wrote on stderr. */
static json_t *run_command(const struct options *o, const struct profile *p, uint64_t seed, const struct stretch *part,
                           int *ret_status, char **ret_said)
{
	char *text = NULL, seed_text[40], consent[100], range[60];
	char *argv[WORDS_MAX + 10] = { (char *)(uintptr_t) "platter", (char *)(uintptr_t)o->command };
	size_t len = 0, said = 0, argc = 2;
	struct profile through = *p; /* what it points to stays p's */
	struct sim *sim = sim_new();
	struct env *env = sim_env(sim);
	json_t *doc;

	(void)snprintf(seed_text, sizeof(seed_text), "--seed=%" PRIu64, seed ? seed : 1);
	bool is_writing = strcmp(o->command, "smr") == 0 || strcmp(o->command, "buffer") == 0 ||
	                  (strcmp(o->command, "sustain") == 0 && !p->media.ntrims); /* without it it says little */

	if (strcmp(o->command, "sustain") == 0 && p->path.limit_ops > 0)
		argv[argc++] = (char *)(uintptr_t) "--random";
	if (is_writing)
		argv[argc++] = (char *)(uintptr_t) "--write";
	for (size_t i = 0; i < o->nmore; i++) {
		is_writing |= strcmp(o->more[i], "--write") == 0;
		argv[argc++] = o->more[i];
	}
	if (is_writing) {
		(void)snprintf(consent, sizeof(consent), "--destroy-data=%s", p->reported.serial);
		argv[argc++] = consent;
	}
	if (part) {
		(void)snprintf(range, sizeof(range), "--range=%" PRIu64 "-%" PRIu64, part->first, part->end);
		argv[argc++] = range;
	}
	argv[argc++] = (char *)(uintptr_t) "--quiet";
	argv[argc++] = (char *)(uintptr_t) "--json=-";
	argv[argc++] = seed_text;
	argv[argc++] = (char *)(uintptr_t) "sda";
	if (is_writing && strcmp(o->command, "seek") == 0)
		through.wcache.bytes = 0; /* as hdparm -W 0 makes it */
	if (strcmp(o->command, "check") == 0)
		wild_check_plant(sim_add_disk(sim, &through, "sda"), p);
	else
		(void)sim_add_disk(sim, &through, "sda");
	sim_set_contents(sim, false);
	if (o->is_hard)
		sim_fill_cache(sim, p->mcache.entries, (enum sim_filled)(seed % 3));
	env->out = open_memstream(&text, &len);
	env->err = open_memstream(ret_said, &said);
	if (!env->out || !env->err)
		abort();
	*ret_status = cli_main(env, (int)argc, argv);
	(void)fclose(env->out);
	(void)fclose(env->err);
	doc = json_loadb(text, len, 0, NULL);
	free(text);
	sim_free(sim);
	return doc;
}

static json_t *judged(const struct options *o, const struct profile *p, uint64_t seed, const json_t *doc)
{
	struct geometry *g = geometry_new(p);
	json_t *truth = g ? truth_json(g, strcmp(o->command, "zones") == 0 ? TRUTH_STREAMED : 0) : NULL,
	       *verdict = NULL;

	if (truth)
		verdict = wild_check(&(struct wild_case){ .doc = doc, .truth = truth, .g = g, .p = p });
	if (o->keep && truth)
		keep_json(o, seed, ".truth.json", truth);
	if (o->keep && verdict)
		keep_json(o, seed, ".verdict.json", verdict);
	json_decref(truth);
	geometry_free(g);
	return verdict;
}

/* Of one run, or of one stretch: "ended", "cpu_s" (of the run alone), and what wild_judge() says. */
static json_t *verdict_of_run(const struct options *o, const struct profile *p, uint64_t seed,
                              const struct stretch *part)
{
	char *said = NULL, ended[200];
	int status = 0;
	clock_t before = clock();
	json_t *doc = run_command(o, p, seed, part, &status, &said);
	double took_s = (double)(clock() - before) / CLOCKS_PER_SEC;
	json_t *verdict = doc ? judged(o, p, seed, doc) : json_object();
	double scanned = wild_number(json_object_get(doc, "figures"), "scanned_bytes");
	const char *state = json_string_value(json_object_get(doc, "status"));

	if (o->keep && doc)
		keep_json(o, seed, ".json", doc);
	if (doc)
		(void)snprintf(ended, sizeof(ended), "%s", state ? state : "without a status");
	else
		(void)snprintf(ended, sizeof(ended), "exit %d: %.*s", status, (int)strcspn(said, "\n"), said);
	(void)json_object_set_new(verdict, "ended", json_string(ended));
	(void)json_object_set_new(verdict, "cpu_s", json_real(took_s));
	if (isfinite(scanned))
		(void)json_object_set_new(verdict, "scanned_bytes", json_real(scanned));
	json_decref(doc);
	free(said);
	return verdict;
}

/* Lists and sums of both; takes over `of`. */
static void join_verdicts(json_t *all, json_t *of)
{
	json_t *v, *have;
	const char *key;

	json_object_foreach(of, key, v)
	{
		have = json_object_get(all, key);
		if (json_is_array(have))
			(void)json_array_extend(have, v);
		else if (json_is_integer(have))
			(void)json_integer_set(have, json_integer_value(have) + json_integer_value(v));
		else if (json_is_real(have))
			(void)json_real_set(have, json_real_value(have) + json_number_value(v));
		else if (!have || strcmp(key, "ended") != 0 || strcmp(json_string_value(have), "complete") == 0)
			(void)json_object_set(all, key, v);
	}
	json_decref(of);
}

/* In the child. */
static json_t *verdict_of(const struct options *o, const struct profile *p, uint64_t seed)
{
	struct stretch v[STRETCHES];
	size_t n = stretches_of(o, p, seed, v);
	json_t *all = json_object();

	for (size_t i = 0; i < n; i++) {
		struct options of_part = *o;

		of_part.part = n > 1 ? i + 1 : 0;
		join_verdicts(all, verdict_of_run(&of_part, p, seed, n > 1 ? &v[i] : NULL));
	}
	(void)json_object_set_new(all, "disk_bytes", json_real((double)p->capacity_lba * p->logical_sector_bytes));
	return all;
}

static void child(const struct options *o, const struct profile *p, uint64_t seed, int fd)
{
	rlim_t limit = (rlim_t)((o->disk_limit_ns + NS_PER_S - 1) / NS_PER_S);
	FILE *to = fdopen(fd, "w");
	json_t *verdict;
	int r;

	if (limit)
		(void)setrlimit(RLIMIT_CPU, &(struct rlimit){ limit, limit + 5 });
	verdict = verdict_of(o, p, seed);
	r = !to || json_dumpf(verdict, to, JSON_COMPACT) < 0 || fclose(to) != 0;
	_exit(r);
}

/* What is known when the child came to no end of its own. */
static json_t *verdict_of_dead(int status, const struct rusage *usage)
{
	json_int_t cpu_s = usage->ru_utime.tv_sec + usage->ru_stime.tv_sec;
	char text[80];

	if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
		return json_pack("{s:s,s:I}", "ended", "cut off at its limit of processor time", "cpu_s", cpu_s);
	(void)snprintf(text, sizeof(text), WIFSIGNALED(status) ? "crashed with signal %d" : "crashed with status %d",
	               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return json_pack("{s:s,s:I,s:[{s:s,s:s}]}", "ended", text, "cpu_s", cpu_s, "lies", "what", "crash", "text",
	                 text);
}

static bool is_wanted(const struct options *o, const struct profile *p)
{
	enum { ANY, SHINGLED, CACHED, PLAIN } kind = p->mcache.band_bytes ? SHINGLED : p->mcache.bytes ? CACHED : PLAIN;

	return o->writes == ANY || o->writes == (int)kind;
}

/* NULL without an error: not one of those that are wanted. */
static json_t *run_disk(const struct options *o, uint64_t seed, struct err *err)
{
	char name[64];
	struct profile p;
	struct rusage usage;
	int fds[2], status = 0;
	json_t *verdict = NULL;
	FILE *from;
	pid_t pid;

	if (make_profile(o, seed, &p, err) < 0)
		return NULL;
	if (!is_wanted(o, &p)) {
		profile_done(&p);
		return NULL;
	}
	if (o->keep)
		keep_profile(o, seed, &p);
	if (pipe(fds) < 0 || (pid = fork()) < 0) {
		(void)err_set(err, -errno, "Cannot start a process: %s.", strerror(errno));
		profile_done(&p);
		return NULL;
	}
	if (pid == 0)
		child(o, &p, seed, fds[1]);
	(void)close(fds[1]);
	from = fdopen(fds[0], "r");
	if (from) {
		verdict = json_loadf(from, 0, NULL);
		(void)fclose(from);
	}
	while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
		;
	if (!verdict)
		verdict = verdict_of_dead(status, &usage);
	(void)json_object_set_new(verdict, "seed", json_integer((json_int_t)seed));
	(void)json_object_set_new(verdict, "class", json_string(class_of(o, &p, name, sizeof(name))));
	profile_done(&p);
	return verdict;
}

/* ---- all ---- */

static void say_disk(const struct options *o, const json_t *v)
{
	if (!o->is_quiet)
		(void)fprintf(stderr,
		              "seed %" JSON_INTEGER_FORMAT
		              " %s: %s, %.0f s of the device, %.1f s of the processor, %zu false\n",
		              json_integer_value(json_object_get(v, "seed")),
		              json_string_value(json_object_get(v, "class")),
		              json_string_value(json_object_get(v, "ended")), wild_number(v, "device_s"),
		              wild_number(v, "cpu_s"), json_array_size(json_object_get(v, "lies")));
}

static double now_s(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int save_json(const struct options *o, const struct wild_board *b)
{
	FILE *f = strcmp(o->json, "-") ? fopen(o->json, "we") : stdout;
	json_t *json = wild_board_json(b);
	int r = f && json && json_dumpf(json, f, JSON_INDENT(1)) == 0 && fputc('\n', f) != EOF ? 0 : -EIO;

	json_decref(json);
	if (f && f != stdout && fclose(f) != 0)
		r = -EIO;
	return r;
}

static int run_all(const struct options *o, struct err *err)
{
	struct wild_board *b = wild_board_new(o->command);
	double began = now_s();
	uint64_t done = 0;
	int r = 0;

	if (!b)
		return err_set(err, -ENOMEM, "Out of memory.");
	for (uint64_t seed = o->first; r == 0 && seed <= o->last && done < o->disks; seed++) {
		json_t *verdict;

		if (o->time_limit_ns && (now_s() - began) * 1e9 >= (double)o->time_limit_ns)
			break;
		verdict = run_disk(o, seed, err);
		if (!verdict) {
			r = err->code;
			continue;
		}
		done++;
		say_disk(o, verdict);
		wild_board_add(b, verdict);
	}
	if (r == 0 && !(o->json && strcmp(o->json, "-") == 0))
		wild_board_print(b, stdout, o->by_class);
	if (r == 0 && o->row)
		wild_board_row(b, stdout, o->row);
	if (r == 0 && o->json && save_json(o, b) < 0)
		r = err_set(err, -EIO, "Cannot write %s.", o->json);
	wild_board_free(b);
	return r;
}

/* A document that is there already, whoever wrote it. */
static int judge_document(struct options *o, struct err *err)
{
	struct wild_board *b;
	json_t *doc = json_load_file(o->judge, 0, NULL), *verdict;
	struct profile p;
	int r;

	if (!doc)
		return err_set(err, -EINVAL, "%s is not a document.", o->judge);
	r = make_profile(o, o->first, &p, err);
	if (r < 0)
		return r;
	b = wild_board_new(o->command);
	verdict = judged(o, &p, o->first, doc);
	if (!b || !verdict)
		abort();
	(void)json_object_set_new(verdict, "seed", json_integer((json_int_t)o->first));
	(void)json_object_set(verdict, "ended", json_object_get(doc, "status"));
	wild_board_add(b, verdict);
	wild_board_print(b, stdout, false);
	if (o->json && save_json(o, b) < 0)
		r = err_set(err, -EIO, "Cannot write %s.", o->json);
	wild_board_free(b);
	profile_done(&p);
	json_decref(doc);
	return r;
}

static int settle(struct options *o, struct err *err)
{
	char *end = NULL;

	o->first = 1;
	o->last = o->writes ? UINT64_MAX : o->disks;
	if (o->seeds) {
		o->first = o->last = strtoull(o->seeds, &end, 10);
		if (*end == '-')
			o->last = strtoull(end + 1, &end, 10);
		if (*end || end == o->seeds || o->last < o->first)
			return err_set(err, -EINVAL, "--seeds wants A-B or a number, not %s.", o->seeds);
		o->disks = o->last - o->first + 1;
	}
	if (o->keep && mkdir(o->keep, 0777) < 0 && errno != EEXIST)
		return err_set(err, -errno, "Cannot make %s: %s.", o->keep, strerror(errno));
	return 0;
}

static void list_classes(void)
{
	for (const struct wild_class *c = wild_classes; c->name; c++)
		(void)printf("%-14s %4.1f  %s\n", c->name, c->weight, c->what);
}

/* What follows "--" is the measured command's own. */
static char **split(int *argc, char **argv)
{
	for (int i = 0; i < *argc; i++)
		if (strcmp(argv[i], "--") == 0) {
			*argc = i;
			argv[i] = NULL;
			return argv + i + 1;
		}
	return NULL;
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	const struct opt_set sets[] = { { opts, &o } };
	struct err err = { 0 };
	int first = 0, r;

	o.more = split(&argc, argv);
	while (o.more && o.more[o.nmore] && o.nmore < WORDS_MAX)
		o.nmore++;
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			help();
			return EXIT_DONE;
		}
	r = opt_parse(sets, 1, argc, argv, &first, &err);
	if (r == 0 && o.is_list) {
		list_classes();
		return EXIT_DONE;
	}
	if (r == 0 && argc - first != 1)
		r = err_set(&err, -EINVAL, "Say which command: wild COMMAND [OPTION...]; --help shows more.");
	if (r == 0) {
		o.command = argv[first];
		r = settle(&o, &err);
	}
	if (r == 0)
		r = o.judge ? judge_document(&o, &err) : run_all(&o, &err);
	if (r < 0) {
		(void)fprintf(stderr, "wild: %s\n", err.text);
		return r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	return fflush(stdout) || ferror(stdout) ? EXIT_FAILED : EXIT_DONE;
}
