/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Documents of many disks: whose they are, and what was found of each. Only src/report includes this. */
#pragma once

#include "report/alike.h"
#include "report/report.h"

/* The worst first. */
enum fleet_state {
	FLEET_FAILING, /* its verdict is REJECT */
	FLEET_WORSE,   /* a figure falls, or slow places grow, beyond chance */
	FLEET_WATCH,   /* something that one more run will show, or that was so from the start */
	FLEET_ODD,     /* far from the others of its model */
	FLEET_DIFFERENT,
	FLEET_BETTER,
	FLEET_GOOD,
	FLEET_FEW, /* nothing seen, in too few runs for a trend or a verdict */
	FLEET_SAME,
	FLEET_STEADY,
};
const char *fleet_state_name(enum fleet_state s);

struct fleet_finding {
	enum fleet_state state;
	const char *measurement, *figure;
	char text[160]; /* "mean_bytes_per_s falls by 9.4 % a year" */
	double chance;  /* that it is none, all looks together; NaN: it was seen, and nothing was estimated */
};

struct fleet_disk {
	const struct result **v; /* its documents, by date */
	size_t n;
	enum fleet_state state, quiet;  /* quiet: what it is when nothing was found */
	struct fleet_finding *findings; /* the worst first */
	size_t nfindings;
	struct trend_row *trends; /* a figure each, where there are runs enough; with the documents' names alone */
	size_t ntrends;
	const char *verdict; /* KEEP, DOUBT, REJECT, "not known": as of check, by its last documents */
};

struct fleet {
	struct fleet_disk *disks;     /* the worst first */
	size_t ndisks, without_row;   /* documents of several disks at once */
	const struct result **sorted; /* one disk's behind another's, each by date */
	size_t nsorted;
	double level, alarms; /* of a look, and of all together */
	size_t looks;
	struct fleet_scatter *scatter;
};

/* fleet_free() is in report.h. */

/* A row for each disk, with its documents and no finding. The documents stay the caller's. */
struct fleet *fleet_divide(const struct result *const *res, size_t n);
/* Whose document that is; NULL: of none. */
struct fleet_disk *fleet_disk_of(struct fleet *f, const struct result *res);
/* Found of it; NULL: of what has no row, which is left out. p: the chance of that look. Names are to stay. */
void fleet_find(const struct fleet *f, struct fleet_disk *d, enum fleet_state state, const char *measurement,
                const char *figure, double p, const char *fmt, ...) __attribute__((format(printf, 7, 8)));
/* The chance that any of all the looks gives what one gives with p; NaN for NaN. */
double fleet_chance(const struct fleet *f, double p);
/* Of a comparison or trend. */
enum fleet_state fleet_state_of(const char *verdict, const char *figure);
/* The worst first, of disks and of the findings of each; sets their state. */
void fleet_sort(struct fleet *f);
/*
 * Of two disks or more a comparison or trend gets a table "disks", this sentence, and other things for the first screen
 * to show: "3 of 40 disks differ from A; worse: A, B; better: C."
 */
void fleet_put_changed(struct result *out, const struct fleet *f, const char *shows);
#define FLEET_SENTENCE 512
/* The last document of a measurement that came to its end; NULL: none. skip: that many from the end. */
const struct result *fleet_last(const struct fleet_disk *d, const char *measurement, size_t skip);
/* Without one, the last check, which has measured this as well. */
const struct result *fleet_part(const struct fleet_disk *d, const char *measurement);
/* And the first. */
const struct result *fleet_first(const struct fleet_disk *d, const char *measurement);
/* How sure a finding is, as people are shown it: at most 99.99, NaN where nothing was estimated. */
double fleet_sure_percent(const struct fleet_finding *one);

/* ---- fleet.c: which of many disks go bad ---- */

/* All of it judged. threshold: as of compare. */
struct fleet *fleet_of(const struct result *const *res, size_t n, double threshold);
/* "3 of 40 disks need attention: A, B and C." buf of FLEET_SENTENCE. */
char *fleet_sentence(const struct fleet *f, char *buf);
