/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first signal asks the run to end with what it has; nothing but its number is stored, and system calls are not
 * restarted, so that the loop sees it. The second one ends the program as if nobody had caught the first: a disk may
 * hang for minutes.
 */
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/cli.h"

atomic_int cli_signal;
atomic_bool cli_is_asked;

static const int caught[] = { SIGINT, SIGTERM, SIGHUP };

/*
 * timeout(1) sends its signal to the process and then to the group, terminals may do alike: what comes at once is one
 * signal. Nobody presses a key twice in this time.
 */
#define ONE_SIGNAL_NS (200 * NS_PER_MS)

static atomic_ullong first_ns; /* when the first came; 0: none has */

/* Is it the second, after which nobody waits? Two threads may ask at the same moment: the one that read the clock first
 * need not be the first. */
static bool is_second(int number)
{
	unsigned long long none = 0;
	struct timespec ts;
	uint64_t now;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail; safe in a handler */
	now = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
	if (!atomic_compare_exchange_strong(&first_ns, &none, now))
		return now > none + ONE_SIGNAL_NS;
	atomic_store(&cli_signal, number);
	return false;
}

/* What is passed on says which it was: the first may have come from the terminal long ago, and is not a second one. */
static void note(int number, siginfo_t *info, void *context)
{
	const struct sigaction def = { .sa_handler = SIG_DFL };
	int which = info->si_code == SI_QUEUE ? info->si_value.sival_int : 0;
	bool is_one_more = is_second(number);

	(void)context;
	if (which == 2 || (is_one_more && which != 1)) {
		datafile_remove_all();               /* nothing will unwind */
		(void)sigaction(number, &def, NULL); /* cannot fail: the number is right */
		(void)raise(number);                 /* delivered when the handler returns */
	}
}

static void ask(int number)
{
	(void)number;
	atomic_store(&cli_is_asked, true);
}

void signals_catch(void)
{
	struct sigaction sa = { .sa_sigaction = note, .sa_flags = SA_SIGINFO }, old; /* no SA_RESTART */
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	const struct sigaction asked = { .sa_handler = ask, .sa_flags = SA_RESTART };

	atomic_store(&cli_signal, 0);
	atomic_store(&first_ns, 0);
	(void)sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < ARRAY_LEN(caught); i++)
		(void)sigaddset(&sa.sa_mask, caught[i]);
	for (size_t i = 0; i < ARRAY_LEN(caught); i++) {
		/*
		 * Under nohup a hang-up stays ignored. An ignored SIGINT is what shells give to jobs started with & in
		 * a script; we take it all the same: who interrupts the script does not want the disk to be left under
		 * load.
		 */
		if (caught[i] == SIGHUP && sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
			continue;
		(void)sigaction(caught[i], &sa, NULL);
	}
	(void)sigaction(SIGUSR1, &asked, NULL);  /* as dd(1) */
	(void)sigaction(SIGPIPE, &ignore, NULL); /* write() fails */
	(void)sigaction(SIGXFSZ, &ignore, NULL); /* a limit of the file size: write() fails, too */
}

int signals_open(sigset_t *ret_before)
{
	const struct sigaction def = { .sa_handler = SIG_DFL };
	struct sigaction old;
	sigset_t set;

	(void)sigaction(SIGCHLD, &def, NULL); /* ignored, it would leave no status behind */
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < ARRAY_LEN(caught); i++)
		if (sigaction(caught[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			(void)sigaddset(&set, caught[i]);
	(void)sigprocmask(SIG_BLOCK, &set, ret_before);
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

int signals_take(int fd, int *ret_number)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		bool is_first = atomic_load(&cli_signal) == 0;

		*ret_number = (int)info.ssi_signo;
		if (*ret_number != SIGCHLD && (is_second(*ret_number) || is_first))
			return is_first ? 1 : 2;
	}
	return 0;
}

int signals_end(int status)
{
	const struct sigaction def = { .sa_handler = SIG_DFL };
	int number = atomic_load(&cli_signal);

	if (number == 0 || status != EXIT_SIGNAL + number)
		return status;
	(void)fflush(NULL);                  /* what could not be written was reported */
	(void)sigaction(number, &def, NULL); /* cannot fail: the number is right */
	(void)raise(number);
	return status; /* blocked by who started us */
}
