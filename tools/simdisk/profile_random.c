/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random disks for tests: different in everything that a measurement has to find out, and plausible in what it may
 * assume (outer tracks hold more than inner ones, skews cover the switch they are made for). No expression draws twice:
 * compilers choose different orders.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "model.h"

static double between(struct rng *r, double low, double high)
{
	return low + (high - low) * rng_double(r);
}

/* Evenly over orders of magnitude. */
static double log_between(struct rng *r, double low, double high)
{
	return low * pow(high / low, rng_double(r));
}

static bool chance(struct rng *r, double p)
{
	return rng_double(r) < p;
}

static uint32_t count(struct rng *r, uint32_t max)
{
	return 1 + (uint32_t)rng_below(r, max);
}

static void random_electronics(struct rng *r, struct profile *p, const struct profile_limits *l)
{
	p->ctl.overhead_ms = log_between(r, 0.03, 0.6);
	p->ctl.hit_overhead_ms = p->ctl.overhead_ms * between(r, 0.1, 0.5);
	p->path.interface_bytes_per_s = log_between(r, 200e6, 600e6);
	p->ctl.queue_depth = chance(r, 0.3) ? 1 : count(r, 64);
	p->ctl.queue = chance(r, 0.5) ? QUEUE_FIFO : QUEUE_SATF;
	p->cache.bytes = l->no_cache || chance(r, 0.1) ? 0 : (uint64_t)log_between(r, 256, 65536) << 10;
	p->cache.segments = count(r, 32);
	if (!l->no_cache && chance(r, 0.6)) {
		p->wcache.bytes = (uint64_t)log_between(r, 128, 32768) << 10;
		p->wcache.start = between(r, 0.1, 0.9);
		p->wcache.delay_ms = log_between(r, 10, 2000);
	}
	p->noise.jitter_us = l->jitter_us;
	p->noise.retry_per_gb = l->retry_per_gb;
}

static void random_mechanics(struct rng *r, struct profile *p)
{
	static const double speeds[] = { 3600, 4500, 5400, 5900, 7200, 10000, 15000 };
	double speed = speeds[rng_below(r, 7)];

	p->spindle.rpm = speed * between(r, 0.998, 1.002);
	p->seek.settle_ms = between(r, 0.1, 0.8);
	p->seek.a_ms = between(r, 0.2, 1.5);
	p->seek.head_switch_ms = between(r, 0.4, 1) * (p->seek.settle_ms + p->seek.a_ms);
	p->seek.write_settle_ms = between(r, 0.1, 0.6);
}

/* Full stroke 5 to 20 ms, the knee somewhere in the first half of it, no jump there. */
static void random_seek(struct rng *r, struct profile *p, double cylinders)
{
	double full = between(r, 5, 20), knee = floor(cylinders * between(r, 0.1, 0.5)) + 1, at_knee;

	p->seek.b_ms = (full * between(r, 0.5, 0.7) - p->seek.a_ms) / sqrt(knee);
	at_knee = p->seek.a_ms + p->seek.b_ms * sqrt(knee);
	p->seek.knee = knee;
	p->seek.e_ms = (full - at_knee) / (cylinders > knee ? cylinders - knee : 1) * between(r, 0.5, 1);
	p->seek.c_ms = at_knee - p->seek.e_ms * knee;
	if (p->seek.c_ms < 0) {
		p->seek.c_ms = at_knee;
		p->seek.e_ms = 0;
	}
}

static void random_layout(struct rng *r, const struct profile_limits *l, struct profile_zone *z)
{
	*z = (struct profile_zone){
		.band_tracks = 1, .head_skew = (double)NAN, .cyl_skew = (double)NAN, .band_skew = (double)NAN
	};
	if (l->no_serpentine)
		return;
	z->heads_alternate = chance(r, 0.3);
	if (chance(r, 0.4))
		return;
	z->band_tracks = 2 + (uint32_t)log_between(r, 1, 400);
	z->tracks_alternate = chance(r, 0.7);
}

/* Extra skew now and then: makers leave room. */
static void random_skews(struct rng *r, const struct profile *p, struct profile_zone *z)
{
	double rev_per_ms = p->spindle.rpm / 60e3,
	       step = (p->seek.settle_ms + p->seek.a_ms + p->seek.b_ms) * rev_per_ms;

	if (chance(r, 0.5))
		return;
	z->cyl_skew = fmin(0.9, step * between(r, 1.02, 1.5));
	z->head_skew =
		chance(r, 0.5) ? z->cyl_skew : fmin(0.9, p->seek.head_switch_ms * rev_per_ms * between(r, 1.02, 1.5));
}

static int random_zones(struct rng *r, struct profile *p, const struct profile_limits *l, uint32_t zones, double bytes)
{
	double density[PROFILE_SURFACES_MAX] = { 1 }, ratio = between(r, 0.4, 0.8), mean = 0, cylinders;
	double outer = fmax(40, log_between(r, 64e3, 1300e3) / p->physical_sector_bytes);
	struct profile_zone z;
	uint32_t i, s;

	for (s = 0; s < p->surfaces; s++) {
		density[s] = l->same_density || s == 0 || chance(r, 0.5) ? 1 : between(r, 0.88, 1);
		mean += density[s] / p->surfaces;
	}
	cylinders = bytes / (p->surfaces * outer * (1 + ratio) / 2 * mean * p->physical_sector_bytes);
	if (cylinders < 10.0 * zones)
		cylinders = 10.0 * zones;
	random_seek(r, p, cylinders);
	random_layout(r, l, &z);
	random_skews(r, p, &z);
	for (i = 0; i < zones; i++) {
		double spt = outer * (1 - (1 - ratio) * i / (zones > 1 ? zones - 1 : 1));

		z.cylinders = (uint32_t)(cylinders / zones * between(r, 0.7, 1.3)) + 1;
		for (s = 0; s < p->surfaces; s++)
			z.spt[s] = (uint32_t)fmax(8, round(spt * density[s]));
		if (profile_add_zone(p, &z) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* A segment lasts longer than the pause between two requests, as in any drive that streams at all. */
static void enlarge_cache(struct profile *p)
{
	double bytes_per_s = p->zones[0].spt[0] * (double)p->physical_sector_bytes * p->spindle.rpm / 60;
	uint64_t need = (uint64_t)(bytes_per_s * 2 * (p->ctl.overhead_ms + 1) / 1e3) * p->cache.segments;

	if (p->cache.bytes && p->cache.bytes < need)
		p->cache.bytes = (need + 1023) / 1024 * 1024;
}

/* Grown and factory defects, a spare track here and there, zones that end in part of a track. */
static int random_skips(struct rng *r, struct profile *p)
{
	uint32_t n = (uint32_t)log_between(r, 1, 60), first = 0, i;

	for (i = 0; i < p->nzones; i++) {
		const struct profile_zone *z = &p->zones[i];
		struct profile_skip s = { .cylinder = first + z->cylinders - 1,
			                  .surface = p->surfaces - 1,
			                  .count = UINT32_MAX };

		s.first = (uint32_t)rng_below(r, z->spt[s.surface]);
		if (chance(r, 0.4) && profile_add_skip(p, &s) < 0)
			return -ENOMEM;
		for (uint32_t k = 0; k < n / p->nzones + 1; k++) {
			s.cylinder = first + (uint32_t)rng_below(r, z->cylinders);
			s.surface = (uint32_t)rng_below(r, p->surfaces);
			s.first = (uint32_t)rng_below(r, z->spt[s.surface]);
			s.count = count(r, 3);
			if (chance(r, 0.1)) { /* the whole track */
				s.first = 0;
				s.count = UINT32_MAX;
			}
			if (profile_add_skip(p, &s) < 0)
				return -ENOMEM;
		}
		first += z->cylinders;
	}
	return 0;
}

/* One in each of n equal parts of the disk, so that none overlap. */
static int random_regions(struct rng *r, struct profile *p, const struct profile_limits *l)
{
	uint64_t ratio = p->physical_sector_bytes / p->logical_sector_bytes, sectors = p->capacity_lba / ratio, part, i;

	part = l->slow_regions ? sectors / l->slow_regions : 0;
	for (i = 0; i < l->slow_regions && part > 100; i++) {
		struct profile_slow s = { .every = (uint32_t)log_between(r, 100, 2000),
			                  .revolutions = 1 + (double)rng_below(r, 3) };

		s.count = (part / 4 + rng_below(r, part / 4)) * ratio;
		s.lba = (i * part + rng_below(r, part / 2)) * ratio;
		if (profile_add_slow(p, &s) < 0)
			return -ENOMEM;
	}
	part = l->bad_regions ? sectors / l->bad_regions : 0;
	for (i = 0; i < l->bad_regions && part > 100; i++) {
		struct profile_bad b = { .kind = BAD_READ, .err = -EIO, .revolutions = (double)rng_below(r, 20) };

		b.count = count(r, 32) * ratio;
		b.lba = (i * part + rng_below(r, part / 2)) * ratio;
		if (profile_add_bad(p, &b) < 0)
			return -ENOMEM;
	}
	return 0;
}

int profile_random(struct profile *ret, uint64_t seed, const struct profile_limits *limits, struct err *err)
{
	const struct profile_limits none = { 0 }, *l = limits ? limits : &none;
	struct profile p;
	struct rng r;
	double bytes;
	int error;

	rng_init(&r, seed, 0xd15c);
	profile_init(&p);
	p.seed = seed;
	(void)snprintf(p.name, sizeof(p.name), "random-%llu", (unsigned long long)seed);
	(void)snprintf(p.reported.serial, sizeof(p.reported.serial), "RND%llu", (unsigned long long)seed);
	p.surfaces = count(&r, l->max_surfaces ? l->max_surfaces : 10);
	p.logical_sector_bytes = chance(&r, 0.15) ? 4096 : 512;
	p.physical_sector_bytes = chance(&r, 0.3) ? 4096 : p.logical_sector_bytes;
	random_mechanics(&r, &p);
	random_electronics(&r, &p, l);
	bytes = (l->max_bytes ? (double)l->max_bytes : 2e9) * between(&r, 0.3, 0.9);
	error = random_zones(&r, &p, l, count(&r, l->max_zones ? l->max_zones : 20), bytes);
	if (error == 0)
		enlarge_cache(&p);
	if (error == 0 && !l->no_defects)
		error = random_skips(&r, &p);
	if (error == 0)
		error = profile_finish(&p, err);
	if (error == 0)
		error = random_regions(&r, &p, l);
	if (error == 0)
		error = profile_finish(&p, err);
	if (error < 0) {
		profile_done(&p);
		return error;
	}
	*ret = p;
	return 0;
}
