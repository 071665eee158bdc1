/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a verdict says has to do with earlier documents of the same disk. */
#include <string.h>
#include <unistd.h>

#include "cli/shelf.h"
#include "verdict/verdict.h"

void history_load(struct shelf *s, const struct option_value *options, size_t n)
{
	struct err why = { 0 }; /* what cannot be read is not an earlier document */

	for (size_t i = 0; i < n; i++)
		if (options[i].name && strcmp(options[i].name, "history") == 0 && options[i].text &&
		    access(options[i].text, R_OK) == 0)
			(void)shelf_add_any(s, options[i].text, &why);
}

void history_report(const struct shelf *s, struct result *res)
{
	if (s->n && report_history(res, (const struct result *const *)s->v, s->n))
		verdict_conclude(res);
}
