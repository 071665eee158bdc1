/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is told as sure of sequences of tracks that are made by hand. */
#include "test.h"

#include "geometryorder.h"
#include "simrun.h"

/* Rows of defects; in noise there is no time for a second look at the ends. */
static struct result *defects_in(struct idle *r, struct geo_map *m, struct sequence *s, double noise_ns)
{
	struct geo_walk w = { .g = &r->g };
	struct err err;

	r->ses.res = result_new("geometry");
	r->g.t.block_bytes = 512;
	set_noise(&r->g, noise_ns, 6e6);
	m->w = &w;
	m->o = &s->o;
	assert_int_equal(geo_defect_rows(m, &err), 0);
	return r->ses.res;
}

/* Where no layout is told, what a track lacks is told from its own sectors; but where noise hides ends of tracks those
 * may be mistaken. */
TEST(without_a_layout_a_track_lacks_something_only_where_ends_are_certain)
{
	const struct geo_layout layout = { .fit = NULL };

	for (int is_noisy = 0; is_noisy < 2; is_noisy++) {
		struct geo_map m = { .layout = &layout };
		struct result *res;
		struct sequence s;
		struct idle r;

		begin(&s, idle(&r));
		add(&s, 119, 9, SKEW);
		add(&s, 119, 1, SKEW);
		s.seg[1].has_gap = true;
		s.first -= 55;
		add(&s, 119, 10, SKEW);
		res = defects_in(&r, &m, &s, is_noisy ? 20e3 : 500.0);
		assert_int_equal(result_find_table(res, "defects")->nrows, !is_noisy);
		result_free(res);
	}
}

/*
 * A track that was counted as two moves all behind it to the next surface, as one without data moves them back, and two
 * that were taken for one move them back as well.
 */
TEST(a_track_without_data_beside_what_is_not_as_it_should_be_is_not_told)
{
	static const uint64_t sizes[][7] = {
		{ 1552, 1554, 1552, 1552, 1554, 1552, 1554 }, /* all are */
		{ 1552, 1554, 1552, 1548, 6, 1552, 1554 },    /* pieces */
		{ 1552, 1554, 3106, 1552, 1554, 1552, 1554 }, /* two as one */
	};
	struct geo_fit fit = { .n = 1, .zone = { { .tracks = 7, .size = { 1552, 1554 } } } };
	const struct geo_layout layout = { .shape = { .heads = 2, .band = 1 }, .fit = &fit, .is_reported = true };
	uint32_t head[] = { 0, 1, 0, 0, 1, 0, 1 };
	bool is_sure[] = { true };
	struct geo_hole hole = { .track = 3, .head = 1 };

	for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
		struct geo_map m = { .layout = &layout,
			             .head = head,
			             .is_sure = is_sure,
			             .hole = &hole,
			             .nholes = 1,
			             .are_surfaces = true };
		const struct table *t;
		struct result *res;
		struct sequence s;
		size_t told = 0;
		struct idle r;

		begin(&s, idle(&r));
		for (size_t i = 0; i < ARRAY_LEN(sizes[k]); i++)
			add(&s, sizes[k][i], 1, SKEW);
		res = defects_in(&r, &m, &s, 500.0);
		t = result_find_table(res, "defects");
		for (size_t i = 0; i < t->nrows; i++)
			told += strcmp(table_string(t, i, (size_t)table_column(t, "kind")), "track") == 0;
		assert_int_equal(told, k == 0);
		result_free(res);
	}
}

/* The end of a track was found two sectors beside its place, where a late answer of the second look made a jump that is
 * none of a track; and true ones, of which one shows what the track lacks. */
TEST(an_end_that_jumps_otherwise_is_not_sure)
{
	assert_false(geo_jumps_as_seen(0.0169, 0.0629, 1.0 / 306, 0.0046));
	assert_false(geo_jumps_as_seen(0.0289, 0.1754, 2.0 / 114, 0.0166));
	assert_false(geo_jumps_as_seen(0.0473, 0.0647, 2.0 / 156, 0.0186));
	assert_true(geo_jumps_as_seen(0.0627, 0.0618, 1.0 / 306, 0.0046));
	assert_true(geo_jumps_as_seen(0.2697, 0.2531, 2.0 / 114, 0.0166));
	assert_true(geo_jumps_as_seen(0.9990, 0.0010, 1.0 / 306, 0.0046));
}

#define IN_BAND 25 /* tracks */

/*
 * One track too many was counted in the second band, so that its last track seems to be the first of the third, and to
 * lack what the surfaces differ by; one that holds less than either surface lacks something indeed.
 */
TEST(the_last_track_of_a_surface_lacks_nothing_on_the_next)
{
	struct geo_fit fit = { .n = 1, .zone = { { .tracks = 6 * IN_BAND, .size = { 221, 219 } } } };
	const struct geo_layout layout = { .shape = { .heads = 2, .band = IN_BAND }, .fit = &fit, .is_reported = true };
	uint32_t head[6 * IN_BAND];
	bool is_sure[] = { true };
	struct geo_map m = { .layout = &layout, .head = head, .is_sure = is_sure, .are_surfaces = true };
	const struct table *t;
	struct result *res;
	struct sequence s;
	struct idle r;

	for (size_t i = 0; i < ARRAY_LEN(head); i++)
		head[i] = i / IN_BAND % 2;
	begin(&s, idle(&r));
	add(&s, 221, IN_BAND, SKEW);
	add(&s, 219, IN_BAND, SKEW);
	add(&s, 219, 1, SKEW);
	add(&s, 221, IN_BAND - 1, SKEW);
	add(&s, 219, IN_BAND, SKEW);
	add(&s, 221, 12, SKEW);
	add(&s, 218, 1, SKEW);
	add(&s, 221, IN_BAND - 13, SKEW);
	add(&s, 219, IN_BAND, SKEW);
	res = defects_in(&r, &m, &s, 500.0);
	t = result_find_table(res, "defects");
	assert_int_equal(t->nrows, 1);
	assert_int_equal((int)table_number(t, 0, (size_t)table_column(t, "first_byte")) / 512, s.seg[6].first);
	result_free(res);
}

/*
 * All tracks and skews are alike, so that a surface is told by the number of tracks before it alone: it is not
 * reported. In a zone's last band several that seem to be missing in one place need not be (697112), nor may one beside
 * two that were taken for one. In noise none is told.
 */
TEST(of_surfaces_that_are_alike_it_is_not_said_which_lacks_a_track)
{
	struct geo_fit fit = { .n = 1,
		               .zone = { { .tracks = 4 * IN_BAND,
		                           .size = { 400, 400 },
		                           .head_skew = SKEW,
		                           .cylinder_skew = SKEW,
		                           .band_skew = SKEW } } };
	const struct geo_layout layout = { .shape = { .heads = 2, .band = IN_BAND }, .fit = &fit, .is_reported = true };
	struct geo_hole hole[] = { { .track = 5, .head = 0 },
		                   { .track = IN_BAND - 1, .head = 0 },
		                   { .track = 40, .head = 1 },
		                   { .track = 3 * IN_BAND + 9, .head = 1 },
		                   { .track = 3 * IN_BAND + 9, .head = 1 } };
	uint32_t head[4 * IN_BAND];
	bool is_sure[] = { true };

	for (size_t i = 0; i < ARRAY_LEN(head); i++)
		head[i] = i / IN_BAND % 2;
	for (int i = 0; i < 4; i++) {
		bool is_clear = i & 1, is_quiet = i & 2;
		struct geo_map m = { .layout = &layout,
			             .head = head,
			             .is_sure = is_sure,
			             .hole = hole,
			             .nholes = ARRAY_LEN(hole),
			             .are_surfaces = true };
		const struct table *t;
		struct result *res;
		struct sequence s;
		struct idle r;

		begin(&s, idle(&r));
		add(&s, 400, 4, SKEW);
		add(&s, is_clear ? 400 : 800, 1, SKEW); /* two that were taken for one, or one */
		add(&s, 400, 4 * IN_BAND - 6, SKEW);
		add(&s, 400, 1, SKEW);
		res = defects_in(&r, &m, &s, is_quiet ? 500.0 : 20e3);
		t = result_find_table(res, "defects");
		assert_int_equal(t->nrows, is_quiet ? 2 + is_clear : 0);
		for (size_t k = 0; k < t->nrows; k++)
			assert_true(isnan(table_number(t, k, (size_t)table_column(t, "surface"))));
		result_free(res);
	}
}

/* A single track of another size, each time of a new one, behind every eight. */
static void in_no_order(struct sequence *s, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		add(s, 235, 8, SKEW);
		add(s, 180 + i, 1, SKEW);
	}
}

/* A sequence in a run that has a result. */
static void begin_told(struct sequence *s, struct idle *r)
{
	begin(s, idle(r));
	r->ses.res = result_new("geometry");
}

/* Four surfaces, seek-first; zones as long as zone[] says, each in bands of `band` cylinders. */
static void in_bands(struct sequence *s, const unsigned *zone, size_t n, unsigned band)
{
	for (size_t i = 0; i < n; i++)
		for (unsigned done = 0; done < zone[i]; done += band)
			for (unsigned head = 0; head < 4; head++)
				add(s, 240 - 10 * (unsigned)i - 2 * head, zone[i] - done < band ? zone[i] - done : band,
				    SKEW);
}

/* The first zones are shorter than a band; only what was walked after the layout was told shows that there are bands.
 */
TEST(how_long_bands_are_is_told_by_all_that_was_walked)
{
	static const unsigned shorter[] = { 21, 24, 29 }, longer[] = { 21, 24, 38, 52 };

	for (unsigned k = 0; k < 2; k++) {
		struct geo_fit fit = { .n = 0 };
		struct geo_layout layout = { .shape = { .heads = 4, .band = 0 }, .fit = &fit, .is_reported = true };
		struct sequence s;
		struct idle r;

		begin_told(&s, &r);
		in_bands(&s, k ? longer : shorter, k ? 4 : 3, 31);
		geo_order_fit_whole(&s.o, &layout.shape, &fit);
		assert_int_equal(geo_band_behind(&fit), k ? 31 : 0);
		geo_settle_band(&r.g, &s.o, &layout);
		assert_true(layout.is_reported);
		assert_int_equal(layout.shape.band, k ? 31 : 0);
		assert_int_equal(fit.n, k ? 4 : 3);
		if (k)
			assert_string_equal(result_find_figure(r.ses.res, "layout")->value.str,
			                    "seek-first in bands of 31 tracks, forward");
		else
			assert_null(result_find_figure(r.ses.res, "layout"));
		result_free(r.ses.res);
	}
}

/* Sizes go on behind the longest zone, but not in the order of bands: then no length is told, and no longer that a zone
 * is one band. */
TEST(where_bands_end_is_not_told_of_what_is_in_no_order)
{
	struct geo_fit fit = { .n = 2, .cost = 4.0, .zone = { { .cylinders = 30 }, { .cylinders = 6 } } };
	struct geo_layout layout = { .shape = { .heads = 2, .band = 0 }, .fit = &fit, .is_reported = true };
	struct sequence s;
	struct idle r;

	begin_told(&s, &r);
	in_no_order(&s, 40);
	for (size_t k = 0; k < 2; k++)
		fit.zone[0].size[k] = fit.zone[1].size[k] = 240 - 4 * k;
	geo_settle_band(&r.g, &s.o, &layout);
	assert_false(layout.is_reported);
	assert_true(result_has_notice(r.ses.res, "layout-unknown"));
	result_free(r.ses.res);
}

/* Cylinders of tracks that are all alike, passed at once, leave a reading where it is when each of them is matched: no
 * farther than asked, and not at all beside others. */
TEST(tracks_in_a_row_that_are_alike_are_passed_at_once)
{
	for (uint32_t heads = 1; heads <= 4; heads++) {
		const struct geo_shape shape = { .heads = heads, .band = 1 };
		const uint64_t to[] = { 500, 1000, 5000 }; /* within them; at their end; behind it */
		struct sequence s;
		struct idle r;

		begin(&s, idle(&r));
		add(&s, 1074, 1000, SKEW);
		add(&s, 1070, 1000, SKEW);
		for (size_t i = 0; i < ARRAY_LEN(to); i++) {
			struct geo_parser p = { .o = &s.o, .shape = &shape };
			struct geo_band b = {
				.cylinders = 1, .skip = SIZE_MAX, .skip_to = SIZE_MAX, .is_full = true, .most = INFINITY
			};
			struct geo_state one = { .jump = { NAN, NAN, NAN },
				                 .other = { NAN, NAN, NAN },
				                 .rest = NAN,
				                 .often = { NAN, NAN, NAN } },
					 all;
			uint64_t t = 0, at, n, end = to[i] < 999 ? to[i] : 999;

			assert_true(geo_match(&p, &b, &one, &t));
			assert_true(geo_match(&p, &b, &one, &t));
			all = one;
			at = t;
			n = geo_pass_alike(&p, &b, &all, &at, to[i]);
			assert_int_equal(n, (end - t) / heads);
			for (uint64_t k = 0; k < n; k++)
				assert_true(geo_match(&p, &b, &one, &t));
			assert_int_equal(t, at);
			assert_memory_equal(one.votes, all.votes, sizeof(one.votes));
			assert_true(one.cost == all.cost && isnan(all.other[GEO_TO_CYLINDER]));
			b.size[heads - 1]++; /* one surface holds more: they are not all alike */
			at = 500;
			assert_int_equal(geo_pass_alike(&p, &b, &all, &at, 5000), 0);
		}
	}
}

/* Zones of two surfaces, cylinder by cylinder. */
static void in_cylinders(struct sequence *s, unsigned zones, unsigned cylinders)
{
	for (unsigned z = 0; z < zones; z++)
		for (unsigned i = 0; i < 2 * cylinders; i++)
			add(s, 500 - 10 * z - i % 2, 1, SKEW);
}

/* How much dearer it is without an edge was not read to the end: that says nothing. */
TEST(where_a_reading_was_cut_short_no_edge_is_sure_by_that)
{
	static const struct geo_shape shape = { .heads = 2, .band = 1 };
	struct geo_fit *whole = calloc(1, sizeof(*whole)), *cut = calloc(1, sizeof(*cut));
	size_t open = 0;
	struct sequence s;
	struct idle r;

	begin(&s, idle(&r));
	in_cylinders(&s, 10, 50);
	geo_order_fit(&s.o, &shape, UINT64_MAX, INFINITY, NULL, cut);
	r.g.cost.thinks_to = r.g.cost.thoughts;
	r.g.cost.thoughts = 0;
	geo_order_fit_whole(&s.o, &shape, cut);
	r.g.cost.thinks_to = 0;
	geo_order_fit_whole(&s.o, &shape, whole);
	assert_int_equal(whole->n, 10);
	assert_int_equal(cut->n, 10);
	for (size_t i = 1; i < whole->n; i++) {
		assert_true(whole->zone[i].margin >= GEO_SURE);
		assert_true(cut->zone[i].margin <= whole->zone[i].margin);
		open += cut->zone[i].margin < GEO_SURE;
	}
	assert_true(open > 0);
	free(whole);
	free(cut);
}

static struct {
	const struct geo *g;
	uint64_t thoughts, most, asked;
} between; /* two questions whether it may go on */

static uint64_t time_of_thoughts(struct clock *clk)
{
	uint64_t thoughts = between.g->cost.thoughts - between.thoughts;

	(void)clk;
	between.asked++;
	between.most = thoughts > between.most ? thoughts : between.most;
	between.thoughts = between.g->cost.thoughts;
	return 0;
}

/* All layouts are held against a sequence that is in no order: a signal ends that after a few milliseconds. */
TEST(a_search_for_layouts_asks_often_whether_it_may_go_on)
{
	static struct geo_candidate found[GEO_READINGS];
	struct sequence s;
	struct idle r;

	begin(&s, idle(&r));
	for (unsigned i = 0; i < SEGS; i++)
		add(&s, 300 + i * 7919 % 5, 1 + i * 104729 % 400, SKEW + 0.05 * (i % 3));
	memset(&between, 0, sizeof(between));
	between.g = &r.g;
	r.clk.now_ns = time_of_thoughts;
	(void)geo_shapes(&r.g, &s.o, found);
	print_message("asked %" PRIu64 " times, after %" PRIu64 " slots at most\n", between.asked, between.most);
	assert_true(between.asked > 100);
	assert_true(between.most <= 100000);
}

/* The walk ended five tracks behind the begin of a zone: they were told as tracks of the one before, that lack what the
 * two differ by. One may lack some. */
TEST(where_the_last_tracks_are_of_none_of_its_sizes_a_zone_is_unclear)
{
	static const struct {
		uint64_t size[5];
		bool is_unclear;
	} ends[] = { { { 760, 776, 748, 744, 769 }, true },
		     { { 771, 787, 787, 771, 760 }, false },
		     { { 771, 787, 787, 760, 776 }, true } };
	struct geo_fit fit = { .n = 1, .zone = { { .cylinders = 300, .tracks = 600, .size = { 771, 787 } } } };
	struct geo_layout layout = { .shape = { .heads = 2, .band = 1 }, .fit = &fit, .is_reported = true };

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		struct geo_run run[ARRAY_LEN(ends[0].size)];
		struct geo_item item[ARRAY_LEN(run)];
		struct idle r;
		struct geo_walk w = { .g = &r.g, .items = item, .nitems = ARRAY_LEN(item) };

		(void)idle(&r);
		for (size_t k = 0; k < ARRAY_LEN(run); k++) {
			run[k] = (struct geo_run){ .per_track = ends[i].size[k], .tracks = 1 };
			item[k] = (struct geo_item){ .first = 1000 * (k + 1),
				                     .end = 1000 * (k + 1) + ends[i].size[k],
				                     .tracks = 1,
				                     .times = 1,
				                     .nruns = 1,
				                     .run = &run[k] };
		}
		assert_int_equal(geo_fit_is_unclear(&w, &layout, 0), ends[i].is_unclear);
	}
}

/* Turns of ten milliseconds, looked at every ten seconds; each second is shorter by that part of one. */
static void turn(struct geo *g, double drift)
{
	*g = (struct geo){ .rot = { .period_ns = 1e7, .se_ns = 10.0 }, .spindle = { .npoints = 48 } };
	for (size_t i = 0; i < g->spindle.npoints; i++) {
		double at = 1e10 * (double)(i + 1);

		g->spindle.point[i] = (struct geo_point){ .at_ns = (uint64_t)at,
			                                  .turns = at / 1e7 * (1.0 + drift * at * 1e-9 / 2.0) };
	}
}

/* The search of the rotation is five errors off once in a million disks of normal noise, and of other noise more often.
 */
TEST(a_first_speed_that_is_off_is_no_drift)
{
	struct geo_drift d;
	struct geo g;

	turn(&g, 0.0);
	g.rot.period_ns += 5.0 * g.rot.se_ns;
	assert_true(geo_spindle_speed(&g, &d));
	assert_true(d.change == 0.0);
	assert_true(fabs(d.period_ns / 1e7 - 1.0) < d.error);
	assert_true(d.error < 1e-6);
	turn(&g, 1e-7);
	assert_true(geo_spindle_speed(&g, &d));
	assert_true(d.change != 0.0);
	assert_true(fabs(d.period_ns / (1e7 / (1.0 + 1e-7 * 420.0)) - 1.0) < d.error);
}
