/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What few disks have: zones that end elsewhere on other surfaces, densities that have nothing to do with each other,
 * spares, odd policies of buffers. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "wild.h"

#define GROUPS_MAX 4  /* surfaces whose zones end at the same cylinders */
#define LEAST      16 /* sectors of a track, as of all drawn disks */

/* ---- surfaces ---- */

/* Puts v in the place of all zones; they are v's no more. */
static int replace_zones(struct profile *p, const struct profile_zone *v, size_t n)
{
	int error = 0;

	p->nzones = 0;
	for (size_t i = 0; error == 0 && i < n; i++)
		error = profile_add_zone(p, &v[i]);
	return error;
}

/*
 * Between one zone and the next the surfaces change over in groups: as many short zones in between, in which the groups
 * before have the next zone's tracks already. Each zone gives up at most a fourth of itself at its end.
 */
static int shift_edges(struct rng *r, struct profile *p)
{
	uint32_t groups = whole(r, 2, p->surfaces < GROUPS_MAX ? p->surfaces : GROUPS_MAX), group[PROFILE_SURFACES_MAX];
	size_t n = p->nzones, out = 0;
	struct profile_zone *v = calloc(n * groups, sizeof(*v));
	int error;

	if (!v)
		return -ENOMEM;
	for (uint32_t s = 0; s < p->surfaces; s++)
		group[s] = s < groups ? s : (uint32_t)rng_below(r, groups);
	for (size_t i = 0; i < n; i++) {
		const struct profile_zone *z = &p->zones[i];
		uint32_t piece = i + 1 < n ? z->cylinders / 4 / (groups - 1) : 0;

		v[out] = *z;
		v[out++].cylinders -= piece * (groups - 1);
		for (uint32_t k = 1; piece && k < groups; k++, out++) {
			v[out] = *z;
			v[out].cylinders = piece;
			for (uint32_t s = 0; s < p->surfaces; s++)
				if (group[s] < k)
					v[out].spt[s] = z[1].spt[s];
		}
	}
	error = replace_zones(p, v, out);
	free(v);
	return error;
}

/* In each zone as the head bears there. */
static void vary_densities(struct rng *r, struct profile *p)
{
	double most = between(r, 0.03, 0.2);

	for (size_t i = 0; i < p->nzones; i++)
		for (uint32_t s = 0; s < p->surfaces; s++)
			p->zones[i].spt[s] =
				(uint32_t)fmax(LEAST, round(p->zones[i].spt[s] * (1 - most * rng_double(r))));
}

/* What was skipped is still somewhere on its track. */
static void keep_skips(struct profile *p)
{
	for (size_t i = 0; i < p->media.nskips; i++) {
		struct profile_skip *s = &p->media.skips[i];
		uint32_t left = s->cylinder, spt;
		size_t z = 0;

		while (left >= p->zones[z].cylinders)
			left -= p->zones[z++].cylinders;
		spt = p->zones[z].spt[s->surface];
		if (s->first >= spt)
			s->first = spt - 1;
	}
}

/* ---- spares ---- */

static void spare(struct rng *r, struct profile *p, bool is_old)
{
	uint32_t least = UINT32_MAX;

	for (size_t i = 0; i < p->nzones; i++)
		least = p->zones[i].cylinders < least ? p->zones[i].cylinders : least;
	if (chance(r, 0.15) && least > 2) {
		p->media.spare_tracks = whole(r, 1, least > 40 ? 20 : least / 2);
		p->media.remapped = (uint32_t)log_between(r, 1, 300);
	}
	if (is_old && chance(r, 0.3)) {
		uint32_t sectors = whole(r, 1, 12), tracks = p->surfaces * whole(r, 10, 40);

		for (size_t i = 0; i < p->nzones; i++) {
			p->zones[i].spare_sectors = sectors;
			p->zones[i].spare_tracks = tracks;
		}
	}
}

/* ---- electronics ---- */

static void be_odd(struct rng *r, struct profile *p, bool is_old)
{
	p->cache.read_ahead = !chance(r, 0.06);
	if (chance(r, 0.1))
		p->cache.ahead_when = AHEAD_SEQUENTIAL;
	p->cache.drops_read = chance(r, 0.08);
	p->cache.write_forgets = chance(r, 0.1);
	p->wcache.is_fua_ignored = chance(r, 0.1);
	if (p->cache.bytes >= 64 << 20 && chance(r, 0.25)) {
		p->cache.segments = (uint32_t)log_between(r, 256, 4096.5);
		p->cache.sizing = CACHE_BY_USE;
	}
	if (is_old && chance(r, 0.3)) /* as fitted to traces of such drives */
		p->seek.restart_ms = between(r, 0.05, 0.4);
	if (is_old && chance(r, 0.2))
		p->ctl.read_watermark = between(r, 0.1, 1);
}

int profile_add_rare(struct profile *p, uint64_t seed, const char *class_name)
{
	bool is_old = strcmp(class_name, "old-scsi") == 0;
	int error = 0;
	struct rng r;

	if (p->kind != DISK_ROTATING)
		return 0;
	rng_init(&r, seed, 0x4a4e);
	if (p->surfaces > 1 && chance(&r, 0.12))
		vary_densities(&r, p);
	if (p->surfaces > 1 && chance(&r, 0.15))
		error = shift_edges(&r, p);
	keep_skips(p);
	spare(&r, p, is_old);
	be_odd(&r, p, is_old);
	if ((strcmp(class_name, "laptop") == 0 || strcmp(class_name, "bridge") == 0) && chance(&r, 0.2)) {
		p->own.standby_after_s = log_between(&r, 60, 1200);
		p->own.standby_s = between(&r, 4, 12);
	}
	if (chance(&r, 0.25))
		p->cache.fua_reads = FUA_READS_BUFFER;
	else if (chance(&r, strcmp(class_name, "bridge") == 0 ? 0.6 : 0.3)) /* a guess */
		p->cache.fua_reads = FUA_READS_REFUSED;
	return error;
}
