/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a tree of sysfs and procfs out of a dump (tools/sysfs-dump says what the lines mean), in a folder that goes
 * away again. */
#ifndef PLATTER_TESTS_DUMP_H
#define PLATTER_TESTS_DUMP_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct dump {
	char root[64];
};
/* Its machine, for device_system. */
#define CTX(dump) (&(struct device_context){ .sysroot = (dump)->root })

static inline void dump_folders(const char *path) /* all above the last part */
{
	char part[4096];

	(void)snprintf(part, sizeof(part), "%s", path);
	for (char *p = part + 1; *p; p++) {
		if (*p == '/') {
			*p = '\0';
			(void)mkdir(part, 0777);
			*p = '/';
		}
	}
}

static inline void dump_write(const struct dump *d, const char *path, const void *data, size_t len, const char *mode)
{
	char full[4096];
	FILE *f;

	(void)snprintf(full, sizeof(full), "%s/%s", d->root, path);
	dump_folders(full);
	f = fopen(full, mode);
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* A text file in place of what the dump has. */
static inline void dump_set(const struct dump *d, const char *path, const char *text)
{
	dump_write(d, path, text, strlen(text), "we");
}

static inline void dump_link(const struct dump *d, const char *path, const char *to)
{
	char full[4096];

	(void)snprintf(full, sizeof(full), "%s/%s", d->root, path);
	dump_folders(full);
	assert_int_equal(symlink(to, full), 0);
}

static inline void dump_hex(const struct dump *d, const char *path, const char *hex)
{
	unsigned char raw[4096];
	size_t n = 0;
	unsigned v;

	for (; n < sizeof(raw) && sscanf(hex + 2 * n, "%2x", &v) == 1; n++)
		raw[n] = (unsigned char)v;
	dump_write(d, path, raw, n, "we");
}

static inline void dump_line(const struct dump *d, char *line)
{
	char *save = NULL, *kind = strtok_r(line, " \n", &save), *path = strtok_r(NULL, " \n", &save);
	char *rest = strtok_r(NULL, "\n", &save), full[4096], text[8192];

	if (!kind || kind[0] == '#')
		return;
	assert_non_null(path);
	(void)snprintf(full, sizeof(full), "%s/%s", d->root, path);
	dump_folders(full);
	switch (kind[0]) {
	case 'F':
		(void)snprintf(text, sizeof(text), "%s\n", rest ? rest : "");
		dump_write(d, path, text, strlen(text), "ae");
		break;
	case 'X':
		dump_hex(d, path, rest ? rest : "");
		break;
	case 'L':
		assert_int_equal(symlink(rest, full), 0);
		break;
	case 'D':
		(void)mkdir(full, 0777);
		break;
	default:
		fail_msg("no such line in a dump: %s", kind);
	}
}

/* name: of tests/data/sysfs, NULL: an empty tree */
static inline void dump_open(struct dump *d, const char *name)
{
	char path[512], *line = NULL;
	size_t len = 0;
	FILE *f;

	(void)snprintf(d->root, sizeof(d->root), "%s/platter-dump.XXXXXX",
	               access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(d->root));
	if (!name)
		return;
	(void)snprintf(path, sizeof(path), TEST_DATA "/sysfs/%s.dump", name);
	f = fopen(path, "re");
	if (!f)
		fail_msg("no dump %s", path);
	while (getline(&line, &len, f) > 0)
		dump_line(d, line);
	free(line);
	(void)fclose(f);
}

static inline int dump_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void dump_close(const struct dump *d)
{
	(void)nftw(d->root, dump_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* One that ends with its block. */
static inline struct dump dump_of(const char *name)
{
	struct dump d;

	dump_open(&d, name);
	return d;
}
#define DUMP(d, name) cleanup_dump struct dump d = dump_of(name)

#endif
