/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What holds of every disk of the model, of whatever it is made: for each law a table of disks. */
#include "test.h"

#include "modelrun.h"

#define CYL   (1000ull * 512) /* bytes of a cylinder of RUN_ZONE */
#define WHOLE RUN_BASE "zero_latency yes\nzone 1000 400\n"
#define FLAWS RUN_BASE DEFECTS "zone 500 500\nzone 500 400\n"
#define LATE                                                                                                    \
	"rpm 7200\nsurfaces 4\ncache_kb 0\nqueue_depth 1\noverhead_ms 0.3\nseek 0.5 0.02\nhead_switch_ms 0.4\n" \
	"interface_mbs 8\nrestart_ms 1.2\nread_watermark 0.7\nspare 5 8\nzone 2000 300\nzone 1000 200\n"

static const struct {
	const char *text;
	uint32_t len;
	uint64_t span; /* 0: all of it */
} reads[] = {
	{ WHOLE, 8 * 512, 0 },
	{ WHOLE, 100 * 512, 0 },
	{ WHOLE, 400 * 512, 0 },
	{ LATE, 16384, 0 },
	{ FLAWS, 4096, 0 },
	{ FLAWS, 4096, 300000000 },
	{ DISK "cache_kb 0\narms halves\n" ZONES, 4096, 0 },
	{ DISK "cache_kb 0\narms interleaved\narm_stripe_kb 64\n" ZONES, 4096, 0 },
	{ DISK "cache_kb 0\narms joined\njoined_density 1.5\n" ZONES, 4096, 0 },
	{ RUN_BASE UNRULY RUN_ZONE, 4096, 0 },
	{ RUN_BASE
	  "overhead_scatter 0.05 0.05 0.2\ncompletion_scatter 0.02\nhead_switch_scatter 0.1 0.1 0.4\n" RUN_ZONE,
	  4096, 2 * CYL },
};

TEST(random_reads_take_what_the_truth_says)
{
	const double n = 40000;

	for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
		uint64_t len = reads[i].len, at = 0, blocks;
		double sum = 0, sum2 = 0;
		struct truth_random truth;
		struct rng rng;
		MODEL(r, reads[i].text);

		blocks = (reads[i].span ? reads[i].span : disk_size_bytes(r.d, 0)) / len;
		truth_random(disk_geometry(r.d), 0, blocks * len, (uint32_t)len, &truth);
		rng_init(&rng, i, 3);
		for (int k = 0; k < (int)n; k++) {
			at = (at + 1 + rng_below(&rng, blocks - 1)) % blocks; /* another one than before */
			(void)run_one(&r, DISK_READ, at * len, (uint32_t)len, NULL);
			sum += run_took(&r) / n;
			sum2 += run_took(&r) * run_took(&r) / n;
		}
		if (fabs(sum - truth.service_ns) > 5 * sqrt((sum2 - sum * sum) / n) + 2000)
			fail_msg("%zu: %.0f ns, truth %.0f", i, sum, truth.service_ns);
		assert_true(fabs(truth.service_ns - truth.overhead_ns - truth.move_ns - truth.latency_ns -
		                 truth.transfer_ns - truth.done_ns) < 1);
	}
}

#define TRACKS 4000 /* with whatever is spare */
#define MOST   520  /* sectors of one */

TEST(every_sector_has_a_place_of_its_own)
{
	static const struct {
		const char *text;
		size_t remapped;
	} disks[] = {
		{ RUN_BASE "layout head-first\n" DEFECTS "zone 500 500\nzone 300 400 300\n", 200 },
		{ RUN_BASE "layout seek-first 30 serpentine alternating\n" DEFECTS "zone 500 500\nzone 300 400 300\n",
		  200 },
		{ DISK "arms halves\n" ZONES, 0 },
		{ DISK "arms interleaved\narm_stripe_kb 64\n" ZONES, 0 },
	};

	for (size_t k = 0; k < ARRAY_LEN(disks); k++) {
		cleanup_free uint8_t *seen = calloc(TRACKS, MOST);
		const struct geometry *g;
		size_t elsewhere = 0;
		MODEL(r, disks[k].text);

		g = disk_geometry(r.d);
		for (uint64_t i = 0; i < geometry_sectors(g); i++) {
			struct place p, next;
			size_t at;

			geometry_place(g, i, &p);
			assert_true(p.sector_number == i && p.run >= 1 && p.sector + p.run <= p.spt);
			at = ((size_t)p.cylinder * r.p.surfaces + p.surface) * MOST + p.sector;
			assert_true(at < (size_t)TRACKS * MOST && !seen[at]);
			seen[at] = 1;
			if (p.run > 1) {
				geometry_place(g, i + 1, &next);
				assert_true(next.track == p.track && next.sector == p.sector + 1);
			}
			elsewhere += !disks[k].remapped ? 0 : geometry_sector(g, p.cylinder, p.surface, p.sector) != i;
		}
		assert_in_range(elsewhere, disks[k].remapped * 19 / 20, disks[k].remapped);
		if (disks[k].remapped) /* what is slipped, and three spare tracks of each surface and zone */
			assert_true(fabs(500 * 1000 + 300 * 700 - (double)geometry_sectors(g) - 3000 * 2 - 3 * 850) <
			            600);
	}
}

#define CACHED                                                                                                      \
	"rpm 7200\nsurfaces 2\ncache_kb 2048\nqueue_depth 32\noverhead_ms 0.1\nseek 0.8 0.05\nhead_switch_ms 0.7\n" \
	"interface_mbs 1000\nphysical_sector 4096\nwrite_cache_kb 256\nwrite_start 0.1\nwrite_delay_ms 5\n"

/* Whatever is written and cleaned when, and though the power fails at the end. */
TEST(a_disk_holds_what_was_written)
{
	static const char *const disks[] = {
		DISK "bridge_kb 16\nwrite_cache_kb 256\n" ZONES,
		DISK "arms halves\nwrite_cache_kb 256\n" ZONES,
		DISK "arms interleaved\narm_stripe_kb 64\n" ZONES,
		DISK "arms joined\nwrite_cache_kb 256\n" ZONES,
		CACHED "zone 400 125\n",
		CACHED "media_cache_kb 65536 2000 0.9\nshingle_band_kb 4096\nmedia_cache_idle_ms 3\nzone 400 125\n",
		CACHED "media_cache_kb 1024 100\nmedia_cache_idle_ms 3\nzone 400 125\n"
	};
	const uint64_t n = 40000;
	cleanup_free unsigned char *shadow = malloc(n * 512), *buf = malloc(n * 512);

	for (size_t k = 0; k < ARRAY_LEN(disks); k++) {
		struct profile_range range[2];
		struct rng rng;
		uint64_t base;
		MODEL(r, disks[k]);

		(void)disk_access_ranges(r.d, range);
		/* Over the middle: of two ranges, of two disks that are alike, of one. */
		base = (k == 1 ? range[0].count - n / 2 : range[0].count / 2 - n / 2) / 8 * 8 * 512;
		assert_int_equal(disk_peek(r.d, base, n * 512, shadow), 0);
		rng_init(&rng, k, 2);
		for (int i = 0; i < 3000; i++) {
			uint64_t at = rng_below(&rng, n - 300), len = 1 + rng_below(&rng, i % 4 ? 16 : 300),
				 way = rng_below(&rng, 8);
			enum disk_op op = way == 0 ? DISK_FLUSH : way < 3 ? DISK_READ : DISK_WRITE;

			memset(buf, (int)rng_below(&rng, 256), len * 512);
			if (op == DISK_WRITE)
				memcpy(shadow + at * 512, buf, len * 512);
			assert_true(run_one(&r, op, base + at * 512, op == DISK_FLUSH ? 0 : (uint32_t)len * 512, buf)
			                    ->res >= 0);
			if (op == DISK_READ)
				assert_memory_equal(buf, shadow + at * 512, len * 512);
			r.now += rng_below(&rng, 50) ? 0 : 200000000;
			disk_advance(r.d, r.now);
		}
		(void)run_one(&r, DISK_FLUSH, 0, 0, NULL);
		disk_power_loss(r.d);
		assert_int_equal(disk_peek(r.d, base, n * 512, buf), 0);
		assert_memory_equal(buf, shadow, n * 512);
	}
}
