/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test.h"

#include <jansson.h>

#include "cli/cli.h"

/* A clock that stands where the test puts it. */
struct still {
	struct clock clk;
	uint64_t now;
};

static uint64_t still_now(struct clock *clk)
{
	return ((struct still *)clk)->now;
}

/* One progress and what it wrote: what a terminal of so many columns would show of its one line. */
struct screen {
	struct still clk;
	struct progress *p;
	FILE *f;
	char *text;
	size_t len;
	char line[400];
};

static void screen_init(struct screen *s, const char *columns, enum progress_mode mode, const char *name)
{
	*s = (struct screen){ .clk = { .clk = { .name = "still", .now_ns = still_now }, .now = 5 * NS_PER_S } };
	assert_int_equal(setenv("COLUMNS", columns, 1), 0);
	s->f = open_memstream(&s->text, &s->len);
	assert_non_null(s->f);
	s->p = progress_new(s->f, &s->clk.clk, mode, name);
}

static void screen_done(const struct screen *s)
{
	progress_free(s->p);
	fclose(s->f);
	free(s->text);
}

/* One that ends with its block. (In place: the clock and the file have its address.) */
#define SCREEN(s, columns, mode, name)                         \
	__attribute__((cleanup(screen_done))) struct screen s; \
	screen_init(&(s), columns, mode, name)

/* The line as a dumb terminal leaves it. */
static const char *shown(struct screen *s)
{
	size_t at = 0;

	memset(s->line, ' ', sizeof(s->line));
	fflush(s->f);
	for (size_t i = 0; i < s->len; i++) {
		if (s->text[i] == '\r') {
			at = 0;
			continue;
		}
		if (((unsigned char)s->text[i] & 0xc0) == 0x80)
			continue; /* a cell shows the first byte of its character */
		assert_true(at < sizeof(s->line));
		s->line[at++] = s->text[i];
	}
	for (at = sizeof(s->line) - 1; at > 0 && s->line[at - 1] == ' '; at--)
		;
	s->line[at] = '\0';
	return s->line;
}

TEST(the_line_shows_phase_percent_figure_and_time_left)
{
	SCREEN(s, "80", PROGRESS_TTY, "zones");

	s.clk.now += 10 * NS_PER_S;
	progress_update(s.p, "curve", 0.25, "183.2 MB/s");
	assert_string_equal(shown(&s), "zones: curve  25 % [######..................] 183.2 MB/s, 30 s left");
	progress_clear(s.p);
	assert_string_equal(shown(&s), "");
}

/* Of 1024 cells, each 2 share one, and the worse is seen. */
TEST(a_map_stands_above_the_line_where_the_terminal_can)
{
	uint8_t cells[1024] = { 0 };
	struct screen s;

	assert_int_equal(setenv("NO_COLOR", "1", 1), 0);
	cells[0] = 1;
	cells[3] = 8;
	cells[2] = 4;
	for (int can = 0; can < 2; can++) {
		assert_int_equal(setenv("TERM", can ? "xterm" : "dumb", 1), 0);
		screen_init(&s, "80", PROGRESS_TTY, "surface");
		s.clk.now += 10 * NS_PER_S;
		progress_map(s.p, cells, 1024);
		progress_update(s.p, "scan", 0.25, "183.2 MB/s");
		(void)fflush(s.f);
		if (can)
			assert_non_null(strstr(s.text,
			                       "\r-!.............................................................."
			                       "\033[K\n\r..."));
		else
			assert_string_equal(shown(&s),
			                    "surface: scan  25 % [######..................] 183.2 MB/s, 30 s left");
		progress_clear(s.p);
		(void)fflush(s.f);
		assert_int_equal(strstr(s.text, "\033[8A\033[J") != NULL, can);
		screen_done(&s);
	}
	screen_init(&s, "40", PROGRESS_TTY, "surface"); /* too narrow */
	progress_map(s.p, cells, 1024);
	progress_update(s.p, "scan", 0.25, "183.2 MB/s");
	(void)fflush(s.f);
	assert_null(strstr(s.text, "\n"));
	screen_done(&s);
	assert_int_equal(unsetenv("NO_COLOR"), 0);
}

TEST(no_time_left_is_reported_before_there_is_a_past)
{
	SCREEN(s, "80", PROGRESS_TTY, "seek");

	s.clk.now += NS_PER_S;
	progress_update(s.p, "spans", 0.01, NULL);
	assert_null(strstr(shown(&s), "left"));
}

TEST(a_start_of_unknown_length_is_no_part_of_the_estimate)
{
	SCREEN(s, "80", PROGRESS_TTY, "stream");

	progress_update(s.p, "looking", -1.0, NULL);
	s.clk.now += 100 * NS_PER_S;
	progress_update(s.p, "reading", 0.0, NULL);
	s.clk.now += 10 * NS_PER_S;
	progress_update(s.p, "reading", 0.5, NULL);
	assert_non_null(strstr(shown(&s), " 10 s left"));
}

TEST(no_line_is_wider_than_the_terminal)
{
	for (int columns = 20; columns <= 120; columns++) {
		struct screen s;
		char text[16];

		snprintf(text, sizeof(text), "%d", columns);
		screen_init(&s, text, PROGRESS_TTY, "transactions");
		for (int i = 1; i <= 10; i++) {
			s.clk.now += 3600 * NS_PER_S;
			progress_update(s.p, i % 2 ? "a phase with a long name" : "short", 0.1 * i,
			                i % 3 ? "183.2 MB/s \xc2\xb1 1.5 % \xe2\x96\x81\xe2\x96\x83" : "x");
			fflush(s.f);
			for (char *r = s.text; r && *r;) { /* each piece between carriage returns */
				size_t n = strcspn(r, "\r"), width = 0;

				for (size_t k = 0; k < n; k++)
					width += ((unsigned char)r[k] & 0xc0) != 0x80;
				assert_true(width < (size_t)columns);
				r += n + (r[n] == '\r');
			}
		}
		progress_clear(s.p);
		assert_string_equal(shown(&s), "");
		screen_done(&s);
	}
}

TEST(the_line_is_gone_with_its_progress)
{
	SCREEN(s, "80", PROGRESS_TTY, "m");

	progress_update(s.p, "a", 0.5, NULL);
	progress_free(s.p);
	s.p = NULL;
	assert_string_equal(shown(&s), "");
}

TEST(progress_never_goes_backwards_and_never_past_the_end)
{
	SCREEN(s, "60", PROGRESS_TTY, "m");

	progress_update(s.p, "a", 0.5, NULL);
	s.clk.now += NS_PER_S;
	progress_update(s.p, "b", 0.4, NULL);
	assert_non_null(strstr(shown(&s), "m: b  50 %"));
	progress_update(s.p, "c", -1.0, "stalled");
	assert_non_null(strstr(shown(&s), "m: c  50 %"));
	progress_update(s.p, "d", 7.0, NULL);
	assert_non_null(strstr(shown(&s), "m: d 100 %"));
}

TEST(the_line_is_drawn_at_most_ten_times_a_second)
{
	size_t draws = 0;
	SCREEN(s, "80", PROGRESS_JSON, "m");

	for (int i = 0; i < 1000; i++, s.clk.now += NS_PER_MS)
		progress_update(s.p, "a", i / 1000.0, NULL);
	fflush(s.f);
	for (size_t i = 0; i < s.len; i++)
		draws += s.text[i] == '\n';
	assert_in_range(draws, 9, 11);
}

TEST(json_lines_are_objects_that_can_be_read)
{
	json_t *o;
	char *second;
	SCREEN(s, "80", PROGRESS_JSON, "zones");

	progress_update(s.p, "a \"phase\"\n", 0.0, NULL);
	s.clk.now += 2 * NS_PER_S;
	progress_update(s.p, "b", 0.5, "1 MB/s");
	fflush(s.f);
	second = strchr(s.text, '\n');
	assert_non_null(second);
	*second++ = '\0';
	o = json_loads(s.text, 0, NULL);
	assert_non_null(o);
	assert_string_equal(json_string_value(json_object_get(o, "phase")), "a \"phase\"\n");
	assert_true(json_is_null(json_object_get(o, "left_s")));
	json_decref(o);
	o = json_loads(second, 0, NULL);
	assert_non_null(o);
	assert_true(json_number_value(json_object_get(o, "left_s")) == 2.0);
	assert_string_equal(json_string_value(json_object_get(o, "figure")), "1 MB/s");
	json_decref(o);
}

TEST(nothing_is_printed_when_nobody_looks)
{
	struct screen s;

	for (int mode = 0; mode < 2; mode++) {
		screen_init(&s, "80", mode ? PROGRESS_NONE : PROGRESS_AUTO, "m"); /* memory is no terminal */
		progress_update(s.p, "a", 0.5, "x");
		progress_clear(s.p);
		fflush(s.f);
		assert_int_equal(s.len, 0);
		screen_done(&s);
	}
	progress_update(NULL, "a", 0.5, NULL);
	progress_clear(NULL);
	progress_free(NULL);
}

TEST(without_a_terminal_a_line_comes_each_minute_and_when_asked_for)
{
	SCREEN(s, "80", PROGRESS_PLAIN, "m");

	for (unsigned second = 1; second <= 150; second++) {
		s.clk.now += NS_PER_S;
		progress_update(s.p, second < 30 ? "a" : "b", second / 256.0, "5 MB/s");
	}
	fflush(s.f);
	assert_string_equal(s.text, "platter m: b 23 %, 5 MB/s, 3 m 17 s left\n"
	                            "platter m: b 46 %, 5 MB/s, 2 m 17 s left\n");
	atomic_store(&cli_is_asked, true);
	for (int i = 0; i < 3; i++) {
		s.clk.now += NS_PER_S;
		progress_update(s.p, "b\033[2J", 0.8, NULL);
	}
	fflush(s.f);
	assert_string_equal(strchr(strchr(s.text, '\n') + 1, '\n') + 1, "platter m: b?[2J 80 %, 38 s left\n");
}

TEST(a_phase_name_cannot_steer_the_terminal)
{
	SCREEN(s, "80", PROGRESS_TTY, "m");

	progress_update(s.p, "a\033[2Jb\n", 0.5, "\a");
	fflush(s.f);
	assert_null(strchr(s.text, '\033'));
	assert_null(strchr(s.text, '\a'));
	assert_null(strchr(s.text, '\n'));
}

/* A terminal that shows the log obeys nothing in it, whatever a model's name holds. */
TEST(a_line_of_the_log_holds_no_control_character_of_any_kind)
{
	char got[512];
	struct log *l;
	int fds[2];
	ssize_t n;

	assert_int_equal(pipe(fds), 0);
	l = log_new(fds[1]);
	assert_int_equal(log_line(l, "zones",
	                          "a\x1b[2Jb\nc\xc2\x85"
	                          "d\xe2\x80\xae"
	                          "e"),
	                 0);
	n = read(fds[0], got, sizeof(got) - 1);
	assert_true(n > 0);
	got[n] = '\0';
	assert_non_null(strstr(got, " zones: a"));
	assert_string_equal(got + n - 2, "e\n");
	assert_null(memchr(got, '\x1b', (size_t)n));
	assert_ptr_equal(memchr(got, '\n', (size_t)n), got + n - 1);
	assert_null(strstr(got, "\xc2\x85"));
	assert_null(strstr(got, "\xe2\x80\xae"));
	(void)close(fds[0]);
	assert_int_equal(log_close(l), 0);
}
