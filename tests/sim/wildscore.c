/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was found on many disks, in sums: how often a figure was given and held the truth, how far off it was, and all
 * that was false. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "wildboard.h"

#define LIES_LISTED  12 /* of each kind, in text */
#define SEEDS_LISTED 12

struct sample {
	int64_t seed;
	const char *class_name;
	bool is_given, has_interval, is_held;
	double error, width; /* of what was given; half the interval's width */
};

struct score_line {
	char name[64];
	enum wild_scale scale;
	struct sample *v;
	size_t n, room;
};

struct wild_board {
	char command[32];
	json_t *verdicts; /* array */
	struct score_line *lines;
	size_t nlines;
};

struct wild_board *wild_board_new(const char *command)
{
	struct wild_board *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	(void)snprintf(b->command, sizeof(b->command), "%s", command);
	b->verdicts = json_array();
	return b;
}

void wild_board_free(struct wild_board *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->nlines; i++)
		free(b->lines[i].v);
	free(b->lines);
	json_decref(b->verdicts);
	free(b);
}

static void *grown(void *v, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return v;
	*room = *room ? *room * 2 : 16;
	v = realloc(v, *room * size);
	if (!v)
		abort();
	return v;
}

static struct score_line *line_of(struct wild_board *b, const char *name, enum wild_scale scale)
{
	struct score_line *l;

	for (size_t i = 0; i < b->nlines; i++)
		if (strcmp(b->lines[i].name, name) == 0)
			return &b->lines[i];
	b->lines = realloc(b->lines, (b->nlines + 1) * sizeof(*b->lines));
	if (!b->lines)
		abort();
	l = &b->lines[b->nlines++];
	*l = (struct score_line){ .scale = scale };
	(void)snprintf(l->name, sizeof(l->name), "%s", name);
	return l;
}

/* Signed distance of x from the truth, in the scale's unit. */
static double off(double x, double low, double high, enum wild_scale scale)
{
	double d = x < low ? x - low : x > high ? x - high : 0;

	if (scale == WILD_TURN)
		return remainder(x - low, 1.0);
	return scale == WILD_RATIO ? d / low : d;
}

static struct sample sample_of(const json_t *f, const json_t *verdict, enum wild_scale scale)
{
	double value = wild_number(f, "value"), low = wild_number(f, "low"), high = wild_number(f, "high");
	double t0 = wild_number(f, "true_low"), t1 = wild_number(f, "true_high");
	struct sample s = { .seed = json_integer_value(json_object_get(verdict, "seed")),
		            .class_name = json_string_value(json_object_get(verdict, "class")) };
	double turns = 0;

	s.is_given = isfinite(value);
	s.has_interval = s.is_given && isfinite(low) && isfinite(high);
	if (!s.is_given)
		return s;
	if (scale == WILD_TURN) /* the truth that is nearest */
		turns = value - t0 - remainder(value - t0, 1.0);
	s.error = off(value, t0, t1, scale);
	s.width = (high - low) / 2 / (scale == WILD_RATIO ? t0 : 1);
	s.is_held = s.has_interval && low <= t1 + turns && high >= t0 + turns;
	return s;
}

void wild_board_add(struct wild_board *b, json_t *verdict)
{
	const json_t *figures = json_object_get(verdict, "figures"), *f;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)figures, i, f)
	{
		enum wild_scale scale = (enum wild_scale)json_integer_value(json_object_get(f, "scale"));
		struct score_line *l = line_of(b, json_string_value(json_object_get(f, "name")), scale);

		l->v = grown(l->v, l->n, &l->room, sizeof(*l->v));
		l->v[l->n++] = sample_of(f, verdict, scale);
	}
	(void)json_array_append_new(b->verdicts, verdict);
}

/* ---- sums ---- */

struct sum {
	size_t disks, given, intervals, held;
	double median_error, worst_error, median_width;
	int64_t worst_seed;
	double low, high; /* of the share held: Wilson, 95 % */
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	if (n == 0)
		return (double)NAN;
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* class_name: NULL: all. */
static struct sum sum_of(const struct score_line *l, const char *class_name)
{
	double *errors = calloc(l->n + 1, sizeof(*errors)), *widths = calloc(l->n + 1, sizeof(*widths));
	struct sum s = { 0 };
	struct interval held;

	if (!errors || !widths)
		abort();
	for (size_t i = 0; i < l->n; i++) {
		const struct sample *v = &l->v[i];

		if (class_name && strcmp(class_name, v->class_name ? v->class_name : "") != 0)
			continue;
		s.disks++;
		if (!v->is_given)
			continue;
		errors[s.given++] = fabs(v->error);
		if (fabs(v->error) >= fabs(s.worst_error)) {
			s.worst_error = v->error;
			s.worst_seed = v->seed;
		}
		if (v->has_interval)
			widths[s.intervals++] = v->width;
		s.held += v->is_held;
	}
	s.median_error = median(errors, s.given);
	s.median_width = median(widths, s.intervals);
	held = stats_share_ci(s.held, s.intervals);
	s.low = held.low;
	s.high = held.high;
	free(errors);
	free(widths);
	return s;
}

/* The values of one member over all verdicts, sorted; free() it. */
static double *values(const struct wild_board *b, const char *key, size_t *ret_n)
{
	size_t n = json_array_size(b->verdicts), i;
	double *v = calloc(n + 1, sizeof(*v));

	*ret_n = 0;
	if (!v)
		abort();
	for (i = 0; i < n; i++) {
		double x = wild_number(json_array_get(b->verdicts, i), key);

		if (isfinite(x))
			v[(*ret_n)++] = x;
	}
	qsort(v, *ret_n, sizeof(*v), by_value);
	return v;
}

struct spread {
	double sum, median, p90, worst;
};

static struct spread spread_of(const struct wild_board *b, const char *key)
{
	struct spread s = { 0, (double)NAN, (double)NAN, (double)NAN };
	size_t n;
	double *v = values(b, key, &n);

	for (size_t i = 0; i < n; i++)
		s.sum += v[i];
	if (n) {
		s.median = v[n / 2];
		s.p90 = v[(size_t)(0.9 * (double)(n - 1))];
		s.worst = v[n - 1];
	}
	free(v);
	return s;
}

/* ---- text ---- */

static void print_number(FILE *out, double x, enum wild_scale scale, int width)
{
	char text[32];

	if (isnan(x))
		(void)snprintf(text, sizeof(text), "-");
	else if (scale == WILD_RATIO)
		(void)snprintf(text, sizeof(text), "%.3g %%", 100 * x);
	else
		(void)snprintf(text, sizeof(text), "%.3g%s", x, scale == WILD_TURN ? " rev" : "");
	(void)fprintf(out, " %*s", width, text);
}

static void print_line(FILE *out, const struct score_line *l, const char *class_name)
{
	struct sum s = sum_of(l, class_name);
	char share[64] = "-", held[32] = "-";

	if (s.disks == 0)
		return;
	if (s.intervals) {
		(void)snprintf(share, sizeof(share), "%.1f %% (%.1f..%.1f)",
		               100.0 * (double)s.held / (double)s.intervals, 100 * s.low, 100 * s.high);
		(void)snprintf(held, sizeof(held), "%zu/%zu", s.held, s.intervals);
	}
	(void)fprintf(out, "%-26s %5zu/%-5zu %12s %22s", l->name, s.given, s.disks, held, share);
	print_number(out, s.median_error, l->scale, 10);
	print_number(out, s.given ? s.worst_error : (double)NAN, l->scale, 10);
	(void)fprintf(out, " %6" PRId64, s.worst_seed);
	print_number(out, s.median_width, l->scale, 10);
	(void)fputc('\n', out);
}

static void print_lines(FILE *out, const struct wild_board *b, const char *class_name)
{
	(void)fprintf(out, "%-26s %11s %12s %22s %10s %10s %6s %10s\n", "figure", "given/disks", "held", "share (95 %)",
	              "median err", "worst err", "seed", "half width");
	for (size_t i = 0; i < b->nlines; i++)
		print_line(out, &b->lines[i], class_name);
}

/* How often each text of an array member, or a member, occurs: {TEXT: [SEED, ...]}. */
static json_t *seeds_of(const struct wild_board *b, const char *list, const char *member)
{
	json_t *all = json_object(), *verdict;
	size_t i, k;

	json_array_foreach(b->verdicts, i, verdict)
	{
		json_t *items = json_object_get(verdict, list), *item;
		json_t *once = json_object(); /* a text counts once a disk */

		if (json_is_string(items))
			items = json_pack("[O]", items);
		else
			json_incref(items);
		json_array_foreach(items, k, item)
		{
			const char *text = json_string_value(member ? json_object_get(item, member) : item);
			json_t *seeds = json_object_get(all, text);

			if (!text || json_object_get(once, text))
				continue;
			(void)json_object_set_new(once, text, json_true());
			if (!seeds) {
				seeds = json_array();
				(void)json_object_set_new(all, text, seeds);
			}
			(void)json_array_append(seeds, json_object_get(verdict, "seed"));
		}
		json_decref(items);
		json_decref(once);
	}
	return all;
}

static void print_seeds(FILE *out, const json_t *seeds)
{
	size_t n = json_array_size(seeds);

	for (size_t i = 0; i < n && i < SEEDS_LISTED; i++)
		(void)fprintf(out, " %" JSON_INTEGER_FORMAT, json_integer_value(json_array_get(seeds, i)));
	if (n > SEEDS_LISTED)
		(void)fputs(" ...", out);
	(void)fputc('\n', out);
}

static void print_counts(FILE *out, const struct wild_board *b, const char *title, const char *list, const char *member)
{
	json_t *all = seeds_of(b, list, member), *seeds;
	const char *text;

	if (json_object_size(all))
		(void)fprintf(out, "\n%s\n", title);
	json_object_foreach(all, text, seeds)
	{
		(void)fprintf(out, "  %-28s %5zu  seeds", text, json_array_size(seeds));
		print_seeds(out, seeds);
	}
	json_decref(all);
}

/* Of each kind how often it was there, and how often it was named. */
static void print_faults(FILE *out, const struct wild_board *b)
{
	json_t *sums = json_object(), *verdict, *f, *sum;
	const char *kind;
	size_t i, k;

	json_array_foreach(b->verdicts, i, verdict) json_array_foreach(json_object_get(verdict, "faults"), k, f)
	{
		kind = json_string_value(json_object_get(f, "kind"));
		if (!json_object_get(sums, kind))
			(void)json_object_set_new(sums, kind, json_pack("[i,i]", 0, 0));
		sum = json_object_get(sums, kind);
		for (size_t n = 0; n < 2; n++) {
			json_t *v = json_array_get(sum, n);

			(void)json_integer_set(v, json_integer_value(v) +
			                                  (n == 0 || json_is_true(json_object_get(f, "named"))));
		}
	}
	if (json_object_size(sums))
		(void)fprintf(out, "\n| Fault | Disks | Named |\n|---|---|---|\n");
	json_object_foreach(sums, kind, sum)(void)
		fprintf(out, "| %s | %" JSON_INTEGER_FORMAT " | %" JSON_INTEGER_FORMAT " |\n", kind,
	                json_integer_value(json_array_get(sum, 0)), json_integer_value(json_array_get(sum, 1)));
	json_decref(sums);
}

/* The first of each kind on each disk, in words. */
static void print_texts(FILE *out, const struct wild_board *b, const char *list, const char *title)
{
	json_t *counts = seeds_of(b, list, "what"), *seeds, *verdict, *l;
	const char *what;
	size_t i, k;

	json_object_foreach(counts, what, seeds)
	{
		size_t listed = 0;

		(void)fprintf(out, "\n%s: %s, on %zu disks\n", title, what, json_array_size(seeds));
		json_array_foreach(b->verdicts, i, verdict)
		{
			size_t n = 0;
			const char *first = NULL;

			json_array_foreach(json_object_get(verdict, list), k, l)
			{
				const char *of = json_string_value(json_object_get(l, "what"));

				if (!of || strcmp(of, what) != 0)
					continue;
				first = first ? first : json_string_value(json_object_get(l, "text"));
				n++;
			}
			if (n == 0 || listed++ >= LIES_LISTED)
				continue;
			(void)fprintf(out, "  seed %-6" JSON_INTEGER_FORMAT " %-12s",
			              json_integer_value(json_object_get(verdict, "seed")),
			              json_string_value(json_object_get(verdict, "class")));
			if (n > 1)
				(void)fprintf(out, " %zux, first:", n);
			(void)fprintf(out, " %s\n", first);
		}
		if (listed > LIES_LISTED)
			(void)fprintf(out, "  and %zu disks more\n", listed - LIES_LISTED);
	}
	json_decref(counts);
}

/* All of what verdicts count, or list, under this name. */
static size_t total(const struct wild_board *b, const char *key)
{
	const json_t *verdict, *v;
	size_t n = 0, i;

	json_array_foreach(b->verdicts, i, verdict)
	{
		v = json_object_get(verdict, key);
		n += json_is_array(v) ? json_array_size(v) : (size_t)json_integer_value(v);
	}
	return n;
}

static size_t disks_with_lies(const struct wild_board *b)
{
	const json_t *verdict;
	size_t n = 0, i;

	json_array_foreach(b->verdicts, i, verdict) n += json_array_size(json_object_get(verdict, "lies")) > 0;
	return n;
}

/* Where a command says how much it read. */
static void print_scanned(FILE *out, const struct wild_board *b)
{
	const json_t *verdict;
	size_t n = 0, whole = 0, i;

	json_array_foreach(b->verdicts, i, verdict)
	{
		double scanned = wild_number(verdict, "scanned_bytes");

		n += isfinite(scanned);
		whole += isfinite(scanned) && scanned >= wild_number(verdict, "disk_bytes");
	}
	if (n)
		(void)fprintf(out, "scanned: %.3g TB of %.3g TB; %zu of %zu disks whole\n",
		              spread_of(b, "scanned_bytes").sum * 1e-12, spread_of(b, "disk_bytes").sum * 1e-12, whole,
		              n);
}

void wild_board_print(const struct wild_board *b, FILE *out, bool by_class)
{
	struct spread device = spread_of(b, "device_s"), cpu = spread_of(b, "cpu_s");
	size_t n = json_array_size(b->verdicts);

	(void)fprintf(out, "%s on %zu disks\n", b->command, n);
	(void)fprintf(out, "device time: median %.0f s, 90 %% within %.0f s, at most %.0f s\n", device.median,
	              device.p90, device.worst);
	(void)fprintf(out, "processor time: %.1f s, %.2f s a disk, at most %.1f s\n", cpu.sum,
	              cpu.sum / (double)(n ? n : 1), cpu.worst);
	print_scanned(out, b);
	(void)fprintf(out, "disks of which something false was said: %zu\n\n", disks_with_lies(b));
	print_lines(out, b, NULL);
	if (by_class) {
		json_t *classes = seeds_of(b, "class", NULL), *seeds;
		const char *name;

		json_object_foreach(classes, name, seeds)
		{
			(void)fprintf(out, "\n%s: %zu disks\n", name, json_array_size(seeds));
			print_lines(out, b, name);
		}
		json_decref(classes);
	}
	print_counts(out, b, "How runs ended", "ended", NULL);
	print_counts(out, b, "Notices", "notices", NULL);
	if (total(b, "lies") == 0)
		(void)fputs("\nNothing was said that is false.\n", out);
	print_texts(out, b, "lies", "Said and false");
	if (total(b, "planted"))
		(void)fprintf(out, "\nBad places where it measured: %zu, of which it did not report %zu\n",
		              total(b, "planted"), total(b, "missed"));
	print_faults(out, b);
	print_texts(out, b, "missed", "Not reported");
}

/* ---- a row of the table in tests/BOARDS.md ---- */

static const struct score_line *find_line(const struct wild_board *b, const char *name)
{
	for (size_t i = 0; i < b->nlines; i++)
		if (strcmp(b->lines[i].name, name) == 0)
			return &b->lines[i];
	return NULL;
}

/* Given, held of those with an interval, median error. */
static void print_row_cell(FILE *out, const struct score_line *l)
{
	struct sum s = sum_of(l, NULL);

	(void)fprintf(out, " %zu, ", s.given);
	if (s.intervals)
		(void)fprintf(out, "%.0f %%,", 100.0 * (double)s.held / (double)s.intervals);
	else
		(void)fputs("-,", out);
	print_number(out, s.median_error, l->scale, 0);
	(void)fputs(" |", out);
}

void wild_board_row(const struct wild_board *b, FILE *out, const char *name)
{
	(void)fprintf(out,
	              "\n| %s: methods | disks | something false of | device time, median | processor time a disk |",
	              b->command);
	for (const struct wild_figure *f = wild_figures; f->name; f++)
		if (strcmp(f->command, b->command) == 0 && find_line(b, f->name))
			(void)fprintf(out, " `%s` |", f->name);
	(void)fprintf(out, "\n| %s | %zu | %zu | %.0f s | %.1f s |", name, json_array_size(b->verdicts),
	              disks_with_lies(b), spread_of(b, "device_s").median,
	              spread_of(b, "cpu_s").sum / (double)json_array_size(b->verdicts));
	for (const struct wild_figure *f = wild_figures; f->name; f++)
		if (strcmp(f->command, b->command) == 0 && find_line(b, f->name))
			print_row_cell(out, find_line(b, f->name));
	(void)fputc('\n', out);
}

/* ---- JSON ---- */

static json_t *real(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static json_t *sum_json(const struct score_line *l)
{
	static const char *const scales[] = {
		[WILD_RATIO] = "ratio", [WILD_TURN] = "revolutions", [WILD_PLAIN] = "plain"
	};
	struct sum s = sum_of(l, NULL);

	return json_pack("{s:s,s:s,s:I,s:I,s:I,s:I,s:o,s:o,s:o,s:o,s:I,s:o}", "name", l->name, "errors_in",
	                 scales[l->scale], "asked", (json_int_t)s.disks, "given", (json_int_t)s.given, "intervals",
	                 (json_int_t)s.intervals, "held", (json_int_t)s.held, "share_low", real(s.low), "share_high",
	                 real(s.high), "median_error", real(s.median_error), "worst_error",
	                 real(s.given ? s.worst_error : (double)NAN), "worst_seed", (json_int_t)s.worst_seed,
	                 "median_half_width", real(s.median_width));
}

static json_t *spread_json(struct spread s)
{
	return json_pack("{s:f,s:o,s:o,s:o}", "sum", s.sum, "median", real(s.median), "p90", real(s.p90), "max",
	                 real(s.worst));
}

json_t *wild_board_json(const struct wild_board *b)
{
	json_t *figures = json_array();

	for (size_t i = 0; i < b->nlines; i++)
		(void)json_array_append_new(figures, sum_json(&b->lines[i]));
	return json_pack("{s:s,s:s,s:I,s:I,s:o,s:o,s:o,s:I,s:I,s:o,s:o,s:o,s:o,s:f,s:f,s:O}", "schema",
	                 "platter-scoreboard", "command", b->command, "disks", (json_int_t)json_array_size(b->verdicts),
	                 "disks_with_lies", (json_int_t)disks_with_lies(b), "figures", figures, "lies",
	                 seeds_of(b, "lies", "what"), "missed", seeds_of(b, "missed", "what"), "planted",
	                 (json_int_t)total(b, "planted"), "not_reported", (json_int_t)total(b, "missed"), "notices",
	                 seeds_of(b, "notices", NULL), "ended", seeds_of(b, "ended", NULL), "device_s",
	                 spread_json(spread_of(b, "device_s")), "cpu_s", spread_json(spread_of(b, "cpu_s")),
	                 "scanned_bytes", spread_of(b, "scanned_bytes").sum, "disk_bytes",
	                 spread_of(b, "disk_bytes").sum, "verdicts", b->verdicts);
}
