/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The documents of several hosts as one: what is the same for all measurements. Pure: from documents to a document. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "hosts/hosts.h"

struct host_row {
	uint64_t rank;
	const char *host, *machine_id, *status;
	double began_s;
	uint64_t clock_error_ns;
	double clock_drift_ppm, elapsed_s;
};

static const struct field host_fields[] = {
	FIELD_U64(struct host_row, rank, UNIT_NONE, "rank"),
	FIELD_STR(struct host_row, host, "host"),
	FIELD_STR(struct host_row, machine_id, "machine", .detail = true),
	FIELD_STR(struct host_row, status, "status"),
	FIELD_F64(struct host_row, began_s, UNIT_S, "began at"),
	FIELD_U64(struct host_row, clock_error_ns, UNIT_NS, "clock known to"),
	FIELD_F64(struct host_row, clock_drift_ppm, UNIT_NONE, "drift in ppm", .detail = true),
	FIELD_F64(struct host_row, elapsed_s, UNIT_S, "took"),
	FIELD_END,
};

const struct result *hosts_first_doc(const struct hosts_part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (parts[i].doc)
			return parts[i].doc;
	return NULL;
}

double hosts_began_s(const struct hosts_part *parts, size_t n, size_t host)
{
	double first = INFINITY;

	for (size_t i = 0; i < n; i++)
		if (parts[i].has_start)
			first = fmin(first, parts[i].start_ns);
	return parts[host].has_start ? (parts[host].start_ns - first) * 1e-9 : (double)NAN;
}

/* ---- tables whose columns are known when they come ---- */

#define JOIN_COLUMNS 128

union member {
	uint64_t u64;
	int64_t i64;
	double f64;
	const char *str;
};

/* The fields of struct { union member part, columns[]; }. Keys and labels stay the columns', and the caller's. */
static size_t fields_of(const struct column *columns, size_t n, const char *key, struct field *ret)
{
	size_t out = 0;

	ret[out++] = (struct field){ .type = FIELD_TYPE_STR, .key = key, .label = key, .unit = UNIT_TEXT };
	for (size_t i = 0; i < n && out + 1 < JOIN_COLUMNS; i++)
		if (strcmp(columns[i].key, key) != 0)
			ret[out++] = (struct field){ .type = columns[i].type,
				                     .key = columns[i].key,
				                     .label = columns[i].label,
				                     .unit = columns[i].unit,
				                     .detail = columns[i].detail };
	for (size_t i = 0; i < out; i++)
		ret[i].offset = i * sizeof(union member);
	ret[out] = (struct field)FIELD_END;
	return out;
}

static void join(const struct hosts_part *parts, size_t n, struct result *res, const char *name, const char *on_axis,
                 const char *key)
{
	for (size_t i = 0; i < n; i++) {
		const struct table *from = parts[i].doc ? result_find_table(parts[i].doc, name) : NULL;
		double began_s = hosts_began_s(parts, n, i);
		struct field fields[JOIN_COLUMNS];
		union member row[JOIN_COLUMNS];
		struct table *to;

		if (!from)
			continue;
		(void)fields_of(from->columns, from->ncolumns, key, fields);
		to = result_table(res, name, from->title, fields);
		to->fields = NULL; /* they are gone after this */
		for (size_t k = 0; k < from->nrows; k++) {
			table_row(from, k, fields, row);
			row[0].str = parts[i].name;
			for (size_t c = 1; on_axis && fields[c].type != FIELD_TYPE_END; c++)
				if (fields[c].type == FIELD_TYPE_F64 && !strcmp(fields[c].key, on_axis))
					row[c].f64 += began_s;
			result_row(to, row);
		}
	}
}

void hosts_join(const struct hosts_part *parts, size_t n, struct result *res, const char *name, const char *on_axis)
{
	join(parts, n, res, name, on_axis, "host");
}

/* All tables that are not there yet, and lines with one for each part. */
static void join_all(const struct hosts_part *parts, size_t n, const struct result *first, struct result *res,
                     const char *key)
{
	for (size_t i = 0; i < first->ntables; i++)
		if (!result_find_table(res, first->tables[i]->name))
			join(parts, n, res, first->tables[i]->name, NULL, key);
	for (size_t i = 0; i < first->nplots; i++) {
		const struct plot *p = &first->plots[i];

		if (!p->series && (!strcmp(p->kind, "line") || !strcmp(p->kind, "step") || !strcmp(p->kind, "scatter")))
			result_plot(res, &(struct plot_decl){ .name = p->name,
			                                      .see = p->see,
			                                      .kind = p->kind,
			                                      .title = p->title,
			                                      .table = p->table,
			                                      .x = p->x,
			                                      .y = p->y,
			                                      .series = key });
	}
}

/* One of n cells, which are those of a table with one row. */
static void cell_of(struct column *columns, struct cell *cells, size_t n, const struct field *field, union member *row)
{
	const struct table one = { .columns = columns, .ncolumns = n, .cells = cells, .nrows = 1 };
	const struct field two[] = { *field, FIELD_END };

	table_row(&one, 0, two, row);
}

/* Its figures as a row; a figure that a later host does not have is null there. */
static void join_figures(const struct hosts_part *part, const struct result *first, struct result *res)
{
	struct column columns[JOIN_COLUMNS] = { 0 };
	const char *of[JOIN_COLUMNS] = { NULL }; /* NULL: an end of an interval */
	char ends[JOIN_COLUMNS][72], from[] = "from", to[] = "to";
	struct field fields[JOIN_COLUMNS];
	union member row[JOIN_COLUMNS];
	const struct figure *f = NULL; /* of the column, or of that before its ends */
	struct table *t;
	size_t n = 0;

	for (size_t i = 0; i < first->nfigures && n < JOIN_COLUMNS - 4; i++) {
		const struct figure *fig = &first->figures[i];

		of[n] = fig->name;
		columns[n++] =
			(struct column){ .key = fig->name, .label = fig->label, .type = fig->type, .unit = fig->unit };
		for (size_t k = 0; isfinite(fig->ci.low) && k < 2; k++) { /* its interval */
			(void)snprintf(ends[n], sizeof(ends[n]), "%.60s_%s", fig->name, k ? "high" : "low");
			columns[n] = (struct column){ .key = ends[n],
				                      .label = k ? to : from,
				                      .type = FIELD_TYPE_F64,
				                      .unit = fig->unit,
				                      .detail = true };
			n++;
		}
	}
	(void)fields_of(columns, n, "host", fields);
	row[0].str = part->name;
	for (size_t i = 0; i < n; i++) {
		struct cell cell = { .is_null = true };

		if (of[i])
			f = result_find_figure(part->doc, of[i]);
		if (f && of[i]) {
			columns[i].type = f->type;
			cell = f->value;
		} else if (f && isfinite(f->ci.low)) {
			cell = (struct cell){ .f64 = i && of[i - 1] ? f->ci.low : f->ci.high };
		}
		cell_of(&columns[i], &cell, 1, &fields[i + 1], row);
	}
	t = result_table(res, "shares", "Host by host", fields);
	t->fields = NULL; /* they are gone after this */
	result_row(t, row);
}

void hosts_apart(const struct hosts_part *parts, size_t n, struct result *res)
{
	const struct result *first = hosts_first_doc(parts, n);
	char answer[80];

	if (!first)
		return;
	for (size_t i = 0; i < n; i++)
		if (parts[i].doc)
			join_figures(&parts[i], first, res);
	join_all(parts, n, first, res, "host"); /* the plan is there already */
	(void)snprintf(answer, sizeof(answer), "%zu hosts, each measured for itself.", n);
	result_set(&res->answer, answer);
	result_set(&res->shows, "#shares,#hosts");
}

/* With the part's name in a column `key` before them, or without one. */
static void join_targets(const struct hosts_part *part, struct result *res, const char *key, bool is_named)
{
	for (size_t i = 0; i < part->doc->ntargets; i++) {
		const struct target_info *t = &part->doc->targets[i];
		struct field fields[JOIN_COLUMNS];
		union member row[JOIN_COLUMNS];
		size_t n = fields_of(t->columns, t->n, key, fields);

		row[0].str = part->name;
		for (size_t c = 1; c < n; c++)
			cell_of(t->columns, t->cells, t->n, &fields[c], row);
		result_target(res, row, is_named ? fields : fields + 1);
	}
}

/* ---- the rest ---- */

static void copy_head(const struct result *from, struct result *to)
{
	result_set(&to->head.started, from->head.started);
	result_set(&to->head.clock, from->head.clock);
	result_set(&to->head.engine, from->head.engine);
	result_argv(to, (const char *const *)from->head.argv, from->head.argc);
	result_set(&to->head.host.name, from->head.host.name);
	result_set(&to->head.host.machine_id, from->head.host.machine_id);
	result_set(&to->head.host.kernel, from->head.host.kernel);
	result_set(&to->head.host.machine, from->head.host.machine);
	result_set(&to->head.host.cpu, from->head.host.cpu);
	to->head.host.cpus = from->head.host.cpus;
	to->head.host.memory_bytes = from->head.host.memory_bytes;
	to->head.seed = from->head.seed;
	for (size_t i = 0; i < from->head.noptions; i++)
		result_option(to, from->head.options[i].name, from->head.options[i].text);
}

static void join_faults(const struct hosts_part *part, struct result *res, bool is_named)
{
	for (size_t i = 0; i < part->doc->nfaults; i++) {
		const struct result_fault *f = &part->doc->faults[i];
		char target[256];

		(void)snprintf(target, sizeof(target), "%s%s%s", is_named ? part->name : "", is_named ? ":" : "",
		               f->target);
		result_fault(res, target, f->op, f->offset_bytes, f->length_bytes, f->result, f->time_s);
	}
}

static bool has_said(const struct result *doc, const struct notice *what)
{
	for (size_t i = 0; i < doc->nnotices; i++)
		if (!strcmp(doc->notices[i].code, what->code) && !strcmp(doc->notices[i].text, what->text))
			return true;
	return false;
}

/* With the host's name; what all say is said once. */
static void join_notices(const struct hosts_part *parts, size_t n, const struct hosts_part *part, struct result *res)
{
	for (size_t i = 0; i < part->doc->nnotices; i++) {
		const struct notice *what = &part->doc->notices[i];
		bool is_all = n > 1;

		for (size_t k = 0; k < n; k++)
			is_all = is_all && parts[k].doc && has_said(parts[k].doc, what);
		result_notice(res, what->code, "%s: %s", is_all ? "Each host" : part->name, what->text);
	}
}

/* What is worse of two; what one host did not finish is not whole. */
static enum result_status worse(enum result_status a, enum result_status b)
{
	static const int badness[] = { [STATUS_COMPLETE] = 0,  [STATUS_WITH_ERRORS] = 1, [STATUS_DEVICE_GONE] = 2,
		                       [STATUS_CANCELLED] = 3, [STATUS_FAILED] = 4,      [STATUS_RUNNING] = 5 };

	return badness[b] > badness[a] ? b : a;
}

struct result *hosts_merge(const struct hosts_part *parts, size_t n,
                           void (*together)(const struct hosts_part *parts, size_t n, struct result *res))
{
	const struct result *first = hosts_first_doc(parts, n);
	uint64_t lost = 0;
	struct result *res;

	res = result_new(first ? first->head.measurement : "");
	if (first)
		copy_head(first, res);
	res->status = STATUS_COMPLETE;
	for (size_t i = 0; i < n; i++) {
		const struct hosts_part *p = &parts[i];
		struct host_row row = { .rank = p->rank,
			                .host = p->name,
			                .status = "lost",
			                .began_s = hosts_began_s(parts, n, i),
			                .clock_error_ns = UINT64_MAX,
			                .clock_drift_ppm = p->clock_drift_ppm,
			                .elapsed_s = (double)NAN };

		if (isfinite(p->clock_error_ns))
			row.clock_error_ns = (uint64_t)ceil(p->clock_error_ns);
		if (p->doc) {
			row.machine_id = p->doc->head.host.machine_id;
			row.status = status_name(p->doc->status);
			row.elapsed_s = p->doc->head.elapsed_s;
			res->head.elapsed_s = fmax(res->head.elapsed_s, p->doc->head.elapsed_s);
			res->verdict_is_no |= p->doc->verdict_is_no;
			res->verdict_is_open |= p->doc->verdict_is_open;
			join_targets(p, res, "host", true);
			join_faults(p, res, true);
		} else {
			lost++;
			result_notice(
				res, "host-lost",
				"Host %s (rank %u) was lost; what it had measured by then is in its own result, if it came to saving one.",
				p->name, p->rank);
		}
		res->status = worse(res->status, p->doc ? p->doc->status : STATUS_FAILED);
		result_row(result_table(res, "hosts", "Hosts", host_fields), &row);
	}
	hosts_join(parts, n, res, "plan", NULL);
	result_figure_u64(res, "hosts", "hosts", UNIT_COUNT, n);
	result_figure_u64(res, "hosts_lost", "of them lost", UNIT_COUNT, lost);
	together(parts, n, res);
	for (size_t i = 0; i < n; i++)
		if (parts[i].doc)
			join_notices(parts, n, &parts[i], res);
	return res;
}

struct result *hosts_in_turn(const struct hosts_part *parts, size_t n, const char *key)
{
	const struct result *first = parts[0].doc;
	struct result *res = result_new(first->head.measurement);

	copy_head(first, res);
	res->status = STATUS_COMPLETE;
	join_targets(&parts[0], res, key, false);
	for (size_t i = 0; i < n; i++) {
		const struct result *doc = parts[i].doc;

		res->head.elapsed_s += doc->head.elapsed_s;
		res->status = worse(res->status, doc->status);
		join_faults(&parts[i], res, false);
		for (size_t k = 0; k < doc->nnotices; k++)
			result_notice(res, doc->notices[k].code, "%s", doc->notices[k].text);
	}
	join_all(parts, n, first, res, key);
	return res;
}
