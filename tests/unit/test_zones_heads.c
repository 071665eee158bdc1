/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Surfaces of unlike density that come by turns: their cycle in made series, and `zones` on drives of 2 to 16 of them
 * that differ by 0 to 15 %, whose cycles are 1 to 30 samples long.
 */
#include "test.h"

#include "measure/zones/zones.h"
#include "tally.h"
#include "zonesrun.h"

/* ---- the cycle in a series ---- */

#define WINDOWS 240

struct series {
	double z[WINDOWS], cycle; /* in windows; 0: none */
};

/* Windows over surfaces by turns, every second time backwards; a window on an edge sees both. is_cyclic: or surfaces
 * drawn anew each time. */
static void make_series(struct series *ret, struct rng *rng, size_t heads, double spread, double noise, bool is_cyclic)
{
	double level[64], piece = 2.5 + 4.0 * rng_double(rng), at = piece * 8.0 * rng_double(rng);
	bool is_to_and_fro = rng_below(rng, 2);
	size_t n = is_to_and_fro ? 2 * heads : heads;

	for (size_t h = 0; h < heads; h++)
		level[h] = spread * rng_double(rng);
	for (size_t h = heads; h < n; h++)
		level[h] = level[2 * heads - 1 - h];
	ret->cycle = is_cyclic ? piece * (double)n : 0.0;
	for (size_t i = 0, was = 0; i < WINDOWS; i++, at += 1.0) {
		size_t a = (size_t)(at / piece), b = (size_t)((at + 0.7) / piece);
		double part = a == b ? 0.0 : fmod(at + 0.7, piece) / 0.7;

		for (; !is_cyclic && was < b; was++)
			level[(was + 1) % n] = spread * rng_double(rng);
		ret->z[i] = (1.0 - part) * level[a % n] + part * level[b % n] + noise * rng_normal(rng);
		if (rng_below(rng, 50) == 0)
			ret->z[i] += 0.1 * rng_double(rng); /* disturbed */
	}
}

/* By sixteens, as a run looks at them. */
static bool found(const struct series *s, struct zone_cycle *ret)
{
	for (size_t n = 32; n <= WINDOWS; n += 16)
		if (zone_cycle_find(s->z, n, INFINITY, 0.0, ret))
			return true;
	return false;
}

TEST(a_cycle_is_found_at_its_length)
{
	static const size_t heads[] = { 2, 3, 4, 5, 6, 8, 10 };
	size_t n = 0, right = 0, wrong = 0;
	struct rng rng;

	rng_init(&rng, 71, 0);
	for (size_t k = 0; k < 700; k++) {
		struct zone_cycle c;
		struct series s;

		make_series(&s, &rng, heads[k % ARRAY_LEN(heads)], 0.03 + 0.12 * rng_double(&rng), 0.003, true);
		if (2.0 * s.cycle > WINDOWS)
			continue;
		n++;
		if (!found(&s, &c))
			continue;
		/* A multiple is one, too: where two surfaces are alike a part may be. */
		right += fabs(c.lag / s.cycle - round(c.lag / s.cycle)) < 0.04 * c.lag / s.cycle &&
		         c.lag > 0.9 * s.cycle;
		wrong += !(fabs(c.lag / s.cycle - round(c.lag / s.cycle)) < 0.04 * c.lag / s.cycle &&
		           c.lag > 0.9 * s.cycle);
	}
	print_message("%zu cycles: %zu found, %zu wrong\n", n, right, wrong);
	assert_true(right * 10 >= n * 7);
	assert_true(wrong * 20 <= n); /* where surfaces are nearly alike a part of it repeats itself as well */
}

TEST(no_cycle_is_found_in_noise_nor_in_what_does_not_repeat_itself)
{
	size_t noise = 0, random = 0;
	struct rng rng;

	rng_init(&rng, 72, 0);
	for (size_t k = 0; k < 500; k++) {
		struct zone_cycle c;
		struct series s;

		make_series(&s, &rng, 1, 0.0, 0.01, true);
		noise += found(&s, &c);
		make_series(&s, &rng, 8, 0.1, 0.003, false);
		random += found(&s, &c);
	}
	print_message("of 500 each: %zu in noise, %zu in surfaces drawn anew\n", noise, random);
	assert_int_equal(noise, 0);
	assert_true(random <= 5);
}

/* Windows at equal distances over a cycle, of noise and a begin of their own, against all of the cycle. */
static double missed_by(const struct series *s, size_t windows, double noise, struct rng *rng)
{
	double mean = 0.0, all = 0.0, begin = rng_double(rng);

	for (size_t i = 0; i < windows; i++)
		mean += s->z[(size_t)((begin + (double)i) * s->cycle / (double)windows)] + noise * rng_normal(rng);
	for (size_t i = 0; i < 100; i++)
		all += s->z[(size_t)((double)i * s->cycle / 100.0)];
	return mean / (double)windows - all / 100.0;
}

/* From more windows than surfaces down to half of them: what is told is neither less than nine tenths of what is
 * missed, nor twice it. */
TEST(what_windows_over_a_cycle_miss_is_told_also_of_fewer_than_there_are_surfaces)
{
	static const double noise = 0.003, parts[] = { 0.5, 0.8, 1.2, 2.0 };
	struct rng rng;

	rng_init(&rng, 75, 0);
	for (size_t k = 0; k < ARRAY_LEN(parts); k++) {
		double square = 0.0, told = 0.0, n = 0.0;

		for (size_t i = 0; i < 400; i++) {
			size_t heads = 8 + i % 8, windows = (size_t)(parts[k] * (double)heads);
			struct zone_cycle c;
			struct series s;

			make_series(&s, &rng, heads, 0.05 + 0.1 * rng_double(&rng), 0.0, true);
			if (2.2 * s.cycle > WINDOWS || s.cycle < 2.2 * (double)windows)
				continue;
			for (size_t w = 0; w < WINDOWS; w++)
				s.z[w] += noise * rng_normal(&rng);
			if (!found(&s, &c) || fabs(c.lag / s.cycle - 1.0) > 0.04)
				continue;
			square += pow(missed_by(&s, windows, noise, &rng), 2.0);
			told += c.missed_var[windows];
			n++;
		}
		print_message("%.1f windows a surface, %.0f cycles: missed %.3f %%, told %.3f %%\n", parts[k], n,
		              100.0 * sqrt(square / n), 100.0 * sqrt(told / n));
		assert_true(n >= 30.0);
		assert_true(told > 0.8 * square && told < 4.0 * square);
	}
}

#define CYCLES 40 /* places */

/* Of two zones, whose last place is slower by a step that its own error explains (of three cycles it was read in one:
 * 693447 of the wild disks), or does not. */
TEST(a_place_of_cycles_is_no_zone_within_its_own_error)
{
	struct zone_position positions[CYCLES] = { 0 };
	struct zone_layout l = {
		.end_bytes = CYCLES * 1000000000ull, .align_bytes = 512, .npositions = CYCLES, .positions = positions
	};
	struct zone_level v[CYCLES];
	struct zone_levels lv = { .v = v, .n = CYCLES, .has_cycles = true };
	const struct zone_samples none = { 0 };
	const struct zone_slows no_slows = { 0 };
	const struct zone_stretches no_stretches = { 0 };

	for (int is_exact = 0; is_exact < 2; is_exact++) {
		struct zone_bands bands;

		for (size_t p = 0; p < CYCLES; p++)
			v[p] = (struct zone_level){ .n = 3,
				                    .first_bytes = p * 1000000000ull,
				                    .end_bytes = p * 1000000000ull + 50000000u,
				                    .y = p < CYCLES / 2 ? 3.0 : 3.05,
				                    .half = 0.005,
				                    .noise_half = 0.005,
				                    .is_cycle = true };
		v[CYCLES - 1].y += 0.025;
		v[CYCLES - 1].half = v[CYCLES - 1].noise_half = is_exact ? 0.005 : 0.03;
		zone_bands_find(&none, &l, &lv, &no_slows, &no_stretches, &bands);
		assert_int_equal(bands.n, 2);
		assert_true(bands.is_least); /* a single place may be a stray, or a zone */
		free(bands.v);
	}
}

/* ---- drives ---- */

struct worth {
	struct tally figures, mean, places;
	size_t runs, told, edges, found, said, false_ones;
	double most_s;
};

static void add(struct tally *t, double truth, double estimate, struct interval ci)
{
	tally_add(t, estimate / truth - 1.0, (struct interval){ ci.low / truth - 1.0, ci.high / truth - 1.0 }, 0.0);
}

static void add_rows(struct tally *to, const struct sim_run *run, const char *name)
{
	const struct table *t = result_find_table(run->res, name);

	for (size_t r = 0; r < t->nrows; r++)
		add(to,
		    truth_rate(geometry_of(run), (uint64_t)number(t, r, "first_byte"),
		               (uint64_t)number(t, r, "last_byte") + 1),
		    number(t, r, "rate_bytes_per_s"), (struct interval){ number(t, r, "low"), number(t, r, "high") });
}

static void add_edges(struct worth *to, const struct sim_run *run)
{
	const struct table *bands = result_find_table(run->res, "bands");
	struct truth_zone z[PROFILE_ZONES_MAX];
	size_t n = truth_zones(geometry_of(run), z, PROFILE_ZONES_MAX);
	double spacing = (double)geometry_bytes(geometry_of(run)) / 63.0;

	for (size_t r = 1; r < bands->nrows; r++) {
		double nearest = INFINITY, at = number(bands, r, "first_byte");

		for (size_t i = 1; i < n; i++)
			nearest = fmin(nearest, fabs(at - (double)z[i].first_byte));
		to->said++;
		to->false_ones += nearest > spacing + number(bands, r, "edge_half_bytes");
	}
	for (size_t i = 1; i < n; i++) {
		double nearest = INFINITY;

		for (size_t r = 1; r < bands->nrows; r++)
			nearest = fmin(nearest, fabs(number(bands, r, "first_byte") - (double)z[i].first_byte));
		to->edges++;
		to->found += nearest <= spacing;
	}
}

static void add_run(struct worth *to, const struct sim_run *run)
{
	const struct figure *mean = result_find_figure(run->res, "mean_bytes_per_s");

	to->runs++;
	to->told += result_has_notice(run->res, "cycles");
	to->most_s = fmax(to->most_s, (double)sim_elapsed_ns(run->sim) * 1e-9);
	add_rows(&to->figures, run, "spots");
	add_rows(&to->places, run, "curve");
	add(&to->mean, truth_harmonic_mean(geometry_of(run)), figure_number(mean), mean->ci);
	if (!result_has_notice(run->res, "surfaces"))
		add_edges(to, run);
}

static void print_worth(const struct worth *w, const char *what)
{
	print_message(
		"%s: cycles told of %zu of %zu, edges found %zu of %zu, bands at none %zu of %zu, at most %.0f s\n",
		what, w->told, w->runs, w->found, w->edges, w->false_ones, w->said, w->most_s);
	tally_print(&w->figures, "  start, middle and end", 0.01, "%");
	tally_print(&w->mean, "  mean", 0.01, "%");
	tally_print(&w->places, "  places of the curve", 0.01, "%");
}

#define ZONES 14

/* A drive of 300 GB and so many surfaces; a cycle over them is so many samples (8.6 MB) long where it begins. */
static struct sim_run variant(struct rng *rng, uint64_t seed, size_t heads, double spread, double samples)
{
	char text[8192], words[32];
	double part[16], track = 1100.0 * 512.0, band = fmax(round(samples * 8.6e6 / track / (double)heads), 2.0);
	bool is_to_and_fro = rng_below(rng, 2);
	struct err err = { 0 };
	struct sim_run run;
	cleanup_profile struct profile p = { 0 };
	size_t n = 0;

	for (size_t h = 0; h < heads; h++)
		part[h] = 1.0 - spread * (h < 2 ? (double)h : rng_double(rng));
	n = (size_t)snprintf(text, sizeof(text),
	                     "rpm 10000\nreported_rpm 10000\nsurfaces %zu\nqueue_depth 32\noverhead_ms 0.1\n"
	                     "head_switch_ms 0.3\ninterface_mbs 320\ncache_kb 16384\nsegments 16\nskew_scatter 4\n"
	                     "seek 0.5 0.02\nlayout seek-first %.0f serpentine%s\n",
	                     heads, band, is_to_and_fro ? " alternating" : "");
	for (size_t z = 0; z < ZONES; z++) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "zone %.0f",
		                      round(300e9 / ZONES / (double)heads / (track * (1.0 - 0.035 * (double)z))));
		for (size_t h = 0; h < heads; h++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " %.0f",
			                      round(1100.0 * part[h] * (1.0 - 0.035 * (double)z)));
		n += (size_t)snprintf(text + n, sizeof(text) - n, "\n");
	}
	if (profile_parse(&p, "variant", text, n, &err) < 0)
		fail_msg("%s", err.text);
	p.jitter_us = JITTER_US;
	p.retry_per_gb = RETRY_PER_GB;
	p.seed = seed;
	assert_int_equal(profile_finish(&p, &err), 0);
	(void)snprintf(words, sizeof(words), "--seed=%d sda", (int)seed);
	run = zones_on(&p, words);
	run.words = NULL;
	return run;
}

TEST(of_drives_whose_surfaces_differ_the_intervals_hold_and_bands_are_zones)
{
	static const size_t heads[] = { 2, 4, 8, 16 };
	static const double spreads[] = { 0.03, 0.08, 0.15 }, samples[] = { 1.0, 5.0, 15.0, 30.0 };
	struct worth all = { 0 };
	size_t longer = 0;
	struct rng rng;

	rng_init(&rng, 73, 0);
	for (size_t k = 0; k < runs(24); k++) {
		cleanup_run struct sim_run run = variant(&rng, k + 1, heads[k % 4], spreads[k % 3], samples[k / 4 % 4]);

		longer += samples[k / 4 % 4] > 1.0;
		add_run(&all, &run);
		print_message("%2zu heads, %2.0f %%, %2.0f samples: %s %3.0f s\n", heads[k % 4], 100.0 * spreads[k % 3],
		              samples[k / 4 % 4], result_has_notice(run.res, "cycles") ? "cycles" : "-     ",
		              (double)sim_elapsed_ns(run.sim) * 1e-9);
	}
	print_worth(&all, "surfaces that differ");
	assert_true(2 * all.told >= longer); /* with sanitizers only the first few, and no longer ones */
	assert_true(tally_is_covered(&all.figures));
	assert_true(tally_is_covered(&all.mean));
	assert_true(tally_is_covered(&all.places));
	assert_true(50 * all.false_ones <= all.said);
	assert_true(all.most_s < 112.0);
}

TEST(of_drives_whose_surfaces_are_alike_no_cycle_is_told_and_none_is_looked_for)
{
	static const size_t heads[] = { 2, 4, 8, 16 };
	struct worth all = { 0 };
	struct rng rng;

	rng_init(&rng, 74, 0);
	for (size_t k = 0; k < runs(8); k++) {
		cleanup_run struct sim_run run = variant(&rng, k + 1, heads[k % 4], 0.0, 10.0);
		const struct table *t = result_find_table(run.res, "samples");
		int kind = table_column(t, "kind");

		for (size_t r = 0; r < t->nrows; r++)
			assert_string_not_equal(table_string(t, r, (size_t)kind), "look");
		add_run(&all, &run);
	}
	print_worth(&all, "surfaces that are alike");
	assert_int_equal(all.told, 0);
}

/* The layout of a real drive: sixteen zones, steps of 2 to 8 %, heads 9 to 14 % apart. */
TEST(the_maxtor_s_places_are_of_all_its_heads_and_its_zones_are_found)
{
	struct worth all = { 0 };

	for (uint64_t seed = 1; seed <= runs(6); seed++) {
		struct err err = { 0 };
		struct sim_run run;
		PROFILE(p, "maxtor300g");

		p.jitter_us = JITTER_US;
		p.retry_per_gb = RETRY_PER_GB;
		p.seed = seed;
		assert_int_equal(profile_finish(&p, &err), 0);
		run = zones_seeded(&p, seed);
		add_run(&all, &run);
		sim_run_end(&run);
	}
	print_worth(&all, "maxtor300g");
	assert_true(10 * all.told >= 9 * all.runs);
	assert_true(tally_is_covered(&all.figures));
	assert_true(tally_is_covered(&all.mean));
	assert_true(tally_is_covered(&all.places));
	assert_true(tally_rms(&all.figures) < 0.005);
	assert_true(10 * all.found >= 9 * all.edges);
	assert_int_equal(all.false_ones, 0);
	assert_true(tally_rms(&all.places) < 0.007);
	assert_true(all.most_s < 75.0);
}
