/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which options of a document are part of what was measured, by the tables that parsed them. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/opt.h"
#include "cli/cli.h"
#include "measure/measures.h"

/* What a run adds to its options: how it was done, by no choice of anybody. */
static const char *const facts[] = { "health", "cpu-latency-held", "cache-witness", "memory-cgroup" };

/* Where a run goes on until it is sure, --time is how long it may. */
static enum option_kind kind_of(const struct measure *m, const struct opt *o, const void *defaults, const char *text)
{
	cleanup_free char *otherwise = opt_value_text(o, defaults);
	bool goes_on = m->precision > 0.0 || m->judges;

	if (o->is_aside || o->writes || (goes_on && strcmp(o->name, "time") == 0))
		return OPTION_ASIDE;
	return !text || !otherwise || strcmp(text, otherwise) == 0 ? OPTION_DEFAULT : OPTION_GIVEN;
}

void cli_options(struct result *res)
{
	const struct measure *m = measure_find(res->head.measurement ? res->head.measurement : "");
	cleanup_free void *own = m ? calloc(1, m->params_size + 1) : NULL;
	struct cli_params common = { 0 };
	const struct opt_set sets[] = { { m ? m->opts : NULL, own }, { common_opts, &common } };
	char name[] = "platter", *argv[] = { name, NULL };
	struct err err = { 0 };
	int first;

	if (!own || opt_parse(sets, ARRAY_LEN(sets), 1, argv, &first, &err) < 0)
		return;
	for (size_t i = 0; i < res->head.noptions; i++) {
		struct option_value *v = &res->head.options[i];

		for (size_t k = 0; k < ARRAY_LEN(facts); k++)
			if (strcmp(v->name, facts[k]) == 0)
				v->kind = OPTION_ASIDE;
		for (size_t k = 0; k < ARRAY_LEN(sets); k++)
			for (const struct opt *o = sets[k].opts; o && o->type != OPT_TYPE_END; o++)
				if (strcmp(o->name, v->name) == 0)
					v->kind = kind_of(m, o, sets[k].params, v->text);
	}
	opt_done(sets, ARRAY_LEN(sets));
}
