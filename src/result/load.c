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
	char where[160]; /* the object being read: "head.host" */
};

static int refuse(const struct reader *rd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int refuse(const struct reader *rd, const char *fmt, ...)
{
	char what[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	utf8_tame(what, '?'); /* names and texts from a file may hold anything */
	return err_set(rd->err, -EINVAL,
	               "this is not a platter result that can be read: %s; give the file that --json wrote.", what);
}

static const char *kind_of(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a truth value";
	case JSON_NULL:
		break;
	}
	return "null";
}

static int refuse_kind(const struct reader *rd, const char *name, const json_t *value, const char *expected)
{
	return refuse(rd, "%s%s%s is %s where %s was expected", rd->where, *rd->where ? "." : "", name, kind_of(value),
	              expected);
}

static void enter(struct reader *rd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void enter(struct reader *rd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(rd->where, sizeof(rd->where), fmt, ap); /* cut: still says where it began */
	va_end(ap);
}

/* ---- members: absent and null are the same, and leave *ret as it is ---- */

static int member(const struct reader *rd, const json_t *obj, const char *name, json_type type, const char *expected,
                  json_t **ret)
{
	json_t *value = json_object_get(obj, name);

	if (!value || json_is_null(value))
		return 0;
	if (json_typeof(value) != type)
		return refuse_kind(rd, name, value, expected);
	*ret = value;
	return 0;
}

static int read_text(const struct reader *rd, const json_t *obj, const char *name, char **ret)
{
	json_t *value = NULL;
	int r = member(rd, obj, name, JSON_STRING, "a string", &value);

	if (value)
		result_set(ret, json_string_value(value));
	return r;
}

static int read_f64(const struct reader *rd, const json_t *obj, const char *name, double *ret)
{
	const json_t *value = json_object_get(obj, name);

	if (!value || json_is_null(value))
		return 0;
	if (!json_is_number(value))
		return refuse_kind(rd, name, value, "a number");
	*ret = json_number_value(value);
	return 0;
}

/* Integers beyond int64 are strings of digits (json.c). */
static bool is_large_u64(const json_t *value, uint64_t *ret)
{
	return json_is_string(value) && units_parse_u64(json_string_value(value), ret, NULL) == 0 && *ret > INT64_MAX &&
	       json_string_value(value)[0] != '0';
}

static int read_u64(const struct reader *rd, const json_t *obj, const char *name, uint64_t *ret)
{
	const json_t *value = json_object_get(obj, name);
	uint64_t large;

	if (!value || json_is_null(value))
		return 0;
	if (json_is_integer(value) && json_integer_value(value) >= 0)
		*ret = (uint64_t)json_integer_value(value);
	else if (is_large_u64(value, &large))
		*ret = large;
	else if (json_is_integer(value))
		return refuse(rd, "%s.%s is negative", rd->where, name);
	else
		return refuse_kind(rd, name, value, "a whole number");
	return 0;
}

/* The document's array or object of this name; *ret stays NULL without one. */
static int section(struct reader *rd, const json_t *root, const char *name, json_type type, json_t **ret)
{
	enter(rd, "%s", "");
	return member(rd, root, name, type, type == JSON_ARRAY ? "an array" : "an object", ret);
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

static int load_options(struct reader *rd, const json_t *head, struct result *res)
{
	json_t *options = NULL, *value;
	const char *name;
	int r = member(rd, head, "options", JSON_OBJECT, "an object", &options);

	enter(rd, "head.options");
	json_object_foreach(options, name, value)
	{
		if (!json_is_string(value) && !json_is_null(value))
			return refuse_kind(rd, name, value, "a string");
		result_option(res, name, json_string_value(value));
	}
	return r;
}

static int load_argv(struct reader *rd, const json_t *head, struct result *res)
{
	json_t *argv = NULL, *value;
	size_t i;
	int r = member(rd, head, "argv", JSON_ARRAY, "an array", &argv);

	json_array_foreach(argv, i, value)
	{
		const char *arg = json_string_value(value);

		if (!arg)
			return refuse_kind(rd, "argv", value, "a string");
		result_argv(res, &arg, 1);
	}
	return r;
}

static int load_head(struct reader *rd, const json_t *root, struct result *res)
{
	json_t *head = NULL, *host = NULL;
	int r = section(rd, root, "head", JSON_OBJECT, &head);

	if (r || !head)
		return r ? r : refuse(rd, "it has no head");
	enter(rd, "head");
	result_set(&res->head.program, NULL);
	res->head.elapsed_s = (double)NAN;
	(void)((r = read_text(rd, head, "measurement", &res->head.measurement)) ||
	       (r = read_text(rd, head, "program", &res->head.program)) || (r = load_argv(rd, head, res)) ||
	       (r = read_text(rd, head, "started", &res->head.started)) ||
	       (r = read_f64(rd, head, "elapsed_s", &res->head.elapsed_s)) ||
	       (r = read_text(rd, head, "clock", &res->head.clock)) ||
	       (r = read_text(rd, head, "engine", &res->head.engine)) ||
	       (r = read_u64(rd, head, "seed", &res->head.seed)) ||
	       (r = member(rd, head, "host", JSON_OBJECT, "an object", &host)) || (r = load_options(rd, head, res)));
	if (r == 0 && !res->head.measurement)
		return refuse(rd, "head.measurement is missing");
	enter(rd, "head.host");
	if (r == 0)
		(void)((r = read_text(rd, host, "name", &res->head.host.name)) ||
		       (r = read_text(rd, host, "machine_id", &res->head.host.machine_id)) ||
		       (r = read_text(rd, host, "kernel", &res->head.host.kernel)) ||
		       (r = read_text(rd, host, "machine", &res->head.host.machine)) ||
		       (r = read_text(rd, host, "cpu", &res->head.host.cpu)) ||
		       (r = read_u64(rd, host, "cpus", &res->head.host.cpus)) ||
		       (r = read_u64(rd, host, "memory_bytes", &res->head.host.memory_bytes)));
	return r;
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
		t.columns = build_grow(t.columns, t.n, sizeof(*t.columns));
		t.cells = build_grow(t.cells, t.n, sizeof(*t.cells));
		t.columns[t.n] = c;
		t.cells[t.n++] = cell_from(value, c.type);
	}
	return t;
}

static int load_targets(struct reader *rd, const json_t *root, struct result *res)
{
	json_t *targets = NULL, *value;
	size_t i;
	int r = section(rd, root, "targets", JSON_ARRAY, &targets);

	json_array_foreach(targets, i, value)
	{
		if (!json_is_object(value))
			return refuse_kind(rd, "targets", value, "an object");
		res->targets = build_grow(res->targets, res->ntargets, sizeof(*res->targets));
		res->targets[res->ntargets++] = target_from(value);
	}
	return r;
}

static int load_column(const struct reader *rd, const json_t *obj, struct column *ret)
{
	char *type = NULL;
	int r;

	if (!json_is_object(obj))
		return refuse_kind(rd, "columns", obj, "an object");
	(void)((r = read_text(rd, obj, "key", &ret->key)) || (r = read_text(rd, obj, "label", &ret->label)) ||
	       (r = read_text(rd, obj, "type", &type)));
	ret->unit = unit_by_name(type);
	ret->detail = json_is_true(json_object_get(obj, "detail"));
	/* a type of a later version: text when it holds text (see below) */
	ret->type = type && strcmp(type, unit_name(ret->unit)) != 0 ? FIELD_TYPE_END : FIELD_TYPE_U64;
	free(type);
	if (r == 0 && !ret->key)
		return refuse(rd, "%s has a column without a key", rd->where);
	if (r == 0 && !ret->label)
		result_set(&ret->label, ret->key);
	return r;
}

/* Settles the type of column i by what its rows hold, and checks them. */
static int settle_column(const struct reader *rd, const json_t *rows, size_t i, struct column *c)
{
	struct kinds k = { 0 };
	json_t *row;
	size_t n;

	json_array_foreach(rows, n, row) kinds_add(&k, json_array_get(row, i));
	if (c->type == FIELD_TYPE_END && k.has_text)
		c->unit = UNIT_TEXT;
	c->type = kinds_type(&k, c->unit);
	if (!k.has_other && !(k.has_text && c->type != FIELD_TYPE_STR) && c->type != FIELD_TYPE_STR)
		return 0;
	json_array_foreach(rows, n, row)
	{
		const json_t *value = json_array_get(row, i);

		if (!cell_fits(value, c->type))
			return refuse(rd, "%s.rows[%zu], column %s, is %s where %s was expected", rd->where, n, c->key,
			              kind_of(value), c->type == FIELD_TYPE_STR ? "a string" : "a number");
	}
	return 0;
}

static int load_rows(const struct reader *rd, const json_t *rows, struct table *t)
{
	json_t *row, *value;
	size_t n, i;

	json_array_foreach(rows, n, row) if (!json_is_array(row) || json_array_size(row) != t->ncolumns) return refuse(
		rd, "%s.rows[%zu] is not an array of %zu values", rd->where, n, t->ncolumns);
	for (i = 0; i < t->ncolumns; i++) {
		int r = settle_column(rd, rows, i, &t->columns[i]);

		if (r)
			return r;
	}
	t->room = json_array_size(rows);
	/* cannot overflow: all these values are in memory already */
	t->cells = xmust(calloc(t->room * t->ncolumns + 1, sizeof(*t->cells)));
	json_array_foreach(rows, n, row) json_array_foreach(row, i, value) t->cells[n * t->ncolumns + i] =
		cell_from(value, t->columns[i].type);
	t->nrows = t->room;
	return 0;
}

static int load_table(struct reader *rd, const char *name, const json_t *obj, struct result *res)
{
	json_t *columns = NULL, *rows = NULL, *value;
	struct table *t = result_table(res, name, NULL, NULL);
	size_t i;
	int r;

	enter(rd, "tables.%s", name);
	if (!json_is_object(obj))
		return refuse(rd, "%s is %s where an object was expected", rd->where, kind_of(obj));
	(void)((r = read_text(rd, obj, "title", &t->title)) ||
	       (r = member(rd, obj, "columns", JSON_ARRAY, "an array", &columns)) ||
	       (r = member(rd, obj, "rows", JSON_ARRAY, "an array", &rows)));
	if (r)
		return r;
	free(t->columns);
	t->columns = xmust(calloc(json_array_size(columns) + 1, sizeof(*t->columns)));
	t->ncolumns = json_array_size(columns);
	json_array_foreach(columns, i, value)
	{
		r = load_column(rd, value, &t->columns[i]);
		if (r)
			return r;
	}
	return load_rows(rd, rows, t);
}

static int load_tables(struct reader *rd, const json_t *root, struct result *res)
{
	json_t *tables = NULL, *value;
	const char *name;
	int r = section(rd, root, "tables", JSON_OBJECT, &tables);

	json_object_foreach(tables, name, value)
	{
		r = load_table(rd, name, value, res);
		if (r)
			break;
	}
	return r;
}

static int load_interval(struct reader *rd, const char *name, const json_t *pair, struct interval *ret)
{
	const json_t *low = json_array_get(pair, 0), *high = json_array_get(pair, 1);

	if (!pair || json_is_null(pair))
		return 0;
	enter(rd, "intervals");
	if (json_array_size(pair) != 2 || !cell_fits(low, FIELD_TYPE_F64) || !cell_fits(high, FIELD_TYPE_F64))
		return refuse(rd, "intervals.%s is not a pair of numbers", name);
	if (json_is_number(low) && json_is_number(high))
		*ret = (struct interval){ json_number_value(low), json_number_value(high) };
	return 0;
}

static int load_figure(struct reader *rd, const char *name, const json_t *value, const json_t *info,
                       const json_t *interval, struct result *res)
{
	struct figure f = { .ci = { (double)NAN, (double)NAN } };
	cleanup_free char *label = NULL;
	cleanup_free char *type = NULL;
	struct kinds k = { 0 };
	int r;

	kinds_add(&k, value);
	if (k.has_other)
		return refuse_kind(rd, name, value, "a number, a string or null");
	enter(rd, "figure_info.%s", name);
	if (info && !json_is_object(info))
		return refuse(rd, "%s is %s where an object was expected", rd->where, kind_of(info));
	(void)((r = read_text(rd, info, "label", &label)) || (r = read_text(rd, info, "type", &type)) ||
	       (r = read_u64(rd, info, "samples", &f.samples)) || (r = load_interval(rd, name, interval, &f.ci)));
	if (r)
		return r;
	f.unit = type ? unit_by_name(type) : unit_by_key(name);
	if (k.has_text)
		f.unit = UNIT_TEXT;
	else if (f.unit == UNIT_TEXT && !json_is_null(value) && !json_is_string(value))
		f.unit = UNIT_NONE;
	f.type = kinds_type(&k, f.unit);
	f.value = cell_from(value, f.type);
	build_figure(res, name, label, f);
	return 0;
}

static int load_figures(struct reader *rd, const json_t *root, struct result *res)
{
	json_t *figures = NULL, *infos = NULL, *intervals = NULL, *value;
	const char *name;
	int r;

	(void)((r = section(rd, root, "figures", JSON_OBJECT, &figures)) ||
	       (r = section(rd, root, "figure_info", JSON_OBJECT, &infos)) ||
	       (r = section(rd, root, "intervals", JSON_OBJECT, &intervals)));
	if (r)
		return r;
	json_object_foreach(figures, name, value)
	{
		enter(rd, "figures");
		r = load_figure(rd, name, value, json_object_get(infos, name), json_object_get(intervals, name), res);
		if (r)
			break;
	}
	return r;
}

static int load_fault(const struct reader *rd, const json_t *obj, struct result_fault *f)
{
	const json_t *result = json_object_get(obj, "result");
	int r;

	f->time_s = (double)NAN;
	if (json_is_integer(result))
		f->result = json_integer_value(result);
	else if (result && !json_is_null(result))
		return refuse_kind(rd, "result", result, "a whole number");
	(void)((r = read_text(rd, obj, "target", &f->target)) || (r = read_text(rd, obj, "op", &f->op)) ||
	       (r = read_u64(rd, obj, "offset_bytes", &f->offset_bytes)) ||
	       (r = read_u64(rd, obj, "length_bytes", &f->length_bytes)) ||
	       (r = read_text(rd, obj, "errno", &f->errno_name)) || (r = read_f64(rd, obj, "time_s", &f->time_s)));
	return r;
}

static int load_faults(struct reader *rd, const json_t *root, struct result *res)
{
	json_t *faults = NULL, *totals = NULL, *value;
	const char *name;
	size_t i;
	int r;

	(void)((r = section(rd, root, "faults", JSON_ARRAY, &faults)) ||
	       (r = section(rd, root, "fault_totals", JSON_OBJECT, &totals)));
	json_array_foreach(faults, i, value)
	{
		enter(rd, "faults[%zu]", i);
		if (!json_is_object(value))
			return refuse(rd, "%s is %s where an object was expected", rd->where, kind_of(value));
		res->faults = build_grow(res->faults, res->nfaults, sizeof(*res->faults));
		res->faults[res->nfaults] = (struct result_fault){ 0 };
		r = load_fault(rd, value, &res->faults[res->nfaults++]);
		if (r)
			return r;
	}
	enter(rd, "fault_totals");
	json_object_foreach(totals, name, value)
	{
		struct fault_total total = { 0 };

		r = read_u64(rd, totals, name, &total.n);
		if (r)
			return r;
		total.name = result_strdup(name);
		res->fault_totals = build_grow(res->fault_totals, res->nfault_totals, sizeof(*res->fault_totals));
		res->fault_totals[res->nfault_totals++] = total;
	}
	return r;
}

static int load_notices(struct reader *rd, const json_t *root, struct result *res)
{
	json_t *notices = NULL, *value;
	size_t i;
	int r = section(rd, root, "notices", JSON_ARRAY, &notices);

	json_array_foreach(notices, i, value)
	{
		cleanup_free char *code = NULL;
		cleanup_free char *text = NULL;

		enter(rd, "notices[%zu]", i);
		if (!json_is_object(value))
			return refuse(rd, "%s is %s where an object was expected", rd->where, kind_of(value));
		(void)((r = read_text(rd, value, "code", &code)) || (r = read_text(rd, value, "text", &text)));
		if (r)
			return r;
		if (!code || !text)
			return refuse(rd, "%s has no code or no text", rd->where);
		result_notice(res, code, "%s", text);
	}
	return r;
}

static int prove_plot(const struct reader *rd, const struct plot *p)
{
	const struct {
		const char *name, *text;
	} needed[] = { { "kind", p->kind }, { "table", p->table }, { "x", p->x }, { "y", p->y } };

	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		if (!needed[i].text &&
		    (i == 0 || result_plot_kind(p->kind) >= 0)) /* of a later version it may have others */
			return refuse(rd, "%s has no %s", rd->where, needed[i].name);
	return 0;
}

static int load_plots(struct reader *rd, const json_t *root, struct result *res)
{
	json_t *plots = NULL, *obj;
	size_t i;
	int r = section(rd, root, "plots", JSON_ARRAY, &plots);

	json_array_foreach(plots, i, obj)
	{
		struct plot *p;

		enter(rd, "plots[%zu]", i);
		if (!json_is_object(obj))
			return refuse(rd, "%s is %s where an object was expected", rd->where, kind_of(obj));
		result_plot(res, &(struct plot_decl){ 0 });
		p = &res->plots[res->nplots - 1];
		(void)((r = read_text(rd, obj, "name", &p->name)) || (r = read_text(rd, obj, "see", &p->see)) ||
		       (r = read_text(rd, obj, "kind", &p->kind)) || (r = read_text(rd, obj, "title", &p->title)) ||
		       (r = read_text(rd, obj, "table", &p->table)) || (r = read_text(rd, obj, "x", &p->x)) ||
		       (r = read_text(rd, obj, "y", &p->y)) || (r = read_text(rd, obj, "series", &p->series)) ||
		       (r = read_text(rd, obj, "low", &p->low)) || (r = read_text(rd, obj, "high", &p->high)) ||
		       (r = read_text(rd, obj, "dots", &p->dots)) || (r = read_text(rd, obj, "marks", &p->marks)));
		if (r)
			return r;
		r = prove_plot(rd, p);
		if (r)
			return r;
	}
	return r;
}

/*
 * From here on each plot has its table and columns. A plot that lacks one is dropped and reported; the figures stay.
 */
static int prove_plots(struct reader *rd, const json_t *root, struct result *res)
{
	size_t kept = 0, n = res->nplots;

	(void)rd;
	(void)root;
	for (size_t i = 0; i < n; i++)
		if (result_plot_is_whole(res, &res->plots[i]))
			res->plots[kept++] = res->plots[i];
		else
			build_drop_plot(res, &res->plots[i]);
	res->nplots = kept;
	return 0;
}

/* Is it ours, and of a version that we know? */
static int check_schema(struct reader *rd, const json_t *root)
{
	const char *schema = json_string_value(json_object_get(root, "schema"));
	const json_t *version = json_object_get(root, "version");

	if (!json_is_object(root))
		return refuse(rd, "it is %s, not an object", kind_of(root));
	if (!schema || strcmp(schema, RESULT_SCHEMA) != 0)
		return refuse(rd, "its schema is '%.60s', not '" RESULT_SCHEMA "'", schema ? schema : "none");
	if (!json_is_integer(version) || json_integer_value(version) < 1)
		return refuse(rd, "it has no version");
	if (json_integer_value(version) > RESULT_VERSION)
		return err_set(rd->err, -EINVAL,
		               "this result was written by a newer platter (document version %" JSON_INTEGER_FORMAT
		               "; this one reads up to %d); use that one.",
		               json_integer_value(version), RESULT_VERSION);
	return 0;
}

static int load_status(struct reader *rd, const json_t *root, struct result *res)
{
	const json_t *status = json_object_get(root, "status");

	enter(rd, "%s", "");
	for (int s = STATUS_COMPLETE; s < STATUS_N && json_is_string(status); s++) {
		if (!strcmp(json_string_value(status), status_name((enum result_status)s))) {
			res->status = (enum result_status)s;
			return 0;
		}
	}
	if (json_is_string(status))
		return refuse(rd, "its status is '%.60s', which is none that exists", json_string_value(status));
	return refuse(rd, "it has no status");
}

static int load_screen(struct reader *rd, const json_t *root, struct result *res)
{
	int r = read_text(rd, root, "answer", &res->answer);

	return r ? r : read_text(rd, root, "shows", &res->shows);
}

static int load_root(struct reader *rd, const json_t *root, struct result *res)
{
	static int (*const parts[])(struct reader *, const json_t *, struct result *) = {
		load_status,  load_head,   load_screen,  load_targets, load_tables,
		load_figures, load_faults, load_notices, load_plots,   prove_plots,
	};
	int r = check_schema(rd, root);

	for (size_t i = 0; i < ARRAY_LEN(parts) && r == 0; i++)
		r = parts[i](rd, root, res);
	return r;
}

int result_from_json(struct result **ret_res, const char *text, size_t len, struct err *err)
{
	struct reader rd = { .err = err };
	json_error_t error;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	struct result *res;
	int r;

	if (!root && json_error_code(&error) == json_error_out_of_memory)
		return err_set(err, -ENOMEM, "there is not enough memory to read this result.");
	if (!root)
		return refuse(&rd, "line %d, column %d: %s", error.line, error.column, error.text);
	res = result_new(NULL);
	r = load_root(&rd, root, res);
	json_decref(root);
	if (r) {
		result_free(res);
		return r;
	}
	*ret_res = res;
	return 0;
}
