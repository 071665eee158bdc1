/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a stranger sees of a run of a simulated disk: on terminals of three sizes and on a page. */
#include "test.h"

#include "base/utf8.h"
#include "cli/cli.h"
#include "report/report.h"
#include "simrun.h"

extern const struct measure measure_zones, measure_seek, measure_surface, measure_geometry, measure_buffer;

static const struct {
	unsigned width, lines;
} sizes[] = { { 80, 24 }, { 80, 40 }, { 120, 44 } };

static struct result *run_of(const struct measure *m, const char *words, const char *profile)
{
	struct err err = { 0 };
	struct result *res = sim_result(m, profile, words, 1, &err);

	if (!res)
		fail_msg("%s", err.text);
	cli_screen(res);
	return res;
}

/* Heap. A size of 0: the page. */
static char *shown(const struct result *res, unsigned width, unsigned lines)
{
	const struct text_style style = { .width = width, .lines = lines, .unicode = true };
	struct err err = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(width ? report_text(out, res, &style) : report_html(out, &res, 1, &err), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void expect_fits(const char *text, unsigned width, unsigned most)
{
	unsigned n = 0;

	for (const char *line = text; *line; line += strcspn(line, "\n") + 1, n++) {
		unsigned columns = 0;

		for (const char *p = line; *p && *p != '\n'; p += utf8_len(p))
			columns += utf8_columns(utf8_code(p, utf8_len(p)));
		if (columns > width)
			fail_msg("%u columns, not %u: %.*s", columns, width, (int)strcspn(line, "\n"), line);
	}
	if (n > most)
		fail_msg("%u lines, not %u:\n%s", n, most, text);
}

static void expect(const char *text, const char *word, const char *what)
{
	if (!strstr(text, word))
		fail_msg("%s: no '%s' in:\n%.3000s", what, word, text);
}

TEST(each_command_fits_its_terminal_and_bad_places_are_seen)
{
	static const struct {
		const struct measure *m;
		const char *words, *profile, *bad, *mark; /* of a disk that fails: in words, and in the picture */
	} cases[] = {
		{ &measure_zones, "", "failing", "unreadable", "Unreadable regions" },
		{ &measure_surface, "--sample", "failing", "unreadable", "\xe2\x96\x88" },
		{ &measure_zones, "--quick", "nvme-hot-1tb", NULL, NULL },
		{ &measure_seek, "--quick", "tiny", NULL, NULL },
		{ &measure_seek, "--quick", "ssd-sata", NULL, NULL },
		{ &measure_geometry, "--quick", "tiny", NULL, NULL },
		{ &measure_buffer, "", "tiny", NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_result struct result *res = run_of(cases[i].m, cases[i].words, cases[i].profile);
		cleanup_free char *page = shown(res, 0, 0);

		for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
			cleanup_free char *text = shown(res, sizes[k].width, sizes[k].lines);

			expect_fits(text, sizes[k].width, sizes[k].lines);
			if (cases[i].bad)
				expect(text, cases[i].bad, cases[i].m->name);
			if (cases[i].mark && sizes[k].lines >= 40)
				expect(text, cases[i].mark, cases[i].m->name);
		}
		if (cases[i].bad) {
			expect(page, cases[i].bad, cases[i].m->name);
			expect(page, "<rect class=\"mark m", cases[i].m->name);
		}
		if (strstr(page, "(0 rows"))
			fail_msg("%s: a table without a row", cases[i].m->name);
	}
}

/* A disk's map begins where the disk does, and what was not read has no colour. */
TEST(a_map_begins_at_the_top_left_and_is_blank_where_nothing_was_read)
{
	cleanup_result struct result *res = run_of(&measure_surface, "--range=0-4GB", "failing");
	const struct table *map = result_find_table(res, "map");
	char *page = shown(res, 0, 0), *maps = strstr(page, "class=\"maps\""), *at = maps;
	size_t cells = 0, read = 0;

	assert_non_null(map);
	for (size_t r = 0; r < map->nrows; r++)
		read += isfinite(table_number_of(map, r, "shown_ns"));
	for (; (at = strstr(at, "<rect class=\"heat")) != NULL; at++, cells++)
		if (cells == 0)
			assert_non_null(strstr(at, "x=\"70.0\" y=\"34.0\""));
	assert_int_equal(cells, read);
	assert_true(strstr(page, "x=\"70.0\" y=\"34.0\"") < strchr(strstr(maps, "<rect class=\"heat\""), '\n'));
	free(page);
}

TEST(two_that_are_compared_are_named_drawn_and_have_units)
{
	struct result *v[] = { run_of(&measure_zones, "--quick", "seagate-cheetah-15k7"),
		               run_of(&measure_zones, "--quick", "maxtor-diamondmax-80") };
	const struct result *const *a = (const struct result *const *)v;
	struct compare_options opt = { 0 };
	struct result *res = NULL;

	MUST(report_compare(a, 1, a + 1, 1, &opt, &res, &err));
	for (size_t k = 0; k <= ARRAY_LEN(sizes); k++) {
		bool is_page = k == ARRAY_LEN(sizes);
		cleanup_free char *text = shown(res, is_page ? 0 : sizes[k].width, is_page ? 0 : 60);

		if (!is_page)
			expect_fits(text, sizes[k].width, 60);
		expect(text, "A, SIM0ST345085", "the curve of A");
		expect(text, "B, SIM0098196", "the curve of B");
		expect(text, "MB/s", "a unit");
		if (strstr(text, "bytes_per_s"))
			fail_msg("a name of the document:\n%s", text);
	}
	result_free(res);
	result_free(v[0]);
	result_free(v[1]);
}

/* Requests are longer than the cells of a small range: what they read is not blank. */
TEST(a_map_of_what_was_scanned_has_no_blank_cell)
{
	cleanup_result struct result *res = run_of(&measure_surface, "--range=0-64MiB", "failing");
	const struct table *map = result_find_table(res, "map");

	assert_non_null(map);
	for (size_t r = 0; r < map->nrows; r++)
		assert_true(isfinite(table_number_of(map, r, "shown_ns")));
}

/* Where the small picture of its rates begins: 1 of 30 is the top. */
static double height_of(const char *page, const char *serial)
{
	const char *at = strstr(page, serial), *line = at ? strstr(at, "class=\"line s0\" d=\"M") : NULL;
	double x, y = NAN;

	assert_non_null(line);
	assert_int_equal(sscanf(strchr(line, 'M'), "M%lf %lf", &x, &y), 2);
	return y;
}

TEST(a_hard_disk_and_an_ssd_on_a_page_have_each_a_scale_that_shows_them)
{
	struct result *v[] = { run_of(&measure_zones, "--quick", "tiny"),
		               run_of(&measure_zones, "--quick", "ssd-sata") };
	const struct compare_options opt = { 0 };
	struct err err = { 0 };
	char *page = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&page, &len);

	assert_non_null(out);
	assert_int_equal(report_page(out, (const struct result *const *)v, 2, &opt, &err), 0);
	assert_int_equal(fclose(out), 0);
	assert_true(height_of(page, "TINY0001</b>") < 3.0);
	assert_true(height_of(page, "SIM00000SSD</b>") < 3.0);
	free(page);
	result_free(v[0]);
	result_free(v[1]);
}
