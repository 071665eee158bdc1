/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first screen: what a person takes in without scrolling, of what the document says that people come for. Each part
 * is made in memory and kept when it fits: the answer and the figures first, then what the disk did wrong, notices,
 * tables, and a picture in the lines that are left. What had to stay out is counted.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "report/plotdata.h"
#include "report/text.h"

#define FIGURES_MAX   12
#define PICTURE_LEAST 8  /* lines */
#define PICTURE_USUAL 16 /* with its caption, legend and marks, where that is less than half of the screen */
#define PICTURE_MOST  20
#define TABLE_LEAST   6
#define ROWS_LEAST    4 /* of a table: fewer of each say less than more of the first ones */
#define NOTE_LEAST    3 /* of a short one, with the empty line before */
#define NOTE_LINES    4 /* of one notice */

enum part {
	PART_HEAD,
	PART_PICTURE,
	PART_FIGURES,
	PART_TABLES,
	PART_FAULTS,
	PART_NOTES,
	PART_VERDICT,
	PART_CIRCUMSTANCES,
	PARTS
};

struct screen {
	const struct printer *page;
	const struct result *res;
	const struct figure **figures; /* that may be shown, and below, the first of them that are */
	const struct table **tables;
	size_t nfigures, ntables;
	size_t rows;  /* of a table, at most */
	size_t lines; /* still free */
	char *part[PARTS];
	size_t shown[PARTS]; /* things of each */
};

/* Prints the first n of its things. */
typedef void print_fn(struct printer *p, const struct screen *s, size_t n);

static size_t less(size_t a, size_t b)
{
	return a > b ? a - b : 0;
}

/* What print prints, on the heap. */
static char *capture(const struct screen *s, print_fn *print, size_t n)
{
	struct printer p = *s->page;
	char *text = NULL;
	size_t len = 0;

	p.rows = s->rows;
	p.out = xmust(open_memstream(&text, &len));
	print(&p, s, n);
	return xmust(fclose(p.out) == 0 ? text : NULL);
}

/* The text becomes the part, in place of what was there, when it takes at most room lines. */
static bool keep(struct screen *s, enum part part, char *text, size_t room)
{
	size_t n = text_lines(text);

	if (n > room) {
		free(text);
		return false;
	}
	s->lines = less(s->lines, n);
	s->part[part] = text;
	return true;
}

static void drop(struct screen *s, enum part part)
{
	s->lines += s->part[part] ? text_lines(s->part[part]) : 0;
	free(s->part[part]);
	s->part[part] = NULL;
	s->shown[part] = 0;
}

/* What is one thing becomes the part, where it takes at most room lines. */
static void fit_one(struct screen *s, enum part part, void (*print)(struct printer *p, const struct result *res),
                    size_t room)
{
	struct printer p = *s->page;
	char *text = NULL;
	size_t len = 0;

	p.out = xmust(open_memstream(&text, &len));
	print(&p, s->res);
	s->shown[part] = keep(s, part, xmust(fclose(p.out) == 0 ? text : NULL), room);
}

/* The first of n things, as many as fit into room lines, become the part. */
static void fit(struct screen *s, enum part part, print_fn *print, size_t n, size_t room)
{
	for (n = n < room ? n : room; n > 0 && !keep(s, part, capture(s, print, n), room); n--)
		;
	s->shown[part] = n;
}

/* ---- the parts ---- */

static bool is_null(const struct figure *f)
{
	return !f || f->value.is_null;
}

static void print_circumstances(struct printer *p, const struct result *res)
{
	text_look(p, LOOK_QUIET);
	text_circumstances(p, res);
	text_plain(p);
}

static void print_figures(struct printer *p, const struct screen *s, size_t n)
{
	text_figures(p, s->figures, n);
}

static void print_tables(struct printer *p, const struct screen *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		text_end(p);
		text_table_of(p, s->res, s->tables[i]);
	}
}

/* The first n; columns: of each, 0: all of it. */
static void print_notices(struct printer *p, const struct result *res, size_t n, unsigned columns)
{
	for (size_t i = 0; i < n; i++) {
		cleanup_free char *text = report_shown(res->notices[i].text, columns, p->style->unicode);

		if (i == 0)
			text_end(p);
		text_note(p, text);
	}
}

static void print_notes(struct printer *p, const struct screen *s, size_t n)
{
	print_notices(p, s->res, n, NOTE_LINES * (p->width - 12));
}

/* ---- which of them ---- */

/* What the document says that is shown; of one that does not say it, all. */
static void choose(struct screen *s)
{
	const struct result *res = s->res;
	cleanup_free char *shows = xmust(strdup(res->shows ? res->shows : ""));
	char *save = NULL;

	s->figures = xcalloc(res->nfigures + 1, sizeof(*s->figures));
	s->tables = xcalloc(res->ntables + 1, sizeof(*s->tables));
	for (const char *name = strtok_r(shows, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		bool is_table = *name == '#';
		const struct figure *f = is_table ? NULL : result_find_figure(res, name);
		const struct table *t = is_table ? result_find_table(res, name + 1) : NULL;

		if (!is_null(f) && s->nfigures < res->nfigures)
			s->figures[s->nfigures++] = f;
		if (t && t->nrows && s->ntables < res->ntables)
			s->tables[s->ntables++] = t;
	}
	for (size_t i = 0; !res->shows && i < res->nfigures; i++)
		if (!is_null(&res->figures[i]))
			s->figures[s->nfigures++] = &res->figures[i];
	for (size_t i = 0; !res->shows && i < res->ntables; i++)
		if (res->tables[i]->nrows && !text_is_for_files(res->tables[i]))
			s->tables[s->ntables++] = res->tables[i];
}

/* As many tables as can be with some rows each, and then as many rows as can be. */
static void fit_tables(struct screen *s, size_t room)
{
	size_t most = 1, n;

	for (size_t i = 0; i < s->ntables; i++)
		most = s->tables[i]->nrows > most ? s->tables[i]->nrows : most;
	s->rows = ROWS_LEAST;
	fit(s, PART_TABLES, print_tables, s->ntables, room);
	n = s->shown[PART_TABLES];
	if (n == 0)
		return;
	drop(s, PART_TABLES);
	s->shown[PART_TABLES] = n;
	s->rows = most < room ? most : room;
	while (!keep(s, PART_TABLES, capture(s, print_tables, n), room))
		s->rows--;
}

/* The first plot that has points in that many lines, heap; "": that does not do. Another one may not show what the
 * answer says. */
static char *draw(const struct screen *s, size_t lines)
{
	struct text_style style = *s->page->style;
	char *text = NULL;
	size_t len = 0, i = 0;
	FILE *out = xmust(open_memstream(&text, &len));

	while (i < s->res->nplots && !plot_has_points(&s->res, 0, i))
		i++;
	style.lines = (unsigned)lines;
	if (i < s->res->nplots && !style.plots)
		report_plot_text(out, &s->res, 1, &s->res->plots[i], &style);
	return xmust(fclose(out) == 0 ? text : NULL);
}

static void fit_picture(struct screen *s)
{
	for (size_t lines = s->lines < PICTURE_MOST ? s->lines : PICTURE_MOST;
	     !s->shown[PART_PICTURE] && lines >= PICTURE_LEAST; lines--) {
		char *text = draw(s, lines);

		if (*text)
			s->shown[PART_PICTURE] = keep(s, PART_PICTURE, text, s->lines);
		else
			free(text);
	}
}

/* What has to share the lines that answer, figures and faults leave: room is kept for the picture. */
static void fit_rest(struct screen *s, size_t picture)
{
	const struct result *res = s->res;
	size_t table = s->ntables ? TABLE_LEAST : 0, *notes = &s->shown[PART_NOTES];

	fit(s, PART_NOTES, print_notes, res->nnotices, less(s->lines, picture + table));
	/* One at least, but on a small screen rather a picture or table of bad places. */
	if (*notes == 0 && !((picture || table) && res->nfault_totals && s->page->style->lines <= 2 * PICTURE_USUAL))
		fit(s, PART_NOTES, print_notes, res->nnotices ? 1 : 0, s->lines);
	fit_tables(s, less(s->lines, picture));
	if (*notes < res->nnotices && *notes) { /* where the tables did not need what was kept for them */
		drop(s, PART_NOTES);
		fit(s, PART_NOTES, print_notes, res->nnotices, less(s->lines, picture));
		if (*notes == 0)
			fit(s, PART_NOTES, print_notes, 1, s->lines);
	}
	fit_picture(s);
}

/* ---- what else there is ---- */

static size_t tables_for_people(const struct result *res)
{
	size_t n = 0;

	for (size_t i = 0; i < res->ntables; i++)
		n += res->tables[i]->nrows > 0 && !text_is_for_files(res->tables[i]);
	return n;
}

static size_t plots_with_points(const struct result *res)
{
	size_t n = 0;

	for (size_t i = 0; i < res->nplots; i++)
		n += plot_has_points(&res, 0, i);
	return n;
}

/* What was left out, and which option has it. */
static void print_rest(struct printer *p, const struct screen *s)
{
	const struct result *res = s->res;
	size_t pictures = p->style->plots ? 0 : less(plots_with_points(res), s->shown[PART_PICTURE]);
	const struct {
		size_t n;
		const char *what;
	} more[] = {
		{ less(res->nfigures, s->shown[PART_FIGURES]), "figure" },
		{ less(tables_for_people(res), s->shown[PART_TABLES]), "table" },
		{ less(res->nnotices, s->shown[PART_NOTES]), "notice" },
	};
	const char *before = "More with -v: ";

	text_look(p, LOOK_QUIET);
	for (size_t i = 0; i < ARRAY_LEN(more); i++) {
		if (more[i].n)
			text_printf(p, "%s%zu %s%s", before, more[i].n, more[i].what, more[i].n == 1 ? "" : "s");
		before = more[i].n ? ", " : before;
	}
	if (pictures)
		text_printf(p, "%s%zu picture%s", *before == ',' ? "; with --plot: " : "More with --plot: ", pictures,
		            pictures == 1 ? "" : "s");
	text_plain(p);
	if (pictures || *before == ',')
		text_end(p);
}

/* The fewest lines in which the picture can be drawn; 0: there is none. Of a disk that fails it has marks. */
static size_t picture_needs(const struct screen *s)
{
	for (size_t lines = s->lines > 2 * PICTURE_USUAL ? PICTURE_USUAL : PICTURE_LEAST; lines <= PICTURE_MOST;
	     lines++) {
		cleanup_free char *text = draw(s, lines);

		if (*text)
			return lines;
	}
	return 0;
}

/* picture: the lines that are kept for it; 0: none. */
static void lay_out(struct screen *s, size_t picture)
{
	const bool is_failing = s->res->nfault_totals > 0 || s->ntables > 0; /* bad places come before a figure more */
	size_t kept;

	for (size_t i = 0; i < PARTS; i++)
		drop(s, (enum part)i);
	s->lines = s->page->style->lines;
	fit_one(s, PART_HEAD, text_head, SIZE_MAX);
	fit_one(s, PART_VERDICT, text_verdict_of, SIZE_MAX);
	if (s->page->style->lines >= LINES_OF_ONE)
		fit_one(s, PART_CIRCUMSTANCES, print_circumstances, SIZE_MAX);
	s->lines = less(s->lines, 1); /* what else there is */
	if (is_failing)
		fit_one(s, PART_FAULTS, text_faults, s->lines);
	kept = (s->ntables ? TABLE_LEAST : 0) + (picture            ? picture
	                                         : is_failing       ? PICTURE_LEAST
	                                         : s->res->nnotices ? NOTE_LEAST
	                                                            : 0);
	/* Figures rather than a picture, but where it has the bad places. */
	for (size_t i = 0; i < (is_failing ? 1 : 2) && !s->shown[PART_FIGURES]; i++)
		fit(s, PART_FIGURES, print_figures, s->nfigures < FIGURES_MAX ? s->nfigures : FIGURES_MAX,
		    less(s->lines, i ? 0 : kept));
	fit_rest(s, picture);
}

static void print_screen(struct printer *p, const struct result *res)
{
	struct screen s = { .page = p, .res = res, .lines = p->style->lines };
	size_t picture;

	choose(&s);
	picture = picture_needs(&s);
	lay_out(&s, picture);
	if (picture && !s.shown[PART_PICTURE]) /* none can be drawn so small */
		lay_out(&s, 0);
	for (size_t i = 0; i < PARTS; i++)
		text_put(p, s.part[i] ? s.part[i] : "");
	if (p->style->plots)
		report_plots_text(p->out, &res, 1, p->style);
	print_rest(p, &s);
	for (size_t i = 0; i < PARTS; i++)
		free(s.part[i]);
	free(s.figures);
	free(s.tables);
}

/* ---- the page: the first screen, or all there is ---- */

static void print_all_figures(struct printer *p, const struct result *res)
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

static void print_all_tables(struct printer *p, const struct result *res)
{
	for (size_t i = 0; i < res->ntables; i++) {
		if (!text_is_for_files(res->tables[i])) {
			text_end(p);
			text_table_of(p, res, res->tables[i]);
		}
		print_plots(p, res, res->tables[i]->name);
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
		print_screen(&p, res);
	} else {
		text_head(&p, res);
		text_circumstances(&p, res);
		print_all_figures(&p, res);
		print_all_tables(&p, res);
		text_faults(&p, res);
		print_notices(&p, res, res->nnotices, 0);
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
