/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The document as text: platter-json(5). Written by hand, not through a tree of JSON values: a table's row belongs on
 * one line, as people read and diff these files. Nor must the text depend on the reader's library: what was loaded
 * saves as the same bytes. load.c is the other way.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "result/build.h"

struct out {
	FILE *to; /* memory */
	unsigned depth;
	unsigned lines; /* > 0: everything on one line */
	bool is_first;  /* nothing yet in the innermost object or array */
	bool has_key;   /* the next value belongs to the key just written */
};

/* What a stream in memory lacks is seen when it is closed. */
static void put(struct out *o, const char *text, size_t n)
{
	(void)fwrite(text, 1, n, o->to);
}

static void puts_(struct out *o, const char *text)
{
	put(o, text, strlen(text));
}

static void new_line(struct out *o)
{
	put(o, "\n", 1);
	for (unsigned i = 0; i < o->depth; i++)
		put(o, "  ", 2);
}

/* Before each element: the comma, and the place it goes to. */
static void element(struct out *o)
{
	if (o->has_key) {
		o->has_key = false;
		return;
	}
	if (!o->is_first)
		put(o, ",", 1);
	if (o->lines == 0 && o->depth > 0)
		new_line(o);
	else if (!o->is_first)
		put(o, " ", 1);
	o->is_first = false;
}

static void begin(struct out *o, const char *bracket)
{
	element(o);
	puts_(o, bracket);
	o->depth++;
	o->is_first = true;
}

static void end(struct out *o, const char *bracket)
{
	o->depth--;
	if (!o->is_first && o->lines == 0)
		new_line(o);
	puts_(o, bracket);
	o->is_first = false;
}

/* The same, on one line. */
static void begin_line(struct out *o, const char *bracket)
{
	begin(o, bracket);
	o->lines++;
}

static void end_line(struct out *o, const char *bracket)
{
	end(o, bracket);
	o->lines--;
}

/* All texts of a document are UTF-8, as result_strdup() makes them. */
static void escaped(struct out *o, const char *text)
{
	put(o, "\"", 1);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			put(o, "\\", 1);
		if (c >= ' ' && c != 0x7f)
			put(o, text, 1);
		else
			(void)fprintf(o->to, "\\u%04x", (unsigned)c);
	}
	put(o, "\"", 1);
}

static void key(struct out *o, const char *name)
{
	element(o);
	escaped(o, name);
	put(o, ": ", 2);
	o->has_key = true;
}

static void value_text(struct out *o, const char *text)
{
	element(o);
	if (text)
		escaped(o, text);
	else
		puts_(o, "null");
}

static void value_cell(struct out *o, enum field_type type, const struct cell *cell)
{
	char buf[CELL_TEXT];

	/* larger than readers' integers (jansson, Java, Go: int64): a string of digits, which loses nothing */
	if (cell->is_null || type == FIELD_TYPE_END || type == FIELD_TYPE_STR ||
	    (type == FIELD_TYPE_U64 && cell->u64 > INT64_MAX)) {
		value_text(o, cell->is_null || type == FIELD_TYPE_END ? NULL
		                                                      : result_cell_text(buf, sizeof(buf), type, cell));
		return;
	}
	element(o);
	puts_(o, result_cell_text(buf, sizeof(buf), type, cell));
}

static void value_f64(struct out *o, double value)
{
	value_cell(o, FIELD_TYPE_F64, &(struct cell){ .is_null = !isfinite(value), .f64 = value });
}

static void member_text(struct out *o, const char *name, const char *text)
{
	key(o, name);
	value_text(o, text);
}

static void member_u64(struct out *o, const char *name, uint64_t value)
{
	key(o, name);
	value_cell(o, FIELD_TYPE_U64, &(struct cell){ .u64 = value });
}

static void members(struct out *o, const struct member *m, const void *object)
{
	for (; m->name; m++) {
		const void *at = member_of(m, object);

		if (m->type == MEMBER_TEXT || (m->type == MEMBER_TEXT_IF && *(char *const *)at))
			member_text(o, m->name, *(char *const *)at);
		else if (m->type == MEMBER_U64)
			member_u64(o, m->name, *(const uint64_t *)at);
		else if (m->type != MEMBER_TEXT_IF) {
			key(o, m->name);
			if (m->type == MEMBER_F64)
				value_f64(o, *(const double *)at);
			else
				value_cell(o, FIELD_TYPE_I64, &(struct cell){ .i64 = *(const int64_t *)at });
		}
	}
}

/* ---- the parts of a document ---- */

static void write_head(struct out *o, const struct result_head *head)
{
	key(o, "head");
	begin(o, "{");
	members(o, head_members, head);
	key(o, "argv");
	begin_line(o, "[");
	for (size_t i = 0; i < head->argc; i++)
		value_text(o, head->argv[i]);
	end_line(o, "]");
	key(o, "host");
	begin(o, "{");
	members(o, host_members, &head->host);
	end(o, "}");
	key(o, "options");
	begin(o, "{");
	for (size_t i = 0; i < head->noptions; i++)
		member_text(o, head->options[i].name, head->options[i].text);
	end(o, "}");
	end(o, "}");
}

static void write_targets(struct out *o, const struct result *res)
{
	key(o, "targets");
	begin(o, "[");
	for (size_t i = 0; i < res->ntargets; i++) {
		const struct target_info *t = &res->targets[i];

		begin(o, "{");
		for (size_t k = 0; k < t->n; k++) {
			key(o, t->columns[k].key);
			value_cell(o, t->columns[k].type, &t->cells[k]);
		}
		end(o, "}");
	}
	end(o, "]");
}

static void write_table(struct out *o, const struct table *t)
{
	key(o, t->name);
	begin(o, "{");
	member_text(o, "title", t->title);
	key(o, "columns");
	begin(o, "[");
	for (size_t i = 0; i < t->ncolumns; i++) {
		begin_line(o, "{");
		member_text(o, "key", t->columns[i].key);
		member_text(o, "label", t->columns[i].label);
		member_text(o, "type", unit_name(t->columns[i].unit));
		if (t->columns[i].detail) {
			key(o, "detail");
			element(o);
			puts_(o, "true");
		}
		end_line(o, "}");
	}
	end(o, "]");
	key(o, "rows");
	begin(o, "[");
	for (size_t row = 0; row < t->nrows; row++) {
		begin_line(o, "[");
		for (size_t i = 0; i < t->ncolumns; i++)
			value_cell(o, t->columns[i].type, &t->cells[row * t->ncolumns + i]);
		end_line(o, "]");
	}
	end(o, "]");
	end(o, "}");
}

static void write_figures(struct out *o, const struct result *res)
{
	key(o, "figures");
	begin(o, "{");
	for (size_t i = 0; i < res->nfigures; i++) {
		key(o, res->figures[i].name);
		value_cell(o, res->figures[i].type, &res->figures[i].value);
	}
	end(o, "}");
	key(o, "figure_info");
	begin(o, "{");
	for (size_t i = 0; i < res->nfigures; i++) {
		key(o, res->figures[i].name);
		begin_line(o, "{");
		if (res->figures[i].label)
			member_text(o, "label", res->figures[i].label);
		member_text(o, "type", unit_name(res->figures[i].unit));
		if (res->figures[i].samples)
			member_u64(o, "samples", res->figures[i].samples);
		end_line(o, "}");
	}
	end(o, "}");
	key(o, "intervals");
	begin(o, "{");
	for (size_t i = 0; i < res->nfigures; i++) {
		if (!isfinite(res->figures[i].ci.low) || !isfinite(res->figures[i].ci.high))
			continue;
		key(o, res->figures[i].name);
		begin_line(o, "[");
		value_f64(o, res->figures[i].ci.low);
		value_f64(o, res->figures[i].ci.high);
		end_line(o, "]");
	}
	end(o, "}");
}

/* Objects one a line. */
static void element_line(struct out *o, const struct member *m, const void *object)
{
	begin_line(o, "{");
	members(o, m, object);
	end_line(o, "}");
}

static void write_lists(struct out *o, const struct result *res)
{
	key(o, "faults");
	begin(o, "[");
	for (size_t i = 0; i < res->nfaults; i++)
		element_line(o, fault_members, &res->faults[i]);
	end(o, "]");
	key(o, "fault_totals");
	begin(o, "{");
	for (size_t i = 0; i < res->nfault_totals; i++)
		member_u64(o, res->fault_totals[i].name, res->fault_totals[i].n);
	end(o, "}");
	key(o, "notices");
	begin(o, "[");
	for (size_t i = 0; i < res->nnotices; i++)
		element_line(o, notice_members, &res->notices[i]);
	end(o, "]");
	key(o, "plots");
	begin(o, "[");
	for (size_t i = 0; i < res->nplots; i++)
		if (result_plot_is_whole(res, &res->plots[i])) /* an interrupted run has not made its table */
			element_line(o, plot_members, &res->plots[i]);
	end(o, "]");
}

static char *document(const struct result *res, unsigned lines)
{
	char *text = NULL;
	size_t len;
	struct out o = { .to = xmust(open_memstream(&text, &len)), .lines = lines, .is_first = true };
	bool is_whole;

	begin(&o, "{");
	member_text(&o, "schema", RESULT_SCHEMA);
	member_u64(&o, "version", RESULT_VERSION);
	member_text(&o, "status", status_name(res->status));
	write_head(&o, &res->head);
	members(&o, screen_members, res);
	write_targets(&o, res);
	key(&o, "tables");
	begin(&o, "{");
	for (size_t i = 0; i < res->ntables; i++)
		write_table(&o, res->tables[i]);
	end(&o, "}");
	write_figures(&o, res);
	write_lists(&o, res);
	end(&o, "}");
	put(&o, "\n", 1);
	is_whole = !ferror(o.to);
	is_whole = fclose(o.to) == 0 && is_whole;
	return xmust(is_whole ? text : NULL);
}

char *result_to_json(const struct result *res)
{
	return document(res, 0);
}

char *result_to_line(const struct result *res)
{
	return document(res, 1);
}
