/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What geometry reports of a disk's heads is true, sector by sector. PLATTER_LONG=1: more drives, and 60 wild disks. */
#include "test.h"

#include "ran.h"

extern const struct measure measure_geometry;

#define GEO_HEADS 32

/* The surface that the table has all of [first, end) on; -1: on several, or none. */
static int head_at(const struct table *t, uint64_t first, uint64_t end)
{
	for (size_t i = 0; i < t->nrows; i++) {
		double every = number(t, i, "every_bytes"), length = number(t, i, "length_bytes"),
		       off = (double)first - number(t, i, "first_byte"), turn = isnan(every) ? 0.0 : floor(off / every);

		off -= turn > 0.0 ? turn * every : 0.0;
		if (off >= 0.0 && turn < number(t, i, "times") && off < length)
			return (double)(end - first) <= length - off ? (int)number(t, i, "surface") : -1;
	}
	return -1;
}

/*
 * Places at random: how many are reported, and how many of these are not on the surface that most of that name are on.
 * false: the document does not report what the heads have.
 */
static bool check_heads(const struct profile *p, size_t *ret_told, size_t *ret_wrong)
{
	static uint32_t seen[GEO_HEADS][PROFILE_SURFACES_MAX];
	cleanup_run struct sim_run run = ran_on(&measure_geometry, p, "sda");
	const struct table *t = result_find_table(run.res, "heads");
	struct sim_disk *sd = sim_find(run.sim, "sda");
	struct rng rng;

	memset(seen, 0, sizeof(seen));
	*ret_told = *ret_wrong = 0;
	rng_init(&rng, 1, 1);
	for (int i = 0; i < 20000 && t && t->nrows; i++) {
		uint64_t size = p->physical_sector_bytes, sector = rng_below(&rng, sim_device(sd)->size_bytes / size);
		int head = head_at(t, sector * size, (sector + 1) * size);
		struct place place;

		if (head < 0)
			continue;
		geometry_place(disk_geometry(sim_model(sd)), sector, &place);
		seen[head][place.surface]++;
		++*ret_told;
	}
	for (size_t i = 0; i < GEO_HEADS; i++) {
		size_t most = 0, all = 0;

		for (size_t k = 0; k < PROFILE_SURFACES_MAX; k++) {
			most = seen[i][k] > most ? seen[i][k] : most;
			all += seen[i][k];
		}
		*ret_wrong += all - most;
	}
	return t && t->nrows;
}

TEST(geometry_reports_which_surface_each_sector_is_on)
{
	static const char *const disks[] = { "quantum-fireball-tm2110a", "samsung-hd103sj", "modern-4tb",
		                             "ibm-deskstar-60gxp" };
	size_t n = getenv("PLATTER_LONG") ? ARRAY_LEN(disks) : TALLY_DRIVES(2);

	for (size_t i = 0; i < n; i++) {
		size_t reported, wrong;
		PROFILE(p, disks[i]);

		assert_true(check_heads(&p, &reported, &wrong));
		print_message("%s: %zu of 20000 reported, %zu wrong\n", p.name, reported, wrong);
		assert_true(reported > 19900);
		assert_int_equal(wrong, 0);
	}
}

/* Where geometry reports heads of a disk with defects, moved sectors and noise: true, but for places beside tracks that
 * it took for others. */
TEST(heads_of_wild_disks_are_true)
{
	size_t disks = 0, all = 0, bad = 0;

	for (uint64_t seed = 5001; seed < 5061; seed++) {
		size_t reported, wrong;
		DRAWN(p, seed, NULL);

		if (!getenv("PLATTER_LONG") && seed != 5013 && seed != 5043)
			continue; /* geometry knows the heads of few: of these */
		if (p.kind == DISK_ROTATING && check_heads(&p, &reported, &wrong)) {
			print_message("%s: %zu of 20000 reported, %zu wrong\n", p.name, reported, wrong);
			disks++;
			all += reported;
			bad += wrong;
		}
	}
	print_message("%zu disks: %zu places reported, %zu wrong\n", disks, all, bad);
	assert_true(disks > 0 && bad * 1000 <= all);
}
