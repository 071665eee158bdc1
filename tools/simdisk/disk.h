/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of a disk at work, for the model's own files. The door is model.h, disk_parts.h says what each of these keeps.
 * disk.c: requests, queue, completions;
 * front.c: disks made of others; mediacache.c: what is written elsewhere first; path.c: limits in front; cache.c: which
 * sectors are buffered or dirty; writecache.c: the write cache at work; media.c: arm, spindle, stream; background.c:
 * what nobody asked for; noise.c: what differs each time; trim.c: what holds no data; flat.c: no mechanics at all.
 * Without time: geometry.c, defects.c, arms.c (where a sector is), mechanics.c (how long moves take, what is fixed in a
 * track). Times are double ns since start_ns; phase is the angle of the spindle in revolutions since then, whole ones
 * included.
 */
#pragma once

#include <math.h>

#include "disk_parts.h"
#include "mechanics.h"

struct disk {
	struct profile p;
	struct geometry *g;
	uint64_t start_ns;
	double period_ns, slack; /* slack: ANGLE_SLACK_NS in revolutions */
	double now;              /* of the last decision */
	struct rng rng;
	struct disk_noise noise;
	struct disk_waiting queue;
	struct disk_head head;
	struct disk_path path;
	struct disk_cache cache;
	struct disk_wcache wcache;
	struct disk_media media;
	struct flash flash;
	struct mediacache *mcache; /* NULL: there is none */
	struct front *front;       /* made of others: then only contents, counters and queue.in_flight are used here */
	double gone;               /* time; INFINITY: never */
	struct contents contents;
	struct disk_counters count;
	uint64_t busy_since_ns;
	struct disk_log log;
};

/* ---- disk.c ---- */

void disk_list_add(struct list *l, struct node *n);
struct node *disk_list_take(struct list *l, struct node **at);
/* The request ends at `end` with res. */
void disk_finish(struct disk *d, struct node *n, double end, int32_t res, enum disk_how how);
/* Takes the interface for bytes from t on; returns when they are over. */
double disk_bus(struct disk *d, double t, uint64_t bytes);

/* ---- requests.c ---- */

/* Its answer so far and its place; op_number: how many of its kind came before, from 1. */
void request_check(struct disk *d, struct node *n, uint64_t op_number);
void request_count(struct disk *d, const struct disk_req *q, uint64_t now_ns);
void request_count_done(struct disk *d, const struct disk_done *done);

/* ---- flat.c ---- */

void flat_admit(struct disk *d, struct node *n, double t);
void flat_flush(struct disk *d);

/* ---- writecache.c ---- */

uint64_t writecache_lbas(const struct disk *d); /* its size; 0: there is none, or it is switched off */
bool writecache_has_room(const struct disk *d, const struct node *n);
void writecache_write(struct disk *d, struct node *n, double t); /* there is room */
void writecache_flush(struct disk *d, struct node *n, double t);
/* Writes this run of dirty sectors to the media at t. */
void writecache_destage(struct disk *d, double t, uint64_t lba, uint64_t lbas, const struct place *place);
/* Something of the write cache has become clean at t: there may be room, and flushes may be over. */
void disk_destaged(struct disk *d, double t);

/* ---- background.c ---- */

/* Before a request for the media that comes at t: what the disk was about, and until when. */
void background_before(struct disk *d, double t);

/* ---- trim.c ---- */

bool trim_covers(const struct disk *d, uint64_t lba, uint64_t lbas);          /* wholly */
void trim_zero(const struct disk *d, uint64_t lba, uint64_t lbas, void *buf); /* what of it is trimmed */
int trim_written(struct disk *d, uint64_t lba, uint64_t lbas);                /* 0 or -ENOMEM */

/* ---- path.c: what is between host and disk ---- */

/* Whether something that goes on and off by turns is on at t: for on_s of each on_s + off_s, at a place that seed and
 * `what` fix. */
bool path_is_on(const struct disk *d, uint64_t what, double on_s, double off_s, double t);
/* When bytes may pass the limit, from t on. */
double path_bytes(struct disk *d, double t, uint64_t bytes);
/* When a request that comes at t may pass. */
double path_request(struct disk *d, double t);

/* ---- noise.c: each with its nominal time in it ---- */

double noise_overhead_ns(struct disk *d);
double noise_hit_ns(struct disk *d);
double noise_write_ns(struct disk *d, bool is_cached);
double noise_done_ns(struct disk *d, double end); /* from the end of the work to the answer */
void noise_freeze(struct disk *d, double t);      /* of a request that comes at t */
/* From where the head is; the same until pending_ms is NaN again. */
double noise_move_ns(struct disk *d, const struct place *to);
/* A latency of a flat device whose median is this. */
double noise_flat_ns(struct disk *d, double median_us);
double noise_unrest(struct disk *d, double t); /* how much more often than in the mean revolutions are lost at t */
double noise_missed(struct disk *d,
                    const struct place *to); /* whole revolutions, of an access from where the head is */
double noise_weak(struct disk *d, const struct place *place, uint64_t n); /* the same, while n sectors pass */

/* ---- media.c ---- */

double phase_at(const struct disk *d, double t_ns);
double time_at(const struct disk *d, double phase);
/* Time t, or the end of the stall that it lies in. */
double stall_skip(const struct disk *d, double t);
/* Time by which stalls lengthen something that lasts from `from` to `to`. */
double stall_extra(const struct disk *d, double from, double to);

/* Reads ahead as far as it gets until t. */
void stream_update(struct disk *d, double t);
/* Ends reading ahead at t; what was read stays. */
void stream_stop(struct disk *d, double t);
/* Sets how far to read ahead after [first, end) was asked for, at t. */
void stream_aim(struct disk *d, double t, uint64_t first, uint64_t end, bool is_sequential);
/* Ends reading ahead at t as stream_stop does, but what comes next may still go on from there. */
void stream_pause(struct disk *d, double t);
bool stream_covers(const struct disk *d, double t, uint64_t first);

struct media_op {
	double end;   /* time when the last sector has passed */
	double begin; /* when the first began to pass */
	double seek_ns, latency_ns;
	bool is_stream;
	int err; /* unreadable or unwritable sector: negative errno */
};
void media_read(struct disk *d, double t, const struct place *place, uint64_t first, uint64_t end, bool is_sequential,
                struct media_op *ret);
void media_write(struct disk *d, double t, const struct place *place, uint64_t first, uint64_t end, bool is_partial,
                 struct media_op *ret);
/* Only the way there and over the sectors: no stream, nothing that waits for it. is_any_angle: begins at whatever angle
 * the head comes down. */
void media_pass(struct disk *d, double t, const struct place *place, uint64_t first, uint64_t end, enum disk_op op,
                bool is_any_angle, struct media_op *ret);
/* Time from t to the first sector: what satf compares. */
double media_cost(struct disk *d, double t, const struct node *n);
bool media_is_bad(const struct region *r, uint64_t sector, enum disk_op op);

/* ---- mediacache.c: as media_read() and media_write(), where some of it lies in the cache on the media ---- */

bool mediacache_is_wanted(const struct profile *p);
struct mediacache *mediacache_new(const struct disk *d); /* NULL: out of memory */
void mediacache_free(struct mediacache *m);
void mediacache_read(struct disk *d, double t, const struct place *place, uint64_t first, uint64_t end,
                     bool is_sequential, struct media_op *ret);
void mediacache_write(struct disk *d, double t, const struct place *place, uint64_t first, uint64_t end,
                      bool is_partial, struct media_op *ret);
bool mediacache_has_room(const struct disk *d, uint64_t first, uint64_t end);
/* The first sector of [first, end) that lies in it; end: none. */
uint64_t mediacache_next(const struct mediacache *m, uint64_t first, uint64_t end);
/* The host wants something until t. */
void mediacache_host(struct disk *d, double t);
/* When it is cleaned if nothing else happens; infinity: it is empty. */
double mediacache_idle_at(const struct disk *d);
/* One access of cleaning at t. */
void mediacache_clean(struct disk *d, double t);
uint64_t mediacache_entries(const struct mediacache *m);

/* ---- cache.c ---- */

bool cache_has(struct disk *d, uint64_t first, uint64_t end, uint32_t *ret_segment); /* in a read segment */
bool cache_is_dirty(const struct disk *d, uint64_t lba, uint64_t lbas);              /* wholly in the write cache */
uint32_t cache_new_segment(struct disk *d, uint64_t first);
void segment_set(struct disk *d, struct segment *s, uint64_t start, uint64_t end);
void cache_make_room(struct disk *d);                            /* by use: the segments longest not used go */
void cache_drop(struct disk *d, uint32_t segment, uint64_t end); /* what lies before end in a read segment */
void cache_forget(struct disk *d, uint64_t first, uint64_t end); /* read segments */
int cache_add(struct disk *d, uint64_t lba, uint64_t lbas, double ready);
void cache_remove(struct disk *d, uint64_t lba, uint64_t lbas);
uint64_t cache_oldest(const struct disk *d); /* smallest seq; UINT64_MAX: nothing dirty */
/* What is to be emptied next: a run of dirty sectors within a track. false: nothing. */
bool cache_next(const struct disk *d, uint64_t *ret_lba, uint64_t *ret_lbas, double *ret_ready,
                struct place *ret_place);
