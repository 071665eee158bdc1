/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal of --rewrite. Writing the same bytes back changes nothing, unless the power goes (or the kernel dies) while a sector is
 * being written: such a sector may be unreadable or garbled afterwards. So what is in work, one place or many, lies in a file on another disk,
 * synced, before its first byte is written, until it was flushed and verified.
 *
 * One file per disk or file measured, "rewrite-ID.journal" in the directory of --journal, which is its owner's alone; ID is the serial number, the
 * world-wide name or a UUID (else the kernel name and number), and the place of the partition. It is removed when the run is over.
 *
 * The next start reads these places again and compares. When all is as it was, they are forgotten. Sectors that cannot be read or differ
 * are put back only when asked for (--recover), and only when the device shows that it is the same one: serial number, model, world-wide name,
 * UUID of the mapping or the array, of the partition, size and place as they were, and at least one of these that no other device has. If more
 * differs than an interruption damages, it was written since, and nothing is touched.
 */
#ifndef PLATTER_MEASURE_REWRITE_H
#define PLATTER_MEASURE_REWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/session.h"

#define REWRITE_EDGE_BYTES (1ull << 20) /* of a disk's start and end are not written: partition tables live there */

struct rewrite_journal;

/*
 * Opens (makes) the journal of a device in dir, which is made if it is not there; locks it against other runs. 0 or negative errno and a sentence
 * (-EBUSY: another run has it). What is unfinished in it stays: see rewrite_pending().
 */
int rewrite_open(struct rewrite_journal **ret, const char *dir, const struct device *dev, struct err *err);
/* Removes the file unless something in it is unfinished; NULL is fine. */
void rewrite_close(struct rewrite_journal *j);
const char *rewrite_path(const struct rewrite_journal *j);

/* Notes a place, durably. After 0 it may be written to the device. */
int rewrite_begin(struct rewrite_journal *j, uint64_t offset_bytes, const void *data, size_t len, struct err *err);
/* All is safe on the device: forgets it. */
int rewrite_end(struct rewrite_journal *j, struct err *err);

struct rewrite_place {
	uint64_t offset_bytes, len_bytes;
};
/* How large the file will be. */
uint64_t rewrite_file_bytes(const struct rewrite_place *places, size_t n);

struct rewrite_chunk {
	uint64_t offset_bytes, len_bytes, places; /* of the first; of all; how many */
	char when[32];                            /* wall clock */
};
/* Is there something unfinished of an earlier run? */
bool rewrite_pending(const struct rewrite_journal *j, struct rewrite_chunk *ret);

/* It is the device that the places are of, although nothing tells. Where something differs this has no effect. */
void rewrite_insist(struct rewrite_journal *j);

struct rewrite_recovery {
	uint64_t sectors, same, unreadable, differing; /* found */
	uint64_t restored;                             /* unreadable or differing ones that were written and verified */
	bool is_all;                                   /* all that was to be compared was */
	uint64_t read_bytes, written_bytes;            /* from and to the device meanwhile, also when it failed */
};
/*
 * Compares and, with is_asked, puts back, with requests of at most the engine's buffers. 0: *ret tells, and all is
 * forgotten unless damaged sectors were left; negative errno and a sentence: nothing more than *ret says was done, the journal stays.
 */
int rewrite_recover(struct rewrite_journal *j, struct engine *eng, const struct target *target, uint32_t sector_bytes,
                    bool is_asked, struct rewrite_recovery *ret, struct err *err);

/*
 * Reads these bytes, notes them, writes the same back, flushes, reads again and compares; a signal does not stop it. 0: ret->restored of ret->sectors were
 * written and are as before; or none, as ret->unreadable could not be read before. Negative errno and a sentence: the journal keeps them.
 */
int rewrite_same(struct rewrite_journal *j, struct engine *eng, const struct target *target, uint64_t first_bytes,
                 uint32_t len_bytes, uint32_t sector_bytes, struct rewrite_recovery *ret, struct err *err);

/*
 * Many places at once, none of which share a byte, in the order in which they will be written. Reads and notes them all, durably; nothing may be written before. Each
 * is at most one of the engine's buffers. *ret_is_noted: false when go_on() said no. What cannot be read is an error.
 */
struct rewrite_watch {
	bool (*go_on)(void *arg, double done); /* asked now and then */
	void *arg;
};
int rewrite_save(struct rewrite_journal *j, struct engine *eng, const struct target *target,
                 const struct rewrite_place *places, size_t n, uint32_t sector_bytes, const struct rewrite_watch *watch,
                 struct rewrite_recovery *ret, bool *ret_is_noted, struct err *err);
/* Bytes of place i, from skip on, to be written there: checked against what was noted. */
int rewrite_fetch(struct rewrite_journal *j, size_t i, size_t skip, void *buf, size_t len, struct err *err);
/*
 * A flush; then what was fetched is read again and compared, as far as go_on() lets it, and forgotten. 0: ret->same of ret->sectors were read and are
 * as before. Negative errno and a sentence: the journal keeps all of it.
 */
int rewrite_verify(struct rewrite_journal *j, struct engine *eng, const struct target *target, uint32_t sector_bytes,
                   const struct rewrite_watch *watch, struct rewrite_recovery *ret, struct err *err);

/* A flush that a signal does not stop. */
int rewrite_flush(struct engine *eng, const struct target *target, struct err *err);

/* ---- recover.c ---- */

/*
 * Opens the journal of a target of the session, and looks after what an earlier run left in it: with is_asked it is put back, else it is an error unless all is
 * as it was. *ret is to be closed also after a failure, unless it is NULL.
 */
int rewrite_start(struct rewrite_journal **ret, struct session *ses, size_t target, struct engine *eng, const char *dir,
                  bool is_asked, struct err *err);

#endif
