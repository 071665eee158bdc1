/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contract, man/platter-json.5, against what is saved: every member that a document has is described there with its
 * type, every one that is described is saved, and keys end in their units. The page is read as it is: an item is
 * ".It Va path Pq types".
 */
#include "test.h"

#include <jansson.h>

#include "device/columns.h"
#include "device/device.h"
#include "measure/measures.h"
#include "result/result.h"
#include "session/session.h"

#define ITEMS_MAX 200

struct item {
	char path[80], types[80];
	bool is_seen;
};

struct page {
	const char *text;
	struct item items[ITEMS_MAX];
	size_t n;
};

/* "a.b , c Pq types": a.b and a.c. */
static void add_items(struct page *page, char *names, const char *types)
{
	char *save = NULL;
	int prefix = 0;

	*strstr(names, " Pq ") = 0;
	for (char *name = strtok_r(names, " ,", &save); name; name = strtok_r(NULL, " ,", &save)) {
		struct item *item = &page->items[page->n++];

		assert_true(page->n < ITEMS_MAX);
		(void)snprintf(item->path, sizeof(item->path), "%.30s%.40s",
		               textf("%.*s", prefix < 30 ? prefix : 30, prefix ? item[-1].path : ""), name);
		(void)snprintf(item->types, sizeof(item->types), "%s", types);
		if (!prefix && strrchr(name, '.'))
			prefix = (int)(strrchr(name, '.') - name) + 1;
	}
}

static int read_page(void **state)
{
	struct page *page = calloc(1, sizeof(*page));

	assert_non_null(page);
	page->text = file_text(TEST_DATA "/../../man/platter-json.5");
	for (const char *line = page->text; line; line = strchr(line, '\n')) {
		char types[80], item[400];

		line += *line == '\n';
		if (sscanf(line, ".It Va %399[^\n]", item) == 1 && strstr(item, " Pq ") &&
		    sscanf(strstr(item, " Pq "), " Pq %79[^\n]", types) == 1)
			add_items(page, item, types);
	}
	*state = page;
	return 0;
}

static int drop_page(void **state)
{
	free(*state);
	return 0;
}

/* ---- a document that has every member there is ---- */

struct row {
	uint64_t offset_bytes;
	const char *name;
};
static const struct field row_fields[] = {
	FIELD_U64(struct row, offset_bytes, UNIT_BYTES, "Offset"),
	FIELD_STR(struct row, name, "Name", .detail = true),
	FIELD_END,
};

#define C(text) ((char *)(uintptr_t)(text)) /* plots are copied: their strings may be constant */

static struct result *full(bool is_known)
{
	struct result *res = result_new("zones");
	const char *argv[] = { "platter", "zones" };
	struct interval ci = { 1.5, 2.5 };
	struct device dev = {
		.path = "/dev/sdx", .name = "sdx", .disk = "sdx", .id.model = "Model", .id.serial = "S1"
	};
	struct device_row target;
	struct table *t = result_table(res, "curve", is_known ? "Curve" : NULL, row_fields);

	dev.size_bytes = dev.disk_size_bytes = 1ull << 40;
	device_row(&dev, &target);
	result_target(res, &target, device_fields);
	result_argv(res, argv, 2);
	result_set(&res->answer, "The layout is text.");
	result_set(&res->shows, "layout");
	if (is_known) {
		result_set(&res->head.started, "2026-11-20T12:00:00.123456Z");
		result_set(&res->head.clock, "virtual");
		result_set(&res->head.engine, "uring");
		result_set(&res->head.host.kernel, "6.1.0");
		result_set(&res->head.host.machine, "x86_64");
		result_set(&res->head.host.cpu, "Model");
	}
	res->head.elapsed_s = is_known ? 1.5 : (double)NAN;
	res->head.seed = is_known ? 1 : UINT64_MAX;
	result_option(res, "block", is_known ? "1MiB" : NULL);
	result_row(t, &(struct row){ .offset_bytes = 1, .name = is_known ? "a" : NULL });
	result_figure(res, "a_ns", "A", UNIT_NS, is_known ? 2 : (double)NAN, &ci, 12);
	result_figure_u64(res, "count", "Count", UNIT_COUNT, 3);
	result_figure_text(res, "layout", "Layout", "text");
	result_fault(res, is_known ? "/dev/sdx" : NULL, "read", 4096, 512, is_known ? -EIO : 0, res->head.elapsed_s);
	result_notice(res, "code", "Text.");
	result_plot(res,
	            &(struct plot){ C("a-name"), C("Sentence."), C("line"), C("Title"), C("curve"), C("offset_bytes"),
	                            C("offset_bytes"), C("name"), C("offset_bytes"), C("offset_bytes"),
	                            C("curve:offset_bytes:offset_bytes"), C("curve:offset_bytes") });
	return res;
}

static json_t *saved(bool is_known)
{
	cleanup_result struct result *res = full(is_known);
	cleanup_free char *text = result_to_json(res);
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!root)
		fail_msg("%s in %s", error.text, text);
	return root;
}

/* ---- comparing ---- */

static bool has_type(const char *types, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = strstr(types, word); p; p = strstr(p + 1, word))
		if ((p == types || strchr(" |", p[-1])) && strchr(", |", p[n]))
			return true;
	return false;
}

static bool is_described(const json_t *value, const char *types)
{
	const json_t *first = json_array_get(value, 0);

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return !strcmp(types, "object");
	case JSON_ARRAY:
		return !first                  ? !strncmp(types, "array of ", 9)
		       : json_is_object(first) ? !strcmp(types, "array of objects")
		       : json_is_array(first)  ? !strcmp(types, "array of arrays")
		       : json_is_string(first) ? !strcmp(types, "array of strings")
		       : json_is_number(first) ? !strcmp(types, "array of numbers")
		                               : false;
	case JSON_STRING:
		return has_type(types, "string") && strncmp(types, "array", 5) != 0;
	case JSON_INTEGER:
		return has_type(types, "integer") || has_type(types, "number");
	case JSON_REAL:
		return has_type(types, "number");
	case JSON_TRUE:
		return has_type(types, "true");
	case JSON_FALSE:
		return false;
	case JSON_NULL:
		return has_type(types, "null");
	}
	return false;
}

/* Objects whose member names are free. */
static bool is_dictionary(const char *path)
{
	static const char *const paths[] = { "tables",    "figures",      "figure_info",
		                             "intervals", "fault_totals", "head.options" };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (!strcmp(path, paths[i]))
			return true;
	return false;
}

static void compare(struct page *page, const json_t *obj, const char *path)
{
	const char *name;
	json_t *value, *element;
	size_t k;

	json_object_foreach((json_t *)(uintptr_t)obj, name, value)
	{
		struct item *item = NULL;
		const char *here = textf("%s%s%s", path, *path ? "." : "", is_dictionary(path) ? "NAME" : name);

		for (size_t i = 0; i < page->n; i++)
			if (!strcmp(page->items[i].path, here))
				item = &page->items[i];
		if (!item)
			fail_msg("%s is saved, but not described in platter-json(5)", here);
		item->is_seen = true;
		if (!is_described(value, item->types))
			fail_msg("%s is not '%s'", here, item->types);
		compare(page, json_is_object(value) ? value : NULL, here);
		json_array_foreach(value, k, element)
			compare(page, json_is_object(element) ? element : NULL, textf("%s[]", here));
	}
}

TEST_WITH(every_member_that_is_saved_is_described_and_the_other_way_round, read_page, drop_page)
{
	struct page *page = *state;
	json_t *known = saved(true), *unknown = saved(false);

	assert_true(page->n > 80);
	compare(page, known, "");
	compare(page, unknown, "");
	json_decref(known);
	json_decref(unknown);
	for (size_t i = 0; i < page->n; i++)
		if (!page->items[i].is_seen)
			fail_msg("%s is described, but never saved", page->items[i].path);
}

TEST_WITH(every_status_and_column_type_is_described, read_page, drop_page)
{
	const struct page *page = *state;
	const char *types = strstr(page->text, "of its values:");

	assert_non_null(types);
	for (int s = STATUS_COMPLETE; s <= STATUS_FAILED; s++) {
		if (!strstr(page->text, textf("\n.It Sy %s\n", status_name((enum result_status)s))))
			fail_msg("status %s is not described", status_name((enum result_status)s));
	}
	for (int u = UNIT_NONE; u <= UNIT_PER_S; u++) {
		const char *at;
		const char *word = textf(" %s", unit_name((enum unit)u));

		at = strstr(types, word);
		if (!at || at > strstr(types, "More may come") || !strchr(" \n", at[strlen(word)]))
			fail_msg("column type %s is not described", unit_name((enum unit)u));
	}
}

/* ---- keys ---- */

/* Keys that the contract fixes without an ending, or whose ending is no unit. */
static bool is_fixed_by_tradition(const char *key)
{
	static const char *const keys[] = { "low",  "high",   "first_byte", "last_byte",   "write",
		                            "read", "random", "diskmark",   "cpu_s_per_mb" };

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (!strcmp(key, keys[i]))
			return true;
	return false;
}

static void check_key(const char *table, const struct field *f)
{
	static const char *const derived[] = { "_us",  "_ms",  "_min", "_hours", "_kb",   "_mb",     "_gb",     "_kib",
		                               "_mib", "_gib", "_khz", "_bits",  "_size", "_offset", "_sectors" };
	enum unit by_key = unit_by_key(f->key);
	bool is_plain = f->unit == UNIT_NONE || f->unit == UNIT_TEXT || f->unit == UNIT_COUNT;

	assert_true(strlen(f->label) > 0);
	for (const char *p = f->key; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_", *p))
			fail_msg("%s.%s: '%c' in a key", table, f->key, *p);
	if (is_fixed_by_tradition(f->key))
		return;
	for (size_t i = 0; i < ARRAY_LEN(derived); i++) {
		size_t n = strlen(derived[i]), len = strlen(f->key);

		if (len > n && !strcmp(f->key + len - n, derived[i]))
			fail_msg("%s.%s: %s is not a base unit", table, f->key, derived[i]);
	}
	if (is_plain ? by_key != UNIT_NONE : by_key != f->unit)
		fail_msg("%s.%s says another unit than its column, which holds %s", table, f->key, unit_name(f->unit));
}

TEST(the_ending_of_every_key_is_its_unit)
{
	for (const struct field *f = device_fields; f->type != FIELD_TYPE_END; f++)
		check_key("targets", f);
	for (const struct measure *const *m = measures; *m; m++)
		for (const struct measure_table *t = (*m)->tables; t && t->name; t++)
			for (const struct field *f = t->fields; f->type != FIELD_TYPE_END; f++)
				check_key(t->name, f);
}

/* Tables that scripts outside rely on, whether they go by name or by place. */
TEST(tables_begin_with_the_columns_of_the_contract)
{
	static const struct {
		const char *measure, *table, *keys;
	} all[] = {
		{ "zones", "curve", "offset_bytes rate_bytes_per_s low high moved_bytes elapsed_ns" },
		{ "zones", "bands", "first_byte last_byte rate_bytes_per_s" },
		{ "zones", "slow_regions", "first_byte last_byte rate_bytes_per_s expected_bytes_per_s" },
		{ "seek", "spans", "span_bytes anchor samples mean_ns stddev_ns p50_ns p95_ns p99_ns max_ns iops" },
		{ "seek", "curve", "distance_bytes seek_ns access_mean_ns" },
		{ "seek", "queue", "depth iops mean_ns p99_ns" },
		{ "geometry", "zones", "first_byte last_byte sectors_per_track skew_ratio surface" },
		{ "stream", "targets", "target bytes rate_bytes_per_s p50_ns p99_ns p999_ns max_ns max_gap_ns" },
		{ "stream", "timeline", "time_s rate_bytes_per_s occupancy_bytes" },
		{ "passes", "steps",
		  "step end_time elapsed_ns rate_bytes_per_s cpu_percent cpu_s_per_mb from_device_ratio" },
		{ "cache", "matrix", "file_bytes record_bytes mode operation rate_bytes_per_s hit_ratio" },
		{ "mark", "sweep", "file_bytes write read random diskmark" },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		const struct measure *const *m = measures;
		const struct measure_table *t;
		char keys[256] = "";

		while (strcmp((*m)->name, all[i].measure) != 0)
			m++;
		for (t = (*m)->tables; strcmp(t->name, all[i].table) != 0;)
			t++;
		for (const struct field *f = t->fields; f->type != FIELD_TYPE_END && strlen(keys) < strlen(all[i].keys);
		     f++)
			(void)snprintf(keys + strlen(keys), sizeof(keys) - strlen(keys), "%s%s", keys[0] ? " " : "",
			               f->key);
		if (strcmp(keys, all[i].keys) != 0)
			fail_msg("%s %s begins with %s, not %s", all[i].measure, all[i].table, keys, all[i].keys);
	}
}
