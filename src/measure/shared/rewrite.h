/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal of --rewrite. Writing the same bytes back changes nothing, unless the power goes (or the kernel dies)
 * while a sector is being written: such a sector may be unreadable or garbled afterwards. So what is in work, one place
 * or many, lies in a file on another disk, synced, before its first byte is written, until it was flushed and verified.
 *
 * One file per disk or file measured, "rewrite-ID.journal" in the directory of --journal, which is its owner's alone;
 * ID is the serial number, the world-wide name or a UUID (else the kernel name and number), and the place of the
 * partition. It is removed when the run is over.
 *
 * The bytes that are written are those that were there. So a sector that differs afterwards is torn, by a power
 * failure, in the block that was in flight, or it is newer and somebody else's: nothing proves that nobody wrote there
 * between the end of the run and the last start of the machine. So --recover puts back what cannot be read. What
 * differs is saved, both sides, and put back with consent (--destroy-data). Never to a device that shows another name.
 * The start of the machine (boot_id), blocks beside that are not written, and what is in flight are noted so that the
 * consent is an informed one.
 *
 * While it runs, whatever anybody else writes to the device stops it (mover.c).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

#define REWRITE_EDGE_BYTES (1ull << 20) /* of a disk's start and end are not written: partition tables live there */

struct rewrite_journal;

/*
 * Opens (makes) the journal of a device in dir, which is made if it is not there; locks it against other runs. 0 or
 * negative errno and a sentence
 * (-EBUSY: another run has it). What is unfinished in it stays.
 */
int rewrite_open(struct rewrite_journal **ret, const char *dir, const struct device *dev, struct err *err);
/* Another one in dir that has something unfinished which lies on dev: of its disk, or of a partition of it. */
bool rewrite_find(struct rewrite_journal **ret, const char *dir, const struct device *dev,
                  const struct rewrite_journal *own);
/* Is anything unfinished in dir that may lie on dev? Makes nothing. */
bool rewrite_is_left(const char *dir, const struct device *dev);
/* Removes the file unless something in it is unfinished; NULL is fine. */
void rewrite_close(struct rewrite_journal *j);
const char *rewrite_path(const struct rewrite_journal *j);

/* Notes a place, durably, and reads what lies beside it. After 0 it may be written to the device. */
int rewrite_begin(struct rewrite_journal *j, uint64_t offset_bytes, const void *data, size_t len, struct err *err);
/*
 * Before each write of that many bytes: -EBUSY and a sentence when somebody else has written to the device since the
 * run began.
 */
int rewrite_allow(struct rewrite_journal *j, uint64_t bytes, struct err *err);
/* All is safe on the device: forgets it, durably. */
int rewrite_end(struct rewrite_journal *j, struct err *err);

struct rewrite_place {
	uint64_t offset_bytes, len_bytes;
};
/* How large the file will be. */
uint64_t rewrite_file_bytes(const struct rewrite_place *places, size_t n);

struct rewrite_recovery {
	uint64_t sectors, same, unreadable, differing; /* found */
	uint64_t differing_places;                     /* one that was not in flight counts twice */
	uint64_t first_bytes, end_bytes;               /* of what differs */
	uint64_t beside_same, beside_differing;        /* blocks */
	uint64_t restored;                             /* unreadable or differing ones that were written and verified */
	bool is_all;                                   /* all that was to be compared was */
	bool is_foreign; /* most of it differs: another disk, or one that was filled anew. Nothing was written */
	bool looks_torn; /* what differs is as a power failure leaves it: which is not a proof of one */
	char saved[800]; /* both sides of what differs, with ".then" and ".now" behind; "": nothing does */
};
enum rewrite_wish { REWRITE_LOOK, REWRITE_ASKED, REWRITE_CONSENT };
/*
 * Compares and, as wished, puts back, with requests of at most the engine's buffers. 0: *ret has it, and all is
 * forgotten unless damaged or differing sectors were left; negative errno and a sentence: nothing more than *ret says
 * was done, the journal stays.
 */
int rewrite_recover(struct rewrite_journal *j, enum rewrite_wish wish, struct rewrite_recovery *ret, struct err *err);
/* A sentence of what reads differently from what was written, by whomever that is. Negative errno. */
int rewrite_lost(const struct rewrite_journal *j, const struct rewrite_recovery *found, struct err *err);

/*
 * Reads these bytes, notes them, writes the same back, flushes, reads again and compares; a signal does not stop it. 0:
 * ret->restored of ret->sectors were written and are as before; or none, as ret->unreadable could not be read before.
 * Negative errno and a sentence: the journal keeps them.
 */
int rewrite_same(struct rewrite_journal *j, uint64_t first_bytes, uint32_t len_bytes, struct rewrite_recovery *ret,
                 struct err *err);

/*
 * Many places at once, none of which share a byte, in the order in which they will be written. Reads and notes them
 * all, durably; nothing may be written before. Each is at most one of the engine's buffers. *ret_is_noted: false when
 * go_on() said no. What cannot be read is an error.
 */
struct rewrite_watch {
	bool (*go_on)(void *arg, double done); /* asked now and then */
	void *arg;
};
int rewrite_save(struct rewrite_journal *j, const struct rewrite_place *places, size_t n,
                 const struct rewrite_watch *watch, bool *ret_is_noted, struct err *err);
/*
 * Bytes that belong there, to be written there next: checked against what was noted, and against other writers. All of
 * them lie in one place; quick in the order in which the places were noted.
 */
int rewrite_fetch(struct rewrite_journal *j, uint64_t offset_bytes, void *buf, size_t len, struct err *err);
/*
 * A flush; then what was fetched is read again and compared, as far as go_on() lets it, and forgotten. 0: ret->same of
 * ret->sectors were read and are as before. Negative errno and a sentence: the journal keeps all of it.
 */
int rewrite_verify(struct rewrite_journal *j, const struct rewrite_watch *watch, struct rewrite_recovery *ret,
                   struct err *err);

/* A flush that a signal does not stop. */
int rewrite_flush(struct rewrite_journal *j, struct err *err);

/* ---- recover.c ---- */

/* The notice that nothing of this target is left to be put back. */
void rewrite_say_nothing(struct session *ses, size_t target, const char *dir);

/*
 * Opens the journal of a target of the session, and looks after what an earlier run left in it: with is_asked it is put
 * back, else it is an error unless all is as it was. *ret is to be closed also after a failure, unless it is NULL.
 */
int rewrite_start(struct rewrite_journal **ret, struct session *ses, size_t target, struct engine *eng, const char *dir,
                  bool is_asked, struct err *err);
