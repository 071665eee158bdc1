/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/transactions/each.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "load/load.h"
#include "result/result.h"

#define BLOCK_ROWS 4096
#define BLOCKS_MAX 512 /* 2 million rows, 115 MB: a million never waits, whatever the disk of the file does */
#define ROW_BYTES  256 /* of text, at most: seven numbers and a class of 31 bytes */
#define TEXT_BYTES 65536

struct block {
	struct block *next;
	size_t n;
	struct tx_row rows[BLOCK_ROWS];
};

struct tx_each {
	int fd, error;
	const char *(*class_name)(const void *arg, uint32_t class);
	const void *arg;
	pthread_t thread;
	pthread_mutex_t lock; /* of the queues and is_over */
	pthread_cond_t work, room;
	struct block *todo, **todo_end, *unused;
	size_t nblocks;
	bool is_over;
	struct block *filling; /* the loop's */
	struct tx_each_cost cost;
	char text[TEXT_BYTES + ROW_BYTES]; /* the writer's */
};

/* ---- text ---- */

/* Numbers by hand: printf() of a double takes twenty times as long, and the language's decimal point. */
static char *put_u64(char *p, uint64_t v, unsigned least_digits)
{
	char digits[20];
	unsigned n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v || n < least_digits);
	while (n)
		*p++ = digits[--n];
	return p;
}

static char *put_fixed(char *p, uint64_t v, uint64_t unit, unsigned digits)
{
	p = put_u64(p, v / unit, 1);
	*p++ = '.';
	p = put_u64(p, v % unit, digits);
	*p++ = ',';
	return p;
}

static char *put_row(const struct tx_each *e, char *p, const struct tx_row *row)
{
	const char *name = e->class_name(e->arg, row->class);
	size_t n = strnlen(name, 31);

	p = put_u64(p, row->user, 1);
	*p++ = ',';
	memcpy(p, name, n);
	p += n;
	*p++ = ',';
	p = put_fixed(p, row->end_ns, NS_PER_S, 9);
	p = put_fixed(p, row->think_ns, NS_PER_S, 9);
	p = put_fixed(p, row->response_ns, NS_PER_S, 9);
	p = put_fixed(p, (uint64_t)(row->load * 1e6 + 0.5), 1000000, 6);
	p = put_u64(p, row->requests, 1);
	*p++ = ',';
	*p++ = row->has_fault ? '1' : '0';
	*p++ = '\n';
	return p;
}

static void flush(struct tx_each *e, size_t len)
{
	for (size_t at = 0; at < len && e->error == 0;) {
		ssize_t n = write(e->fd, e->text + at, len - at);

		if (n < 0 && errno != EINTR)
			e->error = -errno;
		else if (n > 0)
			at += (size_t)n;
	}
}

static void write_block(struct tx_each *e, const struct block *b)
{
	size_t len = 0;

	for (size_t i = 0; i < b->n; i++) {
		len = (size_t)(put_row(e, e->text + len, &b->rows[i]) - e->text);
		if (len >= TEXT_BYTES) {
			flush(e, len);
			len = 0;
		}
	}
	flush(e, len);
}

static void *writer_run(void *arg)
{
	struct tx_each *e = arg;
	struct timespec t;

	(void)pthread_mutex_lock(&e->lock);
	while (e->todo || !e->is_over) {
		struct block *b = e->todo;

		if (!b) {
			(void)pthread_cond_wait(&e->work, &e->lock);
			continue;
		}
		e->todo = b->next;
		if (!e->todo)
			e->todo_end = &e->todo;
		(void)pthread_mutex_unlock(&e->lock);
		write_block(e, b);
		(void)pthread_mutex_lock(&e->lock);
		b->next = e->unused;
		e->unused = b;
		(void)pthread_cond_signal(&e->room);
	}
	(void)pthread_mutex_unlock(&e->lock);
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* cannot fail for this clock */
	e->cost.cpu_ns = (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
	return NULL;
}

/* ---- the loop's side ---- */

/* An empty block: a used one, a new one, or, when there may be no more, the next that the writer has done. */
static struct block *block_get(struct tx_each *e)
{
	struct block *b;

	if (!e->unused && e->nblocks < BLOCKS_MAX) {
		b = malloc(sizeof(*b));
		if (b) {
			e->nblocks++;
			return b;
		}
	}
	while (!e->unused) {
		e->cost.waits++;
		(void)pthread_cond_wait(&e->room, &e->lock);
	}
	b = e->unused;
	e->unused = b->next;
	return b;
}

void tx_each_add(struct tx_each *e, const struct tx_row *row)
{
	e->cost.rows++;
	e->filling->rows[e->filling->n++] = *row;
	if (e->filling->n < BLOCK_ROWS)
		return;
	(void)pthread_mutex_lock(&e->lock);
	e->filling->next = NULL;
	*e->todo_end = e->filling;
	e->todo_end = &e->filling->next;
	(void)pthread_cond_signal(&e->work);
	e->filling = block_get(e);
	e->filling->n = 0;
	(void)pthread_mutex_unlock(&e->lock);
}

int tx_each_open(struct tx_each **ret, const char *path, const char *(*class_name)(const void *arg, uint32_t class),
                 const void *arg, struct err *err)
{
	static const char head[] = "user,class,end_s,think_s,response_s,load,requests,has_fault\n";
	struct tx_each *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return err_set(err, -ENOMEM, "Out of memory.");
	e->class_name = class_name;
	e->arg = arg;
	e->todo_end = &e->todo;
	(void)pthread_mutex_init(&e->lock, NULL);
	(void)pthread_cond_init(&e->work, NULL);
	(void)pthread_cond_init(&e->room, NULL);
	e->fd = result_new_file(path);
	if (e->fd < 0) {
		r = err_set(err, e->fd, "%s cannot be made anew for --each (%s); give another path.", path,
		            err_name(e->fd));
		free(e);
		return r;
	}
	memcpy(e->text, head, sizeof(head) - 1);
	flush(e, sizeof(head) - 1);
	e->filling = calloc(1, sizeof(*e->filling));
	/* It gives way to the transactions: it is batch work. */
	r = e->filling ? host_thread(&e->thread, writer_run, e) : -ENOMEM;
	if (r < 0) {
		(void)close(e->fd); /* nothing but the head is lost */
		free(e->filling);
		free(e);
		return err_set(err, r, "No memory, or no thread, for --each.");
	}
	e->nblocks = 1;
	*ret = e;
	return 0;
}

int tx_each_close(struct tx_each *e, struct tx_each_cost *ret)
{
	int r;

	if (!e)
		return 0;
	(void)pthread_mutex_lock(&e->lock);
	e->filling->next = NULL;
	*e->todo_end = e->filling;
	e->is_over = true;
	(void)pthread_cond_signal(&e->work);
	(void)pthread_mutex_unlock(&e->lock);
	(void)pthread_join(e->thread, NULL); /* of our own thread: cannot fail */
	if (close(e->fd) < 0 && e->error == 0)
		e->error = -errno;
	for (struct block *b = e->unused, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	(void)pthread_cond_destroy(&e->work);
	(void)pthread_cond_destroy(&e->room);
	(void)pthread_mutex_destroy(&e->lock);
	*ret = e->cost;
	r = e->error;
	free(e);
	return r;
}
