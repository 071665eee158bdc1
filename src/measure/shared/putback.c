/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is noted is written, compared, and put back where that only puts back. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/shared/journal.h"

#define NEIGHBOURS 2 /* blocks before and behind, which cost a part of a revolution each */

static struct mover make_mover(const struct rewrite_journal *j)
{
	return (struct mover){ .sector_bytes = j->ses->devs[j->target].logical_block_bytes };
}

static void count_moved(const struct rewrite_journal *j, const struct mover *m)
{
	session_moved(j->ses, j->target, m->read_bytes, m->written_bytes);
}

int rewrite_flush(struct rewrite_journal *j, struct err *err)
{
	struct mover m = { .sector_bytes = 1 };

	return mover_move(&m, j, IO_FLUSH, 0, MARK_ANY, err);
}

/* ---- what lies beside ---- */

static bool is_beside(const struct rewrite_journal *j, uint64_t first)
{
	for (uint64_t i = 0; i < j->h.nplaces; i++)
		if (first < j->list[i].place.offset_bytes + j->list[i].place.len_bytes &&
		    j->list[i].place.offset_bytes < first + BESIDE_BYTES)
			return false;
	return true;
}

/* *ret_hash 0: it cannot be read. */
static int read_beside(struct rewrite_journal *j, uint64_t first, uint64_t *ret_hash, struct err *err)
{
	uint8_t data[BESIDE_BYTES], marks[BESIDE_BYTES / 512];
	struct mover m = make_mover(j);
	int r;

	m.first = first;
	m.end = first + BESIDE_BYTES;
	m.data = m.fill = data;
	m.marks = marks;
	memset(marks, MARK_SAME, sizeof(marks));
	r = mover_compare(&m, j, err);
	count_moved(j, &m);
	*ret_hash = r == 0 && !mover_count(&m, MARK_UNREADABLE) ? payload_hash(data, sizeof(data)) | 1 : 0;
	return r;
}

static int note_beside(struct rewrite_journal *j, uint64_t first, struct err *err)
{
	const struct device *dev = &j->ses->devs[j->target];
	struct journal_beside *b = &j->h.beside[j->h.nbeside];
	int r;

	if (j->h.nbeside == BESIDE_MAX || dev->logical_block_bytes > BESIDE_BYTES || dev->size_bytes < BESIDE_BYTES ||
	    first > dev->size_bytes - BESIDE_BYTES || !is_beside(j, first))
		return 0;
	b->offset_bytes = first;
	r = read_beside(j, first, &b->hash, err);
	j->h.nbeside += r == 0 && b->hash;
	return r;
}

/*
 * Where file systems and tables write whenever they are used: the beginning and the end, and the beginnings of the
 * partitions. Once a run.
 */
static int note_anchors(struct rewrite_journal *j, struct err *err)
{
	const struct env *env = j->ses->env;
	const struct device *dev = &j->ses->devs[j->target];
	cleanup_free struct device *parts = NULL;
	size_t n = 0;
	int r = note_beside(j, 0, err);

	if (r == 0)
		r = note_beside(j, 64u << 10, err); /* btrfs has its superblock there */
	if (r == 0)
		r = note_beside(j, (dev->size_bytes - 1) / BESIDE_BYTES * BESIDE_BYTES, err);
	if (dev->kind != DEVICE_DISK || !env->devices->partitions ||
	    env->devices->partitions(env->devices_ctx, dev, &parts, &n, NULL) < 0)
		n = 0;
	for (size_t i = 0; i < n && r == 0 && j->h.nbeside < BESIDE_MAX - 4 * NEIGHBOURS; i++)
		r = note_beside(j, parts[i].partition_offset_bytes, err);
	j->nanchors = j->h.nbeside;
	return r;
}

static int note_neighbours(struct rewrite_journal *j, struct err *err)
{
	uint64_t first = UINT64_MAX, end = 0;
	int r = 0;

	for (uint64_t i = 0; i < j->h.nplaces; i++) {
		const struct rewrite_place *p = &j->list[i].place;

		first = p->offset_bytes < first ? p->offset_bytes : first;
		end = p->offset_bytes + p->len_bytes > end ? p->offset_bytes + p->len_bytes : end;
	}
	first = first / BESIDE_BYTES * BESIDE_BYTES;
	end = (end + BESIDE_BYTES - 1) / BESIDE_BYTES * BESIDE_BYTES;
	j->h.nbeside = 0;
	for (uint64_t i = 0; i < j->nanchors; i++) { /* of another place they may be in the way */
		struct journal_beside b = j->h.beside[i];

		if (is_beside(j, b.offset_bytes))
			j->h.beside[j->h.nbeside++] = b;
	}
	if (!j->nanchors)
		r = note_anchors(j, err);
	j->nanchors = j->h.nbeside;
	for (uint64_t k = 1; k <= NEIGHBOURS && r == 0; k++) {
		if (first >= k * BESIDE_BYTES)
			r = note_beside(j, first - k * BESIDE_BYTES, err);
		if (r == 0)
			r = note_beside(j, end + (k - 1) * BESIDE_BYTES, err);
	}
	return r;
}

static int compare_beside(struct rewrite_journal *j, struct rewrite_recovery *ret, struct err *err)
{
	int r = 0;

	for (uint64_t i = 0; i < j->h.nbeside && r == 0; i++) {
		uint64_t hash;

		r = read_beside(j, j->h.beside[i].offset_bytes, &hash, err);
		ret->beside_same += r == 0 && hash == j->h.beside[i].hash;
		ret->beside_differing += r == 0 && hash && hash != j->h.beside[i].hash;
	}
	return r;
}

/* ---- all places of a journal, in windows of those that lie close together ---- */

struct sweep {
	struct rewrite_journal *j;
	size_t *order, n;   /* of the list, as they lie on the device */
	size_t first, next; /* of the order: the window's, and the one behind it */
	bool *is_damaged;   /* windows, by their first */
	uint8_t *data, *now;
	struct mover m;
};

static int compare_places(const void *a, const void *b, void *arg)
{
	const struct journal_entry *list = arg, *x = &list[*(const size_t *)a], *y = &list[*(const size_t *)b];

	return (x->place.offset_bytes > y->place.offset_bytes) - (x->place.offset_bytes < y->place.offset_bytes);
}

static void sweep_done(struct sweep *s)
{
	free(s->order);
	free(s->is_damaged);
	free(s->data);
	free(s->now);
	free(s->m.marks);
}

static void sweep_init(struct sweep *s, struct rewrite_journal *j, bool is_of_used)
{
	uint64_t most = j->most_bytes > j->eng->cfg.buf_bytes ? j->most_bytes : j->eng->cfg.buf_bytes;

	*s = (struct sweep){ .j = j, .m = make_mover(j) };
	s->order = xcalloc(j->h.nplaces + 1, sizeof(*s->order));
	s->is_damaged = xcalloc(j->h.nplaces + 1, sizeof(*s->is_damaged));
	s->data = xmust(malloc(most));
	s->now = xmust(malloc(most));
	s->m.data = s->data;
	s->m.marks = xmust(malloc(most / s->m.sector_bytes + 1));
	for (size_t i = 0; i < j->h.nplaces; i++)
		if (!is_of_used || j->is_used[i])
			s->order[s->n++] = i;
	qsort_r(s->order, s->n, sizeof(*s->order), compare_places, j->list);
}

static const struct rewrite_place *place_of(const struct sweep *s, size_t k)
{
	return &s->j->list[s->order[k]].place;
}

static uint8_t *data_of(const struct sweep *s, size_t k)
{
	return s->data + (place_of(s, k)->offset_bytes - s->m.first);
}

static bool sweep_next(struct sweep *s, const struct rewrite_watch *watch)
{
	struct mover *m = &s->m;

	s->first = s->next;
	if (s->first == s->n || (watch && !watch->go_on(watch->arg, (double)s->first / (double)s->n)))
		return false;
	m->first = place_of(s, s->first)->offset_bytes;
	do {
		const struct rewrite_place *p = place_of(s, s->next++);

		m->end = p->offset_bytes + p->len_bytes;
	} while (s->next < s->n && place_of(s, s->next)->offset_bytes + place_of(s, s->next)->len_bytes - m->first <=
	                                   s->j->eng->cfg.buf_bytes);
	memset(m->marks, MARK_ALIEN, (m->end - m->first) / m->sector_bytes);
	for (size_t k = s->first; k < s->next; k++)
		memset(m->marks + (place_of(s, k)->offset_bytes - m->first) / m->sector_bytes, MARK_SAME,
		       place_of(s, k)->len_bytes / m->sector_bytes);
	return true;
}

/* Against the journal. */
static int compare_window(struct sweep *s, struct err *err)
{
	int r = 0;

	for (size_t k = s->first; r == 0 && k < s->next; k++)
		r = journal_get(s->j, s->order[k], data_of(s, k), err);
	s->m.fill = s->now;
	return r < 0 ? r : mover_compare(&s->m, s->j, err);
}

/* In how many places something differs, and where; one that was not in flight counts as many. */
static void report_places(const struct sweep *s, struct rewrite_recovery *ret)
{
	const struct mover *m = &s->m;

	for (size_t k = s->first; k < s->next; k++) {
		const struct rewrite_place *p = place_of(s, k);
		uint64_t first = (p->offset_bytes - m->first) / m->sector_bytes, n = 0;

		for (uint64_t i = first; i < first + p->len_bytes / m->sector_bytes; i++) {
			if (m->marks[i] != MARK_DIFFERS)
				continue;
			if (!ret->differing && !n)
				ret->first_bytes = m->first + i * m->sector_bytes;
			ret->end_bytes = m->first + (i + 1) * m->sector_bytes;
			n++;
		}
		ret->differing += n;
		ret->differing_places += n ? s->order[k] < s->j->flight.end ? 1 : 2 : 0;
	}
}

static int compare_all(struct sweep *s, const struct rewrite_watch *watch, struct rewrite_recovery *ret,
                       struct err *err)
{
	struct mover *m = &s->m;

	while (sweep_next(s, watch)) {
		uint64_t same, unreadable, differing = ret->differing;
		int r = compare_window(s, err);

		if (r < 0)
			return r;
		report_places(s, ret);
		same = mover_count(m, MARK_SAME);
		unreadable = mover_count(m, MARK_UNREADABLE);
		s->is_damaged[s->first] = unreadable || ret->differing > differing;
		ret->sectors += same + unreadable + ret->differing - differing;
		ret->same += same;
		ret->unreadable += unreadable;
	}
	ret->is_all = s->first == s->n;
	return 0;
}

static void report_moved(struct sweep *s)
{
	count_moved(s->j, &s->m);
	sweep_done(s);
}

/* ---- putting back ---- */

/* One block that was in flight, all beside it as it was, and nobody has written since the machine was started again. */
static bool looks_torn(const struct rewrite_journal *j, const struct rewrite_recovery *found)
{
	const char *now = j->ses->env->boot_id;

	return j->h.boot_id[0] && now && now[0] && strcmp(j->h.boot_id, now) != 0 && found->differing_places == 1 &&
	       !found->beside_differing && found->beside_same && guard_is_untouched(j);
}

/* Another disk of the same names has other contents. */
static bool looks_the_same(const struct rewrite_journal *j, const struct rewrite_recovery *found)
{
	uint64_t block = BESIDE_BYTES / j->ses->devs[j->target].logical_block_bytes;

	return found->same + found->beside_same * block > found->differing + found->beside_differing * block;
}

static int save_sectors(const struct sweep *s, const int fds[2], struct err *err)
{
	const struct mover *m = &s->m;
	int r = 0;

	for (uint64_t at = 0; at < m->end - m->first && r == 0; at += m->sector_bytes)
		if (m->marks[at / m->sector_bytes] == MARK_DIFFERS) {
			r = journal_write(fds[0], s->data + at, m->sector_bytes, (off_t)(m->first + at))
			            ?: journal_write(fds[1], s->now + at, m->sector_bytes, (off_t)(m->first + at));
		}
	return r < 0 ? err_set(err, r, "What differs cannot be saved beside the journal %s: %s. Nothing was put back.",
	                       s->j->path, strerror(-r))
	             : 0;
}

/* Both sides of what differs, durably, before one of them is lost. */
static int save_both(struct sweep *s, struct rewrite_recovery *ret, struct err *err)
{
	int fds[2], r = journal_save(s->j, fds, ret->saved, sizeof(ret->saved), err);

	if (r < 0)
		return r;
	for (s->next = 0; r == 0 && sweep_next(s, NULL);) {
		if (!s->is_damaged[s->first])
			continue;
		r = compare_window(s, err) ?: save_sectors(s, fds, err);
	}
	for (int i = 0; i < 2; i++) {
		if (r == 0 && fsync(fds[i]) < 0)
			r = err_set(err, -errno, "What differs cannot be saved beside the journal %s: %s.", s->j->path,
			            strerror(errno));
		(void)close(fds[i]);
	}
	if (r == 0 && fsync(s->j->dir_fd) < 0)
		(void)syncfs(s->j->fd);
	return r;
}

/* Writes what is damaged, flushes, and reads everything again. */
static int put_back(struct sweep *s, bool all, struct rewrite_recovery *ret, struct err *err)
{
	struct mover *m = &s->m;
	uint64_t wanted, left, stays = all ? 0 : mover_count(m, MARK_DIFFERS);
	int r;

	for (uint64_t i = 0; i < (m->end - m->first) / m->sector_bytes; i++)
		if (m->marks[i] == MARK_UNREADABLE || (all && m->marks[i] == MARK_DIFFERS))
			m->marks[i] = MARK_PUT_BACK;
	wanted = mover_count(m, MARK_PUT_BACK);
	if (!wanted)
		return 0;
	r = mover_move(m, s->j, IO_WRITE, m->sector_bytes, MARK_PUT_BACK, err) ?: rewrite_flush(s->j, err);
	if (r == 0)
		r = mover_compare(m, s->j, err);
	if (r < 0)
		return r;
	left = mover_count(m, MARK_UNREADABLE) + mover_count(m, MARK_DIFFERS) - stays;
	ret->restored += wanted - (left < wanted ? left : wanted);
	if (left)
		return err_set(err, -EIO,
		               "%" PRIu64 " of %" PRIu64
		               " sectors of %s did not take what was written back; the journal keeps them.",
		               left, wanted, s->j->ses->devs[s->j->target].path);
	return 0;
}

static int put_all_back(struct sweep *s, bool all, struct rewrite_recovery *ret, struct err *err)
{
	int r = 0;

	for (s->next = 0; r == 0 && sweep_next(s, NULL);) {
		if (!s->is_damaged[s->first])
			continue;
		r = compare_window(s, err) ?: put_back(s, all, ret, err);
	}
	return r;
}

static int recover(struct sweep *s, enum rewrite_wish wish, struct rewrite_recovery *ret, struct err *err)
{
	struct rewrite_journal *j = s->j;
	const bool all = wish == REWRITE_CONSENT;
	int r = compare_all(s, NULL, ret, err);

	if (r < 0)
		return r;
	if (ret->same == ret->sectors)
		return rewrite_end(j, err);
	if (wish == REWRITE_LOOK)
		return 0;
	r = compare_beside(j, ret, err);
	if (r < 0)
		return r;
	ret->looks_torn = looks_torn(j, ret);
	ret->is_foreign = !all && !looks_the_same(j, ret);
	if (ret->differing)
		r = save_both(s, ret, err);
	if (r == 0 && !ret->is_foreign)
		r = put_all_back(s, all, ret, err);
	if (r < 0 || ret->is_foreign || (ret->differing && !all))
		return r;
	return rewrite_end(j, err);
}

int rewrite_recover(struct rewrite_journal *j, enum rewrite_wish wish, struct rewrite_recovery *ret, struct err *err)
{
	struct sweep s = { 0 };
	int r;

	*ret = (struct rewrite_recovery){ 0 };
	sweep_init(&s, j, false);
	r = recover(&s, wish, ret, err);
	report_moved(&s);
	return r;
}

/* ---- what reads differently ---- */

int rewrite_lost(const struct rewrite_journal *j, const struct rewrite_recovery *found, struct err *err)
{
	const struct device *dev = &j->ses->devs[j->target];
	int r = guard_look(j, err);

	if (r < 0)
		return r;
	if (found->differing && (!j->began.n || dev->way.reach != REACH_LOCAL))
		return err_set(
			err, -EIO,
			"Of the sectors that were written back, %" PRIu64
			" of %s read differently now. Either the disk loses data, or another program wrote there. The bytes as they were are in %s; `platter recover "
			"%s` compares them.",
			found->sectors - found->same, dev->path, j->path, dev->path);
	return err_set(
		err, -EIO,
		"%" PRIu64 " of %" PRIu64
		" sectors of %s were written back but read differently now, or not at all, and nobody else wrote to it. "
		"This disk loses data: stop using it. The original bytes are in %s; `platter recover %s` puts them back.",
		found->sectors - found->same, found->sectors, dev->path, j->path, dev->path);
}

/* ---- one place ---- */

int rewrite_begin(struct rewrite_journal *j, uint64_t offset_bytes, const void *data, size_t len, struct err *err)
{
	const struct rewrite_place place = { offset_bytes, len };
	int r;

	journal_list(j, &place, 1);
	r = note_neighbours(j, err) ?: guard_look(j, err) ?: journal_put(j, 0, data, err);
	return r < 0 ? r : journal_note(j, err);
}

int rewrite_allow(struct rewrite_journal *j, uint64_t bytes, struct err *err)
{
	return guard_allow(j, bytes, err);
}

int rewrite_same(struct rewrite_journal *j, uint64_t first_bytes, uint32_t len_bytes, struct rewrite_recovery *ret,
                 struct err *err)
{
	struct mover m = make_mover(j);
	uint64_t sectors = len_bytes / m.sector_bytes;
	cleanup_free uint8_t *data = xmust(malloc(len_bytes)), *marks = xcalloc(sectors + 1, 1);
	uint32_t large = j->eng->cfg.buf_bytes - j->eng->cfg.buf_bytes % m.sector_bytes;
	int r;

	m.first = first_bytes;
	m.end = first_bytes + len_bytes;
	m.data = m.fill = data;
	m.marks = marks;
	*ret = (struct rewrite_recovery){ .sectors = sectors };
	r = mover_compare(&m, j, err); /* with itself: what cannot be read is marked */
	m.fill = NULL;
	ret->unreadable = mover_count(&m, MARK_UNREADABLE);
	if (r == 0 && !ret->unreadable) {
		r = rewrite_begin(j, first_bytes, data, len_bytes, err)
		            ?: mover_move(&m, j, IO_WRITE, large, MARK_ANY, err);
		if (r == 0)
			r = rewrite_flush(j, err) ?: mover_compare(&m, j, err);
		ret->same = ret->restored = mover_count(&m, MARK_SAME);
		ret->differing = mover_count(&m, MARK_DIFFERS);
		if (r == 0 && ret->same < sectors)
			r = rewrite_lost(j, ret, err);
		if (r == 0)
			r = rewrite_end(j, err);
	}
	count_moved(j, &m);
	return r;
}

/* ---- many places ---- */

static int save(struct sweep *s, const struct rewrite_watch *watch, struct err *err)
{
	while (sweep_next(s, watch)) {
		int r;

		s->m.fill = s->data;
		r = mover_compare(&s->m, s->j, err); /* with itself: what cannot be read is marked */
		s->m.fill = NULL;
		if (r == 0 && mover_count(&s->m, MARK_UNREADABLE))
			r = err_set(err, -EIO,
			            "%s cannot be read everywhere between %" PRIu64 " and %" PRIu64
			            ", and what cannot be read is not written. Nothing was; choose another --range.",
			            s->j->ses->devs[s->j->target].path, s->m.first, s->m.end);
		for (size_t k = s->first; r == 0 && k < s->next; k++)
			r = journal_put(s->j, s->order[k], data_of(s, k), err);
		if (r < 0)
			return r;
	}
	return 0;
}

int rewrite_save(struct rewrite_journal *j, const struct rewrite_place *places, size_t n,
                 const struct rewrite_watch *watch, bool *ret_is_noted, struct err *err)
{
	struct sweep s = { 0 };
	int r;

	*ret_is_noted = false;
	journal_list(j, places, n);
	r = journal_reserve(j, err);
	if (r < 0)
		return r;
	sweep_init(&s, j, false);
	r = save(&s, watch, err);
	report_moved(&s);
	if (r == 0 && s.first == s.n) {
		r = note_neighbours(j, err) ?: guard_look(j, err) ?: journal_note(j, err);
		*ret_is_noted = r == 0;
	}
	return r;
}

int rewrite_verify(struct rewrite_journal *j, const struct rewrite_watch *watch, struct rewrite_recovery *ret,
                   struct err *err)
{
	struct sweep s = { 0 };
	int r = rewrite_flush(j, err);

	*ret = (struct rewrite_recovery){ 0 };
	if (r < 0)
		return r;
	sweep_init(&s, j, true);
	r = compare_all(&s, watch, ret, err);
	report_moved(&s);
	if (r == 0 && ret->same < ret->sectors)
		r = rewrite_lost(j, ret, err);
	return r < 0 ? r : rewrite_end(j, err);
}
