/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `passes` will do, and whether there is something to read or room to write. */
#include <errno.h>

#include "measure/passes/passes.h"

#define READ_NS_PER_BYTE 10 /* 100 MB/s: a guess, said as such in the manual */

static const char *const modes[] = { "cached", "cold", "direct", NULL }; /* enum passes_mode */

const struct opt passes_opts[] = {
	OPT_BYTES(struct passes_params, size_bytes, "size", 's', "SIZE", NULL,
	          "write a file of this size first; without it the existing file is read", .min = 65536, .max = 9e18),
	OPT_U64(struct passes_params, passes, "repeat", 'r', "N", "4", "how often the file is read", .min = 1,
	        .max = 10000, .is_aside = true),
	OPT_CHOICE(struct passes_params, mode, "mode", 0, modes, "cached",
	           "through the page cache, dropped from it before each pass, or past it"),
	OPT_FLAG(struct passes_params, keep, "keep", 0, "leave the file where it is", .is_aside = true),
	OPT_END,
};

int passes_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err)
{
	const struct passes_params *p = params;
	uint64_t bytes = 0;

	for (size_t i = 0; i < ses->ndevs; i++) {
		const struct device *d = &ses->devs[i];

		if (p->size_bytes && (d->kind == DEVICE_DISK || d->kind == DEVICE_PARTITION))
			return err_set(err, -EINVAL,
			               "%s is a block device: passes writes files only; without --size it reads it.",
			               d->path);
		if (!p->size_bytes && d->kind == DEVICE_DIRECTORY)
			return err_set(
				err, -EINVAL,
				"%s is a directory; give --size to write a file there, or an existing file to read.",
				d->path);
		if (!p->size_bytes && d->size_bytes == 0)
			return err_set(err, -EINVAL, "%s is empty or not there; give --size to write it.", d->path);
		if (!p->size_bytes &&
		    session_medium(ses, i, datafile_first_byte(d), d->size_bytes, p->mode == PASSES_DIRECT, err) < 0)
			return -EINVAL;
		if (p->size_bytes) {
			int r = datafile_check(d, p->size_bytes, err);

			if (r < 0)
				return r;
		}
		bytes += p->size_bytes ? p->size_bytes : d->size_bytes;
	}
	plan->opens_itself = plan->lasts = true; /* a pass goes on to its end */
	plan->is_direct = p->mode == PASSES_DIRECT;
	plan->read_bytes = bytes * p->passes;
	plan->write_bytes = p->size_bytes ? bytes : 0;
	if (p->size_bytes)
		plan_phase(plan, "write", READ_NS_PER_BYTE * bytes);
	plan_phase(plan, "read", READ_NS_PER_BYTE * bytes * p->passes);
	return 0;
}
