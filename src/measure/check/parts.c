/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/check/check.h"
#include "measure/measures.h"

#define READS_SHARE 0.98 /* of the time: requests in flight at its end come later */

/*
 * Shares are a choice: five minutes give each of the first what its short run takes on a usual disk, and the sample of
 * the surface, which finds most, the rest.
 */
const struct check_part check_parts[] = {
	{ "surface", "--write", 0.0, false, .is_writing = true },
	{ "zones", "--quick", 0.10, false },
	{ "seek", "--quick", 0.08, true },
	{ "transactions", "--ios=1", 0.12, false },
	{ "buffer", "", 0.05, true },
	{ "smr", "", 0.02, true },
	{ "surface", "--sample --without=files", 0.0, false },
	{ .name = NULL },
};

bool check_wants(const struct check_part *p, const struct device *dev, bool writes)
{
	bool takes_it = dev->kind != DEVICE_FILE || measure_find(p->name)->takes & TAKES_FILES;

	return takes_it && (p->is_writing ? writes : !p->is_for_rotating || dev->rotational != 0);
}

uint64_t check_budget(const struct check_part *p, const struct device *dev, uint64_t all_ns, uint64_t left_ns)
{
	double rest = 1.0, ns = READS_SHARE * (double)all_ns;

	if (p->is_writing)
		return 0;
	for (const struct check_part *o = check_parts; o->name; o++)
		rest -= check_wants(o, dev, false) ? o->share : 0.0;
	ns *= p->share > 0.0 ? p->share : rest;
	if (p->share <= 0.0 && p[1].name == NULL) /* the last has also what others did not need */
		ns = (double)left_ns - (1.0 - READS_SHARE) * (double)all_ns;
	return ns < (double)left_ns ? (uint64_t)(ns > 0.0 ? ns : 0.0) : left_ns;
}
