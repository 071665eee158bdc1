/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where `platter zones` reads, and how much.
 *
 * Positions are spread evenly, the first cell begins with the first byte, the last one ends with the last. A cell
 * takes at most half of the distance between two positions, so that the middle of the target fits between them as one
 * more place. Positions of the lower half take their windows from the cell's start upwards, those of the upper half
 * from its end downwards: neither end is favoured, and each sample is read at a place of its own.
 */
#include "measure/zones/zones.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "measure/shared/rewrite.h"

#define MIB               (1ull << 20)
#define GAP_BYTES         (8 * MIB)        /* between windows where there is room: more than a drive reads ahead */
#define WINDOW_MIN_BYTES  (1900 * 1024ull) /* ten revolutions of a small disk */
#define BLOCK_BYTES       MIB              /* large beside what a request costs, small beside a sample */
#define CUT_REVOLUTIONS   4.0              /* with waits for the host a twentieth of the time and less (a choice) */
#define QUICK_BLOCK_BYTES (256 * 1024u)    /* the lead-in is counted in blocks, and a short sample has not many */
#define REVOLUTIONS                                                                                                    \
	10.0 /* of a sample, at least: that many tracks, or the skews at its ends decide (statistics: stats of slopes) \
	      */
#define LONG_REVOLUTIONS 60.0 /* of the places of the figures: surfaces that differ come by turns */
#define PLACE_REVOLUTIONS                                                                                            \
	13.0 /* the same with --zones: where surfaces differ many short samples say more than few long ones, and the \
	        precision asked for decides how many */
#define FINE_PART                                                                                                      \
	0.36 /* of these, where requests show the tracks: skews are off by less than 0.2 % then (trial on four drives) \
	      */
#define REQUESTS \
	50.0 /* of a short sample in the pass before that, in large ones: less show no tracks (trial, the same) */
#define RANDOM_BLOCKS_MIN 24 /* a sample of more blocks is shortened by chance ... */
#define LOOKS             2  /* at a suspect, in requests of other sizes: one of each of two */
#define RANDOM_PART       3  /* ... by up to 1 / this */

uint32_t zone_passes(const struct zones_params *p)
{
	if (p->passes)
		return (uint32_t)p->passes;
	return p->quick ? 2 : p->places ? 5 : 3;
}

uint32_t zone_visits(const struct zones_params *p, enum zone_class class)
{
	return class == ZONE_LONG && !p->places ? 2 : 1;
}

double zone_guess_rate(const struct device *dev)
{
	if (dev->rotational == 0)
		return 500e6;
	return dev->disk_size_bytes < 10000000000ull ? 6e6 : dev->disk_size_bytes < 500000000000ull ? 40e6 : 130e6;
}

/* ---- what is measured of the target ---- */

static uint64_t round_down(uint64_t x, uint64_t to)
{
	return x - x % to;
}

static int find_extent(struct zone_layout *l, const struct device *dev, const struct zones_params *p, struct err *err)
{
	uint64_t first = 0, end = dev->size_bytes, data = datafile_first_byte(dev);
	int r = units_parse_range(p->range, dev->size_bytes, &first, &end, err);

	if (r < 0)
		return r;
	if (first < data)
		first = data; /* a header and a hole */
	if ((p->write || p->rewrite) && dev->kind != DEVICE_FILE) {
		first = first < REWRITE_EDGE_BYTES ? REWRITE_EDGE_BYTES : first;
		end = dev->size_bytes - end < REWRITE_EDGE_BYTES && dev->size_bytes > REWRITE_EDGE_BYTES
		              ? dev->size_bytes - REWRITE_EDGE_BYTES
		              : end;
	}
	l->first_bytes = round_down(first + l->align_bytes - 1, l->align_bytes);
	l->end_bytes = round_down(end, l->align_bytes);
	if (l->end_bytes < l->first_bytes + 4 * MIB)
		return err_set(err, -EINVAL,
		               "%s: zones needs at least 4 MiB to measure in, not %" PRIu64
		               " bytes; give a larger --range or target.",
		               dev->path, l->end_bytes > l->first_bytes ? l->end_bytes - l->first_bytes : 0);
	return 0;
}

/* ---- cells and windows ---- */

/*
 * Larger requests reach the device in pieces of what it takes at once, the last one small: each costs what a request
 * costs, and where one goes at a time a small one may cost a revolution. So requests are such a piece, or twice as much
 * and so on.
 */
static uint32_t uncut(uint32_t block, const struct zone_layout *l)
{
	uint32_t whole = l->piece_bytes;

	if (whole == 0 || whole >= block || whole % l->align_bytes)
		return block;
	while (whole <= block / 2)
		whole *= 2;
	return whole;
}

/* Divides half the room of a position into windows; fewer positions when they would get too small. */
static void size_cells(struct zone_layout *l, const struct zones_params *p, size_t *npositions)
{
	uint64_t region = l->end_bytes - l->first_bytes, room, want;
	uint32_t block = p->block_bytes ? (uint32_t)p->block_bytes : p->quick ? QUICK_BLOCK_BYTES : BLOCK_BYTES;
	bool is_fixed =
		p->block_bytes || (p->full && region >= ZONE_SAMPLE_BYTES); /* --full has no windows to fit into */

	l->slots = 2 * zone_passes(p) + 2;
	while (*npositions > 2 && region / *npositions / 2 / l->slots < WINDOW_MIN_BYTES)
		(*npositions)--;
	room = region / (*npositions > 1 ? *npositions : 2) / 2 / l->slots;
	if (!is_fixed)
		while (block > ZONE_BLOCK_MIN && block > room / ZONE_WINDOW_BLOCKS)
			block /= 2;
	if (!is_fixed && block > room / ZONE_WINDOW_BLOCKS)
		block = (uint32_t)round_down(room / ZONE_WINDOW_BLOCKS, l->align_bytes);
	if (block < l->align_bytes)
		block = l->align_bytes;
	if (!p->block_bytes)
		block = uncut(block, l);
	want = (p->sample_bytes ? p->sample_bytes : ZONE_SAMPLE_BYTES) + (l->depth + 1) * (uint64_t)block;
	l->block_bytes = l->coarse_bytes = block;
	l->window_bytes = round_down(want < room ? want : room, block);
	if (l->window_bytes < block)
		l->window_bytes = block;
	l->stride_bytes = l->window_bytes +
	                  round_down(room - l->window_bytes < GAP_BYTES ? room - l->window_bytes : GAP_BYTES, block);
	l->cell_bytes = (l->slots - 1) * l->stride_bytes + l->window_bytes;
}

static void place_cell(struct zone_layout *l, struct zone_position *pos, double at)
{
	double room = (double)(l->end_bytes - l->first_bytes - l->cell_bytes);
	double from = at < 0.0 ? 0.0 : at > room ? room : at;

	pos->cell_bytes = l->first_bytes + round_down((uint64_t)from, l->align_bytes);
	pos->is_high = from > room / 2;
	if (from >= room)
		pos->cell_bytes = l->end_bytes - l->cell_bytes;
}

static void spread_positions(struct zone_layout *l, const struct zones_params *p)
{
	size_t n = p->positions;
	double room;

	l->wanted_positions = n;
	size_cells(l, p, &n);
	l->positions = xcalloc(n + 1, sizeof(*l->positions));
	room = (double)(l->end_bytes - l->first_bytes - l->cell_bytes);
	l->npositions = 0;
	for (size_t i = 0; i < n; i++) {
		if (n % 2 == 0 && i == n / 2) {
			l->middle = l->npositions++;
			l->positions[l->middle].is_extra = true;
			place_cell(l, &l->positions[l->middle], room / 2);
		}
		place_cell(l, &l->positions[l->npositions++], n > 1 ? room * (double)i / (double)(n - 1) : 0.0);
	}
	if (n % 2)
		l->middle = n / 2;
	l->positions[l->middle].is_centred = true;
	l->start = 0;
	l->end = l->npositions - 1;
	l->positions[l->start].class = l->positions[l->middle].class = l->positions[l->end].class = ZONE_LONG;
}

static int by_place(const void *a, const void *b)
{
	const struct zone_position *x = a, *y = b;

	return x->cell_bytes < y->cell_bytes ? -1 : x->cell_bytes > y->cell_bytes;
}

/* One entry of --zones: where its cell should begin. */
static int list_place(const struct zone_layout *l, const char *word, double *ret_at, struct err *err)
{
	double region = (double)(l->end_bytes - l->first_bytes), cell = (double)l->cell_bytes;
	uint64_t place;
	int r;

	if (strcmp(word, "start") == 0)
		*ret_at = 0.0;
	else if (strcmp(word, "middle") == 0)
		*ret_at = (region - cell) / 2;
	else if (strcmp(word, "end") == 0)
		*ret_at = region - cell;
	else {
		r = units_parse_place(word, l->end_bytes - l->first_bytes, &place, err);
		if (r < 0 && word[0] >= '0' && word[0] <= '9')
			return err_prefix(err, "--zones");
		if (r < 0)
			return err_set(
				err, r,
				"--zones does not know '%.40s'; did you mean %s? A place is start, middle, end, 25%% or 10GB.",
				word,
				strchr("mc", word[0])    ? "middle"
				: strchr("eil", word[0]) ? "end"
							 : "start");
		*ret_at = (double)place - (word[strlen(word) - 1] == '%' ? cell / 2 : 0.0);
	}
	return 0;
}

/* --zones=start,middle,end */
static int list_positions(struct zone_layout *l, const struct zones_params *p, struct err *err)
{
	cleanup_free char *copy = xmust(strdup(p->places));
	size_t n = 1, at = 0;
	char *save = NULL;

	for (const char *c = copy; *c; c++)
		n += *c == ',';
	l->wanted_positions = n;
	/* As large as the cells of a curve, so that "start" means the same bytes: on small disks more would be several
	 * recording zones. */
	n = n < p->positions ? p->positions : n;
	size_cells(l, p, &n);
	l->positions = xcalloc(l->wanted_positions, sizeof(*l->positions));
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		struct zone_position *pos = &l->positions[at++];
		double place = 0.0;
		int r = list_place(l, word, &place, err);

		if (r < 0)
			return r;
		place_cell(l, pos, place);
		pos->class = ZONE_LONG;
		(void)snprintf(pos->label, sizeof(pos->label), "%s", word);
	}
	if (!at)
		return err_set(err, -EINVAL,
		               "--zones needs at least one place; write start,middle,end or some of them.");
	l->npositions = l->wanted_positions = at;
	qsort(l->positions, at, sizeof(*l->positions), by_place);
	for (size_t i = 0; i < at; i++) {
		const char *label = l->positions[i].label;

		if (i && l->positions[i].cell_bytes < l->positions[i - 1].cell_bytes + l->cell_bytes)
			return err_set(
				err, -EINVAL,
				"--zones: %s and %s lie too close together on a target of this size; leave one out.",
				l->positions[i - 1].label, label);
		l->start = strcmp(label, "start") == 0 ? i : l->start;
		l->middle = strcmp(label, "middle") == 0 ? i : l->middle;
		l->positions[i].is_centred = strcmp(label, "middle") == 0;
		l->end = strcmp(label, "end") == 0 ? i : l->end;
	}
	return 0;
}

int zone_layout_init(struct zone_layout *l, const struct device *dev, const struct zones_params *p, struct err *err)
{
	uint32_t direct = device_direct_align(dev);
	double rpm = (double)dev->id.reported_rpm;
	int r;

	*l = (struct zone_layout){ .start = ZONE_NONE,
		                   .middle = ZONE_NONE,
		                   .end = ZONE_NONE,
		                   .depth = (uint32_t)p->depth,
		                   .looks = LOOKS,
		                   .piece_bytes = dev->queue.max_sectors_bytes,
		                   .is_one_at_a_time = dev->queue.queue_depth == 1 };
	/*
	 * Those under way at once, of which a drive serves the first as it likes. One that has one request at a time
	 * has only the one that it seeks for, and the others wait at the host; of a curve they are left out all the
	 * same: what is lost at the begin of a sample is of the way (trial: wild disks).
	 */
	l->lead_in = l->is_one_at_a_time && p->places ? 1 : l->depth;
	l->align_bytes = direct ? direct : 512;
	/* Whole physical sectors where the target's size allows it: less would be read-modify-write, or two sectors for
	 * one. */
	if (dev->physical_block_bytes > l->align_bytes && dev->physical_block_bytes % l->align_bytes == 0 &&
	    dev->size_bytes % dev->physical_block_bytes == 0 && dev->queue.alignment_offset_bytes == 0)
		l->align_bytes = dev->physical_block_bytes;
	if (plan_block(dev, p->block_bytes, l->align_bytes, err) < 0)
		return -EINVAL;
	l->rev_ns = dev->rotational == 0 ? 0.0 : rpm > 0.0 ? 60e9 / rpm : (double)NAN;
	r = find_extent(l, dev, p, err);
	if (r == 0 && p->places)
		r = list_positions(l, p, err);
	else if (r == 0)
		spread_positions(l, p);
	if (r < 0)
		zone_layout_done(l);
	return r;
}

void zone_layout_done(struct zone_layout *l)
{
	free(l->positions);
	l->positions = NULL;
	l->npositions = 0;
}

uint64_t zone_sample_bytes(const struct zone_layout *l, const struct zones_params *p, enum zone_class class,
                           double bytes_per_s)
{
	double want = (double)(p->sample_bytes ? p->sample_bytes : ZONE_SAMPLE_BYTES), block = l->block_bytes, least,
	       most, bytes, revs, part = 1.0;
	double rev_ns = l->rev_ns > 0.0 ? l->rev_ns : ZONE_REV_NS;
	double rev_bytes = bytes_per_s * 1e-9 * rev_ns;
	uint64_t window_blocks = l->window_bytes / l->block_bytes;

	if (l->fine_bytes)
		part = fmax(FINE_PART, l->block_bytes == l->fine_bytes
		                               ? 0.0
		                               : fmin(REQUESTS * block / rev_bytes / ZONE_SHORT_REVS, 1.0));
	least = fmin(rev_bytes * REVOLUTIONS * part, want);
	revs = class == ZONE_SHORT     ? p->quick ? REVOLUTIONS : ZONE_SHORT_REVS
	       : p->quick || p->places ? PLACE_REVOLUTIONS
	                               : LONG_REVOLUTIONS;
	most = rev_bytes * revs * part;
	if (class == ZONE_SHORT && !p->sample_bytes)
		want /= 3;
	bytes = p->sample_bytes ? want : fmax(fmin(want, most), least);
	bytes = fmax(bytes, 2.0 * ZONE_DONE_MIN * block) + (l->lead_in + 1) * block;
	return (uint64_t)(fmin(ceil(bytes / block), (double)window_blocks) * block);
}

void zone_layout_refine(struct zone_layout *l, const struct zones_params *p, double bytes_per_s)
{
	double rev_ns = zone_rev_ns(l), most = zone_is_cut(l)                      ? CUT_REVOLUTIONS
	                                       : p->places && !l->is_one_at_a_time ? ZONE_PLACE_REQUEST_REVS
	                                                                           : ZONE_REQUEST_REVS;

	if (p->block_bytes || !(rev_ns > 0.0))
		return;
	while (l->block_bytes / 2 >= ZONE_BLOCK_MIN && l->block_bytes % (2 * l->align_bytes) == 0 &&
	       l->block_bytes > bytes_per_s * 1e-9 * rev_ns * most)
		l->block_bytes /= 2;
	l->coarse_bytes = l->block_bytes; /* windows and strides stay multiples */
}

/* Which window the position's next sample takes. */
static uint32_t next_slot(const struct zone_layout *l, const struct zone_position *pos)
{
	uint32_t k = pos->used, half = (l->slots - 1) / 2, passes = l->slots / 2 - 1;

	if (k < passes)
		k = pos->step[0] ? k * pos->step[0] % passes : (k + pos->turn) % passes;
	else if (pos->step[1])
		k = passes + (k - passes) * pos->step[1] % (l->slots - passes);
	if (!pos->is_centred)
		return pos->is_high ? l->slots - 1 - k : k;
	if (k / 2 >= l->slots - 1 - half) /* slots odd: one side is used up */
		return 0;
	return k % 2 ? half + 1 + k / 2 : half - k / 2;
}

/* Some number that goes to all of n places, round and round. */
static uint32_t draw_step(struct rng *rng, uint32_t n)
{
	uint32_t step, a, b;

	do {
		step = 1 + (uint32_t)rng_below(rng, n);
		for (a = n, b = step; b;) {
			uint32_t rest = a % b;

			a = b;
			b = rest;
		}
	} while (a != 1);
	return step;
}

bool zone_take_window(struct zone_layout *l, size_t position, uint64_t want_bytes, struct rng *rng, uint64_t *ret_first,
                      uint64_t *ret_end)
{
	struct zone_position *pos = &l->positions[position];
	uint64_t first, slack, skip;

	if (pos->used == l->slots)
		return false;
	/* By chance, or each pass would meet the same surfaces everywhere, where their cycle fits into the distance of
	 * two places: that looks like drift. */
	if (!pos->used && pos->class == ZONE_SHORT && l->slots > 3)
		pos->turn = (uint32_t)rng_below(rng, l->slots / 2 - 1);
	/* Of three places in order, what changes along each looks like drift. */
	if (!pos->used && pos->label[0]) {
		pos->step[0] = draw_step(rng, l->slots / 2 - 1);
		pos->step[1] = draw_step(rng, l->slots - (l->slots / 2 - 1));
	}
	first = pos->cell_bytes + next_slot(l, pos) * l->stride_bytes;
	/* Where a sample begins and ends within a track must be chance, or all would be off to the same side. */
	if (want_bytes > RANDOM_BLOCKS_MIN * l->block_bytes)
		want_bytes -= rng_below(rng, want_bytes / RANDOM_PART / l->block_bytes + 1) * l->block_bytes;
	slack = l->window_bytes - want_bytes;
	skip = round_down(rng_below(rng, slack + 1), l->align_bytes);
	if (!pos->used && first == l->first_bytes)
		skip = 0;
	if (!pos->used && first + l->window_bytes == l->end_bytes)
		skip = slack;
	pos->used++;
	first += skip;
	/* Where nothing rotates, requests lie in the flash's stripes as those of programs do. */
	if (l->rev_ns == 0.0 && first - first % l->block_bytes >= l->first_bytes)
		first -= first % l->block_bytes;
	*ret_first = first;
	*ret_end = *ret_first + want_bytes;
	return true;
}
