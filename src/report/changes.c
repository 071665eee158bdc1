/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was not the same from one run of a disk to its next: whoever sees a figure move wants to know whether it was the
 * disk. A change that came to many disks at once is one row.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "report/alike.h"

#define WARMER_CELSIUS 10.0

struct change {
	const char *what, *before, *after, *disk;
	uint64_t disks;
	const char *from, *to; /* dates: the run before the first such change, and the run after the last */
	char texts[2][64], dates[2][11];
	const struct result *of; /* of disk */
};

static const struct field change_fields[] = {
	FIELD_STR(struct change, from, "from"),   FIELD_STR(struct change, to, "to"),
	FIELD_STR(struct change, what, "what"),   FIELD_STR(struct change, before, "before"),
	FIELD_STR(struct change, after, "after"), FIELD_U64(struct change, disks, UNIT_COUNT, "disks"),
	FIELD_STR(struct change, disk, "disk"),   FIELD_END,
};

struct changes {
	struct change *v;
	size_t n;
};

/* Adds it, or counts it where an earlier disk had the same. */
static void add(struct changes *c, const char *what, const char *before, const char *after, const struct result *a,
                const struct result *b)
{
	struct change one = { .what = what, .of = b }, *known;
	size_t at = 0;

	(void)snprintf(one.texts[0], sizeof(one.texts[0]), "%s", before);
	(void)snprintf(one.texts[1], sizeof(one.texts[1]), "%s", after);
	(void)snprintf(one.dates[0], sizeof(one.dates[0]), "%s", a->head.started);
	(void)snprintf(one.dates[1], sizeof(one.dates[1]), "%s", b->head.started);
	while (at < c->n &&
	       (strcmp(c->v[at].what, what) != 0 || memcmp(c->v[at].texts, one.texts, sizeof(one.texts)) != 0))
		at++;
	if (at == c->n)
		xappend(c->v, c->n, one);
	known = &c->v[at];
	known->disks++;
	memcpy(known->dates[1], one.dates[1], sizeof(one.dates[1])); /* runs come sorted */
}

static void add_texts(struct changes *c, const char *what, const char *before, const char *after,
                      const struct result *a, const struct result *b)
{
	if (before && after && strcmp(before, after) != 0)
		add(c, what, before, after, a, b);
}

static void between(struct changes *c, const struct result *a, const struct result *b)
{
	char x[CELL_TEXT], y[CELL_TEXT];
	const char *name, *before;
	double was = target_number(a->targets, "temperature_celsius"),
	       is = target_number(b->targets, "temperature_celsius");

	add_texts(c, "kernel", a->head.host.kernel, b->head.host.kernel, a, b);
	add_texts(c, "host", a->head.host.name, b->head.host.name, a, b);
	add_texts(c, "program", a->head.program, b->head.program, a, b);
	for (size_t i = 0; before = alike_setting(a, i, x, &name), name; i++)
		add_texts(c, name, before, alike_setting(b, i, y, &name), a, b);
	if (fabs(is - was) >= WARMER_CELSIUS) {
		(void)snprintf(x, sizeof(x), "%.0f", was);
		(void)snprintf(y, sizeof(y), "%.0f", is);
		add(c, "temperature_celsius", x, y, a, b);
	}
}

void alike_changes(struct result *out, const struct result *const *res, size_t n, bool is_pair)
{
	cleanup_free const struct result **sorted = xcalloc(n + 1, sizeof(*sorted));
	cleanup_free const struct result **latest = xcalloc(n + 1, sizeof(*latest));
	cleanup_free size_t *disk = xcalloc(n + 1, sizeof(*disk));
	struct changes c = { 0 };
	memcpy(sorted, res, n * sizeof(*sorted));
	if (!is_pair) {
		qsort(sorted, n, sizeof(*sorted), alike_by_date);
		(void)alike_disks(sorted, n, disk);
	}
	for (size_t i = 0; i < n; i++) {
		const struct result **before = disk[i] == SIZE_MAX ? NULL : &latest[disk[i]];

		if (before && *before && (*before)->head.started && sorted[i]->head.started)
			between(&c, *before, sorted[i]);
		if (before)
			*before = sorted[i];
	}
	for (size_t i = 0; i < c.n; i++) {
		struct change *v = &c.v[i];

		v->before = v->texts[0];
		v->after = v->texts[1];
		v->from = v->dates[0];
		v->to = v->dates[1];
		v->disk = v->disks > 1 ? NULL : alike_disk(v->of);
		result_row(result_table(out, "changes", "What changed between runs", change_fields), v);
	}
	free(c.v);
}
