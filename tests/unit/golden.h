/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts as they were: files in tests/data/golden. PLATTER_GOLDEN_UPDATE=1 writes them anew (look at the diff). */
#ifndef UNIT_GOLDEN_H
#define UNIT_GOLDEN_H

#include "base/utf8.h"
#include "test.h"

/* What the statement writes to f, as text to free. */
#define WRITTEN(f, statement)                            \
	({                                               \
		char *text_ = NULL;                      \
		size_t len_ = 0;                         \
		FILE *f = open_memstream(&text_, &len_); \
                                                         \
		assert_non_null(f);                      \
		statement;                               \
		assert_int_equal(fclose(f), 0);          \
		text_;                                   \
	})

/* text is freed. */
static inline void assert_golden(const char *name, char *text)
{
	char path[512];
	cleanup_free char *want = NULL;
	size_t len = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), TEST_DATA "/golden/%s", name);
	if (getenv("PLATTER_GOLDEN_UPDATE")) {
		f = fopen(path, "we");
		assert_non_null(f);
		assert_true(fputs(text, f) >= 0);
		assert_int_equal(fclose(f), 0);
	}
	f = fopen(path, "re");
	if (!f || getdelim(&want, &len, '\0', f) < 0)
		fail_msg("%s is not there; PLATTER_GOLDEN_UPDATE=1 writes it", path);
	(void)fclose(f);
	assert_string_equal(text, want);
	free(text);
}

/* No line is wider than the terminal, or ends in spaces. How many there are. */
static inline unsigned expect_lines_within(const char *text, unsigned width)
{
	unsigned n = 0;

	for (const char *line = text; *line; line += strspn(line, "\n") > 0, n++) {
		size_t bytes = strcspn(line, "\n");
		const char *end = line + bytes;
		unsigned columns = 0;

		if (bytes && end[-1] == ' ')
			fail_msg("spaces at the end: '%.*s'", (int)bytes, line);
		for (; line < end; line += utf8_len(line))
			columns += utf8_columns(utf8_code(line, utf8_len(line)));
		if (columns > width)
			fail_msg("%u columns where there are %u: %.*s", columns, width, (int)bytes, end - bytes);
	}
	return n;
}

#endif
