/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What could not be read: made of the outcome of every request, whoever asked. Ranges in order that do not overlap;
 * nothing ever falls out. What fails is a suspect range until a sector of it fails by itself; what is read since leaves
 * the list.
 */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "measure/surface/surface.h"
#include "measure/surface/suspects.h"

static uint64_t end_of(const void *v, size_t size, size_t at)
{
	struct surface_bytes bytes;

	memcpy(&bytes, (const char *)v + at * size, sizeof(bytes));
	return bytes.end_bytes;
}

size_t surface_first_behind(const void *v, size_t n, size_t size, uint64_t at_bytes)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (end_of(v, size, middle) > at_bytes)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void *surface_insert(void *v, size_t *n, size_t size, size_t at, const void *element)
{
	char *to;

	v = xmore(v, *n, size);
	to = (char *)v + at * size;
	memmove(to + size, to, (*n - at) * size);
	memcpy(to, element, size);
	++*n;
	return v;
}

void surface_drop(void *v, size_t *n, size_t size, size_t at)
{
	char *to = (char *)v + at * size;

	--*n;
	memmove(to, to + size, (*n - at) * size);
}

/* ---- what failed ---- */

/* The first that ends behind this place. */
static size_t first_behind(const struct surface_failures *l, uint64_t at)
{
	return surface_first_behind(l->v, l->n, sizeof(*l->v), at);
}

static void insert(struct surface_failures *l, size_t at, const struct surface_failed *f)
{
	l->v = surface_insert(l->v, &l->n, sizeof(*l->v), at, f);
}

static void drop(struct surface_failures *l, size_t at)
{
	surface_drop(l->v, &l->n, sizeof(*l->v), at);
}

/* This was read. */
static void cut(struct surface_failures *l, uint64_t first, uint64_t end, bool keeps_sectors)
{
	for (size_t i = first_behind(l, first); i < l->n && l->v[i].first_bytes < end;) {
		struct surface_failed *f = &l->v[i], behind = *f;

		if (keeps_sectors && f->is_sector) {
			i++;
			continue;
		}
		f->is_rest = behind.is_rest = true;
		behind.first_bytes = end;
		if (f->first_bytes < first && f->end_bytes > end) {
			f->end_bytes = first;
			insert(l, i + 1, &behind);
			return;
		}
		if (f->first_bytes < first) {
			f->end_bytes = first;
			i++;
		} else if (f->end_bytes > end) {
			f->first_bytes = end;
			return;
		} else {
			drop(l, i);
		}
	}
}

static bool is_one(const struct surface_failed *a, const struct surface_failed *b)
{
	return a->end_bytes == b->first_bytes && a->is_sector == b->is_sector && a->is_left == b->is_left &&
	       a->error == b->error && (a->is_sector || a->is_rest == b->is_rest);
}

static void join(struct surface_failures *l, size_t at)
{
	if (at + 1 >= l->n || !is_one(&l->v[at], &l->v[at + 1]))
		return;
	l->v[at].end_bytes = l->v[at + 1].end_bytes;
	l->v[at].time_ns = l->v[at].time_ns > l->v[at + 1].time_ns ? l->v[at].time_ns : l->v[at + 1].time_ns;
	l->v[at].readings = l->v[at].readings > l->v[at + 1].readings ? l->v[at].readings : l->v[at + 1].readings;
	drop(l, at + 1);
}

/* What is not in the list yet of a request. */
static void fill(struct surface_failures *l, const struct surface_failed *f)
{
	struct surface_failed part = *f;

	part.is_rest = true;
	for (size_t i = first_behind(l, f->first_bytes); part.first_bytes < f->end_bytes; i++) {
		bool is_last = i == l->n || l->v[i].first_bytes >= f->end_bytes;

		part.end_bytes = is_last ? f->end_bytes : l->v[i].first_bytes;
		if (part.first_bytes < part.end_bytes)
			insert(l, i++, &part);
		part.first_bytes = is_last ? f->end_bytes : l->v[i].end_bytes;
	}
}

void surface_failures_add(struct surface_failures *l, const struct surface_failed *f, bool is_new)
{
	struct surface_failed new = *f;
	size_t i = first_behind(l, f->first_bytes);
	bool is_known = i < l->n && l->v[i].first_bytes < f->end_bytes;

	if (is_known &&
	    (l->v[i].is_sector || !f->is_sector)) { /* that explains it, if the rest of it was read before */
		l->v[i].readings++;
		if (!f->is_sector && is_new)
			fill(l, f);
		return;
	}
	new.is_sector &=
		is_known || f->readings > 1; /* twice: drives fail a read for what they read on the way to it */
	if (is_known) {
		new.time_ns = l->v[i].time_ns > new.time_ns ? l->v[i].time_ns : new.time_ns;
		new.readings += l->v[i].readings;
	}
	cut(l, new.first_bytes, new.end_bytes, false);
	i = first_behind(l, new.first_bytes);
	insert(l, i, &new);
	join(l, i);
	if (i)
		join(l, i - 1);
}

void surface_failures_read(struct surface_failures *l, uint64_t first, uint64_t end, bool is_sector)
{
	cut(l, first, end, !is_sector);
}

bool surface_has_failed(const struct surface_failures *l, uint64_t first, uint64_t end)
{
	size_t i = first_behind(l, first);

	return i < l->n && l->v[i].first_bytes < end;
}

struct surface_failed *surface_next_unproven(const struct surface_failures *l, uint64_t end)
{
	for (size_t i = 0; i < l->n && l->v[i].first_bytes < end; i++)
		if (!l->v[i].is_sector && !l->v[i].is_left)
			return &l->v[i];
	return NULL;
}

uint64_t surface_failures_bytes(const struct surface_failures *l, uint64_t first, uint64_t end)
{
	uint64_t bytes = 0;

	for (size_t i = first_behind(l, first); i < l->n && l->v[i].first_bytes < end; i++) {
		uint64_t from = l->v[i].first_bytes, to = l->v[i].end_bytes;

		bytes += (to < end ? to : end) - (from > first ? from : first);
	}
	return bytes;
}

void surface_failures_done(struct surface_failures *l)
{
	free(l->v);
	*l = (struct surface_failures){ 0 };
}
