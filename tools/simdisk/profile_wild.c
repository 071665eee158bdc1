/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Disks as they occur: each class is a kind of drive (or of what stands in for one) with the ranges that its figures
 * come from, and noise as it was measured on real drives (profile_noise.c). Not the most probable disks, but all that a
 * measurement has to bear.
 */
#include "wild.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "draw.h"

/* ---- what does not rotate ---- */

static int draw_ssd(struct rng *r, struct profile *p)
{
	p->kind = DISK_SSD;
	p->logical_sector_bytes = 512;
	p->physical_sector_bytes = chance(r, 0.5) ? 4096 : 512;
	p->capacity_lba = (uint64_t)(log_between(r, 60, 4000) * 1e9 / 4096) * 8;
	p->ssd.channels = whole(r, 2, 16);
	p->ssd.read_latency_us = log_between(r, 20, 150);
	p->ssd.write_latency_us = log_between(r, 10, 60);
	p->ssd.channel_bytes_per_s = between(r, 50e6, 400e6);
	p->path.interface_bytes_per_s = chance(r, 0.5) ? between(r, 400e6, 560e6) : between(r, 1500e6, 7000e6);
	p->ctl.queue_depth = whole(r, 32, 256);
	p->ctl.done_scatter = (struct scatter){ .sd_ms = between(r, 0.001, 0.01),
		                                .tail_p = 0.05,
		                                .tail_ms = log_between(r, 0.02, 1) };
	p->noise.jitter_us = between(r, 2, 30);
	return 0;
}

/* A volume behind a network and a provider's limit; some say that they rotate. */
static int draw_cloud(struct rng *r, struct profile *p)
{
	int error = draw_ssd(r, p);

	p->capacity_lba = (uint64_t)(log_between(r, 8, 2000) * 1e9 / 4096) * 8;
	p->ssd.read_latency_us = log_between(r, 300, 3000);
	p->ssd.write_latency_us = log_between(r, 300, 3000);
	p->ssd.channels = whole(r, 8, 64);
	p->ssd.stripe_bytes = 1 << whole(r, 14, 18);
	p->ssd.latency_sigma = between(r, 0.1, 0.8);
	p->noise.jitter_us = p->ssd.read_latency_us * between(r, 0.1, 0.5);
	p->noise.outlier_p = log_between(r, 0.001, 0.02);
	p->noise.outlier_ms = log_between(r, 1, 20);
	if (chance(r, 0.7)) {
		p->path.limit_bytes_per_s = log_between(r, 20e6, 500e6);
		p->path.credit_bytes = (uint64_t)log_between(r, 1 << 20, 1 << 30) & ~4095ull;
	}
	if (chance(r, 0.5)) {
		p->path.limit_ops = log_between(r, 100, 20000);
		p->path.credit_ops = p->path.limit_ops * log_between(r, 1, 60);
	}
	if (chance(r, 0.3)) {
		p->path.other_share = between(r, 0.1, 0.6);
		p->path.other_on_s = log_between(r, 1, 30);
		p->path.other_off_s = log_between(r, 1, 60);
	}
	strcpy(p->reported.transport, "virtio");
	return error;
}

/* Up to four stretches that hold no data, in both halves of what there is. */
static int add_trims(struct rng *r, struct profile *p)
{
	uint64_t ratio = p->physical_sector_bytes / p->logical_sector_bytes, sectors = p->capacity_lba / ratio;
	uint32_t n = whole(r, 1, 4);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t part = sectors / n;
		struct profile_range t = { .count = (uint64_t)((double)part * between(r, 0.2, 0.8)) * ratio };

		t.lba = (i * part + rng_below(r, part / 5)) * ratio;
		if (profile_add_trim(p, &t) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- all ---- */

#define CLASS_DYING   "dying"
#define CLASS_TRIMMED "trimmed"

const struct wild_class wild_classes[] = {
	{ "old-scsi", "a SCSI drive of the 1990s: many surfaces, few segments, slow electronics", 1, draw_scsi },
	{ "old-ide", "a desktop drive from 2 to 250 GB, one request at a time", 1, draw_ide },
	{ "desktop", "a modern desktop drive: serpentine bands, sectors of 4 KiB, heads that differ", 2, draw_desktop },
	{ "nearline", "8 to 24 TB on 12 to 22 surfaces", 1.5, draw_nearline },
	{ "enterprise", "10000 to 15000 rpm", 1, draw_enterprise },
	{ "laptop", "4200 to 7200 rpm, slow arm", 1, draw_laptop },
	{ "bridge", "a drive behind a USB bridge: one request at a time, more jitter", 1, draw_bridge },
	{ CLASS_DYING, "a drive with slow and unreadable places and lost revolutions", 1, draw_dying },
	{ "ssd", "flash, SATA or NVMe", 0.5, draw_ssd },
	{ "cloud", "a network volume, mostly behind a limit with a credit", 0.5, draw_cloud },
	{ CLASS_TRIMMED, "a rotating disk that takes TRIM, parts of it trimmed", 0.5, draw_desktop },
	{ "thin", "an SSD or a thin volume of which half was never written", 0.5, draw_ssd },
	{ "two-arms", "a nearline drive with two arms, of halves or of stripes", 0.5, draw_two_arms },
	{ "concatenation", "two disks in a row, as a linear volume", 0.5, draw_concatenation },
	/* Drawn by its name only: a seed is the disk that it was. */
	{ "stripe", "two like disks, as a striped volume (RAID 0)", 0, draw_stripe },
	{ "burst", "flash or a volume, for what it does not keep up", 0, draw_burst },
	{ NULL, NULL, 0, NULL },
};

/* What is strewn over a disk whose size is known. */
static int add_places(struct rng *r, const char *class_name, struct profile *p)
{
	if (strcmp(class_name, CLASS_DYING) == 0)
		return draw_trouble(r, p);
	return strcmp(class_name, CLASS_TRIMMED) == 0 || strcmp(class_name, "thin") == 0 ? add_trims(r, p) : 0;
}

/*
 * Desktop drives of late that shingle and do not say so, and large conventional ones with a media cache. From a stream
 * of its own: a disk that is only read is as it would be without.
 */
static void add_media_cache(uint64_t seed, const char *class_name, struct profile *p)
{
	static const struct {
		const char *name;
		double shingled, cached;
	} shares[] = { { "desktop", 0.3, 0.1 }, { CLASS_TRIMMED, 0.6, 0 }, { "laptop", 0.2, 0.1 },
		       { "bridge", 0.3, 0.1 },  { "nearline", 0, 0.4 },    { "enterprise", 0, 0.3 } };
	struct rng own;
	double x;
	size_t i = 0;

	rng_init(&own, seed, 0x5317);
	while (i < ARRAY_LEN(shares) && strcmp(shares[i].name, class_name) != 0)
		i++;
	x = rng_double(&own);
	if (i == ARRAY_LEN(shares) || x >= shares[i].shingled + shares[i].cached)
		return;
	p->mcache.place = chance(&own, 0.7) ? 0 : 0.5;
	p->mcache.idle_ms = log_between(&own, 100, 5000);
	if (x < shares[i].shingled) {
		p->mcache.bytes = (uint64_t)log_between(&own, 1 << 20, 100 << 20) / 4 * 4 << 10;
		p->mcache.entries = (uint32_t)log_between(&own, 100000, 250000);
		p->mcache.band_bytes = (uint64_t)whole(&own, 15, 40) << 20;
		if (chance(&own, 0.5)) {
			p->own.dips.writes = whole(&own, 100, 500);
			p->own.dips.ms = between(&own, 100, 1000);
			p->own.dips.bytes = 256 << 10;
		}
	} else {
		p->mcache.bytes = (uint64_t)log_between(&own, 64 << 10, 4 << 20) / 4 * 4 << 10;
		p->mcache.entries = (uint32_t)log_between(&own, 5000, 100000);
	}
	if (p->wcache.bytes == 0)
		p->wcache.bytes = p->cache.bytes / 4;
	p->mcache.first = chance(&own, 0.25) ? MCACHE_COLDEST : MCACHE_OLDEST;
	x = rng_double(&own);
	if (x < 0.2) /* at once, or only when it is full */
		p->mcache.idle_ms = x < 0.1 ? 1 : 1e7;
}

static const struct wild_class *draw_class(struct rng *r)
{
	const struct wild_class *c;
	double all = 0, x;

	for (c = wild_classes; c->name; c++)
		all += c->weight;
	x = rng_double(r) * all;
	for (c = wild_classes; c[1].name && x >= c->weight; c++)
		x -= c->weight;
	return c;
}

static const struct wild_class *find_class(const char *name, struct err *err)
{
	const struct wild_class *c = wild_classes;

	while (c->name && strcmp(c->name, name) != 0)
		c++;
	if (c->name)
		return c;
	(void)err_set(err, -EINVAL, "There is no class %s of wild disks; `platter-simdisk wild --list` names them.",
	              name);
	return NULL;
}

int profile_wild(struct profile *ret, uint64_t seed, const char *class_name, struct err *err)
{
	const struct wild_class *c;
	struct profile p;
	struct rng r;
	int error;

	rng_init(&r, seed, 0x3117d);
	c = class_name ? find_class(class_name, err) : draw_class(&r);
	if (!c)
		return -EINVAL;
	profile_init(&p);
	p.seed = rng_u64(&r) >> 1;
	(void)snprintf(p.name, sizeof(p.name), "wild-%s-%llu", c->name, (unsigned long long)seed);
	(void)snprintf(p.reported.model, sizeof(p.reported.model), "WILD %s", c->name);
	(void)snprintf(p.reported.serial, sizeof(p.reported.serial), "WILD%llu", (unsigned long long)seed);
	(void)snprintf(p.note, sizeof(p.note), "Drawn at random, seed %llu: %s.", (unsigned long long)seed, c->what);
	error = c->draw(&r, &p);
	add_media_cache(seed, c->name, &p);
	if (error == 0)
		error = profile_add_rare(&p, seed, c->name);
	if (error == 0)
		error = profile_finish(&p, err);
	if (error == 0)
		error = add_places(&r, c->name, &p);
	if (error == 0)
		error = profile_finish(&p, err);
	if (error < 0) {
		profile_done(&p);
		return error;
	}
	*ret = p;
	return 0;
}
