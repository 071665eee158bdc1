/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A document of `check` against a disk: what is planted and five minutes can meet is named among the reasons, and a
 * healthy disk is neither rejected nor doubted. Dying disks have their places; counters and a slow link are drawn here.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "geometry.h"
#include "wildboard.h"

#define MET_LEAST 5.0 /* places that lie in a region, on average: without any of 148 */

/* ---- what is planted ---- */

static const struct sign {
	const char *rule; /* that names it */
	double chance;    /* on a dying disk */
	size_t offset;    /* in struct device_health */
} signs[] = {
	{ "selftest", 0.1, offsetof(struct device_health, selftests_failed) },
	{ "reported", 0.2, offsetof(struct device_health, media_errors) },
	{ "uncorrectable", 0.1, offsetof(struct device_health, uncorrectable) },
	{ "reallocated", 0.3, offsetof(struct device_health, reallocated) },
	{ "timeouts", 0.15, offsetof(struct device_health, timeouts) },
	{ "pending", 0.5, offsetof(struct device_health, pending) }, /* the last: with places, where there are some */
};
#define NSIGNS (sizeof(signs) / sizeof(signs[0]))

struct planted {
	uint64_t count[NSIGNS];
	bool is_failing, is_link_slow;
};

static bool is_dying(const struct profile *p)
{
	return strncmp(p->name, "wild-dying-", 11) == 0;
}

static struct planted planted_on(const struct profile *p)
{
	struct planted ret = { .is_failing = false };
	struct rng r;

	rng_init(&r, p->seed, 0xc4ec);
	for (size_t i = 0; i < NSIGNS; i++) {
		bool is_there = rng_double(&r) < signs[i].chance;
		uint64_t n = 1 + rng_below(&r, 40);

		ret.count[i] = is_there && is_dying(p) && (i + 1 < NSIGNS || p->media.nbads) ? n : 0;
	}
	ret.is_failing = is_dying(p) && rng_double(&r) < 0.1;
	ret.is_link_slow = is_dying(p) && rng_double(&r) < 0.1;
	return ret;
}

void wild_check_plant(struct sim_disk *sd, const struct profile *p)
{
	struct device_health *h = sim_health(sd);
	struct planted what = planted_on(p);
	struct device *dev = sim_device(sd);

	h->passed = !what.is_failing;
	h->celsius = 31.0;
	h->power_on_hours = 12345;
	h->crc_errors = 3;
	for (size_t i = 0; i < NSIGNS; i++)
		*(uint64_t *)((char *)h + signs[i].offset) = what.count[i];
	if (what.count[NSIGNS - 1]) /* the drive knows one of them */
		h->suspects[h->nsuspects++] = p->media.bads[0].lba * p->logical_sector_bytes;
	(void)snprintf(dev->way.link, sizeof(dev->way.link), "SATA 6.0 Gbps");
	dev->way.link_max_bytes_per_s = 600000000;
	dev->way.link_bytes_per_s = what.is_link_slow ? 150000000 : 600000000;
}

/* ---- what the document says ---- */

/* What a reason says; NULL: there is no such one. */
static const char *reason_of(const json_t *doc, const char *rule)
{
	for (struct wild_row row = wild_begin(doc, "reasons"); wild_next(&row);) {
		const char *name = wild_word(&row, "rule");

		if (name && strcmp(name, rule) == 0)
			return wild_word(&row, "what");
	}
	return NULL;
}

static bool has_reason(const json_t *doc, const char *rule)
{
	return reason_of(doc, rule) != NULL;
}

/* The number that it begins with; NaN: there is no such reason. */
static double number_of(const json_t *doc, const char *rule)
{
	const char *text = reason_of(doc, rule);

	return text ? strtod(text, NULL) : (double)NAN;
}

static void reasons_text(const json_t *doc, char *buf, size_t len)
{
	buf[0] = '\0';
	for (struct wild_row row = wild_begin(doc, "reasons"); wild_next(&row);) {
		size_t used = strlen(buf);

		(void)snprintf(buf + used, len - used, "%s%s", used ? ", " : "", wild_word(&row, "rule"));
	}
}

/* Counts are as the drive reports them; of places and regions there are no more than exist. */
static void numbers(const struct wild_case *c, json_t *lies)
{
	struct planted what = planted_on(c->p);
	double most[] = { 0, 0 }, n;
	static const char *const found[] = { "unreadable", "slow" };

	for (size_t i = 0; i < NSIGNS; i++) {
		n = number_of(c->doc, signs[i].rule);
		if (isfinite(n) && n != (double)what.count[i])
			wild_say(lies, "number", "%s: %g, and there are %g", signs[i].rule, n, (double)what.count[i]);
	}
	for (size_t i = 0; i < c->p->media.nbads; i++)
		most[0] += (double)c->p->media.bads[i].count;
	most[1] = (double)c->p->media.nslows;
	for (size_t i = 0; i < 2; i++) {
		n = number_of(c->doc, found[i]);
		if (n > most[i])
			wild_say(lies, "number", "%s: %g, and there are %g at most", found[i], n, most[i]);
	}
}

/* The share of places with anything in them that cannot be read, or that is slow as well. */
static double share_of_places(const struct wild_case *c, double place_bytes, bool is_slow_too)
{
	double sector = c->p->logical_sector_bytes, size = (double)geometry_bytes(c->g), sum = 0.0, to = 0.0;
	size_t b = 0, s = 0, slows = is_slow_too ? c->p->media.nslows : 0;

	while (b < c->p->media.nbads || s < slows) { /* both lists are in order */
		bool is_bad =
			b < c->p->media.nbads && (s == slows || c->p->media.bads[b].lba <= c->p->media.slows[s].lba);
		double first = (double)(is_bad ? c->p->media.bads[b].lba : c->p->media.slows[s].lba) * sector;
		double end = first + (double)(is_bad ? c->p->media.bads[b].count : c->p->media.slows[s].count) * sector;
		double from = fmax(first - place_bytes, to);

		sum += fmax(0.0, fmin(end, size) - from);
		to = fmax(to, end);
		b += is_bad;
		s += !is_bad;
	}
	return fmin(1.0, sum / size);
}

/* The bound of the last lines, or the share: at least what cannot be read lies within it, at most all that is slow,
 * too. */
static void add_share(const struct wild_case *c, json_t *figures)
{
	const json_t *all = json_object_get(c->doc, "figures");
	double place = wild_number(all, "scanned_bytes") / wild_number(all, "sampled_places");

	if (place > 0.0 && isfinite(wild_number(all, "bad_places_ratio")))
		wild_add_figure(figures, c->doc, "bad_places_ratio",
		                (struct interval){ share_of_places(c, place, false), share_of_places(c, place, true) },
		                WILD_PLAIN);
}

struct faults {
	json_t *list; /* {"kind", "named"} */
	json_t *missed;
	size_t n;
};

static void fault(struct faults *f, const char *kind, bool is_named, const char *text)
{
	f->n++;
	(void)json_array_append_new(f->list, json_pack("{s:s,s:b}", "kind", kind, "named", is_named));
	if (!is_named)
		wild_say(f->missed, kind, "%s", text);
}

/* Weak regions by how many of the places that were read lie in them on average. */
static void regions(const struct wild_case *c, struct faults *f)
{
	double n = wild_number(json_object_get(c->doc, "figures"), "sampled_places");
	bool is_named = has_reason(c->doc, "weak") || has_reason(c->doc, "slow");
	double most = 0.0;
	char text[120];

	for (size_t i = 0; i < c->p->media.nslows; i++)
		most += n * (double)c->p->media.slows[i].count / (double)c->p->capacity_lba;
	(void)snprintf(text, sizeof(text), "%zu regions, %.1f of %.0f places in them", c->p->media.nslows, most, n);
	if (most >= MET_LEAST)
		fault(f, "weak region", is_named, text);
	else if (c->p->media.nslows)
		(void)json_array_append_new(f->list, json_pack("{s:s,s:b}", "kind", "weak region, hardly met", "named",
		                                               is_named));
}

static void counters(const struct wild_case *c, struct faults *f)
{
	struct planted what = planted_on(c->p);

	for (size_t i = 0; i < NSIGNS; i++)
		if (what.count[i])
			fault(f, signs[i].rule, has_reason(c->doc, signs[i].rule), "not among the reasons");
	if (what.is_failing)
		fault(f, "failing", has_reason(c->doc, "failing"), "not among the reasons");
	if (what.is_link_slow)
		fault(f, "link", has_reason(c->doc, "link"), "not among the reasons");
	if (what.count[NSIGNS - 1])
		fault(f, "unreadable place that the drive knows", has_reason(c->doc, "unreadable"), "was not read");
	else if (c->p->media.nbads)
		(void)json_array_append_new(f->list, json_pack("{s:s,s:b}", "kind", "unreadable places, hardly met",
		                                               "named", has_reason(c->doc, "unreadable")));
}

static void healthy(const struct wild_case *c, json_t *lies, json_t *list)
{
	double level = wild_number(json_object_get(c->doc, "figures"), "verdict_level");
	char text[300];

	reasons_text(c->doc, text, sizeof(text));
	(void)json_array_append_new(list, json_pack("{s:s,s:b}", "kind", "healthy, doubted", "named", level == 1.0));
	(void)json_array_append_new(list, json_pack("{s:s,s:b}", "kind", "healthy, rejected", "named", level == 2.0));
	if (level != 0.0)
		wild_say(lies, level == 2.0 ? "rejected" : "doubted", "healthy, but: %s", text);
}

json_t *wild_check(const struct wild_case *c)
{
	json_t *verdict = wild_judge(c), *list = json_array();
	struct faults f = { .list = list, .missed = json_object_get(verdict, "missed") };

	if (!wild_is(c, "check")) {
		json_decref(list);
		return verdict;
	}
	if (is_dying(c->p)) {
		regions(c, &f);
		counters(c, &f);
		numbers(c, json_object_get(verdict, "lies"));
		add_share(c, json_object_get(verdict, "figures"));
	} else {
		healthy(c, json_object_get(verdict, "lies"), list);
	}
	(void)json_object_set_new(verdict, "faults", list);
	(void)json_object_set_new(verdict, "planted", json_integer((json_int_t)f.n));
	return verdict;
}
