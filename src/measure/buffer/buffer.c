/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the drive's buffer does, from outside: by what it answers quickly after what. The method is that of the
 * extraction of drives' caches (Worthington, Ganger, Patt and Wilkes, On-line extraction of SCSI disk drive parameters,
 * 1995), but each answer is only a vote.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "measure/buffer/buffer.h"
#include "measure/shared/link.h"

static int measure(struct buffer_io *io, const struct buffer_params *p, struct err *err)
{
	struct session *ses = io->ses;
	const struct rotation *rot = &io->rot;
	const char *path = ses->devs[0].path;
	struct buffer_found found;
	uint64_t first, end;
	int r;

	if (session_is_over(ses))
		return 0;
	if (!rot->is_rotating && rot->anywhere_ns > 0.0) {
		result_notice(ses->res, "not-rotating",
		              "%s does not rotate: a read from its cache takes as long as one from its flash.", path);
	} else if (!rot->is_rotating && !rot->is_patchy) {
		(void)rotation_say_unclear(ses->res, rot);
		result_notice(ses->res, "unclear",
		              "Cannot tell whether %s rotates, so hits and misses cannot be distinguished.", path);
	} else if (rot->is_patchy) {
		result_notice(
			ses->res, "unclear",
			"Parts of %s answer at once when they are read for the first time, as unwritten parts do: hits of the buffer cannot be distinguished.",
			path);
	} else if (!isfinite(rot->hits.ns)) {
		result_notice(ses->res, "nothing-kept",
		              "%s took as long for a sector read again as for one read the first time.", path);
	} else if (!(io->cond.media_bytes_per_s > 0.0)) {
		result_notice(
			ses->res, "unclear",
			"The rate of reads in sequence of %s could not be measured, by which its buffer is asked: reads failed, or the machine was late. Repeat when it is idle.",
			path);
	} else {
		r = buffer_search(io, err);
		if (r == 0 && !buffer_is_over(io))
			r = buffer_fua_reads(io, err);
		if (r == 0 && p->write && !buffer_is_over(io) &&
		    (r = buffer_range(&ses->devs[0], p, &first, &end, err)) == 0)
			r = buffer_write(io, first, end - first, err);
		if (r == 0 && p->write && !buffer_is_over(io))
			r = buffer_fua_writes(io, err);
		buffer_report_samples(ses->res, io);
		buffer_analyse(&io->samples, &io->cond, &found);
		buffer_report_found(ses->res, &found);
		link_say(ses->res, &ses->devs[0], found.interface.value, io->cond.media_bytes_per_s, RATE_BLOCK);
		return r;
	}
	return 0;
}

static int buffer_run(struct session *ses, const void *params, struct err *err)
{
	struct buffer_io io;
	int r;

	r = buffer_open(&io, ses, err) ?: measure(&io, params, err);
	buffer_close(&io);
	session_checkpoint(ses);
	return r;
}

/* `platter report --again`: the figures from the samples of a saved document, by the same analysis. */
static int buffer_again(const struct result *saved, struct result *ret, struct err *err)
{
	const struct table *conditions = result_find_table(saved, buffer_tables[0].name);
	const struct table *probes = result_find_table(saved, buffer_tables[1].name);
	struct buffer_samples samples = { NULL, 0 };
	struct buffer_conditions cond;
	struct buffer_found found;

	if (!conditions || !conditions->nrows || !probes || !probes->nrows)
		return err_set(err, -ENODATA, "The document has no probes.");
	samples.v = xcalloc(probes->nrows, sizeof(*samples.v));
	table_row(conditions, 0, buffer_condition_fields, &cond);
	for (; samples.n < probes->nrows; samples.n++)
		table_row(probes, samples.n, buffer_sample_fields, &samples.v[samples.n]);
	buffer_analyse(&samples, &cond, &found);
	buffer_report_found(ret, &found);
	free(samples.v);
	return 0;
}

/* What a person came for: the figures of the first screen, and the sentence that they make. */
static const struct screen_decl buffer_screen = {
	.shows =
		"segments,segment_bytes,buffer_bytes,sizing,reads_ahead,read_ahead_bytes,read_ahead_ends,keeps_before,interface_bytes_per_s,write_cache,write_cache_bytes,emptying_writes_per_s,reads_pass_writes,flush,fua_reads,fua_writes",
	.says =
		(const struct clause[]){
			{ "an SSD's cache cannot be distinguished from its flash by timing; try platter seek",
	                  .because = "not-rotating" },
			{ "cannot tell what its buffer does: a sector read again took as long as at first",
	                  .because = "nothing-kept" },
			{ "{segments:segment} of {segment_bytes}" },
			{ "{segments:segment}", .instead_of = 1 },
			{ "segments of {segment_bytes}", .instead_of = 2 },
			{ "reads ahead {reads_ahead}" },
			{ "{interface_bytes_per_s} from the buffer" },
			{ "its write cache takes {write_cache_bytes}" },
			{ "a flush {flush}" },
			{ NULL },
		},
};

const struct measure measure_buffer = {
	.name = "buffer",
	.help = "what the drive's buffer does: segments, reading ahead, write cache",
	.group = GROUP_DISK,
	.targets = "DEVICE",
	.takes = TAKES_DISKS,
	.opts = buffer_opts,
	.params_size = sizeof(struct buffer_params),
	.plan = buffer_plan,
	.run = buffer_run,
	.again = buffer_again,
	.screen = &buffer_screen,
	.tables = buffer_tables,
};
