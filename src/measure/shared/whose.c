/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of which device a journal is, and where its places lie on another device of the same disk. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/samedisk.h"
#include "measure/shared/journal.h"

void journal_name(const struct device *dev, char *buf, size_t len)
{
	struct disk_names names;
	enum disk_name which;
	const char *lasting;
	char id[200];

	device_names(dev, &names);
	lasting = disk_lasting_name(&names, &which);
	if (dev->kind == DEVICE_FILE && dev->id.uuid[0])
		lasting = dev->id.uuid;
	if (lasting && strlen(lasting) < sizeof(id) - 32)
		(void)snprintf(id, sizeof(id), "%s", lasting);
	else if (lasting) /* as a whole, or two would meet in one file */
		(void)snprintf(id, sizeof(id), "%.100s-%016" PRIx64, lasting, payload_hash(lasting, strlen(lasting)));
	else
		(void)snprintf(id, sizeof(id), "%s-%" PRIx64 "-%" PRIx64, dev->name,
		               (uint64_t)(dev->kind == DEVICE_FILE ? dev->rdev : dev->disk_rdev), dev->file.inode);
	for (char *c = id; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", *c))
			*c = '_';
	(void)snprintf(buf, len, "rewrite-%s-%" PRIu64 ".journal", id, dev->partition_offset_bytes);
}

void journal_set_identity(struct journal_header *h, const struct device *dev)
{
	struct journal_identity *of = &h->of;

	(void)snprintf(of->serial, sizeof(of->serial), "%s", dev->id.serial);
	(void)snprintf(of->model, sizeof(of->model), "%s", dev->id.model);
	(void)snprintf(of->wwn, sizeof(of->wwn), "%s", dev->id.wwn);
	(void)snprintf(of->uuid, sizeof(of->uuid), "%s", dev->id.uuid);
	(void)snprintf(of->part_uuid, sizeof(of->part_uuid), "%s", dev->id.part_uuid);
	(void)snprintf(of->vendor, sizeof(of->vendor), "%s", dev->id.vendor);
	(void)snprintf(of->disk, sizeof(of->disk), "%s", dev->disk);
	of->serial_is_bridges = dev->id.serial_is_bridges;
	(void)snprintf(of->path, sizeof(of->path), "%s", dev->path);
	of->size_bytes = dev->size_bytes;
	of->partition_offset_bytes = dev->partition_offset_bytes;
	of->disk_size_bytes = dev->disk_size_bytes;
	of->kind = dev->kind;
}

/* Disk and partition, or two partitions: places are translated. Mappings and files have places of their own. */
static bool is_other_part(const struct journal_identity *of, const struct device *dev)
{
	return of->disk_size_bytes && of->disk_size_bytes == dev->disk_size_bytes &&
	       (of->kind == DEVICE_DISK || of->kind == DEVICE_PARTITION) &&
	       (dev->kind == DEVICE_DISK || dev->kind == DEVICE_PARTITION) &&
	       (of->partition_offset_bytes != dev->partition_offset_bytes || of->size_bytes != dev->size_bytes);
}

enum journal_owner journal_owner(const struct journal_header *h, const struct device *dev, const char **ret_what)
{
	const struct journal_identity *of = &h->of;
	const struct disk_names then = { .serial = of->serial,
		                         .wwn = of->wwn,
		                         .model = of->model,
		                         .vendor = of->vendor,
		                         .uuid = of->uuid,
		                         .kernel = of->disk,
		                         .size_bytes = of->disk_size_bytes,
		                         .serial_is_bridges = of->serial_is_bridges };
	bool is_part = is_other_part(of, dev);
	struct disk_names now;
	enum same_disk answer;
	enum disk_name by;

	device_names(dev, &now);
	answer = same_disk(&then, &now, &by);
	*ret_what = answer == DISK_OTHER                                                ? disk_name_text(by)
	            : is_part                                                           ? NULL
	            : of->size_bytes != dev->size_bytes                                 ? "size"
	            : of->partition_offset_bytes != dev->partition_offset_bytes         ? "place of the partition"
	            : of->part_uuid[0] && strcmp(of->part_uuid, dev->id.part_uuid) != 0 ? "UUID of the partition"
	                                                                                : NULL;
	if (*ret_what)
		return JOURNAL_OF_OTHER;
	/* In a bridge or a place another disk may be next time. */
	return answer == DISK_SAME && by != NAME_BRIDGE && by != NAME_PLACE ? JOURNAL_OF_THIS : JOURNAL_UNCERTAIN;
}

/* Bytes of the journal's device, seen from dev; false: not on it. */
static bool translate(const struct journal_identity *of, const struct device *dev, uint64_t *offset, uint64_t len)
{
	uint64_t at = *offset;

	if (is_other_part(of, dev)) {
		if (__builtin_add_overflow(at, of->partition_offset_bytes, &at) || at < dev->partition_offset_bytes)
			return false;
		at -= dev->partition_offset_bytes;
	}
	*offset = at;
	return len <= dev->size_bytes && at <= dev->size_bytes - len;
}

bool journal_meets(const struct rewrite_journal *j, const struct device *dev)
{
	for (uint64_t i = 0; i < j->h.nplaces; i++) {
		uint64_t first = j->list[i].place.offset_bytes, last = first + j->list[i].place.len_bytes - 1;

		if (translate(&j->h.of, dev, &first, 0) || translate(&j->h.of, dev, &last, 1))
			return true;
	}
	return false;
}

bool journal_translate(struct rewrite_journal *j, const struct device *dev)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < j->h.nplaces; i++)
		if (!translate(&j->h.of, dev, &j->list[i].place.offset_bytes, j->list[i].place.len_bytes))
			return false;
	for (uint64_t i = 0; i < j->h.nbeside && i < BESIDE_MAX; i++) {
		j->h.beside[n] = j->h.beside[i];
		n += translate(&j->h.of, dev, &j->h.beside[n].offset_bytes, BESIDE_BYTES);
	}
	j->h.nbeside = n;
	return true;
}
