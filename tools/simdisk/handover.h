/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A descriptor, or why there is none, from the server's start to the keeper. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* true when readable within ms (-1: for ever). */
bool wait_readable(int fd, int ms);
/* file_fd: -1: err says why. */
void handover_send(int sock, int file_fd, struct err *err);
/* The descriptor, the caller's, or a negative errno. */
int handover_receive(int sock, int wait_ms, struct err *err);
