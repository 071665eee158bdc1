/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the processes of one simulated disk share: memory without a name (memfd) that the server writes on its timing
 * thread without any system call, and that keeper and `status` read.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "model.h"
#include "stats/stats.h"

/* One answered request. Times are ns on the disk's time line, 0 when it began. */
struct sim_record {
	uint64_t number, offset_bytes;
	uint32_t len_bytes;
	int32_t res;
	uint64_t arrival_ns, ideal_ns;  /* the disk's: when it came, when it was done */
	uint64_t received_ns, reply_ns; /* real: when it was read from the kernel, when the answer was given */
	double seek_ns, latency_ns, transfer_ns;
	uint8_t op, how; /* enum disk_op, enum disk_how */
};

#define SIM_RING 16384u /* records, a power of two; the keeper empties it every 20 ms */

enum sim_state {
	SIM_SETUP,       /* answers at once, the disk's time does not run */
	SIM_CALIBRATING, /* answers CALIBRATION_NS after it received; nothing is written */
	SIM_RUNNING,     /* on the disk's time line */
	SIM_GONE,        /* the disk left as its profile says */
	SIM_DRAINED,     /* the end: answers at once again, so that nobody waits */
};

/*
 * As long as a disk's answer takes: after a short sleep the way is much shorter than after one of some milliseconds,
 * when processors have gone idle (measured here: 40 us after 0.5 ms, 80 to 120 us after 3 to 12 ms, both ways
 * together).
 */
#define CALIBRATION_NS 5000000u

/*
 * What the way between a program and the server takes, there and back. The disk's answers are given so much earlier,
 * and its requests taken for so much older, that the program sees the disk's own times.
 */
struct sim_path {
	uint64_t in_ns, out_ns;
	double in_ns_per_byte;  /* of writes: the kernel copies their data */
	double out_ns_per_byte; /* of reads */
};

struct sim_shared {
	_Atomic int state;
	bool is_realtime;
	struct sim_path path; /* set by the keeper before the disk's time begins */
	_Atomic uint64_t calibration_received_ns, calibration_reply_ns; /* of the last request, monotonic */
	_Atomic uint64_t in_flight;
	struct disk_counters counters;
	/*
	 * lateness: answers after the time meant for them; early time is cut off (it cannot be early by construction).
	 * late_1ms and late_1ms_ns: the disturbed part, which tests look at before they judge a time.
	 */
	struct hist lateness;
	uint64_t late_1ms, late_1ms_ns;
	uint64_t real_ns; /* time on the disk's line of the last answer */
	/* the log: head is the server's, tail the keeper's */
	bool has_log;
	_Atomic uint64_t head, tail, dropped;
	struct sim_record ring[SIM_RING];
};
