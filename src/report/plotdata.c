/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/plotdata.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/order.h"
#include "base/str.h"
#include "base/xalloc.h"
#include "report/report.h"
#include "stats/stats.h"

#define UNREAD_LEAST 0.02 /* of the axis: what can be seen */
#define STANDS_OUT   100  /* times the median has the strongest colour of a map of places, or what is more */
#define DOTTED_MOST  4    /* documents over each other: dots of more are a fog */

static void label_axis(const struct plot_data *d, struct axis *a, const char *label, enum unit unit)
{
	(void)report_printable(a->label, sizeof(a->label), label ?: "", 0, d->is_unicode);
	a->unit = unit;
}

/* Element i of a comma-separated list as a column of the table; -1: none. */
static int list_column(const struct table *t, const char *list, size_t i)
{
	char key[64];

	for (; list && i > 0; i--) {
		const char *comma = strchr(list, ',');

		list = comma ? comma + 1 : NULL;
	}
	(void)snprintf(key, sizeof(key), "%.*s", (int)strcspn(list ?: "", ","), list ?: "");
	return *key ? table_column(t, key) : -1;
}

static double number(const struct table *t, size_t row, int col)
{
	return col < 0 ? (double)NAN : table_number(t, row, (size_t)col);
}

/* Text of a cell that splits rows into series; "" for a text that is not there: the rows are not part of others. */
static void split_text(const struct table *t, size_t row, int col, char *buf, size_t len)
{
	const char *text = table_string(t, row, (size_t)col);
	double v = table_number(t, row, (size_t)col);

	if (text || t->columns[col].type == FIELD_TYPE_STR)
		(void)snprintf(buf, len, "%s", text ? text : "");
	else if (t->columns[col].unit == UNIT_BYTES && v >= 1024 && fmod(v, 1024) == 0)
		(void)snprintf(buf, len, "%s %.6g KiB", t->columns[col].label, v / 1024);
	else
		(void)snprintf(buf, len, "%s %.6g", t->columns[col].label, v);
}

#define SPLITS_MAX 3

struct columns {
	int x, x_end, y, z, low, high;
	int split[SPLITS_MAX]; /* -1: no more */
};

/* The one of that name and document, made where it is not there yet. */
static struct series *series_of(struct plot_data *d, const char *name, size_t document)
{
	char *text = report_shown(name, 0, d->is_unicode);

	for (size_t i = 0; i < d->nseries; i++)
		if (d->series[i].document == document && strcmp(d->series[i].name, text) == 0) {
			free(text);
			return &d->series[i];
		}
	d->series = xgrow(d->series, d->nseries + 1, sizeof(*d->series));
	d->series[d->nseries] = (struct series){ .name = text, .document = document };
	return &d->series[d->nseries++];
}

static double bar_place(struct plot_data *d, const struct table *t, size_t row, int col)
{
	char text[96], *name;

	split_text(t, row, col, text, sizeof(text));
	name = report_shown(text, 0, d->is_unicode);
	for (size_t i = 0; i < d->nnames; i++)
		if (strcmp(d->names[i], name) == 0) {
			free(name);
			return (double)i;
		}
	xappend(d->names, d->nnames, name);
	return (double)(d->nnames - 1);
}

static void collect(struct plot_data *d, const struct table *t, const struct columns *c, const char *name,
                    size_t document)
{
	for (size_t row = 0; row < t->nrows; row++) {
		struct series *s;
		char full[300];
		struct point p = {
			.x = d->kind == PLOT_BARS ? bar_place(d, t, row, c->x) : number(t, row, c->x),
			.x_end = number(t, row, c->x_end),
			.y = number(t, row, c->y),
			.z = number(t, row, c->z),
			.low = number(t, row, c->low),
			.high = number(t, row, c->high),
		};

		if (!isfinite(p.x) || !isfinite(p.y))
			continue;
		(void)snprintf(full, sizeof(full), "%.150s", name);
		for (size_t i = 0; i < SPLITS_MAX && c->split[i] >= 0; i++) {
			char part[96];

			split_text(t, row, c->split[i], part, sizeof(part));
			str_list(full, sizeof(full), part[0] ? ", " : "", "%s", part);
		}
		s = series_of(d, full, document);
		xappend(s->v, s->n, p);
	}
}

/* What an axis of several columns shows: no one of them gives it its name. NULL: its column does. */
static const char *quantity(enum unit unit, bool is_single)
{
	static const char *const names[] = {
		[UNIT_NS] = "time",          [UNIT_S] = "time",         [UNIT_BYTES] = "size",
		[UNIT_BYTES_PER_S] = "rate", [UNIT_MIB_PER_S] = "rate", [UNIT_PER_S] = "rate"
	};

	return is_single || unit >= ARRAY_LEN(names) ? NULL : names[unit];
}

static void name_axes(struct plot_data *d, const struct table *t, const struct columns *c, bool is_single)
{
	const struct column *x = &t->columns[c->x], *y = &t->columns[c->y];

	d->is_by_place = d->kind != PLOT_HEATMAP && x->unit == UNIT_BYTES &&
	                 (!strcmp(x->key, "first_byte") || !strcmp(x->key, "offset_bytes"));
	label_axis(d, &d->x, d->is_by_place ? "offset" : x->label, x->unit);
	label_axis(d, &d->y, quantity(y->unit, is_single) ?: y->label, y->unit);
	if (c->z >= 0)
		label_axis(d, &d->z, t->columns[c->z].label, t->columns[c->z].unit);
}

static void take_document(struct plot_data *d, const struct result *const *res, size_t n, size_t which,
                          const struct plot *plot)
{
	const struct table *t = result_find_table(res[which], plot->table);
	bool is_map = d->kind == PLOT_HEATMAP;
	char label[160];

	if (!t)
		return;
	(void)document_label(res, n, which, label, sizeof(label));
	for (size_t k = 0; k < (is_map ? 1u : 8u); k++) {
		struct columns c = {
			.x = list_column(t, plot->x, 0),
			.x_end = list_column(t, plot->x, 1),
			.y = list_column(t, plot->y, k),
			.z = is_map ? list_column(t, plot->y, 1) : -1,
			.low = list_column(t, plot->low, k),
			.high = list_column(t, plot->high, k),
			.split = { list_column(t, plot->series, 0), list_column(t, plot->series, 1),
			           list_column(t, plot->series, 2) },
		};
		bool is_single = is_map || list_column(t, plot->y, 1) < 0;
		char name[300];

		if (c.x < 0 || c.y < 0)
			break;
		if (is_single)
			(void)snprintf(name, sizeof(name), "%s",
			               n > 1        ? label
			               : plot->dots ? label_or_name(t->title, t->name)
			                            : "");
		else
			(void)snprintf(name, sizeof(name), n > 1 ? "%s, %s" : "%s%.0s", t->columns[c.y].label, label);
		collect(d, t, &c, name, which);
		if (k == 0 && !d->x.label[0]) /* units and labels come from the first document that has the table */
			name_axes(d, t, &c, is_single);
	}
}

/* plot->dots: "table:x:y". */
static void take_dots(struct plot_data *d, const struct result *const *res, size_t n, size_t which,
                      const struct plot *plot)
{
	struct columns c = { -1, -1, -1, -1, -1, -1, { -1, -1, -1 } };
	cleanup_free char *text = plot->dots ? xmust(strdup(plot->dots)) : NULL;
	char *save = NULL, label[160], name[300];
	size_t first;
	const char *table = text ? strtok_r(text, ":", &save) : NULL, *x = table ? strtok_r(NULL, ":", &save) : NULL,
		   *y = x ? strtok_r(NULL, ":", &save) : NULL;
	const struct table *t = y ? result_find_table(res[which], table) : NULL;

	if (!t)
		return;
	c.x = table_column(t, x);
	c.y = table_column(t, y);
	if (c.x < 0 || c.y < 0)
		return;
	(void)document_label(res, n, which, label, sizeof(label));
	(void)snprintf(name, sizeof(name), n > 1 ? "%s, %s" : "%s%.0s", t->title, label);
	first = d->nseries;
	collect(d, t, &c, name, which);
	for (size_t i = first; i < d->nseries; i++)
		d->series[i].is_dots = true;
}

/* ---- marks ---- */

static struct marks *add_marks(struct plot_data *d, const char *name)
{
	char *text = report_shown(name, 0, d->is_unicode);

	for (size_t i = 0; i < d->nmarks; i++)
		if (strcmp(d->marks[i].name, text) == 0) {
			free(text);
			return &d->marks[i];
		}
	d->marks = xgrow(d->marks, d->nmarks + 1, sizeof(*d->marks));
	d->marks[d->nmarks] = (struct marks){ .name = text };
	return &d->marks[d->nmarks++];
}

static void add_mark(struct plot_data *d, const char *name, double first, double last)
{
	struct marks *m;

	if (!isfinite(first))
		return;
	m = add_marks(d, name);
	m->v = xgrow(m->v, m->n + 1, sizeof(*m->v));
	m->v[m->n][0] = first;
	m->v[m->n++][1] = isfinite(last) && last > first ? last : first;
}

/* One element of plot->marks, as result.h has it. */
static void take_mark(struct plot_data *d, const struct result *res, char *text)
{
	char *save = NULL, *table = strtok_r(text, ":", &save), *first = strtok_r(NULL, ":", &save);
	const char *last = strtok_r(NULL, ":", &save);
	const struct figure *f = table && first ? result_find_figure(res, first) : NULL;
	const struct table *t;
	int from, to;

	if (!table || !first)
		return;
	if (strcmp(table, "figures") == 0) {
		if (f && f->type != FIELD_TYPE_STR && !f->value.is_null)
			add_mark(d, label_or_name(f->label, f->name), figure_number(f), (double)NAN);
		return;
	}
	t = result_find_table(res, table);
	from = t ? table_column(t, first) : -1;
	to = t && last ? table_column(t, last + (*last == '+')) : -1;
	for (size_t row = 0; from >= 0 && row < t->nrows; row++)
		add_mark(d, label_or_name(t->title, t->name), number(t, row, from),
		         number(t, row, to) + (last && *last == '+' ? number(t, row, from) : 0));
}

static void take_marks(struct plot_data *d, const struct result *res, const struct plot *plot)
{
	cleanup_free char *list = plot->marks ? xmust(strdup(plot->marks)) : NULL;
	char *save = NULL;

	for (char *one = list ? strtok_r(list, ",", &save) : NULL; one; one = strtok_r(NULL, ",", &save))
		take_mark(d, res, one);
}

/* What lies before and behind all that the picture shows, where that is more than between its points. */
static void mark_unread(struct plot_data *d)
{
	double least = UNREAD_LEAST * (d->x.high - d->x.low), first = d->x.high, last = d->x.low;
	size_t marks = d->nmarks;

	for (size_t i = 0; i < d->nseries; i++)
		for (size_t k = 0; k < d->series[i].n; k++) {
			const struct point *p = &d->series[i].v[k];

			if (k > 0 && !d->series[i].is_dots)
				least = fmax(least, 1.5 * (p->x - p[-1].x));
			first = fmin(first, p->x);
			last = fmax(last, fmax(p->x, p->x_end)); /* the number, where one is none */
		}
	if (first - d->x.low > least)
		add_mark(d, "not read", d->x.low, first);
	if (d->x.high - last > least)
		add_mark(d, "not read", last, d->x.high);
	if (d->nmarks > marks)
		d->marks[marks].is_unread = true;
}

/* Of the cells of a map of places: in a row they begin at 0, and the next row where the last one ends. */
static double cell_bytes(const struct plot_data *d)
{
	double cell = (double)INFINITY, row = cell, least = cell, most = 0;
	const struct series *s = &d->series[0];

	if (d->kind != PLOT_HEATMAP || d->x.unit != UNIT_BYTES || d->y.unit != UNIT_BYTES)
		return (double)NAN;
	for (size_t i = 0; i < s->n; i++) {
		least = fmin(least, s->v[i].x);
		most = fmax(most, s->v[i].x);
		cell = s->v[i].x > 0 ? fmin(cell, s->v[i].x) : cell;
		row = s->v[i].y > s->v[0].y ? fmin(row, s->v[i].y - s->v[0].y) : row;
	}
	return least == 0 && row >= most + cell - 2 ? cell : (double)NAN; /* each was rounded to a byte */
}

/* Colours of a map of places are for what stands out by far: a cell as most of those without a mark is pale. */
static void show_standing_out(struct plot_data *d)
{
	cleanup_free double *z = xcalloc(d->series[0].n, sizeof(*z));
	size_t n = 0;

	for (size_t i = 0; i < d->series[0].n; i++)
		if (isfinite(d->series[0].v[i].z) && !plot_is_marked(d, &d->series[0].v[i]))
			z[n++] = d->series[0].v[i].z;
	d->z.low = n ? fmax(stats_median(z, n), d->z.low) : d->z.high / STANDS_OUT;
	d->z.high = fmax(d->z.high, STANDS_OUT * d->z.low);
}

struct plot_data *plot_data_new(const struct result *const *res, size_t n, const struct plot *plot, bool is_unicode)
{
	struct plot_data *d = xcalloc(1, sizeof(*d));
	bool is_drawable = false; /* a line of one point is none */

	if (result_plot_kind(plot->kind) > 0) /* else a line */
		d->kind = (enum plot_kind)result_plot_kind(plot->kind);
	d->is_unicode = is_unicode;
	d->title = report_shown(plot->title, 0, d->is_unicode);
	for (size_t i = 0; i < n; i++)
		take_document(d, res, n, i, plot);
	for (size_t i = 0; n <= DOTTED_MOST && i < n; i++)
		take_dots(d, res, n, i, plot);
	for (size_t i = 0; i < n; i++)
		take_marks(d, res[i], plot);
	for (size_t i = 0; i < d->nseries; i++) {
		bool is_line = d->kind == PLOT_LINE || d->kind == PLOT_STEP;

		if (is_line) /* rows stand in the order in which they were measured */
			qsort(d->series[i].v, d->series[i].n, sizeof(struct point), order_f64);
		is_drawable |= d->series[i].n > (is_line && !d->series[i].is_dots ? 1 : 0);
	}
	if (!is_drawable) {
		plot_data_free(d);
		return NULL;
	}
	plot_make_axes(d, res, n);
	if (d->is_by_place && n == 1)
		mark_unread(d);
	d->cell = cell_bytes(d);
	if (isfinite(d->cell))
		show_standing_out(d);
	return d;
}

bool plot_is_marked(const struct plot_data *d, const struct point *p)
{
	for (size_t i = 0; isfinite(d->cell) && i < d->nmarks; i++)
		for (size_t k = 0; k < d->marks[i].n; k++)
			if (fmax(d->marks[i].v[k][1], d->marks[i].v[k][0] + 1) > p->x + p->y &&
			    d->marks[i].v[k][0] < p->x + p->y + d->cell)
				return true;
	return false;
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : !a && !b;
}

bool plot_is_repeated(const struct result *const *res, size_t which, size_t i)
{
	const struct plot *p = &res[which]->plots[i];

	for (size_t doc = 0; doc <= which; doc++)
		for (size_t k = 0; k < (doc == which ? i : res[doc]->nplots); k++) {
			const struct plot *q = &res[doc]->plots[k];

			if (is_same_text(p->kind, q->kind) && is_same_text(p->table, q->table) &&
			    is_same_text(p->x, q->x) && is_same_text(p->y, q->y) && is_same_text(p->series, q->series))
				return true;
		}
	return false;
}

bool plot_has_points(const struct result *const *res, size_t which, size_t i)
{
	struct plot_data *d =
		plot_is_repeated(res, which, i) ? NULL : plot_data_new(&res[which], 1, &res[which]->plots[i], true);

	plot_data_free(d);
	return d != NULL;
}

void plot_data_free(struct plot_data *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->nseries; i++) {
		free(d->series[i].name);
		free(d->series[i].v);
	}
	for (size_t i = 0; i < d->nmarks; i++) {
		free(d->marks[i].name);
		free(d->marks[i].v);
	}
	free(d->marks);
	for (size_t i = 0; i < d->nnames; i++)
		free(d->names[i]);
	free(d->names);
	free(d->series);
	free(d->title);
	free(d);
}

void plot_thin(struct series *s, size_t max)
{
	size_t groups = max / 2, kept = 0;
	struct point *v;

	if (s->n <= max || groups == 0)
		return;
	v = xmust(malloc(2 * groups * sizeof(*v)));
	for (size_t g = 0; g < groups; g++) {
		size_t from = g * s->n / groups, to = (g + 1) * s->n / groups, lo = from, hi = from;

		for (size_t i = from; i < to; i++) {
			if (s->v[i].y < s->v[lo].y)
				lo = i;
			if (s->v[i].y > s->v[hi].y)
				hi = i;
		}
		v[kept++] = s->v[lo < hi ? lo : hi];
		if (lo != hi)
			v[kept++] = s->v[lo < hi ? hi : lo];
	}
	free(s->v);
	s->v = v;
	s->n = kept;
}

char *document_label(const struct result *const *res, size_t n, size_t which, char *buf, size_t len)
{
	const struct target_info *t = res[which]->targets;
	const char *model = target_text(t, "model") ?: "", *serial = target_text(t, "serial") ?: "";
	const char *name = model[0] ? model : target_text(t, "path") ?: "";
	bool is_same = false;

	for (size_t i = 0; i < n; i++)
		is_same |= i != which && strcmp(target_text(res[i]->targets, "model") ?: "", model) == 0 &&
		           strcmp(target_text(res[i]->targets, "serial") ?: "", serial) == 0;
	(void)snprintf(buf, len, "%.80s%s%.60s%s%.10s", name, serial[0] ? " " : "", serial, is_same ? ", " : "",
	               is_same ? res[which]->head.started ?: "" : "");
	return buf;
}

/* ---- what stands for what, and the cells of a map ---- */

/* Sorted different values of x or y of one series; heap. */
static double *levels(const struct series *s, bool is_x, size_t *ret_n)
{
	double *v = xcalloc(s->n + 1, sizeof(*v));
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		v[i] = is_x ? s->v[i].x : s->v[i].y;
	qsort(v, s->n, sizeof(*v), order_f64);
	for (size_t i = 0; i < s->n; i++)
		if (n == 0 || v[i] != v[n - 1])
			v[n++] = v[i];
	*ret_n = n;
	return v;
}

static size_t level_of(const double *v, size_t n, double x)
{
	size_t i = 0;

	while (i + 1 < n && v[i] < x)
		i++;
	return i;
}

size_t map_fill(struct series *s)
{
	size_t nx, ny;
	cleanup_free double *xs = levels(s, true, &nx), *ys = levels(s, false, &ny);
	struct point *v = xcalloc(nx * ny + 1, sizeof(*v));

	for (size_t i = 0; i < nx * ny; i++)
		v[i] = (struct point){ xs[i % nx], ys[i / nx], NAN, NAN, NAN, NAN };
	for (size_t i = 0; i < s->n; i++)
		v[level_of(ys, ny, s->v[i].y) * nx + level_of(xs, nx, s->v[i].x)] = s->v[i];
	free(s->v);
	s->v = v;
	s->n = nx * ny;
	return nx;
}

char *map_level_text(const struct axis *a, double v, char *buf, size_t len)
{
	if (a->unit == UNIT_BYTES)
		return report_with_unit(buf, len, &a->levels, v);
	(void)snprintf(buf, len, "%.6g", v);
	return buf;
}

char *map_heat_text(const struct plot_data *d, int i, char *buf, size_t len)
{
	double part = (double)i / MAP_HEAT_STEPS;

	return report_f64(buf, len, d->z.unit,
	                  d->z.is_log ? d->z.low * pow(d->z.high / d->z.low, part)
	                              : d->z.low + part * (d->z.high - d->z.low));
}

const char *map_heat_label(const struct plot_data *d)
{
	return d->z.label[0] ? d->z.label : "value";
}

bool plot_key(const struct plot_data *d, size_t i, struct plot_key *ret)
{
	bool is_map = d->kind == PLOT_HEATMAP;
	size_t nseries = d->nseries > 1 && !is_map ? d->nseries : 0, step = i - nseries - d->nmarks;

	*ret = (struct plot_key){ .heat = (double)NAN, .is_series = i < nseries };
	ret->is_mark = !ret->is_series && i - nseries < d->nmarks;
	ret->at = ret->is_series ? i : i - nseries;
	if (ret->is_series || ret->is_mark) {
		ret->name = ret->is_series ? d->series[i].name : d->marks[ret->at].name;
		return true;
	}
	if (step > 0)
		ret->heat = (double)(step - 1) / MAP_HEAT_STEPS;
	ret->name = step == 0 ? map_heat_label(d) : map_heat_text(d, (int)step - 1, ret->text, sizeof(ret->text));
	return is_map && step <= MAP_HEAT_STEPS + 1;
}
