/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of what was asked was scanned, why the run ended before all of it was, what goes on from there, and what to
 * know of the result.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "measure/surface/surface.h"

#define DEAF_MOST 0.01 /* of what was read: rarer than that, what hides is rare */

/* ---- what goes on from there ---- */

struct next {
	bool resumes, rechecks_all;
	uint64_t from_bytes, to_bytes; /* 0: as it was */
};

/* Options that the next command has otherwise; with their value in the next word where there is no "=". */
static bool is_replaced(const struct next *next, const char *word, bool *ret_has_value)
{
	const struct {
		const char *option;
		bool has_value, is_out;
	} all[] = { { "--resume", false, true },
		    { "--recheck-all", false, next->rechecks_all },
		    { "--time", true, true },
		    { "--json", true, !next->resumes }, /* a part would replace what is known of the rest */
		    { "--csv", true, !next->resumes },
		    { "--html", true, !next->resumes },
		    { "--prometheus", true, !next->resumes },
		    { "--range", true, next->from_bytes || next->to_bytes } };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		size_t len = strlen(all[i].option);

		*ret_has_value = all[i].has_value && word[len < strlen(word) ? len : strlen(word)] != '=';
		if (all[i].is_out && strncmp(word, all[i].option, len) == 0 && (!word[len] || word[len] == '='))
			return true;
	}
	return false;
}

static void report_next(struct surface_run *run, const struct next *next)
{
	const struct result *res = run->ses->res;
	cleanup_free char *text = NULL;
	size_t len = 0, i = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	(void)fprintf(f, "platter surface%s%s", next->resumes ? " --resume" : "",
	              next->rechecks_all ? " --recheck-all" : "");
	if (next->from_bytes || next->to_bytes)
		(void)fprintf(f, " --range=%" PRIu64 "-%" PRIu64,
		              next->from_bytes ? next->from_bytes : run->range.first_bytes,
		              next->to_bytes ? next->to_bytes : run->range.end_bytes);
	while (i < res->head.argc && strcmp(res->head.argv[i], "surface") != 0)
		i++;
	if (i >= res->head.argc)
		str_put_shell_word(f, run->ses->devs[0].path);
	for (i++; i < res->head.argc; i++) {
		bool has_value = false;

		if (is_replaced(next, res->head.argv[i], &has_value))
			i += has_value;
		else
			str_put_shell_word(f, res->head.argv[i]);
	}
	if (fclose(f) == 0)
		result_figure_text(run->ses->res, "next_command", "to go on", text);
}

/* What the limits of rechecks left open: all of it lies from there to there. */
static bool find_open(const struct surface_run *run, struct next *ret)
{
	size_t n;
	cleanup_free struct surface_suspect *v = surface_all_places(run, &n);
	uint64_t from = UINT64_MAX, to = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i].kind == SURFACE_UNCHECKED || v[i].kind == SURFACE_SKIPPED) {
			from = v[i].first_bytes < from ? v[i].first_bytes : from;
			to = v[i].end_bytes > to ? v[i].end_bytes : to;
		}
	*ret = (struct next){ .resumes = run->p->state, .rechecks_all = true };
	if (!run->p->state) {
		ret->from_bytes = from;
		ret->to_bytes = to;
	}
	return to > 0;
}

/* ---- why it ended ---- */

static const char *waited_for(const struct surface_run *run)
{
	if (run->gentle.held_since_ns)
		return run->gentle.is_hot ? ", while the disk was too warm" : ", outside of --hours";
	return run->gentle.quiet_ns > surface_now(run) ? ", while others used the disk" : "";
}

static void report_why(struct surface_run *run)
{
	const char *why = session_why_over(run->ses);
	char text[200];

	if (!why && !run->p->portion_ns)
		return; /* it failed, which is an error of its own */
	(void)snprintf(text, sizeof(text), "%s%s", why ? why : "--portion was over", waited_for(run));
	result_figure_text(run->ses->res, "ended_by", "why it ended early", text);
	/* A portion ends as it was asked, the others leave open what the rest is like. */
	if (why || !run->done.scan_bytes)
		run->ses->res->verdict_is_open = true;
	session_ended_early(run->ses);
}

/* ---- notices ---- */

/* By what weak places may be missing, and in how much of what was read. */
static void say_what_hides(const struct surface_run *run)
{
	static const char *const words[][2] = {
		{ "insensitive",
		  "the times of its requests vary so much that a lost revolution does not stand out: weak places may be "
		  "missing. Stop what else runs on this machine, and repeat." },
		{ "buffered",
		  "it is as fast as its connection, and the drive's buffer hides a lost revolution: weak places may be "
		  "missing. Connect it otherwise, or try --verify-command." },
		{ "insensitive",
		  "no rotation was found, though it calls itself rotating. Delays below 2.2 ms do not stand out: weak places "
		  "may be missing." },
	};
	bool is_still = run->ses->devs[0].rotational == 1 && run->done.scan_bytes && !run->rot.is_rotating;
	const double shares[] = { (double)run->blind.deaf_bytes / (double)run->done.scan_bytes,
		                  (double)run->blind.bound_batches / (double)run->blind.batches, is_still };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (shares[i] > DEAF_MOST)
			result_notice(run->ses->res, words[i][0], "In %.0f %% of what was read of %s %s",
			              100.0 * shares[i], run->ses->devs[0].path, words[i][1]);
}

static void say_what_is_left_out(struct surface_run *run)
{
	struct result *res = run->ses->res;
	struct next next;

	if (!surface_is_unfinished(run) && find_open(run, &next)) {
		result_notice(
			res, "unchecked",
			"The limit of rechecks was reached with %.0f suspects not rechecked and %.0f bytes not read.",
			figure_number(result_find_figure(res, "unchecked_places")),
			figure_number(result_find_figure(res, "skipped_bytes")));
		report_next(run, &next);
	}
	for (size_t k = 0; k < SURFACE_KINDS; k++)
		if (run->lists.unlisted[k])
			result_notice(res, "places-cut",
			              "The table lists %d places of the kind \"%s\"; %" PRIu64
			              " more were counted and are not in it.",
			              SURFACE_LISTED, surface_kind_names[k], run->lists.unlisted[k]);
}

void surface_report_ending(struct surface_run *run)
{
	struct result *res = run->ses->res;
	uint64_t left = run->range.end_bytes - run->position;

	if (surface_is_unfinished(run)) {
		const struct next next = { .resumes = run->p->state, .from_bytes = run->p->state ? 0 : run->position };

		if (run->position == run->range.first_bytes && !run->burn)
			result_notice(res, "nothing-scanned", "Nothing was scanned, so nothing is known of the disk.");
		if (left)
			result_notice(res, "unfinished", "%" PRIu64 " of %" PRIu64 " bytes are still to be scanned.",
			              left, run->range.end_bytes - run->range.first_bytes);
		else
			result_notice(res, "unfinished", "All was scanned; suspects are still to be rechecked.");
		report_why(run);
		if (left || run->p->state)
			report_next(run, &next);
	}
	say_what_hides(run);
	say_what_is_left_out(run);
}
