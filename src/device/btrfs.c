/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file of a mounted btrfs has its bytes at a place. btrfs puts a layer of its own between: extents of its devices
 * belong to chunks, whose logical addresses its trees know. So: device extent, chunk, logical address, inodes with data
 * there (LOGICAL_INO), and their names (INO_LOOKUP).
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "device/ground.h"

#define FOUND_BYTES  65536
#define EXTENT_MOST  (16ull << 30) /* no device extent is longer: the kernel makes chunks of 10 GiB at most */
#define RESERVED     (1ull << 20)  /* the start of each device, with its first super block */
#define SUPER_BYTES  4096
#define BLOCK        4096 /* the least that a file's extents are made of */
#define SUBVOLS_DEEP 64

struct volume {
	const struct content_question *q;
	struct ground *g;
	struct contents *c;
	int fd;
	uint64_t devid, tree; /* tree: the subvolume that is mounted */
};

/* ---- trees ---- */

/* The last item of the tree with this key, its offset from first to last. Its bytes into buf; false: there is none. */
static bool find_last(const struct volume *v, uint64_t tree, uint64_t objectid, uint32_t type, uint64_t first,
                      uint64_t last, void *buf, size_t len, uint64_t *ret_offset)
{
	cleanup_free struct btrfs_ioctl_search_args_v2 *a = calloc(1, sizeof(*a) + FOUND_BYTES);
	bool is_found = false;

	if (!a)
		return false;
	do {
		const uint8_t *at = a->buf;

		a->buf_size = FOUND_BYTES;
		a->key = (struct btrfs_ioctl_search_key){ .tree_id = tree,
			                                  .min_objectid = objectid,
			                                  .max_objectid = objectid,
			                                  .min_type = type,
			                                  .max_type = type,
			                                  .min_offset = first,
			                                  .max_offset = last,
			                                  .max_transid = UINT64_MAX,
			                                  .nr_items = UINT32_MAX };
		if (ioctl(v->fd, BTRFS_IOC_TREE_SEARCH_V2, a) < 0)
			return false;
		for (uint32_t i = 0; i < a->key.nr_items; i++) {
			struct btrfs_ioctl_search_header h;

			memcpy(&h, at, sizeof(h));
			memset(buf, 0, len);
			memcpy(buf, at + sizeof(h), h.len < len ? h.len : len);
			at += sizeof(h) + h.len;
			*ret_offset = h.offset;
			first = h.offset + 1;
			is_found = true;
		}
	} while (a->key.nr_items && first && first <= last);
	return is_found;
}

bool btrfs_logical(const struct btrfs_chunk_place *c, uint64_t within, uint64_t *ret_logical, uint64_t *ret_bytes)
{
	uint64_t row = within / c->stripe_bytes, column = c->index, columns = c->stripes;

	if (c->type & BTRFS_BLOCK_GROUP_RAID56_MASK)
		return false;
	if (!(c->type & (BTRFS_BLOCK_GROUP_RAID0 | BTRFS_BLOCK_GROUP_RAID10))) {
		*ret_logical = c->logical + within;
		*ret_bytes = UINT64_MAX;
		return true;
	}
	if (c->type & BTRFS_BLOCK_GROUP_RAID10) {
		column /= c->sub_stripes;
		columns /= c->sub_stripes;
	}
	*ret_logical = c->logical + (row * columns + column) * c->stripe_bytes + within % c->stripe_bytes;
	*ret_bytes = c->stripe_bytes - within % c->stripe_bytes;
	return true;
}

/* The chunk that has the byte of our device; *ret_first, *ret_end: of its extent there. False: none, what is from
 * *ret_first to *ret_end is free. */
static bool chunk_of(const struct volume *v, uint64_t at, struct btrfs_chunk_place *ret, uint64_t *ret_first,
                     uint64_t *ret_end)
{
	struct btrfs_dev_extent extent;
	struct {
		struct btrfs_chunk c;
		struct btrfs_stripe more[255];
	} chunk;
	const struct btrfs_stripe *stripe = &chunk.c.stripe;
	uint64_t first, key;

	*ret_first = at;
	*ret_end = at + BLOCK - at % BLOCK;
	if (!find_last(v, BTRFS_DEV_TREE_OBJECTID, v->devid, BTRFS_DEV_EXTENT_KEY,
	               at > EXTENT_MOST ? at - EXTENT_MOST : 0, at, &extent, sizeof(extent), &first) ||
	    at >= first + le64toh(extent.length))
		return false;
	*ret_first = first;
	*ret_end = first + le64toh(extent.length);
	key = le64toh(extent.chunk_offset);
	if (!find_last(v, BTRFS_CHUNK_TREE_OBJECTID, BTRFS_FIRST_CHUNK_TREE_OBJECTID, BTRFS_CHUNK_ITEM_KEY, key, key,
	               &chunk, sizeof(chunk), &key))
		return false;
	*ret = (struct btrfs_chunk_place){ .logical = key,
		                           .stripe_bytes = le64toh(chunk.c.stripe_len),
		                           .type = le64toh(chunk.c.type),
		                           .stripes = le16toh(chunk.c.num_stripes),
		                           .sub_stripes = le16toh(chunk.c.sub_stripes) };
	while (ret->index < ret->stripes && ret->index < ARRAY_LEN(chunk.more) &&
	       (le64toh(stripe[ret->index].devid) != v->devid || le64toh(stripe[ret->index].offset) != first))
		ret->index++;
	return ret->index < ret->stripes && ret->stripe_bytes &&
	       (ret->sub_stripes || !(ret->type & BTRFS_BLOCK_GROUP_RAID10));
}

/* ---- names ---- */

/* The path of an inode within its subvolume: "dir/file". False: it has no name. */
static bool name_of(const struct volume *v, uint64_t tree, uint64_t inode, char *buf, size_t len)
{
	struct btrfs_ioctl_ino_lookup_args a = { .treeid = tree, .objectid = inode };
	size_t n;

	if (ioctl(v->fd, BTRFS_IOC_INO_LOOKUP, &a) < 0)
		return false;
	n = strnlen(a.name, sizeof(a.name));
	while (n && a.name[n - 1] == '/')
		n--;
	return snprintf(buf, len, "%.*s", (int)n, a.name) < (int)len;
}

/* Puts the names of the subvolumes between the mounted one and this in front; one that is elsewhere keeps its path from
 * the top, without a slash. */
static bool full_name(const struct volume *v, uint64_t tree, uint64_t inode, char *buf, size_t len)
{
	char path[PATH_MAX], longer[PATH_MAX + 512];

	if (!name_of(v, tree, inode, path, sizeof(path)))
		return false;
	for (unsigned deep = 0; tree != v->tree && tree != BTRFS_FS_TREE_OBJECTID && deep < SUBVOLS_DEEP; deep++) {
		struct {
			struct btrfs_root_ref r;
			char name[256];
		} ref;
		char folder[PATH_MAX];
		uint64_t parent, n;

		if (!find_last(v, BTRFS_ROOT_TREE_OBJECTID, tree, BTRFS_ROOT_BACKREF_KEY, 0, UINT64_MAX, &ref,
		               sizeof(ref), &parent) ||
		    !name_of(v, parent, le64toh(ref.r.dirid), folder, sizeof(folder)))
			return false;
		n = le16toh(ref.r.name_len) < sizeof(ref.name) ? le16toh(ref.r.name_len) : sizeof(ref.name) - 1;
		if (snprintf(longer, sizeof(longer), "%s%s%.*s/%s", folder, folder[0] ? "/" : "", (int)n, ref.name,
		             path) >= (int)sizeof(path))
			return false;
		text_copy(path, sizeof(path), longer);
		tree = parent;
	}
	if (tree != v->tree)
		return snprintf(buf, len, "%s", path) < (int)len;
	return snprintf(buf, len, "%s/%s", strcmp(v->g->where, "/") == 0 ? "" : v->g->where, path) < (int)len;
}

/* ---- places ---- */

/* A block of data: all inodes that have it. */
static int take_block(const struct volume *v, const struct piece *p, uint64_t first, uint64_t end, uint64_t logical,
                      bool is_mixed)
{
	cleanup_free struct btrfs_data_container *found = xcalloc(1, FOUND_BYTES);
	struct btrfs_ioctl_logical_ino_args a = { .logical = logical, .size = FOUND_BYTES, .inodes = (uintptr_t)found };
	char path[PATH_MAX + 512];
	int r = 0;

	if (ioctl(v->fd, BTRFS_IOC_LOGICAL_INO_V2, &a) < 0) {
		if (errno != ENOENT)
			return content_list_add(v->c, v->g, p, first, end, CONTENT_UNKNOWN, NULL, UINT64_MAX);
		return content_list_add(v->c, v->g, p, first, end, is_mixed ? CONTENT_UNKNOWN : CONTENT_FREE, NULL,
		                        UINT64_MAX);
	}
	if (!found->elem_cnt)
		return content_list_add(v->c, v->g, p, first, end, CONTENT_UNNAMED, NULL, UINT64_MAX);
	for (uint32_t i = 0; i + 2 < found->elem_cnt && r == 0; i += 3) {
		bool is_named = full_name(v, found->val[i + 2], found->val[i], path, sizeof(path));

		r = content_list_add(v->c, v->g, p, first, end, is_named ? CONTENT_FILE : CONTENT_UNNAMED,
		                     is_named ? path : NULL, is_named ? found->val[i + 1] + first % BLOCK : UINT64_MAX);
	}
	return r;
}

static bool is_super(uint64_t at)
{
	static const uint64_t supers[] = { 64ull << 20, 256ull << 30 };

	for (size_t i = 0; i < ARRAY_LEN(supers); i++)
		if (at >= supers[i] && at < supers[i] + SUPER_BYTES)
			return true;
	return at < RESERVED;
}

static int take_piece(const struct volume *v, struct piece *p)
{
	struct btrfs_chunk_place chunk = { 0 };
	uint64_t at = p->first, first = 0, end = 0;
	bool is_chunk = false;
	int r = 0;

	p->is_known = true;
	for (uint64_t next; r == 0 && at < p->end && !(v->q->is_over && v->q->is_over(v->q->arg)); at = next) {
		uint64_t logical = 0, bytes = 0;

		next = at - at % BLOCK + BLOCK;
		if (at >= end)
			is_chunk = chunk_of(v, at, &chunk, &first, &end);
		if (is_super(at))
			r = content_list_add(v->c, v->g, p, at, next, CONTENT_METADATA, NULL, UINT64_MAX);
		else if (!is_chunk)
			r = content_list_add(v->c, v->g, p, at, next, CONTENT_FREE, NULL, UINT64_MAX);
		else if (!(chunk.type & BTRFS_BLOCK_GROUP_DATA))
			r = content_list_add(v->c, v->g, p, at, next, CONTENT_METADATA, NULL, UINT64_MAX);
		else if (!btrfs_logical(&chunk, at - first, &logical, &bytes))
			r = content_list_add(v->c, v->g, p, at, next, CONTENT_UNKNOWN, NULL, UINT64_MAX);
		else
			r = take_block(v, p, at, next, logical - logical % BLOCK,
			               (chunk.type & BTRFS_BLOCK_GROUP_METADATA) != 0);
	}
	return r;
}

/* Is our device one of the file system's? */
static bool is_member(struct volume *v)
{
	struct btrfs_ioctl_fs_info_args info = { 0 };

	if (ioctl(v->fd, BTRFS_IOC_FS_INFO, &info) < 0)
		return false;
	for (uint64_t id = 1; id <= info.max_id; id++) {
		struct btrfs_ioctl_dev_info_args dev = { .devid = id };

		if (ioctl(v->fd, BTRFS_IOC_DEV_INFO, &dev) == 0 &&
		    node_rdev("", (const char *)dev.path) == v->g->rdev) {
			v->devid = id;
			return true;
		}
	}
	return false;
}

int btrfs_find(const struct content_question *q, const struct mounts *mounts, struct ground *g, struct contents *c)
{
	const struct mount *best = NULL;
	struct btrfs_ioctl_ino_lookup_args own = { .objectid = BTRFS_FIRST_FREE_OBJECTID };
	struct volume v = { .q = q, .g = g, .c = c };
	int r = 0;

	for (size_t i = 0; i < mounts->n; i++) {
		const struct mount *m = &mounts->v[i];
		cleanup_close int fd = -1;

		if (strcmp(m->fs_type, "btrfs") != 0 || (best && strlen(best->root) <= strlen(m->root)))
			continue;
		fd = v.fd = open(m->where, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
		if (fd >= 0 && is_member(&v))
			best = m;
	}
	if (!best)
		return 0;
	text_copy(g->fs_type, sizeof(g->fs_type), best->fs_type);
	text_copy(g->where, sizeof(g->where), best->where);
	v.fd = open(g->where, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	if (v.fd < 0)
		return 0;
	if (ioctl(v.fd, BTRFS_IOC_INO_LOOKUP, &own) == 0)
		v.tree = own.treeid;
	for (size_t i = 0; v.tree && i < g->n && r == 0; i++)
		r = take_piece(&v, &g->v[i]);
	(void)close(v.fd);
	return r;
}
