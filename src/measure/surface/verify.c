/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --verify-command: the disk reads by itself, and only says whether it could. Some bridges and emulations say yes
 * without a look. What looks at a rotating medium cannot be quicker than the arm and the platter: at places at random
 * as slow as reading there, in a row not much faster than what comes off a track.
 */
#include <errno.h>
#include <string.h>

#include "measure/surface/surface.h"

#define RANDOM_READS 24          /* of each kind; medians of that many differ by a sixth at most */
#define RANDOM_LEAST 0.6         /* of the time of reading at random: less is not the medium */
#define PLACES       3           /* where a row is timed, spread over the disk */
#define ROW_BYTES    (16u << 20) /* at each */
#define FASTER_MOST                                                                                                    \
	4.0 /* in a row than reading: the slowest connections (USB 2) of the fastest disks are not slower than that by \
	       more */

/* Medians of single accesses: reading and verifying by turns, never at the same place. */
static int compare_random(struct surface_run *run, struct timed *verify, double *ret_read_ns, double *ret_verify_ns,
                          struct err *err)
{
	uint64_t size = run->ses->devs[0].size_bytes;
	double read_ns[RANDOM_READS], verify_ns[RANDOM_READS];
	int r = 0;

	for (size_t i = 0; i < RANDOM_READS && r == 0; i++) {
		uint64_t at = timed_random(&run->timed, 0, size), then = timed_random(&run->timed, 0, size);

		r = timed_reads(&run->timed, &at, 1, &read_ns[i], NULL, err)
		            ?: timed_reads(verify, &then, 1, &verify_ns[i], NULL, err);
		if (r == 0 && isnan(verify_ns[0]))
			return 0;
	}
	if (r < 0)
		return r;
	*ret_read_ns = stats_median(read_ns, stats_keep_finite(read_ns, RANDOM_READS));
	*ret_verify_ns = stats_median(verify_ns, stats_keep_finite(verify_ns, RANDOM_READS));
	return 0;
}

/* How many times faster than reading it is in a row: the median of the places. */
static int compare_rows(struct surface_run *run, struct timed *verify, double *ret_ratio, struct err *err)
{
	uint64_t size = run->ses->devs[0].size_bytes, row = size / 64 < ROW_BYTES ? size / 64 : ROW_BYTES;
	double ratio[PLACES];
	int r = 0;

	for (size_t i = 0; i < PLACES && r == 0; i++) {
		uint64_t at = (2 * i + 1) * (size / (2 * PLACES));
		double read = (double)NAN, verified = (double)NAN;

		surface_give_way(run);
		r = timed_rate(&run->timed, timed_align(&run->timed, (double)at), row, &read, err);
		surface_give_way(run);
		if (r == 0)
			r = timed_rate(verify, timed_align(&run->timed, (double)(at + 4 * row)), row, &verified, err);
		ratio[i] = verified / read;
	}
	*ret_ratio = r == 0 ? stats_median(ratio, stats_keep_finite(ratio, PLACES)) : (double)NAN;
	return r;
}

static int prove(struct surface_run *run, struct timed *verify, struct err *err)
{
	const char *path = run->ses->devs[0].path;
	double read_ns = NAN, verify_ns = NAN, faster = NAN;
	int r = compare_random(run, verify, &read_ns, &verify_ns, err);

	if (r == 0 && run->rot.is_rotating && verify_ns >= RANDOM_LEAST * read_ns)
		r = compare_rows(run, verify, &faster, err);
	if (r < 0 || session_is_over(run->ses))
		return r;
	if (isnan(verify_ns) || isnan(read_ns))
		return err_set(err, -EOPNOTSUPP,
		               "%s, or what it is connected by, knows no verify command; leave out --verify-command.",
		               path);
	if (!run->rot.is_rotating)
		return err_set(
			err, -EOPNOTSUPP,
			"No rotation of %s was found, and without one nothing proves that verify commands reach the "
			"medium; it answered one in %.3f ms, and a read in %.3f ms; leave out --verify-command.",
			path, verify_ns * 1e-6, read_ns * 1e-6);
	if (!(verify_ns >= RANDOM_LEAST * read_ns))
		return err_set(
			err, -EOPNOTSUPP,
			"%s answers a verify command in %.3f ms where reading takes %.3f ms: it says yes without a "
			"look at the medium; leave out --verify-command.",
			path, verify_ns * 1e-6, read_ns * 1e-6);
	if (!(faster <= FASTER_MOST))
		return err_set(err, -EOPNOTSUPP,
		               "%s verifies %.1f times faster than it reads, which no medium does; leave out "
		               "--verify-command.",
		               path, faster);
	result_figure(run->ses->res, "verify_access_ns", "verifying anywhere", UNIT_NS, verify_ns, NULL, 0);
	result_figure(run->ses->res, "read_access_ns", "reading anywhere", UNIT_NS, read_ns, NULL, 0);
	result_figure(run->ses->res, "verify_rate_ratio", "rate of verifying to that of reading", UNIT_NONE, faster,
	              NULL, 0);
	return 0;
}

int surface_verifier_open(struct surface_run *run, struct err *err)
{
	const struct engine_config cfg = { .depth = 1, .buf_bytes = run->eng->cfg.buf_bytes };
	struct timed verify = run->timed;
	int r = session_commands(run->ses, &cfg, &run->verifier, err);

	if (r < 0)
		return r;
	verify.eng = run->verifier;
	verify.op = IO_VERIFY;
	return prove(run, &verify, err);
}
