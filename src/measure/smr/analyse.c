/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the writes say. Three kinds of disk are held against each other by the likelihood of what was seen. Plain: from
 * the beginning on each write takes an access of the arm, or less where many are sorted. Cached, on the media: faster
 * than any arm until it is full, then an access or two. Shingled: the same before; then a write to a band of its own
 * takes what it takes to read and write the band, the same each time.
 *
 * Looked at are the batches while the map is being filled, and behind the cliff the twelve writes in a row that are
 * slowest by their median: the singles, if what is oldest is cleaned first. Each time may be an outlier.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/smr/smr.h"

#define ACCESS_NS   8e6   /* where it is not known: what the slowest and the fastest differ from by a factor of two */
#define STREAM      100e6 /* bytes per second, the same */
#define SORTED      0.15  /* accesses: no disk writes blocks at random in less each, however many it sorts */
#define ALONE_LEAST 0.4   /* accesses: and where nothing is sorted, as the write cache is off: less than half a turn */
#define SORTED_MOST 2.5   /* nor takes more, a flush included */
#define FLUSH       4     /* accesses that a flush may take besides */
#define WINDOW      12    /* of the 16 singles */
#define BATCHES     8     /* enough to know that it was slow from the start */
#define BATCHES_MAX 64    /* that are looked at */
#define USUAL       4     /* times what a batch usually takes */
#define CLIFFS      3     /* behind that many, writes stay single */
#define MOSTLY      0.75  /* of batches, that are slow: others' writes are cleaned many at once, and few at once */
#define HOPELESS    20    /* accesses for each write of a batch: what is so slow is looked at one by one */
#define BAND_LEAST  (8u << 20) /* bytes: bands are known from 15 to 40 MB */
#define THROUGH     1.5        /* times the rate in sequence comes from the drive's buffer, if that is the media's */
#define TRACK_MOST  2.5e6      /* bytes of a track: the densest media */
#define TRACK_LEAST 0.4e6      /* of a disk that may shingle: less in a turn is a request in a turn */
#define RPM         7200.0     /* where it is not known */
#define BAND_MOST   (256u << 20)
#define SURE        4.0 /* decades: one wrong in ten thousand, if the models hold */
#define ALONE       256 /* writes one by one after a slow start: a cleaning of a crowded cache comes within that many */
#define ALONE_MOST  1024 /* more add nothing, unless others' writes are cleaned first */
#define MEANS       64   /* writes of which a mean is looked at */
#define CLEAN       8    /* accesses: longer cleans several writes at once (each read, written, a turn missed) */
#define CUSHION     0.1  /* accesses that each block of the cushion takes at least, when it is cleaned */
#define SHORT       0.1  /* accesses: a flush that has something to do takes more */
#define LAST        128  /* single writes whose mean is looked at */
#define CONTRAST    5    /* times that the last ones take longer than the shortest */
#define FULL        0.1  /* accesses that they take at least, on average: of the comb many go at once */
#define BEFORE      1.01 /* what lay in the cache already, as the beginning of what was written in sequence */
#define STALLED     0.2  /* share of time in long waits that nothing but cleaning explains */
#define TEETH_LEAST 128  /* of the comb, that have had their turn */
#define GAPS_MOST   7    /* of the comb: then its band is known to 5 % and better */
/* Accesses that a request without one takes: more hides what writes wait for, and few requests do not distinguish
 * stalls better. */
#define PATH_MOST (SORTED / 2)

struct view { /* of the samples */
	const struct smr_input *in;
	double access_ns, band_least_ns, band_most_ns, arm_least_ns; /* arm: of a write among many */
	bool is_media_rate; /* the rate in sequence was held up neither by the interface nor by lost turns: inside, the
	                       drive is not faster */
	uint64_t bulk;      /* number of its first write */
	double usual_ns;    /* a batch of the bulk, by their median */
	size_t first_bulk;  /* sample */
	size_t tail;        /* sample: from here on they are single; n: none is */
	size_t cliffs;      /* how often single writes began */
	double log_likelihood[SMR_MODELS]; /* natural, up to a constant that all have in common */
	double mean_log10_ratio;           /* shingled to others, of means */
	double stall_share; /* of the time of single writes that went into those that took as long as a band does */
	bool is_steady;     /* nearly all of the writes that went to bands of their own took so long */
};

static double total_ns(const struct smr_sample *s)
{
	return (double)(s->write_ns + s->flush_ns);
}

static double each_ns(const struct smr_sample *s)
{
	return total_ns(s) / (double)s->writes;
}

static double flush_ns(const struct smr_sample *s)
{
	return (double)s->flush_ns;
}

static double fast_per_s(const struct smr_sample *s)
{
	return (double)s->writes * 1e9 / (double)(s->write_ns + 1);
}

/* Of batches before the cliff, all over. */
static size_t batches(const struct view *v, double (*of)(const struct smr_sample *), double x[BATCHES_MAX])
{
	size_t n = 0, end = v->tail > v->first_bulk && v->tail < v->in->n ? v->tail - 1 : v->tail;

	for (size_t i = v->first_bulk; i < end; i += (end - v->first_bulk) / BATCHES_MAX + 1)
		if (!smr_is_single(&v->in->v[i]))
			x[n++] = of(&v->in->v[i]);
	return n;
}

static double written(const struct smr_input *in)
{
	return in->n ? (double)(in->v[in->n - 1].first + in->v[in->n - 1].writes) : 0;
}

static void view_init(struct view *v, const struct smr_input *in)
{
	double stream = in->stream_bytes_per_s > 0 ? in->stream_bytes_per_s : STREAM, x[BATCHES_MAX];
	double turn_s;
	size_t n = 0;

	*v = (struct view){ .in = in, .access_ns = in->access_ns > 0 ? in->access_ns : ACCESS_NS };
	v->bulk = smr_layout_writes(in->layout) - in->layout->part[SMR_BULK].n;
	turn_s = 60 / (in->rpm > 0 ? in->rpm : RPM);
	v->is_media_rate = in->interface_bytes_per_s > THROUGH * stream && stream * turn_s > TRACK_LEAST;
	v->band_least_ns = 2 * BAND_LEAST / (v->is_media_rate ? stream : TRACK_MOST / turn_s) * 1e9;
	v->arm_least_ns = (in->is_through ? ALONE_LEAST : SORTED) * v->access_ns;
	/* read and written; before, all that the cache holds of it is fetched */
	v->band_most_ns = 2 * (double)BAND_MOST / stream * 1e9 +
	                  v->access_ns * (4 + written(in) * BAND_MOST / (double)in->layout->size_bytes);
	while (v->first_bulk < in->n && in->v[v->first_bulk].first < v->bulk)
		v->first_bulk++;
	for (v->tail = in->n; v->tail > v->first_bulk && smr_is_single(&in->v[v->tail - 1]); v->tail--)
		;
	for (size_t i = v->first_bulk; i + 1 < in->n; i++)
		v->cliffs += !smr_is_single(&in->v[i]) && smr_is_single(&in->v[i + 1]);
	n = batches(v, total_ns, x);
	v->usual_ns = n >= BATCHES ? stats_median(x, n) : (double)INFINITY;
}

/* Times of the single writes, one by one; free() it. */
static double *singles(const struct view *v, size_t *ret_n)
{
	double *x;
	size_t n = 0, all = 0;

	for (size_t i = v->tail; i < v->in->n; i++)
		all += v->in->v[i].writes;
	x = xcalloc(all + 1, sizeof(*x));
	for (size_t i = v->tail; i < v->in->n; i++)
		for (uint64_t k = 0; k < v->in->v[i].writes; k++)
			x[n++] = each_ns(&v->in->v[i]);
	*ret_n = n;
	return x;
}

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

/* Much longer than the others; or slow for as long as it takes to be slow from the start. */
static bool is_like_a_cliff(const struct view *v, size_t i)
{
	if (isinf(v->usual_ns) || (i >= v->first_bulk + BATCHES && are_slow(v, i + 1 - BATCHES, i + 1)))
		return is_slow(v, i);
	return total_ns(&v->in->v[i]) > USUAL * v->usual_ns + FLUSH * v->access_ns ||
	       (is_slow(v, i) && total_ns(&v->in->v[i]) > 2 * v->usual_ns);
}

/* What cleaning the cushion takes at least. */
static double cushion_ns(const struct view *v)
{
	return CUSHION * v->access_ns * (double)v->in->layout->part[SMR_CUSHION].n;
}

/* What cleaning the cushion took, if that was the cliff. */
static double cliff_ns(const struct view *v)
{
	size_t end = v->tail + smr_cushion_left(v->in->layout);
	double most = 0;

	for (size_t i = v->tail ? v->tail - 1 : 0; i < v->in->n && i <= end; i++)
		most = fmax(most, total_ns(&v->in->v[i]));
	return most;
}

/* A wait before the cliff was so long that it may have been that of the cushion, and the singles have gone with it. */
static bool was_missed(const struct view *v, double least_ns)
{
	for (size_t i = v->first_bulk; i + 1 < v->tail; i++)
		if (total_ns(&v->in->v[i]) > least_ns)
			return true;
	return false;
}

/* Flushes that cost nothing beside the writes: it may be that nothing waits for them. */
static bool are_flushes_short(const struct view *v)
{
	double x[BATCHES_MAX];
	size_t n = batches(v, flush_ns, x);

	return n && stats_median(x, n) < SHORT * fmin(v->access_ns, ACCESS_NS);
}

/* While the map is being filled: sorted by an arm, or faster than any. */
static void weigh_batches(const struct view *v, double log_l[SMR_MODELS])
{
	double x[BATCHES_MAX], fast;
	size_t n = batches(v, each_ns, x);

	log_l[SMR_PLAIN] += smr_common_time(x, n, v->arm_least_ns, SORTED_MOST * v->access_ns, 0.35);
	fast = smr_common_time(x, n, 0.0005 * v->access_ns, v->arm_least_ns, 0.35);
	log_l[SMR_CACHED] += fast;
	log_l[SMR_SHINGLED] += fast;
}

static void weigh_window(const struct view *v, const double *x, double log_l[SMR_MODELS])
{
	double arm = smr_common_time(x, WINDOW, 0.5 * v->access_ns, 4 * v->access_ns, 0.5);

	log_l[SMR_PLAIN] += arm;
	log_l[SMR_CACHED] += arm;
	log_l[SMR_SHINGLED] += smr_common_time(x, WINDOW, v->band_least_ns + v->access_ns, v->band_most_ns, 0.25);
}

/*
 * Of a disk that was slow from the start, or is now, whose cache may be full of what others wrote: how many of it a
 * cleaning makes room for is not known, but on average no arm needs long for a write, however it sorts.
 */
static double weigh_means(const struct view *v, size_t first)
{
	double mean[BATCHES_MAX], ns = 0, writes = 0;
	size_t k = 0;

	for (size_t i = first; i < v->in->n && k < BATCHES_MAX; i++) {
		ns += total_ns(&v->in->v[i]);
		writes += (double)v->in->v[i].writes;
		if (writes < MEANS)
			continue;
		mean[k++] = ns / writes;
		ns = writes = 0;
	}
	return (smr_common_time(mean, k, v->access_ns, v->band_most_ns, 0.5) -
	        smr_common_time(mean, k, 0.5 * v->access_ns, CLEAN * v->access_ns, 0.5)) /
	       M_LN10;
}

/* ---- behind the cliff ---- */

/* Index, among n times, of the WINDOW in a row whose median is the longest; sorted into ret. */
static void slowest_window(const double *x, size_t n, double ret[WINDOW])
{
	double best = -1;

	for (size_t i = 0; i + WINDOW <= n; i++) {
		double w[WINDOW];

		if (x[i] <= best / 2 && i + WINDOW < n) /* the next one holds no fewer that are longer */
			continue;
		memcpy(w, x + i, sizeof(w));
		stats_sort(w, WINDOW);
		if (w[WINDOW / 2 - 1] + w[WINDOW / 2] <= best)
			continue;
		best = w[WINDOW / 2 - 1] + w[WINDOW / 2];
		memcpy(ret, w, sizeof(w));
	}
}

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

#define COMB_MOST 64
struct comb { /* what went at once */
	struct stats_estimate band;
	double waits[COMB_MOST];
	size_t n;
};

/*
 * Teeth of the comb that go at once are those of one band: writes from one long wait to the next. What a stray wait
 * cuts, and the bands at the ends, are left out.
 */
static bool comb_of(const struct view *v, const double *x, size_t n, double wait_ns, struct comb *ret)
{
	double gaps[COMB_MOST], waits[COMB_MOST], sorted[COMB_MOST], sum = 0, median, half;
	double step = (double)v->in->layout->part[SMR_COMB].step_bytes;
	size_t ngaps = 0, last = n, teeth = 0, most = v->in->layout->part[SMR_COMB].n;

	*ret = (struct comb){ .band = STATS_UNKNOWN };
	for (size_t i = 0; i < n && teeth < most && ngaps < COMB_MOST; i++) {
		if (x[i] < wait_ns)
			continue;
		if (last < n && i - last >= 3 && (double)(i - last) * step < 1.25 * BAND_MOST) {
			waits[ngaps] = x[last];
			gaps[ngaps++] = (double)(i - last);
			teeth += i - last;
		}
		last = i;
	}
	if (ngaps < 4)
		return false;
	memcpy(sorted, gaps + 1, (ngaps - 1) * sizeof(*gaps)); /* the first is of a part of a band */
	stats_sort(sorted, ngaps - 1);
	median = stats_quantile_sorted(sorted, ngaps - 1, 0.5);
	for (size_t i = 1; i < ngaps; i++)
		if (fabs(gaps[i] - median) < fmax(1.5, 0.1 * median)) {
			sum += gaps[i];
			ret->waits[ret->n++] = waits[i];
		}
	if (ret->n < 3 || ret->n * 2 < ngaps - 1)
		return false;
	half = 0.2 + 1 / sqrt((double)ret->n); /* a count is off by up to one tooth, evenly: sd 0.41 */
	sum /= (double)ret->n;
	ret->band = (struct stats_estimate){ step * sum, { step * (sum - half), step * (sum + half) } };
	return true;
}

/* ---- the figures ---- */

static void rates(const struct view *v, struct smr_found *f)
{
	double x[BATCHES_MAX];
	size_t n = batches(v, f->is_slow_from_start ? each_ns : fast_per_s, x);

	if (n >= 6 && !f->is_slow_from_start)
		f->fast = median_of(x, n);
	else if (n >= 6 && isnan(f->slow.value))
		f->slow = per_s(median_of(x, n));
}

/*
 * Of the writes that found room: the cliff lies within a batch, or at a single write soon after it. A write cache that
 * is not emptied by a flush would have taken in more, and nobody knows how many.
 */
static void entries(const struct view *v, struct smr_found *f)
{
	const struct smr_sample *s, *late;
	double end;

	if (f->is_slow_from_start || v->tail >= v->in->n || v->tail == v->first_bulk ||
	    (!v->in->is_through && are_flushes_short(v)))
		return;
	if (f->has_others || (f->verdict == SMR_YES && isnan(f->band.value)) || was_missed(v, cliff_ns(v) / 2))
		return;
	s = &v->in->v[v->tail - 1];
	late = &v->in->v[v->tail + f->late_by];
	end = (double)(s->first + s->writes);
	if (f->late_by && total_ns(late) > cushion_ns(v)) /* less: what lay there before went first, and made room */
		end = (double)(late->first + 1);
	f->entries = (struct stats_estimate){ ((double)s->first + end) / 2, { (double)s->first, BEFORE * end } };
}

static double mean(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (double)n;
}

/*
 * Was that the cliff, and not the machine? Then the cushion had to go, and the writes that it made room for were fast,
 * but the last ones not any more.
 */
static bool is_full(const struct view *v, const double *x, size_t n, size_t late_by)
{
	double quiet = INFINITY;

	if (n < 4 * LAST || (was_missed(v, fmax(cushion_ns(v), cliff_ns(v) / 2)) && !are_flushes_short(v)))
		return false;
	if (x[late_by] <= cushion_ns(v) && !(v->tail && total_ns(&v->in->v[v->tail - 1]) > cushion_ns(v)))
		return false;
	for (size_t i = 0; i + LAST <= n; i += LAST / 4)
		quiet = fmin(quiet, mean(x + i, LAST));
	return mean(x + n - LAST, LAST) > fmax(CONTRAST * quiet, FULL * v->access_ns);
}

/*
 * A band cannot go in less time than it takes to read and write it. (That it takes longer shows nothing: conventional
 * drives clean what lies together at once, too, and as long as it takes.)
 */
static void weigh_comb(const struct view *v, const struct comb *c, double log_l[SMR_MODELS])
{
	double twice = 2 * c->band.value / v->in->stream_bytes_per_s * 1e9, any = 0;

	for (size_t i = 0; i < c->n; i++)
		any += log(smr_outlier(c->waits[i]));
	log_l[SMR_SHINGLED] += fmin(0, smr_common_time(c->waits, c->n, 0.75 * twice, 8 * twice + 1e9, 0.1) - any);
}

/* Writes behind the cliff before those that the comb makes room for: long waits early among them are for what lay in
 * the cache before, and for the cushion. */
static size_t before_comb(const struct smr_layout *l)
{
	return l->part[SMR_CUSHION].n + l->part[SMR_SINGLES].n + WINDOW;
}

static size_t find_cliff(const struct view *v, const double *x, size_t n)
{
	size_t most = smr_cushion_left(v->in->layout), last = 0;

	for (size_t i = 0; i < n && i < most; i++)
		if (x[i] > v->band_least_ns)
			last = i;
	return last;
}

static void behind(struct view *v, struct smr_found *f)
{
	double *log_l = v->log_likelihood;
	const struct smr_input *in = v->in;
	size_t n, first;
	cleanup_free double *x = singles(v, &n);
	double window[WINDOW], sum = 0, stalled = 0;
	struct comb comb;
	bool is_quick;

	f->behind = n;
	for (size_t i = 0; i < n; i++) {
		sum += x[i];
		stalled += x[i] > v->band_least_ns ? x[i] : 0;
	}
	v->stall_share = sum > 0 ? stalled / sum : 0;
	if (n < 2 * WINDOW)
		return;
	f->late_by = find_cliff(v, x, n);
	f->is_full = is_full(v, x, n, f->late_by);
	is_quick = sum < SORTED * v->access_ns * (double)n; /* no arm is: a cleaning has just made room */
	f->has_others = v->cliffs >= CLIFFS || (f->is_slow_from_start && is_quick) ||
	                (v->stall_share >= STALLED && (f->is_slow_from_start || n > 2 * v->bulk));
	first = f->late_by + before_comb(in->layout);
	slowest_window(x, first < n && !f->has_others ? first : n, window);
	weigh_window(v, window, log_l);
	v->mean_log10_ratio = weigh_means(v, f->is_slow_from_start ? v->first_bulk : v->tail);
	if (v->is_media_rate && !f->has_others && comb_of(v, x, n, CLEAN * v->access_ns, &comb))
		weigh_comb(v, &comb, log_l);
	f->band_ns = median_of(window, WINDOW);
	v->is_steady = window[WINDOW / 6] > f->band_ns.value / 2;
	if (!f->has_others) /* its teeth come among others' writes */
		(void)comb_of(v, x, n, 0.6 * f->band_ns.value, &comb);
	else
		comb = (struct comb){ .band = STATS_UNKNOWN };
	f->band = comb.band;
	f->gaps = comb.n;
	if (!f->is_slow_from_start || (f->has_others && v->is_steady && f->band_ns.value > v->band_least_ns))
		f->slow = per_s(f->band_ns);
}

/* Enough was written one by one for the cushion, the singles and some of the comb to have had their turn. */
static bool has_seen_singles(const struct smr_input *in, const struct smr_found *f)
{
	const struct smr_layout *l = in->layout;

	if (f->is_slow_from_start)
		return f->behind >= ALONE;
	return f->behind >= f->late_by + before_comb(l) + TEETH_LEAST;
}

static void judge(const struct view *v, struct smr_found *f)
{
	const struct smr_input *in = v->in;
	const double *l = v->log_likelihood;
	/* What takes long may be bands where the singles are not seen one by one: among others' writes, or behind a
	 * write cache that no flush empties. */
	bool may_hide = f->is_slow_from_start ? f->has_others
	                                      : v->stall_share >= STALLED && !in->is_through && are_flushes_short(v);

	f->log10_ratio = (l[SMR_SHINGLED] - fmax(l[SMR_PLAIN], l[SMR_CACHED])) / M_LN10;
	f->is_path_slow = in->path_ns > PATH_MOST * v->access_ns;
	if (f->behind < 2 * WINDOW || !(in->access_ns > 0)) /* no actuator was seen */
		return;
	/* What goes at once in pieces smaller than any band are none. */
	f->is_likely = f->log10_ratio >= SURE && f->band_ns.value > v->band_least_ns && !(f->band.ci.high < BAND_LEAST);
	/* Where half of the window went fast it may be any cleaning, unless the comb shows bands. */
	if (v->mean_log10_ratio >= SURE && f->behind >= ALONE && !f->is_path_slow && !isnan(in->path_ns)) {
		f->log10_ratio = fmax(f->log10_ratio, v->mean_log10_ratio);
		f->is_likely = true;
		f->verdict = SMR_YES;
	} else if (f->is_likely && (v->is_steady || !isnan(f->band.value)))
		f->verdict = SMR_YES;
	else if (f->log10_ratio <= -SURE && !f->is_path_slow && !isnan(in->path_ns) && has_seen_singles(in, f) &&
	         (f->is_slow_from_start || f->is_full) && !may_hide)
		f->verdict = SMR_NO;
}

void smr_analyse(const struct smr_input *in, struct smr_found *f)
{
	struct view v;
	size_t n;

	*f = (struct smr_found){ .fast = STATS_UNKNOWN,
		                 .slow = STATS_UNKNOWN,
		                 .entries = STATS_UNKNOWN,
		                 .band = STATS_UNKNOWN,
		                 .band_ns = STATS_UNKNOWN };
	view_init(&v, in);
	n = v.tail - v.first_bulk;
	f->is_slow_from_start = are_slow(&v, v.first_bulk, n < BATCHES ? v.tail : v.first_bulk + BATCHES);
	weigh_batches(&v, v.log_likelihood);
	behind(&v, f);
	rates(&v, f);
	judge(&v, f);
	if (f->verdict == SMR_YES || f->verdict == SMR_NO)
		entries(&v, f);
	if (f->verdict != SMR_YES)
		f->band = f->band_ns = STATS_UNKNOWN;
}

enum smr_step smr_next(const struct smr_input *in, const struct smr_found *f)
{
	const struct smr_layout *l = in->layout;
	uint64_t bulk = smr_layout_writes(l) - l->part[SMR_BULK].n;
	struct view v;
	size_t n;
	bool is_cliff;

	if (f->verdict == SMR_NO || (f->is_slow_from_start && !f->has_others && f->behind >= ALONE_MOST))
		return SMR_STOP;
	if (f->verdict == SMR_YES && (f->has_others || f->gaps >= GAPS_MOST || f->behind >= bulk))
		return SMR_STOP;
	if (f->behind) /* was that the cliff? */
		return f->is_likely || f->is_slow_from_start || f->has_others || !has_seen_singles(in, f) ? SMR_SINGLE
		                                                                                          : SMR_BATCH;
	view_init(&v, in);
	n = v.tail - v.first_bulk;
	if (n == 0)
		return SMR_BATCH;
	if (f->is_slow_from_start)
		is_cliff = n >= BATCHES || total_ns(&in->v[in->n - 1]) > HOPELESS * v.access_ns * (double)l->batch;
	else
		is_cliff = is_like_a_cliff(&v, in->n - 1);
	return is_cliff ? SMR_SINGLE : SMR_BATCH;
}
