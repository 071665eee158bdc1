/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What targets have in common: those of one run, and those of several runs that would slow each other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "session/internal.h"

static int share_of(const struct env *env, const struct device *devs, size_t n, struct device_share *ret,
                    struct err *err)
{
	int r = 0;

	*ret = (struct device_share){ .kind = SHARE_NOTHING };
	if (env->devices->share)
		r = env->devices->share(env->devices_ctx, devs, n, ret, err);
	if (r < 0 || ret->kind != SHARE_BYTES)
		return r;
	return err_set(err, -EINVAL, "%s and %s are the same place, or have bytes in common; name each place once.",
	               devs[ret->a].path, devs[ret->b].path);
}

/* Bytes that two targets have in common would count twice; and the second could not be claimed beside the first. */
int lanes_check(struct session *ses, struct err *err)
{
	struct device_share share;
	int r;

	if (ses->ndevs < 2 || (ses->plan->read_bytes == 0 && ses->plan->write_bytes == 0))
		return 0;
	r = share_of(ses->env, ses->devs, ses->ndevs, &share, err);
	if (r == 0 && share.kind == SHARE_DISK && !ses->plan->in_turn)
		result_notice(ses->res, "one-disk",
		              "%s and %s lie on one disk: their rates are parts of what that disk gives.",
		              ses->devs[share.a].path, ses->devs[share.b].path);
	return r;
}

bool session_is_first_of_disk(const struct session *ses, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(ses->devs[k].disk, ses->devs[i].disk) == 0)
			return false;
	return ses->devs[i].disk[0] != '\0';
}

int session_lanes(const struct env *env, const char *const *paths, size_t n, size_t *ret_lane, struct err *err)
{
	cleanup_free struct device *devs = xcalloc(n + 1, sizeof(*devs));
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		ret_lane[i] = i;
		r = env->devices->probe(env->devices_ctx, paths[i], &devs[i], err);
		for (size_t k = 0; r == 0 && k < i; k++) {
			struct device pair[] = { devs[k], devs[i] };
			struct device_share share;

			r = share_of(env, pair, 2, &share, err);
			if (share.kind == SHARE_NOTHING && !device_shares_link(&devs[k], &devs[i]))
				continue;
			for (size_t m = 0, from = ret_lane[i]; m <= i; m++) /* with all that are in it */
				ret_lane[m] = ret_lane[m] == from ? ret_lane[k] : ret_lane[m];
		}
	}
	return r;
}
