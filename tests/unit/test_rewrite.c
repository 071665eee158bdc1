/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --rewrite of zones, which has one place in work, and of smr, which has many thousands, never leaves a byte changed.
 * The power goes (the disk is gone) at request N, for N = 1, 2, 3, ...; the sector that was in work is then unreadable
 * or garbled, and the next start, with the journal that was left, has to put it back.
 */
#include "test.h"

#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "simrun.h"

extern const struct measure measure_zones, measure_smr, measure_surface, measure_recover;

#define SIZE_BYTES 60000000u
#define GARBLED    3 /* sectors */

/* The starts of the machine before and after its power went. */
#define BEFORE "start-1"
#define AFTER  "start-2"

static char journal_dir[] = "/dev/shm/platter-rewrite.XXXXXX"; /* synced thousands of times */

struct world {
	struct sim *sim;
	struct sim_disk *sd;
	struct sim_run run;
	char words[256];
	uint64_t last_write; /* byte of the last write that was tried; UINT64_MAX: none */
};

static void see_request(void *arg, struct session *ses, const char *target, const struct io_req *req, bool is_fault)
{
	struct world *w = arg;

	if (req->op == IO_WRITE)
		w->last_write = req->offset_bytes;
}

static void profile_small(struct profile *p)
{
	MUST(profile_load(p, SIMDISK_PROFILES "/tiny.disk", &err));
	p->capacity_lba = SIZE_BYTES / p->logical_sector_bytes / 8 * 8;
	p->wcache.bytes = 1 << 20;
}

#define RECOVER "recover " /* the command */
static void world_new(struct world *w, struct profile *p, const char *words)
{
	size_t skip = strncmp(words, RECOVER, strlen(RECOVER)) == 0 ? strlen(RECOVER) : 0;

	memset(w, 0, sizeof(*w));
	MUST(profile_finish(p, &err));
	w->last_write = UINT64_MAX;
	w->sim = sim_new();
	sim_env(w->sim)->boot_id = AFTER;
	w->sd = sim_add_disk(w->sim, p, "sda");
	(void)snprintf(w->words, sizeof(w->words), "--journal=%s %s sda", journal_dir, words + skip);
	w->run = (struct sim_run){ .sim = w->sim, .words = w->words, .hooks = { .request = see_request, .arg = w } };
	w->run.m = skip ? &measure_recover : &measure_zones;
	profile_done(p);
}

static void world_done(struct world *w)
{
	assert_int_equal(sim_opens(w->sd), 0);
	sim_run_done(&w->run);
	sim_free(w->sim);
}

static uint64_t hash(const struct world *w)
{
	return disk_contents_hash(sim_model(w->sd));
}

static uint64_t untouched_hash(void)
{
	struct profile p;
	struct world w;
	uint64_t h;

	profile_small(&p);
	world_new(&w, &p, "");
	h = hash(&w);
	world_done(&w);
	return h;
}

/* Files that hold what differs are taken away, and not counted. */
static unsigned journals(bool remove_them)
{
	DIR *d = opendir(journal_dir);
	unsigned n = 0;

	assert_non_null(d);
	for (const struct dirent *e; (e = readdir(d));) {
		size_t len = strlen(e->d_name);

		if (e->d_name[0] == '.')
			continue;
		n += strcmp(e->d_name + len - (len > 4 ? 4 : 0), ".now") != 0 &&
		     strcmp(e->d_name + len - (len > 5 ? 5 : 0), ".then") != 0;
		if (remove_them)
			assert_int_equal(unlinkat(dirfd(d), e->d_name, 0), 0);
	}
	(void)closedir(d);
	return n;
}

#define NAMED   "--rewrite-data=TINY0001"
#define CONSENT "--destroy-data=TINY0001"
#define REWRITE "--rewrite " NAMED " --count=3 --repeat=1 --sample=1M"

/* Requests of a run that nothing disturbs. */
static uint64_t good_run(void)
{
	struct profile p;
	struct world w;
	struct disk_counters c;

	profile_small(&p);
	world_new(&w, &p, REWRITE);
	if (sim_run(&w.run) < 0)
		fail_msg("%s", w.run.err.text);
	disk_counters(sim_model(w.sd), &c);
	assert_int_equal(w.run.res->status, STATUS_COMPLETE);
	assert_true(c.writes >= 3);
	assert_int_equal(hash(&w), untouched_hash());
	assert_int_equal(journals(false), 0);
	world_done(&w);
	return c.requests;
}

static void (*shown)(struct device *dev); /* by the disk whose power goes; NULL: as it is */

/* The power goes at request nth; returns the byte that was being written, UINT64_MAX when no journal was left. */
static uint64_t lose_power(uint64_t nth)
{
	struct profile p;
	struct world w;
	uint64_t at;

	profile_small(&p);
	p.faults.gone_at_request = nth;
	world_new(&w, &p, REWRITE);
	sim_env(w.sim)->boot_id = BEFORE;
	if (shown)
		shown(sim_device(w.sd));
	(void)sim_run(&w.run);
	assert_non_null(w.run.res);
	assert_int_equal(w.run.res->status, STATUS_DEVICE_GONE);
	disk_power_loss(sim_model(w.sd));
	assert_int_equal(hash(&w), untouched_hash());
	at = journals(false) ? w.last_write : UINT64_MAX;
	world_done(&w);
	return at;
}

static void garble(struct world *w, uint64_t at)
{
	uint8_t junk[512 * GARBLED];

	memset(junk, 0x5a, sizeof(junk));
	assert_int_equal(disk_poke(sim_model(w->sd), at, sizeof(junk), junk), 0);
}

static void world_with_bad_sectors(struct world *w, uint64_t at, const char *words)
{
	struct profile_bad bad = {
		.lba = at / 512, .count = 2, .kind = BAD_READ | BAD_HEALS, .revolutions = 3, .err = -EIO
	};
	struct profile p;

	profile_small(&p);
	assert_int_equal(profile_add_bad(&p, &bad), 0);
	world_new(w, &p, words);
}

/* The next start of --rewrite finds sectors that cannot be read: told, and not filled until it is asked to. */
static void unreadable_sectors_are_filled_when_asked(uint64_t at)
{
	uint8_t got[1024], want[1024];
	struct disk_counters c;
	struct world w;

	world_with_bad_sectors(&w, at, REWRITE);
	assert_int_equal(sim_run(&w.run), -EUCLEAN);
	assert_non_null(strstr(w.run.err.text, "cannot be read"));
	disk_counters(sim_model(w.sd), &c);
	assert_int_equal(c.writes, 0);
	assert_int_equal(journals(false), 1);
	world_done(&w);
	world_with_bad_sectors(&w, at, RECOVER NAMED);
	if (sim_run(&w.run) < 0)
		fail_msg("%s", w.run.err.text);
	assert_true(result_has_notice(w.run.res, "recovered"));
	assert_false(result_has_notice(w.run.res, "other-io")); /* putting back is our own doing */
	disk_pattern(at / 512, 512, want);
	disk_pattern(at / 512 + 1, 512, want + 512);
	assert_int_equal(disk_peek(sim_model(w.sd), at, sizeof(got), got), 0);
	assert_memory_equal(got, want, sizeof(got));
	assert_int_equal(hash(&w), untouched_hash());
	assert_int_equal(journals(false), 0);
	world_done(&w);
}

/* One run on a disk with garbled sectors; drops: the disk does not store what is written. */
static int run_garbled(uint64_t at, const char *words, bool drops, bool *ret_is_whole)
{
	struct profile p;
	struct world w;
	uint64_t before;
	int r;

	profile_small(&p);
	if (drops)
		p.faults.miswrites.drop_from = 1;
	world_new(&w, &p, words);
	garble(&w, at);
	before = hash(&w);
	assert_true(before != untouched_hash());
	r = sim_run(&w.run);
	*ret_is_whole = hash(&w) == untouched_hash();
	if (!*ret_is_whole)
		assert_int_equal(hash(&w), before);
	if (r < 0)
		assert_true(strlen(w.run.err.text) > 40);
	world_done(&w);
	return r;
}

static void garbled_sectors_are_put_back_with_consent(uint64_t at)
{
	bool is_whole;

	/* Somebody may have written there since: not without consent, and the journal stays. */
	static const char *const words[] = { REWRITE, RECOVER NAMED };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		assert_int_equal(run_garbled(at, words[i], false, &is_whole), -EUCLEAN);
		assert_false(is_whole);
		assert_int_equal(journals(false), 1);
	}
	/* A disk that does not store what it is given cannot be healed: said, and the journal stays. */
	assert_true(run_garbled(at, RECOVER CONSENT, true, &is_whole) < 0);
	assert_false(is_whole);
	assert_int_equal(journals(false), 1);
	assert_int_equal(run_garbled(at, RECOVER CONSENT, false, &is_whole), 0);
	assert_true(is_whole);
	assert_int_equal(journals(false), 0);
}

TEST(power_loss_at_any_request_leaves_every_byte_or_the_journal_brings_it_back)
{
	uint64_t requests = good_run(), healed = 0, runs = 0;

	for (uint64_t nth = 1; nth <= requests;
	     nth += nth < 32 / TALLY_SHARE ? 1 : 1 + nth * TALLY_SHARE / 16, runs++) {
		uint64_t at = lose_power(nth);

		if (at == UINT64_MAX) {
			assert_int_equal(journals(true), 0); /* or there was something, but nothing was written yet */
			continue;
		}
		if (healed++ % 2)
			garbled_sectors_are_put_back_with_consent(at);
		else
			unreadable_sectors_are_filled_when_asked(at);
	}
	print_message("fault-count: power %" PRIu64 " every byte as before, or put back from the journal (%" PRIu64
	              " within a block)\n",
	              runs, healed);
	assert_true(healed >= TALLY_SEEDS(10));
}

TEST(no_fault_of_any_kind_changes_a_byte)
{
	const uint64_t requests = good_run(), want = untouched_hash();

	for (unsigned kind = 0; kind < 3; kind++) {
		for (uint64_t nth = 1; nth <= requests; nth += nth < 16 / TALLY_SHARE ? 1 : 1 + nth * TALLY_SHARE / 4) {
			const struct profile_fail fail = { .op = DISK_ANY,
				                           .nth = nth,
				                           .err = kind == 0 ? -EIO : 0,
				                           .short_bytes = kind == 1 ? 512 : 0 };
			struct profile p;
			struct world w;

			profile_small(&p);
			assert_int_equal(profile_add_fail(&p, &fail), 0);
			world_new(&w, &p, REWRITE);
			(void)sim_run(&w.run);
			assert_non_null(w.run.res);
			if (hash(&w) != want)
				fail_msg("request %" PRIu64 ", kind %u: the disk was changed", nth, kind);
			world_done(&w);
			(void)journals(true);
		}
	}
}

static uint64_t leave_a_journal(void)
{
	uint64_t nth = 1, at;

	while ((at = lose_power(nth)) == UINT64_MAX)
		nth++;
	return at;
}

TEST(a_journal_is_not_put_on_another_disk)
{
	struct profile p;
	struct world w;

	(void)leave_a_journal();
	profile_small(&p);
	p.capacity_lba -= 8;
	world_new(&w, &p, RECOVER NAMED);
	assert_true(sim_run(&w.run) < 0);
	assert_int_equal(w.run.err.code, -EUCLEAN);
	assert_int_equal(journals(true), 1);
	world_done(&w);
}

/* A run on a disk with a garbled sector, which shows what `change` has made of it. */
static int recover_on(uint64_t at, const char *words, void (*change)(struct device *dev), bool *ret_is_whole,
                      struct err *err)
{
	struct profile p;
	struct world w;
	int r;

	profile_small(&p);
	world_new(&w, &p, words);
	change(sim_device(w.sd));
	garble(&w, at);
	r = sim_run(&w.run);
	*err = w.run.err;
	*ret_is_whole = hash(&w) == untouched_hash();
	world_done(&w);
	return r;
}

static void show_one(struct device *dev)
{
	(void)snprintf(dev->id.wwn, sizeof(dev->id.wwn), "naa.5000c50011112221");
	(void)snprintf(dev->id.uuid, sizeof(dev->id.uuid), "LVM-one");
	(void)snprintf(dev->id.part_uuid, sizeof(dev->id.part_uuid), "11-21");
}

static void show_another_wwn(struct device *dev)
{
	show_one(dev);
	dev->id.wwn[19] = '2';
}

static void show_another_uuid(struct device *dev)
{
	show_one(dev);
	dev->id.uuid[4] = 'O';
}

static void show_another_partition(struct device *dev)
{
	show_one(dev);
	dev->id.part_uuid[4] = '2';
}

TEST(nothing_is_healed_when_anything_differs_whatever_is_insisted_upon)
{
	static const struct {
		void (*change)(struct device *dev);
		const char *says;
	} others[] = { { show_another_wwn, "world-wide name" },
		       { show_another_uuid, "UUID" },
		       { show_another_partition, "UUID of the partition" } };

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		bool is_whole;
		struct err err;
		uint64_t at;

		shown = show_one;
		at = leave_a_journal();
		shown = NULL;
		assert_int_equal(recover_on(at, RECOVER "--despite=identity --destroy-data=TINY0001", others[i].change,
		                            &is_whole, &err),
		                 -EUCLEAN);
		assert_false(is_whole);
		assert_non_null(strstr(err.text, others[i].says));
		assert_int_equal(journals(true), 1);
	}
}

static void show_nothing(struct device *dev)
{
	dev->id.serial[0] = '\0';
}

/* The interrupted run on a disk without a number. */
static uint64_t lose_power_of_a_nameless_disk(void)
{
	for (uint64_t nth = 1;; nth++) {
		struct profile p;
		struct world w;
		uint64_t at;

		profile_small(&p);
		p.faults.gone_at_request = nth;
		world_new(&w, &p, "--rewrite --rewrite-data=sda --count=3 --repeat=1 --sample=1M");
		show_nothing(sim_device(w.sd));
		sim_env(w.sim)->boot_id = BEFORE;
		(void)sim_run(&w.run);
		disk_power_loss(sim_model(w.sd));
		at = journals(false) ? w.last_write : UINT64_MAX;
		world_done(&w);
		if (at != UINT64_MAX)
			return at;
		(void)journals(true);
	}
}

TEST(what_cannot_be_compared_is_healed_only_when_insisted_upon)
{
	uint64_t at = lose_power_of_a_nameless_disk();
	bool is_whole;
	struct err err;

	assert_int_equal(recover_on(at, RECOVER "--rewrite-data=sda", show_nothing, &is_whole, &err), -EUCLEAN);
	assert_false(is_whole);
	assert_non_null(strstr(err.text, "--despite=identity"));
	assert_int_equal(journals(false), 1);
	assert_int_equal(recover_on(at, RECOVER "--despite=identity --destroy-data=sda", show_nothing, &is_whole, &err),
	                 0);
	assert_true(is_whole);
	assert_int_equal(journals(false), 0);
}

static void find_journal(char *path, size_t len)
{
	DIR *d = opendir(journal_dir);
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)) && (!strstr(e->d_name, ".journal") || strstr(e->d_name, ".journal.")))
		;
	assert_non_null(e);
	(void)snprintf(path, len, "%s/%.200s", journal_dir, e->d_name);
	(void)closedir(d);
}

TEST(a_journal_that_others_can_read_or_own_is_refused)
{
	static const mode_t modes[] = { 0644, 0640, 0602, 0620 };
	char path[300];
	struct world w;
	struct profile p;

	for (size_t i = 0; i <= ARRAY_LEN(modes); i++) {
		struct disk_counters c;

		(void)leave_a_journal();
		find_journal(path, sizeof(path));
		if (i < ARRAY_LEN(modes))
			assert_int_equal(chmod(path, modes[i]), 0);
		else if (geteuid() != 0 || chown(path, 12345, 0) < 0)
			break; /* only root can give a file away */
		profile_small(&p);
		world_new(&w, &p, REWRITE);
		assert_int_equal(sim_run(&w.run), -EPERM);
		assert_non_null(strstr(w.run.err.text, path));
		disk_counters(sim_model(w.sd), &c);
		assert_int_equal(c.writes, 0);
		world_done(&w);
		assert_int_equal(journals(true), 1);
	}
	(void)journals(true);
}

TEST(a_journal_of_another_version_is_left_alone)
{
	char path[300];
	struct world w;
	struct profile p;
	int fd;

	(void)leave_a_journal();
	find_journal(path, sizeof(path));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "1", 1, 7), 1);
	assert_int_equal(close(fd), 0);
	profile_small(&p);
	world_new(&w, &p, REWRITE);
	assert_int_equal(sim_run(&w.run), -EUCLEAN);
	assert_non_null(strstr(w.run.err.text, "another version"));
	world_done(&w);
	assert_int_equal(journals(true), 1);
}

/* What has the journal's name but is a pipe, a link, or a second name of somebody's file is not written to, and nothing
 * is measured. */
TEST(a_journal_is_never_written_through_what_has_its_name)
{
	char path[300], other[300] = "";

	(void)leave_a_journal();
	find_journal(path, sizeof(path));
	(void)snprintf(other, sizeof(other), "%s/theirs", journal_dir);
	for (int kind = 0; kind < 3; kind++) {
		struct disk_counters c;
		struct profile p;
		struct world w;
		struct stat st;

		(void)journals(true);
		assert_int_equal(close(open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)), 0);
		assert_int_equal(kind == 0   ? mkfifo(path, 0600)
		                 : kind == 1 ? symlink(other, path)
		                             : link(other, path),
		                 0);
		profile_small(&p);
		world_new(&w, &p, REWRITE);
		assert_true(sim_run(&w.run) < 0);
		assert_true(strstr(w.run.err.text, path) && strstr(w.run.err.text, "--journal"));
		disk_counters(sim_model(w.sd), &c);
		assert_int_equal(c.writes, 0);
		assert_int_equal(stat(other, &st), 0);
		assert_int_equal(st.st_size, 0);
		assert_int_equal(journals(false), 2); /* theirs, both: not removed */
		world_done(&w);
	}
	(void)journals(true);
}

/* ---- many places: smr ---- */

#define SMR_WORDS "--rewrite " NAMED

/* Tracks that shingle, and a map that is full after some thousand writes. */
static void world_of_smr(struct world *w, const char *words, uint64_t gone_at, const struct profile_fail *fail)
{
	static const char text[] =
		"serial TINY0001\nrpm 7200\nsurfaces 4\ncache_kb 8192\nqueue_depth 32\noverhead_ms 0.1\nseek 0.8 0.05\n"
		"head_switch_ms 0.7\ninterface_mbs 500\nphysical_sector 4096\nwrite_cache_kb 1024\nwrite_start 0.2\n"
		"write_delay_ms 100\nmedia_cache_kb 65536 1500 0\nmedia_cache_idle_ms 2000\nshingle_band_kb 4096\n"
		"zone 21 400\n";
	struct profile p;

	MUST(profile_parse(&p, "shingled", text, strlen(text), &err));
	p.faults.gone_at_request = gone_at;
	if (fail)
		assert_int_equal(profile_add_fail(&p, fail), 0);
	world_new(w, &p, words);
	w->run.m = w->run.m == &measure_recover ? w->run.m : &measure_smr;
}

static uint64_t untouched_smr(void)
{
	struct world w;
	uint64_t h;

	world_of_smr(&w, "", 0, NULL);
	h = hash(&w);
	world_done(&w);
	return h;
}

static void send_signal(void *number)
{
	atomic_store((atomic_int *)number, SIGINT);
}

/* Looked whether it turns, read, written in sequence, written at random, compared. */
TEST(smr_leaves_every_byte_when_it_is_done_and_at_each_signal)
{
	static const double seconds[] = { 0, 0.5, 4, 6.5, 20, 110 };
	const uint64_t want = untouched_smr();
	unsigned cancelled = 0;

	for (size_t i = 0; i < ARRAY_LEN(seconds); i++) {
		atomic_int number = 0;
		struct disk_counters c;
		struct world w;

		world_of_smr(&w, SMR_WORDS " --time=100s", 0, NULL);
		w.run.cancel = &number;
		if (i)
			sim_at(w.sim, (uint64_t)(seconds[i] * 1e9), send_signal, &number);
		if (sim_run(&w.run) < 0)
			fail_msg("%s", w.run.err.text);
		disk_counters(sim_model(w.sd), &c);
		assert_int_equal(hash(&w), want);
		assert_int_equal(journals(false), 0);
		cancelled += w.run.res->status == STATUS_CANCELLED;
		if (i > 0)
			assert_true((double)sim_elapsed_ns(w.sim) * 1e-9 < seconds[i] + 7);
		if (i == 0) {
			assert_true(c.writes > 1500);
			assert_true(sim_figure(&w.run, "compared_bytes") > 2e7);
			assert_false(result_has_notice(w.run.res, "not-all-compared"));
			assert_false(result_has_notice(w.run.res, "other-io"));
		}
		world_done(&w);
	}
	assert_true(cancelled >= 4);
}

/* The disk is gone at a request of smr; returns the byte that it had to write at last, UINT64_MAX when no journal was
 * left. */
static uint64_t lose_power_of_smr(uint64_t nth, uint64_t want)
{
	struct world w;
	uint64_t at;

	world_of_smr(&w, SMR_WORDS " --time=30s", nth, NULL);
	sim_env(w.sim)->boot_id = BEFORE;
	(void)sim_run(&w.run);
	assert_non_null(w.run.res);
	assert_int_equal(w.run.res->status, STATUS_DEVICE_GONE);
	disk_power_loss(sim_model(w.sd));
	assert_int_equal(hash(&w), want);
	at = journals(false) ? w.last_write : UINT64_MAX;
	world_done(&w);
	return at;
}

/* One run on a disk with garbled sectors at a place. */
static int run_garbled_smr(uint64_t at, const char *words, uint64_t want, bool *ret_is_whole)
{
	struct world w;
	int r;

	world_of_smr(&w, words, 0, NULL);
	garble(&w, at);
	r = sim_run(&w.run);
	*ret_is_whole = hash(&w) == want;
	if (r < 0)
		assert_true(strlen(w.run.err.text) > 40);
	else
		assert_true(result_has_notice(w.run.res, "recovered"));
	world_done(&w);
	return r;
}

TEST(what_smr_cannot_read_or_write_changes_no_byte)
{
	const struct profile_fail fails[] = { { .op = DISK_READ, .nth = 400, .err = -EIO },
		                              { .op = DISK_WRITE, .nth = 20, .err = -EIO },
		                              { .op = DISK_WRITE, .nth = 900, .short_bytes = 512 },
		                              { .op = DISK_FLUSH, .nth = 3, .err = -EIO } };
	const uint64_t want = untouched_smr();

	for (size_t i = 0; i < ARRAY_LEN(fails); i++) {
		struct world w;

		world_of_smr(&w, SMR_WORDS " --time=10s", 0, &fails[i]);
		(void)sim_run(&w.run);
		assert_non_null(w.run.res);
		assert_int_equal(hash(&w), want);
		world_done(&w);
		(void)journals(true);
	}
}

/* A byte of the file is another one: nothing is put back from there, and it stays. */
TEST(a_damaged_journal_of_many_places_is_reported_and_nothing_done)
{
	const uint64_t want = untouched_smr();
	uint64_t at = lose_power_of_smr(1500, want), byte;
	bool is_whole;
	char path[300];
	struct stat st;
	int fd;

	find_journal(path, sizeof(path));
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(pread(fd, &byte, sizeof(byte), st.st_size / 2), sizeof(byte));
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, sizeof(byte), st.st_size / 2), sizeof(byte));
	assert_int_equal(close(fd), 0);
	assert_int_equal(run_garbled_smr(at, RECOVER NAMED, want, &is_whole), -EIO);
	assert_false(is_whole);
	assert_int_equal(journals(true), 1);
}

static int make_dir(void **state)
{
	if (!mkdtemp(journal_dir))
		(void)strcpy(journal_dir, "/tmp/platter-rewrite.XXXXXX");
	return access(journal_dir, F_OK) == 0 || mkdtemp(journal_dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)journals(true);
	return rmdir(journal_dir);
}

TESTS_BETWEEN(make_dir, remove_dir)
