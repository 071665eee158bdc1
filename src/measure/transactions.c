/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transactions of many users (Longbottom, diskrand 1997), closed with think times or open with Poisson arrivals: response, throughput, and what
 * the operational laws (Denning and Buzen 1978) say beside it. transactions_run.c holds the users; this file options, classes and results.
 */
#include "measure/transactions.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

static const char *const think_laws[] = { "exponential", "uniform", "fixed", NULL };
/* A new seed for each run is platter's rule already (--seed fixes it): Read and Xread of 1997 are "none", Yread and Zread are "work". */
static const char *const randomisations[] = { "none", "work", NULL };

static const struct opt tx_opts[] = {
	OPT_U64(struct tx_params, users, "users", 'u', "N", "1", "users at work at once", .min = 1, .max = 100000),
	OPT_U64(struct tx_params, count, "count", 'c', "N", NULL,
	        "transactions of each user, or arrivals in all; without it the run lasts --time (60s)", .max = 1e9),
	OPT_U64(struct tx_params, ios, "ios", 'i', "N", "20", "requests of a transaction", .max = 1000000),
	OPT_TIME(struct tx_params, think_ns, "think", 't', "TIME", "0", "mean think time", .max = 1e15),
	OPT_CHOICE(struct tx_params, think_law, "think-law", 0, think_laws, "exponential",
	           "how think times are distributed"),
	OPT_TIME(struct tx_params, cpu_ns, "cpu", 0, "TIME", "0", "processor time of a transaction", .max = 1e12),
	OPT_BYTES(struct tx_params, memory_bytes, "memory", 0, "SIZE", "0",
	          "memory that each user touches in its processor time", .max = 1e9),
	OPT_CHOICE(struct tx_params, randomise, "randomise", 0, randomisations, "none",
	           "draw requests and processor time of each transaction from a negative exponential"),
	OPT_STRS(struct tx_params, classes, "class", 0, "CLASS",
	         "a kind of users: name=x,users=2,ios=60,think=4s,cpu=1s"),
	OPT_F64(struct tx_params, arrivals_per_s, "arrivals", 0, "RATE", NULL,
	        "open: this many arrive each second, whatever the response", .max = 1e6),
	OPT_BYTES(struct tx_params, record_bytes, "record", 0, "SIZE", "4KiB", "bytes of a request", .min = 512,
	          .max = 67108864),
	OPT_BYTES(struct tx_params, span_bytes, "span", 0, "SIZE", NULL,
	          "use only this much from the beginning of the target", .min = 512, .max = 9e18),
	OPT_U64(struct tx_params, depth, "depth", 0, "N", "256", "requests given to the device at once, at most",
	        .min = 1, .max = 4096),
	OPT_FLAG(struct tx_params, write, "write", 'w', "write: destroys data (see --destroy-data)"),
	OPT_FLAG(struct tx_params, cached, "cached", 0, "through the page cache"),
	OPT_FLAG(struct tx_params, find_users, "find-users", 0, "find how many users stay within --limit"),
	OPT_STR(struct tx_params, limit, "limit", 0, "LIMIT", "p95<2s", "for --find-users: mean, p50, p95, p99 or max"),
	OPT_STR(struct tx_params, each, "each", 0, "FILE", NULL, "write every transaction to this new CSV file"),
	OPT_END,
};

struct class_row {
	const char *class;
	uint64_t users, transactions;
	double rate_per_s;
	uint64_t min_ns, mean_ns, p50_ns, p95_ns, p99_ns, max_ns;
	double cpu_each_s, think_each_s, ios_each;
	uint64_t faults;
};

static const struct field class_fields[] = {
	FIELD_STR(struct class_row, class, "class"),
	FIELD_U64(struct class_row, users, UNIT_COUNT, "users"),
	FIELD_U64(struct class_row, transactions, UNIT_COUNT, "transactions"),
	FIELD_F64(struct class_row, rate_per_s, UNIT_PER_S, "rate"),
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

struct quantile_row {
	double share_ratio;
	uint64_t response_ns;
};

static const struct field quantile_fields[] = {
	FIELD_F64(struct quantile_row, share_ratio, UNIT_RATIO, "share"),
	FIELD_U64(struct quantile_row, response_ns, UNIT_NS, "response at most"),
	FIELD_END,
};

struct try_row {
	uint64_t users;
	double rate_per_s;
	uint64_t response_ns;
	const char *fits;
};

static const struct field try_fields[] = {
	FIELD_U64(struct try_row, users, UNIT_COUNT, "users"),
	FIELD_F64(struct try_row, rate_per_s, UNIT_PER_S, "rate"),
	FIELD_U64(struct try_row, response_ns, UNIT_NS, "response"),
	FIELD_STR(struct try_row, fits, "within the limit"),
	FIELD_END,
};

static const struct measure_table tx_tables[] = {
	{ "classes", "Classes", class_fields },
	{ "responses", "Response times", quantile_fields },
	{ "tries", "Search for the number of users", try_fields },
	{ NULL, NULL, NULL },
};

/* ---- classes and limit ---- */

static int class_word(struct tx_class *c, const char *key, const char *value, struct err *err)
{
	static const struct {
		const char *key;
		size_t offset;
		int (*parse)(const char *text, uint64_t *ret, struct err *err);
	} words[] = {
		{ "users", offsetof(struct tx_class, users), units_parse_u64 },
		{ "count", offsetof(struct tx_class, count), units_parse_u64 },
		{ "ios", offsetof(struct tx_class, ios), units_parse_u64 },
		{ "think", offsetof(struct tx_class, think_ns), units_parse_time },
		{ "cpu", offsetof(struct tx_class, cpu_ns), units_parse_time },
		{ "memory", offsetof(struct tx_class, memory_bytes), units_parse_bytes },
	};

	if (strcmp(key, "name") == 0) {
		(void)snprintf(c->name, sizeof(c->name), "%s", value);
		return 0;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(key, words[i].key) == 0)
			return words[i].parse(value, (uint64_t *)((char *)c + words[i].offset), err);
	return err_set(err, -EINVAL,
	               "--class knows name, users, count, ios, think, cpu and memory, each with =VALUE; not \"%s\".",
	               key);
}

static int parse_class(struct tx_class *c, const char *text, struct err *err)
{
	char copy[256], *save = NULL;

	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
		return err_set(err, -EINVAL, "--class=%.40s... is too long.", text);
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		char *value = strchr(word, '=');
		int r;

		if (value)
			*value++ = '\0';
		r = class_word(c, word, value ? value : "", err);
		if (r < 0)
			return r;
	}
	if (c->users == 0 || c->users > 100000 || c->ios > 1000000 || c->memory_bytes > 1000000000)
		return err_set(err, -EINVAL,
		               "--class=%s: 1 to 100000 users, at most 1000000 requests and 1 GB of memory.", text);
	return 0;
}

/* Without --class one class from the plain options; else the classes alone, which take from the plain options what they do not say. */
static int parse_classes(const struct tx_params *p, struct tx_class *ret, size_t *ret_n, struct err *err)
{
	const struct tx_class plain = { "users", p->users, p->count, p->ios, p->think_ns, p->cpu_ns, p->memory_bytes };
	size_t n = p->classes.n ? p->classes.n : 1;

	if (n > TX_CLASSES_MAX)
		return err_set(err, -EINVAL, "At most %d times --class.", TX_CLASSES_MAX);
	for (size_t i = 0; i < n; i++) {
		int r;

		ret[i] = plain;
		if (!p->classes.n)
			break;
		(void)snprintf(ret[i].name, sizeof(ret[i].name), "class %zu", i + 1);
		r = parse_class(&ret[i], p->classes.v[i], err);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < n; i++)
		if (ret[i].ios == 0 && ret[i].cpu_ns == 0 && ret[i].think_ns == 0)
			return err_set(err, -EINVAL,
			               "Transactions without requests, processor time and think time do nothing.");
	*ret_n = n;
	return 0;
}

struct limit {
	double quantile; /* < 0: the mean */
	uint64_t limit_ns;
};

static int parse_limit(const char *text, struct limit *ret, struct err *err)
{
	static const struct {
		const char *word;
		double quantile;
	} words[] = { { "mean<", -1.0 }, { "p50<", 0.5 }, { "p95<", 0.95 }, { "p99<", 0.99 }, { "max<", 1.0 } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strncmp(text, words[i].word, strlen(words[i].word)) == 0) {
			ret->quantile = words[i].quantile;
			return units_parse_time(text + strlen(words[i].word), &ret->limit_ns, err);
		}
	return err_set(err, -EINVAL, "--limit=%s is none of mean<TIME, p50<TIME, p95<TIME, p99<TIME, max<TIME.", text);
}

static int tx_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err)
{
	const struct tx_params *p = params;
	const struct device *d = &ses->devs[0];
	uint64_t time_ns = tx_time_ns(ses, p), span = p->span_bytes ? p->span_bytes : d->size_bytes;
	struct tx_class classes[TX_CLASSES_MAX];
	struct limit limit;
	size_t n;
	int r = parse_classes(p, classes, &n, err);

	if (r == 0)
		r = parse_limit(p->limit, &limit, err);
	if (r < 0)
		return r;
	if (d->kind == DEVICE_DIRECTORY)
		return err_set(err, -EINVAL, "%s is a directory; give a file in it (platter passes --keep makes one).",
		               d->path);
	if (span > d->size_bytes || span < p->record_bytes)
		return err_set(err, -EINVAL, "%s has %" PRIu64 " bytes; that does not go with --span and --record.",
		               d->path, d->size_bytes);
	if (!p->cached && d->logical_block_bytes && p->record_bytes % d->logical_block_bytes)
		return err_set(err, -EINVAL,
		               "--record=%" PRIu64 " is no multiple of the %" PRIu32 "-byte blocks of %s.",
		               p->record_bytes, d->logical_block_bytes, d->path);
	if (p->write && d->kind == DEVICE_FILE)
		return err_set(err, -EINVAL,
		               "%s is an existing file, which is never written over; --write is for devices.", d->path);
	if (p->find_users && (p->arrivals_per_s > 0.0 || n > 1))
		return err_set(err, -EINVAL, "--find-users is for closed runs of one class.");
	plan->is_direct = !p->cached;
	plan->is_latency = true;
	plan->writes = p->write ? WRITE_DESTROY : WRITE_NONE;
	plan->touch_end = span;
	plan->read_bytes = p->write ? 0 : UINT64_MAX;
	plan->write_bytes = p->write ? UINT64_MAX : 0;
	plan_phase(plan, p->find_users ? "tries" : "transactions",
	           (p->find_users ? 12 : 1) * (time_ns ? time_ns : TX_TIME_DEFAULT_NS));
	return 0;
}

/* ---- results ---- */

static uint64_t quantile_or_null(const struct hist *h, double q)
{
	return hist_can_quantile(h, q) ? hist_quantile(h, q) : UINT64_MAX;
}

static double seconds_of(const struct tx_run *r)
{
	uint64_t end = r->is_open || r->end_ns < r->stop_ns ? r->end_ns : r->stop_ns;

	return fmax((double)(end - r->start_ns) * 1e-9, 1e-9);
}

static void class_table(const struct tx_run *r)
{
	struct table *t = result_table(r->ses->res, "classes", "Classes", class_fields);

	result_table_clear(t);
	for (size_t i = 0; i <= r->nclasses; i++) {
		bool is_all = i == r->nclasses;
		const struct tx_totals *of = is_all ? &r->all : &r->of[i];
		const struct hist *h = of->response;
		double n = (double)of->done;
		struct class_row row = {
			.class = is_all ? "all" : r->classes[i].name,
			.users = r->is_open || r->p->find_users ? UINT64_MAX
			         : is_all                       ? r->njobs
			                                        : r->classes[i].users,
			.transactions = of->done,
			.rate_per_s = n / seconds_of(r),
			.min_ns = of->done ? h->min : UINT64_MAX,
			.mean_ns = of->done ? (uint64_t)hist_mean(h) : UINT64_MAX,
			.p50_ns = quantile_or_null(h, 0.5),
			.p95_ns = quantile_or_null(h, 0.95),
			.p99_ns = quantile_or_null(h, 0.99),
			.max_ns = of->done ? h->max : UINT64_MAX,
			.cpu_each_s = of->cpu_s / n,
			.think_each_s = of->think_s / n,
			.ios_each = (double)of->ios / n,
			.faults = of->faults,
		};

		if (!is_all || r->nclasses > 1)
			result_row(t, &row);
	}
}

static void response_table(const struct tx_run *r)
{
	static const double shares[] = { 0.01, 0.02, 0.05, 0.1,  0.15, 0.2,   0.25,  0.3,   0.35,  0.4,
		                         0.45, 0.5,  0.55, 0.6,  0.65, 0.7,   0.75,  0.8,   0.85,  0.9,
		                         0.92, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999 };
	struct table *t = result_table(r->ses->res, "responses", "Response times", quantile_fields);

	result_table_clear(t);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		if (hist_can_quantile(r->all.response, shares[i]))
			result_row(t, &(struct quantile_row){ shares[i], hist_quantile(r->all.response, shares[i]) });
	result_plot(r->ses->res, &(struct plot_decl){ .kind = "line",
	                                              .title = "Share of transactions by response time",
	                                              .table = "responses",
	                                              .x = "response_ns",
	                                              .y = "share_ratio" });
}

static void law_figures(const struct tx_run *r)
{
	struct result *res = r->ses->res;
	double x = (double)r->all.done / seconds_of(r), n = (double)r->all.done, full_s;

	if (r->cpu_busy_s > 0.0) {
		result_figure(res, "cpu_ratio", "CPU work: share of one processor", UNIT_RATIO,
		              r->cpu_busy_s / seconds_of(r), NULL, 0);
		result_figure(res, "law_cpu_ratio", "by U = X D", UNIT_RATIO, law_utilisation(x, r->all.cpu_s / n),
		              NULL, 0);
	}
	if (r->is_open) {
		result_figure(res, "law_inside", "under way on average, by N = X R", UNIT_NONE,
		              law_little(x, hist_mean(r->all.response) * 1e-9), NULL, 0);
		return;
	}
	full_s = (double)(r->full_until_ns - r->start_ns) * 1e-9;
	n = (double)r->full_done;
	result_figure_u64(res, "users", "users", UNIT_COUNT, r->njobs);
	result_figure(res, "law_users", "by N = X (R + Z), while all are at work", UNIT_NONE,
	              law_interactive_n(n / full_s, r->full_response_s / n, r->full_think_s / n), NULL, r->full_done);
}

static void figures(const struct tx_run *r)
{
	struct result *res = r->ses->res;
	const struct hist *h = r->all.response;
	static const struct {
		double q;
		const char *name, *label;
	} qs[] = { { 0.5, "response_p50_ns", "response, median" },
		   { 0.95, "response_p95_ns", "response, 95 %" },
		   { 0.99, "response_p99_ns", "response, 99 %" } };

	result_figure_u64(res, "transactions", "transactions", UNIT_COUNT, r->all.done);
	result_figure(res, "rate_per_s", "throughput", UNIT_PER_S, (double)r->all.done / seconds_of(r), NULL,
	              r->all.done);
	result_figure(res, "response_mean_ns", "response, mean", UNIT_NS, hist_mean(h), NULL, h->count);
	for (size_t i = 0; i < sizeof(qs) / sizeof(qs[0]); i++) {
		struct interval ci = hist_quantile_ci(h, qs[i].q);
		bool is_told = hist_can_quantile(h, qs[i].q);

		result_figure(res, qs[i].name, qs[i].label, UNIT_NS,
		              is_told ? (double)hist_quantile(h, qs[i].q) : (double)NAN, is_told ? &ci : NULL,
		              h->count);
	}
	if (h->count && !hist_can_quantile(h, 0.99))
		result_notice(res, "few-samples",
		              "%" PRIu64 " transactions cannot tell the 99 %% response (1000 can); run longer for it.",
		              h->count);
	result_figure(res, "response_max_ns", "response, worst", UNIT_NS, h->count ? (double)h->max : (double)NAN, NULL,
	              h->count);
	if (r->is_open)
		result_figure_u64(res, "unfinished", "arrived, but not finished", UNIT_COUNT, r->unfinished);
	law_figures(r);
	result_figure(res, "late_p99_ns", "generator late, 99 %", UNIT_NS,
	              hist_can_quantile(r->late, 0.99) ? (double)hist_quantile(r->late, 0.99) : (double)NAN, NULL,
	              r->late->count);
	result_figure(res, "late_max_ns", "generator late, worst", UNIT_NS,
	              r->late->count ? (double)r->late->max : (double)NAN, NULL, r->late->count);
}

struct stand {
	struct device_io io;
	struct host_usage usage;
	bool has_io;
};

static void look(const struct session *ses, struct stand *s)
{
	const struct env *env = ses->env;

	s->has_io = env->devices->io(env->devices_ctx, &ses->devs[0], &s->io) == 0;
	host_usage(&s->usage);
}

static void device_figures(const struct tx_run *r, const struct stand *a, const struct stand *b)
{
	struct result *res = r->ses->res;
	double s = fmax((double)(r->end_ns - r->start_ns) * 1e-9, 1e-9);
	uint64_t asked = r->service->count * r->p->record_bytes, n;

	result_figure(res, "io_service_mean_ns", "a request, from issue to answer, mean", UNIT_NS,
	              hist_mean(r->service), NULL, r->service->count);
	if (a->has_io && b->has_io && r->service->count) {
		n = b->io.reads + b->io.writes - a->io.reads - a->io.writes;
		result_figure(res, "device_per_s", "transfers of the device", UNIT_PER_S, (double)n / s, NULL, n);
		result_figure(res, "device_queue", "its mean queue", UNIT_NONE,
		              (double)(b->io.queue_ns - a->io.queue_ns) * 1e-9 / s, NULL, 0);
		result_figure(res, "device_service_ns", "its busy time per transfer", UNIT_NS,
		              (double)(b->io.busy_ns - a->io.busy_ns) / (double)n, NULL, n);
		result_figure(res, "device_busy_ratio", "its utilisation", UNIT_RATIO,
		              (double)(b->io.busy_ns - a->io.busy_ns) * 1e-9 / s, NULL, 0);
		if (r->p->cached && !r->p->write)
			result_figure(res, "cache_hit_ratio", "read from the page cache", UNIT_RATIO,
			              fmax(1.0 - (double)(b->io.read_bytes - a->io.read_bytes) / (double)asked, 0.0),
			              NULL, 0);
	}
	if (r->is_virtual)
		return;
	result_figure(res, "process_cpu_ratio", "processor time of this process", UNIT_RATIO,
	              (double)(b->usage.user_ns + b->usage.system_ns - a->usage.user_ns - a->usage.system_ns) * 1e-9 /
	                      s,
	              NULL, 0);
	result_figure_u64(res, "page_faults", "page faults", UNIT_COUNT,
	                  b->usage.minor_faults + b->usage.major_faults - a->usage.minor_faults -
	                          a->usage.major_faults);
}

/* ---- how many users ---- */

/* One try. Returns whether the limit was kept; a quantile that the sample cannot carry is a refusal to say (-ENODATA). */
static int try_users(struct tx_run *r, uint64_t users, const struct limit *limit, struct err *err)
{
	int ret = tx_once(r, users, err);
	uint64_t response;
	bool fits;

	if (ret < 0 || session_is_over(r->ses))
		return ret;
	if (limit->quantile < 1.0 && limit->quantile > 0.0 && !hist_can_quantile(r->all.response, limit->quantile))
		return err_set(err, -ENODATA,
		               "%" PRIu64 " transactions of %" PRIu64
		               " users cannot tell whether the limit is kept; give a longer --time.",
		               r->all.done, users);
	if (!r->all.done)
		return err_set(err, -ENODATA, "No transaction ended; give a longer --time.");
	response = limit->quantile < 0.0 ? (uint64_t)hist_mean(r->all.response)
	                                 : hist_quantile(r->all.response, limit->quantile);
	fits = response < limit->limit_ns;
	result_row(result_table(r->ses->res, "tries", "Search for the number of users", try_fields),
	           &(struct try_row){ users, (double)r->all.done / seconds_of(r), response, fits ? "yes" : "no" });
	session_checkpoint(r->ses);
	return fits;
}

/* Doubles until it does not fit, then halves the gap to 2 %. */
static int find_users(struct tx_run *r, struct err *err)
{
	uint64_t good = 0, bad = 0, users = r->p->users;
	struct limit limit = { 0 };
	int ret = parse_limit(r->p->limit, &limit, err);

	while (ret == 0 && !session_is_over(r->ses)) {
		int fits = try_users(r, users, &limit, err);

		if (fits < 0)
			return fits;
		if (session_is_over(r->ses))
			break;
		*(fits ? &good : &bad) = users;
		if (bad && bad - good <= 1 + good / 50)
			break;
		if (!bad && users >= 100000)
			break;
		users = bad ? good + (bad - good) / 2 : users * 2 > 100000 ? 100000 : users * 2;
	}
	result_figure_u64(r->ses->res, "users_found", "users that stay within the limit", UNIT_COUNT, good);
	if (bad)
		result_figure_u64(r->ses->res, "users_too_many", "the least that were found too many", UNIT_COUNT, bad);
	return ret;
}

/* ---- run ---- */

static int each_open(struct tx_run *r, struct err *err)
{
	int fd = open(r->p->each, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

	if (fd < 0)
		return err_set(err, -errno, "%s cannot be made anew for --each (%s).", r->p->each, err_name(errno));
	r->each = fdopen(fd, "w");
	if (!r->each) {
		(void)close(fd); /* nothing was written */
		return err_set(err, -ENOMEM, "Out of memory.");
	}
	(void)setvbuf(r->each, NULL, _IOFBF, 1 << 20);
	(void)fprintf(r->each, "user,class,end_s,think_s,response_s,load,requests,has_fault\n");
	return 0;
}

static void each_close(struct tx_run *r)
{
	bool is_bad = r->each && ferror(r->each);

	if (!r->each)
		return;
	is_bad = fclose(r->each) != 0 || is_bad;
	if (is_bad)
		result_notice(r->ses->res, "each-incomplete", "%s could not be written in full; is there room?",
		              r->p->each);
	if (r->each_rows)
		result_figure(r->ses->res, "each_cost_ns", "cost of a row of --each", UNIT_NS,
		              (double)r->each_cost_ns / (double)r->each_rows, NULL, r->each_rows);
}

static int prepare(struct tx_run *r, struct err *err)
{
	const struct session *ses = r->ses;
	const struct device *d = &ses->devs[0];
	struct engine_config cfg = { .depth = (uint32_t)r->p->depth, .buf_bytes = (uint32_t)r->p->record_bytes };
	int ret = parse_classes(r->p, r->classes, &r->nclasses, err);

	if (ret == 0)
		ret = session_engine(r->ses, &cfg, &r->eng, err);
	if (ret < 0)
		return ret;
	r->depth = r->eng->cfg.depth;
	r->target = &ses->targets[0];
	r->records = (r->p->span_bytes ? r->p->span_bytes : d->size_bytes) / r->p->record_bytes;
	r->is_open = r->p->arrivals_per_s > 0.0;
	r->is_virtual = ses->env->clk->spin_ns == 0;
	r->randomise_work = r->p->randomise == 1;
	for (size_t i = 0; i < r->nclasses; i++) {
		uint64_t users =
			r->is_open || r->p->find_users || r->classes[i].users > 1024 ? 1024 : r->classes[i].users;

		if (!r->is_virtual && users * r->classes[i].memory_bytes > r->memory_bytes)
			r->memory_bytes = 1024 * r->classes[i].memory_bytes;
	}
	r->memory = r->memory_bytes ? calloc(1, r->memory_bytes) : NULL;
	if (r->memory_bytes && !r->memory)
		return err_set(err, -ENOMEM, "Out of memory for the users' %" PRIu64 " bytes.", r->memory_bytes);
	if (r->p->write)
		for (uint32_t i = 0; i < r->depth; i++)
			payload_fill(engine_buf(r->eng, i),
			             &(struct payload_id){ ses->seed, i, 0, 0, (uint32_t)r->p->record_bytes });
	return r->p->each ? each_open(r, err) : 0;
}

static int tx_run(struct session *ses, const void *params, struct err *err)
{
	struct tx_run r = { .ses = ses, .p = params };
	struct stand before, after;
	int ret = prepare(&r, err);

	if (ret == 0) {
		host_timer_slack();
		look(ses, &before);
		ret = r.p->find_users ? find_users(&r, err) : tx_once(&r, 0, err);
		look(ses, &after);
	}
	if (ret == 0) {
		class_table(&r);
		response_table(&r);
		figures(&r);
		if (!r.p->find_users)
			device_figures(&r, &before, &after);
	}
	each_close(&r);
	tx_run_done(&r);
	return ret;
}

const struct measure measure_transactions = {
	.name = "transactions",
	.help = "users, think time and requests: response and throughput",
	.group = GROUP_PROGRAM,
	.targets = "DEVICE|FILE",
	.min_targets = 1,
	.max_targets = 1,
	.opts = tx_opts,
	.params_size = sizeof(struct tx_params),
	.precision = 0.01,
	.plan = tx_plan,
	.run = tx_run,
	.tables = tx_tables,
};
