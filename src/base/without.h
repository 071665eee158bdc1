/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of an analysis that a build for tests can leave out (meson setup -Dwithout=true; tools/wild --without=PART), so
 * that a board shows what each is worth: what changes nothing goes. In any other build this is nothing at all.
 */
#ifndef PLATTER_BASE_WITHOUT_H
#define PLATTER_BASE_WITHOUT_H

#include <stdbool.h>

#ifdef PLATTER_WITHOUT
bool is_without(const char *part) __attribute__((weak)); /* tests/sim has it */
#define WITHOUT(part) (is_without && is_without(part))
#else
#define WITHOUT(part) false
#endif

#endif
