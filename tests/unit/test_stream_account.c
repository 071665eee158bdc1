/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `stream` on random simulated disks, rates, rings and layouts: what it reports against a calculation of its own from
 * the log of requests alone (when each was done), by plain events in order of time. To the byte and the nanosecond.
 */
#include "test.h"

#include "simrun.h"

extern const struct measure measure_stream;

#define RUNS 1000

/* ---- the log ---- */

struct entry {
	uint64_t tag, due_ns, done_ns;
};

struct log {
	struct entry *v;
	size_t n, room, faults;
};

static void take_request(void *arg, struct session *ses, const char *target, const struct io_req *req, bool is_fault)
{
	struct log *log = arg;

	if (req->tag == UINT64_MAX)
		return; /* a look at what the disks carry, after the stream */
	if (log->n == log->room) {
		log->room = log->room ? 2 * log->room : 1024;
		log->v = realloc(log->v, log->room * sizeof(*log->v));
		assert_non_null(log->v);
	}
	log->v[log->n++] = (struct entry){ req->tag, req->due_ns, req->done_ns };
	log->faults += is_fault;
}

static int by_done(const void *a, const void *b)
{
	const struct entry *p = a, *q = b;

	return (p->done_ns > q->done_ns) - (p->done_ns < q->done_ns);
}

/* ---- the calculation ---- */

typedef unsigned __int128 u128;

#define EVENTS 4096

struct account {
	uint64_t taken, dropped, events;
	u128 peak, owed_peak; /* owed: as it stood before each completion */
	uint64_t start_ns[EVENTS], end_ns[EVENTS], lost[EVENTS];
	bool is_open;      /* the last event goes on to the end */
	uint64_t *arrival; /* block of the clock that the taken one is */
};

static uint64_t begin_of(uint64_t rate, uint64_t block, uint64_t k)
{
	return (uint64_t)(((u128)block * k * 1000000000u + rate - 1) / rate);
}

static u128 due_at(uint64_t rate, uint64_t block, uint64_t nblocks, uint64_t t)
{
	u128 due = (u128)rate * t / 1000000000u, all = (u128)nblocks * block;

	return due < all ? due : all;
}

static void before_completion(struct account *a, uint64_t rate, uint64_t block, uint64_t nblocks, uint64_t t,
                              uint64_t done)
{
	u128 due = due_at(rate, block, nblocks, t), full = (u128)(a->taken - done) * block,
	     owed = due - (u128)done * block;
	uint64_t last = a->arrival[a->taken - 1];

	if (t < begin_of(rate, block, last + 1)) /* of the one that is coming in only what has come */
		full -= block - (due - (u128)last * block);
	a->peak = full > a->peak ? full : a->peak;
	a->owed_peak = owed > a->owed_peak ? owed : a->owed_peak;
}

static void calculate(struct account *a, const struct log *log, uint64_t t0, uint64_t rate, uint64_t block,
                      uint64_t places, uint64_t nblocks)
{
	uint64_t done = 0;

	a->arrival = calloc(nblocks, sizeof(uint64_t));
	for (uint64_t k = 0; k < nblocks; k++) {
		uint64_t begin = begin_of(rate, block, k);

		for (; done < log->n && log->v[done].done_ns - t0 <= begin; done++)
			before_completion(a, rate, block, nblocks, log->v[done].done_ns - t0, done);
		if (a->taken - done < places) {
			if (a->is_open)
				a->end_ns[a->events - 1] = begin;
			a->is_open = false;
			a->arrival[a->taken++] = k;
			continue;
		}
		a->peak = (u128)places * block;
		if (!a->is_open) {
			assert_true(a->events < EVENTS);
			a->start_ns[a->events] = begin;
			a->lost[a->events++] = 0;
		}
		a->is_open = true;
		a->lost[a->events - 1] += block;
		a->dropped += block;
	}
	for (; done < log->n; done++)
		before_completion(a, rate, block, nblocks, log->v[done].done_ns - t0, done);
}

/* ---- both ---- */

static uint64_t whole_figure(const struct result *res, const char *name)
{
	const struct figure *f = result_find_figure(res, name);

	assert_non_null(f);
	assert_int_equal(f->type, FIELD_TYPE_U64);
	return f->value.u64;
}

struct setup {
	uint64_t rate, block, places, nblocks;
	unsigned ndisks;
	char words[512];
};

/* Runs it, compares; returns the dropped bytes. */
static uint64_t compare(struct sim *sim, const struct setup *w, uint64_t seed)
{
	struct log log = { 0 };
	struct sim_run run = {
		.sim = sim, .m = &measure_stream, .words = w->words, .hooks = { .request = take_request, .arg = &log }
	};
	struct account *a = calloc(1, sizeof(*a));
	const struct table *t;
	uint64_t t0 = 0, dropped;

	sim_set_contents(sim, false);
	if (sim_run(&run) < 0)
		fail_msg("seed %" PRIu64 ", %s: %s", seed, w->words, run.err.text);
	assert_int_equal(log.faults, 0);
	for (size_t i = 0; i < log.n; i++)
		if (log.v[i].tag == 0)
			t0 = log.v[i].due_ns - begin_of(w->rate, w->block, 1);
	qsort(log.v, log.n, sizeof(*log.v), by_done);
	calculate(a, &log, t0, w->rate, w->block, w->places, w->nblocks);
	if (a->taken != log.n || a->peak != whole_figure(run.res, "peak_bytes") ||
	    a->dropped != whole_figure(run.res, "dropped_bytes") || a->events != whole_figure(run.res, "overflows"))
		fail_msg("seed %" PRIu64 ", %s: taken %" PRIu64 " of %zu, peak %" PRIu64 " of %" PRIu64
		         ", dropped %" PRIu64 " of %" PRIu64,
		         seed, w->words, a->taken, log.n, (uint64_t)a->peak, whole_figure(run.res, "peak_bytes"),
		         a->dropped, whole_figure(run.res, "dropped_bytes"));
	/* Response times count from when the data existed. */
	for (size_t i = 0; i < log.n; i++)
		assert_int_equal(log.v[i].due_ns - t0, begin_of(w->rate, w->block, a->arrival[log.v[i].tag] + 1));
	/* What was dropped stays owed in the endless ledger. */
	assert_true(whole_figure(run.res, "needed_bytes") >= a->owed_peak);
	assert_true(whole_figure(run.res, "needed_bytes") <= (a->owed_peak > a->dropped ? a->owed_peak : a->dropped));
	t = result_find_table(run.res, "overflows");
	for (size_t i = 0; i < t->nrows; i++) {
		assert_true(table_number(t, i, 0) == (double)a->start_ns[i] * 1e-9);
		assert_true(table_number(t, i, 2) == (double)a->lost[i]);
		if (i + 1 < a->events || !a->is_open)
			assert_true(table_number(t, i, 1) == (double)(a->end_ns[i] - a->start_ns[i]) * 1e-9);
	}
	dropped = a->dropped;
	free(a->arrival);
	free(a);
	free(log.v);
	sim_run_done(&run);
	return dropped;
}

static uint64_t one_random_run(uint64_t seed)
{
	const struct profile_limits limits = { .max_bytes = 200000000 };
	struct setup w;
	struct sim *sim = sim_new();
	struct rng rng;
	uint64_t dropped;
	char names[64] = "", consent[160] = "";
	bool is_write;

	rng_init(&rng, seed, 1);
	w.ndisks = 1 + (unsigned)rng_below(&rng, 3);
	w.block = 512 * (1 + rng_below(&rng, 128));
	w.rate = (uint64_t)(1e6 * pow(10.0, 2.0 * rng_double(&rng))) * w.ndisks;
	w.places = 4 + rng_below(&rng, 60);
	if (w.places * w.block < 4096) /* the least that --buffer takes */
		w.places = 8;
	w.nblocks = 50 + rng_below(&rng, 250);
	is_write = rng_below(&rng, 2);
	for (unsigned i = 0; i < w.ndisks; i++) {
		cleanup_profile struct profile p = { 0 };
		char name[] = { 's', 'd', (char)('a' + i), '\0' };

		MUST(profile_random(&p, seed * 10 + i, &limits, &err));
		(void)sim_add_disk(sim, &p, name);
		strcat(strcat(names, " "), name);
		strcat(strcat(consent, " --destroy-data="), p.reported.serial);
		if (w.block % sim_device(sim_find(sim, name))->logical_block_bytes)
			w.block = (w.block + 4095) / 4096 * 4096;
	}
	(void)snprintf(w.words, sizeof(w.words),
	               "%s%s --rate=%" PRIu64 "B --block=%" PRIu64 " --buffer=%" PRIu64 " --size=%" PRIu64
	               " --depth=%u --layout=%s%s",
	               is_write ? "--write" : "--read", is_write ? consent : "", w.rate, w.block, w.places * w.block,
	               w.nblocks * w.block, 1 + (unsigned)rng_below(&rng, 8),
	               rng_below(&rng, 2) ? "balance" : "roundrobin", names);
	dropped = compare(sim, &w, seed);
	sim_free(sim);
	return dropped;
}

TEST(a_thousand_random_runs_are_accounted_for_to_the_byte)
{
	unsigned with_drops = 0;

	for (uint64_t seed = 1; seed <= RUNS; seed++)
		with_drops += one_random_run(seed) > 0;
	/* Both kinds are well tried. */
	assert_true(with_drops > RUNS / 10 && with_drops < RUNS * 9 / 10);
}

TEST(runs_past_two_to_the_31_and_32_bytes_are_too)
{
	struct setup held = { .rate = 100000000, .block = 1048576, .places = 20, .nblocks = 6000, .ndisks = 4 };
	struct setup lost = { .rate = 200000000, .block = 1048576, .places = 20, .nblocks = 12000, .ndisks = 1 };
	struct sim *sim = sim_new();

	for (int i = 0; i < 4; i++)
		(void)sim_add_profile(sim, "ibm-deskstar-60gxp", (const char *[]){ "sda", "sdb", "sdc", "sdd" }[i]);
	(void)snprintf(held.words, sizeof(held.words),
	               "--read --rate=100000000B --buffer=20MiB --size=6000MiB sda sdb sdc sdd");
	(void)snprintf(lost.words, sizeof(lost.words), "--read --rate=200000000B --buffer=20MiB --size=12000MiB sda");
	assert_true(compare(sim, &held, 0) == 0);
	sim_free(sim);
	sim = sim_new();
	(void)sim_add_profile(sim, "ibm-deskstar-60gxp", "sda");
	assert_true(compare(sim, &lost, 0) > UINT64_C(1) << 33);
	sim_free(sim);
}
