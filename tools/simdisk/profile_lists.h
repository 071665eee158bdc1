/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the lists of a profile are made of. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PROFILE_SURFACES_MAX 32

struct profile_zone {
	uint32_t cylinders;
	uint32_t spt[PROFILE_SURFACES_MAX]; /* media (physical) sectors per track of each surface; 0: not used here */
	uint32_t band_tracks;               /* 1: head-first; 0: the whole zone is one band */
	bool tracks_alternate;              /* serpentine */
	bool heads_alternate;
	uint32_t spare_sectors,
		spare_tracks; /* the last so many sectors of each so many tracks hold no data; 0: none */
	double head_skew, cyl_skew,
		band_skew; /* revolutions, 0 <= x < 1; NaN: as much as the switch needs (profile_finish) */
};

struct profile_skip { /* slots without data */
	uint32_t cylinder, surface;
	uint32_t first, count; /* sectors of that track; count UINT32_MAX: to its end */
};

enum bad_kind { BAD_READ = 1, BAD_WRITE = 2, BAD_HEALS = 4 /* readable once written */ };
struct profile_bad {
	uint64_t lba, count; /* logical sectors */
	unsigned kind;       /* enum bad_kind */
	double revolutions;  /* of retries before the error */
	int err;             /* negative errno: -EIO */
};

struct profile_slow {
	uint64_t lba, count; /* logical sectors */
	uint32_t every;      /* every how many-th media sector, counted from the first */
	double revolutions;  /* more, each time it is read from the media */
	bool heals;          /* as quick as the others once written */
};

enum disk_op { DISK_READ, DISK_WRITE, DISK_FLUSH, DISK_ANY };

struct profile_range { /* logical sectors */
	uint64_t lba, count;
};

struct profile_fail { /* the Nth request of this kind (from 1, in order of submission) */
	enum disk_op op;
	uint64_t nth, every;  /* every: 0: once; else again after each so many */
	int err;              /* negative errno; 0: a short transfer */
	uint64_t short_bytes; /* of a short transfer: what is moved */
	double delay_s; /* more time before the answer (also without an error: err 0 and short_bytes UINT64_MAX) */
};

struct profile_stall { /* nothing moves during [at, at + length) */
	double at_s, length_s;
};

/* How a time differs from its nominal value: by a normal deviation that is never below minus the nominal value, and in
 * a share of the cases late. */
struct scatter {
	double sd_ms;           /* of the core; symmetric */
	double tail_p, tail_ms; /* with this probability later by an exponential time of this mean */
};

struct profile_seek_point { /* the seek curve as measured; what lies between two points is straight */
	uint32_t cylinders;
	double ms, sd_ms; /* settle included; sd_ms NaN: as seek_scatters say */
};

struct profile_seek_scatter { /* of seeks over so many cylinders and more, up to the next */
	uint32_t cylinders;
	struct scatter scatter;
};
