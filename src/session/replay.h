/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For measurements whose every question follows from the answer before: no table of samples gives their figures, only
 * asking again does. So the document keeps what was asked and answered, and the same run() is had once more with these
 * answers, on the clock that they have.
 */
#pragma once

#include "session/session.h"

/* Table "requests": for a measurement's list of tables. */
struct kept_request {
	const char *op; /* NULL, while it is asked again: was asked */
	uint64_t offset_bytes, len_bytes;
	uint64_t submit_ns, done_ns; /* since the start of the run */
	int64_t result;              /* bytes moved, or a negative errno */
};
extern const struct field replay_fields[];
#define REQUESTS_TABLE                                                                 \
	{                                                                              \
		"requests", "Requests in the order of their completion", replay_fields \
	}

/* From now on every request of session_load() to the first target goes into that table. */
void session_keep_requests(struct session *ses);
/* That many rows it has; 0: none are kept. */
uint64_t session_requests_kept(const struct session *ses);
/* Was this option, one without an argument, given to the run? */
bool replay_flag(const struct result *saved, const char *name);
/*
 * run() of m with its params, as saved says that it ran, asking what was answered then. *ret is its document, the
 * caller's. It ends where the answers do, as a run ends that is interrupted. 0; -ENODATA and a sentence: there are no
 * answers, or run() asks other questions than the saved run did.
 */
int session_replay(const struct measure *m, const struct result *saved, const void *params, struct result **ret,
                   struct err *err);
