/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a device does not keep up: part of a profile, and of a disk at work (flash.c). Rates of cells in MB/s. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct profile_keeps {
	uint64_t slc_bytes;               /* a cache of fast cells; 0: none */
	double slc_mbs, direct_mbs;       /* while it has room, and past it */
	double fold_mbs, fold_idle_ms;    /* idle for so long, it is emptied at this rate */
	uint64_t spare_bytes;             /* erased beforehand: past it the rate is at most ... */
	double spare_mbs;                 /* 0: no limit */
	uint64_t collect_bytes;           /* past that, too, all stands still each so many bytes; 0: never */
	double collect_ms;                /* for so long, both on average */
	double heat_c_per_gb, heat_tau_s; /* warmed by what it moves, cooled in so long; 0: no temperature */
	double heat_limit_c, hot_mbs;     /* warmer, it is at most so fast */
	double turbo_s, turbo_back;       /* at work for so long, and so much of a second each idle one; 0: no limit */
	double spent_mbs;                 /* after that */
};

struct profile_dips { /* each so many writes of so many bytes and more the drive is busy for so long; 0: never */
	uint32_t writes;
	double ms;
	uint64_t bytes;
};

struct flash { /* bytes */
	double *channel_free;
	double cached, written, collect_at; /* in the cache of fast cells; in all; the next collection */
	double free_at, celsius, warm_at;
	double used_s, work_at; /* of turbo_s; until the last request */
	bool is_hot;
};

struct disk;
void flash_new(struct disk *d);
/* When so many bytes that come at t have passed the cells. */
double flash_pass(struct disk *d, double t, uint64_t bytes, bool is_write);
/* Degrees Celsius; 0: it says none. */
double disk_celsius(const struct disk *d, uint64_t now_ns);
