/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tries to write through the gate, for tests/block/safety*.sh:
 *   permit_tool [-c NAME]... [-s TYPE]... [-o OUTPUT]... [-k same|destroy] [-w SECONDS] [-r COMMAND] [-n] [-d SIZE] [-x OTHER] DEVICE
 * Writes one block of 0xa5 in the middle and one at the start. -r: runs a command between the probe and the permit (races). -w: holds the
 * permit for so long. -n: prints the survey and the verdict only. -d SIZE: makes DEVICE as a file of platter's, and keeps it.
 * -x: tries to write OTHER with DEVICE's permit. Exit: 0 written, 3 refused, 1 anything else, as platter's own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "device/device.h"

#define NAMES_MAX 16

struct request {
	struct consent consent;
	enum write_kind kind;
	unsigned hold_s;
	const char *command, *path, *other;
	bool is_look_only;
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

	while ((c = getopt(argc, argv, "c:b:i:s:o:k:w:r:nd:x:")) != -1) {
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
	uint32_t block = dev->dio_offset_align_bytes < 4096 ? 4096 : dev->dio_offset_align_bytes;
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

static int look(struct device_context *ctx, const struct device *dev, const struct request *req, struct err *err)
{
	struct survey found = { 0 };
	char text[1024];
	int r = device_system.survey(ctx, dev, &found, err);

	if (r == 0)
		r = survey_outputs(&device_system, ctx, dev, &req->consent.outputs, &found);
	if (r == 0) {
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
	return r == -EBUSY || r == -EPERM || r == -EROFS ? 3 : 1;
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
		r = write_blocks(&ctx, &dev, permit, &err);
	if (r == 0 && req.hold_s > 0) {
		printf("held\n");
		(void)fflush(stdout);
		(void)sleep(req.hold_s);
	}
	permit_release(permit);
	return finish(r, &err);
}
