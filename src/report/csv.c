/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One CSV with everything that is a number: the figures, then each table, each under a line "# table NAME". Quoting as
 * in RFC 4180, lines end in LF as Unix tools want them; base units, the key (with its unit) is the heading. Text that a
 * spreadsheet would take for a formula gets an apostrophe in front: model names come from strangers' disks.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "report/report.h"

static void put_quoted(FILE *out, const char *text, bool is_defused)
{
	(void)fputs(is_defused ? "\"'" : "\"", out);
	for (; *text; text++) {
		if (*text == '"')
			(void)fputc('"', out);
		(void)fputc(*text, out);
	}
	(void)fputc('"', out);
}

static void put_text(FILE *out, const char *text)
{
	/* what spreadsheets begin to calculate with; '#' would read as a heading of ours */
	bool is_formula = *text && strchr("=+-@\t\r", *text) && text[1];
	bool is_quoted = is_formula || *text == '#' || strpbrk(text, ",\"\r\n;'") || *text == ' ' ||
	                 (*text && text[strlen(text) - 1] == ' ');

	if (is_quoted)
		put_quoted(out, text, is_formula);
	else
		(void)fputs(text, out);
}

static void put_cell(FILE *out, enum field_type type, const struct cell *cell)
{
	char buf[CELL_TEXT];

	if (type == FIELD_TYPE_STR && !cell->is_null)
		put_text(out, cell->str);
	else
		(void)fputs(result_cell_text(buf, sizeof(buf), type, cell), out);
}

static void put_f64(FILE *out, double value)
{
	put_cell(out, FIELD_TYPE_F64, &(struct cell){ .is_null = !isfinite(value), .f64 = value });
}

static void put_table_line(FILE *out, const char *name)
{
	(void)fputs("# table ", out);
	for (; *name; name++) /* one line, whatever it holds */
		(void)fputc((unsigned char)*name < ' ' ? '?' : *name, out);
	(void)fputc('\n', out);
}

static void put_figures(FILE *out, const struct result *res)
{
	put_table_line(out, "figures");
	(void)fputs("name,value,low,high,samples\n", out);
	for (size_t i = 0; i < res->nfigures; i++) {
		const struct figure *f = &res->figures[i];

		put_text(out, f->name);
		(void)fputc(',', out);
		put_cell(out, f->type, &f->value);
		(void)fputc(',', out);
		put_f64(out, f->ci.low);
		(void)fputc(',', out);
		put_f64(out, f->ci.high);
		(void)fputc(',', out);
		if (f->samples)
			(void)fprintf(out, "%llu", (unsigned long long)f->samples);
		(void)fputc('\n', out);
	}
}

static void put_table(FILE *out, const struct table *t)
{
	put_table_line(out, t->name);
	for (size_t i = 0; i < t->ncolumns; i++) {
		put_text(out, t->columns[i].key);
		(void)fputc(i + 1 < t->ncolumns ? ',' : '\n', out);
	}
	for (size_t row = 0; row < t->nrows; row++) {
		for (size_t i = 0; i < t->ncolumns; i++) {
			put_cell(out, t->columns[i].type, &t->cells[row * t->ncolumns + i]);
			(void)fputc(i + 1 < t->ncolumns ? ',' : '\n', out);
		}
	}
}

int report_csv(FILE *out, const struct result *res)
{
	put_figures(out, res);
	for (size_t i = 0; i < res->ntables; i++)
		put_table(out, res->tables[i]);
	if (fflush(out) || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}
