/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of `platter check`: the verdict, its reasons with what would settle each, and what was seen. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "report/text.h"
#include "verdict/verdict.h"

#define REASONS_MOST 7 /* with a line each for what settles them they leave the page its 24 lines */
#define SURE_COLUMNS 8
#define VALUE        48

/* Three digits; NULL: there is none. */
static const char *value(const struct result *res, const char *name, char *buf)
{
	const struct figure *f = result_find_figure(res, name);
	double v = figure_number(f);
	struct value_scale scale;

	if (isnan(v))
		return NULL;
	if (f->type != FIELD_TYPE_F64 || v == 0.0)
		return report_figure(buf, VALUE, f);
	scale = report_scale_of(f->unit, v, 0.01 * fabs(v));
	return report_with_unit(buf, VALUE, &scale, v);
}

/* "WDC WD40EFRX WX31D01, 4.00 TB, 41230 h, 31 C, SATA 6.0 Gbps". */
static char *disk_line(struct printer *p, const struct result *res)
{
	const struct target_info *t = res->ntargets ? &res->targets[0] : NULL;
	const char *model = t ? target_text(t, "model") : NULL, *serial = t ? target_text(t, "serial") : NULL;
	double size = t ? target_number(t, "size_bytes") : (double)NAN, hours = verdict_counter(res, "power_on_hours"),
	       celsius = verdict_counter(res, "temperature_celsius");
	const char *of = t ? target_text(t, "serial_of") : NULL;
	char line[600] = "", amount[32];

	if (model || serial)
		str_list(line, sizeof(line), ", ", "%s%s%s%s", model ?: "", model && serial ? " " : "", serial ?: "",
		         of && strcmp(of, "bridge") == 0 ? " (of the bridge)" : "");
	if (size > 0.0 && size < 0x1p64)
		str_list(line, sizeof(line), ", ", "%s", units_bytes_dec(amount, sizeof(amount), (uint64_t)size));
	if (!isnan(hours))
		str_list(line, sizeof(line), ", ", "%.0f h", hours);
	if (!isnan(celsius))
		str_list(line, sizeof(line), ", ", "%.0f C", celsius);
	if (t && target_text(t, "link"))
		str_list(line, sizeof(line), ", ", "%s", target_text(t, "link"));
	return text_printable(p, line);
}

static void print_word(struct printer *p, const char *word)
{
	text_look(p, strcmp(word, "KEEP") == 0 ? LOOK_TITLE : LOOK_BAD);
	text_put(p, word);
	text_plain(p);
}

static const char *word_of(const struct result *res)
{
	const struct figure *f = result_find_figure(res, "verdict");

	return f && f->value.str && !f->value.is_null ? f->value.str : "NO VERDICT";
}

/* What a KEEP lacks: it has no other reasons. NULL: nothing. */
static const char *lack_of(const struct result *res)
{
	const struct table *t = result_find_table(res, "reasons");

	return t && t->nrows && strcmp(word_of(res), "KEEP") == 0 ? table_string_of(t, 0, "what") : NULL;
}

static const char *path_of(const struct result *res)
{
	return (res->ntargets ? target_text(&res->targets[0], "path") : NULL) ?: "";
}

static void print_head(struct printer *p, const struct result *res)
{
	const char *word = word_of(res), *lack = lack_of(res);
	cleanup_free char *shown = disk_line(p, res), *path = text_printable(p, path_of(res));

	print_word(p, word);
	if (lack)
		text_printf(p, "  as far as reading shows: %s\n    ", lack);
	text_printf(p, "  %s  ", path);
	text_fill(p, shown, (unsigned)strlen(word) + text_width(path) + 4, (unsigned)strlen(word) + 2);
	text_end(p);
}

/* is_said: what it is stands in the first line. false: nothing of it was to be printed. */
static bool print_reason(struct printer *p, const struct table *t, size_t row, bool is_said)
{
	cleanup_free char *what = text_printable(p, is_said ? NULL : table_string_of(t, row, "what")),
			  *line = text_printable(p, table_string_of(t, row, "settle")),
			  *how = text_printable(p, table_string_of(t, row, "how")),
			  *sure = text_printable(p, table_string_of(t, row, "sure"));
	bool is_long;
	unsigned room = p->width > SURE_COLUMNS + 1 ? p->width - SURE_COLUMNS - 1 : 0;

	if (*what) {
		text_printf(p, "%3zu  %s", row + 1, what);
		text_spaces(p, 5 + text_width(what) < room ? room - 5 - text_width(what) : 2);
		text_put(p, sure);
		text_end(p);
	}
	if (!*line)
		return *what;
	text_printf(p, "       to settle it%s%s:", *how ? ", " : "", how);
	is_long = strlen("       to settle it, :  ") + text_width(how) + text_width(line) > p->width;
	if (is_long)
		text_end(p);
	text_command(p, line, is_long ? 9 : 2);
	return true;
}

/* ---- what was seen ---- */

static void print_line(struct printer *p, const char *line)
{
	if (!*line)
		return;
	text_spaces(p, 2);
	text_fill(p, line, 2, 2);
}

static void print_rates(struct printer *p, const struct result *res)
{
	static const char *const rates[][2] = {
		{ "start_bytes_per_s", "reads %s at the start" },
		{ "middle_bytes_per_s", "%s in the middle" },
		{ "end_bytes_per_s", "%s at the end" },
		{ "interface_bytes_per_s", "%s from its buffer" },
	};
	const double start = figure_number(result_find_figure(res, rates[0][0])),
		     buffer = figure_number(result_find_figure(res, rates[3][0]));
	char a[VALUE], line[400] = "";

	for (size_t i = 0; i < ARRAY_LEN(rates); i++)
		if ((i < 3 || buffer > 1.05 * start) && value(res, rates[i][0], a))
			str_list(line, sizeof(line), ", ", "%.*s%s%s", (int)strcspn(rates[i][1], "%"), rates[i][1], a,
			         strchr(rates[i][1], '%') + 2);
	print_line(p, line);
}

/* A random read is the arm's way, half a revolution and the overhead: what more it takes is lost. */
static void print_reads(struct printer *p, const struct result *res)
{
	double seek = figure_number(result_find_figure(res, "average_seek_with_overhead_ns")),
	       turn = 60e9 / figure_number(result_find_figure(res, "rotation_rpm"));
	const char *shingled;
	const struct figure *f = result_find_figure(res, "shingled");
	char a[VALUE], b[VALUE], made[2 * VALUE] = "", line[400] = "";

	if (!isnan(seek + turn))
		(void)snprintf(made, sizeof(made), " (%.4g ms by seek, overhead and half a turn at %.0f rpm)",
		               1e-6 * (seek + turn / 2), 60e9 / turn);
	if (value(res, "random_access_mean_ns", a) || value(res, "response_mean_ns", a))
		str_list(line, sizeof(line), ", ", "a random read takes %s%s", a, made);
	if (value(res, "response_p99_ns", a) && value(res, "response_max_ns", b))
		str_list(line, sizeof(line), ", ", "99 %% within %s, all within %s", a, b);
	if (value(res, "average_seek_ns", a))
		str_list(line, sizeof(line), ", ", "an average seek %s", a);
	shingled = f && f->type == FIELD_TYPE_STR ? f->value.str : NULL;
	if (shingled && strcmp(shingled, "undecided") != 0)
		str_list(line, sizeof(line), ", ", "shingled: %.20s", shingled);
	print_line(p, line);
}

/* "26.4 GB (0.66 %) read at 1571 random places, 4 m 33 s in all: at most 0.19 % of places are bad (95 %)"; or without
 * places and time. */
static const char *share_text(const struct result *res, bool is_short, char *line, size_t len)
{
	const struct figure *bad = result_find_figure(res, "bad_places_ratio");
	double ratio = figure_number(result_find_figure(res, "scanned_ratio"));
	bool is_all = ratio >= 1.0, /* no sample */
		is_read = !(figure_number(result_find_figure(res, "failed_bytes")) > 0.0);
	char a[VALUE], n[VALUE], time[32], most[64];

	line[0] = '\0';
	if (!value(res, "scanned_bytes", a) || !value(res, "sampled_places", n) || isnan(ratio))
		return line;
	if (is_all)
		(void)snprintf(line, len, "all %s %s", a, is_read ? "read" : "tried");
	else
		(void)snprintf(line, len, "%s (%.3g %%) %s%s%s%s", a, fmin(100.0 * ratio, 99.9),
		               is_read ? "read" : "tried", is_short ? "" : " at ", is_short ? "" : n,
		               is_short ? "" : " random places");
	if (!is_short)
		str_list(line, len, ", ", "%s in all",
		         units_time(time, sizeof(time), (uint64_t)(res->head.elapsed_s * 1e9)));
	if (!bad || is_all) /* where all was tried, each bad place is counted, and a share of samples says less */
		return line;
	if (figure_number(bad) == 0.0)
		(void)snprintf(most, sizeof(most), "at most %.2g %%", 100.0 * bad->ci.high);
	else
		(void)snprintf(most, sizeof(most), "%.2g to %.2g %%", 100.0 * bad->ci.low, 100.0 * bad->ci.high);
	str_add(line, len, ": %s of places are bad (95 %%)", most);
	return line;
}

static void print_seen(struct printer *p, const struct result *res)
{
	const char *source = result_option_text(res, "health");
	cleanup_free char *why = NULL;
	char line[400] = "";

	print_rates(p, res);
	print_reads(p, res);
	print_line(p, share_text(res, false, line, sizeof(line)));
	for (size_t i = 0; i < res->nnotices; i++) {
		cleanup_free char *text = text_printable(p, res->notices[i].text);

		if (strcmp(res->notices[i].code, "hidden") == 0 || strcmp(res->notices[i].code, "behind-bridge") == 0)
			print_line(p, text);
	}
	if (!source || strcmp(source, "smartctl") == 0)
		return;
	(void)snprintf(line, sizeof(line), "why its counters were not read: %.200s", source);
	why = text_printable(p, line);
	print_line(p, why);
}

void text_verdict(struct printer *p, const struct result *res)
{
	const struct table *t = result_find_table(res, "reasons");
	size_t shown = t ? t->nrows < REASONS_MOST ? t->nrows : REASONS_MOST : 0;
	bool is_printed = false;

	print_head(p, res);
	for (size_t i = 0; i < shown; i++)
		is_printed |= print_reason(p, t, i, lack_of(res));
	if (t && shown < t->nrows)
		text_printf(p, "     and %zu more, with -v\n", t->nrows - shown);
	text_status(p, res);
	if (is_printed)
		text_end(p);
	if (!p->style->lines || p->style->lines >= LINES_OF_ONE)
		print_seen(p, res);
}

void text_verdict_of(struct printer *p, const struct result *res)
{
	const char *disk = res->ntargets ? target_text(&res->targets[0], "path") : NULL;
	char line[600] = "", what[VERDICT_TEXT];
	cleanup_free char *shown = NULL;
	struct judgement j;

	if (!res->head.measurement || !strcmp(res->head.measurement, "check") || report_fleet_disks(&res, 1) != 1)
		return;
	verdict_judge(&res, 1, &j);
	for (size_t i = 0; i < j.n && i < REASONS_MOST; i++)
		str_list(line, sizeof(line), ", ", "%s", verdict_text(&j, i, what));
	if (j.n && strlen(line) + 20 < sizeof(line))
		str_add(line, sizeof(line), "; to judge the disk: platter check %.100s", disk ?: "");
	shown = text_printable(p, line);
	if (j.n) {
		const char *word = verdict_words[j.is];

		print_word(p, word);
		text_spaces(p, 2);
		text_fill(p, shown, (unsigned)strlen(word) + 2, (unsigned)strlen(word) + 2);
	}
	verdict_done(&j);
}

/* ---- several disks ---- */

/* Figure "verdict_level": what has none is worse than what is kept. */
static double level_of(const struct result *res)
{
	double level = figure_number(result_find_figure(res, "verdict_level"));

	return isnan(level) ? 0.5 : level;
}

/* And by name: documents come in the order in which their disks were done. */
static int by_level(const void *a, const void *b)
{
	const struct result *of_a = *(const struct result *const *)a, *of_b = *(const struct result *const *)b;
	double x = level_of(of_a), y = level_of(of_b);

	return x != y ? (x < y) - (x > y) : strverscmp(path_of(of_a), path_of(of_b));
}

/* The rest of a line, from this column on, where that many are taken; cut to the width. */
static void print_cut(struct printer *p, unsigned taken, unsigned at, const char *text)
{
	char line[600];

	text_spaces(p, at - taken);
	(void)report_printable(line, sizeof(line), text, p->width > at ? p->width - at : 1, p->style->unicode);
	text_put(p, line);
	text_end(p);
}

/* The disk; its first reason; what would settle that. As many of these as there are lines. */
static void print_row(struct printer *p, const struct result *res, unsigned lines)
{
	const struct table *t = result_find_table(res, "reasons");
	const char *word = word_of(res), *settle = NULL;
	cleanup_free char *disk = disk_line(p, res), *reason = NULL,
			  *line = text_format("%s  %s%s%s", path_of(res), lack_of(res) ?: "", lack_of(res) ? "; " : "",
	                                      disk);
	unsigned at = (unsigned)strlen("REJECT  "), taken = (unsigned)strlen(word);
	char share[400];

	print_word(p, word);
	print_cut(p, taken, taken < at ? at : taken + 2, line);
	if (lines > 1 && strcmp(word, "KEEP") == 0)
		print_cut(p, 0, at + 2, share_text(res, true, share, sizeof(share)));
	if (lines < 2 || !t || !t->nrows || lack_of(res))
		return;
	reason = text_format(t->nrows > 1 ? "%s, and %zu more" : "%s", table_string_of(t, 0, "what") ?: "",
	                     t->nrows - 1);
	print_cut(p, 0, at + 2, reason);
	for (size_t i = 0; i < t->nrows && !settle; i++)
		settle = table_string_of(t, i, "settle");
	if (settle && lines > 2)
		print_cut(p, 0, at + 4, settle);
}

static void print_counts(struct printer *p, const struct result *const *res, size_t n)
{
	const char *const words[] = { "REJECT", "DOUBT", "NO VERDICT", "KEEP" };
	char line[200] = "";

	for (size_t w = 0; w < ARRAY_LEN(words); w++) {
		size_t is = 0;

		for (size_t i = 0; i < n; i++)
			is += strcmp(word_of(res[i]), words[w]) == 0;
		if (is)
			str_list(line, sizeof(line), ", ", "%zu %s", is, words[w]);
	}
	text_printf(p, "%zu disks: %s", n, line);
	text_end(p);
	text_end(p);
}

/* Lines for each disk with a reason, and for each other one: the first of these that fit. */
static void choose_lines(const struct result *const *res, size_t n, size_t room, unsigned *ret_bad, unsigned *ret_good)
{
	static const unsigned pairs[][2] = { { 3, 2 }, { 3, 1 }, { 2, 1 }, { 1, 1 } };
	size_t bad = 0, i = 0;

	for (size_t k = 0; k < n; k++)
		bad += level_of(res[k]) > 0.0;
	while (i + 1 < ARRAY_LEN(pairs) && bad * pairs[i][0] + (n - bad) * pairs[i][1] > room)
		i++;
	*ret_bad = pairs[i][0];
	*ret_good = pairs[i][1];
}

void text_verdicts(struct printer *p, const struct result *const *res, size_t n)
{
	cleanup_free const struct result **sorted = xcalloc(n + 1, sizeof(*sorted));
	size_t room = p->style->lines > 4 ? p->style->lines - 3 : SIZE_MAX, shown = n <= room ? n : room - 1;
	unsigned bad, good;

	choose_lines(res, n, room, &bad, &good);
	memcpy(sorted, res, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_level);
	print_counts(p, sorted, n);
	for (size_t i = 0; i < shown; i++)
		print_row(p, sorted[i], level_of(sorted[i]) > 0.0 ? bad : good);
	if (shown < n)
		text_printf(p, "and %zu more, with -v\n", n - shown);
}
