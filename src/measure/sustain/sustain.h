/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of `sustain`, each knowing only those before it; nobody else includes this: plan.c options; run.c requests
 * as fast as they go, in bins of time; analyse.c states from bins; cause.c what limits, from what rests brought back;
 * report.c the document; sustain.c goes through them.
 */
#pragma once

#include "measure/shared/lasting.h"

struct sustain_params { /* what the options fill */
	const char *range;
	uint64_t block_bytes, depth, rate_bytes_per_s;
	bool write, random;
};

/* ---- plan.c ---- */

/*
 * The longest burst that a provider sells is one of 30 minutes (credits of gp2 volumes at 3000 requests a second, EBS
 * bandwidth of small instances): without a change it goes on for a little longer.
 */
#define SUSTAIN_ALONE_S    2100.0
#define SUSTAIN_FILE_BYTES (16ull << 30)
#define SUSTAIN_MOST_S     14400.0 /* then it has not settled */
extern const struct opt sustain_opts[];
int sustain_plan(const struct session *ses, const void *params, struct plan *ret_plan, struct err *err);
uint32_t sustain_block(const struct sustain_params *p);
/* A size of requests that distinguishes bytes from requests, by how many the burst was. */
uint32_t sustain_other_block(const struct sustain_params *p, double requests);

/* ---- run.c: requests out, counted in bins; nothing is judged here ---- */

struct sustain_bin {                              /* a row */
	double time_s, rate_bytes_per_s, celsius; /* when it began; celsius NaN: not said */
	uint64_t bytes, requests, worst_ns;
};
#define SUSTAIN_BINS  8192
#define SUSTAIN_FIRST (1 / 128.0) /* s of a bin */
#define SUSTAIN_HEAD  1024 /* stay as short: a drive's own cache is full in a second; all others double when used up */
#define SUSTAIN_PARTS 8    /* of an octave, from 256 ns on, in which waits are counted */
#define SUSTAIN_WAITS (SUSTAIN_PARTS * 34)
struct sustain_series {
	double width_s, time_s;   /* of the last bin; of all, while requests were under way */
	double depth;             /* requests under way at once */
	double asked_bytes_per_s; /* 0: as fast as it goes */
	size_t n;                 /* bins with their end */
	struct sustain_bin *v;
	uint32_t (*waits)[SUSTAIN_WAITS]; /* of each bin; NULL: not counted */
};
void sustain_series_init(struct sustain_series *s, bool has_waits);
void sustain_series_done(struct sustain_series *s);
/* Where bin i begins; n: where the last one ends. */
static inline double sustain_edge_s(const struct sustain_series *s, size_t i)
{
	return i < s->n ? s->v[i].time_s : i ? s->v[i - 1].time_s + s->width_s : 0;
}

struct sustain_io {
	struct lasting l;
	const struct sustain_params *p;
	uint64_t first_bytes, end_bytes, at; /* at: bytes sent since it began at first_bytes */
	/* Called when the document is about to be saved. */
	void (*saves)(void *arg);
	void *arg;
};
/* For so long, appended to s. */
struct sustain_order {
	const char *phase;
	uint64_t ns;
	uint32_t block_bytes;
	double rate_bytes_per_s; /* at most; 0: as --rate says */
	double done;             /* of the run, for the progress line */
	double until_s;          /* when it will have settled if nothing changes; 0: not waited for */
};
int sustain_load(struct sustain_io *io, const struct sustain_order *o, struct sustain_series *s, struct err *err);

/* ---- analyse.c: bins to states; no session, no document, no clock ---- */

#define SUSTAIN_STATES 5
struct sustain_state {
	size_t first, end; /* bins; whole ones, but for the change */
	double from_s, to_s, bytes, requests;
	struct stats_estimate rate;
	double worst_bytes_per_s; /* in a second; NaN: bins are longer, or the state is shorter */
	double p999_ns;           /* NaN: fewer than 10 beyond */
	double celsius;           /* when it ended */
};
struct sustain_states {
	size_t n, burst; /* burst: what is fast before the last; n: nothing is */
	struct sustain_state v[SUSTAIN_STATES];
	struct stats_estimate amount; /* bytes of the burst */
	double log10_ratio;           /* evidence: that many states to one */
	double time_s, begin_celsius;
	uint64_t block_bytes;     /* of a request */
	double asked_bytes_per_s; /* NaN: it was asked for more than it kept up */
	double pts_s;             /* SNIA's rule was met by then; NaN: never */
};
/* The bin in which that time lies, n at most. */
size_t sustain_bin_at(const struct sustain_series *s, double at_s);
/* false: too little to know. */
bool sustain_states(const struct sustain_series *s, struct sustain_states *ret);
/* From rates that are known: when fast became slow (0: it was not fast), and the bytes until then. */
double sustain_change_s(const struct sustain_series *s, const struct stats_estimate *fast,
                        const struct stats_estimate *slow, struct stats_estimate *ret_bytes);
/* When the last state has lasted long enough beside what came before it. */
double sustain_settles_s(const struct sustain_states *f);
static inline bool sustain_is_settled(const struct sustain_states *f)
{
	return f->n && f->time_s >= sustain_settles_s(f);
}
static inline const struct sustain_state *sustain_last(const struct sustain_states *f)
{
	return &f->v[f->n - 1];
}

/* ---- cause.c: what rests brought back ---- */

struct sustain_rest { /* a row: a rest, and what was fast again behind it */
	uint64_t rest_ns, block_bytes;
	double asked_bytes_per_s;                                          /* NaN: as fast as it goes */
	double fast_bytes, fast_requests, uncertain_bytes;                 /* before it was slow again */
	double fast_bytes_per_s, slow_bytes_per_s, begin_celsius, celsius; /* celsius: when it was slow again */
	double as_long_s; /* as what it repeats was fast: sooner a stall is taken for the end of it; 0: repeats none */
};
#define SUSTAIN_RESTS 12
struct sustain_rests {
	struct sustain_rest v[SUSTAIN_RESTS];
	size_t n;
	double again_bytes_per_s; /* without a rest, where it began; NaN: not asked */
};
/* Bins behind a rest, to a row; true: it has been slow for long enough again. */
bool sustain_rest_found(const struct sustain_series *s, const struct sustain_states *f, struct sustain_rest *ret);
/*
 * What to do next: a longer rest, one of them again with requests of another size, and again at a lower rate; false:
 * nothing more. ret: rest_ns, block_bytes and asked_bytes_per_s of it.
 */
bool sustain_next_rest(const struct sustain_states *f, const struct sustain_rests *r, uint32_t other_block,
                       struct sustain_rest *ret);

enum sustain_cause {
	SUSTAIN_UNKNOWN,
	SUSTAIN_NOTHING,
	SUSTAIN_BYTES,
	SUSTAIN_REQUESTS,
	SUSTAIN_TIME,
	SUSTAIN_HEAT,
	SUSTAIN_PLACE,
	SUSTAIN_SPACE,
	SUSTAIN_ASKED
};
struct sustain_found {
	enum sustain_cause cause;
	bool is_settled;
	double cause_log10_ratio;           /* to the next likely; NaN: not asked */
	struct stats_estimate minute_bytes; /* that a minute of rest brings back */
};
/* It is fast again where it began, without a rest. */
bool sustain_lies_in_place(const struct sustain_states *f, const struct sustain_rests *r);
void sustain_find_cause(const struct sustain_states *f, const struct sustain_rests *r, struct sustain_found *ret);

/* ---- report.c ---- */

extern const struct measure_table sustain_tables[];
void sustain_report_rows(struct result *res, const struct sustain_series *s, const struct sustain_rests *r);
void sustain_report_figures(struct result *res, const struct sustain_states *f, const struct sustain_found *found,
                            bool has_waits);
/* The figures of a saved document from its rows. */
int sustain_again(const struct result *saved, struct result *ret, struct err *err);
