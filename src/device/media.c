/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "device/media.h"

#define EXTENTS 256 /* of a question; FIEMAP is asked again for more */

#define FLAGS_ENCODED (FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_DATA_ENCRYPTED)
#define FLAGS_INLINE  (FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL | FIEMAP_EXTENT_NOT_ALIGNED)

const char *const media_kind_names[MEDIA_KINDS] = {
	"data",       "holes",        "allocated but never written",
	"compressed", "in the inode", "shared with other bytes of the file"
};

static enum media_kind kind_of(uint32_t flags)
{
	if (flags & FIEMAP_EXTENT_UNWRITTEN)
		return MEDIA_UNWRITTEN;
	if (flags & FLAGS_INLINE)
		return MEDIA_INLINE;
	return flags & FLAGS_ENCODED ? MEDIA_ENCODED : MEDIA_DATA;
}

static int by_place(const void *a, const void *b)
{
	const struct media_extent *x = a, *y = b;

	return x->physical < y->physical ? -1 : x->physical > y->physical;
}

/* Bytes of data that lie where others of the file lie already. */
static uint64_t count_twice(struct media_extent *v, size_t n)
{
	uint64_t twice = 0, end = 0;

	if (n)
		qsort(v, n, sizeof(*v), by_place);
	for (size_t i = 0; i < n; i++) {
		uint64_t to = v[i].physical + v[i].bytes;

		if (kind_of(v[i].flags) != MEDIA_DATA || v[i].flags & FIEMAP_EXTENT_UNKNOWN)
			continue; /* of an unknown place nothing is reported */
		if (v[i].physical < end)
			twice += MIN(end, to) - v[i].physical;
		end = MAX(end, to);
	}
	return twice;
}

void media_count(struct media_extent *v, size_t n, uint64_t first, uint64_t end, struct media *ret)
{
	uint64_t at = first, stretch = 0;
	size_t kept = 0;

	*ret = (struct media){ .is_known = true };
	for (size_t i = 0; i < n; i++) {
		struct media_extent e = v[i];
		uint64_t from = MAX(e.logical, at), to = MIN(e.logical + e.bytes, end);
		enum media_kind kind = kind_of(e.flags);

		if (from >= to)
			continue;
		if (from > at || kind != MEDIA_DATA)
			stretch = 0;
		ret->bytes[MEDIA_HOLE] += from - at;
		ret->bytes[kind] += to - from;
		at = to;
		v[kept++] = (struct media_extent){ from, e.physical + (from - e.logical), to - from, e.flags };
		if (kind != MEDIA_DATA)
			continue;
		stretch += to - from;
		if (stretch > ret->longest_bytes) {
			ret->longest_bytes = stretch;
			ret->longest_first = to - stretch;
		}
	}
	ret->bytes[MEDIA_HOLE] += end > at ? end - at : 0;
	ret->bytes[MEDIA_TWICE] = count_twice(v, kept);
	ret->bytes[MEDIA_DATA] -= ret->bytes[MEDIA_TWICE];
}

int media_extents(int fd, uint64_t first, uint64_t end, uint32_t flags, media_taker *take, void *arg)
{
	cleanup_free struct fiemap *map = xcalloc(1, sizeof(*map) + EXTENTS * sizeof(map->fm_extents[0]));
	bool is_last = false;

	for (uint64_t at = first; !is_last && at < end;) {
		uint64_t asked = at;

		map->fm_start = at;
		map->fm_length = end - at;
		map->fm_flags = flags;
		map->fm_extent_count = EXTENTS;
		if (ioctl(fd, FS_IOC_FIEMAP, map) < 0)
			return -errno;
		for (uint32_t i = 0; i < map->fm_mapped_extents; i++) {
			const struct fiemap_extent *e = &map->fm_extents[i];

			take(arg, &(struct media_extent){ e->fe_logical, e->fe_physical, e->fe_length, e->fe_flags });
			is_last = e->fe_flags & FIEMAP_EXTENT_LAST;
			at = e->fe_logical + e->fe_length;
		}
		is_last = is_last || at <= asked; /* nothing more, or no way on */
	}
	return 0;
}

struct extents {
	struct media_extent *v;
	size_t n;
};

static void keep(void *arg, const struct media_extent *e)
{
	struct extents *x = arg;

	xappend(x->v, x->n, *e);
}

/* Where FIEMAP is not known, holes at least are. 0, or what lseek() answers. */
static int ask_holes(int fd, uint64_t first, uint64_t end, struct extents *x)
{
	for (uint64_t at = first; at < end;) {
		off_t data = lseek(fd, (off_t)at, SEEK_DATA), hole;

		if (data < 0)
			return errno == ENXIO ? 0 : -errno;
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole <= data)
			return hole < 0 ? -errno : 0;
		xappend(x->v, x->n,
		        (struct media_extent){ .logical = (uint64_t)data,
		                               .bytes = (uint64_t)(hole - data),
		                               .flags = FIEMAP_EXTENT_UNKNOWN });
		at = (uint64_t)hole;
	}
	return 0;
}

static bool is_in_memory(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC);
}

void media_look(int fd, uint64_t first, uint64_t end, struct media *ret)
{
	struct extents x = { 0 };
	int r = media_extents(fd, first, end, FIEMAP_FLAG_SYNC, keep, &x);

	if (r < 0) {
		x.n = 0;
		r = ask_holes(fd, first, end, &x);
	}
	if (r == 0)
		media_count(x.v, x.n, first, end, ret);
	else
		*ret = (struct media){ .bytes[MEDIA_DATA] = end - first,
			               .longest_first = first,
			               .longest_bytes = end - first };
	free(x.v);
	ret->is_memory = is_in_memory(fd);
}

char *media_text(const struct media *m, char *buf, size_t len)
{
	char size[32];

	buf[0] = '\0';
	for (size_t i = MEDIA_DATA + 1; i < MEDIA_KINDS; i++)
		if (m->bytes[i])
			str_list(buf, len, ", ", "%s are %s", units_bytes_dec(size, sizeof(size), m->bytes[i]),
			         media_kind_names[i]);
	return buf;
}
