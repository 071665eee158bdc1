/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What would be written to live within a memory cgroup, for trees of both versions, in folders of their own. */
#include "test.h"

#include <sys/sysmacros.h>

#include "filesrun.h"
#include "folder.h"
#include "measure/shared/cgroup.h"
#include "session/groups.h"
#include "session/session.h"

static void put(const char *path, const char *text)
{
	char full[256];

	(void)snprintf(full, sizeof(full), "%s%s", files_dir, path);
	for (char *p = full + strlen(files_dir) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		(void)mkdir(full, 0700); /* is there, or the next line fails */
	}
	file_put(full, text);
}

static int remove_tree(void **state)
{
	return nftw(files_dir, folder_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static void assert_step(const struct cgroup_plan *plan, unsigned i, const char *path, const char *text)
{
	assert_true(i < plan->nsteps);
	assert_string_equal(plan->steps[i].path, textf("%s%s", files_dir, path));
	assert_string_equal(plan->steps[i].text, text);
}

static void assert_home(const struct cgroup_plan *plan, const char *path)
{
	assert_string_equal(plan->home + strlen(files_dir), path);
}

static const char *group_file(const char *mount, const char *file)
{
	return textf("%s/platter-%d/%s", mount, (int)getpid(), file);
}

TEST_WITH(version_2_gives_the_controller_down_then_limits_then_enters, files_disk_make, remove_tree)
{
	struct cgroup_plan plan;
	struct err err;

	put("/proc/self/mounts", "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n");
	put("/proc/self/cgroup", "0::/user.slice/session-1.scope\n");
	put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
	put("/sys/fs/cgroup/user.slice/session-1.scope/cgroup.procs", "");
	assert_int_equal(cgroup_plan(&plan, files_dir, 268435456, &err), 0);
	assert_int_equal(plan.version, 2);
	assert_home(&plan, "/sys/fs/cgroup/user.slice/session-1.scope");
	assert_int_equal(plan.nsteps, 4);
	assert_int_equal(plan.before, 1); /* the folder gets its files when it is made: after the first step */
	assert_step(&plan, 0, "/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	assert_true(plan.steps[0].may_fail); /* systemd has done it already */
	assert_step(&plan, 1, group_file("/sys/fs/cgroup", "memory.swap.max"), "0");
	assert_true(plan.steps[1].may_fail);
	assert_step(&plan, 2, group_file("/sys/fs/cgroup", "memory.max"), "268435456");
	assert_false(plan.steps[2].may_fail);
	assert_step(&plan, 3, group_file("/sys/fs/cgroup", "cgroup.procs"),
	            textf("%d", (int)getpid())); /* last: never without a limit */
	assert_false(plan.steps[3].may_fail);
}

TEST_WITH(version_1_limits_and_enters, files_disk_make, remove_tree)
{
	struct cgroup_plan plan;
	struct err err;

	put("/proc/self/mounts", "cgroup /cg/cpu cgroup rw,cpu,cpuacct 0 0\ncgroup /cg/memory cgroup rw,memory 0 0\n");
	put("/proc/self/cgroup", "5:cpu,cpuacct:/other\n4:memory:/a/b\n");
	put("/cg/memory/a/b/cgroup.procs", "");
	assert_int_equal(cgroup_plan(&plan, files_dir, 1 << 26, &err), 0);
	assert_int_equal(plan.version, 1);
	assert_home(&plan, "/cg/memory/a/b");
	assert_int_equal(plan.nsteps, 2);
	assert_int_equal(plan.before, 0);
	assert_step(&plan, 0, group_file("/cg/memory", "memory.limit_in_bytes"), "67108864");
	assert_step(&plan, 1, group_file("/cg/memory", "cgroup.procs"), plan.steps[1].text);
}

/* Both are mounted; memory belongs to one of them. */
TEST_WITH(in_a_hybrid_tree_the_version_that_has_memory_is_taken, files_disk_make, remove_tree)
{
	struct cgroup_plan plan;
	struct err err;

	put("/proc/self/mounts", "cgroup2 /cg/unified cgroup2 rw 0 0\ncgroup /cg/memory cgroup rw,memory 0 0\n");
	put("/proc/self/cgroup", "4:memory:/\n0::/x\n");
	put("/cg/unified/cgroup.controllers", "hugetlb memory_recursiveprot\n"); /* no word of memory alone */
	put("/cg/memory/cgroup.procs", "");
	assert_int_equal(cgroup_plan(&plan, files_dir, 1 << 26, &err), 0);
	assert_int_equal(plan.version, 1);
	assert_home(&plan, "/cg/memory");
	put("/proc/self/mounts", "cgroup /cg/cpu cgroup rw,cpu 0 0\ncgroup2 /cg/unified cgroup2 rw 0 0\n");
	put("/cg/unified/cgroup.controllers", "memory\n");
	put("/cg/unified/x/cgroup.procs", "");
	assert_int_equal(cgroup_plan(&plan, files_dir, 1 << 26, &err), 0);
	assert_int_equal(plan.version, 2);
	assert_home(&plan, "/cg/unified/x");
}

TEST_WITH(in_a_container_the_mount_is_where_the_process_is, files_disk_make, remove_tree)
{
	struct cgroup_plan plan;
	struct err err;

	put("/proc/self/mounts", "cgroup /cg/memory cgroup ro,memory 0 0\n");
	put("/proc/self/cgroup", "4:memory:/docker/0123456789ab\n"); /* as seen from outside */
	put("/cg/memory/cgroup.procs", "");
	assert_int_equal(cgroup_plan(&plan, files_dir, 1 << 26, &err), 0);
	assert_home(&plan, "/cg/memory");
}

TEST_WITH(without_a_memory_controller_the_sentence_says_so, files_disk_make, remove_tree)
{
	struct cgroup_plan plan;
	struct err err = { 0 };

	put("/proc/self/mounts", "cgroup2 /cg cgroup2 rw 0 0\ncgroup /c cgroup rw,cpu 0 0\n");
	put("/proc/self/cgroup", "0::/\n");
	put("/cg/cgroup.controllers", "cpu io\n");
	assert_int_equal(cgroup_plan(&plan, files_dir, 1 << 26, &err), -ENOENT);
	assert_non_null(strstr(err.text, "--memory"));
	assert_int_equal(cgroup_memory_limit(files_dir), UINT64_MAX);
}

TEST_WITH(the_smallest_limit_on_the_way_up_is_in_force, files_disk_make, remove_tree)
{
	put("/proc/self/mounts", "cgroup2 /cg cgroup2 rw 0 0\n");
	put("/proc/self/cgroup", "0::/a/b/c\n");
	put("/cg/cgroup.controllers", "memory\n");
	put("/cg/a/memory.max", "1000000000\n");
	put("/cg/a/b/memory.max", "300000000\n");
	put("/cg/a/b/c/memory.max", "max\n");
	assert_int_equal(cgroup_memory_limit(files_dir), 300000000);
	put("/cg/a/memory.max", "200000000\n");
	assert_int_equal(cgroup_memory_limit(files_dir), 200000000);
	put("/cg/a/b/c/memory.max", "100000000\n");
	assert_int_equal(cgroup_memory_limit(files_dir), 100000000);
}

TEST_WITH(version_1_says_no_limit_by_a_huge_number, files_disk_make, remove_tree)
{
	put("/proc/self/mounts", "cgroup /cg cgroup rw,memory 0 0\n");
	put("/proc/self/cgroup", "1:memory:/a\n");
	put("/cg/memory.limit_in_bytes", "9223372036854771712\n");
	put("/cg/a/memory.limit_in_bytes", "9223372036854771712\n");
	assert_int_equal(cgroup_memory_limit(files_dir), UINT64_MAX);
	put("/cg/a/memory.limit_in_bytes", "50000000\n");
	assert_int_equal(cgroup_memory_limit(files_dir), 50000000);
}

/* Numbers as a kernel showed them, of a group of 32 MiB in which a file of 64 MiB was read. */
TEST_WITH(what_is_no_file_is_taken_off_the_limit, files_disk_make, remove_tree)
{
	struct cgroup_plan plan = { .version = 2 };

	(void)snprintf(plan.group, sizeof(plan.group), "%s/cg/g", files_dir);
	assert_int_equal(cgroup_file_room(&plan), 0); /* no files: not known */
	put("/cg/g/memory.max", "33554432\n");
	put("/cg/g/memory.current", "33288192\n");
	assert_int_equal(cgroup_file_room(&plan), 0);
	put("/cg/g/memory.stat", "anon 1200128\nfile 30146560\nkernel 1769472\nfile_mapped 4096\n");
	assert_int_equal(cgroup_file_room(&plan), 33554432 - (33288192 - 30146560));
	put("/cg/g/memory.max", "max\n");
	assert_int_equal(cgroup_file_room(&plan), 0);
	plan.version = 1;
	put("/cg/g/memory.limit_in_bytes", "33554432\n");
	put("/cg/g/memory.usage_in_bytes", "30146560\n");
	put("/cg/g/memory.stat", "cache 30150656\nrss 0\nmapped_file 0\ntotal_cache 1\n");
	assert_int_equal(cgroup_file_room(&plan), 33554432); /* never more than the limit */
	assert_int_equal(cgroup_room(NULL), 0);
}

/* A plain folder is no cgroup: it has no files when it is made. */
TEST_WITH(a_group_that_cannot_be_limited_is_given_up_and_removed, files_disk_make, remove_tree)
{
	struct cgroup *cg = NULL;
	struct err err = { 0 };

	put("/proc/self/mounts", "cgroup2 /cg cgroup2 rw 0 0\n");
	put("/proc/self/cgroup", "0::/\n");
	put("/cg/cgroup.controllers", "memory\n");
	assert_int_equal(cgroup_enter(&cg, files_dir, 1 << 26, &err), -ENOENT);
	assert_null(cg);
	assert_non_null(strstr(err.text, "could not be used"));
	assert_int_equal(access(textf("%s%s", files_dir, group_file("/cg", "")), F_OK), -1);
	cgroup_leave(NULL);
	assert_int_equal(cgroup_version(NULL), 0);
}

/* A group that cannot be used (this tree is none of the kernel's): the controller is off again, as it was; and left on
 * where it was on. */
TEST_WITH(the_controller_is_left_as_it_was_found, files_disk_make, remove_tree)
{
	static const char *const before[] = { "cpu\n", "cpu memory\n" }, *const after[] = { "-memory", "+memory" };

	for (size_t i = 0; i < 2; i++) {
		struct cgroup *cg = NULL;
		struct err err = { 0 };
		const char *text;

		put("/proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
		put("/proc/self/cgroup", "0::/\n");
		put("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
		put("/sys/fs/cgroup/cgroup.subtree_control", before[i]);
		assert_true(cgroup_enter(&cg, files_dir, 1 << 30, &err) < 0);
		text = file_text(textf("%s/sys/fs/cgroup/cgroup.subtree_control", files_dir));
		if (strncmp(text, after[i], strlen(after[i])) != 0)
			fail_msg("%s: %s", before[i], text);
	}
}

/* The notices that a run on 8:0 gets, a line each, in one text. */
static void limits_of(uint64_t write_bytes, char *buf, size_t len)
{
	struct device dev = { .path = "/dev/sda1", .disk = "sda", .disk_rdev = makedev(8, 0), .rdev = makedev(8, 1) };
	struct plan plan = { .read_bytes = UINT64_MAX, .write_bytes = write_bytes };
	struct env env = { .sysroot = files_dir };
	struct session ses = { .env = &env, .devs = &dev, .ndevs = 1, .plan = &plan, .res = result_new("zones") };

	groups_report_limits(&ses);
	buf[0] = '\0';
	for (size_t i = 0; i < ses.res->nnotices; i++)
		(void)snprintf(buf + strlen(buf), len - strlen(buf), "%s: %s\n", ses.res->notices[i].code,
		               ses.res->notices[i].text);
	result_free(ses.res);
}

TEST_WITH(limits_of_rate_and_processors_are_notices_with_their_numbers, files_disk_make, remove_tree)
{
	char text[4096];

	put("/proc/self/mounts", "cgroup2 /cg cgroup2 rw 0 0\n");
	put("/proc/self/cgroup", "0::/a/b\n");
	put("/cg/cgroup.controllers", "cpu io\n");
	put("/cg/a/b/io.max", "8:16 rbps=1 wbps=1 riops=1 wiops=1\n8:0 rbps=max wbps=5000000 riops=700 wiops=max\n");
	put("/cg/a/io.max", "8:0 rbps=20000000 wbps=max riops=max wiops=max\n"); /* further up binds as well */
	put("/cg/a/cpu.max", "1000 100000\n");
	put("/cg/a/b/cpu.max", "max 100000\n");
	limits_of(0, text, sizeof(text));
	assert_non_null(strstr(text, "reads at most 20.0 MB/s of sda"));
	assert_non_null(strstr(text, "/cg/a/io.max"));
	assert_non_null(strstr(text, "reads at most 700 requests/s of sda"));
	assert_null(strstr(text, "writes"));
	assert_non_null(strstr(text, "cpu-limit: A control group gives this process 0.01 of"));
	limits_of(1, text, sizeof(text));
	assert_non_null(strstr(text, "writes at most 5.00 MB/s of sda"));
	assert_null(strstr(text, "Another control group"));
	put("/cg/a/b/io.latency", "8:0 target=1000\n"); /* of others only: this is our own */
	put("/cg/a/c/io.latency", "8:16 target=2000\n");
	put("/cg/d/io.latency", "8:16 target=3000\n8:0 target=4000\n"); /* beside the group above */
	limits_of(0, text, sizeof(text));
	assert_non_null(strstr(text, "Another control group wants answers of sda within 4000 us"));
	assert_non_null(strstr(text, "/cg/d/io.latency"));
	assert_null(strstr(text, "1000 us"));
	assert_null(strstr(text, "2000 us"));

	put("/proc/self/mounts", "cgroup /v1/blkio cgroup rw,blkio 0 0\ncgroup /v1/cpu cgroup rw,cpu 0 0\n");
	put("/proc/self/cgroup", "7:blkio:/x\n1:cpu:/\n");
	put("/v1/blkio/x/blkio.throttle.read_bps_device", "8:0 3000000\n");
	put("/v1/cpu/cpu.cfs_quota_us", "-1\n");
	put("/v1/cpu/cpu.cfs_period_us", "100000\n");
	limits_of(1, text, sizeof(text));
	assert_non_null(strstr(text, "reads at most 3.00 MB/s of sda"));
	assert_null(strstr(text, "cpu-limit"));
	put("/v1/blkio/x/blkio.throttle.read_bps_device", "8:16 3000000\n"); /* another disk's */
	limits_of(1, text, sizeof(text));
	assert_string_equal(text, "");
}
