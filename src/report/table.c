/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table for people. Each column has one unit, which stands under its heading; numbers are right-aligned. What is too
 * wide loses in this order: headings on one line, the ends of long texts, the one block (further columns go below, with
 * the first column repeated). Nothing else is lost, but the columns marked as detail and rows between: files have all.
 */
#include "report/printer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define ROWS_ALL   80 /* up to here every row is shown */
#define ROWS_SHOWN 40 /* of longer tables */
#define INDENT     2
#define GAP        2
#define TEXT_MAX   60 /* columns that a text may have at most, and when there is little room */
#define TEXT_MIN   12

struct view { /* one column as it is shown */
	size_t col;
	bool is_text, is_exact;
	struct value_scale scale;
	char *heading;
	unsigned limit, best_limit; /* columns that a text may have */
	unsigned value_width;       /* of the widest value or the unit */
	unsigned width;
};

struct sheet {
	struct printer *p;
	const struct table *t;
	struct view *views;
	size_t nviews;
	size_t nshown;  /* rows */
	unsigned lines; /* of the headings */
};

static size_t shown_row(const struct sheet *s, size_t i)
{
	return s->nshown == s->t->nrows || s->nshown < 2 || s->p->rows ? i : i * (s->t->nrows - 1) / (s->nshown - 1);
}

static unsigned value_text(const struct sheet *s, const struct view *v, size_t row, char *buf, size_t len)
{
	const struct cell *cell = &s->t->cells[row * s->t->ncolumns + v->col];
	const struct column *c = &s->t->columns[v->col];

	if (cell->is_null)
		(void)snprintf(buf, len, "-");
	else if (v->is_text)
		return report_printable(buf, len, cell->str, v->limit, s->p->style->unicode);
	else if (v->is_exact)
		(void)result_cell_text(buf, len, c->type, cell);
	else
		(void)report_number(buf, len, &v->scale, table_number(s->t, row, v->col));
	return (unsigned)strlen(buf);
}

/* The words of the heading in lines of at most width bytes, none cut: how many lines, and where line `want` is. */
static unsigned wrap(const char *heading, size_t width, unsigned want, const char **ret, size_t *ret_bytes)
{
	unsigned n = 0;

	for (; *heading; n++) {
		size_t bytes = text_line(heading, width);

		if (n == want) {
			*ret = heading;
			*ret_bytes = bytes;
		}
		heading += bytes;
		heading += strspn(heading, " ");
	}
	return n;
}

static unsigned heading_lines(const struct view *v, size_t width)
{
	return wrap(v->heading, width, UINT_MAX, NULL, NULL);
}

static const char *unit_of(const struct view *v)
{
	return v->is_text || v->scale.is_mixed ? "" : v->scale.unit;
}

static void measure_values(const struct sheet *s, struct view *v)
{
	char buf[512];

	v->value_width = text_width(unit_of(v));
	for (size_t i = 0; i < s->nshown; i++) {
		unsigned n = value_text(s, v, shown_row(s, i), buf, sizeof(buf));

		v->value_width = n > v->value_width ? n : v->value_width;
	}
}

/* Smallest width that takes the values, and the heading in `lines` lines. */
static unsigned width_for(const struct view *v, unsigned lines)
{
	unsigned width = v->value_width > 0 ? v->value_width : 1;

	for (const char *word = v->heading; *word; word += strspn(word, " ")) {
		size_t bytes = strcspn(word, " ");

		width = bytes > width ? (unsigned)bytes : width;
		word += bytes;
	}
	while (heading_lines(v, width) > lines)
		width++;
	return width;
}

/* Views side by side: those from .. end, and the first column of the table where it is not among them. */
struct block {
	size_t from, end;
	unsigned lines; /* of the headings */
};

/* The block after b: at least one column, and as many as fit. */
static void next_block(const struct sheet *s, struct block *b)
{
	unsigned width = INDENT + (b->end ? s->views[0].width + GAP : 0);

	b->from = b->end;
	do {
		width += s->views[b->end++].width + GAP;
	} while (b->end < s->nviews && width + s->views[b->end].width <= s->p->width);
	b->lines = b->from ? heading_lines(&s->views[0], s->views[0].width) : 1;
	for (size_t i = b->from; i < b->end; i++) {
		unsigned n = heading_lines(&s->views[i], s->views[i].width);

		b->lines = n > b->lines ? n : b->lines;
	}
}

static size_t set_widths(struct sheet *s, unsigned lines)
{
	struct block b = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < s->nviews; i++)
		s->views[i].width = width_for(&s->views[i], lines);
	for (; b.end < s->nviews; n++)
		next_block(s, &b);
	return n;
}

/* The widest text that can still be cut; NULL: none. */
static struct view *widest_text(const struct sheet *s)
{
	struct view *widest = NULL;

	for (size_t i = 0; i < s->nviews; i++)
		if (s->views[i].is_text && s->views[i].value_width > TEXT_MIN &&
		    (!widest || s->views[i].value_width > widest->value_width))
			widest = &s->views[i];
	return widest;
}

/* As few blocks as can be; for that texts are cut, the widest first, when up to three lines of heading do not do. */
static void lay_out(struct sheet *s)
{
	struct view *cut = NULL;
	size_t best = SIZE_MAX;
	unsigned best_lines = 1;

	for (size_t i = 0; i < s->nviews; i++)
		measure_values(s, &s->views[i]);
	do {
		for (unsigned lines = 1; lines <= 3; lines++) {
			size_t n = set_widths(s, lines);

			if (n >= best)
				continue;
			best = n;
			best_lines = lines;
			for (size_t i = 0; i < s->nviews; i++)
				s->views[i].best_limit = s->views[i].limit;
		}
		cut = best > 1 ? widest_text(s) : NULL;
		if (cut) {
			cut->limit = cut->value_width - 1;
			measure_values(s, cut);
		}
	} while (cut);
	for (size_t i = 0; i < s->nviews; i++) {
		s->views[i].limit = s->views[i].best_limit;
		measure_values(s, &s->views[i]);
	}
	(void)set_widths(s, best_lines);
}

static bool is_empty(const struct table *t, size_t col)
{
	for (size_t row = 0; row < t->nrows; row++)
		if (!t->cells[row * t->ncolumns + col].is_null)
			return false;
	return true;
}

static struct value_scale scale_of_column(const struct table *t, size_t col)
{
	cleanup_free double *x = xcalloc(t->nrows + 1, sizeof(*x));

	for (size_t row = 0; row < t->nrows; row++)
		x[row] = table_number(t, row, col);
	return report_scale(t->columns[col].unit, x, t->nrows);
}

/* First and last byte of the same thing should look alike. */
static void match_decimals(struct sheet *s)
{
	for (size_t i = 0; i < s->nviews * s->nviews; i++) {
		struct value_scale *a = &s->views[i / s->nviews].scale, *b = &s->views[i % s->nviews].scale;

		if (a->kind == UNIT_BYTES && b->kind == UNIT_BYTES && !a->is_mixed && !b->is_mixed &&
		    a->divisor == b->divisor && a->decimals < b->decimals)
			a->decimals = b->decimals;
	}
}

static void add_view(struct sheet *s, size_t col)
{
	const struct column *c = &s->t->columns[col];
	struct view v = { .col = col, .is_text = c->type == FIELD_TYPE_STR, .limit = TEXT_MAX };

	if (!v.is_text)
		v.scale = scale_of_column(s->t, col);
	v.is_exact = !v.is_text && c->type != FIELD_TYPE_F64 && v.scale.divisor == 1 && v.scale.decimals == 0 &&
	             !v.scale.is_mixed;
	v.heading = text_printable(s->p, c->label);
	s->views[s->nviews++] = v;
}

/* ---- printing ---- */

enum kind { LINE_HEADING, LINE_UNIT, LINE_VALUE };

/* What a view has in such a line of the block; i: the line of the headings, which stand on their last, or the row. */
static void put_cell(const struct sheet *s, const struct view *v, const struct block *b, enum kind what, size_t i)
{
	unsigned lines = heading_lines(v, v->width), pad;
	const char *part = "";
	size_t bytes = 0;
	char buf[512] = "";

	if (what == LINE_HEADING)
		(void)wrap(v->heading, v->width, (unsigned)i + lines - b->lines, &part, &bytes);
	if (what == LINE_VALUE)
		(void)value_text(s, v, i, buf, sizeof(buf));
	else
		(void)snprintf(buf, sizeof(buf), "%.*s", what == LINE_UNIT ? INT_MAX : (int)bytes,
		               what == LINE_UNIT ? unit_of(v) : part);
	pad = text_width(buf) < v->width ? v->width - text_width(buf) : 0;
	text_spaces(s->p, v->is_text ? 0 : pad);
	text_put(s->p, buf);
	text_spaces(s->p, (v->is_text ? pad : 0) + GAP);
}

static void print_cells(const struct sheet *s, const struct block *b, enum kind what, size_t i)
{
	text_spaces(s->p, INDENT);
	if (b->from)
		put_cell(s, &s->views[0], b, what, i);
	for (size_t k = b->from; k < b->end; k++)
		put_cell(s, &s->views[k], b, what, i);
	text_end(s->p);
}

static void print_block(const struct sheet *s, const struct block *b)
{
	bool has_units = b->from && *unit_of(&s->views[0]);

	for (size_t i = b->from; i < b->end; i++)
		has_units |= *unit_of(&s->views[i]) != 0;
	text_look(s->p, LOOK_QUIET);
	for (unsigned line = 0; line < b->lines; line++)
		print_cells(s, b, LINE_HEADING, line);
	if (has_units)
		print_cells(s, b, LINE_UNIT, 0);
	text_plain(s->p);
	for (size_t i = 0; i < s->nshown; i++)
		print_cells(s, b, LINE_VALUE, shown_row(s, i));
}

static void print_blocks(const struct sheet *s)
{
	for (struct block b = { 0 }; b.end < s->nviews;) {
		next_block(s, &b);
		if (b.from)
			text_end(s->p);
		print_block(s, &b);
	}
}

static void print_title(struct printer *p, const char *title, bool is_none)
{
	text_look(p, LOOK_TITLE);
	text_put(p, title);
	text_plain(p);
	text_put(p, is_none ? ": none" : "");
	text_end(p);
}

void text_table(struct printer *p, const struct table *t)
{
	size_t most = p->rows ? p->rows : t->nrows > ROWS_ALL ? ROWS_SHOWN : t->nrows;
	struct sheet s = { .p = p, .t = t, .nshown = most < t->nrows ? most : t->nrows };
	cleanup_free char *title = text_printable(p, t->title ? t->title : t->name);

	s.views = xcalloc(t->ncolumns + 1, sizeof(*s.views));
	for (size_t i = 0; i < t->ncolumns; i++)
		if (!t->columns[i].detail && !is_empty(t, i))
			add_view(&s, i);
	print_title(p, title, s.nviews == 0);
	match_decimals(&s);
	lay_out(&s);
	print_blocks(&s);
	if (s.nviews && s.nshown < t->nrows)
		text_printf(p, "  (%zu of %zu rows%s)\n", s.nshown, t->nrows,
		            p->rows ? "" : "; --csv and --json have all");
	for (size_t i = 0; i < s.nviews; i++)
		free(s.views[i].heading);
	free(s.views);
}
