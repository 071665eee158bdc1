/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A feeder says what to send, a sink takes what came back; session_load() does all between. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/units.h"
#include "measure/skeleton/skeleton.h"

struct reads {
	struct sink sink; /* first: take() gets a pointer to it */
	struct session *ses;
	struct skeleton_samples *samples;
	size_t wanted;
};

static void take(struct sink *s, const struct io_req *req, bool is_fault)
{
	struct reads *r = (struct reads *)s;
	uint64_t ns = req->done_ns - req->submit_ns;
	char t[32];

	if (is_fault || r->samples->n == r->wanted) /* a fault is on its list already, and is no time of a good read */
		return;
	r->samples->v[r->samples->n++] = (struct skeleton_sample){ req->offset_bytes, ns };
	session_progress(r->ses, "reads", (double)r->samples->n / (double)r->wanted, "%s",
	                 units_time(t, sizeof(t), ns));
}

int skeleton_read(struct session *ses, const struct skeleton_params *p, struct skeleton_samples *ret, struct err *err)
{
	const struct engine_config cfg = { .depth = 1, .buf_bytes = (uint32_t)p->block_bytes };
	struct reads reads = { .sink = { take }, .ses = ses, .samples = ret, .wanted = p->count };
	struct random_feeder feeder;
	struct load load = { .targets = ses->targets,
		             .ntargets = 1,
		             .feeder = &feeder.f,
		             .sink = &reads.sink,
		             .depth = 1,
		             .max_ns = ses->common->time_ns };
	struct load_stats stats;
	struct engine *eng;
	int r;

	ret->v = calloc(p->count, sizeof(*ret->v));
	if (!ret->v)
		return err_set(err, -ENOMEM, "Out of memory for %" PRIu64 " times; use a smaller --count.", p->count);
	r = session_engine(ses, &cfg, &eng, err);
	if (r < 0)
		return r;
	random_feeder_init(&feeder, IO_READ, 0, 0, ses->devs[0].size_bytes, (uint32_t)p->block_bytes, p->count,
	                   ses->seed);
	r = session_load(ses, &load, eng, &stats, err);
	engine_close(eng);
	return r;
}
