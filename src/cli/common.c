/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that every measurement has (platter(8) documents them once), and those that every command has. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/opt_help.h"
#include "base/xalloc.h"
#include "cli/cli.h"
#include "measure/measures.h"

static const char *const progress_words[] = { "auto", "tty", "plain", "json", "none", NULL }; /* enum progress_mode */
static const char *const color_words[] = { "auto", "always", "never", NULL };                 /* enum color_when */

static const char *const help_words[] = { "own", "all", NULL };

#define P struct cli_params
const struct opt common_opts[] = {
	OPT_STR(P, common.engine, "engine", 0, "NAME", "auto", "how I/O is done", .is_aside = true),
	OPT_U64(P, common.seed, "seed", 0, "NUMBER", NULL, "repeat the random choices of the run with this seed",
	        .is_aside = true),
	OPT_RATIO(P, common.precision, "precision", 0, "RATIO", NULL,
	          "go on until the 95 % interval is this narrow, or the time is up", .min = 0.0001, .max = 0.5,
	          .is_aside = true),
	OPT_TIME(P, common.time_ns, "time", 0, "TIME", NULL, "end the run after this long", .min = 1e6, .max = 3e16),
	OPT_U64(P, common.max_errors, "max-errors", 0, "COUNT", "1000", "end the run after this many disk errors",
	        .min = 1, .is_aside = true),
	OPT_STR(P, json, "json", 0, "FILE", NULL, "save the result as JSON, - for stdout", .writes = OUTFILE_DOCUMENT),
	OPT_STR(P, csv, "csv", 0, "FILE", NULL, "save the tables as CSV, - for stdout", .writes = OUTFILE_CSV),
	OPT_STR(P, html, "html", 0, "FILE", NULL, "save the result as a page with pictures, - for stdout",
	        .writes = OUTFILE_PAGE),
	OPT_STR(P, jsonl, "jsonl", 0, "FILE", NULL, "append the result as one line of JSON", .writes = OUTFILE_LINES),
	OPT_STR(P, prometheus, "prometheus", 0, "FILE", NULL,
	        "save the figures for node_exporter (OpenMetrics), - for stdout", .writes = OUTFILE_METRICS),
	OPT_STR(P, requests, "requests", 0, "FILE", NULL, "write every single request to a CSV file",
	        .writes = OUTFILE_REQUESTS),
	OPT_STR(P, log, "log", 0, "FILE", NULL, "append one time-stamped line per step", .writes = OUTFILE_LOG),
	OPT_FLAG(P, common.is_forced, "force", 0, "write over files that platter did not write", .is_aside = true),
	OPT_CHOICE(P, progress, "progress", 0, progress_words, "auto", "show progress on stderr", .implied = "tty",
	           .is_aside = true),
	OPT_FLAG(P, quiet, "quiet", 'q', "no text and no progress, only files and errors", .is_aside = true),
	OPT_FLAG(P, common.no_smart, "no-smart", 0, "do not ask the disk for its counters: some bridges hang from that",
	         .is_aside = true),
	OPT_FLAG(P, common.dry_run, "dry-run", 'n', "print what would be read and written, and stop", .is_aside = true),
	OPT_STRS(P, common.consent.destroy, "destroy-data", 0, "NAME",
	         "consent to overwrite the device with this serial number or other lasting name", .is_aside = true),
	OPT_STRS(P, common.consent.rewrite, "rewrite-data", 0, "NAME",
	         "consent to writing back on this device what was read there", .is_aside = true),
	OPT_STRS(P, common.consent.overwrite_signature, "overwrite-signature", 0, "TYPE",
	         "consent to overwrite this file system or partition table", .is_aside = true),
	OPT_STRS(P, common.consent.despite, "despite", 0, "WORD",
	         "write in spite of what a refusal says that it cannot see", .is_aside = true),
	OPT_END,
};
#undef P

const struct opt view_opts[] = {
	OPT_FLAG(struct view_params, plot, "plot", 0, "draw all pictures with characters"),
	OPT_FLAG(struct view_params, tables, "tables", 'v', "print all figures, tables and notices"),
	OPT_CHOICE(struct view_params, color, "color", 0, color_words, "auto", "colour the text", .implied = "always"),
	OPT_STR(struct view_params, help, "help", 'h', "WORD", NULL, "show this text, or all options",
	        .choices = help_words, .implied = "own"),
	OPT_FLAG(struct view_params, version, "version", 'V', "show the version"),
	OPT_END,
};

static_assert(ARRAY_LEN(common_opts) <= COMMON_OPTS_MAX, "room for a copy");

static void set_engines(struct common_table *t, struct opt *o, const struct env *env)
{
	size_t n = 0;

	t->engines[n++] = "auto";
	for (size_t i = 0; env->engines && env->engines[i] && n + 1 < ARRAY_LEN(t->engines); i++)
		t->engines[n++] = env->engines[i]->name;
	o->choices = t->engines;
}

void common_table_init(struct common_table *t, const struct env *env, const struct measure *m)
{
	*t = (struct common_table){ 0 };
	memcpy(t->opts, common_opts, sizeof(common_opts));
	for (struct opt *o = t->opts; o->type != OPT_TYPE_END; o++) {
		if (o->offset == offsetof(struct cli_params, common.engine))
			set_engines(t, o, env);
		if (o->offset == offsetof(struct cli_params, common.max_errors) && m && m->takes_all_errors)
			o->def = NULL;
		if (o->offset == offsetof(struct cli_params, common.precision) && m && m->precision > 0.0) {
			(void)snprintf(t->precision, sizeof(t->precision), "%.6g%%", 100.0 * m->precision);
			o->def = t->precision;
		}
	}
}

void common_settle(struct cli_params *p)
{
	if (p->quiet && p->progress == PROGRESS_AUTO)
		p->progress = PROGRESS_NONE;
}

/* ---- which options of a document are part of what was measured, by the tables that parsed them ---- */

/* What a run adds to its options: how it was done, by no choice of anybody. */
static const char *const facts[] = { "health", "cpu-latency-held", "cache-witness", "memory-cgroup" };

static const struct opt *find_opt(const struct opt *o, const char *name)
{
	while (o && o->type != OPT_TYPE_END && strcmp(o->name, name) != 0)
		o++;
	return o && o->type != OPT_TYPE_END ? o : NULL;
}

static bool is_default(const struct opt *o, size_t params_size, const char *text)
{
	const struct opt alone[] = { *o, OPT_END };
	cleanup_free void *params = xcalloc(1, params_size);
	const struct opt_set set = { alone, params };
	char name[] = "platter", *argv[] = { name, NULL };
	cleanup_free char *otherwise = NULL;
	struct err err = { 0 };
	int first;

	if (!text || opt_parse(&set, 1, 1, argv, &first, &err) < 0)
		return true;
	otherwise = opt_value_text(o, params);
	opt_done(&set, 1);
	return !otherwise || strcmp(text, otherwise) == 0;
}

/* Where a run goes on until it is sure, --time is how long it may. */
enum option_kind report_option_kind(const struct result *res, const struct option_value *v)
{
	const struct measure *m = measure_find(res->head.measurement ? res->head.measurement : "");
	const struct opt *own = m ? find_opt(m->opts, v->name) : NULL, *o = own;
	bool goes_on = m && (m->precision > 0.0 || m->judges);

	for (size_t k = 0; m && k < ARRAY_LEN(facts); k++)
		if (strcmp(v->name, facts[k]) == 0)
			return OPTION_ASIDE;
	if (m && !o)
		o = find_opt(common_opts, v->name);
	if (!o)
		return OPTION_UNKNOWN;
	if (o->is_aside || o->writes || (goes_on && strcmp(o->name, "time") == 0))
		return OPTION_ASIDE;
	return is_default(o, own ? m->params_size : sizeof(struct cli_params), v->text) ? OPTION_DEFAULT : OPTION_GIVEN;
}
