/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lies where. Distances are parts of the stroke, in cylinders. Under constant linear density the place of a byte
 * on the stroke follows from the sequential rates at the start and the end: tracks become shorter inwards as the rate
 * falls, so stroke(x) = (1 - sqrt(1 - x (1 - r^2))) / (1 - r), r the ratio of the rates.
 */
#include <math.h>

#include "base/cleanup.h"
#include "measure/seek/seek.h"

#define RATE_PLACES \
	9 /* half a second each; two parameters are fitted to them, and the rest tells what places are off */
#define LITTLE_PART    2e-4 /* of the device: the whole stroke is as long to a few us so far inwards from its ends */
#define INTERFACE_PART 0.8  /* of what the interface carries: commands have their part of it (a choice) */
#define SKEW_MOST                                                                                                    \
	1.3 /* times as long as what passes in a revolution of sequential reading may a track be: real skews take up \
	       to a quarter */
#define FLAT        0.8 /* no drive with zones has a ratio of its rates above that (real drives: 0.4 to 0.75) */
#define USUAL_RATIO 0.6
#define UNKNOWN_OFF                                                                                                \
	0.04 /* with BRIDGE it makes 1.5 % of an average: so far off it is where the ratio is 0.35 or 1 instead of \
	        0.6 (pairs over the whole device, a curve of root and line) */
#define TRACKS_LEAST 3 /* that tell two parameters, and the rest what places are off */
#define TRACKS_MOST  16
#define LATE_HIT     3.0 /* times of a hit: most of those that the host made late (one in a hundred) */
#define PLACE_TRIES  24  /* about a place: one of which a tenth is stored is found nine times in ten */

/* For about so long, or 1 MiB. */
static double rate_bytes(const struct seek_run *s, double guess)
{
	return fmax(isfinite(guess) ? guess * (s->p->quick ? 0.12 : 0.5) : 0.0, 1048576.0);
}

double seek_rate_bytes(const struct seek_run *s)
{
	double bytes = rate_bytes(s, s->rate_start);

	return isfinite(s->rot.hit_ns) && bytes < LITTLE_PART * (double)s->size_bytes ? bytes : 0.0;
}

static int rate_at(struct seek_run *s, double x, double guess, double *ret_rate, struct err *err)
{
	uint64_t want = (uint64_t)rate_bytes(s, guess);

	want -= want % (1u << 20);
	return timed_rate(&s->t, (uint64_t)(x * (double)s->size_bytes), want, ret_rate, err);
}

struct rate_row {
	double place_ratio, rate_bytes_per_s;
};

const struct field seek_rate_fields[] = {
	FIELD_F64(struct rate_row, place_ratio, UNIT_RATIO, "of the device", .detail = true),
	FIELD_F64(struct rate_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "sequential rate", .detail = true),
	FIELD_END,
};

#define MEDIA_RATES "media_rates"

/* Rates that do not fall are those of an interface, or of requests each a revolution late, unless tracks say so. */
static bool learn_from(struct seek_run *s, const struct table *t, bool is_media)
{
	double x[RATE_PLACES], rate[RATE_PLACES];
	struct density_fit fit;
	size_t n = 0;

	for (; n < t->nrows && n < RATE_PLACES; n++) {
		struct rate_row row;

		table_row(t, n, seek_rate_fields, &row);
		x[n] = row.place_ratio;
		rate[n] = row.rate_bytes_per_s;
	}
	s->rate_start = s->ratio = NAN;
	s->track_ratio = 1.0;
	if (n < 3 || !fit_density(x, rate, n, &fit))
		return false;
	s->rate_start = fit.r0;
	s->ratio = fmin(fmax(fit.r, 0.1), 1.0);
	s->place_off = fit.rms_ratio / sqrt((double)n);
	if (!is_media && s->ratio > FLAT) {
		s->ratio = USUAL_RATIO;
		s->place_off = fmax(s->place_off, UNKNOWN_OFF);
	}
	return true;
}

/* Where the interface is slower than the media, its rate says nothing of places, and the length of tracks does. */
bool seek_learn_places(struct seek_run *s, const struct result *res)
{
	const struct table *media = result_find_table(res, MEDIA_RATES), *t = result_find_table(res, "rates");

	if (!media || !learn_from(s, media, true))
		return t && learn_from(s, t, false);
	s->place_off *= sqrt((double)media->nrows); /* a few places, on surfaces that may differ */
	return true;
}

bool seek_is_interface_rate(const struct seek_run *s)
{
	return s->sector_bus_ns > 0.0 && s->rate_start > INTERFACE_PART * s->t.step_bytes / s->sector_bus_ns * 1e9;
}

void seek_learn_tracks(struct seek_run *s, const struct seek_rate *v, size_t n)
{
	double ratio[TRACKS_MOST];
	size_t longer = 0;

	n = n < TRACKS_MOST ? n : TRACKS_MOST;
	for (size_t i = 0; i < n; i++) {
		ratio[i] = v[i].rate_bytes_per_s * s->rot.period_ns * 1e-9 / seek_track_bytes(s, v[i].place);
		longer += ratio[i] > SKEW_MOST;
	}
	if (n)
		s->track_ratio = stats_median(ratio, n);
	if (n >= TRACKS_LEAST && (2 * longer > n || s->place_off >= UNKNOWN_OFF)) {
		struct table *t = result_table(s->res, MEDIA_RATES, "The media's rates, by the length of tracks",
		                               seek_rate_fields);

		for (size_t i = 0; i < n; i++)
			result_row(t, &(struct rate_row){ v[i].place, v[i].rate_bytes_per_s });
		(void)seek_learn_places(s, s->res);
	}
}

/* Where some of it is not stored: one of the places about it that is; NaN: none. */
static int stored_place(struct seek_run *s, double *place, double reach, struct err *err)
{
	double wanted = *place;

	for (int i = 0; s->rot.is_patchy && i < PLACE_TRIES; i++) {
		uint64_t offset;
		double access = NAN;
		int r;

		*place = fmin(fmax(wanted + reach * (2.0 * rng_double(&s->t.rng) - 1.0), 0.0), 1.0);
		offset = timed_align(&s->t, *place * (double)s->size_bytes);
		r = timed_reads(&s->t, &offset, 1, &access, NULL, err);
		if (r < 0 || (isfinite(access) && !seek_is_hit(s, access)))
			return r;
	}
	if (s->rot.is_patchy)
		*place = NAN;
	return 0;
}

int seek_rates(struct seek_run *s, struct err *err)
{
	struct table *t = result_table(s->res, "rates", "Sequential rates", seek_rate_fields);
	double guess = NAN;
	size_t places = s->p->quick || s->narms ? 5 : RATE_PLACES;
	int r = 0;

	for (size_t i = 0; r == 0 && i < places && !seek_is_over(s); i++) {
		struct rate_row row = { (double)i / (double)(places - 1), NAN };

		r = stored_place(s, &row.place_ratio, 0.4 / (double)(places - 1), err);
		if (r < 0 || !isfinite(row.place_ratio))
			continue;
		r = rate_at(s, row.place_ratio, guess, &row.rate_bytes_per_s, err);
		if (r == 0 && isfinite(row.rate_bytes_per_s)) {
			guess = row.rate_bytes_per_s;
			result_row(t, &row);
		}
	}
	s->has_rates = true;
	(void)learn_from(s, t, false);
	return r;
}

double seek_stroke_of(const struct seek_run *s, double x)
{
	return s->ratio > 0.999 ? x : (1.0 - sqrt(1.0 - x * (1.0 - s->ratio * s->ratio))) / (1.0 - s->ratio);
}

double seek_place_of(const struct seek_run *s, double stroke)
{
	double y = 1.0 - stroke * (1.0 - s->ratio);

	return s->ratio > 0.999 ? stroke : (1.0 - y * y) / (1.0 - s->ratio * s->ratio);
}

double seek_track_bytes(const struct seek_run *s, double x)
{
	return s->rate_start * sqrt(1.0 - x * (1.0 - s->ratio * s->ratio)) * s->rot.period_ns * 1e-9;
}

/* Bytes of a track without its skew. */
double seek_track_at(const struct seek_run *s, double place)
{
	return seek_track_bytes(s, place) * s->track_ratio;
}

bool seek_is_hit(const struct seek_run *s, double access_ns)
{
	if (s->rot.is_patchy) /* many are, so that the late ones among them count */
		return access_ns < fmax(s->rot.hit_most_ns, LATE_HIT * s->rot.hit_ns);
	return isfinite(s->rot.hit_ns) && fabs(access_ns - s->rot.hit_ns) < s->rot.hit_width_ns;
}
