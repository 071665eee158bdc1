/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

struct keeper {
	pid_t pid;
	int fd;
	size_t answer_bytes;
};

/* Neither a key nor who ends all processes of a service stops it, and it holds no terminal and no pipe open. */
static void leave_the_run(void)
{
	static const int deaf_to[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGTSTP };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)setsid(); /* fails of a leader only, which a child is not */
	for (size_t i = 0; i < ARRAY_LEN(deaf_to); i++)
		(void)sigaction(deaf_to[i], &ignore, NULL);
	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
}

static void keep(int fd, keeper_work *work, void *arg, size_t answer_bytes)
{
	void *answer = calloc(1, answer_bytes);
	ssize_t n;
	char byte;

	leave_the_run();
	do
		n = recv(fd, &byte, 1, 0);
	while (n < 0 && errno == EINTR);
	if (answer)
		work(arg, n != 1, answer);
	if (answer && n == 1)
		(void)send(fd, answer, answer_bytes, MSG_NOSIGNAL); /* who does not want it any more is gone */
	_exit(0);
}

struct keeper *keeper_start(keeper_work *work, void *arg, size_t answer_bytes)
{
	struct keeper *k = calloc(1, sizeof(*k));
	int fds[2];

	if (!k || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
		free(k);
		return NULL;
	}
	k->fd = fds[0];
	k->answer_bytes = answer_bytes;
	k->pid = fork();
	if (k->pid == 0) {
		(void)close(fds[0]); /* else it would never see the end of it */
		keep(fds[1], work, arg, answer_bytes);
	}
	(void)close(fds[1]);
	if (k->pid > 0)
		return k;
	(void)close(fds[0]);
	free(k);
	return NULL;
}

bool keeper_finish(struct keeper *k, void *answer, uint64_t wait_ns)
{
	uint64_t until_ns, now_ns;
	size_t at = 0;

	if (!k)
		return false;
	until_ns = clock_now_ns(clock_monotonic()) + wait_ns;
	if (send(k->fd, "", 1, MSG_NOSIGNAL) != 1)
		until_ns = 0; /* it is gone */
	while (at < k->answer_bytes && (now_ns = clock_now_ns(clock_monotonic())) < until_ns) {
		struct pollfd p = { .fd = k->fd, .events = POLLIN };
		ssize_t n;

		if (poll(&p, 1, (int)((until_ns - now_ns) / NS_PER_MS) + 1) <= 0)
			continue;
		n = recv(k->fd, (char *)answer + at, k->answer_bytes - at, 0);
		if (n == 0 || (n < 0 && errno != EINTR))
			break;
		at += n > 0 ? (size_t)n : 0;
	}
	(void)close(k->fd);
	if (at == k->answer_bytes)
		(void)waitpid(k->pid, NULL, 0); /* it ends by itself; one that hangs with the disk stays behind */
	at = at == k->answer_bytes;
	free(k);
	return at;
}
