/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 200 moments of each --rewrite (500 with PLATTER_LONG=1). At each the process is killed, or the power goes and tears
 * the block in flight, or somebody else writes: also in the very place that was in flight, before the machine is
 * started again. Bytes lie in shared memory, which outlives the process, each as it was at first, torn (readable or
 * not), or somebody else's: none of the last is lost without consent, none of the first at all.
 */
#include "test.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "folder.h"
#include "simrun.h"

extern const struct measure measure_zones, measure_surface, measure_smr, measure_recover;

#define KEPT_BYTES  (132u << 20)
#define MOMENTS     (getenv("PLATTER_LONG") ? 500 : TALLY_SEEDS(200))
#define SECTOR      512u
#define CHUNK       (64u << 10) /* of sectors that are looked at together */
#define NEW_MOST    400         /* sectors that somebody else writes */
#define WRITES_KEPT 4096
#define NAMED       "--rewrite-data=TINY0001"

TESTS_IN_FOLDER(dir)

enum what { KILLED, KILLED_AND_RESTARTED, POWER, POWER_AND_NEWER, NEWER_MEANWHILE, WHATS };

struct kept {                  /* shared with the process that is killed */
	uint64_t accesses, at; /* of the store, and the one at which it happens; 0: never */
	enum what what;
	uint64_t last, torn_first, torn_end; /* byte of the last access; what was torn */
	uint64_t last_sectors;               /* of the last access */
	uint64_t new_first, new_end;         /* what somebody else wrote */
	uint64_t writes[WRITES_KEPT];        /* the accesses that were writes */
	size_t nwrites;
	uint64_t size; /* of the disk */
	bool is_counted, tears_readably;
	uint8_t is_bad[KEPT_BYTES / SECTOR]; /* cannot be read until it is written */
	struct rng rng;
	struct sim_disk *sd;
	uint8_t *bytes;
	const uint8_t *first;
};

static void write_newer(struct kept *k, uint64_t first, uint64_t sectors, struct sim_disk *sd)
{
	const struct device_io io = { .writes = 1, .written_bytes = sectors * SECTOR };

	if (first + sectors * SECTOR > k->size)
		first = k->size - sectors * SECTOR;
	k->new_first = first;
	k->new_end = first + sectors * SECTOR;
	for (uint64_t i = k->new_first; i < k->new_end; i++)
		k->bytes[i] = (uint8_t)~k->first[i];
	memset(k->is_bad + k->new_first / SECTOR, 0, sectors);
	sim_foreign_io(sd, &io);
}

/* Its own is stored already; what is in flight elsewhere is not hit. */
static void happen(struct kept *k, uint64_t offset, uint32_t len, bool is_write)
{
	bool is_here = rng_below(&k->rng, 2);

	if (k->what == NEWER_MEANWHILE) {
		write_newer(k, (is_here ? offset : (offset + k->size / 2) % k->size) / SECTOR * SECTOR, len / SECTOR,
		            k->sd);
		return;
	}
	if (is_write && (k->what == POWER || k->what == POWER_AND_NEWER)) {
		k->torn_first = offset + len / SECTOR / 2 * SECTOR;
		k->torn_end = offset + len;
		memset(k->bytes + k->torn_first, 0xa5, k->torn_end - k->torn_first);
		memset(k->is_bad + k->torn_first / SECTOR, !k->tears_readably, (k->torn_end - k->torn_first) / SECTOR);
	}
	(void)raise(SIGKILL);
}

static int kept_read(void *arg, uint64_t offset, uint32_t len, void *buf)
{
	struct kept *k = arg;

	if (offset + len > KEPT_BYTES)
		return -EIO;
	if (memchr(k->is_bad + offset / SECTOR, 1, len / SECTOR))
		return -EIO;
	memcpy(buf, k->bytes + offset, len);
	k->last = offset;
	k->last_sectors = len / SECTOR;
	if (++k->accesses == k->at)
		happen(k, offset, len, false);
	return 0;
}

static int kept_write(void *arg, uint64_t offset, uint32_t len, const void *buf)
{
	struct kept *k = arg;

	if (offset + len > KEPT_BYTES)
		return -EIO;
	memcpy(k->bytes + offset, buf, len);
	memset(k->is_bad + offset / SECTOR, 0, len / SECTOR);
	k->last = offset;
	k->last_sectors = len / SECTOR;
	k->accesses++;
	if (!k->at && !k->is_counted && k->nwrites < WRITES_KEPT)
		k->writes[k->nwrites++] = k->accesses;
	if (k->accesses == k->at)
		happen(k, offset, len, true);
	return 0;
}

struct rewriter {
	const struct measure *m;
	const char *name, *words, *profile;
};
#define DISK(more)                                                                                               \
	"serial TINY0001\nrpm 7200\nsurfaces 4\ncache_kb 8192\nqueue_depth 32\noverhead_ms 0.1\nseek 0.8 0.05\n" \
	"head_switch_ms 0.7\ninterface_mbs 500\n" more
static const struct rewriter rewriters[] = {
	{ &measure_zones, "zones", "--count=3 --repeat=1 --sample=1M", DISK("zone 10 400\n") },
	{ &measure_surface, "surface", "--block=64K",
	  DISK("zone 10 400\nslow 9001 1 1 2\nslow 10501 1 1 2\nslow 12001 1 1 2\nslow 13501 1 1 2\n") },
	{ &measure_smr, "smr", "--time=30s",
	  DISK("physical_sector 4096\nwrite_cache_kb 1024\nwrite_start 0.2\nwrite_delay_ms 100\n"
	       "media_cache_kb 65536 1500 0\nmedia_cache_idle_ms 2000\nshingle_band_kb 4096\nzone 21 400\n") },
};

static int run_on(struct kept *k, const struct measure *m, const struct rewriter *r, const char *words,
                  const char *boot_id, bool has_newer, struct err *ret_err)
{
	char all[400];
	const struct disk_store store = { kept_read, kept_write, k };
	cleanup_run struct sim_run run = { .sim = sim_new(), .m = m, .words = all };
	cleanup_profile struct profile p = { 0 };
	int got;

	(void)snprintf(all, sizeof(all), "%s --journal=%s sda", words, dir.path);
	MUST(profile_parse(&p, "small", r->profile, strlen(r->profile), &err));
	MUST(profile_finish(&p, &err));
	k->sd = sim_add_disk(run.sim, &p, "sda");
	k->size = sim_device(k->sd)->size_bytes;
	sim_env(run.sim)->boot_id = boot_id;
	disk_set_store(sim_model(k->sd), &store);
	if (has_newer)
		sim_foreign_io(k->sd, &(struct device_io){ .writes = 1, .written_bytes = k->new_end - k->new_first });
	k->accesses = 0;
	got = sim_run(&run);
	*ret_err = run.err;
	return got;
}

static void run_to_its_end_by_force(struct kept *k, const struct rewriter *r, const char *words)
{
	pid_t pid = fork();
	struct err err;
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)run_on(k, r->m, r, words, "start-1", false, &err);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	k->at = 0;
}

/* Both sides of what differed: is this sector of somebody else's in one of the files? */
static bool is_saved(uint64_t offset, const uint8_t *want)
{
	DIR *d = opendir(dir.path);
	bool is_there = false;

	assert_non_null(d);
	for (const struct dirent *e; !is_there && (e = readdir(d));) {
		size_t len = strlen(e->d_name);
		uint8_t got[SECTOR], pattern[SECTOR];
		cleanup_close int fd = -1;

		if (len < 4 || strcmp(e->d_name + len - 4, ".now") != 0)
			continue;
		disk_pattern(offset / SECTOR, SECTOR, pattern); /* the store has what differs from it */
		fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || pread(fd, got, SECTOR, (off_t)offset) != (ssize_t)SECTOR)
			continue;
		for (uint32_t b = 0; b < SECTOR; b++)
			got[b] ^= pattern[b];
		is_there = memcmp(got, want, SECTOR) == 0;
	}
	(void)closedir(d);
	return is_there;
}

static unsigned clear(void)
{
	unsigned n = folder_count(&dir, ".journal", NULL);

	folder_empty(dir.path);
	return n;
}

/* All as at first, but for somebody else's, which is there, and what is still torn. */
static void check(const struct kept *k, const char *when, bool may_be_torn)
{
	for (uint64_t i = 0; i < k->size; i += SECTOR) {
		bool is_new = i >= k->new_first && i < k->new_end, is_torn = i >= k->torn_first && i < k->torn_end;
		uint8_t newer[SECTOR];

		if (i % CHUNK == 0 && k->size - i >= CHUNK && (i + CHUNK <= k->new_first || i >= k->new_end) &&
		    memcmp(k->bytes + i, k->first + i, CHUNK) == 0) {
			i += CHUNK - SECTOR;
			continue;
		}
		for (uint32_t b = 0; is_new && b < SECTOR; b++)
			newer[b] = (uint8_t)~k->first[i + b];
		if (is_new ? memcmp(k->bytes + i, newer, SECTOR) && !is_saved(i, newer)
		           : memcmp(k->bytes + i, k->first + i, SECTOR) && !(is_torn && may_be_torn))
			fail_msg("%s: byte %" PRIu64 " (%s%s)", when, i, is_new ? "newer " : "", is_torn ? "torn" : "");
	}
}

static void undo(struct kept *k)
{
	memcpy(k->bytes + k->new_first, k->first + k->new_first, k->new_end - k->new_first);
	memcpy(k->bytes + k->torn_first, k->first + k->torn_first, k->torn_end - k->torn_first);
	memset(k->is_bad + k->torn_first / SECTOR, 0, (k->torn_end - k->torn_first) / SECTOR);
	k->new_first = k->new_end = k->torn_first = k->torn_end = 0;
	assert_int_equal(memcmp(k->bytes, k->first, k->size), 0); /* cmocka compares byte by byte */
}

static void newer_beside(struct kept *k)
{
	uint64_t at = k->last + rng_below(&k->rng, 256u << 10);

	at = at < 128u << 10 ? 0 : at - (128u << 10);
	k->new_first = at / SECTOR * SECTOR;
}

/* At one moment. */
static void live_through(struct kept *k, const struct rewriter *r, const char *words, unsigned counts[WHATS])
{
	uint64_t sectors = 1 + rng_below(&k->rng, NEW_MOST);
	bool had;
	struct err err;
	int got;

	if (k->what == NEWER_MEANWHILE) {
		got = run_on(k, r->m, r, words, "start-1", false, &err);
		k->at = 0;
		assert_true(got == 0 || got == -EBUSY);
		assert_null(strstr(err.text, "loses data"));
		counts[k->what] += got == -EBUSY;
		check(k, "written meanwhile", false);
		(void)run_on(k, &measure_recover, r, NAMED, "start-1", true, &err);
		check(k, "recovered", false);
		assert_false(k->new_end && is_saved(k->new_first, k->bytes + k->new_first) && got == 0);
		return;
	}
	run_to_its_end_by_force(k, r, words);
	had = k->torn_end > 0;
	if (k->what != POWER) {
		struct sim *sim = sim_new();
		struct sim_disk *sd = sim_add_profile(sim, "tiny", "sda");

		if (k->what == KILLED_AND_RESTARTED) {
			k->new_first = k->last; /* exactly there */
			sectors = sectors < k->last_sectors ? sectors : k->last_sectors;
		} else {
			newer_beside(k);
		}
		write_newer(k, k->new_first, sectors, sd);
		sim_free(sim);
	}
	/* Who started the machine again starts the counters again. */
	got = run_on(k, &measure_recover, r, NAMED, k->what == KILLED ? "start-1" : "start-2",
	             k->what == KILLED || k->what == POWER_AND_NEWER, &err);
	counts[k->what] += k->what == POWER ? had : got == -EUCLEAN;
	if (k->what == POWER && got != (had && k->tears_readably ? -EUCLEAN : 0))
		fail_msg("%d: %s", got, err.text);
	check(k, "recovered", k->what == POWER_AND_NEWER || (k->what == POWER && k->tears_readably));
	for (uint64_t i = k->new_first; i < k->new_end; i++)
		assert_int_equal(k->bytes[i], (uint8_t)~k->first[i]);
	if (k->what != POWER_AND_NEWER && k->what != POWER)
		return;
	got = run_on(k, &measure_recover, r, "--destroy-data=TINY0001", "start-2", k->what != POWER, &err);
	if (got < 0)
		fail_msg("%s", err.text);
	check(k, "recovered with consent", false);
}

TEST(nothing_newer_is_lost_without_consent_and_nothing_old_at_all)
{
	uint8_t *first = malloc(KEPT_BYTES);
	struct kept *k = mmap(NULL, sizeof(*k), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct err err;

	assert_true(first && k != MAP_FAILED);
	rng_init(&k->rng, 51, 3);
	k->first = first;
	k->bytes = mmap(NULL, KEPT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(k->bytes != MAP_FAILED);
	for (size_t i = 0; i + 8 <= KEPT_BYTES; i += 8) {
		uint64_t v = rng_u64(&k->rng);

		memcpy(first + i, &v, 8);
	}
	memcpy(k->bytes, first, KEPT_BYTES);
	for (size_t i = 0; i < ARRAY_LEN(rewriters); i++) {
		const struct rewriter *r = &rewriters[i];
		unsigned counts[WHATS] = { 0 };
		/* A run of smr has 94 000 accesses: a tenth of the moments, all of them with PLATTER_LONG=1. */
		const unsigned moments = r->m == &measure_smr && !getenv("PLATTER_LONG") ? MOMENTS / 10 : MOMENTS;
		uint64_t accesses;
		const char *words = textf("--rewrite " NAMED " %s", r->words);

		k->nwrites = 0;
		k->is_counted = false;
		if (run_on(k, r->m, r, words, "start-1", false, &err) < 0)
			fail_msg("%s: %s", r->name, err.text);
		accesses = k->accesses;
		k->is_counted = true;
		assert_int_equal(memcmp(k->bytes, first, k->size), 0);
		assert_int_equal(clear(), 0);
		for (unsigned n = 0; n < moments; n++) {
			k->what = n % WHATS;
			k->tears_readably = n / WHATS % 4 < 2;
			k->at = 1 + (n * accesses + rng_below(&k->rng, accesses)) / moments;
			if (n / WHATS % 2) /* half of them at a write */
				k->at = k->writes[rng_below(&k->rng, k->nwrites)];
			live_through(k, r, words, counts);
			undo(k);
			(void)clear();
		}
		print_message("fault-count: putback-%s %u 0 bytes newer lost without consent, 0 bytes old lost (%u "
		              "newer kept after a kill, %u after a start too, %u torn put back, %u left to consent, "
		              "%u runs stopped)\n",
		              r->name, moments, counts[KILLED], counts[KILLED_AND_RESTARTED], counts[POWER],
		              counts[POWER_AND_NEWER], counts[NEWER_MEANWHILE]);
		for (size_t w = 0; w < WHATS; w++)
			assert_true(counts[w] > 0 || moments < 4 * WHATS); /* sanitizers see few */
	}
	(void)munmap(k->bytes, KEPT_BYTES);
	(void)munmap(k, sizeof(*k));
	free(first);
}
