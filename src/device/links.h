/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only: the graph that stack.h walks; what is directly below and above one node. */
#pragma once

#include "device/mapper.h"
#include "device/mounts.h"

enum relation {
	REL_SELF,
	REL_PART,    /* a partition of it */
	REL_OVERLAP, /* another partition that shares bytes with it */
	REL_DISK,    /* the disk of the partition: only its own users count, not those of the other partitions */
	REL_BELOW,   /* what holds its bytes: members, what a loop device is over, devices and files alike */
	REL_TWIN,    /* another path to the same disk */
	REL_ABOVE,   /* whatever else shares bytes with any of these, and what stands on that */
	/* holds its bytes, but as those of a file (or a thin volume): who else uses it does no harm to it */
	REL_GROUND,
};

/* The same for all names of a file: hard links, links, bind mounts, none at all. */
struct file_id {
	dev_t dev; /* 0 and inode 0: none */
	uint64_t inode;
	bool is_layered; /* of an overlay, whose layers show the same file under another number of file system */
};
bool file_id_is_same(const struct file_id *a, const struct file_id *b);

struct stack_node {
	struct sys_block b;  /* rdev 0: a file */
	struct file_id file; /* of files */
	enum relation rel;
	uint64_t first, end; /* the bytes of it that the target has, or may have; beyond them others have it */
	bool is_down;        /* the target, or what holds its bytes */
	bool is_held;   /* claimed from the kernel by a mapping or an array, below the target or of other bytes: nobody
	                   else can claim it */
	bool is_bottom; /* a device over no other: a disk */
	bool is_shared; /* a disk with partitions that have none of these bytes */
	bool is_new;    /* the walk has still to go on from here */
	unsigned growths;
};

static inline bool node_is_file(const struct stack_node *n)
{
	return n->b.rdev == 0;
}
struct loop { /* a bound loop device */
	struct sys_block b;
	char path[256]; /* of its file, as the kernel names it */
	struct file_id file;
	dev_t file_rdev;     /* its file is this block device; 0: a plain file */
	uint64_t first, end; /* bytes of the file */
	bool is_sure;        /* by the kernel's own numbers, not by the name */
};

struct stack {
	const char *root;
	struct stack_node *v; /* the first is the target */
	size_t n;
	struct stack_edge { /* by index */
		size_t upper, lower;
	} * edges;
	size_t nedges;
	struct loop *loops;
	size_t nloops;
	struct mounts mounts;
	/* where the graph is not all there is: a link that could not be followed, a circle; "": nowhere */
	char cut[200];
	bool is_too_large;
};

struct link {
	struct sys_block b; /* the other end; rdev 0: a file */
	struct file_id file;
	uint64_t up_first, up_end, low_first, low_end; /* bytes of the upper and of the lower that are the same */
	bool is_exact;                                 /* byte by byte; else anywhere within */
	struct spread spread;                          /* how, if it is by chunks and known */
	bool is_ground; /* the upper is a file or a thin volume of the lower: the lower itself sees to it that their
	                   bytes are nobody else's */
	bool is_held;   /* the upper claims the lower from the kernel */
	bool is_partition;
	const struct loop *loop; /* the upper is one */
};
typedef void link_taker(void *arg, const struct link *l);
typedef void rdev_taker(void *arg, dev_t rdev);

void links_down(struct stack *s, const struct stack_node *n, bool wants_ground, link_taker *take, void *arg);
void links_up(struct stack *s, const struct stack_node *n, link_taker *take, void *arg);
/* All bound loop devices into s->loops. */
void links_find_loops(struct stack *s);
/* Each device of the btrfs of this UUID, mounted where it may. */
void btrfs_members(const char *root, const char *uuid, rdev_taker *take, void *arg);
/* Each block device that a mounted file system lies on. */
void mount_devices(const char *root, const struct mount *m, rdev_taker *take, void *arg);
/* Of an open or named file; path: for overlays, whose layers are looked through. */
struct file_id file_id_of(const char *root, const struct mounts *m, const char *path, dev_t dev, uint64_t inode);
