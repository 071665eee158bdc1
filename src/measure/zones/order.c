/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples in the order of their places, as zones and the mean of the surface are computed from them. */
#include <math.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "measure/zones/analysis.h"

#define LOST_PART \
	0.5 /* of a sample's time, lost in revolutions: more is its level (losses.c), and says nothing of density */

static int by_mid(const void *a, const void *b)
{
	const struct zone_at *x = a, *y = b;

	return x->mid < y->mid ? -1 : x->mid > y->mid;
}

bool zone_is_left_out(const struct zone_left_out *out, const struct zone_sample *s)
{
	if (out->slows && zone_touches_slow(out->slows, s))
		return true;
	for (size_t i = 0; out->stretches && i < out->stretches->n; i++)
		if (out->stretches->v[i].kind != STRETCH_DEVICE && s->from_bytes < out->stretches->v[i].end_bytes &&
		    s->end_bytes > out->stretches->v[i].first_bytes)
			return true;
	return false;
}

/*
 * Between places no other sample says which one is an accident. What narrowed down where a slow region begins and ends
 * lies in it in part, and of what an edge between zones was looked for by a single one may meet a bad track.
 */
static bool is_odd_edge(const struct zone_sample *s, const struct zone_layout *l)
{
	return s->kind == SAMPLE_EDGE &&
	       (s->position != ZONE_NONE || s->wait_revs * zone_rev_ns(l) >= LOST_PART * s->elapsed_ns);
}

struct zone_at *zone_in_order(const struct zone_samples *samples, const struct zone_layout *l,
                              const struct zone_levels *lv, const struct zone_left_out *out, size_t *ret_n)
{
	struct zone_at *v = xcalloc(samples->n + 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *s = &samples->v[i];
		enum zone_class c = s->position == ZONE_NONE ? ZONE_SHORT : l->positions[s->position].class;

		if (isnan(s->y) || zone_is_left_out(out, s) || (out->slows && is_odd_edge(s, l)))
			continue;
		v[n].from = (double)s->from_bytes;
		v[n].end = (double)s->end_bytes;
		v[n].mid = 0.5 * (v[n].from + v[n].end);
		v[n].y = out->slows ? s->clean_y : s->y;
		v[n].sigma = isnan(lv->sigma[c]) ? 0.0 : lv->sigma[c];
		v[n].at_s = s->at_s;
		v[n].position = s->position;
		n++;
	}
	qsort(v, n, sizeof(*v), by_mid);
	*ret_n = n;
	return v;
}

double zone_mean_y(const struct zone_at *v, size_t first, size_t end)
{
	double sum = 0.0;

	for (size_t i = first; i < end; i++)
		sum += v[i].y;
	return sum / (double)(end - first);
}
