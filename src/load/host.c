/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the machine does to a measurement, and what can be done about it. On a virtual machine two thirds of the time of
 * a single request are leaving an idle state: holding /dev/cpu_dma_latency at 0 avoids it. Timer slack of 50 us and
 * being scheduled late are the rest of the lateness of paced requests.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "load/load.h"

int host_cpu_latency_hold(struct err *err)
{
	static const char path[] = "/dev/cpu_dma_latency";
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	const int32_t value = 0; /* us */
	int r;

	if (fd >= 0 && write(fd, &value, sizeof(value)) == (ssize_t)sizeof(value))
		return fd; /* the kernel keeps to it for as long as this is open */
	r = -errno;
	if (fd >= 0)
		(void)close(fd); /* nothing was held */
	return err_set(err, r, "%s could not be held (%s): idle states of the CPU add to the times.", path,
	               err_name(r));
}

void host_timer_slack(void)
{
	(void)prctl(PR_SET_TIMERSLACK,
	            1ul); /* cannot fail for the own thread; for real-time threads it means nothing */
}

static uint64_t timeval_ns(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * NS_PER_S + (uint64_t)tv->tv_usec * NS_PER_US;
}

int host_thread(pthread_t *ret, void *(*run)(void *arg), void *arg)
{
	const struct sched_param param = { 0 };
	pthread_attr_t attr;
	sigset_t all, old;
	int r = pthread_attr_init(&attr);

	if (r)
		return -r;
	(void)sigfillset(&all); /* none of these can fail */
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	(void)pthread_attr_setschedpolicy(&attr, SCHED_OTHER); /* known values: these cannot fail */
	(void)pthread_attr_setschedparam(&attr, &param);
	(void)pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	r = pthread_create(ret, &attr, run, arg);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attr);
	return -r;
}

void host_usage(struct host_usage *ret)
{
	struct rusage u = { 0 };

	(void)getrusage(RUSAGE_SELF, &u); /* cannot fail; all threads, those of io_uring too */
	*ret = (struct host_usage){
		.user_ns = timeval_ns(&u.ru_utime),
		.system_ns = timeval_ns(&u.ru_stime),
		.minor_faults = (uint64_t)u.ru_minflt,
		.major_faults = (uint64_t)u.ru_majflt,
		.max_rss_bytes = (uint64_t)u.ru_maxrss << 10,
	};
}

bool host_fetched(bool is_of_thread, uint64_t *ret_bytes)
{
	cleanup_fclose FILE *f = fopen(is_of_thread ? "/proc/thread-self/io" : "/proc/self/io", "re");
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "read_bytes: %" SCNu64, ret_bytes) == 1)
			return true;
	return false;
}
