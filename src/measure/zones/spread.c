/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where surfaces differ (heads.c): looks for their cycle at two places, then reads windows spread evenly over one cycle
 * of each place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "measure/zones/zones.h"

#define WINDOW_REVS     3.0 /* counted; fewer show the skews, more take time that other windows need (a choice) */
#define LOOK_AGAIN      64  /* windows after which the grid is looked at again */
#define LOOK_MAX        256 /* of all grids: a cycle of sixteen surfaces to and fro, twice, three windows each (a choice) */
#define LOOK_TRIES      5    /* distances: from windows side by side to a thousand times that */
#define LOOK_APART      0.15 /* of unlike neighbours: fewer make the grid too fine ... */
#define LOOK_AGAIN_LAGS 2.0  /* of a second look, which knows what to expect */
#define LOOK_STEPS      0.25
#define LOOK_FINE       0.14 /* steps among windows: fewer make the grid too fine, too */
#define LOOK_COARSE     0.45
#define LOOK_WHITE      0.75 /* ... and more too coarse */
#define LOOK_WANTED     0.3
#define LOOK_WIDER      8.0
#define SPREAD_PART     0.8 /* of the precision asked for, that what lies between windows may take (a choice) */
#define WINDOWS_MIN     (ZONE_SPREAD_MIN + 2) /* one or two may lose a revolution, or lie where something was read */
#define APART           2 /* lengths, from one window to the next: between them nothing was read ahead */
#define SPREAD_ROUNDS   2 /* of windows over a cycle (a choice) */
#define SPREAD_MAX      (ZONE_SPREAD_MOST / SPREAD_ROUNDS) /* windows of a round */
#define GAP_BYTES       (8ull << 20)                       /* more than a drive reads ahead */

static uint64_t window_bytes(const struct zone_target *t, double bytes_per_s)
{
	const struct zone_layout *l = &t->layout;
	uint64_t want = (uint64_t)(WINDOW_REVS * bytes_per_s * 1e-9 * zone_rev_ns(l));

	return (want / l->block_bytes + 2 + l->depth) * l->block_bytes;
}

static int take(struct zones_run *run, struct zone_target *t, enum sample_kind kind, size_t position, uint32_t pass,
                uint64_t at, uint64_t bytes, struct err *err)
{
	struct zone_sample how = { .position = position, .kind = kind, .pass = pass };

	how.first_bytes = at - at % t->layout.align_bytes;
	if (how.first_bytes + bytes > t->layout.end_bytes)
		how.first_bytes = t->layout.end_bytes - bytes;
	how.end_bytes = how.first_bytes + bytes;
	return zone_sample_take(run, t, &how, NULL, err);
}

static double rate_at(const struct zone_target *t, size_t position)
{
	const struct zone_levels *lv = &t->analysis->levels;

	return position < lv->n && lv->v[position].n ? zone_rate(lv->v[position].y) : t->bytes_per_s;
}

/* ---- the look ---- */

static int take_chunk(struct zones_run *run, struct zone_target *t, size_t position, uint32_t try, uint64_t first,
                      uint64_t spacing, struct err *err)
{
	uint64_t bytes = window_bytes(t, rate_at(t, position));
	int r = 0;

	for (size_t i = 0; r == 0 && i < ZONE_LOOK_CHUNK && !session_is_over(run->ses); i++)
		r = take(run, t, SAMPLE_LOOK, position, try, first + i * spacing, bytes, err);
	return r;
}

/* The grid after n windows: as it is (1), or by how much it should be wider. */
static double wider(const struct zone_target *t, size_t position, size_t n)
{
	double z[LOOK_AGAIN], change;

	for (size_t i = 0; i < n; i++) {
		const struct zone_sample *s = &t->spread.v[t->spread.n - n + i];

		z[i] = s->is_good ? zone_clean_y(&t->layout, s) : (double)NAN;
	}
	if (n == LOOK_AGAIN) {
		change = (double)zone_look_steps(z, n, zone_look_sigma(t, position)) / (double)n;
		return change > LOOK_FINE ? 1.0 : fmin(LOOK_STEPS / change, LOOK_WIDER);
	}
	change = zone_look_change(z, n, zone_places_apart(&t->analysis->levels));
	return change > LOOK_APART && change < LOOK_COARSE ? 1.0 : fmin(LOOK_WANTED / change, LOOK_WIDER);
}

/*
 * Looks at a position until a cycle shows, by windows side by side and then by ever wider ones, until a few of them lie
 * on one surface. expected: the lag that was found elsewhere by such a grid; 0: none.
 */
static int look(struct zones_run *run, struct zone_target *t, size_t position, uint64_t spacing, double expected,
                struct zone_cycle *cycle, bool *ret_is_found, struct err *err)
{
	/* Behind the place, whose bytes the drive may still hold. */
	uint64_t first = t->layout.positions[position].cell_bytes + t->layout.cell_bytes;
	uint32_t try = 0;
	size_t most = expected > 0.0 ? (size_t)(LOOK_AGAIN_LAGS * expected) + 2 * ZONE_LOOK_CHUNK : LOOK_MAX;
	bool is_near = false;
	int r = 0;

	*ret_is_found = false;
	for (size_t n = 0, all = 0; r == 0 && !*ret_is_found && all + ZONE_LOOK_CHUNK <= most;) {
		double times = 1.0;

		if (first + (n + ZONE_LOOK_CHUNK + 1) * spacing > t->layout.end_bytes ||
		    !zones_has_time(run, t, true) || session_is_over(run->ses))
			return 0;
		r = take_chunk(run, t, position, try, first + n * spacing, spacing, err);
		n += ZONE_LOOK_CHUNK;
		all += ZONE_LOOK_CHUNK;
		if (r < 0 || session_is_over(run->ses))
			return r;
		if (zone_looks_lose(t))
			return 0;
		*ret_is_found = n > ZONE_LOOK_CHUNK && zone_heads_look(t, position, expected, cycle);
		if (!*ret_is_found && !(expected > 0.0) && try + 1 < LOOK_TRIES &&
		    ((n == ZONE_LOOK_CHUNK && !is_near) || n == LOOK_AGAIN))
			times = wider(t, position, n);
		if (n == ZONE_LOOK_CHUNK && !try && times < LOOK_WANTED / LOOK_WHITE)
			return 0; /* nothing hangs together: no surfaces show at this scale, nor at a wider one */
		if (times != 1.0) {
			is_near |= n == LOOK_AGAIN || times < 1.0;
			first += n * spacing;
			spacing = (uint64_t)((double)spacing * times);
			spacing -= spacing % t->layout.align_bytes;
			n = 0;
			try++;
		}
	}
	return r;
}

/* ---- windows over a cycle ---- */

/* A place of its own in the cycle for each round: halves, quarters, eighths. */
static double turned(uint32_t round)
{
	double part = 0.0, of = 0.5;

	for (; round; round >>= 1, of /= 2.0)
		part += round & 1 ? of : 0.0;
	return part;
}

static size_t windows_of(const struct zones_run *run, const struct zone_cycle *c, uint64_t cycle_bytes, uint64_t bytes)
{
	double want = fmax(1.1 * c->changes,
	                   1.96 * sqrt(c->steps / 12.0) / (SPREAD_PART * log1p(session_precision(run->ses))));
	double var = pow(SPREAD_PART * log1p(session_precision(run->ses)) / 1.96, 2.0);
	size_t n = (size_t)fmin(fmax(want, WINDOWS_MIN), SPREAD_MAX);

	while (n < SPREAD_MAX && fmax(c[0].missed_var[n], c[1].missed_var[n]) > var)
		n++;
	return APART * n * bytes <= cycle_bytes ? n : (size_t)(cycle_bytes / bytes / APART);
}

/* Beside the cell, much of which was read: behind it, in the upper half before it. */
static void place_cycle(const struct zone_layout *l, struct zone_position *pos, double bytes)
{
	uint64_t cycle = (uint64_t)bytes, first = pos->cell_bytes + (pos->used ? l->cell_bytes : 0);

	if (pos->is_high)
		first = pos->cell_bytes > cycle + l->first_bytes ? pos->cell_bytes - cycle : l->first_bytes;
	if (first + cycle > l->end_bytes)
		first = l->end_bytes - cycle;
	pos->cycle_first_bytes = first - first % l->align_bytes;
	pos->cycle_bytes = cycle - cycle % l->align_bytes;
}

/* About a third of the way round, by which each of n windows is met once. */
static size_t far_step(size_t n)
{
	for (size_t step = n / 3; step > 1; step--) {
		size_t a = n, b = step;

		while (b) {
			size_t rest = a % b;

			a = b;
			b = rest;
		}
		if (a == 1)
			return step;
	}
	return 1;
}

uint64_t zone_unread(const struct zone_target *t, uint64_t at, uint64_t bytes)
{
	bool is_moved = true;

	while (is_moved) {
		is_moved = false;
		for (size_t i = 0; i < t->samples.n + t->spread.n; i++) {
			const struct zone_sample *s =
				i < t->samples.n ? &t->samples.v[i] : &t->spread.v[i - t->samples.n];

			if (s->first_bytes < at + bytes && s->end_bytes + bytes > at) {
				at = s->end_bytes + bytes;
				is_moved = true;
			}
		}
	}
	return at;
}

static int visit(struct zones_run *run, struct zone_target *t, size_t position, struct err *err)
{
	struct zone_position *pos = &t->layout.positions[position];
	const struct zone_cycle *c = t->cycle;
	double part =
		fmin(fmax((double)pos->cell_bytes - t->cycle_at[0], 0.0) / (t->cycle_at[1] - t->cycle_at[0]), 1.0);
	double cycle_ns = c[0].cycle_ns + part * (c[1].cycle_ns - c[0].cycle_ns), rate = rate_at(t, position);
	uint64_t bytes = window_bytes(t, rate);
	size_t n, step;
	int r = 0;

	if (!pos->cycle_bytes) {
		place_cycle(&t->layout, pos, cycle_ns * 1e-9 * rate);
		pos->cycle_turn = rng_double(&t->rng);
	}
	n = windows_of(run, c, pos->cycle_bytes, bytes);
	step = pos->cycle_bytes / n < bytes + GAP_BYTES ? far_step(n) : 1;
	for (size_t i = 0; r == 0 && i < n && !session_is_over(run->ses); i++) {
		double at = (double)(i * step % n) + pos->cycle_turn + turned(pos->cycle_rounds);
		uint64_t first, free;

		at = fmod(at, (double)n) / (double)n * (double)pos->cycle_bytes;
		first = pos->cycle_first_bytes + (uint64_t)at;
		free = zone_unread(t, first, bytes);
		if (free - first > pos->cycle_bytes / n || free + bytes > pos->cycle_first_bytes + pos->cycle_bytes)
			continue;
		r = take(run, t, SAMPLE_SPREAD, position, pos->cycle_rounds, free, bytes, err);
	}
	pos->cycle_rounds++;
	return r;
}

/* Does a cycle fit between two places, and a few windows into it? */
static bool is_usable(const struct zone_target *t, const struct zone_cycle *c)
{
	double spacing = (double)(t->layout.end_bytes - t->layout.first_bytes) / (double)t->layout.npositions;

	return c[0].lag * c[0].spacing < 0.5 * spacing &&
	       c[0].lag * c[0].spacing >= APART * WINDOWS_MIN * (double)window_bytes(t, rate_at(t, 0));
}

int zone_spread_find(struct zones_run *run, struct zone_target *t, struct err *err)
{
	size_t at[2] = { t->layout.npositions / 5, t->layout.npositions * 4 / 5 };
	uint64_t spacing = window_bytes(t, rate_at(t, at[0]));
	double expected = 0.0;
	bool is_found = false;
	int r = 0;

	for (size_t k = 0; k < 2; k++) {
		t->cycle_at[k] = (double)t->layout.positions[at[k]].cell_bytes;
		r = look(run, t, at[k], spacing, expected, &t->cycle[k], &is_found, err);
		if (r < 0 || !is_found)
			return r;
		/* Of the same time, so that a cycle of the same time has the same lag. */
		expected = t->cycle[k].lag;
		spacing = (uint64_t)(t->cycle[k].spacing * rate_at(t, at[1]) / rate_at(t, at[0]));
		spacing -= spacing % t->layout.align_bytes;
	}
	t->has_cycle = is_usable(t, t->cycle);
	return 0;
}

/* ---- the run ---- */

bool zone_spread_may(const struct zones_run *run, const struct zone_target *t)
{
	const struct zones_params *p = run->p;

	return !t->spread.n && !p->places && !p->quick && !p->write && !p->rewrite && !p->sample_bytes &&
	       t->layout.rev_ns > 0.0 && zone_heads_may_differ(t, session_precision(run->ses));
}

/* Instead of the passes that are left: windows over a cycle of each place, once more where that does not suffice. */
int zone_spread_run(struct zones_run *run, struct zone_target *t, struct err *err)
{
	double want = log1p(session_precision(run->ses));
	int r = 0;

	for (uint32_t round = 0; r == 0 && round < SPREAD_ROUNDS && !session_is_over(run->ses); round++) {
		for (size_t p = 0; r == 0 && p < t->layout.npositions && !session_is_over(run->ses); p++) {
			const struct zone_level *v = &t->analysis->levels.v[p];

			if (!zones_has_time(run, t, true) || zone_is_in_slow(&t->analysis->slows, p, false) ||
			    zone_is_in_stretch(&t->analysis->stretches, p) ||
			    (round && !(v->is_cycle && v->noise_half > want) &&
			     t->layout.positions[p].class != ZONE_LONG))
				continue;
			r = visit(run, t, p, err);
			zones_show(run, t, "surfaces", 0.85 * (0.5 + 0.5 * (double)p / (double)t->layout.npositions));
		}
		if (r == 0)
			zones_renew(run, t);
	}
	return r;
}

/* The same where places are of whole cycles over the surfaces: one more place in the middle between two bands, in the
 * room that there is. */
int zone_spread_narrow(struct zones_run *run, struct zone_target *t, struct err *err)
{
	cleanup_free uint64_t *at = xcalloc(t->analysis->bands.n + 1, sizeof(*at));
	double want = (double)(t->layout.end_bytes - t->layout.first_bytes) / (double)t->layout.npositions / 4.0;
	size_t n = 0;
	int r = 0;

	for (size_t k = 1; k < t->analysis->bands.n; k++)
		if ((double)t->analysis->bands.v[k].edge_half_bytes > want)
			at[n++] = t->analysis->bands.v[k].first_bytes;
	for (size_t k = 0; r == 0 && k < n && !session_is_over(run->ses) && zones_has_time(run, t, true); k++) {
		size_t p = zone_layout_insert(t, at[k]);

		r = visit(run, t, p, err);
		zones_show(run, t, "edges of zones", 0.95);
	}
	if (r == 0 && n)
		zones_renew(run, t);
	return r;
}

/* ---- what is told ---- */

void zone_bands_say(const struct zones_run *run, const struct zone_target *t)
{
	const struct zone_bands *bands = &t->analysis->bands;
	char cycle[32];

	if (t->analysis->bands.is_least)
		result_notice(run->res, "zones-at-least",
		              "%s has at least %zu recording zones; steps below %.2g %% are lost in noise.",
		              t->dev->path, bands->n, 100.0 * bands->least_step);
	if (t->analysis->hides_zones)
		result_notice(
			run->res, "zones-hidden",
			"Cannot tell whether %s has recording zones: no step stands out from the scatter of its samples. "
			"Its interface may also be no faster than its media.",
			t->dev->path);
	if (t->analysis->levels.has_cycles) {
		units_bytes_dec(cycle, sizeof(cycle), (uint64_t)t->analysis->levels.cycle_bytes);
		result_notice(
			run->res, "cycles",
			"The surfaces of %s differ in density and alternate within %s. Places and zones are averages over whole cycles; "
			"the table of surfaces shows single ones.",
			t->dev->path, cycle);
	}
	if (t->analysis->is_by_length)
		result_notice(
			run->res, "by-length",
			"Long samples of %s at its start, middle or end are far faster than short ones beside them, as with several actuators "
			"or striped disks. The curve is of short reads; a mean is not reported, and a sequential read is faster.",
			t->dev->path);
	if (!bands->has_sawtooth)
		return;
	result_notice(run->res, "surfaces",
	              "Surfaces of %s differ in density, so a band may be a zone or a group of surfaces. "
	              "Steps below %.2g %% are lost in noise.",
	              t->dev->path, 100.0 * t->analysis->bands.least_step);
}
