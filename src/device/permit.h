/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only: header.c, which knows our own files; safety.c, which makes permits; datafile.c, which makes
 * files. */
#pragma once

#include "device/device.h"

/* is_temporary: the file is to go when its run ends; so it may be removed by another run when that one crashed
 * (leftover.c). */
int datafile_write_header(int fd, uint64_t data_bytes, bool is_temporary);
/* Does the open file begin with platter's header? */
bool datafile_has_header(int fd);
/* ... with one that says that the file was to go? Those of versions before 1 did not say: no. */
bool datafile_is_temporary(int fd);
/* A temporary file that is to stay after all. */
int datafile_mark_kept(int fd);
/* A permit for an open file of ours: looks for the header itself. fd stays the caller's. */
int permit_for_datafile(struct write_permit **ret, int fd, const char *path, struct err *err);
