/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chain of along.c: levels on a grid, by place. Levels are rates, as parts of the middle one: makers take away
 * about as many sectors from each zone to the next. Priors are here and nowhere else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "model/reading.h"

/* Priors. "Published": zone tables of seven drives of the 1990s and of one of 300 GB, and data sheets. */
#define PHASES     4    /* of a zone: widths by Erlang's law, deviation a half of the mean (published: 0.3 to 0.6) */
#define STRAY      0.02 /* readings, and places, that nothing here fits, as where an edge lies in one: ignorance */
#define STRAY_WIDE 0.3  /* ... anywhere up to what surfaces differ by, both ways (published: up to 0.15) */
#define SIGMA_MIN  3e-4 /* skew leaves regular errors of this size, even without noise */
#define UP_STEP    0.05 /* between surfaces, where levels go both ways (published: 0.02 to 0.14) */
#define UP_ZONES   32.0 /* such changes: ignorance */

/* Hypotheses, all alike: zones of the disk (published: 1 to 30); how regular steps are (shape of their gamma law); how
 * far places of one zone lie apart, relative; how likely one lies on the surfaces of the one before. */
#define ZONES  17
#define SHAPES 4
#define APARTS 9
#define LASTS  4
extern const double zones_of[ZONES], apart_of[APARTS], lasts_of[LASTS];

struct hypothesis {
	size_t zones, shape, apart, lasts; /* which of them */
	double log_evidence;
};

#define EDGES 3 /* none, one or two edges between neighbours */

/* A number for each phase of a level, or for as many groups: a processor takes them at once. */
typedef float lanes __attribute__((vector_size(PHASES * sizeof(float)), aligned(sizeof(float)), may_alias));

struct group { /* readings between which no edge is looked for: of one place */
	size_t first, end;
	double gap; /* bytes before it */
	bool is_anew;
	size_t edges;              /* that lie before it at most, by the hypothesis that was filtered last */
	lanes turn[EDGES][PHASES]; /* by their number and the phase before: the probability of each phase */
};

struct chain {
	const struct along_at *v;
	double *x, *sd; /* of each reading: 1 - rate as part of the middle one; its own noise */
	struct group *g;
	size_t n, ngroups, nlevels;
	double base;                /* level of x = 0 */
	double x0, dx, fall, width; /* first level and distance; fall from first to last; all bytes */
	bool is_both_ways;
	lanes *work;       /* room for a level each, three times */
	lanes *own;        /* by as many groups as there are lanes, and level: what their readings say ... */
	double *log_scale; /* ... and the log of its scale */
	double *same;      /* by group: what its readings say where it lies as far from its zone as the one before */
	/* of the hypothesis that was filtered last */
	lanes *emit;          /* what groups say of the level of their zone, as own ... */
	size_t apart;         /* ... by this hypothesis; APARTS: none yet */
	lanes *alpha;         /* by group and level: of all up to the group */
	lanes *moved;         /* the part of it that an edge lies before */
	float *kernel[EDGES]; /* by the number of steps; NULL: unused */
	size_t reach[EDGES];  /* of them, in levels */
};

struct chain_draw {
	uint32_t *edge; /* groups that an edge lies before */
	size_t n, zones;
	float *x; /* by group */
};

/* n: at least one. */
void chain_make(const struct along_at *v, size_t n, double end, struct chain *c);
void chain_done(struct chain *c);
/* The log of the evidence, also in h. */
double chain_filter(struct chain *c, struct hypothesis *h);
/* A sequence of zones, by the hypothesis that was filtered last. d has room. */
void chain_draw(const struct chain *c, struct rng *rng, struct chain_draw *d);
