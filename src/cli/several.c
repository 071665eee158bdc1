/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One measurement of several targets, each by a process of its own: a disk that hangs, or a process that dies, takes no
 * other with it. All are forked before any begins; those that share a link wait for their turn. A process sends what
 * would go to standard error, its progress as JSON lines, and behind a form feed its document.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/opt_help.h"
#include "base/xalloc.h"
#include "cli/execute.h"

#define DOCUMENT  "\f\n"
#define NO_STATUS (-1)

struct one {
	const char *path;
	size_t lane;
	pid_t pid;
	int fd;         /* to it and from it; -1: closed */
	bool has_begun; /* a byte was sent that lets it */
	char *text;     /* of what it sent, what is not a whole line yet; then the document */
	size_t len;
	bool is_document; /* that has begun */
	double done;
	int status; /* NO_STATUS: it runs */
};

struct all {
	struct run *run;
	struct one *v;
	size_t n;
	int signals; /* descriptor */
	sigset_t before;
};

static int run_one(struct run *run, size_t i, FILE *to, struct result **ret);

static void close_end(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* ---- in the process ---- */

/* Returns in the process that runs the target: its status is the end of it. */
static void be_one(struct all *all, size_t i, int fd)
{
	struct run *run = all->run;
	FILE *out = fdopen(fd, "w");
	struct result *res = NULL;
	int status = EXIT_FAILED;
	char turn;
	ssize_t n;

	(void)close(all->signals);
	(void)sigprocmask(SIG_SETMASK, &all->before, NULL);
	do {
		n = read(fd, &turn, 1);
	} while (n < 0 && errno == EINTR && atomic_load(&cli_signal) == 0);
	if (n < 0 && out) {
		(void)fprintf(out, "platter %s: %s was not measured: the run ended before its turn.\n", run->m->name,
		              run->operands[i]);
		(void)fflush(out);
	}
	if (n != 1 || !out)
		_exit(n < 0 ? EXIT_SIGNAL + atomic_load(&cli_signal) : EXIT_FAILED);
	(void)setvbuf(out, NULL, _IOLBF, 0);
	status = run_one(run, i, out, &res);
	if (res && (fputs(DOCUMENT, out) < 0 || result_write(out, res) < 0 || fflush(out) != 0))
		status = EXIT_FAILED;
	_exit(status);
}

static int start_one(struct all *all, size_t i, struct err *err)
{
	struct one *one = &all->v[i];
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(err, -errno, "A pipe could not be made (%s).", err_name(errno));
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	one->pid = fork();
	if (one->pid == 0) {
		(void)close(ends[0]); /* else nobody's end would be seen */
		for (size_t k = 0; k < i; k++)
			(void)close(all->v[k].fd); /* else the end of those would not be seen */
		be_one(all, i, ends[1]);
	}
	(void)close(ends[1]);
	one->fd = ends[0];
	if (one->pid > 0)
		return 0;
	one->status = EXIT_FAILED;
	return err_set(err, -errno, "A process for %s could not be made (%s).", one->path, err_name(errno));
}

/* ---- what they send ---- */

static void report_progress(struct all *all, const struct one *of, const json_t *line)
{
	double least = 1.0;
	char phase[320];
	size_t over = 0, n = all->n;

	/* The lane with the longest way decides. */
	for (size_t i = 0; i < n; i++) {
		double sum = 0.0, in_lane = 0.0;

		over += all->v[i].status != NO_STATUS;
		for (size_t k = 0; k < n; k++)
			if (all->v[k].lane == all->v[i].lane) {
				sum += all->v[k].status != NO_STATUS ? 1.0 : all->v[k].done;
				in_lane++;
			}
		least = fmin(least, sum / in_lane);
	}
	(void)snprintf(phase, sizeof(phase), "%zu of %zu done, %s: %s", over, n, of->path,
	               json_string_value(json_object_get(line, "phase")) ?: "over");
	progress_update(all->run->progress, phase, least, json_string_value(json_object_get(line, "figure")));
}

static void take_line(struct all *all, struct one *one, const char *text, size_t len)
{
	json_t *line = *text == '{' ? json_loadb(text, len, 0, NULL) : NULL;

	if (line) {
		one->done = fmax(one->done, json_number_value(json_object_get(line, "done")));
		report_progress(all, one, line);
	} else {
		progress_clear(all->run->progress);
		(void)fwrite(text, 1, len, all->run->env->err);
		(void)fputc('\n', all->run->env->err);
		(void)fflush(all->run->env->err); /* nothing can be done about it */
	}
	json_decref(line);
}

static void take_lines(struct all *all, struct one *one)
{
	char *end;

	while (!one->is_document && (end = memchr(one->text, '\n', one->len)) != NULL) {
		size_t len = (size_t)(end - one->text) + 1;

		one->is_document = len == strlen(DOCUMENT) && memcmp(one->text, DOCUMENT, len) == 0;
		if (!one->is_document)
			take_line(all, one, one->text, len - 1);
		one->len -= len;
		memmove(one->text, one->text + len, one->len);
	}
}

/* All that is there. */
static void take(struct all *all, struct one *one)
{
	while (one->fd >= 0) {
		char *more = realloc(one->text, one->len + 65536);
		ssize_t n = more ? read(one->fd, more + one->len, 65536) : 0;

		one->text = more ? more : one->text;
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return;
		if (n <= 0) {
			close_end(&one->fd);
			return;
		}
		one->len += (size_t)n;
		take_lines(all, one);
	}
}

/* ---- turns ---- */

/* The next of a lane where none runs. */
static void give_turns(struct all *all)
{
	for (size_t i = 0; i < all->n; i++) {
		bool is_free = all->v[i].status == NO_STATUS && !all->v[i].has_begun;

		for (size_t k = 0; k < all->n && is_free; k++)
			is_free = !(all->v[k].lane == all->v[i].lane && all->v[k].has_begun &&
			            all->v[k].status == NO_STATUS);
		if (!is_free)
			continue;
		(void)!send(all->v[i].fd, "", 1, MSG_NOSIGNAL); /* one that is gone is seen by its end */
		all->v[i].has_begun = true;
	}
}

/* Has it ended? Who has the other end of its pipe besides is not waited for. */
static bool reap(struct all *all, struct one *one, int how)
{
	struct err err = { 0 };
	int status = 0;
	pid_t r;

	do {
		r = waitpid(one->pid, &status, how);
	} while (r < 0 && errno == EINTR);
	if (r == 0)
		return false;
	take(all, one);
	close_end(&one->fd);
	one->status = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
	if (WIFSIGNALED(status) && atomic_load(&cli_signal))
		one->status = EXIT_SIGNAL + WTERMSIG(status);
	else if (WIFSIGNALED(status)) {
		progress_clear(all->run->progress);
		(void)err_set(&err, -ECHILD, "The process that measured %s was ended by signal %d; measure it again.",
		              one->path, WTERMSIG(status));
		cli_complain(all->run->env, all->run->m->name, &err);
	}
	report_progress(all, one, NULL);
	return true;
}

/* A process that hangs does not end by the first signal: nobody waits for it after the second. */
static void pass_signals(struct all *all)
{
	int number, which;

	while ((which = signals_take(all->signals, &number)) > 0) {
		for (size_t i = 0; i < all->n; i++)
			if (all->v[i].status == NO_STATUS)
				(void)sigqueue(all->v[i].pid, number, (union sigval){ .sival_int = which });
		if (which == 1)
			continue;
		(void)sigprocmask(SIG_SETMASK, &all->before, NULL);
		(void)raise(number);
	}
}

static void follow(struct all *all)
{
	size_t n = all->n, running = n;
	cleanup_free struct pollfd *fds = xcalloc(n + 1, sizeof(*fds));

	while (running) {
		give_turns(all);
		for (size_t i = 0; i < n; i++)
			fds[i] = (struct pollfd){ .fd = all->v[i].fd, .events = POLLIN };
		fds[n] = (struct pollfd){ .fd = all->signals, .events = POLLIN };
		(void)poll(fds, n + 1, -1);
		pass_signals(all);
		for (size_t i = 0; i < n; i++) {
			take(all, &all->v[i]);
			running -= all->v[i].status == NO_STATUS && reap(all, &all->v[i], WNOHANG);
		}
	}
}

/* ---- all of it ---- */

/* What is certain whatever else is missing comes first, then what could not be done, then what is not certain. */
static int worst(const struct one *v, size_t n)
{
	static const int order[] = { EXIT_VERDICT_NO,  EXIT_FAILED,       EXIT_USAGE, EXIT_REFUSED,
		                     EXIT_DISK_ERRORS, EXIT_VERDICT_OPEN, EXIT_DONE };
	size_t at = ARRAY_LEN(order) - 1;

	for (size_t i = 0; i < n; i++) {
		if (v[i].status > EXIT_SIGNAL)
			return v[i].status;
		for (size_t k = 0; k < at; k++)
			at = order[k] == v[i].status ? k : at;
	}
	return order[at];
}

static int run_all(struct all *all, struct err *err)
{
	size_t started = 0;
	int r = 0;

	all->signals = signals_open(&all->before);
	if (all->signals < 0)
		r = err_set(err, -errno, "Signals could not be waited for (%s).", err_name(errno));
	for (; r == 0 && started < all->n; started += r == 0)
		r = start_one(all, started, err);
	for (size_t i = 0; r < 0 && i < started; i++) { /* none has begun */
		(void)shutdown(all->v[i].fd, SHUT_WR);
		(void)reap(all, &all->v[i], 0);
	}
	if (r == 0)
		follow(all);
	close_end(&all->signals);
	(void)sigprocmask(SIG_SETMASK, &all->before, NULL);
	progress_clear(all->run->progress);
	return r;
}

static int show_all(struct all *all)
{
	struct run *run = all->run;
	cleanup_free struct result **docs = xcalloc(all->n + 1, sizeof(struct result *));
	size_t n = 0;
	int status = worst(all->v, all->n);

	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].is_document && result_from_json(&docs[n], all->v[i].text, all->v[i].len, NULL) == 0)
			n++;
	run->p.jsonl = NULL; /* has them */
	if (n)
		run_save_and_show(run, (const struct result *const *)docs, n);
	for (size_t i = 0; i < n; i++)
		result_free(docs[i]);
	return run->save_err.code && status < EXIT_SIGNAL ? EXIT_FAILED : status;
}

/* ---- for run.c ---- */

bool several_is_asked(const struct run *run)
{
	return run->m->is_each_alone && run->noperands > 1;
}

/* "shelf.json" for /dev/sdb: "shelf-sdb.json". */
static char *name_for(const char *json, const char *path)
{
	size_t len = strlen(json), ending = len > 5 && strcmp(json + len - 5, ".json") == 0 ? 5 : 0;
	const char *slash = strrchr(path, '/');
	char *name = NULL;

	return asprintf(&name, "%.*s-%s%s", (int)(len - ending), json, slash ? slash + 1 : path, json + len - ending) <
	                       0
	               ? NULL
	               : name;
}

/* In place of --json, which is of one document; on standard output all stand, one behind the other. */
int several_names(struct run *run, struct err *err)
{
	const char *json = run->p.json;
	size_t n = run->noperands;
	int r = 0;

	for (const struct opt *o = run->m->opts; o && o->type != OPT_TYPE_END; o++) {
		cleanup_free char *value = o->writes == OUTFILE_STATE ? opt_value_text(o, run->own) : NULL;

		if (value && *value)
			return err_set(err, -EINVAL, "--%s is of one disk; run `platter %s` for each.", o->name,
			               run->m->name);
	}
	if (run->p.requests)
		return err_set(err, -EINVAL, "--requests is of one disk; run `platter %s` for each.", run->m->name);
	if (!json || output_is_stdout(json))
		return 0;
	run->p.json = NULL;
	run->each = xcalloc(n + 1, sizeof(*run->each));
	for (size_t i = 0; r == 0 && i < n; i++) {
		run->each[i] = xmust(name_for(json, run->operands[i]));
		r = outfiles_add(&run->p.common.files, "json", run->each[i], OUTFILE_DOCUMENT, run->p.common.is_forced,
		                 err);
	}
	return r == -ELOOP || r == -EEXIST ? -EPERM : r;
}

static int run_one(struct run *run, size_t i, FILE *to, struct result **ret)
{
	struct env env = *run->env;
	struct cli_params *p = &run->p;

	env.err = to;
	run->env = &env;
	run->operands += i;
	run->noperands = 1;
	run->is_one_of_several = true;
	p->json = run->each ? run->each[i] : NULL;
	p->csv = p->html = p->prometheus = NULL;
	run->progress = progress_new(to, env.clk, PROGRESS_JSON, run->m->name);
	run->saver = saver_new(p->json ? outfiles_find(&p->common.files, p->json) : NULL,
	                       p->jsonl ? outfiles_find(&p->common.files, p->jsonl) : NULL);
	return run_execute(run, ret);
}

int several_execute(struct run *run, struct err *err)
{
	size_t n = run->noperands;
	cleanup_free size_t *lanes = xcalloc(n + 1, sizeof(*lanes));
	cleanup_free struct one *v = xcalloc(n + 1, sizeof(*v));
	struct all all = { .run = run, .v = v, .n = n };
	int r = session_lanes(run->env, run->operands, n, lanes, err);

	for (size_t i = 0; r == 0 && i < n; i++)
		v[i] = (struct one){ .path = run->operands[i], .lane = lanes[i], .fd = -1, .status = NO_STATUS };
	if (r == 0)
		r = run_all(&all, err);
	if (r == 0)
		r = show_all(&all);
	for (size_t i = 0; v && i < n; i++)
		free(v[i].text);
	return r;
}
