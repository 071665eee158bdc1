/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The health of the disks before a run and after it. Inside session/ only. */
#ifndef PLATTER_SESSION_HEALTH_H
#define PLATTER_SESSION_HEALTH_H

#include "session/session.h"

/* While all privileges are there: looks, and starts who looks again afterwards. */
void health_before(struct session *ses);
/* What there was, is, and has moved, into the document. */
void health_after(struct session *ses);

#endif
