/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The truth about a profile, for people and as JSON: `platter-simdisk truth`. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "geometry.h"
#include "truth_print.h"

/* Spans of the random table: diskrand's, then decades up to the whole disk. */
static const uint64_t spans_mb[] = { 1, 2, 5, 10, 40, 100, 200, 1000, 10000, 100000, 1000000, 0 };

static const char *layout_name(const struct profile_zone *z, char *buf, size_t len)
{
	if (z->band_tracks == 1)
		(void)snprintf(buf, len, "head-first%s", z->heads_alternate ? " alternating" : "");
	else
		(void)snprintf(buf, len, "seek-first %" PRIu32 "%s%s", z->band_tracks,
		               z->tracks_alternate ? " serpentine" : "", z->heads_alternate ? " alternating" : "");
	return buf;
}

static double mb(double bytes_per_s)
{
	return bytes_per_s / 1e6;
}

static void print_zones(FILE *out, const struct geometry *g, const struct truth_zone *z, size_t n)
{
	char layout[64];
	size_t i;
	uint32_t s;

	(void)fprintf(
		out,
		"\nzone        first byte          end byte  cylinders  media MB/s  sustained  layout, sectors per track\n");
	for (i = 0; i < n; i++) {
		const struct profile_zone *pz = NULL;
		uint32_t first = 0;
		size_t k;

		for (k = 0; k < g->p->nzones; k++) {
			if (first == z[i].first_cylinder)
				pz = &g->p->zones[k];
			first += g->p->zones[k].cylinders;
		}
		(void)fprintf(out, "%4zu  %16" PRIu64 "  %16" PRIu64 "  %9" PRIu32 "  %10.3f  %9.3f  %s,", i,
		              z[i].first_byte, z[i].end_byte, z[i].cylinders, mb(z[i].media_bytes_per_s),
		              mb(z[i].sustained_bytes_per_s), pz ? layout_name(pz, layout, sizeof(layout)) : "?");
		for (s = 0; s < g->p->surfaces; s++)
			(void)fprintf(out, " %" PRIu32, z[i].spt[s]);
		(void)fputc('\n', out);
	}
}

static void print_random(FILE *out, const struct geometry *g)
{
	uint64_t size = geometry_bytes(g);
	size_t i;

	(void)fprintf(out, "\nrandom 4 KiB reads from the start of the disk, depth 1, without cache hits, ms\n"
	                   "      span MB  overhead   move  latency  transfer  answer  service\n");
	for (i = 0; i < sizeof(spans_mb) / sizeof(spans_mb[0]); i++) {
		uint64_t span = spans_mb[i] ? spans_mb[i] * 1000000 : size;
		struct truth_random r;

		if (span > size || size < 4096)
			continue;
		truth_random(g, 0, span, 4096, &r);
		(void)fprintf(out, "%13.0f  %8.3f %6.3f  %7.3f  %8.3f  %6.3f  %7.3f\n", (double)span / 1e6,
		              r.overhead_ns / 1e6, r.move_ns / 1e6, r.latency_ns / 1e6, r.transfer_ns / 1e6,
		              r.done_ns / 1e6, r.service_ns / 1e6);
	}
}

#define REGIONS_MAX 10000

static void print_regions(FILE *out, const struct geometry *g)
{
	struct truth_region *r = calloc(REGIONS_MAX, sizeof(*r));
	size_t i, n = r ? truth_regions(g, r, REGIONS_MAX) : 0;

	for (i = 0; i < n; i++) {
		if (i == 0)
			(void)fprintf(out, "\nregions\n");
		(void)fprintf(out, "%-10s  %16" PRIu64 "  %16" PRIu64, r[i].is_bad ? "unreadable" : "slow",
		              r[i].first_byte, r[i].end_byte);
		if (!r[i].is_bad)
			(void)fprintf(out, "  %.3f MB/s", mb(r[i].rate_bytes_per_s));
		(void)fputc('\n', out);
	}
	free(r);
}

static void print_text(FILE *out, const struct geometry *g)
{
	const struct profile *p = g->p;
	struct truth_zone z[PROFILE_ZONES_MAX];
	size_t n = truth_zones(g, z, PROFILE_ZONES_MAX);
	uint64_t size = geometry_bytes(g);

	(void)fprintf(out, "%s: %s, %" PRIu64 " bytes, sectors of %" PRIu32 "/%" PRIu32 " bytes\n", p->name,
	              p->reported.model, size, p->logical_sector_bytes, p->physical_sector_bytes);
	if (p->note[0])
		(void)fprintf(out, "%s\n", p->note);
	if (p->kind == DISK_SSD) {
		(void)fprintf(out, "no rotation; streaming %.3f MB/s\n", mb(truth_rate(g, 0, size)));
	} else {
		(void)fprintf(out,
		              "rotation      %.4f rpm, period %.6f ms\nsurfaces      %" PRIu32 ", %" PRIu32
		              " cylinders, %" PRIu64 " tracks\n",
		              p->spindle.rpm, g->period_ns / 1e6, p->surfaces, g->cylinders, g->tracks);
		(void)fprintf(out,
		              "seek          track %.3f, third %.3f, average %.3f, full %.3f ms; head switch %.3f ms\n",
		              truth_seek_track_ns(g) / 1e6, truth_seek_third_ns(g) / 1e6,
		              truth_seek_average_ns(g) / 1e6, truth_seek_full_ns(g) / 1e6,
		              truth_head_switch_ns(g) / 1e6);
		(void)fprintf(out,
		              "streaming     start %.3f, middle %.3f, end %.3f, whole surface (harmonic) %.3f MB/s\n",
		              mb(truth_rate_at(g, 0)), mb(truth_rate_at(g, size / 2)), mb(truth_rate_at(g, size - 1)),
		              mb(truth_harmonic_mean(g)));
		print_zones(out, g, z, n);
	}
	print_random(out, g);
	print_regions(out, g);
}

/* ---- JSON ---- */

static json_t *real(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static void set(json_t *o, const char *key, json_t *value)
{
	(void)json_object_set_new(o, key,
	                          value); /* out of memory shows as a missing member; json_dumpf then fails as well */
}

static json_t *zones_json(const struct geometry *g, bool is_streamed)
{
	struct truth_zone z[PROFILE_ZONES_MAX];
	size_t i, n = truth_list_zones(g, is_streamed, z, PROFILE_ZONES_MAX);
	json_t *list = json_array();
	uint32_t s;

	for (i = 0; i < n; i++) {
		const struct profile_zone *pz = g->p->zones;
		uint32_t first = 0;
		json_t *o = json_object(), *spt = json_array();
		char layout[64];

		for (; first != z[i].first_cylinder; pz++)
			first += pz->cylinders;
		for (s = 0; s < g->p->surfaces; s++)
			(void)json_array_append_new(spt, json_integer(z[i].spt[s]));
		set(o, "first_byte", json_integer((json_int_t)z[i].first_byte));
		set(o, "end_byte", json_integer((json_int_t)z[i].end_byte));
		set(o, "first_cylinder", json_integer(z[i].first_cylinder));
		set(o, "cylinders", json_integer(z[i].cylinders));
		set(o, "sectors_per_track", spt);
		set(o, "bytes_per_track", real(z[i].bytes_per_track));
		set(o, "media_bytes_per_s", real(z[i].media_bytes_per_s));
		set(o, "sustained_bytes_per_s", real(z[i].sustained_bytes_per_s));
		set(o, "layout", json_string(layout_name(pz, layout, sizeof(layout))));
		set(o, "band_tracks", json_integer(pz->band_tracks));
		set(o, "head_skew_revolutions", real(pz->head_skew));
		set(o, "cyl_skew_revolutions", real(pz->cyl_skew));
		set(o, "band_skew_revolutions", real(pz->band_skew));
		(void)json_array_append_new(list, o);
	}
	return list;
}

static json_t *random_json(const struct geometry *g)
{
	uint64_t size = geometry_bytes(g);
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < sizeof(spans_mb) / sizeof(spans_mb[0]); i++) {
		uint64_t span = spans_mb[i] ? spans_mb[i] * 1000000 : size;
		struct truth_random r;
		json_t *o;

		if (span > size || size < 4096)
			continue;
		truth_random(g, 0, span, 4096, &r);
		o = json_object();
		set(o, "first_byte", json_integer(0));
		set(o, "span_bytes", json_integer((json_int_t)span));
		set(o, "block_bytes", json_integer(4096));
		set(o, "overhead_ns", real(r.overhead_ns));
		set(o, "move_ns", real(r.move_ns));
		set(o, "latency_ns", real(r.latency_ns));
		set(o, "transfer_ns", real(r.transfer_ns));
		set(o, "completion_ns", real(r.done_ns));
		set(o, "service_ns", real(r.service_ns));
		(void)json_array_append_new(list, o);
	}
	return list;
}

static json_t *regions_json(const struct geometry *g)
{
	struct truth_region *r = calloc(REGIONS_MAX, sizeof(*r));
	size_t i, n = r ? truth_regions(g, r, REGIONS_MAX) : 0;
	json_t *list = json_array();

	for (i = 0; i < n; i++) {
		json_t *o = json_object();

		set(o, "kind", json_string(r[i].is_bad ? "unreadable" : "slow"));
		set(o, "first_byte", json_integer((json_int_t)r[i].first_byte));
		set(o, "end_byte", json_integer((json_int_t)r[i].end_byte));
		set(o, "rate_bytes_per_s", r[i].is_bad ? json_null() : real(r[i].rate_bytes_per_s));
		(void)json_array_append_new(list, o);
	}
	free(r);
	return list;
}

static void rotation_json(json_t *o, const struct geometry *g, bool is_streamed)
{
	uint64_t size = geometry_bytes(g);

	set(o, "rpm", real(g->p->spindle.rpm));
	set(o, "period_ns", real(g->period_ns));
	set(o, "surfaces", json_integer(g->p->surfaces));
	set(o, "cylinders", json_integer(g->cylinders));
	set(o, "tracks", json_integer((json_int_t)g->tracks));
	set(o, "seek_track_ns", real(truth_seek_track_ns(g)));
	set(o, "seek_third_ns", real(truth_seek_third_ns(g)));
	set(o, "seek_average_ns", real(truth_seek_average_ns(g)));
	set(o, "seek_full_ns", real(truth_seek_full_ns(g)));
	set(o, "seek_track_mean_ns", real(truth_seek_mean_ns(g, 1)));
	set(o, "seek_third_mean_ns", real(truth_seek_mean_ns(g, g->cylinders / 3)));
	set(o, "seek_full_mean_ns", real(truth_seek_mean_ns(g, g->cylinders - 1.0)));
	set(o, "head_switch_ns", real(truth_head_switch_ns(g)));
	set(o, "overhead_ns", real(truth_overhead_ns(g)));
	if (is_streamed) {
		set(o, "start_bytes_per_s", real(truth_rate_at(g, 0)));
		set(o, "middle_bytes_per_s", real(truth_rate_at(g, size / 2)));
		set(o, "end_bytes_per_s", real(truth_rate_at(g, size - 1)));
	}
	set(o, "zones", zones_json(g, is_streamed));
}

static json_t *cache_json(const struct profile *p)
{
	json_t *o = json_object();

	set(o, "segments", json_integer(p->cache.bytes ? p->cache.segments : 0));
	set(o, "sized", json_string(p->cache.sizing == CACHE_BY_USE ? "by-use" : "fixed"));
	set(o, "segment_bytes",
	    p->cache.sizing == CACHE_BY_USE ? json_null()
	                                    : json_integer((json_int_t)(p->cache.bytes / p->cache.segments)));
	set(o, "read_ahead", json_boolean(p->cache.read_ahead && p->cache.bytes));
	set(o, "read_ahead_reach", json_string(p->cache.ahead_reach == AHEAD_TRACK ? "track" : "segment"));
	set(o, "read_ahead_bytes", p->cache.ahead_bytes ? json_integer((json_int_t)p->cache.ahead_bytes) : json_null());
	set(o, "read_ahead_stop", json_string(p->cache.ahead_stop == AHEAD_COMMAND ? "command" : "seek"));
	set(o, "keep_behind", real(p->cache.keep_behind));
	set(o, "pre_read", json_boolean(p->cache.is_pre_read));
	set(o, "zero_latency", json_boolean(p->cache.is_zero_latency));
	set(o, "write_cache", json_boolean(p->wcache.bytes && p->wcache.is_on));
	set(o, "flush_reaches_media", json_boolean(!p->wcache.is_flush_ignored));
	set(o, "fua_reaches_media", json_boolean(!p->wcache.is_fua_ignored));
	set(o, "fua_reads_media", json_boolean(p->cache.fua_reads == FUA_READS_MEDIA));
	return o;
}

static json_t *media_cache_json(const struct profile *p)
{
	static const char *const first[] = { "oldest", "coldest", "fullest" };
	json_t *o = json_object();

	set(o, "bytes", json_integer((json_int_t)p->mcache.bytes));
	set(o, "entries", p->mcache.entries ? json_integer(p->mcache.entries) : json_null());
	set(o, "place", real(p->mcache.place));
	set(o, "idle_ms", real(p->mcache.idle_ms));
	set(o, "first", json_string(first[p->mcache.first]));
	set(o, "shingle_band_bytes",
	    p->mcache.band_bytes ? json_integer((json_int_t)p->mcache.band_bytes) : json_null());
	return o;
}

json_t *truth_json(const struct geometry *g, unsigned parts)
{
	static const char *const arms[] = { "one", "halves", "interleaved", "joined" };
	const struct profile *p = g->p;
	json_t *o = json_object();

	set(o, "name", json_string(p->name));
	set(o, "model", json_string(p->reported.model));
	set(o, "serial", json_string(p->reported.serial));
	set(o, "kind", json_string(p->kind == DISK_SSD ? "ssd" : "rotating"));
	set(o, "size_bytes", json_integer((json_int_t)geometry_bytes(g)));
	set(o, "logical_sector_bytes", json_integer(p->logical_sector_bytes));
	set(o, "physical_sector_bytes", json_integer(p->physical_sector_bytes));
	set(o, "interface_bytes_per_s", real(p->path.interface_bytes_per_s));
	set(o, "cache_bytes", json_integer((json_int_t)p->cache.bytes));
	set(o, "write_cache_bytes", json_integer((json_int_t)p->wcache.bytes));
	set(o, "cache", cache_json(p));
	if (p->mcache.bytes)
		set(o, "media_cache", media_cache_json(p));
	set(o, "arms", json_string(arms[p->arms.kind]));
	set(o, "bridge_bytes", p->path.bridge_bytes ? json_integer((json_int_t)p->path.bridge_bytes) : json_null());
	if (parts & TRUTH_STREAMED)
		set(o, "mean_bytes_per_s", real(truth_harmonic_mean(g)));
	if (p->kind == DISK_ROTATING)
		rotation_json(o, g, parts & TRUTH_STREAMED);
	if (parts & TRUTH_RANDOM)
		set(o, "random", random_json(g));
	set(o, "regions", regions_json(g));
	return o;
}

static int print_json(FILE *out, const struct geometry *g)
{
	json_t *o = truth_json(g, TRUTH_STREAMED | TRUTH_RANDOM);
	int r = json_dumpf(o, out, JSON_INDENT(2)) < 0 || fputc('\n', out) == EOF ? -EIO : 0;

	json_decref(o);
	return r;
}

int truth_print(FILE *out, const struct profile *p, bool is_json)
{
	struct geometry *g = geometry_new(p);
	int r = 0;

	if (!g)
		return -ENOMEM;
	if (is_json)
		r = print_json(out, g);
	else
		print_text(out, g);
	geometry_free(g);
	return r < 0 || fflush(out) != 0 || ferror(out) ? -EIO : 0;
}
