/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is told as sure of sequences of tracks that are made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "geometryorder.h"
#include "simrun.h"

/* Rows of defects, without a second look at the ends, for which there is no time. */
static struct result *defects_of(struct idle *r, struct geo_map *m, struct sequence *s)
{
	struct geo_walk w = { .g = &r->g };
	struct err err;

	r->ses.res = result_new("geometry");
	r->g.t.block_bytes = 512;
	m->w = &w;
	m->o = &s->o;
	assert_int_equal(geo_defect_rows(m, &err), 0);
	return r->ses.res;
}

/* Where no layout is told, what a track lacks is told from its own sectors; but if no other is of that size, or one is as large as what it holds, its ends are not where they were found. */
static void a_track_unlike_all_others_lacks_nothing(void **state)
{
	static const struct {
		uint64_t size, missing, others;
		bool is_told;
	} tracks[] = {
		{ 119, 55, 119, true }, { 72, 55, 119, false }, { 639, 426, 639, true }, { 639, 426, 213, false }
	};
	const struct geo_layout layout = { .fit = NULL };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tracks); i++) {
		struct geo_map m = { .layout = &layout };
		struct result *res;
		struct sequence s;
		struct idle r;

		begin(&s, idle(&r));
		add(&s, i < 2 ? 119 : 639, 9, SKEW);
		add(&s, tracks[i].size, 1, SKEW);
		s.seg[1].has_gap = true;
		s.first -= tracks[i].missing;
		add(&s, tracks[i].others, 1, SKEW);
		add(&s, i < 2 ? 119 : 639, 9, SKEW);
		res = defects_of(&r, &m, &s);
		assert_int_equal(result_find_table(res, "defects")->nrows, tracks[i].is_told);
		result_free(res);
	}
}

/* A track that was counted as two moves all behind it to the next surface, as one without data moves them back. */
static void a_track_without_data_beside_pieces_of_one_is_not_sure(void **state)
{
	static const uint64_t whole[] = { 1552, 1554, 1552, 1552, 1554, 1552, 1554 },
			      pieces[] = { 1552, 1554, 1552, 1548, 6, 1552, 1554 };
	struct geo_fit fit = { .n = 1, .zone = { { .tracks = 7, .size = { 1552, 1554 } } } };
	const struct geo_layout layout = { .shape = { .heads = 2, .band = 1 }, .fit = &fit, .is_told = true };
	uint32_t head[] = { 0, 1, 0, 0, 1, 0, 1 };
	bool is_sure[] = { true };
	struct geo_hole hole = { .track = 3, .head = 1 };

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct geo_map m = { .layout = &layout,
			             .head = head,
			             .is_sure = is_sure,
			             .hole = &hole,
			             .nholes = 1,
			             .are_surfaces = true };
		const struct table *t;
		struct result *res;
		struct sequence s;
		struct idle r;

		begin(&s, idle(&r));
		for (size_t i = 0; i < ARRAY_LEN(whole); i++)
			add(&s, k ? pieces[i] : whole[i], 1, SKEW);
		res = defects_of(&r, &m, &s);
		t = result_find_table(res, "defects");
		assert_string_equal(table_string(t, 0, (size_t)table_column(t, "kind")), "track");
		assert_string_equal(table_string(t, 0, (size_t)table_column(t, "certainty")), k ? "unclear" : "sure");
		result_free(res);
	}
}

#define BAND 25

/* Surfaces that are alike where the walk begins, and by one sector not so in its second zone: bands turned round there, or not. */
static void turning_band_by_band(struct sequence *s, bool does_turn, bool is_seen)
{
	for (unsigned i = 0; i < 6; i++)
		add(s, 247, 2 * BAND, SKEW);
	for (unsigned i = 0; i < 6; i++) {
		bool is_back = does_turn && i % 2;

		add(s, is_seen && is_back ? 236 : 235, BAND, SKEW);
		add(s, is_seen && !is_back ? 236 : 235, BAND, SKEW);
	}
}

/* Accesses do not say whether heads alternate, nor do the sizes of the first zone. */
static void that_heads_alternate_is_told_by_all_that_was_walked(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 8; k++) {
		bool does_turn = k & 1, is_seen = k & 2, is_told = k & 4;
		struct geo_fit fit = { .n = 0 };
		struct geo_shape shape = { .heads = 2, .band = BAND, .is_alternate = is_told };
		struct sequence s;
		struct idle r;
		struct err err;

		begin(&s, idle(&r));
		r.ses.res = result_new("geometry");
		turning_band_by_band(&s, does_turn, is_seen);
		geo_order_fit_whole(&s.o, &shape, &fit);
		assert_int_equal(geo_settle_turning(&r.g, &s.o, &shape, &fit, &err), 0);
		print_message("turns %d, told %d: %d, %zu zones\n", does_turn, is_told, shape.is_alternate, fit.n);
		assert_int_equal(shape.is_alternate, is_seen ? does_turn : is_told);
		assert_int_equal(fit.n, 2);
		if (shape.is_alternate != is_told)
			assert_string_equal(result_find_figure(r.ses.res, "layout")->value.str,
			                    does_turn ? "seek-first in bands of 25 tracks, forward, heads alternate"
			                              : "seek-first in bands of 25 tracks, forward");
		result_free(r.ses.res);
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

/* The search of the rotation is five errors off once in a million disks of normal noise, and of other noise more often. */
static void a_first_speed_that_is_off_is_no_drift(void **state)
{
	struct geo_drift d;
	double error;
	struct geo g;

	(void)state;
	turn(&g, 0.0);
	g.rot.period_ns += 5.0 * g.rot.se_ns;
	assert_false(geo_spindle_drift(&g, &d));
	assert_true(fabs(geo_spindle_period(&g, &error) / 1e7 - 1.0) < error);
	assert_true(error < 1e-6);
	turn(&g, 1e-7);
	assert_true(geo_spindle_drift(&g, &d));
	assert_true(fabs(geo_spindle_period(&g, &error) / (1e7 / (1.0 + 1e-7 * 420.0)) - 1.0) < error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_track_unlike_all_others_lacks_nothing),
		cmocka_unit_test(a_track_without_data_beside_pieces_of_one_is_not_sure),
		cmocka_unit_test(that_heads_alternate_is_told_by_all_that_was_walked),
		cmocka_unit_test(a_first_speed_that_is_off_is_no_drift),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
