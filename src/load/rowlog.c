/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of a running loop as lines of text, without disturbing the loop: it copies a row of some 60 bytes into a ring in
 * memory; a thread makes text of what stands there and writes it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "load/load.h"

#define RING_ROWS (1u << 21) /* about 120 MB: the loop never waited with a million, on any disk for the file */
#define LOOK_NS   (50 * NS_PER_MS)

struct rowlog {
	struct rowlog_form form;
	uint64_t rows, waits; /* the loop's */
	FILE *out;
	int error; /* the writer's */
	pthread_t thread;
	char *ring;
	_Atomic uint64_t added, written; /* rows: each is the loop's or the writer's */
	atomic_bool is_over;
};

/* By hand: printf() takes many times as long. */
void rowlog_u64(FILE *out, uint64_t v, unsigned least_digits, char behind)
{
	char text[21], *end = text + sizeof(text), *p = end;

	*--p = behind;
	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
	} while (v || end - 1 - p < least_digits);
	(void)fwrite_unlocked(p, 1, (size_t)(end - p), out); /* the writer asks whether it worked */
}

static void *writer_run(void *arg)
{
	struct rowlog *l = arg;
	bool is_last;

	do {
		is_last = l->is_over; /* before the rows are counted */
		for (uint64_t n = l->added; l->written < n; l->written++) {
			if (l->error == 0)
				l->form.put(l->out, l->ring + l->written % RING_ROWS * l->form.row_bytes);
			if (l->error == 0 && ferror_unlocked(l->out))
				l->error = -errno;
		}
		if (!is_last)
			clock_pause(LOOK_NS);
	} while (!is_last);
	return NULL;
}

void rowlog_add(struct rowlog *l, const void *row)
{
	while (l->rows - l->written == RING_ROWS) {
		l->waits++;
		clock_pause(NS_PER_MS);
	}
	memcpy(l->ring + l->rows % RING_ROWS * l->form.row_bytes, row, l->form.row_bytes);
	l->added = ++l->rows;
}

static void rowlog_free(struct rowlog *l)
{
	free(l->ring);
	free(l);
}

int rowlog_open(struct rowlog **ret, int fd, const struct rowlog_form *form)
{
	struct rowlog *l = xcalloc(1, sizeof(*l));
	int r;

	l->form = *form;
	l->out = xmust(fdopen(fd, "w"));
	l->ring = xmust(malloc(RING_ROWS * form->row_bytes)); /* it takes memory as it is used */
	(void)fputs(form->head, l->out);
	r = host_thread(&l->thread, writer_run, l); /* it gives way to the loop: it is batch work */
	if (r == 0) {
		*ret = l;
		return 0;
	}
	(void)fclose(l->out); /* nothing but the head is lost */
	rowlog_free(l);
	return r;
}

int rowlog_close(struct rowlog *l, uint64_t *ret_waits)
{
	int r;

	l->is_over = true;
	(void)pthread_join(l->thread, NULL); /* of our own thread: cannot fail */
	if (fclose(l->out) != 0 && l->error == 0)
		l->error = -errno;
	if (ret_waits)
		*ret_waits = l->waits;
	r = l->error;
	rowlog_free(l);
	return r;
}
