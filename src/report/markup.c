/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of pages. */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "report/markup.h"
#include "report/report.h"

void markup_text(FILE *out, const char *text)
{
	static const struct {
		char plain;
		const char *escaped;
	} escapes[] = { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '\'', "&#39;" } };

	for (text = text ? text : ""; *text;) {
		bool is_space = *text == '\n' || *text == '\t';
		const char *shown = text;
		size_t bytes = is_space ? 1 : report_char(&text, &shown);
		const char *escaped = NULL;

		text += is_space;
		for (size_t i = 0; i < ARRAY_LEN(escapes); i++)
			escaped = *shown == escapes[i].plain ? escapes[i].escaped : escaped;
		if (escaped)
			(void)fputs(escaped, out);
		else
			(void)fwrite(shown, 1, bytes, out);
	}
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
