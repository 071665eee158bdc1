/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/shared/heads.h"
#include "base/xalloc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

const struct field heads_fields[] = {
	FIELD_U64(struct heads_row, first_byte, UNIT_BYTES, "first byte", .detail = true),
	FIELD_U64(struct heads_row, length_bytes, UNIT_BYTES, "length", .detail = true),
	FIELD_U64(struct heads_row, surface, UNIT_COUNT, "surface", .detail = true),
	FIELD_U64(struct heads_row, times, UNIT_COUNT, "times", .detail = true),
	FIELD_U64(struct heads_row, every_bytes, UNIT_BYTES, "every", .detail = true),
	FIELD_END,
};

#define CYCLE_MOST (2 * HEADS_MOST) /* rows that take turns */

/* Not of another disk; which that is cannot be known where neither shows a name. */
static bool is_of(const struct result *doc, const struct device *dev)
{
	struct disk_names then, now;

	if (doc->ntargets != 1 || target_number(&doc->targets[0], "size_bytes") != (double)dev->size_bytes)
		return false;
	result_names(doc, 0, &then);
	device_names(dev, &now);
	return same_disk(&then, &now, NULL) != DISK_OTHER;
}

/* A row that a file may have and no disk has is left out. */
static void take(struct heads *h, const struct table *t, const struct device *dev)
{
	for (size_t i = 0; i < t->nrows; i++) {
		struct heads_row *r = &h->row[h->nrows];

		table_row(t, i, heads_fields, r);
		h->nrows += r->surface < h->n && r->times > 0 && r->length_bytes > 0 &&
		            r->length_bytes <= dev->size_bytes && r->first_byte < dev->size_bytes &&
		            (r->times == 1 || (r->every_bytes >= r->length_bytes && r->every_bytes < dev->size_bytes &&
		                               r->times <= dev->size_bytes));
	}
	qsort(h->row, h->nrows, sizeof(*h->row), order_u64);
}

int heads_load(struct heads *ret, const char *path, const struct device *dev, struct err *err)
{
	struct heads h = { .row = NULL };
	const struct table *t;
	struct result *doc;
	double n;
	int r = result_load(&doc, path, err);

	if (r < 0)
		return r;
	t = result_find_table(doc, "heads");
	n = figure_number(result_find_figure(doc, "surfaces"));
	if (!doc->head.measurement || strcmp(doc->head.measurement, "geometry") != 0)
		r = err_set(err, -EINVAL, "%s is not a document of `platter geometry`; save one of %s by its --json.",
		            path, dev->path);
	else if (!is_of(doc, dev))
		r = err_set(err, -EINVAL,
		            "%s is the geometry of another disk than %s (or of a part of it); give its own.", path,
		            dev->path);
	else if (!(n >= 1.0) || n > HEADS_MOST)
		r = err_set(
			err, -EINVAL,
			"%s has neither surfaces nor layout: which head reads what is not known. Run `platter geometry` "
			"again, with a longer --time and without --quick.",
			path);
	else if (n < 2.0)
		r = err_set(err, -EINVAL, "%s has one surface only: a report by head says nothing.", dev->path);
	else if (!t || !t->nrows)
		r = err_set(
			err, -EINVAL,
			"%s does not hold the surface of each byte: no zone is certain, or an older platter wrote it. Run `platter geometry` again.",
			path);
	if (r == 0) {
		h.n = (uint32_t)n;
		h.row = xcalloc(t->nrows, sizeof(*h.row));
		take(&h, t, dev);
	}
	result_free(doc);
	if (r == 0)
		*ret = h;
	return r;
}

void heads_done(struct heads *h)
{
	free(h->row);
	*h = (struct heads){ .row = NULL };
}

int heads_at(const struct heads *h, uint64_t first, uint64_t end)
{
	size_t low = 0, high = h->nrows;

	while (low < high) { /* the rows that begin at or before it */
		size_t mid = (low + high) / 2;

		if (h->row[mid].first_byte <= first)
			low = mid + 1;
		else
			high = mid;
	}
	for (size_t k = 0; k < CYCLE_MOST && k < low; k++) {
		const struct heads_row *r = &h->row[low - 1 - k];
		uint64_t off = first - r->first_byte, turn = r->times > 1 ? off / r->every_bytes : 0;

		off -= turn * (r->times > 1 ? r->every_bytes : 0);
		if (turn < r->times && off < r->length_bytes)
			return end - first <= r->length_bytes - off ? (int)r->surface : -1;
		if (r->times == 1)
			break;
	}
	return -1;
}
