/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a disk is: defaults, lists, and the one check that all other files rely on. */
#include "model.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "mechanics.h"
#include "profile_text.h"

void profile_init(struct profile *p)
{
	*p = (struct profile){
		.logical_sector_bytes = 512,
		.spindle.rpm = 7200,
		.spindle.wobble_period_s = 1,
		.surfaces = 1,
		.seek.a_ms = 1,
		.seek.b_ms = 0.05,
		.seek.knee = INFINITY,
		.seek.head_switch_ms = 1,
		.seek.write_settle_ms = 0.5,
		.ctl.overhead_ms = 0.2,
		.ctl.hit_overhead_ms = 0.05,
		.path.interface_bytes_per_s = 300e6,
		.cache.bytes = 8 << 20,
		.cache.segments = 16,
		.cache.read_ahead = true,
		.wcache.start = 0.5,
		.wcache.delay_ms = 500,
		.ctl.queue_depth = 32,
		.ctl.queue = QUEUE_SATF,
		.ctl.max_age_ms = 500,
		.ssd.channels = 8,
		.ssd.read_latency_us = 80,
		.ssd.write_latency_us = 20,
		.ssd.flush_latency_us = 500,
		.ssd.channel_bytes_per_s = 200e6,
		.ssd.stripe_bytes = 16384,
		.seed = 1,
		.faults.gone_at_s = INFINITY,
		.media.slip_run = 1,
		.noise.unrest_s = 0.1,
		.mcache.idle_ms = 1000,
		.mcache.direct_bytes = 1 << 20,
		.arms.stripe_bytes = 1 << 20,
		.arms.joined_density = 1,
		.media.trimmed_us = NAN,
		.cache.keep_behind = 0.5,
		.wcache.is_on = 1,
		.ctl.done_ms = NAN,
		.spindle.drift_s = 600,
	};
}

#define LIST(list, count)                                                                                             \
	{                                                                                                             \
		offsetof(struct profile, list), offsetof(struct profile, count), sizeof(*((struct profile *)0)->list) \
	}

/* All that a profile has on the heap. */
static const struct list_of {
	size_t at, n, size;
} lists[] = {
	LIST(zones, nzones),
	LIST(media.skips, media.nskips),
	LIST(media.bads, media.nbads),
	LIST(media.slows, media.nslows),
	LIST(media.trims, media.ntrims),
	LIST(faults.fails, faults.nfails),
	LIST(faults.stalls, faults.nstalls),
	LIST(faults.miswrites.v, faults.miswrites.n),
	LIST(seek.points, seek.npoints),
	LIST(seek.scatters, seek.nscatters),
};

static void **list_at(struct profile *p, const struct list_of *l)
{
	return (void **)((char *)p + l->at);
}

static size_t *list_n(struct profile *p, const struct list_of *l)
{
	return (size_t *)((char *)p + l->n);
}

void profile_done(struct profile *p)
{
	size_t i;

	for (i = 0; p && i < ARRAY_LEN(lists); i++) {
		free(*list_at(p, &lists[i]));
		*list_at(p, &lists[i]) = NULL;
		*list_n(p, &lists[i]) = 0;
	}
}

int profile_copy(struct profile *ret, const struct profile *p)
{
	struct profile c = *p;
	size_t i;

	for (i = 0; i < ARRAY_LEN(lists); i++)
		*list_at(&c, &lists[i]) = NULL;
	for (i = 0; i < ARRAY_LEN(lists); i++) {
		size_t bytes = *list_n(&c, &lists[i]) * lists[i].size;
		void *copy = bytes ? malloc(bytes) : NULL;

		if (bytes && !copy) {
			profile_done(&c);
			return -ENOMEM;
		}
		if (bytes)
			memcpy(copy, *(void *const *)((const char *)p + lists[i].at), bytes);
		*list_at(&c, &lists[i]) = copy;
	}
	*ret = c;
	return 0;
}

/* Arrays grow at powers of two: whether there is room follows from the count. */
static int list_add(void **v, size_t *n, size_t size, size_t max, const void *item)
{
	if (*n >= max)
		return -E2BIG;
	if ((*n & (*n - 1)) == 0) {
		void *bigger = realloc(*v, (*n ? *n * 2 : 1) * size);

		if (!bigger)
			return -ENOMEM;
		*v = bigger;
	}
	memcpy((char *)*v + *n * size, item, size);
	(*n)++;
	return 0;
}

#define LIST_ADD(list, n, max, item) list_add((void **)&(list), &(n), sizeof(*(list)), max, item)

int profile_add_zone(struct profile *p, const struct profile_zone *zone)
{
	return LIST_ADD(p->zones, p->nzones, PROFILE_ZONES_MAX, zone);
}

int profile_add_skip(struct profile *p, const struct profile_skip *skip)
{
	return LIST_ADD(p->media.skips, p->media.nskips, PROFILE_LIST_MAX, skip);
}

int profile_add_bad(struct profile *p, const struct profile_bad *bad)
{
	return LIST_ADD(p->media.bads, p->media.nbads, PROFILE_LIST_MAX, bad);
}

int profile_add_slow(struct profile *p, const struct profile_slow *slow)
{
	return LIST_ADD(p->media.slows, p->media.nslows, PROFILE_LIST_MAX, slow);
}

int profile_add_fail(struct profile *p, const struct profile_fail *fail)
{
	return LIST_ADD(p->faults.fails, p->faults.nfails, PROFILE_LIST_MAX, fail);
}

int profile_add_stall(struct profile *p, const struct profile_stall *stall)
{
	return LIST_ADD(p->faults.stalls, p->faults.nstalls, PROFILE_LIST_MAX, stall);
}

int profile_add_miswrite(struct profile *p, const struct profile_miswrite *m)
{
	return LIST_ADD(p->faults.miswrites.v, p->faults.miswrites.n, PROFILE_LIST_MAX, m);
}

int profile_add_trim(struct profile *p, const struct profile_range *range)
{
	return LIST_ADD(p->media.trims, p->media.ntrims, PROFILE_LIST_MAX, range);
}

int profile_add_seek_point(struct profile *p, const struct profile_seek_point *point)
{
	return LIST_ADD(p->seek.points, p->seek.npoints, PROFILE_LIST_MAX, point);
}

int profile_add_seek_scatter(struct profile *p, const struct profile_seek_scatter *scatter)
{
	return LIST_ADD(p->seek.scatters, p->seek.nscatters, PROFILE_LIST_MAX, scatter);
}

/* ---- profile_finish ---- */

int profile_number(const struct profile *p, const char *what, double x, double min, double max, struct err *err)
{
	if (x >= min && x <= max)
		return 0;
	return err_set(err, -EINVAL, "disk profile %s: %s is %g, it must be between %g and %g", p->name, what, x, min,
	               max);
}

enum bound_type { BOUND_U32, BOUND_U64, BOUND_DOUBLE };

#define BOUND(what, member, type, min, max)                            \
	{                                                              \
		what, offsetof(struct profile, member), type, min, max \
	}

/* What single values must keep to. */
static const struct bound {
	const char *what;
	size_t offset;
	enum bound_type type;
	double min, max;
} bounds[] = {
	BOUND("the sector size", logical_sector_bytes, BOUND_U32, 512, 65536),
	BOUND("the physical sector size", physical_sector_bytes, BOUND_U32, 512, 65536),
	BOUND("rpm", spindle.rpm, BOUND_DOUBLE, 60, 1e6),
	BOUND("wobble_period_s", spindle.wobble_period_s, BOUND_DOUBLE, 1e-3, 1e6),
	BOUND("surfaces", surfaces, BOUND_U32, 1, PROFILE_SURFACES_MAX),
	BOUND("seek A", seek.a_ms, BOUND_DOUBLE, 0, 1e5),
	BOUND("seek B", seek.b_ms, BOUND_DOUBLE, 0, 1e3),
	BOUND("seek C", seek.c_ms, BOUND_DOUBLE, 0, 1e5),
	BOUND("seek E", seek.e_ms, BOUND_DOUBLE, 0, 1e3),
	BOUND("seek KNEE", seek.knee, BOUND_DOUBLE, 0, (double)INFINITY),
	BOUND("settle_ms", seek.settle_ms, BOUND_DOUBLE, 0, 1e5),
	BOUND("head_switch_ms", seek.head_switch_ms, BOUND_DOUBLE, 0, 1e5),
	BOUND("write_settle_ms", seek.write_settle_ms, BOUND_DOUBLE, 0, 1e5),
	BOUND("overhead_ms", ctl.overhead_ms, BOUND_DOUBLE, 0, 1e5),
	BOUND("hit_overhead_ms", ctl.hit_overhead_ms, BOUND_DOUBLE, 0, 1e5),
	BOUND("the interface's rate", path.interface_bytes_per_s, BOUND_DOUBLE, 1e3, 1e12),
	BOUND("the limit", path.limit_bytes_per_s, BOUND_DOUBLE, 0, 1e12),
	BOUND("the credit", path.credit_bytes, BOUND_U64, 0, 0x1p50),
	BOUND("the cache", cache.bytes, BOUND_U64, 0, 0x1p40),
	BOUND("segments", cache.segments, BOUND_U32, 1, 4096),
	BOUND("the write cache", wcache.bytes, BOUND_U64, 0, 0x1p40),
	BOUND("write_start", wcache.start, BOUND_DOUBLE, 0, 1),
	BOUND("write_delay_ms", wcache.delay_ms, BOUND_DOUBLE, 0, 1e9),
	BOUND("queue_depth", ctl.queue_depth, BOUND_U32, 1, 65536),
	BOUND("max_age_ms", ctl.max_age_ms, BOUND_DOUBLE, 0, 1e9),
	BOUND("channels", ssd.channels, BOUND_U32, 1, 4096),
	BOUND("read_latency_us", ssd.read_latency_us, BOUND_DOUBLE, 0, 1e8),
	BOUND("write_latency_us", ssd.write_latency_us, BOUND_DOUBLE, 0, 1e8),
	BOUND("flush_latency_us", ssd.flush_latency_us, BOUND_DOUBLE, 0, 1e8),
	BOUND("a channel's rate", ssd.channel_bytes_per_s, BOUND_DOUBLE, 1e3, 1e12),
	BOUND("stripe_bytes", ssd.stripe_bytes, BOUND_U32, 512, 1e9),
	BOUND("jitter_us", noise.jitter_us, BOUND_DOUBLE, 0, 1e8),
	BOUND("the probability of outliers", noise.outlier_p, BOUND_DOUBLE, 0, 1),
	BOUND("outlier_ms", noise.outlier_ms, BOUND_DOUBLE, 0, 1e6),
	BOUND("retry_per_gb", noise.retry_per_gb, BOUND_DOUBLE, 0, 1e7),
	BOUND("gone_at_s", faults.gone_at_s, BOUND_DOUBLE, 0, (double)INFINITY),
};

static int check_scalars(const struct profile *p, struct err *err)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(bounds); i++) {
		const void *at = (const char *)p + bounds[i].offset;
		double x = bounds[i].type == BOUND_U32   ? (double)*(const uint32_t *)at
		           : bounds[i].type == BOUND_U64 ? (double)*(const uint64_t *)at
		                                         : *(const double *)at;
		int r = profile_number(p, bounds[i].what, x, bounds[i].min, bounds[i].max, err);

		if (r < 0)
			return r;
	}
	if (p->logical_sector_bytes & (p->logical_sector_bytes - 1) ||
	    p->physical_sector_bytes & (p->physical_sector_bytes - 1) ||
	    p->physical_sector_bytes < p->logical_sector_bytes)
		return err_set(
			err, -EINVAL,
			"disk profile %s: sector sizes must be powers of two, the physical one not smaller than the logical one; they "
			"are %" PRIu32 " and %" PRIu32,
			p->name, p->physical_sector_bytes, p->logical_sector_bytes);
	if (p->kind == DISK_SSD && p->ssd.stripe_bytes < p->physical_sector_bytes)
		return err_set(err, -EINVAL, "disk profile %s: a stripe cannot be smaller than a physical sector",
		               p->name);
	/* The angle must go forward: the sinus turns by less than half of what the spindle does. */
	return profile_number(p, "wobble", p->spindle.wobble, 0,
	                      0.5 * p->spindle.rpm / 60 * p->spindle.wobble_period_s / 6.3, err);
}

static double skew_of(double skew, double move_ms, double rpm)
{
	/* As much as the move needs (scatter included), rounded up to a degree, and a degree more: what a drive's maker
	 * would do. */
	double x = isnan(skew) ? (ceil(move_ms * rpm / 60e3 * 360) + 1) / 360 : skew;

	return x - floor(x);
}

static int finish_zone(struct profile *p, size_t i, uint64_t *slots, uint64_t *cylinders, struct err *err)
{
	struct profile_zone *z = &p->zones[i];
	double step_ms = mechanics_slow_step_ms(p), switch_ms = p->seek.head_switch_ms + 4 * p->seek.head_scatter.sd_ms;
	uint64_t sum = 0;
	uint32_t s;

	if (z->cylinders == 0 || z->cylinders > PROFILE_CYLINDERS_MAX)
		return err_set(err, -EINVAL,
		               "disk profile %s: zone %zu has %" PRIu32 " cylinders, it must be 1 to 2^24", p->name, i,
		               z->cylinders);
	for (s = 0; s < PROFILE_SURFACES_MAX; s++) {
		if (s >= p->surfaces)
			z->spt[s] = 0;
		if (z->spt[s] > 1000000)
			return err_set(err, -EINVAL,
			               "disk profile %s: zone %zu has %" PRIu32
			               " sectors per track, it must be at most 10^6",
			               p->name, i, z->spt[s]);
		sum += z->spt[s];
	}
	if (sum == 0)
		return err_set(err, -EINVAL, "disk profile %s: zone %zu has no sectors", p->name, i);
	z->head_skew = skew_of(z->head_skew, switch_ms, p->spindle.rpm);
	z->cyl_skew = skew_of(z->cyl_skew, step_ms, p->spindle.rpm);
	z->band_skew = skew_of(z->band_skew, fmax(step_ms, switch_ms), p->spindle.rpm);
	if (p->media.spare_tracks >= z->cylinders)
		return err_set(err, -EINVAL, "disk profile %s: all tracks of zone %zu could be spare ones", p->name, i);
	*slots += sum * z->cylinders;
	*cylinders += z->cylinders;
	if (*slots > (1ull << 44) || *cylinders > PROFILE_CYLINDERS_MAX ||
	    *cylinders * p->surfaces > PROFILE_TRACKS_MAX)
		return err_set(
			err, -EINVAL,
			"disk profile %s: more than 2^44 sectors, 2^24 cylinders or 2^26 tracks; no drive has that many",
			p->name);
	return 0;
}

static int bad_order(const void *a, const void *b)
{
	const struct profile_bad *x = a, *y = b;

	return (x->lba > y->lba) - (x->lba < y->lba);
}

static int slow_order(const void *a, const void *b)
{
	const struct profile_slow *x = a, *y = b;

	return (x->lba > y->lba) - (x->lba < y->lba);
}

static int stall_order(const void *a, const void *b)
{
	const struct profile_stall *x = a, *y = b;

	return (x->at_s > y->at_s) - (x->at_s < y->at_s);
}

static int check_region(const struct profile *p, const char *what, uint64_t lba, uint64_t count, uint64_t min_lba,
                        double revolutions, struct err *err)
{
	if (count == 0 || lba >= p->capacity_lba || count > p->capacity_lba - lba)
		return err_set(err, -EINVAL,
		               "disk profile %s: %s region of %" PRIu64 " sectors at %" PRIu64
		               " does not lie on the disk, which has %" PRIu64,
		               p->name, what, count, lba, p->capacity_lba);
	if (lba < min_lba)
		return err_set(err, -EINVAL, "disk profile %s: two %s regions overlap at sector %" PRIu64, p->name,
		               what, lba);
	return profile_number(p, "the revolutions of a bad or slow region", revolutions, 0, 1e6, err);
}

/* First logical sector after the region's last physical one: two regions must not meet within one. */
static uint64_t region_end(const struct profile *p, uint64_t lba, uint64_t count)
{
	uint64_t ratio = p->physical_sector_bytes / p->logical_sector_bytes;

	return (lba + count + ratio - 1) / ratio * ratio;
}

static int check_bads(const struct profile *p, struct err *err)
{
	uint64_t min_lba = 0;
	size_t i;

	for (i = 0; i < p->media.nbads; i++) {
		const struct profile_bad *b = &p->media.bads[i];
		int r = check_region(p, "bad", b->lba, b->count, min_lba, b->revolutions, err);

		if (r == 0)
			r = profile_number(p, "the errno of a bad region", b->err, -4095, -1, err);
		if (r == 0 && b->kind & BAD_HEALS)
			r = profile_number(p, "the length of a bad region that heals", (double)b->count, 1, 1 << 20,
			                   err);
		if (r < 0)
			return r;
		min_lba = region_end(p, b->lba, b->count);
	}
	return 0;
}

static int check_slows(const struct profile *p, struct err *err)
{
	uint64_t min_lba = 0;
	size_t i;

	for (i = 0; i < p->media.nslows; i++) {
		const struct profile_slow *s = &p->media.slows[i];
		int r = check_region(p, "slow", s->lba, s->count, min_lba, s->revolutions, err);

		if (r == 0)
			r = profile_number(p, "'every' of a slow region", s->every, 1, 4e9, err);
		if (r == 0 && s->heals)
			r = profile_number(p, "the length of a slow region that heals", (double)s->count, 1, 1 << 20,
			                   err);
		if (r < 0)
			return r;
		if (s->revolutions != floor(s->revolutions)) /* the next sector comes by after whole ones only */
			return err_set(err, -EINVAL,
			               "disk profile %s: a slow region takes whole revolutions more, not %g", p->name,
			               s->revolutions);
		min_lba = region_end(p, s->lba, s->count);
	}
	return 0;
}

static int check_events(const struct profile *p, struct err *err)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < p->faults.nfails; i++) {
		const struct profile_fail *f = &p->faults.fails[i];

		r = profile_number(p, "the number of a failing request", (double)f->nth, 1, 1e18, err);
		if (r == 0)
			r = profile_number(p, "'every' of a failing request", (double)f->every, 0, 1e18, err);
		if (r == 0)
			r = profile_number(p, "the errno of a failing request", f->err, -4095, 0, err);
		if (r == 0)
			r = profile_number(p, "the delay of a failing request", f->delay_s, 0, 1e6, err);
	}
	for (i = 0; r == 0 && i < p->faults.nstalls; i++) {
		r = profile_number(p, "the time of a stall", p->faults.stalls[i].at_s, 0, 1e9, err);
		if (r == 0)
			r = profile_number(p, "the length of a stall", p->faults.stalls[i].length_s, 0, 1e6, err);
	}
	return r;
}

static int check_lists(const struct profile *p, struct err *err)
{
	int r = check_bads(p, err);

	if (r == 0)
		r = check_slows(p, err);
	return r < 0 ? r : check_events(p, err);
}

static int check_spares(const struct profile *p, struct err *err)
{
	uint64_t runs = 0, tracks;
	size_t i, s;

	for (i = 0; i < p->nzones; i++) {
		const struct profile_zone *z = &p->zones[i];

		for (s = 0, tracks = 0; s < p->surfaces; s++)
			tracks += z->spt[s] ? z->cylinders : 0;
		if ((z->spare_sectors == 0) != (z->spare_tracks == 0))
			return err_set(
				err, -EINVAL,
				"disk profile %s: zone %zu: spare sectors and the tracks that share them are both 0, or none is",
				p->name, i);
		runs += z->spare_tracks ? tracks / z->spare_tracks + 1 : 0;
	}
	if (runs > PROFILE_LIST_MAX)
		return err_set(err, -EINVAL, "disk profile %s: spare sectors in more than %d places", p->name,
		               PROFILE_LIST_MAX);
	return 0;
}

static int check_skips(const struct profile *p, struct err *err)
{
	size_t i, z;

	for (i = 0; i < p->media.nskips; i++) {
		const struct profile_skip *s = &p->media.skips[i];
		uint32_t left = s->cylinder;

		for (z = 0; z < p->nzones && left >= p->zones[z].cylinders; z++)
			left -= p->zones[z].cylinders;
		if (z == p->nzones || s->surface >= p->surfaces || s->count == 0 ||
		    s->first >= p->zones[z].spt[s->surface])
			return err_set(err, -EINVAL,
			               "disk profile %s: there is no sector %" PRIu32 " on cylinder %" PRIu32
			               ", surface %" PRIu32 " to be skipped",
			               p->name, s->first, s->cylinder, s->surface);
	}
	return 0;
}

static int finish_rotating(struct profile *p, struct err *err)
{
	uint64_t slots = 0, cylinders = 0;
	struct geometry *g;
	size_t i;
	int r;

	if (p->nzones == 0)
		return err_set(err, -EINVAL,
		               "disk profile %s: there is no zone; say `zone CYLINDERS SECTORS_PER_TRACK`", p->name);
	for (i = 0; i < p->nzones; i++) {
		r = finish_zone(p, i, &slots, &cylinders, err);
		if (r < 0)
			return r;
	}
	r = check_spares(p, err);
	if (r == 0)
		r = check_skips(p, err);
	if (r < 0)
		return r;
	g = geometry_new(p);
	if (!g)
		return err_set(err, -ENOMEM, "disk profile %s: out of memory", p->name);
	p->capacity_lba = geometry_lbas(g);
	geometry_free(g);
	return 0;
}

int profile_finish(struct profile *p, struct err *err)
{
	int r;

	if (!p->name[0])
		strcpy(p->name, "disk");
	if (!p->reported.model[0])
		memcpy(p->reported.model, p->name, sizeof(p->reported.model));
	if (!p->reported.serial[0])
		strcpy(p->reported.serial, "SIM0001");
	if (!p->reported.firmware[0])
		strcpy(p->reported.firmware, "1.0");
	if (p->physical_sector_bytes == 0)
		p->physical_sector_bytes = p->logical_sector_bytes;
	r = check_scalars(p, err);
	if (r == 0)
		r = traits_finish(p, err);
	if (r == 0 && p->kind == DISK_ROTATING)
		r = finish_rotating(p, err);
	if (r < 0)
		return r;
	if (p->capacity_lba == 0)
		return err_set(err, -EINVAL, "disk profile %s: the disk has no sectors; say `capacity_lba`", p->name);
	if (p->capacity_lba > (1ull << 46))
		return err_set(err, -EINVAL, "disk profile %s: capacity_lba is more than 2^46", p->name);
	if (p->media.nbads)
		qsort(p->media.bads, p->media.nbads, sizeof(*p->media.bads), bad_order);
	if (p->media.nslows)
		qsort(p->media.slows, p->media.nslows, sizeof(*p->media.slows), slow_order);
	if (p->faults.nstalls)
		qsort(p->faults.stalls, p->faults.nstalls, sizeof(*p->faults.stalls), stall_order);
	r = traits_check_trims(p, err);
	if (r == 0)
		r = miswrites_check(p, err);
	return r < 0 ? r : check_lists(p, err);
}
