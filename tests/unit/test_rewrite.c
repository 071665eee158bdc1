/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --rewrite of zones, which has one place in work, and of smr, which has many thousands, never leaves a byte changed.
 * The power goes (the disk is gone) at request N, for N = 1, 2, 3, ...; the sector that was in work is then unreadable
 * or garbled, and the next start, with the journal that was left, has to put it back.
 */
#include "test.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "folder.h"
#include "simrun.h"

extern const struct measure measure_zones, measure_smr, measure_surface, measure_recover;

#define SIZE_BYTES 60000000u
#define GARBLED    3 /* sectors */

/* The starts of the machine before and after its power went. */
#define BEFORE "start-1"
#define AFTER  "start-2"

TESTS_IN_FOLDER(dir)

struct world {
	struct sim *sim;
	struct sim_disk *sd;
	struct sim_run run;
	uint64_t last_write; /* byte of the last write that was tried; UINT64_MAX: none */
};

static void see_request(void *arg, struct session *ses, const char *target, const struct io_req *req, bool is_fault)
{
	struct world *w = arg;

	if (req->op == IO_WRITE)
		w->last_write = req->offset_bytes;
}

enum kind {
	TINY,
	SHINGLED /* tracks that shingle, and a map that is full after some thousand writes */
};

/* What happens to it. */
struct trouble {
	uint64_t gone_at; /* request; 0: never */
	const struct profile_fail *fail;
	const struct profile_bad *bad;
	bool drops;                        /* it does not store what is written */
	uint32_t lacks;                    /* sectors, at its end */
	void (*shown)(struct device *dev); /* makes what it reports of itself; NULL: as it is */
};

static void disk_of(enum kind disk, const struct trouble *t, struct profile *p)
{
	static const char shingled[] =
		"serial TINY0001\nrpm 7200\nsurfaces 4\ncache_kb 8192\nqueue_depth 32\noverhead_ms 0.1\nseek 0.8 0.05\n"
		"head_switch_ms 0.7\ninterface_mbs 500\nphysical_sector 4096\nwrite_cache_kb 1024\nwrite_start 0.2\n"
		"write_delay_ms 100\nmedia_cache_kb 65536 1500 0\nmedia_cache_idle_ms 2000\nshingle_band_kb 4096\n"
		"zone 21 400\n";

	if (disk == SHINGLED) {
		MUST(profile_parse(p, "shingled", shingled, strlen(shingled), &err));
	} else {
		MUST(profile_load(p, SIMDISK_PROFILES "/tiny.disk", &err));
		p->capacity_lba = SIZE_BYTES / p->logical_sector_bytes / 8 * 8 - t->lacks;
		p->wcache.bytes = 1 << 20;
	}
	p->faults.gone_at_request = t->gone_at;
	p->faults.miswrites.drop_from = t->drops;
	if (t->fail)
		assert_int_equal(profile_add_fail(p, t->fail), 0);
	if (t->bad)
		assert_int_equal(profile_add_bad(p, t->bad), 0);
	MUST(profile_finish(p, &err));
}

#define RECOVER "recover " /* the command */
static void world_new(struct world *w, enum kind disk, const char *words, const struct trouble *t)
{
	const struct trouble none = { .gone_at = 0 };
	size_t skip = strncmp(words, RECOVER, strlen(RECOVER)) == 0 ? strlen(RECOVER) : 0;
	struct profile p;

	t = t ? t : &none;
	disk_of(disk, t, &p);
	*w = (struct world){ .sim = sim_new(), .last_write = UINT64_MAX };
	sim_env(w->sim)->boot_id = t->gone_at ? BEFORE : AFTER;
	w->sd = sim_add_disk(w->sim, &p, "sda");
	profile_done(&p);
	if (t->shown)
		t->shown(sim_device(w->sd));
	w->run = (struct sim_run){ .sim = w->sim,
		                   .words = textf("--journal=%s %s sda", dir.path, words + skip),
		                   .hooks = { .request = see_request, .arg = w } };
	w->run.m = skip ? &measure_recover : disk == SHINGLED ? &measure_smr : &measure_zones;
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

static uint64_t untouched(enum kind disk)
{
	static uint64_t known[2];

	if (!known[disk]) {
		struct world w;

		world_new(&w, disk, "", NULL);
		known[disk] = hash(&w);
		world_done(&w);
	}
	return known[disk];
}

static uint64_t writes_of(const struct world *w)
{
	return disk_counters(sim_model(w->sd)).writes;
}

/* Files that hold what differs are taken away, and not counted. */
static unsigned journals(bool remove_them)
{
	unsigned n = folder_count(&dir, ".journal", NULL);

	if (remove_them)
		folder_empty(dir.path);
	return n;
}

#define NAMED   "--rewrite-data=TINY0001"
#define CONSENT "--destroy-data=TINY0001"
#define REWRITE "--rewrite " NAMED " --count=3 --repeat=1 --sample=1M"

#define SMR_WORDS "--rewrite " NAMED

/* Requests of a run that nothing disturbs. */
static uint64_t good_run(void)
{
	struct world w;
	struct disk_counters c;

	world_new(&w, TINY, REWRITE, NULL);
	MUST_RUN(w.run);
	c = disk_counters(sim_model(w.sd));
	assert_int_equal(w.run.res->status, STATUS_COMPLETE);
	assert_true(c.writes >= 3);
	assert_int_equal(hash(&w), untouched(TINY));
	assert_int_equal(journals(false), 0);
	world_done(&w);
	return c.requests;
}

/* The power goes at request nth; returns the byte that was being written, UINT64_MAX when no journal was left. */
static uint64_t lose_power(enum kind disk, const char *words, uint64_t nth, void (*shown)(struct device *dev))
{
	struct world w;
	uint64_t at;

	world_new(&w, disk, words, &(struct trouble){ .gone_at = nth, .shown = shown });
	(void)sim_run(&w.run);
	assert_non_null(w.run.res);
	assert_int_equal(w.run.res->status, STATUS_DEVICE_GONE);
	disk_power_loss(sim_model(w.sd));
	assert_int_equal(hash(&w), untouched(disk));
	at = journals(false) ? w.last_write : UINT64_MAX;
	world_done(&w);
	return at;
}

/* At the first request that leaves a journal. */
static uint64_t leave_a_journal(const char *words, void (*shown)(struct device *dev))
{
	uint64_t nth = 1, at;

	while ((at = lose_power(TINY, words, nth, shown)) == UINT64_MAX)
		nth++;
	return at;
}

/* The next start of --rewrite finds sectors that cannot be read: reported, and not filled until it is asked to. */
static void unreadable_sectors_are_filled_when_asked(uint64_t at)
{
	const struct profile_bad bad = {
		.lba = at / 512, .count = 2, .kind = BAD_READ | BAD_HEALS, .revolutions = 3, .err = -EIO
	};
	uint8_t got[1024], want[1024];
	struct world w;

	world_new(&w, TINY, REWRITE, &(struct trouble){ .bad = &bad });
	assert_int_equal(sim_run(&w.run), -EUCLEAN);
	assert_non_null(strstr(w.run.err.text, "cannot be read"));
	assert_int_equal(writes_of(&w), 0);
	assert_int_equal(journals(false), 1);
	world_done(&w);
	world_new(&w, TINY, RECOVER NAMED, &(struct trouble){ .bad = &bad });
	MUST_RUN(w.run);
	assert_true(result_has_notice(w.run.res, "recovered"));
	assert_false(result_has_notice(w.run.res, "other-io")); /* putting back is our own doing */
	disk_pattern(at / 512, 512, want);
	disk_pattern(at / 512 + 1, 512, want + 512);
	assert_int_equal(disk_peek(sim_model(w.sd), at, sizeof(got), got), 0);
	assert_memory_equal(got, want, sizeof(got));
	assert_int_equal(hash(&w), untouched(TINY));
	assert_int_equal(journals(false), 0);
	world_done(&w);
}

/* One run on a disk with garbled sectors, which is whole after it or as before. */
static int run_garbled(enum kind disk, uint64_t at, const char *words, const struct trouble *t, bool *ret_is_whole,
                       struct err *err)
{
	uint8_t junk[512 * GARBLED];
	struct world w;
	uint64_t before;
	int r;

	world_new(&w, disk, words, t);
	memset(junk, 0x5a, sizeof(junk));
	assert_int_equal(disk_poke(sim_model(w.sd), at, sizeof(junk), junk), 0);
	before = hash(&w);
	assert_true(before != untouched(disk));
	r = sim_run(&w.run);
	*ret_is_whole = hash(&w) == untouched(disk);
	if (!*ret_is_whole)
		assert_int_equal(hash(&w), before);
	if (r < 0)
		assert_true(strlen(w.run.err.text) > 40);
	else
		assert_true(result_has_notice(w.run.res, "recovered"));
	*err = w.run.err;
	world_done(&w);
	return r;
}

/* The journal stays unless the disk is whole. */
static void assert_garbled(uint64_t at, const char *words, const struct trouble *t, int r, const char *says)
{
	bool is_whole;
	struct err err;

	assert_int_equal(run_garbled(TINY, at, words, t, &is_whole, &err), r);
	assert_int_equal(is_whole, r == 0);
	assert_int_equal(journals(false), r < 0);
	if (says)
		assert_non_null(strstr(err.text, says));
}

static void garbled_sectors_are_put_back_with_consent(uint64_t at)
{
	/* Somebody may have written there since: not without consent. */
	assert_garbled(at, REWRITE, NULL, -EUCLEAN, NULL);
	assert_garbled(at, RECOVER NAMED, NULL, -EUCLEAN, NULL);
	/* A disk that does not store what it is given cannot be healed. */
	assert_garbled(at, RECOVER CONSENT, &(struct trouble){ .drops = true }, -EIO, NULL);
	assert_garbled(at, RECOVER CONSENT, NULL, 0, NULL);
}

TEST(power_loss_at_any_request_leaves_every_byte_or_the_journal_brings_it_back)
{
	uint64_t requests = good_run(), healed = 0, runs = 0;

	for (uint64_t nth = 1; nth <= requests;
	     nth += nth < 32 / TALLY_SHARE ? 1 : 1 + nth * TALLY_SHARE / 16, runs++) {
		uint64_t at = lose_power(TINY, REWRITE, nth, NULL);

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
	const uint64_t requests = good_run();

	for (unsigned kind = 0; kind < 3; kind++) {
		for (uint64_t nth = 1; nth <= requests; nth += nth < 16 / TALLY_SHARE ? 1 : 1 + nth * TALLY_SHARE / 4) {
			const struct profile_fail fail = { .op = DISK_ANY,
				                           .nth = nth,
				                           .err = kind == 0 ? -EIO : 0,
				                           .short_bytes = kind == 1 ? 512 : 0 };
			struct world w;

			world_new(&w, TINY, REWRITE, &(struct trouble){ .fail = &fail });
			(void)sim_run(&w.run);
			assert_non_null(w.run.res);
			if (hash(&w) != untouched(TINY))
				fail_msg("request %" PRIu64 ", kind %u: the disk was changed", nth, kind);
			world_done(&w);
			(void)journals(true);
		}
	}
}

TEST(a_journal_is_not_put_on_another_disk)
{
	struct world w;

	(void)leave_a_journal(REWRITE, NULL);
	world_new(&w, TINY, RECOVER NAMED, &(struct trouble){ .lacks = 8 });
	assert_int_equal(sim_run(&w.run), -EUCLEAN);
	assert_int_equal(journals(true), 1);
	world_done(&w);
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
		assert_garbled(leave_a_journal(REWRITE, show_one), RECOVER "--despite=identity --destroy-data=TINY0001",
		               &(struct trouble){ .shown = others[i].change }, -EUCLEAN, others[i].says);
		(void)journals(true);
	}
}

static void show_nothing(struct device *dev)
{
	dev->id.serial[0] = '\0';
}

TEST(what_cannot_be_compared_is_healed_only_when_insisted_upon)
{
	const struct trouble nameless = { .shown = show_nothing };
	uint64_t at = leave_a_journal("--rewrite --rewrite-data=sda --count=3 --repeat=1 --sample=1M", show_nothing);

	assert_garbled(at, RECOVER "--rewrite-data=sda", &nameless, -EUCLEAN, "--despite=identity");
	assert_garbled(at, RECOVER "--despite=identity --destroy-data=sda", &nameless, 0, NULL);
}

static const char *find_journal(void)
{
	const char *path = NULL;

	assert_int_equal(folder_count(&dir, ".journal", &path), 1);
	return path;
}

TEST(a_journal_that_others_can_read_or_own_is_refused)
{
	static const mode_t modes[] = { 0644, 0640, 0602, 0620 };
	struct world w;

	for (size_t i = 0; i <= ARRAY_LEN(modes); i++) {
		const char *path;

		(void)leave_a_journal(REWRITE, NULL);
		path = find_journal();
		if (i < ARRAY_LEN(modes))
			assert_int_equal(chmod(path, modes[i]), 0);
		else if (geteuid() != 0 || chown(path, 12345, 0) < 0)
			break; /* only root can give a file away */
		world_new(&w, TINY, REWRITE, NULL);
		assert_int_equal(sim_run(&w.run), -EPERM);
		assert_non_null(strstr(w.run.err.text, path));
		assert_int_equal(writes_of(&w), 0);
		world_done(&w);
		assert_int_equal(journals(true), 1);
	}
	(void)journals(true);
}

/* What has the journal's name but is a pipe, a link, or a second name of somebody's file is not written to, and nothing
 * is measured. */
TEST(a_journal_is_never_written_through_what_has_its_name)
{
	const char *path, *other = textf("%s/theirs", dir.path);

	(void)leave_a_journal(REWRITE, NULL);
	path = find_journal();
	for (int kind = 0; kind < 3; kind++) {
		struct world w;
		struct stat st;

		(void)journals(true);
		assert_int_equal(close(open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)), 0);
		assert_int_equal(kind == 0   ? mkfifo(path, 0600)
		                 : kind == 1 ? symlink(other, path)
		                             : link(other, path),
		                 0);
		world_new(&w, TINY, REWRITE, NULL);
		assert_true(sim_run(&w.run) < 0);
		assert_true(strstr(w.run.err.text, path) && strstr(w.run.err.text, "--journal"));
		assert_int_equal(writes_of(&w), 0);
		assert_int_equal(stat(other, &st), 0);
		assert_int_equal(st.st_size, 0);
		assert_int_equal(journals(false), 1); /* not removed */
		world_done(&w);
	}
	(void)journals(true);
}

/* ---- many places: smr ---- */

static void send_signal(void *number)
{
	atomic_store((atomic_int *)number, SIGINT);
}

/* Looked whether it turns, read, written in sequence, written at random, compared. */
TEST(smr_leaves_every_byte_when_it_is_done_and_at_each_signal)
{
	static const double seconds[] = { 0, 0.5, 4, 6.5, 20, 110 };
	unsigned cancelled = 0;

	for (size_t i = 0; i < ARRAY_LEN(seconds); i++) {
		atomic_int number = 0;
		struct world w;

		world_new(&w, SHINGLED, SMR_WORDS " --time=100s", NULL);
		w.run.cancel = &number;
		if (i)
			sim_at(w.sim, (uint64_t)(seconds[i] * 1e9), send_signal, &number);
		MUST_RUN(w.run);
		assert_int_equal(hash(&w), untouched(SHINGLED));
		assert_int_equal(journals(false), 0);
		cancelled += w.run.res->status == STATUS_CANCELLED;
		if (i > 0)
			assert_true((double)sim_elapsed_ns(w.sim) * 1e-9 < seconds[i] + 7);
		if (i == 0) {
			assert_true(writes_of(&w) > 1500);
			assert_true(sim_figure(&w.run, "compared_bytes") > 2e7);
			assert_false(result_has_notice(w.run.res, "not-all-compared"));
			assert_false(result_has_notice(w.run.res, "other-io"));
		}
		world_done(&w);
	}
	assert_true(cancelled >= 4);
}

TEST(what_smr_cannot_read_or_write_changes_no_byte)
{
	const struct profile_fail fails[] = { { .op = DISK_READ, .nth = 400, .err = -EIO },
		                              { .op = DISK_WRITE, .nth = 20, .err = -EIO },
		                              { .op = DISK_WRITE, .nth = 900, .short_bytes = 512 },
		                              { .op = DISK_FLUSH, .nth = 3, .err = -EIO } };

	for (size_t i = 0; i < ARRAY_LEN(fails); i++) {
		struct world w;

		world_new(&w, SHINGLED, SMR_WORDS " --time=10s", &(struct trouble){ .fail = &fails[i] });
		(void)sim_run(&w.run);
		assert_non_null(w.run.res);
		assert_int_equal(hash(&w), untouched(SHINGLED));
		world_done(&w);
		(void)journals(true);
	}
}

/* A byte of the file is another one: nothing is put back from there, and it stays. */
TEST(a_damaged_journal_of_many_places_is_reported_and_nothing_done)
{
	uint64_t at = lose_power(SHINGLED, SMR_WORDS " --time=30s", 1500, NULL), byte;
	bool is_whole;
	struct err err;
	struct stat st;
	int fd = open(find_journal(), O_RDWR | O_CLOEXEC);

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(pread(fd, &byte, sizeof(byte), st.st_size / 2), sizeof(byte));
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, sizeof(byte), st.st_size / 2), sizeof(byte));
	assert_int_equal(close(fd), 0);
	assert_int_equal(run_garbled(SHINGLED, at, RECOVER NAMED, NULL, &is_whole, &err), -EIO);
	assert_false(is_whole);
	assert_int_equal(journals(true), 1);
}
