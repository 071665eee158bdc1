/* SPDX-License-Identifier: GPL-2.0-or-later */
/* surface --sample: stretches at random places instead of every block. */
#pragma once

#include "measure/surface/surface.h"

/* Time left, and places that were not scanned? */
bool surface_sample_goes_on(const struct surface_run *run);
/* Places until suspects want to be read again, or the pass ends. 0, or negative errno. */
int surface_sample_leg(struct surface_run *run, struct err *err);
void surface_sample_free(struct surface_sample *s); /* NULL is fine */
/* What the places say of the disk; after surface_report(). */
void surface_sample_report(struct surface_run *run);
