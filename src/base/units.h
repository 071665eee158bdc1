/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sizes, times and rates as text: one suffix table serves parsing and printing; locale-free.
 * K, M, G, T, P, E and KiB .. EiB are powers of 1024; KB, MB .. EB powers of 1000 (util-linux); the first letter in
 * either case. Times: ns us ms s m h d, a plain number is seconds, larger units first: "1h30m". Rates: a size per
 * second ("32MB", "1.5GiB", "32MB/s") or bits ("256Mbit", "1Gbit/s", decimal). Fractions are taken and rounded to the
 * nearest whole byte or nanosecond; what would round to nothing is refused. No signs, no hexadecimal, no exponents.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define RATE_MAX UINT64_MAX /* "max": as fast as it goes */

/* 0, or -EINVAL with a sentence that quotes the text; *ret untouched on failure. */
int units_parse_bytes(const char *text, uint64_t *ret_bytes, struct err *err);
int units_parse_time(const char *text, uint64_t *ret_ns, struct err *err);
int units_parse_rate(const char *text, uint64_t *ret_bytes_per_s, struct err *err); /* also "max" */
int units_parse_ratio(const char *text, double *ret_ratio, struct err *err);        /* "1%" or "0.01" */
int units_parse_u64(const char *text, uint64_t *ret, struct err *err);
int units_parse_f64(const char *text, double *ret, struct err *err); /* finite only; may be negative, "1e-3" */
/*
 * A place in something of size_bytes: "10GB", "25%"; and "FROM-TO", where either side may be left out (NULL: all). A
 * letter alone is refused there: places are shown in powers of 1000, so "13G" for "13.3 GB" would be another place.
 */
int units_parse_place(const char *text, uint64_t size_bytes, uint64_t *ret, struct err *err);
int units_parse_range(const char *text, uint64_t size_bytes, uint64_t *ret_first, uint64_t *ret_end, struct err *err);

/* All print into buf (32 bytes are enough) and return it; numbers that are not finite print as "-". */
char *units_bytes_exact(char *buf, size_t len, uint64_t bytes); /* the shortest that an option takes: "1MiB", "40961" */
/* The same for people, which reads back too: "1 MiB", "40961 B". */
char *units_bytes(char *buf, size_t len, uint64_t bytes);
char *units_time_exact(char *buf, size_t len, uint64_t ns);       /* exact, the shortest: "1500ms", "30m" */
char *units_bytes_dec(char *buf, size_t len, uint64_t bytes);     /* decimal, three digits: "4.00 TB" */
char *units_time(char *buf, size_t len, uint64_t ns);             /* "8.33 ms", "1 m 02 s" */
char *units_rate(char *buf, size_t len, double bytes_per_s);      /* "183.2 MB/s" */
char *units_rate_bits(char *buf, size_t len, double bytes_per_s); /* "256.0 Mbit/s" */

/* snprintf() in the C locale: "1.5" in any language. */
int units_printf(char *buf, size_t len, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
