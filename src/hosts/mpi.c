/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The transport over MPI, compiled once for each implementation into a module of its own, which is loaded by --hosts
 * alone: the program itself neither links nor starts MPI. Only calls that do not wait, as MPI has no other way to
 * survive the death of a rank (MPI 3.1, 8.3: the state of MPI after an error is not defined; both Open MPI 4 and MPICH
 * 4 go on between ranks that live).
 */
#include <errno.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hosts/transport.h"

#define FINALIZE_S 20 /* for the end in order: longer, and somebody died in it */

struct sending {
	struct sending *next;
	MPI_Request request;
	char data[];
};

struct mpi {
	struct transport t; /* first */
	struct sending *out;
	struct arriving { /* begun to be received, by sender and tag */
		MPI_Request request;
		char *data;
		int n;
	} * in;
};

struct transport *platter_transport_1(void);

/* Lets what was sent go on, and forgets what has gone. */
static void push(struct mpi *m)
{
	for (struct sending **at = &m->out; *at;) {
		struct sending *s = *at;
		int is_done = 0;

		if (MPI_Test(&s->request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS || is_done) {
			*at = s->next;
			free(s);
		} else {
			at = &s->next;
		}
	}
}

static int mpi_send(struct transport *t, unsigned to, int tag, const void *data, size_t n)
{
	struct mpi *m = (struct mpi *)t;
	struct sending *s = malloc(sizeof(*s) + n + 1);

	if (!s)
		return -ENOMEM;
	if (n)
		memcpy(s->data, data, n);
	if (n > 0x7fffffff ||
	    MPI_Isend(s->data, (int)n, MPI_BYTE, (int)to, tag, MPI_COMM_WORLD, &s->request) != MPI_SUCCESS) {
		free(s);
		return -EIO;
	}
	s->next = m->out;
	m->out = s;
	push(m);
	return 0;
}

static int mpi_receive(struct transport *t, unsigned from, int tag, void **ret_data, size_t *ret_n)
{
	struct mpi *m = (struct mpi *)t;
	struct arriving *in = &m->in[from * TRANSPORT_TAG_MAX + (unsigned)tag];
	int is_there = 0, is_done = 0;

	push(m);
	if (!in->data) {
		MPI_Message message;
		MPI_Status status;

		if (MPI_Improbe((int)from, tag, MPI_COMM_WORLD, &is_there, &message, &status) != MPI_SUCCESS)
			return -EIO;
		if (!is_there)
			return -EAGAIN;
		(void)MPI_Get_count(&status, MPI_BYTE, &in->n);
		in->data = calloc(1, (size_t)in->n + 1);
		if (!in->data)
			return -ENOMEM;
		if (MPI_Imrecv(in->data, in->n, MPI_BYTE, &message, &in->request) != MPI_SUCCESS)
			return -EIO;
	}
	if (MPI_Test(&in->request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
		return -EIO;
	if (!is_done)
		return -EAGAIN;
	*ret_data = in->data;
	*ret_n = (size_t)in->n;
	in->data = NULL;
	return 0;
}

static void give_up(int number)
{
	(void)number;
	_exit(1);
}

/* Without MPI_Finalize, and without what its libraries do at the end, which waits as well. */
static void end_at_once(int status, void *arg)
{
	(void)arg;
	(void)fflush(NULL);
	_exit(status);
}

/* MPI_Finalize waits for all others; one that died meanwhile must not hold us. What was begun to be received stays
 * where it is: MPI may still write there. */
static void mpi_close(struct transport *t, bool is_whole)
{
	struct mpi *m = (struct mpi *)t;

	if (!is_whole) {
		(void)on_exit(end_at_once, NULL);
		return;
	}
	(void)signal(SIGALRM, give_up);
	(void)alarm(FINALIZE_S);
	while (m->out)
		push(m);
	(void)MPI_Finalize();
	(void)alarm(0);
	free(m->in);
	free(m);
}

struct transport *platter_transport_1(void)
{
	struct mpi *m = calloc(1, sizeof(*m));
	int level, rank, size;

	if (!m || MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS ||
	    level < MPI_THREAD_SERIALIZED ||
	    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
	    MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS ||
	    MPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS) {
		free(m);
		return NULL;
	}
	m->t = (struct transport){ (unsigned)rank, (unsigned)size, mpi_send, mpi_receive, mpi_close };
	m->in = calloc((size_t)size * TRANSPORT_TAG_MAX, sizeof(*m->in));
	if (!m->in) {
		free(m);
		return NULL;
	}
	return &m->t;
}
