/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Results of `transactions`: tables and figures of a run, the kernel's counters beside it, and what the operational
 * laws (Denning and Buzen 1978) make of the same numbers.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/shared/distribution.h"
#include "measure/transactions/transactions.h"

/* Of a class, or of all; what it has of responses: of h. */
struct class_row {
	const char *class;
	uint64_t users, transactions;
	double transactions_per_s;
	uint64_t min_ns, mean_ns, p50_ns, p95_ns, p99_ns, max_ns;
	double cpu_each_s, think_each_s, ios_each;
	uint64_t faults;
};
static const struct field class_fields[] = {
	FIELD_STR(struct class_row, class, "class"),
	FIELD_U64(struct class_row, users, UNIT_COUNT, "users"),
	FIELD_U64(struct class_row, transactions, UNIT_COUNT, "transactions"),
	FIELD_F64(struct class_row, transactions_per_s, UNIT_PER_S, "rate"),
	FIELD_U64(struct class_row, min_ns, UNIT_NS, "response, least"),
	FIELD_U64(struct class_row, mean_ns, UNIT_NS, "mean"),
	FIELD_U64(struct class_row, p50_ns, UNIT_NS, "median", .detail = true),
	FIELD_U64(struct class_row, p95_ns, UNIT_NS, "95 %"),
	FIELD_U64(struct class_row, p99_ns, UNIT_NS, "99 %"),
	FIELD_U64(struct class_row, max_ns, UNIT_NS, "worst"),
	FIELD_F64(struct class_row, cpu_each_s, UNIT_S, "CPU each"),
	FIELD_F64(struct class_row, think_each_s, UNIT_S, "think", .detail = true),
	FIELD_F64(struct class_row, ios_each, UNIT_NONE, "requests each", .detail = true),
	FIELD_U64(struct class_row, faults, UNIT_COUNT, "with errors", .detail = true),
	FIELD_END,
};

struct try_row {
	uint64_t users;
	double transactions_per_s;
	uint64_t response_ns;
	const char *fits;
	double device_per_s, device_queue, device_busy_ratio;
	uint64_t device_service_ns;
};

static const struct field try_fields[] = {
	FIELD_U64(struct try_row, users, UNIT_COUNT, "users"),
	FIELD_F64(struct try_row, transactions_per_s, UNIT_PER_S, "rate"),
	FIELD_U64(struct try_row, response_ns, UNIT_NS, "response"),
	FIELD_STR(struct try_row, fits, "within the limit"),
	FIELD_F64(struct try_row, device_per_s, UNIT_PER_S, "device", .detail = true),
	FIELD_F64(struct try_row, device_queue, UNIT_NONE, "queue", .detail = true),
	FIELD_F64(struct try_row, device_busy_ratio, UNIT_RATIO, "device busy"),
	FIELD_U64(struct try_row, device_service_ns, UNIT_NS, "a transfer", .detail = true),
	FIELD_END,
};

const struct measure_table tx_tables[] = {
	{ "file", "Making the file", tx_file_fields },
	{ "classes", "Classes", class_fields },
	{ "requests", "Requests of each kind", tx_kind_fields },
	{ "tries", "Search for the number of users", try_fields },
	DISTRIBUTION_TABLE,
	{ NULL, NULL, NULL },
};

static void class_responses(struct class_row *row, const struct hist *h)
{
	row->min_ns = h->count ? h->min : UINT64_MAX;
	row->mean_ns = h->count ? (uint64_t)hist_mean(h) : UINT64_MAX;
	row->p50_ns = hist_known_quantile(h, 0.5);
	row->p95_ns = hist_known_quantile(h, 0.95);
	row->p99_ns = hist_known_quantile(h, 0.99);
	row->max_ns = h->count ? h->max : UINT64_MAX;
}

static void class_table(const struct tx_run *r)
{
	struct table *t = result_table_anew(r->ses->res, "classes", "Classes", class_fields);
	double steady_s = (double)(r->steady.to_ns - r->steady.from_ns) * 1e-9;

	for (size_t i = 0; i <= r->nclasses; i++) {
		bool is_all = i == r->nclasses;
		const struct tx_totals *of = is_all ? &r->all : &r->of[i];
		double n = (double)of->done;
		struct class_row row = {
			.class = is_all ? "all" : r->classes[i].name,
			.users = r->is_open                   ? UINT64_MAX
			         : is_all || r->p->find_users ? r->jobs.n
			                                      : r->classes[i].users,
			.transactions = of->done,
			/* of what ended in time; of each class nobody knows */
			.transactions_per_s = !r->steady.is_growing        ? (double)of->response->count / steady_s
			                      : is_all || r->nclasses == 1 ? r->steady.per_s.value
			                                                   : (double)NAN,
			.cpu_each_s = of->cpu_s / n,
			.think_each_s = of->think_s / n,
			.ios_each = (double)of->ios / n,
			.faults = of->faults,
		};

		class_responses(&row, of->response);
		if (!is_all || r->nclasses > 1)
			result_row(t, &row);
	}
}

static void distribution(const struct tx_run *r)
{
	distribution_clear(r->ses->res);
	for (size_t i = 0; i < r->nclasses; i++)
		distribution_add(r->ses->res, r->nclasses > 1 ? r->classes[i].name : NULL, r->of[i].response);
}

void tx_plots(struct session *ses)
{
	distribution_plots(ses->res, "transactions", "figures:response_p50_ns,figures:response_p99_ns");
}

/* ---- the kernel's counters ---- */

struct device_part { /* of a run */
	double transfers, per_s, queue, busy_ratio, service_s;
	bool is_known;
};

static struct device_part device_part(const struct tx_run *r)
{
	const struct device_io *a = &r->stand[0].io, *b = &r->stand[1].io;
	double s = fmax((double)(r->end_ns - r->start_ns) * 1e-9, 1e-9);
	double n = (double)(b->reads + b->writes - a->reads - a->writes);

	if (!r->stand[0].has_io || !r->stand[1].has_io)
		return (struct device_part){ NAN, NAN, NAN, NAN, NAN, false };
	return (struct device_part){ .transfers = n,
		                     .per_s = n / s,
		                     .queue = (double)(b->queue_ns - a->queue_ns) * 1e-9 / s,
		                     .busy_ratio = (double)(b->busy_ns - a->busy_ns) * 1e-9 / s,
		                     .service_s = (double)(b->busy_ns - a->busy_ns) * 1e-9 / n,
		                     .is_known = true };
}

static void hit_figure(const struct tx_run *r)
{
	double asked = (double)r->mix.asked_bytes, came;

	if (r->p->mode != TX_CACHED || r->p->write_ratio > 0.0 || asked == 0.0)
		return;
	if (r->stand[0].has_storage && r->stand[1].has_storage)
		came = (double)(r->stand[1].storage_read_bytes - r->stand[0].storage_read_bytes);
	else if (r->stand[0].has_io && r->stand[1].has_io)
		came = (double)(r->stand[1].io.read_bytes - r->stand[0].io.read_bytes);
	else
		return;
	result_figure(r->ses->res, "cache_hit_ratio", "read from the page cache", UNIT_RATIO,
	              fmax(1.0 - came / asked, 0.0), NULL, r->mix.service->count);
}

static void device_figures(const struct tx_run *r)
{
	struct result *res = r->ses->res;
	struct device_part d = device_part(r);
	struct table *t;

	if (r->mix.service->count)
		result_figure(res, "io_service_mean_ns", "a request, from issue to answer, mean", UNIT_NS,
		              hist_mean(r->mix.service), NULL, r->mix.service->count);
	if (r->mix.sizes.n > 1 || (r->mix.share > 0.0 && r->mix.share < 1.0)) {
		t = result_table_anew(res, "requests", "Requests of each kind", tx_kind_fields);
		tx_mix_report(&r->mix, t);
	}
	hit_figure(r);
	if (!d.is_known) {
		if (r->mix.service->count && !r->is_virtual)
			result_notice(
				res, "no-counters",
				"The kernel counts nothing for what lies below %s; the figures of the device are missing.",
				r->ses->devs[0].path);
		return;
	}
	result_figure(res, "device_per_s", "transfers of the device", UNIT_PER_S, d.per_s, NULL, (uint64_t)d.transfers);
	result_figure(res, "device_queue", "mean queue of the device", UNIT_NONE, d.queue, NULL, 0);
	result_figure(res, "device_service_ns", "busy time of the device per transfer", UNIT_NS, d.service_s * 1e9,
	              NULL, (uint64_t)d.transfers);
	result_figure(res, "device_busy_ratio", "device utilisation", UNIT_RATIO, d.busy_ratio, NULL, 0);
	/* U = X V S with what we asked for: foreign transfers, merged and split ones, and hits of a cache show as a
	 * difference. */
	if (r->p->mode != TX_CACHED && r->all.any.done)
		result_figure(res, "law_device_ratio", "device utilisation by U = X D", UNIT_RATIO,
		              (double)r->all.any.ios / tx_seconds(r) * d.service_s, NULL, 0);
}

static void host_figures(const struct tx_run *r)
{
	const struct host_usage *a = &r->stand[0].usage, *b = &r->stand[1].usage;
	double s = fmax((double)(r->end_ns - r->start_ns) * 1e-9, 1e-9);
	double cpu_s =
		r->is_virtual ? r->work.busy_s : (double)(b->user_ns + b->system_ns - a->user_ns - a->system_ns) * 1e-9;

	result_figure(r->ses->res, "cpu_percent", "processor time of this process", UNIT_PERCENT, 100.0 * cpu_s / s,
	              NULL, 0);
	if (!r->is_virtual)
		result_figure_u64(r->ses->res, "page_faults", "page faults", UNIT_COUNT,
		                  b->minor_faults + b->major_faults - a->minor_faults - a->major_faults);
}

/* ---- laws ---- */

/* Asymptotic bounds of a closed run, from the demands that were measured: a processor of several has its share of the
 * work. */
static void bound_figures(const struct tx_run *r)
{
	struct device_part dev = device_part(r);
	double n = (double)r->all.any.done, d_cpu = r->all.any.cpu_s / n;
	double d_disk = dev.is_known ? dev.busy_ratio * tx_seconds(r) / n : 0.0;
	double d_max = fmax(d_cpu / r->work.processors, d_disk);

	if (r->all.any.done == 0 || !(d_max > 0.0))
		return;
	result_figure(r->ses->res, "law_max_per_s", "throughput at most, by 1 / D_max", UNIT_PER_S, 1.0 / d_max, NULL,
	              0);
	result_figure(r->ses->res, "law_knee_users", "users where queues begin, by (D + Z) / D_max", UNIT_NONE,
	              law_knee_users(d_cpu + d_disk, d_max, r->all.any.think_s / n), NULL, 0);
}

static void law_figures(const struct tx_run *r)
{
	struct result *res = r->ses->res;
	double n = (double)r->all.any.done, x = n / tx_seconds(r), full_s, law;

	if (r->work.busy_s > 0.0) {
		result_figure_u64(res, "processors", "processors for the users", UNIT_COUNT, r->work.processors);
		result_figure(res, "cpu_ratio", "users' work: share of one processor", UNIT_RATIO,
		              r->work.busy_s / tx_seconds(r), NULL, 0);
		result_figure(res, "law_cpu_ratio", "share of one processor by U = X D", UNIT_RATIO,
		              x * r->all.any.cpu_s / n, NULL, 0);
	}
	if (r->is_open) {
		result_figure(res, "law_inside", "transactions under way, by N = X R", UNIT_NONE,
		              x * r->all.any.response_s / n, NULL, 0);
		return;
	}
	full_s = (double)(r->law.until_ns - r->law.from_ns) * 1e-9;
	n = (double)r->law.sums.done;
	law = law_interactive_n(n / full_s, r->law.sums.response_s / n, r->law.sums.think_s / n);
	result_figure_u64(res, "users", "users", UNIT_COUNT, r->jobs.n);
	result_figure(res, "law_users", "users by N = X (R + Z), while all are at work", UNIT_NONE, law, NULL,
	              r->law.sums.done);
	if (!r->p->find_users && r->all.any.done && !(fabs(law / (double)r->jobs.n - 1.0) <= 0.01))
		result_notice(
			res, "short-run",
			"Throughput and times account for %.3g of %zu users: the run was too short to settle; give more --time or "
			"--count.",
			law, r->jobs.n);
	bound_figures(r);
}

/* ---- all of it ---- */

static void quantile_figure(struct result *res, const char *name, const char *label, double q, const struct hist *h,
                            const struct stats_estimate *e)
{
	double seen = hist_can_quantile(h, q) ? (double)hist_quantile(h, q) : (double)NAN;

	result_figure(res, name, label, UNIT_NS, e ? e->value : seen, e ? &e->ci : NULL, h->count);
}

/* steady NULL: nothing is known of the long run. */
static void report_responses(struct result *res, const struct hist *h, const struct tx_steady *s)
{
	result_figure(res, "response_mean_ns", "response, mean", UNIT_NS, s ? s->mean.value : hist_mean(h),
	              s ? &s->mean.ci : NULL, h->count);
	quantile_figure(res, "response_p50_ns", "response, median", 0.5, h, s ? &s->p50 : NULL);
	quantile_figure(res, "response_p95_ns", "response, 95 %", 0.95, h, s ? &s->p95 : NULL);
	quantile_figure(res, "response_p99_ns", "response, 99 %", 0.99, h, s ? &s->p99 : NULL);
	result_figure(res, "response_max_ns", "response, worst", UNIT_NS, h->count ? (double)h->max : (double)NAN, NULL,
	              h->count);
}

/* How long a run would show what this one cannot; the tail of the 99 % response wants most. */
static void notice_few(const struct tx_run *r)
{
	const struct tx_steady *s = &r->steady;
	double tail = !isfinite(s->p95.ci.low) ? 0.05 : 0.01, seconds = (double)(s->to_ns - s->from_ns) * 1e-9;
	double n = isfinite(s->independent) ? s->independent : (double)r->all.response->count;
	double want_s = fmax(seconds * WAITS_BEYOND / tail / n, 1.5 * seconds),
	       digit = pow(10, floor(log10(want_s)) - 1);

	if (s->is_growing || r->p->find_users || !r->all.response->count || isfinite(s->p99.ci.low))
		return;
	result_notice(r->ses->res, "few-samples",
	              "%" PRIu64 " transactions count as %.3g independent ones, too few for the %g %% response "
	              "(%g are enough); run for about %g s.",
	              r->all.response->count, n, 100.0 - 100.0 * tail, WAITS_BEYOND / tail,
	              ceil(want_s / digit) * digit);
}

static void report_growing(struct result *res)
{
	res->verdict_is_no = true;
	result_notice(
		res, "no-steady-state",
		"Transactions arrive faster than they complete: the longer the run, the longer the response. So mean and "
		"percentiles are not reported; give fewer --arrivals.");
}

static uint64_t arrived(const struct tx_run *r)
{
	return r->open.n - (r->open.next_ns != CLOCK_NEVER);
}

/* What ended, and over how much of the run. */
static void steady_figures(const struct tx_run *r)
{
	struct result *res = r->ses->res;
	const struct tx_steady *s = &r->steady;
	double seconds = (double)(s->to_ns - s->from_ns) * 1e-9;

	result_figure_u64(res, "transactions", "transactions", UNIT_COUNT, r->all.done);
	if (r->all.faults)
		result_figure_u64(res, "transactions_failed", "transactions with errors, counted nowhere else",
		                  UNIT_COUNT, r->all.faults);
	result_figure(res, "transactions_per_s", "throughput", UNIT_PER_S, s->per_s.value, &s->per_s.ci,
	              r->all.response->count);
	report_responses(res, r->all.response, s);
	result_figure(res, "measured_s", "measured over", UNIT_S, seconds, NULL, 0);
	result_figure_u64(res, "measured", "transactions measured", UNIT_COUNT, r->all.response->count);
	result_figure(res, "warm_up_s", "warm-up, left out", UNIT_S, (double)s->from_ns * 1e-9, NULL, s->left_out);
	if (r->is_open) {
		result_figure(res, "arrivals_per_s", "arrivals asked for", UNIT_PER_S, r->p->arrivals_per_s, NULL, 0);
		result_figure(res, "arrived_per_s", "arrivals that came", UNIT_PER_S, (double)arrived(r) / seconds,
		              NULL, arrived(r));
		result_figure_u64(res, "unfinished", "transactions not finished", UNIT_COUNT, r->open.unfinished);
		result_figure(res, "queue_growth_per_s", "growth of the queue", UNIT_PER_S,
		              isfinite(s->growth_per_s.ci.low) ? s->growth_per_s.value : (double)NAN,
		              &s->growth_per_s.ci, r->open.n);
	}
}

/* Whether that is what it does for ever. */
static void judge(const struct tx_run *r)
{
	struct result *res = r->ses->res;
	const struct tx_steady *s = &r->steady;
	double seconds = (double)(s->to_ns - s->from_ns) * 1e-9;

	res->verdict_is_no = false;
	res->verdict_is_open = !s->is_growing && r->all.response->count == 0;
	if (s->is_growing)
		report_growing(res);
	else if (r->is_open && arrived(r) == 0)
		result_notice(res, "none-arrived", "No transaction arrived in %.3g s at %.3g/s; give a longer --time.",
		              seconds, r->p->arrivals_per_s);
	else if (r->all.response->count == 0)
		result_notice(res, "none-ended",
		              r->all.faults ? "No transaction ended without errors in %.3g s."
		                            : "No transaction ended in %.3g s; give a longer --time.",
		              seconds);
	notice_few(r);
}

static void figures(const struct tx_run *r)
{
	struct result *res = r->ses->res;

	steady_figures(r);
	judge(r);
	law_figures(r);
	result_figure(res, "late_p99_ns", "generator late, 99 %", UNIT_NS,
	              hist_can_quantile(r->pace.late, 0.99) ? (double)hist_quantile(r->pace.late, 0.99) : (double)NAN,
	              NULL, r->pace.late->count);
	result_figure(res, "late_max_ns", "generator late, worst", UNIT_NS,
	              r->pace.late->count ? (double)r->pace.late->max : (double)NAN, NULL, r->pace.late->count);
}

void tx_report(const struct tx_run *r)
{
	class_table(r);
	distribution(r);
	figures(r);
	device_figures(r);
	host_figures(r);
}

void tx_report_so_far(struct tx_run *r, uint64_t now_ns)
{
	tx_settle_so_far(r, now_ns);
	class_table(r);
	distribution(r);
	steady_figures(r);
	if (!r->is_open)
		result_figure_u64(r->ses->res, "users", "users", UNIT_COUNT, r->jobs.n);
}

void tx_report_try(const struct tx_run *r, uint64_t users, uint64_t response_ns, bool fits)
{
	struct device_part d = device_part(r);

	result_row(result_table(r->ses->res, "tries", "Search for the number of users", try_fields),
	           &(struct try_row){ .users = users,
	                              .transactions_per_s = (double)r->all.done / tx_seconds(r),
	                              .response_ns = response_ns,
	                              .fits = fits ? "yes" : "no",
	                              .device_per_s = d.per_s,
	                              .device_queue = d.queue,
	                              .device_busy_ratio = d.busy_ratio,
	                              .device_service_ns =
	                                      isfinite(d.service_s) ? (uint64_t)(d.service_s * 1e9) : UINT64_MAX });
}
