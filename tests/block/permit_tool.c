/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tries to write through the gate, for tests/block/safety*.sh:
 *   permit_tool [-c NAME]... [-s TYPE]... [-o OUTPUT]... [-k same|destroy] [-w SECONDS] [-r COMMAND] [-n] [-d SIZE] [-x
 * OTHER] [-f] DEVICE Writes one block of 0xa5 in the middle and one at the start. -r: runs a command between the probe
 * and the permit (races). -w: holds the permit for so long. -n: prints the survey and the verdict only. -d SIZE: makes
 * DEVICE as a file of platter's, and keeps it. -x: tries to write OTHER with DEVICE's permit. -f: writes and reads in
 * the middle with FUA instead, by the sync engine, prints what became of each request, and compares what other reads
 * find there. Exit: 0 written, 3 refused, 1 anything else, as platter's own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "device/device.h"
#include "engine/engine.h"

#define NAMES_MAX 16

struct request {
	struct consent consent;
	enum write_kind kind;
	unsigned hold_s;
	const char *command, *path, *other;
	bool is_look_only, is_fua;
	uint64_t make_bytes;
};

static void push(struct strs *s, const char *v)
{
	static const char *store[5 * NAMES_MAX];
	static size_t used;

	if (!s->v) {
		s->v = store + used;
		used += NAMES_MAX;
	}
	if (s->n < NAMES_MAX && used <= ARRAY_LEN(store))
		s->v[s->n++] = v;
}

static int parse(int argc, char **argv, struct request *req)
{
	int c;

	while ((c = getopt(argc, argv, "c:b:i:s:o:k:w:r:nd:x:f")) != -1) {
		switch (c) {
		case 'c':
			push(&req->consent.destroy, optarg);
			break;
		case 'b':
			push(&req->consent.rewrite, optarg);
			break;
		case 'i':
			push(&req->consent.despite, optarg);
			break;
		case 's':
			push(&req->consent.overwrite_signature, optarg);
			break;
		case 'o':
			push(&req->consent.outputs, optarg);
			break;
		case 'k':
			req->kind = strcmp(optarg, "same") == 0 ? WRITE_SAME : WRITE_DESTROY;
			break;
		case 'w':
			req->hold_s = (unsigned)atoi(optarg);
			break;
		case 'r':
			req->command = optarg;
			break;
		case 'n':
			req->is_look_only = true;
			break;
		case 'x':
			req->other = optarg;
			break;
		case 'f':
			req->is_fua = true;
			break;
		case 'd':
			if (units_parse_bytes(optarg, &req->make_bytes, NULL) < 0)
				return -EINVAL;
			break;
		default:
			return -EINVAL;
		}
	}
	req->path = argv[optind];
	return req->path ? 0 : -EINVAL;
}

static void print_survey(const struct survey *s)
{
	char text[512];

	for (size_t i = 0; i < s->n; i++)
		printf("%s\t%s\t%s\t%s\n\t%s\n", finding_kind_name(s->v[i].kind), s->v[i].on, s->v[i].what,
		       s->v[i].where, finding_text(&s->v[i], text, sizeof(text)));
}

static int write_blocks(struct device_context *ctx, const struct device *dev, const struct write_permit *permit,
                        struct err *err)
{
	uint32_t block = dev->queue.dio_offset_align_bytes < 4096 ? 4096 : dev->queue.dio_offset_align_bytes;
	uint64_t middle = dev->size_bytes / 2 / block * block;
	int fd = device_system.open(ctx, dev, permit, DEVICE_OPEN_DIRECT, err);
	cleanup_free void *buf = NULL;
	int r = 0;

	if (fd < 0)
		return fd;
	buf = aligned_alloc(block, block);
	if (!buf)
		return -ENOMEM;
	memset(buf, 0xa5, block);
	if (pwrite(fd, buf, block, (off_t)middle) != (ssize_t)block || pwrite(fd, buf, block, 0) != (ssize_t)block)
		r = err_set(err, -errno, "Write failed: %s.", strerror(errno));
	device_system.close(ctx, fd);
	return r;
}

/* One request by the sync engine; its result, which is reported under this name. */
static int32_t by_engine(struct engine *eng, const char *name, enum io_op op, int fd, uint64_t at, uint8_t *buf,
                         uint32_t len)
{
	struct io_req req = { .op = op, .fd = fd, .offset_bytes = at, .len_bytes = len, .buf = buf, .slot = SLOT_NONE };
	struct io_req *one = &req;

	if (engine_submit(eng, &one, 1) != 1 || engine_reap(eng, &one, 1, CLOCK_NEVER) != 1)
		req.res = -EPROTO;
	printf("%s: %s\n", name, req.res < 0 ? err_name(req.res) : req.res == (int32_t)len ? "ok" : "short");
	return req.res;
}

/* Three blocks, the middle one of which is written with FUA: what is there by reads with FUA, and by others? Where FUA
 * is not known nothing may change. */
static int fua_blocks(struct engine *eng, uint64_t middle, uint32_t block, int fd, int fd_reading, uint8_t *buf)
{
	uint32_t len = 3 * block;
	uint8_t *wanted = buf, *got = buf + len;
	int32_t written, read;

	for (uint32_t i = 0; i < len; i++)
		wanted[i] = (uint8_t)(i * 7 + i / 256);
	if (pwrite(fd, wanted, len, (off_t)middle) != (ssize_t)len)
		return -errno;
	memset(got, 0xa5, block);
	if (by_engine(eng, "write without a permit", IO_WRITE_FUA, fd_reading, middle, got, block) != -EBADF)
		return -EILSEQ;
	written = by_engine(eng, "write", IO_WRITE_FUA, fd, middle + block, got, block);
	if (written == (int32_t)block)
		memset(wanted + block, 0xa5, block);
	memset(got, 0, len);
	read = by_engine(eng, "read", IO_READ_FUA, fd_reading, middle, got, len);
	if (read >= 0 && (read != (int32_t)len || memcmp(got, wanted, len) != 0))
		return -EILSEQ;
	memset(got, 0, len);
	if (pread(fd_reading, got, len, (off_t)middle) != (ssize_t)len || memcmp(got, wanted, len) != 0)
		return -EILSEQ;
	printf("contents: as they should be\n");
	return written < 0 ? written : 0;
}

static int try_fua(struct device_context *ctx, const struct device *dev, const struct write_permit *permit,
                   struct err *err)
{
	static const struct engine_ops *const engines[] = { &engine_sync, NULL };
	uint32_t block = dev->queue.dio_offset_align_bytes < 4096 ? 4096 : dev->queue.dio_offset_align_bytes;
	cleanup_free uint8_t *buf = aligned_alloc(block, (size_t)6 * block);
	int fd = device_system.open(ctx, dev, permit, DEVICE_OPEN_DIRECT, err);
	int fd_reading = device_system.open(ctx, dev, NULL, DEVICE_OPEN_DIRECT, err);
	struct engine *eng = NULL;
	int r = !buf || fd < 0 || fd_reading < 0 ? -EIO : 0;

	if (r == 0)
		r = engine_open(&eng, engines, "sync", &(struct engine_config){ .depth = 1 }, clock_monotonic(), err);
	if (r == 0)
		r = fua_blocks(eng, dev->size_bytes / 2 / block * block, block, fd, fd_reading, buf);
	engine_close(eng);
	if (fd >= 0)
		device_system.close(ctx, fd);
	if (fd_reading >= 0)
		device_system.close(ctx, fd_reading);
	return r;
}

static int look(struct device_context *ctx, const struct device *dev, const struct request *req, struct err *err)
{
	struct survey found = { 0 };
	char text[1024];
	int r = device_system.survey(ctx, dev, &found, err);

	if (r == 0) {
		survey_outputs(&device_system, ctx, dev, &req->consent.outputs, &found);
		print_survey(&found);
		(void)permit_verdict(dev, &found, text, sizeof(text));
		printf("write: %s\n", text);
		r = permit_would(dev, &found, req->kind, &req->consent, err);
	}
	survey_done(&found);
	return r;
}

static int make(const struct request *req, struct err *err)
{
	struct datafile *df = NULL;
	int r = datafile_create(&df, req->path, req->make_bytes, DATAFILE_KEEP | DATAFILE_ALLOCATE, err);

	datafile_close(df);
	return r;
}

static int finish(int r, const struct err *err)
{
	if (r == 0)
		return 0;
	fprintf(stderr, "%s\n", err->text);
	return r == -EBUSY || r == -EPERM || r == -EROFS || r == -EOPNOTSUPP ? 3 : 1;
}

int main(int argc, char **argv)
{
	struct device_context ctx = { .sysroot = "/" };
	struct request req = { .kind = WRITE_DESTROY };
	struct write_permit *permit = NULL;
	struct err err = { 0 };
	struct device dev;
	int r;

	if (parse(argc, argv, &req) < 0) {
		fprintf(stderr, "usage: see the source\n");
		return 2;
	}
	if (req.make_bytes > 0)
		return finish(make(&req, &err), &err);
	r = device_system.probe(&ctx, req.path, &dev, &err);
	if (r < 0)
		return finish(r, &err);
	if (req.command && system(req.command) != 0)
		return 1;
	if (req.is_look_only)
		return finish(look(&ctx, &dev, &req, &err), &err);
	r = permit_acquire(&permit, &device_system, &ctx, &dev, req.kind, &req.consent, NULL, &err);
	if (r == 0 && req.other)
		r = device_system.probe(&ctx, req.other, &dev, &err);
	if (r == 0)
		r = req.is_fua ? try_fua(&ctx, &dev, permit, &err) : write_blocks(&ctx, &dev, permit, &err);
	if (r == 0 && req.hold_s > 0) {
		printf("held\n");
		(void)fflush(stdout);
		(void)sleep(req.hold_s);
	}
	permit_release(permit);
	return finish(r, &err);
}
