/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of what was asked was scanned, why the run ended before all of it was, what goes on from there, and what to
 * know of the result.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/shell.h"
#include "base/whole.h"
#include "measure/surface/surface.h"

#define DEAF_MOST 0.01 /* of what was read: rarer than that, what hides is rare */

/* ---- what goes on from there ---- */

/* Without a state, which is of the same --from. */
static bool begins_there(const struct surface_run *run)
{
	return !run->p->state && run->position > run->range.first_bytes;
}

/* Options that the next command has otherwise; with their value in the next word where there is no "=". */
static bool is_replaced(const struct surface_run *run, const char *word, bool *ret_has_value)
{
	static const char *const always[] = { "--time", "--resume", "--from" };
	size_t n = begins_there(run) ? 3 : 2;

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(always[i]);

		*ret_has_value = i != 1 && word[len < strlen(word) ? len : strlen(word)] != '=';
		if (strncmp(word, always[i], len) == 0 && (!word[len] || word[len] == '='))
			return true;
	}
	return false;
}

static void tell_next(struct surface_run *run)
{
	const struct result *res = run->ses->res;
	cleanup_free char *text = NULL;
	size_t len = 0, i = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	(void)fputs("platter surface", f);
	if (run->p->state)
		(void)fputs(" --resume", f);
	if (begins_there(run))
		(void)fprintf(f, " --from=%" PRIu64, run->position);
	while (i < res->head.argc && strcmp(res->head.argv[i], "surface") != 0)
		i++;
	if (i >= res->head.argc)
		shell_put_word(f, run->ses->devs[0].path);
	for (i++; i < res->head.argc; i++) {
		bool has_value = false;

		if (is_replaced(run, res->head.argv[i], &has_value))
			i += has_value;
		else
			shell_put_word(f, res->head.argv[i]);
	}
	if (fclose(f) == 0)
		result_figure_text(run->ses->res, "next_command", "to go on", text);
}

/* ---- why it ended ---- */

static const char *waited_for(const struct surface_run *run)
{
	if (run->gentle.held_since_ns)
		return run->gentle.is_hot ? ", while the disk was too warm" : ", outside of --hours";
	return run->gentle.quiet_ns > surface_now(run) ? ", while others used the disk" : "";
}

static void tell_why(struct surface_run *run)
{
	const char *why = session_why_over(run->ses);
	char text[200];

	(void)snprintf(text, sizeof(text), "%s%s", why ? why : "--portion was over", waited_for(run));
	result_figure_text(run->ses->res, "ended_by", "why it ended early", text);
	/* A portion ends as it was asked, the others leave open what the rest is like. */
	if (why || !run->scan_bytes)
		run->ses->res->verdict_is_open = true;
	session_ended_early(run->ses);
}

/* ---- notices ---- */

static void say_what_hides(const struct surface_run *run)
{
	struct result *res = run->ses->res;
	const char *path = run->ses->devs[0].path;

	if ((double)run->deaf_bytes > DEAF_MOST * (double)run->scan_bytes)
		result_notice(
			res, "insensitive",
			"In %.0f %% of what was read the times of requests to %s vary so much that a lost revolution does not "
			"stand out: weak places may be missing. Stop what else runs on this machine, and repeat.",
			100.0 * (double)run->deaf_bytes / (double)run->scan_bytes, path);
	if ((double)run->bound_batches > DEAF_MOST * (double)run->batches)
		result_notice(
			res, "buffered",
			"In %.0f %% of what was read %s is as fast as its connection, which the drive's buffer keeps busy while a "
			"revolution is lost: weak places may be missing. Connect it otherwise, or try --verify-command.",
			100.0 * (double)run->bound_batches / (double)run->batches, path);
	if (run->ses->devs[0].rotational == 1 && run->is_known && !run->rot.is_rotating)
		result_notice(
			res, "insensitive",
			"%s calls itself rotating, but no rotation was found. A delay below %.1f ms does not stand out: "
			"weak places may be missing. See platter-geometry(8) for what it says of the rotation.",
			path, SURFACE_LEAST_OVER_NS * 1e-6);
}

static void say_what_is_left_out(const struct surface_run *run)
{
	uint64_t unchecked = whole(figure_number(result_find_figure(run->ses->res, "unchecked_places")));
	struct result *res = run->ses->res;

	if (unchecked)
		result_notice(res, "unchecked",
		              "%" PRIu64 " suspects were left open (limit of rechecks reached). Scan their part "
		              "alone with --from and --to.",
		              unchecked);
	for (size_t k = 0; k < SURFACE_KINDS; k++)
		if (run->unlisted[k])
			result_notice(res, "places-cut",
			              "The table lists %d places of the kind \"%s\"; %" PRIu64
			              " more were counted and are not in it.",
			              SURFACE_LISTED, surface_kind_names[k], run->unlisted[k]);
}

void surface_tell_ending(struct surface_run *run)
{
	struct result *res = run->ses->res;
	uint64_t left = run->range.end_bytes - run->position;

	if (surface_is_unfinished(run)) {
		if (run->position == run->range.first_bytes)
			result_notice(res, "nothing-scanned", "Nothing was scanned, so nothing is known of the disk.");
		result_notice(res, "unfinished", "%" PRIu64 " of %" PRIu64 " bytes are still to be scanned%s.", left,
		              run->range.end_bytes - run->range.first_bytes,
		              left ? "" : ", and suspects still to be rechecked");
		tell_why(run);
		if (left || run->p->state)
			tell_next(run);
	}
	say_what_hides(run);
	say_what_is_left_out(run);
}
