/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rotation period, from sectors that are read again and again, with the drive's cache made to forget them or passed
 * by. */
#include "measure/shared/lattice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/units.h"

#define QUICK_NS      (PERIOD_LOW_NS / 4.0) /* nothing that turns answers a quarter of all reads in that time */
#define VOLUME_MAX    1024                  /* of a MiB: the largest caches hold 512; it takes a few seconds */
#define LOOKS_LEAST   8                     /* of fewer nobody knows how quick the device is (a choice) */
#define EVENTS_GOOD   60 /* enough: the error of a period falls with the 1.5th power of their number */
#define BY_FUA        32 /* sectors of each half: time for slow drives to get through them */
#define BY_VOLUME     72 /* sectors after each flood, always the same: events enough, but for those that are late */
#define RETRIES       4  /* each with other sectors (a choice) */
#define BLOCKS_MOST   2  /* times of the budget, if brief: then large reads flush sooner than more blocks (a choice) */
#define ALL_MOST      14 /* times of the budget, if brief: then nothing else is begun (a choice) */
#define PLACES        24 /* first looks: one in six stored is found but once in a hundred disks */
#define HITS          15 /* reads again: 15 show their spread to a fifth */
#define HITS_LEAST    5  /* of a place that answers that often at least (a choice) */
#define WHOLE_BYTES   4000000000 /* over less, a disk's seeks are short */
#define AGAIN_MOST    6          /* slow ones looked at again: four of six by chance once in 800 */
#define LATE_HIT      3.0        /* times of a hit: most of those that the host made late (one in a hundred) */
#define ALIKE_MOST_NS 5e6        /* no rotating disk takes less on the average: half a revolution and a seek */

/*
 * Hits and reads elsewhere are judged by the quick ones among them: a busy host makes answers later, never earlier.
 * Sorts v; the lower quartile.
 */
static double quick_ones(double *v, size_t n, double *ret_mad)
{
	struct summary s;

	stats_sort(v, n);
	/* The deviation of the lower two thirds is 0.6 of that of all. */
	*ret_mad = summary_of(v, (2 * n + 2) / 3, &s) ? s.mad / 0.6 : (double)NAN;
	return v[n / 4];
}

/* ---- places ---- */

struct places { /* first looks, the slow ones last */
	struct place {
		double ns;
		uint64_t at;
	} v[PLACES];
	size_t n;
};

/* Evenly over the device, as what is unreadable, trimmed or cached in one place must not decide. The first read of all
 * wakes it up and is not looked at. */
static int look_around(struct timed *t, struct places *l, struct err *err)
{
	uint64_t at = timed_random(t, 0, timed_size(t));
	double part = 0.37, access;
	int r = timed_reads(t, &at, 1, &access, NULL, err);

	for (size_t i = 0; r == 0 && i < PLACES && !timed_is_over(t); i++) {
		at = timed_align(t, part * (double)timed_size(t));
		part = fmod(part + RNG_GOLDEN, 1.0);
		r = timed_reads(t, &at, 1, &access, NULL, err);
		if (r == 0 && isfinite(access))
			l->v[l->n++] = (struct place){ access, at };
	}
	qsort(l->v, l->n, sizeof(l->v[0]), order_f64);
	return r;
}

/* What a read costs that the drive's cache answers: the same sector at once again. */
static int probe_hits(struct timed *t, const struct places *l, double *v, size_t *ret_n, struct err *err)
{
	int r = 0;

	*ret_n = 0;
	for (size_t k = 1; r == 0 && k <= 3 && *ret_n < HITS_LEAST && l->n; k++) {
		/* The slowest may have been late. */
		const uint64_t at[] = { timed_random(t, 0, timed_size(t)), l->v[l->n - 1 - (l->n - 1) * k / 4].at };
		double access[2] = { NAN, NAN };

		*ret_n = 0;
		r = timed_reads(t, at, 2, access, NULL, err);
		while (r == 0 && *ret_n < HITS && isfinite(access[1]) && !timed_is_over(t)) {
			r = timed_reads(t, &at[1], 1, &access[1], NULL, err);
			if (r == 0 && isfinite(access[1]))
				v[(*ret_n)++] = access[1];
		}
	}
	return r;
}

static void note_hits(double *v, size_t n, struct rotation *ret)
{
	double hit, mad;
	struct summary s;

	if (n < HITS_LEAST)
		return;
	hit = quick_ones(v, n, &mad);
	if (summary_of(v, n, &s) && s.median < 1.5 * hit) { /* a quiet host */
		hit = s.median;
		mad = s.mad;
	}
	if (hit < PERIOD_LOW_NS * 0.97)
		ret->hits = hits_about(hit, mad);
}

/* Reads that are slow where others are quick: do they stay so beside? Then something is stored there, and elsewhere
 * not; what is late is late anywhere. */
static int are_places_slow(struct timed *t, const struct places *l, double most_ns, bool *ret_are, struct err *err)
{
	size_t tried = 0, slow = 0;
	int r = 0;

	for (size_t i = l->n; r == 0 && i > 0 && l->v[i - 1].ns > most_ns && tried < AGAIN_MOST; i--) {
		const uint64_t at = timed_align(t, (double)l->v[i - 1].at + ROTATION_BESIDE);
		double access = NAN;

		r = timed_reads(t, &at, 1, &access, NULL, err);
		tried += isfinite(access);
		slow += access > most_ns;
	}
	*ret_are = slow >= 2 && slow * 3 >= tried * 2;
	return r;
}

/*
 * Reads again are as slow as first ones, which are quicker than a rotating disk's over the whole of it; and they are
 * not of one length, as a revolution is. That is a network's time, or that of flash.
 */
static bool is_alike(const struct timed *t, const struct places *l, double *again, size_t n)
{
	struct summary s;
	double ignore, first = l->v[l->n / 4].ns;

	return n >= HITS_LEAST && timed_size(t) >= WHOLE_BYTES && l->v[l->n / 2].ns < ALIKE_MOST_NS &&
	       quick_ones(again, n, &ignore) > 0.6 * first && summary_of(again, n, &s) &&
	       (s.median < PERIOD_LOW_NS * 0.9 || s.mad > 0.05 * s.median);
}

/* The first looks that no medium that turns answers, up to HITS; how many. */
static size_t quick_looks(const struct places *l, double *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n && n < HITS && l->v[i].ns < QUICK_NS; i++)
		ret[n++] = l->v[i].ns;
	return n;
}

/* Is there anything that turns? Else ret->anywhere_ns is set. *ret_sector: one that the media have. */
static int judge_places(struct timed *t, struct rotation *ret, uint64_t *ret_sector, struct err *err)
{
	struct places l = { .n = 0 };
	double again[HITS], quick;
	size_t n = 0;
	bool are_slow = false;
	int r = look_around(t, &l, err);

	ret->hits = NO_HITS;
	if (r == 0)
		r = probe_hits(t, &l, again, &n, err);
	if (r < 0 || l.n < PLACES / 2)
		return r;
	*ret_sector = l.v[l.n * 3 / 4].at;
	quick = l.v[l.n / 4].ns;
	r = are_places_slow(t, &l, 3.0 * quick, &are_slow, err);
	if (r < 0)
		return r;
	if (!are_slow && is_alike(t, &l, again, n)) {
		ret->anywhere_ns = quick;
		return 0;
	}
	note_hits(again, n, ret);
	if (are_slow && !isfinite(ret->hits.ns) &&
	    quick < QUICK_NS) /* no cache: what is not stored is what answers without the media */
		note_hits(again, quick_looks(&l, again), ret);
	ret->is_patchy = are_slow && isfinite(ret->hits.ns);
	if (ret->is_patchy) /* many are, so that the late ones among them count */
		ret->hits.width_ns = fmax(ret->hits.most_ns, LATE_HIT * ret->hits.ns) - ret->hits.ns;
	if (are_slow) {
		*ret_sector = l.v[l.n - 2].at;
	} else if (quick < 3.0 * ret->hits.ns + ret->hits.width_ns) { /* Any read is as fast: not a cache. */
		ret->hits = NO_HITS;
		if (quick < QUICK_NS)
			ret->anywhere_ns = quick;
	}
	return 0;
}

/* ---- the drive's cache ---- */

static bool is_time_left(const struct timed *t, uint64_t start_ns, double most_ns)
{
	return !t->is_brief || (double)(clock_now_ns(t->ses->env->clk) - start_ns) < most_ns;
}

/* Is the sector in the cache after the reads elsewhere that ret says? */
static int is_flushed(struct timed *t, uint64_t sector, struct rotation *ret, bool *ret_is, struct err *err)
{
	size_t hits = 0, seen = 0;
	int r = 0;

	for (int k = 0; r == 0 && k < (ret->flush_reads < 16 ? 4 : 2) && hits == 0 && !timed_is_over(t); k++) {
		uint64_t start = clock_now_ns(t->ses->env->clk);
		double access = NAN;

		r = timed_forget(t, ret, 0, 0, err);
		ret->forget_ns = (double)(clock_now_ns(t->ses->env->clk) - start);
		if (r == 0)
			r = timed_reads(t, &sector, 1, &access, NULL, err);
		hits += timed_may_be_hit(&ret->hits, access);
		seen += isfinite(access);
	}
	*ret_is = seen && hits == 0;
	ret->is_held = hits > 0;
	return r;
}

/*
 * How many reads of blocks elsewhere it takes until the sector is read from the media again, as caches of a few
 * segments want. More than ret says, if it says any: those were not enough.
 */
static int blocks_until(struct timed *t, uint64_t sector, uint64_t start_ns, uint64_t budget_ns, struct rotation *ret,
                        bool *ret_is, struct err *err)
{
	uint32_t large = t->eng->cfg.buf_bytes < RATE_BLOCK ? t->eng->cfg.buf_bytes : RATE_BLOCK;
	bool is = false;
	int r = 0;

	ret->flush_bytes = t->block_bytes;
	*ret_is = !isfinite(ret->hits.ns); /* nothing to flush */
	if (*ret_is)
		return 0;
	for (uint32_t m = ret->flush_reads ? 2 * ret->flush_reads : 1;
	     r == 0 && !is && m <= FLUSH_LAST / 2 && !timed_is_over(t) &&
	     (large <= t->block_bytes || is_time_left(t, start_ns, BLOCKS_MOST * (double)budget_ns));
	     m *= 2) {
		ret->flush_reads = m;
		r = is_flushed(t, sector, ret, &is, err);
	}
	*ret_is = is;
	return r;
}

/* The same. FUA serves where it is preferred, or where blocks do not suffice or take too long; then the cache has
 * nothing to forget. */
static int find_flush(struct timed *t, uint64_t sector, uint64_t start_ns, uint64_t budget_ns, struct rotation *ret,
                      bool *ret_is, struct err *err)
{
	int r = 0;

	*ret_is = false;
	if (t->prefers_fua && isfinite(ret->hits.ns))
		r = timed_look_for_fua(t, ret, sector, false, err);
	if (r == 0 && !t->fua)
		r = blocks_until(t, sector, start_ns, budget_ns, ret, ret_is, err);
	if (r == 0 && !t->fua && !*ret_is && t->takes_any_way && !timed_is_over(t))
		r = timed_look_for_fua(t, ret, sector, false, err);
	if (r < 0 || !t->fua)
		return r;
	*ret_is = true;
	ret->is_held = false;
	ret->flush_reads = 0;
	ret->forget_ns = 0.0;
	return 0;
}

/*
 * Many sectors in turn, so that each read is an event, and none is in the cache any more when its turn comes: two
 * halves of at least as many as it takes, each shuffled every time (waiting must vary for the longest period to be the
 * true one).
 */
struct rounds {
	uint64_t sector[2 * FLUSH_LAST],
		first[2 * FLUSH_LAST]; /* first: the completion that later ones are counted from; 0: none yet */
	size_t half;
};

static void rounds_init(struct timed *t, struct rounds *q, const struct rotation *rot)
{
	q->half = t->fua ? BY_FUA : is_by_volume(t, rot) ? BY_VOLUME : rot->flush_reads > 6 ? rot->flush_reads : 6;
	for (size_t i = 0; i < 2 * q->half; i++) {
		q->sector[i] = timed_random(t, 0, timed_size(t));
		q->first[i] = 0;
	}
}

static void shuffle(struct timed *t, uint64_t *sector, uint64_t *first, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = (size_t)rng_below(&t->rng, i);
		uint64_t s = sector[k], f = first[k];

		sector[k] = sector[i - 1];
		first[k] = first[i - 1];
		sector[i - 1] = s;
		first[i - 1] = f;
	}
}

/* One half once; adds to the events, each the time since its sector's first one. */
static int one_half(struct timed *t, const struct rotation *rot, uint64_t *sector, uint64_t *first, size_t half,
                    struct events *ev, struct err *err)
{
	uint64_t done[FLUSH_LAST];
	double access[FLUSH_LAST];
	int r;

	shuffle(t, sector, first, half);
	memset(done, 0, sizeof(done));
	r = timed_media_reads(t, sector, half, access, done, err);
	for (size_t i = 0; i < half && r == 0; i++) {
		if (!isfinite(access[i]))
			continue;
		if (timed_may_be_hit(&rot->hits, access[i])) {
			ev->hits += first[i] > 0;
		} else if (!first[i]) {
			first[i] = done[i];
			ev->look[ev->nlooks++] = access[i];
			if (i &&
			    !timed_may_be_hit(&rot->hits, access[i - 1])) /* later ones are not independent of it */
				keep_sample(t, sector[i - 1], sector[i], access[i - 1], access[i]);
		} else if (ev->n < EVENTS_MAX) {
			ev->access[ev->n] = access[i];
			ev->first[ev->n] = first[i];
			ev->when[ev->n++] = (double)(done[i] - first[i]);
		}
	}
	return r;
}

/*
 * First reads of sectors are as slow as those of a rotating disk, or there are few: that no period stood out may be the
 * host's doing. What the drive's cache answers, or a place where nothing is stored, says nothing of what turns; and as
 * some of those are late, half of the reads have to be quick there.
 */
static bool is_slow(const struct rotation *rot, struct events *ev)
{
	double ignore, quick = ev->nlooks ? quick_ones(ev->look, ev->nlooks, &ignore) : 0.0;

	return ev->nlooks < LOOKS_LEAST || (rot->is_patchy ? ev->look[ev->nlooks / 2] : quick) >= QUICK_NS;
}

/* The cache has not forgotten: late answers of it passed for the media's when it was asked whether it does. */
static bool is_cached(const struct events *ev)
{
	return ev->hits > ev->n + LOOKS_LEAST;
}

/* Events until there are that many, or for so long. */
static int collect(struct timed *t, const struct rotation *rot, struct events *ev, size_t want, uint64_t budget_ns,
                   struct err *err)
{
	uint64_t start = clock_now_ns(t->ses->env->clk), waited_ns = t->waited_ns, spent = 0;
	size_t had = ev->n;
	struct rounds q;
	int r = 0;

	rounds_init(t, &q, rot);
	for (int k = 0; r == 0 && ev->n < EVENTS_MAX && !is_cached(ev) && !timed_is_over(t) && spent < 4 * budget_ns &&
	                (ev->n - had < want || spent < budget_ns);
	     k ^= !is_by_volume(t, rot)) {
		size_t at = k ? q.half : 0;

		if (is_by_volume(t, rot))
			r = timed_forget(t, rot, 0, 0, err);
		if (r == 0)
			r = one_half(t, rot, q.sector + at, q.first + at, q.half, ev, err);
		spent = clock_now_ns(t->ses->env->clk) - start - (t->waited_ns - waited_ns);
	}
	return r;
}

/*
 * By volume, where many small pieces fit in: all sectors of a round are read, then large blocks elsewhere. Those read
 * first, each tried once, show when they come from the media again. So no volume has to be read twice, and the others,
 * behind which all that was read as well, are out of the cache when that is found out: reading them again are the
 * events.
 */
static int flush_by_volume(struct timed *t, uint64_t start_ns, uint64_t budget_ns, struct rotation *ret,
                           struct events *ev, struct err *err)
{
	const uint32_t large = t->eng->cfg.buf_bytes < RATE_BLOCK ? t->eng->cfg.buf_bytes : RATE_BLOCK,
		       first = is_by_volume(t, ret) ? 2 * ret->flush_reads : 16; /* more than was not enough */
	uint32_t had = 0;
	struct rounds q;
	size_t next = 0;
	bool is = false;
	int r;

	if (large <= t->block_bytes)
		return 0;
	ret->flush_bytes = large;
	ret->forget_ns = 0.0;
	rounds_init(t, &q, ret);
	r = one_half(t, ret, q.sector, q.first, q.half, ev, err);
	for (uint32_t m = first;
	     r == 0 && !is && m <= VOLUME_MAX && !timed_is_over(t) &&
	     (m == first || is_time_left(t, start_ns, ALL_MOST * (double)budget_ns - ret->forget_ns));
	     m *= 2) {
		uint64_t began = clock_now_ns(t->ses->env->clk);
		size_t hits = 0, seen = 0;

		ret->flush_reads = m - had;
		r = timed_forget(t, ret, 0, 0, err);
		ret->flush_reads = had = m;
		ret->forget_ns += (double)(clock_now_ns(t->ses->env->clk) - began);
		for (int k = 0; r == 0 && k < 2 && !hits && !timed_is_over(t); k++) {
			double access = NAN;

			r = timed_reads(t, &q.sector[next++], 1, &access, NULL, err);
			hits += timed_may_be_hit(&ret->hits, access);
			seen += isfinite(access);
		}
		is = seen && !hits;
		ret->is_held = hits > 0;
	}
	if (r == 0 && is && !timed_is_over(t))
		r = one_half(t, ret, q.sector + next, q.first + next, q.half - next, ev, err);
	return r;
}

/* What was enough was not; the events are new. */
static int forget_more(struct timed *t, uint64_t sector, uint64_t start_ns, uint64_t budget_ns, struct rotation *ret,
                       struct events *ev, struct err *err)
{
	bool is_by_blocks = false;
	int r = 0;

	if (t->fua) { /* nor does it do that any more */
		timed_drop_fua(t);
		t->takes_any_way = t->prefers_fua = false;
	}
	if (!is_by_volume(t, ret))
		r = find_flush(t, sector, start_ns, budget_ns, ret, &is_by_blocks, err);
	if (r < 0 || is_by_blocks)
		return r;
	*ev = (struct events){ .n = 0 };
	return flush_by_volume(t, start_ns, budget_ns, ret, ev, err);
}

/* When nothing else was enough, and the cache still has what was read: twice as many blocks as one drive's has room
 * for. */
static int by_most_blocks(struct timed *t, uint64_t sector, uint64_t budget_ns, struct rotation *ret, struct err *err)
{
	struct events ev = { .n = 0 };
	bool is = false;
	int r;

	ret->flush_bytes = t->block_bytes;
	ret->flush_reads = FLUSH_LAST;
	r = is_flushed(t, sector, ret, &is, err);
	if (r == 0 && is && !timed_is_over(t))
		r = collect(t, ret, &ev, EVENTS_GOOD, budget_ns, err);
	if (r == 0 && is && !rotation_fit(&ev, ret))
		ret->is_unclear = is_cached(&ev) || is_slow(ret, &ev);
	return r;
}

/*
 * Events of a sector, all new, as a first answer that was late spoils a series; and more of them when the cache forgets
 * more. ret->is_unclear: they do not show it.
 */
static int look(struct timed *t, uint64_t sector, uint64_t start_ns, uint64_t budget_ns, struct rotation *ret,
                struct err *err)
{
	struct events ev = { .n = 0 };
	int r = collect(t, ret, &ev, EVENTS_GOOD, budget_ns, err);

	if (r < 0 || rotation_fit(&ev, ret))
		return r;
	if (is_cached(&ev)) {
		r = forget_more(t, sector, start_ns, budget_ns, ret, &ev, err);
		if (r < 0 || rotation_fit(&ev, ret))
			return r;
	}
	ret->is_unclear = ret->is_held || is_cached(&ev) || is_slow(ret, &ev);
	return 0;
}

int rotation_find(struct timed *t, uint64_t budget_ns, struct rotation *ret, struct err *err)
{
	const uint64_t start_ns = clock_now_ns(t->ses->env->clk);
	uint64_t sector = 0;
	struct events ev = { .n = 0 };
	bool is_by_blocks = true;
	int r;

	*ret = (struct rotation){ .period_ns = NAN, .se_ns = NAN, .noise_ns = NAN };
	r = judge_places(t, ret, &sector, err) ?: find_flush(t, sector, start_ns, budget_ns, ret, &is_by_blocks, err);
	if (r < 0 || ret->anywhere_ns > 0.0)
		return r;
	if (!is_by_blocks && t->takes_any_way) {
		r = rotation_fresh(t, sector, budget_ns, ret, err);
		if (r < 0 || ret->is_rotating)
			return r;
	}
	ret->is_unclear = true; /* as long as nothing was looked at */
	if (!is_by_blocks) {
		r = flush_by_volume(t, start_ns, budget_ns, ret, &ev, err);
		if (r < 0 || rotation_fit(&ev, ret))
			return r;
	}
	for (int k = 0; r == 0 && k < RETRIES && !(t->is_brief && ret->is_held) && !timed_is_over(t) &&
	                is_time_left(t, start_ns, ALL_MOST * (double)budget_ns) && ret->is_unclear;
	     k++)
		r = look(t, sector, start_ns, budget_ns, ret, err);
	if (r == 0 && !ret->is_rotating && ret->is_held && !t->is_brief && !timed_is_over(t))
		r = by_most_blocks(t, sector, budget_ns, ret, err);
	return r;
}

bool rotation_say_unclear(struct result *res, const struct rotation *rot)
{
	char text[32];

	if (!rot->is_unclear)
		return false;
	(void)units_bytes(text, sizeof(text), (uint64_t)rot->flush_reads * rot->flush_bytes);
	if (rot->is_held)
		result_notice(
			res, "cache-holds",
			"The drive's cache still answers for a sector after %s were read elsewhere: cannot tell whether it rotates.",
			text);
	else if (!rot->events && rot->flush_reads)
		result_notice(
			res, "cache-holds",
			"The drive's cache answers for a sector until %s are read elsewhere, for which there was no time: cannot tell whether it rotates. Give a longer --time.",
			text);
	else if (rot->events < EVENTS_GOOD)
		result_notice(res, "rotation-unclear",
		              "Only %zu read%s could be timed, too few to see whether it rotates: %s.", rot->events,
		              rot->events == 1 ? "" : "s",
		              result_fault_count(res) > rot->events
		                      ? "the others failed"
		                      : "give a longer --time, or repeat when machine and device are idle");
	else
		result_notice(
			res, "rotation-unclear",
			"No rotation was found in the times of %zu reads, which are as slow as a disk's. Either nothing rotates, or answers came too late: repeat when machine and device are idle.",
			rot->events);
	return true;
}

bool rotation_say(struct result *res, const struct rotation *rot, const struct device *dev)
{
	char text[32];

	if (rot->is_rotating) {
		if (dev->rotational == 0)
			result_notice(
				res, "says-not-rotating",
				"The kernel calls %s not rotational, but reads of one sector come once a revolution.",
				dev->name);
		return false;
	}
	if (rotation_say_unclear(res, rot))
		return true;
	if (rot->anywhere_ns > 0.0)
		result_notice(
			res, "not-rotating",
			"A read anywhere takes %s, as long as a repeated one: the device does not rotate, and has neither tracks nor a seek curve.",
			units_time(text, sizeof(text), (uint64_t)rot->anywhere_ns));
	else
		result_notice(
			res, "not-rotating",
			"No rotation was found in the times of %zu reads of one sector: the device does not rotate, and has neither tracks nor a seek curve.",
			rot->events);
	if (dev->rotational == 1)
		result_notice(res, "says-rotating", "The kernel calls %s rotational, but it does not behave so.",
		              dev->name);
	return false;
}
