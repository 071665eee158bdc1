/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One rule for all first screens: a clause says over how much it was seen, or is not said; nothing seen is a sentence
 * of its own. Tried on documents that are drawn from each measurement's own clauses, and on runs of every simulated
 * command that end early.
 */
#include "test.h"

#include <ctype.h>
#include <stdatomic.h>

#include "cli/cli.h"
#include "measure/measures.h"
#include "simrun.h"

/* ---- what a clause may not do ---- */

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += len)
		if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[len]) &&
		    !(at - text >= 2 && at[-2] == ':')) /* "reads ahead: no" is a value */
			return true;
	return false;
}

static bool is_total(const char *clause)
{
	static const char *const words[] = { "nothing", "Nothing", "none",  "None", "no",
		                             "No",      "every",   "Every", "all",  "never" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (has_word(clause, words[i]))
			return true;
	return false;
}

/* It says that nothing was seen at all. */
static bool is_of_zero(const char *clause)
{
	static const char *const begins[] = { "nothing was ", "no transaction ", "no device " };

	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (strncasecmp(clause, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* What can be typed, lists of LBA, and names of layouts have numbers of their own kind. */
static bool is_quoted(const char *clause)
{
	return strchr(clause, ':') || strstr(clause, "LBA") || strstr(clause, "layout") || strstr(clause, "TEXT");
}

/* The first number that no unit or noun follows: "never fuller than 1.21", "70.3 in the middle". */
static const char *bare_number(const char *clause)
{
	static const char *const no_units[] = { "in", "at", "on", "for", "and", "or", "average", "full" };

	for (const char *p = clause; (p = strpbrk(p, "0123456789"));) {
		const char *end = p + strspn(p, "0123456789.,");
		const char *word = end + (*end == ' ');
		size_t len = strcspn(word, " ,;)");

		if (end[-1] == '.' && !*end) /* the full stop */
			return p;
		if (p > clause && isalnum((unsigned char)p[-1])) { /* "p95" */
			p = end;
			continue;
		}
		if (!*word || !len)
			return p;
		for (size_t i = 0; i < ARRAY_LEN(no_units); i++)
			if (strlen(no_units[i]) == len && strncmp(word, no_units[i], len) == 0)
				return p;
		p = end;
	}
	return NULL;
}

/* What it does for ever has to be known, not only seen: the figure's interval is. */
static void check_present(const struct measure *m, const struct clause *c)
{
	static const char *const verbs[] = { "read takes {", "average, takes {", "answers {", "turns at {",
		                             "overhead is {" };

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		const char *at = strstr(c->text, verbs[i]);

		if (at && strcspn(at, "~") > strcspn(at, "}"))
			fail_msg("%s: \"%s\" may be said of a figure whose interval is not known", m->name, c->text);
	}
}

struct rule {
	const char *what;          /* for messages */
	const char *const *extent; /* one of these is in each clause of totality; NULL: any digit does */
	bool is_zero;              /* nothing was seen */
};

static void check_clause(const struct rule *rule, const char *clause, const char *answer)
{
	bool has_extent = !rule->extent && strpbrk(clause, "0123456789");
	const char *number;

	for (const char *const *e = rule->extent; e && *e; e++)
		has_extent |= strstr(clause, *e) != NULL;
	if (is_total(clause) && !is_of_zero(clause) && (rule->is_zero || !has_extent))
		fail_msg("%s: \"%s\" does not say over how much it was seen: %s", rule->what, clause, answer);
	if (is_total(clause) && is_of_zero(clause) && rule->extent && !rule->is_zero)
		fail_msg("%s: \"%s\" is said where something was: %s", rule->what, clause, answer);
	number = is_quoted(clause) ? NULL : bare_number(clause);
	if (number)
		fail_msg("%s: \"%s\" has no unit: %s", rule->what, number, answer);
}

/* Nothing was seen, and the measurement has a sentence for that: it has to be there. */
static void check_zero(const struct measure *m, const char *answer)
{
	bool has = false, is_said = false;

	for (const struct clause *c = m->screen->says; c->text; c++) {
		cleanup_free char *begin = strndup(c->text, strcspn(c->text, "{"));

		if (!is_of_zero(c->text))
			continue;
		/* A disk of which nothing was seen is no good one; what there is to look at is another question. */
		if (!c->is_open && strcmp(m->name, "info") != 0 && strcmp(m->name, "passes") != 0)
			fail_msg("%s: \"%s\" is not an answer, and does not leave it open", m->name, c->text);
		has = true;
		is_said |= strcasestr(answer, begin) != NULL;
	}
	if (has && !is_said)
		fail_msg("%s: nothing was seen, and that is not said: %s", m->name, answer);
}

static void check_answer(const struct rule *rule, const char *answer)
{
	cleanup_free char *text = strdup(answer);
	char *save = NULL;
	size_t len = strlen(text);

	if (len && text[len - 1] == '.')
		text[len - 1] = '\0';
	for (char *clause = strtok_r(text, ";", &save); clause; clause = strtok_r(NULL, ";", &save))
		check_clause(rule, clause + strspn(clause, " "), answer);
}

/* ---- documents that are drawn ---- */

/* How much was seen: these figures follow the share, all others are drawn. */
static const struct extent {
	const char *measure, *amount, *ratio, *left, *notice; /* left: what was not; notice: of nothing seen */
} extents[] = {
	{ "zones", "read_bytes", "read_ratio", NULL, NULL },
	{ "zones", "written_bytes", "written_ratio", NULL, NULL },
	{ "surface", "scanned_bytes", "scanned_ratio", "unscanned_bytes", "nothing-scanned" },
	{ "passes", "checked_bytes", NULL, NULL, NULL },
	{ "transactions", "measured", NULL, NULL, "none-ended" },
	{ "transactions", "measured_s", NULL, NULL, "none-arrived" },
	{ "stream", "verified_blocks", NULL, NULL, NULL },
	{ "info", "devices", NULL, NULL, NULL },
};

static const double shares[] = { 0, 0.01, 0.5 };
/* Amounts whose digits no other figure has. */
static const double amounts[] = { 0, 456, 789 };
static const char *const seen[][5] = { { NULL }, { "456", "1 %", NULL }, { "789", "50 %", NULL } };

static bool is_text(const char *name)
{
	static const char *const texts[] = { "ended_by",    "next_command",    "limited_by",  "write",     "layout",
		                             "shingled",    "reason",          "verdict",     "slowest",   "flush",
		                             "reads_ahead", "unreadable_lbas", "verdict_why", "full_speed" };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (strcmp(name, texts[i]) == 0)
			return true;
	return strncmp(name, "holder", 6) == 0;
}

static const struct extent *extent_of(const char *measure, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(extents); i++) {
		const struct extent *e = &extents[i];

		if (strcmp(measure, e->measure) == 0 &&
		    (strcmp(name, e->amount) == 0 || (e->ratio && strcmp(name, e->ratio) == 0) ||
		     (e->left && strcmp(name, e->left) == 0)))
			return e;
	}
	return NULL;
}

static void draw_figure(struct result *res, const char *name, size_t share, struct rng *rng)
{
	const struct extent *e = extent_of(res->head.measurement, name);
	enum unit unit = unit_by_key(name) == UNIT_NONE ? UNIT_COUNT : unit_by_key(name);
	double value;

	if (result_find_figure(res, name))
		return;
	if (is_text(name)) {
		result_figure_text(res, name, name, rng_below(rng, 2) ? "TEXT" : NULL);
		return;
	}
	if (!e)
		value = (double[]){ NAN, 0, 1, 3 }[rng_below(rng, 4)];
	else if (strcmp(name, e->amount) == 0)
		value = amounts[share] * (unit == UNIT_BYTES ? 1e6 : 1);
	else
		value = e->left && strcmp(name, e->left) == 0 ? 1 - shares[share] : shares[share];
	if (!e && unit == UNIT_RATIO)
		value *= 0.3;
	/* Every other one has an interval, and a few samples. */
	result_figure(res, name, name, unit, value, *name % 2 ? &(struct interval){ 0.9 * value, 1.1 * value } : NULL,
	              2);
}

/* Where nothing was seen the notice that says so is alone. */
static void draw_notice(struct result *res, const char *code, size_t share, struct rng *rng)
{
	bool has_zero = false, is_zero = false;

	for (size_t i = 0; i < ARRAY_LEN(extents); i++)
		if (strcmp(extents[i].measure, res->head.measurement) == 0 && extents[i].notice) {
			has_zero = true;
			is_zero |= strcmp(code, extents[i].notice) == 0;
		}
	if (has_zero && (share == 0 || is_zero) ? !(share == 0 && is_zero) : rng_below(rng, 4) != 0)
		return;
	if (!result_has_notice(res, code))
		result_notice(res, code, "A notice.");
}

/* All that the clauses of a measurement speak of. */
static struct result *drawn(const struct measure *m, size_t share, struct rng *rng)
{
	struct result *res = result_new(m->name);

	res->status = (enum result_status[]){ STATUS_COMPLETE, STATUS_ENDED_EARLY, STATUS_CANCELLED,
		                              STATUS_WITH_ERRORS }[rng_below(rng, 4)];
	for (const struct clause *c = m->screen->says; c->text; c++) {
		for (const char *at = c->text; (at = strchr(at, '{')); at++) {
			char name[64];
			const char *ratio = at + 1 + strcspn(at + 1, "@}");

			(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + 1, "~#%:@}"), at + 1);
			draw_figure(res, name, share, rng);
			if (*ratio != '@')
				continue;
			(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(ratio + 1, "}"), ratio + 1);
			draw_figure(res, name, share, rng);
		}
		if (c->if_any)
			draw_figure(res, c->if_any, share, rng);
		if (c->if_none)
			draw_figure(res, c->if_none, share, rng);
		if (c->because)
			draw_notice(res, c->because, share, rng);
		if (c->unless)
			draw_notice(res, c->unless, share, rng);
	}
	return res;
}

/* No answer is exit status 6. */
static void check_open(const struct result *res)
{
	if (!res->answer)
		return;
	if (strstr(res->answer, "oo little was measured") || strstr(res->answer, "before there was an answer"))
		assert_true(res->verdict_is_open);
}

/* What is saved on the way has no answer yet; that must not last. */
TEST(a_run_under_way_has_not_failed_to_answer)
{
	cleanup_result struct result *res = result_new("zones");

	res->status = STATUS_RUNNING;
	cli_screen(res);
	assert_false(res->verdict_is_open);
	res->status = STATUS_COMPLETE;
	cli_screen(res);
	assert_true(res->verdict_is_open);
}

TEST(what_a_disk_does_is_said_where_its_interval_is_known)
{
	for (const struct measure *const *m = measures; *m; m++)
		for (const struct clause *c = (*m)->screen ? (*m)->screen->says : NULL; c && c->text; c++)
			check_present(*m, c);
}

TEST(no_clause_hides_over_how_much_it_was_seen)
{
	struct rng rng;

	rng_init(&rng, 52, 0);
	for (const struct measure *const *m = measures; *m; m++)
		for (size_t share = 0; (*m)->screen && share < ARRAY_LEN(shares); share++)
			for (int i = 0; i < 500; i++) {
				struct rule rule = { (*m)->name, seen[share], share == 0 };
				cleanup_result struct result *res = drawn(*m, share, &rng);

				cli_screen(res);
				if (!res->answer)
					fail_msg("%s: no answer", (*m)->name);
				check_answer(&rule, res->answer);
				check_open(res);
				if (share == 0)
					check_zero(*m, res->answer);
			}
}

/* ---- runs that end early ---- */

static const char *const runs[] = {
	"zones sda",
	"zones --full sda",
	"zones --zones=start,middle,end sda",
	"zones --write --destroy-data=TINY0001 sda",
	"seek --quick sda",
	"surface sda",
	"smr sda",
	"smr --write --destroy-data=TINY0001 --range=-256MiB sda",
	"buffer sda",
	"geometry --quick sda",
	"stream --read --rate=20MB --time=30s sda",
	"transactions --users=8 --count=20 sda",
	"transactions --arrivals=20 --time=5s sda",
};

static atomic_int is_cancelled;

static void cancel(void *arg)
{
	atomic_store(&is_cancelled, 2);
}

static void cancel_at_request(void *arg, struct session *ses, const char *target, const struct io_req *req,
                              bool is_fault)
{
	cancel(arg);
}

#define FROM_THE_START 1e-12 /* part of the time */

enum way { BY_SIGNAL, BY_TIME, BY_REMOVAL, BY_ERRORS, BY_REFUSALS, WAYS };

static void fail_from_now_on(void *arg)
{
	sim_set_error(arg, -EIO);
}

static void refuse_from_now_on(void *arg)
{
	sim_set_error(arg, -EINVAL);
}

/* What --time ends is no complete run, where it is not the time that was asked for. */
static bool lasts(const char *words)
{
	return strncmp(words, "stream", 6) == 0 || strncmp(words, "sustain", 7) == 0 || strstr(words, "--time=") ||
	       strncmp(words, "transactions", 12) == 0;
}

/* Where each request failed there is no rate, no other cause, and nothing came back. */
static void check_failing(const char *words, const struct result *res)
{
	for (size_t i = 0; i < res->nfigures; i++) {
		const struct figure *f = &res->figures[i];

		if (f->unit == UNIT_BYTES_PER_S && figure_number(f) > 0 && !strstr(f->name, "request") &&
		    !strstr(f->name, "interface") && !strstr(f->name, "growth") && !strstr(f->name, "link"))
			fail_msg("%s: %s is a rate of what failed", words, f->name);
		if (!strcmp(f->name, "verify_errors"))
			assert_true(figure_number(f) == 0);
	}
	for (size_t i = 0; i < res->nnotices; i++)
		if (strstr(res->notices[i].text, "longer --time") || strstr(res->notices[i].text, "idle"))
			fail_msg("%s: requests failed, and the advice is: %s", words, res->notices[i].text);
	if (strstr(res->answer, "oo little") || strstr(res->answer, "0.0 MB/s"))
		fail_msg("%s: %s", words, res->answer);
}

static void check_run(const char *words, double part, enum way way, const struct result *res)
{
	struct rule rule = { words, NULL, false };
	const struct figure *unreadable = result_find_figure(res, "unreadable_regions");

	if (!res->answer && way != BY_REFUSALS)
		fail_msg("%s, %g of it: no answer", words, part);
	if (res->answer)
		check_answer(&rule, res->answer);
	check_open(res);
	if (res->status == STATUS_CANCELLED && !strstr(res->answer, "was interrupted"))
		fail_msg("%s, %g of it: interrupted without a word: %s", words, part, res->answer);
	if (way == BY_TIME && !lasts(words) &&
	    (res->status != STATUS_ENDED_EARLY || !strcasestr(res->answer, "time ran out")))
		fail_msg("%s, %g of it: cut by --time without a word: %s", words, part, res->answer);
	if (way == BY_ERRORS && res->status != STATUS_WITH_ERRORS)
		fail_msg("%s, %g of it: nothing but errors, and that is not an error", words, part);
	if (way == BY_ERRORS && part == FROM_THE_START)
		check_failing(words, res);
	if (way == BY_REFUSALS && (res->status != STATUS_FAILED || result_fault_count(res) || res->verdict_is_no))
		fail_msg("%s, %g of it: what the kernel refused is the disk's fault: %s", words, part, res->answer);
	if (way != BY_REMOVAL && way != BY_REFUSALS)
		return;
	if (way == BY_REMOVAL && (res->status != STATUS_DEVICE_GONE || !strstr(res->answer, "disappeared")))
		fail_msg("%s, %g of it: the disk went without a word: %s", words, part, res->answer);
	if (unreadable && figure_number(unreadable) > 0)
		fail_msg("%s, %g of it: what went is not an unreadable place: %s", words, part, res->answer);
}

/*
 * Ends after the first request (0), after so much of the time (0..1) in this way, or by itself (1). Returns the virtual
 * time that it took.
 */
static uint64_t run_for(const char *words, double part, enum way way, uint64_t whole_ns)
{
	cleanup_run struct sim_run run = { .sim = sim_new(), .cancel = &is_cancelled };
	double at_ns = part * (double)whole_ns;
	char options[200];
	struct profile p;
	const char *name = textf("%.*s", (int)strcspn(words, " "), words);

	(void)snprintf(options, sizeof(options), "%s", strchr(words, ' ') + 1);
	if (way == BY_TIME)
		(void)snprintf(options, sizeof(options), "--time=%.0fus%s", at_ns * 1e-3, strchr(words, ' '));
	run.words = options;
	run.m = measure_find(name);
	atomic_store(&is_cancelled, 0);
	MUST(profile_load(&p, SIMDISK_PROFILES "/tiny.disk", &err));
	if (way == BY_REMOVAL)
		p.faults.gone_at_s = at_ns * 1e-9;
	(void)sim_add_disk(run.sim, &p, "sda");
	profile_done(&p);
	if (part == 0)
		run.hooks.request = cancel_at_request;
	else if (part < 1 && way == BY_SIGNAL)
		sim_at(run.sim, (uint64_t)at_ns, cancel, NULL);
	else if (way == BY_ERRORS)
		sim_at(run.sim, (uint64_t)at_ns, fail_from_now_on, run.sim);
	else if (way == BY_REFUSALS)
		sim_at(run.sim, (uint64_t)at_ns, refuse_from_now_on, run.sim);
	if (sim_run(&run) < 0 && !(way == BY_REFUSALS && strstr(run.err.text, "The kernel refused a ")))
		fail_msg("%s, %g of it: %s", words, part, run.err.text);
	cli_screen(run.res);
	check_run(words, part, part == 0 || part == 1 ? BY_SIGNAL : way, run.res);
	return sim_elapsed_ns(run.sim);
}

TEST(what_ends_early_says_over_how_much_it_was_seen)
{
	for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
		uint64_t whole = run_for(runs[i], 1, BY_SIGNAL, 0);

		(void)run_for(runs[i], 0, BY_SIGNAL, whole);
		for (enum way way = 0; way < WAYS; way++) {
			if (way == BY_TIME && lasts(runs[i]))
				continue;
			(void)run_for(runs[i], 0.1, way, whole);
			(void)run_for(runs[i], 0.5, way, whole);
		}
	}
}

TEST(where_each_request_fails_there_is_no_rate_and_no_other_cause)
{
	static const char *const more[] = {
		"stream --read --size=16MiB sda",
		"stream --write --destroy-data=TINY0001 --verify --size=16MiB sda",
		"sustain --time=20s sda",
	};

	for (size_t i = 0; i < ARRAY_LEN(runs); i++)
		(void)run_for(runs[i], FROM_THE_START, BY_ERRORS, NS_PER_S);
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		(void)run_for(more[i], FROM_THE_START, BY_ERRORS, NS_PER_S);
}
