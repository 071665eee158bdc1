/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One page from one or several documents: self-contained, no script, no network. Documents of one measurement are shown
 * together, their plots overlaid. Everything from a document passes markup_text(): a disk's model name is a stranger's
 * text.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xalloc.h"
#include "report/html.h"
#include "report/svg.h"
#include "report/text.h"

#define TABLE_ROWS_MAX 200 /* of a table on the page; the document has all */
#define PAPER_ROWS_MAX 40  /* of a table that is printed */

static const char style[] =
	"*{box-sizing:border-box}body{margin:0 auto;max-width:70rem;padding:1.5rem 1rem 4rem;background:var(--bg);color:var(--fg);"
	"font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;overflow-wrap:anywhere}\n"
	"h1{font-size:1.5rem;margin:0 0 .2rem}h2{font-size:1.2rem;margin:2.2rem 0 .6rem;border-top:1px solid var(--rule);padding-top:1.4rem}"
	"h3{font-size:1rem;margin:1.4rem 0 .4rem}h4{font-size:.9rem;font-weight:500;margin:.8rem 0 0;color:var(--dim)}\n"
	"p{margin:.4rem 0}.dim{color:var(--dim)}.status{font-weight:600}.bad{color:var(--c6)}\n"
	".plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,30rem),1fr));gap:1rem 2rem}figure{margin:0;min-width:0}"
	"figcaption{font-weight:600;font-size:.95rem}.see{font-size:.9rem;color:var(--dim);margin:.1rem 0 .3rem}.answer{font-size:1.1rem}\n"
	"svg.plot{display:block;width:100%;height:auto}"
	".heat{--mix:color-mix(in srgb,var(--c0) calc(15% + var(--h)*85%),var(--soft));fill:var(--mix)}"
	".wide svg text{font-size:8px}"
	".wide{grid-column:1/-1}.maps{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:.5rem 2rem}\n"
	".legend{font-size:.85rem;margin:.2rem 0;display:flex;flex-wrap:wrap;gap:.1rem 1rem}.legend svg{width:.8em;"
	"height:.8em;margin-right:.4em}\n"
	".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}"
	"th,td{padding:.15rem .8rem .15rem 0;text-align:left;vertical-align:top}th{font-weight:500;color:var(--dim)}"
	"td.n,th.n{text-align:right;white-space:nowrap}thead th{border-bottom:1px solid var(--rule)}\n"
	".figures td{font-weight:600}.figures td span{font-weight:400}.scroll th,.scroll td{overflow-wrap:normal}ul.notes{padding-left:1.2rem;color:var(--warn)}"
	"code,pre{font:0.85rem/1.45 ui-monospace,'DejaVu Sans Mono',monospace}pre{background:var(--soft);padding:.7rem;white-space:pre-wrap;margin:.4rem 0}"
	"details{margin:.8rem 0}summary{cursor:pointer;font-weight:500}\n"
	".disk>summary,.disk.head{display:grid;grid-template-columns:minmax(0,2fr) 4.5rem repeat(3,minmax(0,2fr)) 7rem;gap:.2rem .9rem;align-items:center;font-weight:400}"
	".disk{border-top:1px solid var(--rule);margin:0;padding:.3rem 0}.disk.head{border:0;font-size:.85rem;color:var(--dim)}.disk>summary:hover{background:var(--soft)}"
	".disk .n{text-align:right;white-space:nowrap}.disk .why{grid-column:1/-1;font-size:.88rem;color:var(--warn)}.warn{color:var(--warn)}.state.bad{font-weight:600}"
	"svg.small{display:block;width:100%;height:2.2rem;background:var(--soft)}.small path{vector-effect:non-scaling-stroke}.small .line{stroke-width:1.6}"
	".then{stroke:var(--dim);opacity:.6}.dot{stroke-width:4;stroke-linecap:round}.dot.big{stroke-width:9}\n"
	"@media(max-width:40rem){svg text{font-size:21px}.wide svg text{font-size:15px}svg .o{display:none}svg .first{text-anchor:start}svg .last{text-anchor:end}body{padding:1rem .7rem}"
	".disk>summary,.disk.head{grid-template-columns:repeat(3,minmax(0,1fr))}}\n"
	"@media print{:root{color-scheme:light}*{print-color-adjust:exact}body{max-width:none;padding:0;font-size:10pt}"
	"figure,tr,.legend,pre,.row,summary{break-inside:avoid}h2,h3,h4,figcaption,summary{break-after:avoid}.row{break-after:auto;padding:.05rem 0}.disk svg.small{height:1.5rem}section+section{break-before:page}h2{border:0;padding:0;margin-top:1rem}"
	".plots{grid-template-columns:1fr 1fr;gap:.6rem 1.4rem}.maps{grid-template-columns:1fr 1fr}.scroll{overflow:visible}table{font-size:8.5pt}"
	"table{max-width:100%}th,td{padding-right:.5rem}.scroll th,.scroll td,td.n,th.n{white-space:normal;overflow-wrap:anywhere}"
	".scroll .w1{font-size:7.4pt}.scroll .w2{font-size:6.4pt}.scroll .w3{font-size:5.6pt}.scroll [class^=w] td.n{white-space:nowrap}.scroll [class^=w] th{overflow-wrap:normal}.scroll [class^=w] td{overflow-wrap:break-word}"
	".scroll .w1 th,.scroll .w1 td{padding-right:.4rem}.scroll .w2 th,.scroll .w2 td,.scroll .w3 th,.scroll .w3 td{padding-right:.3rem}.facts tbody{display:block;columns:2;column-gap:2rem}.facts tr{display:flex}.facts th{flex:0 0 11rem}summary{list-style:none}details:not(.paper):not(.row){display:none}details.paper::details-content{content-visibility:visible;block-size:auto;display:block}}\n";

static void colours_and_hues(FILE *out)
{
	(void)fputs(":root{color-scheme:light dark;", out);
	svg_colours(out, false);
	(void)fputs("}\n@media screen and (prefers-color-scheme:dark){:root{", out);
	svg_colours(out, true);
	(void)fputs("}}\n", out);
	svg_style(out, false);
}

static void put_cell(FILE *out, enum field_type type, enum unit unit, const struct cell *cell)
{
	char text[512];

	markup_text(out, type == FIELD_TYPE_STR && !cell->is_null ? cell->str
	                                                          : report_value(text, sizeof(text), type, unit, cell));
}

static void targets(FILE *out, const struct result *res)
{
	for (size_t i = 0; i < res->ntargets; i++) {
		markup(out,
		       "<details class=\"paper\"><summary>%s device</summary><div class=\"scroll\"><table class=\"facts\">",
		       res->ntargets > 1 ? "A" : "The");
		for (size_t k = 0; k < res->targets[i].n; k++) {
			const struct column *c = &res->targets[i].columns[k];
			const struct cell *v = &res->targets[i].cells[k];

			if (v->is_null || (c->type == FIELD_TYPE_STR && !v->str[0]) || c->detail)
				continue;
			markup(out, "<tr><th>%s</th><td>", label_or_name(c->label, c->key));
			put_cell(out, c->type, c->unit, v);
			(void)fputs("</td></tr>", out);
		}
		(void)fputs("</table></div></details>\n", out);
	}
}

static void put_figure(FILE *out, const struct figure *f)
{
	struct report_parts in;

	if (f->type == FIELD_TYPE_STR) {
		put_cell(out, f->type, f->unit, &f->value);
		return;
	}
	report_parts(f, true, &in);
	markup(out, *in.interval ? "%s%s%s <span class=\"dim\">%s</span>" : "%s%s%s%s", in.number,
	       *in.unit && *in.unit != '/' ? " " : "", in.unit, in.interval);
}

static void figure_row(FILE *out, const struct result *const *res, size_t n, const struct figure *first)
{
	markup(out, "<tr><th>%s</th>", label_or_name(first->label, first->name));
	for (size_t i = 0; i < n; i++) {
		const struct figure *f = result_find_figure(res[i], first->name);

		(void)fputs("<td>", out);
		if (f)
			put_figure(out, f);
		(void)fputs("</td>", out);
	}
	(void)fputs("</tr>\n", out);
}

/* Is it for this page: in no document before this one, and known in one of them? The next command is in the answer. */
static bool is_shown(const struct result *const *res, size_t n, size_t which, const char *name)
{
	bool is_known = false;

	for (size_t i = 0; i < n; i++) {
		const struct figure *f = result_find_figure(res[i], name);

		if (f && i < which)
			return false;
		is_known |= f && !f->value.is_null;
	}
	return is_known && strcmp(name, "next_command") != 0;
}

/* Figures as rows, documents as columns. */
static void figures(FILE *out, const struct result *const *res, size_t n)
{
	char label[160];
	size_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += res[i]->nfigures;
	if (total == 0)
		return;
	(void)fputs("<h3>Figures</h3><div class=\"scroll\"><table class=\"figures\">", out);
	for (size_t i = 0; n > 1 && i < n; i++)
		markup(out, i ? "<th>%s</th>" : "<thead><tr><th></th><th>%s</th>",
		       document_label(res, n, i, label, sizeof(label)));
	(void)fputs(n > 1 ? "</tr></thead>" : "", out);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < res[i]->nfigures; k++)
			if (is_shown(res, n, i, res[i]->figures[k].name))
				figure_row(out, res, n, &res[i]->figures[k]);
	(void)fputs("</table></div><p class=\"dim\">In grey: 95 % confidence intervals.</p>\n", out);
}

/* Plots of all documents: an old one may lack what later ones have. */
static void plots(FILE *out, const struct result *const *res, size_t n)
{
	(void)fputs("<div class=\"plots\">\n", out);
	for (size_t which = 0; which < n; which++)
		for (size_t i = 0; i < res[which]->nplots; i++) {
			const struct plot *plot = &res[which]->plots[i];
			struct plot_data *d =
				plot_is_repeated(res, which, i) ? NULL : plot_data_new(res, n, plot, true);

			if (!d)
				continue;
			markup(out, "<figure class=\"%s\"><figcaption>%s</figcaption>\n",
			       d->kind == PLOT_HEATMAP ? "wide" : "", d->title);
			if (plot->see)
				markup(out, "<p class=\"see\">%s</p>\n", plot->see);
			svg_plot(out, d);
			(void)fputs("</figure>\n", out);
			plot_data_free(d);
		}
	(void)fputs("</div>\n", out);
}

/* The more columns, the smaller the type on paper, so that no number is broken. */
static const char *small_on_paper(size_t columns)
{
	return columns <= 8 ? "" : columns <= 12 ? "w1" : columns <= 16 ? "w2" : "w3";
}

/* A line of a table; row SIZE_MAX: its headings. */
static void put_row(FILE *out, const struct table *t, size_t row)
{
	bool is_head = row == SIZE_MAX;

	(void)fputs(is_head ? "<thead><tr>" : "<tr>", out);
	for (size_t c = 0; c < t->ncolumns; c++) {
		const struct column *column = &t->columns[c];

		if (column->detail && !text_is_for_files(t))
			continue;
		markup(out, "<t%c class=\"%s\">", is_head ? 'h' : 'd', column->type != FIELD_TYPE_STR ? "n" : "");
		if (is_head)
			markup_text(out, label_or_name(column->label, column->key));
		else
			put_cell(out, column->type, column->unit, &t->cells[row * t->ncolumns + c]);
		markup(out, "</t%c>", is_head ? 'h' : 'd');
	}
	(void)fputs(is_head ? "</tr></thead>\n" : "</tr>\n", out);
}

void html_table(FILE *out, const struct table *t)
{
	size_t every = t->nrows / TABLE_ROWS_MAX + 1;

	markup(out,
	       "<details class=\"%s\"><summary>%s <span class=\"dim\">(%zu row%s%s)</span></summary><div class=\"scroll\"><table class=\"%s\">",
	       t->nrows <= PAPER_ROWS_MAX ? "paper" : "", label_or_name(t->title, t->name), t->nrows,
	       t->nrows == 1 ? "" : "s", every > 1 ? ", thinned here; the JSON document has all" : "",
	       small_on_paper(t->ncolumns));
	put_row(out, t, SIZE_MAX);
	for (size_t r = 0; r < t->nrows; r += every)
		put_row(out, t, r);
	(void)fputs("</table></div></details>\n", out);
}

void html_notices(FILE *out, const struct result *res)
{
	for (size_t i = 0; i < res->nnotices; i++)
		markup(out, i ? "<li>%s</li>" : "<h3>Notices</h3><ul class=\"notes\"><li>%s</li>",
		       res->notices[i].text);
	(void)fputs(res->nnotices ? "</ul>\n" : "", out);
	if (!res->nfault_totals)
		return;
	markup(out, "<h3>%s</h3><p class=\"bad\">", result_limit_count(res) ? "Failed requests" : "Errors of the disk");
	for (size_t i = 0; i < res->nfault_totals; i++)
		markup(out, "%s: %llu ", res->fault_totals[i].name, (unsigned long long)res->fault_totals[i].n);
	(void)fputs(
		"</p><div class=\"scroll\"><table><thead><tr><th>target</th><th>op</th><th class=\"n\">offset (bytes)</th><th class=\"n\">length</th>"
		"<th>error</th><th class=\"n\">at (s)</th></tr></thead>",
		out);
	for (size_t i = 0; i < res->nfaults && i < TABLE_ROWS_MAX; i++) {
		const struct result_fault *f = &res->faults[i];

		markup(out,
		       "<tr><td>%s</td><td>%s</td><td class=\"n\">%llu</td><td class=\"n\">%llu</td><td>%s</td><td class=\"n\">",
		       f->target, f->op, (unsigned long long)f->offset_bytes, (unsigned long long)f->length_bytes,
		       f->errno_name ? f->errno_name : "short transfer");
		markup(out, isfinite(f->time_s) ? "%.3f</td></tr>\n" : "-</td></tr>\n", f->time_s);
	}
	(void)fputs("</table></div>\n", out);
}

/* Everything that is needed to repeat the run. */
static void settings(FILE *out, const struct result *res)
{
	const struct result_head *h = &res->head;
	cleanup_free char *words = NULL;
	size_t len;
	FILE *f;

	if (!h->argc && !h->noptions)
		return; /* made of documents, not measured */
	f = xmust(open_memstream(&words, &len));
	for (size_t i = 0; i < h->argc; i++)
		str_put_shell_word(f, h->argv[i]);
	(void)xmust(fclose(f) == 0 ? words : NULL);
	markup(out,
	       "<h3>To repeat this run</h3><pre>%s --seed=%llu</pre><details class=\"paper\"><summary>Settings and host</summary><table class=\"facts\">",
	       words + (*words == ' '), (unsigned long long)h->seed);
	for (size_t i = 0; i < h->noptions; i++)
		if (h->options[i].text && h->options[i].text[0]) /* else it was not given, and has no default */
			markup(out, "<tr><th>--%s</th><td>%s</td></tr>", h->options[i].name, h->options[i].text);
	markup(out, "</table><p class=\"dim\">%s, engine %s, kernel %s, %llu CPUs, started %s", h->program,
	       h->engine ? h->engine : "none", h->host.kernel, (unsigned long long)h->host.cpus, h->started);
	markup(out, isfinite(h->elapsed_s) ? ", %.1f s</p></details>\n" : "</p></details>\n", h->elapsed_s);
}

static void answer(FILE *out, const struct result *res, const char *label)
{
	const struct figure *next = result_find_figure(res, "next_command");

	if (!res->answer)
		return;
	markup(out, label ? "<p class=\"answer\"><b>%s:</b> %s</p>\n" : "<p class=\"answer\">%s%s</p>\n", label,
	       res->answer);
	if (next && !next->value.is_null && next->type == FIELD_TYPE_STR)
		markup(out, "<p>%c%s: <code>%s</code></p>\n", toupper((unsigned char)next->label[0]), next->label + 1,
		       next->value.str);
}

/* "zones: WDC WD40EZRZ WD-WCC7K5", or of several documents without a disk. */
static char *title_of(const struct result *const *res, size_t n, char *buf, size_t len)
{
	char label[160] = "";

	if (n == 1 && res[0]->ntargets)
		(void)document_label(res, n, 0, label, sizeof(label));
	(void)snprintf(buf, len, "%.60s%s%s", res[0]->head.measurement ? res[0]->head.measurement : "",
	               *label ? ": " : "", label);
	return buf;
}

/* Documents of one measurement: plots and figures together, the rest one after the other. */
static void section(FILE *out, const struct result *const *res, size_t n, bool is_alone)
{
	char label[256];

	(void)fputs("<section>", out);
	if (!is_alone) /* else the page has this title */
		markup(out, "<h2>%s</h2>\n", title_of(res, n, label, sizeof(label)));
	for (size_t i = 0; i < n; i++)
		answer(out, res[i], n > 1 ? document_label(res, n, i, label, sizeof(label)) : NULL);
	plots(out, res, n);
	figures(out, res, n);
	for (size_t i = 0; i < n; i++) {
		if (n > 1)
			markup(out, "<h3 class=\"document\">%s</h3>\n",
			       document_label(res, n, i, label, sizeof(label)));
		markup(out, "<p>Status: <span class=\"status%s\">%s</span></p>\n",
		       res[i]->status == STATUS_COMPLETE ? "" : " bad", status_name(res[i]->status));
		html_notices(out, res[i]);
		targets(out, res[i]);
		for (size_t k = 0; k < res[i]->ntables; k++)
			if (res[i]->tables[k]->nrows)
				html_table(out, res[i]->tables[k]);
		settings(out, res[i]);
	}
	(void)fputs("</section>\n", out);
}

void html_begin(FILE *out, const char *title, const char *started)
{
	cleanup_free char *when = text_started(started);

	markup(out,
	       "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
	       "<title>platter %s</title>\n<style>\n",
	       title);
	colours_and_hues(out);
	(void)fputs(style, out);
	markup(out,
	       *when ? "</style></head><body>\n<h1>platter %s</h1>\n<p class=\"dim\">%s</p>\n"
	             : "</style></head><body>\n<h1>platter %s%s</h1>\n",
	       title, when);
}

void html_sections(FILE *out, const struct result *const *res, size_t n)
{
	bool done[DOCUMENTS_MAX] = { false };

	for (size_t i = 0; i < n; i++) {
		const struct result *group[DOCUMENTS_MAX];
		size_t ngroup = 0;

		for (size_t k = i; k < n && !done[i]; k++)
			if (!done[k] && strcmp(res[k]->head.measurement, res[i]->head.measurement) == 0)
				group[ngroup++] = res[k];
		for (size_t k = i + 1; k < n; k++)
			done[k] = done[k] || strcmp(res[k]->head.measurement, res[i]->head.measurement) == 0;
		if (ngroup)
			section(out, group, ngroup, n == 1);
	}
}

int html_end(FILE *out)
{
	(void)fputs("</body></html>\n", out);
	return report_end(out);
}

int report_html(FILE *out, const struct result *const *res, size_t n, struct err *err)
{
	char title[256];

	if (n == 0 || n > DOCUMENTS_MAX)
		return err_set(err, -EINVAL, "A page takes 1 to %d documents, not %zu; make several pages.",
		               DOCUMENTS_MAX, n);
	(void)snprintf(title, sizeof(title), "report: %zu documents", n);
	html_begin(out, n == 1 ? title_of(res, n, title, sizeof(title)) : title, n == 1 ? res[0]->head.started : NULL);
	html_sections(out, res, n);
	return html_end(out);
}
