/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Findings: the list, and the sentences that users read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xalloc.h"
#include "device/sysfs.h"

void survey_add(struct survey *s, enum finding_kind kind, const char *on, const char *what, const char *where)
{
	struct finding f = { .kind = kind };

	text_copy(f.on, sizeof(f.on), on);
	text_copy(f.what, sizeof(f.what), what);
	text_copy(f.where, sizeof(f.where), where);
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].kind == kind && strcmp(s->v[i].on, f.on) == 0 && strcmp(s->v[i].what, f.what) == 0 &&
		    strcmp(s->v[i].where, f.where) == 0)
			return;
	xappend(s->v, s->n, f);
}

void survey_done(struct survey *s)
{
	free(s->v);
	*s = (struct survey){ 0 };
}

bool survey_has(const struct survey *s, enum finding_kind kind)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].kind == kind)
			return true;
	return false;
}

bool survey_is_in_use(const struct survey *s)
{
	return survey_has(s, FINDING_MOUNT) || survey_has(s, FINDING_SWAP) || survey_has(s, FINDING_HOLDER);
}

void survey_drop(struct survey *s, enum finding_kind kind)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].kind != kind)
			s->v[kept++] = s->v[i];
	s->n = kept;
}

/* Names for scripts and the sentence of each kind: {on}, {what} and {where} are the members of the finding. */
static const struct {
	const char *name, *text;
} kinds[] = {
	[FINDING_MOUNT] = { "mounted", "{on} is mounted on {where} ({what}); unmount it first." },
	[FINDING_SWAP] = { "swap", "{on} is in use as swap space; turn it off first (swapoff {where})." },
	[FINDING_HOLDER] = { "held", "{on} is part of {what}; {advice}." },
	[FINDING_LOOP] = { "loop",
	                   "{what} is a loop device over {where}, which shares bytes with {on}; detach it first "
	                   "(losetup -d /dev/{what})." },
	[FINDING_EXPORT] = { "exported",
	                     "{on} is lent to other hosts by {what} ({where}); take that target down first." },
	[FINDING_LOCKED] = { "locked",
	                     "{on} is locked by another program (flock: udev, sfdisk, another platter); wait for it or "
	                     "end it first." },
	[FINDING_SHARED] = { "shared",
	                     "{on} can be written to by other hosts ({where}), and what they do does not show here; if "
	                     "none does, add --despite={what}." },
	[FINDING_UNSEEN] = { "unseen", "Who else uses {on} cannot all be seen ({where}); if nobody writes to it, add "
	                               "--despite={what}." },
	[FINDING_STACK] = { "stack", "What {on} stands on cannot be followed to its end: {where}." },
	[FINDING_SIGNATURE] = { "signature",
	                        "{on} carries {what} ({where}); if that may go, add --overwrite-signature={what}." },
	[FINDING_EXCLUSIVE] = { "in-use",
	                        "{on} is in use: the kernel refuses exclusive access, for something that platter cannot see "
	                        "(a mount in another name space, or a program that holds it); end that first." },
	[FINDING_READ_ONLY] = { "read-only",
	                        "{on} is read-only; look for a write-protect switch, or see blockdev --setrw." },
	[FINDING_OUTPUT] = { "output", "The output {where} lies on {on}; write it to another disk." },
	[FINDING_ZONED] = { "zoned",
	                    "{on} is a host-managed zoned disk, which takes no writes in arbitrary places; only "
	                    "reading can be measured." },
	[FINDING_DATA] = { "data",
	                   "{what} sampled blocks of {on} are not zero: it may hold data without a signature." },
	[FINDING_OPEN] = { "open", "{on} is open for writing by {what}; end that program first." },
	[FINDING_ALIEN] = { "not-ours",
	                    "{where} was not made by platter, so it is not overwritten; give a disk, or a file "
	                    "that platter made." },
};

static const char root_text[] =
	"{on} holds the root file system of this running machine; platter never writes to that disk.";
static const char unreadable_text[] =
	"{on} could not be searched for file systems and partition tables ({where}); if whatever is there may go, add "
	"--overwrite-signature={what}.";

const char *finding_kind_name(enum finding_kind kind)
{
	return kinds[kind].name;
}

/* How to stop a holder, by its kernel name. */
static const char *holder_advice(const char *holder)
{
	static const struct {
		const char *start, *advice;
	} known[] = {
		{ "dm-", "close that mapping first (vgchange -an, cryptsetup close or dmsetup remove)" },
		{ "md", "stop that array first (mdadm --stop)" },
		{ "bcache", "stop that cache first" },
		{ "drbd", "take that resource down first (drbdadm down)" },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strncmp(holder, known[i].start, strlen(known[i].start)) == 0)
			return known[i].advice;
	return "stop what holds it first";
}

static bool mention(void *arg, const char *what, size_t bytes, char *buf, size_t len)
{
	const struct finding *f = arg;
	const struct {
		const char *word, *value;
	} words[] = {
		{ "on", f->on },
		{ "what", f->what },
		{ "where", f->where },
		{ "advice", holder_advice(f->what) },
	};
	size_t i = 0;

	while (i < ARRAY_LEN(words) && strncmp(words[i].word, what, bytes) != 0)
		i++;
	text_copy(buf, len, i < ARRAY_LEN(words) ? words[i].value : "");
	return i < ARRAY_LEN(words);
}

char *finding_text(const struct finding *f, char *buf, size_t len)
{
	const char *text = kinds[f->kind].text;
	struct finding copy = *f;

	if (f->kind == FINDING_MOUNT && strcmp(f->where, "/") == 0)
		text = root_text;
	if (f->kind == FINDING_SIGNATURE && strcmp(f->what, SIGNATURE_UNREADABLE) == 0)
		text = unreadable_text;
	(void)str_fill(buf, len, text, &(struct str_source){ mention, &copy }); /* the words of the table are known */
	return buf;
}
