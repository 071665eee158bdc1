/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drawing what a disk is. */
#pragma once

#include <math.h>
#include <stdbool.h>

#include "base/rng.h"

static inline double between(struct rng *r, double low, double high)
{
	return low + (high - low) * rng_double(r);
}

/* Evenly over orders of magnitude. */
static inline double log_between(struct rng *r, double low, double high)
{
	return low * pow(high / low, rng_double(r));
}

static inline bool chance(struct rng *r, double p)
{
	return rng_double(r) < p;
}

static inline uint32_t whole(struct rng *r, uint32_t low, uint32_t high)
{
	return low + (uint32_t)rng_below(r, high - low + 1);
}

struct profile;
/* profile_burst.c: a device that is faster at first than it stays, in one way. */
int draw_burst(struct rng *r, struct profile *p);

/* profile_rotating.c: kinds of rotating disks; 0 or -ENOMEM. */
int draw_scsi(struct rng *r, struct profile *p);
int draw_ide(struct rng *r, struct profile *p);
int draw_desktop(struct rng *r, struct profile *p);
int draw_nearline(struct rng *r, struct profile *p);
int draw_enterprise(struct rng *r, struct profile *p);
int draw_laptop(struct rng *r, struct profile *p);
int draw_bridge(struct rng *r, struct profile *p);
int draw_two_arms(struct rng *r, struct profile *p);
int draw_concatenation(struct rng *r, struct profile *p);
int draw_stripe(struct rng *r, struct profile *p);
int draw_dying(struct rng *r, struct profile *p);
/* To a disk whose size is known: slow and unreadable places. */
int draw_trouble(struct rng *r, struct profile *p);
