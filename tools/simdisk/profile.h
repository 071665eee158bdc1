/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a disk is: the members of a profile, platter-simdisk-profile(5). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keeps.h"
#include "miswrites.h"
#include "profile_lists.h"

/* The truth walks over all of them: what a drive has, with room, and not what would take hours. */
#define PROFILE_CYLINDERS_MAX (1u << 24)
#define PROFILE_TRACKS_MAX    (1u << 26)
#define PROFILE_ZONES_MAX     1024
#define PROFILE_LIST_MAX      100000      /* entries of each list: bad, slow, skip, fail, ... */
#define PROFILE_TEXT_MAX      (16u << 20) /* bytes of a profile file */
#define DISK_NEVER            UINT64_MAX

enum disk_kind { DISK_ROTATING, DISK_SSD };
enum disk_queue { QUEUE_FIFO, QUEUE_SATF };

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

struct profile_reported { /* what the drive says of itself */
	char model[64], serial[64], firmware[32], vendor[32], transport[16];
	double rpm;             /* 0: as it is */
	uint64_t request_bytes; /* the largest request, as the host knows it; 0: nothing near to what is read */
};

struct profile_spindle {
	double rpm;
	double wobble, wobble_period_s; /* angle leads by wobble revolutions * sin(2 pi t / period) */
	double drift, drift_s;          /* the speed is rpm * (1 + drift * exp(-t / drift_s)) */
};

struct profile_seek {
	double a_ms, b_ms, c_ms, e_ms; /* a + b sqrt(d) below the knee, c + e d from it on */
	double knee;                   /* cylinders; 0: always c + e d; infinity: never */
	double settle_ms, head_switch_ms, write_settle_ms;
	double restart_ms; /* the least time of a move that does not go on with the stream, even to the same track */
	struct profile_seek_point *points; /* instead of a, b, c, e and settle_ms */
	size_t npoints;
	struct profile_seek_scatter *scatters;
	size_t nscatters;
	struct scatter head_scatter;
};

struct profile_ctl { /* the controller */
	double overhead_ms, hit_overhead_ms;
	double write_overhead_ms; /* of writes, into the cache or to the media; 0: as above */
	struct scatter overhead_scatter, hit_scatter, write_scatter, done_scatter;
	double done_ms; /* from the end of the transfer to the host; NaN before profile_finish: four times the deviation
	                   of done_scatter */
	/* the share of a read that must be off the media before its transfer to the host begins */
	double read_watermark;
	uint32_t queue_depth;
	enum disk_queue queue;
	double max_age_ms;
};

struct profile_path { /* what lies between disk and host */
	double interface_bytes_per_s;
	double limit_bytes_per_s;     /* a limit in front of the disk, as clouds have; 0: none */
	uint64_t credit_bytes;        /* that may pass the limit at once; it fills up again at the limit's rate */
	double limit_ops, credit_ops; /* a token bucket of requests; 0: none */
	/* a bridge that cuts requests into pieces of so much, and passes one at a time; 0: none */
	uint64_t bridge_bytes;
	double other_share, other_on_s, other_off_s; /* others take this share of the limits while they are on */
	double busy_on_s, busy_off_s;                /* the host is busy by turns, and then */
	double busy_p, busy_ms; /* an answer is late with this probability by an exponential time of this mean */
};

struct profile_cache {  /* of reads */
	uint64_t bytes; /* of all segments; 0: none */
	uint32_t segments;
	bool read_ahead;                     /* else segments keep only what was asked for */
	uint32_t sizing;                     /* enum cache_sizing */
	uint32_t ahead_reach, ahead_stop;    /* enums of these names */
	uint32_t ahead_when, ahead_overhead; /* enums of these names */
	uint64_t ahead_bytes;                /* reads ahead by at most so much; 0: as reach says */
	uint32_t drops_read;                 /* what was asked for and answered does not stay in its segment */
	uint32_t write_forgets;              /* a write empties all segments */
	uint32_t is_zero_latency;            /* reads of a track begin at any of its sectors */
	double keep_behind;                  /* share of a segment that what was asked for may keep */
	uint32_t is_pre_read;                /* what passes under the head before the first sector is kept, too */
	uint32_t fua_reads;                  /* enum of this name */
};

struct profile_wcache { /* of writes */
	uint64_t bytes; /* 0: write through */
	uint32_t is_on; /* 0: it is switched off */
	double start, delay_ms;
	uint32_t turns;          /* enum write_turns */
	bool is_flush_ignored;   /* the disk says that it flushed, but did not */
	uint32_t is_fua_ignored; /* of writes */
};

struct profile_mcache {        /* a cache on the media, and shingled bands: see mediacache.c */
	uint64_t bytes;        /* 0: none */
	uint32_t entries;      /* of its map; 0: as many as there is room for */
	double place;          /* where it lies, as a share of the disk */
	double idle_ms;        /* when idle for so long it is cleaned */
	uint32_t first;        /* enum mcache_first: which band of it */
	uint64_t direct_bytes; /* what is written in one sequence of so much goes to its place */
	uint64_t band_bytes;   /* tracks shingle, in bands of so much; 0: they do not */
};

struct profile_ssd {
	uint32_t channels;
	double read_latency_us, write_latency_us, flush_latency_us, channel_bytes_per_s;
	uint32_t stripe_bytes;
	double latency_sigma; /* flat devices: latencies are lognormal, those above their medians */
};

struct profile_noise {                /* what differs each time: see noise.c */
	double jitter_us;             /* answers later by |N(0, jitter)|; the mechanics do not notice */
	double outlier_p, outlier_ms; /* and with this probability by an exponential time of this mean */
	/* lost revolutions per 10^9 bytes read from or written to the media, exponentially distributed */
	double retry_per_gb;
	double unrest_sigma, unrest_s;    /* lost revolutions are more frequent at times: see noise_unrest() */
	double miss_short_p, miss_long_p; /* that an access comes a revolution late, below and from miss_cylinders on */
	double miss_again_p;              /* and then another, and so on */
	uint32_t miss_cylinders;
	/* per request: nothing moves for so long (even over orders of magnitude) */
	double freeze_p, freeze_min_ms, freeze_max_ms;
};

struct profile_media { /* what is fixed in tracks and sectors: by thousands see defects.c, without data trim.c */
	struct profile_skip *skips;
	size_t nskips;
	struct profile_bad *bads;
	size_t nbads;
	struct profile_slow *slows;
	size_t nslows;
	struct profile_range *trims;
	size_t ntrims;
	/* until the transfer begins; NaN before profile_finish: as a hit of a disk, as read_latency_us of an SSD */
	double trimmed_us;
	uint32_t slipped;            /* so many runs of sectors without data, at random places, fixed */
	double slip_run;             /* mean length of a run */
	uint32_t spare_tracks;       /* the last ones of each zone */
	uint32_t remapped;           /* so many sectors lie on a spare track of their zone */
	double skew_sd_us;           /* of the angle of each track; fixed, as a hash of seed and track */
	double skew_far_p, skew_far; /* this share of the tracks is off by up to so many revolutions */
	/* this share of the tracks (fixed) loses a revolution with this probability per pass */
	double weak_share, weak_p;
	uint32_t weak_surface; /* 0: on all; else only on this surface, counted from 1: a head that goes bad */
};

struct profile_own {                          /* what the disk does on its own: see background.c */
	double recalibrate_s, recalibrate_ms; /* about so often, for so long */
	double scan_after_s, scan_ms;         /* when idle for so long it scans its surfaces, in pieces of so long */
	double park_after_s, park_ms;      /* when idle for so long the heads are parked, and need so long to return */
	double standby_after_s, standby_s; /* the same of the spindle */
	uint32_t begins_asleep;            /* the spindle stands still until something is asked of it */
	struct profile_dips dips;
};

struct profile_arms {
	uint32_t kind; /* enum arms: each has half of the surfaces, but of two disks each has all */
	uint64_t stripe_bytes;
	double joined_density; /* of the second of two disks: its sectors per track are so many times the first's */
};

struct profile_faults {
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

struct profile {
	char name[64];
	char note[512]; /* comment for people: where the figures come from */
	enum disk_kind kind;
	uint64_t seed;
	uint32_t logical_sector_bytes, physical_sector_bytes;
	/* cuts the disk to so many logical sectors; 0: all there are. profile_finish fills it in */
	uint64_t capacity_lba;
	uint32_t surfaces;
	struct profile_zone *zones;
	size_t nzones;

	struct profile_reported reported;
	struct profile_spindle spindle;
	struct profile_seek seek;
	struct profile_ctl ctl;
	struct profile_path path;
	struct profile_cache cache;
	struct profile_wcache wcache;
	struct profile_mcache mcache;
	struct profile_ssd ssd;
	struct profile_keeps keeps;
	struct profile_noise noise;
	struct profile_media media;
	struct profile_own own;
	struct profile_arms arms;
	struct profile_faults faults;
};
