/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/scsi.h"

#include <errno.h>
#include <scsi/sg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>

#define TRIES           3
#define FETCH_MS        10000
#define DID_NO_CONNECT  1
#define CHECK_CONDITION 2
#define RESERVATION     0x18 /* RESERVATION CONFLICT: of another host */

enum sense { /* SPC-4, keys */
	     SENSE_NONE,
	     SENSE_RECOVERED,
	     SENSE_NOT_READY,
	     SENSE_MEDIUM,
	     SENSE_HARDWARE,
	     SENSE_ILLEGAL,
	     SENSE_ATTENTION,
};

int scsi_real_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg);
}

/* The errors of the block layer for these answers; 1: once more. */
static int judge(const struct sg_io_hdr *h, const uint8_t *sense)
{
	bool is_descriptor = (sense[0] & 0x7e) == 0x72;

	if (h->host_status)
		return h->host_status == DID_NO_CONNECT ? -ENODEV : -EIO;
	if ((h->status & 0x3e) == 0 || (h->status & 0x3e) == RESERVATION)
		return h->status & 0x3e ? -EBUSY : 0;
	if ((h->status & 0x3e) != CHECK_CONDITION || h->sb_len_wr < 3)
		return -EIO;
	switch (sense[is_descriptor ? 1 : 2] & 0xf) {
	case SENSE_NONE:
	case SENSE_RECOVERED:
		return 0;
	case SENSE_MEDIUM:
		return -ENODATA;
	case SENSE_HARDWARE:
		return -EREMOTEIO;
	case SENSE_ILLEGAL:
		return -EOPNOTSUPP;
	case SENSE_ATTENTION:
		return 1;
	default:
		return -EIO;
	}
}

static int ask_once(scsi_ioctl *ask, int fd, struct scsi_command *c)
{
	static const int ways[] = { SG_DXFER_NONE, SG_DXFER_FROM_DEV, SG_DXFER_TO_DEV };
	uint8_t cdb[16] = { 0 };
	struct sg_io_hdr h = { .interface_id = 'S',
		               .dxfer_direction = ways[c->way],
		               .cmdp = cdb,
		               .cmd_len = c->cdb_len,
		               .sbp = c->sense,
		               .mx_sb_len = sizeof(c->sense),
		               .dxferp = c->data,
		               .dxfer_len = c->len,
		               .timeout = c->timeout_ms };

	memcpy(cdb, c->cdb, c->cdb_len < sizeof(cdb) ? c->cdb_len : sizeof(cdb));
	memset(c->sense, 0, sizeof(c->sense));
	if (ask(fd, SG_IO, &h) < 0) /* no SCSI disk, or not permitted */
		return errno == ENOTTY || errno == EINVAL || errno == ENOSYS ? -EOPNOTSUPP : -errno;
	c->sense_len = h.sb_len_wr;
	c->moved = h.resid > 0 && (uint32_t)h.resid <= c->len ? c->len - (uint32_t)h.resid : c->len;
	return judge(&h, c->sense);
}

int scsi_ask(scsi_ioctl *ask, int fd, struct scsi_command *c)
{
	int r = 1;

	for (int i = 0; i < TRIES && r == 1; i++)
		r = ask_once(ask, fd, c);
	return r == 1 ? -EIO : r;
}

int scsi_fetch(scsi_ioctl *ask, int fd, const uint8_t *cdb, void *data, size_t len)
{
	struct scsi_command c = { .cdb = cdb,
		                  .cdb_len = cdb[0] < 0x20 ? 6 : 10, /* groups 0 and 2 (SPC-4 4.2.5.1) */
		                  .way = SCSI_IN,
		                  .data = data,
		                  .len = (uint32_t)len,
		                  .timeout_ms = FETCH_MS };
	int r;

	memset(data, 0, len);
	r = scsi_ask(ask, fd, &c);
	return r < 0 ? r : (int)c.moved;
}
