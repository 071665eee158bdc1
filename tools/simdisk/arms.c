/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two arms: each has half of the surfaces, and with them a half of the LBA range, or every second stripe of it; or two
 * whole disks, one after the other. Each arm's part is a geometry of its own; here is which byte lies on which.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "geometry.h"

static void fill_tracks(const struct profile *p, size_t arm, uint32_t surface, uint32_t *spt)
{
	if (p->arms.kind != ARMS_JOINED) {
		if ((surface < p->surfaces / 2) != (arm == 0))
			*spt = 0;
	} else if (arm == 1 && *spt) {
		*spt = (uint32_t)fmax(1, round(*spt * p->arms.joined_density));
	}
}

bool arms_fill(struct geometry *g)
{
	const struct profile *p = g->p;
	uint64_t stripe = p->arms.stripe_bytes / p->logical_sector_bytes;
	size_t i, z;
	uint32_t s;

	for (i = 0; i < 2; i++) {
		struct profile *arm = &g->arm_profile[i];

		if (profile_copy(arm, p) < 0)
			return false;
		arm->arms.kind = ARMS_ONE;
		arm->capacity_lba = 0;
		arm->seed += i;
		for (z = 0; z < arm->nzones; z++)
			for (s = 0; s < PROFILE_SURFACES_MAX; s++)
				fill_tracks(p, i, s, &arm->zones[z].spt[s]);
		if (p->arms.kind == ARMS_JOINED && i == 1)
			arm->media.nskips = 0; /* the list is the first one's */
		g->arm[i] = geometry_new(arm);
		if (!g->arm[i])
			return false;
		arm->capacity_lba = geometry_lbas(g->arm[i]);
	}
	if (p->arms.kind != ARMS_INTERLEAVED) {
		g->lbas = g->arm[0]->lbas + g->arm[1]->lbas;
	} else {
		uint64_t least = g->arm[0]->lbas < g->arm[1]->lbas ? g->arm[0]->lbas : g->arm[1]->lbas;

		g->lbas = 2 * (least / stripe * stripe);
	}
	g->sectors = g->lbas / g->ratio;
	return true;
}

/* Bytes of an interleaved arm before a byte of the disk. */
static uint64_t before(const struct geometry *g, size_t arm, uint64_t byte)
{
	uint64_t stripe = g->p->arms.stripe_bytes, k = byte / stripe, sum = k / 2 * stripe;

	if (k % 2 == arm)
		return sum + byte % stripe;
	return arm == 0 ? sum + stripe : sum;
}

void geometry_on_arm(const struct geometry *g, size_t arm, uint64_t first_byte, uint64_t end_byte, uint64_t *ret_first,
                     uint64_t *ret_end)
{
	uint64_t half = geometry_bytes(g->arm[0]);

	if (g->p->arms.kind == ARMS_INTERLEAVED) {
		*ret_first = before(g, arm, first_byte);
		*ret_end = before(g, arm, end_byte);
	} else if (arm == 0) {
		*ret_first = first_byte < half ? first_byte : half;
		*ret_end = end_byte < half ? end_byte : half;
	} else {
		*ret_first = first_byte > half ? first_byte - half : 0;
		*ret_end = end_byte > half ? end_byte - half : 0;
	}
}

void arms_place(const struct geometry *g, uint64_t sector, struct place *ret)
{
	uint64_t size = g->p->physical_sector_bytes, byte = sector * size, from, to;
	size_t arm = 0;

	geometry_on_arm(g, 0, byte, byte + size, &from, &to);
	if (to == from) {
		arm = 1;
		geometry_on_arm(g, 1, byte, byte + size, &from, &to);
	}
	geometry_place(g->arm[arm], from / size, ret);
	ret->sector_number = sector;
	ret->track += arm ? geometry_tracks(g->arm[0]) : 0;
	if (g->p->arms.kind == ARMS_INTERLEAVED) {
		uint64_t left = (g->p->arms.stripe_bytes - byte % g->p->arms.stripe_bytes) / size;

		ret->run = left < ret->run ? (uint32_t)left : ret->run;
	}
}

/* ---- truth ---- */

double arms_stream_ns(const struct geometry *g, uint64_t first_byte, uint64_t end_byte)
{
	double ns[2];
	size_t i;

	for (i = 0; i < 2; i++) {
		uint64_t from, to;

		geometry_on_arm(g, i, first_byte, end_byte, &from, &to);
		ns[i] = to > from ? truth_stream_ns(g->arm[i], from, to) : 0;
	}
	return g->p->arms.kind != ARMS_INTERLEAVED ? ns[0] + ns[1] : fmax(ns[0], ns[1]);
}

/* One arm's zones after the other's. */
static size_t halves_zones(const struct geometry *g, bool is_streamed, struct truth_zone *ret, size_t max)
{
	size_t n = truth_list_zones(g->arm[0], is_streamed, ret, max);
	size_t m = truth_list_zones(g->arm[1], is_streamed, ret + n, max - n), i;
	uint64_t half = geometry_bytes(g->arm[0]);

	for (i = n; i < n + m; i++) {
		ret[i].first_byte += half;
		ret[i].end_byte += half;
	}
	return n + m;
}

/* Both arms' zones have the same cylinders; where their edges differ there is one more zone between them. */
static size_t interleaved_zones(const struct geometry *g, bool is_streamed, struct truth_zone *ret, size_t max)
{
	struct truth_zone *z = calloc(2 * (size_t)PROFILE_ZONES_MAX, sizeof(*z)),
			  *arm[2] = { z, z + PROFILE_ZONES_MAX };
	size_t n[2], at[2] = { 0, 0 }, i, out = 0;
	uint64_t first = 0, size = geometry_bytes(g) / 2;

	for (i = 0; z && i < 2; i++)
		n[i] = truth_list_zones(g->arm[i], is_streamed, arm[i], PROFILE_ZONES_MAX);
	while (z && first < size && at[0] < n[0] && at[1] < n[1] && out < max) {
		const struct truth_zone *a = &arm[0][at[0]], *b = &arm[1][at[1]];
		uint64_t end = a->end_byte < b->end_byte ? a->end_byte : b->end_byte;

		end = end < size ? end : size;
		ret[out] = *a;
		ret[out].first_byte = 2 * first;
		ret[out].end_byte = 2 * end;
		ret[out].bytes_per_track = (a->bytes_per_track + b->bytes_per_track) / 2;
		ret[out].media_bytes_per_s = 2 * fmin(a->media_bytes_per_s, b->media_bytes_per_s);
		ret[out].sustained_bytes_per_s = fmin(2 * fmin(a->sustained_bytes_per_s, b->sustained_bytes_per_s),
		                                      g->p->path.interface_bytes_per_s);
		for (i = 0; i < PROFILE_SURFACES_MAX; i++)
			ret[out].spt[i] = a->spt[i] + b->spt[i]; /* each surface is one arm's */
		out++;
		at[0] += a->end_byte <= end;
		at[1] += b->end_byte <= end;
		first = end;
	}
	free(z);
	return out;
}

size_t arms_zones(const struct geometry *g, bool is_streamed, struct truth_zone *ret, size_t max)
{
	return g->p->arms.kind != ARMS_INTERLEAVED ? halves_zones(g, is_streamed, ret, max)
	                                           : interleaved_zones(g, is_streamed, ret, max);
}

/* Each arm goes from its own last request to its next: what the other did meanwhile is nothing to it. */
void arms_random(const struct geometry *g, uint64_t first_byte, uint64_t end_byte, uint32_t len_bytes,
                 struct truth_random *ret)
{
	struct truth_random sum = { 0 };
	size_t i;

	for (i = 0; i < 2; i++) {
		struct truth_random one;
		uint64_t from, to;
		double share;

		geometry_on_arm(g, i, first_byte, end_byte, &from, &to);
		if (to - from < len_bytes)
			continue;
		truth_random(g->arm[i], from, to, len_bytes, &one);
		share = (double)(to - from) / (double)(end_byte - first_byte);
		sum.overhead_ns += share * one.overhead_ns;
		sum.move_ns += share * one.move_ns;
		sum.latency_ns += share * one.latency_ns;
		sum.transfer_ns += share * one.transfer_ns;
		sum.done_ns += share * one.done_ns;
		sum.service_ns += share * one.service_ns;
	}
	*ret = sum;
}
