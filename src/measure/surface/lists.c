/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists for other programs: ddrescue's mapfile, and block numbers for e2fsck -l. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "measure/surface/surface.h"

#define EXT_SUPER_BYTES 4096 /* that hold it: it begins at 1024 */
#define EXT_LOG_BLOCK   (1024 + 24)
#define EXT_MAGIC       (1024 + 56)
#define EXT_BLOCK_LEAST 1024u
#define EXT_LOG_MOST    6

struct list {
	const struct surface_run *run;
	uint32_t block_bytes;
};

/* ---- ddrescue ---- */

static void map_line(FILE *f, uint64_t first, uint64_t end, char status)
{
	if (first < end)
		(void)fprintf(f, "0x%08" PRIX64 "  0x%08" PRIX64 "  %c\n", first, end - first, status);
}

/*
 * What was not scanned is "non-tried", what was read counts as such, though nothing was copied: for --domain-mapfile. A
 * request that failed and was not narrowed down to its sectors is "non-trimmed": most of it may be readable.
 */
static int write_map(FILE *f, void *arg)
{
	const struct list *l = arg;
	const struct surface_failures *bad = &l->run->failures, *skipped = &l->run->later.skipped;
	uint64_t at = l->run->range.first_bytes, to = l->run->position;

	(void)fprintf(f, "# Mapfile of a scan by platter surface\n# current_pos  current_status  current_pass\n");
	(void)fprintf(f, "0x%08" PRIX64 "     %c               1\n#      pos        size  status\n", to,
	              to < l->run->range.end_bytes ? '?' : '+');
	map_line(f, 0, at, '?');
	for (size_t i = 0, k = 0; (i < bad->n && bad->v[i].first_bytes < to) || k < skipped->n;) {
		bool is_bad = i < bad->n && (k == skipped->n || bad->v[i].first_bytes <= skipped->v[k].first_bytes);
		const struct surface_failed *e = is_bad ? &bad->v[i++] : &skipped->v[k++];
		uint64_t first = e->first_bytes > at ? e->first_bytes : at, end = e->end_bytes < to ? e->end_bytes : to;

		map_line(f, at, first, '+');
		map_line(f, first, end, !is_bad ? '?' : e->is_sector ? '-' : '*');
		at = end > at ? end : at;
	}
	map_line(f, at, to, '+');
	map_line(f, to, l->run->ses->devs[0].size_bytes, '?');
	return ferror(f) ? -EIO : 0;
}

/* ---- e2fsck ---- */

static int write_blocks(FILE *f, void *arg)
{
	const struct list *l = arg;
	const struct surface_failures *bad = &l->run->failures;
	uint64_t next = 0; /* a block may hold several bad sectors */

	for (size_t i = 0; i < bad->n; i++) {
		uint64_t b = bad->v[i].first_bytes / l->block_bytes;

		for (b = b < next ? next : b; b * l->block_bytes < bad->v[i].end_bytes; b++)
			(void)fprintf(f, "%" PRIu64 "\n", b);
		next = b;
	}
	return ferror(f) ? -EIO : 0;
}

struct super {
	struct sink sink; /* first */
	uint8_t v[EXT_SUPER_BYTES];
	bool is_read;
};

static void super_take(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct super *s = (struct super *)sink;

	s->is_read = !is_fault;
	if (s->is_read)
		memcpy(s->v, req->buf, sizeof(s->v));
}

int surface_lists_prepare(struct surface_run *run, struct err *err)
{
	struct list_item item = { .len_bytes = EXT_SUPER_BYTES, .op = IO_READ };
	struct super super = { .sink = { super_take } };
	struct load load = { .targets = run->ses->targets, .ntargets = 1, .sink = &super.sink, .depth = 1 };
	struct list_feeder feeder;
	struct load_stats stats;
	unsigned log;
	int r;

	if (!run->p->badblocks)
		return 0;
	list_feeder_init(&feeder, &item, 1);
	load.feeder = &feeder.f;
	r = session_load(run->ses, &load, run->eng, &stats, err);
	if (r < 0)
		return r;
	log = super.v[EXT_LOG_BLOCK];
	if (!super.is_read || super.v[EXT_MAGIC] != 0x53 || super.v[EXT_MAGIC + 1] != 0xEF || log > EXT_LOG_MOST)
		return err_set(
			err, -EINVAL,
			"--badblocks wants the device of an ext file system, whose blocks it counts, and %s begins with "
			"none; give the partition or the volume.",
			run->ses->devs[0].path);
	run->range.fs_block_bytes = EXT_BLOCK_LEAST << log;
	return 0;
}

int surface_lists_save(const struct surface_run *run, struct err *err)
{
	struct list l = { run, run->range.fs_block_bytes };
	int r = 0;

	if (run->p->mapfile)
		r = session_save(run->ses, run->p->mapfile, OUTFILE_MAPFILE, write_map, &l, err);
	if (r == 0 && run->p->badblocks)
		r = session_save(run->ses, run->p->badblocks, OUTFILE_BLOCKS, write_blocks, &l, err);
	return r;
}
