/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The same disks by other laws: what the draw of wild disks ties together, or draws within what a time's drives had in
 * common, is drawn freely here. What a measurement knows of disks only because wild ones are drawn so shows as what is
 * false or missing on these.
 */
#include <errno.h>
#include <math.h>

#include "draw.h"
#include "mechanics.h"
#include "wild.h"

/* A power of the distance up to the knee, not the root alone, and a line from there, no jump between. */
static int bend_seeks(struct rng *r, struct profile *p)
{
	double power = between(r, 0.35, 0.7), next = mechanics_seek_ms(p, 1), most = 0, knee, full, at_knee;
	int error = 0;

	for (size_t i = 0; i < p->nzones; i++)
		most += p->zones[i].cylinders;
	knee = fmax(2, most * between(r, 0.05, 0.6));
	full = mechanics_seek_ms(p, most);
	at_knee = next + (full - next) * pow(knee / most, between(r, 0.4, 0.6));
	p->seek.npoints = 0;
	for (double d = 1; error == 0 && d < most; d = fmax(d + 1, d * 1.1)) {
		struct profile_seek_point point = { .cylinders = (uint32_t)d, .sd_ms = (double)NAN };

		point.ms = d < knee ? next + (at_knee - next) * (pow(d, power) - 1) / (pow(knee, power) - 1)
		                    : at_knee + (full - at_knee) * (d - knee) / (most - knee);
		error = profile_add_seek_point(p, &point);
	}
	return error;
}

static struct scatter any_scatter(struct rng *r, double low_ms, double high_ms)
{
	double sd_ms = log_between(r, low_ms, high_ms);

	return (struct scatter){ sd_ms, between(r, 0, 0.15), sd_ms * log_between(r, 1, 8) };
}

/* Settling scatters by any law, and the host, the controller and the heads by others. */
static int scatter_all(struct rng *r, struct profile *p)
{
	int error = 0;

	p->seek.nscatters = 0;
	for (uint32_t d = 1; error == 0 && d < 100000; d *= 30) {
		struct profile_seek_scatter s = { d, any_scatter(r, 0.005, 0.1) };

		error = profile_add_seek_scatter(p, &s);
	}
	p->seek.head_scatter = any_scatter(r, 0.003, 0.06);
	p->ctl.overhead_scatter = any_scatter(r, 0.001, 0.03);
	p->ctl.done_scatter = any_scatter(r, 0.003, 0.03);
	p->ctl.done_ms = (double)NAN;
	p->media.skew_sd_us = between(r, 0, 20);
	p->spindle.wobble = log_between(r, 1e-6, 1e-4);
	p->spindle.wobble_period_s = log_between(r, 1, 60);
	return error;
}

/* As a maker would have it: of a scatter what is beyond comes once in thousands. */
static double hardly_more_ms(const struct scatter *s)
{
	return 4 * s->sd_ms + 4 * s->tail_ms;
}

/* Skews with room, or just enough; a switch of heads that has nothing to do with the next cylinder. */
static void skew_all(struct rng *r, struct profile *p)
{
	const struct scatter step = mechanics_seek_scatter(p, 1);
	double turn_ms = 60e3 / p->spindle.rpm, room = between(r, 1, 2), next = mechanics_seek_ms(p, 1);

	p->seek.head_switch_ms = fmin(0.7 * turn_ms, log_between(r, 0.25, 2.5) * next);
	for (size_t i = 0; i < p->nzones; i++) {
		struct profile_zone *z = &p->zones[i];

		z->cyl_skew = fmin(0.95, (next + hardly_more_ms(&step)) * room / turn_ms);
		z->head_skew =
			fmin(0.95, (p->seek.head_switch_ms + hardly_more_ms(&p->seek.head_scatter)) * room / turn_ms);
		z->band_skew = fmax(z->cyl_skew, z->head_skew);
	}
}

/* Long and short zones beside each other. What lies at given sectors would move. */
static void cut_zones(struct rng *r, struct profile *p)
{
	double weight[PROFILE_ZONES_MAX], sum = 0, all = 0;

	if (p->media.nbads || p->media.nslows || p->media.ntrims || p->media.spare_tracks)
		return;
	for (size_t i = 0; i < p->nzones; i++) {
		all += p->zones[i].cylinders;
		sum += weight[i] = log_between(r, 0.15, 1);
	}
	for (size_t i = 0; i < p->nzones; i++)
		p->zones[i].cylinders = (uint32_t)fmax(20, all * weight[i] / sum);
	p->media.nskips = 0; /* by cylinder and sector: the slipped ones stay */
	p->capacity_lba = 0;
}

static void cache_otherwise(struct rng *r, struct profile *p)
{
	p->ctl.hit_overhead_ms = p->ctl.overhead_ms * log_between(r, 0.1, 1.2);
	p->ctl.read_watermark = chance(r, 0.4) ? between(r, 0, 1) : 0;
	p->cache.ahead_overhead = chance(r, 0.5) ? OVERHEAD_HIT : OVERHEAD_FULL;
	p->cache.ahead_reach = chance(r, 0.5) ? AHEAD_TRACK : AHEAD_SEGMENT;
	p->cache.ahead_stop = chance(r, 0.5) ? AHEAD_COMMAND : AHEAD_SEEK;
	p->cache.ahead_when = chance(r, 0.3) ? AHEAD_SEQUENTIAL : AHEAD_ALWAYS;
	p->cache.is_pre_read = chance(r, 0.5);
	p->cache.is_zero_latency = chance(r, 0.5);
	p->cache.keep_behind = between(r, 0, 1);
}

static int vary_freely(struct rng *r, struct profile *p)
{
	int error = bend_seeks(r, p);

	if (error == 0)
		error = scatter_all(r, p);
	if (error < 0)
		return error;
	skew_all(r, p);
	cut_zones(r, p);
	cache_otherwise(r, p);
	return 0;
}

static int vary_access(struct rng *r, struct profile *p)
{
	if (chance(r, 0.5))
		p->cache.ahead_overhead = OVERHEAD_HIT;
	p->seek.head_switch_ms = between(r, 0.3, 2) * (p->seek.settle_ms + p->seek.a_ms);
	for (size_t i = 0; i < p->nzones; i++)
		p->zones[i].head_skew = p->zones[i].band_skew = (double)NAN; /* made for the switch */
	return 0;
}

static int vary_host(struct rng *r, struct profile *p)
{
	p->noise.jitter_us = between(r, 5, 25);
	p->noise.outlier_p = log_between(r, 0.002, 0.02);
	p->noise.outlier_ms = log_between(r, 0.5, 5);
	return 0;
}

/* key: of its stream of random numbers. */
static const struct {
	uint64_t key;
	int (*vary)(struct rng *r, struct profile *p); /* 0 or -ENOMEM */
	bool rotates;
} laws_of[] = {
	[LAWS_OTHER] = { 0x1a35, vary_access, true },
	[LAWS_HOST] = { 0x4057, vary_host, false },
	[LAWS_FREE] = { 0xf4ee, vary_freely, true },
};
const char *const wild_laws_names[] = { "own", "other", "host", "free", NULL };

int profile_vary(struct profile *p, enum wild_laws laws, uint64_t seed, struct err *err)
{
	struct rng r;

	if (laws == LAWS_OWN || (laws_of[laws].rotates && p->kind != DISK_ROTATING))
		return 0;
	rng_init(&r, seed, laws_of[laws].key);
	if (laws_of[laws].vary(&r, p) < 0)
		return err_set(err, -ENOMEM, "Out of memory.");
	return profile_finish(p, err);
}
