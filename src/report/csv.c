/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One CSV with everything that is a number: the figures, then each table, each under a line "# table NAME". Quoting as
 * in RFC 4180, lines end in LF as Unix tools want them; base units, the key (with its unit) is the heading. Text that a
 * spreadsheet would take for a formula gets an apostrophe in front: model names come from strangers' disks.
 */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/printer.h"

/* Lines and tabs stay: programs read them back. */
static const char *in_quotes(char c)
{
	return c == '"' ? "\"\"" : c == '\n' ? "\n" : c == '\t' ? "\t" : NULL;
}

void report_csv_text(FILE *out, const char *text)
{
	/* what spreadsheets begin to calculate with; '#' would read as a heading of ours */
	bool is_formula = *text && strchr("=+-@\t\r", *text) && text[1];
	bool is_quoted = is_formula || *text == '#' || strpbrk(text, ",\"\r\n;'") || *text == ' ' ||
	                 (*text && text[strlen(text) - 1] == ' ');

	(void)fputs(is_formula ? "\"'" : is_quoted ? "\"" : "", out);
	report_put(out, text, in_quotes);
	(void)fputs(is_quoted ? "\"" : "", out);
}

static void put_cell(FILE *out, enum field_type type, const struct cell *cell)
{
	char buf[CELL_TEXT];

	if (type == FIELD_TYPE_STR && !cell->is_null)
		report_csv_text(out, cell->str);
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
	report_put(out, name, NULL); /* one line, whatever it holds */
	(void)fputc('\n', out);
}

/* Of several documents: whose each row is. */
static const char *const whose_keys[] = { "measurement", "disk", "serial", "host", "started" };

static void put_whose_keys(FILE *out, bool is_one)
{
	for (size_t i = 0; !is_one && i < ARRAY_LEN(whose_keys); i++)
		(void)fprintf(out, "%s,", whose_keys[i]);
}

static void put_whose(FILE *out, const struct result *res, bool is_one)
{
	const struct target_info *t = res->ntargets == 1 ? res->targets : NULL; /* of several, their tables say which */
	const char *const whose[ARRAY_LEN(whose_keys)] = { res->head.measurement, target_text(t, "path"),
		                                           target_text(t, "serial"), res->head.host.name,
		                                           res->head.started };

	for (size_t i = 0; !is_one && i < ARRAY_LEN(whose); i++) {
		report_csv_text(out, whose[i] ? whose[i] : "");
		(void)fputc(',', out);
	}
}

static void put_figures(FILE *out, const struct result *res, bool is_one)
{
	put_table_line(out, "figures");
	put_whose_keys(out, is_one);
	(void)fputs("name,value,low,high,samples\n", out);
	for (size_t i = 0; i < res->nfigures; i++) {
		const struct figure *f = &res->figures[i];

		put_whose(out, res, is_one);
		report_csv_text(out, f->name);
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

static void put_table(FILE *out, const struct result *res, const struct table *t, bool is_one)
{
	put_table_line(out, t->name);
	put_whose_keys(out, is_one);
	for (size_t i = 0; i < t->ncolumns; i++) {
		report_csv_text(out, t->columns[i].key);
		(void)fputc(i + 1 < t->ncolumns ? ',' : '\n', out);
	}
	for (size_t row = 0; row < t->nrows; row++) {
		put_whose(out, res, is_one);
		for (size_t i = 0; i < t->ncolumns; i++) {
			put_cell(out, t->columns[i].type, &t->cells[row * t->ncolumns + i]);
			(void)fputc(i + 1 < t->ncolumns ? ',' : '\n', out);
		}
	}
}

int report_csv(FILE *out, const struct result *const *res, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		put_figures(out, res[i], n == 1);
		for (size_t k = 0; k < res[i]->ntables; k++)
			put_table(out, res[i], res[i]->tables[k], n == 1);
	}
	return report_end(out);
}
