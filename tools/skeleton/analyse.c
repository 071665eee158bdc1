/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the samples say, with what certainty. The same for those of a run, of a saved document, of a test. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "measure/skeleton/skeleton.h"

int skeleton_analyse(const struct skeleton_samples *samples, struct skeleton_found *ret)
{
	cleanup_free double *ns = calloc(samples->n + 1, sizeof(*ns));
	struct summary sum;

	if (!ns)
		return -ENOMEM;
	*ret = (struct skeleton_found){ .n = samples->n };
	for (size_t i = 0; i < samples->n; i++)
		ns[i] = (double)samples->v[i].service_ns;
	ret->has_mean = summary_of(ns, samples->n, &sum);
	if (ret->has_mean) {
		ret->mean_ns = sum.mean;
		ret->mean_ci = sum.mean_ci;
	}
	return 0;
}
