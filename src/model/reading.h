/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the chain and its answers are about: a rate that was read at a place. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct along_at {         /* a reading */
	double from, end; /* bytes */
	double y, sigma;  /* log of the time per byte, and its own noise */
	size_t place;     /* readings of one place lie on the same surfaces: what these differ by shows once */
	bool is_anew;     /* before it another device may begin, and rates anew */
};
