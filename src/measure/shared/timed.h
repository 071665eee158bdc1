/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Single reads, one after the other, each with its time: what seek and geometry are made of. And two steps that both
 * need: the rotation period, and the rate at a few places.
 */
#pragma once

#include <math.h>

#include "session/session.h"

/* Room for others, see surface: asked before each read, with nothing in flight. */
struct timed_manners {
	uint64_t (*until_ns)(void *arg, uint64_t now_ns); /* 0, or when to ask again */
	bool (*is_over)(void *arg);                       /* no more reads: as at the end of the run */
	void (*took)(void *arg, const struct io_req *req, bool is_fault);
	void *arg;
};

/* A read of a block anywhere, from behind another anywhere: what random reads over the whole device take. */
struct timed_sample {
	uint64_t before, offset; /* the end of the one before, the begin of this one */
	double ns;
};

/* What becomes of reads with FUA. */
enum timed_fua {
	TIMED_FUA_UNSEEN,  /* not known: nothing was in the drive's cache that they could have come from */
	TIMED_FUA_MEDIA,   /* they come from the media */
	TIMED_FUA_CACHE,   /* the drive's cache answers them as others */
	TIMED_FUA_REFUSED, /* the disk, or the way to it, takes none */
};

struct timed {
	struct session *ses;
	struct engine *eng;
	const struct target *target;
	uint64_t first_bytes,
		part_bytes;   /* offsets count from first_bytes, and there are that many; 0: all of the target */
	uint32_t block_bytes; /* of each read; a multiple of the step */
	enum io_op op;        /* IO_READ, or IO_VERIFY where the engine can; IO_WRITE with a permit */
	uint32_t step_bytes;  /* of offsets that timed_align gives: a physical sector */
	uint64_t until_ns;    /* 0, or when no further read begins: as at the end of the run */
	bool is_brief;        /* a search of the rotation is given up at times of its budget */
	bool prefers_fua;     /* FUA passes the cache by, where it does, before ways to make it forget are looked for */
	bool takes_any_way;   /* it has no time for floods, so it may pass the cache by with FUA, or by what was never
	                         read, and not know then how it forgets */
	struct engine
		*fua; /* NULL, or reads of a block with FUA come from the media (media.c); close with engine_close() */
	enum timed_fua fua_reads; /* as they were seen last */
	struct rng rng;
	struct timed_sample *sample; /* NULL, or room for most of those that are read on the way to something else */
	size_t nsamples, most_samples;
	const struct timed_manners *manners; /* NULL: none */
	uint64_t waited_ns;                  /* for them */
};

static inline uint64_t timed_size(const struct timed *t)
{
	return t->part_bytes ? t->part_bytes : t->target->size_bytes;
}

/*
 * Reads at the offsets in order, depth 1. ret_access_ns[i]: done - submit, NaN where the read failed or was not done
 * (end of the run); ret_done_ns may be NULL. 0 or negative errno; how it ended shows in session_is_over().
 */
int timed_reads(struct timed *t, const uint64_t *offsets, size_t n, double *ret_access_ns, uint64_t *ret_done_ns,
                struct err *err);

/* Any requests, one after the other, each after its wait; of the target's own offsets. */
int timed_list(struct timed *t, const struct list_item *items, size_t n, double *ret_access_ns, uint64_t *ret_done_ns,
               struct err *err);

/* The same, with FUA where that is known to pass the drive's cache by: t->fua. */
int timed_media_reads(struct timed *t, const uint64_t *offsets, size_t n, double *ret_access_ns, uint64_t *ret_done_ns,
                      struct err *err);
void timed_drop_fua(struct timed *t);

/* Is there time until until_ns? *ret_max_ns: so much, as a load wants it (0: no limit). */
bool timed_has_time(const struct timed *t, uint64_t *ret_max_ns);
bool timed_is_over(const struct timed *t); /* no other read begins */

/* A block at random in [first, end), aligned to the block. */
uint64_t timed_random(struct timed *t, uint64_t first, uint64_t end);
/* Down to a step's boundary, and so that the block lies inside the target. */
uint64_t timed_align(const struct timed *t, double offset);

/* Reads that the drive's cache answers. */
struct hits {
	double ns;       /* of one; NaN: no cache answered */
	double width_ns; /* its spread */
	double most_ns;  /* none takes longer: generous, for events that must not be hits; NaN: no cache answers */
};
#define NO_HITS ((struct hits){ NAN, NAN, NAN })
struct hits hits_about(double ns, double mad); /* from their median, and how far they lie from it */
/*
 * Did the drive's cache answer? Only what takes as long as a hit is one: as for reads of which none may be lost; all
 * that may be one is: as for reads of which none may be wrong. The media: neither, and read at all. No other place
 * compares times with those of hits.
 */
static inline bool timed_is_hit(const struct hits *h, double access_ns)
{
	return fabs(access_ns - h->ns) < h->width_ns;
}
static inline bool timed_may_be_hit(const struct hits *h, double access_ns)
{
	return access_ns <= h->most_ns;
}
static inline bool timed_is_media(const struct hits *h, double access_ns)
{
	return isfinite(access_ns) && !timed_may_be_hit(h, access_ns);
}

struct rotation {
	bool is_rotating; /* a period stands out */
	bool is_unclear;  /* none does, but reads are as slow as a disk's: answers may have been late, or the run ended;
	                     not to be called "not rotating" */
	double period_ns, se_ns;
	double noise_ns; /* deviation of a completion from the lattice */
	struct hits hits;
	double anywhere_ns;   /* 0, or the time of a read anywhere on a device without mechanics */
	uint32_t flush_reads; /* reads elsewhere after which a sector is not in the drive's cache any more */
	uint32_t flush_bytes; /* of each of them: a block, or more where blocks were not enough */
	double forget_ns;     /* how long they take */
	bool is_patchy;       /* places in between answer like a cache from the first: what is there was never stored */
	bool is_held;         /* the sector is in the cache even after the most of them that are tried */
	bool is_fresh; /* the period is from sectors that were never read before: how the cache forgets is not known */
	size_t events;
};

/*
 * The period from reading sectors again and again, with as many reads elsewhere in between as it takes to have each out
 * of the drive's cache: a sector comes by once a revolution, so the times between completions of its reads lie on a
 * lattice of the period (fit_period). budget_ns: device time.
 */
int rotation_find(struct timed *t, uint64_t budget_ns, struct rotation *ret, struct err *err);

/* No rotation was found, and that does not mean that nothing rotates: a notice why. false: it is not so. */
bool rotation_say_unclear(struct result *res, const struct rotation *rot);
/* A notice of what does not rotate, as well, and of what the kernel calls otherwise. true: that is open. */
bool rotation_say(struct result *res, const struct rotation *rot, const struct device *dev);

/*
 * A drive may keep what it has read ahead, but not what it was asked for, so that a sector read again and again shows
 * no cache. Where none was found: a block is read, one elsewhere, and the one behind the first, which comes at once if
 * it is in the cache; rot->hits.most_ns is set then, and *ret_is_ahead.
 */
int rotation_find_ahead(struct timed *t, struct rotation *rot, bool *ret_is_ahead, struct err *err);
/*
 * Sets t->fua where reads with it come from the media, clears it where they do so no longer, and sets t->fua_reads. at:
 * where it is tried first. is_ahead: the cache keeps only what was read ahead.
 */
int timed_look_for_fua(struct timed *t, const struct rotation *rot, uint64_t at, bool is_ahead, struct err *err);

/* A block at random, outside first to end, but not far from it; 0, 0: anywhere. */
uint64_t timed_elsewhere(struct timed *t, uint64_t first, uint64_t end);

/* Those reads elsewhere, outside first to end, but not far from it; 0, 0: anywhere. */
int timed_forget(struct timed *t, const struct rotation *rot, uint64_t first, uint64_t end, struct err *err);

/* The disk rests, but not past --time; a signal ends that within a quarter of a second. */
void timed_rest(struct session *ses, uint64_t ns);

#define RATE_BLOCK (1u << 20) /* as large as streams of programs are; what a request costs is little beside it */
/* Sequential rate at a place, from about bytes of reads in blocks of 1 MiB or an eighth of that (depth 2); NaN when it
 * could not be read. */
int timed_rate(struct timed *t, uint64_t offset, uint64_t bytes, double *ret_bytes_per_s, struct err *err);
