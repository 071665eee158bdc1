/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The protocol is that of linux/fuse.h (version 7); what is asked for in INIT, and why, stands in init(). */
#include "fusedev.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fuse.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"

#define HEADERS_MAX    4096u /* room before the data of a write; the kernel wants at least 8 KiB for the whole */
#define BIG_BYTES      (FUSEDEV_IO_MAX + HEADERS_MAX)
#define SMALL_BYTES    (64u << 10)
#define POOL_BIG       6u /* made at the start: the first requests shall not wait for fresh pages */
#define POOL_SMALL     40u
#define BACKGROUND_MAX 512u /* above the loop driver's 128 tags; the kernel's default of 12 would cap the depth */
#define ATTR_VALID_S   86400u
#define OLDEST_MINOR   31u

struct fusedev_buf {
	struct fusedev_buf *next;
	bool is_big;
	void *mem;
};

struct fusedev {
	int fd;
	uint64_t size_bytes;
	uint32_t block_bytes;
	bool is_initialised;
	struct fusedev_buf *in; /* what the next request is read into: always a big one */
	struct fusedev_buf *free_big, *free_small;
};

/* ---- memory of requests ---- */

static struct fusedev_buf *buf_new(bool is_big)
{
	struct fusedev_buf *buf = calloc(1, sizeof(*buf));
	void *mem;

	if (!buf)
		return NULL;
	mem = mmap(NULL, is_big ? BIG_BYTES : SMALL_BYTES, PROT_READ | PROT_WRITE,
	           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (mem == MAP_FAILED) {
		free(buf);
		return NULL;
	}
	buf->mem = mem;
	buf->is_big = is_big;
	return buf;
}

static void buf_put(struct fusedev *dev, struct fusedev_buf *buf)
{
	struct fusedev_buf **list = buf->is_big ? &dev->free_big : &dev->free_small;

	buf->next = *list;
	*list = buf;
}

static struct fusedev_buf *buf_get(struct fusedev *dev, bool is_big)
{
	struct fusedev_buf **list = is_big ? &dev->free_big : &dev->free_small;
	struct fusedev_buf *buf = *list;

	if (!buf)
		return buf_new(is_big);
	*list = buf->next;
	buf->next = NULL;
	return buf;
}

static void bufs_free(struct fusedev_buf *buf)
{
	while (buf) {
		struct fusedev_buf *next = buf->next;

		(void)munmap(buf->mem, buf->is_big ? BIG_BYTES : SMALL_BYTES);
		free(buf);
		buf = next;
	}
}

/* ---- set-up ---- */

int fusedev_open(struct err *err)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0)
		return fd;
	return err_set(err, -errno, "Cannot open /dev/fuse: %s. A kernel with FUSE and the rights of root are needed.",
	               strerror(errno));
}

static int mount_fuse(int fd, const char *path, struct err *err)
{
	char options[96];

	/* rootmode: octal, a regular file. max_read: the same as INIT's max_write. */
	(void)snprintf(options, sizeof(options), "fd=%d,rootmode=100000,user_id=0,group_id=0,max_read=%u", fd,
	               FUSEDEV_IO_MAX);
	if (mount("platter-simdisk", path, "fuse.platter-simdisk", MS_NOSUID | MS_NODEV | MS_NOATIME, options))
		return err_set(err, -errno, "Cannot mount a FUSE file at %s: %s.", path, strerror(errno));
	return 0;
}

/* An empty file with all its folders, below the current folder; path begins with '/'. */
static int make_file(const char *path)
{
	char part[PATH_MAX];
	int fd;

	if (strlen(path) >= sizeof(part))
		return -ENAMETOOLONG;
	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(slash - path - 1), path + 1);
		if (mkdir(part, 0700) && errno != EEXIST)
			return -errno;
	}
	fd = open(path + 1, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	(void)close(fd);
	return 0;
}

/*
 * A namespace is a copy of all mounts and would keep file systems busy that others unmount meanwhile: so the old root
 * goes. Where pivot_root cannot work (the root is an initramfs, or no mount point), that is the price.
 */
static int empty_namespace(const char *scratch, struct err *err)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return err_set(err, -errno, "Cannot make a mount namespace: %s. The rights of root are needed.",
		               strerror(errno));
	if (mount("platter-simdisk", scratch, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=64k,mode=0700") ||
	    chdir(scratch))
		return err_set(err, -errno, "Cannot mount a scratch file system at %s: %s.", scratch, strerror(errno));
	if (syscall(SYS_pivot_root, ".", ".") == 0)
		(void)umount2(".", MNT_DETACH);
	return 0;
}

int fusedev_mount_private(int fd, const char *path, const char *scratch, struct err *err)
{
	int r = empty_namespace(scratch, err);
	int file;

	if (r < 0)
		return r;
	r = make_file(path);
	if (r < 0)
		return err_set(err, r, "Cannot make the mount point %s: %s.", path, strerror(-r));
	r = mount_fuse(fd, path + 1, err);
	if (r < 0)
		return r;
	file = open(path + 1, O_PATH | O_CLOEXEC); /* no request: nobody would answer it yet */
	return file >= 0 ? file : err_set(err, -errno, "Cannot find the FUSE file again: %s.", strerror(errno));
}

struct fusedev *fusedev_new(int fd, uint64_t size_bytes, uint32_t block_bytes)
{
	struct fusedev *dev = calloc(1, sizeof(*dev));

	if (!dev)
		return NULL;
	dev->fd = fd;
	dev->size_bytes = size_bytes;
	dev->block_bytes = block_bytes;
	for (unsigned i = 0; i < POOL_BIG + POOL_SMALL; i++) {
		struct fusedev_buf *buf = buf_new(i < POOL_BIG);

		if (!buf) {
			dev->fd = -1; /* still the caller's */
			fusedev_free(dev);
			return NULL;
		}
		buf_put(dev, buf);
	}
	dev->in = buf_get(dev, true);
	return dev;
}

void fusedev_free(struct fusedev *dev)
{
	if (!dev)
		return;
	if (dev->fd >= 0)
		(void)close(dev->fd);
	bufs_free(dev->free_big);
	bufs_free(dev->free_small);
	bufs_free(dev->in);
	free(dev);
}

int fusedev_fd(const struct fusedev *dev)
{
	return dev->fd;
}

/* ---- answers ---- */

static void reply(const struct fusedev *dev, uint64_t unique, int error, void *data, size_t len)
{
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + len), .error = error, .unique = unique };
	struct iovec iov[2] = { { &out, sizeof(out) }, { data, len } };

	/*
	 * ENOENT: the request was interrupted; ENODEV: unmounted meanwhile. Both leave nothing to be done, and a broken
	 * connection shows in the next read.
	 */
	while (writev(dev->fd, iov, len ? 2 : 1) < 0 && errno == EINTR)
		;
}

static void reply_error(const struct fusedev *dev, uint64_t unique, int error)
{
	reply(dev, unique, error, NULL, 0);
}

void fusedev_answer(struct fusedev *dev, const struct fusedev_io *io, int32_t res)
{
	struct fuse_write_out written = { .size = res > 0 ? (uint32_t)res : 0 };

	/* The kernel takes -1 .. -511 for errors only. */
	if (res < 0)
		reply_error(dev, io->unique, res > -512 ? res : -EIO);
	else if (io->op == FUSEDEV_READ)
		reply(dev, io->unique, 0, io->data, (size_t)res);
	else if (io->op == FUSEDEV_WRITE)
		reply(dev, io->unique, 0, &written, sizeof(written));
	else
		reply_error(dev, io->unique, 0);
	if (io->buf)
		buf_put(dev, io->buf);
}

static int answer_init(struct fusedev *dev, uint64_t unique, const struct fuse_init_in *in)
{
	/*
	 * ASYNC_DIO: without it the loop driver's direct I/O is synchronous, one at a time. BIG_WRITES and MAX_PAGES:
	 * requests of 1 MiB in one piece. ABORT_ERROR: ECONNABORTED instead of ENODEV after an abort, so that the two
	 * can be told apart.
	 */
	const uint32_t want = FUSE_ASYNC_READ | FUSE_ASYNC_DIO | FUSE_BIG_WRITES | FUSE_MAX_PAGES | FUSE_ABORT_ERROR;
	const uint32_t need = FUSE_ASYNC_DIO | FUSE_BIG_WRITES | FUSE_MAX_PAGES;
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = 0,
		.flags = want & in->flags,
		.max_background = BACKGROUND_MAX,
		.congestion_threshold = BACKGROUND_MAX * 3 / 4,
		.max_write = FUSEDEV_IO_MAX,
		.time_gran = 1,
		.max_pages = (uint16_t)(FUSEDEV_IO_MAX / 4096),
	};

	if (in->major != FUSE_KERNEL_VERSION || in->minor < OLDEST_MINOR || (in->flags & need) != need) {
		reply_error(dev, unique, -EPROTO);
		return -EPROTO;
	}
	if (in->minor < out.minor)
		out.minor = in->minor;
	dev->is_initialised = true;
	reply(dev, unique, 0, &out, sizeof(out));
	return 0;
}

static void answer_attr(const struct fusedev *dev, uint64_t unique)
{
	struct fuse_attr_out out = {
		.attr_valid = ATTR_VALID_S,
		.attr = {
			/* This disk's alone: of a file in another's mounts a seeker of writers knows little more. */
			.ino = 1ull << 31 | (uint64_t)getpid(),
			.size = dev->size_bytes,
			.mode = S_IFREG | 0600,
			.nlink = 1,
			.blksize = dev->block_bytes,
		},
	};

	reply(dev, unique, 0, &out, sizeof(out));
}

static void answer_open(const struct fusedev *dev, uint64_t unique)
{
	struct fuse_open_out out = { .open_flags = FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES };

	reply(dev, unique, 0, &out, sizeof(out));
}

static void answer_statfs(const struct fusedev *dev, uint64_t unique)
{
	struct fuse_statfs_out out = {
		.st = { .blocks = dev->size_bytes / 512, .files = 1, .bsize = 512, .frsize = 512, .namelen = 255 },
	};

	reply(dev, unique, 0, &out, sizeof(out));
}

/* Everything that is no I/O. */
static int chore(struct fusedev *dev, const struct fuse_in_header *in, const void *arg)
{
	switch (in->opcode) {
	case FUSE_INIT:
		return answer_init(dev, in->unique, arg);
	case FUSE_GETATTR:
	case FUSE_SETATTR: /* times: there are none */
		answer_attr(dev, in->unique);
		return 0;
	case FUSE_OPEN:
		answer_open(dev, in->unique);
		return 0;
	case FUSE_STATFS:
		answer_statfs(dev, in->unique);
		return 0;
	case FUSE_RELEASE:
	case FUSE_DESTROY:
		reply_error(dev, in->unique, 0);
		return 0;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT: /* a disk finishes what it has begun */
		return 0;    /* these want no answer */
	case FUSE_FALLOCATE:
		/* Discard and "write zeroes" come to this: with EOPNOTSUPP the loop driver stops offering them. */
		reply_error(dev, in->unique, -EOPNOTSUPP);
		return 0;
	default: /* ENOSYS: "does not exist, do not ask again" */
		reply_error(dev, in->unique, -ENOSYS);
		return 0;
	}
}

/* ---- requests ---- */

/* A read needs room of its own until it is answered. */
static int take_read(struct fusedev *dev, const struct fuse_read_in *in, struct fusedev_io *io)
{
	if (in->size > FUSEDEV_IO_MAX)
		return -EINVAL;
	io->op = FUSEDEV_READ;
	io->offset_bytes = in->offset;
	io->len_bytes = in->size;
	io->buf = buf_get(dev, in->size > SMALL_BYTES);
	if (!io->buf)
		return -ENOMEM;
	io->data = io->buf->mem;
	return 0;
}

/* Data of a write lie in the buffer that they were read into: a large one goes with the request, a small one is copied.
 */
static int take_write(struct fusedev *dev, const struct fuse_write_in *in, size_t room, struct fusedev_io *io)
{
	struct fusedev_buf *buf;

	if (in->size > FUSEDEV_IO_MAX || in->size > room)
		return -EINVAL;
	buf = buf_get(dev, in->size > SMALL_BYTES);
	if (!buf)
		return -ENOMEM;
	io->op = FUSEDEV_WRITE;
	io->offset_bytes = in->offset;
	io->len_bytes = in->size;
	if (buf->is_big) {
		io->buf = dev->in;
		io->data = (char *)io->buf->mem + sizeof(struct fuse_in_header) + sizeof(*in);
		dev->in = buf;
	} else {
		memcpy(buf->mem, in + 1, in->size);
		io->buf = buf;
		io->data = buf->mem;
	}
	return 0;
}

/* 1: an I/O; 0: a chore, done; negative: lost. */
static int take(struct fusedev *dev, size_t len, struct fusedev_io *io)
{
	const struct fuse_in_header *in = dev->in->mem;
	const void *arg = in + 1;
	const uint64_t unique = in->unique; /* take_write may exchange the buffer */
	int r;

	if (len < sizeof(*in) || len != in->len)
		return -EPROTO;
	*io = (struct fusedev_io){ .unique = unique };
	switch (in->opcode) {
	case FUSE_READ:
		r = take_read(dev, arg, io);
		break;
	case FUSE_WRITE:
		r = take_write(dev, arg, len - sizeof(*in) - sizeof(struct fuse_write_in), io);
		break;
	case FUSE_FSYNC:
		io->op = FUSEDEV_FLUSH;
		return 1;
	default:
		return chore(dev, in, arg);
	}
	if (r == 0)
		return 1;
	reply_error(dev, unique, r);
	return 0;
}

int fusedev_next(struct fusedev *dev, struct fusedev_io *ret)
{
	for (;;) {
		ssize_t n = read(dev->fd, dev->in->mem, BIG_BYTES);
		int r;

		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0 && (errno == EINTR || errno == ENOENT)) /* ENOENT: it was interrupted before it was read */
			continue;
		if (n < 0)
			return -errno;
		r = take(dev, (size_t)n, ret);
		if (r)
			return r;
	}
}
