/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A document for people: the first screen of it, or all of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/plotdata.h"
#include "report/text.h"

static int print_figures(struct printer *p, const struct result *res)
{
	const struct figure **all = calloc(res->nfigures + 1, sizeof(*all));
	int r = -ENOMEM;

	for (size_t i = 0; i < res->nfigures && all; i++)
		all[i] = &res->figures[i];
	if (all)
		r = text_figures(p, all, res->nfigures);
	free(all);
	return r;
}

static int print_plots(struct printer *p, const struct result *res, const char *table)
{
	int r = 0;

	for (size_t i = 0; i < res->nplots && p->style->plots && r == 0; i++) {
		const struct plot *plot = &res->plots[i];

		if (!plot->table || strcmp(plot->table, table) != 0 || plot_is_repeated(&res, 0, i))
			continue;
		text_end(p);
		r = report_plot_text(p->out, &res, 1, plot, p->style);
	}
	return r;
}

static int print_tables(struct printer *p, const struct result *res)
{
	int r = 0;

	for (size_t i = 0; i < res->ntables && r == 0; i++) {
		if (!text_is_for_files(res->tables[i])) {
			text_end(p);
			r = text_table_of(p, res, res->tables[i]);
		}
		if (r == 0)
			r = print_plots(p, res, res->tables[i]->name);
	}
	return r;
}

static int print_notices(struct printer *p, const struct result *res)
{
	for (size_t i = 0; i < res->nnotices; i++) {
		cleanup_free char *text = text_printable(p, res->notices[i].text);

		if (!text)
			return -ENOMEM;
		if (i == 0)
			text_end(p);
		text_note(p, text);
	}
	return 0;
}

/* Of a measurement (--classic); line for line, since names of files may be in it. */
static int print_own_layout(struct printer *p, const char *text)
{
	while (*text) {
		size_t bytes = strcspn(text, "\n");
		cleanup_free char *raw = strndup(text, bytes);
		cleanup_free char *line = raw ? text_printable(p, raw) : NULL;

		if (!line)
			return -ENOMEM;
		text_put(p, line);
		text_end(p);
		text += bytes + (text[bytes] == '\n');
	}
	return 0;
}

static int end_page(FILE *out, int r)
{
	return r == 0 && (fflush(out) || ferror(out)) ? (errno ? -errno : -EIO) : r;
}

int report_text(FILE *out, const struct result *res, const struct text_style *style)
{
	struct printer p = { .out = out, .style = style, .width = style->width ? style->width : 80 };
	const char *measurement = res->head.measurement ? res->head.measurement : "";
	int r;

	if (p.width < 40)
		p.width = 40;                            /* below that nothing reads well; let the terminal wrap */
	p.is_streaming = !strcmp(measurement, "stream"); /* a rate of a network is in bits */
	if (res->text)
		r = print_own_layout(&p, res->text);
	else if (style->lines && !style->plots && !strcmp(measurement, "check") && result_find_table(res, "reasons"))
		r = text_verdict(&p, res);
	else if (style->lines)
		r = text_screen(&p, res);
	else
		(void)((r = text_head(&p, res)) || (r = text_circumstances(&p, res)) || (r = print_figures(&p, res)) ||
		       (r = print_tables(&p, res)));
	if (r == 0 && (res->text || !style->lines))
		(void)((r = text_faults(&p, res)) || (r = print_notices(&p, res)));
	if (r == 0 && !res->text && !style->lines)
		r = text_verdict_of(&p, res);
	return end_page(out, r);
}

int report_verdicts(FILE *out, const struct result *const *res, size_t n, const struct text_style *style)
{
	struct printer p = { .out = out, .style = style, .width = style->width > 40 ? style->width : 80 };
	int r = text_verdicts(&p, res, n);

	for (size_t i = 0; r == 0 && i < n && !style->lines; i++) {
		text_end(&p);
		r = report_text(out, res[i], style);
	}
	return end_page(out, r);
}
