/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the order in which a sequence is read may mean. Several layouts come again after as many tracks: half as many
 * surfaces forwards and backwards, more of them in shorter bands. All that explain it are hypotheses; accesses decide.
 */
#include <math.h>
#include <string.h>

#include "measure/geometry/layout.h"

/* Surfaces differ by so much of what a track holds (a choice): one of that many sectors is as likely as another. So
 * much less likely is it that one holds just as much as another where not all do. */
#define DIFFER 0.05
/* The same where all hold as much: 1 in 3, as of older drives, and */
#define ALL_ALIKE 1.1
/* where all changes have one skew, too: 1 in 5, as of drives that set them apart (a choice), or as noise hides it. */
#define ONE_SKEW 0.2

void geo_place_of(const struct geo_shape *shape, uint64_t slot, struct geo_place *ret)
{
	uint64_t band = slot / (shape->heads * shape->band), k = slot / shape->band % shape->heads,
		 at = slot % shape->band;

	if (shape->is_serpentine && k % 2)
		at = shape->band - 1 - at;
	ret->cylinder = band * shape->band + at;
	ret->head = (uint32_t)(shape->is_alternate && band % 2 ? shape->heads - 1 - k : k);
}

/* One more hypothesis, unless it is one already, at no higher price. Where there are too many the dearest of those with
 * bands goes: of these there are any number, where bands show and surfaces do not. */
void geo_add(struct geo_search *s, const struct geo_hypothesis *h)
{
	struct geo_hypothesis *at = NULL;

	for (size_t i = 0; i < s->n; i++) {
		struct geo_hypothesis *old = &s->h[i];

		if (old->shape.band != 1 && (!at || old->prior > at->prior))
			at = old;
		if (!geo_is_same_layout(&old->shape, &h->shape) || geo_is_counted(old) != geo_is_counted(h))
			continue;
		if (h->prior < old->prior) {
			old->prior = h->prior;
			old->read = h->read;
		}
		return;
	}
	if (s->n < GEO_ASKED_MAX) {
		at = &s->h[s->n];
		at->seen = s->made + s->n++ * GEO_MADE_MOST;
	} else if (h->shape.band != 1 && h->prior >= at->prior) {
		return;
	}
	at->shape = h->shape;
	at->read = h->read;
	at->prior = h->prior;
}

static uint64_t turn_of(const struct geo_shape *shape)
{
	return shape->heads * shape->band * (shape->is_alternate ? 2 : 1);
}

static uint64_t common_part(uint64_t a, uint64_t b)
{
	return b ? common_part(b, a % b) : a;
}

/* What comes before a slot. */
static enum geo_change change_before(const struct geo_shape *shape, uint64_t slot)
{
	if (shape->band == 1)
		return slot % shape->heads ? GEO_TO_HEAD : GEO_TO_CYLINDER;
	return slot % shape->band ? GEO_TO_CYLINDER : slot % (shape->heads * shape->band) ? GEO_TO_HEAD : GEO_TO_BAND;
}

/* One that noise may have made of the other does not speak against it. */
static bool learn_skew(const struct geo_order *o, double *known, double skew)
{
	if (isfinite(*known) && isfinite(skew) && geo_apart(*known, skew) >= GEO_HIDDEN * o->tol)
		return false;
	*known = isfinite(skew) ? skew : *known;
	return true;
}

/* The sizes of that layout's surfaces in a zone that was read otherwise, and which begins that many slots behind the
 * begin of a turn; false: not one on each, or not one skew for each change. */
static bool sizes_of(const struct geo_order *o, const struct geo_fit_zone *z, const struct geo_shape *read,
                     const struct geo_shape *shape, uint64_t shift, uint64_t *ret)
{
	uint64_t one = turn_of(read), other = turn_of(shape), step = common_part(read->band, shape->band);
	uint64_t end = one > other ? one : other;
	const double skew[GEO_CHANGES] = { z->cylinder_skew, z->head_skew, z->band_skew };
	double known[GEO_CHANGES] = { NAN, NAN, NAN };

	memset(ret, 0, GEO_HEADS * sizeof(*ret));
	for (uint64_t slot = 0; slot < end && slot < z->tracks; slot += step) {
		struct geo_place a, b;

		geo_place_of(read, slot, &a);
		geo_place_of(shape, slot + shift, &b);
		if (ret[b.head] && z->size[a.head] && ret[b.head] != z->size[a.head])
			return false;
		ret[b.head] = z->size[a.head] ? z->size[a.head] : ret[b.head];
		for (uint64_t at = slot; at < slot + step && at < slot + 2; at++) /* behind that all are alike */
			if (!learn_skew(o, &known[change_before(shape, at + shift)], skew[change_before(read, at)]))
				return false;
	}
	return true;
}

/* The first such begin that there can be, and the sizes then; UINT64_MAX: there is none. */
static uint64_t begin_of(const struct geo_order *o, const struct geo_fit_zone *z, const struct geo_shape *read,
                         const struct geo_shape *shape, uint64_t *ret)
{
	memcpy(ret, z->size, sizeof(z->size));
	if (read->band == 0 || geo_is_same_layout(read, shape))
		return 0;
	for (uint64_t shift = 0; shift < turn_of(shape); shift += common_part(read->band, shape->band))
		if (sizes_of(o, z, read, shape, shift, ret))
			return shift;
	return UINT64_MAX;
}

uint64_t geo_begin_of(const struct geo_order *o, const struct geo_fit_zone *z, const struct geo_hypothesis *h)
{
	uint64_t size[GEO_HEADS], begin = begin_of(o, z, &h->read, &h->shape, size);

	return begin < UINT64_MAX ? begin : 0;
}

/* Are all skews of the zone the same, as far as it has them? */
static bool has_one_skew(const struct geo_order *o, const struct geo_fit_zone *z)
{
	const double skew[] = { z->cylinder_skew, z->head_skew, z->band_skew };

	for (size_t i = 0; i < sizeof(skew) / sizeof(skew[0]); i++)
		for (size_t k = 0; k < i; k++)
			if (isfinite(skew[i]) && isfinite(skew[k]) && !geo_order_same(o, skew[i], skew[k]))
				return false;
	return true;
}

/* How unlikely it is that surfaces hold what they do. */
static double chance_of(const struct geo_order *o, const struct geo_fit_zone *z, const uint64_t *size, uint32_t heads)
{
	bool differ = false;
	uint64_t most = size[0];
	size_t alike = 0;

	for (uint32_t k = 1, j; k < heads; k++) {
		for (j = 0; j < k && size[j] != size[k];)
			j++;
		alike += j < k && size[k];
		differ = differ || (size[k] && size[k] != size[0]);
		most = size[k] > most ? size[k] : most;
	}
	if (heads == 1 || differ)
		return log1p(DIFFER * (double)most) * (double)alike;
	return ALL_ALIKE + (has_one_skew(o, z) ? -log(fmin(1.0, ONE_SKEW + o->tol / GEO_SKEW)) : 0.0);
}

double geo_chance(const struct geo_order *o, const struct geo_fit *fit, const struct geo_shape *read,
                  const struct geo_shape *shape)
{
	const struct geo_fit_zone *longest = geo_longest_zone(fit);
	double chance = 0.0;

	for (size_t i = 0; i < fit->n; i++) {
		const struct geo_fit_zone *z = &fit->zone[i];
		uint64_t size[GEO_HEADS], begin = begin_of(o, z, read, shape, size);

		if (2 * z->tracks < longest->tracks) /* may be what disturbs the sequence */
			continue;
		if (begin == UINT64_MAX)
			return INFINITY;
		chance -= begin ? log(GEO_MISREAD_SHARE) : 0.0; /* each by itself */
		chance += z == longest ? chance_of(o, z, size, shape->heads) : 0.0;
	}
	return chance;
}

/* One more, and with bands that go to and fro where there are bands. */
static void add_both(struct geo_search *s, const struct geo_hypothesis *h)
{
	struct geo_hypothesis other = *h;

	geo_add(s, h);
	other.shape.is_serpentine = true;
	if (h->shape.band != 1 && h->shape.heads > 1)
		geo_add(s, &other);
}

/* Of a layout and its bands to and fro: by a reading, and as tracks are counted, since what is taken for tracks without
 * data may be noise. */
void geo_add_reading(struct geo_search *s, const struct geo_shape *read, const struct geo_fit *fit, double dear)
{
	uint64_t band = read->band;
	struct geo_hypothesis h = { .shape = *read, .read = *read };

	/* Zones are one band, but not where by its own reading they are longer. */
	if (band == 0)
		band = fit->n && geo_band_behind(fit) == 0 ? geo_longest_zone(fit)->cylinders : UINT64_MAX;
	h.prior = dear + geo_chance(s->o, fit, read, read);
	if (band > GEO_BAND_MOST || !isfinite(h.prior))
		return;
	add_both(s, &h);
	if (read->band == 0)
		return;
	h.read = (struct geo_shape){ .heads = 0 };
	h.prior -= log(GEO_MISREAD_SHARE);
	add_both(s, &h);
}

static void add_meaning(struct geo_search *s, const struct geo_shape *read, const struct geo_fit *fit, double dear,
                        const struct geo_shape *shape)
{
	struct geo_hypothesis h = { .shape = *shape, .read = *read };

	if (shape->heads < 2 || shape->heads > GEO_HEADS || (shape->band != 1 && shape->band < GEO_BAND_LEAST) ||
	    shape->band > GEO_BAND_MOST || geo_is_same_layout(shape, read))
		return;
	h.prior = dear + geo_chance(s->o, fit, read, shape);
	if (h.prior < 2.0 * GEO_SPEAKS)
		add_both(s, &h);
}

void geo_add_meanings(struct geo_search *s, const struct geo_shape *read, const struct geo_fit *fit, double dear)
{
	struct geo_shape more = *read;

	for (uint32_t heads = 2; heads <= GEO_HEADS; heads++)
		for (uint64_t quarters = 1; quarters <= 8; quarters *= 2) {
			uint64_t tracks = turn_of(read) * quarters / 4;
			struct geo_shape shape = { .heads = heads, .band = tracks / heads };

			if (tracks % heads || turn_of(read) * quarters % 4)
				continue;
			for (int way = 0; way < 2; way++) {
				shape.is_alternate = way;
				add_meaning(s, read, fit, dear, &shape);
			}
		}
	/* Where heads alternate, a zone that begins on the second surface does not come by the first one for long. */
	more.heads++;
	if (read->is_alternate)
		add_meaning(s, read, fit, dear, &more);
}
