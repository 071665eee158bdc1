/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far the run is, on stderr: one line on a terminal, drawn over and over; a line a minute where there is none; or
 * one JSON object per line for front ends. SIGUSR1 asks for a line at once, as of dd(1). The time left is what the past
 * says, elapsed * (1 - done) / done, and is shown only when there is enough past to say something. A start of which
 * nobody knew how long it would take (done < 0) is not a part of that past.
 */
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xalloc.h"
#include "cli/cli.h"

#define REDRAW_NS   (100 * NS_PER_MS)
#define PLAIN_NS    (60 * NS_PER_S)
#define ETA_MIN     0.02 /* done before a time left is shown */
#define BAR_MAX     24
#define BAR_MIN     8
#define LINE_BYTES  512
#define MAP_COLUMNS 64u
#define MAP_ROWS    8u

struct progress {
	FILE *out;
	struct clock *clk;
	enum progress_mode mode;
	char name[32], phase[64];
	uint64_t start_ns, drawn_ns;
	uint64_t known_ns;       /* from when on it is known how far it is */
	double known_done, done; /* how far it was then; the furthest so far */
	size_t drawn;            /* columns that the line takes now */
	bool is_drawn;           /* at least once */
	uint8_t map[MAP_ROWS * MAP_COLUMNS];
	bool has_map;
	size_t map_drawn;           /* lines of it above the line */
	bool is_known, was_unknown; /* how far it is: shown at least once; not shown at least once before */
};

struct progress *progress_new(FILE *out, struct clock *clk, enum progress_mode mode, const char *name)
{
	struct progress *p = xcalloc(1, sizeof(*p));

	if (mode == PROGRESS_AUTO && fileno(out) >= 0 && isatty(fileno(out)))
		mode = PROGRESS_TTY;
	else if (mode == PROGRESS_AUTO)
		mode = clock_is_virtual(clk) ? PROGRESS_NONE : PROGRESS_PLAIN; /* nobody waits for virtual minutes */
	p->out = out;
	p->clk = clk;
	p->mode = mode;
	p->start_ns = p->known_ns = p->drawn_ns = clock_now_ns(clk);
	(void)snprintf(p->name, sizeof(p->name), "%s", name);
	return p;
}

/* Seconds left, NaN: nobody can know yet. */
static double time_left_s(const struct progress *p, uint64_t now_ns)
{
	double elapsed_s = (double)(now_ns - p->known_ns) * 1e-9, done = p->done - p->known_done;

	if (done < ETA_MIN || elapsed_s <= 0.0)
		return (double)NAN;
	return elapsed_s * (1.0 - p->done) / done;
}

static void left_text(char *buf, size_t len, double left_s)
{
	uint64_t s = (uint64_t)ceil(left_s);

	if (s >= 3600)
		(void)snprintf(buf, len, "%u h %02u m left", (unsigned)(s / 3600), (unsigned)(s / 60 % 60));
	else if (s >= 60)
		(void)snprintf(buf, len, "%u m %02u s left", (unsigned)(s / 60), (unsigned)(s % 60));
	else
		(void)snprintf(buf, len, "%u s left", (unsigned)s);
}

static size_t columns(const char *s)
{
	char shown[LINE_BYTES];

	return report_printable(shown, sizeof(shown), s, 0, true);
}

static void add_bar(char *line, size_t len, size_t room, double done)
{
	size_t width = room > BAR_MAX + 3 ? BAR_MAX : room - 3, full = (size_t)(done * (double)width);
	size_t at = strlen(line);

	if (at + width + 4 > len)
		return;
	line[at++] = ' ';
	line[at++] = '[';
	memset(line + at, '#', full);
	memset(line + at + full, '.', width - full);
	at += width;
	line[at++] = ']';
	line[at] = '\0';
}

/* ---- the map ---- */

void progress_map(struct progress *p, const uint8_t *cells, size_t n)
{
	const char *term = getenv("TERM");

	if (!p || p->mode != PROGRESS_TTY || !term || !*term || strcmp(term, "dumb") == 0 || n < sizeof(p->map))
		return;
	memset(p->map, 0, sizeof(p->map));
	p->has_map = true;
	for (size_t i = 0; i < n; i++) { /* the worst of those that share a cell */
		uint8_t *cell = &p->map[i * sizeof(p->map) / n];

		*cell = cells[i] > *cell ? cells[i] : *cell;
	}
}

/* By characters as well as by colours: who sees no colours reads it, too. */
static void put_cell(FILE *out, uint8_t cell)
{
	static const struct {
		char mark;
		const char *colour;
	} looks[SESSION_MAP_WORST + 1] = {
		{ '.', "90" }, { '-', "32" }, { '=', "32" }, { '+', "33" },   { 'x', "33" },
		{ 'X', "35" }, { '%', "35" }, { '#', "31" }, { '!', "1;31" },
	};
	size_t k = cell > SESSION_MAP_WORST ? SESSION_MAP_WORST : cell;

	if (getenv("NO_COLOR"))
		(void)fputc(looks[k].mark, out);
	else
		(void)fprintf(out, "\033[%sm%c\033[0m", looks[k].colour, looks[k].mark);
}

static void up(struct progress *p)
{
	if (p->map_drawn)
		(void)fprintf(p->out, "\r\033[%zuA", p->map_drawn);
}

static void draw_map(struct progress *p, size_t width)
{
	up(p);
	p->map_drawn = 0;
	if (!p->has_map || width < MAP_COLUMNS)
		return;
	for (size_t row = 0; row < MAP_ROWS; row++) {
		(void)fputc('\r', p->out);
		for (size_t column = 0; column < MAP_COLUMNS; column++)
			put_cell(p->out, p->map[row * MAP_COLUMNS + column]);
		(void)fputs("\033[K\n", p->out);
	}
	p->map_drawn = MAP_ROWS;
}

/* "zones: curve  42 % [#######.........] 183.2 MB/s, 1 m 02 s left": what does not fit goes, the bar first. */
static void draw(struct progress *p, uint64_t now_ns, const char *figure)
{
	char line[LINE_BYTES], shown[LINE_BYTES], tail[200] = "", left[40] = "", now[160] = "";
	size_t width = output_width(p->out) - 1; /* the last column would wrap on some terminals */
	double left_s = time_left_s(p, now_ns);
	size_t used, room;

	draw_map(p, width);
	if (!isnan(left_s))
		left_text(left, sizeof(left), left_s);
	(void)snprintf(line, sizeof(line), "%s: %s", p->name, p->phase);
	if (p->is_known)
		str_add(line, sizeof(line), " %3.0f %%", floor(100.0 * p->done));
	/* A long figure (names of targets) must not push the time left out. */
	room = columns(line) + columns(left) + 3;
	(void)report_printable(now, sizeof(now), figure ? figure : "",
	                       *left && room < width ? (unsigned)(width - room) : 0, true);
	(void)snprintf(tail, sizeof(tail), "%s%s%s%s", *now || *left ? " " : "", now, *now && *left ? ", " : "", left);
	used = columns(line) + columns(tail);
	if (p->is_known && used + BAR_MIN + 3 <= width)
		add_bar(line, sizeof(line), width - used, p->done);
	str_add(line, sizeof(line), "%s", tail);
	used = report_printable(shown, sizeof(shown), line, (unsigned)width, true); /* names of targets are in it */
	/* Spaces wipe the rest of the old line on any terminal, also one without escapes. */
	fprintf(p->out, "\r%s%*s\r", shown, (int)(p->drawn > used ? p->drawn - used : 0), "");
	(void)fflush(p->out); /* progress is not worth an error */
	p->drawn = used;
}

/* "platter zones: curve 42 %, 183.2 MB/s, 1 m 02 s left" */
static void print_plain(struct progress *p, uint64_t now_ns, const char *figure)
{
	double left_s = time_left_s(p, now_ns);
	char line[LINE_BYTES], shown[LINE_BYTES], done[24] = "", left[40] = "";

	if (p->is_known)
		(void)snprintf(done, sizeof(done), " %.0f %%", floor(100.0 * p->done));
	if (!isnan(left_s))
		left_text(left, sizeof(left), left_s);
	(void)snprintf(line, sizeof(line), "platter %s: %s%s%s%s%s%s", p->name, p->phase, done,
	               figure && *figure ? ", " : "", figure ? figure : "", *left ? ", " : "", left);
	(void)report_printable(shown, sizeof(shown), line, 0, true);
	fprintf(p->out, "%s\n", shown);
	(void)fflush(p->out); /* progress is not worth an error */
}

/* On a terminal the line is there already. */
static bool is_due(const struct progress *p, bool is_news, uint64_t now_ns)
{
	if (p->mode == PROGRESS_PLAIN)
		return now_ns - p->drawn_ns >= PLAIN_NS || atomic_exchange(&cli_is_asked, false);
	return is_news || now_ns - p->drawn_ns >= REDRAW_NS;
}

static void print_json(struct progress *p, uint64_t now_ns, const char *figure)
{
	double left_s = time_left_s(p, now_ns);
	cleanup_free char *now = result_strdup(figure), *phase = result_strdup(p->phase); /* in UTF-8 */
	json_t *o = json_pack("{s:s, s:s, s:f, s:f, s:o, s:s?}", "measurement", p->name, "phase", phase, "done",
	                      p->done, "elapsed_s", (double)(now_ns - p->start_ns) * 1e-9, "left_s",
	                      isnan(left_s) ? json_null() : json_real(left_s), "figure", now);
	cleanup_free char *text = o ? json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6)) : NULL;

	json_decref(o);
	if (!text)
		return;
	fprintf(p->out, "%s\n", text);
	(void)fflush(p->out); /* progress is not worth an error */
}

void progress_update(struct progress *p, const char *phase, double done, const char *figure)
{
	bool is_news;
	uint64_t now_ns;

	if (!p || p->mode == PROGRESS_NONE)
		return;
	now_ns = clock_now_ns(p->clk);
	is_news = !p->is_drawn || (phase && strcmp(phase, p->phase) != 0) || (done >= 1.0 && p->done < 1.0);
	if (phase)
		(void)snprintf(p->phase, sizeof(p->phase), "%s", phase); /* cut is fine */
	if (done >= 0.0 && !p->is_known && p->was_unknown) {
		p->known_ns = now_ns;
		p->known_done = fmin(done, 1.0);
	}
	p->was_unknown = p->was_unknown || done < 0.0;
	p->is_known = p->is_known || done >= 0.0;
	if (done > p->done) /* false for NaN */
		p->done = done < 1.0 ? done : 1.0;
	if (!is_due(p, is_news, now_ns))
		return;
	p->is_drawn = true;
	p->drawn_ns = now_ns;
	if (p->mode == PROGRESS_JSON)
		print_json(p, now_ns, figure);
	else if (p->mode == PROGRESS_PLAIN)
		print_plain(p, now_ns, figure);
	else
		draw(p, now_ns, figure);
}

void progress_clear(struct progress *p)
{
	if (!p || p->mode != PROGRESS_TTY || !p->drawn)
		return;
	fprintf(p->out, "\r%*s\r", (int)p->drawn, "");
	up(p);
	if (p->map_drawn)
		(void)fputs("\033[J", p->out);
	p->map_drawn = 0;
	(void)fflush(p->out); /* progress is not worth an error */
	p->drawn = 0;
}

void progress_free(struct progress *p)
{
	progress_clear(p);
	free(p);
}
