/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts in buffers of fixed size that grow at their end, where what does not fit is cut; words in texts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Is the word, which is not empty, one of those with a blank between them? */
bool str_is_one_of(const char *word, const char *words);
void str_add(char *buf, size_t len, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* One more of a list: behind the separator, if it is not the first. */
void str_list(char *buf, size_t len, const char *separator, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/*
 * A pattern with something in place of each "{what}"; mention() gets what stands between the braces, not ended there.
 * false: one of them was not known, so that buf is worth nothing.
 */
struct str_source {
	bool (*mention)(void *arg, const char *what, size_t bytes, char *buf, size_t len);
	void *arg;
};
bool str_fill(char *buf, size_t len, const char *pattern, const struct str_source *source);
/* FNV-1a of 64 bits: differs for different texts, unless somebody wants it not to. */
uint64_t str_hash(const char *text, size_t len);
/* A space and the word, so that a shell takes it as one. */
void str_put_shell_word(FILE *f, const char *word);
