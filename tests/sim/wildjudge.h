/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What wildjudge.c has done for it: each command's statements in a file of their own. */
#pragma once

#include "wildboard.h"

struct judge {
	const struct wild_case *c;
	const char *command;
	json_t *figures, *lies, *notices, *missed;
	size_t planted; /* regions that should be found */
};

#define lie(j, ...) wild_say((j)->lies, __VA_ARGS__)

void judge_zones(struct judge *j);
void judge_geometry(struct judge *j); /* of a disk that rotates */
/* Does the text say how its tracks follow each other? may_alternate: it says that turns of heads were not seen, or they
 * do not show. */
bool wild_is_layout(const struct profile *p, const char *text, bool may_alternate);
/* Where the second arm's half, or the second disk, begins; NaN: nowhere. */
double wild_second_begins(const struct wild_case *c);
