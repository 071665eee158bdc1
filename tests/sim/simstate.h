/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of a sim: shared by sim.c, simengine.c and simdevices.c. The door is sim.h. */
#pragma once

#include "sim.h"

struct sim_disk {
	struct sim *sim;
	struct sim_disk *next;
	struct sim_disk *whole; /* the disk that it lies on; itself for a disk */
	struct disk *model;     /* of a whole disk */
	struct device dev;
	uint64_t first_byte; /* on the whole disk */
	struct survey findings;
	struct device_io foreign;
	struct contents contents;
	unsigned opens, write_opens;
	bool has_health;
	struct device_health health;
	bool is_claimed; /* opened for exclusive use */
	bool is_sorting; /* a scheduler has what waits for room in the queue of the whole disk */
	struct disk_req waiting[64];
	size_t nwaiting;
	uint64_t sorted_to; /* byte */
};

struct sim_open {
	struct sim_disk *sd; /* NULL: closed; descriptors are not used again */
	bool is_writable, is_claim;
};

struct sim {
	struct vclock vc; /* first: engines find the sim by their clock */
	struct env env;
	struct sim_disk *disks;
	unsigned ndisks;
	struct sim_open *opens;
	size_t nopens;
	bool has_contents;
	uint64_t submit_cost_ns, reap_cost_ns, file_cost_ns, requests, tick_ns;
	enum sim_verify verify;
	int error; /* of every request; 0: none */
};

static inline struct sim *sim_of_clock(struct clock *clk)
{
	return (struct sim *)clk;
}
void sim_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* What disks have done up to now goes back to whom it is for. */
void sim_collect(struct sim *sim);
/* NULL: not one of ours, or closed. */
const struct sim_open *sim_open_of(const struct sim *sim, int fd);
