/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers for people. Files hold base units; here bytes per second become MB/s (decimal, the disk industry's unit) and
 * nanoseconds milliseconds. Numbers that stand below each other get one unit and one number of decimals, so that the
 * eye can compare them; a single one gets what suits it.
 */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/order.h"
#include "base/units.h"
#include "base/utf8.h"
#include "base/xalloc.h"

#define RATIO_SHARE 2.0 /* up to here a ratio is a share or a change, in percent; more are that many times */

struct step {
	double divisor;
	const char *unit;
};
static const struct step byte_steps[] = { { 1, "B" },     { 1e3, "kB" },  { 1e6, "MB" }, { 1e9, "GB" },
	                                  { 1e12, "TB" }, { 1e15, "PB" }, { 0, NULL } };
static const struct step ns_steps[] = { { 1, "ns" }, { 1e3, "us" }, { 1e6, "ms" }, { 1e9, "s" }, { 0, NULL } };
static const struct step binary_steps[] = { { 1, "B" },        { 0x1p10, "KiB" }, { 0x1p20, "MiB" }, { 0x1p30, "GiB" },
	                                    { 0x1p40, "TiB" }, { 0x1p50, "PiB" }, { 0, NULL } };

/* Units with one scale. digits: of the largest number that are shown, when they are not whole. */
static const struct plain {
	double divisor;
	const char *unit;
	int min_decimals, max_decimals;
} plain_units[] = {
	[UNIT_NONE] = { 1, "", 0, 6 },
	[UNIT_TEXT] = { 1, "", 0, 0 },
	[UNIT_COUNT] = { 1, "", 0, 3 },
	[UNIT_BYTES] = { 1, "B", 0, 3 },
	[UNIT_BYTES_PER_S] = { 1e6, "MB/s", 1, 3 },
	[UNIT_MIB_PER_S] = { 1, "MiB/s", 2, 4 },
	[UNIT_NS] = { 1, "ns", 0, 3 },
	[UNIT_S] = { 1, "s", 1, 3 },
	[UNIT_RATIO] = { 0.01, "%", 1, 3 },
	[UNIT_PERCENT] = { 1, "%", 1, 3 },
	[UNIT_RPM] = { 1, "rpm", 1, 2 },
	[UNIT_PER_S] = { 1, "/s", 0, 3 },
};

static const struct step *step_for(const struct step *steps, double largest, double at_least)
{
	const struct step *s = steps;

	while (s[1].unit && largest >= s[1].divisor * at_least)
		s++;
	return s;
}

/* What is to be known of numbers before they are scaled. */
struct range {
	double largest, smallest; /* absolute, of those that are not 0 */
	size_t n;                 /* finite ones */
	bool is_whole, is_power_of_two;
};

static struct range range_of(const double *x, size_t n)
{
	struct range r = { .smallest = (double)INFINITY, .is_whole = true, .is_power_of_two = true };

	for (size_t i = 0; i < n; i++) {
		double a = fabs(x[i]);
		int exponent;

		if (!isfinite(a))
			continue;
		r.n++;
		r.is_whole &= a == floor(a);
		if (a == 0)
			continue;
		r.largest = a > r.largest ? a : r.largest;
		r.smallest = a < r.smallest ? a : r.smallest;
		r.is_power_of_two &= frexp(a, &exponent) == 0.5 && a >= 512;
	}
	r.is_power_of_two &= r.largest > 0;
	return r;
}

/* Four digits of the largest, but at first two decimals; more while the smallest would show fewer than two digits. */
static int decimals_for(double largest, double smallest, const struct plain *limits)
{
	int d = largest >= 999.95 ? 0 : largest >= 99.995 ? 1 : 2;

	if (d < limits->min_decimals)
		d = limits->min_decimals;
	while (d < limits->max_decimals && smallest * pow(10, d) < 10)
		d++;
	return d < limits->max_decimals ? d : limits->max_decimals;
}

/* Would sorted x all differ, and none but 0 look like 0, with d decimals of the unit? */
static bool are_distinct(const double *x, size_t n, double divisor, int d)
{
	double tick = pow(10, d) / divisor;

	for (size_t i = 0; i < n; i++) {
		if (x[i] != 0 && fabs(x[i] * tick) < 0.5)
			return false;
		if (i > 0 && x[i] != x[i - 1] && round(x[i] * tick) == round(x[i - 1] * tick))
			return false;
	}
	return true;
}

/* Places on a disk have to be distinct; sizes from kilobytes to terabytes get a unit each. */
static struct value_scale byte_scale(const double *x, size_t n, const struct range *range)
{
	const struct step *s = step_for(byte_steps, range->largest, 10);
	struct value_scale scale = { s->divisor, s->unit, 0, false, UNIT_BYTES };
	cleanup_free double *sorted = NULL;
	size_t kept = 0;

	if (range->is_power_of_two || range->largest > range->smallest * 1e4) {
		scale.is_mixed = true;
		return scale;
	}
	sorted = xcalloc(n + 1, sizeof(*sorted));
	for (size_t i = 0; i < n; i++)
		if (isfinite(x[i]))
			sorted[kept++] = x[i];
	qsort(sorted, kept, sizeof(*sorted), order_f64);
	if (s->divisor > 1)
		scale.decimals = range->largest / s->divisor < 1000 ? 1 : 0;
	while (s->divisor > 1 && scale.decimals < 3 && !are_distinct(sorted, kept, s->divisor, scale.decimals))
		scale.decimals++;
	return scale;
}

struct value_scale report_scale(enum unit unit, const double *x, size_t n)
{
	const struct plain *p = &plain_units[unit];
	struct range range = range_of(x, n);
	struct value_scale scale = { p->divisor, p->unit, 0, false, unit };

	if (unit == UNIT_BYTES)
		return byte_scale(x, n, &range);
	if (unit == UNIT_RATIO && range.largest > RATIO_SHARE) {
		scale.divisor = 1;
		scale.unit = "x";
	}
	if (unit == UNIT_NS) {
		const struct step *s = step_for(ns_steps, range.largest, 1);

		scale.divisor = s->divisor;
		scale.unit = s->unit;
		scale.is_mixed = range.n > 0 && range.largest > range.smallest * 1e6;
	}
	if (range.is_whole && scale.divisor == 1 && (p->min_decimals == 0 || unit == UNIT_S))
		return scale;
	scale.decimals = decimals_for(range.largest / scale.divisor, range.smallest / scale.divisor, p);
	return scale;
}

struct value_scale report_scale_of(enum unit unit, double value, double half_width)
{
	struct value_scale scale = report_scale(unit, &value, 1);
	double width = fabs(half_width) / scale.divisor;
	int d;

	if (!isfinite(width) || width == 0 || !isfinite(value))
		return scale;
	if (unit == UNIT_BYTES) { /* a single size has its own unit, but an interval is in the same as the value */
		scale.is_mixed = false;
		scale.divisor = step_for(byte_steps, fabs(value), 1)->divisor;
		scale.unit = step_for(byte_steps, fabs(value), 1)->unit;
		width = fabs(half_width) / scale.divisor;
	}
	d = 1 - (int)floor(log10(width * 1.0005)); /* 9.996 rounds to 10 */
	scale.decimals = d < 0 ? 0 : d > 6 ? 6 : d;
	return scale;
}

static char *mixed(char *buf, size_t len, enum unit unit, double value)
{
	int exponent;

	if (unit == UNIT_NS && value >= 0 && value < 0x1p63) {
		(void)units_time(buf, len, (uint64_t)llround(value));
	} else if (unit == UNIT_BYTES && value >= 0 && value < 0x1p63) {
		const struct step *s = step_for(binary_steps, value, 1);

		if (value >= 512 && frexp(value, &exponent) == 0.5)
			(void)units_printf(buf, len, "%.0f %s", value / s->divisor, s->unit);
		else
			(void)units_bytes_dec(buf, len, (uint64_t)llround(value));
	} else {
		(void)units_printf(buf, len, "%.4g %s", value, plain_units[unit].unit);
	}
	return buf;
}

char *report_number(char *buf, size_t len, const struct value_scale *scale, double value)
{
	if (!scale->is_mixed && fabs(value / scale->divisor) <= 0.5 * pow(10.0, -scale->decimals))
		value = 0.0; /* never "-0.0" */
	if (!isfinite(value))
		(void)units_printf(buf, len, "-");
	else if (scale->is_mixed)
		(void)mixed(buf, len, scale->kind, value);
	else if (fabs(value / scale->divisor) >= 1e15)
		(void)units_printf(buf, len, "%.6g", value / scale->divisor);
	else
		(void)units_printf(buf, len, "%.*f", scale->decimals, value / scale->divisor);
	return buf;
}

char *report_with_unit(char *buf, size_t len, const struct value_scale *scale, double value)
{
	const char *unit = scale->is_mixed ? "" : scale->unit; /* a mixed number has its own */
	char number[64];

	(void)units_printf(buf, len, "%s%s%s", report_number(number, sizeof(number), scale, value),
	                   *unit && *unit != '/' ? " " : "", unit);
	return buf;
}

/* Digits that a data sheet would give. */
static char *single(char *buf, size_t len, enum unit unit, double value)
{
	struct value_scale scale = report_scale(unit, &value, 1);

	if (unit == UNIT_BYTES_PER_S)
		return units_rate(buf, len, value);
	if (unit == UNIT_BYTES || unit == UNIT_NS)
		return mixed(buf, len, unit, value);
	if (unit == UNIT_S && ((value > 0.0 && value < 0.1) || value >= 59.95) && value < 1e9)
		return units_time(buf, len, (uint64_t)llround(value * 1e9));
	return report_with_unit(buf, len, &scale, value);
}

char *report_value(char *buf, size_t len, enum field_type type, enum unit unit, const struct cell *cell)
{
	if (cell->is_null || type == FIELD_TYPE_END)
		(void)units_printf(buf, len, "-");
	else if (type == FIELD_TYPE_STR)
		(void)report_printable(buf, len, cell->str, 0, true);
	else if (type != FIELD_TYPE_F64 && (unit == UNIT_NONE || unit == UNIT_COUNT || unit == UNIT_TEXT))
		(void)result_cell_text(buf, len, type, cell); /* exact, however large */
	else if (type == FIELD_TYPE_F64)
		(void)single(buf, len, unit, cell->f64);
	else
		(void)single(buf, len, unit, type == FIELD_TYPE_U64 ? (double)cell->u64 : (double)cell->i64);
	return buf;
}

char *report_f64(char *buf, size_t len, enum unit unit, double value)
{
	return report_value(buf, len, FIELD_TYPE_F64, unit, &(struct cell){ .f64 = value });
}

char *report_figure(char *buf, size_t len, const struct figure *f)
{
	if (strcmp(f->name, "sustained") || f->value.is_null)
		return report_value(buf, len, f->type, f->unit, &f->value);
	(void)snprintf(buf, len, "%s", figure_number(f) > 0 ? "yes" : "no");
	return buf;
}

/* "± 0.43"; "1.58 .. 1.78" where the value is not in the middle. */
static void interval_text(const struct figure *f, const struct value_scale *scale, bool unicode, char *buf, size_t len)
{
	double value = figure_number(f), low = f->ci.low, high = f->ci.high;
	double below = value - low, above = high - value;
	char a[48], b[48];

	if (fabs(above - below) <= 0.1 * (above + below)) {
		(void)report_number(a, sizeof(a), scale, (high - low) / 2);
		(void)snprintf(buf, len, "%s %s", unicode ? "\xc2\xb1" : "+-", a);
		return;
	}
	(void)report_number(a, sizeof(a), scale, low);
	(void)report_number(b, sizeof(b), scale, high);
	(void)snprintf(buf, len, "%.20s .. %.20s", a, b);
}

/* Splits "183.2 MB/s" where the number ends, so that numbers can be aligned; "1 m 02 s" stays in one piece. */
static void split_value(struct report_parts *l)
{
	char *end = strpbrk(l->number, " /"), *unit = end && *end == ' ' ? end + 1 : end; /* "46.6/s" has no space */

	if (!unit || strchr(unit, ' ') || strlen(unit) >= sizeof(l->unit))
		return;
	(void)snprintf(l->unit, sizeof(l->unit), "%s", unit);
	*end = '\0';
}

void report_parts(const struct figure *f, bool unicode, struct report_parts *ret)
{
	bool has_ci = isfinite(f->ci.low) && f->ci.high > f->ci.low; /* of no width: nobody measures so */
	double value = figure_number(f);
	struct value_scale scale;

	*ret = (struct report_parts){ .number = "" };
	if (!has_ci || !isfinite(value)) {
		(void)report_figure(ret->number, sizeof(ret->number), f);
		split_value(ret);
		return;
	}
	scale = report_scale_of(f->unit, value, interval_half(f->ci));
	(void)report_number(ret->number, sizeof(ret->number), &scale, value);
	(void)snprintf(ret->unit, sizeof(ret->unit), "%s", scale.is_mixed ? "" : scale.unit);
	interval_text(f, &scale, unicode, ret->interval, sizeof(ret->interval));
}

/* Controls (C0, DEL, C1) and what turns the direction of writing, so that a model name cannot dress up a report. */
static bool is_obeyed(uint32_t c)
{
	return c < ' ' || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

size_t report_char(const char **text, const char **ret_shown)
{
	size_t bytes = utf8_len(*text);
	bool is_shown = bytes && !is_obeyed(utf8_code(*text, bytes));

	*ret_shown = is_shown ? *text : "?";
	*text += bytes ? bytes : 1;
	return is_shown ? bytes : 1;
}

void report_put(FILE *out, const char *text, const char *(*escaped)(char c))
{
	while (*text) {
		const char *other = escaped ? escaped(*text) : NULL, *shown = other;
		size_t bytes = other ? strlen(other) : report_char(&text, &shown);

		text += other ? 1 : 0;
		(void)fwrite(shown, 1, bytes, out);
	}
}

unsigned report_printable(char *buf, size_t len, const char *text, unsigned width, bool unicode)
{
	const char *dots = len < 4 ? "" : unicode ? "\xe2\x80\xa6" : "...";
	unsigned dots_width = unicode || !*dots ? 1 : 3, columns = 0, columns_cut = 0;
	size_t n = 0, cut = 0; /* cut: where the ellipsis would go */

	while (*text) {
		const char *rest = text, *shown;
		size_t bytes = report_char(&rest, &shown);
		bool is_foreign = bytes > 1 && !unicode; /* to this terminal */
		unsigned more = bytes > 1 && unicode ? utf8_columns(utf8_code(shown, bytes)) : 1;

		bytes = is_foreign ? 1 : bytes;
		shown = is_foreign ? "?" : shown;

		if ((width && columns + more > width) || n + bytes + strlen(dots) + 1 > len) {
			(void)stpcpy(buf + cut, dots);
			return columns_cut + dots_width;
		}
		memcpy(buf + n, shown, bytes);
		n += bytes;
		columns += more;
		text = rest;
		if (columns + dots_width <= width || !width) {
			cut = n;
			columns_cut = columns;
		}
	}
	buf[n] = 0;
	return columns;
}

char *report_shown(const char *text, unsigned columns, bool unicode)
{
	size_t len = text ? strlen(text) + 8 : 8;
	char *copy = xmust(malloc(len));

	(void)report_printable(copy, len, text ? text : "", columns, unicode);
	return copy;
}
