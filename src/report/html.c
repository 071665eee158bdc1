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
#include "report/html.h"
#include "report/svg.h"
#include "report/text.h"

#define TABLE_ROWS_MAX 200 /* of a table on the page; the document has all */
#define PAPER_ROWS_MAX 40  /* of a table that is printed */

/* A dash for what the document does not have. */
static void markup_seconds(FILE *out, double seconds, int decimals)
{
	if (isfinite(seconds))
		(void)fprintf(out, "%.*f", decimals, seconds);
	else
		(void)fputs("-", out);
}

static const char style[] =
	"*{box-sizing:border-box}body{margin:0 auto;max-width:70rem;padding:1.5rem 1rem 4rem;background:var(--bg);color:var(--fg);"
	"font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;overflow-wrap:anywhere}\n"
	"h1{font-size:1.5rem;margin:0 0 .2rem}h2{font-size:1.2rem;margin:2.2rem 0 .6rem;border-top:1px solid var(--rule);padding-top:1.4rem}"
	"h3{font-size:1rem;margin:1.4rem 0 .4rem}h4{font-size:.9rem;font-weight:500;margin:.8rem 0 0;color:var(--dim)}\n"
	"p{margin:.4rem 0}.dim{color:var(--dim)}.status{font-weight:600}.bad{color:var(--c6)}\n"
	".plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,30rem),1fr));gap:1rem 2rem}figure{margin:0;min-width:0}"
	"figcaption{font-weight:600;font-size:.95rem}.see{font-size:.9rem;color:var(--dim);margin:.1rem 0 .3rem}.answer{font-size:1.1rem}\n"
	"svg.plot{display:block;width:100%;height:auto}"
	".heat{fill:color-mix(in srgb,var(--c0) calc(var(--h)*100%),var(--soft));background:color-mix(in srgb,var(--c0) calc(var(--h)*100%),var(--soft))}"
	".legend .dim{background:var(--dim)}.n0{background:var(--c4)}.n1{background:var(--c6)}.wide svg text{font-size:8px}"
	".wide{grid-column:1/-1}.maps{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:.5rem 2rem}\n"
	".legend{font-size:.85rem;margin:.2rem 0;display:flex;flex-wrap:wrap;gap:.1rem 1rem}.legend i{display:inline-block;width:.8em;"
	"height:.8em;margin-right:.4em;border-radius:2px}\n"
	".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}"
	"th,td{padding:.15rem .8rem .15rem 0;text-align:left;vertical-align:top}th{font-weight:500;color:var(--dim)}"
	"td.n,th.n{text-align:right;white-space:nowrap}thead th{border-bottom:1px solid var(--rule)}\n"
	".figures td{font-weight:600}.figures td span{font-weight:400}.scroll th,.scroll td{overflow-wrap:normal}ul.notes{padding-left:1.2rem;color:var(--warn)}"
	"code,pre{font:0.85rem/1.45 ui-monospace,'DejaVu Sans Mono',monospace}pre{background:var(--soft);padding:.7rem;white-space:pre-wrap;margin:.4rem 0}"
	"details{margin:.8rem 0}summary{cursor:pointer;font-weight:500}\n"
	".disk>summary,.disk.head{display:grid;grid-template-columns:minmax(0,2fr) 4.5rem repeat(3,minmax(0,2fr)) 6rem;gap:.2rem .9rem;align-items:center;font-weight:400}"
	".disk{border-top:1px solid var(--rule);margin:0;padding:.3rem 0}.disk.head{border:0;font-size:.85rem;color:var(--dim)}.disk>summary:hover{background:var(--soft)}"
	".disk .n{text-align:right;white-space:nowrap}.disk .why{grid-column:1/-1;font-size:.88rem;color:var(--warn)}.warn{color:var(--warn)}.state.bad{font-weight:600}"
	"svg.small{display:block;width:100%;height:2.2rem;background:var(--soft)}.small path{vector-effect:non-scaling-stroke}.small .line{stroke-width:1.6}"
	".then{stroke:var(--dim);opacity:.6}.dot{stroke-width:4;stroke-linecap:round}.dot.big{stroke-width:9}\n"
	"@media(max-width:40rem){svg text{font-size:21px}svg .o{display:none}svg .first{text-anchor:start}svg .last{text-anchor:end}body{padding:1rem .7rem}"
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
	for (int i = 0; i < SVG_HUES; i++)
		(void)fprintf(out, ".b%d{background:var(--c%d)}", i, i);
	(void)fputc('\n', out);
}

static bool is_number(enum field_type type)
{
	return type != FIELD_TYPE_STR;
}

static void put_cell(FILE *out, enum field_type type, enum unit unit, const struct cell *cell)
{
	char text[512];

	if (type == FIELD_TYPE_STR && !cell->is_null)
		markup_text(out, cell->str);
	else
		markup_text(out, report_value(text, sizeof(text), type, unit, cell));
}

static void targets(FILE *out, const struct result *res)
{
	for (size_t i = 0; i < res->ntargets; i++) {
		(void)fputs("<details class=\"paper\"><summary>", out);
		markup_text(out, res->ntargets > 1 ? "A device" : "The device");
		(void)fputs("</summary><div class=\"scroll\"><table class=\"facts\">", out);
		for (size_t k = 0; k < res->targets[i].n; k++) {
			const struct column *c = &res->targets[i].columns[k];
			const struct cell *v = &res->targets[i].cells[k];

			if (v->is_null || (c->type == FIELD_TYPE_STR && !v->str[0]) || c->detail)
				continue;
			(void)fputs("<tr><th>", out);
			markup_text(out, label_or_name(c->label, c->key));
			(void)fputs("</th><td>", out);
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
	markup_text(out, in.number);
	if (*in.unit)
		(void)fputs(*in.unit == '/' ? "" : " ", out);
	markup_text(out, in.unit);
	(void)fputs(*in.interval ? " <span class=\"dim\">" : "", out);
	markup_text(out, in.interval);
	(void)fputs(*in.interval ? "</span>" : "", out);
}

static void figure_row(FILE *out, const struct result *const *res, size_t n, const struct figure *first)
{
	(void)fputs("<tr><th>", out);
	markup_text(out, label_or_name(first->label, first->name));
	(void)fputs("</th>", out);
	for (size_t i = 0; i < n; i++) {
		const struct figure *f = result_find_figure(res[i], first->name);

		(void)fputs("<td>", out);
		if (f)
			put_figure(out, f);
		(void)fputs("</td>", out);
	}
	(void)fputs("</tr>\n", out);
}

/* Has one of the documents before this one reported it? */
static bool is_reported(const struct result *const *res, size_t which, const char *name)
{
	for (size_t i = 0; i < which; i++)
		if (result_find_figure(res[i], name))
			return true;
	return false;
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
	if (n > 1) {
		(void)fputs("<thead><tr><th></th>", out);
		for (size_t i = 0; i < n; i++) {
			(void)fputs("<th>", out);
			markup_text(out, document_label(res, n, i, label, sizeof(label)));
			(void)fputs("</th>", out);
		}
		(void)fputs("</tr></thead>", out);
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < res[i]->nfigures; k++)
			if (!is_reported(res, i, res[i]->figures[k].name))
				figure_row(out, res, n, &res[i]->figures[k]);
	(void)fputs("</table></div><p class=\"dim\">In grey: 95 % confidence intervals.</p>\n", out);
}

static void one_plot(FILE *out, const struct result *const *res, size_t n, const struct plot *plot)
{
	struct plot_data *d = plot_data_new(res, n, plot);

	if (!d)
		return;
	(void)fprintf(out, "<figure%s><figcaption>", d->kind == PLOT_HEATMAP ? " class=\"wide\"" : "");
	markup_text(out, d->title);
	(void)fputs("</figcaption>\n", out);
	if (plot->see) {
		(void)fputs("<p class=\"see\">", out);
		markup_text(out, plot->see);
		(void)fputs("</p>\n", out);
	}
	svg_plot(out, d);
	(void)fputs("</figure>\n", out);
	plot_data_free(d);
}

/* Those of all documents: an old one may lack what later ones have. */
static void plots(FILE *out, const struct result *const *res, size_t n)
{
	(void)fputs("<div class=\"plots\">\n", out);
	for (size_t which = 0; which < n; which++)
		for (size_t i = 0; i < res[which]->nplots; i++)
			if (!plot_is_repeated(res, which, i))
				one_plot(out, res, n, &res[which]->plots[i]);
	(void)fputs("</div>\n", out);
}

static void table_head(FILE *out, const struct table *t)
{
	(void)fputs("<thead><tr>", out);
	for (size_t c = 0; c < t->ncolumns; c++) {
		if (t->columns[c].detail && !text_is_for_files(t))
			continue;
		(void)fprintf(out, "<th%s>", is_number(t->columns[c].type) ? " class=\"n\"" : "");
		markup_text(out, label_or_name(t->columns[c].label, t->columns[c].key));
		(void)fputs("</th>", out);
	}
	(void)fputs("</tr></thead>\n", out);
}

/* The more columns, the smaller the type on paper, so that no number is broken. */
static const char *small_on_paper(size_t columns)
{
	if (columns <= 8)
		return "";
	return columns <= 12 ? " class=\"w1\"" : columns <= 16 ? " class=\"w2\"" : " class=\"w3\"";
}

void html_table(FILE *out, const struct table *t)
{
	size_t every = t->nrows / TABLE_ROWS_MAX + 1;

	(void)fprintf(out, "<details%s><summary>", t->nrows <= PAPER_ROWS_MAX ? " class=\"paper\"" : "");
	markup_text(out, label_or_name(t->title, t->name));
	(void)fprintf(out, " <span class=\"dim\">(%zu row%s%s)</span></summary><div class=\"scroll\"><table%s>",
	              t->nrows, t->nrows == 1 ? "" : "s", every > 1 ? ", thinned here; the JSON document has all" : "",
	              small_on_paper(t->ncolumns));
	table_head(out, t);
	for (size_t r = 0; r < t->nrows; r += every) {
		(void)fputs("<tr>", out);
		for (size_t c = 0; c < t->ncolumns; c++) {
			if (t->columns[c].detail && !text_is_for_files(t))
				continue;
			(void)fprintf(out, "<td%s>", is_number(t->columns[c].type) ? " class=\"n\"" : "");
			put_cell(out, t->columns[c].type, t->columns[c].unit, &t->cells[r * t->ncolumns + c]);
			(void)fputs("</td>", out);
		}
		(void)fputs("</tr>\n", out);
	}
	(void)fputs("</table></div></details>\n", out);
}

void html_notices(FILE *out, const struct result *res)
{
	if (res->nnotices) {
		(void)fputs("<h3>Notices</h3><ul class=\"notes\">", out);
		for (size_t i = 0; i < res->nnotices; i++) {
			(void)fputs("<li>", out);
			markup_text(out, res->notices[i].text);
			(void)fputs("</li>", out);
		}
		(void)fputs("</ul>\n", out);
	}
	if (res->nfault_totals) {
		(void)fprintf(out, "<h3>%s</h3><p class=\"bad\">",
		              result_limit_count(res) ? "Failed requests" : "Errors of the disk");
		for (size_t i = 0; i < res->nfault_totals; i++) {
			markup_text(out, res->fault_totals[i].name);
			(void)fprintf(out, ": %llu ", (unsigned long long)res->fault_totals[i].n);
		}
		(void)fputs(
			"</p><div class=\"scroll\"><table><thead><tr><th>target</th><th>op</th><th class=\"n\">offset (bytes)</th><th class=\"n\">length</th>"
			"<th>error</th><th class=\"n\">at (s)</th></tr></thead>",
			out);
		for (size_t i = 0; i < res->nfaults && i < TABLE_ROWS_MAX; i++) {
			const struct result_fault *f = &res->faults[i];

			(void)fputs("<tr><td>", out);
			markup_text(out, f->target);
			(void)fputs("</td><td>", out);
			markup_text(out, f->op);
			(void)fprintf(out, "</td><td class=\"n\">%llu</td><td class=\"n\">%llu</td><td>",
			              (unsigned long long)f->offset_bytes, (unsigned long long)f->length_bytes);
			markup_text(out, f->errno_name ? f->errno_name : "short transfer");
			(void)fputs("</td><td class=\"n\">", out);
			markup_seconds(out, f->time_s, 3);
			(void)fputs("</td></tr>\n", out);
		}
		(void)fputs("</table></div>\n", out);
	}
}

/* A word as a shell would take it. */
static void shell_word(FILE *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

	if (word[0] && word[strspn(word, plain)] == '\0') {
		markup_text(out, word);
		return;
	}
	(void)fputs("&#39;", out);
	for (const char *p = word; *p; p++) {
		char one[2] = { *p, '\0' };

		if (*p == '\'')
			(void)fputs("&#39;\\&#39;&#39;", out);
		else
			markup_text(out, one);
	}
	(void)fputs("&#39;", out);
}

/* Everything that is needed to repeat the run. */
static void settings(FILE *out, const struct result *res)
{
	if (!res->head.argc && !res->head.noptions)
		return; /* made of documents, not measured */
	(void)fputs("<h3>To repeat this run</h3><pre>", out);
	for (size_t i = 0; i < res->head.argc; i++) {
		if (i)
			(void)fputc(' ', out);
		shell_word(out, res->head.argv[i]);
	}
	(void)fprintf(out, " --seed=%llu", (unsigned long long)res->head.seed);
	(void)fputs("</pre><details class=\"paper\"><summary>Settings and host</summary><table class=\"facts\">", out);
	for (size_t i = 0; i < res->head.noptions; i++) {
		if (!res->head.options[i].text || !res->head.options[i].text[0])
			continue; /* was not given, and has no default */
		(void)fputs("<tr><th>--", out);
		markup_text(out, res->head.options[i].name);
		(void)fputs("</th><td>", out);
		markup_text(out, res->head.options[i].text);
		(void)fputs("</td></tr>", out);
	}
	(void)fputs("</table><p class=\"dim\">", out);
	markup_text(out, res->head.program);
	(void)fputs(", engine ", out);
	markup_text(out, res->head.engine ? res->head.engine : "none");
	(void)fputs(", kernel ", out);
	markup_text(out, res->head.host.kernel);
	(void)fprintf(out, ", %llu CPUs, started ", (unsigned long long)res->head.host.cpus);
	markup_text(out, res->head.started);
	(void)fputs(", ", out);
	markup_seconds(out, res->head.elapsed_s, 1);
	(void)fputs(" s</p></details>\n", out);
}

static void answer(FILE *out, const struct result *res, const char *label)
{
	const struct figure *next = result_find_figure(res, "next_command");

	if (!res->answer)
		return;
	(void)fputs("<p class=\"answer\">", out);
	if (label) {
		(void)fputs("<b>", out);
		markup_text(out, label);
		(void)fputs(":</b> ", out);
	}
	markup_text(out, res->answer);
	(void)fputs("</p>\n", out);
	if (next && !next->value.is_null && next->type == FIELD_TYPE_STR) {
		(void)fprintf(out, "<p>%c", toupper((unsigned char)next->label[0]));
		markup_text(out, next->label + 1);
		(void)fputs(": <code>", out);
		markup_text(out, next->value.str);
		(void)fputs("</code></p>\n", out);
	}
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
	if (!is_alone) { /* else the page has this title */
		(void)fputs("<h2>", out);
		markup_text(out, title_of(res, n, label, sizeof(label)));
		(void)fputs("</h2>\n", out);
	}
	for (size_t i = 0; i < n; i++)
		answer(out, res[i], n > 1 ? document_label(res, n, i, label, sizeof(label)) : NULL);
	plots(out, res, n);
	figures(out, res, n);
	for (size_t i = 0; i < n; i++) {
		if (n > 1) {
			(void)fputs("<h3 class=\"document\">", out);
			markup_text(out, document_label(res, n, i, label, sizeof(label)));
			(void)fputs("</h3>\n", out);
		}
		(void)fputs("<p>Status: <span class=\"status", out);
		(void)fputs(res[i]->status == STATUS_COMPLETE ? "\">" : " bad\">", out);
		markup_text(out, status_name(res[i]->status));
		(void)fputs("</span></p>\n", out);
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
	(void)fputs(
		"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
		"<title>platter ",
		out);
	markup_text(out, title);
	(void)fputs("</title>\n<style>\n", out);
	colours_and_hues(out);
	(void)fputs(style, out);
	(void)fputs("</style></head><body>\n<h1>platter ", out);
	markup_text(out, title);
	(void)fputs("</h1>\n", out);
	if (started && strlen(started) > 16) { /* "2026-11-20T12:00:00.123456Z" */
		char when[32];

		(void)snprintf(when, sizeof(when), "%.10s %.5s UTC", started, started + 11);
		(void)fputs("<p class=\"dim\">", out);
		markup_text(out, when);
		(void)fputs("</p>\n", out);
	}
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
	errno = 0;
	return fflush(out) != 0 ? -(errno ? errno : EIO) : ferror(out) ? -EIO : 0;
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
