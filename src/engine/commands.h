/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside engine/ only: what read(2) and write(2) have no words for, by SG_IO.
 *
 * The disk reads by itself and says whether it could, nothing is transferred: SCSI's VERIFY(10) and (16) (SBC-4), which
 * libata makes ATA's READ VERIFY SECTORS of; where a bridge knows none, that command of ATA itself, by ATA
 * PASS-THROUGH(16) (SAT-4; root only).
 *
 * Reads and writes with FUA, from the medium and to it: READ and WRITE(10) and (16), which libata makes READ and WRITE
 * FPDMA QUEUED with FUA of (or refuses). For writes the kernel has RWF_DSYNC, but it sends a flush wherever it does not
 * believe in FUA (all of SATA, most of USB). That looks the same from outside. For reads it has nothing. SG_IO asks
 * none of what write(2) asks, and counts sectors from the disk's first one even on a partition or what lies above it.
 * So for these two it is asked here: the file is the whole disk itself, open for writing, and not set read-only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum verify_way { VERIFY_SCSI, VERIFY_ATA, VERIFY_WAYS };

struct commands {
	int (*ask)(int fd, unsigned long request, void *arg); /* ioctl(), as tests replace it */
	bool (*is_disk)(int fd);                              /* commands_is_disk(), the same */
	enum verify_way way;
	uint32_t sector_bytes; /* 0: not asked yet */
	int fd;                /* that they belong to */
};

/* A whole SCSI or ATA disk by the kernel's own account: no partition, nothing above disks. */
bool commands_is_disk(int fd);

/* Bytes that can be read, all of them; or negative errno as read(2) of such a disk has it (-EOPNOTSUPP: no such command
 * here). */
int32_t verify_medium(struct commands *v, int fd, uint64_t offset_bytes, uint32_t len_bytes);
/* Bytes moved, or negative errno as read(2) and write(2) have it (-EOPNOTSUPP: not here). */
int32_t fua_transfer(struct commands *v, int fd, bool is_write, uint64_t offset_bytes, uint32_t len_bytes, void *buf);
