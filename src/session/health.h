/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The health of the disks before a run and after it. Inside session/ only. */
#ifndef PLATTER_SESSION_HEALTH_H
#define PLATTER_SESSION_HEALTH_H

#include "session/session.h"

/* While all privileges are there. true: somebody reported something, so that it is worth asking again. */
bool health_before(struct session *ses);
/* The same afterwards, into an array of one per device; again with all privileges. */
void health_again(const struct session *ses, struct device_health *ret);
/* What there was, is, and has moved, into the document. now: as health_again() has filled it; NULL: nobody could ask.
 */
void health_report(struct session *ses, struct device_health *now);

#endif
