/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several arms, or several disks in a row, behind one name: each has a range of the addresses, and stays where it is
 * while the others move. So reads that go to and fro between the first and the last addresses take no longer than reads
 * about one place. A single arm would need the whole stroke each time, which is more than a revolution. From where on
 * the second one's range goes is found by halving: a place that the first arm holds is far from the begin and costs
 * nothing from the end. Both ranges have to show a whole stroke then: a short partition of one disk has none anywhere.
 * What the kernel reports of ranges (queue/independent_access_ranges) is taken as it is.
 */
#include "measure/shared/arms.h"

#include <math.h>
#include <string.h>

#define LOOKS_FIRST 10   /* reads that go to and fro: one arm over the whole stroke shows at once */
#define LOOKS       24   /* and where it does not */
#define ONE_ARM     1.35 /* of a revolution, median: two arms take half, overhead and a short seek */
#define NO_WAY      0.5  /* of a revolution: half of what the shortest whole stroke takes (real drives: 1 to 2) */
#define STEPS       13   /* of halving: to a few thousandths of a range */
#define LOOKS_STEP  8
#define REACH_PART  2000 /* of the device */
#define END_PART    200
#define REACH_MOST  (32u << 20)
#define TRIES       3 /* times as many, where the cache answers */

struct find {
	struct timed *t;
	const struct rotation *rot;
};

/* A few tracks from there on; and the many about an end of the device, where each look reads, so that the drive's cache
 * has none of them. */
static struct device_range place_at(const struct timed *t, uint64_t first)
{
	uint64_t part = timed_size(t) / REACH_PART, least = 64ull * t->block_bytes;

	return (struct device_range){ first, part < least ? least : part > REACH_MOST ? REACH_MOST : part };
}

static struct device_range begin_of(const struct timed *t)
{
	return (struct device_range){ 0, timed_size(t) / END_PART };
}

static struct device_range end_of(const struct timed *t)
{
	return (struct device_range){ timed_size(t) - timed_size(t) / END_PART, timed_size(t) / END_PART };
}

/* Median of n reads that go to and fro between two places; NaN: the cache answered too many. */
static int to_and_fro(const struct find *f, struct device_range one, struct device_range other, size_t n, double *ret,
                      struct err *err)
{
	double v[LOOKS], access;
	bool is_there = false; /* the head: an answer of the cache leaves it where it was */
	size_t got = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && got < n && i < TRIES * n && !timed_is_over(f->t); i++) {
		const struct device_range *at = i & 1 ? &other : &one;
		uint64_t offset = timed_random(f->t, at->first_byte, at->first_byte + at->bytes);

		r = timed_reads(f->t, &offset, 1, &access, NULL, err);
		if (is_there && timed_is_media(&f->rot->hits, access))
			v[got++] = access;
		is_there = timed_is_media(&f->rot->hits, access);
	}
	*ret = r == 0 && got == n ? stats_median(v, n) : (double)NAN;
	return r;
}

static int has_several(const struct find *f, bool *ret_has, struct err *err)
{
	double far = NAN, near = NAN;
	int r = to_and_fro(f, begin_of(f->t), end_of(f->t), LOOKS_FIRST, &far, err);

	*ret_has = false;
	if (r < 0 || !(far < ONE_ARM * f->rot->period_ns))
		return r;
	r = to_and_fro(f, begin_of(f->t), end_of(f->t), LOOKS, &far, err)
	            ?: to_and_fro(f, begin_of(f->t), begin_of(f->t), LOOKS, &near, err);
	*ret_has = far - near < NO_WAY * f->rot->period_ns;
	return r;
}

/* From where on it is another arm's: the first one's ends before *ret_low, the second one's has begun at *ret_high. */
static int halve(const struct find *f, uint64_t *ret_low, uint64_t *ret_high, struct err *err)
{
	uint64_t low = 0, high = timed_size(f->t);
	double before = NAN, behind = NAN;
	int r = 0;

	for (int i = 0; r == 0 && i < STEPS && high - low > 2 * place_at(f->t, 0).bytes && !timed_is_over(f->t); i++) {
		uint64_t mid = timed_align(f->t, (double)low + (double)(high - low) / 2.0);

		mid -= mid % f->t->block_bytes;
		r = to_and_fro(f, begin_of(f->t), place_at(f->t, mid), LOOKS_STEP, &before, err)
		            ?: to_and_fro(f, place_at(f->t, mid), end_of(f->t), LOOKS_STEP, &behind, err);
		if (!isfinite(before) || !isfinite(behind))
			break;
		*(before > behind ? &low : &high) = mid;
	}
	*ret_low = low;
	*ret_high = high;
	return r;
}

/* Is either range one arm's stroke, and no way from one to the other? */
static int are_two(const struct find *f, uint64_t low, uint64_t high, bool *ret_are, struct err *err)
{
	double first = NAN, second = NAN, across = NAN, way = NO_WAY * f->rot->period_ns;
	uint64_t width = begin_of(f->t).bytes;
	int r;

	*ret_are = false;
	if (low < 4 * width || high + 4 * width > timed_size(f->t))
		return 0;
	r = to_and_fro(f, begin_of(f->t), (struct device_range){ low - width, width }, LOOKS, &first, err);
	if (r == 0)
		r = to_and_fro(f, (struct device_range){ high, width }, end_of(f->t), LOOKS, &second, err);
	if (r == 0)
		r = to_and_fro(f, begin_of(f->t), (struct device_range){ high, width }, LOOKS, &across, err);
	*ret_are = first - across > way && second - across > way;
	return r;
}

int arms_find(struct timed *t, const struct rotation *rot, struct arm_ranges *ret, struct err *err)
{
	const struct find f = { t, rot };
	const struct device *dev = &t->ses->devs[0];
	uint64_t low, high;
	bool is = false;
	int r;

	*ret = (struct arm_ranges){ .n = 0 };
	if (dev->kind == DEVICE_DISK && dev->nranges > 1) {
		memcpy(ret->range, dev->ranges, sizeof(ret->range));
		ret->n = dev->nranges;
		return 0;
	}
	r = has_several(&f, &is, err);
	if (r < 0 || !is)
		return r;
	r = halve(&f, &low, &high, err) ?: are_two(&f, low, high, &is, err);
	if (r < 0 || !is)
		return r;
	ret->range[0] = (struct device_range){ 0, low };
	ret->range[1] = (struct device_range){ high, timed_size(t) - high };
	ret->n = 2;
	return 0;
}
