/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frame around every measurement: probe, plan, permits, open, run, watch, document. What run() calls meanwhile is
 * in steps.c. */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/caller.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "device/columns.h"
#include "session/internal.h"

/* ---- the head of the document ---- */

static void fill_head(struct session *ses, const struct session_config *cfg)
{
	struct result *res = ses->res;
	char started[32];

	res->head.started = strdup(clock_wall_text(started, sizeof(started)));
	res->head.clock = strdup(ses->env->clk->name);
	res->head.seed = ses->seed;
	result_argv(res, cfg->argv, cfg->argc);
	for (size_t i = 0; i < cfg->noptions; i++)
		result_option(res, cfg->options[i].name, cfg->options[i].text);
}

/* ---- targets ---- */

/* A file that does not exist yet: what is known of it is its folder's. */
static int probe_absent(struct session *ses, const char *path, struct device *ret, struct err *err)
{
	const char *slash = strrchr(path, '/');
	char dir[256];
	int r;

	if (strlen(path) >= sizeof(ret->path))
		return err_set(err, -ENAMETOOLONG, "The path %.60s... is too long.", path);
	(void)snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) + (slash == path) : 1, slash ? path : ".");
	r = ses->env->devices->probe(ses->env->devices_ctx, dir, ret, err);
	if (r < 0)
		return r;
	if (ret->kind != DEVICE_DIRECTORY)
		return err_set(err, -ENOTDIR, "%s is not a directory, so %s cannot be made in it.", dir, path);
	ret->kind = DEVICE_FILE;
	ret->size_bytes = 0;
	ret->file.inode = 0;
	(void)snprintf(ret->path, sizeof(ret->path), "%s", path);
	(void)snprintf(ret->node, sizeof(ret->node), "%s", path);
	(void)snprintf(ret->name, sizeof(ret->name), "%.60s", slash ? slash + 1 : path);
	return 0;
}

static int probe_targets(struct session *ses, const struct session_config *cfg, struct err *err)
{
	const struct measure *m = cfg->measure;

	free(ses->devs);
	ses->ndevs = 0;
	ses->devs = xcalloc(cfg->npaths + 1, sizeof(*ses->devs));
	for (size_t i = 0; i < cfg->npaths; i++) {
		struct err why = { 0 };
		int r = ses->env->devices->probe(ses->env->devices_ctx, cfg->paths[i], &ses->devs[i], &why);

		if (r == -ENOENT && m->may_create)
			r = probe_absent(ses, cfg->paths[i], &ses->devs[i], &why);
		if (r < 0) {
			(void)err_set(err, r, "%s", why.text);
			return r;
		}
		ses->ndevs++;
	}
	return 0;
}

void session_describe(struct session *ses)
{
	machine_describe(ses->res, ses->env->sysroot);
	for (size_t i = 0; i < ses->ndevs; i++) {
		struct device_row row;

		device_row(&ses->devs[i], &row);
		result_target(ses->res, &row, device_fields);
	}
}

static bool target_is_there(void *arg)
{
	const struct there *t = arg;
	const struct env *env = t->ses->env;

	return env->devices->is_there(env->devices_ctx, &t->ses->devs[t->index], t->ses->targets[t->index].fd);
}

/* By the graph of devices and files: the cli has compared names only. */
static int check_files(const struct session *ses, bool *ret_refused, struct err *err)
{
	const struct device_ops *ops = ses->env->devices;

	for (const struct outfile *f = ses->common->files.first; f && ops->holds; f = f->next)
		for (size_t i = 0; i < ses->ndevs; i++)
			if (ops->holds(ses->env->devices_ctx, &ses->devs[i], f->path, true)) {
				*ret_refused = true;
				return err_set(err, -EPERM,
				               "--%s: %s stands below or above %s, or is it; give another path.",
				               f->option, f->path, ses->devs[i].path);
			}
	return 0;
}

/* What is against writing without forbidding it: a notice, shown at once, as afterwards it would be too late. */
static void report_warnings(struct session *ses, const struct survey *found)
{
	char text[512];

	for (size_t k = 0; k < found->n; k++) {
		(void)finding_text(&found->v[k], text, sizeof(text));
		result_notice(ses->res, finding_kind_name(found->v[k].kind), "%s", text);
		if (found->v[k].kind == FINDING_DATA && ses->hooks.warn)
			ses->hooks.warn(ses->hooks.arg, ses, text);
	}
}

static int get_permits(struct session *ses, bool *ret_refused, struct err *err)
{
	const struct plan *plan = ses->plan;

	if (plan->writes == WRITE_NONE || plan->opens_itself)
		return 0;
	for (size_t i = 0; i < ses->ndevs; i++) {
		struct survey found = { 0 };
		int r = permit_acquire(&ses->permits[i], ses->env->devices, ses->env->devices_ctx, &ses->devs[i],
		                       plan->writes, &ses->common->consent, &found, err);

		if (r == 0)
			report_warnings(ses, &found);
		survey_done(&found);
		if (r < 0) {
			*ret_refused = r == -EBUSY || r == -EPERM || r == -EROFS;
			return r;
		}
	}
	return 0;
}

static int open_targets(struct session *ses, struct err *err)
{
	const struct plan *plan = ses->plan;

	if (plan->opens_itself)
		return 0;
	for (size_t i = 0; i < ses->ndevs; i++) {
		const struct device *dev = &ses->devs[i];
		struct target *t = &ses->targets[i];
		int fd = ses->env->devices->open(ses->env->devices_ctx, dev, ses->permits[i],
		                                 plan->is_direct ? DEVICE_OPEN_DIRECT : 0, err);

		if (fd < 0)
			return fd;
		*t = (struct target){
			.name = dev->path,
			.fd = fd,
			.size_bytes = dev->size_bytes,
			.align_bytes = plan->is_direct ? device_direct_align(dev) : 1,
			.permit = ses->permits[i],
			.touch_first = plan->touch_first,
			.touch_end = plan->touch_end,
			.is_there = ses->env->devices->is_there ? target_is_there : NULL,
			.is_there_arg = &ses->state->there[i],
		};
	}
	return 0;
}

/* Files whose bytes are read: what is not on a disk is not measured as one. */
static int check_medium(struct session *ses, struct err *err)
{
	const struct plan *plan = ses->plan;
	int r = 0;

	for (size_t i = 0; i < ses->ndevs && r == 0 && plan->writes != WRITE_DESTROY && !plan->opens_itself; i++) {
		const struct device *dev = &ses->devs[i];
		uint64_t first = plan->reads_data ? datafile_first_byte(dev) : 0,
			 size = plan->reads_data ? datafile_end_byte(dev) : dev->size_bytes,
			 end = plan->touch_end && plan->touch_end < size ? plan->touch_end : size;

		r = session_medium(ses, i, first > plan->touch_first ? first : plan->touch_first, end, plan->is_direct,
		                   err);
	}
	return r;
}

static void close_targets(struct session *ses)
{
	for (size_t i = 0; ses->targets && i < ses->ndevs; i++)
		if (ses->targets[i].fd >= 0)
			ses->env->devices->close(ses->env->devices_ctx, ses->targets[i].fd);
	for (size_t i = 0; ses->permits && i < ses->ndevs; i++)
		permit_release(ses->permits[i]);
}

/* ---- --dry-run ---- */

struct plan_row {
	const char *phase;
	uint64_t expect_ns;
};

static const struct field plan_fields[] = {
	FIELD_STR(struct plan_row, phase, "phase"),
	FIELD_U64(struct plan_row, expect_ns, UNIT_NS, "expected"),
	FIELD_END,
};

/* The plan as a document: what would be read and written, where, how long; and whether the write gate would open. */
static void print_plan(struct session *ses)
{
	const struct plan *plan = ses->plan;
	struct table *t = result_table(ses->res, "plan", "Plan (nothing was done)", plan_fields);
	uint64_t end = plan->touch_end ? plan->touch_end : ses->ndevs ? ses->devs[0].size_bytes : 0, total_ns = 0;
	struct plan_row row;
	char answer[128], took[32];

	for (size_t i = 0; i < plan->nphases; i++) {
		row = (struct plan_row){ plan->phases[i].name, plan->phases[i].expect_ns };
		result_row(t, &row);
		total_ns += row.expect_ns;
	}
	result_figure_u64(ses->res, "expect_ns", "expected time", UNIT_NS, total_ns);
	if (plan->read_bytes != UINT64_MAX)
		result_figure_u64(ses->res, "read_bytes", "reads at most", UNIT_BYTES, plan->read_bytes);
	if (plan->write_bytes != UINT64_MAX)
		result_figure_u64(ses->res, "write_bytes", "writes at most", UNIT_BYTES, plan->write_bytes);
	if (plan->journal_bytes)
		result_figure_u64(ses->res, "journal_bytes", "size of the journal", UNIT_BYTES, plan->journal_bytes);
	if (end) {
		result_figure_u64(ses->res, "touch_first_bytes", "first byte touched", UNIT_BYTES, plan->touch_first);
		result_figure_u64(ses->res, "touch_end_bytes", "end of the bytes touched", UNIT_BYTES, end);
	}
	result_figure_text(ses->res, "writes", "writing",
	                   plan->writes == WRITE_SAME   ? "the same bytes back"
	                   : plan->writes != WRITE_NONE ? "destroys data"
	                   : plan->write_bytes          ? "files of its own"
	                                                : "nothing");
	(void)snprintf(answer, sizeof(answer), "Nothing was done; the run would take about %s.",
	               units_time(took, sizeof(took), total_ns));
	result_set(&ses->res->answer, answer);
	for (size_t i = 0; plan->writes != WRITE_NONE && !plan->opens_itself && i < ses->ndevs; i++) {
		struct survey found = { 0 };
		struct err why = { 0 };
		char text[512];
		int r = ses->env->devices->survey(ses->env->devices_ctx, &ses->devs[i], &found, &why);

		if (r == 0)
			survey_outputs(ses->env->devices, ses->env->devices_ctx, &ses->devs[i],
			               &ses->common->consent.outputs, &found);
		if (r == 0)
			r = permit_would(&ses->devs[i], &found, plan->writes, &ses->common->consent, &why);
		if (r < 0)
			result_notice(ses->res, "would-refuse", "This would be refused: %s", why.text);
		for (size_t k = 0; plan->writes == WRITE_DESTROY && k < found.n; k++)
			if (found.v[k].kind == FINDING_DATA)
				result_notice(ses->res, finding_kind_name(FINDING_DATA), "%s",
				              finding_text(&found.v[k], text, sizeof(text)));
		survey_done(&found);
	}
}

/* ---- how it ended ---- */

uint64_t session_time_left_ns(const struct session *ses)
{
	uint64_t spent = clock_now_ns(ses->env->clk) - ses->start_ns;

	if (ses->common->time_ns == 0)
		return UINT64_MAX;
	return spent < ses->common->time_ns ? ses->common->time_ns - spent : 0;
}

static bool is_early(const struct session *ses)
{
	return ses->state->is_early || (!ses->plan->lasts && session_time_left_ns(ses) == 0);
}

enum result_status session_status(const struct session *ses, int r)
{
	if (r < 0)
		return STATUS_FAILED;
	if (ses->state->lost == LOST_GONE)
		return STATUS_DEVICE_GONE;
	if (ses->cancel && *ses->cancel)
		return STATUS_CANCELLED;
	if (result_fault_count(ses->res))
		return STATUS_WITH_ERRORS;
	return is_early(ses) ? STATUS_ENDED_EARLY : STATUS_COMPLETE;
}

/* Nothing of this is the disk's fault. */
static int refused(const struct result *res, struct err *err)
{
	for (size_t i = 0; i < res->nfaults; i++) {
		const struct result_fault *f = &res->faults[i];

		if (err_is_refusal((int)f->result))
			return err_set(err, -EOPNOTSUPP,
			               "The kernel refused a %s of %" PRIu64 " bytes at %" PRIu64
			               " of %s (%s), so no disk has seen it: the figures are of what was done before. "
			               "See dmesg for what has changed, and run it again.",
			               f->op, f->length_bytes, f->offset_bytes, f->target, f->errno_name);
	}
	return err_set(err, -ENOSPC,
	               "The file system took no more (it is full, a quota is used up, or the file is too large): the "
	               "figures are of what was done before. Nothing of this is the disk's fault.");
}

/* At the end of the whole: what is returned. */
static int end(struct session *ses, int r, struct err *err)
{
	const struct figure *said = result_find_figure(ses->res, "ended_by");
	uint64_t faults = result_fault_count(ses->res);

	if (r == 0 && result_limit_count(ses->res) && !faults)
		r = refused(ses->res, err);
	if (ses->state->lost == LOST_ERRORS)
		result_notice(ses->res, "too-many-errors",
		              "Too many errors ended the run: %" PRIu64 "; --max-errors allows more.", faults);
	else if (r == 0 && faults && is_early(ses)) /* its status says only the former */
		result_notice(ses->res, "time-over", "The run ended early: %s.",
		              said && !said->value.is_null ? said->value.str : "--time ran out");
	return r;
}

/* ---- the run ---- */

static void session_init(struct session *ses, const struct session_config *cfg)
{
	size_t n = cfg->npaths + 1;

	ses->state = xcalloc(1, sizeof(*ses->state));
	ses->targets = xcalloc(n, sizeof(*ses->targets));
	ses->permits = xcalloc(n, sizeof(*ses->permits));
	ses->state->own = xcalloc(n, sizeof(*ses->state->own));
	ses->state->there = xcalloc(n, sizeof(*ses->state->there));
	ses->state->health = xcalloc(n, sizeof(*ses->state->health));
	for (size_t i = 0; i < n; i++) {
		ses->targets[i].fd = -1;
		ses->state->there[i].ses = ses;
		ses->state->there[i].index = i;
	}
}

static void session_done(struct session *ses)
{
	close_targets(ses);
	free(ses->devs);
	free(ses->targets);
	free(ses->permits);
	outfiles_done(&ses->state->files);
	free(ses->state->own);
	free(ses->state->there);
	free(ses->state->health);
	free(ses->state);
}

/* Makes the host quiet for the run; what could be had goes into the document. Returns the descriptor that holds it, or
 * -1. */
static int quiet_host(struct session *ses)
{
	struct err why = { 0 };
	int fd = -1;

	if (clock_is_virtual(ses->env->clk))
		return -1; /* virtual time */
	host_timer_slack();
	if (ses->plan->is_latency) {
		fd = host_cpu_latency_hold(&why);
		if (fd < 0)
			result_notice(ses->res, "cpu-latency", "%s", why.text);
	}
	result_option(ses->res, "cpu-latency-held", fd >= 0 ? "yes" : "no");
	return fd;
}

/* ---- privileges ---- */

/*
 * Only root may open disks, ask for real time and look who uses a device. All this is done before the first request; a
 * run of hours needs none of it, so a fault in it shall not be able to mount, load, trace or open raw memory.
 */

/*
 * What stays: results and files of the measurement go into folders of others and are theirs (CHOWN, DAC_OVERRIDE;
 * FOWNER, without which mincore() reports nothing of files of others); rings and registered buffers are locked memory
 * (IPC_LOCK). Under sudo the caller's identity is taken for each output (base/caller.h; SETUID, SETGID).
 */
#define KEPT       (1ull << CAP_CHOWN | 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_FOWNER | 1ull << CAP_IPC_LOCK)
#define FOR_CALLER (1ull << CAP_SETUID | 1ull << CAP_SETGID)

/*
 * Gives up every capability that a running measurement has no use for, for good. 0, also when there was nothing to give
 * up; or a negative errno and a sentence.
 */
static int privileges_drop(struct err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const uint64_t kept = KEPT | (caller_is_known() ? FOR_CALLER : 0);
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	memset(caps, 0, sizeof(caps));
	if (syscall(SYS_capget, &head, caps) < 0)
		return err_set(err, -errno, "Privileges could not be read (%s); the run keeps all of them.",
		               err_name(errno));
	/* What is not in the bounding set does not come back by executing. Wants CAP_SETPCAP, so it is first. */
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (!(kept >> cap & 1))
			(void)prctl(PR_CAPBSET_DROP, cap, 0, 0,
			            0); /* an ordinary user may not, and has nothing to lose */
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		caps[i].permitted &= (uint32_t)(kept >> (32 * i));
		caps[i].effective = caps[i].permitted;
		caps[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &head, caps) < 0)
		return err_set(err, -errno, "Privileges could not be given up (%s); the run keeps all of them.",
		               err_name(errno));
	return 0;
}

/* Everything that only root may open is open; is_there() and what measurements open themselves (files) need no more. */
static void drop_privileges(struct session *ses)
{
	struct err why = { 0 };

	if (ses->env->drops_privileges && !ses->plan->keeps_privileges && privileges_drop(&why) < 0)
		result_notice(ses->res, "privileges", "%s", why.text);
}

/* A step that failed because a target is not there any more is the disk's trouble, not ours: what was measured is kept,
 * and the sentence. */
static int blame_lost_target(struct session *ses, int r, const struct err *err)
{
	const char *lost = ses->state->lost == LOST_GONE ? "A target" : NULL;

	for (size_t i = 0; i < ses->ndevs; i++) {
		const struct target *t = &ses->targets[i];

		if (t->fd >= 0 && t->is_there && !t->is_there(t->is_there_arg))
			lost = t->name;
	}
	if (!lost)
		return r;
	ses->state->lost = LOST_GONE;
	result_notice(ses->res, "device-gone", "%s disappeared during the run. %s", lost, err->text);
	return 0;
}

/* What such a disk writes goes to a cache first: how fast it is until that is full is another thing than how fast the
 * disk is. */
static void report_shingled(struct session *ses)
{
	for (size_t i = 0; ses->plan->write_bytes && i < ses->ndevs; i++) {
		const struct device *dev = &ses->devs[i];

		if (device_is_zoned(dev))
			result_notice(
				ses->res, "shingled",
				"%s lies on a %s zoned (shingled) disk: times of writing may be those of its cache, and "
				"much longer when that is full. `platter smr` measures its size.",
				dev->path, dev->queue.zoned);
	}
}

/* Targets are probed: plan, then either print the plan or open what it names. */
static int plan_and_open(struct session *ses, const struct session_config *cfg, struct plan *plan, bool *ret_refused,
                         struct err *err)
{
	int r;

	ses->plan = plan;
	for (size_t i = 0; i < ses->ndevs; i++) {
		r = session_takes(cfg->measure, &ses->devs[i], err);
		if (r < 0)
			return r;
	}
	r = cfg->measure->plan(ses, cfg->params, plan, err) ?: lanes_check(ses, err);
	if (r < 0)
		return r;
	if (ses->common->dry_run) {
		print_plan(ses);
		return 0;
	}
	report_shingled(ses);
	session_medium_of_writes(ses);
	r = check_medium(ses, err) ?: get_permits(ses, ret_refused, err);
	return r < 0 ? r : open_targets(ses, err);
}

static int run(struct session *ses, const struct session_config *cfg, struct err *err)
{
	struct watch *watch;
	cleanup_close int host_fd = -1;
	int health_fd, r;

	watch_settings(ses);
	health_fd = health_before(ses);
	host_fd = quiet_host(ses);
	drop_privileges(ses);
	watch = watch_start(ses);
	ses->start_ns = clock_now_ns(ses->env->clk);
	ses->res->status = STATUS_RUNNING;
	ses->state->kept_ns = ses->start_ns;
	r = cfg->measure->run(ses, cfg->params, err);
	if (r < 0 && err)
		r = blame_lost_target(ses, r, err);
	if (ses->state->is_begun || (r != -EINVAL && r != -EEXIST)) /* else the run refused what it was given */
		ses->res->head.elapsed_s = (double)(clock_now_ns(ses->env->clk) - ses->start_ns) * 1e-9;
	watch_end(watch, ses);
	health_after(ses, health_fd);
	return end(ses, r, err);
}

int session_run(const struct session_config *cfg, struct result **ret_res, bool *ret_refused, struct err *err)
{
	struct session ses = {
		.env = cfg->env,
		.common = cfg->common,
		.measure = cfg->measure,
		.cancel = cfg->cancel,
		.hooks = cfg->hooks,
		.seed = cfg->common->seed ? cfg->common->seed : session_fresh_seed(cfg->env->clk),
	};
	struct plan plan = { .is_direct = true, .read_bytes = UINT64_MAX };
	int r;

	*ret_refused = false;
	*ret_res = NULL;
	session_init(&ses, cfg);
	ses.res = result_new(cfg->measure->name);
	fill_head(&ses, cfg);
	r = probe_targets(&ses, cfg, err);
	session_describe(&ses);
	if (r == 0)
		r = check_files(&ses, ret_refused, err);
	if (r == 0)
		r = plan_and_open(&ses, cfg, &plan, ret_refused, err);
	if (r == 0 && !cfg->common->dry_run)
		r = run(&ses, cfg, err);
	ses.res->status = session_status(&ses, r);
	if (r == 0 && !cfg->common->dry_run && cfg->measure->conclude)
		cfg->measure->conclude(&ses, ses.res);
	*ret_res = ses.res;
	session_done(&ses);
	return r;
}
