/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is B different from A? Two figures with 95 % intervals differ when they are further apart than chance puts them:
 * their distance is held against the sides of the intervals that face each other (Zou and Donner 2008). Each side is
 * brought back to a standard error by the Student's t that it was made with; the degrees of freedom are Welch's (1947).
 * The level of each look is such that 5 % is the chance that ANY of the n looks of a comparison calls different what is
 * not (Sidak 1967); so the exit status can be trusted by scripts. Two are the same only when the 95 % interval of their
 * difference lies within a tolerance (two one-sided tests, Schuirmann 1987); what is neither cannot be known. What may
 * be compared at all: alike.c.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "report/disks.h"

#define FALSE_ALARMS 0.05               /* of a whole comparison */
#define RUNS_DIFFER  0.0033             /* measured: see between_runs() */
#define COUNT_MOST   9007199254740992.0 /* 2^53: beyond it a count is no longer one in a double */

struct difference {
	const char *measurement, *disk, *figure, *unit, *verdict;
	const char *label, *was, *is; /* for people */
	double a, b, change_percent, needed_percent, sure_percent;
	double low_percent, high_percent; /* of the change: its 95 % interval */
	double p;                         /* that chance alone puts them so far apart; NaN: nothing was estimated */
};

static const struct field difference_fields[] = {
	FIELD_STR(struct difference, measurement, "measurement"),
	FIELD_STR(struct difference, disk, "disk"),
	FIELD_STR(struct difference, label, "figure"),
	FIELD_STR(struct difference, was, "A"),
	FIELD_STR(struct difference, is, "B"),
	FIELD_F64(struct difference, change_percent, UNIT_PERCENT, "change"),
	FIELD_F64(struct difference, needed_percent, UNIT_PERCENT, "detectable from"),
	FIELD_STR(struct difference, verdict, "verdict"),
	FIELD_STR(struct difference, figure, "name", .detail = true),
	FIELD_F64(struct difference, a, UNIT_NONE, "A, a number", .detail = true),
	FIELD_F64(struct difference, b, UNIT_NONE, "B, a number", .detail = true),
	FIELD_STR(struct difference, unit, "unit", .detail = true),
	FIELD_F64(struct difference, sure_percent, UNIT_PERCENT, "sure", .detail = true),
	FIELD_F64(struct difference, low_percent, UNIT_PERCENT, "change from", .detail = true),
	FIELD_F64(struct difference, high_percent, UNIT_PERCENT, "change to", .detail = true),
	FIELD_END,
};

/* Everything is gone through twice: first the looks are counted, then they are judged with the level that that many
 * allow. */
struct judge {
	struct result *res;
	struct table *t;
	struct fleet *disks; /* its looks and level are those of all */
	double threshold, tolerance;
	size_t differ;
	double noise_percent; /* the largest that a difference of headline figures that are the same may be */
	bool is_counting;
	/* of the pair: headline figures that are the same, and of which that cannot be known */
	size_t same, open;
	bool is_open;       /* of some pair no headline figure could be judged */
	bool is_one_run;    /* the pair is one document, or copies of it */
	bool other_sizes;   /* of the pair's disks: what grows with the disk is not better or worse */
	char findings[400]; /* the first of them, worst first */
};

/* A value with its interval; df: how many degrees of freedom the interval had, as far as is known. */
struct estimate {
	double value, low, high, df;
};

/* Few samples: what they are. How many were joined to batches, of which there are ten at least, is not known. */
static double degrees(double samples)
{
	return samples >= 2.0 && samples < 10.0 ? samples - 1.0 : 9.0;
}

static struct estimate of_figure(const struct figure *f)
{
	return (struct estimate){ figure_number(f), f->ci.low, f->ci.high, degrees((double)f->samples) };
}

/*
 * What two runs of one healthy drive differ by in all rates together, though nothing inside either shows it: 4 GiB of a
 * real one, read twice, in 0.33 % of the mean. Part of the value.
 */
static double between_runs(const char *measurement, enum unit unit)
{
	return strcmp(measurement, "zones") == 0 && (unit == UNIT_BYTES_PER_S || unit == UNIT_S) ? RUNS_DIFFER : 0.0;
}

/* The standard error of their difference, and its degrees of freedom; 0 for exact numbers; NaN: it cannot be known. */
static double error_between(const struct estimate *a, const struct estimate *b, double *ret_df)
{
	double ha = b->value >= a->value ? a->high - a->value : a->value - a->low;
	double hb = b->value >= a->value ? b->value - b->low : b->high - b->value;
	double va = pow(ha / stats_t_975(a->df), 2.0), vb = pow(hb / stats_t_975(b->df), 2.0);

	*ret_df = pow(va + vb, 2.0) / (va * va / a->df + vb * vb / b->df);
	return isfinite(va) && isfinite(vb) ? sqrt(va + vb) : (double)NAN;
}

/* How far apart they must be to differ, at this level. */
static double needed(const struct estimate *a, const struct estimate *b, double level)
{
	double df, error = error_between(a, b, &df);

	return error > 0.0 ? two_sided_t(level, df) * error : error;
}

/* The chance of being so far apart and more; NaN for exact numbers. */
static double chance(const struct estimate *a, const struct estimate *b, double apart)
{
	double df, error = error_between(a, b, &df);

	return error > 0.0 ? 2.0 * (1.0 - stats_t_cdf(apart / error, df)) : (double)NAN;
}

/* Two counts that are not 0: the chance of so uneven a share of their sum; NaN: they are none. */
static double chance_of_counts(double a, double b)
{
	if (!(fmin(a, b) >= 0.0 && a + b < COUNT_MOST))
		return NAN;
	return 2.0 * stats_binomial_cdf((uint64_t)fmin(a, b), (uint64_t)(a + b), 0.5);
}

/* Larger is not worse, nor better, of what grows with the disk where one disk is larger. */
static const char *judge_of(const struct judge *j, const struct figure *f, double change)
{
	bool grows = f->unit == UNIT_BYTES || f->unit == UNIT_S || f->unit == UNIT_COUNT;

	return j->other_sizes && grows ? "different" : figure_judge(f, change);
}

/* One run, which is there twice: no two runs end alike to the last digit, and begin in the same microsecond. */
static bool is_one_run(const struct result *a, const struct result *b)
{
	bool is_one = a->head.started && b->head.started && strcmp(a->head.started, b->head.started) == 0 &&
	              a->nfigures == b->nfigures;

	for (size_t i = 0; is_one && i < a->nfigures; i++) {
		const struct figure *other = result_find_figure(b, a->figures[i].name);

		is_one = other && figure_equals(&a->figures[i], other);
	}
	return is_one;
}

/* The verdict of two figures. */
static const char *same_or_not(struct judge *j, const struct figure *a, const struct figure *b, struct difference *row)
{
	struct estimate x = of_figure(a), y = of_figure(b);
	double base = fabs(x.value) > 0.0 ? fabs(x.value) : 1.0, apart = fabs(y.value - x.value), least, half, allowed;

	switch (figure_role(a)) {
	case FIGURE_OF_RUN:
		return "of the run";
	case FIGURE_EXACT:
		if (a->type == FIELD_TYPE_STR)
			return strcmp(a->value.str, b->value.str) == 0 ? "same" : "different";
		return apart > 0.0 ? judge_of(j, a, y.value - x.value) : "same";
	case FIGURE_TROUBLE:
		if (apart == 0.0)
			return "same";
		if (x.value == 0.0 || y.value == 0.0)
			return figure_judge(a, y.value - x.value);
		j->disks->looks += j->is_counting;
		row->p = chance_of_counts(x.value, y.value);
		if (!isfinite(row->p))
			return "cannot tell";
		return row->p < j->disks->level ? figure_judge(a, y.value - x.value) : "same";
	case FIGURE_MEASURED:
		break;
	}
	allowed = between_runs(row->measurement, a->unit) * base;
	least = needed(&x, &y, j->disks->level) + allowed;
	half = needed(&x, &y, FALSE_ALARMS) + allowed;
	if (!isfinite(least))
		return "no interval";
	j->disks->looks += j->is_counting;
	row->p = chance(&x, &y, fmax(0.0, apart - allowed));
	row->needed_percent = 100.0 * fmax(least / base, j->threshold);
	row->low_percent = 100.0 * (y.value - x.value - half) / base;
	row->high_percent = 100.0 * (y.value - x.value + half) / base;
	if (j->is_one_run) {
		row->low_percent = row->high_percent = 0.0;
		return "same";
	}
	/* Numbers that should be equal have been added up in another order. */
	if (apart > fmax(fmax(least, j->threshold * base), 1e-9 * base))
		return judge_of(j, a, y.value - x.value);
	return apart + half <= fmax(j->tolerance, j->threshold) * base + 1e-9 * base ? "same" : "cannot tell";
}

static bool is_difference(const char *verdict)
{
	return strcmp(verdict, "better") == 0 || strcmp(verdict, "worse") == 0 || strcmp(verdict, "different") == 0;
}

static bool is_comparable(const struct figure *a, const struct figure *b)
{
	return a && b && !a->value.is_null && !b->value.is_null &&
	       (a->type == FIELD_TYPE_STR) == (b->type == FIELD_TYPE_STR);
}

static void find_figure(struct judge *j, const struct result *b, const struct difference *row)
{
	char by[32] = "";

	if (isfinite(row->change_percent))
		(void)snprintf(by, sizeof(by), "%+.1f %%, ", row->change_percent);
	fleet_find(j->disks, fleet_disk_of(j->disks, b), fleet_state_of(row->verdict, row->figure), b->head.measurement,
	           row->figure, row->p, "%.50s: %s%s, was %s", row->label, by, row->is, row->was);
}

/* A figure that people come for: of the first screen, or any where the document does not say which are. */
static bool is_headline(const struct result *res, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = res->shows; at && (at = strstr(at, name)); at++)
		if ((at == res->shows || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
			return true;
	return !res->shows;
}

/* "12 % slower" */
static const char *way(enum unit unit, bool is_more)
{
	switch (unit) {
	case UNIT_BYTES_PER_S:
	case UNIT_MIB_PER_S:
		return is_more ? "faster" : "slower";
	case UNIT_NS:
	case UNIT_S:
		return is_more ? "longer" : "shorter";
	default:
		return is_more ? "more" : "less";
	}
}

/* "Rate at the end: 12 % slower (99.6 MB/s -> 87.4 MB/s)" joins what the answer says. */
static void say_figure(struct judge *j, const struct figure *f, const struct difference *row)
{
	char by[64] = "";
	size_t used = strlen(j->findings);

	if (isfinite(row->change_percent) && f->type != FIELD_TYPE_STR)
		(void)snprintf(by, sizeof(by), " %.3g %% %s", fabs(row->change_percent),
		               way(f->unit, row->change_percent > 0.0));
	if (used + 160 < sizeof(j->findings))
		(void)snprintf(j->findings + used, sizeof(j->findings) - used, "%s%.60s:%s (%.30s -> %.30s)",
		               used ? "; " : "", row->label, by, row->was, row->is);
}

static void add_row(struct judge *j, struct difference *row)
{
	bool differs = is_difference(row->verdict);

	j->differ += differs;
	row->sure_percent =
		differs ? fleet_sure_percent(&(struct fleet_finding){ .chance = fleet_chance(j->disks, row->p) })
			: (double)NAN;
	result_row(j->t, row);
}

static struct difference row_of(const struct result *res, const char *disk, const char *figure)
{
	return (struct difference){ .measurement = res->head.measurement,
		                    .disk = disk,
		                    .figure = figure,
		                    .label = figure,
		                    .unit = unit_name(UNIT_TEXT),
		                    .a = NAN,
		                    .b = NAN,
		                    .change_percent = NAN,
		                    .needed_percent = NAN,
		                    .low_percent = NAN,
		                    .high_percent = NAN,
		                    .p = NAN };
}

static void compare_figures(struct judge *j, const struct result *a, const struct result *b)
{
	for (size_t i = 0; i < a->nfigures; i++) {
		const struct figure *fa = &a->figures[i], *fb = result_find_figure(b, fa->name);
		char was[CELL_TEXT + 32], is[CELL_TEXT + 32];
		struct difference row = row_of(a, alike_disk(a), fa->name);

		if (!is_comparable(fa, fb))
			continue;
		row.label = label_or_name(fb->label, fb->name);
		row.was = report_figure(was, sizeof(was), fa);
		row.is = report_figure(is, sizeof(is), fb);
		row.unit = unit_name(fa->unit);
		row.a = figure_number(fa); /* of a text NaN */
		row.b = figure_number(fb);
		row.change_percent = row.a == row.b ? 0.0
		                     : row.a != 0.0 ? 100.0 * (row.b - row.a) / fabs(row.a)
		                                    : (double)NAN;
		row.verdict = same_or_not(j, fa, fb, &row);
		if (j->is_counting)
			continue;
		add_row(j, &row);
		if (is_difference(row.verdict)) {
			find_figure(j, b, &row);
			say_figure(j, fb, &row);
		}
		if (!is_headline(a, fa->name) || !isfinite(row.low_percent))
			continue;
		j->open += strcmp(row.verdict, "cannot tell") == 0;
		j->same += strcmp(row.verdict, "same") == 0;
		if (strcmp(row.verdict, "same") == 0)
			j->noise_percent = fmax(j->noise_percent, (row.high_percent - row.low_percent) / 2.0);
	}
}

/* A disk that begins to return errors, or goes, is a difference whatever its figures are. */
static void compare_status(struct judge *j, const struct result *a, const struct result *b)
{
	int was = alike_outcome(a), is = alike_outcome(b);
	struct difference row = row_of(a, alike_disk(a), "status");

	if (was < 0 || is < 0) {
		result_notice(j->res, "status", "%s of %s: A is %s, B is %s: not all of it is there.",
		              a->head.measurement, alike_disk(a), status_name(a->status), status_name(b->status));
		return;
	}
	if (was == is)
		return;
	row.was = status_name(a->status);
	row.is = status_name(b->status);
	row.verdict = is > was ? "worse" : "better";
	add_row(j, &row);
	fleet_find(j->disks, fleet_disk_of(j->disks, b), fleet_state_of(row.verdict, "status"), b->head.measurement,
	           "status", NAN, "%s was %s, is %s", a->head.measurement, row.was, row.is);
	result_notice(j->res, "status", "%s of %s: A is %s, B is %s.", a->head.measurement, alike_disk(a),
	              status_name(a->status), status_name(b->status));
}

/* ---- tables: place by place ---- */

static struct estimate of_row(const struct curve_decl *d, const struct table *t, size_t row)
{
	double samples = fmax(table_number_of(t, row, "samples"), table_number_of(t, row, "repetitions"));

	return (struct estimate){ table_number_of(t, row, d->value), table_number_of(t, row, d->low),
		                  table_number_of(t, row, d->high), degrees(samples) };
}

/* The change of a row of A, as a part of it, when it is one; 0: none; NaN: it cannot be known. */
static double row_change(const struct judge *j, const struct curve_decl *d, const struct table *ta, size_t r,
                         const struct table *tb, double *ret_p)
{
	long other = curve_same_row(d, ta, r, tb);
	struct estimate x = of_row(d, ta, r), y;
	double least, allowed;

	if (other < 0 || curve_is_of_cache(ta, r) || curve_is_of_cache(tb, (size_t)other))
		return NAN;
	y = of_row(d, tb, (size_t)other);
	allowed =
		curve_allowance(d, ta, r, tb, (size_t)other) + between_runs(d->measurement, UNIT_BYTES_PER_S) * x.value;
	least = needed(&x, &y, j->disks->level) + allowed;
	if (!(x.value > 0.0) || !isfinite(y.value) || !isfinite(least))
		return NAN;
	if (fabs(y.value - x.value) <= fmax(fmax(least, j->threshold * x.value), 1e-9 * x.value))
		return 0.0;
	*ret_p = chance(&x, &y, fmax(0.0, fabs(y.value - x.value) - allowed));
	return (y.value - x.value) / x.value;
}

/* A rate that falls is worse, and a time, or what is lost, that grows. */
static const char *curve_judge(const struct curve_decl *d, double change)
{
	const char *end = strrchr(d->value, '_');
	bool is_cost = end && (strcmp(end, "_ns") == 0 || strcmp(end, "_lost") == 0);

	return (change > 0.0) == is_cost ? "worse" : "better";
}

static void compare_curve(struct judge *j, const struct curve_decl *d, const struct result *a, const struct result *b)
{
	const struct table *ta = result_find_table(a, d->table), *tb = result_find_table(b, d->table);
	size_t differ = 0, n = 0, worst_row = 0;
	double worst = 0.0, least_p = NAN;
	char place[CELL_TEXT + 32];
	const char *key;

	for (size_t r = 0; ta && tb && r < ta->nrows; r++) {
		double p = NAN, change = row_change(j, d, ta, r, tb, &p);

		n += isfinite(change);
		differ += isfinite(change) && change != 0.0;
		least_p = fmin(least_p, p); /* the number, where one is none */
		if (fabs(change) > fabs(worst)) {
			worst = change;
			worst_row = r;
		}
	}
	j->disks->looks += j->is_counting ? n : 0;
	if (j->is_counting || !differ)
		return;
	j->differ += differ;
	key = d->place ? d->place : d->keys[d->keys[1] ? 1 : 0];
	result_notice(j->res, "curve", "%s, %s: %zu of %zu places differ, most at %s, by %+.1f %%.",
	              a->head.measurement, label_or_name(ta->title, ta->name), differ, n,
	              report_f64(place, sizeof(place), ta->columns[table_column(ta, key)].unit,
	                         table_number_of(ta, worst_row, key)),
	              100.0 * worst);
	fleet_find(j->disks, fleet_disk_of(j->disks, b), fleet_state_of(curve_judge(d, worst), d->table),
	           b->head.measurement, d->table, least_p, "%s %s: %zu of %zu places differ, most by %+.1f %%",
	           a->head.measurement, d->table, differ, n, 100.0 * worst);
}

static void compare_places(struct judge *j, const struct result *a, const struct result *b)
{
	size_t places;

	for (const struct curve_decl *d = NULL; (d = curve_next(d, a->head.measurement)) != NULL;)
		compare_curve(j, d, a, b);
	if (j->is_counting)
		return;
	places = places_compare(j->res, a, b);
	j->differ += places;
	if (places)
		fleet_find(j->disks, fleet_disk_of(j->disks, b), FLEET_WORSE, b->head.measurement, "places", NAN,
		           "surface: %zu slow or unreadable place%s new or worse", places,
		           places == 1 ? " is" : "s are");
}

static void compare_pair(struct judge *j, const struct result *a, const struct result *b)
{
	const struct result *both[] = { a, b };
	double size_a = target_number(a->targets, "size_bytes"), size_b = target_number(b->targets, "size_bytes");

	j->same = j->open = 0;
	j->is_one_run = is_one_run(a, b);
	j->other_sizes = isfinite(size_a) && isfinite(size_b) && size_a != size_b;
	compare_figures(j, a, b);
	j->is_open |= j->open > 0 && j->same == 0;
	if (!j->is_counting)
		compare_status(j, a, b);
	compare_places(j, a, b);
	for (size_t i = 0; !j->is_counting && i < ARRAY_LEN(both); i++)
		if (alike_disturbed(both[i]))
			result_notice(j->res, "disturbed",
			              "%s of %s: %s was disturbed from outside (%s): a difference may come from that.",
			              a->head.measurement, alike_disk(a), i ? "B" : "A", alike_disturbed(both[i]));
}

static void all_pairs(const struct pairs *p, struct judge *j)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->is_forced && !j->is_counting)
			pair_notice(j->res, p->v[2 * i], p->v[2 * i + 1]);
		compare_pair(j, p->v[2 * i], p->v[2 * i + 1]);
	}
}

static int rank(const char *verdict)
{
	return !strcmp(verdict, "worse") ? 0 : is_difference(verdict) ? 1 : !strcmp(verdict, "cannot tell") ? 2 : 3;
}

/* What is worse stands first, then other differences: the first screen may have the first rows only. */
static void put_worst_first(struct table *t)
{
	size_t column = (size_t)table_column(t, "verdict"), bytes = t->ncolumns * sizeof(*t->cells), n = 0;
	cleanup_free struct cell *sorted = xcalloc(t->nrows + 1, bytes);

	for (int k = 0; k <= 3; k++)
		for (size_t i = 0; i < t->nrows; i++)
			if (rank(table_string(t, i, column)) == k)
				memcpy(&sorted[n++ * t->ncolumns], &t->cells[i * t->ncolumns], bytes);
	if (n)
		memcpy(t->cells, sorted, n * bytes);
}

/* First the looks are counted, then they are judged with the level that that many allow. */
static struct fleet *judge_pairs(const struct pairs *p, struct judge *j)
{
	j->disks = fleet_divide(p->v, 2 * p->n);
	j->disks->level = j->disks->alarms = FALSE_ALARMS;
	for (size_t d = 0; d < j->disks->ndisks; d++)
		j->disks->disks[d].quiet = FLEET_SAME;
	j->is_counting = true;
	all_pairs(p, j);
	j->disks->level = sidak_level(j->disks->alarms, j->disks->looks);
	j->is_counting = false;
	all_pairs(p, j);
	fleet_sort(j->disks);
	return j->disks;
}

int report_compare(const struct result *const *a, size_t na, const struct result *const *b, size_t nb,
                   const struct compare_options *opt, struct result **ret, struct err *err)
{
	struct result *res = result_new("compare");
	struct judge j = { .res = res,
		           .t = result_table(res, "differences", "Figures", difference_fields),
		           .threshold = opt->threshold,
		           .tolerance = opt->tolerance > 0.0 ? opt->tolerance : COMPARE_TOLERANCE };
	struct pairs p = { 0 };
	struct fleet *disks;

	pairs_find(&p, res, a, na, b, nb);
	if (p.n == 0) {
		result_free(res);
		free(p.v);
		return err_set(
			err, -ENOENT,
			"No document of A has its like in B: the same measurement of the same disk, done the same way, to "
			"its end%s%s; give two documents of one measurement to compare other disks.",
			p.why[0] ? "; " : "", p.why);
	}
	for (size_t i = 0; i < 2; i++) /* of two these are the same on each row */
		j.t->columns[i].detail = p.is_forced;
	disks = judge_pairs(&p, &j);
	result_figure_u64(res, "pairs", "documents compared", UNIT_COUNT, p.n);
	result_figure_u64(res, "different", "differences", UNIT_COUNT, j.differ);
	put_worst_first(j.t);
	alike_changes(res, p.v, 2 * p.n, p.is_forced);
	answer_comparison(res, j.t,
	                  &(struct comparison){ p.is_forced ? p.v : NULL, opt->files, j.differ, j.is_open,
	                                        j.noise_percent, fmax(j.tolerance, j.threshold), j.findings });
	if (!p.is_forced)
		fleet_put_changed(res, disks, "pairs,different,#disks,#changes");
	res->status = STATUS_COMPLETE;
	res->verdict_is_no = j.differ > 0;
	res->verdict_is_open = !j.differ && j.is_open;
	free(p.v);
	*ret = res;
	if (opt->ret_disks)
		*opt->ret_disks = disks;
	else
		fleet_free(disks);
	return 0;
}
