/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `transactions` of many hosts: the rate while all were at work, responses from the histograms of all, the one that is
 * slow. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "measure/shared/distribution.h"
#include "measure/shared/together.h"
#include "measure/transactions/transactions.h"

static uint64_t or_none(uint64_t count)
{
	return count == UINT64_MAX ? 0 : count;
}

/* A row for each host that came to an end; returns the rate of all. */
static double tell_shares(const struct hosts_part *parts, size_t n, const struct together_window *w,
                          const struct straggler *slow, struct result *res)
{
	struct table *t = result_table(res, "shares", "Host by host", tx_share_fields);
	uint64_t requests = 0, done = 0, faults = 0;
	double all = 0;

	for (size_t i = 0; i < n; i++) {
		const struct result *doc = parts[i].doc;
		cleanup_free struct hist *h = doc ? together_hist(parts, n, i, NULL) : NULL;
		struct tx_share row = { .host = parts[i].name, .slowness = slow[i].ratio, .chance = slow[i].p };
		const struct figure *mean;

		if (!doc || !h)
			continue;
		row.users = together_count(doc, "users");
		row.transactions = or_none(together_count(doc, "transactions"));
		row.requests = or_none(together_count(doc, "requests"));
		row.faults = or_none(together_count(doc, "transactions_failed"));
		row.transactions_per_s = together_rate(parts, n, i, "transactions_per_s", w);
		mean = result_find_figure(doc, "response_mean_ns");
		row.response_mean_ns = figure_number(mean);
		row.response_mean_low_ns = mean ? mean->ci.low : (double)NAN;
		row.response_mean_high_ns = mean ? mean->ci.high : (double)NAN;
		row.response_p50_ns = together_quantile(h, 0.5);
		row.response_p99_ns = together_quantile(h, 0.99);
		row.response_max_ns = h->count ? h->max : UINT64_MAX;
		if (parts[i].has_start)
			all += row.transactions_per_s;
		done += row.transactions;
		requests += row.requests;
		faults += row.faults;
		result_row(t, &row);
	}
	tx_tell_counts(res, done, faults);
	result_figure_u64(res, "requests", "requests", UNIT_COUNT, requests);
	return all;
}

/* Rows of one class, or "all", of all hosts as one; false: no host has it. */
static bool add_class(const struct hosts_part *parts, size_t n, const char *class, struct tx_class_row *sum)
{
	bool has_users = true, is_there = false;

	for (size_t i = 0; i < n; i++) {
		const struct table *t = parts[i].doc ? result_find_table(parts[i].doc, "classes") : NULL;

		for (size_t k = 0; t && k < t->nrows; k++) {
			struct tx_class_row row;
			double done;

			table_row(t, k, tx_class_fields, &row);
			if (!row.class || strcmp(row.class, class) != 0)
				continue;
			done = (double)row.transactions;
			is_there = true;
			has_users = has_users && row.users != UINT64_MAX;
			sum->users += row.users;
			sum->transactions += row.transactions;
			sum->transactions_per_s += row.transactions_per_s;
			sum->faults += row.faults;
			sum->cpu_each_s += row.transactions ? row.cpu_each_s * done : 0;
			sum->think_each_s += row.transactions ? row.think_each_s * done : 0;
			sum->ios_each += row.transactions ? row.ios_each * done : 0;
		}
	}
	sum->users = has_users ? sum->users : UINT64_MAX;
	sum->cpu_each_s /= (double)sum->transactions;
	sum->think_each_s /= (double)sum->transactions;
	sum->ios_each /= (double)sum->transactions;
	return is_there;
}

static void tell_classes(const struct hosts_part *parts, size_t n, struct result *res)
{
	const struct table *first = result_find_table(hosts_first_doc(parts, n), "classes");
	struct table *t = result_table(res, "classes", "Classes", tx_class_fields);

	for (size_t k = 0; first && k < first->nrows; k++) {
		bool is_all = k && k + 1 == first->nrows;
		struct tx_class_row row = { .class = table_string(first, k, 0) };
		cleanup_free struct hist *h = together_hist(parts, n, n, is_all ? NULL : row.class);

		if (!h || !row.class || !add_class(parts, n, row.class, &row))
			continue;
		tx_class_responses(&row, h);
		result_row(t, &row);
	}
}

static void tell_laws(const struct hosts_part *parts, size_t n, struct result *res)
{
	static const struct {
		const char *name, *label;
		enum unit unit;
		double (*of)(const struct hosts_part *parts, size_t n, const char *figure);
	} figures[] = {
		{ "unfinished", "arrived, but not finished", UNIT_COUNT, together_sum },
		{ "arrivals_per_s", "arrivals asked", UNIT_PER_S, together_most },
		{ "queue_growth_per_s", "the queue grows by", UNIT_PER_S, together_sum },
		{ "users", "users", UNIT_COUNT, together_sum },
		{ "law_users", "by N = X (R + Z), while all are at work", UNIT_NONE, together_sum },
		{ "law_inside", "under way on average, by N = X R", UNIT_NONE, together_sum },
		{ "late_p99_ns", "generator late, 99 %, the worst of all hosts", UNIT_NS, together_most },
		{ "late_max_ns", "generator late, worst", UNIT_NS, together_most },
	};

	for (size_t i = 0; i < ARRAY_LEN(figures); i++)
		if (result_find_figure(hosts_first_doc(parts, n), figures[i].name))
			result_figure(res, figures[i].name, figures[i].label, figures[i].unit,
			              figures[i].of(parts, n, figures[i].name), NULL, 0);
}

/* One of them is enough: what waits there waits for ever. */
static bool is_growing(const struct hosts_part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (parts[i].doc && result_has_notice(parts[i].doc, "no-steady-state"))
			return true;
	return false;
}

void tx_together(const struct hosts_part *parts, size_t n, struct result *res)
{
	static const struct tx_steady unsteady = TX_UNSTEADY;
	static const struct together_line line = { "requests_per_s", "service_mean_ns" };
	const struct result *first = hosts_first_doc(parts, n);
	cleanup_free struct straggler *slow = NULL;
	cleanup_free struct hist *all = NULL;
	struct together_window w;
	double rate;

	if (!first || !result_find_table(first, "classes")) { /* --size alone: each made its file */
		hosts_apart(parts, n, res);
		return;
	}
	slow = together_look(parts, n, &line, &w, res);
	all = together_distribution(parts, n, res);
	if (!slow || !all)
		return;
	rate = tell_shares(parts, n, &w, slow, res);
	result_figure(res, "transactions_per_s", "throughput of all while all were at work", UNIT_PER_S,
	              w.is_known ? rate : (double)NAN, NULL, 0);
	result_figure(res, "measured_s", "measured over", UNIT_S, w.is_known ? w.to_s - w.from_s : (double)NAN, NULL,
	              0);
	result_figure_u64(res, "measured", "transactions measured", UNIT_COUNT, all->count);
	tx_tell_responses(res, all, is_growing(parts, n) ? &unsteady : NULL);
	if (is_growing(parts, n))
		tx_tell_growing(res);
	tell_laws(parts, n, res);
	tell_classes(parts, n, res);
	hosts_join(parts, n, res, "file", NULL);
	hosts_join(parts, n, res, "timeline", "time_s");
	together_plot_rate(res, "Requests over time", "requests_per_s", NULL);
	distribution_plots(res, "transactions", "figures:response_p50_ns,figures:response_p99_ns");
}
