/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * May it be written, and what does that take? One function decides, and all who report it (`info`, --dry-run, the
 * refusal) report what it has found. No option overrides a use. What nobody can see from here (other hosts, other name
 * spaces) refuses, too, until it is insisted upon by the word of the refusal. And every kind of writing wants the
 * device's name, putting back what was read as well: the name that stays with the disk, since a kernel name belongs to
 * whatever came up in that order today.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/units.h"
#include "device/device.h"

/* Findings that nothing overrides, most serious first. */
static const struct {
	enum finding_kind kind;
	int code;
} barriers[] = {
	{ FINDING_MOUNT, -EBUSY },  { FINDING_OUTPUT, -EBUSY },    { FINDING_SWAP, -EBUSY },
	{ FINDING_HOLDER, -EBUSY }, { FINDING_LOOP, -EBUSY },      { FINDING_EXPORT, -EBUSY },
	{ FINDING_OPEN, -EBUSY },   { FINDING_LOCKED, -EBUSY },    { FINDING_EXCLUSIVE, -EBUSY },
	{ FINDING_STACK, -EPERM },  { FINDING_READ_ONLY, -EROFS }, { FINDING_ZONED, -EPERM },
	{ FINDING_ALIEN, -EPERM },
};

struct reasons { /* sentences, a line each when there are several */
	char text[sizeof(((struct err *)0)->text) - 96];
	size_t len, n, left_out;
	int code; /* of the first */
};

struct decision {
	struct reasons barred; /* what no option changes */
	struct reasons asked;  /* what options would change; looked at only when nothing bars */
	char options[2048];    /* that the given consent lacks, each with a blank before it */
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

/* An option that is wanted, once. */
static void ask(struct decision *d, const char *sentence, const char *option, const char *word)
{
	char text[512];

	add_reason(&d->asked, -EPERM, sentence);
	(void)snprintf(text, sizeof(text), strpbrk(word, " \t'\"$`\\*?;&|<>()#!~") ? " --%s='%s'" : " --%s=%s", option,
	               word);
	if (!strstr(d->options, text))
		str_add(d->options, sizeof(d->options), "%s", text);
}

static void find_barriers(const struct device *dev, const struct survey *s, struct reasons *r)
{
	struct err empty = { 0 };
	char sentence[512];

	if (dev->kind == DEVICE_DIRECTORY)
		add_reason(r, -EPERM, "It is a directory: only files that platter makes in it are written.");
	if (device_check_capacity(dev, &empty) < 0)
		add_reason(r, -EPERM, empty.text);
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].kind == FINDING_MOUNT &&
		    strcmp(s->v[i].where, "/") == 0) { /* other mounts of that disk are not news then */
			add_reason(r, -EBUSY, finding_text(&s->v[i], sentence, sizeof(sentence)));
			return;
		}
	}
	for (size_t k = 0; k < ARRAY_LEN(barriers); k++)
		for (size_t i = 0; i < s->n; i++)
			if (s->v[i].kind == barriers[k].kind)
				add_reason(r, barriers[k].code, finding_text(&s->v[i], sentence, sizeof(sentence)));
}

/* ---- the name ---- */

/* "ST4000DM004, 4.00 TB": so that the reader sees which disk is meant. */
static const char *portrait(const struct device *dev, char *buf, size_t len)
{
	char size[32];

	(void)snprintf(buf, len, "%s%s%s", dev->id.model, dev->id.model[0] ? ", " : "",
	               units_bytes_dec(size, sizeof(size), dev->size_bytes));
	return buf;
}

static bool is_given(const struct strs *given, const struct consent_names *names)
{
	for (size_t i = 0; given && i < given->n; i++)
		for (size_t k = 0; k < names->n; k++)
			if (given->v[i][0] && strcmp(given->v[i], names->v[k]) == 0)
				return true;
	return false;
}

bool consent_destroys(const struct consent *consent, const struct device *dev)
{
	struct consent_names names;

	consent_names(dev, &names);
	return is_given(&consent->destroy, &names);
}

static void find_name(const struct device *dev, enum write_kind kind, const struct consent *consent, struct decision *d)
{
	const char *option = kind == WRITE_SAME ? "rewrite-data" : "destroy-data";
	const struct strs *destroy = consent ? &consent->destroy : NULL, *rewrite = consent ? &consent->rewrite : NULL;
	const struct strs *given = kind == WRITE_SAME && rewrite && rewrite->n > 0 ? rewrite : destroy;
	struct consent_names names;
	char who[128], text[1024];

	consent_names(dev, &names);
	/* Whoever gives up the data gives up more than --rewrite may lose. */
	if (is_given(destroy, &names) || (kind == WRITE_SAME && is_given(rewrite, &names)))
		return;
	(void)portrait(dev, who, sizeof(who));
	if (dev->id.serial[0] && dev->id.serial_is_shared && strs_have(given, dev->id.serial))
		(void)snprintf(text, sizeof(text),
		               "Several disks here have the serial number %s; name this one (%s) by --%s=%s.",
		               dev->id.serial, who, option, names.v[0]);
	else if (!names.is_kernel_name && strs_have(given, dev->name))
		(void)snprintf(
			text, sizeof(text),
			"%s is a kernel name, which another disk may have after the next start; this one (%s) is --%s=%s.",
			dev->name, who, option, names.v[0]);
	else if (given && given->n > 0)
		(void)snprintf(text, sizeof(text), "--%s=%.64s does not name this device (%s); that would be --%s=%s.",
		               given == rewrite ? "rewrite-data" : "destroy-data", given->v[0], who, option,
		               names.v[0]);
	else if (kind == WRITE_SAME)
		(void)snprintf(
			text, sizeof(text),
			"--rewrite writes back what it has read (%s); if nobody else can write there meanwhile, add --%s=%s.",
			who, option, names.v[0]);
	else
		(void)snprintf(text, sizeof(text),
		               "Writing destroys all that is on it (%s); if that may go, add --%s=%s.", who, option,
		               names.v[0]);
	if (names.is_kernel_name)
		str_add(text, sizeof(text),
		        " (It shows no serial number or other name that would stay the same after the next start.)");
	ask(d, text, option, names.v[0]);
}

/* ---- what is on it ---- */

/* File systems that several hosts may have mounted at once, which nothing on this host shows. */
static bool is_shared_type(const char *type)
{
	static const char *const types[] = { "VMFS", "VMFS_volume_member", "ocfs2", "gfs2", "gfs",
		                             "drbd", "ceph_bluestore" };

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (strcasecmp(type, types[i]) == 0)
			return true;
	return false;
}

/*
 * Every signature has to be named by its type; libblkid's spelling, in any case. For putting back what was read only
 * where another host may be writing to it right now: then --rewrite would undo that.
 */
static void find_unnamed(const struct device *dev, const struct survey *s, enum write_kind kind,
                         const struct consent *consent, struct decision *d)
{
	const struct strs *given = consent ? &consent->overwrite_signature : NULL;
	char sentence[512];

	for (size_t i = 0; i < s->n; i++) {
		const struct finding *f = &s->v[i];
		bool is_known = f->kind != FINDING_SIGNATURE;

		if (kind == WRITE_SAME && dev->way.reach == REACH_LOCAL && !is_shared_type(f->what))
			continue;
		for (size_t k = 0; given && k < given->n && !is_known; k++)
			is_known = strcasecmp(given->v[k], f->what) == 0;
		if (is_known)
			continue;
		if (kind == WRITE_SAME)
			(void)snprintf(
				sentence, sizeof(sentence),
				"%s carries %s, which other hosts may be writing to right now, and --rewrite could undo "
				"that; if none does, add --overwrite-signature=%s.",
				f->on, f->what, f->what);
		else
			(void)finding_text(f, sentence, sizeof(sentence));
		ask(d, sentence, "overwrite-signature", f->what);
	}
}

/* What cannot be seen from here. */
static void find_unseen(const struct survey *s, const struct consent *consent, struct decision *d)
{
	char sentence[512];

	for (size_t i = 0; i < s->n; i++)
		if ((s->v[i].kind == FINDING_SHARED || s->v[i].kind == FINDING_UNSEEN) &&
		    !strs_have(consent ? &consent->despite : NULL, s->v[i].what))
			ask(d, finding_text(&s->v[i], sentence, sizeof(sentence)), "despite", s->v[i].what);
}

/* ---- the decision, and those who report it ---- */

static void decide(const struct device *dev, const struct survey *survey, enum write_kind kind,
                   const struct consent *consent, struct decision *ret)
{
	*ret = (struct decision){ 0 };
	find_barriers(dev, survey, &ret->barred);
	/* Advice to override something would mislead as long as nothing may be written anyway. */
	if (ret->barred.n > 0 || dev->kind == DEVICE_FILE)
		return;
	find_unnamed(dev, survey, kind, consent, ret);
	find_unseen(survey, consent, ret);
	find_name(dev, kind, consent, ret);
}

int permit_would(const struct device *dev, const struct survey *survey, enum write_kind kind,
                 const struct consent *consent, struct err *err)
{
	const struct reasons *r;
	struct decision d;
	char more[64] = "";

	if (kind == WRITE_NONE)
		return 0;
	decide(dev, survey, kind, consent, &d);
	r = d.barred.n > 0 ? &d.barred : &d.asked;
	if (r->n == 0)
		return 0;
	if (r->left_out > 0)
		(void)snprintf(more, sizeof(more), "\n  And %zu more: see platter info.", r->left_out);
	return err_set(err, r->code, "Nothing is written to %s:%s%s%s", dev->path, r->n > 1 ? "\n  " : " ", r->text,
	               more);
}

static const struct finding *unreadable(const struct survey *survey)
{
	for (size_t i = 0; i < survey->n; i++)
		if (survey->v[i].kind == FINDING_SIGNATURE && strcmp(survey->v[i].what, SIGNATURE_UNREADABLE) == 0)
			return &survey->v[i];
	return NULL;
}

bool permit_verdict(const struct device *dev, const struct survey *survey, char *buf, size_t len)
{
	const struct finding *f = unreadable(survey);
	struct decision d, same;

	decide(dev, survey, WRITE_DESTROY, NULL, &d);
	if (dev->kind == DEVICE_DIRECTORY) {
		(void)snprintf(buf, len,
		               dev->is_read_only ? "no: the file system is read-only"
		                                 : "in files that platter makes in it, and nowhere else");
		return !dev->is_read_only;
	}
	if (d.barred.n > 0) {
		size_t n = strcspn(d.barred.text, "\n");

		n -= n > 0 && d.barred.text[n - 1] == '.'; /* it becomes part of a sentence */
		(void)snprintf(buf, len, "no: %.*s", (int)n, d.barred.text);
		if (d.barred.n > 1)
			str_add(buf, len, " (and %zu more)", d.barred.n - 1);
		return false;
	}
	if (dev->kind == DEVICE_FILE) {
		(void)snprintf(buf, len, "yes, with --write: platter made it");
		return true;
	}
	if (f) {
		(void)snprintf(buf, len, "not known: %s could not be searched for what is on it (%s)", f->on, f->where);
		return false;
	}
	decide(dev, survey, WRITE_SAME, NULL, &same);
	(void)snprintf(buf, len, "only with --write%s; to put the same bytes back, with --rewrite%s", d.options,
	               same.options);
	return true;
}
