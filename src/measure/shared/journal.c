/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file: a header of 4096 bytes (magic, version, identity, state, hashes), the list of places, then their bytes. One place is written together with
 * header and list, and synced once: if its hash does not fit it was not noted, and then not written to the device either. Of many the bytes
 * are synced before header and list are.
 */
#include "measure/shared/journal.h"

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

#define MAGIC        "PLTRRWJ3" /* the last one counts changes of the header */
#define HEADER_BYTES 4096
#define PLACES_MAX   (1u << 26)

enum journal_state { JOURNAL_CLEAR = 0, JOURNAL_PENDING = 1 };

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
		(void)snprintf(id, sizeof(id), "%.95s", dev->serial);
	else if (dev->wwn[0] && !dev->wwn_is_shared && dev->kind != DEVICE_FILE)
		(void)snprintf(id, sizeof(id), "%.95s", dev->wwn);
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
	(void)snprintf(h->serial, sizeof(h->serial), "%.63s", dev->serial);
	(void)snprintf(h->model, sizeof(h->model), "%s", dev->model);
	(void)snprintf(h->wwn, sizeof(h->wwn), "%.63s", dev->wwn);
	(void)snprintf(h->uuid, sizeof(h->uuid), "%s", dev->uuid);
	(void)snprintf(h->part_uuid, sizeof(h->part_uuid), "%s", dev->part_uuid);
	(void)snprintf(h->name, sizeof(h->name), "%s", dev->name);
	(void)snprintf(h->path, sizeof(h->path), "%s", dev->path);
	h->size_bytes = dev->size_bytes;
	h->partition_offset_bytes = dev->partition_offset_bytes;
}

/* What says that the chunk is of another device, or of one that cannot be compared with it any more; NULL: nothing does. */
static const char *find_difference(const struct rewrite_journal *j, const struct journal_header *h,
                                   const struct device *dev)
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
	for (uint64_t i = 0; i < h->nplaces; i++)
		if (j->list[i].place.len_bytes > dev->size_bytes ||
		    j->list[i].place.offset_bytes > dev->size_bytes - j->list[i].place.len_bytes)
			return "place of the block";
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i].then, names[i].now) != 0)
			return names[i].what;
	return NULL;
}

static int check_identity(struct rewrite_journal *j, struct journal_header *h, const struct device *dev,
                          struct err *err)
{
	const char *what = find_difference(j, h, dev);

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

/* ---- the list and the bytes ---- */

/* Bytes of header and list. */
static uint64_t head_bytes(uint64_t nplaces)
{
	return HEADER_BYTES + (nplaces * sizeof(struct journal_entry) + HEADER_BYTES - 1) / HEADER_BYTES * HEADER_BYTES;
}

static int make_list(struct rewrite_journal *j, uint64_t n, struct err *err)
{
	struct journal_entry *list = realloc(j->list, (n + 1) * sizeof(*list));

	free(j->is_used);
	free(j->last);
	j->last = NULL;
	j->last_index = SIZE_MAX;
	j->list = list ? list : j->list;
	j->is_used = calloc(n + 1, sizeof(*j->is_used));
	return list && j->is_used ? 0 : err_set(err, -ENOMEM, "Out of memory.");
}

int journal_list(struct rewrite_journal *j, const struct rewrite_place *places, size_t n, struct err *err)
{
	uint64_t at = head_bytes(n);
	int r = make_list(j, n, err);

	if (r < 0)
		return r;
	j->h.nplaces = n;
	j->most_bytes = 0;
	for (size_t i = 0; i < n; i++) {
		j->list[i] = (struct journal_entry){ .place = places[i], .at = at };
		at += places[i].len_bytes;
		j->most_bytes = places[i].len_bytes > j->most_bytes ? places[i].len_bytes : j->most_bytes;
	}
	j->h.data_bytes = at - head_bytes(n);
	return 0;
}

int journal_get(const struct rewrite_journal *j, size_t i, void *data, struct err *err)
{
	const struct journal_entry *e = &j->list[i];

	if (pread(j->fd, data, e->place.len_bytes, (off_t)e->at) == (ssize_t)e->place.len_bytes &&
	    payload_hash(data, e->place.len_bytes) == e->hash)
		return 0;
	return err_set(
		err, -EIO,
		"The journal %s is damaged: its bytes of the place at %" PRIu64
		" are not those that were noted. Nothing can be put back there; look after the disk that it lies on.",
		j->path, e->place.offset_bytes);
}

static bool is_list_whole(const struct rewrite_journal *j, const struct journal_header *h)
{
	uint64_t at = head_bytes(h->nplaces);

	for (uint64_t i = 0; i < h->nplaces; at += j->list[i].place.len_bytes, i++)
		if (j->list[i].at != at || j->list[i].place.len_bytes > h->data_bytes)
			return false;
	return at == head_bytes(h->nplaces) + h->data_bytes;
}

/* *ret_is_there: the list that the header speaks of, and of a single place the bytes as well. */
static int load_list(struct rewrite_journal *j, const struct journal_header *h, bool *ret_is_there, struct err *err)
{
	size_t bytes = h->nplaces * sizeof(*j->list);
	cleanup_free uint8_t *data = NULL;
	int r = make_list(j, h->nplaces, err);

	if (r < 0)
		return r;
	if (pread(j->fd, j->list, bytes, HEADER_BYTES) != (ssize_t)bytes ||
	    payload_hash(j->list, bytes) != h->list_hash || !is_list_whole(j, h))
		return 0;
	for (uint64_t i = 0; i < h->nplaces; i++)
		j->most_bytes = j->list[i].place.len_bytes > j->most_bytes ? j->list[i].place.len_bytes : j->most_bytes;
	*ret_is_there = true;
	if (h->nplaces > 1)
		return 0;
	data = malloc(j->most_bytes);
	if (!data)
		return err_set(err, -ENOMEM, "Out of memory.");
	*ret_is_there = journal_get(j, 0, data, NULL) == 0;
	return 0;
}

/* Is there something unfinished in the file? What is torn was never written to the device. */
static int look_for_places(struct rewrite_journal *j, const struct device *dev, struct err *err)
{
	struct journal_header h;
	ssize_t got = pread(j->fd, &h, sizeof(h), 0);
	bool is_there = false;
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
	    h.header_hash != header_hash(&h) || h.state != JOURNAL_PENDING || h.nplaces == 0 || h.nplaces > PLACES_MAX)
		return 0;
	/* Texts of a file: ended, whatever stands there. */
	h.serial[sizeof(h.serial) - 1] = h.model[sizeof(h.model) - 1] = h.wwn[sizeof(h.wwn) - 1] = '\0';
	h.uuid[sizeof(h.uuid) - 1] = h.part_uuid[sizeof(h.part_uuid) - 1] = h.path[sizeof(h.path) - 1] = '\0';
	h.when[sizeof(h.when) - 1] = '\0';
	r = load_list(j, &h, &is_there, err);
	if (r == 0 && is_there)
		r = check_identity(j, &h, dev, err);
	if (r < 0 || !is_there)
		return r;
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
	r = look_for_places(j, dev, err);
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
	free(j->list);
	free(j->is_used);
	free(j->last);
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
	ret->offset_bytes = j->list[0].place.offset_bytes;
	ret->len_bytes = j->h.data_bytes;
	ret->places = j->h.nplaces;
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

static int no_journal(const struct rewrite_journal *j, int r, struct err *err)
{
	return err_set(
		err, r,
		"Cannot write the journal %s: %s. Nothing was written to the device; choose another directory with --journal.",
		j->path, strerror(-r));
}

int journal_reserve(struct rewrite_journal *j, struct err *err)
{
	int r;

	do
		r = posix_fallocate(j->fd, 0, (off_t)(head_bytes(j->h.nplaces) + j->h.data_bytes));
	while (r == EINTR);
	return r ? no_journal(j, -r, err) : 0;
}

int journal_put(struct rewrite_journal *j, size_t i, const void *data, struct err *err)
{
	struct journal_entry *e = &j->list[i];
	int r = write_all(j->fd, data, e->place.len_bytes, (off_t)e->at);

	e->hash = payload_hash(data, e->place.len_bytes);
	return r < 0 ? no_journal(j, r, err) : 0;
}

int journal_note(struct rewrite_journal *j, struct err *err)
{
	size_t bytes = j->h.nplaces * sizeof(*j->list);
	uint8_t block[HEADER_BYTES] = { 0 };
	int r = 0;

	if (j->h.nplaces > 1 && fdatasync(j->fd) < 0)
		r = -errno;
	j->h.state = JOURNAL_PENDING;
	j->h.list_hash = payload_hash(j->list, bytes);
	(void)clock_wall_text(j->h.when, sizeof(j->h.when));
	j->h.header_hash = header_hash(&j->h);
	memcpy(block, &j->h, sizeof(j->h));
	if (r == 0)
		r = write_all(j->fd, j->list, bytes, HEADER_BYTES);
	if (r == 0)
		r = write_all(j->fd, block, sizeof(block), 0);
	if (r == 0 && fdatasync(j->fd) < 0)
		r = -errno;
	if (r < 0)
		return no_journal(j, r, err);
	j->is_pending = true;
	return 0;
}

int rewrite_begin(struct rewrite_journal *j, uint64_t offset_bytes, const void *data, size_t len, struct err *err)
{
	const struct rewrite_place place = { offset_bytes, len };
	int r = journal_list(j, &place, 1, err);

	if (r == 0)
		r = journal_put(j, 0, data, err);
	return r < 0 ? r : journal_note(j, err);
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

uint64_t rewrite_file_bytes(const struct rewrite_place *places, size_t n)
{
	uint64_t bytes = head_bytes(n);

	for (size_t i = 0; i < n; i++)
		bytes += places[i].len_bytes;
	return bytes;
}

int rewrite_fetch(struct rewrite_journal *j, size_t i, size_t skip, void *buf, size_t len, struct err *err)
{
	int r = 0;

	if (!j->last)
		j->last = malloc(j->most_bytes);
	if (!j->last)
		return err_set(err, -ENOMEM, "Out of memory.");
	if (j->last_index != i) {
		j->last_index = SIZE_MAX;
		r = journal_get(j, i, j->last, err);
	}
	if (r < 0)
		return r;
	j->last_index = i;
	j->is_used[i] = true;
	memcpy(buf, j->last + skip, len);
	return 0;
}
