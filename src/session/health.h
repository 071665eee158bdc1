/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The health of the disks before a run and after it. Inside session/ only. */
#pragma once

#include "session/session.h"

/*
 * While all privileges are there. Where the run gives them up, and a disk reported something, a second process keeps
 * them to ask once more: its socket, to give to health_after(), or -1.
 */
int health_before(struct session *ses);
/* What there was, is, and has moved, into the document. Closes fd, which ends the other process. */
void health_after(struct session *ses, int fd);
