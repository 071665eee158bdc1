/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/str.h"

#include <stdarg.h>
#include <string.h>

#define VALUE_BYTES 600 /* a sentence */

bool str_is_one_of(const char *word, const char *words)
{
	size_t len = strlen(word);

	for (const char *at = words; len && (at = strstr(at, word)) != NULL; at++)
		if ((at == words || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
			return true;
	return false;
}

void str_add(char *buf, size_t len, const char *fmt, ...)
{
	size_t used = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(buf + used, len - used, fmt, ap);
	va_end(ap);
}

void str_list(char *buf, size_t len, const char *separator, const char *fmt, ...)
{
	size_t used;
	va_list ap;

	if (*buf)
		str_add(buf, len, "%s", separator);
	used = strlen(buf);
	va_start(ap, fmt);
	(void)vsnprintf(buf + used, len - used, fmt, ap);
	va_end(ap);
}

bool str_fill(char *buf, size_t len, const char *pattern, const struct str_source *source)
{
	char value[VALUE_BYTES];

	for (buf[0] = '\0';;) {
		size_t n = strcspn(pattern, "{");

		str_add(buf, len, "%.*s", (int)n, pattern);
		if (!pattern[n])
			return true;
		pattern += n + 1;
		n = strcspn(pattern, "}");
		if (!source->mention(source->arg, pattern, n, value, sizeof(value)))
			return false;
		str_add(buf, len, "%s", value);
		pattern += n + 1;
	}
}

uint64_t str_hash(const char *text, size_t len)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)text[i]) * 0x100000001b3ull;
	return h;
}

void str_put_shell_word(FILE *f, const char *word)
{
	bool is_plain = *word && !strpbrk(word, " \t\n'\"\\$`*?[]()<>|&;#~!{}");

	(void)fputs(is_plain ? " " : " '", f);
	for (const char *c = word; *c; c++)
		(void)(*c == '\'' ? fputs("'\\''", f) : fputc(*c, f));
	if (!is_plain)
		(void)fputc('\'', f);
}
