/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several arms, or several disks in a row, behind one name: each has a range of the addresses, and stays where it is
 * while the others move. So reads that go to and fro between the first and the last addresses take no longer than reads
 * about one place, where one arm would need the whole stroke each time, which is more than a revolution. From where on
 * the second one's range goes is found by halving: a place that the first arm holds is far from the begin and costs
 * nothing from the end. Both ranges have to show a whole stroke then: a short partition of one disk has none anywhere.
 *
 * Each range is then measured by itself, as a disk of its own: a distance means something within it only. What the
 * kernel tells of ranges (queue/independent_access_ranges) is taken as it is. The first one gets the time that a whole
 * disk would, the others what a short run takes. The tables curve, near, smooth, accesses and rates, and the figures of
 * seek times, are the first one's.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/seek/seek.h"

#define LOOKS_FIRST 10 /* reads that go to and fro: one arm over the whole stroke shows at once */
#define LOOKS       24 /* and where it does not */
#define ONE_ARM \
	1.35 /* of a revolution, the median: two arms take half a one, overhead and a short seek; 3 errors more */
#define NO_WAY      0.5 /* of a revolution: half of what the shortest whole stroke takes (real drives: 1 to 2) */
#define STEPS       13  /* of halving: to a few thousandths of a range */
#define LOOKS_STEP  8
#define REACH_PART  2000 /* of the device */
#define END_PART    200
#define REACH_MOST  (32u << 20)
#define TRIES       3   /* times as many, where the cache answers */
#define FIRST_SHARE 2.0 /* times as long as another arm, as figures and tables are its (a choice) */
#define ARM_LEAST   3.5 /* seconds of a short run, and of a usual one: of less an arm has no curve (a choice) */
#define ARM_FULL    15.0

struct arm_row {
	uint64_t arm, first_byte, last_byte;
	double track_ns, average_ns, third_ns, full_ns, overhead_ns, random_ns, average_with_overhead_ns,
		full_with_overhead_ns;
	double average_low_ns, average_high_ns, full_low_ns, full_high_ns, random_low_ns, random_high_ns;
};

const struct field seek_arm_fields[] = {
	FIELD_U64(struct arm_row, arm, UNIT_COUNT, "arm"),
	FIELD_U64(struct arm_row, first_byte, UNIT_BYTES, "first byte"),
	FIELD_U64(struct arm_row, last_byte, UNIT_BYTES, "last byte"),
	FIELD_F64(struct arm_row, track_ns, UNIT_NS, "track to track"),
	FIELD_F64(struct arm_row, average_ns, UNIT_NS, "average seek"),
	FIELD_F64(struct arm_row, third_ns, UNIT_NS, "a third"),
	FIELD_F64(struct arm_row, full_ns, UNIT_NS, "full stroke"),
	FIELD_F64(struct arm_row, average_with_overhead_ns, UNIT_NS, "average, with overhead"),
	FIELD_F64(struct arm_row, full_with_overhead_ns, UNIT_NS, "full, with overhead", .detail = true),
	FIELD_F64(struct arm_row, overhead_ns, UNIT_NS, "overhead", .detail = true),
	FIELD_F64(struct arm_row, random_ns, UNIT_NS, "random read"),
	FIELD_F64(struct arm_row, average_low_ns, UNIT_NS, "average, low", .detail = true),
	FIELD_F64(struct arm_row, average_high_ns, UNIT_NS, "average, high", .detail = true),
	FIELD_F64(struct arm_row, full_low_ns, UNIT_NS, "full, low", .detail = true),
	FIELD_F64(struct arm_row, full_high_ns, UNIT_NS, "full, high", .detail = true),
	FIELD_F64(struct arm_row, random_low_ns, UNIT_NS, "random, low", .detail = true),
	FIELD_F64(struct arm_row, random_high_ns, UNIT_NS, "random, high", .detail = true),
	FIELD_END,
};

/* ---- finding them ---- */

/* A few tracks from there on; and the many about an end of the device, where each look reads, so that the drive's cache
 * has none of them. */
static struct device_range place_at(const struct seek_run *s, uint64_t first)
{
	uint64_t part = s->size_bytes / REACH_PART, least = 64ull * s->t.block_bytes;

	return (struct device_range){ first, part < least ? least : part > REACH_MOST ? REACH_MOST : part };
}

static struct device_range begin_of(const struct seek_run *s)
{
	return (struct device_range){ 0, s->size_bytes / END_PART };
}

static struct device_range end_of(const struct seek_run *s)
{
	return (struct device_range){ s->size_bytes - s->size_bytes / END_PART, s->size_bytes / END_PART };
}

/* Median of n reads that go to and fro between two places; NaN: the cache answered too many. */
static int to_and_fro(struct seek_run *s, struct device_range one, struct device_range other, size_t n, double *ret,
                      struct err *err)
{
	double v[LOOKS], access;
	size_t got = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && got < n && i < TRIES * n && !seek_is_over(s); i++) {
		const struct device_range *at = i & 1 ? &other : &one;
		uint64_t offset = timed_random(&s->t, at->first_byte, at->first_byte + at->bytes);

		r = timed_reads(&s->t, &offset, 1, &access, NULL, err);
		if (i && isfinite(access) && !seek_is_hit(s, access))
			v[got++] = access;
	}
	*ret = r == 0 && got == n ? stats_median(v, n) : (double)NAN;
	return r;
}

static int has_several(struct seek_run *s, bool *ret_has, struct err *err)
{
	double far = NAN, near = NAN;
	int r = to_and_fro(s, begin_of(s), end_of(s), LOOKS_FIRST, &far, err);

	*ret_has = false;
	s->is_one_arm = far >= ONE_ARM * s->rot.period_ns;
	if (r < 0 || !(far < ONE_ARM * s->rot.period_ns))
		return r;
	r = to_and_fro(s, begin_of(s), end_of(s), LOOKS, &far, err);
	if (r == 0)
		r = to_and_fro(s, begin_of(s), begin_of(s), LOOKS, &near, err);
	*ret_has = far - near < NO_WAY * s->rot.period_ns;
	s->is_one_arm = far - near >= NO_WAY * s->rot.period_ns;
	return r;
}

/* From where on it is another arm's: the first one's ends before *ret_low, the second one's has begun at *ret_high. */
static int halve(struct seek_run *s, uint64_t *ret_low, uint64_t *ret_high, struct err *err)
{
	uint64_t low = 0, high = s->size_bytes;
	double before = NAN, behind = NAN;
	int r = 0;

	for (int i = 0; r == 0 && i < STEPS && high - low > 2 * place_at(s, 0).bytes && !seek_is_over(s); i++) {
		uint64_t mid = timed_align(&s->t, (double)low + (double)(high - low) / 2.0);

		mid -= mid % s->t.block_bytes;
		r = to_and_fro(s, begin_of(s), place_at(s, mid), LOOKS_STEP, &before, err);
		if (r == 0)
			r = to_and_fro(s, place_at(s, mid), end_of(s), LOOKS_STEP, &behind, err);
		if (!isfinite(before) || !isfinite(behind))
			break;
		*(before > behind ? &low : &high) = mid;
	}
	*ret_low = low;
	*ret_high = high;
	return r;
}

/* Is either range one arm's stroke, and no way from one to the other? */
static int are_two(struct seek_run *s, uint64_t low, uint64_t high, bool *ret_are, struct err *err)
{
	double first = NAN, second = NAN, across = NAN, way = NO_WAY * s->rot.period_ns;
	uint64_t width = begin_of(s).bytes;
	int r;

	*ret_are = false;
	if (low < 4 * width || high + 4 * width > s->size_bytes)
		return 0;
	r = to_and_fro(s, begin_of(s), (struct device_range){ low - width, width }, LOOKS, &first, err);
	if (r == 0)
		r = to_and_fro(s, (struct device_range){ high, width }, end_of(s), LOOKS, &second, err);
	if (r == 0)
		r = to_and_fro(s, begin_of(s), (struct device_range){ high, width }, LOOKS, &across, err);
	*ret_are = first - across > way && second - across > way;
	return r;
}

struct ranges {
	struct device_range v[DEVICE_RANGES_MAX];
	size_t n;
};

static int find_ranges(struct seek_run *s, struct ranges *ret, struct err *err)
{
	const struct device *dev = &s->ses->devs[0];
	uint64_t low, high;
	bool is = false;
	int r;

	ret->n = 0;
	if (dev->kind == DEVICE_DISK && dev->nranges > 1) {
		memcpy(ret->v, dev->ranges, sizeof(ret->v));
		ret->n = dev->nranges;
		return 0;
	}
	r = has_several(s, &is, err);
	if (r < 0 || !is)
		return r;
	r = halve(s, &low, &high, err);
	if (r == 0)
		r = are_two(s, low, high, &is, err);
	if (r < 0 || !is)
		return r;
	ret->v[0] = (struct device_range){ 0, low };
	ret->v[1] = (struct device_range){ high, s->size_bytes - high };
	ret->n = 2;
	return 0;
}

/* ---- measuring each ---- */

static void tell_arm(struct seek_run *s, size_t arm, const struct device_range *range, const struct seek_run *a)
{
	struct table *t = result_table(s->res, "arms", "Arms, each by itself", seek_arm_fields);
	const struct stats_estimate average = seek_less_overhead(a, a->average.median, a->average.ci),
				    full = seek_less_overhead(a, a->full.median, a->full.ci);
	const double less = a->overhead_ns;
	struct arm_row row = { .arm = arm + 1,
		               .first_byte = range->first_byte,
		               .last_byte = range->first_byte + range->bytes - 1,
		               .track_ns = a->track.median - less,
		               .average_ns = average.value,
		               .third_ns = a->third.median - less,
		               .full_ns = full.value,
		               .average_with_overhead_ns = a->average.median,
		               .full_with_overhead_ns = a->full.median,
		               .overhead_ns = less,
		               .random_ns = a->whole_mean_ns,
		               .average_low_ns = average.ci.low,
		               .average_high_ns = average.ci.high,
		               .full_low_ns = full.ci.low,
		               .full_high_ns = full.ci.high,
		               .random_low_ns = a->whole_ci.low,
		               .random_high_ns = a->whole_ci.high };

	result_row(t, &row);
	session_checkpoint(s->ses);
}

/* Only the first one's accesses and curve go into the document: scratch is for the others', and for what is told of a
 * whole device. */
static int one_arm(struct seek_run *s, size_t arm, size_t left, const struct device_range *range,
                   struct result *scratch, struct err *err)
{
	double ns = (double)seek_left_ns(s),
	       least = (s->p->quick ? ARM_LEAST : ARM_FULL) * fmin(s->budget.scale, 1.0) * 1e9;
	cleanup_free struct seek_point *points = calloc((size_t)3 * POINTS_MAX, sizeof(*points));
	cleanup_free struct seek_run *a = points ? malloc(sizeof(*a)) : NULL;
	struct seek_params brief = *s->p;
	int r;

	if (!a)
		return err_set(err, -ENOMEM, "Out of memory.");
	*a = *s;
	a->aimed = points;
	a->near = points + POINTS_MAX;
	a->point = points + 2 * POINTS_MAX;
	a->is_split = false;
	brief.quick |= arm > 0;
	a->p = &brief;
	a->res = arm == 0 ? s->res : scratch;
	a->size_bytes = a->t.part_bytes = range->bytes - range->bytes % s->t.block_bytes;
	a->t.first_bytes = range->first_byte;
	if (arm && ns < least) { /* where it is, at least */
		s->budget.cut |= 1u << SEEK_ARMS;
		a->overhead_ns = NAN;
		a->overhead_ci = (struct interval){ NAN, NAN };
		tell_arm(s, arm, range, a);
		return 0;
	}
	if (left > 1) /* not so little for each that none is told */
		ns = fmax(ns * (arm ? 1.0 : FIRST_SHARE) / ((double)left + (arm ? 0.0 : FIRST_SHARE - 1.0)),
		          fmin(ns, least));
	seek_budget(a, (uint64_t)ns);
	r = seek_media(a, err);
	if (r == 0 && isfinite(a->ratio) && !session_is_over(s->ses))
		r = seek_curve_begin(a, err);
	if (r == 0 && !session_is_over(s->ses))
		r = seek_part_mean(a, err);
	seek_curve_end(a);
	tell_arm(s, arm, range, a);
	s->t.rng = a->t.rng;
	s->budget.cut |= a->budget.cut;
	s->fraction = a->fraction;
	if (arm == 0) { /* of what the others want to know, too */
		s->overhead_ns = a->overhead_ns;
		s->overhead_ci = a->overhead_ci;
		s->rate_start = a->rate_start;
		s->ratio = a->ratio;
		s->track_ratio = a->track_ratio;
	}
	seek_parts_done(a);
	return r;
}

int seek_arms(struct seek_run *s, struct err *err)
{
	const struct rng kept = s->t.rng; /* what comes later is as if nobody had looked */
	struct result *scratch;
	struct ranges ranges;
	int r;

	if (s->rot.is_patchy) /* what is not stored takes no way either */
		return 0;
	session_rng(s->ses, 0x41524d53ull, &s->t.rng);
	(void)seek_begin(s, SEEK_ARMS);
	r = find_ranges(s, &ranges, err);
	s->t.rng = kept;
	if (r < 0 || !ranges.n || session_is_over(s->ses))
		return r;
	s->narms = ranges.n;
	scratch = result_new("seek");
	if (!scratch)
		return err_set(err, -ENOMEM, "Out of memory.");
	result_notice(
		s->res, "not-one-arm",
		"%zu arms, or disks, are behind %s, each over a range of the addresses: table arms has each by itself, and seek times, curve and accesses are of the first. No seek leads from one range to another.",
		ranges.n, s->t.target->name);
	for (size_t i = 0; r == 0 && i < ranges.n && !session_is_over(s->ses); i++) {
		(void)seek_begin(s, SEEK_NEAR);
		r = one_arm(s, i, ranges.n - i, &ranges.v[i], scratch, err);
	}
	s->has_rates = s->has_overhead = true;
	result_free(scratch);
	return r;
}

uint64_t seek_first_arm_bytes(const struct result *saved)
{
	const struct table *t = result_find_table(saved, "arms");
	struct arm_row row;

	if (!t || t->nrows == 0)
		return 0;
	table_row(t, 0, seek_arm_fields, &row);
	return row.last_byte + 1 - row.first_byte;
}
