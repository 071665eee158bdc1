/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plots, the page and comparisons, from documents made by hand. Golden files: PLATTER_GOLDEN_UPDATE=1 writes them. */
#include "golden.h"

#include <time.h>

#include "report/plotdata.h"
#include "report/report.h"
#include "report/svg.h"
#include "sample.h"

static char *page_of(const struct result *const *res, size_t n)
{
	struct err err = { 0 };

	return WRITTEN(f, assert_int_equal(report_html(f, res, n, &err), 0));
}

static char *svg_of(struct plot_data *d)
{
	return WRITTEN(f, svg_plot(f, d));
}

#define cleanup_plot __attribute__((cleanup(free_plot)))

static void free_plot(struct plot_data *const *d)
{
	plot_data_free(*d);
}

/* The plot of this number; LAST: the one that was added last. */
#define LAST SIZE_MAX
static struct plot_data *plot_of(const struct result *res, size_t which)
{
	struct plot_data *d = plot_data_new(&res, 1, &res->plots[which == LAST ? res->nplots - 1 : which], true);

	assert_non_null(d);
	return d;
}

/* The plots [from, to) of the first document, over those of the others. */
static char *drawn(const struct result *const *res, size_t n, size_t from, size_t to, struct text_style style)
{
	return WRITTEN(f, for (size_t i = from; i < to; i++) report_plot_text(f, res, n, &res[0]->plots[i], &style));
}

TEST(every_plot_kind_is_drawn_as_before)
{
	cleanup_result struct result *res = sample_all_plots();
	unsigned kinds = 0;

	for (size_t i = 0; i < res->nplots; i++) {
		cleanup_plot struct plot_data *d = plot_of(res, i);

		kinds |= 1u << d->kind;
		assert_golden(textf("plot-%s.svg", res->plots[i].kind), svg_of(d));
	}
	assert_int_equal(kinds, (2u << PLOT_BANDS) - 1); /* all that there are */
}

TEST(plots_in_the_terminal_are_drawn_as_before_in_unicode_and_ascii)
{
	cleanup_result struct result *res = sample_all_plots();
	const struct result *one[] = { res };

	for (int unicode = 0; unicode < 2; unicode++) {
		struct text_style style = { .width = 72, .unicode = unicode };
		char *text = drawn(one, 1, 0, res->nplots, style);

		for (const unsigned char *p = (const unsigned char *)text; !unicode && *p; p++)
			assert_true(*p < 0x80);
		assert_golden(unicode ? "plots-unicode.txt" : "plots-ascii.txt", text);
	}
}

TEST(terminal_plots_fit_every_width)
{
	cleanup_result struct result *res = sample_all_plots();
	const struct result *one[] = { res };

	for (unsigned width = 40; width <= 200; width += 16)
		for (size_t i = 0; i < res->nplots; i++) {
			cleanup_free char *text = NULL;

			if (strcmp(res->plots[i].kind, "polar") == 0 || strcmp(res->plots[i].kind, "heatmap") == 0)
				continue;
			text = drawn(one, 1, i, i + 1, (struct text_style){ .width = width, .unicode = true });
			(void)expect_lines_within(text, width);
		}
}

TEST(hostile_text_cannot_become_markup)
{
	static const char hostile[] = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>&\x01";
	cleanup_result struct result *res = sample_zones(hostile, hostile, hostile, 5, 1.0);
	const struct result *one[] = { res };
	struct plot hurt = res->plots[0];
	cleanup_free char *page = NULL;

	result_notice(res, "x", "%s", hostile);
	result_option(res, hostile, hostile);
	result_figure_text(res, "layout", hostile, hostile);
	result_fault(res, hostile, "read", 0, 512, -5, 1.0);
	res->head.argv = calloc(2, sizeof(char *));
	res->head.argv[0] = strdup(hostile);
	res->head.argc = 1;
	hurt.title = hostile;
	result_plot(res, &hurt);
	page = page_of(one, 1);
	assert_null(strstr(page, "<script"));
	assert_null(strstr(page, "<img"));
	assert_null(strstr(page, "\x01"));
	assert_non_null(strstr(page, "&lt;script&gt;"));
}

TEST(a_page_asks_nothing_from_the_network_and_runs_no_script)
{
	cleanup_result struct result *res = sample_all_plots();
	const struct result *one[] = { res };
	static const char *const words[] = { "http:", "https:", "<script", "url(", "@import" };
	cleanup_free char *page = page_of(one, 1);

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		assert_null(strstr(page, words[i]));
}

TEST(documents_of_one_kind_are_overlaid_and_distinguished)
{
	cleanup_result struct result *a = sample_zones("Disk A", "A1", "2026-01-01T00:00:00.000000Z", 64, 1.0);
	cleanup_result struct result *b = sample_zones("Disk B", "B1", "2026-01-01T00:00:00.000000Z", 64, 0.9);
	cleanup_result struct result *c = sample_zones("Disk A", "A1", "2027-01-01T00:00:00.000000Z", 64, 0.8);
	const struct result *all[] = { a, b, c };
	struct plot_data *d = plot_data_new(all, 3, &a->plots[0], true);

	assert_non_null(d);
	assert_int_equal(d->nseries, 3);
	assert_string_equal(d->series[0].name, "Disk A A1, 2026-01-01");
	assert_string_equal(d->series[1].name, "Disk B B1");
	assert_string_equal(d->series[2].name, "Disk A A1, 2027-01-01");
	plot_data_free(d);
}

struct sample_bar {
	uint64_t from_ns, to_ns;
	double share_percent;
	const char *of;
};

static const struct field sample_bar_fields[] = {
	FIELD_U64(struct sample_bar, from_ns, UNIT_NS, "time"),
	FIELD_U64(struct sample_bar, to_ns, UNIT_NS, "within"),
	FIELD_F64(struct sample_bar, share_percent, UNIT_PERCENT, "share"),
	FIELD_STR(struct sample_bar, of, "of"),
	FIELD_END,
};

/* A triangle between 2 and 18 ms in bars of so many ms. */
static struct result *sample_bars(const char *model, uint64_t width_ms, const char *of)
{
	struct result *res = sample_zones(model, model, "2026-01-01T00:00:00.000000Z", 0, 1.0);
	struct table *t = result_table(res, "distribution", "Distribution", sample_bar_fields);

	for (uint64_t at = 2; at < 18; at += width_ms) {
		struct sample_bar row = { at * 1000000, (at + width_ms) * 1000000, 0.0, of };

		for (uint64_t ms = at; ms < at + width_ms; ms++)
			row.share_percent += 100.0 / 72.0 * (double)(ms < 10 ? ms - 1 : 18 - ms);
		result_row(t, &row);
	}
	result_figure_u64(res, "p50_ns", "median", UNIT_NS, 10000000);
	result_plot(res, &(struct plot){ .kind = "histogram",
	                                 .title = "How long reads took",
	                                 .table = "distribution",
	                                 .x = "from_ns,to_ns",
	                                 .y = "share_percent",
	                                 .series = "of",
	                                 .marks = "figures:p50_ns" });
	return res;
}

TEST(histograms_over_each_other_are_drawn_as_before)
{
	cleanup_result struct result *a = sample_bars("Disk A", 1, NULL);
	cleanup_result struct result *b = sample_bars("Disk B", 2, NULL);
	const struct result *both[] = { a, b };
	cleanup_plot struct plot_data *d = plot_data_new(both, 2, &a->plots[1], true);

	assert_golden("plot-histogram-two.svg", svg_of(d));
	assert_golden("plot-histogram-two.txt",
	              drawn(both, 2, 1, 2, (struct text_style){ .width = 72, .unicode = true }));
}

TEST(histograms_of_one_law_are_equally_high_whatever_their_bars_are)
{
	cleanup_result struct result *a = sample_bars("Disk A", 1, NULL);
	cleanup_result struct result *b = sample_bars("Disk B", 4, NULL);
	const struct result *both[] = { a, b };
	cleanup_plot struct plot_data *d = plot_data_new(both, 2, &a->plots[1], true);
	double area[2] = { 0.0, 0.0 };

	assert_non_null(d);
	assert_false(d->x.is_log);
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < d->series[i].n; k++)
			area[i] += d->series[i].v[k].y * (d->series[i].v[k].x_end - d->series[i].v[k].x);
	assert_true(fabs(area[0] / area[1] - 1.0) < 1e-9);
}

TEST(an_interval_far_wider_than_the_values_is_cut_at_the_frame)
{
	struct point v[] = { { 0, 60, 59, 61, NAN, NAN }, { 1, 100, 1, 9e9, NAN, NAN }, { 2, 80, NAN, NAN, NAN, NAN } };
	struct series s = { .v = v, .n = 3 };
	struct plot_data d = { .kind = PLOT_LINE, .series = &s, .nseries = 1 };

	plot_make_axes(&d, NULL, 0);
	assert_true(d.y.low >= 0.0 && d.y.low <= 20.0 && d.y.high >= 140.0 && d.y.high < 150.0);
}

static size_t count_of(const char *text, const char *word)
{
	size_t n = 0;

	for (const char *p = strstr(text, word); p; p = strstr(p + 1, word))
		n++;
	return n;
}

/* The rows of another table stand behind the line, each as a dot: none is thinned out, and they widen the axes. */
TEST(dots_of_another_table_stand_behind_the_line)
{
	enum { DOTS = 2000 };
	cleanup_result struct result *res = sample_bars("Disk A", 4, NULL);
	struct table *t = result_table(res, "accesses", "Accesses", sample_bar_fields);
	struct plot decl = { .kind = "line", .table = "distribution", .x = "from_ns", .y = "share_percent" };

	for (uint64_t i = 0; i < DOTS; i++)
		result_row(t,
		           &(struct sample_bar){ i * 10000, 0, i == 77 ? (double)NAN : 50.0 + (double)(i % 7), NULL });
	for (int k = 0; k < 4; k++) {
		static const char *const dots[] = { "accesses:from_ns:share_percent", "accesses:from_ns:no_such",
			                            "accesses", "no_such:from_ns:share_percent" };

		cleanup_plot struct plot_data *d = NULL;
		cleanup_free char *text = NULL;

		decl.dots = dots[k];
		result_plot(res, &decl);
		d = plot_of(res, LAST);
		assert_int_equal(d->nseries, k ? 1 : 2);
		assert_true(d->series[d->nseries - 1].is_dots == (k == 0));
		assert_true(k ? d->y.high < 50.0 : d->y.high >= 56.0);
		text = svg_of(d);
		assert_int_equal(count_of(text, "<circle"), (k ? 0 : DOTS - 1) + d->series[0].n);
	}
}

/* The line is seen whatever lies behind it, by a terminal with colours, without, and without Unicode; where it does not
 * go, the dots are; both have names. */
TEST(dots_do_not_hide_the_line_in_text)
{
	enum { DOTS = 3000 };
	cleanup_result struct result *res = sample_bars("Disk A", 4, NULL);
	struct table *t = result_table(res, "accesses", "Accesses", sample_bar_fields);
	const struct plot decl = { .kind = "line",
		                   .table = "distribution",
		                   .x = "from_ns",
		                   .y = "share_percent",
		                   .dots = "accesses:from_ns:share_percent" };
	const struct result *one[] = { res };

	for (uint64_t i = 0; i < DOTS; i++) /* all over the picture */
		result_row(t, &(struct sample_bar){ i % 60 * 100000, 0, 30.0 * (double)i / DOTS, NULL });
	result_plot(res, &decl);
	for (int k = 0; k < 3; k++) {
		static const struct {
			struct text_style style;
			const char *line, *dot, *line_named, *dots_named;
		} looks[] = {
			{ { .width = 80 }, "*", ".", "* Distribution", ". Accesses\n" },
			{ { .width = 80, .unicode = true },
			  "\xe2\xa0",
			  "\xc2\xb7",
			  "\xe2\x96\xa0 Distribution",
			  "\xc2\xb7 Accesses\n" },
			{ { .width = 80, .unicode = true, .colour = true },
			  "\033[38;5;33m\xe2",
			  "\033[38;5;208m\xe2",
			  "\033[38;5;33m\xe2\x96\xa0\033[0m Distribution",
			  "\033[38;5;208m\xc2\xb7\033[0m Accesses\n" },
		};
		cleanup_free char *text = drawn(one, 1, res->nplots - 1, res->nplots, looks[k].style);

		if (count_of(text, looks[k].line) < 50 || count_of(text, looks[k].dot) < 200 ||
		    !strstr(text, looks[k].line_named) || !strstr(text, looks[k].dots_named))
			fail_msg("look %d: %zu of the line, %zu dots\n%s", k, count_of(text, looks[k].line),
			         count_of(text, looks[k].dot), text);
	}
}

/* In whatever order the table has them; two of one place are one, and one beyond the axis is at its end. */
TEST(every_bad_place_has_its_mark)
{
	static const uint64_t at[] = { 900000000000, 100000000000, 500000000000, 100000000000, 1ull << 60 };
	cleanup_result struct result *res = sample_zones("A", "1", "2026-01-01T00:00:00.000000Z", 10, 1.0);
	cleanup_free char *svg = NULL;
	cleanup_plot struct plot_data *d = NULL;

	for (size_t i = 0; i < ARRAY_LEN(at); i++)
		result_row(result_table(res, "bad", "Bad", sample_region_fields), &(struct sample_region){ at[i], 0 });
	result_plot(res, &(struct plot){ .kind = "line",
	                                 .table = "curve",
	                                 .x = "offset_bytes",
	                                 .y = "rate_bytes_per_s",
	                                 .marks = "bad:first_byte:first_byte" });
	d = plot_of(res, 1);
	svg = svg_of(d);
	assert_int_equal(count_of(svg, "<rect class=\"mark "), 4);
}

/* None of several columns gives the axis its name: "first (ms)" beside two lines would be wrong for one of them. */
TEST(an_axis_of_several_columns_has_the_name_of_what_they_are)
{
	cleanup_result struct result *res = sample_bars("Disk A", 4, NULL);
	struct plot decl = { .kind = "line", .table = "distribution", .x = "share_percent", .y = "from_ns" };

	for (int k = 0; k < 2; k++) {
		cleanup_plot struct plot_data *d = NULL;

		decl.y = k ? "to_ns,from_ns" : "to_ns";
		result_plot(res, &decl);
		d = plot_of(res, LAST);
		assert_int_equal(strncmp(d->y.label, "time (", 6) == 0, k == 1);
	}
}

/* Three years: the oldest document knows no distribution and has a figure less. */
TEST(what_only_a_later_document_has_is_on_the_page_too)
{
	cleanup_result struct result *old = sample_zones("Disk A", "A1", "2024-01-01T00:00:00.000000Z", 8, 1.0);
	cleanup_result struct result *new = sample_bars("Disk A", 1, NULL);
	const struct result *both[] = { old, new };
	cleanup_free char *page = page_of(both, 2);

	assert_non_null(strstr(page, "How long reads took"));
	assert_non_null(strstr(page, ">median<"));
	assert_int_equal(count_of(page, "Rate by position</figcaption>"), 1);
}

#define SLOWER TALLY_SHARE
#define TRIES  5

/* By the clock of this process, for others may be at work on this machine; again, for a virtual machine's processor may
 * be stolen, which that clock counts. */
TEST(ten_thousand_rows_go_through_text_to_a_page_in_less_than_a_second)
{
	cleanup_result struct result *res = sample_zones("Big", "B", "2026-01-01T00:00:00.000000Z", 10000, 1.0);
	clock_t took = SLOWER * CLOCKS_PER_SEC;

	for (unsigned try = 0; try < TRIES && took >= SLOWER * CLOCKS_PER_SEC; try++) {
		clock_t start = clock();
		cleanup_free char *text = result_to_json(res);
		cleanup_free char *page = NULL;
		cleanup_result struct result *again = NULL;
		const struct result *one[1];

		MUST(result_from_json(&again, text, strlen(text), &err));
		one[0] = again;
		page = page_of(one, 1);
		took = clock() - start;
	}
	assert_true(took < SLOWER * CLOCKS_PER_SEC);
}

TEST(ten_thousand_rows_make_a_page_below_two_megabytes_that_keeps_the_dip)
{
	cleanup_result struct result *res = sample_zones("Big", "B", "2026-01-01T00:00:00.000000Z", 10000, 1.0);
	struct table *t = res->tables[0];
	const struct result *one[] = { res };
	cleanup_plot struct plot_data *d = NULL;
	double lowest = INFINITY;
	char *page;

	t->cells[5000 * t->ncolumns + 1].f64 = 1e6; /* one bad place */
	page = page_of(one, 1);
	assert_true(strlen(page) < 2000000);
	free(page);
	d = plot_of(res, 0);
	plot_thin(&d->series[0], 1600);
	assert_true(d->series[0].n <= 1600);
	for (size_t i = 0; i < d->series[0].n; i++)
		lowest = fmin(lowest, d->series[0].v[i].y);
	assert_true(lowest == 1e6);
}

TEST(an_empty_table_or_a_missing_column_draws_nothing)
{
	cleanup_result struct result *res = sample_zones("E", "E", "2026-01-01T00:00:00.000000Z", 0, 1.0);
	const struct result *one[] = { res };

	assert_null(plot_data_new(one, 1, &res->plots[0], true));
	sample_plot(res, "line", "nothing", "x", "y", NULL);
	sample_plot(res, "line", "curve", "no_such_column", "rate_bytes_per_s", NULL);
	assert_null(plot_data_new(one, 1, &res->plots[1], true));
	assert_null(plot_data_new(one, 1, &res->plots[2], true));
}

TEST(axes_have_three_to_twelve_round_ticks_for_any_range)
{
	struct rng rng;
	struct axis a;

	rng_init(&rng, 1, 1);
	for (int i = 0; i < 20000; i++) {
		double low = pow(10.0, rng_double(&rng) * 20 - 4), high = low * (1.001 + rng_double(&rng) * 100.0);
		double first, second;

		a = (struct axis){ .unit = (enum unit)(i % (UNIT_PER_S + 1)), .label = "x" };
		axis_init(&a, i % 3 == 0, low, high, false, false);
		assert_true(a.low < a.high);
		assert_true(a.nticks <= 12);
		if (a.is_log)
			continue;
		assert_true(a.nticks >= 3);
		first = a.tick[1] - a.tick[0];
		second = a.tick[a.nticks - 1] - a.tick[a.nticks - 2];
		assert_true(fabs(first - second) <= 1e-6 * fabs(first));
		assert_true(a.tick[0] >= a.low - fabs(a.low) * 1e-9 && a.tick[a.nticks - 1] <= a.high * (1 + 1e-9));
	}
}

/* A run that read a part of its disk, from a place to a place in per cent of it. */
static struct result *sample_part(double from, double to, const char *range)
{
	struct result *res = sample_zones("A", "1", "2026-01-01T00:00:00.000000Z", 2, 1.0);
	struct table *t = result_table(res, "part", "Part", sample_curve_fields);

	for (int i = 0; i <= 50; i++)
		result_row(t,
		           &(struct sample_curve){ (uint64_t)((from + (to - from) * i / 50) * 40007870300.16), 2e8 });
	result_option(res, "range", range);
	result_plot(res, &(struct plot){ .kind = "line",
	                                 .title = "Part",
	                                 .table = "part",
	                                 .x = "offset_bytes",
	                                 .y = "rate_bytes_per_s" });
	return res;
}

TEST(a_picture_by_place_shows_the_disk_and_what_of_it_was_not_read)
{
	static const struct {
		double from, to;
		const char *range;
		double low, high; /* of the axis, in per cent of the disk */
		size_t unread;    /* stretches */
	} cases[] = {
		{ 0, 100, "", 0, 100, 0 },  { 0, 40, "", 0, 100, 1 },         { 60, 100, "50%-", 0, 100, 1 },
		{ 30, 40, "", 0, 100, 2 },  { 30, 31, "30%-31%", 30, 31, 0 }, { 30, 30.5, "30%-31%", 30, 31, 1 },
		{ 0, 99.9, "", 0, 100, 0 }, { 50, 100, "", 0, 100, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_result struct result *res = sample_part(cases[i].from, cases[i].to, cases[i].range);
		cleanup_plot struct plot_data *d = plot_of(res, LAST);

		assert_true(fabs(d->x.low / 40007870300.16 - cases[i].low) < 0.01);
		assert_true(fabs(d->x.high / 40007870300.16 - cases[i].high) < 0.01);
		assert_int_equal(d->nmarks ? d->marks[0].n : 0, cases[i].unread);
	}
}

TEST(lines_that_lie_on_each_other_are_seen_without_colour)
{
	cleanup_result struct result *a = sample_part(0, 100, ""), *b = sample_part(0, 100, "");
	const struct result *both[] = { a, b };
	cleanup_free char *text =
		drawn(both, 2, a->nplots - 1, a->nplots, (struct text_style){ .width = 80, .unicode = true });

	assert_true(count_of(text, "=") > 60);
	assert_non_null(strstr(text, "= several"));
}

struct place_row {
	uint64_t row_bytes, column_bytes;
	double shown_ns;
};

static const struct field place_fields[] = {
	FIELD_U64(struct place_row, row_bytes, UNIT_BYTES, "row"),
	FIELD_U64(struct place_row, column_bytes, UNIT_BYTES, "place in the row"),
	FIELD_F64(struct place_row, shown_ns, UNIT_NS, "longest request"),
	FIELD_END,
};

struct bad_row {
	uint64_t offset_bytes, length_bytes;
};

static const struct field bad_fields[] = {
	FIELD_U64(struct bad_row, offset_bytes, UNIT_BYTES, "offset"),
	FIELD_U64(struct bad_row, length_bytes, UNIT_BYTES, "length"),
	FIELD_END,
};

/* A disk of 32 rows of 32 cells of 1000 bytes, with a mark in so many of them. */
static struct result *sample_map(uint64_t bad, uint64_t cells)
{
	struct result *res = sample_part(0, 100, "");
	struct table *map = result_table(res, "map", "The surface in cells", place_fields);
	struct table *slow = result_table(res, "slow", "Bad places", bad_fields);

	for (uint64_t i = 0; i < 1024; i++)
		result_row(map, &(struct place_row){ i / 32 * 32000, i % 32 * 1000, 1e6 });
	result_row(slow, &(struct bad_row){ 1000 * bad, 1000 * cells });
	result_plot(res, &(struct plot){ .kind = "heatmap",
	                                 .title = "The surface",
	                                 .table = "map",
	                                 .x = "column_bytes",
	                                 .y = "row_bytes,shown_ns",
	                                 .marks = "slow:offset_bytes:+length_bytes" });
	return res;
}

TEST(a_map_of_fewer_rows_shows_a_bad_place_where_it_lies)
{
	for (unsigned lines = 0; lines <= 48; lines += 12)
		for (uint64_t bad = 0; bad < 1024; bad += 31) {
			cleanup_result struct result *res = sample_map(bad, 1);
			const struct result *one[] = { res };
			struct text_style style = { .width = 80, .lines = lines };
			cleanup_free char *text = drawn(one, 1, res->nplots - 1, res->nplots, style);
			size_t at = 0, all = 0, first = SIZE_MAX, per;
			char *line = strstr(text, "longest request:");

			assert_non_null(line);
			while ((line = strchr(line, '\n')) && line[1] == ' ')
				for (line += 11; *line != '\n'; line++, all++) {
					first = *line == '!' && first == SIZE_MAX ? all : first;
					at += *line == '!';
				}
			assert_in_range(at, 1, 2);
			per = (32 + all / 64 - 1) / (all / 64); /* rows in one of 64 characters */
			assert_true(2 * bad + 1 >= first * per && 2 * bad + 1 <= (first + at) * per);
		}
}

TEST(every_cell_of_a_bad_stretch_is_marked)
{
	for (uint64_t cells = 0; cells <= 1024; cells += 64) {
		cleanup_result struct result *res = sample_map(0, cells);
		cleanup_plot struct plot_data *d = plot_of(res, LAST);
		size_t marked = 0;

		for (size_t i = 0; i < d->series[0].n; i++)
			marked += plot_is_marked(d, &d->series[0].v[i]);
		assert_int_equal(marked, cells > 0 ? cells : 1);
	}
}
