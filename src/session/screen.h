/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a measurement declares of its first screen; session.h has the rest of it. */
#pragma once

#include <stdbool.h>

/*
 * The first screen of a result, as the document keeps it: cli/screen.c makes the sentence of the clauses,
 * report/screen.c shows it. All of it is about what the document has; a figure that is null or not there is passed
 * over, and so is a clause that speaks of one.
 */
struct screen_decl {
	const char *shows; /* figures and, with # before them, tables that a person came for, comma-separated */
	const struct clause {
		/*
		 * "{name}" is a figure's value, "{name%}" a ratio below 1 in percent (of 1 and more nothing is
		 * reported),
		 * "{name:slow region}" a count of those: "1 slow region"; "{name#read}" of how many samples it is: "1
		 * read".
		 * "{name~}" is the value where its interval is known, else the clause is not said: what the disk does
		 * ("takes", "answers") has to be known, what it did ("took") had to be seen. "{bytes@ratio}" is over
		 * how much something was seen: "the 3.2 GB (0.08 %)", "the 4.0 TB" where that is all. A clause with a
		 * word of totality (nothing, no, all, every) has one of these; where nothing was seen, another clause
		 * says that.
		 */
		const char *text;
		const char *if_any, *if_none; /* said only when this figure is above 0; only when it is 0 */
		const char *unless, *because; /* a notice with this code says why it must not be said; why it must */
		bool is_open;                 /* nothing was seen: the run cannot tell */
		unsigned instead_of;          /* said only when none of that many clauses before it was */
	} * says;                             /* in their order; text NULL ends them */
};
