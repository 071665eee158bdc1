/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a run ends, why, and what the document and the caller get of that. */
#include <errno.h>
#include <inttypes.h>

#include "session/internal.h"

bool session_is_over(const struct session *ses)
{
	return ses->state->lost || (ses->cancel && *ses->cancel);
}

const char *session_why_over(const struct session *ses)
{
	static const char *const why[] = { [LOST_GONE] = "the disk disappeared",
		                           [LOST_REFUSES] = "the kernel refused a request",
		                           [LOST_ERRORS] = "as many errors as --max-errors allows" };

	if (ses->state->lost != LOST_GONE && ses->cancel && *ses->cancel)
		return "it was interrupted";
	if (ses->state->lost)
		return why[ses->state->lost];
	return session_time_left_ns(ses) == 0 ? "--time ran out" : NULL;
}

void session_ended_early(struct session *ses)
{
	ses->state->is_early = true;
}

uint64_t session_answered_ns(const struct session *ses)
{
	return ses->state->answered_ns > ses->start_ns ? ses->state->answered_ns : ses->start_ns;
}

uint64_t session_time_left_ns(const struct session *ses)
{
	uint64_t spent = clock_now_ns(ses->env->clk) - ses->start_ns;

	if (ses->common->time_ns == 0)
		return UINT64_MAX;
	return spent < ses->common->time_ns ? ses->common->time_ns - spent : 0;
}

static bool is_early(const struct session *ses)
{
	return ses->state->is_early || (!ses->plan->lasts && session_time_left_ns(ses) == 0);
}

enum result_status session_status(const struct session *ses, int r)
{
	if (r < 0)
		return STATUS_FAILED;
	if (ses->state->lost == LOST_GONE)
		return STATUS_DEVICE_GONE;
	if (ses->cancel && *ses->cancel)
		return STATUS_CANCELLED;
	if (result_fault_count(ses->res))
		return STATUS_WITH_ERRORS;
	return is_early(ses) ? STATUS_ENDED_EARLY : STATUS_COMPLETE;
}

/* Nothing of this is the disk's fault. */
static int refused(const struct result *res, struct err *err)
{
	for (size_t i = 0; i < res->nfaults; i++) {
		const struct result_fault *f = &res->faults[i];

		if (err_is_refusal((int)f->result))
			return err_set(err, -EOPNOTSUPP,
			               "The kernel refused a %s of %" PRIu64 " bytes at %" PRIu64
			               " of %s (%s), so no disk has seen it: the figures are of what was done before. "
			               "See dmesg for what has changed, and run it again.",
			               f->op, f->length_bytes, f->offset_bytes, f->target, f->errno_name);
	}
	return err_set(err, -ENOSPC,
	               "The file system took no more (it is full, a quota is used up, or the file is too large): the "
	               "figures are of what was done before. Nothing of this is the disk's fault.");
}

int session_end(struct session *ses, int r, struct err *err)
{
	const struct figure *said = result_find_figure(ses->res, "ended_by");
	uint64_t faults = result_fault_count(ses->res);

	if (r == 0 && result_limit_count(ses->res) && !faults)
		r = refused(ses->res, err);
	if (ses->state->lost == LOST_ERRORS)
		result_notice(ses->res, "too-many-errors",
		              "Too many errors ended the run: %" PRIu64 "; --max-errors allows more.", faults);
	else if (r == 0 && faults && is_early(ses)) /* its status says only the former */
		result_notice(ses->res, "time-over", "The run ended early: %s.",
		              said && !said->value.is_null ? said->value.str : "--time ran out");
	return r;
}
