/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was found, as tables and figures; and back: the document of a scan that did not come to its end is all that it
 * takes to go on.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/whole.h"
#include "measure/surface/writing.h"

#define MAP_COLUMNS     32              /* of the picture of cells: as many rows */
#define ERRNO_MOST      4095            /* the kernel's */
#define LBAS_SHOWN      4               /* in a sentence */
#define FAILED_SHOWN_NS (10 * NS_PER_S) /* above what a drive takes that reads at last */

struct slow_row {
	uint64_t offset_bytes, length_bytes, lba, time_ns, expected_ns, again_ns, again, again_slow;
	const char *kind;
	int64_t error;
	uint64_t scanned_bytes, before;
};

static const struct field slow_fields[] = {
	FIELD_U64(struct slow_row, offset_bytes, UNIT_BYTES, "offset"),
	FIELD_U64(struct slow_row, length_bytes, UNIT_BYTES, "length"),
	FIELD_U64(struct slow_row, lba, UNIT_COUNT, "LBA"),
	FIELD_U64(struct slow_row, time_ns, UNIT_NS, "time"),
	FIELD_U64(struct slow_row, expected_ns, UNIT_NS, "expected"),
	FIELD_U64(struct slow_row, again_ns, UNIT_NS, "at worst again", .detail = true),
	FIELD_U64(struct slow_row, again, UNIT_COUNT, "read again"),
	FIELD_U64(struct slow_row, again_slow, UNIT_COUNT, "of these slow"),
	FIELD_STR(struct slow_row, kind, "kind"),
	FIELD_I64(struct slow_row, error, UNIT_NONE, "error", .detail = true),
	FIELD_U64(struct slow_row, scanned_bytes, UNIT_BYTES, "request", .detail = true),
	FIELD_U64(struct slow_row, before, UNIT_COUNT, "bad places before it", .detail = true),
	FIELD_END,
};

struct class_row {
	uint64_t up_to_ns, requests;
	const char *class_name;
};

static const struct field class_fields[] = {
	FIELD_U64(struct class_row, up_to_ns, UNIT_NS, "up to", .detail = true),
	FIELD_U64(struct class_row, requests, UNIT_COUNT, "requests"),
	FIELD_STR(struct class_row, class_name, "class"),
	FIELD_END,
};

#define CLASS(i, of, text)                                                                       \
	{                                                                                        \
		.type = FIELD_TYPE_U64, .key = of, .label = text, .unit = UNIT_COUNT,            \
		.offset = DESC_OFFSET(struct surface_cell, classes[i], uint64_t), .detail = true \
	}

static const struct field map_fields[] = {
	FIELD_U64(struct surface_cell, first_byte, UNIT_BYTES, "first byte", .detail = true),
	FIELD_U64(struct surface_cell, last_byte, UNIT_BYTES, "last byte", .detail = true),
	FIELD_U64(struct surface_cell, scanned_bytes, UNIT_BYTES, "scanned", .detail = true),
	FIELD_U64(struct surface_cell, failed_bytes, UNIT_BYTES, "of these failed", .detail = true),
	FIELD_U64(struct surface_cell, busy_ns, UNIT_NS, "busy", .detail = true),
	FIELD_U64(struct surface_cell, worst_ns, UNIT_NS, "worst", .detail = true),
	FIELD_U64(struct surface_cell, excess_ns, UNIT_NS, "longer than expected", .detail = true),
	FIELD_U64(struct surface_cell, errors, UNIT_COUNT, "errors", .detail = true),
	CLASS(0, "below_3ms", "below 3 ms"),
	CLASS(1, "below_10ms", "below 10 ms"),
	CLASS(2, "below_50ms", "below 50 ms"),
	CLASS(3, "below_150ms", "below 150 ms"),
	CLASS(4, "below_500ms", "below 500 ms"),
	CLASS(5, "below_5s", "below 5 s"),
	CLASS(6, "over_5s", "5 s and more"),
	FIELD_F64(struct surface_cell, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate", .detail = true),
	FIELD_F64(struct surface_cell, revolutions_lost, UNIT_NONE, "revolutions lost", .detail = true),
	FIELD_U64(struct surface_cell, row_bytes, UNIT_BYTES, "offset", .detail = true),
	FIELD_U64(struct surface_cell, column_bytes, UNIT_BYTES, "offset within the row", .detail = true),
	FIELD_U64(struct surface_cell, shown_ns, UNIT_NS, "longest request", .detail = true),
	FIELD_U64(struct surface_cell, written_bytes, UNIT_BYTES, "written", .detail = true),
	FIELD_U64(struct surface_cell, write_ns, UNIT_NS, "busy with writes", .detail = true),
	FIELD_U64(struct surface_cell, write_errors, UNIT_COUNT, "writes that failed", .detail = true),
	FIELD_F64(struct surface_cell, write_rate_bytes_per_s, UNIT_BYTES_PER_S, "rate of writing", .detail = true),
	FIELD_F64(struct surface_cell, most_celsius, UNIT_NONE, "warmest, in degrees Celsius", .detail = true),
	FIELD_END,
};

const struct measure_table surface_tables[] = {
	{ "classes", "Requests by the time that each took", class_fields },
	{ "slow", "Bad places and suspects", slow_fields },
	{ "map", "The surface in cells", map_fields },
	{ "contents", "What lies at slow and unreadable places", surface_content_fields },
	{ "rewritten", "Weak places written again with the same bytes", surface_refresh_fields },
	{ "wrong", "What is not as it was written", surface_wrong_fields },
	{ "by_head", "By head", surface_head_fields },
	{ "by_head_place", "By head and place", surface_head_place_fields },
	{ NULL, NULL, NULL },
};

/* ---- tables ---- */

static void report_place(struct table *t, const struct surface_run *run, const struct surface_suspect *s)
{
	uint64_t len = s->end_bytes - s->first_bytes;
	struct slow_row row = { .offset_bytes = s->first_bytes,
		                .length_bytes = len,
		                .lba = s->first_bytes / run->ses->devs[0].logical_block_bytes,
		                .time_ns = s->time_ns,
		                .expected_ns = isnan(s->ns_per_byte)
		                                       ? UINT64_MAX
		                                       : (uint64_t)(s->ns_per_byte * (double)s->scan_bytes),
		                .again_ns = s->again_ns ? s->again_ns : UINT64_MAX,
		                .again = s->again,
		                .again_slow = s->again_bad,
		                .kind = surface_kind_names[s->kind],
		                .error = s->error,
		                .scanned_bytes = s->scan_bytes,
		                .before = s->rests };

	result_row(t, &row);
}

static struct table *empty_table(struct result *res, enum surface_table i)
{
	return result_table_anew(res, surface_tables[i].name, surface_tables[i].title, surface_tables[i].fields);
}

static void report_classes(struct result *res, const struct surface_cell *all)
{
	static const char *const names[SURFACE_CLASSES] = { "below 3 ms",   "below 10 ms",  "below 50 ms",
		                                            "below 150 ms", "below 500 ms", "below 5 s",
		                                            "5 s and more" };
	struct table *t = empty_table(res, SURFACE_TABLE_CLASSES);

	for (size_t k = 0; k < SURFACE_CLASSES; k++)
		result_row(t, &(struct class_row){ surface_class_ns[k], all->classes[k], names[k] });
	result_row(t, &(struct class_row){ UINT64_MAX, all->errors, "error" });
}

static void add_cell(struct surface_cell *to, const struct surface_cell *c)
{
	to->scanned_bytes += c->scanned_bytes;
	to->failed_bytes += c->failed_bytes;
	to->busy_ns += c->busy_ns;
	to->excess_ns += c->excess_ns;
	to->errors += c->errors;
	to->worst_ns = c->worst_ns > to->worst_ns ? c->worst_ns : to->worst_ns;
	for (size_t k = 0; k < SURFACE_CLASSES; k++)
		to->classes[k] += c->classes[k];
}

static void report_map(struct surface_run *run, struct surface_cell *ret_all)
{
	double span = (double)(run->range.end_bytes - run->range.first_bytes),
	       turn_ns = run->rot.is_rotating ? run->rot.period_ns : (double)NAN;
	struct table *t = empty_table(run->ses->res, SURFACE_TABLE_MAP);
	double over = 0.0; /* bytes of requests that began in earlier cells and reach into this one */
	uint64_t shown_ns = UINT64_MAX;

	for (size_t i = 0; i < SURFACE_CELLS; i++) {
		struct surface_cell c = run->cells[i];
		uint64_t read_bytes = c.scanned_bytes - c.failed_bytes, first = run->range.first_bytes;
		size_t column = i % MAP_COLUMNS;

		c.first_byte = first + (uint64_t)(span / SURFACE_CELLS * (double)i);
		c.last_byte = first + (uint64_t)(span / SURFACE_CELLS * (double)(i + 1)) - 1;
		c.rate_bytes_per_s = c.busy_ns ? (double)read_bytes * 1e9 / (double)c.busy_ns : (double)NAN;
		c.write_rate_bytes_per_s =
			c.write_ns ? (double)c.written_bytes * 1e9 / (double)c.write_ns : (double)NAN;
		c.most_celsius = c.most_celsius > 0.0 ? c.most_celsius : (double)NAN;
		c.revolutions_lost = read_bytes ? (double)c.excess_ns / turn_ns : (double)NAN;
		c.row_bytes = first + (uint64_t)(span / SURFACE_CELLS * (double)(i - column));
		c.column_bytes = (uint64_t)(span / SURFACE_CELLS * (double)column);
		add_cell(ret_all, &c);
		if (c.scanned_bytes == c.failed_bytes) /* nothing was read there */
			c.worst_ns = UINT64_MAX;
		if (c.scanned_bytes || c.errors || over < 1.0)
			shown_ns = c.errors ? FAILED_SHOWN_NS : c.worst_ns;
		over = fmax(over + (double)c.scanned_bytes - span / SURFACE_CELLS, 0.0);
		c.shown_ns = shown_ns;
		result_row(t, &c);
	}
}

/* ---- figures ---- */

static const char *kind_figure(char *buf, size_t len, size_t kind)
{
	(void)snprintf(buf, len, "%s_places", surface_kind_names[kind]);
	return buf;
}

static const char *const kind_labels[SURFACE_KINDS] = {
	"places to recheck",         "places always slow", "passed slowly, well by themselves",
	"slow once, and well since", "unreadable places",  "places that failed once",
	"suspects not rechecked",    "ranges skipped",
};

/* What is in no list is counted, and reported: nobody may take the list for all there is. */
static void report_kinds(struct surface_run *run, const struct surface_suspect *v, size_t n)
{
	uint64_t count[SURFACE_KINDS] = { 0 }, listed[SURFACE_KINDS] = { 0 };

	memcpy(count, run->lists.nkinds, sizeof(count));
	for (size_t i = 0; i < n; i++) {
		listed[v[i].kind]++;
		count[v[i].kind] += v[i].kind == SURFACE_UNREADABLE || v[i].kind == SURFACE_PENDING ||
		                    v[i].kind == SURFACE_SKIPPED || (v[i].kind == SURFACE_UNCHECKED && v[i].error);
	}
	for (size_t k = 0; k < SURFACE_KINDS; k++) {
		char name[40];

		result_figure_u64(run->ses->res, kind_figure(name, sizeof(name), k), kind_labels[k], UNIT_COUNT,
		                  count[k]);
		run->lists.unlisted[k] = k == SURFACE_ONCE || k == SURFACE_PASSING ? 0 : count[k] - listed[k];
	}
}

/* The first of what cannot be read, so that they can be typed back. */
static void report_unreadable(struct surface_run *run, const struct surface_suspect *v, size_t n)
{
	uint32_t sector = run->ses->devs[0].logical_block_bytes;
	uint64_t bytes = 0;
	char text[LBAS_SHOWN * 48] = "";
	size_t shown = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].kind != SURFACE_UNREADABLE)
			continue;
		bytes += v[i].end_bytes - v[i].first_bytes;
		if (shown++ >= LBAS_SHOWN)
			continue;
		str_list(text, sizeof(text), ", ", "%" PRIu64, v[i].first_bytes / sector);
		if (v[i].end_bytes - v[i].first_bytes > sector)
			str_add(text, sizeof(text), "-%" PRIu64, (v[i].end_bytes - 1) / sector);
	}
	if (shown > LBAS_SHOWN)
		str_add(text, sizeof(text), " and %zu more", shown - LBAS_SHOWN);
	result_figure_u64(run->ses->res, "unreadable_bytes", "unreadable bytes", UNIT_BYTES, bytes);
	if (shown || result_find_figure(run->ses->res, "unreadable_lbas")) /* they may have been read since */
		result_figure_text(run->ses->res, "unreadable_lbas", "LBAs that cannot be read", shown ? text : NULL);
}

/* How much of what was asked, and what of it is not known to the sector. */
static void report_share(struct surface_run *run, const struct surface_cell *all, const struct surface_suspect *v,
                         size_t n)
{
	uint64_t span = run->range.end_bytes - run->range.first_bytes, unnarrowed = 0, suspects = 0;

	for (size_t i = 0; i < n; i++) {
		unnarrowed += v[i].error && v[i].kind != SURFACE_UNREADABLE && v[i].kind != SURFACE_HEALED &&
		              v[i].kind != SURFACE_SKIPPED;
		suspects += v[i].kind == SURFACE_PENDING && !v[i].is_silent && !v[i].error;
	}
	result_figure_u64(run->ses->res, "suspects", "slow suspects still to be rechecked", UNIT_COUNT, suspects);
	result_figure_u64(run->ses->res, "unnarrowed_places", "ranges that failed, not narrowed down", UNIT_COUNT,
	                  unnarrowed);
	result_figure_u64(run->ses->res, "skipped_bytes", "skipped after failed reads", UNIT_BYTES,
	                  surface_failures_bytes(&run->later.skipped, 0, UINT64_MAX));
	result_figure_u64(run->ses->res, "unscanned_bytes", "not scanned", UNIT_BYTES, span - all->scanned_bytes);
	result_figure(run->ses->res, "scanned_ratio", "share scanned", UNIT_RATIO,
	              (double)all->scanned_bytes / (double)span, NULL, 0);
	result_figure(run->ses->res, "scanned_of_all_ratio", "share of the device scanned", UNIT_RATIO,
	              (double)all->scanned_bytes / (double)run->ses->devs[0].size_bytes, NULL, 0);
}

/* What follows from the cells. */
static void report_sums(struct result *res, const struct surface_cell *all, double turn_ns)
{
	report_classes(res, all);
	result_figure_u64(res, "scanned_bytes", "scanned", UNIT_BYTES, all->scanned_bytes);
	result_figure_u64(res, "failed_bytes", "bytes in requests that failed", UNIT_BYTES, all->failed_bytes);
	result_figure(res, "revolutions_lost_per_gb", "revolutions lost per GB", UNIT_NONE,
	              surface_lost_per_gb(all->excess_ns, all->scanned_bytes - all->failed_bytes, turn_ns), NULL, 0);
	result_figure(res, "worst_ns", "longest request", UNIT_NS, all->worst_ns ? (double)all->worst_ns : (double)NAN,
	              NULL, 0);
}

/* What a run that goes on has from the document. */
static const struct {
	const char *name, *label;
	enum unit unit; /* seconds: of nanoseconds */
	size_t offset;
} counts[] = {
#define COUNT(of, name, label, unit)                                \
	{                                                           \
		name, label, unit, offsetof(struct surface_run, of) \
	}
	COUNT(done.portions, "portions", "runs so far", UNIT_COUNT),
	COUNT(done.scan_ns, "scan_s", "scanning took", UNIT_S),
	COUNT(position, "scanned_to_bytes", "scanned up to", UNIT_BYTES),
	COUNT(done.slow, "slow_requests", "requests slower than expected", UNIT_COUNT),
	COUNT(done.failed, "unreadable_requests", "requests that failed", UNIT_COUNT),
	COUNT(again.spent_ns[AGAIN_OF_ERRORS], "again_failed_s", "second readings of what failed took", UNIT_S),
	COUNT(again.spent_ns[AGAIN_OF_SLOW], "again_slow_s", "second readings of what was slow took", UNIT_S),
	COUNT(again.spent_ns[AGAIN_OF_SKIPPED], "again_skipped_s", "failed reads in ranges skipped at first took",
	      UNIT_S),
	COUNT(later.failed_ns, "failed_s", "failed reads of the scan took", UNIT_S),
};

static void report_counts(const struct surface_run *run)
{
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		uint64_t v = *(const uint64_t *)((const char *)run + counts[i].offset);

		if (counts[i].unit == UNIT_S)
			result_figure(run->ses->res, counts[i].name, counts[i].label, UNIT_S, (double)v * 1e-9, NULL,
			              0);
		else
			result_figure_u64(run->ses->res, counts[i].name, counts[i].label, counts[i].unit, v);
	}
}

void surface_take_counts(struct surface_run *run, const struct result *state)
{
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		double v = figure_number(result_find_figure(state, counts[i].name));

		*(uint64_t *)((char *)run + counts[i].offset) = whole(counts[i].unit == UNIT_S ? 1e9 * v : v);
	}
}

void surface_report(struct surface_run *run)
{
	struct result *res = run->ses->res;
	size_t n;
	cleanup_free struct surface_suspect *places = surface_all_places(run, &n);
	struct surface_cell all = { 0 };
	struct table *t;

	report_map(run, &all);
	t = empty_table(res, SURFACE_TABLE_SLOW);
	t->rows_max = SIZE_MAX; /* a scan that goes on has from it what failed */
	for (size_t i = 0; i < n; i++)
		report_place(t, run, &places[i]);
	result_figure_u64(res, "first_bytes", "start of the range", UNIT_BYTES, run->range.first_bytes);
	result_figure_u64(res, "end_bytes", "end of the range", UNIT_BYTES, run->range.end_bytes);
	if (run->p->idle)
		result_figure_u64(res, "yields", "times that others went first", UNIT_COUNT, run->gentle.yields);
	if (run->p->rate || run->p->share > 0.0)
		result_figure(res, "paused_s", "pauses", UNIT_S, (double)run->gentle.paused_ns * 1e-9, NULL, 0);
	if (run->p->hours || run->p->max_celsius > 0.0)
		result_figure(res, "held_s", "time outside of the hours, or too warm", UNIT_S,
		              (double)run->gentle.held_for_ns * 1e-9, NULL, 0);
	report_sums(res, &all, run->rot.is_rotating ? run->rot.period_ns : (double)NAN);
	result_figure(res, "rate_bytes_per_s", "scan rate", UNIT_BYTES_PER_S,
	              run->done.scan_bytes ? (double)run->done.scan_bytes * 1e9 / (double)run->done.scan_ns
	                                   : (double)NAN,
	              NULL, 0);
	report_counts(run);
	report_kinds(run, places, n);
	report_unreadable(run, places, n);
	report_share(run, &all, places, n);
	result_figure(res, "least_over_ns", "shortest delay that is reported", UNIT_NS,
	              run->blind.batches ? run->blind.over_sum_ns / (double)run->blind.batches : (double)NAN, NULL, 0);
	result_figure(res, "rotation_period_ns", "one revolution", UNIT_NS,
	              run->rot.is_rotating ? run->rot.period_ns : (double)NAN, NULL, run->rot.events);
	result_figure(res, "again_s", "second readings took", UNIT_S,
	              (double)(run->again.spent_ns[AGAIN_OF_SLOW] + run->again.spent_ns[AGAIN_OF_ERRORS]) * 1e-9, NULL,
	              0);
	surface_heads_report(run);
	surface_burn_report(run, &surface_tables[SURFACE_TABLE_WRONG]);
}

/* ---- and back ---- */

static enum surface_kind kind_of(const char *name)
{
	size_t k = 0;

	while (k + 1 < SURFACE_KINDS && (!name || strcmp(surface_kind_names[k], name) != 0))
		k++;
	return (enum surface_kind)k;
}

static void take_place(struct surface_run *run, const struct slow_row *row)
{
	struct surface_suspect s = { .first_bytes = row->offset_bytes,
		                     .end_bytes = row->offset_bytes + row->length_bytes,
		                     .time_ns = row->time_ns,
		                     .scan_bytes = row->scanned_bytes,
		                     .ns_per_byte = row->expected_ns == UINT64_MAX || !row->scanned_bytes
		                                            ? (double)NAN
		                                            : (double)row->expected_ns / (double)row->scanned_bytes,
		                     .again_ns = row->again_ns == UINT64_MAX ? 0 : row->again_ns,
		                     .again = (uint32_t)row->again,
		                     .again_bad = (uint32_t)row->again_slow,
		                     .error = (int)row->error,
		                     .rests = (uint32_t)row->before,
		                     .is_silent = row->before > 0,
		                     .kind = kind_of(row->kind) };

	if (s.kind == SURFACE_UNCHECKED && run->p->recheck_all)
		s.kind = SURFACE_PENDING;
	if ((s.error || s.kind == SURFACE_SKIPPED) && s.kind != SURFACE_HEALED) {
		const struct surface_failed f = { s.first_bytes, s.end_bytes, s.time_ns,
			                          s.again + 1,   s.error,     s.kind == SURFACE_UNREADABLE,
			                          s.rests > 0 };

		surface_failures_add(s.kind == SURFACE_SKIPPED ? &run->later.skipped : &run->failures, &f, true);
	} else if (s.kind == SURFACE_PENDING && run->lists.nactive < SURFACE_ACTIVE &&
	           row->length_bytes <= run->range.block_bytes) {
		s.again = s.again_bad = 0;
		s.good_end = s.first_bytes;
		s.bad_end = s.end_bytes;
		run->lists.active[run->lists.nactive++] = s;
	} else { /* one of larger requests than those of now is not read again */
		run->lists.nkinds[SURFACE_UNCHECKED] += s.kind == SURFACE_PENDING;
		s.kind = s.kind == SURFACE_PENDING ? SURFACE_UNCHECKED : s.kind;
		surface_list_place(run, &s);
	}
}

static struct surface_cell cell_of(const struct table *map, size_t i)
{
	struct surface_cell c;

	table_row(map, i, map_fields, &c);
	c.worst_ns = c.scanned_bytes || c.errors ? c.worst_ns : 0;
	return c;
}

static bool are_rows_of(const struct surface_run *run, const struct table *slow, uint64_t to_bytes)
{
	uint32_t sector = run->ses->devs[0].logical_block_bytes;
	uint64_t failed_to = 0;

	for (size_t i = 0; slow && i < slow->nrows; i++) {
		bool is_failed;
		struct slow_row row;

		table_row(slow, i, slow_fields, &row);
		is_failed = row.error && kind_of(row.kind) != SURFACE_HEALED;

		if (!row.length_bytes || (row.offset_bytes | row.length_bytes) % sector ||
		    row.offset_bytes < run->range.first_bytes || row.offset_bytes >= to_bytes ||
		    row.length_bytes > run->range.end_bytes - row.offset_bytes || row.error > 1 ||
		    row.error < -ERRNO_MOST || (is_failed && row.offset_bytes < failed_to))
			return false;
		failed_to = is_failed ? row.offset_bytes + row.length_bytes : failed_to;
	}
	return true;
}

bool surface_are_tables_of(const struct surface_run *run, const struct result *state, uint64_t to_bytes)
{
	const struct table *map = result_find_table(state, surface_tables[SURFACE_TABLE_MAP].name);
	const struct table *slow = result_find_table(state, surface_tables[SURFACE_TABLE_SLOW].name);
	uint64_t left = to_bytes - run->range.first_bytes;

	for (size_t i = 0; slow && i < slow->nrows; i++) {
		struct slow_row row;

		table_row(slow, i, slow_fields, &row);
		if (kind_of(row.kind) == SURFACE_SKIPPED)
			left -= row.length_bytes < left ? row.length_bytes : left;
	}

	for (size_t i = 0; map && i < map->nrows; i++) {
		struct surface_cell c = cell_of(map, i);

		if (c.scanned_bytes > left || c.failed_bytes > c.scanned_bytes || i >= SURFACE_CELLS)
			return false;
		left -= c.scanned_bytes;
	}
	return !left && are_rows_of(run, slow, to_bytes);
}

void surface_take_tables(struct surface_run *run, const struct result *state)
{
	const struct table *map = result_find_table(state, surface_tables[SURFACE_TABLE_MAP].name);
	const struct table *slow = result_find_table(state, surface_tables[SURFACE_TABLE_SLOW].name);

	for (size_t i = 0; map && i < map->nrows && i < SURFACE_CELLS; i++)
		run->cells[i] = cell_of(map, i);
	for (size_t i = 0; slow && i < slow->nrows; i++) {
		struct slow_row row;

		table_row(slow, i, slow_fields, &row);
		take_place(run, &row);
	}
	for (size_t k = 0; k < SURFACE_KINDS; k++) {
		char name[40];

		double n = figure_number(result_find_figure(state, kind_figure(name, sizeof(name), k)));

		if (k != SURFACE_PENDING && k != SURFACE_UNREADABLE && k != SURFACE_SKIPPED && n >= 0.0 && n < 0x1p53)
			run->lists.nkinds[k] += (uint64_t)n;
	}
}
