/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a measurement should find, computed from the profile alone: nothing here looks at how the model in disk.c and
 * media.c works, so that each is a check of the other (tests/unit/test_truth.c).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mechanics.h"
#include "truth_noise.h"

#define PIECES       16
#define PIECE_TRACKS 2048

/* What lasts in front of the media: the interface, or a limit when its credit is spent. */
static double door_rate(const struct profile *p)
{
	double limit = p->path.limit_bytes_per_s * truth_share_left(p);

	return limit > 0.0 ? fmin(limit, p->path.interface_bytes_per_s) : p->path.interface_bytes_per_s;
}

/* ---- streaming ---- */

/* Revolutions from the end of a track's sector to the begin of the next wanted one on another track. */
static double gap(const struct geometry *g, const struct place *a, double end_angle, const struct place *b)
{
	double slack = ANGLE_SLACK_NS / g->period_ns, arrival;
	struct scatter scatter;

	arrival = geometry_move(g, a, b, &scatter) / g->period_ns;
	if (scatter_is_on(&scatter))
		return truth_arrival(g, arrival, &scatter, geo_frac(b->angle - end_angle));
	return arrival + geo_wait(geo_frac(end_angle + arrival), b->angle, slack);
}

bool truth_is_same_track(const struct place *a, const struct place *b)
{
	return a->cylinder == b->cylinder && a->surface == b->surface;
}

/* From the begin of a's run to the begin of b, where the run ends and b follows; what weak sectors lose comes on top.
 */
static double step(const struct geometry *g, const struct place *a, uint32_t run, const struct place *b)
{
	double pass = (double)run / a->spt, end_angle = a->angle + pass;

	if (truth_is_same_track(a, b))
		return pass + geo_wait(geo_frac(end_angle), b->angle, ANGLE_SLACK_NS / g->period_ns);
	return pass + gap(g, a, end_angle, b);
}

/* Revolutions from a full band's first sector to the next band's first sector, as if nothing were skipped. */
static double band_revolutions(const struct geometry *g, const struct geo_zone *z)
{
	uint64_t slot = z->first_slot, end = slot + z->band_slots;
	struct place a, b;
	double sum = 0;

	geo_slot_place(g, slot, &a);
	while (slot < end) {
		slot += a.spt;
		geo_slot_place(g, slot, &b);
		sum += step(g, &a, a.spt, &b);
		a = b;
	}
	return sum;
}

/* What weak sectors lose in slots of which none is skipped, whole tracks of one zone. */
static double weak_revolutions(const struct geometry *g, uint64_t slot, uint64_t end_slot)
{
	struct place a;
	double sum = 0;

	if (!(g->p->media.weak_share > 0))
		return 0;
	for (; slot < end_slot; slot += a.spt) {
		geo_slot_place(g, slot, &a);
		sum += truth_weak(g, &a, a.spt);
	}
	return sum;
}

/* How many whole bands from this slot on, the begin of one, can be passed at once: without skips, with a next one in
 * the zone. */
static uint64_t free_bands(const struct geometry *g, const struct geo_zone *z, uint64_t slot, uint64_t end_slot)
{
	uint64_t skipped = geo_skipped_before(g, slot), n = 0, most;

	if ((slot - z->first_slot) % z->band_slots || g->has_track_off)
		return 0;
	most = (z->slots - (slot - z->first_slot)) / z->band_slots;
	if (most && slot + most * z->band_slots == z->first_slot + z->slots)
		most--; /* what follows the last band is another zone's */
	if ((end_slot - slot) / z->band_slots < most)
		most = (end_slot - slot) / z->band_slots;
	if (most > 1 && end_slot == slot + most * z->band_slots)
		most--;
	/* Halve until there is no skip in it: they are rare, or all is walked in steps. */
	for (n = most; n; n /= 2)
		if (geo_skipped_before(g, slot + n * z->band_slots + 1) == skipped &&
		    defects_remapped_before(g, slot - skipped + n * z->band_slots + 1) ==
		            defects_remapped_before(g, slot - skipped))
			break;
	return n;
}

/* Sectors with data of a zone. */
static uint64_t zone_first(const struct geometry *g, const struct geo_zone *z)
{
	return z->first_slot - geo_skipped_before(g, z->first_slot);
}

static uint64_t zone_end(const struct geometry *g, const struct geo_zone *z)
{
	uint64_t stop = z->first_slot + z->slots, end = stop - geo_skipped_before(g, stop);

	return end < g->sectors ? end : g->sectors;
}

static double walk_revolutions(const struct geometry *g, uint64_t first, uint64_t end)
{
	uint64_t at = first, end_slot;
	double sum = 0, band = -1;
	uint32_t band_zone = 0;
	struct place a, b;

	if (first >= end)
		return 0;
	end_slot = geo_slot(g, end - 1) + 1;
	geometry_place(g, at, &a);
	for (;;) {
		const struct geo_zone *z = &g->zones[a.zone];
		uint64_t n =
			a.sector == 0 && end - at > z->band_slots ? free_bands(g, z, geo_slot(g, at), end_slot) : 0;

		if (n) {
			if (band < 0 || band_zone != a.zone) {
				band = band_revolutions(g, z);
				band_zone = a.zone;
			}
			sum += (double)n * band +
			       weak_revolutions(g, geo_slot(g, at), geo_slot(g, at) + n * z->band_slots);
			at += n * z->band_slots;
			geometry_place(g, at, &a);
			continue;
		}
		if (end - at <= a.run)
			return sum + (double)(end - at) / a.spt + truth_weak(g, &a, (uint32_t)(end - at));
		at += a.run;
		geometry_place(g, at, &b);
		sum += truth_weak(g, &a, a.run) + step(g, &a, a.run, &b);
		a = b;
	}
}

/* Of a whole zone of which no track is like another: by pieces all over it, where it has twice their tracks. What
 * they lose scatters by a fifth of a revolution a track at most, so that is true to 1 in 900. */
static double zone_revolutions(const struct geometry *g, const struct geo_zone *z, uint64_t first, uint64_t end)
{
	uint64_t piece = (uint64_t)((double)(end - first) * PIECE_TRACKS / (double)z->tracks), read = 0;
	double sum = 0;

	if (!g->has_track_off || (double)z->tracks < 2.0 * PIECES * PIECE_TRACKS)
		return walk_revolutions(g, first, end);
	for (uint64_t i = 0; i < PIECES; i++, read += piece)
		sum += walk_revolutions(g, first + (end - first) / PIECES * i,
		                        first + (end - first) / PIECES * i + piece);
	return sum * (double)(end - first) / (double)read;
}

/*
 * Revolutions from the begin of `first` to the end of the sector before `end`. Where no band is like another a whole
 * zone takes long, and is asked for often: that is remembered.
 */
double truth_stream_revolutions(const struct geometry *g, uint64_t first, uint64_t end)
{
	const struct geo_zone *z;
	uint64_t slot;
	double *known;

	if (!g->zone_revolutions || first >= end)
		return walk_revolutions(g, first, end);
	slot = geo_slot(g, first);
	z = geo_zone_of_slot(g, slot);
	known = &g->zone_revolutions[z - g->zones];
	if (zone_first(g, z) != first || zone_end(g, z) != end)
		return walk_revolutions(g, first, end);
	if (isnan(*known))
		*known = zone_revolutions(g, z, first, end);
	return *known;
}

/* Slow sectors of the region in media sectors [first, end): how many. */
static uint64_t slow_count(const struct geometry *g, const struct profile_slow *s, uint64_t first, uint64_t end)
{
	uint64_t from = s->lba / g->ratio, to = (s->lba + s->count + g->ratio - 1) / g->ratio;
	uint64_t low = first > from ? (first - from + s->every - 1) / s->every : 0, high;

	if (end < to)
		to = end;
	if (to <= from)
		return 0;
	high = (to - from + s->every - 1) / s->every;
	return high > low ? high - low : 0;
}

void truth_sectors(const struct geometry *g, uint64_t first_byte, uint64_t end_byte, uint64_t *ret_first,
                   uint64_t *ret_end)
{
	uint64_t size = g->p->physical_sector_bytes;

	*ret_first = first_byte / size;
	*ret_end = (end_byte + size - 1) / size;
	if (*ret_end > g->sectors)
		*ret_end = g->sectors;
}

/* Without slow sectors. */
static double plain_stream_ns(const struct geometry *g, uint64_t first, uint64_t end)
{
	double lost = g->p->noise.retry_per_gb * (double)(end - first) * g->p->physical_sector_bytes / 1e9;

	return (truth_stream_revolutions(g, first, end) + lost) * g->period_ns / (1 - truth_recalibrating(g));
}

static double flat_stream_ns(const struct geometry *g, uint64_t bytes)
{
	const struct profile *p = g->p;

	/* all channels at once */
	return (double)bytes * 1e9 /
	       fmin(door_rate(p),
	            p->ssd.channels / (truth_flat_ns(p, p->ssd.read_latency_us) * 1e-9 / p->ssd.stripe_bytes +
	                               1 / p->ssd.channel_bytes_per_s));
}

/* Of what holds data. */
static double media_stream_ns(const struct geometry *g, uint64_t first_byte, uint64_t end_byte)
{
	uint64_t first, end;
	double slow = 0;
	size_t i;

	if (first_byte >= end_byte)
		return 0;
	if (g->p->kind == DISK_SSD)
		return flat_stream_ns(g, end_byte - first_byte);
	truth_sectors(g, first_byte, end_byte, &first, &end);
	if (first >= end)
		return 0;
	for (i = 0; i < g->p->media.nslows; i++)
		slow += (double)slow_count(g, &g->p->media.slows[i], first, end) * g->p->media.slows[i].revolutions;
	return plain_stream_ns(g, first, end) + slow * g->period_ns;
}

double truth_stream_ns(const struct geometry *g, uint64_t first_byte, uint64_t end_byte)
{
	uint64_t sector = g->p->logical_sector_bytes, at = first_byte;
	double sum = 0;
	size_t i;

	if (g->arm[0])
		return arms_stream_ns(g, first_byte, end_byte);
	for (i = 0; i < g->p->media.ntrims; i++) {
		const struct profile_range *r = &g->p->media.trims[i];
		uint64_t from = r->lba * sector, to = (r->lba + r->count) * sector;

		if (to <= at || from >= end_byte)
			continue;
		from = from > at ? from : at;
		to = to < end_byte ? to : end_byte;
		sum += media_stream_ns(g, at, from) + (double)(to - from) * 1e9 / door_rate(g->p);
		at = to;
	}
	return sum + media_stream_ns(g, at, end_byte);
}

double truth_rate(const struct geometry *g, uint64_t first_byte, uint64_t end_byte)
{
	double ns = truth_stream_ns(g, first_byte, end_byte);

	return ns > 0 ? fmin((double)(end_byte - first_byte) * 1e9 / ns, door_rate(g->p)) : (double)NAN;
}

/* ---- zones ---- */

static void zone_fill(const struct geometry *g, const struct geo_zone *z, uint64_t first, uint64_t end,
                      bool is_streamed, struct truth_zone *ret)
{
	uint64_t sector = g->p->physical_sector_bytes, size = geometry_bytes(g);
	double ns = is_streamed ? plain_stream_ns(g, first, end) : (double)NAN;
	uint32_t h;

	*ret = (struct truth_zone){
		.first_byte = first * sector,
		.end_byte = end * sector < size ? end * sector : size,
		.first_cylinder = z->first_cylinder,
		.cylinders = z->cylinders,
	};
	for (h = 0; h < z->heads; h++)
		ret->spt[z->surface[h]] = z->spt[h];
	ret->bytes_per_track = (double)z->before[z->heads] / z->heads * (double)sector;
	ret->media_bytes_per_s = ret->bytes_per_track * 1e9 / g->period_ns;
	ret->sustained_bytes_per_s =
		is_streamed ? fmin((double)((end - first) * sector) * 1e9 / ns, door_rate(g->p)) : (double)NAN;
}

size_t truth_list_zones(const struct geometry *g, bool is_streamed, struct truth_zone *ret, size_t max)
{
	size_t i, n = 0;

	if (g->arm[0])
		return arms_zones(g, is_streamed, ret, max);
	for (i = 0; i < g->nzones && n < max; i++) {
		const struct geo_zone *z = &g->zones[i];
		uint64_t first = zone_first(g, z), end = zone_end(g, z);

		if (first < end)
			zone_fill(g, z, first, end, is_streamed, &ret[n++]);
	}
	return n;
}

size_t truth_zones(const struct geometry *g, struct truth_zone *ret, size_t max)
{
	return truth_list_zones(g, true, ret, max);
}

double truth_rate_at(const struct geometry *g, uint64_t byte)
{
	struct truth_zone z[PROFILE_ZONES_MAX];
	size_t i, n;

	if (g->p->kind == DISK_SSD)
		return truth_rate(g, 0, geometry_bytes(g));
	n = truth_zones(g, z, PROFILE_ZONES_MAX);
	for (i = 0; i < n; i++)
		if (byte < z[i].end_byte)
			return z[i].sustained_bytes_per_s;
	return NAN;
}

double truth_harmonic_mean(const struct geometry *g)
{
	struct truth_zone z[PROFILE_ZONES_MAX];
	size_t i, n = truth_zones(g, z, PROFILE_ZONES_MAX);
	double ns = 0;

	if (g->p->kind == DISK_SSD)
		return truth_rate(g, 0, geometry_bytes(g));
	for (i = 0; i < n; i++) /* zone by zone: the interface may be slower than the outer ones */
		ns += fmax(truth_stream_ns(g, z[i].first_byte, z[i].end_byte),
		           (double)(z[i].end_byte - z[i].first_byte) * 1e9 / door_rate(g->p));
	return (double)geometry_bytes(g) * 1e9 / ns;
}

/* ---- regions ---- */

static size_t add_region(struct truth_region *ret, size_t n, size_t max, const struct truth_region *r)
{
	if (n && ret[n - 1].is_bad == r->is_bad && ret[n - 1].end_byte == r->first_byte) {
		ret[n - 1].end_byte = r->end_byte;
		return n;
	}
	if (n < max)
		ret[n++] = *r;
	return n;
}

size_t truth_regions(const struct geometry *g, struct truth_region *ret, size_t max)
{
	uint64_t sector = g->p->logical_sector_bytes;
	size_t i, n = 0, first;

	for (i = 0; i < g->p->media.nbads; i++) {
		const struct profile_bad *b = &g->p->media.bads[i];
		struct truth_region r = { .first_byte = b->lba * sector,
			                  .end_byte = (b->lba + b->count) * sector,
			                  .is_bad = true };

		if (b->kind & BAD_READ)
			n = add_region(ret, n, max, &r);
	}
	first = n;
	for (i = 0; i < g->p->media.nslows; i++) {
		const struct profile_slow *s = &g->p->media.slows[i];
		struct truth_region r = { .first_byte = s->lba * sector, .end_byte = (s->lba + s->count) * sector };

		n = add_region(ret, n, max, &r);
	}
	for (i = first; i < n; i++)
		ret[i].rate_bytes_per_s = truth_rate(g, ret[i].first_byte, ret[i].end_byte);
	return n;
}
