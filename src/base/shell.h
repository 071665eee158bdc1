/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* A space and the word, so that a shell takes it as one. */
void shell_put_word(FILE *f, const char *word);
