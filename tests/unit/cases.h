/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables in tests/data: lines that begin with a tab are cases, of the sentence or name above them; others with # are
 * comments. A case has fields with " | " between them.
 */
#ifndef TEST_CASES_H
#define TEST_CASES_H

#include "test.h"

#include "base/desc.h"

struct cases {
	FILE *f;
	char title[512], line[1024], *save;
	size_t n; /* cases so far */
};

static inline struct cases cases_open(const char *path)
{
	struct cases c = { .f = fopen(path, "re") };

	assert_non_null(c.f);
	return c;
}

/* The next case, in c->line; false, and closed: there are no more. */
static inline bool cases_next(struct cases *c)
{
	char line[sizeof(c->line) + 1];

	while (fgets(line, sizeof(line), c->f)) {
		line[strcspn(line, "\n")] = '\0';
		assert_true(strlen(line) < sizeof(c->title) || line[0] == '\t');
		if (line[0] == '\t') {
			(void)strcpy(c->line, line + 1);
			c->save = c->line;
			c->n++;
			return true;
		}
		if (line[0] && line[0] != '#')
			(void)strcpy(c->title, line);
	}
	(void)fclose(c->f);
	return false;
}

/* The next field of it; NULL: there is none. */
static inline char *cases_field(struct cases *c)
{
	char *field = c->save, *end = field ? strstr(field, " | ") : NULL;

	c->save = end ? end + 3 : NULL;
	if (end)
		*end = '\0';
	return field;
}

/* The same text with the characters that \n, \t, \e and \xNN in it stand for. */
static inline char *cases_plain(char *text)
{
	static const char names[] = "nte", chars[] = "\n\t\033";
	char *to = text;

	for (const char *from = text; *from; to++) {
		const char *name = *from == '\\' && from[1] ? strchr(names, from[1]) : NULL;
		bool is_code = strncmp(from, "\\x", 2) == 0;
		char code[3] = { 0 };

		if (is_code)
			memcpy(code, from + 2, 2);
		*to = is_code ? (char)strtoul(code, NULL, 16) : name ? chars[name - names] : *from;
		from += is_code ? 4 : name ? 2 : 1;
	}
	*to = '\0';
	return text;
}

/* "key=value, key=value" into the members of these fields; its texts are in what was given. */
static inline void cases_fill(char *text, const struct field *fields, void *row)
{
	for (char *word = text, *next; word; word = next) {
		char *value = strchr(word, '='), *end = strstr(word, ", ");
		const struct field *f = fields;

		next = end ? end + 2 : NULL;
		if (end)
			*end = '\0';
		assert_non_null(value);
		*value++ = '\0';
		while (f->type != FIELD_TYPE_END && strcmp(f->key, word) != 0)
			f++;
		if (f->type == FIELD_TYPE_STR)
			*(const char **)(void *)((char *)row + f->offset) = value;
		else if (f->type == FIELD_TYPE_U64)
			*(uint64_t *)(void *)((char *)row + f->offset) = strtoull(value, NULL, 10);
		else
			fail_msg("no such member: %s", word);
	}
}

#endif
