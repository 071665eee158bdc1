/* SPDX-License-Identifier: GPL-2.0-or-later */
/* device_ops of the real machine. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "device/inside.h"

#ifndef BLKGETDISKSEQ
#define BLKGETDISKSEQ _IOR(0x12, 128, uint64_t)
#endif

#define DEEPEST      8  /* of a stack */
#define STABLE_TRIES 16 /* of reading a disk's counters between which nothing was written */
#define LVM_PLAIN                                                                                                  \
	68 /* "LVM-" and two identifiers of 32: longer ones are parts of a pool or a mirror, which write more than \
	      they are given */

/* ---- opening ---- */

/* The number may have gone to another disk since the probe (unplugged, plugged in again): its sequence number shows
 * that. */
static bool is_same(const struct device *dev, int fd)
{
	struct stat st;
	uint64_t seq;

	if (fstat(fd, &st) < 0)
		return false;
	if (dev->kind == DEVICE_FILE || dev->kind == DEVICE_DIRECTORY)
		return (uint64_t)st.st_ino == dev->file.inode && st.st_dev == dev->file.file_dev;
	if (!S_ISBLK(st.st_mode) || st.st_rdev != dev->rdev)
		return false;
	return dev->diskseq == 0 || ioctl(fd, BLKGETDISKSEQ, &seq) < 0 || seq == dev->diskseq;
}

static int open_failed(const struct device *dev, int code, unsigned flags, struct err *err)
{
	switch (code) {
	case EACCES:
	case EPERM:
		return err_set(err, -code, "Cannot open %s: %s; %s.", dev->path, strerror(code), err_forbidden());
	case EINVAL:
		if ((flags & DEVICE_OPEN_DIRECT) != 0)
			return err_set(
				err, -EOPNOTSUPP,
				"%s takes no direct I/O%s%s%s; take a file on a disk, or measure through the page cache where the command can.",
				dev->path, dev->file.fs_type[0] ? " (it lies on " : "", dev->file.fs_type,
				dev->file.fs_type[0] ? ")" : "");
		break;
	case ENOMEDIUM:
		return err_set(err, -code, "There is no medium in %s.", dev->path);
	case ENXIO:
	case ENODEV:
	case ENOENT:
		return err_set(err, -code, "%s is not there any more (%s).", dev->path, strerror(code));
	default:
		break;
	}
	return err_set(err, -code, "Cannot open %s: %s.", dev->path, strerror(code));
}

static int system_open(void *ctx, const struct device *dev, const struct write_permit *permit, unsigned flags,
                       struct err *err)
{
	int mode = (permit ? O_RDWR : O_RDONLY) | O_CLOEXEC | ((flags & DEVICE_OPEN_DIRECT) != 0 ? O_DIRECT : 0);
	int fd;

	(void)ctx;
	if (dev->kind == DEVICE_DIRECTORY)
		return err_set(err, -EISDIR, "%s is a directory; give a device or a file.", dev->path);
	if ((flags & DEVICE_OPEN_DIRECT) != 0 && dev->queue.dio_offset_align_bytes == 0)
		return open_failed(dev, EINVAL, flags, err);
	fd = open(dev->node, mode | O_NOFOLLOW);
	if (fd < 0)
		return open_failed(dev, errno, flags, err);
	if (!is_same(dev, fd) || (permit && !permit_covers(permit, fd))) {
		(void)close(fd);
		return err_set(err, -ENODEV, "%s is no longer the device that it was at the start.", dev->path);
	}
	return fd;
}

static void system_close(void *ctx, int fd)
{
	(void)ctx;
	if (fd >= 0)
		(void)close(fd); /* nothing is buffered in here; the measurement has flushed */
}

/* Have we locked the disk ourselves, for another partition of it? proc_locks(5): "1: FLOCK ADVISORY WRITE 123 00:05:42
 * 0 EOF". */
static bool is_our_lock(const struct stat *node)
{
	cleanup_fclose FILE *f = fopen("/proc/locks", "re");
	cleanup_free char *line = NULL;
	size_t len = 0;

	while (f && getline(&line, &len, f) > 0) {
		unsigned maj, min;
		uint64_t inode;
		int pid;

		if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%" SCNu64, &pid, &maj, &min, &inode) == 4 &&
		    pid == getpid() && makedev(maj, min) == node->st_dev && inode == (uint64_t)node->st_ino)
			return true;
	}
	return false;
}

/*
 * systemd.io/BLOCK_DEVICE_LOCKING: whoever changes what is on a disk or its partitions holds a BSD lock on the whole
 * disk; udev takes a shared one while it looks, which is over in a moment.
 */
static int system_lock(void *ctx, const struct device *dev, struct err *err)
{
	cleanup_close int fd = -1;
	char node[128];
	struct stat st;
	int kept;

	(void)ctx;
	sys_node(dev->disk, node, sizeof(node));
	fd = sys_node_open(dev->rdev == dev->disk_rdev ? dev->node : node, dev->disk_rdev, O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, fd < 0 ? fd : -errno, "Cannot open %s to lock it: %s.", node,
		               strerror(fd < 0 ? -fd : errno));
	for (int tries = 60; flock(fd, LOCK_EX | LOCK_NB) < 0; tries--) {
		if (errno == EWOULDBLOCK && is_our_lock(&st))
			break;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_set(err, -errno, "Cannot lock %s: %s.", node, strerror(errno));
		if (tries == 0)
			return err_set(err, -EAGAIN, "%s is locked by another program.", node);
		clock_pause(50 * NS_PER_MS);
	}
	kept = fd;
	fd = -1;
	return kept;
}

static int system_claim(void *ctx, const struct device *dev, struct err *err)
{
	bool is_file = dev->kind == DEVICE_FILE;
	cleanup_close int fd =
		open(dev->node, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (is_file ? O_NONBLOCK | O_NOCTTY : O_EXCL));
	int kept;

	(void)ctx;
	if (fd < 0 && (errno == EACCES || errno == EPERM) && dev->is_read_only)
		return err_set(err, -EROFS,
		               "%s is read-only; look for a write-protect switch, or see blockdev --setrw.",
		               dev->path); /* what some drivers say for it */
	if (fd < 0)
		return open_failed(dev, errno, 0, err);
	if (!is_same(dev, fd))
		return err_set(err, -ENODEV, "%s is no longer the %s that it was at the start.", dev->path,
		               is_file ? "file" : "device");
	if (is_file && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return err_set(err, -EBUSY, "%s is in use by another platter.", dev->path);
	/* Of the very file that will be written, whatever has become of its name. */
	if (is_file && !datafile_has_header(fd))
		return err_set(err, -EPERM, "%s was not made by platter, so it is not overwritten.", dev->path);
	kept = fd;
	fd = -1;
	return kept;
}

static int system_claim_others(void *ctx, const struct device *dev, struct claims *ret, struct survey *out,
                               struct err *err)
{
	struct stack s;
	int r = stack_build(sysroot_of(ctx), dev, &s, NULL, err);

	if (r < 0)
		return r;
	claims_take(&s, ret, out);
	stack_done(&s);
	return 0;
}

/* ---- during the run ---- */

/* A lost disk answers with good reads of 0 bytes, or with EIO: its size and its sysfs entry show that (lost: 0, gone,
 * another). */
static bool system_is_there(void *ctx, const struct device *dev, int fd)
{
	const char *root = sysroot_of(ctx);
	struct sys_block b;
	uint64_t v;

	if (dev->kind == DEVICE_FILE || dev->kind == DEVICE_DIRECTORY)
		return !dev->disk[0] || sys_block_by_rdev(root, dev->disk_rdev, &b) == 0;
	if (fd >= 0 && ioctl(fd, BLKGETSIZE64, &v) == 0 && v == 0)
		return false;
	if (sys_block_by_rdev(root, dev->rdev, &b) < 0)
		return false;
	return dev->diskseq == 0 || !sys_u64(root, &v, "%s/diskseq", b.disk_dir) || v == dev->diskseq;
}

static int system_io(void *ctx, const struct device *dev, struct device_io *ret)
{
	uint64_t v[STAT_COUNTERS];
	struct sys_block b;

	if (!dev->disk[0] || sys_block_by_rdev(sysroot_of(ctx), dev->disk_rdev, &b) < 0 ||
	    sys_stat(sysroot_of(ctx), b.disk_dir, v) <= STAT_QUEUE_MS)
		return -ENOENT;
	*ret = (struct device_io){ .reads = v[STAT_READS],
		                   .read_bytes = v[STAT_READ_SECTORS] * 512,
		                   .read_ns = v[STAT_READ_MS] * 1000000,
		                   .writes = v[STAT_WRITES],
		                   .written_bytes = v[STAT_WRITTEN_SECTORS] * 512,
		                   .write_ns = v[STAT_WRITE_MS] * 1000000,
		                   .in_flight = v[STAT_IN_FLIGHT],
		                   .busy_ns = v[STAT_BUSY_MS] * 1000000,
		                   .queue_ns = v[STAT_QUEUE_MS] * 1000000 };
	return 0;
}

/*
 * ---- what anybody has written: by the kernel's counters of the device itself, and of what it lies on as far as that
 * serves nobody else. What goes through another one above it would count as a stranger's there. ----
 */

/* Written and discarded, in bytes: both replace what was there. */
static bool read_stat(const char *root, const char *dir, uint64_t *ret)
{
	uint64_t v[STAT_COUNTERS];

	if (sys_stat(root, dir, v) <= STAT_WRITTEN_SECTORS)
		return false;
	*ret = (v[STAT_WRITTEN_SECTORS] + v[STAT_DISCARDED_SECTORS]) * 512;
	return true;
}

static void add_written(struct device_written *w, const char *on, uint64_t bytes)
{
	if (w->n == DEVICE_WRITTEN_MAX)
		return;
	text_copy(w->v[w->n].on, sizeof(w->v[w->n].on), on);
	w->v[w->n++].bytes = bytes;
}

static uint64_t sum_partitions(const char *root, const struct sys_block *disk)
{
	uint64_t sum = 0, bytes;

	for (cleanup_list struct sys_list l = sys_list(root, "%s", disk->disk_dir); sys_next(&l);) {
		char dir[PATH_MAX];

		if (snprintf(dir, sizeof(dir), "%s/%s", disk->disk_dir, l.name) < (int)sizeof(dir) &&
		    sys_exists(root, "%s/partition", dir) && read_stat(root, dir, &bytes))
			sum += bytes;
	}
	return sum;
}

/* What reaches a partition by the disk's own node is in the disk's counters, and in none of a partition's. */
static void add_around(const char *root, struct device_written *w, const struct sys_block *part)
{
	char name[DEVICE_WRITTEN_NAME];
	uint64_t before, after, parts;

	for (int i = 0; i < STABLE_TRIES && read_stat(root, part->disk_dir, &before); i++) {
		parts = sum_partitions(root, part);
		if (!read_stat(root, part->disk_dir, &after) || before != after || parts > after)
			continue;
		(void)snprintf(name, sizeof(name), "%.60s outside of its partitions", part->disk);
		add_written(w, name, after - parts);
		return;
	}
}

static bool is_alone(const char *root, const struct sys_block *below)
{
	cleanup_list struct sys_list l = sys_list(root, "%s/holders", below->dir);

	return l.n == 1;
}

/* Does it hand down what it is given, and no more? */
static bool passes_on(const char *root, const struct sys_block *b)
{
	char uuid[256];

	if (sys_text(root, uuid, sizeof(uuid), "%s/dm/uuid", b->disk_dir) < 0)
		return false;
	return strncmp(uuid, "mpath-", 6) == 0 || strncmp(uuid, "part", 4) == 0 ||
	       (strncmp(uuid, "CRYPT-", 6) == 0 && strncmp(uuid, "CRYPT-SUBDEV", 12) != 0) ||
	       (strncmp(uuid, "LVM-", 4) == 0 && strlen(uuid) == LVM_PLAIN);
}

static void add_block(const char *root, struct device_written *w, const struct sys_block *b, int depth)
{
	struct sys_block below;
	char file[PATH_MAX];
	uint64_t bytes;
	struct stat st;

	if (depth == DEEPEST || !read_stat(root, b->dir, &bytes))
		return;
	add_written(w, b->name, bytes);
	if (b->is_partition)
		add_around(root, w, b);
	if (sys_text(root, file, sizeof(file), "%s/loop/backing_file", b->disk_dir) == 0 && sysroot_is_real(root) &&
	    stat(file, &st) == 0 && S_ISBLK(st.st_mode) && sys_block_by_rdev(root, st.st_rdev, &below) == 0)
		add_block(root, w, &below, depth + 1);
	if (!passes_on(root, b))
		return;
	for (cleanup_list struct sys_list l = sys_list(root, "%s/slaves", b->disk_dir); sys_next(&l);)
		if (sys_block_by_name(root, l.name, &below) == 0 && is_alone(root, &below))
			add_block(root, w, &below, depth + 1);
}

static int system_written(void *ctx, const struct device *dev, struct device_written *ret)
{
	const char *root = sysroot_of(ctx);
	struct sys_block b;

	*ret = (struct device_written){ 0 };
	if (dev->kind == DEVICE_FILE || dev->kind == DEVICE_DIRECTORY || sys_block_by_rdev(root, dev->rdev, &b) < 0)
		return -ENOENT;
	add_block(root, ret, &b, 0);
	return ret->n ? 0 : -ENOENT;
}

static uint32_t system_temperature(void *ctx, const struct device *dev)
{
	const char *root = sysroot_of(ctx);
	struct sys_block b;

	return sys_block_by_rdev(root, dev->disk_rdev, &b) < 0 ? 0 : probe_temperature(root, b.disk_dir);
}

/* ---- the drive itself ---- */

/* The way to the whole disk, its descriptor, and its place in sysfs, "": none. false: there is no drive to ask. */
static bool open_drive(const char *root, const struct device *dev, struct drive *d, char dir[PATH_MAX])
{
	char node[128];
	struct sys_block b;

	*d = (struct drive){ .ask = scsi_real_ioctl, .fd = -1 };
	text_copy(dir, PATH_MAX, sys_block_by_rdev(root, dev->disk_rdev, &b) == 0 ? b.disk_dir : "");
	if (!sysroot_is_real(root) || !*dir)
		return false;
	d->way = drive_way(dev, sys_exists(root, "%s/device/scsi_disk", dir));
	if (d->way == DRIVE_NO_WAY)
		return false;
	sys_node(dev->disk, node, sizeof(node));
	/* Not for writing: udev would look at the disk when it is closed. */
	d->fd = sys_node_open(dev->rdev == dev->disk_rdev && dev->kind == DEVICE_DISK ? dev->node : node,
	                      dev->disk_rdev, O_NOFOLLOW);
	return d->fd >= 0;
}

static bool sleeps(const char *power)
{
	return strcmp(power, "standby") == 0 || strcmp(power, "stopped") == 0;
}

static bool system_health(void *ctx, const struct device *dev, bool may_wake, struct device_health *ret)
{
	const char *root = sysroot_of(ctx);
	char dir[PATH_MAX] = "", power[sizeof(ret->power)] = "";
	uint64_t native = 0;
	struct drive d;
	bool is_asked;

	if (open_drive(root, dev, &d, dir)) {
		text_copy(power, sizeof(power), drive_power(&d));
		if (may_wake || !sleeps(power))
			native = drive_native_sectors(&d) * dev->logical_block_bytes;
		(void)close(d.fd);
	}
	if (!may_wake && sleeps(power)) {
		device_health_clear(ret, HEALTH_ASLEEP);
		ret->is_standby = is_asked = true;
	} else {
		is_asked = health_read(root, dir, dev, may_wake, ret);
	}
	ret->native_bytes = native;
	text_copy(ret->power, sizeof(ret->power), power[0] ? power : ret->is_standby ? "standby" : "");
	return is_asked;
}

/* ---- which there are ---- */

static int by_rdev(const void *a, const void *b)
{
	const struct device *x = a, *y = b;

	return x->rdev < y->rdev ? -1 : x->rdev > y->rdev;
}

static int system_list(void *ctx, struct device **ret, size_t *ret_n, struct err *err)
{
	const char *root = sysroot_of(ctx);
	cleanup_list struct sys_list names = sys_list(root, "/sys/class/block");
	struct device *v;
	size_t n = 0;

	if (names.n == 0 && !sys_exists(root, "/sys/class/block"))
		return err_set(err, -ENOENT,
		               "Which disks there are cannot be found out: /sys/class/block is not there; mount sysfs "
		               "(mount -t sysfs sysfs /sys), or name the devices.");
	v = xcalloc(names.n + 1, sizeof(*v));
	while (sys_next(&names)) {
		struct sys_block b;

		/* Loop devices and the like without a size are names; hardware without one is a disk with a fault. */
		if (sys_block_by_name(root, names.name, &b) == 0 && !b.is_partition &&
		    probe_block(root, &b, NULL, &v[n], NULL) == 0 &&
		    (v[n].size_bytes || sys_exists(root, "%s/device", b.dir)) && strcmp(v[n].transport, "ram") != 0)
			n++;
	}
	qsort(v, n, sizeof(*v), by_rdev);
	*ret = v;
	*ret_n = n;
	return 0;
}

/* BLKFLSBUF takes root; where that is refused, clean pages of the whole device go by advice. */
static int system_drop_cache(void *ctx, int fd)
{
	struct stat st;
	int r;

	(void)ctx;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISBLK(st.st_mode) && ioctl(fd, BLKFLSBUF, 0) == 0)
		return 0;
	if (fdatasync(fd) < 0 && errno != EINVAL && errno != EROFS)
		return -errno;
	r = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return -r;
}

static int by_place(const void *a, const void *b)
{
	const struct device *x = a, *y = b;

	if (x->partition_offset_bytes != y->partition_offset_bytes)
		return x->partition_offset_bytes < y->partition_offset_bytes ? -1 : 1;
	return x->id.partition < y->id.partition ? -1 : x->id.partition > y->id.partition;
}

static int system_partitions(void *ctx, const struct device *dev, struct device **ret, size_t *ret_n, struct err *err)
{
	struct device *v = NULL;
	const char *root = sysroot_of(ctx);
	struct sys_block disk;
	size_t n = 0;
	int r = 0;

	*ret = NULL;
	*ret_n = 0;
	if (dev->kind != DEVICE_DISK || sys_block_by_rdev(root, dev->rdev, &disk) < 0)
		return 0;
	for (cleanup_list struct sys_list l = sys_list(root, "%s", disk.dir); r == 0 && sys_next(&l);) {
		struct sys_block b;

		if (!sys_exists(root, "%s/%s/partition", disk.dir, l.name) || sys_block_by_name(root, l.name, &b) < 0 ||
		    b.disk_rdev != dev->rdev)
			continue;
		v = xgrow(v, n + 1, sizeof(*v));
		r = probe_block(root, &b, NULL, &v[n], err);
		n += r == 0;
	}
	if (r < 0) {
		free(v);
		return r;
	}
	if (n)
		qsort(v, n, sizeof(*v), by_place);
	*ret = v;
	*ret_n = n;
	return 0;
}

const struct device_ops device_system = {
	.probe = probe_path,
	.open = system_open,
	.close = system_close,
	.is_there = system_is_there,
	.io = system_io,
	.written = system_written,
	.temperature = system_temperature,
	.health = system_health,
	.list = system_list,
	.share = shares_find,
	.survey = survey_device,
	.lock = system_lock,
	.claim = system_claim,
	.claim_others = system_claim_others,
	.drop_cache = system_drop_cache,
	.holds = survey_holds,
	.partitions = system_partitions,
	.contents = content_find,
};
