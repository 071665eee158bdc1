/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `mark` will do: options, the sizes of --sweep, room for the file. */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "measure/mark/mark.h"

const char *const mark_way_names[] = { "stream", "syscall", "media", NULL };

static const char *const modes[] = { "both", "direct", NULL };

const struct opt mark_opts[] = {
	OPT_U64(struct mark_params, count, "count", 'c', "N", NULL, "write N records instead of writing for --time",
	        .min = 100, .max = 1e12),
	OPT_U64(struct mark_params, repeat, "repeat", 'r', "N", "3", "repetitions of each way", .min = 1,
	        .max = MARK_REPEATS_MAX, .is_aside = true),
	OPT_BYTES(struct mark_params, max_size_bytes, "size", 0, "SIZE", "2G", "let the file grow to this size at most",
	          .min = 65536, .max = 9e18),
	OPT_STR(struct mark_params, sweep, "sweep", 0, "LIST", NULL,
	        "mark against file size: seconds of writing (0.5,1,10) or sizes (64M,1G)"),
	OPT_BYTES(struct mark_params, memory_bytes, "memory", 0, "SIZE", NULL,
	          "run within a memory cgroup of this size", .min = 16777216, .max = 9e18),
	OPT_CHOICE(struct mark_params, mode, "mode", 0, modes, "both",
	           "all ways, or only the media way past the page cache"),
	OPT_FLAG(struct mark_params, keep, "keep", 0, "leave the file where it is", .is_aside = true),
	OPT_END,
};

uint64_t mark_room_for(const char *path, uint64_t want)
{
	while (want >= (1u << 20) && datafile_check_space(path, want, NULL) < 0)
		want /= 2;
	return want >= (1u << 20) ? want : 0;
}

int mark_sweep_item(const char *text, size_t len, uint64_t *ret_ns, uint64_t *ret_bytes, struct err *err)
{
	char word[64];
	double seconds;
	int r;

	if (len == 0 || len >= sizeof(word))
		return err_set(err, -EINVAL, "--sweep takes seconds or sizes; write it like 0.5,1,2.5 or 64M,256M,1G.");
	memcpy(word, text, len);
	word[len] = '\0';
	*ret_ns = *ret_bytes = 0;
	if (units_parse_f64(word, &seconds, NULL) == 0 && seconds > 0.0 && seconds < 1e6) {
		*ret_ns = (uint64_t)(seconds * 1e9);
		return 0;
	}
	r = units_parse_bytes(word, ret_bytes, err);
	return r < 0 && err ? err_prefix(err, "--sweep") : r;
}

/* The list (NULL: none) is well-formed, and there is room for the largest of its sizes. */
static int check_sweep(const char *list, const char *path, struct err *err)
{
	uint64_t ns, bytes, largest = 0;
	int r = 0;

	for (const char *at = list; r == 0 && at && *at;) {
		size_t len = strcspn(at, ",");

		r = mark_sweep_item(at, len, &ns, &bytes, err);
		largest = r == 0 && bytes > largest ? bytes : largest;
		at += len + (at[len] == ',');
	}
	if (r == 0 && largest)
		r = datafile_check_space(path, largest, err);
	return r == -ENOSPC && err ? err_prefix(err, "--sweep") : r;
}

int mark_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err)
{
	const struct mark_params *p = params;
	const struct device *d = &ses->devs[0];
	uint64_t t = ses->common->time_ns ? ses->common->time_ns : NS_PER_S;
	int r;

	plan->opens_itself = plan->lasts = true;
	plan->is_direct = p->mode;
	plan->read_bytes = plan->write_bytes = UINT64_MAX;
	plan_phase(plan, p->mode ? "media" : "three ways", (p->mode ? 1 : 3) * p->repeat * 3 * t);
	r = check_sweep(p->sweep, d->path, err);
	return r < 0 ? r : datafile_check(d, mark_room_for(d->path, p->max_size_bytes) ?: p->max_size_bytes, err);
}
