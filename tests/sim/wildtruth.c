/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is true of a disk, for each figure that a command gives: a member of the truth where that says it, otherwise
 * asked of the model for the very bytes that the document names, and where only the disk at work knows (percentiles,
 * queues), found by putting many requests to a fresh one. Where noise makes two readings of a figure right (a mean with
 * the noise in it, or without) the truth is the range between.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "truth_noise.h"
#include "wildboard.h"

#define READS_OF_TRUTH 80000 /* 0.12 % of the mean, where a full run's half width is 0.4 % */
#define QUEUED_READS   12000 /* of what turns; of what does not ten times as many, as they differ by more */
#define NEAR_INTERFACE \
	0.7 /* the media's rate as a part of the interface's, from which on one request waits for the other */
#define STREAMED_BLOCK   (1u << 20) /* of zones, where not less, and how many at once */
#define STREAMED_SMALL   (64u << 10)
#define STREAMED_LOW     0.995 /* scatter of so few bytes */
#define RATES_KNOWN      4096
#define MEAN_PLACES      32
#define MEAN_PLACES_FLAT 128 /* a part that is not stored may begin anywhere */

/* A truth that is one expression. */
#define TRUTH(name, expression)                                \
	static struct interval name(const struct wild_case *c) \
	{                                                      \
		return expression;                             \
	}

static const struct interval none = { NAN, NAN };

static struct interval just(double x)
{
	return (struct interval){ x, x };
}

/* What a limit in front of the disk leaves in the long run, and others beside it; infinity: there is none. */
static double lasting(const struct profile *p)
{
	double bytes = p->path.limit_bytes_per_s > 0 ? p->path.limit_bytes_per_s : (double)INFINITY;
	double ops = p->path.limit_ops > 0 ? p->path.limit_ops * STREAMED_SMALL : (double)INFINITY;

	return fmin(bytes, ops) * (1 - p->path.other_share);
}

/* ---- what random reads take ---- */

/* The times of one disk are asked for several figures in a row. */
static const double *random_times(const struct wild_case *c, size_t *ret_n)
{
	static double times[READS_OF_TRUTH];
	static const struct geometry *of;
	static size_t n;

	if (of != c->g)
		(void)wild_random_s(c, 1, READS_OF_TRUTH, times, &n);
	of = c->g;
	*ret_n = n;
	return times;
}

static struct interval random_mean(const struct wild_case *c)
{
	double sum = 0, sq = 0, mean, se;
	size_t n;
	const double *t = random_times(c, &n);

	if (n < READS_OF_TRUTH / 2)
		return none;
	for (size_t i = 0; i < n; i++)
		sum += t[i];
	mean = sum / (double)n;
	for (size_t i = 0; i < n; i++)
		sq += (t[i] - mean) * (t[i] - mean);
	se = sqrt(sq) / (double)n;
	return (struct interval){ mean - se, mean + se };
}

static struct interval random_quantile(const struct wild_case *c, double q)
{
	size_t n;
	const double *t = random_times(c, &n);
	double at = q * (double)n, se = sqrt(q * (1 - q) * (double)n);

	if (n < READS_OF_TRUTH / 2)
		return none;
	return (struct interval){ t[(size_t)fmax(0, at - se)], t[(size_t)fmin((double)n - 1, at + se)] };
}

TRUTH(random_p50, random_quantile(c, 0.5))
TRUTH(random_p95, random_quantile(c, 0.95))
TRUTH(random_p99, random_quantile(c, 0.99))

static struct interval queue_gain(const struct wild_case *c)
{
	struct wild_row last = wild_last(c->doc, "queue");
	double depth = wild_at(&last, "depth"), one, deep;
	size_t n, reads = c->p->kind == DISK_ROTATING ? QUEUED_READS : 10 * QUEUED_READS;

	if (!(depth >= 2 && depth <= WILD_QUEUE_MAX) || isfinite(lasting(c->p)))
		return none;
	one = wild_random_s(c, 1, reads, NULL, &n);
	deep = wild_random_s(c, (uint32_t)depth, reads, NULL, &n);
	return (struct interval){ one / deep * 0.995, one / deep * 1.005 };
}

/* ---- seeks ---- */

/* The stroke that holds data: the last band may be filled in part. */
static struct interval stroke(const struct wild_case *c)
{
	const struct geo_zone *z;
	struct place last;
	uint32_t end;

	geometry_place(c->g, geometry_sectors(c->g) - 1, &last);
	z = &c->g->zones[last.zone];
	end = last.cylinder - (last.cylinder - z->first_cylinder) % z->band + z->band - 1;
	end = end < c->g->cylinders ? end : c->g->cylinders - 1;
	return last.cylinder < end ? (struct interval){ last.cylinder, end } : (struct interval){ end, last.cylinder };
}

static struct interval seek_part(const struct wild_case *c, double part)
{
	struct interval s = stroke(c);

	return (struct interval){ truth_seek_ns(c->g, s.low * part), truth_seek_ns(c->g, s.high * part) };
}

TRUTH(seek_track, just(truth_seek_track_ns(c->g)))
TRUTH(seek_third, seek_part(c, 1.0 / 3))
TRUTH(seek_full, seek_part(c, 1))

static struct interval seek_average(const struct wild_case *c)
{
	struct interval s = stroke(c);

	return (struct interval){ truth_seek_average_of_ns(c->g, (uint32_t)s.low + 1),
		                  truth_seek_average_of_ns(c->g, (uint32_t)s.high + 1) };
}

/* With the mean of what the host adds, or without. */
static struct interval overhead(const struct wild_case *c)
{
	return (struct interval){ wild_number(c->truth, "overhead_ns"),
		                  wild_number(c->truth, "overhead_ns") + c->p->noise.jitter_us * 1e3 * sqrt(2 / M_PI) };
}

static struct interval with_overhead(const struct wild_case *c, struct interval seek)
{
	return (struct interval){ seek.low + overhead(c).low, seek.high + overhead(c).high };
}

TRUTH(arrival_track, with_overhead(c, seek_track(c)))
TRUTH(arrival_average, with_overhead(c, seek_average(c)))
TRUTH(arrival_third, with_overhead(c, seek_third(c)))
TRUTH(arrival_full, with_overhead(c, seek_full(c)))

/* ---- rates ---- */

/* Of any track, without skews. */
static double fastest(const struct profile *p)
{
	double most = 0;

	for (size_t i = 0; i < p->nzones; i++)
		for (uint32_t s = 0; s < p->surfaces; s++)
			most = fmax(most, p->zones[i].spt[s]);
	return most * p->physical_sector_bytes * p->spindle.rpm / 60;
}

static struct interval rate_of(const struct wild_case *c, const struct wild_row *row)
{
	double first = wild_at(row, "first_byte"), last = wild_at(row, "last_byte");

	if (!(first >= 0 && last >= first && last < (double)geometry_bytes(c->g)))
		return none;
	return wild_rate(c, (uint64_t)first, (uint64_t)last + 1);
}

/* Of the requests at the run's end. */
static double request_bytes(const struct wild_case *c)
{
	struct wild_row last = wild_last(c->doc, "layouts");
	double bytes = wild_at(&last, "request_bytes");

	return bytes > 0 ? bytes : (double)STREAMED_SMALL;
}

/* With the device's freezes in it, which come by requests. */
static double with_freezes(const struct wild_case *c, double rate)
{
	return 1 / (1 / rate + truth_frozen_ns(c->p) / 1e9 / request_bytes(c));
}

/*
 * One request at a time, and reading ahead as the drive likes, may not keep up with the media; and a few requests in
 * flight do not keep both disks of stripes busy all the time.
 */
static bool is_media_bound(const struct profile *p)
{
	return p->kind == DISK_ROTATING && p->arms.kind != ARMS_INTERLEAVED && p->ctl.queue_depth > 1 &&
	       p->cache.read_ahead && fastest(p) < NEAR_INTERFACE * p->path.interface_bytes_per_s;
}

static struct interval work_out_rate(const struct wild_case *c, uint64_t first, uint64_t end)
{
	double limit = lasting(c->p), rate = truth_rate(c->g, first, end), large, small, low;
	bool is_striped = c->p->arms.kind == ARMS_INTERLEAVED;

	if (is_media_bound(c->p))
		return (struct interval){ fmin(limit, with_freezes(c, rate)), rate };
	large = wild_streamed(c, first, end, is_striped ? (uint64_t)request_bytes(c) : STREAMED_BLOCK);
	small = is_striped ? large : wild_streamed(c, first, end, STREAMED_SMALL);
	if (c->p->kind != DISK_ROTATING) /* which has no media's rate */
		rate = large;
	low = fmin(rate, fmin(large, small));
	return (struct interval){ STREAMED_LOW * fmin(limit, low), fmax(rate, fmax(large, small)) / STREAMED_LOW };
}

/*
 * What may rightly be said of the rate of these bytes, of the media or in large blocks or small ones. Behind a limit
 * with a credit either is right: what the disk gives, or what lasts; and with the device's freezes or without. Several
 * figures ask for the same bytes.
 */
struct interval wild_rate(const struct wild_case *c, uint64_t first, uint64_t end)
{
	static struct {
		const struct geometry *of;
		uint64_t first, end;
		struct interval rate;
	} known[RATES_KNOWN];
	size_t at = (size_t)(rng_mix(first ^ rng_mix(end)) % RATES_KNOWN);

	if (known[at].of != c->g || known[at].first != first || known[at].end != end) {
		known[at].rate = work_out_rate(c, first, end);
		known[at].of = c->g;
		known[at].first = first;
		known[at].end = end;
	}
	return known[at].rate;
}

/* Of the very bytes that the figure speaks of. */
static struct interval spot(const struct wild_case *c, const char *figure)
{
	for (struct wild_row row = wild_begin(c->doc, "spots"); wild_next(&row);) {
		const char *of = wild_word(&row, "figure");

		if (of && strcmp(of, figure) == 0)
			return rate_of(c, &row);
	}
	return none;
}

TRUTH(spot_start, spot(c, "start"))
TRUTH(spot_middle, spot(c, "middle"))
TRUTH(spot_end, spot(c, "end"))

static struct interval end_to_start(const struct wild_case *c)
{
	struct interval start = spot_start(c), end = spot_end(c);

	return (struct interval){ end.low / start.high, end.high / start.low };
}

/* Time per byte of all that slow regions add to it (s); they are narrower than places lie apart. */
static double added_by_regions(const struct wild_case *c)
{
	const json_t *regions = json_object_get(c->truth, "regions"), *r;
	double sum = 0;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)regions, i, r)
	{
		double first = wild_number(r, "first_byte"), rate = wild_number(r, "rate_bytes_per_s");

		if (isfinite(rate))
			sum += (wild_number(r, "end_byte") - first) *
			       (1 / rate - 1 / truth_rate_at(c->g, (uint64_t)first));
	}
	return sum / (double)geometry_bytes(c->g);
}

/* Where only the disk at work knows: places all over it, each in the middle of its part, as if nothing were slow there;
 * on what is flat they begin with a request. */
static struct interval work_out_mean(const struct wild_case *c)
{
	double mean = wild_number(c->truth, "mean_bytes_per_s"), added = added_by_regions(c);
	bool is_flat = c->p->kind != DISK_ROTATING;
	uint64_t size = geometry_bytes(c->g), align = is_flat ? STREAMED_BLOCK : c->p->physical_sector_bytes;
	uint32_t places = is_flat ? MEAN_PLACES_FLAT : MEAN_PLACES;
	struct interval sum = { added, added };
	struct profile plain = *c->p; /* its lists are still those of c */
	struct wild_case without = *c;
	struct geometry *g;

	if (is_media_bound(c->p))
		return (struct interval){ fmin(lasting(c->p), with_freezes(c, mean)), mean };
	plain.media.nslows = 0;
	without.p = &plain;
	without.g = g = geometry_new(&plain);
	if (!g)
		return none;
	for (uint32_t i = 0; i < places; i++) {
		uint64_t part = size / places, bytes = part < WILD_STREAMED_MOST ? part : WILD_STREAMED_MOST;
		uint64_t first = (part * i + (part - bytes) / 2) / align * align;
		struct interval rate = wild_rate(&without, first, first + bytes);

		sum.low += 1 / rate.low / places;
		sum.high += 1 / rate.high / places;
	}
	geometry_free(g);
	if (is_flat || !isfinite(mean))
		return (struct interval){ 1 / sum.low, 1 / sum.high };
	return (struct interval){ fmin(mean, 1 / sum.low), fmax(mean, 1 / sum.high) };
}

static struct interval mean_rate(const struct wild_case *c)
{
	static const struct json_t *of; /* whose truth lives as long as the case */
	static struct interval known;

	if (of != c->truth)
		known = work_out_mean(c);
	of = c->truth;
	return known;
}

/* The media's, of all that was scanned; where something else limits it there is no truth. */
static struct interval scan_rate(const struct wild_case *c)
{
	const json_t *figures = json_object_get(c->doc, "figures");
	double first = wild_number(figures, "first_bytes"), end = wild_number(figures, "scanned_to_bytes");

	if (!is_media_bound(c->p) || c->p->media.ntrims || c->p->media.nbads || !(end > first))
		return none;
	return just(truth_rate(c->g, (uint64_t)first, (uint64_t)end));
}

static struct interval read_all(const struct wild_case *c)
{
	struct interval mean = mean_rate(c);
	double size = (double)geometry_bytes(c->g);

	return (struct interval){ size / mean.high, size / mean.low };
}

static struct interval lowest(const struct wild_case *c)
{
	struct interval least = none;

	for (struct wild_row row = wild_begin(c->doc, "curve"); wild_next(&row);) {
		struct interval rate = rate_of(c, &row);

		if (isfinite(rate.low) && !(rate.high >= least.high))
			least = rate;
	}
	return least;
}

static struct interval drift(const struct wild_case *c)
{
	return just(c->p->faults.nstalls || c->p->spindle.drift != 0.0 || isfinite(lasting(c->p)) ? (double)NAN : 0);
}

/* ---- geometry ---- */

TRUTH(period, just(truth_period_ns(c->g)))

static bool has_spares(const struct profile *p)
{
	for (size_t i = 0; i < p->nzones; i++)
		if (p->zones[i].spare_tracks > 0)
			return true;
	return p->media.spare_tracks > 0;
}

/* Those of which at least half holds data: a spare one may hold a few sectors that were reassigned, and the next sector
 * is back on the track before. NaN: out of memory. */
static double tracks_with_data(const struct geometry *g)
{
	uint64_t n = 0, all = geometry_tracks(g->arm[0] ? g->arm[0] : g) + (g->arm[1] ? geometry_tracks(g->arm[1]) : 0);
	cleanup_free uint32_t *held = calloc(all, sizeof(*held));
	struct place at;

	for (uint64_t sector = 0, on; held && sector < geometry_sectors(g); sector += on) {
		geometry_place(g, sector, &at);
		on = at.run ? at.run : 1;
		held[at.track] += (uint32_t)on;
		n += held[at.track] >= at.spt / 2 && held[at.track] - on < at.spt / 2;
	}
	return held ? (double)n : (double)NAN;
}

/* Those that carry data, with or without those that were skipped as a whole; groups of tracks may end in spare ones. */
static struct interval tracks(const struct wild_case *c)
{
	struct place last;
	size_t skipped = 0;

	geometry_place(c->g, geometry_sectors(c->g) - 1, &last);
	if (has_spares(c->p)) /* to count them takes a minute, for nothing where none are reported */
		return (struct interval){ isnan(wild_number(json_object_get(c->doc, "figures"), "tracks"))
			                          ? 0.0
			                          : tracks_with_data(c->g),
			                  (double)last.track + 1 };
	for (size_t i = 0; i < c->p->media.nskips; i++)
		skipped += c->p->media.skips[i].first == 0 && c->p->media.skips[i].count == UINT32_MAX;
	return (struct interval){ (double)(last.track + 1 - skipped), (double)last.track + 1 };
}

/* Surfaces may differ: what was reported is held against the nearest that the zone has. */
static struct interval size_at(const struct wild_case *c, const char *figure, double part)
{
	double reported = wild_number(json_object_get(c->doc, "figures"), figure), nearest = (double)NAN;
	uint64_t sector = (uint64_t)((double)(geometry_sectors(c->g) - 1) * part);
	bool is_second = c->p->arms.kind == ARMS_JOINED && sector >= geometry_sectors(c->g->arm[0]);
	const struct profile *p = is_second ? geometry_profile(c->g->arm[1]) : c->p;
	uint64_t stripe = p->arms.kind == ARMS_INTERLEAVED ? p->arms.stripe_bytes / p->physical_sector_bytes : 0;
	struct place at, beside; /* a stripe of the other arm, whose zones begin elsewhere */

	geometry_place(c->g, sector, &at);
	geometry_place(c->g, sector >= stripe ? sector - stripe : sector + stripe, &beside);
	for (uint32_t k = 0; k < 2 * p->surfaces; k++) {
		double size = p->zones[k % 2 ? beside.zone : at.zone].spt[k / 2];

		if (size > 0 && !(fabs(size - reported) >= fabs(nearest - reported)))
			nearest = size;
	}
	return just(nearest);
}

TRUTH(size_start, size_at(c, "start_sectors_per_track", 0))
TRUTH(size_middle, size_at(c, "middle_sectors_per_track", 0.5))
TRUTH(size_end, size_at(c, "end_sectors_per_track", 1))
TRUTH(cyl_skew, just(c->p->zones[0].cyl_skew))
TRUTH(head_skew, just(c->p->surfaces > 1 ? c->p->zones[0].head_skew : (double)NAN))

static struct interval of_media_cache(const struct wild_case *c, const char *member)
{
	return just(wild_number(json_object_get(c->truth, "media_cache"), member));
}

static struct interval cache_entries(const struct wild_case *c)
{
	double entries = of_media_cache(c, "entries").low, room = of_media_cache(c, "bytes").low / 4096;

	return just(fmin(entries, room)); /* whichever is full first */
}

TRUTH(band, of_media_cache(c, "shingle_band_bytes"))

/* ---- buffer ---- */

/* What a bridge cuts costs more for each piece. */
static struct interval buffer_interface(const struct wild_case *c)
{
	return c->p->path.bridge_bytes || c->p->kind != DISK_ROTATING ? none : just(c->p->path.interface_bytes_per_s);
}

static bool has_ahead(const struct wild_case *c)
{
	return c->p->cache.read_ahead && c->p->cache.bytes && c->p->kind == DISK_ROTATING;
}

static bool has_fixed_segments(const struct wild_case *c)
{
	return c->p->cache.sizing == CACHE_FIXED && c->p->cache.bytes && c->p->kind == DISK_ROTATING;
}

static struct interval buffer_segments(const struct wild_case *c)
{
	return c->p->kind == DISK_ROTATING ? just(c->p->cache.bytes ? c->p->cache.segments : 0) : none;
}

/* In whole sectors. */
static double segment_bytes(const struct profile *p)
{
	uint64_t sector = p->physical_sector_bytes;

	return (double)(p->cache.bytes / (p->cache.sizing == CACHE_FIXED ? p->cache.segments : 2) / sector * sector);
}

TRUTH(buffer_segment, has_fixed_segments(c) ? just(segment_bytes(c->p)) : none)

static struct interval buffer_size(const struct wild_case *c)
{
	return c->p->kind != DISK_ROTATING ? none
	       : has_fixed_segments(c)     ? just(segment_bytes(c->p) * c->p->cache.segments)
	                                   : just((double)c->p->cache.bytes);
}

static struct interval write_cache(const struct wild_case *c)
{
	const struct profile_wcache *w = &c->p->wcache;

	return c->p->kind == DISK_ROTATING && w->is_on && w->bytes ? just((double)w->bytes) : none;
}

/* From the first byte behind the request on, where no track's end comes before. */
static struct interval buffer_ahead(const struct wild_case *c)
{
	double to = segment_bytes(c->p) - fmax(4096, c->p->physical_sector_bytes);

	if (!has_ahead(c) || c->p->cache.ahead_reach == AHEAD_TRACK)
		return none;
	return just(c->p->cache.ahead_bytes ? fmin(to, (double)c->p->cache.ahead_bytes) : to);
}

const struct wild_figure wild_figures[] = {
	{ "zones", "start_bytes_per_s", NULL, spot_start, WILD_RATIO, false },
	{ "zones", "middle_bytes_per_s", NULL, spot_middle, WILD_RATIO, false },
	{ "zones", "end_bytes_per_s", NULL, spot_end, WILD_RATIO, false },
	{ "zones", "end_to_start_ratio", NULL, end_to_start, WILD_RATIO, false },
	{ "zones", "mean_bytes_per_s", NULL, mean_rate, WILD_RATIO, false },
	{ "zones", "read_all_s", NULL, read_all, WILD_RATIO, false },
	{ "zones", "lowest_bytes_per_s", NULL, lowest, WILD_RATIO, false },
	{ "zones", "drift_ratio", NULL, drift, WILD_PLAIN, false },
	{ "seek", "rotation_rpm", "rpm", NULL, WILD_RATIO, true },
	{ "seek", "random_access_mean_ns", NULL, random_mean, WILD_RATIO, false },
	{ "seek", "random_access_p50_ns", NULL, random_p50, WILD_RATIO, false },
	{ "seek", "random_access_p95_ns", NULL, random_p95, WILD_RATIO, false },
	{ "seek", "random_access_p99_ns", NULL, random_p99, WILD_RATIO, false },
	{ "seek", "overhead_ns", NULL, overhead, WILD_RATIO, false },
	{ "seek", "track_to_track_ns", NULL, seek_track, WILD_RATIO, true },
	{ "seek", "average_seek_ns", NULL, seek_average, WILD_RATIO, true },
	{ "seek", "third_stroke_ns", NULL, seek_third, WILD_RATIO, true },
	{ "seek", "full_stroke_ns", NULL, seek_full, WILD_RATIO, true },
	{ "seek", "track_to_track_with_overhead_ns", NULL, arrival_track, WILD_RATIO, true },
	{ "seek", "average_seek_with_overhead_ns", NULL, arrival_average, WILD_RATIO, true },
	{ "seek", "third_stroke_with_overhead_ns", NULL, arrival_third, WILD_RATIO, true },
	{ "seek", "full_stroke_with_overhead_ns", NULL, arrival_full, WILD_RATIO, true },
	{ "seek", "queue_gain_ratio", NULL, queue_gain, WILD_RATIO, false },
	{ "geometry", "rotation_rpm", "rpm", NULL, WILD_RATIO, true },
	{ "geometry", "rotation_period_ns", NULL, period, WILD_RATIO, true },
	{ "geometry", "start_sectors_per_track", NULL, size_start, WILD_RATIO, true },
	{ "geometry", "middle_sectors_per_track", NULL, size_middle, WILD_RATIO, true },
	{ "geometry", "end_sectors_per_track", NULL, size_end, WILD_RATIO, true },
	{ "geometry", "surfaces", NULL, wild_disk_surfaces, WILD_RATIO, true },
	{ "geometry", "arm_surfaces", NULL, wild_arm_surfaces, WILD_RATIO, true },
	{ "geometry", "tracks", NULL, tracks, WILD_RATIO, true },
	{ "geometry", "cylinder_skew_ratio", NULL, cyl_skew, WILD_TURN, true },
	{ "geometry", "head_skew_ratio", NULL, head_skew, WILD_TURN, true },
	{ "buffer", "interface_bytes_per_s", NULL, buffer_interface, WILD_RATIO, false },
	{ "buffer", "segments", NULL, buffer_segments, WILD_RATIO, true },
	{ "buffer", "segment_bytes", NULL, buffer_segment, WILD_RATIO, true },
	{ "buffer", "buffer_bytes", NULL, buffer_size, WILD_RATIO, true },
	{ "buffer", "read_ahead_bytes", NULL, buffer_ahead, WILD_RATIO, true },
	{ "buffer", "write_cache_bytes", NULL, write_cache, WILD_RATIO, true },
	{ "surface", "rotation_period_ns", NULL, period, WILD_RATIO, true },
	{ "surface", "rate_bytes_per_s", NULL, scan_rate, WILD_RATIO, false },
	{ "smr", "cache_entries", NULL, cache_entries, WILD_RATIO, false },
	{ "smr", "band_bytes", NULL, band, WILD_RATIO, true },
	{ NULL, NULL, NULL, NULL, WILD_RATIO, false },
};
