/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What spoils a measurement from outside: other I/O on the same disks (own I/O subtracted), stolen CPU time, CPU
 * frequency limits and thermal throttling, error counters of the device, queue settings that change the answer.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "session/groups.h"
#include "session/internal.h"

#define STOP_LEAST_NS (100 * NS_PER_MS)

struct host_state {
	bool is_known;
	uint64_t steal_ticks, all_ticks, throttles;
};

struct watch {
	struct host_state host;
	uint64_t suspended_ns;  /* of the clock */
	int64_t own_read_bytes; /* of this process, where it opens its files itself; -1: not known */
	struct disk_state {
		bool is_known;
		struct device_io io;
		int64_t ioerr;
	} * disks; /* one per device of the session */
};

/* A number from a file below the sysroot; base 0 takes sysfs's hex. -1: not there. */
static int64_t read_number(const struct session *ses, const char *path)
{
	cleanup_fclose FILE *f = machine_open(ses->env->sysroot, path);
	char line[64];

	return f && fgets(line, sizeof(line), f) ? strtoll(line, NULL, 0) : -1;
}

static uint64_t throttle_count(const struct session *ses)
{
	uint64_t sum = 0;
	char path[96];

	for (unsigned cpu = 0; cpu < 4096; cpu++) {
		int64_t n;

		(void)snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/thermal_throttle/core_throttle_count",
		               cpu);
		n = read_number(ses, path);
		if (n < 0)
			break;
		sum += (uint64_t)n;
	}
	return sum;
}

/* Of all processors since boot. false: not known. */
static bool read_ticks(const struct session *ses, uint64_t *ret_steal, uint64_t *ret_all)
{
	cleanup_fclose FILE *f = NULL;
	uint64_t t[8] = { 0 };

	if (clock_is_virtual(ses->env->clk))
		return false; /* virtual time knows no host */
	f = machine_open(ses->env->sysroot, "/proc/stat");
	if (!f ||
	    fscanf(f,
	           "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
	           &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) != 8)
		return false;
	*ret_steal = t[7];
	*ret_all = 0;
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		*ret_all += t[i];
	return true;
}

uint64_t session_stolen_ticks(const struct session *ses)
{
	uint64_t steal, all;

	return read_ticks(ses, &steal, &all) ? steal : 0;
}

static struct host_state host_look(const struct session *ses)
{
	struct host_state st = { 0 };

	st.is_known = read_ticks(ses, &st.steal_ticks, &st.all_ticks);
	if (st.is_known)
		st.throttles = throttle_count(ses);
	return st;
}

static int64_t device_errors(const struct session *ses, const struct device *dev)
{
	char path[160];

	if (clock_is_virtual(ses->env->clk) || !dev->disk[0])
		return -1;
	(void)snprintf(path, sizeof(path), "/sys/block/%s/device/ioerr_cnt", dev->disk);
	return read_number(ses, path);
}

/*
 * Who is stopped (Ctrl-Z, SIGSTOP) is sent SIGCONT to go on. Blocked it does so all the same, breaks into no system
 * call, and stays pending: that is all there is to know afterwards. It is never let through again: nothing else here
 * wants it.
 */
static bool is_continued(void)
{
	const struct timespec at_once = { 0 };
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCONT);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL); /* cannot fail: the numbers are right */
	return sigtimedwait(&set, NULL, &at_once) == SIGCONT;
}

static uint64_t suspended_now(const struct session *ses)
{
	struct clock *clk = ses->env->clk;

	return clk->suspended_ns ? clk->suspended_ns(clk) : 0;
}

/* -1: not known, or of no interest. */
static int64_t own_reads(const struct session *ses)
{
	uint64_t bytes;

	if (clock_is_virtual(ses->env->clk) || !ses->plan->opens_itself || !host_fetched(false, &bytes))
		return -1;
	return (int64_t)bytes;
}

struct watch *watch_start(const struct session *ses)
{
	struct watch *w = xcalloc(1, sizeof(*w));

	(void)is_continued(); /* of the time before */
	w->disks = xcalloc(ses->ndevs + 1, sizeof(*w->disks));
	for (size_t i = 0; i < ses->ndevs; i++) {
		struct disk_state *d = &w->disks[i];

		d->is_known = session_is_first_of_disk(ses, i) && ses->env->devices->io &&
		              ses->env->devices->io(ses->env->devices_ctx, &ses->devs[i], &d->io) == 0;
		d->ioerr = device_errors(ses, &ses->devs[i]);
	}
	w->own_read_bytes = own_reads(ses);
	w->suspended_ns = suspended_now(ses);
	w->host = host_look(ses);
	return w;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* From one look to the next. false: a counter fell, so it was reset. */
static bool io_between(const struct device_io *before, const struct device_io *now, uint64_t *ret_read,
                       uint64_t *ret_written)
{
	*ret_read = now->read_bytes - before->read_bytes;
	*ret_written = now->written_bytes - before->written_bytes;
	return now->read_bytes >= before->read_bytes && now->written_bytes >= before->written_bytes;
}

/* Own I/O of all targets on the disk of device i. */
static struct own_io own_of_disk(const struct session *ses, size_t i)
{
	const struct own_io *own = ses->state->own;
	struct own_io sum = { 0 };

	for (size_t k = 0; k < ses->ndevs; k++) {
		if (k != i && (!ses->devs[k].disk[0] || strcmp(ses->devs[k].disk, ses->devs[i].disk) != 0))
			continue;
		sum.reads += own[k].reads;
		sum.read_bytes += own[k].read_bytes;
		sum.writes += own[k].writes;
		sum.written_bytes += own[k].written_bytes;
	}
	return sum;
}

static void check_other_io(const struct watch *w, const struct session *ses, size_t i)
{
	const struct device *dev = &ses->devs[i];
	struct own_io mine = own_of_disk(ses, i);
	struct device_io now;
	uint64_t other_read, other_written, mine_bytes = mine.read_bytes + mine.written_bytes;
	char a[32], b[32];

	if (ses->env->devices->io(ses->env->devices_ctx, dev, &now) != 0 ||
	    !io_between(&w->disks[i].io, &now, &other_read, &other_written))
		return;
	other_read = less(other_read, mine.read_bytes);
	other_written = less(other_written, mine.written_bytes);
	/* A file system's own metadata rides along with file I/O; below a thousandth nothing is disturbed. */
	if (other_read + other_written <= mine_bytes / 1000 + 64 * 1024)
		return;
	result_notice(
		ses->res, "other-io",
		"Other programs used %s during the run: %s read and %s written beside the measurement's own; stop them and repeat.",
		dev->disk, units_bytes_dec(a, sizeof(a), other_read), units_bytes_dec(b, sizeof(b), other_written));
}

/*
 * Files that the measurement makes itself are written back by the kernel, whenever it likes, with a journal: whose
 * writes these are cannot be known. But reads can: all disks together, less what was fetched for this process. A
 * hundredth is what the file system itself looks up.
 */
static void check_other_reads(const struct watch *w, const struct session *ses)
{
	int64_t own = own_reads(ses);
	uint64_t sum = 0, other, read, written;
	struct device_io now;
	char text[32];

	if (own < 0 || w->own_read_bytes < 0 || (ses->plan->read_bytes == 0 && ses->plan->write_bytes == 0))
		return;
	own -= w->own_read_bytes;
	for (size_t i = 0; i < ses->ndevs; i++) {
		if (!w->disks[i].is_known || ses->env->devices->io(ses->env->devices_ctx, &ses->devs[i], &now) != 0)
			continue;
		if (!io_between(&w->disks[i].io, &now, &read, &written))
			return;
		sum += read;
	}
	other = less(sum, (uint64_t)own);
	if (other > (uint64_t)own / 100 + (1u << 20))
		result_notice(
			ses->res, "other-io",
			"Other programs used %s during the run: %s read beside the measurement's own; stop them and repeat.",
			ses->ndevs > 1 ? "the disks" : ses->devs[0].disk, units_bytes_dec(text, sizeof(text), other));
}

uint64_t session_foreign_bytes(const struct session *ses, size_t target)
{
	struct own_io mine = own_of_disk(ses, target);
	struct device_io now;

	if (!ses->env->devices->io || ses->env->devices->io(ses->env->devices_ctx, &ses->devs[target], &now) != 0)
		return UINT64_MAX;
	return less(now.read_bytes + now.written_bytes, mine.read_bytes + mine.written_bytes);
}

uint64_t session_stopped_ns(const struct session *ses)
{
	return ses->state->stops.by_clock_ns;
}

uint64_t session_now_ns(const struct session *ses)
{
	return clock_now_ns(ses->env->clk) - session_stopped_ns(ses);
}

/*
 * The load's own account is exact; what no loop has seen (files through the page cache) shows by the signal or the
 * clock.
 */
static void check_stops(const struct watch *w, const struct session *ses)
{
	const struct stops *stops = &ses->state->stops;
	/* Those who end a program send it along, in case that it was stopped. */
	bool is_continued_now = is_continued() && !(ses->cancel && *ses->cancel);
	uint64_t suspended_ns = less(suspended_now(ses), w->suspended_ns);
	char t[32];

	if (stops->stalls)
		result_notice(ses->res, "stalled",
		              "For 5 s and longer no request completed, %" PRIu64 " %s; first to %s.", stops->stalls,
		              stops->stalls == 1 ? "time" : "times", stops->first_stall);
	if (stops->n)
		result_notice(
			ses->res, "stopped",
			"This program did not run %" PRIu64
			" %s, for %s together, first %.3f s after the start: it was stopped, frozen or suspended, or had no CPU. Requests "
			"under way then are left out: %" PRIu64 ".",
			stops->n, stops->n == 1 ? "time" : "times",
			units_time(t, sizeof(t), stops->by_clock_ns + stops->suspended_ns),
			(double)less(stops->first_ns, ses->start_ns) * 1e-9, stops->late_requests);
	else if (suspended_ns >= STOP_LEAST_NS)
		result_notice(ses->res, "stopped",
		              "The machine was suspended for %s: times may include the disk's spin-up; repeat.",
		              units_time(t, sizeof(t), suspended_ns));
	else if (is_continued_now)
		result_notice(
			ses->res, "stopped",
			"This program was stopped (SIGSTOP, Ctrl-Z) and went on: times include the wait as if it were the disk's; repeat.");
}

static void check_host(const struct watch *w, const struct session *ses)
{
	struct host_state now = host_look(ses);
	uint64_t all;
	double steal;

	if (!w->host.is_known || !now.is_known)
		return;
	all = now.all_ticks - w->host.all_ticks;
	steal = all ? (double)(now.steal_ticks - w->host.steal_ticks) / (double)all : 0.0;
	if (steal > 0.01)
		result_notice(
			ses->res, "steal",
			"The hypervisor took %.1f %% of the CPU time away during the run: latencies may be too long; repeat on a quieter host.",
			100.0 * steal);
	if (now.throttles > w->host.throttles)
		result_notice(ses->res, "thermal",
		              "The CPU throttled itself for heat during the run; times: %" PRIu64 ".",
		              now.throttles - w->host.throttles);
}

void watch_end(struct watch *w, const struct session *ses)
{
	for (size_t i = 0; i < ses->ndevs; i++) {
		const struct disk_state *d = &w->disks[i];
		int64_t ioerr = device_errors(ses, &ses->devs[i]);

		if (d->is_known && !ses->plan->opens_itself)
			check_other_io(w, ses, i);
		if (session_is_first_of_disk(ses, i) && d->ioerr >= 0 && ioerr > d->ioerr)
			result_notice(
				ses->res, "device-errors",
				"The kernel counted %" PRId64
				" failed commands to %s during the run, other programs' (as smartctl's) among them: %s",
				ioerr - d->ioerr, ses->devs[i].disk,
				result_fault_count(ses->res)
					? "which of them are the disk's errors stands in the list of errors."
					: "no request of this run failed.");
	}
	check_other_reads(w, ses);
	check_stops(w, ses);
	check_host(w, ses);
	free(w->disks);
	free(w);
}

/* Only what holds for both sides of one wire: a disk may be made for less than its port. */
static void note_link(const struct session *ses, const struct device *dev)
{
	char now[32], most[32];

	if (dev->way.link_bytes_per_s && dev->way.link_bytes_per_s < dev->way.link_max_bytes_per_s)
		result_notice(
			ses->res, "link",
			"The link of %s carries at most %s (%s), of %s that its host could: an older disk, a cable or an adapter may be why.",
			dev->disk, units_rate(now, sizeof(now), (double)dev->way.link_bytes_per_s), dev->way.link,
			units_rate(most, sizeof(most), (double)dev->way.link_max_bytes_per_s));
}

void watch_settings(const struct session *ses)
{
	int64_t limit, max;

	for (size_t i = 0; i < ses->ndevs; i++) {
		const struct device *dev = &ses->devs[i];

		note_link(ses, dev);
		if (strcmp(dev->queue.scheduler, "bfq") == 0 || strcmp(dev->queue.scheduler, "kyber") == 0)
			result_notice(
				ses->res, "scheduler",
				"%s uses the %s scheduler, which delays and reorders requests; for the disk's own figures set it to none.",
				dev->disk, dev->queue.scheduler);
	}
	if (clock_is_virtual(ses->env->clk))
		return;
	groups_report_limits(ses);
	limit = read_number(ses, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq");
	max = read_number(ses, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
	if (limit > 0 && max > 0 && limit < max - max / 20)
		result_notice(ses->res, "cpu-frequency", "The CPU is limited to %" PRId64 " of %" PRId64 " MHz.",
		              limit / 1000, max / 1000);
}
