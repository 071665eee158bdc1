/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who made this disk: pages that drives answer (SPC-6, SBC-4, ACS-4) and what sysfs says per transport. Inside device/ only. */
#ifndef PLATTER_DEVICE_IDENTITY_H
#define PLATTER_DEVICE_IDENTITY_H

#include "device/device.h"
#include "device/sysfs.h"

/* All take bytes that anybody may have written; they fill what is believable and leave the rest. */
void identity_ata(struct device *dev, const uint8_t *id, size_t len); /* IDENTIFY DEVICE, 512 bytes */
void identity_hdio(struct device *dev, const uint8_t *data);          /* the same by HDIO_GET_IDENTITY, 512 bytes */
void identity_vpd_serial(struct device *dev, const uint8_t *page, size_t len); /* page 80h */
void identity_vpd_ata(struct device *dev, const uint8_t *page, size_t len);    /* page 89h: IDENTIFY inside */
void identity_vpd_medium(struct device *dev, const uint8_t *page, size_t len); /* page B1h: rotation rate */

/* model, vendor, serial, firmware, wwn, transport, rotation rate out of sysfs. */
void identity_sysfs(struct device *dev, const char *root, const struct sys_block *b);
/* What sysfs did not know, asked of the drive itself (INQUIRY and IDENTIFY: no medium access). fd: read-only is enough. */
void identity_ask(struct device *dev, int fd);
/* Does another disk show the same serial number? */
bool identity_is_shared(const char *root, const struct device *dev);

#endif
