/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --rewrite's journals at the begin and the end of a run, and --recover. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include "base/units.h"
#include "measure/zones/rewrite.h"
#include "measure/zones/zones.h"

#define TMPFS_MAGIC_NUMBER 0x01021994

static int make_chunk(struct zones_run *run, struct err *err)
{
	size_t bytes = 0;
	void *p;

	for (size_t i = 0; i < run->ntargets; i++)
		bytes = run->targets[i].layout.window_bytes > bytes ? run->targets[i].layout.window_bytes : bytes;
	bytes = (bytes + (2u << 20) - 1) & ~((size_t)(2u << 20) - 1);
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return err_set(err, -ENOMEM, "Out of memory for the %zu bytes that --rewrite holds.", bytes);
	(void)madvise(p, bytes, MADV_HUGEPAGE); /* smaller pages are only slower */
	run->chunk = p;
	run->chunk_bytes = bytes;
	return 0;
}

static void say_recovery(struct zones_run *run, const struct zone_target *t, const struct rewrite_chunk *chunk,
                         const struct rewrite_recovery *r)
{
	char len[32], at[32];

	(void)units_bytes(len, sizeof(len), chunk->len_bytes);
	(void)units_bytes(at, sizeof(at), chunk->offset_bytes);
	if (r->same == r->sectors)
		result_notice(
			run->ses->res, "recovered",
			"%s: an earlier --rewrite was interrupted (%s) while it wrote %s at %s; all of it is as it was before.",
			t->dev->path, chunk->when, len, at);
	else
		result_notice(run->ses->res, "recovered",
		              "%s: an earlier --rewrite was interrupted (%s) while it wrote %s at %s; %" PRIu64
		              " of %" PRIu64 " sectors were damaged, %" PRIu64 " were put back.",
		              t->dev->path, chunk->when, len, at, r->unreadable + r->differing, r->sectors,
		              r->restored);
}

static int recover(struct zones_run *run, struct zone_target *t, struct err *err)
{
	const struct strs *despite = &run->ses->common->consent.despite;
	struct rewrite_recovery found;
	struct rewrite_chunk chunk;
	int r;

	if (!rewrite_pending(t->journal, &chunk)) {
		if (run->p->recover)
			result_notice(run->ses->res, "nothing-to-recover",
			              "%s: no --rewrite was interrupted (no block in %s).", t->dev->path,
			              rewrite_path(t->journal));
		return 0;
	}
	for (size_t i = 0; i < despite->n; i++)
		if (strcmp(despite->v[i], "identity") == 0)
			rewrite_insist(t->journal);
	r = rewrite_recover(t->journal, run->eng, &run->ses->targets[t->index], t->dev->logical_block_bytes,
	                    run->p->recover, &found, err);
	session_moved(run->ses, t->index, found.read_bytes, found.written_bytes);
	if (r < 0)
		return r;
	if (found.same < found.sectors && !run->p->recover)
		return err_set(
			err, -EUCLEAN,
			"%s: an earlier --rewrite was interrupted (%s) while it wrote at %" PRIu64 "; %" PRIu64
			" sectors there differ from what it was to put back, %" PRIu64
			" cannot be read. If nobody wrote to the disk since then, `platter zones --recover` puts "
			"them back; otherwise remove %s.",
			t->dev->path, chunk.when, chunk.offset_bytes, found.differing, found.unreadable,
			rewrite_path(t->journal));
	say_recovery(run, t, &chunk, &found);
	return 0;
}

static void warn_of_memory(struct zones_run *run)
{
	struct statfs fs;

	if (statfs(run->p->journal, &fs) == 0 && fs.f_type == TMPFS_MAGIC_NUMBER)
		result_notice(
			run->ses->res, "journal-in-memory",
			"The journal directory %s is in memory: it will not outlive a power failure. Choose one on a disk with --journal.",
			run->p->journal);
}

int zones_journal_open(struct zones_run *run, struct err *err)
{
	const struct env *env = run->ses->env;
	int r = 0;

	for (size_t i = 0; r == 0 && i < run->ntargets; i++) {
		struct zone_target *t = &run->targets[i];

		if (t->dev->kind != DEVICE_FILE && env->devices->holds &&
		    env->devices->holds(env->devices_ctx, t->dev, run->p->journal))
			return err_set(
				err, -EINVAL,
				"The journal directory %s lies on %s itself; choose one on another disk with --journal.",
				run->p->journal, t->dev->path);
		r = rewrite_open(&t->journal, run->p->journal, t->dev, err);
		if (r == 0)
			r = recover(run, t, err);
	}
	if (r == 0)
		warn_of_memory(run);
	return r == 0 && run->p->rewrite ? make_chunk(run, err) : r;
}

void zones_journal_close(struct zones_run *run)
{
	for (size_t i = 0; i < run->ntargets; i++)
		rewrite_close(run->targets[i].journal);
	if (run->chunk)
		(void)munmap(run->chunk, run->chunk_bytes);
}
