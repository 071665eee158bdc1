/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keeper.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "calibrate.h"
#include "fusedev.h"
#include "handover.h"
#include "reqlog.h"
#include "rundir.h"
#include "shared.h"

#define LOG_EVERY_MS  20
#define SETUP_MAX_MS  15000 /* of the whole set-up; a part of a second as a rule */
#define DRAIN_MAX_MS  3000
#define STUCK_MAX_S   6 /* the server is killed when ending takes longer */
#define DETACH_MAX_MS 2000
#define STOP_MAX_MS   12000
#define KILLED_MAX_MS 5000

struct keeper_note { /* what a starter is told */
	struct err err;
	char device[32];
};

struct life {
	const struct keeper_params *params;
	int notify_fd; /* to the starter: the device's name, or why not */
	int run_fd, memfd, control_fd, server_fd, watch_fd, parent_fd, signal_fd;
	pid_t server;
	struct sim_shared *shared;
	struct reqlog *log;
	struct blockdev dev;
	uint64_t end_ns;
	bool is_drained;
};

static uint64_t now_ns(void)
{
	return clock_now_ns(clock_monotonic());
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* ---- the server's process ---- */

static void go_silent(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	for (int fd = 0; fd < 3; fd++)
		(void)dup2(null, fd);
	(void)close(null);
}

static void server_main(struct life *life, int control_fd)
{
	const struct keeper_params *params = life->params;
	char path[512];
	struct err err = { 0 };
	int fuse_fd, file_fd = -1, r;
	sigset_t none;

	/* Not the keeper's: the run folder's lock must be its alone. */
	close_fd(&life->run_fd);
	close_fd(&life->notify_fd);
	close_fd(&life->control_fd);
	close_fd(&life->signal_fd);
	close_fd(&life->watch_fd);
	close_fd(&life->parent_fd);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);

	(void)snprintf(path, sizeof(path), "%s/%s", params->run_dir, params->name);
	if (params->is_background)
		go_silent(); /* the starter's reader waits for the end of our output */
	fuse_fd = fusedev_open(&err);
	if (fuse_fd >= 0)
		file_fd = fusedev_mount_private(fuse_fd, path, params->run_dir, &err);
	handover_send(control_fd, file_fd, &err);
	if (file_fd < 0)
		_exit(1);
	(void)close(file_fd);
	r = server_run(fuse_fd, control_fd, params->profile, &params->tuning, life->shared, &err);
	if (r < 0)
		(void)fprintf(stderr, "platter-simdisk: %s: %s\n", params->name, err.text);
	_exit(r < 0 ? 1 : 0);
}

static int start_server(struct life *life, struct err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return err_set(err, -errno, "Cannot make a socket pair: %s.", strerror(errno));
	life->control_fd = pair[0];
	life->server = fork();
	if (life->server == 0)
		server_main(life, pair[1]);
	(void)close(pair[1]);
	if (life->server < 0)
		return err_set(err, -errno, "Cannot fork: %s.", strerror(errno));
	life->server_fd = pidfd_open(life->server, 0);
	if (life->server_fd < 0)
		return err_set(err, -errno, "Cannot watch the server: %s.", strerror(errno));
	return 0;
}

/*
 * System calls on a device whose server hangs wait for ever and cannot be killed. So a watchdog stands beside them: the
 * readers of a killed server get an error.
 */
static pid_t watchdog_start(const struct life *life, unsigned seconds)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)close_range(3, ~0u, 0); /* an open device would not go */
		(void)sleep(seconds);
		(void)kill(life->server, SIGKILL);
		_exit(0);
	}
	return pid;
}

static void watchdog_end(pid_t pid)
{
	if (pid <= 0)
		return;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

static void say_to_server(const struct life *life, char word)
{
	(void)send(life->control_fd, &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Says the word and waits until the server's state is no longer `from`. */
static int move_server(const struct life *life, char word, enum sim_state from, struct err *err)
{
	say_to_server(life, word);
	for (unsigned waited = 0; waited < SETUP_MAX_MS; waited++) {
		if (atomic_load(&life->shared->state) != (int)from)
			return 0;
		if (wait_readable(life->server_fd, 1))
			break;
	}
	return err_set(err, -EIO, "The server of the simulated disk ended early.");
}

/* ---- set-up ---- */

static int share_memory(struct life *life, struct err *err)
{
	void *mem = MAP_FAILED;

	life->memfd = memfd_create("platter-simdisk", MFD_CLOEXEC);
	if (life->memfd >= 0 && ftruncate(life->memfd, sizeof(*life->shared)) == 0)
		mem = mmap(NULL, sizeof(*life->shared), PROT_READ | PROT_WRITE, MAP_SHARED, life->memfd, 0);
	if (mem == MAP_FAILED)
		return err_set(err, -errno, "Cannot make shared memory: %s.", strerror(errno));
	life->shared = mem;
	hist_clear(&life->shared->lateness);
	life->shared->has_log = life->params->log_path != NULL;
	return 0;
}

/* udev reads every new device to see what is on it: before the disk's time begins and its requests are counted. */
static void settle_udev(void)
{
	char name[] = "udevadm", settle[] = "settle", timeout[] = "--timeout=5";
	char *const argv[] = { name, settle, timeout, NULL };
	pid_t pid;

	if (access("/run/udev/control", F_OK))
		return;
	if (posix_spawnp(&pid, name, NULL, NULL, argv, environ) == 0)
		(void)waitpid(pid, NULL, 0);
}

static int measure_path(const struct life *life, struct err *err)
{
	const struct keeper_path *wanted = &life->params->path;
	struct sim_path path = wanted->known, found = { 0 };
	int r = 0;

	assert(life->shared);
	if (wanted->is_in_auto || wanted->is_out_auto || wanted->is_copy_auto) {
		r = move_server(life, SERVER_CALIBRATE, SIM_SETUP, err);
		if (r == 0)
			r = calibrate(&found, life->dev.path, life->params->block.is_read_only, life->shared, err);
	}
	if (r < 0)
		return r;
	if (wanted->is_in_auto)
		path.in_ns = found.in_ns;
	if (wanted->is_out_auto)
		path.out_ns = found.out_ns;
	if (wanted->is_copy_auto) {
		path.in_ns_per_byte = found.in_ns_per_byte;
		path.out_ns_per_byte = found.out_ns_per_byte;
	}
	life->shared->path = path;
	return 0;
}

static int make_device(struct life *life, struct err *err)
{
	const struct keeper_params *params = life->params;
	char path[64];
	cleanup_close int file = handover_receive(life->control_fd, SETUP_MAX_MS, err);
	cleanup_close int fd = -1;
	struct stat st;
	pid_t watchdog;
	int r;

	if (file < 0)
		return file;
	watchdog = watchdog_start(life, SETUP_MAX_MS / 1000);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	fd = open(path, O_RDWR | O_CLOEXEC);
	/* Before Linux 6.16 the loop driver takes the size that the inode has in memory; asking for it puts it there.
	 */
	if (fd < 0 || fstat(fd, &st))
		r = err_set(err, -errno, "Cannot open the simulated disk's file: %s.", strerror(errno));
	else
		r = blockdev_attach(&life->dev, fd, &params->block, err);
	for (size_t i = 0; r == 0 && i < params->npartitions; i++)
		r = blockdev_add_partition(&life->dev, &params->partitions[i], err);
	if (r == 0)
		r = measure_path(life, err);
	if (r == 0)
		settle_udev();
	watchdog_end(watchdog);
	return r;
}

static int publish(const struct life *life, struct err *err)
{
	const struct keeper_params *params = life->params;
	struct rundir_entry entry = {
		.keeper = getpid(),
		.server = life->server,
		.memfd = life->memfd,
		.partitions = params->npartitions,
		.size_bytes = params->profile->capacity_lba * params->profile->logical_sector_bytes,
	};
	int r;

	(void)snprintf(entry.device, sizeof(entry.device), "%s", life->dev.path);
	(void)snprintf(entry.profile, sizeof(entry.profile), "%s", params->profile_path);
	r = rundir_publish(life->run_fd, &entry);
	return r < 0 ? err_set(err, r, "Cannot write to the run folder %s.", params->run_dir) : 0;
}

static int watch(int *ret_fd, int64_t pid, struct err *err)
{
	if (pid == 0)
		return 0;
	*ret_fd = pidfd_open((pid_t)pid, 0);
	if (*ret_fd >= 0)
		return 0;
	return err_set(err, -errno, "Cannot watch process %lld: %s.", (long long)pid, strerror(errno));
}

static int set_up_watches(struct life *life, struct err *err)
{
	sigset_t set;
	int r;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	life->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (life->signal_fd < 0)
		return err_set(err, -errno, "Cannot make a signalfd: %s.", strerror(errno));
	r = watch(&life->parent_fd, life->params->parent_pid, err);
	return r == 0 ? watch(&life->watch_fd, life->params->watch_pid, err) : r;
}

static int set_up(struct life *life, struct err *err)
{
	const struct keeper_params *params = life->params;
	int r = rundir_claim(params->run_dir, params->name, err);

	if (r < 0)
		return r;
	life->run_fd = r;
	r = set_up_watches(life, err);
	if (r == 0)
		r = share_memory(life, err);
	if (r == 0 && params->log_path) {
		life->log = reqlog_open(params->log_path, err);
		r = life->log ? 0 : -EIO;
	}
	if (r == 0)
		r = start_server(life, err);
	if (r == 0)
		r = make_device(life, err);
	if (r == 0)
		r = publish(life, err);
	if (params->max_life_ns)
		life->end_ns = now_ns() + params->max_life_ns;
	return r == 0 ? move_server(life, SERVER_GO, atomic_load(&life->shared->state), err) : r;
}

/* ---- the end ---- */

/* Lets the server answer everything at once, so that what the kernel still wants to write costs no disk time. */
static void drain_server(struct life *life)
{
	uint64_t until = now_ns() + DRAIN_MAX_MS * NS_PER_MS;
	char word = 0;

	say_to_server(life, SERVER_DRAIN);
	while (word != SERVER_IS_DRAINED && now_ns() < until) {
		if (!wait_readable(life->control_fd, DRAIN_MAX_MS))
			break;
		if (recv(life->control_fd, &word, 1, MSG_DONTWAIT) <= 0)
			break;
	}
	if (word != SERVER_IS_DRAINED)
		(void)kill(life->server, SIGKILL);
}

static void end_server(struct life *life)
{
	close_fd(&life->control_fd); /* it ends when it sees this */
	if (life->server <= 0)
		return;
	if (!wait_readable(life->server_fd, DRAIN_MAX_MS))
		(void)kill(life->server, SIGKILL);
	(void)waitpid(life->server, NULL, 0);
	close_fd(&life->server_fd);
}

static void tear_down(struct life *life)
{
	pid_t watchdog = life->server > 0 ? watchdog_start(life, STUCK_MAX_S) : 0;
	bool is_free;

	if (life->control_fd >= 0 && life->server > 0)
		drain_server(life);
	is_free = blockdev_detach(&life->dev, DETACH_MAX_MS);
	end_server(life);
	watchdog_end(watchdog);
	if (!is_free)
		(void)fprintf(
			stderr,
			"platter-simdisk: %s: %s is still open somewhere; it returns errors from now on and goes when "
			"it is closed.\n",
			life->params->name, life->dev.path);
	if (life->log)
		reqlog_drain(life->log, life->shared);
	if (reqlog_close(life->log) < 0)
		(void)fprintf(stderr, "platter-simdisk: %s: The log could not be written to its end.\n",
		              life->params->name);
	if (life->run_fd >= 0)
		rundir_release(life->params->run_dir, life->params->name, life->run_fd);
}

/* ---- life ---- */

/* 0: goes on; else why it ends. */
static const char *look_around(struct life *life, const struct pollfd *fds)
{
	struct signalfd_siginfo info;
	char word;

	if (fds[0].revents && read(life->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		return "";
	if (fds[1].revents) {
		ssize_t n = recv(life->control_fd, &word, 1, MSG_DONTWAIT);

		if (n == 1 && word == SERVER_IS_GONE)
			blockdev_pull(&life->dev);
		else if (n == 0)
			(void)wait_readable(life->server_fd, DRAIN_MAX_MS);
	}
	if (fds[1].revents & POLLHUP || fds[2].revents)
		return "its server ended";
	if (fds[3].revents || fds[4].revents)
		return "";
	if (life->end_ns && now_ns() >= life->end_ns)
		return "its --max-life is over";
	return NULL;
}

static int next_timeout_ms(const struct life *life)
{
	uint64_t now = now_ns(), left_ms;

	if (life->log)
		return LOG_EVERY_MS;
	if (!life->end_ns)
		return -1;
	left_ms = life->end_ns > now ? (life->end_ns - now) / NS_PER_MS + 1 : 0;
	return left_ms > 60000 ? 60000 : (int)left_ms;
}

static const char *live(struct life *life)
{
	const char *why = NULL;

	while (!why) {
		struct pollfd fds[5] = {
			{ .fd = life->signal_fd, .events = POLLIN }, { .fd = life->control_fd, .events = POLLIN },
			{ .fd = life->server_fd, .events = POLLIN }, { .fd = life->watch_fd, .events = POLLIN },
			{ .fd = life->parent_fd, .events = POLLIN },
		};

		if (poll(fds, 5, next_timeout_ms(life)) < 0 && errno != EINTR)
			return "poll failed";
		why = look_around(life, fds);
		if (life->log)
			reqlog_drain(life->log, life->shared);
	}
	return why;
}

/* Tells the starter, once. */
static void notify(struct life *life, const struct err *err)
{
	struct keeper_note note = { .err = *err };

	(void)snprintf(note.device, sizeof(note.device), "%s", life->dev.path);
	(void)!write(life->notify_fd, &note, sizeof(note));
	close_fd(&life->notify_fd);
}

static void keeper_main(const struct keeper_params *params, int notify_fd)
{
	struct life life = {
		.params = params,
		.notify_fd = -1,
		.run_fd = -1,
		.memfd = -1,
		.control_fd = -1,
		.server_fd = -1,
		.watch_fd = -1,
		.parent_fd = -1,
		.signal_fd = -1,
		.dev.fd = -1,
	};
	struct err err = { 0 };
	const char *why;
	int r;

	(void)dup2(notify_fd, 3);
	(void)close_range(4, ~0u, 0); /* of whoever started us */
	life.notify_fd = 3;
	(void)fcntl(life.notify_fd, F_SETFD, FD_CLOEXEC);
	(void)signal(SIGPIPE, SIG_IGN); /* a starter that was killed must not take us along before we have cleaned up */
	(void)setsid();                 /* the terminal's ^C is for others */
	(void)!chdir("/");
	r = set_up(&life, &err);
	if (r < 0) {
		tear_down(&life);
		notify(&life, &err);
		_exit(1);
	}
	notify(&life, &err);
	if (params->is_background)
		go_silent();
	why = live(&life);
	if (*why)
		(void)fprintf(stderr, "platter-simdisk: %s ends: %s.\n", params->name, why);
	tear_down(&life);
	_exit(*why ? 1 : 0);
}

/* ---- for the starter ---- */

static int wait_for_note(struct keeper *ret, int fd, struct err *err)
{
	struct keeper_note note = { 0 };
	ssize_t n = -1;

	if (wait_readable(fd, SETUP_MAX_MS + STOP_MAX_MS))
		n = read(fd, &note, sizeof(note));
	if (n == (ssize_t)sizeof(note) && note.err.code == 0) {
		(void)snprintf(ret->device, sizeof(ret->device), "%s", note.device);
		return 0;
	}
	if (n == (ssize_t)sizeof(note))
		return err_set(err, note.err.code, "%s", note.err.text);
	return err_set(err, -ETIMEDOUT, "The simulated disk did not start.");
}

int keeper_start(struct keeper *ret, const struct keeper_params *params, struct err *err)
{
	struct keeper keeper = { 0 };
	int pipe_fds[2], r;

	if (pipe2(pipe_fds, O_CLOEXEC))
		return err_set(err, -errno, "Cannot make a pipe: %s.", strerror(errno));
	keeper.pid = fork();
	if (keeper.pid == 0)
		keeper_main(params, pipe_fds[1]);
	(void)close(pipe_fds[1]);
	if (keeper.pid < 0) {
		r = err_set(err, -errno, "Cannot fork: %s.", strerror(errno));
	} else {
		r = wait_for_note(&keeper, pipe_fds[0], err);
		if (r < 0) {
			(void)kill(-keeper.pid, SIGKILL); /* its whole session: the server, too */
			(void)waitpid(keeper.pid, NULL, 0);
		}
	}
	(void)close(pipe_fds[0]);
	if (r == 0)
		*ret = keeper;
	return r;
}

int keeper_stop(pid_t pid, pid_t server, struct err *err)
{
	cleanup_close int fd = pidfd_open(pid, 0);

	if (fd < 0)
		return errno == ESRCH ? 0 : err_set(err, -errno, "Cannot watch process %d: %s.", pid, strerror(errno));
	(void)pidfd_send_signal(fd, SIGTERM, NULL, 0);
	if (wait_readable(fd, STOP_MAX_MS))
		return 0;
	/* Either may be stopped by a signal or a debugger, or wait for the other. */
	if (server > 0)
		(void)kill(server, SIGKILL);
	(void)pidfd_send_signal(fd, SIGCONT, NULL, 0);
	if (wait_readable(fd, KILLED_MAX_MS))
		return 0;
	(void)pidfd_send_signal(fd, SIGKILL, NULL, 0);
	if (wait_readable(fd, KILLED_MAX_MS))
		return 0;
	return err_set(err, -ETIMEDOUT, "Process %d does not end.", pid);
}
