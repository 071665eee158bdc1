/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of pages. */
#pragma once

#include <stdarg.h>
#include <stdio.h>

/* Text with &, <, >, quotes and control characters made harmless, for content and attributes. */
void markup_text(FILE *out, const char *text);
/* The format as it stands, and every %s in it through put(). Also %c, %d, %zu, %llu, %g and %.1f; no widths. */
void escaped_printf(FILE *out, void (*put)(FILE *out, const char *text), const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));
/* Through markup_text(). */
void markup(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
