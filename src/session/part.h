/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A measurement as part of another: it has the targets that are open, a budget, and a document of its own. */
#pragma once

#include "session/session.h"

struct session_part {
	const struct measure *measure;
	const char *words; /* its options, blanks between them: "--quick --no-queue" */
	const char *whole; /* one more, in which blanks stay; or NULL */
	uint64_t time_ns;  /* its --time */
	unsigned index;    /* among its siblings, for the seed */
	double from, to;   /* of the progress of the whole, 0 to 1 */
	/* Saves the whole with what the part has so far; NULL is fine. */
	void (*save)(void *arg, struct session *whole, const struct result *part);
	void *arg;
};

/*
 * Plans and runs it. *ret is its document, also after most failures, with a status of its own. -EINVAL: it cannot be
 * done with this target, and the sentence why; -EPERM: it would write.
 */
int session_part(struct session *ses, const struct session_part *part, struct result **ret, struct err *err);
