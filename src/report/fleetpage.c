/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many disks on one page: a row for each, with small pictures on scales that all disks of its kind share, and all that
 * is known of the disk folded up below it. No script: <details> folds.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "report/disks.h"
#include "report/html.h"
#include "report/svg.h"

#define WIDE         100.0
#define HIGH         30.0
#define BRIEF_POINTS 48  /* of a line in a small picture */
#define DOT          4.0 /* half of a large one */
#define HEALTH_LOW   0.8 /* the rate against the first run's, at the picture's edges */
#define HEALTH_HIGH  1.1

/* What the rows of one kind of disks share. */
struct scales {
	double rate, access; /* the largest */
	double first, last;  /* years, of all */
};

struct columns {
	const char *measurement, *table, *x, *y;
	const char *series, *parts[2]; /* of a table of several series: which of them, joined, make the line */
};
static const struct columns zone_curve = { "zones", "curve", "offset_bytes", "rate_bytes_per_s", NULL, { NULL, NULL } };
static const struct columns access_curve = { "seek", "spans", "span_bytes", "mean_ns", "anchor", { "start", "whole" } };

static double largest(const struct result *res, const char *table, const char *key)
{
	const struct table *t = res ? result_find_table(res, table) : NULL;
	double most = 0.0;

	for (size_t r = 0; t && r < t->nrows; r++)
		most = fmax(most, table_number_of(t, r, key));
	return most;
}

/* Beside an SSD a hard disk's rates, and beside that an SSD's times, are a line at the bottom. */
static bool is_one_kind(const struct fleet_disk *a, const struct fleet_disk *b)
{
	const struct result *x = a->v[a->n - 1], *y = b->v[b->n - 1];
	bool rotates = target_number(x->targets, "rotational") > 0.0;

	return rotates == (target_number(y->targets, "rotational") > 0.0) &&
	       (rotates ||
	        strcmp(target_text(x->targets, "transport") ?: "", target_text(y->targets, "transport") ?: "") == 0);
}

static struct scales scales_of(const struct fleet *f, const struct fleet_disk *like)
{
	struct scales s = { .first = INFINITY, .last = -INFINITY };

	for (size_t d = 0; d < f->ndisks; d++) {
		const struct fleet_disk *disk = &f->disks[d];

		s.first = fmin(s.first, alike_years(disk->v[0]));
		s.last = fmax(s.last, alike_years(disk->v[disk->n - 1]));
		if (!is_one_kind(disk, like))
			continue;
		s.rate = fmax(s.rate, largest(fleet_part(disk, "zones"), zone_curve.table, zone_curve.y));
		s.access = fmax(s.access, largest(fleet_part(disk, "seek"), access_curve.table, access_curve.y));
	}
	return s;
}

/* ---- small pictures ---- */

static void begin_picture(FILE *out, const char *title)
{
	markup(out,
	       "<svg class=\"small\" viewBox=\"0 0 %g %g\" preserveAspectRatio=\"none\" role=\"img\"><title>%s</title>",
	       WIDE, HIGH, title);
}

static bool is_part(const struct table *t, size_t row, const struct columns *c, size_t part)
{
	int column = c->series ? table_column(t, c->series) : -1;
	const char *text = column < 0 ? NULL : table_string(t, row, (size_t)column);

	return column < 0 ? part == 0 : text && strcmp(text, c->parts[part]) == 0;
}

static void line_of(FILE *out, const struct result *res, const struct columns *c, double x_most, double y_most,
                    const char *class)
{
	const struct table *t = res ? result_find_table(res, c->table) : NULL;
	size_t every = t ? t->nrows / BRIEF_POINTS + 1 : 1;
	char sep = 'M';

	if (!t || t->nrows == 0)
		return;
	(void)fprintf(out, "<path class=\"%s\" d=\"", class);
	for (size_t part = 0; part < ARRAY_LEN(c->parts); part++)
		for (size_t r = 0; r < t->nrows; r += every) {
			double x = table_number_of(t, r, c->x) / x_most, y = table_number_of(t, r, c->y) / y_most;

			if (!isfinite(x) || !isfinite(y) || !is_part(t, r, c, part))
				continue;
			(void)fprintf(out, "%c%.1f %.1f", sep, WIDE * x, HIGH - 1.0 - (HIGH - 2.0) * y);
			sep = 'L';
		}
	(void)fputs("\"/>", out);
}

/* Stretches of a table, at least so wide that they are seen. */
static void stretches(FILE *out, const struct result *res, const char *table, double x_most, const char *class)
{
	const struct table *t = res ? result_find_table(res, table) : NULL;

	for (size_t r = 0; t && r < t->nrows && r < 40; r++) {
		double first = table_number_of(t, r, "first_byte") / x_most,
		       last = table_number_of(t, r, "last_byte") / x_most;

		if (isfinite(first) && isfinite(last))
			(void)fprintf(out, "<path class=\"%s\" d=\"M%.1f 0V%gH%.1fV0\"/>", class, WIDE * first, HIGH,
			              WIDE * fmax(last, first + 0.01));
	}
}

static void zones_picture(FILE *out, const struct fleet_disk *d, const struct scales *s)
{
	const struct result *last = fleet_part(d, "zones"), *first = fleet_first(d, "zones");
	double size = largest(last, "curve", "last_byte");

	if (!last || !(size > 0.0) || !(s->rate > 0.0)) {
		(void)fputs("<span class=\"dim\">-</span>", out);
		return;
	}
	begin_picture(out, "rate by place, the last run; grey: the first");
	stretches(out, last, "slow_regions", size, "mark m0");
	stretches(out, last, "unreadable", size, "mark m1");
	if (first != last)
		line_of(out, first, &zone_curve, size, s->rate, "line then");
	line_of(out, last, &zone_curve, size, s->rate, "line s0");
	(void)fputs("</svg>", out);
}

static void access_picture(FILE *out, const struct fleet_disk *d, const struct scales *s)
{
	const struct result *last = fleet_part(d, "seek"), *first = fleet_first(d, "seek");
	double span = largest(last, access_curve.table, access_curve.x);

	if (!(span > 0.0) || !(s->access > 0.0) || result_find_table(last, access_curve.table)->nrows < 2) {
		(void)fputs("<span class=\"dim\">-</span>", out);
		return;
	}
	begin_picture(out, "mean access time by span, the last run; grey: the first");
	if (first != last)
		line_of(out, first, &access_curve, span, s->access, "line then");
	line_of(out, last, &access_curve, span, s->access, "line s2");
	(void)fputs("</svg>", out);
}

static double run_place(const struct scales *s, const struct result *res)
{
	double wide = s->last - s->first;

	return wide > 0.0 ? 3.0 + (WIDE - 6.0) * (alike_years(res) - s->first) / wide : WIDE / 2.0;
}

static double health_place(double ratio)
{
	ratio = fmin(fmax(ratio, HEALTH_LOW), HEALTH_HIGH);
	return DOT + (HIGH - 2.0 * DOT) * (HEALTH_HIGH - ratio) / (HEALTH_HIGH - HEALTH_LOW);
}

/* A dot for each run by its date, on the line of the mean rate against the first one's; large where something was
 * wrong. */
static void health_picture(FILE *out, const struct fleet_disk *d, const struct scales *s)
{
	double base = NAN, y = health_place(1.0);

	begin_picture(out, "runs by date, on the mean rate against the first run's, from 80 to 110 %");
	(void)fprintf(out, "<path class=\"grid\" d=\"M0 %.1fH%g\"/>", y, WIDE);
	for (size_t i = 0; i < d->n; i++) {
		const struct result *res = d->v[i];
		bool is_bad = alike_outcome(res) > 0,
		     is_slow = figure_number(result_find_figure(res, "slow_regions")) > 0.0;
		double rate = figure_number(result_find_figure(res, "mean_bytes_per_s"));

		if (!isfinite(alike_years(res)))
			continue;
		base = isfinite(base) ? base : rate;
		if (isfinite(rate / base))
			y = health_place(rate / base);
		(void)fprintf(out, "<path class=\"dot%s\" d=\"M%.1f %.1fh0\"/>",
		              is_bad                   ? " s6 big"
		              : is_slow                ? " s1 big"
		              : alike_outcome(res) < 0 ? " then"
		                                       : " s5",
		              run_place(s, res), y);
	}
	(void)fputs("</svg>", out);
}

/* ---- what is folded up ---- */

static void figure_row(FILE *out, const struct fleet_disk *d, const struct result *res, const struct figure *f)
{
	char text[3][64];

	markup(out, "<tr><th>%s</th><td>%s</td><td><span class=\"dim\">%s to %s</span></td><td>",
	       label_or_name(f->label, f->name), report_f64(text[0], sizeof(text[0]), f->unit, figure_number(f)),
	       report_f64(text[1], sizeof(text[1]), f->unit, f->ci.low),
	       report_f64(text[2], sizeof(text[2]), f->unit, f->ci.high));
	for (size_t i = 0; i < d->ntrends; i++) {
		const struct trend_row *t = &d->trends[i];

		if (strcmp(t->figure, f->name) != 0 || strcmp(t->measurement, res->head.measurement) != 0)
			continue;
		if (!trend_is_known(t))
			(void)fputs("<span class=\"dim\">too few runs</span>", out);
		else
			(void)fprintf(out, "%+.1f %% <span class=\"dim\">%+.1f to %+.1f%s</span>", t->per_year_percent,
			              t->low, t->high, strcmp(t->verdict, "worse") == 0 ? ", worse" : "");
	}
	(void)fputs("</td></tr>\n", out);
}

static void figures(FILE *out, const struct fleet_disk *d)
{
	markup(out,
	       "<div class=\"scroll\"><table class=\"figures\"><thead><tr><th></th><th>last run</th><th>95 %% interval</th>"
	       "<th>%s</th></tr></thead>\n",
	       d->ntrends ? "a year, with the interval of the fleet's level" : "");
	for (size_t i = 0; i < d->n; i++) {
		const struct result *res = d->v[i];

		for (size_t k = 0; k < res->nfigures && fleet_last(d, res->head.measurement, 0) == res; k++)
			if (figure_role(&res->figures[k]) == FIGURE_MEASURED && isfinite(res->figures[k].ci.low))
				figure_row(out, d, res, &res->figures[k]);
	}
	(void)fputs("</table></div>\n", out);
}

static void changes(FILE *out, const struct result *const *res, size_t n)
{
	struct result *found = result_new("changes");
	const struct table *t;

	alike_changes(found, res, n, false);
	t = result_find_table(found, "changes");
	if (t)
		html_table(out, t);
	result_free(found);
}

static void runs(FILE *out, const struct fleet_disk *d)
{
	(void)fputs("<p class=\"dim\">Runs: ", out);
	for (size_t i = 0; i < d->n; i++) {
		const struct result *res = d->v[i];
		bool is_whole = res->status == STATUS_COMPLETE;

		markup(out, "%s%.10s %s%s%s%s", i ? ", " : "", res->head.started ?: "?", res->head.measurement,
		       is_whole ? "" : " (", is_whole ? "" : status_name(res->status), is_whole ? "" : ")");
	}
	(void)fputs(".</p>\n", out);
}

static void findings(FILE *out, const struct fleet_disk *d)
{
	for (size_t i = 0; i < d->nfindings; i++) {
		const struct fleet_finding *one = &d->findings[i];

		markup(out, i ? "<li>%s: %s" : "<ul class=\"notes\"><li>%s: %s", fleet_state_name(one->state),
		       one->text);
		markup(out, isfinite(one->chance) ? " (sure to %.2f %%)</li>" : "</li>", fleet_sure_percent(one));
	}
	(void)fputs(d->nfindings ? "</ul>\n" : "", out);
}

static void disk_row(FILE *out, const struct fleet *f, const struct fleet_disk *d)
{
	const struct scales s = scales_of(f, d);
	const struct result *last = d->v[d->n - 1], *zones = fleet_part(d, "zones");
	char rate[64];

	/* On paper all that is known stands below those of which there is something to be said. */
	markup(out,
	       "<details class=\"disk %s\"><summary><span><b>%s</b> <span class=\"dim\">%s</span></span><span class=\"state%s\">%s<br>%s</span>",
	       d->nfindings ? "paper" : "row", alike_disk(last), target_text(last->targets, "model"),
	       d->state <= FLEET_WORSE ? " bad"
	       : d->state <= FLEET_ODD ? " warn"
	                               : "",
	       d->verdict, fleet_state_name(d->state));
	zones_picture(out, d, &s);
	access_picture(out, d, &s);
	health_picture(out, d, &s);
	markup(out, "<span class=\"n\">%s</span>",
	       report_f64(rate, sizeof(rate), UNIT_BYTES_PER_S,
	                  zones ? figure_number(result_find_figure(zones, "mean_bytes_per_s")) : (double)NAN));
	if (d->nfindings)
		markup(out,
		       d->nfindings > 1 ? "<span class=\"why\">%s, and %zu more</span>"
		                        : "<span class=\"why\">%s</span>",
		       d->findings[0].text, d->nfindings - 1);
	(void)fputs("</summary>\n", out);
	findings(out, d);
	figures(out, d);
	changes(out, d->v, d->n);
	runs(out, d);
	(void)fputs("</details>\n", out);
}

static void fleet_section(FILE *out, const struct fleet *f, const char *sentence, const char *called)
{
	markup(out,
	       "<section class=\"fleet\"><h2>Disks</h2><p class=\"status\">%s</p>\n<div class=\"disk head\"><span>disk</span><span>state</span>"
	       "<span>rate by place</span><span>access by span</span><span>runs and mean rate</span><span class=\"n\">mean rate</span></div>\n",
	       sentence);
	for (size_t d = 0; d < f->ndisks; d++)
		disk_row(out, f, &f->disks[d]);
	(void)fprintf(
		out,
		"<p class=\"dim\">About %.0f in 100 such pages on healthy disks raise a false alarm: a disk that is %s. "
		"Grey in the pictures is the first run; marked are slow and unreadable places. Rotating disks share their scales, and SSDs of one transport theirs.</p>\n",
		100.0 * f->alarms, called);
	if (f->without_row)
		(void)fprintf(
			out,
			"<p class=\"dim\">Documents of files, or of several disks at once, have no row: %zu.</p>\n",
			f->without_row);
	changes(out, f->sorted, f->nsorted);
	(void)fputs("</section>\n", out);
}

int report_page(FILE *out, const struct result *const *res, size_t n, const struct compare_options *opt,
                struct err *err)
{
	size_t ndisks = report_fleet_disks(res, n);
	char sentence[FLEET_SENTENCE];
	struct fleet *f;

	if (ndisks == 0 || (ndisks == 1 && n <= DOCUMENTS_MAX))
		return report_html(out, res, n, err);
	f = fleet_of(res, n, opt->threshold);
	html_begin(out, "disks", "");
	fleet_section(out, f, fleet_sentence(f, sentence), "worse or odd");
	fleet_free(f);
	if (n <= DOCUMENTS_MAX)
		html_sections(out, res, n);
	return html_end(out);
}

int report_changes_page(FILE *out, const struct result *found, const struct fleet *disks, struct err *err)
{
	static const char *const tables[] = { "places", "scans", "differences", "trends" };

	if (!result_find_table(found, "disks"))
		return report_html(out, &found, 1, err);
	html_begin(out, found->head.measurement, "");
	fleet_section(out, disks, found->answer, "different");
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		if (result_find_table(found, tables[i]))
			html_table(out, result_find_table(found, tables[i]));
	html_notices(out, found);
	return html_end(out);
}
