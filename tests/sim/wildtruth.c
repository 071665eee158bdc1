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

#define READS_OF_TRUTH 20000
#define QUEUED_READS   6000 /* of what turns; of what does not ten times as many, as they differ by more */
#define QUEUE_MAX      256
#define NEAR_INTERFACE \
	0.7 /* the media's rate as a part of the interface's, from which on one request waits for the other */
#define STREAMED_MOST    (32u << 20)
#define STREAMED_FLAT    (256u << 20) /* of what does not rotate, whose requests scatter */
#define STREAMED_LEAD    (8u << 20)
#define STREAMED_BLOCK   (1u << 20) /* of zones, where not less, and how many at once */
#define STREAMED_SMALL   (64u << 10)
#define STREAMED_DEPTH   4
#define STREAMED_LOW     0.995 /* scatter of so few bytes */
#define MEAN_PLACES      32
#define MEAN_PLACES_FLAT 128 /* a part that is not stored may begin anywhere */

static const struct interval none = { NAN, NAN };

static struct interval just(double x)
{
	return (struct interval){ x, x };
}

/* ---- cells ---- */

double wild_number(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

const json_t *wild_rows(const json_t *doc, const char *table)
{
	return json_object_get(json_object_get(json_object_get(doc, "tables"), table), "rows");
}

static const json_t *cell(const json_t *doc, const char *table, const json_t *row, const char *key)
{
	const json_t *columns = json_object_get(json_object_get(json_object_get(doc, "tables"), table), "columns"),
		     *column;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)columns, i, column)
	{
		const char *name = json_string_value(json_object_get(column, "key"));

		if (name && strcmp(name, key) == 0)
			return json_array_get(row, i);
	}
	return NULL;
}

double wild_cell(const json_t *doc, const char *table, const json_t *row, const char *key)
{
	const json_t *v = cell(doc, table, row, key);

	return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

const char *wild_text(const json_t *doc, const char *table, const json_t *row, const char *key)
{
	return json_string_value(cell(doc, table, row, key));
}

bool wild_has_notice(const json_t *doc, const char *code)
{
	const json_t *notices = json_object_get(doc, "notices"), *n;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)notices, i, n)
	{
		const char *c = json_string_value(json_object_get(n, "code"));

		if (c && strcmp(c, code) == 0)
			return true;
	}
	return false;
}

/* What a limit in front of the disk leaves in the long run, and others beside it; infinity: there is none. */
static double lasting(const struct profile *p)
{
	double bytes = p->path.limit_bytes_per_s > 0 ? p->path.limit_bytes_per_s : (double)INFINITY;
	double ops = p->path.limit_ops > 0 ? p->path.limit_ops * STREAMED_SMALL : (double)INFINITY;

	return fmin(bytes, ops) * (1 - p->path.other_share);
}

/* ---- a disk at work: what random reads take ---- */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Without what ends a disk, and what fails by number: the time of the good ones is wanted. */
static struct disk *fresh_disk(const struct profile *p, uint64_t seed, bool is_limited)
{
	struct profile q;
	struct disk *d;

	if (profile_copy(&q, p) < 0)
		return NULL;
	q.faults.nfails = 0;
	q.faults.gone_at_s = (double)INFINITY;
	q.faults.gone_at_request = 0;
	if (!is_limited)
		q.path.limit_bytes_per_s = q.path.limit_ops = 0;
	q.seed = rng_mix(p->seed + seed);
	d = disk_new(&q, 0);
	profile_done(&q);
	return d;
}

static struct disk_req random_read(struct rng *r, const struct profile *p, uint64_t size, uint32_t tag, uint32_t *tags)
{
	uint32_t len = p->physical_sector_bytes > 4096 ? p->physical_sector_bytes : 4096;

	return (struct disk_req){
		.op = DISK_READ, .len_bytes = len, .offset_bytes = rng_below(r, size / len) * len, .owner = &tags[tag]
	};
}

/*
 * n random reads over the whole disk at a depth; ret (may be NULL): the times of those that the media answered, sorted;
 * *ret_n: of how many. Returns the seconds that they took all in all.
 */
static double work(const struct wild_case *c, uint32_t depth, size_t n, double *ret, size_t *ret_n)
{
	struct disk *d = fresh_disk(c->p, 1, true);
	uint64_t now = 1, size = geometry_bytes(c->g);
	uint32_t tags[QUEUE_MAX] = { 0 };
	struct disk_done done;
	size_t got = 0, all = 0;
	struct rng r;

	*ret_n = 0;
	if (!d)
		return (double)NAN;
	rng_init(&r, c->p->seed, 0x7272);
	for (uint32_t i = 0; i < depth; i++) {
		struct disk_req req = random_read(&r, c->p, size, i, tags);

		(void)disk_submit(d, now, &req);
	}
	while (all < n) {
		uint64_t event = disk_next_event_ns(d), next = disk_next_done_ns(d);

		if (event == DISK_NEVER && next == DISK_NEVER)
			break;
		now = event < next ? event : next;
		disk_advance(d, now);
		while (disk_pop_done(d, now, &done)) {
			struct disk_req req = random_read(&r, c->p, size, 0, tags);

			all++;
			if (done.res >= 0 && (done.how == HOW_MEDIA || c->p->kind != DISK_ROTATING) && ret)
				ret[got++] = (double)(done.done_ns - done.arrival_ns);
			(void)disk_submit(d, now, &req);
		}
	}
	disk_free(d);
	if (ret)
		qsort(ret, got, sizeof(*ret), by_size);
	*ret_n = got;
	return (double)now * 1e-9;
}

/* The times of one disk are asked for several figures in a row. */
static const double *random_times(const struct wild_case *c, size_t *ret_n)
{
	static double times[READS_OF_TRUTH];
	static const struct geometry *of;
	static size_t n;

	if (of != c->g)
		(void)work(c, 1, READS_OF_TRUTH, times, &n);
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

static struct interval random_p50(const struct wild_case *c)
{
	return random_quantile(c, 0.5);
}

static struct interval random_p95(const struct wild_case *c)
{
	return random_quantile(c, 0.95);
}

static struct interval random_p99(const struct wild_case *c)
{
	return random_quantile(c, 0.99);
}

static struct interval queue_gain(const struct wild_case *c)
{
	const json_t *rows = wild_rows(c->doc, "queue"), *last = json_array_get(rows, json_array_size(rows) - 1);
	double depth = wild_cell(c->doc, "queue", last, "depth"), one, deep;
	size_t n, reads = c->p->kind == DISK_ROTATING ? QUEUED_READS : 10 * QUEUED_READS;

	if (!(depth >= 2 && depth <= QUEUE_MAX) || isfinite(lasting(c->p)))
		return none;
	one = work(c, 1, reads, NULL, &n);
	deep = work(c, (uint32_t)depth, reads, NULL, &n);
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

static struct interval seek_track(const struct wild_case *c)
{
	return just(truth_seek_track_ns(c->g));
}

static struct interval seek_third(const struct wild_case *c)
{
	return seek_part(c, 1.0 / 3);
}

static struct interval seek_full(const struct wild_case *c)
{
	return seek_part(c, 1);
}

static struct interval seek_average(const struct wild_case *c)
{
	struct interval s = stroke(c);

	return (struct interval){ truth_seek_average_of_ns(c->g, (uint32_t)s.low + 1),
		                  truth_seek_average_of_ns(c->g, (uint32_t)s.high + 1) };
}

static struct interval write_settle(const struct wild_case *c)
{
	return just(c->p->seek.write_settle_ms * 1e6);
}

static struct interval longer(const struct wild_case *c, struct interval read)
{
	return (struct interval){ read.low + c->p->seek.write_settle_ms * 1e6,
		                  read.high + c->p->seek.write_settle_ms * 1e6 };
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

#define SEEK_PLUS(name, more, of)                              \
	static struct interval name(const struct wild_case *c) \
	{                                                      \
		return more(c, of(c));                         \
	}
SEEK_PLUS(write_track, longer, seek_track)
SEEK_PLUS(write_average, longer, seek_average)
SEEK_PLUS(write_third, longer, seek_third)
SEEK_PLUS(write_full, longer, seek_full)
SEEK_PLUS(arrival_track, with_overhead, seek_track)
SEEK_PLUS(arrival_average, with_overhead, seek_average)
SEEK_PLUS(arrival_third, with_overhead, seek_third)
SEEK_PLUS(arrival_full, with_overhead, seek_full)

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

static struct interval rate_of(const struct wild_case *c, const char *table, const json_t *row)
{
	double first = wild_cell(c->doc, table, row, "first_byte"), last = wild_cell(c->doc, table, row, "last_byte");

	if (!(first >= 0 && last >= first && last < (double)geometry_bytes(c->g)))
		return none;
	return wild_rate(c, (uint64_t)first, (uint64_t)last + 1);
}

/*
 * Bytes per second of reading in order as zones does. Where nothing but the media is slow that is the media's rate; in
 * front of a slow interface, and on what is flat, it depends on blocks and depth, and only the disk at work knows.
 */
static double streamed(const struct wild_case *c, uint64_t first, uint64_t end, uint64_t block)
{
	struct disk *d = fresh_disk(c->p, first + 1, false);
	uint64_t now = 1, at, from_ns = 0, to_ns = 0, moved = 0, sector = c->p->physical_sector_bytes, stop;
	uint64_t most = c->p->kind == DISK_ROTATING ? STREAMED_MOST : STREAMED_FLAT;
	uint32_t tag = 0;
	struct disk_done done = { 0 };

	if (!d)
		return (double)NAN;
	end = end - first > most ? first + most : end;
	/* On behind the end, so that the last that count are not alone. */
	stop = end + STREAMED_DEPTH * block;
	stop = stop < geometry_bytes(c->g) ? stop : geometry_bytes(c->g);
	at = first = first > STREAMED_LEAD ? (first - STREAMED_LEAD) / sector * sector : 0;
	for (uint32_t in_flight = 0; !to_ns && (at < stop || in_flight);) {
		for (; in_flight < STREAMED_DEPTH && at < stop; in_flight++) {
			uint64_t len = stop - at < block ? (stop - at + sector - 1) / sector * sector : block;
			struct disk_req req = {
				.op = DISK_READ, .len_bytes = (uint32_t)len, .offset_bytes = at, .owner = &tag
			};

			(void)disk_submit(d, now, &req);
			at += len;
		}
		now = disk_next_event_ns(d) < disk_next_done_ns(d) ? disk_next_event_ns(d) : disk_next_done_ns(d);
		if (now == DISK_NEVER)
			break;
		disk_advance(d, now);
		for (; !to_ns && disk_pop_done(d, now, &done); in_flight--) {
			uint64_t done_to = done.req.offset_bytes + done.req.len_bytes;

			moved += from_ns ? done.req.len_bytes : 0;
			if (!from_ns && done_to >= first + STREAMED_LEAD)
				from_ns = done.done_ns;
			else if (done_to >= end)
				to_ns = done.done_ns;
		}
	}
	disk_free(d);
	return to_ns > from_ns ? (double)moved * 1e9 / (double)(to_ns - from_ns) : (double)NAN;
}

/* Of the requests at the run's end. */
static double request_bytes(const struct wild_case *c)
{
	const json_t *rows = wild_rows(c->doc, "layouts");
	const json_t *row = json_array_get(rows, json_array_size(rows) - 1);
	double bytes = row ? wild_cell(c->doc, "layouts", row, "request_bytes") : (double)NAN;

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

/*
 * What may rightly be said of the rate of these bytes, of the media or in large blocks or small ones. Behind a limit
 * with a credit either is right: what the disk gives, or what lasts; and with the device's freezes or without.
 */
struct interval wild_rate(const struct wild_case *c, uint64_t first, uint64_t end)
{
	double limit = lasting(c->p), rate = truth_rate(c->g, first, end), large, small, low;
	bool is_striped = c->p->arms.kind == ARMS_INTERLEAVED;

	if (is_media_bound(c->p))
		return (struct interval){ fmin(limit, with_freezes(c, rate)), rate };
	large = streamed(c, first, end, is_striped ? (uint64_t)request_bytes(c) : STREAMED_BLOCK);
	small = is_striped ? large : streamed(c, first, end, STREAMED_SMALL);
	if (c->p->kind != DISK_ROTATING) /* which has no media's rate */
		rate = large;
	low = fmin(rate, fmin(large, small));
	return (struct interval){ STREAMED_LOW * fmin(limit, low), fmax(rate, fmax(large, small)) / STREAMED_LOW };
}

/* Of the very bytes that the figure speaks of. */
static struct interval spot(const struct wild_case *c, const char *figure)
{
	const json_t *rows = wild_rows(c->doc, "spots"), *row;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)rows, i, row)
	{
		const char *of = wild_text(c->doc, "spots", row, "figure");

		if (of && strcmp(of, figure) == 0)
			return rate_of(c, "spots", row);
	}
	return none;
}

static struct interval spot_start(const struct wild_case *c)
{
	return spot(c, "start");
}

static struct interval spot_middle(const struct wild_case *c)
{
	return spot(c, "middle");
}

static struct interval spot_end(const struct wild_case *c)
{
	return spot(c, "end");
}

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
static struct interval mean_rate(const struct wild_case *c)
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
		uint64_t part = size / places, bytes = part < STREAMED_MOST ? part : STREAMED_MOST;
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
	const json_t *rows = wild_rows(c->doc, "curve"), *row;
	struct interval least = none;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)rows, i, row)
	{
		struct interval rate = rate_of(c, "curve", row);

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

static struct interval period(const struct wild_case *c)
{
	return just(truth_period_ns(c->g));
}

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
	if (has_spares(c->p))
		return (struct interval){ tracks_with_data(c->g), (double)last.track + 1 };
	for (size_t i = 0; i < c->p->media.nskips; i++)
		skipped += c->p->media.skips[i].first == 0 && c->p->media.skips[i].count == UINT32_MAX;
	return (struct interval){ (double)(last.track + 1 - skipped), (double)last.track + 1 };
}

/* Surfaces may differ: what was told is held against the nearest that the zone has. */
static struct interval size_at(const struct wild_case *c, const char *figure, double part)
{
	double told = wild_number(json_object_get(c->doc, "figures"), figure), nearest = (double)NAN;
	uint64_t sector = (uint64_t)((double)(geometry_sectors(c->g) - 1) * part);
	bool is_second = c->p->arms.kind == ARMS_JOINED && sector >= geometry_sectors(c->g->arm[0]);
	const struct profile *p = is_second ? geometry_profile(c->g->arm[1]) : c->p;
	uint64_t stripe = p->arms.kind == ARMS_INTERLEAVED ? p->arms.stripe_bytes / p->physical_sector_bytes : 0;
	struct place at, beside; /* a stripe of the other arm, whose zones begin elsewhere */

	geometry_place(c->g, sector, &at);
	geometry_place(c->g, sector >= stripe ? sector - stripe : sector + stripe, &beside);
	for (uint32_t k = 0; k < 2 * p->surfaces; k++) {
		double size = p->zones[k % 2 ? beside.zone : at.zone].spt[k / 2];

		if (size > 0 && !(fabs(size - told) >= fabs(nearest - told)))
			nearest = size;
	}
	return just(nearest);
}

static struct interval size_start(const struct wild_case *c)
{
	return size_at(c, "start_sectors_per_track", 0);
}

static struct interval size_middle(const struct wild_case *c)
{
	return size_at(c, "middle_sectors_per_track", 0.5);
}

static struct interval size_end(const struct wild_case *c)
{
	return size_at(c, "end_sectors_per_track", 1);
}

static struct interval cyl_skew(const struct wild_case *c)
{
	return just(c->p->zones[0].cyl_skew);
}

static struct interval head_skew(const struct wild_case *c)
{
	return just(c->p->surfaces > 1 ? c->p->zones[0].head_skew : (double)NAN);
}

static struct interval of_media_cache(const struct wild_case *c, const char *member)
{
	return just(wild_number(json_object_get(c->truth, "media_cache"), member));
}

static struct interval cache_entries(const struct wild_case *c)
{
	double entries = of_media_cache(c, "entries").low, room = of_media_cache(c, "bytes").low / 4096;

	return just(fmin(entries, room)); /* whichever is full first */
}

static struct interval band(const struct wild_case *c)
{
	return of_media_cache(c, "shingle_band_bytes");
}

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

static struct interval buffer_segment(const struct wild_case *c)
{
	return has_fixed_segments(c) ? just(segment_bytes(c->p)) : none;
}

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
	{ "seek", "write_track_to_track_ns", NULL, write_track, WILD_RATIO, true },
	{ "seek", "write_average_seek_ns", NULL, write_average, WILD_RATIO, true },
	{ "seek", "write_third_stroke_ns", NULL, write_third, WILD_RATIO, true },
	{ "seek", "write_full_stroke_ns", NULL, write_full, WILD_RATIO, true },
	{ "seek", "write_settle_ns", NULL, write_settle, WILD_RATIO, true },
	{ "seek", "queue_gain_ratio", NULL, queue_gain, WILD_RATIO, false },
	{ "geometry", "rotation_rpm", "rpm", NULL, WILD_RATIO, true },
	{ "geometry", "rotation_period_ns", NULL, period, WILD_RATIO, true },
	{ "geometry", "start_sectors_per_track", NULL, size_start, WILD_RATIO, true },
	{ "geometry", "middle_sectors_per_track", NULL, size_middle, WILD_RATIO, true },
	{ "geometry", "end_sectors_per_track", NULL, size_end, WILD_RATIO, true },
	{ "geometry", "surfaces", "surfaces", NULL, WILD_RATIO, true },
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
