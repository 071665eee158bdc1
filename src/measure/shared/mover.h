/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes between the device and memory, marked by the sector. Deaf to signals: a recovery that was begun is finished.
 * Inside shared/ only.
 */
#pragma once

#include "measure/shared/journal.h"

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
