/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sentence of a comparison: which two, whether they differ, in what and by how much; or how large a difference
 * might have stayed unseen.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/alike.h"

/* "WDC WD40EZRZ, serial X (2026-11-20)" */
static void name_of(char *buf, size_t len, const struct result *res, const char *file)
{
	(void)snprintf(buf, len, "%.60s (%.10s%s%.80s)", alike_disk(res),
	               res->head.started ? res->head.started : "no date", file ? ", " : "", file ? file : "");
}

/* Of two: what each is, for everybody to see which is A. */
struct side_row {
	const char *which, *file, *disk, *host, *started;
	double size_bytes;
};

static const struct field side_fields[] = {
	FIELD_STR(struct side_row, which, "which"),
	FIELD_STR(struct side_row, disk, "disk"),
	FIELD_F64(struct side_row, size_bytes, UNIT_BYTES, "size"),
	FIELD_STR(struct side_row, started, "date"),
	FIELD_STR(struct side_row, host, "host"),
	FIELD_STR(struct side_row, file, "file"),
	FIELD_END,
};

static void tell_sides(struct result *out, const struct result *const *pair, const char *const *files)
{
	for (size_t i = 0; i < 2; i++)
		result_row(result_table(out, "sides", "Compared", side_fields),
		           &(struct side_row){ i ? "B" : "A", files ? files[i] : NULL, alike_disk(pair[i]),
		                               pair[i]->head.host.name, pair[i]->head.started,
		                               target_number(pair[i]->targets, "size_bytes") });
}

/* How many rows have that verdict; their figures, some of them, behind text. */
static size_t name_rows(const struct table *t, const char *is, char *text, size_t len)
{
	size_t verdict = (size_t)table_column(t, "verdict"), name = (size_t)table_column(t, "figure"), n = 0,
	       used = strlen(text);

	for (size_t i = 0; i < t->nrows; i++)
		if (!strcmp(table_string(t, i, verdict), is) && ++n <= 3 && used + 150 < len)
			used += (size_t)snprintf(text + used, len - used, n == 1 ? " %s: %.60s" : ", %.0s%.60s", is,
			                         table_string(t, i, name));
	if (n)
		(void)snprintf(text + used, len - used, n > 3 ? " and %zu more." : ".%.0zu", n > 3 ? n - 3 : 0);
	return n;
}

void answer_comparison(struct result *res, const struct table *t, const struct comparison *c)
{
	static const char *const verdicts[] = { "worse", "better", "different" };
	bool is_two = c->pair != NULL;
	char a[200] = "A", b[200] = "B", noise[40] = "", text[1200];

	if (is_two) {
		name_of(a, sizeof(a), c->pair[0], c->files ? c->files[0] : NULL);
		name_of(b, sizeof(b), c->pair[1], c->files ? c->files[1] : NULL);
		tell_sides(res, c->pair, c->files);
	}
	if (c->noise_percent > 0.0)
		(void)snprintf(noise, sizeof(noise), " (\xc2\xb1%.2g %%)", c->noise_percent);
	if (c->differ)
		(void)snprintf(text, sizeof(text),
		               is_two ? "B, %s, differs from A, %s%s%s." : "B differs from A.%.0s%.0s%.0s%.0s", b, a,
		               c->findings[0] ? ": " : "", c->findings);
	else if (c->is_open)
		(void)snprintf(text, sizeof(text),
		               "Cannot tell whether %s and %s differ: the intervals are wider than %.3g %%.", a, b,
		               100.0 * c->tolerance);
	else
		(void)snprintf(text, sizeof(text), "No difference between %s and %s larger than measurement noise%s.",
		               a, b, noise);
	for (size_t k = 0; !is_two && k < ARRAY_LEN(verdicts); k++)
		(void)name_rows(t, verdicts[k], text, sizeof(text));
	if (!c->is_open)
		(void)name_rows(t, "cannot tell", text, sizeof(text));
	result_set(&res->answer, text);
	result_set(&res->shows, "pairs,different,#sides,#places,#differences");
}
