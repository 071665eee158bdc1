/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One SCSI command by SG_IO, and its answer as an errno. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int scsi_ioctl(int fd, unsigned long request, void *arg); /* ioctl(), as tests replace it */
scsi_ioctl scsi_real_ioctl;

struct scsi_command {
	const uint8_t *cdb;
	uint8_t cdb_len;
	enum { SCSI_NOTHING, SCSI_IN, SCSI_OUT } way;
	void *data;
	uint32_t len, timeout_ms;
	uint8_t sense[64]; /* of the answer */
	uint32_t sense_len, moved;
};

/*
 * 0, or negative errno as read(2) gives it: -EOPNOTSUPP: the command or parameter is unknown, -ENODATA: the medium,
 * -EREMOTEIO: hardware, -EIO: anything else. "Unit attention" reports an earlier event, and the command was not done:
 * it is sent again.
 */
int scsi_ask(scsi_ioctl *ask, int fd, struct scsi_command *c);
/* A command of 6 or 10 bytes that brings data: how many came, or negative errno. The rest of data is zeroed. */
int scsi_fetch(scsi_ioctl *ask, int fd, const uint8_t *cdb, void *data, size_t len);
