/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Documents from text. Files come from anywhere: one becomes a document that renderers can trust (cells have their
 * columns' types, each row is as long as the heading), or a sentence that names the bad member. Unknown members, of
 * later versions, are skipped. jansson parses; it limits nesting and refuses NUL bytes in strings, duplicate keys,
 * numbers that do not fit, and what is not UTF-8.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/utf8.h"
#include "result/build.h"

struct reader {
	struct err *err;
	int r;           /* of the first that was refused: what comes behind it is passed over */
	char where[160]; /* the object being read: "head.host" */
	enum json_kind *kind;
};

__attribute__((format(printf, 2, 3))) static void refuse(struct reader *rd, const char *fmt, ...)
{
	char what[400];
	va_list ap;

	if (rd->r)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	utf8_tame(what, '?'); /* names and texts from a file may hold anything */
	rd->r = err_set(rd->err, -EINVAL,
	                "this is not a platter result that can be read: %s; give the file that --json wrote.", what);
}

static const char *const kind_names[] = {
	[JSON_OBJECT] = "an object",    [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
	[JSON_INTEGER] = "a number",    [JSON_REAL] = "a number",  [JSON_TRUE] = "a truth value",
	[JSON_FALSE] = "a truth value", [JSON_NULL] = "null",
};

static void refuse_kind(struct reader *rd, const char *name, const json_t *value, const char *expected)
{
	refuse(rd, "%s%s%s is %s where %s was expected", rd->where, *rd->where && *name ? "." : "", name,
	       kind_names[json_typeof(value)], expected);
}

__attribute__((format(printf, 2, 3))) static void enter(struct reader *rd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(rd->where, sizeof(rd->where), fmt, ap); /* cut: still says where it began */
	va_end(ap);
}

/* ---- members: absent and null are the same, and leave what they are read into as it is ---- */

static json_t *present(const json_t *obj, const char *name)
{
	json_t *value = json_object_get(obj, name);

	return json_is_null(value) ? NULL : value;
}

static json_t *member(struct reader *rd, const json_t *obj, const char *name, json_type type)
{
	json_t *value = present(obj, name);

	if (value && json_typeof(value) != type) {
		refuse_kind(rd, name, value, kind_names[type]);
		value = NULL;
	}
	return value;
}

/* Integers beyond int64 are strings of digits (json.c). */
static bool is_large_u64(const json_t *value, uint64_t *ret)
{
	return json_is_string(value) && units_parse_u64(json_string_value(value), ret, NULL) == 0 && *ret > INT64_MAX &&
	       json_string_value(value)[0] != '0';
}

static void read_u64(struct reader *rd, const json_t *obj, const char *name, uint64_t *ret)
{
	const json_t *value = present(obj, name);
	uint64_t large;

	if (!value)
		return;
	if (json_is_integer(value) && json_integer_value(value) >= 0)
		*ret = (uint64_t)json_integer_value(value);
	else if (is_large_u64(value, &large))
		*ret = large;
	else if (json_is_integer(value))
		refuse(rd, "%s.%s is negative", rd->where, name);
	else
		refuse_kind(rd, name, value, "a whole number");
}

static void read_number(struct reader *rd, const json_t *obj, const struct member *m, void *at)
{
	const json_t *value = present(obj, m->name);

	if (!value)
		return;
	if (m->type == MEMBER_F64 && json_is_number(value))
		*(double *)at = json_number_value(value);
	else if (m->type == MEMBER_I64 && json_is_integer(value))
		*(int64_t *)at = json_integer_value(value);
	else
		refuse_kind(rd, m->name, value, m->type == MEMBER_F64 ? "a number" : "a whole number");
}

static void read_text(struct reader *rd, const json_t *obj, const char *name, char **ret)
{
	const json_t *value = member(rd, obj, name, JSON_STRING);

	if (value)
		result_set(ret, json_string_value(value));
}

static void read_members(struct reader *rd, const json_t *obj, const struct member *m, void *object)
{
	for (; m->name; m++) {
		void *at = member_of(m, object);

		if (m->type == MEMBER_TEXT || m->type == MEMBER_TEXT_IF)
			read_text(rd, obj, m->name, at);
		else if (m->type == MEMBER_U64)
			read_u64(rd, obj, m->name, at);
		else
			read_number(rd, obj, m, at);
	}
}

/* The document's array or object of this name; NULL: none. */
static json_t *section(struct reader *rd, const json_t *root, const char *name, json_type type)
{
	enter(rd, "%s", "");
	return member(rd, root, name, type);
}

/* Is this element of a section, which is entered, an object, and nothing refused so far? */
static bool is_object(struct reader *rd, const json_t *value)
{
	if (!json_is_object(value))
		refuse_kind(rd, "", value, "an object");
	return rd->r == 0;
}

/* ---- cells ---- */

/* What the values of a column, or a single one, were seen to be. */
struct kinds {
	bool has_text, has_real, has_negative, has_large, has_other;
};

static void kinds_add(struct kinds *k, const json_t *value)
{
	uint64_t large;

	if (json_is_real(value))
		k->has_real = true;
	else if (json_is_integer(value))
		k->has_negative |= json_integer_value(value) < 0;
	else if (is_large_u64(value, &large))
		k->has_large = true;
	else if (json_is_string(value))
		k->has_text = true;
	else if (!json_is_null(value))
		k->has_other = true;
}

static enum field_type kinds_type(const struct kinds *k, enum unit unit)
{
	if (unit == UNIT_TEXT)
		return FIELD_TYPE_STR;
	return k->has_real || (k->has_large && k->has_negative) ? FIELD_TYPE_F64
	       : k->has_negative                                ? FIELD_TYPE_I64
	                                                        : FIELD_TYPE_U64;
}

static bool cell_fits(const json_t *value, enum field_type type)
{
	uint64_t large;

	if (json_is_null(value))
		return true;
	return type == FIELD_TYPE_STR ? json_is_string(value) : json_is_number(value) || is_large_u64(value, &large);
}

/* Only of a value that fits. */
static struct cell cell_from(const json_t *value, enum field_type type)
{
	uint64_t large = 0;

	if (json_is_null(value))
		return (struct cell){ .is_null = true };
	if (type == FIELD_TYPE_STR)
		return (struct cell){ .str = result_strdup(json_string_value(value)) };
	if (is_large_u64(value, &large))
		return type == FIELD_TYPE_U64 ? (struct cell){ .u64 = large } : (struct cell){ .f64 = (double)large };
	if (type == FIELD_TYPE_F64)
		return (struct cell){ .f64 = json_number_value(value) };
	return (struct cell){ .i64 = json_integer_value(value) }; /* the same bits as u64 when not negative */
}

/* ---- the parts of a document ---- */

static void load_head(struct reader *rd, const json_t *root, struct result *res)
{
	const json_t *head = section(rd, root, "head", JSON_OBJECT), *value;
	json_t *options, *list;
	const char *name;
	size_t i;

	if (!head)
		refuse(rd, "it has no head");
	enter(rd, "head");
	result_set(&res->head.program, NULL);
	res->head.elapsed_s = (double)NAN;
	read_members(rd, head, head_members, &res->head);
	list = member(rd, head, "argv", JSON_ARRAY);
	json_array_foreach(list, i, value)
	{
		const char *arg = json_string_value(value);

		if (arg)
			result_argv(res, &arg, 1);
		else
			refuse_kind(rd, "argv", value, "a string");
	}
	options = member(rd, head, "options", JSON_OBJECT);
	if (!res->head.measurement)
		refuse(rd, "head.measurement is missing");
	value = member(rd, head, "host", JSON_OBJECT);
	enter(rd, "head.host");
	read_members(rd, value, host_members, &res->head.host);
	enter(rd, "head.options");
	json_object_foreach(options, name, value)
	{
		if (!json_is_string(value) && !json_is_null(value))
			refuse_kind(rd, name, value, "a string");
		result_option(res, name, json_string_value(value));
	}
}

/* Labels are not in the file; the ending of the key gives the unit. Values that are not scalars belong to later
 * versions. */
static struct target_info target_from(json_t *obj)
{
	struct target_info t = { 0 };
	const char *name;
	json_t *value;

	json_object_foreach(obj, name, value)
	{
		struct kinds k = { 0 };
		struct column c = { .unit = json_is_string(value) ? UNIT_TEXT : unit_by_key(name) };

		kinds_add(&k, value);
		if (k.has_other)
			continue;
		c.type = kinds_type(&k, c.unit);
		c.key = result_strdup(name);
		c.label = result_strdup(name);
		t.columns = xmore(t.columns, t.n, sizeof(*t.columns));
		t.cells = xmore(t.cells, t.n, sizeof(*t.cells));
		t.columns[t.n] = c;
		t.cells[t.n++] = cell_from(value, c.type);
	}
	return t;
}

static void load_targets(struct reader *rd, const json_t *root, struct result *res)
{
	json_t *list = section(rd, root, "targets", JSON_ARRAY), *value;
	size_t i;

	json_array_foreach(list, i, value)
	{
		enter(rd, "targets");
		if (!is_object(rd, value))
			return;
		xappend(res->targets, res->ntargets, target_from(value));
	}
}

static void load_column(struct reader *rd, const json_t *obj, struct column *ret)
{
	cleanup_free char *type = NULL;

	if (!json_is_object(obj)) {
		refuse_kind(rd, "columns", obj, "an object");
		return;
	}
	read_text(rd, obj, "key", &ret->key);
	read_text(rd, obj, "label", &ret->label);
	read_text(rd, obj, "type", &type);
	ret->unit = unit_by_name(type);
	ret->detail = json_is_true(json_object_get(obj, "detail"));
	/* a type of a later version: text when it holds text (see below) */
	ret->type = type && strcmp(type, unit_name(ret->unit)) != 0 ? FIELD_TYPE_END : FIELD_TYPE_U64;
	if (!ret->key)
		refuse(rd, "%s has a column without a key", rd->where);
	else if (!ret->label)
		result_set(&ret->label, ret->key);
}

/* Settles the type of column i by what its rows hold, and checks them. */
static void settle_column(struct reader *rd, const json_t *rows, size_t i, struct column *c)
{
	struct kinds k = { 0 };
	json_t *row;
	size_t n;

	json_array_foreach(rows, n, row) kinds_add(&k, json_array_get(row, i));
	if (c->type == FIELD_TYPE_END && k.has_text)
		c->unit = UNIT_TEXT;
	c->type = kinds_type(&k, c->unit);
	if (!k.has_other && !(k.has_text && c->type != FIELD_TYPE_STR) && c->type != FIELD_TYPE_STR)
		return;
	json_array_foreach(rows, n, row)
	{
		const json_t *value = json_array_get(row, i);

		if (!cell_fits(value, c->type))
			refuse(rd, "%s.rows[%zu], column %s, is %s where %s was expected", rd->where, n, c->key,
			       kind_names[json_typeof(value)], c->type == FIELD_TYPE_STR ? "a string" : "a number");
	}
}

static void load_rows(struct reader *rd, const json_t *rows, struct table *t)
{
	json_t *row, *value;
	size_t n, i;

	json_array_foreach(rows, n, row) if (!json_is_array(row) || json_array_size(row) != t->ncolumns)
		refuse(rd, "%s.rows[%zu] is not an array of %zu values", rd->where, n, t->ncolumns);
	for (i = 0; rd->r == 0 && i < t->ncolumns; i++)
		settle_column(rd, rows, i, &t->columns[i]);
	if (rd->r)
		return;
	t->room = json_array_size(rows);
	/* cannot overflow: all these values are in memory already */
	t->cells = xmust(calloc(t->room * t->ncolumns + 1, sizeof(*t->cells)));
	json_array_foreach(rows, n, row) json_array_foreach(row, i, value) t->cells[n * t->ncolumns + i] =
		cell_from(value, t->columns[i].type);
	t->nrows = t->room;
}

static void load_tables(struct reader *rd, const json_t *root, struct result *res)
{
	json_t *list = section(rd, root, "tables", JSON_OBJECT), *obj, *columns, *value;
	const char *name;

	json_object_foreach(list, name, obj)
	{
		struct table *t;
		size_t i;

		enter(rd, "tables.%s", name);
		if (!is_object(rd, obj))
			return;
		t = result_table(res, name, NULL, NULL);
		read_text(rd, obj, "title", &t->title);
		columns = member(rd, obj, "columns", JSON_ARRAY);
		free(t->columns);
		t->columns = xmust(calloc(json_array_size(columns) + 1, sizeof(*t->columns)));
		t->ncolumns = json_array_size(columns);
		json_array_foreach(columns, i, value) load_column(rd, value, &t->columns[i]);
		load_rows(rd, member(rd, obj, "rows", JSON_ARRAY), t);
	}
}

static void load_interval(struct reader *rd, const char *name, const json_t *pair, struct interval *ret)
{
	const json_t *low = json_array_get(pair, 0), *high = json_array_get(pair, 1);

	if (!pair || json_is_null(pair))
		return;
	if (json_array_size(pair) != 2 || !cell_fits(low, FIELD_TYPE_F64) || !cell_fits(high, FIELD_TYPE_F64))
		refuse(rd, "intervals.%s is not a pair of numbers", name);
	else if (json_is_number(low) && json_is_number(high))
		*ret = (struct interval){ json_number_value(low), json_number_value(high) };
}

static void load_figure(struct reader *rd, const char *name, const json_t *value, const json_t *info,
                        const json_t *interval, struct result *res)
{
	struct figure f = { .ci = { (double)NAN, (double)NAN } };
	cleanup_free char *label = NULL, *type = NULL;
	struct kinds k = { 0 };

	kinds_add(&k, value);
	enter(rd, "figures");
	if (k.has_other)
		refuse_kind(rd, name, value, "a number, a string or null");
	enter(rd, "figure_info.%s", name);
	if (info && !is_object(rd, info))
		return;
	read_text(rd, info, "label", &label);
	read_text(rd, info, "type", &type);
	read_u64(rd, info, "samples", &f.samples);
	load_interval(rd, name, interval, &f.ci);
	if (rd->r)
		return;
	f.unit = type ? unit_by_name(type) : unit_by_key(name);
	if (k.has_text)
		f.unit = UNIT_TEXT;
	else if (f.unit == UNIT_TEXT && !json_is_null(value) && !json_is_string(value))
		f.unit = UNIT_NONE;
	f.type = kinds_type(&k, f.unit);
	f.value = cell_from(value, f.type);
	build_figure(res, name, label, f);
}

static void load_figures(struct reader *rd, const json_t *root, struct result *res)
{
	json_t *figures = section(rd, root, "figures", JSON_OBJECT), *value;
	const json_t *infos = section(rd, root, "figure_info", JSON_OBJECT);
	const json_t *intervals = section(rd, root, "intervals", JSON_OBJECT);
	const char *name;

	json_object_foreach(figures, name, value)
		load_figure(rd, name, value, json_object_get(infos, name), json_object_get(intervals, name), res);
}

static void load_faults(struct reader *rd, const json_t *root, struct result *res)
{
	json_t *list = section(rd, root, "faults", JSON_ARRAY), *value, *totals;
	const char *name;
	size_t i;

	json_array_foreach(list, i, value)
	{
		enter(rd, "faults[%zu]", i);
		if (!is_object(rd, value))
			return;
		res->faults = xmore(res->faults, res->nfaults, sizeof(*res->faults));
		res->faults[res->nfaults] = (struct result_fault){ .time_s = (double)NAN };
		read_members(rd, value, fault_members, &res->faults[res->nfaults++]);
	}
	totals = section(rd, root, "fault_totals", JSON_OBJECT);
	enter(rd, "fault_totals");
	json_object_foreach(totals, name, value)
	{
		struct fault_total total = { .name = result_strdup(name) };

		read_u64(rd, totals, name, &total.n);
		xappend(res->fault_totals, res->nfault_totals, total);
	}
}

static void load_notices(struct reader *rd, const json_t *root, struct result *res)
{
	json_t *list = section(rd, root, "notices", JSON_ARRAY), *value;
	size_t i;

	json_array_foreach(list, i, value)
	{
		struct notice n = { 0 };

		enter(rd, "notices[%zu]", i);
		if (!is_object(rd, value))
			return;
		read_members(rd, value, notice_members, &n);
		if (n.code && n.text)
			result_notice(res, n.code, "%s", n.text);
		else
			refuse(rd, "%s has no code or no text", rd->where);
		members_done(notice_members, &n);
	}
}

/* Frees what the plot holds, and reports that it is left out. */
static void drop_plot(struct result *res, struct plot *plot)
{
	result_notice(res, "plot", "The picture %.80s needs table %.80s with columns %.80s and %.80s: it is not shown.",
	              plot->name ?: plot->title ?: "", plot->table ?: "?", plot->x ?: "?", plot->y ?: "?");
	members_done(plot_members, plot);
}

/* From here on each plot has its table and columns. A plot that lacks one is dropped and reported; the figures stay. */
static void load_plots(struct reader *rd, const json_t *root, struct result *res)
{
	json_t *list = section(rd, root, "plots", JSON_ARRAY), *obj;
	size_t i;

	json_array_foreach(list, i, obj)
	{
		struct plot *p;

		enter(rd, "plots[%zu]", i);
		if (!is_object(rd, obj))
			return;
		result_plot(res, &(struct plot){ 0 });
		p = &res->plots[res->nplots - 1];
		read_members(rd, obj, plot_members, p);
		if (rd->r == 0 && !result_plot_is_whole(res, p)) {
			drop_plot(res, p);
			res->nplots--;
		}
	}
}

/* Is it ours, and of a version that we know? */
static void check_schema(struct reader *rd, const json_t *root)
{
	const char *schema = json_string_value(json_object_get(root, "schema"));
	const json_t *version = json_object_get(root, "version");

	if (!schema || strcmp(schema, RESULT_SCHEMA) != 0)
		*rd->kind = schema && !strcmp(schema, "platter-progress") ? JSON_RECORD : JSON_FOREIGN;
	if (!json_is_object(root))
		refuse(rd, "it is %s, not an object", kind_names[json_typeof(root)]);
	else if (!schema || strcmp(schema, RESULT_SCHEMA) != 0)
		refuse(rd, "its schema is '%.60s', not '" RESULT_SCHEMA "'", schema ? schema : "none");
	else if (!json_is_integer(version) || json_integer_value(version) < 1)
		refuse(rd, "it has no version");
	else if (json_integer_value(version) > RESULT_VERSION)
		rd->r = err_set(rd->err, -EINVAL,
		                "this result was written by a newer platter (document version %" JSON_INTEGER_FORMAT
		                "; this one reads up to %d); use that one.",
		                json_integer_value(version), RESULT_VERSION);
}

static void load_status(struct reader *rd, const json_t *root, struct result *res)
{
	const char *status = json_string_value(json_object_get(root, "status"));

	enter(rd, "%s", "");
	read_members(rd, root, screen_members, res);
	for (int s = STATUS_COMPLETE; s < STATUS_N && status; s++) {
		if (!strcmp(status, status_name((enum result_status)s))) {
			res->status = (enum result_status)s;
			return;
		}
	}
	if (status)
		refuse(rd, "its status is '%.60s', which is not known", status);
	else
		refuse(rd, "it has no status");
}

static void load_root(struct reader *rd, const json_t *root, struct result *res)
{
	static void (*const parts[])(struct reader *, const json_t *, struct result *) = {
		load_status, load_head, load_targets, load_tables, load_figures, load_faults, load_notices, load_plots,
	};

	check_schema(rd, root);
	for (size_t i = 0; i < ARRAY_LEN(parts) && rd->r == 0; i++)
		parts[i](rd, root, res);
}

int result_read(struct result **ret, const char *text, size_t len, enum json_kind *ret_kind, struct err *err)
{
	struct reader rd = { .err = err, .kind = ret_kind };
	json_error_t error;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	struct result *res;

	*ret_kind = JSON_DAMAGED;
	if (!root && json_error_code(&error) == json_error_out_of_memory)
		return err_set(err, -ENOMEM, "there is not enough memory to read this result.");
	res = result_new(NULL);
	if (root)
		load_root(&rd, root, res);
	else
		refuse(&rd, "line %d, column %d: %s", error.line, error.column, error.text);
	json_decref(root);
	if (rd.r == 0)
		*ret = res;
	else
		result_free(res);
	return rd.r;
}
