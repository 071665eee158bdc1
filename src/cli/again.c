/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `platter report --again`: the figures of a saved document from its own samples, by the analysis of this version. */
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"
#include "measure/measures.h"

/* "a, b and 3 more" */
static void add_name(char *text, size_t len, const char *name)
{
	size_t used = strlen(text);

	if (used + strlen(name) + 8 < len)
		str_list(text, len, ", ", "%s", name);
	else if (used >= 3 && strcmp(text + used - 3, "...") != 0)
		str_add(text, len, "...");
}

/* Which figures of part are not in the document, or not the same. */
static size_t differing(const struct result *res, const struct result *part, char *ret_names, size_t len)
{
	size_t n = 0;

	ret_names[0] = '\0';
	for (size_t i = 0; i < part->nfigures; i++) {
		const struct figure *before = result_find_figure(res, part->figures[i].name);

		if (before && figure_equals(before, &part->figures[i]))
			continue;
		add_name(ret_names, len, part->figures[i].name);
		n++;
	}
	return n;
}

/* The last notice is what was asked for: it stands before the others, which the first screen may have no room for. */
static void put_last_first(struct result *res)
{
	struct notice last = res->notices[res->nnotices - 1];

	memmove(res->notices + 1, res->notices, (res->nnotices - 1) * sizeof(last));
	res->notices[0] = last;
}

int cli_again(struct result *res, struct err *err)
{
	const struct measure *m = measure_find(res->head.measurement);
	struct result *part = result_new(res->head.measurement);
	struct err why = { 0 };
	char names[400];
	size_t n, all;
	int r = m && m->again ? m->again(res, part, &why) : -ENODATA;

	if (r < 0) {
		result_free(part);
		if (r != -ENODATA)
			return err_set(err, r, "%s", why.text);
		result_notice(res, "again", "Nothing of this document can be computed again: %s",
		              why.text[0] ? why.text : "its samples are not in it.");
		put_last_first(res);
		return 0;
	}
	all = part->nfigures;
	n = differing(res, part, names, sizeof(names));
	result_take(res, part);
	if (n)
		result_notice(res, "again",
		              "Computed again from the samples, %zu of %zu figures are not as they were measured: %s.",
		              n, all, names);
	else
		result_notice(res, "again",
		              "Computed again from the samples, %zu of %zu figures are as they were measured.", all,
		              res->nfigures);
	put_last_first(res);
	return 0;
}
