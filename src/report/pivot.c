/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table whose rows are cells of a matrix (a heat map is declared over it) is read best as a matrix: one table for
 * each series, x down, y across, the value inside. Row by row it would be long, and thinned it would lose the order
 * that it is about.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "report/table.h"

#define SIDE_MAX 32   /* distinct values across */
#define ROWS_MAX 4000 /* of the table; what is larger is no matrix for people */

struct matrix {
	const struct table *t;
	int x, y, z, series[4];
	size_t nseries;
};

struct line_row { /* of the tables that are made: as wide as can be */
	double v[SIDE_MAX + 1];
};

/* The column that the part of a comma-separated list names; -1: none. *list goes on behind it. */
static int next_key(const struct table *t, const char **list)
{
	size_t len = strcspn(*list, ",");
	cleanup_free char *key = strndup(*list, len);

	*list += len + ((*list)[len] == ',');
	return key ? table_column(t, key) : -1;
}

static bool matrix_of(const struct table *t, const struct plot *plot, struct matrix *ret)
{
	const char *y = plot->y, *series = plot->series;

	*ret = (struct matrix){ .t = t };
	if (!plot->kind || strcmp(plot->kind, "heatmap") != 0 || !plot->x || !y)
		return false;
	ret->x = table_column(t, plot->x);
	ret->y = next_key(t, &y);
	ret->z = next_key(t, &y);
	while (series && *series && ret->nseries < ARRAY_LEN(ret->series)) {
		int col = next_key(t, &series);

		if (col < 0 || t->columns[col].type != FIELD_TYPE_STR)
			return false;
		ret->series[ret->nseries++] = col;
	}
	return ret->x >= 0 && ret->y >= 0 && ret->z >= 0;
}

static bool is_same_series(const struct matrix *m, size_t a, size_t b)
{
	for (size_t i = 0; i < m->nseries; i++) {
		const char *p = table_string(m->t, a, (size_t)m->series[i]),
			   *q = table_string(m->t, b, (size_t)m->series[i]);

		if (strcmp(p ? p : "", q ? q : "") != 0)
			return false;
	}
	return true;
}

/* Distinct values of a column in the rows of a series, in the order of the table; SIZE_MAX: more than max. */
static size_t distinct(const struct matrix *m, size_t like, int col, double *v, size_t max)
{
	size_t n = 0;

	for (size_t row = 0; row < m->t->nrows; row++) {
		double x = table_number(m->t, row, (size_t)col);
		size_t i = 0;

		if (!is_same_series(m, row, like))
			continue;
		while (i < n && v[i] != x)
			i++;
		if (i < n)
			continue;
		if (n == max)
			return SIZE_MAX;
		v[n++] = x;
	}
	return n;
}

static double value_at(const struct matrix *m, size_t like, double x, double y)
{
	for (size_t row = 0; row < m->t->nrows; row++)
		if (table_number(m->t, row, (size_t)m->x) == x && table_number(m->t, row, (size_t)m->y) == y &&
		    is_same_series(m, row, like))
			return table_number(m->t, row, (size_t)m->z);
	return (double)NAN;
}

/* "File size by record size: write, cached" */
static char *title_of(const struct matrix *m, size_t like)
{
	char names[256] = "";

	for (size_t i = 0; i < m->nseries; i++) {
		const char *name = table_string(m->t, like, (size_t)m->series[i]);
		size_t len = strlen(names);

		(void)snprintf(names + len, sizeof(names) - len, "%s%s", i ? ", " : ": ", name ? name : "-");
	}
	return text_format("%s%s (%s)", m->t->title ? m->t->title : m->t->name, names,
	                   m->t->columns[m->z].label ? m->t->columns[m->z].label : "");
}

static void put_series(struct printer *p, const struct matrix *m, size_t like)
{
	struct field fields[SIDE_MAX + 2] = { 0 };
	char label[SIDE_MAX][32];
	double across[SIDE_MAX];
	cleanup_free double *down = xcalloc(m->t->nrows + 1, sizeof(*down));
	cleanup_free char *title = title_of(m, like);
	size_t n = distinct(m, like, m->y, across, SIDE_MAX), rows = distinct(m, like, m->x, down, m->t->nrows);
	struct result *res = result_new("pivot");
	struct table *t;

	fields[0] =
		(struct field){ FIELD_TYPE_F64, "x", m->t->columns[m->x].label, m->t->columns[m->x].unit, 0, false };
	for (size_t i = 0; i < n; i++) {
		struct cell cell = { .f64 = across[i] };

		fields[i + 1] = (struct field){ FIELD_TYPE_F64,           "z",  label[i], m->t->columns[m->z].unit,
			                        (i + 1) * sizeof(double), false };
		(void)report_value(label[i], sizeof(label[i]), FIELD_TYPE_F64, m->t->columns[m->y].unit, &cell);
	}
	t = result_table(res, "pivot", title, fields);
	for (size_t k = 0; k < rows; k++) {
		struct line_row row = { .v = { down[k] } };

		for (size_t i = 0; i < n; i++)
			row.v[i + 1] = value_at(m, like, down[k], across[i]);
		result_row(t, &row);
	}
	text_table(p, t);
	result_free(res);
}

/* Is the row the first of its series? */
static bool is_first(const struct matrix *m, size_t row)
{
	for (size_t before = 0; before < row; before++)
		if (is_same_series(m, row, before))
			return false;
	return true;
}

bool text_matrix(struct printer *p, const struct table *t, const struct plot *plot)
{
	double across[SIDE_MAX];
	struct matrix m;

	if (t->nrows == 0 || t->nrows > ROWS_MAX || !matrix_of(t, plot, &m))
		return false;
	for (size_t row = 0; row < t->nrows; row++)
		if (is_first(&m, row) && distinct(&m, row, m.y, across, SIDE_MAX) == SIZE_MAX)
			return false;
	for (size_t row = 0; row < t->nrows; row++) {
		if (!is_first(&m, row))
			continue;
		if (row)
			text_end(p);
		put_series(p, &m, row);
	}
	return true;
}
