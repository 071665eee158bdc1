/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/shared/together.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "measure/shared/distribution.h"

#define HOSTS_SHOWN 8 /* distributions side by side */

/* ---- histograms ---- */

struct hist_row {
	const char *of;
	uint64_t value_ns, count;
};

const struct field together_hist_fields[] = {
	FIELD_STR(struct hist_row, of, "of", .detail = true),
	FIELD_U64(struct hist_row, value_ns, UNIT_NS, "time", .detail = true),
	FIELD_U64(struct hist_row, count, UNIT_COUNT, "count", .detail = true),
	FIELD_END,
};

void together_tell_hist(struct result *res, const char *of, const struct hist *h)
{
	struct table *t = result_table(res, "histogram", "Histogram", together_hist_fields);
	struct hist_row row = { .of = of };

	for (size_t at = 0; hist_next(h, &at, &row.value_ns, &row.count);)
		result_row(t, &row);
}

struct hist *together_hist(const struct hosts_part *parts, size_t n, size_t host, const char *of)
{
	struct hist *h = hist_new();

	for (size_t i = 0; h && i < n; i++) {
		const struct table *t =
			parts[i].doc && (host >= n || host == i) ? result_find_table(parts[i].doc, "histogram") : NULL;

		for (size_t k = 0; t && k < t->nrows; k++) {
			struct hist_row row;

			table_row(t, k, together_hist_fields, &row);
			if (row.of && (!of || !strcmp(row.of, of)) && row.count && row.count != UINT64_MAX &&
			    row.value_ns != UINT64_MAX)
				hist_add_n(h, row.value_ns, row.count);
		}
	}
	return h;
}

struct hist *together_distribution(const struct hosts_part *parts, size_t n, struct result *res)
{
	struct hist *all = together_hist(parts, n, n, NULL);

	distribution_clear(res);
	for (size_t i = 0; all && n <= HOSTS_SHOWN && i < n; i++) {
		cleanup_free struct hist *own = together_hist(parts, n, i, NULL);

		if (own && parts[i].doc)
			distribution_add(res, parts[i].name, own);
	}
	if (all && n > HOSTS_SHOWN)
		distribution_add(res, NULL, all);
	return all;
}

uint64_t together_quantile(const struct hist *h, double q)
{
	return hist_can_quantile(h, q) ? hist_quantile(h, q) : UINT64_MAX;
}

/* ---- timelines ---- */

static const struct table *timeline_of(const struct hosts_part *part)
{
	return part->doc && part->has_start ? result_find_table(part->doc, "timeline") : NULL;
}

static struct together_window common_window(const struct hosts_part *parts, size_t n)
{
	double from_s = -INFINITY, to_s = INFINITY;

	for (size_t i = 0; i < n; i++) {
		const struct table *t = timeline_of(&parts[i]);
		double began_s = hosts_began_s(parts, n, i);

		if (!parts[i].has_start)
			continue;
		from_s = fmax(from_s, began_s);
		to_s = t && t->nrows ? fmin(to_s, began_s + table_number_of(t, t->nrows - 1, "time_s"))
		                     : -(double)INFINITY;
	}
	return (struct together_window){ from_s < to_s && isfinite(to_s), from_s, to_s };
}

double together_rate(const struct hosts_part *parts, size_t n, size_t host, const char *key,
                     const struct together_window *w)
{
	const struct table *t = timeline_of(&parts[host]);
	double began_s = hosts_began_s(parts, n, host), at_s = 0, sum = 0;

	for (size_t k = 0; t && k < t->nrows; k++) {
		double end_s = table_number_of(t, k, "time_s"), rate = table_number_of(t, k, key);
		double within_s = fmin(began_s + end_s, w->to_s) - fmax(began_s + at_s, w->from_s);

		if (within_s > 0)
			sum += rate * within_s;
		at_s = end_s;
	}
	return t && w->is_known ? sum / (w->to_s - w->from_s) : (double)NAN;
}

uint64_t together_count(const struct result *doc, const char *figure)
{
	const struct figure *f = result_find_figure(doc, figure);

	double number = figure_number(f);

	if (f && f->type == FIELD_TYPE_U64 && !f->value.is_null)
		return f->value.u64; /* to the last digit */
	return number >= 0.0 && number < 0x1p64 ? (uint64_t)number : UINT64_MAX;
}

static double fold(const struct hosts_part *parts, size_t n, const char *figure, double (*with)(double a, double b))
{
	double all = (double)NAN;
	bool is_first = true;

	for (size_t i = 0; i < n; i++) {
		double v = parts[i].doc ? figure_number(result_find_figure(parts[i].doc, figure)) : (double)NAN;

		if (!parts[i].doc)
			continue;
		all = is_first ? v : with(all, v);
		is_first = false;
	}
	return all;
}

static double add(double a, double b)
{
	return a + b;
}

static double most(double a, double b)
{
	return isnan(a) || isnan(b) ? (double)NAN : fmax(a, b);
}

double together_sum(const struct hosts_part *parts, size_t n, const char *figure)
{
	return fold(parts, n, figure, add);
}

double together_most(const struct hosts_part *parts, size_t n, const char *figure)
{
	return fold(parts, n, figure, most);
}

/* ---- the slow one ---- */

static bool are_alike(const struct hosts_part *parts, size_t n)
{
	const struct result *first = hosts_first_doc(parts, n);

	for (size_t i = 0; i < n; i++) {
		const struct result *doc = parts[i].doc;

		if (doc && doc->ntargets != first->ntargets)
			return false;
		for (size_t k = 0; doc && k < doc->ntargets; k++) {
			const char *a = target_text(&first->targets[k], "model"),
				   *b = target_text(&doc->targets[k], "model");

			if (strcmp(a ? a : "", b ? b : "") != 0)
				return false;
		}
	}
	return true;
}

static size_t paces_of(const struct hosts_part *parts, size_t n, const struct together_line *line,
                       const struct together_window *w, struct host_pace *ret)
{
	size_t out = 0;

	for (size_t i = 0; i < n; i++) {
		const struct table *t = timeline_of(&parts[i]);
		double began_s = hosts_began_s(parts, n, i), at_s = began_s;

		for (size_t k = 0; t && k < t->nrows; k++) {
			double end_s = began_s + table_number_of(t, k, "time_s");

			if (at_s >= w->from_s - 1e-9 && end_s <= w->to_s + 1e-9) {
				if (ret)
					ret[out] = (struct host_pace){ i, table_number_of(t, k, line->rate),
						                       table_number_of(t, k, line->latency) };
				out++;
			}
			at_s = end_s;
		}
	}
	return out;
}

static void name_stragglers(const struct hosts_part *parts, size_t n, const struct straggler *s, struct result *res)
{
	size_t slowest = n;
	uint64_t named = 0;

	for (size_t i = 0; i < n; i++) {
		if (!(s[i].p < STRAGGLER_P))
			continue;
		named++;
		slowest = slowest == n || s[i].ratio > s[slowest].ratio ? i : slowest;
		result_notice(
			res, "straggler",
			"Host %s (rank %u) is slow: a request takes it %.3g times as long as the others at the same rate (p = %.2g).",
			parts[i].name, parts[i].rank, s[i].ratio, s[i].p);
	}
	result_figure_u64(res, "stragglers", "slow hosts", UNIT_COUNT, named);
	if (slowest == n)
		return;
	result_figure_text(res, "straggler", "the slowest host", parts[slowest].name);
	result_figure_u64(res, "straggler_rank", "its rank", UNIT_NONE, parts[slowest].rank);
	result_figure(res, "straggler_slowness", "times as long as the others", UNIT_NONE, s[slowest].ratio, NULL, 0);
	result_figure(res, "straggler_chance", "so slow by chance", UNIT_NONE, s[slowest].p, NULL, 0);
}

static void find_stragglers(const struct hosts_part *parts, size_t n, const struct together_line *line,
                            const struct together_window *w, struct straggler *ret, struct result *res)
{
	size_t npaces = paces_of(parts, n, line, w, NULL);
	cleanup_free struct host_pace *paces = calloc(npaces + 1, sizeof(*paces));

	if (!are_alike(parts, n)) {
		result_notice(
			res, "hosts-differ",
			"The hosts have different disks, so none of them is called slow; compare hosts with disks of one model.");
		return;
	}
	if (!paces)
		return;
	(void)paces_of(parts, n, line, w, paces);
	if (straggler_find(paces, npaces, n, ret))
		name_stragglers(parts, n, ret, res);
}

struct straggler *together_look(const struct hosts_part *parts, size_t n, const struct together_line *line,
                                struct together_window *ret, struct result *res)
{
	struct straggler *slow = calloc(n + 1, sizeof(*slow));

	*ret = common_window(parts, n);
	for (size_t i = 0; slow && i < n; i++)
		slow[i] = (struct straggler){ (double)NAN, (double)NAN };
	if (slow && ret->is_known)
		find_stragglers(parts, n, line, ret, slow, res);
	result_figure(res, "window_s", "all were at work for", UNIT_S,
	              ret->is_known ? ret->to_s - ret->from_s : (double)NAN, NULL, 0);
	return slow;
}

/* ---- gaps ---- */

struct gap_row {
	const char *host, *kind;
	double start_s, length_s;
	uint64_t hosts;
	size_t of; /* index of the host */
};

const struct field together_gap_fields[] = {
	FIELD_STR(struct gap_row, host, "host"),
	FIELD_STR(struct gap_row, kind, "kind"),
	FIELD_F64(struct gap_row, start_s, UNIT_S, "at"),
	FIELD_F64(struct gap_row, length_s, UNIT_S, "for"),
	FIELD_U64(struct gap_row, hosts, UNIT_COUNT, "hosts at that time"),
	FIELD_END,
};

static const struct field span_fields[] = {
	FIELD_F64(struct gap_row, start_s, UNIT_S, NULL),
	FIELD_F64(struct gap_row, length_s, UNIT_S, NULL),
	FIELD_END,
};

static size_t gaps_of(const struct hosts_part *parts, size_t n, const char *const *tables, struct gap_row *ret)
{
	size_t out = 0;

	for (size_t i = 0; i < n; i++) {
		double began_s = hosts_began_s(parts, n, i);

		for (size_t k = 0; parts[i].has_start && tables[k]; k++) {
			const struct table *t = result_find_table(parts[i].doc, tables[k]);

			for (size_t row = 0; t && row < t->nrows; row++, out++) {
				struct gap_row gap = { .host = parts[i].name, .kind = t->name, .hosts = 1, .of = i };

				if (!ret)
					continue;
				table_row(t, row, span_fields, &gap);
				gap.start_s += began_s;
				ret[out] = gap;
			}
		}
	}
	return out;
}

static int by_start(const void *a, const void *b)
{
	const struct gap_row *x = a, *y = b;

	return (x->start_s > y->start_s) - (x->start_s < y->start_s);
}

/* How many other hosts have a gap that touches it; gaps in the order of their starts, none longer than longest_s. */
static uint64_t others_at(const struct gap_row *gaps, size_t n, size_t at, double longest_s, bool *seen, size_t nhosts)
{
	const struct gap_row *g = &gaps[at];
	size_t first = at;
	uint64_t others = 0;

	memset(seen, 0, nhosts);
	seen[g->of] = true;
	while (first > 0 && gaps[first - 1].start_s + longest_s >= g->start_s)
		first--;
	for (size_t i = first; i < n && gaps[i].start_s <= g->start_s + g->length_s; i++) {
		if (seen[gaps[i].of] || gaps[i].start_s + gaps[i].length_s < g->start_s)
			continue;
		seen[gaps[i].of] = true;
		others++;
	}
	return others;
}

/* How many would touch one of another host if all came at random: Poisson, of the other hosts' numbers and lengths. */
static double by_chance(const struct gap_row *gaps, size_t n, double window_s)
{
	double sum = 0;

	for (size_t i = 0; i < n && n <= 4000; i++) {
		double expected = 0;

		for (size_t k = 0; k < n; k++)
			if (gaps[k].of != gaps[i].of)
				expected += (gaps[k].length_s + gaps[i].length_s) / window_s;
		sum -= expm1(-expected);
	}
	return n <= 4000 ? sum : (double)NAN;
}

void together_gaps(const struct hosts_part *parts, size_t n, const char *const *tables, double window_s,
                   struct result *res)
{
	size_t ngaps = gaps_of(parts, n, tables, NULL);
	cleanup_free struct gap_row *gaps = calloc(ngaps + 1, sizeof(*gaps));
	cleanup_free bool *seen = calloc(n + 1, sizeof(*seen));
	struct table *t = result_table(res, "gaps", "Gaps", together_gap_fields);
	double longest_s = 0, chance;
	uint64_t shared = 0;

	if (!gaps || !seen)
		return;
	(void)gaps_of(parts, n, tables, gaps);
	qsort(gaps, ngaps, sizeof(*gaps), by_start);
	for (size_t i = 0; i < ngaps; i++)
		longest_s = fmax(longest_s, gaps[i].length_s);
	for (size_t i = 0; i < ngaps; i++) {
		gaps[i].hosts += others_at(gaps, ngaps, i, longest_s, seen, n);
		shared += gaps[i].hosts > 1;
		result_row(t, &gaps[i]);
	}
	chance = by_chance(gaps, ngaps, window_s);
	result_figure_u64(res, "gaps_shared", "gaps of several hosts at a time", UNIT_COUNT, shared);
	result_figure_u64(res, "gaps_own", "gaps of one host alone", UNIT_COUNT, ngaps - shared);
	result_figure(res, "gaps_shared_by_chance", "as many at a time by chance", UNIT_COUNT, chance, NULL, 0);
	if (shared > 1 && (double)shared > 2 * chance)
		result_notice(
			res, "common-cause",
			"%llu of %zu gaps came on several hosts at a time, where chance would make %.2g so: look for what they share, a switch, a power supply, a schedule.",
			(unsigned long long)shared, ngaps, chance);
}

void together_plot_rate(struct result *res, const char *title, const char *y, const char *marks)
{
	result_plot(
		res,
		&(struct plot_decl){
			.name = "rate",
			.see = "A line for each host, on one time axis: one below the others is slow, dips of all at a time have one cause.",
			.kind = "line",
			.title = title,
			.table = "timeline",
			.x = "time_s",
			.y = y,
			.series = "host",
			.marks = marks });
}
