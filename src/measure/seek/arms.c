/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several arms behind one name: each is measured by itself, as a disk of its own, for a distance means something within
 * its range only. The first one gets the time that a whole disk would, the others what a short run takes. The tables
 * curve, near, smooth, accesses and rates, and the figures of seek times, are the first one's.
 */
#include <math.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/seek/seek.h"
#include "measure/shared/arms.h"

#define FIRST_SHARE 2.0 /* times as long as another arm, as figures and tables are its (a choice) */
#define ARM_LEAST   3.5 /* seconds of a short run, and of a usual one: of less an arm has no curve (a choice) */

struct arm_row {
	uint64_t arm, first_byte, last_byte;
	double track_ns, average_ns, third_ns, full_ns, overhead_ns, random_ns, average_with_overhead_ns,
		full_with_overhead_ns;
	double average_low_ns, average_high_ns, full_low_ns, full_high_ns, random_low_ns, random_high_ns;
};

const struct field seek_arm_fields[] = {
	FIELD_U64(struct arm_row, arm, UNIT_COUNT, "arm"),
	FIELD_U64(struct arm_row, first_byte, UNIT_BYTES, "first byte"),
	FIELD_U64(struct arm_row, last_byte, UNIT_BYTES, "last byte"),
	FIELD_F64(struct arm_row, track_ns, UNIT_NS, "track to track"),
	FIELD_F64(struct arm_row, average_ns, UNIT_NS, "average seek"),
	FIELD_F64(struct arm_row, third_ns, UNIT_NS, "a third"),
	FIELD_F64(struct arm_row, full_ns, UNIT_NS, "full stroke"),
	FIELD_F64(struct arm_row, average_with_overhead_ns, UNIT_NS, "average, with overhead"),
	FIELD_F64(struct arm_row, full_with_overhead_ns, UNIT_NS, "full, with overhead", .detail = true),
	FIELD_F64(struct arm_row, overhead_ns, UNIT_NS, "overhead", .detail = true),
	FIELD_F64(struct arm_row, random_ns, UNIT_NS, "random read"),
	FIELD_F64(struct arm_row, average_low_ns, UNIT_NS, "average, low", .detail = true),
	FIELD_F64(struct arm_row, average_high_ns, UNIT_NS, "average, high", .detail = true),
	FIELD_F64(struct arm_row, full_low_ns, UNIT_NS, "full, low", .detail = true),
	FIELD_F64(struct arm_row, full_high_ns, UNIT_NS, "full, high", .detail = true),
	FIELD_F64(struct arm_row, random_low_ns, UNIT_NS, "random, low", .detail = true),
	FIELD_F64(struct arm_row, random_high_ns, UNIT_NS, "random, high", .detail = true),
	FIELD_END,
};

/* ---- measuring each ---- */

static void report_arm(struct seek_run *s, size_t arm, const struct device_range *range, const struct seek_run *a)
{
	struct table *t = result_table(s->res, "arms", "Each actuator", seek_arm_fields);
	const struct seek_known *k = &a->known;
	const struct stats_estimate average = seek_less_overhead(k, k->curve.average),
				    full = seek_less_overhead(k, k->full);
	const double less = k->overhead.ns;
	struct arm_row row = { .arm = arm + 1,
		               .first_byte = range->first_byte,
		               .last_byte = range->first_byte + range->bytes - 1,
		               .track_ns = k->track.value - less,
		               .average_ns = average.value,
		               .third_ns = k->third.value - less,
		               .full_ns = full.value,
		               .average_with_overhead_ns = k->curve.average.value,
		               .full_with_overhead_ns = k->full.value,
		               .overhead_ns = less,
		               .random_ns = a->whole.mean_ns,
		               .average_low_ns = average.ci.low,
		               .average_high_ns = average.ci.high,
		               .full_low_ns = full.ci.low,
		               .full_high_ns = full.ci.high,
		               .random_low_ns = a->whole.ci.low,
		               .random_high_ns = a->whole.ci.high };

	result_row(t, &row);
	session_checkpoint(s->ses);
}

/* Only the first one's accesses and curve go into the document: scratch is for the others', and for what is reported of
 * a whole device. */
static int one_arm(struct seek_run *s, size_t arm, size_t left, const struct device_range *range,
                   struct result *scratch, struct err *err)
{
	double ns = (double)seek_left_ns(s),
	       least = (s->p->quick ? ARM_LEAST : SEEK_QUICK_S) * fmin(s->budget.scale, 1.0) * 1e9;
	cleanup_free struct seek_samples *samples = xcalloc(1, sizeof(*samples));
	struct seek_run a = *s;
	struct seek_params brief = *s->p;
	int r;

	a.samples = samples;
	brief.quick |= arm > 0;
	a.p = &brief;
	a.known.is_quick = brief.quick;
	a.res = arm == 0 ? s->res : scratch;
	a.known.places.size_bytes = a.t.part_bytes = range->bytes - range->bytes % s->t.block_bytes;
	a.t.first_bytes = range->first_byte;
	if (arm && ns < least) { /* where it is, at least */
		seek_cut(s, SEEK_ARMS);
		a.known.overhead = SEEK_NO_OVERHEAD;
		report_arm(s, arm, range, &a);
		return 0;
	}
	if (left > 1) /* not so little for each that none is reported */
		ns = fmax(ns * (arm ? 1.0 : FIRST_SHARE) / ((double)left + (arm ? 0.0 : FIRST_SHARE - 1.0)),
		          fmin(ns, least));
	seek_budget(&a, (uint64_t)ns);
	r = seek_media(&a, err);
	if (r == 0 && isfinite(a.known.places.ratio) && !session_is_over(s->ses))
		r = seek_curve_begin(&a, err);
	if (r == 0 && !session_is_over(s->ses))
		r = seek_part_mean(&a, err);
	seek_curve_end(&a);
	report_arm(s, arm, range, &a);
	s->t.rng = a.t.rng;
	s->budget.cut |= a.budget.cut;
	s->fraction = a.fraction;
	if (arm == 0) { /* of what the others want to know, too */
		s->known.overhead = a.known.overhead;
		s->known.hits = a.known.hits;
		s->sector_hits = a.sector_hits;
		a.known.places.size_bytes = s->known.places.size_bytes;
		s->known.places = a.known.places;
	}
	return r;
}

int seek_arms(struct seek_run *s, struct err *err)
{
	const struct rng kept = s->t.rng; /* what comes later is as if nobody had looked */
	struct result *scratch;
	struct arm_ranges arms;
	int r;

	if (s->known.is_patchy) /* what is not stored takes no way either */
		return 0;
	session_rng(s->ses, 0x41524d53ull, &s->t.rng);
	(void)seek_begin(s, SEEK_ARMS);
	r = arms_find(&s->t, &s->rot, &arms, err);
	s->t.rng = kept;
	if (r < 0 || !arms.n || session_is_over(s->ses))
		return r;
	s->narms = arms.n;
	scratch = xmust(result_new("seek"));
	result_notice(
		s->res, "not-one-arm",
		"%zu actuators, or disks, are behind %s, each over a range of addresses. Table arms has each of them; seek times, curve and accesses are of the first. No seek leads from one range to another.",
		arms.n, s->t.target->name);
	for (size_t i = 0; r == 0 && i < arms.n && !session_is_over(s->ses); i++) {
		(void)seek_begin(s, SEEK_NEAR);
		r = one_arm(s, i, arms.n - i, &arms.range[i], scratch, err);
	}
	s->has_rates = s->has_overhead = true;
	result_free(scratch);
	return r;
}

uint64_t seek_first_arm_bytes(const struct result *saved)
{
	const struct table *t = result_find_table(saved, "arms");
	struct arm_row row;

	if (!t || t->nrows == 0)
		return 0;
	table_row(t, 0, seek_arm_fields, &row);
	return row.last_byte + 1 - row.first_byte;
}
