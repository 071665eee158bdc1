/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the search of the rotation: rotation.c reads sectors again and again, fresh.c each but once; media.c has
 * what passes the drive's cache by, lattice.c finds the period in what came of it. */
#pragma once

#include <math.h>

#include "measure/shared/timed.h"

/* 21 400 rpm: the fastest drives made turn with 15000; further down a period could be taken for its half. */
#define PERIOD_LOW_NS   2.8e6
#define FLUSH_LAST      512              /* blocks: more segments no cache has, of two drives behind one name */
#define LOOKS_MOST      (2 * FLUSH_LAST) /* one of each sector of both halves */
#define EVENTS_MAX      400              /* room for a few rounds of the longest kind */
#define ROTATION_BESIDE (8u << 20)       /* bytes: beyond what drives read ahead, within what is stored together */

struct events {
	double when[EVENTS_MAX], access[EVENTS_MAX];
	uint64_t first[EVENTS_MAX]; /* of its sector, which when is counted from */
	size_t n;
	double look[LOOKS_MOST]; /* times of the first reads of all sectors, but for hits */
	size_t nlooks, hits;     /* hits: of sectors that the media answered before */
};

/* Nothing where the one before was not read either. */
static inline void keep_sample(struct timed *t, uint64_t before, uint64_t offset, double before_ns, double ns)
{
	if (t->nsamples < t->most_samples && isfinite(before_ns) && isfinite(ns))
		t->sample[t->nsamples++] = (struct timed_sample){ before + t->block_bytes, offset, ns };
}

/* Where it takes large reads; other sectors are not enough. */
static inline bool is_by_volume(const struct timed *t, const struct rotation *rot)
{
	return rot->flush_bytes > t->block_bytes;
}

/* The period from these; false: none stands out. */
bool rotation_fit(const struct events *all, struct rotation *ret);

/* From sectors that were never read before, about a place that the media have: where the cache keeps what was read.
 * ret->is_rotating: it was found. */
int rotation_fresh(struct timed *t, uint64_t about, uint64_t budget_ns, struct rotation *ret, struct err *err);
