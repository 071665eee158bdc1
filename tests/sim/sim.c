/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "simstate.h"

void sim_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)fputs("sim: ", stderr);
	(void)vfprintf(stderr, fmt, ap);
	(void)fputc('\n', stderr);
	va_end(ap);
	abort();
}

static void *must(void *p)
{
	if (!p)
		sim_die("out of memory");
	return p;
}

struct sim *sim_new(void)
{
	static const struct engine_ops *const engines[] = { &engine_sim, &engine_sim_sync, NULL };
	struct sim *sim = must(calloc(1, sizeof(*sim)));

	vclock_init(&sim->vc);
	sim->env = (struct env){
		.engines = engines,
		.clk = &sim->vc.clk,
		.devices = &device_sim,
		.devices_ctx = sim,
		.sysroot = "/nowhere/sim", /* the host's /proc and /sys are not a simulated machine's */
		.boot_id = "this-start",
		.out = stdout,
		.err = stderr,
	};
	sim->has_contents = true;
	return sim;
}

/* What another program still awaits; d: NULL where nothing is modelled. */
static void end_requests(struct disk *d)
{
	struct disk_done done;

	for (uint64_t now = 0; d && disk_in_flight(d) && now != DISK_NEVER;) {
		now = disk_next_event_ns(d) < disk_next_done_ns(d) ? disk_next_event_ns(d) : disk_next_done_ns(d);
		if (now != DISK_NEVER)
			disk_advance(d, now);
		while (disk_pop_done(d, now, &done))
			free(done.req.owner);
	}
}

void sim_free(struct sim *sim)
{
	if (!sim)
		return;
	while (sim->disks) {
		struct sim_disk *sd = sim->disks;

		sim->disks = sd->next;
		end_requests(sd->model);
		disk_free(sd->model);
		survey_done(&sd->findings);
		content_list_done(&sd->contents);
		free(sd);
	}
	free(sim->opens);
	free(sim);
}

struct env *sim_env(struct sim *sim)
{
	return &sim->env;
}

struct vclock *sim_clock(struct sim *sim)
{
	return &sim->vc;
}

#define COPY(to, ...) ((void)snprintf(to, sizeof(to), __VA_ARGS__)) /* a cut name is a name */

static struct sim_disk *add(struct sim *sim, const char *name)
{
	struct sim_disk *sd = must(calloc(1, sizeof(*sd))), **at = &sim->disks;

	if (sim_find(sim, name))
		sim_die("there is a %s already", name);
	while (*at)
		at = &(*at)->next;
	*at = sd;
	sd->sim = sim;
	sd->dev.rdev = makedev(4000, ++sim->ndisks);
	COPY(sd->dev.name, "%s", name);
	COPY(sd->dev.node, "/dev/%s", name);
	return sd;
}

static void fill_device(struct device *dev, const struct profile *p, uint64_t size_bytes)
{
	dev->kind = DEVICE_DISK;
	COPY(dev->disk, "%s", dev->name);
	dev->disk_rdev = dev->rdev;
	dev->diskseq = minor(dev->rdev);
	dev->size_bytes = dev->disk_size_bytes = size_bytes;
	dev->logical_block_bytes = p->logical_sector_bytes;
	dev->physical_block_bytes = dev->queue.io_min_bytes = p->physical_sector_bytes;
	dev->queue.dio_mem_align_bytes = dev->queue.dio_offset_align_bytes = p->logical_sector_bytes;
	dev->rotational = p->kind == DISK_ROTATING;
	if (p->kind == DISK_ROTATING)
		dev->id.reported_rpm = (uint32_t)((p->reported.rpm > 0 ? p->reported.rpm : p->spindle.rpm) + 0.5);
	COPY(dev->id.model, "%s", p->reported.model);
	COPY(dev->id.serial, "%s", p->reported.serial);
	COPY(dev->id.firmware, "%s", p->reported.firmware);
	COPY(dev->id.vendor, "%s", p->reported.vendor);
	COPY(dev->transport, "%s", p->reported.transport[0] ? p->reported.transport : "ata");
	if (strcmp(p->reported.transport, "dm") ==
	    0) { /* the kernel shows what it is made of, and no member's rotation */
		COPY(dev->id.below, "sdy, sdz");
		dev->id.reported_rpm = 0;
	}
	COPY(dev->queue.scheduler, "none");
	COPY(dev->queue.write_cache, "%s", p->wcache.bytes && p->wcache.is_on ? "write back" : "write through");
	COPY(dev->queue.zoned, "none");
	dev->queue.read_ahead_bytes = 128 << 10;
	dev->queue.nr_requests = 128;
	dev->queue.max_sectors_bytes = p->reported.request_bytes ? (uint32_t)p->reported.request_bytes : 1280 << 10;
	dev->queue.max_hw_sectors_bytes = 32767 << 9;
	dev->queue.max_segments = 168;
	dev->queue.max_segment_bytes = 65536;
	dev->queue.queue_depth = p->ctl.queue_depth;
}

/* The kernel shows ranges of disks that have several. */
static void fill_ranges(struct device *dev, const struct disk *model)
{
	struct profile_range range[2];
	size_t n = disk_access_ranges(model, range);

	for (size_t i = 0; n > 1 && i < n; i++)
		dev->ranges[dev->nranges++] =
			(struct device_range){ .first_byte = range[i].lba * dev->logical_block_bytes,
			                       .bytes = range[i].count * dev->logical_block_bytes };
}

struct sim_disk *sim_add_disk(struct sim *sim, const struct profile *p, const char *name)
{
	struct sim_disk *sd = add(sim, name);

	sd->whole = sd;
	sd->model = must(disk_new(p, sim->vc.now_ns));
	fill_device(&sd->dev, p, geometry_bytes(disk_geometry(sd->model)));
	fill_ranges(&sd->dev, sd->model);
	return sd;
}

struct sim_disk *sim_add_profile(struct sim *sim, const char *profile, const char *name)
{
	struct sim_disk *sd;
	struct profile p;
	struct err err = { 0 };
	char path[1024];

	COPY(path, strchr(profile, '/') ? "%s" : SIMDISK_PROFILES "/%s.disk", profile);
	if (profile_load(&p, path, &err) < 0)
		sim_die("%s", err.text);
	sd = sim_add_disk(sim, &p, name);
	profile_done(&p);
	return sd;
}

static struct sim_disk *add_part(struct sim *sim, struct sim_disk *disk, const char *name, uint64_t first_byte,
                                 uint64_t bytes)
{
	struct sim_disk *sd = add(sim, name);
	struct device dev = disk->dev;

	if (first_byte % dev.logical_block_bytes || bytes % dev.logical_block_bytes || first_byte > dev.size_bytes ||
	    bytes > dev.size_bytes - first_byte)
		sim_die("%s does not lie on %s", name, dev.name);
	memcpy(dev.name, sd->dev.name, sizeof(dev.name));
	memcpy(dev.node, sd->dev.node, sizeof(dev.node));
	dev.rdev = sd->dev.rdev;
	dev.size_bytes = bytes;
	dev.partition_offset_bytes = disk->first_byte + first_byte;
	sd->dev = dev;
	sd->whole = disk->whole;
	sd->first_byte = disk->first_byte + first_byte;
	return sd;
}

struct sim_disk *sim_add_partition(struct sim *sim, struct sim_disk *disk, const char *name, uint64_t first_byte,
                                   uint64_t bytes)
{
	struct sim_disk *sd = add_part(sim, disk, name, first_byte, bytes);
	const char *digits = name + strlen(name);

	while (digits > name && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	sd->dev.kind = DEVICE_PARTITION;
	sd->dev.id.partition = (uint32_t)strtoul(digits, NULL, 10);
	return sd;
}

struct sim_disk *sim_add_file(struct sim *sim, struct sim_disk *disk, const char *name, uint64_t first_byte,
                              uint64_t bytes)
{
	struct sim_disk *sd = add_part(sim, disk, name, first_byte, bytes);

	sd->dev.kind = DEVICE_FILE;
	sd->dev.file.inode = minor(sd->dev.rdev);
	sd->dev.rdev = disk->dev.rdev;
	sd->dev.partition_offset_bytes = 0;
	COPY(sd->dev.node, "/sim/%s", name);
	COPY(sd->dev.file.fs_type, "simfs");
	return sd;
}

struct sim_disk *sim_find(struct sim *sim, const char *path)
{
	static const char *const prefixes[] = { "/dev/", "/sim/", "sim:" };
	struct sim_disk *sd;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(path, prefixes[i], strlen(prefixes[i])) == 0)
			path += strlen(prefixes[i]);
	for (sd = sim->disks; sd && strcmp(sd->dev.name, path) != 0; sd = sd->next)
		;
	return sd;
}

struct disk *sim_model(struct sim_disk *sd)
{
	return sd->whole->model;
}

struct device *sim_device(struct sim_disk *sd)
{
	return &sd->dev;
}

void sim_add_finding(struct sim_disk *sd, enum finding_kind kind, const char *on, const char *what, const char *where)
{
	survey_add(&sd->findings, kind, on, what, where);
}

void sim_add_file_at(struct sim_disk *sd, uint64_t first, uint64_t end, const char *path)
{
	struct contents *c = &sd->contents;

	c->v = reallocarray(c->v, c->n + 1, sizeof(*c->v));
	if (!c->v)
		sim_die("out of memory");
	c->v[c->n] = (struct content){
		.first_bytes = first, .end_bytes = end, .kind = CONTENT_FILE, .fs_type = "ext4", .path = strdup(path)
	};
	(void)snprintf(c->v[c->n++].on, sizeof(c->v->on), "%s", sd->dev.name);
}

void sim_set_scheduler(struct sim_disk *sd, const char *name)
{
	COPY(sd->dev.queue.scheduler, "%s", name);
	sd->is_sorting = strcmp(name, "none") != 0;
}

void sim_foreign_io(struct sim_disk *sd, const struct device_io *more)
{
	struct device_io *io = &sd->whole->foreign;

	io->reads += more->reads;
	io->read_bytes += more->read_bytes;
	io->read_ns += more->read_ns;
	io->writes += more->writes;
	io->written_bytes += more->written_bytes;
	io->write_ns += more->write_ns;
	io->busy_ns += more->busy_ns;
	io->queue_ns += more->queue_ns;
}

unsigned sim_opens(const struct sim_disk *sd)
{
	return sd->opens;
}

unsigned sim_write_opens(const struct sim_disk *sd)
{
	return sd->write_opens;
}

void sim_set_contents(struct sim *sim, bool has_contents)
{
	sim->has_contents = has_contents;
}

void sim_set_verify(struct sim *sim, enum sim_verify how)
{
	sim->verify = how;
}

void sim_set_error(struct sim *sim, int error)
{
	sim->error = error;
}

void sim_set_file_cost(struct sim *sim, uint64_t ns)
{
	sim->file_cost_ns = ns;
}

void sim_set_host_cost(struct sim *sim, uint64_t submit_ns, uint64_t reap_ns)
{
	sim->submit_cost_ns = submit_ns;
	sim->reap_cost_ns = reap_ns;
}

void sim_set_tick(struct sim *sim, uint64_t tick_ns)
{
	sim->tick_ns = tick_ns;
}

void sim_at(struct sim *sim, uint64_t after_ns, void (*fn)(void *arg), void *arg)
{
	vclock_at(&sim->vc, VCLOCK_START_NS + after_ns, fn, arg);
}

uint64_t sim_elapsed_ns(const struct sim *sim)
{
	return sim->vc.now_ns - VCLOCK_START_NS;
}

uint64_t sim_requests(const struct sim *sim)
{
	return sim->requests;
}

const struct sim_open *sim_open_of(const struct sim *sim, int fd)
{
	size_t i = (size_t)(fd - SIM_FD_FIRST);

	return fd >= SIM_FD_FIRST && i < sim->nopens && sim->opens[i].sd ? &sim->opens[i] : NULL;
}
