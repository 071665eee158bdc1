/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that platter makes: nothing of others is touched, nothing of ours is left. In a folder of /tmp. */
#include "test.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "device/device.h"

static char dir[] = "/tmp/platter-files.XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int make_dir(void **state)
{
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	return rmdir(dir); /* fails, and with it the test, when anything was left */
}

static struct datafile *make(const char *path, uint64_t bytes, unsigned flags)
{
	struct datafile *df = NULL;
	struct err err = { 0 };

	if (datafile_create(&df, path, bytes, flags, &err) != 0)
		fail_msg("%s", err.text);
	return df;
}

TEST_WITH(a_file_is_gone_when_it_is_closed, make_dir, remove_dir)
{
	struct datafile *df = make(in_dir("a"), 1 << 20, 0);

	assert_int_equal(access(in_dir("a"), F_OK), 0);
	assert_true(datafile_is_ours(in_dir("a")));
	datafile_close(df);
	assert_int_equal(access(in_dir("a"), F_OK), -1);
	datafile_close(NULL);
}

static uint64_t first_byte_of(const char *path, enum device_kind kind)
{
	struct device dev = { .kind = kind };

	(void)snprintf(dev.path, sizeof(dev.path), "%s", path);
	return datafile_first_byte(&dev);
}

static uint64_t data_bytes_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_size > DATAFILE_DATA_OFFSET ? (uint64_t)st.st_size - DATAFILE_DATA_OFFSET : 0;
}

TEST_WITH(a_kept_file_stays_and_is_known_again, make_dir, remove_dir)
{
	struct datafile *df = make(in_dir("kept"), 8192, DATAFILE_KEEP | DATAFILE_ALLOCATE);
	struct err err;
	int fd;

	assert_int_equal(data_bytes_of(in_dir("kept")), 8192);
	fd = datafile_open(df, false, &err);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "data", 4, DATAFILE_DATA_OFFSET), 4);
	(void)close(fd);
	datafile_close(df);
	assert_true(datafile_is_ours(in_dir("kept")));
	assert_int_equal(first_byte_of(in_dir("kept"), DEVICE_FILE), DATAFILE_DATA_OFFSET);
	/* without DATAFILE_REUSE even our own is left alone */
	assert_int_equal(datafile_create(&df, in_dir("kept"), 0, 0, &err), -EEXIST);
	df = make(in_dir("kept"), 8192, DATAFILE_REUSE);
	assert_int_equal(data_bytes_of(in_dir("kept")), 8192); /* its contents too */
	assert_int_equal(datafile_reset(df, &err), 0);
	assert_int_equal(data_bytes_of(in_dir("kept")), 0);
	assert_true(datafile_is_ours(in_dir("kept")));
	datafile_close(df);
	assert_int_equal(access(in_dir("kept"), F_OK), -1);
}

TEST_WITH(files_of_others_are_never_touched, make_dir, remove_dir)
{
	const char *path = in_dir("precious");
	struct datafile *df;
	struct err err;

	file_put(path, "precious");
	assert_false(datafile_is_ours(path));
	assert_int_equal(first_byte_of(path, DEVICE_FILE), 0);
	assert_int_equal(first_byte_of("/dev/null", DEVICE_DISK), 0);
	assert_int_equal(datafile_create(&df, path, 4096, 0, &err), -EEXIST);
	assert_int_equal(datafile_create(&df, path, 4096, DATAFILE_REUSE, &err), -EEXIST);
	assert_non_null(strstr(err.text, "not made by platter"));
	assert_string_equal(file_text(path), "precious");
	assert_int_equal(unlink(path), 0);
}

TEST_WITH(links_are_not_followed, make_dir, remove_dir)
{
	struct datafile *df;
	struct err err;
	const char *target = textf("%s", in_dir("target"));
	const char *link = textf("%s", in_dir("link"));

	assert_int_equal(symlink("target", link), 0); /* dangling: making it would make the target */
	assert_int_equal(datafile_create(&df, link, 4096, DATAFILE_REUSE, &err), -ELOOP);
	assert_int_equal(access(target, F_OK), -1);
	datafile_close(make(target, 4096, DATAFILE_KEEP));
	assert_int_equal(datafile_create(&df, link, 4096, DATAFILE_REUSE, &err), -ELOOP); /* even to one of ours */
	assert_false(datafile_is_ours(link));
	assert_int_equal(unlink(link), 0);
	assert_int_equal(unlink(target), 0);
}

TEST_WITH(a_damaged_header_is_no_header, make_dir, remove_dir)
{
	static const off_t places[] = { 0, 18, 100, 2000, DATAFILE_HEADER_BYTES - 20 };
	const char *path = in_dir("damaged");
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		struct datafile *df = make(path, 4096, DATAFILE_KEEP);
		int fd = datafile_open(df, false, &err);

		assert_true(datafile_is_ours(path));
		assert_int_equal(pwrite(fd, "\1", 1, places[i]), 1);
		(void)close(fd);
		datafile_close(df);
		assert_false(datafile_is_ours(path));
		assert_int_equal(datafile_create(&df, path, 4096, DATAFILE_REUSE, &err), -EEXIST);
		assert_int_equal(unlink(path), 0);
	}
	file_put(path, "platter-data-file 1\n"); /* the first words are not enough */
	assert_false(datafile_is_ours(path));
	assert_int_equal(unlink(path), 0);
}

TEST_WITH(another_file_under_its_name_is_left_alone, make_dir, remove_dir)
{
	const char *path = in_dir("name");
	struct datafile *df = make(path, 4096, 0);

	assert_int_equal(unlink(path), 0);
	file_put(path, "somebody was faster");
	datafile_close(df);
	assert_string_equal(file_text(path), "somebody was faster");
	assert_int_equal(unlink(path), 0);
}

TEST_WITH(a_nameless_file_can_be_opened_again, make_dir, remove_dir)
{
	struct datafile *df = make(dir, 1 << 20, DATAFILE_ANONYMOUS);
	struct stat a, b;
	struct err err;
	int one, two;

	one = datafile_open(df, false, &err);
	two = datafile_open(df, false, &err);
	assert_int_equal(fstat(one, &a), 0);
	assert_int_equal(fstat(two, &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	assert_int_equal(a.st_nlink, 0);
	assert_true(permit_covers(datafile_permit(df), one));
	(void)close(one);
	(void)close(two);
	datafile_close(df);
}

TEST_WITH(the_permit_is_for_that_file_only, make_dir, remove_dir)
{
	struct datafile *df = make(in_dir("one"), 4096, 0), *other = make(in_dir("two"), 4096, 0);
	struct err err;
	int fd = datafile_open(other, false, &err), null = open("/dev/null", O_RDWR | O_CLOEXEC);

	assert_false(permit_covers(datafile_permit(df), fd));
	assert_false(permit_covers(datafile_permit(df), null));
	assert_false(permit_covers(datafile_permit(df), -1));
	assert_true(permit_covers(datafile_permit(other), fd));
	(void)close(fd);
	(void)close(null);
	datafile_close(df);
	datafile_close(other);
}

TEST_WITH(two_platters_do_not_share_a_file, make_dir, remove_dir)
{
	const char *path = in_dir("shared");
	struct datafile *df = make(path, 4096, DATAFILE_KEEP), *second;
	struct err err;

	assert_int_equal(datafile_create(&second, path, 4096, DATAFILE_REUSE, &err), -EBUSY);
	assert_non_null(strstr(err.text, "another platter"));
	assert_true(datafile_is_ours(path)); /* and the failed one has not removed it */
	datafile_close(df);
	assert_int_equal(unlink(path), 0);
}

TEST_WITH(what_does_not_fit_is_refused_with_numbers, make_dir, remove_dir)
{
	struct datafile *df;
	struct statvfs fs;
	uint64_t avail, total, reserve;
	struct err err;

	assert_int_equal(statvfs(dir, &fs), 0);
	avail = (uint64_t)fs.f_bavail * fs.f_frsize;
	total = (uint64_t)fs.f_blocks * fs.f_frsize;
	reserve = total / 20 < 1ull << 30 ? total / 20 : 1ull << 30;
	assert_int_equal(datafile_create(&df, in_dir("big"), avail + 1, 0, &err), -ENOSPC);
	assert_non_null(strstr(err.text, dir));
	assert_int_equal(access(in_dir("big"), F_OK), -1);
	if (avail < reserve + (256u << 20))
		skip();
	/* the reserve is what is missing (other programs may use some megabytes meanwhile) */
	assert_int_equal(datafile_check_space(dir, avail - reserve + (128u << 20), &err), -ENOSPC);
	assert_int_equal(datafile_check_space(dir, avail - reserve - (128u << 20), &err), 0);
}

TEST_WITH(names_differ_by_process_and_number, make_dir, remove_dir)
{
	char a[128], b[128];

	assert_int_equal(datafile_name(a, sizeof(a), dir, "passes", 1), 0);
	assert_int_equal(datafile_name(b, sizeof(b), dir, "passes", 2), 0);
	assert_string_not_equal(a, b);
	assert_int_equal(datafile_name(a, 16, dir, "passes", 1), -ENAMETOOLONG);
}

static void remove_now(int sig)
{
	datafile_remove_all();
	(void)signal(sig, SIG_DFL);
	(void)raise(sig);
}

/* A child makes files and dies of a signal; its handler removes them, its own only. */
TEST_WITH(a_signal_handler_can_remove_them, make_dir, remove_dir)
{
	struct datafile *ours = make(in_dir("parent"), 4096, 0);
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		struct datafile *df;

		(void)signal(SIGTERM, remove_now);
		for (unsigned i = 0; i < 50; i++) {
			if (datafile_create(&df, in_dir(textf("child%u", i)), 4096, i == 7 ? DATAFILE_KEEP : 0, NULL) !=
			    0)
				_exit(1);
		}
		(void)raise(SIGTERM);
		_exit(2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
	assert_int_equal(access(in_dir("child0"), F_OK), -1);
	assert_int_equal(access(in_dir("child49"), F_OK), -1);
	assert_int_equal(access(in_dir("child7"), F_OK), 0); /* to be kept */
	assert_int_equal(unlink(in_dir("child7")), 0);
	assert_int_equal(access(in_dir("parent"), F_OK), 0); /* the parent's */
	datafile_close(ours);
}

TEST_WITH(thousands_of_files_come_and_go, make_dir, remove_dir)
{
	for (unsigned i = 0; i < 3000; i++)
		datafile_close(make(in_dir("again"), 0, 0));
}
