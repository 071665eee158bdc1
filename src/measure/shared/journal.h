/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the files of --rewrite: journalfile.c (the bytes), whose.c (of which device), mover.c, putback.c. Not a door.
 */
#pragma once

#include "measure/shared/rewrite.h"

#define HEADER_BYTES 4096
#define BESIDE_MAX   48
#define BESIDE_BYTES 4096

struct journal_beside { /* a block that the rewrite does not touch */
	uint64_t offset_bytes, hash;
};

struct journal_identity {
	char serial[256], wwn[288], model[64], vendor[32], uuid[160], part_uuid[64], disk[64], path[256];
	uint64_t size_bytes, partition_offset_bytes, disk_size_bytes;
	uint32_t kind, serial_is_bridges;
};

struct journal_header { /* little-endian machines write, little-endian machines read: the magic shows it */
	char magic[8];
	uint32_t state, header_bytes;
	uint64_t nplaces, data_bytes, list_hash;
	char when[32], boot_id[BOOT_ID_BYTES];
	struct journal_identity of;
	uint64_t
		written_bytes; /* by anybody since the device came up, by the kernel's counter; UINT64_MAX: not known */
	uint64_t nbeside;
	struct journal_beside beside[BESIDE_MAX];
	uint64_t header_hash; /* of all before it */
};

struct journal_entry { /* of the list in the file */
	struct rewrite_place place;
	uint64_t at, hash; /* where its bytes are in the file, and theirs */
};

struct journal_flight {    /* two slots, written by turns: one of them is whole at any time */
	uint64_t of;       /* header_hash of its header */
	uint64_t sequence; /* the greater one counts */
	uint64_t end;      /* places before it, of the list, may be being written */
	uint64_t hash;
};

struct rewrite_journal {
	int fd, dir_fd;
	bool is_pending; /* of an earlier run, or the one in work */
	char name[320];
	char path[720];
	struct journal_header h;
	struct journal_flight flight;
	struct journal_entry *list; /* h.nplaces of them */
	bool *is_used;              /* of many places: it was given out by rewrite_fetch() */
	uint8_t *last;              /* and the last one that was */
	size_t last_index, most_bytes;
	/* The run that has it. */
	struct session *ses;
	struct engine *eng;
	size_t target;
	struct device_written began; /* n 0: nothing counts there */
	uint64_t own_bytes;          /* given to the device since */
	size_t nanchors;             /* of h.beside: read once */
};

/* ---- whose.c ---- */

void journal_set_identity(struct journal_header *h, const struct device *dev);
/* The name of its file, without the folder: it stays after a restart, when a kernel name may be another volume's. */
void journal_name(const struct device *dev, char *buf, size_t len);
enum journal_owner { JOURNAL_OF_OTHER, JOURNAL_OF_THIS, JOURNAL_UNCERTAIN };
/* Is what is noted of dev, or of its disk or a partition of it? *ret_what: what says that it is not. */
enum journal_owner journal_owner(const struct journal_header *h, const struct device *dev, const char **ret_what);
/* Offsets as dev counts them; false: some of it does not lie on dev. */
bool journal_translate(struct rewrite_journal *j, const struct device *dev);
/* Does a journal of the same disk note anything that lies on dev? */
bool journal_meets(const struct rewrite_journal *j, const struct device *dev);

/* ---- journalfile.c ---- */

/* A new list of places, without their bytes. */
void journal_list(struct rewrite_journal *j, const struct rewrite_place *places, size_t n);
/* Room for all of them, before the first byte. */
int journal_reserve(struct rewrite_journal *j, struct err *err);
int journal_put(struct rewrite_journal *j, size_t i, const void *data, struct err *err);
/* All bytes are there: from here on they may be written to the device. */
int journal_note(struct rewrite_journal *j, struct err *err);
/* Place i is written next. */
int journal_fly(struct rewrite_journal *j, size_t i, struct err *err);
/* Two files beside it, made new: what was there and what is there now, byte N of the device in byte N. */
int journal_save(const struct rewrite_journal *j, int ret_fds[2], char *ret_path, size_t len, struct err *err);
/* The bytes of a place, as they were noted: or an error. */
int journal_get(const struct rewrite_journal *j, size_t i, void *data, struct err *err);
int journal_write(int fd, const void *data, size_t len, off_t at);

/* ---- mover.c: who else writes; and bytes between the device and memory, marked by the sector ---- */

void guard_begin(struct rewrite_journal *j);
/* -EBUSY and a sentence: somebody else has written since. */
int guard_look(const struct rewrite_journal *j, struct err *err);
/* The same, and that many bytes more are ours. Before each write. */
int guard_allow(struct rewrite_journal *j, uint64_t bytes, struct err *err);
/* Has nobody written since the device came up? Before our own first write; false also where nothing counts. */
bool guard_is_untouched(const struct rewrite_journal *j);

/* Deaf to signals: a recovery that was begun is finished. */
struct mover {
	struct feeder feeder;
	struct sink sink;
	enum io_op op;
	uint64_t at, end, first;
	uint32_t step_bytes, sector_bytes;
	const uint8_t *data;       /* as it was, byte `first` first */
	uint8_t *fill;             /* NULL, or data: what is read is put there */
	uint8_t *marks;            /* per sector: enum mark */
	uint8_t only;              /* write or read sectors with this mark only; MARK_ANY */
	struct rewrite_journal *j; /* its guard is asked before each write */
	bool is_given;             /* the flush */
	int error;
	struct err why;                     /* of the guard */
	uint64_t read_bytes, written_bytes; /* given to the device, in all */
};

/* MARK_ALIEN: lies between places, and is nothing to us. */
enum mark { MARK_SAME, MARK_DIFFERS, MARK_UNREADABLE, MARK_PUT_BACK, MARK_ALIEN, MARK_ANY = 255 };

/* One pass of reads, writes or a flush over it, in requests of step_bytes, of the sectors with this mark. */
int mover_move(struct mover *m, struct rewrite_journal *j, enum io_op op, uint32_t step_bytes, uint8_t only,
               struct err *err);
/* Reads all of it against m->data, or into m->fill: in large pieces, then what failed sector by sector. */
int mover_compare(struct mover *m, struct rewrite_journal *j, struct err *err);
uint64_t mover_count(const struct mover *m, enum mark mark);
