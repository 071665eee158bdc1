/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --write-cache and --look-ahead: switches of the drives that are turned for a run and put back after it. Before one is
 * turned, its state is noted in "drive-SERIAL.state" in /var/lib/platter, synced and locked. The keeper then puts all
 * back when the run is over or was killed. Whoever finds such a file that nobody has locked (the keeper was killed,
 * too) puts back what it says. After another start of the machine it is only reported, until `recover` asks for it:
 * somebody may have set the switches since. Inside session/ only.
 */
#ifndef PLATTER_SESSION_SWITCHES_H
#define PLATTER_SESSION_SWITCHES_H

#include "session/session.h"

/* Puts back what earlier runs have left turned; what could not be is a notice. true: something was. */
bool switches_recover(struct session *ses);
/* What would have to be turned, and may it be? Before the targets are opened: our own claims would be users. Turns
 * nothing. */
int switches_check(struct session *ses, bool *ret_refused, struct err *err);
bool switches_wanted(const struct session *ses);
/* Notes it durably; then the keeper has to be started; then turns, and looks whether they are. */
int switches_note(struct session *ses, struct err *err);
int switches_turn(struct session *ses, struct err *err);
/* Whether look-aheads that were turned are as they were set, by how the drives answer. */
void switches_watch(struct session *ses);

#define SWITCHES_TROUBLE 512
/* With all privileges: as they were. trouble: a sentence, or "" when all is. */
void switches_put_back(struct session *ses, char trouble[SWITCHES_TROUBLE]);
/* Into the document. */
void switches_report(struct session *ses, bool is_put_back);
void switches_done(struct session *ses);

#endif
