/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The computer that a run was made on, for the head of the document. */
#pragma once

#include "result/result.h"

/* Fills res->head.host. sysroot: "/"; what cannot be read stays NULL or 0. */
void machine_describe(struct result *res, const char *sysroot);
