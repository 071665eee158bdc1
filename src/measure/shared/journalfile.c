/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file: a header of 4096 bytes (magic, version, identity, state, hashes), two blocks that say by turns what is in
 * flight, the list of places, then their bytes. One place is written together with header and list, and synced once: if
 * its hash does not fit it was not noted, and then not written to the device either. Of many the bytes are synced
 * before header and list are.
 */
#include "base/xalloc.h"
#include "measure/shared/journal.h"

#include <assert.h>
#include <dirent.h>
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

#define MAGIC      "PLTRRWJ4" /* the last one counts changes of the header */
#define SLOTS      2          /* of what is in flight, behind the header */
#define PLACES_MAX (1u << 26)
#define AHEAD      256 /* places that are noted to be in flight at once: one fdatasync() for that many writes */

enum journal_state { JOURNAL_CLEAR = 0, JOURNAL_PENDING = 1 };

static uint64_t header_hash(const struct journal_header *h)
{
	return payload_hash(h, offsetof(struct journal_header, header_hash));
}

/* ---- the file ---- */

/* The last part of the path alone, for root only. */
static int make_dir(const char *dir, struct err *err)
{
	const char *slash = strrchr(dir, '/');
	cleanup_free char *parent = xmust(strndup(slash ? dir : ".", slash && slash > dir ? (size_t)(slash - dir) : 1));
	cleanup_close int fd = -1;

	if (mkdir(dir, 0700) < 0)
		return errno == EEXIST
		               ? 0
		               : err_set(err, -errno,
		                         "Cannot make the directory %s for the journal of --rewrite: %s; choose another one with --journal.",
		                         dir, strerror(errno));
	fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && fsync(fd) < 0)
		(void)syncfs(fd); /* nothing better is to be had */
	return 0;
}

/* ---- the list and the bytes ---- */

#define LIST_AT ((1 + SLOTS) * HEADER_BYTES)

/* Bytes before the first place's. */
static uint64_t head_bytes(uint64_t nplaces)
{
	return LIST_AT + (nplaces * sizeof(struct journal_entry) + HEADER_BYTES - 1) / HEADER_BYTES * HEADER_BYTES;
}

static void make_list(struct rewrite_journal *j, uint64_t n)
{
	j->list = xgrow(j->list, n + 1, sizeof(*j->list));
	free(j->is_used);
	free(j->last);
	j->last = NULL;
	j->last_index = SIZE_MAX;
	j->is_used = xcalloc(n + 1, sizeof(*j->is_used));
}

void journal_list(struct rewrite_journal *j, const struct rewrite_place *places, size_t n)
{
	uint64_t at = head_bytes(n);

	make_list(j, n);
	j->h.nplaces = n;
	j->most_bytes = 0;
	for (size_t i = 0; i < n; i++) {
		j->list[i] = (struct journal_entry){ .place = places[i], .at = at };
		at += places[i].len_bytes;
		j->most_bytes = places[i].len_bytes > j->most_bytes ? places[i].len_bytes : j->most_bytes;
	}
	j->h.data_bytes = at - head_bytes(n);
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
	uint64_t begin = head_bytes(h->nplaces), at = begin;

	for (uint64_t i = 0; i < h->nplaces; at += j->list[i].place.len_bytes, i++)
		if (j->list[i].at != at || !j->list[i].place.len_bytes || j->list[i].place.len_bytes > h->data_bytes)
			return false;
	return at == begin + h->data_bytes;
}

/* List and bytes of the header lie in the file: or it would ask for any amount of memory. */
static bool is_in_file(const struct rewrite_journal *j, const struct journal_header *h)
{
	uint64_t begin = head_bytes(h->nplaces);
	struct stat st;

	return fstat(j->fd, &st) == 0 && begin <= (uint64_t)st.st_size && h->data_bytes <= (uint64_t)st.st_size - begin;
}

/* *ret_is_there: the list that the header speaks of, and of a single place the bytes as well. */
static void load_list(struct rewrite_journal *j, const struct journal_header *h, bool *ret_is_there)
{
	size_t bytes = h->nplaces * sizeof(*j->list);
	cleanup_free uint8_t *data = NULL;

	if (!is_in_file(j, h))
		return;
	make_list(j, h->nplaces);
	if (pread(j->fd, j->list, bytes, (off_t)LIST_AT) != (ssize_t)bytes ||
	    payload_hash(j->list, bytes) != h->list_hash || !is_list_whole(j, h))
		return;
	for (uint64_t i = 0; i < h->nplaces; i++)
		j->most_bytes = j->list[i].place.len_bytes > j->most_bytes ? j->list[i].place.len_bytes : j->most_bytes;
	*ret_is_there = true;
	if (h->nplaces > 1)
		return;
	data = xmust(malloc(j->most_bytes));
	*ret_is_there = journal_get(j, 0, data, NULL) == 0;
}

static uint64_t flight_hash(const struct journal_flight *f)
{
	return payload_hash(f, offsetof(struct journal_flight, hash));
}

/* Without a whole slot everything is in flight where one place is, and nothing where there are many. */
static void load_flight(struct rewrite_journal *j)
{
	j->flight = (struct journal_flight){ .end = j->h.nplaces == 1 };
	for (int i = 0; i < SLOTS; i++) {
		struct journal_flight f;

		if (pread(j->fd, &f, sizeof(f), (1 + i) * HEADER_BYTES) == (ssize_t)sizeof(f) &&
		    f.hash == flight_hash(&f) && f.of == j->h.header_hash && f.sequence > j->flight.sequence)
			j->flight = f;
	}
}

static bool read_header(const uint8_t block[HEADER_BYTES], struct journal_header *h)
{
	memcpy(h, block, sizeof(*h));
	if (memcmp(h->magic, MAGIC, sizeof(h->magic)) != 0 || h->header_hash != header_hash(h))
		return false;
	/* Texts of a file: ended, whatever stands there. */
	h->when[sizeof(h->when) - 1] = h->boot_id[sizeof(h->boot_id) - 1] = '\0';
	h->of.serial[sizeof(h->of.serial) - 1] = h->of.model[sizeof(h->of.model) - 1] = '\0';
	h->of.wwn[sizeof(h->of.wwn) - 1] = h->of.vendor[sizeof(h->of.vendor) - 1] = '\0';
	h->of.uuid[sizeof(h->of.uuid) - 1] = h->of.part_uuid[sizeof(h->of.part_uuid) - 1] = '\0';
	h->of.disk[sizeof(h->of.disk) - 1] = h->of.path[sizeof(h->of.path) - 1] = '\0';
	return h->state == JOURNAL_PENDING && h->nplaces && h->nplaces <= PLACES_MAX && h->nbeside <= BESIDE_MAX;
}

/* Is there something unfinished in the file? What is torn was never written to the device. */
static int look_for_places(struct rewrite_journal *j, struct err *err)
{
	uint8_t block[HEADER_BYTES] = { 0 };
	struct journal_header h;
	bool is_there = false;

	if (pread(j->fd, block, sizeof(block), 0) < 0)
		return err_set(err, -errno, "Cannot read the journal %s: %s.", j->path, strerror(errno));
	if (memcmp(block, MAGIC, sizeof(h.magic) - 1) == 0 && memcmp(block, MAGIC, sizeof(h.magic)) != 0)
		return err_set(err, -EUCLEAN, "The journal %s is of another version of platter; recover with that one.",
		               j->path);
	if (!read_header(block, &h))
		return 0;
	load_list(j, &h, &is_there);
	if (!is_there)
		return 0;
	j->h = h;
	j->is_pending = true;
	load_flight(j);
	return 0;
}

/* Whoever may rename files here may put another journal in place of ours. */
static bool is_safe_dir(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == 0) &&
	       ((st.st_mode & 022) == 0 || (st.st_mode & S_ISVTX) != 0);
}

static bool is_journal_file(int fd, int dir_fd, struct stat *st)
{
	return fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_nlink == 1 && st->st_uid == geteuid() &&
	       (st->st_mode & 077) == 0 && is_safe_dir(dir_fd);
}

/* A name that leads to a device, a pipe or a file of somebody else is nothing to write to. */
static int open_file(struct rewrite_journal *j, int flags, struct err *err)
{
	struct stat st = { 0 };

	j->fd = openat(j->dir_fd, j->name, O_RDWR | flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	if (j->fd < 0)
		return err_set(err, -errno, "Cannot open the journal %s: %s; choose another directory with --journal.",
		               j->path, strerror(errno));
	if (is_journal_file(j->fd, j->dir_fd, &st))
		return 0;
	(void)close(j->fd); /* not ours to remove */
	j->fd = -1;
	if (S_ISREG(st.st_mode) && st.st_nlink == 1)
		return err_set(
			err, -EPERM,
			"The journal %s, or its directory, can be read or changed by others. It must have mode 0600, in a "
			"directory that others cannot write to: look what it is, and choose another directory with "
			"--journal.",
			j->path);
	return err_set(err, -EEXIST, "The journal %s is not a regular file; choose another directory with --journal.",
	               j->path);
}

/* The name outlasts a power failure. Where a folder cannot be synced alone, its file system can. */
static int sync_name(const struct rewrite_journal *j)
{
	if (fsync(j->fd) < 0)
		return -errno;
	return fsync(j->dir_fd) < 0 && syncfs(j->fd) < 0 ? -errno : 0;
}

static int open_named(struct rewrite_journal **ret, const char *dir, const char *name, int flags, struct err *err)
{
	struct rewrite_journal *j = xcalloc(1, sizeof(*j));
	int r;

	j->fd = -1;
	(void)snprintf(j->name, sizeof(j->name), "%s", name);
	(void)snprintf(j->path, sizeof(j->path), "%.390s/%s", dir, name);
	j->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = j->dir_fd >= 0
	            ? open_file(j, flags, err)
	            : err_set(err, -errno, "Cannot open the directory %s of the journal: %s.", dir, strerror(errno));
	if (r == 0 && flock(j->fd, LOCK_EX | LOCK_NB) < 0) {
		r = err_set(err, -EBUSY, "Another run has the journal %s.", j->path);
		(void)close(j->fd); /* not ours to remove */
		j->fd = -1;
	}
	if (r == 0) {
		r = look_for_places(j, err);
		j->is_pending = j->is_pending || r < 0; /* stays where it is */
	}
	if (r == 0)
		*ret = j;
	else
		rewrite_close(j);
	return r;
}

int rewrite_open(struct rewrite_journal **ret, const char *dir, const struct device *dev, struct err *err)
{
	char name[sizeof((*ret)->name)];
	int r = make_dir(dir, err);

	journal_name(dev, name, sizeof(name));
	if (r == 0)
		r = open_named(ret, dir, name, O_CREAT, err);
	if (r < 0)
		return r;
	r = sync_name(*ret);
	if (r < 0) {
		err_set(err, r, "Cannot keep the name of the journal %s: %s; choose another directory with --journal.",
		        (*ret)->path, strerror(-r));
		rewrite_close(*ret);
		*ret = NULL;
	}
	return r;
}

bool rewrite_find(struct rewrite_journal **ret, const char *dir, const struct device *dev,
                  const struct rewrite_journal *own)
{
	struct dirent *e;
	DIR *d = opendir(dir);
	bool is_found = false;

	while (d && !is_found && (e = readdir(d))) {
		size_t len = strlen(e->d_name);
		struct rewrite_journal *j = NULL;
		const char *what;

		if (strncmp(e->d_name, "rewrite-", 8) != 0 || len < 16 ||
		    strcmp(e->d_name + len - 8, ".journal") != 0 || (own && strcmp(e->d_name, own->name) == 0) ||
		    open_named(&j, dir, e->d_name, 0, NULL) < 0)
			continue;
		if (j->is_pending && journal_owner(&j->h, dev, &what) == JOURNAL_OF_THIS && journal_meets(j, dev)) {
			*ret = j;
			is_found = true;
		} else {
			j->is_pending = true; /* not ours to remove */
			rewrite_close(j);
		}
	}
	if (d)
		(void)closedir(d); /* was only read */
	return is_found;
}

bool rewrite_is_left(const char *dir, const struct device *dev)
{
	struct rewrite_journal *j = NULL;
	char name[sizeof(j->name)];
	bool is_left;
	int r;

	journal_name(dev, name, sizeof(name));
	r = open_named(&j, dir, name, 0, NULL);
	is_left = r < 0 ? r != -ENOENT : j->is_pending; /* of other errors, whoever recovers it reports them */
	rewrite_close(j);
	if (is_left || !rewrite_find(&j, dir, dev, NULL))
		return is_left;
	rewrite_close(j);
	return true;
}

void rewrite_close(struct rewrite_journal *j)
{
	if (!j)
		return;
	if (j->fd >= 0) {
		if (!j->is_pending) {
			(void)unlinkat(j->dir_fd, j->name, 0); /* a clear journal that stays does no harm */
			(void)fsync(j->dir_fd);
		}
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

int journal_write(int fd, const void *data, size_t len, off_t at)
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
	int r = journal_write(j->fd, data, e->place.len_bytes, (off_t)e->at);

	e->hash = payload_hash(data, e->place.len_bytes);
	return r < 0 ? no_journal(j, r, err) : 0;
}

/* One of the blocks at the begin of the file, durably. */
static int write_block(const struct rewrite_journal *j, const void *data, size_t len, off_t at)
{
	uint8_t block[HEADER_BYTES] = { 0 };
	int r;

	memcpy(block, data, len);
	r = journal_write(j->fd, block, sizeof(block), at);
	return r == 0 && fdatasync(j->fd) < 0 ? -errno : r;
}

int journal_note(struct rewrite_journal *j, struct err *err)
{
	const struct device *dev = &j->ses->devs[j->target];
	size_t bytes = j->h.nplaces * sizeof(*j->list);
	int r = 0;

	if (j->h.nplaces > 1 && fdatasync(j->fd) < 0)
		r = -errno;
	memcpy(j->h.magic, MAGIC, sizeof(j->h.magic));
	j->h.header_bytes = HEADER_BYTES;
	j->h.state = JOURNAL_PENDING;
	j->h.list_hash = payload_hash(j->list, bytes);
	j->h.written_bytes = j->began.n ? j->began.v[0].bytes + j->own_bytes : UINT64_MAX;
	journal_set_identity(&j->h, dev);
	(void)snprintf(j->h.boot_id, sizeof(j->h.boot_id), "%s", j->ses->env->boot_id ? j->ses->env->boot_id : "");
	(void)clock_wall_text(j->h.when, sizeof(j->h.when));
	j->h.header_hash = header_hash(&j->h);
	j->flight = (struct journal_flight){ .of = j->h.header_hash, .end = j->h.nplaces == 1 };
	if (r == 0)
		r = journal_write(j->fd, j->list, bytes, (off_t)LIST_AT) ?: write_block(j, &j->h, sizeof(j->h), 0);
	if (r < 0)
		return no_journal(j, r, err);
	j->is_pending = true;
	return 0;
}

int journal_fly(struct rewrite_journal *j, size_t i, struct err *err)
{
	struct journal_flight *f = &j->flight;
	int r;

	if (i < f->end)
		return 0;
	f->end = i + AHEAD < j->h.nplaces ? i + AHEAD : j->h.nplaces;
	f->sequence++;
	f->hash = flight_hash(f);
	r = write_block(j, f, sizeof(*f), (off_t)(1 + f->sequence % SLOTS) * HEADER_BYTES);
	return r < 0 ? err_set(err, r, "Cannot write the journal %s: %s.", j->path, strerror(-r)) : 0;
}

int journal_save(const struct rewrite_journal *j, int ret_fds[2], char *ret_path, size_t len, struct err *err)
{
	static const char *const sides[] = { "then", "now" };
	int n = 0;

	for (int i = 0; i < 2; i++) {
		char name[sizeof(j->name) + 16];

		do {
			n += i == 0;
			(void)snprintf(name, sizeof(name), "%s.%d.%s", j->name, n, sides[i]);
			ret_fds[i] =
				openat(j->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		} while (ret_fds[i] < 0 && errno == EEXIST && i == 0);
		if (ret_fds[i] < 0) {
			int r = -errno;

			if (i)
				(void)close(ret_fds[0]);
			return err_set(err, r, "Cannot make %s beside the journal %s: %s. Nothing was put back.", name,
			               j->path, strerror(-r));
		}
	}
	(void)snprintf(ret_path, len, "%s.%d", j->path, n);
	return 0;
}

int rewrite_end(struct rewrite_journal *j, struct err *err)
{
	int r;

	j->h.state = JOURNAL_CLEAR;
	j->h.header_hash = header_hash(&j->h);
	r = write_block(j, &j->h, sizeof(j->h), 0);
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

/* From the last one on: places are fetched in the order in which they were noted. */
static size_t place_with(const struct rewrite_journal *j, uint64_t first, uint64_t end)
{
	size_t n = j->h.nplaces, last = j->last_index < n ? j->last_index : 0, k = 0;

	for (; k < n; k++) {
		const struct rewrite_place *p = &j->list[(last + k) % n].place;

		if (first >= p->offset_bytes && end <= p->offset_bytes + p->len_bytes)
			break;
	}
	assert(k < n);
	return (last + k) % n;
}

int rewrite_fetch(struct rewrite_journal *j, uint64_t offset_bytes, void *buf, size_t len, struct err *err)
{
	size_t i = place_with(j, offset_bytes, offset_bytes + len);
	const struct rewrite_place *p = &j->list[i].place;
	int r = 0;

	if (!j->last)
		j->last = xmust(malloc(j->most_bytes));
	if (j->last_index != i) {
		j->last_index = SIZE_MAX;
		r = journal_get(j, i, j->last, err);
	}
	if (r == 0)
		r = journal_fly(j, i, err);
	if (r == 0)
		r = guard_allow(j, len, err);
	if (r < 0)
		return r;
	j->last_index = i;
	j->is_used[i] = true;
	memcpy(buf, j->last + (offset_bytes - p->offset_bytes), len);
	return 0;
}
