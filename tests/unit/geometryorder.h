/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sequences of tracks, made by hand. For tests that have included cmocka.h. */
#ifndef PLATTER_TEST_GEOMETRYORDER_H
#define PLATTER_TEST_GEOMETRYORDER_H

#include <string.h>

#include "measure/geometry/layout.h"
#include "measure/geometry/rows.h"
#include "session/internal.h"

#define SKEW 0.114
#define TOL  0.0216 /* with noise */

static inline uint64_t no_time(struct clock *clk)
{
	return 0;
}

/* A run that is never over, for what reads nothing. */
struct idle {
	struct clock clk;
	struct env env;
	struct session_state state;
	struct session ses;
	struct geo g;
};

/* Answers stray by so much. */
static inline void set_noise(struct geo *g, double noise_ns, double period_ns)
{
	g->rot.noise_ns = noise_ns;
	g->rot.period_ns = period_ns;
	geo_set_looks(g, 1);
}

static inline struct geo *idle(struct idle *r)
{
	memset(r, 0, sizeof(*r));
	r->clk = (struct clock){ .name = "none", .now_ns = no_time };
	r->env.clk = &r->clk;
	r->ses.env = &r->env;
	r->ses.state = &r->state;
	r->g.ses = &r->ses;
	r->g.until_ns = UINT64_MAX;
	r->g.looks = 1;
	set_noise(&r->g, 0.0, 1e7);
	return &r->g;
}

#define SEGS 1024

struct sequence {
	struct geo_seg seg[SEGS];
	struct geo_order o;
	uint64_t first;
};

static inline void begin(struct sequence *s, struct geo *g)
{
	memset(s, 0, sizeof(*s));
	s->o = (struct geo_order){ .g = g, .seg = s->seg, .tol = TOL };
}

/* So many tracks, each followed by that skew. (Jumps are of the ends of first sectors.) */
static inline void add(struct sequence *s, uint64_t size, uint64_t tracks, double skew)
{
	assert_true(s->o.n < SEGS);
	s->seg[s->o.n++] = (struct geo_seg){
		.first = s->first, .size = size, .track = s->o.tracks, .tracks = tracks, .jump = skew
	};
	s->o.tracks += tracks;
	s->first += size * tracks;
}

#endif
