/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree of sysfs and procfs with anything in it. The tree is tests/data/sysfs/stack.dump and sata-512e.dump, made
 * once; an input replaces some of its files (records: two bytes which file, one what with and how long, then the bytes)
 * by other contents, by a link, by a folder, or by nothing. Then every block device of the tree is probed and surveyed,
 * and afterwards the tree is as before.
 */
#include <assert.h>
#include <limits.h>
#include <stdint.h>

#define assert_non_null(x)     assert((x) != NULL)
#define assert_int_equal(a, b) assert((a) == (b))
#define fail_msg(...)          abort()
#include "../unit/dump.h"

#include "device/columns.h"
#include "device/device.h"
#include "device/sysfs.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define FILES_MAX   2048
#define RECORDS_MAX 16

static struct dump tree;
static char *files[FILES_MAX];
static size_t nfiles;

static int note_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if ((type == FTW_F || type == FTW_SL) && nfiles < FILES_MAX)
		files[nfiles++] = strdup(path);
	return 0;
}

static void drop_tree(void)
{
	dump_close(&tree);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char *const more[] = { "sata-512e" };
	struct dump one;

	(void)argc;
	(void)argv;
	dump_open(&tree, "stack");
	atexit(drop_tree);
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		char command[512];

		/* what both have stays the first's */
		dump_open(&one, more[i]);
		(void)snprintf(command, sizeof(command), "cp -an %s/. %s/", one.root, tree.root);
		assert_int_equal(system(command), 0);
		dump_close(&one);
	}
	(void)nftw(tree.root, note_file, 16, FTW_PHYS);
	qsort(files, nfiles, sizeof(files[0]),
	      by_text); /* a file system lists as it likes, an input has to mean the same again */
	return 0;
}

/* Away with it under another name, so that it can come back. */
static bool replace(const char *path, unsigned how, const uint8_t *data, size_t len)
{
	char aside[PATH_MAX], target[256], real[PATH_MAX];
	FILE *f;

	(void)snprintf(aside, sizeof(aside), "%s.aside", path);
	if (access(aside, F_OK) == 0 || rename(path, aside) < 0)
		return false; /* it was replaced before */
	switch (how) {
	case 0: /* nothing */
		break;
	case 1:
		(void)snprintf(target, sizeof(target), "%.*s", (int)len, (const char *)data);
		/* Only what stays in the tree: this is not about other files of this machine. */
		if (symlink(target, path) == 0 &&
		    (!realpath(path, real) || strncmp(real, tree.root, strlen(tree.root)) != 0))
			(void)unlink(path);
		break;
	case 2:
		(void)mkdir(path, 0777);
		break;
	default:
		f = fopen(path, "we");
		if (f) {
			(void)fwrite(data, 1, len, f);
			(void)fclose(f);
		}
	}
	return true;
}

static void put_back(const char *path)
{
	char aside[PATH_MAX];

	(void)snprintf(aside, sizeof(aside), "%s.aside", path);
	(void)remove(path);
	(void)rename(aside, path);
}

static void look(const char *name)
{
	struct device_context ctx = { .sysroot = tree.root };
	struct survey found = { 0 };
	struct device dev, *parts;
	struct device_io io;
	struct device_row row;
	char path[128], text[1024];
	size_t n;

	(void)snprintf(path, sizeof(path), "/dev/%.100s", name);
	if (device_system.probe(&ctx, path, &dev, NULL) < 0)
		return;
	assert(dev.logical_block_bytes > 0 && (dev.logical_block_bytes & (dev.logical_block_bytes - 1)) == 0);
	device_row(&dev, &row);
	(void)device_system.io(&ctx, &dev, &io);
	(void)device_system.is_there(&ctx, &dev, -1);
	if (device_system.survey(&ctx, &dev, &found, NULL) == 0)
		(void)permit_verdict(&dev, &found, text, sizeof(text));
	for (size_t i = 0; i < found.n; i++)
		(void)finding_text(&found.v[i], text, sizeof(text));
	survey_done(&found);
	if (device_system.partitions(&ctx, &dev, &parts, &n, NULL) == 0)
		free(parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const names[] = { "sda", "sda1", "md0", "dm-0", "loop0", "sdc" };
	size_t which[RECORDS_MAX], n = 0;

	while (len >= 3 && n < RECORDS_MAX) {
		size_t size = data[2] & 0x3f;

		which[n] = (data[0] | (size_t)data[1] << 8) % nfiles;
		size = (data[2] & 0x3f) == 0x3f ? 255 : size;
		if (size > len - 3)
			size = len - 3;
		n += replace(files[which[n]], data[2] >> 6, data + 3, size);
		data += 3 + size;
		len -= 3 + size;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		look(names[i]);
	while (n > 0)
		put_back(files[which[--n]]);
	return 0;
}
