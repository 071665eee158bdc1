/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `surface` will read: options, and what they say together with the target; and what is fixed for all parts. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/opt.h"
#include "base/units.h"
#include "measure/surface/surface.h"

#define BLOCK_BYTES (1u << 20)
#define SEARCH_NS   (120 * NS_PER_S) /* beside others who pause now and then */

const char *const surface_kind_names[SURFACE_KINDS] = { "pending",    "always", "passing",   "once",
	                                                "unreadable", "healed", "unchecked", "skipped" };

const uint64_t surface_class_ns[SURFACE_CLASSES] = { 3 * NS_PER_MS,   10 * NS_PER_MS,   50 * NS_PER_MS, 150 * NS_PER_MS,
	                                             500 * NS_PER_MS, 5000 * NS_PER_MS, UINT64_MAX };

static const char *const surface_parts[] = { "files", NULL };

#define P struct surface_params

const struct opt surface_opts[] = {
	OPT_STR(P, range, "range", 0, "FROM-TO", NULL, "scan this part only: 10GB-20GB, 50%-"),
	OPT_BYTES(P, block_bytes, "block", 0, "SIZE", NULL, "size of a request (default 1MiB, at most a revolution)",
	          .min = 4096, .max = 1 << 24),
	OPT_U64(P, depth, "depth", 0, "N", "4", "requests in flight", .min = 1, .max = 32),
	OPT_STR(P, state, "state", 0, "FILE", NULL, "keep in this file how far the scan came, once a minute",
	        .writes = OUTFILE_STATE),
	OPT_STR(P, geometry, "geometry", 0, "FILE", NULL,
	        "report by head: what platter geometry --json saved of this disk", .reads = true, .is_aside = true),
	OPT_FLAG(P, verify, "verify-command", 0, "let the disk read by itself and transfer nothing (SCSI, ATA)"),
	OPT_FLAG(P, resume, "resume", 0, "go on where --state says", .is_aside = true),
	OPT_TIME(P, portion_ns, "portion", 0, "TIME", NULL, "end after this time; --resume goes on"),
	OPT_FLAG(P, idle, "idle", 0, "one request at a time, and none while others use the disk"),
	OPT_RATE(P, rate, "rate", 0, "RATE", NULL, "read no more than this, on average", .min = 1, .max = 1e15),
	OPT_RATIO(P, share, "share", 0, "RATIO", NULL, "take no more than this part of the time: 10%", .min = 1e-4,
	          .max = 1),
	OPT_F64(P, max_celsius, "max-temperature", 0, "CELSIUS", NULL, "pause while the disk is warmer", .min = 1,
	        .max = 150, .is_aside = true),
	OPT_STR(P, hours, "hours", 0, "FROM-TO", NULL, "read in these hours of the day only: 22-6", .is_aside = true),
	OPT_FLAG(P, recheck_all, "recheck-all", 0, "read skipped ranges and recheck suspects, however long it takes"),
	OPT_STR(P, mapfile, "mapfile", 0, "FILE", NULL, "save what can be read and what cannot as ddrescue's mapfile",
	        .writes = OUTFILE_MAPFILE),
	OPT_FLAG(P, write, "write", 'w',
	         "write all of it, read it back and verify it: destroys data (see --destroy-data)"),
	OPT_FLAG(P, rewrite, "rewrite", 0, "write weak places again with the same bytes, and see what it brings",
	         .is_aside = true),
	OPT_STR(P, journal, "journal", 0, "DIR", "/var/lib/platter", "where --rewrite keeps the bytes in work",
	        .is_aside = true),
	OPT_FLAG(P, sample, "sample", 0,
	         "read as many random places as --time (default 2m) allows, instead of every block"),
	OPT_STRS(P, without, "without", 0, "WORD", "do not look for the files at slow and unreadable places",
	         .choices = surface_parts, .is_aside = true),
	OPT_END,
};

#undef P

static int parse_hours(const char *text, struct surface_range *ret, struct err *err)
{
	unsigned from = 0, to = 0;
	int end = 0;

	ret->hours_from = ret->hours_to = 0;
	if (!text)
		return 0;
	if (sscanf(text, "%2u-%2u%n", &from, &to, &end) != 2 || text[end] || from > 24 || to > 24 ||
	    from % 24 == to % 24)
		return err_set(err, -EINVAL, "--hours=%s are not hours of the day; give two different ones: 22-6.",
		               text);
	ret->hours_from = from % 24 * 3600;
	ret->hours_to = to % 24 * 3600;
	return 0;
}

int surface_range(const struct device *dev, const struct surface_params *p, struct surface_range *ret, struct err *err)
{
	uint32_t sector = dev->logical_block_bytes ? dev->logical_block_bytes : 512;
	int r;

	*ret = (struct surface_range){ 0 };
	r = units_parse_range(p->range, dev->size_bytes, &ret->first_bytes, &ret->end_bytes, err)
	            ?: parse_hours(p->hours, ret, err);
	if (r < 0)
		return r;
	ret->unit_bytes = dev->physical_block_bytes > sector ? dev->physical_block_bytes : sector;
	if (plan_block(dev, p->block_bytes, ret->unit_bytes, err) < 0)
		return -EINVAL;
	ret->block_bytes = p->block_bytes         ? (uint32_t)p->block_bytes
	                   : p->sample || p->rate ? SURFACE_SAMPLE_BLOCK
	                                          : BLOCK_BYTES;
	ret->first_bytes -= ret->first_bytes % ret->unit_bytes;
	ret->end_bytes -= ret->end_bytes % sector;
	if (ret->first_bytes >= ret->end_bytes)
		return err_set(err, -EINVAL, "%s holds no whole sector; give a larger %s.",
		               p->range ? "--range" : dev->path, p->range ? "one" : "target");
	return 0;
}

static int check_pairs(const struct surface_params *p, struct err *err)
{
	/* a sample is of random places: the others need all of them */
	const struct opt_pair pairs[] = { { p->write && p->rewrite, "write", "rewrite" },
		                          { p->write && p->verify, "write", "verify-command" },
		                          { p->sample && p->write, "sample", "write" },
		                          { p->sample && p->rewrite, "sample", "rewrite" },
		                          { p->sample && p->state, "sample", "state" },
		                          { p->sample && p->mapfile, "sample", "mapfile" },
		                          { 0 } };

	return opt_pairs(pairs, err);
}

int surface_plan(const struct session *ses, const void *params, struct plan *ret_plan, struct err *err)
{
	const struct device *dev = &ses->devs[0];
	const struct surface_params *p = params;
	struct surface_range range;
	int r = surface_range(dev, params, &range, err) ?: check_pairs(p, err);

	if (r < 0)
		return r;
	if ((p->resume || p->portion_ns) && !p->state)
		return err_set(err, -EINVAL, "--%s needs a file with the progress of the scan; give --state=FILE.",
		               p->resume ? "resume" : "portion");
	if (p->max_celsius > 0.0 && !dev->temperature_mc)
		return err_set(
			err, -EINVAL,
			"--max-temperature: the temperature of %s is not reported; load the module drivetemp, or do without.",
			dev->path);
	if (p->verify && dev->kind != DEVICE_DISK)
		return err_set(err, -EINVAL,
		               "--verify-command goes to whole disks, and %s is not one; give the disk, with --range.",
		               dev->path);
	if ((p->write || p->rewrite) && device_is_zoned(dev))
		return err_set(err, -EINVAL, "%s is a %s zoned disk, which surface does not write on; leave --%s out.",
		               dev->path, dev->queue.zoned, p->write ? "write" : "rewrite");
	if (p->write) {
		ret_plan->writes = WRITE_DESTROY;
		ret_plan->write_bytes = range.end_bytes - range.first_bytes;
		plan_phase(ret_plan, "writing", plan_guess_ns(ret_plan->write_bytes));
	}
	plan_phase(ret_plan, "scan", plan_guess_ns(range.end_bytes - range.first_bytes));
	plan_phase(ret_plan, "second readings", 0);
	if (p->rewrite) {
		plan_phase(ret_plan, "rewriting", 0);
		ret_plan->writes = WRITE_SAME;
		ret_plan->write_bytes = SURFACE_REWRITE_MOST * (uint64_t)range.block_bytes;
	}
	ret_plan->read_bytes = UINT64_MAX; /* second readings are as many as the disk makes necessary */
	ret_plan->is_direct = true;
	ret_plan->keeps_privileges =
		(!p->without.n && !p->write) ||
		p->verify; /* which file lies where the kernel shows root only; so are commands of ATA */
	return 0;
}

/* ---- what all parts ask ---- */

bool surface_is_out_of_time(const struct surface_run *run)
{
	uint64_t took_ns = surface_now(run) - run->begun.start_ns;

	/* The search of the rotation comes to its end, and second readings that are all that is left, or no portion
	 * that is shorter would ever get past them. */
	return session_time_left_ns(run->ses) == 0 ||
	       (run->p->portion_ns && !run->begun.is_scanned && took_ns >= run->p->portion_ns &&
	        (run->begun.is_known || took_ns >= SEARCH_NS));
}

bool surface_is_over(const struct surface_run *run)
{
	return session_is_over(run->ses) || surface_is_out_of_time(run);
}
