/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Devices that are faster at first than they stay, and some that are not. */
#include "draw.h"
#include "model.h"

#include <string.h>

#define GB 1e9

static uint64_t bytes(double n)
{
	return (uint64_t)n & ~1023ull;
}

static void draw_flash(struct rng *r, struct profile *p, double rate)
{
	p->ssd.read_latency_us = log_between(r, 20, 150);
	p->ssd.write_latency_us = log_between(r, 10, 60);
	p->ssd.stripe_bytes = 16384;
	p->ssd.channels = whole(r, 4, 16);
	p->ssd.channel_bytes_per_s = 2 * rate / p->ssd.channels + 100e6;
	p->path.interface_bytes_per_s = rate * between(r, 1, 1.5);
	p->noise.jitter_us = between(r, 2, 30);
	if (chance(r, 0.3)) {
		p->keeps.collect_bytes = bytes(log_between(r, 0.2, 4) * GB);
		p->keeps.collect_ms = log_between(r, 5, 200);
	}
}

static void draw_volume(struct rng *r, struct profile *p)
{
	p->ssd.read_latency_us = p->ssd.write_latency_us = log_between(r, 300, 2000);
	p->ssd.channels = whole(r, 4, 16);
	p->ssd.channel_bytes_per_s = 400e6;
	p->ssd.stripe_bytes = 1 << 20;
	p->path.interface_bytes_per_s = log_between(r, 60e6, 400e6);
	p->ssd.latency_sigma = between(r, 0.05, 0.5);
	p->noise.jitter_us = p->ssd.read_latency_us * between(r, 0.05, 0.3);
	p->noise.outlier_p = log_between(r, 0.0005, 0.01);
	p->noise.outlier_ms = log_between(r, 1, 20);
	strcpy(p->reported.transport, "virtio");
}

static void draw_cache(struct rng *r, struct profile *p)
{
	double rate = log_between(r, 400, 5000);

	draw_flash(r, p, rate * 1e6);
	p->keeps.slc_mbs = rate;
	p->keeps.slc_bytes = bytes(rate * 1e6 * log_between(r, 1, 60));
	p->keeps.direct_mbs = rate * log_between(r, 0.05, 0.8);
	p->keeps.fold_mbs = p->keeps.direct_mbs * between(r, 0.2, 1);
	p->keeps.fold_idle_ms = log_between(r, 20, 3000);
	if (chance(r, 0.3)) { /* it becomes warm, and bears it */
		p->keeps.heat_c_per_gb = log_between(r, 0.05, 0.5);
		p->keeps.heat_tau_s = log_between(r, 30, 200);
		p->keeps.heat_limit_c = 200;
	}
}

static void draw_credit_of_bytes(struct rng *r, struct profile *p)
{
	draw_volume(r, p);
	p->path.limit_bytes_per_s = p->path.interface_bytes_per_s * log_between(r, 0.08, 0.7);
	p->path.credit_bytes = bytes(p->path.limit_bytes_per_s * log_between(r, 5, 600));
}

static void draw_credit_of_requests(struct rng *r, struct profile *p)
{
	double most;

	draw_volume(r, p);
	most = p->ssd.channels / (p->ssd.write_latency_us * 1e-6);
	p->path.limit_ops = most * log_between(r, 0.05, 0.5);
	p->path.credit_ops = p->path.limit_ops * log_between(r, 5, 300);
}

static void draw_heat(struct rng *r, struct profile *p)
{
	double rate = log_between(r, 1000, 4000), rise = between(r, 1.2, 2.5) * 50; /* of what it would become */

	draw_flash(r, p, rate * 1e6);
	p->keeps.slc_mbs = 0;
	p->path.interface_bytes_per_s = rate * 1e6;
	p->keeps.heat_limit_c = between(r, 70, 85);
	p->keeps.heat_tau_s = log_between(r, 30, 150);
	p->keeps.heat_c_per_gb = rise / p->keeps.heat_tau_s / rate * 1e3;
	p->keeps.hot_mbs = rate * log_between(r, 0.1, 0.5);
}

static void draw_time(struct rng *r, struct profile *p)
{
	double rate = log_between(r, 400, 3000);

	draw_flash(r, p, rate * 1e6);
	p->path.interface_bytes_per_s = rate * 1e6;
	p->keeps.turbo_s = log_between(r, 5, 300);
	p->keeps.turbo_back = log_between(r, 0.05, 2);
	p->keeps.spent_mbs = rate * log_between(r, 0.05, 0.7);
}

static void draw_spare(struct rng *r, struct profile *p)
{
	double rate = log_between(r, 400, 3000);

	draw_flash(r, p, rate * 1e6);
	p->keeps.spare_bytes = bytes(rate * 1e6 * log_between(r, 2, 60));
	p->keeps.spare_mbs = rate * log_between(r, 0.05, 0.7);
}

static void draw_steady(struct rng *r, struct profile *p)
{
	if (chance(r, 0.5))
		draw_volume(r, p);
	else
		draw_flash(r, p, log_between(r, 200e6, 600e6));
}

int draw_burst(struct rng *r, struct profile *p)
{
	static void (*const ways[])(struct rng *, struct profile *) = {
		draw_cache, draw_cache, draw_credit_of_bytes, draw_credit_of_requests, draw_heat,
		draw_spare, draw_time,  draw_steady,
	};
	struct profile_range trim = { 0 };

	p->kind = DISK_SSD;
	p->logical_sector_bytes = 512;
	p->physical_sector_bytes = 4096;
	p->capacity_lba = (uint64_t)(log_between(r, 200, 4000) * 1e9 / 4096) * 8;
	p->ctl.queue_depth = 256;
	p->ctl.overhead_ms = 0;
	if (chance(r, 0.1)) { /* reads of what holds no data */
		draw_flash(r, p, log_between(r, 300e6, 600e6));
		p->path.interface_bytes_per_s *= between(r, 3, 6);
		p->ssd.channel_bytes_per_s /= 2;
		trim.count = (uint64_t)(p->path.interface_bytes_per_s * log_between(r, 3, 60) / 4096) * 8;
		return profile_add_trim(p, &trim);
	}
	ways[whole(r, 0, sizeof(ways) / sizeof(ways[0]) - 1)](r, p);
	return 0;
}
