/* SPDX-License-Identifier: GPL-2.0-or-later */
/* platter-simdisk replay: the model of a drive against the drive's own trace. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "commands.h"
#include "replay.h"

static const struct {
	enum disk_op op;
	const char *name;
} kinds[] = { { DISK_ANY, "all" }, { DISK_READ, "read" }, { DISK_WRITE, "write" } };

#define KINDS ARRAY_LEN(kinds)

static void print_text(const struct replay_figures *f)
{
	(void)printf("%-28s", "");
	for (size_t k = 0; k < KINDS; k++)
		(void)printf(" %12s", kinds[k].name);
	(void)printf("\n%-28s", "requests");
	for (size_t k = 0; k < KINDS; k++)
		(void)printf(" %12zu", f[k].n);
	(void)printf("\n%-28s", "demerit, us");
	for (size_t k = 0; k < KINDS; k++)
		(void)printf(" %12.1f", f[k].demerit_us);
	(void)printf("\n%-28s", "demerit, % of the mean");
	for (size_t k = 0; k < KINDS; k++)
		(void)printf(" %12.2f", 100 * f[k].demerit);
	(void)printf("\n%-28s", "mean of the drive, us");
	for (size_t k = 0; k < KINDS; k++)
		(void)printf(" %12.1f", f[k].drive_mean_us);
	(void)printf("\n%-28s", "        the model");
	for (size_t k = 0; k < KINDS; k++)
		(void)printf(" %12.1f", f[k].model_mean_us);
	for (size_t i = 0; i < REPLAY_QUANTILES; i++) {
		(void)printf("\n%3.0f %% %-22s", 100 * replay_quantiles[i], "of the drive, us");
		for (size_t k = 0; k < KINDS; k++)
			(void)printf(" %12.1f", f[k].drive_us[i]);
		(void)printf("\n      %-22s", "  the model");
		for (size_t k = 0; k < KINDS; k++)
			(void)printf(" %12.1f", f[k].model_us[i]);
	}
	(void)printf("\n%-28s", "same request, median off, us");
	for (size_t k = 0; k < KINDS; k++)
		(void)printf(" %12.1f", f[k].same_median_us);
	(void)putchar('\n');
}

static json_t *quantiles_json(const double *us)
{
	json_t *all = json_object();

	for (size_t i = 0; i < REPLAY_QUANTILES; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "p%.0f", 100 * replay_quantiles[i]);
		(void)json_object_set_new(all, name, json_real(us[i]));
	}
	return all;
}

static void print_json(const struct replay_figures *f)
{
	json_t *all = json_object();

	for (size_t k = 0; k < KINDS; k++) {
		json_t *one =
			json_pack("{s:I,s:f,s:f,s:f,s:f,s:f,s:o,s:o}", "requests", (json_int_t)f[k].n, "demerit_us",
		                  f[k].demerit_us, "demerit", f[k].demerit, "drive_mean_us", f[k].drive_mean_us,
		                  "model_mean_us", f[k].model_mean_us, "same_request_median_us", f[k].same_median_us,
		                  "drive_us", quantiles_json(f[k].drive_us), "model_us", quantiles_json(f[k].model_us));

		(void)json_object_set_new(all, kinds[k].name, one);
	}
	(void)json_dumpf(all, stdout, JSON_INDENT(2));
	(void)putchar('\n');
	json_decref(all);
}

static int write_csv(const char *path, const struct replay_trace *t, struct err *err)
{
	static const char *const hows[] = { [HOW_MEDIA] = "media",
		                            [HOW_HIT] = "hit",
		                            [HOW_STREAM] = "stream",
		                            [HOW_CACHED] = "cached",
		                            [HOW_NONE] = "none" };
	FILE *f = fopen(path, "we");
	bool is_bad;

	if (!f)
		return err_set(err, -errno, "Cannot write %s: %s.", path, strerror(errno));
	(void)fputs("op,lbn,blocks,drive_us,model_us,how\n", f);
	for (size_t i = 0; i < t->n; i++) {
		const struct replay_request *q = &t->requests[i];

		(void)fprintf(f, "%s,%" PRIu64 ",%" PRIu32 ",%.3f,%.3f,%s\n", q->op == DISK_READ ? "read" : "write",
		              q->lba, q->sectors, q->response_us, q->model_us, hows[q->how]);
	}
	is_bad = ferror(f) != 0;
	return fclose(f) != 0 || is_bad ? err_set(err, -EIO, "Cannot write %s.", path) : 0;
}

static int load(const char *profile, const char *trace, struct profile *ret, struct replay_trace *ret_trace,
                struct err *err)
{
	char path[512];
	int r = sim_find_profile(path, sizeof(path), profile, err);
	FILE *in;

	if (r < 0)
		return r;
	in = strcmp(trace, "-") == 0 ? stdin : fopen(trace, "re");
	if (!in)
		return err_set(err, -errno, "Cannot open the trace %s: %s.", trace, strerror(errno));
	r = replay_parse(ret_trace, trace, in, err);
	if (in != stdin)
		(void)fclose(in);
	if (r == 0) {
		r = profile_load(ret, path, err);
		if (r < 0)
			replay_trace_done(ret_trace);
	}
	return r;
}

int cmd_replay(const struct sim_options *o, char **words, size_t n, char **command)
{
	struct replay_figures figures[KINDS];
	struct replay_trace trace;
	struct profile profile;
	struct err err = { 0 };
	size_t end;
	int r = load(words[0], words[1], &profile, &trace, &err);

	(void)n;
	(void)command;
	if (r < 0)
		return complain(&err);
	end = o->replay.last ? o->replay.last : trace.n;
	if (o->replay.first < 1 || o->replay.first > end || end > trace.n)
		r = err_set(&err, -EINVAL, "The trace has the requests 1 to %zu: --first and --last do not fit.",
		            trace.n);
	if (r == 0)
		r = replay_run(&trace, &profile, (enum replay_think)o->replay.think, &err);
	if (r == 0 && o->replay.csv)
		r = write_csv(o->replay.csv, &trace, &err);
	for (size_t k = 0; r == 0 && k < KINDS; k++)
		if (replay_compare(&trace, o->replay.first - 1, end, kinds[k].op, &figures[k]) < 0)
			r = err_set(&err, -ENOMEM, "Out of memory.");
	if (r == 0)
		(o->is_json ? print_json : print_text)(figures);
	replay_trace_done(&trace);
	profile_done(&profile);
	return r < 0 ? complain(&err) : EXIT_DONE;
}
