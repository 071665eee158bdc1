/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `zones` on drives behind USB storage: the host cuts what is larger than 120 KiB, and one piece is under way at a
 * time. Between two requests a drive may lose a revolution, and a request that is a little larger than a piece ends in
 * one that is very small.
 */
#include "test.h"

#include "measure/zones/zones.h"
#include "wild.h"
#include "zonesrun.h"

#define PIECE_BYTES (120u << 10)

#define SEEDS  20
#define FASTER 1.03 /* than in requests that are cut; of the places' intervals few are wider */
#define FASTER_MIN \
	4 /* of the drives: so many of these twenty lose revolutions to small pieces; others wait for the link */
#define SLOWER_MOST 0.01 /* requests of 1 MiB and of 960 KiB: what each costs differs by as much */

/* The mean of a drawn drive behind such a bridge, and how large a request was. */
static double mean_of(uint64_t seed, uint64_t reported_bytes, double *ret_request)
{
	cleanup_run struct sim_run run = { 0 };
	double mean;
	DRAWN(p, seed, "bridge");

	p.path.bridge_bytes = PIECE_BYTES;
	p.reported.request_bytes = reported_bytes;
	MUST(profile_finish(&p, &err));
	run = zones_seeded(&p, seed);
	mean = figure_number(result_find_figure(run.res, "mean_bytes_per_s"));
	*ret_request = number(result_find_table(run.res, "layouts"), 0, "request_bytes");
	return mean;
}

TEST(requests_are_whole_pieces_and_lose_fewer_revolutions_at_their_ends)
{
	size_t nfaster = 0;

	for (uint64_t seed = 1; seed <= TALLY_SEEDS(SEEDS); seed++) {
		double cut_request, request, cut = mean_of(seed, 0, &cut_request),
					     known = mean_of(seed, PIECE_BYTES, &request);

		print_message("drive %d: %.3f MB/s in requests of %.0f KiB, %.3f in %.0f\n", (int)seed, cut / 1e6,
		              cut_request / 1024, known / 1e6, request / 1024);
		assert_true(fmod(request, PIECE_BYTES) == 0.0 || request <= PIECE_BYTES);
		assert_true(known > (1.0 - SLOWER_MOST) * cut);
		nfaster += known > FASTER * cut;
	}
	assert_true(nfaster >= TALLY_SEEDS(FASTER_MIN));
}

#define REV_NS     8e6
#define REQUESTS   480
#define REQUEST_NS 4e6 /* without a track's end in it, ... */
#define SKEW_NS    1e6 /* ... and what one takes */
#define QUICK      6   /* one request in so many has none */
#define LOSES      24  /* one in so many loses a revolution, and none of the quick ones */
#define LOSE_AT    10
#define LATE_NS    8.5e6 /* by which the host sees one late, but none behind it */

static void fill_done(struct zone_done *d, bool loses)
{
	double t = 0.0;

	for (size_t i = 0; i < REQUESTS; i++) {
		t += i % QUICK ? REQUEST_NS + SKEW_NS : REQUEST_NS;
		t += loses && i % LOSES == LOSE_AT ? REV_NS : 0.0;
		d[i] = (struct zone_done){ t, (double)(i + 1) * PIECE_BYTES };
	}
	for (size_t i = LOSE_AT; !loses && i + 1 < REQUESTS; i += LOSES) {
		d[i].t_ns += LATE_NS;
		d[i + 1].t_ns = fmax(d[i + 1].t_ns, d[i].t_ns + 1e3);
	}
}

/* Requests with a track's end less are rare, and a revolution that was lost before them is lost all the same; what the
 * host sees late is not. */
TEST(quick_requests_do_not_make_up_for_a_lost_revolution)
{
	struct zone_done d[REQUESTS];
	uint32_t waits, revs;

	fill_done(d, true);
	zone_estimate_waits(d, REQUESTS, REV_NS, &waits, &revs);
	assert_int_equal(waits, REQUESTS / LOSES);
	assert_int_equal(revs, REQUESTS / LOSES);
	fill_done(d, false);
	zone_estimate_waits(d, REQUESTS, REV_NS, &waits, &revs);
	assert_int_equal(waits, 0);
}
