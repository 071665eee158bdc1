/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A record each 10 s of how the run goes, at the end of the file of --jsonl: a day's recording can be watched, and its
 * course is there after a crash. The saver's thread writes it.
 */
#include <jansson.h>
#include <math.h>

#include "base/cleanup.h"
#include "cli/cli.h"

#define RECORD_NS (10 * NS_PER_S)

void series_count(struct series *s, const char *target, const struct io_req *req, bool is_fault)
{
	s->sum.faults += is_fault;
	if (req->res <= 0)
		return;
	*(io_writes(req->op) ? &s->sum.written_bytes : &s->sum.read_bytes) += (uint64_t)req->res;
	(void)snprintf(s->target, sizeof(s->target), "%s", target); /* cut is fine */
	s->offset_bytes = req->offset_bytes + (uint64_t)req->res;
}

void series_update(struct series *s, struct saver *saver, const struct session *ses, const char *phase, double done,
                   const char *figure)
{
	uint64_t now_ns = clock_now_ns(ses->env->clk);
	double since_s;
	cleanup_free char *phase_utf8 = NULL, *figure_utf8 = NULL;
	char *line;
	json_t *o;

	if (s->at_ns == 0)
		s->at_ns = ses->start_ns;
	if (now_ns < s->at_ns + RECORD_NS)
		return;
	since_s = (double)(now_ns - s->at_ns) * 1e-9;
	phase_utf8 = result_strdup(phase);
	figure_utf8 = result_strdup(figure);
	o = json_pack("{s:s, s:i, s:s, s:s?, s:f, s:s?, s:o, s:s?}", "schema", "platter-progress", "version", 1,
	              "measurement", ses->measure->name, "started", ses->res->head.started, "elapsed_s",
	              (double)(now_ns - ses->start_ns) * 1e-9, "phase", phase_utf8, "done",
	              done >= 0.0 ? json_real(fmin(done, 1.0)) : json_null(), "figure", figure_utf8);
	if (!o)
		return;
	(void)json_object_set_new(o, "read_bytes", json_integer((json_int_t)s->sum.read_bytes));
	(void)json_object_set_new(o, "written_bytes", json_integer((json_int_t)s->sum.written_bytes));
	(void)json_object_set_new(o, "read_bytes_per_s",
	                          json_real((double)(s->sum.read_bytes - s->last.read_bytes) / since_s));
	(void)json_object_set_new(o, "written_bytes_per_s",
	                          json_real((double)(s->sum.written_bytes - s->last.written_bytes) / since_s));
	(void)json_object_set_new(o, "faults", json_integer((json_int_t)s->sum.faults));
	(void)json_object_set_new(o, "target", *s->target ? json_string(s->target) : json_null());
	(void)json_object_set_new(o, "offset_bytes", json_integer((json_int_t)s->offset_bytes));
	line = json_dumps(o, JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
	json_decref(o);
	s->at_ns = now_ns;
	s->last = s->sum;
	saver_append(saver, line);
}
