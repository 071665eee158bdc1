/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The write gate: the only file that makes a write_permit. Four guards, each enough to refuse: flock on the disk;
 * O_EXCL of the target and of all that shares bytes with it; what survey.c found; consent that names the device. The
 * first two are held to the end; decision.c says what follows from the last two.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "device/inside.h"

struct write_permit {
	enum write_kind kind;
	const struct device_ops *ops; /* NULL: nothing to close */
	void *ctx;
	int fd;               /* exclusive, held to the end */
	int lock_fd;          /* of the whole disk, likewise; -1: none */
	struct claims others; /* of what shares bytes with it, likewise */
	dev_t rdev;
	bool is_file;
	dev_t file_dev;
	ino_t file_inode;
	char *header; /* of an existing file: put back at the end, should the measurement have written over it */
};

bool permit_covers(const struct write_permit *p, int fd)
{
	struct stat st;

	if (p->kind == WRITE_NONE || fstat(fd, &st) < 0)
		return false;
	if (p->is_file)
		return S_ISREG(st.st_mode) && st.st_dev == p->file_dev && st.st_ino == p->file_inode;
	return S_ISBLK(st.st_mode) && st.st_rdev == p->rdev;
}

/* ---- the permit ---- */

void survey_outputs(const struct device_ops *ops, void *ctx, const struct device *dev, const struct strs *outputs,
                    struct survey *survey)
{
	for (size_t i = 0; ops->holds && outputs && i < outputs->n; i++) {
		const char *path = outputs->v[i];

		if (path && path[0] && strcmp(path, "-") != 0 && ops->holds(ctx, dev, path, false))
			survey_add(survey, FINDING_OUTPUT, dev->name, "", path);
	}
}

/* What the failure of the lock or the claim means for the decision; other errors are not about the gate. */
static int claim_finding(const struct device *dev, int code, enum finding_kind *ret)
{
	if (code == -EAGAIN)
		*ret = FINDING_LOCKED;
	else if (code == -EBUSY)
		*ret = FINDING_EXCLUSIVE;
	else if (code == -EROFS)
		*ret = FINDING_READ_ONLY;
	else if (code == -EPERM && dev->kind == DEVICE_FILE)
		*ret = FINDING_ALIEN;
	else
		return code;
	return 0;
}

/* What the claim said besides what the survey has found: "something that platter cannot see" when nothing was seen. */
static void add_claim(const struct device *dev, int claim, struct survey *found)
{
	enum finding_kind kind = FINDING_EXCLUSIVE;

	(void)claim_finding(dev, claim, &kind); /* permit_acquire() let no other code through */
	if (kind == FINDING_ALIEN ? !survey_has(found, kind) : kind != FINDING_EXCLUSIVE || !survey_is_in_use(found))
		survey_add(found, kind, dev->name, "", kind == FINDING_ALIEN ? dev->node : "");
}

/* All that is known, after the claim: findings of the survey, of the claims, and of our own outputs. */
static int gather(const struct device_ops *ops, void *ctx, const struct device *dev, int claim,
                  const struct consent *consent, struct claims *ret_others, struct survey *ret, struct err *err)
{
	struct survey refused = { 0 };
	int r = claim >= 0 && ops->claim_others ? ops->claim_others(ctx, dev, ret_others, &refused, err) : 0;

	if (r == 0)
		r = ops->survey(ctx, dev, ret, err);
	if (r == 0 && claim >= 0)
		survey_drop(ret, FINDING_EXCLUSIVE); /* those were our own claims */
	else if (r == 0)
		add_claim(dev, claim, ret);
	for (size_t i = 0; i < refused.n && r == 0; i++)
		if (refused.v[i].kind != FINDING_EXCLUSIVE || !survey_is_in_use(ret))
			survey_add(ret, refused.v[i].kind, refused.v[i].on, refused.v[i].what, refused.v[i].where);
	survey_done(&refused);
	if (r == 0 && consent)
		survey_outputs(ops, ctx, dev, &consent->outputs, ret);
	return r;
}

static struct write_permit *permit_new(const struct device *dev, enum write_kind kind, int fd)
{
	struct write_permit *p = xcalloc(1, sizeof(*p));
	struct stat st;

	p->kind = kind;
	p->fd = fd;
	p->lock_fd = -1;
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
	p->header = xcalloc(1, DATAFILE_HEADER_BYTES);
	if (pread(p->fd, p->header, DATAFILE_HEADER_BYTES, 0) != DATAFILE_HEADER_BYTES) {
		free(p->header);
		p->header = NULL;
	}
}

/* The lock first, then the claim: -EAGAIN, or what claim() says. *ret_lock stays -1 where there is none. */
static int lock_and_claim(const struct device_ops *ops, void *ctx, const struct device *dev, int *ret_lock,
                          struct err *err)
{
	if (ops->lock && dev->kind != DEVICE_FILE) {
		*ret_lock = ops->lock(ctx, dev, err);
		if (*ret_lock < 0)
			return *ret_lock;
	}
	return ops->claim(ctx, dev, err);
}

static struct write_permit *grant(const struct device_ops *ops, void *ctx, const struct device *dev,
                                  enum write_kind kind, int claim, int lock, const struct claims *others)
{
	struct write_permit *p = permit_new(dev, kind, claim);

	p->ops = ops;
	p->ctx = ctx;
	p->lock_fd = lock;
	p->others = *others;
	keep_header(p);
	return p;
}

int permit_acquire(struct write_permit **ret_permit, const struct device_ops *ops, void *ctx, const struct device *dev,
                   enum write_kind kind, const struct consent *consent, struct survey *ret_survey, struct err *err)
{
	struct survey found = { 0 };
	struct claims others = { 0 };
	enum finding_kind ignored;
	int claim, lock = -1, r;

	if (kind != WRITE_SAME && kind != WRITE_DESTROY)
		return err_set(err, -EINVAL, "A permit was asked for without a kind of writing.");
	if (dev->kind == DEVICE_DIRECTORY)
		return permit_would(dev, &found, kind, consent, err);
	claim = lock_and_claim(ops, ctx, dev, &lock, err);
	r = claim < 0 ? claim_finding(dev, claim, &ignored) : 0;
	if (r == 0)
		r = gather(ops, ctx, dev, claim, consent, &others, &found, err);
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
		*ret_permit = grant(ops, ctx, dev, kind, claim, lock, &others);
		return 0;
	}
	claims_done(&others);
	if (claim >= 0)
		ops->close(ctx, claim);
	if (lock >= 0)
		ops->close(ctx, lock);
	return r;
}

void permit_release(struct write_permit *p)
{
	if (!p)
		return;
	if (p->header) /* failing that, the file is no longer known as ours, and stays */
		(void)!pwrite(p->fd, p->header, DATAFILE_HEADER_BYTES, 0);
	free(p->header);
	claims_done(&p->others);
	if (p->ops)
		p->ops->close(p->ctx, p->fd);
	if (p->ops && p->lock_fd >= 0)
		p->ops->close(p->ctx, p->lock_fd);
	free(p);
}

int permit_for_datafile(struct write_permit **ret, int fd, const char *path, struct err *err)
{
	struct device dev = { .kind = DEVICE_FILE };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "Cannot look at %s: %s.", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || !datafile_has_header(fd))
		return err_set(err, -EPERM, "%s was not made by platter, so it is not overwritten.", path);
	dev.rdev = st.st_dev;
	*ret = permit_new(&dev, WRITE_DESTROY, fd);
	return 0;
}
