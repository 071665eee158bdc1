/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cache on the media itself: what is written in small pieces, here and there, goes to it in one sequence first, and
 * to its place when the disk is idle, or when there is no room left. Conventional drives have it to be quick; drives
 * that shingle their tracks on their own have to have it, for there a band can be written only as a whole (Aghayev and
 * Desnoyers, Skylight, FAST 2015).
 *
 * The cache is a log of sectors and a map of entries. Which sectors of which band lie in it is kept by band, in order;
 * an older entry of the same sectors is cut. What lies longest (or as media_cache_first says) is put to its place
 * first, together with all else of its band: each entry is read where it lies in the log, the band is read, merged and
 * written. Without bands the entries are written to their places one by one. All that is a question of time only:
 * contents are where they belong from the beginning, and nothing of it is lost with the power.
 */
#include "disk.h"

#include <stdlib.h>
#include <string.h>

#define PLAIN_BAND (32u << 20) /* bytes that are cleaned together where there are no bands */

/* Sectors of the media that are in the log; at: where, counted over all that was ever written to it. */
struct entry {
	uint64_t first, end, at;
};

struct band {
	struct entry *v; /* by first */
	uint32_t n, room;
	uint64_t last; /* when something came to it, as the log counts */
};

struct aged { /* an entry as it was when it came */
	uint64_t at, first, end;
};

struct mediacache {
	uint64_t sectors, begin; /* of the log, and where on the disk it lies */
	uint64_t band_sectors, direct_sectors;
	struct band *bands;
	size_t nbands;
	uint64_t live, head, tail; /* entries; the log's ends */
	struct aged *aged;         /* entries as they came, a ring; those that were cut since are still in it */
	size_t aged_first, naged, aged_room;
	uint64_t run_first, run_end; /* what was written last without a gap */
	uint64_t open_end;           /* a band that is written in a stream is whole up to here; 0: none is open */
	uint64_t dip_writes;
	double busy_until; /* with what the host wants */

	/* the band that is being cleaned */
	struct entry *work; /* its entries as they were when that began */
	size_t nwork, done, band;
	uint64_t from_head;
	bool is_fetched; /* all of them are read; without bands they are written now */
};

bool mediacache_is_wanted(const struct profile *p)
{
	return p->mcache.bytes > 0;
}

struct mediacache *mediacache_new(const struct disk *d)
{
	struct mediacache *m = calloc(1, sizeof(*m));
	uint32_t sector = d->p.physical_sector_bytes;

	if (!m)
		return NULL;
	m->band_sectors = (d->p.mcache.band_bytes ? d->p.mcache.band_bytes : PLAIN_BAND) / sector;
	m->direct_sectors = d->p.mcache.direct_bytes / sector;
	m->sectors = d->p.mcache.bytes / sector < d->g->sectors ? d->p.mcache.bytes / sector : d->g->sectors;
	m->begin = (uint64_t)(d->p.mcache.place * (double)(d->g->sectors - m->sectors));
	m->nbands = (d->g->sectors + m->band_sectors - 1) / m->band_sectors;
	m->bands = calloc(m->nbands, sizeof(*m->bands));
	m->run_end = UINT64_MAX;
	if (m->bands)
		return m;
	free(m);
	return NULL;
}

void mediacache_free(struct mediacache *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->nbands; i++)
		free(m->bands[i].v);
	free(m->bands);
	free(m->aged);
	free(m->work);
	free(m);
}

uint64_t mediacache_entries(const struct mediacache *m)
{
	return m->live;
}

/* ---- the map ---- */

/* Index of the first entry that ends after the sector. */
static uint32_t entry_after(const struct band *b, uint64_t sector)
{
	uint32_t low = 0, high = b->n;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (b->v[mid].end <= sector)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The first entry with sectors in [first, end), from whichever band; NULL: there is none. */
static const struct entry *next_entry(const struct mediacache *m, uint64_t first, uint64_t end)
{
	for (uint64_t i = first / m->band_sectors; m->live && i < m->nbands && i * m->band_sectors < end; i++) {
		const struct band *b = &m->bands[i];
		uint32_t k = entry_after(b, first);

		if (k < b->n)
			return b->v[k].first < end ? &b->v[k] : NULL;
	}
	return NULL;
}

uint64_t mediacache_next(const struct mediacache *m, uint64_t first, uint64_t end)
{
	const struct entry *e = next_entry(m, first, end);

	return !e ? end : e->first > first ? e->first : first;
}

static bool band_reserve(struct band *b)
{
	uint32_t room = b->room ? b->room * 2 : 8;
	struct entry *v;

	if (b->n + 2 <= b->room)
		return true;
	v = realloc(b->v, room * sizeof(*v));
	if (!v)
		return false;
	b->v = v;
	b->room = room;
	return true;
}

static void band_open(struct mediacache *m, struct band *b, uint32_t i, struct entry e)
{
	memmove(b->v + i + 1, b->v + i, (b->n - i) * sizeof(*b->v));
	b->v[i] = e;
	b->n++;
	m->live++;
}

static void band_close(struct mediacache *m, struct band *b, uint32_t from, uint32_t to)
{
	memmove(b->v + from, b->v + to, (b->n - to) * sizeof(*b->v));
	b->n -= to - from;
	m->live -= to - from;
}

/* Takes [first, end), which lies within the band, out of its entries. There must be room for one more. */
static void band_cut(struct mediacache *m, struct band *b, uint64_t first, uint64_t end)
{
	uint32_t i = entry_after(b, first), k;

	if (i < b->n && b->v[i].first < first) {
		struct entry *e = &b->v[i], rest = { .first = end, .end = e->end, .at = e->at + (end - e->first) };

		e->end = first;
		i++;
		if (rest.end > end) {
			band_open(m, b, i, rest);
			return;
		}
	}
	for (k = i; k < b->n && b->v[k].end <= end; k++)
		;
	band_close(m, b, i, k);
	if (i < b->n && b->v[i].first < end) {
		b->v[i].at += end - b->v[i].first;
		b->v[i].first = end;
	}
}

static void cut(struct mediacache *m, uint64_t first, uint64_t end)
{
	while (m->live && first < end) {
		struct band *b = &m->bands[first / m->band_sectors];
		uint64_t to = (first / m->band_sectors + 1) * m->band_sectors;

		to = to < end ? to : end;
		if (b->n && band_reserve(b))
			band_cut(m, b, first, to);
		first = to;
	}
}

/* ---- age ---- */

/* What is left of an entry lies behind its first sector, and further on in the log by as much. */
static bool is_live(const struct mediacache *m, const struct aged *a)
{
	const struct band *b = &m->bands[a->first / m->band_sectors];

	for (uint32_t i = entry_after(b, a->first); i < b->n && b->v[i].first < a->end; i++)
		if (b->v[i].at - a->at == b->v[i].first - a->first)
			return true;
	return false;
}

/* The log's tail moves on over what is gone; then the first of age is the oldest entry. */
static void find_tail(struct mediacache *m)
{
	while (m->naged && !is_live(m, &m->aged[m->aged_first])) {
		m->aged_first = (m->aged_first + 1) % m->aged_room;
		m->naged--;
	}
	m->tail = m->naged ? m->aged[m->aged_first].at : m->head;
}

static bool aged_add(struct mediacache *m, struct aged a)
{
	if (m->naged == m->aged_room) {
		size_t room = m->aged_room ? m->aged_room * 2 : 1024;
		struct aged *v = malloc(room * sizeof(*v));

		if (!v)
			return false;
		for (size_t i = 0; i < m->naged; i++)
			v[i] = m->aged[(m->aged_first + i) % m->aged_room];
		free(m->aged);
		m->aged = v;
		m->aged_first = 0;
		m->aged_room = room;
	}
	m->aged[(m->aged_first + m->naged++) % m->aged_room] = a;
	return true;
}

/* ---- the arm ---- */

/* To these sectors at t and over all of them; returns when that is over. */
static double pass(struct disk *d, double t, uint64_t first, uint64_t end, enum disk_op op, bool is_any_angle)
{
	struct media_op ret;
	struct place place;

	if (first >= end)
		return t;
	geometry_place(d->g, first, &place);
	media_pass(d, t, &place, first, end, op, is_any_angle, &ret);
	if (op == DISK_WRITE)
		d->count.media_written_bytes += (end - first) * d->p.physical_sector_bytes;
	return ret.end;
}

/* The same in the log, which may end and go on at its beginning. */
static double pass_log(struct disk *d, double t, uint64_t at, uint64_t n, enum disk_op op)
{
	struct mediacache *m = d->mcache;

	while (n) {
		uint64_t first = at % m->sectors, part = n < m->sectors - first ? n : m->sectors - first;

		t = pass(d, t, m->begin + first, m->begin + first + part, op, op == DISK_WRITE);
		at += part;
		n -= part;
	}
	return t;
}

/* ---- cleaning ---- */

/* The band to clean; there is one with entries. */
static size_t first_band(const struct mediacache *m, uint32_t how)
{
	size_t best = m->aged[m->aged_first].first / m->band_sectors;

	for (size_t i = 0; how != MCACHE_OLDEST && i < m->nbands; i++) {
		const struct band *b = &m->bands[i], *than = &m->bands[best];

		if (b->n && (how == MCACHE_FULLEST ? b->n > than->n : b->last < than->last))
			best = i;
	}
	return best;
}

static bool begin_cleaning(struct mediacache *m, uint32_t how)
{
	size_t band = m->naged ? first_band(m, how) : 0;
	const struct band *b = &m->bands[band];

	if (!m->naged)
		return false;
	m->work = malloc(b->n * sizeof(*m->work));
	if (!m->work)
		return false;
	memcpy(m->work, b->v, b->n * sizeof(*m->work));
	m->nwork = b->n;
	m->band = band;
	m->done = 0;
	m->from_head = m->head;
	m->is_fetched = false;
	return true;
}

/* What came into the band meanwhile stays. */
static void end_cleaning(struct disk *d)
{
	struct mediacache *m = d->mcache;
	struct band *b = &m->bands[m->band];

	for (uint32_t i = b->n; i-- > 0;)
		if (b->v[i].at < m->from_head)
			band_close(m, b, i, i + 1);
	free(m->work);
	m->work = NULL;
	d->count.cleanings++;
	find_tail(m);
}

/* All of the band is read and written, at once; where the entries are all of it there is nothing to read. */
static double rewrite_band(struct disk *d, double t)
{
	const struct mediacache *m = d->mcache;
	uint64_t first = m->band * m->band_sectors, end = first + m->band_sectors, covered = 0;

	end = end < d->g->sectors ? end : d->g->sectors;
	for (size_t i = 0; i < m->nwork; i++)
		covered += m->work[i].end - m->work[i].first;
	if (covered < end - first)
		t = pass(d, t, first, end, DISK_READ, false);
	return pass(d, t, first, end, DISK_WRITE, false);
}

/* How many entries from the next one on follow each other on the disk, and in the log if that matters. */
static size_t count_together(const struct mediacache *m, bool is_in_log)
{
	const struct entry *e = &m->work[m->done];
	size_t n = 1;

	while (m->done + n < m->nwork && e[n].first == e[n - 1].end &&
	       (!is_in_log || e[n].at - e[n - 1].at == e[n].first - e[n - 1].first))
		n++;
	return n;
}

/*
 * One access. In the order of their places, as merging wants them, and not in that of the log, entries are fetched from
 * there, which is what makes cleaning slow; then the band is rewritten, or one entry after the other put to its place.
 */
static double cleaning_step(struct disk *d, double t)
{
	struct mediacache *m = d->mcache;
	const struct entry *e = &m->work[m->done];
	size_t n;

	if (!m->is_fetched) {
		n = count_together(m, true);
		t = pass_log(d, t, e->at, e[n - 1].end - e->first, DISK_READ);
	} else if (d->p.mcache.band_bytes) {
		n = m->nwork;
		t = rewrite_band(d, t);
	} else {
		n = count_together(m, false);
		t = pass(d, t, e->first, e[n - 1].end, DISK_WRITE, false);
	}
	m->done += n;
	if (m->done < m->nwork)
		return t;
	if (m->is_fetched)
		end_cleaning(d);
	m->is_fetched = true;
	m->done = 0;
	return t;
}

void mediacache_clean(struct disk *d, double t)
{
	struct mediacache *m = d->mcache;

	d->head.free_at = m->work || begin_cleaning(m, d->p.mcache.first) ? cleaning_step(d, t)
	                                                                  : t + 1e9; /* out of memory: later */
}

double mediacache_idle_at(const struct disk *d)
{
	const struct mediacache *m = d->mcache;
	double t = fmax(d->head.free_at, m->busy_until + d->p.mcache.idle_ms * 1e6);

	bool is_wanted = d->queue.queued.head || d->queue.wait_room.head || d->queue.wait_flush.head;

	return m->live && !is_wanted && t < d->gone ? t : (double)INFINITY;
}

void mediacache_host(struct disk *d, double t)
{
	d->mcache->busy_until = fmax(d->mcache->busy_until, t);
}

/* ---- writing ---- */

static bool is_streamed(const struct disk *d, uint64_t first, uint64_t end)
{
	const struct mediacache *m = d->mcache;
	bool goes_on = first == m->run_end;
	uint64_t run = goes_on ? m->run_first : first;

	if (d->p.mcache.band_bytes) /* from the band's beginning on, and far enough to be taken for a stream */
		return run <= first / m->band_sectors * m->band_sectors && end - run >= m->direct_sectors;
	return end - run >= m->direct_sectors;
}

bool mediacache_has_room(const struct disk *d, uint64_t first, uint64_t end)
{
	const struct mediacache *m = d->mcache;
	uint64_t pieces = (end - 1) / m->band_sectors - first / m->band_sectors + 1;

	/* An entry that is cut in two makes one more. */
	return !m->live || is_streamed(d, first, end) ||
	       ((!d->p.mcache.entries || m->live + 2 * pieces <= d->p.mcache.entries) &&
	        m->head - m->tail + (end - first) <= m->sectors);
}

/* A stream that ends within a band leaves its rest to be written again. */
static double close_band(struct disk *d, double t)
{
	struct mediacache *m = d->mcache;
	uint64_t from = m->open_end, end = (from / m->band_sectors + 1) * m->band_sectors;

	m->open_end = 0;
	end = end < d->g->sectors ? end : d->g->sectors;
	if (!d->p.mcache.band_bytes || from % m->band_sectors == 0 || from >= end)
		return t;
	return pass(d, pass(d, t, from, end, DISK_READ, false), from, end, DISK_WRITE, false);
}

static double append(struct disk *d, double t, uint64_t first, uint64_t end)
{
	struct mediacache *m = d->mcache;

	t = pass_log(d, t, m->head, end - first, DISK_WRITE);
	while (first < end) {
		struct band *b = &m->bands[first / m->band_sectors];
		uint64_t to = (first / m->band_sectors + 1) * m->band_sectors;
		struct entry e = { .first = first, .end = to < end ? to : end, .at = m->head };

		if (!band_reserve(b))
			break; /* out of memory: it is taken for written to its place */
		band_cut(m, b, e.first, e.end);
		if (!band_reserve(b) || !aged_add(m, (struct aged){ .at = e.at, .first = e.first, .end = e.end }))
			break;
		band_open(m, b, entry_after(b, e.first), e);
		b->last = e.at;
		m->head += e.end - e.first;
		first = e.end;
	}
	find_tail(m);
	return t;
}

void mediacache_write(struct disk *d, double t, const struct place *place, uint64_t first, uint64_t end,
                      bool is_partial, struct media_op *ret)
{
	struct mediacache *m = d->mcache;
	uint64_t bytes = (end - first) * d->p.physical_sector_bytes;
	bool streams = is_streamed(d, first, end);
	struct place here = *place;
	double begin = t;

	while (!streams && !mediacache_has_room(d, first, end) && (m->work || begin_cleaning(m, d->p.mcache.first)))
		t = cleaning_step(d, t); /* of a write that goes to the media at once; others wait for room */
	if (m->open_end && m->open_end != first)
		t = close_band(d, t);
	if (first != m->run_end)
		m->run_first = first;
	m->run_end = end;
	if (streams) {
		cut(m, first, end);
		find_tail(m);
		media_write(d, t, &here, first, end, is_partial, ret);
		m->open_end = end;
	} else {
		*ret = (struct media_op){ .begin = t, .end = append(d, t, first, end) };
		cache_forget(d, first, end);
	}
	ret->seek_ns += t - begin;
	if (d->p.own.dips.writes && bytes >= d->p.own.dips.bytes && ++m->dip_writes % d->p.own.dips.writes == 0)
		ret->end += d->p.own.dips.ms * 1e6;
	mediacache_host(d, ret->end);
}

/* ---- reading ---- */

/* Part by part, each from where it lies; what comes from the log is not kept in the buffer. */
void mediacache_read(struct disk *d, double t, const struct place *place, uint64_t first, uint64_t end,
                     bool is_sequential, struct media_op *ret)
{
	const struct mediacache *m = d->mcache;
	struct place here = *place;
	struct media_op op = { .begin = t, .end = t };

	*ret = op;
	for (bool is_first = true; first < end && !ret->err; is_first = false) {
		const struct entry *e = next_entry(m, first, end);
		uint64_t to = !e ? end : e->first > first ? e->first : e->end < end ? e->end : end;

		if (e && e->first <= first) {
			op.end = pass_log(d, ret->end, e->at + (first - e->first), to - first, DISK_READ);
		} else {
			if (!is_first)
				geometry_place(d->g, first, &here);
			media_read(d, ret->end, &here, first, to, is_sequential, &op);
		}
		if (is_first)
			*ret = op;
		ret->end = op.end;
		ret->err = op.err;
		first = to;
	}
	mediacache_host(d, ret->end);
}
