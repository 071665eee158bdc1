/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs of measurements on simulated disks, and what must come of each: tests/data/cases/runs, a file for each
 * measurement, with what each disk is there for. PLATTER_LONG=1: those marked as long, too.
 */
#include "test.h"

#include <jansson.h>

#include "cases.h"
#include "cli/cli.h"
#include "measure/measures.h"
#include "ran.h"
#include "truth_print.h"
#include "wildboard.h"

/* ---- disks ---- */

static const char *const bases[][2] = {
	{ "mechanics", /* a disk with a buffer, of which each line says more */
	  "surfaces 2\nrpm 7200\nqueue_depth 32\noverhead_ms 0.1\nhit_overhead_ms 0.04\nseek 0.8 0.05\n"
	  "head_switch_ms 0.7\ninterface_mbs 500\nphysical_sector 4096\nserial BUFTEST1\nzone 20000 330\n" },
	{ "flash", /* 8 channels of 25 MB/s each, if nothing limits them: slow, so that few requests are long runs */
	  "kind ssd\nserial SUSTAIN1\ncapacity_lba 400000000\nchannels 8\nread_latency_us 100\nwrite_latency_us 100\n"
	  "channel_mbs 25\nstripe_bytes 16384\nqueue_depth 64\noverhead_ms 0\njitter_us 20\n" },
};

static struct profile base_of(const char *name)
{
	const char *what = strchr(name, ' ');
	const uint64_t seed = strtoull(name, NULL, 10);
	bool is_varied = what && strcmp(what, " varied") == 0, is_quiet = what && strcmp(what, " quiet") == 0;
	struct profile p;

	for (size_t i = 0; i < ARRAY_LEN(bases); i++)
		if (strcmp(name, bases[i][0]) == 0)
			return profile_of(bases[i][1]);
	if (!seed)
		return profile_named(name);
	p = profile_drawn(seed, what && !is_varied && !is_quiet ? what + 1 : NULL);
	if (is_varied) {
		MUST(profile_finish(&p, &err));
		MUST(profile_vary(&p, LAWS_OTHER, seed, &err));
	}
	if (is_quiet)
		MUST(profile_add_noise(&p, WILD_NOISE_NONE, 1, &err));
	return p;
}

/* "NAME; TRAIT; TRAIT", and what is otherwise. NAME: a profile of ours, a base, or the seed of a drawn disk and its
 * class ("varied": of any, by laws that drawn disks have not; "quiet": of any, without noise). "noise N": as real ones
 * have. */
static struct profile disk_of(char *text)
{
	char *save = NULL, *trait = strtok_r(text, ";", &save), *whole = NULL;
	struct profile p = base_of(trait);
	unsigned noise = 0;
	size_t len = 0;
	FILE *f;

	trait = strtok_r(NULL, ";", &save);
	if (!trait)
		return p;
	f = open_memstream(&whole, &len);
	assert_non_null(f);
	assert_int_equal(profile_save(f, &p), 0);
	for (; trait; trait = strtok_r(NULL, ";", &save))
		if (sscanf(trait, " noise %u", &noise) != 1 && strcmp(trait, " no commands") != 0)
			assert_true(fprintf(f, "%s\n", trait + 1) > 0);
	assert_int_equal(fclose(f), 0);
	profile_done(&p);
	p = profile_of(whole);
	free(whole);
	if (noise)
		MUST(profile_add_noise(&p, WILD_NOISE_REAL, noise, &err));
	return p;
}

/* Several have "&" between them. */
static struct sim_run run_of(const char *measure, char *disks, const char *words)
{
	static const char *const names[] = { "sda", "sdb", "sdc", "sdd" };
	struct sim_run run = { .sim = sim_new(), .m = measure_find(measure), .words = "sda" };
	char *save = NULL;
	size_t n = 0;

	assert_non_null(run.m);
	if (strcmp(words, "-") != 0)
		run.words = textf("%s sda", words);
	for (char *disk = strtok_r(disks, "&", &save); disk; disk = strtok_r(NULL, "&", &save), n++) {
		cleanup_profile struct profile p = { 0 };
		size_t len = strlen(disk);

		if (strstr(disk, "; no commands"))
			sim_set_verify(run.sim, SIM_VERIFY_UNKNOWN);
		if (len && disk[len - 1] == ' ') /* in front of the "&" */
			disk[len - 1] = '\0';
		p = disk_of(disk + strspn(disk, " "));
		(void)sim_add_disk(run.sim, &p, names[n]);
		if (n)
			run.words = textf("%s %s", run.words, names[n]);
	}
	sim_set_contents(run.sim, strstr(words, "--verify"));
	MUST_RUN(run);
	cli_screen(run.res);
	for (char *at = run.res->answer; at && *at; at++) /* it would end a claim */
		*at = *at == ';' ? ',' : *at;
	return run;
}

/* ---- claims ---- */

/* What something is: a number, or a text where it is one. */
struct value {
	double number;
	const char *text;
	struct interval ci;
};

static struct value value_of(const struct sim_run *run, const char *name)
{
	const size_t len = strlen(name);
	const struct figure *f = result_find_figure(run->res, name);
	const struct table *t;

	if (strcmp(name, "took_s") == 0)
		return (struct value){ .number = (double)sim_elapsed_ns(run->sim) * 1e-9 };
	if (strcmp(name, "status") == 0)
		return (struct value){ .number = NAN, .text = status_name(run->res->status) };
	if (strcmp(name, "answer") == 0)
		return (struct value){ .number = NAN, .text = run->res->answer };
	if (strcmp(name, "figures") == 0)
		return (struct value){ .number = (double)run->res->nfigures };
	if (strcmp(name, "faults") == 0)
		return (struct value){ .number = (double)result_fault_count(run->res) };
	if (strcmp(name, "writes") == 0)
		return (struct value){ .number = (double)counted(run).writes };
	if (strcmp(name, "verdict_is") == 0)
		return (struct value){ .number = NAN,
			               .text = run->res->verdict_is_no     ? "no"
			                       : run->res->verdict_is_open ? "open"
			                                                   : "yes" };
	if (name[len - 1] != '#')
		return (struct value){ .number = figure_number(f),
			               .text = f && f->unit == UNIT_TEXT ? f->value.str : NULL,
			               .ci = f ? f->ci : (struct interval){ NAN, NAN } };
	t = result_find_table(run->res, textf("%.*s", (int)len - 1, name));
	return (struct value){ .number = t ? (double)t->nrows : 0.0 };
}

/* What is true of a figure, by the disk (tests/sim/wildtruth.c). */
static struct interval truth_of(const struct sim_run *run, const char *name)
{
	struct disk *d = sim_model(sim_find(run->sim, "sda"));
	cleanup_free char *text = result_to_json(run->res);
	json_t *doc = json_loads(text, 0, NULL);
	json_t *truth = truth_json(disk_geometry(d), strcmp(run->m->name, "zones") == 0 ? TRUTH_STREAMED : 0);
	const struct wild_case c = { .doc = doc, .truth = truth, .g = disk_geometry(d), .p = disk_profile(d) };
	struct interval is = { NAN, NAN };

	assert_true(doc && truth);
	for (const struct wild_figure *f = wild_figures; f->name; f++)
		if (strcmp(f->command, run->m->name) == 0 && strcmp(f->name, name) == 0)
			is = f->member
			             ? (struct interval){ wild_number(truth, f->member), wild_number(truth, f->member) }
			             : f->truth(&c);
	json_decref(doc);
	json_decref(truth);
	return is;
}

/* At the begin of a claim's end: a number, "truth", or another figure's name; NaN: none of these, or "nan". */
static struct interval wanted(const struct sim_run *run, const char *name, const char *want)
{
	char *end;
	double x = strtod(want, &end);

	if (strncmp(want, "truth", 5) == 0)
		return truth_of(run, name);
	if (end == want)
		x = value_of(run, textf("%.*s", (int)strcspn(want, " "), want)).number;
	return (struct interval){ x, x };
}

/* Is it so? "=?": or it is not reported. */
static bool holds(const struct sim_run *run, const char *name, const struct value *v, const char *op, const char *want)
{
	const char *text = v->text ? v->text : "none", *part = strrchr(want, ' ');
	const struct interval y = wanted(run, name, want);
	const double within = part && want[strlen(want) - 1] == '%' ? strtod(part, NULL) / 100.0 : 1e-6, x = v->number;

	switch (*op) {
	case '=':
		return (op[1] == '?' && isnan(x) && !v->text) || strcmp(text, want) == 0 ||
		       (!v->text && (strcmp(want, "nan") == 0 ? isnan(x)
		                                              : x >= y.low - within * fabs(y.low) &&
		                                                        x <= y.high + within * fabs(y.high)));
	case '<':
		return x < y.low;
	case '>':
		return x > y.high;
	case '[':
		return v->ci.low <= y.high && y.low <= v->ci.high;
	case 'h': /* has */
		return strstr(text, want) != NULL;
	case 'l': /* lacks */
		return !strstr(text, want);
	default:
		fail_msg("no such claim: %s %s", op, want);
		return false;
	}
}

/* "+CODE" and "-CODE", a notice that is there or not, with a text in it if one follows; "NAME OP VALUE", of a figure,
 * of the rows of a table ("NAME#"), of each cell of a column ("TABLE.COLUMN"), of which there are some unless it lacks
 * something. *ret_is: what is instead. */
static bool is_true(const struct sim_run *run, const char *claim, const char **ret_is)
{
	char name[64], op[8];
	const char *want, *column;
	const struct table *t;
	struct value v;
	int at = 0;

	*ret_is = "not so";
	if (*claim == '+' || *claim == '-') {
		const char *text = strchr(claim, ' ');

		return (notices(run->res, textf("%.*s", (int)strcspn(claim + 1, " "), claim + 1),
		                text ? text + 1 : NULL) > 0) == (*claim == '+');
	}
	assert_int_equal(sscanf(claim, "%63s %7s %n", name, op, &at), 2);
	want = claim + at;
	column = strchr(name, '.');
	if (!column) {
		v = value_of(run, name);
		*ret_is = v.text ? v.text : textf("%.9g", v.number);
		return holds(run, name, &v, op, want);
	}
	t = result_find_table(run->res, textf("%.*s", (int)(column - name), name));
	for (size_t i = 0; t && i < t->nrows; i++) {
		v = (struct value){ .number = number(t, i, column + 1), .text = string_of(t, i, column + 1) };
		*ret_is = v.text ? v.text : textf("%.9g", v.number);
		if (!holds(run, name, &v, op, want))
			return false;
	}
	return *op == 'l' || (t && t->nrows);
}

static void check_runs(const char *measure)
{
	struct cases c = cases_open(textf(TEST_DATA "/cases/runs/%s", measure));
	unsigned wrong = 0;

	while (cases_next(&c)) {
		char *disks = cases_field(&c), *words = cases_field(&c), *claims = cases_field(&c), *save = NULL;
		const char *disk = textf("%s", disks);
		cleanup_run struct sim_run run = { 0 };

		if (*disks == '*' && !getenv("PLATTER_LONG"))
			continue;
		run = run_of(measure, disks + (*disks == '*'), words);
		assert_non_null(claims);
		for (char *claim = strtok_r(claims, ";", &save); claim; claim = strtok_r(NULL, ";", &save)) {
			const char *is;

			claim += strspn(claim, " ");
			if (!is_true(&run, claim, &is))
				wrong++, print_error("%s\n\t%s | %s: %s: %s\n", c.title, disk, run.words, claim, is);
		}
	}
	assert_int_equal(wrong, 0);
}

#define RUNS(measure)                 \
	TEST(runs_of_##measure)       \
	{                             \
		check_runs(#measure); \
	}

RUNS(geometry)
RUNS(zones)
RUNS(seek)
RUNS(surface)
RUNS(stream)
RUNS(transactions)
RUNS(buffer)
RUNS(smr)
RUNS(sustain)

/* Each claim of the kinds above once as it is, and once as it is not. */
TEST(claims_that_are_not_true_are_caught)
{
	static const char *const claims[][2] = {
		{ "+few-samples", "-few-samples" },
		{ "-no-such", "+no-such" },
		{ "transactions = 200", "transactions = 201" },
		{ "response_p99_ns =? 5", "response_p50_ns =? 5" },
		{ "response_p99_ns = nan", "response_p50_ns = nan" },
		{ "transactions = 205 5%", "transactions = 205 1%" },
		{ "measured = transactions", "measured_s = transactions" },
		{ "transactions < 201", "transactions < 200" },
		{ "transactions > 199", "transactions > 200" },
		{ "took_s > 0", "took_s > 1e9" },
		{ "status = complete", "status = cancelled" },
		{ "verdict_is = yes", "verdict_is = open" },
		{ "classes# = 1", "classes# = 2" },
		{ "no_such_table# = 0", "no_such_table# = 1" },
		{ "classes.transactions = 200", "classes.transactions < 200" },
		{ "response_p50_ns [ response_p50_ns", "response_p50_ns [ 1" },
		{ "classes.class has users", "classes.class lacks users" },
		{ "no_such_table.kind lacks users", "no_such_table.kind = users" },
	};
	char disk[] = "tiny";
	cleanup_run struct sim_run run = run_of("transactions", disk, "--users=2 --ios=1 --count=100");

	for (size_t i = 0; i < ARRAY_LEN(claims); i++)
		for (int k = 0; k < 2; k++) {
			const char *is;

			if (is_true(&run, claims[i][k], &is) == k)
				fail_msg("%s: %s", claims[i][k], is);
		}
}
