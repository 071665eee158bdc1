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

	p.slc_bytes = p.slc_bytes ? PLENTY : 0;
	p.spare_bytes = p.spare_mbs > 0 ? PLENTY : 0;
	p.limit_bytes_per_s = p.limit_ops = 0;
	p.heat_c_per_gb = 0;
	if (c->p->limit_ops > 0)
		p.limit_ops = 1e9;
	if (p.ntrims && p.trims[0].count < p.capacity_lba / 2)
		return fmin(p.interface_bytes_per_s, DEPTH * (1 << 20) / (p.trimmed_us * 1e-6));
	return rate_of(&p, REQUESTS);
}

static double slow(const struct wild_case *c)
{
	struct profile p = *c->p;
	uint64_t n = REQUESTS;

	p.slc_bytes = p.slc_bytes ? 1024 : 0;
	p.spare_bytes = 0;
	p.credit_bytes = p.credit_bytes ? 8 << 20 : 0;
	p.credit_ops = 1;
	if (p.ntrims)
		p.trims = &(struct profile_range){ p.capacity_lba - 8, 8 };
	if (p.hot_mbs > 0 || p.collect_bytes)
		n = 12 * REQUESTS;
	return rate_of(&p, n);
}

const char *wild_sustain_cause(const struct profile *p)
{
	return p->slc_bytes || p->credit_bytes ? "bytes"
	       : p->credit_ops > 0             ? "requests"
	       : p->hot_mbs > 0                ? "temperature"
	       : p->ntrims                     ? "place"
	       : p->spare_mbs > 0              ? "free space"
	                                       : "nothing";
}

static struct interval exactly(double x)
{
	return (struct interval){ x, x };
}

static bool has_burst(const struct wild_case *c)
{
	return strcmp(wild_sustain_cause(c->p), "nothing") != 0;
}

struct interval wild_burst_rate(const struct wild_case *c)
{
	return exactly(has_burst(c) ? fast(c) : (double)NAN);
}

struct interval wild_settled_rate(const struct wild_case *c)
{
	return exactly(slow(c));
}

struct interval wild_burst_bytes(const struct wild_case *c)
{
	const struct profile *p = c->p;
	double r = has_burst(c) ? fast(c) : (double)NAN, ops = r / block_of(p);

	if (p->slc_bytes)
		return exactly((double)p->slc_bytes);
	if (p->credit_bytes)
		return exactly((double)p->credit_bytes * r / (r - p->limit_bytes_per_s));
	if (p->credit_ops > 0)
		return exactly(p->credit_ops * r / (ops - p->limit_ops) * ops / r * block_of(p));
	if (p->hot_mbs > 0)
		return exactly(-r * p->heat_tau_s *
		               log(1 - (p->heat_limit_c - 30) / (p->heat_c_per_gb * r * 1e-9 * p->heat_tau_s)));
	if (p->ntrims)
		return exactly((double)p->trims[0].count * p->logical_sector_bytes);
	return exactly(p->spare_mbs > 0 ? (double)p->spare_bytes : (double)NAN);
}

struct interval wild_minute_bytes(const struct wild_case *c)
{
	const struct profile *p = c->p;
	double r = has_burst(c) ? fast(c) : (double)NAN, ops = r / block_of(p);

	if (p->slc_bytes)
		return exactly(60e6 * p->fold_mbs);
	if (p->credit_bytes)
		return exactly(60 * p->limit_bytes_per_s * r / (r - p->limit_bytes_per_s));
	return exactly(p->credit_ops > 0 ? 60 * p->limit_ops * r / (ops - p->limit_ops) : (double)NAN);
}
