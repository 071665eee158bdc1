/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder of a test's own, which goes with its block and with all that is in it: FOLDER(dir); ... dir.path */
#ifndef PLATTER_TEST_FOLDER_H
#define PLATTER_TEST_FOLDER_H

#include <dirent.h>

#include "test.h"

struct folder {
	char path[40];
};

static inline struct folder folder_new(const char *place)
{
	struct folder f;

	(void)snprintf(f.path, sizeof(f.path), "%s/platter-XXXXXX", place);
	assert_non_null(mkdtemp(f.path));
	return f;
}

static inline void folder_empty(const char *path)
{
	DIR *d = opendir(path);

	assert_non_null(d);
	for (const struct dirent *e; (e = readdir(d));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			(void)unlinkat(dirfd(d), e->d_name, e->d_type == DT_DIR ? AT_REMOVEDIR : 0);
	(void)closedir(d);
}

static inline void folder_done(const struct folder *f)
{
	folder_empty(f->path);
	(void)rmdir(f->path);
}

#define FOLDER(f) __attribute__((cleanup(folder_done))) struct folder f = folder_new("/tmp")

#endif
