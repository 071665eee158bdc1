/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which documents belong together, and what of them may be compared: by tables. An option that no table knows changes
 * what is measured, and a count without an interval is the run's own doing.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "report/alike.h"
#include "report/report.h"
#include "verdict/verdict.h"

#define KEY_TEXT 64

/* What of the host is part of the test, and of which. */
static const char *const cached_measurements[] = { "cache", "mark", "passes" };

/* Members of a target that must be equal where both know them; the disk itself is samedisk.h's question. */
static const char *const must_equal[] = { "kind", "partition_offset_bytes", "zoned", "fs_type" };
/* What may have been set otherwise: notices. */
static const char *const settings[] = { "firmware",    "transport",         "scheduler",   "read_ahead_bytes",
	                                "write_cache", "max_sectors_bytes", "nr_requests", "queue_depth" };
/* Notices of what came from outside. */
static const char *const disturbed[] = { "other-io", "steal", "stopped", "thermal" };

static const struct {
	const char *name;
	enum figure_role role;
	int direction; /* 0: as its unit says */
} figure_table[] = {
	{ "sustained", FIGURE_EXACT, 1 },
	{ "confidence", FIGURE_OF_RUN, 0 },
	{ "verdict", FIGURE_OF_RUN, 0 },
	{ "verdict_why", FIGURE_OF_RUN, 0 },
	{ "slowest", FIGURE_OF_RUN, 0 },
	{ "next_command", FIGURE_OF_RUN, 0 },
	{ "ended_by", FIGURE_OF_RUN, 0 },
	{ "needed_time_s", FIGURE_OF_RUN, 0 },
	{ "drift_ratio", FIGURE_OF_RUN, 0 },
	{ "used_s", FIGURE_OF_RUN, 0 },
	{ "bound_s", FIGURE_OF_RUN, 0 },
	{ "used_to_bound_ratio", FIGURE_OF_RUN, 0 },
	{ "least_over_ns", FIGURE_OF_RUN, 0 },
	{ "held_s", FIGURE_OF_RUN, 0 },
	{ "by_head_ratio", FIGURE_OF_RUN, 0 },
	{ "bad_head", FIGURE_EXACT, 0 },
	{ "paused_s", FIGURE_OF_RUN, 0 },
	{ "scan_s", FIGURE_OF_RUN, 0 },
	{ "again_s", FIGURE_OF_RUN, 0 },
	{ "slow_regions", FIGURE_TROUBLE, -1 },
	{ "unreadable_regions", FIGURE_TROUBLE, -1 },
	{ "always_places", FIGURE_TROUBLE, -1 },
	{ "unreadable_places", FIGURE_TROUBLE, -1 },
	{ "verify_errors", FIGURE_TROUBLE, -1 },
	{ "wrong_words", FIGURE_TROUBLE, -1 },
	{ "transactions_failed", FIGURE_TROUBLE, -1 },
	{ "read_all_s", FIGURE_MEASURED, -1 },
	{ "write_all_s", FIGURE_MEASURED, -1 },
};

static const char *member_text(const struct target_info *t, const char *key, char *buf)
{
	enum field_type type;
	const struct cell *c = target_cell(t, key, &type);

	return c && (type != FIELD_TYPE_STR || c->str[0]) ? result_cell_text(buf, CELL_TEXT, type, c) : NULL;
}

/* "write cache" of write_cache, "size" of size_bytes. */
static const char *key_words(const char *key, char *buf)
{
	(void)snprintf(buf, KEY_TEXT, "%s", key);
	if (strlen(buf) > 6 && strcmp(buf + strlen(buf) - 6, "_bytes") == 0)
		buf[strlen(buf) - 6] = '\0';
	for (char *c = strchr(buf, '_'); c; c = strchr(c, '_'))
		*c = ' ';
	return buf;
}

/* As people read it: "450.1 GB". */
static const char *member_shown(const struct target_info *t, const char *key, char *buf)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->columns[i].key, key) == 0)
			return report_value(buf, CELL_TEXT, t->columns[i].type, t->columns[i].unit, &t->cells[i]);
	return "";
}

/* +1 equal, -1 not, 0: one of them does not know. */
static int members(const struct target_info *a, const struct target_info *b, const char *key, char *why)
{
	char x[CELL_TEXT], y[CELL_TEXT], words[KEY_TEXT];
	const char *of_a = member_text(a, key, x), *of_b = member_text(b, key, y);

	if (!of_a || !of_b)
		return 0;
	if (strcmp(of_a, of_b) == 0)
		return 1;
	if (why)
		(void)snprintf(why, WHY_TEXT, "the %s is %.60s in A and %.60s in B", key_words(key, words),
		               member_shown(a, key, x), member_shown(b, key, y));
	return -1;
}

static bool is_same_target(const struct result *res_a, const struct result *res_b, size_t i, char *why)
{
	const struct target_info *a = &res_a->targets[i], *b = &res_b->targets[i];
	static const char *const keys[] = {
		[NAME_SERIAL] = "serial",  [NAME_WWN] = "wwn",     [NAME_BRIDGE] = "serial",
		[NAME_NAMESPACE] = "disk", [NAME_MODEL] = "model", [NAME_SIZE] = "disk_size_bytes",
	};
	struct disk_names x, y;
	enum disk_name by;

	for (size_t k = 0; k < ARRAY_LEN(must_equal); k++)
		if (members(a, b, must_equal[k], why) < 0)
			return false;
	/* A file is one of many on its disk. A block device is as large as it is; a file may grow. */
	if (members(a, b, target_is_file(a) ? "path" : "size_bytes", why) < 0)
		return false;
	result_names(res_a, i, &x);
	result_names(res_b, i, &y);
	switch (same_disk(&x, &y, &by)) {
	case DISK_SAME:
		return true;
	case DISK_OTHER:
		if (by < ARRAY_LEN(keys) && keys[by])
			(void)members(a, b, keys[by], why);
		return false;
	case DISK_UNKNOWN:
		break;
	}
	(void)snprintf(why, WHY_TEXT, "no %s shows that they are one",
	               by == NAME_NONE ? "lasting name, nor host and path," : "second name beside an equal one");
	return false;
}

static bool is_same_way(const struct result *a, const struct result *b, char *why)
{
	for (size_t i = 0; i < a->head.noptions; i++) {
		const struct option_value *x = &a->head.options[i];
		const char *y = result_option_text(b, x->name);

		if (!x->text || !y || strcmp(x->text, y) == 0 || report_option_kind(a, x) == OPTION_ASIDE)
			continue;
		(void)snprintf(why, WHY_TEXT, "--%s was %.60s in A and is %.60s in B", x->name,
		               x->text[0] ? x->text : "nothing", y[0] ? y : "nothing");
		return false;
	}
	if (a->head.engine && b->head.engine && strcmp(a->head.engine, b->head.engine) != 0) {
		(void)snprintf(why, WHY_TEXT, "the engine was %s in A and is %s in B", a->head.engine, b->head.engine);
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(cached_measurements); i++)
		if (strcmp(a->head.measurement, cached_measurements[i]) == 0 &&
		    (a->head.host.memory_bytes != b->head.host.memory_bytes ||
		     (a->head.host.cpu && b->head.host.cpu && strcmp(a->head.host.cpu, b->head.host.cpu) != 0))) {
			(void)snprintf(why, WHY_TEXT, "the host's processor or memory is not the same");
			return false;
		}
	return true;
}

enum alike alike(const struct result *a, const struct result *b, char *why)
{
	if (strcmp(a->head.measurement, b->head.measurement) != 0) {
		(void)snprintf(why, WHY_TEXT, "A is of %.60s, B of %.60s", a->head.measurement, b->head.measurement);
		return OTHER_MEASUREMENT;
	}
	if (a->ntargets != b->ntargets) {
		(void)snprintf(why, WHY_TEXT, "A has %zu targets, B %zu", a->ntargets, b->ntargets);
		return OTHER_DISK;
	}
	for (size_t i = 0; i < a->ntargets; i++)
		if (!is_same_target(a, b, i, why))
			return OTHER_DISK;
	return is_same_way(a, b, why) ? ALIKE : OTHER_OPTIONS;
}

bool alike_is_one_disk(const struct result *res)
{
	const char *disk = target_text(res->targets, "disk");

	for (size_t i = 1; i < res->ntargets; i++)
		if (!disk || strcmp(target_text(&res->targets[i], "disk") ?: "", disk) != 0)
			return false;
	return res->ntargets > 0;
}

bool alike_same_disk(const struct result *a, const struct result *b)
{
	char why[WHY_TEXT];
	bool is_same = a->ntargets == b->ntargets && alike_is_one_disk(a) && alike_is_one_disk(b);

	for (size_t i = 0; i < a->ntargets && is_same; i++)
		is_same = is_same_target(a, b, i, why);
	return is_same;
}

/* What it saw stands, however it ended. */
static bool saw_harm(const struct result *res)
{
	struct judgement j;
	bool is_bad;

	verdict_judge(&res, 1, &j);
	is_bad = j.is == VERDICT_REJECT || result_fault_count(res) > 0;
	verdict_done(&j);
	return is_bad;
}

bool report_is_last(const struct result *const *res, size_t n, size_t at)
{
	bool is_whole = alike_outcome(res[at]) >= 0;

	for (size_t i = 0; i < n; i++) {
		int later;

		if (i == at || strcmp(res[i]->head.measurement, res[at]->head.measurement) != 0 ||
		    alike_outcome(res[i]) < 0)
			continue;
		later = alike_by_date(&res[i], &res[at]);
		if ((later > 0 || (later == 0 && i > at) || (!is_whole && !saw_harm(res[at]))) &&
		    alike_same_disk(res[i], res[at]))
			return false;
	}
	return true;
}

size_t alike_disks(const struct result *const *sorted, size_t n, size_t *ret_disk)
{
	const struct result **latest = xcalloc(n + 1, sizeof(*latest));
	size_t ndisks = 0;
	for (size_t i = 0; i < n; i++) {
		size_t d = 0;

		while (d < ndisks && !alike_same_disk(latest[d], sorted[i]))
			d++;
		ret_disk[i] = alike_is_one_disk(sorted[i]) ? d : SIZE_MAX;
		if (ret_disk[i] == SIZE_MAX)
			continue;
		latest[d] = sorted[i];
		ndisks += d == ndisks;
	}
	free(latest);
	return ndisks;
}

bool alike_same_kind(const struct result *a, const struct result *b)
{
	char why[WHY_TEXT];

	return strcmp(a->head.measurement, b->head.measurement) == 0 && a->ntargets == 1 && b->ntargets == 1 &&
	       members(&a->targets[0], &b->targets[0], "model", NULL) > 0 &&
	       members(&a->targets[0], &b->targets[0], "size_bytes", NULL) >= 0 && is_same_way(a, b, why);
}

const char *alike_lasting_name(const struct result *res, size_t target)
{
	struct disk_names names;
	enum disk_name which;

	if (target_is_file(&res->targets[target]))
		return NULL;
	result_names(res, target, &names);
	return disk_lasting_name(&names, &which);
}

const char *alike_disk_text(const struct result *res, char *buf)
{
	const char *host = res->head.host.name, *text = res->ntargets ? alike_lasting_name(res, 0) : "";
	struct disk_names names;

	if (res->ntargets == 0)
		return "";
	result_names(res, 0, &names);
	if (text || !names.place)
		return text ?: names.model ?: "";
	(void)snprintf(buf, DISK_TEXT, "%.50s%s%.70s", host ? host : "", host ? ":" : "", names.place);
	return buf;
}

double alike_seconds(const struct result *res)
{
	struct tm tm = { 0 };
	const char *end = res->head.started ? strptime(res->head.started, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;

	return end ? (double)timegm(&tm) + (*end == '.' ? strtod(end, NULL) : 0.0) : (double)NAN;
}

double alike_years(const struct result *res)
{
	return alike_seconds(res) / (365.25 * 86400.0);
}

int alike_by_date(const void *a, const void *b)
{
	const struct result *p = *(const struct result *const *)a, *q = *(const struct result *const *)b;
	double x = alike_seconds(p), y = alike_seconds(q);

	return x > y ? 1 : x < y ? -1 : strcmp(p->head.started ?: "", q->head.started ?: ""); /* or not dates */
}

const char *alike_disturbed(const struct result *res)
{
	for (size_t i = 0; i < ARRAY_LEN(disturbed); i++)
		if (result_has_notice(res, disturbed[i]))
			return disturbed[i];
	return NULL;
}

int alike_outcome(const struct result *res)
{
	static const int outcomes[] = {
		[STATUS_COMPLETE] = 0,   [STATUS_WITH_ERRORS] = 1, [STATUS_DEVICE_GONE] = 2,
		[STATUS_CANCELLED] = -1, [STATUS_FAILED] = -1,     [STATUS_RUNNING] = -1,
	};

	return outcomes[res->status];
}

const char *alike_setting(const struct result *res, size_t i, char *buf, const char **ret_name)
{
	*ret_name = i < ARRAY_LEN(settings) ? settings[i] : NULL;
	return *ret_name && res->ntargets ? member_text(&res->targets[0], *ret_name, buf) : NULL;
}

/* ---- figures ---- */

enum figure_role figure_role(const struct figure *f)
{
	for (size_t i = 0; i < ARRAY_LEN(figure_table); i++)
		if (strcmp(figure_table[i].name, f->name) == 0)
			return figure_table[i].role;
	if (f->type == FIELD_TYPE_STR)
		return FIGURE_EXACT;
	return f->unit == UNIT_COUNT && !isfinite(f->ci.low) ? FIGURE_OF_RUN : FIGURE_MEASURED;
}

/* +1: more is better; -1: less is better; 0: neither. */
static int direction(const struct figure *f)
{
	static const int of_unit[] = { [UNIT_BYTES_PER_S] = 1, [UNIT_MIB_PER_S] = 1, [UNIT_PER_S] = 1, [UNIT_NS] = -1 };

	for (size_t i = 0; i < ARRAY_LEN(figure_table); i++)
		if (strcmp(figure_table[i].name, f->name) == 0 && figure_table[i].direction)
			return figure_table[i].direction;
	return f->unit < ARRAY_LEN(of_unit) ? of_unit[f->unit] : 0;
}

const char *figure_judge(const struct figure *f, double change)
{
	int sign = direction(f) * (change > 0.0 ? 1 : -1);

	return sign > 0 ? "better" : sign < 0 ? "worse" : "different";
}

double figure_error(const struct figure *f)
{
	double wide = f->ci.high - f->ci.low;

	return isfinite(wide) ? wide / 2.0 / stats_t_975(9.0) : 0.0;
}

double two_sided_t(double p, double df)
{
	double low = 0.0, high = 2.0;

	while (2.0 * (1.0 - stats_t_cdf(high, df)) > p && high < 1e9)
		high *= 2.0;
	for (int i = 0; i < 60; i++) {
		double mid = (low + high) / 2.0;

		if (2.0 * (1.0 - stats_t_cdf(mid, df)) > p)
			low = mid;
		else
			high = mid;
	}
	return high;
}

double sidak_level(double alarms, size_t n)
{
	return 1.0 - pow(1.0 - alarms, 1.0 / (double)(n ? n : 1));
}
