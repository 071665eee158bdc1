/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time to the next cylinder, from pairs of places few tracks apart on disks of any order of tracks. */
#include "test.h"

#include <math.h>

#include "model/near.h"
#include "tally.h"

#define DISKS      TALLY_SEEDS(60)
#define FAR_TRACKS 3000.0

struct drawn {
	double heads, band; /* band: tracks of a surface in a row; 0: cylinder by cylinder */
	double next_ns, far_ns, power, head_ns;
};

static struct drawn draw(struct rng *rng)
{
	const double next = 500e3 + 2e6 * rng_double(rng), heads = 1.0 + floor(9.0 * rng_double(rng));

	return (struct drawn){ .heads = heads,
		               .band = heads > 1.0 && rng_below(rng, 2) ? floor(8.0 * pow(50.0, rng_double(rng))) : 0.0,
		               .next_ns = next,
		               .far_ns = next * (1.1 + 0.9 * rng_double(rng)),
		               .power = 0.35 + 0.35 * rng_double(rng),
		               .head_ns = next * (0.4 + 1.4 * rng_double(rng)) };
}

static double arm_ns(const struct drawn *d, double moved)
{
	return d->next_ns +
	       (d->far_ns - d->next_ns) * (pow(moved, d->power) - 1.0) / (pow(FAR_TRACKS / d->heads, d->power) - 1.0);
}

/* Cylinders between two tracks, that many apart; *ret_other: they lie on two surfaces. */
static double cylinders(const struct drawn *d, uint64_t first, uint64_t tracks, bool *ret_other)
{
	const uint64_t heads = (uint64_t)d->heads, band = (uint64_t)d->band, at[2] = { first, first + tracks };
	double cylinder[2], head[2];

	for (int i = 0; i < 2; i++) {
		const uint64_t of = band ? at[i] / band : 0;

		head[i] = (double)(band ? of % heads : at[i] % heads);
		cylinder[i] = band ? (double)(of / heads * band + (of % 2 ? band - 1 - at[i] % band : at[i] % band))
		                   : floor((double)at[i] / d->heads);
	}
	*ret_other = head[0] != head[1];
	return fabs(cylinder[0] - cylinder[1]);
}

static struct near_pairs pairs_of(const struct drawn *d, struct rng *rng)
{
	struct near_pairs ret = { .n = 0 };

	for (uint64_t tracks = 3; tracks < 500; tracks = tracks < 12 ? tracks + 1 : tracks * 3 / 2)
		for (int i = 0; i < 3; i++) {
			bool is_other;
			const double moved = cylinders(d, rng_below(rng, 100000), tracks, &is_other),
				     arm = moved > 0.0 ? arm_ns(d, moved) : 0.0, se = 10e3 + 30e3 * rng_double(rng);

			ret.v[ret.n++] = (struct near_pair){
				tracks, (is_other ? fmax(arm, d->head_ns) : arm) + se * rng_normal(rng), se
			};
		}
	return ret;
}

/* Also where heads switch slower than the arm moves, or a cylinder's tracks are not on one surface in a row. */
TEST(the_next_cylinder_is_told_from_a_change_of_heads)
{
	struct tally t = { 0 };

	for (uint64_t seed = 1; seed <= DISKS; seed++) {
		struct rng rng;
		struct drawn d;
		struct near_pairs pairs;
		struct near_prior prior;
		struct stats_estimate next;

		rng_init(&rng, seed, 0x6e6561);
		d = draw(&rng);
		pairs = pairs_of(&d, &rng);
		prior = (struct near_prior){ .fitted = d.next_ns * (0.8 + 0.4 * rng_double(&rng)),
			                     .scale = 0.3 * d.next_ns,
			                     .far = d.far_ns * (0.98 + 0.04 * rng_double(&rng)),
			                     .far_tracks = FAR_TRACKS };
		next = near_next_cylinder(&pairs, &prior);
		tally_add(&t, next.value, next.ci, d.next_ns);
	}
	tally_print(&t, "next cylinder", 1e3, "us");
	assert_true(tally_is_covered(&t));
	assert_true(fabs(tally_bias(&t)) < 20e3 && t.width / (double)t.width_n < 60e3);
}
