/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transactions of many users (Longbottom, diskrand 1997), closed with think times or open with Poisson arrivals:
 * response, throughput, and what the operational laws say beside it. plan.c says what will be done, file.c makes the
 * file, run.c holds the users, report.c the results; this file goes through them, once or until --find has found.
 */
#include "measure/transactions/transactions.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/units.h"

/* ---- how many users ---- */

#define CANNOT_TELL 2

/* One try. Returns whether the limit was kept, or CANNOT_TELL: the sample does not carry the quantile. */
static int try_users(struct tx_run *r, uint64_t users, const struct tx_limit *limit, struct err *err)
{
	int ret = tx_once(r, users, err);
	uint64_t response;
	bool fits, can_tell;

	if (ret < 0 || session_is_over(r->ses))
		return ret;
	can_tell =
		limit->quantile < 0.0 || limit->quantile >= 1.0 || hist_can_quantile(r->all.response, limit->quantile);
	/* When there are few, the worst of them says enough if it is within the limit. */
	response = !r->all.done            ? UINT64_MAX
	           : limit->quantile < 0.0 ? (uint64_t)r->steady.mean.value
	                                   : hist_quantile(r->all.response, can_tell ? limit->quantile : 1.0);
	fits = response < limit->limit_ns;
	if (!r->all.done || (!can_tell && !fits)) {
		result_notice(r->ses->res, "few-for-limit",
		              "--limit=%s needs more transactions than %" PRIu64 " with users: %" PRIu64
		              "; give a longer --time.",
		              r->p->limit, r->all.done, users);
		return CANNOT_TELL;
	}
	tx_report_try(r, users, response, fits);
	if (fits)
		tx_report(r); /* the last that fits is the most that fit: the figures are of it */
	session_checkpoint(r->ses);
	return fits;
}

/* Doubles until it does not fit, then halves the gap to 2 %. */
static int find_users(struct tx_run *r, struct err *err)
{
	uint64_t good = 0, bad = 0, users = r->p->users;
	struct tx_limit limit = { 0 };
	int ret = tx_parse_limit(r->p->limit, &limit, err);

	while (ret == 0 && !session_is_over(r->ses)) {
		int fits = try_users(r, users, &limit, err);

		if (fits < 0)
			return fits;
		if (fits == CANNOT_TELL || session_is_over(r->ses))
			break;
		*(fits ? &good : &bad) = users;
		if (bad && bad - good <= 1 + good / 50)
			break;
		if (!bad && users >= 100000)
			break;
		users = bad ? good + (bad - good) / 2 : users * 2 > 100000 ? 100000 : users * 2;
	}
	if (!good)
		tx_report(r);
	if (good || bad)
		result_figure_u64(r->ses->res, "max_users", "users that stay within the limit", UNIT_COUNT, good);
	if (bad)
		result_figure_u64(r->ses->res, "users_too_many", "fewest users found too many", UNIT_COUNT, bad);
	return ret;
}

/* ---- --each: a row for every transaction ---- */

/* Not by printf(): it would take the language's decimal point. */
static void put_fixed(FILE *out, uint64_t v, uint64_t unit, unsigned digits)
{
	rowlog_u64(out, v / unit, 1, '.');
	rowlog_u64(out, v % unit, digits, ',');
}

static void put_row(FILE *out, const void *of)
{
	const struct tx_row *row = of;

	rowlog_u64(out, row->user, 1, ',');
	(void)fputs_unlocked(row->class_name, out);
	(void)putc_unlocked(',', out);
	put_fixed(out, row->end_ns, NS_PER_S, 9);
	put_fixed(out, row->think_ns, NS_PER_S, 9);
	put_fixed(out, row->response_ns, NS_PER_S, 9);
	put_fixed(out, (uint64_t)(row->load * 1e6 + 0.5), 1000000, 6);
	rowlog_u64(out, row->requests, 1, ',');
	rowlog_u64(out, row->has_fault, 1, '\n');
}

int tx_each_open(struct rowlog **ret, int fd, struct err *err)
{
	static const struct rowlog_form form = {
		.head = "user,class,end_s,think_s,response_s,load,requests,has_fault\n",
		.row_bytes = sizeof(struct tx_row),
		.put = put_row,
	};
	int r = rowlog_open(ret, fd, &form);

	return r < 0 ? err_set(err, r, "No thread could be started for --each; see ulimit -u.") : 0;
}

static void each_close(struct tx_run *r)
{
	uint64_t waits;

	if (!r->each)
		return;
	if (rowlog_close(r->each, &waits) < 0)
		result_notice(r->ses->res, "each-incomplete", "%s could not be written in full; is there room?",
		              r->p->each);
	if (waits)
		result_notice(r->ses->res, "each-waits",
		              "Writing %s delayed transactions, so responses are too long; times: %" PRIu64 ".",
		              r->p->each, waits);
}

/* ---- run ---- */

/* Read and Yread of 1997 draw the same in each run; --seed says what. */
static void choose_seed(struct session *ses, const struct tx_params *p)
{
	if (p->randomise & TX_RANDOMISE_SEED || ses->common->seed)
		return;
	ses->seed = ses->res->head.seed = 1;
}

static void choose_place(struct tx_run *r)
{
	const struct device *d = &r->ses->devs[0];
	uint64_t size = r->place.file ? r->ses->targets[0].size_bytes : d->size_bytes;
	uint64_t data = r->place.file ? DATAFILE_DATA_OFFSET : datafile_first_byte(d), first = 0, end = 0;

	(void)units_parse_range(r->p->range, size > data ? size - data : 0, &first, &end, NULL); /* as planned */
	r->place = (struct tx_place){ r->place.file, data + first, end - first, r->ses->seed };
}

static int prepare(struct tx_run *r, struct err *err)
{
	struct session *ses = r->ses;
	struct engine_config cfg = { .depth = (uint32_t)r->p->depth, .buf_bytes = tx_record_bytes(r->p) };
	int ret = tx_parse_classes(r->p, r->classes, &r->nclasses, err), fd;

	if (ret == 0)
		ret = tx_parse_sizes(r->p->block, &r->mix.sizes, err);
	if (ret == 0)
		ret = session_engine(r->ses, &cfg, &r->eng, err);
	if (ret < 0)
		return ret;
	choose_place(r);
	if (r->place.bytes < cfg.buf_bytes)
		return err_set(err, -EINVAL, "%s holds no record of %" PRIu32 " bytes; give a smaller --block.",
		               ses->devs[0].path, cfg.buf_bytes);
	r->is_open = r->p->arrivals_per_s > 0.0;
	r->work.processors = r->p->processors ? (unsigned)r->p->processors : r->is_virtual ? 1 : tx_cpu_count();
	if (r->p->write_ratio > 0.0)
		for (uint32_t i = 0; i < r->eng->cfg.depth; i++)
			payload_fill(engine_buf(r->eng, i), &(struct payload_id){ ses->seed, i, 0, 0, cfg.buf_bytes });
	if (!r->p->each)
		return 0;
	fd = session_grow(ses, r->p->each, OUTFILE_EACH, err);
	return fd < 0 ? fd : tx_each_open(&r->each, fd, err);
}

static int run_users(struct tx_run *r, struct err *err)
{
	int ret = prepare(r, err);

	if (ret == 0) {
		host_timer_slack();
		r->report_so_far = r->p->find_users ? NULL : tx_report_so_far; /* its tries are saved one by one */
		ret = r->p->find_users ? find_users(r, err) : tx_once(r, 0, err);
	}
	if (ret == 0 && !r->p->find_users)
		tx_report(r);
	tx_plots(r->ses);
	each_close(r);
	return ret;
}

static int tx_run(struct session *ses, const void *params, struct err *err)
{
	struct tx_run r = { .ses = ses, .p = params, .is_virtual = clock_is_virtual(ses->env->clk) };
	int ret = 0;

	choose_seed(ses, params);
	if (tx_file_is_wanted(ses, params))
		ret = tx_file_open(&r.place.file, ses, params, err);
	if (ret == 0 && !tx_file_is_all(ses, params) && !session_is_over(ses))
		ret = run_users(&r, err);
	tx_run_done(&r);
	tx_file_close(r.place.file, ses);
	return ret;
}

static const struct screen_decl transactions_screen = {
	.shows =
		"transactions_per_s,queue_growth_per_s,response_mean_ns,response_p50_ns,response_p95_ns,response_p99_ns,response_max_ns,measured,measured_s,warm_up_s,users,max_users,users_too_many,device_busy_ratio,cpu_percent,#tries,#classes,#requests",
	.says =
		(const struct clause[]){
			{ "{max_users:user} stay within the limit, {users_too_many} do not" },
			{ "{max_users:user} stay within the limit", .instead_of = 1 },
			{ "cannot tell whether more users stay within the limit; give a longer --time",
	                  .because = "few-for-limit", .is_open = true },
			{ "no transaction arrived in {measured_s} at {arrivals_per_s}; give a longer --time",
	                  .because = "none-arrived", .is_open = true },
			{ "no transaction ended without errors in {measured_s}, {transactions_failed} failed",
	                  .if_any = "transactions_failed", .because = "none-ended", .is_open = true },
			{ "no transaction ended in {measured_s}; give a longer --time", .because = "none-ended",
	                  .is_open = true, .instead_of = 1 },
			{ "no steady state in {measured_s}: {arrived_per_s} arrived, {transactions_per_s} ended, the queue grew by {queue_growth_per_s}",
	                  .because = "no-steady-state" },
			{ "throughput {transactions_per_s~} with {users:user} over {measured_s}", .instead_of = 4 },
			{ "throughput {transactions_per_s~} over {measured_s}", .instead_of = 5 },
			{ "{measured:transaction} ended in {measured_s}", .instead_of = 6 },
			{ "a response takes {response_mean_ns~} on average, at most {response_p95_ns} for 95 of 100, {response_max_ns} at worst of {measured:transaction}" },
			{ "{measured:response} took {response_mean_ns} on average, {response_max_ns} at worst",
	                  .instead_of = 1 },
			{ "{transactions_failed:transaction} failed", .if_any = "transactions_failed",
	                  .unless = "none-ended" },
			{ "the file was written at {write_synced_bytes_per_s}; a random read took {read_service_ns} on average over {file_reads:read}",
	                  .instead_of = 2 },
			{ NULL },
		},
};

const struct measure measure_transactions = {
	.name = "transactions",
	.help = "users, think time and requests: response and throughput",
	.group = GROUP_PROGRAM,
	.targets = "DEVICE|FILE",
	.takes = TAKES_DISKS | TAKES_FILES | TAKES_FOLDERS,
	.may_create = true,
	.opts = tx_opts,
	.params_size = sizeof(struct tx_params),
	.plan = tx_plan,
	.run = tx_run,
	.screen = &transactions_screen,
	.tables = tx_tables,
};
