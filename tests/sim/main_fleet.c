/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fleet of disks over months: the documents that platter's own zones and seek, in virtual time, leave of simulated
 * disks of one model, for tests of `platter report FOLDER` and for whoever wants to see such a page. Each disk has
 * densities, speed and arm of its own within the tolerances of its model; kernel names change with every start, the
 * kernel in mid-year. Those that go bad are named on stdout. Never installed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/opt_help.h"
#include "base/rng.h"
#include "cli/cli.h"
#include "simrun.h"

extern const struct measure measure_zones, measure_seek;

enum trouble { NO_TROUBLE, SLOW_PLACES, UNREADABLE, RATE_LOSS, TROUBLES };

static const char *const trouble_names[] = { "", "slow", "unreadable", "rate" };

struct options {
	uint64_t disks, months, seed;
	bool is_healthy;
};

static const struct opt opts[] = {
	OPT_U64(struct options, disks, "disks", 'n', "N", "40", "how many", .min = 1, .max = 1000),
	OPT_U64(struct options, months, "months", 'm', "N", "12", "a run of each in each month", .min = 1, .max = 120),
	OPT_U64(struct options, seed, "seed", 's', "N", "1", "another fleet"),
	OPT_FLAG(struct options, is_healthy, "healthy", 0, "none of them goes bad"),
	OPT_END,
};

struct member {
	uint64_t number, months;
	struct rng own; /* of what the disk is made like; the same each month */
	enum trouble trouble;
	double severity; /* 0 until it begins, then growing to 1 */
};

/* Slow stretches and scratches that grow from a place of the disk's own. */
static void write_trouble(FILE *f, struct member *m)
{
	uint64_t at = 100000 + rng_below(&m->own, 400000);

	if (m->severity <= 0.0)
		return;
	if (m->trouble == SLOW_PLACES)
		(void)fprintf(f, "slow %llu %.0f 300 2\n", (unsigned long long)at, 20000 + 100000 * m->severity);
	for (uint64_t i = 0; m->trouble == UNREADABLE && i < (uint64_t)(2 + 10 * m->severity); i++)
		(void)fprintf(f, "bad %llu 8 r 20\n", (unsigned long long)(at + 2000 * i));
}

static void write_profile(FILE *f, struct member *m, uint64_t month)
{
	static const double sectors[] = { 400, 350, 300, 250 };
	struct rng *own = &m->own;
	double farther = rng_normal(own), settle = rng_normal(own), speed = rng_normal(own);

	(void)fprintf(f, "model SIMULATED 400\nserial SIM%04llu\ntransport ata\nsurfaces 4\nseed %llu\n",
	              (unsigned long long)m->number, (unsigned long long)(1000 * m->number + month));
	(void)fprintf(f, "rpm %.3f\nseek %.4f 0.06 300 %.4f 0.0015\nhead_switch_ms 0.8\ncapacity_lba 740000\n",
	              7200 * (1 + 2e-4 * speed), 0.8 * (1 + 0.02 * settle), 1.4 * (1 + 0.02 * farther));
	(void)fprintf(f, "seek_scatter 1 0.05\njitter_us 10\noutlier 0.0003 4\nretry_per_gb %.1f\n",
	              2.0 + (m->trouble == RATE_LOSS ? 700.0 * m->severity : 0.0));
	for (size_t z = 0; z < ARRAY_LEN(sectors); z++) {
		(void)fputs("zone 150", f);
		for (int s = 0; s < 4; s++)
			(void)fprintf(f, " %.0f", sectors[z] * (1 + 0.01 * rng_normal(own)));
		(void)fputc('\n', f);
	}
	write_trouble(f, m);
}

static void fail(const char *what)
{
	(void)fprintf(stderr, "platter-fleet: %s\n", what);
	exit(1);
}

/* What the host was in that month: the disk's kernel name is another one each time. */
static void set_scene(struct result *res, const struct member *m, uint64_t month)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "%04llu-%02llu-02T03:%02llu:00.000000Z",
	               (unsigned long long)(2025 + month / 12), (unsigned long long)(month % 12 + 1),
	               (unsigned long long)(m->number % 60));
	result_set(&res->head.started, text);
	result_set(&res->head.host.kernel, 2 * month < m->months ? "6.1.0-18-amd64" : "6.1.0-31-amd64");
	result_set(&res->head.host.name, "store1");
}

static void run(const struct profile *p, const struct measure *measure, const char *words, const struct member *m,
                uint64_t month, FILE *out)
{
	char all[160], name[16];
	struct sim_run run = { .sim = sim_new(), .m = measure, .words = all };
	cleanup_free char *json = NULL;

	(void)snprintf(name, sizeof(name), "sd%c%c", (char)('a' + (m->number + month) / 26 % 26),
	               (char)('a' + (m->number + month) % 26));
	(void)snprintf(all, sizeof(all), "--seed=%llu %s %s", (unsigned long long)(m->number * 100 + month + 1), words,
	               name);
	(void)sim_add_disk(run.sim, p, name);
	sim_set_contents(run.sim, false);
	if (sim_run(&run) < 0)
		fail(run.err.text);
	set_scene(run.res, m, month);
	json = result_to_json(run.res);
	if (!json || fprintf(out, "%s\n", json) < 0)
		fail("a document could not be written");
	sim_run_end(&run);
}

/* A month of a disk: the zones, and every third month the seek times. */
static void measure_month(const char *folder, const struct options *o, struct member *m, uint64_t month)
{
	cleanup_free char *text = NULL;
	char path[1024];
	struct profile p;
	struct err err = { 0 };
	size_t len;
	FILE *f = open_memstream(&text, &len);
	double begin = m->trouble == NO_TROUBLE ? 1.0 : 0.3;

	if (!f)
		fail("out of memory");
	rng_init(&m->own, o->seed, m->number);
	m->severity = ((double)(month + 1) / (double)o->months - begin) / (1.0 - begin + 1e-9);
	m->severity = fmax(m->severity, 0.0);
	write_profile(f, m, month);
	if (fclose(f) != 0 || profile_parse(&p, "fleet", text, len, &err) < 0)
		fail(err.text);
	for (int is_seek = 0; is_seek <= (month % 4 == 3); is_seek++) {
		FILE *out;

		(void)snprintf(path, sizeof(path), "%s/%s-%03llu-%02llu.json", folder, is_seek ? "seek" : "zones",
		               (unsigned long long)m->number, (unsigned long long)month + 1);
		out = fopen(path, "w");
		if (!out)
			fail(path);
		run(&p, is_seek ? &measure_seek : &measure_zones,
		    is_seek ? "--quick --without=curve,queue" : "--quick --count=16", m, month, out);
		if (fclose(out) != 0)
			fail(path);
	}
	profile_done(&p);
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	const struct opt_set sets[] = { { opts, &o } };
	struct err err = { 0 };
	struct rng rng;
	int first;

	if (opt_parse(sets, 1, argc, argv, &first, &err) < 0 || argc - first != 1) {
		(void)fprintf(stderr, "platter-fleet: %s\nUsage: platter-fleet [OPTION...] FOLDER\n", err.text);
		opt_help(stderr, opts);
		return 2;
	}
	if (mkdir(argv[first], 0777) < 0)
		fail("the folder is there, or cannot be made");
	rng_init(&rng, o.seed, 99);
	for (uint64_t i = 0, bad = o.is_healthy ? TROUBLES : 1; i < o.disks; i++) {
		struct member m = { .number = i + 1, .months = o.months };

		/* Each disk as likely as any other, and as many as there are kinds. */
		if (bad < TROUBLES && rng_below(&rng, o.disks - i) < TROUBLES - bad) {
			m.trouble = (enum trouble)bad++;
			(void)printf("SIM%04llu %s\n", (unsigned long long)m.number, trouble_names[m.trouble]);
		}
		for (uint64_t month = 0; month < o.months; month++)
			measure_month(argv[first], &o, &m, month);
	}
	opt_done(sets, 1);
	return 0;
}
