/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A rotating disk as a pure function of (state, time, request): no clock, no I/O, no globals. Everything that the model
 * does follows from a `struct profile` (a text file, platter-simdisk-profile(5)), so that the truth about a simulated
 * disk can be computed from the profile as well, without running it (truth_*, below), and a measurement can be held
 * against it.
 *
 * Two mounts of the one model: tests/sim (an engine in virtual time) and platter-simdisk (a block device in real time).
 *
 * README of this folder says what the model assumes, and what it leaves out.
 *
 * Times are ns on the caller's time line; the angle is 0 at start_ns. Inside, times are double ns since start_ns: exact
 * to 1 ns for 100 days. Completions are rounded up to a ns; the rounding does not accumulate.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/rng.h"
#include "profile.h"

/* ---- profile.c: what a disk is ---- */

/* Sets all to defaults (a disk without zones: not yet valid). */
void profile_init(struct profile *p);
void profile_done(struct profile *p);
int profile_copy(struct profile *ret, const struct profile *p); /* 0 or -ENOMEM */
/* Append to the lists; 0, -ENOMEM, -E2BIG. */
int profile_add_zone(struct profile *p, const struct profile_zone *zone);
int profile_add_skip(struct profile *p, const struct profile_skip *skip);
int profile_add_bad(struct profile *p, const struct profile_bad *bad);
int profile_add_slow(struct profile *p, const struct profile_slow *slow);
int profile_add_fail(struct profile *p, const struct profile_fail *fail);
int profile_add_stall(struct profile *p, const struct profile_stall *stall);
int profile_add_trim(struct profile *p, const struct profile_range *range);
int profile_add_seek_point(struct profile *p, const struct profile_seek_point *point);
int profile_add_seek_scatter(struct profile *p, const struct profile_seek_scatter *scatter);
/*
 * Fills in what was left open (skews, capacity, names), sorts the lists, and checks everything: after 0 any model
 * function may be used on it. -EINVAL and a sentence otherwise. Call it after changing a profile by hand; it may be
 * called again.
 */
int profile_finish(struct profile *p, struct err *err);
/* Text (platter-simdisk-profile(5)) to a finished profile: `profile_init` is done in here, profile_done() it after 0.
 * "NAME:LINE: ..." in err. */
int profile_parse(struct profile *ret, const char *name, const char *text, size_t len, struct err *err);
/* The same from a file; its name without folder and ".disk" is the profile's name unless it says another. */
int profile_load(struct profile *ret, const char *path, struct err *err);
/* As text that profile_parse takes; 0 or a negative errno (a failed write). */
int profile_save(FILE *out, const struct profile *p);

/* A random valid disk, finished; the same seed gives the same disk. */
struct profile_limits {
	uint64_t max_bytes;                 /* capacity at most (about); 0: 2 GB */
	uint32_t max_surfaces;              /* 0: 10 */
	uint32_t max_zones;                 /* 0: 20 */
	bool no_defects;                    /* no skips */
	bool no_serpentine;                 /* head-first, forward only */
	bool same_density;                  /* surfaces are equal */
	bool no_cache;                      /* no segments, no write cache */
	uint32_t slow_regions, bad_regions; /* how many to strew in */
	double jitter_us, retry_per_gb;
};
int profile_random(struct profile *ret, uint64_t seed, const struct profile_limits *limits, struct err *err);

/* ---- geometry.c: where a sector is. Immutable; profile must be finished and outlive it ---- */

struct geometry;
struct geometry *geometry_new(const struct profile *p); /* NULL: out of memory */
void geometry_free(struct geometry *g);
const struct profile *geometry_profile(const struct geometry *g);

struct place {
	uint32_t zone, cylinder, surface, sector;
	uint32_t spt;           /* of this track */
	double angle;           /* where the sector begins, revolutions, 0 <= angle < 1 */
	uint64_t sector_number; /* media sector with data, counted over the disk: lba / (physical / logical) */
	uint64_t track;         /* number of the track in the order of the layout */
	uint32_t run;           /* sectors from here on that follow each other without a skip, in this track */
};

uint64_t geometry_bytes(const struct geometry *g);
uint64_t geometry_lbas(const struct geometry *g);
uint64_t geometry_sectors(const struct geometry *g); /* media sectors with data */
uint64_t geometry_tracks(const struct geometry *g);
uint32_t geometry_cylinders(const struct geometry *g);
double geometry_period_ns(const struct geometry *g);
/* Media sector (0 .. geometry_sectors() - 1) to its place. */
void geometry_place(const struct geometry *g, uint64_t sector, struct place *ret);
/* And back; UINT64_MAX when there is no such sector, or it carries no data. */
uint64_t geometry_sector(const struct geometry *g, uint32_t cylinder, uint32_t surface, uint32_t sector);
/* Time of the mechanics from one track to another, without the wait for the angle. */
double geometry_seek_ns(const struct geometry *g, uint32_t distance); /* nominal, with settle; 0 for 0 */
double geometry_move_ns(const struct geometry *g, uint32_t cyl_a, uint32_t surface_a, uint32_t cyl_b,
                        uint32_t surface_b);

/* ---- contents.c: what is on it ---- */

/*
 * A sector that was never written holds a pattern: the first 8 bytes are its LBA (little-endian), the rest a hash of
 * it. What is written is stored XORed with the pattern, so that unwritten is zero: a sparse file can be the store.
 */
void disk_pattern(uint64_t lba, uint32_t sector_bytes, void *buf);

struct disk_store { /* offsets and lengths are multiples of the logical sector */
	int (*read)(void *arg, uint64_t offset_bytes, uint32_t len_bytes, void *buf);
	int (*write)(void *arg, uint64_t offset_bytes, uint32_t len_bytes, const void *buf);
	void *arg;
};

/* ---- disk.c: the disk at work ---- */

struct disk;

struct disk_req {
	enum disk_op op;
	bool fua;           /* write: on the media before it is done; read: from there, but for what is not there yet */
	bool is_verify;     /* read: nothing is transferred */
	uint32_t len_bytes; /* offset and length: multiples of the logical sector, else -EINVAL */
	uint64_t offset_bytes; /* reads across the end are short, at the end 0; writes at the end -ENOSPC */
	void *buf;             /* must stay until it was popped; NULL: timing only */
	void *owner;           /* the caller's */
};

enum disk_how { HOW_MEDIA, HOW_HIT, HOW_STREAM /* went on with read-ahead */, HOW_CACHED /* write cache */, HOW_NONE };

struct disk_done {
	struct disk_req req;
	int32_t res; /* bytes moved or negative errno */
	enum disk_how how;
	uint64_t number; /* of the request, from 1, in order of submission */
	uint64_t arrival_ns, done_ns;
	/* Parts of the time that the mechanics took, for logs and tests; 0 for hits. ideal_ns: done_ns without noise.
	 */
	uint64_t ideal_ns;
	double seek_ns, latency_ns, transfer_ns;
};

/* profile must be finished; it is copied. start_ns: the time when the angle is 0 and seconds of the profile begin.
 * NULL: out of memory. */
struct disk *disk_new(const struct profile *p, uint64_t start_ns);
void disk_free(struct disk *d);
const struct profile *disk_profile(const struct disk *d);
const struct geometry *disk_geometry(const struct disk *d);
/* In memory by default. Before the first request. */
void disk_set_store(struct disk *d, const struct disk_store *store);

/*
 * Life with a disk:
 *
 *   on a request:  disk_submit(d, now, &req)
 *   sleep until    min(disk_next_event_ns(d), disk_next_done_ns(d)) or a new request
 *   then           disk_advance(d, now); while (disk_pop_done(d, now, &done)) answer(done);
 *
 * Decisions (which request is next) are taken at event times, on what was submitted up to then; they are never taken
 * back. A completion is known from when its request is started, before its time comes: a front end that wants to answer
 * early pops with a time ahead of now, without advancing that far. Buffers of reads are filled, those of writes are
 * taken, by then. now_ns may be older than that of an earlier call; it counts as the time of the last decision then.
 */
int disk_submit(struct disk *d, uint64_t now_ns, const struct disk_req *req); /* 0 or -ENOMEM */
void disk_advance(struct disk *d, uint64_t now_ns);
uint64_t disk_next_event_ns(const struct disk *d); /* when disk_advance will have something to do; DISK_NEVER */
uint64_t disk_next_done_ns(const struct disk *d);  /* the earliest completion that is known; DISK_NEVER */
bool disk_pop_done(struct disk *d, uint64_t until_ns, struct disk_done *ret); /* in order of done_ns */
uint32_t disk_in_flight(const struct disk *d);                                /* submitted and not yet popped */
bool disk_is_gone(const struct disk *d, uint64_t now_ns);
uint64_t disk_size_bytes(const struct disk *d, uint64_t now_ns); /* 0 when gone */

/* Contents at once, without time and without counting: what a read would give now. 0 or -EINVAL. */
int disk_peek(const struct disk *d, uint64_t offset_bytes, uint64_t len_bytes, void *buf);
int disk_poke(struct disk *d, uint64_t offset_bytes, uint64_t len_bytes, const void *buf);
/* Of all that was written and differs from the pattern (the write cache included). Memory store only. */
uint64_t disk_contents_hash(const struct disk *d);
/* From now on, whatever the profile says; gone: not of one that is made of others. */
void disk_set_fua_reads(struct disk *d, enum fua_reads how);
void disk_set_gone(struct disk *d, bool is_gone);
/* What is in the write cache and not on the media is lost now. */
void disk_power_loss(struct disk *d);

struct disk_counters {
	uint64_t requests, reads, writes, flushes; /* submitted */
	uint64_t read_bytes, written_bytes;        /* moved */
	uint64_t read_ns, write_ns, busy_ns; /* as /sys/block/x/stat: waiting included; busy: anything in flight */
	uint64_t hits, stream_hits, misses, errors;
	uint64_t media_read_bytes,
		media_written_bytes; /* passed under the head: reading ahead and destaging included */
	uint64_t cleanings;          /* of a band of the media cache */
	uint64_t mcache_entries;     /* that are in it now */
};
struct disk_counters disk_counters(const struct disk *d);
/* Parts of the LBA range that have an arm of their own, as queue/independent_access_ranges shows them; 1 when there is
 * one arm, or they interleave. */
size_t disk_access_ranges(const struct disk *d, struct profile_range ret[2]);
/* The first DISK_LOG_MAX writes, as submitted. */
#define DISK_LOG_MAX 65536
struct disk_write_log {
	uint64_t offset_bytes;
	uint32_t len_bytes;
};
const struct disk_write_log *disk_write_log(const struct disk *d, size_t *ret_n);

/* ---- truth.c: what a measurement should find, from the profile alone ---- */

struct truth_zone {
	uint64_t first_byte, end_byte;
	uint32_t first_cylinder, cylinders;
	uint32_t spt[PROFILE_SURFACES_MAX];
	double bytes_per_track;       /* mean over the surfaces, nominal */
	double media_bytes_per_s;     /* mean of a track's rate, without skew */
	double sustained_bytes_per_s; /* streaming through the whole zone; slow sectors left out */
};
/* Zones with data, in LBA order; capacity_lba cuts. Returns how many, at most max. */
size_t truth_zones(const struct geometry *g, struct truth_zone *ret, size_t max);
/* The same; sustained rates only when it is_streamed, as those may take seconds. */
size_t truth_list_zones(const struct geometry *g, bool is_streamed, struct truth_zone *ret, size_t max);

/*
 * Exact time of the media to stream [first, end), from the begin of the first sector to the end of the last; slow
 * sectors and the expectation of lost revolutions included, unreadable ones passed as if good.
 */
double truth_stream_ns(const struct geometry *g, uint64_t first_byte, uint64_t end_byte);
/* Bytes per second of the above, and not above the interface's. */
double truth_rate(const struct geometry *g, uint64_t first_byte, uint64_t end_byte);
/* Sustained rate of the zone that the byte lies in. */
double truth_rate_at(const struct geometry *g, uint64_t byte);
double truth_harmonic_mean(const struct geometry *g); /* size / time to read it all */

double truth_period_ns(const struct geometry *g); /* of a spindle that is warm */
double truth_period_at_ns(const struct geometry *g, double t_s);
/* Medians of what scatters; without scatter they are the nominal values. */
double truth_overhead_ns(const struct geometry *g); /* of a read from the media, with the answer's way to the host */
double truth_head_switch_ns(const struct geometry *g);
double truth_seek_ns(const struct geometry *g, double cylinders); /* with settle */
double truth_seek_mean_ns(const struct geometry *g,
                          double cylinders); /* mean instead of median; missed revolutions are not in it */
double truth_seek_between_ns(const struct geometry *g, uint64_t byte_a, uint64_t byte_b);
double truth_seek_track_ns(const struct geometry *g);   /* to the next cylinder */
double truth_seek_third_ns(const struct geometry *g);   /* a third of the stroke */
double truth_seek_average_ns(const struct geometry *g); /* mean over uniform pairs of cylinders */
double truth_seek_average_of_ns(const struct geometry *g, uint32_t cylinders); /* of so many of them in a row */
double truth_seek_full_ns(const struct geometry *g);

/*
 * Expectation of the service time of reads of len bytes (depth 1, each submitted when the one before is done) at random
 * multiples of len from first_byte on, inside [first, end), never the same twice in a row. Without cache hits.
 */
struct truth_random {
	double overhead_ns, move_ns, latency_ns, transfer_ns, service_ns; /* means */
	double done_ns; /* from the end of the transfer to the host; freezes are in it, too */
};
void truth_random(const struct geometry *g, uint64_t first_byte, uint64_t end_byte, uint32_t len_bytes,
                  struct truth_random *ret);

/* Bad and slow regions merged by kind, in bytes. Returns how many, at most max. */
struct truth_region {
	uint64_t first_byte, end_byte;
	bool is_bad;             /* else slow */
	double rate_bytes_per_s; /* of slow ones: streaming through them */
};
size_t truth_regions(const struct geometry *g, struct truth_region *ret, size_t max);

/* The whole truth for people, or as JSON: `platter-simdisk truth`. 0 or a negative errno. */
int truth_print(FILE *out, const struct profile *p, bool is_json);
