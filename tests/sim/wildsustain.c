/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is true of a device that does not keep its rate up, when it is asked as tools/wild asks: the rates are those of
 * the device without what limits it, and of the device when it is spent; the rest follows from the profile.
 */
#include <math.h>
#include <string.h>

#include "load/load.h"
#include "wildboard.h"

#define DEPTH    16
#define REQUESTS 60000
#define PLENTY   (1ull << 49)
#define PIECES   16

static uint32_t block_of(const struct profile *p)
{
	return p->path.limit_ops > 0 ? 4096 : 1 << 20;
}

/* Bytes a second of n requests, behind as many that are left out; as sure as pieces of them are. */
static struct stats_estimate rate_of(const struct profile *p, uint64_t skip, uint64_t n)
{
	struct disk *d = disk_new(p, 0);
	uint64_t now = 0, sent = 0, done = 0, block = block_of(p), blocks, begin[PIECES + 1] = { 0 };
	double x, rate, squares = 0;
	struct disk_done back;
	size_t k = 0;

	if (!d)
		return (struct stats_estimate)STATS_UNKNOWN;
	blocks = geometry_bytes(disk_geometry(d)) / block;
	while (k <= PIECES) {
		for (; sent < done + DEPTH; sent++)
			(void)disk_submit(d, now,
			                  &(struct disk_req){ .op = p->media.ntrims ? DISK_READ : DISK_WRITE,
			                                      .len_bytes = (uint32_t)block,
			                                      .offset_bytes =
			                                              (p->path.limit_ops > 0
			                                                       ? permute(sent % blocks, blocks, 1)
			                                                       : sent % blocks) *
			                                              block });
		while (disk_in_flight(d) && disk_next_done_ns(d) == DISK_NEVER)
			disk_advance(d, now = disk_next_event_ns(d));
		now = disk_next_done_ns(d);
		disk_advance(d, now);
		while (disk_pop_done(d, now, &back))
			if (++done >= skip + n / PIECES * k && k <= PIECES)
				begin[k++] = now;
	}
	disk_free(d);
	rate = (double)(n / PIECES * PIECES * block) / ((double)(begin[PIECES] - begin[0]) * 1e-9);
	for (k = 0; k < PIECES; k++) {
		x = (double)(n / PIECES * block) / ((double)(begin[k + 1] - begin[k]) * 1e-9) - rate;
		squares += x * x;
	}
	return stats_about(rate, 2 * sqrt(squares / PIECES / (PIECES - 1)));
}

static struct stats_estimate fast(const struct wild_case *c)
{
	struct profile p = *c->p;

	p.keeps.slc_bytes = p.keeps.slc_bytes ? PLENTY : 0;
	p.keeps.spare_bytes = p.keeps.spare_mbs > 0 ? PLENTY : 0;
	p.path.limit_bytes_per_s = p.path.limit_ops = 0;
	p.keeps.heat_c_per_gb = p.keeps.turbo_s = 0;
	if (c->p->path.limit_ops > 0)
		p.path.limit_ops = 1e9;
	if (p.media.ntrims && p.media.trims[0].count < p.capacity_lba / 2)
		return stats_about(fmin(p.path.interface_bytes_per_s, DEPTH * (1 << 20) / (p.media.trimmed_us * 1e-6)),
		                   0);
	/* what a credit is worth hangs on it */
	return rate_of(&p, REQUESTS / 3, c->p->path.limit_ops > 0 ? 20 * REQUESTS : REQUESTS);
}

/* skip: requests of the burst. */
static struct stats_estimate slow(const struct wild_case *c, uint64_t skip)
{
	struct profile p = *c->p;
	struct profile_range none = { p.capacity_lba - 8, 8 };
	struct stats_estimate r;
	uint64_t n = REQUESTS;
	double least;

	p.keeps.slc_bytes = p.keeps.slc_bytes ? 1024 : 0;
	p.keeps.spare_bytes = 0;
	p.keeps.turbo_s = p.keeps.turbo_s > 0 ? 1e-9 : 0;
	p.path.limit_bytes_per_s = 0;
	p.path.limit_ops = p.path.limit_ops > 0 ? 1e9 : 0;
	if (p.media.ntrims)
		p.media.trims = &none;
	if (p.keeps.hot_mbs > 0 || p.keeps.collect_bytes)
		n = 12 * REQUESTS;
	r = rate_of(&p, skip + REQUESTS / 3, n);
	least = c->p->path.limit_ops > 0 ? c->p->path.limit_ops * block_of(&p) : c->p->path.limit_bytes_per_s;
	return least > 0 && least < r.value ? stats_about(least, 0) : r;
}

static const char *cause_of(const struct profile *p)
{
	return p->keeps.slc_bytes || p->path.credit_bytes ? "bytes"
	       : p->path.credit_ops > 0                   ? "requests"
	       : p->keeps.hot_mbs > 0                     ? "temperature"
	       : p->keeps.turbo_s > 0                     ? "time"
	       : p->media.ntrims                          ? "place"
	       : p->keeps.spare_mbs > 0                   ? "free space"
	                                                  : "nothing";
}

static double amount(const struct profile *p, double r)
{
	double ops = r / block_of(p), over = p->keeps.heat_limit_c - 30;

	if (isnan(r)) /* there is no burst */
		return r;
	if (p->keeps.slc_bytes)
		return (double)p->keeps.slc_bytes;
	if (p->path.credit_bytes)
		return (double)p->path.credit_bytes * r / (r - p->path.limit_bytes_per_s);
	if (p->path.credit_ops > 0)
		return p->path.credit_ops * r / (ops - p->path.limit_ops);
	if (p->keeps.hot_mbs > 0)
		return -r * p->keeps.heat_tau_s *
		       log(1 - over / (p->keeps.heat_c_per_gb * r * 1e-9 * p->keeps.heat_tau_s));
	if (p->keeps.turbo_s > 0)
		return p->keeps.turbo_s * r;
	if (p->media.ntrims)
		return (double)p->media.trims[0].count * p->logical_sector_bytes;
	return p->keeps.spare_mbs > 0 ? (double)p->keeps.spare_bytes : (double)NAN;
}

static double minute(const struct profile *p, double r)
{
	if (isnan(r))
		return r;
	if (p->keeps.slc_bytes)
		return 60e6 * p->keeps.fold_mbs;
	if (p->path.credit_bytes)
		return 60 * p->path.limit_bytes_per_s * r / (r - p->path.limit_bytes_per_s);
	if (p->keeps.turbo_s > 0)
		return 60 * p->keeps.turbo_back * r;
	return p->path.credit_ops > 0 ? 60 * p->path.limit_ops * r / (r / block_of(p) - p->path.limit_ops)
	                              : (double)NAN;
}

static void add(const struct wild_case *c, json_t *figures, const char *name, struct stats_estimate truth)
{
	struct interval range = { fmin(truth.ci.low, truth.ci.high), fmax(truth.ci.low, truth.ci.high) };

	if (isfinite(truth.value))
		wild_add_figure(figures, c->doc, name, range, WILD_RATIO);
}

/* What follows from a rate that is known that well. */
static struct stats_estimate from(const struct profile *p, const struct stats_estimate *r,
                                  double (*of)(const struct profile *, double))
{
	return (struct stats_estimate){ of(p, r->value), { of(p, r->ci.low), of(p, r->ci.high) } };
}

size_t wild_sustain(const struct wild_case *c, json_t *figures, json_t *lies, json_t *missed)
{
	const char *reported = wild_figure_word(c->doc, "limited_by");
	const char *cause = cause_of(c->p);
	struct stats_estimate r, last;

	if (!wild_is(c, "sustain"))
		return 0;
	r = fast(c);
	last = slow(c, c->p->keeps.hot_mbs > 0 ? (uint64_t)(1.2 * amount(c->p, r.value) / block_of(c->p)) : 0);
	if (!(last.value < 0.9 * r.value)) { /* something else limits it already */
		cause = "nothing";
		r = (struct stats_estimate)STATS_UNKNOWN;
	}
	add(c, figures, "burst_bytes_per_s", r);
	add(c, figures, "burst_bytes", from(c->p, &r, amount));
	add(c, figures, "settled_bytes_per_s", last);
	add(c, figures, "minute_of_rest_bytes", from(c->p, &r, minute));
	if (!reported)
		wild_say(missed, "limited_by", "%s", cause);
	else if (strcmp(reported, cause) != 0)
		wild_say(lies, "limited_by", "%s reported, in truth %s", reported, cause);
	return 1;
}
