/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside device/ only: what probe.c asks. identity.c: who made this disk, by pages that drives answer (SPC-6, SBC-4,
 * ACS-4) and what sysfs says per transport, and the names that stay; the others in the file of their name.
 */
#pragma once

#include "device/sysfs.h"

/* All take bytes that anybody may have written; they fill what is believable and leave the rest. */
void identity_ata(struct device *dev, const uint8_t *id, size_t len);          /* IDENTIFY DEVICE, 512 bytes */
void identity_vpd_serial(struct device *dev, const uint8_t *page, size_t len); /* page 80h */
void identity_vpd_ata(struct device *dev, const uint8_t *page, size_t len);    /* page 89h: IDENTIFY inside */
void identity_vpd_medium(struct device *dev, const uint8_t *page,
                         size_t len); /* page B1h: rotation rate, drive-managed zones */

/* READ CAPACITY(10), 8 bytes: sectors that no Linux reads, of 520 bytes or 528. */
void identity_capacity(struct device *dev, const uint8_t *answer, size_t len);

/* model, vendor, serial, firmware, wwn, transport, rotation rate out of sysfs. */
void identity_sysfs(struct device *dev, const char *root, const struct sys_block *b);
/* What sysfs did not know, asked of the drive (INQUIRY and IDENTIFY: no medium access). fd: read-only is enough. */
void identity_ask(struct device *dev, int fd);
/* Its connection alone ("ata", "fc"), by its place in sysfs. */
void identity_transport(struct device *dev, const struct sys_block *b);
/* Sets serial_is_shared, wwn_is_shared and has_twin: does another disk show the same? */
void identity_compare(const char *root, struct device *dev);
/* Do two show that they are one disk, by another way? */
bool identity_is_twin(const struct device *a, const struct device *b);

/* What lies between the disk and the processor, and the slowest wire on that way. */
void link_find(struct device *dev, const char *root, const struct sys_block *b);
/* Names that stay: by_id, uuid, part_uuid. */
void names_find(struct device *dev, const char *root, const struct sys_block *b);
void names_of_file(struct device *dev);
/* Who may write to it besides this host. */
void reach_find(struct device *dev, const char *root, const struct sys_block *b);
