/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/shared/ownfile.h"

#include <unistd.h>

#include "device/device.h"

int own_file_open(struct datafile **file, struct target *own, const struct device *dev, uint64_t end_bytes,
                  struct err *err)
{
	int fd, r = datafile_create(file, dev->path, end_bytes - DATAFILE_DATA_OFFSET,
	                            DATAFILE_ANONYMOUS | DATAFILE_ALLOCATE, err);

	if (r < 0)
		return r;
	fd = datafile_open(*file, true, err);
	if (fd < 0)
		return fd;
	*own = (struct target){ .name = dev->path,
		                .fd = fd,
		                .size_bytes = end_bytes,
		                .align_bytes = dev->dio_offset_align_bytes ? dev->dio_offset_align_bytes : 512,
		                .permit = datafile_permit(*file) };
	return 0;
}

void own_file_close(struct datafile *file, const struct target *own)
{
	if (file && own->fd >= 0)
		(void)close(own->fd);
	datafile_close(file);
}
