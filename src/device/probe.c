/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a path is. Block devices are found by number (st_rdev), so that links and odd names lead to the same device;
 * sysfs has the rest, below a root that may be a dump.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "device/inside.h"
#include "device/steps.h"

#define SECTOR_BYTES 512u /* of sysfs, whatever the disk has */

static uint32_t cut_u32(uint64_t v)
{
	return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

/* ---- block devices ---- */

static void read_u32(const char *root, const char *dir, const char *name, uint32_t *ret)
{
	uint64_t v;

	if (sys_u64(root, &v, "%s/%s", dir, name))
		*ret = cut_u32(v);
}

static uint64_t read_sectors(const char *root, const char *dir, const char *name)
{
	uint64_t v;

	return sys_u64(root, &v, "%s/%s", dir, name) && v <= UINT64_MAX / SECTOR_BYTES ? v * SECTOR_BYTES : 0;
}

static uint32_t read_kib(const char *root, const char *dir, const char *name)
{
	uint64_t v;

	return sys_u64(root, &v, "%s/%s", dir, name) ? cut_u32(v > UINT32_MAX ? v : v * 1024) : 0;
}

/* "none [mq-deadline] kyber": the one in brackets. */
static void read_scheduler(const char *root, const char *dir, struct device *dev)
{
	char text[128], *open, *close;

	if (sys_text(root, text, sizeof(text), "%s/queue/scheduler", dir) < 0)
		return;
	open = strchr(text, '[');
	close = open ? strchr(open, ']') : NULL;
	if (close)
		*close = '\0';
	text_copy(dev->queue.scheduler, sizeof(dev->queue.scheduler), close ? open + 1 : text);
}

/* Disks with several arms: folders 0, 1, ... Of more than fit, or of those that are not reported whole, nothing is
 * kept. */
static void read_ranges(const char *root, const char *dir, struct device *dev)
{
	uint64_t first, count;
	uint32_t i;

	dev->nranges = 0;
	for (i = 0; sys_u64(root, &first, "%s/queue/independent_access_ranges/%u/sector", dir, i); i++) {
		if (i == DEVICE_RANGES_MAX ||
		    !sys_u64(root, &count, "%s/queue/independent_access_ranges/%u/nr_sectors", dir, i) || count == 0 ||
		    first > UINT64_MAX / SECTOR_BYTES || count > UINT64_MAX / SECTOR_BYTES - first)
			return;
		dev->ranges[i] =
			(struct device_range){ .first_byte = first * SECTOR_BYTES, .bytes = count * SECTOR_BYTES };
	}
	dev->nranges = i;
}

static void read_queue(const char *root, const char *dir, struct device *dev)
{
	uint64_t v;

	read_u32(root, dir, "queue/logical_block_size", &dev->logical_block_bytes);
	read_u32(root, dir, "queue/physical_block_size", &dev->physical_block_bytes);
	read_u32(root, dir, "queue/minimum_io_size", &dev->queue.io_min_bytes);
	read_u32(root, dir, "queue/optimal_io_size", &dev->queue.io_opt_bytes);
	read_u32(root, dir, "queue/nr_requests", &dev->queue.nr_requests);
	read_u32(root, dir, "queue/max_segments", &dev->queue.max_segments);
	read_u32(root, dir, "queue/max_segment_size", &dev->queue.max_segment_bytes);
	read_u32(root, dir, "queue/rq_affinity", &dev->queue.rq_affinity);
	read_u32(root, dir, "queue/nomerges", &dev->queue.nomerges);
	read_u32(root, dir, "queue/wbt_lat_usec", &dev->queue.wbt_lat_us);
	read_u32(root, dir, "queue/io_poll", &dev->queue.io_poll);
	read_u32(root, dir, "queue/fua", &dev->queue.fua);
	read_u32(root, dir, "device/queue_depth", &dev->queue.queue_depth);
	dev->queue.max_sectors_bytes = read_kib(root, dir, "queue/max_sectors_kb");
	dev->queue.max_hw_sectors_bytes = read_kib(root, dir, "queue/max_hw_sectors_kb");
	if (sys_u64(root, &v, "%s/queue/read_ahead_kb", dir) && v <= UINT64_MAX / 1024)
		dev->queue.read_ahead_bytes = v * 1024;
	if (sys_u64(root, &v, "%s/queue/discard_max_bytes", dir))
		dev->queue.discard_max_bytes = v;
	if (sys_u64(root, &v, "%s/queue/rotational", dir))
		dev->rotational = v != 0;
	(void)sys_text(root, dev->queue.write_cache, sizeof(dev->queue.write_cache), "%s/queue/write_cache",
	               dir); /* else "" */
	(void)sys_text(root, dev->queue.zoned, sizeof(dev->queue.zoned), "%s/queue/zoned", dir);
	read_scheduler(root, dir, dev);
	read_ranges(root, dir, dev);
}

/* What the device is made of: members of dm and md, the file of a loop device. */
static void read_below(const char *root, const struct sys_block *b, struct device *dev)
{
	size_t at = 0;

	if (sys_text(root, dev->id.alias, sizeof(dev->id.alias), "%s/dm/name", b->disk_dir) < 0)
		(void)sys_text(root, dev->id.alias, sizeof(dev->id.alias), "%s/md/level", b->disk_dir); /* else "" */
	if (sys_text(root, dev->id.below, sizeof(dev->id.below), "%s/loop/backing_file", b->disk_dir) == 0)
		return;
	for (cleanup_list struct sys_list l = sys_list(root, "%s/slaves", b->disk_dir); sys_next(&l);) {
		bool fits = at + strlen(l.name) + sizeof(", , ...") <= sizeof(dev->id.below);

		at += (size_t)snprintf(dev->id.below + at, sizeof(dev->id.below) - at, "%s%s", at ? ", " : "",
		                       fits ? l.name : "...");
		if (!fits)
			break;
	}
}

/* hwmon is a child of the SCSI device (drivetemp), or of the NVMe controller itself. */
uint32_t probe_temperature(const char *root, const char *dir)
{
	static const char *const places[] = { "device/hwmon", "device" };
	uint32_t found = 0;
	uint64_t v;

	for (size_t i = 0; i < ARRAY_LEN(places) && !found; i++)
		for (cleanup_list struct sys_list l = sys_list(root, "%s/%s", dir, places[i]); sys_next(&l);)
			if (strncmp(l.name, "hwmon", strlen("hwmon")) == 0 &&
			    sys_u64(root, &v, "%s/%s/%s/temp1_input", dir, places[i], l.name) && v <= 150000)
				found = (uint32_t)v;
	return found;
}

static void read_sysfs(const char *root, const struct sys_block *b, struct device *dev)
{
	uint64_t v;

	text_copy(dev->name, sizeof(dev->name), b->name);
	text_copy(dev->disk, sizeof(dev->disk), b->disk);
	dev->rdev = b->rdev;
	dev->disk_rdev = b->disk_rdev;
	dev->kind = b->is_partition ? DEVICE_PARTITION : DEVICE_DISK;
	dev->size_bytes = read_sectors(root, b->dir, "size");
	dev->disk_size_bytes = read_sectors(root, b->disk_dir, "size");
	if (b->is_partition) {
		dev->partition_offset_bytes = read_sectors(root, b->dir, "start");
		read_u32(root, b->dir, "partition", &dev->id.partition);
	}
	if (sys_u64(root, &v, "%s/diskseq", b->disk_dir))
		dev->diskseq = v;
	if (sys_u64(root, &v, "%s/alignment_offset", b->dir) && v <= INT32_MAX)
		dev->queue.alignment_offset_bytes = (int64_t)v;
	if (sys_u64(root, &v, "%s/ro", b->dir))
		dev->is_read_only = v != 0;
	if (sys_u64(root, &v, "%s/ro", b->disk_dir) && v != 0)
		dev->is_read_only = true;
	if (sys_u64(root, &v, "%s/removable", b->disk_dir))
		dev->is_removable = v != 0;
	/* SCSI peripheral type 5 is CD and DVD (SPC-6 table 152). */
	dev->is_cdrom = strncmp(b->disk, "sr", 2) == 0 || (sys_u64(root, &v, "%s/device/type", b->disk_dir) && v == 5);
	read_queue(root, b->disk_dir, dev);
	read_below(root, b, dev);
	dev->temperature_mc = probe_temperature(root, b->disk_dir);
	identity_sysfs(dev, root, b);
	names_find(dev, root, b);
	reach_find(dev, root, b);
	link_find(dev, root, b);
}

/* What sysfs does not show, or not of this moment: another medium is seen when the drive is opened. */
static void ask_kernel(struct device *dev)
{
	cleanup_close int fd = sys_node_open(dev->node, dev->rdev, 0);
	uint64_t v;
	int i;

	if (fd < 0)
		return; /* opening for the measurement will say why not */
	if (ioctl(fd, BLKGETSIZE64, &v) == 0)
		dev->size_bytes = v;
	if (ioctl(fd, BLKALIGNOFF, &i) == 0) /* -1: sysfs has no sign */
		dev->queue.alignment_offset_bytes = i;
	identity_ask(dev, fd);
}

/* What O_DIRECT wants. Kernels before 6.1 do not say: the logical block is right for offsets, and safe for memory. */
static void ask_dio(const char *path, struct device *dev)
{
	struct statx sx;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_DIOALIGN, &sx) == 0 &&
	    (sx.stx_mask & STATX_DIOALIGN) != 0) {
		dev->queue.dio_mem_align_bytes = sx.stx_dio_mem_align;
		dev->queue.dio_offset_align_bytes = sx.stx_dio_offset_align;
		return;
	}
	dev->queue.dio_mem_align_bytes = dev->queue.dio_offset_align_bytes =
		dev->logical_block_bytes ? dev->logical_block_bytes : 4096;
	if (dev->kind == DEVICE_FILE) {
		cleanup_close int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC | O_NONBLOCK);

		if (fd < 0 && errno == EINVAL)
			dev->queue.dio_mem_align_bytes = dev->queue.dio_offset_align_bytes = 0;
	}
}

static bool is_power_of_two(uint32_t v)
{
	return v != 0 && (v & (v - 1)) == 0;
}

/* Block sizes that no arithmetic can trust are as good as none. */
static void mend_limits(struct device *dev)
{
	if (!is_power_of_two(dev->logical_block_bytes) || dev->logical_block_bytes > 1u << 20)
		dev->logical_block_bytes = SECTOR_BYTES;
	if (!is_power_of_two(dev->physical_block_bytes) || dev->physical_block_bytes < dev->logical_block_bytes)
		dev->physical_block_bytes = dev->logical_block_bytes;
	if (dev->queue.dio_offset_align_bytes && !is_power_of_two(dev->queue.dio_offset_align_bytes))
		dev->queue.dio_offset_align_bytes = dev->logical_block_bytes;
	if (dev->queue.dio_mem_align_bytes && !is_power_of_two(dev->queue.dio_mem_align_bytes))
		dev->queue.dio_mem_align_bytes = dev->logical_block_bytes;
}

int probe_block(const char *root, const struct sys_block *b, const char *path, struct device *ret, struct err *err)
{
	struct device dev = { .rotational = -1 };

	sys_node(b->name, dev.node, sizeof(dev.node));
	if (path && strlen(path) >= sizeof(dev.path))
		return err_set(err, -ENAMETOOLONG, "The path %.60s... is too long.", path);
	text_copy(dev.path, sizeof(dev.path), path ? path : dev.node);
	read_sysfs(root, b, &dev);
	if (sysroot_is_real(root)) {
		/* The node may lie elsewhere than under its kernel name. */
		if (path && node_rdev(root, dev.node) != dev.rdev) {
			cleanup_free char *real = realpath(path, NULL);

			text_copy(dev.node, sizeof(dev.node), real ? real : path);
		}
		ask_kernel(&dev);
		ask_dio(dev.node, &dev);
	}
	if (dev.disk_size_bytes == 0 || !b->is_partition)
		dev.disk_size_bytes = b->is_partition ? dev.disk_size_bytes : dev.size_bytes;
	mend_limits(&dev);
	if (!sysroot_is_real(root))
		dev.queue.dio_mem_align_bytes = dev.queue.dio_offset_align_bytes = dev.logical_block_bytes;
	identity_compare(root, &dev);
	*ret = dev;
	return 0;
}

/* ---- files and folders ---- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* The disk below a file system: limits and identity of the disk, which a measurement of a file wants to show. */
static void take_disk(const char *root, dev_t rdev, struct device *dev)
{
	struct device disk;
	struct sys_block b;

	if (rdev == 0 || sys_block_by_rdev(root, rdev, &b) < 0 || probe_block(root, &b, NULL, &disk, NULL) < 0)
		return;
	memcpy(disk.path, dev->path, sizeof(disk.path));
	memcpy(disk.node, dev->node, sizeof(disk.node));
	memcpy(disk.name, dev->name, sizeof(disk.name));
	memcpy(disk.file.fs_type, dev->file.fs_type, sizeof(disk.file.fs_type));
	disk.kind = dev->kind;
	disk.file.inode = dev->file.inode;
	disk.file.file_dev = dev->file.file_dev;
	disk.size_bytes = dev->size_bytes;
	disk.file.free_bytes = dev->file.free_bytes;
	disk.is_read_only = dev->is_read_only;
	disk.queue.dio_mem_align_bytes = dev->queue.dio_mem_align_bytes;
	disk.queue.dio_offset_align_bytes = dev->queue.dio_offset_align_bytes;
	*dev = disk;
}

static void take_file_system(const char *root, const struct stat *st, struct device *dev)
{
	const struct mount *m;
	struct mounts mounts;
	struct statvfs fs;
	dev_t rdev = major(st->st_dev) != 0 ? st->st_dev : 0;

	if (statvfs(dev->node, &fs) == 0) {
		dev->file.free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
		dev->is_read_only = (fs.f_flag & ST_RDONLY) != 0;
	}
	if (mounts_read(root, &mounts, NULL) < 0)
		return;
	m = mounts_of_path(root, &mounts, dev->node);
	if (m) {
		text_copy(dev->file.fs_type, sizeof(dev->file.fs_type), m->fs_type);
		if (m->upper[0]) /* overlay: where the writes go */
			m = mounts_of_path(root, &mounts, m->upper);
		if (rdev == 0 && m)
			rdev = mount_rdev(root, m);
	}
	mounts_done(&mounts);
	take_disk(root, rdev, dev);
	if (dev->rdev == 0)
		dev->rdev = st->st_dev;
}

static int probe_file(const char *root, const char *path, const struct stat *st, struct device *ret, struct err *err)
{
	struct device dev = { .rotational = -1, .kind = S_ISDIR(st->st_mode) ? DEVICE_DIRECTORY : DEVICE_FILE };
	cleanup_free char *real = realpath(path, NULL);

	if (!real)
		return err_set(err, -errno, "Cannot resolve %s: %s.", path, strerror(errno));
	if (strlen(path) >= sizeof(dev.path) || strlen(real) >= sizeof(dev.node))
		return err_set(err, -ENAMETOOLONG, "The path %.60s... is too long.", path);
	text_copy(dev.path, sizeof(dev.path), path);
	text_copy(dev.node, sizeof(dev.node), real);
	text_copy(dev.name, sizeof(dev.name), last_part(real));
	dev.file.inode = (uint64_t)st->st_ino;
	dev.file.file_dev = st->st_dev;
	dev.size_bytes = dev.kind == DEVICE_FILE ? (uint64_t)st->st_size : 0;
	take_file_system(root, st, &dev);
	names_of_file(&dev);
	/* These open with O_DIRECT and answer from memory all the same: that would be a lie about a disk. */
	if (str_is_one_of(dev.file.fs_type, "tmpfs ramfs"))
		dev.queue.dio_mem_align_bytes = dev.queue.dio_offset_align_bytes = 0;
	else
		ask_dio(dev.node, &dev);
	mend_limits(&dev);
	*ret = dev;
	return 0;
}

/* ---- what the path is ---- */

static int absent(const char *path, int code, struct err *err)
{
	char node[300];
	struct stat st;

	(void)snprintf(node, sizeof(node), "/dev/%s", path);
	if (code == -ENOENT && !strchr(path, '/') && stat(node, &st) == 0)
		return err_set(err, code, "There is no %s here; did you mean %s?", path, node);
	return err_set(err, code, "Cannot look at %s: %s.", path, strerror(-code));
}

static int probe_in_dump(const char *root, const char *path, struct device *ret, struct err *err)
{
	char name[64];
	struct sys_block b;
	int r;

	/* by-id links of the dump; everything else by its last part */
	r = sys_block_by_name(root, sys_link(root, name, sizeof(name), "%s", path) ? name : last_part(path), &b);
	if (r < 0)
		return err_set(err, r, "The dump %s has no device %s.", root, path);
	return probe_block(root, &b, path, ret, err);
}

int probe_path(void *ctx, const char *path, struct device *ret, struct err *err)
{
	const char *root = sysroot_of(ctx);
	struct sys_block b;
	struct stat st;
	int r;

	if (!sysroot_is_real(root) && strncmp(path, "/dev/", 5) == 0)
		return probe_in_dump(root, path, ret, err);
	if (stat(path, &st) < 0)
		return absent(path, -errno, err);
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return probe_file(root, path, &st, ret, err);
	if (S_ISCHR(st.st_mode))
		return err_set(
			err, -ENOTBLK,
			"%s is a character device; give the block device of the disk, such as /dev/sda (lsblk lists them).",
			path);
	if (!S_ISBLK(st.st_mode))
		return err_set(err, -EINVAL,
		               "%s is neither a block device nor a file nor a directory; lsblk lists the disks.", path);
	r = sys_block_by_rdev(root, st.st_rdev, &b);
	if (r < 0)
		return err_set(err, r, "Nothing in /sys/dev/block is known of %s (%u:%u): %s; is sysfs mounted?", path,
		               major(st.st_rdev), minor(st.st_rdev), strerror(-r));
	return probe_block(root, &b, path, ret, err);
}
