/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disks drawn as they occur: what few have does occur, and the truth of a drawn disk is what it does. */
#include "test.h"

#include "modelrun.h"
#include "wild.h"

#define DRAWN 300

/* Short zones in which some surfaces have the next zone's tracks already. */
static bool has_shifted_edges(const struct profile *p)
{
	size_t n = 0;

	for (size_t i = 1; i + 1 < p->nzones; i++) {
		const struct profile_zone *z = &p->zones[i];
		bool is_early = false, is_late = false;

		for (uint32_t s = 0; s < p->surfaces; s++) {
			is_early = is_early || (z->spt[s] == z[1].spt[s] && z->spt[s] != z[-1].spt[s]);
			is_late = is_late || (z->spt[s] == z[-1].spt[s] && z->spt[s] != z[1].spt[s]);
		}
		n += is_early && is_late;
	}
	return n >= 3;
}

/* The ratio of two surfaces is not the same all over the disk, beyond rounding. */
static bool has_unrelated_densities(const struct profile *p)
{
	double least = (double)INFINITY, most = 0;

	for (size_t i = 0; p->surfaces > 1 && i < p->nzones; i++) {
		double ratio = (double)p->zones[i].spt[1] / p->zones[i].spt[0];

		least = fmin(least, ratio);
		most = fmax(most, ratio);
	}
	return most / least > 1.02;
}

TEST(what_few_disks_have_is_drawn_and_most_have_none_of_it)
{
	enum {
		EDGES,
		DENSITIES,
		SPARE_TRACKS,
		REMAPPED,
		SPARES,
		NO_AHEAD,
		SEQUENTIAL,
		DROPS,
		FORGETS,
		SEGMENTS,
		STANDBY,
		RESTART,
		KINDS
	};
	size_t n[KINDS] = { 0 }, rotating = 0;

	for (uint64_t seed = 1; seed <= DRAWN; seed++) {
		struct err err = { 0 };
		cleanup_profile struct profile p = { 0 };

		if (profile_wild(&p, seed, seed % 3 ? NULL : "old-scsi", &err) < 0)
			fail_msg("seed %d: %s", (int)seed, err.text);
		rotating += p.kind == DISK_ROTATING;
		n[EDGES] += has_shifted_edges(&p);
		n[DENSITIES] += has_unrelated_densities(&p);
		n[SPARE_TRACKS] += p.media.spare_tracks > 0;
		n[REMAPPED] += p.media.remapped > 0;
		n[SPARES] += p.nzones && p.zones[0].spare_sectors > 0;
		n[NO_AHEAD] += p.kind == DISK_ROTATING && !p.cache.read_ahead;
		n[SEQUENTIAL] += p.cache.ahead_when == AHEAD_SEQUENTIAL;
		n[DROPS] += p.cache.drops_read;
		n[FORGETS] += p.cache.write_forgets;
		n[SEGMENTS] += p.cache.segments > 256;
		n[STANDBY] += p.own.standby_after_s > 0;
		n[RESTART] += p.seek.restart_ms > 0;
	}
	for (size_t i = 0; i < KINDS; i++)
		if (n[i] < 2 || n[i] > rotating / 3)
			fail_msg("trait %zu: %zu of %zu disks", i, n[i], rotating);
}

/* Of 24 TB on one surface, more cylinders than a profile may have. */
TEST(a_disk_of_many_cylinders_is_drawn_as_well)
{
	cleanup_profile struct profile p = { 0 };

	MUST(profile_wild(&p, 437027, NULL, &err));
	assert_string_equal(p.name, "wild-bridge-437027");
}

/* Whatever the laws, it is a disk of about that size, on which farther is not sooner. */
TEST(disks_of_other_laws_are_disks)
{
	for (uint64_t seed = 1; seed <= DRAWN; seed++) {
		enum wild_laws laws = LAWS_OTHER + seed % 3;
		cleanup_profile struct profile p = { 0 };
		uint64_t size;

		MUST(profile_wild(&p, seed, NULL, &err));
		size = p.capacity_lba;
		MUST(profile_vary(&p, laws, seed, &err));
		assert_true(p.capacity_lba > size / 2 && p.capacity_lba < size * 2);
		for (size_t i = 1; laws == LAWS_FREE && i < p.seek.npoints; i++)
			assert_true(p.seek.points[i].ms >= p.seek.points[i - 1].ms);
	}
}

/* Read in one piece across the begin of a zone, without noise: to the nanosecond the truth's time. */
TEST(a_drawn_disk_streams_over_its_edges_as_the_truth_says)
{
	static const char *const classes[] = { "nearline", "desktop", "old-scsi", "enterprise" };
	static struct truth_zone z[PROFILE_ZONES_MAX];
	size_t edges = 0;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		cleanup_model struct run r = { 0 };
		struct err err = { 0 };
		size_t n;

		if (profile_wild(&r.p, seed, classes[seed % 4], &err) < 0)
			fail_msg("seed %d: %s", (int)seed, err.text);
		r.p.media.weak_share = r.p.noise.retry_per_gb = r.p.own.recalibrate_s = r.p.own.scan_after_s = 0;
		r.p.cache.is_zero_latency = 0;
		if (profile_add_noise(&r.p, WILD_NOISE_NONE, seed, &err) < 0)
			fail_msg("seed %d: %s", (int)seed, err.text);
		r.d = disk_new(&r.p, 0);
		assert_non_null(r.d);
		n = truth_list_zones(disk_geometry(r.d), false, z, PROFILE_ZONES_MAX);
		edges += has_shifted_edges(&r.p);
		for (size_t i = 1; i < n && i < 12; i++) {
			uint64_t half = 1 << 20, sector = r.p.physical_sector_bytes;
			uint64_t first = z[i].first_byte > half ? (z[i].first_byte - half) / sector * sector : 0,
				 end = z[i].first_byte + half;
			double want = truth_stream_ns(disk_geometry(r.d), first, end);

			(void)run_one(&r, DISK_READ, first, (uint32_t)(end - first), NULL);
			if (fabs(r.done.transfer_ns / want - 1) > 1e-6)
				fail_msg("seed %d, zone %zu: %.0f ns, truth %.0f", (int)seed, i, r.done.transfer_ns,
				         want);
		}
	}
	assert_true(edges >= 3);
}
