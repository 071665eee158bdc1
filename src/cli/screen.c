/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answer in one sentence: the clauses that a measurement declares (struct screen_decl), filled with the figures of
 * the document. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"
#include "measure/measures.h"

#define ANSWER_BYTES 1000
#define VALUE_KNOWN  0.25 /* of a value: where its interval is wider by half, the ends are the answer (choice) */

/* Three digits, or fewer when less is known; two of the interval's half-width at most; what hardly is known, by its
 * ends: "220 to 1194 MB/s". */
static void value_text(const struct figure *f, char *buf, size_t len)
{
	double v = figure_number(f), half = isfinite(f->ci.low) ? interval_half(f->ci) : 0;
	struct value_scale scale;

	if (f->unit == UNIT_COUNT) {
		(void)snprintf(buf, len, "%.6g", v);
		return;
	}
	if (f->type != FIELD_TYPE_F64 || v == 0 || (f->unit == UNIT_S && v < 0.1)) {
		(void)report_figure(buf, len, f);
		return;
	}
	scale = report_scale_of(f->unit, v, fmax(half, 0.1 * fabs(v)));
	buf[0] = '\0';
	if (half > VALUE_KNOWN * fabs(v)) {
		(void)report_number(buf, len, &scale, f->ci.low);
		str_add(buf, len, " to ");
		v = f->ci.high;
	}
	(void)report_with_unit(buf + strlen(buf), len - strlen(buf), &scale, v);
}

/* Of all of it: nothing; never rounded to all. false: it is not known. */
static bool share_text(double v, char *buf, size_t len)
{
	buf[0] = '\0';
	if (v < 1)
		(void)snprintf(buf, len, v < 0.99 ? "%.2g %%" : "%.5g %%", v < 0.99 ? 100 * v : floor(1e5 * v) / 1e3);
	return !isnan(v);
}

/* Over how much something was seen: "the 3.2 GB (0.08 %)". Of nothing there is nothing to be said. */
static bool extent(const struct result *res, const struct figure *f, const char *ratio, size_t bytes, char *buf,
                   size_t len)
{
	char value[100], share[32] = "", name[64];

	(void)snprintf(name, sizeof(name), "%.*s", (int)bytes, ratio);
	if (!(figure_number(f) > 0) || !share_text(figure_number(result_find_figure(res, name)), share, sizeof(share)))
		return false;
	value_text(f, value, sizeof(value));
	(void)snprintf(buf, len, *share ? "the %s (%s)" : "the %s", value, share);
	return true;
}

static void count_text(double n, const char *noun, size_t bytes, char *buf, size_t len)
{
	const char *many = bytes && noun[bytes - 1] == 's' ? "es" : "s";

	(void)snprintf(buf, len, "%.0f %.*s%s", n, (int)bytes, noun, n == 1 ? "" : many);
}

/* What stands for "{name}", "{name~}", "{name%}", "{name@ratio}", "{name:noun}" or "{name#noun}"; false: there is
 * nothing to be said. */
static bool mention(void *arg, const char *what, size_t bytes, char *buf, size_t len)
{
	const struct result *res = arg;
	size_t name_bytes = strcspn(what, "~%:@#}");
	char name[64];
	const struct figure *f;
	double v;

	(void)snprintf(name, sizeof(name), "%.*s", (int)name_bytes, what);
	f = result_find_figure(res, name);
	if (!f || f->value.is_null)
		return false;
	v = figure_number(f);
	if (what[name_bytes] == '%')
		return share_text(v, buf, len) && *buf;
	if (what[name_bytes] == '@')
		return extent(res, f, what + name_bytes + 1, bytes - name_bytes - 1, buf, len);
	if (what[name_bytes] == ':' || what[name_bytes] == '#')
		count_text(what[name_bytes] == ':' ? v : (double)f->samples, what + name_bytes + 1,
		           bytes - name_bytes - 1, buf, len);
	else
		value_text(f, buf, len);
	return what[name_bytes] != '~' || isfinite(f->ci.low);
}

static bool is_meant(const struct result *res, const struct clause *c)
{
	double any = figure_number(c->if_any ? result_find_figure(res, c->if_any) : NULL),
	       none = figure_number(c->if_none ? result_find_figure(res, c->if_none) : NULL);

	return (!c->if_any || any > 0) && (!c->if_none || none == 0) &&
	       !(c->unless && result_has_notice(res, c->unless)) && (!c->because || result_has_notice(res, c->because));
}

/* What ended before its end says so, and so does what has too little for any clause: then the run cannot tell. */
static void say_ending(struct result *res, char *answer, size_t len)
{
	static const char *const how[STATUS_N] = { [STATUS_ENDED_EARLY] = "time ran out",
		                                   [STATUS_CANCELLED] = "it was interrupted",
		                                   [STATUS_DEVICE_GONE] = "the disk disappeared" };
	const struct figure *said = result_find_figure(res, "ended_by");
	const char *why = how[res->status];

	if (!why && result_has_notice(res, "too-many-errors"))
		why = "too many requests failed";
	else if (!why && result_has_notice(res, "time-over"))
		why = how[STATUS_ENDED_EARLY];
	else if (!why && !*answer && result_fault_count(res))
		why = "requests failed";
	if (!*answer && !res->verdict_is_no && res->status != STATUS_RUNNING) /* which has no answer yet */
		res->verdict_is_open = true;
	if (why && (!*answer || !said || said->value.is_null || !strstr(answer, said->value.str)))
		str_list(answer, len, "; ", "%s before %s", why, *answer ? "the end" : "there was an answer");
	else if (!*answer && (res->status == STATUS_COMPLETE || res->status == STATUS_WITH_ERRORS))
		(void)snprintf(answer, len, "too little was measured for an answer");
}

void cli_screen(struct result *res)
{
	const struct measure *m = measure_find(res->head.measurement ? res->head.measurement : "");
	const struct clause *first = m && m->screen ? m->screen->says : NULL;
	char answer[ANSWER_BYTES] = "", one[ANSWER_BYTES];
	size_t silent = 0; /* clauses in a row that were not said */

	for (const struct clause *c = first; c && c->text; c++) {
		if (silent < c->instead_of || !is_meant(res, c) ||
		    !str_fill(one, sizeof(one), c->text, &(struct str_source){ mention, res })) {
			silent++;
			continue;
		}
		silent = 0;
		res->verdict_is_open |= c->is_open && !res->verdict_is_no;
		str_list(answer, sizeof(answer), "; ", "%s", one);
	}
	if (first && !result_find_table(res, "plan")) {
		result_set(&res->shows, m->screen->shows);
		say_ending(res, answer, sizeof(answer));
	}
	if (!*answer)
		return;
	answer[0] = (char)toupper((unsigned char)answer[0]);
	str_add(answer, sizeof(answer), ".");
	result_set(&res->answer, answer);
}
