/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often the 95 % intervals of `zones` contain the truth: many runs with noise on every profile. The truth of a place is that of the
 * bytes that its row of the curve names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simrun.h"
#include "tally.h"

extern const struct measure measure_zones;

static const char *const names[] = {
	"quantum-fireball-tm2110a", "ibm-deskstar-60gxp",   "maxtor-diamondmax-80", "seagate-medalist-st39140a",
	"seagate-cheetah-15k7",     "modern-4tb",           "samsung-hd103sj",      "toshiba-x300",
	"tiny",
};

static void load(struct profile *p, const char *name)
{
	char path[512];
	struct err err = { 0 };

	(void)snprintf(path, sizeof(path), SIMDISK_PROFILES "/%s.disk", name);
	if (profile_load(p, path, &err) < 0)
		fail_msg("%s", err.text);
}


struct tallies {
	struct tally start, middle, end, mean, places;
};

static void add(struct tally *t, double truth, double estimate, struct interval ci)
{
	tally_add(t, estimate / truth - 1.0, (struct interval){ ci.low / truth - 1.0, ci.high / truth - 1.0 }, 0.0);
}

static void add_places(struct tally *t, const struct sim_run *run, const struct geometry *g)
{
	const struct table *c = result_find_table(run->res, "curve");
	int first = table_column(c, "first_byte"), last = table_column(c, "last_byte");
	int rate = table_column(c, "rate_bytes_per_s"), low = table_column(c, "low"), high = table_column(c, "high");

	for (size_t r = 0; r < c->nrows; r++) {
		double truth = truth_rate(g, (uint64_t)table_number(c, r, (size_t)first),
		                          (uint64_t)table_number(c, r, (size_t)last) + 1);

		if (getenv("V")) { double e = table_number(c, r, (size_t)rate)/truth-1, h = (table_number(c, r, (size_t)high)-table_number(c, r, (size_t)low))/2/truth;
			printf("%3zu err %+.4f half %.4f z %+.2f n %g %s first %.0f len %.0f  edge truth %+.4f\n", r, 100*e, 100*h, 2*e/h, table_number(c,r,(size_t)table_column(c,"samples")), table_string(c,r,(size_t)table_column(c,"state"))?:"", table_number(c,r,(size_t)first), table_number(c,r,(size_t)last)-table_number(c,r,(size_t)first), 100*(truth_rate_at(g, (uint64_t)table_number(c, r, (size_t)first))/truth_rate_at(g, (uint64_t)table_number(c, r, (size_t)last))-1)); }
		add(t, truth, table_number(c, r, (size_t)rate),
		    (struct interval){ table_number(c, r, (size_t)low), table_number(c, r, (size_t)high) });
	}
}

static void add_figures(struct tallies *t, const struct sim_run *run, const struct geometry *g)
{
	static const char *const figures[] = { "start_bytes_per_s", "middle_bytes_per_s", "end_bytes_per_s" };
	struct tally *const to[] = { &t->start, &t->middle, &t->end };
	const struct table *c = result_find_table(run->res, "spots");
	const struct figure *f;

	for (size_t i = 0; i < 3; i++) {
		f = result_find_figure(run->res, figures[i]);
		assert_string_equal(table_string(c, i, 0), i == 0 ? "start" : i == 1 ? "middle" : "end");
		add(to[i], truth_rate(g, (uint64_t)table_number(c, i, 1), (uint64_t)table_number(c, i, 2) + 1), figure_number(f),
		    f->ci);
	}
	f = result_find_figure(run->res, "mean_bytes_per_s");
	add(&t->mean, truth_harmonic_mean(g), figure_number(f), f->ci);
}

static void run_once(struct tallies *t, const char *name, uint64_t seed)
{
	struct sim_run run = { .sim = sim_new(), .m = &measure_zones };
	struct profile p;
	struct err err = { 0 };
	char words[64];

	load(&p, name);
	p.jitter_us = getenv("J") ? atof(getenv("J")) : 60;
	p.retry_per_gb = getenv("R") ? atof(getenv("R")) : 0.3;
	p.seed = seed;
	assert_int_equal(profile_finish(&p, &err), 0);
	(void)snprintf(words, sizeof(words), "--seed=%d %s sda", (int)seed + 1, getenv("W") ? getenv("W") : "");
	run.words = words;
	(void)sim_add_disk(run.sim, &p, "sda");
	sim_set_contents(run.sim, false);
	if (sim_run(&run) < 0)
		fail_msg("%s: %s", name, run.err.text);
	add_places(&t->places, &run, disk_geometry(sim_model(sim_find(run.sim, "sda"))));
	add_figures(t, &run, disk_geometry(sim_model(sim_find(run.sim, "sda"))));
	sim_run_done(&run);
	sim_free(run.sim);
	profile_done(&p);
}

static void the_intervals_hold_the_truth(void **state)
{
	struct tallies all[sizeof(names) / sizeof(names[0])] = { 0 };
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct tallies *t = &all[i];

		if (getenv("P") && !strstr(names[i], getenv("P"))) continue;
		for (uint64_t seed = 1; seed <= (getenv("N") ? (uint64_t)atoi(getenv("N")) : 10); seed++)
			run_once(t, names[i], seed);
		printf("%s\n", names[i]);
		tally_print(&t->start, "start", 0.01, "%");
		tally_print(&t->middle, "middle", 0.01, "%");
		tally_print(&t->end, "end", 0.01, "%");
		tally_print(&t->mean, "mean", 0.01, "%");
		tally_print(&t->places, "places", 0.01, "%");
	}
}

static void random_disks(void **state)
{
	struct tallies t = { 0 };
	size_t false_slow = 0, regions = 0, found = 0;
	(void)state;
	for (uint64_t seed = getenv("F") ? (uint64_t)atoi(getenv("F")) : 1; seed <= (getenv("M") ? (uint64_t)atoi(getenv("M")) : 60); seed++) {
		const struct profile_limits limits = { .max_bytes = getenv("B") ? strtoull(getenv("B"), 0, 10) : 100000000000u, .max_zones = 20, .slow_regions = getenv("S") ? (uint32_t)(seed % 4 + 1) : 0, .jitter_us = 50, .retry_per_gb = 0.2, .same_density = getenv("SD"), .no_serpentine = getenv("SD") };
		struct profile p;
		struct err err = { 0 };
		struct sim_run run = { .sim = sim_new(), .m = &measure_zones, .words = getenv("W") ? getenv("W") : "sda" };
		const struct table *c;
		const struct geometry *g;

		assert_int_equal(profile_random(&p, seed, &limits, &err), 0);
		(void)sim_add_disk(run.sim, &p, "sda");
		sim_set_contents(run.sim, false);
		if (sim_run(&run) < 0)
			fail_msg("%d: %s", (int)seed, run.err.text);
		g = disk_geometry(sim_model(sim_find(run.sim, "sda")));
		c = result_find_table(run.res, "slow_regions");
		if (getenv("S")) {
			struct truth_region tr[16];
			size_t n = truth_regions(g, tr, 16);
			const struct table *sm = result_find_table(run.res, "samples");
			int fb = table_column(sm, "counted_from_bytes"), eb = table_column(sm, "end_bytes");
			for (size_t i = 0; i < n; i++) {
				size_t in = 0, hit = 0;
				for (size_t k = 0; k < sm->nrows; k++)
					in += table_number(sm, k, (size_t)fb) >= (double)tr[i].first_byte && table_number(sm, k, (size_t)eb) <= (double)tr[i].end_byte;
				for (size_t k = 0; k < c->nrows; k++)
					hit += table_number(c, k, 0) < (double)tr[i].end_byte && table_number(c, k, 1) >= (double)tr[i].first_byte;
				if (!in) continue;
				regions++;
				if (hit) { found++; continue; }
				printf("seed %d missed %.3f..%.3f GB of %.3f: ratio %.3f samples in %zu\n", (int)seed, (double)tr[i].first_byte/1e9, (double)tr[i].end_byte/1e9, (double)geometry_bytes(g)/1e9, tr[i].rate_bytes_per_s/truth_rate_at(g, tr[i].first_byte), in);
			}
			for (size_t k = 0; k < c->nrows; k++) {
				size_t hit = 0;
				for (size_t i = 0; i < n; i++)
					hit += table_number(c, k, 0) < (double)tr[i].end_byte && table_number(c, k, 1) >= (double)tr[i].first_byte;
				if (!hit) { false_slow++; printf("seed %d FALSE %.3f..%.3f\n", (int)seed, table_number(c,k,0)/1e9, table_number(c,k,1)/1e9); }
			}
		} else
		if (c->nrows) {
			false_slow++;
			printf("seed %d: %d bytes %.1f GB surfaces %d zones %d band %d:", (int)seed, (int)c->nrows, geometry_bytes(g)/1e9, (int)p.surfaces, (int)p.nzones, (int)p.zones[0].band_tracks);
			for (size_t i = 0; i < c->nrows && i < 3; i++) printf(" %.3f..%.3f GB ratio %.3f (true: %.3f around: %.3f zone %.3f skips %d) n %g", table_number(c,i,0)/1e9, table_number(c,i,1)/1e9, table_number(c,i,4), truth_rate(g,(uint64_t)table_number(c,i,0),(uint64_t)table_number(c,i,1)+1)/table_number(c,i,3), truth_rate(g,(uint64_t)table_number(c,i,0)-100000000,(uint64_t)table_number(c,i,1)+100000001)/table_number(c,i,3), truth_rate_at(g,(uint64_t)table_number(c,i,0))/table_number(c,i,3),(int)p.nskips, table_number(c,i,5));
			printf("\n");
		}
		{ double e = figure_number(result_find_figure(run.res, "mean_bytes_per_s")) / truth_harmonic_mean(g) - 1;
		if (fabs(e) > 0.01) { printf("seed %d mean %+.2f %% cache %ld segs %d qd %d phys %d interface %.0f rate %.0f\n", (int)seed, 100*e, (long)p.cache_bytes, (int)p.segments, (int)p.queue_depth, (int)p.physical_sector_bytes, p.interface_bytes_per_s/1e6, truth_harmonic_mean(g)/1e6); sim_run_done(&run); continue; } }
		add_places(&t.places, &run, g);
		add_figures(&t, &run, g);
		sim_run_done(&run);
		sim_free(run.sim);
		profile_done(&p);
	}
	tally_print(&t.start, "start", 0.01, "%");
	tally_print(&t.middle, "middle", 0.01, "%");
	tally_print(&t.end, "end", 0.01, "%");
	tally_print(&t.mean, "mean", 0.01, "%");
	tally_print(&t.places, "places", 0.01, "%");
	printf("false slow disks %zu, regions %zu found %zu\n", false_slow, regions, found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_intervals_hold_the_truth),
		cmocka_unit_test(random_disks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
