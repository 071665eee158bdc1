/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a disk at work: what each file of the model keeps. Times and phase as in disk.h. */
#pragma once

#include "contents.h"
#include "geometry.h"

/* A bad or slow region in media sectors. */
struct region {
	uint64_t first, end;
	double revolutions;
	uint32_t every;  /* slow; 0: bad */
	unsigned kind;   /* bad */
	int err;         /* bad */
	uint8_t *healed; /* of one that heals: a bit per sector, set when written */
};

enum trouble { TROUBLE_NONE, TROUBLE_SLOW, TROUBLE_BAD };

/* Read segment: media sectors [start, end) are in the buffer. */
struct segment {
	uint64_t start, end;
	uint64_t used; /* for LRU: number of the use */
};

/* The head as it streams: it is about to read `at`, and everything before that was read at `phase`. */
struct stream {
	bool is_on;     /* is reading ahead, or stopped at limit: may go on */
	uint64_t at;    /* next media sector */
	uint64_t limit; /* reads ahead up to here */
	double phase;
	uint32_t segment;
	struct place place; /* of `at`; valid when at < sectors */
	bool is_placed;     /* the head is on place's track already */
};

struct node {
	struct disk_req req;
	struct disk_done done;
	uint64_t first, end; /* media sectors */
	uint64_t lba, lbas;
	struct place place; /* of first */
	double arrival, eligible;
	double overhead_ns; /* eligible without it: when it came to the head of things */
	uint64_t flush_seq;
	double extra_ns;    /* from the profile's fails */
	int32_t res;        /* what a good end gives */
	bool is_sequential; /* a read that begins where the one before had ended */
	bool is_partial;    /* a write that covers a physical sector in part */
	struct node *next;
};

struct list {
	struct node *head, **tail;
	uint32_t n;
};

/* Dirty data in the write cache. */
struct extent {
	uint64_t lba, lbas;
	uint64_t seq;
	double ready; /* when its transfer is over */
};

struct disk_noise { /* noise.c */
	struct rng rng;
	double waited;                    /* revolutions for the angle, at the last arrival */
	double pending_ms;                /* scatter drawn for a move that is not made yet; NaN: none */
	double frozen_until;              /* nothing moves until then */
	double unrest, unrest_until;      /* of the octave that changes fastest */
	double retry_sectors, retry_left; /* mean between lost revolutions, and until the next */
};

struct disk_waiting {
	/* requests: arrived, waiting for a place in the queue; in the queue, waiting for the mechanics; for room in the
	 * cache; for a flush */
	struct list arrived, queued, wait_room, wait_flush;
	double *release;                           /* heap of the times when places in the queue become free */
	uint32_t nrelease, release_room, in_queue; /* in_queue: places taken, released ones not counted */
	struct node *pool;
	struct node **heap; /* known completions by done_ns, number */
	uint32_t nheap, heap_room;
	uint32_t in_flight;
	uint64_t number, op_number[3];
	double last_eligible;
};

struct disk_head { /* mechanics */
	uint32_t cylinder, surface;
	double free_at;
	struct stream stream;
	uint64_t write_end;      /* media sector after the last one written; UINT64_MAX: the last was not a write */
	uint64_t recalibrations; /* over, or looked at */
};

struct disk_path {
	double bus_free;
	double credit, credit_at; /* bytes of the token bucket, and when */
	double ops_credit, ops_credit_at;
};

struct disk_cache { /* of reads */
	struct segment *segments;
	uint32_t nsegments;
	uint64_t segment_sectors, uses; /* segment_sectors: that one may take */
	uint64_t sectors, held_sectors;
	uint64_t read_end; /* media sector after the last one asked for */
};

struct disk_wcache {          /* of writes */
	struct extent *dirty; /* by lba */
	size_t ndirty, dirty_room;
	uint64_t dirty_lbas, seq, destage_lba;
	double dirty_since;
	bool is_emptying, last_was_destage;
	bool is_destaging; /* until the head is free: */
	uint64_t in_destage_lbas;
};

struct disk_media {
	struct region *bads, *slows;
	size_t nbads, nslows;
	/* what holds no data now */
	struct profile_range *trims;
	size_t ntrims;
};

struct disk_log {
	struct disk_write_log *v;
	size_t n, room;
};
