/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that go on for as long as it takes: to a device, or to a file without a name that is made in a directory.
 * What is written differs from request to request, as nothing is to be stored once, or is what was there (--rewrite).
 */
#pragma once

#include "session/session.h"

struct rewrite_journal;
struct lasting {
	struct session *ses;
	struct engine *eng;
	struct target *target, own;      /* the session's first, or the file */
	struct datafile *file;           /* NULL: there is none */
	struct rewrite_journal *journal; /* NULL: what is there need not stay */
	uint64_t written;                /* requests, for their data */
	uint64_t end_ns;                 /* nothing begins later */
};
/* What --range leaves of a device, or of the file, of file_bytes without it, that is made in a directory. */
int lasting_range(const struct device *dev, const char *range, uint64_t file_bytes, uint32_t block_bytes,
                  uint64_t *ret_first, uint64_t *ret_end, struct err *err);
/* end_bytes: of the file. To be closed either way, after which the file is gone. */
int lasting_open(struct lasting *l, struct session *ses, const struct engine_config *cfg, uint64_t end_bytes,
                 struct err *err);
/* What its engine writes: nothing that compresses. As lasting_open() does; for who sets the members by itself. */
void lasting_fill(struct lasting *l, uint32_t buf_bytes);
void lasting_close(struct lasting *l);
bool lasting_is_over(const struct lasting *l); /* a signal, the time, or the device is gone */

struct lasting_order {
	enum io_op op;
	uint32_t block_bytes, depth;
	uint64_t requests, end_bytes, max_ns;     /* end_bytes: the last is shortened there; 0: no limit */
	bool flushes;                             /* behind the last of them, however long they take */
	double rate_bytes_per_s;                  /* 0: as fast as it goes */
	uint64_t (*place)(void *arg, uint64_t i); /* of the i-th of them */
	void (*took)(void *arg, const struct io_req *req, bool is_fault); /* times as of session_now_ns() */
	void (*tick)(void *arg, uint64_t now_ns);
	void *arg;
};
int lasting_load(struct lasting *l, const struct lasting_order *o, struct err *err);
