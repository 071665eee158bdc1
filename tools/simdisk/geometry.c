/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a sector is: closed forms for whole zones, binary search for zones and skipped slots (defects.c says which). */
#include "geometry.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "mechanics.h"

static uint32_t band_cylinders(const struct geo_zone *z, uint32_t band)
{
	uint32_t left = z->cylinders - band * z->band;

	return left < z->band ? left : z->band;
}

static void zone_fill(struct geo_zone *z, const struct profile_zone *pz, uint32_t surfaces)
{
	uint32_t h, sum = 0;

	z->cylinders = pz->cylinders;
	z->band = pz->band_tracks == 0 || pz->band_tracks > pz->cylinders ? pz->cylinders : pz->band_tracks;
	z->bands = (z->cylinders + z->band - 1) / z->band;
	for (h = 0; h < surfaces; h++) {
		if (pz->spt[h] == 0)
			continue;
		z->surface[z->heads] = h;
		z->spt[z->heads] = pz->spt[h];
		z->before[z->heads] = sum;
		sum += pz->spt[h];
		z->heads++;
	}
	z->before[z->heads] = sum;
	for (h = 0; h < z->heads; h++)
		z->before_back[h + 1] = z->before_back[h] + z->spt[z->heads - 1 - h];
	z->band_slots = (uint64_t)z->band * sum;
	z->slots = (uint64_t)z->cylinders * sum;
	z->tracks = (uint64_t)z->cylinders * z->heads;
	z->tracks_alternate = pz->tracks_alternate;
	z->heads_alternate = pz->heads_alternate;
	z->head_skew = pz->head_skew;
	z->cyl_skew = pz->cyl_skew;
	z->next_skew = pz->band_tracks == 1 ? pz->cyl_skew : pz->band_skew;
	z->band_advance = z->heads * (z->band - 1.0) * z->cyl_skew + (z->heads - 1.0) * z->head_skew + z->next_skew;
}

/* Angle from the zone's first track to the last track's. */
static double zone_advance(const struct geo_zone *z)
{
	double n = band_cylinders(z, z->bands - 1);

	return (z->bands - 1.0) * z->band_advance + z->heads * (n - 1.0) * z->cyl_skew +
	       (z->heads - 1.0) * z->head_skew;
}

const struct geo_zone *geo_zone_of_slot(const struct geometry *g, uint64_t slot)
{
	size_t low = 0, high = g->nzones;

	while (high - low > 1) {
		size_t mid = (low + high) / 2;

		if (g->zones[mid].first_slot <= slot)
			low = mid;
		else
			high = mid;
	}
	return &g->zones[low];
}

/* Number of skip runs whose first slot is <= slot. */
static size_t skips_up_to(const struct geometry *g, uint64_t slot)
{
	size_t low = 0, high = g->nskips;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (g->skips[mid].first <= slot)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint64_t geo_skipped_before(const struct geometry *g, uint64_t slot)
{
	size_t n = skips_up_to(g, slot);
	const struct geo_skip *s;

	if (n == 0)
		return 0;
	s = &g->skips[n - 1];
	return s->before + (slot - s->first < s->count ? slot - s->first : s->count);
}

/* The data sector's slot: the run i lies before it when first_i - before_i <= sector. */
uint64_t geo_slot(const struct geometry *g, uint64_t sector)
{
	size_t low = 0, high = g->nskips;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (g->skips[mid].first - g->skips[mid].before <= sector)
			low = mid + 1;
		else
			high = mid;
	}
	return low == 0 ? sector : sector + g->skips[low - 1].before + g->skips[low - 1].count;
}

void geo_slot_place(const struct geometry *g, uint64_t slot, struct place *ret)
{
	const struct geo_zone *z = geo_zone_of_slot(g, slot);
	uint64_t r = slot - z->first_slot;
	uint32_t band = (uint32_t)(r / z->band_slots), n, k = 0, j, head;
	const bool is_back = z->heads_alternate && (band & 1);
	const uint32_t *before = is_back ? z->before_back : z->before;
	double angle;

	r -= band * z->band_slots;
	n = band_cylinders(z, band);
	while ((uint64_t)before[k + 1] * n <= r)
		k++;
	r -= (uint64_t)before[k] * n;
	head = is_back ? z->heads - 1 - k : k;
	ret->spt = z->spt[head];
	j = (uint32_t)(r / ret->spt);
	ret->sector = (uint32_t)(r % ret->spt);
	ret->zone = (uint32_t)(z - g->zones);
	ret->surface = z->surface[head];
	ret->cylinder = z->first_cylinder + band * z->band + (z->tracks_alternate && (k & 1) ? n - 1 - j : j);
	ret->track = z->first_track + (uint64_t)band * z->band * z->heads + (uint64_t)k * n + j;
	angle = z->angle + band * z->band_advance + k * ((n - 1.0) * z->cyl_skew + z->head_skew) + j * z->cyl_skew;
	if (g->has_track_off)
		angle += mechanics_track_off(g->p, ret->track);
	ret->angle = geo_frac(angle + (double)ret->sector / ret->spt);
	ret->run = ret->spt - ret->sector;
}

void geometry_place(const struct geometry *g, uint64_t sector, struct place *ret)
{
	uint64_t slot;
	size_t next;

	assert(sector < g->sectors);
	if (g->arm[0]) {
		arms_place(g, sector, ret);
		return;
	}
	slot = geo_slot(g, sector);
	geo_slot_place(g, slot, ret);
	ret->sector_number = sector;
	if (g->nskips == 0)
		return;
	if (g->nremaps) {
		next = defects_remapped_before(g, sector);
		if (next < g->nremaps && g->remaps[next].sector == sector) {
			geo_slot_place(g, g->remaps[next].slot, ret);
			ret->sector_number = sector;
			ret->run = 1;
			return;
		}
		if (next < g->nremaps && g->remaps[next].sector - sector < ret->run)
			ret->run = (uint32_t)(g->remaps[next].sector - sector);
	}
	next = skips_up_to(g, slot);
	if (next < g->nskips && g->skips[next].first - slot < ret->run)
		ret->run = (uint32_t)(g->skips[next].first - slot);
}

uint64_t geo_slot_of(const struct geometry *g, uint32_t cylinder, uint32_t surface, uint32_t sector)
{
	const struct geo_zone *z = g->zones;
	uint32_t head = 0, band, n, k, j;
	bool is_back;

	while (cylinder - z->first_cylinder >= z->cylinders)
		if (++z == g->zones + g->nzones)
			return UINT64_MAX;
	while (head < z->heads && z->surface[head] != surface)
		head++;
	if (head == z->heads || sector >= z->spt[head])
		return UINT64_MAX;
	band = (cylinder - z->first_cylinder) / z->band;
	n = band_cylinders(z, band);
	is_back = z->heads_alternate && (band & 1);
	k = is_back ? z->heads - 1 - head : head;
	j = (cylinder - z->first_cylinder) % z->band;
	if (z->tracks_alternate && (k & 1))
		j = n - 1 - j;
	return z->first_slot + band * z->band_slots + (uint64_t)(is_back ? z->before_back[k] : z->before[k]) * n +
	       (uint64_t)j * z->spt[head] + sector;
}

uint64_t geometry_sector(const struct geometry *g, uint32_t cylinder, uint32_t surface, uint32_t sector)
{
	uint64_t slot = geo_slot_of(g, cylinder, surface, sector), data;

	if (slot == UINT64_MAX)
		return UINT64_MAX;
	data = slot - geo_skipped_before(g, slot);
	if (data >= g->sectors || geo_slot(g, data) != slot)
		return UINT64_MAX;
	return defects_remapped_before(g, data + 1) == defects_remapped_before(g, data) ? data : UINT64_MAX;
}

struct geometry *geometry_new(const struct profile *p)
{
	struct geometry *g = calloc(1, sizeof(*g));
	double angle = 0;
	size_t i;

	if (!g)
		return NULL;
	g->p = p;
	g->zones = calloc(p->nzones ? p->nzones : 1, sizeof(*g->zones));
	if (!g->zones) {
		geometry_free(g);
		return NULL;
	}
	g->ratio = p->physical_sector_bytes / p->logical_sector_bytes;
	g->period_ns = 60e9 / p->spindle.rpm;
	g->head_switch_ns = p->seek.head_switch_ms * 1e6;
	g->has_track_off = p->media.skew_sd_us > 0 || p->media.skew_far_p > 0;
	for (i = 0; i < p->nzones; i++) {
		struct geo_zone *z = &g->zones[i];

		zone_fill(z, &p->zones[i], p->surfaces);
		z->first_slot = g->slots;
		z->first_track = g->tracks;
		z->first_cylinder = g->cylinders;
		z->angle = i == 0 ? 0 : geo_frac(angle + z->next_skew);
		angle = z->angle + zone_advance(z);
		g->slots += z->slots;
		g->tracks += z->tracks;
		g->cylinders += z->cylinders;
	}
	g->nzones = p->nzones;
	g->sectors = g->slots;
	if (g->has_track_off || p->media.weak_share > 0) {
		g->zone_revolutions = malloc((p->nzones + 1) * sizeof(double));
		if (!g->zone_revolutions) {
			geometry_free(g);
			return NULL;
		}
		for (i = 0; i <= p->nzones; i++)
			g->zone_revolutions[i] = NAN;
	}
	if (!defects_skip(g) || !defects_remap(g)) {
		geometry_free(g);
		return NULL;
	}
	g->lbas = g->sectors * g->ratio;
	if (p->arms.kind != ARMS_ONE && p->kind == DISK_ROTATING && !arms_fill(g)) {
		geometry_free(g);
		return NULL;
	}
	if (p->kind == DISK_SSD || (p->capacity_lba && p->capacity_lba < g->lbas)) {
		g->lbas = p->capacity_lba;
		g->sectors = (g->lbas + g->ratio - 1) / g->ratio;
	}
	return g;
}

void geometry_free(struct geometry *g)
{
	if (!g)
		return;
	free(g->zones);
	free(g->skips);
	free(g->remaps);
	geometry_free(g->arm[0]);
	geometry_free(g->arm[1]);
	profile_done(&g->arm_profile[0]);
	profile_done(&g->arm_profile[1]);
	free(g->zone_revolutions);
	free(g);
}

const struct profile *geometry_profile(const struct geometry *g)
{
	return g->p;
}

uint64_t geometry_bytes(const struct geometry *g)
{
	return g->lbas * g->p->logical_sector_bytes;
}

uint64_t geometry_lbas(const struct geometry *g)
{
	return g->lbas;
}

uint64_t geometry_sectors(const struct geometry *g)
{
	return g->sectors;
}

uint64_t geometry_tracks(const struct geometry *g)
{
	return g->tracks;
}

uint32_t geometry_cylinders(const struct geometry *g)
{
	return g->cylinders;
}

double geometry_period_ns(const struct geometry *g)
{
	return g->period_ns;
}

double geometry_seek_ns(const struct geometry *g, uint32_t distance)
{
	return 1e6 * mechanics_seek_ms(g->p, distance);
}

double geometry_move_ns(const struct geometry *g, uint32_t cyl_a, uint32_t surface_a, uint32_t cyl_b,
                        uint32_t surface_b)
{
	double seek = geometry_seek_ns(g, cyl_a > cyl_b ? cyl_a - cyl_b : cyl_b - cyl_a);

	return surface_a != surface_b && g->head_switch_ns > seek ? g->head_switch_ns : seek;
}

double geometry_move(const struct geometry *g, const struct place *a, const struct place *b,
                     struct scatter *ret_scatter)
{
	uint32_t distance = a->cylinder > b->cylinder ? a->cylinder - b->cylinder : b->cylinder - a->cylinder;
	double seek = geometry_seek_ns(g, distance);

	if (a->surface != b->surface && g->head_switch_ns > seek) {
		*ret_scatter = g->p->seek.head_scatter;
		return g->head_switch_ns;
	}
	*ret_scatter = mechanics_seek_scatter(g->p, distance);
	return seek;
}
