/* SPDX-License-Identifier: GPL-2.0-or-later */
/* geometry in virtual time, against what the profile says. */
#include "test.h"

#include "geometryrun.h"

struct tally {
	size_t tracks, wrong_size, wrong_ends;
	double worst_ppm, longest_s, worst_skew;
};

/* Does a track begin at this data sector, and what is there? */
static bool begins_track(const struct geometry *g, uint64_t sector, struct place *ret)
{
	struct place before;

	geometry_place(g, sector, ret);
	if (sector == 0)
		return true;
	geometry_place(g, sector - 1, &before);
	return before.track != ret->track;
}

static void check_track(const struct geometry *g, const struct table *t, size_t row, struct tally *tally)
{
	uint32_t bytes = geometry_profile(g)->physical_sector_bytes;
	uint64_t first = (uint64_t)number(t, row, "first_byte") / bytes, n = (uint64_t)number(t, row, "sectors");
	struct place place, last, next;
	bool good = begins_track(g, first, &place);

	geometry_place(g, first + n - 1, &last);
	good = good && last.track == place.track;
	if (first + n < geometry_sectors(g))
		good = good && begins_track(g, first + n, &next);
	tally->tracks++;
	tally->wrong_ends += !good;
	tally->wrong_size += number(t, row, "sectors_per_track") != place.spt;
}

static void check_tracks(const struct geometry *g, const struct sim_run *run, struct tally *tally)
{
	const struct table *t = result_find_table(run->res, "tracks");
	double ppm = fabs(sim_figure(run, "rotation_rpm") / geometry_profile(g)->spindle.rpm - 1.0) * 1e6;

	assert_non_null(t);
	if (!(ppm <= tally->worst_ppm))
		tally->worst_ppm = ppm;
	for (size_t i = 0; i < t->nrows; i++)
		check_track(g, t, i, tally);
	if ((double)sim_elapsed_ns(run->sim) * 1e-9 > tally->longest_s)
		tally->longest_s = (double)sim_elapsed_ns(run->sim) * 1e-9;
}

/* The start, middle and end figures are of tracks that are there. */
static void check_quick(const struct geometry *g, const struct sim_run *run)
{
	struct place first;

	geometry_place(g, 0, &first);
	assert_true(sim_figure(run, "start_sectors_per_track") > 0);
	assert_true(sim_figure(run, "middle_sectors_per_track") > 0);
	assert_true(sim_figure(run, "end_sectors_per_track") > 0);
	if (geometry_profile(g)->surfaces == 1)
		assert_true(sim_figure(run, "start_sectors_per_track") == first.spt);
}

static struct sim_run run_on(const char *name, const char *words)
{
	PROFILE(p, name);

	return geometry_on(&p, words);
}

static const struct geometry *geometry_of(const struct sim_run *run)
{
	return disk_geometry(sim_model(sim_find(run->sim, "sda")));
}

static struct sim_run random_run(uint64_t seed, const struct profile_limits *limits, const char *words)
{
	cleanup_profile struct profile p = { 0 };

	MUST(profile_random(&p, seed, limits, &err));
	return geometry_on(&p, words);
}

static void one_random(uint64_t seed, const struct profile_limits *limits, const char *words, struct tally *tally)
{
	cleanup_run struct sim_run run = random_run(seed, limits, words);

	check_tracks(geometry_of(&run), &run, tally);
	check_quick(geometry_of(&run), &run);
}

static void say(const char *what, const struct tally *t)
{
	print_message("%s: %zu tracks, %zu wrong sizes, %zu wrong ends, rpm within %.2g ppm, at most %.0f s\n", what,
	              t->tracks, t->wrong_size, t->wrong_ends, t->worst_ppm, t->longest_s);
}

TEST(quick_is_exact_on_random_disks)
{
	struct tally t = { 0 };

	for (uint64_t seed = 1000; seed < 1000 + TALLY_SEEDS(60); seed++)
		one_random(seed, &(struct profile_limits){ .max_bytes = 2000000000 }, "--quick sda", &t);
	say("random disks", &t);
	assert_true(t.tracks >= TALLY_SEEDS(60) * 13);
	assert_true(t.wrong_size * 100 <= t.tracks);
	assert_true(t.wrong_ends * 100 <= t.tracks);
	assert_true(t.worst_ppm <= 10.0);
	assert_true(t.longest_s <= 60.0);
}

TEST(quick_bears_noise)
{
	struct tally t = { 0 };

	for (uint64_t seed = 1; seed <= TALLY_SEEDS(40); seed++)
		one_random(seed,
		           &(struct profile_limits){ .max_bytes = 2000000000, .no_defects = true, .jitter_us = 15 },
		           "--quick sda", &t);
	say("jitter of 15 us", &t);
	assert_true(t.tracks >= TALLY_SEEDS(40) * 13);
	assert_true(t.wrong_size * 100 <= t.tracks);
	assert_true(t.worst_ppm <= 10.0);
	assert_true(t.longest_s <= 60.0);
}

TEST(known_drives)
{
	static const char *const names[] = {
		"tiny",        "quantum-fireball-tm2110a", "ibm-deskstar-60gxp",   "maxtor-diamondmax-80",
		"modern-4tb",  "samsung-hd103sj",          "seagate-cheetah-15k7", "seagate-medalist-st39140a",
		"toshiba-x300"
	};
	struct tally t = { 0 };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		cleanup_run struct sim_run run = run_on(names[i], "--quick sda");
		struct place first;

		check_tracks(geometry_of(&run), &run, &t);
		geometry_place(geometry_of(&run), 0, &first);
		assert_true(sim_figure(&run, "start_sectors_per_track") == first.spt);
	}
	say("known drives", &t);
	assert_int_equal(t.wrong_size, 0);
	assert_int_equal(t.wrong_ends, 0);
	assert_true(t.worst_ppm <= 10.0 && t.longest_s <= 60.0);
}

#define STOPS (2 + TALLY_SEEDS(10))

/* Somebody who presses ^C so many reports after the walk. */
struct interrupt {
	struct sim *sim;
	atomic_int signal;
	unsigned after, judging, since; /* reports while the layout is judged, and since the signal */
	uint64_t reads;                 /* at the signal */
	double done;                    /* the part that was last reported */
	char phases[200];               /* names in order */
};

static void stop_progress(void *arg, struct session *ses, const char *phase, double done, const char *figure)
{
	struct interrupt *s = arg;
	size_t n = strlen(s->phases), m = strlen(phase);

	assert_true(done <= 1.0);
	s->done = done;
	if (done < 0.6 || strcmp(phase, "tracks") == 0)
		return;
	if ((n < m || strcmp(s->phases + n - m, phase) != 0) && n + m + 2 < sizeof(s->phases))
		(void)snprintf(s->phases + n, sizeof(s->phases) - n, ",%s", phase);
	s->since += s->signal != 0;
	if (++s->judging != s->after)
		return;
	s->signal = 2;
	s->reads = sim_requests(s->sim);
}

static void stopped_run(struct interrupt *s, struct sim_run *run)
{
	s->sim = sim_new();
	sim_add_profile(s->sim, "quantum-fireball-tm2110a", "sda");
	sim_set_contents(s->sim, false);
	*run = (struct sim_run){ .sim = s->sim,
		                 .m = &measure_geometry,
		                 .words = "sda",
		                 .cancel = &s->signal,
		                 .hooks = { .progress = stop_progress, .arg = s } };
	if (sim_run(run) < 0)
		fail_msg("%s", run->err.text);
}

TEST(judging_says_what_it_does)
{
	struct interrupt s = { .after = UINT32_MAX };
	cleanup_run struct sim_run run = { 0 };

	stopped_run(&s, &run);
	print_message("%u reports: %s\n", s.judging, s.phases + 1);
	assert_int_equal(run.res->status, STATUS_COMPLETE);
	assert_string_equal(s.phases, ",layouts,access times,zones");
	assert_true(s.judging > 100);
}

TEST(judging_ends_at_once_when_interrupted)
{
	struct interrupt whole = { .after = UINT32_MAX };
	struct sim_run run;

	stopped_run(&whole, &run);
	sim_run_end(&run);
	for (unsigned i = 0; i < STOPS; i++) { /* from the first report to the last */
		struct interrupt s = { .after = 1 + i * (whole.judging - 1) / (STOPS - 1) };
		const struct table *zones;

		stopped_run(&s, &run);
		zones = result_find_table(run.res, "zones");
		print_message("after %u reports: %s; %u more, %" PRIu64 " more reads\n", s.after, s.phases + 1, s.since,
		              sim_requests(s.sim) - s.reads);
		assert_int_equal(s.signal, 2);
		assert_int_equal(run.res->status, STATUS_CANCELLED);
		assert_true(s.since <= 1);
		assert_true(sim_requests(s.sim) - s.reads <= 4);
		assert_true(isnan(sim_figure(&run, "surfaces")));
		assert_true(result_has_notice(run.res, "layout-unknown"));
		assert_true(isfinite(sim_figure(&run, "tracks"))); /* what the walk has found is there */
		assert_true(zones && zones->nrows > 0);
		sim_run_end(&run);
	}
}

/* Is that the size of one of the sixteen tracks there, of which the disk's first and last are the first and last? */
static bool is_size_near(const struct geometry *g, double at, double size)
{
	uint64_t sectors = geometry_sectors(g), sector = (uint64_t)(at * (double)(sectors - 1));
	bool is_there = false;

	for (unsigned i = 0; i < 2 * 17 && sector < sectors; i++) {
		struct place place;

		geometry_place(g, sector, &place);
		is_there = is_there || place.spt == size;
		if (at < 1.0)
			sector += place.spt / 2;
		else
			sector -= place.spt / 2;
	}
	return is_there;
}

/* Noise that hides most ends, and many late answers: what is told of a place is still the size of a track, never of a
 * piece of one. */
TEST(pieces_are_no_tracks)
{
	static const struct {
		const char *name;
		double at;
	} places[] = { { "start_sectors_per_track", 0.0 },
		       { "middle_sectors_per_track", 0.5 },
		       { "end_sectors_per_track", 1.0 } };
	size_t told = 0, wrong = 0;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		cleanup_profile struct profile p = { 0 };
		cleanup_run struct sim_run run = { 0 };
		struct err err;

		assert_int_equal(profile_random(&p, seed,
		                                &(struct profile_limits){ .max_bytes = 1000000000, .jitter_us = 150 },
		                                &err),
		                 0);
		p.noise.outlier_p = 0.1;
		p.noise.outlier_ms = 5.0;
		run = geometry_on(&p, "--quick sda");
		for (size_t i = 0; i < ARRAY_LEN(places); i++) {
			double size = sim_figure(&run, places[i].name);

			told += isfinite(size);
			if (isfinite(size) && !is_size_near(geometry_of(&run), places[i].at, size)) {
				print_message("seed %d, %s: %g\n", (int)seed, places[i].name, size);
				wrong++;
			}
		}
	}
	print_message("pieces: %zu reported, %zu wrong\n", told, wrong);
	assert_int_equal(wrong, 0);
	assert_true(told >= 100);
}

/* So many answers come late, by late_ms on the mean; what was told of the rotation: 1 truly, 0 nothing, with the
 * reason. */
static int rotation_when_late(double late_p, double late_ms, unsigned seed)
{
	cleanup_run struct sim_run run = { 0 };
	char words[64];
	double rpm;
	PROFILE(p, "tiny");

	p.noise.outlier_p = late_p;
	p.noise.outlier_ms = late_ms;
	(void)snprintf(words, sizeof(words), "--quick --time=10s --seed=%u sda", seed);
	run = geometry_on(&p, words);
	rpm = sim_figure(&run, "rotation_rpm");
	assert_false(result_has_notice(run.res, "not-rotating"));
	assert_true(isfinite(rpm) != run.res->verdict_is_open);
	if (!(isnan(rpm) || fabs(rpm / p.spindle.rpm - 1.0) <= 100e-6))
		fail_msg("%.0f %% late by %.0f ms, seed %u: %.3f rpm, not %.3f", late_p * 100, late_ms, seed, rpm,
		         p.spindle.rpm);
	return isfinite(rpm);
}

TEST(an_overloaded_host_is_not_taken_for_a_device_without_rotation)
{
	static const struct {
		double p, ms;
		int told; /* of 8, at least */
	} late[] = { { 0.1, 5, 8 }, { 0.2, 20, 8 }, { 0.35, 20, 0 }, { 0.6, 5, 0 }, { 1.0, 30, 0 } };

	for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
		int told = 0;

		for (unsigned seed = 1; seed <= 8; seed++)
			told += rotation_when_late(late[i].p, late[i].ms, seed);
		print_message("%.0f %% of the answers late by %.0f ms: reported %d of 8 times\n", late[i].p * 100,
		              late[i].ms, told);
		assert_true(told >= late[i].told);
	}
}
