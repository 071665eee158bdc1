/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes between the device and the journal. Deaf to signals: a recovery that was begun is finished. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "measure/shared/journal.h"

#define TORN_MAX (256u << 10) /* bytes: more than a drive has in work when the power goes was written by somebody */

struct mover {
	struct feeder feeder;
	struct sink sink;
	enum io_op op;
	uint64_t at, end, first;
	uint32_t step_bytes, sector_bytes;
	const uint8_t *data; /* as it was, byte `first` first */
	uint8_t *fill;       /* NULL, or data: what is read is put there */
	uint8_t *marks;      /* per sector: enum mark */
	uint8_t only;        /* write or read sectors with this mark only; MARK_ANY */
	bool is_given;       /* the flush */
	int error;
	uint64_t read_bytes, written_bytes; /* given to the device, in all */
};

/* MARK_ALIEN: lies between places, and is nothing to us. */
enum mark { MARK_SAME, MARK_DIFFERS, MARK_UNREADABLE, MARK_PUT_BACK, MARK_ALIEN, MARK_ANY = 255 };

static enum feed mover_next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct mover *m = (struct mover *)((char *)f - offsetof(struct mover, feeder));
	uint64_t left;

	(void)now_ns;
	(void)ret_until_ns; /* never waits */
	req->op = m->op;
	req->target = 0;
	if (m->op == IO_FLUSH) {
		bool was = m->is_given;

		m->is_given = true;
		return was ? FEED_END : FEED_IO;
	}
	while (m->only != MARK_ANY && m->at < m->end && m->marks[(m->at - m->first) / m->sector_bytes] != m->only)
		m->at += m->sector_bytes;
	if (m->at >= m->end)
		return FEED_END;
	left = m->end - m->at;
	req->offset_bytes = m->at;
	req->len_bytes = left < m->step_bytes ? (uint32_t)left : m->step_bytes;
	if (m->op == IO_WRITE)
		memcpy(req->buf, m->data + (m->at - m->first), req->len_bytes);
	m->at += req->len_bytes;
	return FEED_IO;
}

static void mover_take(struct sink *s, const struct io_req *req, bool is_fault)
{
	struct mover *m = (struct mover *)((char *)s - offsetof(struct mover, sink));
	const uint8_t *got = req->buf;

	m->read_bytes += m->op == IO_READ ? req->len_bytes : 0;
	m->written_bytes += m->op == IO_WRITE ? req->len_bytes : 0;
	if (is_fault && m->op != IO_READ)
		m->error = req->res < 0 ? req->res : -EIO;
	if (m->op != IO_READ)
		return;
	if (m->fill && !is_fault)
		memcpy(m->fill + (req->offset_bytes - m->first), got, req->len_bytes);
	for (uint32_t i = 0; i < req->len_bytes; i += m->sector_bytes) {
		size_t sector = (req->offset_bytes + i - m->first) / m->sector_bytes;
		bool is_equal = !is_fault && memcmp(got + i, m->data + sector * m->sector_bytes, m->sector_bytes) == 0;

		if (m->marks[sector] == MARK_ALIEN)
			continue;
		m->marks[sector] = is_fault ? MARK_UNREADABLE : is_equal ? MARK_SAME : MARK_DIFFERS;
	}
}

static int move(struct mover *m, struct engine *eng, const struct target *target, enum io_op op, uint32_t step_bytes,
                uint8_t only, struct err *err)
{
	struct load load = { .targets = target,
		             .ntargets = 1,
		             .feeder = &m->feeder,
		             .sink = &m->sink,
		             .depth = 1,
		             .max_faults = UINT64_MAX };
	struct load_stats stats;
	int r;

	m->feeder.next = mover_next;
	m->sink.take = mover_take;
	m->op = op;
	m->at = m->first;
	m->step_bytes = step_bytes;
	m->only = only;
	m->is_given = false;
	m->error = 0;
	r = load_run(&load, eng, &stats, err);
	if (r < 0)
		return r;
	if (stats.end == LOAD_GONE)
		return err_set(err, -ENODEV, "%s disappeared while a block was being put back; the journal keeps it.",
		               target->name);
	if (m->error)
		return err_set(err, m->error, "Putting a block back on %s failed with %s; the journal keeps it.",
		               target->name, err_name(m->error));
	return 0;
}

int rewrite_flush(struct engine *eng, const struct target *target, struct err *err)
{
	struct mover m = { .sector_bytes = 1 };

	return move(&m, eng, target, IO_FLUSH, 0, MARK_ANY, err);
}

static uint64_t count_marks(const struct mover *m, enum mark mark)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < (m->end - m->first) / m->sector_bytes; i++)
		n += m->marks[i] == mark;
	return n;
}

/* Reads all of it: in large pieces, then what failed sector by sector. */
static int compare(struct mover *m, struct engine *eng, const struct target *target, struct err *err)
{
	uint32_t large = eng->cfg.buf_bytes - eng->cfg.buf_bytes % m->sector_bytes;
	int r = move(m, eng, target, IO_READ, large, MARK_ANY, err);

	if (r == 0)
		r = move(m, eng, target, IO_READ, m->sector_bytes, MARK_UNREADABLE, err);
	return r;
}

/* Writes what is damaged, flushes, and reads everything again. */
static int put_back(struct mover *m, struct engine *eng, const struct target *target, struct rewrite_recovery *ret,
                    struct err *err)
{
	uint64_t wanted, left;
	int r;

	for (uint64_t i = 0; i < (m->end - m->first) / m->sector_bytes; i++)
		if (m->marks[i] == MARK_UNREADABLE || m->marks[i] == MARK_DIFFERS)
			m->marks[i] = MARK_PUT_BACK;
	wanted = count_marks(m, MARK_PUT_BACK);
	if (!wanted)
		return 0;
	r = move(m, eng, target, IO_WRITE, m->sector_bytes, MARK_PUT_BACK, err);
	if (r == 0)
		r = move(m, eng, target, IO_FLUSH, 0, MARK_ANY, err);
	if (r == 0)
		r = compare(m, eng, target, err);
	if (r < 0)
		return r;
	left = count_marks(m, MARK_UNREADABLE) + count_marks(m, MARK_DIFFERS);
	ret->restored += wanted - (left < wanted ? left : wanted);
	if (left)
		return err_set(err, -EIO,
		               "%" PRIu64 " of %" PRIu64
		               " sectors of %s did not take what was written back; the journal keeps them.",
		               left, wanted, target->name);
	return 0;
}

/* ---- all places of a journal, in windows of those that lie close together ---- */

struct sweep {
	struct rewrite_journal *j;
	struct engine *eng;
	const struct target *target;
	size_t *order, n;   /* of the list, as they lie on the device */
	size_t first, next; /* of the order: the window's, and the one behind it */
	bool *is_damaged;   /* windows, by their first */
	uint8_t *data;
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
	free(s->m.marks);
}

static int sweep_init(struct sweep *s, struct rewrite_journal *j, struct engine *eng, const struct target *target,
                      uint32_t sector_bytes, bool is_of_used, struct err *err)
{
	uint64_t most = j->most_bytes > eng->cfg.buf_bytes ? j->most_bytes : eng->cfg.buf_bytes;

	*s = (struct sweep){ .j = j, .eng = eng, .target = target, .m.sector_bytes = sector_bytes };
	s->order = calloc(j->h.nplaces + 1, sizeof(*s->order));
	s->is_damaged = calloc(j->h.nplaces + 1, sizeof(*s->is_damaged));
	s->data = malloc(most);
	s->m.data = s->data;
	s->m.marks = malloc(most / sector_bytes + 1);
	if (!s->order || !s->is_damaged || !s->data || !s->m.marks) {
		sweep_done(s);
		return err_set(err, -ENOMEM, "Out of memory.");
	}
	for (size_t i = 0; i < j->h.nplaces; i++)
		if (!is_of_used || j->is_used[i])
			s->order[s->n++] = i;
	qsort_r(s->order, s->n, sizeof(*s->order), compare_places, j->list);
	return 0;
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
	                                   s->eng->cfg.buf_bytes);
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
	return r < 0 ? r : compare(&s->m, s->eng, s->target, err);
}

static int compare_all(struct sweep *s, const struct rewrite_watch *watch, struct rewrite_recovery *ret,
                       struct err *err)
{
	struct mover *m = &s->m;

	while (sweep_next(s, watch)) {
		uint64_t same, unreadable, differing;
		int r = compare_window(s, err);

		if (r < 0)
			return r;
		same = count_marks(m, MARK_SAME);
		unreadable = count_marks(m, MARK_UNREADABLE);
		differing = count_marks(m, MARK_DIFFERS);
		s->is_damaged[s->first] = unreadable || differing;
		ret->sectors += same + unreadable + differing;
		ret->same += same;
		ret->unreadable += unreadable;
		ret->differing += differing;
	}
	ret->is_all = s->first == s->n;
	return 0;
}

static void tell_moved(struct sweep *s, struct rewrite_recovery *ret)
{
	ret->read_bytes = s->m.read_bytes;
	ret->written_bytes = s->m.written_bytes;
	sweep_done(s);
}

/* May what is there be replaced? Only on the device that it is of, and only as much as an interruption damages. */
static int check_damage(const struct rewrite_journal *j, const struct rewrite_recovery *found, uint32_t sector_bytes,
                        struct err *err)
{
	if (found->differing * sector_bytes > TORN_MAX || (found->differing > found->same && found->differing > 8))
		return err_set(
			err, -EUCLEAN,
			"%s holds a block that was at %" PRIu64 " of %s (serial %s), but %" PRIu64 " of %" PRIu64
			" sectors there differ: this is another disk, or it was written since. Nothing was touched. "
			"If the block is of no use any more, remove the file.",
			j->path, j->list[0].place.offset_bytes, j->h.path, j->h.serial[0] ? j->h.serial : "unknown",
			found->differing, found->sectors);
	if (j->is_uncertain)
		return err_set(
			err, -EUCLEAN,
			"%s holds a block of %s, which shows nothing that would tell whether this is the same device. Nothing "
			"was touched; if you know that it is, add --despite=identity.",
			j->path, j->h.path);
	return 0;
}

void rewrite_insist(struct rewrite_journal *j)
{
	j->is_uncertain = false;
}

static int recover(struct sweep *s, bool is_asked, struct rewrite_recovery *ret, struct err *err)
{
	int r = compare_all(s, NULL, ret, err);

	if (r < 0)
		return r;
	if (ret->same == ret->sectors)
		return rewrite_end(s->j, err);
	r = check_damage(s->j, ret, s->m.sector_bytes, err);
	if (r < 0 || !is_asked)
		return r;
	for (s->next = 0; r == 0 && sweep_next(s, NULL);) {
		if (!s->is_damaged[s->first])
			continue;
		r = compare_window(s, err);
		if (r == 0)
			r = put_back(&s->m, s->eng, s->target, ret, err);
	}
	return r < 0 ? r : rewrite_end(s->j, err);
}

int rewrite_recover(struct rewrite_journal *j, struct engine *eng, const struct target *target, uint32_t sector_bytes,
                    bool is_asked, struct rewrite_recovery *ret, struct err *err)
{
	struct sweep s = { 0 };
	int r;

	*ret = (struct rewrite_recovery){ 0 };
	r = sweep_init(&s, j, eng, target, sector_bytes, false, err);
	if (r < 0)
		return r;
	r = recover(&s, is_asked, ret, err);
	tell_moved(&s, ret);
	return r;
}

static int tell_lost(const struct rewrite_journal *j, const struct rewrite_recovery *found, const char *device,
                     struct err *err)
{
	return err_set(
		err, -EIO,
		"%" PRIu64 " of %" PRIu64
		" sectors of %s were written back but read differently now, or not at all. This disk loses data: stop "
		"using it. The original bytes are in %s; `platter zones --recover` puts them back.",
		found->sectors - found->same, found->sectors, device, j->path);
}

/* ---- many places ---- */

static int save(struct sweep *s, const struct rewrite_watch *watch, struct err *err)
{
	while (sweep_next(s, watch)) {
		int r;

		s->m.fill = s->data;
		r = compare(&s->m, s->eng, s->target, err); /* with itself: what cannot be read is marked */
		s->m.fill = NULL;
		if (r == 0 && count_marks(&s->m, MARK_UNREADABLE))
			r = err_set(err, -EIO,
			            "%s cannot be read everywhere between %" PRIu64 " and %" PRIu64
			            ", and what cannot be read is not written. Nothing was; choose another --start.",
			            s->target->name, s->m.first, s->m.end);
		for (size_t k = s->first; r == 0 && k < s->next; k++)
			r = journal_put(s->j, s->order[k], data_of(s, k), err);
		if (r < 0)
			return r;
	}
	return 0;
}

int rewrite_save(struct rewrite_journal *j, struct engine *eng, const struct target *target,
                 const struct rewrite_place *places, size_t n, uint32_t sector_bytes, const struct rewrite_watch *watch,
                 struct rewrite_recovery *ret, bool *ret_is_noted, struct err *err)
{
	struct sweep s = { 0 };
	int r = journal_list(j, places, n, err);

	*ret = (struct rewrite_recovery){ 0 };
	*ret_is_noted = false;
	if (r == 0)
		r = journal_reserve(j, err);
	if (r == 0)
		r = sweep_init(&s, j, eng, target, sector_bytes, false, err);
	if (r < 0)
		return r;
	r = save(&s, watch, err);
	*ret_is_noted = r == 0 && s.first == s.n;
	tell_moved(&s, ret);
	return *ret_is_noted ? journal_note(j, err) : r;
}

int rewrite_verify(struct rewrite_journal *j, struct engine *eng, const struct target *target, uint32_t sector_bytes,
                   const struct rewrite_watch *watch, struct rewrite_recovery *ret, struct err *err)
{
	struct sweep s = { 0 };
	int r = rewrite_flush(eng, target, err);

	*ret = (struct rewrite_recovery){ 0 };
	if (r == 0)
		r = sweep_init(&s, j, eng, target, sector_bytes, true, err);
	if (r < 0)
		return r;
	r = compare_all(&s, watch, ret, err);
	tell_moved(&s, ret);
	if (r == 0 && ret->same < ret->sectors)
		r = tell_lost(j, ret, target->name, err);
	return r < 0 ? r : rewrite_end(j, err);
}

int rewrite_same(struct rewrite_journal *j, struct engine *eng, const struct target *target, uint64_t first_bytes,
                 uint32_t len_bytes, uint32_t sector_bytes, struct rewrite_recovery *ret, struct err *err)
{
	uint64_t sectors = len_bytes / sector_bytes;
	cleanup_free uint8_t *data = malloc(len_bytes), *marks = calloc(sectors + 1, 1);
	struct mover m = { .first = first_bytes,
		           .end = first_bytes + len_bytes,
		           .sector_bytes = sector_bytes,
		           .data = data,
		           .fill = data,
		           .marks = marks };
	uint32_t large = eng->cfg.buf_bytes - eng->cfg.buf_bytes % sector_bytes;
	int r;

	*ret = (struct rewrite_recovery){ .sectors = sectors };
	if (!data || !marks)
		return err_set(err, -ENOMEM, "Out of memory.");
	r = compare(&m, eng, target, err); /* with itself: what cannot be read is marked */
	m.fill = NULL;
	ret->unreadable = count_marks(&m, MARK_UNREADABLE);
	if (r == 0 && !ret->unreadable) {
		r = rewrite_begin(j, first_bytes, data, len_bytes, err);
		if (r == 0)
			r = move(&m, eng, target, IO_WRITE, large, MARK_ANY, err);
		if (r == 0)
			r = move(&m, eng, target, IO_FLUSH, 0, MARK_ANY, err);
		if (r == 0)
			r = compare(&m, eng, target, err);
		ret->same = ret->restored = count_marks(&m, MARK_SAME);
		if (r == 0 && ret->same < sectors)
			r = tell_lost(j, ret, target->name, err);
		if (r == 0)
			r = rewrite_end(j, err);
	}
	ret->read_bytes = m.read_bytes;
	ret->written_bytes = m.written_bytes;
	return r;
}
