/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two scans of a disk, place by place: what is new in B, what is gone, what got worse or better, what is the same; and
 * many, each against the one before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/whole.h"
#include "base/xalloc.h"
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

/* What stays with a place, from the least to the worst; other kinds (once, healed) are found by one scan and show
 * nothing about the next. */
static const char *const kinds[] = { "passing", "sometimes", "always", "unreadable" };

struct place {
	uint64_t first, end;
	const char *kind;
	int rank;
};

static size_t places_of(const struct result *res, struct place **ret)
{
	const struct table *t = result_find_table(res, "slow");
	size_t n = 0;

	*ret = xcalloc((t ? t->nrows : 0) + 1, sizeof(**ret));
	for (size_t i = 0; t && i < t->nrows; i++) {
		const char *name = table_string_of(t, i, "kind");
		double first = table_number_of(t, i, "offset_bytes"), bytes = table_number_of(t, i, "length_bytes");

		for (int k = 0; name && first >= 0.0 && bytes >= 0.0 && k < (int)ARRAY_LEN(kinds); k++)
			if (strcmp(name, kinds[k]) == 0)
				(*ret)[n++] = (struct place){ whole(first), whole(first + bytes), kinds[k], k };
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

/* How far a scan came: what lies behind is known from the other alone. */
static bool is_scanned(const struct result *res, const struct place *p)
{
	double first = figure_number(result_find_figure(res, "first_bytes")),
	       to = figure_number(result_find_figure(res, "scanned_to_bytes"));

	return (double)p->first >= first && (double)p->end <= to;
}

enum verdict {
	PLACE_NEW,
	PLACE_WORSE,
	PLACE_BETTER,
	PLACE_SAME,
	PLACE_GONE,
	PLACE_NOT_IN_A,
	PLACE_NOT_IN_B,
	PLACE_UNSURE,
	VERDICTS
};
static const char *const verdicts[] = {
	"new", "worse", "better", "same", "gone", "not scanned in A", "not scanned in B", "not sure",
};

/* What is slow in some of a few readings is seen by chance in one scan and not in another: that nobody saw it before is
 * not a sign of change. */
static enum verdict judge_rise(const struct place *is, enum verdict otherwise)
{
	return strcmp(is->kind, "sometimes") == 0 ? PLACE_UNSURE : otherwise;
}

struct judged {
	struct table *t; /* or NULL */
	const char *disk_a, *disk_b;
	char texts[2][DISK_TEXT];
	size_t count[VERDICTS];
};

/* was, is: NULL: not among that scan's places; one of the two is there. */
static void count_place(struct judged *j, const struct place *was, const struct place *is, enum verdict v)
{
	const struct place *p = is ? is : was;

	j->count[v]++;
	if (p && j->t)
		result_row(j->t, &(struct place_row){ p->first, p->end - p->first, is ? j->disk_b : j->disk_a,
		                                      was ? was->kind : NULL, is ? is->kind : NULL, verdicts[v] });
}

/* Counts them by verdict, and lists each in the table, if there is one. */
static void judge_places(const struct result *a, const struct result *b, struct judged *j)
{
	cleanup_free struct place *va = NULL, *vb = NULL;
	size_t na = places_of(a, &va), nb = places_of(b, &vb);

	j->disk_a = alike_disk_text(a, j->texts[0]);
	j->disk_b = alike_disk_text(b, j->texts[1]);
	for (size_t i = 0; i < nb; i++) {
		const struct place *is = &vb[i], *was = like(va, na, is);

		if (!was)
			count_place(j, NULL, is, is_scanned(a, is) ? judge_rise(is, PLACE_NEW) : PLACE_NOT_IN_A);
		else
			count_place(j, was, is,
			            is->rank > was->rank   ? judge_rise(is, PLACE_WORSE)
			            : is->rank < was->rank ? PLACE_BETTER
			                                   : PLACE_SAME);
	}
	for (size_t i = 0; i < na; i++)
		if (!like(vb, nb, &va[i])) /* else it is listed with that */
			count_place(j, &va[i], NULL, is_scanned(b, &va[i]) ? PLACE_GONE : PLACE_NOT_IN_B);
}

size_t places_compare(struct result *res, const struct result *a, const struct result *b)
{
	struct judged j = { 0 };

	if (strcmp(a->head.measurement, "surface") != 0)
		return 0;
	j.t = result_table(res, "places", "Slow and unreadable places", place_fields);
	judge_places(a, b, &j);
	return j.count[PLACE_NEW] + j.count[PLACE_WORSE];
}

/* ---- scan after scan ---- */

struct scan_row {
	const char *disk, *started;
	uint64_t scanned_bytes, places, unreadable, now[PLACE_GONE + 1]; /* of each verdict */
	char date[20];
};

#define NOW(v, key_, label_)                                                                       \
	{                                                                                          \
		FIELD_TYPE_U64, key_, label_, UNIT_COUNT, offsetof(struct scan_row, now[v]), false \
	}
static const struct field scan_fields[] = {
	FIELD_STR(struct scan_row, disk, "disk"),
	FIELD_STR(struct scan_row, started, "scan of"),
	FIELD_U64(struct scan_row, scanned_bytes, UNIT_BYTES, "scanned"),
	FIELD_U64(struct scan_row, places, UNIT_COUNT, "slow or unreadable"),
	FIELD_U64(struct scan_row, unreadable, UNIT_COUNT, "unreadable"),
	NOW(PLACE_NEW, "added", "new"),
	NOW(PLACE_WORSE, "worse", "worse"),
	NOW(PLACE_BETTER, "better", "better"),
	NOW(PLACE_SAME, "same", "the same"),
	NOW(PLACE_GONE, "gone", "gone"),
	FIELD_END,
};

/* before: the scan before it; NULL: it is the first. */
static struct scan_row scan_row(const struct result *before, const struct result *now)
{
	cleanup_free struct place *v = NULL;
	struct scan_row row = { .disk = alike_disk(now), .places = places_of(now, &v) };
	struct judged j = { 0 };

	row.scanned_bytes = whole(figure_number(result_find_figure(now, "scanned_bytes")));
	for (size_t i = 0; i < row.places; i++)
		row.unreadable += strcmp(v[i].kind, "unreadable") == 0;
	if (before)
		judge_places(before, now, &j);
	for (size_t i = 0; i < ARRAY_LEN(row.now); i++)
		row.now[i] = before ? j.count[i] : UINT64_MAX;
	(void)snprintf(row.date, sizeof(row.date), "%.10s %.8s", now->head.started, now->head.started + 11);
	return row;
}

void places_trend(struct result *out, const struct result *const *res, size_t n)
{
	cleanup_free const struct result **v = xcalloc(n + 1, sizeof(*v));
	cleanup_free size_t *disk = xcalloc(n + 1, sizeof(*disk));
	size_t scans = 0, disks;
	for (size_t i = 0; i < n; i++)
		if (strcmp(res[i]->head.measurement, "surface") == 0 && alike_outcome(res[i]) >= 0 &&
		    res[i]->head.started && strlen(res[i]->head.started) >= 19)
			v[scans++] = res[i];
	qsort(v, scans, sizeof(*v), alike_by_date);
	disks = alike_disks(v, scans, disk);
	for (size_t d = 0; d < disks; d++) {
		const struct result *before = NULL;

		for (size_t i = 0; i < scans; i++) {
			struct scan_row row;

			if (disk[i] != d)
				continue;
			row = scan_row(before, v[i]);
			row.started = row.date;
			result_row(result_table(out, "scans", "Slow and unreadable places, scan after scan",
			                        scan_fields),
			           &row);
			before = v[i];
		}
	}
}
