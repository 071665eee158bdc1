/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ddrescue's mapfile. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "measure/surface/surface.h"

static void map_line(FILE *f, uint64_t first, uint64_t end, char status)
{
	if (first < end)
		(void)fprintf(f, "0x%08" PRIX64 "  0x%08" PRIX64 "  %c\n", first, end - first, status);
}

/*
 * What was not scanned is "non-tried", what was read counts as such, though nothing was copied: for --domain-mapfile. A
 * request that failed and was not narrowed down to its sectors is "non-trimmed": most of it may be readable.
 */
static int write_map(FILE *f, void *arg)
{
	const struct surface_run *run = arg;
	const struct surface_failures *bad = &run->failures, *skipped = &run->later.skipped;
	uint64_t at = run->range.first_bytes, to = run->position;

	(void)fprintf(f, "# Mapfile of a scan by platter surface\n# current_pos  current_status  current_pass\n");
	(void)fprintf(f, "0x%08" PRIX64 "     %c               1\n#      pos        size  status\n", to,
	              to < run->range.end_bytes ? '?' : '+');
	map_line(f, 0, at, '?');
	for (size_t i = 0, k = 0; (i < bad->n && bad->v[i].first_bytes < to) || k < skipped->n;) {
		bool is_bad = i < bad->n && (k == skipped->n || bad->v[i].first_bytes <= skipped->v[k].first_bytes);
		const struct surface_failed *e = is_bad ? &bad->v[i++] : &skipped->v[k++];
		uint64_t first = e->first_bytes > at ? e->first_bytes : at, end = e->end_bytes < to ? e->end_bytes : to;

		map_line(f, at, first, '+');
		map_line(f, first, end, !is_bad ? '?' : e->is_sector ? '-' : '*');
		at = end > at ? end : at;
	}
	map_line(f, at, to, '+');
	map_line(f, to, run->ses->devs[0].size_bytes, '?');
	return ferror(f) ? -EIO : 0;
}

int surface_map_save(struct surface_run *run, struct err *err)
{
	return run->p->mapfile ? session_save(run->ses, run->p->mapfile, OUTFILE_MAPFILE, write_map, run, err) : 0;
}
