/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `buffer` will do. */
#include <errno.h>
#include <inttypes.h>

#include "measure/buffer/buffer.h"

#define LEAST_BYTES (64u << 20) /* in less, places come too close to each other */

const struct opt buffer_opts[] = {
	OPT_END,
};

int buffer_plan(const struct session *ses, const void *params, struct plan *ret_plan, struct err *err)
{
	const struct device *dev = &ses->devs[0];

	(void)params;
	if ((double)dev->size_bytes * BUFFER_PART < LEAST_BYTES)
		return err_set(err, -EINVAL,
		               "%s has %" PRIu64 " bytes, too few to find places that do not lie together.", dev->path,
		               dev->size_bytes);
	plan_phase(ret_plan, "looking whether it turns", 10 * NS_PER_S);
	plan_phase(ret_plan, "asking its buffer", ses->common->time_ns ? ses->common->time_ns : BUFFER_TIME_NS);
	ret_plan->read_bytes = UINT64_MAX;
	ret_plan->is_direct = true;
	ret_plan->is_latency = true;
	return 0;
}
