/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A disk is divided into as many parts as time allows places, and a random place of each is read: every place is as
 * likely as another. Where time allows all places, they are read side by side. A place is a batch of requests. A pass
 * goes from the start to the end, as neighbours in place are what a request is judged by. The first, of few, finds out
 * how long a place takes; each later one reads again what was slow before, when nothing of it is in the drive's buffer
 * any more.
 *
 * Requests that were slow in all of three readings lie at sectors that are weak, or that were moved away. Those moved
 * away are strewn; so a place is called weak only if it has more of them than strewn ones explain.
 */
#include <stdlib.h>

#include "base/order.h"
#include "measure/surface/surface.h"

#define SAMPLE_NS    (120 * NS_PER_S) /* where no time was given */
#define SCAN_SHARE   0.9              /* of the time; the rest is for what failed */
#define PASS_SHARE   0.7              /* of what is left may go into a pass: what is slow in it needs two more */
#define OWN_MARGIN   1.15             /* as in judge.c */
#define LEAST_PLACES 8                /* fewer are not a pass */
#define READINGS     3                /* what a busy moment does to all three is rare (as in again.c) */
#define STREWN_LEAST 3 /* moved sectors lie near each other: a place of a sound model disk had that many */
/* Where a lost revolution is usual: half of what slow_of() can count, two requests each; a choice, judged by boards. */
#define DEAF_LEAST (SURFACE_BATCH / 4)
#define FALSE_WEAK 1e-3 /* of a whole sample of a disk with strewn ones only */

static uint64_t length_of(const struct surface_run *run)
{
	return (uint64_t)SURFACE_BATCH * run->range.block_bytes;
}

static void add(struct surface_run *run, double first, bool is_random)
{
	struct surface_sample *s = run->later.sample;
	const struct surface_range *g = &run->range;
	double end = (double)(g->end_bytes > length_of(run) ? g->end_bytes - length_of(run) : 0);
	uint64_t at = (uint64_t)fmax(fmin(first, end), (double)g->first_bytes);
	struct stretch v;

	at += (g->unit_bytes - at % g->unit_bytes) % g->unit_bytes; /* up: the last one ends with the range */
	v = (struct stretch){ .first_bytes = at,
		              .end_bytes = (uint64_t)fmin((double)(at + length_of(run)), (double)g->end_bytes),
		              .is_random = is_random };
	s->v = surface_insert(s->v, &s->n, sizeof(v), s->n, &v);
}

/* What the drive itself has trouble with, and where heads land and rest. */
static void add_known(struct surface_run *run)
{
	const struct device_health *h = session_health(run->ses, 0);

	add(run, (double)run->range.first_bytes, false);
	add(run, (double)run->range.end_bytes, false);
	for (uint32_t i = 0; i < h->nsuspects; i++)
		add(run, (double)h->suspects[i] - (double)length_of(run) / 2, false);
}

static bool is_doubtful(const struct stretch *v)
{
	return v->slow && v->readings < READINGS;
}

static bool has_doubtful(const struct surface_sample *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (is_doubtful(&s->v[i]))
			return true;
	return false;
}

/* Those that are to be read again go behind the others. */
static void take_back_doubtful(struct surface_sample *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++)
		if (!is_doubtful(&s->v[i])) {
			struct stretch v = s->v[kept];

			s->v[kept++] = s->v[i];
			s->v[i] = v;
		}
	s->next = kept;
}

static void plan_pass(struct surface_run *run, size_t places)
{
	struct surface_sample *s = run->later.sample;
	double span = (double)(run->range.end_bytes - run->range.first_bytes),
	       all = ceil(span / (double)length_of(run));
	bool is_all = (double)places >= all;

	if (!run->is_tuned) { /* by the first requests */
		add(run, (double)run->range.first_bytes, false);
		return;
	}
	if (s->passes == 1)
		s->own_ns = OWN_MARGIN * stats_median(s->worsts_ns, s->nworsts);
	take_back_doubtful(s);
	places = places > 2 * (s->n - s->next) ? places - 2 * (s->n - s->next) : 0;
	if (s->passes++ == 0)
		add_known(run);
	places = is_all ? (size_t)all : places;
	for (size_t i = 0; i < places; i++) {
		double at = is_all ? (double)i * (double)length_of(run)
		                   : span * ((double)i + rng_double(&run->timed.rng)) / (double)places;

		add(run, (double)run->range.first_bytes + at, true);
	}
	qsort(s->v + s->next, s->n - s->next, sizeof(*s->v), order_u64);
}

/* That many fit into the time that is left. */
static size_t places_left(const struct surface_run *run)
{
	const struct surface_sample *s = run->later.sample;
	uint64_t span = run->range.end_bytes - run->range.first_bytes, now = surface_now(run),
		 left = now < s->end_ns ? s->end_ns - now : 0;

	if (!s->passes)
		return left ? SURFACE_FIRST_PLACES : 0;
	return (size_t)fmin(ceil((double)span / (double)length_of(run)),
	                    PASS_SHARE * (double)left * (double)s->seen / (double)(run->done.scan_ns + 1));
}

bool surface_sample_goes_on(const struct surface_run *run)
{
	const struct surface_sample *s = run->later.sample;

	if (!s || surface_is_over(run))
		return false;
	if (!s->passes)
		return true;
	if (surface_now(run) >= s->end_ns)
		return false;
	return s->next < s->n || has_doubtful(s) || (s->unread.n && places_left(run) >= LEAST_PLACES);
}

static void begin(struct surface_run *run, struct surface_sample *s)
{
	uint64_t time_ns = run->ses->common->time_ns ? run->ses->common->time_ns : SAMPLE_NS;

	s->own_ns = (double)INFINITY;
	s->end_ns = run->ses->start_ns + (uint64_t)(SCAN_SHARE * (double)time_ns);
	surface_failures_add(&s->unread,
	                     &(struct surface_failed){ .first_bytes = run->range.first_bytes,
	                                               .end_bytes = run->range.end_bytes },
	                     true);
}

int surface_sample_leg(struct surface_run *run, struct err *err)
{
	struct surface_sample *s = run->later.sample;
	int r = 0;

	if (!s->end_ns)
		begin(run, s);
	if (s->next == s->n)
		plan_pass(run, places_left(run));
	while (r == 0 && s->next < s->n && surface_sample_goes_on(run) && !surface_wants_again(run)) {
		struct stretch *v = &s->v[s->next];
		bool is_tuning = !run->is_tuned;

		run->position = v->first_bytes;
		s->leg_end_bytes = v->end_bytes;
		s->leg_slow = 0;
		s->worst_ns = 0.0;
		r = surface_scan_leg(run, err);
		v->slow = v->readings++ ? v->slow & s->leg_slow : s->leg_slow;
		if (is_tuning) { /* in blocks that are not yet the others' */
			s->n = 0;
			return r;
		}
		if (s->passes == 1 && s->nworsts < SURFACE_FIRST_PLACES)
			s->worsts_ns[s->nworsts++] = s->worst_ns;
		s->seen += run->position > v->first_bytes;
		s->next++;
	}
	run->position = s->leg_end_bytes = run->range.end_bytes; /* all before it is scanned, or was not asked for */
	return r;
}

/* ---- what it says of the disk ---- */

/* What is strewn are sectors that lie elsewhere, the way there and back in two requests, and weak tracks: one each. */
static unsigned slow_of(const struct surface_run *run, const struct stretch *v)
{
	double turn_ns = run->rot.is_rotating ? run->rot.period_ns : 0.0,
	       bytes = turn_ns * (double)run->done.scan_bytes / (double)(run->done.scan_ns + 1);
	unsigned each = (unsigned)fmax(2.0, ceil(bytes / run->range.block_bytes)), n = 0;

	for (unsigned i = 0; v->readings == READINGS && i < SURFACE_BATCH; i++)
		if (v->slow >> i & 1) {
			n++;
			i += each - 1;
		}
	return n;
}

/*
 * More than this many are not explained by ones that are strewn, of which that many places have any (Poisson). Where
 * most of the medium is as fast as the connection, buffers that run empty explain any number in the rest; and where no
 * rotation was found, nothing does. Where a lost revolution does not stand out it takes half of the requests.
 */
static unsigned most_strewn(const struct surface_run *run)
{
	const struct surface_sample *s = run->later.sample;
	unsigned k = 0, least = 2 * run->blind.deaf_bytes > run->done.scan_bytes ? DEAF_LEAST : STREWN_LEAST;
	double any = 0.0, mean, p, left = 1.0;

	if (!run->rot.is_rotating || 2 * run->blind.bound_batches > run->blind.batches)
		return SURFACE_BATCH;
	for (size_t i = 0; i < s->n; i++)
		any += slow_of(run, &s->v[i]) > 0;
	mean = -log1p(-fmin((any + 1.0) / ((double)s->n + 2.0), 0.99));
	p = exp(-mean);
	while (left - p > FALSE_WEAK / ((double)s->n + 1.0) && k < SURFACE_BATCH) {
		left -= p;
		p *= mean / ++k;
	}
	return k > least ? k : least;
}

void surface_sample_report(struct surface_run *run)
{
	const struct surface_sample *s = run->later.sample;
	struct result *res = run->ses->res;
	size_t n = 0, weak = 0, bad = 0;
	unsigned most = s ? most_strewn(run) : 0;
	struct interval ci;

	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		const struct stretch *v = &s->v[i];
		bool is_weak = slow_of(run, v) > most, is_one = v->is_random && v->readings;

		weak += is_weak;
		n += is_one;
		bad += is_one && (is_weak || surface_has_failed(&run->failures, v->first_bytes, v->end_bytes));
	}
	ci = stats_share_ci(bad, n);
	if (!bad && n) /* one side: 0.05 is the chance to miss this share n times */
		ci = (struct interval){ 0.0, 1.0 - pow(0.05, 1.0 / (double)n) };
	result_figure_u64(res, "sampled_places", "random places", UNIT_COUNT, n);
	result_figure_u64(res, "weak_places", "places that lost revolutions in each of three readings", UNIT_COUNT,
	                  weak);
	if (n)
		result_figure(res, "bad_places_ratio", "share of places that are weak or unreadable", UNIT_RATIO,
		              (double)bad / (double)n, &ci, n);
	if (n) /* of all of it nothing is left to be guessed */
		result_figure(res, "bad_places_most_ratio", "at most (95 %)", UNIT_RATIO,
		              !bad && s->unread.n ? ci.high : (double)NAN, NULL, 0);
}

void surface_sample_free(struct surface_sample *s)
{
	if (s) {
		surface_failures_done(&s->unread);
		free(s->v);
	}
	free(s);
}
