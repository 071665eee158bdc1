/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The write gate: the only file that makes a write_permit. Three guards, each of which is enough to refuse: the kernel (O_EXCL, held to the
 * end), what was found (survey.c), and consent that names the device. No option overrides a use; --overwrite-signature
 * overrides what it names, and nothing else.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "device/permit.h"
#include "device/survey.h"

struct write_permit {
	enum write_kind kind;
	const struct device_ops *ops; /* NULL: nothing to close */
	void *ctx;
	int fd; /* exclusive, held to the end */
	dev_t rdev;
	bool is_file;
	dev_t file_dev;
	ino_t file_inode;
	char *header; /* of an existing file: put back at the end, should the measurement have written over it */
};

dev_t permit_rdev(const struct write_permit *p)
{
	return p->rdev;
}

enum write_kind permit_kind(const struct write_permit *p)
{
	return p->kind;
}

bool permit_covers(const struct write_permit *p, int fd)
{
	struct stat st;

	if (p->kind == WRITE_NONE || fstat(fd, &st) < 0)
		return false;
	if (p->is_file)
		return S_ISREG(st.st_mode) && st.st_dev == p->file_dev && st.st_ino == p->file_inode;
	return S_ISBLK(st.st_mode) && st.st_rdev == p->rdev;
}

/* ---- the decision ---- */

/* Findings that nothing overrides, most serious first. */
static const struct {
	enum finding_kind kind;
	int code;
} barriers[] = {
	{ FINDING_MOUNT, -EBUSY },     { FINDING_OUTPUT, -EBUSY },    { FINDING_SWAP, -EBUSY },
	{ FINDING_HOLDER, -EBUSY },    { FINDING_LOOP, -EBUSY },      { FINDING_OPEN, -EBUSY },
	{ FINDING_EXCLUSIVE, -EBUSY }, { FINDING_READ_ONLY, -EROFS }, { FINDING_ZONED, -EPERM },
	{ FINDING_ALIEN, -EPERM },
};

struct reasons { /* sentences, a line each when there are several */
	char text[sizeof(((struct err *)0)->text) - 96];
	size_t len, n, left_out;
	int code; /* of the first */
};

static void add_reason(struct reasons *r, int code, const char *sentence)
{
	size_t need = strlen(sentence) + 3;

	r->code = r->n == 0 ? code : r->code;
	r->n++;
	if (r->len + need >= sizeof(r->text)) {
		r->left_out++;
		return;
	}
	r->len += (size_t)snprintf(r->text + r->len, sizeof(r->text) - r->len, "%s%s", r->len ? "\n  " : "", sentence);
}

static bool names_root(const struct finding *f)
{
	return f->kind == FINDING_MOUNT && strcmp(f->where, "/") == 0;
}

static bool is_empty(const struct device *dev)
{
	return (dev->kind == DEVICE_DISK || dev->kind == DEVICE_PARTITION) && dev->size_bytes == 0;
}

static void find_barriers(const struct device *dev, const struct survey *s, struct reasons *r)
{
	char sentence[512];

	if (is_empty(dev))
		add_reason(r, -EPERM, "It has no size: there is no medium in it, or it is not set up.");
	for (size_t i = 0; i < s->n; i++) {
		if (names_root(&s->v[i])) { /* other mounts of that disk are no news then */
			add_reason(r, -EBUSY, finding_text(&s->v[i], sentence, sizeof(sentence)));
			return;
		}
	}
	for (size_t k = 0; k < ARRAY_LEN(barriers); k++)
		for (size_t i = 0; i < s->n; i++)
			if (s->v[i].kind == barriers[k].kind)
				add_reason(r, barriers[k].code, finding_text(&s->v[i], sentence, sizeof(sentence)));
}

static bool is_named(const struct strs *names, const char *name)
{
	for (size_t i = 0; names && i < names->n; i++)
		if (strcmp(names->v[i], name) == 0)
			return true;
	return false;
}

void consent_serial(const struct device *dev, char *buf, size_t len)
{
	buf[0] = '\0';
	if (!dev->serial[0] || dev->serial_is_shared)
		return;
	if (dev->kind == DEVICE_PARTITION)
		(void)snprintf(buf, len, "%s-part%u", dev->serial, dev->partition);
	else
		text_copy(buf, len, dev->serial);
}

/* "ST4000DM004, 4.00 TB": so that the reader sees which disk is meant. */
static const char *portrait(const struct device *dev, char *buf, size_t len)
{
	char size[32];

	(void)snprintf(buf, len, "%s%s%s", dev->model, dev->model[0] ? ", " : "",
	               units_bytes_dec(size, sizeof(size), dev->size_bytes));
	return buf;
}

static void find_consent(const struct device *dev, const struct consent *consent, struct reasons *r)
{
	const struct strs *given = consent ? &consent->destroy : NULL;
	char serial[128], who[128], text[512];

	consent_serial(dev, serial, sizeof(serial));
	if (is_named(given, dev->name) || (serial[0] && is_named(given, serial)))
		return;
	(void)portrait(dev, who, sizeof(who));
	if (dev->serial[0] && dev->serial_is_shared && is_named(given, dev->serial))
		(void)snprintf(text, sizeof(text),
		               "Several disks here have the serial number %s; name this one (%s) by --destroy-data=%s.",
		               dev->serial, who, dev->name);
	else if (given && given->n > 0)
		(void)snprintf(
			text, sizeof(text),
			"--destroy-data=%.64s does not name this device (%s); that would be --destroy-data=%s%s%s.",
			given->v[0], who, dev->name, serial[0] ? " or --destroy-data=" : "", serial);
	else
		(void)snprintf(text, sizeof(text),
		               "Writing destroys all that is on it (%s); if that may go, add --destroy-data=%s%s%s.",
		               who, dev->name, serial[0] ? " or --destroy-data=" : "", serial);
	add_reason(r, -EPERM, text);
}

/* Every signature has to be named by its type; libblkid's spelling, in any case. */
static void find_unnamed(const struct survey *s, const struct consent *consent, struct reasons *r)
{
	const struct strs *given = consent ? &consent->overwrite_signature : NULL;
	char sentence[512];

	for (size_t i = 0; i < s->n; i++) {
		bool is_known = s->v[i].kind != FINDING_SIGNATURE;

		for (size_t k = 0; given && k < given->n && !is_known; k++)
			is_known = strcasecmp(given->v[k], s->v[i].what) == 0;
		if (!is_known)
			add_reason(r, -EPERM, finding_text(&s->v[i], sentence, sizeof(sentence)));
	}
}

/*
 * File systems that several hosts may have mounted at once, which nothing on this host shows: putting back what was read would undo what
 * another host has written in between.
 */
static bool is_shared_type(const char *type)
{
	static const char *const types[] = { "VMFS", "VMFS_volume_member", "ocfs2", "gfs2", "gfs",
		                             "drbd", "ceph_bluestore" };

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (strcasecmp(type, types[i]) == 0)
			return true;
	return false;
}

static void find_shared(const struct survey *s, const struct consent *consent, struct reasons *r)
{
	char sentence[512];

	for (size_t i = 0; i < s->n; i++) {
		const struct finding *f = &s->v[i];

		if (f->kind != FINDING_SIGNATURE || !is_shared_type(f->what) ||
		    is_named(consent ? &consent->overwrite_signature : NULL, f->what))
			continue;
		(void)snprintf(
			sentence, sizeof(sentence),
			"%s carries %s, which other hosts may be writing to right now, and --rewrite could undo that; if "
			"none does, add --overwrite-signature=%s.",
			f->on, f->what, f->what);
		add_reason(r, -EPERM, sentence);
	}
}

int permit_would(const struct device *dev, const struct survey *survey, enum write_kind kind,
                 const struct consent *consent, struct err *err)
{
	struct reasons r = { 0 };
	char more[64] = "";

	if (kind == WRITE_NONE)
		return 0;
	find_barriers(dev, survey, &r);
	if (dev->kind == DEVICE_DIRECTORY)
		add_reason(&r, -EPERM, "It is a directory: only files that platter makes in it are written.");
	/* Advice to override something would mislead as long as nothing may be written anyway. */
	if (r.n == 0 && kind == WRITE_DESTROY && dev->kind != DEVICE_FILE) {
		find_unnamed(survey, consent, &r);
		find_consent(dev, consent, &r);
	}
	if (r.n == 0 && kind == WRITE_SAME)
		find_shared(survey, consent, &r);
	if (r.n == 0)
		return 0;
	if (r.left_out > 0)
		(void)snprintf(more, sizeof(more), "\n  And %zu more: see platter info.", r.left_out);
	return err_set(err, r.code, "Nothing is written to %s:%s%s%s", dev->path, r.n > 1 ? "\n  " : " ", r.text, more);
}

static void append(char *buf, size_t len, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void append(char *buf, size_t len, const char *fmt, ...)
{
	size_t at = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(buf + at, len - at, fmt, ap); /* cut is fine */
	va_end(ap);
}

bool permit_verdict(const struct device *dev, const struct survey *survey, char *buf, size_t len)
{
	struct reasons r = { 0 };

	if (dev->kind == DEVICE_DIRECTORY) {
		(void)snprintf(buf, len,
		               dev->is_read_only ? "no: the file system is read-only"
		                                 : "in files that platter makes in it, and nowhere else");
		return !dev->is_read_only;
	}
	find_barriers(dev, survey, &r);
	if (r.n > 0) {
		*strchrnul(r.text, '\n') = '\0';
		(void)snprintf(buf, len, "no: %s", r.text);
		if (r.n > 1)
			append(buf, len, " (and %zu more)", r.n - 1);
		return false;
	}
	if (dev->kind == DEVICE_FILE) {
		(void)snprintf(buf, len, "yes, with --write: platter made it");
		return true;
	}
	for (size_t i = 0; i < survey->n; i++) {
		if (survey->v[i].kind != FINDING_SIGNATURE || strcmp(survey->v[i].what, SIGNATURE_UNREADABLE) != 0)
			continue;
		(void)snprintf(buf, len, "not known: %s could not be searched for what is on it (%s)", survey->v[i].on,
		               survey->v[i].where);
		return false;
	}
	(void)snprintf(buf, len, "only with --write --destroy-data=%s", dev->name);
	for (size_t i = 0; i < survey->n; i++) {
		char option[160];

		if (survey->v[i].kind != FINDING_SIGNATURE)
			continue;
		(void)snprintf(option, sizeof(option), " --overwrite-signature=%s", survey->v[i].what);
		if (!strstr(buf, option))
			append(buf, len, "%s", option);
	}
	append(buf, len, "; --rewrite needs no consent, as it puts back what it read");
	return true;
}

/* ---- the permit ---- */

int survey_outputs(const struct device_ops *ops, void *ctx, const struct device *dev, const struct strs *outputs,
                   struct survey *survey)
{
	int r = 0;

	for (size_t i = 0; ops->holds && outputs && i < outputs->n && r == 0; i++) {
		const char *path = outputs->v[i];

		if (path && path[0] && strcmp(path, "-") != 0 && ops->holds(ctx, dev, path))
			r = survey_add(survey, FINDING_OUTPUT, dev->name, "", path);
	}
	return r;
}

/* What the claim's failure means for the decision; other errors are not about the gate. */
static int claim_finding(int code, enum finding_kind *ret)
{
	if (code == -EBUSY)
		*ret = FINDING_EXCLUSIVE;
	else if (code == -EROFS)
		*ret = FINDING_READ_ONLY;
	else
		return code;
	return 0;
}

/* All that is known, after the claim: findings of the survey, of the claim, and of our own outputs. */
static int gather(const struct device_ops *ops, void *ctx, const struct device *dev, int claim,
                  const struct consent *consent, struct survey *ret, struct err *err)
{
	enum finding_kind kind = FINDING_DATA;
	int r = ops->survey(ctx, dev, ret, err);

	if (r < 0)
		return r;
	if (claim >= 0) {
		survey_drop(ret, FINDING_EXCLUSIVE); /* that was our own claim */
	} else {
		(void)claim_finding(claim, &kind); /* permit_acquire() let no other code through */
		/* "something that platter cannot see" only when nothing was seen */
		if (kind != FINDING_EXCLUSIVE || !(survey_has(ret, FINDING_MOUNT) || survey_has(ret, FINDING_SWAP) ||
		                                   survey_has(ret, FINDING_HOLDER)))
			r = survey_add(ret, kind, dev->name, "", "");
	}
	if (r == 0 && consent)
		r = survey_outputs(ops, ctx, dev, &consent->outputs, ret);
	return r < 0 ? err_set(err, r, "Out of memory.") : 0;
}

static struct write_permit *permit_new(const struct device *dev, enum write_kind kind, int fd)
{
	struct write_permit *p = calloc(1, sizeof(*p));
	struct stat st;

	if (!p)
		return NULL;
	p->kind = kind;
	p->fd = fd;
	p->rdev = dev->rdev;
	p->is_file = dev->kind == DEVICE_FILE;
	if (p->is_file && fstat(fd, &st) == 0) {
		p->file_dev = st.st_dev;
		p->file_inode = st.st_ino;
	}
	return p;
}

static void keep_header(struct write_permit *p)
{
	if (!p->is_file || !datafile_has_header(p->fd))
		return;
	p->header = malloc(DATAFILE_HEADER_BYTES);
	if (p->header && pread(p->fd, p->header, DATAFILE_HEADER_BYTES, 0) != DATAFILE_HEADER_BYTES) {
		free(p->header);
		p->header = NULL;
	}
}

int permit_acquire(struct write_permit **ret_permit, const struct device_ops *ops, void *ctx, const struct device *dev,
                   enum write_kind kind, const struct consent *consent, struct survey *ret_survey, struct err *err)
{
	struct survey found = { 0 };
	enum finding_kind ignored;
	struct write_permit *p;
	int claim, r;

	if (kind != WRITE_SAME && kind != WRITE_DESTROY)
		return err_set(err, -EINVAL, "A permit was asked for without a kind of writing.");
	if (dev->kind == DEVICE_DIRECTORY)
		return permit_would(dev, &found, kind, consent, err);
	claim = ops->claim(ctx, dev, err);
	r = claim < 0 ? claim_finding(claim, &ignored) : 0;
	if (r < 0)
		return r;
	r = gather(ops, ctx, dev, claim, consent, &found, err);
	if (r == 0)
		r = permit_would(dev, &found, kind, consent, err);
	if (r == 0 && claim < 0) /* belt and braces: without the claim there is no permit, whatever was decided */
		r = err_set(err, claim, "Nothing is written to %s: it cannot be had for exclusive use.", dev->path);
	if (kind == WRITE_SAME)
		survey_drop(&found, FINDING_DATA); /* no warning: nothing of it is lost */
	if (ret_survey)
		*ret_survey = found;
	else
		survey_done(&found);
	if (r == 0) {
		p = permit_new(dev, kind, claim);
		if (p) {
			p->ops = ops;
			p->ctx = ctx;
			keep_header(p);
			*ret_permit = p;
			return 0;
		}
		r = err_set(err, -ENOMEM, "Out of memory.");
	}
	if (claim >= 0)
		ops->close(ctx, claim);
	return r;
}

void permit_release(struct write_permit *p)
{
	if (!p)
		return;
	if (p->header) /* failing that, the file is no longer known as ours, and stays */
		(void)!pwrite(p->fd, p->header, DATAFILE_HEADER_BYTES, 0);
	free(p->header);
	if (p->ops)
		p->ops->close(p->ctx, p->fd);
	free(p);
}

int permit_for_datafile(struct write_permit **ret, int fd, const char *path, struct err *err)
{
	struct device dev = { .kind = DEVICE_FILE };
	struct write_permit *p;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "Cannot look at %s: %s.", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || !datafile_has_header(fd))
		return err_set(err, -EPERM, "%s was not made by platter, so it is not overwritten.", path);
	dev.rdev = st.st_dev;
	p = permit_new(&dev, WRITE_DESTROY, fd);
	if (!p)
		return err_set(err, -ENOMEM, "Out of memory.");
	*ret = p;
	return 0;
}
