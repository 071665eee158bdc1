/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only: header.c, which knows our own files; safety.c, which makes permits; datafile.c, which makes
 * files. */
#pragma once

#include "device/device.h"

int datafile_write_header(int fd, uint64_t data_bytes);
/* Does the open file begin with platter's header? */
bool datafile_has_header(int fd);
/* A permit for an open file of ours: looks for the header itself. fd stays the caller's. */
int permit_for_datafile(struct write_permit **ret, int fd, const char *path, struct err *err);
