/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --requests: every single request as a CSV row while the run goes on (rowlog.c), as memory must not grow with the
 * length of the run. Times are nanoseconds since the start of the run.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "cli/cli.h"

struct requests {
	struct rowlog *log;
	struct outfile *file;
	uint64_t n;
	int error; /* the file could not be opened, or its thread not be made */
	/* Names outlive their targets: a measurement may close them before the last row is written. */
	char **names;
	size_t nnames, last;
};

struct row {
	const char *target;
	uint64_t offset_bytes, due_ns, submit_ns, done_ns; /* due_ns UINT64_MAX: at once */
	uint32_t len_bytes;
	int32_t res;
	enum io_op op;
};

struct requests *requests_new(struct outfile *file)
{
	struct requests *r = file ? xcalloc(1, sizeof(*r)) : NULL;

	if (r)
		r->file = file;
	return r;
}

static void put_row(FILE *out, const void *row)
{
	const struct row *r = row;

	if (strpbrk(r->target, ",\"\r\n"))
		report_csv_text(out, r->target);
	else
		(void)fputs_unlocked(r->target, out);
	(void)putc_unlocked(',', out);
	(void)fputs_unlocked(io_op_name(r->op), out);
	(void)putc_unlocked(',', out);
	rowlog_u64(out, r->offset_bytes, 1, ',');
	rowlog_u64(out, r->len_bytes, 1, ',');
	if (r->res >= 0) {
		rowlog_u64(out, (uint64_t)r->res, 1, ',');
	} else {
		(void)putc_unlocked(',', out);
		(void)fputs_unlocked(err_name(r->res), out);
	}
	(void)putc_unlocked(',', out);
	if (r->due_ns == UINT64_MAX)
		(void)putc_unlocked(',', out);
	else
		rowlog_u64(out, r->due_ns, 1, ',');
	rowlog_u64(out, r->submit_ns, 1, ',');
	rowlog_u64(out, r->done_ns, 1, '\r');
	(void)putc_unlocked('\n', out);
}

/* Only when there is something to write: a run that is refused leaves an older file alone. */
static int open_file(struct requests *r)
{
	static const struct rowlog_form form = {
		.head = "target,op,offset_bytes,length_bytes,result_bytes,errno,due_ns,submit_ns,done_ns\r\n",
		.row_bytes = sizeof(struct row),
		.put = put_row,
	};
	int fd = outfile_grow(r->file, NULL);

	if (fd < 0)
		return fd;
	return rowlog_open(&r->log, fd, &form);
}

/* The name, kept. Nearly always that of the request before. */
static const char *name_of(struct requests *r, const char *text)
{
	if (r->last < r->nnames && strcmp(r->names[r->last], text) == 0)
		return r->names[r->last];
	for (r->last = 0; r->last < r->nnames && strcmp(r->names[r->last], text) != 0;)
		r->last++;
	if (r->last == r->nnames)
		xappend(r->names, r->nnames, xmust(strdup(text)));
	return r->names[r->last];
}

void requests_take(struct requests *r, const char *target, const struct io_req *req, uint64_t start_ns)
{
	if (r && !r->log && !r->error)
		r->error = open_file(r);
	if (!r || r->error)
		return;
	rowlog_add(r->log, &(struct row){ .target = name_of(r, target),
	                                  .offset_bytes = req->offset_bytes,
	                                  .due_ns = req->due_ns ? req->due_ns - start_ns : UINT64_MAX,
	                                  .submit_ns = req->submit_ns - start_ns,
	                                  .done_ns = req->done_ns - start_ns,
	                                  .len_bytes = req->len_bytes,
	                                  .res = req->res,
	                                  .op = req->op });
	r->n++;
}

uint64_t requests_count(const struct requests *r)
{
	return r ? r->n : 0;
}

int requests_close(struct requests *r, struct err *err)
{
	int error, written;

	if (!r)
		return 0;
	error = r->error;
	written = r->log ? rowlog_close(r->log, NULL) : 0;
	if (!error)
		error = written;
	if (error)
		(void)err_set(
			err, error,
			"--requests: writing %s failed (%s), so it holds the first requests only; make room or give another path.",
			r->file->path, err_name(error));
	for (size_t i = 0; i < r->nnames; i++)
		free(r->names[i]);
	free(r->names);
	free(r);
	return error;
}
