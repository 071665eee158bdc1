/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a layout agree with shortest accesses? It says of each how many cylinders it goes and whether to another head. Those that are alike are a class; equal
 * distances take equal times, larger ones no less, and the curve over distance is that of an arm.
 */
#include <math.h>
#include <stdlib.h>

#include "measure/geometry/geometry.h"

#define NEAR  9     /* cylinders: so far the curve's bend is looked at */
#define SLACK 0.001 /* of a revolution */

struct class
{
	uint64_t cylinders;
	bool is_other_head;
	double access, error;
	size_t n;
};

static int compare_seen(const void *x, const void *y)
{
	const struct geo_access *a = x, *b = y;

	if (a->is_other_head != b->is_other_head)
		return a->is_other_head - b->is_other_head;
	if (a->cylinders != b->cylinders)
		return (a->cylinders > b->cylinders) - (a->cylinders < b->cylinders);
	return (a->access > b->access) - (a->access < b->access);
}

/* Sorted accesses to classes, each with its median; how many accesses are off their class. */
static size_t classify(const struct geo_access *seen, size_t n, struct class *ret, size_t *ret_n)
{
	size_t off = 0, m = 0;

	for (size_t i = 0; i < n;) {
		size_t k = i, mid;

		while (k < n && seen[k].cylinders == seen[i].cylinders &&
		       seen[k].is_other_head == seen[i].is_other_head)
			k++;
		mid = (i + k - 1) / 2;
		for (size_t j = i; j < k; j++)
			off += fabs(seen[j].access - seen[mid].access) > seen[j].error + seen[mid].error + SLACK;
		ret[m++] = (struct class){ seen[i].cylinders, seen[i].is_other_head, seen[mid].access, seen[mid].error,
			                   k - i };
		i = k;
	}
	*ret_n = m;
	return off;
}

static const struct class *find_class(const struct class *c, size_t n, uint64_t cylinders, bool is_other_head)
{
	for (size_t i = 0; i < n; i++)
		if (c[i].cylinders == cylinders && c[i].is_other_head == is_other_head)
			return &c[i];
	return NULL;
}

/* Larger distances take no less; and a change of heads hides moves that are shorter, and no others. */
static size_t disorder(const struct class *c, size_t n)
{
	const struct class *change = find_class(c, n, 0, true);
	size_t bad = 0;

	for (size_t i = 0; i < n; i++) {
		const struct class *pure = c[i].is_other_head ? find_class(c, n, c[i].cylinders, false) : NULL;

		for (size_t k = 0; k < i; k++)
			if (c[k].is_other_head == c[i].is_other_head &&
			    c[i].access < c[k].access - c[i].error - c[k].error - SLACK) {
				bad++;
				break;
			}
		if (pure && c[i].cylinders &&
		    (c[i].access < pure->access - c[i].error - pure->error - SLACK ||
		     (change && c[i].access > fmax(pure->access, change->access) + c[i].error + pure->error + SLACK)))
			bad++;
	}
	return bad;
}

/* The time for so many cylinders; is_hidden: no more than a change of heads takes. */
static const struct class *move_of(const struct class *c, size_t n, uint64_t cylinders, bool *ret_hidden)
{
	const struct class *one = find_class(c, n, cylinders, false), *change = find_class(c, n, 0, true);

	if (!one)
		one = find_class(c, n, cylinders, true);
	*ret_hidden = one && one->is_other_head && change && one->access <= change->access + one->error + change->error;
	return one;
}

/*
 * Over all distances the curve of an arm is hollow downwards: nowhere does it lie clearly below a straight line between two of its points. Under a layout that takes
 * tracks over each other for tracks side by side it is flat at first and rises then.
 */
static bool is_below(const struct class *c, size_t n, size_t j)
{
	for (size_t i = 0; i < j; i++)
		for (size_t k = j + 1; k < n && !c[k].is_other_head && c[i].cylinders; k++) {
			double part =
				(double)(c[j].cylinders - c[i].cylinders) / (double)(c[k].cylinders - c[i].cylinders);
			double line = (c[i].access - c[i].error) * (1.0 - part) + (c[k].access - c[k].error) * part;

			if (c[j].access + c[j].error + SLACK < line)
				return true;
		}
	return false;
}

static bool is_hollow(const struct class *c, size_t n)
{
	size_t below = 0;

	for (size_t j = 1; j + 1 < n && !c[j].is_other_head; j++)
		below += is_below(c, n, j);
	return below < 3;
}

/* Does the curve bend as it should over the first cylinders? */
static bool is_bent_right(const struct class *c, size_t n)
{
	for (uint64_t d = 1; d + 2 <= NEAR; d++) {
		bool hidden, ignore;
		const struct class *a = move_of(c, n, d, &hidden), *b = move_of(c, n, d + 1, &ignore),
				   *e = move_of(c, n, d + 2, &ignore);
		double one, two, slack;

		if (!a || !b || !e)
			continue;
		one = b->access - a->access;
		two = e->access - b->access;
		slack = a->error + 2.0 * b->error + e->error + SLACK;
		if (two < 0.4 * one - slack || (!hidden && two > one + slack))
			return false;
	}
	return true;
}

/*
 * One surface: each track further on is a cylinder further on, and the arm takes clearly longer for a few than for one. With many surfaces the first tracks
 * are over each other; with few, that layout has been held against the accesses itself.
 */
static bool is_rising(const struct class *c, size_t n)
{
	const struct class *one = find_class(c, n, 1, false);

	for (uint64_t d = 2; one && d <= 4; d++) {
		const struct class *more = find_class(c, n, d, false);

		if (more && more->access - one->access > one->error + more->error + SLACK / 2.0)
			return true;
	}
	return false;
}

/* Is a change of heads clearly shorter than a move within a band, or to the next cylinder? */
static bool is_clear(const struct class *c, size_t n, uint64_t band)
{
	const struct class *change = find_class(c, n, 0, true);

	for (size_t i = 0; change && i < n; i++)
		if (c[i].cylinders >= 1 && c[i].cylinders < (band == 1 ? 2 : band) &&
		    c[i].access > change->access + c[i].error + change->error + SLACK)
			return true;
	return false;
}

/*
 * Would a change of heads take as long as the arm over many cylinders, where that is clearly longer than over the fewest? No head does: these are
 * tracks far from each other, taken for tracks over each other.
 */
static bool is_change_too_long(const struct class *c, size_t n)
{
	const struct class *change = find_class(c, n, 0, true), *least = NULL, *most = NULL;

	for (size_t i = 0; i < n; i++) {
		if (c[i].is_other_head || !c[i].cylinders)
			continue;
		least = !least || c[i].access < least->access ? &c[i] : least;
		most = c[i].cylinders >= NEAR && (!most || c[i].access > most->access) ? &c[i] : most;
	}
	return change && least && most && change->access > most->access - change->error - most->error &&
	       most->access > least->access + most->error + least->error + SLACK;
}

struct geo_verdict geo_judge(const struct geo_shape *shape, struct geo_access *seen, size_t n)
{
	struct class class[GEO_PAIRS];
	struct geo_verdict v = { .judged = n };
	size_t nclasses, off, bad;

	qsort(seen, n, sizeof(seen[0]), compare_seen);
	off = classify(seen, n, class, &nclasses);
	bad = disorder(class, nclasses);
	v.agreeing = n - (off + bad < n ? off + bad : n);
	v.is_possible = n >= 6 && off * 25 <= n && bad * 30 <= n && is_bent_right(class, nclasses) &&
	                is_hollow(class, nclasses) && (shape->heads == 1 || !is_change_too_long(class, nclasses));
	v.is_shown = shape->heads == 1 ? is_rising(class, nclasses)
	                               : is_clear(class, nclasses, shape->band ? shape->band : UINT64_MAX);
	return v;
}
