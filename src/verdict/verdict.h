/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is this disk fit to keep? A table of rules over the figures of documents, for runs (`platter check`) and for
 * documents of any measurement (`platter report`). A false REJECT is worse than a DOUBT: only what is certain rejects
 * by itself.
 */
#pragma once

#include "result/result.h"

enum verdict { VERDICT_REJECT, VERDICT_DOUBT, VERDICT_KEEP, VERDICT_NONE }; /* the worst first */
extern const char *const verdict_words[];

/* What a sign comes from: two of different kinds that doubt reject together; those of the link and of a run never. */
enum verdict_kind { SIGN_COUNTED, SIGN_MEASURED, SIGN_LINK, SIGN_RUN };

struct verdict_rule {
	const char *name, *figure; /* of the document, or a sign made of it */
	enum verdict says;
	enum verdict_kind kind;
	double above;     /* it holds above that */
	const char *text; /* "{n:sector} pending" and other signs in braces */
	const char *sure; /* how sure the sign is */
	const char
		*settle; /* the command that would settle it, without the disk; NULL: nothing is left to be settled */
	const char *how; /* what has to be known of that: "takes {read_all_s}"; "": nothing settles it here */
	const char *source;
};
extern const struct verdict_rule verdict_rules[]; /* name NULL ends them */

#define VERDICT_REASONS 24

struct judgement {
	enum verdict is;                                     /* VERDICT_NONE: nothing was seen that would allow one */
	struct result *signs;                                /* the figures that rules ask for, of all documents */
	const struct verdict_rule *reasons[VERDICT_REASONS]; /* the worst first */
	size_t n;
	bool is_by_two; /* REJECT, as two doubts of different kinds agree */
};

/* What the disk counts itself, after the run, or before it where that is not known; NaN: not at all. */
double verdict_counter(const struct result *doc, const char *quantity);
/* Figure "damage_since": counts of damage that are higher than in an earlier document of the disk. */
void verdict_since(struct result *res, const struct result *before);

/* Of the documents of one disk, the last of each measurement. */
void verdict_judge(const struct result *const *docs, size_t n, struct judgement *ret);
void verdict_done(struct judgement *j);
#define VERDICT_TEXT 160
/* "8 sectors pending (SMART 197)" */
char *verdict_text(const struct judgement *j, size_t reason, char *buf);
/*
 * Into the document of a run of `check`: figures "verdict" and "verdict_level" (0 keep, 1 doubt, 2 reject), table
 * "reasons".
 */
void verdict_conclude(struct result *res);
