/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a journal that was left is to others: to the disk of its partition, to a partition of its disk, to a version
 * that wrote it otherwise, to another disk of the same serial number.
 */
#include "test.h"

#include "folder.h"
#include "measure/shared/journal.h"
#include "simrun.h"

extern const struct measure measure_zones, measure_recover;

#define SIZE_BYTES 60000000u
#define PART_FIRST (20u << 20)
#define PART_BYTES (30u << 20)
#define NAMED      "--rewrite-data=TINY0001 --rewrite-data=TINY0001-part1"
#define CONSENT    "--destroy-data=TINY0001 --destroy-data=TINY0001-part1"

#define REWRITE "--rewrite --count=5 --repeat=1 --sample=1M " NAMED

TESTS_IN_FOLDER(dir)

struct world {
	struct sim *sim;
	struct sim_disk *sd, *part;
};

static void world_new(struct world *w, uint64_t gone_at, const struct profile_bad *bad, const char *boot_id)
{
	cleanup_profile struct profile p = { 0 };

	MUST(profile_load(&p, SIMDISK_PROFILES "/tiny.disk", &err));
	p.capacity_lba = SIZE_BYTES / p.logical_sector_bytes / 8 * 8;
	p.faults.gone_at_request = gone_at;
	if (bad)
		assert_int_equal(profile_add_bad(&p, bad), 0);
	MUST(profile_finish(&p, &err));
	w->sim = sim_new();
	sim_env(w->sim)->boot_id = boot_id;
	w->sd = sim_add_disk(w->sim, &p, "sda");
	w->part = sim_add_partition(w->sim, w->sd, "sda1", PART_FIRST, PART_BYTES);
}

/* Which of the disk's requests was the first write there. */
struct first_write {
	struct disk *disk;
	uint64_t first, end, nth;
};

static void see_request(void *arg, struct session *ses, const char *target, const struct io_req *req, bool is_fault)
{
	struct first_write *f = arg;

	if (!f || f->nth || req->op != IO_WRITE || req->offset_bytes < f->first ||
	    req->offset_bytes + req->len_bytes > f->end)
		return;
	f->nth = disk_counters(f->disk).requests;
}

static int run(const struct world *w, const struct measure *m, const char *words, const char *target,
               struct first_write *f, struct err *err, bool *ret_found)
{
	char all[300];
	struct sim_run r = { .sim = w->sim, .m = m, .words = all, .hooks = { .request = see_request, .arg = f } };
	int got;

	(void)snprintf(all, sizeof(all), "--journal=%s %s %s", dir.path, words, target);
	got = sim_run(&r);
	*err = r.err;
	*ret_found = r.res && !result_has_notice(r.res, "nothing-to-recover");
	sim_run_done(&r);
	return got;
}

static uint64_t hash(const struct world *w)
{
	return disk_contents_hash(sim_model(w->sd));
}

static uint64_t untouched(void)
{
	struct world w;
	uint64_t h;

	world_new(&w, 0, NULL, "start-2");
	h = hash(&w);
	sim_free(w.sim);
	return h;
}

static unsigned left(void)
{
	return folder_count(&dir, ".journal", NULL);
}

static void read_journal(struct journal_header *h, struct journal_entry *e)
{
	const char *path = NULL;
	cleanup_close int fd = -1;

	assert_int_equal(folder_count(&dir, ".journal", &path), 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(fd, h, sizeof(*h), 0), sizeof(*h));
	assert_int_equal(pread(fd, e, sizeof(*e), (off_t)3 * HEADER_BYTES), sizeof(*e));
	assert_int_equal(h->nplaces, 1);
}

/* A run on it is interrupted while a place is noted that lies within these bytes of the target. */
static struct rewrite_place interrupt(const char *target, uint64_t first, uint64_t end)
{
	struct first_write f = { .first = first, .end = end };
	struct journal_header h;
	struct journal_entry e = { 0 };
	struct world w;
	struct err err;
	bool is_found;

	world_new(&w, 0, NULL, "start-1");
	f.disk = sim_model(w.sd);
	if (run(&w, &measure_zones, REWRITE, target, &f, &err, &is_found) < 0)
		fail_msg("%s", err.text);
	sim_free(w.sim);
	assert_true(f.nth > 0);
	for (uint64_t nth = f.nth; nth < f.nth + 3 && !left(); nth++) {
		world_new(&w, nth, NULL, "start-1");
		(void)run(&w, &measure_zones, REWRITE, target, NULL, &err, &is_found);
		sim_free(w.sim);
	}
	read_journal(&h, &e);
	assert_true(e.place.offset_bytes >= first && e.place.offset_bytes + e.place.len_bytes <= end);
	return e.place;
}

static void garble(const struct world *w, uint64_t at, uint64_t len)
{
	cleanup_free uint8_t *junk = malloc(len);

	assert_non_null(junk);
	memset(junk, 0x5a, len);
	assert_int_equal(disk_poke(sim_model(w->sd), at, (uint32_t)len, junk), 0);
}

/* recover with these words, of a disk on which so many bytes were garbled; is it as at first then? */
static int recover(const char *words, const char *target, uint64_t at, uint64_t len, bool *ret_is_whole,
                   struct err *err)
{
	struct world w;
	bool is_found;
	int r;

	world_new(&w, 0, NULL, "start-2");
	if (len)
		garble(&w, at, len);
	r = run(&w, &measure_recover, words, target, NULL, err, &is_found);
	assert_true(is_found || r < 0);
	*ret_is_whole = hash(&w) == untouched();
	sim_free(w.sim);
	return r;
}

static void asks_for_consent_and_then_brings_back(const char *target, uint64_t at, uint64_t len, const char *says)
{
	struct err err;
	bool is_whole;

	assert_int_equal(recover(NAMED, target, at, len, &is_whole, &err), -EUCLEAN);
	assert_false(is_whole);
	if (!strstr(err.text, says) || !strstr(err.text, "--destroy-data="))
		fail_msg("%s", err.text);
	assert_int_equal(left(), 1);
	if (recover(CONSENT, target, at, len, &is_whole, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(is_whole);
	assert_int_equal(left(), 0);
	folder_empty(dir.path);
}

TEST(a_journal_of_a_partition_is_found_from_its_disk_and_the_other_way)
{
	struct rewrite_place p;
	struct world w;
	struct err err;
	bool is_found;

	p = interrupt("sda1", 0, PART_BYTES);
	asks_for_consent_and_then_brings_back("sda", PART_FIRST + p.offset_bytes + 4096, 1024, "block that was being");
	p = interrupt("sda", PART_FIRST, PART_FIRST + PART_BYTES);
	asks_for_consent_and_then_brings_back("sda1", p.offset_bytes + 4096, 1024, "block that was being");
	(void)interrupt("sda", PART_FIRST + PART_BYTES, SIZE_BYTES); /* which is nothing to the partition */
	world_new(&w, 0, NULL, "start-2");
	assert_int_equal(run(&w, &measure_recover, NAMED, "sda1", NULL, &err, &is_found), 0);
	assert_false(is_found);
	assert_int_equal(left(), 1);
	sim_free(w.sim);
	folder_empty(dir.path);
}

TEST(a_whole_band_is_brought_back_with_consent)
{
	struct rewrite_place p = interrupt("sda", 0, SIZE_BYTES);

	assert_true(p.len_bytes > 256u << 10);
	asks_for_consent_and_then_brings_back("sda", p.offset_bytes, p.len_bytes, "differ");
}

TEST(a_journal_of_another_version_is_left_as_it_is)
{
	struct world w;
	struct err err;
	const char *path = NULL;
	cleanup_close int fd = -1;
	bool is_found;

	(void)interrupt("sda", 0, SIZE_BYTES);
	(void)folder_count(&dir, ".journal", &path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "PLTRRWJ3", 8, 0), 8);
	world_new(&w, 0, NULL, "start-2");
	assert_int_equal(run(&w, &measure_recover, CONSENT, "sda", NULL, &err, &is_found), -EUCLEAN);
	assert_non_null(strstr(err.text, "of another version of platter"));
	assert_true(hash(&w) == untouched());
	assert_int_equal(left(), 1);
	sim_free(w.sim);
	folder_empty(dir.path);
}

static int read_other(void *arg, uint64_t offset, uint32_t len, void *buf)
{
	for (uint32_t i = 0; i < len; i++)
		((uint8_t *)buf)[i] = (uint8_t)((offset + i) * 2654435761u >> 13);
	return 0;
}

static int write_other(void *arg, uint64_t offset, uint32_t len, const void *buf)
{
	++*(unsigned *)arg;
	return 0;
}

TEST(another_disk_of_the_same_serial_is_not_written)
{
	struct rewrite_place p = interrupt("sda", 0, SIZE_BYTES);
	const struct profile_bad bad = {
		.lba = p.offset_bytes / 512 + 8, .count = 2, .kind = BAD_READ | BAD_HEALS, .revolutions = 3, .err = -EIO
	};
	unsigned writes = 0;
	const struct disk_store store = { read_other, write_other, &writes };
	struct world w;
	struct err err;
	bool is_found;

	for (int i = 0; i < 2; i++) {
		world_new(&w, 0, i ? &bad : NULL, "start-2");
		disk_set_store(sim_model(w.sd), &store);
		assert_int_equal(run(&w, &measure_recover, NAMED, "sda", NULL, &err, &is_found), -EUCLEAN);
		assert_non_null(strstr(err.text, "Most of what lies there and beside it differs"));
		assert_int_equal(writes, 0);
		assert_int_equal(left(), 1);
		sim_free(w.sim);
	}
	folder_empty(dir.path);
}
