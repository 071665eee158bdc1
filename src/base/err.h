/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An error is a negative errno and one full sentence for the user: what was tried, on what, with which
 * numbers, and what to do. Functions that can explain take `struct err *err` last; it may be NULL; it is
 * untouched on success. Below cli/ nobody prints and nobody exits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err {
	int code; /* negative errno, 0: none */
	char text[1024];
};

/* Sets code and sentence; returns code (negative), so that `return err_set(...)` reads well. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#ifdef __clang_analyzer__ /* looks at one file at a time: a failure might return 0 */
#define err_set(err, code, ...) ((void)(err_set)((err), (code), __VA_ARGS__), (code))
#endif

/* Puts "fmt: " in front of the sentence that is there; returns err->code. */
int err_prefix(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "EIO" for -EIO or EIO; "E1234" when unknown; static or thread-local storage. */
const char *err_name(int code);
/* The kernel takes no such request: no disk has seen it. By negative errno (a length is none), or as err_name() has it
 * (NULL: false). */
bool err_is_refusal(int code);
bool err_name_is_refusal(const char *name);

/*
 * What stands behind EPERM and EACCES, and what to do: another user, root with fewer capabilities, or rules that bind
 * root, too.
 */
const char *err_forbidden(void);
/* The same of a user and a mask of effective capabilities. */
const char *err_forbidden_for(unsigned uid, uint64_t capabilities);
