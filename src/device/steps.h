/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only: what probe.c asks, each in the file of its name. */
#pragma once

#include "device/sysfs.h"

/* What lies between the disk and the processor, and the slowest wire on that way. */
void link_find(struct device *dev, const char *root, const struct sys_block *b);
/* Names that stay: by_id, uuid, part_uuid. */
void names_find(struct device *dev, const char *root, const struct sys_block *b);
void names_of_file(struct device *dev);
/* Who may write to it besides this host. */
void reach_find(struct device *dev, const char *root, const struct sys_block *b);
