/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/replay.h"
#include "base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "base/whole.h"
#include "session/internal.h"

#define KEPT_MAX  2000000 /* rows: 100 bytes of a document each */
#define IN_FLIGHT 64
#define START_NS  NS_PER_S /* of the clock: 0 may mean "never" somewhere */

const struct field replay_fields[] = {
	FIELD_STR(struct kept_request, op, "operation"),
	FIELD_U64(struct kept_request, offset_bytes, UNIT_BYTES, "offset"),
	FIELD_U64(struct kept_request, len_bytes, UNIT_BYTES, "length"),
	FIELD_U64(struct kept_request, submit_ns, UNIT_NS, "submitted"),
	FIELD_U64(struct kept_request, done_ns, UNIT_NS, "completed"),
	FIELD_I64(struct kept_request, result, UNIT_NONE, "bytes moved, or an error's number below 0"),
	FIELD_END,
};

/* ---- kept ---- */

void session_keep_requests(struct session *ses)
{
	const struct measure_table table = REQUESTS_TABLE;

	ses->state->kept = result_table(ses->res, table.name, table.title, table.fields);
	ses->state->kept->rows_max = KEPT_MAX;
}

uint64_t session_requests_kept(const struct session *ses)
{
	return ses->state->kept ? ses->state->kept->nrows : 0;
}

void replay_keep(const struct session *ses, const struct io_req *req)
{
	const struct kept_request row = {
		io_op_name(req->op),          req->offset_bytes, req->len_bytes, req->submit_ns - ses->start_ns,
		req->done_ns - ses->start_ns, req->res
	};

	result_row(ses->state->kept, &row);
}

/* ---- asked again ---- */

struct replay {
	struct clock clk; /* first: an engine knows its clock */
	uint64_t now_ns;
	struct device dev;
	struct kept_request *kept;
	size_t n, next; /* all before next were asked */
	struct {
		struct io_req *req;
		size_t at; /* n: there is no answer */
	} flight[IN_FLIGHT];
	size_t nflight;
	bool was_cut;  /* the run ended before it had asked all */
	bool is_other; /* than what was asked then */
	atomic_int is_over;
};

static uint64_t now_ns(struct clock *clk)
{
	return ((struct replay *)clk)->now_ns;
}

static void sleep_until_ns(struct clock *clk, uint64_t until_ns)
{
	struct replay *p = (struct replay *)clk;

	if (until_ns != CLOCK_NEVER && until_ns > p->now_ns)
		p->now_ns = until_ns;
}

static int engine_start(struct engine *eng, struct err *err)
{
	(void)eng;
	(void)err;
	return 0;
}

/* Requests in flight together may have been answered in any order. */
static size_t find(const struct replay *p, const struct io_req *req)
{
	for (size_t i = p->next; i < p->n && i < p->next + IN_FLIGHT; i++) {
		const struct kept_request *k = &p->kept[i];

		if (k->op && k->offset_bytes == req->offset_bytes && k->len_bytes == req->len_bytes &&
		    strcmp(k->op, io_op_name(req->op)) == 0)
			return i;
	}
	return p->n;
}

static int submit(struct engine *eng, struct io_req *const *reqs, uint32_t n)
{
	struct replay *p = (struct replay *)eng->clk;
	uint32_t i;

	for (i = 0; i < n && p->nflight < IN_FLIGHT; i++) {
		size_t at = find(p, reqs[i]);

		reqs[i]->submit_ns = p->now_ns;
		if (at < p->n) {
			reqs[i]->submit_ns = START_NS + p->kept[at].submit_ns;
			p->kept[at].op = NULL;
			sleep_until_ns(eng->clk, reqs[i]->submit_ns);
		} else {
			p->is_other |= p->next < p->n || !p->was_cut;
			p->is_over = 1;
		}
		while (p->next < p->n && !p->kept[p->next].op)
			p->next++;
		p->flight[p->nflight].req = reqs[i];
		p->flight[p->nflight++].at = at;
	}
	return (int)i;
}

static int reap(struct engine *eng, struct io_req **done, uint32_t max, uint64_t until_ns)
{
	struct replay *p = (struct replay *)eng->clk;
	size_t first = 0, at;

	if (!p->nflight || !max) {
		sleep_until_ns(eng->clk, until_ns);
		return 0;
	}
	for (size_t i = 1; i < p->nflight; i++)
		if (p->flight[i].at < p->flight[first].at)
			first = i;
	at = p->flight[first].at;
	*done = p->flight[first].req;
	p->flight[first] = p->flight[--p->nflight];
	if (at < p->n)
		sleep_until_ns(eng->clk, START_NS + p->kept[at].done_ns);
	(*done)->done_ns = p->now_ns;
	(*done)->res = at < p->n ? (int32_t)p->kept[at].result : -ECANCELED;
	return 1;
}

static void engine_end(struct engine *eng)
{
	(void)eng;
}

static const struct engine_ops engine_replay = {
	.name = "replay",
	.help = "answers of a saved run",
	.max_depth = IN_FLIGHT,
	.has_commands = true,
	.open = engine_start,
	.submit = submit,
	.reap = reap,
	.close = engine_end,
};

static int probe(void *ctx, const char *path, struct device *ret_dev, struct err *err)
{
	(void)path;
	(void)err;
	*ret_dev = ((struct replay *)ctx)->dev;
	return 0;
}

static int open_nothing(void *ctx, const struct device *dev, const struct write_permit *permit, unsigned flags,
                        struct err *err)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)ctx;
	(void)dev;
	(void)permit;
	(void)flags;
	return fd < 0 ? err_set(err, -errno, "/dev/null: %s.", err_name(-errno)) : fd;
}

static void close_it(void *ctx, int fd)
{
	(void)ctx;
	(void)close(fd);
}

static const struct device_ops devices = { .probe = probe, .open = open_nothing, .close = close_it };

static void copy_text(char *to, size_t len, const char *text)
{
	(void)snprintf(to, len, "%s", text ? text : "");
}

static uint64_t number(const struct target_info *t, const char *key)
{
	return whole(target_number(t, key));
}

/* What measurements ask of a target that they only read. */
static void fill_device(struct device *dev, const struct target_info *t)
{
	const char *ranges = target_text(t, "access_ranges");

	*dev = (struct device){
		.kind = strcmp(target_text(t, "kind") ? target_text(t, "kind") : "", "partition") == 0
		                ? DEVICE_PARTITION
		                : DEVICE_DISK,
		.size_bytes = number(t, "size_bytes"),
		.logical_block_bytes = (uint32_t)number(t, "logical_block_bytes"),
		.physical_block_bytes = (uint32_t)number(t, "physical_block_bytes"),
		.queue.dio_offset_align_bytes = (uint32_t)number(t, "dio_offset_align_bytes"),
		.rotational = isfinite(target_number(t, "rotational")) ? target_number(t, "rotational") > 0.0 : -1,
	};
	copy_text(dev->path, sizeof(dev->path), target_text(t, "path"));
	copy_text(dev->name, sizeof(dev->name), target_text(t, "name"));
	while (ranges && *ranges && dev->nranges < DEVICE_RANGES_MAX) {
		char *end;
		struct device_range *r = &dev->ranges[dev->nranges];

		r->first_byte = strtoull(ranges, &end, 10);
		if (*end++ != '+')
			break;
		r->bytes = strtoull(end, &end, 10);
		dev->nranges++;
		ranges = *end == ' ' ? end + 1 : end;
	}
}

bool replay_flag(const struct result *saved, const char *name)
{
	return strcmp(result_option_text(saved, name) ?: "", "yes") == 0;
}

/* Of one target, read only: this is what session_keep_requests() keeps. */
static int fill(struct replay *p, const struct result *saved, struct err *err)
{
	const struct table *t = result_find_table(saved, "requests");

	if (!t || !t->nrows || saved->ntargets != 1)
		return err_set(err, -ENODATA, "The document has no requests.");
	p->kept = xcalloc(t->nrows, sizeof(*p->kept));
	p->n = t->nrows;
	for (size_t i = 0; i < t->nrows; i++) {
		table_row(t, i, replay_fields, &p->kept[i]);
		if (!p->kept[i].op)
			return err_set(err, -ENODATA, "The requests of this document are damaged.");
	}
	p->was_cut = saved->status != STATUS_COMPLETE && saved->status != STATUS_WITH_ERRORS;
	fill_device(&p->dev, saved->targets);
	return 0;
}

int session_replay(const struct measure *m, const struct result *saved, const void *params, struct result **ret,
                   struct err *err)
{
	static const struct engine_ops *const engines[] = { &engine_replay, NULL };
	struct replay p = { .clk = { "replay", now_ns, sleep_until_ns, 0 }, .now_ns = START_NS };
	const struct env env = {
		.engines = engines, .clk = &p.clk, .devices = &devices, .devices_ctx = &p, .sysroot = "/nowhere"
	};
	struct common_params common = { .seed = saved->head.seed, .max_errors = UINT64_MAX };
	const char *path = p.dev.path, *time = result_option_text(saved, "time") ?: "";
	const struct session_config cfg = {
		.env = &env,
		.measure = m,
		.common = &common,
		.params = params,
		.paths = &path,
		.npaths = 1,
		.cancel = &p.is_over,
	};
	bool is_refused;
	int r = fill(&p, saved, err);

	*ret = NULL;
	if (r == 0 && time[0])
		r = units_parse_time(time, &common.time_ns, err);
	if (r == 0)
		r = session_run(&cfg, ret, &is_refused, err);
	if (r == 0 && p.is_other)
		r = err_set(err, -ENODATA, "This version asks the disk other questions.");
	if (r < 0) {
		result_free(*ret);
		*ret = NULL;
	}
	free(p.kept);
	return r;
}
