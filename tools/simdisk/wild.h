/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disks as they occur, drawn at random, and the noise of real ones for profiles that have none. */
#pragma once

#include "model.h"

/* Kinds of disks; ends with name NULL. weight: how often one is drawn, compared with the others. */
struct wild_class {
	const char *name, *what;
	double weight;
	int (*draw)(struct rng *r, struct profile *p); /* 0 or -ENOMEM */
};
extern const struct wild_class wild_classes[];

/* How noisy real drives are: not at all, less than any, as on a quiet machine, as on a machine at work. */
enum wild_noise { WILD_NOISE_NONE, WILD_NOISE_MILD, WILD_NOISE_REAL, WILD_NOISE_LIVE };
extern const char *const wild_noise_names[]; /* ends with NULL */

/* A finished disk, named wild-CLASS-SEED; the same seed (and class) gives the same disk. class_name: NULL: any. -EINVAL
 * and a sentence: there is no such class. */
int profile_wild(struct profile *ret, uint64_t seed, const char *class_name, struct err *err);
/* To a drawn disk, not finished, what few have; from a stream of its own: a disk without any is as it would be. 0 or
 * -ENOMEM. */
int profile_add_rare(struct profile *p, uint64_t seed, const char *class_name);
/*
 * To a finished profile, which is finished again, laws that the draw of a disk has no choice of. What measures well on
 * drawn disks only was fitted to them.
 */
enum wild_laws {
	LAWS_OWN,
	LAWS_OTHER, /* whether a read that goes on with a stream costs the full overhead; a switch of heads 0.3 to 2
	               times the next cylinder */
	LAWS_HOST,  /* answers come late by times with a mean of their own: a core of 5 to 25 us, and tails of ms */
	LAWS_FREE,  /* all that the draw ties together or keeps narrow: seek curve, scatters, skews, lengths of zones,
	               policies of the buffer */
};
extern const char *const wild_laws_names[]; /* ends with NULL */
int profile_vary(struct profile *p, enum wild_laws laws, uint64_t seed, struct err *err);
/* Instead of what noise it has, that of a level, drawn within what was measured on drives; 0 or -ENOMEM. To be
 * finished. */
int profile_draw_noise(struct profile *p, enum wild_noise level, struct rng *r);
/* The same with a seed, which is then the profile's, to a finished profile, which is finished again. */
int profile_add_noise(struct profile *p, enum wild_noise level, uint64_t seed, struct err *err);
