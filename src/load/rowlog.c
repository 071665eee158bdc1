/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of a running loop as lines of text, without disturbing the loop: it copies a row of some 60 bytes into a block
 * of memory; a thread makes text of full blocks and writes it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "load/load.h"

#define BLOCK_ROWS 4096
#define BLOCKS_MAX \
	512 /* 2 million rows, about 120 MB: the loop never waited with a million, on any disk for the file */
#define TEXT_BYTES 65536

struct block {
	struct block *next;
	size_t n;
	uint64_t rows[]; /* their bytes; aligned for any member */
};

struct rowlog {
	int fd, error;
	struct rowlog_form form;
	pthread_t thread;
	pthread_mutex_t lock; /* of the queues and is_over */
	pthread_cond_t work, room;
	struct block *todo, **todo_end, *unused;
	size_t nblocks;
	bool is_over;
	struct block *filling; /* the loop's */
	uint64_t waits;        /* of the loop for the writer */
	size_t len;            /* of the text; the writer's */
	char text[TEXT_BYTES];
};

/* ---- the writer's side ---- */

static void flush(struct rowlog *l)
{
	for (size_t at = 0; at < l->len && l->error == 0;) {
		ssize_t n = write(l->fd, l->text + at, l->len - at);

		if (n < 0 && errno != EINTR)
			l->error = -errno;
		else if (n > 0)
			at += (size_t)n;
	}
	l->len = 0;
}

void rowlog_text(struct rowlog *l, const char *s, size_t len)
{
	while (len) {
		size_t n = len < TEXT_BYTES - l->len ? len : TEXT_BYTES - l->len;

		memcpy(l->text + l->len, s, n);
		l->len += n;
		s += n;
		len -= n;
		if (l->len == TEXT_BYTES)
			flush(l);
	}
}

/* By hand: printf() takes many times as long. */
void rowlog_u64(struct rowlog *l, uint64_t v, unsigned least_digits, char behind)
{
	char text[21], *end = text + sizeof(text), *p = end;

	*--p = behind;
	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
	} while (v || end - 1 - p < least_digits);
	rowlog_text(l, p, (size_t)(end - p));
}

static void *writer_run(void *arg)
{
	struct rowlog *l = arg;

	(void)pthread_mutex_lock(&l->lock);
	while (l->todo || !l->is_over) {
		struct block *b = l->todo;

		if (!b) {
			(void)pthread_cond_wait(&l->work, &l->lock);
			continue;
		}
		l->todo = b->next;
		if (!l->todo)
			l->todo_end = &l->todo;
		(void)pthread_mutex_unlock(&l->lock);
		for (size_t i = 0; i < b->n && l->error == 0; i++)
			l->form.put(l, (const char *)b->rows + i * l->form.row_bytes);
		flush(l);
		(void)pthread_mutex_lock(&l->lock);
		b->next = l->unused;
		l->unused = b;
		(void)pthread_cond_signal(&l->room);
	}
	(void)pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* ---- the loop's side ---- */

static struct block *block_new(struct rowlog *l)
{
	struct block *b = xmust(malloc(sizeof(*b) + BLOCK_ROWS * l->form.row_bytes));

	b->n = 0;
	l->nblocks++;
	return b;
}

/* An empty block: a used one, a new one, or, when there may be no more, the next that the writer has done. */
static struct block *block_get(struct rowlog *l)
{
	struct block *b;

	if (!l->unused && l->nblocks < BLOCKS_MAX)
		return block_new(l);
	while (!l->unused) {
		l->waits++;
		(void)pthread_cond_wait(&l->room, &l->lock);
	}
	b = l->unused;
	l->unused = b->next;
	b->n = 0;
	return b;
}

static void hand_over(struct rowlog *l)
{
	l->filling->next = NULL;
	*l->todo_end = l->filling;
	l->todo_end = &l->filling->next;
	(void)pthread_cond_signal(&l->work);
}

void rowlog_add(struct rowlog *l, const void *row)
{
	memcpy((char *)l->filling->rows + l->filling->n++ * l->form.row_bytes, row, l->form.row_bytes);
	if (l->filling->n < BLOCK_ROWS)
		return;
	(void)pthread_mutex_lock(&l->lock);
	hand_over(l);
	l->filling = block_get(l);
	(void)pthread_mutex_unlock(&l->lock);
}

int rowlog_open(struct rowlog **ret, int fd, const struct rowlog_form *form)
{
	struct rowlog *l = xcalloc(1, sizeof(*l));
	int r;

	l->fd = fd;
	l->form = *form;
	l->todo_end = &l->todo;
	(void)pthread_mutex_init(&l->lock, NULL);
	(void)pthread_cond_init(&l->work, NULL);
	(void)pthread_cond_init(&l->room, NULL);
	rowlog_text(l, form->head, strlen(form->head));
	flush(l);
	l->filling = block_new(l);
	r = host_thread(&l->thread, writer_run, l); /* it gives way to the loop: it is batch work */
	if (r == 0) {
		*ret = l;
		return 0;
	}
	free(l->filling);
	free(l);
	(void)close(fd); /* nothing but the head is lost */
	return r;
}

int rowlog_close(struct rowlog *l, uint64_t *ret_waits)
{
	int r;

	(void)pthread_mutex_lock(&l->lock);
	hand_over(l);
	l->is_over = true;
	(void)pthread_mutex_unlock(&l->lock);
	(void)pthread_join(l->thread, NULL); /* of our own thread: cannot fail */
	if (close(l->fd) < 0 && l->error == 0)
		l->error = -errno;
	for (struct block *b = l->unused, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	(void)pthread_cond_destroy(&l->work);
	(void)pthread_cond_destroy(&l->room);
	(void)pthread_mutex_destroy(&l->lock);
	if (ret_waits)
		*ret_waits = l->waits;
	r = l->error;
	free(l);
	return r;
}
