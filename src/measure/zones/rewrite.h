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

#include "base/err.h"
#include "device/device.h"
#include "load/load.h"

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

/* A flush that a signal does not stop. */
int rewrite_flush(struct engine *eng, const struct target *target, struct err *err);

#endif
