/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What measurements call within the frame: an engine, a load with its faults and limits in the document, the budget,
 * progress, the log. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "session/internal.h"

#define KEEP_NS      (50 * NS_PER_S)  /* a step more, and it is still less than a minute */
#define PUNT_LOOK_NS (20 * NS_PER_MS) /* of loads between two looks for io_uring's threads, which take 50 us */

void plan_phase(struct plan *plan, const char *name, uint64_t expect_ns)
{
	if (plan->nphases == PLAN_PHASES)
		return;
	plan->phases[plan->nphases].name = name;
	plan->phases[plan->nphases].expect_ns = expect_ns;
	plan->nphases++;
}

uint64_t plan_guess_ns(uint64_t bytes)
{
	return (uint64_t)((double)bytes * 10.0);
}

int plan_block(const struct device *dev, uint64_t block_bytes, uint32_t unit_bytes, struct err *err)
{
	if (unit_bytes == 0 || block_bytes % unit_bytes == 0)
		return 0;
	return err_set(err, -EINVAL,
	               "--block=%" PRIu64 " is not a multiple of the sectors of %s; give a multiple of %" PRIu32
	               " bytes.",
	               block_bytes, dev->path, unit_bytes);
}

/* Of which hooks hear. */
static struct session *whole_of(struct session *ses)
{
	return ses->whole ? ses->whole : ses;
}

/* The descriptors of all targets: an engine is chosen and prepared by what they are. NULL: none yet. */
static int *target_fds(const struct session *ses)
{
	int *fds = ses->targets && ses->ndevs ? xcalloc(ses->ndevs, sizeof(*fds)) : NULL;

	for (size_t i = 0; fds && i < ses->ndevs; i++) {
		fds[i] = ses->targets[i].fd;
		if (fds[i] < 0) { /* the measurement opens its files itself, and names them if they are open by now */
			free(fds);
			return NULL;
		}
	}
	return fds;
}

int session_engine(struct session *ses, const struct engine_config *cfg, struct engine **ret_eng, struct err *err)
{
	cleanup_free int *fds = cfg->fds ? NULL : target_fds(ses);
	struct engine_config full = *cfg;
	int r;

	if (fds) {
		full.fds = fds;
		full.nfds = ses->ndevs;
	}
	r = engine_open(ret_eng, ses->env->engines, ses->common->engine ? ses->common->engine : "auto", &full,
	                ses->env->clk, err);
	if (r < 0)
		return r;
	free(ses->res->head.engine);
	ses->res->head.engine = strdup((*ret_eng)->ops->name);
	if ((*ret_eng)->note[0])
		result_notice(ses->res, "engine", "%s", (*ret_eng)->note);
	if (cfg->depth > (*ret_eng)->cfg.depth)
		result_notice(ses->res, "depth", "The %s engine keeps at most %u requests in flight; %u were wanted.",
		              (*ret_eng)->ops->name, (*ret_eng)->cfg.depth, cfg->depth);
	return 0;
}

int session_commands(struct session *ses, const struct engine_config *cfg, struct engine **ret_eng, struct err *err)
{
	const struct engine_ops *const *e = ses->env->engines;

	while (*e && !(*e)->has_commands)
		e++;
	return engine_open(ret_eng, ses->env->engines, *e ? (*e)->name : "none", cfg, ses->env->clk, err);
}

/* Around a load of the measurement's: the account of own I/O, --requests, and the clock. */
struct frame {
	struct feeder feeder; /* first: next() gets a pointer to it */
	struct sink sink;
	struct session *ses;
	const struct load *load;
	struct own_io *own; /* NULL: targets that a measurement opened itself keep their own account */
};

/* What times are ahead of those that the measurement goes by. */
static uint64_t ahead_ns(const struct frame *f)
{
	return f->load->by_own_clock ? session_stopped_ns(f->ses) : 0;
}

static enum feed frame_next(struct feeder *feeder, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	const struct frame *f = (const struct frame *)feeder;
	uint64_t ahead = ahead_ns(f);
	enum feed kind = f->load->feeder->next(f->load->feeder, now_ns - ahead, req, ret_until_ns);

	req->due_ns += req->due_ns ? ahead : 0;
	*ret_until_ns += *ret_until_ns == CLOCK_NEVER ? 0 : ahead;
	return kind;
}

static void frame_take(struct sink *s, const struct io_req *req, bool is_fault)
{
	struct frame *f = (struct frame *)((char *)s - offsetof(struct frame, sink));
	struct sink *next = f->load->sink;
	uint64_t ahead = ahead_ns(f);
	struct own_io *own = f->own ? &f->own[req->target] : NULL;
	struct io_req by_own;

	/* The kernel counts the bytes of a failed request as those of a good one, and those of commands perhaps. */
	if (own && req->res != 0 && (req->op == IO_READ || req->op == IO_READ_FUA)) {
		own->reads++;
		own->read_bytes += req->res > 0 ? (uint64_t)req->res : req->len_bytes;
	} else if (own && req->res != 0 && io_writes(req->op)) {
		own->writes++;
		own->written_bytes += req->res > 0 ? (uint64_t)req->res : req->len_bytes;
	}
	if (f->ses->state->answered_ns < req->done_ns)
		f->ses->state->answered_ns = req->done_ns;
	if (f->ses->state->kept && f->own)
		replay_keep(f->ses, req);
	if (f->ses->hooks.request)
		f->ses->hooks.request(f->ses->hooks.arg, whole_of(f->ses), f->load->targets[req->target].name, req,
		                      is_fault);
	if (next && ahead) {
		by_own = *req;
		by_own.due_ns -= req->due_ns ? ahead : 0;
		by_own.submit_ns -= ahead;
		by_own.done_ns -= ahead;
		req = &by_own;
	}
	if (next)
		next->take(next, req, is_fault);
}

static void take_fault(void *arg, const struct io_fault *fault)
{
	const struct frame *f = arg;
	struct session *ses = f->ses;

	result_fault(ses->res, f->load->targets[fault->target].name, io_op_name(fault->op), fault->offset_bytes,
	             fault->len_bytes, fault->res, (double)(fault->time_ns - ses->start_ns) * 1e-9);
	session_log(ses, "%s: %s of %" PRIu32 " bytes at %" PRIu64 ": %s", f->load->targets[fault->target].name,
	            io_op_name(fault->op), fault->len_bytes, fault->offset_bytes,
	            fault->res < 0 ? err_name(fault->res) : "short transfer");
	ses->state->faults++;
}

static void take_stall(void *arg, uint64_t now_ns, const struct io_req *oldest)
{
	const struct frame *f = arg;
	struct stops *stops = &f->ses->state->stops;

	(void)now_ns;
	if (stops->stalls++ == 0)
		(void)snprintf(stops->first_stall, sizeof(stops->first_stall),
		               "%s, from %.3f s on; the oldest was a %s at %" PRIu64,
		               f->load->targets[oldest->target].name,
		               (double)(oldest->submit_ns - f->ses->start_ns) * 1e-9, io_op_name(oldest->op),
		               oldest->offset_bytes);
	session_progress(f->ses, "stalled", -1.0, "waiting for %" PRIu64, oldest->offset_bytes);
}

static void take_stop(void *arg, uint64_t from_ns, uint64_t to_ns, uint64_t suspended_ns)
{
	const struct frame *f = arg;
	struct stops *stops = &f->ses->state->stops;

	if (stops->n++ == 0)
		stops->first_ns = from_ns;
	stops->by_clock_ns += to_ns - from_ns;
	stops->suspended_ns += suspended_ns;
}

bool session_saves_now(const struct session *ses)
{
	return ses->hooks.checkpoint && clock_now_ns(ses->env->clk) - ses->state->kept_ns >= KEEP_NS;
}

static void save(struct session *ses)
{
	if (ses->hooks.checkpoint && ses->part)
		ses->part->save(ses->whole, ses->res);
	else if (ses->hooks.checkpoint)
		ses->hooks.checkpoint(ses->hooks.arg, ses);
}

static void keep_current(struct session *ses)
{
	bool was_begun = ses->state->is_begun;

	ses->state->is_begun = true;
	if (!was_begun)
		save(ses);
	else if (session_saves_now(ses))
		session_checkpoint(ses);
}

static void forward_tick(void *arg, uint64_t now_ns)
{
	const struct frame *f = arg;

	if (f->load->on_tick)
		f->load->on_tick(f->load->arg, now_ns - ahead_ns(f));
	/* Before the first progress a load may look for what an option needs. */
	if (f->ses->state->is_begun || session_saves_now(f->ses))
		keep_current(f->ses);
}

/*
 * Did io_uring hand requests to threads of the kernel, because the device would have had to wait with them (they are
 * larger than it takes at once)? Flushes always go there, and what makes a file longer: so only runs that read are
 * looked at, and not those that make their own file first.
 */
static void look_for_punting(struct session *ses, const struct engine *eng, const struct load_stats *stats)
{
	unsigned threads;

	if (result_has_notice(ses->res, "punted") || ses->plan->writes != WRITE_NONE || ses->plan->write_bytes ||
	    clock_is_virtual(ses->env->clk) || strcmp(eng->ops->name, "uring") != 0)
		return;
	ses->state->unlooked_ns += stats->end_ns - stats->start_ns;
	if (ses->state->unlooked_ns < PUNT_LOOK_NS)
		return;
	ses->state->unlooked_ns = 0;
	threads = engine_worker_threads();
	if (threads == 0)
		return;
	result_notice(
		ses->res, "punted",
		"io_uring handed requests to threads of the kernel (%u of them), as the device does not take them at once: they cost more CPU time and may be slower; try a smaller --block, or --engine=libaio.",
		threads);
}

int session_load(struct session *ses, struct load *load, struct engine *eng, struct load_stats *ret, struct err *err)
{
	struct frame f = { .feeder.next = frame_next, .sink.take = frame_take, .ses = ses, .load = load };
	bool is_own = load->targets >= ses->targets && load->targets < ses->targets + ses->ndevs;
	uint64_t most = ses->common->max_errors;
	struct load l = *load;
	int r;

	if (is_own)
		f.own = ses->state->own + (load->targets - ses->targets);
	if (is_own || ses->hooks.request || load->by_own_clock)
		l.sink = &f.sink;
	if (load->by_own_clock)
		l.feeder = &f.feeder;
	l.cancel = ses->cancel;
	l.max_faults = !most ? UINT64_MAX : most > ses->state->faults ? most - ses->state->faults : 0;
	l.on_fault = take_fault;
	l.on_tick = forward_tick;
	l.on_stall = take_stall;
	l.on_stopped = take_stop;
	l.arg = &f;
	r = load_run(&l, eng, ret, err);
	if (r < 0)
		return r;
	ses->state->stops.late_requests += ret->late;
	look_for_punting(ses, eng, ret);
	if (ret->end == LOAD_GONE && ret->is_refused) {
		ses->state->lost = LOST_REFUSES;
	} else if (ret->end == LOAD_GONE) {
		ses->state->lost = LOST_GONE;
		result_notice(ses->res, "device-gone",
		              "%s disappeared %.3f s after the start; what was measured until then is kept.",
		              load->targets[ret->gone_target].name, (double)(ret->last_done_ns - ses->start_ns) * 1e-9);
	}
	if (ret->end == LOAD_FAULTS)
		ses->state->lost = LOST_ERRORS;
	return 0;
}

int session_fault(struct session *ses, const char *target, const char *op, uint64_t offset_bytes, uint64_t len_bytes,
                  int64_t res)
{
	result_fault(ses->res, target, op, offset_bytes, len_bytes, res,
	             (double)(clock_now_ns(ses->env->clk) - ses->start_ns) * 1e-9);
	if (ses->common->max_errors && result_fault_count(ses->res) > ses->common->max_errors)
		ses->state->lost = LOST_ERRORS;
	return res < 0 ? (int)res : -EIO;
}

void session_moved(struct session *ses, size_t target, uint64_t read_bytes, uint64_t written_bytes)
{
	ses->state->own[target].read_bytes += read_bytes;
	ses->state->own[target].written_bytes += written_bytes;
}

const struct device_health *session_health(const struct session *ses, size_t i)
{
	return &ses->state->health[i];
}

double session_precision(const struct session *ses)
{
	return ses->common->precision > 0.0 ? ses->common->precision : ses->measure->precision;
}

void session_checkpoint(struct session *ses)
{
	ses->state->kept_ns = clock_now_ns(ses->env->clk);
	ses->state->is_begun = true;
	ses->res->head.elapsed_s = (double)(ses->state->kept_ns - ses->start_ns) * 1e-9;
	save(ses);
}

/* The one that the cli opened before the run; without a cli, one of the session's own. */
static struct outfile *file_of(struct session *ses, const char *path, enum outfile_kind kind, int *ret, struct err *err)
{
	struct outfile *f = outfiles_find(&ses->common->files, path);

	*ret = 0;
	if (!f)
		f = outfiles_find(&ses->state->files, path);
	if (!f) {
		*ret = outfiles_add(&ses->state->files, NULL, path, kind, ses->common->is_forced, err);
		f = outfiles_find(&ses->state->files, path);
	}
	return f;
}

int session_save(struct session *ses, const char *path, enum outfile_kind kind, int (*write)(FILE *out, void *arg),
                 void *arg, struct err *err)
{
	struct err why = { 0 };
	int r, before;
	struct outfile *f = file_of(ses, path, kind, &r, err);

	if (r < 0)
		return r;
	before = f->trouble;
	if (outfile_save(f, write, arg, &why) < 0 && before == 0) {
		session_log(ses, "%s", why.text);
		if (ses->hooks.warn)
			ses->hooks.warn(ses->hooks.arg, whole_of(ses), why.text);
	}
	return 0;
}

int session_grow(struct session *ses, const char *path, enum outfile_kind kind, struct err *err)
{
	int r;
	struct outfile *f = file_of(ses, path, kind, &r, err);

	return r < 0 ? r : outfile_grow(f, err);
}

/* How far the whole is, when this part of it is so far: it never goes back when a part ends early. */
static double done_of_whole(const struct session *ses, double done)
{
	const struct session_part *part = ses->part;

	if (!part || done < 0.0)
		return done;
	done = part->from + fmin(done, 1.0) * (part->to - part->from);
	ses->state->done = fmax(ses->state->done, fmin(done, 1.0));
	return ses->state->done;
}

void session_progress(struct session *ses, const char *phase, double done, const char *figure_fmt, ...)
{
	char figure[96], named[128];
	va_list ap;

	keep_current(ses);
	if (!ses->hooks.progress)
		return;
	if (figure_fmt) {
		va_start(ap, figure_fmt);
		(void)vsnprintf(figure, sizeof(figure), figure_fmt, ap); /* cut is fine */
		va_end(ap);
	}
	if (ses->part) {
		(void)snprintf(named, sizeof(named), "%s: %s", ses->measure->name, phase);
		phase = named;
	}
	ses->hooks.progress(ses->hooks.arg, whole_of(ses), phase, done_of_whole(ses, done), figure_fmt ? figure : NULL);
}

void session_map(struct session *ses, const uint8_t *cells, size_t n)
{
	if (ses->hooks.map)
		ses->hooks.map(ses->hooks.arg, ses, cells, n);
}

void session_log(struct session *ses, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	if (!ses->hooks.log)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap); /* cut is fine */
	va_end(ap);
	if (ses->part)
		session_log(ses->whole, "%s: %s", ses->measure->name, line);
	else
		ses->hooks.log(ses->hooks.arg, ses, line);
}

void session_rng(const struct session *ses, uint64_t stream, struct rng *ret)
{
	rng_init(ret, ses->seed, stream);
}

/* ---- when a run has to end, and why ---- */

bool session_is_over(const struct session *ses)
{
	return ses->state->lost || (ses->cancel && *ses->cancel);
}

const char *session_why_over(const struct session *ses)
{
	static const char *const why[] = { [LOST_GONE] = "the disk disappeared",
		                           [LOST_REFUSES] = "the kernel refused a request",
		                           [LOST_ERRORS] = "as many errors as --max-errors allows" };

	if (ses->state->lost != LOST_GONE && ses->cancel && *ses->cancel)
		return "it was interrupted";
	if (ses->state->lost)
		return why[ses->state->lost];
	return session_time_left_ns(ses) == 0 ? "--time ran out" : NULL;
}

void session_ended_early(struct session *ses)
{
	ses->state->is_early = true;
}

uint64_t session_answered_ns(const struct session *ses)
{
	return ses->state->answered_ns > ses->start_ns ? ses->state->answered_ns : ses->start_ns;
}
