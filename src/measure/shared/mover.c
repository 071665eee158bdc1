/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes between the device and memory; and who else writes to it, by the kernel's counters. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "measure/shared/journal.h"

/* ---- who else writes ---- */

static bool count(const struct rewrite_journal *j, struct device_written *ret)
{
	const struct env *env = j->ses->env;

	return env->devices->written && env->devices->written(env->devices_ctx, &j->ses->devs[j->target], ret) == 0;
}

void guard_begin(struct rewrite_journal *j)
{
	j->own_bytes = 0;
	if (!count(j, &j->began))
		j->began.n = 0;
}

int guard_look(const struct rewrite_journal *j, struct err *err)
{
	struct device_written now;
	char text[32];

	if (!j->began.n || !count(j, &now))
		return 0;
	for (size_t i = 0; i < now.n; i++)
		for (size_t k = 0; k < j->began.n; k++) {
			uint64_t bytes = now.v[i].bytes - j->began.v[k].bytes;

			if (strcmp(now.v[i].on, j->began.v[k].on) != 0 || now.v[i].bytes < j->began.v[k].bytes ||
			    bytes <= j->own_bytes)
				continue;
			return err_set(
				err, -EBUSY,
				"%s: somebody else wrote %s to %s while --rewrite ran, which therefore stopped. What it "
				"had in work is in %s; `platter recover %s` compares it with what is there now.",
				j->ses->devs[j->target].path, units_bytes(text, sizeof(text), bytes - j->own_bytes),
				now.v[i].on, j->path, j->ses->devs[j->target].path);
		}
	return 0;
}

int guard_allow(struct rewrite_journal *j, uint64_t bytes, struct err *err)
{
	int r = guard_look(j, err);

	j->own_bytes += r == 0 ? bytes : 0;
	return r;
}

bool guard_is_untouched(const struct rewrite_journal *j)
{
	struct device_written now;

	if (!count(j, &now))
		return false;
	for (size_t i = 0; i < now.n; i++)
		if (now.v[i].bytes)
			return false;
	return true;
}

/* ---- bytes ---- */

static uint32_t run_of_marks(const struct mover *m)
{
	uint32_t most = m->j->eng->cfg.buf_bytes, len = 0;

	while (m->at + len < m->end && len + m->sector_bytes <= most &&
	       m->marks[(m->at + len - m->first) / m->sector_bytes] == m->only)
		len += m->sector_bytes;
	return len;
}

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
	if (m->op == IO_WRITE) { /* neighbours go at once: a sector of the medium may hold several of the interface's */
		if (m->only != MARK_ANY)
			req->len_bytes = run_of_marks(m);
		if (guard_allow(m->j, req->len_bytes, &m->why) < 0)
			return FEED_END;
		memcpy(req->buf, m->data + (m->at - m->first), req->len_bytes);
	}
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

int mover_move(struct mover *m, struct rewrite_journal *j, enum io_op op, uint32_t step_bytes, uint8_t only,
               struct err *err)
{
	struct target target = j->ses->targets[j->target];
	struct load load = { .targets = &target,
		             .ntargets = 1,
		             .feeder = &m->feeder,
		             .sink = &m->sink,
		             .depth = 1,
		             .max_faults = UINT64_MAX };
	struct load_stats stats;
	int r;

	if (op ==
	    IO_READ) /* what lies beside is outside of what the plan writes, and so may be an earlier run's places */
		target.touch_first = target.touch_end = 0;
	m->feeder.next = mover_next;
	m->sink.take = mover_take;
	m->j = j;
	m->why = (struct err){ 0 };
	m->op = op;
	m->at = m->first;
	m->step_bytes = step_bytes;
	m->only = only;
	m->is_given = false;
	m->error = 0;
	r = load_run(&load, j->eng, &stats, err);
	if (r < 0)
		return r;
	if (stats.end == LOAD_GONE)
		return err_set(err, -ENODEV, "%s disappeared while a block was being put back; the journal keeps it.",
		               target.name);
	if (m->why.code)
		return err_set(err, m->why.code, "%s", m->why.text);
	if (m->error)
		return err_set(err, m->error, "Putting a block back on %s failed with %s; the journal keeps it.",
		               target.name, err_name(m->error));
	return 0;
}

uint64_t mover_count(const struct mover *m, enum mark mark)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < (m->end - m->first) / m->sector_bytes; i++)
		n += m->marks[i] == mark;
	return n;
}

int mover_compare(struct mover *m, struct rewrite_journal *j, struct err *err)
{
	uint32_t large = j->eng->cfg.buf_bytes - j->eng->cfg.buf_bytes % m->sector_bytes;
	int r = mover_move(m, j, IO_READ, large, MARK_ANY, err)
	                ?: mover_move(m, j, IO_READ, m->sector_bytes, MARK_UNREADABLE, err);

	return r;
}
