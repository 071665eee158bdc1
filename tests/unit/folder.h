/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder of a test's own, which goes with its block and with all that is in it: FOLDER(dir); ... dir.path */
#ifndef PLATTER_TEST_FOLDER_H
#define PLATTER_TEST_FOLDER_H

#include <dirent.h>
#include <ftw.h>

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

/* For what is synced thousands of times: in memory where there is such a place. */
static inline struct folder folder_in_memory(void)
{
	return folder_new(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
}

/* How many of its files have names that end so; *ret_path: of one of them, if there is one (NULL: not wanted). */
static inline unsigned folder_count(const struct folder *f, const char *end, const char **ret_path)
{
	DIR *d = opendir(f->path);
	unsigned n = 0;

	assert_non_null(d);
	for (const struct dirent *e; (e = readdir(d));) {
		size_t len = strlen(e->d_name);

		if (e->d_name[0] == '.' || len < strlen(end) || strcmp(e->d_name + len - strlen(end), end) != 0)
			continue;
		n++;
		if (ret_path)
			*ret_path = textf("%s/%s", f->path, e->d_name);
	}
	(void)closedir(d);
	return n;
}

static inline int folder_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void folder_done(const struct folder *f)
{
	(void)nftw(f->path, folder_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* One for all tests of a program. */
#define TESTS_IN_FOLDER(f)                  \
	static struct folder f;             \
	static int f##_make(void **state)   \
	{                                   \
		(void)state;                \
		f = folder_in_memory();     \
		return 0;                   \
	}                                   \
	static int f##_remove(void **state) \
	{                                   \
		(void)state;                \
		folder_done(&f);            \
		return 0;                   \
	}                                   \
	TESTS_BETWEEN(f##_make, f##_remove)

#define FOLDER(f) __attribute__((cleanup(folder_done))) struct folder f = folder_new("/tmp")

#endif
