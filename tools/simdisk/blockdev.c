/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "blockdev.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/blkpg.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ATTACH_TRIES 100
#define LOOP_MAJOR   7

static void sleep_ms(unsigned ms)
{
	const struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	(void)nanosleep(&ts, NULL);
}

/* ---- sysfs ---- */

/* -errno, or the number in /sys/block/loopN/queue/NAME; with is_write it is set to *value. */
static int queue_attr(const struct blockdev *dev, const char *name, bool is_write, uint64_t *value)
{
	char path[96], text[32];
	cleanup_close int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/sys/block/loop%u/queue/%s", dev->number, name);
	fd = open(path, (is_write ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (is_write) {
		n = snprintf(text, sizeof(text), "%" PRIu64, *value);
		return write(fd, text, (size_t)n) == n ? 0 : -errno;
	}
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return -EIO;
	text[n] = '\0';
	*value = strtoull(text, NULL, 10);
	return 0;
}

/* Sets an attribute that outlives the loop device's file, and keeps what it was. */
static int queue_change(struct blockdev *dev, const char *name, uint64_t value)
{
	struct blockdev_attr *old = &dev->old[dev->nold];
	int r = queue_attr(dev, name, false, &old->value);

	if (r == 0)
		r = queue_attr(dev, name, true, &value);
	if (r < 0)
		return r;
	old->name = name;
	dev->nold++;
	return 0;
}

static void queue_restore(struct blockdev *dev)
{
	while (dev->nold) {
		struct blockdev_attr *old = &dev->old[--dev->nold];

		(void)queue_attr(dev, old->name, true, &old->value);
	}
}

/* ---- attach ---- */

/* Opens the node of a loop number; makes the node where no devtmpfs does. */
static int open_node(struct blockdev *dev)
{
	int fd;

	(void)snprintf(dev->path, sizeof(dev->path), "/dev/loop%u", dev->number);
	fd = open(dev->path, O_RDWR | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && mknod(dev->path, S_IFBLK | 0660, makedev(LOOP_MAJOR, dev->number)) == 0)
		fd = open(dev->path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int configure(int loop_fd, int file_fd, const struct blockdev_params *params)
{
	struct loop_config config = {
		.fd = (uint32_t)file_fd,
		.block_size = params->sector_bytes,
		.info.lo_flags = LO_FLAGS_DIRECT_IO | LO_FLAGS_AUTOCLEAR | LO_FLAGS_PARTSCAN |
		                 (params->is_read_only ? LO_FLAGS_READ_ONLY : 0u),
	};

	(void)snprintf((char *)config.info.lo_file_name, sizeof(config.info.lo_file_name), "%s", params->label);
	return ioctl(loop_fd, LOOP_CONFIGURE, &config) ? -errno : 0;
}

static void read_backing(const struct blockdev *dev, char *buf, size_t len)
{
	char path[64];
	cleanup_close int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/sys/block/loop%u/loop/backing_file", dev->number);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, buf, len - 1);
	buf[n > 0 ? n : 0] = '\0';
}

/* From here on for reading only: some kernels refuse to mount what somebody has open for writing. */
static int keep_open(struct blockdev *dev, struct err *err)
{
	int fd = open(dev->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, -errno, "Cannot open %s: %s.", dev->path, strerror(errno));
	(void)close(dev->fd);
	dev->fd = fd;
	read_backing(dev, dev->backing, sizeof(dev->backing));
	return 0;
}

/* Without direct I/O the page cache would stand between the disk and its reader. */
static int check_direct(const struct blockdev *dev, struct err *err)
{
	struct loop_info64 info;

	if (ioctl(dev->fd, LOOP_GET_STATUS64, &info))
		return err_set(err, -errno, "Cannot read the state of %s: %s.", dev->path, strerror(errno));
	if (!(info.lo_flags & LO_FLAGS_DIRECT_IO))
		return err_set(err, -EOPNOTSUPP,
		               "The kernel refuses direct I/O on %s; a simulated disk needs it (Linux 5.10 or later).",
		               dev->path);
	return 0;
}

static int set_queue(struct blockdev *dev, const struct blockdev_params *params, struct err *err)
{
	int r = queue_change(dev, "rotational", params->is_rotational);

	if (r == 0)
		r = queue_change(dev, "max_sectors_kb", params->max_sectors_kb);
	if (r < 0)
		return err_set(err, r, "Cannot set the queue of %s up: %s.", dev->path, strerror(-r));
	/*
	 * discard_max_bytes is left alone: set to 0 it would stay 0 for whoever gets this number next, should we be
	 * killed. Discards fail at the first attempt and the driver stops offering them.
	 */
	return 0;
}

int blockdev_attach(struct blockdev *ret, int file_fd, const struct blockdev_params *params, struct err *err)
{
	cleanup_close int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	struct blockdev dev = { .fd = -1 };
	int r = -EBUSY;

	if (control < 0)
		return err_set(err, -errno,
		               "Cannot open /dev/loop-control: %s. The loop driver and the rights of root are needed.",
		               strerror(errno));
	(void)flock(control,
	            LOCK_EX); /* a courtesy: who only tries a device that is free has it open for writing meanwhile */
	for (unsigned i = 0; i < ATTACH_TRIES; i++) {
		int n = ioctl(control, LOOP_CTL_GET_FREE);

		if (n < 0)
			return err_set(err, -errno, "The loop driver has no free device: %s.", strerror(errno));
		dev.number = (unsigned)n;
		dev.fd = open_node(&dev);
		r = dev.fd < 0 ? dev.fd : configure(dev.fd, file_fd, params);
		if (r == 0)
			break;
		if (dev.fd >= 0)
			(void)close(dev.fd);
		/* Somebody else was faster, or the device is on its way out. */
		if (r != -EBUSY && r != -ENXIO && r != -ENOENT && r != -ENODEV)
			break;
		sleep_ms(i / 4);
	}
	if (r < 0)
		return err_set(err, r, "Cannot set up a loop device (the last tried was /dev/loop%u): %s.", dev.number,
		               strerror(-r));
	r = keep_open(&dev, err);
	if (r == 0)
		r = check_direct(&dev, err);
	if (r == 0)
		r = set_queue(&dev, params, err);
	if (r < 0) {
		(void)blockdev_detach(&dev, 1000);
		return r;
	}
	*ret = dev;
	return 0;
}

/* ---- partitions ---- */

static int blkpg(int fd, int op, struct blkpg_partition *part)
{
	struct blkpg_ioctl_arg arg = { .op = op, .datalen = sizeof(*part), .data = part };

	return ioctl(fd, BLKPG, &arg) ? -errno : 0;
}

int blockdev_add_partition(struct blockdev *dev, const struct blockdev_span *span, struct err *err)
{
	struct blkpg_partition part = {
		.start = (long long)span->offset_bytes,
		.length = (long long)span->len_bytes,
		.pno = (int)dev->npartitions + 1,
	};
	int r;

	if (dev->npartitions == BLOCKDEV_PARTITIONS_MAX)
		return err_set(err, -E2BIG, "A simulated disk has at most %d partitions.", BLOCKDEV_PARTITIONS_MAX);
	r = blkpg(dev->fd, BLKPG_ADD_PARTITION, &part);
	if (r < 0)
		return err_set(err, r, "Cannot add the partition %lld,%lld to %s: %s.", part.start, part.length,
		               dev->path, strerror(-r));
	dev->npartitions++;
	return 0;
}

/* ---- the end ---- */

void blockdev_pull(struct blockdev *dev)
{
	struct loop_info64 info;

	if (ioctl(dev->fd, LOOP_GET_STATUS64, &info))
		return;
	info.lo_offset = 1ull << 62; /* beyond the end of the file: nothing is left */
	(void)ioctl(dev->fd, LOOP_SET_STATUS64, &info);
}

bool blockdev_is_claimed(const char *path, unsigned npartitions)
{
	for (unsigned i = 0; i <= npartitions; i++) {
		char node[48];
		cleanup_close int fd = -1;

		if (i == 0)
			(void)snprintf(node, sizeof(node), "%s", path);
		else
			(void)snprintf(node, sizeof(node), "%sp%u", path, i);
		fd = open(node, O_RDONLY | O_EXCL | O_CLOEXEC);
		if (fd < 0 && errno == EBUSY)
			return true;
	}
	return false;
}

/* Still over our file: the number may already serve somebody else's. */
static bool is_bound(const struct blockdev *dev)
{
	char backing[sizeof(dev->backing)];

	read_backing(dev, backing, sizeof(backing));
	return backing[0] && strcmp(backing, dev->backing) == 0;
}

bool blockdev_detach(struct blockdev *dev, unsigned wait_ms)
{
	bool is_free = false;

	if (dev->fd < 0)
		return true;
	/* The order matters: a partition keeps the device. One that is open stays (EBUSY) and goes with its last user.
	 */
	for (unsigned i = dev->npartitions; i > 0; i--) {
		struct blkpg_partition part = { .pno = (int)i };

		(void)blkpg(dev->fd, BLKPG_DEL_PARTITION, &part);
	}
	queue_restore(dev);
	(void)ioctl(dev->fd, LOOP_CLR_FD, 0); /* with other openers: when the last of them closes */
	(void)close(dev->fd);
	dev->fd = -1;
	for (unsigned waited = 0; !(is_free = !is_bound(dev)) && waited < wait_ms; waited += 10)
		sleep_ms(10);
	return is_free;
}
