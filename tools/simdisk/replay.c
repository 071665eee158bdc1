/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "replay.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "stats/stats.h"

#define SECTOR_BYTES 512u

/* ---- the trace ---- */

static bool parse_number(const char **at, double max, double *ret)
{
	char *end;

	while (isblank((unsigned char)**at))
		(*at)++;
	if (!isdigit((unsigned char)**at))
		return false;
	*ret = strtod(*at, &end);
	if (*end && !isspace((unsigned char)*end))
		return false;
	*at = end;
	return *ret <= max;
}

/* 1: a request; 0: an empty line; -1: neither. */
static int parse_request(const char *line, struct replay_request *ret)
{
	double lba, sectors;

	line += strspn(line, " \t\r\n");
	if (!*line || *line == '#')
		return 0;
	*ret = (struct replay_request){ .op = *line == 'R' ? DISK_READ : DISK_WRITE };
	if ((*line != 'R' && *line != 'W') || !isblank((unsigned char)line[1]))
		return -1;
	line += 1 + strspn(line + 1, " \t");
	line += strcspn(line, " \t\r\n"); /* a word for people: hit, miss */
	if (!parse_number(&line, 9e15, &lba) || !parse_number(&line, INT32_MAX / SECTOR_BYTES, &sectors) ||
	    !parse_number(&line, 1e12, &ret->response_us) || !parse_number(&line, 1e12, &ret->think_us))
		return -1;
	if (lba != floor(lba) || sectors != floor(sectors) || sectors < 1 || line[strspn(line, " \t\r\n")])
		return -1;
	ret->lba = (uint64_t)lba;
	ret->sectors = (uint32_t)sectors;
	return 1;
}

static int add_request(struct replay_trace *t, size_t *room, const struct replay_request *q)
{
	if (t->n == *room) {
		size_t more = *room ? *room * 2 : 4096;
		struct replay_request *bigger = realloc(t->requests, more * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		t->requests = bigger;
		*room = more;
	}
	t->requests[t->n++] = *q;
	return 0;
}

int replay_parse(struct replay_trace *ret, const char *name, FILE *in, struct err *err)
{
	struct replay_trace t = { 0 };
	cleanup_free char *line = NULL;
	size_t len = 0, room = 0, number = 0;
	int r = 0;

	while (r == 0 && getline(&line, &len, in) >= 0) {
		struct replay_request q;
		int kind = parse_request(line, &q);

		number++;
		if (kind < 0)
			r = err_set(err, -EINVAL,
			            "%s:%zu: not a request: R or W, a word, LBN, blocks, response and think time in us",
			            name, number);
		else if (kind > 0 && t.n == REPLAY_REQUESTS_MAX)
			r = err_set(err, -E2BIG, "%s has more than %d requests", name, REPLAY_REQUESTS_MAX);
		else if (kind > 0 && add_request(&t, &room, &q) < 0)
			r = err_set(err, -ENOMEM, "%s: out of memory", name);
	}
	if (r == 0 && ferror(in))
		r = err_set(err, -EIO, "Cannot read %s.", name);
	if (r == 0 && t.n == 0)
		r = err_set(err, -EINVAL, "There is no request in %s.", name);
	if (r < 0)
		replay_trace_done(&t);
	else
		*ret = t;
	return r;
}

void replay_trace_done(struct replay_trace *t)
{
	free(t->requests);
	*t = (struct replay_trace){ 0 };
}

/* ---- through the model ---- */

/* One request, alone on the disk; returns when it is done. */
static int serve(struct disk *d, uint64_t now_ns, struct replay_request *q, uint64_t *ret_done_ns, struct err *err)
{
	const struct disk_req req = { .op = q->op,
		                      .offset_bytes = q->lba * SECTOR_BYTES,
		                      .len_bytes = q->sectors * SECTOR_BYTES };
	struct disk_done done;

	if (disk_submit(d, now_ns, &req) < 0)
		return err_set(err, -ENOMEM, "Out of memory.");
	while (!disk_pop_done(d, UINT64_MAX, &done)) {
		uint64_t next = disk_next_event_ns(d);

		if (next == DISK_NEVER)
			return err_set(err, -EIO, "The model never answers the request for LBN %" PRIu64 ".", q->lba);
		disk_advance(d, next);
	}
	if (done.res < 0 || (uint32_t)done.res != req.len_bytes)
		return err_set(err, -EINVAL,
		               "The disk cannot serve the trace: %s at LBN %" PRIu64 ", %" PRIu32 " blocks.",
		               done.res < 0 ? strerror(-done.res) : "the end of the disk", q->lba, q->sectors);
	q->model_us = (double)(done.done_ns - now_ns) / 1e3;
	q->how = done.how;
	*ret_done_ns = done.done_ns;
	return 0;
}

int replay_run(struct replay_trace *t, const struct profile *p, enum replay_think think, struct err *err)
{
	struct disk *d = disk_new(p, 0);
	uint64_t now_ns = 0;
	int r = d ? 0 : err_set(err, -ENOMEM, "Out of memory.");

	for (size_t i = 0; r == 0 && i < t->n; i++) {
		struct replay_request *q = &t->requests[i];
		const double pause_us = think == THINK_BEFORE ? q->think_us : i > 0 ? t->requests[i - 1].think_us : 0;

		r = serve(d, now_ns + (uint64_t)llround(pause_us * 1e3), q, &now_ns, err);
	}
	disk_free(d);
	return r;
}

/* ---- the comparison ---- */

static double mean(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return sum / (double)n;
}

/*
 * Both distributions have as many steps of the same height, so that the horizontal distance at each height is that of
 * the two values of the same rank.
 */
static double rms_of_ranks(const double *x, const double *y, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (x[i] - y[i]) * (x[i] - y[i]);
	return sqrt(sum / (double)n);
}

int replay_compare(const struct replay_trace *t, size_t first, size_t end, enum disk_op op, struct replay_figures *ret)
{
	size_t n = 0, room = end > first ? end - first : 0;
	cleanup_free double *drive = calloc(room + 1, sizeof(*drive)), *model = calloc(room + 1, sizeof(*model)),
			    *same = calloc(room + 1, sizeof(*same));

	*ret = (struct replay_figures){ 0 };
	if (!drive || !model || !same)
		return -ENOMEM;
	for (size_t i = first; i < end && i < t->n; i++) {
		const struct replay_request *q = &t->requests[i];

		if (op != DISK_ANY && q->op != op)
			continue;
		drive[n] = q->response_us;
		model[n] = q->model_us;
		same[n++] = fabs(q->model_us - q->response_us);
	}
	ret->n = n;
	if (n == 0)
		return 0;
	ret->drive_mean_us = mean(drive, n);
	ret->model_mean_us = mean(model, n);
	stats_sort(drive, n);
	stats_sort(model, n);
	stats_sort(same, n);
	ret->same_median_us = stats_quantile_sorted(same, n, 0.5);
	ret->demerit_us = rms_of_ranks(drive, model, n);
	ret->demerit = ret->drive_mean_us > 0 ? ret->demerit_us / ret->drive_mean_us : 0;
	for (size_t i = 0; i < REPLAY_QUANTILES; i++) {
		ret->drive_us[i] = stats_quantile_sorted(drive, n, replay_quantiles[i]);
		ret->model_us[i] = stats_quantile_sorted(model, n, replay_quantiles[i]);
	}
	return 0;
}
