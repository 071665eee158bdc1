/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures for a monitoring system: OpenMetrics 1.0 text, gauges only, which is Prometheus' own format, too, so that node_exporter's textfile
 * collector takes it. Names end in the base unit (seconds, bytes, ratio); the samples of a name stand together, as the format demands; of
 * several documents that would be the same sample the latest counts.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "report/report.h"

struct sample {
	char *name, *labels; /* the family; what stands between the braces */
	const char *unit;    /* "" when there is none */
	const char *help;    /* of the family; a document's or a constant */
	double value;
};

struct metrics {
	struct sample *v;
	size_t n, room;
	bool is_short; /* of memory */
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

static void put_escaped(FILE *f, const char *text, bool is_label)
{
	while (*text) {
		const char *shown;
		size_t bytes = report_char(&text, &shown);

		if (*shown == '\\' || (*shown == '"' && is_label))
			(void)fputc('\\', f);
		(void)fwrite(shown, 1, bytes, f);
	}
}

/* Of all targets, in their order, with commas: `disk="sda,sdb"`. Left out when no target has it. */
static void put_identity(FILE *f, const struct result *res, const char *label, const char *key)
{
	bool is_begun = false;

	for (size_t i = 0; i < res->ntargets; i++) {
		const char *text = target_text(&res->targets[i], key);

		if (!text)
			continue;
		if (is_begun)
			(void)fputc(',', f);
		else
			(void)fprintf(f, ",%s=\"", label);
		is_begun = true;
		put_escaped(f, text, true);
	}
	if (is_begun)
		(void)fputc('"', f);
}

/* name and value: one label more, or NULL. Heap. */
static char *labels_of(const struct result *res, const char *name, const char *value)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	(void)fputs("measurement=\"", f);
	put_escaped(f, res->head.measurement ? res->head.measurement : "", true);
	(void)fputc('"', f);
	put_identity(f, res, "target", "path");
	put_identity(f, res, "model", "model");
	put_identity(f, res, "serial", "serial");
	if (name) {
		(void)fprintf(f, ",%s=\"", name);
		put_escaped(f, value ? value : "", true);
		(void)fputc('"', f);
	}
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- samples ---- */

/* Takes labels. The name is made of what the format allows. */
static void add(struct metrics *m, char *labels, const char *unit, const char *help, double value, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
static void add(struct metrics *m, char *labels, const char *unit, const char *help, double value, const char *fmt, ...)
{
	struct sample *more = m->v;
	char *name = NULL;
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vasprintf(&name, fmt, ap);
	va_end(ap);
	if (m->n == m->room && r >= 0) {
		more = reallocarray(m->v, m->room ? 2 * m->room : 64, sizeof(*more));
		if (more) {
			m->v = more;
			m->room = m->room ? 2 * m->room : 64;
		}
	}
	if (r < 0 || !more || !labels) {
		m->is_short = true;
		free(labels);
		if (r >= 0)
			free(name);
		return;
	}
	for (char *c = name; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_", *c))
			*c = '_';
	m->v[m->n] = (struct sample){ name, labels, unit, help ? help : "", value };
	m->n++;
}

/* `platter_zones_start_bytes_per_second`; the interval's ends have the place before the unit. */
static void add_figure(struct metrics *m, const struct result *res, const struct figure *f)
{
	const char *measurement = res->head.measurement ? res->head.measurement : "unknown", *help = f->label;
	const struct metric_unit *u = unit_of_metric(f->unit);
	const char *ending = u->unit == UNIT_NONE ? "" : unit_name(f->unit);
	size_t len = strlen(f->name), cut = strlen(ending);
	const struct {
		const char *part;
		double value;
	} parts[] = { { "", figure_number(f) }, { "_low", f->ci.low }, { "_high", f->ci.high } };

	if (f->type == FIELD_TYPE_STR) {
		if (!f->value.is_null && strlen(f->value.str) < 64) /* a word, no sentence: it is a label */
			add(m, labels_of(res, "value", f->value.str), "", help, 1, "platter_%s_%s", measurement,
			    f->name);
		return;
	}
	if (cut && len > cut && !strcmp(f->name + len - cut, ending) && f->name[len - cut - 1] == '_')
		len -= cut + 1;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (isfinite(parts[i].value))
			add(m, labels_of(res, NULL, NULL), u->name, help, parts[i].value * u->factor,
			    "platter_%s_%.*s%s%s%s", measurement, (int)len, f->name, parts[i].part, *u->name ? "_" : "",
			    u->name);
}

/* Seconds since 1970; NaN when the head does not say. */
static double started_s(const struct result *res)
{
	struct tm tm = { 0 };
	const char *end = res->head.started ? strptime(res->head.started, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;

	if (!end)
		return (double)NAN;
	return (double)timegm(&tm) + (*end == '.' ? strtod(end, NULL) : 0.0);
}

static void add_run(struct metrics *m, const struct result *res)
{
	const double at = started_s(res);

	if (isfinite(at))
		add(m, labels_of(res, NULL, NULL), "seconds", "when the measurement began, since 1970", at,
		    "platter_run_started_seconds");
	if (isfinite(res->head.elapsed_s))
		add(m, labels_of(res, NULL, NULL), "seconds", "how long it took", res->head.elapsed_s,
		    "platter_run_elapsed_seconds");
	for (int s = STATUS_COMPLETE; s < STATUS_N; s++)
		add(m, labels_of(res, "status", status_name((enum result_status)s)), "",
		    "1 for how the measurement ended", (int)res->status == s, "platter_run_status");
	add(m, labels_of(res, "error", "any"), "", "requests that the disk answered badly",
	    (double)result_fault_count(res), "platter_run_disk_errors");
	for (size_t i = 0; i < res->nfault_totals; i++)
		add(m, labels_of(res, "error", res->fault_totals[i].name), "", "requests that the disk answered badly",
		    (double)res->fault_totals[i].n, "platter_run_disk_errors");
	for (size_t i = 0; i < res->nnotices; i++)
		add(m, labels_of(res, "code", res->notices[i].code), "", "1 for each kind of notice of the measurement",
		    1, "platter_run_notice");
}

/* ---- printing ---- */

static int by_name(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : strcmp(x->labels, y->labels);
}

static int by_start(const void *a, const void *b)
{
	const struct result *x = *(const struct result *const *)a, *y = *(const struct result *const *)b;

	return strcmp(x->head.started ? x->head.started : "", y->head.started ? y->head.started : "");
}

static void print_family_head(FILE *out, const struct sample *s)
{
	(void)fprintf(out, "# TYPE %s gauge\n", s->name);
	if (*s->unit)
		(void)fprintf(out, "# UNIT %s %s\n", s->name, s->unit);
	if (*s->help) {
		(void)fprintf(out, "# HELP %s ", s->name);
		put_escaped(out, s->help, false);
		(void)fputc('\n', out);
	}
}

static void print_samples(FILE *out, const struct metrics *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct sample *s = &m->v[i];
		char number[CELL_TEXT];

		if (i == 0 || strcmp(s->name, s[-1].name) != 0)
			print_family_head(out, s);
		if (i + 1 < m->n && !strcmp(s->name, s[1].name) && !strcmp(s->labels, s[1].labels))
			continue; /* a second notice of that code */
		(void)fprintf(out, "%s{%s} %s\n", s->name, s->labels,
		              result_cell_text(number, sizeof(number), FIELD_TYPE_F64,
		                               &(struct cell){ .f64 = s->value }));
	}
	(void)fputs("# EOF\n", out);
}

/* Adds the last document of each measurement of each disk: figures of different runs are not mixed. */
static void add_latest(struct metrics *m, const struct result *const *sorted, size_t n)
{
	char **whose = calloc(n + 1, sizeof(*whose));

	m->is_short |= !whose;
	for (size_t i = 0; i < n && whose; i++)
		whose[i] = labels_of(sorted[i], NULL, NULL);
	for (size_t i = 0; i < n && whose; i++) {
		size_t k = i + 1;

		while (k < n && whose[i] && whose[k] && strcmp(whose[i], whose[k]) != 0)
			k++;
		if (k < n)
			continue;
		add_run(m, sorted[i]);
		for (size_t f = 0; f < sorted[i]->nfigures; f++)
			add_figure(m, sorted[i], &sorted[i]->figures[f]);
	}
	for (size_t i = 0; i < n && whose; i++)
		free(whose[i]);
	free(whose);
}

int report_prometheus(FILE *out, const struct result *const *res, size_t n)
{
	cleanup_free const struct result **sorted = calloc(n + 1, sizeof(*sorted));
	struct metrics m = { .is_short = !sorted };

	if (sorted) {
		memcpy(sorted, res, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), by_start);
		add_latest(&m, sorted, n);
	}
	if (m.n)
		qsort(m.v, m.n, sizeof(*m.v), by_name);
	if (!m.is_short)
		print_samples(out, &m);
	for (size_t i = 0; i < m.n; i++) {
		free(m.v[i].name);
		free(m.v[i].labels);
	}
	free(m.v);
	if (m.is_short)
		return -ENOMEM;
	return fflush(out) || ferror(out) ? -(errno ? errno : EIO) : 0;
}
