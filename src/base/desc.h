/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptors of options and of result columns, each written once. They are const tables beside the code that uses
 * them. Parser, help, completion, check of the manual, JSON, CSV, text and HTML walk them and name no option or column.
 * Member types are checked at compile time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- options ---- */

enum opt_type {
	OPT_TYPE_END = 0, /* terminator */
	OPT_TYPE_FLAG,    /* bool, no argument */
	OPT_TYPE_U64,     /* uint64_t, a plain number */
	OPT_TYPE_F64,     /* double */
	OPT_TYPE_RATIO,   /* double, "1%" or "0.01" */
	OPT_TYPE_BYTES,   /* uint64_t */
	OPT_TYPE_TIME,    /* uint64_t, ns */
	OPT_TYPE_RATE,    /* uint64_t, bytes per second; RATE_MAX for "max" */
	OPT_TYPE_STR,     /* const char * */
	OPT_TYPE_CHOICE,  /* int: index into choices */
	OPT_TYPE_STRS,    /* struct strs: may be given several times */
	OPT_TYPE_SIZES,   /* struct sizes: "1M-2G", "1M" for both; either end may be left out */
};

struct strs {
	const char **v; /* the array is heap memory of the parser (opt_done); the strings are argv's */
	size_t n;
};

struct sizes {
	uint64_t min_bytes, max_bytes; /* max_bytes 0: the command's own */
};

/* Is the word, which is not empty, in the list? (NULL: an empty list.) */
static inline bool strs_have(const struct strs *given, const char *word)
{
	for (size_t i = 0; given && word[0] && i < given->n; i++)
		if (strcmp(given->v[i], word) == 0)
			return true;
	return false;
}

struct opt {
	enum opt_type type;
	const char *name;           /* long name without dashes */
	char letter;                /* short form, 0: none */
	size_t offset;              /* of the member in the params struct */
	const char *arg;            /* what the argument is called in help: "SIZE" */
	const char *def;            /* the default as a user would type it, NULL: zero, false, none */
	const char *help;           /* lower case, no full stop */
	const char *const *choices; /* NULL-terminated, for OPT_TYPE_CHOICE */
	const char *implied;        /* makes the argument optional (--name[=ARG]): what --name alone means */
	double min, max;            /* bounds of numbers, inclusive; both 0: none */
	int writes;                 /* names a file that is written: enum outfile_kind */
	bool reads;                 /* names one that is read */
	bool is_aside;              /* where results go, how sure they are, who may do it: not what is measured */
	size_t typed;               /* of a const char * that gets the text of a number as it was typed; 0: none */
};

#define DESC_OFFSET(s, m, t) \
	(offsetof(s, m) + 0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((s *)0)->m), t) ? 1 : -1]))

/* OPT_x(struct, member, "name", 'l', "ARG", "default", "help", .min = 1, .max = 9) */
#define OPT_FLAG(s, m, n, l, h, ...)                                                                         \
	{                                                                                                    \
		.type = OPT_TYPE_FLAG, .name = n, .letter = l, .offset = DESC_OFFSET(s, m, bool), .help = h, \
		__VA_ARGS__                                                                                  \
	}
#define OPT_(ty, ct, s, m, n, l, a, d, h, ...)                                                                      \
	{                                                                                                           \
		.type = ty, .name = n, .letter = l, .offset = DESC_OFFSET(s, m, ct), .arg = a, .def = d, .help = h, \
		__VA_ARGS__                                                                                         \
	}
#define OPT_U64(s, m, n, l, a, d, h, ...)   OPT_(OPT_TYPE_U64, uint64_t, s, m, n, l, a, d, h, __VA_ARGS__)
#define OPT_F64(s, m, n, l, a, d, h, ...)   OPT_(OPT_TYPE_F64, double, s, m, n, l, a, d, h, __VA_ARGS__)
#define OPT_RATIO(s, m, n, l, a, d, h, ...) OPT_(OPT_TYPE_RATIO, double, s, m, n, l, a, d, h, __VA_ARGS__)
#define OPT_BYTES(s, m, n, l, a, d, h, ...) OPT_(OPT_TYPE_BYTES, uint64_t, s, m, n, l, a, d, h, __VA_ARGS__)
#define OPT_TIME(s, m, n, l, a, d, h, ...)  OPT_(OPT_TYPE_TIME, uint64_t, s, m, n, l, a, d, h, __VA_ARGS__)
#define OPT_RATE(s, m, n, l, a, d, h, ...)  OPT_(OPT_TYPE_RATE, uint64_t, s, m, n, l, a, d, h, __VA_ARGS__)
#define OPT_STR(s, m, n, l, a, d, h, ...)   OPT_(OPT_TYPE_STR, const char *, s, m, n, l, a, d, h, __VA_ARGS__)
#define OPT_SIZES(s, m, n, l, d, h, ...)    OPT_(OPT_TYPE_SIZES, struct sizes, s, m, n, l, "FROM-TO", d, h, __VA_ARGS__)
#define OPT_STRS(s, m, n, l, a, h, ...)     OPT_(OPT_TYPE_STRS, struct strs, s, m, n, l, a, NULL, h, __VA_ARGS__)
#define OPT_CHOICE(s, m, n, l, c, d, h, ...) \
	OPT_(OPT_TYPE_CHOICE, int, s, m, n, l, NULL, d, h, .choices = c, __VA_ARGS__)
#define OPT_END                      \
	{                            \
		.type = OPT_TYPE_END \
	}

/* The same where each of those given may be a list with commas: of OPT_TYPE_STRS with choices. */
static inline bool strs_list_have(const struct strs *given, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i < given->n; i++)
		for (const char *at = given->v[i];; at += strcspn(at, ",") + 1) {
			if (strcspn(at, ",") == len && strncmp(at, word, len) == 0)
				return true;
			if (!at[strcspn(at, ",")])
				break;
		}
	return false;
}

/* ---- result columns ---- */

enum field_type {
	FIELD_TYPE_END = 0,
	FIELD_TYPE_U64, /* uint64_t; UINT64_MAX is null */
	FIELD_TYPE_I64, /* int64_t */
	FIELD_TYPE_F64, /* double; NaN and infinity are null */
	FIELD_TYPE_STR, /* const char *; copied; NULL is null */
};

/* What the number measures. Its name is the column's "type" in the document; renderers format by it. */
enum unit {
	UNIT_NONE = 0,    /* "number": shown plainly */
	UNIT_TEXT,        /* "text" */
	UNIT_COUNT,       /* "count" */
	UNIT_BYTES,       /* "bytes": an amount or offset */
	UNIT_BYTES_PER_S, /* "bytes_per_s" */
	UNIT_MIB_PER_S,   /* "mib_per_s": DiskMark only */
	UNIT_NS,          /* "ns": a duration */
	UNIT_S,           /* "s" */
	UNIT_RATIO,       /* "ratio" */
	UNIT_PERCENT,     /* "percent" */
	UNIT_RPM,         /* "rpm" */
	UNIT_PER_S,       /* "per_s": IOPS, transactions per second */
};

struct field {
	enum field_type type;
	const char *key;   /* the member's own name, with its unit in it */
	const char *label; /* the column's heading for people */
	enum unit unit;
	size_t offset;
	bool detail; /* left out of text output; always in files */
};

#define FIELD_(ty, ct, s, m, u, l, ...)                                                                    \
	{                                                                                                  \
		.type = ty, .key = #m, .label = l, .unit = u, .offset = DESC_OFFSET(s, m, ct), __VA_ARGS__ \
	}
#define FIELD_U64(s, m, u, l, ...) FIELD_(FIELD_TYPE_U64, uint64_t, s, m, u, l, __VA_ARGS__)
#define FIELD_I64(s, m, u, l, ...) FIELD_(FIELD_TYPE_I64, int64_t, s, m, u, l, __VA_ARGS__)
#define FIELD_F64(s, m, u, l, ...) FIELD_(FIELD_TYPE_F64, double, s, m, u, l, __VA_ARGS__)
#define FIELD_STR(s, m, l, ...)    FIELD_(FIELD_TYPE_STR, const char *, s, m, UNIT_TEXT, l, __VA_ARGS__)
#define FIELD_END                      \
	{                              \
		.type = FIELD_TYPE_END \
	}
