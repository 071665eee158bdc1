/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between journal.c, the file, and rewrite.c, which moves bytes. Not a door. */
#ifndef PLATTER_MEASURE_JOURNAL_H
#define PLATTER_MEASURE_JOURNAL_H

#include "measure/shared/rewrite.h"

struct journal_header { /* little-endian machines write, little-endian machines read: the magic tells */
	char magic[8];
	uint32_t state, header_bytes;
	uint64_t nplaces, data_bytes, list_hash;
	char when[32];
	char serial[64], model[64], wwn[64], uuid[160], part_uuid[64], name[64], path[256];
	uint64_t size_bytes, partition_offset_bytes;
	uint64_t header_hash; /* of all before it */
};

struct journal_entry { /* of the list in the file */
	struct rewrite_place place;
	uint64_t at, hash; /* where its bytes are in the file, and theirs */
};

struct rewrite_journal {
	int fd, dir_fd;
	bool is_pending;   /* of an earlier run, or the one in work */
	bool is_uncertain; /* nothing tells that the pending places are of this very device */
	char name[160];
	char path[512];
	struct journal_header h;
	struct journal_entry *list; /* h.nplaces of them */
	bool *is_used;              /* of many places: it was given out by rewrite_fetch() */
	uint8_t *last;              /* and the last one that was */
	size_t last_index, most_bytes;
};

/* A new list of places, without their bytes. */
int journal_list(struct rewrite_journal *j, const struct rewrite_place *places, size_t n, struct err *err);
/* Room for all of them, before the first byte. */
int journal_reserve(struct rewrite_journal *j, struct err *err);
int journal_put(struct rewrite_journal *j, size_t i, const void *data, struct err *err);
/* All bytes are there: from here on they may be written to the device. */
int journal_note(struct rewrite_journal *j, struct err *err);
/* The bytes of a place, as they were noted: or an error. */
int journal_get(const struct rewrite_journal *j, size_t i, void *data, struct err *err);

#endif
