/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One disk of the model on its own virtual time, for the model's tests. */
#ifndef TEST_MODELRUN_H
#define TEST_MODELRUN_H

#include <string.h>

#include "model.h"

struct run {
	struct profile p;
	struct disk *d;
	uint64_t now; /* ns */
	struct disk_done done;
};

/* A disk without cache, of one zone unless the text says more. */
#define RUN_BASE                                                                                                \
	"rpm 7200\nsurfaces 2\ncache_kb 0\nqueue_depth 1\noverhead_ms 0.1\nseek 0.8 0.05\nhead_switch_ms 0.7\n" \
	"interface_mbs 1000\n"
#define RUN_ZONE "zone 1000 500\n"

/* What scatters, is missed, drifts and freezes, all at once. */
#define UNRULY                                                                                                      \
	"seek_scatter 1 0.022 0.05 0.1\nseek_scatter 200 0.067 0.05 0.1\nhead_switch_scatter 0.02 0.02 0.1\n"       \
	"overhead_scatter 0.02 0.05 0.1\ncompletion_scatter 0.02 0.05 0.1\nmissed_revolutions 0.004 0.02 100 0.1\n" \
	"freeze 0.001 20 40\nskew_scatter 12 0.05 0.3\nweak_tracks 0.02 0.5\nrpm_drift 0.002 60\n"

/* Two arms, or two disks, or one behind a bridge. */
#define DISK                                                                                               \
	"rpm 7200\nsurfaces 4\noverhead_ms 0.1\nhit_overhead_ms 0.02\nseek 0.8 0.05\nhead_switch_ms 0.7\n" \
	"interface_mbs 2000\n"
#define ZONES "zone 500 500 480 460 500\nzone 500 400 380 360 420\n"

#define DEFECTS "head_skew 0.2\ncyl_skew 0.3\nband_skew 0.3\nspare_tracks 3\nslipped 3000 2\nremapped 200\n"

static inline void near(double got, double want, double off)
{
	if (!(fabs(got - want) <= off))
		fail_msg("%.9g, not %.9g within %.3g", got, want, off);
}

static inline void run_new(struct run *r, const char *text)
{
	struct err err = { 0 };

	memset(r, 0, sizeof(*r));
	r->now = 1000000000;
	if (profile_parse(&r->p, "test", text, strlen(text), &err) < 0)
		fail_msg("%s", err.text);
	r->d = disk_new(&r->p, r->now);
	assert_non_null(r->d);
}

static inline void run_load(struct run *r, const char *name)
{
	char path[512];
	struct err err = { 0 };

	memset(r, 0, sizeof(*r));
	(void)snprintf(path, sizeof(path), SIMDISK_PROFILES "/%s.disk", name);
	if (profile_load(&r->p, path, &err) < 0)
		fail_msg("%s", err.text);
	r->d = disk_new(&r->p, r->now);
	assert_non_null(r->d);
}

static inline void run_free(struct run *r)
{
	disk_free(r->d);
	profile_done(&r->p);
}

/* A run that ends with its block. */
static inline struct run run_of(const char *text)
{
	struct run r;

	run_new(&r, text);
	return r;
}
#define MODEL(r, text) cleanup_model struct run r = run_of(text)

static inline void run_submit(struct run *r, enum disk_op op, uint64_t offset, uint32_t len, void *buf)
{
	const struct disk_req q = { .op = op, .offset_bytes = offset, .len_bytes = len, .buf = buf };

	assert_int_equal(disk_submit(r->d, r->now, &q), 0);
}

/* Moves time until something is done. */
static inline const struct disk_done *run_wait(struct run *r)
{
	while (!disk_pop_done(r->d, r->now, &r->done)) {
		uint64_t event = disk_next_event_ns(r->d), done = disk_next_done_ns(r->d);
		uint64_t next = event < done ? event : done;

		assert_true(next != DISK_NEVER);
		if (next > r->now)
			r->now = next;
		disk_advance(r->d, r->now);
	}
	return &r->done;
}

static inline const struct disk_done *run_one(struct run *r, enum disk_op op, uint64_t offset, uint32_t len, void *buf)
{
	run_submit(r, op, offset, len, buf);
	return run_wait(r);
}

static inline double run_took(const struct run *r)
{
	return (double)(r->done.done_ns - r->done.arrival_ns);
}

#endif
