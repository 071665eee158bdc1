/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text and colours of pages and pictures. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#define DOCUMENTS_MAX 64 /* in full, on one page */

#define SVG_HUES   8
#define SVG_WIDTH  640.0
#define SVG_HEIGHT 340.0
#define SVG_LEFT   70.0
#define SVG_RIGHT  18.0
#define SVG_TOP    34.0
#define SVG_BOTTOM 58.0

/* The light colour of that name. */
const char *svg_light(const char *name, size_t len);
/* Between pale and strong, as an attribute, where a style sheet cannot mix. */
void svg_heat(FILE *out, double part);

/* "--bg:#fff;...", for a style sheet; and the rules for what is in a drawing, with these variables or with the light
 * colours in their place. */
void svg_colours(FILE *out, bool is_dark);
void svg_style(FILE *out, bool is_fixed);

/* Text with &, <, >, quotes and control characters made harmless, for content and attributes. */
void markup_text(FILE *out, const char *text);
/* The format as it stands, and every %s in it through put(). Also %c, %d, %zu, %llu, %g and %.1f; no widths. */
void escaped_printf(FILE *out, void (*put)(FILE *out, const char *text), const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));
/* Through markup_text(). */
void markup(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
