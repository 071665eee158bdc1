/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What documents are made of: texts, typed cells and columns, and targets, which are just these. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/utf8.h"
#include "base/whole.h"
#include "result/build.h"

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

/* ---- cells ---- */

struct cell cell_of_f64(double value)
{
	return (struct cell){ .is_null = !isfinite(value), .f64 = isfinite(value) ? value : 0 };
}

struct cell cell_of_u64(uint64_t value)
{
	return (struct cell){ .is_null = value == UINT64_MAX, .u64 = value };
}

struct cell cell_of_str(const char *text)
{
	return (struct cell){ .is_null = !text, .str = result_strdup(text) };
}

struct cell cell_of_member(const void *row_struct, enum field_type type, size_t offset)
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

double cell_number(enum field_type type, const struct cell *cell)
{
	if (cell->is_null || type == FIELD_TYPE_STR)
		return (double)NAN;
	return type == FIELD_TYPE_U64 ? (double)cell->u64 : type == FIELD_TYPE_I64 ? (double)cell->i64 : cell->f64;
}

void cell_done(enum field_type type, struct cell *cell)
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

void columns_done(struct column *columns, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(columns[i].key);
		free(columns[i].label);
	}
	free(columns);
}

size_t fields_count(const struct field *fields)
{
	size_t n = 0;

	while (fields && fields[n].type != FIELD_TYPE_END)
		n++;
	return n;
}

struct column *columns_new(const struct field *fields, size_t n)
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

/* ---- targets ---- */

void result_target(struct result *res, const void *target_struct, const struct field *fields)
{
	struct target_info t = { .n = fields_count(fields) };

	t.columns = columns_new(fields, t.n);
	t.cells = xmust(calloc(t.n ? t.n : 1, sizeof(*t.cells)));
	for (size_t i = 0; i < t.n; i++)
		t.cells[i] = cell_of_member(target_struct, fields[i].type, fields[i].offset);
	xappend(res->targets, res->ntargets, t);
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

bool target_is_file(const struct target_info *t)
{
	const char *kind = target_text(t, "kind");

	return kind && (strcmp(kind, "file") == 0 || strcmp(kind, "directory") == 0);
}

/* By which the disk of a target is recognised: samedisk.h. */
void result_names(const struct result *res, size_t target, struct disk_names *ret)
{
	const struct target_info *t = &res->targets[target];
	const char *serial_of = target_text(t, "serial_of"), *shared = target_text(t, "shared_names"),
		   *transport = target_text(t, "transport"), *host = target_text(t, "host");
	double size = target_number(t, "disk_size_bytes");

	*ret = (struct disk_names){ .serial = target_text(t, "serial"),
		                    .wwn = target_text(t, "wwn"),
		                    .model = target_text(t, "model"),
		                    .vendor = target_text(t, "vendor"),
		                    .kernel = target_text(t, "disk"),
		                    .host = host                        ? host
		                            : res->head.host.machine_id ? res->head.host.machine_id
		                                                        : res->head.host.name,
		                    .size_bytes = whole(size),
		                    .serial_is_bridges = serial_of && strcmp(serial_of, "bridge") == 0,
		                    .serial_is_shared = shared && strstr(shared, "serial"),
		                    .wwn_is_shared = shared && strstr(shared, "wwn") };
	if (transport && strcmp(transport, "dm") == 0)
		ret->place = target_text(t, "alias"); /* dm-3 may be another one after the next start */
	if (!ret->place)
		ret->place = target_text(t, "path");
}

static const char *const status_names[] = {
	[STATUS_COMPLETE] = "complete",       [STATUS_WITH_ERRORS] = "with-errors", [STATUS_CANCELLED] = "cancelled",
	[STATUS_ENDED_EARLY] = "ended-early", [STATUS_DEVICE_GONE] = "device-gone", [STATUS_FAILED] = "failed",
	[STATUS_RUNNING] = "running",
};

const char *status_name(enum result_status s)
{
	return (size_t)s < ARRAY_LEN(status_names) ? status_names[s] : "failed";
}

const char *label_or_name(const char *label, const char *name)
{
	return label && label[0] ? label : name;
}

/* ---- intervals ---- */

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

bool interval_is_vague(enum unit unit, double value, const struct interval *ci)
{
	return (unit == UNIT_BYTES_PER_S || unit == UNIT_MIB_PER_S) && ci && ci->low > 0.0 && ci->low < value &&
	       ci->high > value && ci->high > 10.0 * ci->low;
}

/* Keeps what an interval supports: times, bytes and counts begin at 0; a rate whose interval reaches 0 has no upper end
 * either. */
struct interval interval_defended(enum unit unit, double value, const struct interval *ci, uint64_t samples)
{
	const struct measured_by *by = &measured_by[unit];
	double floor_half = by->stamps + (by->is_rate || by->is_time ? CLOCK_RATIO * fabs(value) : 0.0);
	struct interval ret;

	if (!ci || !isfinite(ci->low) || !isfinite(ci->high) || (by->is_rate && value > 0.0 && ci->low <= 0.0))
		return (struct interval){ (double)NAN, (double)NAN };
	if (unit == UNIT_PER_S && samples)
		floor_half = fmax(floor_half, fabs(value) / (double)samples);
	ret = (struct interval){ fmin(ci->low, value - floor_half), fmax(ci->high, value + floor_half) };
	if (value >= 0.0 && (by->is_time || by->is_rate || unit == UNIT_BYTES || unit == UNIT_COUNT))
		ret.low = fmax(ret.low, 0.0);
	return ret;
}
