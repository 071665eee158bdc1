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

#define PAIRS_BLOCKS 2500 /* spans of so many blocks may be no more than a few tracks */
#define PAIRS_FIRST  128  /* places to come from, evenly spread */

/* What lasts in front of the media: the interface, or a limit when its credit is spent. */
static double door_rate(const struct profile *p)
{
	double limit = p->limit_bytes_per_s * truth_share_left(p);

	return limit > 0.0 ? fmin(limit, p->interface_bytes_per_s) : p->interface_bytes_per_s;
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

static bool is_same_track(const struct place *a, const struct place *b)
{
	return a->cylinder == b->cylinder && a->surface == b->surface;
}

/* From the begin of a's run to the begin of b, where the run ends and b follows. */
static double step(const struct geometry *g, const struct place *a, uint32_t run, const struct place *b)
{
	double pass = (double)run / a->spt, end_angle = a->angle + pass, weak = truth_weak(g, a, run);

	if (is_same_track(a, b))
		return weak + pass + geo_wait(geo_frac(end_angle), b->angle, ANGLE_SLACK_NS / g->period_ns);
	return weak + pass + gap(g, a, end_angle, b);
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

/* How many whole bands from this slot on, the begin of one, can be passed at once: without skips, with a next one in
 * the zone. */
static uint64_t free_bands(const struct geometry *g, const struct geo_zone *z, uint64_t slot, uint64_t end_slot)
{
	uint64_t skipped = geo_skipped_before(g, slot), n = 0, most;

	if ((slot - z->first_slot) % z->band_slots || g->has_track_off || g->p->weak_share > 0)
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
			sum += (double)n * band;
			at += n * z->band_slots;
			geometry_place(g, at, &a);
			continue;
		}
		if (end - at <= a.run)
			return sum + (double)(end - at) / a.spt + truth_weak(g, &a, (uint32_t)(end - at));
		at += a.run;
		geometry_place(g, at, &b);
		sum += step(g, &a, a.run, &b);
		a = b;
	}
}

/*
 * Revolutions from the begin of `first` to the end of the sector before `end`. Where no band is like another a whole
 * zone takes long, and is asked for often: that is remembered.
 */
static double stream_revolutions(const struct geometry *g, uint64_t first, uint64_t end)
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
		*known = walk_revolutions(g, first, end);
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

static void to_sectors(const struct geometry *g, uint64_t first_byte, uint64_t end_byte, uint64_t *ret_first,
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
	double lost = g->p->retry_per_gb * (double)(end - first) * g->p->physical_sector_bytes / 1e9;

	return (stream_revolutions(g, first, end) + lost) * g->period_ns / (1 - truth_recalibrating(g));
}

static double flat_stream_ns(const struct geometry *g, uint64_t bytes)
{
	const struct profile *p = g->p;

	/* all channels at once */
	return (double)bytes * 1e9 /
	       fmin(door_rate(p), p->channels / (truth_flat_ns(p, p->read_latency_us) * 1e-9 / p->stripe_bytes +
	                                         1 / p->channel_bytes_per_s));
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
	to_sectors(g, first_byte, end_byte, &first, &end);
	if (first >= end)
		return 0;
	for (i = 0; i < g->p->nslows; i++)
		slow += (double)slow_count(g, &g->p->slows[i], first, end) * g->p->slows[i].revolutions;
	return plain_stream_ns(g, first, end) + slow * g->period_ns;
}

double truth_stream_ns(const struct geometry *g, uint64_t first_byte, uint64_t end_byte)
{
	uint64_t sector = g->p->logical_sector_bytes, at = first_byte;
	double sum = 0;
	size_t i;

	if (g->arm[0])
		return arms_stream_ns(g, first_byte, end_byte);
	for (i = 0; i < g->p->ntrims; i++) {
		const struct profile_range *r = &g->p->trims[i];
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

/* ---- seeks ---- */

/* ---- random access ---- */

#define BINS_MAX 4096u

struct weights {
	uint32_t first, cylinders; /* that the span touches */
	uint32_t surfaces;
	double *w;       /* [cylinder - first][surface]: share of the requests that begin there */
	double saved;    /* mean revolutions that reading from any sector on saves */
	double transfer; /* mean revolutions from the begin of the first sector to the end of the last */
};

/* Block starts first + i * len in [from, to). */
static uint64_t starts_in(uint64_t first, uint64_t len, uint64_t from, uint64_t to)
{
	uint64_t a = (from - first + len - 1) / len, b = (to - first + len - 1) / len;

	return b > a ? b - a : 0;
}

/* The bands that the span lies in: bands follow each other inwards, whatever the order of tracks within them. */
static void cylinder_range(const struct geometry *g, uint64_t first, uint64_t end, struct weights *w)
{
	const struct geo_zone *za, *zb;
	struct place a, b;
	uint32_t last;

	geo_slot_place(g, geo_slot(g, first), &a); /* where they would lie if they were not remapped */
	geo_slot_place(g, geo_slot(g, end - 1), &b);
	za = &g->zones[a.zone];
	zb = &g->zones[b.zone];
	w->first = a.cylinder - (a.cylinder - za->first_cylinder) % za->band;
	last = b.cylinder - (b.cylinder - zb->first_cylinder) % zb->band + zb->band - 1;
	if (g->nremaps) /* spare tracks are the zone's last */
		last = zb->first_cylinder + zb->cylinders - 1;
	if (last >= zb->first_cylinder + zb->cylinders)
		last = zb->first_cylinder + zb->cylinders - 1;
	w->cylinders = last - w->first + 1;
	w->surfaces = g->p->surfaces;
}

/* All in bytes; blocks i = 0 .. n-1 begin at first + i * len. */
static void fill_weights(const struct geometry *g, uint64_t first, uint64_t n, uint64_t len, struct weights *w)
{
	uint64_t sector = g->p->physical_sector_bytes, end = first + n * len, at = first / sector;
	double transfer = 0, block;
	const uint64_t sectors = (len + sector - 1) / sector; /* of a block */
	struct place a;

	block = (double)sectors;
	for (; at * sector < end; at += a.run) {
		uint64_t from = at * sector > first ? at * sector : first, to, count, last;

		geometry_place(g, at, &a);
		to = (at + a.run) * sector < end ? (at + a.run) * sector : end;
		count = starts_in(first, len, from, to);
		if (count == 0)
			continue;
		w->w[(size_t)(a.cylinder - w->first) * w->surfaces + a.surface] += (double)count / (double)n;
		last = first + ((from - first + len - 1) / len + count - 1) * len;
		transfer += (double)(count - 1) * block / a.spt;
		/* The head comes down within the block in its share of a revolution; its last sectors are not waited
		 * for then. */
		w->saved += (double)count / (double)n * block / a.spt * (block - 1) / 2 / a.spt;
		if ((last + len + sector - 1) / sector <= at + a.run)
			transfer += block / a.spt;
		else /* the last one goes over the run's end */
			transfer += stream_revolutions(g, last / sector, (last + len + sector - 1) / sector);
	}
	w->transfer = transfer / (double)n;
}

/* What is to be averaged over pairs of cylinders that are so far apart. */
typedef double of_distance(const struct geometry *g, double distance);

/* Its mean between two cylinders, uniform in bins of k cylinders that lie m bins apart. */
static double bin_mean(const struct geometry *g, uint64_t m, uint32_t k, of_distance *of)
{
	double sum = 0;
	int64_t d;

	for (d = -(int64_t)k + 1; d < (int64_t)k; d++) {
		int64_t distance = (int64_t)(m * k) + d;

		sum += ((double)k - fabs((double)d)) * of(g, (double)(distance < 0 ? -distance : distance));
	}
	return sum / ((double)k * k);
}

static double pair_mean(const struct geometry *g, const struct weights *w, of_distance *of)
{
	uint32_t k = (w->cylinders + BINS_MAX - 1) / BINS_MAX, bins = (w->cylinders + k - 1) / k, c, s, i, m;
	double *bin = calloc(bins, sizeof(double)), sum = 0;

	if (!bin)
		return NAN;
	for (c = 0; c < w->cylinders; c++)
		for (s = 0; s < w->surfaces; s++)
			bin[c / k] += w->w[(size_t)c * w->surfaces + s];
	for (m = 0; m < bins; m++) {
		double p = 0;

		for (i = 0; i + m < bins; i++)
			p += bin[i] * bin[i + m];
		sum += (m ? 2 : 1) * p * bin_mean(g, m, k, of);
	}
	free(bin);
	return sum;
}

/* Mean of the move of an access: not less than it takes to begin anew. */
static double access_mean_ns(const struct geometry *g, double distance)
{
	return fmax(truth_seek_mean_ns(g, distance), g->p->restart_ms * 1e6);
}

/* Where the surface changes too, the head switch may be the longer part: what that adds to the mean seek. */
static double mean_switch(const struct geometry *g, const struct weights *w)
{
	double sum = 0;
	uint32_t d, c, s;

	double switch_ns = g->head_switch_ns + scatter_mean(&g->p->head_scatter) * 1e6;

	for (d = 0; d < w->cylinders && d < 1000 && geometry_seek_ns(g, d) < g->head_switch_ns; d++) {
		double p = 0;

		for (c = 0; c + d < w->cylinders; c++) {
			const double *a = w->w + (size_t)c * w->surfaces, *b = w->w + (size_t)(c + d) * w->surfaces;
			double all_a = 0, all_b = 0, same = 0;

			for (s = 0; s < w->surfaces; s++) {
				all_a += a[s];
				all_b += b[s];
				same += a[s] * b[s];
			}
			p += all_a * all_b - same;
		}
		sum += (d ? 2 : 1) * p * (fmax(switch_ns, g->p->restart_ms * 1e6) - access_mean_ns(g, d));
	}
	return sum;
}

/* ---- spans of a few tracks ---- */

/*
 * Wait for the block after overhead and move. A drive that reads ahead goes on with that for what lies a track ahead at
 * most, instead of moving there by itself: mostly that is as soon, but where a track's skew exceeds overhead and head
 * switch it may be a revolution later.
 */
static double pair_wait(const struct geometry *g, const struct place *end, uint64_t after, const struct place *to,
                        uint64_t first)
{
	double overhead = g->p->overhead_ms * 1e6 / g->period_ns, move = 0, angle = end->angle + 1.0 / end->spt, stream;
	const double hit = (g->p->hit_overhead_ms + g->p->done_ms) * 1e6 / g->period_ns;
	struct scatter scatter = { 0 }, before = truth_before_move(g);

	overhead += g->p->done_ms * 1e6 / g->period_ns;
	if (!is_same_track(end, to))
		move = geometry_move(g, end, to, &scatter) / g->period_ns;
	move = fmax(move, g->p->restart_ms * 1e6 / g->period_ns);
	if (g->p->cache_bytes && g->p->read_ahead && g->p->ahead_when == AHEAD_ALWAYS && first >= after &&
	    (double)(first - after) <= end->spt * (1.0 + overhead)) {
		stream = stream_revolutions(g, after, first + 1) - 1.0 / to->spt;
		if (stream >= (g->p->ahead_overhead == OVERHEAD_HIT ? fmin(overhead, hit) : overhead))
			return stream - overhead - move;
	}
	if (scatter_is_on(&scatter) || scatter_is_on(&before)) {
		struct scatter all = scatter_sum(&before, &scatter);

		return truth_arrival(g, overhead + move, &all, geo_frac(to->angle - angle)) - overhead - move -
		       scatter_mean(&all) * 1e6 / g->period_ns;
	}
	return geo_wait(geo_frac(angle + overhead + move), to->angle, ANGLE_SLACK_NS / g->period_ns);
}

/*
 * Mean wait. Over many tracks it is half a revolution, as any angle is as likely as any other. In a span of few, of
 * which one is there in part only, some angles hold more blocks, and where the next block comes by depends on where the
 * last one was: the mean over the pairs of blocks. What has passed the head by the end of the overhead comes by a
 * revolution later, though a cache may have it.
 */
static double mean_latency(const struct geometry *g, uint64_t first, uint64_t n, uint32_t len)
{
	uint64_t size = g->p->physical_sector_bytes, step = (n + PAIRS_FIRST - 1) / PAIRS_FIRST, k, i, pairs = 0;
	struct place *begin, end;
	double sum = 0;

	if (n > PAIRS_BLOCKS || n < 2 || !(begin = calloc(n, sizeof(*begin))))
		return g->period_ns / 2;
	for (i = 0; i < n; i++)
		geometry_place(g, (first + i * len) / size, &begin[i]);
	for (k = step / 2; k < n; k += step) {
		uint64_t after = (first + (k + 1) * len - 1) / size + 1;

		geometry_place(g, after - 1, &end);
		for (i = 0; i < n; i++)
			if (i != k)
				sum += pair_wait(g, &end, after, &begin[i], (first + i * len) / size);
		pairs += n - 1;
	}
	free(begin);
	return sum / (double)pairs * g->period_ns;
}

/* Share of [first, end) that is trimmed. */
static double trimmed_share(const struct profile *p, uint64_t first_byte, uint64_t end_byte)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < p->ntrims; i++) {
		double from = (double)(p->trims[i].lba * p->logical_sector_bytes),
		       to = (double)((p->trims[i].lba + p->trims[i].count) * p->logical_sector_bytes);

		sum += fmax(0, fmin(to, (double)end_byte) - fmax(from, (double)first_byte));
	}
	return sum / (double)(end_byte - first_byte);
}

static void random_ssd(const struct geometry *g, double trimmed, uint32_t len, struct truth_random *ret)
{
	const struct profile *p = g->p;
	double channel =
		fmin(len, p->stripe_bytes) * 1e9 / p->channel_bytes_per_s + truth_flat_ns(p, p->read_latency_us);
	double bus = len * 1e9 / p->interface_bytes_per_s;

	*ret = (struct truth_random){ .transfer_ns = (1 - trimmed) * fmax(channel, bus) };
	if (trimmed > 0)
		ret->transfer_ns += trimmed * (truth_flat_ns(p, p->trimmed_us) + bus);
	ret->done_ns = truth_done_ns(g);
	ret->service_ns = truth_paced_ns(p, ret->transfer_ns + ret->done_ns);
}

void truth_random(const struct geometry *g, uint64_t first_byte, uint64_t end_byte, uint32_t len_bytes,
                  struct truth_random *ret)
{
	uint64_t sector = g->p->physical_sector_bytes, n, first, end;
	struct weights w = { 0 };

	*ret = (struct truth_random){ NAN, NAN, NAN, NAN, NAN, NAN };
	if (end_byte > geometry_bytes(g))
		end_byte = geometry_bytes(g);
	if (len_bytes == 0 || first_byte >= end_byte || (n = (end_byte - first_byte) / len_bytes) == 0)
		return;
	if (g->arm[0]) {
		arms_random(g, first_byte, end_byte, len_bytes, ret);
		return;
	}
	if (g->p->kind == DISK_SSD) {
		random_ssd(g, trimmed_share(g->p, first_byte, end_byte), len_bytes, ret);
		return;
	}
	if (trimmed_share(g->p, first_byte, end_byte) > 0) /* how far the arm goes then is not worked out */
		return;
	to_sectors(g, first_byte, first_byte + n * len_bytes, &first, &end);
	cylinder_range(g, first, end, &w);
	w.w = calloc((size_t)w.cylinders * w.surfaces, sizeof(double));
	if (!w.w)
		return;
	fill_weights(g, first_byte, n, len_bytes, &w);
	ret->overhead_ns = (g->p->overhead_ms + scatter_mean(&g->p->overhead_scatter)) * 1e6;
	ret->move_ns = pair_mean(g, &w, access_mean_ns) + mean_switch(g, &w);
	ret->latency_ns = mean_latency(g, first_byte, n, len_bytes) + pair_mean(g, &w, truth_missed_ns);
	if (g->p->is_zero_latency)
		w.transfer -= w.saved;
	ret->transfer_ns = fmax(w.transfer * g->period_ns, g->p->read_watermark * w.transfer * g->period_ns +
	                                                           len_bytes * 1e9 / g->p->interface_bytes_per_s);
	ret->transfer_ns +=
		g->p->weak_share * g->p->weak_p * w.transfer * g->period_ns / (g->p->weak_surface ? g->p->surfaces : 1);
	ret->transfer_ns +=
		(double)len_bytes / (double)sector * g->p->retry_per_gb * (double)sector / 1e9 * g->period_ns;
	ret->done_ns = truth_done_ns(g);
	ret->service_ns = ret->overhead_ns + ret->move_ns + ret->latency_ns + ret->transfer_ns + ret->done_ns;
	ret->service_ns = truth_paced_ns(g->p, ret->service_ns / (1 - truth_recalibrating(g)));
	free(w.w);
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

	for (i = 0; i < g->p->nbads; i++) {
		const struct profile_bad *b = &g->p->bads[i];
		struct truth_region r = { .first_byte = b->lba * sector,
			                  .end_byte = (b->lba + b->count) * sector,
			                  .is_bad = true };

		if (b->kind & BAD_READ)
			n = add_region(ret, n, max, &r);
	}
	first = n;
	for (i = 0; i < g->p->nslows; i++) {
		const struct profile_slow *s = &g->p->slows[i];
		struct truth_region r = { .first_byte = s->lba * sector, .end_byte = (s->lba + s->count) * sector };

		n = add_region(ret, n, max, &r);
	}
	for (i = first; i < n; i++)
		ret[i].rate_bytes_per_s = truth_rate(g, ret[i].first_byte, ret[i].end_byte);
	return n;
}
