/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text and colours of pages and pictures. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "report/markup.h"
#include "report/report.h"

static const char *as_entity(char c)
{
	static const char *const entities[] = { "&&amp;", "<&lt;", ">&gt;", "\"&quot;", "'&#39;", "\n\n", "\t\t" };

	for (size_t i = 0; i < ARRAY_LEN(entities); i++)
		if (entities[i][0] == c)
			return entities[i] + 1;
	return NULL;
}

void markup_text(FILE *out, const char *text)
{
	report_put(out, text ? text : "", as_entity);
}

/* One conversion; fmt is behind its percent sign. Returns what follows it. */
static const char *convert(FILE *out, void (*put)(FILE *out, const char *text), const char *fmt, va_list *ap)
{
	bool is_cut = *fmt == '.';
	int digits = is_cut && fmt[1] == '*' ? va_arg(*ap, int) : is_cut ? 0 : -1;
	cleanup_free char *part = NULL;
	const char *text;

	for (fmt += is_cut; *fmt == '*' || isdigit((unsigned char)*fmt); fmt++)
		digits = *fmt == '*' ? digits : 10 * digits + *fmt - '0';
	switch (fmt += strspn(fmt, "zl"), *fmt) {
	case 's':
		text = va_arg(*ap, const char *) ?: "";
		part = xmust(digits < 0 ? strdup(text) : strndup(text, (size_t)digits));
		put(out, part);
		break;
	case 'c':
		(void)fputc(va_arg(*ap, int), out);
		break;
	case 'd':
		(void)fprintf(out, "%d", va_arg(*ap, int));
		break;
	case 'u':
		(void)fprintf(out, "%llu", fmt[-1] == 'z' ? va_arg(*ap, size_t) : va_arg(*ap, unsigned long long));
		break;
	case 'g':
		(void)fprintf(out, "%g", va_arg(*ap, double));
		break;
	case 'f':
		(void)fprintf(out, "%.*f", digits < 0 ? 6 : digits, va_arg(*ap, double));
		break;
	default:
		(void)fputc(*fmt, out);
	}
	return fmt + 1;
}

void escaped_printf(FILE *out, void (*put)(FILE *out, const char *text), const char *fmt, va_list ap)
{
	va_list rest;

	va_copy(rest, ap);
	while (*fmt)
		if (*fmt != '%')
			(void)fputc(*fmt++, out);
		else
			fmt = convert(out, put, fmt + 1, &rest);
	va_end(rest);
}

void markup(FILE *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	escaped_printf(out, markup_text, fmt, ap);
	va_end(ap);
}

/* ---- colours ---- */

static const struct {
	const char *name, *light, *dark;
} palette[] = {
	{ "c0", "#0b62a8", "#62b0f0" },   { "c1", "#c4510c", "#f5935a" },   { "c2", "#1a7f5a", "#4fc79a" },
	{ "c3", "#8b3f8f", "#d28fd6" },   { "c4", "#a17700", "#e0b840" },   { "c5", "#3d6fd1", "#8fb0ff" },
	{ "c6", "#b3264a", "#f27d97" },   { "c7", "#4c6b1f", "#a9c76a" },   { "bg", "#ffffff", "#14181c" },
	{ "fg", "#1c2024", "#e4e8ec" },   { "dim", "#5d666f", "#98a3ad" },  { "rule", "#dde1e5", "#323a42" },
	{ "soft", "#f4f6f8", "#1d2329" }, { "warn", "#8a4b00", "#f0b46a" },
};

void svg_colours(FILE *out, bool is_dark)
{
	for (size_t i = 0; i < ARRAY_LEN(palette); i++)
		(void)fprintf(out, "--%s:%s;", palette[i].name, is_dark ? palette[i].dark : palette[i].light);
}

const char *svg_light(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(palette); i++)
		if (strncmp(palette[i].name, name, len) == 0 && palette[i].name[len] == '\0')
			return palette[i].light;
	return "#000000";
}

/* The rules, "@name" standing for a colour. */
static void put_rules(FILE *out, const char *rules, bool is_fixed)
{
	for (const char *p = rules; *p; p++) {
		size_t len = *p == '@' ? strspn(p + 1, "abcdefghijklmnopqrstuvwxyz0123456789") : 0;

		if (len && is_fixed)
			(void)fputs(svg_light(p + 1, len), out);
		else if (len)
			(void)fprintf(out, "var(--%.*s)", (int)len, p + 1);
		else
			(void)fputc(*p, out);
		p += len;
	}
}

void svg_style(FILE *out, bool is_fixed)
{
	put_rules(
		out,
		"svg text{font-size:13px;fill:@dim}svg .l{fill:@fg}.grid{stroke:@rule;stroke-width:1}"
		".line{fill:none;stroke-width:1.8;stroke-linejoin:round}.whisker{stroke-width:1;opacity:.6}"
		".span{fill:none;stroke-width:5}.band{opacity:.18;stroke:none}.rim{fill:none;stroke:@rule}"
		".dots{opacity:.45}.mark{opacity:.35}.unread{fill:@dim;opacity:.15}.m0{fill:@c4}.m1{fill:@c6}.knee{stroke:@c1;stroke-width:3}.ring{stroke:@c6;stroke-width:2}.dots circle,.quiet{fill:@dim}\n",
		is_fixed);
	for (int i = 0; i < SVG_HUES; i++) {
		char rule[64];

		(void)snprintf(rule, sizeof(rule), ".s%d{stroke:@c%d}.f%d{fill:@c%d}", i, i, i, i);
		put_rules(out, rule, is_fixed);
	}
	(void)fputc('\n', out);
}

void svg_heat(FILE *out, double part)
{
	unsigned long pale = strtoul(svg_light("soft", 4) + 1, NULL, 16),
		      strong = strtoul(svg_light("c0", 2) + 1, NULL, 16);

	(void)fputs(" fill=\"#", out);
	for (unsigned shift = 24; shift > 0; shift -= 8) {
		double from = (double)(pale >> (shift - 8) & 0xff), to = (double)(strong >> (shift - 8) & 0xff);

		(void)fprintf(out, "%02x", (unsigned)lround(from + (0.15 + 0.85 * part) * (to - from)));
	}
	(void)fputc('"', out);
}
