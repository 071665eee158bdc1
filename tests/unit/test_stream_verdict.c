/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `stream` says of a rate, for ever, not, or that it cannot tell, on random arrays in virtual time: 1 to 4 disks
 * of one zone, alike or not, in turn or in balance, read or written, with write caches and without, with retries and
 * late answers; .7 to 1.3 of what they carry, rings of 1 s to 60 s, runs of 5 s to 120 s. What they carry comes from a
 * run at full speed; where that is too close to call, a run of an hour decides. PLATTER_LONG=1: 300 arrays, and what
 * could not be judged is run once more for as long as was said. PLATTER_ARRAYS=1001-1060: these, and of each that got
 * an answer the hour is run.
 */
#include "test.h"

#include "ran.h"

extern const struct measure measure_stream;

#define ARRAYS_QUICK 24
#define ARRAYS_LONG  300
#define HOUR_S       3600.0
#define CLOSE        0.01 /* nearer to what they carry an hour's run decides */
#define SLOWER       40
#define LARGER       4
#define BLOCK        65536
#define NEED_MOST_S  900.0 /* of a run that is done again: longer takes too long here */

struct array {
	unsigned ndisks;
	bool writes, in_turn;
	struct profile p[4];
	double part, ring_s, time_s;
	double carries; /* bytes/s */
};

static void draw_disk(struct profile *p, struct rng *rng, const char *name)
{
	MUST(profile_load(p, textf("%s/%s.disk", SIMDISK_PROFILES, name), &err));
	/*
	 * As fast everywhere, and large: an hour's run stays in "this zone", and no disk of several is full before. And
	 * slow, for rings of a minute are really allocated.
	 */
	for (size_t i = p->nzones; i-- > 0;) {
		p->zones[i].cylinders *= LARGER;
		for (size_t k = 0; k < PROFILE_SURFACES_MAX; k++)
			p->zones[i].spt[k] = (p->zones[0].spt[k] + SLOWER - 1) / SLOWER;
	}
	p->capacity_lba = 0;
	p->seed = rng_u64(rng);
	p->wcache.bytes /= SLOWER;
	p->wcache.is_on = (uint32_t)rng_below(rng, 2);
	p->noise.retry_per_gb = rng_below(rng, 2) ? 20.0 * rng_double(rng) : 0.0;
	p->noise.jitter_us = rng_below(rng, 2) ? 300.0 * rng_double(rng) : 0.0;
	p->noise.outlier_p = rng_below(rng, 3) ? 0.0 : 0.002;
	p->noise.outlier_ms = 20.0;
	MUST(profile_finish(p, &err));
}

static void draw(struct array *a, uint64_t seed)
{
	static const char *const names[] = { "modern-4tb", "toshiba-x300", "samsung-hd103sj", "ibm-deskstar-60gxp" };
	struct rng rng;
	size_t first;

	rng_init(&rng, seed, 11);
	memset(a, 0, sizeof(*a));
	a->ndisks = 1 + (unsigned)rng_below(&rng, 4);
	a->writes = rng_below(&rng, 2);
	a->in_turn = rng_below(&rng, 3) == 0;
	a->part = 0.7 + 0.6 * rng_double(&rng);
	a->ring_s = exp(log(60.0) * rng_double(&rng));
	a->time_s = 5.0 * exp(log(24.0) * rng_double(&rng));
	first = rng_below(&rng, 4);
	for (unsigned i = 0; i < a->ndisks; i++) {
		draw_disk(&a->p[i], &rng, names[i && rng_below(&rng, 3) == 0 ? rng_below(&rng, 4) : first]);
		(void)snprintf(a->p[i].reported.serial, sizeof(a->p[i].reported.serial), "STREAM%04u", i);
	}
}

/* rate 0: at full speed. */
static struct sim_run play(const struct array *a, double rate, double time_s)
{
	static const char *const names[] = { "sda", "sdb", "sdc", "sdd" };
	struct sim_run run = { .sim = sim_new(), .m = &measure_stream };
	char words[512];
	int n;

	n = snprintf(words, sizeof(words), "%s %s --time=%.3fs --block=64KiB", a->writes ? "--write" : "--read",
	             a->in_turn ? "--layout=roundrobin" : "", time_s);
	if (rate > 0.0)
		n += snprintf(words + n, sizeof(words) - (size_t)n, " --rate=%.0fB --buffer=%.0f", rate,
		              fmax(rate * a->ring_s, 16.0 * BLOCK));
	for (unsigned i = 0; i < a->ndisks; i++) {
		(void)sim_add_disk(run.sim, &a->p[i], names[i]);
		if (a->writes)
			n += snprintf(words + n, sizeof(words) - (size_t)n, " --destroy-data=%s",
			              a->p[i].reported.serial);
	}
	for (unsigned i = 0; i < a->ndisks; i++)
		n += snprintf(words + n, sizeof(words) - (size_t)n, " %s", names[i]);
	sim_set_contents(run.sim, false);
	run.words = words;
	MUST_RUN(run);
	run.words = NULL;
	return run;
}

/* Of a run at full speed, when caches are full. */
static double carries(const struct array *a)
{
	cleanup_run struct sim_run run = play(a, 0.0, 60.0);
	const struct table *t = result_find_table(run.res, "timeline");
	size_t column = (size_t)table_column(t, "rate_bytes_per_s"), from = t->nrows / 3;
	double sum = 0.0;

	for (size_t i = from; i < t->nrows; i++)
		sum += table_number(t, i, column);
	sum /= (double)(t->nrows - from);
	return sum;
}

struct score {
	unsigned yes, no, open, false_yes, false_no, again, still_open, hours;
	bool runs_hours;
};

/* Whether the ring fills within an hour. */
static bool is_refuted(const struct array *a, struct score *score)
{
	cleanup_run struct sim_run run = { 0 };
	bool refuted;

	if (!score->runs_hours && (a->part < 1.0 - CLOSE || a->part > 1.0 + CLOSE))
		return (1.0 - 1.0 / a->part) * HOUR_S > a->ring_s;
	run = play(a, a->part * a->carries, HOUR_S);
	refuted = sim_figure(&run, "overflows") > 0.0;
	score->hours++;
	return refuted;
}

static void judge(const struct array *a, uint64_t seed, bool is_long, struct score *score)
{
	double rate = a->part * a->carries;
	cleanup_run struct sim_run run = play(a, rate, a->time_s);
	double sustained = sim_figure(&run, "sustained"), need_s = sim_figure(&run, "needed_time_s");
	const char *text = text_of(run.res, "verdict");
	bool is_close = fabs(a->part - 1.0) <= CLOSE, is_wrong = false;

	assert_true(run.res->verdict_is_no == (sustained == 0.0));
	assert_true(run.res->verdict_is_open == isnan(sustained));
	if (sustained == 1.0) {
		score->yes++;
		is_wrong = (is_long || !is_close) && is_refuted(a, score);
		score->false_yes += is_wrong;
	} else if (sustained == 0.0) {
		score->no++;
		is_wrong = score->runs_hours ? !is_refuted(a, score) : a->part < 1.0 - CLOSE;
		score->false_no += is_wrong;
	} else {
		score->open++;
		assert_true(need_s > a->time_s);
		if (is_long && need_s <= NEED_MOST_S) {
			cleanup_run struct sim_run again = play(a, rate, need_s);

			score->again++;
			score->still_open += isnan(sim_figure(&again, "sustained"));
		}
	}
	if (is_wrong || (isnan(sustained) && is_long))
		print_message("array %u, %.4f of what %u disks carry (%s%s), ring %.1f s, %.0f s: %s\n", (unsigned)seed,
		              a->part, a->ndisks, a->writes ? "written" : "read", a->in_turn ? ", in turn" : "",
		              a->ring_s, a->time_s, text);
}

TEST(no_rate_is_called_sustained_that_an_hour_refutes_and_few_are_left_open)
{
	const char *which = getenv("PLATTER_ARRAYS");
	bool is_long = which || getenv("PLATTER_LONG");
	unsigned first = 1, last = is_long ? ARRAYS_LONG : ARRAYS_QUICK, n;
	struct score score = { .runs_hours = which != NULL };

	if (which)
		assert_int_equal(sscanf(which, "%u-%u", &first, &last), 2);
	n = last - first + 1;
	for (uint64_t seed = first; seed <= last; seed++) {
		struct array a;

		draw(&a, seed);
		a.carries = carries(&a);
		judge(&a, seed, is_long, &score);
		for (unsigned i = 0; i < a.ndisks; i++)
			profile_done(&a.p[i]);
	}
	if (is_long)
		print_message("%u arrays: yes %u (false %u), no %u (false %u), open %u; %u for as long as was said: %u "
		              "still open; %u hours\n",
		              n, score.yes, score.false_yes, score.no, score.false_no, score.open, score.again,
		              score.still_open, score.hours);
	assert_int_equal(score.false_yes, 0);
	assert_int_equal(score.false_no, 0);
	assert_true(20 * score.still_open <= n);
	assert_true(5 * score.open <= n);
}

TEST(a_rate_that_could_not_be_judged_is_not_refuted)
{
	cleanup_run struct sim_run run = ran(&measure_stream, "tiny", "--read --find sda");
	const struct table *t = result_find_table(run.res, "tries");
	size_t answers[2] = { 0 };
	const struct figure *most;

	for (size_t i = 0; t && i < t->nrows; i++) {
		const char *held = table_string(t, i, (size_t)table_column(t, "held"));

		answers[strcmp(held, "yes") == 0] += strcmp(held, "no") != 0;
	}
	assert_true(answers[0] && answers[1]);
	assert_true(result_has_notice(run.res, "open-above"));
	most = result_find_figure(run.res, "max_rate_bytes_per_s");
	/* Up to what the disk carries on the average, since it is played to its end; the end of the range is not where
	 * it could not be judged. */
	assert_true(figure_number(most) < 17.9e6 && most->ci.high > 17e6);
}
