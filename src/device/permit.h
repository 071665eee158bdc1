/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only: header.c, which knows our own files; safety.c, which makes permits; datafile.c, which makes files. */
#ifndef PLATTER_DEVICE_PERMIT_H
#define PLATTER_DEVICE_PERMIT_H

#include "device/device.h"

/* Does the open file begin with platter's header? */
int datafile_write_header(int fd, uint64_t data_bytes);
bool datafile_has_header(int fd);
/* A permit for an open file of ours: looks for the header itself. fd stays the caller's. */
int permit_for_datafile(struct write_permit **ret, int fd, const char *path, struct err *err);

#endif
