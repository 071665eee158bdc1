/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A document for people: the first screen of it, or all of it. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "report/plotdata.h"
#include "report/text.h"

static void print_figures(struct printer *p, const struct result *res)
{
	cleanup_free const struct figure **all = xcalloc(res->nfigures + 1, sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; i < res->nfigures; i++)
		if (strcmp(res->figures[i].name, "next_command") != 0) /* stands with the answer */
			all[n++] = &res->figures[i];
	text_figures(p, all, n);
}

static void print_plots(struct printer *p, const struct result *res, const char *table)
{
	for (size_t i = 0; i < res->nplots && p->style->plots; i++) {
		const struct plot *plot = &res->plots[i];

		if (!plot->table || strcmp(plot->table, table) != 0 || plot_is_repeated(&res, 0, i))
			continue;
		text_end(p);
		report_plot_text(p->out, &res, 1, plot, p->style);
	}
}

static void print_tables(struct printer *p, const struct result *res)
{
	for (size_t i = 0; i < res->ntables; i++) {
		if (!text_is_for_files(res->tables[i])) {
			text_end(p);
			text_table_of(p, res, res->tables[i]);
		}
		print_plots(p, res, res->tables[i]->name);
	}
}

static void print_notices(struct printer *p, const struct result *res)
{
	for (size_t i = 0; i < res->nnotices; i++) {
		cleanup_free char *text = text_printable(p, res->notices[i].text);

		if (i == 0)
			text_end(p);
		text_note(p, text);
	}
}

int report_text(FILE *out, const struct result *res, const struct text_style *style)
{
	struct printer p = { .out = out, .style = style, .width = style->width ? style->width : 80 };
	const char *measurement = res->head.measurement ? res->head.measurement : "",
		   *rate = result_option_text(res, "rate");

	if (p.width < 40)
		p.width = 40; /* below that nothing reads well; let the terminal wrap */
	p.has_bits = rate && strstr(rate, "bit");
	if (style->lines && !style->plots && !strcmp(measurement, "check") && result_find_table(res, "reasons")) {
		text_verdict(&p, res);
	} else if (style->lines) {
		text_screen(&p, res);
	} else {
		text_head(&p, res);
		text_circumstances(&p, res);
		print_figures(&p, res);
		print_tables(&p, res);
		text_faults(&p, res);
		print_notices(&p, res);
		text_verdict_of(&p, res);
	}
	return report_end(out);
}

int report_verdicts(FILE *out, const struct result *const *res, size_t n, const struct text_style *style)
{
	struct printer p = { .out = out, .style = style, .width = style->width > 40 ? style->width : 80 };

	text_verdicts(&p, res, n);
	for (size_t i = 0; i < n && !style->lines; i++) {
		text_end(&p);
		(void)report_text(out, res[i], style); /* a failure stays with out */
	}
	return report_end(out);
}
