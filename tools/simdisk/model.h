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
#ifndef PLATTER_SIMDISK_MODEL_H
#define PLATTER_SIMDISK_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/rng.h"
#include "keeps.h"
#include "miswrites.h"

/* ---- profile.c: what a disk is ---- */

#define PROFILE_SURFACES_MAX 32
/* The truth walks over all of them: what a drive has, with room, and not what would take hours. */
#define PROFILE_CYLINDERS_MAX (1u << 24)
#define PROFILE_TRACKS_MAX    (1u << 26)
#define PROFILE_ZONES_MAX     1024
#define PROFILE_LIST_MAX      100000      /* entries of each list: bad, slow, skip, fail, ... */
#define PROFILE_TEXT_MAX      (16u << 20) /* bytes of a profile file */
#define DISK_NEVER            UINT64_MAX

enum disk_kind { DISK_ROTATING, DISK_SSD };
enum disk_queue { QUEUE_FIFO, QUEUE_SATF };

struct profile_zone {
	uint32_t cylinders;
	uint32_t spt[PROFILE_SURFACES_MAX]; /* media (physical) sectors per track of each surface; 0: not used here */
	uint32_t band_tracks;               /* 1: head-first; 0: the whole zone is one band */
	bool tracks_alternate;              /* serpentine */
	bool heads_alternate;
	uint32_t spare_sectors,
		spare_tracks; /* the last so many sectors of each so many tracks hold no data; 0: none */
	double head_skew, cyl_skew,
		band_skew; /* revolutions, 0 <= x < 1; NaN: as much as the switch needs (profile_finish) */
};

struct profile_skip { /* slots without data */
	uint32_t cylinder, surface;
	uint32_t first, count; /* sectors of that track; count UINT32_MAX: to its end */
};

enum bad_kind { BAD_READ = 1, BAD_WRITE = 2, BAD_HEALS = 4 /* readable once written */ };
struct profile_bad {
	uint64_t lba, count; /* logical sectors */
	unsigned kind;       /* enum bad_kind */
	double revolutions;  /* of retries before the error */
	int err;             /* negative errno: -EIO */
};

struct profile_slow {
	uint64_t lba, count; /* logical sectors */
	uint32_t every;      /* every how many-th media sector, counted from the first */
	double revolutions;  /* more, each time it is read from the media */
	bool heals;          /* as quick as the others once written */
};

enum disk_op { DISK_READ, DISK_WRITE, DISK_FLUSH, DISK_ANY };

struct profile_range { /* logical sectors */
	uint64_t lba, count;
};

struct profile_fail { /* the Nth request of this kind (from 1, in order of submission) */
	enum disk_op op;
	uint64_t nth, every;  /* every: 0: once; else again after each so many */
	int err;              /* negative errno; 0: a short transfer */
	uint64_t short_bytes; /* of a short transfer: what is moved */
	double delay_s; /* more time before the answer (also without an error: err 0 and short_bytes UINT64_MAX) */
};

struct profile_stall { /* nothing moves during [at, at + length) */
	double at_s, length_s;
};

/* How a time differs from its nominal value: by a normal deviation that is never below minus the nominal value, and in
 * a share of the cases late. */
struct scatter {
	double sd_ms;           /* of the core; symmetric */
	double tail_p, tail_ms; /* with this probability later by an exponential time of this mean */
};

struct profile_seek_point { /* the seek curve as measured; what lies between two points is straight */
	uint32_t cylinders;
	double ms, sd_ms; /* settle included; sd_ms NaN: as seek_scatters say */
};

struct profile_seek_scatter { /* of seeks over so many cylinders and more, up to the next */
	uint32_t cylinders;
	struct scatter scatter;
};

enum ahead_reach { AHEAD_SEGMENT /* until it is full */, AHEAD_TRACK /* to the end of the track */ };
enum ahead_when { AHEAD_ALWAYS, AHEAD_SEQUENTIAL /* after a read that began where the one before had ended */ };
enum ahead_stop { AHEAD_SEEK /* when another request begins to move the arm */, AHEAD_COMMAND /* when it comes */ };
enum ahead_overhead {
	OVERHEAD_FULL,
	OVERHEAD_HIT /* a read that goes on with a stream is taken up like one that the cache answers */
};
enum cache_sizing { CACHE_FIXED, CACHE_BY_USE /* segments take what they need from the whole */ };
enum fua_reads {
	FUA_READS_MEDIA,
	FUA_READS_BUFFER, /* answers them as others */
	FUA_READS_REFUSED
};
enum write_turns { TURNS_READS /* reads go first */, TURNS_FAIR /* one after the other, once it is being emptied */ };

enum arms {
	ARMS_ONE,
	ARMS_HALVES,      /* of the LBA range */
	ARMS_INTERLEAVED, /* by stripes */
	ARMS_JOINED,      /* two disks in a row, each whole */
};

enum gone_kind { GONE_ERROR /* -ENODEV */, GONE_ZERO /* good, 0 bytes; the size is 0 */ };

/* Which band a cache on the media is rid of first: that of the oldest entry; the one that nothing came to for longest;
 * that with most entries. */
enum mcache_first { MCACHE_OLDEST, MCACHE_COLDEST, MCACHE_FULLEST };

struct profile {
	char name[64], model[64], serial[64], firmware[32], vendor[32], transport[16];
	char note[512]; /* comment for people: where the figures come from */
	enum disk_kind kind;

	uint32_t logical_sector_bytes, physical_sector_bytes;
	/* cuts the disk to so many logical sectors; 0: all there are. profile_finish fills it in */
	uint64_t capacity_lba;

	double rpm;
	double wobble, wobble_period_s; /* angle leads by wobble revolutions * sin(2 pi t / period) */
	uint32_t surfaces;
	struct profile_zone *zones;
	size_t nzones;
	struct profile_skip *skips;
	size_t nskips;

	double seek_a_ms, seek_b_ms, seek_c_ms, seek_e_ms; /* a + b sqrt(d) below the knee, c + e d from it on */
	double seek_knee;                                  /* cylinders; 0: always c + e d; infinity: never */
	double settle_ms, head_switch_ms, write_settle_ms;
	double overhead_ms, hit_overhead_ms;
	double write_overhead_ms; /* of writes, into the cache or to the media; 0: as above */
	double restart_ms; /* the least time of a move that does not go on with the stream, even to the same track */
	/* the share of a read that must be off the media before its transfer to the host begins */
	double read_watermark;
	double interface_bytes_per_s;
	double limit_bytes_per_s; /* a limit in front of the disk, as clouds have; 0: none */
	uint64_t credit_bytes;    /* that may pass the limit at once; it fills up again at the limit's rate */

	uint64_t cache_bytes; /* of all read segments; 0: none */
	uint32_t segments;
	bool read_ahead;            /* else segments keep only what was asked for */
	uint64_t write_cache_bytes; /* 0: write through */
	double write_start, write_delay_ms;
	bool is_flush_ignored; /* the disk says that it flushed, but did not */
	uint32_t queue_depth;
	enum disk_queue queue;
	double max_age_ms;

	/* SSD */
	uint32_t channels;
	double read_latency_us, write_latency_us, flush_latency_us, channel_bytes_per_s;
	uint32_t stripe_bytes;

	struct profile_keeps keeps;

	/* noise */
	uint64_t seed;
	double jitter_us;             /* answers later by |N(0, jitter)|; the mechanics do not notice */
	double outlier_p, outlier_ms; /* and with this probability by an exponential time of this mean */
	/* lost revolutions per 10^9 bytes read from or written to the media, exponentially distributed */
	double retry_per_gb;

	double unrest_sigma, unrest_s; /* lost revolutions are more frequent at times: see noise_unrest() */
	double busy_on_s, busy_off_s;  /* the host is busy by turns, and then */
	double busy_p, busy_ms;        /* an answer is late with this probability by an exponential time of this mean */

	/* caches as they are */
	uint32_t ahead_reach, ahead_stop, cache_sizing; /* enums of these names */
	uint32_t ahead_when, ahead_overhead;            /* enums of these names */
	uint32_t drops_read;      /* what was asked for and answered does not stay in its segment */
	uint32_t write_forgets;   /* a write empties all segments */
	uint64_t ahead_bytes;     /* reads ahead by at most so much; 0: as reach says */
	uint32_t is_zero_latency; /* reads of a track begin at any of its sectors */
	double keep_behind;       /* share of a segment that what was asked for may keep */
	uint32_t is_pre_read;     /* what passes under the head before the first sector is kept, too */
	uint32_t has_write_cache; /* 0: it is switched off */
	uint32_t write_turns;
	uint32_t is_fua_ignored; /* of writes */
	uint32_t fua_reads;      /* enum of this name */

	/* a cache on the media, and shingled bands: see mediacache.c */
	uint64_t mcache_bytes;        /* 0: none */
	uint32_t mcache_entries;      /* of its map; 0: as many as there is room for */
	double mcache_place;          /* where it lies, as a share of the disk */
	double mcache_idle_ms;        /* when idle for so long it is cleaned */
	uint32_t mcache_first;        /* enum mcache_first: which band of it */
	uint64_t mcache_direct_bytes; /* what is written in one sequence of so much goes to its place */
	uint64_t band_bytes;          /* tracks shingle, in bands of so much; 0: they do not */
	struct profile_dips dips;

	/* defects by the thousand: see defects.c */
	uint32_t slipped;      /* so many runs of sectors without data, at random places, fixed */
	double slip_run;       /* mean length of a run */
	uint32_t spare_tracks; /* the last ones of each zone */
	uint32_t remapped;     /* so many sectors lie on a spare track of their zone */

	/* what holds no data: see trim.c */
	struct profile_range *trims;
	size_t ntrims;
	/* until the transfer begins; NaN before profile_finish: as a hit of a disk, as read_latency_us of an SSD */
	double trimmed_us;

	/* what the disk does on its own: see background.c */
	double recalibrate_s, recalibrate_ms; /* about so often, for so long */
	double scan_after_s, scan_ms;         /* when idle for so long it scans its surfaces, in pieces of so long */
	double park_after_s, park_ms;      /* when idle for so long the heads are parked, and need so long to return */
	double standby_after_s, standby_s; /* the same of the spindle */
	uint32_t begins_asleep;            /* the spindle stands still until something is asked of it */

	/* the path */
	/* a bridge that cuts requests into pieces of so much, and passes one at a time; 0: none */
	uint64_t bridge_bytes;
	uint32_t arms; /* enum arms: each has half of the surfaces, but of two disks each has all */
	uint64_t arm_stripe_bytes;
	double joined_density; /* of the second of two disks: its sectors per track are so many times the first's */
	double limit_ops, credit_ops;                /* a token bucket of requests; 0: none */
	double other_share, other_on_s, other_off_s; /* others take this share of the limits while they are on */
	double latency_sigma; /* flat devices: latencies are lognormal, read_latency_us etc. their medians */

	/* scatter: see noise.c */
	struct profile_seek_point *seek_points; /* instead of a, b, c, e and settle_ms */
	size_t nseek_points;
	struct profile_seek_scatter *seek_scatters;
	size_t nseek_scatters;
	struct scatter head_scatter, overhead_scatter, hit_scatter, write_scatter, done_scatter;
	double done_ms; /* from the end of the transfer to the host; NaN before profile_finish: four times the deviation
	                   of done_scatter */
	double miss_short_p, miss_long_p; /* that an access comes a revolution late, below and from miss_cylinders on */
	double miss_again_p;              /* and then another, and so on */
	uint32_t miss_cylinders;
	double freeze_p, freeze_min_ms,
		freeze_max_ms;       /* per request: nothing moves for so long (even over orders of magnitude) */
	double skew_sd_us;           /* of the angle of each track; fixed, as a hash of seed and track */
	double skew_far_p, skew_far; /* this share of the tracks is off by up to so many revolutions */
	double weak_share,
		weak_p;        /* this share of the tracks (fixed) loses a revolution with this probability per pass */
	uint32_t weak_surface; /* 0: on all; else only on this surface, counted from 1: a head that goes bad */
	double drift, drift_s; /* the spindle's speed is rpm * (1 + drift * exp(-t / drift_s)) */
	double reported_rpm;   /* what the drive says of itself; 0: rpm */
	uint64_t
		reported_request_bytes; /* the largest request, as the host knows it; 0: nothing near to what is read */

	/* trouble */
	struct profile_bad *bads;
	size_t nbads;
	struct profile_slow *slows;
	size_t nslows;
	struct profile_fail *fails;
	size_t nfails;
	struct profile_stall *stalls;
	size_t nstalls;
	double gone_at_s;         /* since start_ns; infinity: never */
	uint64_t gone_at_request; /* this request and all after it; 0: never */
	enum gone_kind gone;
	uint64_t power_loss_at_request; /* before it is looked at, what is only in the write cache is lost; 0: never */
	struct profile_miswrites miswrites;
};

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
void disk_counters(const struct disk *d, struct disk_counters *ret);
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

#endif
