/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Seeded random numbers: PCG XSL RR 128/64 (O'Neill 2014, HMC-CS-2014-0905), header-only, a value type.
 * Streams with different ids from one seed are independent; every draw of a run comes from its seed.
 */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define RNG_GOLDEN 0.6180339887 /* the golden section: multiples of it lie evenly, however many there are (Weyl) */

struct rng {
	unsigned __int128 state;
	unsigned __int128 inc;
};

static inline uint64_t rng_u64(struct rng *rng)
{
	const unsigned __int128 mul = ((unsigned __int128)2549297995355413924ull << 64) | 4865540595714422341ull;
	uint64_t x;
	unsigned rot;

	rng->state = rng->state * mul + rng->inc;
	x = (uint64_t)(rng->state >> 64) ^ (uint64_t)rng->state;
	rot = (unsigned)(rng->state >> 122);
	return (x >> rot) | (x << (-rot & 63));
}

static inline uint64_t rng_mix(uint64_t x) /* splitmix64's finaliser: spreads small seeds */
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static inline void rng_init(struct rng *rng, uint64_t seed, uint64_t stream)
{
	rng->inc = ((((unsigned __int128)rng_mix(stream) << 64) | rng_mix(~stream)) << 1) | 1;
	rng->state = ((unsigned __int128)rng_mix(seed) << 64) | rng_mix(seed ^ 0x5bf03635ull);
	(void)rng_u64(rng); /* the first output of a fresh state carries too much of the seed */
}

/* Uniform on 0 .. n-1 without bias (Lemire 2019); n > 0. */
static inline uint64_t rng_below(struct rng *rng, uint64_t n)
{
	unsigned __int128 m = (unsigned __int128)rng_u64(rng) * n;

	if ((uint64_t)m < n) {
		uint64_t floor = -n % n;

		while ((uint64_t)m < floor)
			m = (unsigned __int128)rng_u64(rng) * n;
	}
	return (uint64_t)(m >> 64);
}

/* Uniform on [0, 1). */
static inline double rng_double(struct rng *rng)
{
	return (double)(rng_u64(rng) >> 11) * 0x1p-53;
}

/* Any order as likely as any other (Fisher and Yates). */
static inline void rng_shuffle(struct rng *rng, size_t *v, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = (size_t)rng_below(rng, i), had = v[k];

		v[k] = v[i - 1];
		v[i - 1] = had;
	}
}

/* Negative exponential with the given mean. */
static inline double rng_exp(struct rng *rng, double mean)
{
	return -mean * log1p(-rng_double(rng));
}

/* Normal, mean 0 and deviation 1 (Box and Muller; one of the pair is thrown away). */
static inline double rng_normal(struct rng *rng)
{
	double r = sqrt(-2.0 * log1p(-rng_double(rng)));

	return r * cos(6.283185307179586 * rng_double(rng));
}
