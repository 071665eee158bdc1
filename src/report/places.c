/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two scans of a disk, place by place: what is new in B, what is gone, what got worse or better, what is the same. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/alike.h"

struct place_row {
	uint64_t offset_bytes, length_bytes;
	const char *disk, *a, *b, *verdict;
};

static const struct field place_fields[] = {
	FIELD_STR(struct place_row, disk, "disk"),
	FIELD_U64(struct place_row, offset_bytes, UNIT_BYTES, "offset"),
	FIELD_U64(struct place_row, length_bytes, UNIT_BYTES, "length"),
	FIELD_STR(struct place_row, a, "A"),
	FIELD_STR(struct place_row, b, "B"),
	FIELD_STR(struct place_row, verdict, "verdict"),
	FIELD_END,
};

/* What stays with a place, from the least to the worst; other kinds (once, healed) are told by one scan and say nothing about the next. */
static const char *const kinds[] = { "passing", "sometimes", "always", "unreadable" };

struct place {
	uint64_t first, end;
	const char *kind;
	int rank;
};

static size_t places_of(const struct result *res, struct place **ret)
{
	const struct table *t = result_find_table(res, "slow");
	int offset = t ? table_column(t, "offset_bytes") : -1, length = t ? table_column(t, "length_bytes") : -1,
	    kind = t ? table_column(t, "kind") : -1;
	size_t n = 0;

	*ret = calloc((t ? t->nrows : 0) + 1, sizeof(**ret));
	if (!*ret)
		abort(); /* as in result.c */
	for (size_t i = 0; offset >= 0 && length >= 0 && kind >= 0 && i < t->nrows; i++) {
		const char *name = table_string(t, i, (size_t)kind);
		double first = table_number(t, i, (size_t)offset), bytes = table_number(t, i, (size_t)length);

		for (int k = 0; name && first >= 0.0 && bytes >= 0.0 && k < (int)ARRAY_LEN(kinds); k++)
			if (strcmp(name, kinds[k]) == 0)
				(*ret)[n++] = (struct place){ (uint64_t)first, (uint64_t)(first + bytes), kinds[k], k };
	}
	return n;
}

/* The worst of the places that share a byte with it. */
static const struct place *like(const struct place *v, size_t n, const struct place *p)
{
	const struct place *worst = NULL;

	for (size_t i = 0; i < n; i++)
		if (v[i].first < p->end && p->first < v[i].end && (!worst || v[i].rank > worst->rank))
			worst = &v[i];
	return worst;
}

/* How far a scan came: what lies behind is told by the other alone. */
static bool is_scanned(const struct result *res, const struct place *p)
{
	double first = figure_number(result_find_figure(res, "first_bytes")),
	       to = figure_number(result_find_figure(res, "scanned_to_bytes"));

	return (double)p->first >= first && (double)p->end <= to;
}

size_t places_compare(struct result *res, const struct result *a, const struct result *b)
{
	cleanup_free struct place *va = NULL, *vb = NULL;
	size_t na = places_of(a, &va), nb = places_of(b, &vb), worse = 0;
	struct table *t;

	if (strcmp(a->head.measurement, "surface") != 0)
		return 0;
	t = result_table(res, "places", "Slow and unreadable places", place_fields);
	for (size_t i = 0; i < nb; i++) {
		const struct place *old = like(va, na, &vb[i]);
		bool is_new = !old && is_scanned(a, &vb[i]);
		const char *verdict = is_new                   ? "new"
		                      : !old                   ? "not scanned in A"
		                      : vb[i].rank > old->rank ? "worse"
		                      : vb[i].rank < old->rank ? "better"
		                                               : "same";

		worse += is_new || (old && vb[i].rank > old->rank);
		result_row(t, &(struct place_row){ vb[i].first, vb[i].end - vb[i].first, alike_disk(b),
		                                   old ? old->kind : NULL, vb[i].kind, verdict });
	}
	for (size_t i = 0; i < na; i++)
		if (!like(vb, nb, &va[i]))
			result_row(t,
			           &(struct place_row){ va[i].first, va[i].end - va[i].first, alike_disk(a), va[i].kind,
			                                NULL, is_scanned(b, &va[i]) ? "gone" : "not scanned in B" });
	return worse;
}
