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

static uint32_t block_of(const struct profile *p)
{
	return p->limit_ops > 0 ? 4096 : 1 << 20;
}

/* Bytes a second of so many requests, the first third left out. */
static double rate_of(const struct profile *p, uint64_t n)
{
	struct disk *d = disk_new(p, 0);
	uint64_t now = 0, sent = 0, done = 0, begin = 0, block = block_of(p), blocks;
	struct disk_done back;

	if (!d)
		return (double)NAN;
	blocks = geometry_bytes(disk_geometry(d)) / block;
	while (done < n) {
		for (; sent < done + DEPTH; sent++)
			(void)disk_submit(d, now,
			                  &(struct disk_req){
						  .op = p->ntrims ? DISK_READ : DISK_WRITE,
						  .len_bytes = (uint32_t)block,
						  .offset_bytes = (p->limit_ops > 0 ? permute(sent % blocks, blocks, 1)
			                                                            : sent % blocks) *
			                                          block });
		while (disk_in_flight(d) && disk_next_done_ns(d) == DISK_NEVER)
			disk_advance(d, now = disk_next_event_ns(d));
		now = disk_next_done_ns(d);
		disk_advance(d, now);
		while (disk_pop_done(d, now, &back))
			if (++done == n / 3)
				begin = now;
	}
	disk_free(d);
	return (double)(done - n / 3) * (double)block / ((double)(now - begin) * 1e-9);
}

static double fast(const struct wild_case *c)
{
	struct profile p = *c->p;

	p.keeps.slc_bytes = p.keeps.slc_bytes ? PLENTY : 0;
	p.keeps.spare_bytes = p.keeps.spare_mbs > 0 ? PLENTY : 0;
	p.limit_bytes_per_s = p.limit_ops = 0;
	p.keeps.heat_c_per_gb = p.keeps.turbo_s = 0;
	if (c->p->limit_ops > 0)
		p.limit_ops = 1e9;
	if (p.ntrims && p.trims[0].count < p.capacity_lba / 2)
		return fmin(p.interface_bytes_per_s, DEPTH * (1 << 20) / (p.trimmed_us * 1e-6));
	return rate_of(&p, c->p->limit_ops > 0 ? 20 * REQUESTS : REQUESTS); /* what a credit is worth hangs on it */
}

static double slow(const struct wild_case *c)
{
	struct profile p = *c->p;
	uint64_t n = REQUESTS;

	p.keeps.slc_bytes = p.keeps.slc_bytes ? 1024 : 0;
	p.keeps.spare_bytes = 0;
	p.keeps.turbo_s = p.keeps.turbo_s > 0 ? 1e-9 : 0;
	p.limit_bytes_per_s = 0;
	p.limit_ops = p.limit_ops > 0 ? 1e9 : 0;
	if (p.ntrims)
		p.trims = &(struct profile_range){ p.capacity_lba - 8, 8 };
	if (p.keeps.hot_mbs > 0 || p.keeps.collect_bytes)
		n = 12 * REQUESTS;
	return fmin(rate_of(&p, n), c->p->limit_ops > 0           ? c->p->limit_ops * block_of(&p)
	                            : c->p->limit_bytes_per_s > 0 ? c->p->limit_bytes_per_s
	                                                          : HUGE_VAL);
}

static const char *cause_of(const struct profile *p)
{
	return p->keeps.slc_bytes || p->credit_bytes ? "bytes"
	       : p->credit_ops > 0                   ? "requests"
	       : p->keeps.hot_mbs > 0                ? "temperature"
	       : p->keeps.turbo_s > 0                ? "time"
	       : p->ntrims                           ? "place"
	       : p->keeps.spare_mbs > 0              ? "free space"
	                                             : "nothing";
}

static double amount(const struct profile *p, double r)
{
	double ops = r / block_of(p), over = p->keeps.heat_limit_c - 30;

	if (p->keeps.slc_bytes)
		return (double)p->keeps.slc_bytes;
	if (p->credit_bytes)
		return (double)p->credit_bytes * r / (r - p->limit_bytes_per_s);
	if (p->credit_ops > 0)
		return p->credit_ops * r / (ops - p->limit_ops);
	if (p->keeps.hot_mbs > 0)
		return -r * p->keeps.heat_tau_s *
		       log(1 - over / (p->keeps.heat_c_per_gb * r * 1e-9 * p->keeps.heat_tau_s));
	if (p->keeps.turbo_s > 0)
		return p->keeps.turbo_s * r;
	if (p->ntrims)
		return (double)p->trims[0].count * p->logical_sector_bytes;
	return p->keeps.spare_mbs > 0 ? (double)p->keeps.spare_bytes : (double)NAN;
}

static double minute(const struct profile *p, double r)
{
	if (p->keeps.slc_bytes)
		return 60e6 * p->keeps.fold_mbs;
	if (p->credit_bytes)
		return 60 * p->limit_bytes_per_s * r / (r - p->limit_bytes_per_s);
	if (p->keeps.turbo_s > 0)
		return 60 * p->keeps.turbo_back * r;
	return p->credit_ops > 0 ? 60 * p->limit_ops * r / (r / block_of(p) - p->limit_ops) : (double)NAN;
}

static json_t *real(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static void add(const struct wild_case *c, json_t *figures, const char *name, double truth)
{
	const json_t *ci = json_object_get(json_object_get(c->doc, "intervals"), name);
	double told = wild_number(json_object_get(c->doc, "figures"), name);

	if (isfinite(truth))
		(void)json_array_append_new(
			figures, json_pack("{s:s,s:o,s:o,s:o,s:o,s:o,s:i}", "name", name, "value", real(told), "low",
		                           real(ci ? json_number_value(json_array_get(ci, 0)) : (double)NAN), "high",
		                           real(ci ? json_number_value(json_array_get(ci, 1)) : (double)NAN),
		                           "true_low", real(truth), "true_high", real(truth), "scale", WILD_RATIO));
}

bool wild_is(const struct wild_case *c, const char *command)
{
	const char *name = json_string_value(json_object_get(json_object_get(c->doc, "head"), "measurement"));

	return name && strcmp(name, command) == 0;
}

size_t wild_sustain(const struct wild_case *c, json_t *figures, json_t *lies, json_t *missed)
{
	const char *told = json_string_value(json_object_get(json_object_get(c->doc, "figures"), "limited_by"));
	const char *cause = cause_of(c->p);
	double r;

	if (!wild_is(c, "sustain"))
		return 0;
	r = fast(c);
	if (!(slow(c) < 0.9 * r)) /* something else limits it already */
		cause = "nothing";
	r = strcmp(cause, "nothing") != 0 ? r : (double)NAN;
	add(c, figures, "burst_bytes_per_s", r);
	add(c, figures, "burst_bytes", isnan(r) ? r : amount(c->p, r));
	add(c, figures, "settled_bytes_per_s", slow(c));
	add(c, figures, "minute_of_rest_bytes", isnan(r) ? r : minute(c->p, r));
	if (!told)
		wild_say(missed, "limited_by", "%s", cause);
	else if (strcmp(told, cause) != 0)
		wild_say(lies, "limited_by", "%s told, in truth %s", told, cause);
	return 1;
}
