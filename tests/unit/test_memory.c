/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory does not grow with the length of a run: each measurement briefly and for a very long time, each in a process
 * of its own, whose peaks are compared. Disks are simulated, and times virtual; the measurements of files have tiny
 * files and many repetitions.
 */
#include "test.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include "filesrun.h"
#include "simrun.h"

extern const struct measure measure_zones, measure_seek, measure_transactions, measure_geometry, measure_passes,
	measure_cache, measure_mark, measure_surface, measure_stream;

struct how {
	const struct measure *m;
	const char *words;
	uint64_t flash_bytes; /* 0: tiny; else an SSD of this size, whose every 1000th answer comes late */
	double delay_s;       /* that each request waits for its answer: a dying disk */
	uint32_t cylinders;   /* of each zone of the disk; 0: as tiny has */
	uint32_t missing;     /* sectors strewn over the disk that carry no data */
	double least_s;       /* virtual time that it has to take */
};

static void prepare_flash(struct sim *sim, const struct how *how)
{
	const struct profile_fail late = {
		.op = DISK_READ, .nth = 1000, .every = 1000, .short_bytes = UINT64_MAX, .delay_s = 0.5
	};
	cleanup_profile struct profile p = { 0 };

	MUST(profile_load(&p, SIMDISK_PROFILES "/ssd-sata.disk", &err));
	p.capacity_lba = how->flash_bytes / 512;
	p.ssd.stripe_bytes = 16 << 20; /* quick to work out */
	assert_int_equal(profile_add_fail(&p, &late), 0);
	MUST(profile_finish(&p, &err));
	(void)sim_add_disk(sim, &p, "sda");
	sim_set_contents(sim, false);
}

static void prepare(struct sim *sim, const struct how *how)
{
	struct profile p;

	if (how->flash_bytes) {
		prepare_flash(sim, how);
		return;
	}
	MUST(profile_load(&p, SIMDISK_PROFILES "/tiny.disk", &err));
	for (size_t i = 0; how->cylinders && i < p.nzones; i++)
		p.zones[i].cylinders = how->cylinders;
	p.capacity_lba = 0;
	for (uint32_t i = 0; i < how->missing; i++) {
		struct profile_skip skip = { .cylinder = i * (uint32_t)p.nzones * p.zones[0].cylinders / how->missing,
			                     .surface = i % 4,
			                     .first = i % 97,
			                     .count = 1 };

		assert_int_equal(profile_add_skip(&p, &skip), 0);
	}
	if (how->delay_s > 0.0)
		assert_int_equal(profile_add_fail(&p, &(struct profile_fail){ .op = DISK_ANY,
		                                                              .nth = 1,
		                                                              .every = 1,
		                                                              .short_bytes = UINT64_MAX,
		                                                              .delay_s = how->delay_s }),
		                 0);
	MUST(profile_finish(&p, &err));
	(void)sim_add_disk(sim, &p, "sda");
	profile_done(&p);
	sim_set_contents(sim, false);
}

/* Exit status 0: it ran as it should. */
static int run_sim(const struct how *how)
{
	struct sim *sim = sim_new();
	cleanup_run struct sim_run run = { .sim = sim, .m = how->m, .words = how->words };
	char *text;
	bool is_good;

	prepare(sim, how);
	is_good = sim_run(&run) == 0 && (run.res->status == STATUS_COMPLETE || run.res->status == STATUS_ENDED_EARLY) &&
	          run.res->head.elapsed_s >= how->least_s;
	if (!is_good)
		(void)fprintf(stderr, "%s %s: status %s after %.0f s, not %.0f: %s\n", how->m->name, how->words,
		              run.res ? status_name(run.res->status) : "none", run.res ? run.res->head.elapsed_s : 0.0,
		              how->least_s, run.err.text);
	text = run.res ? result_to_json(run.res) : NULL; /* it has to be saved as well */
	free(text);
	return is_good ? 0 : 1;
}

/* Peak of a process that does just that, in KiB. */
static long peak_kib(int (*fn)(const struct how *how), const struct how *how)
{
	struct rusage u;
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fn(how));
	assert_int_equal(wait4(pid, &status, 0, &u), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("%s %s: it did not run as it should", how->m->name, how->words);
	return u.ru_maxrss;
}

#define READ_BACK "--write --destroy-data=TINY0001 --verify --block=4KiB --buffer=64KiB --rate=10KB "
#define WEEK_S    (7.0 * 86400)
/* Of up to 128 stretches of time each has a histogram, which grows with what differs in it and not with the time. */
#define STRETCHES_KIB 4096

/* The same, briefly and for long; what the long run may need beyond the brief one. */
struct pair {
	struct how brief, lengthy;
	long more_kib;
};

static const struct pair on_disks[] = {
	{ { .m = &measure_zones, .words = "--full --block=256K --time=2m sda" },
	  { .m = &measure_zones,
	    .words = "--full --block=256K --depth=1 --time=200h sda",
	    .delay_s = 500.0,
	    .least_s = WEEK_S },
	  1024 },
	/* All the windows that its places have. */
	{ { .m = &measure_zones, .words = "--quick sda", .cylinders = 2000 },
	  { .m = &measure_zones, .words = "--repeat=100 --precision=0.01% --time=168h sda", .cylinders = 2000 },
	  2048 },
	{ { .m = &measure_seek, .words = "--quick sda" },
	  { .m = &measure_seek,
	    .words = "--slice=2h --count=1000 --time=200h sda",
	    .delay_s = 60.0,
	    .least_s = WEEK_S },
	  1024 },
	{ { .m = &measure_transactions, .words = "--users=8 --ios=3 --think=2m --time=1h sda" },
	  { .m = &measure_transactions, .words = "--users=8 --ios=3 --think=2m --time=168h sda", .least_s = WEEK_S },
	  STRETCHES_KIB },
	{ { .m = &measure_transactions, .words = "--arrivals=0.1 --ios=3 --time=1h sda" },
	  { .m = &measure_transactions, .words = "--arrivals=0.1 --ios=3 --time=168h sda", .least_s = WEEK_S * 0.99 },
	  STRETCHES_KIB },
	{ { .m = &measure_stream,
	    .words = "--read --rate=20KB --block=64KiB --buffer=1MiB --time=1h sda",
	    .cylinders = 8000 },
	  { .m = &measure_stream,
	    .words = "--read --rate=20KB --block=64KiB --buffer=1MiB --time=168h sda",
	    .cylinders = 8000,
	    .least_s = WEEK_S * 0.99 },
	  2048 },
	/* 400 000 blocks: 9 MB, were each remembered. The disk forgets what was written, so that its memory is not what
	 * is seen: each block is reported as lost. */
	{ { .m = &measure_stream, .words = READ_BACK "--time=1h sda", .cylinders = 8000 },
	  { .m = &measure_stream, .words = READ_BACK "--time=45h sda", .cylinders = 8000, .least_s = 45 * 3600 * 0.99 },
	  2048 },
	/* Its length is the disk's, ten times the tracks: read as one surface, all of it is weighed in zones of four
	 * tracks, 344 bytes each. */
	{ { .m = &measure_geometry, .words = "sda" },
	  { .m = &measure_geometry, .words = "--time=168h sda", .cylinders = 2000 },
	  4096 },
	/* A disk in which runs of equal tracks are short: some 3 KiB for the accesses of each track that is not as
	 * usual; with MALLOC_PERTURB_ all of it is touched. */
	{ { .m = &measure_geometry, .words = "sda" },
	  { .m = &measure_geometry, .words = "--time=168h sda", .missing = 400 },
	  4096 },
	/* Its lists of places are full on the large disk, and its document long. */
	{ { .m = &measure_surface, .words = "--block=16M --without=files sda", .flash_bytes = 100000000000 },
	  { .m = &measure_surface,
	    .words = "--block=16M --without=files sda",
	    .flash_bytes = 20000000000000,
	    .least_s = 36000.0 },
	  4096 },
};

#define CELL "--size=64K-64K --block=4K-4K --without=knee --mode=cached "

static const struct pair on_files[] = {
	/* A row for each pass, and no more than 10000 passes. */
	{ { .m = &measure_passes, .words = "--size=64K --repeat=4" },
	  { .m = &measure_passes, .words = "--size=64K --repeat=2000" },
	  2048 },
	{ { .m = &measure_cache, .words = CELL "--slice=1ms --repeat=3" },
	  { .m = &measure_cache, .words = CELL "--slice=20ms --repeat=50" },
	  512 },
	{ { .m = &measure_mark, .words = "--size=1M --time=1ms --repeat=1" },
	  { .m = &measure_mark, .words = "--size=1M --time=20ms --repeat=50" },
	  1024 },
};

static void compare(int (*fn)(const struct how *how), const struct pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct how *brief = &pairs[i].brief, *lengthy = &pairs[i].lengthy;
		long a = peak_kib(fn, brief), b = peak_kib(fn, lengthy);

		print_message("%s: %ld KiB, long %ld KiB\n", brief->m->name, a, b);
		if (b - a > pairs[i].more_kib)
			fail_msg("%s %s: %ld KiB, but %ld KiB with %s", brief->m->name, lengthy->words, b, a,
			         brief->words);
	}
}

TEST(a_week_or_a_large_disk_needs_hardly_more_memory_than_minutes_or_a_small_one)
{
	compare(run_sim, on_disks, ARRAY_LEN(on_disks));
}

static int run_overloaded(const struct how *how)
{
	struct sim *sim = sim_new();
	cleanup_run struct sim_run run = { .sim = sim, .m = how->m, .words = how->words };
	bool is_no;

	prepare(sim, how);
	is_no = sim_run(&run) == 0 && run.res->verdict_is_no && result_has_notice(run.res, "no-steady-state");
	if (!is_no)
		(void)fprintf(stderr, "%s: %s\n", how->words, run.err.text);
	return is_no ? 0 : 1;
}

/* A million transactions at once; 100000 more come each second than the disk can do. */
TEST(an_overload_ends_with_a_verdict_before_the_memory_does)
{
	const struct how how = { .m = &measure_transactions, .words = "--arrivals=100000 --ios=1 --time=10h sda" };

	assert_in_range(peak_kib(run_overloaded, &how), 1, 320 << 10);
}

/* ---- files ---- */

static int run_files(const struct how *how)
{
	const char *where = how->m == &measure_cache ? files_dir : files_path("f");
	cleanup_files struct files_run run = { .m = how->m, .words = textf("%s %s", how->words, where) };
	bool is_good;

	files_run(&run);
	is_good = run.r == 0 && run.res->status == STATUS_COMPLETE && run.res->head.elapsed_s >= how->least_s;
	if (!is_good)
		(void)fprintf(stderr, "%s %s: %.0f s, %s\n", how->m->name, how->words,
		              run.res ? run.res->head.elapsed_s : 0.0, run.err.text);
	return is_good ? 0 : 1;
}

TEST_WITH(passes_cache_and_mark_with_many_repetitions_need_hardly_more_memory, files_dir_make, files_dir_remove)
{
	compare(run_files, on_files, ARRAY_LEN(on_files));
}
