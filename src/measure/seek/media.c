/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the disk and the way to it need by themselves: sequential rates at a few places, which show what lies where
 * (places.c), what a sector takes from the drive's cache and through the interface, and the overhead (overhead.c).
 */
#include <math.h>

#include "base/cleanup.h"
#include "measure/seek/seek.h"

#define BUS_BYTES   16384 /* sectors of so much at once, as bridges take, show what the interface takes for each */
#define AGAIN       10    /* the same place, the first of which brings it in (a choice) */
#define LITTLE_PART 2e-4  /* of the device: the whole stroke is as long to a few us so far inwards from its ends */

/* ---- rates ---- */

/* For about so long, or 1 MiB. */
static double rate_bytes(const struct seek_run *s, double guess)
{
	return fmax(isfinite(guess) ? guess * (s->p->quick ? 0.12 : 0.5) : 0.0, 1048576.0);
}

double seek_rate_bytes(const struct seek_run *s)
{
	double bytes = rate_bytes(s, s->known.places.rate_start);

	return isfinite(s->rot.hits.ns) && bytes < LITTLE_PART * (double)s->known.places.size_bytes ? bytes : 0.0;
}

static int rate_at(struct seek_run *s, double x, double guess, double *ret_rate, struct err *err)
{
	uint64_t want = (uint64_t)rate_bytes(s, guess);

	want -= want % (1u << 20);
	return timed_rate(&s->t, (uint64_t)(x * (double)s->known.places.size_bytes), want, ret_rate, err);
}

/* Where some of it is not stored: one of the places about it that is; NaN: none. */
static int stored_place(struct seek_run *s, double *place, double reach, struct err *err)
{
	double wanted = *place;

	for (int i = 0; s->known.is_patchy && i < 2 * SEEK_STORED_TRIES; i++) {
		uint64_t offset;
		double access = NAN;
		int r;

		*place = fmin(fmax(wanted + reach * (2.0 * rng_double(&s->t.rng) - 1.0), 0.0), 1.0);
		offset = timed_align(&s->t, *place * (double)s->known.places.size_bytes);
		r = timed_reads(&s->t, &offset, 1, &access, NULL, err);
		if (r < 0 || (isfinite(access) && !timed_is_hit(&s->rot.hits, access)))
			return r;
	}
	if (s->known.is_patchy)
		*place = NAN;
	return 0;
}

static int rates(struct seek_run *s, struct err *err)
{
	struct table *t = result_table(s->res, "rates", "Sequential rates", seek_rate_fields);
	double guess = NAN;
	size_t places = s->p->quick || s->narms ? 5 : 9;
	int r = 0;

	for (size_t i = 0; r == 0 && i < places && !seek_is_over(s); i++) {
		struct seek_rate row = { (double)i / (double)(places - 1), NAN };

		r = stored_place(s, &row.place_ratio, 0.4 / (double)(places - 1), err);
		if (r < 0 || !isfinite(row.place_ratio))
			continue;
		r = rate_at(s, row.place_ratio, guess, &row.rate_bytes_per_s, err);
		if (r == 0 && isfinite(row.rate_bytes_per_s)) {
			guess = row.rate_bytes_per_s;
			result_row(t, &row);
		}
	}
	s->known.places = seek_places_of(&s->known.places, s->res);
	return r;
}

/* ---- hits ---- */

/* The same place at once again, in blocks of that many bytes; none: the cache does not answer within most_ns. As before
 * where there was no time to read. */
static int hits_of(struct seek_run *s, uint64_t at, uint32_t bytes, double most_ns, struct hits *ret, struct err *err)
{
	const uint32_t block = s->t.block_bytes;
	uint64_t offsets[AGAIN];
	double access[AGAIN];
	struct summary sum;
	int r;

	for (size_t i = 0; i < AGAIN; i++)
		offsets[i] = at;
	s->t.block_bytes = bytes;
	r = timed_reads(&s->t, offsets, AGAIN, access, NULL, err);
	s->t.block_bytes = block;
	if (r == 0 && summary_of(access + 1, AGAIN - 1, &sum))
		*ret = sum.median < most_ns ? hits_about(sum.median, sum.mad) : NO_HITS;
	return r;
}

/* What hits of a sector take, and by more sectors what the interface takes for each. */
static int sector_hits(struct seek_run *s, struct err *err)
{
	const uint32_t step = s->t.step_bytes, n = BUS_BYTES / step < 2 ? 2 : BUS_BYTES / step;
	const uint64_t at = timed_random(&s->t, 0, s->known.places.size_bytes - n * step);
	struct seek_hits *ret = &s->known.hits;
	struct hits many = NO_HITS;
	int r;

	*ret = (struct seek_hits){ .without_ns = NAN, .bus_ns = NAN };
	s->sector_hits = s->rot.hits;
	if (!isfinite(s->rot.hits.ns))
		return 0;
	r = hits_of(s, at, step, s->rot.hits.ns + s->rot.hits.width_ns, &s->sector_hits, err);
	if (r < 0 || !isfinite(s->sector_hits.ns))
		return r;
	if (!s->known.is_patchy)
		r = hits_of(s, at, n * step, s->known.places.period_ns / 2.0, &many, err);
	if (isfinite(many.ns))
		ret->bus_ns = fmax(many.ns - s->sector_hits.ns, 0.0) / (n - 1.0);
	ret->without_ns = s->sector_hits.ns - (isfinite(ret->bus_ns) ? ret->bus_ns : 0.0);
	return r;
}

int seek_media(struct seek_run *s, struct err *err)
{
	const bool has_phase = s->budget.phase < SEEK_WHOLE; /* else it is in the time of who wants it */
	int r = 0;

	if (has_phase)
		(void)seek_begin(s, SEEK_RATES);
	if (!s->has_rates)
		r = rates(s, err);
	s->has_rates = true;
	if (has_phase)
		(void)seek_begin(s, SEEK_OVERHEAD);
	if (s->has_overhead || r < 0 || session_is_over(s->ses) || !isfinite(s->known.places.ratio))
		return r;
	s->has_overhead = true;
	r = sector_hits(s, err);
	if (r < 0)
		return r;
	if (seek_left_ns(s) < seek_usual_ns(s->p, SEEK_OVERHEAD, SEEK_OVERHEAD) / 4) { /* two places need so long */
		seek_cut(s, SEEK_OVERHEAD);
	} else {
		r = seek_find_overhead(s, err);
	}
	if (r == 0)
		seek_report_overhead(s);
	return r;
}
