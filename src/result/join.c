/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A document of several measurements. */
#include <stdlib.h>
#include <string.h>

#include "result/build.h"

/* As it is, or where the whole has one of this name already, with the part's before it. */
static const char *free_name(const struct result *res, const char *name, const char *part, bool is_table, char *buf,
                             size_t len)
{
	if (is_table ? !result_find_table(res, name) : !result_find_figure(res, name))
		return name;
	(void)snprintf(buf, len, "%s_%s", part, name);
	return buf;
}

/* Of tables that get another name they show that one; nothing else of them is shown. */
static void join_plots(struct result *res, const struct result *part)
{
	for (size_t i = 0; i < part->nplots; i++) {
		struct plot p = part->plots[i];
		char name[160], table[160];

		for (size_t k = 0; k < part->ntables; k++) {
			const char *from = part->tables[k]->name;
			size_t len = strlen(from);

			if (!result_find_table(res, from))
				continue;
			if (strcmp(p.table, from) == 0)
				p.table = free_name(res, from, part->head.measurement, true, table, sizeof(table));
			if (p.dots && strncmp(p.dots, from, len) == 0 && p.dots[len] == ':')
				p.dots = NULL;
			if (p.marks && strstr(p.marks, from))
				p.marks = NULL;
		}
		for (size_t k = 0; k < res->nplots; k++)
			if (res->plots[k].name && strcmp(res->plots[k].name, p.name) == 0) {
				(void)snprintf(name, sizeof(name), "%s-%s", part->head.measurement, p.name);
				p.name = name;
			}
		result_plot(res, &p);
	}
}

void result_join(struct result *res, struct result *part, double after_s)
{
	char buf[160];

	for (size_t i = 0; i < part->nfigures; i++) {
		const char *name =
			free_name(res, part->figures[i].name, part->head.measurement, false, buf, sizeof(buf));

		if (name == buf)
			result_set(&part->figures[i].name, buf);
	}
	join_plots(res, part);
	for (size_t i = 0; i < part->ntables; i++) {
		const char *name =
			free_name(res, part->tables[i]->name, part->head.measurement, true, buf, sizeof(buf));

		if (name == buf)
			result_set(&part->tables[i]->name, buf);
	}
	for (size_t i = 0; i < part->nfaults; i++) {
		const struct result_fault *f = &part->faults[i];

		result_fault(res, f->target, f->op, f->offset_bytes, f->length_bytes, f->result, after_s + f->time_s);
	}
	for (size_t i = 0; i < part->nnotices; i++)
		result_notice(res, part->notices[i].code, "%s", part->notices[i].text);
	if (!res->head.engine && part->head.engine)
		result_set(&res->head.engine, part->head.engine);
	result_take(res, part);
}
