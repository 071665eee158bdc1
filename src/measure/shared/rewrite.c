/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file: a header of 4096 bytes (magic, version, identity, state, place, hashes), then the chunk. Header and chunk are written together and
 * synced once: a chunk whose hash does not fit was not noted, and then not written to the device either.
 */
#include "measure/shared/rewrite.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"

#define MAGIC        "PLTRRWJ2"   /* the last one counts changes of the header */
#define TORN_MAX     (256u << 10) /* bytes: more than a drive has in work when the power goes was written by somebody */
#define HEADER_BYTES 4096
#define CHUNK_MAX    (1ull << 30)

enum journal_state { JOURNAL_CLEAR = 0, JOURNAL_PENDING = 1 };

struct journal_header { /* little-endian machines write, little-endian machines read: the magic tells */
	char magic[8];
	uint32_t state, header_bytes;
	uint64_t offset_bytes, len_bytes, data_hash;
	char when[32];
	char serial[64], model[64], wwn[64], uuid[160], part_uuid[64], name[64], path[256];
	uint64_t size_bytes, partition_offset_bytes;
	uint64_t header_hash; /* of all before it */
};

struct rewrite_journal {
	int fd, dir_fd;
	bool is_pending;   /* of an earlier run, or the one in work */
	bool is_uncertain; /* nothing tells that the pending chunk is of this very device */
	char name[160];
	char path[512];
	struct journal_header h;
};

static uint64_t header_hash(const struct journal_header *h)
{
	return payload_hash(h, offsetof(struct journal_header, header_hash));
}

/* ---- the file ---- */

/* mkdir -p, the last part for root only. */
static int make_dir(const char *dir, struct err *err)
{
	char path[400];

	if (strlen(dir) >= sizeof(path))
		return err_set(err, -ENAMETOOLONG, "The path %.60s... is too long.", dir);
	(void)snprintf(path, sizeof(path), "%s", dir);
	for (char *c = path + 1;; c++) {
		char at = *c;

		if (at && at != '/')
			continue;
		*c = '\0';
		if (mkdir(path, at ? 0755 : 0700) < 0 && errno != EEXIST && (errno != EROFS || access(path, F_OK) < 0))
			return err_set(
				err, -errno,
				"Cannot make the directory %s for the journal of --rewrite: %s; choose another one with --journal.",
				path, strerror(errno));
		*c = at;
		if (!at)
			return 0;
	}
}

static void make_name(struct rewrite_journal *j, const char *dir, const struct device *dev)
{
	char id[96];

	/* What stays after a restart: a kernel name may be another volume's then. */
	if (dev->serial[0] && !dev->serial_is_shared && dev->kind != DEVICE_FILE)
		(void)snprintf(id, sizeof(id), "%s", dev->serial);
	else if (dev->wwn[0] && !dev->wwn_is_shared && dev->kind != DEVICE_FILE)
		(void)snprintf(id, sizeof(id), "%s", dev->wwn);
	else if (dev->uuid[0])
		(void)snprintf(id, sizeof(id), "%.95s", dev->uuid);
	else
		(void)snprintf(id, sizeof(id), "%s-%" PRIx64 "-%" PRIx64, dev->name,
		               (uint64_t)(dev->kind == DEVICE_FILE ? dev->rdev : dev->disk_rdev), dev->inode);
	for (char *c = id; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", *c))
			*c = '_';
	(void)snprintf(j->name, sizeof(j->name), "rewrite-%s-%" PRIu64 ".journal", id, dev->partition_offset_bytes);
	(void)snprintf(j->path, sizeof(j->path), "%.340s/%s", dir, j->name);
}

static void set_identity(struct journal_header *h, const struct device *dev)
{
	memset(h, 0, sizeof(*h));
	memcpy(h->magic, MAGIC, sizeof(h->magic));
	h->header_bytes = HEADER_BYTES;
	(void)snprintf(h->serial, sizeof(h->serial), "%s", dev->serial);
	(void)snprintf(h->model, sizeof(h->model), "%s", dev->model);
	(void)snprintf(h->wwn, sizeof(h->wwn), "%s", dev->wwn);
	(void)snprintf(h->uuid, sizeof(h->uuid), "%s", dev->uuid);
	(void)snprintf(h->part_uuid, sizeof(h->part_uuid), "%s", dev->part_uuid);
	(void)snprintf(h->name, sizeof(h->name), "%s", dev->name);
	(void)snprintf(h->path, sizeof(h->path), "%s", dev->path);
	h->size_bytes = dev->size_bytes;
	h->partition_offset_bytes = dev->partition_offset_bytes;
}

/* What says that the chunk is of another device, or of one that cannot be compared with it any more; NULL: nothing does. */
static const char *find_difference(const struct journal_header *h, const struct device *dev)
{
	const struct {
		const char *what, *then, *now;
	} names[] = {
		{ "serial number", h->serial, dev->serial },
		{ "model", h->model, dev->model },
		{ "world-wide name", h->wwn, dev->wwn },
		{ "UUID", h->uuid, dev->uuid },
		{ "UUID of the partition", h->part_uuid, dev->part_uuid },
	};

	if (h->size_bytes != dev->size_bytes)
		return "size";
	if (h->partition_offset_bytes != dev->partition_offset_bytes)
		return "place of the partition";
	if (h->len_bytes > dev->size_bytes || h->offset_bytes > dev->size_bytes - h->len_bytes)
		return "place of the block";
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i].then, names[i].now) != 0)
			return names[i].what;
	return NULL;
}

static int check_identity(struct rewrite_journal *j, struct journal_header *h, const struct device *dev,
                          struct err *err)
{
	const char *what = find_difference(h, dev);

	if (what)
		return err_set(
			err, -EUCLEAN,
			"%s holds an unfinished block of %.200s (serial %s, %" PRIu64
			" bytes), but the %s of %s is another one now. Nothing was touched; recover the device that it is "
			"of, or move the file away.",
			j->path, h->path, h->serial[0] ? h->serial : "unknown", h->size_bytes, what, dev->path);
	j->is_uncertain =
		!(dev->serial[0] && !dev->serial_is_shared) && !(dev->wwn[0] && !dev->wwn_is_shared) && !dev->uuid[0];
	return 0;
}

/* Is there a whole chunk in the file? Hash by hash; a torn one was never written to the device. */
static int look_for_chunk(struct rewrite_journal *j, const struct device *dev, struct err *err)
{
	struct journal_header h;
	cleanup_free uint8_t *data = NULL;
	ssize_t got = pread(j->fd, &h, sizeof(h), 0);
	int r;

	if (got < 0)
		return err_set(err, -errno, "Cannot read the journal %s: %s.", j->path, strerror(errno));
	if (got >= (ssize_t)sizeof(h.magic) && memcmp(h.magic, MAGIC, sizeof(h.magic) - 1) == 0 &&
	    h.magic[sizeof(h.magic) - 1] != MAGIC[sizeof(h.magic) - 1])
		return err_set(
			err, -EUCLEAN,
			"The journal %s is of another version of platter; recover with that one, or move the file away.",
			j->path);
	if (got != (ssize_t)sizeof(h) || memcmp(h.magic, MAGIC, sizeof(h.magic)) != 0 ||
	    h.header_hash != header_hash(&h) || h.state != JOURNAL_PENDING || h.len_bytes > CHUNK_MAX)
		return 0;
	data = malloc(h.len_bytes);
	if (!data)
		return err_set(err, -ENOMEM, "Out of memory.");
	if (pread(j->fd, data, h.len_bytes, HEADER_BYTES) != (ssize_t)h.len_bytes ||
	    payload_hash(data, h.len_bytes) != h.data_hash)
		return 0;
	/* Texts of a file: ended, whatever stands there. */
	h.serial[sizeof(h.serial) - 1] = h.model[sizeof(h.model) - 1] = h.wwn[sizeof(h.wwn) - 1] = '\0';
	h.uuid[sizeof(h.uuid) - 1] = h.part_uuid[sizeof(h.part_uuid) - 1] = h.path[sizeof(h.path) - 1] = '\0';
	r = check_identity(j, &h, dev, err);
	if (r < 0)
		return r;
	h.when[sizeof(h.when) - 1] = '\0';
	j->h = h;
	j->is_pending = true;
	return 0;
}

/* Whoever may rename files here may put another journal in place of ours. */
static bool is_safe_dir(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == 0) &&
	       ((st.st_mode & 022) == 0 || (st.st_mode & S_ISVTX) != 0);
}

/* A name that leads to a device, a pipe or a file of somebody else is nothing to write to. */
static int open_file(struct rewrite_journal *j, const char *dir, struct err *err)
{
	struct stat st;

	j->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (j->dir_fd >= 0)
		j->fd = openat(j->dir_fd, j->name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		               0600);
	if (j->fd < 0)
		return err_set(err, -errno, "Cannot open the journal %s: %s; choose another directory with --journal.",
		               j->path, strerror(errno));
	if (fstat(j->fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_uid == geteuid() &&
	    (st.st_mode & 077) == 0 && is_safe_dir(j->dir_fd))
		return 0;
	(void)close(j->fd); /* not ours to remove */
	j->fd = -1;
	if (S_ISREG(st.st_mode) && st.st_nlink == 1)
		return err_set(
			err, -EPERM,
			"The journal %s, or its directory, can be read or changed by others (the file has to be its "
			"owner's alone, 0600, in a directory that others cannot write to): look what it is, then remove "
			"it, or choose another directory with --journal.",
			j->path);
	return err_set(err, -EEXIST,
	               "The journal %s is no regular file of its own; choose another directory with --journal.",
	               j->path);
}

int rewrite_open(struct rewrite_journal **ret, const char *dir, const struct device *dev, struct err *err)
{
	struct rewrite_journal *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return err_set(err, -ENOMEM, "Out of memory.");
	j->fd = j->dir_fd = -1;
	make_name(j, dir, dev);
	set_identity(&j->h, dev);
	r = make_dir(dir, err);
	if (r == 0)
		r = open_file(j, dir, err);
	if (r < 0)
		goto out;
	if (flock(j->fd, LOCK_EX | LOCK_NB) < 0) {
		r = err_set(err, -EBUSY, "Another run has the journal %s.", j->path);
		(void)close(j->fd); /* not ours to remove */
		j->fd = -1;
		goto out;
	}
	(void)fsync(
		j->dir_fd); /* the name has to survive, too; where a directory cannot be synced nothing better is to be had */
	r = look_for_chunk(j, dev, err);
	if (r < 0) {
		j->is_pending = true; /* stays where it is */
		goto out;
	}
	*ret = j;
	return 0;
out:
	rewrite_close(j);
	return r;
}

void rewrite_close(struct rewrite_journal *j)
{
	if (!j)
		return;
	if (j->fd >= 0) {
		if (!j->is_pending)
			(void)unlinkat(j->dir_fd, j->name, 0); /* a clear journal that stays does no harm */
		(void)close(j->fd);
	}
	if (j->dir_fd >= 0)
		(void)close(j->dir_fd);
	free(j);
}

const char *rewrite_path(const struct rewrite_journal *j)
{
	return j->path;
}

bool rewrite_pending(const struct rewrite_journal *j, struct rewrite_chunk *ret)
{
	if (!j->is_pending)
		return false;
	ret->offset_bytes = j->h.offset_bytes;
	ret->len_bytes = j->h.len_bytes;
	(void)snprintf(ret->when, sizeof(ret->when), "%s", j->h.when);
	return true;
}

static int write_all(int fd, const void *data, size_t len, off_t at)
{
	const uint8_t *p = data;

	while (len) {
		ssize_t done = pwrite(fd, p, len, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		p += done;
		at += done;
		len -= (size_t)done;
	}
	return 0;
}

int rewrite_begin(struct rewrite_journal *j, uint64_t offset_bytes, const void *data, size_t len, struct err *err)
{
	uint8_t block[HEADER_BYTES] = { 0 };
	int r;

	j->h.state = JOURNAL_PENDING;
	j->h.offset_bytes = offset_bytes;
	j->h.len_bytes = len;
	j->h.data_hash = payload_hash(data, len);
	(void)clock_wall_text(j->h.when, sizeof(j->h.when));
	j->h.header_hash = header_hash(&j->h);
	memcpy(block, &j->h, sizeof(j->h));
	r = write_all(j->fd, block, sizeof(block), 0);
	if (r == 0)
		r = write_all(j->fd, data, len, HEADER_BYTES);
	if (r == 0 && fdatasync(j->fd) < 0)
		r = -errno;
	if (r < 0)
		return err_set(
			err, r,
			"Cannot write the journal %s: %s. Nothing was written to the device; choose another directory with --journal.",
			j->path, strerror(-r));
	j->is_pending = true;
	return 0;
}

int rewrite_end(struct rewrite_journal *j, struct err *err)
{
	uint8_t block[HEADER_BYTES] = { 0 };
	int r;

	j->h.state = JOURNAL_CLEAR;
	j->h.header_hash = header_hash(&j->h);
	memcpy(block, &j->h, sizeof(j->h));
	/* Not synced: should it come back after a crash, it compares equal and is forgotten then. */
	r = write_all(j->fd, block, sizeof(block), 0);
	if (r < 0)
		return err_set(err, r, "Cannot write the journal %s: %s.", j->path, strerror(-r));
	j->is_pending = false;
	return 0;
}

/* ---- moving bytes, deaf to signals: a recovery that was begun is finished ---- */

struct mover {
	struct feeder feeder;
	struct sink sink;
	enum io_op op;
	uint64_t at, end, first;
	uint32_t step_bytes, sector_bytes;
	const uint8_t *data; /* the chunk, byte `first` first */
	uint8_t *fill;       /* NULL, or data: what is read is put there */
	uint8_t *marks;      /* per sector: enum mark */
	uint8_t only;        /* write or read sectors with this mark only; MARK_ANY */
	bool is_given;       /* the flush */
	int error;
	uint64_t read_bytes, written_bytes; /* given to the device, in all */
};

enum mark { MARK_SAME = 0, MARK_DIFFERS = 1, MARK_UNREADABLE = 2, MARK_PUT_BACK = 3, MARK_ANY = 255 };

static enum feed mover_next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct mover *m = (struct mover *)((char *)f - offsetof(struct mover, feeder));
	uint64_t left;

	(void)now_ns;
	(void)ret_until_ns; /* never waits */
	req->op = m->op;
	req->target = 0;
	if (m->op == IO_FLUSH) {
		bool was = m->is_given;

		m->is_given = true;
		return was ? FEED_END : FEED_IO;
	}
	while (m->only != MARK_ANY && m->at < m->end && m->marks[(m->at - m->first) / m->sector_bytes] != m->only)
		m->at += m->sector_bytes;
	if (m->at >= m->end)
		return FEED_END;
	left = m->end - m->at;
	req->offset_bytes = m->at;
	req->len_bytes = left < m->step_bytes ? (uint32_t)left : m->step_bytes;
	if (m->op == IO_WRITE)
		memcpy(req->buf, m->data + (m->at - m->first), req->len_bytes);
	m->at += req->len_bytes;
	return FEED_IO;
}

static void mover_take(struct sink *s, const struct io_req *req, bool is_fault)
{
	struct mover *m = (struct mover *)((char *)s - offsetof(struct mover, sink));
	const uint8_t *got = req->buf;

	m->read_bytes += m->op == IO_READ ? req->len_bytes : 0;
	m->written_bytes += m->op == IO_WRITE ? req->len_bytes : 0;
	if (is_fault && m->op != IO_READ)
		m->error = req->res < 0 ? req->res : -EIO;
	if (m->op != IO_READ)
		return;
	if (m->fill && !is_fault)
		memcpy(m->fill + (req->offset_bytes - m->first), got, req->len_bytes);
	for (uint32_t i = 0; i < req->len_bytes; i += m->sector_bytes) {
		size_t sector = (req->offset_bytes + i - m->first) / m->sector_bytes;
		bool is_equal = !is_fault && memcmp(got + i, m->data + sector * m->sector_bytes, m->sector_bytes) == 0;

		m->marks[sector] = is_fault ? MARK_UNREADABLE : is_equal ? MARK_SAME : MARK_DIFFERS;
	}
}

static int move(struct mover *m, struct engine *eng, const struct target *target, enum io_op op, uint32_t step_bytes,
                uint8_t only, struct err *err)
{
	struct load load = { .targets = target,
		             .ntargets = 1,
		             .feeder = &m->feeder,
		             .sink = &m->sink,
		             .depth = 1,
		             .max_faults = UINT64_MAX };
	struct load_stats stats;
	int r;

	m->feeder.next = mover_next;
	m->sink.take = mover_take;
	m->op = op;
	m->at = m->first;
	m->step_bytes = step_bytes;
	m->only = only;
	m->is_given = false;
	m->error = 0;
	r = load_run(&load, eng, &stats, err);
	if (r < 0)
		return r;
	if (stats.end == LOAD_GONE)
		return err_set(err, -ENODEV, "%s disappeared while a block was being put back; the journal keeps it.",
		               target->name);
	if (m->error)
		return err_set(err, m->error, "Putting a block back on %s failed with %s; the journal keeps it.",
		               target->name, err_name(m->error));
	return 0;
}

int rewrite_flush(struct engine *eng, const struct target *target, struct err *err)
{
	struct mover m = { .sector_bytes = 1 };

	return move(&m, eng, target, IO_FLUSH, 0, MARK_ANY, err);
}

static uint64_t count_marks(const struct mover *m, uint64_t sectors, enum mark mark)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < sectors; i++)
		n += m->marks[i] == mark;
	return n;
}

/* Reads the chunk's place: in large pieces, then what failed sector by sector. */
static int compare(struct mover *m, struct engine *eng, const struct target *target, struct err *err)
{
	uint32_t large = eng->cfg.buf_bytes - eng->cfg.buf_bytes % m->sector_bytes;
	int r = move(m, eng, target, IO_READ, large, MARK_ANY, err);

	if (r == 0)
		r = move(m, eng, target, IO_READ, m->sector_bytes, MARK_UNREADABLE, err);
	return r;
}

/* Writes what is marked, flushes, and reads everything again. */
static int put_back(struct mover *m, uint64_t sectors, struct engine *eng, const struct target *target,
                    struct rewrite_recovery *ret, struct err *err)
{
	uint64_t wanted, left;
	int r;

	for (uint64_t i = 0; i < sectors; i++)
		if (m->marks[i] == MARK_UNREADABLE || m->marks[i] == MARK_DIFFERS)
			m->marks[i] = MARK_PUT_BACK;
	wanted = count_marks(m, sectors, MARK_PUT_BACK);
	if (!wanted)
		return 0;
	r = move(m, eng, target, IO_WRITE, m->sector_bytes, MARK_PUT_BACK, err);
	if (r == 0)
		r = move(m, eng, target, IO_FLUSH, 0, MARK_ANY, err);
	if (r == 0)
		r = compare(m, eng, target, err);
	if (r < 0)
		return r;
	left = count_marks(m, sectors, MARK_UNREADABLE) + count_marks(m, sectors, MARK_DIFFERS);
	ret->restored = wanted - (left < wanted ? left : wanted);
	if (left)
		return err_set(err, -EIO,
		               "%" PRIu64 " of %" PRIu64
		               " sectors of %s did not take what was written back; the journal keeps them.",
		               left, wanted, target->name);
	return 0;
}

/* May what is there be replaced? Only on the device that the chunk is of, and only as much as an interruption damages. */
static int check_damage(const struct rewrite_journal *j, const struct rewrite_recovery *found, uint32_t sector_bytes,
                        struct err *err)
{
	if (found->differing * sector_bytes > TORN_MAX || (found->differing > found->same && found->differing > 8))
		return err_set(
			err, -EUCLEAN,
			"%s holds a block that was at %" PRIu64 " of %s (serial %s), but %" PRIu64 " of %" PRIu64
			" sectors there differ: this is another disk, or it was written since. Nothing was touched. "
			"If the block is of no use any more, remove the file.",
			j->path, j->h.offset_bytes, j->h.path, j->h.serial[0] ? j->h.serial : "unknown",
			found->differing, found->sectors);
	if (j->is_uncertain)
		return err_set(
			err, -EUCLEAN,
			"%s holds a block of %s, which shows nothing that would tell whether this is the same device. Nothing "
			"was touched; if you know that it is, add --despite=identity.",
			j->path, j->h.path);
	return 0;
}

void rewrite_insist(struct rewrite_journal *j)
{
	j->is_uncertain = false;
}

/* Compares, and puts back when asked to. */
static int heal(struct mover *m, struct rewrite_journal *j, struct engine *eng, const struct target *target,
                bool is_asked, struct rewrite_recovery *ret, struct err *err)
{
	uint64_t sectors = ret->sectors;
	int r = compare(m, eng, target, err);

	if (r < 0)
		return r;
	ret->same = count_marks(m, sectors, MARK_SAME);
	ret->unreadable = count_marks(m, sectors, MARK_UNREADABLE);
	ret->differing = count_marks(m, sectors, MARK_DIFFERS);
	for (uint64_t i = sectors; i-- > 0;)
		if (m->marks[i] == MARK_DIFFERS)
			ret->first_differing_bytes = m->first + i * m->sector_bytes;
	if (ret->same == sectors)
		return rewrite_end(j, err);
	r = check_damage(j, ret, m->sector_bytes, err);
	if (r < 0 || !is_asked)
		return r;
	r = put_back(m, sectors, eng, target, ret, err);
	return r < 0 ? r : rewrite_end(j, err);
}

int rewrite_recover(struct rewrite_journal *j, struct engine *eng, const struct target *target, uint32_t sector_bytes,
                    bool is_asked, struct rewrite_recovery *ret, struct err *err)
{
	cleanup_free uint8_t *data = malloc(j->h.len_bytes), *marks = NULL;
	struct mover m = { .first = j->h.offset_bytes,
		           .end = j->h.offset_bytes + j->h.len_bytes,
		           .sector_bytes = sector_bytes };
	uint64_t sectors = j->h.len_bytes / sector_bytes;
	int r;

	*ret = (struct rewrite_recovery){ .sectors = sectors };
	marks = calloc(sectors + 1, 1);
	if (!data || !marks)
		return err_set(err, -ENOMEM, "Out of memory.");
	if (pread(j->fd, data, j->h.len_bytes, HEADER_BYTES) != (ssize_t)j->h.len_bytes)
		return err_set(err, -EIO, "Cannot read the journal %s.", j->path);
	m.data = data;
	m.marks = marks;
	r = heal(&m, j, eng, target, is_asked, ret, err);
	ret->read_bytes = m.read_bytes;
	ret->written_bytes = m.written_bytes;
	return r;
}

int rewrite_same(struct rewrite_journal *j, struct engine *eng, const struct target *target, uint64_t first_bytes,
                 uint32_t len_bytes, uint32_t sector_bytes, struct rewrite_recovery *ret, struct err *err)
{
	uint64_t sectors = len_bytes / sector_bytes;
	cleanup_free uint8_t *data = malloc(len_bytes), *marks = calloc(sectors + 1, 1);
	struct mover m = { .first = first_bytes,
		           .end = first_bytes + len_bytes,
		           .sector_bytes = sector_bytes,
		           .data = data,
		           .fill = data,
		           .marks = marks };
	uint32_t large = eng->cfg.buf_bytes - eng->cfg.buf_bytes % sector_bytes;
	int r;

	*ret = (struct rewrite_recovery){ .sectors = sectors };
	if (!data || !marks)
		return err_set(err, -ENOMEM, "Out of memory.");
	r = compare(&m, eng, target, err); /* with itself: what cannot be read is marked */
	m.fill = NULL;
	ret->unreadable = count_marks(&m, sectors, MARK_UNREADABLE);
	if (r == 0 && !ret->unreadable) {
		r = rewrite_begin(j, first_bytes, data, len_bytes, err);
		if (r == 0)
			r = move(&m, eng, target, IO_WRITE, large, MARK_ANY, err);
		if (r == 0)
			r = move(&m, eng, target, IO_FLUSH, 0, MARK_ANY, err);
		if (r == 0)
			r = compare(&m, eng, target, err);
		ret->restored = count_marks(&m, sectors, MARK_SAME);
		if (r == 0 && ret->restored < sectors)
			r = err_set(
				err, -EIO,
				"%" PRIu64 " of %" PRIu64 " sectors of %s at %" PRIu64
				" were written back but read differently now, or not at all. This disk loses data: stop "
				"using it. The original bytes are in %s; `platter zones --recover` puts them back.",
				sectors - ret->restored, sectors, target->name, first_bytes, j->path);
		if (r == 0)
			r = rewrite_end(j, err);
	}
	ret->read_bytes = m.read_bytes;
	ret->written_bytes = m.written_bytes;
	return r;
}
