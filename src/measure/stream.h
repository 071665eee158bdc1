/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of `stream`: stream.c options, plan, figures; stream_run.c one run of the ring over the targets; stream_files.c rolling files. */
#ifndef PLATTER_MEASURE_STREAM_H
#define PLATTER_MEASURE_STREAM_H

#include "measure/measure.h"
#include "measure/ring.h"

struct stream_params {
	uint64_t rate, buffer_bytes, block_bytes, bytes, file_bytes, depth, start_bytes;
	int layout, producer;
	bool write, read, cached, verify, tradeoff, find_max, keep;
	const char *project;
};

enum stream_layout { LAYOUT_BALANCE, LAYOUT_ROUNDROBIN };
enum stream_producer { PRODUCER_NONE, PRODUCER_MEMCPY };

#define STREAM_LANES_MAX 64
#define STREAM_FILES_MAX 4096
#define TIMELINE_MAX     1800

/* One target of the user: a device, a file, or a directory with several files. */
struct lane {
	const char *name;
	size_t first_target, ntargets; /* its files among the targets of the load */
	size_t at_target;              /* the file in work */
	uint64_t offset;               /* where the next block goes in it */
	uint64_t start, room;          /* first byte of the data in each, bytes for data in each */
	uint32_t outstanding;
	bool is_full, is_dead;
	uint64_t blocks, bytes, faults, streak; /* streak: failures in a row */
	uint64_t first_offset, last_offset;     /* bytes touched, of a device */
	uint64_t first_submit_ns, last_done_ns, max_gap_ns, max_gap_at_ns;
	struct hist *service, *response;
};

struct timeline_row {
	double time_s, rate_bytes_per_s;
	uint64_t occupancy_bytes;
};

/* Where each block went, for --verify: by lane and order. */
struct placement {
	uint64_t sequence, offset;
	uint32_t target;
};

struct stream_run {
	struct feeder feeder; /* first: next() gets a pointer to it */
	struct sink sink;
	struct session *ses;
	const struct stream_params *p;
	struct engine *eng;
	struct target *targets; /* of the load: one per device or file */
	size_t ntargets;
	struct lane *lanes;
	size_t nlanes;
	uint32_t *lane_of; /* by target */
	size_t turn;       /* round robin */

	bool is_max; /* no producer's clock: as fast as the disks take it */
	struct ring ring;
	uint64_t places, issued, completed, blocks_max, start_ns, end_ns;
	uint64_t first_issue_ns, last_issue_ns;
	struct datafile **files; /* made here, one per target of the load, or NULL */
	uint32_t *free_slots;
	size_t nfree;
	uint8_t *source; /* of the memcpy producer */
	uint64_t seed;

	/* The timeline: steps of step_ns, merged in pairs when there are too many. */
	struct timeline_row timeline[TIMELINE_MAX];
	size_t ntimeline;
	uint64_t step_ns, step_end_ns, step_bytes, step_peak;
	uint64_t ring_peak_seen;

	struct bucket_point *points; /* completions, for --tradeoff */
	size_t npoints, points_room;
	struct placement *placed;
	size_t nplaced, placed_room;
	bool is_out_of_memory;
};

/* Opens what the targets are (directories: makes the files). 0 or negative errno and a sentence. */
int stream_open(struct stream_run *s, struct err *err);
void stream_close(struct stream_run *s);
/* One run at `rate` (RATE_MAX: as fast as it goes) for time_ns or bytes, from the start of every target. */
int stream_once(struct stream_run *s, uint64_t rate, uint64_t time_ns, uint64_t bytes, struct err *err);
void stream_once_done(struct stream_run *s);
uint64_t stream_done_bytes(const struct stream_run *s);
/* Reads everything back and checks it; blocks that are not as written are counted and told. */
int stream_verify(struct stream_run *s, uint64_t *ret_bad, struct err *err);

#endif
