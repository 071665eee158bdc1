/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The start of a run that puts bytes back: what an earlier one left in its journal comes first. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "measure/shared/journal.h"

#define HAPPENED_BYTES 512

/* "/dev/sda: an earlier --rewrite was interrupted (...) while it wrote 4 MiB at 20 GiB" */
static const char *happened(const struct device *dev, const struct rewrite_journal *j, char *buf)
{
	char bytes[32], at[32], in[48] = "";

	(void)units_bytes(bytes, sizeof(bytes), j->h.data_bytes);
	(void)units_bytes(at, sizeof(at), j->list[0].place.offset_bytes);
	if (j->h.nplaces > 1)
		(void)snprintf(in, sizeof(in), " in %" PRIu64 " places", j->h.nplaces);
	(void)snprintf(buf, HAPPENED_BYTES, "%s: an earlier --rewrite was interrupted (%s) while it wrote %s%s %s %s",
	               dev->path, j->h.when, bytes, in, in[0] ? "from" : "at", at);
	return buf;
}

/* What was not put back, and what to do. */
static int report_rest(const struct session *ses, const struct device *dev, const struct rewrite_journal *j,
                       const struct rewrite_recovery *f, struct err *err)
{
	const char *boot = ses->env->boot_id ? ses->env->boot_id : "";
	struct consent_names names;
	char what[HAPPENED_BYTES], saved[1000] = "";
	const char *why;

	consent_names(dev, &names);
	why = f->is_foreign                                ? "Most of what lies there and beside it differs"
	      : boot[0] && strcmp(j->h.boot_id, boot) == 0 ? "A process that ends tears no sector, so these are newer"
	      : f->looks_torn
	              ? "They lie in the block that was being written, as after a power failure; or somebody wrote there"
	              : "They may be newer";
	if (f->saved[0])
		(void)snprintf(saved, sizeof(saved),
		               ", between %" PRIu64 " and %" PRIu64 "; both sides are saved in %s.then and .now",
		               f->first_bytes, f->end_bytes, f->saved);
	return err_set(
		err, -EUCLEAN,
		"%s. %" PRIu64 " of %" PRIu64 " sectors differ%s; %" PRIu64 " could not be read, %" PRIu64
		" were put back. %s. If what the journal holds is to replace what is there, add --destroy-data=%s.",
		happened(dev, j, what), f->differing, f->sectors, saved, f->unreadable, f->restored, why, names.v[0]);
}

static void say_recovery(struct session *ses, const struct device *dev, const struct rewrite_journal *j,
                         const struct rewrite_recovery *f)
{
	char what[HAPPENED_BYTES];

	(void)happened(dev, j, what);
	if (f->same == f->sectors)
		result_notice(ses->res, "recovered", "%s; all of it is as it was before.", what);
	else
		result_notice(ses->res, "recovered",
		              "%s; %" PRIu64 " of %" PRIu64 " sectors could not be read or differed, %" PRIu64
		              " were put back%s%s%s.",
		              what, f->unreadable + f->differing, f->sectors, f->restored,
		              f->saved[0] ? "; both sides are saved in " : "", f->saved,
		              f->saved[0] ? ".then and .now" : "");
}

static int recover(struct session *ses, size_t target, struct rewrite_journal *j, bool is_asked, struct err *err)
{
	const struct device *dev = &ses->devs[target];
	enum rewrite_wish wish = !is_asked                                      ? REWRITE_LOOK
	                         : consent_destroys(&ses->common->consent, dev) ? REWRITE_CONSENT
	                                                                        : REWRITE_ASKED;
	struct rewrite_recovery found;
	char text[HAPPENED_BYTES];
	const char *what;
	int r;

	switch (journal_owner(&j->h, dev, &what)) {
	case JOURNAL_OF_OTHER:
		return err_set(err, -EUCLEAN,
		               "%s holds an unfinished block of %s (serial %s, %" PRIu64 " bytes), but the %s of %s is "
		               "another one now. Nothing was touched; recover the device that it is of.",
		               j->path, j->h.of.path, j->h.of.serial[0] ? j->h.of.serial : "unknown",
		               j->h.of.size_bytes, what, dev->path);
	case JOURNAL_UNCERTAIN:
		if (strs_have(&ses->common->consent.despite, "identity"))
			break;
		return err_set(
			err, -EUCLEAN,
			"%s holds a block of %s, which shows nothing to identify it by. Nothing was touched; if you know that it is, add --despite=identity.",
			j->path, j->h.of.path);
	case JOURNAL_OF_THIS:
		break;
	}
	if (!journal_translate(j, dev))
		return err_set(
			err, -EUCLEAN,
			"%s holds blocks of %s of which some do not lie on %s; recover that one, or the whole disk.",
			j->path, j->h.of.path, dev->path);
	r = rewrite_recover(j, wish, &found, err);
	if (r < 0)
		return r;
	if (j->is_pending && wish == REWRITE_LOOK)
		return err_set(err, -EUCLEAN,
		               "%s. Sectors there that differ from what it was to put back: %" PRIu64
		               "; that cannot be read: %" PRIu64
		               ". `platter recover %s` puts back what it can, and shows the rest. The bytes are in %s.",
		               happened(dev, j, text), found.differing, found.unreadable, dev->path, rewrite_path(j));
	if (j->is_pending)
		return report_rest(ses, dev, j, &found, err);
	say_recovery(ses, dev, j, &found);
	return 0;
}

static void warn_of_memory(struct session *ses, const char *dir)
{
	const char *memory = device_memory_of(dir);

	if (memory && !result_has_notice(ses->res, "journal-in-memory"))
		result_notice(
			ses->res, "journal-in-memory",
			"The journal directory %s lies in %s: it will not outlive a power failure. Choose one on a "
			"disk with --journal.",
			dir, memory);
}

/* Does the folder lie on a disk that holds bytes of the device, be it beside them? Not known: yes. */
static bool shares_disk(const struct env *env, const struct device *dev, const char *dir)
{
	struct device both[2] = { *dev };
	struct device_share share;

	return env->devices->share && env->devices->probe(env->devices_ctx, dir, &both[1], NULL) == 0 &&
	       (env->devices->share(env->devices_ctx, both, 2, &share, NULL) < 0 || share.kind != SHARE_NOTHING);
}

static void belongs_to(struct rewrite_journal *j, struct session *ses, size_t target, struct engine *eng)
{
	j->ses = ses;
	j->eng = eng;
	j->target = target;
	guard_begin(j);
}

void rewrite_say_nothing(struct session *ses, size_t target, const char *dir)
{
	result_notice(ses->res, "nothing-to-recover", "%s: no --rewrite was interrupted (no block in %s).",
	              ses->devs[target].path, dir);
}

int rewrite_start(struct rewrite_journal **ret, struct session *ses, size_t target, struct engine *eng, const char *dir,
                  bool is_asked, struct err *err)
{
	const struct device *dev = &ses->devs[target];
	struct rewrite_journal *other;
	bool is_any;
	int r;

	r = rewrite_open(ret, dir, dev, err); /* makes the folder */
	if (r < 0)
		return r;
	if (!is_asked && dev->kind != DEVICE_FILE && shares_disk(ses->env, dev, dir))
		return err_set(
			err, -EINVAL,
			"The journal directory %s lies on a disk that %s lies on as well; choose one on another disk with --journal.",
			dir, dev->path);
	is_any = (*ret)->is_pending;
	belongs_to(*ret, ses, target, eng);
	r = is_any ? recover(ses, target, *ret, is_asked, err) : 0;
	while (r == 0 && rewrite_find(&other, dir, dev, *ret)) {
		belongs_to(other, ses, target, eng);
		r = recover(ses, target, other, is_asked, err);
		is_any = true;
		rewrite_close(other);
	}
	if (r == 0 && is_asked && !is_any)
		rewrite_say_nothing(ses, target, dir);
	if (r == 0)
		warn_of_memory(ses, dir);
	guard_begin(*ret);
	return r;
}
