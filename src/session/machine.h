/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The computer that a run was made on, for the head of the document. */
#pragma once

#include <stdio.h>

#include "result/result.h"

/* "/proc/stat" below the sysroot, for reading; NULL when there is none. */
FILE *machine_open(const char *sysroot, const char *path);
/* Fills res->head.host. sysroot: "/"; what cannot be read stays NULL or 0. */
void machine_describe(struct result *res, const char *sysroot);
