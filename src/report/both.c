/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a switch is worth: runs with it on and off, in turn. A figure's error is the larger of two: what the runs say of
 * themselves, and what runs of the same kind differ by, pooled over both kinds (Student's t with as many degrees of
 * freedom as there are runs to spare). A drift that goes on evenly comes to both kinds alike when the order is on, off,
 * off, on, and only widens the interval.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/alike.h"
#include "report/report.h"

#define FALSE_ALARMS 0.05 /* of the whole table, as in compare.c */

struct both_row {
	const char *name, *figure, *unit, *verdict;
	double on, off, change_percent, low_percent, high_percent;
};

static const struct field both_fields[] = {
	FIELD_STR(struct both_row, name, "name", .detail = true),
	FIELD_STR(struct both_row, figure, "figure"),
	FIELD_F64(struct both_row, on, UNIT_NONE, "on"),
	FIELD_F64(struct both_row, off, UNIT_NONE, "off"),
	FIELD_STR(struct both_row, unit, "unit"),
	FIELD_F64(struct both_row, change_percent, UNIT_PERCENT, "on is by"),
	FIELD_F64(struct both_row, low_percent, UNIT_PERCENT, "from"),
	FIELD_F64(struct both_row, high_percent, UNIT_PERCENT, "to"),
	FIELD_STR(struct both_row, verdict, "verdict"),
	FIELD_END,
};

struct side {
	const struct result *const *docs;
	size_t n;
	double mean, squares; /* of what each is off the mean */
	double error;         /* the standard error of the mean, as the runs say themselves */
};

/* false: not all of them have it. */
static bool look(struct side *s, const char *name)
{
	double variance = 0.0;

	s->mean = s->squares = 0.0;
	for (size_t i = 0; i < s->n; i++) {
		const struct figure *f = result_find_figure(s->docs[i], name);

		s->mean += figure_number(f) / (double)s->n;
		variance += f ? pow(figure_error(f) / (double)s->n, 2.0) : 0.0;
	}
	for (size_t i = 0; isfinite(s->mean) && i < s->n; i++)
		s->squares += pow(figure_number(result_find_figure(s->docs[i], name)) - s->mean, 2.0);
	s->error = sqrt(variance);
	return s->n > 0 && isfinite(s->mean);
}

/* Half the interval of what has so many runs of each kind in it (0: none); NaN: there are none to spare. */
static double half(const struct side *on, const struct side *off, double n_on, double n_off, double level)
{
	double df = (double)(on->n + off->n) - 2.0;
	double scatter = sqrt((on->squares + off->squares) / df *
	                      ((n_on > 0 ? 1.0 / n_on : 0.0) + (n_off > 0 ? 1.0 / n_off : 0.0)));
	double own = hypot(n_on > 0 ? on->error : 0.0, n_off > 0 ? off->error : 0.0);

	return df > 0.0 ? fmax(scatter * two_sided_t(level, df), own * two_sided_t(level, 9.0)) : (double)NAN;
}

static void tell_side(struct result *res, const struct figure *f, const char *word, double mean, double half_width)
{
	const struct interval ci = { mean - half_width, mean + half_width };
	char name[96], label[160];

	(void)snprintf(name, sizeof(name), "%.80s_%s", f->name, word);
	(void)snprintf(label, sizeof(label), "%.120s, write cache %s", f->label ? f->label : f->name, word);
	result_figure(res, name, label, f->unit, mean, &ci, 0);
}

void report_both(struct result *res, const struct result *const *on, size_t n_on, const struct result *const *off,
                 size_t n_off)
{
	struct side a = { .docs = on, .n = n_on }, b = { .docs = off, .n = n_off };
	struct table *t = result_table(res, "on_off", "With its write cache on and off", both_fields);
	size_t looks = 0, differ = 0;
	struct both_row most = { .change_percent = 0.0 };
	char answer[400];

	for (int is_judging = 0; is_judging < 2; is_judging++) /* first the looks are counted */
		for (size_t i = 0; n_on && i < on[0]->nfigures; i++) {
			const struct figure *f = &on[0]->figures[i];
			double h, sure, apart, base;
			struct both_row row;

			if (f->type == FIELD_TYPE_STR || figure_role(f) != FIGURE_MEASURED || !look(&a, f->name) ||
			    !look(&b, f->name))
				continue;
			looks += !is_judging;
			if (!is_judging)
				continue;
			apart = a.mean - b.mean;
			base = b.mean != 0.0 ? 100.0 / fabs(b.mean) : (double)NAN;
			h = half(&a, &b, (double)a.n, (double)b.n, FALSE_ALARMS);
			sure = half(&a, &b, (double)a.n, (double)b.n, sidak_level(FALSE_ALARMS, looks));
			row = (struct both_row){ f->name,
				                 f->label ? f->label : f->name,
				                 unit_name(f->unit),
				                 !isfinite(sure)       ? "no interval"
				                 : fabs(apart) <= h    ? "same"
				                 : fabs(apart) <= sure ? "not sure"
				                                       : figure_judge(f, apart),
				                 a.mean,
				                 b.mean,
				                 base * apart,
				                 base * (apart - h),
				                 base * (apart + h) };
			result_row(t, &row);
			tell_side(res, f, "on", a.mean, half(&a, &b, (double)a.n, 0, FALSE_ALARMS));
			tell_side(res, f, "off", b.mean, half(&a, &b, 0, (double)b.n, FALSE_ALARMS));
			if (!isfinite(sure) || fabs(apart) <= sure)
				continue;
			differ++;
			if (fabs(row.change_percent) > fabs(most.change_percent))
				most = row;
		}
	if (most.figure)
		(void)snprintf(
			answer, sizeof(answer),
			"With the write cache on, %zu of %zu figures differ for sure; most of all %s: %+.3g %% (%.3g to %.3g).",
			differ, looks, most.figure, most.change_percent, most.low_percent, most.high_percent);
	else if (!looks)
		(void)snprintf(answer, sizeof(answer), "It ended before both could be compared.");
	else
		(void)snprintf(answer, sizeof(answer),
		               "Of %zu figures none differs for sure with the write cache on and off.", looks);
	result_set(&res->answer, answer);
	result_set(&res->shows, "#on_off,#switches");
}
