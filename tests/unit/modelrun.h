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

/* The profile is refused, in a sentence with these words. */
static inline void refused(const char *text, const char *words)
{
	struct err err = { 0 };
	struct profile p;

	if (profile_parse(&p, "x", text, strlen(text), &err) >= 0)
		fail_msg("taken: %s", text);
	if (!strstr(err.text, words))
		fail_msg("'%s' gives '%s'", text, err.text);
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
