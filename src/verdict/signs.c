/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <string.h>

#include "verdict/verdict.h"

/*
 * A region is a sign below this share of what is expected there: of some 250 healthy model disks with heads that differ
 * the worst was 0.926, and of 60 weak regions that were found the best 0.861.
 */
#define SLOW_RATIO   0.9
#define PLACES_LEAST 59 /* 0.95^59 = 0.05: fewer without a fault leave more than 5 % of places open */

/* Of counts and ratios more is worse, but of how much was seen. */
static void put(struct result *signs, const struct figure *f)
{
	const struct figure *had = result_find_figure(signs, f->name);
	double v = figure_number(f);

	if (f->type == FIELD_TYPE_STR)
		result_figure_text(signs, f->name, f->label, f->value.str);
	if (isnan(v) || (had && figure_number(had) >= v))
		return;
	if (f->type == FIELD_TYPE_U64)
		result_figure_u64(signs, f->name, f->label, f->unit, f->value.u64);
	else
		result_figure(signs, f->name, f->label, f->unit, v, isfinite(f->ci.low) ? &f->ci : NULL, f->samples);
}

static void count(struct result *signs, const char *name, double n)
{
	const struct figure f = { .name = (char *)(uintptr_t)name,
		                  .type = FIELD_TYPE_U64,
		                  .unit = UNIT_COUNT,
		                  .value.u64 = n > 0.0 ? (uint64_t)n : 0,
		                  .ci = { (double)NAN, (double)NAN } };

	if (!isnan(n))
		put(signs, &f);
}

static const char *const damage[] = { "reallocated", "pending", "uncorrectable", "media_errors", "timeouts", NULL };

static bool is_damage(const char *what)
{
	for (size_t k = 0; damage[k]; k++)
		if (strcmp(what, damage[k]) == 0)
			return true;
	return false;
}

/* The later one of before and after the run. */
static double latest(const struct table *t, size_t row)
{
	double after = table_number_of(t, row, "after");

	return isnan(after) ? table_number_of(t, row, "before") : after;
}

double verdict_counter(const struct result *doc, const char *quantity)
{
	const struct table *t = result_find_table(doc, "health");

	for (size_t i = 0; t && i < t->nrows; i++) {
		const char *what = table_string_of(t, i, "quantity");

		if (what && strcmp(what, quantity) == 0)
			return latest(t, i);
	}
	return (double)NAN;
}

/* What the disk reports of itself; a check wants that. */
static void of_health(struct result *signs, const struct result *doc, bool is_check)
{
	const struct table *t = result_find_table(doc, "health");
	double grown = figure_number(result_find_figure(doc, "damage_since"));
	const char *source = result_option_text(doc, "health");
	bool is_counted = false;

	for (size_t i = 0; t && i < t->nrows; i++) {
		const char *what = table_string_of(t, i, "quantity");
		double rise = table_number_of(t, i, "after") - table_number_of(t, i, "before");
		char name[80];

		if (!what || strcmp(what, "temperature_celsius") == 0)
			continue;
		(void)snprintf(name, sizeof(name), "smart_%s", what);
		count(signs, name, latest(t, i));
		is_counted = is_counted || (is_damage(what) && !isnan(latest(t, i)));
		if (strcmp(what, "crc_errors") == 0)
			count(signs, "crc_grown", rise);
		if (is_damage(what) && !isnan(rise))
			grown = (isnan(grown) ? 0.0 : grown) + (rise > 0.0);
	}
	count(signs, "damage_grown", grown);
	count(signs, "smart_failing", result_has_notice(doc, "health-failing"));
	if (!is_check)
		return;
	count(signs, "counters_unread", !is_counted);
	if (source && strcmp(source, "--no-smart") == 0)
		result_figure_text(signs, "counters_lack", NULL, "without --no-smart");
	else if (source && strstr(source, "not installed"))
		result_figure_text(signs, "counters_lack", NULL, "with smartctl");
}

void verdict_since(struct result *res, const struct result *before)
{
	uint64_t grown = 0, compared = 0;

	for (size_t k = 0; damage[k]; k++) {
		double now = verdict_counter(res, damage[k]), then = verdict_counter(before, damage[k]);

		compared += !isnan(now) && !isnan(then);
		grown += now > then;
	}
	if (compared)
		result_figure_u64(res, "damage_since", "counts of damage that rose since an earlier run", UNIT_COUNT,
		                  grown);
}

/* Below what both ends can do, which is known of SATA alone. */
static void of_link(struct result *signs, const struct result *doc)
{
	for (size_t i = 0; i < doc->ntargets; i++) {
		const char *link = target_text(&doc->targets[i], "link");
		double at = target_number(&doc->targets[i], "link_bytes_per_s") /
		            target_number(&doc->targets[i], "link_max_bytes_per_s");
		char text[32];

		if (!link || isnan(at) || at >= 1.0 || strncmp(link, "SATA", 4) != 0)
			continue;
		(void)snprintf(text, sizeof(text), "1/%.0f", 1.0 / at);
		result_figure(signs, "link_below_ratio", NULL, UNIT_RATIO, 1.0 - at, NULL, 0);
		result_figure_text(signs, "link_at", NULL, text);
	}
}

/* A full buffer loses revolutions by place where the link is what sets the rate, and the medium has no part in it. */
static bool is_link_bound(const struct result *doc)
{
	return result_has_notice(doc, "link-limit");
}

/* Where no zone stands out from the scatter of the samples, no region does. */
static void of_slow_regions(struct result *signs, const struct result *doc)
{
	const struct table *t = result_find_table(doc, "slow_regions");
	size_t n = 0;

	for (size_t i = 0; t && i < t->nrows; i++)
		n += table_number_of(t, i, "rate_bytes_per_s") <
		     SLOW_RATIO * table_number_of(t, i, "expected_bytes_per_s");
	if (t && !is_link_bound(doc) && !result_has_notice(doc, "zones-hidden"))
		count(signs, "slow_stretches", (double)n);
}

static void of_figures(struct result *signs, const struct result *doc)
{
	static const char *const more[] = { "bad_places_ratio", "bad_places_most_ratio", "sampled_places",
		                            "worse_most" }; /* that texts mention */

	for (const struct verdict_rule *r = verdict_rules; r->name; r++) {
		const struct figure *f = result_find_figure(doc, r->figure);

		if (f && !(is_link_bound(doc) && strcmp(r->name, "weak") == 0))
			put(signs, f);
	}
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (result_find_figure(doc, more[i]))
			put(signs, result_find_figure(doc, more[i]));
}

/* How long all of it takes to be read. */
static void of_time(struct result *signs, const struct result *doc)
{
	const struct figure *known = result_find_figure(doc, "read_all_s");
	double rate = figure_number(result_find_figure(doc, "rate_bytes_per_s")),
	       s = doc->ntargets ? target_number(&doc->targets[0], "size_bytes") / rate : (double)NAN;

	s = isnan(figure_number(known)) ? s : figure_number(known);
	if (s > 0.0 && isfinite(s))
		result_figure(signs, "read_all_s", NULL, UNIT_S, s, NULL, 0);
}

/* Data did not come back wrong where writing them failed, which the disk reported. */
static void of_data(struct result *signs, const struct result *doc)
{
	static const char *const names[] = { "wrong_words", "verify_errors" };
	double failed = figure_number(result_find_figure(doc, "failed_write_bytes"));

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		count(signs, "wrong_data", figure_number(result_find_figure(doc, names[i])));
	count(signs, "wrong_data",
	      figure_number(result_find_figure(doc, "wrong_bytes")) - (failed > 0.0 ? failed : 0.0));
}

/* Of a sample, and a check should have one, that is less than all of the disk. */
static void of_sample(struct result *signs, const struct result *doc, bool is_check)
{
	double places = figure_number(result_find_figure(doc, "sampled_places")),
	       ratio = figure_number(result_find_figure(doc, "scanned_ratio"));

	if ((is_check || !isnan(places)) && !(ratio >= 1.0))
		count(signs, "too_few_places", !(places >= PLACES_LEAST));
}

struct result *verdict_signs(const struct result *const *docs, size_t n)
{
	struct result *signs = result_new("signs");
	double failed = 0.0;

	for (size_t i = 0; i < n; i++) {
		bool is_check = docs[i]->head.measurement && strcmp(docs[i]->head.measurement, "check") == 0;
		const struct figure *longest = result_find_figure(docs[i], "response_max_ns");

		of_figures(signs, docs[i]);
		of_time(signs, docs[i]);
		of_health(signs, docs[i], is_check);
		of_link(signs, docs[i]);
		of_slow_regions(signs, docs[i]);
		if (is_check && longest) /* of others a response need not be one read */
			result_figure(signs, "longest_read_ns", NULL, UNIT_NS, figure_number(longest), NULL, 0);
		of_data(signs, docs[i]);
		of_sample(signs, docs[i], is_check);
		if (result_find_figure(docs[i], "unreadable_regions"))
			count(signs, "unreadable_places",
			      figure_number(result_find_figure(docs[i], "unreadable_regions")));
		if (docs[i]->status == STATUS_DEVICE_GONE)
			count(signs, "device_gone", 1.0);
		failed += (double)result_fault_count(docs[i]);
	}
	/* Each is at a place that cannot be read, or was read since; or it failed as the disk went. */
	if (!(figure_number(result_find_figure(signs, "unreadable_places")) > 0.0) &&
	    !result_find_figure(signs, "device_gone"))
		count(signs, "failed_requests", failed);
	return signs;
}
