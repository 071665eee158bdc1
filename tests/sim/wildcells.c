/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scoreboard's way to what a document says, and to its own lists of figures and sentences. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "wildboard.h"

double wild_number(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

const json_t *wild_rows(const json_t *doc, const char *table)
{
	return json_object_get(json_object_get(json_object_get(doc, "tables"), table), "rows");
}

static const json_t *cell(const struct wild_row *r, const char *key)
{
	const json_t *columns =
		json_object_get(json_object_get(json_object_get(r->doc, "tables"), r->table), "columns");
	const json_t *column;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)columns, i, column)
	{
		const char *name = json_string_value(json_object_get(column, "key"));

		if (name && strcmp(name, key) == 0)
			return json_array_get(r->cells, i);
	}
	return NULL;
}

struct wild_row wild_begin(const json_t *doc, const char *table)
{
	return (struct wild_row){ .doc = doc, .table = table };
}

bool wild_next(struct wild_row *r)
{
	r->cells = json_array_get(wild_rows(r->doc, r->table), r->number++);
	return r->cells;
}

struct wild_row wild_last(const json_t *doc, const char *table)
{
	size_t n = json_array_size(wild_rows(doc, table));
	struct wild_row r = { .doc = doc, .table = table, .number = n ? n - 1 : 0 };

	(void)wild_next(&r);
	return r;
}

double wild_at(const struct wild_row *r, const char *key)
{
	const json_t *v = cell(r, key);

	return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

const char *wild_word(const struct wild_row *r, const char *key)
{
	return json_string_value(cell(r, key));
}

const char *wild_figure_word(const json_t *doc, const char *name)
{
	return json_string_value(json_object_get(json_object_get(doc, "figures"), name));
}

bool wild_is(const struct wild_case *c, const char *command)
{
	const char *name = json_string_value(json_object_get(json_object_get(c->doc, "head"), "measurement"));

	return name && strcmp(name, command) == 0;
}

bool wild_has_notice(const json_t *doc, const char *code)
{
	const json_t *notices = json_object_get(doc, "notices"), *n;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)notices, i, n)
	{
		const char *c = json_string_value(json_object_get(n, "code"));

		if (c && strcmp(c, code) == 0)
			return true;
	}
	return false;
}

json_t *wild_real(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

void wild_say(json_t *to, const char *what, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)json_array_append_new(to, json_pack("{s:s,s:s}", "what", what, "text", text));
}

void wild_add(json_t *to, const char *name, const double reported[3], struct interval truth, enum wild_scale scale)
{
	if (isfinite(truth.low))
		(void)json_array_append_new(to, json_pack("{s:s,s:o,s:o,s:o,s:o,s:o,s:i}", "name", name, "value",
		                                          wild_real(reported[0]), "low", wild_real(reported[1]), "high",
		                                          wild_real(reported[2]), "true_low", wild_real(truth.low),
		                                          "true_high", wild_real(truth.high), "scale", (int)scale));
}

void wild_add_figure(json_t *to, const json_t *doc, const char *name, struct interval truth, enum wild_scale scale)
{
	const json_t *ci = json_object_get(json_object_get(doc, "intervals"), name);
	double reported[3] = { wild_number(json_object_get(doc, "figures"), name), (double)NAN, (double)NAN };

	for (size_t i = 0; json_array_size(ci) == 2 && i < 2; i++)
		reported[1 + i] = json_number_value(json_array_get(ci, i));
	wild_add(to, name, reported, truth, scale);
}
