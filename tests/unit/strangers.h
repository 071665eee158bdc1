/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kept documents, changed at random, and everything that is made of a document. */
#ifndef PLATTER_TESTS_STRANGERS_H
#define PLATTER_TESTS_STRANGERS_H

#include <time.h>

#include "cli/cli.h"

static const char *const strangers_files[] = { "cache", "geometry", "info",         "mark",  "passes",
	                                       "seek",  "stream",   "transactions", "zones", NULL };

static inline uint64_t strangers_cpu_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

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

static inline json_t *strangers_value(struct rng *rng)
{
	static const double numbers[] = { 0, 1, -1, 1e12, 1e18, 1e308, -1e308, 1e-308, 4294967296.0, 0.5 };
	static const char *const texts[] = { "",
		                             "a",
		                             "\n",
		                             "18446744073709551615",
		                             "9223372036854775808",
		                             "a,b:c,#d",
		                             "curve:offset_bytes:rate_bytes_per_s,figures:x",
		                             "2026-11-20T12:00:00Z" };
	static const json_int_t whole[] = { 0, 1, -1, INT64_MAX, INT64_MIN, 4096, 1000000000000 };

	switch (rng_below(rng, 6)) {
	case 0:
		return json_null();
	case 1:
		return json_real(numbers[rng_below(rng, ARRAY_LEN(numbers))]);
	case 2:
		return json_integer(whole[rng_below(rng, ARRAY_LEN(whole))]);
	case 3:
		return json_string(texts[rng_below(rng, ARRAY_LEN(texts))]);
	case 4:
		return json_real(rng_normal(rng) * 1e9);
	default:
		return rng_below(rng, 2) ? json_array() : json_object();
	}
}

/* Something below value becomes another thing, is left out, or comes twice. */
static inline void strangers_change(struct rng *rng, json_t *value)
{
	size_t n = json_is_array(value) ? json_array_size(value) : json_object_size(value), at;
	const char *name = NULL;
	json_t *below;
	void *it;

	if (n == 0)
		return;
	at = (size_t)rng_below(rng, n);
	if (json_is_array(value)) {
		below = json_array_get(value, at);
	} else {
		it = json_object_iter(value);
		for (size_t i = 0; i < at; i++)
			it = json_object_iter_next(value, it);
		name = json_object_iter_key(it);
		below = json_object_iter_value(it);
	}
	if ((json_is_array(below) || json_is_object(below)) && rng_below(rng, 12) != 0) {
		strangers_change(rng, below);
		return;
	}
	/* of another type the document is refused mostly: numbers stay numbers two times of three, texts texts */
	for (int i = 0; i < 3; i++) {
		json_t *other = strangers_value(rng);
		bool is_like = json_is_number(below) ? json_is_number(other) : json_typeof(below) == json_typeof(other);

		if (!is_like && i < 2) {
			json_decref(other);
			continue;
		}
		if (json_is_array(value) && rng_below(rng, 8)) {
			(void)json_array_set_new(value, at, other);
		} else if (json_is_array(value)) {
			(void)json_array_insert_new(value, at, json_incref(below));
			json_decref(other);
		} else if (rng_below(rng, 8)) {
			(void)json_object_set_new(value, name, other);
		} else {
			(void)json_object_del(value, name);
			json_decref(other);
		}
		break;
	}
}

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
