/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `smr` will do: options, what of them does not fit the target, and the order of the writes. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/opt.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "measure/smr/smr.h"

#define SLOT       (2 * SMR_BLOCK) /* as much stays free beside a block: else two would be one entry of the map */
#define UNITS      64              /* of the size, in which the parts are counted */
#define SPAN_BYTES (12ull << 30)
#define LEAST      (256u << 20) /* below, nothing fits between two blocks */
#define SINGLES    16
#define APART      2   /* units from one single to the next: at 12 GiB more than any band known */
#define COMB_UNITS 11  /* eight such bands */
#define TEETH      192 /* of the comb in a unit: at 12 GiB one each MiB, so that a band has 15 and more */
#define CUSHION    1024
#define BATCH_MAX  256 /* writes: so much does the place of the cliff lie within, and a flush costs little beside */
#define EXPECT_NS  (15 * 60 * NS_PER_S) /* mostly; it goes on for as long as it takes */

const struct opt smr_opts[] = {
	OPT_FLAG(struct smr_params, write, "write", 'w', "write to the device: destroys data (see --destroy-data)"),
	OPT_FLAG(struct smr_params, rewrite, "rewrite", 0, "write to the device what it holds; every byte stays"),
	OPT_STR(struct smr_params, journal, "journal", 0, "DIR", "/var/lib/platter",
	        "where --rewrite keeps all that it writes", .is_aside = true),
	OPT_STR(struct smr_params, range, "range", 0, "FROM-TO", NULL,
	        "write within this part (default the first 12 GiB); in directories: the size of the file, 0-1GB"),
	OPT_END,
};

bool smr_layout_init(struct smr_layout *l, uint64_t first_bytes, uint64_t size_bytes)
{
	uint64_t unit = size_bytes / UNITS / SLOT * SLOT, comb, bulk;
	uint64_t first = (first_bytes + SMR_BLOCK - 1) / SMR_BLOCK * SMR_BLOCK;

	*l = (struct smr_layout){ .first_bytes = first, .size_bytes = unit * UNITS };
	if (l->size_bytes < LEAST / 2)
		return false;
	l->part[SMR_CUSHION] = (struct smr_run_of){ first, SLOT, unit / 8 / SLOT };
	if (l->part[SMR_CUSHION].n > CUSHION)
		l->part[SMR_CUSHION].n = CUSHION;
	l->part[SMR_SINGLES] = (struct smr_run_of){ first + unit, APART * unit, SINGLES };
	comb = 1 + APART * SINGLES;
	l->part[SMR_COMB] =
		(struct smr_run_of){ first + comb * unit, unit / TEETH / SLOT * SLOT, (uint64_t)COMB_UNITS * TEETH };
	if (l->part[SMR_COMB].step_bytes == 0) /* a small one: as many as there is room for */
		l->part[SMR_COMB] = (struct smr_run_of){ first + comb * unit, SLOT, COMB_UNITS * unit / SLOT };
	bulk = comb + COMB_UNITS;
	l->part[SMR_BULK] = (struct smr_run_of){ first + bulk * unit, SLOT, (UNITS - bulk) * unit / SLOT };
	l->batch = l->part[SMR_CUSHION].n / 4;
	l->batch = l->batch > BATCH_MAX ? BATCH_MAX : l->batch ? l->batch : 1;
	return true;
}

uint64_t smr_layout_writes(const struct smr_layout *l)
{
	uint64_t n = 0;

	for (int k = 0; k < SMR_PARTS; k++)
		n += l->part[k].n;
	return n;
}

enum smr_part smr_part_of(const struct smr_layout *l, uint64_t i)
{
	int k = 0;

	while (k < SMR_BULK && i >= l->part[k].n)
		i -= l->part[k++].n;
	return (enum smr_part)k;
}

uint64_t smr_place(const struct smr_layout *l, uint64_t i, uint64_t seed)
{
	enum smr_part k = smr_part_of(l, i);

	for (int before = 0; before < (int)k; before++)
		i -= l->part[before].n;
	if (k == SMR_BULK || k == SMR_CUSHION)
		i = permute(i, l->part[k].n, seed);
	return l->part[k].first_bytes + i * l->part[k].step_bytes;
}

int smr_span(const struct device *dev, const struct smr_params *p, uint64_t *ret_first, uint64_t *ret_size,
             struct err *err)
{
	uint64_t edge = p->rewrite ? REWRITE_EDGE_BYTES : 0, first, end;
	/* SMR_BLOCK: of a start that is not a multiple of a block */
	uint64_t most = dev->size_bytes > edge + SMR_BLOCK ? dev->size_bytes - edge - SMR_BLOCK : 0;
	int r = lasting_range(dev, p->range, SPAN_BYTES, 1, &first, &end, err);

	if (r < 0)
		return r;
	first = first > edge ? first : edge;
	if (!p->range)
		end = first + SPAN_BYTES;
	if (dev->kind != DEVICE_DIRECTORY && end > most)
		end = most;
	*ret_first = first;
	*ret_size = end > first ? end - first : 0;
	return 0;
}

size_t smr_places(const struct smr_layout *l, uint64_t seed, struct rewrite_place **ret)
{
	const struct smr_run_of *comb = &l->part[SMR_COMB];
	uint64_t end = comb->first_bytes + comb->n * comb->step_bytes, all = smr_layout_writes(l);
	struct rewrite_place *v = xcalloc(all + (end - comb->first_bytes) / SMR_PIECE + 1, sizeof(*v));
	size_t n = 0;

	*ret = v;
	for (uint64_t i = 0; i < l->part[SMR_CUSHION].n + l->part[SMR_SINGLES].n; i++)
		v[n++] = (struct rewrite_place){ smr_place(l, i, seed), SMR_BLOCK };
	for (uint64_t at = comb->first_bytes; at < end; at += SMR_PIECE)
		v[n++] = (struct rewrite_place){ at, end - at < SMR_PIECE ? end - at : SMR_PIECE };
	for (uint64_t i = all - l->part[SMR_BULK].n; i < all; i++)
		v[n++] = (struct rewrite_place){ smr_place(l, i, seed), SMR_BLOCK };
	return n;
}

static int check_target(const struct device *dev, const struct smr_params *p, struct err *err)
{
	const struct opt_pair pairs[] = { { p->write && p->rewrite, "write", "rewrite" }, { 0 } };

	if (opt_pairs(pairs, err) < 0)
		return -EINVAL;
	if (dev->kind == DEVICE_DIRECTORY && (p->write || p->rewrite))
		return err_set(err, -EINVAL, "%s is a directory, in which smr makes a file of its own; leave --%s out.",
		               dev->path, p->write ? "write" : "rewrite");
	if (dev->kind == DEVICE_DIRECTORY)
		return 0;
	if (dev->size_bytes < SMR_BLOCK)
		return err_set(err, -EINVAL, "%s has %" PRIu64 " bytes, less than a request of smr; give a disk.",
		               dev->path, dev->size_bytes);
	if ((p->write || p->rewrite) && (dev->logical_block_bytes == 0 || SMR_BLOCK % dev->logical_block_bytes))
		return err_set(err, -EINVAL,
		               "%s has blocks of %" PRIu32 " bytes, and smr writes %d at a time; leave writing out.",
		               dev->path, dev->logical_block_bytes, SMR_BLOCK);
	return 0;
}

int smr_plan(const struct session *ses, const void *params, struct plan *ret_plan, struct err *err)
{
	const struct smr_params *p = params;
	const struct device *dev = &ses->devs[0];
	bool is_folder = dev->kind == DEVICE_DIRECTORY;
	uint64_t first, size;
	struct smr_layout l;
	int r = check_target(dev, p, err);

	if (r < 0)
		return r;
	ret_plan->is_direct = true;
	ret_plan->opens_itself = is_folder;
	if (device_is_zoned(dev))
		return 0;
	plan_phase(ret_plan, "looking whether it turns", 10 * NS_PER_S);
	if (!is_folder && !p->write && !p->rewrite)
		return 0;
	r = smr_span(dev, p, &first, &size, err);
	if (r < 0)
		return r;
	if (!smr_layout_init(&l, first, size))
		return err_set(err, -EINVAL, "%s has less than the %d MiB there that smr needs; give another --range.",
		               dev->path, (int)(LEAST >> 20));
	ret_plan->writes = p->write ? WRITE_DESTROY : p->rewrite ? WRITE_SAME : WRITE_NONE;
	ret_plan->write_bytes = smr_layout_writes(&l) * SMR_BLOCK;
	if (p->write) /* once more, where the cache is full of others' */
		ret_plan->write_bytes += ret_plan->write_bytes + l.size_bytes;
	ret_plan->write_bytes += is_folder ? l.size_bytes : l.part[SMR_COMB].n * l.part[SMR_COMB].step_bytes;
	if (p->rewrite) {
		cleanup_free struct rewrite_place *v = NULL;
		size_t n = smr_places(&l, 1, &v); /* other seeds: as many bytes */

		ret_plan->journal_bytes = rewrite_file_bytes(v, n);
		r = datafile_check_space(p->journal, ret_plan->journal_bytes, err);
		if (r < 0)
			return r;
		plan_phase(ret_plan, "reading what will be written", l.size_bytes / 100 * 1000);
	}
	plan_phase(ret_plan, "writing in sequence", ret_plan->write_bytes / 100 * 1000);
	plan_phase(ret_plan, "writing at random", ses->common->time_ns ? ses->common->time_ns : EXPECT_NS);
	if (p->rewrite)
		plan_phase(ret_plan, "comparing what was written", l.size_bytes / 100 * 1000);
	return 0;
}
