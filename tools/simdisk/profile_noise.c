/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The noise of real drives, in levels. Measured on them: one request repeated scatters by 17 us with 5.5 % beyond three
 * and 1.5 % beyond five deviations; completions on a SCSI drive by 22 us; seeks by 22 us over a few cylinders, 43 up to
 * 1000, 67 beyond; 0.15 % of requests come a revolution late on a quiet machine, 0.4 to 1.9 % in most traces of
 * drives, 6.6 % in one, and 2.4 %, by up to six revolutions, on a machine at work; tracks begin 4 to 12 us from where
 * they should, and 5.5 % of them elsewhere for slipped defects; one request in some thousands stands for a third of a
 * second.
 */
#include <math.h>

#include "draw.h"
#include "wild.h"

const char *const wild_noise_names[] = { "none", "mild", "real", "live", NULL };

static void quiet(struct profile *p)
{
	p->noise.jitter_us = p->noise.outlier_p = p->noise.outlier_ms = 0;
	p->seek.nscatters = 0;
	p->seek.head_scatter = p->ctl.overhead_scatter = p->ctl.hit_scatter = p->ctl.done_scatter =
		(struct scatter){ 0 };
	p->ctl.done_ms = (double)NAN;
	p->noise.miss_short_p = p->noise.miss_long_p = p->noise.miss_again_p = 0;
	p->noise.miss_cylinders = 0;
	p->noise.freeze_p = p->noise.freeze_min_ms = p->noise.freeze_max_ms = 0;
	p->media.skew_sd_us = p->media.skew_far_p = p->media.skew_far = 0;
	p->spindle.drift = 0;
	p->noise.unrest_sigma = 0;
	p->path.busy_on_s = p->path.busy_off_s = p->path.busy_p = p->path.busy_ms = 0;
}

/* Of so many microseconds and more, with tails in proportion to the core. */
static struct scatter core_and_tails(struct rng *r, double us)
{
	return (struct scatter){ .sd_ms = us * 1e-3,
		                 .tail_p = between(r, 0.03, 0.12),
		                 .tail_ms = us * 1e-3 * between(r, 1.5, 4) };
}

static int scatter_seeks(struct rng *r, struct profile *p, double part)
{
	static const struct {
		uint32_t cylinders;
		double us;
	} measured[] = { { 1, 22 }, { 20, 43 }, { 1000, 67 } };
	double most = between(r, 0.6, 1.4) * part;

	for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++) {
		struct profile_seek_scatter s = { .cylinders = measured[i].cylinders,
			                          .scatter = { .sd_ms = measured[i].us * 1e-3 * most,
			                                       .tail_p = between(r, 0, 0.06) * part,
			                                       .tail_ms = measured[i].us * 1e-3 * most * 2 } };
		int error = profile_add_seek_scatter(p, &s);

		if (error < 0)
			return error;
	}
	return 0;
}

/* A few tenths of a per cent of the accesses, or a few per cent, come late; long moves more often. */
static void miss(struct rng *r, struct profile *p, double low, double high, double again)
{
	p->noise.miss_long_p = log_between(r, low, high);
	p->noise.miss_short_p = p->noise.miss_long_p * between(r, 0.1, 1);
	p->noise.miss_again_p = again;
	p->noise.miss_cylinders = 1 + (uint32_t)log_between(r, 10, 1000);
}

static void tracks_differ(struct rng *r, struct profile *p)
{
	p->media.skew_sd_us = between(r, 2, 12);
	if (chance(r, 0.5)) {
		p->media.skew_far_p = log_between(r, 0.0005, 0.055);
		p->media.skew_far = between(r, 0.02, 0.3);
	}
}

/*
 * A machine at work: bursts in which answers are late, and rates whose noise does not fall with the length of a
 * measurement (0.3 % of 64 MiB as of 256, while 4 % of the blocks of 4 MiB lose a revolution). From a stream of its
 * own, so that all else is as it was before there was any of it.
 */
static void is_restless(struct profile *p)
{
	struct rng own;

	rng_init(&own, p->seed, 0xb057);
	p->path.busy_on_s = log_between(&own, 0.05, 3);
	p->path.busy_off_s = log_between(&own, 0.5, 30);
	p->path.busy_p = between(&own, 0.05, 0.5);
	p->path.busy_ms = log_between(&own, 0.1, 3);
	p->noise.unrest_sigma = between(&own, 0.3, 1);
	p->noise.unrest_s = log_between(&own, 0.05, 1);
	if (p->kind == DISK_ROTATING && !(p->noise.retry_per_gb > 0))
		p->noise.retry_per_gb = log_between(&own, 1, 10);
}

int profile_draw_noise(struct profile *p, enum wild_noise level, struct rng *r)
{
	double part = level == WILD_NOISE_MILD ? 0.25 : 1;

	quiet(p);
	for (size_t i = 0; i < p->seek.npoints && (level == WILD_NOISE_NONE || level == WILD_NOISE_MILD); i++)
		p->seek.points[i].sd_ms *= level == WILD_NOISE_NONE ? 0 : part;
	if (level == WILD_NOISE_NONE)
		return 0;
	p->ctl.done_scatter = core_and_tails(r, between(r, 14, 22) * part);
	p->ctl.overhead_scatter = core_and_tails(r, between(r, 3, 15) * part);
	p->seek.head_scatter = core_and_tails(r, between(r, 8, 22) * part);
	if (level == WILD_NOISE_MILD)
		return scatter_seeks(r, p, part);
	tracks_differ(r, p);
	if (level == WILD_NOISE_LIVE) {
		p->ctl.done_scatter.sd_ms *= between(r, 1, 2);
		p->noise.outlier_p = between(r, 0.002, 0.02);
		p->noise.outlier_ms = log_between(r, 0.2, 5);
		miss(r, p, 0.01, 0.06, 0.35);
		p->noise.freeze_p = log_between(r, 3e-5, 3e-4);
		is_restless(p);
	} else {
		miss(r, p, 0.0015, 0.019, 0.02);
		p->noise.freeze_p = chance(r, 0.3) ? log_between(r, 1e-6, 1e-4) : 0;
	}
	if (p->noise.freeze_p > 0) {
		p->noise.freeze_min_ms = 30;
		p->noise.freeze_max_ms = 400;
	}
	return scatter_seeks(r, p, 1);
}

int profile_add_noise(struct profile *p, enum wild_noise level, uint64_t seed, struct err *err)
{
	struct rng r;
	int error;

	rng_init(&r, seed, 0x7013e);
	p->seed = seed;
	error = profile_draw_noise(p, level, &r);
	return error < 0 ? err_set(err, error, "Out of memory.") : profile_finish(p, err);
}
