/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the page that a person reads after a run: what was measured on which disk, the figures with their
 * intervals, the tables, what the disk answered badly, and what the reader should know. Every text in a document may
 * come from a stranger's disk or file: all pass through report_printable().
 */
#include "report/text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/xalloc.h"

#define FAULTS_SHOWN  5
#define TARGETS_SHOWN 3 /* of the first screen */

/* ---- what was measured, on what ---- */

/* What there is of the parts, with commas between, from column `at` on. Ends the line. */
static void put_parts(struct printer *p, const char *const *parts, size_t n, unsigned at)
{
	cleanup_free char *text = NULL, *shown = NULL;
	size_t len;
	FILE *f = xmust(open_memstream(&text, &len));

	for (size_t i = 0; i < n; i++)
		if (parts[i] && *parts[i])
			(void)fprintf(f, "%s%s", ftell(f) > 0 ? ", " : "", parts[i]);
	(void)xmust(fclose(f) == 0 ? text : NULL);
	shown = text_printable(p, text);
	text_fill(p, shown, at, 4);
}

/* "/dev/sda  WDC WD40EZRZ, serial WD-WCC7K5, 4.00 TB", or "/tmp/x  on sda, ext4, 105 MB"; it begins at column `at`. */
static void print_target(struct printer *p, const struct target_info *t, unsigned at)
{
	bool is_file = target_is_file(t);
	const char *marked = target_text(t, is_file ? "disk" : "serial"),
		   *plain = target_text(t, is_file ? "fs_type" : "model");
	double size = target_number(t, "size_bytes");
	cleanup_free char *path = text_printable(p, target_text(t, "path")),
			  *mark = text_format("%s%s", is_file ? "on " : "serial ", marked ?: "");
	char amount[32] = "";

	if (size > 0.0 && size < 0x1p64) /* a new file has none yet; a file of a stranger any */
		(void)units_bytes_dec(amount, sizeof(amount), (uint64_t)size);
	text_put(p, path);
	text_spaces(p, 2);
	if (!marked)
		*mark = '\0';
	put_parts(p, (const char *const[]){ is_file ? mark : plain, is_file ? plain : mark, amount }, 3,
	          at + text_width(path) + 2);
}

char *text_started(const char *started)
{
	char *text = xmust(strdup(started ? started : ""));

	if (strlen(text) >= 24 && text[10] == 'T' && text[strlen(text) - 1] == 'Z') {
		text[10] = ' ';
		memcpy(text + 19, " UTC", 5);
	}
	return text;
}

void text_circumstances(struct printer *p, const struct result *res)
{
	const struct result_head *h = &res->head;
	cleanup_free char *started = text_started(h->started),
			  *engine = text_format("%s%s", h->engine && *h->engine ? "engine " : "", h->engine ?: "");
	char took[32] = "", seed[40] = "";

	if (h->elapsed_s > 0 && h->elapsed_s < 1e9)
		(void)units_time(took, sizeof(took), (uint64_t)llround(h->elapsed_s * 1e9));
	if (h->seed)
		(void)snprintf(seed, sizeof(seed), "seed %llu", (unsigned long long)h->seed);
	if (!*started && !*took && !*engine && !*seed)
		return;
	text_spaces(p, 2);
	put_parts(p, (const char *const[]){ started, took, engine, seed }, 4, 2);
}

static const char *const status_sentences[] = {
	[STATUS_COMPLETE] = NULL,
	[STATUS_WITH_ERRORS] = NULL, /* the section of errors says it */
	[STATUS_CANCELLED] = "Cancelled: this is what was measured until then.",
	[STATUS_DEVICE_GONE] = "The device disappeared: this is what was measured until then.",
	[STATUS_FAILED] = "Not finished: this is what was measured until the failure.",
	[STATUS_RUNNING] = "Not finished: this is what was measured when it was saved last.",
};

void text_status(struct printer *p, const struct result *res)
{
	if (!status_sentences[res->status])
		return;
	text_look(p, LOOK_BAD);
	text_printf(p, "  %s", status_sentences[res->status]);
	text_plain(p);
	text_end(p);
}

void text_command(struct printer *p, const char *command, unsigned indent)
{
	cleanup_free char *shown = text_printable(p, command);
	const char *end;

	for (const char *at = shown; *at; at = end) {
		size_t n = text_line(at, p->width > indent + 24 ? p->width - indent - 4 : 20);

		end = at + n + strspn(at + n, " ");
		text_spaces(p, indent + (at == shown ? 0 : 2));
		text_printf(p, "%.*s%s\n", (int)n, at, *end ? " \\" : "");
	}
}

static void print_next(struct printer *p, const struct result *res)
{
	const struct figure *f = result_find_figure(res, "next_command");

	if (!f || f->value.is_null || f->type != FIELD_TYPE_STR)
		return;
	text_printf(p, "%c%s:\n", toupper((unsigned char)f->label[0]), f->label + 1);
	text_command(p, f->value.str, 2);
}

void text_head(struct printer *p, const struct result *res)
{
	size_t shown = p->style->lines && res->ntargets > TARGETS_SHOWN + 1 ? TARGETS_SHOWN : res->ntargets;
	cleanup_free char *measurement = text_printable(p, res->head.measurement),
			  *answer = text_printable(p, res->answer);
	unsigned at = (unsigned)strlen("platter : ") + text_width(measurement);

	text_look(p, LOOK_TITLE);
	text_printf(p, "platter%s%s%s", *measurement ? " " : "", measurement, res->ntargets ? ":" : "");
	text_plain(p);
	text_spaces(p, 1);
	if (res->ntargets != 1)
		text_end(p);
	for (size_t i = 0; i < shown; i++) {
		text_spaces(p, res->ntargets == 1 ? 0 : 2);
		print_target(p, &res->targets[i], res->ntargets == 1 ? at : 2);
	}
	if (shown < res->ntargets)
		text_printf(p, "  and %zu more\n", res->ntargets - shown);
	text_status(p, res);
	if (!*answer)
		return;
	text_look(p, LOOK_TITLE);
	text_fill(p, answer, 0, 0);
	text_plain(p);
	print_next(p, res);
}

/* ---- figures ---- */

/* A line has these beside each other; each is as wide as the widest of them, and nothing where none has it. */
enum { LABEL, NUMBER, UNIT, INTERVAL, SAMPLES, BITS, CELLS };

static const struct {
	const char *heading;
	unsigned gap; /* columns before it */
	bool is_right;
} cells[CELLS] = {
	[LABEL] = { "Figures", 2, false },          [NUMBER] = { "", 2, true },         [UNIT] = { "", 1, false },
	[INTERVAL] = { "95 % interval", 2, false }, [SAMPLES] = { "samples", 2, true }, [BITS] = { "", 2, false },
};

struct figure_line {
	char *cell[CELLS];
	char *text; /* of text figures, instead of number and unit */
};

static void line_of(struct printer *p, const struct figure *f, struct figure_line *l)
{
	double value = figure_number(f);
	struct report_parts in = { .number = "" };
	char bits[32] = "";

	if (f->type == FIELD_TYPE_STR && !f->value.is_null)
		l->text = text_printable(p, f->value.str);
	else
		report_parts(f, p->style->unicode, &in);
	if (p->has_bits && f->unit == UNIT_BYTES_PER_S && isfinite(value))
		(void)units_rate_bits(bits, sizeof(bits), value);
	l->cell[LABEL] = text_printable(p, label_or_name(f->label, f->name));
	l->cell[NUMBER] = text_format("%s", in.number);
	l->cell[UNIT] = text_format("%s", in.unit);
	l->cell[INTERVAL] = text_format("%s", in.interval);
	l->cell[SAMPLES] = text_format("%.0llu", l->text ? 0ull : (unsigned long long)f->samples); /* of 0 nothing */
	l->cell[BITS] = text_format(*bits ? "= %s" : "%s", bits);
}

static unsigned fraction_width(const char *number)
{
	return (unsigned)strlen(number) - (unsigned)strcspn(number, ".");
}

/* Decimal points of the same unit stand below each other. */
static void align_points(struct figure_line *lines, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *number = lines[i].cell[NUMBER];
		unsigned most = 0;

		for (size_t k = 0; k < n && *lines[i].cell[UNIT]; k++)
			if (!strcmp(lines[i].cell[UNIT], lines[k].cell[UNIT]) &&
			    fraction_width(lines[k].cell[NUMBER]) > most)
				most = fraction_width(lines[k].cell[NUMBER]);
		if (most <= fraction_width(number))
			continue;
		lines[i].cell[NUMBER] = text_format("%s%*s", number, (int)(most - fraction_width(number)), "");
		free(number);
	}
}

/* Too narrow: the numbers of samples go first, then the rates in bits; files have them. */
static void fit(const struct printer *p, const struct figure_line *lines, size_t n, unsigned w[CELLS])
{
	static const int less[] = { SAMPLES, BITS };
	unsigned all = 0;

	for (size_t c = 0; c < CELLS; c++) {
		for (size_t i = 0; i < n; i++)
			w[c] = text_width(lines[i].cell[c]) > w[c] ? text_width(lines[i].cell[c]) : w[c];
		if (w[c] && c != LABEL && strlen(cells[c].heading) > w[c])
			w[c] = (unsigned)strlen(cells[c].heading);
		all += w[c] ? w[c] + cells[c].gap : 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(less) && all > p->width; i++) {
		all -= w[less[i]] ? w[less[i]] + cells[less[i]].gap : 0;
		w[less[i]] = 0;
	}
}

/* Column c, and the space before it. */
static void put_cell(struct printer *p, const char *text, size_t c, unsigned width, unsigned gap)
{
	unsigned pad = text_width(text) < width ? width - text_width(text) : 0;

	text_spaces(p, gap + (cells[c].is_right ? pad : 0));
	text_put(p, text);
	text_spaces(p, cells[c].is_right ? 0 : pad);
}

static void print_line(struct printer *p, const struct figure_line *line, const unsigned w[CELLS])
{
	put_cell(p, line->cell[LABEL], LABEL, w[LABEL], cells[LABEL].gap);
	for (size_t c = NUMBER; c < CELLS && !line->text; c++)
		if (w[c])
			put_cell(p, line->cell[c], c, w[c], cells[c].gap);
	text_spaces(p, line->text ? 2 : 0);
	text_fill(p, line->text ?: "", w[LABEL] + 4, w[LABEL] + 4);
}

static void print_headings(struct printer *p, const unsigned w[CELLS])
{
	text_look(p, LOOK_TITLE);
	text_put(p, cells[LABEL].heading);
	text_plain(p);
	text_spaces(p, w[LABEL] + cells[LABEL].gap - (unsigned)strlen(cells[LABEL].heading));
	for (size_t c = NUMBER; c < CELLS; c++)
		if (w[c])
			put_cell(p, cells[c].heading, c, w[c], cells[c].gap);
	text_end(p);
}

void text_figures(struct printer *p, const struct figure *const *v, size_t n)
{
	cleanup_free struct figure_line *lines = xcalloc(n + 1, sizeof(*lines));
	unsigned w[CELLS] = { 0 };

	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		line_of(p, v[i], &lines[i]);
	align_points(lines, n);
	fit(p, lines, n, w);
	text_end(p);
	print_headings(p, w);
	for (size_t i = 0; i < n; i++) {
		print_line(p, &lines[i], w);
		for (size_t c = 0; c < CELLS; c++)
			free(lines[i].cell[c]);
		free(lines[i].text);
	}
}

/* ---- tables ---- */

void text_table_of(struct printer *p, const struct result *res, const struct table *t)
{
	for (size_t i = 0; i < res->nplots; i++)
		if (res->plots[i].table && strcmp(res->plots[i].table, t->name) == 0 &&
		    text_matrix(p, res, &res->plots[i]))
			return;
	text_table(p, t);
}

bool text_is_for_files(const struct table *t)
{
	for (size_t i = 0; i < t->ncolumns; i++)
		if (!t->columns[i].detail)
			return false;
	return t->ncolumns > 0;
}

/* ---- faults and notices ---- */

static void print_fault(struct printer *p, const struct result_fault *f)
{
	cleanup_free char *raw = NULL, *line = NULL;
	char place[32], after[32] = "";

	if (isfinite(f->time_s) && f->time_s >= 0 && f->time_s < 1e9)
		(void)units_time(after, sizeof(after), (uint64_t)llround(f->time_s * 1e9));
	raw = text_format("%s of %llu bytes at byte %llu (%s): %s%s%s%s%s", f->op ? f->op : "request",
	                  (unsigned long long)f->length_bytes, (unsigned long long)f->offset_bytes,
	                  units_bytes_dec(place, sizeof(place), f->offset_bytes),
	                  f->errno_name ? f->errno_name : "short", *after ? ", after " : "", after,
	                  f->target ? ", on " : "", f->target ? f->target : "");
	line = text_printable(p, raw);
	text_spaces(p, 2);
	text_fill(p, line, 2, 4);
}

void text_faults(struct printer *p, const struct result *res)
{
	uint64_t of_disk = result_fault_count(res), n = of_disk + result_limit_count(res);
	size_t shown = p->style->lines ? 0 : FAULTS_SHOWN; /* of the first screen the count alone */

	if (n == 0)
		return;
	text_end(p);
	text_look(p, LOOK_BAD);
	text_printf(p, "%s: %llu",
	            of_disk == n ? "Disk errors"
	            : of_disk    ? "Errors of the disk and refused requests"
	                         : "Refused requests",
	            (unsigned long long)n);
	text_plain(p);
	for (size_t i = 0; i < res->nfault_totals; i++) {
		cleanup_free char *name = text_printable(p, res->fault_totals[i].name);

		text_printf(p, "%s%llu %s", i ? ", " : " (", (unsigned long long)res->fault_totals[i].n, name);
	}
	text_put(p, res->nfault_totals ? ")\n" : "\n");
	for (size_t i = 0; i < res->nfaults && i < shown; i++)
		print_fault(p, &res->faults[i]);
	if (shown && n > shown && res->nfaults > shown)
		text_printf(p, "  (%zu of %llu; --json has %s)\n", shown, (unsigned long long)n,
		            n > res->nfaults ? "the first 1000" : "all");
}

void text_note(struct printer *p, const char *text)
{
	text_look(p, LOOK_NOTE);
	text_put(p, "note:");
	text_plain(p);
	text_spaces(p, 1);
	text_fill(p, text, 6, 6);
}
