/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lies where. Distances are parts of the stroke, in cylinders. Under constant linear density the place of a byte
 * on the stroke follows from the sequential rates at the start and the end: tracks become shorter inwards as the rate
 * falls, so stroke(x) = (1 - sqrt(1 - x (1 - r^2))) / (1 - r), r the ratio of the rates.
 */
#include <math.h>

#include "measure/seek/analysis.h"

#define SKEW_MOST    1.3 /* times what passes in a revolution may a track be: real skews are up to a quarter */
#define FLAT         0.8 /* no drive with zones has a ratio of its rates above that (real drives: 0.4 to 0.75) */
#define USUAL_RATIO  0.6
#define UNKNOWN_OFF  0.04 /* 1.5 % of an average, with BRIDGE: where the ratio is 0.35 or 1, not 0.6 */
#define TRACKS_LEAST 3    /* that show two parameters, and the rest what places are off */
#define PLACES_MOST  16

const struct field seek_rate_fields[] = {
	FIELD_F64(struct seek_rate, place_ratio, UNIT_RATIO, "of the device", .detail = true),
	FIELD_F64(struct seek_rate, rate_bytes_per_s, UNIT_BYTES_PER_S, "sequential rate", .detail = true),
	FIELD_END,
};

#define MEDIA_RATES "media_rates"

/* Rates that do not fall are those of an interface, or of requests each a revolution late, unless tracks say so. */
static bool learn_from(struct seek_places *p, const struct table *t, bool is_media)
{
	double x[PLACES_MOST], rate[PLACES_MOST];
	struct density_fit fit;
	size_t n = 0;

	for (; n < t->nrows && n < PLACES_MOST; n++) {
		struct seek_rate row;

		table_row(t, n, seek_rate_fields, &row);
		x[n] = row.place_ratio;
		rate[n] = row.rate_bytes_per_s;
	}
	if (n < 3 || !fit_density(x, rate, n, &fit))
		return false;
	p->rate_start = fit.r0;
	p->ratio = fmin(fmax(fit.r, 0.1), 1.0);
	p->off = fit.rms_ratio / sqrt((double)n);
	if (is_media)
		p->off *= sqrt((double)n); /* a few places, on surfaces that may differ */
	if (!is_media && p->ratio > FLAT) {
		p->ratio = USUAL_RATIO;
		p->off = fmax(p->off, UNKNOWN_OFF);
	}
	return true;
}

/* Where the interface is slower than the media, its rate says nothing of places, and the length of tracks does. */
struct seek_places seek_places_of(const struct seek_places *before, const struct result *res)
{
	const struct table *media = result_find_table(res, MEDIA_RATES), *t = result_find_table(res, "rates");
	struct seek_places p = *before;

	p.rate_start = p.ratio = NAN;
	p.track_ratio = 1.0;
	if ((!media || !learn_from(&p, media, true)) && t)
		(void)learn_from(&p, t, false);
	return p;
}

struct seek_places seek_places_blind(const struct seek_places *before)
{
	struct seek_places p = *before;

	p.rate_start = INFINITY;
	p.ratio = USUAL_RATIO;
	return p;
}

struct seek_places seek_places_by_tracks(const struct seek_places *before, struct result *res,
                                         const struct seek_rate *v, size_t n)
{
	struct seek_places p = *before;
	double ratio[PLACES_MOST];
	size_t longer = 0;

	n = n < PLACES_MOST ? n : PLACES_MOST;
	for (size_t i = 0; i < n; i++) {
		ratio[i] = v[i].rate_bytes_per_s * p.period_ns * 1e-9 / seek_track_bytes(&p, v[i].place_ratio);
		longer += ratio[i] > SKEW_MOST;
	}
	if (n)
		p.track_ratio = stats_median(ratio, n);
	if (n >= TRACKS_LEAST && (2 * longer > n || p.off >= UNKNOWN_OFF)) {
		struct table *t =
			result_table(res, MEDIA_RATES, "The media's rates, by the length of tracks", seek_rate_fields);

		for (size_t i = 0; i < n; i++)
			result_row(t, &v[i]);
		p = seek_places_of(&p, res);
	}
	return p;
}

double seek_stroke_of(const struct seek_places *p, double x)
{
	return p->ratio > 0.999 ? x : (1.0 - sqrt(1.0 - x * (1.0 - p->ratio * p->ratio))) / (1.0 - p->ratio);
}

double seek_place_of(const struct seek_places *p, double stroke)
{
	double y = 1.0 - stroke * (1.0 - p->ratio);

	return p->ratio > 0.999 ? stroke : (1.0 - y * y) / (1.0 - p->ratio * p->ratio);
}

double seek_track_bytes(const struct seek_places *p, double x)
{
	return p->rate_start * sqrt(1.0 - x * (1.0 - p->ratio * p->ratio)) * p->period_ns * 1e-9;
}

/* Bytes of a track without its skew. */
double seek_track_at(const struct seek_places *p, double place)
{
	return seek_track_bytes(p, place) * p->track_ratio;
}

double seek_stroke_between(const struct seek_places *p, double byte, double other)
{
	const double size = (double)p->size_bytes;

	return fabs(seek_stroke_of(p, fmin(byte / size, 1.0)) - seek_stroke_of(p, fmin(other / size, 1.0)));
}
