/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many disks, many runs: which of them go bad. Three kinds of evidence, each held against chance, and all looks of a
 * fleet together call a healthy one bad in 1 % at most (Sidak 1967):
 *
 *   - what was seen: errors, places that cannot be read, a disk that went; and slow places in two runs in succession,
 * that were not there before or grew;
 *   - the disk against itself: a straight line through each figure over the dates (trend.c);
 *   - the disk against the others of its model: the last value of each figure against their median, in units of the
 * scale Qn. With Qn half of the disks may be anything without harm; it is worth 82 % of the standard deviation
 * (Rousseeuw and Croux 1993). It is widened by the median's error, and where this disk's interval is wider than usual.
 * Student's t has as many degrees of freedom as that scale: about 0.7 (n - 1), found by simulation. Where a quarter of
 * the disks are outliers of a figure, it has two kinds of disks, and none of them is called one.
 *
 * An outlier is odd, and no more: that it has become one is seen by its own line or step.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xalloc.h"
#include "report/disks.h"
#include "verdict/verdict.h"

#define FALSE_ALARMS                                                                                                  \
	0.01 /* of a page; at 0.03 disks looked at alone ring falsely 1.7 times in a year of forty (unit test fleets) \
	      */
#define LIKES_MIN 8 /* disks of one model, for outliers */
#define RUNS_MIN  3 /* for a trend, as in trend.c */
#define GROWN     1.5

/* The measurements of a disk, each by the last document that has all of its figures. */
static bool is_last_whole(const struct fleet_disk *d, size_t i)
{
	return alike_outcome(d->v[i]) >= 0 && report_is_last(d->v, d->n, i);
}

/* ---- what was seen ---- */

/* How much of it there is: the bytes of the table of that name, else the count. */
static double extent(const struct result *res, const char *figure)
{
	const struct table *t = res ? result_find_table(res, figure) : NULL;
	double sum = 0.0;

	if (!t || table_column(t, "first_byte") < 0 || table_column(t, "last_byte") < 0)
		return figure_number(res ? result_find_figure(res, figure) : NULL);
	for (size_t r = 0; r < t->nrows; r++)
		sum += table_number_of(t, r, "last_byte") - table_number_of(t, r, "first_byte") + 1.0;
	return sum;
}

/* What its last documents say of it; of slow places one run alone may be wrong. */
static void look_at_verdict(const struct fleet *f, struct fleet_disk *d)
{
	cleanup_free const struct result **last = xcalloc(d->n + 1, sizeof(*last));
	struct judgement j;
	size_t n = 0;
	for (size_t i = 0; i < d->n; i++)
		if (report_is_last(d->v, d->n, i))
			last[n++] = d->v[i];
	verdict_judge(last, n, &j);
	d->verdict = verdict_words[j.is];
	for (size_t i = 0; i < j.n; i++) {
		const struct verdict_rule *r = j.reasons[i];
		bool is_failing = r->says == VERDICT_REJECT || j.is_by_two;
		char text[VERDICT_TEXT];

		if (strcmp(r->name, "slow") != 0 && r->says != VERDICT_KEEP)
			fleet_find(f, d, is_failing ? FLEET_FAILING : FLEET_WATCH, "check", r->figure, NAN, "%s",
			           verdict_text(&j, i, text));
	}
	verdict_done(&j);
}

static void look_at_slow(const struct fleet *f, struct fleet_disk *d, const struct result *last)
{
	const struct figure *slow = result_find_figure(last, "slow_regions");
	const char *measurement = last->head.measurement;
	const struct result *before = fleet_last(d, measurement, 1), *first = fleet_first(d, measurement);
	char before_text[80] = "";
	bool is_again = before && extent(before, "slow_regions") > 0.0,
	     is_more = first != last && !(extent(last, "slow_regions") < GROWN * extent(first, "slow_regions"));

	if (!(figure_number(slow) > 0.0))
		return;
	if (first != last)
		(void)snprintf(before_text, sizeof(before_text), ", %g in the first run%s",
		               figure_number(result_find_figure(first, "slow_regions")),
		               !is_more   ? ""
		               : is_again ? ", growing"
		                          : "; not in the run before: measure again");
	fleet_find(f, d, is_again && is_more && !alike_disturbed(last) ? FLEET_WORSE : FLEET_WATCH, measurement,
	           "slow_regions", NAN, "%s by %s: %g%s", label_or_name(slow->label, slow->name), measurement,
	           figure_number(slow), before_text);
}

/* The last run with errors, whatever ended it, before one without. */
static void look_at_errors_before(const struct fleet *f, struct fleet_disk *d, const struct result *last)
{
	const char *measurement = last->head.measurement;

	for (size_t i = d->n; i-- > 0;) {
		if (strcmp(d->v[i]->head.measurement, measurement) != 0 ||
		    !(result_fault_count(d->v[i]) || d->v[i]->status == STATUS_DEVICE_GONE))
			continue;
		if (alike_by_date(&d->v[i], &last) >= 0)
			return; /* the verdict has them */
		fleet_find(f, d, FLEET_WATCH, measurement, "status", NAN, "%s: errors on %.10s, none since",
		           measurement, d->v[i]->head.started);
		return;
	}
}

static void look_at_what_was_seen(const struct fleet *f, struct fleet_disk *d)
{
	look_at_verdict(f, d);
	for (size_t i = 0; i < d->n; i++)
		if (is_last_whole(d, i)) {
			look_at_errors_before(f, d, d->v[i]);
			look_at_slow(f, d, d->v[i]);
		}
}

/* ---- against itself ---- */

struct own_trend {
	struct fleet *fleet;
	struct fleet_disk *disk;
};

static void found_trend(void *arg, const struct trend_row *row)
{
	struct own_trend *own = arg;
	const struct result *last = fleet_last(own->disk, row->measurement, 0);
	const struct figure *f = last ? result_find_figure(last, row->figure) : NULL;
	char text[160];

	xappend(own->disk->trends, own->disk->ntrends, *row);
	if (!f || figure_role(f) != FIGURE_MEASURED || strcmp(row->verdict, "worse") != 0)
		return;
	trend_text(text, sizeof(text), label_or_name(f->label, f->name), row);
	/* the document's name of it: the row's own is gone when this is shown */
	fleet_find(own->fleet, own->disk, FLEET_WORSE, row->measurement, f->name, row->p, "%s", text);
}

/* ---- against the others of its model ---- */

struct outliers {
	struct fleet *fleet;
	double threshold;
	bool is_counting;
	/* of the figure in hand, of that many disks: */
	size_t *disk;
	double *value, *error, *work;
	size_t n;
};

/* The last documents of this kind that nobody disturbed, and what they say of this figure. */
static void gather(struct outliers *o, const struct result *like, const struct figure *f)
{
	o->n = 0;
	for (size_t d = 0; d < o->fleet->ndisks; d++) {
		const struct fleet_disk *disk = &o->fleet->disks[d];
		const struct result *last = fleet_last(disk, like->head.measurement, 0);
		const struct figure *g;

		for (size_t skip = 1; last && alike_disturbed(last); skip++)
			last = fleet_last(disk, like->head.measurement, skip);
		g = last && alike_same_kind(like, last) ? result_find_figure(last, f->name) : NULL;

		if (!g || !isfinite(figure_number(g)) || !isfinite(g->ci.low) || !isfinite(g->ci.high))
			continue;
		o->disk[o->n] = d;
		o->value[o->n] = figure_number(g);
		o->error[o->n++] = figure_error(g);
	}
}

static double median_of(struct outliers *o, const double *x)
{
	memcpy(o->work, x, o->n * sizeof(*x));
	return stats_median(o->work, o->n);
}

/* p of the i-th being one of them. */
static double chance_of(const struct outliers *o, size_t i, double median, double scale, double usual_error)
{
	double n = (double)o->n, wider = fmax(0.0, pow(o->error[i], 2.0) - pow(usual_error, 2.0));
	double sd = sqrt(scale * scale * (1.0 + M_PI / 2.0 / n) + wider), off = fabs(o->value[i] - median);

	return sd > 0.0 ? 2.0 * (1.0 - stats_t_cdf(off / sd, 0.7 * (n - 1.0))) : off > 0.0 ? 0.0 : 1.0;
}

static void look_at_figure(struct outliers *o, const struct result *like, const struct figure *f)
{
	double median, scale, usual;
	size_t found = 0;

	gather(o, like, f);
	if (o->n < LIKES_MIN)
		return;
	if (o->is_counting) {
		o->fleet->looks += o->n;
		return;
	}
	median = median_of(o, o->value);
	usual = median_of(o, o->error);
	scale = stats_qn(o->value, o->n);
	if (!(scale > 0.0) || median == 0.0)
		return; /* more than half of them are equal: there is no measure of far */
	for (int pass = 0; pass < 2; pass++) {
		if (pass == 1 && 4 * found >= o->n)
			return;
		for (size_t i = 0; i < o->n; i++) {
			double p = chance_of(o, i, median, scale, usual);

			if (p >= o->fleet->level || fabs(o->value[i] - median) <= o->threshold * fabs(median))
				continue;
			found += pass == 0;
			if (pass == 1)
				fleet_find(o->fleet, &o->fleet->disks[o->disk[i]], FLEET_ODD, like->head.measurement,
				           f->name, p, "%s: %+.1f %% off the median of %zu of its model",
				           label_or_name(f->label, f->name),
				           100.0 * (o->value[i] - median) / fabs(median), o->n);
		}
	}
}

/* Has an earlier disk a last document of the same kind? Then its figures were looked at there. */
static bool is_repeated(const struct fleet *f, size_t disk, const struct result *res)
{
	for (size_t d = 0; d < disk; d++) {
		const struct result *last = fleet_last(&f->disks[d], res->head.measurement, 0);

		if (last && alike_same_kind(last, res))
			return true;
	}
	return false;
}

static void look_at_models(struct outliers *o)
{
	for (size_t d = 0; d < o->fleet->ndisks; d++) {
		const struct fleet_disk *disk = &o->fleet->disks[d];

		for (size_t i = 0; i < disk->n; i++) {
			const struct result *res = disk->v[i];

			if (!is_last_whole(disk, i) || is_repeated(o->fleet, d, res))
				continue;
			for (size_t k = 0; k < res->nfigures; k++)
				if (figure_role(&res->figures[k]) == FIGURE_MEASURED)
					look_at_figure(o, res, &res->figures[k]);
		}
	}
}

/* ---- all of it ---- */

/* What a disk is of which nothing was found. */
static enum fleet_state quiet_state(const struct fleet_disk *d)
{
	size_t runs = 0;

	for (size_t i = 0; i < d->n; i++)
		if (is_last_whole(d, i))
			while (fleet_last(d, d->v[i]->head.measurement, runs))
				runs++;
	return runs < RUNS_MIN && strcmp(d->verdict, verdict_words[VERDICT_KEEP]) != 0 ? FLEET_FEW : FLEET_GOOD;
}

struct fleet *fleet_of(const struct result *const *res, size_t n, double threshold)
{
	struct fleet *f = fleet_divide(res, n);
	struct own_trend own = { .fleet = f };
	struct outliers o = { .fleet = f, .threshold = threshold, .is_counting = true };
	struct trend tr = { .threshold = threshold, .found = found_trend, .arg = &own, .scatter = f->scatter };

	o.disk = xcalloc(f->ndisks + 1, sizeof(*o.disk));
	o.value = xcalloc(3 * f->ndisks + 1, sizeof(*o.value));
	o.error = o.value + f->ndisks;
	o.work = o.error + f->ndisks;
	for (size_t d = 0; d < f->ndisks; d++)
		f->looks += trend_all(&tr, f->disks[d].v, f->disks[d].n);
	look_at_models(&o);
	f->alarms = FALSE_ALARMS;
	f->level = sidak_level(f->alarms, f->looks);
	tr.level = f->level;
	o.is_counting = false;
	for (size_t d = 0; d < f->ndisks; d++) {
		own.disk = &f->disks[d];
		look_at_what_was_seen(f, own.disk);
		(void)trend_all(&tr, own.disk->v, own.disk->n);
	}
	look_at_models(&o);
	for (size_t d = 0; d < f->ndisks; d++)
		f->disks[d].quiet = quiet_state(&f->disks[d]);
	fleet_sort(f);
	free(o.disk);
	free(o.value);
	return f;
}

/* ---- the summary as a document ---- */

char *fleet_sentence(const struct fleet *f, char *buf)
{
	size_t count[FLEET_FEW + 1] = { 0 }, bad;

	for (size_t d = 0; d < f->ndisks; d++)
		count[f->disks[d].state]++;
	bad = count[FLEET_FAILING] + count[FLEET_WORSE];
	(void)snprintf(buf, FLEET_SENTENCE,
	               bad == 1 ? "1 of %zu disks is going bad" : "%2$zu of %1$zu disks are going bad", f->ndisks, bad);
	if (!bad)
		(void)snprintf(buf, FLEET_SENTENCE, "None of %zu disks is seen to go bad", f->ndisks);
	for (size_t d = 0; d < bad && strlen(buf) < FLEET_SENTENCE / 2; d++)
		str_add(buf, FLEET_SENTENCE, "%s%.40s",
		        d == 0         ? ": "
		        : d + 1 == bad ? " and "
		                       : ", ",
		        alike_disk(f->disks[d].v[0]));
	str_add(buf, FLEET_SENTENCE, ".");
	if (count[FLEET_WATCH])
		str_add(buf, FLEET_SENTENCE, " %zu to watch.", count[FLEET_WATCH]);
	if (count[FLEET_ODD])
		str_add(buf, FLEET_SENTENCE, " %zu unlike the others of the model.", count[FLEET_ODD]);
	if (count[FLEET_FEW])
		str_add(buf, FLEET_SENTENCE, " Of %zu too little is measured for a verdict; platter check gives one.",
		        count[FLEET_FEW]);
	return buf;
}

struct disk_row {
	const char *disk, *verdict, *state, *model, *why, *first, *last;
	uint64_t runs;
	double mean_bytes_per_s, random_access_mean_ns;
	char dates[2][11];
};

static const struct field disk_fields[] = {
	FIELD_STR(struct disk_row, disk, "disk"),
	FIELD_STR(struct disk_row, verdict, "verdict"),
	FIELD_STR(struct disk_row, state, "state"),
	FIELD_F64(struct disk_row, mean_bytes_per_s, UNIT_BYTES_PER_S, "mean rate"),
	FIELD_F64(struct disk_row, random_access_mean_ns, UNIT_NS, "random access"),
	FIELD_U64(struct disk_row, runs, UNIT_COUNT, "runs"),
	FIELD_STR(struct disk_row, last, "last run"),
	FIELD_STR(struct disk_row, first, "first run", .detail = true),
	FIELD_STR(struct disk_row, model, "model", .detail = true),
	FIELD_STR(struct disk_row, why, "why", .detail = true),
	FIELD_END,
};

struct finding_row {
	const char *disk, *state, *measurement, *figure, *text;
	double sure_percent;
};

static const struct field finding_fields[] = {
	FIELD_STR(struct finding_row, disk, "disk"),
	FIELD_STR(struct finding_row, state, "state"),
	FIELD_STR(struct finding_row, text, "what"),
	FIELD_F64(struct finding_row, sure_percent, UNIT_PERCENT, "sure"),
	FIELD_STR(struct finding_row, measurement, "measurement", .detail = true),
	FIELD_STR(struct finding_row, figure, "figure", .detail = true),
	FIELD_END,
};

static double last_figure(const struct fleet_disk *d, const char *measurement, const char *name)
{
	const struct result *last = fleet_part(d, measurement);

	return last ? figure_number(result_find_figure(last, name)) : (double)NAN;
}

static void add_disk(struct result *out, const struct fleet_disk *d)
{
	struct disk_row row = { .disk = alike_disk(d->v[d->n - 1]),
		                .verdict = d->verdict,
		                .state = fleet_state_name(d->state),
		                .model = target_text(d->v[d->n - 1]->targets, "model"),
		                .why = d->nfindings ? d->findings[0].text : NULL,
		                .runs = d->n,
		                .mean_bytes_per_s = last_figure(d, "zones", "mean_bytes_per_s"),
		                .random_access_mean_ns = last_figure(d, "seek", "random_access_mean_ns") };

	(void)snprintf(row.dates[0], sizeof(row.dates[0]), "%s", d->v[0]->head.started);
	(void)snprintf(row.dates[1], sizeof(row.dates[1]), "%s", d->v[d->n - 1]->head.started);
	row.first = row.dates[0];
	row.last = row.dates[1];
	result_row(result_table(out, "disks", "Disks", disk_fields), &row);
}

struct result *report_fleet(const struct result *const *res, size_t n, const struct compare_options *opt)
{
	struct fleet *f = fleet_of(res, n, opt->threshold);
	struct result *out = result_new("fleet");
	char sentence[FLEET_SENTENCE];
	size_t bad = 0;

	for (size_t d = 0; d < f->ndisks; d++)
		bad += f->disks[d].state <= FLEET_WORSE;
	result_figure_text(out, "verdict", "verdict", fleet_sentence(f, sentence));
	result_set(&out->answer, sentence);
	result_set(&out->shows, "disks,going_bad,#findings,#scans,#changes,#disks");
	result_figure_u64(out, "disks", "disks", UNIT_COUNT, f->ndisks);
	result_figure_u64(out, "going_bad", "disks going bad", UNIT_COUNT, bad);
	for (size_t d = 0; d < f->ndisks; d++)
		for (size_t i = 0; i < f->disks[d].nfindings; i++) {
			const struct fleet_finding *one = &f->disks[d].findings[i];

			result_row(result_table(out, "findings", "What was found", finding_fields),
			           &(struct finding_row){ alike_disk(f->disks[d].v[0]), fleet_state_name(one->state),
			                                  one->measurement, one->figure, one->text,
			                                  fleet_sure_percent(one) });
		}
	for (size_t d = 0; d < f->ndisks; d++)
		add_disk(out, &f->disks[d]);
	places_trend(out, f->sorted, f->nsorted);
	alike_changes(out, f->sorted, f->nsorted, false);
	if (f->without_row)
		result_notice(
			out, "no-row",
			"Documents of files, or of several disks at once, have no row: %zu. Show them by themselves.",
			f->without_row);
	out->status = STATUS_COMPLETE;
	out->verdict_is_no = bad > 0;
	fleet_free(f);
	return out;
}
