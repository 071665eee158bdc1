/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The whole run of geometry on many random disks in virtual time: 1 to 10 surfaces, head-first, bands, serpentine,
 * equal and different densities, 1 to 20 zones, missing sectors and tracks, zones that end in part of a track. Asserted
 * as rates over disks; PLATTER_LONG=1: over many more.
 */
#include "test.h"

#include "geometryrun.h"
#include "lacks.h"
#include "visible.h"
#include "wildjudge.h"

struct rates {
	size_t disks, edges, edges_found, edges_told, zones_exact;
	/* disks of which a zone that is told as sure does not begin, end or hold what it says, or without the notice */
	size_t silent;
	size_t disks_unclear; /* with a notice that some zones are */
	size_t told, wrong;   /* surfaces and layout */
	size_t tracks, tracks_right, disks_right;
	size_t turns, turns_wrong; /* jumps behind runs */
	size_t lacking, lacks_told,
		lacks_wrong; /* tracks that lack something or hold nothing; rows of the table defects */
	size_t skews, skews_wrong;
	double worst_ppm, revolutions, visited, longest_s;
};

/* First bytes of zones; the first zone has none. An edge between zones whose tracks are all equal need not be found. */
static size_t true_edges(const struct geometry *g, double *ret, bool *ret_is_visible)
{
	struct truth_zone zone[PROFILE_ZONES_MAX];
	size_t n = truth_zones(g, zone, PROFILE_ZONES_MAX);

	for (size_t i = 1; i < n; i++) {
		ret[i - 1] = (double)zone[i].first_byte;
		ret_is_visible[i - 1] = memcmp(zone[i].spt, zone[i - 1].spt, sizeof(zone[i].spt)) != 0;
	}
	return n - 1;
}

/* Has some zone that the middle of these bytes is in tracks of that size? */
static bool is_size_there(const struct geometry *g, double first, double last, double size)
{
	struct truth_zone zone[PROFILE_ZONES_MAX];
	size_t n = truth_zones(g, zone, PROFILE_ZONES_MAX), at = 0;
	bool is_there = isnan(size);

	while (at + 1 < n && (double)zone[at + 1].first_byte <= (first + last) / 2.0)
		at++;
	for (size_t s = 0; s < geometry_profile(g)->surfaces; s++)
		is_there = is_there || zone[at].spt[s] == size;
	return is_there;
}

/* What a row says that is sure: its zone begins where one does, no edge that can be seen is inside, and its tracks are
 * as large. */
static bool is_true_zone(const struct geometry *g, const struct table *t, size_t row, const double *edge,
                         const bool *is_visible, size_t n)
{
	double first = number(t, row, "first_byte"), last = number(t, row, "last_byte");
	bool begins = first == 0.0, is_whole = true;

	for (size_t k = 0; k < n; k++) {
		begins = begins || edge[k] == first;
		is_whole = is_whole && !(is_visible[k] && edge[k] > first && edge[k] <= last);
	}
	return begins && is_whole && is_size_there(g, first, last, number(t, row, "sectors_per_track"));
}

static bool is_any_sure_zone_false(const struct geometry *g, const struct sim_run *run, const double *edge,
                                   const bool *is_visible, size_t n)
{
	const struct table *t = result_find_table(run->res, "zones");
	int certainty = table_column(t, "certainty");

	for (size_t i = 0; i < t->nrows; i++)
		if (strcmp(table_string(t, i, (size_t)certainty), "sure") == 0 &&
		    !is_true_zone(g, t, i, edge, is_visible, n))
			return true;
	return false;
}

static void check_edges(const struct geometry *g, const struct sim_run *run, struct rates *r)
{
	const struct table *t = result_find_table(run->res, "zones");
	bool is_visible[PROFILE_ZONES_MAX];
	double edge[PROFILE_ZONES_MAX], last = 0.0;
	size_t n = true_edges(g, edge, is_visible), visible = 0, found = 0, told = 0;

	assert_non_null(t);
	for (size_t i = 0; i < t->nrows; i++) {
		double first = number(t, i, "first_byte");

		if (first == last)
			continue;
		last = first;
		told++;
		for (size_t k = 0; k < n; k++) {
			found += edge[k] == first && is_visible[k];
			told -= edge[k] == first && !is_visible[k];
		}
	}
	for (size_t k = 0; k < n; k++)
		visible += is_visible[k];
	r->edges += visible;
	r->edges_found += found;
	r->edges_told += told;
	r->zones_exact += found == visible && told == visible;
	r->disks_unclear += result_has_notice(run->res, "unclear-zones");
	if (is_any_sure_zone_false(g, run, edge, is_visible, n) ||
	    (told > found && !result_has_notice(run->res, "unclear-zones"))) {
		print_message("%s: a zone that is none is reported as sure\n", geometry_profile(g)->name);
		r->silent++;
	}
}

static void check_skew(const struct sim_run *run, const char *name, double truth, struct rates *r)
{
	double v = sim_figure(run, name);

	if (isnan(v))
		return;
	r->skews++;
	r->skews_wrong += !(fabs(remainder(v - truth, 1.0)) <= 0.01);
}

/* Each figure that was measured comes with an interval that holds it, but for surfaces that are likely, not certain. */
static void check_intervals(const struct sim_run *run)
{
	static const char *const names[] = { "rotation_rpm",
		                             "rotation_period_ns",
		                             "start_sectors_per_track",
		                             "middle_sectors_per_track",
		                             "end_sectors_per_track",
		                             "skew_ratio",
		                             "surfaces",
		                             "tracks",
		                             "cylinder_skew_ratio",
		                             "head_skew_ratio" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct figure *f = result_find_figure(run->res, names[i]);
		bool is_likely = strcmp(names[i], "surfaces") == 0 && result_has_notice(run->res, "layout-likely");

		if (f && isfinite(figure_number(f)) && !(is_likely && isnan(f->ci.low)) &&
		    !(f->ci.low <= figure_number(f) && figure_number(f) <= f->ci.high))
			fail_msg("%s: %g, not in %g .. %g", names[i], figure_number(f), f->ci.low, f->ci.high);
	}
}

/* What is told has to be right; what is not told has to be said, and why. */
static void check_layout(const struct geometry *g, const struct sim_run *run, struct rates *r)
{
	const struct profile *p = geometry_profile(g);
	const struct figure *layout = result_find_figure(run->res, "layout"),
			    *sure = result_find_figure(run->res, "confidence");
	double surfaces = sim_figure(run, "surfaces");

	assert_int_equal(isnan(surfaces), layout->value.is_null);
	assert_int_equal(isnan(surfaces), sure->value.is_null);
	if (isnan(surfaces)) {
		assert_true(result_has_notice(run->res, "layout-unknown"));
		return;
	}
	r->told++;
	if (surfaces != p->surfaces || !wild_is_layout(p, layout->value.str, !does_turning_show(p))) {
		print_message("%s: %" PRIu32 " surfaces, bands of %" PRIu32 ", reported %.0f, %s\n", p->name,
		              p->surfaces, p->zones[0].band_tracks, surfaces, layout->value.str);
		r->wrong++;
	}
	check_skew(run, "cylinder_skew_ratio", p->zones[0].cyl_skew, r);
	if (p->surfaces > 1)
		check_skew(run, "head_skew_ratio", p->zones[0].head_skew, r);
}

/* Is the jump behind the track that ends in front of that sector as it is told, from the first sector's end to the next
 * one's? */
static void check_turn(const struct geometry *g, uint64_t end, double told, struct rates *r)
{
	struct place last, next;
	double truth;

	if (end >= geometry_sectors(g))
		return;
	geometry_place(g, end - 1, &last);
	geometry_place(g, end, &next);
	truth = next.angle - last.angle + 1.0 / next.spt - 2.0 / last.spt;
	r->turns++;
	r->turns_wrong += !(fabs(remainder(told - truth, 1.0)) <= 0.005);
}

/* Tracks of a row of runs that begin where a track begins and have its size. */
static void check_run(const struct geometry *g, const struct table *t, size_t row, struct rates *r)
{
	uint32_t bytes = geometry_profile(g)->physical_sector_bytes;
	uint64_t first = (uint64_t)number(t, row, "first_byte") / bytes,
		 size = (uint64_t)number(t, row, "sectors_per_track");
	uint64_t tracks = (uint64_t)number(t, row, "tracks"), times = (uint64_t)number(t, row, "times");
	uint64_t every = times > 1 ? (uint64_t)number(t, row, "every_bytes") / bytes : 0;

	for (uint64_t i = 0; i < times * tracks; i++) {
		uint64_t at = first + i / tracks * every + i % tracks * size;
		struct place place, before = { .track = UINT64_MAX };

		r->tracks++;
		if (at >= geometry_sectors(g))
			continue;
		geometry_place(g, at, &place);
		if (at)
			geometry_place(g, at - 1, &before);
		r->tracks_right += place.spt == size && before.track != place.track;
		if (i % tracks + 1 == tracks && number(t, row, "missing") == 0.0)
			check_turn(g, at + size, number(t, row, "skew_ratio"), r);
	}
}

static void check_runs(const struct geometry *g, const struct sim_run *run, struct rates *r)
{
	const struct table *t = result_find_table(run->res, "runs");
	size_t was = r->tracks, right = r->tracks_right;

	assert_non_null(t);
	for (size_t i = 0; i < t->nrows; i++)
		check_run(g, t, i, r);
	r->disks_right += r->tracks > was && (r->tracks_right - right) * 100 >= (r->tracks - was) * 99;
}

/* What is told as missing is missing, there and on that surface. */
static void check_defects(const struct geometry *g, const struct sim_run *run, struct rates *r)
{
	const struct table *t = result_find_table(run->res, "defects");
	struct lacks n = lacks_count(g, geometry_bytes(g));

	r->lacking += n.tracks + n.empty;
	for (size_t i = 0; t && i < t->nrows; i++) {
		const char *kind = table_string(t, i, (size_t)table_column(t, "kind"));
		const char *wrong = lacks_wrong(g, number(t, i, "first_byte"), number(t, i, "missing"),
		                                number(t, i, "surface"), kind);

		r->lacks_told++;
		r->lacks_wrong += wrong != NULL;
		if (wrong)
			print_message("%s: %s at %.0f, %.0f on surface %.0f: %s\n", geometry_profile(g)->name, kind,
			              number(t, i, "first_byte"), number(t, i, "missing"), number(t, i, "surface"),
			              wrong);
	}
}

static void judge(struct sim_run *run, struct rates *r)
{
	const struct geometry *g = disk_geometry(sim_model(sim_find(run->sim, "sda")));

	r->disks++;
	check_edges(g, run, r);
	check_layout(g, run, r);
	check_runs(g, run, r);
	check_defects(g, run, r);
	check_intervals(run);
	r->worst_ppm = fmax(r->worst_ppm,
	                    fabs(sim_figure(run, "rotation_rpm") / geometry_profile(g)->spindle.rpm - 1.0) * 1e6);
	r->visited += sim_figure(run, "tracks_visited");
	r->revolutions += (double)sim_elapsed_ns(run->sim) / sim_figure(run, "rotation_period_ns");
	r->longest_s = fmax(r->longest_s, (double)sim_elapsed_ns(run->sim) * 1e-9);
}

static void say(const char *what, const struct rates *r)
{
	print_message(
		"%s: %zu disks; tracks right %zu of %zu; zone edges %zu of %zu found, %zu reported, all exact on %zu disks, some unclear on %zu, false though sure on %zu; layout reported of %zu, wrong %zu; "
		"skews %zu, wrong %zu; jumps %zu, wrong %zu; defects %zu, rows %zu, wrong %zu; rpm within %.2g ppm; %.1f revolutions per visited track, at most %.0f s\n",
		what, r->disks, r->tracks_right, r->tracks, r->edges_found, r->edges, r->edges_told, r->zones_exact,
		r->disks_unclear, r->silent, r->told, r->wrong, r->skews, r->skews_wrong, r->turns, r->turns_wrong,
		r->lacking, r->lacks_told, r->lacks_wrong, r->worst_ppm, r->revolutions / r->visited, r->longest_s);
}

static bool is_long(void)
{
	return getenv("PLATTER_LONG") != NULL;
}

/* An eighth of the disks, and smaller ones, are enough to look for what is false, and for faults of memory, but not
 * for shares. */
static bool is_of_few(void)
{
	return TALLY_SHARE > 1 && !is_long();
}

static uint64_t how_many(uint64_t n)
{
	return is_long() ? n * 64 : is_of_few() ? (n + 7) / 8 : n;
}

static uint64_t how_large(uint64_t bytes)
{
	return is_of_few() ? bytes / 2 : bytes;
}

/* Nothing that is told as sure may be false, on no disk. */
static void assert_nothing_false_is_sure(const struct rates *r)
{
	assert_int_equal(r->silent, 0);
	assert_int_equal(r->wrong, 0);
	assert_int_equal(r->lacks_wrong, 0);
	assert_int_equal(r->skews_wrong, 0);
	assert_true(r->worst_ppm <= 10.0);
}

/* As many of those that are drawn. outlier_p: so many answers come later, by 5 ms on the mean. */
static struct rates rates_of(const char *what, uint64_t first, uint64_t n, const struct profile_limits *limits,
                             double outlier_p)
{
	struct rates r = { 0 };

	for (uint64_t seed = first; seed < first + n; seed++) {
		cleanup_profile struct profile p = { 0 };
		cleanup_run struct sim_run run = { 0 };

		MUST(profile_random(&p, seed, limits, &err));
		p.noise.outlier_p = outlier_p;
		p.noise.outlier_ms = 5.0;
		run = geometry_on(&p, "--tracks --time=9h sda");
		assert_true(run.res->status == STATUS_COMPLETE ||
		            (limits->bad_regions && run.res->status == STATUS_WITH_ERRORS));
		judge(&run, &r);
	}
	say(what, &r);
	assert_nothing_false_is_sure(&r);
	return r;
}

TEST(any_disk_is_found_out)
{
	const struct profile_limits any = { .max_bytes = how_large(500000000) };
	const struct rates r = rates_of("any disks", 1, how_many(12), &any, 0.0);

	if (is_of_few())
		return;
	assert_true(r.tracks_right * 1000 >= r.tracks * 999);
	assert_true(r.disks_right * 100 >= r.disks * 98);
	assert_true(r.turns_wrong * 10000 <= r.turns);
	assert_true(r.edges_found * 100 >= r.edges * 98);
	assert_true(r.edges_found * 100 >= r.edges_told * (is_long() ? 90 : 95)); /* those too many: noted as unclear */
	assert_true(r.zones_exact * 100 >= r.disks * 88);
	assert_true(r.disks_unclear * 100 <= r.disks * 20);
	assert_true(r.told * 100 >= r.disks * 90);
	assert_true(r.revolutions <= 10.0 * r.visited);
	assert_true(r.lacks_told * 100 >= r.lacking * 90); /* those beside what is not as it should be are not told */
}

TEST(disks_without_defects_are_exact)
{
	const struct profile_limits exact = { .max_bytes = how_large(500000000), .no_defects = true };
	const struct rates r = rates_of("without defects", 5001, how_many(7), &exact, 0.0);

	if (is_of_few())
		return;
	assert_true(r.tracks_right * 1000 >= r.tracks * 999);
	assert_true(r.turns_wrong * 10000 <= (is_long() ? r.turns : 0)); /* of some hundred disks on one or two */
	assert_true(r.edges_found * 1000 >= r.edges * 999);
	if (is_long()) /* of some hundred disks on two there are edges too many, noted as unclear */
		assert_true(r.edges_found * 100 >= r.edges_told * 96);
	else
		assert_int_equal(r.edges_found, r.edges_told);
	assert_true(r.told * 100 >= r.disks * 90);
}

TEST(noise_and_outliers_make_no_false_answers)
{
	/* With defects as well, which are smaller than the noise and cannot be told for what they are. */
	const struct profile_limits noisy = { .max_bytes = how_large(300000000), .jitter_us = 10.0 };
	const struct rates r = rates_of("noise and defects", 7001, how_many(4), &noisy, 0.003);

	if (is_of_few())
		return;
	assert_true(r.tracks_right * 100 >= r.tracks * 95);
}

TEST(noise_alone_is_borne)
{
	const struct profile_limits noisy = { .max_bytes = how_large(300000000),
		                              .jitter_us = 10.0,
		                              .no_defects = true };
	const struct rates r = rates_of("noise", 7501, how_many(4), &noisy, 0.001);

	if (is_of_few())
		return;
	assert_true(r.tracks_right * 100 >= r.tracks * 99);
	assert_true(r.edges_found * 100 >= r.edges * 98);
	assert_true(r.edges_found * 100 >= r.edges_told * 98);
	assert_true(r.told * 100 >= r.disks * 90);
}

TEST(unreadable_sectors_are_survived)
{
	const struct profile_limits bad = { .max_bytes = how_large(300000000), .no_defects = true, .bad_regions = 3 };
	const struct rates r = rates_of("unreadable sectors", 8001, how_many(4), &bad, 0.0);

	if (is_of_few())
		return;
	assert_true(r.tracks_right * 100 >= r.tracks * 99);
}

/* Some thirty sectors in a track: all accesses over as many tracks are off by the same, which spoke for two surfaces as
 * often as it was measured. */
TEST_LARGE(what_accesses_say_again_and_again_is_no_evidence)
{
	const struct profile_limits any = { .max_bytes = 500000000 };

	if (!is_long()) /* 11 s */
		skip();
	(void)rates_of("few sectors", 354, 1, &any, 0.0);
}

static struct rates rates_on(const char *what, const struct profile *p, const char *words)
{
	cleanup_run struct sim_run run = geometry_on(p, words);
	struct rates r = { 0 };

	judge(&run, &r);
	say(what, &r);
	assert_nothing_false_is_sure(&r);
	return r;
}

static struct rates rates_of_text(const char *what, const char *text, const char *words)
{
	cleanup_profile struct profile p = profile_of(text);

	return rates_on(what, &p, words);
}

/* Of the largest 23000 runs, nearly all of them leapt over: cycles of which only the order is wrong must not be
 * believed. With answers late by 20 us, and a few by some ms, it is the same; and two disks' changes of heads take
 * longer than the arm over many cylinders. */
TEST(known_drives_are_exact)
{
	static const struct {
		const char *name;
		bool is_noisy;
	} drives[] = {
		{ "tiny" },
		{ "quantum-fireball-tm2110a" },
		{ "samsung-hd103sj" },
		{ "seagate-cheetah-15k7" },
		{ "modern-4tb" },
		{ "tiny", .is_noisy = true },
		{ "ibm-deskstar-60gxp" },
		{ "maxtor-diamondmax-80" },
		{ "maxtor-diamondmax-80", .is_noisy = true },
		{ "ibm-deskstar-60gxp", .is_noisy = true },
		{ "seagate-medalist-st39140a", .is_noisy = true },
	};
	size_t turns = 0;

	for (size_t i = 0; i < ARRAY_LEN(drives); i++) {
		struct rates r;
		PROFILE(p, drives[i].name);

		if (drives[i].is_noisy) {
			p.noise.jitter_us = 20;
			p.noise.outlier_p = 0.003;
			p.noise.outlier_ms = 3;
		}
		r = rates_on(drives[i].name, &p, "--tracks sda");
		assert_int_equal(r.told, 1);
		assert_int_equal(r.zones_exact, 1);
		assert_true(r.longest_s < 600.0);
		if (drives[i].is_noisy)
			continue;
		assert_int_equal(r.tracks_right, r.tracks);
		assert_int_equal(r.turns_wrong, 0);
		turns += r.turns;
	}
	assert_true(turns > 40000);
}

#define ONE_SURFACE                                                                                          \
	"rpm 7200\nsurfaces 1\nqueue_depth 1\noverhead_ms 0.1\nseek 0.6 0.05\ncyl_skew 0.1111111111111111\n" \
	"interface_mbs 1000\n"

/*
 * Tracks with the end between them a sector or two off, on wild disks: one of them looks as if it lacked that; on the
 * second disk nothing in the sizes of its neighbours shows it.
 */
TEST(an_end_beside_its_place_is_no_defect)
{
	static const uint64_t seeds[] = { 91009, 130113 };
	struct rates r = { 0 };

	for (size_t i = 0; i < TALLY_FIRST(ARRAY_LEN(seeds), 1); i++) {
		cleanup_run struct sim_run run = geometry_on_wild(seeds[i], "--time=600s sda", NULL, NULL);
		const struct geometry *g = disk_geometry(sim_model(sim_find(run.sim, "sda")));

		assert_true(sim_figure(&run, "surfaces") == (double)geometry_profile(g)->surfaces);
		check_defects(g, &run, &r);
	}
	assert_true(r.lacks_told > 0);
	assert_int_equal(r.lacks_wrong, 0);
}

/* 148 tracks of 314 sectors hold as many as 157 of 296, and nine skews more are just one revolution: a leap of 256
 * tracks over both looks true at its end. */
TEST_LARGE(tracks_of_another_size_are_not_leapt_over)
{
	const struct rates r = rates_of_text(
		"equal sums", ONE_SURFACE "jitter_us 2\ncache_kb 0\nzone 364 314\nzone 900 296\n", "--tracks sda");

	assert_int_equal(r.zones_exact, 1);
	assert_int_equal(r.tracks_right, r.tracks);
}

/* Three tracks of each surface and the first one of the next zone hold as many sectors as ten of the first surface: a
 * leap over whole bands ends there as it would behind one more. */
TEST_LARGE(a_band_that_is_cut_is_not_leapt_over)
{
	static const char text[] =
		"rpm 15000\nsurfaces 3\nqueue_depth 1\noverhead_ms 0.07\nseek 0.2 0.04\n"
		"head_switch_ms 0.4\ninterface_mbs 1000\ncache_kb 0\njitter_us 2\n"
		"overhead_scatter 0.005 0.049 0.018\ncompletion_scatter 0.014 0.062 0.023\n"
		"seek_scatter 1 0.023 0.0073 0.046\nseek_scatter 20 0.045 0.053 0.091\n"
		"seek_scatter 1000 0.07 0.035 0.14\n"
		"head_switch_scatter 0.0117 0.114 0.037\nlayout seek-first 10\nhead_skew 0.138\n"
		"cyl_skew 0.1308\nband_skew 0.1278\nzone 1053 1081 1102 1073\nzone 926 1042 1061 1033\n";
	const struct rates r = rates_of_text("cut band", text, "--tracks sda");

	assert_int_equal(r.edges_found, r.edges);
}

/*
 * A leap of 64 tracks ends behind 50 of them and 28 that are half as large, where there is just such an end. It is off
 * by 0.7 of a turn, and another sector of what was taken for a track was off by 0.3 more.
 */
TEST(an_angle_that_is_off_is_no_answer_that_strayed_where_sectors_are_wider)
{
	const struct rates r =
		rates_of_text("half as large",
	                      "rpm 7200\nsurfaces 1\nqueue_depth 1\noverhead_ms 0.1\nseek 0.6 0.05\ncyl_skew 0.05\n"
	                      "interface_mbs 1000\njitter_us 6\ncache_kb 0\nzone 114 600\nzone 300 300\n",
	                      "--tracks sda");

	assert_int_equal(r.tracks_right, r.tracks);
}

/* A drive of many segments, which keeps what comes by before the sector asked for and reads ahead: sectors beside each
 * other are in its cache. */
TEST(a_cache_costs_little)
{
	char text[2048] =
		ONE_SURFACE "jitter_us 2\ncache_kb 16384\nsegments 32\nread_ahead yes\npre_read yes\nkeep_behind 0.1\n";
	struct rates r = { 0 };

	for (int i = 0; i < 40; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "zone 300 %d\n", 600 - 7 * i);
	r = rates_of_text("cache", text, "--tracks --time=60s sda");
	assert_int_equal(r.tracks_right, r.tracks);
	assert_true(r.edges_found >= 15); /* 4 when each sector beside another one cost 32 reads anywhere */
}
