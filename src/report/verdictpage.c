/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of `platter check`: the verdict, its reasons with what would settle each, and what was seen. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "report/text.h"

#define REASONS_MOST 7 /* with a line each for what settles them they leave the page its 24 lines */
#define SURE_COLUMNS 8
#define VALUE        48

/* Three digits; NULL: there is none. */
static const char *value(const struct result *res, const char *name, char *buf)
{
	const struct figure *f = result_find_figure(res, name);
	double v = figure_number(f);
	struct value_scale scale;
	char number[32];

	if (isnan(v))
		return NULL;
	if (f->type != FIELD_TYPE_F64 || v == 0.0)
		return report_value(buf, VALUE, f->type, f->unit, &f->value);
	scale = report_scale_of(f->unit, v, 0.01 * fabs(v));
	(void)snprintf(buf, VALUE, "%s%s%s", report_number(number, sizeof(number), &scale, v),
	               scale.is_mixed || !*scale.unit ? "" : " ", scale.is_mixed ? "" : scale.unit);
	return buf;
}

/* ", " and the text, or the text alone at the start. */
static void add(char *line, size_t len, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void add(char *line, size_t len, const char *fmt, ...)
{
	size_t used = strlen(line);
	va_list ap;

	if (used + 3 >= len)
		return;
	if (used)
		(void)snprintf(line + used, len - used, ", ");
	used = strlen(line);
	va_start(ap, fmt);
	(void)vsnprintf(line + used, len - used, fmt, ap); /* cut is fine */
	va_end(ap);
}

static double health(const struct result *res, const char *quantity)
{
	const struct table *t = result_find_table(res, "health");

	for (size_t i = 0; t && i < t->nrows; i++) {
		const char *what = table_string(t, i, (size_t)table_column(t, "quantity"));
		double after = table_number_of(t, i, "after");

		if (what && strcmp(what, quantity) == 0)
			return isnan(after) ? table_number_of(t, i, "before") : after;
	}
	return (double)NAN;
}

/* "WDC WD40EFRX WX31D01, 4.00 TB, 41230 h, 31 C, SATA 6.0 Gbps" */
static int print_head(struct printer *p, const struct result *res, const char *word)
{
	const struct target_info *t = res->ntargets ? &res->targets[0] : NULL;
	const char *model = t ? target_text(t, "model") : NULL, *serial = t ? target_text(t, "serial") : NULL;
	double size = t ? target_number(t, "size_bytes") : (double)NAN, hours = health(res, "power_on_hours"),
	       celsius = health(res, "temperature_celsius");
	char line[600] = "", amount[32];
	cleanup_free char *shown = NULL, *path = text_printable(p, t ? target_text(t, "path") : "");

	if (model || serial)
		add(line, sizeof(line), "%s%s%s", model ?: "", model && serial ? " " : "", serial ?: "");
	if (size > 0.0 && size < 0x1p64)
		add(line, sizeof(line), "%s", units_bytes_dec(amount, sizeof(amount), (uint64_t)size));
	if (!isnan(hours))
		add(line, sizeof(line), "%.0f h", hours);
	if (!isnan(celsius))
		add(line, sizeof(line), "%.0f C", celsius);
	if (t && target_text(t, "link"))
		add(line, sizeof(line), "%s", target_text(t, "link"));
	shown = text_printable(p, line);
	if (!shown || !path)
		return -ENOMEM;
	text_look(p, strcmp(word, "KEEP") == 0 ? LOOK_TITLE : LOOK_BAD);
	text_put(p, word);
	text_plain(p);
	text_printf(p, "  %s  ", path);
	text_fill(p, shown, (unsigned)strlen(word) + text_width(path) + 4, (unsigned)strlen(word) + 2);
	text_end(p);
	return 0;
}

static int print_reason(struct printer *p, const struct table *t, size_t row)
{
	const char *sure = table_string(t, row, (size_t)table_column(t, "sure")),
		   *how = table_string(t, row, (size_t)table_column(t, "how")),
		   *settle = table_string(t, row, (size_t)table_column(t, "settle"));
	cleanup_free char *what = text_printable(p, table_string(t, row, (size_t)table_column(t, "what"))),
			  *line = NULL;
	unsigned room;

	if (!what)
		return -ENOMEM;
	text_printf(p, "%3.0f  %s", table_number_of(t, row, "rank"), what);
	room = p->width > SURE_COLUMNS + 1 ? p->width - SURE_COLUMNS - 1 : 0;
	text_spaces(p, 5 + text_width(what) < room ? room - 5 - text_width(what) : 2);
	text_put(p, sure ?: "");
	text_end(p);
	if (!settle)
		return 0;
	line = text_printable(p, settle);
	if (!line)
		return -ENOMEM;
	text_printf(p, "       to settle it%s%s:  %s", how ? ", " : "", how ?: "", line);
	text_end(p);
	return 0;
}

/* ---- what was seen ---- */

static void print_line(struct printer *p, const char *line)
{
	if (!*line)
		return;
	text_spaces(p, 2);
	text_fill(p, line, 2, 2);
}

static void print_rates(struct printer *p, const struct result *res)
{
	char a[VALUE], line[400] = "";

	if (value(res, "start_bytes_per_s", a))
		add(line, sizeof(line), "reads %s at the start", a);
	if (value(res, "middle_bytes_per_s", a))
		add(line, sizeof(line), "%s in the middle", a);
	if (value(res, "end_bytes_per_s", a))
		add(line, sizeof(line), "%s at the end", a);
	if (value(res, "interface_bytes_per_s", a))
		add(line, sizeof(line), "%s from its buffer", a);
	print_line(p, line);
}

/* A random read is the arm's way, half a revolution and the overhead: what more it takes is lost. */
static void print_reads(struct printer *p, const struct result *res)
{
	double seek = figure_number(result_find_figure(res, "average_seek_with_overhead_ns")),
	       turn = 60e9 / figure_number(result_find_figure(res, "rotation_rpm"));
	const char *shingled;
	const struct figure *f = result_find_figure(res, "shingled");
	char a[VALUE], b[VALUE], line[400] = "", time[32];

	if (value(res, "random_access_mean_ns", a) || value(res, "response_mean_ns", a))
		add(line, sizeof(line), "random reads %s", a);
	if (!isnan(seek + turn))
		add(line, sizeof(line), "of which seek and rotation (%.0f rpm) explain %s", 60e9 / turn,
		    units_time(time, sizeof(time), (uint64_t)(seek + turn / 2)));
	if (value(res, "response_p99_ns", a) && value(res, "response_max_ns", b))
		add(line, sizeof(line), "99 %% within %s, all within %s", a, b);
	if (value(res, "average_seek_ns", a))
		add(line, sizeof(line), "average seek %s", a);
	shingled = f && f->type == FIELD_TYPE_STR ? f->value.str : NULL;
	if (shingled && strcmp(shingled, "undecided") != 0)
		add(line, sizeof(line), "shingled: %.20s", shingled);
	print_line(p, line);
}

static void print_share(struct printer *p, const struct result *res)
{
	const struct figure *bad = result_find_figure(res, "bad_places_ratio");
	double ratio = figure_number(result_find_figure(res, "scanned_ratio"));
	char a[VALUE], n[VALUE], time[32], line[400] = "";

	if (!value(res, "scanned_bytes", a) || !value(res, "sampled_places", n) || isnan(ratio))
		return;
	(void)snprintf(line, sizeof(line), "%s (%.3g %%) read at %s random places, %s in all", a,
	               100.0 * fmin(ratio, 1.0), n,
	               units_time(time, sizeof(time), (uint64_t)(res->head.elapsed_s * 1e9)));
	if (bad && figure_number(bad) == 0.0)
		(void)snprintf(line + strlen(line), sizeof(line) - strlen(line),
		               ": at most %.2g %% of places are bad (95 %%)", 100.0 * bad->ci.high);
	else if (bad)
		(void)snprintf(line + strlen(line), sizeof(line) - strlen(line),
		               ": %.2g to %.2g %% of places are bad (95 %%)", 100.0 * bad->ci.low,
		               100.0 * bad->ci.high);
	print_line(p, line);
}

static const char *option_of(const struct result *res, const char *name)
{
	for (size_t i = 0; i < res->head.noptions; i++)
		if (strcmp(res->head.options[i].name, name) == 0)
			return res->head.options[i].text;
	return NULL;
}

static int print_seen(struct printer *p, const struct result *res)
{
	const char *told = option_of(res, "health");
	cleanup_free char *why = NULL;
	char line[300] = "";

	print_rates(p, res);
	print_reads(p, res);
	print_share(p, res);
	if (told && strcmp(told, "smartctl") == 0)
		return 0;
	(void)snprintf(line, sizeof(line), "the disk's own counters were not read%s%.200s", told ? ": " : "",
	               told ?: "");
	why = text_printable(p, line);
	if (!why)
		return -ENOMEM;
	print_line(p, why);
	return 0;
}

int text_verdict(struct printer *p, const struct result *res)
{
	const struct table *t = result_find_table(res, "reasons");
	const struct figure *f = result_find_figure(res, "verdict");
	const char *word = f && f->value.str && !f->value.is_null ? f->value.str : "NO VERDICT";
	size_t shown = t ? t->nrows < REASONS_MOST ? t->nrows : REASONS_MOST : 0;
	int r = print_head(p, res, word);

	for (size_t i = 0; i < shown && r == 0; i++)
		r = print_reason(p, t, i);
	if (t && shown < t->nrows)
		text_printf(p, "     and %zu more, with -v\n", t->nrows - shown);
	if (r == 0)
		text_status(p, res);
	if (shown)
		text_end(p);
	return r == 0 ? print_seen(p, res) : r;
}
