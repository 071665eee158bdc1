/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which options of a document are part of what was measured, by the tables that parsed them. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/opt.h"
#include "base/opt_help.h"
#include "base/xalloc.h"
#include "cli/cli.h"
#include "measure/measures.h"

/* What a run adds to its options: how it was done, by no choice of anybody. */
static const char *const facts[] = { "health", "cpu-latency-held", "cache-witness", "memory-cgroup" };

static const struct opt *find_opt(const struct opt *o, const char *name)
{
	while (o && o->type != OPT_TYPE_END && strcmp(o->name, name) != 0)
		o++;
	return o && o->type != OPT_TYPE_END ? o : NULL;
}

static bool is_default(const struct opt *o, size_t params_size, const char *text)
{
	const struct opt alone[] = { *o, OPT_END };
	cleanup_free void *params = xcalloc(1, params_size);
	const struct opt_set set = { alone, params };
	char name[] = "platter", *argv[] = { name, NULL };
	cleanup_free char *otherwise = NULL;
	struct err err = { 0 };
	int first;

	if (!text || opt_parse(&set, 1, 1, argv, &first, &err) < 0)
		return true;
	otherwise = opt_value_text(o, params);
	opt_done(&set, 1);
	return !otherwise || strcmp(text, otherwise) == 0;
}

/* Where a run goes on until it is sure, --time is how long it may. */
enum option_kind report_option_kind(const struct result *res, const struct option_value *v)
{
	const struct measure *m = measure_find(res->head.measurement ? res->head.measurement : "");
	const struct opt *own = m ? find_opt(m->opts, v->name) : NULL, *o = own;
	bool goes_on = m && (m->precision > 0.0 || m->judges);

	for (size_t k = 0; m && k < ARRAY_LEN(facts); k++)
		if (strcmp(v->name, facts[k]) == 0)
			return OPTION_ASIDE;
	if (m && !o)
		o = find_opt(common_opts, v->name);
	if (!o)
		return OPTION_UNKNOWN;
	if (o->is_aside || o->writes || (goes_on && strcmp(o->name, "time") == 0))
		return OPTION_ASIDE;
	return is_default(o, own ? m->params_size : sizeof(struct cli_params), v->text) ? OPTION_DEFAULT : OPTION_GIVEN;
}
