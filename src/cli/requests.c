/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --requests: every single request as a CSV row while the run goes on, as memory must not grow with the length of the run. Times are
 * nanoseconds since the start of the run.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"

#define BUFFER_BYTES (1 << 20)

struct requests {
	FILE *f;
	const char *path;
	uint64_t n;
	int error; /* of the first failed write; nothing is written after it */
};

struct requests *requests_new(const char *path)
{
	struct requests *r = calloc(1, sizeof(*r));

	if (r)
		r->path = path;
	return r;
}

/* Only when there is something to write: a run that is refused leaves an older file alone. */
static int open_file(struct requests *r)
{
	int fd = open(r->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0666);
	struct stat st;

	if (fd < 0)
		return errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) { /* it may have changed since output_check() */
		(void)close(fd);                          /* nothing was written */
		return EPERM;
	}
	if (st.st_nlink == 1) /* else it is somebody's under another name as well */
		result_give_to_caller(fd);
	if (ftruncate(fd, 0) == 0)
		r->f = fdopen(fd, "w");
	if (!r->f) {
		int error = errno;

		(void)close(fd); /* nothing was written */
		return error;
	}
	(void)setvbuf(r->f, NULL, _IOFBF, BUFFER_BYTES); /* without it only slower */
	fputs("target,op,offset_bytes,length_bytes,result_bytes,errno,due_ns,submit_ns,done_ns\r\n", r->f);
	return 0;
}

/* RFC 4180: in quotes, with quotes doubled, only when it has to be. */
static void put_text(FILE *f, const char *s)
{
	if (!strpbrk(s, ",\"\r\n")) {
		fputs(s, f);
		return;
	}
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"')
			fputc('"', f);
		fputc(*s, f);
	}
	fputc('"', f);
}

void requests_take(struct requests *r, const char *target, const struct io_req *req, uint64_t start_ns)
{
	if (r && !r->f && !r->error)
		r->error = open_file(r);
	if (!r || r->error)
		return;
	errno = 0; /* whichever of these empties the buffer */
	put_text(r->f, target);
	fprintf(r->f, ",%s,%" PRIu64 ",%" PRIu32 ",", io_op_name(req->op), req->offset_bytes, req->len_bytes);
	if (req->res >= 0)
		fprintf(r->f, "%" PRId32 ",,", req->res);
	else
		fprintf(r->f, ",%s,", err_name(req->res));
	if (req->due_ns)
		fprintf(r->f, "%" PRIu64, req->due_ns - start_ns);
	if (fprintf(r->f, ",%" PRIu64 ",%" PRIu64 "\r\n", req->submit_ns - start_ns, req->done_ns - start_ns) < 0 ||
	    ferror(r->f))
		r->error = errno ? errno : EIO;
	else
		r->n++;
}

uint64_t requests_count(const struct requests *r)
{
	return r ? r->n : 0;
}

int requests_close(struct requests *r, struct err *err)
{
	int error;

	if (!r)
		return 0;
	error = r->error;
	errno = 0;
	if (r->f && fclose(r->f) != 0 && !error)
		error = errno ? errno : EIO;
	if (error)
		(void)err_set(
			err, -error,
			"--requests: writing %s failed (%s), so it holds the first requests only; make room or give another path.",
			r->path, err_name(error));
	free(r);
	return -error;
}
