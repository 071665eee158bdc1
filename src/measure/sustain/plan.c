/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `sustain` will do: options, and what of them does not fit the target. */
#include <errno.h>
#include <inttypes.h>

#include "base/units.h"
#include "measure/sustain/sustain.h"

#define LEAST    64 /* requests that have to fit */
#define SMALLER  4  /* times smaller is the other size of large requests; and ... */
#define SMALLEST 16 /* of bursts that few requests use up */
#define FEW      128
#define LARGER   2 /* and larger that of small ones: with more the link may be the limit */
#define LARGE    (256u << 10)

const struct opt sustain_opts[] = {
	OPT_FLAG(struct sustain_params, write, "write", 'w', "write to the device: destroys data (see --destroy-data)"),
	OPT_FLAG(struct sustain_params, random, "random", 0, "at random places instead of in sequence"),
	OPT_BYTES(struct sustain_params, block_bytes, "block", 'b', "SIZE", NULL,
	          "size of a request; without it 1MiB, and 4KiB with --random", .min = 512, .max = 16 << 20),
	OPT_U64(struct sustain_params, depth, "depth", 0, "N", "16", "requests under way at once", .min = 1,
	        .max = 1024),
	OPT_RATE(struct sustain_params, rate_bytes_per_s, "rate", 0, "RATE", NULL, "ask for no more than this"),
	OPT_STR(struct sustain_params, range, "range", 0, "FROM-TO", NULL,
	        "keep within this part (default all); in directories: the size of the file, 0-16GiB by default"),
	OPT_END,
};

uint32_t sustain_block(const struct sustain_params *p)
{
	return p->block_bytes ? (uint32_t)p->block_bytes : p->random ? 4096 : 1 << 20;
}

uint32_t sustain_other_block(const struct sustain_params *p, double requests)
{
	uint32_t block = sustain_block(p);

	return block < LARGE ? block * LARGER : block / (requests < FEW ? SMALLEST : SMALLER);
}

int sustain_plan(const struct session *ses, const void *params, struct plan *ret_plan, struct err *err)
{
	const struct sustain_params *p = params;
	const struct device *dev = &ses->devs[0];
	bool is_folder = dev->kind == DEVICE_DIRECTORY;
	uint32_t block = sustain_block(p), least = block < LARGE ? block : block / SMALLEST;
	uint64_t first, end;
	int r;

	if (p->write && dev->kind == DEVICE_FILE)
		return err_set(err, -EINVAL,
		               "%s is an existing file, which is never written over; give its directory, or a device.",
		               dev->path);
	if (p->write && is_folder)
		return err_set(err, -EINVAL, "In a directory sustain writes to a file of its own; leave --write out.");
	r = lasting_range(dev, p->range, SUSTAIN_FILE_BYTES, block, &first, &end, err);
	if (r < 0)
		return r;
	if (end - first < (uint64_t)LEAST * block)
		return err_set(err, -EINVAL,
		               "%s has room for less than %d requests of %" PRIu32
		               " bytes; give a smaller --block or another --range.",
		               dev->path, LEAST, block);
	if (dev->logical_block_bytes && least % dev->logical_block_bytes)
		return err_set(err, -EINVAL,
		               "--block=%" PRIu32 " has to be 16 times a multiple of %" PRIu32
		               " bytes, the sector of %s; give another one.",
		               block, dev->logical_block_bytes, dev->path);
	ret_plan->is_direct = ret_plan->lasts = true;
	ret_plan->is_latency = true;
	ret_plan->opens_itself = is_folder;
	ret_plan->writes = p->write ? WRITE_DESTROY : WRITE_NONE;
	ret_plan->touch_first = is_folder ? 0 : first;
	ret_plan->touch_end = is_folder ? 0 : end;
	ret_plan->write_bytes = p->write || is_folder ? UINT64_MAX : 0;
	ret_plan->read_bytes = ret_plan->write_bytes ? 0 : UINT64_MAX;
	plan_phase(ret_plan, "until it has settled",
	           ses->common->time_ns ? ses->common->time_ns : (uint64_t)(SUSTAIN_ALONE_S * 1e9));
	plan_phase(ret_plan, "rests", ses->common->time_ns ? 0 : 900 * NS_PER_S);
	return 0;
}
