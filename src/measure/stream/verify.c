/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run wrote is read back, in much the order in which it was written, and held against what it should be. */
#include <inttypes.h>

#include "measure/stream/stream.h"

/* What of a lane was handed out to be written, and how far it has been read back. */
struct check_lane {
	uint64_t blocks, read;
};

struct check {
	struct feeder feeder; /* first */
	struct sink sink;
	struct stream_run *s;
	struct check_lane lanes[STREAM_LANES_MAX];
	uint64_t at, blocks, checked, bad, reported;
};

static void check_tick(void *arg, uint64_t now_ns)
{
	const struct check *c = arg;

	(void)now_ns;
	session_progress(c->s->ses, "reading back",
	                 (1.0 + c->s->blocks.parts_left * (double)c->at / (double)c->blocks) /
	                         (1.0 + c->s->blocks.parts_left),
	                 NULL);
}

/* The lane that is furthest behind: all end together, and blocks come in much the order in which they were written. */
static size_t pick_check(const struct check *c)
{
	double least = 1.0;
	size_t best = 0;

	for (size_t i = 0; i < c->s->routes.nlanes; i++) {
		const struct check_lane *l = &c->lanes[i];
		double part = l->blocks ? (double)l->read / (double)l->blocks : 1.0;

		if (part < least) {
			least = part;
			best = i;
		}
	}
	return best;
}

static enum feed check_next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct check *c = (struct check *)f;
	struct stream_run *s = c->s;
	struct lane *l;
	size_t k;

	(void)now_ns;
	(void)ret_until_ns;
	if (c->at == c->blocks)
		return FEED_END;
	k = pick_check(c);
	l = &s->routes.lanes[k];
	req->op = IO_READ;
	req->target = l->list[l->at_target];
	req->offset_bytes = l->offset;
	req->len_bytes = (uint32_t)s->p->block_bytes;
	req->tag = c->at++;
	c->lanes[k].read++;
	stream_advance(s, l);
	return FEED_IO;
}

/* Where not each fault is listed, it cannot be known. */
static bool was_written(const struct stream_run *s, const struct io_req *req)
{
	for (size_t i = 0; i < s->ses->res->nfaults; i++) {
		const struct result_fault *f = &s->ses->res->faults[i];

		if (f->offset_bytes == req->offset_bytes && !strcmp(f->op, "write") &&
		    !strcmp(f->target, s->routes.targets[req->target].name))
			return false;
	}
	return s->ses->res->nfaults < RESULT_FAULTS_MAX;
}

/* What failed to be written or read is a fault on record, and no block that came back. */
static void check_take(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct check *c = (struct check *)((char *)sink - offsetof(struct check, sink));
	struct payload_id expect = stream_placed_id(c->s, &c->s->routes.lanes[c->s->routes.lane_of[req->target]], req);
	struct err why = { 0 };

	if (is_fault || !was_written(c->s, req))
		return;
	c->checked++;
	if (payload_check(req->buf, &expect, &why) == 0)
		return;
	c->bad++;
	if (c->reported++ < 20)
		result_notice(c->s->ses->res, "verify", "%s at %" PRIu64 ": %s", c->s->routes.targets[req->target].name,
		              req->offset_bytes, why.text);
}

int stream_verify(struct stream_run *s, uint64_t *ret_blocks, uint64_t *ret_bad, struct err *err)
{
	struct check c = { .feeder = { check_next }, .sink = { check_take }, .s = s };
	struct load load = { .targets = s->routes.targets,
		             .ntargets = s->routes.ntargets,
		             .feeder = &c.feeder,
		             .sink = &c.sink,
		             .on_tick = check_tick,
		             .arg = &c };
	struct load_stats stats;
	int r;

	for (size_t i = 0; i < s->routes.nlanes; i++) { /* from the start once more, as many blocks as went out */
		struct lane *l = &s->routes.lanes[i];

		c.lanes[i].blocks = l->issued;
		c.blocks += l->issued;
		l->at_target = 0;
		l->offset = l->start;
	}
	r = session_load(s->ses, &load, s->eng, &stats, err);
	*ret_blocks = c.checked;
	*ret_bad = c.bad;
	return r;
}
