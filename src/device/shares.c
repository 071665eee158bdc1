/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which targets of one run have bytes, or a disk, in common: a rate of both together would count them twice. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "device/stack.h"
#include "device/survey.h"

/* In a directory each target makes a file of its own. */
static bool has_bytes_of(const struct stack *s, const struct device *dev)
{
	struct file_id file = file_id_of(s->root, &s->mounts, dev->node, dev->file.file_dev, dev->file.inode);

	for (size_t i = 0; i < s->n; i++)
		if (dev->kind == DEVICE_DISK || dev->kind == DEVICE_PARTITION
		            ? s->v[i].b.rdev == dev->rdev
		            : dev->kind == DEVICE_FILE && dev->file.inode && node_is_file(&s->v[i]) &&
		                      file_id_is_same(&s->v[i].file, &file))
			return true;
	return false;
}

/* A disk that holds bytes of both. */
static bool has_disk_of(const struct stack *a, const struct stack *b)
{
	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < b->n; k++)
			if (a->v[i].is_bottom && b->v[k].is_bottom && a->v[i].rel != REL_ABOVE &&
			    b->v[k].rel != REL_ABOVE && a->v[i].b.disk_rdev &&
			    a->v[i].b.disk_rdev == b->v[k].b.disk_rdev)
				return true;
	return false;
}

/* Neither of which may be there yet. */
static bool is_one_name(const struct device *a, const struct device *b)
{
	return a->kind == DEVICE_FILE && b->kind == DEVICE_FILE && strcmp(a->node, b->node) == 0;
}

int shares_find(void *ctx, const struct device *devs, size_t n, struct device_share *ret, struct err *err)
{
	const char *root = sysroot_of(ctx);
	cleanup_free struct stack *s = xcalloc(n, sizeof(*s));
	size_t built = 0;
	int r = 0;

	*ret = (struct device_share){ .kind = SHARE_NOTHING };
	for (size_t i = 0; i < n && r == 0; i++) {
		r = stack_build(root, &devs[i], &s[i], NULL, err);
		built += r == 0;
	}
	for (size_t i = 0; i < n && r == 0; i++)
		for (size_t k = 0; k < i && ret->kind != SHARE_BYTES; k++) {
			bool is_dir = devs[i].kind == DEVICE_DIRECTORY || devs[k].kind == DEVICE_DIRECTORY;

			if (!is_dir && (is_one_name(&devs[i], &devs[k]) || has_bytes_of(&s[i], &devs[k]) ||
			                has_bytes_of(&s[k], &devs[i])))
				*ret = (struct device_share){ SHARE_BYTES, k, i };
			else if (ret->kind == SHARE_NOTHING && has_disk_of(&s[k], &s[i]))
				*ret = (struct device_share){ SHARE_DISK, k, i };
		}
	for (size_t i = 0; i < built; i++)
		stack_done(&s[i]);
	return r;
}
