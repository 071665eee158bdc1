/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file without a name that a measurement makes in a directory, as the target of its requests. */
#ifndef PLATTER_MEASURE_OWNFILE_H
#define PLATTER_MEASURE_OWNFILE_H

#include "session/session.h"

/* Allocated up to end_bytes; own: with fd -1 before. 0, or negative errno and a sentence; to be closed either way. */
int own_file_open(struct datafile **file, struct target *own, const struct device *dev, uint64_t end_bytes,
                  struct err *err);
/* file NULL: there was none. The file goes. */
void own_file_close(struct datafile *file, const struct target *own);

#endif
