/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random reads over the whole device with more of them in flight: what the drive's reordering brings.
 *
 * A queue that was just filled is quicker than it stays: drives take those first that have waited for, say, half a
 * second, until nothing is left to choose, within 50 to 250 reads at a depth of 32. So nothing counts before that, and
 * what counts ends before the queue is drained.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/seek/seek.h"

#define POINTS        4000 /* of one depth */
#define BATCHES       10   /* of four seconds: twice as long as a request waits, at 150 a second and a depth of 32 */
#define SETTLES       8    /* times of the depth are answered before (a choice, see above) */
#define SETTLES_QUICK 3    /* and where the queue is so short that nothing becomes old */
#define QUICK_DEPTH   8    /* of a short run: for more there is no time to settle */
#define QUICK_NS      1e9
#define CHANCE        1.05 /* a gain of so much may be the host's own time, which goes on meanwhile (a choice) */
#define LONGEST_NS    (20 * NS_PER_S) /* of one depth, however slow */

struct queue_row {
	uint64_t depth;
	double iops, mean_ns, p99_ns, gain_ratio, low, high;
	uint64_t samples;
};

const struct field seek_queue_fields[] = {
	FIELD_U64(struct queue_row, depth, UNIT_COUNT, "depth"),
	FIELD_F64(struct queue_row, iops, UNIT_PER_S, "IOPS"),
	FIELD_F64(struct queue_row, mean_ns, UNIT_NS, "mean"),
	FIELD_F64(struct queue_row, p99_ns, UNIT_NS, "99 %"),
	FIELD_F64(struct queue_row, gain_ratio, UNIT_RATIO, "gain"),
	FIELD_F64(struct queue_row, low, UNIT_PER_S, "IOPS, low", .detail = true),
	FIELD_F64(struct queue_row, high, UNIT_PER_S, "IOPS, high", .detail = true),
	FIELD_U64(struct queue_row, samples, UNIT_COUNT, "reads", .detail = true),
	FIELD_END,
};

/* Feeder and sink of one depth. */
struct queue {
	struct feeder feeder; /* first */
	struct sink sink;
	struct random_feeder random;
	uint64_t settle_left; /* to be answered before anything counts */
	uint64_t limit_ns;
	uint64_t steady_ns;  /* 0, or since when what completes counts */
	uint64_t n, last_ns; /* completions since then; the last */
	struct hist *latency;
	struct bucket_log log; /* of them, from none on */
};

static enum feed next_of_queue(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct queue *q = (struct queue *)f;

	if (q->steady_ns && now_ns - q->steady_ns >= q->limit_ns)
		return FEED_END;
	return q->random.f.next(&q->random.f, now_ns, req, ret_until_ns);
}

static void take_of_queue(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct queue *q = (struct queue *)((char *)sink - offsetof(struct queue, sink));

	if (!q->steady_ns) {
		if (--q->settle_left == 0)
			q->steady_ns = req->done_ns;
		return;
	}
	if (req->is_late) { /* the time that nobody ran is none of the queue's */
		q->steady_ns += req->done_ns - (q->last_ns ? q->last_ns : q->steady_ns);
		q->last_ns = req->done_ns;
		return;
	}
	if (is_fault || req->done_ns - q->steady_ns > q->limit_ns)
		return;
	hist_add(q->latency, req->done_ns - req->submit_ns);
	q->last_ns = req->done_ns;
	bucket_log_add(&q->log, req->done_ns - q->steady_ns, ++q->n);
}

/* Of the time between completions. A drive that takes the oldest request now and then is quicker and slower for as long
 * as requests wait: only parts that are much longer show how far chance moves the whole. */
static struct interval gap_interval(const struct queue *q)
{
	const struct bucket_point *p = q->log.p;
	const size_t last = q->log.n - 1;
	double gap[BATCHES];

	for (size_t i = 0; i < BATCHES; i++) {
		const struct bucket_point *from = &p[i * last / BATCHES], *to = &p[(i + 1) * last / BATCHES];

		gap[i] = (double)(to->t_ns - from->t_ns) / (double)(to->bytes - from->bytes);
	}
	return stats_batch_means_ci(gap, BATCHES);
}

/* -EAGAIN: too few to know. */
static int one_depth(struct seek_run *s, struct queue *q, uint32_t depth, struct queue_row *row, struct err *err)
{
	struct load load = { .targets = s->t.target, .ntargets = 1, .sink = &q->sink, .depth = depth };
	struct load_stats stats;
	struct interval ci;
	int r;

	*q = (struct queue){ .feeder = { .next = next_of_queue },
		             .sink = { take_of_queue },
		             .settle_left = (uint64_t)depth * (s->p->quick ? SETTLES_QUICK : SETTLES),
		             .limit_ns = s->p->quick ? (uint64_t)(QUICK_NS * fmax(s->budget.scale, 1.0))
		                                     : s->p->span_ns * (depth == SEEK_DEEPEST ? 4 : 1),
		             .latency = q->latency,
		             .log = q->log };
	hist_clear(q->latency);
	bucket_log_start(&q->log, POINTS);
	bucket_log_add(&q->log, 0, 0);
	random_feeder_init(&q->random, IO_READ, 0, 0, s->known.places.size_bytes, s->t.block_bytes, UINT64_MAX,
	                   rng_u64(&s->t.rng));
	load.feeder = &q->feeder;
	load.max_ns = LONGEST_NS + q->limit_ns < seek_left_ns(s) ? LONGEST_NS + q->limit_ns : seek_left_ns(s);
	r = session_load(s->ses, &load, s->t.eng, &stats, err);
	if (r < 0 || q->n < BATCHES)
		return r < 0 ? r : -EAGAIN;
	ci = gap_interval(q);
	*row = (struct queue_row){ .depth = depth,
		                   .iops = (double)q->n * 1e9 / (double)(q->last_ns - q->steady_ns),
		                   .mean_ns = hist_mean(q->latency),
		                   .p99_ns = hist_can_quantile(q->latency, 0.99)
		                                     ? (double)hist_quantile(q->latency, 0.99)
		                                     : (double)NAN,
		                   .samples = q->n };
	row->low = isfinite(ci.high) ? 1e9 / ci.high : (double)NAN;
	row->high = isfinite(ci.low) && ci.low > 0.0 ? 1e9 / ci.low : (double)NAN;
	return 0;
}

static struct stats_estimate rate_of(const struct queue_row *row)
{
	return (struct stats_estimate){ row->iops, { row->low, row->high } };
}

/*
 * One at a time over the whole device, which is measured already: by the media alone, so not where parts answer without
 * them. Of what does not turn, a run that is not short has it measured as the others are.
 */
static bool is_known_alone(const struct seek_run *s)
{
	return isfinite(s->whole.mean_ns) && !s->known.is_patchy && (s->p->quick || s->rot.is_rotating);
}

static struct queue_row alone(const struct seek_run *s)
{
	return (struct queue_row){ .depth = 1,
		                   .iops = 1e9 / s->whole.mean_ns,
		                   .mean_ns = s->whole.mean_ns,
		                   .p99_ns = NAN,
		                   .low = 1e9 / s->whole.ci.high,
		                   .high = 1e9 / s->whole.ci.low,
		                   .samples = s->whole.reads };
}

/*
 * What the drive has no room for waits in the kernel, whose scheduler may sort it by place: then that is what more
 * requests bring, and not the drive. Where it sorts nothing, as none does, one at a time is all that there is. low: no
 * less is the gain of the deepest queue.
 */
static void report_who_sorts(const struct seek_run *s, uint64_t deepest, double low)
{
	const struct device *d = &s->ses->devs[0];
	const bool is_sorted = d->queue.scheduler[0] && strcmp(d->queue.scheduler, "none") != 0;

	if (!d->queue.queue_depth || deepest <= d->queue.queue_depth)
		return;
	if (d->queue.queue_depth == 1 && is_sorted && low > 1.0)
		result_notice(
			s->res, "queue-order",
			"%s takes one request at a time: any gain from more comes from the kernel's scheduler, %s, which sorts those that wait, not from the drive. With none instead (/sys/block/%s/queue/scheduler) nothing would be gained.",
			d->disk, d->queue.scheduler, d->disk);
	else if (d->queue.queue_depth == 1 && !is_sorted && !(low > CHANCE))
		result_notice(
			s->res, "queue-order",
			"%s takes one request at a time, and no scheduler of the kernel sorts those that wait: expect no gain from a queue.",
			d->disk);
	else if (is_sorted && low > 1.0)
		result_notice(
			s->res, "queue-order",
			"%s takes %" PRIu32
			" requests at a time: any gain beyond that depth comes from the kernel's scheduler, %s, which sorts those that wait, not from the drive.",
			d->disk, d->queue.queue_depth, d->queue.scheduler);
}

/* What a device without heads is asked for. */
static void iops_figures(struct seek_run *s, const struct queue_row *first, const struct queue_row *deepest)
{
	const struct stats_estimate one = rate_of(first), most = rate_of(deepest);

	if (s->rot.is_rotating || deepest->depth < 2)
		return;
	result_estimate(s->res, "iops_alone_per_s", "IOPS, one request at a time", UNIT_PER_S, &one);
	result_estimate(s->res, "iops_deepest_per_s", "IOPS, deepest queue", UNIT_PER_S, &most);
	result_figure(s->res, "deepest_queue", "deepest queue", UNIT_COUNT, (double)deepest->depth, NULL, 0);
}

int seek_queue(struct seek_run *s, struct err *err)
{
	struct table *t = result_table(s->res, "queue", "What a queue brings", seek_queue_fields);
	cleanup_free struct queue *q = xcalloc(1, sizeof(*q));
	cleanup_free struct hist *h = xmust(hist_new());
	const uint32_t most = s->p->quick ? QUICK_DEPTH : SEEK_DEEPEST;
	struct queue_row first = { .iops = NAN }, row = { .depth = 0 };
	struct stats_estimate gain = STATS_UNKNOWN;
	int r = 0;

	q->latency = h;
	(void)seek_begin(s, SEEK_QUEUE);
	for (uint32_t depth = 1; depth <= most && depth <= s->t.eng->cfg.depth && !seek_is_over(s);
	     depth *= s->p->quick ? most : 2) {
		if (depth == 1 && is_known_alone(s))
			row = alone(s);
		else
			r = one_depth(s, q, depth, &row, err);
		if (r == -EAGAIN) {
			r = 0;
			continue;
		}
		if (r < 0 || session_is_over(s->ses))
			break;
		if (depth == 1)
			first = row;
		gain = stats_ratio(rate_of(&row), rate_of(&first));
		row.gain_ratio = gain.value;
		result_row(t, &row);
		session_progress(s->ses, "queue", s->fraction, "depth %" PRIu32 ": %.0f IOPS", depth, row.iops);
		session_checkpoint(s->ses);
		if (depth > 1 && isfinite(gain.value))
			result_estimate(s->res, "queue_gain_ratio", "gain by the deepest queue", UNIT_RATIO, &gain);
		iops_figures(s, &first, &row);
	}
	bucket_log_done(&q->log);
	if (r == 0)
		report_who_sorts(s, row.depth, gain.ci.low);
	return r;
}
