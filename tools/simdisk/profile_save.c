/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile as text that profile_parse() takes. */
#include "profile_text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

static void save_key(FILE *out, const struct profile *p, const struct key *k)
{
	const void *at = (const char *)p + k->offset;

	if (k->type == KEY_TEXT && !*(const char *)at)
		return;
	(void)fprintf(out, "%s ", k->name);
	switch (k->type) {
	case KEY_TEXT:
		(void)fprintf(out, "%s", (const char *)at);
		break;
	case KEY_U32:
		(void)fprintf(out, "%" PRIu32, *(const uint32_t *)at);
		break;
	case KEY_U64:
		(void)fprintf(out, "%" PRIu64, *(const uint64_t *)at);
		break;
	case KEY_DOUBLE:
		(void)fprintf(out, "%.17g", *(const double *)at);
		break;
	case KEY_KB:
		(void)fprintf(out, "%" PRIu64, *(const uint64_t *)at >> 10);
		break;
	case KEY_MBS:
		(void)fprintf(out, "%.17g", *(const double *)at / 1e6);
		break;
	case KEY_BOOL:
		(void)fprintf(out, "%s", *(const bool *)at ? "yes" : "no");
		break;
	}
	(void)fputc('\n', out);
}

static void save_zones(FILE *out, const struct profile *p)
{
	size_t i;
	uint32_t s;

	for (i = 0; i < p->nzones; i++) {
		const struct profile_zone *z = &p->zones[i];

		if (z->band_tracks == 1)
			(void)fprintf(out, "layout head-first");
		else
			(void)fprintf(out, "layout seek-first %" PRIu32, z->band_tracks);
		(void)fprintf(out, "%s%s\n", z->tracks_alternate ? " serpentine" : "",
		              z->heads_alternate ? " alternating" : "");
		if (z->spare_tracks || (i > 0 && z[-1].spare_tracks))
			(void)fprintf(out, "spare %" PRIu32 " %" PRIu32 "\n", z->spare_sectors, z->spare_tracks);
		(void)fprintf(out, "head_skew %.17g\ncyl_skew %.17g\nband_skew %.17g\nzone %" PRIu32, z->head_skew,
		              z->cyl_skew, z->band_skew, z->cylinders);
		for (s = 0; s < p->surfaces; s++)
			(void)fprintf(out, " %" PRIu32, z->spt[s]);
		(void)fputc('\n', out);
	}
}

static void save_trouble(FILE *out, const struct profile *p)
{
	static const char *const ops[] = { "read", "write", "flush", "any" };
	size_t i;

	for (i = 0; i < p->media.nskips; i++)
		(void)fprintf(out, "skip %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", p->media.skips[i].cylinder,
		              p->media.skips[i].surface, p->media.skips[i].first, p->media.skips[i].count);
	for (i = 0; i < p->media.nbads; i++) {
		const struct profile_bad *b = &p->media.bads[i];

		(void)fprintf(out, "bad %" PRIu64 " %" PRIu64 " %s %.17g %s\n", b->lba, b->count,
		              b->kind & BAD_HEALS    ? "heal"
		              : b->kind == BAD_READ  ? "r"
		              : b->kind == BAD_WRITE ? "w"
		                                     : "rw",
		              b->revolutions, err_name(b->err));
	}
	for (i = 0; i < p->media.nslows; i++)
		(void)fprintf(out, "slow %" PRIu64 " %" PRIu64 " %" PRIu32 " %.17g%s\n", p->media.slows[i].lba,
		              p->media.slows[i].count, p->media.slows[i].every, p->media.slows[i].revolutions,
		              p->media.slows[i].heals ? " heal" : "");
	for (i = 0; i < p->faults.nfails; i++) {
		const struct profile_fail *f = &p->faults.fails[i];

		(void)fprintf(out, "fail %s %" PRIu64, ops[f->op], f->nth);
		if (f->err)
			(void)fprintf(out, " errno %s", err_name(f->err));
		if (f->short_bytes != UINT64_MAX)
			(void)fprintf(out, " short %" PRIu64, f->short_bytes);
		(void)fprintf(out, " delay %.17g every %" PRIu64 "\n", f->delay_s, f->every);
	}
	for (i = 0; i < p->faults.nstalls; i++)
		(void)fprintf(out, "stall %.17g %.17g\n", p->faults.stalls[i].at_s, p->faults.stalls[i].length_s);
}

int profile_save(FILE *out, const struct profile *p)
{
	size_t i;

	for (i = 0; profile_keys[i].name; i++)
		save_key(out, p, &profile_keys[i]);
	(void)fprintf(out, "kind %s\nqueue %s\n", p->kind == DISK_SSD ? "ssd" : "rotating",
	              p->ctl.queue == QUEUE_SATF ? "satf" : "fifo");
	(void)fprintf(out, "seek %.17g %.17g", p->seek.a_ms, p->seek.b_ms);
	if (isfinite(p->seek.knee))
		(void)fprintf(out, " %.17g %.17g %.17g", p->seek.knee, p->seek.c_ms, p->seek.e_ms);
	(void)fprintf(out, "\nwobble %.17g %.17g\noutlier %.17g %.17g\n", p->spindle.wobble, p->spindle.wobble_period_s,
	              p->noise.outlier_p, p->noise.outlier_ms);
	if (isfinite(p->faults.gone_at_s))
		(void)fprintf(out, "gone_at_s %.17g\n", p->faults.gone_at_s);
	(void)fprintf(out, "gone_as %s\n", p->faults.gone == GONE_ZERO ? "zero" : "error");
	traits_save(out, p);
	save_zones(out, p);
	save_trouble(out, p);
	return ferror(out) ? -EIO : 0;
}
