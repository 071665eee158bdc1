/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/shared/link.h"

#include <math.h>

#include "base/units.h"

#define ALL_OF_IT 0.97 /* commands and their answers take the rest (a choice; the dearest of tests/sim: 2 %) */
#define NOT_IT    1.1  /* several disks, or a cache before the link: it carries more than it does (a choice) */

#define BY_SIZE \
	1.08 /* what turns gives a zone in either size alike: 0.97 to 1.04 (trial, the profiles of tools/simdisk) */

void link_say(struct result *res, const struct device *dev, double link_bytes_per_s, double rate_bytes_per_s,
              uint64_t request_bytes)
{
	char rate[32], link[32], request[32];

	if (isnan(link_bytes_per_s) && dev->way.link_bytes_per_s)
		link_bytes_per_s = (double)dev->way.link_bytes_per_s;
	if (dev->rotational == 0 || device_has_members(dev) || !(rate_bytes_per_s <= NOT_IT * link_bytes_per_s) ||
	    !link_is_near(rate_bytes_per_s, link_bytes_per_s) || result_has_notice(res, "link-limit"))
		return;
	(void)units_rate(rate, sizeof(rate), rate_bytes_per_s);
	(void)units_rate(link, sizeof(link), link_bytes_per_s);
	if (rate_bytes_per_s > ALL_OF_IT * link_bytes_per_s)
		result_notice(res, "link-limit",
		              "%s: %s is what the link carries, not the medium, which may be faster.", dev->path, rate);
	else
		result_notice(res, "link-limit",
		              "%s: %s in requests of %s is near the %s that the link carries. "
		              "The medium may be faster: a full buffer loses revolutions, and larger requests fewer.",
		              dev->path, rate, units_bytes(request, sizeof(request), request_bytes), link);
}

void link_say_by_size(struct result *res, const struct device *dev, double large_bytes_per_s, double rate_bytes_per_s,
                      uint64_t request_bytes)
{
	char large[32], small[32], each[32];

	if (dev->rotational == 0 || !(large_bytes_per_s > BY_SIZE * rate_bytes_per_s))
		return;
	result_notice(
		res, "request-size",
		"%s gave %s at its start in large requests, and %s in the %s of these rates: the link or a bridge is measured. `platter stream --read %s` reads in large ones.",
		dev->path, units_rate(large, sizeof(large), large_bytes_per_s),
		units_rate(small, sizeof(small), rate_bytes_per_s), units_bytes(each, sizeof(each), request_bytes),
		dev->path);
}
