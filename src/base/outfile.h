/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All files that a command line names are written here. They are opened before anything is measured; later steps go by
 * the open folder, with the caller's rights (caller.h). Links are not followed; devices, pipes and the kernel's folders
 * are refused. An existing file is replaced only if it is empty or if platter wrote it as the same kind.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

/* What it holds: by that it is known again. */
enum outfile_kind {
	OUTFILE_NONE,
	OUTFILE_DOCUMENT, /* replaced in one step, the default */
	OUTFILE_STATE,    /* a document that is read first */
	OUTFILE_LINES,    /* documents, one a line; appended to */
	OUTFILE_CSV,
	OUTFILE_PAGE, /* or a picture */
	OUTFILE_METRICS,
	OUTFILE_LOG,      /* appended to */
	OUTFILE_REQUESTS, /* written while it grows, as are the next two */
	OUTFILE_EACH,
	OUTFILE_MAPFILE,
};

struct outfile {
	struct outfile *next;
	char *option, *path; /* option: NULL or a name */
	char label[40];      /* "--json: " for sentences, or "" */
	const char *name;    /* the last part of path */
	enum outfile_kind kind;
	bool is_forced;
	int dir, trouble; /* trouble: errno (negative) of the last save, so that it is reported once; 0: it worked */
};
/* All files of one run. */
struct outfiles {
	struct outfile *first;
};

/*
 * option: its name for sentences, or NULL. Checks what can be known now, by making a file beside it and removing that.
 * is_forced: what is there may be of any kind, and have several names. -EINVAL: it has been added already; -ELOOP,
 * -EEXIST, -EPERM: refused; others: it cannot be written.
 */
int outfiles_add(struct outfiles *all, const char *option, const char *path, enum outfile_kind kind, bool is_forced,
                 struct err *err);
struct outfile *outfiles_find(const struct outfiles *all, const char *path); /* as it was given; NULL: none */
void outfiles_done(struct outfiles *all);
/* Do both names stand, or would they, for one file? */
bool outfile_is(const struct outfile *f, const char *path);
/* Is it there, and in that folder? */
bool outfile_is_in(const struct outfile *f, const char *folder);

/*
 * The new text goes to a temporary file beside the old one, is forced to the disk, and takes its name in one step: at
 * any moment it is the whole old file or the whole new one. Mode, owner and attributes of the old one stay. write: 0 or
 * negative errno.
 */
int outfile_save(struct outfile *f, int (*write)(FILE *out, void *arg), void *arg, struct err *err);
/* The descriptor of what grows: appended to, or empty. */
int outfile_grow(struct outfile *f, struct err *err);
/* One line at the end of what others append to as well, whole or not at all. */
int outfile_append(struct outfile *f, const char *text, size_t len, struct err *err);
