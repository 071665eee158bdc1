/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes that are answered well and do not end up where they should: lost, torn, misplaced, with flipped bits, and
 * addresses that wrap, as those of counterfeit flash do. What is stored wrongly goes to the media at once.
 */
#include "miswrites.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "contents.h"
#include "disk.h"
#include "profile_text.h"

/* ---- profiles ---- */

static const char *const names[] = { [MISWRITE_LOST] = "lost",
	                             [MISWRITE_TORN] = "torn",
	                             [MISWRITE_MISPLACED] = "misplaced",
	                             [MISWRITE_FLIPPED] = "flipped",
	                             [MISWRITE_WRAPPED] = "wrapped" };

/* miswrite KIND LBA [COUNT [ARG]] */
int miswrites_parse(struct parser *ps)
{
	struct profile_miswrite m = { .count = 1 };
	uint64_t *const at[] = { &m.lba, &m.count, &m.arg };
	size_t kind = 0;

	while (kind < ARRAY_LEN(names) && strcmp(names[kind], ps->word[1]) != 0)
		kind++;
	if (kind == ARRAY_LEN(names))
		return parser_fail(ps, "a miswrite is lost, torn, misplaced, flipped or wrapped", ps->word[1]);
	m.kind = (enum miswrite_kind)kind;
	for (size_t i = 2; i < ps->nwords; i++) {
		int r = parser_get_u64(ps, ps->word[i], UINT64_MAX, at[i - 2]);

		if (r < 0)
			return r;
	}
	return profile_add_miswrite(ps->p, &m) < 0 ? parser_fail(ps, "too many miswrites", NULL) : 0;
}

static int order(const void *a, const void *b)
{
	const struct profile_miswrite *x = a, *y = b;

	return (x->lba > y->lba) - (x->lba < y->lba);
}

int miswrites_check(struct profile *p, struct err *err)
{
	uint64_t least = 0;

	if (p->faults.miswrites.n)
		qsort(p->faults.miswrites.v, p->faults.miswrites.n, sizeof(*p->faults.miswrites.v), order);
	for (size_t i = 0; i < p->faults.miswrites.n; i++) {
		struct profile_miswrite *m = &p->faults.miswrites.v[i];
		uint64_t left = m->lba < p->capacity_lba ? p->capacity_lba - m->lba : 0;

		if (m->kind == MISWRITE_WRAPPED)
			m->count = left;
		if (!m->count || m->count > left || m->lba < least || (m->kind == MISWRITE_WRAPPED && !m->lba) ||
		    (m->kind == MISWRITE_MISPLACED &&
		     (m->arg >= p->capacity_lba || m->count > p->capacity_lba - m->arg)) ||
		    (m->kind == MISWRITE_FLIPPED && m->arg >= 8 * (uint64_t)p->logical_sector_bytes))
			return err_set(err, -EINVAL,
			               "disk profile %s: the %s write of %" PRIu64 " sectors at %" PRIu64
			               " does not lie on the disk, or overlaps another one",
			               p->name, names[m->kind], m->count, m->lba);
		least = m->lba + m->count;
	}
	return 0;
}

void miswrites_save(FILE *out, const struct profile *p)
{
	for (size_t i = 0; i < p->faults.miswrites.n; i++) {
		const struct profile_miswrite *m = &p->faults.miswrites.v[i];

		(void)fprintf(out, "miswrite %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", names[m->kind], m->lba,
		              m->count, m->arg);
	}
}

/* ---- data ---- */

/* The first that ends behind this sector; NULL: none. */
static const struct profile_miswrite *at_or_behind(const struct disk *d, uint64_t lba)
{
	for (size_t i = 0; i < d->p.faults.miswrites.n; i++)
		if (d->p.faults.miswrites.v[i].lba + d->p.faults.miswrites.v[i].count > lba)
			return &d->p.faults.miswrites.v[i];
	return NULL;
}

static int store_flipped(struct disk *d, uint64_t lba, uint64_t n, const unsigned char *buf, uint64_t bit)
{
	size_t len = d->p.logical_sector_bytes;
	int r = 0;

	for (uint64_t i = 0; i < n && r == 0; i++) {
		unsigned char sector[65536];

		memcpy(sector, buf + i * len, len);
		sector[bit / 8] ^= (unsigned char)(1u << bit % 8);
		r = contents_write_media(&d->contents, lba + i, 1, sector);
	}
	return r;
}

/* The sectors [lba, lba + n) of one of them. */
static int store_wrong(struct disk *d, const struct profile_miswrite *m, uint64_t lba, uint64_t n,
                       const unsigned char *buf)
{
	int r = 0;

	if (m->kind == MISWRITE_MISPLACED)
		return contents_write_media(&d->contents, m->arg + (lba - m->lba), n, buf);
	if (m->kind == MISWRITE_FLIPPED)
		return store_flipped(d, lba, n, buf, m->arg);
	for (uint64_t k; m->kind == MISWRITE_WRAPPED && n && r == 0; n -= k, lba += k) {
		uint64_t to = lba % m->lba;

		k = n < m->lba - to ? n : m->lba - to;
		r = contents_write_media(&d->contents, to, k, buf);
		buf += k * d->p.logical_sector_bytes;
	}
	return r;
}

int miswrites_store(struct disk *d, uint64_t lba, uint64_t n, const void *buf, bool is_cached)
{
	uint64_t end = lba + n;
	int r = 0;

	for (uint64_t at = lba; at < end && r == 0;) {
		const struct profile_miswrite *m = at_or_behind(d, at);
		const unsigned char *data = (const unsigned char *)buf + (at - lba) * d->p.logical_sector_bytes;
		bool is_wrong = m && m->lba <= at && (m->kind != MISWRITE_TORN || (lba < m->lba && at == m->lba));
		uint64_t to = !m || m->lba >= end ? end : m->lba > at ? m->lba : m->lba + m->count;

		to = to > end || (is_wrong && m->kind == MISWRITE_TORN) ? end : to;
		if (is_wrong)
			r = store_wrong(d, m, at, to - at, data);
		else
			r = (is_cached ? contents_write_cache : contents_write_media)(&d->contents, at, to - at, data);
		at = to;
	}
	return r;
}

int miswrites_read(const struct disk *d, uint64_t lba, uint64_t n, void *buf)
{
	const struct profile_miswrite *m =
		d->p.faults.miswrites.n ? &d->p.faults.miswrites.v[d->p.faults.miswrites.n - 1] : NULL;
	int r = 0;

	if (!m || m->kind != MISWRITE_WRAPPED || lba + n <= m->lba)
		return contents_read(&d->contents, lba, n, buf);
	for (uint64_t i = 0; i < n && r == 0; i++) {
		uint64_t from = lba + i < m->lba ? lba + i : (lba + i) % m->lba;

		r = contents_read(&d->contents, from, 1, (unsigned char *)buf + i * d->p.logical_sector_bytes);
	}
	return r;
}
