/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Will these disks hold this rate? (Mujunen, wr.c 2001.) A clock makes data at the rate, a ring holds them until a disk
 * has taken them; ring.c keeps the account, run.c does the I/O. This file: what a run is made of; stream.h has where
 * the rest is.
 */
#include "measure/stream/stream.h"
#include "base/xalloc.h"

#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/rng.h"

static int verify(struct stream_run *s, struct err *err)
{
	struct result *res = s->ses->res;
	uint64_t blocks, bad;
	int r;

	if (s->p->mode == STREAM_CACHED) /* what the disk has, not what memory has */
		stream_make_cold(s);
	r = stream_verify(s, &blocks, &bad, err);
	if (r < 0 || session_is_over(s->ses))
		return r;
	result_figure_u64(res, "verified_blocks", "blocks read back and checked", UNIT_COUNT, blocks);
	result_figure_u64(res, "verify_errors", "blocks not as written", UNIT_COUNT, bad);
	res->verdict_is_no |= bad > 0;
	return 0;
}

static int plain(struct stream_run *s, struct err *err)
{
	int r;

	if (s->p->mode == STREAM_CACHED)
		stream_make_cold(s);
	s->blocks.parts_left =
		s->p->verify ? 0.5 : 0.0; /* reading back is at full speed: something between nothing and as long */
	s->report_so_far = stream_figures_so_far;
	r = stream_once(s, s->p->rate, err);
	s->report_so_far = NULL;
	if (r < 0)
		return r;
	stream_figures(s, s->p->rate);
	if (s->p->mode == STREAM_CACHED)
		stream_settle_cache(s);
	session_checkpoint(s->ses);
	return s->p->verify && !session_is_over(s->ses) ? verify(s, err) : 0;
}

/*
 * Blocks carry what no other run's do, not even one with the same --seed: else an old block would pass for one that has
 * just been lost. Nothing that is measured depends on it.
 */
static uint64_t nonce(void)
{
	uint64_t n;

	if (getrandom(&n, sizeof(n), 0) != (ssize_t)sizeof(n)) /* cannot be, for so few bytes, once the system is up */
		n = (uint64_t)getpid();
	return n;
}

static int stream_measure(struct session *ses, const void *params, struct err *err)
{
	const struct stream_params *p = params;
	cleanup_free struct stream_run *s = xcalloc(1, sizeof(*s));
	int r;

	s->ses = ses;
	s->p = p;
	s->seed = rng_mix(ses->seed ^ nonce());
	r = stream_open(s, err);
	if (r == 0 && p->project.n)
		r = stream_project(s, err);
	if (r == 0)
		r = p->tradeoff ? stream_tradeoff(s, err) : p->find_max ? stream_find_max(s, err) : plain(s, err);
	stream_plots(ses);
	stream_close(s);
	return r;
}

static const struct screen_decl stream_screen = {
	.shows =
		"max_rate_bytes_per_s,rate_bytes_per_s,requested_bytes_per_s,growth_bytes_per_s,ring_full_s,needed_time_s,overflows,dropped_bytes,first_overflow_s,peak_bytes,ring_bytes,needed_bytes,response_p99_ns,response_max_ns,#tradeoff,#overflows,#stalls,#targets",
	.says =
		(const struct clause[]){
			{ "at full speed the ring would have borne up to {max_rate_bytes_per_s}",
	                  .if_any = "full_speed_bytes_per_s" },
			{ "the ring bears {max_rate_bytes_per_s}, perhaps more", .because = "open-above",
	                  .instead_of = 1 },
			{ "{max_rate_bytes_per_s} is the highest rate that the ring bears", .instead_of = 2 },
			{ "{verdict}" },
			{ "{slowest}" },
			{ "{full_speed}; a block took {response_max_ns} at most", .instead_of = 5 },
			{ "{full_speed}", .instead_of = 6 },
			{ "all {verified_blocks:block} that were read back are as written", .if_any = "verified_blocks",
	                  .if_none = "verify_errors" },
			{ "{verify_errors:block} came back wrong", .if_any = "verify_errors" },
			{ "{ended_by}" },
			{ NULL },
		},
};

const struct measure measure_stream = {
	.name = "stream",
	.help = "do these disks sustain this rate through this ring buffer",
	.group = GROUP_DISK,
	.targets = "DEVICE|DIRECTORY|FILE...",
	.max_targets = STREAM_LANES_MAX,
	.takes = TAKES_DISKS | TAKES_FILES | TAKES_FOLDERS,
	.opts = stream_opts,
	.params_size = sizeof(struct stream_params),
	.plan = stream_plan,
	.run = stream_measure,
	.screen = &stream_screen,
	.tables = stream_tables,
};
