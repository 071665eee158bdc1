/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Seek times of writes: a head that writes must have come to rest, where one that reads may begin a little before. So
 * data sheets give both, 0.3 to 1 ms apart. The same accesses as for reads, but each writes a sector; the overhead of a
 * write is found by itself. Only where writes wait for the media: that a write cache takes them all is reported
 * instead.
 */
#include <math.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/seek/seek.h"

#define LOOKS           24 /* writes at random that show whether a cache takes them */
#define QUICK_WRITES_NS (10 * NS_PER_S)
#define FULL_WRITES_NS  (60 * NS_PER_S)
#define CACHED          0.4 /* of the media's mean: that of that many lies within a fifth of it (a choice) */

/* Writes at random places take far less than a seek and half a revolution. */
static int is_cached(struct seek_run *w, double media_ns, bool *ret_is, struct err *err)
{
	uint64_t offsets[LOOKS];
	double access[LOOKS];
	struct summary sum;
	int r;

	for (size_t i = 0; i < LOOKS; i++)
		offsets[i] = timed_align(&w->t, rng_double(&w->t.rng) * (double)w->known.places.size_bytes);
	r = timed_reads(&w->t, offsets, LOOKS, access, NULL, err);
	*ret_is = r == 0 && summary_of(access, LOOKS, &sum) && sum.mean < CACHED * media_ns;
	return r;
}

/* The part of a run that writes, from that which has read. samples: none yet. */
static struct seek_run begin(const struct seek_run *s, struct seek_samples *samples)
{
	const struct seek_known *k = &s->known;
	struct seek_run w = *s;

	w.samples = samples;
	w.fraction = SEEK_READS_SHARE;
	w.share = 1.0;
	w.t.op = IO_WRITE;
	w.rot.hits = w.sector_hits = NO_HITS; /* no read, no hit */
	w.known = (struct seek_known){ .block_bytes = k->block_bytes,
		                       .step_bytes = k->step_bytes,
		                       .is_patchy = k->is_patchy,
		                       .is_quick = k->is_quick,
		                       .is_writing = true,
		                       .places = k->places,
		                       .hits = { .without_ns = NAN, .bus_ns = k->hits.bus_ns },
		                       .overhead = SEEK_NO_OVERHEAD,
		                       .scatter = k->scatter,
		                       .track = STATS_UNKNOWN,
		                       .curve = CURVE_UNKNOWN,
		                       .reads = k };
	return w;
}

/* How much longer a seek takes that ends in a write: how far writes lie above the curve of the reads, less the
 * difference of the overheads. The curve as a whole may be off by as much as its average. false: not known. */
static bool find_settle(const struct seek_known *s, const struct seek_known *w, struct stats_estimate *ret)
{
	const struct stats_estimate off = stats_difference(s->curve.average, stats_about(s->curve.average.value, 0.0));

	*ret = stats_sum(seek_less_overhead(w, stats_difference(w->curve.more, off)),
	                 (struct stats_estimate){ s->overhead.ns, s->overhead.ci });
	return isfinite(ret->value) && isfinite(ret->ci.low) && isfinite(ret->ci.high);
}

/*
 * No head may write sooner than it may read. Where it seems so, the returns that showed the overhead were none on one
 * track, but to another head, and that is in the overhead.
 */
static bool is_settled(const struct seek_run *s, struct seek_run *w, struct stats_estimate *ret)
{
	if (!find_settle(&s->known, &w->known, ret))
		return false;
	if (ret->ci.high >= 0.0)
		return true;
	w->known.overhead = SEEK_NO_OVERHEAD;
	seek_report_overhead(w);
	return false;
}

static void report(struct seek_run *s, struct seek_run *w)
{
	struct stats_estimate settle;
	bool is_known = is_settled(s, w, &settle);

	seek_conclude_near(w);
	seek_report_curve(w->res, &w->known, w->samples);
	seek_report_figures(w);
	if (is_known && w->known.curve.is_known)
		result_estimate(s->res, "write_settle_ns", "seek of a write beyond that of a read", UNIT_NS, &settle);
	if (!w->known.curve.is_known)
		result_notice(
			s->res, "writes-not-aimed",
			"Seek times of writes not reported: writes did not end when their sectors passed the head. The drive may write elsewhere first, as shingled ones do, or reorder.");
}

static void note_cache(struct seek_run *s)
{
	if (strcmp(s->ses->devs[0].queue.write_cache, "write through") == 0)
		result_notice(
			s->res, "write-cache",
			"Writes take less than the media would need although the write cache is off: the drive keeps them elsewhere first, in a cache on its platters or in flash. Their seek times cannot be seen.");
	else
		result_notice(
			s->res, "write-cache",
			"The drive's write cache takes writes before they are on the media, so their seek times cannot be seen. Turn it off for the run: hdparm -W 0 %s (SAS: sdparm --clear=WCE).",
			s->ses->devs[0].path);
}

/* They have a time of their own, or what is left of that which was asked for. */
static uint64_t writing_ns(const struct seek_run *s)
{
	return s->ses->common->time_ns ? session_time_left_ns(s->ses) : s->p->quick ? QUICK_WRITES_NS : FULL_WRITES_NS;
}

int seek_writes(struct seek_run *s, struct err *err)
{
	cleanup_free struct seek_samples *samples = xcalloc(1, sizeof(*samples));
	const struct curve *c = &s->known.curve;
	const uint32_t block = s->t.block_bytes;
	struct seek_run w;
	bool is = false;
	int r;

	if (!c->is_known || s->known.is_patchy || !isfinite(c->average.value)) {
		result_notice(
			s->res, "no-write-curve",
			"Writes were left out: they are aimed by the seek curve of reads, which does not span the whole device.");
		return 0;
	}
	w = begin(s, samples);
	seek_budget(&w, writing_ns(s));
	w.t.block_bytes = w.t.step_bytes;
	r = is_cached(&w, c->average.value + s->known.places.period_ns / 2.0, &is, err);
	w.t.block_bytes = block;
	if (is)
		note_cache(s);
	if (r == 0 && !is && !session_is_over(s->ses)) {
		(void)seek_begin(&w, SEEK_OVERHEAD);
		r = seek_find_overhead(&w, err);
		if (r == 0)
			seek_report_overhead(&w);
	}
	if (r == 0 && !is && !session_is_over(s->ses))
		r = seek_curve_begin(&w, err);
	s->t.rng = w.t.rng;
	seek_report_cut(&w);
	if (samples->naimed)
		report(s, &w);
	session_checkpoint(s->ses);
	return r;
}

bool seek_load_all(struct seek_run *s, const struct table *t)
{
	struct seek_samples *m = s->samples;
	const struct seek_known *k = &s->known;

	(void)seek_load_accesses(t, seek_of(k, "overhead", "write overhead"), m->aimed);
	if (!k->is_writing)
		(void)seek_load_accesses(t, SEEK_READS_ON, m->near);
	if (m->aimed[0].log.n || m->near[0].log.n) {
		s->known.overhead = seek_overhead_of(k, m->aimed, m->near);
		seek_report_overhead(s);
	}
	*m = (struct seek_samples){ .naimed = 0 };
	m->naimed = seek_load_accesses(t, seek_of(k, "curve", "write curve"), m->aimed);
	m->nnear = seek_load_accesses(t, seek_of(k, "near", "write near"), m->near);
	if (!k->is_writing)
		m->nrandom = seek_load_reads(t, m->random);
	s->known.scatter = seek_fit_aimed(k, m);
	seek_conclude_curve(&s->known, m);
	return m->naimed > 0;
}

void seek_writes_again(struct seek_run *s, const struct table *accesses)
{
	cleanup_free struct seek_samples *samples = xcalloc(1, sizeof(*samples));
	struct seek_run w = begin(s, samples);

	if (seek_load_all(&w, accesses))
		report(s, &w);
}
