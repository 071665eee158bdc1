/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fault loop: every measurement of a device, with request N going wrong in every way that a disk knows, for N = 1,
 * 2, 3, ... until the run has fewer requests than that. In runs of more than 64 requests N grows by half each time
 * after the first 16; with PLATTER_LONG=1 it takes every one. New entries of measures[] come in by themselves; `small`
 * may give them smaller parameters. Each N after the first two goes wrong in one way of four, by turns.
 */
#include "test.h"

#include "base/units.h"
#include "measure/measures.h"
#include "roundtrip.h"
#include "simrun.h"

enum how { HOW_EIO, HOW_MEDIUM, HOW_TIMEOUT, HOW_SHORT, HOW_ZERO, HOW_GONE, HOW_GONE_ZERO, HOWS };
static const char *const how_names[HOWS] = {
	"EIO", "ENODATA", "ETIMEDOUT after 30 s", "short", "0 bytes", "gone", "gone, reading 0 bytes",
};

/* Small, so that there are hundreds of runs in a few seconds. NULL: as it is, on one disk. */
static const struct {
	const char *measure, *words;
} small[] = {
	{ "zones", "--count=8 --repeat=2 --sample=1M sda" },
	{ "zones", "--full sda" },
	{ "zones", "--write --destroy-data=TINY0001 --count=4 --repeat=1 --sample=1M sda" },
	{ "seek", "--quick --count=40 --slice=10ms sda" },
	{ "geometry", "--quick sda" },
	{ "check", "--time=20s sda" },
	{ "sustain", "--block=64K --time=10s sda" },
	{ "sustain", "--write --destroy-data=TINY0001 --block=64K --random --time=10s sda" },
	{ "buffer", "sda" },
	{ "buffer", "--write --destroy-data=TINY0001 --range=-32MiB sda" },
	{ "stream", "--read --size=64M --buffer=8M sda" },
	{ "transactions", "--users=2 --count=3 --ios=4 sda" },
	{ "transactions", "--users=2 --count=3 --ios=4 --write --destroy-data=TINY0001 sda" },
	{ "transactions", "--arrivals=20 --count=8 --ios=2 sda" },
	{ "stream", "--write --destroy-data=TINY0001 --size=64M --buffer=8M sda" },
};

struct baseline {
	const struct measure *m;
	const char *words;
	uint64_t requests, elapsed_ns;
	unsigned runs, with_errors, gone, failed, harmless;
};

struct seen { /* by the hook of requests */
	uint64_t requests, bad;
};

static void see_request(void *arg, struct session *ses, const char *target, const struct io_req *req, bool is_fault)
{
	struct seen *seen = arg;

	seen->requests++;
	seen->bad += req->res < 0 || is_fault || (req->op != IO_FLUSH && (uint32_t)req->res != req->len_bytes);
}

/* A disk of 60 MB like tiny, with the Nth request as asked; nth 0: a good one. */
static struct sim *new_sim(enum how how, uint64_t nth, struct sim_disk **ret)
{
	struct sim *sim = sim_new();
	cleanup_profile struct profile p = { 0 };
	struct profile_fail fail = { .op = DISK_ANY, .nth = nth };

	MUST(profile_load(&p, SIMDISK_PROFILES "/tiny.disk", &err));
	p.capacity_lba = 60000000 / p.logical_sector_bytes / 8 * 8;
	fail.err = how == HOW_EIO ? -EIO : how == HOW_MEDIUM ? -ENODATA : how == HOW_TIMEOUT ? -ETIMEDOUT : 0;
	fail.short_bytes = how == HOW_SHORT ? 512 : 0;
	fail.delay_s = how == HOW_TIMEOUT ? 30.0 : 0.0;
	if (nth && how < HOW_GONE)
		assert_int_equal(profile_add_fail(&p, &fail), 0);
	if (nth && how >= HOW_GONE) {
		p.faults.gone_at_request = nth;
		p.faults.gone = how == HOW_GONE ? GONE_ERROR : GONE_ZERO;
	}
	MUST(profile_finish(&p, &err));
	*ret = sim_add_disk(sim, &p, "sda");
	sim_set_contents(sim, false);
	return sim;
}

/* What must be true of any document: it can be saved and read again, and no rate is more than the interface carries. */
static void check_document(const struct sim_run *run, const char *where)
{
	check_round_trip(run->res, where);
	for (size_t i = 0; i < run->res->nfigures; i++) {
		const struct figure *f = &run->res->figures[i];

		if (f->unit == UNIT_BYTES_PER_S && figure_number(f) > 301e6)
			fail_msg("%s: %s is %g bytes/s", where, f->name, figure_number(f));
	}
}

/* The fault was there: the document has to say so. */
static void check_fault(const struct sim_run *run, enum how how, struct baseline *b, const char *where)
{
	enum result_status s = run->res->status;

	if (run->err.code && s != STATUS_FAILED)
		fail_msg("%s: %s, but the status is %s", where, run->err.text, status_name(s));
	if (s == STATUS_COMPLETE)
		fail_msg("%s: status complete", where);
	if (how >= HOW_GONE) {
		if (s != STATUS_DEVICE_GONE)
			fail_msg("%s: status %s (%s)", where, status_name(s), run->err.text);
		if (!result_has_notice(run->res, "device-gone"))
			fail_msg("%s: no notice", where);
	} else if (result_fault_count(run->res) == 0) {
		fail_msg("%s: no fault listed", where);
	}
	b->with_errors += s == STATUS_WITH_ERRORS;
	b->gone += s == STATUS_DEVICE_GONE;
	b->failed += s == STATUS_FAILED;
	if (s == STATUS_FAILED && strlen(run->err.text) < 20)
		fail_msg("%s: failed without a sentence: '%s'", where, run->err.text);
}

/* Whether the run came as far as request nth. */
static bool one_run(struct baseline *b, enum how how, uint64_t nth)
{
	struct sim_disk *sd;
	struct sim *sim = new_sim(how, nth, &sd);
	struct seen seen = { 0 };
	struct sim_run run = {
		.sim = sim, .m = b->m, .words = b->words, .hooks = { .request = see_request, .arg = &seen }
	};
	struct disk_counters c;
	int r = sim_run(&run);
	const char *where =
		textf("%s %s, request %" PRIu64 " %s", b->m->name, b->words, nth, nth ? how_names[how] : "good");

	if (!run.res)
		fail_msg("%s: no document: %s", where, run.err.text);
	c = disk_counters(sim_model(sd));
	check_document(&run, where);
	assert_int_equal(sim_opens(sd), 0);
	assert_int_equal(disk_in_flight(sim_model(sd)), 0);
	b->runs++;
	if (nth == 0) {
		if (r < 0)
			fail_msg("%s: %s", where, run.err.text);
		b->requests = c.requests;
		b->elapsed_ns = sim_elapsed_ns(sim);
		assert_int_equal(result_fault_count(run.res), 0);
	} else if (c.requests >= nth && how != HOW_GONE && seen.requests == c.requests && seen.bad == 0) {
		/* A flush moves nothing, and one sector cannot come short of one: nothing went wrong. (The last request
		 * may be a flush.) */
		assert_true(how == HOW_SHORT || how == HOW_ZERO || (how == HOW_GONE_ZERO && c.requests == nth));
		assert_int_equal(run.res->status, STATUS_COMPLETE);
		b->harmless++;
	} else if (c.requests >= nth) {
		check_fault(&run, how, b, where);
		/* A fault may be looked at more closely, but not for ever; a lost disk is not asked again and again. */
		if (c.requests > b->requests * 2 + 2000 || (how >= HOW_GONE && c.requests > nth + 300))
			fail_msg("%s: %" PRIu64 " requests", where, c.requests);
		if (sim_elapsed_ns(sim) > 3 * b->elapsed_ns + 300 * NS_PER_S)
			fail_msg("%s: %.0f s", where, (double)sim_elapsed_ns(sim) * 1e-9);
	}
	sim_run_end(&run);
	return nth == 0 || c.requests >= nth;
}

/* The i-th request that goes wrong, of those that there are without a fault: in one way of four, by turns. */
static bool is_left_out(const struct baseline *b, unsigned i, unsigned how, uint64_t nth)
{
	return !getenv("PLATTER_LONG") && i >= 2 && nth <= b->requests && (i + how) % 4 != 0;
}

static void loop(const struct measure *m, const char *words)
{
	struct baseline b = { .m = m, .words = words };
	bool takes_all;

	(void)one_run(&b, HOW_EIO, 0);
	takes_all = getenv("PLATTER_LONG") || b.requests <= 64;
	for (unsigned how = 0; b.requests && how < HOWS; how++) {
		uint64_t nth = 1;

		for (unsigned i = 0; is_left_out(&b, i, how, nth) || one_run(&b, (enum how)how, nth); i++)
			nth += takes_all || nth < 16 ? 1 : nth / 2 + 1;
	}
	print_message("%s %s: %" PRIu64 " requests, %u with errors, %u gone, %u failed, %u harmless\n", m->name, words,
	              b.requests, b.with_errors, b.gone, b.failed, b.harmless);
	print_message(
		"fault-count: faults-%s %u a valid document each time, which reports it; no rate above the interface\n",
		m->name, b.runs);
}

/* Whether it measures devices; and files of the kernel are not simulated. */
static bool takes_device(const struct measure *m)
{
	return strstr(m->targets, "DEVICE") && strcmp(m->group, GROUP_DEVICE) != 0 && strcmp(m->name, "mark") != 0 &&
	       strcmp(m->name, "passes") != 0;
}

static void every_fault_is_reported_and_none_is_hidden(const char *name)
{
	for (size_t i = 0; measures[i]; i++) {
		bool is_small = false;

		if (name ? strcmp(measures[i]->name, name) != 0 : false)
			continue;
		for (size_t k = 0; k < ARRAY_LEN(small); k++) {
			if (strcmp(small[k].measure, measures[i]->name) == 0) {
				is_small = true;
				loop(measures[i], small[k].words);
			}
		}
		if (!is_small)
			loop(measures[i], "sda");
	}
}

TEST(every_fault_of_zones_is_reported)
{
	every_fault_is_reported_and_none_is_hidden("zones");
}

TEST(every_fault_of_seek_is_reported)
{
	every_fault_is_reported_and_none_is_hidden("seek");
}

TEST(every_fault_of_geometry_is_reported)
{
	every_fault_is_reported_and_none_is_hidden("geometry");
}

TEST(every_fault_of_stream_is_reported)
{
	every_fault_is_reported_and_none_is_hidden("stream");
}

TEST(every_fault_of_any_other_measurement_is_reported)
{
	static const char *const own[] = { "zones", "seek", "geometry", "stream" };

	for (size_t i = 0; measures[i]; i++) {
		bool is_done = false;

		for (size_t k = 0; k < ARRAY_LEN(own); k++)
			is_done = is_done || strcmp(own[k], measures[i]->name) == 0;
		if (!is_done && !measures[i]->puts_back &&
		    (takes_device(measures[i]) || strcmp(measures[i]->targets, "TARGET...") == 0))
			every_fault_is_reported_and_none_is_hidden(measures[i]->name);
	}
}
