/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every read of what was written is checked, sector by sector, whoever asked for it. */
#include "measure/surface/burn.h"

#define FIRST_PASS 1

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
	if (!surface_wrongs_add(&run->burn->wrongs, &(struct surface_wrong){ first, end, kind, away }))
		surface_no_memory(run);
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
	for (uint32_t i = 0; i + sector <= req->len_bytes; i += sector)
		if (req->offset_bytes + i >= run->range.first_bytes &&
		    req->offset_bytes + i + sector <= run->range.end_bytes)
			check_sector(run, (const uint8_t *)req->buf + i, req->offset_bytes + i);
}
