/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a device without mechanics does not keep its first rate up: a cache of fast cells that is folded when nobody
 * writes, room that was erased beforehand, garbage collection that stalls, heat. All of them pass one server.
 */
#include "disk.h"

#define AMBIENT_C    30.0
#define HYSTERESIS_C 3.0   /* it is fast again when it is cooler by so much */
#define IDLE_NS      0.5e9 /* shorter pauses are work, for a credit of seconds */

static void cool(struct flash *f, const struct profile_keeps *p, double t)
{
	if (p->heat_tau_s > 0 && t > f->warm_at) {
		f->celsius = AMBIENT_C + (f->celsius - AMBIENT_C) * exp(-(t - f->warm_at) * 1e-9 / p->heat_tau_s);
		f->warm_at = t;
	}
}

void flash_new(struct disk *d)
{
	d->flash.celsius = AMBIENT_C;
	d->flash.collect_at = (double)d->p.keeps.spare_bytes;
}

double disk_celsius(const struct disk *d, uint64_t now_ns)
{
	struct flash f = d->flash;

	cool(&f, &d->p.keeps, (double)(now_ns - d->start_ns));
	return d->p.keeps.heat_tau_s > 0 ? f.celsius : 0;
}

static double at_most(double rate, double mbs)
{
	return mbs > 0 ? fmin(rate, mbs) : rate;
}

/* MB/s that the cells take now. */
static double rate_now(const struct disk *d, bool is_write)
{
	const struct profile_keeps *p = &d->p.keeps;
	const struct flash *f = &d->flash;
	double rate = INFINITY;

	if (is_write && p->slc_bytes)
		rate = at_most(rate, f->cached < (double)p->slc_bytes ? p->slc_mbs : p->direct_mbs);
	if (is_write && f->written >= (double)p->spare_bytes)
		rate = at_most(rate, p->spare_mbs);
	if (p->turbo_s > 0 && f->used_s >= p->turbo_s)
		rate = at_most(rate, p->spent_mbs);
	return f->is_hot ? at_most(rate, p->hot_mbs) : rate;
}

double flash_pass(struct disk *d, double t, uint64_t bytes, bool is_write)
{
	const struct profile_keeps *p = &d->p.keeps;
	struct flash *f = &d->flash;
	double begin = fmax(f->free_at, t), idle = t - f->free_at - p->fold_idle_ms * 1e6, n = (double)bytes;

	cool(f, p, begin);
	if (p->heat_tau_s > 0)
		f->is_hot = f->celsius > p->heat_limit_c - (f->is_hot ? HYSTERESIS_C : 0);
	if (is_write && p->slc_bytes && idle > 0)
		f->cached = fmax(0, f->cached - idle * 1e-9 * p->fold_mbs * 1e6);
	if (p->turbo_s > 0 && t - f->free_at > IDLE_NS)
		f->used_s = fmax(0, f->used_s - (t - f->free_at) * 1e-9 * p->turbo_back);
	else if (p->turbo_s > 0)
		f->used_s = fmin(p->turbo_s, f->used_s + (begin - f->work_at) * 1e-9);
	f->work_at = begin;
	f->free_at = begin + n / (rate_now(d, is_write) * 1e6) * 1e9;
	f->celsius += n * 1e-9 * p->heat_c_per_gb;
	if (!is_write)
		return f->free_at;
	f->cached = fmin(f->cached + n, (double)p->slc_bytes);
	f->written += n;
	if (p->collect_bytes && f->written >= f->collect_at) {
		f->free_at += p->collect_ms * 1e6 * (0.5 + rng_double(&d->noise.rng));
		f->collect_at = f->written + (double)p->collect_bytes * (0.5 + rng_double(&d->noise.rng));
	}
	return f->free_at;
}
