/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside engine/ only: the disk reads by itself and says whether it could, nothing is transferred. SCSI's VERIFY(10) and (16) (SBC-4) by SG_IO,
 * which libata makes ATA's READ VERIFY SECTORS of; where a bridge knows none, that command of ATA itself, by ATA PASS-THROUGH(16) (SAT-4; root only).
 */
#ifndef PLATTER_ENGINE_VERIFY_H
#define PLATTER_ENGINE_VERIFY_H

#include <stdint.h>

enum verify_way { VERIFY_SCSI, VERIFY_ATA, VERIFY_WAYS };

struct verifier {
	int (*ask)(int fd, unsigned long request, void *arg); /* ioctl(), as tests replace it */
	enum verify_way way;
	uint32_t sector_bytes; /* 0: not asked yet */
	int fd;                /* that they belong to */
};

/* The command for so many sectors; returns its length. */
uint8_t verify_command(enum verify_way way, uint64_t sector, uint32_t sectors, uint8_t ret[16]);
/* Bytes that can be read, all of them; or negative errno as read(2) of such a disk has it (-EOPNOTSUPP: no such command here). */
int32_t verify_medium(struct verifier *v, int fd, uint64_t offset_bytes, uint32_t len_bytes);

#endif
