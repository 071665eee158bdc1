/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of the time that a run may take is left. */
#include <math.h>

#include "measure/geometry/geometry.h"

#define THOUGHTS_MOST 1.3e9 /* slots that are matched: 20 seconds of a processor of 2020, at 15 ns each */

static uint64_t spent_ns(const struct geo *g)
{
	return session_answered_ns(g->ses) - g->ses->start_ns;
}

void geo_may_take(struct geo *g, double part)
{
	g->until_ns = (uint64_t)(part * (double)g->budget_ns);
}

bool geo_is_over(const struct geo *g)
{
	return session_is_over(g->ses) || spent_ns(g) >= g->until_ns;
}

bool geo_has_thought_enough(const struct geo *g)
{
	return session_is_over(g->ses) || (g->cost.thinks_to && g->cost.thoughts > g->cost.thinks_to) ||
	       clock_now_ns(g->ses->env->clk) - g->ses->start_ns >= g->until_ns;
}

bool geo_think(struct geo *g, uint64_t steps)
{
	g->cost.thoughts += steps;
	return geo_has_thought_enough(g);
}

void geo_may_think_on(struct geo *g)
{
	uint64_t most = (uint64_t)THOUGHTS_MOST;

	g->cost.thinks_to = g->cost.thoughts + (most > g->cost.thoughts ? most - g->cost.thoughts : 0) / 3;
}

void geo_may_think_all(struct geo *g)
{
	g->cost.thinks_to = (uint64_t)THOUGHTS_MOST;
}

double geo_done(const struct geo *g, double done)
{
	return fmin(1.0, fmax(done, (double)spent_ns(g) / (double)g->budget_ns));
}
