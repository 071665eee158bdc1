/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal of --rewrite. Writing the same bytes back changes nothing, unless the power goes (or the kernel dies) while a sector is
 * being written: such a sector may be unreadable or garbled afterwards. So the chunk in work lies in a file on another disk, synced, before its first
 * byte is written, until the chunk was flushed and verified.
 *
 * One file per disk or file measured, "rewrite-ID.journal" in the directory of --journal, which is its owner's alone; ID is the serial number, the
 * world-wide name or a UUID (else the kernel name and number), and the place of the partition. It is removed when the run is over.
 *
 * The next start reads the chunk's place again and compares. When all is as it was, the chunk is forgotten. Sectors that cannot be read or differ
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
 * (-EBUSY: another run has it). An unfinished chunk in it stays: see rewrite_pending().
 */
int rewrite_open(struct rewrite_journal **ret, const char *dir, const struct device *dev, struct err *err);
/* Removes the file unless there is an unfinished chunk in it; NULL is fine. */
void rewrite_close(struct rewrite_journal *j);
const char *rewrite_path(const struct rewrite_journal *j);

/* Notes a chunk, durably. After 0 it may be written to the device. */
int rewrite_begin(struct rewrite_journal *j, uint64_t offset_bytes, const void *data, size_t len, struct err *err);
/* The chunk is safe on the device: forgets it. */
int rewrite_end(struct rewrite_journal *j, struct err *err);

struct rewrite_chunk {
	uint64_t offset_bytes, len_bytes;
	char when[32]; /* wall clock */
};
/* Is there an unfinished chunk of an earlier run? */
bool rewrite_pending(const struct rewrite_journal *j, struct rewrite_chunk *ret);

/* It is the device that the chunk is of, although nothing tells. Where something differs this has no effect. */
void rewrite_insist(struct rewrite_journal *j);

struct rewrite_recovery {
	uint64_t sectors, same, unreadable, differing; /* found */
	uint64_t restored;                             /* unreadable or differing ones that were written and verified */
	uint64_t first_differing_bytes;
	uint64_t read_bytes, written_bytes; /* from and to the device meanwhile, also when it failed */
};
/*
 * Compares and, with is_asked, puts back, with requests of at most the engine's buffers. 0: *ret tells, and the chunk is
 * forgotten unless damaged sectors were left; negative errno and a sentence: nothing more than *ret says was done, the chunk stays.
 */
int rewrite_recover(struct rewrite_journal *j, struct engine *eng, const struct target *target, uint32_t sector_bytes,
                    bool is_asked, struct rewrite_recovery *ret, struct err *err);

/*
 * Reads these bytes, notes them, writes the same back, flushes, reads again and compares; a signal does not stop it. 0: ret->restored of ret->sectors were
 * written and are as before; or none, as ret->unreadable could not be read before. Negative errno and a sentence: the journal keeps the chunk.
 */
int rewrite_same(struct rewrite_journal *j, struct engine *eng, const struct target *target, uint64_t first_bytes,
                 uint32_t len_bytes, uint32_t sector_bytes, struct rewrite_recovery *ret, struct err *err);

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
