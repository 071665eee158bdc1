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

static void rename_plots(struct result *part, const char *from, const char *to)
{
	size_t len = strlen(from);

	for (size_t i = 0; i < part->nplots; i++) {
		struct plot *p = &part->plots[i];

		if (strcmp(p->table, from) == 0)
			result_set(&p->table, to);
		if (p->dots && strncmp(p->dots, from, len) == 0 && p->dots[len] == ':')
			result_set(&p->dots, NULL);
		if (p->marks && strstr(p->marks, from))
			result_set(&p->marks, NULL);
	}
}

static void join_plots(struct result *res, const struct result *part)
{
	for (size_t i = 0; i < part->nplots; i++) {
		const struct plot *p = &part->plots[i];
		bool is_there = false;
		char name[160];

		for (size_t k = 0; k < res->nplots; k++)
			is_there = is_there || (res->plots[k].name && strcmp(res->plots[k].name, p->name) == 0);
		(void)snprintf(name, sizeof(name), "%s-%s", part->head.measurement, p->name);
		result_plot(res, &(struct plot_decl){ is_there ? name : p->name, p->see, p->kind, p->title, p->table,
		                                      p->x, p->y, p->series, p->low, p->high, p->dots, p->marks });
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
	for (size_t i = 0; i < part->ntables; i++) {
		const char *name =
			free_name(res, part->tables[i]->name, part->head.measurement, true, buf, sizeof(buf));

		if (name == buf) {
			rename_plots(part, part->tables[i]->name, buf);
			result_set(&part->tables[i]->name, buf);
		}
	}
	for (size_t i = 0; i < part->nfaults; i++) {
		const struct result_fault *f = &part->faults[i];

		result_fault(res, f->target, f->op, f->offset_bytes, f->length_bytes, f->result, after_s + f->time_s);
	}
	for (size_t i = 0; i < part->nnotices; i++)
		result_notice(res, part->notices[i].code, "%s", part->notices[i].text);
	join_plots(res, part);
	if (!res->head.engine && part->head.engine)
		result_set(&res->head.engine, part->head.engine);
	result_take(res, part);
}
