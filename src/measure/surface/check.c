/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every read of what was written is checked, sector by sector, whoever asked for it. */
#include "measure/surface/writing.h"

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
