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
#include "base/units.h"
#include "base/utf8.h"
#include "result/build.h"

void *build_grow(void *v, size_t n, size_t size)
{
	if (n & (n - 1))
		return v;
	return xmust(reallocarray(v, n ? n * 2 : 1, size));
}

/* ---- text ---- */

char *result_strdup(const char *text)
{
	size_t n = 0;
	char *copy, *to;

	if (!text)
		return NULL;
	for (const char *p = text; *p; p += utf8_len(p) ? utf8_len(p) : 1)
		n += utf8_len(p) ? utf8_len(p) : strlen(UTF8_REPLACEMENT);
	copy = to = xmust(malloc(n + 1));
	while (*text) {
		size_t len = utf8_len(text);

		if (len)
			to = mempcpy(to, text, len);
		else
			to = stpcpy(to, UTF8_REPLACEMENT);
		text += len ? len : 1;
	}
	*to = 0;
	return copy;
}

void result_set(char **member, const char *text)
{
	char *copy = result_strdup(text); /* first: text may be *member */

	free(*member);
	*member = copy;
}

void result_argv(struct result *res, const char *const *argv, size_t argc)
{
	for (size_t i = 0; i < argc; i++) {
		res->head.argv = build_grow(res->head.argv, res->head.argc, sizeof(*res->head.argv));
		res->head.argv[res->head.argc++] = result_strdup(argv[i]);
	}
}

/* ---- names ---- */

static const char *const status_names[] = {
	[STATUS_COMPLETE] = "complete",       [STATUS_WITH_ERRORS] = "with-errors", [STATUS_CANCELLED] = "cancelled",
	[STATUS_ENDED_EARLY] = "ended-early", [STATUS_DEVICE_GONE] = "device-gone", [STATUS_FAILED] = "failed",
	[STATUS_RUNNING] = "running",
};

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

const char *status_name(enum result_status s)
{
	return (size_t)s < ARRAY_LEN(status_names) ? status_names[s] : "failed";
}

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

/* ---- cells ---- */

static struct cell cell_of_f64(double value)
{
	return (struct cell){ .is_null = !isfinite(value), .f64 = isfinite(value) ? value : 0 };
}

static struct cell cell_of_u64(uint64_t value)
{
	return (struct cell){ .is_null = value == UINT64_MAX, .u64 = value };
}

static struct cell cell_of_str(const char *text)
{
	return (struct cell){ .is_null = !text, .str = result_strdup(text) };
}

static struct cell cell_of_member(const void *row_struct, enum field_type type, size_t offset)
{
	const char *at = (const char *)row_struct + offset;

	switch (type) {
	case FIELD_TYPE_U64:
		return cell_of_u64(*(const uint64_t *)(const void *)at);
	case FIELD_TYPE_I64:
		return (struct cell){ .i64 = *(const int64_t *)(const void *)at };
	case FIELD_TYPE_F64:
		return cell_of_f64(*(const double *)(const void *)at);
	case FIELD_TYPE_STR:
		return cell_of_str(*(const char *const *)(const void *)at);
	case FIELD_TYPE_END:
		break;
	}
	return (struct cell){ .is_null = true };
}

static double cell_number(enum field_type type, const struct cell *cell)
{
	if (cell->is_null || type == FIELD_TYPE_STR)
		return (double)NAN;
	return type == FIELD_TYPE_U64 ? (double)cell->u64 : type == FIELD_TYPE_I64 ? (double)cell->i64 : cell->f64;
}

static void cell_done(enum field_type type, struct cell *cell)
{
	if (type == FIELD_TYPE_STR && !cell->is_null)
		free(cell->str);
}

/* The shortest of 15, 16 or 17 digits that reads back as the same double; with a point or exponent, so that it stays a
 * real. */
static char *f64_text(char *buf, size_t len, double value)
{
	for (int digits = 15; digits <= 17; digits++) {
		double back = 0;

		(void)units_printf(buf, len, "%.*g", digits, value);
		if (digits == 17 || (units_parse_f64(buf, &back, NULL) == 0 && back == value))
			break;
	}
	if (!strpbrk(buf, ".e"))
		(void)snprintf(buf + strlen(buf), len - strlen(buf), ".0");
	return buf;
}

const char *result_cell_text(char *buf, size_t len, enum field_type type, const struct cell *cell)
{
	if (cell->is_null || type == FIELD_TYPE_END)
		return "";
	if (type == FIELD_TYPE_STR)
		return cell->str;
	if (type == FIELD_TYPE_F64)
		return f64_text(buf, len, cell->f64);
	if (type == FIELD_TYPE_I64)
		(void)snprintf(buf, len, "%lld", (long long)cell->i64);
	else
		(void)snprintf(buf, len, "%llu", (unsigned long long)cell->u64);
	return buf;
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

static void columns_done(struct column *columns, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(columns[i].key);
		free(columns[i].label);
	}
	free(columns);
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

static void head_done(struct result *res)
{
	free(res->head.measurement);
	free(res->head.program);
	free(res->head.started);
	free(res->head.clock);
	free(res->head.engine);
	for (size_t i = 0; i < res->head.argc; i++)
		free(res->head.argv[i]);
	free(res->head.argv);
	free(res->head.host.name);
	free(res->head.host.machine_id);
	free(res->head.host.kernel);
	free(res->head.host.machine);
	free(res->head.host.cpu);
	for (size_t i = 0; i < res->head.noptions; i++) {
		free(res->head.options[i].name);
		free(res->head.options[i].text);
	}
	free(res->head.options);
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

static void faults_done(struct result *res)
{
	for (size_t i = 0; i < res->nfaults; i++) {
		free(res->faults[i].target);
		free(res->faults[i].op);
		free(res->faults[i].errno_name);
	}
	free(res->faults);
	for (size_t i = 0; i < res->nfault_totals; i++)
		free(res->fault_totals[i].name);
	free(res->fault_totals);
}

void build_plot_done(struct plot *p)
{
	free(p->name);
	free(p->see);
	free(p->kind);
	free(p->title);
	free(p->table);
	free(p->x);
	free(p->y);
	free(p->series);
	free(p->low);
	free(p->high);
	free(p->dots);
	free(p->marks);
}

void result_free(struct result *res)
{
	if (!res)
		return;
	head_done(res);
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
	faults_done(res);
	for (size_t i = 0; i < res->nnotices; i++) {
		free(res->notices[i].code);
		free(res->notices[i].text);
	}
	free(res->notices);
	for (size_t i = 0; i < res->nplots; i++)
		build_plot_done(&res->plots[i]);
	free(res->plots);
	free(res->answer);
	free(res->shows);
	free(res->text);
	free(res);
}

/* ---- tables ---- */

static size_t fields_count(const struct field *fields)
{
	size_t n = 0;

	while (fields && fields[n].type != FIELD_TYPE_END)
		n++;
	return n;
}

static struct column *columns_new(const struct field *fields, size_t n)
{
	struct column *columns = xmust(calloc(n ? n : 1, sizeof(*columns)));

	for (size_t i = 0; i < n; i++) {
		columns[i].key = result_strdup(fields[i].key);
		columns[i].label = result_strdup(fields[i].label);
		columns[i].type = fields[i].type;
		columns[i].unit = fields[i].unit;
		columns[i].detail = fields[i].detail;
		columns[i].offset = fields[i].offset;
	}
	return columns;
}

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
	res->tables = build_grow(res->tables, res->ntables, sizeof(struct table *));
	res->tables[res->ntables++] = t;
	return t;
}

void result_table_clear(struct table *t)
{
	for (size_t i = 0; i < t->nrows * t->ncolumns; i++)
		cell_done(t->columns[i % t->ncolumns].type, &t->cells[i]);
	t->nrows = 0;
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
		res->figures = build_grow(res->figures, res->nfigures, sizeof(*res->figures));
		at = &res->figures[res->nfigures++];
	}
	*at = f;
}

static const struct interval no_interval = { (double)NAN, (double)NAN };

/*
 * No figure is known better than the clock it was measured with. A host's clock runs wrong by up to 15 parts in a
 * million (PHI of RFC 5905; less where NTP holds it, which is not asked); both timestamps of a duration are whole
 * nanoseconds; and a number of events in a window is known to one of them.
 */
#define CLOCK_RATIO 15e-6
#define STAMPS_NS   1.0

static const struct measured_by {
	bool is_rate, is_time;
	double stamps; /* in the unit */
} measured_by[UNIT_PER_S + 1] = {
	[UNIT_BYTES_PER_S] = { .is_rate = true },
	[UNIT_MIB_PER_S] = { .is_rate = true },
	[UNIT_PER_S] = { .is_rate = true },
	[UNIT_RPM] = { .is_rate = true },
	[UNIT_NS] = { .is_time = true, .stamps = STAMPS_NS },
	[UNIT_S] = { .is_time = true, .stamps = STAMPS_NS * 1e-9 },
};

/*
 * Keeps what an interval supports: a time begins at 0; a rate whose interval reaches 0 has no upper end either.
 */
static struct interval defended(enum unit unit, double value, const struct interval *ci, uint64_t samples)
{
	const struct measured_by *by = &measured_by[unit];
	double floor_half = by->stamps + (by->is_rate || by->is_time ? CLOCK_RATIO * fabs(value) : 0.0);
	struct interval ret;

	if (!ci || !isfinite(ci->low) || !isfinite(ci->high) || (by->is_rate && value > 0.0 && ci->low <= 0.0))
		return no_interval;
	if (unit == UNIT_PER_S && samples)
		floor_half = fmax(floor_half, fabs(value) / (double)samples);
	ret = (struct interval){ fmin(ci->low, value - floor_half), fmax(ci->high, value + floor_half) };
	if (value >= 0.0 && (by->is_time || by->is_rate))
		ret.low = fmax(ret.low, 0.0);
	return ret;
}

void result_figure(struct result *res, const char *name, const char *label, enum unit unit, double value,
                   const struct interval *ci, uint64_t samples)
{
	struct figure f = { .type = FIELD_TYPE_F64, .unit = unit, .value = cell_of_f64(value), .samples = samples };

	f.ci = defended(unit, value, ci, samples);
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
			res->tables = build_grow(res->tables, res->ntables++, sizeof(struct table *));
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
	for (size_t i = 0; i < res->nfault_totals; i++) {
		if (!strcmp(res->fault_totals[i].name, name)) {
			res->fault_totals[i].n++;
			return;
		}
	}
	res->fault_totals = build_grow(res->fault_totals, res->nfault_totals, sizeof(*res->fault_totals));
	res->fault_totals[res->nfault_totals++] = (struct fault_total){ .name = result_strdup(name), .n = 1 };
}

void result_fault(struct result *res, const char *target, const char *op, uint64_t offset_bytes, uint64_t length_bytes,
                  int64_t result, double time_s)
{
	const char *name = result < 0 ? err_name((int)result) : NULL;

	fault_total_add(res, name ? name : "short");
	if (res->nfaults >= RESULT_FAULTS_MAX)
		return;
	res->faults = build_grow(res->faults, res->nfaults, sizeof(*res->faults));
	res->faults[res->nfaults++] = (struct result_fault){
		.target = result_strdup(target),
		.op = result_strdup(op),
		.offset_bytes = offset_bytes,
		.length_bytes = length_bytes,
		.result = result,
		.errno_name = result_strdup(name),
		.time_s = time_s,
	};
}

static bool is_limit(const char *errno_name)
{
	static const char *const names[] = { "ENOSPC", "EFBIG", "EDQUOT" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (errno_name && !strcmp(errno_name, names[i]))
			return true;
	return false;
}

uint64_t result_limit_count(const struct result *res)
{
	uint64_t n = 0;

	for (size_t i = 0; i < res->ntargets; i++) {
		const char *kind = target_text(&res->targets[i], "kind");

		if (!kind || (strcmp(kind, "file") != 0 && strcmp(kind, "directory") != 0))
			return 0; /* a device that reports this is thinly provisioned and full */
	}
	for (size_t i = 0; i < res->nfault_totals; i++)
		n += is_limit(res->fault_totals[i].name) ? res->fault_totals[i].n : 0;
	return res->ntargets ? n : 0;
}

uint64_t result_fault_count(const struct result *res)
{
	uint64_t n = 0;

	for (size_t i = 0; i < res->nfault_totals; i++)
		n += res->fault_totals[i].n;
	return n - result_limit_count(res);
}

/* Is it there already? *ret_same: how many notices have that code, when it is not. */
static bool is_told(const struct result *res, const char *code, const char *text, size_t *ret_same)
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
	cleanup_free char *raw = NULL;
	cleanup_free char *text = NULL;
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
	if (is_told(res, code, text, &same) || same > RESULT_NOTICES_MAX)
		return;
	if (same == RESULT_NOTICES_MAX ||
	    res->nnotices == RESULT_NOTICES_ALL - 1) { /* a disk that stalls for a week must not fill the memory */
		free(text);
		text = result_strdup("There was more of this than is listed.");
	}
	res->notices = build_grow(res->notices, res->nnotices, sizeof(*res->notices));
	res->notices[res->nnotices++] = (struct notice){ .code = result_strdup(code), .text = text };
	text = NULL;
}

void result_text(struct result *res, const char *fmt, ...)
{
	cleanup_free char *more = NULL;
	cleanup_free char *old = res->text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&more, fmt, ap);
	va_end(ap);
	if (n < 0)
		more = NULL; /* glibc leaves it undefined */
	(void)xmust(more);
	res->text = NULL;
	if (asprintf(&res->text, "%s%s", old ? old : "", more) < 0)
		res->text = NULL;
	(void)xmust(res->text);
}

bool result_has_notice(const struct result *res, const char *code)
{
	for (size_t i = 0; i < res->nnotices; i++)
		if (!strcmp(res->notices[i].code, code))
			return true;
	return false;
}

void result_option(struct result *res, const char *name, const char *text)
{
	for (size_t i = 0; i < res->head.noptions; i++) {
		if (!strcmp(res->head.options[i].name, name)) {
			result_set(&res->head.options[i].text, text);
			return;
		}
	}
	res->head.options = build_grow(res->head.options, res->head.noptions, sizeof(*res->head.options));
	res->head.options[res->head.noptions++] =
		(struct option_value){ .name = result_strdup(name), .text = result_strdup(text) };
}

void result_target(struct result *res, const void *target_struct, const struct field *fields)
{
	struct target_info t = { .n = fields_count(fields) };

	t.columns = columns_new(fields, t.n);
	t.cells = xmust(calloc(t.n ? t.n : 1, sizeof(*t.cells)));
	for (size_t i = 0; i < t.n; i++)
		t.cells[i] = cell_of_member(target_struct, fields[i].type, fields[i].offset);
	res->targets = build_grow(res->targets, res->ntargets, sizeof(*res->targets));
	res->targets[res->ntargets++] = t;
}

const struct cell *target_cell(const struct target_info *t, const char *key, enum field_type *ret_type)
{
	for (size_t i = 0; t && i < t->n; i++)
		if (!strcmp(t->columns[i].key, key) && !t->cells[i].is_null) {
			*ret_type = t->columns[i].type;
			return &t->cells[i];
		}
	return NULL;
}

const char *target_text(const struct target_info *t, const char *key)
{
	enum field_type type;
	const struct cell *c = target_cell(t, key, &type);

	return c && type == FIELD_TYPE_STR && c->str[0] ? c->str : NULL;
}

double target_number(const struct target_info *t, const char *key)
{
	enum field_type type;
	const struct cell *c = target_cell(t, key, &type);

	return c ? cell_number(type, c) : (double)NAN;
}

const char *label_or_name(const char *label, const char *name)
{
	return label && label[0] ? label : name;
}
