/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One suffix table for both ways. Numbers are decimal fixed point in 128 bits, so that what is exact as text is exact
 * as a number: the mantissa has at most 19 digits (below 2^64), the largest multiplier is 2^60, and their product fits.
 */
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum dimension { DIM_BYTES = 1, DIM_TIME = 2, DIM_BITS = 4 };

/* Largest first: times written in several parts must go down this table, printing takes the first that fits. */
static const struct suffix {
	const char *name; /* the first letter of sizes and bits is taken in either case */
	uint64_t mul;
	enum dimension dim;
	bool is_printed; /* used by the exact printers */
} suffixes[] = {
	{ "EiB", 1ull << 60, DIM_BYTES, true },
	{ "PiB", 1ull << 50, DIM_BYTES, true },
	{ "TiB", 1ull << 40, DIM_BYTES, true },
	{ "GiB", 1ull << 30, DIM_BYTES, true },
	{ "MiB", 1ull << 20, DIM_BYTES, true },
	{ "KiB", 1ull << 10, DIM_BYTES, true },
	{ "E", 1ull << 60, DIM_BYTES, false },
	{ "P", 1ull << 50, DIM_BYTES, false },
	{ "T", 1ull << 40, DIM_BYTES, false },
	{ "G", 1ull << 30, DIM_BYTES, false },
	{ "M", 1ull << 20, DIM_BYTES, false },
	{ "K", 1ull << 10, DIM_BYTES, false },
	{ "EB", 1000000000000000000ull, DIM_BYTES, true },
	{ "PB", 1000000000000000ull, DIM_BYTES, true },
	{ "TB", 1000000000000ull, DIM_BYTES, true },
	{ "GB", 1000000000ull, DIM_BYTES, true },
	{ "MB", 1000000ull, DIM_BYTES, true },
	{ "KB", 1000ull, DIM_BYTES, true },
	{ "B", 1, DIM_BYTES, false },
	{ "", 1, DIM_BYTES, true },
	{ "Tbit", 1000000000000ull, DIM_BITS, false },
	{ "Gbit", 1000000000ull, DIM_BITS, false },
	{ "Mbit", 1000000ull, DIM_BITS, false },
	{ "Kbit", 1000ull, DIM_BITS, false },
	{ "bit", 1, DIM_BITS, false },
	{ "d", 86400000000000ull, DIM_TIME, true },
	{ "h", 3600000000000ull, DIM_TIME, true },
	{ "m", 60000000000ull, DIM_TIME, true },
	{ "s", 1000000000ull, DIM_TIME, true },
	{ "", 1000000000ull, DIM_TIME, false },
	{ "ms", 1000000ull, DIM_TIME, true },
	{ "us", 1000ull, DIM_TIME, true },
	{ "ns", 1, DIM_TIME, true },
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *skip_spaces(const char *p)
{
	while (*p == ' ')
		p++;
	return p;
}

/* mantissa / 10^scale; a fixed point number without its unit. */
struct fixed {
	uint64_t mantissa, divisor; /* divisor: 10^scale */
	bool is_fraction;
};

/* 0; -EINVAL: *p is not at a number; -ERANGE: the number has too many digits. */
static int parse_fixed(const char **p, struct fixed *ret)
{
	struct fixed f = { .divisor = 1 };
	const char *at = *p;
	bool has_digit = false, in_fraction = false;

	for (; is_digit(*at) || (*at == '.' && !in_fraction); at++) {
		if (*at == '.') {
			in_fraction = true;
			continue;
		}
		has_digit = true;
		f.is_fraction |= in_fraction && *at != '0';
		if ((in_fraction && __builtin_mul_overflow(f.divisor, 10, &f.divisor)) ||
		    __builtin_mul_overflow(f.mantissa, 10, &f.mantissa) ||
		    __builtin_add_overflow(f.mantissa, (uint64_t)(*at - '0'), &f.mantissa))
			return -ERANGE;
	}
	if (!has_digit)
		return -EINVAL;
	*p = at;
	*ret = f;
	return 0;
}

static size_t suffix_match(const struct suffix *s, const char *text, unsigned dims)
{
	size_t n = strlen(s->name);

	if (!(s->dim & dims) || !strncmp(text, s->name, n))
		return s->dim & dims ? n : 0;
	/* "k", "kB", "mbit"; but "b" alone is nothing, and times keep their case ("m" and "M" differ) */
	if (s->dim == DIM_TIME || n == 0 || !strcmp(s->name, "B") || toupper((unsigned char)text[0]) != s->name[0])
		return 0;
	return strncmp(text + 1, s->name + 1, n - 1) ? 0 : n;
}

/* The longest suffix at the begin of text, "" included; NULL: none fits. */
static const struct suffix *parse_suffix(const char **p, unsigned dims)
{
	const struct suffix *best = NULL;
	size_t best_len = 0;

	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		size_t n = suffix_match(&suffixes[i], *p, dims);

		if (n > best_len || (!best && (suffixes[i].dim & dims) && !suffixes[i].name[0])) {
			best = &suffixes[i];
			best_len = n;
		}
	}
	*p += best_len;
	return best;
}

/* f * mul / div rounded to the nearest; -ERANGE when too large, or when something becomes nothing. */
static int scale(const struct fixed *f, uint64_t mul, uint64_t div, uint64_t *ret)
{
	unsigned __int128 product = (unsigned __int128)f->mantissa * mul;
	unsigned __int128 whole = (unsigned __int128)f->divisor * div;
	unsigned __int128 value = (product + whole / 2) / whole;

	if (value > UINT64_MAX || (value == 0 && product != 0))
		return -ERANGE;
	*ret = (uint64_t)value;
	return 0;
}

/* What cannot be part of a sentence (control characters, a whole file pasted) is not quoted. */
static const char *quotable(const char *text, char *buf, size_t len)
{
	size_t i;

	for (i = 0; text[i] && i + 4 < len; i++)
		buf[i] = text[i];
	for (size_t k = 0; k < i; k++)
		if ((unsigned char)buf[k] < ' ' || buf[k] == 127)
			buf[k] = '?';
	(void)snprintf(buf + i, len - i, "%s", text[i] ? "..." : "");
	return buf;
}

static int refuse(struct err *err, int code, const char *text, const char *what, const char *examples)
{
	char quoted[64];

	(void)quotable(text, quoted, sizeof(quoted));
	if (code == -ERANGE)
		return err_set(
			err, -EINVAL,
			"'%s' is out of range for a %s (more than 64 bits hold, or less than one); write it like %s.",
			quoted, what, examples);
	return err_set(err, -EINVAL, "'%s' is not a %s; write it like %s.", quoted, what, examples);
}

static int parse_scaled(const char *text, unsigned dims, bool may_be_rate, uint64_t *ret)
{
	const char *p = skip_spaces(text);
	const struct suffix *s;
	struct fixed f;
	int r = parse_fixed(&p, &f);

	if (r)
		return r;
	p = skip_spaces(p);
	s = parse_suffix(&p, dims);
	if (!s)
		return -EINVAL;
	if (may_be_rate && !strncmp(p, "/s", 2))
		p += 2;
	if (*skip_spaces(p))
		return -EINVAL;
	if (f.is_fraction && s->mul == 1 && s->dim == DIM_BYTES)
		return -EINVAL; /* half a byte */
	return scale(&f, s->mul, s->dim == DIM_BITS ? 8 : 1, ret);
}

int units_parse_bytes(const char *text, uint64_t *ret_bytes, struct err *err)
{
	uint64_t value;
	int r = parse_scaled(text, DIM_BYTES, false, &value);

	if (r)
		return refuse(err, r, text, "size in bytes", "4096, 64K, 1.5GiB (powers of 1024) or 32MB (of 1000)");
	*ret_bytes = value;
	return 0;
}

int units_parse_rate(const char *text, uint64_t *ret_bytes_per_s, struct err *err)
{
	uint64_t value;
	int r;

	if (!strcmp(text, "max")) {
		*ret_bytes_per_s = RATE_MAX;
		return 0;
	}
	if (text[0] && text[strspn(text, "0123456789.")] == '\0')
		return err_set(err, -EINVAL, "'%.60s' has no unit; write %.60sMbit, %.60sMB or %.60sB.", text, text,
		               text, text);
	r = parse_scaled(text, DIM_BYTES | DIM_BITS, true, &value);
	if (r == 0 && value == RATE_MAX)
		r = -ERANGE;
	if (r)
		return refuse(err, r, text, "rate", "32MB/s, 1.5GiB, 256Mbit or max");
	*ret_bytes_per_s = value;
	return 0;
}

/* One part ("30m") of a time; *last is the unit of the part before, which must be larger. */
static int parse_time_part(const char **p, uint64_t *last, uint64_t *ret_ns)
{
	const struct suffix *s;
	struct fixed f;
	int r = parse_fixed(p, &f);

	if (r)
		return r;
	*p = skip_spaces(*p);
	s = parse_suffix(p, DIM_TIME);
	if (!s || s->mul >= *last || (!s->name[0] && *last != UINT64_MAX))
		return -EINVAL;
	/* only the last part may have a fraction, and a plain number stands alone */
	if ((f.is_fraction || !s->name[0]) && *skip_spaces(*p))
		return -EINVAL;
	*last = s->mul;
	return scale(&f, s->mul, 1, ret_ns);
}

int units_parse_time(const char *text, uint64_t *ret_ns, struct err *err)
{
	uint64_t sum = 0, last = UINT64_MAX;
	const char *p = skip_spaces(text);
	int r;

	do {
		uint64_t ns;

		r = parse_time_part(&p, &last, &ns);
		if (r == 0 && __builtin_add_overflow(sum, ns, &sum))
			r = -ERANGE;
		p = skip_spaces(p);
	} while (r == 0 && *p);
	if (r)
		return refuse(err, r, text, "time", "500ms, 30s, 5m or 1h30m (units: ns us ms s m h d)");
	*ret_ns = sum;
	return 0;
}

/* Decimal notation only: what strtod() takes besides (inf, nan, hexadecimal, leading blanks) is refused. */
static int parse_real(const char *text, const char **ret_end, double *ret)
{
	size_t n = strspn(text, "+-.0123456789eE");
	double value;
	char *end;

	if (n == 0 || strspn(text, "+-.eE") == n)
		return -EINVAL;
	value = strtod_l(text, &end, newlocale(LC_ALL_MASK, "C", NULL)); /* glibc: a constant, nothing to free */
	if (end != text + n)
		return -EINVAL;
	if (!isfinite(value))
		return -ERANGE;
	*ret_end = end;
	*ret = value;
	return 0;
}

int units_parse_ratio(const char *text, double *ret_ratio, struct err *err)
{
	double value = 0;
	const char *end = text;
	int r = text[0] == '-' ? -EINVAL : parse_real(text, &end, &value);

	if (r == 0 && *end == '%') {
		value /= 100;
		end++;
	}
	if (r == 0 && *end)
		r = -EINVAL;
	if (r)
		return refuse(err, r, text, "ratio", "1% or 0.01");
	*ret_ratio = value;
	return 0;
}

int units_parse_place(const char *text, uint64_t size_bytes, uint64_t *ret, struct err *err)
{
	size_t len = strlen(text);
	double ratio;
	int r;

	if (len && text[len - 1] == '%') {
		r = units_parse_ratio(text, &ratio, err);
		if (r == 0 && ratio > 1.0)
			return err_set(err, -EINVAL, "'%.60s' lies outside the target; give 0%% to 100%%.", text);
		if (r == 0)
			*ret = ratio < 1.0 ? (uint64_t)(ratio * (double)size_bytes) : size_bytes;
		return r;
	}
	if (len && strchr("kKmMgGtTpPeE", text[len - 1]))
		return err_set(err, -EINVAL, "'%.60s' may be %.60sB or %.60siB; platter shows places in %cB.", text,
		               text, text, toupper((unsigned char)text[len - 1]));
	r = units_parse_bytes(text, ret, err);
	if (r == 0 && *ret > size_bytes)
		return err_set(err, -EINVAL, "'%.60s' lies behind the end of the target, %" PRIu64 " bytes; give less.",
		               text, size_bytes);
	return r;
}

int units_parse_range(const char *text, uint64_t size_bytes, uint64_t *ret_first, uint64_t *ret_end, struct err *err)
{
	const char *dash = text ? strchr(text, '-') : NULL;
	uint64_t first = 0, end = size_bytes;
	char from[64];
	int r = 0;

	if (text && (!dash || (size_t)(dash - text) >= sizeof(from)))
		return err_set(err, -EINVAL, "--range=%.60s is not a range; write FROM-TO, as 10GB-20GB or 50%%-.",
		               text);
	(void)snprintf(from, sizeof(from), "%.*s", dash ? (int)(dash - text) : 0, text ? text : "");
	if (from[0])
		r = units_parse_place(from, size_bytes, &first, err);
	if (r == 0 && dash && dash[1])
		r = units_parse_place(dash + 1, size_bytes, &end, err);
	if (r < 0) {
		(void)err_prefix(err, "--range");
		return r;
	}
	if (text && first >= end)
		return err_set(err, -EINVAL, "--range=%.60s is empty; write FROM-TO, the smaller one first.", text);
	*ret_first = first;
	*ret_end = end;
	return 0;
}

int units_parse_u64(const char *text, uint64_t *ret, struct err *err)
{
	const char *p = text;
	struct fixed f;
	int r = is_digit(text[0]) ? parse_fixed(&p, &f) : -EINVAL;

	if (r == 0 && (*p || strchr(text, '.')))
		r = -EINVAL;
	if (r)
		return refuse(err, r, text, "whole number", "1000");
	*ret = f.mantissa;
	return 0;
}

int units_parse_f64(const char *text, double *ret, struct err *err)
{
	const char *end = text;
	double value = 0;
	int r = parse_real(text, &end, &value);

	if (r == 0 && *end)
		r = -EINVAL;
	if (r)
		return refuse(err, r, text, "number", "2.5");
	*ret = value;
	return 0;
}

/* ---- printing ---- */

int units_printf(char *buf, size_t len, const char *fmt, ...)
{
	locale_t old = uselocale(newlocale(LC_ALL_MASK, "C", NULL)); /* glibc: a constant, nothing to free */
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, len, fmt, ap);
	va_end(ap);
	(void)uselocale(old);
	return n;
}

/* The shortest exact text; the first in the table of equally short ones. */
static char *print_exact(char *buf, size_t len, uint64_t value, enum dimension dim, const char *zero)
{
	size_t best = SIZE_MAX;

	(void)snprintf(buf, len, "%s", zero);
	for (size_t i = 0; i < ARRAY_LEN(suffixes) && value; i++) {
		const struct suffix *s = &suffixes[i];
		char text[32];
		size_t n;

		if (s->dim != dim || !s->is_printed || value % s->mul)
			continue;
		n = (size_t)snprintf(text, sizeof(text), "%llu%s", (unsigned long long)(value / s->mul), s->name);
		if (n < best) {
			best = n;
			(void)snprintf(buf, len, "%s", text);
		}
	}
	return buf;
}

char *units_bytes_exact(char *buf, size_t len, uint64_t bytes)
{
	return print_exact(buf, len, bytes, DIM_BYTES, "0");
}

char *units_bytes(char *buf, size_t len, uint64_t bytes)
{
	char text[32];
	size_t digits = strspn(units_bytes_exact(text, sizeof(text), bytes), "0123456789");

	(void)snprintf(buf, len, "%.*s %s", (int)digits, text, text[digits] ? text + digits : "B");
	return buf;
}

char *units_time_exact(char *buf, size_t len, uint64_t ns)
{
	return print_exact(buf, len, ns, DIM_TIME, "0s");
}

/* Three digits: 4.00, 40.0, 400. value is below 999.5. */
static int three_digits(double value)
{
	return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

/* names: NULL ends them. */
static char *print_scaled(char *buf, size_t len, double value, const char *const *names)
{
	size_t i = 0;

	for (; value >= 999.5 && names[i + 1]; i++)
		value /= 1000;
	(void)units_printf(buf, len, "%.*f %s", i ? three_digits(value) : 0, value, names[i]);
	return buf;
}

char *units_bytes_dec(char *buf, size_t len, uint64_t bytes)
{
	static const char *const names[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB", NULL };

	return print_scaled(buf, len, (double)bytes, names);
}

char *units_time(char *buf, size_t len, uint64_t ns)
{
	static const char *const names[] = { "ns", "us", "ms", "s", NULL };
	uint64_t s = ns / 1000000000 + (ns % 1000000000 >= 500000000);

	if (ns < 59950000000ull)
		return print_scaled(buf, len, (double)ns, names);
	if (s < 3600)
		(void)snprintf(buf, len, "%u m %02u s", (unsigned)(s / 60), (unsigned)(s % 60));
	else if ((s + 30) / 60 < 1440)
		(void)snprintf(buf, len, "%u h %02u m", (unsigned)((s + 30) / 3600), (unsigned)((s + 30) / 60 % 60));
	else
		(void)snprintf(buf, len, "%llu d %02u h", (unsigned long long)((s + 1800) / 86400),
		               (unsigned)((s + 1800) / 3600 % 24));
	return buf;
}

static char *print_rate(char *buf, size_t len, double rate, const char *const *names)
{
	double size = fabs(rate);

	if (!isfinite(rate))
		(void)snprintf(buf, len, "-");
	else if (size >= 1e15)
		(void)units_printf(buf, len, "%.4g %s", rate / 1e6, names[1]);
	else if (size >= 1e3 || size == 0)
		(void)units_printf(buf, len, "%.*f %s",
		                   size >= 9.995e6 || size == 0 ? 1
		                   : size >= 9.995e5            ? 2
		                                                : 3,
		                   rate / 1e6, names[1]);
	else
		(void)units_printf(buf, len, "%.3g %s", rate, names[0]);
	return buf;
}

char *units_rate(char *buf, size_t len, double bytes_per_s)
{
	static const char *const names[] = { "B/s", "MB/s" };

	return print_rate(buf, len, bytes_per_s, names);
}

char *units_rate_bits(char *buf, size_t len, double bytes_per_s)
{
	static const char *const names[] = { "bit/s", "Mbit/s" };

	return print_rate(buf, len, bytes_per_s * 8, names);
}
