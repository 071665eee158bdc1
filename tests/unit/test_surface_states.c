/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `surface` from states that lie: refused in a sentence, or a scan all the same. */
#include "test.h"

#include <jansson.h>
#include <sys/stat.h>

#include "folder.h"
#include "mutate.h"
#include "surfacerun.h"

static void set(json_t *doc, const char *figure, double value)
{
	assert_int_equal(json_object_set_new(json_object_get(doc, "figures"), figure, json_real(value)), 0);
}

static void add_row(json_t *doc, double offset, double length, double error)
{
	json_t *slow = json_object_get(json_object_get(doc, "tables"), "slow"), *row = json_array(), *column;
	size_t i;

	json_array_foreach(json_object_get(slow, "columns"), i, column)
	{
		const char *key = json_string_value(json_object_get(column, "key"));

		assert_int_equal(json_array_append_new(row, !strcmp(key, "kind")           ? json_string("pending")
		                                            : !strcmp(key, "offset_bytes") ? json_real(offset)
		                                            : !strcmp(key, "length_bytes") ? json_real(length)
		                                            : !strcmp(key, "error")        ? json_real(error)
		                                                                           : json_integer(1)),
		                 0);
	}
	assert_int_equal(json_array_append_new(json_object_get(slow, "rows"), row), 0);
}

static void lie(json_t *doc, int which)
{
	json_t *map = json_object_get(json_object_get(json_object_get(doc, "tables"), "map"), "rows");
	json_t *targets = json_object_get(doc, "targets");

	switch (which) {
	case 1: /* beyond the end */
		set(doc, "scanned_to_bytes", 8e12);
		return;
	case 2: /* at the end, with cells that are not */
		set(doc, "scanned_to_bytes", 2e9);
		return;
	case 3:
		set(doc, "scanned_to_bytes", 2e9);
		set(doc, "scanned_bytes", 2e9);
		return;
	case 4:
		add_row(doc, 9e12, 4096, -5);
		return;
	case 5:
		add_row(doc, 4096, 8e12, -5);
		return;
	case 6: /* overlap */
		add_row(doc, 4096, 8192, -5);
		add_row(doc, 8192, 8192, -5);
		return;
	case 7:
		add_row(doc, 4096, 0, -5);
		return;
	case 8:
		assert_int_equal(json_array_clear(map), 0);
		return;
	case 9:
		assert_int_equal(json_object_set_new(json_array_get(targets, 0), "size_bytes", json_integer(1 << 30)),
		                 0);
		return;
	case 10:
		set(doc, "first_bytes", 4096);
		return;
	case 11: /* the other disk in the dock */
		assert_int_equal(json_object_set_new(json_array_get(targets, 0), "serial", json_string("WD-X1")), 0);
		return;
	default: /* a longer request than any: is not read again */
		add_row(doc, 4096, 1u << 28, 0);
	}
}

TEST(a_state_that_no_scan_can_have_come_to_is_refused)
{
	FOLDER(dir);
	const char *path = textf("%s/state", dir.path);
	const char *words = textf("--range=-2GB --without=files --resume --state=%s sda", path);

	for (int which = 0; which < 13; which++) {
		struct sim_run run;
		json_t *doc;
		PROFILE(p, "modern-4tb");

		run = run_on(&p, textf("--time=8s %s", words));
		assert_true(sim_figure(&run, "scanned_bytes") > 0 && sim_figure(&run, "scanned_ratio") < 1);
		sim_run_end(&run);
		doc = json_load_file(path, 0, NULL);
		assert_non_null(doc);
		if (which)
			lie(doc, which);
		assert_int_equal(json_dump_file(doc, path, JSON_INDENT(1)), 0);
		json_decref(doc);
		run = run_for(&measure_surface, &p, words);
		if (sim_run(&run) != (which % 12 ? -EINVAL : 0))
			fail_msg("lie %d: %s", which, run.err.text);
		if (which % 12 == 0)
			assert_int_equal((int)sim_figure(&run, "scanned_ratio"), 1);
		sim_run_end(&run);
		(void)unlink(path);
	}
}

TEST(a_state_that_is_no_regular_file_is_refused_at_once)
{
	FOLDER(dir);
	PROFILE(p, "modern-4tb");
	const char *path = textf("%s/state", dir.path);
	cleanup_run struct sim_run run =
		run_for(&measure_surface, &p, textf("--range=-2GB --resume --state=%s sda", path));

	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(sim_run(&run), -EINVAL);
	sim_run_done(&run);
	(void)unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(sim_run(&run), -EINVAL);
}

/* Changes, some often. */
static void write_changed(struct rng *rng, const json_t *whole, const char *path)
{
	size_t changes = rng_below(rng, 4) ? 1 + (size_t)rng_below(rng, 3) : 1 + (size_t)rng_below(rng, 60);
	json_t *copy = json_deep_copy(whole);

	for (; changes > 0; changes--)
		strangers_change(rng, copy);
	assert_int_equal(json_dump_file(copy, path, JSON_INDENT(1)), 0);
	json_decref(copy);
}

/* A scan goes on from a state that somebody has changed. */
TEST(no_mutation_of_a_state_ends_a_scan)
{
	const char *many = getenv("PLATTER_MUTATIONS");
	size_t n = many ? strtoul(many, NULL, 10) : 60, taken = 0;
	FOLDER(dir);
	const char *path = textf("%s/state", dir.path);
	const char *words = textf("--without=files --range=-40MB --resume --state=%s sda", path);
	struct sim_run run;
	json_t *saved;
	struct rng rng;
	PROFILE(p, "quantum-fireball-tm2110a");

	rng_init(&rng, 51, 4);
	run = ran_on(&measure_surface, &p, textf("--time=3s %s", words));
	assert_true(sim_figure(&run, "scanned_ratio") < 1.0);
	sim_run_end(&run);
	saved = json_load_file(path, 0, NULL);
	assert_non_null(saved);
	for (size_t i = 0; i < n; i++) {
		uint64_t began = strangers_cpu_ns();
		double ratio;
		int r;

		write_changed(&rng, saved, path);
		run = run_for(&measure_surface, &p, words);
		r = sim_run(&run);
		if (r < 0 && strlen(run.err.text) < 20)
			fail_msg("mutation %zu: %d without a sentence", i, r);
		ratio = r == 0 ? sim_figure(&run, "scanned_ratio") : 1.0;
		if (!(ratio >= 0.0 && ratio <= 1.0))
			fail_msg("mutation %zu: %g of the disk scanned", i, ratio);
		taken += r == 0;
		sim_run_end(&run);
		if (strangers_cpu_ns() - began > 5000000000u)
			fail_msg("mutation %zu took more than 5 s", i);
	}
	assert_true(taken > n / 10);
	print_message(
		"fault-count: mutated-states %zu refused in a sentence, or a scan of 0 to 100 %%: %zu; nothing over 5 s\n",
		n, taken);
	json_decref(saved);
	(void)unlink(path);
}
