/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sentence of a comparison: which two, whether they differ, in what and by how much; or how large a difference
 * might have stayed unseen.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xalloc.h"
#include "report/alike.h"

#define LAID_ROWS 4096 /* of one picture; a map of a whole disk has more */

/* "WDC WD40EZRZ, serial X (2026-11-20)" */
static void name_of(char *buf, size_t len, const struct result *res, const char *file)
{
	(void)snprintf(buf, len, "%.60s (%.10s%s%.80s)", alike_disk(res),
	               res->head.started ? res->head.started : "no date", file ? ", " : "", file ? file : "");
}

/* What a row's struct holds. */
union member {
	double f64;
	const char *str;
};

/* The rows of one of the two, in the columns of `both`, behind the one that says whose they are. */
static void add_rows(struct table *both, const struct table *t, const char *whose)
{
	cleanup_free union member *row = xcalloc(both->ncolumns, sizeof(*row));
	row[0].str = whose;
	for (size_t r = 0; r < t->nrows; r++) {
		for (size_t c = 1; c < both->ncolumns; c++) {
			int from = table_column(t, both->columns[c].key);

			if (both->columns[c].type == FIELD_TYPE_STR)
				row[c].str = from < 0 ? NULL : table_string(t, r, (size_t)from);
			else
				row[c].f64 = from < 0 ? (double)NAN : table_number(t, r, (size_t)from);
		}
		result_row(both, row);
	}
}

/* The first picture that both have, of both. */
static void lay_over(struct result *out, const struct result *const *pair)
{
	bool is_one_disk = alike_same_disk(pair[0], pair[1]);
	cleanup_free struct field *fields = NULL;
	cleanup_free char *series = NULL;
	const struct table *t[2] = { NULL };
	const struct plot *p = NULL;
	struct table *both;
	struct plot drawn;
	size_t n = 0;

	for (; n < pair[0]->nplots; n++) {
		p = &pair[0]->plots[n];
		for (size_t i = 0; i < 2; i++)
			t[i] = result_find_table(pair[i], p->table);
		if (t[0] && t[1] && t[0]->nrows && t[1]->nrows && t[0]->nrows + t[1]->nrows <= LAID_ROWS &&
		    strcmp(p->kind, "heatmap") != 0)
			break;
	}
	if (n == pair[0]->nplots)
		return;
	fields = xcalloc(t[0]->ncolumns + 2, sizeof(*fields));
	if (asprintf(&series, p->series ? "which,%s" : "which", p->series) < 0)
		series = NULL;
	(void)xmust(series);
	fields[0] = (struct field){ .type = FIELD_TYPE_STR, .key = "which", .label = "which", .unit = UNIT_TEXT };
	for (size_t c = 0; c < t[0]->ncolumns; c++)
		fields[c + 1] =
			(struct field){ t[0]->columns[c].type == FIELD_TYPE_STR ? FIELD_TYPE_STR : FIELD_TYPE_F64,
			                t[0]->columns[c].key,
			                t[0]->columns[c].label,
			                t[0]->columns[c].unit,
			                (c + 1) * sizeof(union member),
			                t[0]->columns[c].detail };
	both = result_table(out, p->table, t[0]->title, fields);
	for (size_t i = 0; i < 2; i++) {
		char whose[80];

		(void)snprintf(whose, sizeof(whose), "%c, %.*s", "AB"[i], is_one_disk ? 10 : 40,
		               is_one_disk && pair[i]->head.started ? pair[i]->head.started : alike_disk(pair[i]));
		add_rows(both, t[i], whose);
	}
	drawn = *p;
	drawn.series = series;
	drawn.see = drawn.dots = drawn.marks = NULL; /* of one of them */
	result_plot(out, &drawn);
}

/* How many rows have that verdict; their figures, some of them, behind text. */
static size_t name_rows(const struct table *t, const char *is, char *text, size_t len)
{
	size_t verdict = (size_t)table_column(t, "verdict"), name = (size_t)table_column(t, "label"), n = 0;

	for (size_t i = 0; i < t->nrows; i++)
		if (!strcmp(table_string(t, i, verdict), is) && ++n <= 3)
			str_add(text, len, n == 1 ? " %s: %.60s" : ", %.0s%.60s", is, table_string(t, i, name));
	if (n)
		str_add(text, len, n > 3 ? " and %zu more." : ".%.0zu", n > 3 ? n - 3 : 0);
	return n;
}

void answer_comparison(struct result *res, const struct table *t, const struct comparison *c)
{
	static const char *const verdicts[] = { "worse", "better", "different" };
	bool is_two = c->pair != NULL;
	char a[200] = "A", b[200] = "B", noise[40] = "", text[1200];

	if (is_two) {
		name_of(a, sizeof(a), c->pair[0], c->files ? c->files[0] : NULL);
		name_of(b, sizeof(b), c->pair[1], c->files ? c->files[1] : NULL);
		lay_over(res, c->pair);
	}
	if (c->noise_percent > 0.0)
		(void)snprintf(noise, sizeof(noise), " (\xc2\xb1%.2g %%)", c->noise_percent);
	if (c->differ)
		(void)snprintf(text, sizeof(text),
		               is_two ? "B, %s, differs from A, %s%s%s." : "B differs from A.%.0s%.0s%.0s%.0s", b, a,
		               c->findings[0] ? ": " : "", c->findings);
	else if (c->is_open)
		(void)snprintf(text, sizeof(text),
		               "Cannot tell whether %s and %s differ: the intervals are wider than %.3g %%.", a, b,
		               100.0 * c->tolerance);
	else
		(void)snprintf(text, sizeof(text), "No difference between %s and %s larger than measurement noise%s.",
		               a, b, noise);
	for (size_t k = 0; !is_two && k < ARRAY_LEN(verdicts); k++)
		(void)name_rows(t, verdicts[k], text, sizeof(text));
	if (!c->is_open)
		(void)name_rows(t, "cannot tell", text, sizeof(text));
	result_set(&res->answer, text);
	result_set(&res->shows,
	           is_two ? "#places,#differences,#changes" : "pairs,different,#places,#differences,#changes");
}
