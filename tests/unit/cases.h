/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables in tests/data: lines that begin with a tab are cases, of the sentence or name above them; others with # are
 * comments. A case has fields with " | " between them.
 */
#ifndef TEST_CASES_H
#define TEST_CASES_H

#include "test.h"

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

#endif
