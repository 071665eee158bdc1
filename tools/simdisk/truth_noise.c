/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The truth of single figures: medians and means of what scatters. */
#include "truth_noise.h"

#include <math.h>

#include "mechanics.h"

double truth_arrival(const struct geometry *g, double move, const struct scatter *scatter, double ahead)
{
	double slack = ANGLE_SLACK_NS / g->period_ns, ms = g->period_ns / 1e6, sum = ahead, late;
	int k;

	/* The sector comes by at ahead, ahead + 1, ...; each time that the head is later than that, one revolution
	 * more. */
	for (k = 0; k < 1000; k++) {
		late = scatter_above(scatter, (ahead + k + slack - move) * ms);
		sum += late;
		if (late < 1e-9)
			break;
	}
	return sum;
}

double truth_weak(const struct geometry *g, const struct place *a, uint32_t run)
{
	double weak;

	if (!(g->p->media.weak_share > 0))
		return 0;
	weak = mechanics_track_weak(g->p, a) * a->spt;
	return weak >= a->sector && weak < a->sector + (double)run ? g->p->media.weak_p : 0;
}

struct scatter truth_before_move(const struct geometry *g)
{
	return scatter_sum(&g->p->ctl.overhead_scatter, &g->p->ctl.done_scatter);
}

double truth_frozen_ns(const struct profile *p)
{
	double from = p->noise.freeze_min_ms, to = p->noise.freeze_max_ms;

	return p->noise.freeze_p > 0 ? 1e6 * p->noise.freeze_p * (to > from ? (to - from) / log(to / from) : from) : 0;
}

double truth_done_ns(const struct geometry *g)
{
	const struct profile *p = g->p;
	double ms = p->ctl.done_ms + scatter_mean(&p->ctl.done_scatter) + p->noise.jitter_us * 1e-3 * sqrt(2 / M_PI) +
	            p->noise.outlier_p * p->noise.outlier_ms;

	if (p->path.busy_p > 0)
		ms += p->path.busy_on_s / (p->path.busy_on_s + p->path.busy_off_s) * p->path.busy_p * p->path.busy_ms;
	return ms * 1e6 + truth_frozen_ns(p);
}

double truth_missed_ns(const struct geometry *g, double cylinders)
{
	return mechanics_missed(g->p, cylinders) * g->period_ns;
}

double truth_recalibrating(const struct geometry *g)
{
	return g->p->own.recalibrate_s > 0 ? g->p->own.recalibrate_ms / (g->p->own.recalibrate_s * 1e3) : 0;
}

double truth_share_left(const struct profile *p)
{
	return p->path.other_share > 0
	               ? 1 - p->path.other_share * p->path.other_on_s / (p->path.other_on_s + p->path.other_off_s)
	               : 1;
}

double truth_flat_ns(const struct profile *p, double median_us)
{
	return median_us * 1e3 * exp(p->ssd.latency_sigma * p->ssd.latency_sigma / 2);
}

double truth_paced_ns(const struct profile *p, double service_ns)
{
	return p->path.limit_ops > 0 ? fmax(service_ns, 1e9 / (p->path.limit_ops * truth_share_left(p))) : service_ns;
}

double truth_period_ns(const struct geometry *g)
{
	return g->period_ns;
}

double truth_period_at_ns(const struct geometry *g, double t_s)
{
	return g->period_ns / (1 + g->p->spindle.drift * exp(-t_s / g->p->spindle.drift_s));
}

double truth_overhead_ns(const struct geometry *g)
{
	struct scatter s = truth_before_move(g);

	return (g->p->ctl.overhead_ms + g->p->ctl.done_ms + scatter_median(&s)) * 1e6;
}

double truth_head_switch_ns(const struct geometry *g)
{
	return g->head_switch_ns + scatter_median(&g->p->seek.head_scatter) * 1e6;
}

double truth_seek_ns(const struct geometry *g, double cylinders)
{
	double d = fmax(0, round(cylinders));
	struct scatter s = mechanics_seek_scatter(g->p, d);

	return d > 0 ? fmax(geometry_seek_ns(g, (uint32_t)d) + scatter_median(&s) * 1e6, g->p->seek.restart_ms * 1e6)
	             : 0;
}

double truth_seek_mean_ns(const struct geometry *g, double cylinders)
{
	double d = fmax(0, round(cylinders));
	struct scatter s = mechanics_seek_scatter(g->p, d);

	return d > 0 ? fmax(geometry_seek_ns(g, (uint32_t)d) + scatter_mean(&s) * 1e6, g->p->seek.restart_ms * 1e6) : 0;
}

double truth_seek_between_ns(const struct geometry *g, uint64_t byte_a, uint64_t byte_b)
{
	struct scatter s;
	struct place a, b;
	double nominal;

	geometry_place(g, byte_a / g->p->physical_sector_bytes, &a);
	geometry_place(g, byte_b / g->p->physical_sector_bytes, &b);
	nominal = geometry_move(g, &a, &b, &s);
	return fmax(nominal + scatter_median(&s) * 1e6, g->p->seek.restart_ms * 1e6);
}

double truth_seek_track_ns(const struct geometry *g)
{
	return truth_seek_ns(g, 1);
}

double truth_seek_third_ns(const struct geometry *g)
{
	return truth_seek_ns(g, g->cylinders / 3);
}

double truth_seek_full_ns(const struct geometry *g)
{
	return truth_seek_ns(g, g->cylinders - 1);
}

double truth_seek_average_of_ns(const struct geometry *g, uint32_t cylinders)
{
	double sum = 0, n = cylinders, late = 0;
	struct scatter known = { 0 };
	uint32_t d;

	for (d = 1; d < cylinders; d++) { /* 2 (n - d) of the n^2 pairs have the distance d */
		struct scatter s = mechanics_seek_scatter(g->p, d);

		if (s.sd_ms != known.sd_ms || s.tail_p != known.tail_p || s.tail_ms != known.tail_ms)
			late = scatter_median(&s) * 1e6; /* which takes longer than all else */
		known = s;
		sum += 2 * (n - d) / (n * n) * fmax(geometry_seek_ns(g, d) + late, g->p->seek.restart_ms * 1e6);
	}
	return sum;
}

double truth_seek_average_ns(const struct geometry *g)
{
	return truth_seek_average_of_ns(g, g->cylinders);
}
