/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a disk does on its own: it recalibrates now and then, reads its surfaces when nobody asks for anything, parks
 * its heads and stops its spindle. All of it is looked at when a request for the media comes: nothing of it can be seen
 * before.
 */
#include "disk.h"

/* When the k-th recalibration is due: at a time of its own within the k-th interval. */
static double recalibration_ns(const struct disk *d, uint64_t k)
{
	double u = (double)(rng_mix(rng_mix(d->p.seed ^ 0xca1b) ^ k) >> 11) * 0x1p-53;

	return ((double)k + u) * d->p.own.recalibrate_s * 1e9;
}

/* The mechanics are taken until then. */
static void take_until(struct disk *d, double t)
{
	d->head.free_at = fmax(d->head.free_at, t);
	d->head.stream.is_on = false;
	d->head.write_end = UINT64_MAX;
}

static void recalibrate(struct disk *d, double t)
{
	uint64_t past = (uint64_t)(t / (d->p.own.recalibrate_s * 1e9));
	double due;

	if (d->head.recalibrations + 2 < past) /* long over */
		d->head.recalibrations = past - 2;
	while ((due = recalibration_ns(d, d->head.recalibrations)) <= t) {
		double end = fmax(due, d->head.free_at) + d->p.own.recalibrate_ms * 1e6;

		d->head.recalibrations++;
		if (end > t) {
			stream_stop(d, fmin(due, t));
			take_until(d, end);
		}
	}
}

/* Idle since the mechanics were free; the scan's pieces follow each other from when it begins. */
static void scan(struct disk *d, double t, double idle)
{
	double since = idle - d->p.own.scan_after_s * 1e9, piece = d->p.own.scan_ms * 1e6, n;

	if (since < 0)
		return;
	n = floor(since / piece);
	stream_stop(d, t - since);
	d->head.cylinder = (uint32_t)(rng_mix(d->p.seed ^ rng_mix((uint64_t)n)) % d->g->cylinders);
	d->head.surface = 0;
	take_until(d, t + (n + 1) * piece - since);
}

void background_before(struct disk *d, double t)
{
	double idle = t - d->head.free_at;

	if ((d->p.own.begins_asleep && d->head.free_at <= 0) ||
	    (d->p.own.standby_after_s > 0 && idle >= d->p.own.standby_after_s * 1e9)) {
		stream_stop(d, t);
		take_until(d, t + d->p.own.standby_s * 1e9);
	} else if (d->p.own.park_after_s > 0 && idle >= d->p.own.park_after_s * 1e9) {
		stream_stop(d, t);
		take_until(d, t + d->p.own.park_ms * 1e6);
	} else if (d->p.own.scan_ms > 0 && idle > 0) {
		scan(d, t, idle);
	}
	if (d->p.own.recalibrate_s > 0)
		recalibrate(d, t);
}
