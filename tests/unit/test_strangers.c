/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Documents of strangers: every text and every name in them becomes one that a terminal, a browser or a spreadsheet
 * might obey, and whatever is made of them (text, CSV, pages, pictures, metrics, comparisons, trends, rows of a fleet)
 * is searched for it. And documents that are changed at random: no crash.
 */
#include "test.h"

#include <jansson.h>

#include "base/utf8.h"
#include "report/report.h"
#include "sample.h"
#include "strangers.h"

/* What is put behind each text; in UTF-8, as JSON allows nothing else. */
static const char *const hostile[] = {
	"\033]0;x\007\033[2J",                                                      /* a title, a screen */
	"\302\23331m\302\235",                                                      /* CSI and OSC as C1 */
	"\n\r\b\t\f\v\x7f",                                                         /* controls */
	"\xe2\x80\xae\xe2\x80\x8f\xe2\x81\xa6\xe2\x80\x8b\xef\xbb\xbf\xe2\x80\xa8", /* direction, no width, lines */
	"<script>alert('&\"')</script>\\",
	"\xf0\x9f\x92\xa9\xcc\x81\xef\xbf\xbd\xe4\xb8\xad", /* markup; wide, combining */
};

static json_t *changed(const json_t *value, const char *key, const char *more);

static json_t *changed_text(const char *key, const char *text, const char *more)
{
	static const char *const fixed[] = { "schema", "status", "kind", "type", "started" };
	bool is_list = !strcmp(key, "x") || !strcmp(key, "y") || !strcmp(key, "series") || !strcmp(key, "shows") ||
	               !strcmp(key, "dots") || !strcmp(key, "marks");
	cleanup_free char *out = NULL;
	size_t len = 0;
	json_t *ret;
	FILE *f;

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		if (!strcmp(key, fixed[i]))
			return json_string(text);
	f = open_memstream(&out, &len);
	assert_non_null(f);
	for (;; text++) { /* each element of a list is changed as what it names */
		if (!*text || (is_list && strchr(",:", *text)))
			(void)fputs(more, f);
		if (!*text)
			break;
		(void)fputc(*text, f);
	}
	assert_int_equal(fclose(f), 0);
	ret = json_string(out);
	return ret;
}

/* Members whose names are free. */
static bool is_dictionary(const char *key)
{
	return !strcmp(key, "tables") || !strcmp(key, "figures") || !strcmp(key, "figure_info") ||
	       !strcmp(key, "intervals") || !strcmp(key, "fault_totals") || !strcmp(key, "options");
}

static json_t *changed(const json_t *value, const char *key, const char *more)
{
	const char *name;
	json_t *v, *copy;
	size_t i;

	if (json_is_string(value))
		return changed_text(key, json_string_value(value), more);
	if (json_is_object(value)) {
		copy = json_object();
		json_object_foreach((json_t *)(uintptr_t)value, name, v)
		{
			(void)json_object_set_new(copy, textf("%s%s", name, is_dictionary(key) ? more : ""),
			                          changed(v, name, more));
		}
		return copy;
	}
	if (!json_is_array(value))
		return json_deep_copy(value);
	copy = json_array();
	json_array_foreach(value, i, v)(void) json_array_append_new(copy, changed(v, key, more));
	return copy;
}

static void assert_tame(const char *text, size_t len, const char *what)
{
	for (const char *at = text; *at;) {
		size_t n = utf8_len(at);
		uint32_t c = n ? utf8_code(at, n) : 0;

		if (!n || (c < ' ' && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) ||
		    (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
		    c == 0xfeff)
			fail_msg("%s: byte %zu of %zu is 0x%02x: %.60s", what, (size_t)(at - text), len,
			         (unsigned char)*at, at > text + 30 ? at - 30 : text);
		at += n;
	}
	assert_int_equal(strlen(text), len);
}

static void seen(void *arg, const char *text, size_t len, const char *what)
{
	size_t *n = arg;

	assert_tame(text, len, what);
	*n += len > 0;
}

TEST(no_renderer_lets_through_what_is_obeyed)
{
	size_t rendered = 0, drawn = 0;

	for (size_t i = 0; strangers_files[i]; i++)
		for (size_t k = 0; k < ARRAY_LEN(hostile); k++) {
			json_t *root = strangers_json(strangers_files[i]), *worse = changed(root, "", hostile[k]);
			char *text = json_dumps(worse, JSON_ENSURE_ASCII);
			cleanup_result struct result *res = NULL;
			struct err err = { 0 };

			if (result_from_json(&res, text, strlen(text), &err) < 0)
				fail_msg("%s: %s", strangers_files[i], err.text);
			drawn += res->nplots;
			strangers_render(res, seen, &rendered);
			free(text);
			json_decref(worse);
			json_decref(root);
		}
	assert_true(rendered > 500);
	assert_true(drawn > 50); /* they still find their tables */
}

/* ---- at random ---- */

static void nothing(void *arg, const char *text, size_t len, const char *what)
{
	*(size_t *)arg += len;
}

TEST(no_mutation_of_a_document_ends_the_program)
{
	const char *many = getenv("PLATTER_MUTATIONS");
	size_t n = many ? strtoul(many, NULL, 10) : 400, loaded = 0, bytes = 0;
	struct rng rng;

	rng_init(&rng, 51, many ? strtoul(many, NULL, 10) : 0);
	for (size_t i = 0; i < n; i++) {
		cleanup_result struct result *res = NULL;
		size_t len;
		cleanup_free char *text = strangers_mutant(&rng, &len);
		uint64_t began = strangers_cpu_ns(), took;

		if (result_from_json(&res, text, len, NULL) == 0) {
			loaded++;
			strangers_render(res, nothing, &bytes);
		}
		took = strangers_cpu_ns() - began;
		if (took > 5000000000u)
			fail_msg("mutation %zu took %.1f s", i, (double)took * 1e-9);
	}
	assert_true(loaded > n / 10); /* else nothing was tried but the parser */
	print_message("fault-count: mutated-documents %zu no crash, nothing over 5 s; %zu loaded and rendered\n", n,
	              loaded);
}
