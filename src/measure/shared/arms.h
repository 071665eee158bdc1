/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Do several arms, or disks in a row, share the addresses, and which has which? */
#pragma once

#include "measure/shared/timed.h"

struct arm_ranges {
	struct device_range range[DEVICE_RANGES_MAX];
	size_t n; /* 0: one arm, or not known */
};

/* By what the kernel says, else by reads that go to and fro: 10 where one arm shows at once. */
int arms_find(struct timed *t, const struct rotation *rot, struct arm_ranges *ret, struct err *err);
