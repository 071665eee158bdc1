/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/units.h"
#include "verdict/verdict.h"

/* ---- the table of platter-check(8), which a test holds against it ---- */

#define BACKBLAZE "Backblaze 2016: on 77 % of failed drives, 4 % of others"
#define PINHEIRO  "Pinheiro, Weber, Barroso, FAST 2007"

#define CERTAIN "certain"
#define PERHAPS "95 %"
#define LATER   "again in a week"
#define HOURS   "takes at least {read_all_s}"

const struct verdict_rule verdict_rules[] = {
	{ "failing", "smart_failing", VERDICT_REJECT, SIGN_COUNTED, 0, "it reports that it is failing", CERTAIN, NULL,
	  NULL, "the drive's own verdict (ATA, SCSI, NVMe)" },
	{ "unreadable", "unreadable_places", VERDICT_REJECT, SIGN_MEASURED, 0, "{unreadable_places:unreadable place}",
	  CERTAIN, NULL, NULL, PINHEIRO ": 39 times more failures in 60 days" },
	{ "selftest", "smart_selftests_failed", VERDICT_REJECT, SIGN_COUNTED, 0,
	  "{smart_selftests_failed:self-test} failed", CERTAIN, NULL, NULL,
	  "the drive's own verdict (ATA, SCSI, NVMe)" },
	{ "wrong", "wrong_data", VERDICT_REJECT, SIGN_MEASURED, 0, "data came back that were not written", CERTAIN,
	  NULL, NULL, "compared block by block" },
	{ "unwritable", "failed_write_bytes", VERDICT_REJECT, SIGN_MEASURED, 0,
	  "{failed_write_bytes} could not be written", CERTAIN, NULL, NULL, "own measurement; no published rate" },
	{ "pending", "smart_pending", VERDICT_REJECT, SIGN_COUNTED, 0, "{smart_pending:sector} pending (SMART 197)",
	  CERTAIN, NULL, NULL, BACKBLAZE },
	{ "reported", "smart_media_errors", VERDICT_REJECT, SIGN_COUNTED, 0,
	  "{smart_media_errors:error} reported uncorrectable (SMART 187, NVMe)", CERTAIN, NULL, NULL, BACKBLAZE },
	{ "uncorrectable", "smart_uncorrectable", VERDICT_REJECT, SIGN_COUNTED, 0,
	  "{smart_uncorrectable:uncorrectable error} (SMART 198, SCSI)", CERTAIN, NULL, NULL, BACKBLAZE },
	{ "grown", "damage_grown", VERDICT_REJECT, SIGN_COUNTED, 0,
	  "{damage_grown:count} of damage rose, now or since an earlier run", CERTAIN, NULL, NULL,
	  PINHEIRO ": 14 to 21 times more failures" },
	{ "faults", "failed_requests", VERDICT_DOUBT, SIGN_MEASURED, 0, "{failed_requests:request} failed", CERTAIN,
	  "surface", HOURS, PINHEIRO ": scan errors; here not confirmed" },
	{ "weak", "weak_places", VERDICT_DOUBT, SIGN_MEASURED, 1,
	  "{weak_places} of {sampled_places} places lost revolutions at each of three readings", "99.9 %", "surface",
	  HOURS, "own measurement; no published rate" },
	{ "always", "always_places", VERDICT_DOUBT, SIGN_MEASURED, 0, "{always_places:place} slow whenever read",
	  "99.9 %", "surface", HOURS, "own measurement; no published rate" },
	{ "slow", "slow_stretches", VERDICT_DOUBT, SIGN_MEASURED, 0,
	  "{slow_stretches:region} slower by a tenth or more", PERHAPS, "surface", HOURS,
	  "own measurement; no published rate" },
	{ "worse", "worse_figures", VERDICT_DOUBT, SIGN_MEASURED, 0, "worse than in earlier runs: {worse_most}",
	  PERHAPS, "check", "with nothing else running", "own measurement; no published rate" },
	{ "stall", "longest_read_ns", VERDICT_DOUBT, SIGN_MEASURED, 5e9, "a random read took {longest_read_ns}",
	  CERTAIN, "transactions --ios=1 --time=10m", NULL, "heads return in 1 s; link resets take 31 s" },
	{ "reallocated", "smart_reallocated", VERDICT_DOUBT, SIGN_COUNTED, 0,
	  "{smart_reallocated:reallocated sector} (SMART 5)", CERTAIN, "check", LATER, BACKBLAZE },
	{ "timeouts", "smart_timeouts", VERDICT_DOUBT, SIGN_COUNTED, 0,
	  "{smart_timeouts:command} timed out (SMART 188)", CERTAIN, "check", LATER, BACKBLAZE },
	{ "worn", "smart_used_percent", VERDICT_DOUBT, SIGN_COUNTED, 99, "{smart_used_percent} % of its endurance used",
	  CERTAIN, NULL, NULL, "NVMe base specification, log 02h" },
	{ "link", "link_below_ratio", VERDICT_DOUBT, SIGN_LINK, 0,
	  "the link runs at {link_at} of its speed: cable or port", CERTAIN, "info", NULL,
	  "SATA: both ends can do more" },
	{ "gone", "device_gone", VERDICT_DOUBT, SIGN_LINK, 0, "it disappeared during the run: disk, cable or power",
	  CERTAIN, "check", "with another cable", "own measurement; no published rate" },
	{ "crc", "crc_grown", VERDICT_DOUBT, SIGN_LINK, 0,
	  "{crc_grown:link error} (CRC) during the run: cable or power", CERTAIN, "check", "with another cable",
	  "smartmontools: not the disk, and only growth counts" },
	{ "little", "too_few_places", VERDICT_DOUBT, SIGN_RUN, 0, "too few random places were read", CERTAIN, "check",
	  NULL, "59 places without a fault: at most 5 % bad (95 %)" },
	{ "uncounted", "counters_unread", VERDICT_KEEP, SIGN_RUN, 0, "its own counters were not read", CERTAIN, "check",
	  "{counters_lack}", BACKBLAZE },
	{ .name = NULL },
};

/* ---- signs ---- */

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
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
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

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
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

/* What rules ask for, as figures: of the documents' figures, of their tables "health", of their targets and faults. Of
 * several the worst. */
static struct result *verdict_signs(const struct result *const *docs, size_t n)
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

/* ---- the verdict ---- */

const char *const verdict_words[] = { "REJECT", "DOUBT", "KEEP", "not known" };

void verdict_judge(const struct result *const *docs, size_t n, struct judgement *ret)
{
	bool doubts[SIGN_RUN + 1] = { false }, is_whole = false;

	for (size_t i = 0; i < n; i++)
		is_whole = is_whole || docs[i]->status <= STATUS_ENDED_EARLY;
	*ret = (struct judgement){ .is = VERDICT_KEEP, .signs = verdict_signs(docs, n) };
	for (const struct verdict_rule *r = verdict_rules; r->name && ret->n < VERDICT_REASONS; r++) {
		if (!(figure_number(result_find_figure(ret->signs, r->figure)) > r->above))
			continue;
		ret->reasons[ret->n++] = r;
		ret->is = r->says < ret->is ? r->says : ret->is;
		doubts[r->kind] = doubts[r->kind] || r->says == VERDICT_DOUBT;
	}
	ret->is_by_two = ret->is == VERDICT_DOUBT && doubts[SIGN_COUNTED] && doubts[SIGN_MEASURED];
	if (ret->is_by_two)
		ret->is = VERDICT_REJECT;
	if (ret->is == VERDICT_KEEP && !(is_whole && result_find_figure(ret->signs, "sampled_places")))
		ret->is = VERDICT_NONE;
}

void verdict_done(struct judgement *j)
{
	result_free(j->signs);
	*j = (struct judgement){ .is = VERDICT_NONE };
}

/* ---- in words ---- */

static void value_text(const struct figure *f, char how, const char *noun, char *buf, size_t len)
{
	double v = figure_number(f);
	char time[32];

	if (f->type == FIELD_TYPE_STR)
		(void)snprintf(buf, len, "%s", f->value.str ? f->value.str : "");
	else if (f->unit == UNIT_NS || f->unit == UNIT_S)
		(void)snprintf(buf, len, "%s",
		               units_time(time, sizeof(time), (uint64_t)(f->unit == UNIT_S ? v * 1e9 : v)));
	else
		(void)snprintf(buf, len, "%.6g%s%s%s", v, how == ':' ? " " : "", how == ':' ? noun : "",
		               how == ':' && v != 1.0 ? "s" : "");
}

struct signs {
	const struct result *of;
	bool are_known;
};

static bool mention(void *arg, const char *what, size_t bytes, char *buf, size_t len)
{
	struct signs *signs = arg;
	char name[64], noun[48] = "";
	size_t n = strcspn(what, "}:");
	const struct figure *f;

	(void)snprintf(name, sizeof(name), "%.*s", (int)n, what);
	if (n < bytes)
		(void)snprintf(noun, sizeof(noun), "%.*s", (int)(bytes - n - 1), what + n + 1);
	f = result_find_figure(signs->of, name);
	signs->are_known = signs->are_known && f;
	buf[0] = '\0';
	if (f)
		value_text(f, what[n], noun, buf, len);
	return true;
}

/* Signs in place of their names in braces; false: one is not known. */
static bool fill(const struct judgement *j, const char *text, char *buf)
{
	struct signs signs = { j->signs, true };

	(void)str_fill(buf, VERDICT_TEXT, text, &(struct str_source){ mention, &signs });
	return signs.are_known;
}

char *verdict_text(const struct judgement *j, size_t reason, char *buf)
{
	(void)fill(j, j->reasons[reason]->text, buf);
	return buf;
}

/* "platter surface /dev/sda", to be freed; NULL: nothing is to be settled. */
static char *settle_command(const struct verdict_rule *rule, const struct result *res)
{
	const char *disk = res->ntargets ? target_text(&res->targets[0], "path") : NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *f = rule->settle ? open_memstream(&text, &len) : NULL;

	if (!f)
		return NULL;
	(void)fprintf(f, "platter %s", rule->settle);
	if (disk)
		str_put_shell_word(f, disk);
	(void)fclose(f);
	return text;
}

/* ---- into the document ---- */

struct reason_row {
	uint64_t rank;
	const char *verdict, *rule, *what, *sure, *settle, *how, *source;
};

static const struct field reason_fields[] = {
	FIELD_U64(struct reason_row, rank, UNIT_COUNT, "no."),
	FIELD_STR(struct reason_row, what, "reason"),
	FIELD_STR(struct reason_row, sure, "sure"),
	FIELD_STR(struct reason_row, settle, "to settle it"),
	FIELD_STR(struct reason_row, how, "how", .detail = true),
	FIELD_STR(struct reason_row, verdict, "by itself", .detail = true),
	FIELD_STR(struct reason_row, rule, "rule", .detail = true),
	FIELD_STR(struct reason_row, source, "source", .detail = true),
	FIELD_END,
};

static void report(struct result *res, const struct judgement *j)
{
	struct table *t = result_table_anew(res, "reasons", "Reasons, worst first", reason_fields);
	char why[3 * VERDICT_TEXT] = "";

	for (size_t i = 0; i < j->n; i++) {
		char text[VERDICT_TEXT], how[VERDICT_TEXT];
		const struct verdict_rule *r = j->reasons[i];
		bool is_how = r->how && fill(j, r->how, how), is_possible = !r->how || *how;
		cleanup_free char *settle = is_possible ? settle_command(r, res) : NULL;
		struct reason_row row = { .rank = i + 1,
			                  .what = verdict_text(j, i, text),
			                  .sure = r->sure,
			                  .settle = settle,
			                  .how = is_how ? how : NULL,
			                  .verdict = verdict_words[r->says],
			                  .rule = r->name,
			                  .source = r->source };

		str_list(why, sizeof(why), ", ", "%s", text);
		result_row(t, &row);
	}
	result_figure_text(res, "verdict", "verdict", j->is == VERDICT_NONE ? NULL : verdict_words[j->is]);
	result_figure_text(res, "verdict_why", "reasons", *why ? why : NULL);
	result_figure(res, "verdict_level", "0 keep, 1 doubt, 2 reject", UNIT_NONE,
	              j->is == VERDICT_NONE ? (double)NAN : (double)(VERDICT_KEEP - j->is), NULL, 0);
	res->verdict_is_no = j->is == VERDICT_REJECT;
	res->verdict_is_open = j->is == VERDICT_DOUBT || j->is == VERDICT_NONE;
}

void verdict_conclude(struct result *res)
{
	const struct result *const docs[] = { res };
	struct judgement j;

	verdict_judge(docs, 1, &j);
	report(res, &j);
	verdict_done(&j);
}
