/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `surface --write`: what is not as it was written is found and named, and runs that are killed leave out nothing. */
#include "test.h"

#include <inttypes.h>
#include <sys/stat.h>

#include "folder.h"
#include "measure/surface/writing.h"
#include "surfacerun.h"

extern const struct measure measure_check;

#define SECTORS 8192u
#define BLOCK   128u /* sectors of a write */
#define WRITE   "--write --destroy-data=SIM00000SSD --block=64KiB "

static void small_ssd(struct profile *p)
{
	load(p, "ssd-sata");
	p->capacity_lba = SECTORS;
}

static struct sim_run burn(struct profile *p, const char *words)
{
	struct sim_run run = { .sim = sim_new(), .m = &measure_surface, .words = words };

	MUST(profile_finish(p, &err));
	sim_device(sim_add_disk(run.sim, p, "sda"))->temperature_mc = 41500;
	MUST_RUN(run);
	return run;
}

/* The row that begins there; -1: none. */
static int row_at(const struct result *res, uint64_t lba)
{
	const struct table *t = result_find_table(res, "wrong");

	for (size_t i = 0; t && i < t->nrows; i++)
		if ((uint64_t)number(t, i, "lba") == lba)
			return (int)i;
	return -1;
}

static void assert_row(const struct result *res, uint64_t lba, uint64_t count, const char *kind)
{
	const struct table *t = result_find_table(res, "wrong");
	int i = row_at(res, lba);

	if (i < 0 || (uint64_t)number(t, (size_t)i, "length_bytes") != count * 512 ||
	    strcmp(table_string(t, (size_t)i, (size_t)table_column(t, "kind")), kind) != 0)
		fail_msg("no row %" PRIu64 " + %" PRIu64 " %s (%s)", lba, count, kind,
		         i < 0 ? "none" : table_string(t, (size_t)i, (size_t)table_column(t, "kind")));
}

TEST(a_sound_disk_is_written_verified_and_passed)
{
	cleanup_profile struct profile p = { 0 };
	cleanup_run struct sim_run run = { 0 };

	small_ssd(&p);
	run = burn(&p, WRITE "sda");
	assert_true(sim_figure(&run, "wrong_bytes") == 0.0);
	assert_true(sim_figure(&run, "verified_bytes") == SECTORS * 512.0);
	assert_true(sim_figure(&run, "written_bytes") == SECTORS * 512.0);
	assert_true(sim_figure(&run, "most_celsius") == 41.5);
	assert_false(run.res->verdict_is_no || run.res->verdict_is_open);
	assert_int_equal(run.res->status, STATUS_COMPLETE);
}

static struct profile_miswrite draw(struct rng *rng, enum miswrite_kind kind)
{
	struct profile_miswrite m = { .kind = kind };

	switch (kind) {
	case MISWRITE_LOST:
		m.count = BLOCK * (1 + rng_below(rng, 3));
		m.lba = BLOCK * rng_below(rng, SECTORS / BLOCK - 3);
		break;
	case MISWRITE_TORN:
		m.count = 1;
		m.lba = BLOCK * rng_below(rng, SECTORS / BLOCK) + 1 + rng_below(rng, BLOCK - 1);
		break;
	case MISWRITE_MISPLACED: /* forward it would be written over, and lost */
		m.count = 1 + rng_below(rng, BLOCK);
		m.lba = 2000 + rng_below(rng, SECTORS - 2000 - BLOCK);
		m.arg = rng_below(rng, m.lba - 6 * BLOCK);
		break;
	case MISWRITE_FLIPPED:
		m.count = 1 + rng_below(rng, 20);
		m.lba = rng_below(rng, SECTORS - 20);
		m.arg = rng_below(rng, 4096);
		break;
	default:
		m.lba = 1000 + rng_below(rng, SECTORS - 1001);
	}
	return m;
}

static void check(const struct sim_run *run, const struct profile_miswrite *m)
{
	uint64_t wrapped = SECTORS - m->lba;

	switch (m->kind) {
	case MISWRITE_LOST:
		assert_row(run->res, m->lba, m->count, "lost");
		break;
	case MISWRITE_TORN:
		assert_row(run->res, m->lba, BLOCK - m->lba % BLOCK, "torn");
		break;
	case MISWRITE_MISPLACED:
		assert_row(run->res, m->arg, m->count, "misplaced");
		assert_row(run->res, m->lba, m->count, "misplaced");
		assert_true(number(result_find_table(run->res, "wrong"), (size_t)row_at(run->res, m->arg),
		                   "belongs_lba") == (double)m->lba);
		break;
	case MISWRITE_FLIPPED:
		assert_row(run->res, m->lba, m->count, "bit-flip");
		break;
	default:
		assert_true(sim_figure(run, "true_bytes") == (double)m->lba * 512.0);
		assert_true(sim_figure(run, "wrong_bytes") == (double)wrapped * 512.0);
		if (wrapped <= m->lba)
			assert_row(run->res, 0, wrapped, "wrapped");
		return;
	}
	assert_int_equal(result_find_table(run->res, "wrong")->nrows, m->kind == MISWRITE_MISPLACED ? 2 : 1);
}

TEST(what_is_written_wrongly_is_found_and_named_by_its_lba)
{
	struct rng rng;

	rng_init(&rng, 56, 0);
	for (int i = 0; i < TALLY_SEEDS(250); i++) {
		struct profile_miswrite m = draw(&rng, (enum miswrite_kind)(i % 5));
		cleanup_profile struct profile p = { 0 };
		cleanup_run struct sim_run run = { 0 };

		small_ssd(&p);
		assert_int_equal(profile_add_miswrite(&p, &m), 0);
		run = burn(&p, WRITE "sda");
		check(&run, &m);
		assert_true(run.res->verdict_is_no);
	}
}

TEST(writes_that_fail_are_named_and_take_a_bounded_time)
{
	const struct profile_fail one = { .op = DISK_WRITE, .nth = 11, .err = -EIO };
	const struct profile_fail all = { .op = DISK_WRITE, .nth = 1, .every = 1, .err = -EIO, .delay_s = 30 };

	for (int is_all = 0; is_all < 2; is_all++) {
		cleanup_profile struct profile p = { 0 };
		cleanup_run struct sim_run run = { 0 };

		small_ssd(&p);
		assert_int_equal(profile_add_fail(&p, is_all ? &all : &one), 0);
		run = burn(&p, WRITE "sda");
		assert_row(run.res, is_all ? 0 : 10 * BLOCK, is_all ? SECTORS : BLOCK, "not-written");
		assert_true(run.res->verdict_is_no);
		assert_true((double)sim_elapsed_ns(run.sim) < 1000e9); /* 64 writes of 30 s: half an hour */
	}
}

/* ---- killed ---- */

enum death { OF_A_SIGNAL, OF_THE_PROGRAM, OF_THE_POWER, OF_THE_DISK, DEATHS };

static const struct phase {
	const char *begins; /* the name that progress shows */
	double most_s;      /* until the kill, from there on */
	bool is_of_check;
} phases[] = {
	{ "writing", 200.0, false },      { "scan", 200.0, false }, { "surface: writing", 200.0, true },
	{ "surface: scan", 200.0, true }, { "zones", 0.4, true },   { "transactions", 0.5, true },
};

struct killer {
	struct sim *sim;
	struct sim_disk *sd;
	const char *path;
	const struct phase *in;
	enum death of;
	double after_s;
	char *text; /* of the state when it was killed */
	size_t len;
	bool is_armed;
	atomic_int cancel;
};

static void kill_it(void *arg)
{
	struct killer *k = arg;
	FILE *f = fopen(k->path, "re");

	free(k->text);
	k->text = calloc(1, 1 << 20);
	assert_non_null(k->text);
	k->len = f ? fread(k->text, 1, 1 << 20, f) : 0;
	if (f)
		(void)fclose(f);
	if (k->of == OF_THE_POWER)
		disk_power_loss(sim_model(k->sd));
	if (k->of == OF_THE_DISK)
		disk_set_gone(sim_model(k->sd), true);
	else
		atomic_store(&k->cancel, 15);
}

static void arm(void *arg, struct session *ses, const char *phase, double done, const char *figure)
{
	struct killer *k = arg;

	(void)ses;
	(void)done;
	(void)figure;
	if (k->is_armed || strncmp(phase, k->in->begins, strlen(k->in->begins)) != 0)
		return;
	k->is_armed = true;
	sim_at(k->sim, sim_elapsed_ns(k->sim) + (uint64_t)(k->after_s * 1e9), kill_it, k);
}

/* What a program that is killed still saves, and what is saved after a power loss, is not there. */
static void forget(struct killer *k)
{
	bool forgets = k->of == OF_THE_PROGRAM || k->of == OF_THE_POWER;
	FILE *f = forgets && k->len ? fopen(k->path, "we") : NULL;

	if (f) {
		assert_int_equal(fwrite(k->text, 1, k->len, f), k->len);
		assert_int_equal(fclose(f), 0);
	} else if (forgets) {
		(void)unlink(k->path);
	}
	disk_set_gone(sim_model(k->sd), false);
}

#define SLOW_RATE 1.28e6             /* so that each pass takes minutes */
#define UNFLUSHED (51.0 * SLOW_RATE) /* a leg of writing */

/* Killed in this phase, and again in it, and so on; returns the kills. */
static int burn_killed(struct rng *rng, const char *path, const struct phase *in)
{
	const struct profile_miswrite m = { .kind = MISWRITE_FLIPPED, .lba = rng_below(rng, SECTORS), .count = 1 };
	struct killer k = { .sim = sim_new(), .path = path, .in = in };
	cleanup_profile struct profile p = { 0 };
	struct disk_counters count;
	bool is_done = false, writes = strstr(in->begins, "writing");
	int kills = 0, lost = 0;
	uint64_t most;
	const char *words = textf("--write --destroy-data=SIM00000SSD %s --resume --state=%s sda",
	                          in->is_of_check ? "--history=/nowhere --time=5s" : "", path);

	small_ssd(&p);
	p.capacity_lba = 64 * SECTORS;
	p.path.interface_bytes_per_s = SLOW_RATE;
	MUST(profile_add_miswrite(&p, &m));
	MUST(profile_finish(&p, &err));
	k.sd = sim_add_disk(k.sim, &p, "sda");
	while (!is_done) {
		struct sim_run run = { .sim = k.sim,
			               .m = in->is_of_check ? &measure_check : &measure_surface,
			               .words = words,
			               .cancel = &k.cancel,
			               .hooks = { .progress = arm, .arg = &k } };

		atomic_store(&k.cancel, 0);
		k.is_armed = kills > 12; /* then it comes to its end */
		k.of = (enum death)rng_below(rng, DEATHS);
		k.after_s = rng_double(rng) * in->most_s;
		MUST_RUN(run);
		is_done = !atomic_load(&k.cancel) && !disk_is_gone(sim_model(k.sd), UINT64_MAX);
		if (is_done) {
			assert_true(sim_figure(&run, "verified_bytes") == (double)p.capacity_lba * 512.0);
			assert_true(sim_figure(&run, "wrong_bytes") == 512.0);
			assert_row(run.res, m.lba, 1, "bit-flip");
		} else {
			kills++;
			lost += k.of != OF_A_SIGNAL;
			forget(&k);
		}
		sim_run_done(&run);
	}
	count = disk_counters(sim_model(k.sd));
	most = p.capacity_lba * 512 + (writes ? (uint64_t)(lost * UNFLUSHED) : 0);
	if (count.written_bytes > most)
		fail_msg("%s, %d kills: %" PRIu64 " bytes written of %" PRIu64, in->begins, lost, count.written_bytes,
		         most);
	free(k.text);
	sim_free(k.sim);
	(void)unlink(path);
	return kills;
}

TEST(killed_in_any_phase_it_goes_on_skips_nothing_and_writes_nothing_twice)
{
	FOLDER(dir);
	const char *path = textf("%s/state", dir.path);
	struct rng rng;
	int kills = 0;

	rng_init(&rng, 57, 0);
	for (size_t i = 0; i < TALLY_FIRST(3 * ARRAY_LEN(phases), 2); i++)
		kills += burn_killed(&rng, path, &phases[i % ARRAY_LEN(phases)]);
	print_message("%d kills\n", kills);
}
