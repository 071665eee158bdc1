/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The turn of one target: how long it may take, how far it is, and what its samples say so far. */

#include "base/units.h"
#include "measure/zones/zones.h"

#define OWN_LIMIT_NS   (110 * NS_PER_S) /* the curve takes less than two minutes of every profile (a choice) */
#define QUICK_LIMIT_NS (26 * NS_PER_S)  /* with --quick less than half a minute (a choice) */
#define PLACES_LIMIT_NS                                                                                           \
	(29 * NS_PER_S / 10) /* with --zones: three figures in three seconds, and the last sample may be a little \
	                        longer than others */

/* Time left for this target: of the budget that was given, its share; else of its own. */
bool zones_has_time(const struct zones_run *run, struct zone_target *t, bool is_extra)
{
	/* Few samples: one more has to fit in, as long as those so far were. */
	uint64_t own = run->p->places  ? PLACES_LIMIT_NS * t->samples.n / (t->samples.n + 1)
	               : run->p->quick ? QUICK_LIMIT_NS
	                               : OWN_LIMIT_NS;
	uint64_t used = clock_now_ns(run->ses->env->clk) - t->start_ns;

	if (run->ses->common->time_ns)
		own = t->limit_ns;
	else if (!is_extra)
		return true; /* the passes are always made */
	if (used < own)
		return true;
	t->is_out_of_time = true;
	return false;
}

void zones_show(struct zones_run *run, const struct zone_target *t, const char *phase, double part)
{
	char rate[32];

	session_progress(run->ses, phase, ((double)(t - run->targets) + part) / (double)run->ntargets, "%s",
	                 units_rate(rate, sizeof(rate), t->bytes_per_s));
}

void zones_renew(struct zones_run *run, struct zone_target *t)
{
	zone_analyse(t);
	zones_report(run, false);
	session_checkpoint(run->ses);
}
