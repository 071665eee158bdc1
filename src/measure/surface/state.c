/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A scan that is continued. Its state is its document: what was counted, the places found, and up to where all was
 * judged, saved between two batches, so that nothing is left out and nothing counted twice. What is in flight when the
 * power fails is read again.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/whole.h"
#include "measure/surface/surface.h"
#include "measure/surface/writing.h"

#define SAVE_NS (50 * NS_PER_S) /* a batch more, and it is still less than a minute */

int surface_state_save(struct surface_run *run, bool is_due, struct err *err)
{
	uint64_t now_ns = surface_now(run);

	if (!run->p->state || (!is_due && now_ns - run->leg.saved_ns < SAVE_NS))
		return 0;
	run->leg.saved_ns = now_ns;
	if (!is_due) /* else it was reported just now */
		surface_report(run);
	return session_save(run->ses, run->p->state, OUTFILE_STATE, result_write, run->ses->res, err);
}

static uint64_t count_of(const struct result *res, const char *name)
{
	return whole(figure_number(result_find_figure(res, name)));
}

static bool is_equal(const struct target_info *a, const struct target_info *b, const char *key)
{
	const char *x = target_text(a, key), *y = target_text(b, key);

	return x && y ? strcmp(x, y) == 0 : target_number(a, key) == target_number(b, key);
}

static int check_disk(const struct surface_run *run, const struct result *state, struct err *err)
{
	const struct target_info *now = &run->ses->res->targets[0], *then = &state->targets[0];
	const char *path = run->p->state, *dev = run->ses->devs[0].path;
	bool is_file = run->ses->devs[0].kind == DEVICE_FILE;
	struct disk_names x, y;
	enum disk_name by = NAME_NONE;
	enum same_disk answer;

	result_names(run->ses->res, 0, &x);
	result_names(state, 0, &y);
	answer = same_disk(&x, &y, &by);
	if (answer == DISK_OTHER || (is_file && !is_equal(now, then, "path")))
		return err_set(err, -EINVAL,
		               "--state=%s is of another disk than %s: its %s differs; name another file.", path, dev,
		               answer == DISK_OTHER ? disk_name_text(by) : "path");
	if (answer == DISK_UNKNOWN)
		return err_set(
			err, -EINVAL,
			"--state=%s: nothing shows that it is of %s, which has no lasting name; name another file.",
			path, dev);
	if (!is_equal(now, then, "size_bytes") || !is_equal(now, then, "kind"))
		return err_set(err, -EINVAL, "--state=%s is of %.0f bytes, and %s has %" PRIu64 "; name another file.",
		               path, target_number(then, "size_bytes"), dev, run->ses->devs[0].size_bytes);
	if (!is_file && (by == NAME_BRIDGE || by == NAME_PLACE))
		result_notice(
			run->ses->res, "disk-unsure",
			"Only the %s shows that %s is the disk of --state=%s. If it was changed, remove the file.",
			disk_name_text(by), dev, path);
	return 0;
}

/* Is it of this scan of this disk? */
static int check_whose(const struct surface_run *run, const struct result *state, struct err *err)
{
	const char *path = run->p->state;
	int r;

	if (!state->head.measurement || strcmp(state->head.measurement, "surface") != 0 || state->ntargets != 1)
		return err_set(err, -EINVAL, "--state=%s is not a state of `platter surface`; name another file.",
		               path);
	r = check_disk(run, state, err);
	if (r < 0)
		return r;
	if (!run->burn != !result_find_figure(state, "run_id"))
		return err_set(err, -EINVAL, "--state=%s is of a scan %s --write; name another file.", path,
		               run->burn ? "without" : "with");
	if (count_of(state, "first_bytes") != run->range.first_bytes ||
	    count_of(state, "end_bytes") != run->range.end_bytes)
		return err_set(err, -EINVAL,
		               "--state=%s is of the bytes from %" PRIu64 " to %" PRIu64
		               "; give the same --range, or another file.",
		               path, count_of(state, "first_bytes"), count_of(state, "end_bytes"));
	return 0;
}

/* Does it say what a scan can have come to? Then nothing was left out, and nothing is read that does not exist. */
static int check_scan(const struct surface_run *run, const struct result *state, struct err *err)
{
	const struct surface_range *g = &run->range;
	uint64_t to = count_of(state, "scanned_to_bytes"), bytes = count_of(state, "scanned_bytes");
	const char *path = run->p->state, *wrong = NULL;

	if (to < g->first_bytes || to > g->end_bytes)
		return err_set(err, -EINVAL,
		               "--state=%s says that %" PRIu64 " was reached, and the scan is from %" PRIu64
		               " to %" PRIu64 "; remove it.",
		               path, to, g->first_bytes, g->end_bytes);
	if (bytes + count_of(state, "skipped_bytes") != to - g->first_bytes || count_of(state, "failed_bytes") > bytes)
		wrong = "as many bytes scanned as lie before it";
	else if (!surface_are_tables_of(run, state, to))
		wrong = "cells and places that lie in them, each once";
	if (wrong)
		return err_set(err, -EINVAL,
		               "--state=%s is damaged: it reached %" PRIu64 " and does not show %s; remove it.", path,
		               to, wrong);
	return 0;
}

static bool take(struct surface_run *run, const struct result *state)
{
	surface_take_counts(run, state);
	run->done.scan_bytes = count_of(state, "scanned_bytes") - count_of(state, "failed_bytes");
	surface_take_tables(run, state);
	surface_heads_take(run, state);
	return !run->burn || surface_burn_take(run, state, &surface_tables[SURFACE_TABLE_WRONG]);
}

int surface_state_load(struct surface_run *run, struct err *err)
{
	const char *path = run->p->state;
	struct result *state = NULL;
	struct stat st;
	bool is_done, is_anew;
	int r;

	run->leg.saved_ns = surface_now(run);
	if (!path)
		return 0;
	if (stat(path, &st) < 0) {
		if (run->p->resume)
			result_notice(run->ses->res, "begun-anew", "There is no %s yet: the scan begins at its start.",
			              path);
		return 0;
	}
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "--state=%s is not a regular file; name another one.", path);
	r = result_load(&state, path, err);
	if (r < 0)
		return r;
	r = check_whose(run, state, err) ?: check_scan(run, state, err);
	is_done = r == 0 && count_of(state, "scanned_to_bytes") == run->range.end_bytes &&
	          !count_of(state, "pending_places") &&
	          !(run->p->recheck_all && count_of(state, "unchecked_places") + count_of(state, "skipped_places"));
	if (r == 0 && !run->p->resume && !is_done)
		r = err_set(err, -EEXIST,
		            "--state=%s is of a scan that is not at its end; give --resume, or remove it.", path);
	is_anew = is_done && !(run->burn && run->p->resume); /* to go on with a burn-in is not consent to another one */
	if (r == 0 && is_anew && run->p->resume)
		result_notice(run->ses->res, "begun-anew", "The scan in %s had come to its end: a new one begins.",
		              path);
	if (r == 0 && is_done && !is_anew)
		result_notice(
			run->ses->res, "burnt-in",
			"The burn-in in %s had come to its end: nothing is written. Without --resume a new one begins.",
			path);
	if (r == 0 && !is_anew && !take(run, state))
		r = err_set(err, -EINVAL, "--state=%s is damaged: no run can have come to what it says; remove it.",
		            path);
	result_free(state);
	return r;
}

/* ---- ddrescue's mapfile ---- */

static void map_line(FILE *f, uint64_t first, uint64_t end, char status)
{
	if (first < end)
		(void)fprintf(f, "0x%08" PRIX64 "  0x%08" PRIX64 "  %c\n", first, end - first, status);
}

/*
 * What was not scanned is "non-tried", what was read counts as such, though nothing was copied: for --domain-mapfile. A
 * request that failed and was not narrowed down to its sectors is "non-trimmed": most of it may be readable.
 */
static int write_map(FILE *f, void *arg)
{
	const struct surface_run *run = arg;
	const struct surface_failures *bad = &run->failures, *skipped = &run->later.skipped;
	uint64_t at = run->range.first_bytes, to = run->position;

	(void)fprintf(f, "# Mapfile of a scan by platter surface\n# current_pos  current_status  current_pass\n");
	(void)fprintf(f, "0x%08" PRIX64 "     %c               1\n#      pos        size  status\n", to,
	              to < run->range.end_bytes ? '?' : '+');
	map_line(f, 0, at, '?');
	for (size_t i = 0, k = 0; (i < bad->n && bad->v[i].first_bytes < to) || k < skipped->n;) {
		bool is_bad = i < bad->n && (k == skipped->n || bad->v[i].first_bytes <= skipped->v[k].first_bytes);
		const struct surface_failed *e = is_bad ? &bad->v[i++] : &skipped->v[k++];
		uint64_t first = e->first_bytes > at ? e->first_bytes : at, end = e->end_bytes < to ? e->end_bytes : to;

		map_line(f, at, first, '+');
		map_line(f, first, end, !is_bad ? '?' : e->is_sector ? '-' : '*');
		at = end > at ? end : at;
	}
	map_line(f, at, to, '+');
	map_line(f, to, run->ses->devs[0].size_bytes, '?');
	return ferror(f) ? -EIO : 0;
}

int surface_map_save(struct surface_run *run, struct err *err)
{
	return run->p->mapfile ? session_save(run->ses, run->p->mapfile, OUTFILE_MAPFILE, write_map, run, err) : 0;
}
