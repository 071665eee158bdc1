/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --requests: a row for every request, written by a thread while the loop goes on. */
#include "test.h"

#include <sys/stat.h>

#include "cli/cli.h"
#include "folder.h"

#define START 1000

static struct folder dir;
static const char *path;
static struct outfiles files;

static int make_dir(void **state)
{
	dir = folder_new("/tmp");
	path = textf("%s/r.csv", dir.path);
	return 0;
}

static int remove_dir(void **state)
{
	outfiles_done(&files);
	folder_done(&dir);
	return 0;
}

static struct outfile *file_at(const char *where)
{
	outfiles_done(&files);
	MUST(outfiles_add(&files, "requests", where, OUTFILE_REQUESTS, false, &err));
	return files.first;
}

static void assert_next(FILE *f, const char *want)
{
	char line[70000];

	assert_non_null(fgets(line, sizeof(line), f));
	assert_string_equal(line, want);
}

TEST_WITH(names_are_kept_when_their_targets_are_gone_and_quoted, make_dir, remove_dir)
{
	struct io_req req = { .op = IO_READ, .len_bytes = 4096, .res = 4096, .submit_ns = START, .done_ns = START + 5 };
	struct requests *r = requests_new(file_at(path));
	struct err err = { 0 };
	char name[16];
	FILE *f;

	strcpy(name, "first");
	requests_take(r, name, &req, START);
	strcpy(name, "a \"b\", c"); /* the same place and number: another target */
	req.op = IO_WRITE;
	req.res = -EIO;
	req.offset_bytes = UINT64_MAX;
	req.due_ns = START + 1;
	requests_take(r, name, &req, START);
	strcpy(name, "");
	assert_int_equal(requests_count(r), 2);
	assert_int_equal(requests_close(r, &err), 0);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_next(f, "target,op,offset_bytes,length_bytes,result_bytes,errno,due_ns,submit_ns,done_ns\r\n");
	assert_next(f, "first,read,0,4096,4096,,,0,5\r\n");
	assert_next(f, "\"a \"\"b\"\", c\",write,18446744073709551615,4096,,EIO,1,0,5\r\n");
	assert_int_equal(fgetc(f), EOF);
	assert_int_equal(fclose(f), 0);
}

/* Rows of several times the writer's buffer each, of targets in turn. */
TEST_WITH(names_of_any_length_are_written, make_dir, remove_dir)
{
	static char names[3][60001];
	struct requests *r = requests_new(file_at(path));
	struct io_req req = { .op = IO_READ };
	struct err err = { 0 };
	FILE *f;

	for (uint32_t i = 0; i < 30; i++) {
		memset(names[i % 3], (int)('a' + i % 3), 60000);
		req.target = i % 3;
		requests_take(r, names[i % 3], &req, 0);
	}
	assert_int_equal(requests_close(r, &err), 0);
	f = fopen(path, "r");
	assert_non_null(f);
	for (int c = fgetc(f); c != '\n';)
		c = fgetc(f);
	for (uint32_t i = 0; i < 30; i++) {
		assert_next(f, textf("%s,read,0,0,0,,,0,0\r\n", names[i % 3]));
	}
	assert_int_equal(fgetc(f), EOF);
	assert_int_equal(fclose(f), 0);
}

TEST_WITH(a_file_that_cannot_be_opened_is_reported_once, make_dir, remove_dir)
{
	struct requests *r = requests_new(file_at(path));
	struct io_req req = { .op = IO_READ };
	struct err err = { 0 };

	assert_int_equal(mkdir(path, 0700), 0); /* since it was opened */
	requests_take(r, "x", &req, 0);
	requests_take(r, "x", &req, 0);
	assert_int_equal(requests_count(r), 0);
	assert_int_equal(requests_close(r, &err), -EISDIR);
	assert_non_null(strstr(err.text, "r.csv failed (EISDIR)"));
	assert_int_equal(rmdir(path), 0);
}
