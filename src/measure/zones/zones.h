/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of `platter zones` share that have the run. zones.c: options and the run; plan.c: where to read and
 * how much; sample.c: one sample; fine.c: the size of its requests, and what the drive holds; outlast.c: writing behind
 * a cache; arms.c: several arms at once; visit.c: the first sample, one of a place, and second looks;
 * faults.c: what cannot be read; full.c: all of it; analyse.c: all that the samples of a target say; extent.c:
 * how much was read, and the least time by physics; report.c: tables and figures; kept.c: samples in the document.
 */
#pragma once

#include "measure/zones/analysis.h"
#include "session/replay.h"

struct zone_target {
	size_t index; /* in the session */
	const struct device *dev;
	struct zone_layout layout;
	struct zone_samples samples;
	bool is_taken_back;      /* samples in small requests were, as those are slower, or lose more */
	struct zone_unreadable { /* narrowed down to the smallest pieces that fail */
		uint64_t first_bytes, end_bytes;
		int error; /* negative errno; 0: a short transfer */
		bool is_located;
	} * unreadable;
	size_t nunreadable;
	double bytes_per_s;      /* about; of the last sample */
	double byte_ns;          /* of what the buffer holds, each byte of a request; NaN: not known */
	double request_ns;       /* the same, each request beside its bytes */
	double read_bytes_per_s; /* writing: of the same bytes, by reading; NaN: not known */
	/* writing (outlast.c) */
	uint64_t lead_bytes;             /* what each sample writes before it counts */
	bool is_outlasted;               /* samples are in one piece, and of the media alone */
	struct rewrite_journal *journal; /* --rewrite */
	struct zone_analysis *analysis;  /* of the samples so far; NULL: none yet */
	struct rng rng;
	uint64_t start_ns, limit_ns; /* when its turn began, and how long it may take */
	bool is_out_of_time;
};

struct zones_run {
	struct session *ses; /* NULL: computed again from a document */
	struct result *res;
	const struct zones_params *p;
	struct engine *eng;
	struct zone_done *done; /* completions of the sample that is being taken */
	size_t ndone, done_room;
	uint8_t *chunk; /* --rewrite: what was read and will be put back; ends after the engine */
	size_t chunk_bytes;
	struct zone_target *targets;
	size_t ntargets;
	uint64_t failed_writes;
};

/*
 * Takes one sample over [first, end) as the mode says (read, write, rewrite) and appends it to t->samples. *ret (may be
 * NULL) points to it until the next one. 0 also when the disk answered badly or the run is over: the sample says it.
 */
int zone_sample_take(struct zones_run *run, struct zone_target *t, const struct zone_sample *how,
                     const struct zone_sample **ret, struct err *err);

void zone_samples_add(struct zone_samples *all, const struct zone_sample *z);

/* Reads [first, end) for t->read_bytes_per_s; not one of the samples. 0, also when nothing could be found out. */
int zone_sample_read(struct zones_run *run, struct zone_target *t, uint64_t first_bytes, uint64_t end_bytes,
                     struct err *err);

/* ---- outlast.c ---- */

/*
 * Finds out at at_bytes how much must be written until the pace is the media's, and fills lead_bytes and is_outlasted
 * of t. Writes there, or puts back, as the run does. 0, also when nothing outlasts the cache; negative errno.
 */
int zone_outlast(struct zones_run *run, struct zone_target *t, uint64_t at_bytes, struct err *err);

/* ---- fine.c ---- */

/* Reads the same bytes at `at` again and again, and fills byte_ns, request_ns and layout.interface_bytes_per_s; NaN
 * where nothing could be found out. 0; negative errno. */
int zone_interface_measure(struct zones_run *run, struct zone_target *t, uint64_t at_bytes, struct err *err);
/* After the probe, which was at at_bytes: may smaller requests do? 0; negative errno. */
int zone_fine_find(struct zones_run *run, struct zone_target *t, uint64_t at_bytes, struct err *err);
/* In the first pass, before a sample: its requests. */
void zone_fine_begin(struct zone_target *t, size_t position);
/* After a pass, whose places have been analysed: the requests of the next. Samples may be taken back. */
void zone_fine_choose(const struct zones_run *run, struct zone_target *t, uint32_t pass);

/* ---- arms.c ---- */

struct zone_arm_row {
	uint64_t arm, first_byte, last_byte;
	double alone_bytes_per_s, alone_low_bytes_per_s, alone_high_bytes_per_s, together_bytes_per_s,
		together_low_bytes_per_s, together_high_bytes_per_s;
	uint64_t samples;
	const char *target;
};

extern const struct field zone_arm_fields[];
/* Where there are several arms, or disks in a row: reads each of their ranges alone and all at once, and shows it. 0;
 * negative errno. */
int zone_arms_measure(struct zones_run *run, struct zone_target *t, struct err *err);

/* ---- extent.c ---- */

/* The least time that intervals as wide as those of the levels take by physics, and the time from the first sample to
 * the end of the last; NaN: not known. */
double zone_least_ns(const struct zone_target *t);
double zone_used_ns(const struct zone_target *t);

/*
 * Figures: how many bytes were read or written, and what share of the range that is; at the end of a run also what
 * reads the others.
 */
void zone_extent_report(const struct zones_run *run, bool is_final);

/* ---- analyse.c ---- */

/* Analyses what there is, anew: levels of places and slow regions, after which all else is nothing yet. */
void zone_analyse_places(struct zone_target *t);
/* All of it. */
void zone_analyse(struct zone_target *t);
void zone_analysis_free(struct zone_analysis *a);
void zone_targets_done(struct zones_run *run);
/* Where byte x of the target lies on the whole disk, 0 .. 1. */
double zone_place(const struct zone_target *t, double x_bytes);

/* ---- kept.c: layout and samples as they are in the document; all that the analysis needs of them ---- */

extern const struct field zone_layout_fields[], zone_cell_fields[], zone_sample_fields[];
/* NULL where there is one target only, so that the text stays narrow. */
const char *zone_target_name(const struct zones_run *run, const struct zone_target *t);
void zone_keep(const struct zones_run *run, const struct zone_target *t, struct table *layouts, struct table *cells,
               struct table *samples);
/* The target of row i of layouts, and its device as far as the analysis asks; 0, or -ENODATA: they are not
 * whole. zone_targets_done(). */
int zone_load(const struct result *saved, size_t i, struct zone_target *t, struct device *dev);

/* ---- report.c ---- */

extern const struct measure_table zones_tables[];
/* Fills tables, figures and plots anew from the analyses of all targets. */
void zones_report(struct zones_run *run, bool is_final);

/* ---- visit.c ---- */

/* Is there time left for this target: of the budget that was given, its share; else of its own, for more than the
 * passes (is_extra)? */
bool zones_has_time(const struct zones_run *run, struct zone_target *t, bool is_extra);
void zones_show(struct zones_run *run, const struct zone_target *t, const char *phase, double part);
/* Analyses and shows anew. 0; negative errno. */
void zones_renew(struct zones_run *run, struct zone_target *t);

#define ZONE_PASS_PART 0.85 /* of the progress; the rest is second looks */

/* One sample at a position; after a fault, beside it. */
int zone_visit(struct zones_run *run, struct zone_target *t, size_t position, enum sample_kind kind, uint32_t pass,
               struct err *err);
/* Positions in the order of a pass; room for two of each. Returns how many. */
size_t zone_order_pass(const struct zones_run *run, struct zone_target *t, uint32_t pass, size_t *order);

/* The first sample of all, and what follows from it: the size of requests, what a write cache takes. 0, also when
 * nothing could be found out; negative errno. */
int zone_probe(struct zones_run *run, struct zone_target *t, struct err *err);

/* Behind the passes: until each place is known as well as it should be, and what looks slow was read again. 0; negative
 * errno. */
int zone_look_again(struct zones_run *run, struct zone_target *t, struct err *err);

/* Opens the journals of all targets and finishes what an earlier run left; makes the chunk. 0 or negative errno and a
 * sentence. */
int zones_journal_open(struct zones_run *run, struct err *err);
void zones_journal_close(struct zones_run *run); /* after the engine */

/* ---- faults.c ---- */

/* Notes a request that failed while a sample was taken. */
void zone_fault_note(struct zone_target *t, uint64_t first_bytes, uint64_t len_bytes, int res);
/* Narrows the failed requests down to the sectors that cannot be read, as long as there is time. */
int zones_faults_locate(struct zones_run *run, struct zone_target *t, struct err *err);

/* ---- full.c ---- */

/* --full: one pass over everything. */
int zones_full_run(struct zones_run *run, struct zone_target *t, struct err *err);
