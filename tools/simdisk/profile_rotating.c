/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rotating disks as they occur: the ranges that the drives of a time had in common, drawn from. */
#include "wild.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "draw.h"

/* Most machines are quiet while a disk is measured, but not all. */
static enum wild_noise any_level(struct rng *r)
{
	double x = rng_double(r);

	return x < 0.2 ? WILD_NOISE_MILD : x < 0.85 ? WILD_NOISE_REAL : WILD_NOISE_LIVE;
}

struct range {
	double low, high;
};

enum layouts { CYLINDERS = 1, BANDS = 2, EITHER = 3 };

/* What the drives of a time had in common. */
struct era {
	struct range gb, track_kb, zones, ratio; /* track_kb: of the outermost track; ratio: innermost to outermost */
	struct range surfaces, settle_ms, track_ms, full_ms, overhead_us, interface_mbs, cache_kb, segments, queue;
	double speeds[4];    /* 0: no more */
	struct range spread; /* of the surfaces' densities: least to most */
	struct range defects;
	enum layouts layouts;
	uint32_t logical, physical; /* bytes of a sector */
};

static double any(struct rng *r, struct range x)
{
	return between(r, x.low, x.high);
}

static uint32_t any_count(struct rng *r, struct range x)
{
	return whole(r, (uint32_t)x.low, (uint32_t)x.high);
}

static void draw_mechanics(struct rng *r, struct profile *p, const struct era *era)
{
	double off;
	size_t n = 0;

	while (n < ARRAY_LEN(era->speeds) && era->speeds[n] > 0)
		n++;
	p->reported.rpm = era->speeds[rng_below(r, n)];
	off = between(r, -0.0074, 0.0074);
	p->spindle.rpm = p->reported.rpm * (1 + off * rng_double(r));
	if (chance(r, 0.03)) /* what it says of itself is not what it does */
		p->reported.rpm = p->reported.rpm == 7200 ? 5400 : 7200;
	if (chance(r, 0.15)) { /* switched on a moment ago */
		p->spindle.drift = log_between(r, 1e-6, 1e-4) * (chance(r, 0.5) ? 1 : -1);
		p->spindle.drift_s = log_between(r, 30, 1000);
	}
	p->seek.settle_ms = any(r, era->settle_ms);
	p->seek.a_ms = fmax(0.05, any(r, era->track_ms) - p->seek.settle_ms);
	p->seek.head_switch_ms = between(r, 0.5, 1.1) * (p->seek.settle_ms + p->seek.a_ms);
	p->seek.write_settle_ms = between(r, 0.1, 0.6);
}

/* Policies of caches, as makers chose them. */
static void draw_caching(struct rng *r, struct profile *p)
{
	p->cache.ahead_reach = chance(r, 0.25) ? AHEAD_TRACK : AHEAD_SEGMENT;
	p->cache.ahead_stop = chance(r, 0.4) ? AHEAD_COMMAND : AHEAD_SEEK;
	if (chance(r, 0.2))
		p->cache.ahead_bytes = (uint64_t)log_between(r, 128, 4096) << 10;
	p->cache.sizing = chance(r, 0.4) ? CACHE_BY_USE : CACHE_FIXED;
	p->cache.keep_behind = between(r, 0, 0.7);
	p->cache.is_pre_read = chance(r, 0.3);
	p->cache.is_zero_latency = chance(r, 0.25);
	p->wcache.is_on = !chance(r, 0.15);
	p->wcache.turns = chance(r, 0.5) ? TURNS_FAIR : TURNS_READS;
}

static void draw_electronics(struct rng *r, struct profile *p, const struct era *era)
{
	p->ctl.overhead_ms = log_between(r, era->overhead_us.low, era->overhead_us.high) * 1e-3;
	p->ctl.hit_overhead_ms = p->ctl.overhead_ms * between(r, 0.2, 0.7);
	p->path.interface_bytes_per_s = any(r, era->interface_mbs) * 1e6;
	p->ctl.queue_depth = any_count(r, era->queue);
	p->ctl.queue = chance(r, 0.3) ? QUEUE_FIFO : QUEUE_SATF;
	p->cache.bytes = (uint64_t)log_between(r, era->cache_kb.low, era->cache_kb.high) << 10;
	p->cache.segments = (uint32_t)log_between(r, era->segments.low, era->segments.high + 0.5);
	draw_caching(r, p);
	if (chance(r, 0.8)) {
		p->wcache.bytes = p->cache.bytes / 4;
		p->wcache.start = between(r, 0.2, 0.8);
		p->wcache.delay_ms = log_between(r, 20, 1000);
	}
}

/* A segment lasts longer than the pause between two requests, or the drive would not stream at all. */
static void enlarge_segments(struct profile *p)
{
	double bytes_per_s = p->zones[0].spt[0] * (double)p->physical_sector_bytes * p->spindle.rpm / 60;
	uint64_t need = (uint64_t)(bytes_per_s * 2 * (p->ctl.overhead_ms + 1) / 1e3) >> 10;

	while (p->cache.segments > 1 && (p->cache.bytes >> 10) / p->cache.segments < need)
		p->cache.segments--;
	if ((p->cache.bytes >> 10) < need)
		p->cache.bytes = need << 10;
}

static void draw_layout(struct rng *r, struct profile *p, const struct era *era, struct profile_zone *z)
{
	double turn_ms = 60e3 / p->spindle.rpm;

	*z = (struct profile_zone){
		.band_tracks = 1, .head_skew = (double)NAN, .cyl_skew = (double)NAN, .band_skew = (double)NAN
	};
	if (era->layouts == BANDS || (era->layouts == EITHER && chance(r, 0.5))) {
		z->band_tracks = (uint32_t)log_between(r, 8, 800);
		z->tracks_alternate = chance(r, 0.8);
	}
	z->heads_alternate = chance(r, 0.25);
	if (chance(r, 0.6)) { /* makers leave room */
		z->cyl_skew =
			fmin(0.9, (p->seek.settle_ms + p->seek.a_ms + p->seek.b_ms) * between(r, 1.05, 1.5) / turn_ms);
		z->head_skew = fmin(0.9, fmax(p->seek.head_switch_ms, 0.3) * between(r, 1.05, 1.5) / turn_ms);
	}
}

/* The square root up to a knee in the first third of the stroke, a straight line from there, no jump between. */
static void draw_seek(struct rng *r, struct profile *p, double full_ms, double cylinders)
{
	double knee = floor(cylinders * between(r, 0.1, 0.35)) + 1, near = full_ms * between(r, 0.4, 0.6), at_knee;

	p->seek.b_ms = fmax(0.1, near - p->seek.a_ms) / sqrt(knee);
	at_knee = p->seek.a_ms + p->seek.b_ms * sqrt(knee);
	p->seek.knee = knee;
	p->seek.e_ms = fmax(0, full_ms - p->seek.settle_ms - at_knee) / fmax(1, cylinders - knee);
	p->seek.c_ms = at_knee - p->seek.e_ms * knee;
}

/* Zones of many cylinders each, by chance: not more than a profile may have. */
static void limit_cylinders(struct profile *p)
{
	uint64_t most = PROFILE_TRACKS_MAX / p->surfaces, all = 0;

	if (most > PROFILE_CYLINDERS_MAX)
		most = PROFILE_CYLINDERS_MAX;
	for (size_t i = 0; i < p->nzones; i++)
		all += p->zones[i].cylinders;
	for (size_t i = 0; i < p->nzones && all > most; i++)
		p->zones[i].cylinders = (uint32_t)(p->zones[i].cylinders * most / all);
}

static int draw_zones(struct rng *r, struct profile *p, const struct era *era)
{
	double density[PROFILE_SURFACES_MAX], ratio = any(r, era->ratio), mean = 0, spread = any(r, era->spread);
	double outer = log_between(r, era->track_kb.low, era->track_kb.high) * 1e3 / p->physical_sector_bytes;
	double bytes = log_between(r, era->gb.low, era->gb.high) * 1e9, cylinders;
	uint32_t zones = any_count(r, era->zones), s;
	struct profile_zone z;

	for (s = 0; s < p->surfaces; s++) {
		density[s] = 1 - spread * rng_double(r);
		mean += density[s] / p->surfaces;
	}
	cylinders =
		fmax(bytes / (p->surfaces * outer * (1 + ratio) / 2 * mean * p->physical_sector_bytes), 40.0 * zones);
	draw_seek(r, p, any(r, era->full_ms), cylinders);
	draw_layout(r, p, era, &z);
	for (uint32_t i = 0; i < zones; i++) {
		double spt = outer * (1 - (1 - ratio) * i / (zones > 1 ? zones - 1 : 1));

		z.cylinders = (uint32_t)(cylinders / zones * between(r, 0.6, 1.4)) + 2;
		for (s = 0; s < p->surfaces; s++)
			z.spt[s] = (uint32_t)fmax(16, round(spt * density[s]));
		if (profile_add_zone(p, &z) < 0)
			return -ENOMEM;
	}
	limit_cylinders(p);
	return 0;
}

/* Slipped sectors and now and then a track, anywhere. */
static int draw_defects(struct rng *r, struct profile *p, const struct era *era)
{
	uint32_t n = (uint32_t)log_between(r, era->defects.low, era->defects.high);
	uint64_t cylinders = 0;

	for (size_t i = 0; i < p->nzones; i++)
		cylinders += p->zones[i].cylinders;
	for (uint32_t k = 0; k < n; k++) {
		struct profile_skip s = { .cylinder = (uint32_t)rng_below(r, cylinders),
			                  .surface = (uint32_t)rng_below(r, p->surfaces),
			                  .count = 1 + (uint32_t)rng_below(r, 3) };
		uint32_t left = s.cylinder;
		size_t i = 0;

		while (left >= p->zones[i].cylinders)
			left -= p->zones[i++].cylinders;
		s.first = (uint32_t)rng_below(r, p->zones[i].spt[s.surface]);
		if (chance(r, 0.02)) {
			s.first = 0;
			s.count = UINT32_MAX;
		}
		if (profile_add_skip(p, &s) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* A curve as drives have it: no square root and no line, but points near them, smooth bends, and here and there a step
 * down. */
static int draw_points(struct rng *r, struct profile *p)
{
	double most = 0, bend[3], phase[3], scatter = between(r, 0.005, 0.03), wide = between(r, 0.02, 0.2), last = 0;

	for (size_t i = 0; i < p->nzones; i++)
		most += p->zones[i].cylinders;
	for (size_t i = 0; i < ARRAY_LEN(bend); i++) {
		bend[i] = wide * between(r, -1, 1);
		phase[i] = between(r, 0, 6.3);
	}
	for (double d = 1; d < most; d = fmax(d + 1, d * 1.12)) {
		double curve =
			d < p->seek.knee ? p->seek.a_ms + p->seek.b_ms * sqrt(d) : p->seek.c_ms + p->seek.e_ms * d;
		double part = sqrt(d / most), far = fmin(1, (curve + p->seek.settle_ms) / 2);
		struct profile_seek_point point = { .cylinders = (uint32_t)d, .sd_ms = (double)NAN };

		for (size_t i = 0; i < ARRAY_LEN(bend); i++)
			curve += far * bend[i] * sin(phase[i] + part * 4 * (double)(i + 1));
		point.ms = fmax(0.05, p->seek.settle_ms + curve + far * scatter * rng_normal(r));
		if (!chance(r, 0.2)) /* elsewhere it rises */
			point.ms = fmax(point.ms, last);
		last = point.ms;
		if (profile_add_seek_point(p, &point) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int draw_era(struct rng *r, struct profile *p, const struct era *era)
{
	int error;

	p->logical_sector_bytes = era->logical;
	p->physical_sector_bytes = era->physical;
	p->surfaces = any_count(r, era->surfaces);
	draw_mechanics(r, p, era);
	draw_electronics(r, p, era);
	error = draw_zones(r, p, era);
	if (error == 0)
		error = draw_defects(r, p, era);
	if (error == 0)
		enlarge_segments(p);
	if (error == 0 && chance(r, 0.5))
		error = draw_points(r, p);
	if (error == 0)
		error = profile_draw_noise(p, any_level(r), r);
	if (chance(r, 0.4)) {
		p->media.slipped = (uint32_t)log_between(r, 100, 10000);
		p->media.slip_run = between(r, 1, 8);
	}
	if (chance(r, 0.2)) {
		p->media.weak_share = log_between(r, 0.0003, 0.03);
		p->media.weak_p = log_between(r, 0.05, 1);
	}
	return error;
}

static const struct era scsi_era = {
	.gb = { 0.5, 18 },
	.track_kb = { 40, 180 },
	.zones = { 1, 16 },
	.ratio = { 0.5, 0.8 },
	.surfaces = { 3, 20 },
	.settle_ms = { 0.3, 1 },
	.track_ms = { 0.8, 2.5 },
	.full_ms = { 12, 24 },
	.overhead_us = { 200, 1200 },
	.interface_mbs = { 10, 80 },
	.cache_kb = { 256, 4096 },
	.segments = { 1, 16 },
	.queue = { 1, 64 },
	.speeds = { 5400, 7200, 10000 },
	.spread = { 0, 0 },
	.defects = { 20, 2000 },
	.layouts = CYLINDERS,
	.logical = 512,
	.physical = 512,
};
static const struct era ide_era = {
	.gb = { 2, 250 },
	.track_kb = { 100, 500 },
	.zones = { 8, 30 },
	.ratio = { 0.4, 0.7 },
	.surfaces = { 1, 8 },
	.settle_ms = { 0.3, 0.8 },
	.track_ms = { 0.8, 2 },
	.full_ms = { 14, 26 },
	.overhead_us = { 100, 600 },
	.interface_mbs = { 33, 150 },
	.cache_kb = { 512, 8192 },
	.segments = { 1, 16 },
	.queue = { 1, 1 },
	.speeds = { 5400, 7200 },
	.spread = { 0, 0.1 },
	.defects = { 20, 1000 },
	.layouts = EITHER,
	.logical = 512,
	.physical = 512,
};
static const struct era desktop_era = {
	.gb = { 320, 8000 },
	.track_kb = { 700, 2000 },
	.zones = { 16, 40 },
	.ratio = { 0.4, 0.6 },
	.surfaces = { 1, 10 },
	.settle_ms = { 0.2, 0.5 },
	.track_ms = { 0.4, 1.2 },
	.full_ms = { 14, 22 },
	.overhead_us = { 50, 250 },
	.interface_mbs = { 250, 580 },
	.cache_kb = { 16384, 262144 },
	.segments = { 8, 64 },
	.queue = { 32, 32 },
	.speeds = { 5400, 5900, 7200 },
	.spread = { 0, 0.14 },
	.defects = { 20, 3000 },
	.layouts = BANDS,
	.logical = 512,
	.physical = 4096,
};
static const struct era nearline_era = {
	.gb = { 8000, 24000 },
	.track_kb = { 1500, 2400 },
	.zones = { 20, 50 },
	.ratio = { 0.4, 0.55 },
	.surfaces = { 12, 22 },
	.settle_ms = { 0.2, 0.4 },
	.track_ms = { 0.3, 0.9 },
	.full_ms = { 13, 18 },
	.overhead_us = { 40, 150 },
	.interface_mbs = { 500, 1200 },
	.cache_kb = { 131072, 524288 },
	.segments = { 16, 256 },
	.queue = { 32, 128 },
	.speeds = { 7200 },
	.spread = { 0.02, 0.14 },
	.defects = { 100, 5000 },
	.layouts = BANDS,
	.logical = 512,
	.physical = 4096,
};
static const struct era enterprise_era = {
	.gb = { 36, 600 },
	.track_kb = { 250, 900 },
	.zones = { 10, 30 },
	.ratio = { 0.55, 0.8 },
	.surfaces = { 2, 8 },
	.settle_ms = { 0.1, 0.3 },
	.track_ms = { 0.2, 0.6 },
	.full_ms = { 6, 11 },
	.overhead_us = { 40, 250 },
	.interface_mbs = { 160, 600 },
	.cache_kb = { 8192, 65536 },
	.segments = { 8, 64 },
	.queue = { 32, 128 },
	.speeds = { 10000, 10500, 15000 },
	.spread = { 0, 0.14 },
	.defects = { 20, 2000 },
	.layouts = EITHER,
	.logical = 512,
	.physical = 512,
};
static const struct era laptop_era = {
	.gb = { 20, 1000 },
	.track_kb = { 250, 1200 },
	.zones = { 10, 30 },
	.ratio = { 0.45, 0.65 },
	.surfaces = { 1, 4 },
	.settle_ms = { 0.3, 0.8 },
	.track_ms = { 0.8, 2 },
	.full_ms = { 18, 28 },
	.overhead_us = { 100, 400 },
	.interface_mbs = { 100, 300 },
	.cache_kb = { 8192, 16384 },
	.segments = { 4, 32 },
	.queue = { 1, 32 },
	.speeds = { 4200, 5400, 7200 },
	.spread = { 0, 0.12 },
	.defects = { 20, 1000 },
	.layouts = EITHER,
	.logical = 512,
	.physical = 512,
};

int draw_scsi(struct rng *r, struct profile *p)
{
	if (chance(r, 0.4)) { /* for warmth, every few seconds to minutes */
		p->own.recalibrate_s = log_between(r, 10, 300);
		p->own.recalibrate_ms = log_between(r, 20, 300);
	}
	return draw_era(r, p, &scsi_era);
}

int draw_ide(struct rng *r, struct profile *p)
{
	return draw_era(r, p, &ide_era);
}

int draw_desktop(struct rng *r, struct profile *p)
{
	return draw_era(r, p, &desktop_era);
}

int draw_nearline(struct rng *r, struct profile *p)
{
	if (chance(r, 0.4)) { /* looks for media errors when idle */
		p->own.scan_after_s = log_between(r, 0.1, 2);
		p->own.scan_ms = log_between(r, 10, 200);
	}
	return draw_era(r, p, &nearline_era);
}

int draw_enterprise(struct rng *r, struct profile *p)
{
	return draw_era(r, p, &enterprise_era);
}

int draw_laptop(struct rng *r, struct profile *p)
{
	if (chance(r, 0.5)) {
		p->own.park_after_s = log_between(r, 0.3, 10);
		p->own.park_ms = between(r, 300, 1000);
	}
	return draw_era(r, p, &laptop_era);
}

/* A laptop's or a desktop's drive behind a slow bridge: one request at a time, each later by what the bridge takes. */
int draw_bridge(struct rng *r, struct profile *p)
{
	int error = draw_era(r, p, chance(r, 0.5) ? &laptop_era : &desktop_era);

	p->ctl.queue_depth = 1;
	p->ctl.overhead_ms += between(r, 0.05, 0.5);
	p->ctl.hit_overhead_ms += between(r, 0.05, 0.3);
	p->path.interface_bytes_per_s = chance(r, 0.4) ? between(r, 28e6, 42e6) : between(r, 200e6, 430e6);
	p->noise.jitter_us = between(r, 0, 60);
	p->wcache.is_flush_ignored = chance(r, 0.3);
	strcpy(p->reported.transport, "usb");
	if (chance(r, 0.5)) /* it cuts what is larger */
		p->path.bridge_bytes = chance(r, 0.5) ? 120 << 10 : (uint64_t)log_between(r, 16, 1024) / 4 * 4 << 10;
	if (p->path.bridge_bytes == 120 << 10) /* Linux's own limit for such devices; others cut unseen */
		p->reported.request_bytes = p->path.bridge_bytes;
	return error;
}

/* A nearline drive whose arms work at once, mostly as two halves of the LBA range. */
int draw_two_arms(struct rng *r, struct profile *p)
{
	int error = draw_era(r, p, &nearline_era);

	p->arms.kind = chance(r, 0.8) ? ARMS_HALVES : ARMS_INTERLEAVED;
	p->arms.stripe_bytes = (uint64_t)1 << whole(r, 16, 24);
	return error;
}

/* A linear volume over two disks, of one kind or of kinds that differ. */
int draw_concatenation(struct rng *r, struct profile *p)
{
	int error = draw_era(r, p, chance(r, 0.5) ? &desktop_era : &enterprise_era);

	p->arms.kind = ARMS_JOINED;
	if (chance(r, 0.5))
		p->arms.joined_density = log_between(r, 0.5, 2);
	return error;
}

/* A striped volume over two like disks: one disk of twice as many surfaces, a half of them for every second stripe. */
int draw_stripe(struct rng *r, struct profile *p)
{
	int error = draw_era(r, p, chance(r, 0.5) ? &desktop_era : &enterprise_era);

	for (size_t z = 0; z < p->nzones; z++)
		memcpy(p->zones[z].spt + p->surfaces, p->zones[z].spt, p->surfaces * sizeof(p->zones[z].spt[0]));
	p->surfaces *= 2;
	p->arms.kind = ARMS_INTERLEAVED;
	p->arms.stripe_bytes = (uint64_t)1 << whole(r, 16, 20); /* LVM takes 64 KiB, md 512 */
	strcpy(p->reported.transport, "dm");
	return error;
}

/* Its places are strewn when its size is known. */
int draw_dying(struct rng *r, struct profile *p)
{
	int error = draw_era(r, p, chance(r, 0.5) ? &desktop_era : &ide_era);

	p->noise.retry_per_gb = log_between(r, 0.05, 3);
	return error;
}

int draw_trouble(struct rng *r, struct profile *p)
{
	uint64_t ratio = p->physical_sector_bytes / p->logical_sector_bytes, sectors = p->capacity_lba / ratio;
	uint32_t nslow = whole(r, 0, 4), nbad = whole(r, 0, 5), i;

	for (i = 0; i < nslow; i++) {
		uint64_t part = sectors / nslow;
		struct profile_slow s = { .every = (uint32_t)log_between(r, 50, 1000),
			                  .revolutions = 1 + (double)rng_below(r, 3) };

		s.count = (uint64_t)((double)part * log_between(r, 0.001, 0.3)) * ratio + ratio;
		s.lba = (i * part + rng_below(r, part / 2)) * ratio;
		if (profile_add_slow(p, &s) < 0)
			return -ENOMEM;
	}
	for (i = 0; i < nbad; i++) {
		uint64_t part = sectors / nbad;
		struct profile_bad b = { .kind = BAD_READ, .err = -EIO, .revolutions = (double)rng_below(r, 60) };

		b.count = whole(r, 1, 200) * ratio;
		b.lba = (i * part + rng_below(r, part / 2)) * ratio;
		if (profile_add_bad(p, &b) < 0)
			return -ENOMEM;
	}
	return 0;
}
