/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making and unmaking a disk, and what can be asked of one without time. */
#include "front.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct region *regions_new(size_t n)
{
	return calloc(n ? n : 1, sizeof(struct region));
}

static bool regions_fill(struct disk *d)
{
	uint64_t ratio = d->g->ratio;
	size_t i;

	d->media.bads = regions_new(d->p.media.nbads);
	d->media.slows = regions_new(d->p.media.nslows);
	if (!d->media.bads || !d->media.slows)
		return false;
	for (i = 0; i < d->p.media.nbads; i++) {
		const struct profile_bad *b = &d->p.media.bads[i];
		struct region *r = &d->media.bads[d->media.nbads++];

		*r = (struct region){ .first = b->lba / ratio, .end = (b->lba + b->count + ratio - 1) / ratio };
		r->revolutions = b->revolutions;
		r->kind = b->kind;
		r->err = b->err;
		if (!(b->kind & BAD_HEALS))
			continue;
		r->healed = calloc(1, (r->end - r->first + 7) / 8);
		if (!r->healed)
			return false;
	}
	for (i = 0; i < d->p.media.nslows; i++) {
		const struct profile_slow *s = &d->p.media.slows[i];

		struct region *r = &d->media.slows[d->media.nslows++];

		*r = (struct region){ .first = s->lba / ratio,
			              .end = (s->lba + s->count + ratio - 1) / ratio,
			              .revolutions = s->revolutions,
			              .every = s->every };
		if (s->heals && !(r->healed = calloc(1, (r->end - r->first + 7) / 8)))
			return false;
	}
	return true;
}

static bool segments_fill(struct disk *d)
{
	const struct profile *p = &d->p;

	d->cache.nsegments = p->cache.segments;
	d->cache.segment_sectors = p->cache.bytes / p->cache.segments / p->physical_sector_bytes;
	d->cache.sectors = p->cache.bytes / p->physical_sector_bytes;
	if (p->cache.sizing == CACHE_BY_USE)
		d->cache.segment_sectors = d->cache.sectors / 2;
	if (d->cache.segment_sectors == 0)
		d->cache.nsegments = 0;
	d->cache.segments = calloc(d->cache.nsegments ? d->cache.nsegments : 1,
	                           sizeof(*d->cache.segments)); /* without cache the stream still wants one */
	return d->cache.segments != NULL;
}

struct disk *disk_new(const struct profile *p, uint64_t start_ns)
{
	struct disk *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	if (profile_copy(&d->p, p) < 0) {
		free(d);
		return NULL;
	}
	d->start_ns = start_ns;
	d->g = geometry_new(&d->p);
	d->flash.channel_free = calloc(p->ssd.channels, sizeof(double));
	if (!d->g || !d->flash.channel_free || !contents_init(&d->contents, p->logical_sector_bytes) ||
	    !regions_fill(d) || !segments_fill(d)) {
		disk_free(d);
		return NULL;
	}
	if (front_is_wanted(p)) {
		d->front = front_new(d);
		if (!d->front) {
			disk_free(d);
			return NULL;
		}
		return d;
	}
	if (p->media.ntrims) {
		d->media.trims = malloc(p->media.ntrims * sizeof(*d->media.trims));
		if (!d->media.trims) {
			disk_free(d);
			return NULL;
		}
		memcpy(d->media.trims, p->media.trims, p->media.ntrims * sizeof(*d->media.trims));
		d->media.ntrims = p->media.ntrims;
	}
	if (mediacache_is_wanted(p) && !(d->mcache = mediacache_new(d))) {
		disk_free(d);
		return NULL;
	}
	d->path.ops_credit = fmax(p->path.credit_ops, 1);
	d->period_ns = d->g->period_ns;
	d->slack = ANGLE_SLACK_NS / d->period_ns;
	d->gone = p->faults.gone_at_s * 1e9;
	d->head.write_end = d->cache.read_end = UINT64_MAX;
	d->path.credit = (double)p->path.credit_bytes;
	flash_new(d);
	rng_init(&d->rng, p->seed, 1);
	rng_init(&d->noise.rng, p->seed, 2);
	d->noise.pending_ms = NAN;
	if (p->noise.retry_per_gb > 0) {
		d->noise.retry_sectors = 1e9 / p->noise.retry_per_gb / p->physical_sector_bytes;
		d->noise.retry_left = rng_exp(&d->rng, d->noise.retry_sectors);
	}
	return d;
}

static void nodes_free(struct node *n)
{
	while (n) {
		struct node *next = n->next;

		free(n);
		n = next;
	}
}

void disk_free(struct disk *d)
{
	size_t i;

	if (!d)
		return;
	for (i = 0; i < d->queue.nheap; i++)
		free(d->queue.heap[i]);
	nodes_free(d->queue.arrived.head);
	nodes_free(d->queue.queued.head);
	nodes_free(d->queue.wait_room.head);
	nodes_free(d->queue.wait_flush.head);
	nodes_free(d->queue.pool);
	free(d->queue.heap);
	free(d->queue.release);
	free(d->cache.segments);
	free(d->wcache.dirty);
	for (i = 0; i < d->media.nbads; i++)
		free(d->media.bads[i].healed);
	for (i = 0; i < d->media.nslows; i++)
		free(d->media.slows[i].healed);
	free(d->media.bads);
	free(d->media.slows);
	mediacache_free(d->mcache);
	front_free(d->front);
	free(d->flash.channel_free);
	free(d->media.trims);
	free(d->log.v);
	contents_done(&d->contents);
	geometry_free(d->g);
	profile_done(&d->p);
	free(d);
}

const struct profile *disk_profile(const struct disk *d)
{
	return &d->p;
}

const struct geometry *disk_geometry(const struct disk *d)
{
	return d->g;
}

/* Who holds the contents: a bridge's disk does. */
static struct disk *holder(const struct disk *d)
{
	struct disk *const *part;

	if (!d->front || d->p.arms.kind != ARMS_ONE)
		return NULL;
	(void)front_parts(d->front, &part);
	return part[0];
}

void disk_set_store(struct disk *d, const struct disk_store *store)
{
	if (holder(d))
		d = holder(d);
	d->contents.store = *store;
}

static int check_span(const struct disk *d, uint64_t offset_bytes, uint64_t len_bytes)
{
	uint64_t size = d->g->lbas * d->p.logical_sector_bytes;

	return offset_bytes % d->p.logical_sector_bytes || len_bytes % d->p.logical_sector_bytes ||
	                       offset_bytes > size || len_bytes > size - offset_bytes
	               ? -EINVAL
	               : 0;
}

int disk_peek(const struct disk *d, uint64_t offset_bytes, uint64_t len_bytes, void *buf)
{
	int r = check_span(d, offset_bytes, len_bytes);

	if (holder(d))
		return disk_peek(holder(d), offset_bytes, len_bytes, buf);

	if (r == 0)
		r = contents_read(&d->contents, offset_bytes / d->p.logical_sector_bytes,
		                  len_bytes / d->p.logical_sector_bytes, buf);
	if (r == 0 && d->media.ntrims)
		trim_zero(d, offset_bytes / d->p.logical_sector_bytes, len_bytes / d->p.logical_sector_bytes, buf);
	return r;
}

int disk_poke(struct disk *d, uint64_t offset_bytes, uint64_t len_bytes, const void *buf)
{
	int r = check_span(d, offset_bytes, len_bytes);

	if (holder(d))
		return disk_poke(holder(d), offset_bytes, len_bytes, buf);

	if (r == 0)
		r = trim_written(d, offset_bytes / d->p.logical_sector_bytes, len_bytes / d->p.logical_sector_bytes);
	return r < 0 ? r
	             : contents_write_media(&d->contents, offset_bytes / d->p.logical_sector_bytes,
	                                    len_bytes / d->p.logical_sector_bytes, buf);
}

uint64_t disk_contents_hash(const struct disk *d)
{
	return holder(d) ? disk_contents_hash(holder(d)) : contents_hash(&d->contents);
}

void disk_set_gone(struct disk *d, bool is_gone)
{
	d->gone = is_gone ? 0.0 : (double)INFINITY;
}

void disk_power_loss(struct disk *d)
{
	struct disk *const *part;
	size_t n, k;
	uint32_t i;

	if (d->front) {
		n = front_parts(d->front, &part);
		for (k = 0; k < n; k++)
			disk_power_loss(part[k]);
		return;
	}
	sectors_clear(d->contents.volatil);
	d->wcache.ndirty = 0;
	d->wcache.dirty_lbas = 0;
	d->head.stream.is_on = false;
	for (i = 0; i < d->cache.nsegments; i++)
		d->cache.segments[i] = (struct segment){ 0 };
	d->cache.held_sectors = 0;
	if (!d->wcache.is_destaging)
		disk_destaged(d, d->now);
}

void disk_set_fua_reads(struct disk *d, enum fua_reads how)
{
	d->p.cache.fua_reads = how;
}

struct disk_counters disk_counters(const struct disk *d)
{
	struct disk *const *part;
	size_t n = d->front ? front_parts(d->front, &part) : 0, i;
	struct disk_counters ret = d->count; /* requests are the host's, what they met is the parts' */

	ret.mcache_entries = d->mcache ? mediacache_entries(d->mcache) : 0;
	for (i = 0; i < n; i++) {
		ret.read_bytes += part[i]->count.read_bytes;
		ret.written_bytes += part[i]->count.written_bytes;
		ret.hits += part[i]->count.hits;
		ret.stream_hits += part[i]->count.stream_hits;
		ret.misses += part[i]->count.misses;
		ret.errors += part[i]->count.errors;
		ret.media_read_bytes += part[i]->count.media_read_bytes;
		ret.media_written_bytes += part[i]->count.media_written_bytes;
		ret.cleanings += part[i]->count.cleanings;
		ret.mcache_entries += part[i]->mcache ? mediacache_entries(part[i]->mcache) : 0;
	}
	return ret;
}

size_t disk_access_ranges(const struct disk *d, struct profile_range ret[2])
{
	ret[0] = (struct profile_range){ .lba = 0, .count = d->g->lbas };
	if (d->p.arms.kind != ARMS_HALVES)
		return 1;
	ret[0].count = geometry_lbas(d->g->arm[0]);
	ret[1] = (struct profile_range){ .lba = ret[0].count, .count = d->g->lbas - ret[0].count };
	return 2;
}

const struct disk_write_log *disk_write_log(const struct disk *d, size_t *ret_n)
{
	*ret_n = d->log.n;
	return d->log.v;
}
