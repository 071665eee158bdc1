/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `buffer` will do. */
#include <errno.h>
#include <inttypes.h>

#include "base/units.h"
#include "measure/buffer/buffer.h"

#define SPAN_BYTES  (1u << 30)
#define LEAST_BYTES (16u << 20) /* in less, places come too close to each other */

const struct opt buffer_opts[] = {
	OPT_FLAG(struct buffer_params, write, "write", 'w', "write to the device: destroys data (see --destroy-data)"),
	OPT_STR(struct buffer_params, range, "range", 0, "FROM-TO", NULL,
	        "write within this part (default the first GiB)"),
	OPT_END,
};

/* Half of it is written at most each time that the cache is filled, which is twice, and a little for flushes. */
uint64_t buffer_most_written(uint64_t size_bytes)
{
	return size_bytes + (1u << 20);
}

int buffer_range(const struct device *dev, const struct buffer_params *p, uint64_t *ret_first, uint64_t *ret_end,
                 struct err *err)
{
	int r = units_parse_range(p->range, dev->size_bytes, ret_first, ret_end, err);

	if (r == 0 && !p->range)
		*ret_end = *ret_end > SPAN_BYTES ? SPAN_BYTES : *ret_end - BUFFER_LARGE_BLOCK;
	return r;
}

static int plan_writes(const struct device *dev, const struct buffer_params *p, struct plan *ret_plan, struct err *err)
{
	uint64_t first, end;
	int r = buffer_range(dev, p, &first, &end, err);

	if (r < 0)
		return r;
	if (end - first < LEAST_BYTES || end + BUFFER_LARGE_BLOCK > dev->size_bytes)
		return err_set(
			err, -EINVAL,
			"%s: --range needs 16 MiB at least, and %d KiB of the device behind it; give another one.",
			dev->path, BUFFER_LARGE_BLOCK >> 10);
	ret_plan->writes = WRITE_DESTROY;
	ret_plan->write_bytes = buffer_most_written(end - first);
	plan_phase(ret_plan, "filling its write cache", 30 * NS_PER_S);
	return 0;
}

int buffer_plan(const struct session *ses, const void *params, struct plan *ret_plan, struct err *err)
{
	const struct device *dev = &ses->devs[0];

	if ((double)dev->size_bytes * BUFFER_PART < LEAST_BYTES)
		return err_set(err, -EINVAL, "%s has %" PRIu64 " bytes, and buffer needs %d MiB; give a larger disk.",
		               dev->path, dev->size_bytes, (int)(LEAST_BYTES / BUFFER_PART) >> 20);
	plan_phase(ret_plan, "looking whether it turns", 10 * NS_PER_S);
	plan_phase(ret_plan, "asking its buffer", ses->common->time_ns ? ses->common->time_ns : BUFFER_TIME_NS);
	ret_plan->read_bytes = UINT64_MAX;
	ret_plan->is_direct = true;
	ret_plan->is_latency = true;
	return ((const struct buffer_params *)params)->write ? plan_writes(dev, params, ret_plan, err) : 0;
}
