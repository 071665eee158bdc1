/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is not as it was written: ranges, in order. */
#include <stdlib.h>

#include "base/xalloc.h"
#include "measure/surface/writing.h"

const char *const surface_wrong_names[WRONG_KINDS] = { "lost",     "torn",    "misplaced",  "wrapped",
	                                               "bit-flip", "damaged", "not-written" };

/* The first that ends behind this place. */
static size_t first_behind(const struct surface_wrongs *l, uint64_t at)
{
	return surface_first_behind(l->v, l->n, sizeof(*l->v), at);
}

static bool goes_on(const struct surface_wrong *a, const struct surface_wrong *b)
{
	return a->end_bytes == b->first_bytes && a->kind == b->kind && a->away_bytes == b->away_bytes;
}

static void insert(struct surface_wrongs *l, size_t at, const struct surface_wrong *w)
{
	if (l->n == SURFACE_WRONG_MOST)
		l->unlisted_bytes += w->end_bytes - w->first_bytes;
	else
		l->v = surface_insert(l->v, &l->n, sizeof(*l->v), at, w);
}

void surface_wrongs_add(struct surface_wrongs *l, const struct surface_wrong *w)
{
	struct surface_wrong rest = *w;

	while (rest.first_bytes < w->end_bytes) {
		size_t i = first_behind(l, rest.first_bytes);
		uint64_t next = i < l->n && l->v[i].first_bytes < w->end_bytes ? l->v[i].first_bytes : w->end_bytes;

		if (next <= rest.first_bytes) { /* known */
			rest.first_bytes = l->v[i].end_bytes;
			continue;
		}
		rest.end_bytes = next;
		if (i && goes_on(&l->v[i - 1], &rest)) {
			l->v[i - 1].end_bytes = next;
			i--;
		} else {
			insert(l, i, &rest);
		}
		if (i + 1 < l->n && goes_on(&l->v[i], &l->v[i + 1])) {
			l->v[i].end_bytes = l->v[i + 1].end_bytes;
			surface_drop(l->v, &l->n, sizeof(*l->v), i + 1);
		}
		rest.first_bytes = next;
	}
}

static bool is_torn(const struct surface_wrong *w, const struct surface_range *range, uint64_t block_bytes)
{
	return (w->first_bytes - range->first_bytes) % block_bytes ||
	       ((w->end_bytes - range->first_bytes) % block_bytes && w->end_bytes != range->end_bytes);
}

enum surface_wrong_kind *surface_wrong_kinds(const struct surface_wrongs *l, const struct surface_range *range,
                                             uint64_t block_bytes)
{
	enum surface_wrong_kind *kinds = xcalloc(l->n + 1, sizeof(*kinds));

	for (size_t i = 0; i < l->n; i++) {
		const struct surface_wrong *w = &l->v[i];

		kinds[i] = w->kind == WRONG_LOST && is_torn(w, range, block_bytes) ? WRONG_TORN : w->kind;
	}
	for (size_t i = 0; i < l->n; i++) {
		uint64_t own = l->v[i].first_bytes + (uint64_t)l->v[i].away_bytes;
		size_t k = first_behind(l, own);
		bool is_missing = k < l->n && l->v[k].first_bytes <= own && l->v[k].kind == WRONG_LOST;

		if (l->v[i].kind == WRONG_MISPLACED && is_missing)
			kinds[k] = WRONG_MISPLACED;
		else if (l->v[i].kind == WRONG_MISPLACED)
			kinds[i] = WRONG_WRAPPED;
	}
	return kinds;
}

void surface_wrongs_done(struct surface_wrongs *l)
{
	free(l->v);
	*l = (struct surface_wrongs){ 0 };
}

/* ---- every read of what was written is checked, sector by sector, whoever asked for it ---- */

#define FIRST_PASS 1
#define FEEL_NS    (10 * NS_PER_S) /* a disk warms up by less than a degree meanwhile */

struct payload_id surface_burn_id(const struct surface_run *run, uint64_t at)
{
	return (struct payload_id){ .seed = run->burn->run_id,
		                    .sequence = FIRST_PASS,
		                    .offset_bytes = at,
		                    .len_bytes = run->ses->devs[0].logical_block_bytes };
}

void surface_burn_wrong(struct surface_run *run, uint64_t first, uint64_t end, enum surface_wrong_kind kind,
                        int64_t away)
{
	surface_wrongs_add(&run->burn->wrongs, &(struct surface_wrong){ first, end, kind, away });
}

void surface_burn_feel(struct surface_run *run, const struct io_req *req)
{
	const struct env *env = run->ses->env;
	struct surface_burn *b = run->burn;
	struct surface_cell *c = surface_cell_at(run, req->offset_bytes);
	uint32_t mc;

	if (!env->devices->temperature || (b->felt_ns && req->done_ns < b->felt_ns + FEEL_NS))
		return;
	b->felt_ns = req->done_ns;
	mc = env->devices->temperature(env->devices_ctx, &run->ses->devs[0]);
	if (!mc)
		return;
	c->most_celsius = fmax(c->most_celsius, mc * 1e-3);
	b->least_celsius = fmin(b->least_celsius, mc * 1e-3);
	b->most_celsius = fmax(b->most_celsius, mc * 1e-3);
}

static void check_sector(struct surface_run *run, const uint8_t *data, uint64_t at)
{
	const struct payload_id id = surface_burn_id(run, at);
	struct payload_id found;
	enum surface_wrong_kind kind = WRONG_LOST;

	switch (payload_look(data, &id, &found)) {
	case PAYLOAD_GOOD:
		return;
	case PAYLOAD_FLIPPED:
		kind = WRONG_FLIPPED;
		break;
	case PAYLOAD_DAMAGED:
		kind = WRONG_DAMAGED;
		break;
	case PAYLOAD_ELSEWHERE:
		surface_burn_wrong(run, at, at + id.len_bytes, WRONG_MISPLACED, (int64_t)(found.offset_bytes - at));
		return;
	default:
		break;
	}
	surface_burn_wrong(run, at, at + id.len_bytes, kind, 0);
}

void surface_burn_check(struct surface_run *run, const struct io_req *req)
{
	const uint32_t sector = run->ses->devs[0].logical_block_bytes;

	if (!run->burn || !surface_is_written(run) || req->op != IO_READ || !req->buf)
		return;
	if (req->offset_bytes >= run->range.first_bytes && req->offset_bytes < run->range.end_bytes)
		surface_burn_feel(run, req);
	for (uint32_t i = 0; i + sector <= req->len_bytes; i += sector)
		if (req->offset_bytes + i >= run->range.first_bytes &&
		    req->offset_bytes + i + sector <= run->range.end_bytes)
			check_sector(run, (const uint8_t *)req->buf + i, req->offset_bytes + i);
}
