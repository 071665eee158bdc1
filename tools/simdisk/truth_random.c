/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What random accesses should take, computed from the profile alone as all of truth.c. */
#include <math.h>
#include <stdlib.h>

#include "mechanics.h"
#include "truth_noise.h"

#define PAIRS_BLOCKS 2500 /* spans of so many blocks may be no more than a few tracks */
#define PAIRS_FIRST  128  /* places to come from, evenly spread */

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
			transfer += truth_stream_revolutions(g, last / sector, (last + len + sector - 1) / sector);
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
	return fmax(truth_seek_mean_ns(g, distance), g->p->seek.restart_ms * 1e6);
}

/* Where the surface changes too, the head switch may be the longer part: what that adds to the mean seek. */
static double mean_switch(const struct geometry *g, const struct weights *w)
{
	double sum = 0;
	uint32_t d, c, s;

	double switch_ns = g->head_switch_ns + scatter_mean(&g->p->seek.head_scatter) * 1e6;

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
		sum += (d ? 2 : 1) * p * (fmax(switch_ns, g->p->seek.restart_ms * 1e6) - access_mean_ns(g, d));
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
	double overhead = g->p->ctl.overhead_ms * 1e6 / g->period_ns, move = 0, angle = end->angle + 1.0 / end->spt,
	       stream;
	const double hit = (g->p->ctl.hit_overhead_ms + g->p->ctl.done_ms) * 1e6 / g->period_ns;
	struct scatter scatter = { 0 }, before = truth_before_move(g);

	overhead += g->p->ctl.done_ms * 1e6 / g->period_ns;
	if (!truth_is_same_track(end, to))
		move = geometry_move(g, end, to, &scatter) / g->period_ns;
	move = fmax(move, g->p->seek.restart_ms * 1e6 / g->period_ns);
	if (g->p->cache.bytes && g->p->cache.read_ahead && g->p->cache.ahead_when == AHEAD_ALWAYS && first >= after &&
	    (double)(first - after) <= end->spt * (1.0 + overhead)) {
		stream = truth_stream_revolutions(g, after, first + 1) - 1.0 / to->spt;
		if (stream >= (g->p->cache.ahead_overhead == OVERHEAD_HIT ? fmin(overhead, hit) : overhead))
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

	for (i = 0; i < p->media.ntrims; i++) {
		double from = (double)(p->media.trims[i].lba * p->logical_sector_bytes),
		       to = (double)((p->media.trims[i].lba + p->media.trims[i].count) * p->logical_sector_bytes);

		sum += fmax(0, fmin(to, (double)end_byte) - fmax(from, (double)first_byte));
	}
	return sum / (double)(end_byte - first_byte);
}

static void random_ssd(const struct geometry *g, double trimmed, uint32_t len, struct truth_random *ret)
{
	const struct profile *p = g->p;
	double channel = fmin(len, p->ssd.stripe_bytes) * 1e9 / p->ssd.channel_bytes_per_s +
	                 truth_flat_ns(p, p->ssd.read_latency_us);
	double bus = len * 1e9 / p->path.interface_bytes_per_s;

	*ret = (struct truth_random){ .transfer_ns = (1 - trimmed) * fmax(channel, bus) };
	if (trimmed > 0)
		ret->transfer_ns += trimmed * (truth_flat_ns(p, p->media.trimmed_us) + bus);
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
	truth_sectors(g, first_byte, first_byte + n * len_bytes, &first, &end);
	cylinder_range(g, first, end, &w);
	w.w = calloc((size_t)w.cylinders * w.surfaces, sizeof(double));
	if (!w.w)
		return;
	fill_weights(g, first_byte, n, len_bytes, &w);
	ret->overhead_ns = (g->p->ctl.overhead_ms + scatter_mean(&g->p->ctl.overhead_scatter)) * 1e6;
	ret->move_ns = pair_mean(g, &w, access_mean_ns) + mean_switch(g, &w);
	ret->latency_ns = mean_latency(g, first_byte, n, len_bytes) + pair_mean(g, &w, truth_missed_ns);
	if (g->p->cache.is_zero_latency)
		w.transfer -= w.saved;
	ret->transfer_ns = fmax(w.transfer * g->period_ns, g->p->ctl.read_watermark * w.transfer * g->period_ns +
	                                                           len_bytes * 1e9 / g->p->path.interface_bytes_per_s);
	ret->transfer_ns += g->p->media.weak_share * g->p->media.weak_p * w.transfer * g->period_ns /
	                    (g->p->media.weak_surface ? g->p->surfaces : 1);
	ret->transfer_ns +=
		(double)len_bytes / (double)sector * g->p->noise.retry_per_gb * (double)sector / 1e9 * g->period_ns;
	ret->done_ns = truth_done_ns(g);
	ret->service_ns = ret->overhead_ns + ret->move_ns + ret->latency_ns + ret->transfer_ns + ret->done_ns;
	ret->service_ns = truth_paced_ns(g->p, ret->service_ns / (1 - truth_recalibrating(g)));
	free(w.w);
}
