/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/shared/lasting.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "measure/shared/rewrite.h"

#define DATA_PIECE 4096 /* each has a number of its own */
#define FILE_MOST  (1ull << 42)

int lasting_range(const struct device *dev, const char *range, uint64_t file_bytes, uint32_t block_bytes,
                  uint64_t *ret_first, uint64_t *ret_end, struct err *err)
{
	bool is_folder = dev->kind == DEVICE_DIRECTORY;
	uint64_t begin = is_folder ? DATAFILE_DATA_OFFSET : datafile_first_byte(dev), end = datafile_end_byte(dev);
	uint64_t first, last;
	int r = units_parse_range(range, is_folder ? FILE_MOST : end > begin ? end - begin : 0, &first, &last, err);

	if (r < 0)
		return r;
	if (is_folder && first)
		return err_set(err, -EINVAL, "%s is a directory, where --range begins with 0; write it like 0-1GB.",
		               dev->path);
	if (is_folder && !range)
		last = file_bytes;
	*ret_first = begin + first / block_bytes * block_bytes;
	*ret_end = *ret_first + (last - first) / block_bytes * block_bytes;
	return 0;
}

static int make_file(struct lasting *l, uint64_t end_bytes, struct err *err)
{
	const struct device *dev = &l->ses->devs[0];
	int r = datafile_create(&l->file, dev->path, end_bytes - DATAFILE_DATA_OFFSET,
	                        DATAFILE_ANONYMOUS | DATAFILE_ALLOCATE, err);

	if (r < 0)
		return r;
	l->own.fd = datafile_open(l->file, true, err);
	if (l->own.fd < 0)
		return l->own.fd;
	l->own.name = dev->path;
	l->own.size_bytes = end_bytes;
	l->own.align_bytes = device_direct_align(dev);
	l->own.permit = datafile_permit(l->file);
	session_medium_of_writes(l->ses);
	return 0;
}

void lasting_fill(struct lasting *l, uint32_t buf_bytes)
{
	struct payload_pool pool;

	payload_pool_init(&pool, l->ses->seed, buf_bytes);
	for (uint32_t slot = 0; slot < l->eng->cfg.slots; slot++)
		memcpy(engine_buf(l->eng, slot), payload_pool_at(&pool, slot), buf_bytes);
	payload_pool_done(&pool);
}

int lasting_open(struct lasting *l, struct session *ses, const struct engine_config *cfg, uint64_t end_bytes,
                 struct err *err)
{
	bool has_file = ses->plan->opens_itself;
	int r = 0;

	*l = (struct lasting){ .ses = ses, .own.fd = -1, .target = has_file ? &l->own : &ses->targets[0] };
	l->end_ns = ses->common->time_ns ? ses->start_ns + ses->common->time_ns : CLOCK_NEVER;
	if (has_file)
		r = make_file(l, end_bytes, err);
	if (r == 0)
		r = session_engine(ses, cfg, &l->eng, err);
	if (r == 0 && (has_file || ses->plan->writes != WRITE_NONE))
		lasting_fill(l, cfg->buf_bytes);
	return r;
}

void lasting_close(struct lasting *l)
{
	engine_close(l->eng);
	if (l->file && l->own.fd >= 0)
		(void)close(l->own.fd);
	datafile_close(l->file);
}

bool lasting_is_over(const struct lasting *l)
{
	return session_is_over(l->ses) || clock_now_ns(l->ses->env->clk) >= l->end_ns;
}

struct flow {
	struct feeder f; /* first: next() gets a pointer to it */
	struct sink sink;
	struct lasting *l;
	const struct lasting_order *o;
	uint64_t begin_ns, sent;
	struct err why;
};

static int put_data(struct flow *w, struct io_req *req)
{
	if (w->l->journal)
		return rewrite_fetch(w->l->journal, req->offset_bytes, req->buf, req->len_bytes, &w->why);
	w->l->written++;
	for (uint32_t k = 0; k < req->len_bytes; k += DATA_PIECE)
		memcpy((uint8_t *)req->buf + k, &w->l->written, sizeof(w->l->written));
	return 0;
}

static enum feed flow_next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct flow *w = (struct flow *)f;
	const struct lasting_order *o = w->o;

	(void)now_ns;
	(void)ret_until_ns;
	if (o->requests && w->sent == o->requests) {
		req->op = IO_FLUSH;
		return w->sent++, o->flushes ? FEED_IO : FEED_END;
	}
	if (o->requests && w->sent > o->requests)
		return FEED_END;
	req->op = o->op;
	req->offset_bytes = o->place(o->arg, w->sent);
	req->len_bytes = o->block_bytes;
	if (o->end_bytes && o->end_bytes - req->offset_bytes < req->len_bytes)
		req->len_bytes = (uint32_t)(o->end_bytes - req->offset_bytes);
	if (o->rate_bytes_per_s > 0)
		req->due_ns = w->begin_ns + (uint64_t)((double)w->sent * o->block_bytes * 1e9 / o->rate_bytes_per_s);
	w->sent++;
	return req->op == IO_WRITE && put_data(w, req) < 0 ? FEED_END : FEED_IO;
}

static void flow_take(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct flow *w = (struct flow *)((char *)sink - offsetof(struct flow, sink));

	if (w->o->took)
		w->o->took(w->o->arg, req, is_fault);
}

int lasting_load(struct lasting *l, const struct lasting_order *o, struct err *err)
{
	uint64_t now_ns = clock_now_ns(l->ses->env->clk);
	struct flow w = {
		.f.next = flow_next, .sink.take = flow_take, .l = l, .o = o, .begin_ns = session_now_ns(l->ses)
	};
	struct load load = { .targets = l->target,
		             .ntargets = 1,
		             .feeder = &w.f,
		             .sink = &w.sink,
		             .depth = o->depth,
		             .max_ns = o->flushes ? 0 : l->end_ns - now_ns,
		             .by_own_clock = true,
		             .on_tick = o->tick,
		             .arg = o->arg };
	struct load_stats stats;
	int r;

	if (now_ns >= l->end_ns)
		return 0;
	if (o->max_ns && o->max_ns < load.max_ns)
		load.max_ns = o->max_ns;
	r = session_load(l->ses, &load, l->eng, &stats, err);
	return r == 0 && w.why.code ? err_set(err, w.why.code, "%s", w.why.text) : r;
}
