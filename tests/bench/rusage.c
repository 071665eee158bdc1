/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rusage FILE COMMAND...: runs the command and writes "wall_ns user_us system_us max_rss_kib" of it and its children to
 * FILE. A process inherits the peak memory of the program that it was forked from, so this is as small as it gets.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static long long now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	extern char **environ;
	struct rusage u;
	long long start = now_ns();
	int status, r;
	pid_t pid;
	FILE *f;

	if (argc < 3)
		return 2;
	r = posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, environ);
	if (r != 0) {
		fprintf(stderr, "rusage: %s: %s\n", argv[2], strerror(r));
		return 127;
	}
	while (wait4(pid, &status, 0, &u) < 0)
		if (errno != EINTR)
			return 127;
	f = fopen(argv[1], "w");
	if (!f ||
	    fprintf(f, "%lld %lld %lld %ld\n", now_ns() - start, u.ru_utime.tv_sec * 1000000ll + u.ru_utime.tv_usec,
	            u.ru_stime.tv_sec * 1000000ll + u.ru_stime.tv_usec, u.ru_maxrss) < 0 ||
	    fclose(f) != 0)
		return 127;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
