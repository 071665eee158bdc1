/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `zones` on drives of 2 to 16 surfaces that differ in density by 3 to 15 % and come by in 1 to 300 samples:
 * neighbouring places lie on the same ones, or not. */
#include "test.h"

#include "zonesrun.h"

struct worth {
	struct tally figures, mean, places;
	size_t runs, edges, found, said, false_ones;
	double most_s;
};

static void add_rows(struct tally *to, const struct sim_run *run, const char *name)
{
	const struct table *t = result_find_table(run->res, name);

	for (size_t r = 0; r < t->nrows; r++)
		tally_row(to, run, t, r);
}

static void add_edges(struct worth *to, const struct sim_run *run)
{
	const struct table *bands = result_find_table(run->res, "bands");
	struct truth_zone z[PROFILE_ZONES_MAX];
	size_t n = truth_zones(geometry_of(run), z, PROFILE_ZONES_MAX);
	double spacing = (double)geometry_bytes(geometry_of(run)) / 63.0;

	for (size_t r = 1; r < bands->nrows; r++) {
		to->said++;
		to->false_ones +=
			to_zone(z, n, number(bands, r, "first_byte")) > spacing + number(bands, r, "edge_half_bytes");
	}
	for (size_t i = 1; i < n; i++) {
		to->edges++;
		to->found += to_band(bands, (double)z[i].first_byte) <= spacing;
	}
}

static void add_run(struct worth *to, const struct sim_run *run)
{
	const struct figure *mean = result_find_figure(run->res, "mean_bytes_per_s");

	to->runs++;
	to->most_s = fmax(to->most_s, (double)sim_elapsed_ns(run->sim) * 1e-9);
	add_rows(&to->figures, run, "spots");
	add_rows(&to->places, run, "curve");
	tally_add_ratio(&to->mean, figure_number(mean), mean->ci, truth_harmonic_mean(geometry_of(run)));
	add_edges(to, run);
}

static void print_worth(const struct worth *w, const char *what)
{
	print_message("%s: %zu runs, edges found %zu of %zu, bands at none %zu of %zu, at most %.0f s\n", what, w->runs,
	              w->found, w->edges, w->false_ones, w->said, w->most_s);
	tally_print(&w->figures, "  start, middle and end", 0.01, "%");
	tally_print(&w->mean, "  mean", 0.01, "%");
	tally_print(&w->places, "  places of the curve", 0.01, "%");
}

#define ZONES 14

/* A drive of 300 GB and so many surfaces; all of them come by in so many samples (8.6 MB) where it begins. */
static struct sim_run variant(struct rng *rng, uint64_t seed, size_t heads, double spread, double samples)
{
	char text[8192], words[32];
	double part[16], track = 1100.0 * 512.0, band = fmax(round(samples * 8.6e6 / track / (double)heads), 2.0);
	bool is_to_and_fro = rng_below(rng, 2);
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
	MUST(profile_parse(&p, "variant", text, n, &err));
	p.noise.jitter_us = JITTER_US;
	p.noise.retry_per_gb = RETRY_PER_GB;
	p.seed = seed;
	MUST(profile_finish(&p, &err));
	(void)snprintf(words, sizeof(words), "--seed=%d sda", (int)seed);
	run = zones_on(&p, words);
	run.words = NULL;
	return run;
}

TEST(of_drives_whose_surfaces_differ_the_intervals_hold_and_bands_are_zones)
{
	static const size_t heads[] = { 2, 4, 8, 16 };
	static const double spreads[] = { 0.03, 0.08, 0.15 }, samples[] = { 1.0, 5.0, 30.0, 300.0, 3000.0 };
	struct worth all = { 0 };
	size_t as_zones = 0, as_zones_false = 0; /* a surface of 3000 samples is longer than a zone (21 GB) */
	struct rng rng;

	rng_init(&rng, 73, 0);
	for (size_t k = 0; k < runs(30); k++) {
		cleanup_run struct sim_run run = variant(&rng, k + 1, heads[k % 4], spreads[k % 3], samples[k % 5]);
		struct worth before = all;

		add_run(&all, &run);
		as_zones += samples[k % 5] == 3000.0 ? all.said - before.said : 0;
		as_zones_false += samples[k % 5] == 3000.0 ? all.false_ones - before.false_ones : 0;
	}
	print_worth(&all, "surfaces that differ");
	assert_true(all.said > 0);
	assert_true(tally_is_covered(&all.figures));
	assert_true(tally_is_covered(&all.mean));
	assert_true(tally_is_covered(&all.places));
	assert_true(50 * (all.false_ones - as_zones_false) <= all.said - as_zones);
	assert_true(3 * as_zones_false <= as_zones); /* rates fall there by turns, and nothing else tells them apart */
	assert_true(all.most_s < 112.0);
}
