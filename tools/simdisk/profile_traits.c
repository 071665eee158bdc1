/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What real disks have and ideal ones lack, as keys of a profile: a table that says each key's values, their bounds and
 * where they are kept serves parsing, checking and saving. None of it is there unless its key is given.
 */
#include "profile_text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "mechanics.h"

enum value_type { VALUE_NONE, VALUE_DOUBLE, VALUE_SIGNED, VALUE_U32, VALUE_KB, VALUE_CHOICE };

struct value {
	enum value_type type;
	size_t offset;
	double min, max;
	const char *choices; /* words with a blank between them; what is kept is the number of the word */
};

#define VALUES_MAX 5

struct trait {
	const char *name;
	size_t least; /* values that must be there */
	struct value values[VALUES_MAX];
};

#define DOUBLE(member, min, max)                                             \
	{                                                                    \
		VALUE_DOUBLE, offsetof(struct profile, member), (min), (max) \
	}
#define SIGNED(member, min, max)                                             \
	{                                                                    \
		VALUE_SIGNED, offsetof(struct profile, member), (min), (max) \
	}
#define U32(member, min, max)                                             \
	{                                                                 \
		VALUE_U32, offsetof(struct profile, member), (min), (max) \
	}
#define KB(member, min, max)                                             \
	{                                                                \
		VALUE_KB, offsetof(struct profile, member), (min), (max) \
	}
#define CHOICE(member, words)                                                   \
	{                                                                       \
		VALUE_CHOICE, offsetof(struct profile, member), 0, 1e9, (words) \
	}
#define SCATTER(member) \
	DOUBLE(member.sd_ms, 0, 1e4), DOUBLE(member.tail_p, 0, SCATTER_TAIL_MAX), DOUBLE(member.tail_ms, 0, 1e5)

static const struct trait traits[] = {
	{ "read_ahead_reach", 1, { CHOICE(cache.ahead_reach, "segment track") } },
	{ "read_ahead_stop", 1, { CHOICE(cache.ahead_stop, "seek command") } },
	{ "read_ahead_kb", 1, { KB(cache.ahead_bytes, 0, 0x1p40) } },
	{ "zero_latency", 1, { CHOICE(cache.is_zero_latency, "no yes") } },
	{ "keep_behind", 1, { DOUBLE(cache.keep_behind, 0, 1) } },
	{ "pre_read", 1, { CHOICE(cache.is_pre_read, "no yes") } },
	{ "cache_sizing", 1, { CHOICE(cache.sizing, "fixed by-use") } },
	{ "write_cache", 1, { CHOICE(wcache.is_on, "off on") } },
	{ "write_turns", 1, { CHOICE(wcache.turns, "reads fair") } },
	{ "ignore_fua", 1, { CHOICE(wcache.is_fua_ignored, "no yes") } },
	{ "fua_reads", 1, { CHOICE(cache.fua_reads, "media buffer refused") } },
	{ "media_cache_kb",
	  1,
	  { KB(mcache.bytes, 0, 0x1p50), U32(mcache.entries, 0, 1e9), DOUBLE(mcache.place, 0, 1) } },
	{ "media_cache_idle_ms", 1, { DOUBLE(mcache.idle_ms, 0, 1e7) } },
	{ "media_cache_first", 1, { CHOICE(mcache.first, "oldest coldest fullest") } },
	{ "media_cache_direct_kb", 1, { KB(mcache.direct_bytes, 0, 0x1p40) } },
	{ "shingle_band_kb", 1, { KB(mcache.band_bytes, 0, 0x1p40) } },
	{ "write_dip",
	  2,
	  { U32(own.dips.writes, 0, 1e9), DOUBLE(own.dips.ms, 0, 1e6), KB(own.dips.bytes, 0, 0x1p40) } },
	{ "fast_cells",
	  3,
	  { KB(keeps.slc_bytes, 0, 0x1p50), DOUBLE(keeps.slc_mbs, 0, 1e6), DOUBLE(keeps.direct_mbs, 0, 1e6),
	    DOUBLE(keeps.fold_mbs, 0, 1e6), DOUBLE(keeps.fold_idle_ms, 0, 1e7) } },
	{ "spare_area", 2, { KB(keeps.spare_bytes, 0, 0x1p50), DOUBLE(keeps.spare_mbs, 0, 1e6) } },
	{ "collection", 2, { KB(keeps.collect_bytes, 0, 0x1p50), DOUBLE(keeps.collect_ms, 0, 1e6) } },
	{ "fast_time",
	  3,
	  { DOUBLE(keeps.turbo_s, 0, 1e6), DOUBLE(keeps.turbo_back, 0, 1e3), DOUBLE(keeps.spent_mbs, 0, 1e6) } },
	{ "heat",
	  4,
	  { DOUBLE(keeps.heat_c_per_gb, 0, 1e4), DOUBLE(keeps.heat_tau_s, 0, 1e6), DOUBLE(keeps.heat_limit_c, 0, 200),
	    DOUBLE(keeps.hot_mbs, 0, 1e6) } },
	{ "slipped", 1, { U32(media.slipped, 0, PROFILE_LIST_MAX), DOUBLE(media.slip_run, 1, 1e6) } },
	{ "spare_tracks", 1, { U32(media.spare_tracks, 0, 1e6) } },
	{ "remapped", 1, { U32(media.remapped, 0, PROFILE_LIST_MAX) } },
	{ "trimmed_us", 1, { DOUBLE(media.trimmed_us, 0, 1e8) } },
	{ "recalibrate", 2, { DOUBLE(own.recalibrate_s, 0, 1e7), DOUBLE(own.recalibrate_ms, 0, 1e6) } },
	{ "scan", 2, { DOUBLE(own.scan_after_s, 0, 1e7), DOUBLE(own.scan_ms, 0, 1e6) } },
	{ "park", 2, { DOUBLE(own.park_after_s, 0, 1e7), DOUBLE(own.park_ms, 0, 1e6) } },
	{ "standby", 2, { DOUBLE(own.standby_after_s, 0, 1e7), DOUBLE(own.standby_s, 0, 1e4) } },
	{ "begins_asleep", 1, { CHOICE(own.begins_asleep, "no yes") } },
	{ "bridge_kb", 1, { KB(path.bridge_bytes, 0, 0x1p30) } },
	{ "arms", 1, { CHOICE(arms.kind, "one halves interleaved joined") } },
	{ "arm_stripe_kb", 1, { KB(arms.stripe_bytes, 65536, 0x1p40) } },
	{ "joined_density", 1, { DOUBLE(arms.joined_density, 0.1, 10) } },
	{ "limit_iops", 1, { DOUBLE(path.limit_ops, 0, 1e9), DOUBLE(path.credit_ops, 0, 1e12) } },
	{ "neighbour",
	  3,
	  { DOUBLE(path.other_share, 0, 0.99), DOUBLE(path.other_on_s, 0, 1e6), DOUBLE(path.other_off_s, 0, 1e6) } },
	{ "latency_sigma", 1, { DOUBLE(ssd.latency_sigma, 0, 3) } },
	{ "head_switch_scatter", 1, { SCATTER(seek.head_scatter) } },
	{ "overhead_scatter", 1, { SCATTER(ctl.overhead_scatter) } },
	{ "hit_overhead_scatter", 1, { SCATTER(ctl.hit_scatter) } },
	{ "write_overhead_scatter", 1, { SCATTER(ctl.write_scatter) } },
	{ "write_overhead_ms", 1, { DOUBLE(ctl.write_overhead_ms, 0, 1e5) } },
	{ "restart_ms", 1, { DOUBLE(seek.restart_ms, 0, 1e5) } },
	{ "read_watermark", 1, { DOUBLE(ctl.read_watermark, 0, 1) } },
	{ "read_ahead_overhead", 1, { CHOICE(cache.ahead_overhead, "full hit") } },
	{ "drops_read", 1, { CHOICE(cache.drops_read, "no yes") } },
	{ "write_forgets", 1, { CHOICE(cache.write_forgets, "no yes") } },
	{ "read_ahead_when", 1, { CHOICE(cache.ahead_when, "always sequential") } },
	{ "completion_scatter", 1, { SCATTER(ctl.done_scatter) } },
	{ "completion_ms", 1, { DOUBLE(ctl.done_ms, 0, 1e5) } },
	{ "missed_revolutions",
	  3,
	  { DOUBLE(noise.miss_short_p, 0, 1), DOUBLE(noise.miss_long_p, 0, 1), U32(noise.miss_cylinders, 0, 1e9),
	    DOUBLE(noise.miss_again_p, 0, 0.9) } },
	{ "freeze",
	  3,
	  { DOUBLE(noise.freeze_p, 0, 1), DOUBLE(noise.freeze_min_ms, 0, 1e6), DOUBLE(noise.freeze_max_ms, 0, 1e6) } },
	{ "skew_scatter",
	  1,
	  { DOUBLE(media.skew_sd_us, 0, 1e6), DOUBLE(media.skew_far_p, 0, 1), DOUBLE(media.skew_far, 0, 0.5) } },
	{ "weak_tracks", 2, { DOUBLE(media.weak_share, 0, 1), DOUBLE(media.weak_p, 0, 1) } },
	{ "weak_surface", 1, { U32(media.weak_surface, 0, PROFILE_SURFACES_MAX) } },
	{ "rpm_drift", 2, { SIGNED(spindle.drift, -0.05, 0.05), DOUBLE(spindle.drift_s, 1, 1e6) } },
	{ "retry_unrest", 2, { DOUBLE(noise.unrest_sigma, 0, 3), DOUBLE(noise.unrest_s, 1e-3, 1e6) } },
	{ "busy_host",
	  4,
	  { DOUBLE(path.busy_on_s, 0, 1e6), DOUBLE(path.busy_off_s, 0, 1e6), DOUBLE(path.busy_p, 0, 1),
	    DOUBLE(path.busy_ms, 0, 1e6) } },
	{ "reported_rpm", 1, { DOUBLE(reported.rpm, 0, 1e6) } },
	{ "reported_request_kb", 1, { KB(reported.request_bytes, 0, 0x1p30) } },
};

static void *at_of(struct profile *p, const struct value *v)
{
	return (char *)p + v->offset;
}

static double value_of(const struct profile *p, const struct value *v)
{
	const void *at = (const char *)p + v->offset;

	switch (v->type) {
	case VALUE_U32:
	case VALUE_CHOICE:
		return (double)*(const uint32_t *)at;
	case VALUE_KB:
		return (double)*(const uint64_t *)at;
	default:
		return *(const double *)at;
	}
}

/* The n-th word of the choices; its length in *ret_len, 0: there are no more. */
static const char *choice(const char *choices, uint32_t n, size_t *ret_len)
{
	while (n--)
		choices += strcspn(choices, " ") + strspn(choices + strcspn(choices, " "), " ");
	*ret_len = strcspn(choices, " ");
	return choices;
}

static int parse_choice(struct parser *ps, const struct value *v, const char *word)
{
	char list[128];
	uint32_t i;
	size_t len;

	for (i = 0;; i++) {
		const char *is = choice(v->choices, i, &len);

		if (len == 0)
			break;
		if (strlen(word) == len && memcmp(is, word, len) == 0) {
			*(uint32_t *)at_of(ps->p, v) = i;
			return 0;
		}
	}
	(void)snprintf(list, sizeof(list), "one of these was expected: %s", v->choices);
	return parser_fail(ps, list, word);
}

static int parse_value(struct parser *ps, const struct value *v, const char *word)
{
	bool is_minus = v->type == VALUE_SIGNED && word[0] == '-';
	uint64_t kb = 0;
	int r;

	switch (v->type) {
	case VALUE_CHOICE:
		return parse_choice(ps, v, word);
	case VALUE_U32:
		return parser_get_u32(ps, word, at_of(ps->p, v));
	case VALUE_KB:
		r = parser_get_u64(ps, word, UINT64_MAX >> 10, &kb);
		if (r == 0)
			*(uint64_t *)at_of(ps->p, v) = kb << 10;
		return r;
	default:
		r = parser_get_double(ps, word + is_minus, at_of(ps->p, v));
		if (r == 0 && is_minus)
			*(double *)at_of(ps->p, v) *= -1;
		return r;
	}
}

static size_t count_values(const struct trait *t)
{
	size_t n = 0;

	while (n < VALUES_MAX && t->values[n].type != VALUE_NONE)
		n++;
	return n;
}

static int parse_trait(struct parser *ps, const struct trait *t)
{
	size_t i;

	if (ps->nwords - 1 < t->least || ps->nwords - 1 > count_values(t))
		return parser_fail(ps, "wrong number of values for", t->name);
	for (i = 1; i < ps->nwords; i++) {
		int r = parse_value(ps, &t->values[i - 1], ps->word[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- lists ---- */

static int key_seek_point(struct parser *ps)
{
	struct profile_seek_point point = { .sd_ms = NAN };
	int r = parser_get_u32(ps, ps->word[1], &point.cylinders);

	if (r == 0)
		r = parser_get_double(ps, ps->word[2], &point.ms);
	if (r == 0 && ps->nwords == 4)
		r = parser_get_double(ps, ps->word[3], &point.sd_ms);
	if (r < 0)
		return r;
	return profile_add_seek_point(ps->p, &point) < 0 ? parser_fail(ps, "too many points", NULL) : 0;
}

static int key_seek_scatter(struct parser *ps)
{
	struct profile_seek_scatter s = { 0 };
	double *const at[] = { &s.scatter.sd_ms, &s.scatter.tail_p, &s.scatter.tail_ms };
	int r = parser_get_u32(ps, ps->word[1], &s.cylinders);
	size_t i;

	for (i = 2; r == 0 && i < ps->nwords; i++)
		r = parser_get_double(ps, ps->word[i], at[i - 2]);
	if (r < 0)
		return r;
	return profile_add_seek_scatter(ps->p, &s) < 0 ? parser_fail(ps, "too many of them", NULL) : 0;
}

static int key_trimmed(struct parser *ps)
{
	struct profile_range range;
	int r = parser_get_u64(ps, ps->word[1], UINT64_MAX, &range.lba);

	if (r == 0)
		r = parser_get_u64(ps, ps->word[2], UINT64_MAX, &range.count);
	if (r < 0)
		return r;
	return profile_add_trim(ps->p, &range) < 0 ? parser_fail(ps, "too many trimmed ranges", NULL) : 0;
}

static const struct special {
	const char *name;
	size_t min, max; /* values */
	int (*set)(struct parser *ps);
} specials[] = {
	{ "seek_point", 2, 3, key_seek_point },
	{ "seek_scatter", 2, 4, key_seek_scatter },
	{ "trimmed", 2, 2, key_trimmed },
	{ "miswrite", 2, 4, miswrites_parse },
};

bool traits_parse(struct parser *ps, int *ret)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(traits); i++)
		if (strcmp(traits[i].name, ps->word[0]) == 0) {
			*ret = parse_trait(ps, &traits[i]);
			return true;
		}
	for (i = 0; i < ARRAY_LEN(specials); i++) {
		const struct special *s = &specials[i];

		if (strcmp(s->name, ps->word[0]) != 0)
			continue;
		*ret = ps->nwords - 1 < s->min || ps->nwords - 1 > s->max
		               ? parser_fail(ps, "wrong number of values for", s->name)
		               : s->set(ps);
		return true;
	}
	return false;
}

const char *traits_key(size_t i)
{
	if (i < ARRAY_LEN(traits))
		return traits[i].name;
	i -= ARRAY_LEN(traits);
	return i < ARRAY_LEN(specials) ? specials[i].name : NULL;
}

/* ---- sense ---- */

static int point_order(const void *a, const void *b)
{
	const struct profile_seek_point *x = a, *y = b;

	return (x->cylinders > y->cylinders) - (x->cylinders < y->cylinders);
}

static int scatter_order(const void *a, const void *b)
{
	const struct profile_seek_scatter *x = a, *y = b;

	return (x->cylinders > y->cylinders) - (x->cylinders < y->cylinders);
}

static int finish_seek(struct profile *p, struct err *err)
{
	size_t i;
	int r = 0;

	if (p->seek.npoints)
		qsort(p->seek.points, p->seek.npoints, sizeof(*p->seek.points), point_order);
	if (p->seek.nscatters)
		qsort(p->seek.scatters, p->seek.nscatters, sizeof(*p->seek.scatters), scatter_order);
	for (i = 0; r == 0 && i < p->seek.npoints; i++) {
		const struct profile_seek_point *s = &p->seek.points[i];

		r = profile_number(p, "the distance of a seek_point", s->cylinders, i ? s[-1].cylinders + 1.0 : 1, 1e9,
		                   err);
		if (r == 0)
			r = profile_number(p, "the time of a seek_point", s->ms, 0, 1e5, err);
		if (r == 0 && !isnan(s->sd_ms))
			r = profile_number(p, "the deviation of a seek_point", s->sd_ms, 0, 1e4, err);
	}
	for (i = 0; r == 0 && i < p->seek.nscatters; i++) {
		const struct scatter *s = &p->seek.scatters[i].scatter;

		r = profile_number(p, "the deviation of seek_scatter", s->sd_ms, 0, 1e4, err);
		if (r == 0)
			r = profile_number(p, "the share of seek_scatter", s->tail_p, 0, SCATTER_TAIL_MAX, err);
		if (r == 0)
			r = profile_number(p, "the tail of seek_scatter", s->tail_ms, 0, 1e5, err);
	}
	return r;
}

static double plain_trimmed_us(const struct profile *p)
{
	return p->kind == DISK_SSD ? p->ssd.read_latency_us : p->ctl.hit_overhead_ms * 1e3;
}

static int check_parts(const struct profile *p, struct err *err)
{
	uint32_t s;
	size_t i;

	if (p->path.bridge_bytes % p->physical_sector_bytes || p->arms.stripe_bytes % p->physical_sector_bytes)
		return err_set(err, -EINVAL,
		               "disk profile %s: bridge_kb and arm_stripe_kb must be whole physical sectors", p->name);
	if (p->arms.kind == ARMS_ONE)
		return 0;
	if (p->kind != DISK_ROTATING || (p->surfaces < 2 && p->arms.kind != ARMS_JOINED) || p->path.bridge_bytes ||
	    p->media.nbads || p->media.nslows || p->media.ntrims || p->faults.nfails || p->faults.gone_at_request ||
	    p->faults.power_loss_at_request || p->faults.miswrites.drop_from || p->faults.miswrites.n ||
	    p->path.limit_bytes_per_s > 0 || p->path.limit_ops > 0)
		return err_set(
			err, -EINVAL,
			"disk profile %s: two arms want two surfaces, and they or two disks go with no bridge, limit, bad, slow or trimmed "
			"sectors, and no trouble at a request",
			p->name);
	for (i = 0; i < p->nzones && p->arms.kind != ARMS_JOINED; i++) {
		uint64_t sum[2] = { 0, 0 };

		for (s = 0; s < p->surfaces && s < PROFILE_SURFACES_MAX; s++)
			sum[s >= p->surfaces / 2] += p->zones[i].spt[s];
		if (!sum[0] || !sum[1])
			return err_set(err, -EINVAL, "disk profile %s: an arm has no sectors in zone %zu", p->name, i);
	}
	return 0;
}

static int check_media_cache(const struct profile *p, struct err *err)
{
	uint64_t sector = p->physical_sector_bytes;

	if (p->mcache.bytes == 0 && p->mcache.band_bytes == 0)
		return 0;
	if (p->kind != DISK_ROTATING || p->arms.kind != ARMS_ONE || p->mcache.bytes < 1 << 20 ||
	    (p->mcache.entries && p->mcache.entries < 100) ||
	    (p->mcache.band_bytes && p->mcache.band_bytes < 1 << 20) || p->mcache.bytes % sector ||
	    p->mcache.band_bytes % sector)
		return err_set(
			err, -EINVAL,
			"disk profile %s: a media cache, which shingling wants, needs one arm, whole physical sectors, 1 MiB and 100 "
			"entries or more, bands as well 1 MiB",
			p->name);
	return 0;
}

static int range_order(const void *a, const void *b)
{
	const struct profile_range *x = a, *y = b;

	return (x->lba > y->lba) - (x->lba < y->lba);
}

int traits_check_trims(struct profile *p, struct err *err)
{
	uint64_t end = 0;
	size_t i;

	if (p->media.ntrims)
		qsort(p->media.trims, p->media.ntrims, sizeof(*p->media.trims), range_order);
	for (i = 0; i < p->media.ntrims; i++) {
		const struct profile_range *r = &p->media.trims[i];

		if (r->count == 0 || r->lba >= p->capacity_lba || r->count > p->capacity_lba - r->lba || r->lba < end)
			return err_set(err, -EINVAL,
			               "disk profile %s: the trimmed range at sector %" PRIu64
			               " is empty, overlaps another, or does not lie on the disk",
			               p->name, r->lba);
		end = r->lba + r->count;
	}
	return 0;
}

int traits_finish(struct profile *p, struct err *err)
{
	size_t i, k;
	int r;

	if (isnan(p->ctl.done_ms))
		p->ctl.done_ms = 4 * p->ctl.done_scatter.sd_ms;
	if (isnan(p->media.trimmed_us))
		p->media.trimmed_us = plain_trimmed_us(p);
	for (i = 0; i < ARRAY_LEN(traits); i++)
		for (k = 0; k < count_values(&traits[i]); k++) {
			const struct value *v = &traits[i].values[k];

			r = profile_number(p, traits[i].name, value_of(p, v), v->min, v->max, err);
			if (r < 0)
				return r;
		}
	if (p->media.remapped && p->media.spare_tracks == 0)
		return err_set(err, -EINVAL, "disk profile %s: remapped sectors want spare_tracks", p->name);
	if (p->own.recalibrate_s > 0 &&
	    !(p->own.recalibrate_s * 500 >= p->own.recalibrate_ms && p->own.recalibrate_s >= 1e-2))
		return err_set(
			err, -EINVAL,
			"disk profile %s: recalibration every %g s is too often, or takes more than half of the time",
			p->name, p->own.recalibrate_s);
	if (p->path.other_share > 0 && !(p->path.other_on_s + p->path.other_off_s >= 1e-3))
		return err_set(err, -EINVAL, "disk profile %s: a neighbour that is neither on nor off for a ms",
		               p->name);
	if (p->path.busy_p > 0 && !(p->path.busy_on_s + p->path.busy_off_s >= 1e-3))
		return err_set(err, -EINVAL, "disk profile %s: a host that is neither busy nor not for a ms", p->name);
	if (p->noise.freeze_p > 0 && !(p->noise.freeze_min_ms > 0 && p->noise.freeze_max_ms >= p->noise.freeze_min_ms))
		return err_set(err, -EINVAL,
		               "disk profile %s: freeze lasts from more than 0 ms up to as long or longer", p->name);
	r = check_parts(p, err);
	if (r == 0)
		r = check_media_cache(p, err);
	return r < 0 ? r : finish_seek(p, err);
}

/* ---- saving ---- */

static void save_value(FILE *out, double x, const struct value *v)
{
	size_t len;

	if (v->type == VALUE_CHOICE) {
		const char *word = choice(v->choices, (uint32_t)x, &len);

		(void)fprintf(out, " %.*s", (int)len, word);
	} else {
		(void)fprintf(out, " %.17g", v->type == VALUE_KB ? x / 1024 : x);
	}
}

static void save_trait(FILE *out, const struct profile *p, const struct profile *plain, const struct trait *t)
{
	size_t i, n = count_values(t);
	bool is_plain = true;

	for (i = 0; i < n; i++)
		is_plain = is_plain && value_of(p, &t->values[i]) == value_of(plain, &t->values[i]);
	if (is_plain)
		return;
	(void)fprintf(out, "%s", t->name);
	for (i = 0; i < n; i++)
		save_value(out, value_of(p, &t->values[i]), &t->values[i]);
	(void)fputc('\n', out);
}

void traits_save(FILE *out, const struct profile *p)
{
	struct profile plain;
	size_t i;

	profile_init(&plain);
	plain.ctl.done_ms = 4 * p->ctl.done_scatter.sd_ms;
	plain.media.trimmed_us = plain_trimmed_us(p);
	for (i = 0; i < ARRAY_LEN(traits); i++)
		save_trait(out, p, &plain, &traits[i]);
	for (i = 0; i < p->media.ntrims; i++)
		(void)fprintf(out, "trimmed %" PRIu64 " %" PRIu64 "\n", p->media.trims[i].lba, p->media.trims[i].count);
	miswrites_save(out, p);
	for (i = 0; i < p->seek.npoints; i++) {
		const struct profile_seek_point *s = &p->seek.points[i];

		(void)fprintf(out, "seek_point %" PRIu32 " %.17g", s->cylinders, s->ms);
		if (!isnan(s->sd_ms))
			(void)fprintf(out, " %.17g", s->sd_ms);
		(void)fputc('\n', out);
	}
	for (i = 0; i < p->seek.nscatters; i++) {
		const struct profile_seek_scatter *s = &p->seek.scatters[i];

		(void)fprintf(out, "seek_scatter %" PRIu32 " %.17g %.17g %.17g\n", s->cylinders, s->scatter.sd_ms,
		              s->scatter.tail_p, s->scatter.tail_ms);
	}
}
