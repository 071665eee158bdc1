/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Option tables as people read and type them. */
#pragma once

#include <stdio.h>

#include "base/desc.h"

void opt_help(FILE *out, const struct opt *opts); /* 80 columns */
/* Words of text and a newline, from column `at` on; continuation lines start at column `indent`. */
void opt_help_text(FILE *out, const char *text, size_t at, size_t indent);
/* The value in force, as a user would type it; heap. */
char *opt_value_text(const struct opt *o, const void *params);
/* Name of the argument in help; NULL: the option takes no argument. */
const char *opt_arg_name(const struct opt *o);
