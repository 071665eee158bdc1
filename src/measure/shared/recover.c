/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The start of a run that puts bytes back: what an earlier one left in its journal comes first. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/units.h"
#include "measure/shared/rewrite.h"

#define TMPFS_MAGIC_NUMBER 0x01021994

static void say_recovery(struct session *ses, const struct device *dev, const struct rewrite_chunk *chunk,
                         const struct rewrite_recovery *r)
{
	char len[64], at[32];
	size_t n;

	(void)units_bytes(len, sizeof(len), chunk->len_bytes);
	n = strlen(len);
	if (chunk->places > 1)
		(void)snprintf(len + n, sizeof(len) - n, " in %" PRIu64 " places from", chunk->places);
	else
		(void)snprintf(len + n, sizeof(len) - n, " at");
	(void)units_bytes(at, sizeof(at), chunk->offset_bytes);
	if (r->same == r->sectors)
		result_notice(
			ses->res, "recovered",
			"%s: an earlier --rewrite was interrupted (%s) while it wrote %s %s; all of it is as it was before.",
			dev->path, chunk->when, len, at);
	else
		result_notice(ses->res, "recovered",
		              "%s: an earlier --rewrite was interrupted (%s) while it wrote %s %s; %" PRIu64
		              " of %" PRIu64 " sectors were damaged, %" PRIu64 " were put back.",
		              dev->path, chunk->when, len, at, r->unreadable + r->differing, r->sectors, r->restored);
}

static int recover(struct session *ses, size_t target, struct engine *eng, struct rewrite_journal *j, bool is_asked,
                   struct err *err)
{
	const struct device *dev = &ses->devs[target];
	struct rewrite_recovery found;
	struct rewrite_chunk chunk;
	int r;

	if (!rewrite_pending(j, &chunk)) {
		if (is_asked)
			result_notice(ses->res, "nothing-to-recover",
			              "%s: no --rewrite was interrupted (no block in %s).", dev->path, rewrite_path(j));
		return 0;
	}
	if (strs_have(&ses->common->consent.despite, "identity"))
		rewrite_insist(j);
	r = rewrite_recover(j, eng, &ses->targets[target], dev->logical_block_bytes, is_asked, &found, err);
	session_moved(ses, target, found.read_bytes, found.written_bytes);
	if (r < 0)
		return r;
	if (found.same < found.sectors && !is_asked)
		return err_set(
			err, -EUCLEAN,
			"%s: an earlier --rewrite was interrupted (%s) while it wrote at %" PRIu64 "; %" PRIu64
			" sectors there differ from what it was to put back, %" PRIu64
			" cannot be read. If nobody wrote to the disk since then, `platter zones --recover` puts "
			"them back; otherwise remove %s.",
			dev->path, chunk.when, chunk.offset_bytes, found.differing, found.unreadable, rewrite_path(j));
	say_recovery(ses, dev, &chunk, &found);
	return 0;
}

static void warn_of_memory(struct session *ses, const char *dir)
{
	struct statfs fs;

	if (statfs(dir, &fs) == 0 && fs.f_type == TMPFS_MAGIC_NUMBER &&
	    !result_has_notice(ses->res, "journal-in-memory"))
		result_notice(
			ses->res, "journal-in-memory",
			"The journal directory %s is in memory: it will not outlive a power failure. Choose one on a disk with --journal.",
			dir);
}

int rewrite_start(struct rewrite_journal **ret, struct session *ses, size_t target, struct engine *eng, const char *dir,
                  bool is_asked, struct err *err)
{
	const struct env *env = ses->env;
	const struct device *dev = &ses->devs[target];
	int r;

	if (dev->kind != DEVICE_FILE && env->devices->holds && env->devices->holds(env->devices_ctx, dev, dir))
		return err_set(err, -EINVAL,
		               "The journal directory %s lies on %s itself; choose one on another disk with --journal.",
		               dir, dev->path);
	r = rewrite_open(ret, dir, dev, err);
	if (r == 0)
		r = recover(ses, target, eng, *ret, is_asked, err);
	if (r == 0)
		warn_of_memory(ses, dir);
	return r;
}
