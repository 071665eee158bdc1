/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that an answer hangs on: without it the program ends with a sentence, as half an analysis is another answer.
 * What was measured until the last phase is in the saved document.
 */
#pragma once

#include <stddef.h>

/* p, or the end of the program. */
void *xmust(void *p) __attribute__((returns_nonnull));
void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull, alloc_size(1, 2)));
/* For direct I/O: aligned to 4096, zeroed. */
void *xaligned(size_t size) __attribute__((malloc, returns_nonnull, alloc_size(1)));
/* v with room for n of size, which is copied by realloc(). */
void *xgrow(void *v, size_t n, size_t size) __attribute__((returns_nonnull));
/* v of n with room for one more. Arrays double, so that n alone shows when one is full. */
void *xmore(void *v, size_t n, size_t size);
/* Behind the n elements of such an array, both of which are lvalues. */
#define xappend(v, n, ...) ((v) = xmore((v), (n), sizeof(*(v))), (v)[(n)++] = (__VA_ARGS__))
