/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is this disk shingled, and what does that cost? (After Aghayev and Desnoyers, Skylight, FAST 2015.) Such a disk must
 * have a cache. Single blocks fill it until it has to be cleaned; what a write to a band of its own takes then decides:
 * see smr.h and analyse.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/smr/smr.h"

#define LOOK_EACH 16   /* single writes between two looks at what they say, or ... */
#define LOOK_PART 64   /* this part of all */
#define ROWS      4096 /* single writes that are a row each, whether they wait or not */
#define TRIM      2.0  /* decades: of a disk that says how fast it turns */
#define TRIM_ANY  0.3
#define MEMORY    (1ull << 30) /* more than any drive has */

/* ---- what is known without writing ---- */

/* Drives that shingle take TRIM, to know what need not be kept; but volumes do, too, and say that they turn. */
static void report_sign(const struct session *ses)
{
	const struct device *dev = &ses->devs[0];
	double weight = dev->rotational != 1 || !dev->queue.discard_max_bytes ? 0
	                : dev->id.reported_rpm && !dev->id.below[0]           ? TRIM
	                                                                      : TRIM_ANY;

	result_figure(ses->res, "signs_log10_ratio", "evidence without writing (log10 odds)", UNIT_NONE, weight, NULL,
	              0);
}

/* ---- the writes ---- */

/* Single writes that need not wait make one row: behind others' writes they are hundreds of thousands. */
static void join_quick(struct smr_samples *s, double quick_ns)
{
	struct smr_sample *b = s->v + s->n - 1, *a = b - 1;

	if (s->n < 2 || !smr_is_single(a) || !smr_is_single(b) ||
	    (double)(a->write_ns + a->flush_ns) > quick_ns * (double)a->writes ||
	    (double)(b->write_ns + b->flush_ns) > quick_ns)
		return;
	a->time_s = b->time_s;
	a->writes += b->writes;
	a->flushes += b->flushes;
	a->write_ns += b->write_ns;
	a->flush_ns += b->flush_ns;
	a->writes_per_s = (double)a->writes * 1e9 / (double)(a->write_ns + a->flush_ns + 1);
	s->n--;
}

/* As fast as the last half of them went. */
static double forecast_s(const struct smr_samples *s, uint64_t all, double *ret_per_s)
{
	const struct smr_sample *from = &s->v[s->n / 2], *last = &s->v[s->n - 1];
	double writes = (double)(last->first + last->writes - from->first), s_each = 1 / from->writes_per_s;

	if (s->n > 1)
		s_each = (last->time_s - from[-1].time_s) / writes;
	*ret_per_s = 1 / s_each;
	return (double)(all - last->first - last->writes) * s_each;
}

static int write_until_known(struct smr_io *io, struct smr_input *in, struct err *err)
{
	struct smr_samples samples = { NULL, 0 };
	uint64_t all = smr_layout_writes(io->layout), look_at = 0, done = 0;
	struct smr_found found;
	enum smr_step step = SMR_BATCH;
	bool may_sweep = !io->l.file && !io->l.journal;
	int r = 0;

	smr_analyse(in, &found);
	while (r == 0 && step != SMR_STOP && done < all && !lasting_is_over(&io->l)) {
		size_t before = samples.n;
		double per_s, to_go_s;

		r = smr_write(io, done, step == SMR_BATCH ? io->layout->batch : 1, &samples, err);
		if (r < 0 || samples.n == before)
			break;
		done = samples.v[before].first + samples.v[before].writes;
		if (found.behind > ROWS && found.verdict == SMR_UNDECIDED)
			join_quick(&samples, in->access_ns > 0 ? in->access_ns : 0);
		in->v = samples.v;
		in->n = samples.n;
		to_go_s = forecast_s(&samples, all, &per_s);
		session_progress(io->l.ses, "writing at random", (double)done / (double)all,
		                 "%.0f/s, %.0f s to go at most", per_s, to_go_s);
		if (step != SMR_BATCH && done < look_at)
			continue;
		look_at = done + (found.behind / LOOK_PART > LOOK_EACH ? found.behind / LOOK_PART : LOOK_EACH);
		smr_analyse(in, &found);
		step = smr_next(io->layout, &found, may_sweep);
		if (step != SMR_SWEEP)
			continue;
		/* all begins again */
		r = smr_stream(io, io->layout->first_bytes, io->layout->first_bytes + io->layout->size_bytes, err);
		may_sweep = false;
		samples.n = done = look_at = 0;
		step = SMR_BATCH;
	}
	smr_analyse(in, &found);
	/* Was the way to the disk as quick all the time? */
	if (r == 0 && found.verdict != SMR_UNDECIDED && !session_is_over(io->l.ses)) {
		r = smr_path(io, in, err);
		smr_analyse(in, &found);
	}
	if (samples.n) {
		smr_report_found(io->l.ses->res, in, &found);
		smr_report_samples(io->l.ses->res, in);
	}
	in->v = NULL;
	free(samples.v);
	return r;
}

/*
 * What a device holds anywhere, or a file up to the comb, which was written for that: what was written a moment ago no
 * disk reads without turning, unless it still has it in memory. Virtual disks say that they turn.
 */
static int look_whether_it_turns(struct smr_io *io, uint64_t end, bool *ret_turns, struct err *err)
{
	int turns = -1, r = 0;

	if (io->l.file)
		r = smr_stream(io, io->layout->first_bytes, end, err);
	if (r == 0 && !session_is_over(io->l.ses))
		r = smr_turns(io, io->l.file ? end : io->l.target->size_bytes, &turns, err);
	*ret_turns = turns != 0 || (io->l.ses->devs[0].rotational != 0 && !(io->l.file && end > MEMORY));
	return r;
}

static int measure(struct smr_io *io, struct smr_input *in, const struct smr_params *p, bool writes, struct err *err)
{
	const struct smr_run_of *comb = &io->layout->part[SMR_COMB];
	uint64_t end = comb->first_bytes + comb->n * comb->step_bytes;
	struct result *res = io->l.ses->res;
	bool turns = true;
	int r = look_whether_it_turns(io, end, &turns, err);

	if (r < 0 || session_is_over(io->l.ses))
		return r;
	if (!turns)
		return smr_report_verdict(res, SMR_NO, "it does not rotate");
	report_sign(io->l.ses);
	if (!writes)
		return smr_report_verdict(res, SMR_UNDECIDED, "nothing was written");
	if (p->rewrite)
		r = smr_back_begin(io, p->journal, err);
	if (r == 0 && !session_is_over(io->l.ses))
		r = smr_stream(io, io->l.file ? end : comb->first_bytes,
		               io->l.file ? io->layout->first_bytes + io->layout->size_bytes : end, err);
	if (r == 0 && !session_is_over(io->l.ses))
		r = smr_access(io, in, err);
	if (r < 0 || session_is_over(io->l.ses))
		return r;
	if (isnan(in->access_ns) && !lasting_is_over(&io->l))
		return smr_report_verdict(res, SMR_UNDECIDED,
		                          result_fault_count(res)
		                                  ? "random reads failed, so how long they take is not known"
		                                  : "random reads need no actuator there, so writes would show none");
	return write_until_known(io, in, err);
}

static int smr_run(struct session *ses, const void *params, struct err *err)
{
	const struct smr_params *p = params;
	const struct device *dev = &ses->devs[0];
	bool writes = dev->kind == DEVICE_DIRECTORY || p->write || p->rewrite;
	struct smr_layout layout;
	struct smr_input in = { .layout = &layout,
		                .access_ns = NAN,
		                .stream_bytes_per_s = NAN,
		                .interface_bytes_per_s = NAN,
		                .path_ns = NAN,
		                .rpm = dev->id.reported_rpm,
		                .is_through = strcmp(dev->queue.write_cache, "write through") == 0 };
	uint64_t first, size;
	struct smr_io io = { .layout = &layout };
	int r;

	if (device_is_zoned(dev))
		return smr_report_verdict(ses->res, SMR_YES, "the disk or the kernel reports that it is zoned");
	r = smr_span(dev, p, &first, &size, err);
	if (r < 0)
		return r;
	(void)smr_layout_init(&layout, first, size);
	(void)smr_report_verdict(ses->res, SMR_UNDECIDED, "the run ended before it had written enough");
	io.time_ns = ses->common->time_ns ? ses->common->time_ns : SMR_TIME_NS;
	r = lasting_open(&io.l, ses, &(struct engine_config){ .depth = 2, .buf_bytes = SMR_PIECE },
	                 layout.first_bytes + layout.size_bytes, err);
	io.l.end_ns = ses->start_ns + io.time_ns;
	if (r == 0)
		r = measure(&io, &in, p, writes, err);
	r = smr_back_end(&io, r, err);
	lasting_close(&io.l);
	if (ses->res->verdict_is_open)
		smr_report_undecided(ses->res, dev->path, writes);
	session_checkpoint(ses);
	return r;
}

/* What a person came for: the figures of the first screen, and the sentence that they make. */
static const struct screen_decl smr_screen = {
	.shows =
		"shingled,cache_entries,cache_bytes,band_bytes,band_clean_ns,signs_log10_ratio,fast_writes_per_s,slow_writes_per_s,evidence_log10_ratio",
	.says =
		(const struct clause[]){
			{ "cannot tell without writing", .because = "nothing-written" },
			{ "cannot tell: {reason}", .because = "undecided", .instead_of = 1 },
			{ "shingled: {shingled}; {reason}", .instead_of = 2 },
			{ NULL },
		},
};

const struct measure measure_smr = {
	.name = "smr",
	.help = "is this disk shingled, and what does that cost",
	.group = GROUP_DISK,
	.targets = "DEVICE|DIRECTORY",
	.takes = TAKES_DISKS | TAKES_FOLDERS,
	.opts = smr_opts,
	.params_size = sizeof(struct smr_params),
	.plan = smr_plan,
	.run = smr_run,
	.again = smr_again,
	.screen = &smr_screen,
	.tables = smr_tables,
};
