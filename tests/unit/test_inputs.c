/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of strangers that are no results: what kind of file is read at all, numbers that no integer holds, and journals
 * of --rewrite changed at random.
 */
#include "test.h"

#include <sys/stat.h>

#include "base/input.h"
#include "base/whole.h"
#include "folder.h"
#include "measure/shared/journal.h"

TESTS_IN_FOLDER(dir)

static const char *path_of(const char *name)
{
	static char path[400];

	(void)snprintf(path, sizeof(path), "%s%s%s", *name == '/' ? "" : dir.path, *name == '/' ? "" : "/", name);
	return path;
}

static void put_file(const char *name, const void *data, size_t len)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	(void)close(fd);
}

/* ---- kinds of file ---- */

TEST(only_a_regular_file_is_read_and_nothing_is_waited_for)
{
	static const struct {
		const char *name;
		int code;
	} cases[] = {
		{ "file", 0 },
		{ "link", 0 },
		{ "empty", 0 },
		{ "nothing", -ENOENT },
		{ "dangling", -ENOENT },
		{ "loop", -ELOOP },
		{ "file/below", -ENOTDIR },
		{ "folder", -EINVAL },
		{ "pipe", -EINVAL },
		{ "to-pipe", -EINVAL },
		{ "/dev/null", -EINVAL },
		{ "/dev/zero", -EINVAL },
		{ "/dev/tty", -EINVAL },
		{ "large", -EFBIG },
	};

	put_file("file", "text", 4);
	put_file("empty", "", 0);
	put_file("large", "12345678901", 11);
	assert_int_equal(mkdir(path_of("folder"), 0700), 0);
	assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
	assert_int_equal(symlink("file", path_of("link")), 0);
	assert_int_equal(symlink("pipe", path_of("to-pipe")), 0);
	assert_int_equal(symlink("nothing", path_of("dangling")), 0);
	assert_int_equal(symlink("loop", path_of("loop")), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *text = NULL;
		size_t len = 99;
		struct err err = { 0 };

		if (input_read(&text, &len, path_of(cases[i].name), 10, &err) != cases[i].code)
			fail_msg("%s: %s", cases[i].name, err.text);
		if (cases[i].code < 0) {
			assert_null(text);
			assert_int_equal(len, 99);
			assert_true(strlen(err.text) > 20);
		} else {
			assert_int_equal(strlen(text), len);
		}
	}
}

TEST(a_number_is_made_whole_as_far_as_64_bits_hold_it)
{
	static const struct {
		double in;
		uint64_t out;
	} cases[] = {
		{ 0.0, 0 },
		{ -0.0, 0 },
		{ 0.9, 0 },
		{ 1.0, 1 },
		{ -1.0, 0 },
		{ -1e300, 0 },
		{ 4096.5, 4096 },
		{ 0x1p63, 1ull << 63 },
		{ 0x1p64, UINT64_MAX },
		{ 1e300, UINT64_MAX },
		{ INFINITY, UINT64_MAX },
		{ -INFINITY, 0 },
		{ NAN, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_true(whole(cases[i].in) == cases[i].out);
}

/* ---- journals ---- */

#define SIZE_BYTES (1u << 20)
#define PLACES     7
#define PLACE      4096u

static const struct device disk = { .kind = DEVICE_DISK,
	                            .path = "/dev/sda",
	                            .name = "sda",
	                            .disk = "sda",
	                            .id.serial = "S1",
	                            .id.model = "MODEL",
	                            .size_bytes = SIZE_BYTES,
	                            .disk_size_bytes = SIZE_BYTES };

/* A pending journal of n places; its bytes, heap. */
static uint8_t *make_journal(size_t n, char *ret_name, size_t *ret_len)
{
	static const struct env env = { .boot_id = "start-1" };
	struct device devs[1] = { disk };
	struct session ses = { .env = &env, .devs = devs, .ndevs = 1 };
	struct rewrite_place places[PLACES];
	struct rewrite_journal *j = NULL;
	uint8_t data[PLACE] = { 1 }, *bytes;
	struct stat st;

	for (size_t i = 0; i < n; i++)
		places[i] = (struct rewrite_place){ 3 * PLACE * i, PLACE };
	assert_int_equal(rewrite_open(&j, dir.path, &disk, NULL), 0);
	j->ses = &ses;
	journal_list(j, places, n);
	j->h.nbeside = 2;
	j->h.beside[0] = (struct journal_beside){ PLACE, 1 };
	j->h.beside[1] = (struct journal_beside){ 4 * PLACE, 2 };
	for (size_t i = 0; i < n; i++)
		assert_int_equal(journal_put(j, i, data, NULL), 0);
	assert_int_equal(journal_note(j, NULL), 0);
	assert_int_equal(journal_fly(j, n - 1, NULL), 0);
	assert_int_equal(fstat(j->fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	assert_int_equal(pread(j->fd, bytes, (size_t)st.st_size, 0), st.st_size);
	*ret_len = (size_t)st.st_size;
	(void)snprintf(ret_name, sizeof(j->name), "%s", j->name);
	rewrite_close(j);
	return bytes;
}

/* Numbers of which a reader has to beware, or any. */
static uint64_t odd_number(struct rng *rng)
{
	static const uint64_t odd[] = {
		0,        1,          2,          PLACE - 1,          PLACE,         SIZE_BYTES, UINT32_MAX,
		1u << 26, UINT64_MAX, 1ull << 63, UINT64_MAX - PLACE, BESIDE_MAX + 1
	};

	return rng_below(rng, 3) ? odd[rng_below(rng, ARRAY_LEN(odd))] : rng_u64(rng);
}

/* Changes of header, list and bytes; the hashes are mended most times, or nothing but them would be tried. */
static size_t change(struct rng *rng, uint8_t *bytes, size_t len, size_t n)
{
	struct journal_header *h = (struct journal_header *)(void *)bytes;
	struct journal_entry *list = (struct journal_entry *)(void *)(bytes + (size_t)3 * HEADER_BYTES);

	for (size_t i = 1 + (size_t)rng_below(rng, 4); i > 0; i--)
		switch (rng_below(rng, 5)) {
		case 0:
			bytes[rng_below(rng, len)] = (uint8_t)rng_u64(rng);
			break;
		case 1: { /* a number of the header */
			size_t at = 8 + 8 * (size_t)rng_below(rng, sizeof(*h) / 8 - 2);
			uint64_t v = odd_number(rng);

			memcpy(bytes + at, &v, sizeof(v));
			break;
		}
		case 2:
			((uint64_t *)(void *)&list[rng_below(rng, n)])[rng_below(rng, 4)] = odd_number(rng);
			break;
		case 3: /* a text without its end */
			memset(bytes + 8 + rng_below(rng, sizeof(*h) - 400), 'x', (size_t)rng_below(rng, 392));
			break;
		default:
			*(rng_below(rng, 2) ? &h->nplaces : &h->data_bytes) = odd_number(rng);
		}
	if (rng_below(rng, 4)) {
		size_t bytes_of = h->nplaces < n ? h->nplaces * sizeof(*list) : n * sizeof(*list);

		memcpy(h->magic, "PLTRRWJ4", sizeof(h->magic));
		h->list_hash = payload_hash(list, bytes_of);
		h->state = 1;
		h->header_hash = payload_hash(h, offsetof(struct journal_header, header_hash));
	}
	return rng_below(rng, 6) ? len : (size_t)rng_below(rng, len);
}

static bool is_ended(const char *text, size_t room)
{
	return memchr(text, '\0', room) != NULL;
}

/* What was taken is of the file, and after translation of the device. */
static void look_at(struct rewrite_journal *j, size_t len)
{
	const struct journal_identity *of = &j->h.of;
	const char *what;
	uint8_t *data;

	assert_true(j->h.nplaces >= 1 && j->h.nplaces * sizeof(*j->list) <= len && j->most_bytes <= len);
	assert_true(j->h.nbeside <= BESIDE_MAX);
	assert_true(is_ended(of->serial, sizeof(of->serial)) && is_ended(of->wwn, sizeof(of->wwn)) &&
	            is_ended(of->model, sizeof(of->model)) && is_ended(of->vendor, sizeof(of->vendor)) &&
	            is_ended(of->uuid, sizeof(of->uuid)) && is_ended(of->part_uuid, sizeof(of->part_uuid)) &&
	            is_ended(of->disk, sizeof(of->disk)) && is_ended(of->path, sizeof(of->path)) &&
	            is_ended(j->h.when, sizeof(j->h.when)) && is_ended(j->h.boot_id, sizeof(j->h.boot_id)));
	data = malloc(j->most_bytes + 1);
	assert_non_null(data);
	for (size_t i = 0; i < j->h.nplaces; i++) {
		assert_true(j->list[i].place.len_bytes >= 1 && j->list[i].place.len_bytes <= j->most_bytes);
		(void)journal_get(j, i, data, NULL);
	}
	free(data);
	(void)journal_owner(&j->h, &disk, &what);
	(void)journal_meets(j, &disk);
	if (!journal_translate(j, &disk))
		return;
	for (size_t i = 0; i < j->h.nplaces; i++)
		assert_true(j->list[i].place.len_bytes <= SIZE_BYTES &&
		            j->list[i].place.offset_bytes <= SIZE_BYTES - j->list[i].place.len_bytes);
	for (size_t i = 0; i < j->h.nbeside; i++)
		assert_true(j->h.beside[i].offset_bytes <= SIZE_BYTES - BESIDE_BYTES);
}

TEST(no_mutation_of_a_journal_is_taken_out_of_bounds)
{
	const char *many = getenv("PLATTER_MUTATIONS");
	size_t n = many ? strtoul(many, NULL, 10) : 2000, taken = 0, of_many = 0;
	struct rng rng;

	rng_init(&rng, 51, 3);
	for (size_t i = 0; i < n; i++) {
		size_t places = rng_below(&rng, 2) ? 1 : PLACES, len;
		char name[sizeof(((struct rewrite_journal *)NULL)->name)];
		cleanup_free uint8_t *bytes = make_journal(places, name, &len);
		struct rewrite_journal *j = NULL;
		struct err err = { 0 };

		len = change(&rng, bytes, len, places);
		put_file(name, bytes, len);
		if (rewrite_open(&j, dir.path, &disk, &err) == 0 && j->is_pending) {
			look_at(j, len);
			taken++;
			of_many += j->h.nplaces > 1;
		} else if (err.text[0] && strstr(err.text, "memory")) {
			fail_msg("mutation %zu: %s", i, err.text);
		}
		rewrite_close(j);
		(void)unlink(path_of(name));
	}
	assert_true(taken > n / 10 && of_many > n / 40); /* else nothing was tried but the hashes */
	print_message(
		"fault-count: mutated-journals %zu no crash, and nothing taken that lies outside file or device; %zu whole\n",
		n, taken);
}
