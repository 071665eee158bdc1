/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the writes say. They go in batches for as long as those are fast; what is a change of their rate, stats/states.h
 * knows. From there on they go one by one, each flushed. The cache is full then, perhaps of what others wrote, which is
 * cleaned first. When the cushion's turn has come, the singles follow: twelve in a row that each had to wait, behind a
 * thousand that had not. An actuator explains them, or reading and writing a band: the likelihoods of these two are
 * held against each other. Each time may be an outlier.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/smr/smr.h"
#include "stats/states.h"

#define ACCESS_NS   8e6   /* where it is not known: what the slowest and the fastest differ from by a factor of two */
#define STREAM      100e6 /* bytes per second, the same */
#define SORTED      0.15  /* accesses: no disk writes blocks at random in less each, however many it sorts */
#define ALONE_LEAST 0.4   /* accesses: and where nothing is sorted, as the write cache is off: less than half a turn */
#define FLUSH       4     /* accesses that a flush may take besides */
#define WINDOW      12    /* of the 16 singles */
#define BATCHES     8     /* enough to know that it was slow from the start */
#define BATCHES_MAX 64    /* that are looked at */
#define CHANGE      2.0   /* decades: that the rate of batches has changed; if it has not, 1200 writes were slower */
#define MOSTLY      0.75  /* of batches, that are slow: others' writes are cleaned many at once, and few at once */
#define HOPELESS    20    /* accesses for each write of a batch: what is so slow is looked at one by one */
#define BAND_LEAST  (8u << 20) /* bytes: bands are known from 15 to 40 MB */
#define BAND_MOST   (256u << 20)
#define TRACK_MOST  2.5e6  /* bytes of a track: the densest media */
#define TRACK_LEAST 0.4e6  /* of a disk that may shingle: less in a turn is a request in a turn */
#define RPM         7200.0 /* where it is not known */
#define SURE        4.0    /* decades: one wrong in ten thousand, if the models hold */
#define ALONE       256 /* writes one by one after a slow start: a cleaning of a crowded cache comes within that many */
#define ALONE_MOST  1024 /* more add nothing, unless others' writes are cleaned first */
#define CLEANINGS   64   /* that are looked at */
#define UNEVEN      0.75 /* of the variance of numbers that come at random */
#define CLEAN       8    /* accesses: longer cleans several writes at once (each read, written, a turn missed) */
#define CUSHION     0.1  /* accesses that each block of the cushion takes at least, when it is cleaned */
#define ROOM        0.6  /* of the cushion's writes, that need not wait: it may lie in two bands */
#define WAITS       0.2  /* accesses that a single takes at least; and ... */
#define CONTRAST    3    /* times what writes take that need not wait */
#define SHORT       0.1  /* accesses: a flush that has something to do takes more */
#define FULL        0.1  /* accesses that writes take on average while there is no room: many go at once */
#define BEFORE      1.01 /* what lay in the cache already, as the beginning of what was written in sequence */
#define STALLED     0.2  /* share of time in long waits that nothing but cleaning explains */
#define TEETH       512  /* of the comb, behind the singles: eight of 64 MiB, which conventional drives clean at once */
#define GAPS_LEAST  6    /* of them, even but for a quarter: others' writes lie at random */
#define GAPS_MOST   7    /* of the comb: then its band is known to 5 % and better */
#define OUTLIER     0.1  /* of times that have another reason */
/* Accesses that a request without one takes: more hides what writes wait for, and few requests do not distinguish
 * stalls better. */
#define PATH_MOST (SORTED / 2)

struct view { /* of the samples */
	const struct smr_input *in;
	double access_ns, band_least_ns, band_most_ns, arm_least_ns; /* arm: of a write among many */
	bool is_media_rate; /* the rate in sequence was held up neither by the interface nor by lost turns: inside, the
	                       drive is not faster */
	size_t first_bulk;  /* sample */
	size_t tail;        /* sample: from here on they are single; n: none is */
	double *x;          /* times of those, write by write */
	size_t n;
	double quiet_ns;       /* of what need not wait */
	double wait_ns;        /* what waits takes that at least */
	double stall_share;    /* of their time, in those that took as long as a band does */
	double window[WINDOW]; /* sorted: the singles, or the slowest in a row that may be them */
	size_t at;             /* where it begins */
};

/* ---- likelihoods ---- */

static double log_normal(double x, double centre, double sigma)
{
	double z = log(x / centre) / sigma;

	return exp(-0.5 * z * z) / (sigma * sqrt(2 * M_PI));
}

/* Of any reason: anything from a tenth of a millisecond to minutes. */
static double outlier(void)
{
	return 1 / log(1e11 / 1e5);
}

/* Of n times that scatter about one that is only known to lie between low and high, evenly in its logarithm. */
static double common_time(const double *x, size_t n, double low, double high, double sigma)
{
	enum { STEPS = 100 };
	double best = -INFINITY, sum = 0, log_l[STEPS];

	for (int k = 0; k < STEPS; k++) {
		double centre = low * pow(high / low, (k + 0.5) / STEPS);

		log_l[k] = 0;
		for (size_t i = 0; i < n; i++)
			log_l[k] += log((1 - OUTLIER) * log_normal(x[i], centre, sigma) + OUTLIER * outlier());
		best = fmax(best, log_l[k]);
	}
	for (int k = 0; k < STEPS; k++)
		sum += exp(log_l[k] - best) / STEPS;
	return best + log(sum);
}

/* ---- samples ---- */

static double total_ns(const struct smr_sample *s)
{
	return (double)(s->write_ns + s->flush_ns);
}

static double each_ns(const struct smr_sample *s)
{
	return total_ns(s) / (double)s->writes;
}

/* Of batches before the cliff, all over. */
enum of { OF_WRITE, OF_WRITE_UNFLUSHED, OF_FLUSH };
static size_t batches(const struct view *v, enum of of, double x[BATCHES_MAX])
{
	size_t n = 0, end = v->tail > v->first_bulk && v->tail < v->in->n ? v->tail - 1 : v->tail;

	for (size_t i = v->first_bulk; i < end; i += (end - v->first_bulk) / BATCHES_MAX + 1) {
		const struct smr_sample *s = &v->in->v[i];

		if (!smr_is_single(s))
			x[n++] = of == OF_WRITE             ? each_ns(s)
			         : of == OF_WRITE_UNFLUSHED ? (double)(s->write_ns + 1) / (double)s->writes
			                                    : (double)s->flush_ns;
	}
	return n;
}

/* What singles take is kept write by write; view_done(). */
static void view_singles(struct view *v)
{
	const struct smr_input *in = v->in;
	double sum = 0, stalled = 0;
	cleanup_free double *sorted = NULL;

	for (v->tail = in->n; v->tail > v->first_bulk && smr_is_single(&in->v[v->tail - 1]); v->tail--)
		v->n += in->v[v->tail - 1].writes;
	v->x = xcalloc(v->n + 1, sizeof(*v->x));
	for (size_t i = v->tail, n = 0; i < in->n; i++)
		for (uint64_t k = 0; k < in->v[i].writes; k++)
			v->x[n++] = each_ns(&in->v[i]);
	for (size_t i = 0; i < v->n; i++) {
		sum += v->x[i];
		stalled += v->x[i] > v->band_least_ns ? v->x[i] : 0;
	}
	v->stall_share = sum > 0 ? stalled / sum : 0;
	sorted = xcalloc(v->n + 1, sizeof(*sorted));
	memcpy(sorted, v->x, v->n * sizeof(*sorted));
	stats_sort(sorted, v->n);
	v->quiet_ns = sorted[v->n / 4];
	v->wait_ns = fmax(WAITS * v->access_ns, CONTRAST * v->quiet_ns);
}

static void view_init(struct view *v, const struct smr_input *in)
{
	double stream = in->stream_bytes_per_s > 0 ? in->stream_bytes_per_s : STREAM;
	double turn_s = 60 / (in->rpm > 0 ? in->rpm : RPM), written = 0;
	uint64_t bulk = smr_layout_writes(in->layout) - in->layout->part[SMR_BULK].n;

	*v = (struct view){ .in = in, .access_ns = in->access_ns > 0 ? in->access_ns : ACCESS_NS };
	if (in->n)
		written = (double)(in->v[in->n - 1].first + in->v[in->n - 1].writes);
	v->is_media_rate = link_is_far(stream, in->interface_bytes_per_s) && stream * turn_s > TRACK_LEAST;
	v->band_least_ns = 2 * BAND_LEAST / (v->is_media_rate ? stream : TRACK_MOST / turn_s) * 1e9;
	v->arm_least_ns = (in->is_through ? ALONE_LEAST : SORTED) * v->access_ns;
	/* read and written; before, all that the cache holds of it is fetched */
	v->band_most_ns = 2 * (double)BAND_MOST / stream * 1e9 +
	                  v->access_ns * (4 + written * BAND_MOST / (double)in->layout->size_bytes);
	while (v->first_bulk < in->n && in->v[v->first_bulk].first < bulk)
		v->first_bulk++;
	view_singles(v);
}

static void view_done(struct view *v)
{
	free(v->x);
}

/* ---- batches ---- */

/* It took what an arm takes, however well it sorts. */
static bool is_slow(const struct view *v, size_t i)
{
	const struct smr_sample *s = &v->in->v[i];

	return total_ns(s) > v->arm_least_ns * (double)s->writes + FLUSH * v->access_ns;
}

static bool are_slow(const struct view *v, size_t first, size_t end)
{
	size_t slow = 0;

	for (size_t i = first; i < end; i++)
		slow += is_slow(v, i);
	return end > first && (double)slow >= MOSTLY * (double)(end - first);
}

/* Has the rate just changed? At once, as the cushion gives room for three batches more. */
static bool has_changed(const struct view *v)
{
	struct states s = { 0 };
	size_t n = v->in->n, first = n > v->first_bulk + BATCHES_MAX ? n - BATCHES_MAX : v->first_bulk;
	double before = 0;

	for (size_t i = first; i < n; i++) {
		const struct smr_sample *b = &v->in->v[i];

		before = i + 1 < n ? fmax(before, each_ns(b)) : before;
		states_add(&s, 1e9 / each_ns(b), (double)b->writes);
	}
	if (n < v->first_bulk + BATCHES || are_slow(v, n - BATCHES, n))
		return is_slow(v, n - 1);
	return total_ns(&v->in->v[n - 1]) > FLUSH * v->access_ns && each_ns(&v->in->v[n - 1]) > before &&
	       states_change_log10(&s) >= CHANGE;
}

/* Flushes that cost nothing beside the writes: it may be that nothing waits for them. */
static bool are_flushes_short(const struct view *v)
{
	double x[BATCHES_MAX];
	size_t n = batches(v, OF_FLUSH, x);

	return n && stats_median(x, n) < SHORT * fmin(v->access_ns, ACCESS_NS);
}

/* What cleaning the cushion takes at least. */
static double cushion_ns(const struct view *v)
{
	return CUSHION * v->access_ns * (double)v->in->layout->part[SMR_CUSHION].n;
}

/* ---- one by one ---- */

static double window_at(const struct view *v, size_t i, double ret[WINDOW])
{
	memcpy(ret, v->x + i, WINDOW * sizeof(*ret));
	stats_sort(ret, WINDOW);
	return (ret[WINDOW / 2 - 1] + ret[WINDOW / 2]) / 2;
}

static double wait_ns(const struct view *v, size_t i)
{
	return v->x[i] >= v->wait_ns ? v->x[i] : 0;
}

static double weigh_window(const struct view *v)
{
	return (common_time(v->window, WINDOW, v->band_least_ns + v->access_ns, v->band_most_ns, 0.25) -
	        common_time(v->window, WINDOW, 0.5 * v->access_ns, 4 * v->access_ns, 0.5)) /
	       M_LN10;
}

#define COMB_MOST 64
struct comb { /* what went at once */
	struct stats_estimate band;
	double waits[COMB_MOST], teeth;
	size_t n, all; /* gaps that are even, and all of them */
};

/*
 * Teeth of the comb that go at once are those of one band: writes from one long wait to the next. What a stray wait
 * cuts, and the bands at the ends, are left out.
 */
static void comb_of(const struct view *v, double wait_ns, struct comb *ret)
{
	double gaps[COMB_MOST], waits[COMB_MOST], sorted[COMB_MOST], sum = 0, median, half;
	double step = (double)v->in->layout->part[SMR_COMB].step_bytes;
	size_t ngaps = 0, last = v->n, teeth = 0, most = v->in->layout->part[SMR_COMB].n;

	*ret = (struct comb){ .band = STATS_UNKNOWN };
	for (size_t i = v->at; i < v->n && teeth < most && ngaps < COMB_MOST; i++) {
		if (v->x[i] < wait_ns)
			continue;
		if (last < v->n && i - last >= 3 && (double)(i - last) * step < 1.25 * BAND_MOST) {
			waits[ngaps] = v->x[last];
			gaps[ngaps++] = (double)(i - last);
			teeth += i - last;
		}
		last = i;
	}
	if (ngaps < 4)
		return;
	memcpy(sorted, gaps + 1, (ngaps - 1) * sizeof(*gaps)); /* the first is of a part of a band */
	stats_sort(sorted, ngaps - 1);
	median = stats_quantile_sorted(sorted, ngaps - 1, 0.5);
	for (size_t i = 1; i < ngaps; i++)
		if (fabs(gaps[i] - median) < fmax(1.5, 0.1 * median)) {
			sum += gaps[i];
			ret->waits[ret->n++] = waits[i];
		}
	if (ret->n < 3 || ret->n * 2 < ngaps - 1) {
		ret->n = 0;
		return;
	}
	half = 0.2 + 1 / sqrt((double)ret->n); /* a count is off by up to one tooth, evenly: sd 0.41 */
	sum /= (double)ret->n;
	ret->teeth = sum;
	ret->all = ngaps - 1;
	ret->band = (struct stats_estimate){ step * sum, { step * (sum - half), step * (sum + half) } };
}

/*
 * Does the comb come behind the singles, many at once, evenly, and none for longer than a single; or one by one? What a
 * drive does in between, and what others wrote, does not.
 */
static bool comb_follows(const struct view *v, double single_ns)
{
	size_t waits = 0;
	struct comb comb;

	comb_of(v, 2 * single_ns, &comb);
	for (size_t i = v->at; i < v->at + TEETH && i < v->n; i++)
		waits += wait_ns(v, i) > 0;
	return (comb.n >= GAPS_LEAST && (double)comb.n >= MOSTLY * (double)comb.all &&
	        stats_median(comb.waits, comb.n) <= single_ns * comb.teeth) ||
	       (double)waits >= MOSTLY * TEETH;
}

/*
 * The singles: each waited, and before them the cushion made room for writes that did not. Where the cache was full of
 * others' writes all that comes before is theirs.
 */
static bool find_singles(struct view *v)
{
	size_t cushion = v->in->layout->part[SMR_CUSHION].n, waits = 0, again = 0;
	double median, waited_ns = 0, now_ns, gone_ns;
	/* the cliff lies within the last batch, whose own writes found room */
	double batch_ns = v->tail ? total_ns(&v->in->v[v->tail - 1]) : 0;

	for (size_t i = 0; i + WINDOW <= v->n; i++) {
		size_t before = i < 2 * cushion ? i : 2 * cushion;

		if (i >= again && (double)(before - waits) >= ROOM * (double)cushion &&
		    waited_ns + (i < 2 * cushion ? batch_ns : 0) > cushion_ns(v) && wait_ns(v, i) > 0 &&
		    wait_ns(v, i + WINDOW - 1) > 0) {
			median = window_at(v, i, v->window);
			v->at = i;
			/* they show bands, or the comb comes behind them, or it may still do so */
			if (v->window[WINDOW / 6] >= v->wait_ns &&
			    (i + TEETH > v->n || weigh_window(v) >= SURE || comb_follows(v, median)))
				return true;
			again = i + WINDOW;
		}
		now_ns = wait_ns(v, i);
		gone_ns = i >= 2 * cushion ? wait_ns(v, i - 2 * cushion) : 0;
		waited_ns += now_ns - gone_ns;
		waits += (now_ns > 0) - (gone_ns > 0);
	}
	return false;
}

/* What may be them otherwise. */
static void find_slowest(struct view *v)
{
	double best = -1, w[WINDOW], median;

	for (size_t i = 0; i + WINDOW <= v->n; i++) {
		if (v->x[i] <= best && i + WINDOW < v->n) /* the next one holds no fewer that are longer */
			continue;
		median = window_at(v, i, w);
		if (median <= best)
			continue;
		best = median;
		v->at = i;
		memcpy(v->window, w, sizeof(w));
	}
}

/*
 * Of a cache that was full before: others' writes are cleaned from bands of which nothing is known but how many writes
 * each cleaning makes room for, and no arm needs long for one of them. Where these numbers are as uneven as chance
 * makes them, it is the log that is full, and cleaning what is oldest there hardly makes room; later on that comes
 * anyway. *ret_ns: for a write.
 */
static double weigh_cleanings(const struct view *v, double *ret_ns)
{
	double each[CLEANINGS], n, sum = 0, squares = 0;
	size_t k = 0, last = v->n;

	for (size_t i = 0; i < v->n && k < CLEANINGS; i++) {
		if (v->x[i] < CLEAN * v->access_ns)
			continue;
		if (last < i) {
			n = (double)(i - last);
			each[k++] = v->x[last] / n;
			sum += n;
			squares += n * n;
		}
		last = i;
	}
	*ret_ns = k ? stats_median(each, k) : (double)NAN;
	n = sum / (double)k;
	if (k < CLEANINGS || squares / (double)k - n * n > UNEVEN * n * (n - 1) + 1)
		return 0;
	return (common_time(each, k, v->access_ns, v->band_most_ns, 0.25) -
	        common_time(each, k, 0.5 * v->access_ns, CLEAN * v->access_ns, 0.25)) /
	       M_LN10;
}

/*
 * A band cannot go in less time than it takes to read and write it. (That it takes longer shows nothing: conventional
 * drives clean what lies together at once, too, and as long as it takes.)
 */
static double weigh_comb(const struct view *v, const struct comb *c)
{
	double twice = 2 * c->band.value / v->in->stream_bytes_per_s * 1e9;

	if (c->n == 0 || !v->is_media_rate)
		return 0;
	return fmin(0,
	            common_time(c->waits, c->n, 0.75 * twice, 8 * twice + 1e9, 0.1) - (double)c->n * log(outlier())) /
	       M_LN10;
}

/* ---- the figures ---- */

static struct stats_estimate median_of(double *x, size_t n)
{
	struct stats_estimate e;

	stats_sort(x, n);
	e.value = stats_quantile_sorted(x, n, 0.5);
	e.ci = stats_quantile_ci_sorted(x, n, 0.5);
	return e;
}

static struct stats_estimate per_s(struct stats_estimate ns)
{
	return (struct stats_estimate){ 1e9 / ns.value, { 1e9 / ns.ci.high, 1e9 / ns.ci.low } };
}

static void rates(const struct view *v, struct smr_found *f)
{
	double x[BATCHES_MAX];
	size_t n = batches(v, f->is_slow_from_start ? OF_WRITE : OF_WRITE_UNFLUSHED, x);

	if (n >= 6 && (!f->is_slow_from_start || isnan(f->slow.value)))
		*(f->is_slow_from_start ? &f->slow : &f->fast) = per_s(median_of(x, n));
}

/*
 * Of the writes that found room: the cliff lies within a batch, or at a single write soon after it. A write cache that
 * is not emptied by a flush would have taken in more, and nobody knows how many; others' writes go before the cushion.
 */
static void entries(const struct view *v, struct smr_found *f)
{
	const struct smr_layout *l = v->in->layout;
	const struct smr_sample *s;
	size_t late = 0;
	double end;

	if (!f->has_singles || f->is_slow_from_start || v->tail == v->first_bulk ||
	    v->at > l->part[SMR_CUSHION].n + l->part[SMR_SINGLES].n + WINDOW + smr_cushion_left(l) ||
	    (!v->in->is_through && are_flushes_short(v)) || (f->verdict == SMR_YES && isnan(f->band.value)))
		return;
	for (size_t i = 0; i < smr_cushion_left(l); i++)
		late = v->x[i] > v->x[late] ? i : late;
	s = &v->in->v[v->tail - 1];
	end = (double)(s->first + s->writes);
	if (v->x[late] > cushion_ns(v)) /* less: what lay there before went first, and made room */
		end += (double)(late + 1);
	f->entries = (struct stats_estimate){ ((double)s->first + end) / 2, { (double)s->first, BEFORE * end } };
}

static void judge(const struct view *v, double mean_log10_ratio, struct smr_found *f)
{
	const struct smr_input *in = v->in;
	bool is_path_known = !f->is_path_slow && !isnan(in->path_ns);
	/* nearly all of the window took so long; where half of it went fast it may be any cleaning, but for a comb */
	bool is_steady = v->window[WINDOW / 6] > f->band_ns.value / 2;

	if (!(in->access_ns > 0)) /* no actuator was seen */
		return;
	/* What goes at once in pieces smaller than any band are none. */
	if (f->log10_ratio >= SURE && f->band_ns.value > v->band_least_ns && !(f->band.ci.high < BAND_LEAST)) {
		f->is_likely = true;
		if (is_steady || !isnan(f->band.value))
			f->verdict = SMR_YES;
	}
	if (f->verdict == SMR_UNDECIDED && mean_log10_ratio >= SURE && f->behind >= ALONE && is_path_known) {
		f->log10_ratio = fmax(f->log10_ratio, mean_log10_ratio);
		f->is_by_mean = true;
		f->verdict = SMR_YES;
	} else if (f->log10_ratio <= -SURE && is_path_known &&
	           (f->has_singles ? comb_follows(v, f->band_ns.value)
	                           : f->is_slow_from_start && !f->has_others && f->behind >= ALONE)) {
		f->verdict = SMR_NO;
	}
}

/* Was there no room for more than it takes to see that writes are slow? Then the cache was full, of others' writes. */
static bool was_full(const struct view *v)
{
	const struct smr_layout *l = v->in->layout;

	return v->in->v[v->tail].first <= smr_layout_writes(l) - l->part[SMR_BULK].n + 2 * BATCHES * l->batch;
}

static void behind(struct view *v, struct smr_found *f)
{
	double mean_log10_ratio, mean_ns = NAN;
	struct comb comb;

	f->has_others = v->quiet_ns < SORTED * v->access_ns || v->stall_share >= STALLED;
	f->has_singles = find_singles(v);
	if (!f->has_singles)
		find_slowest(v);
	f->at = v->at;
	f->band_ns = median_of(v->window, WINDOW);
	comb_of(v, CLEAN * v->access_ns, &comb);
	f->log10_ratio = weigh_window(v) + weigh_comb(v, &comb);
	comb_of(v, 0.6 * f->band_ns.value, &comb);
	f->band = comb.band;
	f->gaps = comb.n;
	mean_log10_ratio = was_full(v) ? weigh_cleanings(v, &mean_ns) : 0;
	judge(v, mean_log10_ratio, f);
	if (f->is_by_mean)
		f->slow = stats_about(1e9 / mean_ns, NAN);
	else if (!f->is_slow_from_start || f->verdict == SMR_YES)
		f->slow = per_s(f->band_ns);
}

void smr_analyse(const struct smr_input *in, struct smr_found *f)
{
	struct view v;
	size_t n;
	double sum = 0;

	*f = (struct smr_found){ .fast = STATS_UNKNOWN,
		                 .slow = STATS_UNKNOWN,
		                 .entries = STATS_UNKNOWN,
		                 .band = STATS_UNKNOWN,
		                 .band_ns = STATS_UNKNOWN };
	view_init(&v, in);
	n = v.tail - v.first_bulk;
	f->is_slow_from_start = are_slow(&v, v.first_bulk, n < BATCHES ? v.tail : v.first_bulk + BATCHES);
	f->is_path_slow = in->path_ns > PATH_MOST * v.access_ns;
	f->behind = v.n;
	for (size_t i = 0; i < v.n; i++)
		sum += v.x[i];
	f->is_full = sum > FULL * v.access_ns * (double)v.n;
	if (n == 0 || v.n)
		f->has_changed = n > 0;
	else if (f->is_slow_from_start)
		f->has_changed = n >= BATCHES ||
		                 total_ns(&in->v[in->n - 1]) > HOPELESS * v.access_ns * (double)in->layout->batch;
	else
		f->has_changed = has_changed(&v);
	if (v.n >= 2 * WINDOW)
		behind(&v, f);
	rates(&v, f);
	if (f->verdict != SMR_UNDECIDED)
		entries(&v, f);
	if (f->verdict != SMR_YES || f->is_by_mean)
		f->band = f->band_ns = STATS_UNKNOWN;
	view_done(&v);
}

enum smr_step smr_next(const struct smr_layout *l, const struct smr_found *f, bool may_sweep)
{
	uint64_t parts = smr_layout_writes(l) - l->part[SMR_BULK].n; /* that all go before the bulk */
	/* was that the cliff? */
	uint64_t enough = (f->has_singles ? f->at : l->part[SMR_CUSHION].n + l->part[SMR_SINGLES].n) + TEETH;

	if (f->verdict == SMR_NO || f->is_by_mean ||
	    (f->is_slow_from_start && !f->has_others && f->behind >= ALONE_MOST) ||
	    (f->verdict == SMR_YES && (f->gaps >= GAPS_MOST || f->behind >= f->at + parts)))
		return SMR_STOP;
	if (f->behind < enough ? f->behind == 0 && !f->has_changed : !f->is_full && !f->is_likely)
		return SMR_BATCH;
	return may_sweep && f->has_others && !f->has_singles && f->is_full &&
	                       f->behind >= (f->is_slow_from_start ? ALONE : 2 * l->part[SMR_CUSHION].n)
	               ? SMR_SWEEP
	               : SMR_SINGLE;
}
