/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several disks at once, and a command run on them. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "commands.h"
#include "rundir.h"

#define PATIENCE_S 10 /* for the command, after it was told to end */

/* ---- disks ---- */

int fleet_start(struct fleet *ret, const struct sim_options *o, char **words, size_t n, const char *default_name,
                bool is_background, struct err *err)
{
	struct fleet fleet = { .disks = calloc(n, sizeof(*fleet.disks)), .keepers = calloc(n, sizeof(*fleet.keepers)) };
	int r = 0;

	if (!fleet.disks || !fleet.keepers) {
		fleet_free(&fleet);
		return err_set(err, -ENOMEM, "Out of memory.");
	}
	for (; r == 0 && fleet.n < n; fleet.n++) { /* first all profiles, so that a wrong one starts nothing */
		r = sim_disk_init(&fleet.disks[fleet.n], o, words[fleet.n], fleet.n, n, default_name, err);
		if (r < 0)
			break;
	}
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct keeper_params *params = &fleet.disks[i].params;

		params->is_background = is_background;
		params->parent_pid = is_background ? 0 : getpid();
		r = keeper_start(&fleet.keepers[i], params, err);
		fleet.nstarted += r == 0;
	}
	if (r < 0) {
		fleet_stop(&fleet);
		return r;
	}
	*ret = fleet;
	return 0;
}

void fleet_stop(struct fleet *fleet)
{
	for (size_t i = 0; i < fleet->nstarted; i++)
		(void)kill(fleet->keepers[i].pid, SIGTERM); /* all at the same time */
	for (size_t i = 0; i < fleet->nstarted; i++) {
		struct rundir_entry entry = { 0 };
		struct err err = { 0 };

		(void)rundir_find(fleet->disks[i].run_dir, fleet->disks[i].name, &entry, NULL);
		if (keeper_stop(fleet->keepers[i].pid, (pid_t)entry.server, &err) < 0)
			(void)complain(&err);
		(void)waitpid(fleet->keepers[i].pid, NULL, 0);
	}
	fleet_free(fleet);
}

void fleet_free(struct fleet *fleet)
{
	for (size_t i = 0; i < fleet->n; i++)
		sim_disk_done(&fleet->disks[i]);
	free(fleet->disks);
	free(fleet->keepers);
	*fleet = (struct fleet){ 0 };
}

/* ---- a command on them ---- */

/* "{2}" stands for the path of the second device. Heap. */
static char *substitute(const char *word, const struct fleet *fleet)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	while (*word) {
		char *end = NULL;
		unsigned long k = word[0] == '{' ? strtoul(word + 1, &end, 10) : 0;

		if (k >= 1 && k <= fleet->n && end && *end == '}') {
			(void)fputs(fleet->keepers[k - 1].device, out);
			word = end + 1;
		} else {
			(void)fputc(*word++, out);
		}
	}
	(void)fclose(out);
	return text;
}

static void set_environment(const struct fleet *fleet)
{
	char key[32], text[32];

	for (size_t i = 0; i < fleet->n; i++) {
		(void)snprintf(key, sizeof(key), "SIMDISK_%zu", i + 1);
		(void)setenv(key, fleet->keepers[i].device, 1);
		(void)snprintf(key, sizeof(key), "SIMDISK_NAME_%zu", i + 1);
		(void)setenv(key, fleet->disks[i].name, 1);
	}
	(void)snprintf(text, sizeof(text), "%zu", fleet->n);
	(void)setenv("SIMDISKS", text, 1);
	(void)setenv("SIMDISK_RUN_DIR", fleet->disks[0].run_dir, 1);
}

static const int watched_signals[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT };

static void signal_set(sigset_t *set)
{
	(void)sigemptyset(set);
	for (size_t i = 0; i < sizeof(watched_signals) / sizeof(watched_signals[0]); i++)
		(void)sigaddset(set, watched_signals[i]);
}

static void exec_command(const struct fleet *fleet, char **command, const sigset_t *old)
{
	set_environment(fleet);
	for (char **word = command; *word; word++) {
		char *text = substitute(*word, fleet);

		if (text)
			*word = text;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	(void)sigprocmask(SIG_SETMASK, old, NULL);
	(void)execvp(command[0], command);
	(void)fprintf(stderr, "platter-simdisk: Cannot run %s: %s.\n", command[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* 0 while it runs; else its exit status + 1. */
static int reap(pid_t child)
{
	int status;

	if (waitpid(child, &status, WNOHANG) != child)
		return 0;
	return (WIFSIGNALED(status) ? EXIT_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status)) + 1;
}

/*
 * Signals that somebody sent go on to the command; those from the keyboard it has got itself. When it does not end
 * within some seconds of a SIGTERM or SIGHUP, it is killed: what called us must get its disks stopped.
 */
static int wait_for_command(pid_t child, const sigset_t *set)
{
	const struct timespec patience = { .tv_sec = PATIENCE_S };
	bool is_ending = false;

	for (;;) {
		siginfo_t info = { 0 };
		int signal, done;

		signal = is_ending ? sigtimedwait(set, &info, &patience) : sigwaitinfo(set, &info);
		done = reap(child);
		if (done)
			return done - 1;
		if (signal < 0 && errno == EAGAIN)
			(void)kill(child, SIGKILL);
		if (signal <= 0 || signal == SIGCHLD)
			continue;
		if (info.si_code != SI_KERNEL)
			(void)kill(child, signal);
		if (signal == SIGTERM || signal == SIGHUP)
			is_ending = true;
	}
}

int cmd_run(const struct sim_options *o, char **words, size_t n, char **command)
{
	struct fleet fleet = { 0 };
	struct err err = { 0 };
	char default_name[32];
	sigset_t set, old;
	pid_t child;
	int r, status;

	if (!command || !command[0]) {
		(void)err_set(&err, -EINVAL,
		              "Say what to run: platter-simdisk run PROFILE... -- COMMAND [ARGUMENT...].");
		return complain(&err);
	}
	signal_set(&set);
	(void)sigprocmask(SIG_BLOCK, &set, &old);
	(void)snprintf(default_name, sizeof(default_name), "run-%d", (int)getpid());
	r = fleet_start(&fleet, o, words, n, default_name, false, &err);
	if (r < 0)
		return complain(&err);
	child = fork();
	if (child == 0)
		exec_command(&fleet, command, &old);
	if (child < 0) {
		(void)err_set(&err, -errno, "Cannot fork: %s.", strerror(errno));
		status = complain(&err);
	} else {
		status = wait_for_command(child, &set);
	}
	fleet_stop(&fleet);
	return status;
}

/* start --foreground: until a signal comes or no disk is left. */
static void wait_for_end(const struct fleet *fleet, const sigset_t *set)
{
	size_t left = fleet->nstarted;

	while (left) {
		siginfo_t info;
		int signal = sigwaitinfo(set, &info);

		if (signal != SIGCHLD && signal > 0)
			return;
		left = 0;
		for (size_t i = 0; i < fleet->nstarted; i++) {
			info.si_pid = 0;
			left += waitid(P_PID, (id_t)fleet->keepers[i].pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
			        info.si_pid == 0;
		}
	}
}

int cmd_start(const struct sim_options *o, char **words, size_t n, char **command)
{
	struct fleet fleet = { 0 };
	struct err err = { 0 };
	sigset_t set, old;
	int r;

	if (command) {
		(void)err_set(&err, -EINVAL, "start takes no command; platter-simdisk run does.");
		return complain(&err);
	}
	signal_set(&set);
	(void)sigprocmask(SIG_BLOCK, &set, &old);
	r = fleet_start(&fleet, o, words, n, NULL, !o->is_foreground, &err);
	if (r < 0)
		return complain(&err);
	for (size_t i = 0; i < fleet.n; i++)
		(void)printf("%s\n", fleet.keepers[i].device);
	(void)fflush(stdout);
	if (o->is_foreground) {
		wait_for_end(&fleet, &set);
		fleet_stop(&fleet);
	} else {
		fleet_free(&fleet);
	}
	return ferror(stdout) ? EXIT_FAILED : EXIT_DONE;
}
