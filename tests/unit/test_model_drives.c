/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the traces of real drives asked of the model: overhead of writes, restarts of the servo, late
 * transfers, spares. */
#include "test.h"

#include "modelrun.h"

#define PERIOD_NS (60e9 / 7200)

#define CACHED                                                                                                     \
	"rpm 7200\nsurfaces 2\ncache_kb 1024\nsegments 4\nqueue_depth 32\noverhead_ms 0.1\nhit_overhead_ms 0.02\n" \
	"seek 0.8 0.05\nhead_switch_ms 0.7\ninterface_mbs 100\n"

static const uint64_t far = 200000ull * 512;

TEST(writes_have_an_overhead_of_their_own)
{
	double plain;
	MODEL(r, RUN_BASE RUN_ZONE);

	(void)run_one(&r, DISK_WRITE, far, 4096, NULL);
	plain = r.done.seek_ns;
	assert_true(fabs(run_took(&r) - (1e5 + r.done.seek_ns + r.done.latency_ns + 8 * PERIOD_NS / 500)) <= 2);
	run_free(&r);
	run_new(&r, RUN_BASE "write_overhead_ms 2.5\n" RUN_ZONE);
	(void)run_one(&r, DISK_WRITE, far, 4096, NULL);
	assert_true(r.done.seek_ns == plain);
	assert_true(fabs(run_took(&r) - (2.5e6 + r.done.seek_ns + r.done.latency_ns + 8 * PERIOD_NS / 500)) <= 2);
}

/* Behind the head on the same track: with a restart of 1.5 ms what comes by within that is a revolution late. */
TEST(overheads_of_writes_scatter_and_answers_take_their_way)
{
	double sum = 0, sq = 0, t, sd;
	struct truth_random with, without;
	const int n = 4000;
	MODEL(r, CACHED "write_cache_kb 65536\nwrite_overhead_ms 0.7\nwrite_overhead_scatter 0.05\n" RUN_ZONE);

	for (int i = 0; i < n; i++) { /* all into the cache */
		(void)run_one(&r, DISK_WRITE, (uint64_t)(i % 100) * 4096, 4096, NULL);
		t = run_took(&r) - 700000 - 40960;
		sum += t / n;
		sq += t * t / n;
	}
	sd = sqrt(sq - sum * sum);
	assert_true(fabs(sum) < 5 * 50000 / sqrt(n));
	assert_true(fabs(sd - 50000) < 5 * 50000 / sqrt(2.0 * n));
	run_free(&r);

	run_new(&r, RUN_BASE RUN_ZONE);
	truth_random(disk_geometry(r.d), 0, 100000000, 4096, &without);
	run_free(&r);
	run_new(&r, RUN_BASE "completion_ms 0.3\n" RUN_ZONE);
	truth_random(disk_geometry(r.d), 0, 100000000, 4096, &with);
	(void)run_one(&r, DISK_READ, far, 4096, NULL);
	assert_true(fabs((double)(r.done.done_ns - r.done.ideal_ns) - 300000) <= 1);
	assert_true(fabs(with.done_ns - without.done_ns - 300000) <= 1);
}

TEST(an_access_that_does_not_stream_takes_its_restart)
{
	struct run r;

	for (int restart = 0; restart < 2; restart++) {
		run_new(&r, restart ? RUN_BASE "restart_ms 1.5\n" RUN_ZONE : RUN_BASE RUN_ZONE);
		(void)run_one(&r, DISK_READ, 0, 512, NULL);
		/* Sector 61 begins 1 ms after the end of sector 0; 0.1 ms are the overhead. */
		(void)run_one(&r, DISK_READ, 61 * 512, 512, NULL);
		assert_true(fabs(run_took(&r) - 61 * PERIOD_NS / 500 - restart * PERIOD_NS) < 3);
		assert_true(r.done.seek_ns == (restart ? 1.5e6 : 0));
		/* A longer seek is not longer for it. */
		(void)run_one(&r, DISK_READ, far, 512, NULL);
		assert_true(r.done.seek_ns == geometry_seek_ns(disk_geometry(r.d), 200));
		run_free(&r);
	}
	/* A stream goes on without. */
	run_new(&r, CACHED "restart_ms 1.5\n" RUN_ZONE);
	(void)run_one(&r, DISK_READ, 0, 4096, NULL);
	(void)run_one(&r, DISK_READ, 4096, 4096, NULL);
	assert_int_equal(r.done.how, HOW_STREAM);
	assert_true(run_took(&r) < 0.5e6);
	run_free(&r);
}

TEST(the_transfer_waits_for_its_watermark)
{
	static const char *const texts[] = { RUN_BASE "interface_mbs 20\n" RUN_ZONE,
		                             RUN_BASE "interface_mbs 20\nread_watermark 0.5\n" RUN_ZONE,
		                             RUN_BASE "interface_mbs 20\nread_watermark 1\n" RUN_ZONE };

	for (int i = 0; i < 3; i++) {
		double media = 100 * PERIOD_NS / 500, interface = 100 * 512 / 20e6 * 1e9;
		MODEL(r, texts[i]);

		(void)run_one(&r, DISK_READ, far, 100 * 512, NULL);
		assert_true(interface > media);
		assert_true(fabs(run_took(&r) -
		                 (1e5 + r.done.seek_ns + r.done.latency_ns + 0.5 * i * media + interface)) <= 2);
	}
}

/* ---- spares ---- */

static void same_places(const char *a, const char *b)
{
	struct run x, y;
	uint64_t n;

	run_new(&x, a);
	run_new(&y, b);
	n = geometry_sectors(disk_geometry(x.d));
	assert_int_equal(n, geometry_sectors(disk_geometry(y.d)));
	for (uint64_t i = 0; i < n; i++) {
		struct place p, q;

		geometry_place(disk_geometry(x.d), i, &p);
		geometry_place(disk_geometry(y.d), i, &q);
		if (p.cylinder != q.cylinder || p.surface != q.surface || p.sector != q.sector || p.run != q.run ||
		    p.angle != q.angle)
			fail_msg("sector %" PRIu64 ": %u/%u/%u and %u/%u/%u", i, p.cylinder, p.surface, p.sector,
			         q.cylinder, q.surface, q.sector);
		assert_int_equal(geometry_sector(disk_geometry(x.d), p.cylinder, p.surface, p.sector), i);
	}
	run_free(&x);
	run_free(&y);
}

TEST(spares_are_skips_at_the_ends_of_groups_of_tracks)
{
	/* Five tracks a group, the last group of the zone is one track; then none. */
	same_places("surfaces 2\nspare 3 5\nzone 3 20 10\nspare 0 0\nzone 2 8\n",
	            "surfaces 2\nzone 3 20 10\nzone 2 8\nskip 2 0 17\nskip 2 1 7\n");
	/* More than a track, on the way back of a serpentine. */
	same_places("surfaces 2\nlayout seek-first 2 serpentine\nspare 12 4\nzone 4 10\nskip 1 1 2 3\n",
	            "surfaces 2\nlayout seek-first 2 serpentine\nzone 4 10\nskip 1 1 2 3\n"
	            "skip 0 1\nskip 1 1 8\nskip 2 1\nskip 3 1 8\n");
	/* One at each track's end. */
	same_places("spare 1 1\nzone 3 7\n", "zone 3 7\nskip 0 0 6\nskip 1 0 6\nskip 2 0 6\n");
}
