/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked for: the options, and whether the target is one for it. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "measure/cache/cache.h"

const char *const cache_mode_names[] = { "both", "cached", "direct", NULL };
static const char *const sync_names[] = { "none", "end", "each", NULL };

static const char *const cache_parts[] = { "knee", NULL };

const struct opt cache_opts[] = {
	OPT_SIZES(struct cache_params, size, "size", 0, "1M-",
	          "files of these sizes (default up to twice the memory); of a file that exists, the part that is read",
	          .min = 65536, .max = 9e18),
	OPT_SIZES(struct cache_params, block, "block", 0, "512-64K", "records of these sizes", .min = 1,
	          .max = 16777216),
	OPT_U64(struct cache_params, repeat, "repeat", 0, "N", "3", "repetitions of each cell", .min = 3,
	        .max = CACHE_REPEATS_MAX, .is_aside = true),
	OPT_TIME(struct cache_params, cell_ns, "slice", 0, "TIME", "200ms", "longest time of one repetition",
	         .min = 1e6, .max = 1e13),
	OPT_BYTES(struct cache_params, memory_bytes, "memory", 0, "SIZE", NULL,
	          "run within a memory cgroup of this size", .min = 16777216, .max = 9e18),
	OPT_CHOICE(struct cache_params, mode, "mode", 0, cache_mode_names, "both",
	           "through the page cache, direct, or both"),
	OPT_CHOICE(struct cache_params, sync, "sync", 0, sync_names, "none",
	           "fsync after writing: never, at the end, after each record"),
	OPT_STR(struct cache_params, operations, "operations", 0, "LIST", NULL,
	        "only these, with commas: write rewrite read reread random_read cold_random_read random_write"),
	OPT_STRS(struct cache_params, without, "without", 0, "WORD",
	         "do not look for the end of the cache between the sizes of the matrix", .choices = cache_parts,
	         .is_aside = true),
	OPT_END,
};

const struct cache_operation cache_ops[] = {
	[OP_WRITE] = { "write", .writes = true },
	[OP_REWRITE] = { "rewrite", .writes = true },
	[OP_READ] = { "read", .is_cold = true },
	[OP_REREAD] = { "reread", .is_warm = true, .has_twin = true },
	[OP_RANDOM_READ] = { "random_read", .is_random = true, .is_warm = true },
	[OP_COLD_RANDOM_READ] = { "cold_random_read", .is_random = true, .is_cold = true, .has_twin = true },
	[OP_RANDOM_WRITE] = { "random_write", .writes = true, .is_random = true },
};

#define ALL_OPERATIONS ((1u << OPS) - 1)

static uint64_t memory_limit(const struct cache_params *p)
{
	uint64_t limit = cgroup_memory_limit("/");
	struct sysinfo info;

	if (p->memory_bytes)
		return p->memory_bytes;
	if (sysinfo(&info) == 0 && (uint64_t)info.totalram * info.mem_unit < limit)
		limit = (uint64_t)info.totalram * info.mem_unit;
	return limit;
}

uint64_t cache_largest_size(const struct cache_params *p)
{
	return p->size.max_bytes ? p->size.max_bytes : 2 * memory_limit(p);
}

size_t cache_count_doublings(uint64_t low, uint64_t high)
{
	size_t n = 0;

	for (uint64_t v = low; v <= high; v *= 2)
		n++;
	return n;
}

/* A bit for each operation of --operations. is_read_only: those that write are not to be named. */
int cache_wanted_operations(const struct cache_params *p, bool is_read_only, unsigned *ret, struct err *err)
{
	unsigned all = ALL_OPERATIONS, got = 0;

	for (enum operation op = OP_WRITE; op < OPS; op++)
		all &= is_read_only && cache_ops[op].writes ? ~(1u << op) : ALL_OPERATIONS;
	for (const char *at = p->operations; at && *at;) {
		size_t len = strcspn(at, ",");
		enum operation op = OP_WRITE;

		while (op < OPS && (strlen(cache_ops[op].name) != len || strncmp(cache_ops[op].name, at, len) != 0))
			op++;
		if (op == OPS)
			return err_set(
				err, -EINVAL,
				"--operations knows no \"%.*s\"; it takes a list of write, rewrite, read, reread, "
				"random_read, cold_random_read, random_write.",
				(int)(len < 40 ? len : 40), at);
		if (!(all & 1u << op))
			return err_set(
				err, -EINVAL,
				"A file that exists is only read: --operations=%s wants a directory; give its directory.",
				cache_ops[op].name);
		got |= 1u << op;
		at += len + (at[len] == ',');
	}
	*ret = got ? got : all;
	return 0;
}

/* So much of a file that exists is read. */
uint64_t cache_existing_size(const struct cache_params *p, const struct device *d)
{
	uint64_t first = datafile_first_byte(d), size = d->size_bytes > first ? d->size_bytes - first : 0;

	return p->size.max_bytes && p->size.max_bytes < size ? p->size.max_bytes : size;
}

static int check_target(const struct cache_params *p, const struct device *d, struct err *err)
{
	unsigned ignored;
	int r = cache_wanted_operations(p, d->kind == DEVICE_FILE, &ignored, err);

	if (r < 0)
		return r;
	if (d->kind == DEVICE_FILE && cache_existing_size(p, d) < p->block.min_bytes)
		return err_set(err, -EINVAL, "%s holds less than a record; --block makes records smaller.", d->path);
	return 0;
}

bool cache_has_default_end(const struct session *ses, const struct cache_params *p)
{
	return !p->size.max_bytes && !p->memory_bytes && !ses->common->time_ns && ses->devs[0].kind == DEVICE_DIRECTORY;
}

/*
 * Guesses, said as such in the manual: a cell takes --slice a repetition or its file at 1 GB/s, whichever is less; and
 * each repetition may have to write or read the whole file first, at 1 GB/s while it fits into memory and at 100 MB/s
 * beyond. existing_bytes: 0: all sizes.
 */
static uint64_t matrix_time_ns(const struct cache_params *p, uint64_t existing_bytes)
{
	double first = existing_bytes ? (double)existing_bytes : (double)p->size.min_bytes,
	       last = existing_bytes ? first : (double)cache_largest_size(p), memory = (double)memory_limit(p),
	       sum = 0.0;
	double cells = (double)(cache_count_doublings(p->block.min_bytes, p->block.max_bytes) * OPS *
	                        (p->mode == MODE_BOTH ? 2 : 1) * p->repeat);

	for (double size = first; size <= last; size *= 2)
		sum += cells * (fmin((double)p->cell_ns, size) + size * (size < memory ? 1.0 : 10.0));
	return sum < 1e18 ? (uint64_t)sum : (uint64_t)1e18;
}

int cache_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err)
{
	const struct cache_params *p = params;
	bool is_existing = ses->devs[0].kind == DEVICE_FILE;
	uint64_t matrix_ns, limit_ns = ses->common->time_ns;
	uint64_t first = datafile_first_byte(&ses->devs[0]);
	int r = check_target(p, &ses->devs[0], err)
	                ?: session_medium(ses, 0, first, first + cache_existing_size(p, &ses->devs[0]),
	                                  p->mode != MODE_CACHED, err);

	if (r < 0)
		return r;
	if (!is_existing && cache_largest_size(p) < p->size.min_bytes)
		return err_set(err, -EINVAL,
		               "The smallest file, %" PRIu64
		               " bytes, is larger than twice the memory; give --size=FROM-TO.",
		               p->size.min_bytes);
	r = is_existing ? 0 : datafile_check(&ses->devs[0], cache_largest_size(p), err);
	if (r == -ENOSPC && err)
		return err_prefix(err, "--size");
	if (r < 0)
		return r;
	plan->opens_itself = plan->lasts = true;
	plan->read_bytes = UINT64_MAX;
	plan->write_bytes = is_existing ? 0 : UINT64_MAX;
	if (limit_ns == 0 && cache_has_default_end(ses, p))
		limit_ns = CACHE_DEFAULT_NS;
	matrix_ns = matrix_time_ns(p, is_existing ? cache_existing_size(p, &ses->devs[0]) : 0);
	plan_phase(plan, "matrix", limit_ns && limit_ns < matrix_ns ? limit_ns : matrix_ns);
	if (!p->without.n && !is_existing && !(limit_ns && limit_ns < matrix_ns))
		plan_phase(plan, "knee", 20 * NS_PER_S);
	return 0;
}
