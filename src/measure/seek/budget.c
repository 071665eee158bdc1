/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a run takes, and which phase may take how much of it. A run ends when it said it would, on every disk: each
 * phase ends when only as much is left as is kept for those that come after it, and what one does not need is theirs.
 * Most is worth the rotation, as all that follows is by it: where it is hard to find, what only few figures are from
 * gives way. What was not reached is reported.
 */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "measure/seek/seek.h"

/* About what a middling disk needs (a choice), of a run of the usual length; of a shorter one it is that part of it. */
static const struct share {
	double quick_s, full_s;
	double quick_more_s; /* kept from what gives way */
	bool gives_way;      /* to the rotation, and to what shows where things are */
	const char *name;
} shares[] = {
	[SEEK_ROTATION] = { 4.0, 10.0, 0.0, false, "rotation" },
	[SEEK_ARMS] = { 0.3, 1.0, 0.0, false, "each actuator" },
	[SEEK_RATES] = { 1.4, 4.0, 0.0, false, "sequential rates" },
	[SEEK_OVERHEAD] = { 2.5, 4.0, 0.0, true, "command overhead" },
	[SEEK_CURVE] = { 2.2, 24.0, 0.0, true, "seek curve" },
	[SEEK_NEAR] = { 1.1, 4.0, 0.0, true, "seeks over few tracks" },
	[SEEK_WHOLE] = { 1.6, 18.0, 0.6, false, "mean over the whole device" },
	[SEEK_SPANS] = { 0.5, 20.0, 0.0, false, "spans" },
	[SEEK_QUEUE] = { 1.4, 13.0, 0.0, false, "queue" },
};

static bool is_wanted(const struct seek_run *s, enum seek_phase phase)
{
	bool is_curve = phase >= SEEK_ARMS && phase <= SEEK_NEAR;

	if (s->t.part_bytes) /* of an arm its curve is wanted, and its mean */
		return phase <= SEEK_WHOLE;
	return phase == SEEK_QUEUE ? !strs_list_have(&s->p->without, "queue")
	                           : !is_curve || !strs_list_have(&s->p->without, "curve");
}

uint64_t seek_usual_ns(const struct seek_params *p, enum seek_phase first, enum seek_phase last)
{
	double s = 0.0;

	for (enum seek_phase i = first; i <= last; i++)
		s += p->quick ? shares[i].quick_s : shares[i].full_s;
	return (uint64_t)(s * 1e9);
}

void seek_budget(struct seek_run *s, uint64_t total_ns)
{
	double usual_ns = (s->p->quick ? SEEK_QUICK_S : SEEK_FULL_S) * 1e9;

	s->budget = (struct seek_budget){ .end_ns = clock_now_ns(s->ses->env->clk) + total_ns,
		                          .scale = fmin((double)total_ns / usual_ns, s->p->quick ? 3.0 : 1.0) };
	s->t.until_ns = s->budget.end_ns;
}

uint64_t seek_begin(struct seek_run *s, enum seek_phase phase)
{
	double kept_s = 0.0;
	uint64_t kept_ns;

	for (size_t i = phase + 1; i < ARRAY_LEN(shares); i++)
		if (is_wanted(s, (enum seek_phase)i) && !(phase <= SEEK_RATES && shares[i].gives_way))
			kept_s += !s->p->quick              ? shares[i].full_s
			          : shares[phase].gives_way ? shares[i].quick_s + shares[i].quick_more_s
			                                    : shares[i].quick_s;
	kept_ns = (uint64_t)(kept_s * s->budget.scale * 1e9);
	s->t.until_ns = s->budget.end_ns > kept_ns ? s->budget.end_ns - kept_ns : 1;
	s->budget.phase = phase;
	return seek_left_ns(s);
}

uint64_t seek_left_ns(const struct seek_run *s)
{
	uint64_t now = clock_now_ns(s->ses->env->clk);

	return now < s->t.until_ns ? s->t.until_ns - now : 0;
}

bool seek_is_over(struct seek_run *s)
{
	if (session_is_over(s->ses))
		return true;
	if (seek_left_ns(s))
		return false;
	seek_cut(s, s->budget.phase);
	return true;
}

void seek_cut(struct seek_run *s, enum seek_phase phase)
{
	s->budget.cut |= 1u << phase;
}

bool seek_is_cut(const struct seek_run *s, enum seek_phase phase)
{
	return s->budget.cut & 1u << phase;
}

void seek_report_cut(struct seek_run *s)
{
	char names[256] = "";

	for (size_t i = SEEK_ARMS; i < ARRAY_LEN(shares); i++) {
		size_t n = strlen(names);

		if (seek_is_cut(s, (enum seek_phase)i) && i != SEEK_WHOLE) /* its interval says what it lacks */
			(void)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "", shares[i].name);
	}
	if (!*names)
		return;
	session_ended_early(s->ses);
	result_notice(s->res, "not-reached",
	              "Time ran out before these were measured in full: %s. Give a longer --time%s.", names,
	              s->p->quick && !s->is_shortened ? ", or leave out --quick" : "");
}
