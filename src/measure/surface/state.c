/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A scan that is continued. Its state is its document: what was counted, the places found, and up to where all was judged, saved between two batches, so
 * that nothing is left out and nothing counted twice. What is in flight when the power fails is read again.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "measure/surface/surface.h"

#define SAVE_NS (50 * NS_PER_S) /* a batch more, and it is still less than a minute */

int surface_state_save(struct surface_run *run, bool is_due, struct err *err)
{
	uint64_t now_ns = surface_now(run);

	if (!run->p->state || (!is_due && now_ns - run->saved_ns < SAVE_NS))
		return 0;
	run->saved_ns = now_ns;
	if (!is_due) /* else it was told just now */
		surface_tell(run);
	return result_save(run->ses->res, run->p->state, err);
}

static uint64_t whole(const struct result *res, const char *name)
{
	double x = figure_number(result_find_figure(res, name));

	return x > 0.0 ? (uint64_t)x : 0;
}

static int check(const struct surface_run *run, const struct result *state, struct err *err)
{
	const struct figure *id = result_find_figure(state, "device_id");
	const char *path = run->p->state;

	if (!state->head.measurement || strcmp(state->head.measurement, "surface") != 0 || !id || id->value.is_null ||
	    id->type != FIELD_TYPE_STR)
		return err_set(err, -EINVAL, "--state=%s is no state of `platter surface`; name another file.", path);
	if (strcmp(id->value.str, surface_device_id(run)) != 0)
		return err_set(err, -EINVAL, "--state=%s is of another disk (%s, not %s); name another file.", path,
		               id->value.str, surface_device_id(run));
	if (whole(state, "first_bytes") != run->range.first_bytes || whole(state, "end_bytes") != run->range.end_bytes)
		return err_set(err, -EINVAL,
		               "--state=%s is of the bytes from %" PRIu64 " to %" PRIu64
		               "; give the same --from and --to, or another file.",
		               path, whole(state, "first_bytes"), whole(state, "end_bytes"));
	return 0;
}

static void take(struct surface_run *run, const struct result *state)
{
	run->position = whole(state, "scanned_to_bytes");
	run->slow = whole(state, "slow_requests");
	run->failed = whole(state, "unreadable_requests");
	run->portions = whole(state, "portions");
	run->scan_ns = (uint64_t)(figure_number(result_find_figure(state, "scan_s")) * 1e9);
	run->scan_bytes = whole(state, "scanned_bytes");
	run->again_spent_ns = (uint64_t)(figure_number(result_find_figure(state, "again_s")) * 1e9);
	surface_take_rotation(run, state);
	surface_take_tables(run, state);
	surface_heads_take(run, state);
}

int surface_state_load(struct surface_run *run, struct err *err)
{
	const char *path = run->p->state;
	struct result *state = NULL;
	bool is_done;
	int r;

	run->saved_ns = surface_now(run);
	if (!path)
		return 0;
	if (access(path, F_OK) < 0) {
		if (run->p->resume)
			result_notice(run->ses->res, "begun-anew", "There is no %s yet: the scan begins at its start.",
			              path);
		return 0;
	}
	r = result_load(&state, path, err);
	if (r < 0)
		return r;
	r = check(run, state, err);
	is_done = r == 0 && whole(state, "scanned_to_bytes") >= run->range.end_bytes && !whole(state, "pending_places");
	if (r == 0 && !run->p->resume && !is_done)
		r = err_set(err, -EEXIST,
		            "--state=%s is of a scan that is not at its end; give --resume, or remove it.", path);
	if (r == 0 && is_done && run->p->resume)
		result_notice(run->ses->res, "begun-anew", "The scan in %s had come to its end: a new one begins.",
		              path);
	if (r == 0 && !is_done)
		take(run, state);
	result_free(state);
	return r;
}
