/* SPDX-License-Identifier: GPL-2.0-or-later */
/* device_ops over simulated disks: the same answers that a machine with these disks would give. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simstate.h"

static int dev_probe(void *ctx, const char *path, struct device *ret_dev, struct err *err)
{
	struct sim *sim = ctx;
	struct sim_disk *sd = sim_find(sim, path);

	if (!sd && strncmp(path, "sim:", 4) == 0) {
		struct profile p;
		char file[1024];
		int r;

		(void)snprintf(file, sizeof(file), strchr(path + 4, '/') ? "%s" : SIMDISK_PROFILES "/%s.disk",
		               path + 4);
		r = profile_load(&p, file, err);
		if (r < 0)
			return r;
		sd = sim_find(sim, p.name);
		if (!sd)
			sd = sim_add_disk(sim, &p, p.name);
		profile_done(&p);
	}
	if (!sd)
		return err_set(err, -ENOENT, "There is no simulated disk %s.", path);
	if (disk_is_gone(sd->whole->model, sim->vc.now_ns))
		return err_set(err, -ENXIO, "%s is not there any more.", path);
	*ret_dev = sd->dev;
	for (const struct sim_disk *other = sim->disks; other; other = other->next)
		if (other->whole != sd->whole && strcmp(other->dev.id.serial, sd->dev.id.serial) == 0)
			ret_dev->id.serial_is_shared = true;
	(void)snprintf(ret_dev->path, sizeof(ret_dev->path), "%s", path);
	return 0;
}

static struct sim_disk *same(const struct sim *sim, const struct device *dev)
{
	struct sim_disk *sd = sim->disks;

	while (sd && (sd->dev.rdev != dev->rdev || sd->dev.file.inode != dev->file.inode ||
	              strcmp(sd->dev.name, dev->name) != 0))
		sd = sd->next;
	return sd;
}

static int new_fd(struct sim *sim, struct sim_disk *sd, bool is_writable, bool is_claim)
{
	struct sim_open *bigger = realloc(sim->opens, (sim->nopens + 1) * sizeof(*bigger));

	if (!bigger)
		sim_die("out of memory");
	sim->opens = bigger;
	sim->opens[sim->nopens] = (struct sim_open){ .sd = sd, .is_writable = is_writable, .is_claim = is_claim };
	sd->opens++;
	sd->write_opens += is_writable;
	return SIM_FD_FIRST + (int)sim->nopens++;
}

static int look(struct sim *sim, const struct device *dev, struct sim_disk **ret, struct err *err)
{
	*ret = same(sim, dev);
	if (!*ret || disk_is_gone((*ret)->whole->model, sim->vc.now_ns))
		return err_set(err, -ENXIO, "%s is not there any more.", dev->path);
	return 0;
}

static int dev_open(void *ctx, const struct device *dev, const struct write_permit *permit, unsigned flags,
                    struct err *err)
{
	struct sim *sim = ctx;
	struct sim_disk *sd;
	int r = look(sim, dev, &sd, err);

	(void)flags;
	if (r < 0)
		return r;
	if (permit && !sd->is_claimed) /* a permit holds the claim of its own device */
		return err_set(err, -EPERM, "The permit is for another device than %s.", dev->path);
	return new_fd(sim, sd, permit != NULL, false);
}

static void dev_close(void *ctx, int fd)
{
	struct sim *sim = ctx;
	const struct sim_open *o = sim_open_of(sim, fd);
	struct sim_open *mine;

	if (!o)
		sim_die("descriptor %d was closed, but it is not open", fd);
	mine = &sim->opens[o - sim->opens];
	mine->sd->opens--;
	mine->sd->write_opens -= mine->is_writable;
	if (mine->is_claim)
		mine->sd->is_claimed = false;
	mine->sd = NULL;
}

static bool dev_is_there(void *ctx, const struct device *dev, int fd)
{
	struct sim_disk *sd;

	(void)fd;
	return look(ctx, dev, &sd, NULL) == 0;
}

static int dev_io(void *ctx, const struct device *dev, struct device_io *ret)
{
	struct sim_disk *sd = same(ctx, dev);
	struct disk_counters c;

	if (!sd)
		return -ENOENT;
	sim_collect(sd->sim);
	c = disk_counters(sd->whole->model);
	*ret = sd->whole->foreign;
	ret->reads += c.reads;
	ret->read_bytes += c.read_bytes;
	ret->read_ns += c.read_ns;
	ret->writes += c.writes;
	ret->written_bytes += c.written_bytes;
	ret->write_ns += c.write_ns;
	ret->busy_ns += c.busy_ns;
	ret->queue_ns += c.read_ns + c.write_ns;
	ret->in_flight += disk_in_flight(sd->whole->model);
	return 0;
}

static int dev_written(void *ctx, const struct device *dev, struct device_written *ret)
{
	struct device_io io;
	int r = dev->kind == DEVICE_FILE ? -ENOENT : dev_io(ctx, dev, &io);

	*ret = (struct device_written){ .n = r == 0 };
	(void)snprintf(ret->v[0].on, sizeof(ret->v[0].on), "%s", dev->disk);
	ret->v[0].bytes = r == 0 ? io.written_bytes : 0;
	return r;
}

static uint32_t dev_temperature(void *ctx, const struct device *dev)
{
	const struct sim_disk *sd = same(ctx, dev);

	double celsius = sd && sd->whole->model ? disk_celsius(sd->whole->model, sd->sim->vc.now_ns) : 0;

	if (celsius > 0) /* whole degrees, as drives say */
		return (uint32_t)floor(celsius) * 1000;
	return sd ? sd->whole->dev.temperature_mc : 0;
}

/* Whether what is found on `other` concerns one who wants sd: a disk and its partitions, a partition and its disk. */
static bool is_related(const struct sim_disk *sd, const struct sim_disk *other)
{
	return other->whole == sd->whole && (other == sd || sd == sd->whole || other == sd->whole);
}

struct device_health *sim_health(struct sim_disk *sd)
{
	if (!sd->has_health)
		device_health_clear(&sd->health, "");
	sd->has_health = true;
	return &sd->health;
}

static bool dev_health(void *ctx, const struct device *dev, bool may_wake, struct device_health *ret)
{
	const struct sim_disk *sd = same(ctx, dev);

	(void)may_wake;
	if (sd && sd->whole->has_health)
		*ret = sd->whole->health;
	return sd && sd->whole->has_health;
}

static int dev_survey(void *ctx, const struct device *dev, struct survey *ret, struct err *err)
{
	struct sim *sim = ctx;
	struct sim_disk *sd, *other;
	int r = look(sim, dev, &sd, err);

	if (r < 0)
		return r;
	*ret = (struct survey){ 0 };
	for (other = sim->disks; other; other = other->next) {
		if (!is_related(sd, other))
			continue;
		for (size_t i = 0; i < other->findings.n; i++) {
			const struct finding *f = &other->findings.v[i];

			survey_add(ret, f->kind, f->on, f->what, f->where);
		}
	}
	if (sd->dev.is_read_only)
		survey_add(ret, FINDING_READ_ONLY, sd->dev.name, "", "");
	return 0;
}

/* What the kernel's O_EXCL refuses. */
static bool is_exclusive_use(enum finding_kind kind)
{
	return kind == FINDING_MOUNT || kind == FINDING_SWAP || kind == FINDING_HOLDER || kind == FINDING_EXCLUSIVE;
}

static int dev_claim(void *ctx, const struct device *dev, struct err *err)
{
	struct sim *sim = ctx;
	struct survey s;
	struct sim_disk *sd, *other;
	bool is_used = false;
	int r = dev_survey(sim, dev, &s, err);

	if (r < 0)
		return r;
	sd = same(sim, dev);
	for (other = sim->disks; other; other = other->next)
		is_used = is_used || (is_related(sd, other) && other->is_claimed);
	for (size_t i = 0; i < s.n; i++)
		is_used = is_used || is_exclusive_use(s.v[i].kind);
	survey_done(&s);
	if (is_used)
		return err_set(err, -EBUSY, "Cannot open %s: Device or resource busy.", dev->path);
	if (sd->dev.is_read_only)
		return err_set(err, -EROFS, "%s is read-only.", dev->path);
	sd->is_claimed = true;
	return new_fd(sim, sd, true, true);
}

static int dev_drop_cache(void *ctx, int fd)
{
	return sim_open_of(ctx, fd) ? 0 : -EBADF;
}

static int dev_partitions(void *ctx, const struct device *dev, struct device **ret, size_t *ret_n, struct err *err)
{
	struct sim *sim = ctx;
	struct sim_disk *sd, *other;
	struct device *v;
	size_t n = 0, i, k;
	int r = look(sim, dev, &sd, err);

	if (r < 0)
		return r;
	v = calloc(sim->ndisks, sizeof(*v));
	if (!v)
		return err_set(err, -ENOMEM, "Out of memory.");
	for (other = sim->disks; other; other = other->next)
		if (other->whole == sd && other->dev.kind == DEVICE_PARTITION)
			v[n++] = other->dev;
	for (i = 1; i < n; i++) /* by place: a handful */
		for (k = i; k > 0 && v[k].partition_offset_bytes < v[k - 1].partition_offset_bytes; k--) {
			struct device d = v[k];

			v[k] = v[k - 1];
			v[k - 1] = d;
		}
	*ret = v;
	*ret_n = n;
	return 0;
}

static int dev_contents(void *ctx, const struct device *dev, const struct content_question *q, struct contents *ret,
                        struct err *err)
{
	struct sim_disk *sd;
	int r = look(ctx, dev, &sd, err);

	*ret = (struct contents){ 0 };
	if (r < 0)
		return r;
	ret->v = calloc(q->n * sd->contents.n + 1, sizeof(*ret->v));
	if (!ret->v)
		sim_die("out of memory");
	for (size_t i = 0; i < q->n; i++)
		for (size_t k = 0; k < sd->contents.n; k++) {
			const struct device_range *g = &q->places[i];
			struct content c = sd->contents.v[k];
			uint64_t first = c.first_bytes;

			if (q->is_over(q->arg))
				return 0;
			sd->sim->vc.now_ns += sd->sim->file_cost_ns;
			c.first_bytes = first > g->first_byte ? first : g->first_byte;
			if (c.end_bytes > g->first_byte + g->bytes)
				c.end_bytes = g->first_byte + g->bytes;
			if (c.first_bytes >= c.end_bytes)
				continue;
			c.file_bytes = c.first_bytes - first;
			c.path = strdup(c.path);
			ret->v[ret->n++] = c;
		}
	return 0;
}

/* By device numbers and offsets alone. */
static int dev_share(void *ctx, const struct device *devs, size_t n, struct device_share *ret, struct err *err)
{
	(void)ctx;
	(void)err; /* it cannot fail */
	*ret = (struct device_share){ .kind = SHARE_NOTHING };
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++) {
			const struct device *a = &devs[k], *b = &devs[i];
			bool is_disk = a->disk_rdev != 0 && a->disk_rdev == b->disk_rdev, is_same;

			is_same =
				a->kind <= DEVICE_PARTITION && b->kind <= DEVICE_PARTITION
					? is_disk &&
						  a->partition_offset_bytes <
							  b->partition_offset_bytes + b->size_bytes &&
						  b->partition_offset_bytes < a->partition_offset_bytes + a->size_bytes
					: a->kind == DEVICE_FILE && b->kind == DEVICE_FILE &&
						  strcmp(a->node, b->node) == 0;
			if (is_same || (is_disk && ret->kind == SHARE_NOTHING))
				*ret = (struct device_share){ is_same ? SHARE_BYTES : SHARE_DISK, k, i };
			if (is_same)
				return 0;
		}
	return 0;
}

const struct device_ops device_sim = {
	.probe = dev_probe,
	.open = dev_open,
	.close = dev_close,
	.is_there = dev_is_there,
	.io = dev_io,
	.written = dev_written,
	.temperature = dev_temperature,
	.health = dev_health,
	.share = dev_share,
	.survey = dev_survey,
	.claim = dev_claim,
	.drop_cache = dev_drop_cache,
	.partitions = dev_partitions,
	.contents = dev_contents,
};

void sim_fill_cache(struct sim *sim, size_t n, enum sim_filled how)
{
	struct sim_disk *sd = sim_find(sim, "sda");
	uint64_t size = sim_device(sd)->size_bytes, t = 0;
	uint64_t from = how == SIM_ALL_OVER ? size / 4 / 8192 : 0;
	uint64_t places = (how == SIM_ALL_OVER ? size / 2 : 11ull << 30) / 8192;
	struct disk *d = sim_model(sd);
	struct disk_done done;

	for (size_t i = 0; how != SIM_EMPTY && i < n; i++) {
		const struct disk_req q = { .op = DISK_WRITE,
			                    .len_bytes = 4096,
			                    .offset_bytes = (from + permute(i, places, 7)) * 8192,
			                    .fua = true };

		if (disk_submit(d, t, &q) < 0)
			abort();
		while (disk_in_flight(d)) {
			while (disk_next_done_ns(d) == DISK_NEVER)
				disk_advance(d, t = disk_next_event_ns(d));
			t = disk_next_done_ns(d);
			disk_advance(d, t);
			(void)disk_pop_done(d, t, &done);
		}
	}
	if (t > sim_clock(sim)->now_ns)
		sim_clock(sim)->now_ns = t;
}
