/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is between host and disk: limits of bytes and requests, as rented storage has them, and others that share them.
 */
#include "disk.h"

bool path_is_on(const struct disk *d, uint64_t what, double on_s, double off_s, double t)
{
	double cycle = (on_s + off_s) * 1e9, k = floor(t / cycle), at = t / cycle - k;
	double u = (double)(rng_mix(rng_mix(d->p.seed ^ what) ^ (uint64_t)k) >> 11) * 0x1p-53;
	double on = on_s * 1e9 / cycle, start = (1 - on) * u;

	return at >= start && at < start + on;
}

/* Others take their share of the limits while they are on. */
static double rate_at(const struct disk *d, double t, double limit)
{
	return d->p.path.other_share > 0 && path_is_on(d, 0x07e5, d->p.path.other_on_s, d->p.path.other_off_s, t)
	               ? limit * (1 - d->p.path.other_share)
	               : limit;
}

/* A token bucket: when so much may pass that asks at t. Its rate is the one of when it asks. */
static double pay(struct disk *d, double t, double what, double limit_per_s, double most, double *credit,
                  double *credit_at)
{
	double rate = rate_at(d, t, limit_per_s) / 1e9, wait;

	*credit = fmin(most, *credit + (t - *credit_at) * rate) - what;
	wait = *credit < 0.0 ? -*credit / rate : 0.0;
	*credit = fmax(*credit, 0.0);
	*credit_at = t + wait;
	return t + wait;
}

double path_bytes(struct disk *d, double t, uint64_t bytes)
{
	if (!(d->p.path.limit_bytes_per_s / 1e9 > 0.0))
		return t;
	return pay(d, t, (double)bytes, d->p.path.limit_bytes_per_s, (double)d->p.path.credit_bytes, &d->path.credit,
	           &d->path.credit_at);
}

double path_request(struct disk *d, double t)
{
	if (!(d->p.path.limit_ops > 0))
		return t;
	return pay(d, fmax(t, d->path.ops_credit_at), 1, d->p.path.limit_ops, fmax(d->p.path.credit_ops, 1),
	           &d->path.ops_credit, &d->path.ops_credit_at);
}
