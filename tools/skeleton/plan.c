/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `skeleton` will do: options, and what of them does not fit the device. */
#include <errno.h>
#include <inttypes.h>

#include "measure/skeleton/skeleton.h"

#define READ_NS (15 * NS_PER_MS) /* for the plan: what a random read of a rotating disk takes. */

/* The table is all: help, completion, the check of the page and the document walk it. */
const struct opt skeleton_opts[] = {
	OPT_U64(struct skeleton_params, count, "count", 'c', "COUNT", "1000", "how many reads", .min = 2, .max = 1e9),
	OPT_BYTES(struct skeleton_params, block_bytes, "block", 'b', "SIZE", "4KiB", "size of a read", .min = 512,
	          .max = 1 << 20),
	OPT_END,
};

int skeleton_plan(const struct session *ses, const void *params, struct plan *ret_plan, struct err *err)
{
	const struct skeleton_params *p = params;
	const struct device *dev = &ses->devs[0];

	if (p->block_bytes > dev->size_bytes)
		return err_set(err, -EINVAL,
		               "%s has %" PRIu64 " bytes, less than one block of %" PRIu64 "; use a smaller --block.",
		               dev->path, dev->size_bytes, p->block_bytes);
	if (p->block_bytes % dev->logical_block_bytes)
		return err_set(err, -EINVAL, "--block=%" PRIu64 " is not a multiple of the %u bytes of a sector of %s.",
		               p->block_bytes, dev->logical_block_bytes, dev->path);
	plan_phase(ret_plan, "reads", p->count * READ_NS);
	ret_plan->read_bytes = p->count * p->block_bytes;
	ret_plan->is_direct = true;
	ret_plan->is_latency = true;
	return 0;
}
