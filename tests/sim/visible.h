/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of a disk's layout shows in sizes of tracks at all. */
#pragma once

#include "model.h"

/* Bands longer than any zone are not visible as such. */
static inline bool is_one_band(const struct profile *p)
{
	for (size_t i = 0; i < p->nzones; i++)
		if (p->zones[i].cylinders > p->zones[i].band_tracks)
			return false;
	return true;
}

/* Does the order of the surfaces turn round in some zone, in a way that shows in the sizes? */
static inline bool does_turning_show(const struct profile *p)
{
	for (size_t i = 0; i < p->nzones; i++)
		for (uint32_t k = 0; k < p->surfaces && p->zones[i].cylinders > p->zones[i].band_tracks; k++)
			if (p->zones[i].spt[k] != p->zones[i].spt[p->surfaces - 1 - k])
				return true;
	return false;
}
