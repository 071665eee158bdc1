/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kept documents, changed at random, and everything that is made of a document. */
#ifndef PLATTER_TESTS_STRANGERS_H
#define PLATTER_TESTS_STRANGERS_H

#include "cli/cli.h"
#include "mutate.h"

static const char *const strangers_files[] = { "cache", "geometry", "info",         "mark",  "passes",
	                                       "seek",  "stream",   "transactions", "zones", NULL };

static inline json_t *strangers_json(const char *name)
{
	char path[400];
	json_error_t error;
	json_t *root;

	(void)snprintf(path, sizeof(path), TEST_DATA "/documents/version-1/%s.json", name);
	root = json_load_file(path, 0, &error);
	if (!root)
		fail_msg("%s: %s", path, error.text);
	return root;
}

/* ---- renderers ---- */

typedef void strangers_fn(void *arg, const char *text, size_t len, const char *what);

struct strangers_sink {
	char *text;
	size_t len;
	FILE *f;
};

static inline FILE *strangers_open(struct strangers_sink *s)
{
	*s = (struct strangers_sink){ 0 };
	s->f = open_memstream(&s->text, &s->len);
	assert_non_null(s->f);
	return s->f;
}

static inline void strangers_close(struct strangers_sink *s, strangers_fn *fn, void *arg, const char *what)
{
	assert_int_equal(fclose(s->f), 0);
	fn(arg, s->text, s->len, what);
	free(s->text);
}

static inline void strangers_texts(const struct result *res, strangers_fn *fn, void *arg)
{
	const struct text_style styles[] = {
		{ .width = 80, .unicode = true },
		{ .width = 40, .lines = 24 },
		{ .width = 120, .unicode = true, .lines = 40 },
		{ .width = 80, .plots = true, .unicode = true },
		{ .width = 80, .plots = true },
	};

	for (size_t i = 0; i < ARRAY_LEN(styles); i++) {
		struct strangers_sink s;

		(void)report_text(strangers_open(&s), res, &styles[i]);
		strangers_close(&s, fn, arg, "text");
	}
}

static inline void strangers_files_of(const struct result *const *res, size_t n, strangers_fn *fn, void *arg)
{
	const struct compare_options opt = { .threshold = 0.02 };
	struct strangers_sink s;
	struct err err = { 0 };

	(void)report_csv(strangers_open(&s), res, n);
	strangers_close(&s, fn, arg, "CSV");
	(void)report_page(strangers_open(&s), res, n, &opt, &err);
	strangers_close(&s, fn, arg, "HTML");
	(void)report_prometheus(strangers_open(&s), res, n, 0.02);
	strangers_close(&s, fn, arg, "metrics");
	for (size_t i = 0; i < res[0]->nplots; i++) {
		if (!res[0]->plots[i].name)
			continue;
		(void)report_picture(strangers_open(&s), res, n, res[0]->plots[i].name);
		strangers_close(&s, fn, arg, "SVG");
	}
}

/* A document that was made of documents; freed. */
static inline void strangers_made(struct result *res, strangers_fn *fn, void *arg)
{
	const struct result *one = res;

	if (!res)
		return;
	strangers_texts(res, fn, arg);
	strangers_files_of(&one, 1, fn, arg);
	result_free(res);
}

/* Everything that there is, of one document and of it beside others. */
static inline void strangers_render(struct result *res, strangers_fn *fn, void *arg)
{
	const struct compare_options opt = { .threshold = 0.02 };
	const struct result *four[] = { res, res, res, res };
	struct result *made = NULL;
	struct err err = { 0 };

	if (!res->shows)
		cli_screen(res);
	strangers_texts(res, fn, arg);
	strangers_files_of(four, 1, fn, arg);
	strangers_files_of(four, 2, fn, arg);
	strangers_made(report_fleet(four, 4, &opt), fn, arg);
	if (report_compare(four, 1, four, 1, &opt, &made, &err) == 0)
		strangers_made(made, fn, arg);
	if (report_trend(four, 4, &opt, &made, &err) == 0)
		strangers_made(made, fn, arg);
	if (cli_again(res, &err) == 0)
		strangers_texts(res, fn, arg);
	fn(arg, err.text, strlen(err.text), "sentence");
}

/* ---- changes ---- */

/* Heap; *ret_len bytes. Every third is changed in its bytes, the others in what they say, some often. */
static inline char *strangers_mutant(struct rng *rng, size_t *ret_len)
{
	json_t *root = strangers_json(strangers_files[rng_below(rng, ARRAY_LEN(strangers_files) - 1)]);
	size_t changes = rng_below(rng, 4) ? 1 + (size_t)rng_below(rng, 3) : 1 + (size_t)rng_below(rng, 60);
	bool is_bytes = rng_below(rng, 3) == 0;
	char *text;

	for (size_t i = 0; !is_bytes && i < changes; i++)
		strangers_change(rng, root);
	text = json_dumps(root, 0);
	assert_non_null(text);
	*ret_len = strlen(text);
	for (size_t i = 0; is_bytes && i < changes; i++)
		text[rng_below(rng, *ret_len)] = (char)(rng_below(rng, 2) ? rng_u64(rng) : '0' + rng_below(rng, 10));
	if (is_bytes && rng_below(rng, 4) == 0)
		*ret_len = (size_t)rng_below(rng, *ret_len);
	json_decref(root);
	return text;
}

#endif
