/* SPDX-License-Identifier: GPL-2.0-or-later */
/* surface --sample: stretches at random places instead of every block. */
#ifndef PLATTER_MEASURE_SURFACE_SAMPLE_H
#define PLATTER_MEASURE_SURFACE_SAMPLE_H

#include "measure/surface/surface.h"

#define SURFACE_FIRST_PLACES 32
#define SURFACE_SAMPLE_NS    (120 * NS_PER_S)

struct surface_sample {
	struct stretch {
		uint64_t first_bytes, end_bytes;
		bool is_random; /* else the start, the end, or where the disk itself reports trouble */
		unsigned readings;
		uint64_t slow; /* a bit for each request: in all readings */
	} * v;
	size_t n, next, room; /* next: all before it were scanned; those from there on are this pass's, by place */
	size_t seen;          /* readings of places */
	uint64_t end_ns;      /* of scanning: the rest is for second readings */
	unsigned passes;
	/*
	 * What sticks out in most places of the first pass is the drive's own way (judge.c looks at neighbours, which
	 * may all lie in one weak region): less is never slow. Infinity: not known yet.
	 */
	double own_ns, worst_ns, worsts_ns[SURFACE_FIRST_PLACES];
	size_t nworsts;
	struct surface_failures unread;   /* of the range */
	uint64_t leg_end_bytes, leg_slow; /* of the leg in work: its end, and its requests that were slow, as bits */
};

/* Time left, and places that were not scanned? */
bool surface_sample_goes_on(const struct surface_run *run);
/* Places until suspects want to be read again, or the pass ends. 0, or negative errno. */
int surface_sample_leg(struct surface_run *run, struct err *err);
void surface_sample_free(struct surface_sample *s); /* NULL is fine */
/* What the places say of the disk; after surface_tell(). */
void surface_sample_tell(struct surface_run *run);

#endif
