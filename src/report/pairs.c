/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is held against what: documents, and rows of their tables. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "report/alike.h"

#define HITS_MOST                                                                                                 \
	0.05 /* a choice: a row with a third of hits was 35 % off in the next run, rows with up to a tenth stayed \
	        within their intervals */

/* ---- documents ---- */

/* Among the documents of the same test the latest that came to its end: a directory may hold many. */
static const struct result *latest_match(const struct result *const *v, size_t n, const struct result *like, char *why)
{
	const struct result *best = NULL;
	char reason[WHY_TEXT];

	for (size_t i = 0; i < n; i++) {
		enum alike how = alike(like, v[i], reason);

		if (how == ALIKE && alike_outcome(v[i]) >= 0 && (!best || alike_by_date(&v[i], &best) > 0))
			best = v[i];
		if (why && how == OTHER_OPTIONS)
			(void)snprintf(why, WHY_TEXT, "%s", reason);
		if (why && how == ALIKE && alike_outcome(v[i]) < 0 && !why[0])
			(void)snprintf(why, WHY_TEXT, "it is %s", status_name(v[i]->status));
	}
	return best;
}

/* Two single documents of one measurement are compared whatever they are of: "is this disk as good as that one". What
 * is not the same is a notice. */
void pair_notice(struct result *res, const struct result *a, const struct result *b)
{
	char why[WHY_TEXT];

	switch (alike(a, b, why)) {
	case OTHER_DISK:
		result_notice(res, "other-disk", "A is of disk %s, B of disk %s: %s.", alike_disk(a), alike_disk(b),
		              why);
		break;
	case OTHER_OPTIONS:
		result_notice(res, "options", "%s of %s: %s: what differs may come from that.", a->head.measurement,
		              alike_disk(a), why);
		break;
	case ALIKE:
	case OTHER_MEASUREMENT:
		break;
	}
}

/* What a of A is compared with, the latest of its like with the latest; NULL: nothing. */
void pairs_find(struct pairs *p, struct result *res, const struct result *const *a, size_t na,
                const struct result *const *b, size_t nb)
{
	p->v = xcalloc(2 * na + 1, sizeof(*p->v));
	p->is_forced = na == 1 && nb == 1 && strcmp(a[0]->head.measurement, b[0]->head.measurement) == 0;
	for (size_t i = 0; i < na; i++) {
		const struct result *other = p->is_forced ? b[0] : NULL;
		const char *measurement = a[i]->head.measurement;
		char why[WHY_TEXT] = "";

		if (!other && latest_match(a, na, a[i], NULL) != a[i])
			continue;
		other = other ? other : latest_match(b, nb, a[i], why);
		if (!other) {
			result_notice(res, "no-like", "%s of %s has no counterpart in B%s%s, so it is not compared.",
			              measurement, alike_disk(a[i]), why[0] ? ": " : "", why);
			(void)snprintf(p->why, WHY_TEXT, "%s", why);
			continue;
		}
		p->v[2 * p->n] = a[i];
		p->v[2 * p->n++ + 1] = other;
	}
}

/* ---- rows ---- */

static const struct curve_decl curve_decls[] = {
	{ "zones", "curve", { "target" }, "offset_bytes", "rate_bytes_per_s", "low", "high" },
	{ "seek", "spans", { "anchor", "span_bytes" }, NULL, "mean_ns", "low", "high" },
	{ "seek", "curve", { "distance_bytes" }, NULL, "seek_ns", "low", "high" },
	{ "seek", "queue", { "depth" }, NULL, "iops", "low", "high" },
	{ "surface", "by_head", { "surface" }, NULL, "revolutions_lost", "low", "high" },
	{ "cache",
	  "matrix",
	  { "mode", "operation", "file_bytes", "record_bytes" },
	  NULL,
	  "rate_bytes_per_s",
	  "low_bytes_per_s",
	  "high_bytes_per_s" },
};

static bool is_same_cell(const struct table *a, size_t ra, const struct table *b, size_t rb, const char *key)
{
	int ca = table_column(a, key), cb = table_column(b, key);
	const char *x, *y;

	if (ca < 0 || cb < 0) /* an older document has no column of that name */
		return ca < 0 && cb < 0;
	if (a->columns[ca].type != FIELD_TYPE_STR)
		return table_number(a, ra, (size_t)ca) == table_number(b, rb, (size_t)cb);
	x = table_string(a, ra, (size_t)ca);
	y = table_string(b, rb, (size_t)cb);
	return x && y ? strcmp(x, y) == 0 : x == y;
}

/* The row of b that is as row `row` of a, the nearest of them where there are places. -1: none. */
long curve_same_row(const struct curve_decl *d, const struct table *a, size_t row, const struct table *b)
{
	double place = d->place ? table_number_of(a, row, d->place) : 0.0, best = INFINITY;
	long found = -1;

	for (size_t r = 0; r < b->nrows; r++) {
		double off = d->place ? fabs(table_number_of(b, r, d->place) - place) : 0.0;
		bool is_same = off < best;

		for (size_t k = 0; is_same && k < ARRAY_LEN(d->keys) && d->keys[k]; k++)
			is_same = is_same_cell(a, row, b, r, d->keys[k]);
		if (!is_same)
			continue;
		best = off;
		found = (long)r;
	}
	return found;
}

/* How far the curve goes from a row to the further of the next ones. */
static double step_beside(const struct curve_decl *d, const struct table *t, size_t row)
{
	double here = table_number_of(t, row, d->value), step = 0.0;

	if (row > 0)
		step = fmax(step, fabs(table_number_of(t, row - 1, d->value) - here));
	if (row + 1 < t->nrows)
		step = fmax(step, fabs(table_number_of(t, row + 1, d->value) - here));
	return step;
}

/* Is the place of the other more than a quarter of the way to a next row off? */
static bool is_far(const struct curve_decl *d, const struct table *t, size_t row, double off)
{
	double here = table_number_of(t, row, d->place);

	return (row > 0 && !(4.0 * off <= fabs(table_number_of(t, row - 1, d->place) - here))) ||
	       (row + 1 < t->nrows && !(4.0 * off <= fabs(table_number_of(t, row + 1, d->place) - here)));
}

/*
 * Two runs look at places that are nearly the same, and the curve goes on between them, by steps: an edge of zones or
 * of surfaces may lie between. As much as both curves change from there to the next rows is not a difference; a place
 * that has become slow stands alone in one of them. INFINITY: they are too far apart.
 */
double curve_allowance(const struct curve_decl *d, const struct table *a, size_t row, const struct table *b,
                       size_t other)
{
	if (!d->place)
		return 0.0;
	if (is_far(d, a, row, fabs(table_number_of(b, other, d->place) - table_number_of(a, row, d->place))))
		return INFINITY;
	return fmin(step_beside(d, a, row), step_beside(d, b, other));
}

/* Of so few places the drive's own cache answered for that many that what was left of them is a choice of its own,
 * another one in each run. */
bool curve_is_of_cache(const struct table *t, size_t row)
{
	return table_number_of(t, row, "hits") >
	       HITS_MOST * (table_number_of(t, row, "samples") + table_number_of(t, row, "hits"));
}

const struct curve_decl *curve_next(const struct curve_decl *d, const char *measurement)
{
	for (d = d ? d + 1 : curve_decls; d < curve_decls + ARRAY_LEN(curve_decls); d++)
		if (strcmp(d->measurement, measurement) == 0)
			return d;
	return NULL;
}
