/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/switches.h"
#include "base/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/samedisk.h"
#include "session/internal.h"

#define STATE_DIR   "/var/lib/platter"
#define STATE_BYTES 4096
#define SCHEMA_OLD  "platter-drive-state-1" /* without the start of the machine */
#define SCHEMA      "platter-drive-state-2"
#define WAIT_STEPS  100 /* of 50 ms, for the keeper of a run that was killed */
#define TRIES       3

struct switched {
	struct device disk;
	struct drive_state was;
	unsigned mask, on; /* to be turned, and how they are to stand */
	bool is_noted;     /* so it is to be put back */
	int reads_ahead;   /* during the run, by its answers: 1, 0, -1: not known; where the look-ahead was turned */
	int fd;            /* of the state file; -1: none, in virtual time, where nobody is killed */
	char path[640];
};

/* "write cache on, look-ahead on" */
static const char *text_of(unsigned mask, unsigned on, char *buf, size_t len)
{
	size_t at = 0;

	buf[0] = '\0';
	for (const struct drive_switch_name *w = drive_switch_names; w->name; w++)
		if (mask & w->which && at < len)
			at += (size_t)snprintf(buf + at, len - at, "%s%s %s", at ? ", " : "", w->name,
			                       on & w->which ? "on" : "off");
	return buf;
}

bool switches_wanted(const struct session *ses)
{
	return ses->common->write_cache != SWITCH_AS_IS || ses->common->look_ahead != SWITCH_AS_IS;
}

/* Turned, and seen to be, as far as the drive reports. */
static int turn(const struct env *env, const struct device *disk, unsigned mask, unsigned on, struct err *err)
{
	struct drive_state now = { 0 };
	char text[96];
	int r = -EIO;

	for (int i = 0; i < TRIES && r < 0 && r != -EOPNOTSUPP; i++) {
		r = env->devices->drive_set(env->devices_ctx, disk, mask, on, err);
		if (r == 0)
			r = env->devices->drive_look(env->devices_ctx, disk, &now, err);
		if (r == 0 && ((now.on ^ on) & mask & now.reported))
			r = err_set(err, -EIO, "%s took the command, but it has not its %s.", disk->path,
			            text_of(mask, on, text, sizeof(text)));
	}
	return r;
}

/* ---- the state file ---- */

static void state_dir(const struct session *ses, char *buf, size_t len)
{
	const char *root = ses->env->sysroot && strcmp(ses->env->sysroot, "/") != 0 ? ses->env->sysroot : "";

	(void)snprintf(buf, len, "%s%s", root, STATE_DIR);
}

static int make_dir(const char *dir)
{
	char path[400];

	(void)snprintf(path, sizeof(path), "%s", dir);
	for (char *c = strchr(path + 1, '/'); c; c = strchr(c + 1, '/')) {
		*c = '\0';
		(void)mkdir(path, 0755); /* it is there, or the last one fails */
		*c = '/';
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int write_state(const struct switched *s, const char *boot_id)
{
	char when[32];
	const struct device *d = &s->disk;
	json_t *o = json_pack("{ss ss ss ss ss ss ss sI sb si si ss}", "schema", SCHEMA, "boot_id",
	                      boot_id ? boot_id : "", "serial", d->serial, "wwn", d->wwn, "model", d->model, "vendor",
	                      d->vendor, "disk", d->disk, "size_bytes", (json_int_t)d->disk_size_bytes,
	                      "serial_is_bridges", d->serial_is_bridges, "mask", (int)s->mask, "on",
	                      (int)(s->was.on & s->mask), "when", clock_wall_text(when, sizeof(when)));
	cleanup_free char *text = o ? json_dumps(o, JSON_INDENT(1)) : NULL;

	json_decref(o);
	if (!text)
		return -ENOMEM;
	if (write(s->fd, text, strlen(text)) != (ssize_t)strlen(text))
		return errno ? -errno : -EIO;
	return fsync(s->fd) < 0 ? -errno : 0;
}

/* By which it is known again; "": nothing. What a bridge shows is any disk's in it. */
static const char *lasting_name(const struct device *disk)
{
	struct disk_names names;
	enum disk_name which;
	const char *name;

	device_names(disk, &names);
	name = disk_lasting_name(&names, &which);
	return name && which != NAME_BRIDGE ? name : "";
}

static int note_one(struct session *ses, struct switched *s, struct err *err)
{
	char dir[400], id[208];
	cleanup_close int dir_fd = -1;
	struct stat st;
	int r;

	state_dir(ses, dir, sizeof(dir));
	(void)snprintf(id, sizeof(id), "%.200s", lasting_name(&s->disk));
	for (char *c = id; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", *c))
			*c = '_';
	(void)snprintf(s->path, sizeof(s->path), "%s/drive-%s.state", dir, id);
	r = make_dir(dir);
	dir_fd = r < 0 ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	s->fd = dir_fd < 0 ? -1 : open(s->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->fd < 0 && errno == EEXIST)
		return err_set(
			err, -EBUSY,
			"The switches of %s are turned by another run, or one left them so (%s); end it, or run platter "
			"recover on it, which puts them back.",
			s->disk.path, s->path);
	if (s->fd >= 0)
		r = flock(s->fd, LOCK_EX | LOCK_NB) < 0 ? -errno : write_state(s, ses->env->boot_id);
	else
		r = r < 0 ? r : -errno;
	if (r == 0 && fsync(dir_fd) < 0)
		r = -errno;
	if (r == 0 && (fstat(s->fd, &st) < 0 ||
	               st.st_nlink == 0)) /* who looks for what was left took it for that before it was locked */
		r = -EAGAIN;
	if (r < 0)
		return err_set(err, r, "How the switches of %s stand cannot be noted in %s: %s. Nothing was turned.",
		               s->disk.path, s->path, strerror(-r));
	return 0;
}

int switches_note(struct session *ses, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < ses->state->nswitched && r == 0; i++) {
		struct switched *s = &ses->state->switched[i];

		if (s->mask && !clock_is_virtual(ses->env->clk))
			r = note_one(ses, s, err);
		s->is_noted = s->mask && (s->fd >= 0 || clock_is_virtual(ses->env->clk));
	}
	return r;
}

/* ---- may they be turned ---- */

static bool is_use(enum finding_kind kind)
{
	return kind == FINDING_MOUNT || kind == FINDING_SWAP || kind == FINDING_HOLDER || kind == FINDING_LOOP ||
	       kind == FINDING_EXPORT || kind == FINDING_EXCLUSIVE || kind == FINDING_OPEN || kind == FINDING_LOCKED;
}

static int check_users(struct session *ses, const struct device *disk, struct err *err)
{
	struct survey found = { 0 };
	char text[512];
	int r = ses->env->devices->survey(ses->env->devices_ctx, disk, &found, err);

	for (size_t i = 0; r == 0 && i < found.n; i++) {
		const struct finding *f = &found.v[i];

		if (is_use(f->kind) && !strs_have(&ses->common->consent.despite, "users"))
			r = err_set(err, -EBUSY,
			            "The switches of %s are left alone, for its users would feel it: %s (Or insist: "
			            "--despite=users.)",
			            disk->path, finding_text(f, text, sizeof(text)));
		else if ((f->kind == FINDING_SHARED || f->kind == FINDING_UNSEEN) &&
		         !strs_have(&ses->common->consent.despite, f->what))
			r = err_set(err, -EPERM, "The switches of %s are left alone: %s", disk->path,
			            finding_text(f, text, sizeof(text)));
	}
	survey_done(&found);
	return r;
}

static void want(struct switched *s, unsigned which, int wish)
{
	unsigned reported = s->was.reported & which, on = wish == SWITCH_ON ? which : 0;

	if (wish != SWITCH_AS_IS && (((s->was.on ^ on) & reported) || reported != which)) {
		s->mask |= (s->was.on ^ on) & reported ? (s->was.on ^ on) & reported : which;
		s->on |= on;
	}
}

/* Which are to be turned. What the drive does not report could not be put back for sure. */
static int choose(struct session *ses, struct switched *s, struct err *err)
{
	const struct common_params *c = ses->common;
	unsigned ahead = DRIVE_LOOK_AHEAD | (s->was.reported & DRIVE_READ_CACHE);

	if (c->look_ahead == SWITCH_OFF) /* answering from the buffer stays, where that is another switch */
		ahead = s->was.reported & DRIVE_READ_CACHE && !(s->was.reported & DRIVE_LOOK_AHEAD) ? DRIVE_READ_CACHE
		                                                                                    : DRIVE_LOOK_AHEAD;
	want(s, DRIVE_WRITE_CACHE, c->write_cache);
	want(s, ahead, c->look_ahead);
	if (s->mask & DRIVE_WRITE_CACHE & ~s->was.reported)
		return err_set(err, -EOPNOTSUPP, "%s has no write cache that can be switched.", s->disk.path);
	if (s->mask & DRIVE_LOOK_AHEAD & ~s->was.reported) {
		if (!strs_have(&ses->common->consent.despite, "look-ahead"))
			return err_set(
				err, -EPERM,
				"%s does not report whether its look-ahead is on, so it might not be put back as it was. --despite=look-ahead switches it, and turns it on at the end.",
				s->disk.path);
		s->was.on |= DRIVE_LOOK_AHEAD;
	}
	if (s->mask && !lasting_name(&s->disk)[0])
		return err_set(err, -EPERM,
		               "%s shows no serial number by which it would be known again to put its switches back.",
		               s->disk.path);
	return 0;
}

static int check_one(struct session *ses, const struct device *dev, struct switched *s, struct err *err)
{
	const struct env *env = ses->env;
	char node[128];
	int r;

	if (!ses->plan->is_direct || !env->devices->drive_look || !env->devices->drive_set || !dev->disk[0])
		return err_set(err, -EINVAL,
		               "--write-cache and --look-ahead are for direct measurements of disks: not for %s.",
		               dev->path);
	(void)snprintf(node, sizeof(node), "/dev/%s", dev->disk);
	r = env->devices->probe(env->devices_ctx, dev->kind == DEVICE_DISK ? dev->path : node, &s->disk, err);
	if (r == 0)
		r = env->devices->drive_look(env->devices_ctx, &s->disk, &s->was, err);
	if (r == 0)
		r = choose(ses, s, err);
	return r < 0 || !s->mask ? r : check_users(ses, &s->disk, err);
}

int switches_check(struct session *ses, bool *ret_refused, struct err *err)
{
	struct session_state *st = ses->state;
	int r = 0;

	if (!switches_wanted(ses))
		return 0;
	st->switched = xcalloc(ses->ndevs + 1, sizeof(*st->switched));
	for (size_t i = 0; i < ses->ndevs && r == 0; i++) {
		bool is_known = false;

		for (size_t k = 0; k < st->nswitched; k++)
			is_known = is_known || strcmp(st->switched[k].disk.disk, ses->devs[i].disk) == 0;
		if (is_known)
			continue;
		st->switched[st->nswitched].fd = -1;
		st->switched[st->nswitched].reads_ahead = -1;
		r = check_one(ses, &ses->devs[i], &st->switched[st->nswitched], err);
		st->nswitched += r == 0;
	}
	*ret_refused = *ret_refused || r == -EBUSY || r == -EPERM;
	return r;
}

/* ---- turned, and put back ---- */

int switches_turn(struct session *ses, struct err *err)
{
	const struct env *env = ses->env;
	int r = 0;

	for (size_t i = 0; i < ses->state->nswitched && r == 0; i++) {
		struct switched *s = &ses->state->switched[i];
		struct device now;

		if (!s->mask)
			continue;
		r = turn(env, &s->disk, s->mask, s->on, err);
		if (r < 0)
			break;
		if ((s->on & DRIVE_WRITE_CACHE) &&
		    env->devices->probe(env->devices_ctx, s->disk.path, &now, NULL) == 0 &&
		    strncmp(now.write_cache, "write through", strlen("write through")) == 0)
			result_notice(
				ses->res, "kernel-cache-view",
				"The write cache of %s is on, but the kernel holds it for off and sends no flushes: figures of flushes are not the disk's.",
				s->disk.path);
	}
	return r;
}

void switches_watch(struct session *ses)
{
	for (size_t i = 0; i < ses->state->nswitched; i++) {
		struct switched *s = &ses->state->switched[i];
		bool is_on = s->on & DRIVE_LOOK_AHEAD;
		size_t k = 0;

		if (!(s->mask & DRIVE_LOOK_AHEAD))
			continue;
		while (strcmp(ses->devs[k].disk, s->disk.disk) != 0) /* by one of them it came here */
			k++;
		s->reads_ahead = ahead_look(ses, k);
		if (s->reads_ahead == !is_on)
			result_notice(
				ses->res, "look-ahead-stays",
				is_on ? "%s does not read ahead, although it was switched on: it takes the command without effect."
				      : "%s still reads ahead, although it was switched off: it takes the command without effect.",
				s->disk.path);
		else if (s->reads_ahead < 0 && s->mask & ~s->was.reported)
			result_notice(
				ses->res, "look-ahead-unknown",
				"%s takes the command for its look-ahead, but neither reports nor shows whether it follows: figures may be with or without.",
				s->disk.path);
	}
}

void switches_put_back(struct session *ses, char trouble[SWITCHES_TROUBLE])
{
	trouble[0] = '\0';
	for (size_t i = 0; i < ses->state->nswitched; i++) {
		struct switched *s = &ses->state->switched[i];
		struct err why = { 0 };
		char text[96];

		if (!s->is_noted)
			continue;
		if (turn(ses->env, &s->disk, s->mask, s->was.on & s->mask, &why) == 0) {
			s->is_noted = false;
			if (s->fd < 0)
				continue;
			(void)unlink(s->path); /* should it stay, the same is done once more */
			(void)close(s->fd);
			s->fd = -1;
		} else
			(void)snprintf(trouble, SWITCHES_TROUBLE,
			               "%s is not as it was (%s): %.200s The next platter that runs here as root tries "
			               "again (%.100s).",
			               s->disk.path, text_of(s->mask, s->was.on, text, sizeof(text)), why.text,
			               s->path);
	}
}

struct switch_row {
	const char *device, *name, *before, *during, *after;
};
static const struct field switch_fields[] = {
	FIELD_STR(struct switch_row, device, "device"), FIELD_STR(struct switch_row, name, "switch"),
	FIELD_STR(struct switch_row, before, "before"), FIELD_STR(struct switch_row, during, "during the run"),
	FIELD_STR(struct switch_row, after, "after"),   FIELD_END,
};

void switches_report(struct session *ses, bool is_put_back)
{
	for (size_t i = 0; i < ses->state->nswitched; i++) {
		const struct switched *s = &ses->state->switched[i];

		for (const struct drive_switch_name *k = drive_switch_names; k->name; k++) {
			unsigned w = k->which;
			const char *before = !(s->was.reported & w) ? "not reported" : s->was.on & w ? "on" : "off";
			int seen = s->mask & w & DRIVE_LOOK_AHEAD ? s->reads_ahead : -1;
			const char *during = seen >= 0                ? seen ? "on" : "off"
			                     : !(s->mask & w)         ? before
			                     : !(s->was.reported & w) ? "not reported"
			                     : s->on & w              ? "on"
			                                              : "off";
			const struct switch_row row = { s->disk.path, k->name, before, during,
				                        s->mask & w && !is_put_back ? "not known" : before };

			if ((s->was.reported | s->mask) & w)
				result_row(result_table(ses->res, "switches", "Switches of the drive", switch_fields),
				           &row);
		}
	}
}

void switches_done(struct session *ses)
{
	for (size_t i = 0; i < ses->state->nswitched; i++)
		if (ses->state->switched[i].fd >= 0)
			(void)close(ses->state->switched[i].fd);
	free(ses->state->switched);
}

/* ---- what an earlier run left ---- */

struct left {
	int fd;
	char path[640];
	json_t *o;
};

static const char *left_text(const struct left *l, const char *key)
{
	const char *text = json_string_value(json_object_get(l->o, key));

	return text ? text : "";
}

static bool is_of(const struct left *l, const struct device *dev)
{
	const struct disk_names then = {
		.serial = left_text(l, "serial"),
		.wwn = left_text(l, "wwn"),
		.model = left_text(l, "model"),
		.vendor = left_text(l, "vendor"),
		.kernel = left_text(l, "disk"),
		.size_bytes = (uint64_t)json_integer_value(json_object_get(l->o, "size_bytes")),
		.serial_is_bridges = json_is_true(json_object_get(l->o, "serial_is_bridges")),
	};
	struct disk_names now;
	enum disk_name by;

	device_names(dev, &now);
	return same_disk(&then, &now, &by) == DISK_SAME && by != NAME_BRIDGE && by != NAME_PLACE;
}

/* Reads it as far as it is there; without the lock it may be another's. */
static void read_left(struct left *l)
{
	char text[STATE_BYTES];
	ssize_t n = pread(l->fd, text, sizeof(text), 0);

	json_decref(l->o);
	l->o = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
	if (l->o &&
	    ((strcmp(left_text(l, "schema"), SCHEMA) != 0 && strcmp(left_text(l, "schema"), SCHEMA_OLD) != 0) ||
	     !json_is_integer(json_object_get(l->o, "mask")) || !json_is_integer(json_object_get(l->o, "on")))) {
		json_decref(l->o);
		l->o = NULL;
	}
}

/* Ours alone once it is there. A living run has it: then nothing is to be done, but a killed one's keeper is waited for
 * if it has one of our disks. */
static bool take_left(const struct session *ses, struct left *l)
{
	const struct timespec step = { .tv_nsec = 50 * 1000000 };
	bool is_target = false;
	struct stat st;

	if (fstat(l->fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return false;
	read_left(l);
	for (size_t i = 0; l->o && i < ses->ndevs; i++)
		is_target = is_target || is_of(l, &ses->devs[i]);
	for (int i = 0; flock(l->fd, LOCK_EX | LOCK_NB) < 0; i++) {
		if (!is_target || i == WAIT_STEPS)
			return false;
		(void)nanosleep(&step, NULL); /* a signal only ends it early */
	}
	read_left(l);
	return fstat(l->fd, &st) == 0 && st.st_nlink > 0; /* else it was put back meanwhile */
}

/* `platter recover` of this disk */
static bool is_asked(const struct session *ses, const struct device *disk)
{
	for (size_t i = 0; ses->measure->puts_back && i < ses->ndevs; i++)
		if (strcmp(ses->devs[i].disk, disk->disk) == 0)
			return true;
	return false;
}

static bool is_of_this_start(const struct session *ses, const struct left *l)
{
	const char *now = ses->env->boot_id;

	return now && now[0] && strcmp(left_text(l, "boot_id"), now) == 0;
}

/*
 * After another start the switches may be as somebody has set them since: nothing is turned that was not asked for.
 * false: nothing was.
 */
static bool report_left(struct session *ses, const struct left *l, const struct device *disk, unsigned mask,
                        unsigned on)
{
	struct drive_state now = { 0 };
	char was[96], is[96];
	bool is_known = ses->env->devices->drive_look(ses->env->devices_ctx, disk, &now, NULL) == 0 &&
	                (mask & ~now.reported) == 0,
	     is_done = is_known && ((now.on ^ on) & mask) == 0;

	(void)text_of(mask, on, was, sizeof(was));
	(void)text_of(mask, now.on, is, sizeof(is));
	if (is_done)
		(void)unlink(l->path); /* should it stay, the same is found once more */
	else
		result_notice(
			ses->res, "switches-left",
			"%s: a run begun %s ended before it put back what it had switched (%s), and the machine was "
			"started since. They are now: %s. `platter recover %s` puts them back (%s).",
			disk->path, left_text(l, "when"), was, is_known ? is : "not known", disk->path, l->path);
	return false;
}

static bool put_back_left(struct session *ses, struct left *l, const struct device *disks, size_t n)
{
	unsigned mask = (unsigned)json_integer_value(json_object_get(l->o, "mask"));
	unsigned on = (unsigned)json_integer_value(json_object_get(l->o, "on"));
	const struct device *disk = NULL;
	struct err why = { 0 };
	char text[96];

	for (size_t i = 0; i < n && !disk; i++)
		disk = is_of(l, &disks[i]) ? &disks[i] : NULL;
	if (!disk)
		return false; /* it is not here; the file waits for it */
	if (!is_of_this_start(ses, l) && !is_asked(ses, disk))
		return report_left(ses, l, disk, mask, on);
	(void)text_of(mask, on, text, sizeof(text));
	if (turn(ses->env, disk, mask, on, &why) < 0) {
		result_notice(
			ses->res, "switches-left",
			"%s: an earlier run was killed (begun %s) before it put back what it had switched (%s), and now "
			"that cannot be done: %s",
			disk->path, left_text(l, "when"), text, why.text);
		return false;
	}
	(void)unlink(l->path); /* should it stay, the same is done once more */
	result_notice(
		ses->res, "switches-put-back",
		"%s: an earlier run was killed (begun %s) before it put back what it had switched; it is as before "
		"now (%s).",
		disk->path, left_text(l, "when"), text);
	return true;
}

bool switches_recover(struct session *ses)
{
	const struct device_ops *ops = ses->env->devices;
	cleanup_free struct device *disks = NULL;
	struct dirent *entry;
	bool is_any = false;
	char dir[400];
	size_t n = 0;
	DIR *d;

	if (clock_is_virtual(ses->env->clk) || ses->common->dry_run || !ops->list || !ops->drive_set ||
	    !ops->drive_look)
		return false;
	state_dir(ses, dir, sizeof(dir));
	d = opendir(dir);
	while (d && (entry = readdir(d))) {
		size_t len = strlen(entry->d_name);
		struct left l = { .fd = -1 };

		if (strncmp(entry->d_name, "drive-", 6) != 0 || len < 13 ||
		    strcmp(entry->d_name + len - 6, ".state") != 0)
			continue;
		(void)snprintf(l.path, sizeof(l.path), "%s/%.100s", dir, entry->d_name);
		l.fd = open(l.path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (l.fd >= 0 && take_left(ses, &l)) {
			if (!l.o)
				(void)unlink(l.path); /* not written to its end, so nothing was turned yet */
			else if (disks || ops->list(ses->env->devices_ctx, &disks, &n, NULL) == 0)
				is_any = put_back_left(ses, &l, disks, n) || is_any;
		}
		if (l.fd >= 0)
			(void)close(l.fd);
		json_decref(l.o);
	}
	if (d)
		(void)closedir(d); /* was only read */
	return is_any;
}
