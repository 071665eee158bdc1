/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How messages go from one host to another: what the hosts' protocol (meet.c) stands on, and all that a module over MPI
 * (mpi.c) has to give. Nothing here waits: a host that died must not hold the others. Calls of several threads have to
 * be kept apart by whoever makes them.
 */
#ifndef PLATTER_HOSTS_TRANSPORT_H
#define PLATTER_HOSTS_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

struct transport {
	unsigned rank, size;
	/* The data are copied, and go out with this call or later ones. 0 or negative errno. */
	int (*send)(struct transport *t, unsigned to, int tag, const void *data, size_t n);
	/* The next message of this sender and tag, in the order in which they were sent: heap, a zero byte behind it.
	 * -EAGAIN: none yet. */
	int (*receive)(struct transport *t, unsigned from, int tag, void **ret_data, size_t *ret_n);
	/* Frees it. is_whole: no host was lost, so that all can end in order; else nobody is waited for. */
	void (*close)(struct transport *t, bool is_whole);
};

/* What a module has under the name TRANSPORT_MODULE: starts MPI. NULL: it could not. */
#define TRANSPORT_MODULE  "platter_transport_1" /* the number: of this header */
#define TRANSPORT_TAG_MAX 64
typedef struct transport *transport_open_fn(void);

#endif
