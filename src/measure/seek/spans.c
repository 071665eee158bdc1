/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random reads inside spans (Longbottom, DISKRAND 1997): each block of a span at most once until all were read, one at
 * a time. Reads that the drive's own cache answered take its hit time; they are counted and kept out of the service
 * time.
 */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "measure/seek/seek.h"
#include "measure/shared/distribution.h"

#define CHUNK       25   /* reads between two looks at the clock and the precision: a third of a second */
#define WHOLE_TIMES 60   /* of a span, for the whole device, where time and precision want it (a choice) */
#define FORGET_MOST 0.2  /* of a span's time, for reads elsewhere (a choice) */
#define CACHED_TOLD 0.02 /* from that share on a notice says so (a choice: what is left out otherwise) */

static const uint64_t megabytes[] = { 1, 2, 5, 10, 40, 100, 200, 1000, 10000, 100000, 1000000, 10000000 };
#define SPANS_MAX (3 * ARRAY_LEN(megabytes) + 1) /* three of each length, and the whole device */

struct span_row {
	uint64_t span_bytes;
	const char *anchor;
	uint64_t samples;
	double mean_ns, stddev_ns, p50_ns, p95_ns, p99_ns, max_ns, iops;
	double p999_ns, low, high;
	uint64_t hits, first_byte;
};

const struct field seek_span_fields[] = {
	FIELD_U64(struct span_row, span_bytes, UNIT_BYTES, "span"),
	FIELD_STR(struct span_row, anchor, "at"),
	FIELD_U64(struct span_row, samples, UNIT_COUNT, "reads"),
	FIELD_F64(struct span_row, mean_ns, UNIT_NS, "mean"),
	FIELD_F64(struct span_row, stddev_ns, UNIT_NS, "deviation"),
	FIELD_F64(struct span_row, p50_ns, UNIT_NS, "median"),
	FIELD_F64(struct span_row, p95_ns, UNIT_NS, "95 %"),
	FIELD_F64(struct span_row, p99_ns, UNIT_NS, "99 %"),
	FIELD_F64(struct span_row, max_ns, UNIT_NS, "worst"),
	FIELD_F64(struct span_row, iops, UNIT_PER_S, "IOPS"),
	FIELD_F64(struct span_row, p999_ns, UNIT_NS, "99.9 %", .detail = true),
	FIELD_F64(struct span_row, low, UNIT_NS, "mean, low", .detail = true),
	FIELD_F64(struct span_row, high, UNIT_NS, "mean, high", .detail = true),
	FIELD_U64(struct span_row, hits, UNIT_COUNT, "cache hits"),
	FIELD_U64(struct span_row, first_byte, UNIT_BYTES, "from", .detail = true),
	FIELD_END,
};

/* Quantile q of sorted values, NaN where fewer than ten lie beyond it. */
static double quantile(const double *sorted, size_t n, double q)
{
	return (double)n * (1.0 - q) >= 10.0 - 1e-9 ? stats_quantile_sorted(sorted, n, q) : (double)NAN;
}

/* extra_se: of the mean, beside what the times show. */
static void fill_span(double *v, size_t n, double extra_se, struct span_row *row)
{
	struct summary sum;
	struct interval ci;

	if (!summary_of(v, n, &sum))
		return;
	row->mean_ns = sum.mean;
	row->stddev_ns = sum.stddev;
	ci = stats_sum((struct stats_estimate){ sum.mean, stats_batch_means_ci(v, n) },
	               stats_about(0.0, STATS_95 * extra_se))
	             .ci;
	row->low = ci.low;
	row->high = ci.high;
	row->iops = 1e9 / sum.mean;
	stats_sort(v, n);
	row->p50_ns = stats_quantile_sorted(v, n, 0.5);
	row->p95_ns = quantile(v, n, 0.95);
	row->p99_ns = quantile(v, n, 0.99);
	row->p999_ns = quantile(v, n, 0.999);
	row->max_ns = v[n - 1];
}

/* A span that was measured. */
struct reported {
	struct span_row row;
	struct interval plain; /* of the mean, without what the curve shows */
	struct seek_controlled c;
	double extra_se;
	bool is_controlled;
};

/* The mean, from what the curve leaves of the variance, where it helps. */
static void control_row(struct reported *t)
{
	const struct seek_controlled *c = &t->c;
	const struct stats_estimate mean =
		stats_sum(c->mean, stats_about(0.0, STATS_95 * t->extra_se * sqrt(c->variance_ratio)));

	if (!t->is_controlled || !isfinite(t->row.mean_ns) ||
	    interval_half(mean.ci) > interval_half(t->plain)) /* false, too, where that is not known */
		return;
	t->row.mean_ns = mean.value;
	t->row.low = mean.ci.low;
	t->row.high = mean.ci.high;
	t->row.iops = 1e9 / mean.value;
}

/* The largest span with blocks read again; with some answered by the drive's cache; with too many of them. */
#define UNEXPLAINED 0.75 /* of the scatter: healthy disks, behind bridges and busy hosts, too, leave up to 0.6 */
#define LONG_TURNS  4.0  /* of a random read: no real arm needs three for the full stroke */
#define LONG_MOST   0.1  /* of the reads */
struct notes {
	uint64_t revisited_bytes, cached_bytes, in_cache_bytes;
	double shared_percent; /* of a span's reads, at most, that others disturbed */
	bool is_unexplained;   /* the variance over the whole device */
};

/* ---- spans ---- */

struct span {
	uint64_t first, bytes;
	const char *anchor;
	uint64_t key, next, nblocks, reads, most_ns; /* reads: at least */
	uint64_t again_ns;                           /* for reading again what the cache had */
	double precision;
};

static bool is_whole(const struct span *sp)
{
	return strcmp(sp->anchor, "whole") == 0;
}

/* The next reads of the span, at most CHUNK: access times, NaN for failed ones and for one that came from outside the
 * span. */
static int read_chunk(struct seek_run *s, struct span *sp, uint64_t *offsets, double *access, size_t *ret_n,
                      struct err *err)
{
	uint64_t left = sp->nblocks - sp->next % sp->nblocks;
	bool is_first = left == sp->nblocks;
	size_t n = left < CHUNK ? (size_t)left : CHUNK;
	int r = is_first && sp->next ? timed_forget(&s->t, &s->rot, sp->first, sp->first + sp->bytes, err) : 0;

	for (size_t i = 0; i < n; i++, sp->next++) {
		if (sp->next % sp->nblocks == 0)
			sp->key = rng_u64(&s->t.rng);
		offsets[i] = sp->first + permute(sp->next % sp->nblocks, sp->nblocks, sp->key) * s->t.block_bytes;
	}
	if (r == 0)
		r = timed_reads(&s->t, offsets, n, access, NULL, err);
	if (is_first)
		access[0] = NAN;
	*ret_n = n;
	return r;
}

/* The reads of a span so far; v: the times of those that the media answered behind others that they did, for when to
 * stop. */
struct taken {
	struct seek_read read[SEEK_TRIED];
	double v[SPAN_READS];
	const struct seek_read *media[SEEK_TRIED]; /* those of v */
	size_t tried, n, nhits, next_look;
	bool was_enough; /* at the last look */
	uint64_t before;
	bool was_hit;
};

static void take_read(const struct seek_run *s, struct taken *t, uint64_t offset, double access)
{
	struct seek_read *r = &t->read[t->tried];

	if (isfinite(access)) {
		*r = (struct seek_read){ .before = t->before,
			                 .offset = offset,
			                 .ns = access,
			                 .is_hit = timed_is_hit(&s->rot.hits, access),
			                 .is_behind_hit = t->was_hit };
		t->tried++;
		t->nhits += r->is_hit;
		if (!r->is_hit && !r->is_behind_hit)
			t->v[t->n++] = access;
	}
	if (isfinite(access) && r->is_hit && s->known.is_patchy)
		return; /* the head did not move */
	t->was_hit = isfinite(access) && r->is_hit;
	t->before = isfinite(access) ? offset + s->t.block_bytes : 0;
}

/* What the search of the rotation read at random over the device counts among its reads. Not where some places answer
 * at once, and leave the head where it was. */
static void take_samples(const struct seek_run *s, struct taken *t)
{
	for (size_t i = 0; i < s->t.nsamples && !s->known.is_patchy; i++) {
		const struct timed_sample *p = &s->t.sample[i];
		struct seek_read *r = &t->read[t->tried];

		*r = (struct seek_read){ .before = p->before,
			                 .offset = p->offset,
			                 .ns = p->ns,
			                 .is_hit = timed_is_hit(&s->rot.hits, p->ns) };
		t->tried++;
		t->nhits += r->is_hit;
		if (!r->is_hit)
			t->v[t->n++] = p->ns;
	}
}

/*
 * Is the relative half-width by what the curve leaves small enough? Looked at when there are a quarter more reads than
 * the last time; and, of the whole device, twice in a row, as who stops at the first good look stops where chance hides
 * what is rare.
 */
static bool is_controlled_enough(const struct seek_run *s, const struct span *sp, double precision, struct taken *t)
{
	size_t n = 0;
	struct seek_controlled c;
	bool was_enough = t->was_enough;

	if (t->n < t->next_look)
		return false;
	t->next_look = t->n + t->n / 4;
	for (size_t i = 0; i < t->tried; i++)
		if (!t->read[i].is_hit && !t->read[i].is_behind_hit)
			t->media[n++] = &t->read[i];
	t->was_enough = seek_control(&s->known, t->media, n, sp->first, sp->first + sp->bytes, &c) &&
	                interval_half(c.mean.ci) <= precision * c.mean.value;
	return t->was_enough && (was_enough || !is_whole(sp));
}

/* Enough reads and time for the precision; or no hope of it, as the drive's cache has them, which are to be read again.
 */
static bool is_enough(const struct seek_run *s, const struct span *sp, struct stop *stop, struct taken *t,
                      uint64_t spent_ns)
{
	if (t->n >= sp->reads) {
		if (is_controlled_enough(s, sp, stop->precision, t))
			return true;
		if (spent_ns >= sp->most_ns)
			return true;
		if (spent_ns >= s->p->span_ns && stop_check(stop, t->v, t->n))
			return true;
	}
	if (t->tried >= 4 * sp->reads && t->n * 2 < t->tried && spent_ns >= s->p->span_ns / 4)
		return true;
	/* Each block was read; to have the drive forget them takes longer than is worth it. */
	return sp->next % sp->nblocks == 0 && s->rot.forget_ns > FORGET_MOST * (double)s->p->span_ns;
}

static void no_service_time(struct span_row *row)
{
	row->mean_ns = row->stddev_ns = row->p50_ns = row->p95_ns = row->p99_ns = row->p999_ns = row->iops = NAN;
	row->low = row->high = NAN;
}

/* The distribution of what has come over the whole device, and the figures of it. */
static void report_whole(struct seek_run *s, const struct reported *reported, const struct hist *h)
{
	static const struct distribution_quantile qs[] = { { 0.5, "random_access_p50_ns", "random access, median" },
		                                           { 0.95, "random_access_p95_ns", "random access, 95 %" },
		                                           { 0.99, "random_access_p99_ns", "random access, 99 %" },
		                                           { 0.999, "random_access_p999_ns",
		                                             "random access, 99.9 %" } };
	const size_t n = s->rot.is_rotating ? ARRAY_LEN(qs) - 1 : ARRAY_LEN(qs); /* a disk is too slow for the last */

	s->whole.mean_ns = reported->row.mean_ns;
	s->whole.ci = (struct interval){ reported->row.low, reported->row.high };
	s->whole.reads = reported->row.samples;
	result_figure(s->res, "random_access_mean_ns", "mean random access, whole device", UNIT_NS,
	              reported->row.mean_ns, &s->whole.ci, reported->row.samples);
	if (reported->is_controlled)
		result_figure(s->res, "random_access_unexplained_ratio",
		              "share of its variance that period, angle and curve leave", UNIT_RATIO,
		              reported->c.variance_ratio, NULL, reported->c.n);
	distribution_figures(s->res, qs, n, h, true);
	distribution_clear(s->res);
	distribution_add(s->res, NULL, h);
}

/* Reads in the span until they are enough. */
static int read_span(struct seek_run *s, struct span *sp, struct taken *t, struct err *err)
{
	uint64_t start = clock_now_ns(s->ses->env->clk), offsets[CHUNK];
	double access[CHUNK];
	struct stop stop;
	size_t got;
	int r = 0;

	stop_init(&stop, sp->precision, (size_t)sp->reads);
	while (r == 0 && t->n + CHUNK <= SPAN_READS && t->tried + CHUNK <= SEEK_TRIED && !seek_is_over(s)) {
		r = read_chunk(s, sp, offsets, access, &got, err);
		for (size_t i = 0; r == 0 && i < got; i++)
			take_read(s, t, offsets[i], access[i]);
		if (is_enough(s, sp, &stop, t, clock_now_ns(s->ses->env->clk) - start))
			break;
	}
	return r;
}

static void note_largest(struct notes *notes, const struct span *sp, const struct taken *t, bool is_reported)
{
	if (sp->next > sp->nblocks && sp->bytes > notes->revisited_bytes)
		notes->revisited_bytes = sp->bytes;
	if ((double)t->nhits > CACHED_TOLD * (double)t->tried && sp->bytes > notes->cached_bytes)
		notes->cached_bytes = sp->bytes;
	if (!is_reported && t->nhits && sp->bytes > notes->in_cache_bytes)
		notes->in_cache_bytes = sp->bytes;
}

static double long_share(const double *v, size_t n, double period)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += v[i] > LONG_TURNS * period;
	return n ? (double)found / (double)n : 0.0;
}

/* h: gets the service times. */
static int measure_span(struct seek_run *s, struct span *sp, struct reported *reported, struct hist *h,
                        struct notes *notes, struct err *err)
{
	struct span_row *row = &reported->row;
	cleanup_free struct taken *t = xcalloc(1, sizeof(*t));
	struct seek_where where = { .first = sp->first, .end = sp->first + sp->bytes, .budget_ns = sp->again_ns };
	struct seek_uncached media;
	double shared = 0.0;
	int r;

	sp->nblocks = sp->bytes / s->t.block_bytes;
	if (is_whole(sp) && !s->t.part_bytes)
		take_samples(s, t);
	r = read_span(s, sp, t, err);
	if (r < 0)
		return r;
	where.nreads = t->tried;
	r = seek_uncached(s, t->read, &where, &media, err);
	if (r == 0) {
		const bool is_uncached = seek_is_uncached(&media);

		if (is_whole(sp) && is_uncached)
			shared = seek_learn_reads(s, media.of, media.n, t->read, t->tried);
		else if (notes->shared_percent > 0.0) /* near, a curve is too coarse to show it first */
			shared = seek_find_shared(&s->known, t->read, t->tried, sp->first, where.end);
		notes->shared_percent = fmax(notes->shared_percent, shared);
		seek_uncached_own(&media);
		for (size_t i = 0; i < media.nmeasured; i++)
			hist_add(h, (uint64_t)media.measured[i]->ns);
		fill_span(media.v, media.n, media.extra_se, row);
		reported->plain = (struct interval){ row->low, row->high };
		reported->extra_se = media.extra_se;
		reported->is_controlled =
			is_uncached && seek_control(&s->known, media.of, media.n, where.first, where.end, &reported->c);
		if (is_whole(sp) && reported->is_controlled)
			s->known.later_ns = reported->c.later_ns;
		if (is_whole(sp) && is_uncached && seek_wants_curve(s) && !s->known.is_patchy)
			notes->is_unexplained = reported->c.unexplained > UNEXPLAINED ||
			                        long_share(media.v, media.n, s->known.places.period_ns) > LONG_MOST;
		control_row(reported);
		row->samples = media.nmeasured;
		row->hits = t->nhits;
		if (!is_uncached)
			no_service_time(row);
		note_largest(notes, sp, t, is_uncached);
	}
	seek_uncached_done(&media);
	return r;
}

struct all_reported {
	struct reported v[SPANS_MAX];
	size_t n;
	struct notes notes;
};

static struct table *span_table(const struct seek_run *s)
{
	return result_table(s->res, "spans", "Service time of random reads", seek_span_fields);
}

/* share: of the run. allowed_ns: what the spans that are left leave for this one. */
static int one_span(struct seek_run *s, uint64_t bytes, const char *anchor, double share, double allowed_ns,
                    struct all_reported *all, struct err *err)
{
	struct reported *reported = &all->v[all->n];
	uint64_t size = s->known.places.size_bytes;
	struct span sp = { .bytes = bytes - bytes % s->t.block_bytes, .anchor = anchor };
	cleanup_free struct hist *h = xmust(hist_new());
	char text[32], mean[32];
	int r;

	*reported = (struct reported){ .row = { .span_bytes = bytes, .anchor = anchor, .mean_ns = NAN } };
	if (strcmp(anchor, "middle") == 0)
		sp.first = (size - sp.bytes) / 2;
	else if (strcmp(anchor, "end") == 0)
		sp.first = size - sp.bytes;
	sp.reads = s->p->reads;
	sp.precision = session_precision(s->ses);
	sp.most_ns = s->p->span_ns * 5 / 4;
	if (is_whole(&sp)) { /* the figure: three times as sharp, for what time that takes, within limits */
		sp.reads *= s->p->quick ? 1 : 2;
		sp.precision /= s->p->quick && !s->ses->common->time_ns ? 1.0 : 3.0;
		sp.most_ns = WHOLE_TIMES * s->p->span_ns;
	}
	sp.first -= sp.first % s->t.block_bytes;
	/* Of so few tracks that the curve does not help: what the others need no more is theirs. */
	if (s->known.curve.is_known && !s->p->quick && !seek_has_control(&s->known, sp.first, sp.first + sp.bytes) &&
	    sp.most_ns < s->p->span_ns * 5 / 2)
		sp.most_ns = s->p->span_ns * 5 / 2;
	sp.most_ns = (uint64_t)fmin((double)sp.most_ns, allowed_ns);
	sp.again_ns = (uint64_t)fmin(3.0 * (double)s->p->span_ns, allowed_ns);
	reported->row.first_byte = sp.first;
	r = measure_span(s, &sp, reported, h, &all->notes, err);
	if (r < 0 || reported->row.samples + reported->row.hits == 0)
		return r;
	result_row(span_table(s), &reported->row);
	all->n++;
	s->fraction += share;
	if (!isfinite(reported->row.mean_ns))
		return 0;
	session_log(s->ses, "span %s at %s: %s", units_bytes_dec(text, sizeof(text), bytes), anchor,
	            units_time(mean, sizeof(mean), (uint64_t)reported->row.mean_ns));
	session_progress(s->ses, "spans", s->fraction, "%s: %s", text, mean);
	if (is_whole(&sp))
		report_whole(s, reported, h);
	session_checkpoint(s->ses);
	return 0;
}

int seek_part_mean(struct seek_run *s, struct err *err)
{
	const uint64_t most_ns = seek_begin(s, SEEK_WHOLE);
	struct span sp = { .bytes = s->known.places.size_bytes - s->known.places.size_bytes % s->t.block_bytes,
		           .anchor = "whole",
		           .reads = s->p->reads,
		           .most_ns = most_ns,
		           .again_ns = most_ns / 2,
		           .precision = session_precision(s->ses) };
	struct reported reported = { .row = { .mean_ns = NAN } };
	cleanup_free struct hist *h = xmust(hist_new());
	cleanup_free struct notes *notes = xcalloc(1, sizeof(*notes));
	int r = measure_span(s, &sp, &reported, h, notes, err);

	s->whole.mean_ns = reported.row.samples ? reported.row.mean_ns : (double)NAN;
	s->whole.ci = (struct interval){ reported.row.low, reported.row.high };
	return r;
}

static void span_notices(struct seek_run *s, const struct notes *notes)
{
	char text[32];

	if (notes->revisited_bytes)
		result_notice(s->res, "revisited",
		              "Spans up to %s have fewer blocks than reads: blocks were read again, %s.",
		              units_bytes_dec(text, sizeof(text), notes->revisited_bytes),
		              s->t.fua ? "with FUA where the drive's cache answered"
		                       : "after reads elsewhere cleared the drive's cache");
	if (notes->is_unexplained || notes->shared_percent > 50.0)
		result_notice(
			s->res, "shared",
			"Service times are not the disk's own: seek and rotational latency do not explain what most random reads took. Another program may use the disk, or the machine was late; repeat when both are idle.");
	else if (notes->shared_percent > 0.0)
		result_notice(
			s->res, "shared",
			"Up to %.0f %% of the random reads of a span came in spells, and were left out. Neither seek nor rotational latency explains what they took: another program may use the disk, or the machine was late.",
			notes->shared_percent);
	if (s->known.is_patchy)
		result_notice(
			s->res, "not-stored",
			"Parts of %s answer without its media, as what was trimmed or never written does: figures are of reads that the media answered.",
			s->t.target->name);
	if (notes->in_cache_bytes)
		result_notice(
			s->res, "span-in-cache",
			s->t.fua
				? "In spans up to %s no service time is reported: the drive's cache answered reads, and there was no time to read them again."
				: "In spans up to %s no service time is reported: the drive's cache answered reads even after reads elsewhere, or there was no time for those.",
			units_bytes_dec(text, sizeof(text), notes->in_cache_bytes));
	if (notes->cached_bytes > notes->in_cache_bytes && !s->known.is_patchy)
		result_notice(
			s->res, "span-cached",
			"In spans up to %s the drive's cache answered reads. For the service time they were read again %s; places that had just passed the head count as a revolution.",
			units_bytes_dec(text, sizeof(text), notes->cached_bytes),
			s->t.fua ? "with FUA" : "after reads elsewhere");
}

static const uint64_t decades[] = { 10, 1000, 100000 }; /* --quick, at the start only */

size_t seek_span_count(uint64_t size_bytes, bool is_quick)
{
	const uint64_t *span = is_quick ? decades : megabytes;
	size_t n = 0, most = is_quick ? ARRAY_LEN(decades) : ARRAY_LEN(megabytes);

	while (n < most && span[n] * 1000000 < size_bytes)
		n++;
	return (is_quick ? n : 3 * n) + 1;
}

int seek_spans(struct seek_run *s, struct err *err)
{
	static const char *const anchors[] = { "start", "middle", "end" };
	const uint64_t *span = s->p->quick ? decades : megabytes;
	size_t nanchors = s->p->quick ? 1 : ARRAY_LEN(anchors);
	uint64_t size = s->known.places.size_bytes;
	size_t nspans = (seek_span_count(size, s->p->quick) - 1) / nanchors;
	double share;
	cleanup_free struct all_reported *all = xcalloc(1, sizeof(*all));
	int r;

	share = 0.5 / (double)(nspans * nanchors + 1);
	r = one_span(s, size, "whole", share, (double)seek_begin(s, SEEK_WHOLE), all, err);
	if (r == 0 && seek_wants_curve(s))
		seek_curve_end(s);
	(void)seek_begin(s, SEEK_SPANS);
	for (size_t i = 0; r == 0 && i < nspans && !seek_is_over(s); i++)
		for (size_t k = 0; r == 0 && k < nanchors && !seek_is_over(s); k++)
			r = one_span(s, span[i] * 1000000, anchors[k], share,
			             (double)seek_left_ns(s) / (double)(nspans * nanchors - i * nanchors - k), all,
			             err);
	span_notices(s, &all->notes);
	return r;
}
