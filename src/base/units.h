/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sizes, times and rates as text: one suffix table serves parsing and printing; locale-free.
 * K, M, G, T, P and KiB .. PiB are powers of 1024; KB, MB .. PB powers of 1000 (util-linux). Times: ns us ms s m h d.
 * Rates: a size per second ("32MB", "1.5GiB", "32MB/s") or bits ("256Mbit", "1Gbit", decimal). Fractions are taken.
 */
#ifndef PLATTER_BASE_UNITS_H
#define PLATTER_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define RATE_MAX UINT64_MAX /* "max": as fast as it goes */

/* 0, or -EINVAL / -ERANGE with a sentence that quotes the text; *ret untouched on failure. */
int units_parse_bytes(const char *text, uint64_t *ret_bytes, struct err *err);
int units_parse_time(const char *text, uint64_t *ret_ns, struct err *err);
int units_parse_rate(const char *text, uint64_t *ret_bytes_per_s, struct err *err); /* also "max" */
int units_parse_ratio(const char *text, double *ret_ratio, struct err *err);        /* "1%" or "0.01" */
int units_parse_u64(const char *text, uint64_t *ret, struct err *err);
int units_parse_f64(const char *text, double *ret, struct err *err); /* finite only */

/* All print into buf (32 bytes are enough) and return it. */
char *units_bytes(char *buf, size_t len, uint64_t bytes);         /* binary, exact when it divides: "1MiB", "40960" */
char *units_bytes_dec(char *buf, size_t len, uint64_t bytes);     /* decimal, three digits: "4.00 TB" */
char *units_time(char *buf, size_t len, uint64_t ns);             /* "8.33 ms", "1 m 02 s" */
char *units_rate(char *buf, size_t len, double bytes_per_s);      /* "183.2 MB/s" */
char *units_rate_bits(char *buf, size_t len, double bytes_per_s); /* "256.0 Mbit/s" */

#endif
