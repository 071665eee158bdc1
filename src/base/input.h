/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one way into the program for what a user gives as a file: documents, states, lists of targets. */
#pragma once

#include <stddef.h>

#include "base/err.h"

/*
 * All of a regular file, or of standard input where path is "-", as text with a NUL byte behind it (heap). Pipes,
 * devices and what never ends are refused, and nothing is waited for: only standard input may take its time. 0, or
 * negative errno and a sentence without the path; -EFBIG: more than most bytes.
 */
int input_read(char **ret_text, size_t *ret_len, const char *path, size_t most, struct err *err);
