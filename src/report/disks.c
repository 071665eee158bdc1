/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose documents are whose, and what was found about each disk: the same for a fleet, a comparison and a trend of many
 * disks. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xalloc.h"
#include "report/disks.h"

#define DISKS_NAMED 5 /* of one kind, in a sentence */

const char *fleet_state_name(enum fleet_state s)
{
	static const char *const names[] = { "failing", "worse", "watch",    "odd",  "different",
		                             "better",  "good",  "few runs", "same", "steady" };

	return names[s];
}

const struct result *fleet_last(const struct fleet_disk *d, const char *measurement, size_t skip)
{
	for (size_t i = d->n; i-- > 0;)
		if (strcmp(d->v[i]->head.measurement, measurement) == 0 && alike_outcome(d->v[i]) >= 0 && skip-- == 0)
			return d->v[i];
	return NULL;
}

const struct result *fleet_part(const struct fleet_disk *d, const char *measurement)
{
	const struct result *last = fleet_last(d, measurement, 0);

	return last ? last : fleet_last(d, "check", 0);
}

const struct result *fleet_first(const struct fleet_disk *d, const char *measurement)
{
	for (size_t i = 0; i < d->n; i++)
		if (strcmp(d->v[i]->head.measurement, measurement) == 0 && alike_outcome(d->v[i]) >= 0)
			return d->v[i];
	return NULL;
}

/* ---- division ---- */

struct fleet *fleet_divide(const struct result *const *res, size_t n)
{
	struct fleet *f = xcalloc(1, sizeof(*f));
	cleanup_free const struct result **by_date = xcalloc(n + 1, sizeof(*by_date));
	cleanup_free size_t *of = xcalloc(n + 1, sizeof(*of));
	size_t kept = 0, at = 0;

	f->scatter = xcalloc(1, sizeof(*f->scatter));
	for (size_t i = 0; i < n; i++)
		if (alike_is_one_disk(res[i]) && !target_is_file(res[i]->targets))
			by_date[kept++] = res[i];
	f->without_row = n - kept;
	f->nsorted = kept;
	qsort(by_date, kept, sizeof(*by_date), alike_by_date);
	f->ndisks = alike_disks(by_date, kept, of);
	f->disks = xcalloc(f->ndisks + 1, sizeof(*f->disks));
	f->sorted = xcalloc(kept + 1, sizeof(*f->sorted));
	for (size_t d = 0; d < f->ndisks; d++) {
		f->disks[d].v = f->sorted + at;
		for (size_t i = 0; i < kept; i++)
			if (of[i] == d)
				f->sorted[at++] = by_date[i];
		f->disks[d].n = (size_t)(f->sorted + at - f->disks[d].v);
	}
	return f;
}

void fleet_free(struct fleet *f)
{
	if (!f)
		return;
	for (size_t d = 0; d < f->ndisks; d++) {
		free(f->disks[d].findings);
		free(f->disks[d].trends);
	}
	free(f->scatter->v);
	free(f->scatter);
	free(f->disks);
	free(f->sorted);
	free(f);
}

size_t report_fleet_disks(const struct result *const *res, size_t n)
{
	struct fleet *f = fleet_divide(res, n);
	size_t ndisks = f->ndisks;

	fleet_free(f);
	return ndisks;
}

struct fleet_disk *fleet_disk_of(struct fleet *f, const struct result *res)
{
	for (size_t d = 0; d < f->ndisks; d++)
		for (size_t i = 0; i < f->disks[d].n; i++)
			if (f->disks[d].v[i] == res)
				return &f->disks[d];
	return NULL;
}

/* ---- findings ---- */

void fleet_find(const struct fleet *f, struct fleet_disk *d, enum fleet_state state, const char *measurement,
                const char *figure, double p, const char *fmt, ...)
{
	struct fleet_finding one = { state, measurement, figure, "", fleet_chance(f, p) };
	va_list ap;

	if (!d)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(one.text, sizeof(one.text), fmt, ap);
	va_end(ap);
	xappend(d->findings, d->nfindings, one);
}

double fleet_sure_percent(const struct fleet_finding *one)
{
	return isfinite(one->chance) ? fmin(100.0 * (1.0 - one->chance), 99.99) : (double)NAN;
}

double fleet_chance(const struct fleet *f, double p)
{
	return isnan(p) ? p : -expm1((double)f->looks * log1p(-fmin(p, 1.0)));
}

static int worst_finding(const void *a, const void *b)
{
	const struct fleet_finding *x = a, *y = b;

	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	return (x->chance > y->chance) - (x->chance < y->chance);
}

static int worst_disk(const void *a, const void *b)
{
	const struct fleet_disk *x = a, *y = b;

	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	return strcmp(alike_disk(x->v[0]), alike_disk(y->v[0]));
}

enum fleet_state fleet_state_of(const char *verdict, const char *figure)
{
	if (strcmp(verdict, "worse") != 0)
		return strcmp(verdict, "better") == 0 ? FLEET_BETTER : FLEET_DIFFERENT;
	return strcmp(figure, "status") == 0 ? FLEET_FAILING : FLEET_WORSE;
}

void fleet_sort(struct fleet *f)
{
	for (size_t d = 0; d < f->ndisks; d++) {
		struct fleet_disk *disk = &f->disks[d];

		if (disk->nfindings)
			qsort(disk->findings, disk->nfindings, sizeof(*disk->findings), worst_finding);
		disk->state = disk->nfindings ? disk->findings[0].state : disk->quiet;
	}
	if (f->ndisks)
		qsort(f->disks, f->ndisks, sizeof(*f->disks), worst_disk);
}

/* ---- a comparison or trend of several disks, as a document ---- */

struct changed_row {
	const char *disk, *verdict, *what, *model;
	double sure_percent;
	uint64_t findings, documents;
};

static const struct field changed_fields[] = {
	FIELD_STR(struct changed_row, disk, "disk"),
	FIELD_STR(struct changed_row, verdict, "verdict"),
	FIELD_STR(struct changed_row, what, "what"),
	FIELD_F64(struct changed_row, sure_percent, UNIT_PERCENT, "sure"),
	FIELD_U64(struct changed_row, findings, UNIT_COUNT, "findings", .detail = true),
	FIELD_U64(struct changed_row, documents, UNIT_COUNT, "documents", .detail = true),
	FIELD_STR(struct changed_row, model, "model", .detail = true),
	FIELD_END,
};

/* "; worse: A, B and 3 more" */
static void list_disks(const struct fleet *f, enum fleet_state from, enum fleet_state to, const char *word, char *buf)
{
	size_t n = 0;

	for (size_t d = 0; d < f->ndisks; d++)
		if (f->disks[d].state >= from && f->disks[d].state <= to && n++ < DISKS_NAMED)
			str_add(buf, FLEET_SENTENCE - 2, "%s%s%.40s", n > 1 ? ", " : "; ", n > 1 ? "" : word,
			        alike_disk(f->disks[d].v[0]));
	if (n > DISKS_NAMED)
		str_add(buf, FLEET_SENTENCE - 2, " and %zu more", n - DISKS_NAMED);
}

static char *changed_sentence(const struct fleet *f, char *buf)
{
	size_t n = 0;
	bool is_trend = f->ndisks && f->disks[0].quiet == FLEET_STEADY;

	for (size_t d = 0; d < f->ndisks; d++)
		n += f->disks[d].nfindings > 0;
	if (n == 0) {
		(void)snprintf(buf, FLEET_SENTENCE, "None of %zu disks %s by more than measurement noise.", f->ndisks,
		               is_trend ? "changes over time" : "is different in B");
		return buf;
	}
	(void)snprintf(buf, FLEET_SENTENCE, "%zu of %zu disks %s", n, f->ndisks,
	               is_trend ? n == 1 ? "changes over time" : "change over time"
	               : n == 1 ? "differs from A"
	                        : "differ from A");
	list_disks(f, FLEET_FAILING, FLEET_WORSE, "worse: ", buf);
	list_disks(f, FLEET_BETTER, FLEET_BETTER, "better: ", buf);
	list_disks(f, FLEET_WATCH, FLEET_DIFFERENT, "otherwise: ", buf);
	str_add(buf, FLEET_SENTENCE, ".");
	return buf;
}

void fleet_put_changed(struct result *out, const struct fleet *f, const char *shows)
{
	char sentence[FLEET_SENTENCE];

	if (f->ndisks < 2)
		return;
	for (size_t d = 0; d < f->ndisks; d++) {
		const struct fleet_disk *disk = &f->disks[d];
		const struct fleet_finding *worst = disk->nfindings ? &disk->findings[0] : NULL;

		result_row(result_table(out, "disks", "Disks", changed_fields),
		           &(struct changed_row){ .disk = alike_disk(disk->v[0]),
		                                  .verdict = fleet_state_name(disk->state),
		                                  .what = worst ? worst->text : NULL,
		                                  .model = target_text(disk->v[0]->targets, "model"),
		                                  .sure_percent = worst ? fleet_sure_percent(worst) : (double)NAN,
		                                  .findings = disk->nfindings,
		                                  .documents = disk->n });
	}
	result_set(&out->answer, changed_sentence(f, sentence));
	result_set(&out->shows, shows);
}
