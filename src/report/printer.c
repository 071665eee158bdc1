/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the page for people is printed with: looks, spaces that are owed, and texts that a terminal shows and does not
 * obey. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "report/printer.h"

#define UNIT_BYTES_MOST 6 /* "GB/s);" */

static void pay_spaces(struct printer *p)
{
	if (p->spaces)
		(void)fprintf(p->out, "%*s", (int)p->spaces, "");
	p->spaces = 0;
}

void text_look(struct printer *p, enum look look)
{
	static const char *const codes[] = {
		[LOOK_TITLE] = "\033[1m", [LOOK_QUIET] = "\033[2m", [LOOK_NOTE] = "\033[33m", [LOOK_BAD] = "\033[31m"
	};

	pay_spaces(p);
	if (p->style->colour)
		(void)fputs(codes[look], p->out);
}

void text_plain(struct printer *p)
{
	if (p->style->colour)
		(void)fputs("\033[0m", p->out);
}

void text_spaces(struct printer *p, unsigned n)
{
	p->spaces += n;
}

void text_put(struct printer *p, const char *text)
{
	if (!*text)
		return;
	pay_spaces(p);
	(void)fputs(text, p->out);
}

void text_printf(struct printer *p, const char *fmt, ...)
{
	va_list ap;

	pay_spaces(p);
	va_start(ap, fmt);
	(void)vfprintf(p->out, fmt, ap);
	va_end(ap);
}

void text_end(struct printer *p)
{
	p->spaces = 0;
	(void)fputc('\n', p->out);
}

char *text_printable(struct printer *p, const char *text)
{
	return report_shown(text, 0, p->style->unicode);
}

char *text_format(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	return xmust(text);
}

int report_end(FILE *out)
{
	return fflush(out) || ferror(out) ? (errno ? -errno : -EIO) : 0;
}

size_t text_lines(const char *text)
{
	size_t n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

unsigned text_width(const char *text)
{
	unsigned n = 0;

	while (*text) {
		size_t bytes = utf8_len(text);

		n += bytes ? utf8_columns(utf8_code(text, bytes)) : 1;
		text += bytes ? bytes : 1;
	}
	return n;
}

size_t text_line(const char *text, size_t room)
{
	size_t n = strlen(text);

	for (n = n > room ? room : n; text[n] && n > 0 && text[n] != ' ';)
		n--;
	return n ? n : strcspn(text, " ");
}

/* Bytes of the first word; a number and its unit are one. */
static size_t word_bytes(const char *text)
{
	size_t n = strcspn(text, " "), unit = text[n] ? strcspn(text + n + 1, " ") : 0,
	       digit = strcspn(text, "0123456789");
	bool is_number = n && isdigit((unsigned char)text[n - 1]) && digit == strspn(text, "(+-\xc2\xb1");

	return is_number && unit && unit <= UNIT_BYTES_MOST && !isdigit((unsigned char)text[n + 1]) ? n + 1 + unit : n;
}

void text_fill(struct printer *p, const char *text, unsigned at, unsigned indent)
{
	unsigned column = at;
	bool is_first = true;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t bytes = word_bytes(text);
		cleanup_free char *word = xmust(strndup(text, bytes));
		unsigned n = text_width(word), gap = is_first ? 0 : 1;

		if (column > indent && column + gap + n > p->width) {
			text_end(p);
			text_spaces(p, indent);
			column = indent;
		} else {
			text_spaces(p, gap);
			column += gap;
		}
		text_put(p, word);
		column += n;
		is_first = false;
		text += bytes;
	}
	text_end(p);
}
