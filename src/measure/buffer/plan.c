/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `buffer` will do. */
#include <errno.h>
#include <inttypes.h>

#include "measure/buffer/buffer.h"

#define LEAST_BYTES (16u << 20) /* in less, places come too close to each other */

const struct opt buffer_opts[] = {
	OPT_FLAG(struct buffer_params, write, "write", 'w', "write to the device: destroys data (see --destroy-data)"),
	OPT_BYTES(struct buffer_params, size_bytes, "size", 0, "SIZE", "1GiB", "write within so much", .min = 16u << 20,
	          .max = 1ull << 40),
	OPT_BYTES(struct buffer_params, start_bytes, "start", 0, "OFFSET", "0", "write from here on", .max = 9e18),
	OPT_END,
};

/* Half of it is written at most each time that the cache is filled, which is twice, and a little for flushes. */
uint64_t buffer_most_written(uint64_t size_bytes)
{
	return size_bytes + (1u << 20);
}

static int plan_writes(const struct device *dev, const struct buffer_params *p, struct plan *ret_plan, struct err *err)
{
	if (p->start_bytes + p->size_bytes + BUFFER_LARGE_BLOCK > dev->size_bytes)
		return err_set(err, -EINVAL, "%s has no %" PRIu64 " bytes from --start on; use a smaller --size.",
		               dev->path, p->size_bytes);
	ret_plan->writes = WRITE_DESTROY;
	ret_plan->write_bytes = buffer_most_written(p->size_bytes);
	plan_phase(ret_plan, "filling its write cache", 30 * NS_PER_S);
	return 0;
}

int buffer_plan(const struct session *ses, const void *params, struct plan *ret_plan, struct err *err)
{
	const struct device *dev = &ses->devs[0];

	if ((double)dev->size_bytes * BUFFER_PART < LEAST_BYTES)
		return err_set(err, -EINVAL,
		               "%s has %" PRIu64 " bytes, too few to find places that do not lie together.", dev->path,
		               dev->size_bytes);
	plan_phase(ret_plan, "looking whether it turns", 10 * NS_PER_S);
	plan_phase(ret_plan, "asking its buffer", ses->common->time_ns ? ses->common->time_ns : BUFFER_TIME_NS);
	ret_plan->read_bytes = UINT64_MAX;
	ret_plan->is_direct = true;
	ret_plan->is_latency = true;
	return ((const struct buffer_params *)params)->write ? plan_writes(dev, params, ret_plan, err) : 0;
}
