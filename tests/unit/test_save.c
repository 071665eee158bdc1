/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Documents on their way to files and back. */
#include "test.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "folder.h"
#include "saved.h"

static struct result *some(void)
{
	struct result *res = result_new("zones");

	result_figure(res, "start_bytes_per_s", "Start", UNIT_BYTES_PER_S, 183.2e6, NULL, 12);
	return res;
}

static struct folder dir;
static const char *path;

static int make_place(void **state)
{
	dir = folder_new("/tmp");
	path = textf("%s/result.json", dir.path);
	return 0;
}

static int drop_place(void **state)
{
	folder_done(&dir);
	return 0;
}

TEST_WITH(a_saved_file_is_whole_readable_and_alone, make_place, drop_place)
{
	struct result *res = some(), *back = NULL;
	struct err err = { 0 };
	struct stat st;

	for (int round = 0; round < 3; round++) { /* the second time over the first */
		if (result_save(res, path, &err))
			fail_msg("%s", err.text);
		assert_int_equal(lstat(path, &st), 0);
		assert_int_equal(st.st_mode, S_IFREG | 0644);
		assert_int_equal(folder_count(&dir, "", NULL), 1);
	}
	if (result_load(&back, path, &err))
		fail_msg("%s", err.text);
	assert_string_equal(back->head.measurement, "zones");
	result_free(res);
	result_free(back);
}

TEST_WITH(a_file_without_a_folder_goes_here, make_place, drop_place)
{
	cleanup_result struct result *res = some();
	cleanup_free char *before = getcwd(NULL, 0);

	assert_int_equal(chdir(dir.path), 0);
	assert_int_equal(result_save(res, "here.json", NULL), 0);
	assert_int_equal(chdir(before), 0);
	assert_int_equal(folder_count(&dir, "", NULL), 1);
}

TEST_WITH(nothing_but_a_plain_file_is_ever_replaced, make_place, drop_place)
{
	cleanup_result struct result *res = some();
	struct stat st;
	struct err err;
	const char *other = textf("%s/other", dir.path);

	file_put(other, "precious");
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(result_save(res, path, &err), -ELOOP);
	assert_non_null(strstr(err.text, "symbolic link"));
	assert_int_equal(stat(other, &st), 0);
	assert_int_equal(st.st_size, 8);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(result_save(res, path, &err), -EEXIST);
	assert_int_equal(result_save(res, dir.path, &err), -EISDIR);
	assert_int_equal(result_save(res, "/dev/null", &err), -EEXIST);
	assert_non_null(strstr(err.text, "character device"));
	assert_int_equal(result_save(res, "/", &err), -EISDIR);
	assert_int_equal(result_save(res, "", &err), -EISDIR);
	assert_int_equal(result_save(res, "/nonexistent/x.json", &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/x.json"));
	assert_int_equal(folder_count(&dir, "", NULL), 2);
}

/* Runs fn in a child, whose limits and mounts are its own; returns its exit status. */
static int in_child(int (*fn)(struct result *res), struct result *res)
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fn(res));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int save_with_a_small_limit(struct result *res)
{
	struct rlimit limit = { 100, 100 };
	struct err err;

	(void)signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit))
		return 10;
	return result_save(res, path, &err) == -EFBIG && strstr(err.text, "writing failed") ? 0 : 1;
}

TEST_WITH(a_failed_write_leaves_the_old_file_and_nothing_else, make_place, drop_place)
{
	struct result *res = some(), *back = NULL;

	assert_int_equal(result_save(res, path, NULL), 0);
	result_set(&res->head.measurement, "newer");
	assert_int_equal(in_child(save_with_a_small_limit, res), 0);
	assert_int_equal(folder_count(&dir, "", NULL), 1);
	assert_int_equal(result_load(&back, path, NULL), 0);
	assert_string_equal(back->head.measurement, "zones");
	result_free(res);
	result_free(back);
}

/* A file system of 16 KiB that only this child sees. 77: not allowed here. */
static int save_on_a_full_disk(struct result *res)
{
	struct err err;
	int fd, n = 0;

	if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("none", dir.path, "tmpfs", 0, "size=16k"))
		return 77;
	if (result_save(res, path, &err))
		return 1;
	fd = open(path, O_WRONLY | O_APPEND);
	while (fd >= 0 && write(fd, "          ", 10) > 0)
		n++;
	if (fd < 0 || n == 0 || result_save(res, path, &err) != -ENOSPC)
		return 2;
	if (!strstr(err.text, "file system is full (ENOSPC); make room") || folder_count(&dir, "", NULL) != 1)
		return 3;
	if (ftruncate(fd, 200)) /* room is made: the same goes well now */
		return 4;
	return result_save(res, path, &err);
}

TEST_WITH(a_full_disk_is_said_in_a_sentence, make_place, drop_place)
{
	cleanup_result struct result *res = some();
	int status = in_child(save_on_a_full_disk, res);

	if (status == 77) {
		print_message("no mounts here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

TEST_WITH(under_sudo_files_are_written_and_read_by_who_called, make_place, drop_place)
{
	struct result *res = some(), *back = NULL;
	bool is_root = geteuid() == 0;
	struct stat st;
	struct err err;

	assert_int_equal(result_save(res, path, NULL), 0);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(setenv("SUDO_UID", "12345", 1), 0);
	assert_int_equal(setenv("SUDO_GID", "23456", 1), 0);
	/* What is root's stays root's, whether it is there or not. */
	assert_int_equal(result_save(res, path, &err), is_root ? -EACCES : 0);
	assert_int_equal(result_load(&back, path, &err), is_root ? -EACCES : 0);
	result_free(back);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(result_save(res, path, &err), is_root ? -EACCES : 0);
	assert_int_equal(is_root ? chown(dir.path, 0, 23456) : 0, 0); /* by the group alone */
	assert_int_equal(is_root ? chmod(dir.path, 0770) : 0, 0);
	assert_int_equal(result_save(res, path, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, is_root ? 12345 : geteuid());
	assert_int_equal(st.st_gid, is_root ? 23456 : getegid());
	assert_int_equal(setenv("SUDO_UID", "-1 or so", 1), 0);
	assert_int_equal(result_save(res, path, NULL), 0); /* as root, and its owner stays */
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, is_root ? 12345 : geteuid());
	assert_int_equal(folder_count(&dir, "", NULL), 1);
	(void)unsetenv("SUDO_UID");
	(void)unsetenv("SUDO_GID");
	result_free(res);
}

TEST_WITH(only_files_are_loaded_and_the_sentence_names_them, make_place, drop_place)
{
	struct result *back = NULL;
	struct err err;

	assert_int_equal(result_load(&back, path, &err), -ENOENT);
	assert_ptr_equal(strstr(err.text, path), err.text);
	assert_int_equal(result_load(&back, dir.path, &err), -EINVAL);
	assert_non_null(strstr(err.text, "directory"));
	assert_int_equal(result_load(&back, "/dev/zero", &err), -EINVAL);
	assert_non_null(strstr(err.text, "device"));
	file_put(path, "");
	assert_int_equal(truncate(path, 1ll << 40), 0); /* sparse: does not fit in memory */
	assert_int_equal(result_load(&back, path, &err), -EFBIG);
	assert_non_null(strstr(err.text, "larger than such a file"));
	assert_null(back);
}
