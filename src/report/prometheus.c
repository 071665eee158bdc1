/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures for a monitoring system: OpenMetrics 1.0 text, gauges only, which is Prometheus' own format, too, so that
 * node_exporter's textfile collector takes it. Names end in the base unit (seconds, bytes, ratio); the samples of a
 * name stand together, as the format demands. Labels are what a disk is known again by and what was done to it; where
 * it was is in platter_disk_info. Of several documents that would be the same sample the latest counts.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "report/disks.h"
#include "report/markup.h"
#include "report/printer.h"

struct sample {
	char *name, *labels; /* the family; what stands between the braces, and distinguishes it */
	char *details;       /* and what does not, or NULL */
	const char *unit;    /* "" when there is none */
	const char *help;    /* a constant; NULL: a figure */
	size_t turn;         /* of two of the same name and labels the later one counts */
	double value;
};

struct metrics {
	struct sample *v;
	size_t n;
};

struct metric_unit {
	enum unit unit;
	const char *name;
	double factor; /* from the document's unit */
};

static const struct metric_unit metric_units[] = {
	{ UNIT_BYTES, "bytes", 1 },
	{ UNIT_BYTES_PER_S, "bytes_per_second", 1 },
	{ UNIT_MIB_PER_S, "bytes_per_second", 1048576 },
	{ UNIT_NS, "seconds", 1e-9 },
	{ UNIT_S, "seconds", 1 },
	{ UNIT_RATIO, "ratio", 1 },
	{ UNIT_PERCENT, "ratio", 0.01 },
	{ UNIT_RPM, "rpm", 1 },
	{ UNIT_PER_S, "per_second", 1 },
	{ UNIT_NONE, "", 1 },
};

static const struct metric_unit *unit_of_metric(enum unit unit)
{
	const struct metric_unit *u = metric_units;

	while (u->unit != UNIT_NONE && u->unit != unit)
		u++;
	return u;
}

/* ---- labels ---- */

static const char *in_label(char c)
{
	return c == '\\' ? "\\\\" : c == '"' ? "\\\"" : NULL;
}

static void put_escaped(FILE *f, const char *text)
{
	report_put(f, text, in_label);
}

__attribute__((format(printf, 2, 3))) static void put(FILE *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	escaped_printf(f, put_escaped, fmt, ap);
	va_end(ap);
}

/* "2" of sda2, "n1p2" of nvme0n1p2: what a serial number does not say. "": all of it. */
static const char *part_of(const struct target_info *t)
{
	const char *disk = target_text(t, "disk"), *name = target_text(t, "name"), *space;

	if (!disk || !name)
		return "";
	if (strncmp(disk, "nvme", 4) == 0 && strncmp(name, "nvme", 4) == 0 && (space = strchr(name + 4, 'n')) != NULL)
		return space;
	return strncmp(name, disk, strlen(disk)) == 0 ? name + strlen(disk) : "";
}

static void put_disk(FILE *f, const struct result *res, size_t target)
{
	const char *name = alike_lasting_name(res, target), *part = part_of(&res->targets[target]);
	struct disk_names names;

	result_names(res, target, &names);
	if (name)
		put(f, *part ? "%s:%s" : "%s%s", name, part);
	else
		put(f, "%s:%s", res->head.host.name, names.place);
}

/* Of all targets, in their order, with commas: `model="A,B"`. Left out when no target has it. */
static void put_members(FILE *f, const struct result *res, const char *key)
{
	bool is_begun = false;

	for (size_t i = 0; i < res->ntargets; i++) {
		const char *text = target_text(&res->targets[i], key);

		if (!text)
			continue;
		put(f, is_begun ? ",%.0s%s" : ",%s=\"%s", key, text);
		is_begun = true;
	}
	(void)fputs(is_begun ? "\"" : "", f);
}

/* Does it make another series? Of one that no table knows, unless it is off. */
static bool option_counts(const struct result *res, const struct option_value *o)
{
	enum option_kind kind = report_option_kind(res, o);
	bool is_off = !o->text || !*o->text || strcmp(o->text, "no") == 0 || strcmp(o->text, "0") == 0;

	return kind == OPTION_GIVEN || (kind == OPTION_UNKNOWN && !is_off);
}

static bool is_writing(const struct option_value *o)
{
	return strcmp(o->name, "write") == 0 || strcmp(o->name, "rewrite") == 0;
}

/* One that was given, and is part of what was measured: a word of its own, or as it was typed. */
static void put_option(FILE *f, const struct option_value *o)
{
	static const char *const words[][2] = {
		{ "write", "write" },          { "rewrite", "rewrite" }, { "read", "play" },
		{ "arrivals", "open" },        { "find", "search" },     { "portion", "portion" },
		{ "verify-command", "verify" }
	};
	const char *word = NULL;

	for (size_t w = 0; w < ARRAY_LEN(words); w++)
		word = strcmp(o->name, words[w][0]) == 0 ? words[w][1] : word;
	put(f, word ? "%s" : "--%s", word ? word : o->name);
	if (strcmp(o->text, "yes") != 0)
		put(f, "=%s", o->text);
}

/* What was done to it: "read", "write=30%,--block=64KiB". What reads and writes files by nature has no such word. */
static void put_operation(FILE *f, const struct result *res)
{
	const struct option_value *v = res->head.options;
	const char *begin = ",operation=\"";
	bool may_write = false, writes = false;

	for (size_t i = 0; i < res->head.noptions; i++) {
		may_write |= is_writing(&v[i]);
		writes |= is_writing(&v[i]) && option_counts(res, &v[i]);
	}
	if (may_write && !writes) {
		(void)fprintf(f, "%sread", begin);
		begin = ",";
	}
	for (size_t i = 0; i < res->head.noptions; i++)
		if (option_counts(res, &v[i])) {
			(void)fputs(begin, f);
			put_option(f, &v[i]);
			begin = ",";
		}
	(void)fputs(begin[1] ? "" : "\"", f);
}

/*
 * Heap. The disk's are the same for each run of it, in every file; where only the host distinguishes it, with the
 * host's identity. is_run: of this measurement and operation. name and value: one label more, or NULL.
 */
static char *labels_of(const struct result *res, bool is_run, const char *name, const char *value)
{
	char *text = NULL;
	size_t len;
	FILE *f = xmust(open_memstream(&text, &len));
	bool is_of_host = false;

	(void)fputs("disk=\"", f);
	for (size_t i = 0; i < res->ntargets; i++) {
		(void)fputs(i ? "," : "", f);
		put_disk(f, res, i);
		is_of_host |= !alike_lasting_name(res, i);
	}
	(void)fputc('"', f);
	put_members(f, res, "model");
	if (is_of_host && res->head.host.machine_id)
		put(f, ",machine=\"%s\"", res->head.host.machine_id);
	if (is_run) {
		put(f, ",measurement=\"%s\"", res->head.measurement);
		put_operation(f, res);
	}
	if (name)
		put(f, ",%s=\"%s\"", name, value);
	return xmust(fclose(f) == 0 ? text : NULL);
}

/* What may change while the disk stays the same. Heap. */
static char *details_of(const struct result *res)
{
	static const char *const keys[] = { "path", "serial", "wwn", "firmware" };
	char *text = NULL;
	size_t len;
	FILE *f = xmust(open_memstream(&text, &len));

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		put_members(f, res, keys[i]);
	put(f, ",host=\"%s\"", res->head.host.name);
	return xmust(fclose(f) == 0 ? text : NULL);
}

/* ---- samples ---- */

/* Takes labels. The name is made of what the format allows. */
__attribute__((format(printf, 6, 7))) static void add(struct metrics *m, char *labels, const char *unit,
                                                      const char *help, double value, const char *fmt, ...)
{
	char *name = NULL;
	va_list ap;

	va_start(ap, fmt);
	name = xmust(vasprintf(&name, fmt, ap) < 0 ? NULL : name);
	va_end(ap);
	for (char *c = name; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_", *c))
			*c = '_';
	m->v = xgrow(m->v, m->n + 1, sizeof(*m->v));
	m->v[m->n] = (struct sample){ name, labels, NULL, unit, help, m->n, value };
	m->n++;
}

/* `platter_zones_start_bytes_per_second`; the interval's ends have the place before the unit. */
static void add_figure(struct metrics *m, const struct result *res, const struct figure *f)
{
	const char *measurement = res->head.measurement ? res->head.measurement : "unknown";
	const struct metric_unit *u = unit_of_metric(f->unit);
	const char *ending = u->unit == UNIT_NONE ? "" : unit_name(f->unit);
	size_t len = strlen(f->name), cut = strlen(ending);
	const struct {
		const char *part;
		double value;
	} parts[] = { { "", figure_number(f) }, { "_low", f->ci.low }, { "_high", f->ci.high } };

	if (f->type == FIELD_TYPE_STR) {
		if (!f->value.is_null && strlen(f->value.str) < 64) /* a word, no sentence: it is a label */
			add(m, labels_of(res, true, "value", f->value.str), "", NULL, 1, "platter_%s_%s", measurement,
			    f->name);
		return;
	}
	if (cut && len > cut && !strcmp(f->name + len - cut, ending) && f->name[len - cut - 1] == '_')
		len -= cut + 1;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (isfinite(parts[i].value))
			add(m, labels_of(res, true, NULL, NULL), u->name, NULL, parts[i].value * u->factor,
			    "platter_%s_%.*s%s%s%s", measurement, (int)len, f->name, parts[i].part, *u->name ? "_" : "",
			    u->name);
}

static void add_run(struct metrics *m, const struct result *res)
{
	const double at = alike_seconds(res);

	add(m, labels_of(res, false, NULL, NULL), "", "the disk, by where and what it was in its last run", 1,
	    "platter_disk_info");
	m->v[m->n - 1].details = details_of(res);
	if (isfinite(at))
		add(m, labels_of(res, true, NULL, NULL), "seconds", "when the measurement began, since 1970", at,
		    "platter_run_started_seconds");
	if (isfinite(res->head.elapsed_s))
		add(m, labels_of(res, true, NULL, NULL), "seconds", "how long it took", res->head.elapsed_s,
		    "platter_run_elapsed_seconds");
	for (int s = STATUS_COMPLETE; s < STATUS_N; s++)
		add(m, labels_of(res, true, "status", status_name((enum result_status)s)), "",
		    "1 for how the measurement ended", (int)res->status == s, "platter_run_status");
	add(m, labels_of(res, true, "error", "any"), "", "requests that the disk answered badly",
	    (double)result_fault_count(res), "platter_run_disk_errors");
	for (size_t i = 0; i < res->nfault_totals; i++)
		add(m, labels_of(res, true, "error", res->fault_totals[i].name), "",
		    "requests that the disk answered badly", (double)res->fault_totals[i].n, "platter_run_disk_errors");
	for (size_t i = 0; i < res->nnotices; i++)
		add(m, labels_of(res, true, "code", res->notices[i].code), "",
		    "1 for each kind of notice of the measurement", 1, "platter_run_notice");
}

/* ---- printing ---- */

static int by_name(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;
	int r = strcmp(x->name, y->name) ?: strcmp(x->labels, y->labels);

	return r ? r : (x->turn > y->turn) - (x->turn < y->turn);
}

static void print_family_head(FILE *out, const struct sample *s)
{
	(void)fprintf(out, "# TYPE %s gauge\n", s->name);
	if (*s->unit)
		(void)fprintf(out, "# UNIT %s %s\n", s->name, s->unit);
	if (s->help)
		(void)fprintf(out, "# HELP %s %s\n", s->name, s->help);
	else /* of the name alone: a label of the document may be another one in another file */
		(void)fprintf(out, "# HELP %s a figure of platter, which the manual page of the measurement explains\n",
		              s->name);
}

static void print_samples(FILE *out, const struct metrics *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct sample *s = &m->v[i];
		char number[CELL_TEXT];

		if (i == 0 || strcmp(s->name, s[-1].name) != 0)
			print_family_head(out, s);
		if (i + 1 < m->n && !strcmp(s->name, s[1].name) && !strcmp(s->labels, s[1].labels))
			continue; /* a second notice of that code; what an earlier run showed of a disk */
		(void)fprintf(out, "%s{%s%s} %s\n", s->name, s->labels, s->details ? s->details : "",
		              result_cell_text(number, sizeof(number), FIELD_TYPE_F64,
		                               &(struct cell){ .f64 = s->value }));
	}
	(void)fputs("# EOF\n", out);
}

/* Adds the last document of each measurement and operation of each disk: figures of different runs are not mixed. */
static void add_latest(struct metrics *m, const struct result *const *sorted, size_t n)
{
	cleanup_free char **whose = xcalloc(n + 1, sizeof(*whose));

	for (size_t i = 0; i < n; i++)
		whose[i] = labels_of(sorted[i], true, NULL, NULL);
	for (size_t i = 0; i < n; i++) {
		size_t k = i + 1;

		while (k < n && strcmp(whose[i], whose[k]) != 0)
			k++;
		if (k == n)
			add_run(m, sorted[i]);
		for (size_t f = 0; k == n && f < sorted[i]->nfigures; f++)
			add_figure(m, sorted[i], &sorted[i]->figures[f]);
		free(whose[i]);
	}
}

/* The verdict of all documents of a disk. */
static void add_verdicts(struct metrics *m, const struct result *const *res, size_t n, double threshold)
{
	struct fleet *f = fleet_of(res, n, threshold);

	for (size_t d = 0; d < f->ndisks; d++)
		add(m,
		    labels_of(f->disks[d].v[f->disks[d].n - 1], false, "verdict", fleet_state_name(f->disks[d].state)),
		    "", "1 for the verdict of all runs of the disk", 1, "platter_disk_verdict");
	fleet_free(f);
}

int report_prometheus(FILE *out, const struct result *const *res, size_t n, double threshold)
{
	cleanup_free const struct result **sorted = xcalloc(n + 1, sizeof(*sorted));
	struct metrics m = { 0 };

	memcpy(sorted, res, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), alike_by_date);
	add_latest(&m, sorted, n);
	if (isfinite(threshold))
		add_verdicts(&m, res, n, threshold);
	if (m.n)
		qsort(m.v, m.n, sizeof(*m.v), by_name);
	print_samples(out, &m);
	for (size_t i = 0; i < m.n; i++) {
		free(m.v[i].name);
		free(m.v[i].labels);
		free(m.v[i].details);
	}
	free(m.v);
	return report_end(out);
}
