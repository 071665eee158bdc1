/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The document in memory. Everything that is put in is copied: measurements may build rows and sentences on their
 * stacks, and a document can be saved at any moment, also from a half-finished run.
 */
#include "result/result.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "result/build.h"

void result_argv(struct result *res, const char *const *argv, size_t argc)
{
	for (size_t i = 0; i < argc; i++)
		xappend(res->head.argv, res->head.argc, result_strdup(argv[i]));
}

/* ---- names ---- */

static const struct unit_desc {
	const char *name;   /* a column's "type" */
	const char *ending; /* of keys; NULL: no ending */
} units[] = {
	[UNIT_NONE] = { "number", NULL },
	[UNIT_TEXT] = { "text", NULL },
	[UNIT_COUNT] = { "count", NULL },
	[UNIT_BYTES_PER_S] = { "bytes_per_s", "bytes_per_s" },
	[UNIT_MIB_PER_S] = { "mib_per_s", "mib_per_s" },
	[UNIT_PER_S] = { "per_s", "per_s" },
	[UNIT_BYTES] = { "bytes", "bytes" },
	[UNIT_NS] = { "ns", "ns" },
	[UNIT_S] = { "s", "s" },
	[UNIT_RATIO] = { "ratio", "ratio" },
	[UNIT_PERCENT] = { "percent", "percent" },
	[UNIT_RPM] = { "rpm", "rpm" },
};

const char *unit_name(enum unit u)
{
	return (size_t)u < ARRAY_LEN(units) ? units[u].name : units[UNIT_NONE].name;
}

enum unit unit_by_name(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_LEN(units); i++)
		if (!strcmp(name, units[i].name))
			return (enum unit)i;
	return UNIT_NONE;
}

enum unit unit_by_key(const char *key)
{
	enum unit best = UNIT_NONE;
	size_t best_len = 0;

	if (!strcmp(key, "iops"))
		return UNIT_PER_S;
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		size_t n = units[i].ending ? strlen(units[i].ending) : 0, len = strlen(key);

		if (n <= best_len || len < n || strcmp(key + len - n, units[i].ending) != 0 ||
		    (len > n && key[len - n - 1] != '_'))
			continue;
		best = (enum unit)i;
		best_len = n;
	}
	return best;
}

/* ---- members of objects, once for saving, loading and freeing ---- */

#define M(object, member, type) #member, type, offsetof(object, member)

const struct member head_members[] = {
	{ M(struct result_head, measurement, MEMBER_TEXT) }, { M(struct result_head, program, MEMBER_TEXT) },
	{ M(struct result_head, started, MEMBER_TEXT) },     { M(struct result_head, elapsed_s, MEMBER_F64) },
	{ M(struct result_head, clock, MEMBER_TEXT) },       { M(struct result_head, engine, MEMBER_TEXT) },
	{ M(struct result_head, seed, MEMBER_U64) },         { 0 },
};

const struct member host_members[] = {
	{ M(struct result_host, name, MEMBER_TEXT) },        { M(struct result_host, machine_id, MEMBER_TEXT) },
	{ M(struct result_host, kernel, MEMBER_TEXT) },      { M(struct result_host, machine, MEMBER_TEXT) },
	{ M(struct result_host, cpu, MEMBER_TEXT) },         { M(struct result_host, cpus, MEMBER_U64) },
	{ M(struct result_host, memory_bytes, MEMBER_U64) }, { 0 },
};

const struct member fault_members[] = {
	{ M(struct result_fault, target, MEMBER_TEXT) },
	{ M(struct result_fault, op, MEMBER_TEXT) },
	{ M(struct result_fault, offset_bytes, MEMBER_U64) },
	{ M(struct result_fault, length_bytes, MEMBER_U64) },
	{ "result", MEMBER_I64, offsetof(struct result_fault, result) },
	{ "errno", MEMBER_TEXT, offsetof(struct result_fault, errno_name) },
	{ M(struct result_fault, time_s, MEMBER_F64) },
	{ 0 },
};

const struct member notice_members[] = {
	{ M(struct notice, code, MEMBER_TEXT) },
	{ M(struct notice, text, MEMBER_TEXT) },
	{ 0 },
};

const struct member plot_members[] = {
	{ M(struct plot, name, MEMBER_TEXT_IF) },
	{ M(struct plot, kind, MEMBER_TEXT_IF) },
	{ M(struct plot, title, MEMBER_TEXT_IF) },
	{ M(struct plot, see, MEMBER_TEXT_IF) },
	{ M(struct plot, table, MEMBER_TEXT_IF) },
	{ M(struct plot, x, MEMBER_TEXT_IF) },
	{ M(struct plot, y, MEMBER_TEXT_IF) },
	{ M(struct plot, series, MEMBER_TEXT_IF) },
	{ M(struct plot, low, MEMBER_TEXT_IF) },
	{ M(struct plot, high, MEMBER_TEXT_IF) },
	{ M(struct plot, dots, MEMBER_TEXT_IF) },
	{ M(struct plot, marks, MEMBER_TEXT_IF) },
	{ 0 },
};

const struct member screen_members[] = {
	{ M(struct result, answer, MEMBER_TEXT_IF) },
	{ M(struct result, shows, MEMBER_TEXT_IF) },
	{ 0 },
};

void members_done(const struct member *m, void *object)
{
	for (; m->name; m++)
		if (m->type == MEMBER_TEXT || m->type == MEMBER_TEXT_IF)
			free(*(char **)member_of(m, object));
}

/* ---- the whole ---- */

struct result *result_new(const char *measurement)
{
	struct result *res = xmust(calloc(1, sizeof(*res)));

	res->status = STATUS_FAILED;
	res->head.measurement = result_strdup(measurement);
	res->head.program = result_strdup("platter " PLATTER_VERSION);
	return res;
}

static void table_free(struct table *t)
{
	result_table_clear(t);
	columns_done(t->columns, t->ncolumns);
	free(t->cells);
	free(t->name);
	free(t->title);
	free(t);
}

static void head_done(struct result_head *head)
{
	members_done(head_members, head);
	members_done(host_members, &head->host);
	for (size_t i = 0; i < head->argc; i++)
		free(head->argv[i]);
	free(head->argv);
	for (size_t i = 0; i < head->noptions; i++) {
		free(head->options[i].name);
		free(head->options[i].text);
	}
	free(head->options);
}

static void targets_done(struct result *res)
{
	for (size_t i = 0; i < res->ntargets; i++) {
		struct target_info *t = &res->targets[i];

		for (size_t k = 0; k < t->n; k++)
			cell_done(t->columns[k].type, &t->cells[k]);
		columns_done(t->columns, t->n);
		free(t->cells);
	}
	free(res->targets);
}

void result_free(struct result *res)
{
	if (!res)
		return;
	head_done(&res->head);
	targets_done(res);
	for (size_t i = 0; i < res->ntables; i++)
		table_free(res->tables[i]);
	free(res->tables);
	for (size_t i = 0; i < res->nfigures; i++) {
		cell_done(res->figures[i].type, &res->figures[i].value);
		free(res->figures[i].name);
		free(res->figures[i].label);
	}
	free(res->figures);
	for (size_t i = 0; i < res->nfaults; i++)
		members_done(fault_members, &res->faults[i]);
	free(res->faults);
	for (size_t i = 0; i < res->nfault_totals; i++)
		free(res->fault_totals[i].name);
	free(res->fault_totals);
	for (size_t i = 0; i < res->nnotices; i++)
		members_done(notice_members, &res->notices[i]);
	free(res->notices);
	for (size_t i = 0; i < res->nplots; i++)
		members_done(plot_members, &res->plots[i]);
	free(res->plots);
	members_done(screen_members, res);
	free(res);
}

/* ---- tables ---- */

struct table *result_table(struct result *res, const char *name, const char *title, const struct field *fields)
{
	struct table *t;

	for (size_t i = 0; i < res->ntables; i++)
		if (!strcmp(res->tables[i]->name, name))
			return res->tables[i];
	t = xmust(calloc(1, sizeof(*t)));
	t->name = result_strdup(name);
	t->title = result_strdup(title);
	t->fields = fields;
	t->owner = res;
	t->ncolumns = fields_count(fields);
	t->columns = columns_new(fields, t->ncolumns);
	xappend(res->tables, res->ntables, t);
	return t;
}

void result_table_clear(struct table *t)
{
	for (size_t i = 0; i < t->nrows * t->ncolumns; i++)
		cell_done(t->columns[i % t->ncolumns].type, &t->cells[i]);
	t->nrows = 0;
}

struct table *result_table_anew(struct result *res, const char *name, const char *title, const struct field *fields)
{
	struct table *t = result_table(res, name, title, fields);

	result_table_clear(t);
	return t;
}

void result_row(struct table *t, const void *row_struct)
{
	size_t most = t->rows_max ? t->rows_max : RESULT_ROWS_MAX;
	struct cell *row;

	if (t->nrows >= most) {
		result_notice(t->owner, "rows-dropped",
		              "Table '%s' holds %zu rows, the most that a document keeps; later rows were dropped.",
		              t->name, most);
		return;
	}
	if (t->nrows == t->room) {
		t->room = t->room ? t->room * 2 : 16;
		t->cells = xmust(reallocarray(t->cells, t->room * (t->ncolumns ? t->ncolumns : 1), sizeof(*t->cells)));
	}
	row = t->cells + t->nrows++ * t->ncolumns;
	for (size_t i = 0; i < t->ncolumns; i++)
		row[i] = cell_of_member(row_struct, t->columns[i].type, t->columns[i].offset);
}

const struct table *result_find_table(const struct result *res, const char *name)
{
	for (size_t i = 0; i < res->ntables; i++)
		if (!strcmp(res->tables[i]->name, name))
			return res->tables[i];
	return NULL;
}

int table_column(const struct table *t, const char *key)
{
	for (size_t i = 0; i < t->ncolumns; i++)
		if (!strcmp(t->columns[i].key, key))
			return (int)i;
	return -1;
}

double table_number(const struct table *t, size_t row, size_t col)
{
	return cell_number(t->columns[col].type, &t->cells[row * t->ncolumns + col]);
}

double table_number_of(const struct table *t, size_t row, const char *key)
{
	int col = table_column(t, key);

	return col < 0 ? (double)NAN : table_number(t, row, (size_t)col);
}

const char *table_string(const struct table *t, size_t row, size_t col)
{
	const struct cell *cell = &t->cells[row * t->ncolumns + col];

	return t->columns[col].type == FIELD_TYPE_STR && !cell->is_null ? cell->str : NULL;
}

const char *table_string_of(const struct table *t, size_t row, const char *key)
{
	int col = table_column(t, key);

	return col < 0 ? NULL : table_string(t, row, (size_t)col);
}

/* The struct member of a field, from a cell of any type; NULL: null. */
static void member_of_cell(void *member, enum field_type type, enum field_type from, const struct cell *cell)
{
	bool is_null = !cell || cell->is_null;
	double number = is_null ? (double)NAN : cell_number(from, cell);

	if (type == FIELD_TYPE_STR)
		*(const char **)member = !is_null && from == FIELD_TYPE_STR ? cell->str : NULL;
	else if (type == FIELD_TYPE_F64)
		*(double *)member = number;
	else if (type == FIELD_TYPE_I64)
		*(int64_t *)member = !is_null && from == FIELD_TYPE_I64 ? cell->i64
		                     : fabs(number) < 0x1p63            ? (int64_t)number
		                                                        : 0;
	else
		*(uint64_t *)member = !is_null && from == FIELD_TYPE_U64 ? cell->u64
		                      : number >= 0.0 && number < 0x1p64 ? (uint64_t)number
		                                                         : UINT64_MAX;
}

void table_row(const struct table *t, size_t row, const struct field *fields, void *ret_struct)
{
	for (const struct field *f = fields; f->type != FIELD_TYPE_END; f++) {
		int col = table_column(t, f->key);

		member_of_cell((char *)ret_struct + f->offset, f->type, col < 0 ? f->type : t->columns[col].type,
		               col < 0 ? NULL : &t->cells[row * t->ncolumns + (size_t)col]);
	}
}

/* ---- figures ---- */

void build_figure(struct result *res, const char *name, const char *label, struct figure f)
{
	struct figure *at = NULL;

	for (size_t i = 0; i < res->nfigures && !at; i++)
		if (!strcmp(res->figures[i].name, name))
			at = &res->figures[i];
	f.name = result_strdup(name);
	f.label = result_strdup(label);
	if (at) {
		cell_done(at->type, &at->value);
		free(at->name);
		free(at->label);
	} else {
		res->figures = xmore(res->figures, res->nfigures, sizeof(*res->figures));
		at = &res->figures[res->nfigures++];
	}
	*at = f;
}

static const struct interval no_interval = { (double)NAN, (double)NAN };

void result_figure(struct result *res, const char *name, const char *label, enum unit unit, double value,
                   const struct interval *ci, uint64_t samples)
{
	struct figure f = { .type = FIELD_TYPE_F64, .unit = unit, .samples = samples };

	value = interval_is_vague(unit, value, ci) ? (double)NAN : value;
	f.value = cell_of_f64(value);
	f.ci = isnan(value) ? no_interval : interval_defended(unit, value, ci, samples);
	build_figure(res, name, label, f);
}

void result_estimate(struct result *res, const char *name, const char *label, enum unit unit,
                     const struct stats_estimate *e)
{
	result_figure(res, name, label, unit, e->value, &e->ci, 0);
}

void result_figure_u64(struct result *res, const char *name, const char *label, enum unit unit, uint64_t value)
{
	struct figure f = { .type = FIELD_TYPE_U64, .unit = unit, .value = cell_of_u64(value), .ci = no_interval };

	build_figure(res, name, label, f);
}

void result_figure_text(struct result *res, const char *name, const char *label, const char *text)
{
	struct figure f = { .type = FIELD_TYPE_STR, .unit = UNIT_TEXT, .value = cell_of_str(text), .ci = no_interval };

	build_figure(res, name, label, f);
}

const struct figure *result_find_figure(const struct result *res, const char *name)
{
	for (size_t i = 0; i < res->nfigures; i++)
		if (!strcmp(res->figures[i].name, name))
			return &res->figures[i];
	return NULL;
}

double figure_number(const struct figure *f)
{
	return f ? cell_number(f->type, &f->value) : (double)NAN;
}

bool figure_equals(const struct figure *a, const struct figure *b)
{
	char text_a[CELL_TEXT], text_b[CELL_TEXT];
	bool has_interval = isfinite(a->ci.low);

	return strcmp(result_cell_text(text_a, sizeof(text_a), a->type, &a->value),
	              result_cell_text(text_b, sizeof(text_b), b->type, &b->value)) == 0 &&
	       a->samples == b->samples && has_interval == isfinite(b->ci.low) &&
	       (!has_interval || (a->ci.low == b->ci.low && a->ci.high == b->ci.high));
}

void result_take(struct result *res, struct result *part)
{
	for (size_t i = 0; i < part->nfigures; i++) {
		struct figure *f = &part->figures[i];

		build_figure(res, f->name, f->label, *f);
		free(f->name);
		free(f->label);
	}
	part->nfigures = 0; /* their texts are in res */
	for (size_t i = 0; i < part->ntables; i++) {
		struct table *t = part->tables[i];
		size_t k = 0;

		while (k < res->ntables && strcmp(res->tables[k]->name, t->name) != 0)
			k++;
		if (k == res->ntables)
			res->tables = xmore(res->tables, res->ntables++, sizeof(struct table *));
		else
			table_free(res->tables[k]);
		res->tables[k] = t;
		t->owner = res;
	}
	part->ntables = 0;
	result_free(part);
}

/* ---- faults, notices, the rest ---- */

static void fault_total_add(struct result *res, const char *name)
{
	for (size_t i = 0; i < res->nfault_totals; i++)
		if (!strcmp(res->fault_totals[i].name, name)) {
			res->fault_totals[i].n++;
			return;
		}
	xappend(res->fault_totals, res->nfault_totals, (struct fault_total){ .name = result_strdup(name), .n = 1 });
}

void result_fault(struct result *res, const char *target, const char *op, uint64_t offset_bytes, uint64_t length_bytes,
                  int64_t result, double time_s)
{
	const char *name = result < 0 ? err_name((int)result) : NULL;

	fault_total_add(res, name ? name : "short");
	if (res->nfaults >= RESULT_FAULTS_MAX)
		return;
	xappend(res->faults, res->nfaults,
	        (struct result_fault){
			.target = result_strdup(target),
			.op = result_strdup(op),
			.offset_bytes = offset_bytes,
			.length_bytes = length_bytes,
			.result = result,
			.errno_name = result_strdup(name),
			.time_s = time_s,
		});
}

/* Of the file system, or of the kernel: no disk has seen such a request. */
static bool is_limit(const char *errno_name, bool is_of_files)
{
	static const char *const names[] = { "ENOSPC", "EFBIG", "EDQUOT" };

	for (size_t i = 0; is_of_files && i < ARRAY_LEN(names); i++)
		if (errno_name && !strcmp(errno_name, names[i]))
			return true;
	return err_name_is_refusal(errno_name);
}

uint64_t result_limit_count(const struct result *res)
{
	bool is_of_files = res->ntargets > 0; /* a device that is full is thinly provisioned */
	uint64_t n = 0;

	for (size_t i = 0; i < res->ntargets; i++)
		is_of_files = is_of_files && target_is_file(&res->targets[i]);
	for (size_t i = 0; i < res->nfault_totals; i++)
		n += is_limit(res->fault_totals[i].name, is_of_files) ? res->fault_totals[i].n : 0;
	return n;
}

uint64_t result_fault_count(const struct result *res)
{
	uint64_t n = 0;

	for (size_t i = 0; i < res->nfault_totals; i++)
		n += res->fault_totals[i].n;
	return n - result_limit_count(res);
}

/* Is it there already? *ret_same: how many notices have that code, when it is not. */
static bool is_known(const struct result *res, const char *code, const char *text, size_t *ret_same)
{
	*ret_same = 0;
	for (size_t i = 0; i < res->nnotices; i++) {
		if (strcmp(res->notices[i].code, code) != 0)
			continue;
		(*ret_same)++;
		if (!strcmp(res->notices[i].text, text))
			return true;
	}
	return false;
}

void result_notice(struct result *res, const char *code, const char *fmt, ...)
{
	cleanup_free char *raw = NULL, *text = NULL;
	size_t same;
	va_list ap;
	int n;

	if (res->nnotices == RESULT_NOTICES_ALL)
		return;
	va_start(ap, fmt);
	n = vasprintf(&raw, fmt, ap);
	va_end(ap);
	if (n < 0)
		raw = NULL; /* glibc leaves it undefined */
	text = result_strdup(xmust(raw));
	if (is_known(res, code, text, &same) || same > RESULT_NOTICES_MAX)
		return;
	if (same == RESULT_NOTICES_MAX ||
	    res->nnotices == RESULT_NOTICES_ALL - 1) { /* a disk that stalls for a week must not fill the memory */
		free(text);
		text = result_strdup("There was more of this than is listed.");
	}
	xappend(res->notices, res->nnotices, (struct notice){ .code = result_strdup(code), .text = text });
	text = NULL;
}

bool result_has_notice(const struct result *res, const char *code)
{
	for (size_t i = 0; i < res->nnotices; i++)
		if (!strcmp(res->notices[i].code, code))
			return true;
	return false;
}

static struct option_value *find_option(const struct result *res, const char *name)
{
	for (size_t i = 0; i < res->head.noptions; i++)
		if (!strcmp(res->head.options[i].name, name))
			return &res->head.options[i];
	return NULL;
}

const char *result_option_text(const struct result *res, const char *name)
{
	const struct option_value *o = find_option(res, name);

	return o ? o->text : NULL;
}

void result_option(struct result *res, const char *name, const char *text)
{
	struct option_value *o = find_option(res, name);

	if (!o) {
		res->head.options = xmore(res->head.options, res->head.noptions, sizeof(*res->head.options));
		o = &res->head.options[res->head.noptions++];
		*o = (struct option_value){ .name = result_strdup(name) };
	}
	result_set(&o->text, text);
}
