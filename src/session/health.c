/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looked at before the first request and after the last one, never between: an answer costs the disk time, and some
 * stop for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "session/internal.h"

#define WARMER_KELVIN 5.0 /* is reported */
#define ANSWER_S      20  /* per disk: what smartctl and a drive may take to answer */

struct health_row {
	const char *device, *quantity;
	double before, after;
};
static const struct field health_fields[] = {
	FIELD_STR(struct health_row, device, "device"),
	FIELD_STR(struct health_row, quantity, "of the disk"),
	FIELD_F64(struct health_row, before, UNIT_NONE, "before"),
	FIELD_F64(struct health_row, after, UNIT_NONE, "after"),
	FIELD_END,
};

static double value_of(const struct device_health *h, const struct health_count *c)
{
	uint64_t v = health_count(h, c);

	return v == UINT64_MAX ? (double)NAN : (double)v;
}

/* hwmon knows the temperature without asking the disk for much. */
static void look(const struct session *ses, size_t i, struct device_health *ret)
{
	const struct env *env = ses->env;
	uint32_t mc = env->devices->temperature ? env->devices->temperature(env->devices_ctx, &ses->devs[i]) : 0;

	if (mc)
		ret->celsius = (double)mc * 1e-3;
}

static void look_again(const struct session *ses, struct device_health *ret)
{
	for (size_t i = 0; i < ses->ndevs; i++)
		if (session_is_first_of_disk(ses, i) && !ses->state->health[i].why_not[0])
			ses->env->devices->health(ses->env->devices_ctx, &ses->devs[i], true, &ret[i]);
}

/* In a session of its own: no key ends it. It looks when a byte comes, and is gone with the run. */
static void keep(const struct session *ses, int fd)
{
	struct device_health *now = calloc(ses->ndevs, sizeof(*now));
	ssize_t n;
	char byte;

	(void)setsid(); /* fails of a leader only, which a child is not */
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN); /* of who ends all processes of a service */
	do
		n = recv(fd, &byte, 1, 0);
	while (n < 0 && errno == EINTR);
	if (now && n == 1) {
		look_again(ses, now);
		(void)send(fd, now, ses->ndevs * sizeof(*now), MSG_NOSIGNAL);
	}
	_exit(0);
}

static int start_keeper(const struct session *ses)
{
	int fds[2], null;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		(void)close(fds[0]); /* else it would never see the end of it */
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
			(void)dup2(null, fd); /* holds no terminal and no pipe open */
		keep(ses, fds[1]);
	}
	(void)close(fds[1]);
	if (pid > 0)
		return fds[0];
	(void)close(fds[0]);
	return -1;
}

/* false: no whole answer came in time. */
static bool ask_keeper(const struct session *ses, int fd, struct device_health *ret)
{
	const size_t len = ses->ndevs * sizeof(*ret);
	const struct timeval wait = { .tv_sec = (time_t)(ses->ndevs * ANSWER_S) };

	ssize_t n = -1;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (send(fd, "", 1, MSG_NOSIGNAL) == 1)
		do
			n = recv(fd, ret, len, MSG_WAITALL);
		while (n < 0 && errno == EINTR);
	return n == (ssize_t)len;
}

int health_before(struct session *ses)
{
	struct device_health *h = ses->state->health;
	const struct env *env = ses->env;
	bool is_reported = false;

	for (size_t i = 0; i < ses->ndevs; i++) {
		device_health_clear(&h[i], "not asked");
		if (ses->common->no_smart)
			result_option(ses->res, "health", "--no-smart");
		else if (session_is_first_of_disk(ses, i) && env->devices->health &&
		         (ses->plan->read_bytes || ses->plan->write_bytes) && /* else nothing is measured */
		         env->devices->health(env->devices_ctx, &ses->devs[i], true, &h[i]))
			result_option(ses->res, "health", h[i].why_not[0] ? h[i].why_not : "smartctl");
		look(ses, i, &h[i]);
		is_reported = is_reported || !h[i].why_not[0];
	}
	return is_reported && ses->env->drops_privileges ? start_keeper(ses) : -1;
}

static void report_row(struct session *ses, const struct device *dev, const char *quantity, double before, double after)
{
	const struct health_row row = { dev->path, quantity, before, after };

	if (!isnan(before) || !isnan(after))
		result_row(result_table(ses->res, "health", "Health of the disk", health_fields), &row);
}

/* How many counts of damage rose; UINT64_MAX: none is known. */
static uint64_t report_counts(struct session *ses, size_t i, const struct device_health *now)
{
	const struct device *dev = &ses->devs[i];
	uint64_t moved = UINT64_MAX;

	for (const struct health_count *c = health_counts; c->label; c++) {
		double was = value_of(&ses->state->health[i], c), is = value_of(now, c);

		report_row(ses, dev, c->name, was, is);
		if (!c->is_damage || isnan(was) || isnan(is))
			continue;
		moved = (moved == UINT64_MAX ? 0 : moved) + (is > was);
		if (is > was)
			result_notice(ses->res, "health-moved",
			              "%s: %s rose from %.0f to %.0f during the run: what was measured may be the "
			              "disk's trouble; %s.",
			              dev->path, c->label, was, is,
			              strcmp(c->name, "crc_errors") == 0
			                      ? "look at its cable and its place"
			                      : "have a copy of its data, and see smartctl -x");
	}
	return moved;
}

static void report_temperature(struct session *ses, size_t i, const struct device_health *now)
{
	const struct device *dev = &ses->devs[i];
	double was = ses->state->health[i].celsius, is = now->celsius;

	report_row(ses, dev, "temperature_celsius", was, is);
	if (is - was >= WARMER_KELVIN)
		result_notice(
			ses->res, "warmer",
			"%s warmed up from %.0f to %.0f degrees Celsius during the run, which may be why rates fell.",
			dev->path, was, is);
}

struct drive_row {
	const char *device, *model, *serial;
	uint64_t size_bytes, native_bytes;
};
static const struct field drive_fields[] = {
	FIELD_STR(struct drive_row, device, "device"),
	FIELD_STR(struct drive_row, model, "model"),
	FIELD_STR(struct drive_row, serial, "serial"),
	FIELD_U64(struct drive_row, size_bytes, UNIT_BYTES, "size"),
	FIELD_U64(struct drive_row, native_bytes, UNIT_BYTES, "native size"),
	FIELD_END,
};

/* What stands behind a bridge, and what is hidden. */
static void report_drive(struct session *ses, const struct device *dev, const struct device_health *h)
{
	char itself[DEVICE_ITSELF];
	bool is_other = device_itself(dev, h, itself);

	if (!*itself)
		return;
	result_notice(ses->res, is_other ? "hidden" : "behind-bridge", "The drive of %s itself: %s.", dev->path,
	              itself);
	result_row(result_table(ses->res, "drive", "The drive itself", drive_fields),
	           &(struct drive_row){ dev->path, h->model[0] ? h->model : NULL, h->serial[0] ? h->serial : NULL,
	                                h->size_bytes, h->native_bytes });
}

void health_after(struct session *ses, int fd)
{
	cleanup_free struct device_health *now = xcalloc(ses->ndevs + 1, sizeof(*now));
	bool is_known = fd >= 0 ? ask_keeper(ses, fd, now) : !ses->env->drops_privileges;
	uint64_t moved = UINT64_MAX, of_one;

	if (fd >= 0)
		(void)close(fd); /* one that hangs with the disk stays behind; init waits for it */
	else if (is_known)
		look_again(ses, now);
	for (size_t i = 0; i < ses->ndevs; i++) {
		const struct device_health *was = &ses->state->health[i];

		if (!is_known || was->why_not[0]) /* of what is not known nothing moves */
			device_health_clear(&now[i], "not asked");
		if (!session_is_first_of_disk(ses, i))
			continue;
		look(ses, i, &now[i]);
		report_drive(ses, &ses->devs[i], was);
		report_temperature(ses, i, &now[i]);
		of_one = report_counts(ses, i, &now[i]);
		if (of_one != UINT64_MAX)
			moved = (moved == UINT64_MAX ? 0 : moved) + of_one;
		if (was->passed == 0 || (is_known && !was->why_not[0] && now[i].passed == 0))
			result_notice(ses->res, "health-failing",
			              "%s reports that it is failing (SMART): save what is on it.", ses->devs[i].path);
	}
	if (moved != UINT64_MAX)
		result_figure_u64(ses->res, "health_moved", "counts of damage that rose", UNIT_COUNT, moved);
}
