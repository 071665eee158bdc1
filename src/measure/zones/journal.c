/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --rewrite's journals at the begin and the end of a run. */
#include <errno.h>
#include <sys/mman.h>

#include "measure/shared/rewrite.h"
#include "measure/zones/zones.h"

static int make_chunk(struct zones_run *run, struct err *err)
{
	size_t bytes = 0;
	void *p;

	for (size_t i = 0; i < run->ntargets; i++)
		bytes = run->targets[i].layout.window_bytes > bytes ? run->targets[i].layout.window_bytes : bytes;
	bytes += ZONE_LEAD_MAX;
	bytes = (bytes + (2u << 20) - 1) & ~((size_t)(2u << 20) - 1);
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return err_set(err, -ENOMEM, "Out of memory for the %zu bytes that --rewrite holds.", bytes);
	(void)madvise(p, bytes, MADV_HUGEPAGE); /* smaller pages are only slower */
	run->chunk = p;
	run->chunk_bytes = bytes;
	return 0;
}

int zones_journal_open(struct zones_run *run, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < run->ntargets; i++)
		r = rewrite_start(&run->targets[i].journal, run->ses, run->targets[i].index, run->eng, run->p->journal,
		                  false, err);
	return r == 0 ? make_chunk(run, err) : r;
}

void zones_journal_close(struct zones_run *run)
{
	for (size_t i = 0; i < run->ntargets; i++)
		rewrite_close(run->targets[i].journal);
	if (run->chunk)
		(void)munmap(run->chunk, run->chunk_bytes);
}
