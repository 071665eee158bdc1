/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Well-formed UTF-8 (Unicode 15, table 3-7). Model names, paths and labels come from outside: they are checked where
 * they enter a document and where they leave it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD: stands for what was not UTF-8 */

/* Bytes of the character that the string text begins with, 1 .. 4; 0: not UTF-8. The end of the string counts as 1. */
static inline size_t utf8_len(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	/* the range of the second byte keeps out overlong forms, surrogates and what lies beyond U+10FFFF */
	unsigned char low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
	unsigned char high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

	if (n > 1 && (s[1] < low || s[1] > high))
		return 0;
	for (size_t i = 2; i < n; i++) /* a NUL byte ends this, too */
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

/* Code point of the well-formed character of n bytes at text. */
static inline uint32_t utf8_code(const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t c = n == 1 ? s[0] : s[0] & (0x7fu >> n);

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3fu);
	return c;
}

/* What a terminal would obey (C0, DEL) becomes `instead`. Reports of documents are stricter: report_printable(). */
static inline void utf8_tame(char *text, char instead)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = instead;
}

/* Columns of a terminal for a character: 0 for combining marks, 2 for wide ones of East Asia and pictures. */
static inline unsigned utf8_columns(uint32_t c)
{
	static const struct {
		uint32_t first, last;
		unsigned columns;
	} ranges[] = {
		{ 0x0300, 0x036f, 0 },   { 0x1ab0, 0x1aff, 0 },   { 0x1dc0, 0x1dff, 0 },   { 0x20d0, 0x20ff, 0 },
		{ 0xfe00, 0xfe0f, 0 },   { 0xfe20, 0xfe2f, 0 },   { 0x1100, 0x115f, 2 },   { 0x2e80, 0x303e, 2 },
		{ 0x3041, 0xa4cf, 2 },   { 0xac00, 0xd7a3, 2 },   { 0xf900, 0xfaff, 2 },   { 0xfe30, 0xfe6f, 2 },
		{ 0xff00, 0xff60, 2 },   { 0xffe0, 0xffe6, 2 },   { 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 },
		{ 0x1f900, 0x1f9ff, 2 }, { 0x20000, 0x3fffd, 2 },
	};

	for (size_t i = 0; c >= 0x300 && i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return ranges[i].columns;
	return 1;
}
