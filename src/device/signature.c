/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is on it: every signature that libblkid knows, ambivalent ones too (blkid_do_probe() in a loop, as wipefs(8)
 * does), with and without valid checksums, and backups of partition tables. Then, for what has no signature (raw
 * databases, plain encryption), a sample of blocks that are not zero.
 */
#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/xalloc.h"
#include "device/inside.h"

#define SIGNATURES_MAX 128 /* on one device: a bound on the loop */
#define SAMPLES        64
#define SAMPLE_SEED    0x706c6174u
#define SAMPLES_NS     2000000000ull /* a disk that answers no read takes seconds for each: not 64 times */

static const char *value(blkid_probe pr, const char *name)
{
	const char *v = NULL;

	return blkid_probe_lookup_value(pr, name, &v, NULL) == 0 && v ? v : "";
}

static void add_signature(blkid_probe pr, const char *name, struct survey *out)
{
	const char *type = value(pr, "TYPE"), *usage = value(pr, "USAGE"), *label = value(pr, "LABEL");
	const char *at = value(pr, "SBMAGIC_OFFSET");
	bool is_table = !type[0];
	char where[256], clean[64];

	if (is_table) {
		type = value(pr, "PTTYPE");
		at = value(pr, "PTMAGIC_OFFSET");
		usage = "partition table";
	}
	if (!type[0])
		return;
	text_clean(clean, sizeof(clean), label, strlen(label));
	(void)snprintf(where, sizeof(where), "%s%s%s%s%s%s",
	               strcmp(usage, "filesystem") == 0          ? "file system"
	               : strcmp(usage, "raid") == 0              ? "RAID or volume member"
	               : strcmp(usage, "crypto") == 0            ? "encrypted"
	               : usage[0] && strcmp(usage, "other") != 0 ? usage
	                                                         : "signature",
	               clean[0] ? " labelled \"" : "", clean, clean[0] ? "\"" : "", at[0] ? " at byte " : "", at);
	survey_add(out, FINDING_SIGNATURE, name, type, where);
}

void signature_unread(const char *name, const char *why, struct survey *out)
{
	survey_add(out, FINDING_SIGNATURE, name, SIGNATURE_UNREADABLE, why);
}

static void unreadable(const char *name, int code, struct survey *out)
{
	signature_unread(name, code == EACCES || code == EPERM ? err_forbidden() : strerror(code), out);
}

/* Does it read its first or its last block? */
static bool answers(int fd)
{
	uint64_t size = 0;
	uint8_t byte;

	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* without reading ahead, each part of which would be tried */
	if (pread(fd, &byte, 1, 0) == 1)
		return true;
	return ioctl(fd, BLKGETSIZE64, &size) == 0 && size && pread(fd, &byte, 1, (off_t)(size - 1)) == 1;
}

void signature_scan(const char *node, dev_t rdev, const char *name, struct survey *out)
{
	cleanup_close int fd = sys_node_open(node, rdev, 0);
	blkid_probe pr = NULL;
	int r = 0;

	if (fd < 0) {
		unreadable(name, -fd, out);
		return;
	}
	errno = 0;
	if (answers(fd)) /* else libblkid would ask for dozens of places */
		pr = xmust(blkid_new_probe());
	if (!pr || blkid_probe_set_device(pr, fd, 0, 0) != 0) {
		unreadable(name, pr && errno ? errno : EIO, out);
		blkid_free_probe(pr);
		return;
	}
	(void)blkid_probe_enable_superblocks(pr, 1); /* these three only set bits */
	(void)blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE | BLKID_SUBLKS_LABEL |
	                                                    BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_BADCSUM);
	(void)blkid_probe_enable_partitions(pr, 1);
	(void)blkid_probe_set_partitions_flags(pr, BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT);
	for (int n = 0; r == 0 && n < SIGNATURES_MAX; n++) {
		errno = 0;
		r = blkid_do_probe(pr);
		if (r == 0)
			add_signature(pr, name, out);
	}
	if (r < 0 || (r == 1 && errno == EIO))
		unreadable(name, errno ? errno : EIO, out);
	blkid_free_probe(pr);
}

void sample_blocks(const struct device *dev, struct survey *out)
{
	cleanup_close int fd = sys_node_open(dev->node, dev->rdev, O_DIRECT);
	uint32_t block = dev->logical_block_bytes < 4096 ? 4096 : dev->logical_block_bytes;
	uint64_t until = clock_now_ns(clock_monotonic()) + SAMPLES_NS;
	unsigned nonzero = 0, bad = 0, n = 0;
	cleanup_free uint8_t *buf = NULL;
	struct rng rng;
	char what[128];

	if (fd < 0 || dev->size_bytes / block < SAMPLES)
		return; /* only a warning rests on it */
	buf = xaligned(block);
	rng_init(&rng, SAMPLE_SEED, 0);
	for (unsigned i = 0; i < SAMPLES && clock_now_ns(clock_monotonic()) < until; i++) {
		uint64_t blocks = dev->size_bytes / block / SAMPLES; /* of each of the equal pieces */
		uint64_t at = (i * blocks + rng_below(&rng, blocks)) * block;
		ssize_t got = pread(fd, buf, block, (off_t)at);

		n++;
		if (got != (ssize_t)block)
			bad++;
		else if (buf[0] || memcmp(buf, buf + 1, block - 1) != 0)
			nonzero++;
	}
	if (nonzero + bad == 0)
		return;
	(void)snprintf(what, sizeof(what), bad ? "%u of %u (%u cannot be read)" : "%u of %u", nonzero, n, bad);
	survey_add(out, FINDING_DATA, dev->name, what, "");
}
