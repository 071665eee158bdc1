/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/*
 * A number of a document as a whole one, as far as 64 bits hold it: what is below 0, or no number, is 0. C leaves the
 * cast of such numbers undefined.
 */
static inline uint64_t whole(double value)
{
	return !(value > 0.0) ? 0 : value < 0x1p64 ? (uint64_t)value : UINT64_MAX;
}
