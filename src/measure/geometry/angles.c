/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Angles as parts of a revolution: how far they are apart, and how far noise alone puts them. */
#include <math.h>

#include "measure/geometry/geometry.h"

#define NEAR_LEAST 1.2e-5 /* of a revolution: what rounding of times and of the period does */
#define NEAR_NOISE 7.5    /* deviations of one answer: five of a difference */

double geo_near(const struct geo *g)
{
	return fmax(NEAR_LEAST, NEAR_NOISE * g->rot.noise_ns / g->rot.period_ns);
}
