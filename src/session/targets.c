/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which targets a measurement takes, and what they have in common: those of one run, and those of several runs. Of a
 * file that is to be read: does a disk hold it? */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "device/media.h"
#include "session/internal.h"

static int share_of(const struct env *env, const struct device *devs, size_t n, struct device_share *ret,
                    struct err *err)
{
	int r = 0;

	*ret = (struct device_share){ .kind = SHARE_NOTHING };
	if (env->devices->share)
		r = env->devices->share(env->devices_ctx, devs, n, ret, err);
	if (r < 0 || ret->kind != SHARE_BYTES)
		return r;
	return err_set(err, -EINVAL, "%s and %s are the same place, or have bytes in common; name each place once.",
	               devs[ret->a].path, devs[ret->b].path);
}

/* Bytes that two targets have in common would count twice; and the second could not be claimed beside the first. */
int lanes_check(struct session *ses, struct err *err)
{
	struct device_share share;
	int r;

	if (ses->ndevs < 2 || (ses->plan->read_bytes == 0 && ses->plan->write_bytes == 0))
		return 0;
	r = share_of(ses->env, ses->devs, ses->ndevs, &share, err);
	if (r == 0 && share.kind == SHARE_DISK && !ses->plan->in_turn)
		result_notice(ses->res, "one-disk",
		              "%s and %s lie on one disk: their rates are parts of what that disk gives.",
		              ses->devs[share.a].path, ses->devs[share.b].path);
	return r;
}

bool session_is_first_of_disk(const struct session *ses, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(ses->devs[k].disk, ses->devs[i].disk) == 0)
			return false;
	return ses->devs[i].disk[0] != '\0';
}

int session_lanes(const struct env *env, const char *const *paths, size_t n, size_t *ret_lane, struct err *err)
{
	cleanup_free struct device *devs = xcalloc(n + 1, sizeof(*devs));
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		ret_lane[i] = i;
		r = env->devices->probe(env->devices_ctx, paths[i], &devs[i], err);
		for (size_t k = 0; r == 0 && k < i; k++) {
			struct device pair[] = { devs[k], devs[i] };
			struct device_share share;

			r = share_of(env, pair, 2, &share, err);
			if (share.kind == SHARE_NOTHING && !device_shares_link(&devs[k], &devs[i]))
				continue;
			for (size_t m = 0, from = ret_lane[i]; m <= i; m++) /* with all that are in it */
				ret_lane[m] = ret_lane[m] == from ? ret_lane[k] : ret_lane[m];
		}
	}
	return r;
}

/* ---- files ---- */

/* What to read instead, where there is such a stretch. */
static const char *advice(const struct media *m, char *buf, size_t len)
{
	if (m->bytes[MEDIA_TWICE])
		return "copy it with cp --reflink=never and give the copy";
	if (!m->longest_bytes)
		return m->bytes[MEDIA_ENCODED]  ? "write it anew uncompressed (chattr +m on the empty file)"
		       : m->bytes[MEDIA_INLINE] ? "give a larger file"
		                                : "write the file first";
	(void)snprintf(buf, len, "fill the file, or keep to its longest stretch of data, bytes %" PRIu64 " to %" PRIu64,
	               m->longest_first, m->longest_first + m->longest_bytes - 1);
	return buf;
}

static int judge(const struct session *ses, const char *path, const struct media *m, bool is_direct, struct err *err)
{
	char kinds[200], instead[120], size[32];
	uint64_t bytes = 0;

	for (size_t i = 0; i < MEDIA_KINDS; i++)
		bytes += m->bytes[i];
	if (m->is_memory)
		result_notice(ses->res, "no-disk",
		              "%s lies in memory, as its file system does: what is measured is memory.", path);
	else if (!m->is_known)
		result_notice(
			ses->res, "medium-unknown",
			"The file system does not show how much of %s a disk holds; holes would be read too fast.",
			path);
	if (m->bytes[MEDIA_DATA] == bytes)
		return 0;
	(void)units_bytes_dec(size, sizeof(size), bytes);
	(void)media_text(m, kinds, sizeof(kinds));
	if (is_direct)
		return err_set(err, -EINVAL, "%s cannot be measured as a disk: of the %s to be read, %s. %c%s.", path,
		               size, kinds, *advice(m, instead, sizeof(instead)) - 'a' + 'A',
		               advice(m, instead, sizeof(instead)) + 1);
	result_notice(ses->res, "not-on-disk", "%s: of the %s that are read, %s; no disk is read for these.", path,
	              size, kinds);
	return 0;
}

int session_medium(const struct session *ses, size_t i, uint64_t first, uint64_t end, bool is_direct, struct err *err)
{
	const struct device *dev = &ses->devs[i];
	cleanup_close int fd = -1;
	struct media m;

	if (dev->kind != DEVICE_FILE || !dev->file.inode || first >= end)
		return 0;
	fd = open(dev->node, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return 0; /* whoever reads it reports why it cannot be opened */
	media_look(fd, first, end, &m);
	return judge(ses, dev->path, &m, is_direct, err);
}

void session_medium_of_writes(const struct session *ses)
{
	for (size_t i = 0; ses->plan->is_direct && ses->plan->write_bytes && i < ses->ndevs; i++) {
		const struct device *dev = &ses->devs[i];
		cleanup_close int fd =
			strcmp(dev->file.fs_type, "btrfs") ? -1 : open(dev->node, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		int flags = 0;

		if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 || (flags & FS_NOCOW_FL))
			continue;
		result_notice(
			ses->res, "writes-cached",
			"btrfs may write files that have checksums through the page cache, direct or not (Linux 6.15 and later); "
			"`chattr +C` on the empty file or its folder leaves checksums out.");
	}
}

int session_takes(const struct measure *m, const struct device *dev, struct err *err)
{
	bool takes_files = m->takes & TAKES_FILES, takes_folders = m->takes & TAKES_FOLDERS;

	if (!m->takes)
		return 0;
	if (dev->kind == DEVICE_DIRECTORY && !takes_folders)
		return err_set(err, -EINVAL, "%s is a directory; give a disk%s.", dev->path,
		               takes_files ? ", a partition or an existing file" : " or a partition");
	if (dev->kind == DEVICE_FILE && !takes_files)
		return err_set(err, -EINVAL, "%s is a file; give %s.", dev->path,
		               takes_folders ? "its directory, or a disk" : "the disk that it lies on");
	if (dev->kind == DEVICE_FILE && dev->file.inode && dev->size_bytes == 0 && !m->may_create)
		return err_set(err, -EINVAL, "%s is empty; give %s, or a file that holds data.", dev->path,
		               takes_folders ? "its directory" : "a disk");
	if ((dev->kind == DEVICE_DISK || dev->kind == DEVICE_PARTITION) && !(m->takes & TAKES_DISKS))
		return err_set(err, -EINVAL,
		               "%s is a block device; %s works in a file: give a file or directory on it.", dev->path,
		               m->name);
	return device_check_capacity(dev, err);
}
