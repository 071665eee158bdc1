/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One arm, or several behind one name? An arm that was taken far away has to come back; one whose neighbour did the
 * reading has not. So: a read, one far away or one not so far, and one beside the first. With one arm the way back from
 * farther away takes as long, or longer; where it takes clearly less, something else than this arm did the reading. The
 * comparison needs no seek curve, and a disk whose arm is quick anyway shows nothing, which is right.
 */
#include <math.h>

#include "measure/shared/timed.h"

#define TRIPS  40  /* of each kind: medians of waits of up to a revolution are known to a tenth of one */
#define LEAST  10  /* of them must have been read from the media */
#define SURE   3.0 /* deviations of the difference of two medians: by chance once in 700 disks with one arm at worst */
#define BESIDE (4u << 20) /* bytes: a few tracks, and in front of the first read, where reading ahead does not help */
#define HOME   0.02       /* parts of the disk: home is from here to that much more, */
#define HALF \
	0.22 /* not so far: in the same half, and in the first of two disks in a row where that is a third of all */
#define FAR   0.72 /* far: in the other half */
#define WIDTH 0.08

struct trips {
	double v[TRIPS];
	size_t n;
};

static uint64_t place(struct timed *t, double part)
{
	double size = (double)t->target->size_bytes;

	return timed_random(t, (uint64_t)(part * size), (uint64_t)((part + WIDTH) * size));
}

static int trip(struct timed *t, double part, double hit_most_ns, struct trips *ret, struct err *err)
{
	uint64_t offset[3] = { place(t, HOME), place(t, part), 0 };
	double access[3] = { NAN, NAN, NAN };
	int r;

	offset[2] = offset[0] - BESIDE;
	r = timed_media_reads(t, offset, 3, access, NULL, err);
	for (int i = 0; i < 3; i++)
		if (!isfinite(access[i]) || access[i] < hit_most_ns)
			return r;
	ret->v[ret->n++] = access[2];
	return r;
}

/* Median, and its standard error. */
static double middle(const struct trips *t, double *ret_se)
{
	struct summary s = { .median = NAN, .mad = NAN };

	(void)summary_of(t->v, t->n, &s);
	*ret_se = summary_median_error(&s);
	return s.median;
}

int timed_arms(struct timed *t, double hit_most_ns, bool *ret_are_several, struct err *err)
{
	const struct device *d = &t->ses->devs[0];
	struct trips half = { .n = 0 }, far = { .n = 0 };
	double half_se, far_se, half_ns, far_ns;
	int r = 0;

	*ret_are_several = d->kind == DEVICE_DISK && d->nranges > 1;
	if (*ret_are_several || d->kind != DEVICE_DISK || HOME * (double)t->target->size_bytes < BESIDE)
		return 0;
	for (int i = 0; i < TRIPS && r == 0 && !session_is_over(t->ses); i++) {
		r = trip(t, HALF, hit_most_ns, &half, err);
		if (r == 0)
			r = trip(t, FAR, hit_most_ns, &far, err);
	}
	if (half.n < LEAST || far.n < LEAST)
		return r;
	half_ns = middle(&half, &half_se);
	far_ns = middle(&far, &far_se);
	*ret_are_several = half_ns - far_ns > SURE * hypot(half_se, far_se);
	return r;
}
