/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/cli.h"

/* Documents read from files and folders. */
struct shelf {
	struct result **v;
	size_t n;
	bool is_named;  /* on the command line; else it was found in a folder */
	bool is_many;   /* what is being read is one of many: what is not a document is passed over, and counted */
	size_t files;   /* read in folders */
	size_t foreign; /* whole JSON of other programs */
	size_t bad;
#define BAD_SHOWN 10
	char *why[BAD_SHOWN]; /* of the first of them */
};
/* A file, or all *.json and *.jsonl of a folder and of those in it. */
int shelf_add_any(struct shelf *s, const char *path, struct err *err);
bool shelf_is_folder(const char *path);
void shelf_done(struct shelf *s);
