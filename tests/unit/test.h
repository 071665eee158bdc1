/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A test program includes this first, and writes for each test
 *     TEST(the_sentence_that_must_be_true) { ... }
 * Nothing else lists it. `test_NAME PATTERN` runs those whose names match ("*" and "?").
 */
#ifndef PLATTER_TEST_H
#define PLATTER_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* What most tests need. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/rng.h"
#include "seeds.h"

/* What ends with its block: cleanup_result struct result *res = ... (A test that fails leaves it.) */
#define cleanup_result  __attribute__((cleanup(test_free_result)))
#define cleanup_profile __attribute__((cleanup(profile_done)))
#define cleanup_model   __attribute__((cleanup(run_free)))
#define cleanup_run     __attribute__((cleanup(sim_run_end)))
#define cleanup_files   __attribute__((cleanup(files_done)))
#define cleanup_dump    __attribute__((cleanup(dump_close)))

struct result;
void result_free(struct result *res);

static inline void test_free_result(struct result *const *res)
{
	result_free(*res);
}

/* MUST(profile_finish(&p, &err)): done, or the test fails with the sentence. */
#define MUST(call)                                \
	do {                                      \
		struct err err = { 0 };           \
		if ((call) < 0)                   \
			fail_msg("%s", err.text); \
	} while (0)

/* The same of a run on simulated disks. */
#define MUST_RUN(run)                                                    \
	do {                                                             \
		if (sim_run(&(run)) < 0)                                 \
			fail_msg("%s: %s", (run).words, (run).err.text); \
	} while (0)

/* A text as printf() makes it, which stays until the program ends. */
__attribute__((format(printf, 1, 2))) static inline const char *textf(const char *fmt, ...)
{
	static struct made {
		struct made *before;
		char text[];
	} * last;
	struct made *made;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	assert_true(n >= 0);
	made = malloc(sizeof(*made) + (size_t)n + 1);
	assert_non_null(made);
	*made = (struct made){ .before = last };
	last = made;
	va_start(ap, fmt);
	(void)vsnprintf(made->text, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return made->text;
}

/* All of a text file; it stays as well. */
static inline const char *file_text(const char *path)
{
	FILE *f = fopen(path, "re");
	cleanup_free char *text = NULL;
	size_t room = 0;
	bool is_empty;

	if (!f)
		fail_msg("%s: %s", path, strerror(errno));
	is_empty = getdelim(&text, &room, '\0', f) < 0;
	(void)fclose(f);
	return is_empty ? "" : textf("%s", text);
}

static inline void file_put(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static struct {
	struct CMUnitTest test[128];
	size_t n;
	CMFixtureFunction before, after;
} tests_here;

static inline void tests_add(struct CMUnitTest test)
{
	tests_here.test[tests_here.n++] = test;
}

/* Run if `is_run`, each time between `before` and `after`. (A constructor: what is in a section of its own, sanitizers
 * pad.) */
#define TEST_IF(is_run, name, before, after)                                                                \
	static void name(void **state);                                                                     \
	__attribute__((constructor)) static void name##_is_run(void)                                        \
	{                                                                                                   \
		if (is_run)                                                                                 \
			tests_add((struct CMUnitTest)cmocka_unit_test_setup_teardown(name, before, after)); \
	}                                                                                                   \
	static void name(__attribute__((unused)) void **state)
#define TEST(name)                     TEST_IF(1, name, NULL, NULL)
#define TEST_WITH(name, before, after) TEST_IF(1, name, before, after)
/* A whole run on a large disk. */
#define TEST_LARGE(name) TEST_IF(TALLY_LARGE, name, NULL, NULL)
/* All tests of the program, once. */
#define TESTS_BETWEEN(first, last)                                   \
	__attribute__((constructor)) static void tests_between(void) \
	{                                                            \
		tests_here.before = first;                           \
		tests_here.after = last;                             \
	}

int main(int argc, char **argv)
{
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return _cmocka_run_group_tests(argv[0], tests_here.test, tests_here.n, tests_here.before, tests_here.after);
}

#endif
