/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The phase method on requests that nobody aimed: from the times and places of some thousand reads alone, zones,
 * sectors per track and skew of a drive. Each read that the media answered ends at the angle of its last sector; two
 * reads that end d sectors apart in tracks of N differ by d/N, and by a skew more for each end of a track between them.
 * PLATTER_TRACE=FILE: of a real drive's trace as well, as replay.h reads them (tests/BOARDS.md has what came of that);
 * else of one that the model made.
 */
#include "test.h"

#include "replay.h"
#include "stats/stats.h"
#include "wild.h"

#define MISS_US    2500.0 /* a read that took so long came from the media: seek and half a revolution, or more */
#define SIZE_LEAST 64     /* sectors per track that are tried */
#define SIZE_MOST  511
#define SIZES      (SIZE_MOST - SIZE_LEAST + 1)
#define FAR        (2 * SIZE_MOST) /* sectors between the reads of a pair at most */
#define BIN        80              /* reads: zones are looked for in such pieces of the disk */
#define BINS_MAX   256
#define SIGMA      0.004 /* of the difference of two angles: 0.022 ms each at 7200 rpm (what was measured on this drive) */
#define STRAY      0.02 /* of the peak: density of a pair that fits nothing */
/* Of log likelihood, both a choice: sizes that are less likely by more are out (a read is in many pairs, so it is less
 * than it looks); what a zone has to explain better. */
#define MARGIN  20.0
#define CHANGE  20.0
#define FEW     4   /* bins: no zone is told of less */
#define SECOND  1e6 /* us */
#define NEAREST 12  /* sectors: a pair has the same angle, nearly */
#define NEAR    60  /* of one track, for the most part */

struct event {
	uint64_t end; /* the sector behind it */
	double t;     /* us */
	uint32_t sectors;
};

struct pair {
	uint32_t far;
	double us;    /* from the one that ends first to the other */
	int32_t more; /* sectors that the other asks for */
	double angle;
};

struct recovery {
	struct event *e;
	size_t n;
	double period, per_sector; /* us; of what a transfer takes after the media, revolutions */
	struct pair *pair;
	size_t npairs, first[BINS_MAX + 1]; /* of each bin */
	size_t nbins;
	double skew;
};

struct zone {
	uint64_t first, last; /* reads of it end there */
	uint32_t size, low, high;
	double skew;
};

static int by_end(const void *x, const void *y)
{
	const struct event *a = x, *b = y;

	return a->end == b->end ? (a->t > b->t) - (a->t < b->t) : (a->end > b->end) - (a->end < b->end);
}

/* Returns how long it took, us. */
static double take_reads(struct recovery *r, const struct replay_trace *t)
{
	double now = 0.0;

	r->e = calloc(t->n, sizeof(*r->e));
	assert_non_null(r->e);
	for (size_t i = 0; i < t->n; i++) {
		const struct replay_request *q = &t->requests[i];

		now += q->think_us + q->response_us;
		if (q->op == DISK_READ && q->response_us > MISS_US)
			r->e[r->n++] = (struct event){ .end = q->lba + q->sectors, .t = now, .sectors = q->sectors };
	}
	qsort(r->e, r->n, sizeof(*r->e), by_end);
	return now;
}

static double kernel(double off)
{
	double x = phase_distance(off, 0.0) / SIGMA;

	return fabs(x) < 5.0 ? exp(-0.5 * x * x) : 0.0;
}

static void make_pairs(struct recovery *r)
{
	size_t room = 0;

	r->nbins = r->n / BIN < BINS_MAX ? r->n / BIN : BINS_MAX;
	for (size_t b = 0; b < r->nbins; b++) {
		r->first[b] = r->npairs;
		for (size_t i = r->n * b / r->nbins; i < r->n * (b + 1) / r->nbins; i++)
			for (size_t k = i + 1; k < r->n && r->e[k].end - r->e[i].end <= FAR; k++) {
				const struct event *x = &r->e[i], *y = &r->e[k];

				if (r->npairs == room) {
					room = room ? 2 * room : 4096;
					r->pair = realloc(r->pair, room * sizeof(*r->pair));
					assert_non_null(r->pair);
				}
				r->pair[r->npairs++] =
					(struct pair){ .far = (uint32_t)(y->end - x->end),
					               .us = y->t - x->t,
					               .more = (int32_t)y->sectors - (int32_t)x->sectors };
			}
	}
	r->first[r->nbins] = r->npairs;
}

/*
 * How well phases of near pairs agree: of the nearest, within a second of each other; or, with the sizes of the tracks
 * of each bin, of those that are farther apart in time.
 */
static double coherence(const struct recovery *r, double period, const uint32_t *size)
{
	double x = 0.0, y = 0.0;

	for (size_t b = 0; b < r->nbins; b++)
		for (size_t i = r->first[b]; i < r->first[b + 1]; i++) {
			const struct pair *p = &r->pair[i];
			double turn;

			if (p->far > (size ? NEAR : NEAREST) || p->more || (fabs(p->us) > SECOND) != (size != NULL))
				continue;
			turn = 2.0 * M_PI * (p->us / period - (size ? (double)p->far / size[b] : 0.0));
			x += cos(turn);
			y += sin(turn);
		}
	return hypot(x, y);
}

static double best_period(const struct recovery *r, double low, double high, double step, const uint32_t *size)
{
	double best = 0.0, at = low;

	for (double period = low; period <= high; period += step) {
		double c = coherence(r, period, size);

		if (c > best) {
			best = c;
			at = period;
		}
	}
	return at;
}

/* A drive may send what it has read only then: longer requests end later than their last sector. */
static void find_transfer(struct recovery *r)
{
	double best = 0.0;

	for (double c = 0.0; c < 0.02; c += 0.0001) {
		double sum = 0.0;

		for (size_t i = 0; i < r->npairs; i++)
			if (r->pair[i].far == 0 && r->pair[i].more)
				sum += kernel(r->pair[i].us / r->period - c * r->pair[i].more);
		if (sum > best) {
			best = sum;
			r->per_sector = c;
		}
	}
	for (size_t i = 0; i < r->npairs; i++)
		r->pair[i].angle = r->pair[i].us / r->period - r->per_sector * r->pair[i].more;
}

/* Log likelihood of the pairs of bins [from, to), against pairs that fit nothing. skew NaN: those on one track only. */
static double likelihood(const struct recovery *r, size_t from, size_t to, uint32_t size, double skew)
{
	double sum = 0.0;

	for (size_t i = r->first[from]; i < r->first[to]; i++) {
		uint32_t ends = r->pair[i].far / size;
		double turn = (double)r->pair[i].far / size, later = turn - ends, p = STRAY;

		if (ends > (isfinite(skew) ? 1 : 0))
			continue;
		p += (1.0 - later) * kernel(r->pair[i].angle - turn - (ends ? skew : 0.0));
		if (isfinite(skew))
			p += later * kernel(r->pair[i].angle - turn - (ends + 1) * skew);
		sum += log(p / STRAY);
	}
	return sum;
}

static uint32_t likely_size(const struct recovery *r, size_t from, size_t to, double skew)
{
	uint32_t best = SIZE_LEAST;
	double most = -INFINITY;

	for (uint32_t size = SIZE_LEAST; size <= SIZE_MOST; size++) {
		double l = likelihood(r, from, to, size, skew);

		if (l > most) {
			most = l;
			best = size;
		}
	}
	return best;
}

#define ROUGH 4 /* bins that are taken together at first */

/* By pairs on one track. */
static void find_rough_sizes(const struct recovery *r, uint32_t *ret)
{
	for (size_t b = 0; b < r->nbins; b++)
		ret[b] = b % ROUGH ? ret[b - 1] : likely_size(r, b, b + ROUGH < r->nbins ? b + ROUGH : r->nbins, NAN);
}

/* From what lies near in time first, between 10000 and 5400 rpm; with the sizes that follow from that, by steps of a
 * tenth of a turn in all the time, from the rest. */
static void find_period(struct recovery *r, double all_us, uint32_t *size)
{
	r->period = best_period(r, 6000.0, 11112.0, 1.0, NULL);
	find_transfer(r);
	find_rough_sizes(r, size);
	r->period = best_period(r, 0.996 * r->period, 1.004 * r->period, 0.1 * r->period * r->period / all_us, size);
	find_transfer(r);
	find_rough_sizes(r, size);
	print_message("%zu reads of the media: one revolution %.4f us, %.3f rpm; %.1f us more for each sector\n", r->n,
	              r->period, 60e6 / r->period, r->per_sector * r->period);
}

/* The skew that most tracks have: what pairs over an end of one are off by. */
static void find_skew(struct recovery *r, const uint32_t *size)
{
	double best = 0.0;

	for (double skew = 0.02; skew < 0.98; skew += 0.002) {
		double sum = 0.0;

		for (size_t b = 0; b < r->nbins; b++)
			sum += likelihood(r, b, b + 1, size[b], skew);
		if (sum > best) {
			best = sum;
			r->skew = skew;
		}
	}
}

/* Size of each bin by the likeliest sequence in which sizes fall and each change costs something (Viterbi). */
static void find_sizes(const struct recovery *r, uint32_t *ret)
{
	cleanup_free double *best = calloc(SIZES, sizeof(*best));
	cleanup_free uint32_t *from = calloc(SIZES * BINS_MAX, sizeof(*from));
	uint32_t last = 0;

	assert_true(best && from);
	for (size_t b = 0; b < r->nbins; b++) {
		uint32_t top = SIZES - 1; /* of all that are larger, the best up to the bin before */
		double top_value = -INFINITY;

		for (uint32_t k = SIZES; k-- > 0;) {
			double stay = best[k];

			from[b * SIZES + k] = stay >= top_value - CHANGE ? k : top;
			best[k] = fmax(stay, top_value - CHANGE) + likelihood(r, b, b + 1, SIZE_LEAST + k, r->skew);
			if (stay > top_value) {
				top_value = stay;
				top = k;
			}
		}
	}
	for (uint32_t k = 1; k < SIZES; k++)
		last = best[k] > best[last] ? k : last;
	for (size_t b = r->nbins; b-- > 0; last = from[b * SIZES + last])
		ret[b] = SIZE_LEAST + last;
}

/* Of the bins of a zone, the outer ones aside, as they may be its neighbours' in part: size and skew together, and all
 * sizes that are not much less likely. */
static struct zone judge(const struct recovery *r, size_t from, size_t to, uint32_t about)
{
	struct zone z = { .first = r->e[r->n * from / r->nbins].end, .last = r->e[r->n * to / r->nbins - 1].end };
	double value[17], most = -INFINITY;

	from++;
	to--;
	for (uint32_t k = 0; k < 17; k++) {
		value[k] = -INFINITY;
		for (double skew = r->skew - 0.01; skew <= r->skew + 0.01; skew += 0.001) {
			double l = likelihood(r, from, to, about + k - 8, skew);

			value[k] = fmax(value[k], l);
			if (l > most) {
				most = l;
				z.size = about + k - 8;
				z.skew = skew;
			}
		}
	}
	z.low = z.high = z.size;
	for (uint32_t k = 0; k < 17; k++)
		if (value[k] > most - MARGIN) {
			z.low = about + k - 8 < z.low ? about + k - 8 : z.low;
			z.high = about + k - 8 > z.high ? about + k - 8 : z.high;
		}
	return z;
}

static size_t recover(const struct replay_trace *t, struct zone *ret, size_t max)
{
	struct recovery r = { .e = NULL };
	uint32_t size[BINS_MAX];
	double all_us = take_reads(&r, t);
	size_t n = 0;

	make_pairs(&r);
	find_period(&r, all_us, size);
	find_skew(&r, size);
	find_sizes(&r, size);
	for (size_t b = 0, end; b < r.nbins && n < max; b = end) {
		for (end = b; end < r.nbins && size[end] == size[b];)
			end++;
		if (end - b >= FEW) /* else it may be what lies across an edge */
			ret[n++] = judge(&r, b, end, size[b]);
	}
	free(r.e);
	free(r.pair);
	return n;
}

/* ---- against what is known of the drive ---- */

struct score {
	size_t zones, told, exact, wrong, skews_wrong;
};

/* Most of the bytes that the zone covers are of a true zone of that size and skew. */
static void hold_against(const struct geometry *g, const struct zone *z, size_t n, struct score *s)
{
	struct truth_zone truth[PROFILE_ZONES_MAX];
	size_t m = truth_zones(g, truth, PROFILE_ZONES_MAX);

	s->zones = m;
	for (size_t i = 0; i < n; i++) {
		double middle = ((double)z[i].first + (double)z[i].last) * 256.0; /* bytes */
		size_t k = 0;

		while (k + 1 < m && (double)truth[k + 1].first_byte <= middle)
			k++;
		print_message("%" PRIu64 " to %" PRIu64 ": %" PRIu32 " (%" PRIu32 " to %" PRIu32
		              "), skew %.3f; true %" PRIu32 ", %.3f\n",
		              z[i].first, z[i].last, z[i].size, z[i].low, z[i].high, z[i].skew, truth[k].spt[0],
		              geometry_profile(g)->zones[k].head_skew);
		s->told++;
		s->exact += z[i].low == z[i].high && z[i].size == truth[k].spt[0];
		s->wrong += truth[k].spt[0] < z[i].low || truth[k].spt[0] > z[i].high;
		s->skews_wrong += fabs(phase_distance(z[i].skew, geometry_profile(g)->zones[k].head_skew)) > 0.015;
	}
}

static struct score score_of(const struct replay_trace *t, const struct profile *p)
{
	struct geometry *g = geometry_new(p);
	struct zone zone[64];
	struct score s = { 0 };
	size_t n = recover(t, zone, 64);

	hold_against(g, zone, n, &s);
	geometry_free(g);
	return s;
}

static void load(struct profile *p)
{
	MUST(profile_load(p, SIMDISK_PROFILES "/atlas-iii.disk", &err));
}

/* As in such traces: a third near the one before, a third of them writes, pauses of 40 ms on the mean. */
static void make_trace(const struct profile *p, uint64_t seed, struct replay_trace *ret)
{
	uint64_t lba = 0, last = p->capacity_lba - 1000;
	struct rng rng;

	ret->n = 10000;
	ret->requests = calloc(ret->n, sizeof(*ret->requests));
	assert_non_null(ret->requests);
	rng_init(&rng, seed, 1);
	for (size_t i = 0; i < ret->n; i++) {
		bool is_near = rng_below(&rng, 3) == 0;
		uint64_t far = 4ull << rng_below(&rng, 8);

		lba = is_near && lba > far && lba < last ? lba - far + rng_below(&rng, 2 * far) : rng_below(&rng, last);
		ret->requests[i] = (struct replay_request){ .op = rng_below(&rng, 3) ? DISK_READ : DISK_WRITE,
			                                    .lba = lba,
			                                    .sectors = (uint32_t)(4 + rng_below(&rng, 4) * 4),
			                                    .think_us = (double)rng_below(&rng, 80000) };
	}
	MUST(replay_run(ret, p, THINK_BEFORE, &err));
	for (size_t i = 0; i < ret->n; i++)
		ret->requests[i].response_us = round(ret->requests[i].model_us);
}

TEST(zones_come_out_of_reads_that_nobody_aimed)
{
	size_t zones = 0, told = 0;

	for (uint64_t seed = 1; seed <= (getenv("PLATTER_LONG") ? 20 : 2); seed++) {
		struct replay_trace t = { 0 };
		cleanup_profile struct profile p = { 0 };
		struct score s;

		load(&p);
		MUST(profile_add_noise(&p, WILD_NOISE_REAL, seed, &err));
		make_trace(&p, seed, &t);
		s = score_of(&t, &p);
		assert_int_equal(s.wrong, 0);
		assert_int_equal(s.skews_wrong, 0);
		zones += s.zones;
		told += s.told;
		replay_trace_done(&t);
	}
	print_message("%zu zones, %zu told\n", zones, told);
	assert_in_range(told * 10, zones * 9, zones * 11);
}

TEST(the_same_of_a_trace_that_is_given)
{
	const char *path = getenv("PLATTER_TRACE");
	cleanup_fclose FILE *in = path ? fopen(path, "r") : NULL;
	struct replay_trace t = { 0 };
	cleanup_profile struct profile p = { 0 };
	struct score s;
	struct err err;

	if (!path)
		skip();
	if (!in || replay_parse(&t, path, in, &err) < 0)
		fail_msg("%s: %s", path, in ? err.text : "no such file");
	load(&p);
	s = score_of(&t, &p);
	print_message("%zu zones, %zu told, %zu exact, %zu wrong, %zu skews wrong\n", s.zones, s.told, s.exact, s.wrong,
	              s.skews_wrong);
	assert_int_equal(s.wrong, 0);
	replay_trace_done(&t);
}
