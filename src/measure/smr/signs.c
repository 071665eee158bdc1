/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is evidence for tracks that shingle without a write. None of it proves anything, and that it is not there says
 * nothing: each has a weight, in decades of likelihood, and those of TRIM are one thing seen three ways, so that only
 * the heaviest counts.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/shared/timed.h"
#include "measure/smr/smr.h"

#define READS       32
#define FAST_NS     0.7e6 /* nothing was read from media in less */
#define SLOW_NS     1.5e6 /* but most of the others were */
#define FAST_LEAST  2     /* one may have been in the drive's buffer */
#define SAYS_SO     4.0
#define TRIM        2.0 /* of a disk that says how fast it turns */
#define TRIM_ANY    0.3 /* volumes take TRIM and say that they turn */
#define NOT_STORED  1.5
#define IN_DOCUMENT 1.0

struct sign {
	const char *sign, *seen; /* "yes", "no", "not-looked" */
	double weight_log10;
};

const struct field smr_sign_fields[] = {
	FIELD_STR(struct sign, sign, "sign"),
	FIELD_STR(struct sign, seen, "seen"),
	FIELD_F64(struct sign, weight_log10, UNIT_NONE, "evidence for it (log10 odds)"),
	FIELD_END,
};

enum { ZONED, TAKES_TRIM, FAST_PLACES, FAST_STRETCHES, SIGNS };

static void report(struct result *res, const struct sign *v)
{
	struct table *t = result_table(res, "signs", SMR_SIGNS_TITLE, smr_sign_fields);
	double most = 0;

	for (size_t i = 0; i < SIGNS; i++) {
		result_row(t, &v[i]);
		most = fmax(most, v[i].weight_log10);
	}
	result_figure(res, "signs_log10_ratio", "evidence without writing (log10 odds)", UNIT_NONE, most, NULL, 0);
}

static void look(struct sign *s, bool is_seen, double weight)
{
	s->seen = is_seen ? "yes" : "no";
	s->weight_log10 = is_seen ? weight : 0;
}

/* Places that answer faster than media can, among others that do not. */
static int read_places(struct smr_io *io, struct sign *ret, struct err *err)
{
	struct timed t;
	uint64_t at[READS];
	double ns[READS];
	size_t fast = 0, slow = 0;
	int r;

	smr_timed(io, 2, &t);
	for (size_t i = 0; i < READS; i++)
		at[i] = timed_random(&t, 0, io->target->size_bytes);
	r = timed_reads(&t, at, READS, ns, NULL, err);
	for (size_t i = 0; i < READS; i++) {
		fast += ns[i] < FAST_NS;
		slow += ns[i] > SLOW_NS;
	}
	if (fast + slow > READS / 2) /* as many were read */
		look(ret, fast >= FAST_LEAST && slow >= FAST_LEAST, NOT_STORED);
	return r;
}

int smr_read_zones(const char *path, const struct device *dev, bool *ret_not_stored, struct err *err)
{
	struct result *doc = NULL;
	int r = result_load(&doc, path, err);
	struct disk_names then, now;
	enum disk_name by;

	if (r < 0)
		return r;
	device_names(dev, &now);
	if (doc->ntargets == 1)
		result_names(doc, 0, &then);
	if (strcmp(doc->head.measurement ? doc->head.measurement : "", "zones") != 0 || doc->ntargets != 1)
		r = err_set(err, -EINVAL, "--zones=%s is not a result of `platter zones` of one disk.", path);
	else if (same_disk(&then, &now, NULL) == DISK_OTHER)
		r = err_set(err, -EINVAL, "--zones=%s is of the disk %s, not of %s; give one of this disk.", path,
		            disk_lasting_name(&then, &by) ?: then.place, dev->path);
	else
		*ret_not_stored = result_has_notice(doc, "not-stored");
	result_free(doc);
	return r;
}

int smr_signs(struct smr_io *io, const bool *not_stored, struct err *err)
{
	const struct device *dev = &io->ses->devs[0];
	bool is_folder = dev->kind == DEVICE_DIRECTORY;
	struct sign v[SIGNS] = { [ZONED] = { "says-so", "not-looked", 0 },
		                 [TAKES_TRIM] = { "takes-trim", "not-looked", 0 },
		                 [FAST_PLACES] = { "not-stored-places", "not-looked", 0 },
		                 [FAST_STRETCHES] = { "not-stored-in-zones", "not-looked", 0 } };
	int r = 0;

	look(&v[ZONED], device_is_zoned(dev), SAYS_SO);
	if (dev->rotational == 1)
		look(&v[TAKES_TRIM], dev->discard_max_bytes > 0, dev->reported_rpm && !dev->below[0] ? TRIM : TRIM_ANY);
	if (not_stored)
		look(&v[FAST_STRETCHES], *not_stored, IN_DOCUMENT);
	if (!is_folder && io->eng && !session_is_over(io->ses))
		r = read_places(io, &v[FAST_PLACES], err);
	if (r == 0)
		report(io->ses->res, v);
	return r;
}
